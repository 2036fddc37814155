"""Where the labels of a fit come from, and what is recorded of it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from . import _library
from .checkpoint import table_digest
from .data import Array
from .group import RemoteOracles
from .options import name_of
from .oracle import Oracle
from .remote import RemoteOracle
from .training import Settings

# Parameters that cannot be used with given bags.
NOTHING_TO_ASK = (
    "rounds",
    "algorithm",
    "bags",
    "bag_size",
    "schedule",
    "prior",
    "epsilon",
    "bounds",
    "step",
)


def check_sources(
    estimator: Any,
    y: Any,
    oracle: Any,
    bag: Any = None,
    answers: Any = None,
    unit: Any = None,
    sums: Any = None,
) -> None:
    """Refuse no source of labels, and two of them."""
    if sums is not None:
        if oracle is not None or answers is not None or bag is not None:
            raise ValueError(
                "sums cannot be used with an oracle or with answers; answers of bags are sums with "
                "the bag as their key"
            )
        y, answers, bag = None, sums, sums  # y has the labels that are known
    if (bag is None) != (answers is None):
        raise ValueError("bag and answers belong together: pass both, or neither")
    sources = (y is not None) + (oracle is not None) + (answers is not None)
    if sources == 0:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y "
            "is None, and there is no oracle either"
        )
    if oracle is not None and not isinstance(oracle, (Oracle, RemoteOracle, RemoteOracles)):
        raise TypeError(
            f"oracle is {oracle!r}; it must be an Oracle, such as InMemoryOracle, a RemoteOracle or"
            " RemoteOracles"
        )
    if sources > 1:
        names = "y and an oracle" if answers is None else "answers and y or an oracle"
        raise ValueError(f"both {names} were passed; labels come from one of them")
    if answers is not None:
        if unit is not None:
            raise ValueError("unit cannot be used with given bags: nothing is asked")
        for name in NOTHING_TO_ASK:
            if getattr(estimator, name) is not None:
                raise ValueError(f"{name} cannot be used with given bags: nothing is asked")


def describe_given(min_bag: int, seed: int | None) -> dict[str, Any]:
    """Return what is recorded of a fit to given answers."""
    return {
        "algorithm": "given",
        "estimator": None,
        "bags": "given",
        "min_bag": min_bag,
        "rounds": 1,
        "rows_spent": None,
        "epsilon": None,
        "l2": None,
        "simulated": False,
        "seed": seed,
    }


def describe_run(
    estimator: Any, oracle: Any, seed: int, ids: list[str] | None, keys: Array | None, X: Any
) -> dict[str, Any]:
    """Return what the questions of a training depend on, if the oracle keeps a checkpoint."""
    if getattr(oracle, "checkpoint", None) is None or ids is None or keys is None:
        return {}
    names = (
        "method",
        "rounds",
        "algorithm",
        "bags",
        "schedule",
        "bag_size",
        "standardize",
        "winsorize",
    )
    parameters = {name: getattr(estimator, name, None) for name in names}
    how = getattr(estimator, "estimator", None)
    return {
        "table": table_digest(ids, keys, X),
        "class": type(estimator).__name__,
        "seed": seed,
        "estimator": how if how is None or isinstance(how, str) else type(how).__name__,
        **{name: None if value is None else str(value) for name, value in parameters.items()},
    }


def describe(
    rules: _library.Rules, settings: Settings, has_seed: bool, simulated: bool
) -> dict[str, Any]:
    """Return what the model file says of a training, with room for what it will have given.

    Simulated: noise, if there is any, follows from a seed.
    """
    exact = Fraction(rules.epsilon.num, rules.epsilon.den) if rules.epsilon.den else None
    return {
        "algorithm": name_of("algorithm", settings.algorithm),
        "estimator": None,
        "bags": name_of("strategy", settings.bags),
        "min_bag": rules.min_bag,
        "rounds": None,
        "rows_spent": None,
        "epsilon": exact,
        "l2": None,
        "simulated": simulated and (exact is not None or rules.round),
        "seed": settings.seed if has_seed else None,
    }
