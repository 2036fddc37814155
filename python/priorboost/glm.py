"""What the estimators of the three families share: fitting, and using what was fitted."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from operator import attrgetter, itemgetter
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from . import _library
from .checkpoint import table_digest
from .columns import PLAIN, Columns
from .data import (
    Array,
    by_row,
    features,
    id_texts,
    number_names,
    require_finite,
    response,
    row_keys,
    weights_of,
)
from .fit_warnings import warn_of_fit, warn_of_plan, warn_of_seed
from .given import GivenAnswers, group_rows, match_answers
from .models import Model, prior_scores, save_model
from .options import FAMILIES, count_of, name_of, seed_of, threads_of
from .oracle import MemoryHandle, Oracle, holder_of
from .parameters import FitParameters, LoopParameters, parameters
from .planner import Automatic
from .relay import Relay
from .remote import RemoteOracle
from .training import (
    GLMResult,
    Settings,
    Table,
    fit_given,
    predict_interval,
    predict_mean,
    simulate,
    train_glm,
)

# What a recipe depends on.
_SAID = itemgetter(
    "min_bag",
    "rounds",
    "algorithm",
    "bags",
    "schedule",
    "bag_size",
    "epsilon",
    "bounds",
    "step",
    "clamp",
    "random_state",
    "n_jobs",
    "estimator",
    "l2",
    "rho",
    "covariance",
    "fit_intercept",
)


DEFAULT_ESTIMATOR = {"auto": "aggregate", "paper": "event"}
# Parameters that cannot be used with given bags.
NOTHING_TO_ASK = (
    "rounds",
    "algorithm",
    "bags",
    "bag_size",
    "schedule",
    "prior",
    "epsilon",
    "bounds",
    "step",
)


class Recipe(NamedTuple):
    """The parameters of an estimator, converted for the library; shared, so never changed."""

    how: _library.Simulation
    rounds: int  # 0: not said
    estimator: int
    record: dict[str, Any]


_RECIPES: dict[Any, Recipe] = {}
_MOST_RECIPES = 256


@parameters
class PriorBoostGLM(LoopParameters, FitParameters, BaseEstimator):  # type: ignore[misc]
    """A generalised linear model from the mean labels of bags."""

    _family: ClassVar[str]
    round_answers = False  # a classifier's parameter

    # ---- Fitting ----

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        oracle: Oracle | RemoteOracle | None = None,
        ids: Any = None,
        weight: Any = None,
        offset: Any = None,
        unit: Any = None,
        bag: Any = None,
        answers: Any = None,
    ) -> Any:
        """Learn from the mean labels of bags.

        Parameters
        ----------
        X : array-like or table of shape (n_rows, n_features)
            float64 and float32 arrays are not copied.
        y : array-like of shape (n_rows,), optional
            The labels, if they are here: an oracle in memory keeps them, answers only for bags of
            at least ``min_bag`` rows, and uses each label once.
        oracle : Oracle, optional
            The oracle that has the labels: a `RemoteOracle`, or one of your own.
        ids : array-like of shape (n_rows,), optional
            What names each row (texts or integers): makes the run independent of the order of rows;
            a `RemoteOracle` knows rows by it.
        weight : array-like of shape (n_rows,), optional
            Weight of each row's loss.  It is not scikit-learn's sample_weight: answers are plain
            means, so a weight of 2 is not the same as the row twice.  For the aggregate estimator
            it says that the label's variance is that of the family divided by the weight.
        offset : array-like of shape (n_rows,), optional
            Added to the linear predictor, such as the logarithm of exposure.
        unit : array-like of shape (n_rows,), optional
            Whom each row is about (texts or integers), such as a person with several rows: one row
            of each takes part, which is all that an oracle with units answers for by default.  A
            `RemoteOracle` with ``skip_unavailable`` chooses among the rows that are available.
        bag : array-like of shape (n_rows,), optional
            What names the bag of each row, where the bags are given; then `answers` are, too.
        answers : mapping or table, optional
            A table with the columns ``bag``, ``count``, ``mean`` or ``sum`` and, where the means
            are noisy, ``noise_variance``.  Or the mean label by bag, a dict or Series: without
            counts nobody can check that the answers are about the rows of X, and `fit` warns.

        Returns
        -------
        self
        """
        check_sources(self, y, oracle, bag, answers, unit)
        table, columns = self._table(X, y, ids, weight, offset, unit)
        fitted_on = table.X
        try:
            if answers is not None:
                result = self._fit_given(table, bag, answers)
            elif oracle is not None:
                result = self._fit_asking(table, oracle)
            else:
                result = self._fit_labels(table)
        except ValueError:
            require_finite(fitted_on)  # says it in scikit-learn's words
            raise
        if result.outcome.warnings:
            warn_of_fit(self, result.report, fitted_on, result.path[-1], result.one_row_bags)
        if result.plan is not None:
            warn_of_plan(result.plan)
        if result.record["simulated"]:
            warn_of_seed()
        if columns is not PLAIN:
            columns.restore(result)
            result.limits = columns.limits
        self._fitted: Any = result
        return self

    def _table(
        self, X: Any, y: Any, ids: Any, weight: Any, offset: Any, unit: Any
    ) -> tuple[Table, Columns]:
        """Check and convert what belongs to the rows."""
        local = y is not None
        X = features(
            self,
            X,
            reset=True,
            min_rows=count_of(self.min_bag, "min_bag") if local else 1,
            finite=not local,
        )
        n_rows = X.shape[0]
        table, columns = Table(X), PLAIN
        table.given = X
        table.labels = self._encode_labels(y, n_rows) if local else self._expect_labels()
        if self.prior is not None:
            table.prior = prior_scores(self.prior, X, n_rows)
        if self.standardize or self.winsorize is not None:
            columns = Columns.learn(X, self.winsorize, self.standardize, self.fit_intercept)
            table.X = columns.apply(X)
        if weight is not None:
            table.weight = weights_of(weight, n_rows)
        if offset is not None:
            table.offset = by_row(offset, n_rows, "offset")
        if ids is not None:
            table.ids = id_texts(ids, n_rows)
            table.keys = row_keys(table.ids)
        if unit is not None:
            table.unit = number_names(unit, n_rows, "unit")[1]
        return table, columns

    def _fit_labels(self, table: Table) -> GLMResult:
        """Play both parties."""
        table = table.take(None)
        assert table.labels is not None
        # Is there something to do between the rounds?
        if self.verbose or self._method(self.round_answers) == "auto":
            has_seed, seed = seed_of(self.random_state)
            keeper = MemoryHandle(table.labels, self._rules(), self.clamp, has_seed, seed)
            return self._train(table, keeper.interface, Relay(), has_seed)
        recipe = self._recipe()
        how, rounds = recipe.how, recipe.rounds
        if rounds == 0 or table.keys is not None or table.prior is not None:
            how = _library.Simulation.from_buffer_copy(how)
            settings = Settings.from_buffer(how, type(how).trainer.offset)
            settings.default_rounds(len(table.X), table.X.shape[1], how.rules.min_bag)
            settings.lend(table.prior, table.keys)
            rounds = settings.rounds
        result = simulate(table, how, rounds, recipe.estimator)
        result.record = recipe.record
        return result

    def _recipe(self) -> Recipe:
        """Return what the parameters mean to the library; made once for equal parameters."""
        try:
            said = _SAID(vars(self))
            # Where 1 is right, True and 1.0 may be wrong.
            kinds = (type(self.min_bag), type(self.rounds), type(self.bag_size), type(self.epsilon))
            key = (type(self), self.round_answers, kinds, said)
            made = _RECIPES.get(key)
        except (KeyError, TypeError):  # a parameter that a subclass computes; bounds in a list
            return self._make_recipe()
        if made is None:
            made = self._make_recipe()
            if self.random_state is None or isinstance(self.random_state, int):
                if len(_RECIPES) >= _MOST_RECIPES:
                    _RECIPES.clear()
                _RECIPES[key] = made
        return made

    def _make_recipe(self) -> Recipe:
        has_seed, seed = seed_of(self.random_state)
        rules, settings = self._rules(), self._settings(seed)
        settings.family = FAMILIES[self._family]
        rounded, threads = self.round_answers, settings.threads
        fit = self._fit_options(self._family, "event", rounded, seed, threads)
        holder = holder_of(self.clamp, has_seed, seed)
        how = _library.Simulation(_library.SIMULATION_SIZE, rules, holder, fit, settings)
        record = describe(rules, settings, has_seed, has_seed)
        return Recipe(how, settings.rounds, fit.estimator, record)

    def _fit_asking(self, table: Table, oracle: Oracle | RemoteOracle) -> GLMResult:
        """Learn from the answers of an oracle."""
        relay = Relay()
        seed = seed_of(self.random_state)[1]
        run = describe_run(self, oracle, seed, table.ids, table.keys, table.given)
        table = table.take(oracle._choose_rows(table.ids, run))
        by_unit = table.unit is not None
        interface = oracle._connect(len(table.X), table.ids, relay, run, by_unit)
        simulated = getattr(oracle, "simulated", False)  # a service has noise of its own
        return self._train(table, interface, relay, simulated)

    def _train(
        self, table: Table, interface: _library.Oracle, relay: Relay, simulated: bool
    ) -> GLMResult:
        has_seed, seed = seed_of(self.random_state)
        rules = interface.rules
        rounded = self.round_answers or rules.round
        method = self._method(rounded)
        automatic = method == "auto"
        n_rows, d = table.X.shape
        settings = self._settings(seed)
        settings.family = FAMILIES[self._family]
        settings.lend(table.prior, table.keys)
        fit = self._fit_options(
            self._family, DEFAULT_ESTIMATOR[method], rounded, seed, settings.threads
        )
        fixed = _library.Fixed(
            settings.rounds,
            settings.bag_size,
            self.estimator is not None,
            self.bags is not None,
            self.schedule is not None,
            fit.estimator,
            settings.bags,
            settings.schedule,
        )
        settings.default_rounds(n_rows, d, rules.min_bag)
        pilot = revise = None
        with relay:
            if automatic:
                pilot = Automatic(table.X, table.offset, rules, fit, settings, fixed, relay)
                revise = pilot.revise
            result = train_glm(table, fit, interface, settings, relay, self.verbose, revise)
        result.record = describe(rules, settings, has_seed, simulated)
        result.method = method
        result.plan = None if pilot is None else pilot.plan
        return result

    def _fit_given(self, table: Table, bag: Any, answers: Any) -> GLMResult:
        """Fit given bags and their answers."""
        names, bags = group_rows(bag, len(table.X))
        mean, noise = match_answers(answers, names, bags, self._family)
        has_seed, seed = seed_of(self.random_state)
        method = self._method(False)
        fit = self._fit_options(
            self._family, DEFAULT_ESTIMATOR[method], False, seed, threads_of(self.n_jobs)
        )
        with GivenAnswers(bags, mean, noise) as log:
            result = fit_given(table, log, fit)
        result.one_row_bags = int((bags.sizes == 1).sum())
        result.method = method
        result.record = {
            "algorithm": "given",
            "estimator": None,
            "bags": "given",
            "min_bag": int(bags.sizes.min()),
            "rounds": 1,
            "rows_spent": None,
            "epsilon": None,
            "l2": None,
            "simulated": False,
            "seed": seed if has_seed else None,
        }
        return result

    def _encode_labels(self, y: Any, n_rows: int) -> Array | None:
        return response(y, n_rows)

    def _expect_labels(self) -> Array | None:
        """Prepare for labels that another party has."""
        return None

    def _method(self, rounded: bool) -> str:
        """Return the method that was asked for, or the one that other parameters belong to."""
        method, of_paper = self.method, None
        if method not in (None, *DEFAULT_ESTIMATOR):
            raise ValueError(f"method is {method!r}; it must be 'auto', 'paper' or None")
        if self.algorithm is not None:
            of_paper = f"algorithm={self.algorithm!r}"
        elif self.estimator == "event":
            of_paper = "estimator='event'"
        elif rounded:
            of_paper = "answers that are rounded"
        if method == "auto" and of_paper is not None:
            raise ValueError(
                f"method='auto' and {of_paper} contradict each other: the latter belong"
                f"{'s' if '=' in of_paper else ''} to method='paper'; leave one of them out"
            )
        return method or ("auto" if of_paper is None else "paper")

    # ---- What fit gave, made when it is looked at ----

    path_ = property(attrgetter("_fitted.path"))
    history_ = property(attrgetter("_fitted.history"))
    covariance_ = property(attrgetter("_fitted.covariance"))
    training_ = property(attrgetter("_fitted.training"))
    method_ = property(attrgetter("_fitted.method"))
    plan_ = property(attrgetter("_fitted.plan"))
    limits_ = property(attrgetter("_fitted.limits"))
    l2_ = property(attrgetter("_fitted.report.l2"))
    dispersion_ = property(attrgetter("_fitted.report.dispersion"))
    n_iter_ = property(attrgetter("_fitted.report.iterations"))
    usable_ = property(attrgetter("_fitted.usable"))

    @property
    def simulated_(self) -> bool:
        """Whether the noise of the answers follows from a seed."""
        return bool(self.training_["simulated"])

    @property
    def coef_(self) -> Array:
        """One weight per feature."""
        weights: Array = self.path_[-1, :-1]
        return weights

    @property
    def intercept_(self) -> Any:
        """The intercept."""
        return float(self.path_[-1, -1])

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in vars(self)

    # ---- Using the model ----

    def _rows(self, X: Any) -> Array:
        check_is_fitted(self, "path_")
        rows = features(self, X, reset=False)
        return rows if self.limits_ is None else np.clip(rows, *self.limits_)

    def _mean(self, X: Any, offset: Any, weights: Array | None = None) -> Array:
        X = self._rows(X)
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
        if self.covariance_ is None:
            raise ValueError(
                "the event estimator gives no covariance, so there are no intervals; "
                "fit with estimator='aggregate'"
            )
        X = self._rows(X)
        return predict_interval(
            X,
            FAMILIES[self._family],
            self.path_[-1],
            self.covariance_,
            by_row(offset, X.shape[0], "offset"),
            level,
            threads_of(self.n_jobs),
        )

    # ---- Model files ----

    def _adopt(self, model: Model) -> None:
        """Take a model that was fitted elsewhere."""
        self._fitted = SimpleNamespace(
            path=np.append(model.coef, model.intercept).reshape(1, -1),
            history=np.empty(0, _library.ROUND),
            covariance=model.covariance,
            training=dict(model.training),
            limits=model.column_limits(),
        )
        self.n_features_in_ = len(model.columns)
        self.feature_names_in_ = np.array(model.columns, dtype=object)

    def to_model(self) -> Model:
        """Return the fitted model as the command line's model file has it."""
        check_is_fitted(self, "path_")
        return Model.from_estimator(self)

    def save(self, path: Any) -> None:
        """Write the fitted model to a file that ``priorboost predict --model`` reads."""
        save_model(self.to_model(), path)


# ---- Input and records of a fit ------------------------------------------------------------------


def check_sources(
    estimator: Any,
    y: Any,
    oracle: Any,
    bag: Any = None,
    answers: Any = None,
    unit: Any = None,
) -> None:
    """Refuse no source of labels, and two of them."""
    if (bag is None) != (answers is None):
        raise ValueError("bag and answers belong together: pass both, or neither")
    sources = (y is not None) + (oracle is not None) + (answers is not None)
    if sources == 0:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y "
            "is None, and there is no oracle either"
        )
    if oracle is not None and not isinstance(oracle, (Oracle, RemoteOracle)):
        raise TypeError(
            f"oracle is {oracle!r}; it must be an Oracle, such as InMemoryOracle, or a RemoteOracle"
        )
    if sources > 1:
        names = "y and an oracle" if answers is None else "answers and y or an oracle"
        raise ValueError(f"both {names} were passed; labels come from one of them")
    if answers is not None:
        if unit is not None:
            raise ValueError("unit cannot be used with given bags: nothing is asked")
        for name in NOTHING_TO_ASK:
            if getattr(estimator, name) is not None:
                raise ValueError(f"{name} cannot be used with given bags: nothing is asked")


def describe_run(
    estimator: Any, oracle: Any, seed: int, ids: list[str] | None, keys: Array | None, X: Any
) -> dict[str, Any]:
    """Return what the questions of a training depend on, if the oracle keeps a checkpoint."""
    if getattr(oracle, "checkpoint", None) is None or ids is None or keys is None:
        return {}
    names = (
        "method",
        "rounds",
        "algorithm",
        "bags",
        "schedule",
        "bag_size",
        "standardize",
        "winsorize",
    )
    parameters = {name: getattr(estimator, name, None) for name in names}
    how = getattr(estimator, "estimator", None)
    return {
        "table": table_digest(ids, keys, X),
        "class": type(estimator).__name__,
        "seed": seed,
        "estimator": how if how is None or isinstance(how, str) else type(how).__name__,
        **{name: None if value is None else str(value) for name, value in parameters.items()},
    }


def describe(
    rules: _library.Rules, settings: Settings, has_seed: bool, simulated: bool
) -> dict[str, Any]:
    """Return what the model file says of a training, with room for what it will have given.

    Simulated: noise, if there is any, follows from a seed.
    """
    exact = Fraction(rules.epsilon.num, rules.epsilon.den) if rules.epsilon.den else None
    return {
        "algorithm": name_of("algorithm", settings.algorithm),
        "estimator": None,
        "bags": name_of("strategy", settings.bags),
        "min_bag": rules.min_bag,
        "rounds": None,
        "rows_spent": None,
        "epsilon": exact,
        "l2": None,
        "simulated": simulated and (exact is not None or rules.round),
        "seed": settings.seed if has_seed else None,
    }
