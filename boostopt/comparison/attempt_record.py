"""The attempts of a solve as files hold them, and the kind of a failure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from boostopt._utils.files import Keys
from boostopt.backends.base import Attempt
from boostopt.backends.isolation.isolated import ProcessEnd
from boostopt.comparison.json_schema import Count, Flag, Named, Number, Seconds, SecondsByPhase, Text
from boostopt.programs.identity import plain

SINCE = frozenset({"claimed_gap", "scaled_gap_so_far", "after"})
"""Keys that files of earlier versions do not have; they are written only if they are known."""


class FailureKind(StrEnum):
    """The kinds of failures, as files hold them; `comparison.failures` describes them in words."""

    CLAIMS = "claims"
    INFEASIBLE = "infeasible"
    GIVES_UP = "gives up"
    ERROR = "error"
    KILLED = "killed"
    CRASHED = "crashed"


FAILURES = tuple(kind.value for kind in FailureKind)
"""The kinds of failures, in the order of tables."""

INFEASIBLE = re.compile("infeasible|unbounded", re.IGNORECASE)
"""The words that solvers use for programs without an optimum."""


@dataclass(frozen=True)
class LoggedAttempt:
    """An attempt of a backend as a file holds it, in plain values; None for unknown values.

    `after` is the number of seconds from the start of the solve until the attempt was certified. `scaled_gap_so_far` is
    the gap that all attempts up to then prove together.
    """

    form: Text | None = None
    status: Text | None = None
    claims: Flag | None = None
    iterations: Count | None = None
    seconds: SecondsByPhase | None = None
    options: Named | None = None
    statistics: Named | None = None
    error: Text | None = None
    claimed_gap: Number | None = None
    scaled_gap_so_far: Seconds | None = None
    after: Seconds | None = None

    @classmethod
    def of(cls, attempt: Attempt, after: float | None = None, scaled_gap: float | None = None) -> LoggedAttempt:
        """Return an attempt without its answer and its printed output, which is in the row."""
        return cls(
            attempt.form,
            attempt.status,
            attempt.claims,
            attempt.iterations,
            plain(attempt.times),
            plain(attempt.options),
            plain({name: value for name, value in attempt.statistics.items() if name != "printed"}),
            attempt.error,
            plain(attempt.claimed_gap),
            plain(scaled_gap),
            plain(after),
        )

    def record(self) -> dict[str, Any]:
        """Return the attempt as plain values."""
        return {name: value for name, value in ATTEMPT.to_file(self).items() if name not in SINCE or value is not None}


ATTEMPT = Keys(
    LoggedAttempt,
    {
        "form": "form",
        "status": "status",
        "claims": "claims",
        "iterations": "iterations",
        "seconds": "seconds",
        "options": "options",
        "statistics": "statistics",
        "error": "error",
        "claimed_gap": "claimed_gap",
        "scaled_gap_so_far": "scaled_gap_so_far",
        "after": "after",
    },
)
"""Keys of an attempt."""


def kind_of_failure(log: Sequence[LoggedAttempt], solver_status: str) -> str:
    """Return the kind of a failed solve, one of `FAILURES`; the end of its process counts before the solver's words."""
    last = log[-1] if log else LoggedAttempt()
    end = ProcessEnd.from_text(last.status or "")
    if end is ProcessEnd.CRASHED:
        return FailureKind.CRASHED.value
    if end is ProcessEnd.KILLED:
        return FailureKind.KILLED.value
    if any(attempt.claims for attempt in log):
        return FailureKind.CLAIMS.value
    if INFEASIBLE.search(solver_status):
        return FailureKind.INFEASIBLE.value
    return (FailureKind.ERROR if last.error else FailureKind.GIVES_UP).value
