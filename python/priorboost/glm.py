"""Fitting, which the estimators of the three families share."""

from __future__ import annotations

import ctypes
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from . import _library
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
from .districts import assumptions, check_rows, stand_for_persons
from .encoding import Encoding, check_words, learn, learn_curves, needs_encoding
from .errors import warn
from .fit_warnings import warn_of_fit, warn_of_plan, warn_of_seed, warn_of_trees
from .fitted import FittedGLM, columns_of
from .formula import Design, left_side
from .given import GivenAnswers, group_rows, match_answers
from .group import RemoteOracles
from .members import Sources, fit_mixture, fit_trees, forest_options
from .models import prior_scores
from .options import FAMILIES, choice, count_of, seed_of, threads_of
from .oracle import MemoryHandle, Oracle, holder_of
from .parameters import FitParameters, LoopParameters, TableParameters, parameters
from .planner import Automatic
from .records import check_sources, describe, describe_given, describe_run
from .relay import Relay
from .remote import RemoteOracle
from .sparse import (
    choose,
    fit_given_sparse,
    is_sparse,
    refuse_parameters,
    sparse_rows,
    train_sparse,
)
from .sums import GivenSums, known_labels
from .tables import is_table, open_table, take_columns
from .training import (
    GLMResult,
    Settings,
    Table,
    fit_given,
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


class Recipe(NamedTuple):
    """The parameters of an estimator, converted for the library; shared, so never changed."""

    how: _library.Simulation
    rounds: int  # 0: not said
    estimator: int
    record: dict[str, Any]


_RECIPES: dict[Any, Recipe] = {}
_MOST_RECIPES = 256


@parameters
class PriorBoostGLM(LoopParameters, FitParameters, TableParameters, FittedGLM, BaseEstimator):  # type: ignore[misc]
    """A generalised linear model from the mean labels of bags."""

    round_answers = False  # a classifier's parameter
    _answers: ClassVar[tuple[str, ...]] = ("mean",)  # what a fit can take

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        oracle: Oracle | RemoteOracle | RemoteOracles | None = None,
        ids: Any = None,
        weight: Any = None,
        sample_weight: Any = None,
        offset: Any = None,
        unit: Any = None,
        bag: Any = None,
        answers: Any = None,
        sums: Any = None,
        rows: str = "all",
        sd: Any = None,
        bag_effects: bool | None = None,
    ) -> Any:
        """Learn from the mean labels of bags.

        What has one value per row may be the name of a column of X, which then is no feature.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features), or path
            float64 and float32 arrays are not copied, nor are SciPy's CSR matrices of them.  The
            columns of a data frame (pandas, polars, pyarrow) may be numbers, truth values, texts,
            categories and dates; they become features as in ``priorboost train``.  The path of a
            Parquet or Arrow file stands for its table.
        y : array-like of shape (n_rows,), optional
            The labels, if they are here: an oracle in memory keeps them, answers only for bags of
            at least ``min_bag`` rows, and uses each label once.
        oracle : Oracle, optional
            The oracle that has the labels: a `RemoteOracle`, several as `RemoteOracles`, or one of
            your own.
        ids : array-like of shape (n_rows,), optional
            What names each row (texts or integers): makes the run independent of the order of rows;
            a `RemoteOracle` knows rows by it.
        weight : array-like of shape (n_rows,), optional
            Weight of each row's loss.  For the aggregate estimator it says that the label's
            variance is that of the family divided by the weight.
        sample_weight : array-like of shape (n_rows,), optional
            Another name of `weight`, for scikit-learn's tools.  Answers are plain means of bags, so
            a weight of 2 is not the same as the row twice: where a row stands for two, pass it
            twice.
        offset : array-like of shape (n_rows,), optional
            Added to the linear predictor, such as the logarithm of exposure.
        unit : array-like of shape (n_rows,), optional
            Whom each row is about (texts or integers), such as a person with several rows: one row
            of each takes part, which is all that an oracle with units answers for by default.  A
            `RemoteOracle` with ``skip_unavailable`` chooses among the rows that are available.
        bag : array-like of shape (n_rows,), optional
            What names the bag of each row, where the bags are given; then `answers` are, too.
        answers : mapping or table, optional
            A table with the columns ``bag`` (or the one that `bag` names), ``count``, ``mean`` or
            ``sum`` and, where the means are noisy, ``noise_variance``: those of ``priorboost train
            --answers``.  Or the mean label by bag, a dict or Series: without
            counts nobody can check that the answers are about the rows of X, and `fit` warns.
        sums : table or GivenSums, optional
            Label sums by key, which may share rows: by age, by region, by both.  The columns of the
            table are columns of X (an empty cell stands for any value), ``sum`` or ``mean``, and
            ``count`` and ``variance`` if known; see `GivenSums`.  `y` may have the labels of some
            rows, NaN where they are unknown.
        rows : {"all", "sample", "means"}, default="all"
            What X has of each given bag: all of its rows; a simple random sample of the ``count``
            persons; or one row, the means of its features.  ``assumptions_`` says what is assumed.
        sd : mapping, table or array of shape (n_rows, n_features), optional
            With ``rows="means"``: the standard deviations of features within the bags, by column.
            Without them all persons of a bag are taken to be equal; a linear model needs none.
        bag_effects : bool, optional
            Given bags, such as districts, differ by more than their features explain: answers of
            large bags are then less certain than their size suggests, and intervals allow for it.
            By default, with ``rows="sample"`` and ``"means"``.

        Returns
        -------
        self
        """
        X = open_table(X)
        is_given = answers is not None or sums is not None
        if self.formula is not None and y is None and oracle is None and not is_given:
            y = left_side(self.formula, X)
        check_sources(self, y, oracle, bag, answers, unit, sums)
        check_rows(rows, sd, bag_effects, answers is not None)
        if weight is not None and sample_weight is not None:
            raise ValueError("weight and sample_weight are the same; pass one of them")
        weight = sample_weight if weight is None else weight
        roles = {"y": y, "ids": ids, "weight": weight, "offset": offset, "unit": unit, "bag": bag}
        if sums is not None and is_sparse(X):
            raise ValueError("sums name columns of a data frame, but X is sparse")
        sums = GivenSums(sums) if sums is not None and not isinstance(sums, GivenSums) else sums
        lines = None if sums is None else sums.bags(X)
        X, roles, names = take_columns(X, roles)
        bag = roles.pop("bag")
        known, roles["y"] = (None, roles["y"]) if sums is None else (roles["y"], None)
        trees = self._has_trees()
        table, columns = self._table(X, by_name=bool(names), **roles)
        table.X = self._dense_where_needed(table.X)
        fitted_on = table.X
        try:
            if sums is not None:
                result = self._fit_sums(table, sums, lines, known)
            elif answers is not None:
                column, effects = names.get("bag", "bag"), bag_effects
                effects = rows != "all" if effects is None else effects
                given = (bag, answers, column, rows, sd, effects, columns.scale)
                result = self._fit_given(table, *given)
            elif oracle is not None:
                result = self._fit_asking(table, oracle)
            else:
                result = self._fit_labels(table)
        except ValueError:
            require_finite(fitted_on)  # says it in scikit-learn's words
            raise
        result.encoding, result.names = table.encoding, names_in_file(names, roles["y"])
        result.sparse = is_sparse(fitted_on)
        if trees:
            result.warnings = warn_of_trees(self, result)
        elif result.outcome.warnings:
            said = result.report, fitted_on, result.path[-1], table.columns, result.one_row_bags
            n_curves = 0 if table.curve_of is None else len(table.curve_of)
            if is_sparse(fitted_on):  # its columns have no names, and many have no weight
                said = result.report, np.empty((0, 0)), *said[2:]
            advice = (
                "covariance='sandwich'"
                if not is_given
                else "bag_effects=True"
                if sums is None
                else "a weight for each of the keys of the sums"
            )
            result.warnings = warn_of_fit(self, *said, advice, n_curves)
        if result.plan is not None:
            warn_of_plan(result.plan)
        if result.record["simulated"]:
            warn_of_seed()
        self._weigh_classes(result, fitted_on, table)
        if columns is not PLAIN:
            columns.restore(result)
            result.limits = columns.limits
        self._fitted: Any = result
        return self

    def _dense_where_needed(self, X: Any) -> Any:
        """Return X, which may be sparse, as the fit takes it."""
        return X

    def _features(self, X: Any, local: bool, by_name: bool) -> tuple[Array, Any]:
        """Return the features of X and, where X is a data frame that needs one, their encoding."""
        check_words(self.impute, self.unseen)
        encoding: Any = None
        values = X
        if is_sparse(X):
            refuse_parameters(self)
            least = count_of(self.min_bag, "min_bag") if local else 1
            return sparse_rows(self, X, reset=True, min_rows=least), None
        if self.formula is not None and self._has_curves():
            raise ValueError(
                f"model={self.model!r} and formula contradict each other; leave one out"
            )
        if self.formula is not None:
            encoding, values = Design.learn(self.formula, X, self.fit_intercept)
        elif needs_encoding(X, self.impute, self.date, self.keep) or (by_name and is_table(X)):
            encoding, values, notes = learn(
                X,
                impute="mean" if self._has_trees() else self.impute,
                date=self.date,
                keep=self.keep,
                unseen=self.unseen,
                winsorize=self.winsorize,
                smooth=self._has_curves(),
            )
            for text in notes:
                warn(text)
        least = count_of(self.min_bag, "min_bag") if local else 1
        values = features(self, values, reset=True, min_rows=least, finite=not local)
        if encoding is not None:
            self._remember(encoding)
        elif self._has_curves():
            require_finite(values)
            encoding, values = learn_curves(values, columns_of(self, None), self.winsorize)
        return values, encoding

    def _table(
        self, X: Any, y: Any, ids: Any, weight: Any, offset: Any, unit: Any, by_name: bool
    ) -> tuple[Table, Columns]:
        """Check and convert what belongs to the rows."""
        local = y is not None
        source = X
        X, encoding = self._features(X, local, by_name)
        n_rows = X.shape[0]
        table, columns = Table(X), PLAIN
        table.given, table.encoding = X, encoding
        table.columns = columns_of(self, encoding)
        if encoding is not None:
            table.category_of = encoding.category_of()
        if isinstance(encoding, Encoding) and encoding.n_curves > 0:
            table.curve_of = encoding.curve_of()
        table.labels = self._encode_labels(y, n_rows) if local else self._expect_labels()
        if self.prior is not None:
            table.prior = prior_scores(self.prior, X if encoding is None else source, n_rows)
        if self._has_trees():
            table.sources = Sources.of_numbers(X) if encoding is None else encoding.sources(source)
        limit = None if isinstance(encoding, Encoding) else self.winsorize  # else it has limits
        if self.standardize or limit is not None:
            columns = Columns.learn(X, limit, self.standardize, self.fit_intercept)
            if table.curve_of is not None:
                columns.leave(len(table.curve_of))
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

    def _weigh_classes(self, result: GLMResult, X: Array, table: Table) -> None:
        """Change the fitted model by the weights of classes: a classifier has them."""

    def _fit_labels(self, table: Table) -> GLMResult:
        """Play both parties."""
        table = table.take(None)
        assert table.labels is not None
        # Is there something to do between the rounds?
        between = self.verbose or self.model != "glm" or is_sparse(table.X)
        if between or self._method(self.round_answers) == "auto":
            has_seed, seed = seed_of(self.random_state)
            keeper = MemoryHandle(table.labels, self._rules(), self.clamp, has_seed, seed)
            return self._train(table, keeper.interface, Relay(), has_seed)
        recipe = self._recipe()
        how, rounds = recipe.how, recipe.rounds
        own = table.keys, table.prior, table.category_of
        if rounds == 0 or any(values is not None for values in own):
            how = _library.Simulation.from_buffer_copy(how)
            table.share(how.fit)
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

    def _fit_asking(self, table: Table, oracle: Oracle | RemoteOracle | RemoteOracles) -> GLMResult:
        """Learn from the answers of an oracle."""
        relay = Relay()
        seed = seed_of(self.random_state)[1]
        run = describe_run(self, oracle, seed, table.ids, table.keys, table.given)
        table = table.take(oracle._choose_rows(table.ids, run))
        by_unit = table.unit is not None
        interface = oracle._connect(table.X.shape[0], table.ids, relay, run, by_unit, self._answers)
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
        n_rows, d = table.straight.shape
        settings = self._settings(seed)
        settings.family = FAMILIES[self._family]
        settings.lend(table.prior, table.keys)
        fit = self._fit_options(
            self._family, DEFAULT_ESTIMATOR[method], rounded, seed, settings.threads
        )
        if is_sparse(table.X):
            choose(settings, fit, self.bags, automatic)
            with relay:
                result = train_sparse(table, fit, interface, settings, relay, self.verbose)
            result.record = describe(rules, settings, has_seed, simulated)
            result.method = method
            return result
        freedom = table.bend(fit)
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
                given = table.straight, table.offset, rules, fit, settings, fixed, relay
                pilot = Automatic(*given, self._has_trees())
                revise = pilot.revise
            getattr(interface, "planned", lambda _: None)(settings.bag_size)
            fit_trees = self._fit_trees if table.sources is not None else None
            result = train_glm(
                table, fit, interface, settings, relay, self.verbose, revise, fit_trees
            )
        result.record = describe(rules, settings, has_seed, simulated)
        result.curve_freedom = freedom
        result.method = method
        result.plan = None if pilot is None else pilot.plan
        return result

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
    ) -> GLMResult:
        """Fit given bags and their answers."""
        if rows != "all" and self.model != "glm":
            raise ValueError(f"model={self.model!r} needs all rows of the bags; rows is {rows!r}")
        if effects and self._has_trees():
            raise ValueError(f"bag_effects are for model='glm', not for {self.model!r}")
        if (effects or rows != "all") and is_sparse(table.X):
            raise ValueError("rows and bag_effects are for dense X; X is sparse")
        names, bags = group_rows(bag, table.X.shape[0])
        mean, noise, persons = match_answers(answers, names, bags, self._family, column, rows)
        has_seed, seed = seed_of(self.random_state)
        method = self._method(False)
        fit = self._fit_options(
            self._family, DEFAULT_ESTIMATOR[method], False, seed, threads_of(self.n_jobs)
        )
        if (effects or rows != "all") and fit.estimator != choice("estimator", "aggregate"):
            raise ValueError(
                "rows='sample' or 'means' and bag_effects need the aggregate estimator"
                f"; estimator is {self.estimator!r}, method is {self.method!r}"
            )
        freedom = table.bend(fit)
        fit.bag_effects, n_rows = effects, table.X.shape[0]
        sample_warnings: list[str] = []
        if rows != "all":
            table, bags, sample_warnings = stand_for_persons(
                table, bags, persons, rows, sd, scale, self._family
            )
        for text in sample_warnings:
            warn(text)
        with GivenAnswers(bags, mean, noise) as log:
            fit_trees = self._fit_trees if table.sources is not None else None
            if is_sparse(table.X):
                result = fit_given_sparse(table, log, fit)
            else:
                result = fit_given(table, log, fit, fit_trees)
        result.curve_freedom = freedom
        result.sample_warnings = tuple(sample_warnings)
        assumed = assumptions(rows, sd, self._family)
        self._take_given(result, n_rows, persons, assumed, seed if has_seed else None)
        return result

    def _take_given(
        self, result: Any, n_rows: int, persons: Array, assumed: Any, seed: int | None
    ) -> None:
        """Write what given answers say of themselves into the result."""
        result.history["rows"] = n_rows
        result.one_row_bags = int((persons == 1).sum())
        result.assumptions = assumed
        result.method = self._method(False)
        result.record = describe_given(int(persons.min()), seed)

    def _fit_sums(self, table: Table, sums: GivenSums, lines: Any, known: Any) -> GLMResult:
        """Fit given sums, which may share rows, and known labels."""
        if self.model != "glm":
            raise ValueError(f"sums are for model='glm', not for {self.model!r}")
        has_seed, seed = seed_of(self.random_state)
        method, family, n_rows = self._method(False), self._family, len(table.X)
        threads = threads_of(self.n_jobs)
        fit = self._fit_options(family, DEFAULT_ESTIMATOR[method], False, seed, threads)
        if fit.estimator != choice("estimator", "aggregate"):
            raise ValueError(
                "sums need the aggregate estimator"
                f"; estimator is {self.estimator!r}, method is {self.method!r}"
            )
        table.share(fit)
        bags, mean, noise = sums.answers(lines, family)
        given = GivenAnswers(bags, mean, noise)
        with given as log:
            if known is not None:
                rows, labels = known_labels(known, n_rows, family)
                given.append(rows, labels, 0.0 * labels)
            try:
                result = fit_given(table, log, fit)
            except ValueError as problem:
                raise sums.explain(problem) from None
        result.history["rows"] = n_rows
        result.one_row_bags = int((bags.sizes == 1).sum())
        result.method = method
        result.record = describe_given(int(bags.sizes.min()), seed if has_seed else None)
        return result

    def _fit_trees(self, result: GLMResult, table: Table, answers: Any, relay: Relay) -> None:
        """Fit trees to all answers, whatever the GLM of the rounds is."""
        how = forest_options(FAMILIES[self._family], threads_of(self.n_jobs))
        how.seed = seed_of(self.random_state)[1]
        how.cancel = ctypes.addressof(relay.cancel)
        if self.model == "auto":
            fit = self._fit_options(self._family, "aggregate", False, how.seed, how.threads)
            table.bend(fit)
            fit.curve_freedom, fit.cancel = None, how.cancel
            whole = table.lend(), table.sources, answers, fit, how, relay.check
            members, result.worse_left_out = fit_mixture(*whole)
            result.members = tuple(members)
            return
        members, result.trees = fit_trees(
            table.sources,
            table.X.shape[1],
            answers,
            how,
            table.weight,
            table.offset,
            relay.check,
        )
        result.members = tuple(members)

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


def names_in_file(names: dict[str, str], y: Any) -> dict[str, str]:
    """Return the names of columns with a role, the label's also where y is a Series."""
    label = getattr(y, "name", None)
    return {"y": label, **names} if isinstance(label, str) else names
