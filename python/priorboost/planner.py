"""The planner: what each way of asking is expected to give, before any label is spent."""

from __future__ import annotations

import ctypes
import math
import warnings
import weakref
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _library
from ._library import _check, lib
from .data import Array, as_floats, by_row
from .options import count_of, family_of, l2_of, number_of, rules_of, seed_of, threads_of
from .relay import Relay
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


def _read_plan(found: _library.Plan) -> Plan:
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
    )


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
        What the mean label is assumed to be; needs an intercept.
    dispersion : float, optional
        What the labels' variance over that of the family is assumed to be.
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
    values = as_floats(X)
    rules = rules_of(min_bag, epsilon, bounds, step)
    _check(lib.rules_check, rules)
    options = plan_options(
        family_of(family),
        rules,
        fit_intercept,
        l2_of(l2),
        seed_of(random_state)[1],
        threads_of(n_jobs),
    )
    options.max_rows = count_of(max_rows, "max_rows")
    if mean is not None:
        if not fit_intercept:
            raise ValueError(
                "mean cannot be used with fit_intercept=False: without an intercept the features "
                "decide the mean"
            )
        options.assumed.mean = number_of(mean, "mean")
    if dispersion is not None:
        options.assumed.dispersion = number_of(dispersion, "dispersion")
    extra = by_row(offset, values.shape[0], "offset")
    found = _library.Plan()
    try:
        with Relay() as relay:
            options.cancel = ctypes.addressof(relay.cancel)
            features = _library.features(values, offset=extra)
            relay.check(lib.plan_make, found, features, options)
        result = _read_plan(found)
    finally:
        lib.plan_free(found)
    for text in result.warnings:
        warnings.warn(text, stacklevel=2)
    return result


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
        """Plan again with what was learnt from the pilot."""
        self._relay.check(
            lib.choice_revise,
            self._choice,
            trainer.handle,
            _library.features(self.X, offset=self.offset),
            coef,
            self._options,
        )
        self._follow()
