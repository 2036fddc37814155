"""Several label columns: the bags are asked about once, and each column gets a model of its own.

The fit of a column is that of an estimator with an oracle of one label.  Bags from features do not
depend on labels, so every fit would make the same; the first asks, and the others are told what was
answered.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from . import _library
from ._library import _check, lib
from .bags import Bags
from .data import Array, class_labels, response
from .errors import PrivacyError
from .group import RemoteOracles
from .options import seed_of, vector_rules
from .oracle import MemoryHandle, Oracle, borrowed_bags
from .relay import Relay
from .remote import RemoteOracle

__all__ = ["PriorBoostMultiOutput"]


class _PlannedSizeError(Exception):
    """A fit would ask for bags of this size."""


class _Labels(Oracle):
    """Label columns in memory."""

    kind = "columns"

    def __init__(self, labels: Array, rules: _library.Rules, clamp: bool, seed: Any) -> None:
        has_seed, number = seed_of(seed)
        self.labels, self.min_bag = np.ascontiguousarray(labels), rules.min_bag
        self.said = rules
        self.handle = MemoryHandle(self.labels, rules, clamp, has_seed, number)
        self.simulated = has_seed and bool(rules.epsilon.den)

    def _rules(self) -> _library.Rules:
        return self.said

    def ask(self, round: int, bags: Bags) -> Array:
        answers = np.empty((len(bags), self.said.width))
        interface = self.handle.interface
        out = answers.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
        _check(interface.ask, interface.self, round, bags._borrow(), out)
        return answers


class _Shared:
    """An oracle of several columns for the fits of all of them: each row is asked about once."""

    def __init__(self, oracle: Any) -> None:
        self.oracle = oracle
        self.asker: Any = None
        self.rows: tuple[Any] | None = None
        self.bags: Bags | None = None
        self.answers: Array | None = None

    def choose_rows(self, ids: list[str] | None, run: dict[str, Any]) -> Array | None:
        if self.rows is None:  # later, rows that this training asked about are spent
            self.rows = (self.oracle._choose_rows(ids, run),)
        rows: Array | None = self.rows[0]
        return rows

    def open(self, n_rows: int, ids: list[str] | None, run: dict[str, Any], by_unit: bool) -> Any:
        if self.asker is not None:
            return self.asker
        if isinstance(self.oracle, (RemoteOracle, RemoteOracles)):
            self.asker = self.oracle._open(ids, run, by_unit, ("columns",))
        else:
            if n_rows != len(self.oracle.labels):
                raise ValueError(f"X has {n_rows} rows, but Y has {len(self.oracle.labels)}")
            self.asker = self.oracle
        return self.asker

    def recall(self, round: int) -> Bags | None:
        if self.bags is not None:
            return self.bags
        bags: Bags | None = self.asker._recall(round)
        return bags

    def ask(self, round: int, bags: Bags) -> Array:
        if self.answers is None or self.bags is None:
            answers = np.asarray(self.asker.ask(round, bags), dtype=np.float64)
            self.answers, self.bags = answers, bags
        elif list(map(list, self.bags)) != list(map(list, bags)):
            raise PrivacyError("the fit of a label column asks about other bags than the first")
        return self.answers


class _Column(Oracle):
    """One column of an oracle of several."""

    def __init__(self, shared: _Shared, number: int, stop: bool) -> None:
        self.shared, self.number, self.stop = shared, number, stop
        self.checkpoint = getattr(shared.oracle, "checkpoint", None)
        self.simulated = getattr(shared.oracle, "simulated", False)

    def _choose_rows(self, ids: list[str] | None, run: dict[str, Any]) -> Array | None:
        return self.shared.choose_rows(ids, run)

    def _connect(
        self,
        n_rows: int,
        ids: list[str] | None,
        relay: Relay,
        run: dict[str, Any],
        by_unit: bool = False,
        kinds: tuple[str, ...] = ("mean",),
    ) -> _library.Oracle:
        whole = self.shared.open(n_rows, ids, run, by_unit)._rules()
        rules = _library.Rules(ctypes.sizeof(_library.Rules))
        _check(lib.rules_number, rules, whole, self.number)

        def answer(_: Any, round: int, bags: Any, out: Any, __: Any) -> int:
            def work() -> None:
                answers = self.shared.ask(round, borrowed_bags(bags))[:, self.number]
                np.ctypeslib.as_array(out, answers.shape)[:] = answers

            return relay.status(work)

        interface = _library.Oracle(rules, None, _library.AskFunction(answer))
        interface.part = getattr(self.shared.asker, "part", None)
        interface.parts = len(getattr(self.shared.asker, "askers", ()))
        interface.recall = self.shared.recall
        interface.planned = self._planned
        return interface

    def _planned(self, bag_size: int) -> None:
        if self.stop:
            raise _PlannedSizeError(bag_size)


class PriorBoostMultiOutput(BaseEstimator):  # type: ignore[misc]
    """Models of several label columns from one set of bags.

    An answer about a bag has the mean of each column, and each label is used in one answer only, so
    columns that are trained one after the other would need other rows each.  Here the bags are made
    from the features, asked about once, and every column gets the model that it would get alone.

    Parameters
    ----------
    estimators : estimator or list of estimators
        One for all columns, or one for each: `PriorBoostRegressor`, `PriorBoostPoissonRegressor`
        or `PriorBoostClassifier` (two classes).  Their ``bounds``, ``step`` and ``clamp`` are those
        of the column; ``min_bag``, ``epsilon`` and ``random_state`` are given here.
    min_bag : int, default=2
        Least rows in a bag, for labels that are here.
    epsilon : float or str, optional
        Label differential privacy per row, which the columns share; needs bounds.
    shares : list of int, optional
        The part of epsilon of each column, as whole numbers; by default equal.
    random_state : int or None, default=None
        Seed of the bags, and of noise, which is then simulated.

    Attributes
    ----------
    estimators_ : list
        The fitted estimator of each column.
    labels_ : list of str
        The names of the columns: those of a data frame, those of the oracle, or y0, y1, ...

    Examples
    --------
    >>> import numpy as np
    >>> from priorboost import PriorBoostMultiOutput, PriorBoostRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4000, 2))
    >>> Y = X @ [[1.0, 0.0], [0.0, -2.0]] + 0.1 * rng.normal(size=(4000, 2))
    >>> model = PriorBoostMultiOutput(PriorBoostRegressor(), min_bag=10).fit(X, Y)
    >>> (model.coef_ + 0.01).round(1).tolist()
    [[1.0, 0.0], [0.0, -2.0]]
    >>> model.predict(X).shape
    (4000, 2)
    """

    def __init__(
        self,
        estimators: Any,
        *,
        min_bag: int = 2,
        epsilon: float | str | None = None,
        shares: Any = None,
        random_state: Any = None,
    ) -> None:
        self.estimators = estimators
        self.min_bag = min_bag
        self.epsilon = epsilon
        self.shares = shares
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        Y: Any = None,
        *,
        oracle: RemoteOracle | RemoteOracles | None = None,
        ids: Any = None,
        weight: Any = None,
        offset: Any = None,
        unit: Any = None,
    ) -> PriorBoostMultiOutput:
        """Learn from the mean labels of bags; `X` and what is by row are as in the estimators.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
        Y : array-like or data frame of shape (n_rows, n_labels), optional
            The labels, if they are here.
        oracle : RemoteOracle or RemoteOracles, optional
            The oracle that has them; `ids` name the rows.
        ids, weight, offset, unit : array-like of shape (n_rows,), optional

        Returns
        -------
        self
        """
        if (Y is None) == (oracle is None):
            raise ValueError("pass either Y, the labels, or an oracle that has them")
        if Y is not None and unit is not None:
            raise ValueError("unit is for an oracle; of Y, pass one row of each unit")
        by_row = {"ids": ids, "weight": weight, "offset": offset, "unit": unit}
        classes: list[Any] = []
        if Y is not None:
            names, columns = _columns_of(Y)
            templates = self._templates(len(columns))
            source: Any = self._keep(columns, templates, classes)
        else:
            assert oracle is not None
            names, source = oracle.label_names(), oracle
            templates = self._templates(len(names) or 1)
        shared, fitted = _Shared(source), []
        size = self._plan(X, by_row, templates, shared)
        for number, template in enumerate(templates):
            model = clone(template).set_params(bag_size=size or template.bag_size)
            model.fit(X, oracle=_Column(shared, number, False), **by_row)
            model._fitted.names = {**model._fitted.names, "y": names[number]}
            if classes and classes[number] is not None:
                model.classes_ = classes[number]
            fitted.append(model)
        self.estimators_, self.labels_ = fitted, names
        return self

    def _templates(self, n: int) -> list[Any]:
        """Return an estimator for each column, which asks as all columns can."""
        given = self.estimators if isinstance(self.estimators, (list, tuple)) else None
        if given is not None and len(given) != n:
            raise ValueError(f"there are {len(given)} estimators, but {n} label columns")
        templates = [clone(e) for e in (given or [self.estimators] * n)]
        for template in templates:
            for name, possible in _POSSIBLE.items():
                if getattr(template, name) not in possible:
                    raise ValueError(
                        f"{name}={getattr(template, name)!r} is for one label; the columns share "
                        "one round of bags that need no model"
                    )
            asked = {"rounds": 1, "estimator": "aggregate", "random_state": self.random_state}
            template.set_params(bags=template.bags or "features", **asked)
        sizes = {(template.bags, template.bag_size) for template in templates}
        if len(sizes) > 1:
            raise ValueError(f"the estimators ask for different bags: {sorted(map(str, sizes))}")
        return templates

    def _keep(self, columns: list[Any], templates: list[Any], classes: list[Any]) -> _Labels:
        """Put the labels into an oracle in memory."""
        labels, bounds, clamp = [], [], False
        shares = [1] * len(columns) if self.shares is None else list(self.shares)
        if len(shares) != len(columns):
            raise ValueError(f"there are {len(shares)} shares, but {len(columns)} label columns")
        for column, template, share in zip(columns, templates, shares, strict=True):
            logistic = template._family == "logistic"
            known, values = (
                class_labels(column, len(column), False)
                if logistic
                else (None, response(column, len(column)))
            )
            classes.append(known)
            labels.append(values)
            limits = template.bounds
            if limits is None and logistic and self.epsilon is not None:
                limits = (0.0, 1.0)
            if limits is not None:
                bounds.append((float(limits[0]), float(limits[1]), template.step or 0.0, share))
            clamp = clamp or template.clamp
        if bounds and len(bounds) < len(columns):
            raise ValueError("some label columns have bounds and some have none; give all or none")
        rules = vector_rules(self.min_bag, self.epsilon, "columns", len(columns), bounds)
        return _Labels(np.column_stack(labels), rules, clamp, self.random_state)

    def _plan(self, X: Any, by_row: dict[str, Any], templates: list[Any], shared: _Shared) -> int:
        """Return the bag size: the largest that the plan of a column recommends; 0: the least."""
        largest = 0
        if templates[0].bag_size is not None:
            return 0
        for number, template in enumerate(templates):
            try:
                clone(template).fit(X, oracle=_Column(shared, number, True), **by_row)
            except _PlannedSizeError as planned:
                largest = max(largest, planned.args[0])
        return largest

    @property
    def coef_(self) -> Array:
        """The weights, a row for each column."""
        check_is_fitted(self, "estimators_")
        return np.array([np.ravel(model.coef_) for model in self.estimators_])

    @property
    def intercept_(self) -> Array:
        """The intercepts, one for each column."""
        check_is_fitted(self, "estimators_")
        return np.array([float(np.ravel(model.intercept_)[0]) for model in self.estimators_])

    def predict(self, X: Any) -> Array:
        """Return the prediction of each column for every row: means, or classes."""
        check_is_fitted(self, "estimators_")
        out = [model.predict(X) for model in self.estimators_]
        if all(np.issubdtype(column.dtype, np.number) for column in out):
            return np.column_stack(out)
        return np.column_stack([column.astype(object) for column in out])

    def predict_interval(self, X: Any, *, level: float = 0.95) -> tuple[Array, Array]:
        """Return a confidence interval of the mean of each column for every row."""
        check_is_fitted(self, "estimators_")
        ends = [model.predict_interval(X, level=level) for model in self.estimators_]
        return np.column_stack([low for low, _ in ends]), np.column_stack([up for _, up in ends])


_POSSIBLE: dict[str, tuple[Any, ...]] = {
    "bags": (None, "features", "random"),
    "rounds": (None, 1),
    "method": (None, "auto"),
    "algorithm": (None,),
    "schedule": (None,),
    "estimator": (None, "aggregate"),
    "prior": (None,),
    "round_answers": (False,),
}


def _columns_of(Y: Any) -> tuple[list[str], list[Any]]:
    """Return the names and the values of the columns of Y."""
    names = getattr(Y, "columns", None)
    if names is not None:
        return [str(name) for name in names], [np.asarray(Y[name]) for name in names]
    values = np.asarray(Y)
    if values.ndim != 2:
        raise ValueError(f"Y has {values.ndim} dimensions; it must have 2: rows and label columns")
    return [f"y{j}" for j in range(values.shape[1])], list(values.T)
