"""Learning from a service: a stand-in that can misbehave, and the real one."""

import http.server
import json
import pickle
import socket
import subprocess
import threading

import numpy as np
import pytest
from conftest import make_table

import priorboost as pb


class StandIn(http.server.ThreadingHTTPServer):
    """Answers as docs/http-api.md says, from labels by id."""

    daemon_threads = True

    def __init__(self, labels, max_body=1 << 20):
        super().__init__(("127.0.0.1", 0), Handler)
        self.labels, self.max_body = labels, max_body
        self.stored, self.spent, self.bodies = {}, set(), []
        self.fail_next = 0  # replies that get lost after the answer was stored
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def answer(self, question):
        key = question["request_id"]
        if key not in self.stored:
            rows = [row for bag in question["bags"] for row in bag]
            taken = [row for row in rows if row in self.spent]
            if taken:
                return 409, {"problem": "row-spent", "detail": "spent", "rows": taken}
            self.spent.update(rows)
            answers = [
                {"mean": float(np.mean([self.labels[r] for r in bag])), "size": len(bag)}
                for bag in question["bags"]
            ]
            self.stored[key] = {"request_id": key, "answers": answers, "dp": False,
                                "epsilon": None, "head": f"{len(self.stored):064x}"}  # fmt: skip
        return 200, self.stored[key]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def reply(self, status, document):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.headers["Authorization"] != "Bearer secret":
            return self.reply(401, {"problem": "token-invalid", "detail": "no such token"})
        return self.reply(200, {"min_bag": 4, "dp": False, "epsilon": None, "lower": -20.0,
                                "upper": 20.0, "step": 2.0**-16, "units": False, "unit_rows": 1,
                                "max_body": self.server.max_body, "version": "0"})  # fmt: skip

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.bodies.append(len(body))
        document = json.loads(body)
        if self.path == "/v1/available":
            left = [row for row in document["rows"] if row not in self.server.spent]
            return self.reply(200, {"available": left})
        status, answer = self.server.answer(document)
        if self.server.fail_next:
            self.server.fail_next -= 1
            self.close_connection = True
            return self.connection.shutdown(socket.SHUT_RDWR)
        return self.reply(status, answer)

    def log_message(self, *_):
        pass


@pytest.fixture
def table():
    X, y = make_table("linear", n=800)
    return X, y, [f"p{i}" for i in range(len(X))]


@pytest.fixture
def service(table):
    _, y, ids = table
    server = StandIn(dict(zip(ids, y, strict=True)))
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def oracle(service, tmp_path):
    (tmp_path / "token").write_text("secret\n")
    return pb.RemoteOracle(service.url, token_file=tmp_path / "token", patience=5)


def test_a_service_is_as_good_as_labels(table, service, oracle):
    X, y, ids = table
    remote = pb.PriorBoostRegressor(rounds=4).fit(X, oracle=oracle, ids=ids)
    local = pb.PriorBoostRegressor(min_bag=4, rounds=4, bounds=(-20, 20)).fit(X, y, ids=ids)
    assert np.allclose(remote.path_, local.path_, atol=1e-4)
    assert remote.training_["min_bag"] == 4
    assert len(service.spent) == len(X)
    assert not oracle.available(ids).any()


def test_the_meta_estimator_learns_from_a_service(table, service, oracle):
    from sklearn.linear_model import Ridge

    X, y, ids = table
    model = pb.PriorBoost(Ridge(), rounds=4).fit(X, oracle=oracle, ids=ids)
    assert model.score(X, y) > 0.9


def test_a_run_started_anew_asks_the_same_questions(table, service, oracle):
    """A fit that died after two rounds goes on as if nothing had happened."""
    X, _, ids = table
    whole = StandIn(service.labels)
    try:
        expected = pb.PriorBoostRegressor(rounds=4).fit(
            X, oracle=pb.RemoteOracle(whole.url, oracle.token_file), ids=ids
        )
    finally:
        whole.shutdown()
        whole.server_close()

    class Dies(pb.PriorBoostRegressor):
        pass

    questions = []
    original = service.answer

    def dying(question):
        questions.append(question["request_id"])
        if len(set(questions)) == 3:
            return 400, {"problem": "malformed-request", "detail": "not now"}
        return original(question)

    service.answer = dying
    with pytest.raises(pb.OracleError, match="not now"):
        Dies(rounds=4).fit(X, oracle=oracle, ids=ids)
    assert len(service.spent) == 400
    service.answer = original
    model = Dies(rounds=4).fit(X, oracle=oracle, ids=ids)
    assert model.path_.tolist() == expected.path_.tolist()


def test_lost_replies_are_asked_for_again(table, service, oracle):
    X, _, ids = table
    service.fail_next = 2
    pb.PriorBoostRegressor(rounds=2).fit(X, oracle=oracle, ids=ids)
    assert len(service.stored) == 2
    assert len(service.bodies) == 4


def test_long_rounds_are_sent_in_parts(table, service, oracle):
    X, _, ids = table
    service.max_body = 2048
    pb.PriorBoostRegressor(rounds=2).fit(X, oracle=oracle, ids=ids)
    assert len(service.stored) > 2
    assert max(service.bodies) <= 2048


def test_refusals_and_failures(table, service, oracle, tmp_path):
    X, _, ids = table
    pb.PriorBoostRegressor(rounds=2).fit(X, oracle=oracle, ids=ids)
    with pytest.raises(pb.PrivacyError, match="row-spent"):
        pb.PriorBoostRegressor(rounds=4).fit(X, oracle=oracle, ids=ids)
    with pytest.raises(ValueError, match="pass ids"):
        pb.PriorBoostRegressor().fit(X, oracle=oracle)
    (tmp_path / "bad").write_text("wrong")
    with pytest.raises(pb.OracleError, match="token-invalid"):
        pb.PriorBoostRegressor().fit(
            X, oracle=pb.RemoteOracle(service.url, tmp_path / "bad"), ids=ids
        )
    nobody = pb.RemoteOracle(f"unix:{tmp_path}/nobody", tmp_path / "token", patience=0.1)
    with pytest.raises(pb.OracleError, match="no answer"):
        pb.PriorBoostRegressor().fit(X, oracle=nobody, ids=ids)
    with pytest.raises(ValueError, match="loopback"):
        pb.RemoteOracle("http://labels.example.org", tmp_path / "token").available(ids)


def test_it_is_a_plain_description(oracle):
    assert pickle.loads(pickle.dumps(oracle)) == oracle


def test_the_real_service(cli, table, tmp_path):
    """A store, a token and a service as a label holder would have them."""
    program = cli.program
    if "serve" not in subprocess.run([program, "--help"], capture_output=True, text=True).stdout:
        pytest.skip("this build of the program has no service")
    X, y, ids = table
    with (tmp_path / "labels.csv").open("w") as file:
        file.write("id,y\n")
        file.writelines(f"{i},{v!r}\n" for i, v in zip(ids, y.tolist(), strict=True))
    store = f"sqlite:{tmp_path}/store.db"
    cli("oracle", "init", "--store", store, "--min-bag", 4, "--no-noise", "--bounds", "-20,20")
    cli("oracle", "import", "--store", store, "--data", tmp_path / "labels.csv", "--id", "id",
        "--label", "y")  # fmt: skip
    token = cli("oracle", "token", "create", "--store", store, "--name", "learner")["token"]
    (tmp_path / "token").write_text(token)
    serve = subprocess.Popen(
        [program, "serve", "--store", store, "--listen", f"unix:{tmp_path}/socket"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        url = serve.stdout.readline().split()[-1]
        oracle = pb.RemoteOracle(url, token_file=tmp_path / "token")
        remote = pb.PriorBoostRegressor(rounds=4).fit(X, oracle=oracle, ids=ids)
        again = pb.PriorBoostRegressor(rounds=4).fit(X, oracle=oracle, ids=ids)
        assert not oracle.available(ids).any()
    finally:
        serve.terminate()
        serve.wait()
        serve.stdout.close()
    local = pb.PriorBoostRegressor(min_bag=4, rounds=4, bounds=(-20, 20)).fit(X, y, ids=ids)
    assert remote.path_.tolist() == again.path_.tolist() == local.path_.tolist()
