"""The log of a backend: every run with its attempts, and what the solver said and printed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from boostopt.comparison.records import plain
from boostopt.comparison.rows import LoggedAttempt, Row
from boostopt.comparison.wording import answered, form, phases, proved, seconds_once, width


@dataclass(frozen=True)
class AttemptShown:
    """One attempt: its form, the solver's words, and what else is known of it, name by name."""

    form: str
    status: str
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class RunShown:
    """One run: what it came to, name by name, its attempts, and what was printed."""

    head: str
    facts: tuple[tuple[str, str], ...]
    attempts: tuple[AttemptShown, ...]
    printed: str


@dataclass(frozen=True)
class Log:
    """Everything about a backend on a program."""

    backend: str
    head: str
    runs: tuple[RunShown, ...]


def logs(runs: Iterable[Row], measured: bool) -> tuple[Log, ...]:
    """Return the logs of one program, a backend each.

    Parameters
    ----------
    runs
        Of one program.
    measured
        Whether each backend has several, so that a run is named by its gap and repeat.
    """
    grouped: dict[str, list[Row]] = {}
    for run in runs:
        grouped.setdefault(run.backend, []).append(run)
    return tuple(
        Log(backend, _head(of_backend), tuple(_run(run, measured) for run in of_backend))
        for backend, of_backend in grouped.items()
    )


def _head(runs: list[Row]) -> str:
    """Return the heading of what there is to unfold."""
    ran = [run for run in runs if run.ran]
    if not ran:
        return "not run"
    if len(runs) == 1:
        return f'it says "{runs[0].solver_status or ""}"'
    reached = sum(run.reached for run in ran)
    return f"{len(ran)} run{'s' if len(ran) > 1 else ''}, {reached} of them as narrow as asked"


def _run(run: Row, measured: bool) -> RunShown:
    which = f"gap {run.tol:g}, repeat {run.repeat + 1}: " if measured else ""
    if not run.ran:
        return RunShown(f"{which}not run", (("Why", run.reason),), (), "")
    facts = {
        "Certified": proved(run),
        "Gap": width(run),
        "It says": run.solver_status,
        "Raised": run.error,
        "Why not as narrow": "" if run.reached else run.reason,
        "Answer": form(run),
        "Whose": answered(run),
        "Seconds": f"{seconds_once(run)}: {phases(run)}" if phases(run) else seconds_once(run),
        "Process": "its own" if run.isolated else "",
    }
    head = f"{which}{run.result} in {seconds_once(run)} s"
    attempts = tuple(_attempt(attempt) for attempt in run.log)
    return RunShown(head, _some(facts), attempts, run.printed or "")


def _attempt(attempt: LoggedAttempt) -> AttemptShown:
    spent = {phase: seconds for phase, seconds in (attempt.seconds or {}).items() if seconds is not None}
    facts = {
        "Claims an optimum": "" if attempt.claims is None else "yes" if attempt.claims else "no",
        "Iterations": attempt.iterations,
        "Seconds": ", ".join(f"{phase} {seconds:.3f}" for phase, seconds in spent.items()),
        "Options": _pairs(attempt.options or {}),
        "Statistics": _pairs(attempt.statistics or {}),
        "Error": attempt.error,
    }
    return AttemptShown(attempt.form or "", attempt.status or "", _some(facts))


def _pairs(values: Mapping[str, Any]) -> str:
    """Write names with their values."""
    return ", ".join(f"{name} = {_short(value)}" for name, value in values.items())


def _short(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "none"}[value]
    if isinstance(value, float):
        return f"{value:.6g}"
    return json.dumps(plain(value), ensure_ascii=False) if isinstance(value, dict | list) else str(value)


def _some(facts: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return what there is to say."""
    return tuple((name, str(value)) for name, value in facts.items() if value not in (None, ""))
