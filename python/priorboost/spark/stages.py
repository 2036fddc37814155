"""What tasks do with blocks: functions for ``mapInArrow``, from batches to batches.

Every function gives the same output for the same rows, in any order of blocks and however often
Spark runs it: a repeated task has the same result.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .. import errors
from . import pieces
from .blocks import (
    BUFFER_ROWS,
    Array,
    Rows,
    batch_of,
    block_rows,
    by_part,
    concat,
    numbers,
    unpack,
    whole,
)

Batches = Iterator[Any]
Stage = Callable[[Batches], Batches]

KEY_BITS = 14  # of a key that say in which bucket it is


# ---- Errors that come through Spark --------------------------------------------------------------

_MARK = "priorboost says "
_KINDS: dict[str, type[Exception]] = {
    "ValueError": ValueError,
    "PrivacyError": errors.PrivacyError,
    "OracleError": errors.OracleError,
}


def marked(stage: Callable[..., Batches]) -> Callable[..., Stage]:
    """Make a maker of stages whose errors the driver can read, from a stage with arguments."""

    @functools.wraps(stage)
    def make(*arguments: Any) -> Stage:
        def run(batches: Batches) -> Batches:
            try:
                yield from stage(batches, *arguments)
            except tuple(_KINDS.values()) as error:
                text = json.dumps([type(error).__name__, str(error)])
                raise RuntimeError(_MARK + text) from None

        return run

    return make


def reraise(error: Exception) -> None:
    """Raise the error of a task, if it is in the error that Spark raised."""
    if "No module named 'priorboost" in str(error):
        raise RuntimeError(
            "the Python of the executors has no priorboost: install the package wherever executors "
            "run, and set PYSPARK_PYTHON to that Python before Spark starts"
        ) from error
    for line in re.findall(re.escape(_MARK) + r"(\[.*\])", str(error)):
        try:
            kind, text = json.loads(line)
        except ValueError:
            continue
        raise _KINDS.get(kind, RuntimeError)(text) from error


# ---- The table's rows ----------------------------------------------------------------------------


def _ids_of(column: Any) -> Any:
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
        raise ValueError(f"the features of the row with id {_text(ids[int(bad)])} are null")
    start = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + n + 1]
    lengths = np.diff(start)
    if (lengths != d).any():
        bad = int(np.flatnonzero(lengths != d)[0])
        raise ValueError(
            f"the row with id {_text(ids[bad])} has {lengths[bad]} features, but others have {d}"
        )
    values = column.values[int(start[0]) : int(start[-1])]
    x: Array = values.to_numpy(zero_copy_only=False).reshape(n, d)
    if not np.isfinite(np.add.reduce(x, axis=None)):
        wrong = np.argwhere(~np.isfinite(x))
        if len(wrong) > 0:
            i, j = wrong[0]
            raise ValueError(
                f"feature {j} of the row with id {_text(ids[int(i)])} is "
                f"{'null' if values.null_count else x[i, j]}; features must be finite numbers"
            )
    return x


def _text(scalar: Any) -> str:
    value = scalar.as_py()
    return repr(value.decode("utf-8", "replace") if isinstance(value, bytes) else value)


def _key_of(ids: Any, seed: int) -> Array:
    return pieces.shuffle_keys(seed, 0, index=pieces.id_keys(ids))


def _bucket(key: Array) -> Array:
    return (key >> np.uint64(64 - KEY_BITS)).astype(np.int64)


def _count(batches: Batches, seed: int) -> Batches:
    """Count rows by the first bits of their keys."""
    counts = np.zeros(1 << KEY_BITS, np.int64)
    longest = 20
    for batch in batches:
        ids = _ids_of(batch.column(0))
        counts += np.bincount(_bucket(_key_of(ids, seed)), minlength=len(counts))
        if len(ids) > 0 and not pa.types.is_int64(ids.type):
            longest = max(longest, pc.max(pc.binary_length(ids)).as_py())
    used = np.flatnonzero(counts)
    yield pa.RecordBatch.from_arrays(
        [
            pa.array(used.astype(np.int32)),
            pa.array(counts[used]),
            pa.array(np.full(len(used), longest, np.int32)),
        ],
        names=["bucket", "rows", "longest"],
    )


def _labels(batches: Batches, seed: int) -> Batches:
    """Give keys and labels, for the driver that plays both parties."""
    names = ("order", "prior")
    for batch in batches:
        if batch.num_rows == 0:
            continue
        key = _key_of(_ids_of(batch.column(0)), seed)
        label = batch.column(1)
        values = np.ascontiguousarray(label.to_numpy(zero_copy_only=False))
        if label.null_count > 0 or not np.isfinite(values).all():
            raise ValueError("the label column holds a null, NaN or infinity")
        yield batch_of(names, [{"order": key, "prior": values}])


def _gathered(parts: Iterator[tuple[Rows, Array]]) -> Iterator[tuple[int, Rows]]:
    """Send rows to their parts, many at a time."""
    buffer: list[Rows] = []
    where: list[Array] = []
    waiting = 0

    def flush() -> Iterator[tuple[int, Rows]]:
        if buffer:
            yield from by_part(concat(buffer), np.concatenate(where))

    for rows, part in parts:
        buffer.append(rows)
        where.append(part)
        waiting += rows.n
        if waiting >= BUFFER_ROWS:
            yield from flush()
            buffer, where, waiting = [], [], 0
    yield from flush()


def _send(batches: Batches, seed: int, d: int, part_of: Array, label: Array) -> Batches:
    """Send the table's rows to where their keys belong."""
    names = ("target", "n", "id", "width", "order", "prior", "x")

    def parts() -> Iterator[tuple[Rows, Array]]:
        for batch in batches:
            if batch.num_rows == 0:
                continue
            ids = _ids_of(batch.column(0))
            x = _features_of(batch.column(1), d, ids)
            key = _key_of(ids, seed)
            prior = None
            if batch.num_columns > 2:
                prior = batch.column(2).to_numpy(zero_copy_only=False)
                if not np.isfinite(prior).all():
                    raise ValueError("the prior's scores must be finite numbers in every row")
            yield Rows(len(ids), ids, None, key, prior, x), part_of[_bucket(key)]

    for part, rows in _gathered(parts()):
        yield batch_of(names, [rows.pack(names, target=int(label[part]))])


def _settle(batches: Batches, d: int, label: Array, first_of: Array, slices: Array) -> Batches:
    """Put the rows of one partition in the order of their keys and cut them into slices."""
    names = ("slice", "first", "n", "id", "width", "prior", "x")
    arrived = list(batches)
    if not any(batch.num_rows for batch in arrived):
        return
    part = int(np.flatnonzero(label == numbers(arrived[0], "target")[0])[0])
    rows = concat([unpack(batch, d, np.uint64) for batch in arrived if batch.num_rows])
    expected = int(first_of[part + 1] - first_of[part])
    if rows.n != expected:
        raise ValueError(
            f"the table has changed while it was read: {rows.n} rows where {expected} were "
            "counted; write it or persist it before fitting"
        )
    order = pieces.order_keys(rows.order)
    key = rows.order[order]
    order = _untie(order, key, rows.id)
    size = block_rows(d)
    at = int(first_of[part])
    for t in range(len(slices) - 1):
        low, high = max(at, int(slices[t])), min(at + rows.n, int(slices[t + 1]))
        for first in range(low, high, size):
            some = rows.take(order[first - at : min(first + size, high) - at])
            yield batch_of(names, [some.pack(names, slice=t, first=first - int(slices[t]))])


def _untie(order: Array, key: Array, ids: Any) -> Array:
    """Order rows of equal keys by their ids; two rows of one id are an error."""
    for i in np.flatnonzero(key[1:] == key[:-1]):
        first, second = (ids[int(order[j])].as_py() for j in (i, i + 1))
        if first == second:
            shown = first.decode("utf-8", "replace") if isinstance(first, bytes) else first
            raise ValueError(f"the id '{shown}' names two rows; ids must be unique")
        if first > second:
            order[i], order[i + 1] = order[i + 1], order[i]
    return order


def _sample(batches: Batches, d: int, limit: int) -> Batches:
    """Give the rows at the first positions of their slices."""
    names = ("slice", "first", "n", "prior", "x")
    for batch in batches:
        for i in range(batch.num_rows):
            one = batch.slice(i, 1)
            first = int(numbers(one, "first")[0])
            if first >= limit:
                continue
            rows = unpack(one, d)
            some = rows.take(slice(0, min(rows.n, limit - first)))
            t = int(numbers(one, "slice")[0])
            yield batch_of(names, [some.pack(names, slice=t, first=first)])


# ---- One round's order ---------------------------------------------------------------------------

_LARGEST_SCORE = 1e100  # as in evaluate.c: a Poisson mean that overflows is just very large


def score(x: Array, family: int, weights: Array) -> Array:
    """Return the predicted means that bags are made by."""
    return np.minimum(pieces.predict_mean(x, family, weights), _LARGEST_SCORE)


class ByScore:
    """Orders rows by (score, position); the borders between parts come from a sample."""

    dtype = np.float64

    def __init__(self, family: int, weights: Array | None, sample: Array, n_parts: int) -> None:
        self.family, self.weights = family, weights
        order, scores = pieces.order_scores(sample)
        at = np.arange(1, n_parts) * len(sample) // n_parts
        self.score, self.row = scores[at], order[at]

    def values(self, rows: Rows) -> Any:
        """Return what the rows are ordered by."""
        if self.weights is None:
            return rows.prior
        return score(rows.x, self.family, self.weights)

    def part(self, rows: Rows) -> Any:
        """Return which part each row belongs to."""
        low = np.searchsorted(self.score, rows.order, "left")
        high = np.searchsorted(self.score, rows.order, "right")
        for i in np.flatnonzero(low < high):  # borders of the same score differ by position
            low[i] += np.searchsorted(self.row[low[i] : high[i]], rows.row[i], "right")
        return low

    def order(self, rows: Rows) -> tuple[Array, Array | None]:
        """Return the rows' order, and the sizes of the bags where that fixes them."""
        return pieces.order_scores(rows.order)[0], None


class AtRandom:
    """Orders rows by a key that is drawn for their position."""

    dtype = np.uint64

    def __init__(self, seed: int, n_parts: int) -> None:
        self.seed = seed
        borders = [p * 2**64 // n_parts for p in range(1, n_parts)]
        self.border = np.array(borders, np.uint64)

    def values(self, rows: Rows) -> Any:
        """Return what the rows are ordered by."""
        return pieces.shuffle_keys(self.seed, 0, index=rows.row.view(np.uint64))

    def part(self, rows: Rows) -> Any:
        """Return which part each row belongs to."""
        return np.searchsorted(self.border, rows.order, "right")

    def order(self, rows: Rows) -> tuple[Array, Array | None]:
        """Return the rows' order, and the sizes of the bags where that fixes them."""
        return pieces.order_keys(rows.order), None


class ByFeatures:
    """Puts rows of similar features together: the upper levels of the tree say which part."""

    dtype = np.float64

    def __init__(
        self, router: Any, part_of: Array | None, family: int, weights: Array | None, bag_size: int
    ) -> None:
        self.router, self.part_of = router, part_of
        self.family, self.weights, self.bag_size = family, weights, bag_size
        self.scored = weights is not None

    def values(self, rows: Rows) -> Any:
        """Return the scores that hybrid bags take into account, or zeros."""
        if self.weights is None:
            return np.zeros(rows.n)
        return score(rows.x, self.family, self.weights)

    def part(self, rows: Rows) -> Any:
        """Return which part each row belongs to."""
        leaf: Array = self.router.leaf(rows.x)
        return leaf if self.part_of is None else self.part_of[leaf]

    def order(self, rows: Rows) -> tuple[Array, Array | None]:
        """Return the rows' order, and the sizes of the bags."""
        scores = rows.order if self.scored else None
        return pieces.tree_bags(rows.x, scores, self.family, self.bag_size)


def _spread(batches: Batches, d: int, how: Any, label: Array) -> Batches:
    """Score a slice and send its rows to their parts."""
    names = ("target", "n", "id", "width", "row", "order", "x")

    def parts() -> Iterator[tuple[Rows, Array]]:
        for batch in batches:
            if batch.num_rows == 0:
                continue
            rows = unpack(batch, d)
            rows.row = _positions(batch)
            rows.order, rows.prior = how.values(rows), None
            yield rows, how.part(rows)

    for part, rows in _gathered(parts()):
        yield batch_of(names, [rows.pack(names, target=int(label[part]))])


def _positions(batch: Any) -> Array:
    """Return the positions of all rows of a batch of blocks."""
    first, n = numbers(batch, "first"), numbers(batch, "n")
    return np.concatenate([np.arange(f, f + c) for f, c in zip(first, n, strict=True)])


def _leaves(batches: Batches, d: int, router: Any) -> Batches:
    """Count rows by leaf of the tree's upper levels."""
    counts = np.zeros(router.n_leaves, np.int64)
    for batch in batches:
        if batch.num_rows:
            leaf = router.leaf(unpack(batch, d).x)
            counts += np.bincount(leaf, minlength=len(counts))
    yield pa.RecordBatch.from_arrays(
        [pa.array(np.arange(len(counts), dtype=np.int32)), pa.array(counts)],
        names=["leaf", "rows"],
    )


def _arrange(batches: Batches, d: int, how: Any, label: Array) -> Batches:
    """Put the rows of one part in order."""
    names = ("part", "first", "n", "low", "high", "id", "width", "row", "order", "x", "sizes")
    arrived = [batch for batch in batches if batch.num_rows]
    if not arrived:
        return
    part = int(np.flatnonzero(label == numbers(arrived[0], "target")[0])[0])
    rows = concat([unpack(batch, d, how.dtype) for batch in arrived])
    by_position = pieces.order_keys(rows.row.view(np.uint64))
    rows.row, rows.order = rows.row[by_position], rows.order[by_position]
    if isinstance(how, ByFeatures):
        rows.x = rows.x[by_position]
        order, sizes = how.order(rows)
        from_arrival = order
    else:
        order, sizes = how.order(rows)
        from_arrival = by_position[order]
    rows.row, rows.order = rows.row[order], rows.order[order]
    if rows.id is not None:
        rows.id = rows.id.take(pa.array(by_position[order]))
    size = block_rows(d)
    for first in range(0, rows.n, size):
        end = min(first + size, rows.n)
        some = Rows(
            end - first,
            None if rows.id is None else rows.id[first:end],
            rows.row[first:end],
            rows.order[first:end],
            None,
            rows.x[from_arrival[first:end]],
        )
        block = some.pack(
            names,
            part=part,
            first=first,
            low=float(np.min(some.order)),
            high=float(np.max(some.order)),
        )
        if first == 0 and sizes is not None:
            block["sizes"] = sizes
        yield batch_of(names, [block])


# ---- Cuts ----------------------------------------------------------------------------------------


def _scores(batches: Batches, offset: Array, first: Array, last: Array, label: Array) -> Batches:
    """Send scores to the chunks they belong to; chunks overlap."""
    names = ("target", "first", "n", "order")
    for batch in batches:
        rows = unpack(batch)
        at = 0
        blocks = []
        for part, low, n in zip(
            numbers(batch, "part"), numbers(batch, "first"), numbers(batch, "n"), strict=True
        ):
            begin = int(offset[part] + low)
            here = rows.order[at : at + n]
            at += n
            for c in np.flatnonzero((first < begin + n) & (last > begin)):
                a, b = max(begin, int(first[c])), min(begin + n, int(last[c]))
                some = Rows(b - a, order=here[a - begin : b - begin])
                blocks.append(some.pack(names, target=int(label[c]), first=a))
        if blocks:
            yield batch_of(names, blocks)


def _in_order(arrived: list[Any]) -> tuple[int, Array]:
    """Join blocks of scores; gives the position of the first."""
    cells = [
        (int(f), cell)
        for batch in arrived
        for f, cell in zip(numbers(batch, "first"), batch.column("order"), strict=True)
    ]
    cells.sort(key=lambda item: item[0])
    values = [np.frombuffer(cell.as_buffer(), np.float64) for _, cell in cells]
    return cells[0][0], np.concatenate(values)


def _cut(
    batches: Batches,
    first: Array,
    last: Array,
    bag_size: int,
    scale: float,
    how: Array,
    label: Array,
) -> Batches:
    """Cut one chunk of sorted scores."""
    names = ("part", "cuts")
    arrived = [batch for batch in batches if batch.num_rows]
    if not arrived:
        return
    c = int(np.flatnonzero(label == numbers(arrived[0], "target")[0])[0])
    begin, scores = _in_order(arrived)
    if begin != first[c] or len(scores) != last[c] - first[c]:
        raise ValueError(f"chunk {c} has {len(scores)} scores from {begin} on")
    cuts = pieces.cut_piece(scores, bag_size, scale, int(how[c])) + begin
    yield batch_of(names, [{"part": c, "cuts": cuts}])


# ---- Questions and answers -----------------------------------------------------------------------


def _compose(
    batches: Batches, offset: Array, border: Array, label: Array, names: tuple[str, ...], d: int
) -> Batches:
    """Send rows to the questions they belong to; question q is about positions border[q] on."""
    for batch in batches:
        rows = unpack(batch, d)
        at = 0
        blocks = []
        for part, low, n in zip(
            numbers(batch, "part"), numbers(batch, "first"), numbers(batch, "n"), strict=True
        ):
            begin = int(offset[part] + low)
            q = int(np.searchsorted(border, begin, "right")) - 1
            while q < len(border) - 1 and border[q] < begin + n:
                a, b = max(begin, int(border[q])), min(begin + n, int(border[q + 1]))
                some = rows.take(slice(at + a - begin, at + b - begin))
                target = int(label[q % len(label)])
                blocks.append(some.pack(names, target=target, question=q, first=a))
                q += 1
            at += n
        if blocks:
            yield batch_of(names, blocks)


def _finish(
    batches: Batches,
    border: Array,
    cuts: Any,
    scored: bool,
    names: tuple[str, ...],
    d: int,
    first_bag: int,
) -> Batches:
    """Put the rows of each question into their bags."""
    parts: dict[int, list[tuple[int, Rows]]] = {}
    for batch in batches:
        for i in range(batch.num_rows):
            one = batch.slice(i, 1)
            q = int(numbers(one, "question")[0])
            parts.setdefault(q, []).append((int(numbers(one, "first")[0]), unpack(one, d)))
    all_cuts = cuts.value
    for q, found in sorted(parts.items()):
        found.sort(key=lambda item: item[0])
        rows = concat([some for _, some in found])
        if rows.n != border[q + 1] - border[q]:
            raise ValueError(f"question {q} has {rows.n} rows of {border[q + 1] - border[q]}")
        low, high = np.searchsorted(all_cuts, border[q : q + 2])
        sizes = np.diff(all_cuts[low : high + 1]).astype(np.uint32)
        spread = None
        if scored:
            spread = pieces.within(rows.order, sizes)
        bag = first_bag + int(low)
        block = rows.pack(names, question=q, bag=bag, sizes=sizes, within=spread)
        yield batch_of(names, [block])


def _ask(batches: Batches, service: Any) -> Batches:
    """Ask a service about questions, one after the other."""
    names = ("question", "answers")
    with service.session() as session:
        for batch in batches:
            for i in range(batch.num_rows):
                q, ids, width, sizes = (
                    batch.column(name)[i].as_py() for name in ("question", "id", "width", "sizes")
                )
                answers = session.ask(ids, width, np.frombuffer(sizes, np.uint32))
                yield batch_of(names, [{"question": q, "answers": answers}])


count = marked(_count)
labels = marked(_labels)
send = marked(_send)
settle = marked(_settle)
sample = marked(_sample)
spread = marked(_spread)
leaves = marked(_leaves)
arrange = marked(_arrange)
scores = marked(_scores)
cut = marked(_cut)
compose = marked(_compose)
finish = marked(_finish)
ask = marked(_ask)

__all__ = [
    "AtRandom",
    "ByFeatures",
    "ByScore",
    "arrange",
    "ask",
    "compose",
    "count",
    "cut",
    "finish",
    "labels",
    "leaves",
    "marked",
    "reraise",
    "sample",
    "score",
    "scores",
    "send",
    "settle",
    "spread",
]
