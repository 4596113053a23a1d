"""Failures by backend and kind, with an example of the solver's own words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from boostopt._utils.files import Keys
from boostopt.comparison.solve_record import FAILURE_KINDS, FailureKind, SolveRecord

FAILURE_TEXTS: dict[str, str] = {
    FailureKind.CLAIMS: "claimed an optimum but proved a gap that is too wide",
    FailureKind.INFEASIBLE: "called the program infeasible or unbounded without proof",
    FailureKind.GIVES_UP: "gave up",
    FailureKind.ERROR: "raised an error",
    FailureKind.KILLED: "had to be stopped at the time limit",
    FailureKind.CRASHED: "ended the process",
}
"""The kinds of failures, in words for some of several solves."""

MAX_TEXT_LENGTH = 60
"""Length of a solver's words in a line, in letters."""


@dataclass(frozen=True)
class Failure:
    """All failures of one kind of a backend.

    Attributes
    ----------
    backend, kind
        The backend, and the kind, one of `FAILURE_KINDS`.
    count, solves
        The number of failures, and of the solves that were run.
    programs
        Labels of the programs on which they occurred.
    status, error
        The solver's status and the exception of the first failure; "" for none.
    """

    backend: str
    kind: str
    count: int
    solves: int
    programs: tuple[str, ...]
    status: str
    error: str

    @property
    def example_text(self) -> str:
        """The example: the exception if there is one, else the status."""
        said = " ".join((self.error or self.status).split())
        return said if len(said) <= MAX_TEXT_LENGTH else f"{said[: MAX_TEXT_LENGTH - 3]}..."


FAILURE = Keys(
    Failure,
    {
        "backend": "backend",
        "kind": "kind",
        "count": "count",
        "solves": "solves",
        "programs": "programs",
        "status": "status",
        FailureKind.ERROR: "error",
    },
)
"""Keys of the failures of a kind."""


def failures_by_backend(runs: Iterable[SolveRecord]) -> tuple[Failure, ...]:
    """Return the failures: backends in the order of their first runs, and kinds in the order of `FAILURE_KINDS`."""
    of_backend: dict[str, list[SolveRecord]] = {}
    for run in runs:
        if run.ran:
            of_backend.setdefault(run.backend, []).append(run)
    return tuple(
        _failure_group(backend, kind, failed, len(ran))
        for backend, ran in of_backend.items()
        for kind in FAILURE_KINDS
        if (failed := [run for run in ran if run.failure == kind])
    )


def failure_texts(of: Sequence[Failure]) -> list[tuple[str, str]]:
    """Return a line for each backend: how many solves failed, how, and the solver's words."""
    lines: list[tuple[str, str]] = []
    for backend in dict.fromkeys(one.backend for one in of):
        kinds = [one for one in of if one.backend == backend]
        how = ", ".join(
            f"{one.count} {FAILURE_TEXTS[one.kind]}" + (f' ("{one.example_text}")' if one.example_text else "")
            for one in kinds
        )
        lines.append((backend, f"{sum(one.count for one in kinds)} of {kinds[0].solves} solves failed: {how}."))
    return lines


def _failure_group(backend: str, kind: str, failed: Sequence[SolveRecord], solves: int) -> Failure:
    first = failed[0]
    programs = tuple(dict.fromkeys(run.program for run in failed))
    return Failure(backend, kind, len(failed), solves, programs, first.solver_status or "", first.error or "")
