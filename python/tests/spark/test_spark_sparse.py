"""Sparse vectors on Spark against the training on a single machine."""

import cluster  # noqa: F401  # first: skips the rest where there is no Spark
import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse
from pyspark.ml.linalg import Vectors
from spark_support import shuffled

import priorboost as pb
import priorboost.spark as ps
from priorboost.spark import stages, wide

pytest_plugins = ["spark_support"]
pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def table(spark):
    """Rows of 3000 columns, labels 0 and 1, ids; a data frame of them."""
    rng = np.random.default_rng(1)
    n, d = 600, 3000
    X = scipy.sparse.random(n, d, density=0.004, random_state=1, format="csr")
    X.data -= 0.4
    y = (X @ rng.normal(size=d) + rng.normal(size=n) > 0).astype(float)
    ids = [f"p{i}" for i in range(n)]
    vectors = [Vectors.sparse(d, row.indices, row.data) for row in X]
    vectors[7] = Vectors.dense(vectors[7].toArray())
    rows = list(zip(ids, vectors, y.tolist(), strict=True))
    return X, y, ids, spark.createDataFrame(rows, ["id", "features", "y"])


@pytest.mark.parametrize(
    ("family", "options"),
    [
        ("logistic", {"bags": "features", "estimator": "aggregate", "rounds": 1}),
        ("linear", {"rounds": 2, "fitIntercept": False}),
    ],
)
def test_it_is_the_training_of_one_machine(table, family, options):
    X, y, ids, frame = table
    order = shuffled(ids)
    on_spark = {"linear": ps.PriorBoostRegressor, "logistic": ps.PriorBoostClassifier}[family]
    local = {"linear": pb.PriorBoostRegressor, "logistic": pb.PriorBoostClassifier}[family]
    model = on_spark(labelCol="y", minBag=5, **options).fit(frame.repartition(3))
    words = {("fit_intercept" if k == "fitIntercept" else k): v for k, v in options.items()}
    expected = local(5, method="paper", **words).fit(
        X[order], y[order], ids=[ids[i] for i in order]
    )
    assert np.abs(model.path - expected.path_).max() < 1e-8
    assert [r["bags"] for r in model.history] == expected.history_["bags"].tolist()
    assert model.training["rounds"] == options["rounds"]
    assert model.toModel().sparse.n == X.shape[1]
    found = model.transform(frame).toPandas()
    means = expected.predict_proba(X)[:, 1] if family == "logistic" else expected.predict(X)
    column = found["prediction"] if family == "linear" else [v[1] for v in found["probability"]]
    by_id = dict(zip(found["id"], column, strict=True))
    assert np.allclose([by_id[i] for i in ids], means, rtol=1e-7)


def test_a_service_holds_the_labels(table, serve):
    X, y, ids, frame = table
    url, token = serve(ids, y)
    model = ps.PriorBoostRegressor(
        oracleUrl=url, oracleTokenFile=token, bags="features", rounds=1
    ).fit(frame)
    order = shuffled(ids)
    expected = pb.PriorBoostRegressor(
        4, method="paper", bags="features", rounds=1, bounds=(-20, 20)
    ).fit(X[order], y[order], ids=[ids[i] for i in order])
    assert np.abs(model.path - expected.path_).max() < 1e-8
    assert not pb.RemoteOracle(url, token).available(ids).any()


def test_wrong_requests(table):
    frame = table[3]
    narrow = frame.withColumn("f0", frame["y"])
    for message, options in {
        "mostEntries.*raise it": {"mostEntries": 100},
        "priorCol is for dense features": {"priorCol": "y"},
        "askFrom is 'executors'": {"askFrom": "executors"},
        "sparse is for a column of ML vectors": {"featuresCol": ["f0"], "sparse": True},
        "'f0' holds none": {"featuresCol": "f0", "sparse": True},
    }.items():
        estimator = ps.PriorBoostRegressor(labelCol="y", minBag=5, rounds=1, **options)
        with pytest.raises(ValueError, match=message):
            estimator.fit(narrow)
    with pytest.raises(ValueError, match="not for classes"):
        ps.PriorBoostClassesClassifier(labelCol="y", minBag=5).fit(frame)


def test_wrong_rows():
    """What is wrong with sparse rows, as tasks see them."""
    kind = pa.struct(
        [("type", pa.int8()), ("size", pa.int32()), ("indices", pa.list_(pa.int32())),
         ("values", pa.list_(pa.float64()))]
    )  # fmt: skip

    def pack(first=None, labels=(0.0, 1.0)):
        good = {"type": 0, "size": 9, "indices": [1, 8], "values": [2.0, 3.0]}
        cells = [good if first is None else {**good, **first} if first else None, good]
        columns = [pa.array(["a", "b"]), pa.array(cells, kind), pa.array(labels, pa.float64())]
        batch = pa.RecordBatch.from_arrays(columns, names=["id", "x", "label"])
        return list(wide.pack(0, 9)(iter([batch])))

    def read(batch):
        kinds = {"counts": "u4", "columns": "u4", "values": "f8"}
        return [np.frombuffer(batch.column(c)[0].as_py(), k).tolist() for c, k in kinds.items()]

    assert read(pack()[0]) == [[2, 2], [1, 8, 1, 8], [2.0, 3.0, 2.0, 3.0]]
    dense = {"type": 1, "size": None, "indices": None, "values": [0.0] * 8 + [5.0]}
    assert read(pack(dense)[0]) == [[1, 2], [8, 1, 8], [5.0, 2.0, 3.0]]
    assert read(pack({"values": [0.0, 4.0]})[0])[0] == [1, 2]
    for message, wrong in {
        "'a' has another number of features than 9": {"size": 8},
        "another number of features": {"type": 1, "size": None, "indices": None},
        "not a finite number": {"values": [1.0, np.inf]},
        "do not ascend": {"indices": [8, 1]},
        "ascend from 0 to at most 8": {"indices": [1, 9]},
        "ascend": {"indices": [1, 1]},
        "features of the row with id 'a' are null": False,
    }.items():
        with pytest.raises(RuntimeError) as said:
            pack(wrong)
        with pytest.raises(ValueError, match=message):
            stages.reraise(said.value)
    with pytest.raises(RuntimeError, match="label column holds a null"):
        pack(labels=(0.0, None))
