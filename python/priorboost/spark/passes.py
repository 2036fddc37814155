"""Passes of a fit over all rows: what tasks make of theirs, and what the driver makes of that."""

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
    told: Any,
    family: int,
    weights: Array,
    shift: Array | None,
    what: str,
) -> Batches:
    """Add up what rows give to the objective at weights, batch by batch, where they lie."""
    names = ("part", "first", "sums")
    for batch in batches:
        if batch.num_rows == 0:
            continue
        x = whole(batch.column("x"), np.float64).reshape(-1, d)
        part, first, n = (numbers(batch, name) for name in ("part", "first", "n"))
        offset, cuts, answers = told.value
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
            for rows, told in self.rounds:
                stage = sums(self.d, told, self.family, weights, shift, what)
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


def _bag_moments(batches: Batches, d: int, at: pieces.Point) -> Batches:
    """Give the means and variances of whole bags."""
    for x, sizes, bags in _bag_batches(batches, d):
        sums = pieces.bag_moments(x, sizes, at)
        yield batch_of(("bags", "sums"), [{"bags": bags, "sums": sums}])


def _bag_gram(batches: Batches, d: int, at: pieces.Point, told: Any) -> Batches:
    """Add up the Gram matrix of the derivatives of whole bags."""
    for x, sizes, bags in _bag_batches(batches, d):
        which = np.concatenate([np.arange(first, first + n) for first, n in bags])
        weight, residual = told.value
        some = None if residual is None else residual[which]
        sums = pieces.bag_gram(x, sizes, at, weight[which], some)
        yield batch_of(("bag", "sums"), [{"bag": bags[0, 0], "sums": sums}])


bag_columns = marked(_bag_columns)
bag_moments = marked(_bag_moments)
bag_gram = marked(_bag_gram)


class BagPasses:
    """Passes of the aggregate fit over the bags of all rounds, wherever they are."""

    def __init__(self, context: Any, bags: list[DataFrame], n_bags: int, base: Array) -> None:
        self.context, self.n_bags, self.d = context, n_bags, len(base)
        self.base = np.array(base)
        self.bags = bags[0]
        for more in bags[1:]:
            self.bags = self.bags.union(more)

    def _added(self, stage: Any) -> Array:
        found = self.bags.mapInArrow(stage, schema("bag", "sums")).collect()
        return pieces.add_parts([np.frombuffer(cell) for _, cell in sorted(found)], "gram")

    def columns(self) -> Array:
        """Add up the columns of all rows."""
        return self._added(bag_columns(self.d, self.base))

    def moments(self, at: pieces.Point) -> Array:
        """Return the means and variances of all bags, and two sums over all rows."""
        n, out = self.n_bags, np.zeros(2 * self.n_bags + 2)
        stage = bag_moments(self.d, at)
        found = self.bags.mapInArrow(stage, schema("bags", "sums")).collect()
        cells = [(np.frombuffer(b, np.int64).reshape(-1, 2), np.frombuffer(s)) for b, s in found]
        for blocks, values in sorted(cells, key=lambda cell: cell[0][0, 0]):
            here = np.concatenate([np.arange(first, first + many) for first, many in blocks])
            out[here], out[n + here] = np.split(values[:-2], 2)
            out[-2:] += values[-2:]
        return out

    def gram(self, at: pieces.Point, weight: Array, residual: Array | None) -> Array:
        """Add up the Gram matrix of all bags' derivatives, and the gradient."""
        told = self.context.broadcast((weight, residual))
        out = self._added(bag_gram(self.d, at, told))
        told.destroy()
        return out
