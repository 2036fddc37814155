"""Data frames of pandas, polars and pyarrow, and Parquet and Arrow files, as columns of cells.

A column is numbers, or texts by their codes.  What texts mean (numbers, categories, dates, ids) the
library decides, as it does for the cells of a CSV file.
"""

from __future__ import annotations

import datetime
import decimal
import importlib
import math
import numbers
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
MISSING = np.uint32(2**32 - 1)
_FILES = {".parquet": "parquet", ".feather": "arrow", ".arrow": "arrow", ".ipc": "arrow"}


@dataclass
class Cells:
    """The cells of a column: numbers, or codes of levels; category: whatever they look like."""

    name: str
    number: Array | None = None
    code: Array | None = None
    levels: tuple[str, ...] = ()
    category: bool = False


# ---- Tables --------------------------------------------------------------------------------------


def need(module: str, extra: str | None, what: str) -> Any:
    """Return a module that an extra installs; say how to install it where it is missing."""
    try:
        return importlib.import_module(module)
    except ImportError as problem:
        package = module.partition(".")[0]
        install = package if extra is None else f"'priorboost[{extra}]'"
        raise ImportError(f"{what} needs {package}: pip install {install}") from problem


def is_table(X: Any) -> bool:
    """Whether X is a data frame: it has columns with names."""
    return package_of(X) in ("pandas", "polars", "pyarrow") and (
        hasattr(X, "columns") or hasattr(X, "column_names")
    )


def package_of(X: Any) -> str:
    """Return the package that the type of X comes from."""
    return type(X).__module__.split(".")[0]


def names_of(table: Any) -> list[str]:
    """Return the names of the columns of a data frame."""
    names = table.column_names if package_of(table) == "pyarrow" else list(table.columns)
    for name in names:
        if not isinstance(name, str):
            raise ValueError(
                f"a column of X is named {name!r}; columns of a table that is not all numbers need "
                "names that are texts: X.columns = [...]"
            )
    return [str(name) for name in names]


def open_table(X: Any) -> Any:
    """Return X; where it is the path of a Parquet or Arrow file, its table."""
    if not isinstance(X, (str, os.PathLike)):
        return X
    kind = _FILES.get(Path(X).suffix.lower())
    if kind is None:
        raise ValueError(
            f"X is {os.fspath(X)!r}; a path must end in {', '.join(_FILES)}; read a CSV file with "
            "pandas.read_csv, and pass the table"
        )
    if kind == "parquet":
        return need("pyarrow.parquet", "parquet", "a Parquet file").read_table(X)
    return need("pyarrow.feather", "parquet", "an Arrow file").read_table(X)


def values_of(table: Any, name: str) -> Any:
    """Return a column as what takes one value per row: a Series of pandas, or an array."""
    column = table[name]
    package = package_of(table)
    if package == "pandas":
        return column
    return column.to_numpy() if package == "polars" else column.to_numpy(zero_copy_only=False)


def _find(table: Any, name: str, role: str) -> None:
    if not is_table(table):
        raise ValueError(
            f"{role} is {name!r}, the name of a column, but X is no data frame; pass one value per "
            "row"
        )
    names = names_of(table)
    if name not in names:
        raise ValueError(f"{role} is {name!r}; the columns of X are {', '.join(names)}")


def column_or_values(table: Any, values: Any, role: str) -> Any:
    """Return values; where they are the name of a column, that column."""
    if not isinstance(values, str):
        return values
    _find(table, values, role)
    return values_of(table, values)


def take_columns(table: Any, roles: dict[str, Any]) -> tuple[Any, dict[str, Any], dict[str, str]]:
    """Return the table without the columns that have a role, the values, and the columns' names.

    Examples
    --------
    >>> import pandas as pd
    >>> from priorboost.tables import take_columns
    >>> patients = pd.DataFrame({"age": [31, 54], "died": ["no", "yes"]})
    >>> X, values, names = take_columns(patients, {"y": "died", "weight": None})
    >>> list(X), values["y"].tolist(), names
    (['age'], ['no', 'yes'], {'y': 'died'})
    """
    names = {role: name for role, name in roles.items() if isinstance(name, str)}
    values = {role: column_or_values(table, value, role) for role, value in roles.items()}
    if names:
        kept = [name for name in names_of(table) if name not in names.values()]
        table = table[kept] if package_of(table) != "pyarrow" else table.select(kept)
    return table, values, names


# ---- Cells ---------------------------------------------------------------------------------------


def _time_text(time: datetime.datetime, name: str) -> str:
    if time.tzinfo is not None:
        raise ValueError(
            f"column '{name}' holds times with a time zone; remove it, for example with "
            f"X['{name}'].dt.tz_localize(None) in pandas"
        )
    return time.isoformat(sep=" ", timespec="seconds")


def _text(cell: Any, name: str) -> str | None:
    """Return a cell as a CSV file would have it; None: it is missing."""
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(cell, (bool, np.bool_)):
        return "True" if cell else "False"
    if isinstance(cell, numbers.Integral):
        return str(int(cell))
    if isinstance(cell, numbers.Real):
        value = float(cell)
        if math.isnan(value):
            return None
        return str(int(value)) if value.is_integer() else repr(value)
    if isinstance(cell, decimal.Decimal):
        return str(cell)
    if isinstance(cell, datetime.datetime):
        return _time_text(cell, name)
    if isinstance(cell, datetime.date):
        return cell.isoformat()
    raise ValueError(
        f"column '{name}' holds {cell!r}, of type {type(cell).__name__}; it must be a number, a "
        "text, a truth value or a date: convert the column, or leave it out"
    )


def _level(category: Any, name: str) -> str | None:
    """Return a category of pandas, which may be anything, such as an interval."""
    plain = isinstance(category, (numbers.Number, datetime.date))
    return _text(category, name) if plain else str(category)


def _as_texts(
    values: Iterable[Any], name: str, read: Callable[[Any, str], str | None] = _text
) -> tuple[Array, tuple[str, ...]]:
    """Return the code of each cell and the different texts, in the order of appearance."""
    number: dict[str | None, int] = {None: int(MISSING)}
    codes = []
    for cell in values:
        text = cell if type(cell) is str else read(cell, name)
        code = number.get(text)
        if code is None:
            code = number[text] = len(number) - 1
        codes.append(code)
    levels = tuple(text for text in number if text is not None)
    if any("\0" in text for text in levels):
        raise ValueError(f"column '{name}' has a text with a NUL character; remove it")
    return np.array(codes, dtype=np.uint32), levels


def _times(values: Array, name: str) -> Cells:
    """Return dates and times (datetime64) as the texts that the library reads."""
    seconds = values.astype("datetime64[s]")
    known = ~np.isnat(seconds)
    code = np.full(len(seconds), MISSING)
    different, code[known] = np.unique(seconds[known], return_inverse=True)
    days = different.astype("datetime64[D]")
    times = np.datetime_as_string(days if (days == different).all() else different)
    texts = (str(time).replace("T", " ") for time in times)
    return Cells(name, code=code, levels=tuple(texts))


def _from_values(column: Any, name: str) -> Cells:
    """Read a column of polars or pyarrow, or of objects in pandas."""
    is_category = str(getattr(column, "dtype", getattr(column, "type", ""))).lower()
    values = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
    code, levels = _as_texts(values, name)
    return Cells(name, None, code, levels, is_category.startswith(("cat", "enum", "dictionary")))


def _from_pandas(column: Any, name: str) -> Cells:
    kind = getattr(column.dtype, "kind", "O")
    if str(column.dtype) == "category":
        code, levels = _as_texts(column.cat.categories.tolist(), name, _level)
        at = column.cat.codes.to_numpy()
        return Cells(name, None, np.where(at < 0, MISSING, code[at]), levels, True)
    if getattr(column.dtype, "tz", None) is not None:
        _time_text(datetime.datetime.now(datetime.timezone.utc), name)
    if kind in "iuf":
        return Cells(name, column.to_numpy(dtype=np.float64, na_value=math.nan))
    if column.dtype == bool:
        return Cells(name, None, column.to_numpy().astype(np.uint32), ("False", "True"))
    if kind == "M":
        return _times(column.to_numpy(dtype="datetime64[ns]"), name)
    return _from_values(column, name)


def cells_of(table: Any, name: str) -> Cells:
    """Return the cells of the column of this name."""
    column = table[name]
    package = package_of(table)
    if getattr(column, "ndim", 1) != 1:
        raise ValueError(f"two columns of X are named '{name}'; rename one of them")
    if package == "pandas":
        return _from_pandas(column, name)
    kind = str(column.dtype if package == "polars" else column.type).lower()
    if kind.startswith(("int", "uint", "float", "double", "halffloat")):
        values = column.to_numpy() if package == "polars" else column.to_numpy(zero_copy_only=False)
        return Cells(name, np.asarray(values, dtype=np.float64))
    return _from_values(column, name)


def as_category(cells: Cells) -> Cells:
    """Return cells as texts, for a column that was a category in training."""
    if cells.number is None:
        return Cells(cells.name, None, cells.code, cells.levels, True)
    code, levels = _as_texts(cells.number.tolist(), cells.name)
    return Cells(cells.name, None, code, levels, True)


def as_number(cells: Cells) -> Cells:
    """Return truth values as 0 and 1, for a column that was a number in training."""
    if cells.code is None or not cells.levels or not set(cells.levels) <= {"False", "True"}:
        return cells
    values = np.array([*(float(level == "True") for level in cells.levels), math.nan])
    return Cells(cells.name, values[np.minimum(cells.code, len(cells.levels))])
