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
"""Kinds of failures, in words that follow the number of solves."""

MAX_TEXT_LENGTH = 60
"""Number of letters of a quoted message of a solver."""


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
        """The exception of the first failure, or else its status, shortened."""
        text = " ".join((self.error or self.status).split())
        return text if len(text) <= MAX_TEXT_LENGTH else f"{text[: MAX_TEXT_LENGTH - 3]}..."


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
"""Keys of the failures of one kind."""


def failures_by_backend(runs: Iterable[SolveRecord]) -> tuple[Failure, ...]:
    """Return the failures: backends in the order of their first runs, and kinds in the order of `FAILURE_KINDS`."""
    runs_by_backend: dict[str, list[SolveRecord]] = {}
    for run in runs:
        if run.ran:
            runs_by_backend.setdefault(run.backend, []).append(run)
    return tuple(
        _failure_group(backend, kind, failed, len(ran))
        for backend, ran in runs_by_backend.items()
        for kind in FAILURE_KINDS
        if (failed := [run for run in ran if run.failure == kind])
    )


def failure_texts(failures: Sequence[Failure]) -> list[tuple[str, str]]:
    """Return each backend with a sentence: the number of failed solves, the kinds of failures, and quoted messages."""
    sentences: list[tuple[str, str]] = []
    for backend in dict.fromkeys(failure.backend for failure in failures):
        kinds = [failure for failure in failures if failure.backend == backend]
        counts = ", ".join(
            f"{kind.count} {FAILURE_TEXTS[kind.kind]}" + (f' ("{kind.example_text}")' if kind.example_text else "")
            for kind in kinds
        )
        total = sum(kind.count for kind in kinds)
        sentences.append((backend, f"{total} of {kinds[0].solves} solves failed: {counts}."))
    return sentences


def _failure_group(backend: str, kind: str, failed: Sequence[SolveRecord], solves: int) -> Failure:
    """Return the failures of one kind; the first gives the status and the error."""
    first = failed[0]
    programs = tuple(dict.fromkeys(run.program for run in failed))
    return Failure(backend, kind, len(failed), solves, programs, first.solver_status or "", first.error or "")
