"""Sums by key that share rows, with labels of some rows."""

import itertools

import numpy as np
import pytest

import priorboost as pb
from priorboost.fitted import columns_of

pd = pytest.importorskip("pandas")
THETA = {"phone": 0.8, "south": 0.6, "old": -1.0}


@pytest.fixture(scope="module")
def views():
    """20,000 rows with three keys, a number and their clicks."""
    rng = np.random.default_rng(3)
    n = 20000
    rows = pd.DataFrame(
        {
            "device": rng.choice(["desktop", "phone"], n),
            "region": rng.choice(["east", "north", "south"], n),
            "age": rng.choice(["middle", "old", "young"], n),
            "visits": rng.normal(size=n).round(2),
        }
    )
    odds = -1 + 0.5 * rows.visits
    for key, name in (("device", "phone"), ("region", "south"), ("age", "old")):
        odds += THETA[name] * (rows[key] == name)
    return rows, (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(float)


def sums_of(rows, y, keys=("device", "region", "age")):
    parts = []
    for used in [*itertools.combinations(keys, 1), *itertools.combinations(keys, 2)]:
        part = y.groupby([rows[k] for k in used]).agg(["sum", "count"]).reset_index()
        parts.append(part.reindex(columns=[*keys, "count", "sum"]))
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="module")
def sums(views):
    rows, y = views
    return sums_of(rows, pd.Series(y))


def test_sums_and_labels_find_the_weights(views, sums):
    rows, y = views
    some = np.where(np.arange(len(y)) % 20 == 0, y, np.nan)
    model = pb.PriorBoostClassifier().fit(rows, some, sums=sums)
    weight = dict(zip(columns_of(model, model._fitted.encoding), model.coef_.ravel(), strict=True))
    error = np.sqrt(np.diag(model.covariance_))[:-1]
    assert (error < 0.1).all()
    for name, truth in (("device=phone", 0.8), ("region=south", 0.6), ("visits", 0.5)):
        assert weight[name] == pytest.approx(truth, abs=0.2)
    assert weight["age=old"] - weight.get("age=young", 0.0) == pytest.approx(-1.0, abs=0.2)
    assert model.n_redundant_ == len(sums) - (1 + 1 + 2 + 2 + 2 + 2 + 4)
    assert model.history_["bags"].tolist() == [len(sums) + 1000]
    assert model.classes_.tolist() == [0, 1]


def test_the_program_and_python_agree(views, sums, tmp_path, cli):
    rows, _ = views
    rows.assign(y="").to_csv(tmp_path / "rows.csv", index=False)
    sums.to_csv(tmp_path / "sums.csv", index=False)
    out = cli("train", "--data", tmp_path / "rows.csv", "--sums", tmp_path / "sums.csv",
              "--family", "logistic", "--label", "y")  # fmt: skip
    model = pb.PriorBoostClassifier().fit(rows, sums=sums)
    assert np.allclose(model.coef_.ravel(), out["theta"], rtol=1e-9)


def test_keys_need_not_be_features(views, sums):
    rows, _ = views
    keys = rows[["device", "region", "age"]]
    features = pd.get_dummies(keys, drop_first=True).to_numpy(dtype=float)
    # The ridge is given: levels share the one that a fit chooses, columns of 0 and 1 do not.
    plain = pb.PriorBoostClassifier(l2=1.0).fit(keys, sums=sums)
    model = pb.PriorBoostClassifier(l2=1.0).fit(features, sums=pb.GivenSums(sums, keys=keys))
    assert sorted(model.coef_.ravel()) == pytest.approx(sorted(plain.coef_.ravel()), rel=1e-6)
    with pytest.raises(ValueError, match="'device', which is neither a column of X nor sum"):
        pb.PriorBoostClassifier().fit(features, sums=sums)


def test_numbers_are_keys_by_their_value():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"child": rng.integers(0, 4, 4000), "x": rng.normal(size=4000)})
    y = rows.child + rng.normal(size=4000)
    table = y.groupby(rows.child).mean().reset_index(name="mean")
    for kind in (int, float, str):
        lines = table.assign(child=table.child.astype(kind))
        model = pb.PriorBoostRegressor().fit(rows, sums=lines)
        assert model.coef_[0] == pytest.approx(1.0, abs=0.1)


def test_noise_is_weighed(views, sums):
    rows, _ = views
    exact = pb.PriorBoostClassifier().fit(rows.drop(columns="visits"), sums=sums)
    noisy = pb.PriorBoostClassifier().fit(
        rows.drop(columns="visits"), sums=sums.assign(variance=1e5)
    )
    assert (np.diag(noisy.covariance_) > np.diag(exact.covariance_)).all()
    assert noisy.n_redundant_ == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s.assign(count=3), "count is 3, but [0-9]+ rows have device=desktop"),
        (lambda s: s.drop(columns="sum"), "one of the columns 'sum' and 'mean'"),
        (lambda s: s.assign(mean=0.5), "one of the columns 'sum' and 'mean'"),
        (lambda s: pd.concat([s, s[:1]]), "two lines with device=desktop"),
        (lambda s: s.rename(columns={"age": "aeg"}), "column 'aeg', which is neither"),
        (lambda s: s.assign(sum=s["count"] + 1), "which no logistic labels have"),
        (lambda s: s.assign(sum="much"), "not all numbers: .*'much'"),
        (lambda s: s.assign(variance=-1.0), "variance -1"),
        (
            lambda s: s.assign(device=s.device.replace("phone", "fone")).drop(columns="count"),
            "no row has device=fone",
        ),
        (
            lambda s: s.assign(sum=np.where(np.arange(len(s)) == 5, s["sum"] + 1, s["sum"])),
            "the line with .* has sum [0-9]+, but its rows are a combination",
        ),
        (lambda s: s["sum"].tolist(), "must be a table"),
    ],
)
def test_sums_that_do_not_fit_are_refused(views, sums, change, message):
    rows, _ = views
    with pytest.raises(ValueError, match=message):
        pb.PriorBoostClassifier().fit(rows, sums=change(sums))


def test_what_does_not_go_with_sums_is_refused(views, sums):
    rows, y = views
    for parameters, message in (
        ({"model": "trees"}, "sums are for model='glm'"),
        ({"estimator": "event"}, "sums need the aggregate estimator"),
        ({"rounds": 2}, "nothing is asked"),
        ({"covariance": "sandwich"}, "sandwich"),
        ({"l2": "cv"}, "cross-validation"),
    ):
        with pytest.raises(ValueError, match=message):
            pb.PriorBoostClassifier(**parameters).fit(rows, sums=sums)
    with pytest.raises(ValueError, match="sums cannot be used with an oracle or with answers"):
        pb.PriorBoostClassifier().fit(rows, bag="device", answers={"phone": 0.1}, sums=sums)
    for labels, message in (
        (np.where(y == 1, 2.0, np.nan), "is 2, which is no logistic label"),
        (["yes"] * len(y), "must be numbers"),
        (y[:5], "5 labels for 20000 rows"),
    ):
        with pytest.raises(ValueError, match=message):
            pb.PriorBoostClassifier().fit(rows, labels, sums=sums)
