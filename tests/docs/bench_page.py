#!/usr/bin/env python3
"""`./dev bench --only SECTION` must keep the other sections of docs/benchmarks.md."""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
sys.dont_write_bytecode = True

import report  # noqa: E402

MACHINE = {
    "processor": "a processor",
    "cores": 2,
    "vectors": "plain",
    "memory_gib": 1,
    "system": "a system",
    "python": "3",
    "versions": {"priorboost": "1"},
}


def results(part, rows):
    rows = [{"part": part, **row} for row in rows]
    return {"machine": MACHINE, "quick": False, "seconds": 60, "rows": rows}


def sparse_rows(seconds):
    about = {"table": "clicks", "rows": 10, "columns": 5, "entries": 20}
    fit = {"fit": "ours", "tolerance": 0.1, "above best": 0.0, "processor seconds": seconds}
    return [{"section": "sparse speed", "result": [about, fit], "where": "here"}]


def main():
    page = (ROOT / "docs" / "benchmarks.md").read_text()
    head, sections = report.split(page)
    titles = [title for title, _ in sections]
    known = [start for _, _, starts in report.SECTIONS for start in starts]
    for title in titles:
        assert title.startswith(tuple(known)), f"no function of bench/report.py writes '{title}'"

    with tempfile.TemporaryDirectory() as folder:
        docs = Path(folder)
        path = docs / "benchmarks.md"
        path.write_text(page)
        for seconds in (1.25, 7.75):  # the second run takes the place of the first
            report.write(results("sparse", sparse_rows(seconds)), docs)
        new_head, new = report.split(path.read_text())
        assert new_head.startswith(head.split("\nMeasured again")[0].rstrip()), new_head
        assert new_head.count("Measured again (Sparse rows: fits):") == 1, new_head
        fits = "Sparse rows: fits with all labels"
        kept = {title: text for title, text in sections if title != fits}
        now = dict(new)
        for title, text in kept.items():
            assert now.get(title) == text, f"'{title}' was lost or changed"
        written = now[fits]
        assert "7.75" in written and "1.25" not in written, written
        assert len(new) == len(now) == len(kept) + 1, list(now)

        path.unlink()  # no page: only what was measured
        report.write(results("sparse", sparse_rows(1.25)), docs)
        assert [title for title, _ in report.split(path.read_text())[1]] == [fits]


if __name__ == "__main__":
    main()
