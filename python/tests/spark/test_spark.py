"""The training on Spark against the one on a single machine, on executors that may die."""

import doctest
import runpy
import sys

import cluster  # first: skips the rest where there is no Spark
import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, make_table
from pyspark import cloudpickle
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.feature import VectorAssembler
from pyspark.sql import functions as F

import priorboost as pb
import priorboost.spark as ps
from priorboost.spark import asking, blocks, flow, pieces, stages, tree

pytest_plugins = ["cluster"]
pytestmark = pytest.mark.spark
cloudpickle.register_pickle_by_value(cluster)

LOCAL = {
    "linear": pb.PriorBoostRegressor,
    "logistic": pb.PriorBoostClassifier,
    "poisson": pb.PriorBoostPoissonRegressor,
}
ON_SPARK = {
    "linear": ps.PriorBoostRegressor,
    "logistic": ps.PriorBoostClassifier,
    "poisson": ps.PriorBoostPoissonRegressor,
}
D = 3
NAMES = [f"f{j}" for j in range(D)]


def frame_of(spark, X, y, ids, **more):
    columns = {"id": ids, "y": np.asarray(y, float), **more}
    columns |= {name: X[:, j] for j, name in enumerate(NAMES[: X.shape[1]])}
    return spark.createDataFrame(pd.DataFrame(columns))


def shuffled(ids, seed=0):
    """Return the rows of a table in the order of the shuffle."""
    keys = np.array([pb._library.lib.id_key(str(i).encode()) for i in ids], np.uint64)
    return np.argsort(pieces.shuffle_keys(seed, 0, index=keys), kind="stable")


@pytest.fixture
def asked(monkeypatch):
    """Record what labels on the driver are asked, round by round."""
    log = []
    original = asking.LabelsOnDriver.ask

    def ask(self, round, rows, sizes):
        log.append((rows.copy(), sizes.copy()))
        return original(self, round, rows, sizes)

    monkeypatch.setattr(asking.LabelsOnDriver, "ask", ask)
    return log


class Diary(pb.Oracle):
    """Answers as labels in memory do, and remembers the questions."""

    def __init__(self, y, min_bag):
        self.inside, self.min_bag, self.log = pb.InMemoryOracle(y, min_bag), min_bag, []

    def ask(self, round, bags):
        self.log.append(bags)
        return self.inside.ask(round, bags)


def same_bags(asked, log, order):
    assert len(asked) == len(log)
    for (rows, sizes), bags in zip(asked, log, strict=True):
        assert order[rows].tolist() == bags.rows.tolist()
        assert sizes.tolist() == bags.sizes.tolist()


# ---- The same result -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "kind", "partitions", "options"),
    [
        ("linear", "columns", 1, {"algorithm": "pbprefix"}),
        ("logistic", "vector", 3, {"schedule": "geometric"}),
        ("poisson", "array", 5, {"seed": 7, "fitIntercept": False}),
    ],
)
def test_it_is_the_training_of_one_machine(spark, asked, family, kind, partitions, options):
    X, y = make_table(family, n=3001, d=D, seed=1)
    ids = np.arange(3001) * 7 - 5000 if family == "poisson" else [f"p{i}é" for i in range(3001)]
    frame = frame_of(spark, X, y, ids).repartition(3)
    estimator = ON_SPARK[family](
        labelCol="y", minBag=4, rounds=2, numPartitions=partitions, **options
    )
    if kind == "columns":
        model = estimator.setFeaturesCol(NAMES).fit(frame)
    elif kind == "array":
        frame = frame.withColumn("features", F.array(*NAMES))
        model = estimator.fit(frame)
    else:
        assembler = VectorAssembler(inputCols=NAMES, outputCol="features")
        model = Pipeline(stages=[assembler, estimator]).fit(frame).stages[1]
        frame = assembler.transform(frame)

    oracle = Diary(y, 4)
    words = {"fitIntercept": "fit_intercept", "seed": "random_state"}
    local = LOCAL[family](rounds=2, **{words.get(k, k): v for k, v in options.items()})
    local.fit(X, oracle=oracle, ids=ids)
    same_bags(asked, oracle.log, shuffled(ids, options.get("seed", 0)))
    assert np.abs(model.path - local.path_).max() < 1e-6
    assert [r["bags"] for r in model.history] == local.history_["bags"].tolist()
    within = [r["within"] for r in model.history]
    assert np.allclose(within, local.history_["within"], rtol=1e-9, equal_nan=True)

    found = model.transform(frame).toPandas()
    if family == "logistic":
        mine = np.array([v[1] for v in found["probability"]])
        theirs = local.predict_proba(found[NAMES].to_numpy())[:, 1]
        assert ((mine >= 0.5) == (found["prediction"] == 1.0)).all()
    else:
        mine, theirs = found["prediction"], local.predict(found[NAMES].to_numpy())
    assert abs(np.mean((mine - found["y"]) ** 2) - np.mean((theirs - found["y"]) ** 2)) < 1e-8


def test_chunks_are_spliced_and_solved_again(spark, asked, tmp_path):
    """Ties alone have no common cut: all is then solved in one piece."""
    n, k = 1 << 18, 5
    rng = np.random.default_rng(2)
    x = rng.normal(size=(n, 1))
    smooth, tied = x[:, 0], np.full(n, 0.25)
    assert pieces.cut_grid(n, k)[0] == 2
    columns = {"id": np.arange(n), "f0": smooth, "y": smooth, "smooth": smooth, "tied": tied}
    pd.DataFrame(columns).to_parquet(tmp_path / "table.parquet", row_group_size=n // 4)
    frame = spark.read.parquet(f"file://{tmp_path}/table.parquet")
    order = shuffled(np.arange(n))
    for name, prior in (("smooth", smooth), ("tied", tied)):
        ps.PriorBoostRegressor(
            featuresCol=["f0"], labelCol="y", minBag=k, rounds=1, priorCol=name, numPartitions=3
        ).fit(frame)
        bags = pb.optimal_bags(prior[order], k)
        rows, sizes = asked.pop()
        assert rows.tolist() == bags.rows.tolist()
        assert sizes.tolist() == bags.sizes.tolist()


@pytest.mark.parametrize("bags", ["features", "hybrid"])
def test_bags_from_features(spark, asked, monkeypatch, bags):
    """One leaf gives the bags of one machine; several give bags of whole rows, each once."""
    X, y = make_table("logistic", n=2000, d=D, seed=3)
    frame = frame_of(spark, X, y, np.arange(2000))
    estimator = ps.PriorBoostClassifier(
        featuresCol=NAMES, labelCol="y", minBag=7, rounds=2, bags=bags
    )
    if bags == "hybrid":
        oracle = Diary(y, 7)
        local = pb.PriorBoostClassifier(rounds=2, bags=bags, estimator="event")
        local.fit(X, oracle=oracle, ids=np.arange(2000))
        model = estimator.fit(frame)
        same_bags(asked, oracle.log, shuffled(np.arange(2000)))
        assert np.abs(model.path - local.path_).max() < 1e-6
        return
    monkeypatch.setattr(tree, "LEAF_ROWS", 300)
    estimator.fit(frame)
    rows = np.concatenate([rows for rows, _ in asked])
    assert sorted(rows.tolist()) == list(range(2000))
    for rows, sizes in asked:
        assert len(sizes) > 100
        assert sizes.min() >= 7
        assert rows.size == sizes.sum() == 1000
    within = [X[shuffled(np.arange(2000))[r]] for r, _ in asked]
    bag = np.repeat(np.arange(len(asked[0][1])), asked[0][1])
    means = np.array([within[0][bag == b].mean(axis=0) for b in range(bag[-1] + 1)])
    assert np.var(means, axis=0).mean() > 0.5  # bags are far apart: random ones give 1/7


def test_a_table_that_is_asked_at_once_with_noise(spark):
    X, y = make_table("linear", n=900, d=D)
    rules = {"epsilon": "0.5", "bounds": (-9.0, 9.0)}
    model = ps.PriorBoostRegressor(
        featuresCol=NAMES, labelCol="y", minBag=4, algorithm="oneshot", seed=3, clamp=True, **rules
    ).fit(frame_of(spark, X, y, np.arange(900)))
    local = pb.PriorBoostRegressor(4, algorithm="oneshot", random_state=3, clamp=True, **rules).fit(
        X, y, ids=np.arange(900)
    )
    assert np.abs(model.path - local.path_).max() < 1e-6
    assert model.training["simulated"]
    assert model.training["epsilon"] == local.training_["epsilon"]


# ---- A service, and executors that die -----------------------------------------------------------


@pytest.fixture(scope="module")
def table():
    X, y = make_table("linear", n=3000, d=D)
    return X, y, [f"p{i}" for i in range(len(X))]


@pytest.fixture
def service(serve, table):
    """Return the address and the token file of a real service that holds the labels."""
    return serve(table[2], table[1])


@pytest.fixture(scope="module")
def expected(table):
    X, y, ids = table
    return pb.PriorBoostRegressor(min_bag=4, rounds=2, bounds=(-20, 20)).fit(X, y, ids=ids)


def learner(service, **options):
    url, token = service
    return ps.PriorBoostRegressor(
        featuresCol=NAMES,
        oracleUrl=url,
        oracleTokenFile=token,
        rounds=2,
        numPartitions=2,
        **options,
    )


def test_an_executor_dies_while_it_asks(spark, table, service, expected, monkeypatch, tmp_path):
    """Its question was answered, the answer was lost; whoever asks again gets the same answer."""
    monkeypatch.setattr(stages, "ask", cluster.dying(stages.ask, str(tmp_path / "killed")))
    monkeypatch.setattr(asking, "_MOST_ROWS", 400)  # several questions a round
    model = learner(service, askFrom="executors").fit(frame_of(spark, table[0], *table[1:]))
    assert (tmp_path / "killed").exists()
    assert np.abs(model.path - expected.path_).max() < 1e-6
    oracle = pb.RemoteOracle(*service)
    assert not oracle.available(table[2]).any()


def test_an_executor_dies_while_it_sorts_and_stages_are_repeated(
    spark, table, service, expected, monkeypatch, tmp_path
):
    monkeypatch.setattr(stages, "arrange", cluster.dying(stages.arrange, str(tmp_path / "killed")))
    answers = flow.Run._answers

    def twice(self, path, n):
        first, second = answers(self, path, n), answers(self, path, n)
        assert first.tolist() == second.tolist()
        return second

    monkeypatch.setattr(flow.Run, "_answers", twice)
    model = learner(service).fit(frame_of(spark, table[0], *table[1:]))
    assert (tmp_path / "killed").exists()
    assert np.abs(model.path - expected.path_).max() < 1e-6
    # Nothing is left to ask about, and nothing of the run is left in its directory.
    with pytest.raises(pb.PrivacyError, match="row-spent"):
        learner(service, seed=1).fit(frame_of(spark, table[0], *table[1:]))


# ---- Saving, and wrong input ---------------------------------------------------------------------


def test_models_are_saved_and_read(spark, cli, tmp_path):
    content = pb.Model(
        "logistic",
        [pb.Feature("f0", limits=(-1.0, 1.5)), pb.Feature("f1", fill=0.25), pb.Feature("f2")],
        NAMES, np.array([0.1, -2.0, 1 / 3]), 0.7,
        training={"algorithm": "priorboost", "min_bag": 4, "rounds": 2, "l2": 1.0},
    )  # fmt: skip
    pb.save_model(content, tmp_path / "model.json")
    model = ps.PriorBoostClassificationModel.fromModelFile(str(tmp_path / "model.json"))
    model.setProbabilityCol("p").setThreshold(0.9).history = [{"round": 1, "within": 0.5}]
    X = make_table("logistic", n=50, d=D)[0]
    X[7, 1] = np.nan
    frame = frame_of(spark, X, X[:, 0], np.arange(50))
    means = content.predict(pd.DataFrame(X, columns=NAMES))
    path = f"file://{tmp_path}/pipeline"
    PipelineModel(stages=[model]).write().overwrite().save(path)
    again = PipelineModel.load(path).stages[0]
    assert (again.coefficients, again.intercept) == (model.coefficients, 0.7)
    assert again.training["min_bag"] == 4
    assert (again.getThreshold(), again.uid) == (0.9, model.uid)
    assert again.history == model.history
    found = again.transform(frame).orderBy("id").toPandas()
    assert np.allclose([v[1] for v in found["p"]], means, rtol=1e-14)

    again.saveModelFile(str(tmp_path / "again.json"))
    pd.DataFrame(X, columns=NAMES).to_csv(tmp_path / "x.csv", index=False, float_format="%.17g")
    out = tmp_path / "out.csv"
    cli("predict", "--model", tmp_path / "again.json", "--data", tmp_path / "x.csv", "--out", out)
    assert np.allclose(pd.read_csv(out).iloc[:, -1], means, rtol=1e-12)
    with pytest.raises(ValueError, match="holds a logistic model"):
        ps.PriorBoostRegressionModel.fromModelFile(str(tmp_path / "model.json"))

    estimator = ps.PriorBoostClassifier(minBag=9, epsilon=0.5, bounds=[0, 1], threshold=0.25)
    estimator.write().overwrite().save(f"file://{tmp_path}/estimator")
    loaded = ps.PriorBoostClassifier.load(f"file://{tmp_path}/estimator")
    assert loaded.getMinBag() == 9
    assert loaded.getEpsilon() == "0.5"
    assert loaded.getThreshold() == 0.25
    assert loaded.copy({loaded.minBag: 3}).getMinBag() == 3


def test_wrong_requests(spark):
    X, y = make_table("linear", n=40, d=D)
    frame = frame_of(spark, X, y, np.arange(40), name=["a"] * 40, real=X[:, 0])

    def fit(frame=frame, **options):
        words = {"featuresCol": NAMES, "labelCol": "y", "minBag": 4, "rounds": 2, **options}
        return ps.PriorBoostRegressor(**words).fit(frame)

    for message, options in {
        "no column 'nobody'": {"idCol": "nobody"},
        "ids are texts or whole numbers": {"idCol": "real"},
        "features must be numbers": {"featuresCol": ["f0", "name"]},
        "features must be an array": {"featuresCol": "f0"},
        "must hold numbers": {"labelCol": "name"},
        "not neither": {"labelCol": None},
        "not both": {"oracleUrl": "unix:/nowhere"},
        "l2 is -1": {"l2": -1.0},
        "oneshot means random": {"algorithm": "oneshot", "bags": "features", "rounds": 1},
        "is none of": {"bags": "best"},
        "epsilon needs bounds": {"epsilon": 1.0},
    }.items():
        with pytest.raises((ValueError, TypeError), match=message):
            fit(**options)
    with pytest.raises(ValueError, match="rule of the service"):
        fit(labelCol=None, oracleUrl="unix:/nowhere", oracleTokenFile="t", minBag=5)
    with pytest.raises(TypeError, match="no parameter 'depth'"):
        ps.PriorBoostRegressor(depth=3)


def test_wrong_tables(spark):
    X, y = make_table("linear", n=40, d=D)
    estimator = ps.PriorBoostRegressor(labelCol="y", minBag=4, rounds=2)
    plain = frame_of(spark, X, y, [str(i) for i in range(40)])
    plain = plain.withColumn("features", F.array(*NAMES))
    where = F.col("id") == "17"

    def with_features(*cells):
        return plain.withColumn(
            "features", F.when(where, F.array(*cells)).otherwise(F.col("features"))
        )

    for message, frame in {
        "id '17' names two rows": plain.union(plain.where(where)),
        "null cells": plain.withColumn("id", F.when(~where, F.col("id"))),
        "feature 1 of the row with id '17' is nan": with_features("f0", F.lit(np.nan), "f2"),
        "'17' has 2 features, but others have 3": with_features("f0", "f1"),
        "label column": plain.withColumn("y", F.when(~where, F.col("y"))),
        "no rows": plain.where("false"),
    }.items():
        with pytest.raises(ValueError, match=message):
            estimator.fit(frame)
    with pytest.raises(ValueError, match="at most 10 rounds"):
        estimator.copy({estimator.rounds: 11}).fit(plain)


def test_the_examples_of_the_pieces():
    for module in (blocks, tree):
        assert doctest.testmod(module).failed == 0


# ---- The example ---------------------------------------------------------------------------------


def test_the_example_runs(spark, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["spark_train.py"])
    found = runpy.run_path(str(ROOT / "examples/spark_train.py"))
    assert found["auc"] > 0.8
    assert "AUC" in capsys.readouterr().out
