"""The library's pieces for a cluster, on arrays: what tasks and the driver call."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from .. import _library
from .._library import _check, address, lib
from ..options import MECHANISMS
from ..relay import Relay
from .blocks import Array

COMMON, TO_END, REST = 0, 1, 2  # how a piece of sorted scores is cut: ``pboost_cut``


def id_keys(ids: Any) -> Array:
    """Return the key of each id (an Arrow array of int64 or binary) in the shuffle."""
    keys = np.empty(len(ids), np.uint64)
    if pa.types.is_int64(ids.type):
        numbers = np.ascontiguousarray(ids.to_numpy(zero_copy_only=False))
        lib.number_keys(address(keys), address(numbers), len(ids))
    elif len(ids) > 0:
        _, offsets, data = ids.buffers()
        start = np.frombuffer(offsets, np.int32)[ids.offset : ids.offset + len(ids) + 1]
        text = np.frombuffer(data or b"\0", np.uint8)
        lib.text_keys(address(keys), address(text), address(start), len(ids))
    return keys


def shuffle_keys(
    seed: int, stream: int, *, index: Array | None = None, first: int = 0, n: int = 0
) -> Array:
    """Return what a shuffle sorts by, for the indices given or for first, first + 1, ..."""
    count = n if index is None else len(index)
    out = np.empty(count, np.uint64)
    lib.shuffle_keys(address(out), count, seed, stream, address(index), first)
    return out


def slices(schedule: int, rows: int, rounds: int, least: int) -> Array:
    """Return where each round's slice begins in the shuffled table, and where the last ends."""
    start = np.empty(min(rounds, rows) + 1, np.uintp)
    _check(lib.slices, address(start), schedule, rows, rounds, least)
    return start.astype(np.int64)


def order_scores(scores: Array) -> tuple[Array, Array]:
    """Return the positions in the order (score, position), and the scores in it."""
    order, ordered = np.empty(len(scores), np.uintp), np.empty(len(scores))
    scores = np.ascontiguousarray(scores)
    _check(lib.order_scores, address(order), address(ordered), address(scores), len(scores), 1)
    return order.view(np.intp), ordered


def order_keys(keys: Array) -> Array:
    """Return the positions in the order (key, position)."""
    order = np.empty(len(keys), np.uintp)
    keys = np.ascontiguousarray(keys)
    _check(lib.order_keys, address(order), address(keys), len(keys), 1)
    return order.view(np.intp)


def cut_grid(rows: int, bag_size: int) -> tuple[int, int]:
    """Return the number of chunks for the scores of this many rows, and their overlap."""
    n_chunks, overlap = ctypes.c_size_t(), ctypes.c_size_t()
    lib.cut_grid(n_chunks, overlap, rows, bag_size)
    return n_chunks.value, overlap.value


def cut_piece(scores: Array, bag_size: int, scale: float, how: int) -> Array:
    """Return the cuts of sorted scores."""
    out, n = np.empty(len(scores) // bag_size + 2, np.uintp), ctypes.c_size_t()
    at = address(np.ascontiguousarray(scores))
    _check(lib.cut_piece, address(out), n, at, len(scores), bag_size, scale, how, 1)
    return out[: n.value].astype(np.int64)


def tree_bags(x: Array, scores: Array | None, family: int, bag_size: int) -> tuple[Array, Array]:
    """Return rows in the order of `features` bags (with scores: `hybrid`), and the bags' sizes."""
    matrix = _library.matrix(x)
    samples = _library.Samples(ctypes.addressof(matrix), None, len(x))
    out = _library.Bags()
    if scores is None:
        _check(lib.bags_features, out, samples, bag_size, 1, None)
    else:
        _check(lib.bags_hybrid, out, samples, family, address(scores), bag_size, 1, None)
    try:
        rows = _library.copy_array(out.row, out.n_rows, np.intp)
        start = _library.copy_array(out.start, out.n_bags + 1, np.intp)
    finally:
        lib.bags_free(out)
    return rows, np.diff(start).astype(np.uint32)


def predict_mean(x: Array, family: int, weights: Array) -> Array:
    """Return the predicted mean of every row; the last weight is the intercept."""
    matrix, out = _library.matrix(x), np.empty(len(x))
    samples = _library.Samples(ctypes.addressof(matrix), None, len(x))
    coef = _library.Coef(x.shape[1], address(weights), float(weights[-1]))
    _check(lib.predict, address(out), family, samples, coef, 1)
    return out


def within(scores: Array, sizes: Array) -> float:
    """Return the within-bag sum of squares of scores in the order of their bags."""
    rows = np.arange(len(scores), dtype=np.uintp)
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.uintp)
    bags = _library.Bags(len(rows), len(sizes), address(rows), address(start))
    return float(lib.bags_cost(bags, address(np.ascontiguousarray(scores))))


@dataclass
class Answers:
    """Answers about bags: where each bag begins, its answer, and the variance of its noise.

    Of several classes an answer has a proportion for each, and each has noise.
    """

    start: Array  # uintp, one more than there are bags
    answer: Array
    noise: Array  # variance
    laplace: bool  # the noise is

    @classmethod
    def of(cls, cuts: list[Array], answers: list[Array], rules: _library.Rules) -> Answers:
        """Return the answers of rounds, given where their bags end."""
        sizes = np.concatenate([np.diff(c) for c in cuts])
        start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.uintp)
        answer = np.concatenate(answers)
        noise = np.zeros(answer.shape)
        if rules.epsilon.den:
            size, which = np.unique(sizes, return_inverse=True)
            noise = np.array([_noise(rules, int(s)) for s in size])[which].reshape(answer.shape)
        return cls(start, answer, noise, rules.mechanism == MECHANISMS["laplace"])

    def __len__(self) -> int:
        return len(self.answer)

    def lend(self) -> tuple[Any, ...]:
        """Describe them to the library."""
        return len(self), address(self.start), address(self.answer), address(self.noise)


def _noise(rules: _library.Rules, size: int) -> Array:
    """Return the variance of the noise in each number of an answer."""
    out = np.empty(max(1, rules.width))
    _check(lib.rules_noise_variances, address(out), rules, size)
    return out


# ---- The event-level fit -------------------------------------------------------------------------


def shift_of(x: Array) -> Array | None:
    """Return by how much the columns should be shifted, from these rows; None: not at all."""
    matrix, shift = _library.matrix(x), np.empty(x.shape[1])
    samples = _library.Samples(ctypes.addressof(matrix), None, len(x))
    return shift if lib.part_shift(address(shift), samples) else None


def part_size(d: int, what: str) -> int:
    """Return how many numbers a part gives: gradient, hessian or direction."""
    return {"gradient": 3 + d, "hessian": 3 + 2 * d + d * d, "direction": 3}[what]


def part_sums(
    x: Array, target: Array, family: int, weights: Array, shift: Array | None, what: str
) -> Array:
    """Return what rows add to the objective at weights (the last is the intercept)."""
    matrix = _library.matrix(x)
    samples = _library.Samples(ctypes.addressof(matrix), None, len(x), address(target))
    coef = _library.Coef(x.shape[1], address(weights), float(weights[-1]))
    out = np.empty(part_size(x.shape[1], what))
    if what == "direction":
        _check(lib.part_direction, address(out), family, samples, coef, address(shift), 1)
    else:
        hessian = what == "hessian"
        _check(lib.part_sums, address(out), family, samples, coef, address(shift), hessian, 1)
    return out


def add_parts(parts: list[Array], what: str) -> Array:
    """Add up what parts gave, in their order."""
    total: Array = np.sum(parts, axis=0) if len(parts) < 8 else np.add.reduce(np.array(parts))
    if what == "direction":
        total[0] = max(part[0] for part in parts)
    return total


def fit_parts(
    weights: Array,
    sums: Callable[[Array, str], Array],
    answers: Answers,
    shift: Array | None,
    options: _library.FitOptions,
) -> tuple[Array, _library.FitReport]:
    """Minimise from weights; `sums(weights, what)` runs over all machines.

    An exception that it raises comes out here.
    """
    relay, d = Relay(), len(weights) - 1
    theta = np.array(weights[:-1], dtype=np.float64)
    coef = _library.Coef(d, address(theta), float(weights[-1]))
    report = _library.FitReport()

    def fill(out: Any, at: Any, what: str) -> None:
        here = np.append(_library.copy_array(at.contents.theta, d, np.float64), 0.0)
        here[-1] = at.contents.intercept
        np.ctypeslib.as_array(out, (part_size(d, what),))[:] = sums(here, what)

    def on_sums(_: Any, at: Any, hessian: bool, out: Any, __: Any) -> int:
        return relay.status(fill, out, at, "hessian" if hessian else "gradient")

    def on_direction(_: Any, at: Any, out: Any, __: Any) -> int:
        return relay.status(fill, out, at, "direction")

    parts = _library.Parts(
        None, _library.SumsFunction(on_sums), _library.DirectionFunction(on_direction)
    )
    options.struct_size = _library.FIT_OPTIONS_SIZE
    with relay:
        relay.check(lib.parts_fit, coef, report, parts, *answers.lend(), address(shift), options)
    return np.append(theta, coef.intercept), report


# ---- The aggregate fit ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Point:
    """The parameters at which tasks compute the moments of bags."""

    family: int
    intercept: bool
    units: Array  # shift, center and scale of the columns
    parameter: Array

    @classmethod
    def read(cls, at: Any) -> Point:
        """Copy a point of the library's."""
        p, d = at.contents, at.contents.cols
        shift = np.zeros(d) if p.shift is None else _library.copy_array(p.shift, d, np.float64)
        rest = [_library.copy_array(column, d, np.float64) for column in (p.center, p.scale)]
        parameter = _library.copy_array(p.parameter, d + p.intercept, np.float64)
        return cls(p.family, p.intercept, np.array([shift, *rest]), parameter)

    def key(self) -> tuple[int, bool, bytes, bytes]:
        """Return a key that differs between points."""
        return self.family, self.intercept, self.units.tobytes(), self.parameter.tobytes()

    def lend(self) -> _library.BagPoint:
        """Describe it to the library."""
        shift, center, scale = (address(column) for column in self.units)
        d, at = self.units.shape[1], address(self.parameter)
        return _library.BagPoint(self.family, self.intercept, d, shift, center, scale, at)


def describe_part(x: Array, sizes: Array) -> tuple[_library.PartBags, Any]:
    """Describe whole bags to the library; the second is what must outlive the first."""
    matrix = _library.matrix(x)
    start = np.zeros(len(sizes) + 1, np.uintp)
    np.cumsum(sizes, out=start[1:])
    return _library.PartBags(ctypes.pointer(matrix), len(sizes), address(start)), (matrix, start)


def bag_columns(x: Array, base: Array) -> Array:
    """Return the sums of x - base and of its square, by column."""
    out = np.empty(2 * x.shape[1])
    _check(lib.part_columns, address(out), _library.matrix(x), address(base))
    return out


def bag_moments(x: Array, sizes: Array, at: Point) -> Array:
    """Return the bags' means, their variances, and two sums over the rows' linear predictors."""
    n = len(sizes)
    out = np.empty(2 * n + 2)
    part, _kept = describe_part(x, sizes)
    mean, variance, eta = (address(some) for some in (out[:n], out[n : 2 * n], out[2 * n :]))
    _check(lib.part_moments, mean, variance, eta, part, at.lend(), 1)
    return out


def bag_gram(x: Array, sizes: Array, at: Point, weight: Array, residual: Array | None) -> Array:
    """Return what bags add to the Gram matrix of their derivatives, and to the gradient."""
    n = len(at.parameter)
    out = np.empty(n * n + n)
    part, _kept = describe_part(x, sizes)
    _check(lib.part_gram, address(out), part, at.lend(), address(weight), address(residual), 1)
    return out


class BagSums(Protocol):
    """Passes over the bags of all machines."""

    def columns(self) -> Array:
        """Return `bag_columns`, summed."""

    def moments(self, at: Point) -> Array:
        """Return `bag_moments` of all bags."""

    def gram(self, at: Point, weight: Array, residual: Array | None) -> Array:
        """Return `bag_gram`, summed."""


def fit_bags(
    weights: Array, sums: BagSums, base: Array, answers: Answers, options: _library.FitOptions
) -> tuple[Array, _library.FitReport, Array]:
    """Fit answers by the aggregate estimator, from weights; gives the covariance, too."""
    relay, d, n = Relay(), len(weights) - 1, len(answers)
    theta = np.array(weights[:-1], dtype=np.float64)
    coef = _library.Coef(d, address(theta), float(weights[-1]))
    report, covariance = _library.FitReport(), np.empty((d + 1, d + 1))

    def view(pointer: Any, size: int) -> Array:
        return np.ctypeslib.as_array(pointer, (size,))

    def columns(out: Any) -> None:
        view(out, 2 * d)[:] = sums.columns()

    def moments(at: Any, mean: Any, variance: Any, eta: Any) -> None:
        found = sums.moments(Point.read(at))
        view(mean, n)[:], view(variance, n)[:], view(eta, 2)[:] = np.split(found, [n, 2 * n])

    def gram(at: Any, weight: Any, residual: Any, out: Any) -> None:
        weights = _library.copy_array(weight, n, np.float64)
        rest = None if residual is None else _library.copy_array(residual, n, np.float64)
        point = Point.read(at)
        size = len(point.parameter)
        view(out, size * size + size)[:] = sums.gram(point, weights, rest)

    parts = _library.BagParts(
        None,
        address(base),
        _library.ColumnsFunction(lambda _, out, __: relay.status(columns, out)),
        _library.MomentsFunction(lambda _, *given: relay.status(moments, *given[:-1])),
        _library.GramFunction(lambda _, *given: relay.status(gram, *given[:-1])),
        answers.laplace,
    )
    options.struct_size = _library.FIT_OPTIONS_SIZE
    bags = answers.lend()
    with relay:
        relay.check(lib.bag_parts_fit, coef, report, address(covariance), parts, *bags, options)
    return np.append(theta, coef.intercept), report, covariance
