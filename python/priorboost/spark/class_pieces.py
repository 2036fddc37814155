"""The library's pieces for several classes on a cluster, on arrays."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .. import _library
from .._library import _check, address, copy_array, lib
from ..relay import Relay
from .blocks import Array
from .pieces import Answers, describe_part


def _coef(theta: Array) -> _library.ClassCoef:
    classes, width = theta.shape
    return _library.ClassCoef(classes, width - 1, address(theta))


def probabilities(x: Array, theta: Array) -> Array:
    """Return the probability of every class for every row; the last weights are intercepts."""
    matrix, out = _library.matrix(x), np.empty((len(x), len(theta)))
    samples = _library.Samples(ctypes.addressof(matrix), None, len(x))
    _check(lib.classes_predict, address(out), samples, _coef(theta), 1)
    return out


def spread(p: Array, base: Array) -> Array:
    """Return how many rows of probabilities there are, their sums less base, cross products."""
    rest = p - base
    return np.concatenate([[len(p)], rest.sum(axis=0), (rest.T @ rest).ravel()])


def direction_of(total: Array, classes: int) -> Array:
    """Return where probabilities vary most, from their `spread`."""
    mean = total[1 : classes + 1] / total[0]
    cross = total[classes + 1 :].reshape(classes, classes) - total[0] * np.outer(mean, mean)
    cross, out = np.ascontiguousarray(cross), np.empty(classes)
    _check(lib.leading_direction, address(out), address(cross), classes)
    return out


@dataclass(frozen=True)
class ClassPoint:
    """The parameters at which tasks compute what bags of classes have."""

    classes: int
    intercept: bool
    units: Array  # shift, center and scale of the columns
    parameter: Array

    @classmethod
    def read(cls, at: Any) -> ClassPoint:
        """Copy a point of the library's."""
        p, d = at.contents, at.contents.cols
        columns = [copy_array(column, d, np.float64) for column in (p.shift, p.center, p.scale)]
        n = (p.classes - 1) * (d + p.intercept)
        parameter = copy_array(p.parameter, n, np.float64)
        return cls(p.classes, p.intercept, np.array(columns), parameter)

    def key(self) -> tuple[int, bytes, bytes]:
        """Return a key that differs between points."""
        return self.classes, self.units.tobytes(), self.parameter.tobytes()

    def lend(self) -> _library.ClassPoint:
        """Describe it to the library."""
        shift, center, scale = (address(column) for column in self.units)
        d, at = self.units.shape[1], address(self.parameter)
        return _library.ClassPoint(self.classes, d, self.intercept, shift, center, scale, at)

    def rows_size(self) -> int:
        """Return how many numbers `row_sums` gives: PBOOST_CLASS_ROWS_SIZE."""
        n = len(self.parameter)
        return 2 + 2 * self.classes + n * n + n


@dataclass(frozen=True)
class Known:
    """What a fit knows of each bag: answers and noise by class, and the sizes and noise in use."""

    answer: Array
    noise: Array | None
    use: Array  # two rows: size, blur

    @classmethod
    def read(cls, known: Any, n: int, classes: int) -> Known:
        """Copy what the library knows of n bags."""
        k = known.contents

        def by_class(at: Any) -> Array:
            return copy_array(at, n * classes, np.float64).reshape(n, classes)

        noise = None if k.noise is None else by_class(k.noise)
        use = np.array([copy_array(at, n, np.float64) for at in (k.size, k.blur)])
        return cls(by_class(k.answer), noise, use)

    def of(self, bags: Array) -> Known:
        """Return what is known of some bags."""
        noise = None if self.noise is None else np.ascontiguousarray(self.noise[bags])
        use = np.ascontiguousarray(self.use[:, bags])
        return Known(np.ascontiguousarray(self.answer[bags]), noise, use)

    def lend(self) -> _library.ClassBags:
        """Describe it to the library."""
        size, blur = (address(column) for column in self.use)
        return _library.ClassBags(address(self.answer), address(self.noise), size, blur)


def moments(x: Array, sizes: Array, at: ClassPoint) -> Array:
    """Return the bags' proportions, their variances, and sums over the linear predictors."""
    n = len(sizes) * at.classes
    out = np.empty(2 * n + 2 * at.classes)
    part, _kept = describe_part(x, sizes)
    cells = (address(some) for some in (out[:n], out[n : 2 * n], out[2 * n :]))
    _check(lib.part_class_moments, *cells, part, at.lend(), 1)
    return out


def gram(x: Array, sizes: Array, at: ClassPoint, known: Known) -> Array:
    """Return what bags add to the matrix and to the vector of the fit's next step."""
    n = len(at.parameter)
    out = np.empty(n * n + n)
    part, _kept = describe_part(x, sizes)
    _check(lib.part_class_gram, address(out), part, at.lend(), known.lend(), 1)
    return out


def meat(x: Array, sizes: Array, at: ClassPoint, known: Known) -> tuple[Array, Array]:
    """Return what bags add to the covariance, and the squared distance of each bag's answer."""
    n = len(at.parameter)
    out, misfit = np.empty(n * n), np.empty(len(sizes))
    part, _kept = describe_part(x, sizes)
    _check(lib.part_class_meat, address(out), address(misfit), part, at.lend(), known.lend(), 1)
    return out, misfit


def scores(x: Array, sizes: Array, at: ClassPoint, known: Known) -> Array:
    """Return the sum over bags of the squares of what each adds to the vector of `gram`."""
    n = len(at.parameter)
    out = np.empty(n * n)
    part, _kept = describe_part(x, sizes)
    _check(lib.part_class_scores, address(out), part, at.lend(), known.lend(), 1)
    return out


def row_sums(x: Array, answer: Array, at: ClassPoint) -> Array:
    """Return what rows with the answers to their bags add to the event-level loss."""
    out = np.empty(at.rows_size())
    _check(lib.part_class_rows, address(out), _library.matrix(x), address(answer), at.lend(), 1)
    return out


class ClassSums(Protocol):
    """Passes over the bags or rows of all machines; `rows` is for events, the others for bags."""

    def columns(self) -> Array:
        """Return `pieces.bag_columns`, summed."""

    def moments(self, at: Any) -> Array:
        """Return `moments` of all bags."""

    def gram(self, at: ClassPoint, known: Known) -> Array:
        """Return `gram`, summed."""

    def meat(self, at: ClassPoint, known: Known) -> tuple[Array, Array]:
        """Return `meat`, summed, and by bag."""

    def scores(self, at: ClassPoint, known: Known) -> Array:
        """Return `scores`, summed."""

    def rows(self, at: ClassPoint) -> Array:
        """Return `row_sums`, summed."""


def fit(
    theta: Array, sums: Any, base: Array, answers: Answers, options: _library.FitOptions
) -> tuple[Array, _library.FitReport, Array | None]:
    """Fit answers from theta (a row for each class); gives the covariance of aggregate fits."""
    relay, theta, n = Relay(), np.array(theta, dtype=np.float64), len(answers)
    classes, d = len(theta), theta.shape[1] - 1
    report, covariance = _library.FitReport(), None
    if options.estimator == _library.AGGREGATE:
        weights = lib.class_weights(classes, d)
        covariance = np.empty((weights, weights))

    def view(pointer: Any, values: Array) -> None:
        np.ctypeslib.as_array(pointer, (values.size,))[:] = values

    def columns(out: Any) -> None:
        view(out, sums.columns())

    def moments_at(at: Any, mean: Any, variance: Any, eta: Any) -> None:
        found = np.split(sums.moments(ClassPoint.read(at)), [n * classes, 2 * n * classes])
        for pointer, values in zip((mean, variance, eta), found, strict=True):
            view(pointer, values)

    def gram_at(at: Any, known: Any, out: Any) -> None:
        view(out, sums.gram(ClassPoint.read(at), Known.read(known, n, classes)))

    def meat_at(at: Any, known: Any, out: Any, misfit: Any) -> None:
        total, distance = sums.meat(ClassPoint.read(at), Known.read(known, n, classes))
        view(out, total)
        view(misfit, distance)

    def scores_at(at: Any, known: Any, out: Any) -> None:
        view(out, sums.scores(ClassPoint.read(at), Known.read(known, n, classes)))

    def rows_at(at: Any, out: Any) -> None:
        view(out, sums.rows(ClassPoint.read(at)))

    parts = _library.ClassParts(
        None,
        address(base),
        _library.ColumnsFunction(lambda _, out, __: relay.status(columns, out)),
        _library.ClassMomentsFunction(lambda _, *given: relay.status(moments_at, *given[:-1])),
        _library.ClassGramFunction(lambda _, *given: relay.status(gram_at, *given[:-1])),
        _library.ClassMeatFunction(lambda _, *given: relay.status(meat_at, *given[:-1])),
        _library.ClassGramFunction(lambda _, *given: relay.status(scores_at, *given[:-1])),
        _library.ClassRowsFunction(lambda _, *given: relay.status(rows_at, *given[:-1])),
    )
    options.struct_size = _library.FIT_OPTIONS_SIZE
    with relay:
        relay.check(
            lib.class_parts_fit,
            _coef(theta),
            report,
            address(covariance),
            parts,
            *answers.lend(),
            options,
        )
    return theta, report, covariance
