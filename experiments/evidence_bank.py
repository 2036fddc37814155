#!/usr/bin/env python3
"""Given bags of Bank: AUC by the size of the bags.

    experiments/evidence_bank.py REPOSITORY [--sizes 8,32,128,512] [--methods ours,smooth,trees,EM] [--lines FILE]

REPOSITORY is a checkout of google-deepmind/llp_bp, which has the table (27,126 rows to train, 9,043 to test, 16 columns)
and makes bags of rows that follow each other; rows that do not fill a bag are left out, as there.  EM is that of
llp-learn, with a logistic model whose C is chosen by the error of the proportions.  Prints a table of docs/evidence.md.
FILE keeps one JSON object a fit: fits that it has are not repeated.  Needs pandas; EM needs llp-learn.
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
import pandas
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

import priorboost as pb


def read(repository):
    """Features and labels to train and to test; columns are standardised for every method."""
    X, y, test, truth = (pandas.read_csv(repository / f"data/{name}.csv").to_numpy(dtype=float)
                         for name in ("x_train", "y_train", "x_test", "y_test"))
    scaler = StandardScaler().fit(X)
    return scaler.transform(X), y.ravel().astype(int), scaler.transform(test), truth.ravel().astype(int)


def fit_ours(model):
    """One of our models, with nothing set."""
    def fit(X, y, bag):
        answers = pandas.DataFrame({"bag": bag, "y": y}).groupby("bag").y.agg(["count", "mean"]).reset_index()
        return pb.PriorBoostClassifier(model=model).fit(X, bag=bag, answers=answers).predict_proba
    return fit


def fit_em(X, y, bag):
    """EM of llp-learn; its inner model gives the probabilities."""
    from llp_learn.em import EM

    share = pandas.Series(y).groupby(bag).mean().to_numpy()

    def error(model):
        return np.abs(pandas.Series(model.predict(X) > 0).groupby(bag).mean().to_numpy() - share).mean()

    fits = [EM(LogisticRegression(C=c), init_y="random", random_state=1) for c in (0.01, 1, 100)]
    for model in fits:
        model.fit(X, bag, share)
    return min(fits, key=error).model.predict_proba


def fit_all_labels(model):
    """A model that sees every label."""
    return lambda X, y, _: model.fit(X, y).predict_proba


METHODS = {"ours": fit_ours("glm"), "smooth": fit_ours("smooth"), "trees": fit_ours("trees"), "EM": fit_em}
NAMES = {"smooth": 'ours, model="smooth"', "trees": 'ours, model="trees"', "EM": "EM, run here"}
ALL_LABELS = {"logistic regression, all labels": fit_all_labels(LogisticRegression(max_iter=1000)),
              "boosted trees of scikit-learn, all labels": fit_all_labels(HistGradientBoostingClassifier(random_state=1))}


def main():
    """Fit what is missing and print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("repository", type=Path)
    parser.add_argument("--sizes", default="8,32,128,512")
    parser.add_argument("--methods", default="ours,smooth,trees,EM")
    parser.add_argument("--lines", type=Path)
    a = parser.parse_args()
    sizes, methods = [int(size) for size in a.sizes.split(",")], a.methods.split(",")
    if unknown := [m for m in methods if m not in METHODS]:
        parser.error(f"--methods has {unknown[0]!r}; it must be of {', '.join(METHODS)}")
    warnings.simplefilter("ignore")
    X, y, test, truth = read(a.repository)
    kept = {}
    if a.lines and a.lines.exists():
        kept = {(line["method"], line["size"]): line["auc"]
                for line in map(json.loads, a.lines.read_text(encoding="utf-8").splitlines())}

    def auc(method, fit, size):
        if (method, size) not in kept:
            n = len(y) // size * size
            kept[method, size] = roc_auc_score(truth, fit(X[:n], y[:n], np.arange(n) // size)(test)[:, 1])
            if a.lines:
                with open(a.lines, "a", encoding="utf-8") as file:
                    file.write(json.dumps({"method": method, "size": size, "auc": kept[method, size]}) + "\n")
        return f"{kept[method, size]:.3f}"

    print("| method | " + " | ".join(f"bags of {size}" for size in sizes) + " |\n|---" + "|---" * len(sizes) + "|")
    for method in methods:
        cells = [auc(method, METHODS[method], size) for size in sizes]
        print(f"| {NAMES.get(method, method)} | " + " | ".join(cells) + " |", flush=True)
    for method, fit in ALL_LABELS.items():
        print(f"| {method} | {auc(method, fit, 1)}" + " |" * len(sizes), flush=True)


if __name__ == "__main__":
    main()
