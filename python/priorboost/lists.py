"""Sparse rows from Arrow lists, by the Arrow C interface: pyarrow, polars and others that have it.

The buffers of indices and values become those of a CSR array of SciPy.  They are not copied, except
where a type must be converted or where a column has several chunks.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np

from ._library import capsule_pointer
from .arrow import _ARROW_NUMBERS, Array, _chunks, _Column, _has_nulls, _Schema, _Stream

_OFFSETS = {"+l": "i4", "+L": "i8"}
_FIELDS = "the first field of entries", "the second field of entries"
_MOST_COLUMNS = 2**31 - 1  # int32 indices, as SciPy has them


class _Chunk:
    """An array of the Arrow C interface, alive as long as this or a view of its buffers is."""

    def __init__(self, array: _Column, owner: Any) -> None:
        self.array, self.owner = array, owner

    def __del__(self) -> None:
        if self.owner is None and self.array.release:  # of a stream: nobody else releases it
            self.array.release(ctypes.byref(self.array))

    def view(self, array: _Column, first: int, n: int, dtype: str) -> Array:
        if n == 0:
            return np.empty(0, dtype)
        width = np.dtype(dtype).itemsize
        memory = (ctypes.c_char * (n * width)).from_address(array.buffers[1] + first * width)
        memory.chunk = self  # type: ignore[attr-defined]
        out: Array = np.frombuffer(memoryview(memory), dtype)
        out.flags.writeable = False
        return out


def _read(lists: Any, name: str) -> Iterator[tuple[_Schema, _Chunk]]:
    if hasattr(lists, "__arrow_c_array__"):
        schema, array = lists.__arrow_c_array__()
        described = _Schema.from_address(capsule_pointer(schema, b"arrow_schema"))
        column = _Column.from_address(capsule_pointer(array, b"arrow_array"))
        yield described, _Chunk(column, array)
        return
    if not hasattr(lists, "__arrow_c_stream__"):
        raise TypeError(
            f"{name} is a {type(lists).__name__}; it must be an Arrow array of lists, such as a "
            "pyarrow.ListArray or a column of a pyarrow or polars table"
        )
    capsule = lists.__arrow_c_stream__()
    stream = _Stream.from_address(capsule_pointer(capsule, b"arrow_array_stream"))
    described = _Schema()
    if stream.get_schema(ctypes.byref(stream), ctypes.byref(described)):
        raise ValueError(f"the Arrow stream of {name} has no schema")
    try:
        for column in _chunks(stream):
            yield described, _Chunk(column, None)
    finally:
        described.release(ctypes.byref(described))


def _offsets(chunk: _Chunk, kind: str, name: str) -> Array:
    """Return where the lists of the rows begin in their items, and where the last one ends."""
    a = chunk.array
    if _has_nulls(a, a.offset, a.length):
        raise ValueError(f"{name} has rows that are null; an empty list is a row without entries")
    if a.length == 0:
        return np.zeros(1, _OFFSETS[kind])
    return chunk.view(a, a.offset, a.length + 1, _OFFSETS[kind])


def _cells(chunk: _Chunk, column: _Column, kind: str, at: slice, name: str) -> Array:
    """Return the numbers of a column of items from at.start to at.stop."""
    n, first = at.stop - at.start, column.offset + at.start
    if n > 0 and _has_nulls(column, first, n):
        raise ValueError(f"{name} has cells that are null; leave such entries out")
    return chunk.view(column, first, n, _ARROW_NUMBERS[kind])


def _item(schema: _Schema, name: str) -> _Schema:
    kind = schema.format.decode()
    if kind not in _OFFSETS:
        raise ValueError(f"{name} has the Arrow type '{kind}'; it must be list or large_list")
    item: _Schema = schema.children[0].contents
    return item


def _number(schema: _Schema, name: str) -> str:
    kind: str = schema.format.decode()
    if kind not in _ARROW_NUMBERS or schema.dictionary:
        raise ValueError(f"{name} has items of the Arrow type '{kind}'; they must be numbers")
    return kind


def _lists(lists: Any, name: str) -> Iterator[tuple[Array, Array]]:
    """Yield offsets from 0 and numbers, chunk by chunk, of lists of numbers."""
    for schema, chunk in _read(lists, name):
        kind = _number(_item(schema, name), name)
        offsets = _offsets(chunk, schema.format.decode(), name)
        at = slice(int(offsets[0]), int(offsets[-1]))
        items = _cells(chunk, chunk.array.children[0].contents, kind, at, name)
        yield offsets - offsets[0] if at.start > 0 else offsets, items


def _entries(lists: Any) -> Iterator[tuple[Array, Array, Array]]:
    """Yield offsets from 0, indices and values, chunk by chunk, of lists of structs."""
    for schema, chunk in _read(lists, "entries"):
        item = _item(schema, "entries")
        if item.format != b"+s" or item.n_children != 2:
            raise ValueError(
                f"entries has items of the Arrow type '{item.format.decode()}'; without values "
                "they must be structs of an index and a value"
            )
        offsets = _offsets(chunk, schema.format.decode(), "entries")
        structs = chunk.array.children[0].contents
        at = slice(int(offsets[0]) + structs.offset, int(offsets[-1]) + structs.offset)
        if at.stop > at.start and _has_nulls(structs, at.start, at.stop - at.start):
            raise ValueError("entries has items that are null; leave such entries out")
        kinds = [_number(item.children[j].contents, _FIELDS[j]) for j in (0, 1)]
        index, value = (
            _cells(chunk, structs.children[j].contents, kinds[j], at, _FIELDS[j]) for j in (0, 1)
        )
        yield offsets - offsets[0] if offsets[0] > 0 else offsets, index, value


def _join(parts: list[Array], dtype: Any) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts or [np.empty(0, dtype)])


def _join_offsets(parts: list[Array]) -> Array:
    if len(parts) == 1:
        return parts[0]
    lengths: Array = np.concatenate([[0], *(np.diff(p) for p in parts)])
    return np.cumsum(lengths, dtype=np.int64)


def _row_of(offsets: Array, position: int) -> int:
    return int(np.searchsorted(offsets, position, side="right")) - 1


def _check_indices(index: Array, offsets: Array, columns: int) -> None:
    if index.dtype.kind not in "iu":
        raise ValueError(f"indices are {index.dtype}; they must be whole numbers (integer types)")
    wrong = np.flatnonzero((index < 0) | (index >= columns))
    if wrong.size:
        raise ValueError(
            f"row {_row_of(offsets, wrong[0])}: index {index[wrong[0]]} is out of range; it must "
            f"be from 0 to {columns - 1}"
        )
    falls = index[1:] <= index[:-1]
    inner = offsets[1:-1]
    falls[inner[(inner > 0) & (inner < index.size)] - 1] = False  # the next row may begin anywhere
    wrong = np.flatnonzero(falls)
    if wrong.size:
        before, after = index[wrong[0]], index[wrong[0] + 1]
        said = "is repeated" if before == after else f"stands after {before}"
        raise ValueError(
            f"row {_row_of(offsets, wrong[0])}: index {after} {said}; the indices of a row must "
            "ascend, each once"
        )


def _check_lengths(index: Array, value: Array) -> None:
    if len(index) != len(value):
        raise ValueError(f"entries has {len(index) - 1} rows, but values has {len(value) - 1}")
    wrong = np.flatnonzero(np.diff(index) != np.diff(value))
    if wrong.size:
        i = wrong[0]
        raise ValueError(
            f"row {i} has {np.diff(index)[i]} indices, but {np.diff(value)[i]} values; each index "
            "needs one value"
        )


def arrow_rows(entries: Any, values: Any = None, *, columns: int | None = None) -> Any:
    """Return Arrow lists as the rows of a sparse array, without a copy of indices and values.

    Parameters
    ----------
    entries : Arrow array of lists
        One list by row: structs of an index and a value; or, with ``values``, indices.  Indices
        start at 0 and ascend.  A pyarrow.ListArray or LargeListArray, a column of a pyarrow or
        polars table, or any object with the Arrow C interface.
    values : Arrow array of lists, optional
        The values, one list by row.
    columns : int, optional
        How many columns there are; by default as many as the largest index says.  Name it if other
        rows, such as those to predict, may have larger indices.

    Returns
    -------
    scipy.sparse.csr_array
        It uses the memory of the lists.  Indices that are not int32 or uint32, values that are not
        float32 or float64, 64-bit offsets and columns of several chunks are copied.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from priorboost import arrow_rows
    >>> rows = arrow_rows(pa.array([[0, 2], [], [1]]), pa.array([[1.0, 0.5], [], [2.0]]), columns=4)
    >>> rows.toarray()
    array([[1. , 0. , 0.5, 0. ],
           [0. , 0. , 0. , 0. ],
           [0. , 2. , 0. , 0. ]])
    """
    from scipy.sparse import csr_array

    if values is None:
        parts = list(_entries(entries))
        offsets = _join_offsets([p[0] for p in parts])
        index, value = (_join([p[j] for p in parts], t) for j, t in ((1, np.int32), (2, float)))
    else:
        ours, theirs = list(_lists(entries, "entries")), list(_lists(values, "values"))
        offsets, other = (_join_offsets([p[0] for p in parts]) for parts in (ours, theirs))
        index, value = _join([p[1] for p in ours], np.int32), _join([p[1] for p in theirs], float)
        _check_lengths(offsets, other)
    if columns is None:
        columns = int(index.max()) + 1 if index.size else 0
    if not 0 < columns <= _MOST_COLUMNS:
        raise ValueError(f"there are {columns} columns; there must be from 1 to {_MOST_COLUMNS}")
    _check_indices(index, offsets, columns)
    index = index.view(np.int32) if index.dtype == np.uint32 else index.astype(np.int32, copy=False)
    if value.dtype not in (np.float32, np.float64):
        value = value.astype(np.float64)
    if index.size < 2**31:
        offsets = offsets.astype(np.int32, copy=False)
    out = csr_array((value, index, offsets), shape=(len(offsets) - 1, columns), copy=False)
    out.has_canonical_format = True
    return out
