"""One run of the C trainer: create, step round by round, copy what it gave, free.

The rounds are stepped from Python, so that Ctrl-C takes effect between two of them and progress can
be shown.  Everything that C borrows is held by local variables until the trainer is freed.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
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
class Settings:
    """How to train: the trainer's options, by the library's numbers."""

    algorithm: int
    bags: int
    schedule: int
    rounds: int
    bag_size: int  # 0: the oracle's min_bag
    seed: int
    threads: int
    family: int = _library.LINEAR
    prior_score: Array | None = None
    row_key: Array | None = None


class Progress:
    """A bar on standard error, in the manner of tqdm."""

    def __init__(self, rounds: int, verbose: int) -> None:
        self.rounds = rounds
        self.verbose = verbose

    def show(self, done: int) -> None:
        """Draw the bar after so many rounds."""
        if not self.verbose:
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
        settings: Settings,
        relay: Relay,
        x: _library.Matrix | None = None,
    ) -> None:
        options = _library.TrainerOptions(
            _TRAINER_SIZE,
            settings.algorithm,
            settings.bags,
            settings.schedule,
            settings.rounds,
            settings.bag_size,
            _library.address(settings.prior_score),
            settings.seed,
            _library.address(settings.row_key),
            False,
            settings.threads,
            None if x is None else ctypes.addressof(x),
            settings.family,
        )
        self._borrowed = (oracle, learner, settings, x)
        self.relay = relay
        self.rounds = settings.rounds
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
        """Return what the rounds did, one record each, to be read only."""
        size = self.rounds * _library.ROUND.itemsize
        return np.frombuffer(
            ctypes.string_at(lib.trainer_history(self.handle), size), _library.ROUND
        )


@dataclass
class GLMResult:
    """What training a generalised linear model gave."""

    path: Array  # by round: theta, then the intercept
    history: Array
    report: _library.FitReport
    covariance: Array | None  # of theta and, last, the intercept


def _covariance(glm: ctypes.c_void_p, n: int) -> Array | None:
    at = lib.glm_covariance(glm)
    return None if at is None else _library.copy_array(at, n * n, np.float64).reshape(n, n)


def train_glm(
    X: Array,
    offset: Array | None,
    fit: _library.FitOptions,
    oracle: _library.Oracle,
    settings: Settings,
    relay: Relay,
    verbose: int = 0,
    after_first: Callable[[Trainer, _library.Coef], None] | None = None,
) -> GLMResult:
    """Train a generalised linear model on X with the answers of the oracle.

    What a first round taught may change what the others ask for: `after_first` is called then.
    """
    d = X.shape[1]
    x = matrix(X)
    glm = ctypes.c_void_p()
    path = np.empty((settings.rounds, d + 1))
    row, width = path.__array_interface__["data"][0], path.strides[0]
    fit.struct_size = _FIT_SIZE
    _check(lib.glm_create, glm, x, None, _library.address(offset), fit)
    try:
        coef = lib.glm_coef(glm).contents  # the same place all along
        with Trainer(X.shape[0], oracle, lib.glm_learner(glm), settings, relay, x) as trainer:
            progress = Progress(settings.rounds, verbose) if verbose else None
            theta = coef.theta
            for t in range(settings.rounds):
                trainer.step()
                ctypes.memmove(row + t * width, theta, width - 8)
                path[t, d] = coef.intercept
                if progress is not None:
                    progress.show(t + 1)
                if t == 0 and settings.rounds > 1 and after_first is not None:
                    after_first(trainer, coef)
            report = _library.FitReport.from_buffer_copy(lib.glm_report(glm).contents)
            return GLMResult(path, trainer.history(), report, _covariance(glm, d + 1))
    finally:
        lib.glm_free(glm)


def _lend(X: Array, weights: Array, offset: Array | None) -> tuple[_library.Samples, _library.Coef]:
    """Describe rows and a model (its last weight is the intercept) for the library."""
    x = matrix(X)
    samples = _library.Samples(
        ctypes.addressof(x), None, X.shape[0], None, None, _library.address(offset)
    )
    samples.lent = x  # lives as long as they do
    coef = _library.Coef(weights.size - 1, _library.address(weights), float(weights[-1]))
    return samples, coef


def predict_mean(
    X: Array, family: int, weights: Array, offset: Array | None, threads: int
) -> Array:
    """Return the predicted mean response of every row; the last weight is the intercept."""
    samples, coef = _lend(X, weights, offset)
    out = np.empty(X.shape[0])
    _check(lib.predict, _library.address(out), family, samples, coef, threads)
    return out


def predict_interval(
    X: Array,
    family: int,
    weights: Array,
    covariance: Array,
    offset: Array | None,
    level: float,
    threads: int,
) -> tuple[Array, Array]:
    """Return between which values the mean response of every row lies."""
    samples, coef = _lend(X, weights, offset)
    spread = np.ascontiguousarray(covariance, dtype=np.float64)
    lower, upper = np.empty(X.shape[0]), np.empty(X.shape[0])
    _check(
        lib.predict_interval,
        _library.address(lower),
        _library.address(upper),
        family,
        samples,
        coef,
        _library.address(spread),
        level,
        threads,
    )
    return lower, upper
