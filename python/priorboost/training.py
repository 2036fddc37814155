"""Runs of the C trainer: create, run the rounds, copy the results, free.

Everything that C borrows is held by local variables until the trainer is freed.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from . import _library
from ._library import _check, address, block, copy_array, lib, matrix
from .bags import Bags
from .data import Array, choose_rows
from .options import name_of
from .relay import Relay

_ALL = 2**63 - 1
_F64, _ROUND, _Outcome = np.dtype(np.float64), _library.ROUND, _library.Outcome
_REPORT_SIZE, _ROUND_SIZE = ctypes.sizeof(_library.FitReport), _ROUND.itemsize
_WITH_COVARIANCE = (_library.AGGREGATE, _library.ESTIMATOR_CV)
_UNKNOWN = 1  # found: there may be some
# Cells of X from which a run is watched for Ctrl-C; less takes a few milliseconds.
WATCHED_CELLS = 1 << 17


class Settings(_library.TrainerOptions):
    """How to train: the trainer's options, and what they borrow."""

    rounds: int
    lent: tuple[Any, ...] = ()

    def default_rounds(self, n_rows: int, n_features: int, min_bag: int) -> None:
        """Set the number of rounds, if it was not given."""
        if self.rounds == 0:
            self.rounds = lib.rounds_default(n_rows, n_features, self.bag_size or min_bag)

    def lend(self, prior_score: Array | None, row_key: Array | None) -> None:
        """Set a prior's scores and the keys of the shuffle, by row; None: none."""
        self.prior_score, self.row_key = address(prior_score), address(row_key)
        self.lent = (prior_score, row_key)

    def begin(self, oracle: _library.Oracle, relay: Relay) -> None:
        """Let the relay stop the training, and keep bags within the rows of each of several."""
        self.cancel = ctypes.addressof(relay.cancel)
        self.divided = getattr(oracle, "part", None)
        self.part, self.parts = address(self.divided), getattr(oracle, "parts", 0)


class Progress:
    """A bar on standard error, in the manner of tqdm."""

    def __init__(self, rounds: int, verbose: int) -> None:
        self.rounds = rounds
        self.verbose = verbose

    def show(self, done: int) -> None:
        """Draw the bar after this many rounds."""
        if not self.verbose:
            return
        filled = 30 * done // self.rounds
        bar = "#" * filled + "." * (30 - filled)
        end = "\n" if done == self.rounds else ""
        sys.stderr.write(f"\rpriorboost: {done}/{self.rounds} rounds [{bar}]{end}")
        sys.stderr.flush()


class Trainer:
    """Owns a ``pboost_trainer`` for a learner in Python; use it in a with statement."""

    def __init__(
        self,
        n_rows: int,
        oracle: _library.Oracle,
        learner: _library.Learner,
        settings: Settings,
        relay: Relay,
    ) -> None:
        self._borrowed = (oracle, learner, settings, relay)
        self.relay = relay
        self.rounds = settings.rounds
        self.handle = ctypes.c_void_p()
        settings.begin(oracle, relay)
        _check(lib.trainer_create, self.handle, n_rows, oracle, learner, settings)

    def __enter__(self) -> Trainer:
        return self

    def __exit__(self, *_: Any) -> None:
        lib.trainer_free(self.handle)

    def recall(self, bags: Bags) -> None:
        """Make the next round ask about the bags of an earlier start of this training."""
        self.relay.check(lib.trainer_recall, self.handle, bags._borrow())

    def step(self) -> None:
        """Run one round: score, bag, ask, fit."""
        self.relay.check(lib.trainer_step, self.handle)

    def history(self) -> Array:
        """Return what the rounds did, one record each."""
        return copy_array(lib.trainer_history(self.handle), self.rounds, _library.ROUND)


# ---- Generalised linear models -------------------------------------------------------------------


class Table:
    """What the learner has: features and, by row, what else belongs to them."""

    labels: Array | None = None  # if they are in this process
    weight: Array | None = None
    offset: Array | None = None
    prior: Array | None = None  # what a prior predicts
    keys: Array | None = None  # key of a row in the shuffle
    unit: Array | None = None  # number of the row's unit
    ids: list[str] | None = None
    given: Array | None = None  # X before it was scaled
    encoding: Any = None  # how it was made from the columns of a data frame
    columns: list[str] | None = None  # names
    category_of: Array | None = None  # by column: its category, as pboost_fit_options has it
    curve_of: Array | None = None  # by column of a curve, which are the last: its curve
    sources: Any = None  # the columns as trees take them; None: no trees are fitted

    def __init__(self, X: Array) -> None:
        self.X = X

    @property
    def straight(self) -> Array:
        """X without the columns of curves: what bags are made from."""
        return self.X if self.curve_of is None else self.X[:, : -len(self.curve_of)]

    def share(self, fit: _library.FitOptions) -> None:
        """Tell a fit which columns are levels of the same category."""
        fit.category_of = address(self.category_of)

    def bend(self, fit: _library.FitOptions) -> Array | None:
        """Tell a fit of categories and curves; return where it writes degrees of freedom."""
        self.share(fit)
        if self.curve_of is None:
            return None
        freedom = np.zeros(int(self.curve_of[-1]) + 1)
        fit.curves = len(self.curve_of)
        fit.curve_of, fit.curve_freedom = address(self.curve_of), address(freedom)
        return freedom

    def lend(self) -> _library.Features:
        """Describe for the library what the learner has."""
        return _library.features(self.X, self.weight, self.offset)

    def take(self, rows: Array | None) -> Table:
        """Return rows in this order (None: all): one of each unit, where rows have one."""
        rows = choose_rows(self.X.shape[0], rows, self.unit, self.keys)
        if rows is None:
            return self
        out = Table(self.X[rows])
        for name in ("labels", "weight", "offset", "prior", "keys", "unit"):
            values = getattr(self, name)
            setattr(out, name, None if values is None else values[rows])
        out.ids = None if self.ids is None else [self.ids[i] for i in rows]
        out.category_of, out.curve_of = self.category_of, self.curve_of
        out.sources = None if self.sources is None else self.sources.take(rows)
        return out


class GLMResult:
    """The result of training a generalised linear model.

    C writes it into one block of memory: report, history, path and, where there may be one, the
    covariance.  Python's views of it are made when they are first used.
    """

    record: dict[str, Any]  # how the model was trained, as far as it is known before
    one_row_bags = 0  # among those that were given
    limits: tuple[Array, Array] | None = None  # of the columns
    method = "paper"
    plan: Any = None
    encoding: Any = None  # how the columns of a data frame became those that were fitted
    names: dict[str, str]  # of the columns that were labels, ids, ...
    warnings: tuple[str, ...] = ()
    sample_warnings: tuple[str, ...] = ()  # about given rows
    assumptions: tuple[str, ...] = ()  # about given bags
    class_shift = 0.0
    curve_freedom: Array | None = None  # by curve
    members: tuple[Any, ...] = ()  # of a model that is no GLM
    trees: Any = None  # report about them
    worse_left_out = False  # a constant predicts bags left out of a mixture's fits better
    sparse = False  # it was fitted to sparse rows

    def __init__(self, n_rows: int, rounds: int, n: int, estimator: int) -> None:
        """Make room for rounds models of n weights, the intercept's included."""
        path_at = _REPORT_SIZE + _ROUND_SIZE * rounds
        end = square_at = path_at + 8 * n * rounds
        if estimator in _WITH_COVARIANCE:
            end += 8 * n * n
        self._size = n_rows, rounds, n, estimator
        self._memory = memory = block(end)()
        begin = ctypes.addressof(memory)
        self.outcome = _Outcome(
            begin,
            begin + _REPORT_SIZE,
            begin + path_at,
            begin + square_at if end > square_at else None,
            _UNKNOWN,
        )

    def _array(self, shape: Any, dtype: Any, begin: int) -> Array:
        return np.ndarray(shape, dtype, self._memory, begin - self.outcome.report)

    @cached_property
    def report(self) -> _library.FitReport:
        """The report of the last fit."""
        return _library.FitReport.from_buffer(self._memory)

    @cached_property
    def usable(self) -> bool:
        """Whether the last fit may be used: the library decides."""
        weights = self.path[-1]
        coef = _library.Coef(len(weights) - 1, address(weights), weights[-1])
        fitted = _library.Fitted(ctypes.pointer(self.report), None, None, ctypes.pointer(coef))
        return bool(lib.fit_usable(fitted))

    @cached_property
    def history(self) -> Array:
        """What each round did."""
        return self._array(self._size[1], _ROUND, self.outcome.history)

    @cached_property
    def path(self) -> Array:
        """By round: theta, then the intercept."""
        return self._array(self._size[1:3], _F64, self.outcome.path)

    @cached_property
    def covariance(self) -> Array | None:
        """The covariance of theta and, last, the intercept; None where the estimator has none."""
        if self.report.estimator != _library.AGGREGATE or not self.outcome.covariance:
            return None
        n = self._size[2]
        return self._array((n, n), _F64, self.outcome.covariance)

    @cached_property
    def training(self) -> dict[str, Any]:
        """How the model was trained, as in the model file."""
        n_rows, rounds, _, _ = self._size
        return self.record | {
            "estimator": name_of("estimator", self.report.estimator),  # it may have been chosen
            "rounds": rounds,
            "rows_spent": n_rows,
            "l2": self.report.l2,
        }

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave out what is only a view of the memory."""
        views = ("_size", "_memory", "outcome", "report", "usable", "history", "path", "covariance")
        state = {name: value for name, value in vars(self).items() if name not in views}
        return GLMResult._of, (self._size, bytes(self._memory), state)

    @classmethod
    def _of(cls, size: tuple[int, int, int, int], memory: bytes, state: dict[str, Any]) -> Any:
        out = cls(*size)
        ctypes.memmove(out._memory, memory, len(memory))
        vars(out).update(state)
        return out


class Run:
    """Owns a ``pboost_run``; use it in a with statement."""

    __slots__ = ("_borrowed", "_estimator", "_relay", "run")

    def __init__(
        self,
        table: Table,
        fit: _library.FitOptions,
        oracle: _library.Oracle,
        settings: Settings,
        relay: Relay,
    ) -> None:
        features = table.lend()
        settings.begin(oracle, relay)
        fit.cancel = settings.cancel
        self._estimator = fit.estimator
        self._borrowed = (table, oracle, settings, features)
        self._relay = relay
        self.run = ctypes.c_void_p()
        try:
            relay.check(lib.run_create, self.run, features, oracle, fit, settings)
        except BaseException:  # Ctrl-C may come out of a call that has succeeded
            lib.run_free(self.run)
            raise

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: Any) -> None:
        lib.run_free(self.run)

    @property
    def handle(self) -> ctypes.c_void_p:
        """The trainer, as in `Trainer`."""
        return ctypes.c_void_p(lib.run_trainer(self.run))

    @property
    def coef(self) -> _library.Coef:
        """The model after the rounds so far."""
        coef: _library.Coef = lib.run_coef(self.run).contents
        return coef

    @property
    def done(self) -> int:
        """How many rounds there have been."""
        return int(lib.trainer_rounds_done(self.handle))

    def recall(self, bags: Bags) -> None:
        """Make the next round ask about the bags of an earlier start of this training."""
        self._relay.check(lib.trainer_recall, self.handle, bags._borrow())

    def rounds(self, n: int = _ALL) -> None:
        """Run this many rounds, or as many as are left."""
        self._relay.check(lib.run_rounds, self.run, n)

    def result(self) -> GLMResult:
        """Copy what the rounds have given."""
        n_rows, d = self._borrowed[0].X.shape
        result = GLMResult(n_rows, self.done, d + 1, self._estimator)
        lib.run_outcome(result.outcome, self.run)
        return result


def simulate(table: Table, how: _library.Simulation, rounds: int, estimator: int) -> GLMResult:
    """Train on labels in this process, all rounds in one call.

    What is said in `how` is only read: others may be training by it.
    """
    n_rows, d = table.X.shape
    result = GLMResult(n_rows, rounds, d + 1, estimator)
    features, labels = table.lend(), address(table.labels)
    if table.X.size < WATCHED_CELLS:
        _check(lib.simulate, result.outcome, features, labels, how)
        return result
    with Relay() as relay:
        how = _library.Simulation.from_buffer_copy(how)
        how.fit.cancel = how.trainer.cancel = ctypes.addressof(relay.cancel)
        relay.check(lib.simulate, result.outcome, features, labels, how)
    return result


def train_glm(
    table: Table,
    fit: _library.FitOptions,
    oracle: _library.Oracle,
    settings: Settings,
    relay: Relay,
    verbose: int = 0,
    after_first: Callable[[Any, _library.Coef], None] | None = None,
    fit_trees: Callable[[GLMResult, Table, Any, Relay], None] | None = None,
) -> GLMResult:
    """Train a generalised linear model with the answers of the oracle.

    What is learnt from a first round may change how the others ask: `after_first` is called then,
    with the run and the model so far.  `fit_trees` gets the result and the answers of all
    rounds.  An oracle written in Python and the training share the relay, which has been entered.
    """
    recall = getattr(oracle, "recall", lambda _: None)
    pilot = after_first is not None and settings.rounds > 1
    with Run(table, fit, oracle, settings, relay) as run:
        progress = Progress(settings.rounds, verbose)
        while run.done < settings.rounds:
            bags = recall(run.done)
            if bags is not None:
                run.recall(bags)
            by_one = bags is not None or verbose or (pilot and run.done == 0)
            run.rounds(1 if by_one else _ALL)
            progress.show(run.done)
            if after_first is not None and pilot and run.done == 1:
                after_first(run, run.coef)
        result = run.result()
        if fit_trees is not None:
            fit_trees(result, table, lib.trainer_answers(run.handle), relay)
        return result


def fit_given(
    table: Table,
    answers: ctypes.c_void_p,
    fit: _library.FitOptions,
    fit_trees: Callable[[GLMResult, Table, Any, Relay], None] | None = None,
) -> GLMResult:
    """Fit given answers: no oracle, no rounds."""
    n_rows, d = table.X.shape
    result = GLMResult(n_rows, 1, d + 1, fit.estimator)
    to = result.outcome
    coef = _library.Coef(d, to.path, 0.0)
    with Relay() as relay:
        fit.cancel = ctypes.addressof(relay.cancel)
        relay.check(
            lib.answers_fit,
            coef,
            result.report,
            to.covariance,
            table.lend(),
            answers,
            0,
            fit,
        )
        if fit_trees is not None:
            fit_trees(result, table, answers, relay)
    result.path[0, d] = coef.intercept
    bags = lib.answers_bags(answers)
    result.history[0] = 1, 1, bags.n_rows, bags.n_bags, np.nan, np.nan
    return result


# ---- Prediction ----------------------------------------------------------------------------------


def _lend(X: Array, weights: Array, offset: Array | None) -> tuple[_library.Samples, _library.Coef]:
    """Describe rows and a model (its last weight is the intercept) for the library."""
    x = matrix(X)
    samples = _library.Samples(ctypes.addressof(x), None, X.shape[0], None, None, address(offset))
    samples.lent = x  # lives as long as they do
    coef = _library.Coef(weights.size - 1, address(weights), float(weights[-1]))
    return samples, coef


def predict_mean(
    X: Array, family: int, weights: Array, offset: Array | None, threads: int
) -> Array:
    """Return the predicted mean response of every row; the last weight is the intercept."""
    if not isinstance(X, np.ndarray):
        from .sparse import lend_sparse, predict_sparse

        return predict_sparse(lend_sparse(X), family, weights, offset, threads)
    samples, coef = _lend(X, weights, offset)
    out = np.empty(X.shape[0])
    _check(lib.predict, address(out), family, samples, coef, threads)
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
    """Return a confidence interval of the mean response of every row."""
    samples, coef = _lend(X, weights, offset)
    spread = np.ascontiguousarray(covariance, dtype=np.float64)
    lower, upper = np.empty(X.shape[0]), np.empty(X.shape[0])
    _check(
        lib.predict_interval,
        address(lower),
        address(upper),
        family,
        samples,
        coef,
        address(spread),
        level,
        threads,
    )
    return lower, upper
