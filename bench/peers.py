"""Runs priorboost and its peers on the same data in one process and writes what it found.

    python bench/peers.py [--quick] [--large] [--only SECTION ...] [--report]

Results must agree before they are timed: a disagreement ends the run.  Rows go to
bench/results.json as they come; docs/benchmarks.md and its plots are made from that file, and
--report makes them again without running anything.  Sections of the page for which that file has no
rows stay as they are.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

# Before any library starts its pool of threads; each case then says how many it uses.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import numpy as np  # noqa: E402

import peer_bags  # noqa: E402
import peer_fits  # noqa: E402
import peer_paper  # noqa: E402
import report  # noqa: E402
from library import Library  # noqa: E402

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
F32 = np.float32


def program(name, *arguments):
    """A row of what one of our own programs measured, in C."""
    out = subprocess.run([str(ROOT / "build" / "bin" / name), *map(str, arguments)], check=True,
                         capture_output=True, text=True).stdout
    return {"section": name, "result": json.loads(out),
            "where": f"{processor()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"}


# ---- Sections: each yields rows of results ----


def bags(library, scale):
    peer_bags.warm_up()
    for n in scale["bag_rows"]:
        for k in scale["bag_sizes"]:
            if 2 * k <= n:
                yield peer_bags.compare(library, "gaussian", n, k, [1, 2], scale["budget"])
    for shape in list(peer_bags.SHAPES)[1:]:
        for k in scale["shape_sizes"]:
            yield peer_bags.compare(library, shape, scale["shape_rows"], k, [1, 2], 0, least=1)
    for k in scale["more_bag_sizes"]:
        yield peer_bags.compare(library, "gaussian", scale["shape_rows"], k, [1, 2],
                                scale["budget"] / 4)
    for n in scale["few_rows"]:
        yield peer_bags.compare(library, "gaussian", n, 8, [1, 2], scale["budget"] / 4)
    yield from peer_bags.peer_errors(library, 4000)
    yield program("bench_bags", scale["bag_rows"][-1], "gaussian", 1)
    if scale["most_rows"] > scale["bag_rows"][-1]:
        yield peer_bags.ours_alone(library, "gaussian", scale["most_rows"], 8, [1, 2])


def fits(library, scale):
    budget, rows, wide = scale["budget"], scale["fit_rows"], scale["wide_rows"]

    def row(family, n, d, threads=1, **more):
        return peer_fits.compare(library, family, n, d, threads, budget, **more)

    for family in ("logistic", "poisson", "linear"):
        yield row(family, 4096, 8, warm=True)
        yield row(family, 4096, 8, with_liblinear=True)
        for threads in (1, 2):
            yield row(family, rows, 8, threads, with_liblinear=threads == 1)
        yield row(family, rows, 64, with_liblinear=True)
        if family != "linear":
            yield row(family, rows, 64, correlation=0.95)
        yield row(family, wide, 512)
    for family in ("logistic", "linear"):
        yield row(family, rows, 64, 2)
        for d in (8, 64):
            yield row(family, rows, d, dtype=F32)
    yield peer_fits.call_alone(library)
    yield program("bench_pass", scale["pass_values"])


def losses(library, scale):
    for threads in (1, 2):
        yield peer_fits.compare_losses(library, scale["loss_rows"], 8, 256, threads,
                                       scale["budget"])
    yield peer_fits.compare_losses(library, scale["loss_rows"], 8, 256, 1, scale["budget"], F32)


def growth(library, scale):
    """Fits by rows and by columns, for the plots."""
    for n in scale["growth_rows"]:
        yield {**peer_fits.compare(library, "logistic", n, 8, 1, scale["budget"] / 4),
               "section": "growth"}
    for d in scale["growth_cols"]:
        yield {**peer_fits.compare(library, "logistic", scale["growth_n"], d, 1,
                                   scale["budget"] / 4), "section": "growth"}


def paper(library, scale):
    """One whole run of the paper, against the usual stack and against the machine's limits."""
    for family in ("linear", "logistic"):
        yield peer_paper.compare(library, family, scale["paper_rows"], scale["paper_rounds"], 16)
    yield program("bench_limits")
    yield program("bench_paper", scale["paper_rows"], scale["paper_rounds"], 16)


def threads(library, scale):
    """Whether two threads are ever slower than one."""
    yield program("bench_threads", scale["thread_rows"], scale["budget"])


def limits(library, scale):
    """Against the fastest sort and the bandwidth of memory, in one run each."""
    yield program("bench_sort", scale["sort_rows"], "gaussian")
    yield program("bench_aggregate", scale["fit_rows"])


def trees(library, scale):
    """Boosted trees against LightGBM with all labels, by processor time."""
    command = [sys.executable, str(HERE / "trees.py"), "--rows", str(scale["tree_rows"]), "--auto"]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    yield {"section": "trees", "result": json.loads(out)}


def sparse(library, scale):
    """Wide models of sparse rows: bench/sparse.py, a process for each of its questions."""

    def ask(what, *arguments):
        command = [sys.executable, str(HERE / "sparse.py"), what, *map(str, arguments)]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return {"section": f"sparse {what}", "result": [json.loads(line) for line in out.splitlines()],
                "where": f"{processor()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"}

    for table in ("clicks", "flights"):
        yield ask("speed", "--table", table, "--rows", scale["sparse_rows"], "--turns", scale["sparse_turns"])
    for table in ("clicks", "flights"):
        yield ask("bags", "--table", table, "--rows", scale["sparse_bag_rows"], "--test-rows",
                  scale["sparse_bag_rows"] // 2, "--only", "features", "--epsilon", "none", 1)


SECTIONS = {"losses": losses, "paper": paper, "bags": bags, "fits": fits, "growth": growth,
            "threads": threads, "limits": limits, "sparse": sparse,
            "trees": trees}

FULL = {
    "budget": 0.5,
    "bag_rows": [10**5, 10**6, 10**7],
    "bag_sizes": [2, 8, 64, 1024],
    "more_bag_sizes": [16, 256, 4096],
    "few_rows": [10**3, 10**4],
    "most_rows": 10**8,
    "pass_values": 10**9,
    "shape_rows": 10**6,
    "shape_sizes": [2, 64],
    "fit_rows": 10**6,
    "wide_rows": 200_000,
    "loss_rows": 1 << 20,
    "growth_rows": [1000, 4000, 16_000, 64_000, 250_000],
    "growth_cols": [4, 16, 32, 64, 128, 256, 512],
    "growth_n": 50_000,
    "paper_rows": 1 << 20,
    "paper_rounds": 256,
    "thread_rows": 10**6,
    "sort_rows": 10**7,
    "tree_rows": 10**6,
    "sparse_rows": 50_000,
    "sparse_turns": 3,
    "sparse_bag_rows": 60_000,
}
LARGE = {**FULL, "bag_rows": [*FULL["bag_rows"], 10**8]}
QUICK = {
    "budget": 0.05,
    "bag_rows": [10**5],
    "bag_sizes": [2, 64],
    "more_bag_sizes": [16],
    "few_rows": [1000],
    "most_rows": 0,
    "pass_values": 10**6,
    "shape_rows": 10**4,
    "shape_sizes": [2, 64],
    "fit_rows": 10**4,
    "wide_rows": 4000,
    "loss_rows": 1 << 13,
    "growth_rows": [1000],
    "growth_cols": [16],
    "growth_n": 2000,
    "paper_rows": 1 << 16,
    "paper_rounds": 16,
    "thread_rows": 1000,
    "sort_rows": 4096,
    "tree_rows": 4000,
    "sparse_rows": 1000,
    "sparse_turns": 1,
    "sparse_bag_rows": 2000,
}


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def machine(library):
    packages = ("numpy", "scipy", "scikit-learn", "numba", "microagg1d", "liblinear-official")
    flags = Path("/proc/cpuinfo").read_text()
    return {
        "processor": processor(),
        "vectors": "AVX-512" if " avx512f " in flags else "AVX2" if " avx2 " in flags else "plain",
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "python": platform.python_version(),
        "versions": {"priorboost": library.version, **{p: version(p) for p in packages}},
    }


def say(row, seconds):
    if row["section"] == "peer errors":
        return
    case = " ".join(str(v) for v in row.get("case", {}).values())
    times = "  ".join(f"{name} {1e3 * t:.4g} ms" for name, t in row.get("seconds", {}).items())
    print(f"[{seconds:5.0f} s] {row['section']} {case}: {times}", file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, as a smoke test")
    parser.add_argument("--large", action="store_true", help="also the peer's bags of 1e8 rows")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--report", action="store_true", help="only write the report again")
    parser.add_argument("--library", default=ROOT / "build" / "lib" / "libpriorboost.so")
    parser.add_argument("--results", type=Path, default=HERE / "results.json")
    parser.add_argument("--docs", type=Path, help="where the report goes; default docs/, and "
                        "build/bench/ for a quick run, which measures nothing")
    options = parser.parse_args()
    docs = options.docs or (ROOT / "build" / "bench" if options.quick else ROOT / "docs")

    if not options.report:
        library = Library(options.library)
        scale = QUICK if options.quick else LARGE if options.large else FULL
        begin = time.monotonic()
        kept, before, sittings = [], 0, 1
        if options.results.exists() and set(options.only) != set(SECTIONS):
            old = json.loads(options.results.read_text())
            kept = [r for r in old["rows"] if r["part"] not in options.only]
            before, sittings = old["seconds"], old.get("sittings", 1) + 1
        rows = []
        about = {"machine": machine(library), "quick": options.quick}
        for name in options.only:
            for row in SECTIONS[name](library, scale):
                rows.append({"part": name, **row})
                seconds = time.monotonic() - begin
                say(row, seconds)
                results = {**about, "seconds": before + seconds, "sittings": sittings,
                           "rows": kept + rows}
                options.results.write_text(json.dumps(results, indent=1) + "\n")
    docs.mkdir(parents=True, exist_ok=True)
    report.write(json.loads(options.results.read_text()), docs)


if __name__ == "__main__":
    main()
