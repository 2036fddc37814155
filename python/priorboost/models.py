"""Models, to and from the file that the command line writes and reads."""

from __future__ import annotations

import ctypes
import math
import os
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from . import _library
from ._library import _check, lib
from .data import Array
from .options import FAMILIES
from .training import predict_mean

__all__ = ["Feature", "Model", "load_model", "save_model"]

_FAMILY_NAMES = {number: name for name, number in FAMILIES.items()}


@dataclass(frozen=True)
class Feature:
    """A source column and how it becomes features.

    A number has no levels.  A category has its levels; the first is the reference and gets no
    column of its own.  With `other`, values that are no level share one more column.  `date` lists
    the parts that a date becomes.  `fill` is what missing numbers become, where they may be missing
    (of a date: seconds since 1970); numbers outside `limits` become the nearer of the two.
    """

    name: str
    levels: tuple[str, ...] = ()
    fill: float | None = None
    limits: tuple[float, float] | None = None
    other: bool = False
    date: tuple[str, ...] = ()


@dataclass
class Model:
    """A fitted model as the model file holds it.

    Attributes
    ----------
    family : {"linear", "logistic", "poisson"}
    features : list of Feature
        The source columns.
    columns : list of str
        The encoded columns, such as "age" and "sex=Male"; one weight each.
    coef : ndarray of shape (n_columns,)
    intercept : float
    covariance : ndarray of shape (n_columns + 1, n_columns + 1) or None
    label, positive, offset : str or None
        Names of the response, of the level that counts as 1, and of the offset column.
    training : dict
        How the model was trained.
    unseen : {"baseline", "error"}
        What becomes of a category that was not in the training table: the first level, or an error.

    Examples
    --------
    >>> import numpy as np, os, tempfile
    >>> from priorboost import PriorBoostRegressor, load_model
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> fitted = PriorBoostRegressor(min_bag=2).fit(X, X[:, 0])
    >>> path = os.path.join(tempfile.mkdtemp(), "model.json")
    >>> fitted.save(path)
    >>> model = load_model(path)
    >>> bool((model.predict(X) == fitted.predict(X)).all())
    True
    """

    family: str
    features: list[Feature]
    columns: list[str]
    coef: Array
    intercept: float
    covariance: Array | None = None
    label: str | None = None
    positive: str | None = None
    offset: str | None = None
    training: dict[str, Any] = field(default_factory=dict)
    unseen: str = "baseline"

    def encode(self, X: Any) -> Array:
        """Return the encoded columns of X.

        Parameters
        ----------
        X : array-like of encoded columns, or a table with the source columns by name

        Returns
        -------
        ndarray of shape (n_rows, n_columns)
        """
        if hasattr(X, "columns") or hasattr(X, "column_names"):
            strict = self.unseen == "error"
            parts = [column for f in self.features for column in _encode(f, X, strict)]
            return np.column_stack(parts)
        values = np.asarray(X)
        if values.dtype not in (np.float64, np.float32):
            values = values.astype(np.float64)
        if values.ndim != 2 or values.shape[1] != len(self.columns):
            raise ValueError(
                f"X has the shape {values.shape}; the model has {len(self.columns)} "
                f"columns: {', '.join(self.columns)}"
            )
        limits = self.column_limits()
        return values if limits is None else np.clip(values, *limits)

    def predict(self, X: Any, *, offset: Any = None, n_jobs: int | None = None) -> Array:
        """Return the predicted mean response of every row, as ``priorboost predict`` does.

        Parameters
        ----------
        X : array-like of encoded columns, or a table with the source columns by name
        offset : array-like of shape (n_rows,), optional
            By default the table's offset column, if the model has one.
        n_jobs : int, optional

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        from .data import by_row
        from .options import threads_of

        if offset is None and self.offset is not None:
            offset = np.asarray(X[self.offset])
        values = self.encode(X)
        extra = by_row(offset, len(values), "offset")
        family = FAMILIES[self.family]
        weights = np.append(self.coef, self.intercept)
        return predict_mean(values, family, weights, extra, threads_of(n_jobs))

    def column_limits(self) -> tuple[Array, Array] | None:
        """Return the least and the greatest number of each encoded column; None: none has any."""
        if all(f.limits is None for f in self.features):
            return None
        pairs = [
            f.limits or (-math.inf, math.inf) for f in self.features for _ in range(_n_columns(f))
        ]
        lower, upper = np.array(pairs).T
        return lower, upper

    def to_estimator(self) -> Any:
        """Return the model as a fitted scikit-learn estimator on the encoded columns."""
        from . import sklearn as estimators

        kinds = {
            "linear": estimators.PriorBoostRegressor,
            "logistic": estimators.PriorBoostClassifier,
            "poisson": estimators.PriorBoostPoissonRegressor,
        }
        parameters = ("algorithm", "estimator", "bags", "min_bag", "rounds", "l2")
        estimator = kinds[self.family](
            **{name: self.training[name] for name in parameters if self.training.get(name)}
        )
        estimator._adopt(self)
        return estimator

    @classmethod
    def from_estimator(cls, estimator: Any) -> Model:
        """Return what a fitted estimator has learnt."""
        d = estimator.n_features_in_
        names = getattr(estimator, "feature_names_in_", [f"x{j}" for j in range(d)])
        columns = [str(name) for name in names]
        positive = None
        classes = getattr(estimator, "classes_", None)
        if classes is not None and classes.tolist() != [0, 1]:
            positive = str(classes[1])
        return cls(
            family=estimator._family,
            features=_limited(columns, estimator.limits_),
            columns=columns,
            coef=estimator.path_[-1, :-1].copy(),
            intercept=float(estimator.path_[-1, -1]),
            covariance=estimator.covariance_,
            label="y",
            positive=positive,
            training=dict(estimator.training_),
        )


def _limited(columns: list[str], limits: tuple[Array, Array] | None) -> list[Feature]:
    """Return columns of numbers, with the limits of those that have any."""
    if limits is None:
        return [Feature(name) for name in columns]
    pairs = zip(limits[0].tolist(), limits[1].tolist(), strict=True)
    return [
        Feature(name, limits=(lower, upper) if math.isfinite(lower) else None)
        for name, (lower, upper) in zip(columns, pairs, strict=True)
    ]


# The parts of a date, in the order of their columns, and the bits that stand for them.  A part with
# values becomes one indicator for each but the first.
_DATE_PARTS: dict[str, tuple[int, int]] = {
    "days": (1, 0),
    "year": (2, 0),
    "month": (4, 12),
    "weekday": (8, 7),
    "hour": (16, 24),
}


def _n_columns(feature: Feature) -> int:
    """Return how many columns a source column becomes."""
    if feature.date:
        return sum(max(1, _DATE_PARTS[part][1] - 1) for part in feature.date)
    return max(1, len(feature.levels) - 1 + feature.other)


def _encode_date(feature: Feature, cells: Array) -> list[Array]:
    """Return the parts of dates, which are text or of a type that numpy takes for a time."""
    seconds = cells.astype("datetime64[s]")
    if feature.fill is not None:
        seconds = np.where(np.isnat(seconds), np.int64(feature.fill // 1), seconds.astype(np.int64))
    seconds = seconds.astype(np.int64)
    time = seconds.astype("datetime64[s]")
    days = seconds // 86400
    values = {
        "days": seconds / 86400.0,
        "year": time.astype("datetime64[Y]").astype(np.int64) + 1970.0,
        "month": time.astype("datetime64[M]").astype(np.int64) % 12,
        "weekday": (days + 3) % 7,
        "hour": seconds // 3600 % 24,
    }
    out: list[Array] = []
    for part in feature.date:
        n = _DATE_PARTS[part][1]
        if n == 0:
            out.append(values[part])
        else:
            out.extend((values[part] == value).astype(np.float64) for value in range(1, n))
    return out


def _encode(feature: Feature, table: Any, strict: bool) -> list[Array]:
    """Return the columns that one source column becomes; strict: unseen categories are errors."""
    cells = np.asarray(table[feature.name])
    if feature.date:
        return _encode_date(feature, cells)
    if not feature.levels:
        numbers = cells.astype(np.float64)
        if feature.fill is not None:
            numbers = np.where(np.isnan(numbers), feature.fill, numbers)
        if feature.limits is not None:
            numbers = np.clip(numbers, *feature.limits)
        return [numbers]
    texts = cells.astype(str)
    known = np.isin(texts, feature.levels)
    if strict and not feature.other and not known.all():
        raise ValueError(
            f"column '{feature.name}' holds {str(texts[~known][0])!r}, which was not in training; "
            f"known are {', '.join(feature.levels[:5])}"
        )
    out = [(texts == level).astype(np.float64) for level in feature.levels[1:]]
    return [*out, (~known).astype(np.float64)] if feature.other else out


def prior_scores(prior: Any, X: Any, n_rows: int) -> Array:
    """Return a prior's predicted mean of every row."""
    if isinstance(prior, (str, os.PathLike)):
        prior = load_model(prior)
    if not hasattr(prior, "predict"):
        raise TypeError(
            f"prior is {prior!r}; it must be the path of a model file, a Model, or have predict"
        )
    if not isinstance(prior, Model) and hasattr(prior, "predict_proba"):
        scores = np.asarray(prior.predict_proba(X))[:, 1]
    else:
        scores = np.asarray(prior.predict(X))
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    if scores.shape != (n_rows,) or not np.isfinite(scores).all():
        raise ValueError("the prior must predict one finite number per row")
    return scores


# ---- Files ---------------------------------------------------------------------------------------


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()


def _bytes(value: str | None) -> bytes | None:
    return None if value is None else value.encode()


def _read_features(encoding: _library.Encoding) -> list[Feature]:
    out = []
    for i in range(encoding.n_features):
        f = encoding.feature[i]
        levels = tuple(f.level[j].decode() for j in range(f.n_levels))
        fill = f.fill if f.impute else None
        limits = (f.lower, f.upper) if f.winsorize else None
        date = tuple(part for part, (bit, _) in _DATE_PARTS.items() if f.date & bit)
        out.append(Feature(f.name.decode(), levels, fill, limits, f.other, date))
    return out


def _read_training(t: _library.Training) -> dict[str, Any]:
    exact = Fraction(t.epsilon.num, t.epsilon.den) if t.epsilon.den else None
    return {
        "algorithm": _text(t.algorithm),
        "estimator": _text(t.estimator),
        "bags": _text(t.bags),
        "min_bag": t.min_bag,
        "rounds": t.rounds,
        "rows_spent": t.rows_spent,
        "epsilon": exact,
        "l2": t.l2,
        "simulated": t.simulated,
        "seed": t.seed if t.has_seed else None,
    }


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read a model file.

    Parameters
    ----------
    path : str or path
        What ``priorboost train --out`` or `save_model` wrote.

    Returns
    -------
    Model
    """
    with open(path, "rb"):  # what is wrong with the path, Python says by its own exceptions
        pass
    m = _library.Model()
    _check(lib.model_load, m, os.fsencode(path))
    try:
        n = m.coef.n
        covariance = None
        if m.covariance:
            flat = _library.copy_array(m.covariance, (n + 1) * (n + 1), np.float64)
            covariance = flat.reshape(n + 1, n + 1)
        return Model(
            family=_FAMILY_NAMES[m.family],
            features=_read_features(m.encoding),
            columns=[m.encoding.column[j].decode() for j in range(m.encoding.n_columns)],
            coef=_library.copy_array(m.coef.theta, n, np.float64),
            intercept=m.coef.intercept,
            covariance=covariance,
            label=_text(m.label),
            positive=_text(m.positive),
            offset=_text(m.offset),
            training=_read_training(m.training),
            unseen="error" if m.encoding.refuse_unseen else "baseline",
        )
    finally:
        lib.model_free(ctypes.byref(m))


def _lend_features(features: list[Feature]) -> Any:
    out = (_library.Feature * len(features))()
    for i, f in enumerate(features):
        out[i].name = f.name.encode()
        out[i].n_levels = len(f.levels)
        out[i].level = (ctypes.c_char_p * len(f.levels))(*[v.encode() for v in f.levels])
        out[i].impute = f.fill is not None
        out[i].fill = f.fill or 0.0
        out[i].winsorize = f.limits is not None
        out[i].lower, out[i].upper = f.limits or (0.0, 0.0)
        out[i].other = f.other
        out[i].date = sum(_DATE_PARTS[part][0] for part in f.date)
    return out


def _lend_training(t: dict[str, Any]) -> _library.Training:
    exact = t.get("epsilon")
    rational = (exact.numerator, exact.denominator) if exact is not None else (0, 0)
    return _library.Training(
        _bytes(t.get("algorithm")),
        _bytes(t.get("estimator")),
        _bytes(t.get("bags")),
        t.get("min_bag", 1),
        t.get("rounds", 1),
        t.get("rows_spent", 0),
        _library.Rational(*rational),
        t.get("l2", 0.0),
        t.get("simulated", False),
        t.get("seed") is not None,
        t.get("seed") or 0,
    )


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model file: whole, or not at all.

    Parameters
    ----------
    model : Model or fitted estimator
    path : str or path
    """
    if not isinstance(model, Model):
        model = model.to_model()
    theta = np.ascontiguousarray(model.coef, dtype=np.float64)
    covariance = None
    if model.covariance is not None:
        covariance = np.ascontiguousarray(model.covariance, dtype=np.float64)
    features = _lend_features(model.features)
    columns = (ctypes.c_char_p * len(model.columns))(*[c.encode() for c in model.columns])
    lent = _library.Model(
        FAMILIES[model.family],
        _library.Encoding(len(features), len(columns), features, columns, model.unseen == "error"),
        _library.Coef(theta.size, _library.address(theta), model.intercept),
        _bytes(model.label),
        _bytes(model.positive),
        _bytes(model.offset),
        _library.address(covariance),
        _lend_training(model.training),
    )
    _check(lib.model_save, lent, os.fsencode(path))
