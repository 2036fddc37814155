"""Districts: bags of which X has a sample of the persons, or their means."""

import csv
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import priorboost as pb

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "election.py"
TRUTH = {"age": -0.03, "middle": 0.5, "high": 1.1}


def read(path):
    with open(path, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {name: [row[name] for row in rows] for name in rows[0]}


def numbers(table, *names):
    return np.column_stack([np.array(table[name], dtype=float) for name in names])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("election")
    subprocess.run([sys.executable, EXAMPLE, path], check=True)
    return path


@pytest.fixture(scope="module")
def districts(folder):
    pd = pytest.importorskip("pandas")
    table = pd.read_csv(folder / "districts.csv")
    answers = table.rename(columns={"voters": "count", "yes": "sum"})[["district", "count", "sum"]]
    return table, answers.rename(columns={"district": "bag"})


def train(cli, folder, *options):
    command = ["train", "--bag", "district", "--answers", folder / "districts.csv"]
    return cli(*command, "--answer-columns", "count=voters,sum=yes", *options)


def test_means_and_deviations_give_the_model_of_the_program(cli, folder, districts):
    table, answers = districts
    sd = {name: table[f"{name}_sd"] for name in TRUTH}
    X = table[list(TRUTH)]
    for standardize in (False, True):
        model = pb.PriorBoostClassifier(standardize=standardize)
        model.fit(X, bag=table["district"], answers=answers, rows="means", sd=sd)
        for j, truth in enumerate(TRUTH.values()):
            error = np.sqrt(model.covariance_[j, j])
            assert abs(model.coef_[0, j] - truth) < 3.5 * error
        options = ["--rows", "means", "--sd", "_sd", "--family", "logistic"]
        options += ["--data", folder / "districts.csv", *["--standardize"] * standardize]
        written = train(cli, folder, *options)
        assert written["theta"] == pytest.approx(model.coef_[0], rel=1e-9)
        assert 0.15 < model.bag_effect_sd_ < 0.25
        assert list(model.assumptions_) == written["assumptions"]
        assert "assumed: what bags have in common" in str(model.summary())
        assert model.history_["rows"].tolist() == [300]
        assert model.training_["min_bag"] == answers["count"].min()
    array = pb.PriorBoostClassifier(standardize=True)
    array.fit(X, bag=table["district"], answers=answers, rows="means", sd=numbers(sd, *TRUTH))
    assert array.coef_.tolist() == model.coef_.tolist()


def test_a_linear_model_needs_the_means_alone(districts):
    table, answers = districts
    X, sd = table[list(TRUTH)], {name: table[f"{name}_sd"] for name in TRUTH}
    given = {"bag": table["district"], "answers": answers, "rows": "means"}
    model = pb.PriorBoostRegressor().fit(X, **given)
    assert pb.PriorBoostRegressor().fit(X, sd=sd, **given).coef_.tolist() == model.coef_.tolist()
    assert len(model.assumptions_) == 1
    without = pb.PriorBoostClassifier().fit(X, **given)
    assert "all persons of a bag have its means" in without.assumptions_[1]


def test_samples_give_the_model_of_the_program(cli, folder, districts):
    pd = pytest.importorskip("pandas")
    _, answers = districts
    sample = pd.read_csv(folder / "sample.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = pb.PriorBoostClassifier().fit(
            sample, bag="district", answers=answers, rows="sample"
        )
    options = ["--rows", "sample", "--data", folder / "sample.csv", "--family", "logistic"]
    written = train(cli, folder, *options)
    assert written["theta"] == pytest.approx(model.coef_[0], rel=1e-9)
    assert list(model.assumptions_) == written["assumptions"]
    given = {"bag": "district", "answers": answers, "rows": "sample", "bag_effects": False}
    with pytest.warns(UserWarning, match="bag_effects=True gives standard errors"):
        plain = pb.PriorBoostClassifier().fit(sample, **given)
    assert plain.bag_effect_sd_ == 0.0
    assert (np.diag(model.covariance_) > 9 * np.diag(plain.covariance_)).all()


def test_small_samples_are_in_doubt(folder, districts):
    pd = pytest.importorskip("pandas")
    _, answers = districts
    small = pd.read_csv(folder / "sample.csv").groupby("district").head(5)
    given = {"bag": "district", "answers": answers, "rows": "sample"}
    with pytest.warns(UserWarning, match="is sampling error") as caught:
        model = pb.PriorBoostClassifier().fit(small, **given)
    assert [w.filename for w in caught if "sampling error" in str(w.message)] == [__file__]
    assert "is sampling error" in str(model.summary())
    with pytest.warns(UserWarning, match="weights of counts are too small"):
        pb.PriorBoostPoissonRegressor().fit(small, **given)
    noise = small.assign(age=np.random.default_rng(0).normal(size=len(small)))
    with pytest.warns(UserWarning, match="no more than sampling error"):
        pb.PriorBoostClassifier().fit(noise[["district", "age"]], **given)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": "some"}, "rows is 'some'; it must be 'all', 'sample' or 'means'"),
        ({"rows": "all"}, "but 1 rows name it \\(rows='sample'"),
        ({"rows": "sample"}, "has 1 rows and count"),
        ({"rows": "sample", "sd": 1}, "sd needs rows='means'"),
        ({"bag_effects": "yes"}, "bag_effects is 'yes'"),
        ({"sd": np.ones((2, 2))}, "sd has shape \\(2, 2\\); it must be that of X, \\(300, 3\\)"),
        ({"sd": {"size": [1]}}, "sd has 'size', which is no feature; features are age, middle"),
        ({"sd": {"age": [1]}}, "sd of 'age' has 1 numbers for 300 rows"),
        ({"sd": -np.ones((300, 3))}, "no standard deviation"),
        ({"sd": np.full((300, 3), np.nan)}, "no standard deviation"),
        ({"sd": np.full((300, 3), np.inf)}, "no standard deviation"),
        ({"answers": {"D001": 0.5}}, "needs the number of persons"),
        ({"bag": np.arange(300) // 2}, "has an answer, but no row"),
    ],
)
def test_what_does_not_fit_is_refused(districts, change, message):
    table, answers = districts
    X = table[list(TRUTH)]
    given = {"bag": table["district"], "answers": answers, "rows": "means", **change}
    with pytest.raises(ValueError, match=message):
        pb.PriorBoostClassifier().fit(X, **given)


def test_what_has_no_sense_is_refused(districts):
    table, answers = districts
    X, bag = table[list(TRUTH)], table["district"]
    twice = {"bag": np.r_[bag, bag], "answers": answers, "rows": "means"}
    with pytest.raises(ValueError, match="has 2 rows; with rows='means' it has one"):
        pb.PriorBoostClassifier().fit(np.r_[X, X], **twice)
    with pytest.raises(ValueError, match="need the aggregate estimator"):
        pb.PriorBoostClassifier(estimator="event").fit(X, bag=bag, answers=answers, rows="means")
    for rows, effects, message in (("means", None, "needs all rows"), ("all", True, "are for mod")):
        given = {"bag": bag, "answers": answers, "rows": rows, "bag_effects": effects}
        with pytest.raises(ValueError, match=message):
            pb.PriorBoostClassifier(model="trees").fit(X, **given)
    for said in ({"rows": "means"}, {"bag_effects": True}):
        with pytest.raises(ValueError, match="are for given bags"):
            pb.PriorBoostRegressor().fit(X, table["age"], **said)
