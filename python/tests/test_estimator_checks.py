"""scikit-learn's own checks; one cannot hold here, and says why."""

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

NOT_HERE = {
    "check_sample_weight_equivalence_on_dense_data": "answers are plain means of bags, so a weight "
    "of 2 is not the same as the row twice (fit says so)"
}


def expected(estimator):
    return {} if isinstance(estimator, pb.PriorBoost) else NOT_HERE


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
