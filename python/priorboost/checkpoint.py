"""The files that let a learner continue after it was killed; no row is asked about twice.

    run          what the questions depend on: the table and the parameters
    rows         which rows the run uses, in their order
    ask-R        the bags of round R, cut into questions; written before any is sent
    answer-R-P   the reply to question P of round R
    parts        of several oracles: the number of the one that has each row; their questions and
                 answers are in folders oracle-1, oracle-2, ...
    round-R      of several oracles: the bags of round R are in all of these folders

Every file appears whole or not at all and is on the disk before the next step.  The folder is one
run's: another table and other parameters are refused.  The names are those of the command line's
checkpoint, but not the contents: each continues only its own runs.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from .data import Array

Question = list[list[str]]  # ids by bag


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file for its owner only; it appears whole or not at all, and is on the disk."""
    unfinished = path.with_name(f"{path.name}.new")
    try:
        with open(unfinished, "wb", opener=lambda p, f: os.open(p, f, 0o600)) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except BaseException:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        raise
    _sync(path.parent)  # the name is durable once the folder is


class Checkpoint:
    """A folder of small files, each written whole."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def _read(self, name: str) -> Any:
        try:
            return json.loads((self.folder / name).read_bytes())
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise ValueError(f"{self.folder / name} is damaged: {error}") from error

    def _write(self, name: str, document: Any) -> None:
        write_whole(self.folder / name, json.dumps(document).encode())

    # ---- Which run it is ----

    def rows(self, ids: list[str], run: dict[str, Any]) -> Array | None:
        """Return the rows of an earlier start of this run, in its order; None: there was none."""
        if not self._is_of(run):
            return None
        position = {text: row for row, text in enumerate(ids)}
        return np.array([position[text] for text in self._read("rows")], dtype=np.intp)

    def _is_of(self, run: dict[str, Any]) -> bool:
        """Return whether the run was begun; refuse a folder of another run."""
        kept = self._read("run")
        for name, value in run.items() if kept is not None else ():
            if kept.get(name) == value:
                continue
            if name == "table":
                raise ValueError(f"checkpoint {self.folder} belongs to a run on another table")
            raise ValueError(
                f"checkpoint {self.folder} belongs to another run: its {name} is "
                f"{kept.get(name)!r}, that of this run is {value!r}; use the parameters of that "
                "run, or another folder"
            )
        return kept is not None

    def begin(self, ids: list[str], run: dict[str, Any], parts: list[int] | None = None) -> None:
        """Write which run this is and the rows that it uses, unless an earlier start has."""
        if self._is_of(run):
            return
        try:
            self.folder.mkdir(mode=0o700)
            _sync(self.folder.parent)
        except FileExistsError:
            pass
        self._write("rows", ids)
        if parts is not None:
            self._write("parts", parts)
        self._write("run", run)  # last: a folder without it is not begun

    # ---- Several oracles ----

    def parts(self) -> list[int] | None:
        """Return the numbers of the oracles of the rows, if the run was begun."""
        parts: list[int] | None = self._read("parts") if self._read("run") is not None else None
        return parts

    def is_begun(self, round: int) -> bool:
        """Return whether the bags of a round are in the folders of all oracles."""
        return self._read(f"round-{round:06d}") is not None

    def mark_begun(self, round: int) -> None:
        """Write that they are, before the first is sent."""
        self._write(f"round-{round:06d}", True)

    # ---- Questions and answers ----

    def questions(self, round: int) -> list[Question] | None:
        """Return the questions of a round that was begun."""
        questions: list[Question] | None = self._read(f"ask-{round:06d}")
        return questions

    def keep_questions(self, round: int, questions: list[Question]) -> None:
        """Write the questions of a round, before the first is sent."""
        self._write(f"ask-{round:06d}", questions)

    def answer(self, round: int, part: int) -> dict[str, Any] | None:
        """Return the reply to a question, if there is one."""
        reply: dict[str, Any] | None = self._read(f"answer-{round:06d}-{part:06d}")
        return reply

    def keep_answer(self, round: int, part: int, reply: dict[str, Any]) -> None:
        """Write the reply to a question."""
        self._write(f"answer-{round:06d}-{part:06d}", reply)


def table_digest(ids: list[str], keys: Array, X: Any = None) -> str:
    """Return a digest of a table's ids and, if it is an array, its features, for any row order.

    Examples
    --------
    >>> import numpy as np
    >>> from priorboost.checkpoint import table_digest
    >>> from priorboost.data import row_keys
    >>> def digest(ids, X):
    ...     return table_digest(ids, row_keys(ids), np.array(X, dtype=float))
    >>> digest(["a", "b"], [[1], [2]]) == digest(["b", "a"], [[2], [1]])
    True
    >>> digest(["a", "b"], [[1], [2]]) == digest(["a", "b"], [[2], [1]])
    False
    """
    names = hashlib.sha256("\0".join(sorted(ids)).encode()).hexdigest()
    mixed = keys.copy()  # a hash of each row, and then their sum
    if hasattr(X, "indptr"):  # rows by their entries
        bits = X.data.astype(np.float64).view(np.uint64)
        cell = (X.indices.astype(np.uint64) ^ bits) * np.uint64(0x9E3779B97F4A7C15)
        cell = (cell ^ (cell >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        row = np.repeat(keys, np.diff(X.indptr))
        mixed = (cell ^ row) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
        return f"{names}-{int(mixed.sum(dtype=np.uint64)):016x}"
    if not isinstance(X, np.ndarray):
        return names
    for j in range(X.shape[1]):
        mixed ^= X[:, j].astype(np.float64).view(np.uint64)
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return f"{names}-{int(mixed.sum(dtype=np.uint64)):016x}"
