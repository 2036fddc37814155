#!/usr/bin/env python3
"""The running service, and a store that is exchanged, restored or edited under it or behind its back."""

import http.client
import json
import os
import pathlib
import shutil
import subprocess
import time
import unittest

from service import POSTGRESQL, PRIORBOOST, Case

FIRST, SECOND, THIRD = ([str(10 * k + i) for i in range(4)] for k in (1, 2, 3))
TABLES = ("meta", "entry", "answer", "spent", "unit_use", "row", "unit", "scope", "token", "refusal",
          "lost_head", "lost_row")


class Stores(Case):
    def sql(self, *statements):
        """Changes the store as another program would."""
        if POSTGRESQL:
            command = ["psql", "-q", "-v", "ON_ERROR_STOP=1", "-d", self.store, "-c", "; ".join(statements)]
        else:
            command = ["sqlite3", self.path, "; ".join(statements)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    @property
    def path(self):
        return self.store.removeprefix("sqlite:")

    def back_up(self):
        """As docs/operating.md says; PostgreSQL: copies of the tables."""
        if POSTGRESQL:
            self.sql(*(f"create table saved_{t} as select * from ledger_{t}" for t in TABLES))
        else:
            subprocess.run(["sqlite3", self.path, f".backup '{self.path}.backup'"], check=True)

    def put_back(self):
        if POSTGRESQL:
            self.sql(*(s for t in TABLES for s in (f"delete from ledger_{t}",
                                                   f"insert into ledger_{t} select * from saved_{t}")))
            return
        for end in ("", "-wal", "-shm"):
            pathlib.Path(self.path + end).unlink(missing_ok=True)
        shutil.copy(f"{self.path}.backup", self.path)

    def oracle(self, *command, code=0):
        ended = subprocess.run([PRIORBOOST, "oracle", *command[:1], "--store", self.store, *command[1:]],
                               capture_output=True, text=True, timeout=120)
        self.assertEqual(ended.returncode, code, ended.stderr)
        return ended

    def no_service(self, says):
        with self.assertRaises(RuntimeError) as error:
            self.serve_again()
        self.assertIn(says, str(error.exception))

    def no_answer(self, send):
        """A refusal, unless the service has ended before the whole request came."""
        try:
            reply = send()
        except (ConnectionError, http.client.HTTPException):
            return
        self.assertEqual(reply.status, 503, reply.body)

    def check_stopped(self, service, says):
        """It has answered no more, said why, and ended with exit code 1."""
        self.assertEqual(service.process.wait(60), 1)
        self.assertIn(says, service.log_text())


class Exchanged(Stores):
    def test_a_store_put_back_under_the_service(self):
        service = self.serve()
        self.back_up()
        self.assertEqual(service.ask(self.token["learner"], "a", [FIRST]).status, 200)
        self.put_back()
        self.no_answer(lambda: service.ask(self.token["learner"], "b", [FIRST]))
        self.check_stopped(service, "while it was in use")
        self.no_service("older than its witness")

    @unittest.skipIf(POSTGRESQL, "the store is not a file")
    def test_readiness_fails_when_the_store_is_gone(self):
        service = self.serve()
        self.assertEqual(service.get("/readyz").status, 200)
        os.rename(self.path, self.path + ".moved")
        self.no_answer(lambda: service.get("/readyz"))
        self.check_stopped(service, "moved, deleted or replaced")

    @unittest.skipIf(POSTGRESQL, "the store is not a file")
    def test_a_store_overwritten_in_place(self):
        service = self.serve()
        self.back_up()
        self.assertEqual(service.ask(self.token["learner"], "a", [FIRST]).status, 200)
        self.sql("pragma wal_checkpoint(truncate)")
        time.sleep(0.05)  # the clock of files is coarse
        with open(f"{self.path}.backup", "rb") as source, open(self.path, "r+b") as target:
            shutil.copyfileobj(source, target)
        self.no_answer(lambda: service.ask(self.token["learner"], "b", [FIRST]))
        self.check_stopped(service, "exchanged")


class Restored(Stores):
    def test_a_backup_is_served_only_after_a_restore(self):
        """A client that omits the head gets no second answer about a row."""
        service = self.serve(tokens=["other:learner:0:0:"])
        ask = self.token["learner"]
        self.assertEqual(service.ask(ask, "a", [FIRST]).status, 200)
        self.back_up()
        head = service.ask(ask, "b", [SECOND]).json()["head"]
        self.oracle("forget", "--id", "90")
        self.oracle("token", "revoke", "--name", "other")
        self.assertEqual(service.stop(), 0)
        self.put_back()
        self.no_service("priorboost oracle restore")
        self.assertIn("older than its witness", self.oracle("audit", code=3).stderr)
        said = json.loads(self.oracle("restore", "--json").stdout)
        self.assertEqual((said["burned"], said["erased"], said["revoked"]), (4, 1, 1))
        self.oracle("audit")
        with self.serve_again() as service:
            self.check_problem(service.ask(ask, "c", [SECOND]), 409, "row-spent")
            self.check_problem(service.ask(self.token["other"], "c", [THIRD]), 401, "token-invalid")
            self.check_problem(service.ask(ask, "e", [["90", "91"]]), 422, "unknown-row")
            self.assertEqual(service.ask(ask, "d", [THIRD], head=head).status, 200)

    def test_without_its_witness_nothing_is_left_to_ask(self):
        service = self.serve()
        self.assertEqual(service.ask(self.token["learner"], "a", [FIRST]).status, 200)
        self.assertEqual(service.stop(), 0)
        state = pathlib.Path(os.environ.get("XDG_STATE_HOME", "/nowhere"), "priorboost")
        witness = max(state.glob("*.witness"), key=os.path.getmtime) if POSTGRESQL else pathlib.Path(self.path + ".witness")
        witness.unlink()
        self.no_service("--without-witness")
        self.assertIn("missing", self.oracle("restore", code=5).stderr)
        self.assertEqual(json.loads(self.oracle("restore", "--without-witness", "--json").stdout)["burned"], 96)
        self.assertEqual(json.loads(self.oracle("status", "--json").stdout)["left"], 0)
        self.oracle("audit")


class Edited(Stores):
    def test_a_token_given_back(self):
        service = self.serve()
        self.oracle("token", "revoke", "--name", "learner")
        self.check_problem(service.ask(self.token["learner"], "a", [FIRST]), 401, "token-invalid")
        self.sql("update ledger_token set state = 1 where name = 'learner'")
        self.no_answer(lambda: service.ask(self.token["learner"], "a", [FIRST]))
        self.check_stopped(service, "was changed in the store by another program")
        self.no_service("changed")

    def test_claims_deleted(self):
        service = self.serve()
        self.assertEqual(service.ask(self.token["learner"], "a", [FIRST]).status, 200)
        self.assertEqual(service.stop(), 0)
        self.sql("delete from ledger_spent")
        self.no_service("not marked as claimed")
        self.assertIn("not marked as claimed", self.oracle("audit", code=3).stderr)


if __name__ == "__main__":
    unittest.main()
