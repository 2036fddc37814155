"""The same training on Apache Spark, for tables that one machine does not hold.

`PriorBoostRegressor`, `PriorBoostClassifier` and `PriorBoostPoissonRegressor` are estimators of
``pyspark.ml``: ``fit(df)`` gives a model with ``transform``.  docs/spark.md is the guide.
"""

try:
    import pyarrow  # noqa: F401
    import pyspark  # noqa: F401
except ImportError as problem:
    raise ImportError(
        f"priorboost.spark needs PySpark and PyArrow ({problem}): "
        "pip install 'priorboost[spark]', and Java 17"
    ) from problem

from .estimators import (
    PriorBoostClassificationModel,
    PriorBoostClassifier,
    PriorBoostPoissonModel,
    PriorBoostPoissonRegressor,
    PriorBoostRegressionModel,
    PriorBoostRegressor,
)

__all__ = [
    "PriorBoostClassificationModel",
    "PriorBoostClassifier",
    "PriorBoostPoissonModel",
    "PriorBoostPoissonRegressor",
    "PriorBoostRegressionModel",
    "PriorBoostRegressor",
]
