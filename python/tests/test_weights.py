"""Weights of rows and of classes: what they mean where answers are means of bags."""

import numpy as np
import pytest
from conftest import make_table

import priorboost as pb


def rare(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.where(rng.random(n) < 1 / (1 + np.exp(3 - X[:, 0])), "sick", "healthy")


def test_sample_weight_is_another_name_of_weight():
    X, y = make_table("linear")
    w = np.random.default_rng(1).uniform(0.5, 2, len(X))
    model = pb.PriorBoostRegressor(5).fit(X, y, sample_weight=w)
    assert model.coef_.tolist() == pb.PriorBoostRegressor(5).fit(X, y, weight=w).coef_.tolist()
    assert model.coef_.tolist() != pb.PriorBoostRegressor(5).fit(X, y).coef_.tolist()
    with pytest.raises(ValueError, match="weight and sample_weight are the same"):
        pb.PriorBoostRegressor(5).fit(X, y, weight=w, sample_weight=w)
    with pytest.raises(ValueError, match="weight of every row is zero"):
        pb.PriorBoostRegressor(5).fit(X, y, sample_weight=0 * w)


def test_a_weight_says_how_exact_a_label_is():
    """Labels of half the rows are the means of nine measurements: weights make errors right."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(6000, 1))
    w = np.where(rng.random(6000) < 0.5, 9.0, 1.0)
    y = X[:, 0] + rng.normal(size=6000) / np.sqrt(w)
    weighted = pb.PriorBoostRegressor(3, bags="random").fit(X, y, sample_weight=w)
    plain = pb.PriorBoostRegressor(3, bags="random").fit(X, y)
    assert weighted.covariance_[0, 0] < plain.covariance_[0, 0]


@pytest.mark.parametrize("estimator", ["aggregate", "event"])
def test_class_weight_moves_the_intercept_only(estimator):
    X, y = rare()
    how = {"min_bag": 5, "estimator": estimator}
    plain = pb.PriorBoostClassifier(**how).fit(X, y)
    model = pb.PriorBoostClassifier(**how, class_weight={"healthy": 1, "sick": 4}).fit(X, y)
    assert plain.class_shift_ == 0.0
    assert model.class_shift_ == pytest.approx(np.log(4))
    assert model.coef_.tolist() == plain.coef_.tolist()
    assert model.intercept_[0] == pytest.approx(plain.intercept_[0] + np.log(4))
    odds = model.predict_proba(X)[:, 1] / model.predict_proba(X)[:, 0]
    assert np.allclose(odds, 4 * plain.predict_proba(X)[:, 1] / plain.predict_proba(X)[:, 0])
    note = "class_weight has added 1.386 to the intercept"
    assert any(note in text for text in model.summary().notes)


def test_balanced_classes_are_found_about_equally_often():
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import balanced_accuracy_score

    X, y = rare(20_000)
    model = pb.PriorBoostClassifier(5, class_weight="balanced").fit(X, y)
    share = (y == "sick").mean()
    assert model.class_shift_ == pytest.approx(np.log((1 - share) / share), abs=0.1)
    theirs = LogisticRegression(class_weight="balanced").fit(X, y)
    scores = [balanced_accuracy_score(y, m.predict(X)) for m in (model, theirs)]
    assert scores[0] == pytest.approx(scores[1], abs=0.01)


def test_the_file_has_the_intercept_with_class_weight(tmp_path):
    X, y = rare()
    model = pb.PriorBoostClassifier(5, class_weight="balanced", standardize=True).fit(X, y)
    model.save(tmp_path / "m.json")
    again = pb.load_model(tmp_path / "m.json").predict(X)
    assert np.allclose(again, model.predict_proba(X)[:, 1])


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ({"ill": 2}, "names the class 'ill'; the classes are"),
        ({"sick": 0}, "the weight 0; it must be more than 0, because no answer is about one class"),
        ({"sick": "much"}, "the weight 'much'"),
        ("equal", "class_weight is 'equal'; it must be 'balanced', a dict"),
        ([1, 2], "it must be 'balanced'"),
    ],
)
def test_class_weights_that_cannot_be_used(class_weight, message):
    X, y = rare(400)
    with pytest.raises(ValueError, match=message):
        pb.PriorBoostClassifier(5, class_weight=class_weight).fit(X, y)


def test_an_oracle_whose_labels_are_used_says_so():
    X, y = make_table("linear")
    oracle = pb.InMemoryOracle(y, 5)
    pb.PriorBoostRegressor(5).fit(X, oracle=oracle)
    with pytest.raises(
        pb.PrivacyError, match=r"2000 of the oracle's 2000 rows are spent: .* only;"
    ):
        pb.PriorBoostRegressor(5).fit(X, oracle=oracle)
    half = pb.InMemoryOracle(y, 2)
    half.ask(0, pb.Bags([0, 1], [0, 2]))
    with pytest.raises(pb.PrivacyError, match="2 of the oracle's 2000 rows are spent"):
        pb.PriorBoostRegressor(5).fit(X, oracle=half)
    assert half.rows_spent == 2  # no other label was used up


# ---- The threshold -------------------------------------------------------------------------------


def rare_class(n=4000):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, (rng.random(n) < 1 / (1 + np.exp(2.5 - X[:, 0]))).astype(int)


def test_the_prevalence_as_threshold_finds_a_rare_class():
    """Few answers shrink probabilities: none is above 0.5, but their order is right."""
    from sklearn.metrics import f1_score

    X, y = rare_class()
    plain = pb.PriorBoostClassifier(400, l2=100.0).fit(X, y)
    model = pb.PriorBoostClassifier(400, l2=100.0, threshold="prevalence").fit(X, y)
    assert plain.threshold_ == 0.5
    assert np.array_equal(model.predict_proba(X), plain.predict_proba(X))
    share = model.predict_proba(X)[:, 1]
    assert model.predict(X).mean() == pytest.approx(share.mean(), abs=0.001)
    assert np.array_equal(model.predict(X), (share > model.threshold_).astype(int))
    assert f1_score(y, model.predict(X)) > f1_score(y, plain.predict(X)) + 0.1


def test_a_threshold_that_is_given(tmp_path):
    X, y = rare_class()
    model = pb.PriorBoostClassifier(5, threshold=0.2).fit(X, y)
    assert np.array_equal(model.predict(X), (model.predict_proba(X)[:, 1] > 0.2).astype(int))
    for threshold in (0, 1.0, "half", None, np.nan):
        with pytest.raises(ValueError, match=r"threshold is .*; it must be a number between 0 and"):
            pb.PriorBoostClassifier(5, threshold=threshold).fit(X, y)
