"""Wrong input, and what tasks do with rows."""

from types import SimpleNamespace

import cluster  # noqa: F401  # first: skips the rest where there is no Spark
import numpy as np
import pyarrow as pa
import pytest
from conftest import make_table
from pyspark.sql import functions as F
from spark_support import NAMES, D, frame_of

import priorboost as pb
import priorboost.spark as ps
from priorboost.spark import blocks, flow, packing, pieces, stages

pytest_plugins = ["spark_support"]
pytestmark = pytest.mark.spark


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
    score = stages.GLMScore(pb._library.LINEAR, weights)
    how = stages.ByScore(score, x[:8, 0], key[:8], 2)
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
    run.files = SimpleNamespace(read=lambda *_: frame)
    frame.rows = [(7, "a"), (7, "b")]
    run._refuse_repeated([7])
    frame.rows = [(7, "a"), (7, "b"), (7, "a")]
    with pytest.raises(ValueError, match="the id 'a' names two rows"):
        run._refuse_repeated([7])
