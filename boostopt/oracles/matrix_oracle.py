"""The oracle of a margin matrix: its columns, optionally with their negations, are the class of hypotheses."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from boostopt._utils.array_types import Array, ExampleVector, Float, Int, Num, is_dask_collection
from boostopt._utils.json_values import parse_count, read_integer
from boostopt._utils.validation import check_array, check_flag, check_number, check_optional, check_seed
from boostopt.errors import OptionError, ProblemError, short_repr, unknown_name
from boostopt.oracles.base import Answer, Column, GroupedOracle, Hypothesis, Query, StateDict, compact_margins
from boostopt.oracles.distributed.cluster_classes import DistributedClass, DistributedEncoder, Placeable, subclass_error
from boostopt.oracles.distributed.sign_columns import encode_signs, sign_rows
from boostopt.oracles.feature_validation import FeatureHypothesis, FeatureMatrix
from boostopt.oracles.labelled_examples import check_multiplicities, select_counting
from boostopt.oracles.top_k import top_k
from boostopt.oracles.weight_scaling import MACHINE_EPSILON, scaled_weights, unscaled_upper_bound
from boostopt.rows.margin_matrix import MarginMatrix
from boostopt.rows.row_block import Split

CHOICES = ("best", "weakest", "random", "largest_increase")
"""Choices of GivenMargins, apart from an order."""


EDGE_DOMAIN: tuple[str, Callable[[float], bool], str] = (
    "an edge, a number in [-1, 1]",
    lambda edge: -1.0 <= edge <= 1.0,
    "Pass an edge that every answer reaches.",
)
"""A guarantee in words, the test of a guarantee, and advice."""


@dataclass(frozen=True)
class MatrixColumn(FeatureHypothesis):
    """A column of a given matrix, or its negation.

    Its features are the values of the hypotheses: call it with the matrix H[n, q] = h_q(x_n).

    Attributes
    ----------
    q
        The column, from 0.
    sign
        1, or -1 for the negation.

    Raises
    ------
    ProblemError
        The number is negative, or the sign is neither 1 nor -1.
    """

    kind: ClassVar[str] = "given"

    q: int
    sign: int = 1

    def __post_init__(self) -> None:
        if self.q < 0 or self.sign not in (-1, 1):
            raise ProblemError(
                f"a given hypothesis has a column number from 0 and the sign 1 or -1; got column {self.q}, sign "
                f"{self.sign}. Correct that one."
            )

    def values_on(self, features: FeatureMatrix) -> Float[Array, " n"]:
        """Return sign * X[:, q] for the values X of all hypotheses, shape (n, t), dense or sparse.

        Raises
        ------
        ProblemError
            X is not a matrix with a column q, or this column has values outside [-1, 1].
        """
        h = features.raw_column(self.q)
        if h is None:
            raise ProblemError(
                "a given hypothesis knows its column number alone: X must hold the values of all hypotheses, shape "
                f"(n, t) with t > {self.q}; got shape {np.shape(features.raw)}. Pass that matrix."
            )
        if h.dtype.kind not in "iuf" or not (np.abs(h) <= 1).all():
            raise ProblemError(
                f"X must hold the values of the hypotheses, numbers in [-1, 1]; got {h.dtype} and other values in "
                f"column {self.q}. Divide each hypothesis by its largest absolute value."
            )
        return self.sign * h.astype(np.float64)

    def __str__(self) -> str:
        return f"{'-' if self.sign < 0 else ''}column {self.q}"

    def state(self) -> StateDict:
        return {"q": self.q, "sign": self.sign}

    @classmethod
    def restored(cls, state: StateDict) -> MatrixColumn:
        return cls(read_integer(state, "q"), read_integer(state, "sign"))


class GivenMargins(GroupedOracle, Placeable):
    """The columns of a given margin matrix as a class of hypotheses.

    Exact: `Answer.largest` bounds the whole class, whichever column is chosen.

    Parameters
    ----------
    U
        Margins u_nq = y_n h_q(x_n), shape (N, t), in [-1, 1]: an array, a sparse matrix or Margins. A `dask.array` or a
        `dask.dataframe` of only -1 and 1, such as votes of classifiers, stays on the cluster of the default client. The
        options for the choice of columns do not apply there: see `DistributedMargins`.
    choose
        The rule for the column: "best" has the largest edge, "weakest" has the smallest edge that reaches the
        guarantee, "random" is drawn uniformly, "largest_increase" raises the optimum of the program most. Or an order:
        a list of column numbers, one for each call; after them, the best. If there is a guarantee, all rules but an
        order choose among the columns that reach it.
    guarantee
        An edge in [-1, 1] that some column reaches for all weights. It is checked in every call, up to rounding.
    c
        Multiplicities of the examples, shape (N,), non-negative; examples with 0 are left out. On a cluster, whole
        numbers up to 2^20: an array for a `dask.array`; a series of a `dask.dataframe`, or the name of one of its
        columns, which then is not a margin.
    reflexive
        Whether the negations of the columns belong to the class too.
    random_state
        Seed for "random", 0 or larger.

    Raises
    ------
    ProblemError
        U is not a margin matrix, or c are not multiplicities of its examples.
    OptionError
        The choice is unknown, a column number does not exist, or the guarantee is missing or outside [-1, 1].
    """

    reflexive: bool
    guarantee: float | None
    _selection: tuple[Int[Array, " N"], int] | None = None
    """The rows that count, and the number of all rows; None if all count."""

    def __init__(
        self,
        U: Any,
        choose: npt.ArrayLike = "best",
        guarantee: float | None = None,
        c: npt.ArrayLike | None = None,
        reflexive: bool = False,
        random_state: int = 0,
    ) -> None:
        guarantee = _check_choice(choose, guarantee)
        random_state, reflexive = check_seed("random_state", random_state), check_flag("reflexive", reflexive)
        self.reflexive, self.guarantee = reflexive, guarantee
        self._choice = choose if isinstance(choose, str) else "best"
        self._seed, self._calls = random_state, 0
        if is_dask_collection(U):
            raise subclass_error(self, GivenMargins)
        margins = MarginMatrix(U)
        rows, self._c = check_multiplicities(c, margins.N)
        self._selection = None if len(rows) == margins.N else (rows, margins.N)
        self._U = margins if len(rows) == margins.N else margins.take_rows(rows)
        self._t = margins.t
        self._order = () if isinstance(choose, str) else _check_order(choose, self._t)

    @property
    def N(self) -> int:
        return self._U.N

    @property
    def c(self) -> ExampleVector:
        return self._c

    @property
    def y(self) -> None:
        return None

    @property
    def n_rows(self) -> int:
        return self.N if self._selection is None else self._selection[1]

    def select_examples(self, values: Num[Array, " rows"]) -> Num[Array, " selected"]:
        return values if self._selection is None else select_counting(values, *self._selection)

    def margins_of(self, hypothesis: Hypothesis) -> Num[Array, " N"] | None:
        """Return the margins of a column, or of its negation if the class contains it.

        Raises
        ------
        ProblemError
            The class has no such hypothesis.
        """
        if (
            not isinstance(hypothesis, MatrixColumn)
            or hypothesis.q >= self._U.t
            or (hypothesis.sign < 0 and not self.reflexive)
        ):
            raise ProblemError(f"expected a hypothesis of {self}; got {hypothesis}. Pass the oracle of its class.")
        return hypothesis.sign * self._U.column(hypothesis.q)

    def best(self, query: Query) -> Answer:
        """Return the chosen columns; only one while the oracle follows an order.

        Raises
        ------
        ProblemError
            The weights are not one finite number for each example; no column, or not the next one of the order, reaches
            the guarantee; or "largest_increase" has no program.
        """
        edges, rounding = self._edges(query.d)
        selected = self._choose(query, edges, rounding)
        columns = tuple(self._column(int(k), float(edges[k])) for k in selected)
        self._calls += 1
        return Answer(columns, float(edges.max()) + rounding)

    @property
    def n_groups(self) -> int:
        """The number of columns: each column is a group, with its negation."""
        return self._t

    def group_of(self, hypothesis: Hypothesis) -> int:
        """Return the number of the column.

        Raises
        ------
        ProblemError
            The hypothesis is no column.
        """
        if not isinstance(hypothesis, MatrixColumn):
            raise ProblemError(f"expected a column of a given matrix; got {hypothesis}. Pass one of this class.")
        return hypothesis.q

    def best_after_costs(self, query: Query, costs: Float[Array, " groups"]) -> Answer:
        """Return the columns with the largest edges less their costs; the options of choice do not apply."""
        edges, rounding = self._edges(query.d)
        differences = edges - (np.concatenate([costs, costs]) if self.reflexive else costs)
        rounding += 2.0 * MACHINE_EPSILON * float(np.abs(edges).max() + np.abs(costs).max())
        columns = tuple(self._column(k, float(edges[k])) for k in top_k(differences, min(query.count, len(edges))))
        return Answer(columns, float(differences.max()) + rounding)

    def _edges(self, d: ExampleVector) -> tuple[Float[Array, " k"], float]:
        """Return the edges under d of the class, columns before their negations, and a bound of rounding errors."""
        # An edge is a sum of this many roundings at most, and |u_n| <= 1; epsilon is twice the unit roundoff.
        weights, exponent = scaled_weights(d, self.N)
        length = self._U.max_summands + 2
        rounding = unscaled_upper_bound(length * MACHINE_EPSILON * float(np.abs(weights).sum()), exponent)
        e = np.ldexp(self._U.edges(weights), exponent)
        self._U.check_unchanged()
        return np.concatenate([e, -e]) if self.reflexive else e, rounding

    def _choose(self, query: Query, edges: Float[Array, " k"], rounding: float) -> Int[Array, " count"]:
        """Return the numbers of the chosen hypotheses in the class: q for a column, t + q for its negation."""
        eligible = self._candidates(edges, rounding)
        if self._calls < len(self._order):
            k = self._order[self._calls]
            if k not in eligible:
                raise ProblemError(
                    f"column {k}, the next of the order, has edge {edges[k]:.6g} and does not reach the guarantee "
                    f"{self.guarantee}. Leave out the guarantee, or change the order."
                )
            return np.array([k])
        if self._choice == "random":
            # The generator of a call is made from the call's number, so only this number is saved.
            rng = np.random.default_rng([self._seed, self._calls])
            return rng.choice(eligible, min(query.count, len(eligible)), replace=False)
        score = edges[eligible]
        if self._choice == "weakest":
            score = -score
        elif self._choice == "largest_increase":
            score = self._gains(query, eligible)
        return eligible[np.argsort(-score, kind="stable")[: query.count]]

    def _candidates(self, edges: Float[Array, " k"], rounding: float) -> Int[Array, " eligible"]:
        """Return the numbers of the hypotheses that reach the guarantee, up to rounding; all without a guarantee."""
        if self.guarantee is None:
            return np.arange(len(edges))
        eligible = np.flatnonzero(edges >= self.guarantee - rounding)
        if len(eligible) == 0:
            raise ProblemError(
                f"the guarantee {self.guarantee} is not true of this class: under these weights the largest edge is "
                f"{edges.max():.6g}. Pass a guarantee that some column reaches whatever the weights."
            )
        return eligible

    def _gains(self, query: Query, eligible: Int[Array, " eligible"]) -> Float[Array, " eligible"]:
        """Return the increase of the optimum by each hypothesis."""
        if query.gain is None:
            raise ProblemError(
                'choose="largest_increase" needs a program whose optimum rises; got a query without one. '
                "Use it with formulations that are solved as programs, or choose otherwise."
            )
        return np.array([query.gain(self._margins_of(int(k))) for k in eligible])

    def _margins_of(self, k: int) -> ExampleVector:
        """Return the margins of hypothesis k of the class."""
        return self._U.column(k) if k < self._U.t else -self._U.column(k - self._U.t)

    def _column(self, k: int, edge: float) -> Column:
        """Return hypothesis k of the class."""
        hypothesis = MatrixColumn(k % self._U.t, 1 if k < self._U.t else -1)
        return Column(hypothesis, compact_margins(self._margins_of(k)), edge)

    def __str__(self) -> str:
        choice = "in a given order, then the best" if self._order else self._choice.replace("_", " ")
        promise = "" if self.guarantee is None else f", edge {self.guarantee:g} guaranteed"
        return f"{_describe_columns(self._t, self.reflexive)}, {choice}{promise}"

    @property
    def digest(self) -> str:
        return self._digest

    @cached_property
    def _digest(self) -> str:
        """SHA-256 of margins, multiplicities and reflexivity; the rule of choice is not part of the class."""
        digest = hashlib.sha256(f"{self._U.digest()} {self.reflexive}".encode())
        digest.update(self._c.data)
        return digest.hexdigest()

    def state(self) -> StateDict:
        return {"calls": self._calls}

    def restore(self, state: StateDict) -> None:
        self._calls = parse_count(state["calls"], "calls")


class DistributedMargins(DistributedClass, local=GivenMargins):
    """`GivenMargins` of a Dask collection of -1 and 1: codes stay with the workers of the default client.

    The class supports data passes only. A run by histogram Newton equals a run over the same rows in memory, to the
    last bit.

    Parameters
    ----------
    U, c, reflexive
        As in `GivenMargins`.
    choose, guarantee, random_state
        The options of `GivenMargins` about the choice of columns, which must have their defaults.

    Raises
    ------
    ProblemError
        There is no client; U contains margins other than -1 and 1, or has chunks of unknown sizes; c does not match U,
        or does not consist of whole numbers.
    OptionError
        Dask is not installed, or an option concerns the choice of columns.
    """

    def __init__(
        self,
        U: Any,
        choose: npt.ArrayLike = "best",
        guarantee: float | None = None,
        c: Any = None,
        reflexive: bool = False,
        random_state: int = 0,
    ) -> None:
        _check_choice(choose, guarantee)
        check_seed("random_state", random_state)
        self.reflexive: bool = check_flag("reflexive", reflexive)
        _check_choice_options(choose, guarantee)
        encoder = DistributedEncoder(U, None, c, name="U", labelled=False)
        encoder.count(classes=False)
        self._t = encoder.blocks.features
        self._set_rows(sign_rows(encoder, self._t, encode_signs, "U"), encoder.balance)

    def __str__(self) -> str:
        return f"{_describe_columns(self._t, self.reflexive)}, best"

    def hypothesis_of(self, split: Split) -> MatrixColumn:
        return MatrixColumn(split.feature, split.sign)


def _describe_columns(t: int, reflexive: bool) -> str:
    """Describe the class of t columns."""
    return f"{t} given columns{' and their negations' if reflexive else ''}"


def _check_choice(choose: npt.ArrayLike, guarantee: float | None) -> float | None:
    """Check the choice of columns, and return the checked guarantee."""
    if isinstance(choose, str) and choose not in CHOICES:
        raise unknown_name("choice", choose, CHOICES)
    guarantee = check_optional(check_number, "guarantee", guarantee, *EDGE_DOMAIN)
    if guarantee is None and isinstance(choose, str) and choose == "weakest":
        raise OptionError(
            'choose="weakest" takes the smallest edge that reaches the guarantee; got no guarantee. '
            "Pass guarantee=g, an edge that some column reaches whatever the weights."
        )
    return guarantee


def _check_choice_options(choose: npt.ArrayLike, guarantee: float | None) -> None:
    """Raise OptionError for options of the choice of columns, which do not apply to rows on a cluster."""
    for name, value, left_out in (
        ("choose", choose, isinstance(choose, str) and choose == "best"),
        ("guarantee", guarantee, guarantee is None),
    ):
        if not left_out:
            raise OptionError(
                f"{name} says how the oracle answers, and data passes over rows on a cluster do not ask it; got "
                f"{short_repr(value)}. Leave it out, or take the margins into memory: U.compute()."
            )


def _check_order(choose: npt.ArrayLike, t: int) -> tuple[int, ...]:
    """Return the column numbers of an order, checked."""
    order = check_array("choose", choose, OptionError)
    if order.size == 0:
        return ()
    if order.ndim != 1 or order.dtype.kind not in "iu":
        raise OptionError(
            f"choose must be one of {', '.join(CHOICES)} or a list of column numbers; got {short_repr(choose)}, "
            f"shape {order.shape} of {order.dtype}. Pass one of these names, or such a list."
        )
    bad = order[(order < 0) | (order >= t)]
    if len(bad):
        raise OptionError(f"an order must hold column numbers from 0 to {t - 1}; got {bad[0]}. Leave it out.")
    return tuple(order.tolist())
