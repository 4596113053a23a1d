"""Warnings of fits that ended before what was asked for was proved."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from itertools import compress
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from boostopt._utils.formatting import format_interval
from boostopt.boosting.run.run import Run
from boostopt.boosting.run.stop_reason import LIMITS, StopReason
from boostopt.estimators.training.binary_fit import LIMIT_WARNINGS, FitSettings
from boostopt.estimators.training.margin_warnings import one_vs_rest_text

ROUNDED = 1e-9
"""By how much a certified gap may exceed what a rule found, rounding included."""


def warn_of_ends(plan: FitSettings, runs: Sequence[Run], classes: Sequence[Any]) -> None:
    """Say where runs ended before what was asked for was proved, though they could have come to it."""
    for end, option, reached in LIMIT_WARNINGS:
        ended = [run.stop_reason is end and not run.problem.needs_limit for run in runs]
        if any(ended):
            where, proved = _summary(ended, runs, classes)
            warnings.warn(
                f"{reached.format(getattr(plan, option))}{where} before a stopping rule held: {proved}. "
                f"Raise {option}, or epsilon = {plan.epsilon:g}.",
                ConvergenceWarning,
                stacklevel=3,
            )
    short = [run.stop_reason not in LIMITS and _is_wide(run, plan.epsilon) for run in runs]
    if any(short):
        where, proved = _summary(short, runs, classes)
        wide = list(compress(runs, short))
        converged = all(run.stop_reason is StopReason.CONVERGED for run in wide)
        why = "no further hypothesis helped" if converged else f"boosting ended ({wide[0].reason})"
        advice = "Raise epsilon." if plan.eta is None else "Raise epsilon, or leave out eta."
        warnings.warn(
            f"{why}{where} before the gap fell below epsilon = {plan.epsilon:g}: {proved}. {advice}",
            ConvergenceWarning,
            stacklevel=3,
        )


def _is_wide(run: Run, epsilon: float) -> bool:
    """Whether the class is bounded and the gap larger than was asked for; projections have ends of their own."""
    problem = run.problem
    if problem.objective is None or problem.is_additive or run.stop_reason is StopReason.NO_SMALLER_TEST_ERROR:
        return False
    return bool(epsilon + ROUNDED < run.class_certificate.gap < math.inf)


def _proved(run: Run) -> tuple[float, str]:
    """Return the gap of a run, and in words what it proves."""
    if run.problem.objective is None:
        lower, upper = run.certificate.lower, run.certificate.upper
        return 0.0, f"the optimum over the collected hypotheses lies in {format_interval(lower, upper)}"
    certificate = run.class_certificate
    return certificate.gap, str(certificate)


def _summary(short: Sequence[bool], runs: Sequence[Run], classes: Sequence[Any]) -> tuple[str, str]:
    """Return in which of several runs it was so, and what the widest of them proves."""
    if len(runs) == 1:
        return "", _proved(runs[0])[1]
    labels = [repr(label) for label in compress(classes, short)]
    _, proved, label = max((*_proved(run), label) for run, label in zip(compress(runs, short), labels, strict=True))
    return f" in {len(labels)} of {len(runs)} runs{one_vs_rest_text(labels)}", f"for class {label}, {proved}"
