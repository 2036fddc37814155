"""Sparse rows: the same as the program's, no copy, files, what is refused."""

import numpy as np
import pytest
from conftest import ROOT
from scipy import sparse

import priorboost as pb
from priorboost import _library
from priorboost.sparse import SKETCH_DIMS, TOLERANCE, lend_sparse

pytestmark = pytest.mark.filterwarnings("ignore")

D = 50


def table(n=3000, dtype=np.float64, seed=0):
    """Rows with six of 50 columns, and labels that some of them explain."""
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n, D), density=0.12, rng=rng, format="csr", dtype=np.float64)
    X.data[:] = np.round(rng.normal(size=X.nnz), 3)
    X.eliminate_zeros()
    weight = np.where(np.arange(D) < 10, 2.0, 0.0) * (-1.0) ** np.arange(D)
    y = (rng.random(n) < 1 / (1 + np.exp(1.0 - X @ weight))).astype(int)
    return X.astype(dtype), y, weight


def test_learns_from_sparse_rows():
    X, y, weight = table(12000)
    model = pb.PriorBoostClassifier(min_bag=4, random_state=1).fit(X, y)
    assert model.coef_.shape == (1, D)
    assert model.path_.shape == (1, D + 1)
    assert model.training_["bags"] == "features"
    assert model.covariance_ is None
    assert np.corrcoef(model.coef_[0], weight)[0, 1] > 0.8
    assert model.score(X, y) > max(y.mean(), 1 - y.mean())


@pytest.mark.parametrize("estimator", ["event", "aggregate"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_predicts_what_dense_rows_give(estimator, dtype):
    X, y, _ = table(dtype=dtype)
    model = pb.PriorBoostClassifier(
        min_bag=3, estimator=estimator, bags="random", rounds=1, l2=1.0, random_state=1
    ).fit(X, y)
    dense = X.toarray()
    np.testing.assert_allclose(model.predict_proba(dense), model.predict_proba(X), atol=1e-12)
    if estimator == "event":  # the same objective as the dense fit's
        other = pb.PriorBoostClassifier(
            min_bag=3, estimator=estimator, bags="random", rounds=1, l2=1.0, random_state=1
        ).fit(dense, y)
        np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-4)


def test_constants_are_those_of_the_header():
    header = (ROOT / "include/priorboost/sparse.h").read_text()
    assert f"#define PBOOST_SKETCH_DIMS {SKETCH_DIMS} " in header
    assert f"{{PBOOST_L2_AUTO, 0.0}}, true, 1, 100, {TOLERANCE:.0e}".replace("e-0", "e-") in header


def test_is_not_copied():
    X, _, _ = table()
    lent = lend_sparse(X)
    assert lent.start == X.indptr.ctypes.data
    assert lent.column == X.indices.ctypes.data
    assert lent.value == X.data.ctypes.data
    assert (lent.start_bytes, lent.type) == (X.indptr.itemsize, _library.F64)
    assert lend_sparse(X.astype(np.float32)).type == _library.F32


def test_wide_pointers_are_not_copied_and_mean_the_same():
    X, y, _ = table()
    wide = X.copy()
    wide.indptr, wide.indices = X.indptr.astype(np.int64), X.indices.astype(np.int64)
    lent = lend_sparse(wide)
    assert (lent.start, lent.start_bytes) == (wide.indptr.ctypes.data, 8)
    fits = [pb.PriorBoostClassifier(min_bag=4, random_state=1).fit(x, y).path_ for x in (X, wide)]
    np.testing.assert_array_equal(*fits)


@pytest.mark.parametrize("kind", ["csc", "coo", "lil"])
def test_takes_other_formats_and_unsorted_rows(kind):
    X, y, _ = table()
    turned = X.copy()  # every row backwards, and one entry in two parts
    for i in range(X.shape[0]):
        part = slice(X.indptr[i], X.indptr[i + 1])
        turned.indices[part] = X.indices[part][::-1]
        turned.data[part] = X.data[part][::-1]
    turned.has_sorted_indices = turned.has_canonical_format = False
    before = turned.indices.copy()
    model = pb.PriorBoostClassifier(min_bag=4, random_state=1)
    expected = model.fit(X, y).path_.copy()
    np.testing.assert_array_equal(model.fit(turned, y).path_, expected)
    np.testing.assert_array_equal(turned.indices, before)  # X is as it was
    np.testing.assert_array_equal(model.fit(X.asformat(kind), y).path_, expected)


def test_rows_in_any_order_by_ids():
    X, y, _ = table()
    order = np.random.default_rng(1).permutation(X.shape[0])
    ids = np.arange(X.shape[0])
    model = pb.PriorBoostClassifier(min_bag=4, bags="random", random_state=1)
    first = model.fit(X, y, ids=ids).coef_.copy()
    again = model.fit(X[order], y[order], ids=ids[order]).coef_
    np.testing.assert_allclose(first, again, atol=1e-6)


def test_one_row_of_a_unit_and_an_oracle():
    X, y, _ = table()
    unit = np.arange(X.shape[0]) // 2
    model = pb.PriorBoostClassifier(min_bag=4, random_state=1).fit(X, y, unit=unit)
    assert model.training_["rows_spent"] == X.shape[0] // 2
    oracle = pb.InMemoryOracle(y.astype(float), min_bag=4)
    model.fit(X, oracle=oracle)
    assert model.training_["rows_spent"] == X.shape[0]


def test_fits_given_bags():
    X, y, weight = table(9000)
    bag = np.arange(9000) // 3
    answers = {b: m for b, m in enumerate(y.reshape(-1, 3).mean(axis=1))}
    model = pb.PriorBoostClassifier().fit(X, bag=bag, answers=answers)
    assert np.corrcoef(model.coef_[0], weight)[0, 1] > 0.8


def test_survives_its_file_and_the_program_reads_it(cli, tmp_path):
    X, y, _ = table()
    model = pb.PriorBoostClassifier(min_bag=4, random_state=1).fit(X, y)
    model.save(tmp_path / "model.json")
    read = pb.load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(read.predict(X), model.predict_proba(X)[:, 1])
    again = read.to_estimator()
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    from sklearn.datasets import dump_svmlight_file

    dump_svmlight_file(X, y, str(tmp_path / "x.svm"))
    said = cli("predict", "--model", tmp_path / "model.json", "--data", tmp_path / "x.svm")
    printed = said["prediction"]
    np.testing.assert_allclose(printed, model.predict_proba(X)[:, 1], rtol=1e-12)


def test_gives_the_weights_of_the_program(cli, tmp_path):
    from sklearn.datasets import dump_svmlight_file

    X, y, _ = table()
    dump_svmlight_file(X, y, str(tmp_path / "x.svm"))
    how = "--min-bag", 4, "--seed", 1, "--out", tmp_path / "model.json"
    cli("train", "--data", tmp_path / "x.svm", *how)
    model = pb.PriorBoostClassifier(min_bag=4, random_state=1).fit(X, y)
    read = pb.load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(read.coef, model.coef_[0])
    assert read.intercept == model.intercept_[0]


def test_reads_models_that_hash_columns(cli, tmp_path):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {
            "site": rng.choice(["a", "b", "c"], 600),
            "hour": rng.choice(["1", "2"], 600),
            "age": np.where(rng.random(600) < 0.1, np.nan, rng.normal(size=600)),
            "click": rng.integers(0, 2, 600),
        }
    )
    frame.to_csv(tmp_path / "log.csv", index=False)
    data = "--data", tmp_path / "log.csv"
    how = "--hash", 10, "--cross", "site*hour", "--categorical", "hour", "--l2", 1, "--force"
    out = tmp_path / "model.json"
    cli("train", *data, "--label", "click", "--min-bag", 3, *how, "--out", out)
    printed = cli("predict", "--model", out, *data)["prediction"]
    model = pb.load_model(tmp_path / "model.json")
    assert (model.sparse.bits, model.sparse.crosses) == (10, [(0, 1)])
    np.testing.assert_allclose(model.predict(frame), printed, rtol=1e-12)
    pb.save_model(model, tmp_path / "again.json")
    assert pb.load_model(tmp_path / "again.json").sparse == model.sparse
    with pytest.raises(ValueError, match="hashes the columns of a table"):
        model.to_estimator()


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"model": "trees"}, "model is 'trees', but X is sparse; it must be 'glm'"),
        ({"estimator": "interpolated"}, "estimator is 'interpolated', but X is sparse"),
        ({"covariance": "sandwich"}, "covariance is 'sandwich'"),
        ({"standardize": True}, "standardize is True"),
        ({"winsorize": 3.0}, "winsorize is 3.0"),
    ],
)
def test_refuses_what_only_dense_rows_have(parameters, words):
    X, y, _ = table(300)
    with pytest.raises(ValueError, match=words):
        pb.PriorBoostClassifier(**parameters).fit(X, y)


def test_refuses_wrong_rows():
    X, y, _ = table(300)
    model = pb.PriorBoostClassifier(min_bag=2, l2=1.0).fit(X, y)
    with pytest.raises(ValueError, match="X has 49 features"):
        model.predict(X[:, :-1])
    with pytest.raises(ValueError, match="covariance"):
        model.predict_interval(X)
    bad = X.copy()
    bad.data[3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.fit(bad, y)
    bad = X.copy()
    bad.indices[3] = D + 7
    with pytest.raises(ValueError, match="column"):
        model.fit(bad, y)


def test_refuses_to_plan():
    for make in (pb.plan, pb.plan_costs):
        with pytest.raises(ValueError, match="plans of sparse rows are made by the program"):
            make(table(300)[0], 4, family="logistic")


def test_refuses_other_tables_and_given_rows(tmp_path):
    X, y, _ = table(300)
    dense = pb.PriorBoostClassifier(min_bag=2, winsorize=3.0).fit(X.toarray(), y)
    with pytest.raises(ValueError, match="X is sparse, but the model was fitted to columns that"):
        dense.predict(X)
    model = pb.PriorBoostClassifier(min_bag=2, l2=1.0).fit(X, y).to_model()
    with pytest.raises(ValueError, match="X has 49 columns, but the model has 50"):
        model.predict(X[:, :-1])
    with pytest.raises(ValueError, match="X must be a sparse matrix of SciPy with 50 columns"):
        model.predict(X.toarray())
    bag, answers = np.arange(300) // 3, dict(enumerate(y.reshape(-1, 3).mean(axis=1)))
    with pytest.raises(ValueError, match="rows and bag_effects are for dense X"):
        pb.PriorBoostClassifier().fit(X, bag=bag, answers=answers, bag_effects=True)
    with pytest.raises(ValueError, match="sums name columns of a data frame"):
        pb.PriorBoostClassifier().fit(X, sums={"count": [1], "sum": [1]})
    bad = X.copy()
    bad.indices[3] = D + 7
    with pytest.raises(ValueError, match="column"):
        pb.PriorBoostClassifier().fit(bad, bag=bag, answers=answers)


def test_asks_a_service_and_continues(serve, tmp_path):
    X, y, _ = table(800)
    ids = [f"r{i}" for i in range(800)]
    url, token = serve(ids, y.astype(float))
    oracle = pb.RemoteOracle(url, token, checkpoint=tmp_path / "c")
    how = {"rounds": 2, "bags": "hybrid", "l2": 1.0}
    first = pb.PriorBoostClassifier(**how).fit(X, oracle=oracle, ids=ids)
    assert not oracle.available(ids).any()
    again = pb.PriorBoostClassifier(**how).fit(X, oracle=oracle, ids=ids)
    np.testing.assert_array_equal(first.coef_, again.coef_)
    other = X.copy()
    other.data[5] += 1.0
    with pytest.raises(Exception, match=r"checkpoint"):
        pb.PriorBoostClassifier(**how).fit(other, oracle=oracle, ids=ids)


def test_scikit_learn_pipelines():
    from sklearn.feature_extraction import FeatureHasher
    from sklearn.pipeline import make_pipeline

    rng = np.random.default_rng(0)
    site = rng.integers(0, 20, 4000)
    y = (rng.random(4000) < np.where(site % 2, 0.8, 0.2)).astype(int)
    rows = [[f"site={s}"] for s in site]
    hasher = FeatureHasher(2**12, input_type="string")
    classifier = pb.PriorBoostClassifier(min_bag=4, random_state=1)
    model = make_pipeline(hasher, classifier).fit(rows, y)
    assert model.score(rows, y) > 0.7
