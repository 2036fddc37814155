"""The loss of bag answers, for any model that takes a gradient.

A model gives every row i a raw prediction F_i and the mean mu_i = b'(F_i).  The answer of a bag B
of s rows has the mean of mu over its rows and the variance phi V_B, where

    V_B = sum of b''(F_i) / s^2 + c_B / phi        c_B: variance of the noise; phi: dispersion

With r_B = answer - mean of mu, the loss is the sum of r_B^2 / (2 V_B).  V is that of the last
predictions, as in the aggregate estimator.  At s = 1 and c = 0 the gradient is that of the
family's own loss.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from .bags import Bags
from .data import Array
from .given import BOUNDS
from .options import family_of

__all__ = ["BagObjective", "bag_objective"]

LEAST_VARIANCE = 1e-10  # of a row: keeps V above 0
MOST_RAW = 50.0  # of counts: no use for the exponential of more


def _logistic(raw: Array) -> tuple[Array, Array]:
    mean = 0.5 * (1.0 + np.tanh(0.5 * raw))
    return mean, mean * (1.0 - mean)


def _poisson(raw: Array) -> tuple[Array, Array]:
    mean = np.exp(np.minimum(raw, MOST_RAW))
    return mean, mean


# By family: mean and variance of a row from its raw prediction; raw prediction from the mean.
_MOMENTS = {
    "linear": lambda raw: (raw, np.ones_like(raw)),
    "logistic": _logistic,
    "poisson": _poisson,
}
_LINKS = {
    "linear": lambda mean: mean,
    "logistic": lambda mean: math.log(mean / (1.0 - mean)),
    "poisson": math.log,
}


def dispersion_of(residual: Array, own: Array, noise: Array, family: str) -> float:
    """Return phi of a family: sum r^2 / (phi a + c) is the number of bags less one.

    It is at least its own standard error where there is noise: it would be 0 where noise dominates.
    Var(r^2 / V) is 2 for a Gaussian and 5 for a Laplace variable.
    """
    if family == "logistic":
        return 1.0
    square, freedom = residual**2, max(len(residual) - 1.0, 1.0)
    phi = float(np.sum(square / own)) / freedom
    if noise.any():
        low, high = 0.0, phi
        for _ in range(60):
            phi = 0.5 * (low + high)
            if np.sum(square / (phi * own + noise)) > freedom:
                low = phi
            else:
                high = phi
        variance = np.maximum(phi * own + noise, np.finfo(float).tiny)
        spread = np.sum(2.0 + 3.0 * (noise / variance) ** 2)
        phi = max(phi, math.sqrt(spread) / float(np.sum(own / variance)))
    return max(phi, 1.0) if family == "poisson" else phi


class BagObjective:
    """A custom objective for LightGBM and XGBoost; `bag_objective` makes it.

    Attributes
    ----------
    start : float
        The raw prediction of the constant model, which is added to what the trees predict.
    """

    def __init__(self, bags: Bags, answers: Array, family: str, noise_variance: Array) -> None:
        self.family = family
        self.answers = answers
        self.noise = noise_variance
        self._rows = bags.rows.astype(np.intp)
        self._first = bags.start[:-1].astype(np.intp)
        self._sizes = bags.sizes.astype(np.intp)
        self.start = self._constant()

    def __call__(self, first: Any, second: Any) -> tuple[Array, Array]:
        """Return gradient and curvature; arguments: (labels, raw) or (raw, data set)."""
        return self.derivatives(first if hasattr(second, "get_label") else second)

    def mean(self, raw: npt.ArrayLike) -> Array:
        """Return the predicted mean of every row from what the trees predict."""
        return self._moments(raw)[0]

    def derivatives(self, raw: npt.ArrayLike) -> tuple[Array, Array]:
        """Return the gradient of the loss and a safe curvature, by row.

        With v_i = b''(F_i) / s the gradient is -v_i r_B / V_B.  The curvature of a bag is the
        matrix v v' / V_B, and v v' <= diag(v_i sum_j v_j): that bound is returned.  The diagonal
        v_i^2 / V_B is too small by a factor of s, and steps by it overshoot.
        """
        mean, variance = self._moments(raw)
        v = self._by_bag(variance) / np.repeat(self._sizes, self._sizes)
        inverse = 1.0 / self.bag_variance(raw)
        slope = np.repeat(self._residual(mean) * inverse, self._sizes)
        bound = np.repeat(np.add.reduceat(v, self._first) * inverse, self._sizes)
        gradient, curvature = np.zeros_like(mean), np.zeros_like(mean)
        gradient[self._rows], curvature[self._rows] = -v * slope, v * bound
        return gradient, curvature

    def bag_variance(self, raw: npt.ArrayLike) -> Array:
        """Return V of every bag at these predictions."""
        mean, variance = self._moments(raw)
        own = self._means(variance) / self._sizes
        if not self.noise.any():
            return own
        phi = dispersion_of(self._residual(mean), own, self.noise, self.family)
        return own + self.noise / phi

    def loss(self, raw: npt.ArrayLike, bag_variance: Array) -> float:
        """Return the sum over bags of r^2 / (2 V)."""
        return float(np.sum(self._residual(self.mean(raw)) ** 2 / bag_variance)) / 2.0

    def take(self, bags: Array) -> tuple[Array, BagObjective]:
        """Return the rows of some bags, and the objective of a table of these rows only."""
        rows = np.concatenate([self._rows[self._first[b] :][: self._sizes[b]] for b in bags])
        start = np.concatenate([[0], np.cumsum(self._sizes[bags])])
        return rows, BagObjective(
            Bags(np.arange(len(rows)), start), self.answers[bags], self.family, self.noise[bags]
        )

    def _moments(self, raw: npt.ArrayLike) -> tuple[Array, Array]:
        values = self.start + np.asarray(raw, dtype=np.float64).ravel()
        mean, variance = _MOMENTS[self.family](values)
        return mean, np.maximum(variance, LEAST_VARIANCE)

    def _by_bag(self, by_row: Array) -> Array:
        """Return what belongs to the rows of the bags, one bag after the other."""
        if len(by_row) <= self._rows.max():
            raise ValueError(
                f"there are {len(by_row)} predictions, but the bags name row {self._rows.max()}; "
                "the model must be fitted on the rows that the bags number"
            )
        values: Array = by_row[self._rows]
        return values

    def _means(self, by_row: Array) -> Array:
        means: Array = np.add.reduceat(self._by_bag(by_row), self._first) / self._sizes
        return means

    def _residual(self, mean: Array) -> Array:
        return self.answers - self._means(mean)

    def _constant(self) -> float:
        """Return the link of the answers' mean, kept away from means that no model can reach."""
        mean = float(np.average(self.answers, weights=self._sizes))
        lower, upper = BOUNDS[self.family]
        margin = 0.5 / float(self._sizes.sum())
        link: Any = _LINKS[self.family]
        return float(link(min(max(mean, lower + margin), upper - margin)))


def bag_objective(
    bags: Bags,
    answers: npt.ArrayLike,
    family: str = "linear",
    noise_variance: npt.ArrayLike = 0.0,
) -> BagObjective:
    """Return the loss of bag answers as a custom objective of LightGBM and XGBoost.

    Pass it as ``objective`` to their scikit-learn classes or as the objective of their `train`; any
    labels can be passed with the rows, they are not used.  Its method `mean` turns raw predictions
    (``raw_score=True``, ``output_margin=True``) into means.

    Parameters
    ----------
    bags : Bags
        Which rows of the training table each answer is about; rows in no bag are not used.
    answers : array-like of shape (n_bags,)
        The mean label of each bag, with or without noise.
    family : {"linear", "logistic", "poisson"}
        Raw predictions are means, logits or logarithms.
    noise_variance : float or array-like of shape (n_bags,)
        The variance of the noise in each answer; 0: none.

    Returns
    -------
    BagObjective

    Examples
    --------
    >>> import numpy as np
    >>> from priorboost import InMemoryOracle, bag_objective, feature_bags
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> bags = feature_bags(X, 4)
    >>> answers = InMemoryOracle(X[:, 0] ** 2, 4).ask(0, bags)
    >>> objective = bag_objective(bags, answers)
    >>> gradient, curvature = objective.derivatives(np.zeros(400))
    >>> bool(np.allclose(curvature, 1.0)), bool(abs(gradient.sum()) < 1e-9)
    (True, True)
    """
    family_of(family)
    means = np.ascontiguousarray(answers, dtype=np.float64)
    if means.shape != (len(bags),) or not len(bags):
        raise ValueError(
            f"answers has the shape {means.shape}; it must have one mean per bag, ({len(bags)},)"
        )
    if not bags.sizes.min():
        raise ValueError(f"bag {int(bags.sizes.argmin())} has no rows")
    noise = np.array(np.broadcast_to(np.asarray(noise_variance, dtype=np.float64), means.shape))
    if not (np.isfinite(means).all() and np.isfinite(noise).all() and noise.min() >= 0.0):
        raise ValueError(
            "answers and noise_variance must be finite, and the latter not negative; "
            f"they reach from {means.min():g} to {means.max():g} and from {noise.min():g} to "
            f"{noise.max():g}"
        )
    lower, upper = BOUNDS[family]
    wrong = np.flatnonzero((noise == 0.0) & ((means < lower) | (means > upper)))
    if wrong.size:
        raise ValueError(
            f"bag {wrong[0]} has the answer {means[wrong[0]]:g}, which no {family} labels have; "
            "noise_variance says that answers are noisy"
        )
    return BagObjective(bags, means, family, noise)
