"""Warnings about a result: the library has the texts, Python warns."""

from __future__ import annotations

import warnings
from ctypes import c_char_p, pointer
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from . import _library
from ._library import address, lib
from .data import Array, matrix
from .options import FAMILIES
from .planner import Plan


def warn_of_fit(
    model: Any,
    report: _library.FitReport,
    X: Array,
    weights: Array,
    names: list[str] | None = None,
    one_row_bags: int = 0,
    advice: str = "covariance='sandwich'",
    n_curves: int = 0,
) -> tuple[str, ...]:
    """Warn, where fit was called, of what its last fit reports; return the texts.

    It fitted X, whose columns have these names and of which the last n_curves are of curves, and
    got weights; the advice is for residuals that are too large.
    """
    options = _library.FitOptions(
        _library.FIT_OPTIONS_SIZE,
        FAMILIES[model._family],
        intercept=model.fit_intercept,
        curves=n_curves,
    )
    coef = _library.Coef(len(weights) - 1, address(weights), weights[-1])
    columns = None
    if names is not None:
        columns = (c_char_p * len(names))(*[name.encode() for name in names])
    fitted = _library.Fitted(
        pointer(report),
        pointer(options),
        pointer(matrix(X)),
        pointer(coef),
        one_row_bags,
        columns,
        b"bags='features'",
        advice.encode(),
    )
    found = (_library.FitWarning * _library.MOST_WARNINGS)()
    texts = []
    for warning in found[: lib.warnings(found, fitted)]:
        kind = ConvergenceWarning if warning.kind <= _library.UNUSABLE else UserWarning
        texts.append(warning.text.decode("utf-8", "replace"))
        warnings.warn(texts[-1], kind, stacklevel=3)
    return tuple(texts)


def warn_of_trees(model: Any, result: Any) -> tuple[str, ...]:
    """Warn, where fit was called, of trees that must not be used or that are none."""
    texts: list[str] = []
    if result.trees is None:  # a mixture, or the trees of several classes
        if result.worse_left_out:
            texts.append(
                "a constant predicts bags that were left out better than this model does: the "
                "answers say too little; ask for more bags"
            )
            warnings.warn(texts[-1], stacklevel=3)
    elif result.trees.worse_than_constant:
        texts.append("a constant model explains the answers better than the trees")
        warnings.warn(texts[-1], ConvergenceWarning, stacklevel=3)
    elif result.members[0].forest is None:
        texts.append(
            "trees predict bags that were left out no better than a constant does, so the model is "
            "constant; try model='glm', or ask for more bags"
        )
        warnings.warn(texts[-1], stacklevel=3)
    return tuple(texts)


def warn_of_seed(name: str = "random_state") -> None:
    """Warn, where fit was called, that the noise of its answers can be computed from a seed."""
    warnings.warn(
        f"the noise is simulated: it follows from {name}, and anyone who knows {name} can remove "
        f"it, so there is no differential privacy; leave {name} out if labels are real",
        stacklevel=3,
    )


def warn_of_plan(plan: Plan) -> None:
    """Warn, where fit was called, of what the plan that it followed expected."""
    for text in plan.warnings:
        warnings.warn(text, stacklevel=3)
