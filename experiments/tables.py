#!/usr/bin/env python3
"""Real tables: how much of the gap between the paper's PriorBoost and all labels --auto closes.

    experiments/tables.py FOLDER [--splits 5] [--min-bag 32] [--epsilon 1] [--table NAME] [--noise N]

FOLDER holds adult.csv, california_housing.csv and bike_hour.csv (UCI, StatLib); the preparation is
below.  Needs build/bin/priorboost and nothing but Python's own library.  Prints one JSON object a
split and table, then the medians.
"""

import argparse
import csv
import json
import math
import random
import statistics
import subprocess
import tempfile
from pathlib import Path

PROGRAM = Path(__file__).resolve().parent.parent / "build/bin/priorboost"
BIKE = "season,yr,mnth,hr,holiday,weekday,workingday,weathersit"


def read(path):
    """Rows as dictionaries, blanks around names and values removed."""
    with open(path, newline="", encoding="utf-8") as file:
        return [{k.strip(): v.strip() for k, v in row.items()} for row in csv.DictReader(file)]


def california(folder):
    """The label is the standardised logarithm of the median value."""
    rows = read(folder / "california_housing.csv")
    log = [math.log(float(r.pop("median_house_value"))) for r in rows]
    mean, sd = statistics.fmean(log), statistics.pstdev(log)
    for row, value in zip(rows, log):
        row["y"] = repr((value - mean) / sd)
    return rows, ["--family", "linear", "--bounds=-5,2", "--impute", "mean"]


def adult(folder):
    """The label is whether income is above 50K."""
    rows = read(folder / "adult.csv")
    for row in rows:
        row["y"] = str(int(row.pop("income") == ">50K"))
    return rows, ["--family", "logistic", "--bounds=0,1"]


def bike(folder):
    """The label is the number of rentals in an hour; codes are categories."""
    rows = read(folder / "bike_hour.csv")
    names = BIKE.split(",") + ["temp", "atemp", "hum", "windspeed"]
    rows = [{"y": r["cnt"], **{n: r[n] for n in names}} for r in rows]
    return rows, ["--family", "poisson", "--bounds=0,1000", "--categorical", BIKE]


TABLES = {"california": california, "adult": adult, "bike": bike}


def write(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


def split(rows, seed):
    """Four fifths and one fifth, at random; levels that only the test part has are moved over."""
    order = list(range(len(rows)))
    random.Random(seed).shuffle(order)
    cut = len(rows) * 4 // 5
    train, test = [rows[i] for i in order[:cut]], [rows[i] for i in order[cut:]]
    for name in rows[0]:
        seen = {r[name] for r in train}
        if any(not is_number(v) for v in seen) or name in BIKE.split(","):
            train += [r for r in test if r[name] not in seen]
            test = [r for r in test if r[name] in seen]
    return train, test


def is_number(text):
    try:
        float(text)
    except ValueError:
        return text == ""
    return True


def loss(folder, options, *more):
    """The test loss after the last round."""
    out = subprocess.run(
        [PROGRAM, "train", "--data", folder / "train.csv", "--test", folder / "test.csv", "--label", "y",
         "--standardize", "--json", "--quiet", "--threads", "1", *options, *more],
        check=True, capture_output=True, text=True)
    return json.loads(out.stdout)


def without_bounds(options):
    return [o for o in options if not o.startswith("--bounds")]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--min-bag", default="32")
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--table", action="append", choices=TABLES)
    parser.add_argument("--noise", type=int, default=1, help="draws of the noise a split")
    a = parser.parse_args()
    for name in a.table or TABLES:
        rows, options = TABLES[name](a.folder)
        shares = []
        for seed in range(1, a.splits + 1):
            with tempfile.TemporaryDirectory() as where:
                where = Path(where)
                train, test = split(rows, seed)
                write(where / "train.csv", train)
                write(where / "test.csv", test)
                labels = loss(where, without_bounds(options), "--min-bag", "1", "--estimator", "event",
                              "--rounds", "1", "--bags", "random", "--seed", "1")["test_loss"]
                for noise in range(a.noise):
                    asked = ["--min-bag", a.min_bag, "--epsilon", a.epsilon, "--seed", str(100 * noise + seed)]
                    paper = min(loss(where, options, *asked, "--estimator", "event", "--rounds", t)["test_loss"]
                                for t in ("4", "16"))
                    auto = loss(where, options, *asked, "--auto")
                    share = (paper - auto["test_loss"]) / (paper - labels)
                    shares.append(share)
                    print(json.dumps({"table": name, "split": seed, "noise": noise, "paper": paper,
                                      "auto": auto["test_loss"], "all_labels": labels,
                                      "share_closed": round(share, 4), "bag_size": auto["bag_size"],
                                      "bags": auto["bags"], "rounds": auto["rounds"],
                                      "converged": auto.get("converged"), "seconds": auto["seconds"]}), flush=True)
        print(json.dumps({"table": name, "median_share_closed": round(statistics.median(shares), 4),
                          "least": round(min(shares), 4), "most": round(max(shares), 4)}), flush=True)


if __name__ == "__main__":
    main()
