"""What a learner must remember to go on after it was killed, with no row asked about twice.

    rows       which rows the run uses, and of which table
    ask-N      question N; written before it is sent
    answer-N   the reply to it

Every file appears whole or not at all and is on the disk before the next step.  The folder is one
run's: another table or other questions are refused.  The names are those of the command line's
checkpoint, but not the contents: each goes on with its own runs only.
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


class Checkpoint:
    """A folder of small files, each written whole."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self.questions = 0

    def _read(self, name: str) -> bytes | None:
        try:
            return (self.folder / name).read_bytes()
        except FileNotFoundError:
            return None

    def _write(self, name: str, data: bytes) -> None:
        path, unfinished = self.folder / name, self.folder / f"{name}.new"
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
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)  # the name is durable once the folder is
        finally:
            os.close(folder)

    def rows(self, ids: list[str]) -> Array | None:
        """Return which rows an earlier start of this run chose; None where there was none."""
        stored = self._read("rows")
        if stored is None:
            return None
        document = json.loads(stored)
        if document["ids"] != _digest(ids):
            raise ValueError(f"checkpoint {self.folder} is of a run on another table")
        keep = np.ones(len(ids), dtype=bool)
        keep[document["left_out"]] = False
        return keep

    def remember_rows(self, ids: list[str], keep: Array) -> None:
        """Write which rows the run uses: since then it has spent rows itself."""
        document = {"ids": _digest(ids), "left_out": np.flatnonzero(~keep).tolist()}
        self._write("rows", json.dumps(document).encode())

    def next_answer(self, question: bytes) -> dict[str, Any] | None:
        """Return the stored reply to the next question, if there is one.

        The question is on the disk before it is sent.
        """
        name = f"ask-{self.questions:06d}"
        stored = self._read(name)
        if stored is None:
            self._write(name, question)
        elif stored != question:
            raise ValueError(
                f"{self.folder / name} holds another question than this run asks; use the data and "
                "parameters of the first run, or another folder"
            )
        reply = self._read(f"answer-{self.questions:06d}")
        if reply is None:
            return None
        self.questions += 1
        answer: dict[str, Any] = json.loads(reply)
        return answer

    def remember_answer(self, reply: dict[str, Any]) -> None:
        """Write the reply to the last question."""
        self._write(f"answer-{self.questions:06d}", json.dumps(reply).encode())
        self.questions += 1


def _digest(ids: list[str]) -> str:
    """Tell a table by its ids in order."""
    return hashlib.sha256("\0".join(ids).encode()).hexdigest()
