"""Formulas: what they mean at fit is what they mean at predict."""

import pickle

import numpy as np
import pytest

import priorboost as pb

pd = pytest.importorskip("pandas")
pytest.importorskip("formulaic", reason="needs formulaic: pip install 'priorboost[formula]'")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    n = 2000
    out = pd.DataFrame(
        {
            "age": rng.uniform(20, 80, n),
            "dose": rng.uniform(0, 5, n),
            "ward": rng.choice(["a", "b", "c"], n),
        }
    )
    out["y"] = 0.1 * out.age + out.dose * (out.ward == "b") + 0.1 * rng.normal(size=n)
    return out


def test_a_formula_names_response_and_terms(table):
    model = pb.PriorBoostRegressor(4, formula="y ~ np.log(age) + C(ward) * dose").fit(table)
    names = ["np.log(age)", "C(ward)[T.b]", "C(ward)[T.c]", "dose", "C(ward)[T.b]:dose",
             "C(ward)[T.c]:dose"]  # fmt: skip
    assert sorted(model.get_feature_names_out()) == sorted(names)
    by_name = dict(zip(model.get_feature_names_out(), model.coef_, strict=True))
    assert by_name["C(ward)[T.b]:dose"] == pytest.approx(1.0, abs=0.1)
    assert model.feature_names_in_.tolist() == ["age", "dose", "ward"]
    assert model.score(table, table.y) > 0.95


def test_new_rows_are_encoded_as_in_training(table):
    """Rows of one ward and another mean: what was learnt from the training table stays."""
    model = pb.PriorBoostRegressor(4, formula="y ~ scale(age) + C(ward)").fit(table)
    new = table[table.ward == "c"].head(5)
    everything = pd.Series(model.predict(table), index=table.index)
    assert np.allclose(model.predict(new), everything[new.index])
    again = pickle.loads(pickle.dumps(model))
    assert again.predict(new).tolist() == model.predict(new).tolist()


def test_text_labels_and_other_sides(table):
    table = table.assign(died=np.where(table.y > table.y.mean(), "yes", "no"))
    model = pb.PriorBoostClassifier(8, formula="died ~ age").fit(table)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.to_model().label == "died"
    twice = pb.PriorBoostRegressor(4, formula="I(2 * y) ~ age").fit(table)
    once = pb.PriorBoostRegressor(4, formula="~ age").fit(table, table.y)
    assert np.allclose(twice.coef_, 2 * once.coef_)
    oracle = pb.InMemoryOracle(table.y, 4)
    asked = pb.PriorBoostRegressor(4, formula="y ~ age").fit(table, oracle=oracle)
    assert np.allclose(asked.coef_, once.coef_)


def test_polars_works_as_pandas_does(table):
    pl = pytest.importorskip("polars")
    how = {"formula": "y ~ age + C(ward)"}
    model = pb.PriorBoostRegressor(4, **how).fit(table)
    other = pb.PriorBoostRegressor(4, **how).fit(pl.from_pandas(table))
    assert other.coef_.tolist() == model.coef_.tolist()


def test_no_intercept_is_said_twice(table):
    model = pb.PriorBoostRegressor(4, formula="y ~ age + ward - 1", fit_intercept=False).fit(table)
    assert model.get_feature_names_out().tolist() == ["age", "ward[a]", "ward[b]", "ward[c]"]
    for how in ({"formula": "y ~ age - 1"}, {"formula": "y ~ age", "fit_intercept": False}):
        with pytest.raises(ValueError, match="contradict each other"):
            pb.PriorBoostRegressor(4, **how).fit(table)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("y ~ s(age)", r"no smooth terms s\(...\) in formulas; model='smooth' without a formula"),
        ("y ~ size", "cannot be evaluated: .*size.*the columns of X are age, dose"),
        ("y ~ (age", "cannot be read"),
        ("nobody ~ age", "cannot be evaluated: .*nobody"),
        ("y ~ 1", "no term to learn a weight for"),
        ("ward + age ~ dose", "left side makes [2-9] columns"),
    ],
)
def test_formulas_that_cannot_be_used(table, formula, message):
    with pytest.raises(ValueError, match=message):
        pb.PriorBoostRegressor(4, formula=formula).fit(table)


def test_missing_cells_and_arrays_are_refused(table):
    gap = table.assign(age=table.age.where(table.index > 3))
    with pytest.raises(ValueError, match="missing cells must be filled first"):
        pb.PriorBoostRegressor(4, formula="y ~ age").fit(gap)
    with pytest.raises(ValueError, match="X is no data frame"):
        pb.PriorBoostRegressor(4, formula="y ~ age").fit(table[["age"]].to_numpy())
    with pytest.raises(ValueError, match="requires y"):
        pb.PriorBoostRegressor(4, formula="age").fit(table)


def test_the_file_has_the_columns_and_says_so(table, tmp_path):
    model = pb.PriorBoostRegressor(4, formula="y ~ age + C(ward)").fit(table)
    with pytest.warns(UserWarning, match="not the formula"):
        model.save(tmp_path / "m.json")
    columns = pb.load_model(tmp_path / "m.json").columns
    assert columns == ["age", "C(ward)[T.b]", "C(ward)[T.c]"]


def test_levels_of_a_formula_share_a_ridge_as_those_of_a_table(table):
    rare = table.assign(ward=table.ward.where(table.index > 40, "d"))
    plain = pb.PriorBoostRegressor(4).fit(rare[["dose", "ward"]], table.y)
    model = pb.PriorBoostRegressor(4, formula="y ~ dose + ward").fit(rare)
    assert np.allclose(model.coef_, plain.coef_, rtol=1e-9)
    formula = "y ~ dose + ward + np.log(age) + ward:C(age > 50) + ward:dose + bs(age, df=4)"
    encoding = pb.PriorBoostRegressor(4, formula=formula).fit(table)._fitted.encoding
    category = dict(zip(encoding.columns, encoding.category_of(), strict=True))
    assert category["dose"] == category["np.log(age)"] == category["ward[T.b]:dose"] == 0
    assert category["bs(age, df=4)[1]"] == 0
    assert 0 < category["ward[T.b]"] == category["ward[T.c]"]
    mixed = {v for name, v in category.items() if "age > 50" in name}
    assert len(mixed) == 1
    assert mixed.isdisjoint({0, category["ward[T.b]"]})
