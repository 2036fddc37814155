"""How the columns of a data frame become features: the library's encoding, as the program has it.

The encoding is learnt and applied by the library, so that a model file gives the same predictions
on the same cells, here and by ``priorboost predict``.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _library
from ._library import _check, address, lib
from .data import Array
from .errors import warn
from .members import Sources
from .tables import Cells, as_category, as_number, cells_of, is_table, names_of, open_table

_MOST_LEVELS = 100  # a category with more of them has rare ones

# The parts of a date, in the order of their columns, and the bits that stand for them.  A part with
# values becomes one indicator for each but the first.
_DATE_PARTS: dict[str, tuple[int, int]] = {
    "days": (1, 0),
    "year": (2, 0),
    "month": (4, 12),
    "weekday": (8, 7),
    "hour": (16, 24),
}

# What the library advises users of the program, and what it means here.
_ADVICE = (
    (r"--impute mean", "impute='mean'"),
    (r"train with impute", "fit with impute"),
    (r"--na '(.*)' \(it is missing\)", r"X.replace('\1', None) (it is missing)"),
    (r"--types (.*)=category", r"X['\1'].astype('category')"),
    (r"--drop it", "leave it out"),
)


@dataclass(frozen=True)
class Curve:
    """The columns by which a model bends the straight line of a number; ``smooth.h`` defines them.

    `value` and `bend` have the functions one after the other, a number at each knot.
    """

    knots: tuple[float, ...]
    value: tuple[float, ...]
    bend: tuple[float, ...]

    @property
    def n_columns(self) -> int:
        """How many functions there are."""
        return len(self.value) // len(self.knots)


@dataclass(frozen=True)
class Feature:
    """A source column and how it becomes features.

    A number has no levels.  A category has its levels; the first is the reference and gets no
    column of its own.  With `other`, values that are no level share one more column.  `date` lists
    the parts that a date becomes.  `fill` is what missing numbers become, where they may be missing
    (of a date: seconds since 1970); numbers outside `limits` become the nearer of the two.  A
    number may have a `curve`, whose columns are after those of all features.
    """

    name: str
    levels: tuple[str, ...] = ()
    fill: float | None = None
    limits: tuple[float, float] | None = None
    other: bool = False
    date: tuple[str, ...] = ()
    curve: Curve | None = None

    @property
    def is_number(self) -> bool:
        """Whether it is one column, the numbers themselves."""
        return not self.levels and not self.date and self.curve is None

    @property
    def n_columns(self) -> int:
        """How many columns it becomes, without those of a curve."""
        if self.date:
            return sum(max(1, _DATE_PARTS[part][1] - 1) for part in self.date)
        return len(self.levels) - 1 + self.other if self.levels else 1


@contextmanager
def _in_python() -> Iterator[None]:
    """Give the library's advice in the words of Python."""
    try:
        yield
    except ValueError as problem:
        text = str(problem)
        for pattern, advice in _ADVICE:
            text = re.sub(pattern, advice, text)
        raise ValueError(text) from None


# ---- Tables of the library -----------------------------------------------------------------------


def _names(texts: list[str]) -> Any:
    return (ctypes.c_char_p * len(texts))(*[text.encode() for text in texts])


class LentTable:
    """Owns a ``pboost_table`` of these columns; use it in a with statement."""

    def __init__(self, columns: list[Cells]) -> None:
        lent = (_library.ColumnCells * max(1, len(columns)))()
        for to, cells in zip(lent, columns, strict=False):
            to.name = cells.name.encode()
            to.number, to.code = address(cells.number), address(cells.code)
            to.level, to.n_levels = _names(list(cells.levels)), len(cells.levels)
        categories = _names([cells.name for cells in columns if cells.category])
        options = _library.TableOptions(
            ctypes.sizeof(_library.TableOptions), categories, len(categories)
        )
        first = columns[0].number if columns[0].code is None else columns[0].code
        assert first is not None
        self.columns = columns
        self.rows = len(first)
        self.handle = ctypes.c_void_p()
        with _in_python():
            _check(
                lib.table_from_columns, self.handle, b"X", lent, len(columns), self.rows, options
            )

    def __enter__(self) -> LentTable:
        return self

    def __exit__(self, *_: Any) -> None:
        lib.table_free(self.handle)

    def describe(self, col: int) -> _library.ColumnInfo:
        """Return what a column is."""
        info = _library.ColumnInfo()
        lib.table_describe(info, self.handle, col)
        return info


# ---- Learning ------------------------------------------------------------------------------------


def date_parts(date: Any, names: list[str]) -> dict[str, int]:
    """Return the parts that each date becomes, as bits.

    Examples
    --------
    >>> from priorboost.encoding import date_parts
    >>> date_parts({"admitted": "days+month"}, ["admitted", "age"])
    {'admitted': 5}
    """
    if date is None:
        return {}
    if isinstance(date, str):
        date = [date]
    if not isinstance(date, (Mapping, list, tuple)):
        raise ValueError(
            f"date is {date!r}; it must be the name of a column, a list of names, or a dict such "
            "as {'admitted': 'days+month'}"
        )
    said = dict(date) if isinstance(date, Mapping) else dict.fromkeys(date, "days")
    out = {}
    for name, parts in said.items():
        if name not in names:
            raise ValueError(f"date names {name!r}; the columns of X are {', '.join(names)}")
        text = parts if isinstance(parts, str) else "+".join(parts)
        bits = ctypes.c_uint()
        try:
            _check(lib.date_parts_parse, bits, text.encode())
        except ValueError as problem:
            raise ValueError(f"date={{{name!r}: {parts!r}}}: {problem}") from None
        out[name] = bits.value
    return out


class _Choice:
    """Chooses which columns are features, and warns of what is unusual."""

    def __init__(self, dates: dict[str, int], keep: list[str]) -> None:
        self.dates, self.keep = dates, keep
        self.notes: list[str] = []

    def use(self, table: LentTable, col: int) -> bool:
        """Whether a column is a feature; dates that nobody spoke of are errors."""
        cells = table.columns[col]
        name, info = cells.name, table.describe(col)
        if info.kind == _library.COLUMN_EMPTY:
            self.notes.append(f"column '{name}' is missing in every row; it is left out")
            return False
        if info.kind == _library.COLUMN_ID and name not in self.keep:
            self.notes.append(
                f"the values of column '{name}' all differ, like ids; it is left out "
                f"(keep=['{name}'] makes it a feature)"
            )
            return False
        if info.kind == _library.COLUMN_DATE and name not in self.dates:
            raise ValueError(
                f"column '{name}' holds dates such as '{cells.levels[0]}'; say date=['{name}'] "
                f"(days since 1970), date={{'{name}': 'days+month+weekday'}}, or leave the column "
                "out"
            )
        if info.words:
            self.notes.append(
                f"column '{name}': {info.words} cells such as "
                f"'{info.word.decode('utf-8', 'replace')}' count as missing"
            )
        if info.decimal_comma:
            self.notes.append(
                f"column '{name}': its numbers have a decimal comma; where the comma separates "
                "thousands, read the file with pandas.read_csv(..., thousands=',')"
            )
        return True


def learn(
    X: Any,
    *,
    impute: Any,
    date: Any,
    keep: Any,
    unseen: Any,
    winsorize: float | None = None,
    smooth: bool = False,
) -> tuple[Encoding, Array, list[str]]:
    """Learn how the columns of a data frame become features; the features, and notes for the user.

    Parameters are those of `PriorBoostRegressor`; smooth: numbers get curves.
    """
    check_words(impute, unseen)
    names = names_of(X)
    keep = [keep] if isinstance(keep, str) else list(keep or ())
    for name in keep:
        if name not in names:
            raise ValueError(f"keep names {name!r}; the columns of X are {', '.join(names)}")
    if not names:
        raise ValueError("X has no columns; there is nothing to learn from")
    choice = _Choice(date_parts(date, names), keep)
    with LentTable([cells_of(X, name) for name in names]) as table:
        n = len(names)
        used = (ctypes.c_bool * n)(*[choice.use(table, j) for j in range(n)])
        if not any(used):
            raise ValueError(f"X: no column is left to learn from; {'; '.join(choice.notes)}")
        dates = (ctypes.c_uint * n)(*[choice.dates.get(name, 0) for name in names])
        options = _library.EncodingOptions(
            ctypes.sizeof(_library.EncodingOptions),
            used,
            dates,
            impute is not None,
            unseen == "error",
            _MOST_LEVELS,
        )
        learnt = _library.Encoding()
        with _in_python():
            _check(lib.encoding_learn, learnt, table.handle, options)
        encoding, values = _finish(learnt, table, winsorize, smooth)
    if not encoding.columns:
        raise ValueError("X: every column has one value only; there is nothing to learn")
    for feature in encoding.features:
        if feature.other:
            choice.notes.append(
                f"column '{feature.name}' has many categories: {len(feature.levels)} frequent ones "
                "get a weight each, the others share one"
            )
    return encoding, values, choice.notes


def _finish(
    learnt: _library.Encoding, table: LentTable, winsorize: float | None, smooth: bool
) -> tuple[Encoding, Array]:
    """Add limits and curves to an encoding, copy it, apply it to its table, and free it."""
    try:
        if winsorize is not None:
            _check(lib.encoding_winsorize, learnt, table.handle, winsorize)
        if smooth:
            _check(lib.encoding_curve, learnt, table.handle, 0, 1)
        return Encoding.read(learnt), _apply(learnt, table)[0]
    finally:
        lib.encoding_free(learnt)


def learn_curves(
    values: Array, names: list[str] | None, winsorize: float | None
) -> tuple[Encoding, Array]:
    """Learn the curves of an array of numbers; the encoding goes by the order of its columns.

    Examples
    --------
    >>> import numpy as np
    >>> from priorboost.encoding import learn_curves
    >>> encoding, values = learn_curves(np.arange(20.0).reshape(-1, 1), None, None)
    >>> encoding.columns[:2], encoding.n_curves
    (['x0', 's(x0).1'], 8)
    """
    names = names or [f"x{j}" for j in range(values.shape[1])]
    learnt = _library.Encoding()
    with LentTable(_number_cells(values, names)) as table:
        options = _library.EncodingOptions(
            ctypes.sizeof(_library.EncodingOptions), max_levels=_MOST_LEVELS
        )
        _check(lib.encoding_learn, learnt, table.handle, options)
        encoding, out = _finish(learnt, table, winsorize, smooth=True)
    encoding.by_position = True
    return encoding, out


def _number_cells(values: Array, names: list[str]) -> list[Cells]:
    columns = np.ascontiguousarray(values.T, dtype=np.float64)
    return [Cells(name, number=column) for name, column in zip(names, columns, strict=True)]


def check_words(impute: Any, unseen: Any) -> None:
    """Refuse words that are not known."""
    if impute not in (None, "mean"):
        raise ValueError(f"impute is {impute!r}; it must be 'mean' or None")
    if unseen not in ("baseline", "error"):
        raise ValueError(f"unseen is {unseen!r}; it must be 'baseline' or 'error'")


# ---- Using ---------------------------------------------------------------------------------------


def _apply(encoding: _library.Encoding, table: LentTable) -> tuple[Array, _library.Unseen]:
    out = np.empty((table.rows, encoding.n_columns))
    unseen = _library.Unseen()
    with _in_python():
        _check(lib.encoding_apply, address(out), unseen, encoding, table.handle)
    return out, unseen


@dataclass
class Encoding:
    """How the columns of a table become features, as the model file has it."""

    features: list[Feature]
    columns: list[str]
    unseen: str = "baseline"
    by_position: bool = False  # learnt from an array, whose columns have an order, not names

    @property
    def n_curves(self) -> int:
        """How many of the last columns are functions of curves."""
        return sum(f.curve.n_columns for f in self.features if f.curve is not None)

    def curve_of(self) -> Array:
        """Return the number of the curve of each of these columns."""
        sizes = [f.curve.n_columns for f in self.features if f.curve is not None]
        return np.repeat(np.arange(len(sizes), dtype=np.uintp), sizes)

    def category_of(self) -> Array:
        """Return by column which category it is a level of, from 1 upwards; 0: of none."""
        out = np.zeros(len(self.columns), dtype=np.uintp)
        lib.encoding_categories(address(out), self.lend())
        return out

    @classmethod
    def read(cls, encoding: _library.Encoding) -> Encoding:
        """Copy an encoding of the library."""
        return cls(
            _read_features(encoding),
            [encoding.column[j].decode() for j in range(encoding.n_columns)],
            "error" if encoding.refuse_unseen else "baseline",
        )

    def lend(self) -> _library.Encoding:
        """Describe it for the library."""
        features, lent = _lend_features(self.features)
        out = _library.Encoding(
            len(self.features),
            len(self.columns),
            features,
            _names(self.columns),
            self.unseen == "error",
            self.n_curves,
        )
        out.lent = lent  # lives as long
        return out

    def _lent(self, X: Any) -> LentTable:
        """Return the columns of a data frame as a table of the library."""
        names = names_of(X)
        columns = []
        for feature in self.features:
            if feature.name not in names:
                raise ValueError(
                    f"X has no column '{feature.name}', which the model was fitted on; its columns "
                    f"are {', '.join(names)}"
                )
            cells = cells_of(X, feature.name)
            convert = as_category if feature.levels else as_number
            columns.append(cells if feature.date else convert(cells))
        return LentTable(columns)

    def sources(self, X: Any) -> Sources:
        """Return the columns as trees take them: of a data frame, or of a matrix of numbers."""
        if is_table(X):
            with self._lent(X) as table, _in_python():
                return Sources.read(self.lend(), table.handle)
        if any(feature.levels or feature.date for feature in self.features):
            raise ValueError(
                "X is an array, but trees take categories and dates as they are: pass a data frame "
                f"with the columns {', '.join(feature.name for feature in self.features)}"
            )
        return Sources.of_numbers(np.asarray(X)[:, : len(self.features)])  # without curves

    def apply(self, X: Any) -> Array:
        """Return the features of a data frame; warn of categories that training had not."""
        with self._lent(X) as table:
            out, unseen = _apply(self.lend(), table)
            if unseen.cells:
                warn(
                    f"{unseen.cells} cells are categories that were not in training, such as "
                    f"'{unseen.level.decode('utf-8', 'replace')}' in column "
                    f"'{self.features[unseen.feature].name}'; they count as the first category"
                )
        return out

    def apply_numbers(self, values: Array) -> Array:
        """Return the features of an array that has the source columns, all of them numbers."""
        with LentTable(_number_cells(values, [f.name for f in self.features])) as table:
            return _apply(self.lend(), table)[0]

    def encode(self, X: Any) -> Array:
        """Return the features of a data frame, or of an array that has the encoded columns."""
        if is_table(X):
            return self.apply(X)
        try:
            values: Array = np.asarray(X)
            if values.dtype not in (np.float64, np.float32):
                values = values.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"X is a {type(X).__name__}; it must be a data frame of pandas, polars or pyarrow "
                "with the columns of training, or an array of numbers"
            ) from None
        if values.ndim != 2 or values.shape[1] != len(self.columns):
            raise ValueError(
                f"X has the shape {values.shape}; the model has {len(self.columns)} "
                f"columns: {', '.join(self.columns)}"
            )
        limits = self.limits()
        return values if limits is None else np.clip(values, *limits)

    def limits(self) -> tuple[Array, Array] | None:
        """Return the least and the greatest number of each encoded column; None: none has any."""
        if all(f.limits is None for f in self.features):
            return None
        pairs = [f.limits or (-np.inf, np.inf) for f in self.features for _ in range(f.n_columns)]
        pairs += [(-np.inf, np.inf)] * (len(self.columns) - len(pairs))  # of curves
        lower, upper = np.array(pairs).T
        return lower, upper


def _read_curve(curve: _library.Curve) -> Curve | None:
    if curve.n_knots == 0:
        return None
    sizes = (curve.n_knots, curve.n * curve.n_knots, curve.n * curve.n_knots)
    parts = zip((curve.knot, curve.value, curve.bend), sizes, strict=True)
    return Curve(*(tuple(_library.copy_array(at, n, np.float64).tolist()) for at, n in parts))


def _lend_curve(to: _library.Curve, curve: Curve) -> Any:
    """Describe a curve for the library; what is returned must outlive it."""
    parts = [np.array(part) for part in (curve.knots, curve.value, curve.bend)]
    to.n_knots, to.n = len(curve.knots), curve.n_columns
    to.knot, to.value, to.bend = map(address, parts)
    return parts


def _read_features(encoding: _library.Encoding) -> list[Feature]:
    out = []
    for i in range(encoding.n_features):
        f = encoding.feature[i]
        levels = tuple(f.level[j].decode() for j in range(f.n_levels))
        fill = f.fill if f.impute else None
        limits = (f.lower, f.upper) if f.winsorize else None
        date = tuple(part for part, (bit, _) in _DATE_PARTS.items() if f.date & bit)
        curve = _read_curve(f.curve)
        out.append(Feature(f.name.decode(), levels, fill, limits, f.other, date, curve))
    return out


def _lend_features(features: list[Feature]) -> tuple[Any, Any]:
    """Describe features for the library; both that are returned must outlive it."""
    out = (_library.Feature * len(features))()
    lent = []
    for to, f in zip(out, features, strict=True):
        to.name = f.name.encode()
        to.n_levels = len(f.levels)
        to.level = _names(list(f.levels))
        to.impute = f.fill is not None
        to.fill = f.fill or 0.0
        to.winsorize = f.limits is not None
        to.lower, to.upper = f.limits or (0.0, 0.0)
        to.other = f.other
        to.date = sum(_DATE_PARTS[part][0] for part in f.date)
        if f.curve is not None:
            lent.append(_lend_curve(to.curve, f.curve))
    return out, lent


def needs_encoding(X: Any, impute: Any, date: Any, keep: Any) -> bool:
    """Whether a data frame has more than numbers: text, dates, missing cells, ids."""
    said = {"impute": impute, "date": date, "keep": keep}
    named = [name for name, value in said.items() if value is not None]
    if named and not is_table(X):
        raise ValueError(
            f"{named[0]} is {said[named[0]]!r}, but X is no data frame of pandas, polars or "
            "pyarrow, whose columns have names and types"
        )
    if named or not is_table(X):
        return bool(named)
    names = list(X.column_names if hasattr(X, "column_names") else X.columns)
    if not all(isinstance(name, str) for name in names):  # then scikit-learn looks at numbers
        return not all(_is_number(X[name]) for name in names)
    return any(not (_is_number(X[name]) and _plain(cells_of(X, name))) for name in names)


def encoded(X: Any, date: Any) -> Any:
    """Return X, or the features of a data frame that needs an encoding; gaps are imputed."""
    X = open_table(X)
    if not needs_encoding(X, None, date, None):
        return X
    _, values, notes = learn(X, impute="mean", date=date, keep=None, unseen="baseline")
    for text in notes:
        warn(text)
    return values


def _is_number(column: Any) -> bool:
    dtype = str(getattr(column, "dtype", getattr(column, "type", ""))).lower()
    return dtype.startswith(("int", "uint", "float", "double", "halffloat"))


def _plain(cells: Cells) -> bool:
    """Whether a column is numbers that are used as they are."""
    values = cells.number
    return values is not None and not np.isnan(values).any() and not _like_ids(values)


def _like_ids(values: Array) -> bool:
    """Whether whole numbers all differ, in the 100 rows or more that make the library say so."""
    few = values[:1000]
    if len(values) < 100 or (few != np.floor(few)).any():
        return False
    if len(np.unique(few)) < len(few):
        return False
    return bool((values == np.floor(values)).all()) and len(np.unique(values)) == len(values)
