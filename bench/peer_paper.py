"""One run of the paper, without evaluation: the program bench_paper against the usual stack.

The stack is paper_peer.py's loop on NumPy, scikit-learn and numba.  Both train on the same rows;
slices, random bags and coins differ by their generators, so the test losses agree as those of two
realizations do, and are only reported.
"""

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np

import paper_peer
from measure import once

PROGRAM = Path(__file__).resolve().parent.parent / "build" / "bin" / "bench_paper"
MODELS = {"linear": paper_peer.Linear, "logistic": paper_peer.Logistic}


def stack(family, data, rows, rounds, k):
    rng = np.random.default_rng(0)
    return paper_peer.priorboost(MODELS[family], data, rows, rounds, k, np.inf, rng)


def ours(family, rows, rounds, k):
    out = subprocess.run([str(PROGRAM), str(rows), str(rounds), str(k)], check=True,
                         capture_output=True, text=True).stdout
    return next(r for r in json.loads(out) if r["family"] == family)


def compare(library, family, rows, rounds, k):
    x, y = library.synthetic(family, rows, 8, 0)
    test_x, test_y = library.synthetic(family, rows, 8, 1)
    data = SimpleNamespace(x=x, y=y, label=y)
    stack(family, data, 4 * (rows // rounds), 4, k)  # compile
    seconds = {"ours": [], "NumPy + scikit-learn + numba": []}
    for _ in range(2):
        run = ours(family, rows, rounds, k)
        seconds["ours"].append(run["train"])
        time, thetas = once(lambda: stack(family, data, rows, rounds, k))
        seconds["NumPy + scikit-learn + numba"].append(time)
    loss = paper_peer.losses(MODELS[family], test_x, test_y, thetas[-1:])[0]
    return {
        "section": "paper",
        "case": {"family": family, "rows": rows, "rounds": rounds, "k": k},
        "agreement": {"our_test_loss": run["test_loss"], "peer_test_loss": float(loss)},
        "seconds": {name: min(times) for name, times in seconds.items()},
    }
