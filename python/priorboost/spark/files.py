"""Blocks in files: how a run writes them, reads them, and sends them to other tasks.

There are two ways, with the same methods.  `SparkFiles` leaves all of it to Spark, for every file
system that Spark knows.  `MappedFiles` is for a directory that driver and executors share: tasks
write Arrow files and map them into memory, so that Java does not copy the blocks.

Blocks, however they are kept, have the methods of a DataFrame that a run needs: `mapInArrow`,
`collect`, `toLocalIterator` and `union`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import operator
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import StorageLevel, TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from .blocks import Array, numbers, schema
from .stages import Batches, Stage, marked, numbered

Groups = list[tuple[int, int]]  # the first and the last of each range, see `packing.GROUP_BITS`

# ---- Through Spark -------------------------------------------------------------------------------

# What blocks hold is too random to be compressed.  Small groups of rows let a reader skip blocks.
_PARQUET = {
    "compression": "uncompressed",
    "parquet.enable.dictionary": "false",
    "parquet.block.size": str(1 << 20),
    "parquet.block.size.row.check.min": "1",
    "parquet.page.size.row.check.min": "1",
}


class SparkFiles:
    """Files of Parquet, and Spark's shuffle."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        self.spark, self.folder = spark, folder

    def write(self, blocks: Any, stage: Stage, names: tuple[str, ...], path: str) -> None:
        """Write the blocks that a stage makes of others."""
        frame = blocks.mapInArrow(stage, schema(*names))
        frame.write.options(**_PARQUET).parquet(f"{self.folder}/{path}")

    def read(self, path: str, *names: str, groups: Groups | None = None) -> Any:
        """Read some columns of blocks; of the packed table, those that may hold these groups."""
        read = self.spark.read
        if groups is None:
            return read.schema(schema(*names)).parquet(f"{self.folder}/{path}")
        frame = read.schema(schema("group", "last_group", *names)).parquet(f"{self.folder}/{path}")
        here = [(F.col("last_group") >= low) & (F.col("group") <= high) for low, high in groups]
        return frame.where(functools.reduce(operator.or_, here)).select(*names)

    def exchange(self, blocks: Any, stage: Stage, names: tuple[str, ...], label: Array) -> Any:
        """Bring the blocks that a stage makes to the parts of their targets (see `labels`)."""
        return blocks.mapInArrow(stage, schema(*names)).repartition(len(label), "target")

    def numbered(self, blocks: Any, number: Array) -> Any:
        """Add a number to the first bag of each block, by its part; for many passes."""
        of_part = F.array(*[F.lit(int(n)) for n in number])[F.col("part")]
        frame = blocks.withColumn("bag", F.col("bag") + of_part)
        return frame.persist(StorageLevel.MEMORY_AND_DISK)

    def keep(self, blocks: Any, stage: Stage, names: tuple[str, ...], path: str) -> Any:
        """Return the blocks that a stage makes, for many passes."""
        return blocks.mapInArrow(stage, schema(*names)).persist(StorageLevel.MEMORY_AND_DISK)

    def drop(self, blocks: Any) -> None:
        """Forget blocks that are needed no more."""
        blocks.unpersist()


# ---- In a shared directory -----------------------------------------------------------------------


@contextlib.contextmanager
def _shared(path: str) -> Iterator[None]:
    """Say what is wrong if a file or folder of this run is not there."""
    try:
        yield
    except FileNotFoundError:
        raise ValueError(
            f"{path} is not there, but this run has written it: workDir must be a directory that "
            "driver and executors share"
        ) from None


def _name(folder: str, file: int) -> str:
    return f"{folder}/{file:05d}.arrow"


def _write(batches: Batches, stage: Stage, folder: str) -> Batches:
    """Write the blocks that a stage makes; gives the number of the file and its batches.

    The file has the number of the partition, so that a repeated task writes the same file again.
    """
    made = stage(batches)
    first, task = next(made, None), TaskContext.get()
    if first is None or task is None:
        return
    temporary = f"{folder}/{uuid.uuid4().hex}"
    with _shared(folder):
        sink = pa.OSFile(temporary, "wb")
    with sink, pa.ipc.new_file(sink, first.schema) as writer:
        for batch in itertools.chain([first], made):
            writer.write_batch(batch)
        n = writer.stats.num_record_batches
    os.replace(temporary, _name(folder, task.partitionId()))
    cells = [pa.array([value], pa.int32()) for value in (task.partitionId(), n)]
    yield pa.RecordBatch.from_arrays(cells, names=["file", "batches"])


def _in_groups(batch: Any, groups: Groups) -> Array:
    first, last = numbers(batch, "group"), numbers(batch, "last_group")
    wanted: Array = np.any([(last >= low) & (first <= high) for low, high in groups], axis=0)
    return wanted


def _sent_to(batch: Any, target: int) -> Array:
    wanted: Array = numbers(batch, "target") == target
    return wanted


@dataclasses.dataclass(frozen=True)
class _Part:
    """What one task reads: batches by their file and their number in it."""

    folder: str
    batches: Array
    names: tuple[str, ...]
    wanted: Callable[[Any], Array] | None = None  # says which blocks of a batch are read
    then: Stage | None = None

    def __iter__(self) -> Iterator[Any]:
        read = self._read()
        return iter(read if self.then is None else self.then(read))

    def _read(self) -> Iterator[Any]:
        for file, found in itertools.groupby(self.batches.tolist(), operator.itemgetter(0)):
            path = _name(self.folder, file)
            with _shared(path):
                reader = pa.ipc.open_file(pa.memory_map(path))
            for _, i in found:
                batch = reader.get_batch(i)
                keep = np.ones(batch.num_rows, bool) if self.wanted is None else self.wanted(batch)
                edges = np.flatnonzero(np.diff(keep, prepend=False, append=False))
                for begin, end in edges.reshape(-1, 2).tolist():
                    yield batch.slice(begin, end - begin).select(self.names)


def _run(batches: Batches, stage: Stage, parts: list[_Part]) -> Batches:
    """Run a stage on the blocks of this task."""
    mine = (parts[i] for batch in batches for i in batch.column(0).to_pylist())
    yield from stage(itertools.chain.from_iterable(mine))


_written = marked(_write)
_running = marked(_run)


class MappedBlocks:
    """Blocks in mapped files, with the methods of a DataFrame that a run needs."""

    def __init__(self, spark: SparkSession, parts: list[_Part]) -> None:
        self.spark, self.parts = spark, parts

    def mapInArrow(self, stage: Stage, schema: str) -> DataFrame:  # noqa: N802
        """Run a stage on all blocks."""
        n = len(self.parts)
        return self.spark.range(0, n, 1, max(1, n)).mapInArrow(_running(stage, self.parts), schema)

    def toLocalIterator(self) -> Iterator[tuple[Any, ...]]:  # noqa: N802
        """Read block by block on the driver."""
        for batch in itertools.chain.from_iterable(self.parts):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    def collect(self) -> list[tuple[Any, ...]]:
        """Read all blocks on the driver."""
        return list(self.toLocalIterator())

    def union(self, more: MappedBlocks) -> MappedBlocks:
        """Return these blocks and more."""
        return MappedBlocks(self.spark, self.parts + more.parts)


class MappedFiles:
    """Arrow files in a directory that driver and executors share."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        self.spark, self.folder = spark, folder
        self.written: dict[str, Array] = {}  # by path: the file and the number of each batch

    def write(self, blocks: Any, stage: Stage, names: tuple[str, ...], path: str) -> None:
        """Write the blocks that a stage makes of others."""
        folder = f"{self.folder}/{path}"
        os.makedirs(folder)
        found = blocks.mapInArrow(_written(stage, folder), "file int, batches int").collect()
        batches = [(file, i) for file, n in sorted(found) for i in range(n)]
        self.written[path] = np.array(batches, int).reshape(-1, 2)

    def read(self, path: str, *names: str, groups: Groups | None = None) -> Any:
        """Read some columns of blocks; of the packed table, those that may hold these groups."""
        batches, wanted = self.written[path], None
        if groups is not None:
            wanted = functools.partial(_in_groups, groups=groups)
        n = min(len(batches), max(self.spark.sparkContext.defaultParallelism, len(batches) // 8))
        parts = [
            _Part(f"{self.folder}/{path}", some, names, wanted)
            for some in np.array_split(batches, max(1, n))
        ]
        return MappedBlocks(self.spark, parts)

    def exchange(self, blocks: Any, stage: Stage, names: tuple[str, ...], label: Array) -> Any:
        """Bring the blocks that a stage makes to the parts of their targets (see `labels`)."""
        path = f"sent-{len(self.written)}"
        self.write(blocks, stage, names, path)
        parts = [
            _Part(
                f"{self.folder}/{path}",
                self.written[path],
                names,
                functools.partial(_sent_to, target=int(target)),
            )
            for target in label
        ]
        return MappedBlocks(self.spark, parts)

    def numbered(self, blocks: Any, number: Array) -> Any:
        """Add a number to the first bag of each block, by its part; for many passes."""
        then = functools.partial(numbered, number=number)
        parts = [dataclasses.replace(part, then=then) for part in blocks.parts]
        return MappedBlocks(self.spark, parts)

    def keep(self, blocks: Any, stage: Stage, names: tuple[str, ...], path: str) -> Any:
        """Return the blocks that a stage makes, for many passes."""
        self.write(blocks, stage, names, path)
        return self.read(path, *names)

    def drop(self, blocks: Any) -> None:
        """Forget blocks that are needed no more."""
        for folder in {part.folder for part in blocks.parts}:
            shutil.rmtree(folder, ignore_errors=True)
