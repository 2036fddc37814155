"""Passes of a fit over all rows: the sums of each task, and how the driver adds them up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from . import pieces
from .blocks import Array, batch_of, numbers, schema, whole
from .stages import Batches, marked

# ---- Rows, for the event-level fit ---------------------------------------------------------------


def targets(cuts: Array, answers: Array, begin: int, n: int) -> Array:
    """Return the answers to the bags that rows begin .. begin + n are in, row by row."""
    low = int(np.searchsorted(cuts, begin, "right")) - 1
    high = int(np.searchsorted(cuts, begin + n, "left"))
    border = np.clip(cuts[low : high + 1], begin, begin + n)
    return np.repeat(answers[low:high], np.diff(border))


def _sums(
    batches: Batches,
    d: int,
    shared: Any,
    family: int,
    weights: Array,
    shift: Array | None,
    what: str,
) -> Batches:
    """Add up what rows add to the objective at weights, batch by batch, without a copy."""
    names = ("part", "first", "sums")
    for batch in batches:
        if batch.num_rows == 0:
            continue
        x = whole(batch.column("x"), np.float64).reshape(-1, d)
        part, first, n = (numbers(batch, name) for name in ("part", "first", "n"))
        offset, cuts, answers = shared.value
        target = np.concatenate(
            [
                targets(cuts, answers, int(offset[p] + f), int(c))
                for p, f, c in zip(part, first, n, strict=True)
            ]
        )
        sums = pieces.part_sums(x, target, family, weights, shift, what)
        block = {"part": part[0], "first": first[0], "sums": sums}
        yield batch_of(names, [block])


sums = marked(_sums)


class EventPasses:
    """Passes over the rows of rounds."""

    def __init__(self, rounds: list[tuple[DataFrame, Any]], d: int, family: int) -> None:
        self.rounds, self.d, self.family = rounds, d, family

    def sums(self, shift: Array | None) -> Callable[[Array, str], Array]:
        """Return what adds up the objective of all rows at weights."""

        def at(weights: Array, what: str) -> Array:
            parts: list[Array] = []
            for rows, shared in self.rounds:
                stage = sums(self.d, shared, self.family, weights, shift, what)
                found = rows.mapInArrow(stage, schema("part", "first", "sums")).collect()
                parts += [np.frombuffer(cell, np.float64) for _, _, cell in sorted(found)]
            return pieces.add_parts(parts, what)

        return at


# ---- Bags, for the aggregate fit -----------------------------------------------------------------


def _bag_batches(batches: Batches, d: int) -> Iterator[tuple[Array, Array, Array]]:
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
    for x, _, bags in _bag_batches(batches, d):
        sums = pieces.bag_columns(x, base)
        yield batch_of(("bag", "sums"), [{"bag": bags[0, 0], "sums": sums}])


def _bag_sums(batches: Batches, d: int, at: pieces.Point, shared: Any) -> Batches:
    """Give the means and variances of whole bags and, if weights are given, their Gram matrix."""
    names = ("bags", "moments", "sums")
    for x, sizes, bags in _bag_batches(batches, d):
        moments, sums = pieces.bag_moments(x, sizes, at), None
        if shared is not None:
            weight, answer = shared.value
            which = _numbers_of(bags)
            residual = answer[which] - moments[: len(which)]
            sums = pieces.bag_gram(x, sizes, at, weight[which], residual)
        yield batch_of(names, [{"bags": bags, "moments": moments, "sums": sums}])


def _numbers_of(bags: Array) -> Array:
    """Return the numbers of bags, given the first and how many of each block."""
    return np.concatenate([np.arange(first, first + many) for first, many in bags])


bag_columns = marked(_bag_columns)
bag_sums = marked(_bag_sums)


class BagPasses:
    """Passes of the aggregate fit over the bags of all rounds.

    Starting a pass costs more than its arithmetic.  So the pass that tries a point also returns its
    Gram matrix, for the weights in use: if the point is accepted, the fit needs that next.
    """

    def __init__(self, context: Any, bags: list[DataFrame], answers: Array, base: Array) -> None:
        self.context, self.answers, self.d = context, answers, len(base)
        self.base = np.array(base)
        self.bags = bags[0]
        for more in bags[1:]:
            self.bags = self.bags.union(more)
        self.weight: Array | None = None  # in use, and its broadcast
        self.shared: Any = None
        self.tried: tuple[Any, Array | None] = (None, None)  # a point, and its Gram matrix

    def close(self) -> None:
        """Destroy the broadcast."""
        if self.shared is not None:
            self.shared.destroy()
            self.shared = None

    def columns(self) -> Array:
        """Add up the columns of all rows."""
        stage = bag_columns(self.d, self.base)
        found = self.bags.mapInArrow(stage, schema("bag", "sums")).collect()
        return pieces.add_parts([np.frombuffer(cell) for _, cell in sorted(found)], "columns")

    def moments(self, at: pieces.Point) -> Array:
        """Return the means and variances of all bags, and two sums over all rows."""
        n = len(self.answers)
        out = np.zeros(2 * n + 2)
        stage = bag_sums(self.d, at, self.shared)
        found = self.bags.mapInArrow(stage, schema("bags", "moments", "sums")).collect()
        cells = [(np.frombuffer(bags, np.int64).reshape(-1, 2), *rest) for bags, *rest in found]
        cells.sort(key=lambda cell: int(cell[0][0, 0]))
        for bags, moments, _ in cells:
            values, here = np.frombuffer(moments), _numbers_of(bags)
            out[here], out[n + here] = np.split(values[:-2], 2)
            out[-2:] += values[-2:]
        grams = [np.frombuffer(sums) for _, _, sums in cells if sums is not None]
        self.tried = (at.key(), pieces.add_parts(grams, "gram") if grams else None)
        return out

    def gram(self, at: pieces.Point, weight: Array, residual: Array | None) -> Array:
        """Add up the Gram matrix of all bags' derivatives, and the gradient."""
        if self.weight is None or not np.array_equal(weight, self.weight):
            self.close()
            self.weight = weight
            self.shared = self.context.broadcast((weight, self.answers))
            self.tried = (None, None)
        if self.tried[0] != at.key() or self.tried[1] is None:
            self.moments(at)
        assert self.tried[1] is not None
        return self.tried[1]
