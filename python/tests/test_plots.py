"""What the pictures show: the marks are read back from the axes."""

import numpy as np
import pytest
from conftest import make_table

import priorboost as pb

matplotlib = pytest.importorskip(
    "matplotlib", reason="plots need matplotlib: pip install 'priorboost[plot]'"
)
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def fitted():
    X, y = make_table("logistic")
    return X, y, pb.PriorBoostClassifier(min_bag=5).fit(X, y)


def texts(labels):
    return [label.get_text() for label in labels]


def marks(ax):
    """Return the points that are drawn, without lines."""
    return next(line.get_xydata() for line in ax.lines if line.get_marker() == "o")


def test_coefficients(fitted):
    X, _, model = fitted
    ax = pb.plot_coefficients(model)
    order = np.argsort(-model.coef_[0])
    assert texts(ax.get_yticklabels()) == [f"x{j}" for j in order]
    assert np.allclose(marks(ax)[:, 0], model.coef_[0][order])
    ends = np.array([segment[:, 0] for segment in ax.collections[0].get_segments()])
    summary = model.summary()
    assert np.allclose(ends, np.column_stack([summary.lower, summary.upper])[order])
    assert "95 % interval" in ax.get_xlabel()
    scaled = pb.plot_coefficients(model, standardize=X, most=2)
    assert len(scaled.get_yticklabels()) == 2
    assert "2 largest of 4" in scaled.get_title()
    assert np.isclose(marks(scaled)[0, 0], model.coef_[0, 3] * X[:, 3].std())


def test_coefficients_without_a_covariance():
    X, y = make_table("linear")
    model = pb.PriorBoostRegressor(min_bag=5, estimator="event").fit(X, y)
    import matplotlib.pyplot as plt

    _, mine = plt.subplots()
    ax = pb.plot_coefficients(model, ax=mine)
    assert ax is mine
    assert not ax.collections
    assert "interval" not in ax.get_xlabel()


def test_coefficients_of_curves_and_trees():
    X, y = make_table("linear")
    smooth = pb.PriorBoostRegressor(min_bag=5, model="smooth").fit(X, y)
    assert sorted(texts(pb.plot_coefficients(smooth).get_yticklabels())) == ["x0", "x1", "x2", "x3"]
    assert len(pb.plot_coefficients(smooth, standardize=X).get_yticklabels()) == 4
    assert any("parts of curves" in note for note in smooth.summary().notes)
    trees = pb.PriorBoostRegressor(min_bag=5, model="trees").fit(X, y)
    with pytest.raises(ValueError, match="trees have no weights"):
        pb.plot_coefficients(trees)


def test_calibration_by_rows_and_by_bags(fitted):
    X, y, model = fitted
    points = marks(pb.plot_calibration(model, X, y, groups=5))
    mean = model.predict_proba(X)[:, 1]
    parts = np.array_split(np.argsort(mean, kind="stable"), 5)
    assert np.allclose(points, [(mean[p].mean(), y[p].mean()) for p in parts])
    bag = np.arange(len(X)) // 10
    answers = {int(b): float(y[bag == b].mean()) for b in np.unique(bag)}
    with pytest.warns(UserWarning, match="not the number of its rows"):
        points = marks(pb.plot_calibration(model, X, bag=bag, answers=answers))
    assert np.allclose(points[:, 0], mean.reshape(-1, 10).mean(axis=1))
    assert np.allclose(points[:, 1], list(answers.values()))
    for wrong in ({}, {"y": y, "bag": bag}, {"bag": bag}):
        with pytest.raises(ValueError, match="pass the labels y, or bag and answers"):
            pb.plot_calibration(model, X, **wrong)
    with pytest.raises(ValueError, match="groups is 1"):
        pb.plot_calibration(model, X, y, groups=1)


def test_plans():
    X, _ = make_table("logistic")
    rules = {"family": "logistic", "bounds": (0, 1)}
    one = pb.plan(X, 10, epsilon=2, **rules)
    ax = pb.plot_plan(one)
    points = sorted(one.points, key=lambda point: point.excess)[:20]
    assert np.allclose(marks(ax)[:, 0], [point.excess for point in points])
    assert texts(ax.get_legend().get_texts()) == ["recommended", "all labels", "only the mean"]


def test_costs_of_rules():
    X, _ = make_table("logistic")
    rules = {"family": "logistic", "bounds": (0, 1)}
    costs = pb.plan_costs(X, [5, 20, 10**6], epsilon=[None, 2, 0.5], **rules)
    ax = pb.plot_plan(costs)
    lines = {line.get_label(): line.get_xydata() for line in ax.lines}
    assert list(lines)[:2] == ["bags of 5 and more", "bags of 20 and more"]
    assert list(lines)[2:] == ["all labels", "only the mean"]
    assert texts(ax.get_xticklabels()) == ["0.5", "2", "no noise"]
    value = {(cost.min_bag, cost.epsilon): cost.measure for cost in costs}
    expected = [(at, value[20, e]) for at, e in enumerate((0.5, 2.0, None))]
    assert np.allclose(lines["bags of 20 and more"], expected)
    assert ax.get_ylabel() == "expected AUC on new rows"
    by_size = pb.plot_plan([cost for cost in costs if cost.epsilon == 2])
    assert texts(by_size.get_xticklabels()) == ["5", "20"]
    assert np.allclose(by_size.lines[0].get_ydata(), [value[5, 2], value[20, 2]])
    for wrong in ({}, [1]):
        with pytest.raises(ValueError, match="plot_plan takes what plan"):
            pb.plot_plan(wrong)
    with pytest.raises(ValueError, match="no pair of k and epsilon is possible"):
        pb.plot_plan([cost for cost in costs if cost.min_bag == 10**6])
