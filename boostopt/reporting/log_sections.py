"""Logs of backends in words: runs and their attempts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from boostopt._utils.json_values import plain
from boostopt.comparison.rendering.result_sentences import (
    accuracy_request_text,
    answering_backend_text,
    best_form_text,
    claimed_value_text,
    format_seconds,
    gap_text,
    phase_seconds_text,
    proved_interval_text,
    residuals_text,
)
from boostopt.comparison.solve_record import AttemptRecord, SolveRecord
from boostopt.reporting.fact_tables import known_facts


def group_by_backend(runs: Iterable[SolveRecord]) -> dict[str, list[SolveRecord]]:
    """Return the runs of each backend."""
    grouped: dict[str, list[SolveRecord]] = {}
    for run in runs:
        grouped.setdefault(run.backend, []).append(run)
    return grouped


def log_heading(runs: list[SolveRecord]) -> str:
    """Return the heading of the log of a backend on a program."""
    ran = [run for run in runs if run.ran]
    if not ran:
        return "not run"
    if len(runs) == 1:
        return f'the solver says "{runs[0].solver_status or ""}"'
    n_reached = sum(run.has_target_gap for run in ran)
    return f"{len(ran)} run{'s' if len(ran) > 1 else ''}, {n_reached} of them with the target gap"


def record_heading(run: SolveRecord) -> str:
    """Return the heading of one of several runs: the gap, the repeat and the result."""
    result = f"{run.result} in {format_seconds(run)} s" if run.ran else run.result
    return f"gap {run.tol:g}, repeat {run.repeat + 1}: {result}"


def record_facts(run: SolveRecord) -> tuple[tuple[str, str], ...]:
    """Return the results of a run by name."""
    if not run.ran:
        return (("Why", run.reason),)
    return known_facts(
        {
            "Certified": proved_interval_text(run),
            "Gap": gap_text(run),
            "The solver says": run.solver_status,
            "Raised": run.error,
            "Reported value": "" if run.claimed_value is None else claimed_value_text(run),
            "Residuals": residuals_text(run),
            "No finite interval": run.open_reason,
            "Why not as narrow": "" if run.has_target_gap else run.reason,
            "Request": accuracy_request_text(run),
            "Answer": best_form_text(run),
            "Whose": answering_backend_text(run),
            "Seconds": f"{format_seconds(run)}: {phase_seconds_text(run)}"
            if phase_seconds_text(run)
            else format_seconds(run),
            "Process": "its own" if run.isolated else "",
        }
    )


def attempt_facts(attempt: AttemptRecord) -> tuple[tuple[str, str], ...]:
    """Return the facts about an attempt by name, without the form and the status."""
    phase_seconds = {phase: seconds for phase, seconds in (attempt.seconds or {}).items() if seconds is not None}
    return known_facts(
        {
            "Claims an optimum": "" if attempt.claims is None else "yes" if attempt.claims else "no",
            "Iterations": attempt.iterations,
            "Seconds": ", ".join(f"{phase} {seconds:.3f}" for phase, seconds in phase_seconds.items()),
            "Options": _format_pairs(attempt.options or {}),
            "Statistics": _format_pairs(attempt.statistics or {}),
            "Error": attempt.error,
        }
    )


def _format_pairs(values: Mapping[str, Any]) -> str:
    """Format names with their values."""
    return ", ".join(f"{name} = {_format_value(value)}" for name, value in values.items())


def _format_value(value: Any) -> str:
    """Format a value: numbers with six digits, lists and mappings as JSON."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "none"}[value]
    if isinstance(value, float):
        return f"{value:z.6g}"
    return json.dumps(plain(value), ensure_ascii=False) if isinstance(value, dict | list) else str(value)
