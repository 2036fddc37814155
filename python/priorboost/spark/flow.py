"""One training on Spark, from the driver: slices, then in each round order, bag, ask, fit.

The loop is that of the C trainer (src/core/train/trainer.c): the same slices and ties by hash of
id, the same bags cut by the same grid of chunks, the same questions.  The driver
holds two numbers per bag of a round (where it ends, and its answer); rows stay with the tasks.

Nothing is asked before it is on disk: a round's order and its questions are files, so that a task
that Spark runs again, and a round that continues after an executor is lost, ask what was asked
before, and the service answers with what it answered before.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from .. import _library
from .._library import lib
from . import passes, pieces, stages, tree
from .asking import LabelsOnDriver, Service
from .blocks import Array, block_rows, labels, schema

# The columns of blocks on their way to questions and to bags, and there.
_ROWS = ("target", "question", "first", "n", "id", "width", "row", "order")
_QUESTION = ("question", "n", "id", "width", "row", "sizes", "within")
_FEATURES = ("target", "question", "first", "n", "x")
_BAGS = ("bag", "n", "x", "sizes")

PART_BYTES = 1 << 26  # of rows that a task sorts in memory
LEAST_ROWS = 1 << 13  # of a part, where the number of cores would make them smaller
SAMPLE_ROWS = 64  # of a slice's sample, for every part


@dataclass
class Settings:
    """How to train."""

    family: int
    algorithm: str
    bags: str
    schedule: int
    rounds: int  # 0: by the size of the table
    bag_size: int  # 0: the oracle's min_bag
    seed: int
    fit: _library.FitOptions
    work_dir: str
    partitions: int = 0  # 0: by size and cores
    ask_from: str = "driver"
    on_stage: Callable[[str, float], None] | None = None


@dataclass
class Table:
    """The data: columns of a DataFrame by their position in it."""

    rows: DataFrame  # id, features as an array, and the prior's score if there is one
    d: int
    labels: DataFrame | None = None  # id and label, where this process plays both parties


@dataclass
class Result:
    """The result of a training."""

    path: Array  # by round: theta, then the intercept
    history: list[dict[str, Any]]
    report: _library.FitReport
    rows: int
    rounds: int
    rules: _library.Rules
    sample: Array  # features of some rows
    covariance: Array | None = None  # of the weights and, last, the intercept


@dataclass
class Round:
    """A round's order on disk, and the driver's data about it."""

    path: str
    x: DataFrame  # part, first, n, x; whole bags of the aggregate estimator: bag, n, x, sizes
    offset: Array  # position of each part's first row
    cuts: Array = field(default_factory=lambda: np.empty(0, np.int64))
    answers: Array = field(default_factory=lambda: np.empty(0))
    shared: Any = None  # broadcast: offset, cuts, answers


class Run:
    """One training."""

    def __init__(
        self,
        spark: SparkSession,
        table: Table,
        settings: Settings,
        oracle: Callable[[Run], LabelsOnDriver | Service],
    ) -> None:
        self.spark, self.table, self.s = spark, table, settings
        self.context = spark.sparkContext
        self.dir = f"{settings.work_dir.rstrip('/')}/priorboost-{uuid.uuid4().hex}"
        self.make_oracle = oracle
        self.t = -1
        self.covariance: Array | None = None

    # ---- Spark ----

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
        if self.s.on_stage is not None:
            self.s.on_stage(name, time.monotonic() - begin)

    def exchange(self, frame: DataFrame, n_parts: int) -> DataFrame:
        """Bring blocks to the partitions that belong to their targets (see `labels`)."""
        return frame.repartition(n_parts, "target")

    def write(self, frame: DataFrame, path: str, by: str | None = None) -> None:
        """Write blocks as they are: what they hold is too random to be compressed."""
        writer = frame.write.option("compression", "uncompressed")
        writer = writer.option("parquet.enable.dictionary", "false")
        writer = writer.option("parquet.block.size", str(1 << 26))
        (writer if by is None else writer.partitionBy(by)).parquet(path)

    def read(self, path: str, *names: str) -> DataFrame:
        """Read blocks; only the columns named are fetched."""
        return self.spark.read.schema(schema(*names)).parquet(path)

    def _folder(self) -> tuple[Any, Any]:
        """Return the run's directory and its file system, as Hadoop has them."""
        assert self.context._jvm is not None
        path = self.context._jvm.org.apache.hadoop.fs.Path(self.dir)
        return path, path.getFileSystem(self.context._jsc.hadoopConfiguration())

    def make_folder(self) -> None:
        """Make the run's directory; it is removed when the run or, at the latest, Java ends."""
        try:
            path, system = self._folder()
            said = "" if system.mkdirs(path) and system.deleteOnExit(path) else "no reason is given"
        except Exception as error:
            said = str(getattr(error, "java_exception", error)).splitlines()[0]
        if said:
            raise ValueError(f"workDir is {self.s.work_dir}, where nothing can be written: {said}")

    def clean(self, rounds: list[Round]) -> None:
        """Delete what the run has written and Spark has kept."""
        self._drop(rounds)
        path, system = self._folder()
        system.delete(path, True)
        system.cancelDeleteOnExit(path)

    def n_parts(self, rows: int) -> int:
        """Return the number of parts for this many rows."""
        if self.s.partitions > 0:
            return self.s.partitions
        by_size = -(-rows * (8 * self.table.d + 48) // PART_BYTES)
        by_cores = min(self.context.defaultParallelism, rows // LEAST_ROWS)
        return int(max(1, by_size, by_cores))

    # ---- Slices ----

    def prepare(self) -> None:
        """Count the rows, say where each belongs in the shuffle, and write the slices."""
        with self.stage("count"):
            ids = self.table.rows.select(self.table.rows.columns[0])
            counted = ids.mapInArrow(
                stages.count(self.s.seed), "bucket int, rows bigint, longest int"
            )
            found = counted.groupBy("bucket").agg(F.sum("rows"), F.max("longest")).collect()
        rows = np.zeros(1 << stages.KEY_BITS, np.int64)
        for bucket, n, _ in found:
            rows[bucket] = n
        self.n_rows = int(rows.sum())
        if self.n_rows == 0:
            raise ValueError("the table has no rows")
        self.longest_id = max(longest for _, _, longest in found)
        self.oracle = self.make_oracle(self)
        self.rules = self.oracle.library_rules()
        self.bag_size = self.s.bag_size or self.rules.min_bag
        if self.bag_size < self.rules.min_bag:
            raise ValueError(
                f"bagSize is {self.bag_size}, but the oracle answers no bag of fewer than "
                f"{self.rules.min_bag} rows"
            )
        oneshot = self.s.algorithm == "oneshot"
        self.rounds = self.s.rounds or (
            1 if oneshot else lib.rounds_default(self.n_rows, self.table.d, self.bag_size)
        )
        if oneshot and self.rounds != 1:
            raise ValueError(f"rounds is {self.rounds}, but oneshot has one round by definition")
        self.slices = pieces.slices(self.s.schedule, self.n_rows, self.rounds, self.bag_size)
        with self.stage("slice"):
            self._write_slices(rows)
        with self.stage("sample"):
            self._take_samples()

    def _write_slices(self, bucket_rows: Array) -> None:
        end = np.cumsum(bucket_rows)
        n_parts = max(self.n_parts(self.n_rows), 1)
        part_of = np.minimum((end - bucket_rows) * n_parts // self.n_rows, n_parts - 1)
        first_of = np.concatenate([[0], np.cumsum(np.bincount(part_of, bucket_rows, n_parts))])
        label, d = labels(n_parts), self.table.d
        sent = self.table.rows.mapInArrow(
            stages.send(self.s.seed, d, part_of, label),
            schema("target", "n", "id", "width", "order", "prior", "x"),
        )
        settled = self.exchange(sent, n_parts).mapInArrow(
            stages.settle(d, label, first_of.astype(np.int64), self.slices),
            schema("slice", "first", "n", "id", "width", "prior", "x"),
        )
        self.write(settled, f"{self.dir}/slices", by="slice")

    def _slice(self, t: int, *names: str) -> DataFrame:
        frame = self.read(f"{self.dir}/slices", *names, "slice")
        return frame.where(F.col("slice") == t).select(*names)

    def _take_samples(self) -> None:
        """Fetch the first rows of each slice: slices are in random order."""
        longest = int(np.diff(self.slices).max())
        leaves = tree.n_leaves(longest) if self.s.bags in ("features", "hybrid") else 0
        limit = max(2048, SAMPLE_ROWS * self.n_parts(longest), tree.SAMPLE_ROWS * leaves)
        names = ("slice", "first", "n", "prior", "x")
        blocks = (
            self.read(f"{self.dir}/slices", *names)
            .where(F.col("first") < limit)
            .mapInArrow(stages.sample(self.table.d, limit), schema(*names))
            .collect()
        )
        self.sample_x, self.sample_prior = [], []
        for t in range(self.rounds):
            mine = sorted((b for b in blocks if b["slice"] == t), key=lambda b: b["first"])
            if not mine:
                raise ValueError(
                    f"slice {t + 1} was written to {self.dir}, but is not there: workDir must be a "
                    "directory that driver and executors share"
                )
            x = np.concatenate([np.frombuffer(b["x"], np.float64) for b in mine])
            self.sample_x.append(x.reshape(-1, self.table.d))
            if mine[0]["prior"] is not None:
                prior = np.concatenate([np.frombuffer(b["prior"], np.float64) for b in mine])
                self.sample_prior.append(prior)

    # ---- One round ----

    def _how(self, weights: Array | None) -> tuple[Any, int, str]:
        """Return how the slice is ordered, in how many parts, and the kind of bags."""
        t, s = self.t, self.s
        rows = int(self.slices[t + 1] - self.slices[t])
        n_parts = self.n_parts(rows)
        prior = t == 0 and bool(self.sample_prior)
        kind = "random" if s.algorithm == "oneshot" else s.bags
        if kind == "prior" and weights is None and not prior:
            kind = "random"
        if kind == "random":
            seed = int(pieces.shuffle_keys(s.seed, 1, first=t, n=1)[0])
            return stages.AtRandom(seed, n_parts), n_parts, kind
        if kind == "prior":
            if weights is None:
                sample = self.sample_prior[0]
            else:
                sample = stages.score(self.sample_x[t], s.family, weights)
            n_parts = min(n_parts, len(sample))
            return stages.ByScore(s.family, weights, sample, n_parts), n_parts, kind
        router = tree.Router(self.sample_x[t], tree.n_leaves(rows))
        part_of, n_parts = self._leaf_parts(router)
        scored = weights if kind == "hybrid" else None
        how = stages.ByFeatures(router, part_of, s.family, scored, self.bag_size)
        return how, n_parts, kind

    def _leaf_parts(self, router: tree.Router) -> tuple[Array, int]:
        if router.n_leaves == 1:
            return np.zeros(1, np.int64), 1
        with self.stage("leaves"):
            counted = self._slice(self.t, "n", "x").mapInArrow(
                stages.leaves(self.table.d, router), "leaf int, rows bigint"
            )
            rows = np.zeros(router.n_leaves, np.int64)
            for leaf, n in counted.groupBy("leaf").agg(F.sum("rows")).collect():
                rows[leaf] = n
        return tree.merge_small(rows, self.bag_size)

    def order(self, weights: Array | None) -> tuple[Round, str]:
        """Score the slice and write it in the order of its bags; says which kind these are."""
        how, n_parts, kind = self._how(weights)
        label, d = labels(n_parts), self.table.d
        path = f"{self.dir}/order-{self.t}"
        with self.stage("order"):
            needed = ("first", "n", "id", "width", "prior", "x")
            spread = self._slice(self.t, *needed).mapInArrow(
                stages.spread(d, how, label),
                schema("target", "n", "id", "width", "row", "order", "x"),
            )
            arranged = self.exchange(spread, n_parts).mapInArrow(
                stages.arrange(d, how, label),
                schema("part", "first", "n", "low", "high", "id", "width", "row", "order", "x",
                       "sizes"),
            )  # fmt: skip
            self.write(arranged, path)
        with self.stage("count parts"):
            found = (
                self.read(path, "part", "n", "low", "high")
                .groupBy("part")
                .agg(F.sum("n"), F.min("low"), F.max("high"))
                .collect()
            )
        rows = np.zeros(n_parts, np.int64)
        for part, n, _, _ in found:
            rows[part] = n
        if rows.sum() != self.slices[self.t + 1] - self.slices[self.t]:
            raise RuntimeError(f"round {self.t + 1} has lost rows: {rows.sum()} are left")
        self.low = min(low for _, _, low, _ in found)
        self.high = max(high for _, _, _, high in found)
        x = self.read(path, "part", "first", "n", "x")
        return Round(path, x, np.concatenate([[0], np.cumsum(rows)])), kind

    def cut(self, r: Round, kind: str) -> None:
        """Find where each bag ends."""
        n, k = int(r.offset[-1]), self.bag_size
        if kind == "random":
            n_bags = n // k
            size, longer = divmod(n, n_bags)
            bag = np.arange(n_bags + 1)
            r.cuts = bag * size + np.minimum(bag, longer)
        elif kind in ("features", "hybrid"):
            with self.stage("cut"):
                frame = self.read(r.path, "part", "sizes").where("sizes is not null")
                found = sorted(frame.collect())
            sizes = [np.frombuffer(cell, np.uint32).astype(np.int64) for _, cell in found]
            r.cuts = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
        elif k == 1:
            r.cuts = np.arange(n + 1)
        elif n // 2 < k:
            r.cuts = np.array([0, n])
        else:
            with self.stage("cut"):
                r.cuts = self._optimal_cuts(r, n, k)

    def _optimal_cuts(self, r: Round, n: int, k: int) -> Array:
        """Solve all chunks separately and splice them, as pboost_partition does with its threads.

        A chunk that does not fit the others is solved again from where they end; where that gets no
        further either, there is no common cut and all that is left is solved in one piece.
        """
        n_chunks, overlap = pieces.cut_grid(n, k)
        last = np.arange(1, n_chunks + 1) * (n // n_chunks)
        last[-1] = n
        first = np.concatenate([[0], last[:-1] - overlap])
        if n_chunks == 1:
            return self._cut_pieces(r, first, last, [pieces.REST])[0]
        how = [pieces.COMMON] * (n_chunks - 1) + [pieces.TO_END]
        end = np.zeros(1, np.int64)  # the last cut so far
        cuts = [end]
        for c, chunk in enumerate(self._cut_pieces(r, first, last, how)):
            at = int(np.searchsorted(chunk, end[0]))
            if at == len(chunk) or chunk[at] != end[0]:
                chunk = self._cut_pieces(r, end, last[c : c + 1], how[c : c + 1])[0]
                if len(chunk) == 1:
                    rest = self._cut_pieces(r, end, last[-1:], [pieces.REST])[0]
                    return np.concatenate([*cuts, rest[1:]])
                at = 0
            cuts.append(chunk[at + 1 :])
            end = chunk[-1:]
        return np.concatenate(cuts)

    def _cut_pieces(self, r: Round, first: Array, last: Array, how: list[int]) -> list[Array]:
        """Cut pieces of the sorted scores, each in a task of its own."""
        label = labels(len(first))
        scale = lib.cut_scale(self.low, self.high)
        sent = self.read(r.path, "part", "first", "n", "order").mapInArrow(
            stages.scores(r.offset, first, last, label), schema("target", "first", "n", "order")
        )
        found = (
            self.exchange(sent, len(first))
            .mapInArrow(
                stages.cut(first, last, self.bag_size, scale, np.array(how), label),
                schema("part", "cuts"),
            )
            .collect()
        )
        cuts = {part: np.frombuffer(cell, np.int64) for part, cell in found}
        return [cuts[c] for c in range(len(first))]

    def _borders(self, cuts: Array, most: int) -> Array:
        """Return where pieces of whole bags begin: as many as fit, for any partitions."""
        border = [0]
        while border[-1] < cuts[-1]:
            at = int(np.searchsorted(cuts, border[-1] + most, "right")) - 1
            here = int(np.searchsorted(cuts, border[-1]))
            border.append(int(cuts[max(at, here + 1)]))
        return np.array(border)

    def ask(self, r: Round, scored: bool) -> float:
        """Write the questions, then ask them; returns the within-bag sum of squares of scores."""
        border = self._borders(r.cuts, self.oracle.most_rows(self.longest_id))
        n_parts = min(len(border) - 1, max(self.context.defaultParallelism, len(r.offset) - 1))
        label, path = labels(n_parts), f"{self.dir}/questions-{self.t}"
        names = ["id", "width"] if isinstance(self.oracle, Service) else ["row"]
        cuts = self.context.broadcast(r.cuts)
        with self.stage("questions"):
            composed = self.read(r.path, "part", "first", "n", *names, "order").mapInArrow(
                stages.compose(r.offset, border, label, _ROWS, 0), schema(*_ROWS)
            )
            finished = self.exchange(composed, n_parts).mapInArrow(
                stages.finish(border, cuts, scored, _QUESTION, 0, 0), schema(*_QUESTION)
            )
            self.write(finished, path)
        with self.stage("ask"):
            r.answers = self._answers(path, len(border) - 1)
            within = self.read(path, "question", "within").collect() if scored else []
        cuts.destroy()
        return sum(spread for _, spread in sorted(within)) if scored else float("nan")

    def _answers(self, path: str, n: int) -> Array:
        if isinstance(self.oracle, LabelsOnDriver):
            found = sorted(self.read(path, "question", "row", "sizes").collect())
            rows = np.concatenate([np.frombuffer(cell, np.int64) for _, cell, _ in found])
            sizes = np.concatenate([np.frombuffer(cell, np.uint32) for _, _, cell in found])
            return self.oracle.ask(self.t, rows + self.slices[self.t], sizes)
        asked = self.read(path, "question", "n", "id", "width", "sizes")
        answers: dict[int, Array] = {}
        if self.s.ask_from == "executors":
            frame = asked.mapInArrow(stages.ask(self.oracle), schema("question", "answers"))
            for q, cell in frame.collect():
                answers[q] = np.frombuffer(cell, np.float64)
        else:
            with self.oracle.session() as session:
                for q, _, ids, width, sizes in asked.toLocalIterator():
                    answers[q] = session.ask(ids, width, np.frombuffer(sizes, np.uint32))
        if len(answers) != n:
            raise RuntimeError(f"{len(answers)} of {n} questions were answered")
        return np.concatenate([answers[q] for q in range(n)])

    def gather(self, r: Round, first_bag: int) -> None:
        """Bring the rows of each bag together: the aggregate estimator sees bags whole."""
        d = self.table.d
        border = self._borders(r.cuts, block_rows(d))
        n_parts = min(len(border) - 1, self.n_parts(int(r.cuts[-1])))
        cuts = self.context.broadcast(r.cuts)  # for as long as tasks may be run again
        composed = r.x.mapInArrow(
            stages.compose(r.offset, border, labels(n_parts), _FEATURES, d), schema(*_FEATURES)
        )
        gathered = self.exchange(composed, n_parts).mapInArrow(
            stages.finish(border, cuts, False, _BAGS, d, first_bag), schema(*_BAGS)
        )
        path = f"{self.dir}/bags-{self.t}"
        with self.stage("gather"):
            self.write(gathered, path)
        cuts.destroy()
        r.x = self.read(path, *_BAGS)

    def fit(self, rounds: list[Round], weights: Array) -> tuple[Array, _library.FitReport]:
        """Fit the rounds' answers, from weights."""
        cuts, answers = [r.cuts for r in rounds], [r.answers for r in rounds]
        said = pieces.Answers.of(cuts, answers, self.rules)
        with self.stage("fit"):
            if self.s.fit.estimator == _library.AGGREGATE:
                bags = [r.x for r in rounds]
                there = passes.BagPasses(self.context, bags, said.answer, self.sample_x[0][0])
                with contextlib.closing(there):
                    weights, report, self.covariance = pieces.fit_bags(
                        weights, there, there.base, said, self.s.fit
                    )
                return weights, report
            return self._fit_events(rounds, said, weights)

    def _fit_events(
        self, rounds: list[Round], said: pieces.Answers, weights: Array
    ) -> tuple[Array, _library.FitReport]:
        """Minimise the event-level loss over the rounds' rows, from weights."""
        shift = None
        if self.s.fit.intercept:
            shift = pieces.shift_of(self.sample_x[self.t][:64])
        there = passes.EventPasses([(r.x, r.shared) for r in rounds], self.table.d, self.s.family)
        return pieces.fit_parts(weights, there.sums(shift), said, shift, self.s.fit)

    # ---- The loop ----

    def step(self, weights: Array | None, rounds: list[Round]) -> tuple[Array, Any, dict[str, Any]]:
        """Run one round: order the slice by the last model's scores, bag it, ask, refit."""
        r, kind = self.order(weights)
        self.cut(r, kind)
        within = self.ask(r, kind == "prior" or (kind == "hybrid" and weights is not None))
        aggregate = self.s.fit.estimator == _library.AGGREGATE
        if self.s.algorithm != "pbprefix" and not aggregate:
            self._drop(rounds)
        if aggregate:
            self.gather(r, sum(len(old.answers) for old in rounds))
        else:
            r.shared = self.context.broadcast((r.offset, r.cuts, r.answers))
        r.x = r.x.persist(StorageLevel.MEMORY_AND_DISK)
        rounds.append(r)
        start = np.zeros(self.table.d + 1) if weights is None else weights
        weights, report = self.fit(rounds, start)
        record = {
            "round": self.t + 1,
            "rows": int(r.offset[-1]),
            "bags": len(r.answers),
            "within": within,
        }
        return weights, report, record

    def _drop(self, rounds: list[Round]) -> None:
        for r in rounds:
            r.x.unpersist()
            if r.shared is not None:
                r.shared.destroy()
        rounds.clear()

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

    def train(self) -> Result:
        """Run all rounds; the files of the run are removed at the end."""
        with self.this_python():
            return self._train()

    def _train(self) -> Result:
        rounds: list[Round] = []
        path, history, weights = [], [], None
        self.make_folder()
        try:
            self.prepare()
            for t in range(self.rounds):
                self.t = t
                weights, report, record = self.step(weights, rounds)
                path.append(weights)
                history.append(record)
        except BaseException:
            with contextlib.suppress(Exception):  # Spark itself may be what has failed
                self.clean(rounds)
            raise
        self.clean(rounds)
        return Result(
            np.array(path),
            history,
            report,
            self.n_rows,
            self.rounds,
            self.rules,
            self.sample_x[-1],
            self.covariance,
        )

    def labels_by_position(self, frame: DataFrame) -> Array:
        """Bring labels (id, label) to the driver in the order of the shuffle."""
        with self.stage("labels"):
            found = frame.mapInArrow(stages.labels(self.s.seed), schema("order", "prior")).collect()
        keys = np.concatenate([np.frombuffer(key, np.uint64) for key, _ in found])
        values = np.concatenate([np.frombuffer(value, np.float64) for _, value in found])
        return values[pieces.order_keys(keys)]
