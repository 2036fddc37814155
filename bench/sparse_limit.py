"""How much bags of at least k rows could carry about a wide model, for bench/sparse.py limit.

The model is made linear at the mean label: eta = x theta, theta normal with variance 1/l2, and a label
tells of eta with information w = p (1 - p).  Bags are a matrix P: P_ij = 1/|b| if rows i and j are in
the same bag b, otherwise 0.  Their means have the information matrix A(P) = w X'P X + l2, and what is
left unknown of eta on other rows is V(P) = tr(S A(P)^-1), S the second moments of those rows.

V is convex in P, because the inverse of a matrix is.  So its tangent at any P0 is a lower bound:

    V(P) >= V(P0) + tr(Q P0) - tr(Q P),   Q = w X A(P0)^-1 S A(P0)^-1 X'.

Every row of P adds up to 1 and has no entry above 1/k.  So tr(Q P) is at most the sum over the rows
of the mean of the k largest entries of their row of Q: no row has better companions than its k best.
P0 = share x I, for which tr(Q P0) = V(P0) - l2 tr(S A(P0)^-2).  Each share gives a bound, and the
largest one is taken.  Rows of Q are a sample; traces are estimated with vectors of random signs.
"""

import numpy as np
import wide

SHARES = (0.25, 0.375, 0.5)
SAMPLE = 256  # rows of Q
PROBES = 64
STEPS = 12  # of the variances of fields


class Centred:
    """Columns of a sparse matrix minus the means of x, never formed."""

    def __init__(self, x, mean):
        self.x, self.turned, self.mean = x, x.T.tocsr(), mean

    def times(self, v):
        return self.x @ v - self.mean @ v

    def turn(self, u):
        return self.turned @ u - np.multiply.outer(self.mean, u.sum(axis=0))


def solve(matrix, b, tolerance=2e-3):
    """Conjugate gradients for all columns of b at once."""
    x, r, d = np.zeros_like(b), b.copy(), b.copy()
    size = first = np.sum(r * r, axis=0)
    while np.any(size > tolerance**2 * first):
        image = matrix(d)
        step = size / np.sum(d * image, axis=0)
        x += step * d
        r -= step * image
        before, size = size, np.sum(r * r, axis=0)
        d = r + (size / before) * d
    return x


def field_variances(x, y, field, start):
    """The variances of the weights of each field, by EM on all labels; the posterior's own diagonal."""
    count = np.bincount(field)
    variance = np.full(len(count), start)
    information = y.mean() * (1.0 - y.mean()) * np.asarray(x.sum(axis=0)).ravel()
    for _ in range(STEPS):
        scale = variance[field]
        fit = wide.fit_options(wide.EVENT, 1.0, 1, 1e-5)
        theta = wide.event_fit(scaled(x, np.sqrt(scale)), y, fit).theta
        square = theta**2 + 1.0 / (1.0 + information * scale)
        variance = variance * np.bincount(field, square) / np.maximum(count, 1)
    return variance


def scaled(x, factor):
    out = x.copy()
    out.data = out.data * factor.astype(x.dtype)[out.indices]
    return out


def left_at_least(rows, others, probes, share, w, l2, bag, rng):
    """The tangent's bound of V(P) at P0 = share x I, and its standard error by the sample of rows."""
    n, m = rows.x.shape[0], others.x.shape[0]

    def matrix(v):
        return (w * share) * rows.turn(rows.times(v)) + l2 * v

    def companions(u):  # Q u
        seen = others.times(solve(matrix, rows.turn(u)))
        return w * rows.times(solve(matrix, others.turn(seen) / m))

    z = solve(matrix, probes)
    tangent = 2.0 * np.mean(np.sum(probes * z, axis=0)) - l2 * np.mean(np.sum(z * z, axis=0))
    sample = np.zeros((n, min(SAMPLE, n)), rows.x.dtype)
    sample[rng.choice(n, sample.shape[1], replace=False), np.arange(sample.shape[1])] = 1.0
    best = -np.partition(-companions(sample), bag - 1, axis=0)[:bag].mean(axis=0)
    return tangent - n * best.mean(), n * best.std() / np.sqrt(len(best))


def limit(x, y, test, bag, spread, field=None, shares=SHARES, seed=0):
    """The least part of the way to the constant model that bags can leave.

    Without field all weights have the same variance, such that eta varies by spread; with the field of
    each column, a field has a variance, from all labels.
    """
    used = np.unique(x.indices)
    x, test = (t[:, used].astype(np.float32) for t in (x, test))
    l2 = (x.multiply(x).sum() / x.shape[0] - np.sum(np.square(x.mean(axis=0)))) / spread
    if field is not None:
        root = np.sqrt(field_variances(x, y, field[used], 1.0 / l2)[field[used]])
        x, test, l2 = scaled(x, root), scaled(test, root), 1.0
    w, l2 = np.float32(y.mean() * (1.0 - y.mean())), np.float32(l2)
    mean = np.asarray(x.mean(axis=0)).ravel()
    rows, others = Centred(x, mean), Centred(test, mean)
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1.0, 1.0], (test.shape[0], PROBES)).astype(np.float32)
    probes = others.turn(signs) / np.float32(np.sqrt(test.shape[0]))
    all_labels = solve(lambda v: w * rows.turn(rows.times(v)) + l2 * v, probes)
    nothing, everything = (np.mean(np.sum(probes * z, axis=0)) for z in (probes / l2, all_labels))
    found = []
    for share in shares:
        left, error = left_at_least(rows, others, probes, np.float32(share), w, l2, bag, rng)
        way = (left - everything) / (nothing - everything)
        found.append((way, error / (nothing - everything), share))
    way, error, share = max(found)
    return {
        "least way to constant": round(float(way), 3),
        "standard error": round(float(error), 4),
        "share": share,
    }
