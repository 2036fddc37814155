"""Features from whatever holds them, without a copy where that is possible.

float64 and float32 arrays are handed to the library as they are, whatever their strides.  Tables
whose columns are apart in memory (polars, pyarrow, anything with the Arrow C stream interface) are
gathered into one array; null cells are an error there, as NaN is in an array.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator
from ctypes import POINTER, Structure, c_char_p, c_int, c_int64, c_void_p
from typing import Any

import numpy as np
import numpy.typing as npt
import sklearn
from sklearn.utils import check_array

from . import _library
from ._library import lib

Array = npt.NDArray[Any]
_F64, _F32 = np.dtype(np.float64), np.dtype(np.float32)
_MODERN = tuple(int(part) for part in sklearn.__version__.split(".")[:2]) >= (1, 6)

# ---- The Arrow C data interface ------------------------------------------------------------------


class _Schema(Structure):
    pass


_Schema._fields_ = [
    ("format", c_char_p),
    ("name", c_char_p),
    ("metadata", c_void_p),
    ("flags", c_int64),
    ("n_children", c_int64),
    ("children", POINTER(POINTER(_Schema))),
    ("dictionary", c_void_p),
    ("release", ctypes.CFUNCTYPE(None, POINTER(_Schema))),
    ("private_data", c_void_p),
]


class _Column(Structure):
    pass


_Column._fields_ = [
    ("length", c_int64),
    ("null_count", c_int64),
    ("offset", c_int64),
    ("n_buffers", c_int64),
    ("n_children", c_int64),
    ("buffers", POINTER(c_void_p)),
    ("children", POINTER(POINTER(_Column))),
    ("dictionary", c_void_p),
    ("release", ctypes.CFUNCTYPE(None, POINTER(_Column))),
    ("private_data", c_void_p),
]


class _Stream(Structure):
    pass


_Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(c_int, POINTER(_Stream), POINTER(_Schema))),
    ("get_next", ctypes.CFUNCTYPE(c_int, POINTER(_Stream), POINTER(_Column))),
    ("get_last_error", ctypes.CFUNCTYPE(c_char_p, POINTER(_Stream))),
    ("release", ctypes.CFUNCTYPE(None, POINTER(_Stream))),
    ("private_data", c_void_p),
]

_ARROW_NUMBERS = {
    "g": "f8",
    "f": "f4",
    "e": "f2",
    "l": "i8",
    "L": "u8",
    "i": "i4",
    "I": "u4",
    "s": "i2",
    "S": "u2",
    "c": "i1",
    "C": "u1",
}

_capsule_pointer: Callable[..., int] = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = c_void_p  # type: ignore[attr-defined]
_capsule_pointer.argtypes = [ctypes.py_object, c_char_p]  # type: ignore[attr-defined]


def _view(buffer: int, count: int, dtype: str) -> Array:
    width = np.dtype(dtype).itemsize
    memory = (ctypes.c_char * (count * width)).from_address(buffer)
    out: Array = np.frombuffer(memoryview(memory), dtype=dtype, count=count)
    return out


def _bits(buffer: int, first: int, n: int) -> Array:
    packed = _view(buffer, (first + n + 7) // 8, "u1")
    return np.unpackbits(packed, bitorder="little")[first : first + n]


def _has_nulls(column: _Column, first: int, n: int) -> bool:
    if column.null_count == 0 or not column.buffers[0]:
        return False
    return not _bits(column.buffers[0], first, n).all()


def _fill_column(out: Array, column: _Column, first: int, kind: str, name: str) -> None:
    """Copy cells of a column from position `first` on; `out` says how many."""
    n, first = len(out), first + column.offset
    if n == 0:
        return
    if _has_nulls(column, first, n):
        raise ValueError(f"column '{name}' has null cells; fill or drop them (NaN is no number)")
    if kind == "b":
        out[:] = _bits(column.buffers[1], first, n)
    else:
        out[:] = _view(column.buffers[1], first + n, _ARROW_NUMBERS[kind])[first:]


def _next_chunk(stream: _Stream) -> _Column | None:
    chunk = _Column()
    if stream.get_next(ctypes.byref(stream), ctypes.byref(chunk)):
        said = stream.get_last_error(ctypes.byref(stream))
        raise ValueError(f"the Arrow stream failed: {said.decode() if said else 'no reason given'}")
    return chunk if chunk.release else None


def _chunks(stream: _Stream) -> Iterator[_Column]:
    while (chunk := _next_chunk(stream)) is not None:
        yield chunk


def _columns(schema: _Schema) -> tuple[list[str], list[str]]:
    if schema.format != b"+s":
        raise ValueError("the Arrow stream is not a table: its items are no records of columns")
    fields = [schema.children[j].contents for j in range(schema.n_children)]
    names = [field.name.decode() for field in fields]
    kinds = [field.format.decode() for field in fields]
    for name, kind, field in zip(names, kinds, fields, strict=True):
        if (kind not in _ARROW_NUMBERS and kind != "b") or field.dictionary:
            raise ValueError(
                f"column '{name}' has the Arrow type '{kind}', which is no number; "
                "encode it first, for example with OneHotEncoder"
            )
    return names, kinds


def _read_stream(stream: _Stream) -> tuple[Array, list[str]]:
    schema = _Schema()
    chunks: list[_Column] = []
    if stream.get_schema(ctypes.byref(stream), ctypes.byref(schema)):
        raise ValueError("the Arrow stream has no schema")
    try:
        names, kinds = _columns(schema)
        chunks.extend(_chunks(stream))
        single = bool(kinds) and all(kind in "fe" for kind in kinds)
        rows = sum(chunk.length for chunk in chunks)
        X = np.empty((rows, len(names)), np.float32 if single else np.float64, order="F")
        at = 0
        for chunk in chunks:
            for j, kind in enumerate(kinds):
                column = chunk.children[j].contents
                cells = X[at : at + chunk.length, j]
                _fill_column(cells, column, chunk.offset, kind, names[j])
            at += chunk.length
        return X, names
    finally:
        for chunk in chunks:
            chunk.release(ctypes.byref(chunk))
        schema.release(ctypes.byref(schema))


def from_arrow(table: Any) -> tuple[Array, list[str]]:
    """Return the cells and the column names of a table with the Arrow C stream interface.

    Parameters
    ----------
    table : object with ``__arrow_c_stream__``
        A polars or pyarrow table of numbers and booleans without nulls.

    Returns
    -------
    X : ndarray of shape (n_rows, n_columns), column-major
    names : list of str

    Examples
    --------
    >>> import polars as pl
    >>> from priorboost.data import from_arrow
    >>> X, names = from_arrow(pl.DataFrame({"age": [31.0, 54.0], "smoker": [True, False]}))
    >>> X
    array([[31.,  1.],
           [54.,  0.]])
    >>> names
    ['age', 'smoker']
    """
    capsule = table.__arrow_c_stream__()
    stream = _Stream.from_address(_capsule_pointer(capsule, b"arrow_array_stream"))
    return _read_stream(stream)  # the capsule releases the stream


def _is_arrow(X: Any) -> bool:
    return hasattr(X, "__arrow_c_stream__") and type(X).__module__.split(".")[0] != "pandas"


# ---- Validation ----------------------------------------------------------------------------------


def _is_plain(X: Any) -> bool:
    """Whether X is an array that needs no conversion: what a fit usually gets."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and (X.dtype == _F64 or X.dtype == _F32)
        and X.size > 0
        and X.flags.aligned
    )


def _is_finite(X: Array) -> bool:
    """Whether a sum says that all numbers are finite; where it overflows, the slow way tells."""
    with np.errstate(over="ignore", invalid="ignore"):
        return math.isfinite(np.add.reduce(X, axis=None))


def require_finite(X: Array) -> None:
    """Raise what scikit-learn says of NaN and infinity, if X holds one."""
    if not _is_finite(X):
        check_array(X, dtype=[_F64, _F32], input_name="X")


def remember_columns(estimator: Any, X: Any, reset: bool) -> None:
    """Set or compare ``n_features_in_`` and ``feature_names_in_`` as scikit-learn does."""
    if _MODERN:
        from sklearn.utils.validation import validate_data

        validate_data(estimator, X, reset=reset, skip_check_array=True)
    else:
        estimator._check_feature_names(X, reset=reset)
        estimator._check_n_features(X, reset=reset)


def _remember_names(estimator: Any, names: list[str], reset: bool) -> None:
    """Do the same for columns whose names are known, from any table and in any scikit-learn."""
    if reset:
        estimator.n_features_in_ = len(names)
        estimator.feature_names_in_ = np.array(names, dtype=object)
        return
    expected = getattr(estimator, "feature_names_in_", None)
    if expected is not None and expected.tolist() != names:
        raise ValueError(
            "the feature names should match those that were passed during fit: "
            f"{', '.join(expected)}; they are {', '.join(names)}"
        )
    if len(names) != estimator.n_features_in_:
        raise ValueError(
            f"X has {len(names)} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input"
        )


def features(
    estimator: Any, X: Any, *, reset: bool, min_rows: int = 1, finite: bool = True
) -> Array:
    """Return X as an array the library can read, checked and (with reset) remembered.

    Parameters
    ----------
    estimator : estimator that owns ``n_features_in_`` and ``feature_names_in_``
    X : array-like or table of shape (n_rows, n_features)
    reset : bool
        Whether X defines the columns (fit) or must agree with them (predict).
    min_rows : int
        Fewer rows are an error.
    finite : bool
        Look for NaN and infinity at once; the caller may leave that to the library's own passes.

    Returns
    -------
    X : ndarray, float64 or float32
        The same memory if X was such an array.
    """
    if _is_plain(X) and X.shape[0] >= min_rows and not hasattr(estimator, "feature_names_in_"):
        if reset:
            estimator.n_features_in_ = X.shape[1]
        if X.shape[1] == estimator.n_features_in_ and (not finite or _is_finite(X)):
            return X  # type: ignore[no-any-return]
    cells, names = from_arrow(X) if _is_arrow(X) else (X, None)
    checked = check_array(
        cells,
        dtype=[_F64, _F32],
        ensure_min_samples=min_rows,
        estimator=estimator,
        input_name="X",
    )
    if names is None:
        remember_columns(estimator, X, reset)
    else:
        _remember_names(estimator, names, reset)
    return np.require(checked, requirements="A")


def response(y: Any, n_rows: int) -> Array:
    """Return labels as a contiguous float64 vector; finiteness is the oracle's to check."""
    if type(y) is np.ndarray and y.ndim == 1 and y.dtype == np.float64 and len(y) == n_rows:
        return np.ascontiguousarray(y)
    from sklearn.utils import check_consistent_length, column_or_1d

    y = check_array(y, ensure_2d=False, dtype=None, input_name="y", ensure_min_samples=0)
    y = column_or_1d(y, warn=True)
    check_consistent_length(range(n_rows), y)
    return np.ascontiguousarray(y, dtype=np.float64)


def as_floats(X: Any) -> Array:
    """Return a table of finite numbers as float64 or, where it is that, float32."""
    out: Array = check_array(
        from_arrow(X)[0] if _is_arrow(X) else X, dtype=[_F64, _F32], input_name="X"
    )
    return out


def by_row(values: Any, n_rows: int, name: str) -> Array | None:
    """Return one finite number per row as float64; None for None."""
    if values is None:
        return None
    out = np.ascontiguousarray(values, dtype=np.float64)
    if out.shape != (n_rows,):
        raise ValueError(
            f"{name} has the shape {out.shape}; it must have one number per row, ({n_rows},)"
        )
    if not np.isfinite(out).all():
        raise ValueError(f"{name} holds NaN or infinity; it must be finite")
    return out


# ---- Ids -----------------------------------------------------------------------------------------


def id_texts(ids: Any, n_rows: int) -> list[str]:
    """Return ids as the texts they are known by: the integer 12 and "12" are the same id.

    Examples
    --------
    >>> from priorboost.data import id_texts
    >>> id_texts([7, "8"], 2)
    ['7', '8']
    """
    values = ids.tolist() if hasattr(ids, "tolist") else list(ids)
    if len(values) != n_rows:
        raise ValueError(f"there are {len(values)} ids for {n_rows} rows")
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (str, int, np.integer)):
            raise ValueError(f"the id {value!r} is neither text nor an integer")
    texts = [str(value) for value in values]
    if len(set(texts)) < n_rows:
        seen: set[str] = set()
        twice = next(t for t in texts if t in seen or seen.add(t))  # type: ignore[func-returns-value]
        raise ValueError(f"the id '{twice}' names two rows; ids must be unique")
    return texts


def row_keys(texts: list[str]) -> Array:
    """Return what stands for each row in the shuffle, so that the order of rows does not matter."""
    key = lib.id_key
    return np.fromiter((key(t.encode()) for t in texts), np.uint64, len(texts))


def matrix(X: Array) -> _library.Matrix:
    """Describe features for the library; X must outlive the description."""
    return _library.matrix(X)


# ---- Standardisation -----------------------------------------------------------------------------


def moments(X: Array, *, center: bool) -> tuple[Array, Array]:
    """Return mean (0 without center) and standard deviation (1 for a constant) of each column."""
    mean, scale = np.empty(X.shape[1]), np.empty(X.shape[1])
    x = matrix(X)
    _library._check(lib.matrix_moments, _library.address(mean), _library.address(scale), x)
    scale[scale == 0.0] = 1.0
    return (mean if center else np.zeros_like(mean)), scale
