"""The steps of one file of a program: read it, solve it, certify the answers, compute the exact optimum.

`StepProcess` does them in a process of its own, with limits of the processor seconds of a step and of the memory.
"""

from __future__ import annotations

import functools
import math
import os
import resource
import time
from collections.abc import Collection, Iterator, Mapping
from decimal import Decimal, localcontext
from fractions import Fraction
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.ida_work import end_with_parent
from boostopt import ConicProgram, certify_problem, exact_optimum, load_problem
from boostopt._utils.cvxpy_tools import cp, solve_quietly
from boostopt.conic_programs.solver_clock import solver_clock
from boostopt.errors import BoostoptError, reason_on_one_line

KINDS = ("load", "solve", "certify", "exact")
"""Kinds of steps."""

SOLVERS = ("CLARABEL", "HIGHS", "SCS", "OSQP")
"""Solvers, in the order in which answers of one status are certified."""

SOURCES = ("program", *SOLVERS)
"""Sources of certificates: the program, whose certificate solves it, and answers of solvers to its CVXPY problem."""

CONIC_SOLVERS = ("CLARABEL", "SCS")
"""The solvers that take rows in cones."""

GOOD_GAP = 1e-6
"""Scaled gap from which on no other answer is certified."""

MAX_CERTIFICATES = 3
"""Largest number of answers of a file that are certified."""

N_DIGITS = 30
"""Number of significant digits of exact optima that are kept."""

MAX_FRACTION_LENGTH = 60
"""Length of the fractions that are kept as well."""

REASON_LENGTH = 200

POLL_SECONDS = 0.2

MAX_WAITING = 20.0
"""Seconds of the clock that a step may take, per second of the processor."""

SMALL_PROGRAMS = tuple(
    ConicProgram(np.ones((1, 2)), np.ones(2), np.ones(1), np.ones(1), np.zeros(2), np.full(2, np.inf), P)
    for P in (None, np.eye(2))
)
"""A linear and a quadratic program whose certificates load what those of others need."""

Result = dict[str, Any]


def next_step(
    done: Mapping[str, Result], kinds: Collection[str] = KINDS, max_certificates: int = MAX_CERTIFICATES
) -> str | None:
    """Return the next step of some kinds from the results of the earlier ones; None if nothing is left.

    The program and answers are certified in turn until the gap of one interval is good, a certificate decides that
    there is no optimum, or one exceeds its time.
    """
    if "load" not in done:
        return "load"
    if has_failed(done["load"]):
        return None
    return next((step for step in _steps_left(done, max_certificates) if step.split()[0] in kinds), None)


def _steps_left(done: Mapping[str, Result], max_certificates: int) -> Iterator[str]:
    """Yield the steps of a read file that can be done now, in the order of the work."""
    yield from (step for solver in SOLVERS if (step := f"solve {solver}") not in done)
    certificates = [result for step, result in done.items() if step.startswith("certify ")]
    if not any(is_sufficient(result) for result in certificates) and len(certificates) < max_certificates:
        yield from (step for source in _sources(done) if (step := f"certify {source}") not in done)
    if not done["load"]["cones"]:
        yield from (step for numbers in ("decimal", "binary") if (step := f"exact {numbers}") not in done)


def _sources(done: Mapping[str, Result]) -> list[str]:
    """Return the sources that have answers: the program, solvers that say optimal, and the other ones."""
    answers = {solver: done.get(f"solve {solver}", {}) for solver in SOLVERS}
    solvers = [solver for solver in SOLVERS if is_answer(answers[solver])]
    return ["program", *sorted(solvers, key=lambda solver: answers[solver]["status"] != "optimal")]


def has_failed(result: Mapping[str, Any]) -> bool:
    """Return whether a step exceeded its time or ended with a failure."""
    return "exceeded" in result or "failure" in result


def is_answer(result: Result) -> bool:
    """Return whether a solver ended, whatever its status is."""
    return result.get("takes", False) and not has_failed(result)


def is_sufficient(certificate: Result) -> bool:
    """Return whether no other answer is to be certified after this certificate."""
    if "exceeded" in certificate:
        return True
    if "failure" in certificate:
        return False
    gap = certificate["gap"]
    return certificate["status"] in ("infeasible", "unbounded") or (gap is not None and gap <= GOOD_GAP)


def _solve_by_cvxpy(program: ConicProgram) -> Any:
    """Return the CVXPY problem of a program with an answer."""
    problem = program.to_cvxpy()
    solve_quietly(problem, SOLVERS[0])
    return problem


class Steps:
    """The steps of one file, which share its program and the solved problem of each solver."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def do(self, step: str) -> Result:
        """Return the result of a step, with its peak memory in MB; a failure of the package is a result."""
        kind, _, argument = step.partition(" ")
        try:
            result = getattr(self, kind)(*([argument] if argument else []))
        except (BoostoptError, MemoryError) as failure:
            result = {"failure": f"{type(failure).__name__}: {reason_on_one_line(failure, REASON_LENGTH)}"}
        return {**result, "memory": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)}

    def load(self) -> Result:
        """Return the size of the program."""
        program = self._program
        kinds = sorted({cone.kind for cone in program.cones})
        return {
            "rows": program.shape[0] + sum(len(cone.b) for cone in program.cones),
            "columns": program.shape[1],
            "nonzeros": program.A.nnz + sum(cone.A.nnz for cone in program.cones),
            "cones": kinds,
            "is_linear": program.is_linear,
            "is_maximized": program.is_maximized,
        }

    def solve(self, solver: str) -> Result:
        """Return the claim of a solver with its default options, and the processor seconds of CVXPY and the solver."""
        if self._program.cones and solver not in CONIC_SOLVERS:
            return {"takes": False}
        solve_quietly(cp.Problem(cp.Minimize(0), [cp.Variable() >= 1]), solver)  # imports
        problem = self._problem(solver)
        begin = time.process_time()
        failure = solve_quietly(problem, solver)
        result = {"takes": True, "seconds": time.process_time() - begin, "status": problem.status}
        if failure is not None:
            result["reason"] = reason_on_one_line(failure, REASON_LENGTH)
        value = problem.value
        return {**result, "value": float(value) if value is not None and math.isfinite(value) else None}

    def certify(self, source: str) -> Result:
        """Return the interval that the program, or the answer of a solver, proves, and its processor seconds.

        `solver_seconds` are those of the solves that the certificate of the program calls itself.
        """
        problem: Any = self._program if source == "program" else self._problem(source)
        if source != "program" and problem.status is None:  # this process has not solved it
            solve_quietly(problem, source)
        for small in SMALL_PROGRAMS:
            certify_problem(small if source == "program" else _solve_by_cvxpy(small))  # imports
        with solver_clock() as clock:
            begin = time.process_time()
            certificate = certify_problem(problem)
            seconds = time.process_time() - begin
        gap = certificate.scaled_gap
        own_solves = {"solver_seconds": clock.seconds} if source == "program" else {}
        return {
            "seconds": seconds,
            **own_solves,
            "status": certificate.status,
            "lower": str(certificate.lower),
            "upper": str(certificate.upper),
            "gap": gap if math.isfinite(gap) else None,
            "reason": certificate.reasons[0][:REASON_LENGTH] if certificate.reasons else "",
        }

    def exact(self, numbers: Any) -> Result:
        """Return the exact optimum, checked from the numbers of the program alone."""
        begin = time.process_time()
        optimum = exact_optimum(self._program, numbers)
        seconds = time.process_time() - begin
        result = {"seconds": seconds, "status": optimum.status, "is_proved": optimum.is_proved()}
        if optimum.value is not None:
            fraction = str(optimum.value) if is_short(optimum.value) else None
            bits = optimum.value.denominator.bit_length()
            result |= {"value": decimal_digits(optimum.value), "fraction": fraction, "denominator_bits": bits}
        return result

    @functools.cached_property
    def _program(self) -> ConicProgram:
        return load_problem(self._path)

    @functools.cached_property
    def _problems(self) -> dict[str, Any]:
        return {}

    def _problem(self, solver: str) -> Any:
        if solver not in self._problems:
            self._problems[solver] = self._program.to_cvxpy()
        return self._problems[solver]


def is_short(value: Fraction) -> bool:
    """Return whether a fraction is short enough to be kept."""
    return max(value.numerator.bit_length(), value.denominator.bit_length()) < 3 * MAX_FRACTION_LENGTH


def decimal_digits(value: Fraction) -> str:
    """Return the leading digits of a fraction."""
    with localcontext() as context:
        context.prec = N_DIGITS
        return str(Decimal(value.numerator) / Decimal(value.denominator))


class StepProcess:
    """A process that does the steps of one file. It is started anew after a step that ended it.

    Parameters
    ----------
    path
        The file.
    memory
        Limit of the address space in GB.
    """

    def __init__(self, path: Path, memory: float) -> None:
        self._path, self._memory = path, memory
        self._process: Any = None
        self._connection: Connection | None = None

    def do(self, step: str, limit: float) -> Result:
        """Return the result of a step.

        It is {"exceeded": limit} after so many processor seconds, or `MAX_WAITING` times as many by the clock, and
        {"failure": ...} if the process ended.
        """
        if self._process is None:
            self._start()
        process: Any = self._process
        connection: Any = self._connection
        connection.send(step)
        processor_end = processor_seconds(process.pid) + limit
        end = time.monotonic() + MAX_WAITING * limit
        try:
            while processor_seconds(process.pid) <= processor_end and time.monotonic() <= end:
                if connection.poll(POLL_SECONDS):
                    return connection.recv()
        except EOFError:
            process.join()
            code = process.exitcode
            self.end()
            return {"failure": f"the process ended with exit code {code}"}
        self.end()
        return {"exceeded": limit}

    def end(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            assert self._connection is not None
            self._connection.close()
        self._process = self._connection = None

    def _start(self) -> None:
        context = get_context("forkserver")
        context.set_forkserver_preload([__name__, "cvxpy"])
        self._connection, child_end = context.Pipe()
        self._process = context.Process(target=_serve, args=(child_end, self._path, self._memory), daemon=True)
        self._process.start()
        child_end.close()


def processor_seconds(pid: int) -> float:
    """Return the processor seconds that a process has used; 0 once it is gone. Linux only."""
    try:
        statistics = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    user, system = statistics.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _serve(connection: Connection, path: Path, memory: float) -> None:
    """Do steps until the process is ended."""
    end_with_parent()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # solvers write there
    size = round(memory * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    steps = Steps(path)
    while True:
        connection.send(steps.do(connection.recv()))
