"""The summary of a fit: text, data frame and HTML, and what it says without a covariance."""

import numpy as np
import pytest
from conftest import KINDS, make_table

import priorboost as pb


@pytest.mark.parametrize("family", list(KINDS))
def test_the_table_is_that_of_the_covariance(family):
    X, y = make_table(family)
    model = KINDS[family](min_bag=5).fit(X, y)
    summary = model.summary(level=0.9)
    assert summary.columns == ["x0", "x1", "x2", "x3", "(intercept)"]
    assert summary.weight.tolist() == model.path_[-1].tolist()
    assert np.allclose(summary.se, np.sqrt(np.diag(model.covariance_)))
    assert np.allclose(summary.z, summary.weight / summary.se)
    from scipy.stats import norm

    assert np.allclose(summary.p, 2 * norm.sf(np.abs(summary.z)))
    assert np.allclose(summary.upper - summary.lower, 2 * norm.ppf(0.95) * summary.se)
    assert np.isclose(summary.upper + summary.lower, 2 * summary.weight).all()


def test_the_text_says_how_the_model_was_found():
    X, y = make_table("logistic")
    with pytest.warns(UserWarning, match="simulated"):
        model = pb.PriorBoostClassifier(min_bag=20, epsilon=2, random_state=1).fit(X, y)
    lines = str(model.summary()).splitlines()
    assert lines[:3] == [
        "family: logistic",
        f"estimator: {model.training_['estimator']}, bags: {model.training_['bags']}",
        "label holder's rules: bags of at least 20 rows, epsilon 2 per label",
    ]
    assert "rows: 2,000" in lines
    assert f"bags: {model.history_['bags'].sum()}" in lines
    assert any(line.startswith("dispersion: ") for line in lines)
    head = next(line for line in lines if line.startswith("column"))
    assert head.split() == ["column", "weight", "std.", "error", "z", "p", "95", "%", "interval"]
    assert "note: the noise follows from a seed: there is no differential privacy" in lines


def test_data_frame_and_html():
    pytest.importorskip("pandas")
    X, y = make_table("linear")
    summary = pb.PriorBoostRegressor(min_bag=5).fit(X, y).summary()
    frame = summary.frame
    assert frame.columns.tolist() == ["weight", "std. error", "z", "p", "lower", "upper"]
    assert frame.index.tolist() == summary.columns
    assert frame.loc["x0", "weight"] == summary.weight[0]
    summary.columns[0] = "<b>"
    assert "<th>&lt;b&gt;</th>" in summary._repr_html_()
    assert summary._repr_html_().count("<tr>") == 6


def test_without_a_covariance_it_says_what_to_choose():
    X, y = make_table("linear")
    summary = pb.PriorBoostRegressor(min_bag=5, estimator="event", fit_intercept=False).fit(X, y)
    summary = summary.summary()
    assert np.isnan(summary.se).all()
    assert summary.columns[-1] == "x3"
    text = str(summary)
    assert "std. error" not in text
    assert "note: the event estimator gives no covariance: fit with estimator='aggregate'" in text


def test_warnings_of_the_fit_are_in_it():
    X, y = make_table("linear")
    with pytest.warns(UserWarning, match="adds nothing"):
        model = pb.PriorBoostRegressor(4, l2=0).fit(np.column_stack([X, X[:, 0]]), y)
    assert any("adds nothing" in note for note in model.summary().notes)
    with pytest.raises(ValueError, match="level is 95; it must be between 0 and 1"):
        model.summary(level=95)


def test_a_model_of_a_file_has_one(tmp_path):
    X, y = make_table("linear")
    model = pb.PriorBoostRegressor(min_bag=5).fit(X, y)
    model.save(tmp_path / "m.json")
    again = pb.load_model(tmp_path / "m.json").to_estimator().summary()
    assert again.se.tolist() == model.summary().se.tolist()
    assert again.header["rows"] == "2,000"


def test_it_survives_pickling():
    import pickle

    X, y = make_table("linear")
    with pytest.warns(UserWarning, match="adds nothing"):
        model = pb.PriorBoostRegressor(4, l2=0).fit(np.column_stack([X, X[:, 0]]), y)
    assert str(pickle.loads(pickle.dumps(model)).summary()) == str(model.summary())
