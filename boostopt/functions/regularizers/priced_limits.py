"""The regularizer of a program whose hypothesis weights have limits: prices of the limits stand beside the weights.

A limit bounds a linear function of the hypothesis weights, <a, w> <= b. It is one more row of U, with the entries -a_q
in [-1, 1], and its multiplier p is one more entry of d, the price of the limit:

    F~(d, p) = F(d) + <b, p>  on  dom F x [0, P]^k,    F~*(z, y) = F*(z) + P sum_i [y_i - b_i]_+

At (z, y) = -U~w, y is a'w. So the program maximizes -F*(-Uw) - P sum_i [<a_i, w> - b_i]_+. If P is at least the price
of each limit at the optimum, the limits hold there, and both programs have one optimum [Rockafellar 1970, section 28;
exact penalties: Bertsekas 1975].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Float
from boostopt._utils.cvxpy_tools import cp
from boostopt._utils.validation import check_instance, finite_weights, positive_parameter, read_fields
from boostopt.errors import ProblemError
from boostopt.functions.convex_function import computed_attribute
from boostopt.functions.regularizers.base import ConjugatePoint, Regularizer, StationarityConditions

MACHINE_EPSILON = float(np.finfo(np.float64).eps)
"""Twice the unit roundoff."""


@dataclass(frozen=True)
class _PricedPoint(ConjugatePoint):
    """The conjugate at a point, with that of the base.

    Attributes
    ----------
    base_point
        The conjugate of the base at the entries of the examples.
    """

    base_point: ConjugatePoint


@dataclass(frozen=True)
class PricedLimits(Regularizer):
    """The function F(d) + <limits, p> of the example weights d and the prices p of k limits, 0 <= p <= max_price.

    Parameters
    ----------
    base
        The regularizer F of the examples.
    limits
        The right sides b of the limits, shape (k,), finite.
    max_price
        The largest price P, positive: what a unit above a limit costs.
    """

    base: Regularizer
    limits: Float[Array, " k"]
    max_price: float

    on_simplex = False

    def __post_init__(self) -> None:
        expected, advice = "a regularizer", "Pass one, such as CappedSimplexIndicator(domain)."
        check_instance("base", self.base, Regularizer, expected, advice, ProblemError)
        read_fields(self, limits=finite_weights, max_price=positive_parameter)

    @property
    def n_examples(self) -> int:
        """The number of examples; the entries after them are prices."""
        return self.base.N

    @property
    def N(self) -> int:
        return self.base.N + len(self.limits)

    def _split(self, x: ExampleVector) -> tuple[Float[Array, " n"], Float[Array, " k"]]:
        """Return the entries of the examples, and those of the limits."""
        return x[: self.n_examples], x[self.n_examples :]

    @computed_attribute
    def cones(self) -> frozenset[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.base.cones

    @computed_attribute
    def signed(self) -> bool:
        return self.base.signed

    @computed_attribute
    def has_closed_form_conjugate(self) -> bool:
        return self.base.has_closed_form_conjugate

    @property
    def mass(self) -> float:
        return self.base.mass + self.max_price * len(self.limits)

    @property
    def unsmoothed(self) -> Regularizer:
        base = self.base.unsmoothed
        return self if base is self.base else replace(self, base=base)

    @property
    def price(self) -> float:
        # The prices do not smooth: both F and F0 have them.
        return self.base.price

    @property
    def value_bound(self) -> float:
        return self.base.value_bound + self.max_price * float(np.maximum(self.limits, 0.0).sum())

    @property
    def magnitude(self) -> float:
        return self.base.magnitude + self.max_price * float(np.abs(self.limits).sum())

    @property
    def objective_scale(self) -> float:
        return self.base.objective_scale

    @property
    def weight_scale(self) -> ExampleVector:
        return np.concatenate([self.base.weight_scale, np.full(len(self.limits), min(self.max_price, 1.0))])

    def mass_of(self, d: ExampleVector) -> float:
        weights, prices = self._split(d)
        return self.base.mass_of(weights) + float(np.abs(prices).sum()) * (1.0 + 1e-9)

    def conjugate_mass(self, z: ExampleVector, shift: float) -> float:
        return self.base.conjugate_mass(self._split(z)[0], shift) + self.max_price * len(self.limits)

    def value(self, d: ExampleVector) -> float:
        weights, prices = self._split(d)
        return self.base.value(weights) + float(self.limits @ prices)

    def value_slack(self, d: ExampleVector, unit: float) -> float:
        # Each edge is a sum with the prices, too: a caller that knows the sum of d on the simplex alone counts 1.
        weights, prices = self._split(d)
        sizes = float((1.0 + np.abs(self.limits)) @ np.abs(prices)) + abs(self.value(d))
        return self.base.value_slack(weights, unit) + unit * sizes

    def conjugate_at(self, z: ExampleVector, start: ExampleVector | None = None) -> ConjugatePoint:
        y, excess = self._split(z)
        point = self.base.conjugate_at(y, None if start is None else self._split(start)[0])
        penalty = self._penalty(z)
        sizes = self.max_price * float((np.abs(excess) + np.abs(self.limits)).sum())
        return _PricedPoint(
            point.value + penalty,
            np.concatenate([point.d, np.where(excess > self.limits, self.max_price, 0.0)]),
            point.multipliers,
            point,
            slack=MACHINE_EPSILON * ((len(self.limits) + 4) * sizes + abs(point.value)),
        )

    def _penalty(self, z: ExampleVector) -> float:
        """Return the cost of the units above the limits."""
        return self.max_price * float(np.maximum(self._split(z)[1] - self.limits, 0.0).sum())

    def conjugate_slack(self, point: ConjugatePoint, unit: float) -> float:
        return self.base.conjugate_slack(_base_point(point), unit) + point.slack

    def conjugate_bound(self, z: ExampleVector, point: ConjugatePoint) -> float:
        return self.base.conjugate_bound(self._split(z)[0], _base_point(point)) + self._penalty(z)

    def gaps(self, d: ExampleVector, z: ExampleVector, point: ConjugatePoint) -> ExampleVector:
        weights, prices = self._split(d)
        y, excess = self._split(z)
        surplus, slack = np.maximum(excess - self.limits, 0.0), np.maximum(self.limits - excess, 0.0)
        price_gaps = np.maximum(self.max_price - prices, 0.0) * surplus + np.maximum(prices, 0.0) * slack
        return np.concatenate([self.base.gaps(weights, y, _base_point(point)), price_gaps])

    def support(self, z: ExampleVector) -> float:
        y, excess = self._split(z)
        return self.base.support(y) + self.max_price * float(np.maximum(excess, 0.0).sum())

    def room(self, d: ExampleVector) -> ExampleVector:
        weights, prices = self._split(d)
        # The room of weights on the simplex is for changes that sum to 0; here, changes may have any sum.
        base_room = np.zeros(self.n_examples) if self.base.on_simplex else self.base.room(weights)
        return np.concatenate([base_room, np.maximum(np.minimum(prices, self.max_price - prices), 0.0)])

    def project(self, d: ExampleVector | None) -> ExampleVector:
        if d is None:
            return np.concatenate([self.base.project(None), np.where(self.limits < 0.0, self.max_price, 0.0)])
        weights, prices = self._split(d)
        prices = np.clip(np.where(np.isfinite(prices), prices, 0.0), 0.0, self.max_price)
        return np.concatenate([self.base.project(weights), prices])

    def residuals(self, d: ExampleVector) -> dict[str, float]:
        weights, prices = self._split(d)
        is_finite = bool(np.isfinite(d).all())
        residuals = self.base.residuals(weights)
        with np.errstate(over="ignore", invalid="ignore"):
            violations = {
                "prices >= 0": max(0.0, float((-prices).max(initial=0.0))),
                "prices <= max_price": max(0.0, float((prices - self.max_price).max(initial=0.0))),
            }
        return {**residuals, **(violations if is_finite else dict.fromkeys(violations, np.inf))}

    def stationarity(self, d: ExampleVector, min_relative_weight: float) -> StationarityConditions:
        weights, _ = self._split(d)
        conditions, k = self.base.stationarity(weights, min_relative_weight), len(self.limits)
        ones = np.ones((self.n_examples, int(self.base.on_simplex)))
        # The multiplier of sum d = 1 has either sign, and those of normals are not negative.
        normals = np.hstack([conditions.normals, ones, -ones])
        return StationarityConditions(
            np.concatenate([conditions.gradient, self.limits]),
            np.concatenate([conditions.lower, np.zeros(k)]),
            np.concatenate([conditions.upper, np.full(k, self.max_price)]),
            np.vstack([normals, np.zeros((k, normals.shape[1]))]),
        )

    def describe_kinks(self, d: ExampleVector) -> Sequence[str]:
        return self.base.describe_kinks(self._split(d)[0])

    def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
        prices = d[self.n_examples :]
        value, constraints = self.base.cvxpy_value(d[: self.n_examples])
        return value + self.limits @ prices, [*constraints, prices >= 0, prices <= self.max_price]

    def cvxpy_conjugate(self, z: Any) -> tuple[Any, list[Any]]:
        value, constraints = self.base.cvxpy_conjugate(z[: self.n_examples])
        return value + self.max_price * cp.sum(cp.pos(z[self.n_examples :] - self.limits)), constraints


def _base_point(point: ConjugatePoint) -> ConjugatePoint:
    """Return the conjugate of the base, of a point that `PricedLimits.conjugate_at` has returned."""
    if not isinstance(point, _PricedPoint):
        raise ProblemError(
            f"expected a point from conjugate_at of PricedLimits; got {type(point).__name__}. Call conjugate_at first."
        )
    return point.base_point
