"""Models, to and from the file that the command line writes and reads."""

from __future__ import annotations

import ctypes
import math
import os
from dataclasses import dataclass, field
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np

from . import _library
from ._library import _check, lib
from .data import Array
from .encoding import Encoding, Feature
from .members import (
    Member,
    lend_members,
    predict_class_members,
    predict_members,
    read_members,
)
from .options import FAMILIES
from .sparse import SparseColumns
from .tables import column_or_values, open_table
from .training import predict_mean

__all__ = ["Feature", "Model", "export_onnx", "load_model", "save_model"]

_FAMILY_NAMES = {number: name for name, number in FAMILIES.items()}


@dataclass
class Model:
    """A fitted model as the model file holds it.

    Attributes
    ----------
    family : {"linear", "logistic", "poisson", "classes"}
    features : list of Feature
        The source columns.
    columns : list of str
        The encoded columns, such as "age" and "sex=Male"; one weight each.
    coef : ndarray of shape (n_columns,), or (n_classes, n_columns)
    intercept : float, or ndarray of shape (n_classes,)
    covariance : ndarray of shape (n_columns + 1, n_columns + 1) or None
        Of classes that of the weights of all but the first, class by class.
    label, positive, offset : str or None
        Names of the response, of the level that counts as 1, and of the offset column.
    training : dict
        How the model was trained.
    members : list of Member
        Of trees, and of a model that is the mean of others; `coef` is empty then.
    sparse : SparseColumns or None
        Of a model of sparse rows, which has no `features` and no `columns`.
    unseen : {"baseline", "error"}
        What becomes of a category that was not in the training table: the first level, or an error.
    classes : list of str
        The names of several classes, the base first; empty for other families.

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
    intercept: Any
    covariance: Array | None = None
    label: str | None = None
    positive: str | None = None
    offset: str | None = None
    training: dict[str, Any] = field(default_factory=dict)
    unseen: str = "baseline"
    members: list[Member] = field(default_factory=list)
    sparse: SparseColumns | None = None
    classes: list[str] = field(default_factory=list)

    def encode(self, X: Any) -> Array:
        """Return the encoded columns of X.

        Parameters
        ----------
        X : array-like of encoded columns, or a table with the source columns by name

        Returns
        -------
        ndarray of shape (n_rows, n_columns)
        """
        return self.encoding.encode(X)

    def predict(self, X: Any, *, offset: Any = None, n_jobs: int | None = None) -> Array:
        """Return the predicted mean response of every row, as ``priorboost predict`` does.

        Of several classes: the name of the most likely one; see `predict_proba`.

        Parameters
        ----------
        X : array-like of encoded columns, or a table with the source columns by name
        offset : array-like of shape (n_rows,) or name of a column, optional
            By default the table's offset column, if the model has one.
        n_jobs : int, optional

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        from .data import by_row
        from .options import threads_of

        if self.classes:
            best = self.predict_proba(X, n_jobs=n_jobs).argmax(axis=1)
            return np.asarray(np.array(self.classes)[best])
        X = open_table(X)
        if offset is None:
            offset = self.offset
        offset = column_or_values(X, offset, "offset")
        if self.sparse is not None:
            extra = by_row(offset, X.shape[0], "offset")
            weights = np.append(self.coef, self.intercept)
            how = FAMILIES[self.family], weights, extra, threads_of(n_jobs)
            return self.sparse.predict(X, *how)
        values = self.encode(X)
        extra = by_row(offset, len(values), "offset")
        family = FAMILIES[self.family]
        if self.members:
            sources = self.encoding.sources(X)
            return predict_members(values, sources, family, self.members, extra, threads_of(n_jobs))
        weights = np.append(self.coef, self.intercept)
        return predict_mean(values, family, weights, extra, threads_of(n_jobs))

    def predict_proba(self, X: Any, *, n_jobs: int | None = None) -> Array:
        """Return the probability of each of several classes for every row.

        Parameters
        ----------
        X : array-like of encoded columns, or a table with the source columns by name
        n_jobs : int, optional

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        from .classes import predict_classes
        from .options import threads_of

        if not self.classes:
            raise ValueError(f"the model is {self.family}; predict gives its predictions")
        if self.members:
            X = open_table(X)
            how = self.members, len(self.classes), threads_of(n_jobs)
            return predict_class_members(self.encode(X), self.encoding.sources(X), *how)
        theta = np.column_stack([self.coef, self.intercept])
        return predict_classes(self.encode(open_table(X)), theta, threads_of(n_jobs))

    @property
    def encoding(self) -> Encoding:
        """How source columns become encoded ones."""
        return Encoding(self.features, self.columns, self.unseen)

    def curve(
        self, feature: str | int, *, grid: Any = None, level: float = 0.95
    ) -> tuple[Array, Array, Array, Array]:
        """Return what a feature with a curve adds to the linear predictor.

        Parameters
        ----------
        feature : str or int
            The name of the feature, or its number.
        grid : array-like, optional
            Where to look; by default 100 numbers between the outer knots.
        level : float, default=0.95
            Of the band.

        Returns
        -------
        grid, effect, lower, upper : ndarray
            The effect is above its average over the knots; the band is NaN where the model has no
            covariance.
        """
        curved = {f.name: i for i, f in enumerate(self.features) if f.curve is not None}
        at: Any = curved.get(feature) if isinstance(feature, str) else feature
        if at not in curved.values():
            raise ValueError(
                f"feature {feature!r} has no curve; "
                + (f"those with one are {', '.join(curved)}" if curved else "no feature has one")
            )
        if not 0.0 < level < 1.0:
            raise ValueError(f"level is {level!r}; it must be between 0 and 1")
        curve = self.features[at].curve
        assert curve is not None
        knots = curve.knots
        points = np.linspace(knots[0], knots[-1], 100) if grid is None else grid
        x = np.ascontiguousarray(points, dtype=np.float64).ravel()
        effect, error = np.empty(x.size), np.empty(x.size)
        lent = _lend_model(self)
        _check(
            lib.model_effect,
            _library.address(effect),
            _library.address(error),
            lent,
            at,
            _library.address(x),
            x.size,
        )
        half = NormalDist().inv_cdf(0.5 + level / 2) * error
        return x, effect, effect - half, effect + half

    def to_estimator(self) -> Any:
        """Return the model as a fitted scikit-learn estimator.

        It predicts for a table with the source columns, and for an array of the encoded columns.
        """
        from . import sklearn as estimators

        if self.sparse is not None and self.sparse.bits > 0:
            raise ValueError(
                "the model hashes the columns of a table, which no estimator does; use predict"
            )

        kinds = {
            "linear": estimators.PriorBoostRegressor,
            "logistic": estimators.PriorBoostClassifier,
            "classes": estimators.PriorBoostClassifier,
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
        sparse = estimator._fitted.sparse
        columns = [] if sparse else estimator.get_feature_names_out().tolist()
        encoding = estimator._encoding
        members = list(estimator._fitted.members)
        positive = None
        classes = getattr(estimator, "classes_", None)
        weights, several = estimator.path_[-1], classes is not None and len(classes) > 2
        names = [str(name) for name in classes] if classes is not None and several else []
        plain = classes is None or several or classes.tolist() == [0, 1]
        if classes is not None and (not plain or classes.dtype == bool):
            positive = str(classes[1])
        if not isinstance(encoding, Encoding):
            encoding = Encoding(_limited(columns, estimator.limits_), columns)
        return cls(
            family="classes" if several else estimator._family,
            features=encoding.features,
            columns=columns,
            coef=np.empty(0) if members else weights[..., :-1].copy(),
            intercept=0.0 if members else weights[:, -1].copy() if several else float(weights[-1]),
            covariance=None if members else estimator.covariance_,
            label=estimator._fitted.names.get("y", "y"),
            positive=positive,
            offset=estimator._fitted.names.get("offset"),
            training=dict(estimator.training_),
            unseen=encoding.unseen,
            members=members,
            sparse=SparseColumns(estimator.n_features_in_) if sparse else None,
            classes=names,
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
        coef: Array = _library.copy_array(m.coef.theta, m.coef.n, np.float64)
        intercept: Any = m.coef.intercept
        classes = [m.classes.name[c].decode() for c in range(m.classes.n)]
        n = m.coef.n + 1
        if classes:
            shape = m.classes.coef.classes, m.classes.coef.cols + 1
            theta = _library.copy_array(m.classes.coef.theta, shape[0] * shape[1], np.float64)
            coef, intercept = theta.reshape(shape)[:, :-1], theta.reshape(shape)[:, -1]
            n = lib.class_weights(shape[0], shape[1] - 1)
        covariance = None
        if m.covariance:
            covariance = _library.copy_array(m.covariance, n * n, np.float64).reshape(n, n)
        encoding = Encoding.read(m.encoding)
        return Model(
            family="classes" if classes else _FAMILY_NAMES[m.family],
            features=encoding.features,
            columns=encoding.columns,
            coef=coef,
            intercept=intercept,
            covariance=covariance,
            label=_text(m.label),
            positive=_text(m.positive),
            offset=_text(m.offset),
            training=_read_training(m.training),
            unseen=encoding.unseen,
            members=read_members(m.mixture),
            sparse=SparseColumns.read(m.sparse),
            classes=classes,
        )
    finally:
        lib.model_free(ctypes.byref(m))


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


def _lend_model(model: Model) -> _library.Model:
    """Describe a model for the library; it borrows from the model and from itself."""
    theta = np.ascontiguousarray(model.coef, dtype=np.float64)
    covariance = None
    if model.covariance is not None:
        covariance = np.ascontiguousarray(model.covariance, dtype=np.float64)
    mixture, encoding = lend_members(model.members), model.encoding.lend()
    coef, classes, names = _library.Coef(), _library.ModelClasses(), None
    if model.classes:
        names = (ctypes.c_char_p * len(model.classes))(*[c.encode() for c in model.classes])
        of_classes = _library.ClassCoef()
        if not model.members:
            theta = np.ascontiguousarray(np.column_stack([theta, model.intercept]))
            of_classes = _library.ClassCoef(len(names), theta.shape[1] - 1, _library.address(theta))
        classes = _library.ModelClasses(len(names), names, of_classes)
    else:
        coef = _library.Coef(theta.size, _library.address(theta), model.intercept)
    lent = _library.Model(
        0 if model.classes else FAMILIES[model.family],
        encoding,
        coef,
        _bytes(model.label),
        _bytes(model.positive),
        _bytes(model.offset),
        _library.address(covariance),
        _lend_training(model.training),
        mixture,
        classes=classes,
    )
    if model.sparse is not None:
        lent.sparse = model.sparse.lend()
    lent.lent = (theta, covariance, mixture, encoding, lent.sparse, names)
    return lent


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model file: whole, or not at all.

    Parameters
    ----------
    model : Model or fitted estimator
    path : str or path
    """
    if not isinstance(model, Model):
        model = model.to_model()
    _check(lib.model_save, _lend_model(model), os.fsencode(path))


def export_onnx(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model as an ONNX file, as ``priorboost export`` does.

    Its inputs are the columns of the table by name, of shape (n_rows, 1); its output
    ``prediction`` is the mean response.

    Parameters
    ----------
    model : Model or fitted estimator
    path : str or path
    """
    if not isinstance(model, Model):
        model = model.to_model()
    _check(lib.model_export_onnx, _lend_model(model), os.fsencode(path))
