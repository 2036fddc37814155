"""The parameters of the Spark estimators and models, in the manner of ``pyspark.ml``."""

from __future__ import annotations

from typing import Any

from pyspark.ml.param import Param, Params, TypeConverters

_INT, _FLOAT, _TEXT = TypeConverters.toInt, TypeConverters.toFloat, TypeConverters.toString
_BOOL, _TEXTS = TypeConverters.toBoolean, TypeConverters.toListString
_FLOATS = TypeConverters.toListFloat


def _one_of(*names: str) -> Any:
    def convert(value: Any) -> str:
        if value not in names:
            raise ValueError(f"{value!r} is not one of {', '.join(names)}")
        return str(value)

    return convert


def _count(value: Any) -> int:
    out = int(_INT(value))
    if out < 0:
        raise ValueError(f"{out} is negative; it must be a whole number")
    return out


# name: (converter, default or None, what it is)
COLUMNS: dict[str, tuple[Any, Any, str]] = {
    "featuresCol": (_TEXT, "features", "column of features: an array of numbers or an ML vector"),
    "featuresCols": (_TEXTS, None, "columns of features, one number each, instead of featuresCol"),
    "predictionCol": (_TEXT, "prediction", "column for the prediction"),
}
PROBABILITY: dict[str, tuple[Any, Any, str]] = {
    "probabilityCol": (_TEXT, "probability", "column for the probabilities of 0 and 1, a vector"),
    "threshold": (_FLOAT, 0.5, "probability from which the prediction is 1"),
}
CLASSES: dict[str, tuple[Any, Any, str]] = {
    "probabilityCol": (_TEXT, "probability", "column for the probabilities of the classes"),
}
TRAINING: dict[str, tuple[Any, Any, str]] = {
    "idCol": (_TEXT, "id", "column that names each row: texts or whole numbers, all different"),
    "labelCol": (_TEXT, None, "column of labels, to play both parties: gathered on the driver"),
    "priorCol": (_TEXT, None, "column of a prior's predicted means, for the bags of round 1"),
    "oracleUrl": (_TEXT, None, "address of the service that holds the labels"),
    "oracleTokenFile": (_TEXT, None, "file that holds the learner's token"),
    "oracleCaFile": (_TEXT, None, "authorities to trust instead of the system's, PEM"),
    "oracleClientCert": (_TEXT, None, "this learner's certificate, PEM, if the service asks"),
    "oracleClientKey": (_TEXT, None, "the key of oracleClientCert, PEM"),
    "oraclePatience": (_FLOAT, 60.0, "seconds over which a request that fails is sent again"),
    "askFrom": (_one_of("driver", "executors"), "driver", "who talks to the service"),
    "minBag": (_count, 2, "least rows in a bag, with labelCol; a service has its own rule"),
    "bagSize": (_count, 0, "ask for bags of at least this many rows; 0: minBag"),
    "rounds": (_count, 0, "slices that the rows are asked about in; 0: by the table's size"),
    "algorithm": (
        _one_of("priorboost", "oneshot", "pbprefix"),
        "priorboost",
        "train on the last slice, on random bags at once, or on all slices so far",
    ),
    "bags": (
        _one_of("prior", "random", "features", "hybrid"),
        "prior",
        "optimal for the last model's predictions; random; from features; from both",
    ),
    "schedule": (_one_of("equal", "geometric"), "equal", "slices of equal or of growing size"),
    "epsilon": (_TEXT, None, "with labelCol: noise for label differential privacy per row"),
    "bounds": (_FLOATS, None, "with labelCol: public bounds of the labels"),
    "step": (_FLOAT, None, "with labelCol: labels are rounded to multiples of it"),
    "clamp": (_BOOL, False, "with labelCol: move labels outside the bounds to them"),
    "estimator": (
        _one_of("event", "aggregate"),
        "event",
        "how answers become a model: every row is fitted to its bag's answer (the paper's), or "
        "whole bags of all rounds are fitted",
    ),
    "l2": (_FLOAT, None, "adds (l2/2) |theta|^2 to the sum of losses; unset: 1, or by the data"),
    "fitIntercept": (_BOOL, True, "fit an intercept, unpenalised"),
    "seed": (_INT, None, "of slices, bags and simulated noise; unset: 0, and noise that is secret"),
    "workDir": (_TEXT, None, "directory that driver and executors share, for the run's files"),
    "sparse": (_BOOL, None, "vectors stay sparse; unset: those of more than 1024 columns do"),
    "mostEntries": (
        _count,
        1 << 28,
        "entries of sparse rows that the driver may hold, 12 bytes each",
    ),
    "numPartitions": (_count, 0, "parts of a round's order; 0: by size and cores"),
}


def parameters(table: dict[str, tuple[Any, Any, str]]) -> Any:
    """Make a class decorator that adds parameters with their getters and setters."""

    def add(cls: Any) -> Any:
        for name, (converter, _, text) in table.items():
            setattr(cls, name, Param(Params._dummy(), name, text, converter))
            title = name[0].upper() + name[1:]
            for kind, function in (("get", _getter(name)), ("set", _setter(name))):
                function.__name__ = kind + title
                function.__qualname__ = f"{cls.__name__}.{kind}{title}"
                function.__doc__ = f"{'Return' if kind == 'get' else 'Set'} `{name}`: {text}."
                if kind + title not in vars(cls):
                    setattr(cls, kind + title, function)
        return cls

    return add


def _getter(name: str) -> Any:
    def get(self: Any) -> Any:
        return self.getOrDefault(name) if self.isDefined(name) else None

    return get


def _setter(name: str) -> Any:
    def set_(self: Any, value: Any) -> Any:
        return self._set(**{name: value})

    return set_


def defaults(*tables: dict[str, tuple[Any, Any, str]]) -> dict[str, Any]:
    """Return the defaults that there are."""
    return {n: d for table in tables for n, (_, d, _) in table.items() if d is not None}
