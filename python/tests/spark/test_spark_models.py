"""Models on Spark: saved, read, and predicting."""

import json

import cluster  # noqa: F401  # first: skips the rest where there is no Spark
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from conftest import make_table
from pyspark.ml import PipelineModel
from pyspark.ml.linalg import Vectors
from pyspark.sql import functions as F
from random_models import random_model, random_rows
from spark_support import NAMES, D, frame_of

import priorboost as pb
import priorboost.spark as ps

pytest_plugins = ["spark_support"]
pytestmark = pytest.mark.spark


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
