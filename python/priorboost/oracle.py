"""Oracles: what answers for the label holder.

`InMemoryOracle` holds labels and answers under rules; `RemoteOracle` describes a service that does.
A subclass of `Oracle` can answer in any other way.
"""

from __future__ import annotations

import ctypes
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from . import _library
from ._library import _check, lib
from .bags import Bags
from .data import Array, response
from .errors import PrivacyError
from .options import rules_of, seed_of
from .relay import Relay as Relay

__all__ = ["InMemoryOracle", "Oracle"]

_HOLDER_SIZE = ctypes.sizeof(_library.MemoryOracleOptions)


def borrowed_bags(bags: Any) -> Bags:
    """Copy bags that a callback borrows from C."""
    b = bags.contents
    return Bags(
        _library.copy_array(b.row, b.n_rows, np.uintp),
        _library.copy_array(b.start, b.n_bags + 1, np.uintp),
    )


class Oracle:
    """The interface of oracles: rules, and answers to questions about bags.

    To write one, set ``min_bag`` (and, if answers carry noise or labels have bounds, ``epsilon``,
    ``bounds`` and ``step``) and define `ask`.

    Examples
    --------
    >>> import numpy as np
    >>> from priorboost import Oracle, PriorBoostRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 2))
    >>> labels = X @ [2.0, -1.0]
    >>> class Registry(Oracle):
    ...     min_bag = 4
    ...     def ask(self, round, bags):
    ...         return [labels[rows].mean() for rows in bags]
    >>> model = PriorBoostRegressor(rounds=4).fit(X, oracle=Registry())
    >>> bool(np.abs(model.coef_ - [2, -1]).max() < 0.5)
    True
    """

    min_bag: int = 1
    epsilon: float | str | None = None
    bounds: tuple[float, float] | None = None
    step: float | None = None
    round_answers: bool = False
    simulated: bool = False  # the noise follows from a seed
    names: tuple[str, ...] | None = None  # of the classes or label columns, where there are several

    def ask(self, round: int, bags: Bags) -> npt.ArrayLike:
        """Return the (noisy) mean label of each bag; all bags are answered or none.

        Parameters
        ----------
        round : int
            Number of the round, from 0.
        bags : Bags
            Rows are numbered as in the X that is fitted.

        Returns
        -------
        array-like of shape (len(bags),)
        """
        raise NotImplementedError

    def noise_variance(self, bags: Bags) -> Array:
        """Return the variance of the noise in the answer of each bag; 0: there is none."""
        rules = rules_of(self.min_bag, self.epsilon, self.bounds, self.step)
        _check(lib.rules_check, rules)
        return np.array([lib.rules_noise_variance(rules, int(size)) for size in bags.sizes])

    def _choose_rows(self, ids: list[str] | None, run: dict[str, Any]) -> Array | None:
        """Return the numbers of the rows that take part, in their order; None: all."""
        return None

    def _recall(self, round: int) -> Bags | None:
        """Return the bags of a round that an earlier start of this run has begun."""
        return None

    def _connect(
        self,
        n_rows: int,
        ids: list[str] | None,
        relay: Relay,
        run: dict[str, Any],
        by_unit: bool = False,
        kinds: tuple[str, ...] = ("mean",),
    ) -> _library.Oracle:
        """Return the interface for C; it lives as long as this object and the relay.

        Run: what the questions depend on.  By unit: the rows were chosen so that no two are about
        the same.  Kinds: what the answers may be; others are refused before anything is asked.
        """
        rules = self._rules()
        _check(lib.rules_check, rules)
        by_bag = () if rules.width == 1 else (rules.width,)

        def answer(_: Any, round: int, bags: Any, out: Any, __: Any) -> int:
            def work() -> None:
                question = borrowed_bags(bags)
                answers = np.asarray(self.ask(round, question), dtype=np.float64)
                if answers.shape != (len(question), *by_bag):
                    raise ValueError(
                        f"the oracle gave answers of shape {answers.shape} "
                        f"to a question about {len(question)} bags"
                    )
                np.ctypeslib.as_array(out, answers.shape)[:] = answers

            return relay.status(work)

        interface = _library.Oracle(rules, None, _library.AskFunction(answer))
        interface.recall, interface.names, interface.lent = self._recall, self.names, rules
        return interface

    def _rules(self) -> _library.Rules:
        return rules_of(self.min_bag, self.epsilon, self.bounds, self.step, self.round_answers)


class InMemoryOracle(Oracle):
    """Labels in memory, with rules: bags of at least min_bag rows, each label in one answer only.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        The labels.
    min_bag : int
        Least rows in a bag.
    epsilon : float, str or None
        Label differential privacy per row; None: answers without noise.
    bounds : (float, float) or None
        Public bounds of the labels; needed with epsilon.
    step : float or None
        Labels are rounded to multiples of it; None: the largest power of two at most
        (hi - lo) / 2^20.
    clamp : bool
        Move labels outside the bounds to the nearest bound instead of refusing.
    round_answers : bool
        Answer 0 or 1, whichever is nearer to the (noisy) mean.
    random_state : int or None
        Simulate the noise from this seed; None: noise from the operating system.

    Attributes
    ----------
    rows_spent : int
        How many rows are spent.
    simulated : bool
        The noise follows from random_state: anyone who knows it can remove the noise.

    Examples
    --------
    >>> from priorboost import Bags, InMemoryOracle
    >>> oracle = InMemoryOracle([1.0, 3.0, 10.0, 20.0], min_bag=2)
    >>> oracle.ask(0, Bags([0, 1], [0, 2])).tolist()
    [2.0]
    >>> oracle.rows_spent
    2
    >>> oracle.ask(1, Bags([1, 2], [0, 2]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    priorboost.errors.PrivacyError: row 1 in bag 0 is spent; ...
    """

    def __init__(
        self,
        y: npt.ArrayLike,
        min_bag: int,
        *,
        epsilon: float | str | None = None,
        bounds: tuple[float, float] | None = None,
        step: float | None = None,
        clamp: bool = False,
        round_answers: bool = False,
        random_state: Any = None,
    ) -> None:
        labels = response(y, len(y))  # type: ignore[arg-type]
        rules = rules_of(min_bag, epsilon, bounds, step, round_answers)
        has_seed, seed = seed_of(random_state)
        self._handle = MemoryHandle(labels, rules, clamp, has_seed, seed)
        self.n_rows = len(labels)
        self.min_bag = min_bag
        self.epsilon = epsilon
        self.bounds = bounds
        self.step = step
        self.round_answers = round_answers
        self.simulated = has_seed and (bool(rules.epsilon.den) or round_answers)

    @property
    def rows_spent(self) -> int:
        """How many rows are spent."""
        return self._handle.rows_spent

    def ask(self, round: int, bags: Bags) -> Array:
        """Return the (noisy) mean label of each bag and mark its rows as spent."""
        answers = np.empty(len(bags))
        interface = self._handle.interface
        out = answers.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
        _check(interface.ask, interface.self, round, bags._borrow(), out)
        return answers

    def _connect(
        self,
        n_rows: int,
        ids: list[str] | None,
        relay: Relay,
        run: dict[str, Any],
        by_unit: bool = False,
        kinds: tuple[str, ...] = ("mean",),
    ) -> _library.Oracle:
        if n_rows != self.n_rows:
            raise ValueError(f"X has {n_rows} rows, but the oracle has {self.n_rows} labels")
        if self.rows_spent:
            raise PrivacyError(
                f"{self.rows_spent} of the oracle's {self.n_rows} rows are spent: an earlier fit "
                "used their labels, and each label can be used in one answer only; use the model "
                "of that fit, or make an InMemoryOracle of rows whose labels were not used; "
                "nothing was asked"
            )
        return self._handle.interface

    def __reduce__(self) -> Any:
        raise TypeError(
            "an InMemoryOracle cannot be pickled: it remembers which rows are spent, "
            "and a copy would use their labels again"
        )


def holder_of(clamp: bool, simulated: bool, seed: int) -> _library.MemoryOracleOptions:
    """Return how labels in memory are kept, as the library takes it."""
    return _library.MemoryOracleOptions(_HOLDER_SIZE, clamp, simulated, seed)


class MemoryHandle:
    """Owns a ``pboost_memory_oracle``."""

    __slots__ = ("handle", "interface")
    _free: ClassVar[Any] = lib.memory_oracle_free  # outlives the module at exit

    def __init__(
        self, labels: Array, rules: _library.Rules, clamp: bool, has_seed: bool, seed: int
    ) -> None:
        options = holder_of(clamp, has_seed, seed)
        handle = ctypes.c_void_p()
        at = _library.address(labels)
        _check(lib.memory_oracle_create, handle, at, len(labels), rules, options)
        self.handle = handle
        self.interface: _library.Oracle = lib.memory_oracle_interface(handle)

    def __del__(self) -> None:
        if hasattr(self, "handle"):
            self._free(self.handle)

    @property
    def rows_spent(self) -> int:
        return int(lib.memory_oracle_rows_spent(self.handle))
