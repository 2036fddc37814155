#!/usr/bin/env python3
"""PostgreSQL as it is run in life: poolers, standbys, passwords.

Only where with_postgresql.sh has started a server.  A standby is a real one, which streams from it.
"""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from service import POSTGRESQL, PRIORBOOST, Case, Service, make_store

SERVER = os.environ.get("PBOOST_TEST_SERVER")
PROGRAMS = os.environ.get("PBOOST_TEST_POSTGRESQL")
WITH_PGBOUNCER = pathlib.Path(__file__).resolve().parents[1] / "ledger/with_pgbouncer.sh"
AS = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
ROWS = [(i, i % 2) for i in range(100)]


def sql(text, url=POSTGRESQL):
    done = subprocess.run(["psql", "-qAt", "-d", url, "-c", text], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def wait_for(query, wanted, url=POSTGRESQL):
    """Until the server says so, which it does within moments."""
    for _ in range(600):
        if sql(query, url) == wanted:
            return
        time.sleep(0.1)
    raise RuntimeError(f"{query}: {sql(query, url)} instead of {wanted}")


def settings(**values):
    for name, value in values.items():
        sql(f"alter system reset {name}" if value is None else f"alter system set {name} = '{value}'")
    sql("select pg_reload_conf()")
    for name, value in values.items():
        if value is not None:
            wait_for(f"select current_setting('{name}')", value)


def run_program(name, *arguments):
    done = subprocess.run([*AS, f"{PROGRAMS}/{name}", *arguments], cwd="/", stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(f"{name}: {done.stderr}")


class Standby:
    """A server that streams from the one under test, named as given; all start from one copy of it."""

    copy = f"{SERVER}/copy"

    def __init__(self, name, slot=None):
        if not os.path.exists(self.copy):
            settings(wal_keep_size="1GB")  # what came since the copy
            run_program("pg_basebackup", "-D", self.copy, "-c", "fast", "--no-sync", "-R", "-d",
                        f"host={SERVER} user=test")
        self.folder = tempfile.mkdtemp(prefix="pboost-standby-", dir="/tmp")
        if AS:
            shutil.chown(self.folder, "postgres")
        self.url = f"postgresql:///postgres?host={self.folder}&user=test"
        self.data = f"{self.folder}/data"
        subprocess.run([*AS, "cp", "-a", self.copy, self.data], check=True, cwd="/")
        if slot:
            sql(f"select pg_create_physical_replication_slot('{slot}')")
        run_program("pg_ctl", "-D", self.data, "-l", f"{self.folder}/log", "-w", "start", "-o",
                    f"-c listen_addresses='' -c unix_socket_directories='{self.folder}' -c max_connections=200 "
                    f"-c primary_conninfo='host={SERVER} user=test application_name={name}' "
                    f"-c primary_slot_name='{slot or ''}'")
        now = sql("select pg_current_wal_lsn()")
        wait_for(f"select state, replay_lsn >= '{now}' from pg_stat_replication where application_name = '{name}'",
                 "streaming|t")

    def stop(self):
        run_program("pg_ctl", "-D", self.data, "-m", "immediate", "-w", "stop")

    def promote(self):
        run_program("pg_ctl", "-D", self.data, "-w", "promote")

    def drop(self):
        with contextlib.suppress(RuntimeError):
            self.stop()
        shutil.rmtree(self.folder)


class DatabaseCase(Case):
    def refused(self, store, *options):
        """What the service says that does not start."""
        done = subprocess.run([PRIORBOOST, "serve", "--store", store, "--listen", f"unix:{self.folder}/s", *options],
                              capture_output=True, text=True, timeout=60)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, "")
        return done.returncode, done.stderr

    def answer(self, store, *options):
        """A service starts and answers."""
        with Service(store, *options) as service:
            return service.ask(self.token["learner"], "r", [["1", "3"], ["2", "4"]]).json()


class Standbys(DatabaseCase):
    def setUp(self):
        super().setUp()
        self.store, self.token = make_store(self.folder, ROWS)
        self.addCleanup(settings, synchronous_standby_names=None)

    def standby(self, name, slot=None):
        standby = Standby(name, slot)
        self.addCleanup(standby.drop)
        return standby

    def test_commits_wait_for_every_standby_or_the_service_does_not_start(self):
        with Service(self.store):
            pass  # alone
        self.standby("near")
        code, said = self.refused(self.store)
        self.assertEqual(code, 4)
        for words in ("1 standby(s)", "synchronous_standby_names", "--allow-async-standby"):
            self.assertIn(words, said)
        settings(synchronous_standby_names="near")
        wait_for("select sync_state from pg_stat_replication", "sync")
        self.assertEqual(len(self.answer(self.store)["answers"]), 2)
        self.standby("far")  # one more, that nothing waits for
        self.assertIn("all of them", self.refused(self.store)[1])
        settings(synchronous_standby_names=None)
        wait_for("select count(*) from pg_stat_replication where sync_state = 'async'", "2")
        with Service(self.store, "--allow-async-standby"):
            pass

    def test_a_standby_that_is_down_has_a_slot(self):
        standby = self.standby("slotted", slot="slotted")
        standby.stop()
        wait_for("select active from pg_replication_slots where slot_name = 'slotted'", "f")
        self.addCleanup(sql, "select pg_drop_replication_slot('slotted')")
        self.assertIn("slots of standbys", self.refused(self.store)[1])

    def test_a_role_that_sees_no_details_is_told_as_well(self):
        sql("create role plain login")
        self.addCleanup(sql, "drop role plain")
        name = self.store.split("/")[-1].split("?")[0]
        here = self.store.replace("/postgres?", f"/{name}?")
        sql("grant all on all tables in schema public to plain", here)
        self.addCleanup(sql, "drop owned by plain", here)
        store = self.store.replace("user=test", "user=plain")
        with Service(store):
            pass
        self.standby("near")
        self.assertIn("standby", self.refused(store)[1])

    def test_a_standby_is_not_served(self):
        standby = self.standby("near")
        store = self.store.replace(f"host={SERVER}", f"host={standby.folder}")
        wait_for("select count(*) > 0 from ledger_token", "t", store)
        self.assertIn("is a standby", self.refused(store)[1])

    def test_a_service_that_loses_its_server_looks_again(self):
        """A standby came while the service ran; the next connection finds it."""
        with Service(self.store) as service:
            self.standby("near")
            sql("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'priorboost'")
            replies = [service.ask(self.token["learner"], "r", [["1", "3"]]).status for _ in range(3)]
            self.assertEqual(set(replies), {503})

    def test_failover_loses_nothing_that_was_acknowledged(self):
        """The primary is lost right after an answer; the standby has it."""
        standby = self.standby("near")
        settings(synchronous_standby_names="near")
        wait_for("select sync_state from pg_stat_replication", "sync")
        before = self.answer(self.store)
        standby.promote()
        store = self.store.replace(f"host={SERVER}", f"host={standby.folder}")
        sql("alter system reset synchronous_standby_names", standby.url)  # it came with the copy
        sql("select pg_reload_conf()", standby.url)
        with Service(store) as service:
            self.assertEqual(service.ask(self.token["learner"], "r", [["1", "3"], ["2", "4"]]).json(), before)
            self.check_problem(service.ask(self.token["learner"], "again", [["1", "3"]]), 409, "row-spent")


class Poolers(DatabaseCase):
    @contextlib.contextmanager
    def pooler(self, mode="transaction"):
        """The address of a pgbouncer before the server."""
        process = subprocess.Popen([WITH_PGBOUNCER, "sh", "-c", 'echo "$PBOOST_TEST_STORE"; read wait'],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   env={**os.environ, "PBOOST_TEST_POOL_MODE": mode})
        try:
            url = process.stdout.readline().strip()
            if not url:
                self.skipTest("pgbouncer is not installed")
            yield url.split("?")[1]
        finally:
            process.communicate("\n", timeout=60)

    def test_settings_that_others_leave_do_no_harm(self):
        """Another user of the pool leaves settings and a second ledger behind, before and while we serve."""
        with self.pooler() as address:
            direct, self.token = make_store(self.folder, ROWS)
            pooled = f"{direct.split('?')[0]}?{address}"
            sql("create schema decoy", direct)
            for name in ("entry", "spent", "answer", "row", "token", "scope", "unit", "unit_use"):
                sql(f"create table decoy.ledger_{name} (like ledger_{name} including all)", direct)

            def spoil():
                for _ in range(4):  # two connections: each gets it
                    sql("set synchronous_commit = off; set lock_timeout = 1; set search_path = decoy", pooled)

            spoil()
            with Service(pooled) as service:
                self.assertEqual(service.ask(self.token["learner"], "a", [["1", "3"]]).json()["answers"][0]["mean"], 1)
                spoil()
                self.assertEqual(service.ask(self.token["learner"], "b", [["2", "4"]]).json()["answers"][0]["mean"], 0)
                spoil()
                self.check_problem(service.ask(self.token["learner"], "c", [["1", "4"]]), 409, "row-spent")
            self.assertEqual(sql("select count(*) from decoy.ledger_spent", direct), "0")
            self.assertEqual(sql("select bit_count(bits) from ledger_spent", direct), "4")
            for command in ("audit", "status"):
                subprocess.run([PRIORBOOST, "oracle", command, "--store", pooled], check=True, capture_output=True)

    def test_a_pooler_that_breaks_transactions_is_refused(self):
        with self.pooler("statement") as address:
            direct, self.token = make_store(self.folder, ROWS)
            code, said = self.refused(f"{direct.split('?')[0]}?{address}")
            self.assertEqual(code, 4)
            self.assertIn("statement pooling", said)


class Passwords(DatabaseCase):
    """A role whose password the server asks for."""

    def setUp(self):
        super().setUp()
        self.store, self.token = make_store(self.folder, ROWS)
        sql("create role keyed login superuser password 'sesame-17'")
        self.addCleanup(sql, "drop role keyed")
        rules = pathlib.Path(f"{SERVER}/data/pg_hba.conf")
        before = rules.read_text()
        rules.write_text("local all keyed scram-sha-256\n" + before)
        sql("select pg_reload_conf()")
        self.addCleanup(sql, "select pg_reload_conf()")
        self.addCleanup(rules.write_text, before)
        self.keyed = self.store.replace("user=test", "user=keyed")
        self.file = f"{self.folder}/pgpass"
        pathlib.Path(self.file).write_text("*:*:*:keyed:sesame-17\n")
        os.chmod(self.file, 0o600)

    def test_not_in_the_arguments(self):
        database, query = self.store.split("?")
        name = database.split("/")[-1]
        for store in (f"{self.keyed}&password=sesame-17", f"postgresql://keyed:sesame-17@/{name}?host={SERVER}",
                      f"{self.keyed}&sslpassword=sesame-17"):
            for command in (["serve", "--listen", f"unix:{self.folder}/s"], ["oracle", "status"]):
                done = subprocess.run([PRIORBOOST, *command, "--store", store], capture_output=True, text=True, timeout=60)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                for words in ("PGPASSFILE", "service=NAME", "0600"):
                    self.assertIn(words, done.stderr)
                self.assertNotIn("sesame", done.stderr)

    def test_from_a_file(self):
        self.assertIn("password", self.refused(self.keyed)[1])
        with Service(self.keyed, environment={"PGPASSFILE": self.file}) as service:
            self.assertEqual(service.ask(self.token["learner"], "r", [["1", "3"]]).status, 200)

    def test_from_a_service(self):
        name = self.store.split("?")[0].split("/")[-1]
        services = f"{self.folder}/services"
        pathlib.Path(services).write_text(f"[oracle]\nhost={SERVER}\ndbname={name}\nuser=keyed\npassfile={self.file}\n")
        with Service("postgresql:///?service=oracle", environment={"PGSERVICEFILE": services}) as service:
            self.assertEqual(service.ask(self.token["learner"], "r", [["1", "3"]]).status, 200)


if __name__ == "__main__":
    if not POSTGRESQL:
        print("only on PostgreSQL: skipped", file=sys.stderr)
        sys.exit(77)
    unittest.main()
