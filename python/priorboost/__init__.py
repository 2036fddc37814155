"""Learning models of individuals from the mean labels of bags.

A label holder answers only with the mean response of bags of at least k rows, each row once.
A learner has the features of those rows and chooses the bags so that little is lost.
"""

from ._library import version as _version
from .bags import Bags, Risk, feature_bags, optimal_bags, random_bags, risk
from .errors import OracleError, PrivacyError
from .meta import PriorBoost
from .models import Feature, Model, load_model, save_model
from .oracle import InMemoryOracle, Oracle
from .planner import Plan, PlanPoint, plan
from .remote import RemoteOracle
from .sklearn import PriorBoostClassifier, PriorBoostPoissonRegressor, PriorBoostRegressor

__version__ = _version()

__all__ = [
    "Bags",
    "Feature",
    "InMemoryOracle",
    "Model",
    "Oracle",
    "OracleError",
    "Plan",
    "PlanPoint",
    "PriorBoost",
    "PriorBoostClassifier",
    "PriorBoostPoissonRegressor",
    "PriorBoostRegressor",
    "PrivacyError",
    "RemoteOracle",
    "Risk",
    "feature_bags",
    "load_model",
    "optimal_bags",
    "plan",
    "random_bags",
    "risk",
    "save_model",
]
