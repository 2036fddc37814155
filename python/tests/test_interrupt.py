"""Ctrl-C stops a fit."""

import os
import signal
import threading

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import priorboost as pb


@pytest.fixture(autouse=True)
def _listen():
    """A shell may have started the tests with the signal ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_while_c_works():
    """So many rounds take seconds; the signal comes at their beginning."""
    X = np.random.default_rng(0).normal(size=(400_000, 8))
    model = pb.PriorBoostRegressor(min_bag=2, rounds=200_000)
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, X[:, 0])
    finally:
        timer.cancel()
        timer.join()
    assert not hasattr(model, "coef_")


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
