"""Features, labels and ids from arrays and tables, without a copy if possible.

float64 and float32 arrays with any strides are passed to the library without a copy.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import sklearn
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from . import _library
from ._library import lib
from .arrow import from_arrow, is_arrow

Array = npt.NDArray[Any]
_F64, _F32 = np.dtype(np.float64), np.dtype(np.float32)
_MODERN = tuple(int(part) for part in sklearn.__version__.split(".")[:2]) >= (1, 6)

# ---- Validation ----------------------------------------------------------------------------------


def _is_finite(X: Array) -> bool:
    """Whether all numbers are finite, by their sum; if it overflows, each number is checked."""
    with np.errstate(over="ignore", invalid="ignore"):
        return math.isfinite(np.add.reduce(X, axis=None))


def require_finite(X: Array) -> None:
    """Raise scikit-learn's error about NaN and infinity, if X has one."""
    if not isinstance(X, np.ndarray):  # sparse rows, which scikit-learn has checked
        return
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
    if type(X) is np.ndarray and X.ndim == 2 and (X.dtype == _F64 or X.dtype == _F32):
        rows, cols = X.shape  # an array that needs no conversion is what a fit usually gets
        named = "feature_names_in_" in vars(estimator)
        if rows >= min_rows and cols > 0 and X.flags.aligned and not named:
            if reset:
                estimator.n_features_in_ = cols
            if cols == estimator.n_features_in_ and (not finite or _is_finite(X)):
                return X
    cells, names = from_arrow(X) if is_arrow(X) else (X, None)
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
    """Return labels as a contiguous float64 vector; the oracle checks that they are finite."""
    if type(y) is np.ndarray and y.ndim == 1 and y.dtype == _F64 and len(y) == n_rows:
        return y if y.flags.c_contiguous else np.ascontiguousarray(y)
    y = check_array(y, ensure_2d=False, dtype=None, input_name="y", ensure_min_samples=0)
    y = column_or_1d(y, warn=True)
    check_consistent_length(range(n_rows), y)
    _refuse_gaps(y)
    try:
        return np.ascontiguousarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"y holds {_first_text(y)!r}; labels must be numbers (two classes of texts are for "
            "PriorBoostClassifier)"
        ) from None


def _first_text(y: Array) -> Any:
    return next((v for v in y.tolist() if not isinstance(v, (int, float))), y[0])


def _refuse_gaps(y: Array) -> None:
    """Refuse labels of objects that are missing; of numbers, the oracle does."""
    if y.dtype != object:
        return
    for row, value in enumerate(y.tolist()):
        if value is None or type(value).__name__ == "NAType" or value != value:
            raise ValueError(f"y is missing in row {row} (counted from 0); leave such rows out")


def class_labels(y: Any, n_rows: int, several: bool) -> tuple[Array, Array]:
    """Return the classes and the number of each row's class.

    There are two classes or, where `several` are possible, more.
    """
    y = column_or_1d(y, warn=True)
    check_consistent_length(range(n_rows), y)
    _refuse_gaps(y)
    check_classification_targets(y)
    possible = ("binary", "multiclass") if several else ("binary",)
    if type_of_target(y) not in possible:
        values, rows = np.unique(y, return_counts=True)
        listed = [f"{v!r} in {n} rows" for v, n in zip(values.tolist(), rows, strict=True)]
        raise ValueError(
            "Only binary classification is supported. The type of the target is "
            f"{type_of_target(y)}: {', '.join(listed[:5])}{', ...' if len(listed) > 5 else ''}."
        )
    classes, labels = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"the labels hold only one class, {classes[0]!r}; two are needed")
    return classes, labels.astype(np.float64)


def as_floats(X: Any) -> Array:
    """Return a table of finite numbers as float64 or, where it is that, float32."""
    out: Array = check_array(
        from_arrow(X)[0] if is_arrow(X) else X, dtype=[_F64, _F32], input_name="X"
    )
    return out


_MOST_LEVELS = 32  # of a column: rarer ones make no bags of their own


def _indicators(column: Array) -> Array:
    """Return one column of 0 and 1 for each of the most frequent levels but the first."""
    texts = np.array([str(v) for v in column])
    _, code, count = np.unique(texts, return_inverse=True, return_counts=True)
    frequent = np.argsort(-count, kind="stable")[1:_MOST_LEVELS]
    return np.asarray(code.reshape(-1, 1) == frequent, dtype=np.float64)


def coordinates(X: Any) -> Array:
    """Return a table of any columns as numbers to make bags from.

    Missing numbers become the mean of their column, text and categories indicators; a sparse table
    becomes dense.

    Examples
    --------
    >>> import numpy as np
    >>> from priorboost.data import coordinates
    >>> coordinates(np.array([[1.0, np.nan], [3.0, 4.0], [5.0, 8.0]])).tolist()
    [[1.0, 6.0], [3.0, 4.0], [5.0, 8.0]]
    >>> coordinates(np.array([["a"], ["b"], ["a"]], dtype=object)).tolist()
    [[0.0], [1.0], [0.0]]
    """
    if hasattr(X, "columns"):
        columns = [np.asarray(X[name]) for name in X.columns]
    else:
        columns = list((X.toarray() if hasattr(X, "toarray") else np.asarray(X)).T)
    if not columns:
        check_array(X)  # says it in scikit-learn's words
    out = []
    for column in columns:
        try:
            values = column.astype(np.float64).reshape(-1, 1)
        except (TypeError, ValueError):
            out.append(_indicators(column))
            continue
        known = np.isfinite(values)
        mean = values[known].mean() if known.any() else 0.0
        out.append(np.where(known, values, mean))
    return np.ascontiguousarray(np.hstack(out))


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


def weights_of(values: Any, n_rows: int) -> Array | None:
    """Return one weight per row as float64; None for None."""
    out = by_row(values, n_rows, "weight")
    if out is not None and out.min() < 0.0:
        raise ValueError(f"weight holds {out.min():g}; a weight is at least 0")
    if out is not None and out.size and out.max() == 0.0:
        raise ValueError("the weight of every row is zero; at least one must be more")
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


def number_names(names: Any, n_rows: int, what: str) -> tuple[list[str], Array]:
    """Return the names in a column, in the order of their first rows, and the number of each row's.

    Examples
    --------
    >>> from priorboost.data import number_names
    >>> names, number = number_names(["north", "south", "north"], 3, "bag")
    >>> names, number.tolist()
    (['north', 'south'], [0, 1, 0])
    """
    values = names.tolist() if hasattr(names, "tolist") else list(names)
    if len(values) != n_rows:
        raise ValueError(f"{what} names {len(values)} rows, but X has {n_rows}")
    number: dict[str, int] = {}
    codes = [number.setdefault(name_text(v, what), len(number)) for v in values]
    return list(number), np.array(codes, dtype=np.intp)


def name_text(name: Any, what: str) -> str:
    """Return the text that a bag or a unit is known by: the integer 12 and "12" are the same."""
    if isinstance(name, bool) or not isinstance(name, (str, int, np.integer)):
        whole = isinstance(name, float) and name.is_integer()
        remedy = "; convert the column with .astype(int)" if whole else ""
        raise ValueError(f"the {what} {name!r} is neither text nor an integer{remedy}")
    return str(name)


def one_row_a_unit(unit: Array, keep: Array | None, keys: Array | None) -> Array:
    """Return one row of each unit among those that are kept (None: all), as the command line does.

    It is the row with the least key; without keys the first.

    Examples
    --------
    >>> import numpy as np
    >>> from priorboost.data import one_row_a_unit
    >>> one_row_a_unit(np.array([0, 1, 0, 1]), np.array([True, False, True, True]), None).tolist()
    [True, False, False, True]
    """
    rows = np.arange(len(unit)) if keep is None else np.flatnonzero(keep)
    if keys is not None:
        rows = rows[np.argsort(keys[rows], kind="stable")]
    out = np.zeros(len(unit), dtype=bool)
    out[rows[np.unique(unit[rows], return_index=True)[1]]] = True
    return out


def choose_rows(
    n_rows: int, rows: Array | None, unit: Array | None, keys: Array | None
) -> Array | None:
    """Return rows in this order (None: all), one of each unit; None: all as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from priorboost.data import choose_rows
    >>> choose_rows(4, np.array([3, 0, 1]), np.array([0, 1, 0, 1]), None).tolist()
    [0, 1]
    >>> choose_rows(2, np.array([0, 1]), None, None) is None
    True
    """
    if unit is not None:
        keep = None if rows is None else np.bincount(rows, minlength=n_rows) > 0
        stands = one_row_a_unit(unit, keep, keys)
        rows = np.flatnonzero(stands) if rows is None else rows[stands[rows]]
    if rows is None or np.array_equal(rows, np.arange(n_rows)):
        return None
    return rows


def row_keys(texts: list[str]) -> Array:
    """Return the key of each row in the shuffle, so that the order of rows does not matter."""
    key = lib.id_key
    return np.fromiter((key(t.encode()) for t in texts), np.uint64, len(texts))


def matrix(X: Array) -> _library.Matrix:
    """Describe features for the library; X must outlive the description."""
    return _library.matrix(X)
