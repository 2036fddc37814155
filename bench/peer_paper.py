"""One run of the paper, without evaluation: the program bench_paper against the usual stack.

The stack is what a careful user would write with NumPy, scikit-learn and microagg1d.  Both train on
the same rows; random bags and slices differ by their generators, so the results agree as two
realizations do and are only reported.
"""

import json
import subprocess
from pathlib import Path

import numpy as np
from microagg1d import univariate_microaggregation
from sklearn.linear_model import LogisticRegression

from measure import once

L2 = 10.0
PROGRAM = Path(__file__).resolve().parent.parent / "build" / "bin" / "bench_paper"


def fit_linear(x, target, theta):
    gram = x.T @ x
    gram[np.diag_indices_from(gram)] += L2
    return np.linalg.solve(gram, x.T @ target)


def fit_logistic(x, target, theta):
    model = LogisticRegression(C=1 / L2, fit_intercept=False, warm_start=True, max_iter=1000)
    if theta is not None:
        model.coef_, model.intercept_ = theta[None, :], np.zeros(1)
        model.classes_ = np.array([0.0, 1.0])
    return model.fit(x, target).coef_[0]


def answers(labels, bag, family, rng):
    """The mean label of each row's bag, rounded as in the paper's logistic experiments."""
    mean = np.bincount(bag, labels) / np.bincount(bag)
    if family == "logistic":
        coin = rng.integers(0, 2, len(mean))
        mean = np.where(mean == 0.5, coin, mean > 0.5).astype(np.float64)
    return mean[bag]


def stack(family, x, y, rounds, k, seed=0):
    """theta after all rounds of PriorBoost."""
    rng = np.random.default_rng(seed)
    fit = {"linear": fit_linear, "logistic": fit_logistic}[family]
    theta = None
    for rows in np.array_split(rng.permutation(len(x)), rounds):
        part = x[rows]
        if theta is None:
            bag = rng.permutation(np.arange(len(rows)) % (len(rows) // k))
        else:
            eta = part @ theta
            score = eta if family == "linear" else 1 / (1 + np.exp(-eta))
            bag = univariate_microaggregation(score, k, method="staggered")
        theta = fit(part, answers(y[rows], bag, family, rng), theta)
    return theta


def test_loss(family, x, y, theta):
    eta = x @ theta
    if family == "linear":
        return float(np.mean((y - eta) ** 2))
    return float(np.mean(np.logaddexp(0.0, eta) - y * eta))


def ours(family, rows, rounds, k):
    out = subprocess.run([str(PROGRAM), str(rows), str(rounds), str(k)], check=True,
                         capture_output=True, text=True).stdout
    return next(r for r in json.loads(out) if r["family"] == family)


def compare(library, family, rows, rounds, k):
    x, y = library.synthetic(family, rows, 8, 0)
    test = library.synthetic(family, rows, 8, 1)
    stack(family, x[: rows // rounds * 4], y[: rows // rounds * 4], 4, k)  # compile
    first = ours(family, rows, rounds, k)
    seconds, theta = once(lambda: stack(family, x, y, rounds, k))
    second = ours(family, rows, rounds, k)
    return {
        "section": "paper",
        "case": {"family": family, "rows": rows, "rounds": rounds, "k": k},
        "agreement": {"our_test_loss": first["test_loss"],
                      "peer_test_loss": test_loss(family, *test, theta)},
        "seconds": {"ours": min(first["train"], second["train"]),
                    "NumPy + scikit-learn + microagg1d": seconds},
    }
