"""What a training on Spark learns: how rows are scored, and how answers become a model."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from .. import _library
from . import class_passes, class_pieces, passes, pieces, stages
from .blocks import Array, schema

Fitted = tuple[Array, _library.FitReport, Array | None]  # weights, report, covariance


class GLM:
    """One number by row: weights and, last, an intercept."""

    def __init__(self, run: Any) -> None:
        self.run = run

    def zeros(self) -> Array:
        """Return the model before the first fit."""
        return np.zeros(self.run.table.d + 1)

    def score(self, weights: Array) -> Any:
        """Return how rows are scored, for the bags of this round."""
        return stages.GLMScore(self.run.s.family, weights)

    def fit(self, rounds: list[Any], weights: Array) -> Fitted:
        """Fit the rounds' answers, from weights."""
        run, options = self.run, self.run.s.fit
        said = pieces.Answers.of([r.cuts for r in rounds], [r.answers for r in rounds], run.rules)
        frames = [r.fitted for r in rounds]
        if options.estimator == _library.AGGREGATE:
            there = passes.BagPasses(run.context, frames, said.answer, run.sample_x[0][0])
            with contextlib.closing(there):
                return pieces.fit_bags(weights, there, there.base, said, options)
        shift = pieces.shift_of(run.sample_x[run.t][:64]) if options.intercept else None
        rows = passes.EventPasses(frames, run.table.d, run.s.family)
        return *pieces.fit_parts(weights, rows.sums(shift), said, shift, options), None


class Classes:
    """Several classes: a row of weights and an intercept for each, those of the first are 0."""

    def __init__(self, run: Any) -> None:
        self.run, self.n = run, int(run.rules.width)
        weights = (self.n - 1) * (run.table.d + 1)
        if weights > _library.MOST_CLASS_WEIGHTS:
            raise ValueError(
                f"{self.n} classes and {run.table.d} features have {weights} weights; there may be "
                f"at most {_library.MOST_CLASS_WEIGHTS}"
            )

    def zeros(self) -> Array:
        """Return the model before the first fit."""
        return np.zeros((self.n, self.run.table.d + 1))

    def score(self, theta: Array) -> Any:
        """Find the direction in which the probabilities of the slice vary most: a pass over it."""
        run, span = self.run, self.run.spans[self.run.t]
        base = class_pieces.probabilities(run.sample_x[run.t], theta).mean(axis=0)
        with run.stage("direction"):
            stage = class_passes.spread(run.table.d, span, theta, base)
            rows = run.packed([span], "n", "key", "x")
            found = sorted(rows.mapInArrow(stage, schema("first", "sums")).collect())
        total = pieces.add_parts([np.frombuffer(cell) for _, cell in found], "spread")
        return class_passes.ClassScore(theta, class_pieces.direction_of(total, self.n))

    def fit(self, rounds: list[Any], theta: Array) -> Fitted:
        """Fit the rounds' answers, from theta."""
        run, options = self.run, self.run.s.fit
        said = pieces.Answers.of([r.cuts for r in rounds], [r.answers for r in rounds], run.rules)
        frames, base = [r.fitted for r in rounds], np.array(run.sample_x[0][0])
        if options.estimator == _library.AGGREGATE:
            there = class_passes.ClassBagPasses(run.context, frames, said.answer, base)
            with contextlib.closing(there):
                return class_pieces.fit(theta, there, base, said, options)
        return class_pieces.fit(
            theta, class_passes.ClassRowPasses(frames, base), base, said, options
        )
