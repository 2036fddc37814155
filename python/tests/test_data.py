"""Whatever holds the features, the same model comes out; and arrays are not copied."""

import subprocess
import sys

import numpy as np
import pytest
from conftest import make_table
from sklearn.base import BaseEstimator

import priorboost as pb
from priorboost.arrow import from_arrow
from priorboost.data import features, id_texts

NAMES = ["age", "dose", "weight", "height"]


@pytest.fixture(scope="module")
def fitted():
    X, y = make_table("linear")
    return X, y, pb.PriorBoostRegressor(min_bag=3, rounds=4).fit(X, y)


class Owner(BaseEstimator):
    pass


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_float_arrays_are_taken_as_they_are(dtype, order):
    X = np.asarray(make_table("linear")[0], dtype=dtype, order=order)
    assert features(Owner(), X, reset=True) is X


def test_strides_do_not_matter(fitted):
    X, y, model = fitted
    wide = np.zeros((2 * len(X), 9))
    wide[::-2, 7:3:-1] = X[:, ::1]
    for same in (np.asfortranarray(X), wide[::-2, 7:3:-1], X.tolist(), np.array(X, dtype=object)):
        assert pb.PriorBoostRegressor(min_bag=3, rounds=4).fit(same, y).coef_.tolist() == (
            model.coef_.tolist()
        )


def test_single_precision_is_read_as_it_is(fitted):
    X, y, _ = fitted
    single = X.astype(np.float32)
    a = pb.PriorBoostRegressor(min_bag=3, rounds=4).fit(single, y)
    b = pb.PriorBoostRegressor(min_bag=3, rounds=4).fit(single.astype(np.float64), y)
    assert np.allclose(a.coef_, b.coef_, rtol=1e-12)
    assert a.coef_.dtype == np.float64


def tables(X):
    pl = pytest.importorskip("polars")
    pa = pytest.importorskip("pyarrow")
    table = pa.table(dict(zip(NAMES, X.T, strict=True)))
    chunks = pa.concat_tables([table.slice(0, 700), table.slice(700)])
    return {
        "polars": pl.DataFrame(X, schema=NAMES),
        "pyarrow": table,
        "chunks": chunks,
        "batch": table.combine_chunks().to_batches()[0],
    }


@pytest.mark.parametrize("kind", ["polars", "pyarrow", "chunks", "batch"])
def test_arrow_tables(fitted, kind):
    X, y, model = fitted
    table = tables(X)[kind]
    ours = pb.PriorBoostRegressor(min_bag=3, rounds=4).fit(table, y)
    assert ours.coef_.tolist() == model.coef_.tolist()
    assert ours.predict(table).tolist() == model.predict(X).tolist()
    assert ours.feature_names_in_.tolist() == NAMES
    with pytest.raises(ValueError, match="feature names should match"):
        ours.predict(table.select(NAMES[::-1]))
    with pytest.raises(ValueError, match="3 features"):
        model.predict(table.select(NAMES[:3]))


def test_pandas_by_its_arrow_stream(fitted):
    pd = pytest.importorskip("pandas", minversion="2.2")
    pytest.importorskip("pyarrow")
    X, _, _ = fitted
    cells, names = from_arrow(pd.DataFrame(X, columns=NAMES))
    assert cells.tolist() == X.tolist()
    assert names == NAMES


def test_pandas(fitted):
    pd = pytest.importorskip("pandas")
    X, y, model = fitted
    frame = pd.DataFrame(X, columns=NAMES)
    ours = pb.PriorBoostRegressor(min_bag=3, rounds=4).fit(frame, pd.Series(y))
    assert ours.coef_.tolist() == model.coef_.tolist()
    assert ours.feature_names_in_.tolist() == NAMES
    with pytest.raises(ValueError, match="feature names"):
        ours.predict(frame[NAMES[::-1]])


def test_parquet(fitted, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    X, y, model = fitted
    pq.write_table(tables(X)["pyarrow"], tmp_path / "x.parquet")
    ours = pb.PriorBoostRegressor(min_bag=3, rounds=4).fit(pq.read_table(tmp_path / "x.parquet"), y)
    assert ours.coef_.tolist() == model.coef_.tolist()


def test_arrow_types():
    pa = pytest.importorskip("pyarrow")
    values = [3, 1, 2, 0, 1, 1, 0, 5, 2]
    kinds = [pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64(),
             pa.uint64(), pa.float16(), pa.float32(), pa.float64()]  # fmt: skip
    columns = {str(kind): pa.array(np.array(values, kind.to_pandas_dtype())) for kind in kinds}
    columns["bool"] = pa.array([bool(v) for v in values])
    X, names = from_arrow(pa.table(columns).slice(2, 5))
    assert names == list(columns)
    expected = np.array(values[2:7], float)
    for j in range(len(kinds)):
        assert X[:, j].tolist() == expected.tolist()
    assert X[:, -1].tolist() == (expected != 0).astype(float).tolist()
    single, _ = from_arrow(pa.table({"a": columns["float"]}))
    assert single.dtype == np.float32


def test_arrow_cells_that_are_no_numbers():
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match="column 'b' has null cells"):
        from_arrow(pa.table({"a": [1.0, 2.0], "b": [1.0, None]}))
    with pytest.raises(ValueError, match=r"column 's'.*not a number"):
        from_arrow(pa.table({"s": ["x"]}))
    with pytest.raises(ValueError, match=r"column 'd'.*not a number"):
        from_arrow(pa.table({"d": pa.array(["x"]).dictionary_encode()}))
    sliced = pa.table({"a": [None, 2.0, 3.0]}).slice(1)
    assert from_arrow(sliced)[0].ravel().tolist() == [2.0, 3.0]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_cells_must_be_finite(fitted, bad):
    X, y, model = fitted
    X = X.copy()
    X[5, 2] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        pb.PriorBoostRegressor().fit(X, y)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        model.predict(X)


def test_a_sum_that_overflows_is_looked_at_closer():
    X = np.full((8, 2), 1e308)
    assert features(Owner(), X, reset=True) is not None


def test_ids():
    assert id_texts(np.array([3, 12]), 2) == ["3", "12"]
    with pytest.raises(ValueError, match="'3' names two rows"):
        id_texts(["3", 3], 2)
    with pytest.raises(ValueError, match="1 ids for 2 rows"):
        id_texts(["3"], 2)
    with pytest.raises(ValueError, match="neither text nor an integer"):
        id_texts([1.5, 2], 2)


MEMORY = """
import resource, sys, numpy as np, priorboost as pb
dtype, order, n, d = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
def peak():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
rng = np.random.default_rng(0)
X = np.empty((n, d), dtype, order=order)
for j in range(d):
    X[:, j] = rng.random(n)
y = X[:, 0].astype(float)
model = pb.PriorBoostRegressor(min_bag=10, method="paper", rounds=2, n_jobs=1)
model.fit(X[:5000], y[:5000]).predict(X[:5000])
before = peak()
model.fit(X, y).predict(X)
print((peak() - before) / X.nbytes)
"""


@pytest.mark.parametrize(
    ("dtype", "order", "n", "d", "most"),
    [
        ("f8", "C", 100_000, 64, 0.5),
        ("f4", "C", 100_000, 64, 0.75),
        ("f8", "F", 100_000, 64, 0.5),
        ("f8", "C", 1_000_000, 8, 0.95),  # a tenth of the rows of bench/python_overhead.py --large
    ],
)
def test_training_takes_no_copy_of_the_features(dtype, order, n, d, most):
    """The most memory a fit and a prediction add, of the features' own: a copy would add 1."""
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, dtype, order, str(n), str(d)],
        check=True,
        capture_output=True,
        text=True,
    )
    assert float(done.stdout) < most
