"""Estimators and models for ``pyspark.ml``.

The ``transform`` of a linear, logistic or Poisson model with dense features is made of Spark's own
expressions: it runs without Python and without the C library.  Others run in Python workers.
"""

from __future__ import annotations

import math
import tempfile
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from pyspark.ml import Estimator, Model
from pyspark.ml.functions import array_to_vector, vector_to_array
from pyspark.ml.linalg import DenseMatrix, DenseVector, VectorUDT
from pyspark.ml.param import Params
from pyspark.ml.util import (
    DefaultParamsReadable,
    DefaultParamsWritable,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BooleanType, IntegralType, NumericType, StringType

from .. import _library, models
from ..fit_warnings import warn_of_fit, warn_of_seed
from ..models import Feature
from ..options import FAMILIES, choice, l2_of, rules_of
from ..remote import RemoteOracle
from .asking import LabelsOnDriver, Service
from .flow import Result, Run, Settings, Table
from .params import CLASSES, COLUMNS, PROBABILITY, TRAINING, defaults, parameters
from .saving import ModelReader, ModelWriter
from .scoring import by_library, completed, eta_of_vectors, literal

# ---- What estimators and models share ------------------------------------------------------------


@parameters(COLUMNS)
class _Columns(Params):
    """Which columns hold features, and where predictions go."""

    def setFeaturesCol(self, value: Any) -> Any:  # noqa: N802
        """Set the column of features, or a list of columns of one number each."""
        if isinstance(value, str):
            self.clear(self.featuresCols)
            return self._set(featuresCol=value)
        return self._set(featuresCols=list(value))

    def _features(self, frame: DataFrame) -> Column:
        """Return the features as one array column."""
        names = self.getFeaturesCols()
        if names is not None:
            return F.array(*[_number(frame, name) for name in names])
        name = self.getFeaturesCol()
        kind = _type_of(frame, name)
        if isinstance(kind, VectorUDT):
            return F.when(F.col(f"`{name}`").isNotNull(), vector_to_array(F.col(f"`{name}`")))
        if isinstance(kind, ArrayType) and isinstance(kind.elementType, NumericType):
            return F.col(f"`{name}`").cast("array<double>")
        raise ValueError(
            f"the column '{name}' has the type {kind.simpleString()}; features must be an array of "
            "numbers, an ML vector, or a list of columns"
        )


def _type_of(frame: DataFrame, name: str) -> Any:
    if name not in frame.columns:
        raise ValueError(f"there is no column '{name}'; there are {', '.join(frame.columns)}")
    return frame.schema[name].dataType


def _number(frame: DataFrame, name: str) -> Column:
    """Return a column of numbers as double."""
    kind = _type_of(frame, name)
    if not isinstance(kind, (NumericType, BooleanType)):
        raise ValueError(
            f"the column '{name}' has the type {kind.simpleString()}; it must hold numbers"
        )
    return F.col(f"`{name}`").cast("double")


# ---- Models --------------------------------------------------------------------------------------


class _GLMModel(_Columns, Model, MLWritable, MLReadable):
    """A fitted model: one weight per feature, an intercept, and how it was trained."""

    _family: ClassVar[str]

    def __init__(self, content: models.Model | None = None) -> None:
        super().__init__()
        self._setDefault(**defaults(COLUMNS))
        self.content = content
        self.history: list[dict[str, Any]] = []
        self.path: Any = None  # weights and intercept after each round, of a model just fitted

    @property
    def coefficients(self) -> DenseVector:
        """The weights of the features; trees have none."""
        if self._weighted().classes:
            raise AttributeError("several classes have a matrix of weights: coefficientMatrix")
        return DenseVector(self._content().coef)

    @property
    def intercept(self) -> float:
        """The intercept; 0 where none was fitted."""
        return float(self._content().intercept)

    @property
    def numFeatures(self) -> int:  # noqa: N802
        """The number of features."""
        content = self._content()
        return len(content.features) if content.members else int(np.shape(content.coef)[-1])

    @property
    def covariance(self) -> DenseMatrix | None:
        """Of the weights and, last, the intercept, where the estimator knows it (aggregate)."""
        known = self._content().covariance
        if known is None:
            return None
        return DenseMatrix(*known.shape, known.ravel(), isTransposed=True)

    @property
    def training(self) -> dict[str, Any]:
        """How the model was trained, as in the model file."""
        return self._content().training

    def _content(self) -> models.Model:
        if self.content is None:
            raise ValueError("this model was not fitted")
        return self.content

    def _weighted(self) -> models.Model:
        if self._content().members:
            raise AttributeError("a model of trees or of several members has no weights")
        return self._content()

    def copy(self, extra: Any = None) -> Any:
        """Return a copy with extra parameters."""
        out = super().copy(extra)
        out.content, out.history, out.path = self.content, self.history, self.path
        return out

    def toModel(self) -> models.Model:  # noqa: N802
        """Return what was learnt as a `priorboost.Model`."""
        return self._content()

    def saveModelFile(self, path: str) -> None:  # noqa: N802
        """Write the file that ``priorboost predict --model`` reads, on the driver."""
        models.save_model(self._content(), path)

    @classmethod
    def fromModelFile(cls, path: str) -> Any:  # noqa: N802
        """Return the model of a file that ``priorboost train --out`` wrote, on the driver.

        Where its features are plain numbers, their names are those of featuresCols.  Other models
        take the columns of their training table by name: trees, curves, categories, dates, hashed
        columns and several classes.  With featuresCol, categories and dates come encoded.
        """
        content = models.load_model(path)
        if content.family != cls._family:
            raise ValueError(f"{path} holds a {content.family} model, not a {cls._family} one")
        out = cls(content)
        if content.columns and [f.name for f in content.features] == content.columns:
            out._set(featuresCols=list(content.columns))
        return out

    def write(self) -> MLWriter:
        """Return what saves this model."""
        return ModelWriter(self)

    @classmethod
    def read(cls) -> MLReader:
        """Return what loads such a model."""
        return ModelReader(cls)

    def _mean(self, frame: DataFrame) -> Column:
        """Return the predicted mean as an expression."""
        content = self._content()
        if self._takes_sources():
            return by_library(frame, content, "double")
        eta = self._eta_of_sparse(frame) if content.sparse is not None else self._eta(frame)
        if content.offset is not None:
            eta = eta + _number(frame, content.offset)
        return self._response(eta)

    def _takes_sources(self) -> bool:
        """Whether the model takes the columns of its training table by name."""
        content = self._content()
        if content.sparse is not None:
            return content.sparse.bits > 0
        if content.members or any(f.curve is not None for f in content.features):
            return True
        encoded = self.isSet("featuresCol") or all(f.is_number for f in content.features)
        return not encoded

    def _eta_of_sparse(self, frame: DataFrame) -> Column:
        name = self.getFeaturesCol()
        kind = _type_of(frame, name)
        if not isinstance(kind, VectorUDT):
            raise ValueError(
                f"the column '{name}' has the type {kind.simpleString()}; the model is one of "
                "sparse rows, so it must hold ML vectors"
            )
        return eta_of_vectors(F.col(f"`{name}`"), self._content())

    def _eta(self, frame: DataFrame) -> Column:
        """Return the linear predictor, by Spark's own expressions."""
        content = self._content()
        features = self._features(frame)
        known = completed(features, content)
        products = F.zip_with(known, literal(content.coef), lambda a, b: a * b)
        eta = F.aggregate(products, F.lit(float(content.intercept)), lambda total, p: total + p)
        wrong = F.concat(
            F.lit("a row has "),
            F.size(features).cast("string"),
            F.lit(f" features, but the model has {len(content.coef)}"),
        )
        return F.when(F.size(features) == len(content.coef), eta).otherwise(F.raise_error(wrong))

    def _response(self, eta: Column) -> Column:
        return eta

    def _transform(self, frame: DataFrame) -> DataFrame:
        name = self.getPredictionCol()
        return frame.withColumn(name, self._mean(frame))


class PriorBoostRegressionModel(_GLMModel):
    """A linear model; ``transform`` adds the predicted mean."""

    _family = "linear"


class PriorBoostPoissonModel(_GLMModel):
    """A Poisson model with logarithmic link; ``transform`` adds the predicted mean."""

    _family = "poisson"

    def _response(self, eta: Column) -> Column:
        return F.exp(eta)


@parameters(PROBABILITY)
class _Probability(Params):
    """Where probabilities go, and from which on the prediction is 1."""


class PriorBoostClassificationModel(_Probability, _GLMModel):
    """A logistic model; ``transform`` adds a vector of probabilities and the prediction, 0 or 1."""

    _family = "logistic"

    def __init__(self, content: models.Model | None = None) -> None:
        super().__init__(content)
        self._setDefault(**defaults(PROBABILITY))

    def _response(self, eta: Column) -> Column:
        return F.lit(1.0) / (F.lit(1.0) + F.exp(-eta))

    def _transform(self, frame: DataFrame) -> DataFrame:
        probability, prediction = self.getProbabilityCol(), self.getPredictionCol()
        mean = self._mean(frame)
        if probability:
            frame = frame.withColumn(probability, array_to_vector(F.array(1.0 - mean, mean)))
            mean = vector_to_array(F.col(f"`{probability}`"))[1]
        if prediction:
            frame = frame.withColumn(prediction, (mean >= self.getThreshold()).cast("double"))
        return frame


@parameters(CLASSES)
class PriorBoostClassesModel(_GLMModel):
    """A model of several classes; ``transform`` adds probabilities and the most likely class.

    The probabilities are a vector, in the order of `classes`; the prediction is a name.
    """

    _family = "classes"

    def __init__(self, content: models.Model | None = None) -> None:
        super().__init__(content)
        self._setDefault(**defaults(CLASSES))

    @property
    def classes(self) -> list[str]:
        """The names of the classes, the base first."""
        return list(self._content().classes)

    @property
    def coefficientMatrix(self) -> DenseMatrix:  # noqa: N802
        """The weights: a row for each class."""
        coef = self._weighted().coef
        return DenseMatrix(*coef.shape, coef.ravel(), isTransposed=True)

    @property
    def interceptVector(self) -> DenseVector:  # noqa: N802
        """The intercepts, one for each class."""
        return DenseVector(self._weighted().intercept)

    def _transform(self, frame: DataFrame) -> DataFrame:
        probability, prediction = self.getProbabilityCol(), self.getPredictionCol()
        shares = by_library(frame, self._content(), "array<double>")
        frame = frame.withColumn(probability, array_to_vector(shares))
        shares = vector_to_array(F.col(f"`{probability}`"))
        names = F.array(*[F.lit(name) for name in self.classes])
        pairs = F.zip_with(
            shares, names, lambda p, name: F.struct(p.alias("p"), name.alias("name"))
        )
        best = F.filter(pairs, lambda pair: pair["p"] == F.array_max(shares))
        return frame.withColumn(prediction, best[0]["name"])


# ---- Estimators ----------------------------------------------------------------------------------


@parameters(TRAINING)
class _Training(_Columns):
    """How to train."""


class _GLMEstimator(_Training, Estimator, DefaultParamsWritable, DefaultParamsReadable):
    """What the three families share."""

    _family: ClassVar[str]
    _model: ClassVar[type[_GLMModel]]
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

    def _fit(self, frame: DataFrame) -> _GLMModel:
        self._check()
        spark = frame.sparkSession
        if ".connect." in type(spark).__module__:
            raise ValueError(
                "this is a Spark Connect session; fit needs one with a driver of its own"
            )
        table = self._table(frame)
        run = Run(spark, table, self._settings(spark), self._oracle(table))
        result = run.train()
        model: _GLMModel = self._copyValues(self._model(self._describe(result)))
        model.history, model.path = result.history, result.path
        estimator = SimpleNamespace(
            _family=self._family, n_jobs=None, fit_intercept=self._get("fitIntercept")
        )
        columns = model.toModel().columns
        warn_of_fit(estimator, result.report, result.sample, result.path[-1], columns)
        if model.training["simulated"]:
            warn_of_seed("seed")
        return model

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

    def _table(self, frame: DataFrame) -> Table:
        identity = self._get("idCol")
        if not isinstance(_type_of(frame, identity), (StringType, IntegralType)):
            raise ValueError(
                f"the id column '{identity}' has the type "
                f"{_type_of(frame, identity).simpleString()}; ids are texts or whole numbers"
            )
        columns = [F.col(f"`{identity}`"), self._features(frame).alias("x")]
        prior, label = self._get("priorCol"), self._get("labelCol")
        if prior is not None:
            columns.append(_number(frame, prior).alias("prior"))
        labels = None
        if label is not None:
            labels = frame.select(F.col(f"`{identity}`"), _number(frame, label))
        return Table(frame.select(*columns), self._width(frame), labels)

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
            FAMILIES[self._family],
            l2_of(self._get("l2")),
            self._get("fitIntercept"),
            1,
            100,
            1e-14,
            choice("estimator", self._get("estimator")),
        )
        return Settings(
            FAMILIES[self._family],
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

    def _oracle(self, table: Table) -> Any:
        url = self._get("oracleUrl")
        if url is not None:
            description = RemoteOracle(
                url,
                self._get("oracleTokenFile"),
                self._get("oracleCaFile"),
                self._get("oraclePatience"),
                client_cert=self._get("oracleClientCert"),
                client_key=self._get("oracleClientKey"),
            )
            return lambda run: Service.connect(description)
        rules = rules_of(
            self._get("minBag"), self._get("epsilon"), self._get("bounds"), self._get("step")
        )
        _library._check(_library.lib.rules_check, rules)

        def labels_here(run: Run) -> LabelsOnDriver:
            assert table.labels is not None
            values = run.labels_by_position(table.labels)
            return LabelsOnDriver(
                values, rules, self._get("clamp"), self._get("seed") is not None, self._seed()
            )

        return labels_here

    def _describe(self, result: Result) -> models.Model:
        names = self._get("featuresCols") or [f"x{j}" for j in range(result.path.shape[1] - 1)]
        rules = result.rules
        exact = Fraction(rules.epsilon.num, rules.epsilon.den) if rules.epsilon.den else None
        oneshot = self._get("algorithm") == "oneshot"
        seed = self._get("seed")
        return models.Model(
            family=self._family,
            features=[Feature(name) for name in names],
            columns=list(names),
            coef=np.array(result.path[-1, :-1]),
            intercept=float(result.path[-1, -1]),
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


class PriorBoostClassifier(_Probability, _GLMEstimator):
    """Logistic regression from the mean labels of bags, on Spark; labels are 0 and 1.

    ``fit(df)`` gives a `PriorBoostClassificationModel`; for the parameters see ``explainParams()``.
    """

    _family = "logistic"
    _model = PriorBoostClassificationModel

    def __init__(self, **given: Any) -> None:
        super().__init__()
        self._setDefault(**defaults(PROBABILITY))
        self.setParams(**given)
