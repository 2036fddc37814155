#!/usr/bin/env python3
"""The noise of the answers that leave the service, and what must not leave it without noise.

tests/ledger/test_noise.c looks at more draws; here they come through HTTP, in both formats, from a
service that was started twice.  The draws are random: the checks fail by chance less than once in
50,000 runs (16 distances of 5 deviates, 80 limits of 5.5).
"""

import bisect
import math
import random
import re
import subprocess
import unittest

from service import BINARY, PRIORBOOST, Case, pack_question, unpack_answer

REQUESTS, BAGS, SIZE = 16, 2500, 2
DRAWS = REQUESTS * BAGS
LOWER, UPPER, STEP = -1, 2, 2.0**-19  # make_store takes the default step
EPSILON = 1
RATE = EPSILON * STEP / (UPPER - LOWER)
DEVIATES, AUDIT_DEVIATES = 5, 5.5


def tail(z):
    """P(Z >= z) of discrete Laplace noise."""
    return math.exp(-RATE * z) / (1 + math.exp(-RATE)) if z > 0 else 1 - tail(1 - z)


def borders(cells):
    """Borders of 2 * cells - 1 cells of about equal mass."""
    upper = [math.ceil(-math.log(i / (2 * cells) * (1 + math.exp(-RATE))) / RATE) for i in range(1, cells)]
    return sorted([*upper, *(1 - z for z in upper)])


def masses(border):
    above = [1, *map(tail, border), 0]
    return [a - b for a, b in zip(above, above[1:])]


def deviate(counts, expected):
    """The normal deviate of a chi-square, after Wilson and Hilferty."""
    freedom = len(expected) - 1
    chi2 = sum((n - e) ** 2 / e for n, e in zip(counts, expected))
    v = 2 / (9 * freedom)
    return ((chi2 / freedom) ** (1 / 3) - (1 - v)) / math.sqrt(v)


def distance(noise):
    border = borders(48)
    counts = [0] * (len(border) + 1)
    for z in noise:
        counts[bisect.bisect_right(border, z)] += 1
    return deviate(counts, [len(noise) * p for p in masses(border)])


def dependence(first, second):
    border = borders(4)
    cells = len(border) + 1
    counts = [0] * cells**2
    for a, b in zip(first, second):
        counts[bisect.bisect_right(border, a) * cells + bisect.bisect_right(border, b)] += 1
    pairs = min(len(first), len(second))
    return deviate(counts, [pairs * p * q for p in masses(border) for q in masses(border)])


def gain(plain, changed):
    """The most that an observer is shown to gain, 5.5 deviates below what was seen."""
    plain, changed, most = sorted(plain), sorted(changed), 0
    n, m = len(plain), len(changed)
    for i in range(-10, 31):  # from one range below the lower bound to two above
        t = (LOWER + i * (UPPER - LOWER) / 10) / STEP
        b, a = n - bisect.bisect_left(plain, t), m - bisect.bisect_left(changed, t)
        for up, of_up, down, of_down in ((a, m, b, n), (n - b, n, m - a, m)):
            if up >= 50 and down >= 50:
                width = math.sqrt(1 / up - 1 / of_up + 1 / down - 1 / of_down)
                most = max(most, math.log(up / of_up * of_down / down) - AUDIT_DEVIATES * width)
    return most


class Noise(Case):
    def ask_all(self, service, requests):
        """The totals of bags, in steps."""
        totals = []
        for request in requests:
            bags = [[1 + (request * BAGS + b) * SIZE + i for i in range(SIZE)] for b in range(BAGS)]
            name, token = f"round-{request}", self.token["learner"]
            if request % 2 == 0:
                reply = service.send("POST", "/v1/queries", pack_question(name, bags), token=token, type=BINARY)
                answer = unpack_answer(reply.body)
            else:
                answer = service.ask(token, name, [[str(i) for i in bag] for bag in bags]).json()
            self.assertIs(answer["dp"], True)
            totals += [a["mean"] * a["size"] / STEP for a in answer["answers"]]
        return totals

    def test_law_independence_and_audit(self):
        draw = random.Random(1)
        changed = [draw.random() < 0.5 for _ in range(DRAWS)]
        first = [UPPER if c else LOWER for c in changed]
        rows = [(1 + i, first[i // SIZE] if i % SIZE == 0 else 0.5) for i in range(DRAWS * SIZE)]
        half = REQUESTS // 2
        with self.serve(rows=rows, min_bag=SIZE, epsilon=EPSILON, bounds=(LOWER, UPPER)) as service:
            totals = self.ask_all(service, range(half))
        with self.serve_again() as service:
            totals += self.ask_all(service, range(half, REQUESTS))
        for total in totals:
            self.assertLess(abs(total - round(total)), 1e-3)
        totals = [round(total - 0.5 / STEP) for total in totals]
        noise = [round(total - label / STEP) for total, label in zip(totals, first)]
        self.assertLess(distance(noise), DEVIATES)
        for what, lag in (("neighbouring bags", 1), ("bags two apart", 2), ("the same bag, next request", BAGS),
                          ("the same bag and format, next request", 2 * BAGS), ("after a restart", DRAWS // 2)):
            with self.subTest(what):
                self.assertLess(dependence(noise, noise[lag:]), DEVIATES)
        shown = gain([t for t, c in zip(totals, changed) if not c], [t for t, c in zip(totals, changed) if c])
        self.assertLessEqual(shown, EPSILON)
        self.assertGreater(shown, 0.8 * EPSILON)  # an audit that sees nothing would pass anything


class Secrets(Case):
    def numbers(self, text):
        return [float(n) for n in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?:e[+-]?\d+)?(?!\w)", text)]

    def test_no_label_and_no_sum_without_noise_is_told(self):
        """Labels of many digits, so that no other number is near them or their sums and means."""
        draw = random.Random(2)
        rows = [(i, draw.randrange(10**7, 4 * 10**8)) for i in range(60)]
        bounds, step = (0, 2**29), 2.0**9
        bags = [[i, i + 1, i + 2] for i in range(0, 60, 3)]
        with self.serve(rows=rows, min_bag=3, epsilon="0.5", bounds=bounds) as service:
            learner, operator = self.token["learner"], self.token["operator"]
            self.assertEqual(service.ask(learner, "a", [[str(i) for i in bag] for bag in bags[:10]]).status, 200)
            reply = service.send("POST", "/v1/queries", pack_question("b", bags[10:]), token=learner, type=BINARY)
            self.assertEqual(reply.status, 200)
            told = [service.ask(learner, f"refused-{n}", refused).body.decode()
                    for n, refused in enumerate(([["0", "1", "2"]], [["0", "x", "2"], ["1"]]))]
            told += [service.get(path, token=operator).body.decode()
                     for path in ("/metrics", "/v1/status", "/v1/ledger", "/v1/config", "/readyz")]
            service.stop()
            told.append(service.log_text())
        for command in ("audit", "export-ledger", "status"):
            done = subprocess.run([PRIORBOOST, "oracle", command, "--store", self.store], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            told += [done.stdout, done.stderr]
        labels = [label for _, label in rows]
        sums = [sum(labels[i] for i in bag) for bag in bags]
        secret = [v * f for v in (*labels, *sums) for f in (1, 1 / 3, 1 / step, 1 / step / 3)]
        for text in told:
            for number in self.numbers(text):
                near = [v for v in secret if abs(number - v) <= 1e-5 * v]
                self.assertFalse(near, f"{number} is told: {text[:2000]}")


if __name__ == "__main__":
    unittest.main()
