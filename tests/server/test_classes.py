#!/usr/bin/env python3
"""train --oracle on a store of classes: the same model as in-process, a run that stops and continues, refusals."""

import csv
import json
import pathlib
import random
import struct
import subprocess
import unittest

from learner import Proxy
from service import BINARY, PRIORBOOST, Case, new_store, unpack_answer

CLASSES = ["blue", "dark green", "red"]


class Store(Case):
    """A table of three classes, its store and its learner."""

    def setUp(self):
        super().setUp()
        draw = random.Random(5)
        rows = [(f"p{i}", draw.gauss(0, 1), draw.gauss(0, 1)) for i in range(1500)]
        party = [draw.choices(CLASSES, [1.0, 2.0 ** (x + y), 2.0 ** -x])[0] for _, x, y in rows]
        self.write("features.csv", ["id", "x", "y"], rows)
        self.write("full.csv", ["id", "x", "y", "party"], [(*r, p) for r, p in zip(rows, party)])
        self.write("labels.csv", ["id", "party"], [(r[0], p) for r, p in zip(rows, party)])

    def path(self, name):
        return str(pathlib.Path(self.folder, name))

    def write(self, name, header, rows):
        with open(self.path(name), "w", newline="") as out:
            csv.writer(out).writerows([header, *rows])

    def oracle(self, *command):
        done = subprocess.run([PRIORBOOST, "oracle", *command], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def make(self, *rules):
        self.store = new_store(self.folder)
        self.oracle("init", "--store", self.store, "--min-bag", "10", *rules)
        self.oracle("import", "--store", self.store, "--data", self.path("labels.csv"), "--id", "id", "--label", "party")
        token = self.oracle("token", "create", "--store", self.store, "--name", "learner", "--role", "learner")
        secret = pathlib.Path(self.path("token"))
        secret.write_text(token + "\n")
        secret.chmod(0o600)
        operator = self.oracle("token", "create", "--store", self.store, "--name", "operator", "--role", "operator")
        self.token = {"learner": token, "operator": operator}

    def run_train(self, *options):
        return subprocess.run([PRIORBOOST, "train", *options, "--json"], capture_output=True, text=True)

    def train(self, url, *options, family="classes"):
        return self.run_train("--data", self.path("features.csv"), "--id", "id", "--family", family, "--oracle", url,
                              "--token-file", self.path("token"), "--out", self.path("model.json"), *options)

    def train_here(self, *options):
        done = self.run_train("--data", self.path("full.csv"), "--id", "id", "--label", "party", "--min-bag", "10", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def spent(self, service):
        return service.get("/v1/status", token=self.token["operator"]).json()["ledger"]["spent"]


class Classes(Store):
    def test_the_same_model(self):
        for options in ([], ["--bags", "hybrid", "--rounds", "3"], ["--method", "paper", "--rounds", "3"]):
            self.make("--no-noise", "--classes", ",".join(CLASSES))
            with self.subTest(options=options), self.serve_again() as service:
                done = self.train(service.url, *options)
                self.assertEqual(done.returncode, 0, done.stderr)
                remote, here = json.loads(done.stdout), self.train_here(*options)
                self.assertEqual(remote["classes"], CLASSES)
                self.assertEqual(remote["theta"], here["theta"])
                self.assertEqual(remote["intercept"], here["intercept"])
                self.assertEqual(remote.get("standard_errors"), here.get("standard_errors"))
                self.assertEqual(self.spent(service), 1500)

    def test_noise(self):
        self.make("--epsilon", "2", "--classes", ",".join(CLASSES))
        with self.serve_again() as service:
            done = self.train(service.url)
            self.assertEqual(done.returncode, 0, done.stderr)
            out, here = json.loads(done.stdout), self.train_here()
            self.assertGreater(out["bag_size"], 10)
            self.assertGreater(out["standard_errors"][1][0], here["standard_errors"][1][0])
            self.assertEqual(json.loads(pathlib.Path(self.path("model.json")).read_text())["training"]["epsilon"], "2")

    def test_it_continues(self):
        """The oracle is lost after a round; the next start does not ask about its rows again."""
        self.make("--no-noise", "--classes", ",".join(CLASSES))
        options = ["--bags", "hybrid", "--rounds", "3", "--patience", "1"]
        with self.serve_again() as service:
            with Proxy(service, lambda path, asked, _: (0, "", b"") if path == "/v1/queries" and asked > 1 else None) as proxy:
                done = self.train(proxy.url, *options)
                self.assertEqual(done.returncode, 4, done.stderr)
            before = self.spent(service)
            self.assertGreater(before, 0)
            self.assertLess(before, 1500)
            done = self.train(service.url, *options, "--resume")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(done.stdout)["theta"], self.train_here(*options[:4])["theta"])
            self.assertEqual(self.spent(service), 1500)

    def test_another_family_spends_nothing(self):
        self.make("--no-noise", "--classes", ",".join(CLASSES))
        with self.serve_again() as service:
            done = self.train(service.url, family="logistic")
            self.assertEqual(done.returncode, 2)
            self.assertIn("the oracle answers with the counts of classes; --family must be classes", done.stderr)
            self.assertEqual(self.spent(service), 0)
            done = self.train(service.url, "--test", self.path("full.csv"), "--label", "party")
            self.assertEqual(done.returncode, 2)
            self.assertIn("--test cannot be used with --oracle and --family classes", done.stderr)
        self.write("labels.csv", ["id", "party"], [(f"p{i}", i % 2) for i in range(1500)])
        self.make("--no-noise", "--bounds", "0,1")
        with self.serve_again() as service:
            done = self.train(service.url)
            self.assertEqual(done.returncode, 2)
            self.assertIn("the oracle answers with means; --family must not be classes", done.stderr)
            self.assertEqual(self.spent(service), 0)


def repack(body, values, magic=b"PBA2", kind=1, width=None):
    """The answer in `body` with other values, by bag; its head and its sizes stay."""
    answer = unpack_answer(body)
    start, sizes = body[4:64] + answer["request_id"].encode(), body[-4 * len(answer["answers"]):]
    width = len(values[0]) if width is None else width
    start = start[:2] + struct.pack("<HII", kind, len(values), width) + start[12:]
    return magic + start + struct.pack(f"<{sum(map(len, values))}d", *(v for row in values for v in row)) + sizes


def change_first(*steps):
    """Spoils the counts of the first bag: steps are added to them."""
    def edit(body):
        values = [a["values"] for a in unpack_answer(body)["answers"]]
        values[0] = [v + s for v, s in zip(values[0], steps)]
        return repack(body, values)
    return edit


def reply_means(body):
    return repack(body, [[a["values"][0] / a["size"]] for a in unpack_answer(body)["answers"]], b"PBA1", 0, 0)


def reply_columns(body):
    return repack(body, [a["values"] for a in unpack_answer(body)["answers"]], kind=2)


def reply_classes(*counts_of):
    """Spoils values of each bag: what the function makes of its size."""
    def edit(body):
        return repack(body, [[f(a["size"]) for f in counts_of] for a in unpack_answer(body)["answers"]])
    return edit


class Lies(Store):
    """A service whose replies are not what its rules say."""

    def check_found_out(self, cases, **options):
        """Each lie ends the run, and none is kept: the run then continues with the true answers."""
        model, resume = pathlib.Path(self.path("model.json")), []
        with self.serve_again() as service:
            for edit, words in cases:
                def spoil(path, _, reply, edit=edit):
                    return (200, BINARY, edit(reply.body)) if path == "/v1/queries" and reply.status == 200 else None

                with self.subTest(words), Proxy(service, spoil) as proxy:
                    done = self.train(proxy.url, "--rounds", "1", *resume, **options)
                    self.assertEqual(done.returncode, 4, done.stderr)
                    self.assertIn(words, done.stderr)
                    self.assertFalse(model.exists())
                resume = ["--resume"]
            done = self.train(service.url, "--rounds", "1", *resume, **options)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.spent(service), 1500)

    def test_where_counts_were_asked(self):
        self.make("--no-noise", "--classes", ",".join(CLASSES))
        self.check_found_out((
            (reply_means, "answered with mean, 1 numbers a bag, but its rules say classes, 3"),
            (reply_columns, "answered with columns, 3 numbers a bag, but its rules say classes, 3"),
            (reply_classes(lambda n: n, lambda _: 0), "answered with classes, 2 numbers a bag, but its rules say classes, 3"),
            (reply_classes(lambda n: n, *[lambda _: 0] * 3), "classes, 4 numbers a bag, but its rules say classes, 3"),
            (change_first(1, 0, 0), "counts of bag 0 add up to"),
            (change_first(0.5, -0.5, 0), "a count must be a whole number, not below 0"),
            (change_first(100, -100, 0), "of class 1 in bag 0; a count must be a whole number, not below 0"),
        ))

    def test_noisy_counts_are_whole_numbers(self):
        self.make("--epsilon", "2", "--classes", ",".join(CLASSES))
        self.check_found_out(((change_first(0.5, 0, 0), "of class 0 in bag 0; a count must be a whole number"),))

    def test_where_means_were_asked(self):
        self.write("labels.csv", ["id", "party"], [(f"p{i}", i % 2) for i in range(1500)])
        self.make("--no-noise", "--bounds", "0,1")

        def reply_counts(body):
            return repack(body, [[a["mean"], a["size"] - a["mean"]] for a in unpack_answer(body)["answers"]])

        self.check_found_out(((reply_counts, "answered with classes, 2 numbers a bag, but its rules say mean, 1"),),
                             family="logistic")


if __name__ == "__main__":
    unittest.main()
