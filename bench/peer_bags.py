"""Optimal bags: priorboost against microagg1d, the one public package for the same problem.

microagg1d's method "staggered" in its stable variant is the peer: the default method is not
optimal for k <= 21, which the rows of the table "what the peer gets wrong" show.
"""

import numpy as np
from microagg1d import univariate_microaggregation

from measure import once, take_turns

AGREE = 1e-12


def gaussian(rng, n):
    return rng.standard_normal(n)


def ties(rng, n):
    """As many levels as a few categorical features give."""
    return np.floor(100 * rng.random(n))


def offset(rng, n):
    return 1e9 + rng.standard_normal(n)


def in_order(rng, n):
    return np.sort(rng.standard_normal(n))


def reversed_order(rng, n):
    return -np.sort(rng.standard_normal(n))


def heavy_tails(rng, n):
    return rng.standard_cauchy(n)


SHAPES = {
    "gaussian": gaussian,
    "ties": ties,
    "offset 1e9": offset,
    "sorted": in_order,
    "reversed": reversed_order,
    "heavy tails": heavy_tails,
}


def cost(values, start):
    """Sum of squares about the means of values[start[b]:start[b+1]], in extended precision."""
    x = values.astype(np.longdouble)
    sizes = np.diff(start)
    x -= np.repeat(x[start[:-1]], sizes)
    x -= np.repeat(np.add.reduceat(x, start[:-1]) / sizes, sizes)
    return np.sum(np.add.reduceat(x * x, start[:-1]))


def start_of_labels(labels):
    """Where bags begin once rows are put in order of their bag."""
    labels = np.sort(labels)
    cuts = np.flatnonzero(np.diff(labels)) + 1
    return np.concatenate(([0], cuts, [len(labels)]))


def check(score, k, partition, labels):
    """Costs of both relative to the lower one; raises where ours is not a best partition."""
    row, start = partition.row, partition.start
    if np.diff(start).min() < k or not np.array_equal(np.sort(row), np.arange(len(score))):
        raise AssertionError("the bags are not a partition into bags of at least min_bag")
    values = np.sort(score)
    if not np.array_equal(score[row], values):
        raise AssertionError("the rows are not in order of their scores")
    ours = cost(values, start)
    peer = cost(values, start_of_labels(labels))
    best = min(ours, peer)
    unit = best if best > 0 else 1
    excess = float((ours - best) / unit)
    if excess > AGREE:
        raise AssertionError(f"our cost exceeds the peer's by {excess:.2g}")
    return {"cost": float(ours), "ours_excess": excess, "peer_excess": float((peer - best) / unit)}


def staggered(score, k):
    return univariate_microaggregation(score, k, method="staggered", stable=1)


def compare(library, shape, n, k, threads, budget, least=None):
    """One row of the results: ours and the peer on one list of scores."""
    score = SHAPES[shape](np.random.default_rng(7), n)
    works = {f"ours, {t} thread{'s' * (t > 1)}": t for t in threads}
    works = {name: (lambda t=t: library.bags_optimal(score, k, t)) for name, t in works.items()}
    works["microagg1d"] = lambda: staggered(score, k)
    labels = staggered(score, k)
    agreement = check(score, k, library.bags_optimal(score, k, 1), labels)
    del labels
    timings = take_turns(works, 1, budget, least=least or (3 if n < 5_000_000 else 2))
    return {
        "section": "bags",
        "case": {"shape": shape, "n": n, "k": k},
        "agreement": agreement,
        "seconds": {name: t.median for name, t in timings.items()},
        "spread": {name: t.spread for name, t in timings.items()},
    }


def ours_alone(library, shape, n, k, threads):
    """As compare, for a list that would take the peer minutes: only ours."""
    score = SHAPES[shape](np.random.default_rng(7), n)
    works = {f"ours, {t} thread{'s' * (t > 1)}": t for t in threads}
    works = {name: (lambda t=t: library.bags_optimal(score, k, t)) for name, t in works.items()}
    timings = take_turns(works, 1, 0, least=2)
    return {
        "section": "bags",
        "case": {"shape": shape, "n": n, "k": k},
        "agreement": {},
        "seconds": {name: t.median for name, t in timings.items()},
        "spread": {name: t.spread for name, t in timings.items()},
    }


def peer_errors(library, n):
    """What the peer's methods cost above the optimum, where they miss it."""
    rows = []
    for shape, make in {**SHAPES, "offset 1e9 +- 1e-3": lambda r, m: 1e9 + 1e-3 * r.random(m)}.items():
        score = make(np.random.default_rng(11), n)
        values = np.sort(score)
        for k in (2, 3, 8, 64):
            ours = cost(values, library.bags_optimal(score, k).start)
            for method, stable in (("auto", 1), ("staggered", 1)):
                labels = univariate_microaggregation(score, k, method=method, stable=stable)
                theirs = cost(values, start_of_labels(labels))
                excess = float((theirs - ours) / ours) if ours > 0 else float(theirs)
                sizes = np.bincount(labels)
                if excess > AGREE or sizes[sizes > 0].min() < k:
                    rows.append({
                        "section": "peer errors",
                        "case": {"shape": shape, "n": n, "k": k, "method": method},
                        "excess": excess,
                        "smallest_bag": int(sizes[sizes > 0].min()),
                    })
    return rows


def warm_up():
    """Compile the peer before it is timed."""
    for k in (2, 8, 64):
        seconds, _ = once(lambda k=k: staggered(np.random.default_rng(0).random(4 * k + 1), k))
