#!/usr/bin/env python3
"""Approvals and audit files over HTTP and on the command line, as an approver and an auditor use them."""

import json
import pathlib
import subprocess
import unittest

from service import POSTGRESQL, PRIORBOOST, Case, new_store


class Governed(Case):
    def run_oracle(self, *arguments, code=0):
        ended = subprocess.run([PRIORBOOST, "oracle", *arguments], capture_output=True, text=True, timeout=120)
        self.assertEqual(ended.returncode, code, ended.stderr)
        self.said = ended.stderr
        return ended.stdout.strip()

    def write(self, name, text):
        path = pathlib.Path(self.folder, name)
        path.write_text(text)
        path.chmod(0o600)
        return str(path)

    def make(self, *rules):
        """A store of a hundred rows whose learners need approval."""
        self.store = new_store(self.folder)
        table = self.write("rows.csv", "id,y\n" + "".join(f"{i},{i % 2}\n" for i in range(100)))
        self.run_oracle("init", "--store", self.store, "--min-bag", "2", "--epsilon", "1", "--bounds", "0,1",
                        "--require-approval", *rules)
        self.run_oracle("import", "--store", self.store, "--data", table, "--id", "id", "--label", "y")
        self.token, self.file = {}, {}

    def add(self, name, *options):
        self.token[name] = self.run_oracle("token", "create", "--store", self.store, "--name", name, *options)
        self.file[name] = self.write(f"{name}.token", self.token[name] + "\n")


class Approvals(Governed):
    def test_over_http(self):
        self.make()
        self.add("anna", "--role", "approver")
        self.add("lab", "--rows", "50")
        self.assertIn("pending until it is approved", self.said)
        self.add("watch", "--role", "operator")
        with self.serve_again() as service:
            def approve(name, by):
                return service.send("POST", f"/v1/approvals/{name}", token=self.token.get(by, "x"))

            def ask():
                return service.ask(self.token["lab"], "r", [["1", "2", "3"]])

            self.check_problem(ask(), 403, "token-pending")
            self.check_problem(service.get("/v1/config", token=self.token["lab"]), 403, "token-pending")
            self.check_problem(approve("lab", "nobody"), 401, "token-invalid")
            self.check_problem(approve("lab", "lab"), 403, "token-pending")
            self.check_problem(approve("lab", "watch"), 403, "token-role")
            self.check_problem(approve("who", "anna"), 404, "unknown-token")
            self.check_problem(ask(), 403, "token-pending")
            tokens = service.get("/v1/status", token=self.token["anna"]).json()["tokens"]
            self.assertEqual([(t["name"], t["state"], t["approved_by"]) for t in tokens],
                             [("anna", "active", None), ("lab", "pending", None), ("watch", "active", None)])
            reply = approve("lab", "anna")
            self.assertEqual(reply.status, 200)
            self.assertEqual((reply.json()["state"], reply.json()["approved_by"]), ("active", "anna"))
            self.check_problem(approve("lab", "anna"), 409, "not-pending")
            self.assertEqual(ask().status, 200)
            recent = service.get("/v1/status", token=self.token["watch"]).json()["recent"]
            self.assertEqual([(e["kind"], e["token"]) for e in recent[:2]], [("answer", "lab"), ("approve", "lab")])
            text = service.log_text()
            for secret in self.token.values():
                self.assertNotIn(secret, text)
        self.run_oracle("audit", "--store", self.store)

    def test_on_the_command_line(self):
        self.make()
        self.file["anna"] = f"{self.folder}/anna.token"  # anna makes her own secret
        registration = self.run_oracle("token", "prepare", "--out", self.file["anna"])
        self.assertEqual(self.run_oracle("token", "create", "--store", self.store, "--name", "anna", "--role", "approver",
                                         "--registration", registration), "")
        self.add("bob", "--role", "approver")  # the second needs the first
        self.add("lab", "--creator-token", self.file["anna"])

        def approve(name, by, code=0):
            self.run_oracle("token", "approve", "--store", self.store, "--name", name, "--approver-token",
                            self.file[by], code=code)

        self.run_oracle("token", "approve", "--store", self.store, "--name", "lab", code=2)
        self.assertIn("--approver-token is required", self.said)
        approve("lab", "anna", 5)
        self.assertIn("own-token", self.said)
        approve("lab", "bob", 5)
        self.assertIn("token-pending", self.said)
        approve("bob", "bob", 5)
        approve("bob", "anna")
        approve("lab", "bob")
        self.assertIn("token 'lab' approved by 'bob'", self.said)
        listed = json.loads(self.run_oracle("token", "list", "--store", self.store, "--json"))["tokens"]
        self.assertEqual([(t["name"], t["state"], t["created_by"], t["approved_by"]) for t in listed],
                         [("anna", "active", None, None), ("bob", "active", None, "anna"),
                          ("lab", "active", "anna", "bob")])


class AuditFiles(Governed):
    def verify(self, path, *more, code=0):
        return self.run_oracle("verify-audit", path, "--public-key", self.key, *more, code=code)

    def test_it_is_verified_without_the_store(self):
        self.make()
        self.add("anna", "--role", "approver")
        self.add("lab")
        self.add("eve", "--role", "auditor")
        self.key = self.run_oracle("public-key", "--store", self.store)
        self.run_oracle("token", "approve", "--store", self.store, "--name", "lab", "--approver-token",
                        self.file["anna"])
        first, second = f"{self.folder}/first.jsonl", f"{self.folder}/second.jsonl"
        with self.serve_again() as service:
            service.ask(self.token["lab"], "one", [["1", "2", "3"]])
            self.run_oracle("export-audit", "--store", self.store, "--out", first)
            self.check_problem(service.get("/v1/audit/0", token=self.token["lab"]), 403, "token-role")
            service.ask(self.token["lab"], "two", [["4", "5"]])
            page = service.get("/v1/audit/0", token=self.token["eve"])
            self.assertEqual((page.status, page.type), (200, "application/jsonl"))
            more = service.get("/v1/audit/7", token=self.token["eve"])  # the second answer
            for number in ("8", "x", "-1", "99999999999999999999"):
                self.check_problem(service.get(f"/v1/audit/{number}", token=self.token["eve"]), 404, "not-found")
            mean = service.get("/v1/queries/two", token=self.token["lab"]).json()["answers"][0]["mean"]
        self.run_oracle("export-audit", "--store", self.store, "--out", second)
        self.assertEqual(page.body, pathlib.Path(second).read_bytes())
        self.assertEqual(json.loads(self.verify(second, "--previous", first, "--json")),
                         {"sound": True, "entries": 8, "tokens": 3, "rows": 5,
                          "head": json.loads(page.body.splitlines()[-1])["head"]})
        grown = self.write("grown.jsonl", pathlib.Path(first).read_text() + more.body.decode())
        self.assertIn("8 entries", self.verify(grown, "--previous", first))
        text = pathlib.Path(second).read_text()
        for secret in (*self.token.values(), str(mean), "nonce"):
            self.assertNotIn(secret, text)

        # The store is rolled back, or the end of a file cut off: the older file is not continued.
        self.verify(first, "--previous", second, code=3)
        self.assertIn("it has 7 entries, the older file has 8", self.said)
        lines = text.splitlines(keepends=True)
        self.verify(self.write("cut.jsonl", "".join(lines[:-1])), code=3)
        self.assertIn("does not end with a signed head", self.said)
        self.verify(self.write("empty.jsonl", ""), code=3)
        self.verify(self.write("text.jsonl", "".join(lines[:2]) + "hello\n"), code=3)
        self.assertIn("text.jsonl:3: not a line of an audit file", self.said)
        self.verify(self.write("more.jsonl", lines[0].replace('"bags"', '"x":1,"bags"')), code=3)
        self.assertIn("more.jsonl:1: not a line", self.said)
        self.verify(self.write("changed.jsonl", text.replace('"rows":100', '"rows":101')), code=3)
        self.assertIn("changed.jsonl:2: entry 1 was changed", self.said)
        self.verify(f"{self.folder}/nowhere", code=3)
        self.key = "0" * 64
        self.verify(second, code=3)
        self.assertIn("was not signed by the store", self.said)
        self.run_oracle("verify-audit", second, code=2)

    def test_another_history(self):
        """A store that was made anew, with the same tokens, does not continue the old file."""
        self.make()
        self.key = self.run_oracle("public-key", "--store", self.store)
        old = f"{self.folder}/old.jsonl"
        self.run_oracle("export-audit", "--store", self.store, "--out", old)
        if POSTGRESQL:
            return
        # The label holder goes on in two ways from one copy: each file is sound, one is not the other's.
        path = self.store.removeprefix("sqlite:")
        copies = {p: p.read_bytes() for p in pathlib.Path(path).parent.glob(pathlib.Path(path).name + "*")}
        files = []
        for name in ("one", "two"):
            for p, content in copies.items():
                p.write_bytes(content)
            self.add(name)
            files.append(f"{self.folder}/{name}.jsonl")
            self.run_oracle("export-audit", "--store", self.store, "--out", files[-1])
            self.verify(files[-1], "--previous", old)
        self.verify(files[1], "--previous", files[0], code=3)
        self.assertIn("differs from that of the older file", self.said)


if __name__ == "__main__":
    unittest.main()
