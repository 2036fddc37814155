"""The exceptions of priorboost that Python has no name for, and where warnings point to."""

from __future__ import annotations

import os
import sys
import warnings


class OracleError(RuntimeError):
    """The oracle, or the connection to it, failed."""


class PrivacyError(ValueError):
    """A rule of the label holder forbids the question."""


def warn(text: str) -> None:
    """Warn at the line outside this package that has called it."""
    here = os.path.dirname(__file__)
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(here):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, stacklevel=level)
