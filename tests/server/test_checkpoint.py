#!/usr/bin/env python3
"""train --oracle that was killed or failed: what the learner has asked and been told is kept."""

import json
import os
import pathlib
import random
import signal
import unittest

from learner import Learner, Proxy
from service import POSTGRESQL

FAST = ["--patience", "2"]


class Checkpoints(Learner):
    def test_killed_at_every_question(self):
        """A learner that is killed as each question or its reply is under way ends with the same model."""
        self.make_tables()
        options = ["--rounds", "4", "--checkpoint", f"{self.folder}/checkpoint"]
        with self.serve(rows=self.labels, min_bag=8) as service:
            want, runs = self.train_here("--rounds", "4"), 0
            for kill_at in (1, 2, 3, 4, 5, 6, 7, None):
                state = {}

                def spoil(path, n, reply, kill_at=kill_at, state=state):
                    if path == "/v1/queries" and kill_at is not None and n == 1:
                        state["run"].send_signal(signal.SIGKILL)
                        state["run"].wait()
                    return None

                with Proxy(service, spoil) as proxy:
                    state["run"] = run = self.train(None, *options, url=proxy.url, wait=False)
                    out, said = run.communicate(timeout=120)
                    runs += 1
                if run.returncode == 0:
                    break
                self.assertEqual(run.returncode, -signal.SIGKILL, said)
                # The next one gets the reply of that question from the oracle, then is killed at the one after.
                with Proxy(service, lambda path, n, reply, state=state: self.kill_second(path, n, state)) as proxy:
                    state["run"] = run = self.train(None, *options, url=proxy.url, wait=False)
                    out, said = run.communicate(timeout=120)
                    runs += 1
                if run.returncode == 0:
                    break
            self.assertEqual(run.returncode, 0, said)
            self.assertGreaterEqual(runs, 4)
            self.check_same(json.loads(out), want)
            ledger = service.get("/v1/status", token=self.token["operator"]).json()["ledger"]
            self.assertEqual((ledger["answers"], ledger["spent"]), (4, 600))
        # Complete, the checkpoint needs the oracle for its rules and the quota only.
        with self.serve_again() as service:
            self.check_same(self.train(service, *options), want)
            service.stop()
            self.assertEqual([e["route"] for e in service.log() if e["event"] == "request"], ["config", "status"])

    @staticmethod
    def kill_second(path, n, state):
        if path == "/v1/queries" and n == 2:
            state["run"].send_signal(signal.SIGKILL)
            state["run"].wait()

    def test_another_model_of_the_same_answers(self):
        """Bags are asked about once: another --model takes the answers from the checkpoint."""
        self.make_tables(rows=4000)
        options = ["--checkpoint", f"{self.folder}/checkpoint"]
        with self.serve(rows=self.labels, min_bag=8) as service:
            want = self.train_here("--model", "trees")
            got = self.train(service, *options, "--model", "trees")
            self.assertEqual([m["kind"] for m in got["members"]], ["trees"])
            for key in ("members", "effects", "bag_groups", "misfit"):
                self.assertEqual(got[key], want[key], key)
            for model in ("glm", "auto"):
                got = self.train(service, *options, "--resume", "--model", model)
                self.assertEqual(got["model"], model)
            ledger = service.get("/v1/status", token=self.token["operator"]).json()["ledger"]
            self.assertEqual((ledger["answers"], ledger["spent"]), (1, 4000))

    def test_another_run(self):
        self.make_tables()
        checkpoint = ["--checkpoint", f"{self.folder}/checkpoint", "--rounds", "2"]
        with self.serve(rows=self.labels, min_bag=8) as service:
            self.train(service, *checkpoint)
            self.train(service, *checkpoint, "--bag-size", "9", code=2)
            self.assertIn("it has '--bag-size 0', this run has '--bag-size 9'", self.said)
            text = pathlib.Path(f"{self.folder}/features.csv").read_text().splitlines()
            pathlib.Path(f"{self.folder}/features.csv").write_text("\n".join(text[:-1]) + "\n")
            self.train(service, *checkpoint, code=2)
            self.assertIn("another table", self.said)

    def test_skipped_rows_are_remembered(self):
        self.make_tables()
        options = ["--rounds", "2", "--checkpoint", f"{self.folder}/checkpoint", "--skip-unavailable"]
        with self.serve(rows=self.labels[:500], min_bag=8) as service:
            state = {}
            with Proxy(service, lambda path, n, reply: self.kill_second(path, n, state)) as proxy:
                state["run"] = run = self.train(None, *options, url=proxy.url, wait=False)
                run.communicate(timeout=120)
            self.assertEqual(run.returncode, -signal.SIGKILL)
            remote = self.train(service, *options)
            self.assertEqual(remote["rows_spent"], 500)
            self.assertIn("continuing with the 500 rows", self.said)
            self.assertEqual(service.get("/v1/status", token=self.token["operator"]).json()["ledger"]["spent"], 500)

    def test_a_folder_that_cannot_be(self):
        self.make_tables()
        with self.serve(rows=self.labels, min_bag=8) as service:
            self.train(service, "--checkpoint", f"{self.folder}/features.csv", code=1)
            self.train(service, "--checkpoint", f"{self.folder}/no/where", code=1)

    def test_a_store_that_was_rolled_back(self):
        if POSTGRESQL:
            self.skipTest("copies a SQLite file")
        self.make_tables()
        path = None
        with self.serve(rows=self.labels, min_bag=8) as service:
            path = self.store[len("sqlite:"):]
            service.stop()
        files = (path, f"{path}.witness")  # both: the service itself notices a store that is put back alone
        backup = [pathlib.Path(file).read_bytes() for file in files]
        options = ["--rounds", "3", "--checkpoint", f"{self.folder}/checkpoint"]
        with self.serve_again() as service:
            state = {}
            with Proxy(service, lambda p, n, reply: self.kill_second(p, n, state)) as proxy:
                state["run"] = run = self.train(None, *options, url=proxy.url, wait=False)
                run.communicate(timeout=120)
            service.stop()
        for end in ("", "-wal", "-shm"):
            pathlib.Path(path + end).unlink(missing_ok=True)
        for file, data in zip(files, backup):
            pathlib.Path(file).write_bytes(data)
        with self.serve_again() as service:
            self.train(service, *options, code=5)
            self.assertIn("ledger-rollback", self.said)


class Kept(Learner):
    """Answers are kept by default, durably, for the same run with its rows in any order."""

    def ledger(self, service):
        ledger = service.get("/v1/status", token=self.token["operator"]).json()["ledger"]
        return ledger["answers"], ledger["spent"]

    def train_and_kill(self, service, *options, at=None, question=2, **more):
        """Kills the learner when the answer to this question is under way."""
        state = {}

        def spoil(path, n, reply):
            if path == "/v1/queries" and n == question:
                state["run"].send_signal(signal.SIGKILL)
                state["run"].wait()

        with Proxy(service, spoil) as proxy:
            state["run"] = run = self.train(None, *options, url=proxy.url, wait=False, at=at, **more)
            run.communicate(timeout=120)
        self.assertEqual(run.returncode, -signal.SIGKILL)

    def shuffle_table(self):
        path = pathlib.Path(self.folder, "features.csv")
        head, *lines = path.read_text().splitlines()
        random.Random(5).shuffle(lines)
        path.write_text("\n".join([head, *lines]) + "\n")

    def test_beside_the_model(self):
        self.make_tables()
        model = pathlib.Path(self.folder, "m.json")
        folder = pathlib.Path(self.folder, "m.json.checkpoint")
        options = ["--rounds", "4", "--out", str(model)]
        with self.serve(rows=self.labels, min_bag=8) as service:
            self.train(service, *options, "--resume", code=3)
            self.assertIn(f"no checkpoint {folder}", self.said)
            self.assertFalse(folder.exists())
            self.train_and_kill(service, *options)
            self.assertEqual(sorted(p.name for p in folder.iterdir()),
                             ["answer-000000-000000", "ask-000000", "ask-000001", "rows", "run"])
            self.assertTrue(all(p.stat().st_mode & 0o077 == 0 for p in [folder, *folder.iterdir()]))
            self.check_same(self.train(service, *options, "--resume"), self.train_here("--rounds", "4"))
            self.assertEqual(self.ledger(service), (4, 600))
        self.assertTrue(model.exists())
        self.assertFalse(folder.exists())  # the model is written: it has done its work

    def test_without_a_model_file(self):
        self.make_tables()
        with self.serve(rows=self.labels, min_bag=8) as service:
            printed = self.train(service, "--rounds", "2")
            folder = pathlib.Path(self.at, "priorboost.checkpoint")
            self.assertIn("are kept in priorboost.checkpoint", self.said)
            self.assertTrue((folder / "answer-000001-000000").exists())
            out = f"{self.folder}/m.json"
            again = self.train(service, "--rounds", "2", "--resume", "--checkpoint", str(folder), "--out", out)
            self.assertEqual(json.loads(pathlib.Path(out).read_text())["theta"], printed["theta"])
            self.check_same(again, printed)
            self.assertEqual(self.ledger(service), (2, 600))
        self.assertTrue(folder.exists())  # it was named
        with self.serve(rows=self.labels, min_bag=8) as service:  # a device keeps no model
            self.train(service, "--rounds", "2", "--out", "/dev/null")
            self.assertEqual(os.listdir(self.at), ["priorboost.checkpoint"])

    def test_no_checkpoint(self):
        self.make_tables()
        with self.serve(rows=self.labels, min_bag=8) as service:
            for other in (["--resume"], ["--checkpoint", "c"]):
                self.train(service, "--no-checkpoint", *other, code=2)
                self.assertIn(f"cannot be used with {other[0]}", self.said)
            self.train(service, "--rounds", "2", "--no-checkpoint")
            self.assertEqual(os.listdir(self.at), [])

    def test_rows_in_another_order(self):
        """Rows are known by id; a table with a pilot is planned again after the first round."""
        for options, noise in ((["--rounds", "4"], "none"), (["--standardize"], "4")):
            self.make_tables(rows=6000)
            folder = ["--checkpoint", f"{self.folder}/c{noise}"]
            with self.subTest(options=options), self.serve(rows=self.labels, min_bag=8, epsilon=noise) as service:
                self.train_and_kill(service, *options, *folder)
                self.shuffle_table()
                remote = self.train(service, *options, *folder, "--resume")
                self.assertEqual(self.ledger(service), (remote["rounds"], 6000))
                self.assertGreater(remote["rounds"], 1)
                if noise == "none":
                    for a, b in zip(remote["theta"], self.train_here(*options)["theta"]):
                        self.assertAlmostEqual(a, b, delta=1e-9)

    def test_parts_of_a_round(self):
        """Parts are kept as they are answered, and the round stays cut as it was."""
        self.make_tables()
        options = ["--rounds", "2", "--checkpoint", f"{self.folder}/c"]
        with self.serve("--max-body", "2048", rows=self.labels, min_bag=8) as service:
            with Proxy(service, lambda path, n, reply: (0, "", b"") if path == "/v1/queries" and n >= 3 else None) as proxy:
                self.train(None, *options, *FAST, url=proxy.url, code=4)  # the third part is answered, the reply lost
            self.assertIn("--resume continues from there", self.said)
            self.assertEqual(self.ledger(service)[0], 3)
            service.stop()
        with self.serve_again("--max-body", "4096") as service, Proxy(service, lambda *_: None) as proxy:
            remote = self.train(None, *options, "--resume", url=proxy.url)
            self.check_same(remote, self.train_here("--rounds", "2"))
            answers, spent = self.ledger(service)
            self.assertEqual(spent, 600)
            self.assertEqual(proxy.asked, answers - 2)  # of the first three one reply was lost

    def test_another_table(self):
        self.make_tables()
        options = ["--rounds", "2", "--checkpoint", f"{self.folder}/c"]
        path = pathlib.Path(self.folder, "features.csv")
        with self.serve(rows=self.labels, min_bag=8) as service:
            self.train_and_kill(service, *options)
            spent = self.ledger(service)
            whole = path.read_text()
            path.write_text(whole.rstrip("\n") + "1\n")  # a digit in the last cell
            self.train(service, *options, "--resume", code=2)
            self.assertIn("another table", self.said)
            path.write_text(whole)
            for change, words in ((["--seed", "4"], "'--seed 4'"), (["--standardize"], "'--standardize yes'"),
                                  (["--exclude", "c"], "'--exclude c'"), (["--rounds", "3"], "'--rounds 3'")):
                self.train(service, *options, *change, "--resume", code=2)
                self.assertIn(words, self.said)
            self.assertEqual(self.ledger(service), spent)
            self.train(service, *options, "--l2", "3", "--resume")  # the fit is one's own affair
        with self.serve(rows=self.labels, min_bag=8, epsilon="1") as service:  # another oracle
            self.train(service, *options, code=2)
            self.assertIn("it has 'oracle epsilon inf', this run has 'oracle epsilon 1'", self.said)
            self.assertEqual(self.ledger(service), (0, 0))

    def test_damaged_files(self):
        self.make_tables()
        folder = pathlib.Path(self.folder, "c")
        options = ["--rounds", "2", "--checkpoint", str(folder)]
        with self.serve(rows=self.labels, min_bag=8) as service:
            self.train(service, *options)
            for name in ("rows", "ask-000001", "answer-000000-000000"):
                whole = (folder / name).read_bytes()
                for broken in (b"", whole[:-1], whole[:len(whole) // 2]):
                    (folder / name).write_bytes(broken)
                    self.train(service, *options, code=3)
                    self.assertIn(f"{folder}/{name} is damaged", self.said)
                (folder / name).write_bytes(whole)
            self.train(service, *options)

    def test_a_disk_that_fails(self):
        """What cannot be put on the disk is not asked; an answer that cannot be kept is not used."""
        library = os.environ.get("FAULTS")
        if not library:
            self.skipTest("no library of faults")
        faults = {"LD_PRELOAD": library, "FAULT_FOLDER": self.folder,
                  "ASAN_OPTIONS": f"{os.environ.get('ASAN_OPTIONS', '')}:verify_asan_link_order=0"}
        self.make_tables()
        flag, folder = pathlib.Path(self.folder, "sync"), pathlib.Path(self.folder, "c")
        folder.mkdir(mode=0o700)
        options = ["--rounds", "3", "--checkpoint", str(folder)]

        def fail_later(path, n, reply):
            if path == "/v1/queries" and n == 2:
                flag.touch()

        with self.serve(rows=self.labels, min_bag=8) as service, Proxy(service, fail_later) as proxy:
            flag.touch()
            self.train(service, *options, code=1, environment=faults)
            self.assertEqual((self.ledger(service), os.listdir(folder)), ((0, 0), []))
            flag.unlink()
            self.train(None, *options, code=1, environment=faults, url=proxy.url)
            self.assertIn("answer-000001-000000", self.said)
            self.assertEqual(self.ledger(service), (2, 400))
            self.assertFalse((folder / "answer-000001-000000").exists())
            flag.unlink()
            self.check_same(self.train(service, *options, "--resume", environment=faults), self.train_here("--rounds", "3"))
            self.assertEqual(self.ledger(service), (3, 600))

    def test_a_first_question_that_is_refused(self):
        """Nothing is spent, so that nothing stands in the way of the corrected command."""
        self.make_tables()
        rows = [(i, y, f"p{n % 300}") for n, (i, y) in enumerate(self.labels)]
        with self.serve(rows=rows, min_bag=8, unit_rows=1) as service:
            self.train(service, "--rounds", "2", code=5)
            self.assertIn("unit", self.said)
            self.assertEqual(os.listdir(self.at), [])
            self.assertEqual(self.ledger(service)[1], 0)

    def test_a_fit_that_fails(self):
        """A penalty that was needed can be set afterwards: the answers are there."""
        self.make_tables()
        labels = [(i, int(float(line.split(",")[1]) > 0)) for (i, _), line in
                  zip(self.labels, pathlib.Path(self.folder, "features.csv").read_text().splitlines()[1:])]
        options = ["--estimator", "event", "--rounds", "4", "--exclude", "b,c",
                   "--checkpoint", f"{self.folder}/c"]
        with self.serve(rows=labels, min_bag=2) as service:
            self.train(service, *options, "--l2", "0", code=3)
            self.assertIn("separable", self.said)
            self.assertGreater(self.ledger(service)[0], 1)
            self.train(service, *options, "--l2", "1", "--resume")
            self.assertEqual(self.ledger(service), (4, 600))


class Quota(Learner):
    def test_too_few_rows_left(self):
        self.make_tables()
        with self.serve(rows=self.labels, min_bag=8, tokens=["small:learner:0:599:"]) as service:
            self.train(service, "--rounds", "4", token="small", code=5)
            self.assertIn("would ask about 600 rows, but the token has 599 left", self.said)
            self.assertEqual(os.listdir(self.at), [])
            status = service.get("/v1/status", token=self.token["operator"]).json()
            self.assertEqual(status["ledger"]["spent"], 0)

    def test_just_enough(self):
        """A learner that was killed as its last answer came has spent all, and needs no more."""
        self.make_tables()
        options = ["--rounds", "2", "--checkpoint", f"{self.folder}/c"]
        with self.serve(rows=self.labels, min_bag=8, tokens=["small:learner:0:600:"]) as service:
            Kept.train_and_kill(self, service, *options, token="small")
            token = service.get("/v1/status", token=self.token["small"]).json()["token"]
            self.assertEqual((token["rows_used"], token["max_rows"], token["rows_left"]), (600, 600, 0))
            self.assertEqual(self.train(service, *options, "--resume", token="small")["rows_spent"], 600)

    def test_no_limit(self):
        self.make_tables()
        with self.serve(rows=self.labels, min_bag=8) as service:
            self.assertIsNone(service.get("/v1/status", token=self.token["learner"]).json()["token"]["rows_left"])

    def test_an_oracle_that_does_not_say(self):
        self.make_tables()
        silent = lambda path, n, reply: (200, reply.type, b'{"token":{}}') if path == "/v1/status" else None
        with self.serve(rows=self.labels, min_bag=8) as service, Proxy(service, silent) as proxy:
            self.train(None, "--rounds", "2", url=proxy.url, code=4)
            self.assertIn("how many rows", self.said)


class NotToBeUsed(Learner):
    def test_the_answers_stay(self):
        """The fit does not converge: exit code 6, no model, and --resume --force writes it."""
        self.make_tables()
        labels = [(i, int(float(line.split(",")[1]) > 0)) for (i, _), line in
                  zip(self.labels, pathlib.Path(self.folder, "features.csv").read_text().splitlines()[1:])]
        model = pathlib.Path(self.folder, "m.json")
        options = ["--estimator", "aggregate", "--bags", "features", "--rounds", "1", "--l2", "0", "--out", str(model)]
        with self.serve(rows=labels, min_bag=2) as service:
            said = self.train(service, *options, code=6)
            self.assertFalse(said["usable"])
            self.assertIsNone(said["out"])
            self.assertIn("have no limit", self.said.splitlines()[-1])
            self.assertIn("--resume --force", self.said.splitlines()[-1])
            self.assertEqual(len(self.said.splitlines()), 2, self.said)  # where answers are kept, and the sentence
            self.assertFalse(model.exists())
            forced = self.train(service, *options, "--resume", "--force")
            self.assertEqual((forced["usable"], forced["theta"]), (False, said["theta"]))
            self.assertTrue(model.exists())
            self.assertFalse(pathlib.Path(f"{model}.checkpoint").exists())
            self.assertEqual(service.get("/v1/status", token=self.token["operator"]).json()["ledger"]["answers"], 1)


if __name__ == "__main__":
    unittest.main()
