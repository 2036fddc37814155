"""bench/sparse_limit.py: no bags may do better than its bound."""

import sys

import numpy as np
import pytest
from conftest import ROOT
from scipy import sparse as sp

sys.path.insert(0, str(ROOT / "bench"))
import sparse_limit

ROWS, BAG, COLUMNS, OTHERS = 48, 4, 12, 300
W, L2 = 0.2, 0.05


def partition(label):
    same = np.eye(ROWS // BAG)[label]
    return same @ same.T / BAG


@pytest.fixture
def table():
    rng = np.random.default_rng(1)
    x, others = (
        sp.csr_matrix(rng.random((n, COLUMNS)) < 0.15, dtype=float) for n in (ROWS, OTHERS)
    )
    mean = np.asarray(x.mean(axis=0)).ravel()
    return x, others, mean, rng


def unknown(table, p):
    """What the answers of bags leave unknown, by dense matrices."""
    x, others, mean, _ = table
    rows, test = x.toarray() - mean, others.toarray() - mean
    return np.trace(
        test.T @ test / OTHERS @ np.linalg.inv(W * rows.T @ p @ rows + L2 * np.eye(COLUMNS))
    )


def bound(table, share, bag):
    x, others, mean, rng = table
    test = others.toarray() - mean
    value, vector = np.linalg.eigh(test.T @ test / OTHERS)
    probes = vector * np.sqrt(np.maximum(value, 0.0) * COLUMNS)  # traces without an error
    rows, test = sparse_limit.Centred(x, mean), sparse_limit.Centred(others, mean)
    return sparse_limit.left_at_least(rows, test, probes, share, W, L2, bag, rng)[0]


def search(table, steps):
    """Return what good bags leave: rows are exchanged as long as it helps."""
    rng = table[3]
    label = rng.permutation(np.repeat(np.arange(ROWS // BAG), BAG))
    left = unknown(table, partition(label))
    for _ in range(steps):
        i, j = rng.integers(ROWS, size=2)
        other = label.copy()
        other[i], other[j] = label[j], label[i]
        there = unknown(table, partition(other))
        if there < left:
            label, left = other, there
    return left


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_no_bags_are_below_the_bound(table, share):
    assert bound(table, share, BAG) < search(table, 1000)


def test_bound_excludes_what_all_labels_give(table):
    assert bound(table, 0.75, BAG) > unknown(table, np.eye(ROWS))


def test_is_exact_where_a_row_is_its_own_best_companion(table):
    """Rows of one column each, k = 1: P = I is the best, and the tangent touches there."""
    unit = sp.csr_matrix(np.eye(COLUMNS)[np.arange(ROWS) % COLUMNS])
    others = sp.csr_matrix(np.eye(COLUMNS)[np.arange(OTHERS) % COLUMNS])
    there = unit, others, np.zeros(COLUMNS), table[3]
    assert bound(there, 1.0, 1) == pytest.approx(unknown(there, np.eye(ROWS)), rel=1e-6)
