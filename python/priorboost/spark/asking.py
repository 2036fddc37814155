"""The oracle: a service, asked in bulk, or labels on the driver, for simulation."""

from __future__ import annotations

import ctypes
import hashlib
import struct
import warnings
from dataclasses import dataclass, replace

import numpy as np

from .. import _library
from ..bags import Bags
from ..errors import OracleError
from ..heads import keep_head
from ..options import ANSWERS
from ..oracle import MemoryHandle
from ..remote import RemoteOracle, _Asker, _read_reply, _Session
from .blocks import Array

_TYPE = "application/vnd.priorboost.bags"  # docs/http-api.md has its layout
_MOST_ROWS = 1 << 16  # of one question


class BulkSession(_Session):
    """A connection that asks in the binary form.

    With every question it sends the last head of the oracle's ledger that it knows: an oracle that
    was put back to an older state refuses.
    """

    def __init__(
        self, description: RemoteOracle, head: str | None, kind: str = "mean", width: int = 1
    ) -> None:
        super().__init__(description)
        self.head, self.kind, self.width = head, kind, width

    def __enter__(self) -> BulkSession:
        return self

    def ask(self, ids: bytes, width: bytes | None, sizes: Array) -> Array:
        """Return the mean label of bags, or the proportions of their classes.

        The same question always gets the same answer.

        Parameters
        ----------
        ids : bytes
            The ids of all bags' rows, one bag after the other: int64, or texts.
        width : bytes or None
            The bytes of each text.
        sizes : array of uint32
            The rows of each bag.
        """
        rows = len(ids) // 8 if width is None else len(width)
        content = sizes.astype("<u4").tobytes() + bytes(width or b"") + bytes(ids)
        kind = 1 if width is None else 2
        name = hashlib.sha256(bytes([kind]) + content).hexdigest().encode()
        seen = bytes.fromhex(self.head or "")
        numbers = (kind, len(name), bool(seen), ANSWERS[self.kind], len(sizes), rows)
        question = struct.pack("<4sBBBBII", b"PBQ1", *numbers) + name + seen + content
        status, reply = self.deliver("/v1/queries", question, _TYPE)
        if status != 200:
            _read_reply(status, reply)  # raises the problem that it names
        answers = _read_answer(reply, name, sizes, self.kind, self.width)
        self.head = reply[32:64].hex()
        return answers


def _read_answer(reply: bytes, name: bytes, sizes: Array, kind: str, width: int) -> Array:
    """Return the means or, of classes, the proportions of a binary answer to the question."""
    n = len(sizes)
    layout = {"mean": (b"PBA1", 0)}.get(kind, (b"PBA2", width))  # docs/http-api.md
    if len(reply) != 64 + len(name) + (8 * width + 4) * n or reply[:4] != layout[0]:
        raise OracleError(f"the oracle's reply of {len(reply)} bytes is not an answer to {n} bags")
    if (reply[6], *struct.unpack("<I", reply[12:16])) != (ANSWERS[kind], layout[1]):
        raise OracleError(f"the oracle's answer is none of {kind}, {width} numbers a bag")
    if reply[64 : 64 + len(name)] != name:
        raise OracleError("the oracle answered another question than it was asked")
    at = 64 + len(name)
    answers = np.frombuffer(reply, "<f8", n * width, at).astype(np.float64)
    if not np.array_equal(np.frombuffer(reply, "<u4", n, at + 8 * n * width), sizes):
        raise OracleError("the oracle answered about other bags than it was asked about")
    if not np.isfinite(answers).all():
        raise OracleError("the oracle gave an answer that is not finite")
    return answers if kind == "mean" else answers.reshape(n, width) / sizes[:, np.newaxis]


@dataclass(frozen=True)
class Service:
    """The oracle service: its address, its rules, and the last head of its ledger."""

    description: RemoteOracle
    rules: _Asker  # as it told them
    head: str | None

    @classmethod
    def connect(cls, description: RemoteOracle, kind: str = "mean") -> Service:
        """Ask a service for its rules; it must answer with means, or with classes."""
        with _Session(description) as session:
            config = session.send("/v1/config")
        rules = _Asker(description, config, [], (kind,))
        if rules.units:
            warnings.warn(
                "the oracle's rows belong to units, and a bag may hold one row of a unit only: "
                "keep one row of each unit in the table",
                stacklevel=2,
            )
        return cls(description, rules, rules.head)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the classes, where it answers with classes."""
        return self.rules.names or ()

    def session(self) -> BulkSession:
        """Return a connection to it."""
        return BulkSession(self.description, self.head, self.rules.kind, self.rules.width)

    def after(self, head: str) -> Service:
        """Return the service after an answer, and keep its head for the next fit."""
        keep_head(self.description.token_file, head)
        return replace(self, head=head)

    def library_rules(self) -> _library.Rules:
        """Return its rules as the library has them."""
        return self.rules._rules()

    def most_rows(self, longest_id: int) -> int:
        """Return how many rows one question may be about."""
        return max(1, min(_MOST_ROWS, (self.rules.max_body - 1024) // (longest_id + 5)))


class LabelsOnDriver:
    """Both parties in one process: labels by position in the shuffled table, with rules.

    For simulation and tests: where labels must stay elsewhere, use the service.
    """

    def __init__(
        self,
        labels: Array,
        rules: _library.Rules,
        clamp: bool,
        has_seed: bool,
        seed: int,
        names: tuple[str, ...] = (),
    ) -> None:
        self.rules, self.names = rules, names  # names: of the classes that labels number
        self.handle = MemoryHandle(np.ascontiguousarray(labels), rules, clamp, has_seed, seed)

    def library_rules(self) -> _library.Rules:
        """Return the rules as the library has them."""
        return self.rules

    def most_rows(self, longest_id: int) -> int:
        """Return how many rows one question may be about."""
        return _MOST_ROWS

    def ask(self, round: int, rows: Array, sizes: Array) -> Array:
        """Return the mean label or the proportions of each bag and mark its rows as spent."""
        start = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        shape = (len(sizes), self.rules.width) if self.rules.width > 1 else len(sizes)
        bags, answers = Bags(rows, start), np.empty(shape)
        interface = self.handle.interface
        out = answers.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
        _library._check(interface.ask, interface.self, round, bags._borrow(), out)
        return answers


__all__ = ["BulkSession", "LabelsOnDriver", "Service"]
