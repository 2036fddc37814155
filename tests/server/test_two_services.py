#!/usr/bin/env python3
"""Two processes of the service on one store, with learners that race on both."""

import collections
import concurrent.futures
import json
import os
import pathlib
import random
import shutil
import subprocess
import unittest

from learner import Learner
from service import POSTGRESQL, PRIORBOOST, Case

ROWS, SIZE, CLIENTS, ATTEMPTS = 600, 4, 8, 40


class TwoServices(Case):
    def test_a_row_is_in_one_answer_whichever_service_gives_it(self):
        """One label of ten is 1, so a bag that is summed wrongly shows."""
        labels = [int(i % 10 == 0) for i in range(ROWS)]
        first = self.serve(rows=list(enumerate(labels)), min_bag=SIZE)
        services = (first, self.serve_again())
        answered, statuses = collections.Counter(), collections.Counter()
        replies = collections.defaultdict(set)

        def ask(client, attempt, draw):
            """Half of the questions are asked by all clients under one name, of both services at a time."""
            shared = attempt % 2 == 0
            rows = (random.Random(attempt) if shared else draw).sample(range(ROWS), 2 * SIZE)
            name = f"shared-{attempt}" if shared else f"own-{client}-{attempt}"
            bags = [[str(i) for i in rows[:SIZE]], [str(i) for i in rows[SIZE:]]]
            reply = draw.choice(services).ask(self.token["learner"], name, bags)
            return name, rows, reply

        def run(client):
            draw = random.Random(1000 + client)
            return [ask(client, attempt, draw) for attempt in range(ATTEMPTS)]

        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            asked = [one for part in pool.map(run, range(CLIENTS)) for one in part]
        for name, rows, reply in asked:
            statuses[reply.status] += 1
            self.assertIn(reply.status, (200, 409), reply.body)
            if reply.status == 200:
                if name not in replies:
                    answered.update(rows)
                    means = [a["mean"] for a in reply.json()["answers"]]
                    self.assertEqual(means, [sum(labels[i] for i in rows[:SIZE]) / SIZE,
                                             sum(labels[i] for i in rows[SIZE:]) / SIZE])
                replies[name].add(reply.body)
            else:
                self.assertEqual(reply.json()["problem"], "row-spent")
        self.assertEqual(set(answered.values()), {1})
        self.assertEqual({len(bodies) for bodies in replies.values()}, {1})
        self.assertGreater(statuses[409], 20)
        self.assertGreater(statuses[200], len(replies))  # some were retries
        for service in services:
            ledger = service.get("/v1/status", token=self.token["operator"]).json()["ledger"]
            self.assertEqual(ledger["spent"], len(answered))

    def test_a_question_goes_on_at_the_other_service(self):
        """A service is killed; the learner asks the other one and gets the same bytes."""
        first = self.serve()
        second = self.serve_again()
        reply = first.ask(self.token["learner"], "r", [["1", "2"]])
        first.process.kill()
        first.process.wait()
        self.assertEqual(second.ask(self.token["learner"], "r", [["1", "2"]], head=reply.json()["head"]).body, reply.body)
        self.check_problem(second.ask(self.token["learner"], "s", [["1", "3"]]), 409, "row-spent")

    def test_each_may_have_a_witness_of_its_own(self):
        """As on two machines: either witness also covers what the other service has answered."""
        first = self.serve()
        folder = pathlib.Path(os.environ.get("XDG_STATE_HOME", "")) / "priorboost" if POSTGRESQL else pathlib.Path(self.folder)
        witness = max(folder.glob("*.witness"), key=lambda path: path.stat().st_mtime_ns)
        own = shutil.copy(witness, f"{self.folder}/own")
        second = self.serve_again("--witness", own)
        for number, service in enumerate((first, second, first, second)):
            rows = [str(2 * number), str(2 * number + 1)]
            self.assertEqual(service.ask(self.token["learner"], f"r{number}", [rows]).status, 200)
        for service in (first, second):
            self.assertEqual(service.stop(), 0)
        for options in ((), ("--witness", own)):
            with self.serve_again(*options) as service:
                self.check_problem(service.ask(self.token["learner"], "again", [["0", "2"]]), 409, "row-spent")

    def test_tokens_and_rows_of_one_are_those_of_the_other(self):
        first = self.serve()
        second = self.serve_again()
        for service in (first, second):
            self.assertEqual(service.get("/v1/config", token=self.token["learner"]).status, 200)
        subprocess.run([PRIORBOOST, "oracle", "token", "revoke", "--store", self.store, "--name", "learner"], check=True,
                       capture_output=True)
        for service in (first, second):
            self.check_problem(service.ask(self.token["learner"], "r", [["1", "2"]]), 401, "token-invalid")


class TwoLearners(Learner):
    def test_learners_on_both_train_as_if_alone(self):
        """Each learner has its own half of the rows and its own service; both run at the same time."""
        self.make_tables()
        for name in ("features", "full"):
            head, *lines = pathlib.Path(f"{self.folder}/{name}.csv").read_text().splitlines()
            for part in range(2):
                text = "\n".join([head, *lines[part::2]]) + "\n"
                pathlib.Path(f"{self.folder}/{name}-{part}.csv").write_text(text)
        first = self.serve(rows=self.labels, min_bag=8)
        services = (first, self.serve_again())
        running = [self.train(service, "--rounds", "6", data=f"features-{part}.csv", wait=False)
                   for part, service in enumerate(services)]
        for part, process in enumerate(running):
            out, said = process.communicate(timeout=300)
            self.assertEqual(process.returncode, 0, said)
            self.check_same(json.loads(out), self.train_here("--rounds", "6", data=f"full-{part}.csv"))
        for service in services:
            ledger = service.get("/v1/status", token=self.token["operator"]).json()["ledger"]
            self.assertEqual(ledger["spent"], 600)


if __name__ == "__main__":
    unittest.main()
