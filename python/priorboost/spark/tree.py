"""The upper levels of the tree that makes bags from features, from a sample of the rows.

A table that one task can hold is one leaf, and its bags are those of a single machine.  Of a larger
one the sample is halved, again and again, across the direction in which its whitened coordinates
vary most; every leaf then goes to one task, whose own tree makes the lower levels.
"""

from __future__ import annotations

import numpy as np

from .blocks import Array

LEAF_ROWS = 1 << 18  # about how many rows a leaf holds
SAMPLE_ROWS = 256  # of the sample, for every leaf


class Router:
    """Says which leaf a row belongs to.

    Examples
    --------
    >>> import numpy as np
    >>> from priorboost.spark.tree import Router
    >>> sample = np.random.default_rng(0).normal(size=(1000, 2))
    >>> np.bincount(Router(sample, 4).leaf(sample)).tolist()
    [250, 250, 250, 250]
    """

    def __init__(self, sample: Array, n_leaves: int) -> None:
        self.n_leaves = n_leaves
        self.depth = n_leaves.bit_length() - 1
        d = sample.shape[1]
        self.direction = np.zeros((max(1, n_leaves - 1), d))
        self.border = np.zeros(max(1, n_leaves - 1))
        if self.depth > 0:
            self._split(sample, _whitening(sample), 0, 0)

    def _split(self, x: Array, white: Array, node: int, level: int) -> None:
        if level == self.depth or len(x) == 0:
            return
        z = x @ white
        direction = white[:, 0]
        if len(x) > 1:
            direction = white @ np.linalg.eigh(np.atleast_2d(np.cov(z.T)))[1][:, -1]
        value = x @ direction
        border = float(np.median(value))
        self.direction[node], self.border[node] = direction, border
        right = value >= border
        self._split(x[~right], white, 2 * node + 1, level + 1)
        self._split(x[right], white, 2 * node + 2, level + 1)

    def leaf(self, x: Array) -> Array:
        """Return the leaf of each row."""
        node = np.zeros(len(x), np.int64)
        for _ in range(self.depth):
            right = np.einsum("ij,ij->i", x, self.direction[node]) >= self.border[node]
            node = 2 * node + 1 + right
        return node - (self.n_leaves - 1)


def _whitening(sample: Array) -> Array:
    """Return directions in which the sample has variance 1; those without any are left out."""
    variance, axes = np.linalg.eigh(np.atleast_2d(np.cov(sample.T)))
    kept = variance > 1e-9 * max(float(variance[-1]), 1e-300)
    out: Array = axes[:, kept] / np.sqrt(variance[kept])
    return out


def n_leaves(rows: int, leaf_rows: int | None = None) -> int:
    """Return how many leaves the upper levels have: a power of two that depends on the rows alone.

    Examples
    --------
    >>> from priorboost.spark.tree import n_leaves
    >>> n_leaves(1000), n_leaves(1 << 20)
    (1, 4)
    """
    out = 1
    while rows > out * (leaf_rows or LEAF_ROWS):
        out *= 2
    return out


def merge_small(rows: Array, least: int) -> tuple[Array, int]:
    """Join leaves with their neighbours until each has enough rows; returns part by leaf, parts.

    Examples
    --------
    >>> import numpy as np
    >>> from priorboost.spark.tree import merge_small
    >>> merge_small(np.array([5, 1, 0, 9, 2]), 4)
    (array([0, 1, 1, 1, 1]), 2)
    """
    part = np.zeros(len(rows), np.int64)
    at, have = 0, 0
    for i, n in enumerate(rows):
        if have >= least:
            at, have = at + 1, 0
        part[i] = at
        have += int(n)
    if 0 < have < least and at > 0:
        part[part == at] = at - 1
        at -= 1
    return part, at + 1
