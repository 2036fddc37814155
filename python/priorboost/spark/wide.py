"""Sparse rows: vectors of very many columns stay sparse.

Executors check the rows and pack their entries; the driver holds them as one sparse matrix and
trains there, as one machine does.  A step of such a fit needs every column, of which there may be
millions, and a fit has hundreds of steps: sending them through Spark would take longer than the
arithmetic.  So the entries must fit into the driver's memory: 12 bytes each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow.compute as pc
import scipy.sparse
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from . import pieces
from .blocks import Array, Rows, schema
from .cluster import Cluster
from .packing import checked_ids, key_of, text_of
from .stages import Batches, marked

DENSE_COLUMNS = 1024  # a vector of more stays sparse, unless a parameter says otherwise

PACKED = ("n", "id", "width", "key", "answer", "counts", "columns", "values")


def entries(vector: Column) -> Column:
    """Return a column of ML vectors as a struct: type (1: dense), size, indices, values."""
    return F.unwrap_udt(vector)


def _entries_of(vectors: Any, d: int, ids: Any) -> tuple[Array, Array, Array]:
    """Return entries by row, their columns and their values; refuses what is no row of d columns.

    The indices of a sparse ML vector ascend; zeros that it stores are left out, as those of a dense
    one are.
    """

    def refuse(wrong: Array, what: str) -> None:
        if wrong.any():
            raise ValueError(f"the row with id {text_of(ids[int(np.argmax(wrong))])} {what}")

    dense = pc.equal(vectors.field("type"), 1).to_numpy(zero_copy_only=False)
    values, indices = vectors.field("values"), vectors.field("indices")
    many = pc.list_value_length(values).to_numpy(zero_copy_only=False)
    size = vectors.field("size").to_numpy(zero_copy_only=False)
    refuse(np.where(dense, many, size) != d, f"has another number of features than {d}")
    row = np.repeat(np.arange(len(many)), many.astype(np.int64))
    value = pc.list_flatten(values).to_numpy(zero_copy_only=False)
    column = np.arange(len(row)) - np.repeat(np.cumsum(many) - many, many.astype(np.int64))
    column[~dense[row]] = pc.list_flatten(indices).to_numpy(zero_copy_only=False)
    bad = np.zeros(len(many), bool)
    bad[row[~np.isfinite(value)]] = True
    refuse(bad, "has a feature that is not a finite number")
    inside = (column >= 0) & (column < d)
    rising = np.ones(len(row), bool)
    rising[1:] = (np.diff(column) > 0) | (np.diff(row) > 0)
    bad[row[~(inside & rising)]] = True
    refuse(bad, f"has indices that do not ascend from 0 to at most {d - 1}")
    kept = value != 0.0
    counts = np.bincount(row[kept], minlength=len(many)).astype(np.uint32)
    return counts, column[kept].astype(np.uint32), value[kept]


def _pack(batches: Batches, seed: int, d: int) -> Batches:
    """Check rows (id, vector and, where this process has them, label), and pack their entries."""
    for batch in batches:
        if batch.num_rows == 0:
            continue
        ids = checked_ids(batch.column(0))
        vectors = batch.column(1)
        if vectors.null_count > 0:
            bad = np.flatnonzero(vectors.is_null().to_numpy(zero_copy_only=False))[0]
            raise ValueError(f"the features of the row with id {text_of(ids[int(bad)])} are null")
        rows = Rows(len(ids), ids, key_of(ids, seed))
        if batch.num_columns > 2:
            rows.answer = batch.column(2).to_numpy(zero_copy_only=False)
            if not np.isfinite(rows.answer).all():
                raise ValueError("the label column holds a null, NaN or infinity")
        counts, columns, values = (cell.tobytes() for cell in _entries_of(vectors, d, ids))
        yield rows.blocks(
            PACKED, np.array([rows.n]), counts=[counts], columns=[columns], values=[values]
        )


pack = marked(_pack)


def gather(
    cluster: Cluster, table: DataFrame, seed: int, d: int, most: int
) -> tuple[Any, list[str], Array | None]:
    """Bring sparse rows to the driver in the order of their keys: matrix, ids, labels.

    Parameters
    ----------
    cluster : Cluster
    table : DataFrame
        id, `entries` and, where this process plays both parties, the label.
    seed : int
        Of the keys.
    d : int
        How many columns there are.
    most : int
        How many entries the driver may hold.
    """
    name = table.columns[1]
    with cluster.stage("count entries"):
        held = table.agg(F.sum(F.size(F.col(f"{name}.values"))), F.count(F.lit(1))).first()
    if held is None or not held[1]:
        raise ValueError("the table has no rows")
    if (held[0] or 0) > most:
        raise ValueError(
            f"the sparse rows have {held[0]} entries, but the driver may hold {most} of them "
            "(mostEntries), 12 bytes each: raise it if the driver has the memory, or train "
            "on a sample of the rows"
        )
    parts: list[Any] = []
    with cluster.stage("gather entries"):
        blocks = table.mapInArrow(pack(seed, d), schema(*PACKED)).toLocalIterator()
        for n, ids, width, key, answer, counts, columns, values in blocks:
            texts = _texts(ids, width)
            assert len(texts) == n
            cells = ((key, "u8"), (counts, "u4"), (columns, "u4"), (values, "f8"), (answer, "f8"))
            arrays = [None if cell is None else np.frombuffer(cell, k) for cell, k in cells]
            parts.append((texts, *arrays))
    return _joined(parts, d)


def _texts(ids: bytes, width: bytes | None) -> list[str]:
    if width is None:
        return [str(number) for number in np.frombuffer(ids, np.int64).tolist()]
    ends = np.cumsum(np.frombuffer(width, np.uint8), dtype=np.int64).tolist()
    return [bytes(ids[a:b]).decode() for a, b in zip([0, *ends], ends, strict=False)]


def _joined(parts: list[Any], d: int) -> tuple[Any, list[str], Array | None]:
    texts = [text for part in parts for text in part[0]]
    key, counts, columns, values = (np.concatenate([p[i] for p in parts]) for i in (1, 2, 3, 4))
    order = pieces.order_keys(key)
    start = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    kind = np.int32 if start[-1] < 1 << 31 else np.int64
    x = scipy.sparse.csr_matrix(
        (values, columns.astype(kind), start.astype(kind)), (len(counts), d), copy=False
    )[order]
    labels = None
    if parts[0][5] is not None:
        labels = np.concatenate([part[5] for part in parts])[order]
    return x, [texts[i] for i in order], labels
