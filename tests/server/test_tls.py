#!/usr/bin/env python3
"""Certificates: good ones are served, bad ones are refused by the learner."""

import datetime
import json
import pathlib
import shutil
import socket
import ssl
import subprocess
import unittest

from service import PRIORBOOST, Case, Service


@unittest.skipUnless(shutil.which("openssl"), "openssl is not installed")
class Tls(Case):
    def openssl(self, *arguments):
        subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True)

    def setUp(self):
        super().setUp()
        self.make_authority("ca")
        self.make_certificate("good")

    def make_authority(self, name):
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
                     "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem")

    def make_certificate(self, name, names="IP:127.0.0.1,DNS:localhost", end=None):
        """Signed by ca; with `end`, one that was valid until then."""
        self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=oracle",
                     "-keyout", f"{name}.key", "-out", f"{name}.csr")
        folder = pathlib.Path(self.folder)
        (folder / "index.txt").write_text("")
        (folder / "serial").write_text("01\n")
        (folder / "ca.cnf").write_text(
            "[ca]\ndefault_ca=x\n[x]\ndatabase=index.txt\nserial=serial\nnew_certs_dir=.\ndefault_md=sha256\npolicy=p\n"
            f"x509_extensions=e\n[p]\ncommonName=supplied\n[e]\nsubjectAltName={names}\n")
        now = datetime.datetime.now(datetime.timezone.utc)
        stamp = lambda t: t.strftime("%Y%m%d%H%M%SZ")
        end = end or now + datetime.timedelta(days=10)
        self.openssl("ca", "-batch", "-config", "ca.cnf", "-cert", "ca.pem", "-keyfile", "ca.key", "-in", f"{name}.csr",
                     "-out", f"{name}.pem", "-notext", "-startdate", stamp(end - datetime.timedelta(days=20)), "-enddate", stamp(end))

    def serve_tls(self, name="good"):
        return self.serve("--tls-cert", f"{self.folder}/{name}.pem", "--tls-key", f"{self.folder}/{name}.key",
                          listen="127.0.0.1:0")

    def train(self, url, ca="ca"):
        table = pathlib.Path(self.folder, "x.csv")
        table.write_text("id,a\n" + "".join(f"{i},{i % 7}\n" for i in range(100)))
        token = pathlib.Path(self.folder, "token")
        token.touch(0o600)
        token.write_text(self.token["learner"])
        trust = ["--ca", f"{self.folder}/{ca}.pem"] if ca else []
        return subprocess.run([PRIORBOOST, "train", "--data", table, "--id", "id", "--family", "linear", "--oracle", url,
                               "--token-file", token, "--rounds", "2", "--json", "--patience", "5", "--no-checkpoint", *trust],
                              capture_output=True, text=True, timeout=120)

    def test_good(self):
        with self.serve_tls() as service:
            self.assertTrue(service.url.startswith("https://127.0.0.1:"))
            context = ssl.create_default_context(cafile=f"{self.folder}/ca.pem")
            self.assertEqual(service.get("/healthz", context=context).status, 200)
            self.assertEqual(service.send("POST", "/v1/queries", {"request_id": "a", "bags": [["1", "2"]]},
                                          token=self.token["learner"], context=context).status, 200)
        with self.serve_tls() as service:
            ended = self.train(service.url)
            self.assertEqual(ended.returncode, 0, ended.stderr)
            self.assertEqual(json.loads(ended.stdout)["rows_spent"], 100)

    def check_refused(self, service, ca="ca", url=None):
        ended = self.train(url or service.url, ca)
        self.assertEqual(ended.returncode, 4, ended.stderr)
        self.assertNotIn("trying again", ended.stderr)
        self.assertRegex(ended.stderr, "certificate|Certificate|CAfile|subject name|SSL")

    def test_unknown_authority(self):
        self.make_authority("stranger")
        with self.serve_tls() as service:
            self.check_refused(service, "stranger")
            self.check_refused(service, None)

    def test_expired(self):
        self.make_certificate("old", end=datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=1))
        with self.serve_tls("old") as service:
            self.check_refused(service)

    def test_another_host(self):
        self.make_certificate("elsewhere", names="DNS:oracle.example")
        with self.serve_tls("elsewhere") as service:
            self.check_refused(service)

    def test_no_such_authority_file(self):
        with self.serve_tls() as service:
            self.check_refused(service, "nothing")

    def test_old_protocols_and_plain_text(self):
        with self.serve_tls() as service:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            context.minimum_version = ssl.TLSVersion.TLSv1
            context.maximum_version = ssl.TLSVersion.TLSv1_1
            context.set_ciphers("ALL:@SECLEVEL=0")
            with self.assertRaises((ssl.SSLError, OSError)):
                service.get("/healthz", context=context)
            with socket.create_connection(service.address, 60) as plain:
                plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
                try:
                    self.assertNotIn(b"ok", plain.recv(1000))
                except ConnectionResetError:
                    pass

    def test_bad_files(self):
        with self.serve_tls():
            pass
        self.make_certificate("other")
        for cert, key in (("good.pem", "other.key"), ("good.key", "good.pem"), ("none.pem", "good.key"), ("serial", "good.key")):
            with self.subTest(cert=cert, key=key), self.assertRaises(RuntimeError):
                Service(self.store, "--tls-cert", f"{self.folder}/{cert}", "--tls-key", f"{self.folder}/{key}",
                        listen="127.0.0.1:0")


if __name__ == "__main__":
    unittest.main()
