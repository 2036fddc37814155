"""Sparse rows: matrices of SciPy without a copy, their training, and models that hash columns.

float32 and float64 values with int32 indices are passed to the library as they are.  int64
indices, which SciPy makes for more than 2^31 entries, are copied to 32 bits; their row pointers
are not.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils import check_array

from . import _library
from ._library import _check, address, lib
from .data import Array, remember_columns
from .encoding import LentTable
from .relay import Relay
from .tables import as_category, as_number, cells_of
from .training import GLMResult, Progress, Settings, Table, Trainer

PAPER_ROUNDS = 4  # as the command line's
SKETCH_DIMS = 16  # PBOOST_SKETCH_DIMS
TOLERANCE = 1e-9  # PBOOST_WIDE_OPTIONS_INIT

# Parameters that sparse rows do not have, and what they may be.
_ONLY = {
    "model": ("glm",),
    "estimator": (None, "event", "aggregate"),
    "covariance": ("model",),
    "standardize": (False,),
    "winsorize": (None,),
    "formula": (None,),
}


def is_sparse(X: Any) -> bool:
    """Whether X is a sparse matrix or array of SciPy."""
    return hasattr(X, "tocsr") and hasattr(X, "nnz")


def refuse_parameters(estimator: Any) -> None:
    """Refuse what only dense features can have."""
    for name, allowed in _ONLY.items():
        value = getattr(estimator, name)
        if value not in allowed:
            words = " or ".join(repr(word) for word in allowed)
            raise ValueError(f"{name} is {value!r}, but X is sparse; it must be {words}")


def sparse_rows(estimator: Any, X: Any, *, reset: bool = False, min_rows: int = 1) -> Any:
    """Return X in CSR with ascending columns, each once in a row; not a copy, if it is that."""
    csr = check_array(
        X,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        accept_large_sparse=True,
        ensure_min_samples=min_rows,
        estimator=estimator,
        input_name="X",
    )
    if estimator is not None:
        remember_columns(estimator, X, reset)
    if not csr.has_canonical_format:
        csr = csr.copy() if csr is X else csr
        csr.sum_duplicates()
    return csr


def lend_sparse(X: Any) -> _library.Sparse:
    """Describe CSR rows for the library; they must outlive the description."""
    indices, pointers = X.indices, X.indptr
    if indices.itemsize != 4:
        if X.shape[1] > 2**32:
            raise ValueError(f"X has {X.shape[1]} columns; it must have 2^32 or fewer")
        indices = indices.astype(np.uint32)
    out = _library.Sparse(
        X.shape[0],
        X.shape[1],
        address(pointers),
        pointers.itemsize,
        _library.F32 if X.data.itemsize == 4 else _library.F64,
        address(indices),
        address(X.data),
    )
    out.lent = (X, indices, pointers)
    return out


def predict_sparse(
    x: _library.Sparse, family: int, weights: Array, offset: Array | None, threads: int
) -> Array:
    """Return the predicted mean response of every row; the last weight is the intercept."""
    samples = _library.WideSamples(ctypes.pointer(x), None, x.rows, None, None, address(offset))
    coef = _library.Coef(weights.size - 1, address(weights), float(weights[-1]))
    out = np.empty(x.rows)
    _check(lib.wide_predict, address(out), family, samples, coef, threads)
    return out


# ---- Training ------------------------------------------------------------------------------------


def _features(table: Table) -> _library.WideFeatures:
    x = lend_sparse(table.X)
    out = _library.WideFeatures(x, address(table.weight), address(table.offset))
    out.lent = (x, table)
    return out


def _result(table: Table, rounds: int) -> GLMResult:
    n_rows, d = table.X.shape
    return GLMResult(n_rows, rounds, d + 1, _library.EVENT)  # without room for a covariance


def _take(result: GLMResult, at: int, coef: _library.Coef, report: _library.FitReport) -> None:
    """Copy the model after round `at`, and the report of its fit."""
    path = result.path[at]
    ctypes.memmove(address(path), coef.theta, 8 * coef.n)
    path[-1] = coef.intercept
    ctypes.memmove(result.outcome.report, ctypes.addressof(report), ctypes.sizeof(report))


def choose(settings: Settings, fit: _library.FitOptions, bags: Any, automatic: bool) -> None:
    """Set what the parameters leave open, as the command line does."""
    fit.tolerance = TOLERANCE
    if bags is None and automatic:
        settings.bags = _library.BAGS_FEATURES
    scored = settings.bags in (_library.BAGS_PRIOR, _library.BAGS_HYBRID)
    if settings.rounds == 0:
        settings.rounds = PAPER_ROUNDS if scored or not automatic else 1


def _sketch(X: Any, x: _library.Sparse, settings: Settings, relay: Relay) -> Any:
    """Return what bags from features are made from, and its description."""
    if settings.bags not in (_library.BAGS_FEATURES, _library.BAGS_HYBRID):
        return None
    out = np.empty((X.shape[0], SKETCH_DIMS), dtype=np.float32)
    how = SKETCH_DIMS, settings.seed, settings.threads, ctypes.byref(relay.cancel)
    relay.check(lib.sparse_sketch, address(out), x, *how)
    return out, _library.matrix(out)


def train_sparse(
    table: Table,
    fit: _library.FitOptions,
    oracle: _library.Oracle,
    settings: Settings,
    relay: Relay,
    verbose: int = 0,
) -> GLMResult:
    """Train on sparse rows with the answers of the oracle, round by round."""
    features = _features(table)
    recall = getattr(oracle, "recall", lambda _: None)
    sketch = _sketch(table.X, features.x, settings, relay)
    settings.x = None if sketch is None else ctypes.addressof(sketch[1])
    fit.cancel = ctypes.addressof(relay.cancel)
    handle = ctypes.c_void_p()
    relay.check(lib.wide_create, handle, features, None, fit)
    try:
        learner, progress = lib.wide_learner(handle), Progress(settings.rounds, verbose)
        result = _result(table, settings.rounds)
        with Trainer(table.X.shape[0], oracle, learner, settings, relay) as trainer:
            for t in range(settings.rounds):
                bags = recall(t)
                if bags is not None:
                    trainer.recall(bags)
                trainer.step()
                _take(result, t, lib.wide_coef(handle).contents, lib.wide_report(handle).contents)
                progress.show(t + 1)
            result.history[:] = trainer.history()
    finally:
        lib.wide_free(handle)
    return result


def fit_given_sparse(table: Table, answers: ctypes.c_void_p, fit: _library.FitOptions) -> GLMResult:
    """Fit given answers: no oracle, no rounds."""
    features = _features(table)
    result, d = _result(table, 1), table.X.shape[1]
    coef = _library.Coef(d, result.outcome.path, 0.0)
    fit.tolerance = TOLERANCE
    _check(lib.sparse_check, features.x, fit.threads)
    with Relay() as relay:
        fit.cancel = ctypes.addressof(relay.cancel)
        relay.check(lib.wide_answers_fit, coef, result.report, features, answers, 0, fit)
    result.path[0, d] = coef.intercept
    bags = lib.answers_bags(answers)
    result.history[0] = 1, 1, bags.n_rows, bags.n_bags, np.nan, np.nan
    return result


# ---- Model files ---------------------------------------------------------------------------------


@dataclass
class HashedColumn:
    """A column that is hashed; numbers have a mean and a scale."""

    name: str
    mean: float | None = None
    scale: float = 1.0


@dataclass
class SparseColumns:
    """What the columns of a model of sparse rows are.

    Attributes
    ----------
    n : int
        How many there are.
    index_base : {0, 1}
        Of svmlight files.
    bits : int
        The columns of a table are hashed to 2^bits columns; 0: rows are sparse matrices.
    hashed : list of HashedColumn
    crosses : list of (int, int)
        Pairs of hashed columns that are hashed together.
    """

    n: int
    index_base: int = 0
    bits: int = 0
    hashed: list[HashedColumn] = field(default_factory=list)
    crosses: list[tuple[int, int]] = field(default_factory=list)

    @classmethod
    def read(cls, s: _library.ModelSparse) -> SparseColumns | None:
        """Copy it from the library; None: the model is none of sparse rows."""
        if s.columns == 0:
            return None
        h = s.hashing
        hashed = [
            HashedColumn(c.name.decode(), c.mean if c.number else None, c.scale)
            for c in h.column[: h.n_columns]
        ]
        crosses = [(c.a, c.b) for c in h.cross[: h.n_crosses]]
        return cls(s.columns, s.index_base, h.bits, hashed, crosses)

    def lend(self) -> _library.ModelSparse:
        """Describe it for the library."""
        columns = (_library.HashColumn * len(self.hashed))(
            *[
                _library.HashColumn(c.name.encode(), c.mean is not None, c.mean or 0.0, c.scale)
                for c in self.hashed
            ]
        )
        crosses = (_library.HashCross * len(self.crosses))(
            *[_library.HashCross(a, b) for a, b in self.crosses]
        )
        hashing = _library.Hashing(self.bits, len(columns), len(crosses), columns, crosses)
        out = _library.ModelSparse(self.n, self.index_base, hashing)
        out.lent = (columns, crosses)
        return out

    def predict(
        self, X: Any, family: int, weights: Array, offset: Array | None, threads: int
    ) -> Array:
        """Return the predicted mean of every row of a sparse matrix, or of a table to hash."""
        if is_sparse(X):
            if X.shape[1] != self.n:
                raise ValueError(f"X has {X.shape[1]} columns, but the model has {self.n}")
            rows = sparse_rows(None, X)
            return predict_sparse(lend_sparse(rows), family, weights, offset, threads)
        if self.bits == 0:
            raise ValueError(
                f"X is a {type(X).__name__}; the model is one of sparse rows, so X must be a "
                f"sparse matrix of SciPy with {self.n} columns"
            )
        entries = _library.Entries()
        cells = [(cells_of(X, c.name), c.mean is not None) for c in self.hashed]
        table = LentTable([as_number(c) if number else as_category(c) for c, number in cells])
        with table:
            _check(lib.hashing_apply, entries, self.lend().hashing, table.handle)
        try:
            return predict_sparse(entries.x, family, weights, offset, threads)
        finally:
            lib.entries_free(entries)
