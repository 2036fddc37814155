#!/usr/bin/env python3
"""Every address of the service, in order and out of order."""

import concurrent.futures
import ctypes
import os
import pathlib
import pwd
import resource
import shutil
import signal
import stat
import subprocess
import tempfile
import time
import unittest

from service import BINARY, POSTGRESQL, PRIORBOOST, Case, Service, make_store, pack_question, unpack_answer


class Questions(Case):
    def test_answers(self):
        with self.serve(rows=[(i, i / 100) for i in range(100)], bounds=(0, 1)) as service:
            reply = service.ask(self.token["learner"], "r1", [["1", "2"], ["3", "4", "5"]])
            self.assertEqual((reply.status, reply.type), (200, "application/json"))
            answer = reply.json()
            self.assertEqual(answer["request_id"], "r1")
            self.assertEqual([a["size"] for a in answer["answers"]], [2, 3])
            self.assertAlmostEqual(answer["answers"][0]["mean"], 0.015, delta=1e-6)
            self.assertAlmostEqual(answer["answers"][1]["mean"], 0.04, delta=1e-6)
            self.assertIs(answer["dp"], False)
            self.assertIsNone(answer["epsilon"])
            self.assertRegex(answer["head"], "^[0-9a-f]{64}$")
            # The same question again: the same bytes, now, by its name, and after a restart.
            again = service.ask(self.token["learner"], "r1", [["1", "2"], ["3", "4", "5"]])
            self.assertEqual(again.body, reply.body)
            self.assertEqual(service.get("/v1/queries/r1", token=self.token["learner"]).body, reply.body)
            self.assertEqual(service.stop(), 0)
        with self.serve_again() as service:
            again = service.ask(self.token["learner"], "r1", [["1", "2"], ["3", "4", "5"]], head=answer["head"])
            self.assertEqual(again.body, reply.body)
            requests = [e for e in service.log() if e.get("route") == "query"]
            self.assertEqual([(e["bags"], e["rows"], e["retried"]) for e in requests], [(2, 5, True)])

    def test_binary_says_the_same(self):
        with self.serve(rows=[(i, i % 2) for i in range(100)] + [("weiß-7", 1), ("x y".replace(" ", "_"), 0)]) as service:
            learner = self.token["learner"]
            send = lambda body: service.send("POST", "/v1/queries", body, token=learner, type=BINARY)
            numbers = send(pack_question("b1", [[1, 2], [3, 5, 7]]))
            self.assertEqual((numbers.status, numbers.type), (200, BINARY))
            answer = unpack_answer(numbers.body)
            self.assertEqual([(a["mean"], a["size"]) for a in answer["answers"]], [(0.5, 2), (1.0, 3)])
            self.assertEqual(send(pack_question("b1", [[1, 2], [3, 5, 7]])).body, numbers.body)
            found = service.get("/v1/queries/b1", token=learner)
            self.assertEqual((found.body, found.type), (numbers.body, BINARY))
            # Text and numbers name the same rows.
            document = self.check_problem(send(pack_question("b2", [["1", "weiß-7"], ["8", "9"]], head=answer["head"])),
                                          409, "row-spent")
            self.assertEqual(document["rows"], ["1"])
            text = unpack_answer(send(pack_question("b2", [["11", "weiß-7"], ["8", "10"]], head=answer["head"])).body)
            self.assertEqual([a["mean"] for a in text["answers"]], [1.0, 0.0])
            # In the other form the same request id is another question.
            self.check_problem(service.ask(learner, "b1", [["1", "2"], ["3", "5", "7"]]), 409, "request-conflict")

    def test_refusals_list_offenders_and_spend_nothing(self):
        with self.serve(min_bag=3) as service:
            learner = self.token["learner"]
            first = service.ask(learner, "first", [["0", "1", "2"]])
            self.assertEqual(first.status, 200)
            cases = [
                ([["3", "4"], ["5", "6", "7"]], "bag-too-small", "bags", [{"bag": 0, "size": 2}]),
                ([["3", "4", "5"], ["5", "6", "7"]], "duplicate-row", "rows", ["5"]),
                ([["3", "4", "4"]], "duplicate-row", "rows", ["4"]),
                ([["3", "4", "zzz"]], "unknown-row", "rows", ["zzz"]),
                ([["3", "4", "012"]], "unknown-row", "rows", ["012"]),
                ([["3", "1", "2"]], "row-spent", "rows", ["1", "2"]),
                ([], "malformed-request", None, None),
                ([["", "4", "5"]], "malformed-request", None, None),
                ([["x" * 256, "4", "5"]], "malformed-request", None, None),
            ]
            for number, (bags, problem, member, offenders) in enumerate(cases):
                with self.subTest(problem=problem, bags=bags):
                    reply = service.ask(learner, f"bad-{number}", bags)
                    document = reply.json()
                    self.assertEqual((document["problem"], reply.type), (problem, "application/problem+json"))
                    self.assertEqual(document["status"], reply.status)
                    self.assertIn(reply.status, range(400, 500))
                    if member:
                        self.assertEqual(document[member], offenders)
                        self.assertEqual(document["offenders"], len(offenders))
                    self.check_problem(service.get(f"/v1/queries/bad-{number}", token=learner), 404, "unknown-request")
            self.check_problem(service.ask(learner, "first", [["3", "4", "5"]]), 409, "request-conflict")
            available = service.send("POST", "/v1/available", {"rows": [str(i) for i in range(10)] + ["zzz"]}, token=learner)
            self.assertEqual(available.json(), {"available": [str(i) for i in range(3, 10)]})
            for rows in ([], [""], ["x" * 5000], ["3", "3"]):
                listed = service.send("POST", "/v1/available", {"rows": rows}, token=learner)
                self.assertEqual(listed.json(), {"available": [r for r in rows if r == "3"]})
            # A client that has seen a head which this store never had.
            self.check_problem(service.ask(learner, "later", [["3", "4", "5"]], head="0" * 64), 409, "ledger-rollback")
            self.assertEqual(service.ask(learner, "later", [["3", "4", "5"]], head=first.json()["head"]).status, 200)
            refusals = service.get("/v1/status", token=self.token["operator"]).json()["refusals"]
            self.assertEqual(refusals["row-spent"], 1)
            self.assertEqual(refusals["malformed-request"], 3)

    def test_malformed_bodies(self):
        with self.serve() as service:
            good = pack_question("b", [[1, 2]])
            bodies = [(b, "application/json") for b in (
                b"", b"{", b"[]", b"nonsense", b'{"request_id":"a"}', b'{"bags":[["1","2"]]}',
                b'{"request_id":"a","bags":[["1","2"]]} x', b'{"request_id":"a","bags":[["1","2"]],"more":1}',
                b'{"request_id":"a","request_id":"b","bags":[["1","2"]]}', b'{"request_id":"a","bags":[[1,2]]}',
                b'{"request_id":"a","bags":[["1","\\u0000"]]}', b'{"request_id":"a","bags":[["1","\\ud800"]]}',
                b'{"request_id":"a","bags":[["1","\xff"]]}', b'{"request_id":"","bags":[["1","2"]]}',
                b'{"request_id":"' + b"r" * 300 + b'","bags":[["1","2"]]}', b"[" * 100000,
                b'{"request_id":"a","bags":[["1","2"],]}', b'{"request_id":"a","bags":[["1","2"')]
            bodies += [(b, BINARY) for b in (
                b"", b"PBQ1", good[:-1], good + b"\0", b"XXXX" + good[4:], good[:4] + b"\7" + good[5:],
                good[:8] + b"\xff\xff\xff\xff" + good[12:], good[:12] + b"\xff\xff\xff\xff" + good[16:],
                pack_question("b", [["1", "2"]])[:-1], pack_question("", [[1, 2]]))]
            for body, type in bodies:
                with self.subTest(body=body[:60], type=type):
                    self.check_problem(service.send("POST", "/v1/queries", body, token=self.token["learner"], type=type),
                                       400, "malformed-request")
            for body in (b"", b"{}", b'{"rows":[1]}', b'{"rows":["1"],"x":2}'):
                self.check_problem(service.send("POST", "/v1/available", body, token=self.token["learner"]), 400, "malformed-request")
            self.assertEqual(service.get("/v1/status", token=self.token["operator"]).json()["ledger"]["spent"], 0)

    def test_noise_says_dp(self):
        with self.serve(epsilon="0.5", rows=[(i, 1) for i in range(100)]) as service:
            reply = service.ask(self.token["learner"], "n", [[str(i) for i in range(50)], [str(i) for i in range(50, 100)]])
            answer = reply.json()
            self.assertIs(answer["dp"], True)
            self.assertEqual(answer["epsilon"], 0.5)
            self.assertNotEqual([a["mean"] for a in answer["answers"]], [1, 1])
            self.assertEqual(service.ask(self.token["learner"], "n",
                                         [[str(i) for i in range(50)], [str(i) for i in range(50, 100)]]).body, reply.body)

    def test_units_and_scopes(self):
        rows = [(i, i % 2, f"person-{i // 2}", "a" if i < 10 else "b") for i in range(20)]
        with self.serve(rows=rows, unit_rows=1, tokens=["scoped:learner:0:0:a", "small:learner:0:3:"]) as service:
            learner = self.token["learner"]
            reply = service.ask(learner, "u1", [["0", "1"]])
            self.check_problem(reply, reply.status, "unit-repeated")
            self.assertEqual(service.ask(learner, "u2", [["0", "2"]]).status, 200)
            reply = service.ask(learner, "u3", [["1", "4"]])
            self.assertEqual(self.check_problem(reply, reply.status, "unit-spent")["rows"], ["1"])
            # Another tenant's row looks as an unknown one.
            foreign = service.ask(self.token["scoped"], "s", [["4", "19"]]).json()
            unknown = service.ask(self.token["scoped"], "s", [["4", "zz"]]).json()
            self.assertEqual(foreign.pop("rows"), ["19"])
            self.assertEqual(unknown.pop("rows"), ["zz"])
            self.assertEqual(foreign, unknown)
            listed = service.send("POST", "/v1/available", {"rows": ["0", "1", "4", "19", "zz"]}, token=self.token["scoped"])
            self.assertEqual(listed.json()["available"], ["4"])
            reply = service.ask(self.token["small"], "q", [["4", "6"], ["8", "10"]])
            self.check_problem(reply, reply.status, "quota-exceeded")

    def test_refusals_are_limited_and_recorded(self):
        """Who asks without being answered is stopped for the hour, also by a service started anew."""
        rows = [(i, i % 2, f"person-{i // 2}") for i in range(200)]
        while time.time() % 3600 > 3570:  # the test is of one hour
            time.sleep(1)
        with self.serve("--refusal-rows", "50", rows=rows, unit_rows=1, tokens=["spy:learner:0:1:"]) as service:
            operator, spy, learner = (self.token[name] for name in ("operator", "spy", "learner"))
            first = service.ask(learner, "kept", [["0", "2"]])
            self.assertEqual(first.status, 200)
            linked = 0
            for i in range(10, 100):
                reply = service.ask(spy, "look", [[str(i), str(i + 1)]])
                if reply.status == 429:
                    break
                linked += reply.json()["problem"] == "unit-repeated"
            self.assertEqual(linked, 25)
            self.assertNotIn("rows", self.check_problem(reply, 429, "refusal-limit"))
            self.assertTrue(0 < int(reply.headers["Retry-After"]) <= 3600)
            # It is the token that is stopped; what was answered is answered again.
            self.assertEqual(service.ask(learner, "more", [["4", "6"]]).status, 200)
            for _ in range(60):
                service.ask(learner, "bad", [["0", "8"]])
            self.check_problem(service.ask(learner, "new", [["12", "14"]]), 429, "refusal-limit")
            self.assertEqual(service.ask(learner, "kept", [["0", "2"]]).body, first.body)
            status = service.get("/v1/status", token=operator).json()
            counts = {(r["token"], r["problem"]): r["count"] for r in status["refused"]}
            self.assertEqual(counts, {("spy", "unit-repeated"): 25, ("spy", "quota-exceeded"): 25, ("learner", "row-spent"): 50})
            self.assertTrue(all(r["hour"] <= r["last"] < r["hour"] + 3600 for r in status["refused"]))
            self.assertNotIn("refused", service.get("/v1/status", token=learner).json())
        with self.serve_again("--refusal-rows", "50") as service:
            self.check_problem(service.ask(spy, "look", [["10", "11"]]), 429, "refusal-limit")

    def test_refusals_do_not_depend_on_labels(self):
        replies = []
        for flip in (0, 1):
            with self.serve(rows=[(i, (i + flip) % 2) for i in range(20)], min_bag=3) as service:
                learner = self.token["learner"]
                service.ask(learner, "a", [["0", "1", "2"]])
                replies.append([(r.status, r.body, sorted(r.headers.items())[1:]) for r in (
                    service.ask(learner, "b", [["0", "1", "3"]]), service.ask(learner, "b", [["4", "5"]]),
                    service.ask(learner, "b", [["4", "5", "nobody"]]), service.ask(learner, "b", [["4", "5", "4"]]),
                    service.ask(learner, "a", [["0", "1", "3"]]),
                    service.ask(learner, "b", [["4", "5", "6"]], head="f" * 64),
                    service.send("POST", "/v1/available", {"rows": ["0", "7", "nobody"]}, token=learner))])
        for one, other in zip(*replies):
            drop_date = lambda headers: [h for h in headers if h[0] != "Date"]
            self.assertEqual(one[:2] + (drop_date(one[2]),), other[:2] + (drop_date(other[2]),))

    def test_racing_clients(self):
        """Sixteen clients want overlapping rows: each row is answered once."""
        with self.serve(rows=[(i, 1 if i == 7 else 0) for i in range(64)]) as service:
            tokens = self.token

            def one(client):
                wins = []
                for turn in range(8):
                    rows = [str((7 * client + 5 * turn + j * 11) % 64) for j in range(4)]
                    reply = service.ask(tokens["learner"], f"{client}-{turn}", [rows])
                    self.assertIn(reply.status, (200, 409))
                    if reply.status == 200:
                        wins.append((rows, reply.json()["answers"][0]["mean"]))
                return wins

            with concurrent.futures.ThreadPoolExecutor(16) as pool:
                wins = [w for found in pool.map(one, range(16)) for w in found]
            rows = [r for bag, _ in wins for r in bag]
            self.assertEqual(len(rows), len(set(rows)))
            self.assertAlmostEqual(sum(4 * mean for _, mean in wins), 1 if "7" in rows else 0, delta=1e-5)
            ledger = service.get("/v1/status", token=tokens["operator"]).json()["ledger"]
            self.assertEqual(ledger["spent"], len(rows))


class Access(Case):
    def test_tokens(self):
        with self.serve(tokens=[f"old:learner:{int(time.time()) + 2}:0:"]) as service:
            for path, method in (("/v1/config", "GET"), ("/v1/status", "GET"), ("/v1/queries", "POST"),
                                 ("/v1/available", "POST"), ("/v1/queries/x", "GET")):
                body = {} if method == "POST" else None
                for token in (None, "", "wrong", "x" * 5000, self.token["learner"][:-1], self.token["learner"] + "x"):
                    with self.subTest(path=path, token=token):
                        reply = service.send(method, path, body, token=token)
                        self.check_problem(reply, 401, "token-invalid")
                        self.assertEqual(reply.headers["WWW-Authenticate"], "Bearer")
            for headers in ({"Authorization": "Basic abc"}, {"Authorization": self.token["learner"]}):
                self.check_problem(service.get("/v1/config", headers=headers), 401, "token-invalid")
            self.assertEqual(service.get("/v1/config", token=self.token["learner"]).status, 200)
            self.assertEqual(service.get("/v1/config", token=self.token["operator"]).status, 200)
            self.check_problem(service.ask(self.token["operator"], "a", [["1", "2"]]), 403, "token-role")
            time.sleep(2.5)
            reply = service.get("/v1/config", token=self.token["old"])
            self.check_problem(reply, reply.status, "token-expired")
            text = service.log_text()
            for secret in self.token.values():
                self.assertNotIn(secret, text)

    def test_each_role_has_its_routes(self):
        """What a role may not do is refused by name, whatever the request says."""
        roles = ["learner", "operator", "auditor", "approver"]
        asks = {("POST", "/v1/queries"), ("GET", "/v1/queries/x"), ("POST", "/v1/available")}
        sees = {"learner": set(), "approver": {"tokens"},
                "operator": {"tokens", "ledger", "recent", "rate", "refusals"},
                "auditor": {"tokens", "ledger", "recent", "rate", "refusals"}}
        with self.serve(tokens=["auditor:auditor:0:0:", "approver:approver:0:0:"]) as service:
            for role in roles:
                for method, path in sorted(asks):
                    with self.subTest(role=role, path=path):
                        reply = service.send(method, path, {} if method == "POST" else None, token=self.token[role])
                        if role == "learner":
                            self.assertIn(reply.status, (400, 404))
                        else:
                            self.check_problem(reply, 403, "token-role")
                self.assertEqual(service.get("/v1/config", token=self.token[role]).status, 200)
                status = service.get("/v1/status", token=self.token[role]).json()
                self.assertEqual(status["token"]["role"], role)
                self.assertEqual(sees["operator"] & set(status), sees[role])

    def test_request_ids_are_per_token(self):
        with self.serve(tokens=["other:learner:0:0:"]) as service:
            service.ask(self.token["learner"], "same", [["1", "2"]])
            self.check_problem(service.get("/v1/queries/same", token=self.token["other"]), 404, "unknown-request")
            self.assertEqual(service.ask(self.token["other"], "same", [["3", "4"]]).status, 200)

    def test_a_learner_sees_only_itself(self):
        with self.serve() as service:
            status = service.get("/v1/status", token=self.token["learner"]).json()
            self.assertEqual(status["token"]["name"], "learner")
            for member in ("tokens", "recent", "ledger", "rate"):
                self.assertNotIn(member, status)

    def test_unix_socket_is_private(self):
        with self.serve() as service:
            mode = os.stat(service.url[5:]).st_mode
            self.assertTrue(stat.S_ISSOCK(mode))
            self.assertEqual(stat.S_IMODE(mode), 0o600)
            # Another service does not take it away; a dead one's socket is replaced.
            with self.assertRaises(RuntimeError):
                Service(self.store, listen=service.url)
            path = service.url[5:]
            service.stop(signal.SIGKILL)
            self.assertTrue(os.path.exists(path))
            with self.serve_again(listen=service.url) as second:
                self.assertEqual(second.get("/healthz").status, 200)
                second.stop()
                self.assertFalse(os.path.exists(path))

    def test_where_it_may_listen(self):
        store, _ = make_store(self.folder, [(1, 0), (2, 0)])
        note = f"{self.folder}/note"
        open(note, "w").close()
        for options, words in (
                (["--listen", "127.0.0.1:0"], "--tls-cert"), (["--listen", "0.0.0.0:0", "--insecure-http"], "loopback"),
                (["--listen", "nonsense"], "--tls-cert"), (["--listen", "nonsense", "--insecure-http"], "HOST:PORT"),
                (["--listen", "127.0.0.1:0", "--tls-cert", "x"], "given together"), ([], "--listen is required"),
                (["--listen", f"unix:{note}"], "not a socket"),
                (["--listen", "unix:x", "--max-body", "5"], "--max-body is 5; it must be at least 1024"),
                (["--listen", "unix:x", "--body-seconds", "86401"], "--body-seconds is 86401; it must be at most 86400"),
                (["--listen", "unix:" + "x" * 200], "bytes")):
            with self.subTest(options=options):
                ended = subprocess.run([PRIORBOOST, "serve", "--store", store, *options], capture_output=True, text=True,
                                       timeout=30)
                self.assertEqual(ended.returncode, 2, ended.stderr)
                self.assertIn(words, ended.stderr)


class Watching(Case):
    def test_status_health_metrics(self):
        with self.serve() as service:
            self.assertEqual(service.get("/healthz").body, b"ok\n")
            self.assertEqual(service.get("/readyz").body, b"ready\n")
            service.ask(self.token["learner"], "a", [["1", "2"], ["3", "4", "5"]])
            service.ask(self.token["learner"], "a", [["1", "2"], ["3", "4", "5"]])
            service.ask(self.token["learner"], "b", [["1", "6"]])
            status = service.get("/v1/status", token=self.token["operator"]).json()
            self.assertEqual(status["ledger"]["store"], "postgresql" if POSTGRESQL else "sqlite")
            self.assertEqual((status["ledger"]["rows"], status["ledger"]["spent"], status["ledger"]["left"]), (100, 5, 95))
            self.assertEqual(status["recent"][0]["kind"], "answer")
            self.assertEqual((status["recent"][0]["rows"], status["recent"][0]["bags"]), (5, 2))
            self.assertEqual({t["name"]: t["rows_used"] for t in status["tokens"]}, {"learner": 5, "operator": 0})
            self.assertEqual(sum(status["rate"]["rows_per_minute"]), 5)
            metrics = service.get("/metrics", token=self.token["operator"])
            self.assertEqual(metrics.type, "text/plain")
            values = dict(line.rsplit(" ", 1) for line in metrics.body.decode().splitlines() if line[0] != "#")
            for name, value in (("priorboost_ledger_rows", 100), ("priorboost_ledger_rows_spent", 5),
                                ("priorboost_rows_answered_total", 5), ("priorboost_retries_total", 1),
                                ('priorboost_refusals_total{problem="row-spent"}', 1),
                                ('priorboost_requests_total{route="query",status="200"}', 2),
                                ('priorboost_request_seconds_count{route="query"}', 3)):
                self.assertEqual(float(values[name]), value, name)
            for line in metrics.body.decode().splitlines():
                self.assertRegex(line, r'^(# (HELP|TYPE) priorboost_\w+ .+|priorboost_\w+(\{(\w+="[^"]*",?)+\})? [0-9.e+-]+)$')

    def test_nothing_secret_is_logged(self):
        rows = [(i, 0.8125 if i % 2 else 0.4375) for i in range(20)]
        with self.serve(rows=rows, epsilon="1") as service:
            service.ask(self.token["learner"], "secret-free", [["1", "3", "5", "7"]])
            service.ask(self.token["learner"], "x", [["1", "3"]])
            service.stop()
            text = service.log_text()
            for forbidden in ("0.8125", "0.4375", "3.25", self.token["learner"], "Bearer"):
                self.assertNotIn(forbidden, text)
            for line in service.log():
                self.assertLessEqual({"time", "level", "event"}, set(line))

    def test_no_core_dumps(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))  # what the service starts with
        self.addCleanup(resource.setrlimit, resource.RLIMIT_CORE, (soft, hard))
        with self.serve() as service:
            limits = pathlib.Path(f"/proc/{service.process.pid}/limits").read_text()
            self.assertRegex(limits, r"Max core file size +0 +0")

    @unittest.skipIf(POSTGRESQL, "the store has no part in it")
    def test_memory_is_closed_to_the_same_user(self):
        """The system gives /proc/PID of a process that is not dumpable to root, so that no other process of
        its user can read its memory.  Root sees no difference, so the service runs as nobody here."""
        with self.serve() as service:
            service.stop()
        user, folder = os.getuid(), tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        if user == 0:
            user = pwd.getpwnam("nobody").pw_uid
            os.chown(folder, user, -1)
            for path in pathlib.Path(self.folder).iterdir():
                os.chown(path, user, -1)
            os.chown(self.folder, user, -1)
        state = f"{folder}/state"  # where the keys of databases are
        if "XDG_STATE_HOME" in os.environ:
            shutil.copytree(os.environ["XDG_STATE_HOME"], state)
            for path in (state, *map(str, pathlib.Path(state).rglob("*"))):
                os.chown(path, user, -1)
        program = shutil.copy(PRIORBOOST, folder)
        process = subprocess.Popen([program, "serve", "--store", self.store, "--listen", f"unix:{folder}/socket"],
                                   user=user, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, "XDG_STATE_HOME": state})
        try:
            self.assertTrue(process.stdout.readline().startswith("listening on "), process.poll())
            self.assertNotEqual(user, 0)
            self.assertEqual(os.stat(f"/proc/{process.pid}/mem").st_uid, 0)
            self.assertIn(f"\nUid:\t{user}\t", pathlib.Path(f"/proc/{process.pid}/status").read_text())
        finally:
            process.terminate()
            process.communicate(timeout=60)

    def test_any_thread_may_be_told_to_stop(self):
        """The system gives a signal to whichever thread takes it: here to each of a few in turn."""
        for name in ("MHD-listen", "MHD-worker", None):
            with self.serve() as service:
                process = service.process.pid
                threads = {int(task.name): (task / "comm").read_text().strip()
                           for task in pathlib.Path(f"/proc/{process}/task").iterdir()}
                thread = next((t for t, named in threads.items() if named == name), max(threads))
                self.assertNotEqual(thread, process)
                ctypes.CDLL(None).tgkill(process, thread, signal.SIGTERM)
                self.assertEqual(service.process.wait(60), 0, service.log_text()[-3000:])

    def test_unknown_addresses_and_methods(self):
        with self.serve() as service:
            for path in ("/nope", "/v1/queries/", "/v1", "/../etc/passwd", "/v1/queries/" + "x" * 300, "/page.html"):
                self.assertEqual(service.get(path, token=self.token["learner"]).status, 404, path)
            for method, path, allow in (("GET", "/v1/queries", "POST"), ("POST", "/v1/config", "GET, HEAD"),
                                        ("DELETE", "/v1/queries/x", "GET, HEAD"), ("PUT", "/", "GET, HEAD")):
                reply = service.send(method, path)
                self.check_problem(reply, 405, "method-not-allowed")
                self.assertEqual(reply.headers["Allow"], allow)
            self.check_problem(service.send("POST", "/v1/queries", b"x", token=self.token["learner"], type="text/plain"),
                               415, "unsupported-media-type")
            self.check_problem(service.send("POST", "/v1/available", b"x", token=self.token["learner"], type=BINARY),
                               415, "unsupported-media-type")
            self.assertEqual(service.send("HEAD", "/healthz").status, 200)


if __name__ == "__main__":
    unittest.main()
