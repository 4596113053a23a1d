"""Warnings about fits that ended before a stopping rule proved the requested accuracy."""

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
"""Rounding allowance: by how much a certified gap may exceed the gap that a stopping rule computed."""


def warn_of_ends(plan: FitSettings, runs: Sequence[Run], classes: Sequence[Any]) -> None:
    """Issue a ConvergenceWarning for runs that ended before a stopping rule held, although the rule could have held."""
    for end, option, limit_text in LIMIT_WARNINGS:
        ended = [run.stop_reason is end and not run.problem.needs_limit for run in runs]
        if any(ended):
            location, proved = _summary(ended, runs, classes)
            warnings.warn(
                f"{limit_text.format(getattr(plan, option))}{location} before a stopping rule held: {proved}. "
                f"Raise {option}, or epsilon = {plan.epsilon:g}.",
                ConvergenceWarning,
                stacklevel=3,
            )
    short = [run.stop_reason not in LIMITS and _is_wide(run, plan.epsilon) for run in runs]
    if any(short):
        location, proved = _summary(short, runs, classes)
        wide = list(compress(runs, short))
        converged = all(run.stop_reason is StopReason.CONVERGED for run in wide)
        why = "no further hypothesis helped" if converged else f"boosting ended ({wide[0].reason})"
        advice = "Raise epsilon." if plan.eta is None else "Raise epsilon, or leave out eta."
        warnings.warn(
            f"{why}{location} before the gap fell below epsilon = {plan.epsilon:g}: {proved}. {advice}",
            ConvergenceWarning,
            stacklevel=3,
        )


def _is_wide(run: Run, epsilon: float) -> bool:
    """Return whether a run has a bound of the class and a gap above epsilon; projections have other stopping rules."""
    problem = run.problem
    if problem.objective is None or problem.is_additive or run.stop_reason is StopReason.NO_SMALLER_TEST_ERROR:
        return False
    return bool(epsilon + ROUNDED < run.class_certificate.gap < math.inf)


def _proved(run: Run) -> tuple[float, str]:
    """Return the gap of a run, and in words what the run proves."""
    if run.problem.objective is None:
        lower, upper = run.certificate.lower, run.certificate.upper
        return 0.0, f"the optimum over the collected hypotheses lies in {format_interval(lower, upper)}"
    certificate = run.class_certificate
    return certificate.gap, str(certificate)


def _summary(short: Sequence[bool], runs: Sequence[Run], classes: Sequence[Any]) -> tuple[str, str]:
    """Return the labels of the affected runs in parentheses, and in words what the run with the widest gap proves."""
    if len(runs) == 1:
        return "", _proved(runs[0])[1]
    labels = [repr(label) for label in compress(classes, short)]
    _, proved, label = max((*_proved(run), label) for run, label in zip(compress(runs, short), labels, strict=True))
    return f" in {len(labels)} of {len(runs)} runs{one_vs_rest_text(labels)}", f"for class {label}, {proved}"
