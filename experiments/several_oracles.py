#!/usr/bin/env python3
"""What it costs if bags must stay within one of several oracles.

    experiments/several_oracles.py [--rows 2000 20000] [--min-bag 32] [--features 8] [--repeats 20]

One table of 0/1 labels with correlated features; each row is at one of 1, 2, 4 or 8 oracles, at random.  Prints a
table in Markdown: medians over the repeats of the excess and, after a comma, the information kept.  Excess: test
loss above that of a fit to all labels, times 1000.  Information kept: d / tr(C^-1 D), where C and D are the covariances of the weights if all labels are known and with the bags'
answers; 0.5 is as good as half of the labels.  Needs the installed Python package, or PYTHONPATH and
PRIORBOOST_LIBRARY.
"""

import argparse

import numpy as np

import priorboost as pb

ORACLES = (1, 2, 4, 8)
WAYS = {
    "features, one round": {"method": "auto", "bags": "features", "rounds": 1},
    "paper, 4 rounds": {"method": "paper", "rounds": 4},
}


class Divided(pb.InMemoryOracle):
    """Labels of which each row's are at one of several oracles: no bag has rows of two."""

    def __init__(self, labels, part, **rules):
        super().__init__(labels, **rules)
        self.divided = part

    def _connect(self, *given):
        interface = super()._connect(*given)
        interface.part, interface.parts = self.divided, int(self.divided.max()) + 1
        return interface


def draw(rows, features, rng):
    spread = 0.5 ** np.abs(np.subtract.outer(np.arange(features), np.arange(features)))
    X = rng.multivariate_normal(np.zeros(features), spread, rows)
    eta = X @ np.linspace(-0.8, 0.8, features) - 0.5
    return X, (rng.random(rows) < 1 / (1 + np.exp(-eta))).astype(float)


def loss(model, X, y):
    p = np.clip(model.predict_proba(X)[:, 1], 1e-12, 1 - 1e-12)
    return float(-np.mean(y * np.log(p) + (1 - y) * np.log1p(-p)))


def fit(X, y, part, min_bag, bag_size, how):
    oracle = Divided(y, part.astype(np.uint32), min_bag=min_bag)
    return pb.PriorBoostClassifier(bag_size=bag_size, n_jobs=1, **how).fit(X, oracle=oracle)


def measure(rows, features, min_bag, rng):
    """By way and number of oracles: the excess of the test loss, and the information kept."""
    X, y = draw(rows, features, rng)
    test = draw(50000, features, rng)
    all_labels = fit(X, y, np.zeros(rows), 1, 1, WAYS["features, one round"])
    best = loss(all_labels, *test)
    whole = np.linalg.inv(all_labels.covariance_[:-1, :-1])
    out = {}
    for way, how in WAYS.items():
        for n in ORACLES:
            model = fit(X, y, rng.integers(n, size=rows), min_bag, min_bag, how)
            spread = model.covariance_
            kept = np.nan if spread is None else features / np.trace(whole @ spread[:-1, :-1])
            out[way, n] = loss(model, *test) - best, kept
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[2000, 20000])
    parser.add_argument("--min-bag", type=int, default=32)
    parser.add_argument("--features", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=20)
    a = parser.parse_args()
    print("| rows | bags | " + " | ".join(f"{n} oracle{'s' * (n > 1)}" for n in ORACLES) + " |")
    print("|---|---|" + "---|" * len(ORACLES))
    for rows in a.rows:
        runs = [
            measure(rows, a.features, a.min_bag, np.random.default_rng([rows, repeat]))
            for repeat in range(a.repeats)
        ]
        for way in WAYS:
            cells = []
            for n in ORACLES:
                excess, kept = np.median([run[way, n] for run in runs], axis=0)
                cells.append(f"{1e3 * excess:.2f}" + ("" if np.isnan(kept) else f", {kept:.2f}"))
            print(f"| {rows} | {way} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
