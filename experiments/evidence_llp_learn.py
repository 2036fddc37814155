#!/usr/bin/env python3
"""Given bags: methods of others, run here, beside ours and what their authors published.

    experiments/evidence_llp_learn.py REPOSITORY [--methods EM,DLLP,LLP-VAT,MM,LMM,AMM] [--mean-map FOLDER]
        [--only "10 bags"] [--lines FILE]

REPOSITORY is a checkout of gaabrielfranco/complex-llp-evaluation; see evidence_llp.py.  One assignment of each kind of
bags (of those whose name has the text of --only), execution 0, the same rows, bags and scaling.  The settings are those
of the repository's own script, except for those that it tunes by cross-validation: they are chosen here, among fewer, by
the error of the proportions of the training bags, which is cheaper; the learning rate is 0.001.  Prints a table of
docs/evidence.md.  FILE keeps one JSON object a fit: fits that it has are not repeated.  Needs what evidence_llp.py needs.
EM and the networks need llp-learn, the networks torch and torchvision too.  MM, LMM and AMM are R programs: FOLDER is a
checkout of giorgiop/almostnolabel, and Rscript needs its packages doMC, Matrix, data.table and FNN.
"""

import argparse
import json
import subprocess
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas
from evidence_llp import OURS, PEERS, find_assignments, kind_of, measure, read, read_published, read_seeds, scores
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ShuffleSplit
from sklearn.preprocessing import MinMaxScaler

import priorboost as pb

NETWORK = {"n_epochs": 100, "hidden_layer_sizes": (1000,), "n_jobs": 0, "model_type": "simple-mlp", "device": "cpu"}


def make_em(seed, c):
    """Expectation and maximisation with logistic regression."""
    from llp_learn.em import EM

    return EM(LogisticRegression(C=c), init_y="random", random_state=seed)


def make_dllp(seed, rate):
    """A network with the loss of proportions."""
    from llp_learn.dllp import DLLP

    return DLLP(lr=rate, random_state=seed, **NETWORK)


def make_vat(seed, rate):
    """The same with virtual adversarial training."""
    from llp_learn.llpvat import LLPVAT

    return LLPVAT(lr=rate, random_state=seed, xi=1e-6, eps=6.0, ip=1, **NETWORK)


class MeanMap:
    """A method of almostnolabel; it has no intercept, as in the repository's script."""

    # Reads proportion, bag and features of each row by column; prints the weights.
    PROGRAM = """
        a <- commandArgs(TRUE)
        for (name in c("mean.map.R", "laplacian.mean.map.R", "alternating.mean.map.R")) source(file.path(a[1], name))
        rows <- as.integer(a[3])
        data <- as.data.frame(matrix(readBin(a[2], "double", file.size(a[2]) / 8), nrow=rows))
        names(data)[1:2] <- c("label", "bag")
        lambda <- as.numeric(a[5]); gamma <- as.numeric(a[6])
        graph <- if (a[4] != "MM") laplacian("G,s", data, length(unique(data$bag)), 1)
        weights <- switch(a[4], MM=mean.map(data, lambda), LMM=laplacian.mean.map(data, graph, lambda, gamma),
                          AMM=alternating.mean.map(data, graph, TRUE, lambda, gamma, NULL, "LMM", 30)$theta)
        cat(format(weights, digits=17), sep="\\n")
    """
    folder = None  # of almostnolabel

    def __init__(self, method, setting):
        self.arguments = [method, *map(str, setting)]

    def fit(self, X, bag, share):
        """Hand the rows to R in a file."""
        with tempfile.NamedTemporaryFile() as file:
            np.column_stack([share[bag], bag, X]).astype(np.float64).T.tofile(file.name)
            done = subprocess.run(["Rscript", "-e", self.PROGRAM, str(self.folder), file.name, str(len(X)), *self.arguments],
                                  capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"Rscript, {' '.join(self.arguments)}: {done.stderr}")
        self.weights = np.array(done.stdout.split()[-X.shape[1]:], dtype=float)

    def predict(self, X):
        """1 where the score is positive, and -1."""
        return np.where(X @ self.weights >= 0, 1, -1)


def make_mean_map(method):
    """Mean map, with a graph of bags (LMM) or alternating (AMM); a setting is the ridge and the weight of the graph."""
    return lambda _, setting: MeanMap(method, setting)


# What makes a method, and the settings among which one is chosen.
METHODS = {"EM": (make_em, (0.01, 1, 100)), "DLLP": (make_dllp, (0.001,)), "LLP-VAT": (make_vat, (0.001,)),
           "MM": (make_mean_map("MM"), ((1, 0), (10, 0), (100, 0))),
           "LMM": (make_mean_map("LMM"), ((1, 0.01), (1, 1), (10, 0.01), (10, 1))),
           "AMM": (make_mean_map("AMM"), ((10, 0.01),))}


def one_of_each_kind(repository, only):
    """The first assignment of each kind of bags."""
    first = {}
    for name in find_assignments(repository):
        first.setdefault(kind_of(name), name)
    return [name for kind, name in first.items() if only in kind]


def best_fit(make, settings, seed, X, bag, share):
    """The fit whose predictions have the proportions of the bags most nearly."""
    def error(model):
        predicted = np.asarray(model.predict(X)) > 0
        return np.mean([abs(predicted[bag == b].mean() - share[b]) for b in range(len(share))])

    fits = [make(seed, setting) for setting in settings]
    for model in fits:
        model.fit(X, bag, share)
    return min(fits, key=error)


def fit_all(repository, methods, only, kept):
    """Measure what is missing of `kept`, (assignment, method)."""
    seed = read_seeds(repository, PEERS[0])[0]
    for name in one_of_each_kind(repository, only):
        X, y, bag = read(repository, name)
        train, test = next(ShuffleSplit(n_splits=1, test_size=0.25, random_state=seed).split(X))
        scaler = MinMaxScaler((-1, 1)).fit(X[train])
        known, unknown = scaler.transform(X[train]), scaler.transform(X[test])
        bag = np.unique(bag[train], return_inverse=True)[1]
        share = np.array([y[train][bag == b].mean() for b in range(bag.max() + 1)])
        if (name, OURS) not in kept:
            ours = pb.PriorBoostClassifier(threshold="prevalence")
            for method, values in measure(ours, known, y[train], unknown, y[test], bag).items():
                yield name, method, values
        for method in methods:
            if (name, method) not in kept:
                model = best_fit(*METHODS[method], seed, known.astype(np.float32), bag, share)
                guess = (np.asarray(model.predict(unknown.astype(np.float32))) > 0).astype(float)
                yield name, method, scores(y[test], guess, 0.5)


def print_table(lines, published):
    """Accuracy and F1 by kind of bags: ours, run here, and published of the same methods."""
    methods = list(dict.fromkeys(lines.method))
    heads = [m if m.startswith(OURS) else f"{m}, run here (published)" for m in methods]
    print("| bags | " + " | ".join(heads) + " |\n|---" + "|---" * len(heads) + "|")
    for name in dict.fromkeys(lines.assignment):
        cells = []
        for method in methods:
            row = lines[(lines.assignment == name) & (lines.method == method)]
            cell = f"{row.accuracy.iloc[0]:.3f}, {row.f1.iloc[0]:.3f}" if len(row) else ""
            said = published[(published.assignment == name) & (published.method == method)]
            cells.append(cell + (f" ({said.accuracy.iloc[0]:.3f}, {said.f1.iloc[0]:.3f})" if len(said) else ""))
        print(f"| {kind_of(name).partition(', ')[2]} | " + " | ".join(cells) + " |")


def main():
    """Fit what is missing and print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("repository", type=Path)
    parser.add_argument("--methods", default="EM")
    parser.add_argument("--only", default="", help="kinds of bags that have this text, such as '10 bags'")
    parser.add_argument("--lines", type=Path)
    parser.add_argument("--mean-map", type=Path, help="a checkout of giorgiop/almostnolabel, for MM, LMM and AMM")
    a = parser.parse_args()
    methods = a.methods.split(",")
    if unknown := [m for m in methods if m not in METHODS]:
        parser.error(f"--methods has {unknown[0]!r}; it must be of {', '.join(METHODS)}")
    MeanMap.folder = a.mean_map
    if a.mean_map is None and set(methods) & {"MM", "LMM", "AMM"}:
        parser.error("MM, LMM and AMM need --mean-map FOLDER")
    warnings.simplefilter("ignore")
    lines = []
    if a.lines and a.lines.exists():
        lines = [json.loads(line) for line in a.lines.read_text(encoding="utf-8").splitlines()]
    kept = {(line["assignment"], line["method"]) for line in lines}
    for assignment, method, values in fit_all(a.repository, methods, a.only, kept):
        lines.append({"assignment": assignment, "method": method, **values})
        if a.lines:
            with open(a.lines, "a", encoding="utf-8") as file:
                file.write(json.dumps(lines[-1]) + "\n")
    found = pandas.DataFrame(lines)
    print_table(found, read_published(a.repository, PEERS[0], 1, set(found.assignment)))


if __name__ == "__main__":
    main()
