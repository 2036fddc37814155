"""One training on Spark, from the driver: slices, then in each round order, bag, ask, fit.

The loop is that of the C trainer (src/core/train/trainer.c): the same slices and ties by hash of
id, the same bags cut by the same grid of chunks, the same questions.  The driver
holds four numbers per bag of a round (where it ends, its answer, and what its first row is ordered
by); rows stay with the tasks.

Rows are packed into blocks and written once.  A slice is a range of keys, a bag of a round is a
range of (score, key): a row finds both by itself, so that a round sends scores and ids to sort, and
features stay where they are.  Features move once where they must: to random positions, to the bags
that are made from them, and to bags that are fitted as a whole.

Nothing is asked before it is on disk: a round's order and its questions are files, so that a task
that Spark runs again, and a round that continues after an executor is lost, ask what was asked
before, and the service answers with what it answered before.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from .. import _library
from .._library import lib
from . import packing, passes, pieces, stages, tree
from .asking import LabelsOnDriver, Service
from .blocks import Array, bag_borders, labels, schema
from .cluster import Cluster

# The columns of blocks on their way to questions, and there.
_ROWS = ("target", "question", "first", "n", "id", "width", "key", "order")
_QUESTION = ("question", "n", "id", "width", "key", "sizes", "within", "edge_order", "edge_key")
_IDS = ("id", "width")

PART_BYTES = 1 << 26  # of rows that a task sorts in memory
LEAST_ROWS = 1 << 13  # of a part, where the number of cores would make them smaller
SAMPLE_ROWS = 64  # of a slice's sample, for every part


@dataclass
class Settings:
    """How to train."""

    learner: type  # of `learning`
    family: int  # of the scores
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
    names: tuple[str, ...] = ()  # of the classes that those labels number


@dataclass
class Result:
    """The result of a training."""

    path: Array  # by round: theta, then the intercept; of several classes a row for each
    history: list[dict[str, Any]]
    report: _library.FitReport
    rows: int
    rounds: int
    rules: _library.Rules
    sample: Array  # features of some rows
    covariance: Array | None = None  # of the weights and, last, the intercept
    classes: tuple[str, ...] = ()  # their names, where there are several


@dataclass
class Round:
    """A round's order on disk, and the driver's data about it."""

    path: str
    rows: Any  # blocks of the slice, with their features
    how: Any  # how they are ordered
    span: tuple[int, int] | None  # the range of their keys; None: the rows know their positions
    offset: Array  # position of each part's first row
    cuts: Array = field(default_factory=lambda: np.empty(0, np.int64))
    answers: Array = field(default_factory=lambda: np.empty(0))
    shared: Any = None  # broadcast: order and key of each bag's first row, answers; aggregate: cuts
    fitted: Any = None  # blocks: rows with their answers, or whole bags

    def first_bags(self) -> Array:
        """Return the first bag of each part, where parts have whole bags."""
        return np.searchsorted(self.cuts, self.offset[:-1])


class Run(Cluster):
    """One training."""

    def __init__(
        self,
        spark: SparkSession,
        table: Table,
        settings: Settings,
        oracle: Callable[[Run], LabelsOnDriver | Service],
    ) -> None:
        super().__init__(spark, settings.work_dir, settings.on_stage)
        self.table, self.s = table, settings
        self.make_oracle = oracle
        self.covariance: Array | None = None

    # ---- Slices ----

    def n_parts(self, rows: int, features: bool = False) -> int:
        """Return the number of parts for this many rows, with or without their features."""
        if self.s.partitions > 0:
            return self.s.partitions
        by_size = -(-rows * (24 + 8 * self.table.d * features) // PART_BYTES)
        by_cores = min(self.context.defaultParallelism, rows // LEAST_ROWS)
        return int(max(1, by_size, by_cores))

    def prepare(self) -> None:
        """Pack the rows into blocks and write them, and say which rows belong to each slice."""
        with self.stage("pack"):
            stage = packing.pack(self.s.seed, self.table.d)
            self.files.write(self.table.rows, stage, packing.PACKED, "rows")
        with self.stage("count"):
            keys = self.files.read("rows", "key", "width")
            found = keys.mapInArrow(packing.count(), "counts binary, longest int").collect()
        rows = np.zeros(1 << packing.KEY_BITS, np.int64)
        for counts, _ in found:
            rows += np.frombuffer(counts, np.uint32)
        self.bucket_end = np.cumsum(rows)
        self.n_rows = int(rows.sum())
        if self.n_rows == 0:
            raise ValueError("the table has no rows")
        self.longest_id = max(longest for _, longest in found)
        self.oracle = self.make_oracle(self)
        self.rules = self.oracle.library_rules()
        self.learner = self.s.learner(self)
        # Labels on the driver know rows by their keys.
        self.ids = _IDS if isinstance(self.oracle, Service) else ()
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
            self._find_slices()
        with self.stage("sample"):
            self._take_samples()

    def _key_parts(self, first: int, end: int, features: bool) -> tuple[Array, Array]:
        """Return the part of each bucket of keys, and the place of the first row of each part.

        Only the rows at places first .. end are counted.
        """
        ends = np.clip(self.bucket_end, first, end) - first
        n_parts = self.n_parts(end - first, features)
        before = np.concatenate([[0], ends[:-1]])
        part_of = np.minimum(before * n_parts // (end - first), n_parts - 1)
        sizes = np.bincount(part_of, ends - before, n_parts)
        return part_of, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    def _find_slices(self) -> None:
        """Find the range of keys of each slice and of its sample; an id must be there once."""
        longest = int(np.diff(self.slices).max())
        leaves = tree.n_leaves(longest) if self.s.bags in ("features", "hybrid") else 0
        limit = max(2048, SAMPLE_ROWS * self.n_parts(longest, True), tree.SAMPLE_ROWS * leaves)
        ends = np.minimum(self.slices[:-1] + limit, self.slices[1:])
        part_of, first_of = self._key_parts(0, self.n_rows, False)
        label = labels(len(first_of) - 1)
        stage = packing.send_keys(part_of, label)
        sent = self.files.exchange(self.files.read("rows", "key"), stage, packing.KEYS, label)
        wanted = np.unique(np.concatenate([self.slices[:-1], ends - 1]))
        found = sent.mapInArrow(packing.rank(label, first_of, wanted), "place bigint, key bigint")
        keys = [(place, key % (1 << 64)) for place, key in found.collect()]
        self._refuse_repeated([key for place, key in keys if place < 0])
        at = dict(keys)
        low = [0, *(at[int(place)] for place in self.slices[1:-1])]
        high = [*(key - 1 for key in low[1:]), (1 << 64) - 1]
        self.spans = list(zip(low, high, strict=True))
        sample_high = [at[int(place)] for place in ends - 1]
        self.sample_spans = list(zip(low, sample_high, strict=True))

    def _refuse_repeated(self, keys: list[int]) -> None:
        """Raise an error if an id names two rows; two ids may have the same key by chance."""
        if not keys:
            return
        frame = self.files.read("rows", "n", "id", "width", "key")
        found = frame.mapInArrow(
            packing.named(np.array(keys, np.uint64)), "key bigint, id string"
        ).collect()
        for one, n in Counter(name for _, name in found).items():
            if n > 1:
                raise ValueError(f"the id '{one}' names two rows; ids must be unique")

    def packed(self, spans: list[tuple[int, int]], *names: str) -> Any:
        """Read the blocks that may hold keys of these ranges."""
        shift = 64 - packing.GROUP_BITS
        groups = [(low >> shift, high >> shift) for low, high in spans]
        return self.files.read("rows", *names, groups=groups)

    def _take_samples(self) -> None:
        """Fetch the first rows of each slice: slices are in random order."""
        d = self.table.d
        frame = self.packed(self.sample_spans, "n", "key", "prior", "x")
        stage = packing.sample(d, self.sample_spans)
        blocks = frame.mapInArrow(stage, schema(*packing.SAMPLE)).collect()
        self.sample_x, self.sample_key, self.sample_prior = [], [], []
        for t in range(self.rounds):
            mine = [b for b in blocks if b["slice"] == t]
            if not mine:
                raise ValueError(
                    f"slice {t + 1} was written to {self.dir}, but is not there: workDir must be a "
                    "directory that driver and executors share"
                )

            def column(name: str, dtype: Any, mine: list[Any] = mine) -> Array:
                return np.concatenate([np.frombuffer(b[name], dtype) for b in mine])

            key = column("key", np.uint64)
            order = pieces.order_keys(key)
            self.sample_key.append(key[order])
            self.sample_x.append(column("x", np.float64).reshape(-1, d)[order])
            if mine[0]["prior"] is not None:
                self.sample_prior.append(column("prior", np.float64)[order])

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
            score = None if weights is None else self.learner.score(weights)
            sample = self.sample_prior[0] if score is None else score.of(self.sample_x[t])
            n_parts = min(n_parts, len(sample))
            return stages.ByScore(score, sample, self.sample_key[t], n_parts), n_parts, kind
        router = tree.Router(self.sample_x[t], tree.n_leaves(rows))
        part_of, n_parts = self._leaf_parts(router)
        scored = kind == "hybrid" and weights is not None
        score = self.learner.score(weights) if scored else None
        how = stages.ByFeatures(router, part_of, s.family, score, self.bag_size)
        return how, n_parts, kind

    def _leaf_parts(self, router: tree.Router) -> tuple[Array, int]:
        if router.n_leaves == 1:
            return np.zeros(1, np.int64), 1
        with self.stage("leaves"):
            span = self.spans[self.t]
            counted = self.packed([span], "n", "key", "x").mapInArrow(
                stages.leaves(self.table.d, router, span), "leaf int, rows bigint"
            )
            rows = np.zeros(router.n_leaves, np.int64)
            for leaf, n in counted.groupBy("leaf").agg(F.sum("rows")).collect():
                rows[leaf] = n
        return tree.merge_small(rows, self.bag_size)

    def order(self, weights: Array | None) -> tuple[Round, str]:
        """Score the slice and write it in the order of its bags; says which kind these are."""
        how, n_parts, kind = self._how(weights)
        label, d = labels(n_parts), self.table.d
        path = f"order-{self.t}"
        rows, span = self._rows(kind)
        with self.stage("order"):
            names = stages.spread_names(how)
            sent = self.files.exchange(rows, stages.spread(d, how, span, label), names, label)
            self.files.write(sent, stages.arrange(d, how, label), how.names, path)
        with self.stage("count parts"):
            found = np.array(self.files.read(path, "part", "n", "low", "high").collect(), float)
        rows_of = np.bincount(found[:, 0].astype(int), found[:, 1], n_parts).astype(np.int64)
        if rows_of.sum() != self.slices[self.t + 1] - self.slices[self.t]:
            raise RuntimeError(f"round {self.t + 1} has lost rows: {rows_of.sum()} are left")
        self.low, self.high = float(found[:, 2].min()), float(found[:, 3].max())
        return Round(path, rows, how, span, np.concatenate([[0], np.cumsum(rows_of)])), kind

    def _rows(self, kind: str) -> tuple[Any, tuple[int, int] | None]:
        """Return the rows of the slice: where they are, or by position if a random order asks."""
        span = self.spans[self.t]
        names = ["n", *self.ids, "key", "prior", "x"]
        if kind != "random":
            return self.packed([span], *names), span
        first, end = (int(place) for place in self.slices[self.t : self.t + 2])
        part_of, first_of = self._key_parts(first, end, True)
        label, d = labels(len(first_of) - 1), self.table.d
        path = f"placed-{self.t}"
        with self.stage("place"):
            names.remove("prior")
            stage = packing.send(d, span, part_of, label)
            sent = self.files.exchange(self.packed([span], *names), stage, packing.SENT, label)
            self.files.write(sent, packing.place(d, label, first_of), packing.PLACED, path)
        return self.files.read(path, *packing.PLACED), None

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
                found = sorted(self.files.read(r.path, "part", "bag", "sizes").collect())
            sizes = [np.frombuffer(cell, np.uint32).astype(np.int64) for _, _, cell in found]
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
        """Cut pieces of the sorted scores."""
        label = labels(min(len(first), self.n_parts(int(r.offset[-1]))))
        scale = lib.cut_scale(self.low, self.high)
        scores = self.files.read(r.path, "part", "first", "n", "order")
        stage = stages.scores(r.offset, first, last, label)
        sent = self.files.exchange(scores, stage, stages.SCORES, label)
        cut = stages.cut(first, last, self.bag_size, scale, np.array(how))
        found = sent.mapInArrow(cut, schema("part", "cuts")).collect()
        cuts = {part: np.frombuffer(cell, np.int64) for part, cell in found}
        return [cuts[c] for c in range(len(first))]

    def ask(self, r: Round, scored: bool) -> float:
        """Write the questions, then ask them; returns the within-bag sum of squares of scores."""
        border = bag_borders(r.cuts, self.oracle.most_rows(self.longest_id))
        n_parts = min(len(border) - 1, max(self.context.defaultParallelism, len(r.offset) - 1))
        label, path = labels(n_parts), f"questions-{self.t}"
        order = r.how.dtype
        cuts = self.context.broadcast(r.cuts)
        with self.stage("questions"):
            rows = self.files.read(r.path, "part", "first", "n", *self.ids, "key", "order")
            compose = stages.compose(r.offset, border, label, order, _ROWS)
            finish = stages.finish(border, cuts, order, scored, _QUESTION)
            sent = self.files.exchange(rows, compose, _ROWS, label)
            self.files.write(sent, finish, _QUESTION, path)
        with self.stage("ask"):
            r.answers = self._answers(path, len(border) - 1)
            edges = self.files.read(path, "question", "within", "edge_order", "edge_key")
            _, within, orders, keys = zip(*sorted(edges.collect()), strict=True)
        cuts.destroy()
        edge_order = np.concatenate([np.frombuffer(cell, order) for cell in orders])
        edge_key = np.concatenate([np.frombuffer(cell, np.uint64) for cell in keys])
        aggregate = self.s.fit.estimator == _library.AGGREGATE
        shared = edge_order, edge_key, r.answers, r.cuts if aggregate else None
        r.shared = self.context.broadcast(shared)
        return sum(within) if scored else float("nan")

    def _answers(self, path: str, n: int) -> Array:
        if isinstance(self.oracle, LabelsOnDriver):
            found = sorted(self.files.read(path, "question", "key", "sizes").collect())
            key = np.concatenate([np.frombuffer(cell, np.uint64) for _, cell, _ in found])
            sizes = np.concatenate([np.frombuffer(cell, np.uint32) for _, _, cell in found])
            # All rows of the slice are here: the rank of a key is its place in the slice.
            rows = np.empty(len(key), np.int64)
            rows[pieces.order_keys(key)] = np.arange(len(key))
            return self.oracle.ask(self.t, rows + self.slices[self.t], sizes)
        asked = self.files.read(path, "question", "n", "id", "width", "sizes")
        answers: dict[int, Array] = {}
        head = None
        if self.s.ask_from == "executors":
            frame = asked.mapInArrow(stages.ask(self.oracle), schema(*stages.SAID))
            found = frame.collect()
            shape = (-1, self.rules.width) if self.rules.width > 1 else (-1,)
            answers = {q: np.frombuffer(cell).reshape(shape) for q, cell, _ in found}
            head = found[-1]["head"]
        else:
            with self.oracle.session() as session:
                for q, _, ids, width, sizes in asked.toLocalIterator():
                    answers[q] = session.ask(ids, width, np.frombuffer(sizes, np.uint32))
                head = session.head
        if head is not None:
            self.oracle = self.oracle.after(head)
        if len(answers) != n:
            raise RuntimeError(f"{len(answers)} of {n} questions were answered")
        return np.concatenate([answers[q] for q in range(n)])

    def _whole_bags(self, r: Round, first_bag: int) -> Any:
        """Return bags with all their rows, numbered from first_bag on; writes them if need be."""
        if "sizes" in r.how.names:
            blocks = self.files.read(r.path, *stages.BAGS)
            return self.files.numbered(blocks, r.first_bags() + first_bag)
        d, path = self.table.d, f"bags-{self.t}"
        label = labels(min(len(r.answers), self.n_parts(int(r.cuts[-1]), True)))
        with self.stage("gather"):
            stage = passes.gather(d, r.how, r.span, r.shared, label)
            sent = self.files.exchange(r.rows, stage, passes.TO_BAGS, label)
            self.files.write(sent, passes.join(d, r.shared, label), stages.BAGS, path)
        return self.files.numbered(self.files.read(path, *stages.BAGS), np.array([first_bag]))

    def _answered(self, r: Round) -> Any:
        """Return the rows of a round with the answers to their bags."""
        d, rows = self.table.d, r.rows
        stage = passes.answer(d, r.how, r.span, r.shared)
        if "sizes" in r.how.names:
            rows = self.files.read(r.path, *stages.BAGS)
            stage = passes.answer_bags(d, r.first_bags(), r.shared)
        return self.files.keep(rows, stage, passes.ANSWERED, f"answered-{self.t}")

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
            r.fitted = self._whole_bags(r, sum(len(old.answers) for old in rounds))
            r.shared.destroy()  # the bags are on disk
            r.shared = None
        rounds.append(r)
        start = self.learner.zeros() if weights is None else weights
        with self.stage("fit"):
            if not aggregate:
                r.fitted = self._answered(r)
            weights, report, self.covariance = self.learner.fit(rounds, start)
        record = {
            "round": self.t + 1,
            "rows": int(r.offset[-1]),
            "bags": len(r.answers),
            "within": within,
        }
        return weights, report, record

    def _drop(self, rounds: list[Round]) -> None:
        for r in rounds:
            if r.fitted is not None:
                self.files.drop(r.fitted)
            if r.shared is not None:
                r.shared.destroy()
        rounds.clear()

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
                self._drop(rounds)
                self.clean()
            raise
        self._drop(rounds)
        self.clean()
        return Result(
            np.array(path),
            history,
            report,
            self.n_rows,
            self.rounds,
            self.rules,
            self.sample_x[-1],
            self.covariance,
            self.oracle.names,
        )

    def labels_by_position(self, frame: DataFrame) -> Array:
        """Bring labels (id, label) to the driver in the order of the shuffle; never to a file."""
        with self.stage("labels"):
            stage = packing.labels(self.s.seed)
            found = frame.mapInArrow(stage, schema(*packing.LABELS)).collect()
        keys = np.concatenate([np.frombuffer(key, np.uint64) for key, _ in found])
        values = np.concatenate([np.frombuffer(value, np.float64) for _, value in found])
        return values[pieces.order_keys(keys)]
