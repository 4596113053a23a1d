"""The contract of an oracle: hypotheses with large edges under given example weights.

An oracle holds the examples, labels included, and a class of hypotheses h with values in [-1, 1]. Asked with a
distribution d over the examples it answers with columns u_n = y_n h(x_n) of large edge u . d. Where it knows a number
that no edge of its class exceeds, the whole class is bounded by it, and not only what was collected.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from boostopt.arguments import whole
from boostopt.errors import OptionError, shown
from boostopt.shapes import Array, Float, Num

State = Mapping[str, Any]
"""State of an object that is saved without pickle: numbers, strings, lists and arrays by name."""


class Hypothesis(ABC):
    """A hypothesis h with values in [-1, 1]; immutable, and equal to another if it is the same function by name."""

    kind: ClassVar[str]
    """The name under which it is saved."""

    @abstractmethod
    def __call__(self, X: Any) -> Float[Array, " n"]:
        """Return h(x) in [-1, 1] for each row of X, shape (n, features), dense or sparse.

        Raises
        ------
        ProblemError
            X has another number of features, or the hypothesis knows its values on the training examples only.
        """

    @abstractmethod
    def __str__(self) -> str:
        """Return the hypothesis in words, e.g. "feature 3 > 0.5"."""

    def in_words(self, names: Sequence[str]) -> str:
        """Return the hypothesis in words, its features by their names where it looks at few, e.g. "age > 40.5"."""
        return str(self)

    @abstractmethod
    def __hash__(self) -> int: ...

    @abstractmethod
    def __eq__(self, other: object) -> bool: ...

    @abstractmethod
    def state(self) -> State:
        """Return what `restored` makes it from."""

    @classmethod
    @abstractmethod
    def restored(cls, state: State) -> Hypothesis:
        """Return the hypothesis that was saved."""


@dataclass(frozen=True, eq=False)
class Column:
    """A hypothesis with its margins on the examples.

    Attributes
    ----------
    hypothesis
        The function.
    margins
        u_n = y_n h(x_n), shape (N,), in [-1, 1]: int8 where all are whole numbers (`as_stored`), float64 otherwise.
    edge
        u . d under the weights that the oracle was asked with.
    """

    hypothesis: Hypothesis
    margins: Num[Array, " N"]
    edge: float


def as_stored(margins: Float[Array, " N"]) -> Num[Array, " N"]:
    """Return margins in [-1, 1] as int8 where all are whole numbers."""
    whole = margins.astype(np.int8)
    return whole if np.array_equal(whole, margins) else margins


@dataclass(frozen=True, eq=False)
class Query:
    """The question to an oracle.

    Attributes
    ----------
    d
        Example weights, shape (N,). A formulation may have negative ones, as `md_boost` does.
    count
        How many columns are wanted at most.
    gain
        By how much the optimum of the program rises if the hypothesis with these margins joins: for oracles that
        choose by it. None where there is no program.
    varied
        Whether columns after the first may be chosen for being different from each other; else the largest edges are
        wanted.

    Raises
    ------
    OptionError
        Fewer columns than one are wanted.
    """

    d: Float[Array, " N"]
    count: int = 1
    gain: Callable[[Float[Array, " N"]], float] | None = None
    varied: bool = True

    def __post_init__(self) -> None:
        whole("count", self.count, 1, "a whole number of columns", "Ask for one or more.")


@dataclass(frozen=True, eq=False)
class Answer:
    """The answer of an oracle.

    Attributes
    ----------
    columns
        At least one and at most `count` different columns, the one with the largest edge first unless the oracle is
        made to choose otherwise.
    largest
        A number that no edge of the class exceeds under these weights, rounding included; None if none is known.
    preferred
        Whether the first column was preferred to one that is known with a larger edge: rules then measure what can be
        reached by `largest`, and not by the edge of that column.
    """

    columns: tuple[Column, ...]
    largest: float | None
    preferred: bool = False


class Oracle(ABC):
    """The examples and a class of hypotheses."""

    reflexive: bool = False
    """Whether the class holds with every hypothesis its negation."""

    guarantee: float | None = None
    """An edge that every answer is promised to reach, whatever the weights; None if nothing is promised."""

    mixed: bool = False
    """Whether the class holds hypotheses of several kinds, and `margins_of` refuses those of others."""

    @property
    @abstractmethod
    def N(self) -> int:
        """Number of examples that count."""

    @property
    def c(self) -> Float[Array, " N"]:
        """Multiplicities of the examples, positive."""
        return np.ones(self.N)

    @property
    @abstractmethod
    def y(self) -> Num[Array, " N"] | None:
        """Labels -1 and 1, None where only margins are known."""

    @property
    def total(self) -> float:
        """Number of examples with multiplicity."""
        return float(self.c.sum())

    @property
    def balance(self) -> float:
        """Number of examples of class 1 less those of class -1, with multiplicity; 0 where nothing is known."""
        return 0.0 if self.y is None else float(self.c @ self.y)

    @property
    def majority(self) -> int:
        """The class of more examples, 1 where both have as many or nothing is known."""
        return 1 if self.balance >= 0.0 else -1

    @abstractmethod
    def best(self, query: Query) -> Answer:
        """Return hypotheses with large edges under the weights of the query."""

    def check_features(self, X: Any) -> None:  # noqa: B027 nothing is known of hypotheses of one's own
        """Raise ProblemError where hypotheses cannot be evaluated on X, or on `Features`, as far as can be told."""

    def margins_of(self, hypothesis: Hypothesis) -> Num[Array, " N"] | None:
        """Return the margins of a hypothesis on the examples, None where the oracle cannot tell them.

        Raises
        ------
        ProblemError
            The class has no such hypothesis. Oracles that bound their class refuse all that are not in it.
        """
        return None

    def members(self) -> Iterable[Hypothesis] | None:
        """Return all hypotheses of a class that has few: checks hold `best` against them. None where it has many."""
        return None

    @abstractmethod
    def __str__(self) -> str:
        """Return the class in words, e.g. "decision stumps on 30 features, both directions"."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self}; N = {self.N})"

    @property
    @abstractmethod
    def digest(self) -> str:
        """A number for the examples and the class: a checkpoint of other data is refused by it."""

    def state(self) -> State:
        """Return what changes from call to call, for checkpoints: the state of a random generator, a position."""
        return {}

    def restore(self, state: State) -> None:  # noqa: B027 most oracles have nothing to restore
        """Go on from a state."""


def check_oracle(oracle: object) -> None:
    """Raise OptionError unless it is an oracle."""
    if not isinstance(oracle, Oracle):
        raise OptionError(f"expected an oracle; got {shown(oracle)}. Make one: boostopt.oracles has several.")
