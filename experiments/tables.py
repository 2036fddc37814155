#!/usr/bin/env python3
"""Real tables: how much of the gap between the paper's PriorBoost and all labels --auto closes.

    experiments/tables.py FOLDER [--splits 5] [--min-bag 32] [--epsilon 1|none] [--table NAME] [--noise N]

FOLDER is one that build/bin/study reads too: CSV files, and FOLDER/spec with one table a line, FILE LABEL FAMILY
LO HI, the label a column of numbers, every other column a feature.  fetch_tables.py makes one of thirty-three
tables.  Needs build/bin/priorboost and nothing but Python's own library.  Prints one JSON object a split and
table, then the medians.
"""

import argparse
import csv
import json
import math
import random
import statistics
import subprocess
import tempfile
from collections import namedtuple
from pathlib import Path

PROGRAM = Path(__file__).resolve().parent.parent / "build/bin/priorboost"
Table = namedtuple("Table", "file label family lower upper")


def read_spec(folder):
    """The tables by name, which is the file's without its ending."""
    lines = (folder / "spec").read_text(encoding="utf-8").splitlines()
    specs = [Table(*line.split()) for line in lines if line and not line.startswith("#")]
    return {Path(t.file).stem: t for t in specs}


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


def is_number(text):
    try:
        float(text)
    except ValueError:
        return text == ""
    return True


def split(rows, seed):
    """Four fifths and one fifth, at random; levels that only the test part has are moved over."""
    order = list(range(len(rows)))
    random.Random(seed).shuffle(order)
    cut = len(rows) * 4 // 5
    train, test = [rows[i] for i in order[:cut]], [rows[i] for i in order[cut:]]
    for name in rows[0]:
        seen = {r[name] for r in train}
        if any(not is_number(v) for v in seen):
            train += [r for r in test if r[name] not in seen]
            test = [r for r in test if r[name] in seen]
    return train, test


def split_persons(rows, person, seed):
    """Four fifths of the persons, at random, and the others; test rows with levels that only they have are left out.

    Returns the rows of both parts, and who the rows for training belong to.
    """
    order = list(dict.fromkeys(person))
    random.Random(seed).shuffle(order)
    first = set(order[:len(order) * 4 // 5])
    train = [r for r, p in zip(rows, person) if p in first]
    test = [r for r, p in zip(rows, person) if p not in first]
    for name in rows[0]:
        seen = {r[name] for r in train}
        if any(not is_number(v) for v in seen):
            test = [r for r in test if r[name] in seen]
    return train, test, [p for p in person if p in first]


def constant_loss(train, test, table):
    """The test loss of a model that knows the mean of the training labels and nothing else."""
    mean = statistics.fmean(float(r[table.label]) for r in train)
    loss = {"linear": lambda y: (y - mean) ** 2,
            "logistic": lambda y: -y * math.log(mean) - (1 - y) * math.log(1 - mean),
            "poisson": lambda y: mean - y * math.log(mean)}[table.family]
    return statistics.fmean(loss(float(r[table.label])) for r in test)


def fit(folder, table, *more, standardize=True):
    """What train says of a fit; its test_loss is that after the last round."""
    out = subprocess.run(
        [PROGRAM, "train", "--data", folder / "train.csv", "--test", folder / "test.csv", "--label", table.label,
         "--family", table.family, "--impute", "mean", "--json", "--quiet", "--threads", "1", "--force",
         *(["--standardize"] if standardize else []), *more],
        check=True, capture_output=True, text=True)
    report = json.loads(out.stdout)
    if report["test_loss"] is None:  # it ran away beyond all numbers
        report["test_loss"] = math.inf
    return report


def compare(folder, table, rows, min_bag, epsilon, seed):
    """The paper's algorithm (the better of 4 and 16 rounds, where there are rows for them) and --auto."""
    asked = ["--min-bag", str(min_bag), f"--bounds={table.lower},{table.upper}", "--seed", str(seed)]
    asked += ["--epsilon", epsilon] if epsilon != "none" else []
    rounds = [t for t in (4, 16) if rows // t >= min_bag] or [1]
    paper = [fit(folder, table, *asked, "--estimator", "event", "--rounds", str(t)) for t in rounds]
    return min(paper, key=lambda r: r["test_loss"]), fit(folder, table, *asked, "--auto")


def share(worse, better, loss):
    """The fraction of the gap between worse and better; None if there is no gap."""
    return round((worse - loss) / (worse - better), 4) if worse > better else None


def median(values):
    known = [v for v in values if v is not None]
    return round(statistics.median(known), 4) if known else None


def measure(name, table, rows, a):
    """One line a split and draw of the noise, then the table's medians."""
    found = []
    for seed in range(1, a.splits + 1):
        with tempfile.TemporaryDirectory() as where:
            where = Path(where)
            train, test = split(rows, seed)
            write(where / "train.csv", train)
            write(where / "test.csv", test)
            constant = constant_loss(train, test, table)
            labels = fit(where, table, "--min-bag", "1", "--estimator", "event", "--rounds", "1", "--bags", "random",
                         "--seed", "1")["test_loss"]
            for noise in range(a.noise):
                paper, auto = compare(where, table, len(train), a.min_bag, a.epsilon, 100 * noise + seed)
                found.append({
                    "table": name, "rows": len(train), "columns": len(auto["theta"]), "split": seed, "noise": noise,
                    "constant": constant, "paper": paper["test_loss"], "auto": auto["test_loss"],
                    "all_labels": labels,
                    "share_closed": share(paper["test_loss"], labels, auto["test_loss"]),
                    "of_constant": share(constant, labels, auto["test_loss"]),
                    "paper_of_constant": share(constant, labels, paper["test_loss"]),
                    "bag_size": auto["bag_size"], "bags": auto["bags"], "rounds": auto["rounds"],
                    "no_better_than_mean": auto["plan"]["no_better_than_mean"], "warnings": auto["warnings"],
                    "paper_warnings": paper["warnings"], "seconds": auto["seconds"]})
                print(json.dumps(found[-1]), flush=True)
    return {"table": name, **{"median_" + k: median([r[k] for r in found]) for k in
            ("share_closed", "of_constant", "paper_of_constant", "constant", "paper", "auto", "all_labels")},
            "bag_sizes": sorted({r["bag_size"] for r in found}), "no_better_than_mean": sum(r["no_better_than_mean"] for r in found),
            "warned": sum(bool(r["warnings"]) for r in found), "of": len(found)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--min-bag", type=int, default=32)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--table", action="append")
    parser.add_argument("--noise", type=int, default=1, help="draws of the noise a split")
    a = parser.parse_args()
    tables = read_spec(a.folder)
    for name in a.table or tables:
        if name not in tables:
            parser.error(f"{a.folder}/spec has no table '{name}', but {', '.join(tables)}")
        rows = read(a.folder / tables[name].file)
        print(json.dumps(measure(name, tables[name], rows, a)), flush=True)


if __name__ == "__main__":
    main()
