"""The same options give the same bits as the command line."""

import numpy as np
import pytest
from conftest import KINDS, make_table, write_csv

import priorboost as pb

CASES = [
    ("linear", ["--min-bag", 4, "--algorithm", "priorboost"],
     {"min_bag": 4, "algorithm": "priorboost"}),
    ("linear", ["--min-bag", 4, "--rounds", 8, "--threads", 2],
     {"min_bag": 4, "rounds": 8, "n_jobs": 2}),
    ("linear", ["--min-bag", 1, "--algorithm", "oneshot", "--l2", 0, "--no-intercept"],
     {"min_bag": 1, "algorithm": "oneshot", "l2": 0.0, "fit_intercept": False}),
    ("linear", ["--min-bag", 3, "--algorithm", "pbprefix", "--schedule", "geometric",
                "--rounds", 4, "--seed", 11],
     {"min_bag": 3, "algorithm": "pbprefix", "schedule": "geometric", "rounds": 4,
      "random_state": 11}),
    ("linear", ["--min-bag", 5, "--standardize", "--rounds", 2, "--bag-size", 9],
     {"min_bag": 5, "standardize": True, "rounds": 2, "bag_size": 9}),
    ("linear", ["--min-bag", 5, "--standardize", "--no-intercept", "--rounds", 2],
     {"min_bag": 5, "standardize": True, "fit_intercept": False, "rounds": 2}),
    ("linear", ["--min-bag", 8, "--epsilon", "0.3", "--bounds", "-5,5", "--clamp", "--seed", 3,
                "--rounds", 4],
     {"min_bag": 8, "epsilon": 0.3, "bounds": (-5, 5), "clamp": True, "random_state": 3,
      "rounds": 4}),
    ("logistic", ["--min-bag", 4, "--rounds", 4], {"min_bag": 4, "rounds": 4}),
    ("logistic", ["--min-bag", 16, "--epsilon", 1, "--bounds", "0,1", "--seed", 1, "--rounds", 2],
     {"min_bag": 16, "epsilon": 1, "random_state": 1, "rounds": 2}),
    ("logistic", ["--min-bag", 8, "--round", "--seed", 1, "--rounds", 4, "--l2", 10],
     {"min_bag": 8, "round_answers": True, "random_state": 1, "rounds": 4, "l2": 10}),
    ("poisson", ["--min-bag", 4, "--bags", "random", "--rounds", 4],
     {"min_bag": 4, "bags": "random", "rounds": 4}),
    ("poisson", ["--min-bag", 16, "--rounds", 2, "--epsilon", "9", "--bounds", "0,9", "--step", 1,
                 "--seed", 5, "--clamp"],
     {"min_bag": 16, "rounds": 2, "epsilon": "9", "bounds": (0, 9), "step": 1, "random_state": 5,
      "clamp": True}),
    ("linear", ["--min-bag", 4, "--method", "paper"], {"min_bag": 4, "method": "paper"}),
    ("poisson", ["--min-bag", 4, "--method", "paper", "--rounds", 4, "--bag-size", 6],
     {"min_bag": 4, "method": "paper", "rounds": 4, "bag_size": 6}),
    ("logistic", ["--min-bag", 4, "--method", "paper", "--epsilon", 1, "--bounds", "0,1",
                  "--seed", 2],
     {"min_bag": 4, "method": "paper", "epsilon": 1, "random_state": 2}),
    ("logistic", ["--min-bag", 4, "--bag-size", 9], {"min_bag": 4, "bag_size": 9}),
    ("poisson", ["--min-bag", 4, "--bags", "hybrid"], {"min_bag": 4, "bags": "hybrid"}),
    ("linear", ["--min-bag", 4, "--schedule", "geometric", "--rounds", 3],
     {"min_bag": 4, "schedule": "geometric", "rounds": 3}),
    ("logistic", ["--min-bag", 2, "--epsilon", 2, "--bounds", "0,1", "--seed", 1,
                  "--schedule", "equal"],
     {"min_bag": 2, "epsilon": 2, "random_state": 1, "schedule": "equal"}),
    ("logistic", ["--min-bag", 2, "--epsilon", 2, "--bounds", "0,1", "--seed", 1,
                  "--bags", "prior"],
     {"min_bag": 2, "epsilon": 2, "random_state": 1, "bags": "prior"}),
    ("linear", ["--min-bag", 4, "--estimator", "cv"], {"min_bag": 4, "estimator": "cv"}),
    ("linear", ["--min-bag", 4], {"min_bag": 4}),
    ("logistic", ["--min-bag", 4, "--auto"], {"min_bag": 4}),
    ("poisson", ["--min-bag", 4, "--standardize"], {"min_bag": 4, "standardize": True}),
    ("logistic", ["--min-bag", 2, "--epsilon", 2, "--bounds", "0,1", "--seed", 1],
     {"min_bag": 2, "epsilon": 2, "random_state": 1}),
    ("linear", ["--min-bag", 8, "--estimator", "aggregate", "--bags", "features", "--standardize",
                "--rounds", 1, "--covariance", "sandwich"],
     {"min_bag": 8, "estimator": "aggregate", "bags": "features", "standardize": True, "rounds": 1,
      "covariance": "sandwich"}),
    ("logistic", ["--min-bag", 8, "--estimator", "aggregate", "--bags", "hybrid", "--rounds", 4,
                  "--l2", "cv", "--seed", 4],
     {"min_bag": 8, "estimator": "aggregate", "bags": "hybrid", "rounds": 4, "l2": "cv",
      "random_state": 4}),
    ("linear", ["--min-bag", 8, "--estimator", "interpolated", "--rho", 0.25],
     {"min_bag": 8, "estimator": "interpolated", "rho": 0.25}),
    ("linear", ["--min-bag", 4, "--rounds", 2, "--winsorize", 1.5],
     {"min_bag": 4, "rounds": 2, "winsorize": 1.5}),
    ("logistic", ["--min-bag", 4, "--rounds", 2, "--winsorize", 1, "--standardize"],
     {"min_bag": 4, "rounds": 2, "winsorize": 1, "standardize": True}),
]  # fmt: skip


@pytest.mark.parametrize(("family", "options", "parameters"), CASES)
def test_training_has_the_bits_of_the_command_line(cli, tmp_path, family, options, parameters):
    X, y = make_table(family, n=6000 if "--epsilon" in options else 2000)
    write_csv(tmp_path / "d.csv", X, y)
    report = cli("train", "--data", tmp_path / "d.csv", "--label", "y", "--family", family,
                 *options, "--out", tmp_path / "m.json")  # fmt: skip
    model = KINDS[family](**parameters).fit(X, y)
    assert model.method_ == report["method"]
    assert model.simulated_ == report["simulated"]
    assert model.path_[-1, :-1].tolist() == report["theta"]
    assert model.path_[-1, -1] == report["intercept"]
    assert model.history_["bags"].tolist() == [h["bags"] for h in report["history"]]
    theirs = pb.load_model(tmp_path / "m.json")
    assert model.training_ == theirs.training
    if theirs.covariance is None:
        assert model.covariance_ is None
    else:
        assert model.covariance_.tolist() == theirs.covariance.tolist()


def test_ids_and_a_prior_have_the_bits_of_the_command_line(cli, tmp_path):
    X, y = make_table("linear")
    ids = [f"p{i * 7919 % 2003}" for i in range(len(X))]
    write_csv(tmp_path / "d.csv", X, y, id=ids)
    train = ["train", "--data", tmp_path / "d.csv", "--label", "y", "--family", "linear",
             "--min-bag", 4, "--id", "id"]  # fmt: skip
    cli(*train, "--rounds", 2, "--out", tmp_path / "prior.json")
    report = cli(*train, "--rounds", 4, "--prior", tmp_path / "prior.json")
    model = pb.PriorBoostRegressor(min_bag=4, rounds=4, prior=tmp_path / "prior.json")
    model.fit(X, y, ids=ids)
    assert model.coef_.tolist() == report["theta"]
    order = np.random.default_rng(1).permutation(len(X))
    again = model.fit(X[order], y[order], ids=[ids[i] for i in order])
    assert np.allclose(again.coef_, report["theta"], rtol=1e-10)


def test_one_row_a_unit_has_the_bits_of_the_command_line(cli, tmp_path):
    X, y = make_table("linear")
    ids = [f"p{i * 7919 % 2003}" for i in range(len(X))]
    who = np.random.default_rng(3).integers(0, 900, len(X))
    write_csv(tmp_path / "d.csv", X, y, id=ids, who=who)
    train = ["train", "--data", tmp_path / "d.csv", "--label", "y", "--family", "linear",
             "--min-bag", 4, "--rounds", 4, "--unit", "who", "--standardize"]  # fmt: skip
    model = pb.PriorBoostRegressor(min_bag=4, rounds=4, standardize=True)
    report = cli(*train, "--id", "id")
    model.fit(X, y, ids=ids, unit=who)
    assert model.coef_.tolist() == report["theta"]
    assert model.history_["rows"].sum() == len(np.unique(who))
    report = cli(*train, "--exclude", "id")
    assert model.fit(X, y, unit=who).coef_.tolist() == report["theta"]


@pytest.mark.parametrize("estimator", ["event", "aggregate"])
def test_weight_and_offset_have_the_bits_of_the_command_line(cli, tmp_path, estimator):
    X, y = make_table("poisson")
    rng = np.random.default_rng(5)
    weight, offset = rng.integers(1, 9, len(X)) / 4, rng.integers(-4, 4, len(X)) / 8
    write_csv(tmp_path / "d.csv", X, y, w=weight, o=offset)
    report = cli("train", "--data", tmp_path / "d.csv", "--label", "y", "--family", "poisson",
                 "--min-bag", 4, "--rounds", 2, "--weight", "w", "--offset", "o",
                 "--estimator", estimator)  # fmt: skip
    model = pb.PriorBoostPoissonRegressor(min_bag=4, rounds=2, estimator=estimator)
    model.fit(X, y, weight=weight, offset=offset)
    assert model.coef_.tolist() == report["theta"]
    assert model.fit(X, y, offset=offset).coef_.tolist() != report["theta"]


@pytest.mark.parametrize("family", KINDS)
def test_given_bags_have_the_bits_of_the_command_line(cli, tmp_path, family):
    X, y = make_table(family)
    bag = np.random.default_rng(2).integers(0, 300, len(X))
    names = [f"clinic {b}" for b in bag]
    write_csv(tmp_path / "d.csv", X, np.zeros(len(X)), clinic=names)
    with (tmp_path / "a.csv").open("w") as file:
        file.write("clinic,count,mean\n")
        for b in np.unique(bag):
            file.write(f"clinic {b},{(bag == b).sum()},{float(y[bag == b].mean())!r}\n")
    report = cli("train", "--data", tmp_path / "d.csv", "--bag", "clinic", "--exclude", "y",
                 "--answers", tmp_path / "a.csv", "--family", family,
                 "--out", tmp_path / "m.json")  # fmt: skip
    means = {f"clinic {b}": y[bag == b].mean() for b in np.unique(bag)}
    model = KINDS[family]().fit(X, bag=names, answers=means)
    assert model.path_[-1, :-1].tolist() == report["theta"]
    theirs = pb.load_model(tmp_path / "m.json")
    assert model.covariance_.tolist() == theirs.covariance.tolist()
    assert model.training_ == theirs.training


def test_a_winsorized_model_file_is_read_alike(cli, tmp_path):
    X, y = make_table("linear")
    write_csv(tmp_path / "d.csv", X, y)
    model = pb.PriorBoostRegressor(min_bag=4, rounds=2, winsorize=1.0).fit(X, y)
    model.save(tmp_path / "m.json")
    predicted = cli("predict", "--model", tmp_path / "m.json", "--data", tmp_path / "d.csv")
    assert predicted["prediction"] == model.predict(X).tolist()
    again = pb.load_model(tmp_path / "m.json")
    assert again.predict(X).tolist() == model.predict(X).tolist()
    assert again.to_estimator().predict(X).tolist() == model.predict(X).tolist()


def test_the_command_line_reads_our_models_and_we_read_its(cli, tmp_path):
    X, y = make_table("logistic")
    write_csv(tmp_path / "d.csv", X, y)
    model = pb.PriorBoostClassifier(min_bag=4, rounds=2).fit(X, y)
    model.save(tmp_path / "ours.json")
    predicted = cli("predict", "--model", tmp_path / "ours.json", "--data", tmp_path / "d.csv")
    assert predicted["prediction"] == model.predict_proba(X)[:, 1].tolist()
    cli("train", "--data", tmp_path / "d.csv", "--label", "y", "--family", "logistic",
        "--min-bag", 4, "--rounds", 2, "--out", tmp_path / "theirs.json")  # fmt: skip
    theirs = pb.load_model(tmp_path / "theirs.json")
    assert theirs.coef.tolist() == model.coef_[0].tolist()
    assert theirs.to_estimator().predict(X).tolist() == model.predict(X).tolist()
    ours = pb.load_model(tmp_path / "ours.json")
    assert ours.training == theirs.training


def test_categories_of_a_model_file(cli, tmp_path):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"age": rng.integers(20, 80, 400).astype(float), "sex": rng.choice(["f", "m"], 400)}
    )
    table["y"] = 0.1 * table.age + (table.sex == "m")
    table.to_csv(tmp_path / "d.csv", index=False)
    cli("train", "--data", tmp_path / "d.csv", "--label", "y", "--family", "linear",
        "--min-bag", 4, "--out", tmp_path / "m.json")  # fmt: skip
    predicted = cli("predict", "--model", tmp_path / "m.json", "--data", tmp_path / "d.csv")
    model = pb.load_model(tmp_path / "m.json")
    assert model.columns == ["age", "sex=m"]
    assert model.predict(table).tolist() == predicted["prediction"]
    assert (
        model.predict(table.assign(sex="x")).tolist()
        == model.predict(table.assign(sex="f")).tolist()
    )
    model.unseen = "error"
    with pytest.raises(
        ValueError, match=r"'sex' is 'x', which was not in the training table; .* 'f', 'm'"
    ):
        model.predict(table.assign(sex="x"))


def test_dates_and_rare_categories_of_a_model_file(cli, tmp_path):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    n = 4000
    table = pd.DataFrame(
        {
            "when": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 9e7, n), "s"),
            "city": [f"c{int(v)}" for v in rng.pareto(1.0, n) * 10],
        }
    )
    table["y"] = (table.when.dt.month == 7) + (table.city == "c3") + rng.normal(size=n)
    table.to_csv(tmp_path / "d.csv", index=False)
    parts = "days+year+month+weekday+hour"
    cli("train", "--data", tmp_path / "d.csv", "--label", "y", "--family", "linear", "--min-bag",
        4, "--date", f"when={parts}", "--out", tmp_path / "m.json")  # fmt: skip
    predicted = cli("predict", "--model", tmp_path / "m.json", "--data", tmp_path / "d.csv")
    model = pb.load_model(tmp_path / "m.json")
    assert "city=(other)" in model.columns
    assert "when:weekday=Sun" in model.columns
    assert model.features[0].date == tuple(parts.split("+"))
    assert model.predict(table).tolist() == predicted["prediction"]
    pb.save_model(model, tmp_path / "again.json")
    again = pb.load_model(tmp_path / "again.json")
    assert again.features == model.features
    assert again.predict(table).tolist() == predicted["prediction"]


def test_curves_of_a_model_file(cli, tmp_path):
    """``train --model smooth``: Python predicts the same, and keeps the curves in files."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.uniform(-3, 3, 4000), "sex": rng.choice(["f", "m"], 4000)})
    table["y"] = np.sin(table.x) + (table.sex == "m") + 0.1 * rng.normal(size=4000)
    table.to_csv(tmp_path / "d.csv", index=False)
    cli("train", "--data", tmp_path / "d.csv", "--label", "y", "--family", "linear", "--min-bag",
        4, "--model", "smooth", "--winsorize", 2, "--out", tmp_path / "m.json")  # fmt: skip
    said = cli("predict", "--model", tmp_path / "m.json", "--data", tmp_path / "d.csv")
    model = pb.load_model(tmp_path / "m.json")
    assert model.features[0].curve.n_columns > 0
    assert any(name.startswith("s(x)") for name in model.columns)
    assert model.predict(table).tolist() == said["prediction"]
    assert model.to_estimator().predict(table).tolist() == said["prediction"]
    assert model.predict(model.encode(table)).tolist() == said["prediction"]
    pb.save_model(model, tmp_path / "again.json")
    again = pb.load_model(tmp_path / "again.json")
    assert again.features == model.features
    assert again.predict(table).tolist() == said["prediction"]


@pytest.mark.parametrize(
    ("given", "parameters"),
    [
        ([], {}),
        (["--model", "smooth"], {"model": "smooth"}),
        (["--method", "paper", "--estimator", "aggregate"],
         {"method": "paper", "estimator": "aggregate"}),
        (["--model", "auto"], {"model": "auto"}),
    ],
)  # fmt: skip
def test_levels_of_a_category_share_a_ridge(cli, tmp_path, given, parameters):
    """Of a data frame as of a file; columns of 0 and 1 have a ridge each."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"x": rng.normal(size=1500), "city": rng.choice(list("abcd"), 1500,
                          p=[0.5, 0.4, 0.08, 0.02])})  # fmt: skip
    y = table.x + (table.city == "c") - (table.city == "d") + 0.3 * rng.normal(size=1500)
    table.assign(y=y).to_csv(tmp_path / "d.csv", index=False)
    cli("train", "--data", tmp_path / "d.csv", "--label", "y", "--family", "linear", "--min-bag",
        6, "--impute", "mean", *given, "--out", tmp_path / "m.json")  # fmt: skip
    said = cli("predict", "--model", tmp_path / "m.json", "--data", tmp_path / "d.csv")
    model = pb.PriorBoostRegressor(min_bag=6, impute="mean", **parameters).fit(table, y)
    assert np.allclose(model.predict(table), said["prediction"], rtol=1e-12, atol=0)
    if not parameters:
        flat = pd.get_dummies(table, drop_first=True, dtype=float).to_numpy()
        apart = pb.PriorBoostRegressor(min_bag=6).fit(flat, y)
        assert not np.allclose(apart.coef_, model.coef_, rtol=1e-5)
        assert np.allclose(apart.coef_, model.coef_, rtol=0.1)
