"""A learner's token, and the last head of the oracle's ledger that it has seen.

The head is one line of ``FILE.head`` beside the token file ``FILE``: the head, and 16 digits of a
hash of the token, since a head belongs to a token.  The program reads and writes the same file.
"""

from __future__ import annotations

import hashlib
import os
import re
import warnings
from pathlib import Path

from .checkpoint import write_whole

Name = str | os.PathLike[str]


def read_token(path: Name) -> str:
    """Return the token on the first line of the file."""
    with open(path) as file:
        token = "".join(file.readline().split()[:1])
    if not token:
        raise ValueError(f"{path} holds no token on its first line")
    return token


def _owner(path: Name) -> str:
    return hashlib.sha256(read_token(path).encode()).hexdigest()[:16]


def read_head(path: Name) -> str | None:
    """Return the head that is kept for the token in this file; None: there is none."""
    name = os.fspath(path) + ".head"
    if not os.path.isfile(name):
        return None
    with open(name) as file:
        text = file.read()
    if not re.fullmatch("[0-9a-f]{64} [0-9a-f]{16}\n", text):
        raise ValueError(
            f"{name} does not hold a head of the oracle's ledger; it shows the oracle that its "
            "store is not an old copy: put it back, or delete it if the oracle is known to be right"
        )
    head, owner = text.split()
    return head if owner == _owner(path) else None


def keep_head(path: Name, head: str) -> None:
    """Keep a head for the next fit; a token that is not a file keeps none."""
    if not os.path.isfile(path) or not re.fullmatch("[0-9a-f]{64}", head):
        return
    try:
        write_whole(Path(os.fspath(path) + ".head"), f"{head} {_owner(path)}\n".encode())
    except OSError as error:
        warnings.warn(
            f"the next fit cannot show the oracle the last head of its ledger: {error}",
            stacklevel=2,
        )
