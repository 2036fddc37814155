"""Ctrl-C stops a fit, wherever it is, and soon."""

import gc
import os
import signal
import threading
import time

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import priorboost as pb
from priorboost import bags, glm, planner


@pytest.fixture(autouse=True)
def _listen():
    """A shell may have started the tests with the signal ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


class Interruption:
    """Press Ctrl-C after this many seconds; return how long the fit took to stop."""

    def __init__(self, seconds):
        self.timer = threading.Timer(seconds, self._strike)

    def _strike(self):
        self.struck = time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)

    def __enter__(self):
        self.timer.start()
        return self

    def __exit__(self, *_):
        self.latency = time.monotonic() - getattr(self, "struck", np.inf)
        self.timer.cancel()
        self.timer.join()


@pytest.fixture(scope="module")
def table():
    X = np.random.default_rng(0).normal(size=(600_000, 8))
    return X, X[:, 0] + np.sin(X[:, 1])


ONE = {"method": "paper", "rounds": 1, "estimator": "aggregate"}


@pytest.mark.parametrize(
    "parameters",
    [
        {"method": "paper", "rounds": 200_000, "min_bag": 2},
        {**ONE, "bags": "features", "min_bag": 4},
        {**ONE, "bags": "random", "l2": "cv", "min_bag": 2},
        {
            "method": "paper",
            "rounds": 50_000,
            "verbose": 1,
            "min_bag": 2,
            "estimator": "interpolated",
        },
        {"min_bag": 2, "epsilon": 1, "bounds": (-9, 9)},
    ],
    ids=["rounds", "tree", "solver", "steps", "plan"],
)
def test_while_c_works(table, parameters):
    """Each of these takes seconds; the signal comes at the beginning."""
    X, y = table
    model = pb.PriorBoostRegressor(**parameters)
    with Interruption(0.15) as interruption, pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert interruption.latency < 5.0  # of a whole fit that takes longer; no measurement
    assert not hasattr(model, "coef_")


def test_while_c_works_with_an_oracle(table):
    X, y = table
    oracle = pb.InMemoryOracle(y, 2)
    with Interruption(0.15) as interruption, pytest.raises(KeyboardInterrupt):
        pb.PriorBoostRegressor(method="paper", rounds=200_000).fit(X, oracle=oracle)
    assert interruption.latency < 5.0


def test_the_fit_after_the_answers_looks_whether_to_stop(monkeypatch):
    asked = []

    class Quick(pb.Oracle):
        min_bag = 2

        def ask(self, round, bags):
            asked.append(round)
            return np.zeros(len(bags))

    class Impatient(glm.Relay):
        def _should_stop(self, _):
            if asked:
                self.error = KeyboardInterrupt()
            return bool(asked)

    monkeypatch.setattr(glm, "Relay", Impatient)
    with pytest.raises(KeyboardInterrupt):
        pb.PriorBoostRegressor(rounds=1).fit(np.eye(20), oracle=Quick())


def test_a_signal_between_two_calls_is_not_lost():
    with pytest.raises(KeyboardInterrupt), bags.Relay():
        signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize(
    "work",
    [
        lambda X: pb.plan(X, 2, family="poisson", max_rows=len(X)),
        lambda X: pb.feature_bags(X, 2),
    ],
    ids=["plan", "tree"],
)
def test_pieces_can_be_stopped(table, work):
    with Interruption(0.15) as interruption, pytest.raises(KeyboardInterrupt):
        work(table[0])
    assert interruption.latency < 5.0


@pytest.mark.parametrize(
    ("module", "work"),
    [(planner, lambda X: pb.plan(X, 2)), (bags, lambda X: pb.feature_bags(X, 2))],
    ids=["plan", "tree"],
)
def test_pieces_look_whether_to_stop(monkeypatch, module, work):
    class Impatient(module.Relay):
        def _should_stop(self, _):
            self.error = KeyboardInterrupt()
            return True

    monkeypatch.setattr(module, "Relay", Impatient)
    with pytest.raises(KeyboardInterrupt):
        work(np.random.default_rng(0).normal(size=(200, 2)))


def test_what_was_made_when_the_signal_came_is_freed(monkeypatch):
    """The signal comes when the call has succeeded, so nobody will ask for what it gave."""
    freed = []
    release = bags.lib.bags_free
    monkeypatch.setattr(bags.lib, "bags_free", lambda b: (freed.append(bool(b.row)), release(b)))

    class Late(bags.Relay):
        def check(self, function, *arguments):
            super().check(function, *arguments)
            raise KeyboardInterrupt

    monkeypatch.setattr(bags, "Relay", Late)
    with pytest.raises(KeyboardInterrupt):
        pb.feature_bags(np.random.default_rng(0).normal(size=(50, 2)), 2)
    assert freed == [True]


def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_fits_hold_on_to_no_memory(table):
    X, y = table[0][:100_000], table[1][:100_000]
    model = pb.PriorBoostRegressor(rounds=2, min_bag=2)
    for _ in range(3):
        model.fit(X, y)
    before = resident()
    for _ in range(12):
        model.fit(X, y)
    assert resident() - before < X.nbytes  # each fit needs a good part of that for itself


def test_nothing_is_left_behind(table):
    """The same fit, stopped again and again, holds on to no memory of the library."""
    X, y = table[0][:200_000], table[1][:200_000]

    def stopped():
        with Interruption(0.05), pytest.raises(KeyboardInterrupt):
            pb.PriorBoostRegressor(method="paper", rounds=60_000, min_bag=2).fit(X, y)

    for _ in range(3):
        stopped()
    before = resident()
    for _ in range(8):
        stopped()
    # Each fit needs more than X for itself; that of one may stay with the allocator.
    assert resident() - before < 4 * X.nbytes


def test_while_a_callback_runs():
    class Interrupted(Ridge):
        def predict(self, X):
            signal.raise_signal(signal.SIGINT)
            return super().predict(X)

    X = np.random.default_rng(0).normal(size=(400, 2))
    model = pb.PriorBoost(Interrupted(), rounds=2)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, X[:, 0])
    assert not hasattr(model, "estimator_")


def test_while_an_oracle_waits():
    class Slow(pb.Oracle):
        min_bag = 2

        def ask(self, round, bags):
            time.sleep(60.0)

    X = np.random.default_rng(0).normal(size=(400, 2))
    with Interruption(0.1) as interruption, pytest.raises(KeyboardInterrupt):
        pb.PriorBoostRegressor(rounds=2).fit(X, oracle=Slow())
    assert interruption.latency < 30.0


def test_as_a_callback_begins():
    """A signal that waited while C worked is not lost at the door of a callback."""

    class Quick(pb.Oracle):
        min_bag = 2

        def ask(self, round, bags):
            return np.zeros(len(bags))

    X = np.random.default_rng(0).normal(size=(2_000, 2))

    def fit_on_and_on():
        for _ in range(1000):
            pb.PriorBoostRegressor(method="paper", rounds=1000).fit(X, oracle=Quick())

    for seconds in np.linspace(0.01, 0.1, 6):
        with Interruption(seconds), pytest.raises(KeyboardInterrupt):
            fit_on_and_on()


def test_a_handler_that_does_not_raise_does_not_stop():
    heard = []
    signal.signal(signal.SIGINT, lambda *_: heard.append(1))
    X = np.random.default_rng(0).normal(size=(200_000, 4))
    try:
        with Interruption(0.02):
            for _ in range(20):
                pb.PriorBoostRegressor(method="paper", rounds=16).fit(X, X[:, 0])
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    assert heard == [1]


def test_elsewhere_than_in_the_main_thread():
    X = np.random.default_rng(0).normal(size=(200_000, 2))
    fitted = []
    thread = threading.Thread(
        target=lambda: fitted.append(
            pb.PriorBoostRegressor(method="paper", rounds=2).fit(X, X[:, 0])
        )
    )
    thread.start()
    thread.join()
    assert fitted[0].coef_.shape == (2,)
