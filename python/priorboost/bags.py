"""Bags: which rows are asked about together, and the error that a choice of bags causes."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _library
from ._library import _check, lib
from .data import Array, as_floats, by_row, matrix
from .options import count_of, family_of, seed_of, threads_of
from .relay import Relay

__all__ = ["Bags", "Risk", "feature_bags", "optimal_bags", "random_bags", "risk"]


class Bags:
    """A partition of rows into bags.

    Parameters
    ----------
    rows : array of int
        The rows of all bags, one bag after the other.
    start : array of int
        Bag b holds ``rows[start[b]:start[b + 1]]``; one entry more than there are bags.

    Examples
    --------
    >>> from priorboost import Bags
    >>> bags = Bags([4, 0, 2, 1, 3], [0, 2, 5])
    >>> len(bags), bags.sizes.tolist(), bags[0].tolist()
    (2, [2, 3], [4, 0])
    >>> bags.labels().tolist()
    [0, 1, 1, 1, 0]
    """

    def __init__(self, rows: npt.ArrayLike, start: npt.ArrayLike) -> None:
        self.rows: Array = np.ascontiguousarray(rows, dtype=np.uintp)
        self.start: Array = np.ascontiguousarray(start, dtype=np.uintp)
        if self.start.ndim != 1 or self.start.size == 0 or self.start[-1] != self.rows.size:
            raise ValueError(
                f"start must be a vector that ends with the number of rows, {self.rows.size}"
            )

    def __len__(self) -> int:
        return self.start.size - 1

    def __getitem__(self, bag: int) -> Array:
        if not -len(self) <= bag < len(self):
            raise IndexError(f"bag {bag} of {len(self)}")
        bag %= len(self)
        return self.rows[self.start[bag] : self.start[bag + 1]]

    def __iter__(self) -> Iterator[Array]:
        return (self[b] for b in range(len(self)))

    def __repr__(self) -> str:
        return f"Bags({len(self)} bags of {self.rows.size} rows)"

    @property
    def sizes(self) -> Array:
        """The number of rows in each bag."""
        return np.diff(self.start)

    def labels(self) -> Array:
        """Return the number of the bag that holds row 0, 1, ...; -1 for a row in none."""
        last = int(self.rows.max()) + 1 if self.rows.size else 0
        out = np.full(last, -1, dtype=np.intp)
        out[self.rows] = np.repeat(np.arange(len(self)), self.sizes.astype(np.intp))
        return out

    def cost(self, scores: npt.ArrayLike) -> float:
        """Return the within-bag sum of squares of the scores (by row)."""
        values = np.ascontiguousarray(scores, dtype=np.float64)
        if self.rows.size and int(self.rows.max()) >= values.size:
            raise ValueError(f"{values.size} scores for bags that name row {int(self.rows.max())}")
        return float(lib.bags_cost(self._borrow(), _library.address(values)))

    def _borrow(self) -> _library.Bags:
        return _library.Bags(
            self.rows.size, len(self), _library.address(self.rows), _library.address(self.start)
        )


def take_bags(bags: _library.Bags) -> Bags:
    """Copy the library's bags and free them."""
    try:
        return Bags(
            _library.copy_array(bags.row, bags.n_rows, np.uintp),
            _library.copy_array(bags.start, bags.n_bags + 1, np.uintp),
        )
    finally:
        lib.bags_free(ctypes.byref(bags))


def optimal_bags(scores: npt.ArrayLike, min_bag: int, *, n_jobs: int | None = None) -> Bags:
    """Cut rows into bags of at least min_bag rows with the least within-bag sum of squares.

    The bags are contiguous in the order of the scores and hold min_bag to 2 min_bag - 1 rows.
    They are the best of all partitions, not an approximation.

    Parameters
    ----------
    scores : array-like of shape (n_rows,)
        A prior's predicted mean for each row.
    min_bag : int
    n_jobs : int or None
        Threads; None means 1, -1 all cores.

    Returns
    -------
    Bags

    Examples
    --------
    >>> from priorboost import optimal_bags
    >>> [sorted(bag.tolist()) for bag in optimal_bags([0.9, 0.1, 0.8, 0.2, 0.15], 2)]
    [[1, 3, 4], [0, 2]]
    """
    values = np.ascontiguousarray(scores, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"scores have {values.ndim} dimensions; they must have 1")
    out = _library.Bags()
    pointer = _library.address(values)
    _check(
        lib.bags_optimal,
        out,
        pointer,
        values.size,
        count_of(min_bag, "min_bag"),
        threads_of(n_jobs),
    )
    return take_bags(out)


def random_bags(n_rows: int, min_bag: int, *, random_state: Any = None) -> Bags:
    """Shuffle rows and cut them into bags of min_bag rows or a few more.

    Parameters
    ----------
    n_rows : int
    min_bag : int
    random_state : int, RandomState or None
        None means 0, as on the command line.

    Returns
    -------
    Bags

    Examples
    --------
    >>> from priorboost import random_bags
    >>> random_bags(10, 3, random_state=1).sizes.tolist()
    [4, 3, 3]
    """
    out = _library.Bags()
    n, k = count_of(n_rows, "n_rows"), count_of(min_bag, "min_bag")
    _check(lib.bags_random, out, n, k, seed_of(random_state)[1])
    return take_bags(out)


def feature_bags(X: npt.ArrayLike, min_bag: int, *, n_jobs: int | None = None) -> Bags:
    """Cut rows into bags that differ as much as possible in every direction of the features.

    It is what the aggregate estimator learns from; no prior is needed.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
    min_bag : int
    n_jobs : int or None
        Threads; None means 1, -1 all cores.

    Returns
    -------
    Bags

    Examples
    --------
    >>> import numpy as np
    >>> from priorboost import feature_bags
    >>> X = np.array([[0.0, 0.0], [5.0, 5.1], [0.1, 0.2], [5.2, 5.0]])
    >>> sorted(sorted(bag.tolist()) for bag in feature_bags(X, 2))
    [[0, 2], [1, 3]]
    """
    values = as_floats(X)
    x = matrix(values)
    samples = _library.Samples(ctypes.addressof(x), None, values.shape[0])
    out = _library.Bags()
    k, threads = count_of(min_bag, "min_bag"), threads_of(n_jobs)
    with Relay() as relay:
        try:
            relay.check(lib.bags_features, out, samples, k, threads, relay.cancel)
            return take_bags(out)
        finally:
            lib.bags_free(out)  # Ctrl-C may come out of a call that has succeeded


class Risk(NamedTuple):
    """An expected squared error, in two parts."""

    bias: float
    variance: float

    @property
    def total(self) -> float:
        """Bias and variance together."""
        return self.bias + self.variance


def risk(
    X: npt.ArrayLike,
    bags: Bags,
    theta: npt.ArrayLike,
    *,
    family: str = "linear",
    dispersion: float = 1.0,
) -> Risk:
    """Return the error with these bags by the paper's theorems, before any label is spent.

    For the linear family it is the expected squared distance of the event-level estimate (no
    ridge, no intercept, no noise) from theta, exactly.  For the others it is the expected squared
    norm of the mean loss's gradient at theta.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
    bags : Bags
    theta : array-like of shape (n_features,)
        The true parameter, or a guess of it.
    family : {"linear", "logistic", "poisson"}
    dispersion : float
        The labels' variance over that of the family; linear: the variance itself.

    Returns
    -------
    Risk

    Examples
    --------
    >>> import numpy as np
    >>> from priorboost import optimal_bags, random_bags, risk
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> theta = np.array([1.0, -1.0])
    >>> good = risk(X, optimal_bags(X @ theta, 5), theta, dispersion=0.01)
    >>> bad = risk(X, random_bags(200, 5), theta, dispersion=0.01)
    >>> good.total < 0.01 < bad.total
    True
    """
    values = as_floats(X)
    guess = by_row(theta, values.shape[1], "theta")
    out, x, b = _library.Risk(), matrix(values), bags._borrow()
    at = _library.address(guess)
    if family == "linear":
        _check(lib.risk_linear, out, x, b, at, dispersion)
    else:
        _check(lib.gradient_norm, out, family_of(family), x, b, at, dispersion)
    return Risk(out.bias, out.variance)
