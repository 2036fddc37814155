#!/usr/bin/env python3
"""A service whose answers are vectors: counts of classes, means of label columns.

The draws of the audit are random: it fails by chance less than once in 50,000 runs (a limit of 5.5 deviates,
distances of 5).
"""

import contextlib
import csv
import json
import math
import pathlib
import random
import subprocess
import unittest

import test_openapi
from service import BINARY, PRIORBOOST, Case, new_store, pack_question, unpack_answer

AUDIT_DEVIATES = 5.5
CLASSES = ["red", "dark green", "blü"]


def run_command(*command):
    done = subprocess.run([PRIORBOOST, *command], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return done.stdout.strip()


def run(*command):
    return run_command("oracle", *command)


def exact_excess(rho, epsilon):
    """The least delta of discrete Gaussian counts of variance 1 / rho, of which one is larger by 1 and one smaller.

    The privacy loss depends on the difference of these two alone, whose mean is -1 or 1.
    """
    reach = math.ceil(12 / math.sqrt(rho))
    mass = [math.exp(-z * z * rho / 2) for z in range(-reach, reach + 1)]
    total, difference = sum(mass), [0.0] * (4 * reach + 1)
    for i, a in enumerate(mass):
        for j, b in enumerate(mass):
            difference[i - j + 2 * reach] += a * b / total**2
    above = [sum(difference[i:]) for i in range(len(difference))]
    return max(above[i] - math.exp(epsilon) * above[i + 2] for i in range(len(above) - 2))


class Vectors(Case):
    def make(self, header, rows, *rules):
        """A store of these rows, made by the program, and tokens of a learner and an operator."""
        self.store = new_store(self.folder)
        table = pathlib.Path(self.folder, "labels.csv")
        with table.open("w", newline="") as out:
            csv.writer(out).writerows([header, *rows])
        run("init", "--store", self.store, *rules)
        label = ["--label", "label"] if "label" in header else []
        run("import", "--store", self.store, "--data", str(table), "--id", "id", *label)
        self.token = {role: run("token", "create", "--store", self.store, "--name", role, "--role", role)
                      for role in ("learner", "operator")}

    def ask_binary(self, service, name, bags, answer):
        return service.send("POST", "/v1/queries", pack_question(name, bags, answer=answer),
                            token=self.token["learner"], type=BINARY)

    def check_described(self, service, schema, value):
        document = service.get("/v1/openapi.json").json()
        described = {"$ref": f"#/components/schemas/{schema}"}
        self.assertEqual(list(test_openapi.violations(value, described, document)), [])

    def test_counts_in_both_forms(self):
        rows = [(i, CLASSES[i * i % 3]) for i in range(60)]
        self.make(["id", "label"], rows, "--min-bag", "5", "--no-noise", "--classes", ",".join(CLASSES))
        bags = [list(range(0, 10)), list(range(10, 17))]
        expected = [[sum(rows[i][1] == c for i in bag) for c in CLASSES] for bag in bags]
        with self.serve_again() as service:
            learner = self.token["learner"]
            config = service.get("/v1/config", token=learner).json()
            self.assertEqual((config["answer"], config["width"], config["classes"]), ("classes", 3, CLASSES))
            self.check_described(service, "Config", config)
            answer = service.ask(learner, "a", [[str(i) for i in bag] for bag in bags], answer="classes").json()
            self.assertEqual(answer["answers"], [{"counts": c, "size": sum(c)} for c in expected])
            self.check_described(service, "Answer", answer)
            bags = [[i + 17 for i in bag] for bag in bags]
            expected = [[sum(rows[i][1] == c for i in bag) for c in CLASSES] for bag in bags]
            reply = self.ask_binary(service, "b", bags, 1)
            self.assertEqual([a["values"] for a in unpack_answer(reply.body)["answers"]], expected)
            again = self.ask_binary(service, "b", bags, 1)
            self.assertEqual(again.body, reply.body)
            status = service.get("/v1/status", token=self.token["operator"]).json()
            self.assertEqual(status["rules"]["classes"], CLASSES)
            self.assertEqual(status["ledger"]["bags"], 4)
        self.assertIn("4 sums computed again: sound", run("audit", "--store", self.store))

    def test_a_learner_that_does_not_know_them_spends_nothing(self):
        rows = [(i, CLASSES[i % 3]) for i in range(60)]
        self.make(["id", "label"], rows, "--min-bag", "5", "--no-noise", "--classes", ",".join(CLASSES))
        bags = [list(range(10))]
        text = [[str(i) for i in bag] for bag in bags]
        with self.serve_again() as service:
            learner = self.token["learner"]
            for reply in (service.ask(learner, "a", text), service.ask(learner, "a", text, answer="columns"),
                          service.send("POST", "/v1/queries", pack_question("a", bags), token=learner, type=BINARY)):
                self.check_described(service, "Problem", self.check_problem(reply, 409, "answer-kind"))
            self.check_problem(service.ask(learner, "a", text, answer="sums"), 400, "malformed-request")
            status = service.get("/v1/status", token=self.token["operator"]).json()
            self.assertEqual((status["ledger"]["spent"], status["ledger"]["answers"]), (0, 0))
            self.assertEqual(service.ask(learner, "a", text, answer="classes").status, 200)

    def test_means_of_columns(self):
        rows = [(i, i % 7, (i % 5) / 4) for i in range(40)]
        self.make(["id", "visits", "cost"], rows, "--min-bag", "5", "--no-noise", "--labels", "visits=0:6:1,cost=0:1:0.25",
                  "--shares", "2,1")
        bag = list(range(3, 13))
        expected = [sum(rows[i][j] for i in bag) / len(bag) for j in (1, 2)]
        with self.serve_again() as service:
            config = service.get("/v1/config", token=self.token["learner"]).json()
            self.assertEqual((config["answer"], config["width"]), ("columns", 2))
            self.assertEqual(config["columns"], [{"name": "visits", "lower": 0, "upper": 6, "step": 1, "share": 2},
                                                 {"name": "cost", "lower": 0, "upper": 1, "step": 0.25, "share": 1}])
            answer = service.ask(self.token["learner"], "a", [[str(i) for i in bag]], answer="columns").json()
            self.check_described(service, "Config", config)
            self.check_described(service, "Answer", answer)
            for got, want in zip(answer["answers"][0]["means"], expected):
                self.assertAlmostEqual(got, want)
            reply = self.ask_binary(service, "b", [[i + 20 for i in bag[:5]]], 2)
            self.assertEqual(len(unpack_answer(reply.body)["answers"][0]["values"]), 2)
        self.assertIn("sound", run("audit", "--store", self.store))

    def test_gaussian_noise_is_announced_and_drawn(self):
        """The variance that rho needs: counts together have sensitivity sqrt 2."""
        bags = 4000
        rows = [(i, CLASSES[0]) for i in range(2 * bags)]
        self.make(["id", "label"], rows, "--min-bag", "2", "--epsilon", "2", "--mechanism", "gaussian", "--delta", "1e-6",
                  "--classes", ",".join(CLASSES))
        with self.serve_again() as service:
            config = service.get("/v1/config", token=self.token["learner"]).json()
            self.check_described(service, "Config", config)
            self.assertEqual((config["mechanism"], config["delta_fraction"]), ("gaussian", "1/1000000"))
            rho = config["rho"]
            self.assertLessEqual(rho + 2 * math.sqrt(rho * math.log(1e6)), 2)
            self.assertGreater(rho + 2 * math.sqrt(rho * math.log(1e6)), 1.9999)
            asked = [[2 * b, 2 * b + 1] for b in range(bags)]
            answer = unpack_answer(self.ask_binary(service, "a", asked, 1).body)
            self.assertIs(answer["dp"], True)
        noise = [a["values"][j] - (2 if j == 0 else 0) for a in answer["answers"] for j in range(3)]
        variance = sum(z * z for z in noise) / len(noise)
        self.assertLess(abs(variance * rho - 1), 5 * math.sqrt(2 / len(noise)))
        with self.assertRaisesRegex(RuntimeError, "for --classes and --labels"):
            run("init", "--store", f"sqlite:{self.folder}/x.db", "--min-bag", "2", "--epsilon", "1", "--bounds", "0,1",
                "--mechanism", "gaussian", "--delta", "1e-6")

    def test_a_killed_learner_continues(self):
        """Every row is answered for once, and the model is that of a learner that was not killed."""
        draw = random.Random(5)
        table = [(i, draw.gauss(0, 1), draw.gauss(0, 1)) for i in range(600)]
        labels = [(i, CLASSES[0 if a + draw.gauss(0, 1) > 0.5 else 1 if b + draw.gauss(0, 1) > 0 else 2]) for i, a, b in table]
        data = pathlib.Path(self.folder, "x.csv")
        with data.open("w", newline="") as out:
            csv.writer(out).writerows([["id", "a", "b"], *table])
        models = []
        for kills in (5, 0):
            self.make(["id", "label"], labels, "--min-bag", "10", "--no-noise", "--classes", ",".join(CLASSES))
            token, model = pathlib.Path(self.folder, "token"), pathlib.Path(self.folder, f"model-{kills}.json")
            token.write_text(self.token["learner"] + "\n")
            token.chmod(0o600)
            with self.serve_again() as service:
                train = [PRIORBOOST, "train", "--data", str(data), "--id", "id", "--family", "classes", "--rounds", "4",
                         "--bags", "random", "--oracle", service.url, "--token-file", str(token), "--out", str(model)]
                for kill in range(1, kills + 1):
                    resume = ["--resume"] * pathlib.Path(f"{model}.checkpoint", "run").exists()
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        subprocess.run([*train, *resume], capture_output=True, timeout=0.04 * kill)
                resume = ["--resume"] * pathlib.Path(f"{model}.checkpoint", "run").exists()
                if not model.exists():
                    done = subprocess.run([*train, *resume], capture_output=True, text=True)
                    self.assertEqual(done.returncode, 0, done.stderr)
                status = service.get("/v1/status", token=self.token["operator"]).json()
                self.assertEqual((status["ledger"]["spent"], status["ledger"]["answers"]), (600, 4))
            models.append(run_command("predict", "--model", str(model), "--data", str(data)))
        self.assertEqual(models[0], models[1])

    def test_import_names_the_line_of_a_label_that_is_no_class(self):
        self.make(["id", "label"], [(i, CLASSES[0]) for i in range(3)], "--min-bag", "5", "--no-noise", "--classes",
                  ",".join(CLASSES))
        table = pathlib.Path(self.folder, "more.csv")
        table.write_text("id,label\n7,red\n8,crimson\n")
        command = ["import", "--store", self.store, "--data", str(table), "--id", "id", "--label", "label"]
        with self.assertRaisesRegex(RuntimeError, "more.csv:3: label 'label' is missing or none of the store's 3 classes"):
            run(*command)
        with self.assertRaisesRegex(RuntimeError, "--bad-label is 'pink'"):
            run(*command, "--bad-label", "pink")
        run(*command, "--bad-label", "red")
        self.assertEqual(json.loads(run("status", "--store", self.store, "--json"))["rows"], 5)

    def ask_neighbours(self, *rules):
        """Counts of many bags of two rows, the first red or green by chance; whether it is green; the configuration."""
        bags, requests = 2500, 8
        changed = [i * 2654435761 >> 7 & 1 for i in range(bags * requests)]
        rows = [(2 * i + j, CLASSES[2 if j else changed[i]]) for i in range(bags * requests) for j in (0, 1)]
        self.make(["id", "label"], rows, "--min-bag", "2", *rules, "--classes", ",".join(CLASSES))
        counts = []
        with self.serve_again() as service:
            config = service.get("/v1/config", token=self.token["learner"]).json()
            for request in range(requests):
                asked = [[2 * (request * bags + b), 2 * (request * bags + b) + 1] for b in range(bags)]
                answer = unpack_answer(self.ask_binary(service, f"round-{request}", asked, 1).body)
                counts += [a["values"] for a in answer["answers"]]
        self.assertTrue(all(c == round(c) for count in counts for c in count))
        return counts, changed, config

    def test_law_and_audit_of_counts(self):
        """An observer adds up the evidence of both counts."""
        epsilon = 1
        counts, changed, _ = self.ask_neighbours("--epsilon", str(epsilon))
        draws = len(counts)
        rate = epsilon / 2  # of each count: two of them differ
        variance = 2 * math.exp(-rate) / (1 - math.exp(-rate)) ** 2
        noise = [[c[0] - (not x), c[1] - x, c[2] - 1] for c, x in zip(counts, changed)]
        for j in range(3):
            seen = sum(z[j] ** 2 for z in noise) / draws
            self.assertLess(abs(seen / variance - 1), 5 * math.sqrt(5 / draws))
            product = sum(z[j] * z[(j + 1) % 3] for z in noise) / draws
            self.assertLess(abs(product), 5 * variance / math.sqrt(draws))
        evidence = [[abs(a - 1) - abs(a) + abs(b) - abs(b - 1) for (a, b, _), y in zip(counts, changed) if y == x]
                    for x in (0, 1)]
        shown = max(self.gain(*evidence, t) for t in range(-2, 3))
        self.assertLessEqual(shown, epsilon)
        self.assertGreater(shown, 0.7 * epsilon)  # an audit that sees nothing would pass anything

    def test_audit_of_gaussian_counts(self):
        """(epsilon, delta), and what an observer gains at smaller epsilon: no more than the announced rho allows."""
        epsilon, delta = 1, 0.1  # with a small delta the noise hides more than the audit can see
        counts, changed, config = self.ask_neighbours("--epsilon", "1", "--mechanism", "gaussian", "--delta", "0.1")
        evidence = [[round(b - a) for (a, b, _), y in zip(counts, changed) if y == x] for x in (0, 1)]
        shown = {e: max(self.excess(*evidence, e), self.excess(*[[-d for d in part] for part in evidence[::-1]], e))
                 for e in (0, 0.5, epsilon)}
        self.assertLessEqual(shown[epsilon], delta)
        for e, seen in shown.items():
            self.assertLessEqual(seen, exact_excess(config["rho"], e), f"at epsilon {e}")
        self.assertGreater(shown[0], 0.5 * exact_excess(config["rho"], 0))  # it must see something

    def excess(self, plain, other, epsilon):
        """The most by which P(evidence >= t) exceeds exp(epsilon) times that of the neighbour, less 5.5 deviates."""
        most, factor = 0, math.exp(epsilon)
        for t in range(min(plain), max(other) + 1):
            a, b = sum(d >= t for d in other) / len(other), sum(d >= t for d in plain) / len(plain)
            width = math.sqrt(a * (1 - a) / len(other) + factor**2 * b * (1 - b) / len(plain))
            most = max(most, a - factor * b - AUDIT_DEVIATES * width)
        return most

    def gain(self, plain, other, t):
        n, m = len(plain), len(other)
        b, a = sum(e >= t for e in plain), sum(e >= t for e in other)
        most = 0
        for up, of_up, down, of_down in ((a, m, b, n), (n - b, n, m - a, m)):
            if up >= 50 and down >= 50:
                width = math.sqrt(1 / up - 1 / of_up + 1 / down - 1 / of_down)
                most = max(most, math.log(up / of_up * of_down / down) - AUDIT_DEVIATES * width)
        return most


if __name__ == "__main__":
    unittest.main()
