"""Compare the speed of two builds.

    python3 bench/compare.py OLD NEW [--runs 5] [--only PROGRAM ...]

OLD and NEW are build folders, each with its programs in bin/. For every program the two take turns,
so that whatever disturbs the machine disturbs both. Printed are the medians, their ratio, the ratio
of the quickest runs and the spread of the old build: half the distance between its quartiles. A
line is marked if both ratios are more than 5 % from 1, to the same side, and that of the medians by
more than the spread. The exit code is 0 if none is marked, otherwise 1.
"""

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

PROGRAMS = {
    "bench_bags": ["1000000", "gaussian", "2"],
    "bench_pass": ["10000000"],
    "bench_fit": [],
    "bench_paper": ["1048576", "256", "16", "1"],
    "bench_tree": ["200000"],
}

# What a row measured, in whatever unit; every other field but a result says what it is about.
TIMES = "ns_per_row sort partition gram part cpu_ms train score oracle fit evaluation seconds"
CASE = (
    "case family shape features n rows cols k min_bag rounds models correlation warm threads type"
)
LIMIT = 0.05


def rows_of(text):
    """Read what a program printed: one list of rows, or one row a line."""
    if text.startswith("["):
        return json.loads(text)
    return [json.loads(line) for line in text.splitlines()]


def measure(build, program):
    """Run a program once; return the time by case and quantity."""
    out = subprocess.run(
        [str(build / "bin" / program), *PROGRAMS[program]],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    found = {}
    for row in rows_of(out):
        about = " ".join(f"{key}={row[key]}" for key in CASE.split() if key in row)
        for quantity in TIMES.split():
            if isinstance(row.get(quantity), (int, float)):
                found[f"{about} {quantity}"] = row[quantity]
    return found


def spread(times):
    low, _, high = statistics.quantiles(times, n=4)
    return (high - low) / 2 / statistics.median(times)


def compare(old, new, program, runs):
    """Print a line for every case and quantity; return how many are marked."""
    turns = [(measure(old, program), measure(new, program)) for _ in range(runs)]
    marked = 0
    for name in (n for n in turns[0][0] if n in turns[0][1]):
        before, after = ([turn[side][name] for turn in turns] for side in (0, 1))
        was, now, noise = statistics.median(before), statistics.median(after), spread(before)
        ratio, quickest = now / max(was, 1e-300), min(after) / max(min(before), 1e-300)
        mark = abs(ratio - 1) > max(LIMIT, noise) and (ratio - 1) * (quickest - 1) > 0
        mark = mark and abs(quickest - 1) > LIMIT
        marked += mark
        print(
            f"{program} {name}: {was:.4g} {now:.4g} ratio {ratio:.3f} quickest {quickest:.3f} "
            f"spread {noise:.3f}{'  <--' if mark else ''}",
            flush=True,
        )
    return marked


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=PROGRAMS, default=list(PROGRAMS))
    a = parser.parse_args()
    if a.runs < 2:
        parser.error(f"--runs is {a.runs}; it must be at least 2")
    for build in (a.old, a.new):
        for program in a.only:
            if not (build / "bin" / program).exists():
                parser.error(f"{build}/bin/{program} is not there; build it first")
    return 1 if sum(compare(a.old, a.new, program, a.runs) for program in a.only) else 0


if __name__ == "__main__":
    sys.exit(main())
