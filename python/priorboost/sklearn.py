"""Generalised linear models from the mean labels of bags, as scikit-learn estimators.

`fit(X, y)` plays both parties: an oracle in memory takes the labels and answers only for bags.
`fit(X, oracle=..., ids=...)` learns from the answers of another party; no label is in this process.
`fit(X, bag=..., answers=...)` learns from given bags and their means.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from . import _library
from .classes import (
    fit_given_classes,
    predict_class_interval,
    predict_classes,
    train_classes,
)
from .data import Array, class_labels, response
from .districts import assumptions, stand_for_persons
from .errors import warn
from .given import ClassAnswers, GivenAnswers, group_rows, match_answers
from .glm import PriorBoostGLM
from .members import Sources, predict_class_members, predict_members
from .models import Model
from .options import rules_of, seed_of, threads_of, vector_rules
from .oracle import MemoryHandle
from .parameters import parameters
from .relay import Relay
from .sparse import is_sparse
from .tables import open_table
from .training import GLMResult, Table, predict_mean

_SANDWICH = 1  # PBOOST_COVARIANCE_SANDWICH

__all__ = ["PriorBoostClassifier", "PriorBoostPoissonRegressor", "PriorBoostRegressor"]


class _Regressor(RegressorMixin, PriorBoostGLM):  # type: ignore[misc]
    """What predicts the mean response itself."""

    def predict(self, X: Any, *, offset: Any = None) -> Array:
        """Return the predicted mean response of every row.

        Parameters
        ----------
        X : array-like or table of shape (n_rows, n_features)
        offset : array-like of shape (n_rows,), optional

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return self._mean(X, offset)

    def staged_predict(self, X: Any, *, offset: Any = None) -> Iterator[Array]:
        """Yield the predictions of the model after each round."""
        return self._staged_mean(X, offset)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = self.model in ("trees", "auto")  # on a few hundred rows
        return tags


class PriorBoostRegressor(_Regressor):
    """Linear regression from the mean labels of bags.

    Parameters
    ----------
    min_bag : int, default=2
        Least rows in a bag: the rule of the oracle that holds y.  The default is the least that an
        oracle for others accepts; set it to the rule of your label holder.  At 1 answers are
        labels.  With ``fit(X, oracle=...)`` the oracle's own rule holds, not this one.
    model : {"glm", "smooth", "trees", "auto"}, default="glm"
        What is fitted to the answers.  "glm": a straight line for every number.  "smooth": a curve
        for numbers with 8 different values or more, bent as far as the answers support (aggregate
        estimator); `curves` returns a curve with its band.  "trees": boosted trees, for effects
        that bend or depend on each other; they have no weights and no intervals, and missing cells
        of a data frame need no ``impute``.  "auto": the mean of all of these, weighed by bags left
        out of the fits.
    method : {"auto", "paper"}, optional
        "auto" (the default): plan (see `plan`) and do what is recommended; parameters that are
        given are kept, and the planner chooses the rest.  Under noise it may plan again after a
        first round.  "paper": the paper's PriorBoost; ``algorithm``, ``estimator="event"`` and
        rounded answers imply it.
    rounds : int, optional
        Slices that the rows are asked about in.  Auto: planned.  Paper: by default the largest
        power of two up to 16 that leaves max(bag_size, 20 n_features) rows a slice, else 1.
    algorithm : {"priorboost", "oneshot", "pbprefix"}, optional
        Paper: "priorboost" (the default) trains on the last slice only, "pbprefix" on all slices so
        far; "oneshot" is one round of random bags.
    estimator : {"event", "aggregate", "interpolated", "cv"}, optional
        How answers become a model.  "aggregate" (the default of auto): each bag's mean prediction
        is fitted to its answer, which is unbiased, allows for noise and gives a covariance; it
        uses the answers of all rounds.  "event" (the default of paper): every row's target is its
        bag's answer.  "interpolated": between the bag-level and the event-level loss, see ``rho``.
        "cv": the one of these that predicts bags left out of the fit best.
    bags : {"prior", "random", "features", "hybrid"}, optional
        Auto: planned, "features" or "hybrid".  Paper: by default "prior".  "prior": optimal for the
        last round's predictions.  "features": rows with similar features, best for the
        aggregate estimator.  "hybrid": with the predictions as one more direction.
    schedule : {"equal", "geometric"}, optional
        Slices of equal size (the default), or growing 16-fold; where auto learns from a first
        round, "geometric".
    bag_size : int, optional
        Ask for bags of at least this many rows.  Auto: planned.  Paper: by default min_bag.
    epsilon : float or str, optional
        Answer with noise for label differential privacy of epsilon per row; needs bounds.
    bounds : (float, float), optional
        Public bounds of the labels.
    step : float, optional
        Labels are rounded to multiples of it; by default the largest power of two at most
        (hi - lo) / 2^20.  Needs bounds.
    clamp : bool, default=False
        Move labels outside the bounds to the nearest bound instead of refusing.
    l2 : float or "cv", optional
        Adds (l2/2) |coef_|^2 to the sum of losses.  By default, for the aggregate estimator, a
        weak ridge on standardised features; for the others 1.  "cv" (aggregate): chosen by
        cross-validation over bags, which spends no further rows.
    rho : float, optional
        Interpolated estimator: 0 is the bag-level loss, 1 the event-level loss; by default 0.5.
    covariance : {"model", "sandwich"}, default="model"
        Aggregate estimator: from the model's variances, or from the residuals.
    fit_intercept : bool, default=True
        Fit an intercept, unpenalised.
    standardize : bool, default=False
        Fit on columns of mean 0 and variance 1, which matters for l2; weights are in the units of
        X.  Takes a copy of X.
    impute : {"mean"}, optional
        Data frames: missing numbers become the mean of their column, missing categories the first
        one.  By default missing cells are an error.
    date : dict, list or str, optional
        Data frames: what dates become, such as ``{"admitted": "days+month"}``.  The parts are days
        (since 1970; the default), year, and, as indicators, month, weekday and hour.  A date that
        is not named is an error.
    keep : list or str, optional
        Data frames: columns that are features although their values all differ, like ids; such
        columns are left out otherwise, with a warning.
    unseen : {"baseline", "error"}, default="baseline"
        Data frames: what becomes of a category that was not in training, when the model predicts:
        the first category, with a warning, or an error.
    formula : str, optional
        Data frames: which features the model has, such as ``"died ~ age + C(ward) + age:dose"``,
        read by formulaic (``pip install 'priorboost[formula]'``).  Without `y` in `fit`, the left
        side is the response.
    winsorize : float, optional
        Limit numbers to this many standard deviations around their column's mean,
        when fitting and when predicting.  Takes a copy of X.
    prior : object, optional
        A model whose predictions make the bags of round 1: the path of a model file, a `Model`, or
        anything with `predict` (a classifier: `predict_proba`).  `clone` strips a fitted estimator
        of its fit; wrap it in scikit-learn's `FrozenEstimator` where that matters.
    random_state : int, RandomState, Generator or None, default=None
        Seed of slices and bags, and of noise, which is then simulated: `fit` warns, because anyone
        who knows the seed can remove the noise.  None: slices and bags of seed 0, noise from the
        operating system.
    n_jobs : int, optional
        Threads; None means 1, -1 all cores.  The result does not depend on it.
    verbose : int, default=0
        Show a progress bar on standard error.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        One weight per feature.
    intercept_ : float
    covariance_ : ndarray of shape (n_features + 1, n_features + 1) or None
        Of the weights and, last, the intercept; None where the estimator gives none.
    history_ : structured ndarray of shape (n_rounds,)
        What each round did: ``round``, ``rows``, ``bags`` and ``within``, the within-bag sum of
        squares of the scores (NaN where nothing was scored).
    path_ : ndarray of shape (n_rounds, n_features + 1)
        The weights and the intercept after each round.
    method_ : {"auto", "paper"}
        The method that was used.
    plan_ : Plan or None
        What the planner forecast, where it chose.
    simulated_ : bool
        The noise of the answers follows from a seed.
    l2_, dispersion_ : float
        The penalty and the dispersion in use; the dispersion is NaN except for aggregate.
    n_redundant_ : int
        Given sums: answers that were left out because they follow from others.
    bag_effect_sd_ : float
        Given bags with ``bag_effects``: the standard deviation of what bags add to the linear
        predictor; else 0.
    assumptions_ : tuple of str
        Given bags of which X does not have every row: what the fit assumes.
    curve_freedom_ : ndarray of shape (n_curves,) or None
        With ``model="smooth"``: the effective degrees of freedom of each curve beyond its straight
        line.
    limits_ : tuple of two ndarrays of shape (n_features,) or None
        Between which values each column was moved by ``winsorize``.
    training_ : dict
        How the model was trained, as in the model file.
    n_iter_ : int
        Iterations of the last fit.
    usable_ : bool
        Whether the last fit may be used: it converged, its weights are finite, and it explains its
        answers better than a constant model.  If not, ``fit`` warns (`ConvergenceWarning`).
    n_features_in_ : int
        Columns of X that are used; ``coef_`` has more weights where some are categories or dates.
    feature_names_in_ : ndarray of str
        Where X had names; ``get_feature_names_out()`` names the weights.

    Examples
    --------
    >>> import numpy as np
    >>> from priorboost import PriorBoostRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4096, 3))
    >>> y = X @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=4096)
    >>> model = PriorBoostRegressor(min_bag=4, method="paper", rounds=16).fit(X, y)
    >>> model.coef_.round(1).tolist()
    [1.0, -2.0, 0.5]
    >>> model.history_[["round", "rows", "bags"]][0].tolist()
    (1, 256, 64)
    """

    _family = "linear"


class PriorBoostPoissonRegressor(_Regressor):
    """Poisson regression, with the logarithm as link, from the mean labels of bags.

    Parameters and attributes are those of `PriorBoostRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from priorboost import PriorBoostPoissonRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(8192, 2))
    >>> visits = rng.poisson(np.exp(X @ [0.4, -0.3] + 1))
    >>> model = PriorBoostPoissonRegressor(min_bag=5).fit(X, visits)
    >>> model.coef_.round(1).tolist()
    [0.4, -0.3]
    """

    _family = "poisson"

    def _encode_labels(self, y: Any, n_rows: int) -> Array | None:
        labels = response(y, n_rows)
        if labels.size and labels.min() < 0:
            raise ValueError(f"y holds {labels.min():g}; counts are not negative")
        return labels

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return D^2, the fraction of the Poisson deviance explained.

        Parameters
        ----------
        X : array-like or table of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            Labels.
        sample_weight : array-like of shape (n_rows,), optional

        Returns
        -------
        float
        """
        from sklearn.metrics import d2_tweedie_score

        mean = self.predict(X)
        return float(d2_tweedie_score(y, mean, sample_weight=sample_weight, power=1))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags

    def _more_tags(self) -> dict[str, Any]:
        return {"requires_positive_y": True}


def log_weights(class_weight: Any, classes: npt.NDArray[Any], share: Array) -> Array:
    """Return the logarithm of the weight of each class over that of the first.

    `share` is that of each class; "balanced" weighs a class by one over its share.

    Examples
    --------
    >>> import numpy as np
    >>> from priorboost.sklearn import log_weights
    >>> log_weights({"no": 1, "yes": 1}, np.array(["no", "yes"]), np.array([0.9, 0.1])).tolist()
    [0.0, 0.0]
    >>> log_weights("balanced", np.array(["no", "yes"]), np.array([0.9, 0.1])).round(3).tolist()
    [0.0, 2.197]
    """
    known = classes.tolist()
    if isinstance(class_weight, str) and class_weight == "balanced":
        for label, part in zip(known, share.tolist(), strict=True):
            if not 0.0 < part < 1.0:
                raise ValueError(
                    f"class_weight='balanced' needs all classes, but the fitted share of "
                    f"{label!r} is {part:g}; pass the weights, {{class: weight}}"
                )
        return np.asarray(math.log(share[0]) - np.log(share))
    if not isinstance(class_weight, Mapping):
        raise ValueError(
            f"class_weight is {class_weight!r}; it must be 'balanced', a dict of weights by class, "
            "or None"
        )
    for label, weight in class_weight.items():
        if label not in known:
            raise ValueError(f"class_weight names the class {label!r}; the classes are {known}")
        if not (isinstance(weight, numbers.Real) and 0.0 < float(weight) < math.inf):
            raise ValueError(
                f"class_weight gives the class {label!r} the weight {weight!r}; it must be more "
                "than 0, because no answer is about one class alone, which could be left out"
            )
    logs = np.array([math.log(float(class_weight.get(label, 1.0))) for label in known])
    return np.asarray(logs - logs[0])


@parameters
class PriorBoostClassifier(ClassifierMixin, PriorBoostGLM):  # type: ignore[misc]
    """Logistic regression from the mean labels of bags.

    With two classes an answer is the fraction of a bag's rows that belong to ``classes_[1]``.
    With more it has the fraction of each class, and the model is multinomial: ``coef_`` has a row
    for each class, and that of ``classes_[0]``, the base, is 0.

    Parameters are those of `PriorBoostRegressor` (of several classes, ``model``, ``estimator``,
    ``prior``, ``bounds``, ``step``, ``clamp`` and ``l2`` may not have all values), and

    round_answers : bool, default=False
        Two classes: the oracle answers 0 or 1, whichever is nearer to the (noisy) fraction, as in
        the paper.

    class_weight : dict or "balanced", optional
        Weights by class.  Answers are means over all classes, so no row can be weighted by its
        class.  Instead, after the fit, the logarithm of the weight over that of ``classes_[0]`` is
        added to the intercept (``class_shift_``): if the model is right, this is what weighted rows
        would give.  The other weights and the covariance stay as they are.  Probabilities are then
        those of a population with weighted classes.  "balanced": each class by one over its share,
        which is the mean prediction of the training rows; no further label is used.

    threshold : float or "prevalence", default=0.5
        Two classes: `predict` gives ``classes_[1]`` to rows whose probability is above it.
        "prevalence": the
        value that gives this class to as many training rows as the model expects to be in it.
        Few or noisy answers shrink probabilities towards their mean, and then few or none are
        above 0.5 where the class is rare: the order of the rows is right, F1 and recall are not.

    ``bounds`` are (0, 1) where epsilon is given and they are not.  Attributes are those of
    `PriorBoostRegressor`, and

    classes_ : ndarray of shape (n_classes,)
        The labels; 0 and 1 where they are the oracle's.
    threshold_ : float
        The threshold as a number; 0.5 for "prevalence" where the model comes from a file.
    coef_ : ndarray of shape (1, n_features), or (n_classes, n_features) for more than two
    intercept_ : ndarray of shape (1,) or (n_classes,)
    standard_errors_ : ndarray of the shape of ``coef_``, with one more column for the intercept
        NaN where the estimator gives none, and 0 for the base of several classes.

    Of several classes ``path_`` has the last round alone, shape (1, n_classes, n_features + 1), and
    ``covariance_`` is that of the weights of ``classes_[1:]``, class by class, intercepts last.

    Examples
    --------
    >>> import numpy as np
    >>> from priorboost import PriorBoostClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(8192, 2))
    >>> y = np.where(rng.random(8192) < 1 / (1 + np.exp(-X @ [2.0, -1.0])), "sick", "well")
    >>> model = PriorBoostClassifier(min_bag=8, epsilon=1).fit(X, y)
    >>> model.classes_.tolist()
    ['sick', 'well']
    >>> model.predict([[2.0, 0.0], [-2.0, 0.0]]).tolist()
    ['sick', 'well']
    """

    _family = "logistic"
    _answers: ClassVar[tuple[str, ...]] = ("mean", "classes")

    _: KW_ONLY
    round_answers: bool = False
    class_weight: Any = None
    threshold: float | str = 0.5

    def _rules(self) -> _library.Rules:
        bounds = self.bounds
        if bounds is None and self.epsilon is not None:
            bounds = (0.0, 1.0)
        return rules_of(self.min_bag, self.epsilon, bounds, self.step, self.round_answers)

    @property
    def _several(self) -> bool:
        """Whether there are more than two classes."""
        return len(self.classes_) > 2

    def _encode_labels(self, y: Any, n_rows: int) -> Array | None:
        self.classes_, labels = class_labels(y, n_rows, True)
        return labels

    def _dense_where_needed(self, X: Any) -> Any:
        if not (self._several and is_sparse(X)):
            return X
        weights = (len(self.classes_) - 1) * (X.shape[1] + 1)
        if weights > _library.MOST_CLASS_WEIGHTS:
            raise ValueError(
                f"X is sparse with {X.shape[1]} columns: {len(self.classes_)} classes have "
                f"{weights} weights; they can have {_library.MOST_CLASS_WEIGHTS}"
            )
        return X.toarray()

    def _fit_labels(self, table: Table) -> Any:
        if not self._several:
            return super()._fit_labels(table)
        table = table.take(None)
        assert table.labels is not None
        has_seed, seed = seed_of(self.random_state)
        rules = vector_rules(self.min_bag, self.epsilon, "classes", len(self.classes_))
        keeper = MemoryHandle(table.labels, rules, False, has_seed, seed)
        return train_classes(self, table, keeper.interface, Relay(), has_seed)

    def _train(self, table: Table, interface: Any, relay: Relay, simulated: bool) -> Any:
        if interface.rules.width < 3:
            return super()._train(table, interface, relay, simulated)
        names = getattr(interface, "names", None)
        self.classes_ = np.arange(interface.rules.width) if names is None else np.array(names)
        return train_classes(self, table, interface, relay, simulated)

    def _expect_labels(self) -> Array | None:
        self.classes_ = np.array([0, 1])
        return None

    def _fit_given(
        self,
        table: Table,
        bag: Any,
        answers: Any,
        column: str,
        rows: str,
        sd: Any,
        effects: bool,
        scale: Array | None,
    ) -> Any:
        given = ClassAnswers.read(answers, column)
        if given is None:
            return super()._fit_given(table, bag, answers, column, rows, sd, effects, scale)
        if is_sparse(table.X):
            raise ValueError("given counts of classes are for dense X; X is sparse")
        names, bags = group_rows(bag, table.X.shape[0])
        plain = given.as_means(column)
        _, noise, persons = match_answers(plain, names, bags, self._family, "bag", rows)
        shares = given.shares(names, column)
        self.classes_ = np.array(given.names)
        has_seed, seed = seed_of(self.random_state)
        method, n_rows = self._method(False), len(table.X)
        sample_warnings: list[str] = []
        default = "aggregate" if method == "auto" else "event"
        fit = self._fit_options(self._family, default, False, seed, threads_of(self.n_jobs))
        if rows != "all":  # as the program: features do not explain all that bags have in common
            fit.covariance = _SANDWICH
            part = table, bags, persons, rows, sd, scale, self._family
            table, bags, sample_warnings = stand_for_persons(*part)
        for text in sample_warnings:
            warn(text)
        variance = np.repeat(noise[:, None], len(given.names), axis=1)
        with GivenAnswers(bags, shares, np.ascontiguousarray(variance)) as log:
            result = fit_given_classes(self, table, log, fit, len(given.names))
        result.sample_warnings = tuple(sample_warnings)
        assumed = assumptions(rows, sd, self._family)
        self._take_given(result, n_rows, persons, assumed, seed if has_seed else None)
        return result

    def _weigh_classes(self, result: GLMResult, X: Array, table: Table) -> None:
        if self._several:
            self.threshold_ = self._fixed_threshold()
            self._weigh_several(result, X)
            return
        if self.class_weight is not None:
            mean = float(self._trained_mean(result, X, table).mean())
            share = np.array([1.0 - mean, mean])
            shift = float(log_weights(self.class_weight, self.classes_, share)[1])
            result.class_shift = shift
            result.path[:, -1] += shift
            result.members = tuple(
                replace(m, intercept=m.intercept + shift) for m in result.members
            )
        if isinstance(self.threshold, str) and self.threshold == "prevalence":
            share = self._trained_mean(result, X, table)
            self.threshold_ = float(np.quantile(share, 1.0 - share.mean()))
        else:
            self.threshold_ = self._fixed_threshold()

    def _weigh_several(self, result: Any, X: Array) -> None:
        if self.class_weight is None:
            return
        share = predict_classes(X, result.path[-1], threads_of(self.n_jobs)).mean(axis=0)
        result.class_shift = log_weights(self.class_weight, self.classes_, share)
        result.path[:, :, -1] += result.class_shift

    def _trained_mean(self, result: GLMResult, X: Array, table: Table) -> Array:
        """Return what the model predicts for the rows that it was fitted to."""
        threads, family = threads_of(self.n_jobs), _library.LOGISTIC
        if not result.members:
            return predict_mean(X, family, result.path[-1], table.offset, threads)
        members = list(result.members)
        return predict_members(X, table.sources, family, members, table.offset, threads)

    def _fixed_threshold(self) -> float:
        if not isinstance(self.threshold, numbers.Real) or not 0.0 < self.threshold < 1.0:
            raise ValueError(
                f"threshold is {self.threshold!r}; it must be a number between 0 and 1, or "
                "'prevalence'"
            )
        return float(self.threshold)

    @property
    def class_shift_(self) -> Any:
        """What ``class_weight`` has added to the intercept, or to that of each class."""
        return self._fitted.class_shift

    @property
    def coef_(self) -> Array:
        """One weight per feature."""
        self._require_weights()
        weights: Array = self.path_[-1, :, :-1] if self._several else self.path_[-1:, :-1]
        return weights

    @property
    def intercept_(self) -> Array:
        """The intercept."""
        self._require_weights()
        intercept: Array = self.path_[-1, :, -1] if self._several else self.path_[-1, -1:]
        return intercept

    @property
    def standard_errors_(self) -> Array:
        """Of the weights and, in the last column, of the intercept."""
        self._require_weights()
        models, n = self.coef_.shape[0], self.coef_.shape[1] + 1
        if self.covariance_ is None:
            return np.full((models, n), np.nan)
        errors = np.sqrt(np.diag(self.covariance_))
        base = np.zeros(n if self._several else 0)
        return np.append(base, errors).reshape(models, n)

    def _adopt(self, model: Model) -> None:
        super()._adopt(model)
        self.classes_ = np.array(model.classes) if model.classes else np.array([0, 1])
        self.threshold_ = 0.5 if self.threshold == "prevalence" else self._fixed_threshold()

    def decision_function(self, X: Any, *, offset: Any = None) -> Array:
        """Return the log odds of ``classes_[1]`` for every row.

        Of several classes those of each against the base, shape (n_rows, n_classes).
        """
        check_is_fitted(self, "path_")
        if self._several and self._fitted.members:
            with np.errstate(divide="ignore"):
                logs = np.log(self.predict_proba(X, offset=offset))
            return np.asarray(logs - logs[:, :1])
        if self._several:
            return np.asarray(self._class_rows(X, offset) @ self.coef_.T + self.intercept_)
        if self._fitted.members:
            share = self._mean(X, offset)
            with np.errstate(divide="ignore"):
                return np.asarray(np.log(share) - np.log1p(-share))
        X, extra = self._rows(X, offset)
        return predict_mean(X, _library.LINEAR, self.path_[-1], extra, threads_of(self.n_jobs))

    def predict_proba(self, X: Any, *, offset: Any = None) -> Array:
        """Return the probabilities of the classes for every row.

        Parameters
        ----------
        X : array-like or table of shape (n_rows, n_features)
        offset : array-like of shape (n_rows,), optional

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        check_is_fitted(self, "path_")
        if self._several:
            source = X = open_table(X)
            rows = self._class_rows(X, offset)
            if self._fitted.members:
                encoding, threads = self._encoding, threads_of(self.n_jobs)
                cells = Sources.of_numbers(rows) if encoding is None else encoding.sources(source)
                members, n = list(self._fitted.members), len(self.classes_)
                return predict_class_members(rows, cells, members, n, threads)
            return predict_classes(rows, self.path_[-1], threads_of(self.n_jobs))
        share = self._mean(X, offset)
        return np.column_stack([1.0 - share, share])

    def predict_log_proba(self, X: Any, *, offset: Any = None) -> Array:
        """Return the logarithms of the probabilities of the classes for every row."""
        eta = self.decision_function(X, offset=offset)
        if self._several:
            return np.asarray(eta - np.logaddexp.reduce(eta, axis=1, keepdims=True))
        return np.column_stack([-np.logaddexp(0.0, eta), -np.logaddexp(0.0, -eta)])

    def predict(self, X: Any, *, offset: Any = None) -> npt.NDArray[Any]:
        """Return ``classes_[1]`` for rows whose probability is above ``threshold_``.

        Of several classes the most likely one.
        """
        check_is_fitted(self, "path_")
        if self._several:
            best = self.predict_proba(X, offset=offset).argmax(axis=1)
            return np.asarray(self.classes_[best])
        limit = math.log(self.threshold_ / (1.0 - self.threshold_))
        positive = self.decision_function(X, offset=offset) > limit
        return self.classes_[positive.astype(np.intp)]

    def staged_predict_proba(self, X: Any, *, offset: Any = None) -> Iterator[Array]:
        """Yield the probabilities of the classes by the model after each round.

        Of several classes only the model of the last round is kept.
        """
        if self._several:
            yield self.predict_proba(X, offset=offset)
            return
        for share in self._staged_mean(X, offset):
            yield np.column_stack([1.0 - share, share])

    def _class_rows(self, X: Any, offset: Any) -> Any:
        rows: Any
        rows, extra = self._rows(X, offset)
        if extra is not None:
            raise ValueError("several classes take no offset: it changes no probability")
        return rows.toarray() if is_sparse(rows) else rows

    def predict_interval(
        self, X: Any, *, level: float = 0.95, offset: Any = None
    ) -> tuple[Array, Array]:
        """Return a confidence interval of the probability of ``classes_[1]`` for every row.

        Of several classes that of each, two arrays of shape (n_rows, n_classes).
        """
        check_is_fitted(self, "path_")
        if not self._several or self.covariance_ is None:
            return super().predict_interval(X, level=level, offset=offset)
        rows = self._class_rows(X, offset)
        theta, threads = self.path_[-1], threads_of(self.n_jobs)
        return predict_class_interval(rows, theta, self.covariance_, level, threads)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = self.model in ("trees", "auto")  # on a few hundred rows
        return tags
