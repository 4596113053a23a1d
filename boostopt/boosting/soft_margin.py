"""The aim of boosting: the largest soft margin over a class of hypotheses, and its bounds.

F0 is the regularizer without its entropy. The soft margin of w is -F0*(-Uw); for the cap, this is the mean of the nu
smallest margins. For every distribution d in the domain of F0, F0(d) + the largest edge of the class is an upper bound
on the soft margin of any w over the class [Glocer 2009, section 2.2; Shalev-Shwartz and Singer 2008, theorem 4].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from boostopt.edges.base import EdgeFunction
from boostopt.immutable import ImmutableArrays, as_immutable
from boostopt.margins import BLOCK_ROWS, Margins
from boostopt.programs.formulation import Formulation
from boostopt.programs.program import Examples, Program
from boostopt.regularizers.base import PROGRAM_VALUE, Regularizer
from boostopt.shapes import Array, Float
from boostopt.text import interval

SUM_ROUNDING = 1e-12
"""By how much the sum of weights may miss 1 and still be called 1 while a run goes on."""

EPS = float(np.finfo(np.float64).eps)

FEASIBLE = 8.0 * EPS
"""Distance, in the 1-norm, that rounding may put between a distribution and the domain: it stays as the run had it."""


@dataclass(frozen=True)
class Goal:
    """The soft margin that a run maximizes.

    Attributes
    ----------
    F0
        The regularizer without its entropy.
    G
        The largest edge, with or without a sign.
    examples
        The multiplicities and the reference distribution.
    """

    F0: Regularizer
    G: EdgeFunction
    examples: Examples

    @classmethod
    def of(cls, F: Regularizer, G: EdgeFunction, examples: Examples) -> Goal | None:
        """Return the soft margin of a program; None if it has none, so that a class has no certificate."""
        largest = G.largest_edge
        if largest is None or not (G.mixes or F.on_simplex):
            return None
        return cls(F.unsmoothed, largest, examples)

    @staticmethod
    def measure_of(goal: Goal | None) -> str:
        """Return the name of the value that a run bounds: the soft margin, or the value of a program without one."""
        return PROGRAM_VALUE if goal is None else goal.F0.measure

    @cached_property
    def least(self) -> float:
        """The smallest value of F0: 0 for a cap, more for a penalty."""
        return -self.F0.conjugate_at(np.zeros(self.F0.N)).value

    @property
    def nu(self) -> float | None:
        """The count nu: the soft margin is the mean of the nu smallest margins; None if F0 is not a cap."""
        caps = self.F0.indicator_caps
        if caps is None:
            return None
        alive = caps > 0
        return float((self.examples.c[alive] / caps[alive]).min())

    @property
    def signed(self) -> bool:
        """Whether the edges count with their sign, so that the weights lie in the simplex."""
        return not self.G.even

    def soft_margin(self, m: Float[Array, " N"], total: float) -> float:
        """Return the soft margin of weights with the margins m = Uw and the sum |w|.

        With no weights, the margins are 0 if the edges count without a sign. Otherwise the soft margin is the smallest
        that any weights have.
        """
        if total <= 0.0:
            return self.least - 1.0 if self.signed else self.least
        # A sum that is 1 but for rounding is left alone: the same margins have been asked for just before.
        scaled = self.signed and abs(total - 1.0) > SUM_ROUNDING
        return -self.F0.conjugate_at(-m / total if scaled else -m).value

    def upper(self, d: Float[Array, " N"], largest: float) -> float:
        """Return an upper bound for a class whose largest edge under d is `largest`, including rounding."""
        return self.F0.value(d) + largest + rounding_of(self.F0)

    def program(self, U: Margins) -> Program:
        """Return the program of the largest soft margin over some hypotheses."""
        page = SoftMargin(self.F0, self.G)
        return Program(page, page.Parameters(), self.examples, U, self.F0, self.G)


def rounding_of(F: Regularizer) -> float:
    """Return a bound of what F(d) may lose by rounding."""
    return EPS * (min(F.N, BLOCK_ROWS) + F.N // BLOCK_ROWS + 10) * (1.0 + float(F.magnitude))


@dataclass(frozen=True, kw_only=True)
class _NoParameters:
    """There are none: F0 and G are complete."""


class SoftMargin(Formulation[Any]):
    """max over w of -F0*(-Uw): the soft margin itself, without what smooths it."""

    name: ClassVar[str] = "soft_margin"
    title = "Soft margin"
    Parameters = _NoParameters

    def __init__(self, F0: Regularizer, G: EdgeFunction) -> None:
        self._F0, self._G = F0, G

    def regularizer(self, p: Any, examples: Examples) -> Regularizer:
        return self._F0

    def edge_function(self, p: Any) -> EdgeFunction:
        return self._G


@dataclass(frozen=True, eq=False)
class ClassCertificate(ImmutableArrays):
    """A proved interval that contains the best soft margin over all hypotheses of a class.

    Attributes
    ----------
    lower
        The certified soft margin of the returned weights, including rounding.
    upper
        A bound that no weights over the class can exceed; inf if the oracle is heuristic.
    proof
        The distribution that proves `upper`, shape (N,), or a function that makes it; None if there is no proof.
    oracle
        The class, in words.
    recorded
        Whether `upper` was read from a file. Then it was computed when the run was made. Without the oracle, boostopt
        can only check that no collected hypothesis contradicts it. `Run.verify_class` computes it again.
    what
        The name of the bounded quantity: the soft margin, or the value of a program that has none.
    """

    lower: float
    upper: float
    proof: Float[Array, " N"] | Callable[[], Float[Array, " N"]] | None
    oracle: str
    recorded: bool = False
    what: str = Regularizer.measure

    @cached_property
    def d(self) -> Float[Array, " N"] | None:
        """The distribution that proves `upper`, shape (N,); None if there is no proof."""
        return as_immutable(self.proof()) if callable(self.proof) else self.proof

    @property
    def gap(self) -> float:
        """The difference of the bounds, at least 0."""
        return max(self.upper - self.lower, 0.0)

    @property
    def exact(self) -> bool:
        """Whether there is an upper bound."""
        return self.proof is not None

    def __str__(self) -> str:
        if self.lower == math.inf:
            return f"the program is infeasible: no weights of the examples have such edges over {self.oracle}"
        if not self.exact:
            return f"the {self.what} is at least {self.lower:.10g}; heuristic oracle: no upper bound ({self.oracle})"
        words = f"the best {self.what} over {self.oracle} lies in {interval(self.lower, self.upper)}"
        if not self.recorded:
            return words
        return (
            f"{words}; this was recorded at the fit: boostopt.verify of a certificate file, or "
            "run.verify_class(oracle) of a stored run, proves it again"
        )

    def __repr__(self) -> str:
        return f"ClassCertificate({self})"
