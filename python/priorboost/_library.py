"""The C library: loading it, its functions, their failures, and memory that C and Python use.

Two tables describe it, ``_structures.py`` with ``_structures_io.py`` (imported here as well) and
``_prototypes.py``.  ctypes releases the interpreter's lock around every call.  All calls that can
fail go through `_check`, which turns a status into an exception (`EXCEPTIONS`).
"""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Callable
from ctypes import Structure, c_char, c_char_p, c_int, c_void_p
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from . import errors
from ._prototypes import PROTOTYPES
from ._structures import *  # noqa: F403
from ._structures import F32, F64, Error, Features, Matrix
from ._structures_io import *  # noqa: F403


def _library_path() -> Path:
    """Return the library inside the package, or what PRIORBOOST_LIBRARY names (for development)."""
    named = os.environ.get("PRIORBOOST_LIBRARY")
    return Path(named) if named else Path(__file__).with_name("libpriorboost.so")


def _load() -> Any:
    path = _library_path()
    try:
        library = ctypes.CDLL(str(path))
    except OSError as problem:
        raise ImportError(
            f"the C library of priorboost cannot be loaded from {path}: {problem}; "
            "install the package with 'pip install .', or set PRIORBOOST_LIBRARY to the file"
        ) from problem

    class Functions:
        """The library's functions without their common prefix."""

    functions = Functions()
    for name, (result, arguments) in PROTOTYPES.items():
        function = getattr(library, "pboost_" + name)
        function.restype = c_int if result is None else result
        function.argtypes = arguments
        setattr(functions, name, function)
    return functions


lib = _load()


def version() -> str:
    """Return the version of the C library that is loaded."""
    return str(lib.version().decode())


# ---- Errors --------------------------------------------------------------------------------------


# By the name of the status (pboost_status_name).
EXCEPTIONS: dict[str, type[BaseException]] = {
    "invalid": ValueError,
    "bad-data": ValueError,
    "no-memory": MemoryError,
    "output": OSError,
    "oracle": errors.OracleError,
    "refused": errors.PrivacyError,
    "cancelled": KeyboardInterrupt,
    "internal": RuntimeError,
    "unusable": RuntimeError,
}


def _exception(status: int) -> type[BaseException]:
    return EXCEPTIONS[lib.status_name(status).decode()]


def _check(function: Callable[..., int], *arguments: Any) -> None:
    """Call a function that can fail; its last argument, the error, is added here."""
    error = Error()
    status = function(*arguments, error)
    if status:
        raise _exception(status)(error.message.decode("utf-8", "replace"))


# The statuses a callback can return.
OK, CANCELLED = 0, 7

# ---- Memory --------------------------------------------------------------------------------------


class _ArrayInterface(Structure):
    """NumPy's ``PyArrayInterface``, which says where the elements of an array are."""

    _fields_ = [
        ("two", c_int),
        ("nd", c_int),
        ("typekind", c_char),
        ("itemsize", c_int),
        ("flags", c_int),
        ("shape", c_void_p),
        ("strides", c_void_p),
        ("data", c_void_p),
    ]


capsule_pointer: Callable[..., int] = ctypes.pythonapi.PyCapsule_GetPointer
capsule_pointer.restype = c_void_p  # type: ignore[attr-defined]
capsule_pointer.argtypes = [ctypes.py_object, c_char_p]  # type: ignore[attr-defined]


_first_byte: Callable[..., Any] = c_char.from_buffer


def address(array: npt.NDArray[Any] | None) -> Any:
    """Return where the elements of an array begin; None for None."""
    if array is None:
        return None
    try:
        return ctypes.addressof(_first_byte(array))
    except (TypeError, ValueError):  # it is read-only, empty, or not contiguous by rows
        capsule = array.__array_struct__
        return _ArrayInterface.from_address(capsule_pointer(capsule, None)).data


@lru_cache(maxsize=64)
def block(size: int) -> Any:
    """Return the type of this many bytes; ctypes drops a type when nothing uses it."""
    return c_char * size


def copy_array(
    pointer: Any, shape: int | tuple[int, ...], dtype: npt.DTypeLike
) -> npt.NDArray[Any]:
    """Copy elements of C memory to a NumPy array."""
    kind = dtype if isinstance(dtype, np.dtype) else np.dtype(dtype)
    size = kind.itemsize * (math.prod(shape) if isinstance(shape, tuple) else shape)
    if size == 0:
        return np.empty(shape, kind)
    return np.ndarray(shape, kind, bytearray(block(size).from_address(pointer)))


def matrix(X: npt.NDArray[Any]) -> Matrix:
    """Describe a two-dimensional float64 or float32 array without copying it."""
    size = X.itemsize
    rows, cols = X.shape
    down, right = X.strides
    kind = F64 if size == 8 else F32
    return Matrix(address(X), kind, rows, cols, down // size, right // size)


def features(
    X: npt.NDArray[Any],
    weight: npt.NDArray[Any] | None = None,
    offset: npt.NDArray[Any] | None = None,
) -> Features:
    """Describe the learner's data about every row without copying it."""
    return Features(matrix(X), address(weight), address(offset))
