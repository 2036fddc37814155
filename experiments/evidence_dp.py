#!/usr/bin/env python3
"""Label differential privacy with and without bags: at which epsilon do answers about bags win?

    experiments/evidence_dp.py FOLDER [--splits 10] [--min-bag 32] [--least-level 0] [--table NAME]
        [--lines FILE]

FOLDER is one that fetch_tables.py makes.  Every method protects each label with the same epsilon and fits the same linear
or logistic model; its share is the part of the gap in test loss between the constant model and the model with all labels
that it closes (below 0: worse than the constant).  Without bags:

  randomized response   each label is replaced by the other with probability 1 / (1 + e^epsilon); fitted as it is
  debiased              the same labels, moved and scaled so that their mean is right: an unbiased loss
  Laplace per label     noise of scale range / epsilon on every label
  RR on bins            a regression label becomes one of few values, chosen by dynamic programming for the distribution
                        of the labels, which is taken as known (in practice a part of epsilon goes to it)

Their ridge is the best of a grid by the test labels, which no one has: chosen with the noisy labels, it often failed.  Ours
has nothing set but k and epsilon.  Levels of categories that fewer than --least-level rows have become the base level, for
every method.  Each split has its own noise.  Prints a table of means and their standard errors.
FILE keeps one JSON object a table and split: those that it has are not repeated.
"""

import argparse
import json
import math
import warnings
from pathlib import Path

import numpy as np
import pandas
import priorboost as pb

from tables import read_spec

EPSILONS = (0.1, 0.3, 1, 2, 4)
RIDGES = 10.0 ** np.arange(6, -1, -1)
LEVELS = 100  # of a regression label, for RR on bins


def loss(X, target, theta, logistic):
    eta = X @ theta
    return np.mean(np.logaddexp(0, eta) - target * eta) if logistic else np.mean((target - eta) ** 2)


def fit(X, target, ridge, logistic, start):
    """Newton's method for sum b(F) - target F + ridge/2 |weights|^2; the last column is 1 and has no penalty."""
    penalty = np.append(np.full(X.shape[1] - 1, ridge), 0.0) + 1e-6

    def objective(theta):
        scale = len(X) if logistic else len(X) / 2
        return scale * loss(X, target, theta, logistic) + penalty @ theta**2 / 2

    theta, value = start.copy(), objective(start)
    for _ in range(30):
        eta = X @ theta
        mean = 0.5 * (1 + np.tanh(eta / 2)) if logistic else eta
        weight = np.maximum(mean * (1 - mean), 1e-9) if logistic else np.ones(len(X))
        step = np.linalg.solve((X * weight[:, None]).T @ X + np.diag(penalty), X.T @ (target - mean) - penalty * theta)
        while (new := objective(theta + step)) > value and np.abs(step).max() > 1e-9:
            step /= 2
        theta, gain, value = theta + step, value - new, new
        if gain < 1e-6 * len(X):
            break
    return theta


def best_fit(X, target, logistic, test_loss):
    """The fit with the ridge that has the least loss on the test labels: better than any rule could choose it."""
    theta, fits = np.zeros(X.shape[1]), []
    for ridge in RIDGES:
        theta = fit(X, target, ridge, logistic, theta)
        fits.append(theta)
    return min(fits, key=test_loss)


def flip(y, epsilon, rng):
    return np.where(rng.random(len(y)) < 1 / (1 + math.exp(epsilon)), 1 - y, y)


def debiased(y, epsilon, rng):
    p = 1 / (1 + math.exp(epsilon))
    return (flip(y, epsilon, rng) - p) / (1 - 2 * p)


def rr_on_bins(y, epsilon, rng, low, high):
    """Intervals of the label and one value for each, with the least expected squared error of the reported value.

    With k values the cost is a sum over intervals, divided by e^epsilon + k - 1: every label reports each value with
    weight 1, and the value of its own interval with e^epsilon - 1 more.
    """
    grid = np.linspace(low, high, LEVELS)
    code = np.clip(np.searchsorted(grid, y), 0, LEVELS - 1)
    share = np.bincount(code, minlength=LEVELS) / len(y)
    sums = [np.concatenate([[0], np.cumsum(share * grid**p)]) for p in range(3)]
    extra = math.exp(epsilon) - 1

    def interval(a, b):
        """Cost and value of the interval of levels a .. b-1."""
        m0, m1, m2 = (s[-1] + extra * (s[b] - s[a]) for s in sums)
        return m2 - m1 * m1 / m0, m1 / m0

    cost = np.array([[interval(a, b)[0] if a < b else np.inf for b in range(LEVELS + 1)] for a in range(LEVELS)])
    least, cuts, best = cost[0].copy(), [], (np.inf, None)
    for k in range(1, 17):
        if least[LEVELS] / (math.exp(epsilon) + k - 1) < best[0]:
            ends = [LEVELS]
            for back in reversed(cuts):
                ends.append(int(back[ends[-1]]))
            best = least[LEVELS] / (math.exp(epsilon) + k - 1), sorted({0, *ends})
        longer = least[:LEVELS, None] + cost
        cuts.append(longer.argmin(axis=0))
        least = longer.min(axis=0)
    ends = best[1]
    values = np.array([interval(a, b)[1] for a, b in zip(ends, ends[1:])])
    own = np.searchsorted(ends, code, side="right") - 1
    k, stay = len(values), extra / (extra + len(values))
    return values[np.where(rng.random(len(y)) < stay, own, rng.integers(k, size=len(y)))]


def noisy_labels(logistic, low, high):
    """By method: labels and epsilon to labels that may be given out."""
    def laplace(y, epsilon, rng):
        return y + rng.laplace(scale=(high - low) / epsilon, size=len(y))

    if logistic:
        return {"randomized response": flip, "debiased": debiased, "Laplace per label": laplace}
    return {"RR on bins": lambda y, e, rng: rr_on_bins(y, e, rng, low, high), "Laplace per label": laplace}


def ours(X, y, epsilon, table, seed, logistic, min_bag):
    kind = pb.PriorBoostClassifier if logistic else pb.PriorBoostRegressor
    bounds = (float(table.lower), float(table.upper))
    model = kind(min_bag, epsilon=epsilon, bounds=bounds, random_state=seed)
    model.fit(X[:, :-1], y.astype(int) if logistic else y)
    return np.append(model.coef_.ravel(), model.intercept_)


def encode(rows, least_level):
    """Standardised columns and a column of 1."""
    X = pandas.get_dummies(rows, drop_first=True, dtype=float)
    X = X.drop(columns=[c for c in X if c not in rows and X[c].sum() < least_level])
    X = X.fillna(X.mean()).to_numpy()
    return np.column_stack([(X - X.mean(axis=0)) / X.std(axis=0), np.ones(len(X))])


def shares(table, rows, seed, min_bag, least_level):
    """By epsilon and method, in percent."""
    logistic = table.family == "logistic"
    X = encode(rows.drop(columns=table.label), least_level)
    y = rows[table.label].to_numpy(dtype=float)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    train, test = order[: len(y) * 4 // 5], order[len(y) * 4 // 5:]
    full = fit(X[train], y[train], 1.0, logistic, np.zeros(X.shape[1]))
    constant, mean = np.zeros(X.shape[1]), y[train].mean()
    constant[-1] = math.log(mean / (1 - mean)) if logistic else mean

    def test_loss(theta):
        return loss(X[test], y[test], theta, logistic)

    worst, best = test_loss(constant), test_loss(full)
    out = {}
    for epsilon in EPSILONS:
        fits = {f"ours, k = {min_bag}": ours(X[train], y[train], epsilon, table, seed, logistic, min_bag)}
        for name, privatize in noisy_labels(logistic, float(table.lower), float(table.upper)).items():
            fits[name] = best_fit(X[train], privatize(y[train], epsilon, rng), logistic, test_loss)
        for name, theta in fits.items():
            out[name, epsilon] = 100 * (worst - test_loss(theta)) / (worst - best)
    return out


def measure(name, table, folder, splits, setting, path):
    """The shares of each split, by "method, epsilon"; `path` keeps them, if there is one."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path and path.exists() else []
    kept = {(line["table"], *line["setting"], line["split"]): line["shares"] for line in lines}
    rows = pandas.read_csv(folder / table.file)
    for split in range(1, splits + 1):
        if (found := kept.get((name, *setting, split))) is None:
            found = {f"{method}, {e:g}": share for (method, e), share in shares(table, rows, split, *setting).items()}
            if path:
                with open(path, "a", encoding="utf-8") as file:
                    line = {"table": name, "setting": setting, "split": split, "shares": found}
                    file.write(json.dumps(line) + "\n")
        yield found


def cell(values):
    """Mean and standard error, in percent."""
    return f"{np.mean(values):.0f} ± {np.std(values, ddof=1) / math.sqrt(len(values)):.1f} %"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--splits", type=int, default=10, help="2 or more")
    parser.add_argument("--min-bag", type=int, default=32)
    parser.add_argument("--least-level", type=int, default=0)
    parser.add_argument("--table", action="append")
    parser.add_argument("--lines", type=Path)
    a = parser.parse_args()
    if a.splits < 2:
        parser.error(f"--splits is {a.splits}; a standard error needs 2 or more")
    warnings.simplefilter("ignore")
    tables = read_spec(a.folder)
    print("| table | method | " + " | ".join(f"ε = {e:g}" for e in EPSILONS) + " |\n|---|---|" + "---|" * len(EPSILONS))
    for name in a.table or ("california", "adult"):
        if name not in tables or tables[name].family == "poisson":
            parser.error(f"{a.folder}/spec has no linear or logistic table '{name}', but {', '.join(tables)}")
        found = list(measure(name, tables[name], a.folder, a.splits, (a.min_bag, a.least_level), a.lines))
        for method in dict.fromkeys(key.rpartition(", ")[0] for key in found[0]):
            cells = [cell([f[f"{method}, {e:g}"] for f in found]) for e in EPSILONS]
            print(f"| {name} | {method} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
