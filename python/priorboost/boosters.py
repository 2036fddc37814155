"""Boosted trees of LightGBM and XGBoost, fitted to bag answers by the gradient of their loss.

Nothing here imports the packages: the estimators that are passed have.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from .data import Array
from .errors import warn
from .objective import BagObjective

_CANDIDATES = 40  # numbers of trees to choose from; the loss changes little between them
_NO_TREE = (
    "no number of trees predicts the answers of bags left out better than their mean does; the "
    "model is this mean: ask for more bags, or for bags with less noise"
)


class _Package(NamedTuple):
    """What differs between the packages."""

    # Parameters by which trees start from 0: of a regressor, of a classifier.
    no_start: tuple[dict[str, Any], dict[str, Any]]
    raw: Any  # arguments of predict for the raw predictions of trees (first, end)
    families: dict[Any, str]  # of a regressor, by its objective


_PACKAGES = {
    "lightgbm": _Package(
        ({}, {}),
        lambda first, end: {
            "raw_score": True,
            "start_iteration": first,
            "num_iteration": end - first,
        },
        {
            None: "linear",
            "regression": "linear",
            "regression_l2": "linear",
            "l2": "linear",
            "mean_squared_error": "linear",
            "mse": "linear",
            "poisson": "poisson",
        },
    ),
    "xgboost": _Package(
        ({"base_score": 0.0}, {"base_score": 0.5}),
        lambda first, end: {"output_margin": True, "iteration_range": (first, end)},
        {
            None: "linear",
            "reg:squarederror": "linear",
            "reg:linear": "linear",
            "count:poisson": "poisson",
        },
    ),
}


def _last_step(estimator: Any) -> tuple[str, Any]:
    """Return the prefix of its parameters, and the estimator that predicts."""
    if not isinstance(estimator, Pipeline):
        return "", estimator
    name, step = estimator.steps[-1]
    return f"{name}__", step


def package_of(estimator: Any) -> str | None:
    """Return the name of the package whose objective can be replaced; None: another estimator.

    Examples
    --------
    >>> from priorboost.boosters import package_of
    >>> from sklearn.linear_model import Ridge
    >>> package_of(Ridge()) is None
    True
    """
    step = _last_step(estimator)[1]
    for base in type(step).__mro__:
        package = base.__module__.partition(".")[0]
        if package in _PACKAGES and "objective" in step.get_params(deep=False):
            return package
    return None


def family_by_objective(estimator: Any) -> str:
    """Return the family that a booster's own objective stands for."""
    package, step = package_of(estimator), _last_step(estimator)[1]
    assert package is not None
    if is_classifier(step):
        return "logistic"
    families = _PACKAGES[package].families
    objective = step.get_params(deep=False)["objective"]
    if callable(objective) or objective not in families:
        names = ", ".join(repr(name) for name in families if name)
        raise ValueError(
            f"the objective of {type(step).__name__} is {objective!r}; for bag answers it must be "
            f"one of {names} or None, which is 'linear' regression"
        )
    return families[objective]


class BagBooster:
    """A clone of an estimator, fitted to bag answers; its number of trees by bags left out."""

    def __init__(self, estimator: Any, folds: int | None, rng: np.random.Generator) -> None:
        self._package = str(package_of(estimator))
        self._prefix, step = _last_step(estimator)
        # XGBoost's None is its own default, 100.
        self._most = int(step.get_params(deep=False)["n_estimators"] or 100)
        self._estimator = estimator
        self._folds = folds
        self._rng = rng
        self.fitted: Any = None
        self.n_trees = 0

    def fit(self, X: Any, objective: BagObjective) -> BagBooster:
        """Fit the answers of the objective, whose bags number the rows of X."""
        self.objective = objective
        self.n_trees = self._most if self._folds is None else self._choose(X)
        if not self.n_trees:
            warn(_NO_TREE)
        self.fitted = self._grow(X, objective, max(self.n_trees, 1))
        return self

    def mean(self, X: Any) -> Array:
        """Return the predicted mean of every row."""
        return self.objective.mean(self._raw(self.fitted, X, 0, self.n_trees))

    def _grow(self, X: Any, objective: BagObjective, n_trees: int) -> Any:
        no_start = _PACKAGES[self._package].no_start[is_classifier(self._estimator)]
        parameters = {**no_start, "objective": objective, "n_estimators": n_trees}
        model = clone(self._estimator)
        model.set_params(**{self._prefix + name: value for name, value in parameters.items()})
        # A classifier wants to see two classes; the objective does not look at them.
        return model.fit(X, np.arange(_num_samples(X)) % 2)

    def _raw(self, model: Any, X: Any, first: int, end: int) -> Array:
        if first == end:
            return np.zeros(_num_samples(X))
        wanted = _PACKAGES[self._package].raw(first, end)
        return np.asarray(model.predict(X, **wanted), dtype=np.float64).ravel()

    def _choose(self, X: Any) -> int:
        """Return the number of trees, 0 or of a geometric grid, that predicts bags left out best.

        All are judged with the same V, that of the constant model.
        """
        n_bags = len(self.objective.answers)
        folds = min(self._folds or 1, n_bags)
        if folds < 2:
            return 0
        fold = self._rng.permutation(n_bags) % folds
        grid = np.unique(np.geomspace(1, self._most, _CANDIDATES).round().astype(int))
        loss = np.zeros(1 + len(grid))
        for f in range(folds):
            rows, objective = self.objective.take(np.flatnonzero(fold != f))
            held, left_out = self.objective.take(np.flatnonzero(fold == f))
            left_out.start = objective.start
            model = self._grow(_safe_indexing(X, rows), objective, self._most)
            loss += self._path(model, _safe_indexing(X, held), left_out, grid)
        return int(np.append(0, grid)[loss.argmin()])

    def _path(self, model: Any, X: Any, objective: BagObjective, grid: Array) -> Array:
        """Return the loss on these answers without trees and with those of the grid."""
        raw = np.zeros(_num_samples(X))
        bag_variance = objective.bag_variance(raw)
        losses = [objective.loss(raw, bag_variance)]
        for first, end in pairwise([0, *grid.tolist()]):
            raw = raw + self._raw(model, X, first, end)
            losses.append(objective.loss(raw, bag_variance))
        return np.array(losses)
