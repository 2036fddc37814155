"""The paper's loop around any model: gradient boosting, a neural network, a pipeline.

The loss in the paper is general.  `PriorBoost` runs the trainer of the C library with a learner
whose two functions, score and fit, are a scikit-learn estimator's `predict` and `fit`.  LightGBM
and XGBoost get the loss of the bag answers themselves (`objective.py`, `boosters.py`).
"""

from __future__ import annotations

import ctypes
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.utils import _safe_indexing, check_array, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted, has_fit_parameter

from . import _library
from ._library import lib
from .bags import Bags
from .boosters import BagBooster, family_by_objective, package_of
from .data import (
    Array,
    choose_rows,
    class_labels,
    coordinates,
    id_texts,
    matrix,
    number_names,
    remember_columns,
    response,
    row_keys,
)
from .fit_warnings import warn_of_seed
from .given import group_rows, match_answers
from .group import RemoteOracles
from .models import prior_scores
from .objective import bag_objective
from .options import FAMILIES, choice, count_of, rules_of, seed_of
from .oracle import MemoryHandle, Oracle
from .parameters import LoopParameters, parameters
from .records import check_sources, describe_run
from .relay import Relay
from .remote import RemoteOracle
from .training import Progress, Settings, Trainer

__all__ = ["PriorBoost"]


def _has(method: str) -> Any:
    def check(self: Any) -> bool:
        getattr(getattr(self, "estimator_", self.estimator), method)
        return True

    return check


def _rows_of(X: Any, min_rows: int = 1) -> Any:
    """Return X as a table whose rows can be taken; the estimator checks the rest."""
    (X,) = indexable(X)
    if getattr(X, "ndim", 2) != 2:
        check_array(X)  # says how to reshape it
    if _num_samples(X) < min_rows:
        raise ValueError(f"min_bag is {min_rows}, but X has n_samples={_num_samples(X)}")
    return X


def _strategy(name: str) -> int:
    return choice("strategy", name)


@parameters
class _Wrapped:
    estimator: Any


@parameters
class PriorBoost(MetaEstimatorMixin, LoopParameters, _Wrapped, BaseEstimator):  # type: ignore[misc]
    """PriorBoost around any scikit-learn-like regressor or classifier of two classes.

    LightGBM and XGBoost (their scikit-learn classes, also at the end of a `Pipeline`) are fitted to
    the answers themselves: the gradient is that of the bags' loss, see `bag_objective`, and the
    number of trees, up to ``n_estimators``, is the one that predicts bags left out best.  The
    regressors' ``objective`` may be squared error or Poisson.

    Any other estimator is fitted as in the paper: every row's target is its bag's answer.  A
    classifier gets each row twice, once per class, weighted by the answer; one that takes no
    ``sample_weight`` gets labels drawn so that each bag has the fraction that was answered.

    Parameters
    ----------
    estimator : estimator object
        A regressor with `predict`, or a classifier with `predict_proba`.
    min_bag, schedule, bag_size, epsilon, bounds, step, clamp, prior
        As in `PriorBoostRegressor` with ``method="paper"``.
    rounds, algorithm, bags
        As there, too, but by default LightGBM and XGBoost learn from one round of "features" bags
        and, with more rounds, from the answers of all ("pbprefix").  Columns that are not numbers
        count as indicators of their 32 most frequent levels when bags are made from features.
    folds : int or None, default=4
        LightGBM and XGBoost: parts that the bags are cut into to choose the number of trees; None:
        grow ``n_estimators`` trees.
    random_state, n_jobs, verbose
        As in `PriorBoostRegressor`; n_jobs is for making bags, the estimator has its own.

    Attributes
    ----------
    estimator_ : estimator object
        The one fitted in the last round.  Of LightGBM and XGBoost: its raw predictions lack the
        constant that the trees start from; use the predictions of this object.
    n_trees_ : int
        LightGBM and XGBoost: how many trees are used; 0: the mean of the answers is the model.
    classes_ : ndarray of shape (2,)
        Of a classifier.
    history_ : structured ndarray of shape (n_rounds,)
    simulated_ : bool
        The noise of the answers follows from random_state.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X had names.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from priorboost import PriorBoost
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, size=(4000, 2))
    >>> y = np.sin(2 * X[:, 0]) * X[:, 1]
    >>> tree = DecisionTreeRegressor(min_samples_leaf=20)
    >>> model = PriorBoost(tree, min_bag=4, rounds=4, algorithm="pbprefix")
    >>> model.fit(X, y).score(X, y) > 0.5
    True
    """

    _: KW_ONLY
    folds: int | None = 4

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        oracle: Oracle | RemoteOracle | RemoteOracles | None = None,
        ids: Any = None,
        unit: Any = None,
        bag: Any = None,
        answers: Any = None,
    ) -> Any:
        """Learn from the mean labels of bags.

        Parameters
        ----------
        X : array-like or table of shape (n_rows, n_features)
            Whatever the estimator takes.
        y : array-like of shape (n_rows,), optional
            The labels, if they are here.
        oracle : Oracle, optional
            The oracle that has the labels, if they are not.
        ids : array-like of shape (n_rows,), optional
            What names each row.
        unit : array-like of shape (n_rows,), optional
            Whom each row is about; one row of each takes part.
        bag, answers : optional
            Given bags and their answers, as in `PriorBoostRegressor.fit`.

        Returns
        -------
        self
        """
        check_sources(self, y, oracle, bag, answers, unit)
        X = _rows_of(X, 1 if y is None else count_of(self.min_bag, "min_bag"))
        remember_columns(self, X, reset=True)
        relay = Relay()
        if y is None and is_classifier(self.estimator):
            self.classes_ = np.array([0, 1])  # what labels elsewhere are
        if answers is not None:
            self.simulated_ = False
            seed = seed_of(self.random_state)[1]
            learner = _Learner(self.estimator, X, seed, relay, self._folds())
            names, bags = group_rows(bag, _num_samples(X))
            family = learner.family or ("logistic" if is_classifier(self.estimator) else "linear")
            mean, noise, _ = match_answers(answers, names, bags, family)
            learner.fit_bags(bags, mean, noise)
            self.history_ = np.zeros(1, _library.ROUND)
            self.history_[0] = 1, 1, bags.rows.size, len(bags), np.nan, np.nan
        else:
            learner = self._train(X, y, oracle, ids, unit, relay)
        self._model = learner.fitted
        self.estimator_ = getattr(learner.fitted, "fitted", learner.fitted)
        if learner.family is not None:
            self.n_trees_ = learner.fitted.n_trees
        if self.simulated_:
            warn_of_seed()
        return self

    def _train(self, X: Any, y: Any, oracle: Any, ids: Any, unit: Any, relay: Relay) -> _Learner:
        """Run the rounds; return the learner with the model of the last one."""
        n_rows = _num_samples(X)
        has_seed, seed = seed_of(self.random_state)
        texts = None if ids is None else id_texts(ids, n_rows)
        keys = None if texts is None else row_keys(texts)
        prior = None if self.prior is None else prior_scores(self.prior, X, n_rows)
        labels = None if oracle is not None else self._encode_labels(y, n_rows)
        run = describe_run(self, oracle, seed, texts, keys, X)
        rows = None if oracle is None else oracle._choose_rows(texts, run)
        units = None if unit is None else number_names(unit, n_rows, "unit")[1]
        rows = choose_rows(n_rows, rows, units, keys)
        if rows is not None:
            X, n_rows = _safe_indexing(X, rows), len(rows)
            texts = None if texts is None else [texts[i] for i in rows]
            keys, prior, labels = (None if v is None else v[rows] for v in (keys, prior, labels))
        if oracle is None:
            assert labels is not None
            keeper = MemoryHandle(labels, self._rules(), self.clamp, has_seed, seed)
            interface = keeper.interface
        else:
            interface = oracle._connect(n_rows, texts, relay, run, unit is not None)
        learner = _Learner(self.estimator, X, seed, relay, self._folds())
        rules = interface.rules
        if learner.family is not None and rules.round:
            raise ValueError(
                "the oracle rounds its answers to 0 or 1; the loss of bag answers, which LightGBM "
                "and XGBoost are fitted by, needs means that are not rounded"
            )
        settings = self._settings(seed)
        settings.default_rounds(n_rows, self.n_features_in_, rules.min_bag)
        settings.lend(prior, keys)
        if settings.bags in map(_strategy, ("features", "hybrid")):
            places = coordinates(X)
            described = matrix(places)
            settings.x = ctypes.addressof(described)
        with relay, Trainer(n_rows, interface, learner.interface, settings, relay) as trainer:
            progress = Progress(settings.rounds, self.verbose)
            recall = getattr(interface, "recall", lambda _: None)
            for t in range(settings.rounds):
                if (bags := recall(t)) is not None:
                    trainer.recall(bags)
                trainer.step()
                progress.show(t + 1)
            self.history_ = trainer.history()
        seeded = has_seed if oracle is None else getattr(oracle, "simulated", False)
        self.simulated_ = seeded and bool(rules.epsilon.den or rules.round)
        return learner

    def _settings(self, seed: int) -> Settings:
        """Return how to train: in the paper's way, except for what is fitted to the answers."""
        settings = super()._settings(seed)
        if package_of(self.estimator) is None:
            return settings
        settings.family = FAMILIES[family_by_objective(self.estimator)]
        if self.algorithm is None:
            settings.algorithm = choice("algorithm", "pbprefix")
        if self.bags is None and self.algorithm != "oneshot":
            settings.bags = _strategy("features")
        if self.rounds is None:
            settings.rounds = 1
        return settings

    def _folds(self) -> int | None:
        folds = None if self.folds is None else count_of(self.folds, "folds")
        if folds == 1:
            raise ValueError("folds is 1; it must be at least 2, or None for no choice of trees")
        return folds

    def _encode_labels(self, y: Any, n_rows: int) -> Array:
        if not is_classifier(self.estimator):
            return response(y, n_rows)
        self.classes_, labels = class_labels(y, n_rows, False)
        return labels

    def _rules(self) -> _library.Rules:
        bounds = self.bounds
        if bounds is None and self.epsilon is not None and is_classifier(self.estimator):
            bounds = (0.0, 1.0)
        return rules_of(self.min_bag, self.epsilon, bounds, self.step)

    def predict(self, X: Any) -> Any:
        """Return the estimator's predictions: means, or the more likely class of every row."""
        check_is_fitted(self, "estimator_")
        X = _rows_of(X)
        remember_columns(self, X, reset=False)
        if isinstance(self._model, BagBooster):
            predicted = self._model.mean(X)
            if is_classifier(self.estimator):
                predicted = predicted > 0.5
        else:
            predicted = self.estimator_.predict(X)
        if is_classifier(self.estimator):
            return self.classes_[np.asarray(predicted).astype(np.intp)]
        return predicted

    @available_if(_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of both classes for every row."""
        check_is_fitted(self, "estimator_")
        X = _rows_of(X)
        remember_columns(self, X, reset=False)
        share = _scores(self._model, X)
        return np.column_stack([1.0 - share, share])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of a classifier or the R^2 of a regressor."""
        from sklearn.metrics import accuracy_score, r2_score

        measure = accuracy_score if is_classifier(self.estimator) else r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = inner.classifier_tags
        tags.regressor_tags = inner.regressor_tags
        tags.input_tags = inner.input_tags
        tags.target_tags.required = True
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_class = tags.classifier_tags.multi_label = False
        return tags

    @property
    def _estimator_type(self) -> str | None:
        return getattr(self.estimator, "_estimator_type", None)


# ---- The learner ---------------------------------------------------------------------------------


class _Learner:
    """A ``pboost_learner`` whose functions are an estimator's."""

    def __init__(self, estimator: Any, X: Any, seed: int, relay: Relay, folds: int | None) -> None:
        self.estimator = estimator
        # None: it is fitted to rows whose targets are answers.
        self.family = None if package_of(estimator) is None else family_by_objective(estimator)
        self.fitted: Any = None
        self.X = X
        self.folds = folds
        self.rng = np.random.default_rng(seed)
        self.relay = relay
        self.interface = _library.Learner(
            None, _library.ScoreFunction(self._score), _library.FitFunction(self._fit)
        )

    def _score(self, _: Any, row: Any, n: int, out: Any, __: Any) -> int:
        def work() -> None:
            rows = np.ctypeslib.as_array(row, (n,)).astype(np.intp)
            scores = _scores(self.fitted, _safe_indexing(self.X, rows))
            np.ctypeslib.as_array(out, (n,))[:] = scores

        return self.relay.status(work)

    def _fit(self, _: Any, answers: Any, first_bag: int, __: Any) -> int:
        return self.relay.status(self._refit, answers, first_bag)

    def _refit(self, answers: int, first_bag: int) -> None:
        bags = lib.answers_bags(answers)
        start = _library.copy_array(bags.start, bags.n_bags + 1, np.uintp)[first_bag:]
        row = _library.copy_array(bags.row, bags.n_rows, np.uintp)[int(start[0]) :]
        mean, noise = (
            _library.copy_array(values(answers), bags.n_bags, np.float64)[first_bag:]
            for values in (lib.answers_mean, lib.answers_noise_variance)
        )
        self.fit_bags(Bags(row, start - start[0]), mean, noise)

    def fit_bags(self, bags: Bags, mean: Array, noise: Array) -> None:
        """Fit a clone of the estimator to the answers of bags."""
        X = _safe_indexing(self.X, bags.rows.astype(np.intp))
        if self.family is not None:
            bags = Bags(np.arange(bags.rows.size), bags.start)
            booster = BagBooster(self.estimator, self.folds, self.rng)
            self.fitted = booster.fit(X, bag_objective(bags, mean, self.family, noise))
            return
        target = np.repeat(mean, bags.sizes.astype(np.intp))
        self.fitted = clone(self.estimator)
        if is_classifier(self.estimator):
            _fit_shares(self.fitted, X, target, self.rng)
        else:
            self.fitted.fit(X, target)


def _shares(fitted: Any, X: Any) -> Array:
    """Return the probability of class 1, which a fit may never have seen, for every row."""
    classes = np.asarray(fitted.classes_)
    if len(classes) < 2:
        return np.full(_num_samples(X), float(classes[0]))
    return np.asarray(fitted.predict_proba(X), dtype=np.float64)[:, 1]


def _scores(fitted: Any, X: Any) -> Array:
    if isinstance(fitted, BagBooster):
        return fitted.mean(X)
    if is_classifier(fitted):
        return _shares(fitted, X)
    return np.asarray(fitted.predict(X), dtype=np.float64).ravel()


def _fit_shares(classifier: Any, X: Any, share: Array, rng: np.random.Generator) -> None:
    """Fit a classifier on targets between 0 and 1; noise may have put them outside."""
    share = np.clip(share, 0.0, 1.0)
    n = len(share)
    if not has_fit_parameter(classifier, "sample_weight"):
        classifier.fit(X, (rng.random(n) < share).astype(np.intp))
        return
    weight = np.concatenate([1.0 - share, share])
    used = np.flatnonzero(weight)
    both = _safe_indexing(X, used % n)
    classifier.fit(both, (used >= n).astype(np.intp), sample_weight=weight[used])
