"""A class of hypotheses whose weights have limits: budgets of costs, and bounds of means of margins.

A limit bounds a linear function of the hypothesis weights, sum_q w_q a(h_q) <= b, where a(h) in [-1, 1] is known of
every hypothesis of the class. It is one more row of U with the entries -a(h), and its price p is one more weight of a
query. The class is priced exactly, so that bounds hold for the whole class:

    budget          a(h) is the cost of the group of h    largest edge less p times the cost, over the groups
    margin limit    a(h) = <s, u> for the margins u       largest edge under the example weights d - p s
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from boostopt._utils.array_types import Array, ExampleVector, Float, Num
from boostopt._utils.formatting import format_count
from boostopt._utils.immutable_arrays import ImmutableArrays
from boostopt._utils.validation import (
    check_array,
    check_integer,
    check_list,
    check_positive,
    finite_weights,
    non_negative_weights,
    real_parameter,
)
from boostopt.errors import OptionError, ProblemError
from boostopt.oracles.base import (
    Answer,
    Column,
    DerivedClass,
    GroupedOracle,
    Hypothesis,
    HypothesisClass,
    Oracle,
    Query,
    StateDict,
    require_oracle,
)
from boostopt.oracles.weight_scaling import MACHINE_EPSILON

MAX_SIZE_TOL = 1e-12
"""The largest excess over 1 of a sum of slopes that counts as rounding."""

DEFAULT_MAX_PRICE = 100.0
"""The default price of a unit above a limit."""

LARGEST = 1e100
"""The largest price and the largest size of a right side, so that products of them stay finite."""


@dataclass(frozen=True, eq=False)
class Budget(ImmutableArrays):
    """The limit sum_q w_q cost(h_q) <= limit, with the costs of groups of hypotheses.

    The groups of `GivenMargins` are its columns, each with its negation. Those of `DecisionStumps` are its features, or
    the upward stumps of each feature and then the downward ones, for twice as many costs.

    Parameters
    ----------
    costs
        The cost of each group, shape (groups,), in [-1, 1].
    limit
        The budget, a number in the units of the costs.

    Raises
    ------
    ProblemError
        A cost is not in [-1, 1], or the limit is no number of size at most 1e100.
    """

    costs: Float[Array, " groups"]
    limit: float

    def __post_init__(self) -> None:
        costs = finite_weights("costs", self.costs)
        if costs.size == 0 or float(np.abs(costs).max()) > 1.0:
            raise ProblemError(
                "costs must be numbers in [-1, 1], one for each group; got "
                f"{format_count(costs.size, 'number')} of sizes up to "
                f"{float(np.abs(costs).max(initial=0.0)):.6g}. Divide the costs and the limit by the largest cost."
            )
        object.__setattr__(self, "costs", costs)
        object.__setattr__(self, "limit", _right_side(self.limit))
        super().__post_init__()


@dataclass(frozen=True, eq=False)
class MarginLimit(ImmutableArrays):
    """The limit <slopes, Uw> <= limit of a linear function of the margins.

    Parameters
    ----------
    slopes
        One number for each row of the oracle, shape (n_rows,); their absolute values sum to at most 1. If the sum
        exceeds 1 by rounding, slopes and limit are halved, which is the same limit.
    limit
        The right side, a number.

    Raises
    ------
    ProblemError
        The absolute slopes sum to more than 1, or a number is not finite or of size above 1e100.
    """

    slopes: ExampleVector
    limit: float

    def __post_init__(self) -> None:
        slopes = finite_weights("slopes", self.slopes)
        size = float(np.abs(slopes).sum())
        if size > 1.0 + MAX_SIZE_TOL:
            raise ProblemError(
                f"the absolute slopes of a limit must sum to at most 1; got {size:.6g}. Divide the slopes and the "
                "limit by this sum."
            )
        limit = _right_side(self.limit)
        scale = 1.0 if size <= 1.0 else 0.5
        object.__setattr__(self, "slopes", scale * slopes)
        object.__setattr__(self, "limit", scale * limit)
        if self.limit / scale != limit or (self.slopes / scale != slopes).any():
            raise ProblemError(
                "the absolute slopes of a limit must sum to at most 1; they exceed 1 by rounding, and some are too "
                "small to be halved. Divide the slopes and the limit by 2."
            )
        super().__post_init__()


def _right_side(limit: object) -> float:
    """Return the right side of a limit; raise ProblemError if its size is above `LARGEST`."""
    value = real_parameter("limit", limit)
    if abs(value) > LARGEST:
        raise ProblemError(
            f"a limit must be a number of size at most {LARGEST:g}; got {value:g}. Left sides are at most 1 in "
            "size: leave this limit out."
        )
    return value


def equal_mean_margins(
    groups: npt.ArrayLike, tolerance: float, c: npt.ArrayLike | None = None
) -> tuple[MarginLimit, MarginLimit]:
    """Return the two limits by which the mean margins of two groups of examples differ by at most a tolerance.

    Parameters
    ----------
    groups
        True for the examples of the first group and False for those of the second, shape (n_rows,).
    tolerance
        The largest difference of the means, positive: proofs need room.
    c
        Multiplicities, shape (n_rows,), non-negative; 1 by default.

    Raises
    ------
    ProblemError
        The groups are not Booleans, or one of them has no example that counts.
    OptionError
        The tolerance is not positive.
    """
    tolerance = check_positive("tolerance", tolerance)
    mask = check_array("groups", groups)
    if mask.ndim != 1 or mask.dtype != bool:
        raise ProblemError(
            f"groups must be Booleans, True or False for each row; got the shape {mask.shape} and entries of the type "
            f"{mask.dtype}. Numbers name no first group: pass a comparison, such as groups == 1 or X[:, 0] > 0."
        )
    counts = np.ones(len(mask)) if c is None else non_negative_weights("c", c, len(mask))
    sizes = [float(counts[part].sum()) for part in (mask, ~mask)]
    if not min(sizes) > 0.0:
        raise ProblemError(
            f"both groups must have examples that count; got multiplicities that sum to {sizes[0]:g} and "
            f"{sizes[1]:g}. Leave out the limit, or choose other groups."
        )
    slopes = 0.5 * (np.where(mask, counts, 0.0) / sizes[0] - np.where(mask, 0.0, counts) / sizes[1])
    return MarginLimit(slopes, 0.5 * tolerance), MarginLimit(-slopes, 0.5 * tolerance)


def vote_caps(n_groups: int, share: float) -> tuple[Budget, ...]:
    """Return the limits by which the hypotheses of each group have at most a share of the vote.

    Parameters
    ----------
    n_groups
        The number of columns or features, at least 1.
    share
        The largest share, in (0, 1]; for weights with the sum 1, at least 1 / n_groups.

    Raises
    ------
    OptionError
        The number is not a whole number of at least 1, or the share leaves no weights with the sum 1.
    """
    n_groups = check_integer("n_groups", n_groups, 1)
    share = check_positive("share", share)
    if not 1.0 <= n_groups * share or share > 1.0:
        raise OptionError(
            f"share must lie in [1 / n_groups, 1] = [{1.0 / n_groups:.6g}, 1], as the shares of all groups sum to 1; "
            f"got {share:.6g}. Pass a larger one."
        )
    return tuple(Budget(unit, share) for unit in np.eye(n_groups))


def monotone_votes(directions: npt.ArrayLike) -> Budget:
    """Return the limit by which the vote of decision stumps of both directions is monotone in features.

    Parameters
    ----------
    directions
        For each feature 1 if the vote must not decrease with it, -1 if it must not increase, and 0 for either, shape
        (features,). For 1 downward stumps have no weight, and for -1 upward ones.

    Raises
    ------
    ProblemError
        A direction is none of these numbers.
    """
    signs = finite_weights("directions", directions)
    if not np.isin(signs, (-1.0, 0.0, 1.0)).all() or signs.size == 0:
        raise ProblemError(
            f"directions must be 1, -1 or 0 for each feature; got {format_count(signs.size, 'number')} from "
            f"{float(signs.min(initial=0.0)):g} to {float(signs.max(initial=0.0)):g}. Pass such numbers."
        )
    return Budget(np.concatenate([signs < 0.0, signs > 0.0]).astype(np.float64), 0.0)


class LimitedClass(DerivedClass, Oracle):
    """The class of an oracle, with limits on the weights of its hypotheses, for `boost` and `path`.

    The examples are those of the oracle, and one more for each limit, whose weight is the price of the limit. A unit
    above a limit costs `max_price`. `boostopt.boosting.certify_limits` returns weights that keep the limits, and the
    interval of the best such weights over the class.

    Parameters
    ----------
    oracle
        The oracle of the class. Budgets need an oracle whose groups have costs: `GivenMargins` or `DecisionStumps`.
    limits
        The limits, `Budget` or `MarginLimit`, at least one.
    max_price
        The price of a unit above a limit, positive. If it is smaller than the price at the optimum, the optimum exceeds
        limits; a few times the range of the margins over the slack of the limits is enough.

    Raises
    ------
    OptionError
        A limit is neither, there is none, the oracle has limits itself or cannot price a budget exactly, or the price
        is above 1e100.
    ProblemError
        A limit has other numbers of groups or rows than the oracle, or slopes of rows that do not count; or the oracle
        does not hold its examples.
    """

    def __init__(
        self,
        oracle: HypothesisClass,
        limits: Sequence[Budget | MarginLimit] | Budget | MarginLimit,
        max_price: float = DEFAULT_MAX_PRICE,
    ) -> None:
        self._oracle = require_oracle(oracle, "the best hypothesis after costs")
        super().__init__(self._oracle)
        if isinstance(self._oracle, LimitedClass):
            raise OptionError(
                f"expected an oracle without limits; got {self._oracle}. Pass all limits in one list, with its oracle."
            )
        self.max_price: float = check_positive("max_price", max_price)
        if self.max_price > LARGEST:
            raise OptionError(f"max_price must be at most {LARGEST:g}; got {self.max_price:g}. Pass a smaller one.")
        self.limits: tuple[Budget | MarginLimit, ...] = _read_limits(limits)
        self._grouped = _grouped(self._oracle) if any(isinstance(limit, Budget) for limit in self.limits) else None
        n, groups = self._oracle.N, 0 if self._grouped is None else self._grouped.n_groups
        self._slopes = np.zeros((len(self.limits), n))
        self._costs = np.zeros((len(self.limits), groups))
        for i, limit in enumerate(self.limits):
            if isinstance(limit, Budget):
                if self._grouped is not None:
                    self._costs[i] = self._grouped.read_costs(limit.costs)
                continue
            self._slopes[i] = self._select_slopes(limit.slopes)

    def _select_slopes(self, slopes: Float[Array, " rows"]) -> Float[Array, " n"]:
        """Return the slopes of the examples that count."""
        selected = self._oracle.select_examples(slopes)
        if selected.shape != (self._oracle.N,):
            raise ProblemError(
                f"a margin limit needs one slope for each of the {self._oracle.n_rows} rows; got {len(slopes)}. Pass "
                "one for each margin of an example: RegressionStumps has two, for both signs of the residual, and "
                "MulticlassStumps one for each further class."
            )
        if np.count_nonzero(selected) != np.count_nonzero(slopes):
            raise ProblemError(
                f"the slopes of rows of multiplicity 0 must be 0; {np.count_nonzero(slopes)} slopes are not 0, and "
                f"{np.count_nonzero(selected)} of these rows count. Pass the multiplicities to equal_mean_margins as "
                "c, or 0 for these rows."
            )
        return selected

    @property
    def oracle(self) -> Oracle:
        """The oracle of the class without limits."""
        return self._oracle

    @property
    def right_sides(self) -> Float[Array, " k"]:
        """The right sides of the limits, shape (k,)."""
        return np.array([limit.limit for limit in self.limits])

    @property
    def row_errors(self) -> Float[Array, " k"]:
        """Bounds of the rounding errors of a(h), shape (k,): 0 for budgets, whose costs are given."""
        return np.where(self._slopes.any(axis=1), MACHINE_EPSILON * (self._oracle.N + 6.0), 0.0)

    @property
    def N(self) -> int:
        """Number of examples that count, and of limits."""
        return self._oracle.N + len(self.limits)

    @property
    def c(self) -> ExampleVector:
        """Multiplicities of the examples, and 1 for each limit."""
        return np.concatenate([self._oracle.c, np.ones(len(self.limits))])

    @property
    def y(self) -> None:
        return None

    @property
    def n_rows(self) -> int:
        """Number of rows of the oracle, and of limits; arrays with a value for each row have none for limits."""
        return self._oracle.n_rows + len(self.limits)

    def costs_of(self, hypothesis: Hypothesis, margins: Num[Array, " n"]) -> Float[Array, " k"]:
        """Return the coefficient a(h) of a hypothesis with these margins in each limit, shape (k,)."""
        values = self._slopes @ margins.astype(np.float64)
        if self._grouped is not None:
            values += self._costs[:, self._grouped.group_of(hypothesis)]
        return np.clip(values, -1.0, 1.0)

    def recomputed_rows(self, rows: Float[Array, "N t"]) -> Float[Array, "N t"] | None:
        """Return the rows of hypotheses with those of the limits computed from their margins.

        The costs are those of the group that fits the given rows of the limits best. The result is None if no group
        has such rows up to rounding.
        """
        n = self._oracle.N
        values, result = self._slopes @ rows[:n], rows.copy()
        costs = self._costs if self._costs.shape[1] else np.zeros((len(self.limits), 1))
        for q, coefficients in enumerate(-rows[n:].T):
            candidates = np.clip(values[:, [q]] + costs, -1.0, 1.0)
            distances = np.abs(candidates - coefficients[:, None])
            best = int(distances.sum(axis=0).argmin())
            if (distances[:, best] > 2.0 * self.row_errors).any():
                return None
            result[n:, q] = -candidates[:, best]
        return result

    def margins_of(self, hypothesis: Hypothesis) -> Num[Array, " N"] | None:
        margins = self._oracle.margins_of(hypothesis)
        return None if margins is None else self._extended(hypothesis, margins)

    def members(self) -> Iterable[Hypothesis] | None:
        return self._oracle.members()

    def best(self, query: Query) -> Answer:
        """Return hypotheses with the largest edges under the example weights and the prices of the limits.

        The bound of the class counts the rounding of the example weights d - p s, of the costs, and of the rows of the
        limits of each hypothesis.
        """
        n = self._oracle.N
        d, prices = np.asarray(query.d[:n], dtype=np.float64), np.asarray(query.d[n:], dtype=np.float64)
        shifted = Query(d - prices @ self._slopes, query.count, None, query.diverse)
        if self._grouped is None:
            answer = self._oracle.best(shifted)
        else:
            answer = self._grouped.best_after_costs(shifted, prices @ self._costs)
        columns = [self._extended_column(column, query.d) for column in answer.columns]
        columns.sort(key=lambda column: -column.edge)
        if answer.edge_bound is None:
            return Answer(tuple(columns), None)
        k, price_sum = len(prices), float(np.abs(prices).sum())
        sizes = float(np.abs(d).sum()) + 2.0 * price_sum
        rounding = MACHINE_EPSILON * ((k + 4) * sizes + (n + 6) * price_sum)
        return Answer(tuple(columns), math.nextafter(answer.edge_bound + rounding, math.inf))

    def _extended(self, hypothesis: Hypothesis, margins: Num[Array, " n"]) -> Float[Array, " rows"]:
        """Return margins with the entries of the limits."""
        return np.concatenate([margins.astype(np.float64), -self.costs_of(hypothesis, margins)])

    def _extended_column(self, column: Column, d: ExampleVector) -> Column:
        """Return a column with the entries of the limits, and its edge under the weights of a query."""
        margins = self._extended(column.hypothesis, np.asarray(column.margins))
        return Column(column.hypothesis, margins, float(margins @ d))

    @property
    def digest(self) -> str:
        return self._digest

    @cached_property
    def _digest(self) -> str:
        digest = hashlib.sha256(f"{self._oracle.digest} {self.max_price} limits".encode())
        for part in (self._slopes, self._costs, self.right_sides):
            digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()

    def __str__(self) -> str:
        k = len(self.limits)
        return f"{self._oracle}, with {k} limit{'' if k == 1 else 's'} of the weights"

    def state(self) -> StateDict:
        return self._oracle.state()

    def restore(self, state: StateDict) -> None:
        self._oracle.restore(state)


def _read_limits(limits: object) -> tuple[Budget | MarginLimit, ...]:
    """Return the limits as a tuple, checked."""
    expected, advice = "one or more limits", "Pass Budget(costs, limit) or MarginLimit(slopes, limit)."
    entries = [limits] if isinstance(limits, Budget | MarginLimit) else check_list("limits", limits, expected, advice)
    if not entries or not all(isinstance(entry, Budget | MarginLimit) for entry in entries):
        raise OptionError(f"limits must be one or more limits; got {entries!r:.100}. {advice}")
    return tuple(entries)


def _grouped(oracle: Oracle) -> GroupedOracle:
    """Return an oracle that prices groups exactly.

    Raises
    ------
    OptionError
        The oracle has no groups, or it is a subclass with answers of its own.
    """
    if isinstance(oracle, GroupedOracle):
        kinds = type(oracle).__mro__
        pricing = next(kind for kind in kinds if "best_after_costs" in vars(kind))
        if pricing is next(kind for kind in kinds if "best" in vars(kind)):
            return oracle
    raise OptionError(
        f"a budget needs an oracle that finds the largest edge after costs, GivenMargins or DecisionStumps; got "
        f"{oracle!r}. Use one of them, or a GroupedOracle with best_after_costs of its own beside best."
    )
