"""Findings about fits that ended before a stopping rule proved the requested accuracy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import compress
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from boostopt._utils.formatting import format_interval
from boostopt.boosting.run.run import Run
from boostopt.boosting.run.stop_reason import LIMITS, StopReason
from boostopt.estimators.training.baseline_and_nu_warnings import one_vs_rest_text
from boostopt.estimators.training.binary_fit import LIMIT_WARNINGS, FitSettings
from boostopt.estimators.training.diagnosis import Finding

LIMIT_REASON = "The limit {} was reached before a stopping rule held"
GAP_REASON = "Boosting ended before the gap fell below epsilon"
"""The findings in short; the first with the name of the limit."""

ROUNDING_TOL = 1e-9
"""Rounding allowance: by how much a certified gap may exceed the gap that a stopping rule computed."""


def convergence_findings(settings: FitSettings, runs: Sequence[Run], classes: Sequence[Any]) -> list[Finding]:
    """Return the findings about runs that ended before a stopping rule held, although the rule could have held."""
    findings = list[Finding]()
    for limit, option, limit_text in LIMIT_WARNINGS:
        is_stopped = [run.stop_reason is limit and not run.problem.needs_limit for run in runs]
        if any(is_stopped):
            affected, result = _summary(is_stopped, runs, classes)
            details = (
                f"{limit_text.format(getattr(settings, option))}{affected} before a stopping rule held: {result}. "
                f"Raise {option}, or epsilon = {settings.epsilon:g}."
            )
            findings.append(Finding(ConvergenceWarning, LIMIT_REASON.format(option), details))
    is_wide = [run.stop_reason not in LIMITS and _is_wide(run, settings.epsilon) for run in runs]
    if any(is_wide):
        affected, result = _summary(is_wide, runs, classes)
        wide_runs = list(compress(runs, is_wide))
        converged = all(run.stop_reason is StopReason.CONVERGED for run in wide_runs)
        reason = "no further hypothesis helped" if converged else f"boosting ended ({wide_runs[0].reason})"
        advice = "Raise epsilon." if settings.eta is None else "Raise epsilon, or leave out eta."
        details = f"{reason}{affected} before the gap fell below epsilon = {settings.epsilon:g}: {result}. {advice}"
        findings.append(Finding(ConvergenceWarning, GAP_REASON, details))
    return findings


def _is_wide(run: Run, epsilon: float) -> bool:
    """Return whether a run has a bound of the class and a gap above epsilon; projections have other stopping rules."""
    problem = run.problem
    if problem.objective is None or problem.is_additive or run.stop_reason is StopReason.NO_SMALLER_TEST_ERROR:
        return False
    return bool(epsilon + ROUNDING_TOL < run.class_certificate.gap < math.inf)


def _describe_bounds(run: Run) -> tuple[float, str]:
    """Return the gap of a run, and the bounds that the run proves in words."""
    if run.problem.objective is None:
        lower, upper = run.certificate.lower, run.certificate.upper
        return 0.0, f"the optimum over the collected hypotheses lies in {format_interval(lower, upper)}"
    certificate = run.class_certificate
    return certificate.gap, str(certificate)


def _summary(is_affected: Sequence[bool], runs: Sequence[Run], classes: Sequence[Any]) -> tuple[str, str]:
    """Return the labels of the affected runs in parentheses, and the bounds of the run with the widest gap in words."""
    if len(runs) == 1:
        return "", _describe_bounds(runs[0])[1]
    labels = [repr(label) for label in compress(classes, is_affected)]
    affected_runs = compress(runs, is_affected)
    _, bounds, label = max((*_describe_bounds(run), label) for run, label in zip(affected_runs, labels, strict=True))
    return f" in {len(labels)} of {len(runs)} runs{one_vs_rest_text(labels)}", f"for class {label}, {bounds}"
