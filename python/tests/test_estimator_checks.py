"""scikit-learn's own checks, with no expected failure."""

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
    pb.PriorBoost(Ridge()),
    pb.PriorBoost(LogisticRegression()),
]

if MODERN:

    @parametrize_with_checks(ESTIMATORS)
    def test_scikit_learn_check(estimator, check):
        check(estimator)

else:

    @pytest.mark.skip(
        reason=f"check_estimator is for scikit-learn >= 1.6, not {sklearn.__version__}"
    )
    def test_scikit_learn_check():
        pass
