"""Records of solves and attempts, from which tables, scores, reports and files are made."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Any, cast

from boostopt._utils import json_values
from boostopt._utils.array_types import Array
from boostopt._utils.files import Keys
from boostopt._utils.json_values import NULL_MEANS_DEFAULT, Count, Flag, Named, Number, Text, Texts, plain
from boostopt._utils.validation import check_positive
from boostopt.backends.accuracy_profiles import CERTIFIED_MODE
from boostopt.backends.base import Attempt
from boostopt.backends.cvxpy.stopping_tests import RATIO_KEYS
from boostopt.backends.isolation.isolated_backend import ISOLATED_PREFIX, ProcessEnd
from boostopt.backends.isolation.processor_time import CPU_SECONDS
from boostopt.backends.isolation.worker_main_loop import PEAK_MEMORY
from boostopt.comparison import result_field_parsers as fields
from boostopt.comparison.result_field_parsers import Seconds, SecondsByPhase
from boostopt.solving.problem_solution import AnswerCertificate, ProblemSolution
from boostopt.solving.solution import Outcome, Solution

AUTO = "auto"
"""The name of the automatic choice of a backend."""

REQUEST_FIELDS = ("profile", "threads")
"""Fields that have a value even if the backend was not run."""

OPTIONAL_FIELDS = frozenset({"claimed_gap", "scaled_gap_so_far", "after", "continues"})
"""Keys of attempts that files of earlier versions do not have; they are written only if they have a value."""

PROBLEM_FIELDS = frozenset({"claimed_value", "residuals", "open_reason", "optimum_sign"})
"""Keys that only solves of CVXPY problems have."""

OPTIONAL_RESULT_FIELDS = PROBLEM_FIELDS | {"cpu_seconds", "stopping_test"}
"""Keys of results that are written only if they have a value: files of earlier versions do not have them."""

ACCURACY_OPTION_PATTERN = re.compile("tol|eps|accuracy", re.IGNORECASE)
"""Names of options that set an accuracy."""

INFEASIBLE = re.compile("infeasible|unbounded", re.IGNORECASE)
"""Words that solvers use for programs without an optimum."""


class Result(StrEnum):
    """The result of a solve, or of all its repeats, as in files."""

    REACHED = "reached"
    FAILED = "failed"
    NOT_RUN = "not run"


FINISHED_RESULTS = (Result.REACHED.value, Result.FAILED.value)
"""Results in a results log; a solve that was not run is tried again."""

RESULT_NAMES = (*FINISHED_RESULTS, Result.NOT_RUN.value)
"""All results, as in files."""


class FailureKind(StrEnum):
    """The kinds of failures, as in files; `comparison.failures` describes them in words."""

    CLAIMS = "claims"
    INFEASIBLE = "infeasible"
    GIVES_UP = "gives up"
    ERROR = "error"
    KILLED = "killed"
    CRASHED = "crashed"


FAILURE_KINDS = tuple(kind.value for kind in FailureKind)
"""Kinds of failures, in the order of tables."""


@dataclass(frozen=True)
class AttemptRecord:
    """An attempt of a backend in plain values; None for unknown values.

    Attributes
    ----------
    form, status, claims, iterations, options, statistics, error, claimed_gap
        As in `Attempt`, without the printed output.
    seconds
        Seconds by phase.
    scaled_gap_so_far
        The scaled gap that this attempt and all attempts before it prove together.
    seconds_to_certificate
        Seconds from the start of the solve until the attempt was certified.
    is_continuation
        True if the attempt continues the run of the one before, whose iterations its own include; else None.
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
    seconds_to_certificate: Seconds | None = None
    is_continuation: Flag | None = None

    @classmethod
    def from_attempt(
        cls, attempt: Attempt, seconds_to_certificate: float | None = None, scaled_gap: float | None = None
    ) -> AttemptRecord:
        """Return an attempt without its answer and its printed output, which is in the record of the solve."""
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
            plain(seconds_to_certificate),
            attempt.is_continuation or None,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the attempt as plain values."""
        return {
            name: value
            for name, value in ATTEMPT.to_file(self).items()
            if name not in OPTIONAL_FIELDS or value is not None
        }


ATTEMPT = Keys(
    AttemptRecord,
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
        "after": "seconds_to_certificate",
        "continues": "is_continuation",
    },
)
"""Keys of an attempt."""


@dataclass(frozen=True, kw_only=True)
class SolveRecord:
    """A solve of one program by one backend at one tolerance, and its result.

    Attributes
    ----------
    program, digest
        The label of the program, and the digest of all that defines the program, "" if no digest was requested.
    backend, version
        The backend, pinned to a form or not, and the version of its solver.
    tol, repeat
        The requested scaled gap; the number of the repeat, from 0.
    result, reason
        "reached", "failed" (the backend ran, but its certified gap is too wide, whatever it claims) or "not run"; the
        reason if the result is not "reached".
    outcome, verdict
        The kind of the answer, and the verdict on the answer; None if the backend was not run.
    lower, upper
        The interval that the answer proves for the optimum; positive infinities if the program is proved infeasible.
    gap, scaled_gap, relative_gap
        The certified gap; infinite if there is none.
    infeasible, excess, kkt_worst
        Whether the program is proved infeasible, by how much, and the worst residual of the unchanged answer.
    optimum_sign
        The sign of the optimum of a CVXPY problem that is proved infeasible or unbounded: 1 for inf, -1 for -inf; None
        for others.
    claimed_value, residuals, open_reason
        Of a CVXPY problem, else None: the optimum that the solver reports; the largest residual of each kind of KKT
        condition over its scale, inf for missing multipliers; and why the interval is not finite, in words.
    claimed_gap
        The gap that the solver itself reports for its best attempt, |p - q| / max(1, |p|, |q|); None if it does not.
    stopping_test
        The residual of each part of the solver's own stopping test (primal, dual, gap), over the largest residual that
        the tolerances of the best attempt allow, computed from its answer: at most 1 if the answer keeps the test. None
        if the test of the solver is not known.
    solver_status, error, solver_output
        The solver's own words, the error of the last attempt, and the printed output of an isolated solver.
    answered_by, path
        The backend that gave the answer, which "auto" chooses, and all backends that were tried.
    isolated
        Whether the backend ran in a process of its own.
    profile
        The requested profile; "certified" if the backend made attempts until the certified gap was small enough; None
        in files older than profiles.
    threads
        Threads of the solve; None if the caller did not set them: BLAS then has one, and the solver its own default.
    form, options, attempts, iterations
        The form and the options of the best attempt, the number of attempts, and the counts of the solvers' iterations.
    peak_memory
        Increase of the memory of the process up to its peak, in bytes, the maximum over the attempts; None if the
        backend was not isolated, or the system does not measure memory.
    seconds
        Seconds of the solve, infinite if the backend was not run.
    cpu_seconds
        Processor seconds of the attempts, summed over the threads of the process that made them, without certificates;
        None if a process was killed or crashed, and in files older than this measurement.
    seconds_build, seconds_canonicalize, seconds_solve, seconds_recover, seconds_certify
        Seconds of each phase.
    log
        The attempts.
    solver_version
        The version of the solver that answered; for "auto" in a benchmark it differs from `version`.
    solution
        The solution; None if the backend was not run, of a CVXPY problem, in a benchmark, and in a file.
    point
        Of a CVXPY problem, the values at a feasible point that proves one end of the interval, one array for each of
        `problem.variables()`, rounded to floats; None if none is proved, in a benchmark, and in a file.
    """

    program: Text = ""
    digest: Text = ""
    backend: Text
    version: Text
    tol: Number
    repeat: Count = 0
    result: Text
    reason: Text = ""
    outcome: Text | None = None
    verdict: fields.Verdict | None = None
    lower: Annotated[float, fields.parse_required_finite, NULL_MEANS_DEFAULT] = -math.inf
    upper: Annotated[float, fields.parse_required_finite, NULL_MEANS_DEFAULT] = math.inf
    gap: Annotated[float, fields.parse_seconds, NULL_MEANS_DEFAULT] = math.inf
    scaled_gap: Annotated[float, fields.parse_gap, NULL_MEANS_DEFAULT] = math.inf
    relative_gap: Annotated[float, json_values.parse_finite, NULL_MEANS_DEFAULT] = math.inf
    infeasible: Annotated[bool, json_values.parse_flag, NULL_MEANS_DEFAULT] = False
    excess: Number | None = None
    kkt_worst: Annotated[float, json_values.parse_finite, NULL_MEANS_DEFAULT] = math.inf
    optimum_sign: Number | None = None
    claimed_value: Number | None = None
    residuals: Annotated[Mapping[str, float], fields.parse_residuals] | None = None
    open_reason: Text | None = None
    claimed_gap: Number | None = None
    stopping_test: Annotated[Mapping[str, float], fields.parse_residuals] | None = None
    solver_status: Text | None = None
    error: Text | None = None
    solver_output: Text | None = None
    answered_by: Text | None = None
    path: Texts | None = None
    isolated: Annotated[bool, json_values.parse_flag, NULL_MEANS_DEFAULT] = False
    profile: Text | None = None
    threads: Count | None = None
    form: Text | None = None
    options: Named | None = None
    attempts: Annotated[int, json_values.parse_count, NULL_MEANS_DEFAULT] = 0
    iterations: Count | None = None
    peak_memory: Count | None = None
    seconds: Annotated[float, fields.parse_solve_seconds, NULL_MEANS_DEFAULT] = math.inf
    cpu_seconds: Seconds | None = None
    seconds_build: Seconds | None = None
    seconds_canonicalize: Seconds | None = None
    seconds_solve: Seconds | None = None
    seconds_recover: Seconds | None = None
    seconds_certify: Seconds | None = None
    log: Sequence[AttemptRecord] = ()
    solver_version: str = ""
    solution: Solution | None = field(default=None, compare=False, repr=False)
    point: tuple[Array, ...] | None = field(default=None, compare=False, repr=False)

    @property
    def ran(self) -> bool:
        """True if the backend ran, with any result."""
        return self.result != Result.NOT_RUN

    @property
    def has_target_gap(self) -> bool:
        """True if the certified gap is within the tolerance."""
        return self.result == Result.REACHED

    @property
    def answered(self) -> bool:
        """True if the backend left an answer; without one, the interval does not come from the backend."""
        return self.ran and self.outcome != Outcome.FAILED.key

    @property
    def interval(self) -> tuple[float, float]:
        """The interval that the answer proves for the optimum."""
        return self.lower, self.upper

    @property
    def unbounded(self) -> bool:
        """True if it is proved that the objective of a problem is unbounded."""
        return self.optimum_sign is not None and not self.infeasible

    @property
    def finest_accuracy(self) -> float | None:
        """The finest accuracy among the options of the best attempt; None if no option sets an accuracy."""
        accuracies = [
            value
            for name, value in _flatten_options(self.options or {})
            if ACCURACY_OPTION_PATTERN.search(name) and isinstance(value, float)
        ]
        return min((value for value in accuracies if 0.0 < value < 1.0), default=None)

    @property
    def claims(self) -> bool:
        """True if the solver claims an optimum for some attempt."""
        return any(attempt.claims for attempt in self.log)

    @property
    def stopping_test_ratio(self) -> float | None:
        """The largest residual over what the solver's own stopping test allows; None if the test is not known."""
        return max(self.stopping_test.values()) if self.stopping_test else None

    @property
    def failure(self) -> str:
        """The kind of a failure, one of `FAILURE_KINDS`; "" for none."""
        return classify_failure(self.log, self.solver_status or "") if self.result == Result.FAILED else ""

    def seconds_to(self, gap: float) -> float:
        """Return the seconds until the attempts had proved a scaled gap, a positive number; infinite if they did not.

        If the solve had to reach a finer gap, the seconds are only an upper bound: the solver could have stopped
        earlier.
        """
        gap = check_positive("gap", gap)
        gaps = [(attempt.seconds_to_certificate, attempt.scaled_gap_so_far) for attempt in self.log]
        if gaps and all(seconds is None for seconds, _ in gaps):  # a file older than these measurements
            return self.seconds if self.scaled_gap <= gap else math.inf
        return min((s for s, g in gaps if s is not None and g is not None and g <= gap), default=math.inf)

    @property
    def phases(self) -> dict[str, float | None]:
        """The seconds of each phase."""
        return {
            "build": self.seconds_build,
            "canonicalize": self.seconds_canonicalize,
            "solve": self.seconds_solve,
            "recover": self.seconds_recover,
            "certify": self.seconds_certify,
        }

    def record(self) -> dict[str, Any]:
        """Return the result as plain values; None for missing values."""
        return {
            "backend": self.backend,
            "version": self.solver_version,
            "result": self.result,
            "able": self.ran,
            "reason": "" if self.ran else self.reason,
            "outcome": self.outcome,
            "verdict": self.verdict,
            "reached": self.has_target_gap,
            "claims": self.claims if self.ran else None,
            "failure": self.failure or None,
            **{
                key: value if self.ran or key in REQUEST_FIELDS else None
                for key, value in RESULT.to_file(self).items()
                if key not in OPTIONAL_RESULT_FIELDS or value is not None
            },
            "isolated": self.isolated,
            "attempts": self.attempts,
        }

    def attempts_to_json(self) -> list[dict[str, Any]]:
        """Return the attempts as plain values."""
        return [attempt.to_json() for attempt in self.log]

    def to_file_entry(self) -> dict[str, Any]:
        """Return the whole record as plain values, as in results logs and in files of benchmarks."""
        return {**SOLVE.to_file(self), "record": self.record(), "log": self.attempts_to_json()}


SOLVE = Keys(
    SolveRecord,
    {
        "program": "program",
        "digest": "digest",
        "backend": "backend",
        "version": "version",
        "tol": "tol",
        "repeat": "repeat",
        "result": "result",
        "reason": "reason",
    },
)
"""Keys of the request and the result of a solve."""

RESULT = Keys(
    SolveRecord,
    {
        "outcome": "outcome",
        "verdict": "verdict",
        "lower": "lower",
        "upper": "upper",
        "gap": "gap",
        "scaled_gap": "scaled_gap",
        "relative_gap": "relative_gap",
        "infeasible": "infeasible",
        "excess": "excess",
        "kkt_worst": "kkt_worst",
        "optimum_sign": "optimum_sign",
        "claimed_value": "claimed_value",
        "residuals": "residuals",
        "open_reason": "open_reason",
        "claimed_gap": "claimed_gap",
        "stopping_test": "stopping_test",
        "solver_status": "solver_status",
        "error": "error",
        "printed": "solver_output",
        "answered_by": "answered_by",
        "path": "path",
        "isolated": "isolated",
        "profile": "profile",
        "threads": "threads",
        "form": "form",
        "options": "options",
        "attempts": "attempts",
        "iterations": "iterations",
        "peak_memory": "peak_memory",
        "seconds": "seconds",
        "cpu_seconds": "cpu_seconds",
        "seconds_build": "seconds_build",
        "seconds_canonicalize": "seconds_canonicalize",
        "seconds_solve": "seconds_solve",
        "seconds_recover": "seconds_recover",
        "seconds_certify": "seconds_certify",
    },
)
"""Keys of the outcome of a solve."""


def record_of_solution(
    backend: str,
    program: str,
    tol: float,
    solution: Solution | ProblemSolution,
    isolated: bool,
    profile: str = CERTIFIED_MODE,
    threads: int | None = None,
) -> SolveRecord:
    """Return the record of a solution.

    Parameters
    ----------
    backend, program
        The requested name of the backend, and the label of the program.
    tol
        The scaled gap that judges the answer.
    solution
        The solution.
    isolated
        Whether the backend ran in a process of its own.
    profile, threads
        The requested profile, and the threads of the solve.
    """
    certificate, best, attempts = solution.certificate, solution.best, solution.attempts
    solver_output = "\n".join(str(a.statistics["printed"]) for a in attempts if "printed" in a.statistics)
    return SolveRecord(
        program=program,
        backend=backend,
        version=solution.version,
        tol=tol,
        result=(Result.REACHED if certificate.scaled_gap <= tol else Result.FAILED).value,
        outcome=solution.outcome_key,
        verdict=solution.verdict.key,
        lower=certificate.lower,
        upper=certificate.upper,
        gap=certificate.gap,
        scaled_gap=certificate.scaled_gap,
        relative_gap=certificate.relative_gap,
        infeasible=certificate.infeasible,
        excess=certificate.excess,
        kkt_worst=certificate.kkt.worst,
        **(_problem_fields(certificate) if isinstance(certificate, AnswerCertificate) else {}),
        solver_status=solution.solver_status,
        error=(attempts[-1].error if attempts else None) or None,
        solver_output=solver_output or None,
        answered_by=solution.backend.removeprefix(ISOLATED_PREFIX) or None,
        path=[name.removeprefix(ISOLATED_PREFIX) for name in solution.path],
        claimed_gap=best.claimed_gap if best else None,
        stopping_test=_stopping_test(best) if best else None,
        isolated=isolated,
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
        cpu_seconds=_total_cpu_seconds(attempts),
        seconds_build=solution.times["build"],
        seconds_canonicalize=solution.times["canonicalize"],
        seconds_solve=solution.times["solve"],
        seconds_recover=solution.times["recover"],
        seconds_certify=solution.times["certify"],
        log=tuple(
            AttemptRecord.from_attempt(attempt, seconds, gap)
            for attempt, (seconds, gap) in zip(attempts, solution.gaps, strict=True)
        ),
        solver_version=solution.version,
        solution=solution if isinstance(solution, Solution) else None,
        point=certificate.point if isinstance(certificate, AnswerCertificate) else None,
    )


def _stopping_test(attempt: Attempt) -> dict[str, float] | None:
    """Return the residual of each part of the stopping test over its limit; None if the test is not known."""
    ratios = {part: float(attempt.statistics[key]) for part, key in RATIO_KEYS.items() if key in attempt.statistics}
    return ratios or None


def _total_cpu_seconds(attempts: Sequence[Attempt]) -> float | None:
    """Return the processor seconds of all attempts; None if none was measured, or one ended with its process."""
    seconds = [attempt.statistics[CPU_SECONDS] for attempt in attempts if CPU_SECONDS in attempt.statistics]
    return None if not seconds or None in seconds else math.fsum(seconds)


def _problem_fields(certificate: AnswerCertificate) -> dict[str, Any]:
    """Return the fields that only solves of CVXPY problems have."""
    return {
        "optimum_sign": math.copysign(1.0, certificate.lower) if certificate.is_decided else None,
        "claimed_value": certificate.value,
        "residuals": certificate.residuals,
        "open_reason": certificate.reason or None,
    }


def parse_record(content: Mapping[str, Any], results: Sequence[str] = RESULT_NAMES) -> SolveRecord:
    """Return the record in an object such as `SolveRecord.to_file_entry` returns.

    Parameters
    ----------
    content
        The object.
    results
        The accepted results.

    Raises
    ------
    ValueError
        A field is missing, unknown or of another type, or the result is not accepted.
    """
    entries = dict(content)
    outcome, log = json_values.parse_object(entries.pop("record", None), "its record"), entries.pop("log", [])
    for name in SOLVE.attributes:
        if name not in entries:
            raise ValueError(f"its {name} is missing")
    request = json_values.parse_fields(SOLVE, entries)
    if unknown := sorted(entries.keys() - SOLVE.attributes.keys()):
        raise ValueError(f"unexpected field {unknown[0]!r}")
    if request["result"] not in results:
        raise ValueError(f"its result is none of {', '.join(results)}")
    attempts = [
        json_values.parse_object(attempt, "log: each entry of the list")
        for attempt in json_values.parse_list(log, "log")
    ]
    record = SolveRecord(
        **request,
        **json_values.parse_fields(RESULT, outcome),
        log=tuple(AttemptRecord(**json_values.parse_fields(ATTEMPT, attempt)) for attempt in attempts),
        solver_version=json_values.parse_text(outcome.get("version", request["version"]), "version"),
    )
    if record.infeasible or record.optimum_sign is not None:
        end = math.copysign(math.inf, record.optimum_sign or 1.0)
        return replace(record, lower=end, upper=end)
    return record


def classify_failure(log: Sequence[AttemptRecord], solver_status: str) -> str:
    """Return the kind of a failed solve, one of `FAILURE_KINDS`; the process exit precedes the solver's message."""
    last = log[-1] if log else AttemptRecord()
    process_end = ProcessEnd.from_text(last.status or "")
    if process_end is ProcessEnd.CRASHED:
        return FailureKind.CRASHED.value
    if process_end is ProcessEnd.KILLED:
        return FailureKind.KILLED.value
    if any(attempt.claims for attempt in log):
        return FailureKind.CLAIMS.value
    if INFEASIBLE.search(solver_status):
        return FailureKind.INFEASIBLE.value
    return (FailureKind.ERROR if last.error else FailureKind.GIVES_UP).value


def _flatten_options(options: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield options by name, including options nested in another one."""
    for name, value in options.items():
        if isinstance(value, Mapping):
            yield from _flatten_options(cast(Mapping[str, Any], value))
        else:
            yield name, value
