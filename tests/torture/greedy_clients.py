#!/usr/bin/env python3
"""Strangers and a greedy token at their worst, while another learner asks.

    greedy_clients.py     PRIORBOOST and MAKE_STORE name the programs; SQLite, or $PBOOST_TEST_STORE

Each attack is held until the learner has asked its questions; then it prints a row of the table of
./dev torture: how many questions there were, the longest wait and the service's memory at its peak.
Exit code 1: a question was not answered.
"""

import contextlib
import pathlib
import resource
import socket
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "server"))
from service import POSTGRESQL, Service, make_store  # noqa: E402

BAGS, QUESTIONS = 520_000, 20  # the large reply has 11 MiB
MIB = 1 << 20


class Attack:
    def __init__(self, service, token):
        self.service, self.token = service, token
        self.held, self.polling = [], threading.Event()

    def connect(self, method, path, token=None, length=None, body=b"", buffer=None):
        connection = socket.socket()
        if buffer:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        connection.settimeout(60)
        self.held.append(connection)
        lines = [f"{method} {path} HTTP/1.1", "Host: x"]
        lines += [f"Authorization: Bearer {self.token[token]}"] if token else []
        lines += [f"Content-Length: {length}", "Content-Type: application/json"] if length is not None else []
        with contextlib.suppress(OSError):  # cut off while it sends
            connection.connect(self.service.address)
            connection.sendall("\r\n".join([*lines, "", ""]).encode())
            for _ in range(0, len(body), MIB):
                connection.sendall(body[:MIB])
        return connection

    def bodies_of_strangers(self):
        for _ in range(82):
            self.connect("GET", "/healthz", length=4 * MIB, body=b" " * (4 * MIB - 1))

    def connections_of_strangers(self):
        for _ in range(4000):
            with contextlib.suppress(OSError):
                self.held.append(socket.create_connection(self.service.address, 10))

    def poll(self):
        while not self.polling.is_set():
            for path in ("/metrics", "/readyz", "/v1/config"):
                with contextlib.suppress(OSError):
                    self.service.get(path, timeout=10)

    def strangers_who_poll(self):
        for _ in range(16):
            threading.Thread(target=self.poll, daemon=True).start()

    def unread_replies(self):
        for _ in range(60):
            self.connect("GET", "/v1/queries/large", "greedy", buffer=4096)

    def unfinished_bodies(self):
        for _ in range(60):
            self.connect("POST", "/v1/queries", "greedy", 60 * MIB, b" " * (12 * MIB))

    def end(self):
        self.polling.set()
        for connection in self.held:
            connection.close()
        self.held.clear()


def peak(service):
    status = pathlib.Path(f"/proc/{service.process.pid}/status").read_text()
    return next(int(line.split()[1]) // 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def main():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    failed, waits, asked = [], {}, 0
    with tempfile.TemporaryDirectory() as folder:
        rows = [(i, i % 2) for i in range(2 * BAGS + 10_000)]
        store, token = make_store(folder, rows, tokens=["greedy:learner:0:0:"])
        with Service(store, "--insecure-http", listen="127.0.0.1:0") as service:
            large = service.ask(token["greedy"], "large", [[str(2 * i), str(2 * i + 1)] for i in range(BAGS)])
            if large.status != 200:
                raise SystemExit(f"the large question was refused: {large.body[:300]}")
            before = peak(service)
            for name in ("bodies_of_strangers", "connections_of_strangers", "strangers_who_poll", "unread_replies",
                         "unfinished_bodies"):
                attack = Attack(service, token)
                getattr(attack, name)()
                for _ in range(QUESTIONS):
                    at = 2 * BAGS + 2 * asked
                    asked += 1
                    start = time.monotonic()
                    try:
                        status = service.ask(token["learner"], f"q{at}", [[str(at), str(at + 1)]]).status
                    except OSError as error:
                        status = str(error)
                    waits[name] = max(waits.get(name, 0), time.monotonic() - start)
                    if status != 200:
                        failed.append(f"{name}: {status}")
                attack.end()
                print(f"{name}: longest wait {waits[name]:.2f} s, peak {peak(service)} MiB", file=sys.stderr)
            print(f"| greedy clients, {'PostgreSQL' if POSTGRESQL else 'SQLite'} | strangers: 82 bodies, 4,000 connections, "
                  f"16 who poll; a token: 60 unread replies of {len(large.body) / MIB:.0f} MiB, 60 unfinished bodies | "
                  f"{asked} questions of another learner, longest wait {max(waits.values()):.2f} s; memory {peak(service)} MiB at its peak, "
                  f"{before} before | {'every question answered' if not failed else f'{len(failed)} NOT ANSWERED'} |")
    for name in sorted(set(failed)):
        print(f"greedy_clients.py: not answered, {name} ({failed.count(name)} times)", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
