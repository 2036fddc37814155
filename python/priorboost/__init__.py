"""Learning models of individuals from the mean labels of bags.

A label holder answers only with the mean response of bags of at least k rows and uses each label in
one answer only.
A learner has the features of those rows and chooses the bags so that little is lost.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._library import version as _version

if TYPE_CHECKING:
    from .bags import Bags, Risk, feature_bags, optimal_bags, random_bags, risk
    from .errors import OracleError, PrivacyError
    from .group import RemoteOracles
    from .lists import arrow_rows
    from .members import Forest, Member
    from .meta import PriorBoost
    from .models import Feature, Model, export_onnx, load_model, save_model
    from .objective import BagObjective, bag_objective
    from .oracle import InMemoryOracle, Oracle
    from .planner import Plan, PlanCost, PlanPoint, plan, plan_costs
    from .plots import plot_calibration, plot_coefficients, plot_plan
    from .remote import RemoteOracle
    from .several import PriorBoostMultiOutput
    from .sklearn import PriorBoostClassifier, PriorBoostPoissonRegressor, PriorBoostRegressor
    from .sums import GivenSums
    from .torch_loss import bag_loss

__version__ = _version()

__all__ = [
    "BagObjective",
    "Bags",
    "Feature",
    "Forest",
    "GivenSums",
    "InMemoryOracle",
    "Member",
    "Model",
    "Oracle",
    "OracleError",
    "Plan",
    "PlanCost",
    "PlanPoint",
    "PriorBoost",
    "PriorBoostClassifier",
    "PriorBoostMultiOutput",
    "PriorBoostPoissonRegressor",
    "PriorBoostRegressor",
    "PrivacyError",
    "RemoteOracle",
    "RemoteOracles",
    "Risk",
    "arrow_rows",
    "bag_loss",
    "bag_objective",
    "export_onnx",
    "feature_bags",
    "load_model",
    "optimal_bags",
    "plan",
    "plan_costs",
    "plot_calibration",
    "plot_coefficients",
    "plot_plan",
    "random_bags",
    "risk",
    "save_model",
]

# Loaded when first used: most need scikit-learn, which takes a second or two to load, and the tasks
# on a Spark cluster need none of it.
_NAMES = {
    "lists": ("arrow_rows",),
    "bags": ("Bags", "Risk", "feature_bags", "optimal_bags", "random_bags", "risk"),
    "errors": ("OracleError", "PrivacyError"),
    "meta": ("PriorBoost",),
    "members": ("Forest", "Member"),
    "models": ("Feature", "Model", "export_onnx", "load_model", "save_model"),
    "objective": ("BagObjective", "bag_objective"),
    "oracle": ("InMemoryOracle", "Oracle"),
    "planner": ("Plan", "PlanCost", "PlanPoint", "plan", "plan_costs"),
    "plots": ("plot_calibration", "plot_coefficients", "plot_plan"),
    "group": ("RemoteOracles",),
    "remote": ("RemoteOracle",),
    "several": ("PriorBoostMultiOutput",),
    "sklearn": ("PriorBoostClassifier", "PriorBoostPoissonRegressor", "PriorBoostRegressor"),
    "sums": ("GivenSums",),
    "torch_loss": ("bag_loss",),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    module = _HOME.get(name)
    if module is not None:
        value = getattr(importlib.import_module(f".{module}", __name__), name)
    elif name in _NAMES:
        value = importlib.import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
