"""The planner: what each way of asking is expected to give, before any label is spent."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _library
from ._library import _check, lib
from .data import Array, as_floats, by_row, matrix
from .options import FAMILIES, choice, l2_of, rules_of, seed_of, threads_of
from .training import Settings, Trainer

__all__ = ["Plan", "PlanPoint", "plan"]

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
        The same with the model's error: what the recommendation goes by.
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
class Plan:
    """Every way of asking, and the one that is recommended.

    Attributes
    ----------
    points : list of PlanPoint
    best : PlanPoint
    reason : str
        Why it is recommended.
    all_labels, constant : float
        Expected excess with every label in hand, and of a model that knows only the mean.
    hopeless : bool
        No way of asking is expected to do clearly better than the mean.
    rare : bool
        Fewer than ten events a weight are expected.
    se : ndarray of shape (n_features,)
        Expected standard error of each weight for the best, in the units of X.
    """

    points: list[PlanPoint]
    best: PlanPoint
    reason: str
    all_labels: float
    constant: float
    hopeless: bool
    rare: bool
    se: Array


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


def make_plan(
    X: Array,
    offset: Array | None,
    options: _library.PlanOptions,
) -> Plan:
    """Run the planner of the library."""
    out, x = _library.Plan(), matrix(X)
    options.struct_size = _SIZE
    _check(lib.plan_make, out, x, _library.address(offset), options)
    try:
        points = [_read_point(out.point[i]) for i in range(out.n_points)]
        return Plan(
            points,
            points[out.best],
            out.reason.decode(),
            out.all_labels,
            out.constant,
            out.hopeless,
            out.rare,
            _library.copy_array(out.se, out.n_columns, np.float64),
        )
    finally:
        lib.plan_free(out)


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
    max_rows: int = 2**15,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Plan:
    """Forecast, from the features alone, what each way of asking will give; recommend one.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
    min_bag : int
        The oracle's rule.
    family : {"linear", "logistic", "poisson"}
    epsilon, bounds, step
        The oracle's noise, as in `PriorBoostRegressor`.
    fit_intercept, l2
        Of the model, as in `PriorBoostRegressor`.
    offset : array-like of shape (n_rows,), optional
    mean : float, optional
        What the mean label is believed to be.
    dispersion : float, optional
        What the labels' variance over that of the family is believed to be.
    max_rows : int
        Forecasts are made on so many rows and scaled.
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
    values = as_floats(X)
    rules = rules_of(min_bag, epsilon, bounds, step)
    _check(lib.rules_check, rules)
    options = plan_options(
        FAMILIES[family],
        rules,
        fit_intercept,
        l2_of(l2),
        seed_of(random_state)[1],
        threads_of(n_jobs),
    )
    options.max_rows = max_rows
    if mean is not None:
        options.belief.mean = mean
    if dispersion is not None:
        options.belief.dispersion = dispersion
    return make_plan(values, by_row(offset, values.shape[0], "offset"), options)


def plan_options(
    family: int, rules: _library.Rules, intercept: bool, l2: float, seed: int, threads: int
) -> _library.PlanOptions:
    """Return the planner's options with its defaults."""
    options = _library.PlanOptions(family=family, rules=rules, intercept=intercept)
    options.l2 = l2
    options.belief.mean = options.belief.dispersion = options.belief.model_error = math.nan
    options.max_rows = 2**15
    options.seed = seed
    options.threads = threads
    return options


# ---- Running what is recommended -----------------------------------------------------------------

# A pilot, the geometric schedule's first of two rounds, teaches where it has so many bags a weight.
_PILOT_BAGS_PER_WEIGHT = 4
_PILOT_LEAST_BAGS = 32
_PILOT_PART = 17


class Automatic:
    """A run that chooses for itself how to ask, as ``priorboost train --auto`` does.

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
    """

    def __init__(
        self,
        X: Array,
        offset: Array | None,
        rules: _library.Rules,
        fit: _library.FitOptions,
        settings: Settings,
    ) -> None:
        self.X = X
        self.offset = offset
        self.rules = rules
        self.fit = fit
        self.settings = settings
        options = self._options()
        if settings.prior_score is not None:
            options.belief.mean = np.add.accumulate(settings.prior_score / len(X))[-1]
        self.plan = make_plan(X, offset, options)
        self._follow(self.plan.best)

    def _options(self) -> _library.PlanOptions:
        options = plan_options(
            self.fit.family,
            self.rules,
            self.fit.intercept,
            self.fit.l2,
            self.settings.seed,
            self.settings.threads,
        )
        options.brief = True
        return options

    def _follow(self, best: PlanPoint) -> None:
        s, n_rows, min_bag = self.settings, len(self.X), self.rules.min_bag
        aggregate = best.estimator == "aggregate"
        self.fit.estimator = choice("estimator", best.estimator)
        # Nothing is forgotten: the aggregate estimator pools the answers of all rounds.
        s.algorithm = choice("algorithm", "pbprefix" if aggregate else "priorboost")
        s.bags = choice("strategy", best.bags)
        s.bag_size = best.bag_size
        s.rounds = best.rounds
        least = max(_PILOT_BAGS_PER_WEIGHT * (self.X.shape[1] + 1), _PILOT_LEAST_BAGS)
        size = best.bag_size
        while size > min_bag and n_rows // _PILOT_PART // size < least:
            size = max(size // 2, min_bag)
        # Only noise makes larger bags better, so only under noise is there anything to learn.
        noisy = self.rules.epsilon.den > 0
        if aggregate and noisy and best.rounds == 1 and n_rows // _PILOT_PART // size >= least:
            s.rounds = 2
            s.schedule = choice("schedule", "geometric")
            s.bag_size = size

    def revise(self, trainer: Trainer, coef: _library.Coef) -> None:
        """Look again with what the pilot taught."""
        s, n_rows = self.settings, len(self.X)
        if s.schedule != choice("schedule", "geometric"):
            return  # these rounds are the plan's own, not a pilot
        options = self._options()
        options.belief.coef = ctypes.pointer(coef)
        _check(
            lib.belief_learn,
            options.belief,
            self.fit.family,
            matrix(self.X),
            _library.address(self.offset),
            lib.trainer_answers(trainer.handle),
            coef,
            s.threads,
        )
        self.plan = make_plan(self.X, self.offset, options)
        best = self.plan.best
        s.bag_size = min(best.bag_size, n_rows - n_rows // _PILOT_PART)
        s.bags = choice("strategy", "hybrid" if best.rounds > 1 else best.bags)
        if best.estimator == "aggregate":
            _check(lib.trainer_ask_for, trainer.handle, s.bags, s.bag_size)
