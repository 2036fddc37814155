"""Bags that others made: rows name them, answers have their means."""

import warnings

import numpy as np
import pytest
from conftest import make_table

import priorboost as pb


@pytest.fixture(scope="module")
def districts():
    X, y = make_table("linear")
    bag = np.random.default_rng(1).integers(0, 200, len(X))
    return X, bag, {int(b): float(y[bag == b].mean()) for b in np.unique(bag)}


def test_whatever_holds_the_answers_gives_the_same_model(districts):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X, bag, means = districts
    model = pb.PriorBoostRegressor().fit(X, bag=bag, answers=means)
    assert np.allclose(model.coef_, np.linspace(-1, 1, 4), atol=0.2)
    assert model.covariance_.shape == (5, 5)
    assert model.history_["bags"].tolist() == [len(means)]
    count = [int((bag == b).sum()) for b in means]
    table = {"bag": list(means), "count": count, "mean": list(means.values())}
    sums = {**table, "sum": [m * c for m, c in zip(means.values(), count, strict=True)]}
    del sums["mean"]
    for answers in (pd.Series(means), pd.DataFrame(table), pl.DataFrame(table)):
        again = pb.PriorBoostRegressor().fit(X, bag=bag, answers=answers)
        assert again.coef_.tolist() == model.coef_.tolist()
    again = pb.PriorBoostRegressor().fit(X, bag=[str(b) for b in bag], answers=pd.DataFrame(sums))
    assert np.allclose(again.coef_, model.coef_, rtol=1e-10)


def test_the_noise_of_answers_is_weighed(districts):
    pd = pytest.importorskip("pandas")
    X, bag, means = districts
    count = [int((bag == b).sum()) for b in means]
    table = pd.DataFrame({"bag": list(means), "count": count, "mean": list(means.values())})
    exact = pb.PriorBoostRegressor().fit(X, bag=bag, answers=table)
    noisy = table.assign(noise_variance=0.5)
    model = pb.PriorBoostRegressor().fit(X, bag=bag, answers=noisy)
    assert (np.diag(model.covariance_)[:4] > 2 * np.diag(exact.covariance_)[:4]).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: {**m, 999: 1.0}, "'999' has an answer, but no row"),
        (lambda m: dict(list(m.items())[1:]), "has no answer"),
        (lambda m: {**m, next(iter(m)): np.nan}, "mean nan"),
        (lambda m: {**m, 1.5: 1.0}, "neither text nor an integer"),
        (lambda m: {**m, next(iter(m)): None}, "is None; it must be a number"),
        (lambda m: list(m), "must be the mean by bag"),
    ],
)
def test_answers_that_do_not_fit_are_refused(districts, change, message):
    X, bag, means = districts
    with pytest.raises(ValueError, match=message):
        pb.PriorBoostRegressor().fit(X, bag=bag, answers=change(means))


def test_tables_that_do_not_fit_are_refused(districts):
    pd = pytest.importorskip("pandas")
    X, bag, means = districts
    count = [int((bag == b).sum()) for b in means]
    table = pd.DataFrame({"bag": list(means), "mean": list(means.values()), "count": count})
    first = table.bag[0]
    for wrong, message in (
        (table.assign(count=3), "count 3, but [0-9]+ rows name it"),
        (table.assign(count=table["count"] + 1), "rows name it"),
        (table.assign(count=np.nan), "its count is nan"),
        (table.assign(count=0), f"bag '{first}' is empty: its count is 0"),
        (table[["bag", "count"]], "neither a column 'mean'"),
        (table[["bag", "mean"]], "no column 'count'"),
        (table.assign(sum=1.0), "has sum 1 of"),
        (table.assign(noise_variance=-1.0), "noise_variance"),
        (pd.concat([table] * 2), "two answers; each"),
        (table.drop(columns="bag"), "no column 'bag', which names the bag .* are mean, count"),
        (table.assign(mean="much"), "column 'mean' of answers is not all numbers: .*'much'"),
    ):
        with pytest.raises(ValueError, match=message):
            pb.PriorBoostRegressor().fit(X, bag=bag, answers=wrong)
    with pytest.raises(ValueError, match="no logistic labels"):
        pb.PriorBoostClassifier().fit(X, bag=bag, answers={b: 2.0 for b in means})


def test_columns_are_called_as_in_the_program_s_files(districts):
    """``--bag district --answers FILE``: the file names bags by the same column."""
    pd = pytest.importorskip("pandas")
    X, bag, means = districts
    people = pd.DataFrame(X).add_prefix("x").assign(district=bag)
    count = [int((bag == b).sum()) for b in means]
    table = pd.DataFrame({"district": list(means), "count": count, "mean": list(means.values())})
    model = pb.PriorBoostRegressor().fit(people, bag="district", answers=table)
    assert model.feature_names_in_.tolist() == ["x0", "x1", "x2", "x3"]
    again = pb.PriorBoostRegressor().fit(
        X, bag=bag, answers=table.rename(columns={"district": "bag"})
    )
    assert model.coef_.tolist() == again.coef_.tolist()
    assert model.predict(people).tolist() == again.predict(X).tolist()
    with pytest.raises(ValueError, match="no column 'district' or 'bag'"):
        pb.PriorBoostRegressor().fit(
            people, bag="district", answers=table.rename(columns={"district": "town"})
        )
    with pytest.raises(ValueError, match="bag is 'town'; the columns of X are x0"):
        pb.PriorBoostRegressor().fit(people, bag="town", answers=table)


def test_answers_about_more_rows_than_there_are(districts):
    """X has a part of each bag's rows: counts show it; where there are none, fit warns."""
    pd = pytest.importorskip("pandas")
    X, bag, means = districts
    part = np.arange(len(X)) % 2 == 0
    part[np.unique(bag, return_index=True)[1]] = True
    with pytest.warns(UserWarning, match="not the number of its rows") as caught:
        pb.PriorBoostRegressor().fit(X[part], bag=bag[part], answers=means)
    assert [w.filename for w in caught if "its rows" in str(w.message)] == [__file__]
    with pytest.warns(UserWarning, match="not the number of its rows"):
        pb.PriorBoostRegressor().fit(X[part], bag=bag[part], answers=pd.Series(means))
    count = [int((bag == b).sum()) for b in means]
    table = pd.DataFrame({"bag": list(means), "count": count, "mean": list(means.values())})
    with pytest.raises(ValueError, match="has count"):
        pb.PriorBoostRegressor().fit(X[part], bag=bag[part], answers=table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pb.PriorBoostRegressor().fit(X, bag=bag, answers=table)


def test_the_method_of_given_bags_is_the_estimator_s(districts):
    X, bag, means = districts
    for said, method, estimator in (
        ({}, "auto", "aggregate"),
        ({"method": "paper"}, "paper", "event"),
        ({"estimator": "event"}, "paper", "event"),
        ({"method": "paper", "estimator": "aggregate"}, "paper", "aggregate"),
    ):
        model = pb.PriorBoostRegressor(**said).fit(X, bag=bag, answers=means)
        assert (model.method_, model.training_["estimator"]) == (method, estimator)


def test_nothing_is_left_to_ask(districts):
    X, bag, means = districts
    for parameters in (
        {"rounds": 2},
        {"bags": "prior"},
        {"bounds": (0, 1)},
        {"schedule": "equal"},
    ):
        with pytest.raises(ValueError, match="nothing is asked"):
            pb.PriorBoostRegressor(**parameters).fit(X, bag=bag, answers=means)
    with pytest.raises(ValueError, match="unit cannot be used"):
        pb.PriorBoostRegressor().fit(X, bag=bag, answers=means, unit=bag)
    with pytest.raises(ValueError, match="belong together"):
        pb.PriorBoostRegressor().fit(X, bag=bag)
    with pytest.raises(ValueError, match="one of them"):
        pb.PriorBoostRegressor().fit(X, X[:, 0], bag=bag, answers=means)
    with pytest.raises(ValueError, match="neither text nor an integer; convert the column with"):
        pb.PriorBoostRegressor().fit(X, bag=bag.astype(float), answers=means)
    with pytest.raises(ValueError, match="names 3 rows"):
        pb.PriorBoostRegressor().fit(X, bag=bag[:3], answers=means)


def test_classes_of_given_bags_are_the_office_s():
    X, y = make_table("logistic")
    bag = np.arange(len(X)) // 10
    means = {int(b): float(y[bag == b].mean()) for b in np.unique(bag)}
    model = pb.PriorBoostClassifier().fit(X, bag=bag, answers=means)
    assert model.classes_.tolist() == [0, 1]
    assert model.score(X, y) > 0.6
