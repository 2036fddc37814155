"""What a fitted model says, as a table for people: text, data frame, and HTML in a notebook."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .data import Array
from .tables import need

_FAMILIES = {"linear": "linear", "logistic": "logistic", "poisson": "Poisson"}
_NO_COVARIANCE = {
    "event": "the event estimator gives no covariance: fit with estimator='aggregate' for standard "
    "errors",
    "interpolated": "the interpolated estimator gives no covariance: fit with "
    "estimator='aggregate' for standard errors",
}


@dataclass(frozen=True)
class Summary:
    """Weights with their standard errors, and how they were found.

    Attributes
    ----------
    header : dict
        Family, estimator, rules of the oracle, rounds, rows, bags and dispersion, as texts.
    notes : list of str
        Warnings, and what the reader must know.
    columns : list of str
        The names of the weights; the intercept is last.
    weight, se, z, p, lower, upper : ndarray
        Standard errors and what follows from them are NaN where the estimator has no covariance.
    level : float
        Of the intervals.
    """

    header: dict[str, str]
    notes: list[str]
    columns: list[str]
    weight: Array
    se: Array
    z: Array
    p: Array
    lower: Array
    upper: Array
    level: float

    @property
    def frame(self) -> Any:
        """The table of weights as a data frame of pandas."""
        pandas = need("pandas", "parquet", "summary().frame")
        return pandas.DataFrame(
            dict(self._table()), index=pandas.Index(self.columns, name="column")
        )

    def _table(self) -> list[tuple[str, Array]]:
        return [
            ("weight", self.weight),
            ("std. error", self.se),
            ("z", self.z),
            ("p", self.p),
            ("lower", self.lower),
            ("upper", self.upper),
        ]

    def _cells(self) -> list[list[str]]:
        """Return the table as texts, with its head."""
        percent = f"{100 * self.level:g} % interval"
        if np.isnan(self.se).all():
            return [["column", "weight"], *([c, f"{w:.6g}"] for c, w in self._rows("weight"))]
        rows = [["column", "weight", "std. error", "z", "p", percent]]
        for name, w, se, z, p, lo, hi in self._rows("weight", "se", "z", "p", "lower", "upper"):
            interval = f"{lo:.4g} to {hi:.4g}"
            rows.append([name, f"{w:.6g}", f"{se:.3g}", f"{z:.2f}", p_text(p), interval])
        return rows

    def _rows(self, *names: str) -> Any:
        return zip(self.columns, *(getattr(self, name) for name in names), strict=True)

    def __str__(self) -> str:
        cells = self._cells()
        width = [max(len(row[j]) for row in cells) for j in range(len(cells[0]))]
        lines = [f"{name}: {text}" for name, text in self.header.items()]
        lines.append("")
        for row in cells:
            rest = (cell.rjust(n) for cell, n in zip(row[1:], width[1:], strict=True))
            lines.append("  ".join([row[0].ljust(width[0]), *rest]))
        lines += [""] * bool(self.notes) + [f"note: {note}" for note in self.notes]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, *rows = self._cells()
        out = ["<table><caption>Model from the mean labels of bags</caption>"]
        out.append("<tr>" + "".join(f"<th>{html.escape(cell)}</th>" for cell in head) + "</tr>")
        for row in rows:
            out.append(
                f"<tr><th>{html.escape(row[0])}</th>"
                + "".join(f"<td>{html.escape(cell)}</td>" for cell in row[1:])
                + "</tr>"
            )
        out.append("</table>")
        said = [f"{name}: {text}" for name, text in self.header.items()]
        out.append("<p>" + "<br>".join(map(html.escape, said)) + "</p>")
        out += [f"<p><b>note:</b> {html.escape(note)}</p>" for note in self.notes]
        return "\n".join(out)


def p_text(p: float) -> str:
    """Return a p-value as people write it.

    Examples
    --------
    >>> from priorboost.summary import p_text
    >>> p_text(0.0312), p_text(1e-9)
    ('0.031', '<0.001')
    """
    return "" if math.isnan(p) else "<0.001" if p < 0.001 else f"{p:.3f}"


def _family(model: Any) -> str:
    classes: Any = getattr(model, "classes_", ())
    if len(classes) > 2:
        return f"{len(classes)} classes, weights against {classes[0]}"
    return _FAMILIES[model._family]


def _header(model: Any) -> dict[str, str]:
    said, fitted = model.training_, model._fitted
    rules = f"bags of at least {said['min_bag']} rows"
    epsilon = said.get("epsilon")
    rules += ", no noise" if epsilon is None else f", epsilon {float(epsilon):g} per label"
    out = {
        "family": _family(model),
        "estimator": f"{said['estimator']}, bags: {said['bags']}",
        "label holder's rules": rules,
        "rounds": str(said["rounds"]),
        "rows": f"{said['rows_spent']:,}",
    }
    if len(fitted.history):
        out["bags"] = f"{int(fitted.history['bags'].sum()):,}"
    report = fitted.report
    if report is not None and not math.isnan(report.dispersion):
        out["dispersion"] = f"{report.dispersion:.4g}"
    if report is not None and report.bag_effect_sd > 0.0:
        out["sd of bag effects"] = f"{report.bag_effect_sd:.4g}"
    return out


def _notes(model: Any) -> list[str]:
    fitted, estimator = model._fitted, model.training_["estimator"]
    notes = [
        *fitted.warnings,
        *fitted.sample_warnings,
        *(f"assumed: {a}" for a in fitted.assumptions),
    ]
    if fitted.report is not None and not model.usable_:
        notes.insert(0, "this fit must not be used")
    if model.covariance_ is None:
        notes.append(_NO_COVARIANCE.get(estimator, "the model has no covariance"))
    if np.any(fitted.class_shift):
        added = ", ".join(f"{shift:.4g}" for shift in np.atleast_1d(fitted.class_shift))
        notes.append(
            f"class_weight has added {added} to the intercept: probabilities are "
            "those of a population with weighted classes"
        )
    if getattr(fitted.encoding, "n_curves", 0):
        notes.append(
            "columns such as s(age).1 are parts of curves, and one of them means little; "
            "curves('age') gives the curve with its band"
        )
    if model.training_.get("simulated"):
        notes.append("the noise follows from a seed: there is no differential privacy")
    return notes


def summarize(model: Any, level: float) -> Summary:
    """Return the summary of a fitted estimator."""
    from scipy.special import ndtr, ndtri

    if not 0.0 < level < 1.0:
        raise ValueError(f"level is {level:g}; it must be between 0 and 1, such as 0.95")
    last, columns = model.path_[-1], [*model.get_feature_names_out(), "(intercept)"]
    columns = columns if model.fit_intercept else columns[:-1]
    n = len(columns)
    weight = np.array(last if last.ndim == 1 else last[1:, :n].ravel(), dtype=np.float64)
    se = np.full(weight.shape, np.nan)
    if model.covariance_ is not None:
        se = np.sqrt(np.diag(model.covariance_))
    if last.ndim == 2:  # by class, but for the base
        se = model.standard_errors_[1:, :n].ravel()
        columns = [f"{name}: {column}" for name in model.classes_[1:] for column in columns]
        n = len(columns)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = weight / se
    reach = ndtri(0.5 + level / 2) * se
    return Summary(
        header=_header(model),
        notes=_notes(model),
        columns=columns,
        weight=weight[:n],
        se=se[:n],
        z=z[:n],
        p=2 * ndtr(-np.abs(z[:n])),
        lower=(weight - reach)[:n],
        upper=(weight + reach)[:n],
        level=level,
    )
