"""Classifiers of more than two classes: fits, files, the program, and what is refused."""

import pickle

import numpy as np
import pytest

import priorboost as pb

WEIGHTS = np.array([[0.0, 0.0, 0.0], [1.0, -0.5, 0.3], [-0.6, 0.8, 0.0], [0.2, 0.0, -0.9]])
NAMES = np.array(["blue", "green", "red", "yellow"])


def draw(n, seed=0, names=NAMES):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    odds = np.exp(X @ WEIGHTS[:, :2].T + WEIGHTS[:, 2])
    share = odds / odds.sum(axis=1, keepdims=True)
    return X, names[(rng.random(n)[:, None] > share.cumsum(axis=1)).sum(axis=1)], share


@pytest.fixture(scope="module")
def data():
    return draw(12000)


@pytest.fixture(scope="module")
def model(data):
    return pb.PriorBoostClassifier(min_bag=12).fit(*data[:2])


def test_the_truth_is_within_the_errors(model):
    assert model.classes_.tolist() == NAMES.tolist()
    assert model.coef_.shape == (4, 2)
    assert model.intercept_.shape == (4,)
    assert model.covariance_.shape == (9, 9)
    assert model.usable_
    found = np.column_stack([model.coef_, model.intercept_])
    errors = model.standard_errors_
    assert (found[0] == 0).all()
    assert (errors[0] == 0).all()
    z = (found - WEIGHTS)[1:] / errors[1:]
    assert np.abs(z).max() < 4
    assert 0.3 < np.mean(z**2) < 2.5


def test_predictions_agree_with_each_other(model, data):
    X, _, share = data
    proba = model.predict_proba(X)
    assert np.allclose(proba.sum(axis=1), 1)
    assert np.abs(proba - share).max() < 0.12
    assert np.allclose(np.exp(model.predict_log_proba(X)), proba)
    assert (model.predict(X) == NAMES[proba.argmax(axis=1)]).all()
    assert (model.decision_function(X).argmax(axis=1) == proba.argmax(axis=1)).all()
    lower, upper = model.predict_interval(X, level=0.999)
    assert ((lower < proba) & (proba < upper)).all()
    assert ((lower < share) & (share < upper)).mean() > 0.97
    (last,) = model.staged_predict_proba(X)
    assert (last == proba).all()


def test_a_file_and_a_pickle_keep_the_model(model, data, tmp_path):
    X = data[0]
    model.save(tmp_path / "m.json")
    loaded = pb.load_model(tmp_path / "m.json")
    assert loaded.family == "classes"
    assert loaded.classes == NAMES.tolist()
    assert (loaded.covariance == model.covariance_).all()
    assert (loaded.predict_proba(X) == model.predict_proba(X)).all()
    assert (loaded.predict(X) == model.predict(X)).all()
    again = loaded.to_estimator()
    assert (again.predict(X) == model.predict(X)).all()
    assert (again.standard_errors_ == model.standard_errors_).all()
    copy = pickle.loads(pickle.dumps(model))
    assert (copy.predict_proba(X) == model.predict_proba(X)).all()
    assert copy.usable_


@pytest.mark.parametrize(
    "more", [{}, {"bags": "hybrid", "rounds": 2}, {"method": "paper"}, {"standardize": True}]
)
def test_the_program_gives_the_same_model(data, tmp_path, cli, more):
    X, y, _ = data
    lines = [f"{a!r},{b!r},{c}" for (a, b), c in zip(X.tolist(), y, strict=True)]
    (tmp_path / "t.csv").write_text("x0,x1,y\n" + "\n".join(lines) + "\n")
    options = []
    for name, value in more.items():
        options += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    asked = ["--data", tmp_path / "t.csv", "--label", "y", "--min-bag", 12]
    out = cli("train", *asked, *options)
    model = pb.PriorBoostClassifier(min_bag=12, **more).fit(X, y)
    assert np.allclose(model.coef_, out["theta"], rtol=1e-9, atol=1e-12)
    assert np.allclose(model.intercept_, out["intercept"], rtol=1e-9, atol=1e-12)
    if out["estimator"] == "aggregate":
        assert np.allclose(model.standard_errors_[1:], out["standard_errors"][1:], rtol=1e-9)


def test_levels_share_a_ridge_as_in_the_program(data, tmp_path, cli):
    pd = pytest.importorskip("pandas")
    X, y, _ = data
    city = np.digitize(np.random.default_rng(1).random(len(y)), [0.6, 0.9, 0.98])
    table = pd.DataFrame({"x0": X[:, 0], "city": np.array(list("abcd"))[city]})
    table.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    out = cli("train", "--data", tmp_path / "t.csv", "--label", "y", "--min-bag", 12)
    model = pb.PriorBoostClassifier(min_bag=12).fit(table, y)
    assert np.allclose(model.coef_, out["theta"], rtol=1e-9, atol=1e-12)
    flat = pd.get_dummies(table, drop_first=True, dtype=float)
    apart = pb.PriorBoostClassifier(min_bag=12).fit(flat, y)
    assert not np.allclose(apart.coef_, model.coef_, rtol=1e-4)


def test_noise_makes_larger_bags_and_errors(model, data):
    X, y, _ = data
    with pytest.warns(UserWarning, match="simulated"):
        noisy = pb.PriorBoostClassifier(min_bag=12, epsilon=1, random_state=3).fit(X, y)
    assert noisy.history_["bags"][0] < model.history_["bags"][0]
    assert (noisy.standard_errors_[1:] > model.standard_errors_[1:]).all()
    z = (np.column_stack([noisy.coef_, noisy.intercept_]) - WEIGHTS)[1:]
    assert np.abs(z / noisy.standard_errors_[1:]).max() < 4


def test_numbers_and_frames_are_classes_too(data):
    pandas = pytest.importorskip("pandas")
    X, y, _ = data
    frame = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "party": y})
    frame["side"] = np.where(X[:, 0] > 0, "left", "right")
    model = pb.PriorBoostClassifier(min_bag=12).fit(frame, "party")
    assert model.get_feature_names_out().tolist() == ["a", "b", "side=right"]
    assert model.summary().columns[:4] == [
        "green: a",
        "green: b",
        "green: side=right",
        "green: (intercept)",
    ]
    numbers = pb.PriorBoostClassifier(min_bag=12).fit(X, np.searchsorted(NAMES, y) * 10)
    assert numbers.classes_.tolist() == [0, 10, 20, 30]
    assert set(numbers.predict(X).tolist()) <= {0, 10, 20, 30}


def test_class_weights_shift_the_intercepts(model, data):
    X, y, _ = data
    weighted = pb.PriorBoostClassifier(min_bag=12, class_weight={"red": 4.0}).fit(X, y)
    assert np.allclose(weighted.intercept_ - model.intercept_, [0, 0, np.log(4), 0])
    assert (weighted.coef_ == model.coef_).all()
    balanced = pb.PriorBoostClassifier(min_bag=12, class_weight="balanced").fit(X, y)
    share = model.predict_proba(X).mean(axis=0)
    assert np.allclose(balanced.class_shift_, np.log(share[0] / share))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"model": "trees", "class_weight": "balanced"}, "class_weight of several classes"),
        ({"model": "auto", "class_weight": "balanced"}, "not for 'auto'"),
        ({"model": "smooth", "estimator": "event"}, "smooth"),
        ({"round_answers": True}, "round_answers=True is for two classes"),
        ({"bounds": (0, 1)}, "bounds=.* is for two classes"),
        ({"threshold": 0.3}, "threshold=0.3 is for two classes"),
        ({"threshold": "prevalence"}, "threshold='prevalence' is for two classes"),
        ({"estimator": "cv"}, "estimator='cv' is for two classes"),
        ({"l2": "cv", "estimator": "event"}, "l2='cv' is for estimator='aggregate'"),
        ({"min_bag": 10**6}, "min_bag|minimum"),
    ],
)
def test_what_several_classes_do_not_have(data, more, said):
    X, y, _ = data
    with pytest.raises(ValueError, match=said):
        pb.PriorBoostClassifier(**({"min_bag": 12} | more)).fit(X[:500], y[:500])


def test_the_ridge_by_cross_validation(data):
    X, y, _ = data
    model = pb.PriorBoostClassifier(min_bag=12, l2="cv").fit(X[:3000], y[:3000])
    again = pb.PriorBoostClassifier(min_bag=12, l2="cv").fit(X[:3000], y[:3000])
    assert model.training_["l2"] == again.training_["l2"] > 0
    assert np.array_equal(model.coef_, again.coef_)


def test_an_offset_is_refused(model, data):
    X, y, _ = data
    with pytest.raises(ValueError, match="no offset"):
        pb.PriorBoostClassifier(min_bag=12).fit(X, y, offset=X[:, 0])
    with pytest.raises(ValueError, match="no offset"):
        model.predict(X, offset=X[:, 0])


def test_a_fit_that_cannot_be_trusted_warns():
    X, y, _ = draw(60)
    with pytest.warns(UserWarning, match="bags for 3 parameters"):
        pb.PriorBoostClassifier(min_bag=12).fit(X, y)


def test_sparse_rows_of_several_classes():
    """A model of several classes has few columns: sparse rows are made dense."""
    sparse = pytest.importorskip("scipy.sparse")
    X, y = np.repeat(np.eye(4), 60, axis=0), np.tile([0, 0, 1, 2], 60)
    one = pb.PriorBoostClassifier(min_bag=2, random_state=1).fit(X, y)
    other = pb.PriorBoostClassifier(min_bag=2, random_state=1).fit(sparse.csr_array(X), y)
    assert np.array_equal(one.coef_, other.coef_)
    assert np.array_equal(one.predict_proba(X), other.predict_proba(sparse.csr_array(X)))
    wide = sparse.csr_array((240, 1000))
    with pytest.raises(ValueError, match="X is sparse with 1000 columns: 3 classes have 2002"):
        pb.PriorBoostClassifier(min_bag=2).fit(wide, y)


def test_trees_are_those_of_the_program(data, cli, tmp_path):
    X, y, _ = data
    X, y = X[:4000], y[:4000]
    lines = [f"{a!r},{b!r},{c}" for (a, b), c in zip(X.tolist(), y, strict=True)]
    (tmp_path / "t.csv").write_text("x0,x1,y\n" + "\n".join(lines) + "\n")
    asked = ["--data", tmp_path / "t.csv", "--label", "y", "--min-bag", 12, "--model", "trees"]
    cli("train", *asked, "--out", tmp_path / "m.json")
    model = pb.PriorBoostClassifier(min_bag=12, model="trees").fit(X, y)
    loaded = pb.load_model(tmp_path / "m.json")
    assert len(loaded.members) == 4
    share = model.predict_proba(X)
    assert np.array_equal(share, loaded.predict_proba(X))
    assert np.allclose(share.sum(axis=1), 1.0)
    assert np.allclose(np.exp(model.predict_log_proba(X)), share)
    model.save(tmp_path / "own.json")
    assert np.array_equal(pb.load_model(tmp_path / "own.json").predict_proba(X), share)
    with pytest.raises(AttributeError, match="trees"):
        _ = model.coef_


@pytest.mark.parametrize("kind", ["smooth", "auto"])
def test_curves_and_mixtures_are_those_of_the_program(data, cli, tmp_path, kind):
    pandas = pytest.importorskip("pandas")
    X, _, _ = data
    X = X[:3000]
    rng = np.random.default_rng(4)
    middle = np.where(np.abs(X[:, 0]) < 0.7, 0.9, 0.1)
    y = np.where(rng.random(3000) < middle, "b", rng.choice(["a", "c"], 3000))
    lines = [f"{a!r},{b!r},{c}" for (a, b), c in zip(X.tolist(), y, strict=True)]
    (tmp_path / "t.csv").write_text("x0,x1,y\n" + "\n".join(lines) + "\n")
    asked = ["--data", tmp_path / "t.csv", "--label", "y", "--min-bag", 12, "--model", kind]
    cli("train", *asked, "--out", tmp_path / "m.json")
    model = pb.PriorBoostClassifier(min_bag=12, model=kind).fit(X, y)
    share, loaded = model.predict_proba(X), pb.load_model(tmp_path / "m.json")
    frame = pandas.DataFrame(X, columns=["x0", "x1"])
    assert np.allclose(share, loaded.predict_proba(frame), rtol=0, atol=1e-9)
    assert np.allclose(share.sum(axis=1), 1.0)
    model.save(tmp_path / "own.json")
    assert np.array_equal(pb.load_model(tmp_path / "own.json").predict_proba(frame), share)
    straight = pb.PriorBoostClassifier(min_bag=12).fit(X, y).predict_proba(X)
    label = np.searchsorted(["a", "b", "c"], y)
    at = np.arange(3000), label
    assert np.log(share[at]).mean() > np.log(straight[at]).mean() + 0.1
    kinds = {m.kind for m in model.members_}
    assert (kinds == set()) if kind == "smooth" else len(model.members_) % 3 == 0
    if kind == "auto":
        with pytest.raises(AttributeError, match=r"auto|members|trees"):
            _ = model.coef_
