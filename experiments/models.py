#!/usr/bin/env python3
"""Real tables: the share of what boosted trees with every label explain, for each kind of model.

    experiments/models.py FOLDER [--splits 5] [--min-bag 32] [--epsilon none|1] [--model glm --model auto ...]
                                 [--table NAME] [--peers FILE] [--by-person]

FOLDER is one that tables.py reads; fetch_tables.py makes it.  The peer is LightGBM on the same four fifths of the
rows with all labels: 15 leaves, rate 0.05, at least 40 rows a leaf, as many trees as 4-fold cross-validation finds
best.  A share is (constant - model) / (constant - LightGBM) in test loss, cut at 0 and 1.  Tables of fewer than 50
bags, and those where LightGBM explains less than 5 % of the constant model's deviance, are not counted.  --peers keeps
LightGBM's losses in a file, so that the next run need not fit it again.

With --by-person all rows of a person are on the same side of a split, and in the same fold of LightGBM's
cross-validation: otherwise LightGBM grows trees that recognise persons.  FOLDER/NAME.person says who they are, a line a
row; tables without this file are left out.

Needs build/bin/priorboost, pandas and lightgbm.  Prints one JSON object a split and table, then the medians, then
the mean over tables.
"""

import argparse
import json
import math
import statistics
import tempfile
from pathlib import Path

import lightgbm
import numpy as np
import pandas
from tables import constant_loss, fit, is_number, read, read_spec, split, split_persons, write

OBJECTIVES = {"linear": "l2", "logistic": "binary", "poisson": "poisson"}
FEWEST_BAGS, LEAST_EXPLAINED = 50, 0.05


def loss(family, label, mean):
    if family == "linear":
        return float(np.mean((label - mean) ** 2))
    if family == "logistic":
        mean = np.clip(mean, 1e-15, 1 - 1e-15)
        return float(-np.mean(label * np.log(mean) + (1 - label) * np.log1p(-mean)))
    return float(np.mean(mean - label * np.log(mean)))


def least_loss(family, test, label):
    """The loss of a model that predicts every label."""
    y = np.array([float(r[label]) for r in test])
    return float(np.mean(y - y * np.log(np.maximum(y, 1e-300)))) if family == "poisson" else 0.0


def frames(train, test, label):
    """Numbers as numbers, text as categories."""
    both = pandas.DataFrame(train + test)
    for name in both.columns:
        if all(is_number(v) for v in both[name]):
            both[name] = pandas.to_numeric(both[name])
        else:
            both[name] = both[name].astype("category")
    y = both.pop(label).to_numpy(float)
    n = len(train)
    return both.iloc[:n], y[:n], both.iloc[n:], y[n:]


def folds_of(person, seed):
    """Four pairs of rows to fit and rows to look at, each person in one of the latter; None without persons."""
    if person is None:
        return None
    names, who = np.unique(person, return_inverse=True)
    fold = np.random.default_rng(seed).permutation(len(names))[who] % 4
    return [(np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(4)]


def lightgbm_loss(train, test, table, person, seed):
    x, y, test_x, test_y = frames(train, test, table.label)
    options = {"objective": OBJECTIVES[table.family], "num_leaves": 15, "learning_rate": 0.05, "min_data_in_leaf": 40,
               "verbose": -1, "num_threads": 1, "seed": seed, "deterministic": True}
    folds = lightgbm.cv(options, lightgbm.Dataset(x, y, free_raw_data=False), 2000, nfold=4, stratified=False, seed=seed,
                        folds=folds_of(person, seed), callbacks=[lightgbm.early_stopping(50, verbose=False)])
    trees = len(next(iter(folds.values())))
    model = lightgbm.train(options, lightgbm.Dataset(x, y), trees)
    return loss(table.family, test_y, model.predict(test_x))


class Peers:
    """LightGBM's losses by table and split, kept in a file where one is named."""

    def __init__(self, path):
        self.path = path
        self.known = json.loads(path.read_text()) if path and path.exists() else {}

    def loss(self, name, seed, train, test, table, person):
        key = f"{name} {seed}" + (" by person" if person else "")
        if key not in self.known:
            self.known[key] = lightgbm_loss(train, test, table, person, seed)
            if self.path:
                self.path.write_text(json.dumps(self.known))
        return self.known[key]


def median_share(found, model):
    """Over the splits where LightGBM is better than the constant; the others have no share."""
    known = [r[model] for r in found if not math.isnan(r[model])]
    return statistics.median(known) if known else math.nan


def measure(name, table, rows, a, peers):
    """The shares of every model by split; none where the table is not counted."""
    found, everyone = [], (a.folder / f"{name}.person").read_text().split("\n")[:len(rows)] if a.by_person else None
    for seed in range(1, a.splits + 1):
        train, test, person = split_persons(rows, everyone, seed) if everyone else (*split(rows, seed), None)
        if len(train) // a.min_bag < FEWEST_BAGS:
            return []
        constant = constant_loss(train, test, table)
        best = peers.loss(name, seed, train, test, table, person)
        with tempfile.TemporaryDirectory() as where:
            where = Path(where)
            write(where / "train.csv", train)
            write(where / "test.csv", test)
            asked = ["--min-bag", str(a.min_bag), f"--bounds={table.lower},{table.upper}", "--clamp", "--seed", str(seed)]
            asked += ["--epsilon", a.epsilon] if a.epsilon != "none" else []
            line = {"table": name, "split": seed, "constant": constant, "lightgbm": best,
                    "explained": (constant - best) / (constant - least_loss(table.family, test, table.label))}
            for model in a.model:
                r = fit(where, table, *asked, "--model", model, standardize=False)
                share = (constant - r["test_loss"]) / (constant - best) if constant > best else math.nan
                line[model] = round(min(max(share, 0.0), 1.0), 4)
                line[model + "_seconds"] = r["seconds"]
                if r.get("members"):
                    line[model + "_weights"] = {m["kind"]: round(m["weight"], 3) for m in r["members"]}
            found.append(line)
            print(json.dumps(line), flush=True)
    return found if statistics.median(r["explained"] for r in found) >= LEAST_EXPLAINED else []


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--min-bag", type=int, default=32)
    parser.add_argument("--epsilon", default="none")
    parser.add_argument("--model", action="append", help="default: glm, smooth, trees and auto")
    parser.add_argument("--table", action="append")
    parser.add_argument("--peers", type=Path, help="file with LightGBM's losses")
    parser.add_argument("--by-person", action="store_true", help="all rows of a person on the same side")
    a = parser.parse_args()
    a.model = a.model or ["glm", "smooth", "trees", "auto"]
    tables, peers, medians = read_spec(a.folder), Peers(a.peers), {m: [] for m in a.model}
    for name in a.table or tables:
        if name not in tables:
            parser.error(f"{a.folder}/spec has no table '{name}', but {', '.join(tables)}")
        if a.by_person and not (a.folder / f"{name}.person").exists():
            continue
        found = measure(name, tables[name], read(a.folder / tables[name].file), a, peers)
        if found:
            median = {m: median_share(found, m) for m in a.model}
            print(json.dumps({"table": name, "median": median}), flush=True)
            for m in a.model:
                medians[m].append(median[m])
    print(json.dumps({"tables": len(medians[a.model[0]]), "min_bag": a.min_bag, "epsilon": a.epsilon, "by_person": a.by_person,
                      "mean_share": {m: round(statistics.fmean(v), 4) for m, v in medians.items() if v}}))


if __name__ == "__main__":
    main()
