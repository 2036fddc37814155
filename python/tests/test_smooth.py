"""Smooth models: curves from the means of bags, as the program fits them."""

import json
import subprocess

import numpy as np
import pytest

from priorboost import (
    PriorBoostClassifier,
    PriorBoostPoissonRegressor,
    PriorBoostRegressor,
    load_model,
)


def table(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 3))
    X[:, 2] = rng.integers(0, 3, size=n)
    return X, np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1]


@pytest.mark.parametrize(
    ("kind", "draw"),
    [
        (PriorBoostRegressor, lambda rng, eta: eta + rng.normal(size=len(eta))),
        (PriorBoostClassifier, lambda rng, eta: rng.random(len(eta)) < 1 / (1 + np.exp(-eta))),
        (PriorBoostPoissonRegressor, lambda rng, eta: rng.poisson(np.exp(eta))),
    ],
)
def test_a_curve_is_found_with_its_band(kind, draw):
    X, eta = table(8000)
    model = kind(min_bag=16, model="smooth").fit(X, draw(np.random.default_rng(1), eta))
    grid, effect, lower, upper = model.curves(0)
    truth = np.sin(1.5 * grid)
    off = effect - effect.mean() - (truth - truth.mean())
    assert np.abs(off).max() < 0.5
    assert ((lower < effect) & (effect < upper)).all()
    freedom = model.curve_freedom_
    assert len(freedom) == 2  # the third column has three values
    assert freedom[0] > 2.5 > 1.5 > freedom[1]
    assert model.coef_.size == 3 + 16
    assert model.get_feature_names_out()[3] == "s(x0).1"


def test_files_predict_the_same(tmp_path):
    X, eta = table()
    model = PriorBoostRegressor(min_bag=8, model="smooth").fit(X, eta)
    model.save(tmp_path / "m.json")
    loaded = load_model(tmp_path / "m.json")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X * 1.5, columns=["x0", "x1", "x2"])  # also beyond the knots
    assert (loaded.predict(frame) == model.predict(X * 1.5)).all()
    assert (loaded.to_estimator().predict(frame) == model.predict(X * 1.5)).all()
    again = loaded.curve("x0", grid=[0.0, 1.0])
    assert all((a == b).all() for a, b in zip(again, model.curves(0, grid=[0, 1]), strict=True))
    lower, upper = model.predict_interval(X[:5])
    assert (lower < upper).all()


def test_the_program_fits_the_same(tmp_path, cli):
    X, eta = table(2000)
    y = eta + np.random.default_rng(3).normal(size=len(eta))
    rows = [",".join(map(repr, row)) for row in np.c_[X, y].tolist()]
    (tmp_path / "t.csv").write_text("\n".join(["x0,x1,x2,y", *rows, ""]))
    command = [cli.program, "train", "--data", tmp_path / "t.csv", "--label", "y"]
    command += ["--family", "linear", "--min-bag", "10", "--model", "smooth", "--json", "--quiet"]
    said = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    model = PriorBoostRegressor(min_bag=10, model="smooth").fit(X, y)
    # The program computes the functions of curves where it reads them, the package has them as
    # columns: the same but for rounding.
    np.testing.assert_allclose(said["theta"], model.coef_, rtol=1e-8, atol=1e-10)
    freedom = [c["freedom"] for c in said["curves"]]
    np.testing.assert_allclose(freedom, model.curve_freedom_, rtol=1e-8)


def test_data_frames_get_curves():
    pandas = pytest.importorskip("pandas")
    X, eta = table()
    frame = pandas.DataFrame(X, columns=["age", "income", "few"])
    frame["city"] = np.where(X[:, 2] > 0, "a", "b")
    frame.loc[3, "age"] = np.nan
    model = PriorBoostRegressor(min_bag=8, model="smooth", impute="mean", standardize=True)
    model.fit(frame, eta)
    assert model.curves("age")[1].shape == (100,)
    assert np.isfinite(model.predict(frame)).all()
    plain = PriorBoostRegressor(min_bag=8, model="smooth").fit(
        frame[["age", "income"]][4:], eta[4:]
    )
    assert plain.feature_names_in_.tolist() == ["age", "income"]
    assert plain.predict(frame[["age", "income"]][4:]).shape == (len(X) - 4,)


def test_given_bags():
    X, eta = table()
    bag = np.argsort(np.argsort(X[:, 0])) // 20
    means = {b: eta[bag == b].mean() for b in np.unique(bag)}
    with pytest.warns(UserWarning, match="count"):
        model = PriorBoostRegressor(model="smooth").fit(X, bag=bag, answers=means)
    grid, effect, _, _ = model.curves(0)
    truth = np.sin(1.5 * grid)
    assert np.corrcoef(effect, truth)[0, 1] > 0.99


def test_a_straight_line_is_left_where_numbers_are_few():
    X = np.repeat(np.arange(4.0), 50).reshape(-1, 1)
    smooth = PriorBoostRegressor(min_bag=4, model="smooth").fit(X, X[:, 0] ** 2)
    straight = PriorBoostRegressor(min_bag=4).fit(X, X[:, 0] ** 2)
    assert smooth.coef_.tolist() == straight.coef_.tolist()
    with pytest.raises(ValueError, match="feature 0 has no curve; no feature has one"):
        smooth.curves(0)


def test_standardising_leaves_curves_alone():
    X, eta = table()
    plain = PriorBoostRegressor(min_bag=8, model="smooth").fit(X, eta)
    scaled = PriorBoostRegressor(min_bag=8, model="smooth", standardize=True).fit(X, eta)
    np.testing.assert_allclose(scaled.predict(X), plain.predict(X), atol=1e-6)
    np.testing.assert_allclose(scaled.curves(0)[3], plain.curves(0)[3], atol=1e-5)


def test_the_plan_is_that_of_straight_lines():
    X, eta = table()
    smooth = PriorBoostRegressor(min_bag=8, model="smooth").fit(X, eta)
    straight = PriorBoostRegressor(min_bag=8).fit(X, eta)
    assert len(smooth.plan_.se) == len(straight.plan_.se) == 3
    assert smooth.training_["bags"] == straight.training_["bags"] == "features"


def test_exported_curves_predict_the_same(tmp_path, cli):
    onnxruntime = pytest.importorskip("onnxruntime")
    X, eta = table()
    model = PriorBoostRegressor(min_bag=8, model="smooth").fit(X, eta)
    model.save(tmp_path / "m.json")
    subprocess.run([cli.program, "export", tmp_path / "m.json", tmp_path / "m.onnx"], check=True)
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    rows = np.concatenate([X, 1000 * X])  # far beyond the knots, too
    feed = {f"x{j}": rows[:, [j]] for j in range(3)}
    np.testing.assert_allclose(
        session.run(None, feed)[0].ravel(), model.predict(rows), rtol=1e-9, atol=1e-9
    )


def test_refusals():
    X, eta = table(200)
    with pytest.raises(ValueError, match="model='smooth' and formula contradict each other"):
        PriorBoostRegressor(model="smooth", formula="y ~ x0").fit(X, eta)
    given = {"bag": np.arange(200) // 10, "answers": dict.fromkeys(range(20), 0.0)}
    with pytest.raises(ValueError, match="model='smooth' needs all rows of the bags; rows is 'me"):
        PriorBoostRegressor(model="smooth").fit(X, rows="means", **given)
    with pytest.raises(ValueError, match="model is 'cubic'; it must be 'glm' or 'smooth'"):
        PriorBoostRegressor(model="cubic").fit(X, eta)
    with pytest.raises(ValueError, match="model='smooth' is for estimator='aggregate', not for 'e"):
        PriorBoostRegressor(model="smooth", estimator="event").fit(X, eta)
    model = PriorBoostRegressor(model="smooth").fit(X, eta)
    with pytest.raises(ValueError, match="feature 'x2' has no curve; those with one are x0, x1"):
        model.curves("x2")
    with pytest.raises(ValueError, match="level is 95; it must be between 0 and 1"):
        model.curves(0, level=95)
