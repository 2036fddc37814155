#!/usr/bin/env python3
"""Real tables: what LightGBM and XGBoost explain when they are fitted to bag answers.

    experiments/any_model.py FOLDER [--splits 1] [--table NAME]

FOLDER is one that fetch_tables.py makes.  A model's share is the part of the gap in test loss between the constant
model and LightGBM with all labels (15 leaves, rate 0.05, 40 rows a leaf, trees by 4-fold cross-validation) that it
closes.  Bags of 32 without noise, and bags of 64 with epsilon = 1.  Needs the package and lightgbm and xgboost.
Prints one JSON object a split, then the medians as a table.
"""

import argparse
import json
import warnings
from pathlib import Path
from statistics import median

import lightgbm
import numpy as np
import pandas
import priorboost as pb
import xgboost

from tables import read_spec

SETTINGS = {"k = 32": {"min_bag": 32}, "bags of 64, ε = 1": {"min_bag": 32, "bag_size": 64, "epsilon": 1}}
FEW_LEAVES = {"n_estimators": 400, "learning_rate": 0.2, "num_leaves": 8, "min_child_samples": 100}
MODELS = ("GLM", "LightGBM as it comes", "LightGBM, 8 leaves", "XGBoost as it comes")
GLM = {"linear": pb.PriorBoostRegressor, "logistic": pb.PriorBoostClassifier, "poisson": pb.PriorBoostPoissonRegressor}


def mean_loss(family, y, mean):
    """The test loss; for counts up to what does not depend on the model."""
    if family == "linear":
        return np.mean((y - mean) ** 2)
    if family == "logistic":
        mean = np.clip(mean, 1e-12, 1 - 1e-12)
        return -np.mean(y * np.log(mean) + (1 - y) * np.log(1 - mean))
    return np.mean(mean - y * np.log(mean))


def with_all_labels(X, y, family, test):
    """LightGBM's predictions for the test rows, with every label of the others."""
    how = {"objective": {"linear": "regression", "logistic": "binary"}.get(family, family), "num_leaves": 15,
           "learning_rate": 0.05, "min_data_in_leaf": 40, "verbose": -1, "num_threads": 1, "seed": 1}
    data = lightgbm.Dataset(X, y, free_raw_data=False)
    folds = lightgbm.cv(how, data, 2000, nfold=4, stratified=False,
                        callbacks=[lightgbm.early_stopping(50, verbose=False)])
    return lightgbm.train(how, data, len(next(iter(folds.values())))).predict(test)


def booster(name, family):
    """A scikit-learn estimator of one of the packages."""
    kind = "Classifier" if family == "logistic" else "Regressor"
    if name.startswith("LightGBM"):
        how = {"verbose": -1, "n_jobs": 1, **({} if "comes" in name else FEW_LEAVES)}
        return getattr(lightgbm, "LGBM" + kind)(objective="poisson" if family == "poisson" else None, **how)
    how = {"n_jobs": 1, "enable_categorical": True}
    objective = {"poisson": "count:poisson", "linear": "reg:squarederror", "logistic": "binary:logistic"}[family]
    return getattr(xgboost, "XGB" + kind)(objective=objective, **how)


def means(name, setting, seed, table, family, train, y, test):
    """The predictions of a model that learns from bags, for the test rows."""
    bounds = (float(table.lower), float(table.upper)) if "epsilon" in setting else None
    labels = y.astype(int) if family == "logistic" else y
    if name == "GLM":
        setting = {k: v for k, v in setting.items() if k != "bag_size"}  # it plans its own
        columns = pandas.get_dummies(pandas.concat([train, test]), drop_first=True, dtype=float)
        columns = columns.fillna(columns.mean()).to_numpy()
        train, test = columns[: len(train)], columns[len(train):]
        model = GLM[family](**setting, bounds=bounds, random_state=seed, standardize=True)
    else:
        model = pb.PriorBoost(booster(name, family), **setting, bounds=bounds, random_state=seed)
    model.fit(train, labels)
    return model.predict_proba(test)[:, 1] if family == "logistic" else model.predict(test)


def shares(table, rows, seed):
    """By setting and model, in percent, for one split into four fifths and one."""
    X = rows.drop(columns=table.label)
    for name in X.select_dtypes(exclude="number"):
        X[name] = X[name].astype("category")
    y, family = rows[table.label].to_numpy(dtype=float), table.family
    order = np.random.default_rng(seed).permutation(len(rows))
    train, test = order[: len(rows) * 4 // 5], order[len(rows) * 4 // 5:]
    known, unknown, labels, truth = X.iloc[train], X.iloc[test], y[train], y[test]
    worst = mean_loss(family, truth, np.full(len(test), labels.mean()))
    best = mean_loss(family, truth, with_all_labels(known, labels, family, unknown))
    out = {}
    for where, setting in SETTINGS.items():
        for name in MODELS:
            predicted = means(name, setting, seed, table, family, known, labels, unknown)
            out[f"{where}: {name}"] = round(100 * (worst - mean_loss(family, truth, predicted)) / (worst - best), 1)
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--table", action="append")
    a = parser.parse_args()
    warnings.simplefilter("ignore")
    tables, found = read_spec(a.folder), {}
    for name in a.table or ("california", "adult", "bike"):
        if name not in tables:
            parser.error(f"{a.folder}/spec has no table '{name}', but {', '.join(tables)}")
        rows = pandas.read_csv(a.folder / tables[name].file)
        found[name] = []
        for seed in range(1, a.splits + 1):
            found[name].append(shares(tables[name], rows, seed))
            print(json.dumps({"table": name, "split": seed, **found[name][-1]}, ensure_ascii=False), flush=True)
    print("| | " + " | ".join(found) + " |\n|---|" + "---|" * len(found))
    for key in next(iter(found.values()))[0]:
        cells = [f"{median(line[key] for line in lines):.1f} %" for lines in found.values()]
        print(f"| {key} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
