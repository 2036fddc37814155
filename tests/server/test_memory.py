#!/usr/bin/env python3
"""Memory runs out at any allocation of a request or of a learner, also in libraries.

What was asked is then answered or not; asked again it has one answer.  Nothing crashes.
"""

import http.client
import json
import mmap
import os
import pathlib
import signal
import struct
import subprocess
import unittest

from service import PRIORBOOST, Case

LIBRARY = os.environ.get("MEMORY_FAULTS")


@unittest.skipUnless(LIBRARY, "not under a sanitizer, which brings its own malloc, nor with coverage")
class Memory(Case):
    def setUp(self):
        super().setUp()
        path = pathlib.Path(self.folder, "memory")
        path.write_bytes(bytes(8))
        self.file = open(path, "r+b")
        self.order = mmap.mmap(self.file.fileno(), 8)
        self.addCleanup(self.file.close)
        self.addCleanup(self.order.close)
        self.environment = {"LD_PRELOAD": LIBRARY, "FAULT_MEMORY": str(path)}

    def arm(self, n):
        self.order[:] = struct.pack("<ii", n, 0)

    def disarm(self):
        """Whether an allocation has failed."""
        hits = struct.unpack("<ii", self.order[:])[1]
        self.order[:] = bytes(8)
        return hits > 0

    def under_fault(self, n, send):
        """The reply, or None where the connection was closed; and whether an allocation failed."""
        self.arm(n)
        try:
            reply = send()
        except (OSError, http.client.HTTPException):
            reply = None
        return reply, self.disarm()

    def test_questions(self):
        rows = 20000
        with self.serve(rows=[(i, i % 2) for i in range(rows)], epsilon="1", environment=self.environment) as service:
            learner, outcomes = self.token["learner"], {}
            for n in range(1, rows // 4):
                bags = [[str(4 * n), str(4 * n + 1)], [str(4 * n + 2), str(4 * n + 3)]]
                ask = lambda: service.ask(learner, f"r{n}", bags)
                reply, hit = self.under_fault(n, ask)
                self.assertTrue(hit or reply.status == 200, reply and reply.body)
                self.assertIn(reply and reply.status, (None, 200, 503))
                again = ask()
                self.assertEqual(again.status, 200, (n, again.body))
                if reply and reply.status == 200:
                    self.assertEqual(reply.body, again.body)
                self.assertEqual(ask().body, again.body)
                outcomes[reply and reply.status] = outcomes.get(reply and reply.status, 0) + 1
                if not hit:
                    break
            self.assertFalse(hit)
            self.assertGreater(outcomes.get(503, 0), 20, outcomes)
            ledger = service.get("/v1/status", token=self.token["operator"]).json()["ledger"]
            self.assertEqual((ledger["answers"], ledger["spent"]), (n, 4 * n))
        audit = subprocess.run([PRIORBOOST, "oracle", "audit", "--store", self.store, "--json"], capture_output=True, text=True)
        self.assertEqual((audit.returncode, json.loads(audit.stdout)["sound"]), (0, True), audit.stderr)

    def test_everything_else(self):
        """Any other request gets its reply, a 503 or a closed connection."""
        with self.serve(environment=self.environment) as service:
            learner, operator = self.token["learner"], self.token["operator"]
            self.assertEqual(service.ask(learner, "a", [["1", "2"]]).status, 200)
            for name, send in {
                "refusal": lambda: service.ask(learner, "b", [["1", "2", "3"]]),
                "small": lambda: service.ask(learner, "b", [["1"], ["3"]]),
                "malformed": lambda: service.send("POST", "/v1/queries", b"{", token=learner),
                "find": lambda: service.get("/v1/queries/a", token=learner),
                "available": lambda: service.send("POST", "/v1/available", {"rows": ["1", "2", "3"]}, token=learner),
                "config": lambda: service.get("/v1/config", token=learner),
                "status": lambda: service.get("/v1/status", token=operator),
                "own status": lambda: service.get("/v1/status", token=learner),
                "metrics": lambda: service.get("/metrics", token=operator),
                "page": lambda: service.get("/"),
                "nothing": lambda: service.get("/nothing"),
                "stranger": lambda: service.get("/v1/config", token="x"),
            }.items():
                steady = name not in ("status", "own status", "metrics")  # these tell time and count
                with self.subTest(name):
                    want, n, hit = send(), 0, True
                    while hit:
                        n += 1
                        reply, hit = self.under_fault(n, send)
                        if reply is not None and reply.status != 503:
                            self.assertEqual(reply.status, want.status, n)
                            if steady:
                                self.assertEqual(reply.body, want.body, n)
                            elif "status" in name:
                                self.assertEqual(reply.json().keys(), want.json().keys())
                    self.assertEqual(send().status, want.status)

    def test_learner(self):
        """A learner without memory ends in order; the next one continues from its checkpoint."""
        table = pathlib.Path(self.folder, "x.csv")
        table.write_text("id,a\n" + "".join(f"{i},{i % 7}\n" for i in range(100)))
        token = pathlib.Path(self.folder, "token")
        with self.serve(min_bag=5) as service:
            token.touch(0o600)
            token.write_text(self.token["learner"])

            def train(folder, environment):
                return subprocess.run(
                    [PRIORBOOST, "train", "--data", table, "--id", "id", "--family", "linear", "--oracle", service.url,
                     "--token-file", token, "--rounds", "2", "--json", "--patience", "5", "--checkpoint", folder],
                    capture_output=True, text=True, timeout=120, env={**os.environ, **environment})

            folder = f"{self.folder}/checkpoint"
            n, hit, failures, want = 1, True, 0, None
            while hit:
                self.arm(n)
                ended = train(folder, self.environment)
                hit = self.disarm()
                if ended.returncode == -signal.SIGABRT and "jsonp_strtod" in ended.stderr:
                    ended.returncode = 1  # jansson asserts that it has memory
                self.assertIn(ended.returncode, (0, 1, 3, 4) if hit else (0,), f"allocation {n}: {ended.stderr}")
                failures += ended.returncode != 0
                if ended.returncode == 0:
                    model = json.loads(ended.stdout)
                    want = want or model["theta"]
                    self.assertEqual((model["theta"], model["rows_spent"]), (want, 100))
                n = max(n + 1, n * 21 // 20)
            self.assertGreater(failures, 20)
            ledger = service.get("/v1/status", token=self.token["operator"]).json()["ledger"]
            self.assertEqual((ledger["answers"], ledger["spent"]), (2, 100))


if __name__ == "__main__":
    unittest.main()
