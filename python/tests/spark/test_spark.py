"""The training on Spark against the one on a single machine, on executors that may die."""

import doctest
import json
import os
import runpy
import subprocess
import sys

import cluster  # first: skips the rest where there is no Spark
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse
from conftest import ROOT, make_table
from pyspark import cloudpickle
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.feature import VectorAssembler
from pyspark.ml.linalg import Vectors
from pyspark.sql import functions as F
from random_models import random_model, random_rows

import priorboost as pb
import priorboost.spark as ps
from priorboost.heads import read_head
from priorboost.spark import asking, blocks, flow, packing, pieces, stages, tree

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
        ("poisson", "array", 4, {"seed": 7, "fitIntercept": False, "estimator": "aggregate"}),
    ],
)
def test_it_is_the_training_of_one_machine(spark, asked, family, kind, partitions, options):
    n = 1501
    X, y = make_table(family, n=n, d=D, seed=1)
    ids = np.arange(n) * 7 - 5000 if family == "poisson" else [f"p{i}é" for i in range(n)]
    frame = frame_of(spark, X, y, ids)
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
    said = {words.get(k, k): v for k, v in options.items()}
    local = LOCAL[family](method="paper", rounds=2, **said)
    local.fit(X, oracle=oracle, ids=ids)
    same_bags(asked, oracle.log, shuffled(ids, options.get("seed", 0)))
    assert np.abs(model.path - local.path_).max() < 1e-6
    if estimator.getEstimator() == "aggregate":
        assert np.allclose(model.covariance.toArray(), local.covariance_, rtol=1e-6, atol=1e-12)
    else:
        assert model.covariance is None
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


def test_chunks_are_spliced(spark, asked, tmp_path):
    n, k = 1 << 18, 5
    x = np.random.default_rng(2).normal(size=n)
    assert pieces.cut_grid(n, k)[0] == 2
    table = pd.DataFrame({"id": np.arange(n), "f0": x, "y": x})
    table.to_parquet(tmp_path / "table.parquet", row_group_size=n // 2)
    ps.PriorBoostRegressor(
        featuresCol=["f0"], labelCol="y", minBag=k, rounds=1, priorCol="f0", numPartitions=3
    ).fit(spark.read.parquet(f"file://{tmp_path}/table.parquet"))
    bags = pb.optimal_bags(x[shuffled(np.arange(n))], k)
    assert asked[0][0].tolist() == bags.rows.tolist()
    assert asked[0][1].tolist() == bags.sizes.tolist()


@pytest.mark.parametrize("kind", ["smooth", "tied at a border", "tied at first"])
def test_chunks_that_do_not_fit_are_solved_again(monkeypatch, kind):
    """Ties alone have no common cut: all is then solved in one piece."""
    n, k = 1 << 19, 5
    assert pieces.cut_grid(n, k)[0] == 4
    x = np.sort(np.random.default_rng(2).normal(size=n))
    if kind == "tied at a border":
        x[(1 << 17) - 1000 : (1 << 17) + 100] = x[1 << 17]
    elif kind == "tied at first":
        x[: 5 << 16] = x[5 << 16]
    run, calls = flow.Run.__new__(flow.Run), []
    scale = pb._library.lib.cut_scale(x[0], x[-1])

    def cut_pieces(_, __, first, last, how):
        calls.append(how)
        parts = zip(first, last, how, strict=True)
        return [pieces.cut_piece(x[a:b], k, scale, h) + a for a, b, h in parts]

    monkeypatch.setattr(flow.Run, "_cut_pieces", cut_pieces)
    bags = pb.optimal_bags(x, k)
    assert run._optimal_cuts(None, n, k).tolist() == [0, *np.cumsum(bags.sizes)]
    assert len(calls) == {"smooth": 1, "tied at a border": 2, "tied at first": 3}[kind]
    assert (calls[-1] == [pieces.REST]) == (kind == "tied at first")


@pytest.mark.parametrize("bags", ["features", "hybrid"])
def test_bags_from_features(spark, asked, monkeypatch, bags):
    """One leaf gives the bags of one machine; several give bags of whole rows, each once."""
    n, rounds = 1000, 2 if bags == "hybrid" else 1
    X, y = make_table("logistic", n=n, d=D, seed=3)
    frame = frame_of(spark, X, y, np.arange(n))
    estimator = ps.PriorBoostClassifier(
        featuresCol=NAMES, labelCol="y", minBag=7, rounds=rounds, bags=bags
    )
    if bags == "hybrid":
        oracle = Diary(y, 7)
        local = pb.PriorBoostClassifier(rounds=2, bags=bags, estimator="event")
        local.fit(X, oracle=oracle, ids=np.arange(n))
        model = estimator.fit(frame)
        same_bags(asked, oracle.log, shuffled(np.arange(n)))
        assert np.abs(model.path - local.path_).max() < 1e-6
        return
    monkeypatch.setattr(tree, "LEAF_ROWS", 300)
    estimator.fit(frame)
    rows, sizes = asked[0]
    assert sorted(rows.tolist()) == list(range(n))
    assert len(sizes) > 100
    assert sizes.min() >= 7
    assert sizes.sum() == n
    within = X[shuffled(np.arange(n))[rows]]
    bag = np.repeat(np.arange(len(sizes)), sizes)
    means = np.array([within[bag == b].mean(axis=0) for b in range(len(sizes))])
    assert np.var(means, axis=0).mean() > 0.5  # bags are far apart: random ones give 1/7


def test_a_table_that_is_asked_at_once_with_noise(spark):
    X, y = make_table("linear", n=900, d=D)
    rules = {"epsilon": "0.5", "bounds": (-9.0, 9.0)}
    estimator = ps.PriorBoostRegressor(
        featuresCol=NAMES, labelCol="y", minBag=4, algorithm="oneshot", seed=3, clamp=True,
        estimator="aggregate", **rules,
    )  # fmt: skip
    with pytest.warns(UserWarning, match="it follows from seed"):
        model = estimator.fit(frame_of(spark, X, y, np.arange(900)))
    local = pb.PriorBoostRegressor(
        4, algorithm="oneshot", random_state=3, clamp=True, estimator="aggregate", **rules
    ).fit(X, y, ids=np.arange(900))
    assert np.abs(model.path - local.path_).max() < 1e-6
    assert model.training["l2"] == pytest.approx(local.training_["l2"], rel=1e-6)
    assert model.training["simulated"]
    assert model.training["epsilon"] == local.training_["epsilon"]


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


def test_trees_of_a_file_predict(spark, cli, tmp_path):
    """On executors, from the source columns: numbers, categories, dates, missing cells, offsets."""
    rng = np.random.default_rng(0)
    kinds = ["constant", "glm", "trees", "glm-trees"]
    model_file, data = tmp_path / "m.json", tmp_path / "d.csv"
    model_file.write_text(json.dumps(random_model(rng, "poisson", kinds, "log n")))
    pd.DataFrame(random_rows(rng, 200)).to_csv(data, index=False)
    rows = pd.read_csv(data, dtype={"city": str, "plain": str}, float_precision="round_trip")
    expected = cli("predict", "--model", model_file, "--data", data)["prediction"]
    frame = spark.createDataFrame(rows.assign(row=range(200)).replace({np.nan: None}))
    model = ps.PriorBoostPoissonModel.fromModelFile(str(model_file))
    model.write().overwrite().save(f"file://{tmp_path}/saved")
    for one in (model, ps.PriorBoostPoissonModel.load(f"file://{tmp_path}/saved")):
        found = one.transform(frame).orderBy("row").toPandas()
        np.testing.assert_array_equal(found["prediction"], expected)
    assert model.numFeatures == 5
    with pytest.raises(AttributeError, match="no weights"):
        _ = model.coefficients
    with pytest.raises(ValueError, match="there is no column 'city', which the model needs"):
        model.transform(frame.drop("city"))


def test_sparse_vectors_predict(spark, tmp_path):
    """A model of sparse rows takes ML vectors, without making them dense; hashed columns, names."""
    rng = np.random.default_rng(6)
    n, d = 300, 5000
    X = scipy.sparse.random(n, d, density=0.002, random_state=1, format="csr")
    X.data -= 0.5
    y = (X @ rng.normal(size=d) > 0).astype(float)
    local = pb.PriorBoostClassifier(4, rounds=1).fit(X, y)
    local.save(tmp_path / "wide.json")
    model = ps.PriorBoostClassificationModel.fromModelFile(str(tmp_path / "wide.json"))
    assert model.numFeatures == d
    vectors = [Vectors.sparse(d, row.indices, row.data) for row in X]
    frame = spark.createDataFrame(list(enumerate(vectors)), ["row", "features"])
    found = model.transform(frame).orderBy("row").toPandas()
    expected = local.predict_proba(X)
    assert np.allclose([v.toArray() for v in found["probability"]], expected, rtol=1e-12)
    short = spark.createDataFrame([(Vectors.dense([1.0, 2.0]),)], ["features"])
    with pytest.raises(Exception, match="a row has 2 features, but the model has 5000"):
        model.transform(short).collect()
    with pytest.raises(ValueError, match="it must hold ML vectors"):
        model.transform(frame.withColumn("features", F.array(F.lit(1.0))))


def test_curves_and_categories_predict(spark, tmp_path):
    """From the columns of the training table, by name."""
    rng = np.random.default_rng(8)
    table = pd.DataFrame({"age": rng.normal(size=400), "city": rng.choice(list("uvw"), 400)})
    y = np.sin(table["age"]) + (table["city"] == "v")
    frame = spark.createDataFrame(table.assign(row=range(400)))
    for options in ({"model": "smooth"}, {"method": "paper", "rounds": 1}):
        local = pb.PriorBoostRegressor(4, **options).fit(table, y)
        local.save(tmp_path / "model.json")
        model = ps.PriorBoostRegressionModel.fromModelFile(str(tmp_path / "model.json"))
        found = model.transform(frame).orderBy("row").toPandas()["prediction"]
        assert np.allclose(found, local.predict(table), rtol=1e-12, atol=1e-12)
    encoded = frame.select("row", F.array("age", "age", "age").alias("three"))
    found = model.setFeaturesCol("three").transform(encoded).orderBy("row").toPandas()
    assert np.allclose(found["prediction"], model.intercept + table["age"] * sum(local.coef_))


def test_hashed_columns_predict(spark, cli, tmp_path):
    rng = np.random.default_rng(7)
    table = pd.DataFrame({
        "site": rng.choice(list("abcd"), 200), "size": rng.choice([300.0, 728.0], 200),
        "click": rng.integers(0, 2, 200),
    })  # fmt: skip
    data, out = tmp_path / "clicks.csv", tmp_path / "hashed.json"
    table.to_csv(data, index=False)
    cli("train", "--data", data, "--label", "click", "--hash", 8, "--min-bag", 4, "--family",
        "logistic", "--out", out)  # fmt: skip
    model = ps.PriorBoostClassificationModel.fromModelFile(str(out))
    frame = spark.createDataFrame(table.assign(row=range(200)))
    found = model.transform(frame).orderBy("row").toPandas()
    expected = pb.load_model(out).predict(table)
    assert np.allclose([v[1] for v in found["probability"]], expected, rtol=1e-12)
    with pytest.raises(ValueError, match="no column 'site', which the model needs"):
        model.transform(frame.drop("site"))


def test_several_classes_predict(spark, tmp_path):
    content = pb.Model(
        "classes", [pb.Feature(name) for name in NAMES], NAMES,
        np.array([[0, 0, 0], [1.0, -1, 0.5], [0, 2.0, 1]]), np.array([0, 0.5, -0.25]),
        classes=["blue", "green", "red"],
        training={"algorithm": "priorboost", "min_bag": 4, "rounds": 1, "l2": 1.0},
    )  # fmt: skip
    pb.save_model(content, tmp_path / "classes.json")
    model = ps.PriorBoostClassesModel.fromModelFile(str(tmp_path / "classes.json"))
    X = make_table("linear", n=40, d=D)[0]
    frame = frame_of(spark, X, X[:, 0], np.arange(40))
    table = pd.DataFrame(X, columns=NAMES)
    model.write().overwrite().save(f"file://{tmp_path}/saved")
    for one in (model, ps.PriorBoostClassesModel.load(f"file://{tmp_path}/saved")):
        found = one.transform(frame).orderBy("id").toPandas()
        shares = np.array([v.toArray() for v in found["probability"]])
        assert np.allclose(shares, content.predict_proba(table), rtol=1e-12)
        assert found["prediction"].tolist() == content.predict(table).tolist()
    assert model.classes == ["blue", "green", "red"]
    assert model.coefficientMatrix.toArray().tolist() == content.coef.tolist()
    assert model.interceptVector.toArray().tolist() == [0, 0.5, -0.25]
    with pytest.raises(AttributeError, match="coefficientMatrix"):
        _ = model.coefficients


def test_wrong_requests(spark):
    X, y = make_table("linear", n=40, d=D)
    frame = frame_of(spark, X, y, np.arange(40), name=["a"] * 40, real=X[:, 0])

    def fit(frame=frame, **options):
        words = {"featuresCol": NAMES, "labelCol": "y", "minBag": 4, "rounds": 2, **options}
        return ps.PriorBoostRegressor(**words).fit(frame)

    for message, options in {
        "no column 'nobody'": {"idCol": "nobody"},
        "ids are texts or whole numbers": {"idCol": "real"},
        "'name' has the type string; it must hold numbers": {"featuresCol": ["f0", "name"]},
        "no column 'f9'": {"featuresCol": ["f0", "f9"]},
        "featuresCols is empty": {"featuresCol": []},
        "features must be an array": {"featuresCol": "f0"},
        "it must hold numbers": {"labelCol": "name"},
        "nothing can be written": {"workDir": "file:///proc/nowhere"},
        "not neither": {"labelCol": None},
        "not both": {"oracleUrl": "unix:/nowhere"},
        "oracleClientKey go together": {
            "labelCol": None,
            "minBag": None,
            "oracleUrl": "https://nowhere",
            "oracleTokenFile": "t",
            "oracleClientCert": "c",
        },
        "l2 is -1": {"l2": -1.0},
        "l2 is inf": {"l2": np.inf},
        "seed is -1": {"seed": -1},
        "-2 is negative": {"bagSize": -2},
        "oneshot means random": {"algorithm": "oneshot", "bags": "features", "rounds": 1},
        "is not one of": {"bags": "best"},
        "epsilon needs bounds": {"epsilon": 1.0},
    }.items():
        with pytest.raises((ValueError, TypeError), match=message):
            fit(**options)
    with pytest.raises(ValueError, match="rule of the service"):
        fit(labelCol=None, oracleUrl="unix:/nowhere", oracleTokenFile="t", minBag=5)
    with pytest.raises(TypeError, match="no parameter 'depth'"):
        ps.PriorBoostRegressor(depth=3)


def test_wrong_tables(spark):
    """What a task says of its rows comes out of fit in its own words."""
    X, y = make_table("linear", n=40, d=D)
    estimator = ps.PriorBoostRegressor(featuresCol=NAMES, labelCol="y", minBag=4, rounds=2)
    plain = frame_of(spark, X, y, [str(i) for i in range(40)])
    where = F.col("id") == "17"
    for message, frame in {
        "id '17' names two rows": plain.union(plain.where(where)),
        "null cells": plain.withColumn("id", F.when(~where, F.col("id"))),
        "no rows": plain.where("false"),
    }.items():
        with pytest.raises(ValueError, match=message):
            estimator.fit(frame)
    with pytest.raises(ValueError, match="at most 10 rounds"):
        estimator.copy({estimator.rounds: 11}).fit(plain)
    with pytest.raises(ValueError, match="min_bag is 41, but there are only 40"):
        estimator.copy({estimator.minBag: 41}).fit(plain)


def test_wrong_rows():
    """What is wrong with rows, as tasks see them."""

    def pack(ids=("1", "2"), x=((1.0, 2.0), (3.0, 4.0)), prior=(0.5, 0.5)):
        columns = [pa.array(ids), pa.array(x, pa.list_(pa.float64())), pa.array(prior)]
        batch = pa.RecordBatch.from_arrays(columns, names=["id", "x", "prior"])
        return list(packing.pack(0, 2)(iter([batch])))

    assert pack()[0].column("n").to_pylist() == [2]
    for message, wrong in {
        "has 3 features, but others have 2": {"x": ((1.0, 2.0), (3.0, 4.0, 5.0))},
        "features of the row with id '2' are null": {"x": ((1.0, 2.0), None)},
        "feature 1 of the row with id '2' is null": {"x": ((1.0, 2.0), (3.0, None))},
        "feature 0 of the row with id '1' is nan": {"x": ((np.nan, 2.0), (3.0, 4.0))},
        "feature 0 of the row with id '2' is inf": {"x": ((1.0, 2.0), (np.inf, 4.0))},
        "no or more than 255 bytes": {"ids": ("1", "")},
        "more than 255 bytes": {"ids": ("1", "x" * 256)},
        "a zero byte": {"ids": ("1", "2\0")},
        "null cells": {"ids": ("1", None)},
        "prior's scores must be finite": {"prior": (0.5, None)},
    }.items():
        with pytest.raises(RuntimeError) as said:
            pack(**wrong)
        with pytest.raises(ValueError, match=message):
            stages.reraise(said.value)
    labels = pa.RecordBatch.from_arrays([pa.array([1, 2]), pa.array([0.0, None])], ["id", "y"])
    with pytest.raises(RuntimeError, match="label column holds a null"):
        list(packing.labels(0)(iter([labels])))


@pytest.mark.parametrize("kind", ["numbers", "texts"])
def test_blocks_keep_their_rows(kind):
    """Rows of the table go into blocks of similar keys and come out as they were."""
    n, rng = 3000, np.random.default_rng(4)
    ids = pa.array(rng.permutation(n) if kind == "numbers" else [f"ü{i}" for i in range(n)])
    x = rng.normal(size=(n, 2))
    features = pa.ListArray.from_arrays(np.arange(0, 2 * n + 1, 2, dtype=np.int32), x.ravel())
    table = pa.RecordBatch.from_arrays([ids, features], names=["id", "x"])
    (batch,) = packing.pack(5, 2)(iter([table.slice(0, 1000), table.slice(1000)]))
    rows = blocks.unpack(batch, 2)
    place = {name: i for i, name in enumerate(ids.to_pylist())}
    found = [i if kind == "numbers" else i.decode() for i in rows.id.to_pylist()]
    at = [place[name] for name in found]
    assert sorted(at) == list(range(n))
    assert (rows.x == x[at]).all()
    keys = [pb._library.lib.id_key(str(name).encode()) for name in found]
    assert (rows.key == pieces.shuffle_keys(5, 0, index=np.array(keys, np.uint64))).all()
    group, end = rows.key >> np.uint64(64 - packing.GROUP_BITS), 0
    low, high, many = (blocks.numbers(batch, c).tolist() for c in ("group", "last_group", "n"))
    assert len(many) == 3000 // packing.LEAST_ROWS
    for first, last, size in zip(low, high, many, strict=True):
        here, end = group[end : end + size], end + size
        assert first <= here.min()
        assert here.max() <= last
    assert np.array_equal(high[:-1], np.array(low[1:]) - 1)
    assert (low[0], high[-1]) == (0, (1 << packing.GROUP_BITS) - 1)


@pytest.mark.parametrize("levels", [1, 3, 10**6])
def test_a_row_finds_its_bag(levels):
    """By its score and, among equal scores, by its key."""
    rng = np.random.default_rng(levels)
    score = rng.integers(0, levels, 500) / levels
    key = rng.permutation(500).astype(np.uint64)
    order = np.lexsort([key, score])
    edges = np.sort(rng.choice(500, 40, replace=False))
    pairs = list(zip(score[order], key[order], strict=True))
    expected = [sum(pairs[e] <= pair for e in edges) for pair in zip(score, key, strict=True)]
    edge = order[edges]
    assert stages.not_after(score[edge], key[edge], score, key).tolist() == expected
    assert stages.not_after(score[:0], key[:0], score, key).tolist() == [0] * 500


def test_features_stay_where_they_are():
    """What a round of prior bags sends between machines holds no features."""
    x, key = np.random.default_rng(0).normal(size=(50, 2)), np.arange(50, dtype=np.uint64)
    ids = pa.array(np.arange(50))
    rows = blocks.Rows(50, ids, key, x=x)
    batch = rows.blocks(("n", "id", "width", "key", "prior", "x"), np.array([20, 50]))
    weights = np.array([1.0, -1.0, 0.5])
    how = stages.ByScore(pb._library.LINEAR, weights, x[:8, 0], key[:8], 2)
    sent = list(stages.spread(2, how, (10, 39), blocks.labels(2))(iter([batch])))
    assert sum(some.nbytes for some in sent) < 30 * 24 + 200
    found = [blocks.unpack(some) for some in sent]
    assert sorted(np.concatenate([some.key for some in found])) == list(range(10, 40))
    assert all(some.x is None for some in found)


def test_two_ids_may_have_the_same_key():
    """By chance, with 64 bits; the same id twice is refused."""
    run = flow.Run.__new__(flow.Run)

    class Frame:
        def mapInArrow(self, *_):  # noqa: N802
            return self

        def collect(self):
            return self.rows

    frame = Frame()
    run.dir, run.read = "", lambda *_: frame
    frame.rows = [(7, "a"), (7, "b")]
    run._refuse_repeated([7])
    frame.rows = [(7, "a"), (7, "b"), (7, "a")]
    with pytest.raises(ValueError, match="the id 'a' names two rows"):
        run._refuse_repeated([7])


def test_a_local_spark_uses_this_python(spark, monkeypatch):
    """With and without the environment in the shell."""
    run = flow.Run.__new__(flow.Run)
    run.context = spark.sparkContext
    before = run.context.pythonExec
    with run.this_python():
        assert run.context.pythonExec == before  # as PYSPARK_PYTHON says
    monkeypatch.delenv("PYSPARK_PYTHON")
    monkeypatch.setattr(run.context, "pythonExec", "python3")
    with run.this_python():
        assert run.context.pythonExec == sys.executable
    assert run.context.pythonExec == "python3"
    with pytest.raises(RuntimeError, match="executors has no priorboost"):
        stages.reraise(Exception("ModuleNotFoundError: No module named 'priorboost'"))


def test_tasks_load_no_more_than_they_need():
    """scikit-learn takes a worker seconds to load."""
    heavy = "{'sklearn', 'scipy', 'pandas', 'pyspark.ml'}"
    program = f"import priorboost.spark.passes, sys; sys.exit(str({heavy} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert found.stderr.strip() == "set()"


def test_the_examples_of_the_pieces():
    for module in (blocks, tree):
        assert doctest.testmod(module).failed == 0


# ---- The example ---------------------------------------------------------------------------------


def test_the_example_runs(spark, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["spark_train.py"])
    found = runpy.run_path(str(ROOT / "examples/spark_train.py"))
    assert found["auc"] > 0.8
    assert "AUC 0.8" in capsys.readouterr().out
    shown = (ROOT / "docs/spark.md").read_text().split("```python\n")[1].split("```")[0]
    assert shown in (ROOT / "examples/spark_train.py").read_text()


# ---- A service, and executors that die -----------------------------------------------------------
# Last: the executors that come instead are slow at first.


@pytest.fixture(scope="module")
def table():
    X, y = make_table("linear", n=1000, d=D)
    return X, y, [f"p{i}" for i in range(len(X))]


@pytest.fixture
def service(serve, table):
    """Return the address and the token file of a real service that holds the labels."""
    return serve(table[2], table[1])


@pytest.fixture(scope="module")
def expected(table):
    X, y, ids = table
    return lambda rounds: pb.PriorBoostRegressor(
        4, method="paper", rounds=rounds, bounds=(-20, 20)
    ).fit(X, y, ids=ids)


def learner(service, rounds=2, **options):
    url, token = service
    return ps.PriorBoostRegressor(
        featuresCol=NAMES,
        oracleUrl=url,
        oracleTokenFile=token,
        rounds=rounds,
        numPartitions=2,
        **options,
    )


def test_a_service_that_dies(spark, table, service, monkeypatch, tmp_path):
    """Slices are made and questions are written; then nobody answers."""
    answers = flow.Run._answers

    def after_its_death(self, path, n):
        os.unlink(service[0].removeprefix("unix:"))
        return answers(self, path, n)

    monkeypatch.setattr(flow.Run, "_answers", after_its_death)
    estimator = learner(
        service, 1, askFrom="executors", oraclePatience=0.1, workDir=f"file://{tmp_path}/work"
    )
    with pytest.raises(pb.OracleError, match="no answer from unix:"):
        estimator.fit(frame_of(spark, table[0], *table[1:]))
    assert list((tmp_path / "work").iterdir()) == []


def test_a_service_that_lies(monkeypatch):
    """An answer to another question, about other bags, or bytes that are not an answer."""
    sizes = np.array([2, 1], np.uint32)
    means = np.array([0.5, 1.0])

    def told(change):
        def deliver(self, path, body, kind):
            name = body[16 : 16 + body[5]]
            reply = b"PBA1".ljust(32, b"\0") + b"\5" * 32 + name + means.tobytes() + sizes.tobytes()
            return 200, change(reply)

        monkeypatch.setattr(asking.BulkSession, "deliver", deliver)
        session = asking.BulkSession.__new__(asking.BulkSession)
        session.head = None
        answers = session.ask(np.arange(3).tobytes(), None, sizes).tolist()
        assert session.head == "05" * 32
        return answers

    def put(at, some):
        return lambda reply: reply[:at] + some + reply[at + len(some) :]

    assert told(lambda reply: reply) == [0.5, 1.0]
    for message, change in {
        "is not an answer to 2 bags": lambda reply: reply[:-1],
        "bytes is not an answer": put(0, b"HTML"),
        "another question": put(64, b"x"),
        "not finite": put(128, np.array([np.nan]).tobytes()),
        "other bags": put(128 + 16, np.array([3], np.uint32).tobytes()),
    }.items():
        with pytest.raises(pb.OracleError, match=message):
            told(change)


def test_a_service_of_classes_is_refused(monkeypatch):
    """Before anything is asked: this learner needs means."""
    monkeypatch.setattr(asking._Session, "__init__", lambda *_: None)
    monkeypatch.setattr(asking._Session, "__exit__", lambda *_: None)
    config = {"answer": "counts", "width": 3}
    monkeypatch.setattr(asking._Session, "send", lambda *_: config)
    with pytest.raises(pb.OracleError, match="answers with counts, 3 numbers a bag"):
        asking.Service.connect(pb.RemoteOracle("unix:/nowhere", "token"))


def test_an_executor_dies_while_it_asks(spark, table, service, expected, monkeypatch, tmp_path):
    """Its question was answered and the answer was lost; a retry gets the same answer."""
    monkeypatch.setattr(stages, "ask", cluster.dying(stages.ask, str(tmp_path / "killed")))
    monkeypatch.setattr(asking, "_MOST_ROWS", 130)  # several questions a round
    model = learner(service, 1, askFrom="executors").fit(frame_of(spark, table[0], *table[1:]))
    assert (tmp_path / "killed").exists()
    assert np.abs(model.path - expected(1).path_).max() < 1e-6
    oracle = pb.RemoteOracle(*service)
    assert not oracle.available(table[2]).any()
    # A later fit shows the oracle its last head; a store that never had that head refuses.
    there = asking.Service.connect(oracle)
    assert there.head == read_head(service[1]) != None  # noqa: E711
    ids = "".join(table[2][:4]).encode(), bytes(map(len, table[2][:4])), np.array([4], np.uint32)
    for head, problem in ((there.head, "row-spent"), ("ab" * 32, "ledger-rollback")):
        with (
            asking.BulkSession(oracle, head) as session,
            pytest.raises(pb.PrivacyError, match=problem),
        ):
            session.ask(*ids)


def test_an_executor_dies_while_it_sorts_and_stages_are_repeated(
    spark, table, service, expected, monkeypatch, tmp_path
):
    make = cluster.dying(stages.arrange, str(tmp_path / "killed"))
    monkeypatch.setattr(stages, "arrange", make)
    answers = flow.Run._answers

    def twice(self, path, n):
        first, second = answers(self, path, n), answers(self, path, n)
        assert first.tolist() == second.tolist()
        return second

    monkeypatch.setattr(flow.Run, "_answers", twice)
    model = learner(service, 1, workDir=f"file://{tmp_path}/work").fit(
        frame_of(spark, table[0], *table[1:])
    )
    assert (tmp_path / "killed").exists()
    assert np.abs(model.path - expected(1).path_).max() < 1e-6
    # Nothing is left to ask about, and nothing of the run is left in its directory.
    with asking.Service.connect(pb.RemoteOracle(*service)).session() as session:
        ids = "".join(table[2][:4]).encode()
        with pytest.raises(pb.PrivacyError, match="row-spent"):
            session.ask(ids, bytes(map(len, table[2][:4])), np.array([4], np.uint32))
    assert list((tmp_path / "work").iterdir()) == []
