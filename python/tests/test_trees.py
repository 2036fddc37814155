"""Trees and members of models: the same as the program, in memory and in files."""

import json
import pickle
import re

import numpy as np
import pytest
from conftest import KINDS, ROOT, make_table, write_csv
from random_models import random_model, random_rows
from sklearn.exceptions import NotFittedError

import priorboost as pb
from priorboost.members import _DEFAULTS

pd = pytest.importorskip("pandas", reason="pandas is not installed: data frames are not tested")


def curved_table(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, 3))
    return X, np.cos(2 * X[:, 0]) + (X[:, 1] > 0) * X[:, 2] + 0.1 * rng.normal(size=n)


def test_defaults_are_those_of_the_header():
    text = (ROOT / "include/priorboost/curves.h").read_text()
    found = re.search(r"sizeof\(pboost_forest_options\), PBOOST_LINEAR,([^}]*)", text)
    cells = [cell.strip(" \\\n") for cell in found.group(1).split(",")]
    assert tuple(float(cell) for cell in cells[: len(_DEFAULTS)]) == _DEFAULTS
    assert cells[len(_DEFAULTS)] == "1"  # threads


@pytest.mark.parametrize("model", ["trees", "auto"])
@pytest.mark.parametrize("family", KINDS)
def test_the_same_predictions_as_the_program(cli, tmp_path, family, model):
    X, y = make_table(family, n=3000)
    write_csv(tmp_path / "train.csv", X, y)
    cli("train", "--data", tmp_path / "train.csv", "--label", "y", "--family", family,
        "--min-bag", 8, "--model", model, "--out", tmp_path / "m.json")  # fmt: skip
    fitted = KINDS[family](8, model=model).fit(X, y)
    members = json.loads((tmp_path / "m.json").read_text())["members"]
    assert [m.kind for m in fitted.members_] == [m["kind"] for m in members]
    assert sum(m.weight for m in fitted.members_) == pytest.approx(1.0)
    expected = np.array(
        cli("predict", "--model", tmp_path / "m.json", "--data", tmp_path / "train.csv")[
            "prediction"
        ]
    )
    mean = fitted.predict_proba(X)[:, 1] if family == "logistic" else fitted.predict(X)
    # The program computes the functions of curves where it reads them, the package has them as
    # columns: the same but for rounding.
    rounding = {"rtol": 1e-10, "atol": 1e-12} if model == "auto" else {"rtol": 0}
    np.testing.assert_allclose(mean, expected, **rounding)
    # a file that Python wrote, read by the program; the estimator through pickle
    fitted.save(tmp_path / "p.json")
    again = cli("predict", "--model", tmp_path / "p.json", "--data", tmp_path / "train.csv")
    np.testing.assert_allclose(again["prediction"], expected, **rounding)
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.predict(X), fitted.predict(X))
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    np.testing.assert_allclose(
        pb.load_model(tmp_path / "p.json").predict(frame), expected, **rounding
    )


def test_trees_see_what_a_line_cannot():
    X, y = curved_table()
    test, truth = curved_table(1000, seed=1)
    trees = pb.PriorBoostRegressor(8, model="trees").fit(X, y)
    line = pb.PriorBoostRegressor(8).fit(X, y)
    assert trees.score(test, truth) > 0.7 > 0.5 > line.score(test, truth)
    assert trees.members_[0].forest.splits()[0] > 0


@pytest.mark.parametrize("seed", range(3))
def test_members_from_files_predict_as_the_program_does(cli, tmp_path, seed):
    rng = np.random.default_rng(seed)
    kinds = ["constant", "glm", "trees", "glm-trees"]
    (tmp_path / "m.json").write_text(json.dumps(random_model(rng, "poisson", kinds, "log n")))
    frame = pd.DataFrame(random_rows(rng, 300))
    frame.to_csv(tmp_path / "d.csv", index=False)
    frame = pd.read_csv(
        tmp_path / "d.csv",
        dtype={"city": str, "plain": str, "when": str},
        float_precision="round_trip",
    )
    expected = cli("predict", "--model", tmp_path / "m.json", "--data", tmp_path / "d.csv")
    model = pb.load_model(tmp_path / "m.json")
    assert [m.kind for m in model.members] == kinds
    with pytest.warns(UserWarning, match="were not in training"):
        predicted = model.predict(frame)
    np.testing.assert_array_equal(predicted, expected["prediction"])
    pb.save_model(model, tmp_path / "again.json")
    with pytest.warns(UserWarning, match="were not in training"):
        again = pb.load_model(tmp_path / "again.json").predict(frame)
    np.testing.assert_array_equal(again, predicted)
    pb.export_onnx(model, tmp_path / "m.onnx")
    cli("export", tmp_path / "m.json", tmp_path / "cli.onnx")
    assert (tmp_path / "m.onnx").read_bytes() == (tmp_path / "cli.onnx").read_bytes()
    with pytest.raises(ValueError, match="pass a data frame"):
        model.predict(np.zeros((2, len(model.columns))), offset=[0.0, 0.0])


def test_data_frames_with_text_and_missing_cells(cli, tmp_path):
    rng = np.random.default_rng(5)
    X, y = curved_table()
    frame = pd.DataFrame({"x": X[:, 0], "sign": np.where(X[:, 1] > 0, "plus", "minus"),
                          "slope": X[:, 2], "y": y})  # fmt: skip
    frame.loc[rng.random(len(frame)) < 0.05, "x"] = np.nan
    frame.loc[rng.random(len(frame)) < 0.05, "sign"] = None
    frame.to_csv(tmp_path / "d.csv", index=False)
    fitted = pb.PriorBoostRegressor(8, model="trees").fit(frame, "y")
    fitted.save(tmp_path / "m.json")
    expected = cli("predict", "--model", tmp_path / "m.json", "--data", tmp_path / "d.csv")
    np.testing.assert_array_equal(fitted.predict(frame), expected["prediction"])


def test_given_bags_and_offsets():
    rng = np.random.default_rng(0)
    X, _ = curved_table(4000)
    log_n = rng.normal(0, 0.5, 4000)
    y = rng.poisson(np.exp(np.cos(2 * X[:, 0]) + log_n))
    bag = np.arange(4000) // 8
    answers = {b: y[bag == b].mean() for b in range(500)}
    with pytest.warns(UserWarning, match="count"):
        fitted = pb.PriorBoostPoissonRegressor(model="trees").fit(
            X, bag=bag, answers=answers, offset=log_n
        )
    mean = fitted.predict(X, offset=log_n)
    assert 0.9 < mean.sum() / y.sum() < 1.1
    np.testing.assert_allclose(fitted.predict(X[:5], offset=log_n[:5] + 1), mean[:5] * np.e)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"model": "forest"}, "model is 'forest'; it must be 'glm'"),
        ({"model": "trees", "estimator": "event"}, "estimator='event' is for model='glm'"),
        ({"model": "trees", "l2": 1.0}, "l2=1.0 is for model='glm', not for 'trees'"),
        ({"model": "trees", "method": "paper"}, "method='paper'"),
        ({"model": "trees", "fit_intercept": False}, "fit_intercept=False"),
    ],
)
def test_what_is_refused(parameters, words):
    X, y = make_table("linear", n=200)
    with pytest.raises(ValueError, match=re.escape(words)):
        pb.PriorBoostRegressor(4, **parameters).fit(X, y)


def test_what_trees_do_not_have():
    X, y = curved_table(1000)
    fitted = pb.PriorBoostRegressor(8, model="trees")
    with pytest.raises(NotFittedError):
        fitted.predict(X)
    fitted.fit(X, y)
    assert not hasattr(fitted, "coef_")
    with pytest.raises(ValueError, match="trees have no intervals"):
        fitted.predict_interval(X)
    with pytest.raises(ValueError, match="no weights to summarize"):
        fitted.summary()


def test_a_mixture_says_when_a_constant_would_predict_better():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(100, 2)), rng.normal(size=100)
    with pytest.warns(UserWarning, match="a constant predicts bags that were left out better"):
        pb.PriorBoostRegressor(min_bag=10, model="auto").fit(X, y)
