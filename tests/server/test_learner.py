#!/usr/bin/env python3
"""train --oracle: the same model as in-process, oracles that fail or lie."""

import contextlib
import csv
import json
import os
import pathlib
import shutil
import sqlite3
import struct
import subprocess
import unittest

from learner import Learner, Proxy
from service import BINARY, POSTGRESQL, PRIORBOOST, unpack_answer

FAST = ["--patience", "2"]
FIXTURE = pathlib.Path(__file__).parents[1] / "ledger/fixtures/version_1.sql"


class DataSheet(Learner):
    def test_it_is_shown(self):
        self.make_tables()
        with self.serve(rows=self.labels, min_bag=8, sheet=["visits", "", "research", "ann@example.org"]) as service:
            self.assertEqual(service.get("/v1/config", token=self.token["learner"]).json()["sheet"],
                             {"label": "visits", "owner": None, "purpose": "research", "contact": "ann@example.org"})
            self.train(service)
            self.assertIn("label: visits; purpose: research; contact: ann@example.org\n", self.said)
        with self.serve(rows=self.labels, min_bag=8) as service:
            self.train(service)
            self.assertNotIn("label:", self.said)


class SameModel(Learner):
    def test_every_algorithm(self):
        for family in ("logistic", "linear"):
            self.make_tables(family=family)
            for options in (["--algorithm", "priorboost", "--rounds", "5"], ["--algorithm", "pbprefix", "--rounds", "4"],
                            ["--algorithm", "oneshot"], ["--bags", "random", "--rounds", "2", "--schedule", "geometric"],
                            ["--rounds", "3", "--bag-size", "11", "--standardize"], ["--estimator", "aggregate", "--bags", "features"],
                            ["--estimator", "aggregate", "--bags", "hybrid", "--rounds", "2"],
                            ["--estimator", "interpolated", "--rounds", "2"], []):
                with self.subTest(family=family, options=options), \
                        self.serve(rows=self.labels, min_bag=8) as service:
                    self.check_same(self.train(service, *options, family=family),
                                    self.train_here(*options, family=family))

    def test_text_ids_in_small_bodies(self):
        """Ids that are text, and a round that takes many questions."""
        self.make_tables(id_of=lambda i: f"patient {i} ä".replace(" ", "-"))
        with self.serve("--max-body", "2048", rows=self.labels, min_bag=8) as service:
            remote = self.train(service, "--rounds", "2")
            self.check_same(remote, self.train_here("--rounds", "2"))
            service.stop()
            self.assertGreater(len([e for e in service.log() if e.get("route") == "query"]), 6)

    def test_over_tcp_with_a_test_table(self):
        self.make_tables()
        with self.serve("--insecure-http", rows=self.labels, min_bag=8, listen="127.0.0.1:0") as service:
            test = ["--test", f"{self.folder}/full.csv"]
            remote = self.train(service, "--rounds", "3", *test, "--label", "y", data="full.csv")
            self.check_same(remote, self.train_here("--rounds", "3", *test))

    def test_with_noise_the_model_is_of_the_oracle(self):
        self.make_tables()
        with self.serve(rows=self.labels, min_bag=8, epsilon="1") as service:
            remote = self.train(service, "--rounds", "2", "--out", f"{self.folder}/m.json")
            self.assertEqual(remote["epsilon"], 1)
            self.assertFalse(remote["simulated"])
            model = json.loads(pathlib.Path(f"{self.folder}/m.json").read_text())
            self.assertEqual(model["theta"], remote["theta"])


class Heads(Learner):
    def split(self):
        """The table in three, so that a fit can ask about rows that no other has."""
        lines = pathlib.Path(self.folder, "features.csv").read_text().splitlines()
        for part in range(3):
            text = "\n".join([lines[0], *lines[1 + 200 * part:201 + 200 * part]])
            pathlib.Path(self.folder, f"part-{part}.csv").write_text(text + "\n")

    @unittest.skipIf(POSTGRESQL, "a database is put back in test_integrity.py")
    def test_a_store_put_back_between_fits_is_noticed(self):
        """Store and witness are put back together, which only a learner can notice."""
        self.make_tables()
        self.split()
        fit = ["--rounds", "2"]
        service = self.serve(rows=self.labels, min_bag=8)
        path = self.store.removeprefix("sqlite:")
        self.train(service, *fit, data="part-0.csv")
        kept = pathlib.Path(self.folder, "token-learner.head")
        first = kept.read_text()
        self.assertRegex(first, "^[0-9a-f]{64} [0-9a-f]{16}\n$")
        service.stop()
        for name in (path, f"{path}.witness"):
            shutil.copy(name, f"{name}.old")
        with self.serve_again() as service:
            self.train(service, *fit, data="part-1.csv")
        self.assertNotEqual(kept.read_text(), first)
        for name in (path, f"{path}.witness"):
            os.replace(f"{name}.old", name)
        with self.serve_again() as service:
            self.train(service, *fit, data="part-2.csv", code=5)
            self.assertIn("ledger-rollback", self.said)
            kept.write_text("something else\n")
            self.train(service, *fit, data="part-2.csv", code=3)
            self.assertIn("token-learner.head does not hold a head", self.said)
            kept.write_text(f"{first.split()[0]} {'0' * 16}\n")  # of another token: it is not sent
            self.train(service, *fit, data="part-2.csv")
            self.assertNotIn("0" * 16, kept.read_text())


class Rows(Learner):
    def test_unavailable_rows(self):
        self.make_tables()
        known = [r for r in self.labels if int(r[0]) % 10 != 3]
        with self.serve(rows=known, min_bag=8) as service:
            service.ask(self.token["learner"], "before", [[str(i) for i in range(20, 30) if i % 10 != 3]])
            self.train(service, "--rounds", "2", code=5)
            self.assertIn("69 of 600 rows", self.said)
            self.assertEqual(service.get("/v1/status", token=self.token["operator"]).json()["ledger"]["spent"], 9)
            remote = self.train(service, "--rounds", "2", "--skip-unavailable")
            self.assertEqual((remote["rows_spent"], remote["rows_left_out"]), (531, 69))
            self.assertIn("69 of 600 rows are left out", self.said)

    def test_keys_of_bags_stay_with_their_rows(self):
        """Rows that are left out take their --bag-key with them: bags are neighbours in its order."""
        self.make_tables()
        with open(f"{self.folder}/features.csv", newline="") as file:
            key = {int(line["id"]): float(line["a"]) for line in csv.DictReader(file)}
        with self.serve(rows=self.labels[40:], min_bag=8) as service:
            self.train(service, "--hash", "6", "--bag-key", "a", "--rounds", "1", "--bag-size", "8", "--skip-unavailable",
                       "--checkpoint", f"{self.folder}/kept")
        question = pathlib.Path(f"{self.folder}/kept/ask-000000").read_bytes()[8:]
        bags, rows = struct.unpack_from("<II", question, 8)
        size = struct.unpack_from(f"<{bags}I", question, len(question) - 8 * rows - 4 * bags)
        keys = iter([key[i] for i in struct.unpack(f"<{rows}q", question[-8 * rows:])])
        ranges = sorted((min(bag), max(bag)) for bag in ([next(keys) for _ in range(n)] for n in size))
        self.assertEqual((rows, len(ranges) > 50), (560, True))
        for before, after in zip(ranges, ranges[1:]):
            self.assertLessEqual(before[1], after[0])

    def test_units(self):
        self.make_tables()
        path = f"{self.folder}/features.csv"
        with open(path) as file:
            table = list(csv.reader(file))
        with open(path, "w", newline="") as file:
            csv.writer(file).writerows([line + ["person" if n == 0 else f"p{(n - 1) % 400}"] for n, line in enumerate(table)])
        rows = [(i, y, f"p{n % 400}") for n, (i, y) in enumerate(self.labels)]
        with self.serve(rows=rows, min_bag=8, unit_rows=1) as service:
            self.train(service, "--rounds", "2", "--exclude", "person", code=5)
            self.assertIn("belong to units", self.said)
            self.assertIn("unit", self.said)
            remote = self.train(service, "--rounds", "2", "--unit", "person")
            self.assertEqual((remote["rows_spent"], remote["rows_left_out"]), (400, 200))
            self.assertNotIn("person", remote["columns"])

    def test_a_bag_below_the_rule(self):
        self.make_tables()
        with self.serve(rows=self.labels, min_bag=8) as service:
            self.train(service, "--min-bag", "4", code=5)
            self.assertIn("fewer than 8", self.said)
            self.assertEqual(self.train(service, "--min-bag", "9", "--rounds", "1")["min_bag"], 9)

    def test_usage(self):
        self.make_tables()
        with self.serve(rows=self.labels, min_bag=8) as service:
            for options, words in ((["--label", "y"], "--label"), (["--epsilon", "1"], "--epsilon"), (["--bounds", "0,1"], "--bounds"),
                                   (["--round"], "--round"), (["--test", "x.csv"], "--test needs --label")):
                self.train(service, *options, code=2)
                self.assertIn(words, self.said)
            self.train(service, code=2, url="http://192.0.2.1:80")
            self.assertIn("without encryption", self.said)
            self.train(service, code=2, url="ftp://x")
            self.assertIn("the oracle's address is 'ftp://x'; it must be https://", self.said)
        ended = subprocess.run([PRIORBOOST, "train", "--data", "x", "--label", "y", "--family", "linear", "--min-bag", "2",
                                "--checkpoint", "c"], capture_output=True, text=True)
        self.assertEqual(ended.returncode, 2)
        self.assertIn("needs --oracle", ended.stderr)


class LastVersion(Learner):
    @unittest.skipIf(POSTGRESQL, "the fixture is SQLite's; ledger/upgrade loads it into PostgreSQL")
    def test_a_store_of_0_2_0(self):
        """Its token and its rules hold after the upgrade; the rows that are left are learnt from, once."""
        path = pathlib.Path(self.folder, "old.db")
        with contextlib.closing(sqlite3.connect(path)) as old:
            old.executescript(FIXTURE.read_text(encoding="utf-8"))
        path.chmod(0o600)
        self.make_tables(rows=24, id_of=lambda i: str(i + 1))
        self.store = f"sqlite:{path}"
        self.token = {"learner": "pb_HSHHehDCEyNTPxtI6yGlI615tDHuUkgYKIOd4Ziswis"}
        subprocess.run([PRIORBOOST, "oracle", "upgrade", "--store", self.store], check=True, capture_output=True)
        with self.serve_again() as service:
            config = service.get("/v1/config", token=self.token["learner"]).json()
            self.assertEqual((config["answer"], config["width"], config["min_bag"]), ("mean", 1, 4))
            out = self.train(service, "--rounds", "1", "--skip-unavailable")
            self.assertEqual((out["rows_spent"], out["min_bag"]), (6, 4))
            self.train(service, "--rounds", "1", code=5)  # every row is spent
        done = subprocess.run([PRIORBOOST, "oracle", "audit", "--store", self.store], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)


class Failures(Learner):
    def test_nobody_there(self):
        self.make_tables()
        self.token = {"learner": "x"}
        self.train(None, "--patience", "1", url=f"unix:{self.folder}/nobody", code=4)
        self.assertIn("tried", self.said)

    def test_tokens(self):
        self.make_tables()
        with self.serve(rows=self.labels, min_bag=8) as service:
            path = self.write_token(mode=0o644)
            base = [PRIORBOOST, "train", "--data", f"{self.folder}/features.csv", "--id", "id", "--family", "linear",
                    "--oracle", service.url, "--rounds", "1", "--no-checkpoint"]
            ended = subprocess.run([*base, "--token-file", path], capture_output=True, text=True)
            self.assertEqual(ended.returncode, 0, ended.stderr)
            self.assertIn("other users can read", ended.stderr)
            self.token["wrong"] = "pb_wrong"
            self.train(service, token="wrong", code=5)
            self.assertIn("token-invalid", self.said)
            self.train(service, token="operator", code=5)
            self.assertIn("token-role", self.said)
            ended = subprocess.run([*base, "--token-file", "/nonexistent"], capture_output=True, text=True)
            self.assertIn("cannot open --token-file /nonexistent", ended.stderr)
            self.assertEqual(ended.returncode, 3)
            ended = subprocess.run([*base, "--token-file", "/dev/null"], capture_output=True, text=True)
            self.assertEqual(ended.returncode, 3)

    def test_a_service_that_restarts(self):
        """The learner waits for an oracle that is away for a moment."""
        self.make_tables()
        with self.serve(rows=self.labels, min_bag=8) as service:
            address = service.url
            service.stop()
            run = self.train(None, "--rounds", "3", url=address, wait=False)
            said = run.stderr.readline()
            while said and "trying again" not in said:
                said = run.stderr.readline()
            with self.serve_again(listen=address):
                out, more = run.communicate(timeout=120)
            self.assertEqual(run.returncode, 0, said + more)
            self.assertIn("trying again", said)
            self.check_same(json.loads(out), self.train_here("--rounds", "3"))


class Lies(Learner):
    def spoiled(self, change, code, words):
        self.make_tables(rows=100)
        with self.serve(rows=self.labels, min_bag=8) as service, Proxy(service, change) as proxy:
            self.train(None, "--rounds", "1", *FAST, url=proxy.url, code=code)
            self.assertIn(words, self.said)

    def lie(self, edit, words):
        """Changes the answer to a question; edit gets the parts of the binary form."""
        def change(path, _, reply):
            if path != "/v1/queries" or reply.status != 200:
                return None
            return 200, BINARY, edit(reply.body)
        self.spoiled(change, 4, words)

    def test_not_finite(self):
        self.lie(lambda b: b[:104] + struct.pack("<d", float("nan")) + b[112:], "finite")

    def test_wrong_size(self):
        self.lie(lambda b: b[:-4] + struct.pack("<I", 99), "has 99 rows")

    def test_too_few_answers(self):
        def drop(body):
            answer = unpack_answer(body)
            n = len(answer["answers"])
            start = 64 + len(answer["request_id"])
            means, sizes = body[start:start + 8 * n], body[start + 8 * n:]
            return body[:8] + struct.pack("<I", n - 1) + body[12:start] + means[:-8] + sizes[:-4]
        self.lie(drop, "answers for")

    def test_another_request(self):
        self.lie(lambda b: b[:64] + b"x" * 40 + b[104:], "instead of")

    def test_cut_short(self):
        self.lie(lambda b: b[:-5], "ends before")

    def test_noise_that_was_not_announced(self):
        self.lie(lambda b: b[:4] + b"\1" + b[5:16] + struct.pack("<QQ", 1, 2) + b[32:], "epsilon")

    def test_endless(self):
        self.lie(lambda b: b + bytes(1 << 21), "sent more than")

    def test_not_an_oracle(self):
        self.spoiled(lambda path, *_: (200, "text/html", b"<html>"), 4, "did not send the rules of an oracle")

    def test_another_type(self):
        self.spoiled(lambda path, n, r: (200, "text/plain", r.body) if path == "/v1/queries" else None, 4, "text/plain")

    def test_lost_replies(self):
        """The first replies to a question are lost after it was answered, a 500, or a 429."""
        self.make_tables()
        spoilt = {1: (0, "", b""), 2: (500, "text/plain", b"oops"), 3: (429, "application/problem+json", b"{}")}
        lost = lambda path, n, reply: spoilt.get(n % 4) if path == "/v1/queries" else None
        with self.serve(rows=self.labels, min_bag=8) as service, Proxy(service, lost) as proxy:
            remote = self.train(None, "--rounds", "3", url=proxy.url)
            self.check_same(remote, self.train_here("--rounds", "3"))
            self.assertEqual(proxy.asked, 12)
            self.assertEqual(service.get("/v1/status", token=self.token["operator"]).json()["ledger"]["answers"], 3)

    def test_refusals_are_not_tried_again(self):
        self.make_tables()
        refuse = lambda path, n, reply: (403, "application/problem+json", b'{"problem":"quota-exceeded","status":403}') \
            if path == "/v1/queries" else None
        with self.serve(rows=self.labels, min_bag=8) as service, Proxy(service, refuse) as proxy:
            self.train(None, "--rounds", "3", url=proxy.url, code=5)
            self.assertEqual(proxy.asked, 1)
            self.assertIn("quota-exceeded", self.said)


if __name__ == "__main__":
    unittest.main()
