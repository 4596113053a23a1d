"""Bounds of the curvature of a convex formula over boxes, and the strong convexity that follows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from boostopt.functions.formulas.convexity import BoxFamily, ConvexFormula
from boostopt.functions.formulas.differentiation import expand
from boostopt.functions.formulas.expressions import Expression, Factor, FormulaError, collect_terms, power_expression
from boostopt.functions.formulas.intervals import Interval, enclose

NUM_PIECES = 16
"""Number of pieces of a box on which the curvature is bounded; each is half as long as the next."""


@dataclass(frozen=True, eq=False)
class CurvatureBounds:
    """Lower bounds of f'' and of x f'' over boxes, shape (n,), at least 0.

    Attributes
    ----------
    formula
        The convex formula.
    box
        The boxes.
    counts
        The multiplicity of each box, shape (n,).
    """

    formula: ConvexFormula
    box: BoxFamily
    counts: np.ndarray

    @cached_property
    def lower_curvature(self) -> np.ndarray:
        """Lower bounds of f''."""
        return self._lower_bound(self.formula.curvature)

    @cached_property
    def lower_scaled_curvature(self) -> np.ndarray:
        """Lower bounds of x f''."""
        x = power_expression(Factor("name", name=self.box.variable))
        return self._lower_bound(
            collect_terms(
                term for expression in self.formula.curvature.terms for term in (Expression((expression,)) * x).terms
            )
        )

    @property
    def strong_convexity(self) -> float:
        """A modulus of strong convexity in the 1-norm for non-negative x of sum at most 1.

        By the Cauchy-Schwarz inequality, sum h^2 f'' >= ||h||_1^2 / sum 1/f''. The sum of 1/f'' is at most the sum of
        1 / inf f''. It is also at most the sum of x / inf x f'', where the x sum to at most 1.
        """
        with np.errstate(divide="ignore"):
            harmonic_bound = 1.0 / float((self.counts / self.lower_curvature).sum())
        return max(harmonic_bound, float(self.lower_scaled_curvature.min(initial=np.inf)), 0.0) * (1.0 - 1e-12)

    def _lower_bound(self, expression: Expression) -> np.ndarray:
        """Return a lower bound of an expression over each box, at least 0, from the pieces of the box."""
        cuts = np.concatenate([[0.0], 2.0 ** np.arange(1.0 - NUM_PIECES, 1.0)])
        names = {name: Interval(x.lower[:, np.newaxis], x.upper[:, np.newaxis]) for name, x in self.box.names.items()}
        # The last end is not computed as a product, which may miss it by rounding.
        ends = np.column_stack([np.multiply.outer(self.box.high, cuts[:-1]), self.box.high])
        names[self.box.variable] = Interval(ends[:, :-1], ends[:, 1:])
        lower = np.zeros(ends[:, 1:].shape)
        for form in (expression, _expand_if_short(expression)):
            lower = np.maximum(lower, enclose(form, names, self.formula.nonnegative_keys).lower)
        return lower.min(axis=1)


def _expand_if_short(expression: Expression) -> Expression:
    """Return an expression multiplied out, or unchanged if the result is too long."""
    try:
        return expand(expression)
    except FormulaError:
        return expression
