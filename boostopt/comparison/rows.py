"""The record of a solve: what a comparison makes, a file holds, and tables, scores, pictures and reports read."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, cast

from boostopt.arguments import positive
from boostopt.backends.isolation.child import PEAK_MEMORY
from boostopt.backends.isolation.isolated import PREFIX
from boostopt.backends.profiles import CERTIFIED
from boostopt.comparison import fields
from boostopt.comparison.fields import OR_NULL, Count, Named, Number, Seconds, Text, Texts
from boostopt.comparison.logged import LoggedAttempt, kind_of_failure
from boostopt.comparison.records import bounds, plain
from boostopt.solving.solution import PHASES, Solution

AUTO = "auto"

TEXTS = ("program", "digest", "backend", "version", "result", "reason")
"""Fields of a run in a file that are strings."""

ACCURACY = re.compile("tol|eps|accuracy", re.IGNORECASE)
"""The names of options that are accuracies."""

FINISHED = ("reached", "failed")
"""Results of runs that are kept in the file of resume; what was not run is tried again."""

ASKED = ("profile", "threads")
"""Fields that are known of what was not run, too."""

SINCE = frozenset({"profile", "threads", "claimed_gap", "peak_memory"})
"""Fields that files of earlier versions do not have: they are written where they are known."""

RESULTS = (*FINISHED, "not run")


@dataclass(frozen=True, kw_only=True)
class Row:
    """One solve of one program by one backend at one tolerance, and what came of it.

    Attributes
    ----------
    program, digest
        The program by its label, and the digest of all that makes it, "" where it was not asked for.
    backend, version
        The backend, pinned to a form or not, and the version of its solver.
    tol, repeat
        The scaled gap asked for; which of the repeats, from 0.
    result, reason
        "reached", "failed" (it ran and its certified gap is too wide, whatever it claims) or "not run"; why it was not
        run, or not "reached".
    outcome, verdict
        What the answer is, and what is known of it; None where it was not run.
    lower, upper
        The interval that it proves of the optimum; infinities above where the program is proved infeasible.
    gap, scaled_gap, relative_gap
        The certified gap; infinite where there is none.
    infeasible, excess, kkt_worst
        Whether the program is proved infeasible, by how much, and the worst residual of the answer as it came.
    claimed_gap
        The gap that the solver itself reports of its best attempt, |p - q| / max(1, |p|, |q|); None if it does not.
    solver_status, error, printed
        The solver's own words, the fault of its last attempt, and its output in a process of its own.
    answered_by, path
        The backend whose answer this is, for "auto" the one that it came to, and all that were tried.
    isolated
        Whether it ran in a process of its own.
    profile
        The profile by which the solver was asked, "certified" where attempts were made until the certificate was narrow
        enough; None in files of before there were any.
    threads
        Threads that it was given, None where nobody had said: one for BLAS, for solvers what they take.
    form, options, attempts, iterations
        The form and the options of the best attempt, the number of attempts, and what the solvers counted.
    peak_memory
        Bytes by which its process came to exceed what it held before, at most over the attempts; None where it was not
        isolated, or the system does not count them.
    seconds
        Seconds that it took, infinite where it was not run; then phase by phase.
    log
        Its attempts.
    solver_version
        The version of the solver that answered: another one than `version` for "auto" in a benchmark.
    solution
        The answer itself; None where it was not run, and in what a benchmark keeps or a file holds.
    """

    program: str = ""
    digest: str = ""
    backend: str
    version: str
    tol: float
    repeat: int = 0
    result: str
    reason: str = ""
    outcome: Text | None = None
    verdict: fields.Verdict | None = None
    lower: Annotated[float, fields.figure, OR_NULL] = -math.inf
    upper: Annotated[float, fields.figure, OR_NULL] = math.inf
    gap: Annotated[float, fields.seconds, OR_NULL] = math.inf
    scaled_gap: Annotated[float, fields.scaled, OR_NULL] = math.inf
    relative_gap: Annotated[float, fields.finite, OR_NULL] = math.inf
    infeasible: Annotated[bool, fields.flag, OR_NULL] = False
    excess: Number | None = None
    kkt_worst: Annotated[float, fields.finite, OR_NULL] = math.inf
    claimed_gap: Number | None = None
    solver_status: Text | None = None
    error: Text | None = None
    printed: Text | None = None
    answered_by: Text | None = None
    path: Texts | None = None
    isolated: Annotated[bool, fields.flag, OR_NULL] = False
    profile: Text | None = None
    threads: Count | None = None
    form: Text | None = None
    options: Named | None = None
    attempts: Annotated[int, fields.count, OR_NULL] = 0
    iterations: Count | None = None
    peak_memory: Count | None = None
    seconds: Annotated[float, fields.spent, OR_NULL] = math.inf
    seconds_build: Seconds | None = None
    seconds_canonicalize: Seconds | None = None
    seconds_solve: Seconds | None = None
    seconds_recover: Seconds | None = None
    seconds_certify: Seconds | None = None
    log: Sequence[LoggedAttempt] = ()
    solver_version: str = ""
    solution: Solution | None = field(default=None, compare=False, repr=False)

    @property
    def ran(self) -> bool:
        """Whether it was run, with whatever result."""
        return self.result != "not run"

    @property
    def reached(self) -> bool:
        """Whether its certified gap is within the tolerance."""
        return self.result == "reached"

    @property
    def answered(self) -> bool:
        """Whether there was an answer; the interval of a run without one is proved by nobody's."""
        return self.ran and self.outcome != "failed"

    @property
    def interval(self) -> tuple[float, float]:
        """The interval that it proves of the optimum."""
        return self.lower, self.upper

    @property
    def asked(self) -> float | None:
        """The finest accuracy among the options that the best attempt was sent; None where none of them is one."""
        sent = [
            value for name, value in _flat(self.options or {}) if ACCURACY.search(name) and isinstance(value, float)
        ]
        return min((value for value in sent if 0.0 < value < 1.0), default=None)

    @property
    def claims(self) -> bool:
        """Whether the solver says of some attempt that it found an optimum."""
        return any(attempt.claims for attempt in self.log)

    @property
    def failure(self) -> str:
        """The kind of a failure, one of `FAILURES` in `comparison.logged`; "" for none."""
        return kind_of_failure(self.log, self.solver_status or "") if self.result == "failed" else ""

    def seconds_to(self, gap: float) -> float:
        """Return the seconds until its attempts had proved a scaled gap, a positive number; infinite if they did not.

        Of a solve that was asked for a finer gap this is no more than a bound: it might have stopped earlier.
        """
        gap = positive("gap", gap)
        if self.log and all(attempt.after is None for attempt in self.log):  # a file of before they were measured
            return self.seconds if self.scaled_gap <= gap else math.inf
        proved = [(attempt.after, attempt.scaled_gap_so_far) for attempt in self.log]
        return min((a for a, g in proved if a is not None and g is not None and g <= gap), default=math.inf)

    @property
    def phases(self) -> dict[str, float | None]:
        """The seconds phase by phase."""
        return {phase: getattr(self, f"seconds_{phase}") for phase in PHASES}

    def record(self) -> dict[str, Any]:
        """Return what came of it as plain values; None for what there is not."""
        names = [name for name in fields.readers(Row) if name not in SINCE or getattr(self, name) is not None]
        return {
            "backend": self.backend,
            "version": self.solver_version,
            "result": self.result,
            "able": self.ran,
            "reason": "" if self.ran else self.reason,
            "outcome": self.outcome,
            "verdict": self.verdict,
            "reached": self.reached,
            **{name: getattr(self, name) if self.ran or name in ASKED else None for name in names},
            "isolated": self.isolated,
            "attempts": self.attempts,
        }

    def attempts_logged(self) -> list[dict[str, Any]]:
        """Return the attempts and their results as plain values."""
        return [attempt.record() for attempt in self.log]

    def document(self) -> dict[str, Any]:
        """Return all of it as plain values, as the file of resume and that of a benchmark have it."""
        of_run = {name: getattr(self, name) for name in ("program", "digest", "backend", "version", "tol", "repeat")}
        of_run |= {"result": self.result, "reason": self.reason}
        return {**of_run, "record": self.record(), "log": self.attempts_logged()}


def _flat(options: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield options by name, those that are handed over inside of another one too."""
    for name, value in options.items():
        if isinstance(value, Mapping):
            yield from _flat(cast(Mapping[str, Any], value))
        else:
            yield name, value


def answered_row(
    backend: str,
    program: str,
    tol: float,
    solution: Solution,
    apart: bool,
    profile: str = CERTIFIED,
    threads: int | None = None,
) -> Row:
    """Return the record of a solution.

    Parameters
    ----------
    backend, program
        The name by which the backend was asked for, and the label of the program.
    tol
        The scaled gap that its answer is judged by.
    solution
        What came.
    apart
        Whether the backend ran in a process of its own.
    profile, threads
        How the solver was asked, and the threads that it was given.
    """
    certificate, best, attempts = solution.certificate, solution.best, solution.attempts
    phases: dict[str, Any] = {f"seconds_{phase}": solution.times[phase] for phase in PHASES}
    printed = "\n".join(str(a.statistics["printed"]) for a in attempts if "printed" in a.statistics)
    return Row(
        program=program,
        backend=backend,
        version=solution.version,
        tol=tol,
        result="reached" if certificate.scaled_gap <= tol else "failed",
        outcome=solution.outcome.name.lower(),
        verdict=solution.verdict.name.lower(),
        **bounds(certificate),
        kkt_worst=certificate.kkt.worst,
        solver_status=solution.solver_status,
        error=(attempts[-1].error if attempts else None) or None,
        printed=printed or None,
        answered_by=solution.backend.removeprefix(PREFIX) or None,
        path=[name.removeprefix(PREFIX) for name in solution.path],
        claimed_gap=best.claimed_gap if best else None,
        isolated=apart,
        profile=profile,
        threads=threads,
        form=best.form if best else None,
        options=plain(best.options) if best else None,
        attempts=len(attempts),
        iterations=solution.iterations,
        peak_memory=max(
            (int(a.statistics[PEAK_MEMORY]) for a in attempts if PEAK_MEMORY in a.statistics), default=None
        ),
        seconds=solution.times["total"],
        **phases,
        log=tuple(
            LoggedAttempt.of(attempt, *reached) for attempt, reached in zip(attempts, solution.gaps, strict=True)
        ),
        solver_version=solution.version,
        solution=solution,
    )


def read_row(content: Mapping[str, Any], results: Sequence[str] = RESULTS) -> Row:
    """Return a row out of an object such as `Row.document` returns.

    Raises
    ------
    ValueError, TypeError
        A field is missing, unknown or of another type, or its result is none of those that are expected.
    """
    for name in TEXTS:
        if not isinstance(content.get(name), str):
            raise ValueError(f"its {name} is no text")
    if content["result"] not in results:
        raise ValueError(f"its result is none of {', '.join(results)}")
    if not fields.is_finite(content.get("tol")):
        raise ValueError("its tol is no finite number")
    repeat, record, log = content.get("repeat"), content.get("record"), content.get("log", [])
    if not isinstance(repeat, int) or isinstance(repeat, bool) or repeat < 0:
        raise ValueError("its repeat is no number of a repeat")
    if not isinstance(record, dict):
        raise ValueError("its record is no object")
    if not isinstance(log, list) or not all(isinstance(attempt, dict) for attempt in log):
        raise ValueError("its log is no list of objects")
    for name in content.keys() - {*TEXTS, "tol", "repeat", "record", "log"}:
        raise ValueError(f"unexpected field {name!r}")
    of_record, of_run = fields.values(Row, record), {name: content[name] for name in TEXTS}
    if of_record.get("infeasible"):
        of_record |= {"lower": math.inf, "upper": math.inf}
    return Row(
        **of_run,
        **of_record,
        tol=float(content["tol"]),
        repeat=repeat,
        log=tuple(LoggedAttempt(**fields.values(LoggedAttempt, attempt)) for attempt in log),
        solver_version=fields.text(record.get("version", content["version"]), "version"),
    )
