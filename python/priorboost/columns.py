"""Changes of columns before a fit: extreme values are limited, then mean 0 and variance 1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ._library import _check, address, lib
from .data import Array, matrix, require_finite
from .options import number_of
from .training import GLMResult


@dataclass
class Columns:
    """How the columns that are fitted come from those of X."""

    limits: tuple[Array, Array] | None = None  # least and greatest number of each column
    mean: Array | None = None
    scale: Array | None = None

    @classmethod
    def learn(cls, X: Array, winsorize: float | None, standardize: bool, center: bool) -> Columns:
        """Learn from X what was asked for."""
        require_finite(X)
        out = cls()
        if winsorize is not None:
            out.limits = limits_of(X, number_of(winsorize, "winsorize"))
            X = np.clip(X, *out.limits)
        if standardize:
            out.mean, out.scale = moments(X)
            out.scale[out.scale == 0.0] = 1.0
            if not center:
                out.mean[:] = 0.0
        return out

    def leave(self, last: int) -> None:
        """Leave the last columns as they are: curves have units of their own."""
        if self.mean is not None and self.scale is not None:
            self.mean[-last:], self.scale[-last:] = 0.0, 1.0

    def apply(self, X: Array) -> Array:
        """Return the columns that are fitted: X itself where nothing was asked for."""
        if self.limits is not None:
            X = np.clip(X, *self.limits)
        return X if self.scale is None else (X - self.mean) / self.scale

    def restore(self, result: GLMResult) -> None:
        """Bring weights of standardised columns back to the units of X."""
        if self.mean is None or self.scale is None:
            return
        mean, scale = self.mean, self.scale
        n = len(mean) + 1  # weights of a model, or of each class of one
        for weights in result.path.reshape(-1, n):
            for j in range(len(mean)):  # in the order of the command line, for the same bits
                weights[j] /= scale[j]
                weights[-1] -= weights[j] * mean[j]
        if result.covariance is not None:
            for whole in (result.covariance.T, result.covariance):  # columns first, then rows
                for C in np.split(whole, len(whole) // n):
                    for j in range(len(mean)):
                        C[j] /= scale[j]
                        C[-1] -= C[j] * mean[j]


PLAIN = Columns()  # nothing is done


def moments(X: Array) -> tuple[Array, Array]:
    """Return mean and standard deviation of each column."""
    mean, sd = np.empty(X.shape[1]), np.empty(X.shape[1])
    _check(lib.matrix_moments, address(mean), address(sd), matrix(X))
    return mean, sd


def _divided_sum(values: Array, n: int) -> float:
    total = np.add.accumulate(values)
    before = np.concatenate([[0.0], total[:-1]])
    added = total - before
    lost = (before - (total - added)) + (values - added)
    last, rest = float(total[-1]), float(np.add.accumulate(lost)[-1])
    quotient = last / n
    left = float(Fraction(last) - Fraction(quotient) * n)
    return quotient + (left + rest) / n


def exact_mean(values: Array) -> float:
    """Return the mean, with the bits that the library gives it (its header mean.h says how).

    Examples
    --------
    >>> import numpy as np
    >>> from priorboost.columns import exact_mean
    >>> exact_mean(np.array([1.0, 1e100, 1.0, -1e100]))
    0.5
    """
    large = np.abs(values) >= 2.0**900
    small_mean = _divided_sum(np.where(large, 0.0, values), len(values))
    large_mean = _divided_sum(np.where(large, values * 2.0**-100, 0.0), len(values))
    return small_mean + large_mean * 2.0**100


def limits_of(X: Array, z: float) -> tuple[Array, Array]:
    """Return the values z standard deviations below and above the mean of each column.

    Columns of at most two values have none.

    Examples
    --------
    >>> import numpy as np
    >>> from priorboost.columns import limits_of
    >>> lower, upper = limits_of(np.array([[0.0, 1.0], [4.0, 0.0], [8.0, 1.0]]), 1.0)
    >>> upper.round(2).tolist()
    [7.27, inf]
    """
    if not (z > 0.0 and math.isfinite(z)):
        raise ValueError(f"winsorize is {z:g} standard deviations; it must be more than 0")
    lower, upper = np.empty(X.shape[1]), np.empty(X.shape[1])
    for j, column in enumerate(X.T):
        first = column[0]
        others = column[column != first]
        if others.size == 0 or (others == others[0]).all():
            lower[j], upper[j] = -np.inf, np.inf
            continue
        column = column.astype(np.float64)
        center = exact_mean(column)
        deviation = column / 2 - center / 2  # halved: nothing overflows
        most = float(np.abs(deviation).max())
        reach = 2 * z * most * math.sqrt(exact_mean((deviation / most) ** 2))
        lower[j], upper[j] = center - reach, center + reach
    return lower, upper
