"""The contract of an oracle: hypotheses with large edges under given example weights.

An oracle holds the examples with their labels, and a class of hypotheses h with values in [-1, 1]. For a distribution d
over the examples, it returns columns u_n = y_n h(x_n) with large edges u . d. If it knows a number that no edge of its
class exceeds, the bound holds for the whole class, not only for the collected hypotheses.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Float, Num
from boostopt._utils.immutable_arrays import ImmutableArrays
from boostopt._utils.validation import check_integer
from boostopt.errors import OptionError, ProblemError, reason_of, short_repr

StateDict = Mapping[str, Any]
"""The state of an object, for saving it without pickle: numbers, strings, lists and arrays by name."""


class Predictor:
    """A hypothesis or a class of hypotheses, whose votes predict one of the classes -1 and 1 by default."""

    @property
    def class_labels(self) -> tuple[Any, ...] | None:
        """The labels of K classes if h has a value for each class, so that h(X) has shape (n, K); otherwise None."""
        return None

    @property
    def target_scale(self) -> tuple[float, float] | None:
        """(m, r) if a vote f of such hypotheses predicts the number m + r f(x); None if it predicts a class."""
        return None


class Hypothesis(Predictor, ABC):
    """A hypothesis h with values in [-1, 1]; immutable. Two hypotheses are equal if they name the same function."""

    kind: ClassVar[str]
    """The name of the class in files."""

    @property
    def is_evaluable(self) -> bool:
        """False if the hypothesis came from a file that does not hold what computes its values."""
        return True

    @abstractmethod
    def __call__(self, X: Any) -> Float[Array, "n ..."]:
        """Return h(x) in [-1, 1] for each row of X, shape (n, features), dense or sparse.

        A hypothesis with a value for each of K classes returns shape (n, K), any other one shape (n,).

        Raises
        ------
        ProblemError
            X has a different number of features, or the hypothesis knows only its values on the training examples.
        """

    @abstractmethod
    def __str__(self) -> str:
        """Return the hypothesis in words, e.g. "feature 3 > 0.5"."""

    def in_words(self, names: Sequence[str]) -> str:
        """Return the hypothesis in words; if it uses few features, they get their names, e.g. "age > 40.5"."""
        return str(self)

    def signed_form(self) -> tuple[Hypothesis, int]:
        """Return a hypothesis g and a sign s, 1 or -1, with h = s g. If -h is known too, it has the same g."""
        return self, 1

    @abstractmethod
    def __hash__(self) -> int: ...

    @abstractmethod
    def __eq__(self, value: object) -> bool: ...

    @abstractmethod
    def state(self) -> StateDict:
        """Return the state from which `restored` rebuilds the hypothesis."""

    @classmethod
    @abstractmethod
    def restored(cls, state: StateDict) -> Hypothesis:
        """Return the hypothesis with a saved state."""


@dataclass(frozen=True, eq=False)
class Column:
    """A hypothesis with its margins on the examples.

    Attributes
    ----------
    hypothesis
        The function.
    margins
        u_n = y_n h(x_n), shape (N,), in [-1, 1]: int8 if all are whole numbers (`compact_margins`), float64 otherwise.
    edge
        u . d under the weights of the query.
    """

    hypothesis: Hypothesis
    margins: Num[Array, " N"]
    edge: float


def compact_margins(margins: ExampleVector) -> Num[Array, " N"]:
    """Return margins in [-1, 1], as int8 if all are whole numbers."""
    whole = margins.astype(np.int8)
    return whole if np.array_equal(whole, margins) else margins


@dataclass(frozen=True, eq=False)
class Query(ImmutableArrays):
    """A query of an oracle.

    Attributes
    ----------
    d
        Example weights, shape (N,). Some formulations, such as `md_boost`, have negative ones.
    count
        The largest number of columns wanted.
    gain
        The increase of the optimum of the program if a hypothesis with these margins is added, as a function of the
        margins. It is for oracles that choose by this increase. None if there is no program.
    diverse
        Whether the columns after the first may be chosen for their differences; otherwise the largest edges are wanted.

    Raises
    ------
    OptionError
        `count` is less than 1.
    """

    d: ExampleVector
    count: int = 1
    gain: Callable[[ExampleVector], float] | None = None
    diverse: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("count", self.count, 1, "a whole number of columns", "Ask for one or more.")


@dataclass(frozen=True, eq=False)
class Answer:
    """The answer of an oracle.

    Attributes
    ----------
    columns
        At least one and at most `count` different columns. The column with the largest edge comes first, unless the
        oracle has another rule of choice.
    edge_bound
        An upper bound of all edges of the class under these weights, rounding included; None without a bound.
    not_best_edge
        Whether the oracle preferred the first column to a known column with a larger edge. Stopping rules then use
        `edge_bound` as the largest edge, and not the edge of the first column.
    """

    columns: tuple[Column, ...]
    edge_bound: float | None
    not_best_edge: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.edge_bound, np.floating):  # comparisons with NumPy floats return no bool
            object.__setattr__(self, "edge_bound", float(self.edge_bound))


class HypothesisClass(Predictor, ABC):
    """A class of hypotheses over examples, with numbers about the examples but no array of them.

    An `Oracle` is such a class over examples in memory. Other classes support data passes only, because their rows are
    on a cluster, or nothing at all, because their rows are gone.
    """

    reflexive: bool = False
    """True if the class contains the negation of every hypothesis."""

    @property
    @abstractmethod
    def N(self) -> int:
        """Number of examples that count."""

    @property
    def n_rows(self) -> int:
        """Number of rows passed to the class: the examples that count, and the rows of multiplicity 0."""
        return self.N

    def select_examples(self, values: Num[Array, " rows"]) -> Num[Array, " selected"]:
        """Return the values of the examples that count, from one value for each row passed to the class.

        An array of another shape is returned unchanged. So is every array if all rows count.
        """
        return values

    @property
    @abstractmethod
    def total(self) -> float:
        """Number of examples, counted with multiplicity."""

    @property
    @abstractmethod
    def balance(self) -> float:
        """Difference of the numbers of examples with label 1 and -1, with multiplicity; 0 without labels."""

    @property
    def majority(self) -> int:
        """The class label with more examples, 1 or -1; 1 if both are equal or there are no labels."""
        return 1 if self.balance >= 0.0 else -1

    def check_features(self, X: Any) -> None:  # nothing is known about the user's own hypotheses
        """Raise ProblemError if the class can tell that hypotheses cannot be evaluated on X, or on `Features`."""

    @abstractmethod
    def __str__(self) -> str:
        """Return the class in words, e.g. "decision stumps on 30 features, both directions"."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self}; N = {self.N})"

    def unsupported_error(self, request: str) -> ProblemError:
        """Return the error for a request that needs an oracle, that is, the examples in memory."""
        return aggregates_only_error(request)


class DerivedClass(HypothesisClass):
    """A class of hypotheses that is made from another one, whose examples it has.

    Parameters
    ----------
    hypotheses
        The other class.
    """

    def __init__(self, hypotheses: HypothesisClass) -> None:
        self._hypotheses = hypotheses

    @property
    def N(self) -> int:
        return self._hypotheses.N

    @property
    def n_rows(self) -> int:
        return self._hypotheses.n_rows

    def select_examples(self, values: Num[Array, " rows"]) -> Num[Array, " selected"]:
        return self._hypotheses.select_examples(values)

    @property
    def class_labels(self) -> tuple[Any, ...] | None:
        return self._hypotheses.class_labels

    @property
    def target_scale(self) -> tuple[float, float] | None:
        return self._hypotheses.target_scale

    @property
    def total(self) -> float:
        return self._hypotheses.total

    @property
    def balance(self) -> float:
        return self._hypotheses.balance

    def check_features(self, X: Any) -> None:
        self._hypotheses.check_features(X)


class Oracle(HypothesisClass):
    """A set of examples in memory and a class of hypotheses."""

    guarantee: float | None = None
    """An edge that every answer reaches for all weights; None if there is no such guarantee."""

    heterogeneous: bool = False
    """True if the class contains hypotheses of several kinds, and `margins_of` refuses all other kinds."""

    @property
    def c(self) -> ExampleVector:
        """Multiplicities of the examples, positive."""
        return np.ones(self.N)

    @property
    @abstractmethod
    def y(self) -> Num[Array, " N"] | None:
        """Labels -1 and 1, None if only margins are known."""

    @property
    def total(self) -> float:
        return float(self.c.sum())

    @property
    def balance(self) -> float:
        return 0.0 if self.y is None else float(self.c @ self.y)

    @abstractmethod
    def best(self, query: Query) -> Answer:
        """Return hypotheses with large edges under the weights of the query."""

    def margins_of(self, hypothesis: Hypothesis) -> Num[Array, " N"] | None:
        """Return the margins of a hypothesis on the examples, None if the oracle does not know them.

        Raises
        ------
        ProblemError
            The class has no such hypothesis. Oracles that bound their class refuse all hypotheses outside it.
        """
        return None

    def members(self) -> Iterable[Hypothesis] | None:
        """Return all hypotheses of a small class, with which checks compare `best`; None for a large class."""
        return None

    @property
    @abstractmethod
    def digest(self) -> str:
        """A hash of the examples and the class: a run refuses a checkpoint with another hash."""

    def state(self) -> StateDict:
        """Return the state that changes from call to call, for checkpoints: of a random generator, or a position."""
        return {}

    def restore(self, state: StateDict) -> None:
        """Continue from a state. Most oracles have nothing to restore."""


class GroupedOracle(Oracle):
    """An oracle whose hypotheses fall into groups with costs: columns of a matrix, or stumps by their feature."""

    @property
    @abstractmethod
    def n_groups(self) -> int:
        """Number of groups."""

    def read_costs(self, costs: Float[Array, " costs"]) -> Float[Array, " groups"]:
        """Return one cost for each group, from the costs of a budget; by default, these are one for each group.

        Raises
        ------
        ProblemError
            The number of costs is another one.
        """
        if len(costs) != self.n_groups:
            raise ProblemError(
                f"a budget needs one cost for each of the {self.n_groups} groups of {self}; got {len(costs)}. Pass one "
                "for each."
            )
        return costs

    @abstractmethod
    def group_of(self, hypothesis: Hypothesis) -> int:
        """Return the number of the group of a hypothesis of the class, from 0."""

    @abstractmethod
    def best_after_costs(self, query: Query, costs: Float[Array, " groups"]) -> Answer:
        """Return hypotheses with the largest edges less the costs of their groups, any finite numbers.

        The edges of the columns are those under the weights. `edge_bound` bounds the edge less the cost of every
        hypothesis of the class, rounding included.
        """


def aggregates_only_error(request: str) -> ProblemError:
    """Return the error for a request that rows on a cluster do not support."""
    return ProblemError(
        "rows on a cluster support data passes only, which boost uses for LPBoost, ERLPBoost, SoftBoost and "
        f"similar programs without options of steps; got a request for {request}. For anything else, load the rows "
        "into memory: X.compute(), y.compute(); in a command, leave out --cluster."
    )


def require_oracle(hypotheses: HypothesisClass, request: str) -> Oracle:
    """Return a class with its examples in memory.

    Raises
    ------
    OptionError
        The argument is no class of hypotheses.
    ProblemError
        The class does not hold its examples; the message names the request.
    """
    check_oracle(hypotheses)
    if isinstance(hypotheses, Oracle):
        return hypotheses
    raise hypotheses.unsupported_error(request)


def check_oracle(oracle: object) -> None:
    """Raise OptionError unless the argument is an oracle, or a class of hypotheses over rows on a cluster."""
    if not isinstance(oracle, HypothesisClass):
        raise OptionError(f"expected an oracle; got {short_repr(oracle)}. Make one: boostopt.oracles has several.")


def check_oracle_factory(factory: Any, X: Any, y: Any, c: Any, description: str) -> None:
    """Raise OptionError unless a class or a function takes features, labels and multiplicities."""
    try:
        inspect.signature(factory).bind(X, y, c)
    except (TypeError, ValueError) as fault:
        function = factory.func if isinstance(factory, partial) else factory
        name = getattr(function, "__name__", short_repr(function))
        advice = (
            f"Give it a third argument, the multiplicities of the examples: {name}.__init__(self, X, y, c=None)."
            if isinstance(function, type)
            else "Write lambda X, y, c: ..., where c are the multiplicities of the examples."
        )
        raise OptionError(
            f"{description} must take (X, y, c); {name} does not: {reason_of(fault)}. {advice}"
        ) from fault
