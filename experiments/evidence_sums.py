#!/usr/bin/env python3
"""Sums by key that share rows: a logistic model of Adult from label sums by one feature and by two.

    experiments/evidence_sums.py FOLDER [--seeds 5]

FOLDER has UCI's adult.data and adult.test.  The setting is that of the notebook RunOnBankingDataset of
criteo-research/ad_click_prediction_from_aggregated_data, which fits Adult: every feature is a category, numbers are
cut into ten stretches of equal width, and the score is the share of the entropy of the test labels that a model
explains.  With noise, each sum has Laplace noise of scale (number of tables) / epsilon, because a label is in one sum
of each table; the counts are exact, because the rows are known.  Prints a table of docs/evidence.md: means over draws of
the noise and their standard errors.  Needs pandas.
"""

import argparse
import itertools
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas
from sklearn.linear_model import LogisticRegression

import priorboost as pb

NAMES = ["age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
         "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "label"]
PAIRED = ("age", "education", "marital-status", "occupation", "relationship", "sex")  # each of the pairs of these
EPSILONS = (None, 8.0, 2.0, 0.5)
LABELLED = 1000


def read(path):
    """Features as they are, and labels."""
    rows = pandas.read_csv(path, names=NAMES, sep=r"\s*,\s*", engine="python", comment="|", keep_default_na=False)
    return rows.drop(columns="label"), rows.label.str.startswith(">50K").to_numpy(dtype=float)


def cut(rows, test):
    """Both with numbers cut into ten stretches of the range of the first, and categories that both have."""
    rows, test = rows.copy(), test.copy()
    for name in rows:
        if pandas.api.types.is_numeric_dtype(rows[name]):
            low, high = rows[name].min(), rows[name].max()
            edges = np.round(low + (high - low) / 10 * np.arange(1, 10))
            rows[name], test[name] = (np.char.mod("b%d", np.digitize(t[name], edges)) for t in (rows, test))
        test[name] = test[name].where(test[name].isin(set(rows[name])), rows[name].mode()[0])
    return rows, test


def explained(y, p):
    """The share of the entropy of y that p explains."""
    p, q = np.clip(p, 1e-12, 1 - 1e-12), y.mean()
    return 1 - np.mean(y * np.log(p) + (1 - y) * np.log(1 - p)) / (q * np.log(q) + (1 - q) * np.log(1 - q))


def sums_by(rows, y, tables, epsilon, rng):
    """One line a sum: cells (empty: any), count, sum and the variance of its noise."""
    scale = 0.0 if epsilon is None else len(tables) / epsilon
    parts = []
    for keys in tables:
        part = pandas.Series(y).groupby([rows[k].to_numpy() for k in keys]).agg(["sum", "count"])
        part.index.names = keys
        part["sum"] += rng.laplace(0, scale, len(part)) if scale > 0 else 0.0
        parts.append(part.reset_index())
    lines = pandas.concat(parts, ignore_index=True).reindex(columns=[*rows, "count", "sum"])
    return lines if scale == 0 else lines.assign(variance=2 * scale * scale)


def fit_moments(design, sums, ridge=1.0):
    """Plain moment equations: sum of (predicted - s) for each column, and a ridge; s may be noisy."""
    theta = np.zeros(design.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(-np.clip(design @ theta, -30, 30)))
        gradient = design.T @ p - sums + ridge * theta
        theta -= np.linalg.solve(design.T @ (design * (p * (1 - p))[:, None]) + ridge * np.eye(len(theta)), gradient)
    return theta


def naive_bayes(lines, test, n, positive):
    """Predictions from sums by one feature alone."""
    odds = np.full(len(test), np.log(positive / (n - positive)))
    for name in test:
        some = lines[lines[name].notna()].set_index(name)
        yes = some["sum"].clip(lower=0.5, upper=some["count"] - 0.5)
        ratio = np.log(yes / positive) - np.log((some["count"] - yes) / (n - positive))
        odds += test[name].map(ratio).to_numpy()
    return 1 / (1 + np.exp(-odds))


def measure(rows, y, test, truth, epsilon, seed):
    """By method: the score for one amount of noise."""
    rng = np.random.default_rng(seed)
    one = [[k] for k in rows]
    two = one + [list(p) for p in itertools.combinations(PAIRED, 2)]
    lines = sums_by(rows, y, one, epsilon, rng)
    both = sums_by(rows, y, two, epsilon, rng)
    dummies = pandas.get_dummies(pandas.concat([rows, test])).to_numpy(dtype=float)
    design, beyond = dummies[: len(rows)], dummies[len(rows):]
    columns = [(k, level) for k in rows for level in sorted(rows[k].unique())]
    by_cell = {(k, v): s for k in rows for v, s in zip(lines[k], lines["sum"]) if isinstance(v, str)}
    theta = fit_moments(design, np.array([by_cell[c] for c in columns]))
    some = np.where(rng.permutation(len(y)) < LABELLED, y, np.nan)
    out = {"plain moment equations, by one": explained(truth, 1 / (1 + np.exp(-beyond @ theta))),
           "naive Bayes, by one": explained(truth, naive_bayes(lines, test, len(y), y.sum()))}
    for name, given, labels in (("ours, by one", lines, None), ("ours, by one and two", both, None),
                                (f"ours, by one and {LABELLED:,} labels", lines, some)):
        model = pb.PriorBoostClassifier().fit(rows, labels, sums=given)
        out[name] = explained(truth, model.predict_proba(test)[:, 1])
    if epsilon is None:
        full = LogisticRegression(max_iter=3000).fit(design, y)
        out["logistic regression, all labels"] = explained(truth, full.predict_proba(beyond)[:, 1])
        few = ~np.isnan(some)
        alone = LogisticRegression(max_iter=3000).fit(design[few], y[few])
        out[f"logistic regression, {LABELLED:,} labels"] = explained(truth, alone.predict_proba(beyond)[:, 1])
        print(f"{len(lines)} sums by one feature, {len(both)} by one and two", flush=True)
    return out


def cell(scores):
    """The mean, and of several its standard error."""
    error = f" ± {np.std(scores, ddof=1) / np.sqrt(len(scores)):.3f}" if len(scores) > 1 else ""
    return f"{np.mean(scores):.3f}{error}" if scores else ""


def main():
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=5, help="draws of the noise, 2 or more")
    a = parser.parse_args()
    if a.seeds < 2:
        parser.error(f"--seeds is {a.seeds}; a standard error needs 2 or more")
    warnings.simplefilter("ignore")
    (rows, y), (test, truth) = read(a.folder / "adult.data"), read(a.folder / "adult.test")
    rows, test = cut(rows, test)
    table = {}
    for epsilon in EPSILONS:
        runs = [measure(rows, y, test, truth, epsilon, s) for s in range(a.seeds if epsilon else 1)]
        print(f"epsilon {epsilon}: {runs}", file=sys.stderr, flush=True)
        for method in runs[0]:
            table.setdefault(method, {})[epsilon] = [run[method] for run in runs]
    print("| method | no noise | " + " | ".join(f"ε = {e:g}" for e in EPSILONS[1:]) + " |\n|---" + "|---" * len(EPSILONS) + "|")
    for method, by_noise in sorted(table.items(), key=lambda item: -item[1][None][0]):
        print(f"| {method} | " + " | ".join(cell(by_noise.get(e, [])) for e in EPSILONS) + " |")


if __name__ == "__main__":
    main()
