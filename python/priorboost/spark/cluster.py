"""What a run does with Spark itself: named stages, its directory, the Python of its workers."""

from __future__ import annotations

import contextlib
import os
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

from pyspark.sql import SparkSession

from . import stages
from .files import MappedFiles, SparkFiles


class Cluster:
    """A Spark session, and the directory of one run."""

    def __init__(
        self, spark: SparkSession, work_dir: str, on_stage: Callable[[str, float], None] | None
    ) -> None:
        self.spark, self.context = spark, spark.sparkContext
        self.work_dir, self.on_stage = work_dir, on_stage
        self.dir = f"{work_dir.rstrip('/')}/priorboost-{uuid.uuid4().hex}"
        self.t = -1  # the round

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Name a step in Spark's own pages, time it, and raise the errors of its tasks."""
        where = f"round {self.t + 1}, {name}" if self.t >= 0 else name
        before = self.context.getLocalProperty("spark.job.description")
        self.context.setLocalProperty("spark.job.description", f"priorboost: {where}")
        begin = time.monotonic()
        try:
            yield
        except Exception as error:
            stages.reraise(error)
            raise
        finally:
            self.context.setLocalProperty("spark.job.description", before)
        if self.on_stage is not None:
            self.on_stage(name, time.monotonic() - begin)

    def _folder(self) -> tuple[Any, Any]:
        """Return the run's directory and its file system, as Hadoop has them."""
        assert self.context._jvm is not None
        path = self.context._jvm.org.apache.hadoop.fs.Path(self.dir)
        return path, path.getFileSystem(self.context._jsc.hadoopConfiguration())

    def make_folder(self) -> None:
        """Make the run's directory; it is removed when the run or, at the latest, Java ends.

        In a local file system tasks map files into memory; any other one is left to Spark.
        """
        try:
            path, system = self._folder()
            said = "" if system.mkdirs(path) and system.deleteOnExit(path) else "no reason is given"
        except Exception as error:
            said = str(getattr(error, "java_exception", error)).splitlines()[0]
        if said:
            raise ValueError(f"workDir is {self.work_dir}, where nothing can be written: {said}")
        self.files: SparkFiles | MappedFiles = SparkFiles(self.spark, self.dir)
        if system.getUri().getScheme() == "file":
            self.files = MappedFiles(self.spark, path.toUri().getPath())

    def clean(self) -> None:
        """Delete what the run has written."""
        path, system = self._folder()
        system.delete(path, True)
        system.cancelDeleteOnExit(path)

    @contextlib.contextmanager
    def this_python(self) -> Iterator[None]:
        """Make a local Spark use the Python that runs here, unless the user has set another one.

        Otherwise that is whichever python3 the shell finds first, which need not have priorboost.
        """
        context, before = self.context, self.context.pythonExec
        named = "PYSPARK_PYTHON" in os.environ or context.getConf().contains("spark.pyspark.python")
        if context.master.startswith("local") and not named:
            context.pythonExec = sys.executable
        try:
            yield
        finally:
            context.pythonExec = before
