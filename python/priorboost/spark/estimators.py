"""Estimators for ``pyspark.ml``; `models` has what they give."""

from __future__ import annotations

import math
import tempfile
import warnings
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from pyspark.ml import Estimator
from pyspark.ml.linalg import VectorUDT
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BooleanType,
    FractionalType,
    IntegralType,
    StringType,
)

from .. import _library, models, sklearn
from ..classes import warn_of_classes
from ..fit_warnings import warn_of_fit, warn_of_seed
from ..models import Feature
from ..options import FAMILIES, choice, l2_of, rules_of, vector_rules
from ..remote import RemoteOracle
from . import learning, wide
from .asking import LabelsOnDriver, Service
from .cluster import Cluster
from .flow import Result, Run, Settings, Table
from .models import (
    FeatureColumns,
    GLMModel,
    PriorBoostClassesModel,
    PriorBoostClassificationModel,
    PriorBoostPoissonModel,
    PriorBoostRegressionModel,
    ProbabilityColumn,
    number,
    type_of,
)
from .params import CLASSES, COLUMNS, PROBABILITY, TRAINING, defaults, parameters


@parameters(TRAINING)
class _Training(FeatureColumns):
    """How to train."""


class _GLMEstimator(_Training, Estimator, DefaultParamsWritable, DefaultParamsReadable):
    """What the families share."""

    _family: ClassVar[str]
    _answers = "mean"  # what the oracle must answer with
    _learner: ClassVar[type] = learning.GLM
    _model: ClassVar[type[GLMModel]]
    on_stage: Any = None  # called with the name and the seconds of every step

    def __init__(self, **given: Any) -> None:
        super().__init__()
        self._setDefault(**defaults(COLUMNS, TRAINING))
        self.setParams(**given)

    def setParams(self, **given: Any) -> Any:  # noqa: N802
        """Set parameters by their names."""
        for name, value in given.items():
            if not self.hasParam(name):
                raise TypeError(f"{type(self).__name__} has no parameter '{name}'")
            if value is None:
                continue
            if name == "epsilon":
                value = str(value)
            getattr(self, f"set{name[0].upper()}{name[1:]}")(value)
        return self

    def _get(self, name: str) -> Any:
        return self.getOrDefault(name) if self.isDefined(name) else None

    def _fit(self, frame: DataFrame) -> GLMModel:
        self._check()
        spark = frame.sparkSession
        if ".connect." in type(spark).__module__:
            raise ValueError(
                "this is a Spark Connect session; fit needs one with a driver of its own"
            )
        if self._is_wide(frame):
            return self._fit_wide(frame)
        table = self._table(frame)
        run = Run(spark, table, self._settings(spark), self._oracle(table))
        result = run.train()
        model: GLMModel = self._copyValues(self._model(self._describe(result)))
        model.history, model.path = result.history, result.path
        self._warn(result, model.toModel().columns)
        if model.training["simulated"]:
            warn_of_seed("seed")
        return model

    # ---- Sparse rows ----

    def _is_wide(self, frame: DataFrame) -> bool:
        """Whether the features are vectors that stay sparse."""
        given, name = self._get("sparse"), self._get("featuresCol")
        vectors = self._get("featuresCols") is None and isinstance(type_of(frame, name), VectorUDT)
        if given and not vectors:
            raise ValueError(f"sparse is for a column of ML vectors, and '{name}' holds none")
        if given is not None or not vectors:
            return bool(given)
        return self._vector_size(frame) > wide.DENSE_COLUMNS

    def _vector_size(self, frame: DataFrame) -> int:
        name = self._get("featuresCol")
        first = frame.select(F.col(f"`{name}`")).first()
        if first is None:
            raise ValueError("the table has no rows")
        if first[0] is None or first[0].size < 1:
            raise ValueError(f"the first row of '{name}' has no features")
        return int(first[0].size)

    def _fit_wide(self, frame: DataFrame) -> GLMModel:
        """Train on the driver, as one machine does, on sparse rows that executors have packed."""
        local = self._local()
        for name in ("priorCol", "numPartitions", "workDir"):
            if self.isSet(name):
                raise ValueError(
                    f"{name} is for dense features; sparse rows are fitted on the driver"
                )
        if self._get("askFrom") == "executors":
            raise ValueError("askFrom is 'executors', but sparse rows are fitted on the driver")
        identity, label, seed = self._identity(frame), self._get("labelCol"), self._get("seed")
        vector = wide.entries(F.col(f"`{self._get('featuresCol')}`"))
        columns = [F.col(f"`{identity}`"), vector.alias("x")]
        if label is not None:
            columns.append(number(frame, label).alias("label"))
        cluster = Cluster(frame.sparkSession, "", self.on_stage)
        size, most = self._vector_size(frame), self._get("mostEntries")
        with cluster.this_python():
            x, ids, y = wide.gather(cluster, frame.select(*columns), self._seed(), size, most)
        with cluster.stage("fit"), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "the noise is simulated")  # fit says so, below
            local.fit(x, y, ids=ids, oracle=None if label is not None else self._description())
        content = models.Model.from_estimator(local)
        content.label = label or "y"
        content.training["seed"] = seed
        model: GLMModel = self._copyValues(self._model(content))
        model.history = [
            {name: record[name].item() for name in ("round", "rows", "bags", "within")}
            for record in local.history_
        ]
        model.path = local.path_
        if model.training["simulated"]:
            warn_of_seed("seed")
        return model

    def _local(self) -> Any:
        """Return the estimator of one machine, with these parameters."""
        kinds = {
            "linear": sklearn.PriorBoostRegressor,
            "logistic": sklearn.PriorBoostClassifier,
            "poisson": sklearn.PriorBoostPoissonRegressor,
        }
        if self._family not in kinds:
            raise ValueError("sparse rows are for labels that are numbers, not for classes")
        bounds, oneshot = self._get("bounds"), self._get("algorithm") == "oneshot"
        return kinds[self._family](
            self._get("minBag"),
            method="paper",
            rounds=self._get("rounds") or None,
            algorithm=self._get("algorithm"),
            bags=None if oneshot else self._get("bags"),
            schedule=self._get("schedule"),
            bag_size=self._get("bagSize") or None,
            epsilon=self._get("epsilon"),
            bounds=None if bounds is None else tuple(bounds),
            step=self._get("step"),
            clamp=self._get("clamp"),
            estimator=self._get("estimator"),
            l2=self._get("l2"),
            fit_intercept=self._get("fitIntercept"),
            random_state=self._get("seed"),
        )

    def _warn(self, result: Result, columns: list[str]) -> None:
        """Warn of what the last fit reports."""
        estimator = SimpleNamespace(
            _family=self._family, n_jobs=None, fit_intercept=self._get("fitIntercept")
        )
        warn_of_fit(estimator, result.report, result.sample, result.path[-1], columns)

    def _check(self) -> None:
        """Refuse parameters that contradict each other, before anything runs."""
        url, label = self._get("oracleUrl"), self._get("labelCol")
        if (url is None) == (label is None):
            raise ValueError(
                "set oracleUrl (a service holds the labels) or labelCol (this process plays both "
                f"parties), not {'both' if url else 'neither'}"
            )
        if url is not None:
            if self._get("oracleTokenFile") is None:
                raise ValueError("oracleUrl needs oracleTokenFile")
            if (self._get("oracleClientCert") is None) != (self._get("oracleClientKey") is None):
                raise ValueError("oracleClientCert and oracleClientKey go together")
            for name in ("minBag", "epsilon", "bounds", "step", "clamp"):
                if self.isSet(name):
                    raise ValueError(f"{name} is a rule of the service at oracleUrl, not of fit")
        bags = self._get("bags") if self.isSet("bags") else "random"
        if self._get("algorithm") == "oneshot" and bags != "random":
            raise ValueError(f"bags is '{bags}', but oneshot means random bags")
        l2 = self._get("l2")
        if l2 is not None and not 0 <= l2 < math.inf:
            raise ValueError(f"l2 is {l2}; it must be finite and not negative")

    def _identity(self, frame: DataFrame) -> str:
        """Return the name of the id column."""
        identity = str(self._get("idCol"))
        if not isinstance(type_of(frame, identity), (StringType, IntegralType)):
            raise ValueError(
                f"the id column '{identity}' has the type "
                f"{type_of(frame, identity).simpleString()}; ids are texts or whole numbers"
            )
        return identity

    def _table(self, frame: DataFrame) -> Table:
        identity = self._identity(frame)
        columns = [F.col(f"`{identity}`"), self._features(frame).alias("x")]
        prior, label = self._get("priorCol"), self._get("labelCol")
        if prior is not None:
            columns.append(number(frame, prior).alias("prior"))
        labels, names = None, tuple[str, ...]()
        if label is not None:
            value, names = self._label(frame, label)
            labels = frame.select(F.col(f"`{identity}`"), value.alias("label"))
        return Table(frame.select(*columns), self._width(frame), labels, names)

    def _label(self, frame: DataFrame, name: str) -> tuple[Column, tuple[str, ...]]:
        """Return the labels as numbers, and the names of classes."""
        return number(frame, name), ()

    def _width(self, frame: DataFrame) -> int:
        names = self._get("featuresCols")
        if names is not None:
            if not names:
                raise ValueError("featuresCols is empty")
            return len(names)
        first = frame.select(F.size(self._features(frame))).first()
        if first is None:
            raise ValueError("the table has no rows")
        if first[0] < 1:
            raise ValueError(f"the first row of '{self._get('featuresCol')}' has no features")
        return int(first[0])

    def _settings(self, spark: Any) -> Settings:
        fit = _library.FitOptions(
            _library.FIT_OPTIONS_SIZE,
            FAMILIES.get(self._family, _library.LOGISTIC),
            l2_of(self._get("l2")),
            self._get("fitIntercept"),
            1,
            100,
            1e-14,
            choice("estimator", self._get("estimator")),
        )
        return Settings(
            self._learner,
            FAMILIES.get(self._family, _library.LINEAR),
            self._get("algorithm"),
            self._get("bags"),
            choice("schedule", self._get("schedule")),
            self._get("rounds"),
            self._get("bagSize"),
            self._seed(),
            fit,
            self._work_dir(spark),
            self._get("numPartitions"),
            self._get("askFrom"),
            self.on_stage,
        )

    def _seed(self) -> int:
        seed = self._get("seed")
        if seed is not None and seed < 0:
            raise ValueError(f"seed is {seed}; it must not be negative")
        return seed or 0

    def _work_dir(self, spark: Any) -> str:
        given = self._get("workDir")
        if given is not None:
            return str(given)
        context = spark.sparkContext
        checkpoint = context._jsc.sc().getCheckpointDir()
        if checkpoint.isDefined():
            return str(checkpoint.get())
        if context.master.startswith("local"):
            return f"file://{tempfile.gettempdir()}"
        raise ValueError(
            "set workDir to a directory that driver and executors share (hdfs://..., s3a://...): "
            "bags are written there before they are asked about"
        )

    def _description(self) -> RemoteOracle:
        """Return the service that holds the labels."""
        return RemoteOracle(
            self._get("oracleUrl"),
            self._get("oracleTokenFile"),
            self._get("oracleCaFile"),
            self._get("oraclePatience"),
            client_cert=self._get("oracleClientCert"),
            client_key=self._get("oracleClientKey"),
        )

    def _oracle(self, table: Table) -> Any:
        if self._get("oracleUrl") is not None:
            description = self._description()
            return lambda run: Service.connect(description, self._answers)
        rules = self._rules(table)
        _library._check(_library.lib.rules_check, rules)

        def labels_here(run: Run) -> LabelsOnDriver:
            assert table.labels is not None
            values = run.labels_by_position(table.labels)
            has_seed = self._get("seed") is not None
            return LabelsOnDriver(
                values, rules, self._get("clamp"), has_seed, self._seed(), table.names
            )

        return labels_here

    def _rules(self, table: Table) -> _library.Rules:
        """Return the rules of labels on the driver."""
        return rules_of(
            self._get("minBag"), self._get("epsilon"), self._get("bounds"), self._get("step")
        )

    def _describe(self, result: Result) -> models.Model:
        theta = result.path[-1]
        names = self._get("featuresCols") or [f"x{j}" for j in range(theta.shape[-1] - 1)]
        rules = result.rules
        exact = Fraction(rules.epsilon.num, rules.epsilon.den) if rules.epsilon.den else None
        oneshot = self._get("algorithm") == "oneshot"
        seed = self._get("seed")
        return models.Model(
            family=self._family,
            features=[Feature(name) for name in names],
            columns=list(names),
            coef=np.array(theta[..., :-1]),
            intercept=theta[:, -1].copy() if result.classes else float(theta[-1]),
            classes=list(result.classes),
            covariance=result.covariance,
            label=self._get("labelCol") or "y",
            training={
                "algorithm": self._get("algorithm"),
                "estimator": self._get("estimator"),
                "bags": "random" if oneshot else self._get("bags"),
                "min_bag": rules.min_bag,
                "rounds": result.rounds,
                "rows_spent": result.rows,
                "epsilon": exact,
                "l2": result.report.l2,
                "simulated": exact is not None and seed is not None and not self._get("oracleUrl"),
                "seed": seed,
            },
        )


class PriorBoostRegressor(_GLMEstimator):
    """Linear regression from the mean labels of bags, on Spark.

    ``fit(df)`` gives a `PriorBoostRegressionModel`.  Parameters are given by name, here or through
    their setters; ``explainParams()`` lists them with what they mean.  There is no planner here:
    what is not set has the defaults of ``priorboost train --method paper``.

    Examples
    --------
    >>> from priorboost.spark import PriorBoostRegressor
    >>> estimator = PriorBoostRegressor(labelCol="spent", minBag=10, rounds=4, bags="features")
    >>> model = estimator.setEstimator("aggregate").fit(table)  # doctest: +SKIP
    >>> model.transform(table).select("prediction")  # doctest: +SKIP
    """

    _family = "linear"
    _model = PriorBoostRegressionModel


class PriorBoostPoissonRegressor(_GLMEstimator):
    """Poisson regression with logarithmic link from the mean labels of bags, on Spark.

    Labels are counts.  ``fit(df)`` gives a `PriorBoostPoissonModel`; for the parameters see
    ``explainParams()``.
    """

    _family = "poisson"
    _model = PriorBoostPoissonModel


class PriorBoostClassifier(ProbabilityColumn, _GLMEstimator):
    """Logistic regression from the mean labels of bags, on Spark; labels are 0 and 1.

    ``fit(df)`` gives a `PriorBoostClassificationModel`; for the parameters see ``explainParams()``.
    """

    _family = "logistic"
    _model = PriorBoostClassificationModel

    def __init__(self, **given: Any) -> None:
        super().__init__()
        self._setDefault(**defaults(PROBABILITY))
        self.setParams(**given)


# Parameters that only labels of one number have.
_OF_NUMBERS = ("priorCol", "bounds", "step", "clamp")


@parameters(CLASSES)
class PriorBoostClassesClassifier(_GLMEstimator):
    """Multinomial logistic regression from the proportions of classes in bags, on Spark.

    For labels of three classes or more, which may be texts or numbers; `PriorBoostClassifier` is
    for 0 and 1.  ``fit(df)`` gives a `PriorBoostClassesModel`; for the parameters see
    ``explainParams()``.  The first class by name (numbers: by size), or the first of the oracle's,
    is the base, whose weights are 0.
    """

    _family = "classes"
    _answers = "classes"
    _learner = learning.Classes
    _model = PriorBoostClassesModel

    def __init__(self, **given: Any) -> None:
        super().__init__()
        self._setDefault(**defaults(CLASSES))
        self.setParams(**given)

    def _check(self) -> None:
        for name in _OF_NUMBERS:
            if self.isSet(name):
                raise ValueError(f"{name} is for labels that are numbers, not for classes")
        super()._check()

    def _label(self, frame: DataFrame, name: str) -> tuple[Column, tuple[str, ...]]:
        kind = type_of(frame, name)
        if not isinstance(kind, (StringType, IntegralType, FractionalType, BooleanType)):
            raise ValueError(
                f"the label column '{name}' has the type {kind.simpleString()}; classes are texts "
                "or numbers"
            )
        column, most = F.col(f"`{name}`"), _library.MOST_CLASSES
        values = [row[0] for row in frame.select(column).distinct().limit(most + 2).collect()]
        if any(value is None or value != value for value in values):
            raise ValueError(f"the label column '{name}' holds a null or NaN")
        if not 3 <= len(values) <= most:
            advice = "; PriorBoostClassifier is for labels of 0 and 1" if len(values) == 2 else ""
            many = f"more than {most}" if len(values) > most else len(values)
            raise ValueError(
                f"the label column '{name}' holds {many} classes; there must be 3 to {most}{advice}"
            )
        values.sort()
        numbers = [F.when(column == F.lit(v), F.lit(float(c))) for c, v in enumerate(values)]
        return F.coalesce(*numbers), tuple(map(_class_name, values))

    def _rules(self, table: Table) -> _library.Rules:
        width = len(table.names)
        return vector_rules(self._get("minBag"), self._get("epsilon"), "classes", width)

    def _warn(self, result: Result, columns: list[str]) -> None:
        theta, intercept = result.path[-1], self._get("fitIntercept")
        warn_of_classes(result.report, theta, result.sample, columns, intercept)


def _class_name(value: Any) -> str:
    """Return the name of a class: whole numbers have no decimals.

    Examples
    --------
    >>> _class_name("red"), _class_name(2.0), _class_name(3), _class_name(True)
    ('red', '2', '3', 'true')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) or value != int(value):
        return str(value)
    return str(int(value))
