"""Sparse rows from Arrow lists: no copy, slices and chunks, what is refused."""

import gc

import numpy as np
import pytest

import priorboost as pb
from priorboost.sparse import lend_sparse, sparse_rows

pa = pytest.importorskip("pyarrow")
pytestmark = pytest.mark.filterwarnings("ignore")

INDICES = [[0, 2], [], [1], [0, 1, 3]]
VALUES = [[1.0, 0.5], [], [2.0], [3.0, 4.0, 5.0]]
TYPES = pa.int32(), pa.float64()
DENSE = np.array([[1, 0, 0.5, 0], [0, 0, 0, 0], [0, 2, 0, 0], [3, 4, 0, 5]])


def structs(item=None, kind=pa.list_):
    item = item or pa.struct([("index", pa.int32()), ("value", pa.float64())])
    rows = [
        [{"index": i, "value": v} for i, v in zip(*row, strict=True)]
        for row in zip(INDICES, VALUES, strict=True)
    ]
    return pa.array(rows, kind(item))


def two_lists(index=None, value=None, kind=pa.list_):
    index, value = index or pa.int32(), value or pa.float64()
    return pa.array(INDICES, kind(index)), pa.array(VALUES, kind(value))


@pytest.mark.parametrize("kind", [pa.list_, pa.large_list])
def test_reads_structs_and_two_lists(kind):
    np.testing.assert_array_equal(pb.arrow_rows(structs(kind=kind)).toarray(), DENSE)
    for index in (pa.int8(), pa.int32(), pa.uint32(), pa.int64()):
        for value in (pa.float32(), pa.float64()):
            rows = pb.arrow_rows(*two_lists(index, value, kind))
            np.testing.assert_array_equal(rows.toarray(), DENSE)
    ones = pa.array([[1] * len(row) for row in INDICES], kind(pa.int16()))
    np.testing.assert_array_equal(pb.arrow_rows(two_lists()[0], ones).toarray(), DENSE != 0)


@pytest.mark.parametrize("value", [pa.float32(), pa.float64()])
@pytest.mark.parametrize("index", [pa.int32(), pa.uint32()])
def test_is_not_copied(index, value):
    lists = two_lists(index, value)
    lent = lend_sparse(sparse_rows(None, pb.arrow_rows(*lists)))
    assert lent.column == lists[0].values.buffers()[1].address
    assert lent.value == lists[1].values.buffers()[1].address
    assert lent.start == lists[0].buffers()[1].address
    entries = structs(pa.struct([("index", index), ("value", value)]))
    lent = lend_sparse(sparse_rows(None, pb.arrow_rows(entries)))
    assert lent.column == entries.values.field(0).buffers()[1].address
    assert lent.value == entries.values.field(1).buffers()[1].address


def test_slices_chunks_and_empty_tables():
    lists = two_lists()
    for part in (slice(1, 4), slice(2, 3), slice(0, 2)):
        rows = pb.arrow_rows(*(x[part] for x in lists), columns=4)
        np.testing.assert_array_equal(rows.toarray(), DENSE[part])
        np.testing.assert_array_equal(
            pb.arrow_rows(structs()[part], columns=4).toarray(), DENSE[part]
        )
    # A list of which the structs are a part of longer ones.
    inner = structs().values[2:]
    rows = pb.arrow_rows(pa.ListArray.from_arrays([0, 1, 4], inner), columns=4)
    np.testing.assert_array_equal(rows.toarray(), DENSE[2:])
    chunked = [pa.chunked_array([x[:1], x[1:1], x[1:]]) for x in lists]
    np.testing.assert_array_equal(pb.arrow_rows(*chunked).toarray(), DENSE)
    table = pa.table({"entries": pa.chunked_array([structs()[:3], structs()[3:]])})
    np.testing.assert_array_equal(pb.arrow_rows(table["entries"]).toarray(), DENSE)
    for empty in (pa.chunked_array([], lists[0].type), lists[0][:0]):
        assert pb.arrow_rows(empty, lists[1][:0], columns=3).shape == (0, 3)


@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: pa.chunked_array([x])])
def test_memory_lives_as_long_as_the_rows(wrap):
    """The memory of Arrow's pool is held by the rows, and free when they are."""
    before = pa.total_allocated_bytes()
    lists = [pa.array([[i % 7] for i in range(50_000)], pa.list_(t)) for t in TYPES]
    rows = pb.arrow_rows(*map(wrap, lists))
    del lists
    gc.collect()
    assert pa.total_allocated_bytes() - before > 50_000 * 12
    np.testing.assert_array_equal(rows.data, np.arange(50_000) % 7)
    del rows
    gc.collect()
    assert pa.total_allocated_bytes() == before


def test_polars_and_a_fit():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"index": INDICES, "value": VALUES})
    rows = pb.arrow_rows(frame["index"], frame["value"])
    np.testing.assert_array_equal(rows.toarray(), DENSE)
    rng = np.random.default_rng(0)
    index = np.sort(np.argsort(rng.random((600, 30)))[:, :4]).astype(np.int32)
    offsets = np.arange(0, 2401, 4, dtype=np.int32)
    lists = pa.ListArray.from_arrays(offsets, index.ravel())
    X = pb.arrow_rows(lists, pa.ListArray.from_arrays(offsets, np.ones(2400)), columns=30)
    y = (index[:, 0] < 5).astype(int)
    model = pb.PriorBoostClassifier(min_bag=3, random_state=1)
    path = model.fit(X, y).path_.copy()
    np.testing.assert_array_equal(path, model.fit(X.copy(), y).path_)


@pytest.mark.parametrize(
    ("index", "value", "columns", "words"),
    [
        ([[0], [3, 3]], [[1.0], [1.0, 2.0]], None, "row 1: index 3 is repeated"),
        ([[0], [3, 1]], [[1.0], [1.0, 2.0]], None, "row 1: index 1 stands after 3"),
        ([[5], [], [1, 4]], [[1.0], [], [1.0, 2.0]], 4, "row 0: index 5 is out of range"),
        ([[3], [], [1, 4]], [[1.0], [], [1.0, 2.0]], 4, "it must be from 0 to 3"),
        ([[0], [-1]], [[1.0], [1.0]], None, "row 1: index -1 is out of range"),
        ([[0], [1, 2]], [[1.0], [1.0]], None, "row 1 has 2 indices, but 1 values"),
        ([[0], [1]], [[1.0]], None, "entries has 2 rows, but values has 1"),
        ([[0], None], [[1.0], [1.0]], None, "entries has rows that are null"),
        ([[0], [1]], [[1.0], [None]], None, "values has cells that are null"),
        ([[0.0], [1.0]], [[1.0], [1.0]], None, "indices are float64; they must be whole"),
        ([["a"]], [[1.0]], None, "entries has items of the Arrow type 'u'"),
        ([[], []], [[], []], None, "there are 0 columns"),
        ([[0]], [[1.0]], 2**31, "there are 2147483648 columns"),
    ],
)
def test_refuses_wrong_lists(index, value, columns, words):
    index = pa.array(index, pa.list_(pa.int32())) if index == [[], []] else pa.array(index)
    value = pa.array(value, pa.list_(pa.float64()))
    with pytest.raises(ValueError, match=words):
        pb.arrow_rows(index, value, columns=columns)


def test_refuses_what_is_no_list():
    with pytest.raises(ValueError, match="entries has the Arrow type 'l'; it must be list"):
        pb.arrow_rows(pa.array([1, 2]), pa.array([1, 2]))
    with pytest.raises(ValueError, match="must be structs of an index and a value"):
        pb.arrow_rows(two_lists()[0])
    with pytest.raises(TypeError, match="entries is a list; it must be an Arrow array of lists"):
        pb.arrow_rows(INDICES, VALUES)
    item = pa.struct([("index", pa.int32()), ("value", pa.float64())])
    with pytest.raises(ValueError, match="entries has items that are null"):
        pb.arrow_rows(pa.array([[{"index": 1, "value": 1.0}, None]], pa.list_(item)))
