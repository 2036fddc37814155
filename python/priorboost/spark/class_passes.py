"""Passes of a fit of several classes over all rows: the sums of each task, added on the driver."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import class_pieces, pieces
from .blocks import Array, batch_of, numbers, schema, unpack
from .class_pieces import ClassPoint, Known
from .passes import BagPasses, bag_batches, numbers_of
from .stages import Batches, in_span, marked

# ---- The direction of the scores -----------------------------------------------------------------


def _spread(batches: Batches, d: int, span: tuple[int, int], theta: Array, base: Array) -> Batches:
    """Add up the probabilities of a slice's rows, and their cross products."""
    for batch in batches:
        rows = in_span(unpack(batch, d), span)
        if rows.n:
            sums = class_pieces.spread(class_pieces.probabilities(rows.x, theta), base)
            first = int(rows.key[0].view(np.int64))
            yield batch_of(("first", "sums"), [{"first": first, "sums": sums}])


spread = marked(_spread)


class ClassScore:
    """Scores rows by their probabilities along a direction."""

    def __init__(self, theta: Array, direction: Array) -> None:
        self.theta, self.direction = theta, direction

    def of(self, x: Array) -> Array:
        """Return the scores of rows: sums in the order in which the library adds."""
        p, out = class_pieces.probabilities(x, self.theta), np.zeros(len(x))
        for share, weight in zip(p.T, self.direction, strict=True):
            out += weight * share
        return out


# ---- Rows, for the event-level fit ---------------------------------------------------------------


def _row_sums(batches: Batches, d: int, at: ClassPoint) -> Batches:
    """Add up what rows with the answers to their bags add to the loss, batch by batch."""
    for batch in batches:
        if batch.num_rows:
            rows = unpack(batch, d)
            sums = class_pieces.row_sums(rows.x, rows.answer.reshape(rows.n, -1), at)
            yield batch_of(("first", "sums"), [{"first": numbers(batch, "first")[0], "sums": sums}])


def _row_columns(batches: Batches, d: int, base: Array) -> Batches:
    """Add up the columns of rows."""
    for batch in batches:
        if batch.num_rows:
            sums = pieces.bag_columns(unpack(batch, d).x, base)
            yield batch_of(("first", "sums"), [{"first": numbers(batch, "first")[0], "sums": sums}])


row_sums = marked(_row_sums)
row_columns = marked(_row_columns)


class ClassRowPasses:
    """Passes over the rows of rounds, which have the answers to their bags."""

    def __init__(self, rounds: list[Any], base: Array) -> None:
        self.rounds, self.base, self.d = rounds, np.array(base), len(base)

    def _added(self, stage: Any) -> Array:
        parts: list[Array] = []
        for rows in self.rounds:
            found = rows.mapInArrow(stage, schema("first", "sums")).collect()
            parts += [np.frombuffer(cell, np.float64) for _, cell in sorted(found)]
        return pieces.add_parts(parts, "rows")

    def columns(self) -> Array:
        """Add up the columns of all rows."""
        return self._added(row_columns(self.d, self.base))

    def rows(self, at: ClassPoint) -> Array:
        """Add up the loss of all rows, with its matrix and vector."""
        return self._added(row_sums(self.d, at))


# ---- Bags, for the aggregate fit -----------------------------------------------------------------


def _bag_sums(batches: Batches, d: int, at: ClassPoint, shared: Any) -> Batches:
    """Give the moments of whole bags and, if sizes are in use, their matrix and vector."""
    names = ("bags", "moments", "sums")
    for x, sizes, bags in bag_batches(batches, d):
        found, sums = class_pieces.moments(x, sizes, at), None
        if shared is not None:
            sums = class_pieces.gram(x, sizes, at, shared.value.of(numbers_of(bags)))
        yield batch_of(names, [{"bags": bags, "moments": found, "sums": sums}])


def _bag_meat(batches: Batches, d: int, at: ClassPoint, shared: Any) -> Batches:
    """Give what whole bags add to the covariance, and how far their answers are off."""
    names = ("bags", "moments", "sums")
    for x, sizes, bags in bag_batches(batches, d):
        sums, misfit = class_pieces.meat(x, sizes, at, shared.value.of(numbers_of(bags)))
        yield batch_of(names, [{"bags": bags, "moments": misfit, "sums": sums}])


def _bag_scores(batches: Batches, d: int, at: ClassPoint, shared: Any) -> Batches:
    """Give the squares of what whole bags add to the vector of the next step."""
    for x, sizes, bags in bag_batches(batches, d):
        sums = class_pieces.scores(x, sizes, at, shared.value.of(numbers_of(bags)))
        yield batch_of(("bag", "sums"), [{"bag": bags[0, 0], "sums": sums}])


bag_scores = marked(_bag_scores)
bag_sums = marked(_bag_sums)
bag_meat = marked(_bag_meat)


class ClassBagPasses(BagPasses):
    """Passes of the aggregate fit of classes over the bags of all rounds."""

    def stage(self, at: Any) -> Any:
        """Return the stage that tries a point."""
        return bag_sums(self.d, at, self.shared)

    def gram(self, at: Any, known: Any) -> Array:  # type: ignore[override]
        """Add up the matrix and the vector of the next step."""
        self.use(known.use, known)
        return self.gram_in_use(at)

    def scores(self, at: ClassPoint, known: Known) -> Array:
        """Add up the squares of what bags add to the vector of the next step."""
        self.use(known.use, known)
        return self.added(bag_scores(self.d, at, self.shared))

    def meat(self, at: ClassPoint, known: Known) -> tuple[Array, Array]:
        """Add up what the covariance is made of; and how far each answer is off."""
        self.use(known.use, known)
        misfit = np.zeros(len(self.answers))
        parts = []
        for bags, distance, sums in self.cells(bag_meat(self.d, at, self.shared)):
            misfit[numbers_of(bags)] = distance
            assert sums is not None
            parts.append(sums)
        return pieces.add_parts(parts, "meat"), misfit
