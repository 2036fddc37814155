"""Blocks in files: through Spark, or mapped into memory from a shared directory."""

import shutil
from types import SimpleNamespace

import cluster  # noqa: F401  # first: skips the rest where there is no Spark
import numpy as np
import pyarrow as pa
import pytest
from conftest import make_table
from spark_support import NAMES, D, frame_of

import priorboost.spark as ps
import priorboost.spark.cluster
from priorboost.spark import blocks, files, flow, stages

pytest_plugins = ["spark_support"]
pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    "options",
    [{}, {"bags": "features", "algorithm": "pbprefix"}, {"estimator": "aggregate"}],
    ids=["prior", "features", "aggregate"],
)
def test_both_ways_give_the_same_bits(spark, asked, monkeypatch, options):
    """In one part: sums of several are added in the order in which they are read."""
    X, y = make_table("logistic", n=900, d=D, seed=5)
    frame = frame_of(spark, X, y, np.arange(900)).coalesce(1)
    estimator = ps.PriorBoostClassifier(
        featuresCol=NAMES, labelCol="y", minBag=5, rounds=2, numPartitions=1, **options
    )
    paths = []
    for way in (files.MappedFiles, files.SparkFiles):
        monkeypatch.setattr(priorboost.spark.cluster, "MappedFiles", way)
        paths.append(estimator.fit(frame).path)
    assert np.array_equal(*paths)
    for mapped, through_spark in zip(asked[:2], asked[2:], strict=True):
        assert np.array_equal(mapped[0], through_spark[0])
        assert np.array_equal(mapped[1], through_spark[1])


def test_files_that_are_lost(spark, monkeypatch, tmp_path):
    """An executor that does not share workDir says so, and nothing of the run is left."""
    find = flow.Run._find_slices

    def lose(self):
        shutil.rmtree(f"{self.files.folder}/rows")
        find(self)

    monkeypatch.setattr(flow.Run, "_find_slices", lose)
    X, y = make_table("linear", n=60, d=D)
    estimator = ps.PriorBoostRegressor(
        featuresCol=NAMES, labelCol="y", minBag=4, rounds=2, workDir=f"file://{tmp_path}"
    )
    with pytest.raises(ValueError, match=r"rows/0000.* is not there.* driver and executors share"):
        estimator.fit(frame_of(spark, X, y, np.arange(60)))
    assert list(tmp_path.iterdir()) == []


def test_no_label_is_in_a_file(spark, monkeypatch, tmp_path):
    monkeypatch.setattr(flow.Run, "clean", lambda self: None)
    X, y = make_table("linear", n=60, d=D)
    estimator = ps.PriorBoostRegressor(
        featuresCol=NAMES, labelCol="y", minBag=4, rounds=2, workDir=f"file://{tmp_path}"
    )
    estimator.fit(frame_of(spark, X, y, np.arange(60)))
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert X[7, 0].tobytes() in written
    assert not any(label.tobytes() in written for label in y)


# ---- One task ------------------------------------------------------------------------------------


def key_blocks(n_blocks, size=3):
    """Give a batch of blocks for the targets 0, 1, 0, 1, ..."""
    keys = np.arange(n_blocks * size, dtype=np.uint64)
    ends = np.arange(size, len(keys) + 1, size)
    target = np.arange(n_blocks) % 2
    return blocks.Rows(len(keys), key=keys).blocks(("target", "n", "key"), ends, target=target)


@pytest.fixture
def write(monkeypatch, tmp_path):
    """Write what a stage gives, as the task of partition 3 does; returns what the task says."""
    task = SimpleNamespace(partitionId=lambda: 3)
    monkeypatch.setattr(files.TaskContext, "get", lambda: task)

    def run(stage, folder=tmp_path):
        return [batch.to_pydict() for batch in files._written(stage, str(folder))(iter([]))]

    return run


def part(folder, *names, **options):
    batches = np.array([(3, 0), (3, 1)])
    return files._Part(str(folder), batches, names, **options)


def test_a_repeated_task_writes_the_same_file(write, tmp_path):
    """A task that dies before its end leaves no file that is read."""

    def dies(_):
        yield key_blocks(2)
        raise RuntimeError("dead")

    def stage(_):
        yield from (key_blocks(2), key_blocks(4))

    with pytest.raises(RuntimeError, match="dead"):
        write(dies)
    assert list(tmp_path.glob("*.arrow")) == []
    assert write(stage) == [{"file": [3], "batches": [2]}]
    (path,) = tmp_path.glob("*.arrow")
    first = path.read_bytes()
    assert write(stage) == [{"file": [3], "batches": [2]}]
    assert list(tmp_path.glob("*.arrow")) == [path]
    assert path.read_bytes() == first
    assert write(lambda _: iter([])) == []


def test_only_blocks_that_are_wanted_are_read(write, tmp_path):
    write(lambda _: iter([key_blocks(2), key_blocks(5)]))
    everything = list(part(tmp_path, "n", "key"))
    assert [batch.num_rows for batch in everything] == [2, 5]
    assert everything[0].schema.names == ["n", "key"]
    odd = list(part(tmp_path, "key", wanted=lambda b: blocks.numbers(b, "target") == 1))
    found = [blocks.whole(batch.column("key"), np.uint64).tolist() for batch in odd]
    assert found == [[3, 4, 5], [3, 4, 5], [9, 10, 11]]


def test_a_file_that_a_task_cannot_find(write, tmp_path):
    with pytest.raises(RuntimeError) as said:
        write(lambda _: iter([key_blocks(2)]), tmp_path / "elsewhere")
    with pytest.raises(ValueError, match=r"elsewhere is not there.* executors share"):
        stages.reraise(said.value)
    task = pa.RecordBatch.from_arrays([pa.array([0])], names=["id"])
    with pytest.raises(RuntimeError) as said:
        list(files._running(lambda batches: batches, [part(tmp_path, "key")])(iter([task])))
    with pytest.raises(ValueError, match=r"00003.arrow is not there.* executors share"):
        stages.reraise(said.value)
    with pytest.raises(ValueError, match="executors share"):
        files.MappedBlocks(None, [part(tmp_path, "key")]).collect()
