"""The loop around other people's models."""

import numpy as np
import pytest
from conftest import make_table
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

import priorboost as pb


@pytest.mark.parametrize("algorithm", ["priorboost", "oneshot", "pbprefix"])
def test_around_ridge_it_is_our_own_regressor(algorithm):
    """The same trainer and the same loss: the same model, up to rounding."""
    X, y = make_table("linear")
    rounds = 1 if algorithm == "oneshot" else 4
    options = {"min_bag": 3, "rounds": rounds, "algorithm": algorithm, "random_state": 5}
    meta = pb.PriorBoost(Ridge(alpha=1.0), **options).fit(X, y)
    ours = pb.PriorBoostRegressor(**options).fit(X, y)
    assert np.allclose(meta.estimator_.coef_, ours.coef_, rtol=1e-6)
    assert meta.history_["bags"].tolist() == ours.history_["bags"].tolist()
    assert np.allclose(meta.predict(X), ours.predict(X))


def test_around_logistic_regression_it_is_our_own_classifier():
    X, y = make_table("logistic")
    meta = pb.PriorBoost(LogisticRegression(C=1.0, tol=1e-10), min_bag=3, rounds=2).fit(X, y)
    ours = pb.PriorBoostClassifier(min_bag=3, method="paper", rounds=2).fit(X, y)
    assert np.allclose(meta.predict_proba(X), ours.predict_proba(X), atol=1e-4)
    assert meta.score(X, y) == ours.score(X, y)


def test_a_model_that_is_not_linear_gains_from_curated_bags():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(6000, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(float) * 4 + 0.1 * rng.normal(size=6000)
    tree = DecisionTreeRegressor(max_depth=6, min_samples_leaf=10, random_state=0)
    adaptive = pb.PriorBoost(tree, min_bag=8, rounds=8, algorithm="pbprefix").fit(X, y)
    oneshot = pb.PriorBoost(tree, min_bag=8, algorithm="oneshot").fit(X, y)
    assert adaptive.score(X, y) > oneshot.score(X, y) + 0.1


@pytest.mark.parametrize(
    "inner", [KNeighborsClassifier(15), GradientBoostingClassifier(n_estimators=20)]
)
def test_classifiers_with_and_without_weights(inner):
    X, y = make_table("logistic")
    model = pb.PriorBoost(inner, min_bag=3, rounds=2, epsilon=2, random_state=0)
    model.fit(X, np.array(["no", "yes"])[y])
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.score(X, np.array(["no", "yes"])[y]) > 0.6
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1)


def test_tables_keep_their_names_and_text():
    pd = pytest.importorskip("pandas")
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder

    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.normal(size=600), "sex": rng.choice(["f", "m"], 600)})
    y = table.age + 2 * (table.sex == "m")
    encode = make_column_transformer((OneHotEncoder(), ["sex"]), (StandardScaler(), ["age"]))
    model = pb.PriorBoost(make_pipeline(encode, Ridge()), min_bag=2, rounds=4).fit(table, y)
    assert model.feature_names_in_.tolist() == ["age", "sex"]
    assert model.score(table, y) > 0.9


def test_what_an_estimator_raises_comes_out():
    class Broken(Ridge):
        def predict(self, X):
            raise RuntimeError("no predictions today")

    X, y = make_table("linear", n=400)
    with pytest.raises(RuntimeError, match="no predictions today"):
        pb.PriorBoost(Broken(), rounds=2).fit(X, y)


def test_a_prior_makes_the_first_bags():
    X, y = make_table("linear")
    prior = Ridge().fit(X, y)
    warm = pb.PriorBoost(Ridge(), min_bag=10, rounds=1, prior=prior).fit(X, y)
    cold = pb.PriorBoost(Ridge(), min_bag=10, rounds=1).fit(X, y)
    assert warm.score(X, y) > cold.score(X, y)
    ours = pb.PriorBoostRegressor(min_bag=10, rounds=1, prior=prior).fit(X, y)
    assert np.isfinite(ours.history_["within"][0])
