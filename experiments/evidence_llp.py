#!/usr/bin/env python3
"""Given bags, side by side with published methods, on the tables, bags and splits of two public repositories.

    experiments/evidence_llp.py REPOSITORY [--executions 5] [--models glm,smooth,trees] [--only "5 bags"] [--lines FILE]

REPOSITORY is a checkout of gaabrielfranco/complex-llp-evaluation (Adult with 52 bag assignments; test accuracy and F1
of eight methods) or of gaabrielfranco/llp-variants-kdd (Adult, Census and credit default with four assignments each; test
accuracy of two methods).  Their methods were tuned by their authors; the seeds of the splits are read from their
scripts, and features are scaled to [-1, 1] as there.  Ours is PriorBoostClassifier with nothing set, and the same model
with threshold="prevalence"; --models adds others.  --only takes the kinds of bags that have this text.  Prints the tables
of docs/evidence.md.  FILE keeps one JSON object a fit: fits that it has are not repeated.  Needs pandas and pyarrow.
"""

import argparse
import ast
import json
import re
import warnings
from collections import namedtuple
from pathlib import Path

import numpy as np
import pandas
import priorboost as pb
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score
from sklearn.model_selection import ShuffleSplit
from sklearn.preprocessing import MinMaxScaler

Peer = namedtuple("Peer", "script results")
PEERS = (Peer("run_experiments.py", "llp-benchmark-experiment-results.parquet"),
         Peer("kdd_experiment.py", "kdd-experiment-results.parquet"))
TABLES = ("adult", "census-kdd-balanced", "default-credit-card")
METHODS = {"lmm": "LMM", "mm": "MM", "amm": "AMM", "llp-vat": "LLP-VAT", "mixbag": "MixBag", "dllp": "DLLP",
           "llpfc": "LLPFC", "kdd-lr": "EM"}
OURS, BY_PREVALENCE = "ours", ", threshold=\"prevalence\""
OURS_SHARE = OURS + BY_PREVALENCE
ALL_LABELS = "logistic regression, all labels"


def read_seeds(repository, peer):
    text = (repository / peer.script).read_text(encoding="utf-8")
    return ast.literal_eval(re.search(r"seed = (\[[^]]*\])", text).group(1))


def kind_of(assignment):
    """The table, how bags depend on rows and labels, and how many there are, as the assignment's name has it."""
    table, variant, size = re.match(r"(.*)-(naive|simple|intermediate|hard)-(\d+bags|small|large|)", assignment).groups()
    return f"{table}, {variant}, " + {"small": "5 bags", "large": "10 bags", "": "20 to 30 bags"}.get(
        size, size.replace("bags", " bags"))


def kind_of_table(name):
    """The same; of a table itself its name."""
    return name if name in TABLES else kind_of(name)


def find_assignments(repository):
    """The names of the assignments of the tables with two classes; there are pictures, too."""
    names = sorted(path.stem for path in (repository / "datasets-ci").glob("*-*.parquet"))
    return [name for name in names if name.startswith(TABLES)]


def read(repository, name):
    """Features, labels and bags; the features lie beside the bags, or in a file for all assignments."""
    rows = pandas.read_parquet(repository / f"datasets-ci/{name}.parquet")
    if "y" not in rows:
        table = kind_of(name).partition(",")[0]
        rows = pandas.read_parquet(repository / f"datasets-ci/{table}.parquet").assign(bag=rows.bag.to_numpy())
    return rows.drop(columns=["y", "bag"]).to_numpy(), rows.y.to_numpy(dtype=int), rows.bag.to_numpy()


def scores(truth, share, limit):
    return {"accuracy": accuracy_score(truth, share > limit), "f1": f1_score(truth, share > limit),
            "positive": float(np.mean(share > limit))}


def name_of(model):
    """Our method with this model, as the tables call it."""
    return OURS if model == "glm" else f"{OURS}, model=\"{model}\""


def measure(model, X, y, test, truth, bag):
    """Our scores for one assignment and split, with both thresholds."""
    answers = pandas.DataFrame({"bag": bag, "y": y}).groupby("bag").y.agg(["count", "mean"]).reset_index()
    model.fit(X, bag=bag, answers=answers)
    share = model.predict_proba(test)[:, 1]
    name = name_of(model.model)
    lines = {name: scores(truth, share, 0.5)}
    lines[name]["auc"] = roc_auc_score(truth, share)
    lines[name + BY_PREVALENCE] = scores(truth, share, model.threshold_)
    return lines


def fit_all(repository, peer, executions, models, only, kept):
    """Measure what is missing of `kept`, (execution, assignment, method)."""
    for execution, seed in enumerate(read_seeds(repository, peer)[:executions]):
        for name in find_assignments(repository):
            if only not in kind_of(name):
                continue
            missing = [model for model in models if (execution, name, name_of(model)) not in kept]
            if not missing:
                continue
            X, y, bag = read(repository, name)
            train, test = next(ShuffleSplit(n_splits=1, test_size=0.25, random_state=seed).split(X))
            scaler = MinMaxScaler((-1, 1)).fit(X[train])
            known, unknown = scaler.transform(X[train]), scaler.transform(X[test])
            table = kind_of(name).partition(",")[0]
            if (execution, table, ALL_LABELS) not in kept:
                kept.add((execution, table, ALL_LABELS))
                share = LogisticRegression(max_iter=1000).fit(known, y[train]).predict_proba(unknown)[:, 1]
                yield execution, table, ALL_LABELS, scores(y[test], share, 0.5)
            for model in missing:
                ours = pb.PriorBoostClassifier(threshold="prevalence", model=model)
                for method, values in measure(ours, known, y[train], unknown, y[test], bag[train]).items():
                    yield execution, name, method, values


def read_published(repository, peer, executions, assignments):
    """The published scores, tuned by the error of bag proportions; of several ways to tune, the best for each assignment."""
    table = pandas.read_parquet(repository / peer.results)
    table = table[table.dataset.isin(assignments) & (table["exec"].astype(int) < executions)]
    if "metric" in table:
        table = table[table.metric == "abs"]
    table = table.assign(mean=table.groupby(["dataset", "model", "split_method", "n_splits"]).accuracy_test.transform("mean"))
    table = table[table["mean"] == table.groupby(["dataset", "model"])["mean"].transform("max")]
    table = table.drop_duplicates(["dataset", "model", "exec"])
    return pandas.DataFrame({"execution": table["exec"].astype(int), "assignment": table.dataset,
                             "method": table.model.map(METHODS), "accuracy": table.accuracy_test,
                             "f1": table.f1_test if "f1_test" in table else np.nan})


def is_ours(methods):
    """Say of each whether it is one of our variants."""
    return methods.str.startswith(OURS)


def mean_ranks(lines, ours):
    """By method, among the others and one of our variants."""
    lines = lines[~is_ours(lines.method) | (lines.method == ours)]
    group = lines.groupby(["execution", "assignment"])
    return pandas.DataFrame({m: group[m].rank(ascending=False) for m in ("accuracy", "f1")}).groupby(lines.method).mean()


def best_of(scores):
    """The best score of a column and who has it; nothing where none was published."""
    return "" if scores.isna().all() else f"{scores.max():.3f} ({scores.idxmax()})"


def print_tables(all_lines):
    """Means and mean ranks over assignments and executions, then accuracy and F1 by kind of bags."""
    lines = all_lines[all_lines.method != ALL_LABELS]
    ranks = mean_ranks(lines, OURS)
    for method in lines.method[is_ours(lines.method)].unique():
        ranks.loc[method] = mean_ranks(lines, method).loc[method]
    print("| method | accuracy | mean rank | F1 | mean rank |\n|---|---|---|---|---|")
    f1_known = lines[~is_ours(lines.method)].f1.notna().any()
    means = lines.groupby("method")[["accuracy", "f1"]].mean().sort_values("accuracy", ascending=False)
    for method, row in means.iterrows():
        rank = ranks.loc[method]
        f1 = f"{row.f1:.3f}" if row.f1 == row.f1 else ""
        print(f"| {method} | {row.accuracy:.3f} | {rank.accuracy:.1f} | {f1} | {f'{rank.f1:.1f}' if f1_known else ''} |")
    full = all_lines[all_lines.method == ALL_LABELS]
    print(f"| {ALL_LABELS} | {full.accuracy.mean():.3f} | | {full.f1.mean():.3f} | |\n")
    print(f"| bags | {OURS}: accuracy, F1 | {OURS_SHARE} | best of the others: accuracy | F1 |\n|---|---|---|---|---|")
    for kind, some in lines.groupby(lines.assignment.map(kind_of)):
        by_method = some.groupby("method")[["accuracy", "f1"]].mean()
        mine = [f"{by_method.accuracy[m]:.3f}, {by_method.f1[m]:.3f}" for m in (OURS, OURS_SHARE)]
        others = by_method[~is_ours(by_method.index)]
        print(f"| {kind} | " + " | ".join([*mine, best_of(others.accuracy), best_of(others.f1)]) + " |")


def print_models(lines):
    """Our models by kind of bags, where there are several."""
    models = [m for m in dict.fromkeys(lines.method) if m.startswith(OURS) and BY_PREVALENCE not in m]
    if len(models) < 2:
        return
    print("\n| bags | " + " | ".join(models) + " |\n|---" + "|---" * len(models) + "|")
    kinds = lines.assignment.map(kind_of_table)
    means = lines.groupby([kinds, lines.method])[["accuracy", "f1"]].mean()
    for kind in dict.fromkeys(sorted(set(kinds) - set(TABLES))):
        rows = [means.loc[(kind, model)] for model in models]
        print(f"| {kind} | " + " | ".join(f"{row.accuracy:.3f}, {row.f1:.3f}" for row in rows) + " |")


def print_thresholds(lines):
    """Why F1 depends on the threshold: how well rows are ranked, and how many are predicted to be positive."""
    if "positive" not in lines or lines.positive.isna().any():
        return
    print(f"\n| bags | AUC | predicted positive | with {OURS_SHARE.partition(', ')[2]} |\n|---|---|---|---|")
    for kind, some in lines[is_ours(lines.method)].groupby(lines.assignment.map(kind_of_table)):
        means = some.groupby("method")[["auc", "positive"]].mean()
        print(f"| {kind} | {means.auc[OURS]:.3f} | {means.positive[OURS]:.1%} | {means.positive[OURS_SHARE]:.1%} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("repository", type=Path)
    parser.add_argument("--executions", type=int, default=5)
    parser.add_argument("--models", default="glm", help="of --model, with commas; glm is always one of them")
    parser.add_argument("--only", default="", help="kinds of bags that have this text, such as 'intermediate, 5 bags'")
    parser.add_argument("--lines", type=Path)
    a = parser.parse_args()
    peer = next((p for p in PEERS if (a.repository / p.script).exists()), None)
    if peer is None:
        parser.error(f"{a.repository} has neither {' nor '.join(p.script for p in PEERS)}: it is no checkout of a peer")
    warnings.simplefilter("ignore")
    models = list(dict.fromkeys(["glm", *a.models.split(",")]))
    lines = []
    if a.lines and a.lines.exists():
        lines = [json.loads(line) for line in a.lines.read_text(encoding="utf-8").splitlines()]
    kept = {(line["execution"], line["assignment"], line["method"]) for line in lines}
    for execution, assignment, method, values in fit_all(a.repository, peer, a.executions, models, a.only, kept):
        lines.append({"execution": execution, "assignment": assignment, "method": method, **values})
        if a.lines:
            with open(a.lines, "a", encoding="utf-8") as file:
                file.write(json.dumps(lines[-1]) + "\n")
    wanted = pandas.DataFrame(lines)
    wanted = wanted[(wanted.execution < a.executions) & wanted.assignment.map(lambda n: n in TABLES or a.only in kind_of(n))]
    print_tables(pandas.concat([wanted, read_published(a.repository, peer, a.executions, set(wanted.assignment))]))
    print_models(wanted)
    print_thresholds(wanted)


if __name__ == "__main__":
    main()
