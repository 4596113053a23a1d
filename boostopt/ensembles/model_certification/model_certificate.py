"""The certificate of a fitted model: the objective that the model attains, and the interval of the optimum."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from boostopt._utils.formatting import format_interval, html_table
from boostopt.boosting_certificates.nan_checks import check_bounds
from boostopt.programs.program import Program
from boostopt.solving.solution import Solution


@dataclass(frozen=True, eq=False, repr=False)
class ModelCertificate:
    """A certificate of the gap between a fitted model and the optimum of its own objective.

    All numbers are values of the model's own objective, in its own scale. This is the sum of losses and penalty, which
    is minimized. For an ensemble it is minus the soft margin, because the soft margin is maximized. Rounding is counted
    outwards.

    Attributes
    ----------
    objective
        The objective that the model minimizes, in words.
    attained, attained_at_least
        An upper and a lower bound of the objective that the model attains. If the coefficients are so large that no
        upper bound is known, the first is inf and the second finite.
    lower, upper
        The interval of the optimum.
    program
        The program whose optimum is minus this optimum: you can solve, compare and export it.
    solution
        The answer that proves the interval.
    error
        The part of the width of the interval that is due to an approximate kernel; 0 without one.

    Raises
    ------
    ProblemError
        A bound is nan.
    """

    objective: str
    attained: float
    attained_at_least: float
    lower: float
    upper: float
    program: Program
    solution: Solution
    error: float = 0.0

    def __post_init__(self) -> None:
        check_bounds(self.lower, self.upper, self.attained, self.attained_at_least)

    @cached_property
    def excess(self) -> tuple[float, float]:
        """The interval of the model's excess over the optimum; both bounds are at least 0."""
        return max(self.attained_at_least - self.upper, 0.0), max(self.attained - self.lower, 0.0)

    @property
    def gap(self) -> float:
        """The largest possible excess of the model over the optimum."""
        return self.excess[1]

    @property
    def relative_gap(self) -> float:
        """The gap over max(|optimum|, the smallest positive number): the excess as a share of the optimum."""
        size = min(abs(self.lower), abs(self.upper)) if self.lower * self.upper > 0 else 0.0
        return self.gap / size if size > 0 else (0.0 if self.gap == 0.0 else math.inf)

    def __repr__(self) -> str:
        share = f", {self.relative_gap:.2e} of it" if math.isfinite(self.relative_gap) else ""
        return (
            f"ModelCertificate({self.objective}: attained {self.attained:.10g}, the optimum lies in "
            f"{format_interval(self.lower, self.upper)}; at most {self.gap:.2e} above it{share})"
        )

    def _repr_html_(self) -> str:
        rows = [
            ("attained", self.attained),
            ("the optimum lies in", format_interval(self.lower, self.upper)),
            ("at most above it", f"{self.gap:.2e}"),
            ("as a share of it", f"{self.relative_gap:.2e}"),
        ]
        return html_table(self.objective, rows)
