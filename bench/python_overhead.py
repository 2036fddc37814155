"""What the Python binding adds to a fit of 4096 x 8, and what a fit of 10^7 x 8 needs in memory.

The overhead is what ``model.fit(X, y)`` takes more than the training itself in C:

    median of fit(X, y)
    - (median of pboost_simulate, on arguments that are ready
       - what an empty call through ctypes takes)

for a PriorBoostRegressor(min_bag=16, method="paper", rounds=T) that was made and fitted before, X a
float64 array.
So it holds the checks of X, y and the parameters, all that ctypes does, and the copies of path,
history and report.  Both sides take turns in one process, so that they meet the
same caches and the same noise.  `overhead_calm_us` is the same with the twentieth part of the times
that is fastest instead of the median: where it is much less, others were using the machine.

Arrays are made of what was copied when they are looked at: `first_look_us` is what ``model.coef_``
takes after a fit, the first time.

    python bench/python_overhead.py [--large]

prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import time

import numpy as np

import priorboost as pb
from priorboost import _library
from priorboost._library import lib


def microseconds(function) -> float:
    began = time.perf_counter()
    function()
    return 1e6 * (time.perf_counter() - began)


def bare(X, y, model):
    """Return a function that does the C calls of model.fit(X, y) and nothing else."""
    x, how = _library.matrix(X), model._recipe().how
    labels = _library.address(y)

    def run():
        outcome, error = _library.Outcome(), _library.Error()
        status = lib.simulate(outcome, x, labels, None, None, how, error)
        assert status == 0, error.message

    return run


def empty_call():
    lib.version()


def first_look(model, X, y) -> float:
    model.fit(X, y)
    return microseconds(lambda: model.coef_)


def overhead(repeats: int) -> list[dict]:
    """Median times of C and Python, each taking its turn, so that both meet the same caches."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4096, 8))
    y = X @ rng.normal(size=8) + 0.1 * rng.normal(size=4096)
    calls = statistics.median(microseconds(empty_call) for _ in range(1000))
    rows = []
    for rounds in (1, 16):
        model = pb.PriorBoostRegressor(min_bag=16, method="paper", rounds=rounds)
        floor = bare(X, y, model)
        pairs = [
            (microseconds(floor), microseconds(lambda m=model: m.fit(X, y))) for _ in range(repeats)
        ]
        floors, fits = (statistics.quantiles(column, n=20) for column in zip(*pairs, strict=True))
        c, python = floors[9] - calls, fits[9]
        row = {"rounds": rounds, "c_us": c, "python_us": python, "overhead_us": python - c}
        row["overhead_calm_us"] = fits[0] - floors[0] + calls
        row["first_look_us"] = statistics.median(first_look(model, X, y) for _ in range(500))
        rows.append(row)
    return rows


def large() -> dict:
    """Peak memory of a fit of 10^7 x 8, before it and after."""
    rng = np.random.default_rng(0)
    X = np.empty((10_000_000, 8))
    for block in np.array_split(X, 100):
        rng.standard_normal(out=block)
    y = X[:, 0].copy()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    pb.PriorBoostRegressor(min_bag=16, method="paper", rounds=16, n_jobs=-1).fit(X, y)
    seconds = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    by_row = (after - before) * 1024 / len(X)
    return {
        "rows": len(X),
        "seconds": seconds,
        "x_mib": X.nbytes / 2**20,
        "peak_rss_mib_before": before / 1024,
        "peak_rss_mib": after / 1024,
        "extra_bytes_per_row": by_row,
        "x_bytes_per_row": 64,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="also fit 10^7 x 8 (1 GB)")
    parser.add_argument("--repeats", type=int, default=5000)
    arguments = parser.parse_args()
    report = {"version": pb.__version__, "overhead_4096x8": overhead(arguments.repeats)}
    if arguments.large:
        report["large"] = large()
    print(json.dumps(report, indent=1))
