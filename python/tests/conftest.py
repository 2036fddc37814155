"""What the tests share: the command line to compare with, and small tables."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


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


def make_table(family: str, n: int = 2000, d: int = 4, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    eta = X @ np.linspace(-1.0, 1.0, d)
    if family == "linear":
        return X, eta + 0.1 * rng.normal(size=n)
    if family == "logistic":
        return X, (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(int)
    return X, rng.poisson(np.exp(0.5 * eta))
