"""What the tests of train --oracle share: its tables, its runs, and a proxy that spoils replies."""

import csv
import http.server
import json
import os
import random
import socket
import subprocess
import tempfile
import threading

from service import PRIORBOOST, Case


class Learner(Case):
    """A table of features for the learner, its labels for the oracle, both for comparison."""

    def make_tables(self, rows=600, family="logistic", id_of=str, seed=7):
        draw = random.Random(seed)
        self.labels, lines = [], []
        for i in range(rows):
            x = [round(draw.gauss(0, 1), 6) for _ in range(3)]
            eta = x[0] - 0.5 * x[1]
            y = int(draw.random() < 1 / (1 + 2.718281828 ** -eta)) if family == "logistic" else round(eta / 8 + 0.5, 6)
            lines.append((id_of(i), *x, max(0, min(1, y))))
            self.labels.append((id_of(i), lines[-1][-1]))
        for name, columns in (("full.csv", 5), ("features.csv", 4)):
            with open(f"{self.folder}/{name}", "w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(["id", "a", "b", "c", "y"][:columns])
                writer.writerows(line[:columns] for line in lines)

    def write_token(self, name="learner", mode=0o600):
        path = f"{self.folder}/token-{name}"
        with open(path, "w") as file:
            file.write(self.token[name] + "\n")
        os.chmod(path, mode)
        return path

    def train(self, service, *options, data="features.csv", family="logistic", token="learner", code=0, url=None, wait=True, at=None,
              environment=None):
        command = [PRIORBOOST, "train", "--data", f"{self.folder}/{data}", "--id", "id", "--family", family, "--seed", "3",
                   "--oracle", url or service.url, "--token-file", self.write_token(token), "--json", *options]
        self.at = at or tempfile.mkdtemp(dir=self.folder)  # where the default checkpoint is
        environment = {**os.environ, **(environment or {})}
        if not wait:
            return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.at,
                                    env=environment)
        ended = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=self.at, env=environment)
        self.assertEqual(ended.returncode, code, ended.stderr)
        self.said = ended.stderr
        return json.loads(ended.stdout) if code in (0, 6) else None

    def train_here(self, *options, family="logistic", min_bag=8, data="full.csv"):
        ended = subprocess.run(
            [PRIORBOOST, "train", "--data", f"{self.folder}/{data}", "--id", "id", "--label", "y", "--family", family,
             "--seed", "3", "--min-bag", str(min_bag), "--bounds", "0,1", "--json", *options],
            capture_output=True, text=True, timeout=120)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return json.loads(ended.stdout)

    def check_same(self, remote, here):
        for member in ("theta", "intercept", "history", "rows_spent", "min_bag", "epsilon"):
            self.assertEqual(remote[member], here[member], member)


class Proxy(http.server.ThreadingHTTPServer):
    """Stands between learner and service and spoils what `spoil(path, reply)` says."""

    daemon_threads = True

    def __init__(self, service, spoil):
        self.service, self.spoil, self.asked = service, spoil, 0
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        """The learner was killed: that is what some tests are about."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.forward("GET", None)

    def do_POST(self):
        self.forward("POST", self.rfile.read(int(self.headers["Content-Length"])))

    def forward(self, method, body):
        if self.path == "/v1/queries":
            self.server.asked += 1
        reply = self.server.service.send(
            method, self.path, body, type=self.headers.get("Content-Type"),
            headers={"Authorization": self.headers["Authorization"]})
        status, kind, out = self.server.spoil(self.path, self.server.asked, reply) or (reply.status, reply.type, reply.body)
        if status == 0:
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(out)))
        self.end_headers()
        self.wfile.write(out)

    def log_message(self, *_):
        pass
