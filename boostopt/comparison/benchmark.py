"""`benchmark`: one certified solve for each program, backend, form, tolerance and repeat, in shuffled order."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack, cast, overload

import numpy as np

from boostopt._utils.cvxpy_tools import cp
from boostopt._utils.environment import environment_info, source_version
from boostopt._utils.json_values import plain
from boostopt._utils.validation import check_integer, check_list, check_numbers, invalid_value_error
from boostopt.backends.accuracy_profiles import Profile
from boostopt.backends.base import Backend
from boostopt.backends.isolation.worker_pool import close_idle_processes, idle_process_id
from boostopt.comparison.benchmark_options import (
    WARM_UP_MODES,
    BenchmarkKeywords,
    BenchmarkOptions,
    ProblemBenchmarkKeywords,
    benchmark_options,
)
from boostopt.comparison.benchmark_result import Benchmark
from boostopt.comparison.provenance import Provenance
from boostopt.comparison.rendering.progress_output import BenchmarkProgress, benchmark_progress, request_text
from boostopt.comparison.results_log import ResultsLog
from boostopt.comparison.solve_record import Result, SolveRecord
from boostopt.comparison.solve_results import BenchmarkSettings
from boostopt.comparison.solvers.solver_handles import SolverHandle, as_comparable
from boostopt.comparison.solvers.solvers_by_name import ProblemSolvers, open_solvers
from boostopt.errors import OptionError
from boostopt.programs.formulation import Formulation
from boostopt.programs.program import Program
from boostopt.programs.program_identity import describe_program, program_digest, program_facts
from boostopt.programs.user_cvxpy_problem import ConvexProblem
from boostopt.solving.solve_request import resolve_profile, resolve_tolerance

GAPS = (1e-3, 1e-6, 1e-9)
"""Default scaled gaps: rough, usual, and close to the accuracy of float64."""


@overload
def benchmark(
    programs: Program | Sequence[Program] | Mapping[str, Program],
    backends: str | Backend | Sequence[str | Backend] | None = None,
    profiles: float | str | Sequence[float | str] = GAPS,
    repeats: int = 3,
    options: BenchmarkOptions | None = None,
    **keywords: Unpack[BenchmarkKeywords],
) -> Benchmark: ...
@overload
def benchmark(
    programs: cp.Problem | ConvexProblem | Sequence[cp.Problem | ConvexProblem] | Mapping[str, cp.Problem],
    backends: ProblemSolvers = None,
    profiles: float | str | Sequence[float | str] = GAPS,
    repeats: int = 3,
    options: BenchmarkOptions | None = None,
    **keywords: Unpack[ProblemBenchmarkKeywords],
) -> Benchmark: ...
def benchmark(
    programs: Any,
    backends: Any = None,
    profiles: float | str | Sequence[float | str] = GAPS,
    repeats: int = 3,
    options: BenchmarkOptions | None = None,
    **keywords: Any,
) -> Benchmark:
    """Measure solvers on programs, or on CVXPY problems: whether a certified gap is reached, and in what time.

    Each tolerance is a solve of its own. The solves are repeated, and run in shuffled order. The first solve of a
    program by a backend is not counted. A solve succeeds if its certified gap is small enough. A wrong answer has no
    time, however fast the solver was.

    Parameters
    ----------
    programs
        One program, several, or several by label; or the same of CVXPY problems.
    backends
        As in `compare`.
    profiles
        One or several scaled gaps to reach, in (0, 1): the backend makes attempts until the certified gap is small
        enough. Or names of profiles: a profile is one solve, which the solver ends by its own estimate; see `solve`.
        One benchmark has gaps or names, never both.
    repeats
        Measured solves of each cell, at least 1.
    options
        Limits, the results log, progress. You can also pass each field by its name, which then overrides the record:
        `benchmark(..., time_limit=10)`.
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
        The file of `resume` belongs to another benchmark, or is no results log.
    """
    options = benchmark_options(options, keywords)
    n_repeats = check_integer("repeats", repeats, 1, advice="Pass how often each cell is solved.")
    requests = _parse_profiles(profiles)
    profile_names = tuple(profile.name for profile, _ in requests if profile is not None)
    # A results log has gaps or profiles, never both.
    marks = {"asked_by": "profiles"} if profile_names else {}
    return Benchmark(*measure_solves(programs, backends, requests, n_repeats, options, lambda _: requests, marks))


Request = tuple[Profile | None, float]
"""A profile and the gap that its answers must reach; the profile is None if only a gap is named."""

Measurement = tuple[
    Mapping[str, Mapping[str, Any]], BenchmarkSettings, Mapping[str, Any], str, tuple[SolveRecord, ...], Provenance
]
"""The first six fields of `SolveResults`."""


def measure_solves(
    programs: Any,
    backends: Any,
    requests: Sequence[Request],
    n_repeats: int,
    options: BenchmarkOptions,
    choose_requests: Callable[[SolverHandle[Any]], Sequence[Request]],
    marks: Mapping[str, Any],
) -> Measurement:
    """Solve programs, or CVXPY problems, by several solvers in shuffled order, and return the fields of the results.

    Parameters
    ----------
    programs, backends
        As in `benchmark`.
    requests
        All requests.
    n_repeats
        Measured solves of each cell.
    options
        The options.
    choose_requests
        Returns the requests of a solver.
    marks
        Further content of the first line of a results log. A file with other marks belongs to another measurement.

    Raises
    ------
    OptionError, ProblemError, DataError
        As in `benchmark`.
    """
    labelled = _label_programs(programs)
    gaps = tuple(gap for _, gap in requests)
    profile_names = tuple(profile.name for profile, _ in requests if profile is not None)
    settings = BenchmarkSettings(
        gaps, n_repeats, options.time_limit, options.isolate, options.random_state, profile_names, options.threads
    )
    provenance = options.origin or Provenance.of_python_call()
    solver_options = options.solver_options or {}
    handles = open_solvers(next(iter(labelled.values())), backends, options, solver_options)
    backend_requests = [
        (handle.with_profile(profile), gap) for handle in handles for profile, gap in choose_requests(handle)
    ]
    digests = {label: program_digest(program) for label, program in labelled.items()}
    header: dict[str, Any] = {
        "programs": digests,
        "time_limit": settings.time_limit,
        "isolate": settings.isolate,
        "machine": environment_info(),
        **marks,
    }
    if options.threads is not None:
        header["threads"] = options.threads
    if options.warm_up != WARM_UP_MODES[0]:
        header["warm_up"] = options.warm_up
    if solver_options:
        header["options"] = plain(solver_options)
    facts = {
        label: plain({**program_facts(program), "program_digest": digests[label], "about": describe_program(program)})
        for label, program in labelled.items()
    }
    header_extras = {"described": facts, "origin": provenance.to_json()}
    results_log = ResultsLog(options.resume, header, source_version(), header_extras, options.any_version)
    runner = _BenchmarkRunner(labelled, digests, settings, results_log, options.warm_up)
    cells = [
        _ScheduledSolve(label, backend, tol, repeat)
        for label in labelled
        for backend, tol in backend_requests
        for repeat in range(settings.repeats)
    ]
    end_time = math.inf if options.budget is None else time.perf_counter() + options.budget
    runs: dict[int, SolveRecord] = {}
    try:
        with benchmark_progress(options.progress, tuple(labelled), len(cells), options.budget) as progress:
            for k in np.random.default_rng(settings.seed).permutation(len(cells)):
                runs[int(k)] = runner.run(cells[int(k)], time.perf_counter() >= end_time, progress)
                progress.finish_solve(runs[int(k)])
    finally:
        if settings.isolate or settings.time_limit is not None:
            close_idle_processes()
    ordered_runs = tuple(runs[k] for k in range(len(cells)))
    return facts, settings, environment_info(), source_version(), ordered_runs, provenance


@dataclass(frozen=True)
class _ScheduledSolve:
    """A requested solve: a program, a backend, a tolerance and the number of the repeat."""

    program: str
    backend: SolverHandle[Any]
    tol: float
    repeat: int


class _BenchmarkRunner:
    """The runner of scheduled solves.

    Before the first scheduled solve of a program by a backend, the runner solves once without counting.
    """

    def __init__(
        self,
        programs: Mapping[str, Program | ConvexProblem],
        digests: Mapping[str, str],
        settings: BenchmarkSettings,
        results_log: ResultsLog,
        warm_up: str,
    ) -> None:
        self._programs, self._digests, self._settings, self._results_log = programs, digests, settings, results_log
        self._warm_up_mode = warm_up
        self._warmed_up: set[tuple[str, str, int | None]] = set()

    def run(self, cell: _ScheduledSolve, is_too_late: bool, progress: BenchmarkProgress) -> SolveRecord:
        """Return the record of a scheduled solve: from the results log, or by solving unless it is too late."""
        backend, digest = cell.backend, self._digests[cell.program]
        key = self._results_log.key(
            cell.program, digest, backend.name, backend.version, cell.tol, cell.repeat, backend.profile_name
        )
        if key in self._results_log.finished_records:
            return replace(self._results_log.finished_records[key], program=cell.program)
        program = self._programs[cell.program]
        limit = self._settings.time_limit
        reason = backend.unsupported_reason(program) or (
            "no time left" if is_too_late else backend.prepare_process(program, limit)
        )
        if reason:
            return self._complete_record(cell, backend.skipped_record(program, cell.tol, reason))
        progress.start_solve(cell.program, backend.name, request_text(backend.profile_name, cell.tol))
        self._warm_up(cell, program)
        run = self._complete_record(cell, backend.run(program, cell.tol, limit))
        if run.ran:
            self._results_log.append(run)
        return run

    def _warm_up(self, cell: _ScheduledSolve, program: Program | ConvexProblem) -> None:
        """Solve once without counting, unless this process or the idle worker process has already done so."""
        if self._warm_up_mode == "none" or self._process_key(cell, program) in self._warmed_up:
            return
        limit = self._settings.time_limit
        warm_up_program = program
        if self._warm_up_mode == "smallest" and isinstance(program, Program):
            formulation = program.formulation
            warm_up_program = formulation.example_program() if isinstance(formulation, Formulation) else program
        cell.backend.run(warm_up_program, max(self._settings.target_gaps), limit)
        # If the solve ended the worker process, a new one starts before the clock runs.
        cell.backend.prepare_process(program, limit)
        self._warmed_up.add(self._process_key(cell, program))

    def _process_key(self, cell: _ScheduledSolve, program: Program | ConvexProblem) -> tuple[str, str, int | None]:
        """Return the program (or the formulation) and the backend, with the number of the worker process, if any."""
        is_isolated = cell.backend.has_own_process(program, self._settings.time_limit)
        label = cell.program
        if self._warm_up_mode != "program" and isinstance(program, Program):
            label = program.formulation.name
        return label, cell.backend.name, idle_process_id() if is_isolated else None

    def _complete_record(self, cell: _ScheduledSolve, row: SolveRecord) -> SolveRecord:
        """Return a record with the label, the digest and the repeat of its scheduled solve, without the solution."""
        return replace(
            row,
            program=cell.program,
            digest=self._digests[cell.program],
            # The backend "auto" has no version; `solver_version` is the version of the solver.
            version=cell.backend.version,
            repeat=cell.repeat,
            reason=_failure_reason(row),
            solution=None,  # many solutions would take more memory than there is
            point=None,
        )


def _failure_reason(row: SolveRecord) -> str:
    """Return why the result of a solve is not "reached"."""
    if row.result != Result.FAILED:
        return row.reason
    details = "".join(f"; {text}" for text in (row.error, row.open_reason) if text)
    return f'certified gap {row.scaled_gap:.1e}; it says "{row.solver_status}"{details}'


def _label_programs(programs: Any) -> dict[str, Program | ConvexProblem]:
    """Return the programs by label; the default label is the headline, with a number if two headlines are equal."""
    labelled = dict[str, Program | ConvexProblem]()
    if isinstance(programs, Mapping):
        for name, program in cast(Mapping[Any, Any], programs).items():
            target = as_comparable(program)
            labelled[str(name)] = replace(target, headline=str(name)) if isinstance(target, ConvexProblem) else target
    else:
        texts = "one or more programs", "Make one with formulation.bind(U, ...)."
        is_single = isinstance(programs, Program | ConvexProblem | cp.Problem)
        for program in [programs] if is_single else check_list("programs", programs, *texts):
            target = as_comparable(program)
            label, number = target.headline, 2
            while label in labelled:
                label, number = f"{target.headline} #{number}", number + 1
            labelled[label] = target
    if not labelled:
        raise OptionError("expected one or more programs; got none. Make one with formulation.bind(U, ...).")
    if len({isinstance(target, ConvexProblem) for target in labelled.values()}) > 1:
        raise OptionError(
            "expected programs alone, or CVXPY problems alone; got both. Run one benchmark for each: they have other "
            "solvers."
        )
    return labelled


def _parse_profiles(profiles: object) -> Sequence[Request]:
    """Return pairs of a profile and the gap that its answers must reach; the profile is None if only a gap is named."""
    expected = "one or more different gaps in (0, 1)"
    advice = "Pass gaps such as 1e-3 and 1e-6, or names of profiles such as 'default' and 'high'."
    several: Any = [profiles] if isinstance(profiles, str) else profiles
    if isinstance(several, list | tuple) and any(isinstance(name, str) for name in cast(Sequence[Any], several)):
        if not all(isinstance(name, str) for name in cast(Sequence[Any], several)):
            raise invalid_value_error("profiles", expected, profiles, f"A benchmark does not mix them. {advice}")
        requests = [
            (profile := resolve_profile(name), resolve_tolerance(name, profile))
            for name in cast(Sequence[Any], several)
        ]
    else:
        gaps = check_numbers("profiles", profiles, expected, lambda tol: 0.0 < tol < 1.0, advice)
        requests = [(None, gap) for gap in gaps]
    has_equal_gaps = len({gap for _, gap in requests}) < len(requests)
    if not requests or has_equal_gaps or len({profile is None for profile, _ in requests}) > 1:
        raise invalid_value_error("profiles", expected, profiles, advice)
    return requests
