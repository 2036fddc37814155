"""Time and bytes of a training on Spark, stage by stage, for tables of growing size.

    python bench/spark_scale.py [--rows 1e6 3e6 1e7 3e7] [--executors 1 2] [--features 16]
                                [--rounds 4] [--min-bag 16] [--bags prior] [--estimator event]
                                [--memory 4096] [--work DIR] [--through-spark]
    python bench/spark_scale.py --report RESULTS [--chart CHART.svg]

Every combination runs on a Spark of its own, with executor processes of one core each
(local-cluster).  Tables are made once and kept in DIR.  Prints one JSON object a line: seconds of
the fit (reading the table included), CPU seconds of Java and of Python, and by stage seconds, CPU
seconds of all processes, and the bytes that Spark shuffled, read and wrote; mapped files are not
among them.  --through-spark keeps blocks as for hdfs: and s3a:.  --report makes the tables and the
chart of docs/scale.md from such lines.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path


def session(executors: int, memory: int, log: str | None = None):
    """Return a Spark with this many executor processes of one core each."""
    import pyspark
    from pyspark.sql import SparkSession

    os.environ["SPARK_HOME"] = os.path.dirname(pyspark.__file__)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    options = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.maxResultSize": "0",
        "spark.driver.memory": "3g",
        "spark.executor.memory": f"{memory - 512}m",
        "spark.locality.wait": "0",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": str(2 * executors),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if log is not None:
        options |= {
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": f"file://{log}",
            "spark.eventLog.compress": "false",
        }
    builder = SparkSession.builder.master(f"local-cluster[{executors},1,{memory}]")
    for name, value in options.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def make_table(spark, path: str, rows: int, d: int) -> None:
    """Write a table of normal features and labels drawn from a logistic model."""
    import numpy as np
    import pyarrow as pa

    def fill(batches):
        for batch in batches:
            ids = batch.column(0).to_numpy()
            if len(ids) == 0:
                continue
            rng = np.random.default_rng(int(ids[0]))
            x = rng.standard_normal((len(ids), d))
            eta = x @ (np.arange(1, d + 1) % 3 - 1.0)
            y = (rng.random(len(ids)) < 1 / (1 + np.exp(-eta))).astype(float)
            offsets = pa.array(np.arange(0, x.size + 1, d, dtype=np.int32))
            features = pa.ListArray.from_arrays(offsets, pa.array(x.ravel()))
            yield pa.RecordBatch.from_arrays(
                [batch.column(0), features, pa.array(y)], names=["id", "features", "y"]
            )

    frame = spark.range(rows).mapInArrow(fill, "id bigint, features array<double>, y double")
    frame.write.option("compression", "uncompressed").parquet(path)


def read_log(folder: str) -> dict[str, dict[str, int]]:
    """Return the bytes that each stage of the training moved, from Spark's event log."""
    names: dict[int, str] = {}
    moved: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    kinds = {
        "internal.metrics.shuffle.write.bytesWritten": "shuffled",
        "internal.metrics.input.bytesRead": "read",
        "internal.metrics.output.bytesWritten": "written",
    }
    for path in sorted(p for p in Path(folder).rglob("*") if p.is_file()):
        with path.open(errors="replace") as file:
            for line in file:
                if '"SparkListenerJobStart"' in line:
                    event = json.loads(line)
                    what = event.get("Properties", {}).get("spark.job.description", "other")
                    for stage in event["Stage IDs"]:
                        names.setdefault(stage, what.split(": ")[-1].split(", ")[-1])
                elif '"SparkListenerStageCompleted"' in line:
                    info = json.loads(line)["Stage Info"]
                    for item in info["Accumulables"]:
                        if item["Name"] in kinds:
                            stage = names.get(info["Stage ID"], "other")
                            moved[stage][kinds[item["Name"]]] += int(item["Value"])
    return moved


def cpu_seconds() -> dict[str, float]:
    """Return what this process and all those it started have used, by program."""
    parent: dict[int, int] = {}
    used: dict[int, tuple[str, float]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text()
        except OSError:
            continue
        name, rest = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") :].split()
        pid = int(path.parent.name)
        parent[pid] = int(rest[2])
        used[pid] = (name, sum(map(int, rest[12:16])) / os.sysconf("SC_CLK_TCK"))
    out: dict[str, float] = defaultdict(float)
    for pid, (name, seconds) in used.items():
        above = pid
        while above not in (0, os.getpid()):
            above = parent.get(above, 0)
        if above:
            out["java" if name == "java" else "python"] += seconds
    return out


def run(o: argparse.Namespace) -> dict:
    """Fit once on a Spark of its own."""
    from priorboost.spark import PriorBoostClassifier, cluster

    if o.through_spark:
        cluster.MappedFiles = cluster.SparkFiles
    rows, executors = int(o.rows[0]), o.executors[0]
    table = f"{o.work}/table-{rows}-{o.features}"
    with tempfile.TemporaryDirectory(dir=o.work) as log:
        spark = session(executors, o.memory, log)
        if not os.path.exists(f"{table}/_SUCCESS"):
            make_table(spark, f"file://{table}", rows, o.features)
        frame = spark.read.parquet(f"file://{table}")
        seconds: dict[str, float] = defaultdict(float)
        cpu: dict[str, float] = defaultdict(float)

        def note(name: str, took: float) -> None:
            seconds[name] += took
            cpu[name] += sum(cpu_seconds().values()) - sum(cpu.values()) - sum(before.values())
            print(f"{rows:.0e} rows, {executors} executors: {name} {took:.1f} s", file=sys.stderr)

        spark.range(2).mapInArrow(_warm, "id bigint").collect()  # Python workers are up
        estimator = PriorBoostClassifier(
            labelCol="y",
            minBag=o.min_bag,
            rounds=o.rounds,
            bags=o.bags,
            estimator=o.estimator,
            workDir=f"file://{o.work}",
        )
        estimator.on_stage = note
        before, began = cpu_seconds(), time.monotonic()
        model = estimator.fit(frame)
        total = time.monotonic() - began
        used = {name: round(s - before[name], 1) for name, s in cpu_seconds().items()}
        spark.stop()
        moved = read_log(log)
    return {
        "rows": rows,
        "features": o.features,
        "executors": executors,
        "rounds": o.rounds,
        "min_bag": o.min_bag,
        "bags": o.bags,
        "estimator": o.estimator,
        "through_spark": o.through_spark,
        "seconds": round(total, 2),
        "cpu_seconds": used,
        "stages": {
            name: {"seconds": round(took, 2), "cpu": round(cpu[name], 1), **moved.get(name, {})}
            for name, took in seconds.items()
        },
        "weights": [round(float(w), 4) for w in model.coefficients],
    }


def _warm(batches):
    import priorboost.spark.stages  # noqa: F401

    yield from batches


def short(rows: float) -> str:
    return f"{rows:.0e}".replace("e+0", "e")


def report(path: str, chart: str | None) -> None:
    """Print the table of docs/scale.md, and draw the chart.

    CPU seconds say what a training costs also on a machine that does other work; seconds do not.
    """
    import plot

    results = [json.loads(line) for line in Path(path).read_text().splitlines()]
    results.sort(key=lambda r: (-r["executors"], r["rows"]))

    def line(name: str, cells: list[str]) -> None:
        print(f"| {name} | " + " | ".join(cells) + " |")

    line("rows, executors", [f"{short(r['rows'])}, {r['executors']}" for r in results])
    print("|---" * (len(results) + 1) + "|")
    names = sorted(
        {name for r in results for name in r["stages"]},
        key=lambda name: -max(r["stages"][name]["cpu"] for r in results),
    )
    for name in names:
        line(name, [f"{r['stages'][name]['cpu']:.1f}" for r in results])
    for program in ("java", "python"):
        line(f"all, {program.title()}", [f"{r['cpu_seconds'][program]:.1f}" for r in results])
    line("**all, CPU seconds**", [f"**{sum(r['cpu_seconds'].values()):.0f}**" for r in results])
    line("seconds", [f"{r['seconds']:.0f}" for r in results])
    for what in ("shuffled", "written"):
        sums = [sum(s.get(what, 0) for s in r["stages"].values()) for r in results]
        cells = [f"{b / r['rows']:.0f}" for b, r in zip(sums, results, strict=True)]
        if any(sums):  # Spark's log has no bytes of files that tasks write themselves
            line(f"{what}, bytes a row", cells)
    if chart is not None:
        series: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for r in results:
            n, total = r["executors"], sum(r["cpu_seconds"].values())
            series[f"all, {n} executor{'s' * (n > 1)}"].append((r["rows"], total))
            if n == max(q["executors"] for q in results):
                for name in ("pack", "order", "fit", "cut"):
                    series[name].append((r["rows"], r["stages"][name]["cpu"]))
        title = "A training on Spark, 16 features, 4 rounds"
        Path(chart).write_text(plot.log_chart(title, "rows", "CPU seconds", dict(series)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, nargs="+", default=[1e6, 3e6, 1e7, 3e7])
    parser.add_argument("--executors", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--features", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--min-bag", type=int, default=16)
    parser.add_argument("--bags", default="prior")
    parser.add_argument("--estimator", default="event")
    parser.add_argument("--memory", type=int, default=4096, help="MiB of each executor")
    parser.add_argument("--work", default=os.path.join(tempfile.gettempdir(), "spark-scale"))
    parser.add_argument("--through-spark", action="store_true")
    parser.add_argument("--report", metavar="RESULTS", help="lines that this program has printed")
    parser.add_argument("--chart", metavar="SVG")
    o = parser.parse_args()
    if o.report is not None:
        report(o.report, o.chart)
        return
    os.makedirs(o.work, exist_ok=True)
    if len(o.rows) == 1 and len(o.executors) == 1:
        print(json.dumps(run(o)), flush=True)
        return
    same = ["--features", o.features, "--rounds", o.rounds, "--min-bag", o.min_bag]
    same += ["--bags", o.bags, "--estimator", o.estimator]
    for rows in o.rows:
        for executors in o.executors:
            command = [sys.executable, __file__, "--rows", rows, "--executors", executors, *same]
            command += ["--memory", o.memory, "--work", o.work]
            command += ["--through-spark"] * o.through_spark
            subprocess.run([str(word) for word in command], check=True)


if __name__ == "__main__":
    main()
