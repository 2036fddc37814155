"""Learning from a service: a stand-in that can misbehave, and the real one."""

import dataclasses
import hashlib
import http.server
import json
import pickle
import re
import shutil
import socket
import ssl
import stat
import subprocess
import threading

import numpy as np
import pytest
from conftest import make_table
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge

import priorboost as pb
from priorboost.heads import keep_head, read_head
from priorboost.remote import _Asker, _Session


class StandIn(http.server.ThreadingHTTPServer):
    """Answers as docs/http-api.md says, from labels by id."""

    daemon_threads = True

    def __init__(self, labels, max_body=1 << 20):
        super().__init__(("127.0.0.1", 0), Handler)
        self.labels, self.max_body = labels, max_body
        self.stored, self.spent, self.bodies, self.heads = {}, set(), [], []
        self.shown = set()  # ids that were asked about whether they are available
        self.config = {}  # what differs from the usual rules; ...: is left out
        self.token = {"rows_left": None}
        self.fail_next = 0  # replies that get lost after the answer was stored
        self.busy_next = 0  # replies that say 429, too many requests
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def answer(self, question):
        key = question["request_id"]
        self.heads.append(question.get("head"))
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
        if self.path == "/v1/status":
            return self.reply(200, {"token": self.server.token})
        config = {"min_bag": 4, "dp": False, "epsilon": None, "lower": -20.0, "upper": 20.0,
                  "step": 2.0**-16, "units": False, "unit_rows": 1,
                  "max_body": self.server.max_body, "version": "0"}  # fmt: skip
        config |= self.server.config
        return self.reply(200, {name: v for name, v in config.items() if v is not ...})

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.bodies.append(len(body))
        document = json.loads(body)
        if self.path == "/v1/available":
            self.server.shown.update(document["rows"])
            known = [row for row in document["rows"] if row in self.server.labels]
            left = [row for row in known if row not in self.server.spent]
            return self.reply(200, {"available": left})
        if self.server.busy_next:
            self.server.busy_next -= 1
            return self.reply(429, {"problem": "too-many-requests", "detail": "later"})
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
    (tmp_path / "token").touch(mode=0o600)
    (tmp_path / "token").write_text("secret\n")
    return pb.RemoteOracle(service.url, token_file=tmp_path / "token", patience=5)


def test_a_service_is_as_good_as_labels(table, service, oracle):
    X, y, ids = table
    remote = pb.PriorBoostRegressor(rounds=4).fit(X, oracle=oracle, ids=ids)
    local = pb.PriorBoostRegressor(min_bag=4, rounds=4, bounds=(-20, 20)).fit(X, y, ids=ids)
    assert np.allclose(remote.path_, local.path_, atol=1e-4)
    assert remote.training_["min_bag"] == 4
    assert len(service.spent) == len(X)
    assert service.heads == [None, *(f"{i:064x}" for i in range(3))]  # each says what it has seen
    assert not oracle.available(ids).any()


def test_the_last_head_is_kept_from_fit_to_fit(table, service, oracle, tmp_path):
    X, _, ids = table
    learner = pb.PriorBoostRegressor(rounds=2)
    kept = tmp_path / "token.head"
    learner.fit(X[:400], oracle=oracle, ids=ids[:400])
    assert re.fullmatch(f"{1:064x} [0-9a-f]{{16}}\n", kept.read_text())
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    learner.fit(X[400:], oracle=oracle, ids=ids[400:])
    assert service.heads == [None, *(f"{i:064x}" for i in range(3))]
    assert read_head(oracle.token_file) == f"{3:064x}"


def test_a_head_belongs_to_a_token(oracle, tmp_path):
    kept = tmp_path / "token.head"
    kept.write_text(f"{7:064x} {hashlib.sha256(b'secret').hexdigest()[:16]}\n")
    assert read_head(oracle.token_file) == f"{7:064x}"
    (tmp_path / "token").write_text("another\n")
    assert read_head(oracle.token_file) is None
    kept.write_text("00\n")
    with pytest.raises(ValueError, match="does not hold a head"):
        read_head(oracle.token_file)


def test_a_head_that_cannot_be_kept_is_told(oracle, tmp_path):
    (tmp_path / "token.head.new").mkdir()
    with pytest.warns(UserWarning, match="the next fit cannot show"):
        keep_head(oracle.token_file, f"{7:064x}")
    keep_head(oracle.token_file, "no head")  # a service may say anything
    assert not (tmp_path / "token.head").exists()


def test_the_meta_estimator_learns_from_a_service(table, service, oracle):
    X, y, ids = table
    model = pb.PriorBoost(Ridge(), rounds=4).fit(X, oracle=oracle, ids=ids)
    assert model.score(X, y) > 0.9


def test_a_run_started_anew_asks_the_same_questions(table, service, oracle):
    """A fit that was killed after two rounds continues and has the same result."""
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


@pytest.fixture
def keeping(oracle, tmp_path):
    """The same oracle, described with a checkpoint."""
    return dataclasses.replace(oracle, checkpoint=tmp_path / "checkpoint")


def test_a_killed_run_goes_on_from_its_checkpoint(table, service, keeping):
    X, y, ids = table
    expected = pb.PriorBoostRegressor(min_bag=4, rounds=4, bounds=(-20, 20)).fit(X, y, ids=ids)
    original, asked = service.answer, []

    def dying(question):
        asked.append(question["request_id"])
        if len(asked) == 3:
            return 400, {"problem": "malformed-request", "detail": "not now"}
        return original(question)

    service.answer = dying
    with pytest.raises(pb.OracleError, match="not now"):
        pb.PriorBoostRegressor(rounds=4).fit(X, oracle=keeping, ids=ids)
    service.stored.clear()  # the service has forgotten; the learner has not
    model = pb.PriorBoostRegressor(rounds=4).fit(X, oracle=keeping, ids=ids)
    assert len(asked) == 5
    assert asked[2] == asked[3]
    assert np.allclose(model.path_, expected.path_, atol=1e-4)
    model = pb.PriorBoostRegressor(rounds=4).fit(X, oracle=keeping, ids=ids)
    assert len(asked) == 5  # nothing was left to ask


@pytest.mark.parametrize(
    "learner",
    [
        pb.PriorBoostRegressor(rounds=4, standardize=True),
        pb.PriorBoostRegressor(rounds=3, estimator="aggregate", bags="hybrid"),
        pb.PriorBoost(Ridge(), rounds=4),
    ],
)
def test_rows_may_come_in_another_order(table, service, keeping, learner):
    X, y, ids = table
    original = service.answer

    def dying(question):
        if len(service.stored) == 2:
            return 400, {"problem": "malformed-request", "detail": "not now"}
        return original(question)

    service.answer = dying
    with pytest.raises(pb.OracleError, match="not now"):
        clone(learner).fit(X, oracle=keeping, ids=ids)
    service.answer = original
    service.stored.clear()  # a question that is asked again is refused
    order = np.random.default_rng(1).permutation(len(X))
    model = clone(learner).fit(X[order], oracle=keeping, ids=[ids[i] for i in order])
    assert len(service.spent) == len(X)
    expected = clone(learner).set_params(min_bag=4, bounds=(-20, 20)).fit(X, y, ids=ids)
    assert np.allclose(model.predict(X), expected.predict(X), atol=1e-3)


def test_a_checkpoint_is_of_one_run(table, service, keeping):
    X, _, ids = table
    pb.PriorBoostRegressor(rounds=4).fit(X, oracle=keeping, ids=ids)
    spent = len(service.bodies)
    for other in ({"rounds": 2}, {"bag_size": 5}, {"bags": "random"}, {"random_state": 7}):
        with pytest.raises(ValueError, match=f"its ({next(iter(other))}|seed) is"):
            pb.PriorBoostRegressor(**{"rounds": 4, **other}).fit(X, oracle=keeping, ids=ids)
    with pytest.raises(ValueError, match="another table"):
        pb.PriorBoostRegressor(rounds=4).fit(X, oracle=keeping, ids=ids[::-1])
    changed = X.copy()
    changed[17, 2] += 1.0
    with pytest.raises(ValueError, match="another table"):
        pb.PriorBoostRegressor(rounds=4).fit(changed, oracle=keeping, ids=ids)
    pb.PriorBoostRegressor(rounds=4, l2=7).fit(X, oracle=keeping, ids=ids)  # one's own affair
    assert len(service.bodies) == spent
    folder = keeping.checkpoint
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {p.name for p in folder.iterdir()} == {
        "run", "rows", *(f"ask-{n:06d}" for n in range(4)),
        *(f"answer-{n:06d}-000000" for n in range(4)),
    }  # fmt: skip
    assert all(p.stat().st_mode & 0o077 == 0 for p in folder.iterdir())
    service.config = {"min_bag": 3}
    with pytest.raises(ValueError, match=r"rules of the oracle is \[4, .* is \[3, "):
        pb.PriorBoostRegressor(rounds=4).fit(X, oracle=keeping, ids=ids)
    service.config = {}
    (folder / "ask-000002").write_text("[[")
    with pytest.raises(ValueError, match="ask-000002 is damaged"):
        pb.PriorBoostRegressor(rounds=4).fit(X, oracle=keeping, ids=ids)


def test_parts_of_a_round_are_kept_as_they_come(table, service, keeping):
    """The service takes larger questions by then; the round stays cut as it was."""
    X, y, ids = table
    service.max_body, original = 2048, service.answer

    def dying(question):
        if len(service.stored) == 2:
            original(question)  # answered, and the reply is lost
            return 400, {"problem": "malformed-request", "detail": "not now"}
        return original(question)

    service.answer = dying
    with pytest.raises(pb.OracleError, match="not now"):
        pb.PriorBoostRegressor(rounds=2).fit(X, oracle=keeping, ids=ids)
    names = {p.name for p in keeping.checkpoint.glob("a*")}
    assert names == {"ask-000000", "answer-000000-000000", "answer-000000-000001"}
    service.answer, service.max_body = original, 1 << 20
    for key in list(service.stored)[:2]:  # the service has forgotten what the learner knows
        del service.stored[key]
    model = pb.PriorBoostRegressor(rounds=2).fit(X, oracle=keeping, ids=ids)
    expected = pb.PriorBoostRegressor(min_bag=4, rounds=2, bounds=(-20, 20)).fit(X, y, ids=ids)
    assert np.allclose(model.path_, expected.path_, atol=1e-4)


def test_a_quota_is_looked_at_before_anything_is_asked(table, service, keeping):
    X, _, ids = table
    service.token = {"rows_left": 799}
    for model in (pb.PriorBoostRegressor(rounds=4), pb.PriorBoost(Ridge(), rounds=4)):
        with pytest.raises(pb.PrivacyError, match="about 800 rows, but the token has 799 left"):
            model.fit(X, oracle=keeping, ids=ids)
    assert not service.spent
    assert not keeping.checkpoint.exists()
    service.token = {}
    with pytest.raises(pb.OracleError, match="rows_left"):
        pb.PriorBoostRegressor(rounds=4).fit(X, oracle=keeping, ids=ids)
    service.token = {"rows_left": 800}
    pb.PriorBoostRegressor(rounds=4).fit(X, oracle=keeping, ids=ids)
    service.token = {"rows_left": 0}  # all spent, and all kept; or told again
    pb.PriorBoostRegressor(rounds=4).fit(X, oracle=keeping, ids=ids)
    without = dataclasses.replace(keeping, checkpoint=None)
    pb.PriorBoostRegressor(rounds=4).fit(X, oracle=without, ids=ids)
    assert keeping.rows_left() == 0
    assert keeping.sheet() == {}  # a service that knows of none
    service.config = {"sheet": {"label": "visits", "owner": None}}
    assert keeping.sheet() == {"label": "visits", "owner": None}
    service.config = {"sheet": "visits"}
    with pytest.raises(pb.OracleError):
        keeping.sheet()


def test_the_quota_of_the_real_service(serve, table):
    X, y, ids = table
    oracle = pb.RemoteOracle(*serve(ids, y, most_rows=500))
    assert oracle.rows_left() == 500
    with pytest.raises(pb.PrivacyError, match="about 800 rows, but the token has 500 left"):
        pb.PriorBoostRegressor(rounds=4).fit(X, oracle=oracle, ids=ids)
    assert oracle.available(ids).all()
    pb.PriorBoostRegressor(rounds=4).fit(X[:500], oracle=oracle, ids=ids[:500])
    assert oracle.rows_left() == 0


def test_other_bags_than_those_kept_are_refused(table, service, keeping):
    """A trainer without the bags of an earlier start must not get their answers."""
    X, _, ids = table
    pb.PriorBoostRegressor(rounds=4).fit(X, oracle=keeping, ids=ids)
    with _Session(keeping) as session:
        asker = _Asker(keeping, session.send("/v1/config"), ids)
    with pytest.raises(ValueError, match="other bags of round 1"):
        asker.ask(0, pb.Bags(np.arange(4), [0, 4]))


def test_a_fit_that_is_not_to_be_used_keeps_its_answers(serve, table, tmp_path):
    X, _, ids = table
    url, token = serve(ids, (X[:, 0] > 0).astype(float))
    oracle = pb.RemoteOracle(url, token, checkpoint=tmp_path / "c")
    how = {"estimator": "aggregate", "bags": "features", "rounds": 1}
    with pytest.warns(ConvergenceWarning, match="have no limit"):
        model = pb.PriorBoostClassifier(**how, l2=0).fit(X, oracle=oracle, ids=ids)
    assert not model.usable_
    assert not oracle.available(ids).any()
    again = pb.PriorBoostClassifier(**how, l2=1).fit(X, oracle=oracle, ids=ids)
    assert again.usable_


def test_a_checkpoint_that_cannot_be_written_stops_before_a_label_is_spent(
    table, service, keeping, monkeypatch
):
    X, _, ids = table

    def full(*_):
        raise OSError(28, "No space left on device")

    keeping.checkpoint.mkdir(mode=0o700)
    monkeypatch.setattr("priorboost.checkpoint.os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        pb.PriorBoostRegressor(rounds=4).fit(X, oracle=keeping, ids=ids)
    assert not service.spent
    assert list(keeping.checkpoint.iterdir()) == []


@pytest.mark.parametrize("kept", [False, True])
def test_rows_that_are_not_available_are_left_out(table, service, oracle, tmp_path, kept):
    X, y, ids = table
    service.spent.update(ids[:200])
    with pytest.raises(
        pb.PrivacyError, match=r"row-spent.*used in one answer.*skip_unavailable=True"
    ):
        pb.PriorBoostRegressor(rounds=4).fit(X, oracle=oracle, ids=ids)
    skipping = dataclasses.replace(
        oracle, skip_unavailable=True, checkpoint=tmp_path / "c" if kept else None
    )
    prior = pb.PriorBoostRegressor(min_bag=4).fit(X, y)
    model = pb.PriorBoostRegressor(rounds=4, prior=prior)
    model.fit(X, oracle=skipping, ids=ids, offset=np.zeros(800), weight=np.ones(800))
    assert model.training_["rows_spent"] == 600
    local = pb.PriorBoostRegressor(min_bag=4, rounds=4, prior=prior, bounds=(-20, 20))
    local.fit(X[200:], y[200:], ids=ids[200:])
    assert np.allclose(model.path_, local.path_, atol=1e-4)
    if kept:  # all are spent by now, by this very run
        again = pb.PriorBoostRegressor(rounds=4, prior=prior).fit(X, oracle=skipping, ids=ids)
        assert again.path_.tolist() == model.path_.tolist()


def test_the_meta_estimator_leaves_rows_out_too(table, service, oracle):
    X, y, ids = table
    service.spent.update(ids[:200])
    skipping = dataclasses.replace(oracle, skip_unavailable=True)
    model = pb.PriorBoost(Ridge(), rounds=4).fit(X, oracle=skipping, ids=ids)
    assert model.history_["rows"].sum() == 600
    assert model.score(X, y) > 0.9


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


def test_too_many_requests_are_sent_again(table, service, oracle):
    X, _, ids = table
    service.busy_next = 3
    pb.PriorBoostRegressor(rounds=2).fit(X, oracle=oracle, ids=ids)
    assert (service.busy_next, len(service.stored)) == (0, 2)


@pytest.fixture
def certificate(tmp_path):
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")

    def make(name, address="127.0.0.1"):
        files = ["-keyout", tmp_path / f"{name}.key", "-out", tmp_path / f"{name}.pem"]
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-nodes", "-subj", f"/CN={name}", "-addext", f"subjectAltName=IP:{address}", *files],
            check=True, capture_output=True)  # fmt: skip
        return tmp_path / f"{name}.pem", tmp_path / f"{name}.key"

    return make


def test_certificates_that_are_not_accepted(table, service, oracle, certificate):
    ids = table[2]
    plain = dataclasses.replace(oracle, patience=0.2)
    secure = dataclasses.replace(plain, url=service.url.replace("http:", "https:"))
    with pytest.raises(pb.OracleError, match="does not use TLS; it needs --tls-cert"):
        secure.available(ids)
    theirs, other = certificate("service", "127.0.0.2"), certificate("other")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*theirs)
    service.socket = context.wrap_socket(service.socket, server_side=True)
    service.handle_error = lambda *_: None
    for oracle_said, message in (
        (plain, "if the service uses TLS, the URL begins with https://"),
        (secure, r"not accepted \(self.signed certificate\); RemoteOracle\(ca_file=FILE\) trusts"),
        (dataclasses.replace(secure, ca_file=other[0]), "other.pem has another authority"),
        (dataclasses.replace(secure, ca_file=theirs[0]), "use the name or address that the"),
    ):
        with pytest.raises(pb.OracleError, match=message):
            oracle_said.available(ids)


def test_client_certificates(table, service, oracle, certificate, tmp_path):
    """A service that wants to know its clients ends the connections of the others."""
    ids = table[2]
    ours, theirs = certificate("learner"), certificate("service")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=ours[0])
    context.load_cert_chain(*theirs)
    context.verify_mode = ssl.CERT_REQUIRED
    service.socket = context.wrap_socket(service.socket, server_side=True)
    service.handle_error = lambda *_: None
    stranger = dataclasses.replace(
        oracle, url=service.url.replace("http:", "https:"), ca_file=theirs[0], patience=0.2
    )
    with pytest.raises(pb.OracleError, match="no answer"):
        stranger.available(ids)
    known = dataclasses.replace(stranger, client_cert=ours[0], client_key=ours[1])
    assert known.available(ids).all()
    with pytest.raises(ValueError, match="client_cert and client_key go together"):
        dataclasses.replace(known, client_key=None).available(ids)
    for wrong in ({"client_key": theirs[1]}, {"client_cert": tmp_path / "none"}):
        with pytest.raises(ValueError, match=r"client_cert .* cannot be used"):
            dataclasses.replace(known, **wrong).available(ids)
    with pytest.raises(ValueError, match=r"ca_file .* cannot be used"):
        dataclasses.replace(known, ca_file=tmp_path / "none").available(ids)


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
    (tmp_path / "bad").write_text("\n")
    with pytest.raises(ValueError, match="no token on its first line"):
        pb.RemoteOracle(service.url, tmp_path / "bad").available(ids)
    nobody = pb.RemoteOracle(f"unix:{tmp_path}/nobody", tmp_path / "token", patience=0.1)
    with pytest.raises(pb.OracleError, match="no answer"):
        pb.PriorBoostRegressor().fit(X, oracle=nobody, ids=ids)
    with pytest.raises(ValueError, match="loopback"):
        pb.RemoteOracle("http://labels.example.org", tmp_path / "token").available(ids)


@pytest.mark.parametrize(
    ("lie", "message"),
    [
        (lambda reply: reply["answers"].pop(), "other bags"),
        (lambda reply: reply["answers"][0].update(size=99), "other bags"),
        (lambda reply: reply.update(request_id="another"), "other bags"),
        (lambda reply: reply["answers"][1].update(mean=float("nan")), "finite"),
        (lambda reply: reply["answers"][1].update(mean=None), "not what a service"),
        (lambda reply: reply["answers"][1].pop("mean"), "'mean'"),
        (lambda reply: reply.update(answers=7), "not what a service"),
        (lambda reply: reply.pop("head"), "'head'"),
    ],
)
def test_an_oracle_that_lies_is_found_out(table, service, keeping, lie, message):
    X, _, ids = table
    original = service.answer

    def lying(question):
        status, reply = original(question)
        reply = json.loads(json.dumps(reply))
        lie(reply)
        return status, reply

    service.answer = lying
    with pytest.raises(pb.OracleError, match=message):
        pb.PriorBoostRegressor(rounds=4).fit(X, oracle=keeping, ids=ids)
    assert {p.name for p in keeping.checkpoint.iterdir()} == {"run", "rows", "ask-000000"}


def test_rules_that_are_none_are_found_out(table, service, oracle):
    X, _, ids = table
    for wrong in ({"min_bag": None}, {"lower": "low"}, {"units": ...}):
        service.config = wrong
        with pytest.raises(pb.OracleError, match="not what a service"):
            pb.PriorBoostRegressor(rounds=4).fit(X, oracle=oracle, ids=ids)
    service.config = {"answer": "classes", "width": 3, "classes": ["a", "b", "c"]}
    with pytest.raises(pb.OracleError, match="answers with classes, 3 numbers a bag"):
        pb.PriorBoostRegressor(rounds=4).fit(X, oracle=oracle, ids=ids)
    service.config = {"lower": 3.0, "upper": 2.0}
    with pytest.raises(ValueError, match="bounds"):
        pb.PriorBoostRegressor(rounds=4).fit(X, oracle=oracle, ids=ids)
    assert not service.spent


def test_what_is_no_oracle_is_refused(table):
    X, _, ids = table
    for model in (pb.PriorBoostRegressor(), pb.PriorBoost(Ridge())):
        with pytest.raises(TypeError, match="oracle is 'https://labels"):
            model.fit(X, oracle="https://labels.example.org", ids=ids)


def test_a_token_that_others_can_read(table, oracle):
    X, _, ids = table
    oracle.token_file.chmod(0o640)
    with pytest.warns(UserWarning, match="other users can read") as caught:
        pb.PriorBoostRegressor(rounds=4).fit(X, oracle=oracle, ids=ids)
    assert caught[0].filename == __file__


# ---- Units ---------------------------------------------------------------------------------------


@pytest.fixture
def persons(table):
    """The unit of each row: 320 persons; 160 have four rows and 160 have one."""
    return [f"n{i % 160 if i < 640 else i}" for i in range(len(table[2]))]


@pytest.mark.parametrize(
    "learner", [pb.PriorBoostRegressor(rounds=4), pb.PriorBoost(Ridge(), rounds=4)]
)
def test_one_row_of_a_person_takes_part(serve, table, persons, learner, tmp_path):
    X, y, ids = table
    url, token = serve(ids, y, units=persons)
    oracle = pb.RemoteOracle(url, token, checkpoint=tmp_path / "c")
    with (
        pytest.warns(UserWarning, match=r"unit=\.\.\."),
        pytest.raises(pb.PrivacyError, match="unit-repeated"),
    ):  # all rows in one question: it is refused as a whole, and nothing is spent
        clone(learner).set_params(rounds=1).fit(X, oracle=pb.RemoteOracle(url, token), ids=ids)
    remote = clone(learner).fit(X, oracle=oracle, ids=ids, unit=persons)
    again = clone(learner).fit(X, oracle=oracle, ids=ids, unit=persons)
    assert remote.history_["rows"].sum() == 320
    assert oracle.available(ids).sum() == 0  # a person's other rows went with the one
    local = clone(learner).set_params(min_bag=4, bounds=(-20, 20))
    local.fit(X, y, ids=ids, unit=persons)
    assert remote.predict(X).tolist() == local.predict(X).tolist() == again.predict(X).tolist()


def test_persons_of_whom_no_row_is_left_are_left_out(serve, table, persons):
    X, y, ids = table
    url, token = serve(ids, y, units=persons)
    pb.PriorBoostRegressor(rounds=1).fit(
        X[:80], oracle=pb.RemoteOracle(url, token), ids=ids[:80], unit=persons[:80]
    )
    oracle = pb.RemoteOracle(url, token, skip_unavailable=True)
    model = pb.PriorBoostRegressor(rounds=1).fit(X, oracle=oracle, ids=ids, unit=persons)
    assert model.training_["rows_spent"] == 240


def test_it_is_a_plain_description(oracle):
    assert pickle.loads(pickle.dumps(oracle)) == oracle


def test_the_real_service(serve, table):
    X, y, ids = table
    url, token = serve(ids, y)
    oracle = pb.RemoteOracle(url, token_file=token)
    remote = pb.PriorBoostRegressor(rounds=4).fit(X, oracle=oracle, ids=ids)
    again = pb.PriorBoostRegressor(rounds=4).fit(X, oracle=oracle, ids=ids)
    assert not oracle.available(ids).any()
    local = pb.PriorBoostRegressor(min_bag=4, rounds=4, bounds=(-20, 20)).fit(X, y, ids=ids)
    assert remote.path_.tolist() == again.path_.tolist() == local.path_.tolist()
