#!/usr/bin/env python3
"""train with several --oracle: each service has the labels of some rows, and no bag has rows of two."""

import csv
import json
import os
import pathlib
import struct
import subprocess
import unittest

from learner import Learner, Proxy
from service import PRIORBOOST, Service, make_store

FAST = ["--patience", "2", "--rounds", "4"]


class Group(Learner):
    """Rows 0, 3, 6, ... are at the first service, the others at the second."""

    def make_group(self, rules=({}, {}), share=lambda i: int(i % 3 > 0), rows=600):
        self.make_tables(rows=rows)
        self.share = share
        self.stores, self.tokens, self.services = [], [], []
        for number, own in enumerate(rules):
            labels = [label for i, label in enumerate(self.labels) if share(i) == number]
            store, token = make_store(self.folder, labels, **{"min_bag": 8, **own})
            self.stores.append(store)
            self.tokens.append(token)
            self.services.append(None)
            self.start(number)
            path = pathlib.Path(f"{self.folder}/token-{number}")
            path.write_text(token["learner"] + "\n")
            path.chmod(0o600)

    def start(self, number):
        self.services[number] = Service(self.stores[number])
        self.addCleanup(self.services[number].__exit__)

    def fit(self, *options, urls=None, code=0, tokens=(0, 1), data="features.csv"):
        urls = urls or [service.url for service in self.services]
        command = [PRIORBOOST, "train", "--data", f"{self.folder}/{data}", "--id", "id", "--family", "logistic", "--seed", "3",
                   "--json", *FAST]
        for url in urls:
            command += ["--oracle", url]
        for number in tokens:
            command += ["--token-file", f"{self.folder}/token-{number}"]
        ended = subprocess.run([*command, *options], capture_output=True, text=True, timeout=120, cwd=self.folder)
        self.assertEqual(ended.returncode, code, ended.stderr)
        self.said = ended.stderr
        return json.loads(ended.stdout) if code == 0 else None

    def ledger(self, number):
        return self.services[number].get("/v1/status", token=self.tokens[number]["operator"]).json()["ledger"]

    def check_spent(self, *rows):
        self.assertEqual(tuple(self.ledger(number)["spent"] for number in range(len(rows))), rows)


class Asking(Group):
    def test_each_is_asked_about_its_own_rows(self):
        self.make_group()
        got = self.fit("--out", "model.json")
        self.assertEqual(got["rows_spent"], 600)
        self.assertEqual(got["oracle"], [service.url for service in self.services])
        self.check_spent(200, 400)
        self.assertEqual([self.ledger(number)["answers"] for number in (0, 1)], [4, 4])
        self.assertIn("oracle 1 has 200 of 600 rows", self.said)
        self.assertFalse(os.path.exists(f"{self.folder}/model.json.checkpoint"))
        self.assertGreater(got["theta"][0], 0.2)  # the labels follow a and -b
        self.assertLess(got["theta"][1], 0.0)

    def test_the_model_does_not_depend_on_how_they_are_named_apart(self):
        """The column and the question which rows are available give the same parts, so the same model."""
        self.make_group()
        with open(f"{self.folder}/features.csv", newline="") as file:
            head, *lines = csv.reader(file)
        with open(f"{self.folder}/of.csv", "w", newline="") as file:
            csv.writer(file).writerows([[*head, "holder"], *([*line, self.share(i) + 1] for i, line in enumerate(lines))])
        shown = [[], []]

        def listen(number):
            def spoil(path, n, reply):
                if path == "/v1/available":
                    shown[number].append(len(reply.json()["available"]))
            return spoil

        want = self.fit("--no-checkpoint")
        self.make_group()
        with Proxy(self.services[0], listen(0)) as first, Proxy(self.services[1], listen(1)) as second:
            got = self.fit("--no-checkpoint", "--oracle-of", "holder", data="of.csv", urls=[first.url, second.url])
        self.check_same(got, want)
        self.assertEqual(shown, [[200], [400]])
        self.make_group()
        self.fit("--oracle-of", "a", code=3)
        self.assertRegex(self.said, r"features.csv:2: 'a' \(--oracle-of\) is '.*'; it must be the number of an --oracle, 1 to 2")
        self.check_spent(0, 0)

    def test_a_service_is_not_shown_the_ids_of_another(self):
        self.make_group()
        with open(f"{self.folder}/features.csv", newline="") as file:
            head, *lines = csv.reader(file)
        with open(f"{self.folder}/of.csv", "w", newline="") as file:
            csv.writer(file).writerows([[*head, "holder"], *([*line, 2 - (i % 3 > 0)] for i, line in enumerate(lines))])
        # Every row is named at the other service: none of them knows one.
        self.fit("--oracle-of", "holder", data="of.csv", code=5)
        self.assertIn("600 of 600 rows are spent, unknown to the oracle", self.said)

    def test_one_that_has_too_few_rows(self):
        self.make_group(share=lambda i: int(i >= 7))
        self.fit(code=5)
        self.assertIn(f"oracle 1, {self.services[0].url}, can be asked about 7 of the rows; a bag needs 8", self.said)
        self.check_spent(0, 0)

    def test_one_with_rows_for_the_last_rounds_only(self):
        self.make_group(share=lambda i: int(i >= 20))
        self.assertEqual(self.fit()["rows_spent"], 600)
        self.check_spent(20, 580)
        self.assertEqual([self.ledger(number)["answers"] for number in (0, 1)], [2, 4])

    def test_a_row_that_two_have_is_asked_about_once(self):
        self.make_group()
        store, token = make_store(self.folder, self.labels, min_bag=8)
        self.stores[1], self.tokens[1] = store, token
        self.start(1)
        pathlib.Path(f"{self.folder}/token-1").write_text(token["learner"] + "\n")
        self.fit()
        self.check_spent(200, 400)

    def test_a_token_with_too_few_rows(self):
        self.make_group()
        labels = [label for i, label in enumerate(self.labels) if i % 3 > 0]
        self.stores[1], self.tokens[1] = make_store(self.folder, labels, min_bag=8, tokens=["few:learner:0:399:"])
        self.start(1)
        pathlib.Path(f"{self.folder}/token-1").write_text(self.tokens[1]["few"] + "\n")
        self.fit(code=5)
        self.assertRegex(self.said, "oracle 2, .*: the training would ask about 400 rows, but the token has 399 left")
        self.check_spent(0, 0)


class Rules(Group):
    def test_the_larger_k(self):
        self.make_group(rules=({}, {"min_bag": 11}))
        self.assertEqual(self.fit("--method", "paper")["min_bag"], 11)

    def test_other_rules_are_refused_before_anything_is_spent(self):
        for rules, rule in (({"epsilon": 2}, "dp is false"), ({"bounds": (0, 2)}, r"upper is 1(\.0)? at")):
            with self.subTest(rule):
                self.make_group(rules=({}, rules))
                self.fit(code=5)
                self.assertRegex(self.said, f"the oracles have different rules: {rule}")
                self.assertIn("it must be equal; nothing was asked", self.said)
                self.check_spent(0, 0)
        self.make_group(rules=({"epsilon": 1}, {"epsilon": 2}))
        self.fit(code=5)
        self.assertRegex(self.said, "epsilon(_fraction)? is \"?1.* at oracle 1.* \"?2.* at oracle 2")
        self.check_spent(0, 0)

    def test_options(self):
        self.make_group()
        self.fit(tokens=(0,), code=2)
        self.assertIn("--token-file is given 1 times for 2 oracles; give it for each, in the order of --oracle", self.said)
        self.fit(tokens=(0, 0), code=2)
        self.assertIn("is given for two oracles; each needs its own", self.said)
        url = self.services[0].url
        self.fit(urls=[url, url], code=2)
        self.assertIn("oracles 1 and 2 have the same address", self.said)
        self.fit("--oracle-of", "a", urls=[url], tokens=(0,), code=2)
        self.assertIn("--oracle-of is 'a', but there is one --oracle", self.said)
        for name in ("ca", "client-cert", "client-key"):
            self.fit(*(2 * [f"--{name}", "x"] if name != "ca" else 3 * ["--ca", "x"]), code=2)


class Failing(Group):
    def test_a_dead_service(self):
        """What the other one answered is kept; the run goes on where it ended, and nothing is spent twice."""
        self.make_group()
        want = self.fit("--no-checkpoint")
        self.make_group()

        def dies(path, n, reply):
            return (0, "", b"") if path == "/v1/queries" and n > 2 else None

        with Proxy(self.services[1], dies) as proxy:
            self.fit("--checkpoint", "kept", urls=[self.services[0].url, proxy.url], code=4)
            self.assertRegex(self.said, f"oracle 2, {proxy.url}: ")
            self.assertIn("--resume continues from there", self.said)
        asked = self.ledger(0)["spent"]
        self.assertEqual(asked, 150)  # three rounds of four: it did not wait for the other
        got = self.fit("--checkpoint", "kept", "--resume")
        self.check_same(got, want)
        self.check_spent(200, 400)
        self.assertEqual([self.ledger(number)["answers"] for number in (0, 1)], [4, 4])
        again = self.fit("--checkpoint", "kept", "--resume")  # from the checkpoint alone
        self.check_same(again, want)
        self.fit("--checkpoint", "kept", "--resume", urls=[self.services[0].url], tokens=(0,), code=2)
        self.assertIn("belongs to another run: it has 'oracles 2'", self.said)

    def stop_before_the_first_question(self, *options):
        """Both services are gone once the learner has read their status."""
        def ends(path, n, reply):
            if path == "/v1/status":
                for service in self.services:
                    service.stop()
        with Proxy(self.services[1], ends) as proxy:
            self.fit("--checkpoint", "kept", urls=[self.services[0].url, proxy.url], code=4)
        for number in (0, 1):
            self.start(number)
        self.check_spent(0, 0)

    def test_bags_that_were_not_written_for_all_are_made_again(self):
        """Without the mark of the round nothing was sent: what an oracle's folder has of it is not used."""
        self.make_group()
        want = self.fit("--no-checkpoint")
        self.make_group()
        self.stop_before_the_first_question()
        kept = pathlib.Path(self.folder, "kept")
        self.assertTrue((kept / "round-000000").exists())
        whole = (kept / "oracle-1/ask-000000").read_bytes()
        (kept / "oracle-1/ask-000000").write_bytes(b"of another machine")
        self.fit("--checkpoint", "kept", "--resume", code=3)
        (kept / "round-000000").unlink()
        self.check_same(self.fit("--checkpoint", "kept", "--resume"), want)
        self.assertEqual((kept / "oracle-1/ask-000000").read_bytes(), whole)

    def test_a_bag_with_rows_of_two_is_never_asked_about(self):
        """Two rows of the first round change places in the list of rows: two bags have rows of both oracles."""
        self.make_group()
        self.stop_before_the_first_question()
        kept = pathlib.Path(self.folder, "kept")
        rows = (kept / "rows").read_bytes()

        def ids(question):  # of numbers: see pack_question
            n = struct.unpack_from("<I", question, 12)[0]
            return list(struct.unpack(f"<{n}q", question[-8 * n:]))

        first, second = (ids((kept / f"oracle-{number}/ask-000000").read_bytes()[8:]) for number in (1, 2))
        self.assertEqual((len(first), len(second)), (50, 100))
        for one, other in zip(first, second):  # the order of both parts may say that another row is in that round
            changed = [other if i == one else one if i == other else i for i in ids(rows[32:])]
            (kept / "rows").write_bytes(rows[:-8 * 600] + struct.pack("<600q", *changed))
            ended = self.fit_any("--checkpoint", "kept", "--resume")
            self.assertEqual(ended.returncode, 2, ended.stderr)
            if "belongs to another run" not in ended.stderr:
                break
        self.assertRegex(ended.stderr, "bag [0-9]+ has rows of oracles [12] and [12]; a bag must have rows of one oracle")
        self.check_spent(0, 0)

    def fit_any(self, *options):
        command = [PRIORBOOST, "train", "--data", f"{self.folder}/features.csv", "--id", "id", "--family", "logistic",
                   "--seed", "3", "--json", *FAST, *options]
        for number, service in enumerate(self.services):
            command += ["--oracle", service.url, "--token-file", f"{self.folder}/token-{number}"]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=self.folder)


if __name__ == "__main__":
    unittest.main()
