"""The parameters of the estimators: each is here once, with its default and its conversion.

They are fields of dataclasses, which write the ``__init__`` that scikit-learn reads the names from.
`PriorBoostRegressor` says what they mean.
"""

from __future__ import annotations

import ctypes
from dataclasses import KW_ONLY, dataclass
from typing import Any

from . import _library
from .options import FAMILIES, choice, count_of, l2_of, number_of, rules_of, threads_of
from .training import Settings

_COVARIANCES = ("model", "sandwich")
_MODELS = ("glm", "smooth", "trees", "auto")
_SETTINGS_SIZE = ctypes.sizeof(Settings)


def _or(words: tuple[str, ...]) -> str:
    return " or ".join(repr(word) for word in words)


# scikit-learn compares estimators by identity and prints them itself.
parameters = dataclass(eq=False, repr=False)


@parameters
class LoopParameters:
    """The rules of an oracle in memory, and how its labels are asked for."""

    min_bag: int = 2
    _: KW_ONLY
    rounds: int | None = None
    algorithm: str | None = None
    bags: str | None = None
    schedule: str | None = None
    bag_size: int | None = None
    epsilon: float | str | None = None
    bounds: tuple[float, float] | None = None
    step: float | None = None
    clamp: bool = False
    prior: Any = None
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    def _rules(self) -> _library.Rules:
        return rules_of(self.min_bag, self.epsilon, self.bounds, self.step)

    def _settings(self, seed: int) -> Settings:
        """Return how to train; its default number of rounds depends on the table."""
        oneshot = self.algorithm == "oneshot"
        bags = "random" if oneshot else "prior" if self.bags is None else self.bags
        if oneshot and self.bags not in (None, "random"):
            raise ValueError(f"bags is {self.bags!r}, but oneshot means random bags")
        bag_size = 0 if self.bag_size is None else count_of(self.bag_size, "bag_size")
        rounds = 1 if oneshot else 0
        if self.rounds is not None:
            rounds = count_of(self.rounds, "rounds")
        return Settings(
            _SETTINGS_SIZE,
            choice("algorithm", "priorboost" if self.algorithm is None else self.algorithm),
            choice("strategy", bags),
            choice("schedule", "equal" if self.schedule is None else self.schedule),
            rounds,
            bag_size,
            seed=seed,
            threads=threads_of(self.n_jobs),
        )


@parameters
class FitParameters:
    """How answers become a generalised linear model."""

    _: KW_ONLY
    model: str = "glm"
    method: str | None = None
    estimator: str | None = None
    l2: float | str | None = None
    rho: float | None = None
    covariance: str = "model"
    fit_intercept: bool = True
    standardize: bool = False
    winsorize: float | None = None

    def _has_curves(self) -> bool:
        """Whether numbers get curves."""
        return self.model in ("smooth", "auto")

    def _has_trees(self) -> bool:
        """Whether trees are fitted; parameters that only a GLM has are refused."""
        if self.model not in _MODELS:
            raise ValueError(f"model is {self.model!r}; it must be {_or(_MODELS)}")
        if self.model not in ("trees", "auto"):
            return False
        of_glm = {
            "estimator": self.estimator not in (None, "aggregate"),
            "method": self.method == "paper",
            "l2": self.l2 is not None,
            "rho": self.rho is not None,
            "covariance": self.covariance != "model",
            "fit_intercept": not self.fit_intercept,
            "standardize": self.standardize,
            "algorithm": getattr(self, "algorithm", None) is not None,
            "round_answers": getattr(self, "round_answers", False),
            "formula": getattr(self, "formula", None) is not None,
        }
        for name, given in of_glm.items():
            if given:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} is for model='glm', not for {self.model!r}; "
                    "leave one of them out"
                )
        return True

    def _fit_options(
        self, family: str, default: str, rounded: bool, seed: int, threads: int
    ) -> _library.FitOptions:
        name = default if self.estimator is None else self.estimator
        estimator = choice("estimator", name)
        if rounded and name != "event":
            raise ValueError(
                f"round_answers cannot be used with estimator={name!r}, which needs "
                "means that are not rounded"
            )
        if self.l2 == "cv" and name != "aggregate":
            raise ValueError(f"l2='cv' is for estimator='aggregate', not for {name!r}")
        if self.rho is not None and name not in ("interpolated", "cv"):
            raise ValueError(f"rho is for estimator='interpolated', not for {name!r}")
        if self.model == "smooth" and name != "aggregate":
            raise ValueError(f"model='smooth' is for estimator='aggregate', not for {name!r}")
        if self.covariance not in _COVARIANCES:
            raise ValueError(f"covariance is {self.covariance!r}; it must be 'model' or 'sandwich'")
        return _library.FitOptions(
            _library.FIT_OPTIONS_SIZE,
            FAMILIES[family],
            l2_of(self.l2),
            self.fit_intercept,
            threads,
            100,
            1e-14,
            estimator,
            0.5 if self.rho is None else number_of(self.rho, "rho"),
            _COVARIANCES.index(self.covariance),
            seed,
        )


@parameters
class TableParameters:
    """What becomes of the columns of a data frame."""

    _: KW_ONLY
    impute: str | None = None
    date: Any = None
    keep: Any = None
    unseen: str = "baseline"
    formula: str | None = None
