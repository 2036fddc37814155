"""Given bags of which X does not have every row: a sample of the persons, or their means.

It is ``priorboost train --rows sample|means``; docs/ecological.md says what is assumed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

import numpy as np

from ._library import _check, address, lib
from .bags import Bags
from .data import Array
from .training import Table

ROWS = ("all", "sample", "means")
_LARGE_FRACTION = 0.3  # of sampling error in the variance between bags

_NO_RELATION = (
    "what bags have in common beyond their features is not related to the features; else the "
    "weights have ecological bias, and nothing in the answers shows it"
)
_RANDOM = "the rows of each bag are a simple random sample of its persons"
_SPREAD = (
    "the features of a person vary within a bag as the standard deviations say, without correlation"
)
_ALL_EQUAL = (
    "all persons of a bag have its means; if they differ, weights of a logistic model are too "
    "small, and the intercept of counts is too large (sd gives standard deviations)"
)


def check_rows(rows: str, sd: Any, effects: Any, given: bool) -> None:
    """Refuse what is no word, and what does not go together."""
    if rows not in ROWS:
        raise ValueError(f"rows is {rows!r}; it must be 'all', 'sample' or 'means'")
    if not given and (rows != "all" or effects is not None):
        raise ValueError("rows and bag_effects are for given bags: pass bag and answers, too")
    if sd is not None and rows != "means":
        raise ValueError("sd needs rows='means': it says how features vary about the means")
    if effects not in (None, True, False):
        raise ValueError(f"bag_effects is {effects!r}; it must be True, False or None")


def assumptions(rows: str, sd: Any, family: str) -> tuple[str, ...]:
    """Return what a fit to such rows assumes."""
    if rows == "all":
        return ()
    if rows == "sample":
        return _NO_RELATION, _RANDOM
    if family == "linear":
        return (_NO_RELATION,)
    return _NO_RELATION, _ALL_EQUAL if sd is None else _SPREAD


def _deviations(sd: Any, shape: tuple[int, int], names: list[str] | None) -> Array:
    """Return the standard deviations by row and column; those of columns not named are 0."""
    out = np.zeros(shape)
    if isinstance(sd, Mapping) or hasattr(sd, "columns"):
        known = names or [f"x{j}" for j in range(shape[1])]
        for name in sd if isinstance(sd, Mapping) else list(sd.columns):
            if name not in known:
                raise ValueError(
                    f"sd has '{name}', which is no feature; features are {', '.join(known)}"
                )
            values = np.asarray(sd[name], dtype=np.float64)
            if values.shape != shape[:1]:
                raise ValueError(f"sd of '{name}' has {values.size} numbers for {shape[0]} rows")
            out[:, known.index(name)] = values
    else:
        values = np.asarray(sd, dtype=np.float64)
        if values.shape != shape:
            raise ValueError(f"sd has shape {values.shape}; it must be that of X, {shape}")
        out[:] = values
    if not (out >= 0.0).all() or np.isinf(out).any():
        raise ValueError("sd has a number that is no standard deviation: negative or not finite")
    return out


def _calibrate(X: Array, bags: Bags, persons: Array, names: list[str] | None) -> list[str]:
    """Move the rows of each bag to the predicted mean of its persons; return what to warn of."""
    fraction, limited = np.empty(X.shape[1]), ctypes.c_bool()
    _check(
        lib.bags_calibrate,
        address(X),
        X.shape[1],
        bags._borrow(),
        address(persons),
        address(fraction),
        limited,
    )
    worst = int(fraction.argmax())
    if limited.value:
        return [
            "some combination of columns differs between bags by no more than sampling error, so "
            "its weight is not known: use larger samples or fewer columns"
        ]
    if fraction[worst] > _LARGE_FRACTION:
        return [
            f"{100 * fraction[worst]:.0f} % of the variance between bags of column "
            f"'{names[worst] if names else f'x{worst}'}' is sampling error: its weight depends "
            "much on the correction for it; use larger samples"
        ]
    return []


def stand_for_persons(
    table: Table, bags: Bags, persons: Array, rows: str, sd: Any, scale: Array | None, family: str
) -> tuple[Table, Bags, list[str]]:
    """Return rows that stand for all persons, their bags, and what to warn of.

    The columns were divided by scale, if there is one; standard deviations are not yet.
    """
    out = Table(np.array(table.X, dtype=np.float64, order="C"))
    sample_warnings, points = [], 1
    weight, offset = table.weight, table.offset
    if rows == "sample":
        sample_warnings = _calibrate(out.X, bags, persons, table.columns)
        if family == "poisson":
            sample_warnings.append(
                "the correction for sampling error is right to first order only: weights of counts "
                "are too small if features vary much within bags and samples are small"
            )
    elif sd is not None and family != "linear":  # a linear model needs only the means
        n, d = out.X.shape
        spread = _deviations(sd, (n, d), table.columns)
        if scale is not None:
            spread /= scale
        points = lib.spread_points(address(spread), n, d)
        X = np.empty((n * points, d))
        lib.spread_rows(address(X), address(out.X), address(spread), n, d)
        out.X = X
        weight = None if weight is None else np.repeat(weight, points)
        offset = None if offset is None else np.repeat(offset, points)
        within = np.arange(points)
        bags = Bags((bags.rows[:, None] * points + within).ravel(), bags.start * points)
    each = np.empty(len(out.X))
    sizes = bags.sizes.astype(np.intp)
    each[bags.rows] = np.repeat(persons / sizes, sizes)
    out.weight = each if weight is None else weight * each
    out.offset = offset
    return out, bags, sample_warnings
