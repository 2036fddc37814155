"""The real service on a new store; needs only the standard library.

The store is SQLite, or PostgreSQL where PBOOST_TEST_STORE names a server.
"""

import http.client
import json
import os
import pathlib
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.dont_write_bytecode = True
PRIORBOOST = os.environ["PRIORBOOST"]
MAKE_STORE = os.environ["MAKE_STORE"]
POSTGRESQL = os.environ.get("PBOOST_TEST_STORE")
BINARY = "application/vnd.priorboost.bags"
JSON = "application/json"

databases = 0


def new_store(folder):
    """Where an empty store may be made."""
    global databases
    databases += 1
    if not POSTGRESQL:
        return f"sqlite:{folder}/store-{databases}.db"
    name = f"test_{os.getpid()}_{databases}"
    subprocess.run(["psql", "-q", "-d", POSTGRESQL, "-c", f"create database {name}"], check=True,
                   stdout=subprocess.DEVNULL)
    return POSTGRESQL.replace("/postgres?", f"/{name}?")


def make_store(folder, rows, min_bag=2, epsilon="none", bounds=(0, 1), unit_rows=0, sheet=(), tokens=()):
    """A store of rows (id, label[, unit[, scope]]) and the secrets of its tokens by name."""
    store = new_store(folder)
    tokens = [*tokens, "learner:learner:0:0:", "operator:operator:0:0:"]
    text = "".join(" ".join(map(str, row)) + "\n" for row in rows)
    made = subprocess.run([MAKE_STORE, store, str(min_bag), str(epsilon), str(bounds[0]), str(bounds[1]),
                           str(unit_rows), "|".join(sheet), *tokens], input=text, capture_output=True, text=True)
    if made.returncode != 0:
        raise RuntimeError(made.stderr)
    return store, dict(zip((t.split(":")[0] for t in tokens), made.stdout.split()))


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("oracle", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Reply:
    def __init__(self, response):
        self.status, self.headers = response.status, response.headers
        self.body = response.read()
        self.type = (self.headers.get("Content-Type") or "").split(";")[0]

    def json(self):
        return json.loads(self.body)


class Service:
    def __init__(self, store, *options, listen=None, environment=None, wrapper=()):
        self.folder = tempfile.TemporaryDirectory()
        self.listen = listen or f"unix:{self.folder.name}/socket"
        self.log_file = open(f"{self.folder.name}/log", "w+b")
        self.process = subprocess.Popen(
            [*wrapper, PRIORBOOST, "serve", "--store", store, "--listen", self.listen, *options],
            stdout=subprocess.PIPE, stderr=self.log_file, text=True,
            env={**os.environ, **(environment or {})})
        line = self.process.stdout.readline()
        if not line.startswith("listening on "):
            self.process.wait()
            text = self.log_text()
            self.__exit__()
            raise RuntimeError(f"no service: {line} {text}")
        self.url = line.split()[-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        code = self.stop() if self.process.poll() is None else 0
        self.process.stdout.close()
        text = self.log_text() if code else ""
        self.log_file.close()
        self.folder.cleanup()
        if code:  # a sanitizer complained, or worse
            raise RuntimeError(f"the service ended with {code}: {text[-3000:]}")

    @property
    def address(self):
        host, port = self.url.split("//")[1].rsplit(":", 1)
        return host, int(port)

    def connection(self, timeout=60, context=None):
        if self.url.startswith("unix:"):
            return UnixConnection(self.url[5:], timeout)
        if self.url.startswith("https:"):
            return http.client.HTTPSConnection(*self.address, timeout=timeout, context=context)
        return http.client.HTTPConnection(*self.address, timeout=timeout)

    def send(self, method, path, body=None, token=None, type=None, headers=None, context=None, timeout=60):
        headers = dict(headers or {})
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        if body is not None:
            if not isinstance(body, (bytes, str)):
                body = json.dumps(body)
            headers["Content-Type"] = type or JSON
        connection = self.connection(timeout, context)
        try:
            connection.request(method, path, body=body, headers=headers)
            return Reply(connection.getresponse())
        finally:
            connection.close()

    def get(self, path, **options):
        return self.send("GET", path, **options)

    def ask(self, token, request_id, bags, **members):
        return self.send("POST", "/v1/queries", {"request_id": request_id, "bags": bags, **members},
                         token=token)

    def log_text(self):
        return pathlib.Path(self.log_file.name).read_text()

    def log(self):
        return [json.loads(line) for line in self.log_text().splitlines()]

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        return self.process.wait(120)


def pack_question(request_id, bags, head=None, answer=0):
    """The binary form, numbers or text; answer: what is expected, 0 means, 1 classes, 2 columns."""
    ids = [i for bag in bags for i in bag]
    text = any(isinstance(i, str) for i in ids)
    name = request_id.encode()
    out = b"PBQ1" + struct.pack("<BBBBII", 2 if text else 1, len(name), head is not None, answer, len(bags),
                                len(ids))
    out += name + (bytes.fromhex(head) if head else b"")
    out += b"".join(struct.pack("<I", len(bag)) for bag in bags)
    if text:
        encoded = [i.encode() for i in ids]
        return out + bytes(len(i) for i in encoded) + b"".join(encoded)
    return out + b"".join(struct.pack("<q", i) for i in ids)


def unpack_answer(body):
    magic, dp, name, kind, bags, width, num, den = struct.unpack_from("<4sBBHIIQQ", body)
    assert (magic, kind, width) == (b"PBA1", 0, 0) or (magic == b"PBA2" and kind in (1, 2) and width > 0)
    head, at, width = body[32:64].hex(), 64 + name, width or 1
    value = struct.unpack_from(f"<{bags * width}d", body, at)
    size = struct.unpack_from(f"<{bags}I", body, at + 8 * bags * width)
    assert len(body) == at + (8 * width + 4) * bags
    values = [list(value[i:i + width]) for i in range(0, len(value), width)]
    answers = [{"mean": v[0], "size": s} if kind == 0 else {"values": v, "size": s} for v, s in zip(values, size)]
    return {"request_id": body[64:at].decode(), "dp": bool(dp), "epsilon": num / den if den else None,
            "head": head, "answers": answers}


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def serve(self, *options, rows=None, listen=None, environment=None, wrapper=(), **rules):
        """A service on a new store; its tokens are in self.token."""
        rows = rows if rows is not None else [(i, i % 2) for i in range(100)]
        self.store, self.token = make_store(self.folder, rows, **rules)
        return self.serve_again(*options, listen=listen, environment=environment, wrapper=wrapper)

    def serve_again(self, *options, **more):
        service = Service(self.store, *options, **more)
        self.addCleanup(service.__exit__)
        return service

    def check_problem(self, reply, status, name):
        self.assertEqual((reply.status, reply.type), (status, "application/problem+json"), reply.body)
        document = reply.json()
        self.assertEqual((document["problem"], document["status"]), (name, status))
        self.assertEqual(document["type"], f"urn:priorboost:problem:{name}")
        return document
