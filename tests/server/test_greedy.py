#!/usr/bin/env python3
"""Strangers and greedy tokens: whatever they hold, another learner is answered."""

import http.client
import socket
import threading
import time
import unittest

from service import Case

GREEDY = "greedy:learner:0:0:"


class Greedy(Case):
    def connect(self, service, data=b"", buffer=None):
        connection = socket.socket()
        self.addCleanup(connection.close)
        if buffer:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        connection.settimeout(60)
        connection.connect(service.address)
        try:
            connection.sendall(data)
        except OSError:
            pass  # cut off while it sent
        return connection

    def header(self, method, path, token=None, length=None):
        lines = [f"{method} {path} HTTP/1.1", "Host: x"]
        lines += [f"Authorization: Bearer {self.token[token]}"] if token else []
        lines += [f"Content-Length: {length}", "Content-Type: application/json"] if length is not None else []
        return "\r\n".join([*lines, "", ""]).encode()

    def value(self, service, name):
        text = service.get("/metrics", token=self.token["operator"]).body.decode()
        return float(next(line for line in text.splitlines() if line.startswith(f"priorboost_{name} ")).split()[1])

    def check_no_bodies(self, service):
        """Of 2 MB each; the reply that was just read may still be counted."""
        self.assertLess(self.value(service, "request_bytes"), 10_000)

    def until(self, condition):
        deadline = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)

    # ---- Strangers ----

    def test_bodies_of_strangers(self):
        with self.serve("--max-body", "2000000", "--insecure-http", listen="127.0.0.1:0") as service:
            for turn, path in enumerate(("/healthz", "/readyz", "/", "/metrics", "/v1/config")):
                for _ in range(20):
                    self.connect(service, self.header("GET", path, length=2_000_000) + b" " * 1_999_999)
                self.assertEqual(service.ask(self.token["learner"], path, [[str(2 * turn), str(2 * turn + 1)]]).status, 200)
                self.check_no_bodies(service)

    def test_bodies_with_a_wrong_token(self):
        with self.serve("--max-body", "2000000", "--insecure-http", listen="127.0.0.1:0") as service:
            self.token["wrong"] = "pb_wrong"
            for _ in range(20):
                self.connect(service, self.header("POST", "/v1/queries", "wrong", 2_000_000) + b" " * 1_999_999)
            self.assertEqual(service.ask(self.token["learner"], "a", [["1", "2"]]).status, 200)
            self.check_no_bodies(service)

    def test_connections_of_strangers(self):
        """They may stay for an hour; still there is room for who comes next."""
        with self.serve("--max-connections", "20", "--header-seconds", "3600", "--insecure-http", listen="127.0.0.1:0") as service:
            for turn, data in enumerate((b"", b"GET / HTTP/1.1\r\nX: ")):
                for _ in range(60):
                    self.connect(service, data)
                self.assertEqual(service.get("/healthz").status, 200)
                self.assertEqual(service.ask(self.token["learner"], f"a{turn}", [[str(2 * turn), str(2 * turn + 1)]]).status, 200)
            self.assertGreater(self.value(service, "connections_displaced_total"), 0)

    def test_who_has_a_token_is_not_displaced(self):
        with self.serve("--max-connections", "20", "--header-seconds", "3600", "--insecure-http", listen="127.0.0.1:0") as service:
            held = service.connection()
            for turn in range(3):
                held.request("GET", "/v1/config", headers={"Authorization": f"Bearer {self.token['learner']}"})
                self.assertEqual(held.getresponse().read()[:1], b"{")
                for _ in range(60):
                    self.connect(service)
            held.close()

    def test_connections_of_an_address(self):
        with self.serve("--address-connections", "5", "--insecure-http", listen="127.0.0.1:0") as service:
            def is_served():
                try:
                    with self.connect(service, self.header("GET", "/healthz")) as connection:
                        return connection.recv(100).startswith(b"HTTP/1.1 200")
                except ConnectionResetError:
                    return False

            held = [self.connect(service) for _ in range(4)]

            def is_full():
                """One more: the connection that saw the service start may have counted, and another was refused."""
                held.append(self.connect(service))
                return not is_served()

            self.until(is_full)
            for connection in held:
                connection.close()
            self.until(is_served)

    def test_requests_of_an_address(self):
        """Without a valid token; who has one is not counted."""
        with self.serve("--address-requests", "5", "--insecure-http", listen="127.0.0.1:0") as service:
            for token in (None, "x"):
                self.until(lambda: service.get("/v1/config", token=token).status == 429)
            reply = service.get("/healthz")
            while reply.status != 429:
                reply = service.get("/healthz")
            self.check_problem(reply, 429, "too-many-requests")
            self.assertEqual((reply.headers["Retry-After"], reply.headers["Connection"]), ("1", "close"))
            self.until(lambda: service.get("/v1/config", token=self.token["learner"]).status == 200)
            held = service.connection()
            for _ in range(50):  # no longer a stranger
                held.request("GET", "/v1/config", headers={"Authorization": f"Bearer {self.token['learner']}"})
                reply = held.getresponse()
                self.assertEqual((reply.status, reply.read()[:1]), (200, b"{"))
            held.close()

    def test_addresses_have_no_limit_on_loopback_unless_asked(self):
        with self.serve("--insecure-http", listen="127.0.0.1:0") as service:
            held = [self.connect(service) for _ in range(300)]
            for _ in range(300):
                self.assertEqual(service.get("/healthz").status, 200)
            self.assertEqual(len(held), 300)

    # ---- Tokens ----

    def test_connections_of_a_token(self):
        with self.serve("--max-connections", "32", "--insecure-http", listen="127.0.0.1:0", tokens=[GREEDY]) as service:
            statuses = []
            for _ in range(30):
                connection = self.connect(service, self.header("GET", "/v1/config", "greedy"))
                reply = connection.recv(4096)
                statuses.append(int(reply.split()[1]))
                self.assertEqual(statuses[-1] == 503, b"\r\nConnection: close\r\n" in reply)
            self.assertEqual(set(statuses), {200, 503})
            self.assertLessEqual(statuses.count(200), 16)
            self.assertEqual(service.ask(self.token["learner"], "a", [["1", "2"]]).status, 200)

    def test_bodies_of_a_token(self):
        """A greedy token that sends many bodies, and never the last byte, gets 503; another one is served."""
        with self.serve("--max-body", "2000000", "--insecure-http", listen="127.0.0.1:0", tokens=[GREEDY]) as service:
            held = [self.connect(service, self.header("POST", "/v1/queries", "greedy", 2_000_000) + b" " * 1_999_999)
                    for _ in range(60)]
            self.until(lambda: self.value(service, "request_bytes") > 25e6)
            self.assertLessEqual(self.value(service, "request_bytes"), 2**25)
            self.check_problem(service.send("POST", "/v1/queries", b" " * 1_999_999, token=self.token["greedy"]), 503, "unavailable")
            self.check_problem(service.send("POST", "/v1/queries", b" " * 1_999_999, token=self.token["learner"]), 400, "malformed-request")
            self.assertEqual(service.ask(self.token["learner"], "a", [["1", "2"]]).status, 200)
            for connection in held:
                connection.close()

    def large_reply(self, service, token):
        """Has a question answered whose reply is 1.5 MB."""
        bags = [[str(2 * i), str(2 * i + 1)] for i in range(70_000)]
        reply = service.ask(self.token[token], "large", bags)
        self.assertEqual(reply.status, 200, reply.body[:200])
        self.assertGreater(len(reply.body), 1.5e6)
        return len(reply.body)

    def test_replies_of_a_token(self):
        """Replies that nobody reads count; at most half of the memory is held for one token."""
        with self.serve("--max-body", "4000000", "--insecure-http", rows=[(i, i % 2) for i in range(150_000)],
                        listen="127.0.0.1:0", tokens=[GREEDY]) as service:
            size = self.large_reply(service, "greedy")
            held = [self.connect(service, self.header("GET", "/v1/queries/large", "greedy"), 4096) for _ in range(60)]
            statuses = [int(connection.recv(20).split()[1]) for connection in held]
            self.assertEqual(set(statuses), {200, 503})
            self.assertLessEqual(size * statuses.count(200), 2**25)
            self.assertLessEqual(self.value(service, "request_bytes"), 2**25)
            self.assertEqual(service.ask(self.token["learner"], "a", [["140000", "140001"]]).status, 200)
            for connection in held:
                connection.close()
            self.until(lambda: self.value(service, "request_bytes") == 0)
            self.assertEqual(len(service.get("/v1/queries/large", token=self.token["greedy"]).body), size)

    def test_slow_readers_are_cut_off(self):
        with self.serve("--max-body", "4000000", "--body-seconds", "2", "--insecure-http",
                        rows=[(i, i % 2) for i in range(150_000)], listen="127.0.0.1:0", tokens=[GREEDY]) as service:
            size, got = self.large_reply(service, "greedy"), 0
            slow = self.connect(service, self.header("GET", "/v1/queries/large", "greedy"), 4096)
            deadline = time.monotonic() + 60
            try:
                while time.monotonic() < deadline and (piece := slow.recv(4000)):
                    got += len(piece)
                    time.sleep(0.05)
            except ConnectionResetError:
                pass
            self.assertLess(got, size)
            self.assertLess(time.monotonic(), deadline)
            self.until(lambda: self.value(service, "request_bytes") == 0)

    def test_what_reading_a_body_takes_counts(self):
        """Many brackets or quotes need more memory than they have bytes; nothing is read then."""
        with self.serve("--max-body", "4000000", "--insecure-http", listen="127.0.0.1:0") as service:
            for body in (b'{"request_id":"a","bags":' + b"[" * 1_000_000, b'{"request_id":"a","bags":[[' + b'"",' * 1_300_000):
                self.check_problem(service.send("POST", "/v1/queries", body, token=self.token["learner"]), 413, "body-too-large")
            self.assertEqual(service.ask(self.token["learner"], "a", [["1", "2"]]).status, 200)

    def test_memory_that_is_too_small(self):
        with self.assertRaisesRegex(RuntimeError, "--max-memory is 70000000; it must be at least 8 times --max-body, 536870912"):
            self.serve("--max-memory", "70000000")


class Monitoring(Case):
    def test_totals_are_not_for_strangers(self):
        with self.serve() as service:
            self.check_problem(service.get("/metrics"), 401, "token-invalid")
            self.check_problem(service.get("/metrics", token=self.token["learner"]), 403, "token-role")
            self.assertIn(b"priorboost_ledger_rows 100\n", service.get("/metrics", token=self.token["operator"]).body)

    def test_a_listener_of_their_own(self):
        for address in (f"unix:{self.folder}/metrics", "127.0.0.1:0"):
            with self.serve("--metrics-listen", address) as service:
                main = service.url
                service.url = next(e["message"].split(",")[0] for e in service.log() if e["message"].endswith("health and metrics"))
                self.assertIn(b"priorboost_ledger_rows 100\n", service.get("/metrics").body)
                self.assertEqual(service.get("/healthz").body, b"ok\n")
                self.assertEqual(service.get("/readyz").body, b"ready\n")
                for path in ("/v1/config", "/v1/status", "/", "/v1/openapi.json"):
                    self.check_problem(service.get(path, token=self.token["operator"]), 404, "not-found")
                self.check_problem(service.ask(self.token["learner"], "a", [["1", "2"]]), 404, "not-found")
                service.url = main
                self.assertEqual(service.ask(self.token["learner"], "a", [["1", "2"]]).status, 200)

    def test_not_for_other_machines(self):
        with self.assertRaisesRegex(RuntimeError, "--metrics-listen is '0.0.0.0:0': without TLS it must be a loopback address"):
            self.serve("--metrics-listen", "0.0.0.0:0")

    def test_readiness_while_questions_are_long(self):
        """Strangers who poll do not wait behind a token's questions, nor the other way round."""
        with self.serve(rows=[(i, i % 2) for i in range(20_000)]) as service:
            errors = []

            def poll():
                try:
                    for _ in range(50):
                        if service.get("/readyz").status != 200:
                            errors.append("not ready")
                except (OSError, http.client.HTTPException) as error:
                    errors.append(error)

            threads = [threading.Thread(target=poll) for _ in range(8)]
            for thread in threads:
                thread.start()
            for n in range(100):
                self.assertEqual(service.ask(self.token["learner"], f"a{n}", [[str(200 * n + i) for i in range(200)]]).status, 200)
            for thread in threads:
                thread.join()
            self.assertEqual(errors, [])


if __name__ == "__main__":
    unittest.main()
