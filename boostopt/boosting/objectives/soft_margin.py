"""The objective of boosting: the largest value -F0*(-Uw) over a class of hypotheses, and its bounds.

F0 is the regularizer without the term that only smooths it. If F0 is the indicator of a set of distributions, the value
is the soft margin of w: for the cap, the mean of the nu smallest margins. If F0 has terms of its own, such as a linear
one, the value holds these terms and is no soft margin. For every distribution d in the domain of F0, F0(d) + the
largest edge of the class is an upper bound on the value of any w over the class [Glocer 2009, section 2.2;
Shalev-Shwartz and Singer 2008, theorem 4].

F and G alone determine the name of the value: see `SoftMarginObjective.measure`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from boostopt._utils.array_types import ExampleVector
from boostopt.boosting_certificates.nan_checks import as_bound
from boostopt.functions.convex_function import computed_attribute
from boostopt.functions.edge_functions.base import EdgeFunction
from boostopt.functions.regularizers.base import Regularizer
from boostopt.programs.formulation import Formulation
from boostopt.programs.program import Examples, Program
from boostopt.rows.margin_matrix import BLOCK_ROWS, MarginMatrix

SOFT_MARGIN = "soft margin"
"""The name of -F0*(-Uw) if F0 is the indicator of a set of distributions."""

PROGRAM_VALUE_LABEL = "value of the program"
"""The name of the bounded value if it is the optimum of the program of F and G themselves."""

OTHER_G, OTHER_F = "with the largest edge for G", "without its smoothing term"
"""The additions to the name of the value of a program with another G, or with another F."""

SUM_TOL = 1e-12
"""The largest error of a sum of weights that counts as 1 during a run."""

EPS = float(np.finfo(np.float64).eps)

FEASIBILITY_TOL = 8.0 * EPS
"""The largest distance to the domain, in the 1-norm, of a distribution that is not projected: it is rounding."""

COUNT_ROUNDING = 1e-14
"""The relative difference up to which the quotients c / cap of the examples count as equal."""


@dataclass(frozen=True)
class SoftMarginObjective:
    """The value -F0*(-Uw) that a run maximizes: a soft margin, or another value of the weights.

    Attributes
    ----------
    F0
        The regularizer without the term that only smooths it.
    G
        The largest edge, with or without a sign.
    examples
        The multiplicities and the reference distribution.
    otherwise
        The name of the value if it is not a soft margin.
    """

    F0: Regularizer
    G: EdgeFunction
    examples: Examples
    otherwise: str = PROGRAM_VALUE_LABEL

    @classmethod
    def from_pair(cls, F: Regularizer, G: EdgeFunction, examples: Examples) -> SoftMarginObjective | None:
        """Return the objective of a program; None if the largest edge bounds no value over a class."""
        largest = G.largest_edge
        if largest is None or not (G.is_largest_edge or F.on_simplex):
            return None
        F0 = F.unsmoothed
        return cls(F0, largest, examples, value_in_words(F, G, F0))

    @staticmethod
    def name_of(objective: SoftMarginObjective | None) -> str:
        """Return the name of the value that a run bounds: the measure of the objective, or else the program value."""
        return PROGRAM_VALUE_LABEL if objective is None else objective.measure

    @cached_property
    def measure(self) -> str:
        """The name of the value: "soft margin" only if F0 is the indicator of a set of distributions.

        The name depends on the functions F and G only, not on the form in which F is written.
        """
        return SOFT_MARGIN if self.F0.is_indicator else self.otherwise

    @cached_property
    def min_regularizer(self) -> float:
        """The smallest value of F0: 0 for a cap, more for a penalty."""
        return -float(self.F0.conjugate_at(np.zeros(self.F0.N)).value)

    @property
    def nu(self) -> float | None:
        """The count nu: the value is the mean of the nu smallest margins; None if F0 is not the cap c / nu."""
        caps = self.F0.soft_margin_caps
        if caps is None or not caps.all():
            return None
        counts = self.examples.c / caps
        smallest, largest = float(counts.min()), float(counts.max())
        return smallest if largest <= smallest * (1.0 + COUNT_ROUNDING) else None

    @property
    def nonnegative_weights(self) -> bool:
        """True if the edges count with their sign, so that the weights lie in the simplex."""
        return not self.G.is_symmetric

    def soft_margin(self, m: ExampleVector, total: float) -> float:
        """Return the value of weights with the margins m = Uw and the sum |w| = `total`, for instance the soft margin.

        Without weights, the margins are 0 if the edges count without a sign. Otherwise the value is a lower bound for
        all weights.
        """
        if total <= 0.0:
            return self.min_regularizer - 1.0 if self.nonnegative_weights else self.min_regularizer
        # A sum that is 1 up to rounding is not divided by: F0* was evaluated at the same margins just before.
        needs_scaling = self.nonnegative_weights and abs(total - 1.0) > SUM_TOL
        return -float(
            self.F0.conjugate_at(-m / total if needs_scaling else -m).value
        )  # a user's regularizer may return a NumPy scalar

    def upper_bound(self, d: ExampleVector, largest: float) -> float:
        """Return an upper bound for a class whose largest edge under d is `largest`, including rounding."""
        return as_bound(self.F0.value(d) + largest + value_slack(self.F0, d), math.inf)

    def program(self, U: MarginMatrix) -> Program:
        """Return the program that maximizes the value over the hypotheses with the margins U."""
        formulation = SoftMarginFormulation(self.F0, self.G, self.measure)
        return Program(formulation, formulation.Parameters(), self.examples, U, self.F0, self.G)


def value_in_words(F: Regularizer, G: EdgeFunction, F0: Regularizer) -> str:
    """Return the name of the value of F0 and a largest edge, from their differences to F and G of a program."""
    differences = [*([] if G.is_largest_edge else [OTHER_G]), *([] if F0 is F else [OTHER_F])]
    return " ".join([PROGRAM_VALUE_LABEL, " and ".join(differences)]).strip()


MEASURES = (
    SOFT_MARGIN,
    PROGRAM_VALUE_LABEL,
    f"{PROGRAM_VALUE_LABEL} {OTHER_G}",
    f"{PROGRAM_VALUE_LABEL} {OTHER_F}",
    f"{PROGRAM_VALUE_LABEL} {OTHER_G} and {OTHER_F}",
)
"""All names of values that are bounded over a class."""


def value_slack(F: Regularizer, d: ExampleVector) -> float:
    """Return a bound of the rounding error of F(d) plus an edge under d."""
    unit = EPS * (min(F.N, BLOCK_ROWS) + F.N // BLOCK_ROWS + 10)
    return unit + F.value_slack(d, unit)


@dataclass(frozen=True, kw_only=True)
class _NoParameters:
    """The empty parameters: F0 and G are complete."""


class SoftMarginFormulation(Formulation[Any]):
    """The formulation max over w of -F0*(-Uw): the objective of a run, without the smoothing term of F."""

    name: ClassVar[str] = "soft_margin"
    Parameters = _NoParameters

    def __init__(self, F0: Regularizer, G: EdgeFunction, measure: str = SOFT_MARGIN) -> None:
        self._F0, self._G = F0, G
        self._measure = measure

    def _measure_title(self) -> str:
        return self._measure.capitalize()

    title: ClassVar[str] = computed_attribute(_measure_title)

    def regularizer(self, p: Any, examples: Examples) -> Regularizer:
        return self._F0

    def edge_function(self, p: Any) -> EdgeFunction:
        return self._G
