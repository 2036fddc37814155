"""What tasks do with blocks: functions for ``mapInArrow``, from batches to batches.

Every function gives the same output for the same rows, in any order of blocks and however often
Spark runs it: a repeated task has the same result.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from .. import errors
from . import pieces
from .blocks import (
    BATCH_BYTES,
    Array,
    Rows,
    bag_borders,
    batch_of,
    block_rows,
    by_part,
    concat,
    every,
    numbers,
    unpack,
)

Batches = Iterator[Any]
Stage = Callable[[Batches], Batches]


# The columns of blocks: in the order of a round, on their way to be cut, and with whole bags.
ORDER = ("part", "first", "n", "low", "high", "id", "width", "key", "order")
SCORES = ("target", "part", "first", "order")
BAGS = ("part", "bag", "n", "x", "sizes")


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


# ---- Rows on their way ---------------------------------------------------------------------------


def buffered(parts: Iterator[Rows], width: int) -> Iterator[Rows]:
    """Join rows of `width` bytes, many at a time."""
    buffer: list[Rows] = []
    for rows in parts:
        buffer.append(rows)
        if sum(some.n for some in buffer) * width >= BATCH_BYTES:
            yield concat(buffer)
            buffer = []
    if buffer:
        yield concat(buffer)


def sent(rows: Rows, part: Array, label: Array, names: tuple[str, ...]) -> Any:
    """Return rows as blocks, one for each part that has any."""
    rows, ends = by_part(rows, part, len(label))
    used = np.flatnonzero(np.diff(ends, prepend=0))
    return rows.blocks(names, ends[used], target=label[used])


def arrived(batches: Batches, label: Array, d: int, order: Any) -> tuple[int, Rows] | None:
    """Return the number of the part that blocks were sent to, and their rows."""
    found = [batch for batch in batches if batch.num_rows]
    if not found:
        return None
    part = int(np.flatnonzero(label == numbers(found[0], "target")[0])[0])
    return part, concat([unpack(batch, d, order) for batch in found])


def in_span(rows: Rows, span: tuple[int, int]) -> Rows:
    """Return the rows whose keys are in a range."""
    keep = (rows.key >= np.uint64(span[0])) & (rows.key <= np.uint64(span[1]))
    return rows if keep.all() else rows.take(np.flatnonzero(keep))


def in_blocks(
    rows: Rows, order: Array, names: tuple[str, ...], ends: Array, **values: Any
) -> Batches:
    """Give rows in this order as blocks that end at `ends`, some blocks at a time."""
    width = 24 if rows.x is None else 24 + 8 * rows.x.shape[1]
    begin = low = 0
    while low < len(ends):
        fits = int(np.searchsorted(ends, begin + BATCH_BYTES // width, "right"))
        high = max(low + 1, fits)
        some = rows.take(order[begin : ends[high - 1]])
        here = {name: value[low:high] for name, value in values.items()}
        yield some.blocks(names, ends[low:high] - begin, **here)
        begin, low = int(ends[high - 1]), high


# ---- One round's order ---------------------------------------------------------------------------

_LARGEST_SCORE = 1e100  # as in evaluate.c: a Poisson mean that overflows is just very large


class GLMScore:
    """Scores rows by their predicted means."""

    def __init__(self, family: int, weights: Array) -> None:
        self.family, self.weights = family, weights

    def of(self, x: Array) -> Array:
        """Return the scores of rows."""
        return np.minimum(pieces.predict_mean(x, self.family, self.weights), _LARGEST_SCORE)


def not_after(order: Array, key: Array, of: Array, of_key: Array) -> Array:
    """Return how many of the sorted pairs (order, key) are at most (of, of_key), pair by pair."""
    high: Array = np.searchsorted(order, of, "right")
    if len(order) == 0:
        return high
    tied = np.flatnonzero((high > 0) & (order[np.maximum(high, 1) - 1] == of))
    # Between low and high all have the same value of order: halve by the keys.
    low, up = np.searchsorted(order, of[tied], "left"), high[tied]
    while (open_ := low < up).any():
        middle = (low + up) // 2
        below = open_ & (key[np.minimum(middle, len(key) - 1)] <= of_key[tied])
        low = np.where(below, middle + 1, low)
        up = np.where(open_ & ~below, middle, up)
    high[tied] = low
    return high


class ByScore:
    """Orders rows by (score, key); the borders between parts come from a sample.

    Without a score the rows are ordered by those of their prior.
    """

    dtype = np.float64
    names = ORDER

    def __init__(self, score: Any, sample: Array, keys: Array, n_parts: int) -> None:
        self.score_of = score
        order, scores = pieces.order_scores(sample)  # the sample is in the order of its keys
        at = np.arange(1, n_parts) * len(sample) // n_parts
        self.score, self.key = scores[at], keys[order[at]]

    def values(self, rows: Rows) -> Any:
        """Return what the rows are ordered by."""
        return rows.prior if self.score_of is None else self.score_of.of(rows.x)

    def part(self, rows: Rows) -> Any:
        """Return which part each row belongs to."""
        return not_after(self.score, self.key, rows.order, rows.key)

    def order(self, rows: Rows) -> tuple[Array, Array | None]:
        """Return the rows' order, and the sizes of the bags where that fixes them."""
        return pieces.order_scores(rows.order)[0], None


class AtRandom:
    """Orders rows by a key that is drawn for their position."""

    dtype = np.uint64
    names = ORDER

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
    names = (*ORDER, "bag", "x", "sizes")

    def __init__(
        self, router: Any, part_of: Array | None, family: int, score: Any, bag_size: int
    ) -> None:
        self.router, self.part_of = router, part_of
        self.family, self.score_of, self.bag_size = family, score, bag_size

    def values(self, rows: Rows) -> Any:
        """Return the scores that hybrid bags take into account, or zeros."""
        return np.zeros(rows.n) if self.score_of is None else self.score_of.of(rows.x)

    def part(self, rows: Rows) -> Any:
        """Return which part each row belongs to."""
        leaf: Array = self.router.leaf(rows.x)
        return leaf if self.part_of is None else self.part_of[leaf]

    def order(self, rows: Rows) -> tuple[Array, Array | None]:
        """Return the rows' order, and the sizes of the bags."""
        scores = None if self.score_of is None else rows.order
        return pieces.tree_bags(rows.x, scores, self.family, self.bag_size)


def rows_in(batch: Any, d: int, span: tuple[int, int] | None) -> Rows:
    """Return the rows of a slice: of the packed table, or of blocks in order, with positions."""
    rows = unpack(batch, d)
    if span is not None:
        return in_span(rows, span)
    first, n = numbers(batch, "first"), numbers(batch, "n")
    rows.row = np.concatenate([np.arange(f, f + c) for f, c in zip(first, n, strict=True)])
    return rows


def spread_names(how: Any) -> tuple[str, ...]:
    """Return the columns that are sent to the parts of an order."""
    return "target", "n", "id", "width", "key", "order", *(("x",) if "x" in how.names else ())


def _spread(
    batches: Batches, d: int, how: Any, span: tuple[int, int] | None, label: Array
) -> Batches:
    """Score a slice and send what the order needs to its parts; features stay, if they can."""
    names = spread_names(how)
    moved = "x" in names

    def parts() -> Iterator[Rows]:
        for batch in batches:
            rows = rows_in(batch, d, span) if batch.num_rows else None
            if rows is not None and rows.n:
                rows.order = how.values(rows)
                rows.row = rows.prior = None
                yield rows if moved else dataclasses.replace(rows, x=None)

    for rows in buffered(parts(), 24 + 8 * d * moved):
        yield sent(rows, how.part(rows), label, names)


def _leaves(batches: Batches, d: int, router: Any, span: tuple[int, int]) -> Batches:
    """Count rows by leaf of the tree's upper levels."""
    counts = np.zeros(router.n_leaves, np.int64)
    for batch in batches:
        if batch.num_rows:
            leaf = router.leaf(in_span(unpack(batch, d), span).x)
            counts += np.bincount(leaf, minlength=len(counts))
    yield pa.RecordBatch.from_arrays(
        [pa.array(np.arange(len(counts), dtype=np.int32)), pa.array(counts)],
        names=["leaf", "rows"],
    )


def _arrange(batches: Batches, d: int, how: Any, label: Array) -> Batches:
    """Put the rows of one part in order."""
    found = arrived(batches, label, d, how.dtype)
    if found is None:
        return
    part, rows = found
    rows = rows.take(pieces.order_keys(rows.key))
    order, sizes = how.order(rows)
    values: dict[str, Any] = {}
    if sizes is None:
        ends = every(rows.n, block_rows(24))
    else:
        ends, values["bag"], values["sizes"] = whole_bags(sizes, d)
    first = np.concatenate([[0], ends[:-1]])
    low, high = (rows.order[order[at]].astype(np.float64) for at in (first, ends - 1))
    values |= {"low": low, "high": high}
    values |= {"part": np.full(len(ends), part), "first": first}
    yield from in_blocks(rows, order, how.names, ends, **values)


def whole_bags(sizes: Array, d: int) -> tuple[Array, Array, list[bytes]]:
    """Return where blocks of whole bags end, their first bags, and the sizes of their bags."""
    cuts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    border = bag_borders(cuts, block_rows(8 * d + 8))
    bag = np.searchsorted(cuts, border)
    within = [sizes[a:b].tobytes() for a, b in itertools.pairwise(bag)]
    return border[1:], bag[:-1], within


def numbered(batches: Batches, number: Array) -> Batches:
    """Add a number to the first bag of each block, by its part."""
    for batch in batches:
        bag = pa.array(numbers(batch, "bag") + number[numbers(batch, "part")])
        columns = [bag if name == "bag" else batch.column(name) for name in batch.schema.names]
        yield pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


# ---- Cuts ----------------------------------------------------------------------------------------


def _scores(batches: Batches, offset: Array, first: Array, last: Array, label: Array) -> Batches:
    """Send scores to the chunks they belong to; chunks overlap."""
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
                some = np.ascontiguousarray(here[a - begin : b - begin])
                target = int(label[c * len(label) // len(first)])
                blocks.append({"target": target, "part": c, "first": a, "order": some})
        if blocks:
            yield batch_of(SCORES, blocks)


def _cut(
    batches: Batches, first: Array, last: Array, bag_size: int, scale: float, how: Array
) -> Batches:
    """Cut chunks of sorted scores."""
    chunks = defaultdict(list)
    for batch in batches:
        columns = numbers(batch, "part"), numbers(batch, "first"), batch.column("order")
        for c, begin, cell in zip(*columns, strict=True):
            chunks[int(c)].append((int(begin), np.frombuffer(cell.as_buffer(), np.float64)))
    for c, cells in sorted(chunks.items()):
        cells.sort(key=lambda item: item[0])
        begin, scores = cells[0][0], np.concatenate([values for _, values in cells])
        if begin != first[c] or len(scores) != last[c] - first[c]:
            raise ValueError(f"chunk {c} has {len(scores)} scores from {begin} on")
        cuts = pieces.cut_piece(scores, bag_size, scale, int(how[c])) + begin
        yield batch_of(("part", "cuts"), [{"part": c, "cuts": cuts}])


# ---- Questions and answers -----------------------------------------------------------------------


def _compose(
    batches: Batches, offset: Array, border: Array, label: Array, order: Any, names: tuple[str, ...]
) -> Batches:
    """Send rows to the questions they belong to; question q is about positions border[q] on."""
    for batch in batches:
        ends, values = [], defaultdict(list)
        at = 0
        for part, low, n in zip(
            numbers(batch, "part"), numbers(batch, "first"), numbers(batch, "n"), strict=True
        ):
            begin = int(offset[part] + low)
            q = int(np.searchsorted(border, begin, "right")) - 1
            while q < len(border) - 1 and border[q] < begin + n:
                a, b = max(begin, int(border[q])), min(begin + n, int(border[q + 1]))
                ends.append(at + b - begin)
                values["target"].append(int(label[q % len(label)]))
                values["question"].append(q)
                values["first"].append(a)
                q += 1
            at += n
        if ends:
            yield unpack(batch, 0, order).blocks(names, np.array(ends), **values)


def _finish(
    batches: Batches, border: Array, cuts: Any, order: Any, scored: bool, names: tuple[str, ...]
) -> Batches:
    """Put the rows of each question into their bags."""
    parts: dict[int, list[tuple[int, Rows]]] = {}
    for batch in batches:
        for i in range(batch.num_rows):
            one = batch.slice(i, 1)
            q = int(numbers(one, "question")[0])
            parts.setdefault(q, []).append((int(numbers(one, "first")[0]), unpack(one, 0, order)))
    all_cuts = cuts.value
    for q, found in sorted(parts.items()):
        found.sort(key=lambda item: item[0])
        rows = concat([some for _, some in found])
        if rows.n != border[q + 1] - border[q]:
            raise ValueError(f"question {q} has {rows.n} rows of {border[q + 1] - border[q]}")
        low, high = np.searchsorted(all_cuts, border[q : q + 2])
        sizes = np.diff(all_cuts[low : high + 1]).astype(np.uint32)
        edge = all_cuts[low:high] - border[q]
        edge_key = rows.key[edge].tobytes()
        rows.key = None if rows.id is not None else rows.key  # one of them names the rows
        yield rows.blocks(
            names,
            np.array([rows.n]),
            question=[q],
            sizes=[sizes.tobytes()],
            within=[pieces.within(rows.order, sizes) if scored else None],
            edge_order=[rows.order[edge].tobytes()],
            edge_key=[edge_key],
        )


def _ask(batches: Batches, service: Any) -> Batches:
    """Ask a service about questions, one after the other."""
    with service.session() as session:
        for batch in batches:
            for i in range(batch.num_rows):
                q, ids, width, sizes = (
                    batch.column(name)[i].as_py() for name in ("question", "id", "width", "sizes")
                )
                answers = session.ask(ids, width, np.frombuffer(sizes, np.uint32))
                said = {"question": q, "answers": answers, "head": session.head}
                yield batch_of(SAID, [said])


SAID = ("question", "answers", "head")


spread = marked(_spread)
leaves = marked(_leaves)
arrange = marked(_arrange)
scores = marked(_scores)
cut = marked(_cut)
compose = marked(_compose)
finish = marked(_finish)
ask = marked(_ask)
