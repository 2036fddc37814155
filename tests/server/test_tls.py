#!/usr/bin/env python3
"""Certificates: good ones are served, bad ones are refused by the learner."""

import datetime
import json
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import time
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

    def make_certificate(self, name, names="IP:127.0.0.1,DNS:localhost", end=None, ca="ca", use=None,
                         kind=("ec", "-pkeyopt", "ec_paramgen_curve:P-256")):
        """Signed by ca; with `end`, one that was valid until then; with `use`, for that purpose only."""
        self.openssl("req", "-newkey", *kind, "-nodes", "-subj", "/CN=oracle", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        folder = pathlib.Path(self.folder)
        (folder / "index.txt").write_text("")
        (folder / "serial").write_text("01\n")
        (folder / "ca.cnf").write_text(
            "[ca]\ndefault_ca=x\n[x]\ndatabase=index.txt\nserial=serial\nnew_certs_dir=.\ndefault_md=sha256\npolicy=p\n"
            f"x509_extensions=e\nunique_subject=no\n[p]\ncommonName=supplied\n[e]\nsubjectAltName={names}\n"
            + (f"extendedKeyUsage={use}\n" if use else ""))
        now = datetime.datetime.now(datetime.timezone.utc)
        stamp = lambda t: t.strftime("%Y%m%d%H%M%SZ")
        end = end or now + datetime.timedelta(days=10)
        self.openssl("ca", "-batch", "-config", "ca.cnf", "-cert", f"{ca}.pem", "-keyfile", f"{ca}.key", "-in", f"{name}.csr",
                     "-out", f"{name}.pem", "-notext", "-startdate", stamp(end - datetime.timedelta(days=20)), "-enddate", stamp(end))

    def serve_tls(self, name="good", *options):
        return self.serve("--tls-cert", f"{self.folder}/{name}.pem", "--tls-key", f"{self.folder}/{name}.key", *options,
                          listen="127.0.0.1:0")

    def context(self, ca="ca", client=None):
        context = ssl.create_default_context(cafile=f"{self.folder}/{ca}.pem")
        if client:
            context.load_cert_chain(f"{self.folder}/{client}.pem", f"{self.folder}/{client}.key")
        return context

    def train(self, url, ca="ca", client=None):
        table = pathlib.Path(self.folder, "x.csv")
        table.write_text("id,a\n" + "".join(f"{i},{i % 7}\n" for i in range(100)))
        token = pathlib.Path(self.folder, "token")
        token.touch(0o600)
        token.write_text(self.token["learner"])
        trust = ["--ca", f"{self.folder}/{ca}.pem"] if ca else []
        trust += ["--client-cert", f"{self.folder}/{client}.pem", "--client-key", f"{self.folder}/{client}.key"] if client else []
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
            self.assertIn("--ca FILE", self.train(service.url, None).stderr)

    def test_plain_address(self):
        with self.serve_tls() as service:
            ended = self.train(service.url.replace("https:", "http:"), None)
            self.assertEqual(ended.returncode, 4, ended.stderr)
            self.assertIn("Its address then begins with https://", ended.stderr)

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

    def test_forward_secrecy_and_authenticated_encryption_only(self):
        """With an RSA certificate, which the old ways of exchanging keys need."""
        self.make_certificate("rsa", kind=("rsa:2048",))
        with self.serve_tls("rsa") as service:
            def is_served(ciphers):
                context = self.context()
                context.maximum_version = ssl.TLSVersion.TLSv1_2
                context.set_ciphers(f"{ciphers}:@SECLEVEL=0")
                try:
                    return service.get("/healthz", context=context).status == 200
                except (ssl.SSLError, OSError):
                    return False

            for ciphers in ("AES128-SHA", "AES256-SHA256", "AES256-GCM-SHA384", "AES128-CCM", "CAMELLIA256-SHA",  # no secrecy
                            "ECDHE-RSA-AES256-SHA", "ECDHE-RSA-AES256-SHA384", "DHE-RSA-AES256-SHA256",  # not authenticated
                            "DHE-RSA-AES256-GCM-SHA384"):
                with self.subTest(ciphers):
                    self.assertFalse(is_served(ciphers))
            for ciphers in ("ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-CHACHA20-POLY1305"):
                with self.subTest(ciphers):
                    self.assertTrue(is_served(ciphers))

    # ---- New files ----

    def reload(self, service):
        """Sends SIGHUP and returns what the service says to it."""
        said = len([e for e in service.log() if e["event"] == "reload"])
        service.process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + 60
        while len(told := [e for e in service.log() if e["event"] == "reload"]) == said:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        return told[-1]

    def put(self, source, target):
        for kind in ("pem", "key"):
            shutil.copy(f"{self.folder}/{source}.{kind}", f"{self.folder}/{target}.{kind}")

    def test_new_certificate(self):
        """SIGHUP: new connections get the new one, and those that are there go on."""
        self.make_authority("next")
        self.make_certificate("renewed", ca="next")
        self.put("good", "live")
        with self.serve_tls("live") as service:
            ask = {"Authorization": f"Bearer {self.token['learner']}", "Content-Type": "application/json"}
            body = json.dumps({"request_id": "a", "bags": [["1", "2"]]}).encode()
            running = service.connection(context=self.context())
            running.putrequest("POST", "/v1/queries")
            for name, value in {**ask, "Content-Length": len(body)}.items():
                running.putheader(name, value)
            running.endheaders(body[:10])
            self.put("renewed", "live")
            self.assertEqual(self.reload(service)["level"], "info")
            self.assertEqual(service.get("/healthz", context=self.context("next")).status, 200)
            with self.assertRaises(ssl.SSLCertVerificationError):
                service.get("/healthz", context=self.context())
            running.send(body[10:])
            self.assertEqual(running.getresponse().status, 200)
            running.close()

    def test_new_files_that_cannot_be_used(self):
        self.make_certificate("other")
        self.put("good", "live")
        with self.serve_tls("live") as service:
            for kind, text in (("key", pathlib.Path(self.folder, "other.key").read_text()), ("pem", "nothing"), ("pem", None)):
                self.put("good", "live")
                path = pathlib.Path(self.folder, f"live.{kind}")
                path.unlink() if text is None else path.write_text(text)
                told = self.reload(service)
                self.assertEqual(told["level"], "error")
                self.assertIn(f"live.{kind}", told["message"])
                self.assertEqual(service.get("/healthz", context=self.context()).status, 200)

    def test_nothing_to_reload(self):
        with self.serve() as service:
            self.assertEqual(self.reload(service)["level"], "info")
            self.assertEqual(service.get("/healthz").status, 200)

    # ---- Certificates of clients ----

    def test_client_certificates(self):
        self.make_authority("clients")
        self.make_authority("strangers")
        self.make_certificate("lab", ca="clients", use="clientAuth")
        self.make_certificate("stranger", ca="strangers", use="clientAuth")
        self.make_certificate("server", ca="clients", use="serverAuth")
        self.make_certificate("late", ca="clients", end=datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=1))
        with self.serve_tls("good", "--client-ca", f"{self.folder}/clients.pem") as service:
            for client in (None, "stranger", "server", "late"):
                with self.subTest(client), self.assertRaises((ssl.SSLError, OSError)):
                    service.get("/healthz", context=self.context(client=client))
            self.assertEqual(service.get("/healthz", context=self.context(client="lab")).status, 200)
            # Whoever has a certificate still needs a token.
            self.assertEqual(service.get("/v1/config", context=self.context(client="lab")).status, 401)
            ended = self.train(service.url)
            self.assertEqual(ended.returncode, 4, ended.stderr)
            self.assertIn("an oracle that asks for client certificates ends connections without one", ended.stderr)
            ended = self.train(service.url, client="lab")
            self.assertEqual(ended.returncode, 0, ended.stderr)
            # Another authority from now on.
            shutil.copy(f"{self.folder}/strangers.pem", f"{self.folder}/clients.pem")
            self.assertEqual(self.reload(service)["level"], "info")
            with self.assertRaises((ssl.SSLError, OSError)):
                service.get("/healthz", context=self.context(client="lab"))
            self.assertEqual(service.get("/healthz", context=self.context(client="stranger")).status, 200)

    def test_bad_client_files(self):
        with self.serve_tls() as service:
            ended = self.train(service.url, client="nothing")
            self.assertEqual(ended.returncode, 3, ended.stderr)
            self.assertRegex(ended.stderr, "client certificate .*nothing.pem: No such file or directory")
        for options, message in ((("--client-ca", f"{self.folder}/none.pem"), "--client-ca .*none.pem: No such file"),
                                 (("--client-ca", f"{self.folder}/good.key"), "--client-ca .*good.key holds no certificate")):
            with self.subTest(options), self.assertRaisesRegex(RuntimeError, message):
                self.serve_tls("good", *options)
        with self.assertRaisesRegex(RuntimeError, "--client-ca needs --tls-cert"):
            self.serve("--client-ca", f"{self.folder}/ca.pem")

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
