"""Model files with random trees, and rows for them, which tests compare predictions on."""

import numpy as np

# By source column: whether it is text, and the number of its levels, "(other)" included.
SOURCES = [("age", 0), ("income", 0), ("city", 4), ("plain", 3), ("when:days", 0),
           ("when:month", 0), ("when:weekday", 0)]  # fmt: skip
FEATURES = [
    {"name": "age", "fill": 40.5},
    {"name": "income", "fill": 1e4, "lower": -1e5, "upper": 1e5},
    {"name": "city", "levels": ["Aachen", "NA", "Ürgüp"], "other": True, "fill": "Aachen"},
    {"name": "plain", "levels": ["a", "b", "c"], "fill": "a"},
    {"name": "when", "date": ["days", "month", "weekday"], "fill": 1.7e9},
]
COLUMNS = (
    ["age", "income", "city=NA", "city=Ürgüp", "city=(other)", "plain=b", "plain=c", "when:days"]
    + [f"when:month={m}" for m in range(2, 13)]
    + [f"when:weekday={d}" for d in ("Tue", "Wed", "Thu", "Fri", "Sat", "Sun")]
)
SCALE = {"age": 0.02, "income": 1e-5, "when:days": 1e-5}


def random_tree(rng, depth):
    """Return a tree as the model file has it."""
    tree = {
        name: [] for name in ("column", "right", "value", "missing_left", "left_codes", "codes")
    }

    def grow(depth):
        at = len(tree["column"])
        source = int(rng.integers(len(SOURCES)))
        name, levels = SOURCES[source]
        leaf = depth == 0 or rng.random() < 0.2
        thresholds = {"age": rng.integers(20, 70), "income": rng.normal(0, 3e4),
                      "when:days": rng.integers(0, 20000), "when:month": rng.integers(1, 12),
                      "when:weekday": rng.integers(0, 6)}  # fmt: skip
        chosen = sorted(rng.choice(levels, rng.integers(1, levels), replace=False).tolist()) \
            if levels and not leaf else []  # fmt: skip
        tree["column"].append(-1 if leaf else source)
        tree["right"].append(0)
        tree["value"].append(float(rng.normal(0, 0.1) if leaf else thresholds.get(name, 0)))
        tree["missing_left"].append(int(not leaf and not levels and rng.random() < 0.5))
        tree["left_codes"].append(len(chosen))
        tree["codes"].extend(chosen)
        if not leaf:
            grow(depth - 1)
            tree["right"][at] = len(tree["column"])
            grow(depth - 1)

    grow(depth)
    return tree


def random_member(rng, kind, weight):
    member = {"kind": kind, "weight": weight, "intercept": float(rng.normal())}
    if "glm" in kind:
        member["theta"] = [float(rng.normal() * SCALE.get(name, 0.3)) for name in COLUMNS]
    if "trees" in kind:
        member["trees"] = [random_tree(rng, 4) for _ in range(30)]
    return member


def random_model(rng, family, kinds, offset=None):
    """Return a model file: a GLM as it is, other kinds as members."""
    model = {"format": "priorboost-model", "version": 2, "family": family, "offset": offset,
             "features": FEATURES, "unseen": "baseline", "columns": COLUMNS}  # fmt: skip
    if kinds == ["glm"]:
        member = random_member(rng, "glm", 1.0)
        return model | {key: member[key] for key in ("theta", "intercept")}
    weights = rng.dirichlet(np.ones(len(kinds))).tolist()
    weights[-1] = 1.0 - sum(weights[:-1])
    members = [random_member(rng, *pair) for pair in zip(kinds, weights, strict=True)]
    return model | {"members": members}


def random_rows(rng, n):
    """Return cells as text, some of them missing, extreme or not seen in training."""
    days = rng.integers(0, 20000, n).astype("datetime64[D]")
    rows = []
    for i in range(n):
        rows.append({
            "age": str(rng.integers(18, 80)),
            "income": repr(float(rng.normal(0, 5e4) * (1e3 if i % 50 == 0 else 1))),
            "city": rng.choice(["Aachen", "Ürgüp", "Paris", "Rome"]),
            "plain": rng.choice(["a", "b", "c", "d"]),
            "when": str(days[i]),
            "log n": repr(float(rng.normal(0, 0.3))),
        })  # fmt: skip
        for name in ("age", "income", "city", "plain", "when"):
            if rng.random() < 0.1:
                rows[-1][name] = ""
    return rows
