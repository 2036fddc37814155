"""Generalised linear models from the mean labels of bags, as scikit-learn estimators.

`fit(X, y)` plays both parties: an oracle in memory takes the labels and answers only for bags.
`fit(X, oracle=..., ids=...)` learns from somebody else's answers; no label is in this process.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from . import _library
from ._library import lib
from .data import Array, by_row, features, id_texts, moments, require_finite, response, row_keys
from .models import Model, prior_scores, save_model
from .options import FAMILIES, choice, count_of, l2_of, name_of, rules_of, seed_of, threads_of
from .oracle import MemoryHandle, Oracle, Relay
from .planner import Automatic
from .remote import RemoteOracle
from .training import GLMResult, Settings, predict_interval, predict_mean, train_glm

__all__ = ["PriorBoostClassifier", "PriorBoostPoissonRegressor", "PriorBoostRegressor"]

_COVARIANCES = ("model", "sandwich")


class _PriorBoostGLM(BaseEstimator):  # type: ignore[misc]
    """What the three families share."""

    _family: ClassVar[str]

    def __init__(
        self,
        min_bag: int = 2,
        *,
        rounds: int | None = None,
        algorithm: str | None = None,
        estimator: str | None = None,
        bags: str | None = None,
        schedule: str = "equal",
        bag_size: int | None = None,
        epsilon: float | str | None = None,
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        clamp: bool = False,
        l2: float | str | None = None,
        rho: float | None = None,
        covariance: str = "model",
        fit_intercept: bool = True,
        standardize: bool = False,
        prior: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.min_bag = min_bag
        self.rounds = rounds
        self.algorithm = algorithm
        self.estimator = estimator
        self.bags = bags
        self.schedule = schedule
        self.bag_size = bag_size
        self.epsilon = epsilon
        self.bounds = bounds
        self.step = step
        self.clamp = clamp
        self.l2 = l2
        self.rho = rho
        self.covariance = covariance
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.prior = prior
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # ---- Fitting ----

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        oracle: Oracle | RemoteOracle | None = None,
        ids: Any = None,
        offset: Any = None,
    ) -> Any:
        """Learn from the mean labels of bags.

        Parameters
        ----------
        X : array-like or table of shape (n_rows, n_features)
            float64 and float32 arrays are not copied.
        y : array-like of shape (n_rows,), optional
            The labels, where they are in hand: an oracle in memory keeps them and answers only for
            bags of at least ``min_bag`` rows, each row once.
        oracle : Oracle, optional
            Who answers where they are not: a `RemoteOracle`, or one of your own.
        ids : array-like of shape (n_rows,), optional
            What names each row (texts or integers): makes the run independent of the order of rows;
            a `RemoteOracle` knows rows by it.
        offset : array-like of shape (n_rows,), optional
            Added to the linear predictor, such as the logarithm of exposure.

        Returns
        -------
        self
        """
        if (y is None) == (oracle is None):
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None, and there is no oracle either"
                if y is None
                else "both y and an oracle were passed; labels come from one of them"
            )
        min_bag = 1 if oracle is not None else count_of(self.min_bag, "min_bag")
        X = features(self, X, reset=True, min_rows=min_bag, finite=oracle is not None)
        n_rows = X.shape[0]
        texts = None if ids is None else id_texts(ids, n_rows)
        has_seed, seed = seed_of(self.random_state)
        relay = Relay()
        if oracle is None:
            labels = self._encode_labels(y, n_rows)
            keeper = MemoryHandle(labels, self._rules(), self.clamp, has_seed, seed)
            interface = keeper.interface
        else:
            self._expect_oracle()
            interface = oracle._connect(n_rows, texts, relay)
        fit = self._fit_options(seed)
        settings = self._settings(X, interface.rules, seed)
        if texts is not None:
            settings.row_key = row_keys(texts)
        if self.prior is not None:
            settings.prior_score = prior_scores(self.prior, X, n_rows)
        scale = None
        if self.standardize:
            require_finite(X)
            scale = moments(X, center=self.fit_intercept)
            X = (X - scale[0]) / scale[1]
        extra = by_row(offset, n_rows, "offset")
        try:
            pilot = revise = None
            if self._is_automatic():
                pilot = Automatic(X, extra, interface.rules, fit, settings)
                revise = pilot.revise
            result = train_glm(X, extra, fit, interface, settings, relay, self.verbose, revise)
        except ValueError:
            require_finite(X)  # says it in scikit-learn's words
            raise
        self._take(result, scale)
        self._describe(n_rows, interface.rules, settings, fit, has_seed)
        self.plan_ = None if pilot is None else pilot.plan
        return self

    def _rules(self) -> _library.Rules:
        return rules_of(self.min_bag, self.epsilon, self.bounds, self.step)

    def _encode_labels(self, y: Any, n_rows: int) -> Array:
        return response(y, n_rows)

    def _expect_oracle(self) -> None:
        """Prepare for labels that are elsewhere."""

    def _is_automatic(self) -> bool:
        """Whether nothing was said about how to ask: then it is planned."""
        return (
            self.algorithm is None
            and self.estimator is None
            and self.bags is None
            and self.rounds is None
            and self.bag_size is None
            and not self._rounds_answers()
        )

    def _rounds_answers(self) -> bool:
        return False

    def _settings(self, X: Array, rules: _library.Rules, seed: int) -> Settings:
        n_rows, d = X.shape
        oneshot = self.algorithm == "oneshot"
        if oneshot and self.bags not in (None, "random"):
            raise ValueError(f"bags is {self.bags!r}, but oneshot means random bags")
        bag_size = 0 if self.bag_size is None else count_of(self.bag_size, "bag_size")
        if self.rounds is not None:
            rounds = count_of(self.rounds, "rounds")
        else:
            rounds = 1 if oneshot else lib.rounds_default(n_rows, d, bag_size or rules.min_bag)
        return Settings(
            choice("algorithm", self.algorithm or "priorboost"),
            choice("strategy", "random" if oneshot else self.bags or "prior"),
            choice("schedule", self.schedule),
            rounds,
            bag_size,
            seed,
            threads_of(self.n_jobs),
            FAMILIES[self._family],
        )

    def _fit_options(self, seed: int) -> _library.FitOptions:
        name = self.estimator or ("aggregate" if self._is_automatic() else "event")
        estimator = choice("estimator", name)
        if self._rounds_answers() and name != "event":
            raise ValueError(
                f"round_answers and estimator={name!r} do not go together: it needs "
                "means as they are"
            )
        if self.l2 == "cv" and name != "aggregate":
            raise ValueError(f"l2='cv' is for estimator='aggregate', not for {name!r}")
        if self.rho is not None and name != "interpolated":
            raise ValueError(f"rho is for estimator='interpolated', not for {name!r}")
        if self.covariance not in _COVARIANCES:
            raise ValueError(f"covariance is {self.covariance!r}; it must be 'model' or 'sandwich'")
        return _library.FitOptions(
            0,
            FAMILIES[self._family],
            l2_of(self.l2),
            self.fit_intercept,
            threads_of(self.n_jobs),
            100,
            1e-14,
            estimator,
            0.5 if self.rho is None else float(self.rho),
            _COVARIANCES.index(self.covariance),
            seed,
        )

    def _describe(
        self,
        n_rows: int,
        rules: _library.Rules,
        settings: Settings,
        fit: _library.FitOptions,
        has_seed: bool,
    ) -> None:
        exact = Fraction(rules.epsilon.num, rules.epsilon.den) if rules.epsilon.den else None
        self.training_ = {
            "algorithm": name_of("algorithm", settings.algorithm),
            "estimator": name_of("estimator", fit.estimator),
            "bags": name_of("strategy", settings.bags),
            "min_bag": rules.min_bag,
            "rounds": settings.rounds,
            "rows_spent": n_rows,
            "epsilon": exact,
            "l2": self.l2_,
            "simulated": has_seed and (exact is not None or rules.round),
            "seed": settings.seed if has_seed else None,
        }

    def _take(self, result: GLMResult, scale: tuple[Array, Array] | None) -> None:
        """Set the attributes that end in an underscore."""
        if scale is not None:
            unscale(result, *scale)
        report = result.report
        warn(report, result.path.shape[1] - (not self.fit_intercept))
        self.l2_ = report.l2
        self.dispersion_ = report.dispersion
        self.path_ = result.path
        self.history_ = result.history
        self.covariance_ = result.covariance
        self.n_iter_ = report.iterations
        self._set_weights()

    # ---- Using the model ----

    def _mean(self, X: Any, offset: Any, weights: Array | None = None) -> Array:
        check_is_fitted(self, "path_")
        X = features(self, X, reset=False)
        if weights is None:
            weights = self.path_[-1]
        extra = by_row(offset, X.shape[0], "offset")
        return predict_mean(X, FAMILIES[self._family], weights, extra, threads_of(self.n_jobs))

    def _staged_mean(self, X: Any, offset: Any) -> Iterator[Array]:
        check_is_fitted(self, "path_")
        for weights in self.path_:
            yield self._mean(X, offset, weights)

    def predict_interval(
        self, X: Any, *, level: float = 0.95, offset: Any = None
    ) -> tuple[Array, Array]:
        """Return a confidence interval of the mean response of every row.

        It covers what is not known of the weights, sampling and noise of the oracle included, and
        not the spread of single labels about their mean.

        Parameters
        ----------
        X : array-like or table of shape (n_rows, n_features)
        level : float, default=0.95
        offset : array-like of shape (n_rows,), optional

        Returns
        -------
        lower, upper : ndarray of shape (n_rows,)
        """
        check_is_fitted(self, "path_")
        if self.covariance_ is None:
            raise ValueError(
                "the event estimator gives no covariance, so there are no intervals; "
                "fit with estimator='aggregate'"
            )
        X = features(self, X, reset=False)
        extra = by_row(offset, X.shape[0], "offset")
        return predict_interval(
            X,
            FAMILIES[self._family],
            self.path_[-1],
            self.covariance_,
            extra,
            level,
            threads_of(self.n_jobs),
        )

    def _adopt(self, model: Model) -> None:
        """Take a model that was fitted elsewhere."""
        self.path_ = np.append(model.coef, model.intercept).reshape(1, -1)
        self.history_ = np.empty(0, _library.ROUND)
        self.covariance_ = model.covariance
        self.training_ = dict(model.training)
        self.n_features_in_ = len(model.columns)
        self.feature_names_in_ = np.array(model.columns, dtype=object)
        self._set_weights()

    def _set_weights(self) -> None:
        self.coef_ = self.path_[-1, :-1]
        self.intercept_: Any = float(self.path_[-1, -1])

    def to_model(self) -> Model:
        """Return the fitted model as the command line's model file has it."""
        check_is_fitted(self, "path_")
        return Model.from_estimator(self)

    def save(self, path: Any) -> None:
        """Write the fitted model to a file that ``priorboost predict --model`` reads."""
        save_model(self.to_model(), path)


def warn(report: _library.FitReport, n_parameters: int) -> None:
    """Say what the reader of a result must know before relying on it."""
    if not report.converged:
        _warn(
            f"the last fit did not converge in {report.iterations} iterations", ConvergenceWarning
        )
    if report.separable:
        _warn(
            "the answers all but separate the rows (the linear predictor has standard deviation "
            f"{report.eta_sd:.3g}); weights are as large as the penalty lets them be"
        )
    if report.dispersion_floored:
        _warn(
            "the noise hides the dispersion of the labels; its own standard error, "
            f"{report.dispersion:.3g}, stands for it"
        )
    if report.undercovers:
        _warn(
            "Poisson with noise on bags as mixed as random ones: the intervals are too short; "
            "bags='features' does not have that fault"
        )
    if 0 < report.bags < 2 * n_parameters:
        _warn(
            f"only {report.bags} bags for {n_parameters} parameters: the penalty decides most of "
            "the result"
        )


def _warn(text: str, category: type[Warning] = UserWarning) -> None:
    warnings.warn(text, category, stacklevel=5)  # where fit was called


def unscale(result: GLMResult, mean: Array, scale: Array) -> None:
    """Bring weights of standardised columns back to the units of X."""
    for weights in result.path:
        for j in range(len(mean)):  # in the order of the command line, for the same bits
            weights[j] /= scale[j]
            weights[-1] -= weights[j] * mean[j]
    if result.covariance is not None:
        for C in (result.covariance.T, result.covariance):  # columns first, then rows
            for j in range(len(mean)):
                C[j] /= scale[j]
                C[-1] -= C[j] * mean[j]


class PriorBoostRegressor(RegressorMixin, _PriorBoostGLM):  # type: ignore[misc]
    """Linear regression from the mean labels of bags.

    Parameters
    ----------
    min_bag : int, default=2
        Least rows in a bag: the rule of the oracle that holds y.  The default is the least that an
        oracle for others accepts; set it to the rule that you will live under.  At 1 answers are
        labels.  With ``fit(X, oracle=...)`` the oracle's own rule holds, not this one.
    rounds : int, optional
        Slices that the rows are asked about in.  By default the largest power of two up to 16 that
        leaves max(min_bag, 20 n_features) rows a slice, else 1.

        If none of ``rounds``, ``algorithm``, ``estimator``, ``bags`` and ``bag_size`` is given, the
        planner chooses all of them (see `plan`), and after a first round looks again.
    algorithm : {"priorboost", "oneshot", "pbprefix"}, optional
        "priorboost" (the default) trains on the last slice only, "pbprefix" on all slices so far;
        "oneshot" is one round of random bags.
    estimator : {"event", "aggregate", "interpolated"}, optional
        How answers become a model.  "event" (the default): every row's target is its bag's answer,
        as in the paper.  "aggregate": each bag's mean prediction is fitted to its answer, which is
        unbiased, weighs noise rightly and gives a covariance; it uses the answers of all rounds.
        "interpolated": between the bag-level and the event-level loss, see ``rho``.
    bags : {"prior", "random", "features", "hybrid"}, optional
        "prior" (the default): optimal for the last round's predictions.  "features": apart in every
        direction of X, which suits the aggregate estimator.  "hybrid": with the predictions as one
        more direction.
    schedule : {"equal", "geometric"}, default="equal"
        Slices of equal size, or growing 16-fold.
    bag_size : int, optional
        Ask for bags of at least so many rows; by default min_bag.
    epsilon : float or str, optional
        Answer with noise for label differential privacy of epsilon per row; needs bounds.
    bounds : (float, float), optional
        Public bounds of the labels.
    step : float, optional
        Labels are rounded to multiples of it; by default the largest power of two at most
        (hi - lo) / 2^20.  Needs bounds.
    clamp : bool, default=False
        Move labels outside the bounds to them instead of refusing.
    l2 : float or "cv", optional
        Adds (l2/2) |coef_|^2 to the sum of losses.  By default 1; for the aggregate estimator a
        weak ridge on features standardised, or with "cv" one chosen by cross-validation over bags,
        which spends no further rows.
    rho : float, optional
        Interpolated estimator: 0 is the bag-level loss, 1 the event-level loss; by default 0.5.
    covariance : {"model", "sandwich"}, default="model"
        Aggregate estimator: from the model's variances, or from the residuals.
    fit_intercept : bool, default=True
        Fit an intercept, unpenalised.
    standardize : bool, default=False
        Fit on columns of mean 0 and variance 1, which matters for l2; weights are in the units of
        X.  Takes a copy of X.
    prior : object, optional
        A model whose predictions make the bags of round 1: the path of a model file, a `Model`, or
        anything with `predict` (a classifier: `predict_proba`).  `clone` strips a fitted estimator
        of its fit; wrap it in scikit-learn's `FrozenEstimator` where that matters.
    random_state : int, RandomState, Generator or None, default=None
        Seed of slices and bags, and of noise, which is then simulated.  None: slices and bags of
        seed 0, noise from the operating system.
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
    plan_ : Plan or None
        What the planner forecast, where it chose.
    l2_, dispersion_ : float
        The penalty and the dispersion in use; the latter NaN but for the aggregate estimator.
    training_ : dict
        How the model came about, as the model file says it.
    n_iter_ : int
        Iterations of the last fit.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X had names.

    Examples
    --------
    >>> import numpy as np
    >>> from priorboost import PriorBoostRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4096, 3))
    >>> y = X @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=4096)
    >>> model = PriorBoostRegressor(min_bag=4, rounds=16).fit(X, y)
    >>> model.coef_.round(1).tolist()
    [1.0, -2.0, 0.5]
    >>> model.history_[["round", "rows", "bags"]][0].tolist()
    (1, 256, 64)
    """

    _family = "linear"

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


class PriorBoostPoissonRegressor(RegressorMixin, _PriorBoostGLM):  # type: ignore[misc]
    """Poisson regression, with the logarithm as link, from the mean labels of bags.

    Parameters and attributes are those of `PriorBoostRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from priorboost import PriorBoostPoissonRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(8192, 2))
    >>> visits = rng.poisson(np.exp(X @ [0.4, -0.3] + 1))
    >>> model = PriorBoostPoissonRegressor(min_bag=5, rounds=8).fit(X, visits)
    >>> model.coef_.round(1).tolist()
    [0.4, -0.3]
    """

    _family = "poisson"

    def _encode_labels(self, y: Any, n_rows: int) -> Array:
        labels = response(y, n_rows)
        if labels.size and labels.min() < 0:
            raise ValueError(f"y holds {labels.min():g}; counts are not negative")
        return labels

    def predict(self, X: Any, *, offset: Any = None) -> Array:
        """Return the predicted mean count of every row.

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

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return D^2, the share of the Poisson deviance explained.

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


class PriorBoostClassifier(ClassifierMixin, _PriorBoostGLM):  # type: ignore[misc]
    """Logistic regression of two classes from the mean labels of bags.

    An answer is the share of a bag's rows that belong to ``classes_[1]``.

    Parameters are those of `PriorBoostRegressor`, and

    round_answers : bool, default=False
        The oracle answers 0 or 1, whichever is nearer to the (noisy) share, as in the paper.

    ``bounds`` are (0, 1) where epsilon is given and they are not.  Attributes are those of
    `PriorBoostRegressor`, and

    classes_ : ndarray of shape (2,)
        The labels; 0 and 1 where they are the oracle's.
    coef_ : ndarray of shape (1, n_features)
    intercept_ : ndarray of shape (1,)

    Examples
    --------
    >>> import numpy as np
    >>> from priorboost import PriorBoostClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(8192, 2))
    >>> y = np.where(rng.random(8192) < 1 / (1 + np.exp(-X @ [2.0, -1.0])), "sick", "well")
    >>> model = PriorBoostClassifier(min_bag=8, epsilon=1, random_state=0).fit(X, y)
    >>> model.classes_.tolist()
    ['sick', 'well']
    >>> model.predict([[2.0, 0.0], [-2.0, 0.0]]).tolist()
    ['sick', 'well']
    """

    _family = "logistic"

    def __init__(
        self,
        min_bag: int = 2,
        *,
        rounds: int | None = None,
        algorithm: str | None = None,
        estimator: str | None = None,
        bags: str | None = None,
        schedule: str = "equal",
        bag_size: int | None = None,
        epsilon: float | str | None = None,
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        clamp: bool = False,
        round_answers: bool = False,
        l2: float | str | None = None,
        rho: float | None = None,
        covariance: str = "model",
        fit_intercept: bool = True,
        standardize: bool = False,
        prior: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            min_bag,
            rounds=rounds,
            algorithm=algorithm,
            estimator=estimator,
            bags=bags,
            schedule=schedule,
            bag_size=bag_size,
            epsilon=epsilon,
            bounds=bounds,
            step=step,
            clamp=clamp,
            l2=l2,
            rho=rho,
            covariance=covariance,
            fit_intercept=fit_intercept,
            standardize=standardize,
            prior=prior,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.round_answers = round_answers

    def _rules(self) -> _library.Rules:
        bounds = self.bounds
        if bounds is None and self.epsilon is not None:
            bounds = (0.0, 1.0)
        return rules_of(self.min_bag, self.epsilon, bounds, self.step, self.round_answers)

    def _rounds_answers(self) -> bool:
        return self.round_answers

    def _encode_labels(self, y: Any, n_rows: int) -> Array:
        self.classes_, labels = binary_labels(y, n_rows)
        return labels

    def _expect_oracle(self) -> None:
        self.classes_ = np.array([0, 1])

    def _set_weights(self) -> None:
        self.coef_ = self.path_[-1:, :-1]
        self.intercept_ = self.path_[-1, -1:]

    def _adopt(self, model: Model) -> None:
        super()._adopt(model)
        self.classes_ = np.array([0, 1])

    def decision_function(self, X: Any, *, offset: Any = None) -> Array:
        """Return the log odds of ``classes_[1]`` for every row."""
        check_is_fitted(self, "path_")
        X = features(self, X, reset=False)
        extra = by_row(offset, X.shape[0], "offset")
        return predict_mean(X, _library.LINEAR, self.path_[-1], extra, threads_of(self.n_jobs))

    def predict_proba(self, X: Any, *, offset: Any = None) -> Array:
        """Return the probabilities of both classes for every row.

        Parameters
        ----------
        X : array-like or table of shape (n_rows, n_features)
        offset : array-like of shape (n_rows,), optional

        Returns
        -------
        ndarray of shape (n_rows, 2)
        """
        share = self._mean(X, offset)
        return np.column_stack([1.0 - share, share])

    def predict_log_proba(self, X: Any, *, offset: Any = None) -> Array:
        """Return the logarithms of the probabilities of both classes for every row."""
        eta = self.decision_function(X, offset=offset)
        return np.column_stack([-np.logaddexp(0.0, eta), -np.logaddexp(0.0, -eta)])

    def predict(self, X: Any, *, offset: Any = None) -> npt.NDArray[Any]:
        """Return the more likely class of every row."""
        positive = self.decision_function(X, offset=offset) > 0
        return self.classes_[positive.astype(np.intp)]

    def staged_predict_proba(self, X: Any, *, offset: Any = None) -> Iterator[Array]:
        """Yield the probabilities of both classes by the model after each round."""
        for share in self._staged_mean(X, offset):
            yield np.column_stack([1.0 - share, share])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _more_tags(self) -> dict[str, Any]:
        return {"binary_only": True}


def binary_labels(y: Any, n_rows: int) -> tuple[Array, Array]:
    """Return the two classes and each row's label as 0 or 1."""
    from sklearn.utils import check_consistent_length, column_or_1d
    from sklearn.utils.multiclass import check_classification_targets, type_of_target

    y = column_or_1d(y, warn=True)
    check_consistent_length(range(n_rows), y)
    check_classification_targets(y)
    if type_of_target(y) != "binary":
        raise ValueError(
            "Only binary classification is supported. The type of the target is "
            f"{type_of_target(y)}."
        )
    classes, labels = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"the labels hold only one class, {classes[0]!r}; two are needed")
    return classes, labels.astype(np.float64)
