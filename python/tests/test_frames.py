"""Data frames as people have them: the program's encoding, here and in the model file."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import priorboost as pb

pd = pytest.importorskip("pandas")


def patients(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "patient": np.arange(90001, 90001 + n),
            "admitted": pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 360, n), "D"),
            "age": rng.integers(20, 90, n).astype(float),
            "dose": rng.uniform(1, 5, n).round(2),
            "ward": rng.choice(["A", "B", "Ç"], n),
            "smoker": rng.random(n) < 0.3,
        }
    )
    eta = (table.age - 60) / 10 - 0.5 * (table.dose - 3) + table.smoker
    table["died"] = np.where(rng.random(n) < 1 / (1 + np.exp(-eta)), "yes", "no")
    table.loc[rng.random(n) < 0.02, "age"] = np.nan
    return table


HOW = {"min_bag": 10, "impute": "mean", "date": {"admitted": "days+month"}}
COLUMNS = [
    "admitted:days",
    *(f"admitted:month={m}" for m in range(2, 13)),
    "age",
    "dose",
    "ward=B",
    "ward=Ç",
    "smoker=True",
]


@pytest.fixture(scope="module")
def fitted():
    table = patients()
    with pytest.warns(UserWarning, match="'patient' all differ, like ids; it is left out") as seen:
        model = pb.PriorBoostClassifier(**HOW).fit(table, "died")
    assert {w.filename for w in seen} == {__file__}
    return table, model


def test_every_type_becomes_what_the_program_makes_of_it(fitted):
    table, model = fitted
    assert model.get_feature_names_out().tolist() == COLUMNS
    assert model.feature_names_in_.tolist() == ["admitted", "age", "dose", "ward", "smoker"]
    assert model.n_features_in_ == 5
    assert model.coef_.shape == (1, len(COLUMNS))
    assert model.score(table, table.died) > 0.75
    assert model.predict(table[["smoker", "ward", "dose", "age", "admitted"]]).tolist() == (
        model.predict(table).tolist()
    )


@pytest.mark.parametrize("winsorize", [None, 1.0])
def test_program_and_python_give_the_same_model_and_predictions(cli, tmp_path, winsorize):
    """On one CSV file: a model that either has trained, used by either."""
    patients().to_csv(tmp_path / "d.csv", index=False)
    patients(500, seed=1).to_csv(tmp_path / "new.csv", index=False)
    table, new = (pd.read_csv(tmp_path / name) for name in ("d.csv", "new.csv"))
    limit = [] if winsorize is None else ["--winsorize", winsorize]
    cli("train", "--data", tmp_path / "d.csv", "--label", "died", "--positive", "yes", "--family",
        "logistic", "--min-bag", 10, "--impute", "mean", "--date", "admitted=days+month",
        *limit, "--out", tmp_path / "theirs.json")  # fmt: skip
    with pytest.warns(UserWarning, match="like ids"):
        model = pb.PriorBoostClassifier(**HOW, winsorize=winsorize).fit(table, "died")
    model.save(tmp_path / "ours.json")
    theirs, ours = (pb.load_model(tmp_path / f"{who}.json") for who in ("theirs", "ours"))
    assert ours.features == theirs.features
    assert ours.columns == theirs.columns == COLUMNS
    assert (ours.label, ours.positive) == (theirs.label, theirs.positive) == ("died", "yes")
    assert ours.coef.tolist() == theirs.coef.tolist()
    for path in ("ours.json", "theirs.json"):
        said = cli("predict", "--model", tmp_path / path, "--data", tmp_path / "new.csv")
        for predicted in (
            model.predict_proba(new)[:, 1],
            ours.predict(new),
            theirs.predict(new),
            theirs.to_estimator().predict_proba(new)[:, 1],
        ):
            assert predicted.tolist() == said["prediction"]


@pytest.mark.parametrize("package", ["polars", "pyarrow", "parquet", "feather"])
def test_the_package_of_a_data_frame_does_not_matter(fitted, tmp_path, package):
    table, model = fitted
    pa = pytest.importorskip("pyarrow")
    if package == "polars":
        other = pytest.importorskip("polars").from_pandas(table)
    elif package == "pyarrow":
        other = pa.Table.from_pandas(table.assign(ward=table.ward.astype("category")))
    else:
        other = str(tmp_path / f"d.{package}")
        getattr(table, f"to_{package}")(other)
    with pytest.warns(UserWarning, match="like ids"):
        again = pb.PriorBoostClassifier(**HOW).fit(other, "died")
    assert again.coef_.tolist() == model.coef_.tolist()
    assert again.classes_.tolist() == ["no", "yes"]
    assert model.predict_proba(other).tolist() == model.predict_proba(table).tolist()


def test_categories_of_pandas():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"code": rng.integers(1, 4, 400), "x": rng.normal(size=400)})
    y = (table.code == 2) + table.x
    coded = table.assign(code=table.code.astype("category"))
    model = pb.PriorBoostRegressor(4).fit(coded, y)
    assert model.get_feature_names_out().tolist() == ["code=2", "code=3", "x"]
    # Numbers are the codes that training had, as they are in a file.
    assert model.predict(table).tolist() == model.predict(coded).tolist()
    assert model.predict(table.astype(float)).tolist() == model.predict(coded).tolist()
    cut = table.assign(code=pd.cut(table.code, [0, 2, 3]))
    names = pb.PriorBoostRegressor(4).fit(cut, y).get_feature_names_out().tolist()
    assert names == ["code=(2, 3]", "x"]


def test_rare_categories_share_a_weight(fitted):
    rng = np.random.default_rng(0)
    city = [f"c{int(v)}" for v in rng.pareto(1.0, 4000) * 10]
    table = pd.DataFrame({"city": city, "x": rng.normal(size=4000)})
    with pytest.warns(UserWarning, match="'city' has many categories: .* share one"):
        model = pb.PriorBoostRegressor(4).fit(table, table.x)
    assert "city=(other)" in model.get_feature_names_out()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(table.assign(city="nowhere"))


def test_a_category_that_training_had_not(fitted):
    table, model = fitted
    new = table.head(20).assign(ward="Z")
    with pytest.warns(UserWarning, match="20 cells .* 'Z' in column 'ward'") as seen:
        predicted = model.predict_proba(new)
    assert [w.filename for w in seen] == [__file__]
    assert predicted.tolist() == model.predict_proba(new.assign(ward="A")).tolist()
    with pytest.warns(UserWarning, match="like ids"):
        strict = pb.PriorBoostClassifier(**HOW, unseen="error").fit(table, "died")
    with pytest.raises(ValueError, match="'ward' is 'Z', which was not in the training table"):
        strict.predict(new)


def test_truth_values_are_the_same_in_every_spelling(fitted):
    table, model = fitted
    small = table.head(50)
    expected = model.predict_proba(small).tolist()
    for change in (str, lambda v: str(v).lower(), lambda v: str(v).upper()):
        other = small.assign(smoker=small.smoker.map(change))
        assert model.predict_proba(other).tolist() == expected
    numbers = pb.PriorBoostRegressor(4).fit(pd.DataFrame({"a": np.tile([0.0, 1, 1, 0], 30)}),
                                            np.tile([0.0, 1, 1, 0], 30))  # fmt: skip
    truth = pd.DataFrame({"a": [True, False]})
    assert numbers.predict(truth).tolist() == numbers.predict(truth.astype(float)).tolist()


def small(**columns):
    n = 60
    rng = np.random.default_rng(0)
    return pd.DataFrame({"x": rng.normal(size=n), **columns}), rng.normal(size=n)


def case(message, how=None, **columns):
    return pytest.param(columns, how or {}, message, id=message[:30])


WORDS = [str(v) for v in np.linspace(0, 1, 60)]
REFUSED = [
    case("'when' holds dates such as '2023-01-01'; say date=",
         when=pd.Timestamp("2023-01-01") + pd.to_timedelta(np.arange(60) // 2, "D")),
    case("'when' holds dates", when=["2023-01-01", "2023-01-02"] * 30),
    case(r"X: row 3: column 'a' is missing; .* or use impute='mean'", a=[1.0, 2, np.nan] * 20),
    case(r"X: row 3: column 'a' is missing", a=["p", "q", None] * 20),
    case("cells such as 'unknown' count as missing", a=["unknown", *WORDS[1:]]),
    case(r"'a' is 'much', but other cells are numbers; .*X.replace\('much', None\).*"
         r"X\['a'\].astype\('category'\)", a=["much", *WORDS[1:]]),
    case("'a' is 'inf'; it must be a finite number", a=[np.inf, *WORDS[1:]]),
    case("none of them in 20 rows or more; .* leave it out", a=[f"c{i // 2}" for i in range(60)],
         how={"most": 10}),
    case("of type list; it must be a number", a=[[1], [2]] * 30),
    case("of type Timedelta", a=pd.to_timedelta(np.arange(60) // 2, "D")),
    case("times with a time zone; remove it",
         a=pd.Timestamp("2023-01-01", tz="UTC") + pd.to_timedelta(np.arange(60), "D")),
    case("with a NUL", a=["p\0", "q"] * 30),
    case("date names 'day'; the columns of X are x", how={"date": "day"}),
    case("'century' is not a part of a date", how={"date": {"a": "century"}},
         a=["2023-01-01", "2023-01-02"] * 30),
    case("column 'a' is not a date", how={"date": "a"}, a=["p", "q"] * 30),
    case("keep names 'id'; the columns of X are x", how={"keep": ["id"]}),
    case("date is 5; it must be the name of a column", how={"date": 5}),
    case("impute is 'median'; it must be 'mean' or None", how={"impute": "median"}),
    case("unseen is 'ignore'; it must be", how={"unseen": "ignore"}),
]  # fmt: skip


@pytest.mark.parametrize(("columns", "how", "message"), REFUSED)
def test_what_cannot_be_used_is_refused_with_a_remedy(columns, how, message, monkeypatch):
    from priorboost import encoding

    how = dict(how)
    monkeypatch.setattr(encoding, "_MOST_LEVELS", how.pop("most", 100))
    table, y = small(**columns)
    with pytest.raises(ValueError, match=message) as caught:
        pb.PriorBoostRegressor(4, **how).fit(table, y)
    assert "--" not in str(caught.value)  # the words of the program's options


def test_words_for_missing_numbers_are_imputed_with_a_warning():
    table, y = small(a=["unknown", *WORDS[1:]])
    with pytest.warns(UserWarning, match="'a': 1 cells such as 'unknown' count as missing"):
        model = pb.PriorBoostRegressor(4, impute="mean").fit(table, y)
    assert model.get_feature_names_out().tolist() == ["x", "a"]
    assert model.to_model().features[1].fill == pytest.approx(np.linspace(0, 1, 60)[1:].mean())


def test_decimal_commas_are_numbers_with_a_warning():
    table, y = small(a=[text.replace(".", ",") for text in WORDS])
    with pytest.warns(UserWarning, match="'a': its numbers have a decimal comma"):
        model = pb.PriorBoostRegressor(4).fit(table, y)
    assert model.get_feature_names_out().tolist() == ["x", "a"]


def test_ids_and_empty_columns_are_left_out_unless_they_are_kept():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=200), "id": np.arange(200), "none": np.nan})
    with pytest.warns(UserWarning, match="'none' is missing in every row; it is left out"):
        model = pb.PriorBoostRegressor(4).fit(table, table.x)
    assert model.feature_names_in_.tolist() == ["x"]
    table = table.drop(columns="none")
    kept = pb.PriorBoostRegressor(4, keep="id").fit(table, table.x)
    assert kept.feature_names_in_.tolist() == ["x", "id"]
    with pytest.raises(ValueError, match="no column is left to learn from; the values of column"):
        pb.PriorBoostRegressor(4).fit(table[["id"]], table.x)


def test_numbers_alone_stay_as_they_were():
    """Nothing to encode: scikit-learn's own rules about names hold."""
    table, y = small(a=np.linspace(0, 1, 60))
    model = pb.PriorBoostRegressor(4).fit(table, y)
    assert model.coef_.tolist() == pb.PriorBoostRegressor(4).fit(table.to_numpy(), y).coef_.tolist()
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(table[["a", "x"]])


@pytest.mark.parametrize("kind", ["Int64", "Float32", "int8", "Sparse[float64]"])
def test_numbers_of_every_type(kind):
    values = np.tile([0.0, 1.0, 2.0], 20)
    table, y = small(
        a=pd.array(values).astype(kind) if "S" in kind else pd.Series(values, dtype=kind)
    )
    model = pb.PriorBoostRegressor(4).fit(table, y)
    expected = pb.PriorBoostRegressor(4).fit(table.astype(float), y)
    assert np.allclose(model.coef_, expected.coef_)
    if kind[0].isupper() and kind[0] != "S":
        gap = table.assign(a=table.a.where(table.index > 0))
        with pytest.raises(ValueError, match="'a' is missing"):
            pb.PriorBoostRegressor(4).fit(gap, y)


def test_a_table_of_one_value():
    table, y = small(a="p")
    assert pb.PriorBoostRegressor(4).fit(table, y).coef_.shape == (1,)
    with pytest.raises(ValueError, match="every column has one value only"):
        pb.PriorBoostRegressor(4).fit(table[["a"]], y)


def test_what_is_no_table(fitted):
    table, model = fitted
    for wrong in ({"age": [1]}, table.iloc[0]):
        with pytest.raises(ValueError, match="it must be a data frame of pandas, polars or"):
            model.predict(wrong)


def test_labels_that_cannot_be_used(fitted):
    table, _ = fitted
    X = table[["dose", "ward"]]
    with pytest.raises(ValueError, match="y holds 'no'; labels must be numbers"):
        pb.PriorBoostRegressor(4).fit(X, table.died)
    third = table.died.where(table.index > 0, "maybe")
    with pytest.raises(ValueError, match="target is multiclass: 'maybe' in 1 rows, 'no' in"):
        pb.PriorBoost(LogisticRegression()).fit(X[["dose"]].to_numpy(), third)
    gap = table.died.where(table.index != 2, None)
    with pytest.raises(ValueError, match="y is missing in row 2"):
        pb.PriorBoostClassifier(4).fit(X, gap)


def test_columns_without_names():
    table, y = small(a=np.linspace(0, 1, 60))
    plain = table.set_axis([0, 1], axis=1)
    assert pb.PriorBoostRegressor(4).fit(plain, y).n_features_in_ == 2
    with pytest.raises(ValueError, match="NaN"):
        pb.PriorBoostRegressor(4).fit(plain.mask(plain > 0.99), y)
    with pytest.raises(ValueError, match=r"a column of X is named 0; .* names that are texts"):
        pb.PriorBoostRegressor(4).fit(plain.assign(b="p"), y)
    with pytest.raises(ValueError, match="two columns of X are named 'x'"):
        pb.PriorBoostRegressor(4).fit(table.set_axis(["x", "x"], axis=1), y)


def test_columns_that_predictions_lack_are_named(fitted):
    table, model = fitted
    with pytest.raises(ValueError, match="no column 'ward', which the model was fitted on; its"):
        model.predict(table.drop(columns="ward"))
    with pytest.raises(ValueError, match=r"shape \(2, 3\); the model has 17 columns"):
        model.predict(np.ones((2, 3)))
    encoded = np.zeros((2, 17))
    assert model.predict_proba(encoded).shape == (2, 2)


def test_parameters_for_data_frames_need_one():
    X = np.random.default_rng(0).normal(size=(100, 2))
    for how in ({"impute": "mean"}, {"date": "a"}, {"keep": ["a"]}):
        with pytest.raises(ValueError, match="but X is no data frame"):
            pb.PriorBoostRegressor(4, **how).fit(X, X[:, 0])


def test_columns_have_roles_by_name(fitted):
    table, _ = fitted
    table = table.assign(w=1.0, log_days=0.1).drop(columns="admitted").fillna({"age": 50.0})
    roles = {"ids": "patient", "weight": "w", "offset": "log_days"}
    model = pb.PriorBoostClassifier(10).fit(table, "died", **roles)
    assert model.feature_names_in_.tolist() == ["age", "dose", "ward", "smoker"]
    X = table[["age", "dose", "ward", "smoker"]]
    again = pb.PriorBoostClassifier(10).fit(
        X, table.died, ids=table.patient, weight=table.w, offset=table.log_days
    )
    assert again.coef_.tolist() == model.coef_.tolist()
    # The offset's name is in the model; predictions take it from the table.
    assert model.to_model().offset == "log_days"
    expected = again.predict_proba(X, offset=table.log_days)
    assert model.predict_proba(table).tolist() == expected.tolist()
    assert model.to_model().predict(table).tolist() == expected[:, 1].tolist()
    for roles, message in (
        ({"y": "alive"}, "y is 'alive'; the columns of X are patient, age"),
        ({"y": "died", "ids": "nobody"}, "ids is 'nobody'; the columns"),
    ):
        with pytest.raises(ValueError, match=message):
            pb.PriorBoostClassifier(10).fit(table, **roles)
    with pytest.raises(ValueError, match="y is 'died', the name of a column, but X is no data"):
        pb.PriorBoostClassifier(10).fit(X[["age"]].to_numpy(), "died")
    with pytest.raises(ValueError, match="offset is 'log_days'; the columns of X are age"):
        model.predict(X)


def test_a_path_that_is_no_table():
    with pytest.raises(ValueError, match=r"'d.csv'; a path must end in .parquet.*read_csv"):
        pb.PriorBoostRegressor(4).fit("d.csv", "y")


def test_scikit_learn_s_tools_take_data_frames():
    from sklearn.base import clone
    from sklearn.model_selection import cross_val_score

    table = patients(2000).drop(columns="patient")
    model = pb.PriorBoostClassifier(**HOW)
    scores = cross_val_score(clone(model), table.drop(columns="died"), table.died, cv=3)
    assert scores.min() > 0.7


def test_a_prior_of_a_data_frame_sees_the_data_frame(fitted, tmp_path):
    """Its features may be other ones than those that are fitted."""
    table, _ = fitted
    prior = pb.PriorBoostClassifier(10).fit(table[["dose", "ward"]], table.died)
    prior.save(tmp_path / "m.json")
    for given in (prior, tmp_path / "m.json"):
        with pytest.warns(UserWarning, match="like ids"):
            again = pb.PriorBoostClassifier(**HOW, prior=given, method="paper", rounds=2).fit(
                table, "died"
            )
        assert again.get_feature_names_out().tolist() == COLUMNS


def test_labels_that_are_truth_values_are_named_in_the_file(cli, tmp_path):
    table = patients(1000).drop(columns=["patient", "admitted"]).fillna({"age": 50.0})
    table["died"] = table.died == "yes"
    table.to_csv(tmp_path / "d.csv", index=False)
    model = pb.PriorBoostClassifier(10).fit(table, "died")
    model.save(tmp_path / "m.json")
    assert pb.load_model(tmp_path / "m.json").positive == "True"
    said = cli("evaluate", "--model", tmp_path / "m.json", "--data", tmp_path / "d.csv")
    assert said["rows"] == 1000


def test_plans_take_data_frames(fitted):
    table, model = fitted
    X = table.drop(columns="died")
    rules = {"family": "logistic", "epsilon": 1, "bounds": (0, 1)}
    with pytest.warns(UserWarning, match="like ids"):
        found = pb.plan(X, 10, date={"admitted": "days+month"}, **rules)
    assert len(found.se) == len(COLUMNS)
    expected = pb.plan(model.to_model().encode(X), 10, **rules)
    assert found.best == expected.best
    with pytest.warns(UserWarning, match="like ids"):
        costs = pb.plan_costs(X, [10, 20], date="admitted", **rules)
    assert [cost.min_bag for cost in costs] == [10, 20]
    with pytest.raises(ValueError, match="'admitted' holds dates"):
        pb.plan(X, 10, **rules)
