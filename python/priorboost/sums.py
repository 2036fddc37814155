"""Sums by key that someone else made, which may share rows: by age, by region, by both.

A line is one sum: over the rows that have its cells in the columns of these names; an empty cell
stands for any value.  It is ``priorboost train --sums``; docs/overlapping.md says what is done.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from .bags import Bags
from .data import Array
from .given import BOUNDS
from .tables import is_table, names_of

__all__ = ["GivenSums"]

_ROLES = ("sum", "mean", "count", "variance")


def _cells(table: Any, name: str) -> list[Any]:
    """Return the cells of a column, None where one is missing."""
    values = table[name]
    values = values.to_pylist() if hasattr(values, "to_pylist") else np.asarray(values).tolist()
    return [None if v is None or v != v or v == "" else v for v in values]


def _numbers(table: Any, name: str) -> Array | None:
    if name not in names_of(table):
        return None
    try:
        return np.array([float(v) for v in np.asarray(table[name])])
    except (TypeError, ValueError) as problem:
        raise ValueError(f"column '{name}' of sums is not all numbers: {problem}") from None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def _same_kind(rows: list[Any], cells: list[Any], name: str) -> tuple[list[Any], list[Any]]:
    """Return both as numbers if those of the rows are numbers, else as texts."""
    if not all(_is_number(v) for v in rows if v is not None):
        return tuple([None if v is None else str(v) for v in part] for part in (rows, cells))  # type: ignore[return-value]
    try:
        return rows, [None if v is None else float(v) for v in cells]
    except (TypeError, ValueError) as problem:
        raise ValueError(f"column '{name}' of sums: {problem}, but the rows have numbers") from None


class GivenSums:
    """Label sums by key, for ``fit(X, sums=...)``; a row may be in several.

    Parameters
    ----------
    sums : table
        One sum a line.  ``sum`` or ``mean`` of the labels; ``count``, if it is there, is compared
        with the number of rows; ``variance`` is that of noise in the sum (or mean).  All other
        columns are keys: the sum is about the rows that have this cell there.  A missing or empty
        cell stands for any value.
    keys : table, optional
        The keys of the rows of X, for keys that are no columns of X.

    Examples
    --------
    >>> import pandas as pd
    >>> from priorboost import GivenSums
    >>> rows = pd.DataFrame({"age": ["young", "old", "old"], "region": ["north", "north", "south"]})
    >>> sums = pd.DataFrame({"age": ["old", ""], "region": ["", "north"], "sum": [1.0, 2.0]})
    >>> [part.tolist() for part in GivenSums(sums, keys=rows).bags(rows)]
    [[1, 2], [0, 1]]
    """

    def __init__(self, sums: Any, keys: Any = None) -> None:
        if not is_table(sums):
            raise ValueError("sums must be a table with keys as columns, and 'sum' or 'mean'")
        self.keys = keys
        self.names = [name for name in names_of(sums) if name not in _ROLES]
        self.cells = {name: _cells(sums, name) for name in self.names}
        self.numbers = {role: _numbers(sums, role) for role in _ROLES}
        given = [role for role in ("sum", "mean") if self.numbers[role] is not None]
        if len(given) != 1:
            raise ValueError(
                "sums must have one of the columns 'sum' and 'mean'; its columns are "
                f"{', '.join(map(str, names_of(sums)))}"
            )
        self.value = given[0]
        self.n_lines = len(self._given())

    def _given(self) -> Array:
        values = self.numbers[self.value]
        assert values is not None
        return values

    def describe(self, line: int) -> str:
        """Return the cells of a line, such as "age=old, region=south"."""
        cells = [f"{k}={v[line]}" for k, v in self.cells.items() if v[line] is not None]
        return ", ".join(cells) or "all rows"

    def bags(self, X: Any) -> Bags:
        """Return the rows that each line is about, of X or of the keys."""
        table = X if self.keys is None else self.keys
        found = names_of(table) if is_table(table) else []
        rows: dict[str, list[Any]] = {}
        cells: dict[str, list[Any]] = {}
        for name in self.names:
            if name not in found:
                raise ValueError(
                    f"sums has a column '{name}', which is neither a column of "
                    f"{'X' if self.keys is None else 'keys'} nor sum, mean, count or variance"
                )
            rows[name], cells[name] = _same_kind(_cells(table, name), self.cells[name], name)
        members: list[list[int]] = [[] for _ in range(self.n_lines)]
        lines: dict[tuple[str, ...], dict[tuple[Any, ...], int]] = {}
        for line in range(self.n_lines):
            used = tuple(name for name in self.names if cells[name][line] is not None)
            of_pattern = lines.setdefault(used, {})
            key = tuple(cells[name][line] for name in used)
            if key in of_pattern:
                raise ValueError(f"sums has two lines with {self.describe(line)}")
            of_pattern[key] = line
        n_rows = len(X) if not hasattr(X, "shape") else X.shape[0]
        for used, of_pattern in lines.items():
            columns = [rows[name] for name in used]
            each = zip(*columns, strict=True) if used else [()] * n_rows
            for row, key in enumerate(each):
                if key in of_pattern:
                    members[of_pattern[key]].append(row)
        start = np.concatenate([[0], np.cumsum([len(m) for m in members])])
        return Bags(np.concatenate([np.array(m, dtype=np.uintp) for m in members]), start)

    def answers(self, bags: Bags, family: str) -> tuple[Bags, Array, Array]:
        """Check the lines; return bags, mean and variance of the noise of those about rows."""
        sizes = bags.sizes.astype(np.float64)
        count, variance = self.numbers["count"], self.numbers["variance"]
        variance = np.zeros(self.n_lines) if variance is None else variance
        lower, upper = BOUNDS[family]
        for i, n in enumerate(sizes):
            if count is not None and count[i] != n:
                raise ValueError(f"count is {count[i]:g}, but {n:g} rows have {self.describe(i)}")
            if count is None and n == 0:
                raise ValueError(
                    f"no row has {self.describe(i)}; if that is right, a column 'count' with 0 "
                    "says so"
                )
            if not 0.0 <= variance[i] < np.inf or not np.isfinite(self._given()[i]):
                raise ValueError(
                    f"the line with {self.describe(i)} has {self.value} {self._given()[i]:g} and "
                    f"variance {variance[i]:g}; both must be finite, and the latter not negative"
                )
        keep = sizes > 0
        n = sizes[keep] if self.value == "sum" else 1.0
        mean, noise = self._given()[keep] / n, variance[keep] / (n * n)
        self.kept = np.flatnonzero(keep)
        wrong = np.flatnonzero((noise == 0.0) & ~((lower <= mean) & (mean <= upper)))
        if wrong.size:
            raise ValueError(
                f"the mean of the rows with {self.describe(int(self.kept[wrong[0]]))} is "
                f"{mean[wrong[0]]:g}, which no {family} labels have; a column 'variance' says that "
                "sums are noisy"
            )
        return Bags(bags.rows, np.concatenate([[0], bags.start[1:][keep]])), mean, noise

    def explain(self, problem: ValueError) -> ValueError:
        """Return the error of a fit, which knows sums by number, with the keys of the sum."""
        said = re.match(r"bag (\d+) has (.*)", str(problem))
        if said is None or int(said[1]) >= len(self.kept):
            return problem
        return ValueError(
            f"the line with {self.describe(int(self.kept[int(said[1])]))} has {said[2]}"
        )


def known_labels(y: Any, n_rows: int, family: str) -> tuple[Bags, Array]:
    """Return the rows whose labels are known, as bags of one row, and these labels."""
    try:
        values = np.array([np.nan if v is None else float(v) for v in np.asarray(y).tolist()])
    except (TypeError, ValueError) as problem:
        raise ValueError(f"y with sums must be numbers, NaN where unknown: {problem}") from None
    if values.shape != (n_rows,):
        raise ValueError(f"y has {values.size} labels for {n_rows} rows")
    rows = np.flatnonzero(~np.isnan(values))
    known = values[rows]
    lower, upper = BOUNDS[family]
    bad = (known < lower) | (known > upper) | np.isinf(known)
    if family == "logistic":
        bad |= (known != 0.0) & (known != 1.0)
    if bad.any():
        raise ValueError(
            f"y of row {rows[bad][0]} is {known[bad][0]:g}, which is no {family} label"
        )
    return Bags(rows, np.arange(rows.size + 1)), known
