"""What the estimators have when they are fitted: weights, predictions, files."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import _library
from .data import Array, by_row, features
from .encoding import Encoding
from .errors import warn
from .members import Member, Sources, predict_members
from .models import Model, save_model
from .options import FAMILIES, threads_of
from .sparse import is_sparse, sparse_rows
from .summary import Summary, summarize
from .tables import column_or_values, is_table, open_table
from .training import predict_interval, predict_mean


def columns_of(estimator: Any, encoding: Any) -> list[str] | None:
    """Return the names of the columns that are fitted; None: they have none."""
    if encoding is not None:
        return list(encoding.columns)
    names = vars(estimator).get("feature_names_in_")
    return None if names is None else [str(name) for name in names]


class FittedGLM:
    """What `fit` gave, made when it is looked at, and its uses."""

    _family: ClassVar[str]
    n_jobs: int | None
    fit_intercept: bool
    model: str
    _fitted: Any

    path_ = property(attrgetter("_fitted.path"))
    history_ = property(attrgetter("_fitted.history"))
    covariance_ = property(attrgetter("_fitted.covariance"))
    training_ = property(attrgetter("_fitted.training"))
    method_ = property(attrgetter("_fitted.method"))
    assumptions_ = property(attrgetter("_fitted.assumptions"))
    n_redundant_ = property(attrgetter("_fitted.report.redundant"))
    bag_effect_sd_ = property(attrgetter("_fitted.report.bag_effect_sd"))
    plan_ = property(attrgetter("_fitted.plan"))
    limits_ = property(attrgetter("_fitted.limits"))
    l2_ = property(attrgetter("_fitted.report.l2"))
    dispersion_ = property(attrgetter("_fitted.report.dispersion"))
    n_iter_ = property(attrgetter("_fitted.report.iterations"))
    curve_freedom_ = property(attrgetter("_fitted.curve_freedom"))
    usable_ = property(attrgetter("_fitted.usable"))
    _encoding = property(attrgetter("_fitted.encoding"))

    @property
    def simulated_(self) -> bool:
        """Whether the noise of the answers follows from a seed."""
        return bool(self.training_["simulated"])

    @property
    def members_(self) -> list[Member]:
        """The members of a model that is no GLM; a GLM has none."""
        return list(self._fitted.members)

    @property
    def coef_(self) -> Array:
        """One weight per feature."""
        self._require_weights()
        weights: Array = self.path_[-1, :-1]
        return weights

    @property
    def intercept_(self) -> Any:
        """The intercept."""
        self._require_weights()
        return float(self.path_[-1, -1])

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in vars(self)

    # ---- Using the model ----

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the columns that have a weight, such as "age" and "sex=Male".

        `input_features` is not used; scikit-learn's tools may pass it.
        """
        check_is_fitted(self, "path_")
        names = columns_of(self, self._encoding)
        return np.array(names or [f"x{j}" for j in range(self.n_features_in_)], dtype=object)

    def _rows(self, X: Any, offset: Any = None) -> tuple[Array, Array | None]:
        """Return the features and the offset of every row, checked."""
        check_is_fitted(self, "path_")
        X = open_table(X)
        if offset is None and is_table(X):
            offset = self._fitted.names.get("offset")
        offset = column_or_values(X, offset, "offset")
        if is_sparse(X):
            if self._encoding is not None or self.limits_ is not None or self._fitted.members:
                raise ValueError(
                    "X is sparse, but the model was fitted to columns that it changes: with a data "
                    "frame, winsorize, or another model than glm; pass X as in fit"
                )
            rows = sparse_rows(self, X, reset=False)
        elif getattr(self._encoding, "by_position", False):
            rows = self._encoding.apply_numbers(features(self, X, reset=False))
        elif self._encoding is not None:
            rows = self._encoding.encode(X)
        else:
            rows = features(self, X, reset=False)
        if self.limits_ is not None:
            rows = np.clip(rows, *self.limits_)
        return rows, by_row(offset, rows.shape[0], "offset")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = self.model == "glm"
        return tags

    def _require_weights(self) -> None:
        if self._fitted.members:
            raise AttributeError(
                "trees have no weights; plot or permute features, or fit with model='glm'"
            )

    def _mean(self, X: Any, offset: Any, weights: Array | None = None) -> Array:
        source = X = open_table(X)
        X, extra = self._rows(X, offset)
        if self._fitted.members:
            encoding = self._encoding
            sources = Sources.of_numbers(X) if encoding is None else encoding.sources(source)
            threads = threads_of(self.n_jobs)
            family = FAMILIES[self._family]
            return predict_members(X, sources, family, self.members_, extra, threads)
        if weights is None:
            weights = self.path_[-1]
        return predict_mean(X, FAMILIES[self._family], weights, extra, threads_of(self.n_jobs))

    def _staged_mean(self, X: Any, offset: Any) -> Iterator[Array]:
        check_is_fitted(self, "path_")
        for weights in self.path_[-1:] if self._fitted.members else self.path_:
            yield self._mean(X, offset, weights)

    def predict_interval(
        self, X: Any, *, level: float = 0.95, offset: Any = None
    ) -> tuple[Array, Array]:
        """Return a confidence interval of the mean response of every row.

        It includes the uncertainty of the weights, from sampling and from the oracle's noise, but
        not the spread of single labels about their mean.

        Parameters
        ----------
        X : array-like or table of shape (n_rows, n_features)
        level : float, default=0.95
        offset : array-like of shape (n_rows,), optional

        Returns
        -------
        lower, upper : ndarray of shape (n_rows,)

        Examples
        --------
        >>> import numpy as np
        >>> from priorboost import PriorBoostRegressor
        >>> X = np.random.default_rng(0).normal(size=(2000, 2))
        >>> y = X[:, 0] + np.random.default_rng(5).normal(size=2000)
        >>> model = PriorBoostRegressor(min_bag=5).fit(X, y)
        >>> lower, upper = model.predict_interval([[1.0, 0.0]])
        >>> bool(lower[0] < 1.0 < upper[0])
        True
        """
        check_is_fitted(self, "path_")
        if self._fitted.members:
            raise ValueError("trees have no intervals; fit with model='glm'")
        if self.covariance_ is None:
            raise ValueError(
                "the event estimator gives no covariance, so there are no intervals; "
                "fit with estimator='aggregate'"
            )
        X, extra = self._rows(X, offset)
        return predict_interval(
            X,
            FAMILIES[self._family],
            self.path_[-1],
            self.covariance_,
            extra,
            level,
            threads_of(self.n_jobs),
        )

    def summary(self, level: float = 0.95) -> Summary:
        """Return weights, standard errors, z, p and intervals, and how they were found.

        It prints as text, has a data frame as ``.frame``, and is a table in a notebook.

        Parameters
        ----------
        level : float, default=0.95
            Of the intervals.

        Examples
        --------
        >>> import numpy as np
        >>> from priorboost import PriorBoostRegressor
        >>> X = np.random.default_rng(0).normal(size=(2000, 2))
        >>> y = X[:, 0] + np.random.default_rng(5).normal(size=2000)
        >>> summary = PriorBoostRegressor(min_bag=5).fit(X, y).summary()
        >>> summary.columns, summary.header["estimator"]
        (['x0', 'x1', '(intercept)'], 'aggregate, bags: features')
        >>> bool(summary.p[0] < 0.001)
        True
        """
        check_is_fitted(self, "path_")
        if self._fitted.members:
            raise ValueError("trees have no weights to summarize; fit with model='glm'")
        return summarize(self, level)

    def curves(
        self, feature: Any, *, grid: Any = None, level: float = 0.95
    ) -> tuple[Array, Array, Array, Array]:
        """Return what a feature of a smooth model adds to the linear predictor, with its band.

        Parameters
        ----------
        feature : str or int
            The name of the feature, or its number.
        grid : array-like, optional
            Where to look; by default 100 numbers between the outer knots.
        level : float, default=0.95
            Of the band, on average over the curve.

        Returns
        -------
        grid, effect, lower, upper : ndarray
            The effect is above its average over the knots.

        Examples
        --------
        >>> import numpy as np
        >>> from priorboost import PriorBoostRegressor
        >>> x = np.random.default_rng(0).uniform(-2, 2, size=(4000, 1))
        >>> y = x[:, 0] ** 2 + np.random.default_rng(1).normal(size=4000)
        >>> model = PriorBoostRegressor(min_bag=10, model="smooth").fit(x, y)
        >>> grid, effect, lower, upper = model.curves(0, grid=[-1.5, 0.0, 1.5])
        >>> bool(lower[0] > upper[1] and lower[2] > upper[1])
        True
        """
        check_is_fitted(self, "path_")
        return self.to_model().curve(feature, grid=grid, level=level)

    # ---- Model files ----

    def _adopt(self, model: Model) -> None:
        """Take a model that was fitted elsewhere."""
        self._fitted = SimpleNamespace(
            path=np.append(model.coef, np.expand_dims(model.intercept, -1), axis=-1)[np.newaxis],
            history=np.empty(0, _library.ROUND),
            covariance=model.covariance,
            training=dict(model.training),
            limits=model.encoding.limits(),
            encoding=None,
            names={"y": model.label, "offset": model.offset},
            warnings=(),
            sample_warnings=(),
            assumptions=(),
            report=None,
            method=None,
            class_shift=0.0,
            curve_freedom=None,
            members=tuple(model.members),
            trees=None,
            sparse=model.sparse is not None,
        )
        self._fitted.names = {k: v for k, v in self._fitted.names.items() if v is not None}
        if model.sparse is not None:
            self.n_features_in_ = model.sparse.n
            return
        if all(f.is_number and f.fill is None for f in model.features):
            self.n_features_in_ = len(model.columns)
            self.feature_names_in_ = np.array(model.columns, dtype=object)
            return
        self._fitted.encoding, self._fitted.limits = model.encoding, None
        self._remember(model.encoding)

    def _remember(self, encoding: Any) -> None:
        """Set the names of the columns that predictions need."""
        self.feature_names_in_ = np.array([f.name for f in encoding.features], dtype=object)
        self.n_features_in_ = len(encoding.features)

    def to_model(self) -> Model:
        """Return the fitted model as the command line's model file has it."""
        check_is_fitted(self, "path_")
        return Model.from_estimator(self)

    def save(self, path: Any) -> None:
        """Write the fitted model to a file that ``priorboost predict --model`` reads.

        The file has the encoding of a data frame.  Of a formula it has only the columns: a program
        that reads it needs a table with these columns.
        """
        if self._encoding is not None and not isinstance(self._encoding, Encoding):
            warn(
                f"the model file has the columns of the formula, such as "
                f"'{self._encoding.columns[-1]}', but not the formula: it predicts for tables with "
                "these columns; joblib.dump keeps the whole estimator"
            )
        save_model(self.to_model(), path)
