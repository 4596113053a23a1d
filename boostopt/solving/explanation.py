"""Explanations: why an answer is optimal, or which condition fails at which example or hypothesis.

An answer is optimal if d is feasible, w is feasible, d is the best answer to w (no example gap), and w is the best
answer to d (no hypothesis gap). Each condition has a number. This module states the conditions in words and names the
examples and hypotheses with the largest violations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.formatting import format_count, format_interval, html_table
from boostopt.boosting_certificates.certificate import Certificate
from boostopt.programs.program import Program

MAX_NAMED = 3
"""Number of examples or hypotheses that are named."""

D_SOURCE_DESCRIPTIONS = {
    "d(w)": "d(w), computed from w",
    "repaired": "the given d, made feasible",
    "start": "the minimizer of F, because no usable d was given",
}
"""Sources of the d that proves the upper bound, in words."""

OPTIMALITY_CONDITIONS = ("d optimal for w", "w optimal for d")
"""Optimality conditions, which are measured after feasibility restoration of d and w."""

GAP_MISMATCH_RTOL, GAP_MISMATCH_ATOL = 0.01, 1e-6
"""Tolerances for the sum of the gap terms against upper minus lower, relative to the larger and to the scale."""

NEGLIGIBLE_WEIGHT_RTOL = 1e-9
"""Weight, relative to the largest, above which an example or a hypothesis counts as present."""


@dataclass(frozen=True)
class Condition:
    """A condition of optimality.

    Attributes
    ----------
    name
        The condition in words.
    holds
        Whether the condition holds within the tolerance.
    violation
        The size of the violation, at least 0; inf if this part of the answer was missing.
    location
        The examples or hypotheses with the largest violations, in words; "" if there are none.
    """

    name: str
    holds: bool
    violation: float
    location: str

    @property
    def status_word(self) -> str:
        """The state of the condition in a word."""
        return "holds" if self.holds else "open" if self.violation == np.inf else "FAILS"

    @property
    def violation_text(self) -> str:
        """The size of the violation, in words."""
        if np.isnan(self.violation):
            return "not measured"
        return "not given or not finite" if self.violation == np.inf else f"{self.violation:.2e}"


@dataclass(frozen=True)
class Explanation:
    """The conditions of an answer, in words.

    Attributes
    ----------
    headline
        The conclusion in one sentence.
    conditions
        The conditions of optimality with their violations.
    facts
        Facts about the answer, such as the number of examples and hypotheses with weight.
    """

    headline: str
    conditions: tuple[Condition, ...]
    facts: tuple[str, ...]

    def __str__(self) -> str:
        lines = [self.headline]
        for condition in self.conditions:
            location = f"; {condition.location}" if condition.location else ""
            lines.append(f"  {condition.status_word}: {condition.name} ({condition.violation_text}){location}")
        return "\n".join([*lines, *(f"  {fact}" for fact in self.facts)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = [(one.name, one.status_word, one.violation_text, one.location) for one in self.conditions]
        answer = html_table("The answer", [(fact,) for fact in self.facts])
        if not rows:
            return html_table("Conclusion", [(self.headline,)]) + answer
        return html_table(self.headline, rows, ("condition", "", "violation", "location")) + answer


def explain(program: Program, certificate: Certificate, tol: float, unanswered: str = "") -> Explanation:
    """Explain why the pair of a certificate is optimal within tol, or which condition fails and at which example.

    Parameters
    ----------
    program, certificate, tol
        The program, the certificate of the answer, and the target gap.
    unanswered
        The reason if there is no answer, "" otherwise. Without an answer, no condition is stated.
    """
    if certificate.infeasible:
        return _explain_infeasibility(program, certificate)
    allowed = tol * certificate.scale
    narrow = certificate.scaled_gap <= tol
    words = format_interval(certificate.lower, certificate.upper)
    if unanswered:
        return Explanation(f"No answer: {unanswered}.", (), (f"Without an answer, the optimum lies in {words}.",))
    headline = (
        f"Optimal: the optimum lies in {words}, of width {certificate.gap:.2e}."
        if narrow
        else f"Not proved to be optimal within {tol:g}: the optimum lies in {words}, of width {certificate.gap:.2e}."
    )
    if not narrow and certificate.is_mostly_rounding:
        headline += (
            f" Of the width, {2.0 * certificate.slack:.2e} is the allowance for rounding, and a better answer does not "
            "narrow it. The allowance grows with the values and slopes of F and G: scale them down, or raise tol."
        )
    conditions = [
        Condition(f"{_describe_origin(name)}, {name}", bool(residual <= allowed), float(residual), "")
        for name, residual in certificate.kkt.residuals.items()
    ]
    if narrow and certificate.d_is != "repaired" and not certificate.kkt.residuals[OPTIMALITY_CONDITIONS[0]] <= allowed:
        headline += (
            f" This is about w and {D_SOURCE_DESCRIPTIONS[certificate.d_is]}; the d that was given is not proved to be "
            "optimal."
        )
    examples, hypotheses = (
        partial(_describe_examples, program, certificate),
        partial(_describe_hypotheses, program, certificate),
    )
    conditions += [
        _gap_condition("d is the best answer to w", certificate.example_gaps, allowed, examples),
        _gap_condition("w is the best answer to d", certificate.hypothesis_gaps, allowed, hypotheses),
    ]
    if not np.isfinite(certificate.upper):
        conditions.append(Condition("some d near the answer has feasible edges", False, np.nan, "no such d was found"))
    return Explanation(headline, tuple(conditions), _describe_facts(program, certificate))


def _describe_origin(name: str) -> str:
    """Describe the weights to which a condition refers: the answer as given, or after feasibility restoration."""
    return "as it was given, but made feasible" if name in OPTIMALITY_CONDITIONS else "as it was given"


def _gap_condition(
    name: str, gaps: Float[Array, " n"], allowed: float, describe: Callable[[Sequence[int]], list[str]]
) -> Condition:
    """Return the condition that the gap terms sum to at most the allowed gap, with the largest terms if they do not."""
    total = float(gaps.sum())
    if total <= allowed:
        return Condition(name, True, total, "")
    worst = [int(k) for k in np.argsort(-gaps)[:MAX_NAMED] if gaps[k] > 0.1 * total]
    return Condition(name, False, total, "; ".join(describe(worst)))


def _describe_examples(program: Program, certificate: Certificate, named: Sequence[int]) -> list[str]:
    """Describe the weights, margins and gap terms of some examples."""
    d, m, gaps = certificate.d, program.margins.margins(certificate.w), certificate.example_gaps
    return [f"example {n}: weight {d[n]:.3g} at margin {m[n]:.3g} costs {gaps[n]:.1e}" for n in named]


def _describe_hypotheses(program: Program, certificate: Certificate, named: Sequence[int]) -> list[str]:
    """Describe the weights, edges and gap terms of some hypotheses."""
    w, e, gaps = certificate.w, program.margins.edges(certificate.d), certificate.hypothesis_gaps
    return [
        f"hypothesis {q}: weight {w[q]:.3g} at edge {e[q]:.3g} (largest {e.max():.3g}) costs {gaps[q]:.1e}"
        for q in named
    ]


def _describe_facts(program: Program, certificate: Certificate) -> tuple[str, ...]:
    """Return the numbers of examples and hypotheses with weight, the source of the upper bound, and the slack."""
    d, w = certificate.d, certificate.w
    psi = np.asarray(certificate.multipliers.get("psi", np.zeros(len(d))))
    facts = [
        f"{_count_non_negligible(d)} of {len(d)} examples and {_count_non_negligible(w)} of {len(w)} hypotheses have a "
        "weight."
    ]
    if np.isfinite(certificate.upper):
        facts.append(f"The upper bound is proved by {D_SOURCE_DESCRIPTIONS[certificate.d_is]}.")
    facts.append(f"Each bound includes {certificate.slack:.1e} for rounding.")
    facts += _describe_gap_mismatch(certificate)
    facts += _describe_kinks("f", program.regularizer.describe_kinks(d))
    if not program.edge_function.has_closed_form_conjugate:  # edges are a pass over U
        facts += _describe_kinks("G", program.edge_function.describe_kinks(program.margins.edges(d)))
    if (psi > 0).any():
        facts.insert(
            1,
            f"{format_count(int((psi > 0).sum()), 'example is at its', 'examples are at their')} cap with a positive "
            f"multiplier; example {int(psi.argmax())} has the largest.",
        )
    return tuple(facts)


def _describe_gap_mismatch(certificate: Certificate) -> list[str]:
    """State that the gap terms, which use slopes, do not sum to upper minus lower, which use values; [] if they do."""
    terms, width = certificate.gap_terms, certificate.upper - certificate.lower
    larger = max(terms, width)
    if (
        not np.isfinite(larger)
        or abs(terms - width) <= GAP_MISMATCH_RTOL * larger + GAP_MISMATCH_ATOL * certificate.scale
    ):
        return []
    return [
        f"The terms of the gap sum to {terms:.2e}, but upper minus lower is {width:.2e}. So slopes and values of F or "
        "G contradict each other, for example by a wrong sign in `derivatives`. Run `boostopt check`."
    ]


def _describe_kinks(function: str, places: Sequence[str]) -> list[str]:
    """List the kinks of a function, at which the proof depends on the chosen slope."""
    if not places:
        return []
    remainder = f" and at {len(places) - MAX_NAMED} more" if len(places) > MAX_NAMED else ""
    return [f"{function} has a kink at {', '.join(places[:MAX_NAMED])}{remainder}."]


def _explain_infeasibility(program: Program, certificate: Certificate) -> Explanation:
    """Explain a proof of infeasibility."""
    words = (
        "Infeasible: with the hypothesis weights w, every allowed d has a <d, U w> that exceeds the limit of the "
        f"constraints on the edges by at least {certificate.excess:.3e}."
    )
    facts = (f"The proof needs {_count_non_negligible(certificate.w)} of {program.margins.t} hypotheses.",)
    return Explanation(words, (), facts)


def _count_non_negligible(weights: Float[Array, " n"]) -> int:
    """Return how many weights are not negligible."""
    size = np.abs(weights)
    return int((size > NEGLIGIBLE_WEIGHT_RTOL * float(size.max(initial=0.0))).sum())
