"""Answers of several numbers: label columns, classes at a service, given counts of classes."""

import os
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import priorboost as pb

pd = pytest.importorskip("pandas")
NAMES = ["blue", "green", "red"]
LABELS = ["sick", "visits", "cost"]
OPTIONS = ["--labels", "sick=0:1:1,visits=0:20:1,cost=-10:10", "--shares", "1,1,2"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    n = 3000
    age, west = rng.normal(size=n).round(3), rng.random(n) < 0.4
    eta = np.column_stack([np.zeros(n), 0.8 * age + 0.3, 0.6 * west - 0.5 * age])
    share = np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)
    party = (rng.random(n)[:, None] > share.cumsum(axis=1)).sum(axis=1)
    return pd.DataFrame(
        {
            "id": [f"r{i}" for i in range(n)],
            "district": [f"d{i // 20}" for i in range(n)],
            "age": age,
            "region": np.where(west, "west", "east"),
            "party": np.array(NAMES)[party],
            "sick": (rng.random(n) < 1 / (1 + np.exp(-0.8 * age))).astype(int),
            "visits": np.minimum(rng.poisson(np.exp(0.3 * age)), 20),
            "cost": (2 * age + rng.normal(size=n)).round(3),
        }
    )


@pytest.fixture
def serve(cli, tmp_path, table):
    """Serve the table from a store that is made with these options."""
    program = os.environ.get("PRIORBOOST", Path(__file__).parents[2] / "build/bin/priorboost")
    running = []

    def start(options, labels):
        def oracle(*words):
            done = subprocess.run(
                [program, "oracle", *map(str, words)], cwd=tmp_path, capture_output=True, check=True
            )
            return done.stdout

        table[["id", *labels]].to_csv(tmp_path / "labels.csv", index=False)
        store = ["--store", "sqlite:labels.db"]
        oracle("init", *store, "--min-bag", 10, *options)
        named = ["--label", *labels] if len(labels) == 1 else []
        oracle("import", *store, "--data", "labels.csv", "--id", "id", *named)
        token = tmp_path / "token"
        token.touch(mode=0o600)
        token.write_bytes(oracle("token", "create", *store, "--name", "lab"))
        served = [program, "serve", *store, "--listen", "unix:socket"]
        running.append(subprocess.Popen(served, cwd=tmp_path, stdout=-1, stderr=-1))
        while not (tmp_path / "socket").exists() and running[-1].poll() is None:
            time.sleep(0.05)
        return pb.RemoteOracle(f"unix:{tmp_path}/socket", token_file=token)

    yield start
    for process in running:
        process.terminate()
        process.communicate()


def estimators():
    return [
        pb.PriorBoostClassifier(bounds=(0, 1), step=1),
        pb.PriorBoostPoissonRegressor(bounds=(0, 20), step=1),
        pb.PriorBoostRegressor(bounds=(-10, 10)),
    ]


def train(cli, tmp_path, table, columns, *options):
    table[columns].to_csv(tmp_path / "t.csv", index=False)
    return cli("train", "--data", tmp_path / "t.csv", "--min-bag", 10, "--id", "id", *options)


FAMILIES = ["--family", "logistic,poisson,linear"]


@pytest.mark.parametrize("noise", [False, True])
def test_columns_are_those_of_the_program(cli, tmp_path, table, noise):
    more, said = ({"epsilon": 3, "shares": [1, 1, 2]}, ["--epsilon", 3]) if noise else ({}, [])
    model = pb.PriorBoostMultiOutput(estimators(), min_bag=10, random_state=1, **more)
    X = table[["age", "region"]]
    model.fit(X, table[LABELS], ids=table["id"])
    columns = ["id", "age", "region", *LABELS]
    out = train(cli, tmp_path, table, columns, *OPTIONS, *FAMILIES, *said, "--seed", 1)
    for one, fitted in zip(out["labels"], model.estimators_, strict=True):
        assert np.ravel(fitted.coef_).tolist() == one["theta"]
        assert np.sqrt(np.diag(fitted.covariance_)).tolist()[:2] == one["standard_errors"]
        assert fitted.training_["epsilon"] == (one["epsilon"] if noise else None)
    assert model.labels_ == LABELS
    assert model.predict(X).shape == model.predict_interval(X)[0].shape == (3000, 3)


def test_columns_of_arrays_and_files(tmp_path, table):
    X, Y = table[["age"]].to_numpy(), table[["cost", "visits"]].to_numpy(dtype=float)
    model = pb.PriorBoostMultiOutput(pb.PriorBoostRegressor(), min_bag=10).fit(X, Y)
    alone = pb.PriorBoostRegressor(min_bag=10).fit(X, Y[:, 1])
    assert np.array_equal(model.coef_[1], alone.coef_)
    assert model.labels_ == ["y0", "y1"]
    model.estimators_[1].save(tmp_path / "m.json")
    assert pb.load_model(tmp_path / "m.json").label == "y1"
    trees = pb.PriorBoostMultiOutput(pb.PriorBoostRegressor(model="trees"), min_bag=10).fit(X, Y)
    assert trees.predict(X).shape == (3000, 2)


def test_what_columns_refuse(table):
    X, Y = table[["age"]], table[["cost", "visits"]]
    one = pb.PriorBoostRegressor
    for estimator, more, data, said in (
        (one(rounds=4), {}, Y, "rounds=4 is for one label"),
        (one(bags="prior"), {}, Y, "bags='prior' is for one label"),
        (one(method="paper"), {}, Y, "method='paper' is for one label"),
        ([one()], {}, Y, "1 estimators, but 2 label columns"),
        ([one(bag_size=20), one()], {}, Y, "different bags"),
        ([one(bounds=(0, 1)), one()], {}, Y, "some have none"),
        (one(), {"shares": [1]}, Y, "1 shares, but 2"),
        (one(), {"epsilon": 1}, Y, "no bounds"),
        (one(), {}, Y["cost"].to_numpy(), "has 1 dimensions"),
        (one(), {}, Y[:10], "X has 3000 rows, but Y has 10"),
        (one(), {}, None, "pass either Y"),
    ):
        with pytest.raises(ValueError, match=said):
            pb.PriorBoostMultiOutput(estimator, **({"min_bag": 10} | more)).fit(X, data)


def test_remote_columns(serve, tmp_path, table):
    oracle = serve([*OPTIONS, "--no-noise"], LABELS)
    X, ids = table[["age", "region"]], table["id"]
    with pytest.raises(pb.OracleError, match="answers with columns, 3 numbers a bag"):
        pb.PriorBoostRegressor().fit(X, oracle=oracle, ids=ids)
    keeping = replace(oracle, checkpoint=tmp_path / "kept")
    model = pb.PriorBoostMultiOutput(estimators(), min_bag=10)
    remote = pb.PriorBoostMultiOutput(estimators()).fit(X, oracle=keeping, ids=ids)
    model.fit(X, table[LABELS], ids=ids)
    assert remote.labels_ == LABELS
    assert np.array_equal(remote.coef_, model.coef_)
    again = pb.PriorBoostMultiOutput(estimators()).fit(X, oracle=keeping, ids=ids)
    assert np.array_equal(again.coef_, model.coef_)  # rows are spent: the checkpoint answers


@pytest.mark.parametrize("noise", [["--no-noise"], ["--epsilon", 8]])
def test_remote_classes(serve, tmp_path, table, noise):
    oracle = serve(["--classes", ",".join(NAMES), *noise], ["party"])
    X, ids = table[["age", "region"]], table["id"]
    assert oracle.label_names() == NAMES
    with pytest.raises(pb.OracleError, match="answers with classes, 3 numbers a bag"):
        pb.PriorBoostPoissonRegressor().fit(X, oracle=oracle, ids=ids)
    with pytest.raises(pb.OracleError, match="answers with classes"):
        pb.PriorBoostMultiOutput(pb.PriorBoostRegressor()).fit(X, oracle=oracle, ids=ids)
    keeping = replace(oracle, checkpoint=tmp_path / "kept")
    remote = pb.PriorBoostClassifier().fit(X, oracle=keeping, ids=ids)
    assert remote.classes_.tolist() == NAMES
    again = pb.PriorBoostClassifier().fit(X, oracle=keeping, ids=ids)
    assert np.array_equal(again.coef_, remote.coef_)
    if noise[0] == "--no-noise":
        local = pb.PriorBoostClassifier(min_bag=10).fit(X, table["party"], ids=ids)
        assert np.array_equal(remote.coef_, local.coef_)
    else:
        z = (remote.coef_[1, 0] - 0.8) / remote.standard_errors_[1, 0]
        assert abs(z) < 4


def districts(table, proportions=False):
    counts = pd.crosstab(table["district"], table["party"])[["red", "blue", "green"]]
    out = counts.div(20) if proportions else counts
    out = out.rename_axis(columns=None)
    out.insert(0, "count", 20)
    return out.reset_index()


@pytest.mark.parametrize("proportions", [False, True])
def test_given_counts_of_classes(cli, tmp_path, table, proportions):
    rows, answers = table[["district", "age", "region"]], districts(table, proportions)
    model = pb.PriorBoostClassifier().fit(rows, bag="district", answers=answers)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    answers.to_csv(tmp_path / "answers.csv", index=False)
    given = ["--bag", "district", "--answers", tmp_path / "answers.csv"]
    out = cli("train", "--family", "classes", "--data", tmp_path / "rows.csv", *given)
    assert model.classes_.tolist() == out["classes"] == ["red", "blue", "green"]
    assert model.coef_.tolist() == out["theta"]
    assert model.standard_errors_[1:].tolist() == out["standard_errors"][1:]
    assert model.predict_proba(rows.drop(columns="district")).shape == (3000, 3)


@pytest.mark.filterwarnings("ignore:.*sampling error")
def test_given_samples_of_classes(cli, tmp_path, table):
    rows, answers = table[["district", "age", "region"]], districts(table)
    sample = rows.groupby("district").head(10)
    model = pb.PriorBoostClassifier().fit(sample, bag="district", answers=answers, rows="sample")
    sample.to_csv(tmp_path / "rows.csv", index=False)
    answers.to_csv(tmp_path / "answers.csv", index=False)
    given = ["--bag", "district", "--answers", tmp_path / "answers.csv", "--rows", "sample"]
    out = cli("train", "--family", "classes", "--data", tmp_path / "rows.csv", *given)
    assert np.allclose(model.coef_, out["theta"], rtol=1e-9, atol=1e-12)
    assert np.allclose(model.standard_errors_[1:], out["standard_errors"][1:], rtol=1e-9)
    assert len(model.assumptions_) == 2


def test_what_given_counts_refuse(table):
    rows, answers = table[["district", "age"]], districts(table)
    model = pb.PriorBoostClassifier()
    for change, said in (
        ({"red": answers["red"] + 1}, "the classes of bag 'd0' have sum 21"),
        ({"red": answers["red"] - 30}, "of a class; it must be at least 0"),
        ({"count": answers["count"] + 1}, "has count 21, but 20 rows name it"),
    ):
        with pytest.raises(ValueError, match=said):
            model.fit(rows, bag="district", answers=answers.assign(**change))
    with pytest.raises(ValueError, match="need a column 'count'"):
        model.fit(rows, bag="district", answers=answers.drop(columns="count"))
    with pytest.raises(ValueError, match="neither a column 'mean' nor"):
        pb.PriorBoostRegressor().fit(rows, bag="district", answers=answers)
