"""Sums of separable regularizers, without further closed forms.

The maximizers are found by bisection on f', all examples at once. The conjugate for modelling is the infimal
convolution of the pieces' conjugates: (F_1 + F_2)*(z) = min over s of F_1*(z - s) + F_2*(s).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from boostopt.errors import ProblemError
from boostopt.regularizers.capped_simplex import CappedSimplex
from boostopt.regularizers.separable import Separable
from boostopt.shapes import Array, Float

HALVINGS = 64
"""Bisection of all non-negative doubles: one step for each of their bits."""


@dataclass(frozen=True)
class SeparableSum(Separable):
    """The sum of separable regularizers on the intersection of their boxes, on the simplex if one of them is.

    Parameters
    ----------
    pieces
        Regularizers of the same number of examples, their lower ends 0.

    Raises
    ------
    ProblemError
        No piece, pieces of different N, or a lower end that is not 0.
    """

    pieces: tuple[Separable, ...]

    def __post_init__(self) -> None:
        sizes = {piece.N for piece in self.pieces}
        if len(sizes) != 1:
            raise ProblemError(f"expected regularizers of the same examples; got N = {sorted(sizes) or 'no piece'}.")
        if any(np.any(piece.lower != 0) for piece in self.pieces):
            raise ProblemError("expected regularizers of non-negative weights; got a lower end that is not 0.")

    @property
    def cones(self) -> frozenset[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return frozenset[str]().union(*(piece.cones for piece in self.pieces))

    @property
    def on_simplex(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return any(piece.on_simplex for piece in self.pieces)

    @property
    def N(self) -> int:
        return self.pieces[0].N

    @property
    def lower(self) -> Float[Array, " N"]:
        return np.zeros(self.N)

    @cached_property
    def upper(self) -> Float[Array, " N"]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return np.min([piece.upper for piece in self.pieces], axis=0)

    @property
    def span(self) -> float:
        return sum(piece.span for piece in self.pieces)

    @property
    def magnitude(self) -> float:
        return sum(piece.magnitude for piece in self.pieces)

    @property
    def unit(self) -> Float[Array, " N"]:
        return self.pieces[0].unit

    @property
    def rate(self) -> float:
        return min(piece.rate for piece in self.pieces)

    def values(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        return np.sum([piece.values(d) for piece in self.pieces], axis=0)

    def derivatives(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        return np.sum([piece.derivatives(d) for piece in self.pieces], axis=0)

    def maximizers(self, y: Float[Array, " N"]) -> Float[Array, " N"]:
        # Non-negative doubles are ordered as their bits are: halving those finds the smallest weights as fast as any.
        low, high = np.zeros(self.N, dtype=np.int64), self.upper.view(np.int64)
        at_upper = self.derivatives(self.upper) <= y
        for _ in range(HALVINGS):
            middle = low + (high - low) // 2
            if np.all((middle == low) | at_upper):
                break
            rising = self.derivatives(middle.view(np.float64)) > y
            low, high = np.where(rising, low, middle), np.where(rising, middle, high)
        # Below the slope at 0 the bisection ends at 0, with `low` never moved.
        return np.where(at_upper, self.upper, low.view(np.float64))

    def project(self, d: Float[Array, " N"] | None) -> Float[Array, " N"]:
        if d is None:
            return self.conjugate_at(np.zeros(self.N)).d
        if not self.on_simplex:
            return np.clip(np.where(np.isfinite(d), d, 0.0), 0.0, self.upper)
        return CappedSimplex(self.upper, 1.0).repair(d, self.unit)

    def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
        values, constraints = zip(*(piece.cvxpy_value(d) for piece in self.pieces), strict=True)
        return sum(values), [one for some in constraints for one in some]

    def cvxpy_conjugate(self, z: Any) -> tuple[Any, list[Any]]:
        import cvxpy as cp

        parts = [cp.Variable(self.N) for _ in self.pieces[1:]]
        shares = [z - sum(parts), *parts]
        values, constraints = zip(
            *(piece.cvxpy_conjugate(share) for piece, share in zip(self.pieces, shares, strict=True)), strict=True
        )
        return sum(values), [one for some in constraints for one in some]
