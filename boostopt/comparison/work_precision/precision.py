"""`precision`: one solve of each program by each solver at each request, each answer certified once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack, overload

from boostopt._utils.cvxpy_tools import cp
from boostopt._utils.validation import check_integer, check_numbers, invalid_value_error
from boostopt.backends.accuracy_profiles import accuracy_profile
from boostopt.backends.base import Backend
from boostopt.comparison.benchmark import Request, measure_solves
from boostopt.comparison.benchmark_options import (
    BenchmarkKeywords,
    BenchmarkOptions,
    ProblemBenchmarkKeywords,
    benchmark_options,
)
from boostopt.comparison.results_log import ACCURACIES
from boostopt.comparison.solvers.solver_handles import SolverHandle
from boostopt.comparison.solvers.solvers_by_name import ProblemSolvers
from boostopt.comparison.work_precision.work_precision import WorkPrecision
from boostopt.conic_programs.conic_program import ConicProgram
from boostopt.programs.program import Program
from boostopt.programs.user_cvxpy_problem import ConvexProblem

REQUESTS = tuple(float(f"1e-{k}") for k in range(1, 11))
"""Default requests: all powers of ten from rough to close to the accuracy of float64."""


@overload
def precision(
    problems: Program | Sequence[Program] | Mapping[str, Program],
    backends: str | Backend | Sequence[str | Backend] | None = None,
    requests: float | Sequence[float] = REQUESTS,
    repeats: int = 1,
    options: BenchmarkOptions | None = None,
    **keywords: Unpack[BenchmarkKeywords],
) -> WorkPrecision: ...
@overload
def precision(
    problems: cp.Problem
    | ConvexProblem
    | ConicProgram
    | Sequence[cp.Problem | ConvexProblem | ConicProgram]
    | Mapping[str, cp.Problem | ConvexProblem | ConicProgram],
    backends: ProblemSolvers = None,
    requests: float | Sequence[float] = REQUESTS,
    repeats: int = 1,
    options: BenchmarkOptions | None = None,
    **keywords: Unpack[ProblemBenchmarkKeywords],
) -> WorkPrecision: ...
def precision(
    problems: Any,
    backends: Any = None,
    requests: float | Sequence[float] = REQUESTS,
    repeats: int = 1,
    options: BenchmarkOptions | None = None,
    **keywords: Any,
) -> WorkPrecision:
    """Measure what accuracy costs with each solver: one solve for each request, each answer certified once.

    The solver gets the request as the value of all its tolerances, and ends the solve by its own test. `cheapest(gap)`
    of the result is the cheapest request of each solver whose answer proves a gap: how its author would ask for this
    gap. A solver that has no tolerance, because it stops by the certificate alone, makes one solve at the smallest
    request, and its line is that of its checkpoints. The solves run in shuffled order.

    Parameters
    ----------
    problems
        One program, several, or several by label; or the same of CVXPY problems and of programs that `load_problem`
        returns.
    backends
        As in `compare`. A function of a problem that has a parameter `tol` gets the request by this name; one that has
        none makes one solve.
    requests
        One or several different accuracies, in (0, 1). Options that accept only a part of this range get the nearest
        value; `sent_accuracy` of a point is what was sent.
    repeats
        Measured solves for each request, at least 1. Before them, each solver solves each program once without being
        counted.
    options
        Limits, forms, the results log, progress, as in `benchmark`. You can also pass each field by its name. With
        `forms`, the solvers behind CVXPY have a line for each form. Only with `isolate`, memory is measured.
    **keywords
        Fields of `BenchmarkOptions`.

    Raises
    ------
    OptionError
        An option is unknown or out of range, there is no program, programs stand beside CVXPY problems, or `compare`
        would refuse the backends.
    ProblemError
        `compare` would refuse a CVXPY problem.
    DataError
        The file of `resume` belongs to another measurement, or is no results log.

    References
    ----------
    Hairer, Norsett, Wanner 1993, section II.10: work-precision diagrams.
    """
    options = benchmark_options(options, keywords)
    n_repeats = check_integer("repeats", repeats, 1, advice="Pass how often each request is solved.")
    accuracies = _parse_requests(requests)
    pairs: list[Request] = [(accuracy_profile(accuracy), accuracy) for accuracy in accuracies]

    def choose_requests(handle: SolverHandle[Any]) -> Sequence[Request]:
        return pairs if handle.has_accuracy else [(None, accuracies[-1])]

    marks = {"asked_by": ACCURACIES}
    return WorkPrecision(*measure_solves(problems, backends, pairs, n_repeats, options, choose_requests, marks))


def _parse_requests(requests: object) -> tuple[float, ...]:
    """Return the requests, the coarsest first."""
    expected, advice = "one or more different accuracies in (0, 1)", "Pass some such as 1e-3 and 1e-6."
    accuracies = check_numbers("requests", requests, expected, lambda accuracy: 0.0 < accuracy < 1.0, advice)
    if not accuracies or len(set(accuracies)) < len(accuracies):
        raise invalid_value_error("requests", expected, requests, advice)
    return tuple(sorted(accuracies, reverse=True))
