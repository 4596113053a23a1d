"""How strongly a convex formula bends: bounds over all rows of a box."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from boostopt.functions.formulas.convexity import Formula, Range
from boostopt.functions.formulas.differentiation import expanded
from boostopt.functions.formulas.expressions import Base, FormulaFault, Sum, of_base, total
from boostopt.functions.formulas.intervals import Interval, enclosure

PIECES = 16
"""Pieces of a box on which a bend is bounded, each half as long as the next."""


@dataclass(frozen=True, eq=False)
class Bends:
    """Lower bounds of f'' and of x f'' over the boxes, shape (n,), at least 0; each box counts so many times."""

    formula: Formula
    box: Range
    counts: np.ndarray

    @cached_property
    def plain(self) -> np.ndarray:
        """Lower bounds of f''."""
        return self._least(self.formula.curvature)

    @cached_property
    def relative(self) -> np.ndarray:
        """Lower bounds of x f''."""
        x = of_base(Base("name", name=self.box.variable))
        return self._least(total(term for each in self.formula.curvature.terms for term in (Sum((each,)) * x).terms))

    @property
    def modulus(self) -> float:
        """A modulus of strong convexity in the 1-norm for non-negative x of sum at most 1.

        By Cauchy and Schwarz sum h^2 f'' >= ||h||_1^2 / sum 1/f''. The last sum is at most that of 1 / inf f'', and
        that of x / inf x f'', where the x sum to at most 1.
        """
        with np.errstate(divide="ignore"):
            of_each = 1.0 / float((self.counts / self.plain).sum())
        return max(of_each, float(self.relative.min(initial=np.inf)), 0.0) * (1.0 - 1e-12)

    def _least(self, of: Sum) -> np.ndarray:
        """Return a lower bound of a sum over each box, from its pieces."""
        cuts = np.concatenate([[0.0], 2.0 ** np.arange(1.0 - PIECES, 1.0)])
        names = {name: Interval(x.low[:, np.newaxis], x.high[:, np.newaxis]) for name, x in self.box.names.items()}
        # The last end by itself: a product with a share may miss it.
        ends = np.column_stack([np.multiply.outer(self.box.high, cuts[:-1]), self.box.high])
        names[self.box.variable] = Interval(ends[:, :-1], ends[:, 1:])
        least = np.zeros(ends[:, 1:].shape)
        for each in (of, _expanded(of)):
            least = np.maximum(least, enclosure(each, names, self.formula.known).low)
        return least.min(axis=1)


def _expanded(of: Sum) -> Sum:
    """Return a sum multiplied out, or as it is where that is too long."""
    try:
        return expanded(of)
    except FormulaFault:
        return of
