"""Several classes on Spark against the training on a single machine."""

import cluster  # noqa: F401  # first: skips the rest where there is no Spark
import numpy as np
import pandas as pd
import pytest
from pyspark.sql import functions as F
from spark_support import NAMES, frame_of, same_bags, shuffled

import priorboost as pb
import priorboost.spark as ps
from priorboost.spark import class_pieces, pieces

pytest_plugins = ["spark_support"]
pytestmark = pytest.mark.spark

PARTIES = np.array(["blue", "green", "red", "yellow"])
WEIGHTS = np.array([[0.0, 0, 0], [1.0, -0.5, 0.3], [-0.6, 0.8, 0], [0.2, 0, -0.9]])


def draw(n, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 3))
    X, odds = Z + np.array([0, 5, 0]), np.exp(Z @ WEIGHTS.T)
    share = odds / odds.sum(axis=1, keepdims=True)
    return X, (rng.random(n)[:, None] > share.cumsum(axis=1)).sum(axis=1)


def table_of(spark, X, labels, ids):
    return (
        frame_of(spark, X, X[:, 0], ids)
        .drop("y")
        .join(spark.createDataFrame(pd.DataFrame({"id": ids, "party": labels})), "id")
    )


class Diary(pb.Oracle):
    """Answers about classes, and remembers the questions."""

    kind, names, min_bag = "classes", tuple(PARTIES), 6

    def __init__(self, labels):
        self.labels, self.log, self.width = labels, [], len(PARTIES)

    def _rules(self):
        return pb.options.vector_rules(self.min_bag, None, "classes", self.width)

    def ask(self, round, bags):
        self.log.append(bags)
        return [np.bincount(self.labels[b], minlength=self.width) / len(b) for b in bags]


@pytest.mark.parametrize(
    ("partitions", "options"),
    [
        (1, {"bags": "prior", "rounds": 2}),
        (3, {"bags": "hybrid", "rounds": 2, "estimator": "aggregate"}),
        (2, {"bags": "random", "rounds": 2, "algorithm": "pbprefix", "fitIntercept": False}),
    ],
)
def test_it_is_the_training_of_one_machine(spark, asked, partitions, options):
    n = 1201
    X, labels = draw(n)
    ids = [f"p{i}" for i in range(n)]
    frame = table_of(spark, X, PARTIES[labels], ids).repartition(partitions)
    frame = frame.withColumn("features", F.array(*NAMES))
    model = ps.PriorBoostClassesClassifier(
        labelCol="party", minBag=6, numPartitions=partitions, **options
    ).fit(frame)
    words = {"fitIntercept": "fit_intercept"}
    oracle = Diary(labels)
    local = pb.PriorBoostClassifier(
        method="paper", **{words.get(k, k): v for k, v in options.items()}
    ).fit(X, oracle=oracle, ids=ids)
    same_bags(asked, oracle.log, shuffled(ids))
    theta = np.column_stack([local.coef_, local.intercept_])
    assert np.abs(model.path[-1] - theta).max() < 1e-8
    if options.get("estimator") == "aggregate":
        assert np.allclose(model.covariance.toArray(), local.covariance_, rtol=1e-7, atol=1e-12)
    else:
        assert model.covariance is None
    within = np.array([r["within"] for r in model.history])
    told = np.isfinite(within)  # by bags that are made from scores
    assert told.sum() == (options["bags"] != "random")
    assert np.allclose(within[told], local.history_["within"][told], rtol=1e-9)
    assert model.classes == PARTIES.tolist()
    assert model.training["l2"] == pytest.approx(local.training_["l2"])
    found = model.transform(frame).toPandas()
    shares = np.array([v.toArray() for v in found["probability"]])
    assert np.allclose(shares, local.predict_proba(found[NAMES].to_numpy()), atol=1e-8)
    assert (found["prediction"] == PARTIES[shares.argmax(axis=1)]).all()


def test_noise_and_numbers(spark):
    """Classes that are numbers, with noise that follows from the seed; features by name."""
    n = 600
    X, labels = draw(n, seed=4)
    frame = table_of(spark, X, labels * 2.0, np.arange(n))
    options = {"estimator": "aggregate", "bags": "features", "rounds": 1, "epsilon": "2"}
    with pytest.warns(UserWarning, match="it follows from seed"):
        model = ps.PriorBoostClassesClassifier(
            featuresCol=NAMES, labelCol="party", minBag=6, seed=3, **options
        ).fit(frame)
    with pytest.warns(UserWarning, match="simulated"):
        local = pb.PriorBoostClassifier(6, method="paper", random_state=3, **options).fit(
            X, labels, ids=np.arange(n)
        )
    assert model.classes == ["0", "2", "4", "6"]
    theta = np.column_stack([local.coef_, local.intercept_])
    assert np.abs(model.path[-1] - theta).max() < 1e-8
    assert np.allclose(model.covariance.toArray(), local.covariance_, rtol=1e-7, atol=1e-12)
    names = model.transform(frame).select("prediction").distinct().collect()
    assert {row[0] for row in names} <= {"0", "2", "4", "6"}


def test_a_service_of_classes(spark, serve):
    n = 400
    X, labels = draw(n, seed=5)
    ids = [f"p{i}" for i in range(n)]
    url, token = serve(ids, PARTIES[labels], classes=PARTIES)
    frame = frame_of(spark, X, X[:, 0], ids)
    options = {"featuresCol": NAMES, "oracleUrl": url, "oracleTokenFile": token, "rounds": 1}
    with pytest.raises(pb.OracleError, match="4 numbers a bag; this model needs means"):
        ps.PriorBoostClassifier(**options).fit(frame)
    options |= {"bags": "features", "estimator": "aggregate", "askFrom": "executors"}
    model = ps.PriorBoostClassesClassifier(**options).fit(frame)
    local = pb.PriorBoostClassifier(
        4, method="paper", bags="features", rounds=1, estimator="aggregate"
    ).fit(X, PARTIES[labels], ids=ids)
    assert model.classes == PARTIES.tolist()
    assert np.abs(model.path[-1] - np.column_stack([local.coef_, local.intercept_])).max() < 1e-8
    assert not pb.RemoteOracle(url, token).available(ids).any()


def test_wrong_requests(spark):
    X, labels = draw(60)
    frame = table_of(spark, X, PARTIES[labels], np.arange(60)).withColumn("when", F.current_date())
    few = frame.where("party in ('red', 'blue')")
    gap = frame.withColumn("party", F.when(F.col("party") != "red", F.col("party")))
    spread = frame.crossJoin(spark.range(3)).withColumn("party", F.rand(seed=1))
    wide = frame.withColumn("features", F.array(*[F.lit(1.0)] * 400))
    for message, table, options in (
        ("3 to 100; PriorBoostClassifier is for labels of 0 and 1", few, {}),
        ("holds more than 100 classes", spread, {}),
        ("'party' holds a null", gap, {}),
        ("'when' has the type date", frame, {"labelCol": "when"}),
        ("bounds is for labels that are numbers", frame, {"bounds": [0.0, 1.0]}),
        ("priorCol is for labels that are numbers", frame, {"priorCol": "f0"}),
        ("4 classes and 400 features have 1203 weights", wide, {"featuresCol": "features"}),
    ):
        words = {"featuresCol": NAMES, "labelCol": "party", "minBag": 4, **options}
        with pytest.raises(ValueError, match=message):
            ps.PriorBoostClassesClassifier(**words).fit(table)


def test_directions_of_parts_are_those_of_the_whole():
    """Sums over parts, about any point near the mean, give the direction of all rows."""
    p = np.random.default_rng(0).dirichlet([1.0, 2.0, 3.0], size=500)
    parts = [class_pieces.spread(some, p[0]) for some in np.array_split(p, 7)]
    found = class_pieces.direction_of(pieces.add_parts(parts, "spread"), 3)
    _, vectors = np.linalg.eigh(np.cov(p.T))
    assert abs(abs(found @ vectors[:, -1]) - 1) < 1e-12
