"""What is proved of a fitted model: what it attains, and the interval of the best that there is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from boostopt.programs.program import Program
from boostopt.solving.solution import Solution
from boostopt.text import html_table, interval


@dataclass(frozen=True, eq=False, repr=False)
class ModelCertificate:
    """How far a fitted model is from the optimum of what it minimizes.

    All numbers are of the model's own objective, in its own scale: the sum of losses and penalty, which is minimized;
    of an ensemble the soft margin, which is maximized, with its sign turned. Rounding is counted outwards.

    Attributes
    ----------
    objective
        What the model minimizes, in words.
    attained, attained_at_least
        Numbers not below and not above what the model attains; inf and finite where its coefficients are so large that
        no number above is known.
    lower, upper
        The interval of the optimum.
    program
        The program whose optimum, with the sign turned, it is: it can be solved, compared and exported.
    solution
        The answer that the interval was proved with.
    error
        By how much lower and upper are apart for the sake of a kernel that is known approximately; 0 without one.
    """

    objective: str
    attained: float
    attained_at_least: float
    lower: float
    upper: float
    program: Program
    solution: Solution
    error: float = 0.0

    @cached_property
    def excess(self) -> tuple[float, float]:
        """The interval of what the model attains above the optimum, both ends at least 0."""
        return max(self.attained_at_least - self.upper, 0.0), max(self.attained - self.lower, 0.0)

    @property
    def gap(self) -> float:
        """What the model is above the optimum at most."""
        return self.excess[1]

    @property
    def relative_gap(self) -> float:
        """The gap over max(|optimum|, the smallest positive number): the share of the optimum that is missed."""
        size = min(abs(self.lower), abs(self.upper)) if self.lower * self.upper > 0 else 0.0
        return self.gap / size if size > 0 else (0.0 if self.gap == 0.0 else math.inf)

    def __repr__(self) -> str:
        share = f", {self.relative_gap:.2e} of it" if math.isfinite(self.relative_gap) else ""
        return (
            f"ModelCertificate({self.objective}: attained {self.attained:.10g}, the optimum lies in "
            f"{interval(self.lower, self.upper)}; at most {self.gap:.2e} above it{share})"
        )

    def _repr_html_(self) -> str:
        rows = [
            ("attained", self.attained),
            ("the optimum lies in", interval(self.lower, self.upper)),
            ("at most above it", f"{self.gap:.2e}"),
            ("as a share of it", f"{self.relative_gap:.2e}"),
        ]
        return html_table(self.objective, rows)
