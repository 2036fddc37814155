"""Models for ``pyspark.ml``.

The ``transform`` of a linear, logistic or Poisson model with dense features is made of Spark's own
expressions: it runs without Python and without the C library.  Others run in Python workers.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pyspark.ml import Model
from pyspark.ml.functions import array_to_vector, vector_to_array
from pyspark.ml.linalg import DenseMatrix, DenseVector, VectorUDT
from pyspark.ml.param import Params
from pyspark.ml.util import MLReadable, MLReader, MLWritable, MLWriter
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BooleanType, NumericType

from .. import models
from .params import CLASSES, COLUMNS, PROBABILITY, defaults, parameters
from .saving import ModelReader, ModelWriter
from .scoring import by_library, completed, eta_of_vectors, literal, shares_of_arrays

# ---- What estimators and models share ------------------------------------------------------------


@parameters(COLUMNS)
class FeatureColumns(Params):
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
            return F.array(*[number(frame, name) for name in names])
        name = self.getFeaturesCol()
        kind = type_of(frame, name)
        if isinstance(kind, VectorUDT):
            return F.when(F.col(f"`{name}`").isNotNull(), vector_to_array(F.col(f"`{name}`")))
        if isinstance(kind, ArrayType) and isinstance(kind.elementType, NumericType):
            return F.col(f"`{name}`").cast("array<double>")
        raise ValueError(
            f"the column '{name}' has the type {kind.simpleString()}; features must be an array of "
            "numbers, an ML vector, or a list of columns"
        )


def type_of(frame: DataFrame, name: str) -> Any:
    """Return the type of a column."""
    if name not in frame.columns:
        raise ValueError(f"there is no column '{name}'; there are {', '.join(frame.columns)}")
    return frame.schema[name].dataType


def number(frame: DataFrame, name: str) -> Column:
    """Return a column of numbers as double."""
    kind = type_of(frame, name)
    if not isinstance(kind, (NumericType, BooleanType)):
        raise ValueError(
            f"the column '{name}' has the type {kind.simpleString()}; it must hold numbers"
        )
    return F.col(f"`{name}`").cast("double")


# ---- Models --------------------------------------------------------------------------------------


class GLMModel(FeatureColumns, Model, MLWritable, MLReadable):
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
            eta = eta + number(frame, content.offset)
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
        kind = type_of(frame, name)
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


class PriorBoostRegressionModel(GLMModel):
    """A linear model; ``transform`` adds the predicted mean."""

    _family = "linear"


class PriorBoostPoissonModel(GLMModel):
    """A Poisson model with logarithmic link; ``transform`` adds the predicted mean."""

    _family = "poisson"

    def _response(self, eta: Column) -> Column:
        return F.exp(eta)


@parameters(PROBABILITY)
class ProbabilityColumn(Params):
    """Where probabilities go, and from which on the prediction is 1."""


class PriorBoostClassificationModel(ProbabilityColumn, GLMModel):
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
class PriorBoostClassesModel(GLMModel):
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

    def _shares(self, frame: DataFrame) -> Column:
        """Return the probabilities as an array: from columns by name, or from encoded features."""
        content = self._content()
        numbers = all(f.is_number for f in content.features)
        encoded = self.getFeaturesCols() is None and (self.isSet("featuresCol") or numbers)
        if content.members or not encoded:
            return by_library(frame, content, "array<double>")
        return shares_of_arrays(self._features(frame), content)

    def _transform(self, frame: DataFrame) -> DataFrame:
        probability, prediction = self.getProbabilityCol(), self.getPredictionCol()
        frame = frame.withColumn(probability, array_to_vector(self._shares(frame)))
        shares = vector_to_array(F.col(f"`{probability}`"))
        names = F.array(*[F.lit(name) for name in self.classes])
        pairs = F.zip_with(
            shares, names, lambda p, name: F.struct(p.alias("p"), name.alias("name"))
        )
        best = F.filter(pairs, lambda pair: pair["p"] == F.array_max(shares))
        return frame.withColumn(prediction, best[0]["name"])
