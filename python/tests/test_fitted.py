"""Whatever holds the numbers, a fit gives the same; and what it leaves behind."""

import copy
import pickle

import numpy as np
import pytest
from conftest import make_table
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import priorboost as pb
from priorboost import _library
from priorboost.options import choice

TABLE = make_table("linear", n=1000)


def assert_same(a, b):
    assert (a.path_ == b.path_).all()
    assert a.history_.tobytes() == b.history_.tobytes()
    assert a.training_ == b.training_
    assert list(a.training_) == list(b.training_)
    assert (a.covariance_ is None) == (b.covariance_ is None)
    if a.covariance_ is not None:
        assert (a.covariance_ == b.covariance_).all()
    assert a.n_features_in_ == b.n_features_in_
    for name in ("l2_", "n_iter_", "plan_", "limits_", "intercept_"):
        assert getattr(a, name) == getattr(b, name)
    assert np.array_equal(a.dispersion_, b.dispersion_, equal_nan=True)


def unaligned(values):
    memory = np.zeros(values.nbytes + 1, np.uint8)
    out = memory[1:].view(values.dtype).reshape(values.shape)
    out[...] = values
    return out


def frozen(values):
    out = values.copy()
    out.flags.writeable = False
    return out


class Subclass(np.ndarray):
    """Such as a matrix or a masked array, which mean something else by the same operators."""


WAYS = {
    "integers": lambda a: a.astype(np.int64),
    "single precision": lambda a: a.astype(np.float32),
    "other byte order": lambda a: a.astype(">f8"),
    "unaligned": unaligned,
    "read-only": frozen,
    "strided": lambda a: np.repeat(a, 2, axis=0)[::2],
    "backwards": lambda a: a[::-1].copy()[::-1],
    "by columns": np.asfortranarray,
    "a list": lambda a: a.tolist(),
    "a subclass": lambda a: a.view(Subclass),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("which", ["X", "y"])
def test_whatever_holds_the_numbers(which, way):
    X, y = (np.round(values * 8) for values in TABLE)  # the same in any type
    expected = pb.PriorBoostRegressor(4, method="paper", rounds=2).fit(X, y)
    if which == "X":
        model = pb.PriorBoostRegressor(4, method="paper", rounds=2).fit(WAYS[way](X), y)
    else:
        model = pb.PriorBoostRegressor(4, method="paper", rounds=2).fit(X, WAYS[way](y))
    if way == "single precision" and which == "X":
        assert np.allclose(model.path_, expected.path_, rtol=1e-5)
    else:
        assert_same(model, expected)


@pytest.mark.parametrize("name", ["ids", "weight", "offset", "unit"])
def test_what_belongs_to_rows_is_not_forgotten(name):
    X, y = TABLE
    values = np.arange(len(y)) % 400 if name == "unit" else np.arange(len(y)) + 1
    said = {name: values / len(y) if name in ("weight", "offset") else values}
    model = pb.PriorBoostRegressor(4, method="paper", rounds=2).fit(X, y, **said)
    assert (
        model.path_ != pb.PriorBoostRegressor(4, method="paper", rounds=2).fit(X, y).path_
    ).any()


@pytest.mark.parametrize("family", ["logistic", "poisson"])
def test_labels_of_other_families_are_looked_at(family):
    X, y = make_table(family, n=1000)
    if family == "logistic":
        model = pb.PriorBoostClassifier(4, method="paper", rounds=2).fit(X, y.astype(float) + 1.0)
        assert model.classes_.tolist() == [1.0, 2.0]
        assert model.coef_.shape == (1, X.shape[1])
        assert model.intercept_.shape == (1,)
    else:
        with pytest.raises(ValueError, match="counts are not negative"):
            pb.PriorBoostPoissonRegressor(4, method="paper", rounds=2).fit(
                X, -y.astype(float) - 1.0
            )


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        (TABLE[0], TABLE[1][:-1], "inconsistent numbers of samples"),
        (TABLE[0], TABLE[1][:1], "inconsistent numbers of samples"),
        (TABLE[0][:-1], TABLE[1], "inconsistent numbers of samples"),
        (TABLE[0][:, 0], TABLE[1], "Expected 2D array"),
        (TABLE[0][:, :0], TABLE[1], "0 feature"),
        (TABLE[0][:3], TABLE[1][:3], "minimum of 4 is required"),
        (np.where(TABLE[0] > 2, np.nan, TABLE[0]), TABLE[1], "Input X contains NaN"),
        (np.where(TABLE[0] > 2, np.inf, TABLE[0]), TABLE[1], "Input X contains infinity"),
        (TABLE[0], np.where(TABLE[1] > 2, np.nan, TABLE[1]), "label"),
        (TABLE[0], None, "requires y"),
    ],
)
def test_what_is_wrong_is_said(X, y, words):
    with pytest.raises(ValueError, match=words):
        pb.PriorBoostRegressor(4, method="paper", rounds=2).fit(X, y)


def test_names_of_columns_do_not_outlive_their_table():
    X, y = TABLE
    pandas = pytest.importorskip("pandas")
    names = [f"c{j}" for j in range(X.shape[1])]
    model = pb.PriorBoostRegressor(4, method="paper", rounds=2).fit(
        pandas.DataFrame(X, columns=names), y
    )
    assert model.feature_names_in_.tolist() == names
    model.fit(X, y)
    assert not hasattr(model, "feature_names_in_")
    assert model.predict(X).shape == y.shape


# ---- What a fit leaves behind --------------------------------------------------------------------

GIVEN = ["coef_", "intercept_", "covariance_", "history_", "path_", "plan_", "l2_", "dispersion_",
         "limits_", "training_", "n_iter_"]  # fmt: skip


@pytest.mark.parametrize("kind", [pb.PriorBoostRegressor, pb.PriorBoostClassifier])
def test_nothing_is_there_before_the_fit(kind):
    model = kind(4, method="paper", rounds=2)
    assert not [name for name in GIVEN if hasattr(model, name)]
    with pytest.raises(ValueError, match="inconsistent numbers"):
        model.fit(TABLE[0], TABLE[1][:5])
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    model.fit(TABLE[0], TABLE[1] > 0)
    check_is_fitted(model)
    assert not [name for name in GIVEN if not hasattr(model, name)]
    assert not [name for name in GIVEN if hasattr(clone(model), name)]


@pytest.mark.parametrize("looked_at", [[], GIVEN])
@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_are_whole(way, looked_at):
    model = pb.PriorBoostRegressor(
        4, rounds=2, estimator="aggregate", bags="features", winsorize=2.0
    ).fit(*TABLE)
    for name in looked_at:
        getattr(model, name)
    twin = way(model)
    model_path = model.path_.copy()
    assert (twin.limits_[0] == model.limits_[0]).all()
    for name in ("path_", "covariance_", "history_", "coef_"):
        assert getattr(twin, name).tobytes() == getattr(model, name).tobytes()
    for name in ("training_", "l2_", "dispersion_", "n_iter_"):
        assert getattr(twin, name) == getattr(model, name)
    twin.fit(TABLE[0][:500], TABLE[1][:500])  # leaves the first alone
    assert (model.path_ == model_path).all()
    assert (twin.path_ != model_path).any()


def test_predicting_changes_nothing():
    model = pb.PriorBoostRegressor(4, method="paper", rounds=2).fit(*TABLE)
    before = vars(model).copy()
    model.predict(TABLE[0])
    assert vars(model) == before
    assert model.path_ is model.path_


def test_the_model_outlives_its_estimator():
    path = pb.PriorBoostRegressor(4, method="paper", rounds=2).fit(*TABLE).path_
    others = [
        pb.PriorBoostRegressor(4, method="paper", rounds=2).fit(TABLE[0], -TABLE[1])
        for _ in range(9)
    ]
    assert (path == pb.PriorBoostRegressor(4, method="paper", rounds=2).fit(*TABLE).path_).all()
    assert (others[0].path_ != path).any()


def test_a_description_is_of_one_model_alone():
    model, twin = (
        pb.PriorBoostRegressor(4, method="paper", rounds=2).fit(*TABLE) for _ in range(2)
    )
    model.training_["rounds"] = "mine"
    assert twin.training_["rounds"] == 2
    assert model.fit(*TABLE).training_["rounds"] == 2


def test_given_answers_may_choose_their_estimator():
    """Then there is a covariance, if it is the aggregate one that was chosen."""
    X, y = TABLE
    bag = np.arange(len(y)) // 4
    means = {int(b): float(y[bag == b].mean()) for b in np.unique(bag)}
    for estimator in ("cv", "aggregate", "interpolated"):
        model = pb.PriorBoostRegressor(estimator=estimator).fit(X, bag=bag, answers=means)
        aggregate = model.training_["estimator"] == "aggregate"
        assert (model.covariance_ is not None) == aggregate
        assert estimator == "cv" or aggregate == (estimator == "aggregate")
        if aggregate:
            assert (np.diag(model.covariance_) > 0).all()
    assert choice("estimator", "cv") == _library.ESTIMATOR_CV
