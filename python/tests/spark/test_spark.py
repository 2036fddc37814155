"""The training on Spark against the one on a single machine."""

import doctest
import runpy
import subprocess
import sys

import cluster  # noqa: F401  # first: skips the rest where there is no Spark
import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, make_table
from pyspark.ml import Pipeline
from pyspark.ml.feature import VectorAssembler
from pyspark.sql import functions as F
from spark_support import LOCAL, NAMES, ON_SPARK, D, Diary, frame_of, same_bags, shuffled

import priorboost as pb
import priorboost.spark as ps
from priorboost.spark import blocks, flow, pieces, stages, tree

pytest_plugins = ["spark_support"]
pytestmark = pytest.mark.spark


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


# ---- Around a training ---------------------------------------------------------------------------


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


def test_the_example_runs(spark, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["spark_train.py"])
    found = runpy.run_path(str(ROOT / "examples/spark_train.py"))
    assert found["auc"] > 0.8
    assert "AUC 0.8" in capsys.readouterr().out
    shown = (ROOT / "docs/spark.md").read_text().split("```python\n")[1].split("```")[0]
    assert shown in (ROOT / "examples/spark_train.py").read_text()
