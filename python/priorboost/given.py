"""Bags that someone else made, with their means: districts, clinics, an office's export.

Rows name their bag and the answers have one mean per bag.  The two must agree: a bag that only one
of them has, or has with another number of rows, is an error.  A mean of rows of which X has only
some would give a wrong model, and only the counts show it.
"""

from __future__ import annotations

import ctypes
import numbers
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ._library import _check, address, lib
from .bags import Bags
from .data import Array, name_text, number_names
from .errors import warn

_NO_COUNTS = (
    "answers has the mean of each bag, but not the number of its rows: if X lacks some of them, "
    "the model is wrong and nothing shows it; pass a table with the columns 'bag', 'count' and "
    "'mean', which is checked"
)
BOUNDS = {"linear": (-np.inf, np.inf), "logistic": (0.0, 1.0), "poisson": (0.0, np.inf)}


def group_rows(bag: Any, n_rows: int) -> tuple[list[str], Bags]:
    """Return the names of the bags, in the order of their first rows, and the rows of each.

    Examples
    --------
    >>> from priorboost.given import group_rows
    >>> names, bags = group_rows(["north", "south", "north"], 3)
    >>> names, [rows.tolist() for rows in bags]
    (['north', 'south'], [[0, 2], [1]])
    """
    names, code = number_names(bag, n_rows, "bag")
    start = np.concatenate([[0], np.cumsum(np.bincount(code, minlength=len(names)))])
    return names, Bags(np.argsort(code, kind="stable"), start)


def _column(table: Any, name: str) -> list[float] | None:
    if name not in _columns(table):
        return None
    try:
        return [float(v) for v in np.asarray(table[name])]
    except (TypeError, ValueError) as problem:
        raise ValueError(f"column '{name}' of answers is not all numbers: {problem}") from None


def _columns(table: Any) -> list[str]:
    return list(getattr(table, "column_names", None) or table.columns)


def _key(table: Any, bag_column: str) -> str:
    """Return the column that names the bags: as in the table of rows, or 'bag'."""
    found = _columns(table)
    for name in (bag_column, "bag"):
        if name in found:
            return name
    wanted = f"'{bag_column}'" + ("" if bag_column == "bag" else " or 'bag'")
    raise ValueError(
        f"answers has no column {wanted}, which names the bag of each answer; its columns are "
        f"{', '.join(map(str, found))}"
    )


def _lines(answers: Any, bag_column: str) -> Iterator[tuple[str, float, float, float | None]]:
    """Yield bag, mean, variance of the noise and, except for a mapping, the number of rows."""
    if not hasattr(answers, "columns"):
        if not isinstance(answers, Mapping) and not hasattr(answers, "items"):
            raise ValueError(
                "answers must be the mean by bag (a dict or Series), or a table with the columns "
                "'bag', 'count' and 'mean' or 'sum'"
            )
        for bag, mean in answers.items():
            if not isinstance(mean, (numbers.Real, np.number)):
                raise ValueError(f"the answer of bag {bag!r} is {mean!r}; it must be a number")
            yield name_text(bag, "bag"), float(mean), 0.0, None
        return
    key = _key(answers, bag_column)
    count, mean = _column(answers, "count"), _column(answers, "mean")
    total, noise = _column(answers, "sum"), _column(answers, "noise_variance")
    if count is None:
        raise ValueError(
            "answers has no column 'count': only the number of rows of each bag shows that its "
            f"mean is about the rows of X; its columns are {', '.join(_columns(answers))}"
        )
    if total is None:
        if mean is None:
            raise ValueError(
                "answers has neither a column 'mean' nor a column 'sum'; its columns are "
                f"{', '.join(_columns(answers))}"
            )
        total = [m * c for m, c in zip(mean, count, strict=True)]
    for i, name in enumerate(np.asarray(answers[key]).tolist()):
        bag = name_text(name, "bag")
        if not count[i] > 0:
            raise ValueError(f"bag '{bag}' is empty: its count is {count[i]:g}")
        value = total[i] / count[i] if mean is None else mean[i]
        if abs(total[i] / count[i] - value) > 1e-6 * (abs(value) + 1e-6):
            raise ValueError(
                f"bag '{bag}' has sum {total[i]:.17g} of {count[i]:g} rows, but mean {value:.17g}"
            )
        yield bag, value, 0.0 if noise is None else noise[i], count[i]


def _check_size(bag: str, count: float | None, size: int, rows: str) -> None:
    """Refuse a number of persons that does not fit the rows of the bag."""
    if rows == "all":
        if count is not None and count != size:
            raise ValueError(
                f"bag '{bag}' has count {count:g}, but {size} rows name it (rows='sample' or "
                "'means' says that X does not have every row)"
            )
        return
    if count is None:
        raise ValueError(
            f"rows={rows!r} needs the number of persons of each bag: pass a table with the columns "
            "'bag', 'count' and 'mean' or 'sum'"
        )
    if rows == "means" and size != 1:
        raise ValueError(f"bag '{bag}' has {size} rows; with rows='means' it has one, its means")
    if rows == "sample" and (count < size or (size == 1 and count > 1)):
        raise ValueError(
            f"bag '{bag}' has {size} rows and count {count:g}; a sample has at least 2 rows, and "
            "no more than there are persons"
        )


class ClassAnswers:
    """Answers with a column for each class: counts whose sum is ``count``, or proportions.

    Columns other than those of the bag, ``count`` and ``noise_variance`` are classes, and the first
    is the base.  The mean of a bag becomes the row of its class proportions.
    """

    def __init__(self, answers: Any, bag_column: str) -> None:
        self.answers = answers
        known = {_key(answers, bag_column), "count", "noise_variance"}
        self.names = [name for name in _columns(answers) if name not in known]
        self.columns = ["mean"]  # what match_answers looks at

    @classmethod
    def read(cls, answers: Any, bag_column: str) -> ClassAnswers | None:
        """Return answers of classes; None: they are those of numbers."""
        if not hasattr(answers, "columns") or {"mean", "sum"} & set(_columns(answers)):
            return None
        given = cls(answers, bag_column)
        return given if len(given.names) >= 3 else None

    def shares(self, names: list[str], bag_column: str) -> Array:
        """Return the proportions of the classes, by bag in the order of these names."""
        count, noise = _column(self.answers, "count"), _column(self.answers, "noise_variance")
        listed: Any = [_column(self.answers, name) for name in self.names]
        values: Array = np.column_stack(listed)
        number = {name: b for b, name in enumerate(names)}
        out = np.zeros((len(names), len(self.names)))
        bags = np.asarray(self.answers[_key(self.answers, bag_column)]).tolist()
        assert count is not None  # match_answers has looked
        for i, name in enumerate(bags):
            bag, row, total = name_text(name, "bag"), values[i], float(values[i].sum())
            noisy = noise is not None and noise[i] > 0
            counts = abs(total - count[i]) < abs(total - 1.0) or count[i] == 1.0
            whole = count[i] if counts else 1.0
            if not noisy and (row < 0).any():
                raise ValueError(f"bag '{bag}' has {row.min():g} of a class; it must be at least 0")
            if not noisy and abs(total - whole) > 1e-6 * whole:
                raise ValueError(
                    f"the classes of bag '{bag}' have sum {total:.17g}; it must be the count, "
                    f"{count[i]:g}, or, for proportions, 1"
                )
            out[number[bag]] = row / whole
        return out

    def as_means(self, bag_column: str) -> dict[str, Any]:
        """Return a table without classes, for the checks that all answers have."""
        count = _column(self.answers, "count")
        if count is None:
            raise ValueError("answers of classes need a column 'count': the rows of each bag")
        key = _key(self.answers, bag_column)
        noise = _column(self.answers, "noise_variance") or [0.0] * len(count)
        return _Plain(
            {
                "bag": np.asarray(self.answers[key]),
                "count": count,
                "mean": [0.0] * len(count),
                "noise_variance": noise,
            }
        )


class _Plain(dict[str, Any]):
    """A table of few columns."""

    @property
    def columns(self) -> list[str]:
        return list(self)


def match_answers(
    answers: Any,
    names: list[str],
    bags: Bags,
    family: str,
    bag_column: str = "bag",
    rows: str = "all",
) -> tuple[Array, Array, Array]:
    """Return mean, variance of the noise and persons of each bag; warn of answers without counts.

    In a table, bags are named by the column of this name, or by 'bag'.
    """
    number = {name: b for b, name in enumerate(names)}
    mean, noise, persons = np.full(len(names), np.nan), np.zeros(len(names)), np.ones(len(names))
    seen: set[str] = set()
    sizes = bags.sizes
    lower, upper = BOUNDS[family]
    for bag, value, variance, count in _lines(answers, bag_column):
        if bag not in number:
            raise ValueError(
                f"bag '{bag}' has an answer, but no row names it; leave the answer out, or pass "
                "the rows of that bag"
            )
        if bag in seen:
            raise ValueError(f"bag '{bag}' has two answers; each bag must have one")
        seen.add(bag)
        size = int(sizes[number[bag]])
        _check_size(bag, count, size, rows)
        persons[number[bag]] = size if count is None else count
        if not np.isfinite(value) or not 0.0 <= variance < np.inf:
            raise ValueError(
                f"bag '{bag}' has mean {value:g} and noise_variance {variance:g}; both must be "
                "finite, and the latter not negative"
            )
        if variance == 0.0 and not lower <= value <= upper:
            raise ValueError(
                f"bag '{bag}' has mean {value:g}, which no {family} labels have; a column "
                "'noise_variance' says that means are noisy"
            )
        mean[number[bag]], noise[number[bag]] = value, variance
    missing = [name for name in names if name not in seen]
    if missing:
        raise ValueError(
            f"bag '{missing[0]}' has no answer; leave its {int(sizes[number[missing[0]]])} rows "
            f"out of X, or add its answer ({len(missing)} bags have none)"
        )
    if not hasattr(answers, "columns"):
        warn(_NO_COUNTS)
    return mean, noise, persons


class GivenAnswers:
    """Owns a ``pboost_answers``; use it in a with statement."""

    def __init__(self, bags: Bags, mean: Array, noise: Array) -> None:
        self.log = ctypes.c_void_p()
        _check(lib.answers_create, self.log)
        try:
            self.append(bags, mean, noise)
        except BaseException:
            lib.answers_free(self.log)
            raise

    def append(self, bags: Bags, mean: Array, noise: Array) -> None:
        """Add more bags, which may share rows with others."""
        if mean.ndim == 1:
            _check(lib.answers_append, self.log, bags._borrow(), address(mean), address(noise))
            return
        at = address(mean), address(noise)
        _check(lib.answers_append_vectors, self.log, bags._borrow(), mean.shape[1], *at)

    def __enter__(self) -> ctypes.c_void_p:
        return self.log

    def __exit__(self, *_: Any) -> None:
        lib.answers_free(self.log)
