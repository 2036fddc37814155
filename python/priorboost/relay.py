"""Exceptions and signals that pass through the C library, from Python to Python.

An exception that Python raises in a callback must not end there: the callback makes C stop, and
the exception is raised again where C was called.  While C works, Python does not handle Ctrl-C: C
asks from time to time whether to stop, and Python handles signals then.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from . import _library
from ._library import CANCELLED, OK, _check


class Relay:
    """Carries exceptions through C; use it in a with statement around what may take long.

    While it is entered, in the main thread, the handler of Ctrl-C is called as ever; but what it
    raises comes out of `check`, and not in the middle of a callback that C made, where ctypes would
    print it and forget it.
    """

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self.cancel = _library.Cancel(_library.StopFunction(self._should_stop), None)
        self._handler: Any = None
        self._in_python = False  # a callback does the work of a user, and may be interrupted

    def __enter__(self) -> Relay:
        if threading.current_thread() is threading.main_thread():
            handler = signal.getsignal(signal.SIGINT)
            if callable(handler):
                self._handler = handler
                signal.signal(signal.SIGINT, self._on_signal)
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if self._handler is not None:
            signal.signal(signal.SIGINT, self._handler)
            self._handler = None
        if kind is None:
            self.release()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._in_python:
            self._handler(number, frame)
            return
        try:
            self._handler(number, frame)
        except BaseException as error:
            self.error = error

    def _should_stop(self, _: Any) -> bool:
        return self.error is not None  # a signal that waited was handled on the way in here

    def status(self, function: Callable[..., None], *arguments: Any) -> int:
        """Call Python from C."""
        try:
            self._in_python = True
            if self.error is None:
                function(*arguments)
        except BaseException as error:
            self.error = error
        self._in_python = False
        return OK if self.error is None else CANCELLED

    def check(self, function: Callable[..., int], *arguments: Any) -> None:
        """Call C from Python; an exception raised during the call is raised here."""
        try:
            _check(function, *arguments)
        finally:
            self.release()

    def release(self) -> None:
        """Raise the exception that a callback raised, if there is one."""
        if self.error is not None:
            error, self.error = self.error, None
            raise error from None
