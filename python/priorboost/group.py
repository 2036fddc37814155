"""Several services as one oracle: each has the labels of some rows.

A bag's answer is one noisy sum of all its rows, so a bag has rows of one service only: the trainer
makes bags within the rows of each, its part of the table.  A checkpoint has a folder for each
service, ``oracle-1``, ``oracle-2``, ...; ``round-R`` says that the bags of round R are in all of
them: before it is there, none of them was sent.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import _library
from .bags import Bags
from .checkpoint import Checkpoint
from .data import Array, id_texts
from .errors import OracleError, PrivacyError
from .oracle import Oracle
from .relay import Relay
from .remote import RemoteOracle, _Asker

__all__ = ["RemoteOracles"]

# What each service may have for itself.
_OWN = {"min_bag", "units", "unit_rows", "max_body", "version", "sheet"}
_NOWHERE = -1


@dataclass(frozen=True)
class RemoteOracles:
    """Several services as one oracle; each has the labels of some rows.

    Bags are made within a service.  The rules of all must be equal; the least rows of a bag are the
    most that one of them asks for.

    Parameters
    ----------
    members : sequence of RemoteOracle
        The services, each with its own address, token and certificates, without a checkpoint.
    checkpoint : str or path, optional
        A folder for the questions and answers of all; see `RemoteOracle`.
    skip_unavailable : bool
        Leave out rows that are spent, or that no service has; without it they are an error.
    oracle_of : mapping from id to int, optional
        The number of the member that has the label of a row, from 0.  Without it all ids are shown
        to every service, and the first that can be asked about a row is.

    Examples
    --------
    >>> from priorboost import RemoteOracle, RemoteOracles
    >>> north = RemoteOracle("https://north.example.org", token_file="north.token")
    >>> south = RemoteOracle("https://south.example.org", token_file="south.token")
    >>> len(RemoteOracles([north, south]).members)
    2
    """

    members: Sequence[RemoteOracle]
    checkpoint: str | os.PathLike[str] | None = None
    skip_unavailable: bool = False
    oracle_of: Mapping[Any, int] | None = None

    def __post_init__(self) -> None:
        if not self.members or not all(isinstance(m, RemoteOracle) for m in self.members):
            raise ValueError("members must be RemoteOracle objects, at least one")
        if any(m.checkpoint is not None or m.skip_unavailable for m in self.members):
            raise ValueError(
                "checkpoint and skip_unavailable are parameters of RemoteOracles, not of its "
                "members"
            )
        urls = [m.url for m in self.members]
        if len(set(urls)) < len(urls):
            raise ValueError(f"two members have the same address: {urls}")
        files = [os.path.realpath(m.token_file) for m in self.members]
        if len(set(files)) < len(files):
            raise ValueError(
                f"two members have the same token_file: {files}; each needs one of its own, because"
                " the last head of its ledger is kept beside it"
            )

    def available(self, ids: Any) -> Array:
        """Return which rows may still be asked about, each at the service that has it."""
        return np.not_equal(self._find(id_texts(ids, len(ids))), _NOWHERE)

    def label_names(self) -> list[str]:
        """Return the names of the classes or of the label columns; none for numbers."""
        return self.members[0].label_names()

    def _find(self, ids: list[str]) -> Array:
        """Return by row the number of the service that can be asked about it, or _NOWHERE."""
        found = np.full(len(ids), _NOWHERE)
        if self.oracle_of is not None:
            given = {str(name): number for name, number in self.oracle_of.items()}
            wanted = np.array([given.get(text, _NOWHERE) for text in ids])
            bad = np.flatnonzero((wanted < 0) | (wanted >= len(self.members)))
            if bad.size:
                raise ValueError(
                    f"oracle_of has {given.get(ids[bad[0]])!r} for id {ids[bad[0]]!r}; it must have"
                    f" the number of a member, 0 to {len(self.members) - 1}, for every id"
                )
        for number, member in enumerate(self.members):
            left = found == _NOWHERE if self.oracle_of is None else wanted == number
            rows = np.flatnonzero(left)
            if rows.size:
                found[rows[member.available([ids[row] for row in rows])]] = number
        return found

    def _choose_rows(self, ids: list[str] | None, run: dict[str, Any]) -> Array | None:
        if ids is None:
            raise ValueError("RemoteOracles know rows by their ids; pass ids to fit")
        rows = None if self.checkpoint is None else Checkpoint(self.checkpoint).rows(ids, run)
        if rows is None and self.skip_unavailable:
            rows = np.flatnonzero(self._find(ids) != _NOWHERE)
        return rows

    def _connect(
        self,
        n_rows: int,
        ids: list[str] | None,
        relay: Relay,
        run: dict[str, Any],
        by_unit: bool = False,
        kinds: tuple[str, ...] = ("mean",),
    ) -> _library.Oracle:
        asker = self._open(ids, run, by_unit, kinds)
        interface = asker._connect(n_rows, ids, relay, run)
        interface.part, interface.parts = asker.part, len(self.members)
        return interface

    def _open(
        self, ids: list[str] | None, run: dict[str, Any], by_unit: bool, kinds: tuple[str, ...]
    ) -> _Askers:
        """Read the rules of all and begin the checkpoint; nothing is asked before."""
        if ids is None:
            raise ValueError("RemoteOracles know rows by their ids; pass ids to fit")
        kept = None if self.checkpoint is None else Checkpoint(self.checkpoint)
        known = None if kept is None else kept.parts()
        part = np.asarray(self._find(ids) if known is None else known)
        unknown = np.flatnonzero(part == _NOWHERE)
        if unknown.size:
            raise PrivacyError(
                f"{unknown.size} of {len(ids)} rows are spent or unknown to every oracle, such as "
                f"{ids[unknown[0]]!r}; RemoteOracles(skip_unavailable=True) leaves such rows out"
            )
        askers, configs = [], []
        for number, member in enumerate(self.members):
            own = [ids[row] for row in np.flatnonzero(part == number)]
            folder = None if kept is None else kept.folder / f"oracle-{number + 1}"
            described = dataclasses.replace(member, checkpoint=folder)
            asker, config = described._read_rules(ids, by_unit, kinds, own)
            askers.append(asker)
            configs.append(config)
        _compare(configs, self.members)
        group = _Askers(askers, part.astype(np.uint32), kept)
        group.check_shares()
        if kept is not None:
            about = {"rules of the oracle": group.rules(), "oracles": len(askers)}
            kept.begin(ids, {**run, **about}, group.part.tolist())
        return group


def _compare(configs: list[dict[str, Any]], members: Sequence[RemoteOracle]) -> None:
    """Refuse services with different rules: the fit takes all answers as of one kind."""
    first = configs[0]
    for config, member in zip(configs[1:], members[1:], strict=True):
        for rule in (first.keys() | config.keys()) - _OWN:
            if first.get(rule) != config.get(rule):
                raise PrivacyError(
                    f"the oracles have different rules: {rule} is {first.get(rule)!r} at "
                    f"{members[0].url} and {config.get(rule)!r} at {member.url}; it must be equal; "
                    "nothing was asked"
                )


class _Askers(Oracle):
    """The services during one fit."""

    def __init__(self, askers: list[_Asker], part: Array, checkpoint: Checkpoint | None) -> None:
        self.askers, self.part, self.checkpoint = askers, part, checkpoint
        first = askers[0]
        self.min_bag = max(asker.min_bag for asker in askers)
        self.epsilon, self.bounds, self.step = first.epsilon, first.bounds, first.step
        self.names = first.names
        first.min_bag = self.min_bag  # its rules are those of all

    def _rules(self) -> _library.Rules:
        return self.askers[0]._rules()

    def rules(self) -> list[Any]:
        return self.askers[0].rules()

    def check_shares(self) -> None:
        """Refuse a service that has too few of the rows for a bag."""
        for number, asker in enumerate(self.askers):
            rows = int((self.part == number).sum())
            if rows < self.min_bag:
                raise PrivacyError(
                    f"{asker.description.url} can be asked about {rows} of the rows; a bag needs "
                    f"{self.min_bag}, all of one oracle; leave this member out"
                )

    def ask(self, round: int, bags: Bags) -> list[Any]:
        number_of = self._parts_of(bags)
        questions = [
            _bags_of([bags[int(b)] for b in np.flatnonzero(number_of == own)])
            for own in range(len(self.askers))
        ]
        self._keep(round, questions)
        answers, errors = [], []
        for asker, own in zip(self.askers, questions, strict=True):
            try:  # one that fails does not stop the others, whose answers are kept
                answers.append(iter(asker.ask(round, own) if len(own) else ()))
            except (OracleError, PrivacyError) as error:
                errors.append(type(error)(f"{asker.description.url}: {error}"))
        if errors:
            raise errors[0]
        return [next(answers[number]) for number in number_of]

    def _parts_of(self, bags: Bags) -> Array:
        """Return by bag the number of the service that has all its rows."""
        parts, start = self.part[bags.rows], bags.start[:-1].astype(np.intp)
        lowest, highest = np.minimum.reduceat(parts, start), np.maximum.reduceat(parts, start)
        mixed = np.flatnonzero(lowest != highest)
        if mixed.size:
            raise ValueError(
                f"bag {mixed[0]} has rows of several oracles; a bag must have rows of one, because "
                "noisy sums of its parts are no answer"
            )
        return lowest

    def _keep(self, round: int, questions: list[Bags]) -> None:
        """Write the bags of all services before one is sent."""
        if self.checkpoint is None:
            return
        begun = self.checkpoint.is_begun(round)
        for asker, own in zip(self.askers, questions, strict=True):
            assert asker.checkpoint is not None
            Path(asker.checkpoint.folder).mkdir(mode=0o700, exist_ok=True)
            if not begun:  # what is there was never sent
                asker.checkpoint.keep_questions(round, list(asker._questions(own)))
        if not begun:
            self.checkpoint.mark_begun(round)

    def _recall(self, round: int) -> Bags | None:
        if self.checkpoint is None or not self.checkpoint.is_begun(round):
            return None
        kept = [asker._recall(round) for asker in self.askers]
        return _bags_of([rows for bags in kept if bags is not None for rows in bags])


def _bags_of(rows: list[Array]) -> Bags:
    """Bags of these rows each."""
    flat = np.concatenate(rows) if rows else np.zeros(0, dtype=np.uintp)
    return Bags(flat, np.cumsum([0, *map(len, rows)]))
