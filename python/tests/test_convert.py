"""Parquet and Arrow files as CSV: every number, in batches, whole or not there."""

import datetime
import decimal
import gzip
import subprocess
import sys

import numpy as np
import pytest

from priorboost.convert import convert

pa = pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'priorboost[parquet]'")


def table(n=40_000):
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "x": rng.normal(size=n) * 10.0 ** rng.integers(-300, 300, n),
            "single": rng.normal(size=n).astype(np.float32),
            "count": rng.integers(-(2**62), 2**62, n),
            "gap": pa.array([None, 1.5, float("nan"), 2.0] * (n // 4)),
            "ward": pa.array(["a", 'b "c"', "d,\ne", "ü"] * (n // 4)).dictionary_encode(),
            "sick": pa.array([True, False] * (n // 2)),
            "cost": pa.array([decimal.Decimal("1.10"), decimal.Decimal("-0.05")] * (n // 2)),
            "day": pa.array([datetime.date(2024, 2, 29)] * n),
            "time": pa.array([datetime.datetime(2024, 2, 29, 12, 30, 5)] * n, pa.timestamp("ns")),
        }
    )


def write(content, path, kind):
    if kind == "parquet":
        import pyarrow.parquet as pq

        pq.write_table(content, path, row_group_size=10_000)
    elif kind == "feather":
        import pyarrow.feather as pf

        pf.write_feather(content, path)
    else:
        with pa.ipc.new_stream(path, content.schema) as writer:
            writer.write_table(content, max_chunksize=7_000)


@pytest.mark.parametrize("kind", ["parquet", "feather", "stream"])
def test_every_cell_arrives(tmp_path, kind):
    import csv

    content = table()
    write(content, tmp_path / "in", kind)
    assert convert(tmp_path / "in", tmp_path / "out.csv") == content.num_rows
    with (tmp_path / "out.csv").open(newline="") as file:
        head, *rows = csv.reader(file)
    assert head == content.column_names
    found = dict(zip(head, zip(*rows, strict=True), strict=True))
    assert [float(v) for v in found["x"]] == content["x"].to_pylist()
    assert [float(v) for v in found["single"]] == content["single"].to_pylist()
    assert [int(v) for v in found["count"]] == content["count"].to_pylist()
    assert found["gap"][:4] == ("", "1.5", "", "2")
    assert list(found["ward"]) == content["ward"].to_pylist()
    assert found["sick"][:2] == ("true", "false")
    assert [decimal.Decimal(v) for v in found["cost"]] == content["cost"].to_pylist()
    assert found["day"][0] == "2024-02-29"
    assert found["time"][0] == "2024-02-29 12:30:05"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out.csv"]


def test_packed_files_are_those_the_program_reads(cli, tmp_path):
    write(table(400).drop_columns(["ward"]), tmp_path / "in.parquet", "parquet")
    convert(tmp_path / "in.parquet", tmp_path / "plain.csv")
    for name in ("out.csv.gz", "out.csv.zst"):
        convert(tmp_path / "in.parquet", tmp_path / name)
        for path in (name, "plain.csv"):
            assert cli("describe", tmp_path / path)["rows"] == 400
    with gzip.open(tmp_path / "out.csv.gz") as file:
        assert file.read() == (tmp_path / "plain.csv").read_bytes()


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array([[1], [2]]), "'a' has the type list<.*>, which a CSV file cannot hold"),
        (pa.array([b"x", b"y"]), "'a' has the type binary"),
        (pa.array([1, 2], pa.timestamp("s", tz="Europe/Rome")), "times in the zone Europe/Rome"),
    ],
)
def test_what_a_csv_file_cannot_hold(tmp_path, column, message):
    write(pa.table({"a": column}), tmp_path / "in", "parquet")
    (tmp_path / "out.csv").write_text("before")
    with pytest.raises(ValueError, match=message):
        convert(tmp_path / "in", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "before"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_file_that_breaks_leaves_nothing(tmp_path):
    """The second batch cannot be read: what was written before stays as it was."""
    write(table(), tmp_path / "in", "stream")
    whole = (tmp_path / "in").read_bytes()
    (tmp_path / "in").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "out.csv").write_text("before")
    with pytest.raises((ValueError, OSError)):
        convert(tmp_path / "in", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "before"
    assert len(list(tmp_path.iterdir())) == 2


def run(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", "priorboost", *map(str, arguments)], capture_output=True, text=True
    )
    return done.returncode, done.stderr


def test_the_command(tmp_path):
    write(table(400), tmp_path / "in.parquet", "parquet")
    code, said = run("convert", tmp_path / "in.parquet", tmp_path / "out.csv")
    assert (code, said) == (0, f"{tmp_path}/out.csv: 400 rows\n")
    (tmp_path / "text").write_text("no table, but some text\n")
    code, said = run("convert", tmp_path / "text", tmp_path / "o.csv")
    assert code == 3
    assert "is neither a Parquet nor an Arrow file" in said
    code, said = run("convert", tmp_path / "nothing", tmp_path / "o.csv")
    assert code == 3
    assert "nothing" in said
    code, said = run("convert", tmp_path / "in.parquet", tmp_path / "no" / "o.csv")
    assert code in (1, 3)
    assert "Traceback" not in said
    assert run("convert", "x")[0] == 2
