"""The hypotheses and weights that a fitted classifier predicts with, of a run or from a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.boosting.run.combined_hypothesis import weighted_vote
from boostopt.boosting.run.run import Run
from boostopt.objectives.class_certificate import ClassCertificate
from boostopt.oracles.base import Hypothesis


@dataclass(frozen=True, eq=False)
class BinaryModel:
    """The weighted hypotheses that tell one class from the rest, or the second of two from the first.

    Attributes
    ----------
    formulation
        The name of what was boosted.
    oracle
        The class of hypotheses, in words.
    hypotheses, w
        The hypotheses collected, and their weights, shape (t,).
    majority
        The class of more training examples, 1 or -1.
    rounds
        Rounds of boosting.
    reason
        Why it stopped, in words.
    certificate
        The distance of the soft margin from the best possible over the class; None where there is no soft margin.
    """

    formulation: str
    oracle: str
    hypotheses: Sequence[Hypothesis]
    w: Float[Array, " t"]
    majority: int
    rounds: int
    reason: str
    certificate: ClassCertificate | None

    @classmethod
    def from_run(cls, run: Run) -> BinaryModel:
        """Return the scorer of a run."""
        return cls(
            formulation=run.problem.formulation.name,
            oracle=run.oracle,
            hypotheses=run.hypotheses,
            w=run.w,
            majority=run.majority,
            rounds=run.rounds,
            reason=run.reason,
            certificate=run.class_certificate if run.problem.has_class_bound else None,
        )

    def decision_function(self, X: Any) -> Float[Array, " n"]:
        """Return f(x) for each row of X."""
        return weighted_vote(self.hypotheses, self.w, X)


def stack_columns(values: Iterable[Float[Array, " n"]]) -> Float[Array, " n *classes"]:
    """Return the values of one scorer, or those of several in columns."""
    columns = list(values)
    return columns[0] if len(columns) == 1 else np.column_stack(columns)


def describe_weights(
    hypotheses: Sequence[Hypothesis], w: Float[Array, " t"], names: Sequence[str], most: int | None
) -> list[str]:
    """Return the hypotheses with the largest weights, at most so many, in words: each after its share of the weight."""
    total = float(np.abs(w).sum())
    largest = [q for q in np.argsort(-np.abs(w), kind="stable")[:most].tolist() if w[q] != 0.0]
    return [f"{w[q] / total:.4f} {hypotheses[q].in_words(names)}" for q in largest]
