"""How strongly a convex formula bends: bounds over all rows of a box."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from boostopt.functions.formulas.convexity import BoxFamily, ConvexFormula
from boostopt.functions.formulas.differentiation import expand
from boostopt.functions.formulas.expressions import Expression, Factor, FormulaError, collect_terms, power_expression
from boostopt.functions.formulas.intervals import Interval, enclose

NUM_PIECES = 16
"""Pieces of a box on which a bend is bounded, each half as long as the next."""


@dataclass(frozen=True, eq=False)
class CurvatureBounds:
    """Lower bounds of f'' and of x f'' over the boxes, shape (n,), at least 0; each box counts so many times."""

    formula: ConvexFormula
    box: BoxFamily
    counts: np.ndarray

    @cached_property
    def lower_curvature(self) -> np.ndarray:
        """Lower bounds of f''."""
        return self._least(self.formula.curvature)

    @cached_property
    def lower_scaled_curvature(self) -> np.ndarray:
        """Lower bounds of x f''."""
        x = power_expression(Factor("name", name=self.box.variable))
        return self._least(
            collect_terms(term for each in self.formula.curvature.terms for term in (Expression((each,)) * x).terms)
        )

    @property
    def strong_convexity(self) -> float:
        """A modulus of strong convexity in the 1-norm for non-negative x of sum at most 1.

        By Cauchy and Schwarz sum h^2 f'' >= ||h||_1^2 / sum 1/f''. The last sum is at most that of 1 / inf f'', and
        that of x / inf x f'', where the x sum to at most 1.
        """
        with np.errstate(divide="ignore"):
            of_each = 1.0 / float((self.counts / self.lower_curvature).sum())
        return max(of_each, float(self.lower_scaled_curvature.min(initial=np.inf)), 0.0) * (1.0 - 1e-12)

    def _least(self, of: Expression) -> np.ndarray:
        """Return a lower bound of a sum over each box, from its pieces."""
        cuts = np.concatenate([[0.0], 2.0 ** np.arange(1.0 - NUM_PIECES, 1.0)])
        names = {name: Interval(x.lower[:, np.newaxis], x.upper[:, np.newaxis]) for name, x in self.box.names.items()}
        # The last end by itself: a product with a share may miss it.
        ends = np.column_stack([np.multiply.outer(self.box.high, cuts[:-1]), self.box.high])
        names[self.box.variable] = Interval(ends[:, :-1], ends[:, 1:])
        least = np.zeros(ends[:, 1:].shape)
        for each in (of, _expanded(of)):
            least = np.maximum(least, enclose(each, names, self.formula.known).lower)
        return least.min(axis=1)


def _expanded(of: Expression) -> Expression:
    """Return a sum multiplied out, or as it is where that is too long."""
    try:
        return expand(of)
    except FormulaError:
        return of
