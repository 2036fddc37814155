"""Parquet and Arrow files as CSV for the program, in batches, with numbers that lose nothing.

``python -m priorboost convert IN.parquet OUT.csv``
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .tables import need

__all__ = ["convert"]

_PACKED = {".gz": "gzip", ".zst": "zstd"}
_ROWS = 1 << 16  # of a batch


def _open_batches(path: Path) -> tuple[Any, Iterator[Any]]:
    """Return the schema and the batches of a Parquet or Arrow file; its first bytes say which."""
    pa = need("pyarrow", "parquet", "convert")
    with path.open("rb") as file:
        magic = file.read(8)
    if magic[:4] == b"PAR1":
        parquet = need("pyarrow.parquet", "parquet", "convert").ParquetFile(path)
        return parquet.schema_arrow, parquet.iter_batches(batch_size=_ROWS)
    source = pa.memory_map(os.fspath(path))
    if magic[:6] == b"ARROW1":
        reader = pa.ipc.open_file(source)
        return reader.schema, (reader.get_batch(i) for i in range(reader.num_record_batches))
    try:
        stream = pa.ipc.open_stream(source)
    except pa.ArrowInvalid:
        raise ValueError(f"{path} is neither a Parquet nor an Arrow file") from None
    return stream.schema, iter(stream)


# ---- Columns -------------------------------------------------------------------------------------


def _target(field: Any) -> Any:
    """Return the type that a column is written as; what a CSV file cannot hold is an error."""
    import pyarrow as pa

    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if pa.types.is_floating(kind):
        return pa.float64()  # a number in single precision has its own value, not a rounded one
    if pa.types.is_timestamp(kind):
        if kind.tz is not None and kind.tz.upper() not in ("UTC", "+00:00"):
            raise ValueError(
                f"column '{field.name}' has times in the zone {kind.tz}; convert them to UTC or to "
                "local times without a zone"
            )
        return pa.timestamp("us")
    if pa.types.is_date(kind):
        return pa.date32()
    if any(
        test(kind)
        for test in (
            pa.types.is_integer,
            pa.types.is_boolean,
            pa.types.is_decimal,
            pa.types.is_string,
            pa.types.is_large_string,
            pa.types.is_null,
        )
    ):
        return kind
    if "string_view" in str(kind):
        return pa.large_string()
    raise ValueError(
        f"column '{field.name}' has the type {field.type}, which a CSV file cannot hold; leave it "
        "out, or make it a number, a text or a date"
    )


def _cell_texts(column: Any, target: Any) -> Any:
    """Return a column as CSV has it: NaN is an empty cell, as null is."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    column = column.cast(target, safe=not pa.types.is_timestamp(target))
    if pa.types.is_floating(target):
        return pc.if_else(pc.is_nan(column), None, column)
    if pa.types.is_decimal(target):
        return column.cast(pa.string())
    if pa.types.is_timestamp(target):
        return pc.strftime(column.cast(pa.timestamp("s"), safe=False), format="%Y-%m-%d %H:%M:%S")
    return column


# ---- Output --------------------------------------------------------------------------------------


@contextlib.contextmanager
def _whole_file(path: Path) -> Iterator[Any]:
    """Write a file that is whole or not there."""
    import pyarrow as pa

    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        mask = os.umask(0)
        os.umask(mask)
        os.fchmod(handle, 0o666 & ~mask)
        packed = _PACKED.get(path.suffix.lower())
        plain = pa.OSFile(draft, "wb")
        with pa.CompressedOutputStream(plain, packed) if packed else plain as stream:
            yield stream
        plain.close()
        os.fsync(handle)
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)


def convert(source: str | os.PathLike[str], out: str | os.PathLike[str]) -> int:
    """Write a Parquet or Arrow file as a CSV file; return the number of rows.

    Parameters
    ----------
    source : str or path
        A file in one of the formats Parquet, Feather (version 2), Arrow file and Arrow stream.
    out : str or path
        The CSV file; a name that ends in .gz or .zst is packed.  It is whole, or not there.
    """
    schema, batches = _open_batches(Path(source))
    pa = need("pyarrow", "parquet", "convert")
    csv = need("pyarrow.csv", "parquet", "convert")
    names = schema.names
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{source} has two columns named '{name}'; rename one of them")
    targets = [_target(field) for field in schema]
    writer, rows = None, 0
    with _whole_file(Path(out)) as stream:
        for batch in batches:
            columns = [_cell_texts(c, t) for c, t in zip(batch.columns, targets, strict=True)]
            table = pa.record_batch(columns, names=names)
            if writer is None:
                writer = csv.CSVWriter(stream, table.schema)
            writer.write_batch(table)
            rows += batch.num_rows
        if writer is None:
            raise ValueError(f"{source} has no rows")
        writer.close()
    return rows
