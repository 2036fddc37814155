"""scikit-learn's own checks; one cannot hold here, and says why."""

from importlib.util import find_spec

import pytest
import sklearn
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

import priorboost as pb

MODERN = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 6)

pytestmark = pytest.mark.filterwarnings("ignore")

ESTIMATORS = [
    pb.PriorBoostRegressor(),
    pb.PriorBoostClassifier(),
    pb.PriorBoostPoissonRegressor(),
    pb.PriorBoostRegressor(min_bag=1, model="smooth"),
    pb.PriorBoostClassifier(min_bag=1, model="smooth"),
    pb.PriorBoostRegressor(model="trees"),
    pb.PriorBoostClassifier(model="trees"),
    pb.PriorBoostPoissonRegressor(model="trees"),
    pb.PriorBoost(Ridge()),
    pb.PriorBoost(LogisticRegression()),
]

SMALL = {"n_estimators": 3, "n_jobs": 1}
if find_spec("lightgbm"):
    from lightgbm import LGBMClassifier, LGBMRegressor

    few = {"min_child_samples": 2, "num_leaves": 4, "verbose": -1, **SMALL}
    ESTIMATORS += [
        pb.PriorBoost(booster(learning_rate=0.5, **few), folds=2)
        for booster in (LGBMRegressor, LGBMClassifier)
    ]
if find_spec("xgboost"):
    from xgboost import XGBClassifier, XGBRegressor

    ESTIMATORS += [
        pb.PriorBoost(booster(max_depth=2, learning_rate=0.5, **SMALL), folds=2)
        for booster in (XGBRegressor, XGBClassifier)
    ]

NOT_HERE = {
    f"check_sample_weight_equivalence_on_{kind}_data": "answers are plain means of bags, so a "
    "weight of 2 is not the same as the row twice (fit says so)"
    for kind in ("dense", "sparse")
}
NOT_OF_TREES = {
    "check_class_weight_classifiers": "class_weight of three classes is for model='glm': trees "
    "have no intercept of a class that it could change"
}


def expected(estimator):
    if isinstance(estimator, pb.PriorBoost):
        return {}
    trees = isinstance(estimator, pb.PriorBoostClassifier) and estimator.model == "trees"
    return {**NOT_HERE, **(NOT_OF_TREES if trees else {})}


if MODERN:

    @parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected)
    def test_scikit_learn_check(estimator, check):
        check(estimator)

else:

    @pytest.mark.skip(
        reason=f"check_estimator is for scikit-learn >= 1.6, not {sklearn.__version__}"
    )
    def test_scikit_learn_check():
        pass
