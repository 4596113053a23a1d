"""The log of a backend: every run with its attempts, and what the solver said and printed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from boostopt.comparison.records import plain
from boostopt.comparison.scores import Run
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


def logs(runs: Iterable[Run], measured: bool) -> tuple[Log, ...]:
    """Return the logs of one program, a backend each.

    Parameters
    ----------
    runs
        Of one program.
    measured
        Whether each backend has several, so that a run is named by its gap and repeat.
    """
    grouped: dict[str, list[Run]] = {}
    for run in runs:
        grouped.setdefault(run.backend, []).append(run)
    return tuple(
        Log(backend, _head(of_backend), tuple(_run(run, measured) for run in of_backend))
        for backend, of_backend in grouped.items()
    )


def _head(runs: list[Run]) -> str:
    """Return the heading of what there is to unfold."""
    ran = [run for run in runs if run.ran]
    if not ran:
        return "not run"
    if len(runs) == 1:
        return f'it says "{runs[0].record.get("solver_status") or ""}"'
    reached = sum(run.result == "reached" for run in ran)
    return f"{len(ran)} run{'s' if len(ran) > 1 else ''}, {reached} of them as narrow as asked"


def _run(run: Run, measured: bool) -> RunShown:
    which = f"gap {run.tol:g}, repeat {run.repeat + 1}: " if measured else ""
    if not run.ran:
        return RunShown(f"{which}not run", (("Why", run.reason),), (), "")
    record = run.record
    facts = {
        "Certified": proved(run),
        "Gap": width(run),
        "It says": record.get("solver_status"),
        "Raised": record.get("error"),
        "Why not as narrow": "" if run.result == "reached" else run.reason,
        "Answer": form(run),
        "Whose": answered(run),
        "Seconds": f"{seconds_once(run)}: {phases(run)}" if phases(run) else seconds_once(run),
        "Process": "its own" if record.get("isolated") else "",
    }
    head = f"{which}{run.result} in {seconds_once(run)} s"
    attempts = tuple(_attempt(attempt) for attempt in run.log)
    return RunShown(head, _some(facts), attempts, str(record.get("printed") or ""))


def _attempt(attempt: Mapping[str, Any]) -> AttemptShown:
    spent = {phase: seconds for phase, seconds in (attempt.get("seconds") or {}).items() if seconds is not None}
    claims = attempt.get("claims")
    facts = {
        "Claims an optimum": "" if claims is None else "yes" if claims else "no",
        "Iterations": attempt.get("iterations"),
        "Seconds": ", ".join(f"{phase} {seconds:.3f}" for phase, seconds in spent.items()),
        "Options": _pairs(attempt.get("options") or {}),
        "Statistics": _pairs(attempt.get("statistics") or {}),
        "Error": attempt.get("error"),
    }
    return AttemptShown(str(attempt.get("form") or ""), str(attempt.get("status") or ""), _some(facts))


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
