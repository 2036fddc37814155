"""How much any n/k answers could carry about a wide model: an upper bound, for bench/sparse.py limit.

The model is made linear at the mean label: eta = x theta, theta normal with variance 1/lambda, and a label
tells of eta with information w = p (1 - p).  The mean of a bag of k rows, times sqrt(k), is a
measurement u'y with |u| = 1 and the noise of one label; those of different bags are orthogonal.  Of
all sets of m orthonormal measurements the leading m eigenvectors of X X' tell most about the rows, so
no bags can do better than they.  The gain is the variance of eta on other rows that is explained.
"""

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

BLOCK = 128  # columns at a time
ITERATIONS = 4
PROBES = 8


class Centred:
    """Columns of a sparse matrix minus the means of x, never formed."""

    def __init__(self, x, mean):
        self.x, self.turned, self.mean = x, x.T.tocsr(), mean.astype(x.dtype)

    def times(self, v):
        return self.x @ v - self.mean @ v

    def turn(self, u):
        return self.turned @ u - np.multiply.outer(self.mean, u.sum(axis=0))


def gain_of_all(x, test, w, l2, seed=0):
    """The mean of x_t (1/l2 - A^-1) x_t' over the rows of test; A = w X'X + l2."""
    rng = np.random.default_rng(seed)
    d = x.x.shape[1]
    matrix = LinearOperator((d, d), matvec=lambda v: w * x.turn(x.times(v)) + l2 * v)
    total = 0.0
    for _ in range(PROBES):
        v = test.turn(rng.choice([-1.0, 1.0], test.x.shape[0]))
        total += v @ v / l2 - v @ cg(matrix, v, rtol=1e-3, maxiter=1000)[0]
    return total / PROBES / test.x.shape[0]


def leading(x, m, seed=0):
    """The leading m eigenvectors of X X' (subspace iteration) and their eigenvalues."""
    rng = np.random.default_rng(seed)
    q = rng.standard_normal((x.x.shape[0], m + m // 10)).astype(x.x.dtype)
    for _ in range(ITERATIONS):
        q = np.linalg.qr(q)[0]
        image = np.empty_like(q)
        for j in range(0, q.shape[1], BLOCK):
            image[:, j : j + BLOCK] = x.times(x.turn(q[:, j : j + BLOCK]))
        small, q = q.T @ image, image
    # image = X X' q of the last orthonormal q: its eigenvectors by Rayleigh and Ritz
    values, vectors = np.linalg.eigh(0.5 * (small + small.T))
    keep = np.argsort(values)[::-1][:m]
    return (image @ vectors[:, keep]) / values[keep], values[keep]


def gain_of_leading(x, test, m, w, l2):
    vectors, values = leading(x, m)
    total = 0.0
    for j in range(0, m, BLOCK):
        part = slice(j, j + BLOCK)
        along = test.times(x.turn(vectors[:, part])) / l2
        total += np.sum(along.astype(float) ** 2 / (values[part] / l2 + 1.0 / w))
    return total / test.x.shape[0]


def limit(x, y, test, bag, spread):
    """The least part of the way to the constant model that n/k answers of any kind can leave."""
    used = np.unique(x.indices)
    x, test = (t[:, used].astype(np.float32) for t in (x, test))
    mean = np.asarray(x.mean(axis=0)).ravel()
    l2 = (x.multiply(x).sum() / x.shape[0] - mean @ mean) / spread
    w = y.mean() * (1.0 - y.mean())
    rows, others = Centred(x, mean), Centred(test, mean)
    whole = gain_of_all(rows, others, w, l2)
    best = gain_of_leading(rows, others, x.shape[0] // bag, w, l2)
    return {"l2": float(l2), "least way to constant": round(float(1.0 - best / whole), 3)}
