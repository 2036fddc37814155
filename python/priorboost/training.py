"""One run of the C trainer: create, step round by round, copy what it gave, free.

The rounds are stepped from Python, so that Ctrl-C takes effect between two of them and progress can
be shown.  Everything that C borrows is held by local variables until the trainer is freed.
"""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _library
from ._library import _check, lib
from .data import Array, matrix
from .oracle import Relay

_TRAINER_SIZE = ctypes.sizeof(_library.TrainerOptions)
_FIT_SIZE = ctypes.sizeof(_library.FitOptions)


@dataclass
class Plan:
    """How to train: the trainer's options, by the library's numbers."""

    algorithm: int
    bags: int
    schedule: int
    rounds: int
    bag_size: int  # 0: the oracle's min_bag
    seed: int
    threads: int
    prior_score: Array | None = None
    row_key: Array | None = None


class Progress:
    """A bar on standard error, in the manner of tqdm."""

    def __init__(self, rounds: int, verbose: int) -> None:
        self.rounds = rounds
        self.on = bool(verbose)

    def show(self, done: int) -> None:
        """Draw the bar after so many rounds."""
        if not self.on:
            return
        filled = 30 * done // self.rounds
        bar = "#" * filled + "." * (30 - filled)
        end = "\n" if done == self.rounds else ""
        sys.stderr.write(f"\rpriorboost: {done}/{self.rounds} rounds [{bar}]{end}")
        sys.stderr.flush()


class Trainer:
    """Owns a ``pboost_trainer``; use it in a with statement."""

    def __init__(
        self,
        n_rows: int,
        oracle: _library.Oracle,
        learner: _library.Learner,
        plan: Plan,
        relay: Relay,
    ) -> None:
        options = _library.TrainerOptions(
            _TRAINER_SIZE,
            plan.algorithm,
            plan.bags,
            plan.schedule,
            plan.rounds,
            plan.bag_size,
            _library.address(plan.prior_score),
            plan.seed,
            _library.address(plan.row_key),
            False,
            plan.threads,
        )
        self._borrowed = (oracle, learner, plan)
        self.relay = relay
        self.rounds = plan.rounds
        self.handle = ctypes.c_void_p()
        _check(lib.trainer_create, self.handle, n_rows, oracle, learner, options)

    def __enter__(self) -> Trainer:
        return self

    def __exit__(self, *_: Any) -> None:
        lib.trainer_free(self.handle)

    def step(self) -> None:
        """Run one round: score, bag, ask, fit."""
        self.relay.check(lib.trainer_step, self.handle)

    def history(self) -> Array:
        """Return what the rounds did, one record each."""
        return _library.copy_array(lib.trainer_history(self.handle), self.rounds, _library.ROUND)


@dataclass
class GLMResult:
    """What training a generalised linear model gave."""

    path: Array  # by round: theta, then the intercept
    history: Array
    report: _library.FitReport
    covariance: Array | None  # of theta and, last, the intercept


def train_glm(
    X: Array,
    offset: Array | None,
    fit: _library.FitOptions,
    oracle: _library.Oracle,
    plan: Plan,
    relay: Relay,
    verbose: int = 0,
) -> GLMResult:
    """Train a generalised linear model on X with the answers of the oracle."""
    d = X.shape[1]
    x = matrix(X)
    glm = ctypes.c_void_p()
    path = np.empty((plan.rounds, d + 1))
    at, width = path.__array_interface__["data"][0], path.strides[0]
    fit.struct_size = _FIT_SIZE
    _check(lib.glm_create, glm, x, None, _library.address(offset), fit)
    try:
        coef = lib.glm_coef(glm).contents  # the same place all along
        with Trainer(X.shape[0], oracle, lib.glm_learner(glm), plan, relay) as trainer:
            progress = Progress(plan.rounds, verbose)
            for t in range(plan.rounds):
                trainer.step()
                ctypes.memmove(at + t * width, coef.theta, width - 8)
                path[t, d] = coef.intercept
                progress.show(t + 1)
            report = _library.FitReport.from_buffer_copy(lib.glm_report(glm).contents)
            return GLMResult(path, trainer.history(), report, None)
    finally:
        lib.glm_free(glm)


def predict_mean(
    X: Array, family: int, theta: Array, intercept: float, offset: Array | None, threads: int
) -> Array:
    """Return the predicted mean response of every row."""
    x = matrix(X)
    weights = np.ascontiguousarray(theta, dtype=np.float64)
    samples = _library.Samples(
        ctypes.pointer(x), None, X.shape[0], None, None, _library.address(offset)
    )
    coef = _library.Coef(weights.size, _library.address(weights), intercept)
    out = np.empty(X.shape[0])
    _check(lib.predict, _library.address(out), family, samples, coef, threads)
    return out
