"""An oracle at an address: the learner's client of ``priorboost serve``.

A question's request id is made from its content, so a question that is sent again, by the same run
or by one started again with the same data, seed and options, is a retry: the service answers with
the bytes it answered first, and no row is spent twice.  A checkpoint keeps questions and answers on
the learner's disk: a fit that is started again takes them from there, whatever the order of its
rows, and asks about the rest.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import os
import random
import socket
import ssl
import stat
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from . import _library
from .bags import Bags
from .checkpoint import Checkpoint, Question
from .data import Array, id_texts
from .errors import OracleError, PrivacyError
from .heads import keep_head, read_head, read_token
from .options import vector_rules
from .oracle import Oracle
from .relay import Relay

__all__ = ["RemoteOracle"]

_PLURAL = {"mean": "means", "classes": "classes", "columns": "columns"}
_LOOPBACK = {"127.0.0.1", "::1", "localhost"}
_MOST_ROWS = 100_000  # whose availability is asked about at once: ids have at most 255 bytes
# Refusals by a rule of the label holder.
_RULES = {
    "bag-too-small",
    "duplicate-row",
    "ledger-rollback",
    "quota-exceeded",
    "refusal-limit",
    "row-spent",
    "token-role",
    "unit-repeated",
    "unit-spent",
    "unknown-row",
}
_NO_TLS = {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"}  # by OpenSSL's version
_OTHER_NAME = {62, 64}  # X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH
# What to do about them.
_REMEDIES = {
    "row-spent": "an earlier answer used the labels of these rows, and each label can be used in "
    "one answer only; RemoteOracle(skip_unavailable=True) leaves such rows out, and checkpoint=DIR "
    "lets a fit that was interrupted continue with its answers",
    "unit-spent": "the label holder answers about each unit as often as its rules say; "
    "RemoteOracle(skip_unavailable=True) leaves out the rows of units that are spent",
    "unit-repeated": "pass unit= to fit, so that one row of each unit takes part",
    "unknown-row": "compare the ids with those of the label holder, or leave such rows out with "
    "RemoteOracle(skip_unavailable=True)",
    "bag-too-small": "set min_bag or bag_size to the rule of the label holder",
    "quota-exceeded": "train on fewer rows, or get a token with more",
    "refusal-limit": "ask the label holder for a new token",
}


@dataclass(frozen=True)
class RemoteOracle:
    """A description of a service that holds the labels; it connects only while a fit runs.

    Parameters
    ----------
    url : str
        ``https://HOST[:PORT]``, ``unix:PATH``, or ``http://`` on a loopback address.
    token_file : str or path
        A file that holds the learner's token.  The last head of the oracle's ledger is kept beside
        it, in ``FILE.head``: the next fit sends it, and an oracle that was put back to an older
        state refuses.
    ca_file : str or path, optional
        Authorities to trust instead of the system's, PEM.
    client_cert, client_key : str or path, optional
        This learner's certificate and its key, PEM, for a service that asks for one.
    patience : float
        Seconds over which a request that fails is sent again.
    checkpoint : str or path, optional
        A folder for questions and answers: the same fit, started again after a crash, continues
        from there, also if the rows come in another order.  One folder serves one run: another
        table or other parameters are refused, except those of the fit (``l2``, ``rho``,
        ``covariance``, ``fit_intercept``).  It stays after the fit.
    skip_unavailable : bool
        Leave out rows that are spent or unknown to the service; without it they are an error.
        Together with a checkpoint the choice is made once and kept.

    Examples
    --------
    >>> from priorboost import RemoteOracle
    >>> RemoteOracle("https://labels.example.org", token_file="token.txt").url
    'https://labels.example.org'
    """

    url: str
    token_file: str | os.PathLike[str]
    ca_file: str | os.PathLike[str] | None = None
    patience: float = 60.0
    checkpoint: str | os.PathLike[str] | None = None
    skip_unavailable: bool = False
    client_cert: str | os.PathLike[str] | None = None
    client_key: str | os.PathLike[str] | None = None

    def available(self, ids: Any) -> Array:
        """Return which rows may still be asked about.

        Parameters
        ----------
        ids : array-like of str or int

        Returns
        -------
        ndarray of bool
        """
        texts = id_texts(ids, len(ids))
        left: set[str] = set()
        with _Session(self) as session:
            for first in range(0, len(texts), _MOST_ROWS):
                rows = texts[first : first + _MOST_ROWS]
                reply = session.send("/v1/available", {"rows": rows})
                with _as_agreed():
                    left.update(reply["available"])
        return np.array([text in left for text in texts])

    def sheet(self) -> dict[str, str | None]:
        """Tell what the label holder says about the labels: label, owner, purpose, contact."""
        with _Session(self) as session:
            config = session.send("/v1/config")
        with _as_agreed():
            return dict(config.get("sheet") or {})

    def label_names(self) -> list[str]:
        """Return the names of the classes or of the label columns; none for numbers."""
        with _Session(self) as session:
            config = session.send("/v1/config")
        with _as_agreed():
            named = config.get("columns") or config.get("classes") or []
            return [str(item["name"] if isinstance(item, dict) else item) for item in named]

    def rows_left(self) -> int | None:
        """Return how many rows the token may still ask about; None: there is no limit."""
        with _Session(self) as session:
            return _rows_left(session)

    def _choose_rows(self, ids: list[str] | None, run: dict[str, Any]) -> Array | None:
        """Return the numbers of the rows that take part, in their order; None: all."""
        if ids is None:
            raise ValueError("a RemoteOracle knows rows by their ids; pass ids to fit")
        rows = None if self.checkpoint is None else Checkpoint(self.checkpoint).rows(ids, run)
        if rows is None and self.skip_unavailable:
            rows = np.flatnonzero(self.available(ids))
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
        return self._open(ids, run, by_unit, kinds)._connect(n_rows, ids, relay, run)

    def _open(
        self, ids: list[str] | None, run: dict[str, Any], by_unit: bool, kinds: tuple[str, ...]
    ) -> _Asker:
        """Read the rules and begin the checkpoint; answers of other kinds are refused."""
        if ids is None:
            raise ValueError("a RemoteOracle knows rows by their ids; pass ids to fit")
        asker, _ = self._read_rules(ids, by_unit, kinds, ids)
        if asker.checkpoint is not None:
            asker.checkpoint.begin(ids, {**run, "rules of the oracle": asker.rules()})
        return asker

    def _read_rules(
        self, ids: list[str], by_unit: bool, kinds: tuple[str, ...], own: list[str]
    ) -> tuple[_Asker, dict[str, Any]]:
        """Read the rules, and whether the token has enough rows left for its own rows."""
        mode = os.stat(self.token_file).st_mode
        if stat.S_ISREG(mode) and mode & 0o077:
            _warn(f"other users can read {self.token_file}; chmod 600 protects the token")
        with _Session(self) as session:
            config = session.send("/v1/config")
            asker = _Asker(self, config, ids, kinds)
            asker.check_quota(session, own)
        if asker.units and not by_unit:
            _warn(
                "the oracle's rows belong to units, and a bag may hold one row of a unit only; "
                "pass the unit of each row with unit=..."
            )
        return asker, config


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=7)  # where fit was called


def _rows_left(session: _Session) -> int | None:
    status = session.send("/v1/status")
    with _as_agreed():
        left = status["token"]["rows_left"]
        return None if left is None else int(left)


class _Asker(Oracle):
    """A remote oracle during one fit: its rules, the rows' ids, the last head seen."""

    def __init__(
        self,
        description: RemoteOracle,
        config: dict[str, Any],
        ids: list[str],
        kinds: tuple[str, ...] = ("mean",),
    ) -> None:
        self.description = description
        self.ids = ids
        self.head = read_head(description.token_file)
        folder = description.checkpoint
        self.checkpoint = None if folder is None else Checkpoint(folder)
        self.kind = config.get("answer", "mean")
        if self.kind not in kinds:  # before anything is asked
            width = f", {config['width']} numbers a bag" if "width" in config else ""
            raise OracleError(
                f"the oracle answers with {self.kind}{width}; this "
                f"model needs {' or '.join(_PLURAL[kind] for kind in kinds)}"
            )
        with _as_agreed():
            self._read_kind(config)
            self.max_body = int(config["max_body"])
            self.min_bag = int(config["min_bag"])
            if self.kind == "mean":
                self.bounds = (float(config["lower"]), float(config["upper"]))
                self.step = float(config["step"])
            self.units = bool(config["units"])
            if config["dp"]:
                self.epsilon = config.get("epsilon_fraction") or config["epsilon"]

    def _read_kind(self, config: dict[str, Any]) -> None:
        """Read what answers of several numbers have beside the rules of a mean."""
        self.width = int(config.get("width", 1))
        self.mechanism = str(config.get("mechanism", "laplace"))
        self.delta = config["delta_fraction"] if self.mechanism == "gaussian" else None
        self.rho = config["rho_fraction"] if self.mechanism == "gaussian" else None
        self.columns: list[tuple[float, float, float, int]] = []
        if self.kind == "mean":
            return
        listed = config[self.kind]
        if self.kind == "columns":
            self.columns = [
                (float(c["lower"]), float(c["upper"]), float(c["step"]), int(c["share"]))
                for c in listed
            ]
            listed = [c["name"] for c in listed]
        self.names = tuple(map(str, listed))
        if len(self.names) != self.width:
            raise ValueError("names")

    def _rules(self) -> _library.Rules:
        if self.kind == "mean":
            return super()._rules()
        return vector_rules(
            self.min_bag,
            self.epsilon,
            self.kind,
            self.width,
            self.columns,
            self.mechanism,
            self.delta,
            self.rho,
        )

    def rules(self) -> list[Any]:
        """Return the rules, as a checkpoint keeps them."""
        rules = [self.min_bag, self.epsilon, *(self.bounds or ()), self.step]
        if self.kind == "mean":  # as earlier versions kept them
            return rules
        more = [list(column) for column in self.columns]
        return [*rules, self.kind, self.width, self.mechanism, self.delta, self.rho, more]

    def check_quota(self, session: _Session, own: list[str]) -> None:
        """Refuse a training for which the token has too few rows left for these rows.

        Rows that an earlier start spent are not available, and their questions are sent again as
        they were: the service counts them once.
        """
        left = _rows_left(session)
        if left is None or len(own) <= left:
            return
        rows = int(self.description.available(own).sum())
        if rows > left:
            raise PrivacyError(
                f"the training would ask about {rows} rows, but the token has {left} left; nothing "
                "was asked; train on fewer rows, or get a token with more"
            )

    def _kept(self, round: int) -> list[Question] | None:
        return None if self.checkpoint is None else self.checkpoint.questions(round)

    def _recall(self, round: int) -> Bags | None:
        kept = self._kept(round)
        if kept is None:
            return None
        position = {text: row for row, text in enumerate(self.ids)}
        bags = [bag for question in kept for bag in question]
        rows = [position[text] for bag in bags for text in bag]
        return Bags(rows, np.cumsum([0, *map(len, bags)]))

    def ask(self, round: int, bags: Bags) -> list[Any]:
        questions = self._begin(round, bags)
        answers: list[Any] = []
        with _Session(self.description) as session:
            for part, question in enumerate(questions):
                answers.extend(self._ask(session, round, part, question))
        return answers

    def _begin(self, round: int, bags: Bags) -> list[Question]:
        """Return the questions of a round: on the disk before one is sent, and cut as they were."""
        kept = self._kept(round)
        if kept is not None:
            wanted = [[self.ids[row] for row in rows] for rows in bags]
            if [bag for question in kept for bag in question] != wanted:
                raise ValueError(
                    f"{self.description.checkpoint} holds other bags of round {round + 1} than "
                    "this run asks about; use the data and parameters of that run, or another "
                    "folder"
                )
            return kept
        questions = list(self._questions(bags))
        if self.checkpoint is not None:
            self.checkpoint.keep_questions(round, questions)
        return questions

    def _questions(self, bags: Bags) -> Iterator[Question]:
        """Cut a round into as many questions as its size needs."""
        room = self.max_body - 1024  # for what is not bags
        question: list[list[str]] = []
        size = 0
        for rows in bags:
            bag = [self.ids[row] for row in rows]
            length = len(json.dumps(bag).encode()) + 2
            if question and size + length > room:
                yield question
                question, size = [], 0
            question.append(bag)
            size += length
        if question:
            yield question

    def _numbers(self, answer: dict[str, Any]) -> Any:
        """Return the mean of a bag, the proportions of its classes, or the means of columns."""
        if self.kind == "mean":
            return float(answer["mean"])
        if self.kind == "classes":
            numbers = [float(count) / answer["size"] for count in answer["counts"]]
        else:
            numbers = [float(mean) for mean in answer["means"]]
        if len(numbers) != self.width:
            raise ValueError("width")
        return numbers

    def _ask(self, session: _Session, round: int, part: int, bags: Question) -> list[Any]:
        content = json.dumps(bags, separators=(",", ":")).encode()
        reply = None if self.checkpoint is None else self.checkpoint.answer(round, part)
        kept, name = reply is not None, hashlib.sha256(content).hexdigest()
        if reply is None:
            request = {"request_id": name, "bags": bags}
            if self.kind != "mean":
                request["answer"] = self.kind
            if self.head is not None:
                request["head"] = self.head
            reply = session.send("/v1/queries", request)
        with _as_agreed():
            sizes = [answer["size"] for answer in reply["answers"]]
            means = [self._numbers(answer) for answer in reply["answers"]]
            head, named = str(reply["head"]), reply["request_id"]
        if named != name or sizes != [len(bag) for bag in bags]:
            raise OracleError("the oracle answered about other bags than it was asked about")
        bad = [mean for mean in means if not np.isfinite(mean).all()]
        if bad:
            raise OracleError(f"the oracle answered {bad[0]}; a mean must be finite")
        if self.checkpoint is not None and not kept:
            self.checkpoint.keep_answer(round, part, reply)
        if not kept:
            keep_head(self.description.token_file, head)
        self.head = self.head if kept and self.head else head
        return means


# ---- HTTP ----------------------------------------------------------------------------------------


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("oracle", timeout=timeout)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class _Session:
    """A connection that is made when needed and made again when it fails."""

    def __init__(self, description: RemoteOracle) -> None:
        self.description = description
        self.token = read_token(description.token_file)
        self.connection: http.client.HTTPConnection | None = None
        self.trust = _trust(description)

    def __enter__(self) -> _Session:
        return self

    def __exit__(self, *_: Any) -> None:
        self._drop()

    def send(self, path: str, document: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the service's answer; what fails is tried again while patience lasts."""
        body = None if document is None else json.dumps(document).encode()
        return _read_reply(*self.deliver(path, body, "application/json"))

    def deliver(self, path: str, body: bytes | None, kind: str) -> tuple[int, bytes]:
        """Return status and bytes of the answer to a body of any kind, with the same retries."""
        deadline = time.monotonic() + self.description.patience
        pause = 0.1
        while True:
            try:
                status, reply = self._exchange(path, body, kind)
                if status < 500 and status != 429:  # too many requests: there may be room later
                    return status, reply
                problem = f"status {status}: {reply[:200].decode('utf-8', 'replace')}"
            except ssl.SSLCertVerificationError as error:
                raise OracleError(_explain_certificate(self.description, error)) from error
            except (OSError, http.client.HTTPException) as error:
                problem = f"{type(error).__name__}: {error}"
                if getattr(error, "reason", None) in _NO_TLS:
                    raise OracleError(
                        f"{self.description.url}: the service there does not use TLS; it needs "
                        "--tls-cert and --tls-key, or, on this machine, the URL begins with http://"
                    ) from error
                if self.description.url.startswith("http:"):
                    problem += "; if the service uses TLS, the URL begins with https://"
            self._drop()
            if time.monotonic() + pause > deadline:
                raise OracleError(f"no answer from {self.description.url}: {problem}")
            time.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2 * pause, 10.0)

    def _exchange(self, path: str, body: bytes | None, kind: str) -> tuple[int, bytes]:
        if self.connection is None:
            self.connection = _open(self.description, self.trust)
        headers = {"Authorization": f"Bearer {self.token}"}
        if body is not None:
            headers["Content-Type"] = kind
        self.connection.request("GET" if body is None else "POST", path, body, headers)
        response = self.connection.getresponse()
        return response.status, response.read()

    def _drop(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def _explain_certificate(description: RemoteOracle, error: ssl.SSLCertVerificationError) -> str:
    text = f"{description.url}: its certificate is not accepted ({error.verify_message})"
    if error.verify_code in _OTHER_NAME:
        return f"{text}; use the name or address that the certificate is for"
    if description.ca_file is None:
        return f"{text}; RemoteOracle(ca_file=FILE) trusts the authority, or certificate, in FILE"
    return f"{text}; {os.fspath(description.ca_file)} has another authority than the one it is from"


def _trust(description: RemoteOracle) -> ssl.SSLContext | None:
    """Whom to trust and who we are; a file that cannot be used is an error at once."""
    files = (description.ca_file, description.client_cert, description.client_key)
    ca_file, cert, key = (None if path is None else os.fspath(path) for path in files)
    if (cert is None) != (key is None):
        raise ValueError("client_cert and client_key go together")
    if not description.url.startswith("https:"):
        return None
    try:
        context = ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        raise ValueError(f"ca_file {ca_file!r} cannot be used: {error}") from error
    try:
        if cert is not None:
            context.load_cert_chain(cert, key)
    except OSError as error:
        raise ValueError(
            f"client_cert {cert!r} and client_key {key!r} cannot be used: {error}"
        ) from error
    return context


def _open(description: RemoteOracle, trust: ssl.SSLContext | None) -> http.client.HTTPConnection:
    url, timeout = description.url, max(10.0, description.patience)
    if url.startswith("unix:"):
        return _UnixConnection(url[len("unix:") :], timeout)
    parts = urlsplit(url)
    if parts.scheme == "https" and parts.hostname:
        return http.client.HTTPSConnection(
            parts.hostname, parts.port, timeout=timeout, context=trust
        )
    if parts.scheme == "http" and parts.hostname in _LOOPBACK:
        return http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout)
    raise ValueError(
        f"url is {url!r}; it must be https://..., unix:PATH, or http:// on a loopback address"
    )


@contextlib.contextmanager
def _as_agreed() -> Iterator[None]:
    """Read a reply that may be of any shape."""
    try:
        yield
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise OracleError(
            f"the oracle's reply is not what a service of priorboost says: {error!r}"
        ) from error


def _read_reply(status: int, reply: bytes) -> dict[str, Any]:
    try:
        document = json.loads(reply)
    except ValueError as error:
        raise OracleError(f"the oracle's reply (status {status}) is not JSON") from error
    if not isinstance(document, dict):
        raise OracleError(f"the oracle's reply (status {status}) is not a JSON object")
    if status == 200:
        return document
    problem = document.get("problem", "unknown")
    rows = document.get("rows")
    text = f"{document.get('detail') or document.get('title')} ({problem})"
    if rows:
        text += f": {', '.join(map(str, rows[:5]))}"
    if problem in _REMEDIES:
        text += f"; {_REMEDIES[problem]}"
    raise PrivacyError(text) if problem in _RULES else OracleError(text)
