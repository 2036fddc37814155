"""A service that holds the labels, and executors that die."""

import os

import cluster  # first: skips the rest where there is no Spark
import numpy as np
import pytest
from conftest import make_table
from spark_support import NAMES, D, frame_of

import priorboost as pb
import priorboost.spark as ps
from priorboost.heads import read_head
from priorboost.spark import asking, flow, stages

pytest_plugins = ["spark_support"]
pytestmark = pytest.mark.spark


# Last: the executors that come instead are slow at first.


@pytest.fixture(scope="module")
def table():
    X, y = make_table("linear", n=1000, d=D)
    return X, y, [f"p{i}" for i in range(len(X))]


@pytest.fixture
def service(serve, table):
    """Return the address and the token file of a real service that holds the labels."""
    return serve(table[2], table[1])


@pytest.fixture(scope="module")
def expected(table):
    X, y, ids = table
    return lambda rounds: pb.PriorBoostRegressor(
        4, method="paper", rounds=rounds, bounds=(-20, 20)
    ).fit(X, y, ids=ids)


def learner(service, rounds=2, **options):
    url, token = service
    return ps.PriorBoostRegressor(
        featuresCol=NAMES,
        oracleUrl=url,
        oracleTokenFile=token,
        rounds=rounds,
        numPartitions=2,
        **options,
    )


def test_a_service_that_dies(spark, table, service, monkeypatch, tmp_path):
    """Slices are made and questions are written; then nobody answers."""
    answers = flow.Run._answers

    def after_its_death(self, path, n):
        os.unlink(service[0].removeprefix("unix:"))
        return answers(self, path, n)

    monkeypatch.setattr(flow.Run, "_answers", after_its_death)
    estimator = learner(
        service, 1, askFrom="executors", oraclePatience=0.1, workDir=f"file://{tmp_path}/work"
    )
    with pytest.raises(pb.OracleError, match="no answer from unix:"):
        estimator.fit(frame_of(spark, table[0], *table[1:]))
    assert list((tmp_path / "work").iterdir()) == []


@pytest.mark.parametrize("kind", ["mean", "classes"])
def test_a_service_that_lies(monkeypatch, kind):
    """An answer to another question, about other bags, or bytes that are not an answer."""
    sizes, width = np.array([2, 1], np.uint32), {"mean": 1, "classes": 3}[kind]
    numbers = np.array({"mean": [0.5, 1.0], "classes": [1.0, 0, 1, 0, 1, 0]}[kind])
    head = {"mean": b"PBA1" + bytes(12), "classes": b"PBA2\0\0\1\0\2\0\0\0\3\0\0\0"}[kind]

    def told(change):
        def deliver(self, path, body, _):
            assert body[7] == (kind == "classes")
            name = body[16 : 16 + body[5]]
            reply = head.ljust(32, b"\0") + b"\5" * 32 + name + numbers.tobytes() + sizes.tobytes()
            return 200, change(reply)

        monkeypatch.setattr(asking.BulkSession, "deliver", deliver)
        session = asking.BulkSession.__new__(asking.BulkSession)
        session.head, session.kind, session.width = None, kind, width
        answers = session.ask(np.arange(3).tobytes(), None, sizes).tolist()
        assert session.head == "05" * 32
        return answers

    def put(at, some):
        return lambda reply: reply[:at] + some + reply[at + len(some) :]

    expected = {"mean": [0.5, 1.0], "classes": [[0.5, 0, 0.5], [0, 1, 0]]}[kind]
    assert told(lambda reply: reply) == expected
    for message, change in {
        "is not an answer to 2 bags": lambda reply: reply[:-1],
        "bytes is not an answer": put(0, b"HTML"),
        f"is none of {kind}, {width} numbers": put(6, b"\2"),
        f"none of {kind}, {width} numbers a bag": put(12, b"\7"),
        "another question": put(64, b"x"),
        "not finite": put(128, np.array([np.nan]).tobytes()),
        "other bags": put(128 + 16 * width, np.array([3], np.uint32).tobytes()),
    }.items():
        with pytest.raises(pb.OracleError, match=message):
            told(change)


def test_a_service_of_another_kind_is_refused(monkeypatch):
    """Before anything is asked: a model needs means or classes."""
    monkeypatch.setattr(asking._Session, "__init__", lambda *_: None)
    monkeypatch.setattr(asking._Session, "__exit__", lambda *_: None)
    for kind, config, message in (
        (
            "mean",
            {"answer": "classes", "width": 3},
            "with classes, 3 numbers a bag; .* needs means",
        ),
        ("classes", {"answer": "mean"}, "answers with mean; this model needs classes"),
    ):
        monkeypatch.setattr(asking._Session, "send", lambda *_, config=config: config)
        with pytest.raises(pb.OracleError, match=message):
            asking.Service.connect(pb.RemoteOracle("unix:/nowhere", "token"), kind)


def test_an_executor_dies_while_it_asks(spark, table, service, expected, monkeypatch, tmp_path):
    """Its question was answered and the answer was lost; a retry gets the same answer."""
    monkeypatch.setattr(stages, "ask", cluster.dying(stages.ask, str(tmp_path / "killed")))
    monkeypatch.setattr(asking, "_MOST_ROWS", 130)  # several questions a round
    model = learner(service, 1, askFrom="executors").fit(frame_of(spark, table[0], *table[1:]))
    assert (tmp_path / "killed").exists()
    assert np.abs(model.path - expected(1).path_).max() < 1e-6
    oracle = pb.RemoteOracle(*service)
    assert not oracle.available(table[2]).any()
    # A later fit shows the oracle its last head; a store that never had that head refuses.
    there = asking.Service.connect(oracle)
    assert there.head == read_head(service[1]) != None  # noqa: E711
    ids = "".join(table[2][:4]).encode(), bytes(map(len, table[2][:4])), np.array([4], np.uint32)
    for head, problem in ((there.head, "row-spent"), ("ab" * 32, "ledger-rollback")):
        with (
            asking.BulkSession(oracle, head) as session,
            pytest.raises(pb.PrivacyError, match=problem),
        ):
            session.ask(*ids)


def test_an_executor_dies_while_it_sorts_and_stages_are_repeated(
    spark, table, service, expected, monkeypatch, tmp_path
):
    make = cluster.dying(stages.arrange, str(tmp_path / "killed"))
    monkeypatch.setattr(stages, "arrange", make)
    answers = flow.Run._answers

    def twice(self, path, n):
        first, second = answers(self, path, n), answers(self, path, n)
        assert first.tolist() == second.tolist()
        return second

    monkeypatch.setattr(flow.Run, "_answers", twice)
    model = learner(service, 1, workDir=f"file://{tmp_path}/work").fit(
        frame_of(spark, table[0], *table[1:])
    )
    assert (tmp_path / "killed").exists()
    assert np.abs(model.path - expected(1).path_).max() < 1e-6
    # Nothing is left to ask about, and nothing of the run is left in its directory.
    with asking.Service.connect(pb.RemoteOracle(*service)).session() as session:
        ids = "".join(table[2][:4]).encode()
        with pytest.raises(pb.PrivacyError, match="row-spent"):
            session.ask(ids, bytes(map(len, table[2][:4])), np.array([4], np.uint32))
    assert list((tmp_path / "work").iterdir()) == []
