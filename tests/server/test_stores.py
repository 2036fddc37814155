#!/usr/bin/env python3
"""One service on two stores, as the label holder sets it up."""

import collections
import concurrent.futures
import json
import pathlib
import random
import subprocess
import unittest

from service import PRIORBOOST, Case, new_store

ROWS, SIZE = 400, 8


def run(*arguments, code=0):
    done = subprocess.run([PRIORBOOST, *arguments], capture_output=True, text=True, timeout=120)  # a service would stay
    assert done.returncode == code, (arguments, done.returncode, done.stdout, done.stderr)
    return done


class Stores(Case):
    def make(self, *rules):
        """An oracle with two stores, in which one label of ten is 1."""
        self.stores = [new_store(self.folder), new_store(self.folder)]
        self.both = [word for store in self.stores for word in ("--store", store)]
        self.store = self.stores[0]
        rules = rules or ("--no-noise",)
        run("oracle", "init", *self.both, "--min-bag", "4", "--bounds", "0,1", *rules)
        table = pathlib.Path(self.folder, "labels.csv")
        table.write_text("id,y\n" + "".join(f"{i},{int(i % 10 == 0)}\n" for i in range(ROWS)))
        made = run("oracle", "import", *self.both, "--data", str(table), "--id", "id", "--label", "y", "--json")
        self.assertEqual(json.loads(made.stdout)["rows"], ROWS)
        made = run("oracle", "token", "create", "--store", self.store, "--name", "learner", "--json")
        self.learner = json.loads(made.stdout)["token"]
        return self.serve_again("--store", self.stores[1])

    def audit(self):
        return json.loads(run("oracle", "audit", *self.both, "--json").stdout)

    def test_answers_are_of_rows_in_both_stores(self):
        service = self.make()
        rows = random.Random(1).sample(range(ROWS), ROWS)
        bags = [[str(i) for i in rows[j:j + SIZE]] for j in range(0, ROWS, SIZE)]

        def ask(j):
            return service.ask(self.learner, f"r{j}", bags[2 * j:2 * j + 2])

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            replies = list(pool.map(ask, range(len(bags) // 2)))
        for j, reply in enumerate(replies):
            self.assertEqual(reply.status, 200, reply.body)
            self.assertEqual([a["mean"] for a in reply.json()["answers"]],
                             [sum(int(i) % 10 == 0 for i in bag) / SIZE for bag in bags[2 * j:2 * j + 2]])
            self.assertEqual(ask(j).body, reply.body)
        self.check_problem(service.ask(self.learner, "again", bags[:1]), 409, "row-spent")
        by_store = []
        for store in self.stores:
            status = json.loads(run("oracle", "status", "--store", store, "--json").stdout)
            by_store.append(status["rows"])
            self.assertEqual(status["spent"], status["rows"])
        self.assertEqual(sum(by_store), ROWS)
        self.assertGreater(min(by_store), ROWS // 3)
        audit = self.audit()
        self.assertEqual((audit["sound"], audit["answers"], audit["rows"], audit["sums"], audit["interrupted"]),
                         (True, len(bags) // 2, ROWS, len(bags), 0))
        token = service.get("/v1/status", token=self.learner).json()["token"]
        self.assertEqual(token["rows_used"], ROWS)

    def test_killed_at_any_moment(self):
        """Replies that were delivered stay; what was interrupted between two commits stays refused."""
        service = self.make()
        draw, kept, refused = random.Random(2), {}, set()
        rows = list(range(ROWS))
        questions = [[[str(i) for i in rows[j:j + SIZE]]] for j in range(0, ROWS, SIZE)]

        def ask_all():
            for j, bags in enumerate(questions):
                if j not in kept and j not in refused:
                    reply = service.ask(self.learner, f"q{j}", bags)
                    if reply.status == 200:
                        kept[j] = reply.body
                    else:
                        self.check_problem(reply, 409, "request-incomplete")
                        refused.add(j)

        for _ in range(12):
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                asking = pool.submit(ask_all)
                concurrent.futures.wait([asking], timeout=draw.random() * 0.15)
                service.process.kill()
                service.process.wait()
                try:
                    asking.result()
                except (OSError, ConnectionError, json.JSONDecodeError):
                    pass
                except Exception as error:  # http.client's own
                    self.assertIn("http.client", type(error).__module__)
            service = self.serve_again("--store", self.stores[1])
        ask_all()
        self.assertEqual(len(kept) + len(refused), len(questions))
        for j, body in kept.items():
            self.assertEqual(service.ask(self.learner, f"q{j}", questions[j]).body, body)
        for j in refused:
            self.check_problem(service.ask(self.learner, f"q{j}", questions[j]), 409, "request-incomplete")
        audit = self.audit()
        self.assertEqual((audit["sound"], audit["answers"], audit["interrupted"]), (True, len(kept), len(refused)))

    def test_stores_that_do_not_belong_together(self):
        service = self.make()
        service.stop()
        alone = run("serve", "--store", self.stores[1], "--listen", f"unix:{self.folder}/s", code=2)
        self.assertIn("the oracle has 2 stores, of which 1 is given", alone.stderr)
        twice = run("serve", "--store", self.store, "--store", self.store, "--listen", f"unix:{self.folder}/s", code=2)
        self.assertIn("store 1 of the oracle is given twice", twice.stderr)
        other = new_store(self.folder)
        run("oracle", "init", "--store", other, "--min-bag", "4", "--bounds", "0,1", "--no-noise")
        mixed = run("serve", "--store", self.store, "--store", other, "--listen", f"unix:{self.folder}/s", code=3)
        self.assertIn("does not belong to the same oracle", mixed.stderr)
        tokens = run("oracle", "token", "create", "--store", self.stores[1], "--name", "x", code=2)
        self.assertIn("tokens are in store 1", tokens.stderr)
        one = run("oracle", "rekey", *self.both, code=2)
        self.assertIn("one store at a time", one.stderr)
        keys = run("oracle", "status", *self.both, "--key", f"{self.folder}/k", code=2)
        self.assertIn("--key is given 1 times for 2 stores", keys.stderr)

    def test_the_noise_of_a_bag_is_one_draw(self):
        """A draw for each store would have twice the variance."""
        service = self.make("--epsilon", "0.5")
        bags = [[str(i) for i in range(j, j + 4)] for j in range(0, ROWS, 4)]
        answers = service.ask(self.learner, "r", bags).json()["answers"]
        self.assertEqual(collections.Counter(a["size"] for a in answers), {4: len(bags)})
        noise = [4 * a["mean"] - sum(int(i) % 10 == 0 for i in bag) for a, bag in zip(answers, bags)]
        # 100 draws of variance 8 and kurtosis 6: six standard errors are 2.7 times the variance at most
        self.assertLess(sum(z * z for z in noise) / len(noise), 8 * (1 + 4 * (5 / len(noise)) ** 0.5))


if __name__ == "__main__":
    unittest.main()
