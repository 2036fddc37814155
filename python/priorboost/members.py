"""Members of a model: constants, GLMs and trees, whose predictions are averaged.

The arrays of a forest have the layout of the C structures, so that the library predicts from them
as they are, with the bits of ``priorboost predict``.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _library
from ._library import _check, address, lib
from .data import Array

__all__ = ["Forest", "Member"]

_LEAF = 0xFFFFFFFF
_NODE = np.dtype(_library.Node)


@dataclass(frozen=True)
class Forest:
    """Trees over the source columns of a table.

    Attributes
    ----------
    n_columns : int
        The source columns: one for each feature, of a date one for each part.
    root : ndarray of uint32
        The first node of each tree.
    node : structured ndarray
        `column` (2**32 - 1 for a leaf), `left`, `right`, `set`, `n_set`, `missing_left` and
        `value`, as in ``pboost_node`` of priorboost/curves.h.
    code : ndarray of uint32
        The levels that go left, of all splits by categories.
    """

    n_columns: int
    root: Array
    node: Array
    code: Array

    @property
    def n_trees(self) -> int:
        """The number of trees."""
        return len(self.root)

    def splits(self) -> Array:
        """Return how many splits each source column has."""
        inner = self.node["column"][self.node["column"] != _LEAF]
        return np.bincount(inner, minlength=self.n_columns)

    def _lend(self) -> _library.Forest:
        """Return the C structure; it borrows the arrays."""
        out = _library.Forest(self.n_columns, len(self.root), len(self.node), len(self.code))
        fields: Any = _library.Forest._fields_
        for name in ("root", "node", "code"):
            kind = dict(fields)[name]
            setattr(out, name, ctypes.cast(address(getattr(self, name)), kind))
        return out


@dataclass(frozen=True)
class Member:
    """One of the models whose predictions are averaged.

    Attributes
    ----------
    kind : {"constant", "glm", "smooth", "trees", "glm-trees"}
    weight : float
        Of its predictions; the weights of all members sum to 1.
    coef : ndarray
        The weights of the encoded columns; 0 for those that it does not use.
    intercept : float
    forest : Forest or None
    """

    kind: str
    weight: float
    coef: Array
    intercept: float
    forest: Forest | None = None


# After the family, up to the threads: trees, max_trees, leaves, min_rows, rate, l2, ...
_DEFAULTS = (0, 400, 8, 50, 0.1, 1.0, 0.5, 0.5, 5)

_KINDS = ("constant", "glm", "smooth", "trees", "glm-trees")  # in the order of pboost_member_kind


def _copy(pointer: Any, n: int, dtype: Any) -> Array:
    if n == 0:
        return np.empty(0, dtype)
    size = n * np.dtype(dtype).itemsize
    return np.frombuffer(ctypes.string_at(pointer, size), dtype).copy()


def _copy_forest(f: _library.Forest) -> Forest | None:
    if f.n_trees == 0:
        return None
    return Forest(
        f.n_columns,
        _copy(f.root, f.n_trees, np.uint32),
        _copy(f.node, f.n_nodes, _NODE),
        _copy(f.code, f.n_codes, np.uint32),
    )


def read_members(mixture: _library.Mixture) -> list[Member]:
    """Return copies of the members of a C mixture."""
    out = []
    for i in range(mixture.n):
        m = mixture.member[i]
        coef = _library.copy_array(m.coef.theta, m.coef.n, np.float64)
        out.append(Member(_KINDS[m.kind], m.weight, coef, m.coef.intercept, _copy_forest(m.forest)))
    return out


def lend_members(members: list[Member]) -> _library.Mixture:
    """Return a C mixture that borrows from the members."""
    out = (_library.Member * len(members))()
    keep = []
    for c, m in zip(out, members, strict=True):
        theta = np.ascontiguousarray(m.coef, dtype=np.float64)
        keep.append(theta)
        c.kind, c.weight = _KINDS.index(m.kind), m.weight
        c.coef = _library.Coef(theta.size, address(theta), m.intercept)
        if m.forest is not None:
            c.forest = m.forest._lend()
    mixture = _library.Mixture(len(members), out)
    mixture.lent = (out, keep)
    return mixture


class Sources:
    """The source columns of a table as trees take them.

    Parameters
    ----------
    columns : list of (cells, levels)
        Numbers (NaN: missing) with levels 0, or the number of each cell's level.
    """

    def __init__(self, columns: list[tuple[Array, int]]) -> None:
        self.columns = columns

    @classmethod
    def of_numbers(cls, X: Array) -> Sources:
        """Return the columns of a matrix of numbers."""
        return cls([(np.ascontiguousarray(x, dtype=np.float64), 0) for x in X.T])

    @classmethod
    def read(cls, encoding: _library.Encoding, table: ctypes.c_void_p) -> Sources:
        """Copy the columns of a table of the library."""
        lent = _library.Sources()
        _check(lib.sources_read, lent, None, encoding, table)
        try:
            n, out = lent.columns.rows, []
            for j in range(lent.columns.n):
                c = lent.columns.column[j]
                kind, cells = (np.uint32, c.code) if c.code else (np.float64, c.number)
                out.append((_library.copy_array(cells, n, kind), c.levels))
            return cls(out)
        finally:
            lib.sources_free(lent)

    def take(self, rows: Array) -> Sources:
        """Return these rows, in this order."""
        return Sources([(cells[rows], levels) for cells, levels in self.columns])

    def lend(self) -> _library.Columns:
        """Describe them for the library."""
        out = (_library.Column * len(self.columns))()
        for c, (cells, levels) in zip(out, self.columns, strict=True):
            c.stride, c.levels = 1, levels
            if cells.dtype == np.uint32:
                c.code = address(cells)
            else:
                c.number = address(cells)
        n_rows = len(self.columns[0][0]) if self.columns else 0
        columns = _library.Columns(n_rows, len(self.columns), out)
        columns.lent = out
        return columns


def predict_members(
    X: Array,
    sources: Sources,
    family: int,
    members: list[Member],
    offset: Array | None,
    threads: int,
) -> Array:
    """Return the weighted mean of what the members predict for each row."""
    out = np.empty(X.shape[0])
    x = _library.matrix(X)
    samples = _library.Samples(ctypes.addressof(x), None, X.shape[0], None, None, address(offset))
    columns, mixture = sources.lend(), lend_members(members)
    _check(lib.mixture_predict, address(out), family, samples, columns, mixture, threads)
    return out


def forest_options(family: int, threads: int) -> _library.ForestOptions:
    """Return the library's defaults: those of PBOOST_FOREST_OPTIONS_INIT."""
    size = ctypes.sizeof(_library.ForestOptions)
    return _library.ForestOptions(size, family, *_DEFAULTS, threads)


def fit_trees(
    sources: Sources,
    n_columns: int,
    answers: Any,
    how: _library.ForestOptions,
    weight: Array | None,
    offset: Array | None,
    check: Any,
) -> tuple[list[Member], _library.ForestReport]:
    """Fit boosted trees to the answers of all bags: the only member of a model, and a report."""
    forest, report = _library.Forest(), _library.ForestReport()
    intercept = ctypes.c_double()
    columns = sources.lend()
    check(
        lib.forest_fit,
        forest,
        intercept,
        report,
        None,
        columns,
        address(offset),
        address(weight),
        answers,
        0,
        how,
    )
    try:
        trees = _copy_forest(forest)
    finally:
        lib.forest_free(forest)
    kind = "constant" if trees is None else "trees"
    return [Member(kind, 1.0, np.zeros(n_columns), intercept.value, trees)], report


def fit_class_trees(
    sources: Sources,
    n_columns: int,
    n_classes: int,
    answers: Any,
    how: _library.ForestOptions,
    weight: Array | None,
    check: Any,
) -> list[Member]:
    """Fit boosted trees to the proportions of classes: a member for each, against all others."""
    mixture, reports = _library.Mixture(), (_library.ForestReport * n_classes)()
    columns, at = sources.lend(), address(weight)
    check(lib.classes_fit_trees, mixture, reports, columns, n_columns, at, answers, 0, how)
    try:
        return read_members(mixture)
    finally:
        lib.mixture_free(mixture)


def predict_class_members(
    X: Array, sources: Sources, members: list[Member], n_classes: int, threads: int
) -> Array:
    """Return the probability of every class for every row; X are the encoded columns."""
    columns, mixture, x = sources.lend(), lend_members(members), _library.matrix(X)
    samples = _library.Samples(ctypes.addressof(x), None, X.shape[0], None, None, None)
    out = np.empty((X.shape[0], n_classes))
    how = mixture, n_classes, samples, columns, threads
    _check(lib.classes_predict_mixture, address(out), *how)
    return out


def fit_mixture(
    features: _library.Features,
    sources: Sources,
    answers: Any,
    fit: _library.FitOptions,
    trees: _library.ForestOptions,
    check: Any,
    call: Any = None,
) -> tuple[list[Member], bool]:
    """Fit all kinds of members to the answers of all bags, weighed by bags left out.

    Also says whether a constant predicts the bags left out better.
    """
    mixture, report = _library.Mixture(), _library.MixtureReport()
    size = ctypes.sizeof(_library.MixtureOptions)
    how = _library.MixtureOptions(size, (1 << len(_KINDS)) - 1, fit, trees)
    check(call or lib.mixture_fit, mixture, report, features, sources.lend(), answers, 0, how)
    try:
        return read_members(mixture), report.worse_than_constant
    finally:
        lib.mixture_free(mixture)
