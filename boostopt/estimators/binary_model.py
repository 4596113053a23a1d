"""Binary models: the hypotheses and weights of a fitted classifier, from a run or from a file."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Float, HypothesisVector
from boostopt._utils.formatting import format_count
from boostopt.boosting.histogram_newton.histogram_run import LazyWitness
from boostopt.boosting.objectives.class_certificate import ClassCertificate
from boostopt.boosting.objectives.limited_formulation import LimitedWeights
from boostopt.boosting.run.combined_hypothesis import ZERO_TOL, weighted_vote
from boostopt.boosting.run.run import Run
from boostopt.boosting.weight_limits import certify_limits
from boostopt.errors import ProblemError
from boostopt.oracles.base import Hypothesis
from boostopt.oracles.distributed.oracle_without_rows import raise_rows_missing


@dataclass(frozen=True)
class CompressedVector:
    """A vector as compressed bytes; a call returns the vector."""

    content: bytes

    @classmethod
    def from_vector(cls, vector: ExampleVector) -> CompressedVector:
        """Return a vector in compressed form."""
        return cls(zlib.compress(vector.astype("<f8").tobytes()))

    def __call__(self) -> ExampleVector:
        return np.frombuffer(zlib.decompress(self.content), "<f8").astype(np.float64)


@dataclass(frozen=True, eq=False)
class BinaryModel:
    """The weighted hypotheses of one class against the rest, or of the second of two classes.

    Attributes
    ----------
    formulation
        The name of the formulation.
    oracle
        The class of hypotheses, in words.
    hypotheses, w
        The t hypotheses, and their weights, shape (t,).
    majority
        The class of more training examples, 1 or -1.
    rounds
        The number of rounds.
    reason
        The stop reason, in words.
    certificate
        The interval of the best soft margin over the class; None if the program has no bound over the class.
    spreads
        The standard deviations of the votes on each feature over the training examples, shape (features,); None if
        they are unknown.
    """

    formulation: str
    oracle: str
    hypotheses: Sequence[Hypothesis]
    w: HypothesisVector
    majority: int
    rounds: int
    reason: str
    certificate: ClassCertificate | None
    spreads: Float[Array, " features"] | None = None

    @classmethod
    def from_run(cls, run: Run) -> BinaryModel:
        """Return the binary model of a run, without spreads; its weights keep the limits of the class, if it has any.

        Raises
        ------
        ProblemError
            No weights of the collected hypotheses are proved to keep the limits.
        """
        formulation, w = run.problem.formulation, run.w
        if isinstance(formulation, LimitedWeights):
            limits = certify_limits(run)
            if limits.w is None:
                excess = float((limits.values - limits.right_sides).max())
                raise ProblemError(
                    f"a fit over {run.oracle} needs weights that keep the limits; got an excess of {excess:.4g} after "
                    f"{format_count(run.rounds, 'round')}. Raise the limits, or max_iter."
                )
            formulation, w, certificate = formulation.base, limits.w, limits.interval
        else:
            certificate = run.class_certificate if run.problem.has_class_bound else None
        return cls(
            formulation=formulation.name,
            oracle=run.oracle,
            hypotheses=run.hypotheses,
            w=w,
            majority=run.majority,
            rounds=run.rounds,
            reason=run.reason,
            certificate=certificate,
        )

    def without_run(self) -> BinaryModel:
        """Return the binary model with a recorded certificate, as a model file holds it, without the run behind it.

        The distribution that proves the upper bound is compressed: it has a number for each example.
        """
        certificate, hypotheses = self.certificate, tuple(self.hypotheses)
        if certificate is None:
            return replace(self, hypotheses=hypotheses)
        if is_distributed(certificate):
            witness: Callable[[], ExampleVector] | None = raise_rows_missing
        else:
            witness = None if certificate.d is None else CompressedVector.from_vector(certificate.d)
        return replace(self, hypotheses=hypotheses, certificate=replace(certificate, witness=witness, recorded=True))

    def decision_function(self, X: Any) -> Float[Array, " n"]:
        """Return f(x) for each row of X."""
        return weighted_vote(self.hypotheses, self.w, X)


def is_distributed(certificate: ClassCertificate) -> bool:
    """Return whether the distribution that proves the upper bound is as long as rows that are not here."""
    return isinstance(certificate.witness, LazyWitness) and certificate.witness.unavailable


def stack_columns(values: Iterable[Float[Array, " n"]]) -> Float[Array, " n *classes"]:
    """Return the values of one binary model, or the values of several models in columns."""
    columns = list(values)
    return columns[0] if len(columns) == 1 else np.column_stack(columns)


def describe_weights(
    hypotheses: Sequence[Hypothesis], w: HypothesisVector, names: Sequence[str], max_hypotheses: int | None
) -> list[str]:
    """Return at most `max_hypotheses` hypotheses of largest weight in words, each after its weight in f.

    Opposite hypotheses have cancelled: see `combine_opposites`.
    """
    total = float(np.abs(w).sum())
    votes = sorted(combine_opposites(hypotheses, w), key=lambda vote: -abs(vote[1]))
    return [f"{weight / total:z.4f} {hypothesis.in_words(names)}" for hypothesis, weight in votes[:max_hypotheses]]


def combine_opposites(hypotheses: Sequence[Hypothesis], w: HypothesisVector) -> list[tuple[Hypothesis, float]]:
    """Return different hypotheses with the weights of the same f: a hypothesis and its negation share one weight.

    All constants are one hypothesis. The weights of opposite hypotheses cancel in f. A remainder of at most `ZERO_TOL`
    times the sum of the weights is left out: it is the error of a solver. The hypotheses are in the order of their
    first occurrence.
    """
    members: dict[Hypothesis, list[int]] = {}
    signs = np.zeros(len(hypotheses))
    for q in np.flatnonzero(w).tolist():
        form, signs[q] = hypotheses[q].signed_form()
        members.setdefault(form, []).append(q)
    votes, tolerance = list[tuple[Hypothesis, float]](), ZERO_TOL * float(np.abs(w).sum())
    for indices in members.values():
        weights = signs[indices] * w[indices]
        net_weight = float(weights.sum())
        if abs(net_weight) <= tolerance:
            continue
        q = indices[int((weights * np.sign(net_weight)).argmax())]
        votes.append((hypotheses[q], net_weight * float(signs[q])))
    return votes
