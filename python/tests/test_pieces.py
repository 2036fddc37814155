"""Bags, oracles, risk, models."""

import itertools
import pickle

import numpy as np
import pytest
from conftest import make_table

import priorboost as pb


def within(scores, parts):
    return sum(((scores[list(p)] - scores[list(p)].mean()) ** 2).sum() for p in parts)


def test_optimal_bags_beat_every_other_partition():
    scores = np.random.default_rng(0).normal(size=11)
    order = np.argsort(scores)
    bags = pb.optimal_bags(scores, 2)
    best = min(
        within(scores, np.split(order, cuts))
        for r in range(5)
        for cuts in itertools.combinations(range(2, 10), r)
        if min(np.diff([0, *cuts, 11])) >= 2
    )
    assert np.isclose(bags.cost(scores), best)
    assert sorted(bags.rows.tolist()) == list(range(11))
    assert bags.sizes.min() >= 2


def test_bags_of_a_cli_like_partition():
    bags = pb.random_bags(100, 7, random_state=4)
    again = pb.random_bags(100, 7, random_state=4)
    assert bags.rows.tolist() == again.rows.tolist()
    labels = bags.labels()
    assert np.bincount(labels).tolist() == bags.sizes.tolist()
    assert all((labels[rows] == b).all() for b, rows in enumerate(bags))


def test_bad_bags_are_refused():
    with pytest.raises(ValueError, match="ends with the number of rows"):
        pb.Bags([1, 2, 3], [0, 2])
    with pytest.raises(IndexError):
        pb.Bags([1, 2], [0, 2])[1]
    with pytest.raises(ValueError, match="scores"):
        pb.Bags([1, 2], [0, 2]).cost([1.0])
    with pytest.raises(ValueError, match="row 9"):
        pb.risk(np.ones((4, 1)), pb.Bags([1, 9], [0, 2]), [1.0])


def test_bad_requests_are_refused():
    X = np.ones((4, 1))
    for call, message in (
        (lambda: pb.optimal_bags([1.0, 2.0], -1), "min_bag is -1"),
        (lambda: pb.optimal_bags([[1.0]], 1), "2 dimensions"),
        (lambda: pb.optimal_bags([1.0, np.nan], 1), "finite"),
        (lambda: pb.random_bags(-4, 2), "n_rows is -4"),
        (lambda: pb.random_bags(4, 2.5), "min_bag is 2.5"),
        (lambda: pb.feature_bags(X, 0), "min_bag is 0"),
        (lambda: pb.feature_bags(X, 5), "min_bag is 5"),
        (lambda: pb.plan(X, 2, family="gamma"), "family is 'gamma'"),
        (lambda: pb.plan(X, 2, max_rows=0), "max_rows is 0"),
        (lambda: pb.plan(X, 2, mean="low"), "mean is 'low'"),
        (lambda: pb.plan(X, 2, mean=0.1, fit_intercept=False), "mean cannot be used with"),
        (lambda: pb.risk(X, pb.Bags([0, 1], [0, 2]), [1.0], family=None), "family is None"),
        (lambda: pb.risk(X, pb.Bags([0, 1], [0, 2]), [1.0, 2.0]), "theta has the shape"),
        (lambda: pb.InMemoryOracle([1.0], 0), "min_bag is 0"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_risk_is_what_simulation_finds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    theta = np.array([1.0, -0.5])
    bags = pb.random_bags(60, 4, random_state=1)
    S = (bags.labels() == np.arange(len(bags))[:, None]) / bags.sizes[:, None]
    spread = S.T * bags.sizes  # from answers to rows
    spread = (spread > 0).astype(float)
    errors = []
    for _ in range(4000):
        y = X @ theta + 0.3 * rng.normal(size=60)
        errors.append(((np.linalg.lstsq(X, spread @ (S @ y), rcond=None)[0] - theta) ** 2).sum())
    exact = pb.risk(X, bags, theta, dispersion=0.09)
    assert np.isclose(np.mean(errors), exact.total, rtol=0.05)
    assert pb.risk(X, bags, theta, family="logistic").total > 0


def test_the_oracle_answers_each_row_once():
    oracle = pb.InMemoryOracle(np.arange(10.0), min_bag=3)
    assert oracle.ask(0, pb.Bags(range(6), [0, 3, 6])).tolist() == [1.0, 4.0]
    assert oracle.rows_spent == 6
    with pytest.raises(pb.PrivacyError, match="spent"):
        oracle.ask(1, pb.Bags([5, 6, 7], [0, 3]))
    with pytest.raises(pb.PrivacyError, match="2"):
        oracle.ask(1, pb.Bags([7, 8], [0, 2]))
    assert oracle.rows_spent == 6
    with pytest.raises(TypeError, match="use their labels again"):
        pickle.dumps(oracle)


def test_an_oracle_is_as_good_as_labels():
    X, y = make_table("linear")
    oracle = pb.InMemoryOracle(y, min_bag=5)
    a = pb.PriorBoostRegressor(rounds=4).fit(X, oracle=oracle)
    b = pb.PriorBoostRegressor(min_bag=5, rounds=4).fit(X, y)
    assert a.path_.tolist() == b.path_.tolist()
    assert oracle.rows_spent == len(X)
    with pytest.raises(pb.PrivacyError, match="spent"):
        pb.PriorBoostRegressor(rounds=4).fit(X, oracle=oracle)
    with pytest.raises(ValueError, match="10 rows"):
        pb.PriorBoostRegressor().fit(X[:10], oracle=oracle)


class Mine(pb.Oracle):
    min_bag = 3

    def __init__(self, y):
        self.y = y

    def ask(self, round, bags):
        return [self.y[rows].mean() for rows in bags]


def test_an_oracle_of_ones_own():
    X, y = make_table("logistic")
    ours = pb.PriorBoostClassifier(rounds=4).fit(X, oracle=Mine(y.astype(float)))
    same = pb.PriorBoostClassifier(min_bag=3, rounds=4).fit(X, y)
    assert np.allclose(ours.path_, same.path_)
    assert ours.classes_.tolist() == [0, 1]


def test_what_an_oracle_raises_comes_out():
    class Broken(Mine):
        def ask(self, round, bags):
            if round == 2:
                raise OSError("the line is dead")
            return super().ask(round, bags)

    class Short(Mine):
        def ask(self, round, bags):
            return [0.0]

    X, y = make_table("linear")
    with pytest.raises(OSError, match="the line is dead"):
        pb.PriorBoostRegressor(rounds=4).fit(X, oracle=Broken(y))
    with pytest.raises(ValueError, match=r"shape \(1,\)"):
        pb.PriorBoostRegressor(rounds=4).fit(X, oracle=Short(y))


def test_models_survive_files(tmp_path):
    model = pb.Model(
        family="poisson",
        features=[pb.Feature("age", fill=40.0), pb.Feature("sex", ("f", "m", "x"))],
        columns=["age", "sex=m", "sex=x"],
        coef=np.array([0.1, 1 / 3, -2.0]),
        intercept=0.5,
        covariance=np.eye(4),
        label="visits",
        training={"algorithm": "oneshot", "min_bag": 5, "seed": 2**63 + 1},
    )
    pb.save_model(model, tmp_path / "m.json")
    again = pb.load_model(tmp_path / "m.json")
    for name in ("family", "features", "columns", "intercept", "label", "positive", "offset"):
        assert getattr(again, name) == getattr(model, name)
    assert again.coef.tolist() == model.coef.tolist()
    assert again.covariance.tolist() == np.eye(4).tolist()
    assert again.training["seed"] == 2**63 + 1
    with pytest.raises(OSError, match=r"m\.json"):
        pb.save_model(model, tmp_path / "nowhere" / "m.json")
    with pytest.raises(ValueError, match="shape"):
        again.predict(np.ones((2, 2)))


def test_intervals_of_a_model_with_a_covariance():
    model = pb.Model("logistic", [pb.Feature("a")], ["a"], np.array([1.0]), 0.0,
                     covariance=np.diag([0.04, 0.01]))  # fmt: skip
    fitted = model.to_estimator()
    X = np.array([[0.0], [2.0]])
    with pytest.warns(UserWarning, match="feature names"):
        lower, upper = fitted.predict_interval(X)
    half = 1.959963984540054 * np.sqrt([0.01, 0.17])
    sigmoid = lambda t: 1 / (1 + np.exp(-t))  # noqa: E731
    assert np.allclose(lower, sigmoid(X[:, 0] - half))
    assert np.allclose(upper, sigmoid(X[:, 0] + half))
