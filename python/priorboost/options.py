"""From the words of Python and scikit-learn to the numbers of the C library."""

from __future__ import annotations

import ctypes
import math
import numbers
import os
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from . import _library
from ._library import _check, lib

_RULES_SIZE = ctypes.sizeof(_library.Rules)
FAMILIES = {"linear": _library.LINEAR, "logistic": _library.LOGISTIC, "poisson": _library.POISSON}


@lru_cache(maxsize=64)
def choice(kind: str, name: str) -> int:
    """Return the number of an algorithm, estimator, schedule or strategy (kind) by its name."""
    if not isinstance(name, str):
        raise ValueError(f"{kind} is {name!r}; it must be the name of one")
    out = ctypes.c_int()
    _check(getattr(lib, kind + "_parse"), out, name.encode())
    return out.value


@lru_cache(maxsize=64)
def name_of(kind: str, number: int) -> str:
    """Return the name of an algorithm, estimator, schedule or strategy (kind)."""
    return str(getattr(lib, kind + "_name")(number).decode())


def threads_of(n_jobs: int | None) -> int:
    """Return the number of threads for scikit-learn's n_jobs; 0 means one per core.

    Examples
    --------
    >>> from priorboost.options import threads_of
    >>> threads_of(None), threads_of(-1), threads_of(3)
    (1, 0, 3)
    """
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, numbers.Integral):
        raise ValueError(f"n_jobs is {n_jobs!r}; it must be a whole number or None")
    if n_jobs == 0:
        raise ValueError("n_jobs is 0; it must be at least 1, negative, or None")
    if n_jobs < 0:
        return 0 if n_jobs == -1 else max(1, (os.cpu_count() or 1) + 1 + n_jobs)
    return int(n_jobs)


def seed_of(random_state: Any) -> tuple[bool, int]:
    """Return whether there is a seed, and the seed: 0 where there is none.

    As on the command line, without one the slices and bags are those of seed 0 and noise comes
    from the operating system; with one, noise is simulated.
    """
    if random_state is None:
        return False, 0
    if isinstance(random_state, numbers.Integral):
        seed = int(random_state)
        if not 0 <= seed < 2**64:
            raise ValueError(f"random_state is {seed}; it must be between 0 and 2^64 - 1")
        return True, seed
    if isinstance(random_state, np.random.RandomState):
        return True, int(random_state.randint(2**31))
    if isinstance(random_state, np.random.Generator):
        return True, int(random_state.integers(2**63))
    raise ValueError(
        f"random_state is {random_state!r}; it must be an integer, a RandomState, "
        "a Generator, or None"
    )


@lru_cache(maxsize=64)
def _parse_epsilon(text: str) -> tuple[int, int]:
    out = _library.Rational()
    _check(lib.rational_parse, out, text.encode())
    return out.num, out.den


def epsilon_of(epsilon: Any) -> tuple[int, int]:
    """Return epsilon as an exact fraction; (0, 0) for none.

    Numbers count as their shortest decimal: 0.1 is one tenth, not the nearest double.

    Examples
    --------
    >>> from priorboost.options import epsilon_of
    >>> epsilon_of(0.1), epsilon_of("1e-2"), epsilon_of(None)
    ((1, 10), (1, 100), (0, 0))
    >>> epsilon_of("1/3")
    (1, 3)
    """
    if epsilon is None or (isinstance(epsilon, float) and math.isinf(epsilon) and epsilon > 0):
        return 0, 0
    if isinstance(epsilon, (float, np.floating)):
        epsilon = repr(float(epsilon))
    if isinstance(epsilon, Fraction) or (isinstance(epsilon, str) and "/" in epsilon):
        exact = Fraction(epsilon)
        if exact <= 0 or exact.numerator >= 2**64 or exact.denominator >= 2**64:
            raise ValueError(f"epsilon is {epsilon}; it must be positive and fit 64-bit fractions")
        return exact.numerator, exact.denominator
    return _parse_epsilon(str(epsilon))


def family_of(name: Any) -> int:
    """Return the number of a family by its name."""
    if not isinstance(name, str) or name not in FAMILIES:
        raise ValueError(f"family is {name!r}; it must be one of {', '.join(FAMILIES)}")
    return FAMILIES[name]


def number_of(value: Any, name: str) -> float:
    """Return a number as a float."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {value!r}; it must be a number") from None


def _bounds_of(bounds: Any) -> tuple[float, float]:
    try:
        lower, upper = bounds
        return float(lower), float(upper)
    except (TypeError, ValueError):
        raise ValueError(f"bounds is {bounds!r}; it must be two numbers, (lo, hi)") from None


def count_of(value: Any, name: str) -> int:
    """Return a whole number of at least 1."""
    if type(value) is int and value > 0:
        return value
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1:
        raise ValueError(f"{name} is {value!r}; it must be a whole number of at least 1")
    return int(value)


def rules_of(
    min_bag: Any,
    epsilon: Any = None,
    bounds: Any = None,
    step: Any = None,
    round_answers: bool = False,
) -> _library.Rules:
    """Return the label holder's rules as the library takes them."""
    k = count_of(min_bag, "min_bag")
    if epsilon is None and bounds is None and step is None and not round_answers:
        return _library.Rules(_RULES_SIZE, k)
    num, den = epsilon_of(epsilon)
    if den and bounds is None:
        raise ValueError(
            "epsilon needs bounds=(lo, hi): the noise depends on the range of the labels"
        )
    if step is not None and bounds is None:
        raise ValueError("step needs bounds=(lo, hi)")
    lower, upper = (0.0, 0.0) if bounds is None else _bounds_of(bounds)
    return _library.Rules(
        _RULES_SIZE,
        k,
        _library.Rational(num, den),
        bounds is not None,
        lower,
        upper,
        0.0 if step is None else number_of(step, "step"),
        bool(round_answers),
    )


ANSWERS = {"mean": 0, "classes": 1, "columns": 2}
MECHANISMS = {"laplace": 0, "gaussian": 1}


def vector_rules(
    min_bag: Any,
    epsilon: Any,
    kind: str,
    width: int,
    columns: Any = (),
    mechanism: str = "laplace",
    delta: str | None = None,
    rho: str | None = None,
) -> _library.Rules:
    """Return the rules of answers of several numbers.

    Columns: lower, upper, step and share of each label column; none: they have no bounds.
    """
    rules = _library.Rules(_RULES_SIZE, count_of(min_bag, "min_bag"))
    rules.epsilon = _library.Rational(*epsilon_of(epsilon))
    rules.answer, rules.width = ANSWERS[kind], width
    rules.mechanism = MECHANISMS[mechanism]
    if delta is not None and rho is not None:
        rules.delta, rules.rho = (
            _library.Rational(*map(int, fraction.split("/"))) for fraction in (delta, rho)
        )
    if columns:
        lent = (_library.LabelColumn * len(columns))(*[_library.LabelColumn(*c) for c in columns])
        rules.bounded, rules.columns = True, ctypes.addressof(lent)
        rules.lent = lent  # lives as long as they do
    return rules


def l2_of(l2: float | str | None) -> _library.L2:
    """Return the penalty as the library has it: automatic, fixed or by cross-validation."""
    if l2 is None:
        return _library.L2(_library.L2_AUTO, 0.0)
    if l2 == "cv":
        return _library.L2(_library.L2_CV, 0.0)
    try:
        value = float(l2)
    except (TypeError, ValueError):
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"l2 is {l2!r}; it must be a number of at least 0, 'cv' or None")
    return _library.L2(_library.L2_FIXED, value)
