"""Programs x backends x forms x tolerances x repeats: each cell is a certified solve of its own."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from boostopt._utils.environment import environment_info, source_version
from boostopt._utils.json_values import plain
from boostopt._utils.validation import check_integer, check_list, check_numbers, invalid_value_error
from boostopt.backends.base import Backend
from boostopt.backends.isolation.isolated import IsolatedBackend
from boostopt.backends.isolation.worker_process import close_idle_processes, idle_process_id
from boostopt.backends.profiles import Profile
from boostopt.comparison.backend_handles import BackendHandle, open_backends
from boostopt.comparison.benchmark_options import WARM_UP_MODES, BenchmarkOptions, benchmark_options
from boostopt.comparison.benchmark_result import Benchmark
from boostopt.comparison.provenance import Provenance
from boostopt.comparison.rendering.progress_output import BenchmarkProgress, benchmark_progress, request_text
from boostopt.comparison.results_log import ResultsLog
from boostopt.comparison.solve_record import Result, SolveRecord
from boostopt.comparison.solve_results import BenchmarkSettings
from boostopt.errors import OptionError
from boostopt.programs.formulation import Formulation
from boostopt.programs.identity import describe_program, program_digest, program_facts
from boostopt.programs.program import Program
from boostopt.solving.request import resolve_profile, resolve_tolerance
from boostopt.solving.solve import check_program

GAPS = (1e-3, 1e-6, 1e-9)
"""The default scaled gaps: rough, usual, and close to the accuracy of float64."""


def benchmark(
    programs: Program | Sequence[Program] | Mapping[str, Program],
    backends: str | Backend | Sequence[str | Backend] | None = None,
    profiles: float | str | Sequence[float | str] = GAPS,
    repeats: int = 3,
    options: BenchmarkOptions | None = None,
    **keywords: Any,
) -> Benchmark:
    """Measure backends on programs: whether a certified gap is reached, and in what time.

    Each tolerance is a solve of its own. The solves are repeated, and run in shuffled order. The first solve of a
    program by a backend is not counted. A solve succeeds if its certified gap is small enough. A wrong answer has no
    time, however fast it came.

    Parameters
    ----------
    programs
        One program, several, or several by label.
    backends
        As in `compare`.
    target_gaps
        One or several scaled gaps to reach, in (0, 1): the backend makes attempts until the certified gap is small
        enough. Or names of profiles: each solver is then asked for one solve, which it ends by itself; see `solve`.
        One benchmark has gaps or names, never both.
    repeats
        Measured solves of each cell, at least 1.
    options
        Limits, the file to resume from, progress. You can also pass each field by its name, which then overrides this
        record: `benchmark(..., time_limit=10)`.
    **keywords
        Fields of `BenchmarkOptions`.

    Raises
    ------
    OptionError
        An option is unknown or out of range, there is no program, or `compare` would refuse the backends.
    DataError
        The file belongs to another comparison, or is no file of finished runs.
    """
    options = benchmark_options(options, keywords)
    labelled = _label_programs(programs)
    how_often = check_integer("repeats", repeats, 1, advice="Pass how often each cell is solved.")
    asked = _parse_profiles(profiles)
    gaps = tuple(gap for _, gap in asked)
    named = tuple(profile.name for profile, _ in asked if profile is not None)
    settings = BenchmarkSettings(
        gaps, how_often, options.time_limit, options.isolate, options.random_state, named, options.threads
    )
    origin = options.origin or Provenance.of_this_process()
    solver_options = options.solver_options or {}
    opened = open_backends(backends, options.forms, options.isolate, solver_options, options.threads)
    wanted = [(row.with_profile(profile), gap) for row in opened for profile, gap in asked]
    digests = {label: program_digest(program) for label, program in labelled.items()}
    about: dict[str, Any] = {
        "programs": digests,
        "time_limit": settings.time_limit,
        "isolate": settings.isolate,
        "machine": environment_info(),
    }
    if named:
        about["asked_by"] = "profiles"  # a file has gaps or profiles, never both
    if options.threads is not None:
        about["threads"] = options.threads
    if options.warm_up != WARM_UP_MODES[0]:
        about["warm_up"] = options.warm_up
    if solver_options:
        about["options"] = plain(solver_options)
    described = {
        label: plain({**program_facts(program), "program_digest": digests[label], "about": describe_program(program)})
        for label, program in labelled.items()
    }
    aside = {"described": described, "origin": origin.to_json()}
    ledger = ResultsLog(options.resume, about, source_version(), aside, options.any_version)
    bench = _BenchmarkRunner(labelled, digests, settings, ledger, options.warm_up)
    cells = [
        _ScheduledSolve(label, backend, tol, repeat)
        for label in labelled
        for backend, tol in wanted
        for repeat in range(settings.repeats)
    ]
    until = math.inf if options.budget is None else time.perf_counter() + options.budget
    runs: dict[int, SolveRecord] = {}
    try:
        with benchmark_progress(options.progress, tuple(labelled), len(cells), options.budget) as progress:
            for k in np.random.default_rng(settings.seed).permutation(len(cells)):
                runs[int(k)] = bench.run(cells[int(k)], time.perf_counter() >= until, progress)
                progress.finish_solve(runs[int(k)])
    finally:
        if settings.isolate or settings.time_limit is not None:
            close_idle_processes()
    in_order = tuple(runs[k] for k in range(len(cells)))
    return Benchmark(described, settings, environment_info(), source_version(), in_order, origin)


@dataclass(frozen=True)
class _ScheduledSolve:
    """One requested solve."""

    program: str
    backend: BackendHandle
    tol: float
    repeat: int


class _BenchmarkRunner:
    """Runs the cells; before them it solves each program once by each backend without counting."""

    def __init__(
        self,
        programs: Mapping[str, Program],
        digests: Mapping[str, str],
        settings: BenchmarkSettings,
        ledger: ResultsLog,
        warm_up: str,
    ) -> None:
        self._programs, self._digests, self._settings, self._ledger = programs, digests, settings, ledger
        self._warm_up_mode = warm_up
        self._warmed_up: set[tuple[str, str, int | None]] = set()

    def run(self, cell: _ScheduledSolve, too_late: bool, progress: BenchmarkProgress) -> SolveRecord:
        """Return the finished run of a cell from the file, or make it."""
        backend, digest = cell.backend, self._digests[cell.program]
        key = self._ledger.key(
            cell.program, digest, backend.name, backend.version, cell.tol, cell.repeat, backend.profile_name
        )
        if key in self._ledger.finished_records:
            return replace(self._ledger.finished_records[key], program=cell.program)
        program = self._programs[cell.program]
        limit = self._settings.time_limit
        why = backend.unsupported_reason(program) or (
            "no time left" if too_late else backend.prepare_process(program, limit)
        )
        if why:
            return self._complete_record(cell, backend.skipped_record(program, cell.tol, why))
        progress.start_solve(cell.program, backend.name, request_text(backend.profile_name, cell.tol))
        self._warm_up(cell, program)
        run = self._complete_record(cell, backend.run(program, cell.tol, limit))
        if run.ran:
            self._ledger.append(run)
        return run

    def _warm_up(self, cell: _ScheduledSolve, program: Program) -> None:
        """Solve once without counting, unless this process (or the waiting child) has already done so."""
        if self._warm_up_mode == "none" or self._process_key(cell, program) in self._warmed_up:
            return
        limit = self._settings.time_limit
        page = program.formulation
        first = (
            page.example_program() if self._warm_up_mode == "smallest" and isinstance(page, Formulation) else program
        )
        cell.backend.run(first, max(self._settings.target_gaps), limit)
        cell.backend.prepare_process(program, limit)  # a child that died of the solve is replaced before the clock runs
        self._warmed_up.add(self._process_key(cell, program))

    def _process_key(self, cell: _ScheduledSolve, program: Program) -> tuple[str, str, int | None]:
        """Return the program and the backend, with the number of the child process if there is one."""
        apart = isinstance(cell.backend.effective_backend(program, self._settings.time_limit), IsolatedBackend)
        solved = cell.program if self._warm_up_mode == "program" else program.formulation.name
        return solved, cell.backend.name, idle_process_id() if apart else None

    def _complete_record(self, cell: _ScheduledSolve, row: SolveRecord) -> SolveRecord:
        return replace(
            row,
            program=cell.program,
            digest=self._digests[cell.program],
            # "auto" has no version of its own: the version of the solver is in `solver_version`.
            version=cell.backend.version,
            repeat=cell.repeat,
            reason=_failure_reason(row),
            solution=None,  # many solutions would take more memory than there is
        )


def _failure_reason(row: SolveRecord) -> str:
    """Why a row is not "reached"."""
    if row.result != Result.FAILED:
        return row.reason
    fault = f"; {row.error}" if row.error else ""
    return f'certified gap {row.scaled_gap:.1e}; it says "{row.solver_status}"{fault}'


def _label_programs(programs: Program | Sequence[Program] | Mapping[str, Program]) -> dict[str, Program]:
    """Return the programs by label: the label is the headline, with a number if two are equal."""
    if isinstance(programs, Mapping):
        labelled = {str(label): program for label, program in programs.items()}
    else:
        labelled = dict[str, Program]()
        words = "one or more programs", "Make one with formulation.bind(U, ...)."
        for program in [programs] if isinstance(programs, Program) else check_list("programs", programs, *words):
            check_program(program)
            label, number = program.headline, 2
            while label in labelled:
                label, number = f"{program.headline} #{number}", number + 1
            labelled[label] = program
    if not labelled:
        raise OptionError("expected one or more programs; got none. Make one with formulation.bind(U, ...).")
    for program in labelled.values():
        check_program(program)
    return labelled


def _parse_profiles(profiles: object) -> Sequence[tuple[Profile | None, float]]:
    """Return pairs of a profile and the gap that judges its answers; the profile is None for a gap to be reached."""
    expected = "one or more different gaps in (0, 1)"
    advice = "Pass gaps such as 1e-3 and 1e-6, or names of profiles such as 'default' and 'high'."
    each: Any = [profiles] if isinstance(profiles, str) else profiles
    if isinstance(each, list | tuple) and any(isinstance(name, str) for name in cast(Sequence[Any], each)):
        if not all(isinstance(name, str) for name in cast(Sequence[Any], each)):
            raise invalid_value_error("profiles", expected, profiles, f"A benchmark does not mix them. {advice}")
        asked = [
            (profile := resolve_profile(name), resolve_tolerance(name, profile)) for name in cast(Sequence[Any], each)
        ]
    else:
        gaps = check_numbers("profiles", profiles, expected, lambda tol: 0.0 < tol < 1.0, advice)
        asked = [(None, gap) for gap in gaps]
    if not asked or len({gap for _, gap in asked}) < len(asked) or len({profile is None for profile, _ in asked}) > 1:
        raise invalid_value_error("profiles", expected, profiles, advice)
    return asked
