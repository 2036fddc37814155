"""Several classes: training, predicting, and what a fit gave."""

from __future__ import annotations

import ctypes
import warnings
from ctypes import c_bool, c_char_p, pointer
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from . import _library
from ._library import _check, address, copy_array, lib, matrix
from .data import Array
from .members import fit_class_trees, fit_mixture, forest_options
from .options import choice, name_of, seed_of, threads_of
from .planner import Automatic
from .records import describe
from .relay import Relay
from .training import Progress, Settings, Table, Trainer

# Parameters that only labels of two classes have, and their defaults.
_OF_TWO = {
    "round_answers": False,
    "threshold": 0.5,
    "prior": None,
    "bounds": None,
    "step": None,
    "clamp": False,
    "rho": None,
}


class ClassResult:
    """What training a model of classes gave; attributes are those of ``GLMResult``."""

    record: dict[str, Any]
    one_row_bags = 0
    limits: tuple[Array, Array] | None = None
    method = "paper"
    plan: Any = None
    encoding: Any = None
    names: dict[str, str]
    warnings: tuple[str, ...] = ()
    sample_warnings: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    class_shift: Any = 0.0  # by class, where classes are weighted
    curve_freedom: Array | None = None
    members: tuple[Any, ...] = ()
    trees: Any = None
    worse_left_out = False
    outcome = SimpleNamespace(warnings=0)  # they are told here

    def __init__(
        self, theta: Array, covariance: Array | None, report: Any, history: Array, usable: bool
    ) -> None:
        self.path = theta[np.newaxis]  # (1, classes, features + 1): the model of the last round
        self.covariance = covariance
        self.report = report
        self.history = history
        self.usable = usable

    @property
    def training(self) -> dict[str, Any]:
        """How the model was trained, as in the model file."""
        return self.record | {
            "estimator": name_of("estimator", self.report.estimator),
            "rounds": len(self.history),
            "rows_spent": int(self.history["rows"].sum()),
            "l2": self.report.l2,
        }


def require_several(estimator: Any) -> None:
    """Refuse parameters that several classes do not have."""
    for name, default in _OF_TWO.items():
        value = getattr(estimator, name)
        if not (value is default or value == default):
            raise ValueError(f"{name}={value!r} is for two classes, not for more")
    if estimator.model in ("trees", "auto") and estimator.class_weight is not None:
        raise ValueError(
            "class_weight of several classes is for model='glm' or 'smooth', "
            f"not for {estimator.model!r}"
        )
    if estimator.estimator not in (None, "aggregate", "event"):
        raise ValueError(
            f"estimator={estimator.estimator!r} is for two classes; it must be 'aggregate' or "
            "'event' for more"
        )


def _plan(
    estimator: Any,
    table: Table,
    rules: _library.Rules,
    fit: _library.FitOptions,
    settings: Settings,
    relay: Relay,
) -> None:
    """Choose what the parameters leave open, by the rule of ``priorboost train``."""
    features = choice("strategy", "features")
    if estimator.bags is None:
        settings.bags = features
    if settings.rounds == 0 and estimator.bags not in ("prior", "hybrid"):
        settings.rounds = 1
    if settings.bag_size or not rules.epsilon.den:
        return
    one = _library.Rules(ctypes.sizeof(_library.Rules))
    _check(lib.rules_number, one, rules, 0)
    aggregate = choice("estimator", "aggregate")
    fixed = _library.Fixed(1, 0, True, True, False, aggregate, features, 0)
    asked = Settings.from_buffer_copy(settings)
    asked.prior_score = None
    fitted = _library.FitOptions.from_buffer_copy(fit)
    fitted.family = _library.LOGISTIC
    Automatic(table.straight, None, one, fitted, asked, fixed, relay, False)
    settings.bag_size = asked.bag_size


def train_classes(
    estimator: Any, table: Table, interface: _library.Oracle, relay: Relay, simulated: bool
) -> ClassResult:
    """Train with the answers of an oracle, which have a proportion for each class."""
    require_several(estimator)
    has_seed, seed = seed_of(estimator.random_state)
    rules, method = interface.rules, estimator._method(False)
    settings = estimator._settings(seed)
    settings.lend(None, table.keys)
    default = "aggregate" if method == "auto" else "event"
    fit = estimator._fit_options("logistic", default, False, seed, settings.threads)
    with relay:
        if method == "auto":
            _plan(estimator, table, rules, fit, settings, relay)
        settings.default_rounds(*table.straight.shape, rules.min_bag)
        described = matrix(table.straight)
        settings.x, settings.family = ctypes.addressof(described), _library.LINEAR
        settings.width = rules.width
        fit.cancel = ctypes.addressof(relay.cancel)
        result = _run(estimator, table, interface, settings, fit, relay)
    result.record = describe(rules, settings, has_seed, simulated)
    result.method = method
    if not result.members:
        result.warnings = _warn(estimator, result, table)
    return result


def _grow(
    estimator: Any, result: ClassResult, table: Table, answers: Any, n: int, relay: Relay
) -> None:
    """Fit trees, or a mixture, to all answers, where the model is one."""
    if table.sources is None:
        return
    how = forest_options(_library.LOGISTIC, threads_of(estimator.n_jobs))
    how.seed = seed_of(estimator.random_state)[1]
    how.cancel = ctypes.addressof(relay.cancel)
    if estimator.model == "auto":
        fit = estimator._fit_options("logistic", "aggregate", False, how.seed, how.threads)
        table.bend(fit)
        fit.curve_freedom, fit.cancel = None, how.cancel
        whole = table.lend(), table.sources, answers, fit, how, relay.check
        members, result.worse_left_out = fit_mixture(*whole, lib.classes_fit_mixture)
        result.members = tuple(members)
        return
    asked = table.sources, table.X.shape[1], n, answers, how, table.weight, relay.check
    result.members = tuple(fit_class_trees(*asked))


def _bend(estimator: Any, table: Table, fit: _library.FitOptions) -> _library.Features:
    """Return what the model of the rounds is fitted to: with curves if the model is smooth."""
    if estimator.model != "smooth":
        table.share(fit)
        return _library.features(table.straight, table.weight, table.offset)
    table.bend(fit)
    fit.curve_freedom = None
    return table.lend()


def _run(
    estimator: Any,
    table: Table,
    interface: _library.Oracle,
    settings: Settings,
    fit: _library.FitOptions,
    relay: Relay,
) -> ClassResult:
    recall = getattr(interface, "recall", lambda _: None)
    model, features = ctypes.c_void_p(), _bend(estimator, table, fit)
    relay.check(lib.classes_create, model, features, interface.rules.width, fit)
    try:
        learner = lib.classes_learner(model)
        progress = Progress(settings.rounds, estimator.verbose)
        with Trainer(len(table.X), interface, learner, settings, relay) as trainer:
            for done in range(settings.rounds):
                bags = recall(done)
                if bags is not None:
                    trainer.recall(bags)
                trainer.step()
                progress.show(done + 1)
            result = _read(model, trainer.history(), fit, table)
            answers = lib.trainer_answers(trainer.handle)
            _grow(estimator, result, table, answers, interface.rules.width, relay)
        return result
    finally:
        lib.classes_free(model)


def fit_given_classes(
    estimator: Any, table: Table, log: ctypes.c_void_p, fit: _library.FitOptions, n_classes: int
) -> ClassResult:
    """Fit given answers, which have a proportion for each class."""
    require_several(estimator)
    features = _bend(estimator, table, fit)
    theta = np.zeros((n_classes, features.x.cols + 1))
    report, covariance = _library.FitReport(), None
    if fit.estimator == _library.AGGREGATE:
        n = lib.class_weights(n_classes, features.x.cols)
        covariance = np.empty((n, n))
    with Relay() as relay:
        fit.cancel = ctypes.addressof(relay.cancel)
        to = _lend_coef(theta), report, address(covariance)
        relay.check(lib.classes_fit, *to, features, log, 0, fit)
        history = np.zeros(1, dtype=_library.ROUND)
        result = ClassResult(theta, covariance, report, history, True)
        _grow(estimator, result, table, log, n_classes, relay)
    bags = lib.answers_bags(log)
    history[0] = 1, 1, bags.n_rows, bags.n_bags, np.nan, np.nan
    if not result.members:
        result.warnings = _warn(estimator, result, table)
    return result


def _read(
    model: ctypes.c_void_p, history: Array, fit: _library.FitOptions, table: Table
) -> ClassResult:
    coef = lib.classes_coef(model).contents
    report = _library.FitReport.from_buffer_copy(lib.classes_report(model).contents)
    shape = coef.classes, coef.cols + 1
    theta = copy_array(coef.theta, shape[0] * shape[1], np.float64).reshape(shape)
    covariance = None
    if fit.estimator == _library.AGGREGATE:
        n = lib.class_weights(coef.classes, coef.cols)
        covariance = copy_array(lib.classes_covariance(model), n * n, np.float64).reshape(n, n)
    return ClassResult(theta, covariance, report, history, True)


def _lend_coef(theta: Array) -> _library.ClassCoef:
    classes, width = theta.shape
    coef = _library.ClassCoef(classes, width - 1, address(theta))
    coef.lent = theta  # lives as long as it does
    return coef


def warn_of_classes(
    report: _library.FitReport,
    theta: Array,
    X: Array,
    names: list[str] | None,
    intercept: bool,
    *,
    one_row_bags: int = 0,
    level: int = 3,
) -> tuple[tuple[str, ...], bool]:
    """Warn, `level` calls up, of what a fit to X reports; the texts, and if it may be used."""
    options = _library.FitOptions(_library.FIT_OPTIONS_SIZE, _library.LOGISTIC, intercept=intercept)
    columns = None
    if names is not None:
        columns = (c_char_p * len(names))(*[name.encode() for name in names])
    fitted = _library.Fitted(
        pointer(report),
        pointer(options),
        pointer(matrix(X)),
        None,
        one_row_bags,
        columns,
        b"bags='features'",
        b"covariance='sandwich'",
    )
    found, usable = (_library.FitWarning * _library.MOST_WARNINGS)(), c_bool()
    n = lib.classes_warnings(found, usable, _lend_coef(np.ascontiguousarray(theta)), fitted)
    texts = []
    for warning in found[:n]:
        kind = ConvergenceWarning if warning.kind <= _library.UNUSABLE else UserWarning
        texts.append(warning.text.decode("utf-8", "replace"))
        warnings.warn(texts[-1], kind, stacklevel=level)
    return tuple(texts), usable.value


def _warn(estimator: Any, result: ClassResult, table: Table) -> tuple[str, ...]:
    """Warn, where fit was called, of what the last fit reports; return the texts."""
    texts, result.usable = warn_of_classes(
        result.report,
        result.path[-1],
        table.X,
        table.columns,
        estimator.fit_intercept,
        one_row_bags=result.one_row_bags,
        level=6,
    )
    return texts


# ---- Prediction ----------------------------------------------------------------------------------


def _samples(X: Array) -> _library.Samples:
    x = matrix(X)
    samples = _library.Samples(ctypes.addressof(x), None, X.shape[0], None, None, None)
    samples.lent = x, X
    return samples


def predict_classes(X: Array, theta: Array, threads: int) -> Array:
    """Return the probability of every class for every row.

    Examples
    --------
    >>> import numpy as np
    >>> from priorboost.classes import predict_classes
    >>> theta = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])  # the intercept is last
    >>> predict_classes(np.array([[0.0], [2.0]]), theta, 1).round(3).tolist()
    [[0.333, 0.333, 0.333], [0.117, 0.867, 0.016]]
    """
    coef = _lend_coef(np.ascontiguousarray(theta))
    out = np.empty((X.shape[0], coef.classes))
    _check(lib.classes_predict, address(out), _samples(X), coef, threads)
    return out


def predict_class_interval(
    X: Array, theta: Array, covariance: Array, level: float, threads: int
) -> tuple[Array, Array]:
    """Return a confidence interval of the probability of every class for every row."""
    coef = _lend_coef(np.ascontiguousarray(theta))
    spread = np.ascontiguousarray(covariance, dtype=np.float64)
    lower, upper = (np.empty((X.shape[0], coef.classes)) for _ in range(2))
    _check(
        lib.classes_predict_interval,
        address(lower),
        address(upper),
        _samples(X),
        coef,
        address(spread),
        level,
        threads,
    )
    return lower, upper
