"""What the reader of a result must know before relying on it: the warnings of the command line."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from . import _library
from .bags import Bags
from .data import Array
from .options import threads_of
from .planner import Plan, plan_caveats
from .training import predict_mean

_LARGE_SD = 8.0  # of a linear predictor: predictions are all but certain
_LOW_FREEDOM = 0.25  # of the weights: less is a model that was not learnt
_HIGH_PEARSON = 1.5  # residuals that large are not the model's
_ENOUGH_ROWS = 2**20  # to tell a standard deviation


def warn_of_fit(model: Any, report: _library.FitReport, X: Array, weights: Array) -> None:
    """Warn, where fit was called, of what its last fit reports; it fitted X and got weights."""
    if (
        report.converged
        and report.estimator == _library.EVENT
        and report.first_dropped >= len(weights) - 1
        and not report.mean_hidden
        and model._family == "linear"
    ):
        return  # what is usual, and quickly told
    if not report.converged:
        text = f"the last fit did not converge in {report.iterations} iterations"
        warnings.warn(f"{text}; do not rely on its numbers", ConvergenceWarning, stacklevel=3)
    for text in _caveats(model, report, X, weights):
        warnings.warn(text, stacklevel=3)


def warn_of_plan(plan: Plan, n_columns: int) -> None:
    """Warn, where fit was called, of what the plan that it followed expected."""
    for text in plan_caveats(plan, n_columns):
        warnings.warn(text, stacklevel=3)


def warn_of_single_rows(bags: Bags) -> None:
    """Warn, two calls above, that some given bags hide nothing."""
    alone = int((bags.sizes == 1).sum())
    if alone == 1:
        warnings.warn("1 bag has one row: its answer is a label", stacklevel=4)
    if alone > 1:
        text = f"{alone} bags have one row: the answer of each is a label"
        warnings.warn(text, stacklevel=4)


def _caveats(model: Any, report: _library.FitReport, X: Array, weights: Array) -> Iterator[str]:
    if report.first_dropped < len(weights) - 1:
        yield (
            f"the features have rank {report.rank}; column {_column(model, report.first_dropped)} "
            "adds nothing to those before it and has weight 0"
        )
    if model._family != "linear":
        sd = _predictor_sd(report, X, weights, threads_of(model.n_jobs))
        large = report.separable or not sd <= _LARGE_SD
        if large and model._family == "poisson":
            yield (
                f"the linear predictor has standard deviation {sd:.3g}: no counts differ so much, "
                "the fit ran away; do not rely on its numbers"
            )
        elif large:
            yield (
                f"the linear predictor has standard deviation {sd:.3g}: the answers all but "
                "separate the rows, and weights are as large as the penalty lets them be; their "
                "errors mean little"
            )
    if report.mean_hidden:
        yield (
            "the noise, or a lack of events, hides even the mean of the labels: no weight can be "
            "known, and the model is constant; larger bags, more rows or a larger epsilon are "
            "needed"
        )
    if report.estimator == _library.AGGREGATE:
        yield from _aggregate_caveats(model, report, len(weights) - (not model.fit_intercept))


def _column(model: Any, j: int) -> str:
    names = getattr(model, "feature_names_in_", None)
    return f"'x{j}'" if names is None else f"'{names[j]}'"


def _predictor_sd(report: _library.FitReport, X: Array, weights: Array, threads: int) -> float:
    """Return the standard deviation of the linear predictor over the rows, offsets aside.

    The aggregate fit reports it; of others it is measured.
    """
    if report.estimator == _library.AGGREGATE:
        return float(report.eta_sd)
    some = X[:: 1 + len(X) // _ENOUGH_ROWS]
    return float(predict_mean(some, _library.LINEAR, weights, None, threads).std())


def _aggregate_caveats(model: Any, report: _library.FitReport, n_parameters: int) -> Iterator[str]:
    if report.dispersion_floored:
        yield (
            "the noise hides the dispersion of the labels; its own standard error, "
            f"{report.dispersion:.3g}, stands for it"
        )
    if report.undercovers:
        yield (
            f"{model._family} with noise on bags as mixed as random ones: the intervals are too "
            "short; bags of similar rows (bags='features') do not have that fault"
        )
    if (
        report.l2_standardized
        and not report.mean_hidden
        and report.freedom < 1 + _LOW_FREEDOM * (n_parameters - 1)
    ):
        yield (
            f"the answers tell next to nothing of the weights ({report.freedom:.2g} effective "
            f"parameters of {n_parameters}): the penalty holds the model near the constant one; "
            "larger bags, more rows or a larger epsilon are needed"
        )
    if report.bags < 2 * n_parameters:
        yield (
            f"only {report.bags} bags for {n_parameters} parameters: the penalty decides most of "
            "the result"
        )
    surprise = 1 + 4 * math.sqrt(2 / max(1, report.bags))
    if model._family == "logistic" and report.pearson > max(_HIGH_PEARSON, surprise):
        yield (
            f"the answers vary {report.pearson:.3g} times as much as the model says (its form may "
            "be wrong): covariance='sandwich' gives standard errors that allow for it"
        )
