"""What the command line warns of, Python warns of, in the same words."""

import warnings

import numpy as np
import pytest
from conftest import make_table, write_csv
from sklearn.exceptions import ConvergenceWarning

import priorboost as pb
from priorboost import _library
from priorboost.fit_warnings import warn_of_fit

WORDS = {  # options of the command line
    "--covariance sandwich": "covariance='sandwich'",
    "--bags features": "bags='features'",
}


def table(kind):
    X, y = make_table("logistic", n=2000)
    if kind == "plain":
        return X, y
    if kind == "few":
        return X[:40], y[:40]
    if kind == "separable":
        return X, (X[:, 0] > 0).astype(int)
    if kind == "collinear":
        return np.column_stack([X, X[:, 0] - X[:, 1]]), y
    assert kind == "clustered"  # far more alike than a binomial's labels
    order = np.argsort(X[:, 0] * X[:, 1])
    y = np.zeros(len(X), int)
    y[order[:1000]] = 1
    return X, y


CASES = [
    ("plain", ["--min-bag", 4, "--rounds", 2], {"min_bag": 4, "rounds": 2}, []),
    ("separable", ["--min-bag", 1, "--rounds", 1, "--l2", 1e-6],
     {"min_bag": 1, "rounds": 1, "l2": 1e-6}, ["standard deviation"]),
    ("separable", ["--min-bag", 2, "--rounds", 1, "--l2", 1e-6, "--estimator", "interpolated",
                   "--bags", "features"],
     {"min_bag": 2, "rounds": 1, "l2": 1e-6, "estimator": "interpolated", "bags": "features"},
     ["standard deviation"]),
    ("separable", ["--min-bag", 2, "--rounds", 1, "--l2", 1e-6, "--estimator", "aggregate",
                   "--bags", "features"],
     {"min_bag": 2, "rounds": 1, "l2": 1e-6, "estimator": "aggregate", "bags": "features"},
     ["standard deviation"]),
    ("collinear", ["--min-bag", 2, "--rounds", 1, "--l2", 0],
     {"min_bag": 2, "rounds": 1, "l2": 0}, ["has rank 4|have rank 4"]),
    ("clustered", ["--min-bag", 8, "--rounds", 1, "--estimator", "aggregate", "--bags", "features"],
     {"min_bag": 8, "rounds": 1, "estimator": "aggregate", "bags": "features"},
     ["bag residuals"]),
    ("few", ["--min-bag", 8, "--rounds", 1, "--estimator", "aggregate", "--bags", "features"],
     {"min_bag": 8, "rounds": 1, "estimator": "aggregate", "bags": "features"}, ["only 5 bags"]),
    ("plain", ["--min-bag", 4, "--rounds", 1, "--estimator", "aggregate", "--bags", "random",
               "--epsilon", "0.5", "--bounds", "0,1", "--seed", 1],
     {"min_bag": 4, "rounds": 1, "estimator": "aggregate", "bags": "random", "epsilon": 0.5,
      "random_state": 1}, ["mixed"]),
    ("few", ["--min-bag", 2, "--rounds", 1, "--epsilon", "0.01", "--bounds", "0,1", "--seed", 2],
     {"min_bag": 2, "rounds": 1, "epsilon": 0.01, "random_state": 2}, ["even the mean"]),
    ("plain", ["--min-bag", 4, "--auto", "--epsilon", "0.01", "--bounds", "0,1", "--seed", 2],
     {"min_bag": 4, "epsilon": 0.01, "random_state": 2}, ["no way of asking"]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "options", "parameters", "expected"), CASES)
def test_warnings_are_those_of_the_command_line(cli, tmp_path, kind, options, parameters, expected):
    X, y = table(kind)
    write_csv(tmp_path / "d.csv", X, y)
    report = cli("train", "--data", tmp_path / "d.csv", "--label", "y", "--family", "logistic",
                 *options)  # fmt: skip
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pb.PriorBoostClassifier(**parameters).fit(X, y)
    theirs = report["warnings"]
    for option, parameter in WORDS.items():
        theirs = [text.replace(option, parameter) for text in theirs]
    # The program says it in "simulated".
    seeded = [w for w in caught if "the noise is simulated" in str(w.message)]
    assert len(seeded) == report["simulated"]
    ours = [str(warning.message) for warning in caught if warning not in seeded]
    assert sorted(ours) == sorted(theirs)
    assert all(warning.filename == __file__ for warning in caught)
    for words in expected:
        assert any(np.any([w in text for w in words.split("|")]) for text in ours), (words, ours)


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("converged", False, "did not converge in 7 iterations"),
        ("worse_than_constant", True, "worse than a constant model does: do not use it"),
        ("dispersion_floored", True, "masks the dispersion"),
        ("undercovers", True, "too short"),
        ("mean_masked", True, "even the mean"),
        ("separable", True, "separate"),
        ("eta_sd", 9.0, "standard deviation 9"),
        ("eta_sd", np.nan, "standard deviation nan"),
        ("freedom", 1.5, "1.5 effective"),
        ("bags", 9, "only 9 bags"),
        ("pearson", 1.7, "residuals are 1.7 times larger"),
        ("first_dropped", 2, "column 'x2'"),
    ],
)
def test_each_report_has_its_warning(field, value, words):
    """One at a time, whatever a training that shows it would look like."""
    X, _ = make_table("logistic", n=100)
    report = _library.FitReport(
        converged=True, iterations=7, rank=4, first_dropped=2**64 - 1, l2_standardized=True,
        bags=5000, dispersion=1.0, pearson=1.0, freedom=5.0, eta_sd=1.0,
        estimator=_library.AGGREGATE,
    )  # fmt: skip
    model = pb.PriorBoostClassifier()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_fit(model, report, X, np.ones(5))
    setattr(report, field, value)
    unusable = field in ("converged", "worse_than_constant")
    kind = ConvergenceWarning if unusable else UserWarning
    with pytest.warns(kind, match=words) as caught:
        warn_of_fit(model, report, X, np.ones(5))
    assert len(caught) == 1
    assert (caught[0].category is ConvergenceWarning) == unusable


def test_weights_that_are_not_finite():
    X, _ = make_table("logistic", n=100)
    report = _library.FitReport(converged=True, first_dropped=2**64 - 1, bags=5000, eta_sd=1.0)
    with pytest.warns(ConvergenceWarning, match="not a finite number") as caught:
        warn_of_fit(pb.PriorBoostClassifier(), report, X, np.array([1, 1, np.nan, 1, 1.0]))
    assert len(caught) == 1


def test_a_fit_that_is_not_to_be_used():
    """The program ends with exit code 6; Python warns, and has the model anyway."""
    X, y = table("separable")
    model = pb.PriorBoostClassifier(2, rounds=1, estimator="aggregate", bags="features", l2=0)
    with pytest.warns(ConvergenceWarning, match="have no limit"):
        model.fit(X, y)
    assert not model.usable_
    assert pb.PriorBoostClassifier(2, rounds=1).fit(X, y).usable_


def test_columns_are_called_by_their_names():
    X, y = make_table("linear", n=400)
    model = pb.PriorBoostRegressor(4, rounds=1, l2=0)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X).add_prefix("größe ").assign(twice=2 * X[:, 0])
    with pytest.warns(UserWarning, match="column 'twice' adds nothing"):
        model.fit(frame, y)
    frame = frame[["twice", *frame.columns[:-1]]]
    with pytest.warns(UserWarning, match="column 'größe 0' adds nothing"):
        model.fit(frame, y)


def test_counts_run_away_in_their_own_words():
    X, _ = make_table("poisson", n=100)
    report = _library.FitReport(converged=True, first_dropped=2**64 - 1, separable=True, eta_sd=9.0)
    model = pb.PriorBoostPoissonRegressor()
    with pytest.warns(UserWarning, match="the fit diverged") as caught:
        warn_of_fit(model, report, X, np.ones(5))
    assert len(caught) == 1


def test_single_rows_are_labels():
    X, y = make_table("linear", n=400)
    bag = np.r_[0, 1, np.arange(398) // 4 + 2]
    means = {int(b): float(y[bag == b].mean()) for b in np.unique(bag)}
    with pytest.warns(UserWarning, match="2 bags have one row: the answer of each") as caught:
        pb.PriorBoostRegressor().fit(X, bag=bag, answers=means)
    assert caught[0].filename == __file__
    bag[0] = 1
    means[1] = float(y[:2].mean())
    del means[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "answers has the mean of each bag, but not the number")
        pb.PriorBoostRegressor().fit(X, bag=bag, answers=means)


def test_plans_that_promise_nothing():
    X, _ = make_table("linear", n=300)
    with pytest.warns(UserWarning, match="no way of asking") as caught:
        plan = pb.plan(X, 2, epsilon=0.001, bounds=(-9, 9))
    assert plan.no_better_than_mean
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="events are expected"):
        assert pb.plan(X, 2, family="logistic", mean=0.01).rare
