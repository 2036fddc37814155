"""Passes of a fit over all rows: the sums of each task, and how the driver adds them up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow.compute as pc

from . import pieces
from .blocks import (
    Array,
    Rows,
    batch_of,
    block_rows,
    every,
    numbers,
    schema,
    unpack,
    whole,
)
from .stages import (
    BAGS,
    Batches,
    arrived,
    in_blocks,
    marked,
    not_after,
    numbered,
    rows_in,
    sent,
    whole_bags,
)

# ---- Rows with the answers to their bags, and whole bags -----------------------------------------


def _bags_of(rows: Rows, how: Any, shared: Any) -> Array:
    """Return which bag each row is in: bags are ranges of (order, key)."""
    edge_order, edge_key = shared.value[:2]
    values = how.values(rows)
    sort = pieces.order_keys if how.dtype == np.uint64 else lambda v: pieces.order_scores(v)[0]
    order = sort(values)  # to search in order is faster
    bag = np.empty(rows.n, np.int64)
    bag[order] = not_after(edge_order, edge_key, values[order], rows.key[order]) - 1
    return bag


def _answer(
    batches: Batches, d: int, how: Any, span: tuple[int, int] | None, shared: Any
) -> Batches:
    """Give each row of a slice the answer to its bag."""
    for batch in batches:
        rows = rows_in(batch, d, span)
        if rows.n:
            rows.answer = shared.value[2][_bags_of(rows, how, shared)]
            ends = every(rows.n, block_rows(8 * d + 8))
            first = rows.key[np.concatenate([[0], ends[:-1]])].view(np.int64)
            yield rows.blocks(ANSWERED, ends, first=first)


ANSWERED = ("first", "n", "x", "answer")


def _answer_bags(batches: Batches, d: int, number: Array, shared: Any) -> Batches:
    """Give each row of whole bags the answer to its bag; `number` says where parts begin."""
    for batch in numbered(batches, number):
        if batch.num_rows == 0:
            continue
        rows, sizes = unpack(batch, d), whole(batch.column("sizes"), np.uint32)
        count = pc.binary_length(batch.column("sizes")).to_numpy(zero_copy_only=False) // 4
        bag = numbers_of(np.column_stack([numbers(batch, "bag"), count]))
        rows.answer = np.repeat(shared.value[2][bag], sizes)
        yield rows.blocks(ANSWERED, np.cumsum(numbers(batch, "n")), first=numbers(batch, "bag"))


TO_BAGS = ("target", "n", "key", "row", "x")


def _gather(
    batches: Batches, d: int, how: Any, span: tuple[int, int] | None, shared: Any, label: Array
) -> Batches:
    """Send the rows of a slice to their bags."""
    for batch in batches:
        rows = rows_in(batch, d, span)
        if rows.n:
            rows.row = _bags_of(rows, how, shared)
            yield sent(rows, rows.row * len(label) // len(shared.value[2]), label, TO_BAGS)


def _join(batches: Batches, d: int, shared: Any, label: Array) -> Batches:
    """Put the rows of each bag together."""
    found = arrived(batches, label, d, None)
    if found is None:
        return
    rows = found[1]
    order = pieces.order_keys(rows.key)
    order = order[pieces.order_keys(rows.row[order].view(np.uint64))]
    first = int(rows.row[order[0]])
    sizes = np.bincount(rows.row - first).astype(np.uint32)
    cuts = shared.value[3][first : first + len(sizes) + 1]
    if not np.array_equal(sizes, np.diff(cuts)):
        raise ValueError(f"the bags from {first} on have other rows than were asked about")
    ends, bag, within = whole_bags(sizes, d)
    values = {"part": np.zeros(len(ends), int), "bag": bag + first, "sizes": within}
    yield from in_blocks(rows, order, BAGS, ends, **values)


answer = marked(_answer)
answer_bags = marked(_answer_bags)
gather = marked(_gather)
join = marked(_join)

# ---- Rows, for the event-level fit ---------------------------------------------------------------


def _sums(
    batches: Batches, d: int, family: int, weights: Array, shift: Array | None, what: str
) -> Batches:
    """Add up what rows add to the objective at weights, batch by batch, without a copy."""
    for batch in batches:
        if batch.num_rows == 0:
            continue
        rows = unpack(batch, d)
        sums = pieces.part_sums(rows.x, rows.answer, family, weights, shift, what)
        yield batch_of(("first", "sums"), [{"first": numbers(batch, "first")[0], "sums": sums}])


sums = marked(_sums)


class EventPasses:
    """Passes over the rows of rounds, which have the answers to their bags."""

    def __init__(self, rounds: list[Any], d: int, family: int) -> None:
        self.rounds, self.d, self.family = rounds, d, family

    def sums(self, shift: Array | None) -> Callable[[Array, str], Array]:
        """Return what adds up the objective of all rows at weights."""

        def at(weights: Array, what: str) -> Array:
            parts: list[Array] = []
            for rows in self.rounds:
                stage = sums(self.d, self.family, weights, shift, what)
                found = rows.mapInArrow(stage, schema("first", "sums")).collect()
                parts += [np.frombuffer(cell, np.float64) for _, cell in sorted(found)]
            return pieces.add_parts(parts, what)

        return at


# ---- Bags, for the aggregate fit -----------------------------------------------------------------


def bag_batches(batches: Batches, d: int) -> Iterator[tuple[Array, Array, Array]]:
    """Give features, sizes of bags, and first bag and number of bags of each block."""
    for batch in batches:
        if batch.num_rows == 0:
            continue
        x = whole(batch.column("x"), np.float64).reshape(-1, d)
        sizes = whole(batch.column("sizes"), np.uint32)
        count = pc.binary_length(batch.column("sizes")).to_numpy(zero_copy_only=False) // 4
        yield x, sizes, np.column_stack([numbers(batch, "bag"), count]).astype(np.int64)


def _bag_columns(batches: Batches, d: int, base: Array) -> Batches:
    """Add up the columns of whole bags."""
    for x, _, bags in bag_batches(batches, d):
        sums = pieces.bag_columns(x, base)
        yield batch_of(("bag", "sums"), [{"bag": bags[0, 0], "sums": sums}])


def _bag_sums(batches: Batches, d: int, at: pieces.Point, shared: Any) -> Batches:
    """Give the means and variances of whole bags and, if weights are given, their Gram matrix."""
    names = ("bags", "moments", "sums")
    for x, sizes, bags in bag_batches(batches, d):
        moments, sums = pieces.bag_moments(x, sizes, at), None
        if shared is not None:
            weight, answer = shared.value
            which = numbers_of(bags)
            residual = answer[which] - moments[: len(which)]
            sums = pieces.bag_gram(x, sizes, at, weight[which], residual)
        yield batch_of(names, [{"bags": bags, "moments": moments, "sums": sums}])


def numbers_of(bags: Array) -> Array:
    """Return the numbers of bags, given the first and how many of each block."""
    return np.concatenate([np.arange(first, first + many) for first, many in bags])


bag_columns = marked(_bag_columns)
bag_sums = marked(_bag_sums)


class BagPasses:
    """Passes of the aggregate fit over the bags of all rounds.

    Starting a pass costs more than its arithmetic.  So the pass that tries a point also returns its
    Gram matrix, for the weights in use: if the point is accepted, the fit needs that next.
    """

    def __init__(self, context: Any, bags: list[Any], answers: Array, base: Array) -> None:
        self.context, self.answers, self.d = context, answers, len(base)
        self.base = np.array(base)
        self.bags = bags[0]
        for more in bags[1:]:
            self.bags = self.bags.union(more)
        self.in_use: Array | None = None  # the weights, and their broadcast
        self.shared: Any = None
        self.tried: tuple[Any, Array | None] = (None, None)  # a point, and its Gram matrix
        self.target = answers  # what residuals are relative to
        self.means: dict[Any, Array] = {}  # of the bags, at the last points

    def close(self) -> None:
        """Destroy the broadcast."""
        if self.shared is not None:
            self.shared.destroy()
            self.shared = None

    def columns(self) -> Array:
        """Add up the columns of all rows."""
        return self.added(bag_columns(self.d, self.base))

    def added(self, stage: Any) -> Array:
        """Run a stage and add up its sums, in the order of the bags."""
        found = self.bags.mapInArrow(stage, schema("bag", "sums")).collect()
        return pieces.add_parts([np.frombuffer(cell) for _, cell in sorted(found)], "sums")

    def stage(self, at: Any) -> Any:
        """Return the stage that tries a point."""
        return bag_sums(self.d, at, self.shared)

    def cells(self, stage: Any) -> list[tuple[Array, Array, Array | None]]:
        """Run a stage; its blocks in the order of their bags: which bags, by bag, and sums."""
        found = self.bags.mapInArrow(stage, schema("bags", "moments", "sums")).collect()
        cells = [
            (
                np.frombuffer(bags, np.int64).reshape(-1, 2),
                np.frombuffer(by_bag),
                None if sums is None else np.frombuffer(sums),
            )
            for bags, by_bag, sums in found
        ]
        return sorted(cells, key=lambda cell: int(cell[0][0, 0]))

    def moments(self, at: Any) -> Array:
        """Return the means and variances of all bags, and two sums over all rows, by class."""
        n, width = len(self.answers), self.answers[0].size
        mean, variance, eta = np.zeros((n, width)), np.zeros((n, width)), np.zeros(2 * width)
        cells = self.cells(self.stage(at))
        for bags, values, _ in cells:
            here = numbers_of(bags)
            mean[here], variance[here] = np.split(values[: -2 * width].reshape(-1, width), 2)
            eta += values[-2 * width :]
        grams = [sums for _, _, sums in cells if sums is not None]
        self.tried = (at.key(), pieces.add_parts(grams, "gram") if grams else None)
        self.means = {**dict(list(self.means.items())[-2:]), at.key(): mean.ravel()}
        return np.concatenate([mean.ravel(), variance.ravel(), eta])

    def use(self, weights: Array, shared: Any) -> None:
        """Send tasks the weights of the Gram matrix, unless they have them."""
        if self.in_use is None or not np.array_equal(weights, self.in_use):
            self.close()
            self.in_use = weights
            self.shared = self.context.broadcast(shared)
            self.tried = (None, None)

    def gram_in_use(self, at: Any) -> Array:
        """Return the Gram matrix at a point, for the weights in use."""
        if self.tried[0] != at.key() or self.tried[1] is None:
            self.moments(at)
        assert self.tried[1] is not None
        return self.tried[1]

    def gram(self, at: pieces.Point, weight: Array, residual: Array | None) -> Array:
        """Add up the Gram matrix of all bags' derivatives, and the gradient."""
        if residual is not None:
            self.aim(at, residual)
        self.use(np.concatenate([weight, self.target]), (weight, self.target))
        return self.gram_in_use(at)

    def aim(self, at: pieces.Point, residual: Array) -> None:
        """Set the answers that have these residuals at a point.

        They are the answers as they were given, or what stands for them if there is Laplace noise.
        """
        if at.key() not in self.means:
            self.moments(at)
        target = self.means[at.key()] + residual
        if not np.allclose(target, self.target, rtol=0.0, atol=1e-12 * np.abs(target).max()):
            self.target = target
