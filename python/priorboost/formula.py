"""Formulas such as ``died ~ age + C(ward)``, by formulaic (the extra ``priorboost[formula]``)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from .data import Array
from .encoding import Feature
from .tables import is_table, names_of, need, package_of, values_of

_SMOOTH = re.compile(r"(?<![\w.])s\s*\(")


def _formulaic(formula: str) -> Any:
    module = need("formulaic", "formula", f"formula={formula!r}")
    if _SMOOTH.search(formula):
        raise ValueError(
            f"formula is {formula!r}; there are no smooth terms s(...) in formulas; model='smooth' "
            "without a formula bends every number as far as the answers support; bs(x, df=4) is a "
            "spline"
        )
    try:
        return module.Formula(formula)
    except Exception as problem:  # of many kinds, by what is wrong
        raise ValueError(f"formula is {formula!r}, which cannot be read: {problem}") from problem


def _frame(X: Any, formula: str) -> Any:
    """Return a data frame of pandas, which formulaic needs."""
    if not is_table(X):
        raise ValueError(f"formula is {formula!r}, but X is no data frame, whose columns it names")
    if package_of(X) == "pandas":
        return X
    pandas = need("pandas", None, "a formula")
    return pandas.DataFrame({name: values_of(X, name) for name in names_of(X)})


def _matrix(spec: Any, frame: Any, formula: str) -> Any:
    """Evaluate a formula, or what an earlier evaluation has learnt, on a data frame."""
    try:
        return spec.get_model_matrix(frame, na_action="raise", output="pandas")
    except Exception as problem:
        lines = str(problem).strip().splitlines() or [type(problem).__name__]
        raise ValueError(
            f"formula {formula!r} cannot be evaluated: {lines[0]} (the columns of X are "
            f"{', '.join(map(str, frame.columns))}; missing cells must be filled first)"
        ) from problem


def left_side(formula: str, X: Any) -> Any:
    """Return the response that a formula names; None: it has no left side.

    A name alone is the column itself, whose labels may be texts.
    """
    parsed = _formulaic(formula)
    if not hasattr(parsed, "lhs"):
        return None
    frame = _frame(X, formula)
    name = formula.partition("~")[0].strip().strip("`")
    if name in frame.columns:
        return frame[name]
    values = _matrix(parsed.lhs, frame, formula)
    if values.shape[1] != 1:
        raise ValueError(
            f"formula is {formula!r}; its left side makes {values.shape[1]} columns, it must make "
            "one"
        )
    return values.iloc[:, 0]


@dataclass
class Design:
    """A formula and what it has learnt from the training table; `encode` applies it again."""

    formula: str
    spec: Any
    columns: list[str]
    needed: list[str]  # columns of the table

    @classmethod
    def learn(cls, formula: str, X: Any, intercept: bool) -> tuple[Design, Array]:
        """Return the design and its columns for the training table."""
        parsed = _formulaic(formula)
        frame = _frame(X, formula)
        found = _matrix(getattr(parsed, "rhs", parsed), frame, formula)
        if ("Intercept" in found.columns) != intercept:
            raise ValueError(
                f"formula is {formula!r} and fit_intercept={intercept}, which contradict each "
                f"other; {'write it without - 1' if intercept else 'add - 1 to it'}, or say "
                f"fit_intercept={not intercept}"
            )
        columns = [str(name) for name in found.columns if name != "Intercept"]
        if not columns:
            raise ValueError(f"formula is {formula!r}; it has no term to learn a weight for")
        used = set(map(str, found.model_spec.required_variables))
        needed = [name for name in frame.columns if name in used]
        out = cls(formula, found.model_spec, columns, needed)
        return out, out._values(found)

    def _values(self, found: Any) -> Array:
        return np.ascontiguousarray(found[self.columns], dtype=np.float64)

    def category_of(self) -> Array:
        """Return by column which term of categories alone it is of, from 1 upwards; 0: of none."""
        kinds = {name: kind.value for name, (kind, *_) in self.spec.encoder_state.items()}
        place = {name: j for j, name in enumerate(self.columns)}
        out = np.zeros(len(self.columns), dtype=np.uintp)
        for number, (term, columns) in enumerate(self.spec.term_indices.items(), 1):
            if all(kinds.get(factor.expr) == "categorical" for factor in term.factors):
                out[[place[str(self.spec.column_names[j])] for j in columns]] = number
        return out

    @property
    def features(self) -> list[Feature]:
        """The columns of tables that it needs."""
        return [Feature(name) for name in self.needed]

    def encode(self, X: Any) -> Array:
        """Return the columns of the model for new rows."""
        return self._values(_matrix(self.spec, _frame(X, self.formula), self.formula))
