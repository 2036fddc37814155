"""What the tests on Spark share: tables, and who was asked about which bags."""

import cluster  # first: skips the rest where there is no Spark
import numpy as np
import pandas as pd
import pytest
from pyspark import cloudpickle

import priorboost as pb
import priorboost.spark as ps
from priorboost.spark import asking, pieces

pytest_plugins = ["cluster"]
cloudpickle.register_pickle_by_value(cluster)

LOCAL = {
    "linear": pb.PriorBoostRegressor,
    "logistic": pb.PriorBoostClassifier,
    "poisson": pb.PriorBoostPoissonRegressor,
}
ON_SPARK = {
    "linear": ps.PriorBoostRegressor,
    "logistic": ps.PriorBoostClassifier,
    "poisson": ps.PriorBoostPoissonRegressor,
}
D = 3
NAMES = [f"f{j}" for j in range(D)]


def frame_of(spark, X, y, ids, **more):
    columns = {"id": ids, "y": np.asarray(y, float), **more}
    columns |= {name: X[:, j] for j, name in enumerate(NAMES[: X.shape[1]])}
    return spark.createDataFrame(pd.DataFrame(columns))


def shuffled(ids, seed=0):
    """Return the rows of a table in the order of the shuffle."""
    keys = np.array([pb._library.lib.id_key(str(i).encode()) for i in ids], np.uint64)
    return np.argsort(pieces.shuffle_keys(seed, 0, index=keys), kind="stable")


@pytest.fixture
def asked(monkeypatch):
    """Record what labels on the driver are asked, round by round."""
    log = []
    original = asking.LabelsOnDriver.ask

    def ask(self, round, rows, sizes):
        log.append((rows.copy(), sizes.copy()))
        return original(self, round, rows, sizes)

    monkeypatch.setattr(asking.LabelsOnDriver, "ask", ask)
    return log


class Diary(pb.Oracle):
    """Answers as labels in memory do, and remembers the questions."""

    def __init__(self, y, min_bag):
        self.inside, self.min_bag, self.log = pb.InMemoryOracle(y, min_bag), min_bag, []

    def ask(self, round, bags):
        self.log.append(bags)
        return self.inside.ask(round, bags)


def same_bags(asked, log, order):
    assert len(asked) == len(log)
    for (rows, sizes), bags in zip(asked, log, strict=True):
        assert order[rows].tolist() == bags.rows.tolist()
        assert sizes.tolist() == bags.sizes.tolist()
