"""The hypotheses and weights that a fitted classifier predicts with, of a run or from a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from boostopt.boosting.classifier import combined
from boostopt.boosting.run import Run
from boostopt.boosting.soft_margin import ClassCertificate
from boostopt.oracles.base import Hypothesis
from boostopt.shapes import Array, Float


@dataclass(frozen=True, eq=False)
class OfRun:
    """The scorer of a run."""

    run: Run

    @property
    def formulation(self) -> str:
        """The name of what was boosted."""
        return self.run.record.problem.page.name

    @property
    def oracle(self) -> str:
        """The class of hypotheses, in words."""
        return self.run.record.oracle

    @property
    def hypotheses(self) -> Sequence[Hypothesis]:
        """The hypotheses collected."""
        return self.run.hypotheses

    @property
    def w(self) -> Float[Array, " t"]:
        """Their weights."""
        return self.run.w

    @property
    def majority(self) -> int:
        """The class of more training examples, 1 or -1."""
        return self.run.record.majority

    @property
    def rounds(self) -> int:
        """Rounds of boosting."""
        return self.run.rounds

    @property
    def reason(self) -> str:
        """Why it stopped, in words."""
        return self.run.reason

    @property
    def certificate(self) -> ClassCertificate | None:
        """The distance of the soft margin from the best possible over the class; None where there is no soft margin."""
        return None if self.run.record.problem.goal is None else self.run.class_certificate

    def decision_function(self, X: Any) -> Float[Array, " n"]:
        """Return f(x) for each row of X."""
        return self.run.decision_function(X)


@dataclass(frozen=True, eq=False)
class OfFile:
    """The scorer of a model file, by the same names."""

    formulation: str
    oracle: str
    hypotheses: Sequence[Hypothesis]
    w: Float[Array, " t"]
    majority: int
    rounds: int
    reason: str
    certificate: ClassCertificate | None

    def decision_function(self, X: Any) -> Float[Array, " n"]:
        """Return f(x) for each row of X."""
        return combined(self.hypotheses, self.w, X)


Part = OfRun | OfFile
"""What tells one class from the rest, or the second of two from the first."""
