"""Findings about a fitted classifier: no proved soft margin above the baseline, too large a nu, a class without recall.

The baseline is the soft margin of the zero function f = 0: 0 for a cap, and the minimum of F0 for a penalty.

A constant prediction can have a positive soft margin if nu is large. Let p be the weight fraction of the smaller of two
classes. The constant prediction of the larger class has the margin -1 on the share p of the examples and 1 on the
others. For nu >= p, the mean of the nu smallest margins is 1 - 2 p / nu, which is positive for nu > 2 p. A nu-SVM has
no solution beyond the same limit [Crisp and Burges 1999: nu <= 2 min(N+, N-) / N].

With more than two classes, the largest f decides, and accuracy decreases already for nu > p. On held-out digits
(p = 0.097), the accuracy is 0.94 for nu = 0.1, 0.92 for 0.15, 0.82 for 0.2 and 0.47 for 0.3. If all margins of the
smaller class are at most 0, the soft margin is at most 1 - p / nu. There is no warning about a larger soft margin.

If a rare class is hard to tell from the others, the most accurate model predicts it for few of its examples. The
diagnosis has the share of these, the recall of the class. No warning tells of it, because the model is as it should be.

References
----------
Crisp, Burges, "A geometric interpretation of nu-SVM classifiers", 1999.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from boostopt._utils.formatting import format_interval
from boostopt.boosting.run.combined_hypothesis import ZERO_TOL
from boostopt.errors import MarginWarning
from boostopt.estimators.training.diagnosis import Finding
from boostopt.estimators.training.margin_summary import MarginSummary

SMALL_SOFT_MARGIN = 0.01
"""Largest soft margin that still causes a warning: stumps reach it on random labels."""

UNPROVED_REASON = "No soft margin above that of f(x) = 0 is proved"
ZERO_REASON = "f(x) = 0 on most of the training examples"
CONSTANT_REASON = "All training examples are predicted as one class"
NU_REASON = "nu is so large that the model may give up a class"
RECALL_REASON = "Few of the training examples of a class are predicted correctly"
"""The findings in short."""

RANKING_ADVICE = 'rank by the logistic loss with formulation="logitboost_cg"'
"""The way to a model that ranks examples although no soft margin is proved."""

SMALL_RECALL = 0.1
"""The share of the training examples of a class that are predicted correctly, below which the diagnosis names it."""

MAX_NAMED_CLASSES = 3
"""Number of classes that a warning lists by name."""


@dataclass(frozen=True)
class Recommendations:
    """The texts of a warning that depend on the calling function.

    Attributes
    ----------
    format_nu
        Formats a share nu as the caller passes it: "nu = 0.1".
    format_nu_limit
        Formats a share as an upper limit of nu.
    format_nu_bound
        Formats a share that nu must exceed.
    narrow_interval
        The way to make the certified interval narrower; "" if there is none.
    better_hypotheses
        The way to a larger soft margin other than nu.
    balance_classes
        The way to give both classes the same weight; "" if there is none.
    choice_of_nu
        The reason for a large nu that the fit chose, as a sentence without a period; "" if the caller passed nu.
    rank
        The ways to a model that ranks examples.
    """

    format_nu: Callable[[float], str]
    format_nu_limit: Callable[[float], str]
    format_nu_bound: Callable[[float], str]
    narrow_interval: str
    better_hypotheses: str
    balance_classes: str
    choice_of_nu: str = ""
    rank: Sequence[str] = ()

    def raise_nu(self, nu: float, limit: float, bound: float) -> str:
        """Return the advice to raise nu to its limit; "" if the fit chose nu, or if the texts of both say no more.

        Parameters
        ----------
        nu, limit
            The share nu, and the largest one to advise.
        bound
            The share that nu must exceed; 0 if there is none.
        """
        highest = self.format_nu_limit(limit)
        if self.choice_of_nu or float(highest) <= float(self.format_nu(nu).removeprefix("nu = ")):
            return ""
        lowest = self.format_nu_bound(bound) if bound else ""
        if lowest and float(lowest) >= float(highest):
            return ""
        return f"raise nu above {lowest}, to {highest} at most" if lowest else f"raise nu, to {highest} at most"


def margin_findings(
    summaries: Sequence[MarginSummary],
    hypothesis_class: str,
    constant_prediction: str,
    recommendations: Recommendations,
    recalls: Mapping[str, float] | None = None,
) -> list[Finding]:
    """Return the findings about unproved soft margins, too large a nu, and classes that are hardly predicted.

    Parameters
    ----------
    summaries
        One summary for two classes, or one for each class against the rest.
    hypothesis_class
        The class of hypotheses, in words.
    constant_prediction
        The class that is predicted for all examples; "" if there are several or they are unknown.
    recommendations
        The texts of the caller.
    recalls
        The share of the training examples of each class that are predicted correctly; None if they are unknown.
    """
    unproved = _unproved_messages(summaries, hypothesis_class, recommendations)
    nu_messages = _nu_messages(summaries, recommendations)
    predictions = _prediction_messages(summaries, constant_prediction)
    ways = (recommendations.balance_classes, *recommendations.rank)
    if predictions and not (unproved or nu_messages):
        reason, details = predictions[-1]
        predictions[-1] = (reason, f"{details} {_alternatives([recommendations.better_hypotheses])}.")
    return [
        *(Finding(MarginWarning, UNPROVED_REASON, details) for details in unproved),
        *(Finding(MarginWarning, reason, details) for reason, details in predictions),
        *(Finding(MarginWarning, NU_REASON, details) for details in nu_messages),
        *([] if constant_prediction else _recall_findings(recalls or {}, () if nu_messages else ways)),
    ]


def warn_about_member_weights(
    summaries: Sequence[MarginSummary], total_weight: float, constant_prediction: str, stacklevel: int
) -> None:
    """Issue one MarginWarning for reweighted ensembles, whose nu is a count of examples, with all details.

    Parameters
    ----------
    summaries, constant_prediction
        As in `margin_findings`.
    total_weight
        The sum of the weights of the examples.
    stacklevel
        The stack level of the warning, counted from the caller.
    """
    recommendations = Recommendations(
        format_nu=lambda nu: f"nu = {nu * total_weight:g}",
        format_nu_limit=lambda nu: f"{max(math.floor(nu * total_weight), 1):g}",
        format_nu_bound=lambda nu: f"{math.floor(nu * total_weight * (1.0 + ZERO_TOL)):g}",
        narrow_interval="lower tol, which narrows the interval",
        better_hypotheses="use another ensemble with better members",
        balance_classes="give both classes the same weight with sample_weight",
    )
    findings = margin_findings(summaries, "all members", constant_prediction, recommendations)
    if findings:
        text = " ".join(finding.details for finding in findings)
        warnings.warn(text, MarginWarning, stacklevel=stacklevel + 1)


def _unproved_messages(
    summaries: Sequence[MarginSummary], hypothesis_class: str, recommendations: Recommendations
) -> list[str]:
    """Return a message about the soft margins that are not proved to exceed the baseline; [] if all are proved."""
    unproved = [(s, s.soft_margin_bounds) for s in summaries if s.is_unproved and s.soft_margin_bounds is not None]
    if not unproved:
        return []
    worst, (lower, upper) = min(unproved, key=lambda pair: pair[1][1])
    is_impossible = worst.is_ruled_out
    is_positive = (upper if is_impossible else lower) > worst.baseline + ZERO_TOL
    at_nu = "" if worst.nu is None else f"at {recommendations.format_nu(worst.nu)} "
    contradiction, is_contradictory = worst.contradiction, worst.has_only_contradictions
    subject = "no weights have" if is_impossible or is_contradictory else "the weights are not proved to have"
    by_tolerance = f", by more than {worst.tolerance:g}" if is_positive else ""
    of_class = f" of class {worst.label}" if worst.label else ""
    classes = _affected_classes(summaries, [summary for summary, _ in unproved])
    contradiction_text = "" if contradiction is None else f"; {contradiction}"
    nu_limit = min(summary.nu_limit for summary in summaries)
    contradictory_share = contradiction.share if contradiction is not None and is_contradictory else 0.0
    # Where the fit chose nu, a narrower interval may lead to a larger nu.
    may_narrow = not is_impossible and (not is_contradictory or bool(recommendations.choice_of_nu))
    steps = [
        "" if worst.nu is None else recommendations.raise_nu(worst.nu, nu_limit, contradictory_share),
        recommendations.narrow_interval if may_narrow else "",
        RANKING_ADVICE if recommendations.choice_of_nu and worst.nu is not None and len(summaries) == 1 else "",
        "" if is_contradictory else recommendations.better_hypotheses,
        "" if contradiction is None else contradiction.remedy,
    ]
    return [
        f"{at_nu}{subject} a {worst.measure} above {abs(worst.baseline):.3g}, that of f(x) = 0, which predicts "
        f"nothing{by_tolerance}{classes}: the best one{of_class} over {hypothesis_class} lies in "
        f"{format_interval(lower, upper)}{contradiction_text}. {_alternatives(steps)}."
    ]


def _prediction_messages(summaries: Sequence[MarginSummary], constant_prediction: str) -> list[tuple[str, str]]:
    """Return reasons and messages about f(x) = 0 on most examples and about a constant prediction."""
    messages, mostly_zero = list[tuple[str, str]](), [summary for summary in summaries if summary.is_mostly_zero]
    if mostly_zero:
        share = max(summary.zero_fraction for summary in mostly_zero)
        text = (
            f"f(x) = 0 on {share:.0%} of the training examples{_affected_classes(summaries, mostly_zero)}: hypotheses "
            "and their negations cancel, or every weight costs more than it gains."
        )
        messages.append((ZERO_REASON, text))
    if constant_prediction:
        messages.append((CONSTANT_REASON, f"Every training example is predicted as {constant_prediction}."))
    return messages


def _nu_messages(summaries: Sequence[MarginSummary], recommendations: Recommendations) -> list[str]:
    """Return a message about a nu that allows the model to sacrifice a class; [] if there is none."""
    affected = [summary for summary in summaries if summary.may_sacrifice_minority]
    if not affected:
        return []
    smallest = min(affected, key=lambda summary: summary.minority_fraction)
    nu = math.nan if smallest.nu is None else smallest.nu
    bounds = smallest.soft_margin_bounds
    measure = smallest.measure
    soft_margin = "" if bounds is None else f"; the {measure} of the model, {bounds[0]:.3g}, does not rule this out"
    choice = recommendations.choice_of_nu
    steps = [
        "" if choice else f"set nu to {recommendations.format_nu_limit(smallest.nu_limit)} or less",
        recommendations.balance_classes if len(summaries) == 1 else "",
        RANKING_ADVICE if choice and len(summaries) == 1 else "",
        recommendations.better_hypotheses if choice else "",
    ]
    return [
        f"{recommendations.format_nu(nu)} is {float(f'{nu / smallest.minority_fraction:.2g}'):g} times the share "
        f"{smallest.minority_fraction:.3g} of the smaller class in the weights"
        f"{_affected_classes(summaries, affected)}, so the model may give up the whole class: the constant prediction "
        f"{smallest.majority_name} has the soft margin {smallest.constant_prediction_margin:.3g}{soft_margin}. "
        f"{choice and f'{choice}. '}{_alternatives(steps)}."
    ]


def _recall_findings(recalls: Mapping[str, float], ways: Sequence[str]) -> list[Finding]:
    """Return a finding about classes with a small recall, with the ways to another model; [] if there are none."""
    small = sorted((recall, label) for label, recall in recalls.items() if recall < SMALL_RECALL)
    if not small:
        return []
    (recall, label), *more = small
    parts = [f"{recall:.1%} of the training examples of class {label}"]
    parts += [f"{recall:.1%} of class {label}" for recall, label in more[: MAX_NAMED_CLASSES - 1]]
    parts += [f"few of {len(small) - len(parts)} more"] if len(small) > len(parts) else []
    text = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    details = f"{text} are predicted correctly, which may be best for the accuracy."
    return [Finding(None, RECALL_REASON, f"{details} {_alternatives(ways)}." if ways else details)]


def _affected_classes(summaries: Sequence[MarginSummary], affected: Sequence[MarginSummary]) -> str:
    """Return the affected one-vs-rest classes in parentheses; "" for two classes."""
    return "" if len(summaries) == 1 else one_vs_rest_text([summary.label for summary in affected])


def one_vs_rest_text(labels: Sequence[str]) -> str:
    """Return the labels of one-vs-rest problems in parentheses, the first few by name."""
    more = f" and {len(labels) - MAX_NAMED_CLASSES} more" if len(labels) > MAX_NAMED_CLASSES else ""
    noun = "class" if len(labels) == 1 else "classes"
    return f" ({noun} {', '.join(labels[:MAX_NAMED_CLASSES])}{more} against the rest)"


def _alternatives(steps: Sequence[str]) -> str:
    """Join alternative steps by commas and "or", with a capital letter; empty steps are left out."""
    steps = [step for step in steps if step]
    text = steps[0] if len(steps) == 1 else f"{', '.join(steps[:-1])}, or {steps[-1]}"
    return text[:1].upper() + text[1:]
