"""Predictions as columns: Spark's own expressions where these can, the library where it must."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from .. import models


def literal(values: Any) -> Column:
    """Return numbers as an array."""
    return F.array(*[F.lit(float(value)) for value in values])


def completed(features: Column, content: models.Model) -> Column:
    """Fill in missing numbers and bring them within limits, where a model file says so."""
    fills = [f.fill for f in content.features for _ in range(max(1, len(f.levels) - 1))]
    if any(fill is not None for fill in fills):
        known = literal([float("nan") if fill is None else fill for fill in fills])
        features = F.zip_with(features, known, lambda x, fill: F.nanvl(F.coalesce(x, fill), fill))
    limits = content.encoding.limits()
    if limits is not None:
        features = F.zip_with(features, literal(limits[0]), lambda x, low: F.greatest(x, low))
        features = F.zip_with(features, literal(limits[1]), lambda x, high: F.least(x, high))
    return features


def by_library(frame: DataFrame, content: models.Model, kind: str) -> Column:
    """Return predictions of a model that takes source columns by name: of this Spark type.

    Trees, mixtures, hashed columns and several classes are such models.  The library predicts on
    the executors; the model goes there with the task.
    """
    names = [f.name for f in content.features]
    if content.sparse is not None:
        names = [column.name for column in content.sparse.hashed]
    names += [content.offset] if content.offset is not None else []
    for name in names:
        if name not in frame.columns:
            raise ValueError(
                f"there is no column '{name}', which the model needs; there are "
                f"{', '.join(frame.columns)}"
            )

    def predict(rows: Any) -> Any:
        if content.classes:
            return pd.Series(list(content.predict_proba(rows, n_jobs=1)))
        return pd.Series(content.predict(rows, n_jobs=1))

    predict.__annotations__ = {"rows": pd.DataFrame, "return": pd.Series}
    return F.pandas_udf(predict, kind)(F.struct(*[F.col(f"`{name}`") for name in names]))


def shares_of_arrays(features: Column, content: models.Model) -> Column:
    """Return the probabilities of classes for arrays of encoded features; null for null."""

    def predict(rows: Any) -> Any:
        out = pd.Series([None] * len(rows), dtype=object)
        known = rows.notna().to_numpy()
        if known.any():
            shares = content.predict_proba(np.stack(rows[known].to_list()), n_jobs=1)
            out[known] = pd.Series(list(shares), index=out.index[known])
        return out

    predict.__annotations__ = {"rows": pd.Series, "return": pd.Series}
    return F.pandas_udf(predict, "array<double>")(features)


def eta_of_vectors(vectors: Column, content: models.Model) -> Column:
    """Return the linear predictors of ML vectors, which may be sparse: only entries are read."""
    weights, intercept, n = content.coef, float(content.intercept), len(content.coef)

    def eta(vector: Any) -> float | None:
        if vector is None:
            return None
        if vector.size != n:
            raise ValueError(f"a row has {vector.size} features, but the model has {n}")
        return float(vector.dot(weights)) + intercept

    return F.udf(eta, "double")(vectors)
