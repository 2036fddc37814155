"""The same training on Apache Spark, for tables that are too large for one machine.

`PriorBoostRegressor`, `PriorBoostClassifier`, `PriorBoostPoissonRegressor` and
`PriorBoostClassesClassifier` are estimators of ``pyspark.ml``: ``fit(df)`` gives a model with
``transform``.  docs/spark.md is the guide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

try:
    import pyarrow  # noqa: F401
    import pyspark  # noqa: F401
except ImportError as problem:
    raise ImportError(
        f"priorboost.spark needs PySpark and PyArrow ({problem}): "
        "pip install 'priorboost[spark]', and Java 17"
    ) from problem

if TYPE_CHECKING:
    from .estimators import (
        PriorBoostClassesClassifier,
        PriorBoostClassifier,
        PriorBoostPoissonRegressor,
        PriorBoostRegressor,
    )
    from .models import (
        PriorBoostClassesModel,
        PriorBoostClassificationModel,
        PriorBoostPoissonModel,
        PriorBoostRegressionModel,
    )

__all__ = [
    "PriorBoostClassesClassifier",
    "PriorBoostClassesModel",
    "PriorBoostClassificationModel",
    "PriorBoostClassifier",
    "PriorBoostPoissonModel",
    "PriorBoostPoissonRegressor",
    "PriorBoostRegressionModel",
    "PriorBoostRegressor",
]


def __getattr__(name: str) -> Any:  # the Python workers of a cluster need no estimators
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import estimators

    return getattr(estimators, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
