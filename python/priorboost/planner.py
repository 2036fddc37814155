"""The planner: what each way of asking is expected to give, before any label is spent."""

from __future__ import annotations

import ctypes
import math
import warnings
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from . import _library
from ._library import _check, lib
from .data import Array, as_floats, by_row
from .encoding import encoded
from .options import (
    count_of,
    epsilon_of,
    family_of,
    l2_of,
    number_of,
    rules_of,
    seed_of,
    threads_of,
)
from .relay import Relay
from .training import Settings, Trainer

__all__ = ["Plan", "PlanCost", "PlanPoint", "plan", "plan_costs"]

_T = TypeVar("_T")
_FORECASTS = ("information", "exact risk", "gradient bound")
_SIZE = ctypes.sizeof(_library.PlanOptions)


@dataclass(frozen=True)
class PlanPoint:
    """One way of asking, and what it is expected to give.

    Attributes
    ----------
    estimator, bags : str
    rounds, bag_size, n_bags : int
    epsilon : Fraction or None
    forecast : {"information", "exact risk", "gradient bound"}
        What the forecast comes from.
    excess : float
        Expected test loss above that of the best model, if the model is right.
    cautious : float
        The same with the model's error; the smallest worst ratio to the best is recommended.
    se : float
        Root mean square standard error of weights on standardised features; NaN where unknown.
    """

    estimator: str
    bags: str
    rounds: int
    bag_size: int
    n_bags: int
    epsilon: Fraction | None
    forecast: str
    excess: float
    cautious: float
    se: float


@dataclass(frozen=True)
class PlanCost:
    """What one pair of *k* and ε is expected to cost, if effects are as assumed.

    A list of these makes a table: ``pandas.DataFrame(plan_costs(...))``.

    Attributes
    ----------
    min_bag : int
    epsilon : float or None
        None is no noise.
    possible : bool
        False if `min_bag` is larger than the table: then all that follows is 0, NaN or "".
    bags : str
    rounds, bag_size : int
        The way of asking that is recommended.
    tree_bag_size : int
        The size to ask for if trees may be fitted to the answers (``model="trees"`` or ``"auto"``):
        under noise they want smaller bags than a GLM, unless that lets through too much noise.
    excess, cautious : float
        As in `PlanPoint`.
    loss : float
        The expected loss on new rows, as ``evaluate`` measures it.
    kept : float
        The part that is kept of what all labels gain over a model that knows only the mean.
    as_good_as_labels : float
        The number of labelled rows that would do as well; 0 if fewer than the model has weights.
    measure : float
        The expected R², AUC or D² on new rows: see `measure_name`.
    measure_name : {"r2", "auc", "d2"}
    loss_all_labels, loss_constant, measure_all_labels, measure_constant : float
        The same with all labels, and of a model that knows only the mean.
    rows_needed : float
        About how many rows like these reach the target; inf: no number does; NaN: no target.
    least_epsilon : float
        The smallest ε that reaches the target with this `min_bag`; inf: none up to 1000 does;
        NaN: no target, or no bounds.
    """

    min_bag: int
    epsilon: float | None
    possible: bool
    bags: str = ""
    rounds: int = 0
    bag_size: int = 0
    tree_bag_size: int = 0
    excess: float = math.nan
    cautious: float = math.nan
    loss: float = math.nan
    kept: float = math.nan
    as_good_as_labels: float = math.nan
    measure: float = math.nan
    measure_name: str = ""
    loss_all_labels: float = math.nan
    loss_constant: float = math.nan
    measure_all_labels: float = math.nan
    measure_constant: float = math.nan
    rows_needed: float = math.nan
    least_epsilon: float = math.nan


@dataclass(frozen=True)
class Plan:
    """Every way of asking, and the one that is recommended.

    Attributes
    ----------
    points : list of PlanPoint
    best : PlanPoint
    reason : str
        Why it is recommended.
    all_labels, constant : float
        Expected excess with all labels, and of a model that knows only the mean.
    no_better_than_mean : bool
        No way of asking is expected to do clearly better than the mean.
    rare : bool
        Fewer than ten events a weight are expected.
    events : float
        The expected number of the rarer outcome; NaN for the linear family.
    warnings : list of str
        What you must know before you rely on it; `plan` also warns of it.
    se : ndarray of shape (n_features,)
        Expected standard error of each weight for the best, in the units of X.
    cost : PlanCost or None
        What the best is expected to give; None in the plan of an estimator, which has none.
    """

    points: list[PlanPoint]
    best: PlanPoint
    reason: str
    all_labels: float
    constant: float
    no_better_than_mean: bool
    rare: bool
    events: float
    warnings: list[str]
    se: Array
    cost: PlanCost | None


def _read_point(p: _library.PlanPoint) -> PlanPoint:
    return PlanPoint(
        lib.estimator_name(p.estimator).decode(),
        lib.strategy_name(p.bags).decode(),
        p.rounds,
        p.bag_size,
        p.n_bags,
        Fraction(p.epsilon.num, p.epsilon.den) if p.epsilon.den else None,
        _FORECASTS[p.forecast],
        p.excess,
        p.cautious,
        p.se,
    )


def _read_cost(found: _library.Plan, i: int, min_bag: int) -> PlanCost:
    cost = found.cost[i]
    point = _read_point(found.point[cost.point])
    return PlanCost(
        min_bag=min_bag,
        epsilon=None if point.epsilon is None else float(point.epsilon),
        possible=True,
        bags=point.bags,
        rounds=point.rounds,
        bag_size=point.bag_size,
        tree_bag_size=lib.plan_tree_bag_size(ctypes.byref(found), cost.point, min_bag),
        excess=point.excess,
        cautious=point.cautious,
        loss=cost.loss,
        kept=cost.kept,
        as_good_as_labels=cost.labels,
        measure=cost.measure,
        measure_name=found.measure.decode(),
        loss_all_labels=found.loss_all_labels,
        loss_constant=found.loss_constant,
        measure_all_labels=found.measure_all_labels,
        measure_constant=found.measure_constant,
        rows_needed=cost.rows_needed,
        least_epsilon=found.least_epsilon,
    )


def _read_plan(found: _library.Plan, min_bag: int = 0) -> Plan:
    points = [_read_point(found.point[i]) for i in range(found.n_points)]
    return Plan(
        points,
        points[found.best],
        found.reason.decode(),
        found.all_labels,
        found.constant,
        found.no_better_than_mean,
        found.rare,
        found.events,
        [text.value.decode() for text in found.warning[: found.n_warnings]],
        _library.copy_array(found.se, found.n_columns, np.float64),
        _read_cost(found, 0, min_bag) if found.n_costs else None,
    )


def plan_options(
    family: int, rules: _library.Rules, intercept: bool, l2: _library.L2, seed: int, threads: int
) -> _library.PlanOptions:
    """Return the planner's options with its defaults."""
    options = _library.PlanOptions(_SIZE, family, rules, intercept=intercept)
    options.l2 = l2
    options.assumed.mean = options.assumed.dispersion = options.assumed.model_error = math.nan
    options.max_rows = 2**15
    options.seed = seed
    options.threads = threads
    return options


class _Table:
    """What plans are made of: rows, and what is assumed of their labels."""

    def __init__(
        self,
        X: npt.ArrayLike,
        offset: Any,
        mean: float | None,
        dispersion: float | None,
        max_rows: int,
        fit_intercept: bool,
        date: Any,
    ) -> None:
        if hasattr(X, "tocsr"):
            raise ValueError(
                "X is sparse; plans of sparse rows are made by the program: priorboost plan --hash "
                "BITS, or priorboost plan with an svmlight file"
            )
        self.values = as_floats(encoded(X, date))
        self.rows = self.values.shape[0]
        self.offset = by_row(offset, self.rows, "offset")
        if mean is not None and not fit_intercept:
            raise ValueError(
                "mean cannot be used with fit_intercept=False: without an intercept the features "
                "decide the mean"
            )
        self.mean = math.nan if mean is None else number_of(mean, "mean")
        self.dispersion = math.nan if dispersion is None else number_of(dispersion, "dispersion")
        self.max_rows = count_of(max_rows, "max_rows")
        self.intercept = fit_intercept

    def options(
        self, family: int, rules: _library.Rules, l2: _library.L2, seed: int, threads: int
    ) -> _library.PlanOptions:
        options = plan_options(family, rules, self.intercept, l2, seed, threads)
        options.max_rows = self.max_rows
        options.assumed.mean = self.mean
        options.assumed.dispersion = self.dispersion
        options.costs = True
        return options

    def make(self, options: _library.PlanOptions, read: Callable[[_library.Plan], _T]) -> _T:
        found = _library.Plan()
        try:
            with Relay() as relay:
                options.cancel = ctypes.addressof(relay.cancel)
                features = _library.features(self.values, offset=self.offset)
                relay.check(lib.plan_make, found, features, options)
            return read(found)
        finally:
            lib.plan_free(found)


def _as_list(value: Any, name: str) -> list[Any]:
    several = isinstance(value, Iterable) and not isinstance(value, str)
    values = list(value) if several else [value]
    if not values:
        raise ValueError(f"{name} is empty; it must have at least one value")
    return values


def _epsilon(value: Any) -> float | None:
    num, den = epsilon_of(value)
    return num / den if den else None


def _read_costs(found: _library.Plan, min_bag: int) -> list[PlanCost]:
    return [_read_cost(found, i, min_bag) for i in range(found.n_costs)]


def plan(
    X: npt.ArrayLike,
    min_bag: int,
    *,
    family: str = "linear",
    epsilon: float | str | None = None,
    bounds: tuple[float, float] | None = None,
    step: float | None = None,
    fit_intercept: bool = True,
    l2: float | str | None = None,
    offset: Any = None,
    mean: float | None = None,
    dispersion: float | None = None,
    date: Any = None,
    max_rows: int = 2**15,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Plan:
    """Forecast, from the features alone, what each way of asking will give; recommend one.

    Parameters
    ----------
    X : array-like or data frame of shape (n_rows, n_features)
        A data frame is encoded as in `PriorBoostRegressor.fit`, with ``impute="mean"``.
    min_bag : int
        The oracle's rule.
    family : {"linear", "logistic", "poisson"}
    epsilon, bounds, step
        The oracle's noise, as in `PriorBoostRegressor`.
    fit_intercept, l2
        Of the model, as in `PriorBoostRegressor`.
    offset : array-like of shape (n_rows,), optional
    mean : float, optional
        What the mean label is assumed to be; needs an intercept.
    dispersion : float, optional
        What the labels' variance over that of the family is assumed to be.
    date : dict, list or str, optional
        What dates in a data frame become, as in `PriorBoostRegressor`.
    max_rows : int
        Forecasts are made on this many rows and scaled.
    random_state, n_jobs
        As in `PriorBoostRegressor`.

    Returns
    -------
    Plan

    Examples
    --------
    >>> import numpy as np
    >>> from priorboost import plan
    >>> X = np.random.default_rng(0).normal(size=(5000, 4))
    >>> p = plan(X, min_bag=10, family="logistic", epsilon=1, bounds=(0, 1))
    >>> p.best.estimator, p.best.bags
    ('aggregate', 'features')
    >>> p.all_labels < p.best.excess < p.constant
    True
    """
    table = _Table(X, offset, mean, dispersion, max_rows, fit_intercept, date)
    rules = rules_of(min_bag, epsilon, bounds, step)
    _check(lib.rules_check, rules)
    options = table.options(
        family_of(family), rules, l2_of(l2), seed_of(random_state)[1], threads_of(n_jobs)
    )
    result = table.make(options, lambda found: _read_plan(found, rules.min_bag))
    for text in result.warnings:
        warnings.warn(text, stacklevel=2)
    return result


def plan_costs(
    X: npt.ArrayLike,
    min_bag: int | Sequence[int],
    *,
    epsilon: float | str | Sequence[float | str | None] | None = None,
    target: float | None = None,
    family: str = "linear",
    bounds: tuple[float, float] | None = None,
    step: float | None = None,
    fit_intercept: bool = True,
    l2: float | str | None = None,
    offset: Any = None,
    mean: float | None = None,
    dispersion: float | None = None,
    date: Any = None,
    max_rows: int = 2**15,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> list[PlanCost]:
    """Forecast what every pair of *k* and ε costs, in figures that people know.

    Parameters
    ----------
    X : array-like or data frame of shape (n_rows, n_features)
    min_bag : int or sequence of int
        Each *k* to forecast for.  One that is larger than the table is not possible, if there is
        another that is.
    epsilon : float, str, None, or a sequence of them
        Each ε to forecast for; None is no noise.
    target : float, optional
        0.05 looks for the smallest ε for each *k*, and the number of rows for each pair, that lose
        at most 5 % of what all labels gain over a model that knows only the mean.
    family, bounds, step, fit_intercept, l2, offset, mean, dispersion, date, max_rows
        As in `plan`.
    random_state, n_jobs
        As in `plan`.

    Returns
    -------
    list of PlanCost
        By *k*, then by ε, in the order in which they were given.

    Examples
    --------
    >>> import numpy as np
    >>> from priorboost import plan_costs
    >>> X = np.random.default_rng(0).normal(size=(5000, 4))
    >>> costs = plan_costs(X, [8, 32], epsilon=[None, 1], family="logistic", bounds=(0, 1))
    >>> [(c.min_bag, c.epsilon) for c in costs]
    [(8, None), (8, 1.0), (32, None), (32, 1.0)]
    >>> costs[0].kept > costs[1].kept
    True
    """
    sizes = [count_of(k, "min_bag") for k in _as_list(min_bag, "min_bag")]
    epsilons = _as_list(epsilon, "epsilon")
    table = _Table(X, offset, mean, dispersion, max_rows, fit_intercept, date)
    wanted = 0.0 if target is None else number_of(target, "target")
    if target is not None and not 0 < wanted < 1:
        raise ValueError(f"target is {target!r}; it must be above 0 and below 1, such as 0.05")
    possible = [k for k in sizes if k <= table.rows] or sizes[:1]
    result: list[PlanCost] = []
    for k in sizes:
        if k not in possible:
            result += [PlanCost(k, _epsilon(e), False) for e in epsilons]
            continue
        each = [rules_of(k, e, bounds, step) for e in epsilons]
        for rules in each:
            _check(lib.rules_check, rules)
        options = table.options(
            family_of(family), each[0], l2_of(l2), seed_of(random_state)[1], threads_of(n_jobs)
        )
        others = (_library.Rational * len(each))(*(rules.epsilon for rules in each))
        options.epsilon = ctypes.cast(
            ctypes.byref(others, ctypes.sizeof(_library.Rational)),
            ctypes.POINTER(_library.Rational),
        )
        options.n_epsilon = len(each) - 1
        options.brief = True
        options.target = wanted
        result += table.make(options, partial(_read_costs, min_bag=k))
    return result


# ---- Running what is recommended -----------------------------------------------------------------


class Automatic:
    """A run that chooses for itself how to ask, as ``priorboost train --method auto`` does.

    Parameters
    ----------
    X, offset
        What is fitted.
    rules : Rules
        The oracle's.
    fit : FitOptions
        Its estimator is set to the one recommended.
    settings : Settings
        Set to what is recommended.
    fixed : Fixed
        What the user has chosen; it is kept.
    relay : Relay
        Entered; it may stop the planning.
    trees : bool
        Trees are fitted too.
    """

    def __init__(
        self,
        X: Array,
        offset: Array | None,
        rules: _library.Rules,
        fit: _library.FitOptions,
        settings: Settings,
        fixed: _library.Fixed,
        relay: Relay,
        trees: bool,
    ) -> None:
        self.X = X
        self._relay = relay
        self.offset = offset
        self.fit = fit
        self.settings = settings
        self._options = plan_options(
            fit.family, rules, fit.intercept, fit.l2, settings.seed, settings.threads
        )
        self._options.cancel = ctypes.addressof(relay.cancel)
        self._options.fixed = fixed
        self._options.trees = trees
        self._choice = _library.Choice()
        weakref.finalize(self, lib.choice_free, self._choice)
        relay.check(
            lib.choice_make,
            self._choice,
            _library.features(X, offset=offset),
            settings.prior_score,
            self._options,
        )
        self._follow()

    @property
    def plan(self) -> Plan:
        """What was forecast last."""
        return _read_plan(self._choice.plan)

    def _follow(self) -> None:
        s, choice = self.settings, self._choice
        self.fit.estimator = choice.estimator
        s.algorithm, s.bags = choice.algorithm, choice.bags
        s.rounds, s.bag_size, s.schedule = choice.rounds, choice.bag_size, choice.schedule

    def revise(self, trainer: Trainer, coef: _library.Coef) -> None:
        """Plan again with what was learnt from the pilot; of a smooth model, its straight lines."""
        coef = _library.Coef(self.X.shape[1], coef.theta, coef.intercept)
        self._relay.check(
            lib.choice_revise,
            self._choice,
            trainer.handle,
            _library.features(self.X, offset=self.offset),
            coef,
            self._options,
        )
        self._follow()
