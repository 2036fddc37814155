"""Writes docs/benchmarks.md and its plots from the rows that peers.py measured."""

import plot

# ---- Targets --------------------------------------------------------------------------------

# (case, target ratio, section and case of its row, ours, peer); peer None: the best one of the row
ONE, TWO = "ours, 1 thread", "ours, 2 threads"


def bag_case(n, k):
    return {"shape": "gaussian", "n": n, "k": k}


def fit_case(family, rows, cols, threads=1, warm=False, correlation=0.0):
    return {"family": family, "rows": rows, "cols": cols, "warm": warm, "threads": threads,
            "correlation": correlation, "type": "float64"}


TARGETS = [
    *[(f"bags, n={n:.0e}, k={k}, one thread", 40, "bags", bag_case(n, k), ONE, "microagg1d")
      for n in (10**6, 10**7) for k in (2, 8, 64, 1024)],
    *[(f"bags, n=1e+07, k={k}, two threads against one", 1.6, "bags", bag_case(10**7, k), TWO, ONE)
      for k in (2, 8, 64, 1024)],
    *[(f"{family}, {name}", ratio, "fits", fit_case(family, rows, cols, **more), "ours", None)
      for family in ("logistic", "poisson")
      for name, ratio, rows, cols, more in (
          ("4096 × 8, warm start, one thread", 50, 4096, 8, {"warm": True}),
          ("1e6 × 8, two threads", 20, 10**6, 8, {"threads": 2}),
          ("1e6 × 64, one thread", 6, 10**6, 64, {}),
          ("1e6 × 64 correlated, one thread", 10, 10**6, 64, {"correlation": 0.95}),
          ("2e5 × 512, one thread", 1.5, 200_000, 512, {}),
      )],
    ("linear, 1e6 × 64, one thread", 1.5, "fits", fit_case("linear", 10**6, 64), "ours", None),
    ("log loss of 256 models, 2^20 × 8, one thread", 15, "losses",
     {"rows": 1 << 20, "cols": 8, "models": 256, "threads": 1, "type": "float64"}, "ours", None),
]

# Why a target is missed: what was measured separately in the same run.


def result_of(rows, program):
    return next((r["result"] for r in rows if r["section"] == program), None)


def why_bags(rows, case, seconds):
    split = next((r for r in result_of(rows, "bench_bags") or []
                  if r["n"] == case["n"] and r["k"] == case["k"] and r["threads"] == 1), None)
    if split is None:
        return ""
    return (f" In C, at its best in this run, the call takes {split['ns_per_row']:.1f} ns per row; measured "
            f"separately, the sort takes {split['sort']:.1f}, the dynamic program {split['partition']:.1f} and fresh "
            f"memory for the order, the sorted scores and the bags {split['memory']:.1f}.")


def why_fit(rows, case, seconds, steps):
    one = next((r for r in result_of(rows, "bench_pass") or []
                if r["rows"] == case["rows"] and r["cols"] == case["cols"]), None)
    if one is None:
        return ""
    passes = (f" One pass in C takes {time_text(one['gradient'])} for a gradient and "
              f"{time_text(one['gram'])} with the Hessian, on one thread; the fit took {steps} steps.")
    if case["rows"] * case["cols"] < 10**6:
        call = next((r["seconds"]["ours"] for r in rows if r["section"] == "call"), None)
        return passes + (f" A call with 16 rows takes {time_text(call)}." if call else "")
    rate = 8e-9 * case["rows"] * case["cols"] / one["gradient"]
    limits = result_of(rows, "bench_limits")
    reads = f", and memory was read at {limits[0]['read_gbs']}" if limits else ""
    return (passes + f" With the Hessian of an eighth of the rows it takes {time_text(one['part'])}."
            f" A gradient reads the table at {rate:.1f} GB/s{reads}.")


def why_losses(rows, case, seconds):
    limits = result_of(rows, "bench_limits")
    here = 1e9 * seconds["ours"] / (case["rows"] * case["models"])
    if limits is None:
        return ""
    # 8 for the predictor, 13 for the exponential, 4 for size, sum and product; on 8 rows at once
    least = 25 / (limits[0]["gflops"] / 2)
    return (f" It takes {here:.2f} ns per row and model; its 25 multiply-adds or their like would take "
            f"{least:.2f} at the rate measured in this run.")


def best_peer(seconds, ours):
    """The fastest peer; LIBLINEAR is reported separately."""
    peers = {n: s for n, s in seconds.items() if not n.startswith("ours") and n != "LIBLINEAR"}
    return min(peers, key=peers.get)


def best_peer_is_faster(seconds):
    return seconds[best_peer(seconds, "ours")] < seconds["ours"]


def find(rows, section, case):
    return next((r for r in rows if r["section"] == section and r.get("case") == case), None)


def time_text(seconds):
    for unit, size in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def table(head, rows, left=1):
    out = ["| " + " | ".join(head) + " |",
           "|" + "|".join("---" if i < left else "---:" for i in range(len(head))) + "|"]
    return out + ["| " + " | ".join(str(c) for c in row) + " |" for row in rows] + [""]


def verdicts(rows):
    lines, notes = [], []
    for name, target, section, case, ours, peer in TARGETS:
        row = find(rows, section, case)
        if row is None:
            lines.append((name, "", "", "", "", "", f"{target}×", "not run"))
            continue
        seconds = row["seconds"]
        peer = peer or best_peer(seconds, ours)
        ratio = seconds[peer] / seconds[ours]
        verdict = "reached" if ratio >= target else f"**missed** by {100 * (1 - ratio / target):.0f} %"
        digits = seconds.get("ours, all digits")
        lines.append((name, peer, time_text(seconds[peer]), time_text(seconds[ours]), f"{ratio:.3g}×",
                      f"{seconds[peer] / digits:.3g}×" if digits else "", f"{target}×", verdict))
        if ratio < target:
            if section == "bags":
                why = why_bags(rows, case, seconds)
            elif section == "fits":
                why = why_fit(rows, case, seconds, row.get("steps"))
            else:
                why = why_losses(rows, case, seconds)
            notes.append(f"- {name}: {ratio:.3g}× instead of {target}×.{why}")
    out = ["## Targets", "",
           "Our fits and the peers' fits stop at the loosest tolerance that brings the objective within "
           "1e-9 of the minimum.  The column \"full precision\" is the ratio if only ours runs at its "
           "default tolerance of 1e-14.", ""]
    out += table(("case", "peer", "peer's time", "our time", "ratio", "full precision",
                  "target", "verdict"),
                 lines, left=2)
    if notes:
        out += ["Missed:", "", *notes, ""]
    return out


# ---- Bags -----------------------------------------------------------------------------------


def bags_table(rows, wanted):
    lines = []
    for r in rows:
        if r["section"] != "bags" or not wanted(r["case"]):
            continue
        case, s = r["case"], r["seconds"]
        unit = 1e9 / case["n"]
        excess, peer = r["agreement"].get("peer_excess", 0.0), s.get("microagg1d")
        lines.append((case["shape"], f"{case['n']:.0e}", case["k"], f"{s[ONE] * unit:.1f}",
                      f"{s[TWO] * unit:.1f}", f"{peer * unit:.0f}" if peer else "not run",
                      f"{peer / s[ONE]:.1f}×" if peer else "", f"{s[ONE] / s[TWO]:.2f}×",
                      "" if not peer else "equal" if excess <= 1e-12
                      else f"+{100 * excess:.2g} %"))
    head = ("shape", "n", "k", "ours, 1 thread", "2 threads", "microagg1d", "ratio",
            "2 threads / 1", "peer's cost")
    return table(head, lines)


def bags_section(rows):
    out = ["## Optimal bags", "",
           "Nanoseconds per row of the whole call, from scores to (order of rows, bag starts).  The "
           "peer is microagg1d's method `staggered` in its stable variant, from scores to a bag "
           "number per row.  Its cost is compared with ours in extended precision; ours is never "
           "above it by more than 1e-12.", ""]
    out += bags_table(rows, lambda c: c["shape"] == "gaussian")
    out += ["Hard inputs:", ""]
    out += bags_table(rows, lambda c: c["shape"] != "gaussian")
    wrong = [r for r in rows if r["section"] == "peer errors"]
    if wrong:
        out += ["Errors of the peer, on lists of "
                f"{wrong[0]['case']['n']} scores (its default, `auto`, is the simple method for k ≤ "
                "21; `staggered` loses digits if scores have a large offset):", ""]
        out += table(("shape", "k", "method", "cost above the optimum", "smallest bag"),
                     [(r["case"]["shape"], r["case"]["k"], r["case"]["method"],
                       f"+{100 * r['excess']:.2g} %", r["smallest_bag"]) for r in wrong])
    return out


# ---- Fits -----------------------------------------------------------------------------------


def fits_section(rows):
    lines = []
    for r in rows:
        if r["section"] != "fits":
            continue
        c, s = r["case"], r["seconds"]
        peer = best_peer(s, "ours")
        traits = [t for t, on in (("warm", c["warm"]), ("correlated", c["correlation"]),
                                  ("float32", c["type"] == "float32")) if on]
        others = [f"{n.removeprefix('scikit-learn ')} {time_text(t)}" for n, t in s.items()
                  if n not in ("ours", peer)]
        lines.append((c["family"], f"{c['rows']} × {c['cols']}", ", ".join(traits), c["threads"],
                      time_text(s["ours"]), peer, time_text(s[peer]), f"{s[peer] / s['ours']:.3g}×",
                      f"{r['agreement']['ours_excess']:.0e}",
                      f"{r['agreement']['peer_excess'][peer]:.0e}", "; ".join(others)))
    out = ["## Fits", "",
           "The whole call, with λ = 10 on the sum of losses and no intercept, cold start unless it "
           "says warm (from the fit of another table of the same kind).  Each program stops at the "
           "loosest of its own tolerances, in steps of ten, that brings the objective within 1e-9 of "
           "the least found; the columns \"excess\" say how near it came (in float32 a peer does not "
           "always reach it).  \"ours, all digits\" is the same fit at our default tolerance, where the "
           "objective is right to about 1e-14.  LIBLINEAR's sparse rows are built before the clock "
           "starts.  A float32 table is not converted as a whole, but a few hundred rows at a time.",
           ""]
    out += table(("family", "table", "", "threads", "ours", "best peer", "its time", "ratio",
                  "our excess", "peer's excess", "others"), lines, left=3)
    lines = []
    for r in rows:
        if r["section"] == "losses":
            c, s = r["case"], r["seconds"]
            lines.append((f"{c['models']} models, {c['rows']} × {c['cols']}, {c['type']}",
                          c["threads"], time_text(s["ours"]), time_text(s["blocked NumPy"]),
                          f"{s['blocked NumPy'] / s['ours']:.3g}×",
                          f"{r['agreement']['difference']:.0e}"))
    out += ["## Log loss of many models", "",
            "`pboost_losses` against NumPy in blocks of 8192 rows (one matrix product, one exp and "
            "one log1p per model and row, in place).", ""]
    return out + table(("case", "threads", "ours", "blocked NumPy", "ratio", "difference"), lines)


# ---- Growth ---------------------------------------------------------------------------------


def growth_section(rows, docs):
    plots = []

    def draw(name, title, x_name, y_name, series):
        series = {n: p for n, p in series.items() if len({x for x, _ in p}) > 1}
        if series:
            (docs / name).write_text(plot.log_chart(title, x_name, y_name, series))
            plots.append(f"![{title}]({name})")

    bags = [r for r in rows if r["section"] == "bags" and r["case"]["shape"] == "gaussian"]
    names = {ONE: "1 thread", TWO: "2 threads", "microagg1d": "microagg1d"}

    def by(axis, fixed, value, unit):
        return {label: [(r["case"][axis], unit(r, name)) for r in bags
                        if r["case"][fixed] == value and name in r["seconds"]]
                for name, label in names.items()}

    def per_row(r, name):
        return 1e9 * r["seconds"][name] / r["case"]["n"]

    draw("bags-by-rows.svg", "Optimal bags, k = 8", "rows", "ns per row", by("n", "k", 8, per_row))
    draw("bags-by-size.svg", "Optimal bags, n = 1e6", "k", "ns per row",
         by("k", "n", 10**6, per_row))

    growth = [r for r in rows if r["section"] == "growth" or (
        r["section"] == "fits" and r["case"] == fit_case("logistic", 10**6, 8))]

    def fits(axis, fixed, wanted):
        found = {}
        for r in growth:
            if r["case"][fixed] == wanted:
                for name, seconds in r["seconds"].items():
                    if name not in ("LIBLINEAR", "ours, all digits"):
                        label = name.removeprefix("scikit-learn ")
                        found.setdefault(label, []).append((r["case"][axis], 1e3 * seconds))
        return found

    draw("fits-by-rows.svg", "Logistic fit, 8 columns", "rows", "ms", fits("rows", "cols", 8))
    sizes = [r["case"]["rows"] for r in growth if r["case"]["cols"] != 8]
    if sizes:
        draw("fits-by-columns.svg", f"Logistic fit, {sizes[0]} rows", "columns", "ms",
             fits("cols", "rows", sizes[0]))
    slower = [f"{r['case']['rows']} × {r['case']['cols']} "
              f"({min(t for n, t in r['seconds'].items() if not n.startswith('ours')) / r['seconds']['ours']:.2g}×)"
              for r in growth if best_peer_is_faster(r["seconds"])]
    note = ["**The best peer is faster than ours** at " + ", ".join(slower) + ".", ""]
    return ["## Growth", "", *(p + "\n" for p in plots), *(note if slower else [])] if plots else []


# ---- One run of the paper -------------------------------------------------------------------

# The work that each stage needs, per row: bytes streamed, 64-byte lines read in random order, and
# floating-point operations; d features, p passes of the fit, m models.
PARTS = {
    "shuffle": ("keys written and read, order written", lambda d, p, m, c: (24, 0, 0)),
    "score": ("rows in random order", lambda d, p, m, c: (16, d / 8, 2 * d + 20 * c)),
    "sort": ("scores read; order and scores written", lambda d, p, m, c: (24, 0, 0)),
    "partition": ("scores read, k candidates of 6 flops", lambda d, p, m, c: (8, 0, 96)),
    "oracle": ("labels and row numbers read", lambda d, p, m, c: (16, 0, 1)),
    "fit": ("rows read from the cache; η, gradient and Gram by pass",
            lambda d, p, m, c: (16, 0, p * (4 * d + d * (d + 1) + 30 * c))),
    "rest": ("bags' cost, row numbers, log of answers", lambda d, p, m, c: (48, 0, 6)),
    "evaluation": ("all models in one pass over a test table of as many rows",
                   lambda d, p, m, c: (8 * d + 8, 0, m * (2 * d + 26) if c else d * (d + 1))),
}


def profile_table(run, limits):
    one = limits[0]
    n, d = run["rows"], run["features"]
    passes, curved = run["iterations"] / run["rounds"], run["family"] != "linear"
    lines = []
    for part, (what, work) in PARTS.items():
        streamed, random_lines, flops = work(d, passes, run["rounds"], curved)
        bandwidth = streamed / one["copy_gbs"] + 64 * random_lines / one["gather_gbs"]
        compute = flops / one["gflops"]
        here = 1e9 * run[part] / n
        least = max(bandwidth, compute)
        lines.append((part, time_text(run[part]), f"{here:.1f}", f"{least:.1f}",
                      "memory" if bandwidth >= compute else "flops",
                      f"{100 * least / here:.0f} %" if here > 0 else "", what))
    head = ("stage", "time", "ns per row", "limit", "set by", "reached", "necessary work")
    out = [f"{run['family'].capitalize()}: training {time_text(run['train'])}, "
           f"{passes:.1f} passes by fit, final test loss {run['test_loss']:.4g}.", ""]
    return out + table(head, lines)


def paper_section(rows):
    results = {r["section"]: r["result"] for r in rows if "result" in r}
    if "bench_paper" not in results:
        return []
    limits = results["bench_limits"]
    out = ["## One run of the paper", ""]
    whole = [r for r in rows if r["section"] == "paper"]
    lines = []
    for r in whole:
        c, s = r["case"], r["seconds"]
        peer = best_peer(s, "ours")
        lines.append((c["family"], time_text(s["ours"]), time_text(s[peer]),
                      f"{s[peer] / s['ours']:.3g}×", f"{r['agreement']['our_test_loss']:.4g}",
                      f"{r['agreement']['peer_test_loss']:.4g}"))
    if whole:
        c = whole[0]["case"]
        out += [f"PriorBoost, {c['rows']} rows of 8 features, {c['rounds']} rounds, k = {c['k']}, one "
                "thread, without evaluation, against the same loop written with NumPy, scikit-learn "
                "and numba on the same rows (the quicker of two runs each):", ""]
        out += table(("family", "ours", "stack", "ratio", "our test loss", "stack's"), lines)
    out += ["Where the time goes.  The limit of a stage is the least time in which this machine can move "
            "the bytes and do the operations that the stage needs, at the rates measured in the same "
            "run; a slice of 4096 rows is fetched from memory once, when it is scored, and stays in the "
            "cache.  From the third round on a round allocates nothing: bags use memory that was "
            "allocated before the first round, and fits use that of earlier fits.", ""]
    out += table(("cores", "read", "copy", "random 64-byte lines", "multiply-add"),
                 [(li["threads"], f"{li['read_gbs']} GB/s", f"{li['copy_gbs']} GB/s",
                   f"{li['gather_gbs']} GB/s", f"{li['gflops']} GFLOP/s") for li in limits])
    if limits[0].get("method") != "ahead":
        out += ["**The last two columns are not limits and must be measured again**: random lines "
                "were read without asking ahead, so `score` exceeds that rate, and the compiler had "
                "merged some chains of multiply-adds, which makes their rate about twice what the "
                "processor has.", ""]
    if limits[-1]["read_gbs"] < 1.3 * limits[0]["read_gbs"]:
        out += ["**Two cores read hardly faster than one here, so something else was using the "
                "machine**: times and rates of this part are worse than they would be alone.", ""]
    for run in results["bench_paper"]:
        out += profile_table(run, limits)
    return out


# ---- The page -------------------------------------------------------------------------------


def threads_section(rows):
    """Time of two threads over that of one, by kind of work and rows."""
    row = next((r for r in rows if r["section"] == "bench_threads"), None)
    if row is None:
        return []
    sizes = sorted({r["n"] for r in row["result"]})
    ratio = {(r["kind"], r["n"]): f"{r['two'] / r['one']:.2f} ({r['cpu_two'] / r['cpu_one']:.2f})"
             for r in row["result"]}
    kinds = list(dict.fromkeys(r["kind"] for r in row["result"]))
    lines = [[kind, *(ratio.get((kind, n), "") for n in sizes)] for kind in kinds]
    return ["## Threads", "", "The time of two threads over that of one: above 1 two are slower.  Both take turns in one "
            "process, and the least times are compared.  In brackets the same ratio of the processor time of all "
            "threads together: what is above 1 there is what the second thread costs.  A step that takes one thread "
            "0.6 ms or less, by an estimate from its size, has one thread, whatever number is asked for.  On a busy "
            "machine two threads also wait for a second core, which the first ratio counts and the second does "
            "not.", "",
            f"Measured on {row['where']}.", "",
            *table(["work", *(f"{n:.0e} rows" for n in sizes)], lines)]


def limits_section(rows):
    sort = next((r for r in rows if r["section"] == "bench_sort"), None)
    fit = next((r for r in rows if r["section"] == "bench_aggregate"), None)
    out = []
    if sort is not None:
        lines = []
        for r in sort["result"]:
            fastest = min(v for v in (r["ours"], r["radix"], r["vqsort"]) if v is not None)
            lines.append([r["shape"], f"{r['n']:.0e}", str(r["threads"]), *(
                "" if r[k] is None else f"{r[k]:.1f}"
                for k in ("ours", "radix", "vqsort", "bags_8", "bags_64", "bags_8_once")),
                f"{r['bags_8'] / fastest:.2f}×", f"{r['bags_64'] / fastest:.2f}×"])
        out += ["## Limits: bags against the fastest sort", "",
                "Optimal bags begin with a sort of the scores with their rows, so no call can be faster than the fastest "
                "of such sorts.  Nanoseconds per row, the least of nine turns; of one thread processor time.  vqsort is "
                "Highway's, on pairs of 16 bytes, and has one thread.  Sorts and bags have memory that is kept, as in the "
                "rounds of a training; \"once\" is a single call, for which the system must find and clear new pages.  "
                "The last columns are bags over the fastest sort of the row; to reach: 1.5.", "", f"Measured on {sort['where']}.", "",
                *table(["shape", "n", "threads", "our sort", "radix", "vqsort", "bags, k = 8", "bags, k = 64",
                        "k = 8, once", "k = 8 / sort", "k = 64 / sort"], lines)]
    if fit is not None:
        lines = [[r["family"], f"{r['rows']} × {r['cols']}", str(r["passes"]), time_text(r["seconds"]),
                  time_text(r["gather"]), time_text(r["passes"] * r["read"]), f"{r['gb_per_second']:.1f} GB/s",
                  f"{r['over_limit']:.1f}×"]
                 for r in fit["result"]]
        out += ["## Limits: one aggregate fit against memory", "",
                "An aggregate fit on bags of 16 from features, one thread, λ = 1, cold start.  The rows of such a "
                "bag are anywhere in the table.  The limit is the time in which this machine copies them once into the order "
                "of the bags, as fits of at most 2^24 numbers do, in memory that was used before, and reads the "
                "table as often as the fit passes over it, both measured in the same run; to reach: 3×.", "", f"Measured on {fit['where']}.", "",
                *table(["family", "table", "passes", "time", "copy", "passes' reads", "read at", "time / limit"], lines)]
    return out


def sparse_speed(row):
    about, *fits = row["result"]
    kind = {"clicks": "a simulated click log", "flights": "delayed flights"}[about["table"]]
    lines = [[f["fit"], f"{f['tolerance']:g}" + (" epochs" if "SGD" in f["fit"] else ""),
              f"{f['above best']:.0e}" + ("" if f["above best"] < 1e-4 else " (not near enough)"),
              f"{f['processor seconds']:.2f}"] for f in fits]
    return ["", f"{kind[0].upper()}{kind[1:]}: {about['rows']} rows, {about['columns']} columns in use, "
            f"{about['entries'] / about['rows']:.0f} entries a row.  Measured on {row['where']}.", "",
            *table(["fit", "tolerance", "above the best", "processor seconds"], lines)]


def sparse_bags(rows):
    out = []
    for row in rows:
        about, *ways = row["result"]
        out += [[about["table"], "none" if w["epsilon"] is None else f"{w['epsilon']:g}",
                 f"{100 * w['way to constant']:.0f} %", f"{100 * w['forecast']:.0f} %",
                 str(w["worth labels"])] for w in ways]
    return out


def sparse_fits_section(rows):
    """bench/sparse.py speed: sparse rows and very many columns."""
    out = ["## Sparse rows: fits with all labels", "",
           "The sum of logistic losses + |θ|²/2 with a free intercept, all labels.  Each program stops at the loosest of "
           "its tolerances that brings the objective within 1e-4 of the least; SGD, at a number of epochs.  "
           "Processor time of all threads, the least of the turns.  LIBLINEAR's copy of the rows is not counted.  "
           "On the clicks, constants of our fit were chosen; on the flights they were not."]
    for row in rows:
        if row["section"] == "sparse speed":
            out += sparse_speed(row)
    return out


def sparse_bags_section(rows):
    """bench/sparse.py bags."""
    bags = [r for r in rows if r["section"] == "sparse bags"]
    about = bags[0]["result"][0]
    return ["## Sparse rows: what bags keep", "",
            f"{about['rows']} rows in bags of {about['bag']} from features: the log loss on other rows, as the part of the way from a "
            "model with all labels (0) to the constant model (100 %), and the number of labels that give the same "
            "([why](sparse.md#what-bags-of-32-can-carry)).", "",
            *table(["table", "ε", "part of the way", "forecast", "labels"], sparse_bags(bags))]


def head(results):
    m = results["machine"]
    versions = ", ".join(f"{n} {v}" for n, v in m["versions"].items())
    return [
        "# Benchmarks", "",
        "Written by `./dev bench`; do not edit.  priorboost and its peers run on the same arrays in "
        "one process and take turns; times are medians.  A case is timed only after the results "
        "agree: bags' cost to 1e-12, objectives to 1e-9, losses to 1e-12.", "",
        f"Machine: {m['processor']}, {m['cores']} cores, {m['vectors']}, {m['memory_gib']} GiB, "
        f"{m['system']}, Python {m['python']}.  Versions: {versions}.  The run took "
        f"{results['seconds'] / 60:.0f} minutes"
        + (f", in {results['sittings']} sittings" if results.get("sittings", 1) > 1 else "") + ".", "",
        *(["**A quick run: its times mean nothing.**", ""] if results["quick"] else []),
    ]


# ---- Trees ----------------------------------------------------------------------------------


def trees_section(rows):
    found = result_of(rows, "trees")
    if found is None:
        return []
    one, auto = found["seconds"]["processor"], found["seconds"]["auto"]
    out = ["## Boosted trees", "",
           f"Processor seconds on {found['threads']} thread, {found['rows']} rows of {found['cols']} numbers, labels 0 "
           f"and 1; LightGBM {found['lightgbm']} has every label, priorboost the means of bags of {found['bag']} rows. "
           f"The forest has {found['trees']} trees of {found['leaves']} leaves from all bags and columns, as LightGBM's, "
           "with binning and without folds. `train --model auto` is the whole command: bags, GLM, curves and two kinds "
           f"of trees with their folds, with {auto['trees']} trees as bags left out asked for; its ratio is to that one "
           f"fit of LightGBM. It needed {auto['memory']:.1f} times the memory of the table in doubles.", ""]
    return out + table(("", "priorboost", "LightGBM", "ratio"),
                       [("one forest", time_text(one["priorboost"]), time_text(one["lightgbm"]), f"{one['ratio']:.2f}"),
                        ("`train --model auto`", time_text(auto["priorboost"]), time_text(one["lightgbm"]),
                         f"{auto['ratio']:.1f}")])


# ---- The page -------------------------------------------------------------------------------

# (function, the parts of peers.py or the kinds of rows that it needs, how its titles begin)
SECTIONS = [
    (verdicts, {"bags", "fits", "losses", "paper"}, ("Targets",)),
    (bags_section, {"bags"}, ("Optimal bags",)),
    (fits_section, {"fits", "losses"}, ("Fits", "Log loss of many models")),
    (growth_section, {"bags", "fits", "growth"}, ("Growth",)),
    (threads_section, {"threads"}, ("Threads",)),
    (limits_section, {"limits"}, ("Limits",)),
    (sparse_fits_section, {"sparse speed"}, ("Sparse rows: fits",)),
    (sparse_bags_section, {"sparse bags"}, ("Sparse rows: what bags keep",)),
    (trees_section, {"trees"}, ("Boosted trees",)),
    (paper_section, {"paper"}, ("One run of the paper",)),
]


def split(page):
    """The head of a page, and its sections as (title, text)."""
    first, *others = page.split("\n## ")
    return first, [(text.partition("\n")[0], "## " + text.rstrip() + "\n") for text in others]


def later_head(first, results, titles):
    """The head of an earlier run's page, with what was measured again, and where."""
    m = results["machine"]
    versions = ", ".join(f"{n} {v}" for n, v in m["versions"].items())
    mark = f"Measured again ({', '.join(titles)}):"
    kept = "\n".join(line for line in first.split("\n") if not line.startswith(mark)).rstrip()
    return [kept, "", f"{mark} {m['processor']}, {m['cores']} cores; {versions}.", ""]


def write(results, docs):
    """The page; a section for which rows are missing stays as it was."""
    path, rows = docs / "benchmarks.md", results["rows"]
    found = {r["part"] for r in rows} | {r["section"] for r in rows}
    first, old = split(path.read_text()) if path.exists() else (None, [])
    new = [starts[0] for _, needs, starts in SECTIONS if needs <= found]
    whole = len(new) == len(SECTIONS)
    page = head(results) if whole or first is None else later_head(first, results, new)
    for section, needs, titles in SECTIONS:
        if needs <= found:
            page += section(rows, docs) if section is growth_section else section(rows)
        else:
            page += [text for title, text in old if title.startswith(titles)]
    path.write_text("\n".join(page).rstrip() + "\n")
