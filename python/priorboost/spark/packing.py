"""What tasks do with the table's rows: check them, pack them, and find the keys of slices.

The packed table is written once.  A row's features stay in its block from then on,
unless its bags are made from features or are fitted as a whole.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from . import pieces, tree
from .blocks import Array, Rows, batch_of, block_rows, by_part, every, unpack, whole
from .stages import Batches, arrived, buffered, in_blocks, in_span, marked, sent

KEY_BITS = 14  # of a key that say in which bucket it is
GROUP_BITS = 8  # of a key that say in which group of blocks it is
LEAST_ROWS = 1 << 9  # of a block, where there are that many

# The columns of blocks: of the packed table, and on their way.
PACKED = ("group", "last_group", "n", "id", "width", "key", "prior", "x")
LABELS = ("key", "answer")
KEYS = ("target", "n", "key")
SAMPLE = ("slice", "n", "key", "prior", "x")
SENT = ("target", "n", "id", "width", "key", "x")
PLACED = ("first", "n", "id", "width", "key", "x")


def checked_ids(column: Any) -> Any:
    """Return a column of ids as int64 or binary; refuses ids that are not valid."""
    if column.null_count > 0:
        raise ValueError("the id column has null cells; every row needs an id")
    if pa.types.is_integer(column.type):
        return column.cast(pa.int64())
    ids = column.cast(pa.binary())
    length = pc.binary_length(ids)
    if len(ids) > 0 and (pc.min(length).as_py() < 1 or pc.max(length).as_py() > 255):
        raise ValueError("an id has no or more than 255 bytes; ids have 1 to 255")
    if (whole(ids, np.uint8) == 0).any():
        raise ValueError("an id contains a zero byte")
    return ids


def _features_of(column: Any, d: int, ids: Any) -> Array:
    """Return a column of arrays as a matrix, without a copy; refuses cells that are not numbers."""
    n = len(column)
    if column.null_count > 0:
        bad = np.flatnonzero(~column.is_valid().to_numpy(zero_copy_only=False))[0]
        raise ValueError(f"the features of the row with id {text_of(ids[int(bad)])} are null")
    start = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + n + 1]
    lengths = np.diff(start)
    if (lengths != d).any():
        bad = int(np.flatnonzero(lengths != d)[0])
        raise ValueError(
            f"the row with id {text_of(ids[bad])} has {lengths[bad]} features, but others have {d}"
        )
    values = column.values[int(start[0]) : int(start[-1])]
    x: Array = values.to_numpy(zero_copy_only=False).reshape(n, d)
    if not np.isfinite(np.add.reduce(x, axis=None)):
        wrong = np.argwhere(~np.isfinite(x))
        if len(wrong) > 0:
            i, j = wrong[0]
            raise ValueError(
                f"feature {j} of the row with id {text_of(ids[int(i)])} is "
                f"{'null' if values.null_count else x[i, j]}; features must be finite numbers"
            )
    return x


def text_of(scalar: Any) -> str:
    """Return an id as messages show it."""
    value = scalar.as_py()
    return repr(value.decode("utf-8", "replace") if isinstance(value, bytes) else value)


def key_of(ids: Any, seed: int) -> Array:
    """Return the keys of ids: what the shuffle of the table sorts by."""
    return pieces.shuffle_keys(seed, 0, index=pieces.id_keys(ids))


def _bucket(key: Array) -> Array:
    return (key >> np.uint64(64 - KEY_BITS)).astype(np.int64)


def _rows_of(batch: Any, seed: int, d: int) -> Rows:
    """Return rows of the table, checked, with their keys."""
    ids = checked_ids(batch.column(0))
    x = _features_of(batch.column(1), d, ids)
    prior = None
    if batch.num_columns > 2:
        prior = batch.column(2).to_numpy(zero_copy_only=False)
        if not np.isfinite(prior).all():
            raise ValueError("the prior's scores must be finite numbers in every row")
    return Rows(len(ids), ids, key_of(ids, seed), prior=prior, x=x)


def _pack(batches: Batches, seed: int, d: int) -> Batches:
    """Put the table's rows into blocks of similar keys: a slice is a range of keys."""
    parts = (_rows_of(batch, seed, d) for batch in batches if batch.num_rows)
    for found in buffered(parts, 8 * d + 24):
        group = (found.key >> np.uint64(64 - GROUP_BITS)).astype(np.int64)
        rows, ends = by_part(found, group, 1 << GROUP_BITS)
        block_of, n = tree.merge_small(np.diff(ends, prepend=0), LEAST_ROWS)
        first, last = (np.searchsorted(block_of, np.arange(n), side) for side in ("left", "right"))
        yield rows.blocks(PACKED, ends[last - 1], group=first, last_group=last - 1)


def _count(batches: Batches) -> Batches:
    """Count rows by the first bits of their keys."""
    counts = np.zeros(1 << KEY_BITS, np.int64)
    longest = 20
    for batch in batches:
        counts += np.bincount(_bucket(whole(batch.column("key"), np.uint64)), minlength=len(counts))
        longest = max(longest, int(np.max(whole(batch.column("width"), np.uint8), initial=0)))
    cells = [pa.array([counts.astype(np.uint32).tobytes()]), pa.array([longest], pa.int32())]
    yield pa.RecordBatch.from_arrays(cells, names=["counts", "longest"])


def _labels(batches: Batches, seed: int) -> Batches:
    """Give keys and labels, for the driver that plays both parties."""
    for batch in batches:
        if batch.num_rows == 0:
            continue
        key = key_of(checked_ids(batch.column(0)), seed)
        label = batch.column(1)
        values = np.ascontiguousarray(label.to_numpy(zero_copy_only=False))
        if label.null_count > 0 or not np.isfinite(values).all():
            raise ValueError("the label column holds a null, NaN or infinity")
        yield batch_of(LABELS, [{"key": key, "answer": values}])


def _send_keys(batches: Batches, part_of: Array, label: Array) -> Batches:
    """Send keys to where they belong."""
    for batch in batches:
        key = whole(batch.column("key"), np.uint64)
        if len(key):
            yield sent(Rows(len(key), key=key), part_of[_bucket(key)], label, KEYS)


_REPEATED = -1  # the place of a key that several rows have


def _rank(batches: Batches, label: Array, first_of: Array, wanted: Array) -> Batches:
    """Give the keys at the places that are wanted, and those that several rows have."""
    found = arrived(batches, label, 0, None)
    if found is None:
        return
    key = np.sort(found[1].key)
    place = wanted - first_of[found[0]]
    place = place[(place >= 0) & (place < len(key))]
    again = key[1:][key[1:] == key[:-1]]
    places = np.concatenate([place + first_of[found[0]], np.full(len(again), _REPEATED)])
    keys = np.concatenate([key[place], again]).view(np.int64)
    yield pa.RecordBatch.from_arrays([pa.array(places), pa.array(keys)], names=["place", "key"])


def _named(batches: Batches, keys: Array) -> Batches:
    """Give the ids of the rows that have these keys."""
    for batch in batches:
        rows = unpack(batch)
        rows = rows.take(np.flatnonzero(np.isin(rows.key, keys)))
        ids = [str(i.decode("utf-8", "replace") if isinstance(i, bytes) else i)
               for i in rows.id.to_pylist()]  # fmt: skip
        keys_here = pa.array(rows.key.view(np.int64))
        yield pa.RecordBatch.from_arrays([keys_here, pa.array(ids, pa.string())], ["key", "id"])


def _sample(batches: Batches, d: int, spans: list[tuple[int, int]]) -> Batches:
    """Give the rows at the first positions of their slices."""
    for batch in batches:
        rows = unpack(batch, d)
        for t, span in enumerate(spans):
            some = in_span(rows, span)
            if some.n:
                yield some.blocks(SAMPLE, np.array([some.n]), slice=[t])


def _send(batches: Batches, d: int, span: tuple[int, int], part_of: Array, label: Array) -> Batches:
    """Send the rows of a slice to where their keys belong."""
    for batch in batches:
        rows = in_span(unpack(batch, d), span)
        if rows.n:
            yield sent(rows, part_of[_bucket(rows.key)], label, SENT)


def _place(batches: Batches, d: int, label: Array, first_of: Array) -> Batches:
    """Put the rows of one part in the order of their keys: they then know their positions."""
    found = arrived(batches, label, d, None)
    if found is None:
        return
    part, rows = found
    ends = every(rows.n, block_rows(8 * d + 24))
    first = first_of[part] + np.concatenate([[0], ends[:-1]])
    yield from in_blocks(rows, pieces.order_keys(rows.key), PLACED, ends, first=first)


pack = marked(_pack)
count = marked(_count)
labels = marked(_labels)
send_keys = marked(_send_keys)
rank = marked(_rank)
named = marked(_named)
send = marked(_send)
place = marked(_place)
sample = marked(_sample)
