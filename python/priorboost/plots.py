"""Pictures of a fit and of a plan, by matplotlib (the extra ``priorboost[plot]``).

Each function draws on `ax`, or on a new figure, and returns the axes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .data import Array, by_row
from .given import group_rows, match_answers
from .planner import Plan, PlanCost, PlanPoint
from .tables import need, open_table, take_columns

__all__ = ["plot_calibration", "plot_coefficients", "plot_plan"]

_BLUE, _GREY, _RED = "#2f6fb0", "#8a8a8a", "#b5473c"


def _axes(ax: Any, height: float, what: str) -> Any:
    if ax is not None:
        return ax
    pyplot = need("matplotlib.pyplot", "plot", what)
    return pyplot.subplots(figsize=(6.4, height), layout="constrained")[1]


def _finish(ax: Any) -> Any:
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


# ---- Weights -------------------------------------------------------------------------------------


def plot_coefficients(
    model: Any, *, level: float = 0.95, standardize: Any = None, most: int = 30, ax: Any = None
) -> Any:
    """Draw the weights with their intervals, the greatest at the top.

    Of a smooth model these are the straight lines; its ``curves`` has the rest.

    Parameters
    ----------
    model : fitted estimator
    level : float, default=0.95
        Of the intervals; without a covariance there are none.
    standardize : table, optional
        Rows of features: weights are then multiplied by the standard deviations of their columns,
        so that they can be compared.
    most : int, default=30
        No more weights than this, the largest by their z (without a covariance: by size).
    ax : matplotlib Axes, optional

    Returns
    -------
    Axes
    """
    found = model.summary(level)
    curves = getattr(model._encoding, "n_curves", 0)  # the last columns, whose weights say little
    n = len(model.get_feature_names_out()) - curves
    names = found.columns[:n]
    weight, lower, upper = (v[:n].copy() for v in (found.weight, found.lower, found.upper))
    known = not np.isnan(found.se[:n]).any()
    if standardize is not None:
        scale = model._rows(standardize)[0].std(axis=0)[:n]
        weight, lower, upper = weight * scale, lower * scale, upper * scale
    first = np.argsort(-np.abs(found.z[:n] if known else weight), kind="stable")[:most]
    order = first[np.argsort(-weight[first], kind="stable")]
    ax = _axes(ax, 1.2 + 0.26 * len(order), "plot_coefficients")
    at = np.arange(len(order))
    ax.axvline(0.0, color=_GREY, linewidth=0.8)
    if known:
        ax.hlines(at, lower[order], upper[order], color=_BLUE, linewidth=1.6)
    ax.plot(weight[order], at, "o", color=_BLUE, markersize=5)
    ax.set_yticks(at, [names[j] for j in order])
    ax.set_ylim(len(order) - 0.5, -0.5)
    unit = "per standard deviation" if standardize is not None else "in the units of the columns"
    ax.set_xlabel(f"weight, {unit}" + (f", {100 * level:g} % interval" if known else ""))
    if len(order) < n:
        ax.set_title(f"the {len(order)} largest of {n} weights", fontsize="medium")
    return _finish(ax)


# ---- Calibration ---------------------------------------------------------------------------------


def _by_rows(mean: Array, y: Array, weight: Array | None, groups: int) -> tuple[Array, ...]:
    """Return mean prediction, mean label and its standard error of groups of like predictions."""
    if groups < 2:
        raise ValueError(f"groups is {groups}; it must be at least 2")
    parts = np.array_split(np.argsort(mean, kind="stable"), min(groups, max(1, len(y) // 2)))
    share = np.ones(len(y)) if weight is None else weight
    rows = []
    for rows_of in parts:
        w = share[rows_of] / share[rows_of].sum()
        middle = float(w @ y[rows_of])
        error = math.sqrt(float(w**2 @ (y[rows_of] - middle) ** 2))
        rows.append((float(w @ mean[rows_of]), middle, error))
    return tuple(np.array(rows).T)


def plot_calibration(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    bag: Any = None,
    answers: Any = None,
    offset: Any = None,
    sample_weight: Any = None,
    groups: int = 10,
    ax: Any = None,
) -> Any:
    """Draw what was observed against what the model predicts: on the diagonal they agree.

    Parameters
    ----------
    model : fitted estimator or Model
    X : array-like or data frame
        Rows that were not in training, if there are any.
    y : array-like or name of a column, optional
        Their labels, where they are known: rows are drawn in groups of like predictions, with bars
        of two standard errors.
    bag, answers : optional
        Instead of y: bags and their means, as in `fit`; each bag is a point.
    offset, sample_weight : array-like or name of a column, optional
    groups : int, default=10
    ax : matplotlib Axes, optional

    Returns
    -------
    Axes
    """
    if (y is None) == (bag is None) or (bag is None) != (answers is None):
        raise ValueError("pass the labels y, or bag and answers")
    X = open_table(X)
    roles = {"y": y, "bag": bag, "sample_weight": sample_weight, "offset": offset}
    rows, roles, names = take_columns(X, roles)
    classes = getattr(model, "classes_", None)
    predict = model.predict if classes is None else model.predict_proba
    mean = np.asarray(predict(rows, offset=roles["offset"]))
    mean = mean if mean.ndim == 1 else mean[:, 1]
    ax = _axes(ax, 5.2, "plot_calibration")
    if y is not None:
        labels = np.asarray(roles["y"])
        observed = (labels == classes[1]) if classes is not None else labels
        weight = by_row(roles["sample_weight"], len(mean), "sample_weight")
        at, seen, error = _by_rows(mean, observed.astype(np.float64), weight, groups)
        ax.errorbar(at, seen, 2 * error, fmt="o", color=_BLUE, markersize=5, capsize=2)
        ax.set_ylabel("mean label")
        ax.set_xlabel(f"mean prediction, {len(at)} groups of rows")
    else:
        family = getattr(model, "_family", None) or model.family
        of_bags, bags = group_rows(roles["bag"], len(mean))
        seen = match_answers(answers, of_bags, bags, family, names.get("bag", "bag"))[0]
        at = np.add.reduceat(mean[bags.rows], bags.start[:-1].astype(np.intp)) / bags.sizes
        ax.plot(at, seen, "o", color=_BLUE, markersize=4, alpha=0.5)
        ax.set_ylabel("answer (mean label of the bag)")
        ax.set_xlabel(f"mean prediction of the bag, {len(at)} bags")
    low, high = min(at.min(), seen.min()), max(at.max(), seen.max())
    ax.plot([low, high], [low, high], color=_GREY, linewidth=0.8, zorder=0)
    return _finish(ax)


# ---- Plans ---------------------------------------------------------------------------------------


def _way_text(point: PlanPoint) -> str:
    rounds = "1 round" if point.rounds == 1 else f"{point.rounds} rounds"
    return f"{point.estimator}, {point.bags}, bags of {point.bag_size}, {rounds}"


def _plot_ways(plan: Plan, ax: Any) -> Any:
    """Draw the ways of asking of one plan, the best first."""
    points = sorted(plan.points, key=lambda point: point.excess)[:20]
    ax = _axes(ax, 1.6 + 0.28 * len(points), "plot_plan")
    at = np.arange(len(points))
    values = np.array([point.excess for point in points])
    best = np.array([point is plan.best for point in points])
    ax.plot(values, at, "o", color=_GREY, markersize=5)
    ax.plot(values[best], at[best], "o", color=_BLUE, markersize=8, label="recommended")
    ax.set_yticks(at, [_way_text(point) for point in points])
    ax.set_ylim(len(points) - 0.5, -0.5)
    for value, name, color in (
        (plan.all_labels, "all labels", _GREY),
        (plan.constant, "only the mean", _RED),
    ):
        ax.axvline(value, color=color, linewidth=1.2, linestyle="--", label=name)
    ax.set_xscale("log")
    ax.set_xlabel("expected excess loss (less is better)")
    ax.legend(frameon=False, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3)
    return _finish(ax)


_MEASURES = {"r2": "R²", "auc": "AUC", "d2": "D²"}


def _places(costs: list[PlanCost]) -> tuple[list[Any], str, bool]:
    """Return the values along the axis and its name; whether they are epsilons or sizes of bags."""
    epsilons = sorted({math.inf if c.epsilon is None else c.epsilon for c in costs})
    if len(epsilons) > 1:
        return epsilons, "ε per label (more is less private)", True
    return sorted({c.min_bag for c in costs}), "least rows in a bag", False


def _plot_costs(costs: list[PlanCost], ax: Any) -> Any:
    """Draw what is expected under several rules: by epsilon a line for each size, or by size."""
    ax = _axes(ax, 4.0, "plot_plan")
    places, name, by_epsilon = _places(costs)
    lines: dict[int, list[tuple[int, float]]] = {}
    for cost in costs:
        epsilon = math.inf if cost.epsilon is None else cost.epsilon
        at = places.index(epsilon if by_epsilon else cost.min_bag)
        lines.setdefault(cost.min_bag if by_epsilon else 0, []).append((at, cost.measure))
    for size, line in sorted(lines.items()):
        at, value = np.array(sorted(line)).T
        label = f"bags of {size} and more" if by_epsilon else "from bags"
        ax.plot(at, value, "o-", markersize=4, label=label)
    first = costs[0]
    ax.axhline(first.measure_all_labels, color=_GREY, linewidth=1.2, linestyle="--",
               label="all labels")  # fmt: skip
    ax.axhline(first.measure_constant, color=_RED, linewidth=1.2, linestyle="--",
               label="only the mean")  # fmt: skip
    ax.set_xticks(range(len(places)), ["no noise" if p == math.inf else f"{p:g}" for p in places])
    ax.set_xlabel(name)
    ax.set_ylabel(f"expected {_MEASURES[first.measure_name]} on new rows")
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return _finish(ax)


def plot_plan(plans: Any, *, ax: Any = None) -> Any:
    """Draw what is expected of the ways of asking, or what k and ε cost.

    Parameters
    ----------
    plans : Plan or list of PlanCost
        What `plan` returns: its ways of asking.  What `plan_costs` returns: the expected R², AUC or
        D² by ε, with a line for each k; with one ε only, by k.
    ax : matplotlib Axes, optional

    Returns
    -------
    Axes
    """
    if isinstance(plans, Plan):
        return _plot_ways(plans, ax)
    if not isinstance(plans, list) or not all(isinstance(cost, PlanCost) for cost in plans):
        raise ValueError("plot_plan takes what plan() or plan_costs() returns")
    possible = [cost for cost in plans if cost.possible]
    if not possible:
        raise ValueError("no pair of k and epsilon is possible: every k is larger than the table")
    return _plot_costs(possible, ax)
