"""Blocks: many rows packed into one record, between tasks and in files.

Spark moves records; a record per row would cost it more than all of the arithmetic.  A block holds
its rows' features as one sequence of doubles, row by row, and also ids, row numbers and scores.  In
a batch of blocks, Arrow keeps the bytes of one column one after the other, so that the features of
all its rows are one array, which the library reads in place.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Array = npt.NDArray[Any]

# The columns that blocks may have: their type in Spark's words.
COLUMNS = {
    "target": "int",  # what sends a block to its partition, see `labels`
    "group": "int",  # the first bits of the rows' keys: of the least and of the greatest
    "last_group": "int",
    "slice": "int",  # the round that uses the rows
    "part": "int",  # partition of the round's order
    "question": "int",
    "bag": "bigint",  # number of the first bag
    "first": "bigint",  # position of the first row, in its slice or part; or what blocks sort by
    "n": "int",  # rows
    "low": "double",  # least and greatest value of `order`
    "high": "double",
    "within": "double",
    "id": "binary",  # int64, or texts one after the other
    "width": "binary",  # bytes of each text; null where ids are numbers
    "key": "binary",  # uint64: what the shuffle of the table sorts by
    "row": "binary",  # int64: position in the slice, or the number of the row's bag
    "order": "binary",  # float64 score, or uint64 key of a random order
    "prior": "binary",  # float64
    "x": "binary",  # float64, row by row
    "answer": "binary",  # float64: of the row's bag
    "sizes": "binary",  # uint32: rows of each bag
    "cuts": "binary",  # int64
    "bags": "binary",  # int64: first bag and number of bags, block by block
    "sums": "binary",  # float64
    "moments": "binary",  # float64
    "answers": "binary",  # float64
    "counts": "binary",  # uint32: entries of each sparse row
    "columns": "binary",  # uint32: of the entries
    "values": "binary",  # float64: of the entries
    "head": "string",  # of the oracle's ledger
    "edge_order": "binary",  # of the first row of each bag: its order and its key
    "edge_key": "binary",
}
_ARROW = {
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "binary": pa.binary(),
    "string": pa.string(),
}
_OF_ROWS = ("key", "row", "order", "prior", "answer", "x")

BLOCK_BYTES = 1 << 18  # of a block
BATCH_BYTES = 1 << 26  # that a task gathers, or gives at once


def schema(*names: str) -> str:
    """Return the schema of blocks with these columns, for Spark."""
    return ", ".join(f"`{name}` {COLUMNS[name]}" for name in names)


def batch_of(names: Iterable[str], blocks: list[dict[str, Any]]) -> pa.RecordBatch:
    """Return blocks as one Arrow batch; bytes are NumPy arrays, those of one block not copied."""
    columns = [(name, _ARROW[COLUMNS[name]]) for name in names]
    arrays = [_cells([block.get(name) for block in blocks], kind) for name, kind in columns]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(columns))


def _cells(values: list[Any], kind: pa.DataType) -> pa.Array:
    if not pa.types.is_binary(kind):
        return pa.array(values, kind)
    if len(values) == 1 and values[0] is not None:
        return _binary(values[0], np.array([0, values[0].nbytes]))
    return pa.array([None if v is None else v.tobytes() for v in values], kind)


def _binary(data: Array, at: Array) -> pa.Array:
    """Return bytes as cells that begin at `at`, without copying them."""
    offsets = pa.py_buffer(at.astype(np.int32))
    buffer = pa.py_buffer(np.ascontiguousarray(data))
    return pa.Array.from_buffers(pa.binary(), len(at) - 1, [None, offsets, buffer])


def block_rows(width: int) -> int:
    """Return how many rows of this many bytes a block holds."""
    return max(16, BLOCK_BYTES // width)


def whole(column: Any, dtype: Any) -> Array:
    """Return the cells of a binary column, one after the other, without copying them."""
    _, offsets, data = column.buffers()
    if len(column) == 0 or data is None:
        return np.empty(0, dtype)
    at = np.frombuffer(offsets, np.int32)
    first, end = int(at[column.offset]), int(at[column.offset + len(column)])
    return np.frombuffer(data, np.uint8)[first:end].view(dtype)


# ---- Rows in memory ------------------------------------------------------------------------------


@dataclass
class Rows:
    """Rows of one or more blocks, by column; a column that a stage does not need is None."""

    n: int
    id: Any = None  # Arrow array, int64 or binary
    key: Any = None
    row: Any = None
    order: Any = None
    prior: Any = None
    answer: Any = None
    x: Any = None

    def take(self, index: Array) -> Rows:
        """Return rows by number."""
        ids = None if self.id is None else self.id.take(pa.array(index))
        columns = [getattr(self, name) for name in _OF_ROWS]
        # NumPy's take copies rows of a matrix three times as fast as an index in brackets.
        taken = [None if column is None else column.take(index, axis=0) for column in columns]
        return Rows(len(index), ids, *taken)

    def blocks(self, names: Iterable[str], ends: Array, **values: Any) -> pa.RecordBatch:
        """Return the rows as blocks that end at `ends`, and values of each block."""
        at = np.concatenate([[0], ends]).astype(np.int64)
        columns = [(name, _ARROW[COLUMNS[name]]) for name in names]
        ids = {} if self.id is None else _packed_ids(self.id, at)
        arrays = []
        for name, kind in columns:
            column = getattr(self, name) if name in _OF_ROWS else None
            if name in values:
                arrays.append(pa.array(values[name], kind))
            elif name == "n":
                arrays.append(pa.array(np.diff(at), kind))
            elif name in ids:
                arrays.append(ids[name])
            elif column is None:
                arrays.append(pa.nulls(len(ends), kind))
            else:
                arrays.append(_binary(column, at * (column.nbytes // max(self.n, 1))))
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(columns))


def concat(parts: list[Rows]) -> Rows:
    """Return all rows in one."""
    if len(parts) == 1:
        return parts[0]

    def join(name: str) -> Array | None:
        columns = [getattr(part, name) for part in parts]
        return None if columns[0] is None else np.concatenate(columns)

    ids = None if parts[0].id is None else pa.concat_arrays([part.id for part in parts])
    return Rows(sum(part.n for part in parts), ids, *[join(name) for name in _OF_ROWS])


def _packed_ids(ids: Any, at: Array) -> dict[str, pa.Array]:
    """Return ids as the columns of blocks."""
    if pa.types.is_int64(ids.type):
        return {"id": _binary(ids.to_numpy(zero_copy_only=False), 8 * at)}
    start = np.frombuffer(ids.buffers()[1], np.int32)[ids.offset : ids.offset + len(ids) + 1]
    text = whole(ids, np.uint8)
    width = np.diff(start).astype(np.uint8)
    return {"id": _binary(text, start[at] - start[0]), "width": _binary(width, at)}


def _ids(data: Array, width: Array | None) -> Any:
    """Return the ids of `_packed_ids`."""
    if width is None:
        return pa.array(data.view(np.int64))
    start = np.zeros(len(width) + 1, np.int64)
    np.cumsum(width, out=start[1:])
    return _binary(data, start)


def unpack(batch: Any, d: int = 0, order: Any = np.float64) -> Rows:
    """Return the rows of all blocks of a batch; features are not copied."""
    names = set(batch.schema.names)

    def column(name: str, dtype: Any) -> Array | None:
        if name not in names or batch.column(name).null_count > 0:
            return None
        return whole(batch.column(name), dtype)

    data = column("id", np.uint8)
    x = column("x", np.float64)
    return Rows(
        int(pc.sum(batch.column("n")).as_py() or 0),
        None if data is None else _ids(data, column("width", np.uint8)),
        column("key", np.uint64),
        column("row", np.int64),
        column("order", order),
        column("prior", np.float64),
        column("answer", np.float64),
        None if x is None else x.reshape(-1, d),
    )


def numbers(batch: Any, name: str) -> Array:
    """Return a column of plain numbers."""
    out: Array = batch.column(name).to_numpy(zero_copy_only=False)
    return out


def by_part(rows: Rows, part: Array, n_parts: int) -> tuple[Rows, Array]:
    """Sort rows by the part they belong to, keeping their order within; and where parts end."""
    small = part.astype(np.uint16) if n_parts <= 1 << 16 else part  # NumPy sorts these by radix
    order = np.argsort(small, kind="stable")
    return rows.take(order), np.cumsum(np.bincount(part, minlength=n_parts))


def every(n: int, size: int) -> Array:
    """Return where blocks of this many rows end."""
    return np.append(np.arange(size, n, size), n)


def bag_borders(cuts: Array, most: int) -> Array:
    """Return where pieces of whole bags begin, and where the last ends: as many rows as fit.

    Examples
    --------
    >>> import numpy as np
    >>> from priorboost.spark.blocks import bag_borders
    >>> bag_borders(np.array([0, 3, 6, 20, 22]), 7).tolist()
    [0, 6, 20, 22]
    """
    border = [0]
    while border[-1] < cuts[-1]:
        at = int(np.searchsorted(cuts, border[-1] + most, "right")) - 1
        here = int(np.searchsorted(cuts, border[-1]))
        border.append(int(cuts[max(at, here + 1)]))
    return np.array(border)


# ---- Partitions by number ------------------------------------------------------------------------


def _hash(values: Array) -> Array:
    """Return what Spark's hash (Murmur 3, seed 42) makes of 32-bit integers."""
    with np.errstate(over="ignore"):
        k = values.astype(np.uint32) * np.uint32(0xCC9E2D51)
        k = (k << np.uint32(15) | k >> np.uint32(17)) * np.uint32(0x1B873593)
        h = k ^ np.uint32(42)
        h = (h << np.uint32(13) | h >> np.uint32(19)) * np.uint32(5) + np.uint32(0xE6546B64)
        h ^= np.uint32(4)
        h = (h ^ h >> np.uint32(16)) * np.uint32(0x85EBCA6B)
        h = (h ^ h >> np.uint32(13)) * np.uint32(0xC2B2AE35)
        out: Array = h ^ h >> np.uint32(16)
    return out.view(np.int32)


def labels(n_parts: int) -> Array:
    """Return numbers that Spark's hash partitioning sends to partitions 0, 1, ..., n_parts - 1.

    Examples
    --------
    >>> from priorboost.spark.blocks import labels
    >>> labels(4).tolist()
    [12, 6, 2, 0]
    """
    out = np.full(n_parts, -1, np.int32)
    first, step = 0, 8 * n_parts
    while (out < 0).any():
        values = np.arange(first, first + step, dtype=np.int32)
        where = _hash(values).astype(np.int64) % n_parts
        found, at = np.unique(where, return_index=True)
        new = out[found] < 0
        out[found[new]] = values[at[new]]
        first += step
    return out
