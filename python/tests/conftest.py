"""What the tests share: the command line to compare with, and small tables."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import priorboost as pb

ROOT = Path(__file__).resolve().parents[2]
KINDS = {
    "linear": pb.PriorBoostRegressor,
    "logistic": pb.PriorBoostClassifier,
    "poisson": pb.PriorBoostPoissonRegressor,
}


@pytest.fixture(scope="session")
def cli():
    """Run the program; its JSON report."""
    program = Path(os.environ.get("PRIORBOOST", ROOT / "build/bin/priorboost"))
    if not program.exists():
        pytest.skip(f"there is no program at {program} to compare with: build it or set PRIORBOOST")

    def run(*arguments):
        done = subprocess.run(
            [program, *map(str, arguments), "--json"], check=True, capture_output=True, text=True
        )
        return json.loads(done.stdout)

    run.program = program
    return run


@pytest.fixture
def serve(cli, tmp_path):
    """Start a real service that holds labels by id, as a label holder would; address, token file.

    With units (one per row) a bag may hold one row of each, and each be in one answered bag.  With
    classes the labels are their names.
    """
    help_text = subprocess.run([cli.program, "--help"], capture_output=True, text=True).stdout
    if "serve" not in help_text:
        pytest.skip("this build of the program has no service")
    started = []

    def start(ids, y, units=None, most_rows=None, classes=None):
        columns = {"id": ids, "y": y if classes is not None else [repr(float(v)) for v in y]}
        named = [] if units is None else ["--unit", "unit"]
        if units is not None:
            columns["unit"] = units
        with (tmp_path / "labels.csv").open("w") as file:
            file.write(",".join(columns) + "\n")
            file.writelines(",".join(row) + "\n" for row in zip(*columns.values(), strict=True))
        store = f"sqlite:{tmp_path}/store.db"
        kind = ["--bounds", "-20,20"] if classes is None else ["--classes", ",".join(classes)]
        cli("oracle", "init", "--store", store, "--min-bag", 4, "--no-noise", *kind, *named[:1])
        cli("oracle", "import", "--store", store, "--data", tmp_path / "labels.csv", "--id", "id",
            "--label", "y", *named)  # fmt: skip
        limit = [] if most_rows is None else ["--rows", most_rows]
        token = cli("oracle", "token", "create", "--store", store, "--name", "learner", *limit)[
            "token"
        ]
        (tmp_path / "token").touch(mode=0o600)
        (tmp_path / "token").write_text(token)
        process = subprocess.Popen(
            [cli.program, "serve", "--store", store, "--listen", f"unix:{tmp_path}/socket"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        started.append(process)
        return process.stdout.readline().split()[-1], str(tmp_path / "token")

    yield start
    for process in started:
        process.terminate()
        process.wait()
        process.stdout.close()


def make_table(family: str, n: int = 2000, d: int = 4, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    eta = X @ np.linspace(-1.0, 1.0, d)
    if family == "linear":
        return X, eta + 0.1 * rng.normal(size=n)
    if family == "logistic":
        return X, (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(int)
    return X, rng.poisson(np.exp(0.5 * eta))


def write_csv(path, X, y, **others):
    names = [f"x{j}" for j in range(X.shape[1])] + ["y", *others]
    with path.open("w") as file:
        file.write(",".join(names) + "\n")
        for i, row in enumerate(X):
            cells = [repr(float(v)) for v in (*row, y[i])] + [str(o[i]) for o in others.values()]
            file.write(",".join(cells) + "\n")
