#!/usr/bin/env python3
"""Boosted trees from answers about bags, against LightGBM on the same rows with all labels.

    python bench/trees.py [--rows 1000000] [--cols 20] [--bag 32] [--trees 50] [--leaves 8]
                          [--threads 1] [--turns 3] [--auto]

One forest of a fixed number of trees, from all bags and columns, without folds; binning is included
on both sides.  The two take turns.  Prints one JSON object: the medians of wall-clock and of
processor seconds, and their ratios.  With --auto also one `train --model auto`: all its members and
folds, from a file; its processor seconds, their ratio to the same fit of LightGBM, and its peak
memory as a multiple of the table in doubles.  Needs build/lib/libpriorboost.so and LightGBM, and
build/bin/priorboost for --auto.
"""

import argparse
import ctypes as C
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import lightgbm
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
os.environ.setdefault("PRIORBOOST_LIBRARY", str(ROOT / "build/lib/libpriorboost.so"))

from priorboost import _structures as S  # noqa: E402
from priorboost._structures_io import Column, Columns, Forest, ForestOptions  # noqa: E402

LIBRARY = C.CDLL(os.environ["PRIORBOOST_LIBRARY"])
ERROR = S.Error()


def check(status):
    if status != 0:
        raise RuntimeError(ERROR.message.decode())


def draw(rows, cols):
    """Gaussian columns, steps, curves and a product in the log odds, and labels."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((rows, cols))
    eta = np.sin(2 * x[:, 0]) + x[:, 1] * (x[:, 2] > 0) + 0.5 * x[:, 3] ** 2 - 0.5
    eta += 0.3 * x[:, 4:8].sum(axis=1)
    return x, eta, (rng.random(rows) < 1 / (1 + np.exp(-eta))).astype(float)


def answers(eta, y, size):
    """Bags of rows whose log odds are near each other, and the means of their labels."""
    row = np.argsort(np.round(eta, 1), kind="stable").astype(np.uintp)
    start = np.append(np.arange(0, len(y) - size + 1, size), len(y)).astype(np.uintp)
    mean = np.add.reduceat(y[row.astype(int)], start[:-1].astype(int)) / np.diff(start)
    log, bags = C.c_void_p(), S.Bags(len(y), len(mean), row.ctypes.data, start.ctypes.data)
    check(LIBRARY.pboost_answers_create(C.byref(log), C.byref(ERROR)))
    check(
        LIBRARY.pboost_answers_append(
            log, C.byref(bags), mean.ctypes.data_as(C.c_void_p), None, C.byref(ERROR)
        )
    )
    return log


def ours(x, log, a):
    column = (Column * x.shape[1])(
        *[Column(x.ctypes.data + 8 * j, x.shape[1], None, 0) for j in range(x.shape[1])]
    )
    columns = Columns(*x.shape, column)
    options = ForestOptions(
        struct_size=C.sizeof(ForestOptions),
        family=S.LOGISTIC,
        trees=a.trees,
        leaves=a.leaves,
        min_rows=100,
        rate=0.1,
        l2=1.0,
        bag_fraction=1.0,
        column_fraction=1.0,
        folds=0,
        threads=a.threads,
    )
    forest, intercept = Forest(), C.c_double()
    check(
        LIBRARY.pboost_forest_fit(
            C.byref(forest),
            C.byref(intercept),
            None,
            None,
            C.byref(columns),
            None,
            None,
            log,
            C.c_size_t(0),
            C.byref(options),
            C.byref(ERROR),
        )
    )
    LIBRARY.pboost_forest_free(C.byref(forest))


def theirs(x, y, a):
    options = {
        "objective": "binary",
        "num_leaves": a.leaves,
        "learning_rate": 0.1,
        "min_data_in_leaf": 100,
        "max_bin": 255,
        "num_threads": a.threads,
        "verbose": -1,
    }
    lightgbm.train(options, lightgbm.Dataset(x, y), a.trees)


# In a process of its own: the peak of a child includes that of the process that made it.
MEASURE = """
import json, resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
use = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([use.ru_utime + use.ru_stime, 1024 * use.ru_maxrss]))
"""


def whole(x, y, a):
    """Processor seconds and peak bytes of train --model auto, and how many trees it kept."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.npy"
        np.save(path, np.column_stack([x, y]))
        command = [
            sys.executable,
            "-c",
            MEASURE,
            ROOT / "build/bin/priorboost",
            "train",
            "--data",
            path,
            "--family",
            "logistic",
        ]
        command += ["--label", f"x{a.cols + 1}", "--min-bag", a.bag, "--model", "auto", "--quiet"]
        command += ["--seed", "1", "--threads", a.threads, "--out", Path(folder) / "m.json"]
        out = subprocess.run([str(part) for part in command], check=True, capture_output=True)
        members = json.loads((Path(folder) / "m.json").read_text()).get("members", [])
    return *json.loads(out.stdout), sum(len(m.get("trees", [])) for m in members)


def timed(work):
    def spent():
        use = resource.getrusage(resource.RUSAGE_SELF)
        return use.ru_utime + use.ru_stime

    wall, processor = time.perf_counter(), spent()
    work()
    return time.perf_counter() - wall, spent() - processor


def main():
    parser = argparse.ArgumentParser()
    for name, value in (
        ("rows", 10**6),
        ("cols", 20),
        ("bag", 32),
        ("trees", 400),  # the most that a forest of train has
        ("leaves", 15),  # as LightGBM in docs/models.md
        ("threads", 1),
        ("turns", 1),
    ):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--auto", action="store_true")
    a = parser.parse_args()
    x, eta, y = draw(a.rows, a.cols)
    log = answers(eta, y, a.bag)
    turns = [
        (timed(lambda: ours(x, log, a)), timed(lambda: theirs(x, y, a))) for _ in range(a.turns)
    ]
    found = {}
    for i, kind in enumerate(("wall", "processor")):
        mine, peer = (statistics.median(t[who][i] for t in turns) for who in (0, 1))
        found[kind] = {
            "priorboost": round(mine, 3),
            "lightgbm": round(peer, 3),
            "ratio": round(mine / peer, 3),
        }
    if a.auto:
        spent, peak, trees = whole(x, y, a)
        found["auto"] = {
            "priorboost": round(spent, 3),
            "ratio": round(spent / found["processor"]["lightgbm"], 2),
            "memory": round(peak / x.nbytes, 2),
            "trees": trees,
        }
    print(json.dumps({**vars(a), "seconds": found, "lightgbm": lightgbm.__version__}))


if __name__ == "__main__":
    main()
