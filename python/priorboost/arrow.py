"""Tables by the Arrow C stream interface: polars, pyarrow and others that have it.

Their columns are separate in memory, so they are gathered into one array.  Null cells are an error,
as NaN is in an array.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from ctypes import POINTER, Structure, c_char_p, c_int, c_int64, c_void_p
from typing import Any

import numpy as np
import numpy.typing as npt

from ._library import capsule_pointer

Array = npt.NDArray[Any]


class _Schema(Structure):
    pass


_Schema._fields_ = [
    ("format", c_char_p),
    ("name", c_char_p),
    ("metadata", c_void_p),
    ("flags", c_int64),
    ("n_children", c_int64),
    ("children", POINTER(POINTER(_Schema))),
    ("dictionary", c_void_p),
    ("release", ctypes.CFUNCTYPE(None, POINTER(_Schema))),
    ("private_data", c_void_p),
]


class _Column(Structure):
    pass


_Column._fields_ = [
    ("length", c_int64),
    ("null_count", c_int64),
    ("offset", c_int64),
    ("n_buffers", c_int64),
    ("n_children", c_int64),
    ("buffers", POINTER(c_void_p)),
    ("children", POINTER(POINTER(_Column))),
    ("dictionary", c_void_p),
    ("release", ctypes.CFUNCTYPE(None, POINTER(_Column))),
    ("private_data", c_void_p),
]


class _Stream(Structure):
    pass


_Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(c_int, POINTER(_Stream), POINTER(_Schema))),
    ("get_next", ctypes.CFUNCTYPE(c_int, POINTER(_Stream), POINTER(_Column))),
    ("get_last_error", ctypes.CFUNCTYPE(c_char_p, POINTER(_Stream))),
    ("release", ctypes.CFUNCTYPE(None, POINTER(_Stream))),
    ("private_data", c_void_p),
]

_ARROW_NUMBERS = {
    "g": "f8",
    "f": "f4",
    "e": "f2",
    "l": "i8",
    "L": "u8",
    "i": "i4",
    "I": "u4",
    "s": "i2",
    "S": "u2",
    "c": "i1",
    "C": "u1",
}


def _view(buffer: int, count: int, dtype: str) -> Array:
    width = np.dtype(dtype).itemsize
    memory = (ctypes.c_char * (count * width)).from_address(buffer)
    out: Array = np.frombuffer(memoryview(memory), dtype=dtype, count=count)
    return out


def _bits(buffer: int, first: int, n: int) -> Array:
    packed = _view(buffer, (first + n + 7) // 8, "u1")
    return np.unpackbits(packed, bitorder="little")[first : first + n]


def _has_nulls(column: _Column, first: int, n: int) -> bool:
    if column.null_count == 0 or not column.buffers[0]:
        return False
    return not _bits(column.buffers[0], first, n).all()


def _fill_column(out: Array, column: _Column, first: int, kind: str, name: str) -> None:
    """Copy cells of a column from position `first` on; `out` says how many."""
    n, first = len(out), first + column.offset
    if n == 0:
        return
    if _has_nulls(column, first, n):
        raise ValueError(f"column '{name}' has null cells; fill or drop them (NaN is not a number)")
    if kind == "b":
        out[:] = _bits(column.buffers[1], first, n)
    else:
        out[:] = _view(column.buffers[1], first + n, _ARROW_NUMBERS[kind])[first:]


def _next_chunk(stream: _Stream) -> _Column | None:
    chunk = _Column()
    if stream.get_next(ctypes.byref(stream), ctypes.byref(chunk)):
        said = stream.get_last_error(ctypes.byref(stream))
        raise ValueError(f"the Arrow stream failed: {said.decode() if said else 'no reason given'}")
    return chunk if chunk.release else None


def _chunks(stream: _Stream) -> Iterator[_Column]:
    while (chunk := _next_chunk(stream)) is not None:
        yield chunk


def _columns(schema: _Schema) -> tuple[list[str], list[str]]:
    if schema.format != b"+s":
        raise ValueError("the Arrow stream is not a table: its items are not records of columns")
    fields = [schema.children[j].contents for j in range(schema.n_children)]
    names = [field.name.decode() for field in fields]
    kinds = [field.format.decode() for field in fields]
    for name, kind, field in zip(names, kinds, fields, strict=True):
        if (kind not in _ARROW_NUMBERS and kind != "b") or field.dictionary:
            raise ValueError(
                f"column '{name}' has the Arrow type '{kind}', which is not a number; "
                "encode it first, for example with OneHotEncoder"
            )
    return names, kinds


def _read_stream(stream: _Stream) -> tuple[Array, list[str]]:
    schema = _Schema()
    chunks: list[_Column] = []
    if stream.get_schema(ctypes.byref(stream), ctypes.byref(schema)):
        raise ValueError("the Arrow stream has no schema")
    try:
        names, kinds = _columns(schema)
        chunks.extend(_chunks(stream))
        single = bool(kinds) and all(kind in "fe" for kind in kinds)
        rows = sum(chunk.length for chunk in chunks)
        X = np.empty((rows, len(names)), np.float32 if single else np.float64, order="F")
        at = 0
        for chunk in chunks:
            for j, kind in enumerate(kinds):
                column = chunk.children[j].contents
                cells = X[at : at + chunk.length, j]
                _fill_column(cells, column, chunk.offset, kind, names[j])
            at += chunk.length
        return X, names
    finally:
        for chunk in chunks:
            chunk.release(ctypes.byref(chunk))
        schema.release(ctypes.byref(schema))


def from_arrow(table: Any) -> tuple[Array, list[str]]:
    """Return the cells and the column names of a table with the Arrow C stream interface.

    Parameters
    ----------
    table : object with ``__arrow_c_stream__``
        A polars or pyarrow table of numbers and booleans without nulls.

    Returns
    -------
    X : ndarray of shape (n_rows, n_columns), column-major
    names : list of str

    Examples
    --------
    >>> import polars as pl
    >>> from priorboost.arrow import from_arrow
    >>> X, names = from_arrow(pl.DataFrame({"age": [31.0, 54.0], "smoker": [True, False]}))
    >>> X
    array([[31.,  1.],
           [54.,  0.]])
    >>> names
    ['age', 'smoker']
    """
    capsule = table.__arrow_c_stream__()
    stream = _Stream.from_address(capsule_pointer(capsule, b"arrow_array_stream"))
    return _read_stream(stream)  # the capsule releases the stream


def is_arrow(X: Any) -> bool:
    """Whether X is read by its Arrow stream; scikit-learn reads pandas by itself."""
    return hasattr(X, "__arrow_c_stream__") and type(X).__module__.split(".")[0] != "pandas"
