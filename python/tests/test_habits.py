"""What users of scikit-learn do with any estimator."""

import math
import pickle
import warnings

import joblib
import numpy as np
import pytest
import sklearn
from conftest import KINDS, make_table
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import priorboost as pb
from priorboost.columns import limits_of


@pytest.mark.parametrize("family", KINDS)
def test_single_labels_give_the_ordinary_model(family):
    """At min_bag 1 and one round nothing is lost: scikit-learn's own model comes out."""
    X, y = make_table(family)
    ours = KINDS[family](min_bag=1, rounds=1, l2=2.0).fit(X, y)
    peer = {
        "linear": Ridge(alpha=2.0),
        "logistic": LogisticRegression(C=0.5, tol=1e-10),
        "poisson": PoissonRegressor(alpha=2.0 / len(X), tol=1e-10, max_iter=1000),
    }[family].fit(X, y)
    assert np.allclose(ours.coef_, peer.coef_, atol=1e-5)
    assert np.allclose(ours.intercept_, peer.intercept_, atol=1e-5)
    assert np.isclose(ours.score(X, y), peer.score(X, y), atol=1e-6)


@pytest.mark.parametrize("family", KINDS)
def test_a_fitted_model_survives_storage(family, tmp_path):
    X, y = make_table(family)
    model = KINDS[family](min_bag=3).fit(X, y)
    joblib.dump(model, tmp_path / "model")
    for again in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model")):
        assert again.predict(X).tolist() == model.predict(X).tolist()
        assert again.get_params() == model.get_params()


def test_clone_is_unfitted_and_equal():
    model = pb.PriorBoostClassifier(min_bag=7, epsilon=0.5, random_state=3)
    twin = clone(model.fit(*make_table("logistic")))
    assert twin.get_params() == model.get_params()
    assert not hasattr(twin, "coef_")


def test_pipeline_and_grid_search():
    X, y = make_table("logistic")
    pipe = make_pipeline(StandardScaler(), pb.PriorBoostClassifier(min_bag=4))
    search = GridSearchCV(
        pipe, {"priorboostclassifier__l2": [0.1, 1000.0]}, n_jobs=2, scoring="neg_log_loss"
    )
    search.fit(X, y)
    assert search.best_params_ == {"priorboostclassifier__l2": 0.1}


@pytest.mark.skipif(
    not hasattr(pb.PriorBoostRegressor, "set_fit_request"),
    reason=f"scikit-learn {sklearn.__version__} has no metadata routing",
)
def test_ids_are_routed():
    X, y = make_table("linear", n=400)
    ids = np.arange(len(X)) * 3
    seen = []

    class Spy(pb.PriorBoostRegressor):
        def fit(self, X, y=None, *, oracle=None, ids=None, offset=None):
            seen.append(ids)
            return super().fit(X, y, oracle=oracle, ids=ids, offset=offset)

    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(StandardScaler(), Spy().set_fit_request(ids=True))
        cross_val_score(pipe, X, y, cv=2, params={"ids": ids})
    assert [len(s) for s in seen] == [200, 200]
    assert set(seen[0]) | set(seen[1]) == set(ids)


def test_the_number_of_threads_does_not_matter():
    X, y = make_table("poisson", n=20_000)
    one = pb.PriorBoostPoissonRegressor(min_bag=4).fit(X, y)
    two = pb.PriorBoostPoissonRegressor(min_bag=4, n_jobs=2).fit(X, y)
    assert one.path_.tolist() == two.path_.tolist()


def test_noise_is_seeded_only_on_request():
    X, y = make_table("logistic")
    model = pb.PriorBoostClassifier(min_bag=8, epsilon=1)
    assert model.fit(X, y).coef_.tolist() != model.fit(X, y).coef_.tolist()
    assert model.training_["simulated"] is False
    model.set_params(random_state=1)
    assert model.fit(X, y).coef_.tolist() == model.fit(X, y).coef_.tolist()
    assert model.training_["simulated"] is True


def test_a_random_state_may_be_a_generator():
    X, y = make_table("linear", n=400)
    for state in (np.random.RandomState(0), np.random.default_rng(0)):
        pb.PriorBoostRegressor(random_state=state).fit(X, y)
    with pytest.raises(ValueError, match="random_state"):
        pb.PriorBoostRegressor(random_state="today").fit(X, y)


def test_offset_is_exposure():
    X, _ = make_table("poisson", n=20_000)
    rng = np.random.default_rng(1)
    exposure = rng.uniform(0.5, 2.0, len(X))
    y = rng.poisson(exposure * np.exp(0.3 * X[:, 0] + 0.2))
    model = pb.PriorBoostPoissonRegressor(min_bag=4).fit(X, y, offset=np.log(exposure))
    assert abs(model.intercept_ - 0.2) < 0.1
    ratio = model.predict(X, offset=np.log(exposure)) / model.predict(X)
    assert np.allclose(ratio, exposure)


def test_weights_count():
    X, y = make_table("linear", n=400)
    half = np.arange(400) < 200
    y[half] += 3.0
    model = pb.PriorBoostRegressor(min_bag=1, rounds=1, l2=0.0)
    model.fit(X, y, weight=np.where(half, 0.0, 1.0))
    assert abs(model.intercept_) < 0.1
    with pytest.raises(ValueError, match="at least 0"):
        model.fit(X, y, weight=-np.ones(400))
    with pytest.raises(ValueError, match="one number per row"):
        model.fit(X, y, weight=[1.0])


def test_far_values_are_moved_in():
    X, y = make_table("linear")
    wild = X.copy()
    wild[::50, 1] *= 1e6
    X = np.column_stack([wild, np.arange(len(X)) % 2])
    tame = pb.PriorBoostRegressor(min_bag=3, rounds=2, winsorize=3.0).fit(X, y)
    lower, upper = tame.limits_
    assert lower[-1] == -np.inf  # two values have no tails
    assert upper[-1] == np.inf
    assert tame.predict(X).tolist() == tame.predict(np.clip(X, lower, upper)).tolist()
    assert pb.PriorBoostRegressor(min_bag=3, rounds=2).fit(X, y).limits_ is None
    with pytest.raises(ValueError, match="winsorize"):
        pb.PriorBoostRegressor(winsorize=0.0).fit(X, y)


@pytest.mark.parametrize("size", [1e-300, 1.0, 1e307])
def test_limits_of_numbers_of_any_size(size):
    lower, upper = limits_of(size * np.array([[1.0], [2.0], [3.0]]), 1.0)
    assert lower[0] == pytest.approx(size * (2 - math.sqrt(2 / 3)), rel=1e-14, abs=0)
    assert upper[0] == pytest.approx(size * (2 + math.sqrt(2 / 3)), rel=1e-14, abs=0)


def test_equal_parameters_of_other_types_are_not_the_same():
    """Parameters that are kept from an earlier fit do not hide errors in new ones."""
    X, y = make_table("linear", n=200)
    pb.PriorBoostRegressor(min_bag=1, method="paper", rounds=1).fit(X, y)
    with pytest.raises(ValueError, match="rounds is True"):
        pb.PriorBoostRegressor(min_bag=1, method="paper", rounds=True).fit(X, y)
    wide = pb.PriorBoostRegressor(method="paper", rounds=1, bounds=[-9, 9]).fit(X, y)
    tight = pb.PriorBoostRegressor(method="paper", rounds=1, bounds=(-9, 9)).fit(X, y)
    assert wide.coef_.tolist() == tight.coef_.tolist()
    state = np.random.RandomState(0)
    model = pb.PriorBoostRegressor(method="paper", rounds=2, random_state=state)
    assert model.fit(X, y).coef_.tolist() != model.fit(X, y).coef_.tolist()


def test_a_warning_points_to_the_fit():
    X, y = make_table("linear", n=40)
    model = pb.PriorBoostRegressor(min_bag=8, rounds=1, estimator="aggregate", bags="features")
    with pytest.warns(UserWarning, match="only 5 bags") as caught:
        model.fit(X, y)
    assert caught[0].filename == __file__


def test_staged_predictions_end_with_the_model():
    X, y = make_table("linear")
    model = pb.PriorBoostRegressor(min_bag=4, rounds=4).fit(X, y)
    stages = list(model.staged_predict(X))
    assert len(stages) == 4
    assert stages[-1].tolist() == model.predict(X).tolist()
    errors = [((stage - y) ** 2).mean() for stage in stages]
    assert errors[-1] < errors[0]


def test_classes_may_be_any_two_labels():
    X, y = make_table("logistic")
    model = pb.PriorBoostClassifier().fit(X, np.array(["no", "yes"])[y])
    plain = pb.PriorBoostClassifier().fit(X, y)
    assert model.classes_.tolist() == ["no", "yes"]
    assert (model.predict(X) == "yes").tolist() == (plain.predict(X) == 1).tolist()
    assert np.allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"min_bag": 0}, "min_bag is 0"),
        ({"min_bag": 2.5}, "min_bag is 2.5"),
        ({"min_bag": 500}, "500"),
        ({"rounds": 0}, "rounds is 0"),
        ({"rounds": 200}, "rounds"),
        ({"algorithm": "best"}, "best"),
        ({"estimator": "best"}, "best"),
        ({"bags": "best"}, "best"),
        ({"schedule": "best"}, "best"),
        ({"algorithm": "oneshot", "bags": "prior"}, "oneshot"),
        ({"algorithm": "oneshot", "rounds": 2}, "oneshot"),
        ({"epsilon": 1.0}, "epsilon needs bounds"),
        ({"epsilon": -1.0, "bounds": (0, 1)}, "-1"),
        ({"step": 0.5}, "step needs bounds"),
        ({"bounds": (-0.1, 0.1)}, "bounds"),
        ({"bag_size": 1}, "bag_size"),
        ({"l2": -1.0}, "l2"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"random_state": -1}, "random_state"),
        ({"min_bag": "4"}, "min_bag is '4'"),
        ({"l2": "ridge"}, "l2 is 'ridge'"),
        ({"n_jobs": "two"}, "n_jobs is 'two'"),
        ({"bounds": 5}, "bounds is 5"),
        ({"bounds": (0, 1, 2)}, r"bounds is \(0, 1, 2\)"),
        ({"bounds": (9, -9)}, "bounds"),
        ({"step": "small", "bounds": (-9, 9)}, "step is 'small'"),
        ({"winsorize": "far"}, "winsorize is 'far'"),
        ({"rho": "half", "estimator": "interpolated"}, "rho is 'half'"),
        ({"rho": 2.0, "estimator": "interpolated"}, "rho is 2"),
        ({"epsilon": "much", "bounds": (-9, 9)}, "much"),
        ({"algorithm": 3}, "algorithm is 3"),
    ],
)
def test_bad_parameters_are_refused_with_a_reason(parameters, message):
    X, y = make_table("linear", n=200)
    with pytest.raises(ValueError, match=message):
        pb.PriorBoostRegressor(**parameters).fit(X, y)


def test_a_prior_must_predict():
    X, y = make_table("linear", n=200)
    with pytest.raises(TypeError, match="prior is 3"):
        pb.PriorBoostRegressor(prior=3).fit(X, y)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        pb.PriorBoostRegressor(prior="nowhere.json").fit(X, y)

    class Odd:
        def predict(self, X):
            return np.full(len(X), np.nan)

    with pytest.raises(ValueError, match="one finite number"):
        pb.PriorBoostRegressor(prior=Odd()).fit(X, y)


def test_bad_features_are_refused():
    X, y = make_table("linear", n=200)
    for wrong, message in (
        (X.astype(str).astype(object) + "x", "could not convert string"),
        (X[:, 0], "1D array|Reshape"),
        (X[:0], "0 sample|minimum"),
        (X[:, :0], "0 feature"),
        (X + 1j, "[Cc]omplex"),
        (X[:1], "minimum of 2 is required"),
    ):
        with pytest.raises(ValueError, match=message):
            pb.PriorBoostRegressor().fit(wrong, y[: len(wrong)])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        pb.PriorBoostRegressor().fit(X, y[:-1])
    model = pb.PriorBoostRegressor(rounds=1).fit(X, y)
    with pytest.raises(ValueError, match="offset has the shape"):
        model.predict(X, offset=[1.0])
    with pytest.raises(ValueError, match="3 features"):
        model.predict(X[:, :3])


def test_bad_labels_are_refused():
    X, y = make_table("linear", n=200)
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="label of row 7"):
            pb.PriorBoostRegressor(rounds=1).fit(X, np.where(np.arange(200) == 7, bad, y))
    with pytest.raises(ValueError, match="y holds 'a'; labels must be numbers"):
        pb.PriorBoostRegressor().fit(X, ["a"] * 200)
    with pytest.raises(ValueError, match="not negative"):
        pb.PriorBoostPoissonRegressor().fit(X, -np.ones(200))
    with pytest.raises(ValueError, match="one class"):
        pb.PriorBoostClassifier().fit(X, np.ones(200))
    with pytest.raises(ValueError, match="multiclass"):
        pb.PriorBoost(LogisticRegression()).fit(X, np.arange(200) % 3)
    with pytest.raises(ValueError, match="no oracle"):
        pb.PriorBoostRegressor().fit(X)
    with pytest.raises(ValueError, match="both"):
        pb.PriorBoostRegressor().fit(X, y, oracle=pb.InMemoryOracle(y, 2))


def test_progress_is_shown_on_request(capsys):
    X, y = make_table("linear", n=400)
    pb.PriorBoostRegressor(rounds=4).fit(X, y)
    assert capsys.readouterr().err == ""
    pb.PriorBoostRegressor(rounds=4, verbose=1).fit(X, y)
    assert "4/4 rounds" in capsys.readouterr().err


def test_intervals_need_a_covariance():
    X, y = make_table("linear", n=200)
    model = pb.PriorBoostRegressor(estimator="event").fit(X, y)
    with pytest.raises(ValueError, match="gives no covariance, so there are no intervals"):
        model.predict_interval(X)


@pytest.mark.parametrize("family", KINDS)
def test_intervals_hold_the_truth(family):
    """95 % intervals of the mean, over fresh tables: most hold it, and not all."""
    theta = np.linspace(-1.0, 1.0, 4) * (0.5 if family == "poisson" else 1.0)
    X = make_table(family, n=500, seed=99)[0]
    eta = X @ theta
    truth = {"linear": eta, "logistic": 1 / (1 + np.exp(-eta)), "poisson": np.exp(eta)}[family]
    held = []
    for seed in range(20):
        model = KINDS[family](min_bag=5, estimator="aggregate", bags="features", rounds=1)
        model.fit(*make_table(family, n=4000, seed=seed))
        lower, upper = model.predict_interval(X)
        held.append(((lower < truth) & (truth < upper)).mean())
    assert 0.88 < np.mean(held) < 0.995


def test_no_choice_is_a_plan():
    X, y = make_table("logistic", n=4000)
    model = pb.PriorBoostClassifier(min_bag=10).fit(X, y)
    assert model.training_["estimator"] == "aggregate"
    assert model.plan_.best.bags == model.training_["bags"]
    assert model.covariance_.shape == (5, 5)
    assert model.method_ == "auto"
    paper = pb.PriorBoostClassifier(min_bag=10, method="paper").fit(X, y)
    assert (paper.method_, paper.plan_) == ("paper", None)
    assert paper.training_["estimator"] == "event"
    assert pickle.loads(pickle.dumps(model)).method_ == "auto"


@pytest.fixture(scope="module")
def readme(cli, tmp_path_factory):
    """The README's data: features and labels to train on, and to test on."""
    folder = tmp_path_factory.mktemp("readme")
    cli("generate", "--family", "logistic", "--rows", 50000, "--features", 6, "--seed", 1,
        "--out", folder / "data.csv",
        "--test-rows", 10000, "--test-out", folder / "test.csv")  # fmt: skip
    rows = (np.loadtxt(folder / f"{n}.csv", delimiter=",", skiprows=1) for n in ("data", "test"))
    return [part for table in rows for part in (table[:, :-1], table[:, -1])]


# Before parameters were kept by a plan, all but the last four had a loss of 0.395 or more.
@pytest.mark.parametrize(
    "said",
    [
        {"rounds": 1},
        {"rounds": 4},
        {"bag_size": 50},
        {"bags": "features"},
        {"bags": "hybrid"},
        {"bags": "random"},
        {"bags": "prior"},
        {"schedule": "geometric"},
        {"l2": 1.0},
        {"estimator": "aggregate"},
        {"estimator": "cv"},
    ],
)
def test_one_parameter_more_is_no_other_method(readme, said):
    """At most a hundredth of the way from auto to the constant model is lost."""
    X, y, X_test, y_test = readme
    auto = pb.PriorBoostClassifier(min_bag=32).fit(X, y)
    model = pb.PriorBoostClassifier(min_bag=32, **said).fit(X, y)
    assert model.method_ == "auto"
    for name in ("rounds", "bags"):
        assert model.training_[name] == said.get(name, model.training_[name])
    best, loss = (log_loss(y_test, m.predict_proba(X_test)) for m in (auto, model))
    assert loss < best + 0.01 * (np.log(2) - best)


def test_methods_that_contradict_are_refused():
    X, y = make_table("logistic", n=400)
    for said, other in (
        ({"algorithm": "pbprefix"}, "algorithm='pbprefix'"),
        ({"estimator": "event"}, "estimator='event'"),
        ({"round_answers": True}, "answers that are rounded"),
    ):
        with pytest.raises(ValueError, match=f"method='auto' and {other} contradict"):
            pb.PriorBoostClassifier(method="auto", **said).fit(X, y)
        assert pb.PriorBoostClassifier(**said).fit(X, y).method_ == "paper"
    with pytest.raises(ValueError, match="method is 'best'; it must be"):
        pb.PriorBoostClassifier(method="best").fit(X, y)
    oracle = pb.InMemoryOracle(y.astype(float), 4, round_answers=True)
    assert pb.PriorBoostClassifier().fit(X, oracle=oracle).method_ == "paper"


def test_noise_from_a_seed_is_said_to_be_simulated():
    X, y = make_table("logistic", n=400)
    quiet = [
        {"random_state": 1},
        {"epsilon": 1},
        {"epsilon": 1, "method": "paper"},
        {"random_state": 1, "method": "paper"},
    ]
    for said in quiet:
        with warnings.catch_warnings():
            warnings.filterwarnings("error", "the noise is simulated")
            assert not pb.PriorBoostClassifier(min_bag=4, **said).fit(X, y).simulated_
    for said in (
        {"epsilon": 1},
        {"epsilon": 1, "method": "paper"},
        {"epsilon": 1, "verbose": 1, "rounds": 2},
        {"round_answers": True},
    ):
        model = pb.PriorBoostClassifier(min_bag=4, random_state=1, **said)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, y)
        seeded = [w for w in caught if "follows from random_state" in str(w.message)]
        assert len(seeded) == 1
        assert seeded[0].filename == __file__
        assert model.simulated_
        assert model.training_["simulated"]
    rules = {"epsilon": 1, "bounds": (0, 1)}
    oracle = pb.InMemoryOracle(y.astype(float), 4, random_state=1, **rules)
    with pytest.warns(UserWarning, match="follows from random_state"):
        model = pb.PriorBoostClassifier().fit(X, oracle=oracle)
    assert model.simulated_
    with pytest.warns(UserWarning, match="follows from random_state"):
        meta = pb.PriorBoost(LogisticRegression(), 4, epsilon=1, random_state=1).fit(X, y)
    assert meta.simulated_


def test_a_seed_does_not_simulate_the_noise_of_another_party():
    X, y = make_table("logistic", n=400)
    oracle = pb.InMemoryOracle(y.astype(float), 4, epsilon=1, bounds=(0, 1))
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "the noise is simulated")
        model = pb.PriorBoostClassifier(random_state=1).fit(X, oracle=oracle)
    assert not model.training_["simulated"]
    oracle = pb.InMemoryOracle(y.astype(float), 4, epsilon=1, bounds=(0, 1))
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "the noise is simulated")
        meta = pb.PriorBoost(LogisticRegression(), random_state=1).fit(X, oracle=oracle)
    assert not meta.simulated_


def test_noise_and_rounding_need_the_right_estimator():
    X, y = make_table("logistic", n=400)
    with pytest.raises(ValueError, match="round_answers"):
        pb.PriorBoostClassifier(estimator="aggregate", round_answers=True).fit(X, y)
    with pytest.raises(ValueError, match="cv"):
        pb.PriorBoostClassifier(estimator="event", l2="cv").fit(X, y)
    with pytest.raises(ValueError, match="rho"):
        pb.PriorBoostClassifier(estimator="event", rho=0.5).fit(X, y)
    with pytest.raises(ValueError, match="covariance"):
        pb.PriorBoostClassifier(covariance="best").fit(X, y)
