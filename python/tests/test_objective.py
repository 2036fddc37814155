"""The loss of bag answers, and the packages that are fitted by it."""

import sys

import numpy as np
import pytest
from conftest import make_table
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import priorboost as pb
from priorboost.objective import dispersion_of

FAMILIES = ["linear", "logistic", "poisson"]


def regressor(package, **parameters):
    if package == "lightgbm":
        quiet = {"verbose": -1, "n_jobs": 1, "num_leaves": 8}
        return pytest.importorskip("lightgbm").LGBMRegressor(**quiet | parameters)
    return pytest.importorskip("xgboost").XGBRegressor(**{"n_jobs": 1, "max_depth": 5} | parameters)


def classifier(package, **parameters):
    if package == "lightgbm":
        quiet = {"verbose": -1, "n_jobs": 1, "num_leaves": 8}
        return pytest.importorskip("lightgbm").LGBMClassifier(**quiet | parameters)
    return pytest.importorskip("xgboost").XGBClassifier(
        **{"n_jobs": 1, "max_depth": 5} | parameters
    )


def waves(n=4000, seed=0):
    """A table that no straight line explains."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 3))
    return X, 1.5 * np.sin(2 * X[:, 0]) * X[:, 1]


def some_answers(family, noise=False, seed=0):
    X, y = make_table(family, n=300, seed=seed)
    bags = pb.random_bags(300, 7, random_state=seed)
    bounds = {"linear": (-6, 6), "logistic": (0, 1), "poisson": (0, 30)}[family]
    rules = {"epsilon": 1, "bounds": bounds, "random_state": 1, "clamp": True} if noise else {}
    oracle = pb.InMemoryOracle(y, 7, **rules)
    return X, y, bags, oracle.ask(0, bags), oracle.noise_variance(bags)


# ---- The loss ------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_gradient_is_that_of_the_loss(family, noise):
    _, _, bags, answers, variance = some_answers(family, noise)
    assert (variance > 0).all() == noise
    objective = pb.bag_objective(bags, answers, family, variance)
    raw = np.random.default_rng(1).normal(size=300)
    frozen = objective.bag_variance(raw)
    gradient, _ = objective.derivatives(raw)
    for i in range(0, 300, 17):
        step = np.zeros(300)
        step[i] = 1e-4
        difference = objective.loss(raw + step, frozen) - objective.loss(raw - step, frozen)
        assert gradient[i] == pytest.approx(difference / 2e-4, rel=1e-4, abs=1e-7)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_curvature_bounds_that_of_every_bag(family):
    """Diag(h) - v v' / V has no negative eigenvalue, and a smaller diagonal would have one."""
    _, _, bags, answers, variance = some_answers(family, True)
    objective = pb.bag_objective(bags, answers, family, variance)
    raw = np.random.default_rng(1).normal(size=300)
    _, curvature = objective.derivatives(raw)
    mean = objective.mean(raw)
    own = {"linear": np.ones(300), "logistic": mean * (1 - mean), "poisson": mean}[family]
    for b, total in enumerate(objective.bag_variance(raw)):
        rows = bags[b]
        v = own[rows] / len(rows)
        exact = np.outer(v, v) / total
        assert np.linalg.eigvalsh(np.diag(curvature[rows]) - exact).min() > -1e-12
        assert np.linalg.eigvalsh(0.99 * np.diag(curvature[rows]) - exact).min() < 0


@pytest.mark.parametrize("family", FAMILIES)
def test_bags_of_one_row_have_the_loss_of_the_family(family):
    _, y = make_table(family, n=100)
    objective = pb.bag_objective(pb.Bags(np.arange(100), np.arange(101)), y, family)
    raw = np.random.default_rng(1).normal(size=100)
    gradient, curvature = objective.derivatives(raw)
    mean = objective.mean(raw)
    own = {"linear": np.ones(100), "logistic": mean * (1 - mean), "poisson": mean}[family]
    assert np.allclose(gradient, mean - y)
    assert np.allclose(curvature, own)


def test_the_constant_model_predicts_the_mean_of_the_answers():
    for family in FAMILIES:
        _, y, bags, answers, _ = some_answers(family)
        objective = pb.bag_objective(bags, answers, family)
        assert np.allclose(objective.mean(np.zeros(3)), y.mean())
    bags = pb.Bags(np.arange(8), [0, 4, 8])
    for family, answer in (("logistic", 0.0), ("logistic", 1.0), ("poisson", 0.0)):
        objective = pb.bag_objective(bags, [answer, answer], family)
        assert np.isfinite(objective.start)
        assert np.isfinite(objective.derivatives(np.full(8, -900.0))).all()
        assert np.isfinite(objective.derivatives(np.full(8, 900.0))).all()


def test_rows_in_no_bag_are_not_used():
    objective = pb.bag_objective(pb.Bags([0, 1, 4, 5], [0, 2, 4]), [1.0, 2.0])
    gradient, curvature = objective.derivatives(np.arange(6.0))
    assert (gradient[[2, 3]] == 0).all()
    assert (curvature[[2, 3]] == 0).all()
    assert (curvature[[0, 1, 4, 5]] > 0).all()


def test_noisy_bags_count_less():
    bags = pb.Bags(np.arange(8), [0, 4, 8])
    objective = pb.bag_objective(bags, [3.0, -3.0], "linear", [0.0, 1e6])
    gradient, _ = objective.derivatives(np.zeros(8))
    assert abs(gradient[0]) > 1000 * abs(gradient[7])


def test_the_dispersion():
    """Without noise in closed form; with noise it solves its equation; noise alone gives no 0."""
    rng = np.random.default_rng(0)
    own, noise = np.full(4000, 0.1), np.full(4000, 0.5)
    residual = rng.normal(size=4000) * np.sqrt(3 * own + noise)
    none = np.zeros(4000)
    assert dispersion_of(residual, own, none, "linear") == pytest.approx(
        np.sum(residual**2 / own) / 3999
    )
    assert dispersion_of(residual, own, noise, "linear") == pytest.approx(3, rel=0.1)
    assert dispersion_of(residual, own, noise, "logistic") == 1
    alone = rng.normal(size=4000) * np.sqrt(0.9 * noise)
    assert 0.05 < dispersion_of(alone, own, noise, "linear") < 0.5
    assert dispersion_of(alone, own, noise, "poisson") == 1


BAD = [
    ([1.0], {}, r"shape \(1,\); it must have one mean per bag, \(2,\)"),
    ([1.0, np.nan], {}, "must be finite"),
    ([1.0, 2.0], {"noise_variance": -1.0}, "must be finite, and the latter not negative"),
    ([0.5, 1.5], {"family": "logistic"}, "bag 1 has the answer 1.5, which no logistic labels have"),
    ([1.0, 2.0], {"family": "gamma"}, "family is 'gamma'"),
]


@pytest.mark.parametrize(("answers", "options", "message"), BAD)
def test_bad_answers_are_refused(answers, options, message):
    with pytest.raises(ValueError, match=message):
        pb.bag_objective(pb.Bags(np.arange(6), [0, 3, 6]), answers, **options)


def test_bad_bags_and_tables_are_refused():
    with pytest.raises(ValueError, match="bag 1 has no rows"):
        pb.bag_objective(pb.Bags(np.arange(6), [0, 6, 6]), [1.0, 2.0])
    objective = pb.bag_objective(pb.Bags(np.arange(6), [0, 3, 6]), [1.0, 2.0])
    with pytest.raises(ValueError, match="there are 4 predictions, but the bags name row 5"):
        objective.derivatives(np.zeros(4))


# ---- On its own, in the packages -----------------------------------------------------------------


def test_lightgbm_takes_it_in_both_interfaces():
    lightgbm = pytest.importorskip("lightgbm")
    X, y = waves()
    bags = pb.feature_bags(X, 8)
    objective = pb.bag_objective(bags, pb.InMemoryOracle(y, 8).ask(0, bags))
    one = regressor("lightgbm", objective=objective).fit(X, np.zeros(len(X)))
    parameters = {"objective": objective, "num_leaves": 8, "verbose": -1, "num_threads": 1}
    two = lightgbm.train(parameters, lightgbm.Dataset(X, np.zeros(len(X))))
    assert np.allclose(one.predict(X, raw_score=True), two.predict(X, raw_score=True))
    assert np.mean((objective.mean(two.predict(X, raw_score=True)) - y) ** 2) < 0.3 * y.var()


def test_xgboost_takes_it_in_both_interfaces():
    xgboost = pytest.importorskip("xgboost")
    X, y = waves()
    bags = pb.feature_bags(X, 8)
    objective = pb.bag_objective(bags, pb.InMemoryOracle(y, 8).ask(0, bags))
    one = regressor("xgboost", objective=objective).fit(X, np.zeros(len(X)))
    data = xgboost.DMatrix(X, np.zeros(len(X)))
    two = xgboost.train({"max_depth": 5, "nthread": 1}, data, 100, obj=objective)
    raw = two.predict(data, output_margin=True)
    assert np.allclose(one.predict(X, output_margin=True), raw, atol=1e-5)
    assert np.mean((objective.mean(raw) - y) ** 2) < 0.3 * y.var()


# ---- The meta-estimator --------------------------------------------------------------------------

PACKAGES = ["lightgbm", "xgboost"]


@pytest.mark.parametrize("package", PACKAGES)
def test_trees_from_answers_beat_the_straight_line(package):
    X, y = waves()
    model = pb.PriorBoost(regressor(package), min_bag=16).fit(X, y)
    line = pb.PriorBoostRegressor(min_bag=16).fit(X, y)
    assert model.score(X, y) > 0.7 > line.score(X, y) + 0.4
    assert 0 < model.n_trees_ <= 100
    assert len(model.history_) == 1
    fresh, truth = waves(seed=1)
    assert model.score(fresh, truth) > 0.7


@pytest.mark.parametrize("package", PACKAGES)
def test_a_classifier_and_its_classes(package):
    X, eta = waves()
    y = np.random.default_rng(1).random(len(X)) < 1 / (1 + np.exp(-2 * eta))
    names = np.array(["no", "yes"])[y.astype(int)]
    model = pb.PriorBoost(classifier(package), min_bag=16).fit(X, names)
    assert model.score(X, names) > 0.7
    share = model.predict_proba(X)[:, 1]
    assert share.mean() == pytest.approx(y.mean(), abs=0.02)
    assert (model.predict(X) == np.array(["no", "yes"])[(share > 0.5).astype(int)]).all()


@pytest.mark.parametrize(
    ("package", "name"), [("lightgbm", "poisson"), ("xgboost", "count:poisson")]
)
def test_the_objective_of_the_estimator_says_the_family(package, name):
    X, eta = waves()
    y = np.random.default_rng(1).poisson(np.exp(eta))
    model = pb.PriorBoost(regressor(package, objective=name), min_bag=8).fit(X, y)
    assert model.predict(X).min() > 0
    assert np.corrcoef(np.log(model.predict(X)), eta)[0, 1] > 0.9


@pytest.mark.parametrize(
    ("package", "name"), [("lightgbm", "quantile"), ("xgboost", "reg:tweedie"), ("lightgbm", print)]
)
def test_other_objectives_are_refused(package, name):
    X, y = waves(200)
    with pytest.raises(ValueError, match=r"the objective of \w+ is .*; for bag answers it must be"):
        pb.PriorBoost(regressor(package, objective=name)).fit(X, y)


@pytest.mark.parametrize("package", PACKAGES)
def test_noise_is_allowed_for(package):
    X, y = waves(8000)
    options = {"epsilon": 2, "bounds": (-4, 4), "random_state": 0, "bag_size": 32}
    with pytest.warns(UserWarning, match="the noise is simulated"):
        model = pb.PriorBoost(regressor(package), min_bag=4, **options).fit(X, y)
    assert model.simulated_
    assert model.score(X, y) > 0.4


def test_labels_that_follow_from_nothing_give_their_mean():
    X, y = waves(1000)
    for min_bag, labels in ((16, np.full(1000, 3.0)), (1000, y)):
        with pytest.warns(UserWarning, match="no number of trees predicts the answers of bags"):
            model = pb.PriorBoost(regressor("lightgbm"), min_bag=min_bag).fit(X, labels)
        assert model.n_trees_ == 0
        assert np.allclose(model.predict(X), labels.mean())


def test_the_number_of_trees_can_be_fixed():
    X, y = waves(1000)
    model = pb.PriorBoost(regressor("lightgbm", n_estimators=7), folds=None).fit(X, y)
    assert model.n_trees_ == 7
    for folds in (1, 0, 2.5):
        with pytest.raises(ValueError, match=f"folds is {folds}; it must be"):
            pb.PriorBoost(regressor("lightgbm"), folds=folds).fit(X, y)


def test_answers_of_all_rounds_are_used():
    X, y = waves()
    many = pb.PriorBoost(regressor("lightgbm"), min_bag=8, rounds=4).fit(X, y)
    last = pb.PriorBoost(regressor("lightgbm"), min_bag=8, rounds=4, algorithm="priorboost")
    assert many.score(X, y) > last.fit(X, y).score(X, y)
    assert many.history_["rows"].sum() == len(X)
    scored = pb.PriorBoost(regressor("lightgbm"), min_bag=8, rounds=2, bags="hybrid").fit(X, y)
    assert np.isfinite(scored.history_["within"][1])


@pytest.mark.parametrize("package", PACKAGES)
def test_given_bags(package):
    X, y = waves()
    bags = pb.feature_bags(X, 8)
    bag = bags.labels()
    answers = {b: y[rows].mean() for b, rows in enumerate(bags)}
    with pytest.warns(UserWarning, match="but not the number of its rows"):
        given = pb.PriorBoost(regressor(package)).fit(X, bag=bag, answers=answers)
    assert given.score(X, y) > 0.8
    with pytest.raises(ValueError, match="bags cannot be used with given bags"):
        pb.PriorBoost(regressor(package), bags="features").fit(X, bag=bag, answers=answers)
    with pytest.warns(UserWarning, match="but not the number of its rows"):
        ridge = pb.PriorBoost(Ridge()).fit(X[:, :1], bag=bag, answers=answers)
    assert ridge.history_["bags"].tolist() == [len(bags)]


def test_a_table_with_categories_and_missing_cells():
    pd = pytest.importorskip("pandas")
    X, y = waves()
    place = np.random.default_rng(2).choice(["north", "south", "west"], len(X))
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(place=pd.Categorical(place))
    table.loc[::9, "c"] = np.nan
    y = y + 2.0 * (place == "west")
    model = pb.PriorBoost(regressor("lightgbm"), min_bag=8).fit(table, y)
    assert model.score(table, y) > 0.8
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "place"]


def test_at_the_end_of_a_pipeline():
    X, y = waves()
    line = make_pipeline(StandardScaler(), regressor("lightgbm"))
    model = pb.PriorBoost(line, min_bag=8).fit(X, y)
    assert model.score(X, y) > 0.8
    assert model.n_trees_ > 0


def test_rounded_answers_are_refused():
    X, y = make_table("logistic", n=400)
    oracle = pb.InMemoryOracle(y, 4, round_answers=True)
    with pytest.raises(ValueError, match="needs means that are not rounded"):
        pb.PriorBoost(classifier("lightgbm")).fit(X, oracle=oracle)
    assert oracle.rows_spent == 0


def test_clones_and_seeds():
    X, y = waves(1000)
    model = pb.PriorBoost(regressor("lightgbm"), min_bag=4, folds=3)
    twin = clone(model)
    assert twin.get_params()["folds"] == 3
    assert np.array_equal(model.fit(X, y).predict(X), twin.fit(X, y).predict(X))
    assert model.estimator.objective is None  # what was passed does not change


@pytest.mark.parametrize("bags", ["features", "hybrid"])
def test_features_make_bags_for_any_estimator(bags):
    X, y = make_table("linear")
    model = pb.PriorBoost(Ridge(), min_bag=4, rounds=2, bags=bags).fit(X, y)
    assert model.score(X, y) > 0.5


# ---- PyTorch -------------------------------------------------------------------------------------


def test_without_pytorch_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"pip install 'priorboost\[torch\]'"):
        pb.bag_loss(None, None, None)


@pytest.mark.parametrize("noise", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_loss_of_tensors_has_the_same_gradient(family, noise):
    torch = pytest.importorskip("torch")
    _, _, bags, answers, variance = some_answers(family, noise)
    objective = pb.bag_objective(bags, answers, family, variance)
    trees = np.random.default_rng(1).normal(size=300)
    raw = torch.tensor(objective.start + trees, requires_grad=True)
    bag = torch.tensor(bags.labels())
    # The objective measures the dispersion; here it is said.
    ratio = objective.bag_variance(trees) - objective._means(own_variance(objective, trees)) / 7
    dispersion = 1.0 if not noise else variance[-1] / ratio[-1]
    loss = pb.bag_loss(raw, bag, torch.tensor(answers), family, torch.tensor(variance), dispersion)
    loss.backward()
    assert np.allclose(raw.grad * len(bags), objective.derivatives(trees)[0], rtol=1e-6)
    frozen = objective.bag_variance(trees)
    assert float(loss) * len(bags) == pytest.approx(objective.loss(trees, frozen), rel=1e-6)


def own_variance(objective, raw):
    mean = objective.mean(raw)
    return {"linear": np.ones_like(mean), "logistic": mean * (1 - mean), "poisson": mean}[
        objective.family
    ]


def test_a_network_learns_from_answers():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    X, y = waves()
    bags = pb.feature_bags(X, 8)
    answers = torch.tensor(pb.InMemoryOracle(y, 8).ask(0, bags), dtype=torch.float32)
    bag, rows = torch.tensor(bags.labels()), torch.tensor(X, dtype=torch.float32)
    network = torch.nn.Sequential(
        torch.nn.Linear(3, 32), torch.nn.Tanh(), torch.nn.Linear(32, 32), torch.nn.Tanh(),
        torch.nn.Linear(32, 1),
    )  # fmt: skip
    optimizer = torch.optim.Adam(network.parameters(), lr=0.02)
    for _ in range(300):
        optimizer.zero_grad()
        pb.bag_loss(network(rows).squeeze(1), bag, answers).backward()
        optimizer.step()
    with torch.no_grad():
        error = ((network(rows).squeeze(1).numpy() - y) ** 2).mean()
    assert error < 0.2 * y.var()


def test_tensors_of_the_wrong_shape_are_refused():
    torch = pytest.importorskip("torch")
    bag = torch.tensor([0, 0, 2, 2])
    with pytest.raises(ValueError, match=r"shape \(4, 1\) and bag \(4,\)"):
        pb.bag_loss(torch.zeros(4, 1), bag, torch.zeros(3))
    with pytest.raises(ValueError, match=r"3 answers, .* bags up to 2, and none names bag 1"):
        pb.bag_loss(torch.zeros(4), bag, torch.zeros(3))
    with pytest.raises(ValueError, match="2 answers, but the rows name bags up to 2"):
        pb.bag_loss(torch.zeros(4), bag, torch.zeros(2))
