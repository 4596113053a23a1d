"""`compare`: solve one program by several backends, and compare the certified intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Unpack, overload

from boostopt._utils.cvxpy_tools import cp
from boostopt._utils.environment import describe_environment, environment_info, source_version
from boostopt._utils.formatting import html_table
from boostopt._utils.json_values import plain, to_json_text
from boostopt._utils.validation import check_seconds
from boostopt.backends.base import Backend
from boostopt.backends.isolation.worker_pool import close_idle_processes
from boostopt.comparison.benchmark_options import CompareKeywords, ProblemCompareKeywords, compare_options
from boostopt.comparison.provenance import Provenance
from boostopt.comparison.rendering.progress_output import comparison_progress, print_backend_progress, progress_callback
from boostopt.comparison.rendering.result_sentences import (
    claimed_value_text,
    format_seconds,
    gap_text,
    is_problem,
    proved_interval_text,
    relative_width,
    worst_residual_text,
)
from boostopt.comparison.rendering.solver_claim_sentences import ratio_cell
from boostopt.comparison.solve_record import SolveRecord
from boostopt.comparison.solve_results import BenchmarkSettings, SolveResults, conflicting_backends, intersect_intervals
from boostopt.comparison.solvers.solver_handles import as_comparable
from boostopt.comparison.solvers.solvers_by_name import ProblemSolvers, open_solvers
from boostopt.errors import ProblemError
from boostopt.programs.program import Program
from boostopt.programs.program_identity import describe_program, program_facts
from boostopt.programs.user_cvxpy_problem import ConvexProblem
from boostopt.solving.solve_request import DEFAULT_TOL, resolve_profile, resolve_tolerance


@dataclass(frozen=True, repr=False)
class Comparison(SolveResults):
    """The results of several backends on one program, in the order in which the backends were named.

    Attributes
    ----------
    programs
        The program under its headline: facts, digest of U, and under "about" the description of `describe_program`.
    settings
        The settings of the solves, as in a benchmark of one repeat.
    environment, boostopt
        The processor, libraries and threads; the version of this package.
    runs
        The result of each backend; also called `rows`.
    provenance
        The command, the date, the data and the versions.
    file
        The path of the file from which the results were read, "" for none.
    """

    _program: Program | ConvexProblem | None = field(default=None, compare=False, repr=False)

    DEFAULT_LABEL: ClassVar[str] = "tab:comparison"

    @classmethod
    def from_solves(
        cls,
        program: Program | ConvexProblem,
        tol: float,
        solves: Iterable[SolveRecord],
        provenance: Provenance | None = None,
    ) -> Comparison:
        """Return the comparison of some solves of a program at a scaled gap."""
        label = program.headline
        facts = plain({**program_facts(program), "about": describe_program(program)})
        runs = tuple(replace(solve, program=label) for solve in solves)
        settings, environment = comparison_settings(tol, runs), environment_info()
        origin = provenance or Provenance()
        return cls({label: facts}, settings, environment, source_version(), runs, origin, _program=program)

    @property
    def program(self) -> Any:
        """The program; or the copy of the CVXPY problem, without values.

        Raises
        ------
        ProblemError
            The comparison was read from a file, which does not contain the margin matrix.
        """
        if self._program is None:
            raise ProblemError(
                f"a comparison from a file has no program; {self.file or 'the file'} has no margin matrix. "
                "Bind the program anew."
            )
        return self._program.problem if isinstance(self._program, ConvexProblem) else self._program

    @property
    def label(self) -> str:
        """The label of the program."""
        return next(iter(self.programs))

    @property
    def tol(self) -> float:
        """The requested scaled gap."""
        return self.settings.target_gaps[0]

    @property
    def rows(self) -> tuple[SolveRecord, ...]:
        """The result of each backend."""
        return self.runs

    @property
    def interval(self) -> tuple[float, float]:
        """The intersection of all certified intervals, which contains the optimum."""
        return intersect_intervals(self.runs)

    def conflicting_backends(self, row: SolveRecord) -> list[str]:
        """Return the backends whose interval does not overlap with the interval of a row."""
        return conflicting_backends(row, self.runs)

    def program_facts(self) -> dict[str, Any]:
        """Return the facts about the program: formulation, parameters, sizes, digest of U."""
        facts = self.programs[self.label]
        return {**{name: value for name, value in facts.items() if name != "about"}, "tol": self.tol}

    def table(self) -> Any:
        """Return the table for consoles of rich."""
        from boostopt.comparison.rendering.console_tables import ComparisonTable

        return ComparisonTable(
            self.label, self.runs, self.equal_weight_bounds(self.label), self.is_soft_margin_bound(self.label)
        )

    def _repr_html_(self) -> str:
        header = (
            "backend",
            "verdict",
            "certified about the optimum",
            "gap",
            "relative gap",
            "seconds",
            "the solver says",
            "own test",
        )
        header += ("reported value", "largest residual") if is_problem(self.runs) else ("form",)
        return html_table(self.label, [_html_cells(row, self.runs)[: len(header)] for row in self.runs], header)

    def to_json(self) -> str:
        """Return facts and rows as JSON; numbers that are not finite become null."""
        lower, upper = self.interval
        document = {
            **self.program_facts(),
            "reached": self.has_target_gap,
            "overlap": self.overlap,
            "lower": lower,
            "upper": upper,
            "boostopt": self.boostopt,
            "machine": self.environment,
            "rows": [row.record() for row in self.runs],
            "logs": [row.attempts_to_json() for row in self.runs],
            "about": self.programs[self.label]["about"],
            "origin": self.provenance.to_json(),
        }
        return to_json_text(document)

    def _paper_table(self) -> Any:
        from boostopt.comparison.rendering.paper_tables import comparison_table

        conditions = describe_environment(self.boostopt, self.environment)
        return comparison_table(self.label, self.tol, self.runs, conditions)

    def _records(self) -> list[dict[str, Any]]:
        return [row.record() for row in self.runs]


def comparison_settings(tol: float, runs: Iterable[SolveRecord]) -> BenchmarkSettings:
    """Return the settings of a comparison as settings of a benchmark; files do not contain its time limit."""
    return BenchmarkSettings((tol,), 1, None, any(run.isolated for run in runs), 0)


def _html_cells(row: SolveRecord, rows: Iterable[SolveRecord]) -> tuple[object, ...]:
    """Return the cells of a row in the HTML table."""
    if not row.ran:
        return row.backend, row.result, row.reason, *[""] * 7
    problem_cells = (claimed_value_text(row, rows), worst_residual_text(row)) if is_problem(rows) else (row.form or "",)
    first_cells = row.backend, row.verdict, proved_interval_text(row)
    last_cells = ratio_cell(row.stopping_test_ratio), *problem_cells
    gaps = (gap_text(row), relative_width(row)) if row.answered else ("", "")
    message = row.solver_status if row.answered else row.error or row.solver_status
    return *first_cells, *gaps, format_seconds(row), message, *last_cells


@overload
def compare(
    program: Program,
    backends: str | Backend | Sequence[str | Backend] | None = None,
    tol: float | str = DEFAULT_TOL,
    time_limit: float | None = None,
    progress: bool | Callable[[str, SolveRecord | None], None] = False,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    **keywords: Unpack[CompareKeywords],
) -> Comparison: ...
@overload
def compare(
    program: cp.Problem | ConvexProblem,
    backends: ProblemSolvers = None,
    tol: float | str = DEFAULT_TOL,
    time_limit: float | None = None,
    progress: bool | Callable[[str, SolveRecord | None], None] = False,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    **keywords: Unpack[ProblemCompareKeywords],
) -> Comparison: ...
def compare(
    program: Any,
    backends: Any = None,
    tol: float | str = DEFAULT_TOL,
    time_limit: float | None = None,
    progress: bool | Callable[[str, SolveRecord | None], None] = False,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    **keywords: Any,
) -> Comparison:
    """Solve a program, or a convex problem of CVXPY, by several solvers, one after another.

    Every solver gets a row, whatever it does. An exception or a nonsensical answer is a failure with a reason. Every
    solver gets a copy of a CVXPY problem without values; the values of the problem itself stay as they are.

    Parameters
    ----------
    program
        The program to solve, or a `cvxpy.Problem`.
    backends
        Names or backends, each once; by default all names that `list_backends()` returns. A backend that is not
        installed, or does not support the program, gets a row with the reason. For a CVXPY problem: names of CVXPY's
        solvers, such as "clarabel"; functions of a problem; `ConeSolver(function)`; or "FILE:NAME", one of these in a
        Python file. By default all solvers that CVXPY finds.
    tol
        The scaled gap that each backend must reach, in (0, 1), or the profile of each solve: as in `solve`.
    time_limit
        Seconds for each backend; None for no limit. Solvers that may exceed the limit are run as with `isolate`.
    progress
        Whether lines on stderr show the running backend and its result. Or a function: it is called with the name of a
        backend and None before the solve, and with the name and the row after it.
    options
        Solver options for each backend by its name, in the solver's own names: {"cvxpy:scs": {"max_iters": 500}}.
    **keywords
        `forms`, `isolate`, `threads` and `origin`, as follows.
    forms
        Run every solver behind CVXPY once for each of these forms, pinned to the form: "primal", "density", "rated",
        "density-rated", "dual", "dual-rated", or "ladder" for the unpinned solver, which is the default.
    isolate
        Run each backend in a worker process, which is killed once the time limit is exceeded by a twentieth. A crash or
        a hang then gives a row too, and the row contains the printed output.
    threads
        Threads that each solve may use, for BLAS and for the solvers that take a number. Two comparisons, with 1 and
        with the number of cores, show how much a solver gains. By default BLAS uses one thread, and a solver uses its
        own default.
    origin
        The provenance to record: command, date, data. By default only the installed versions are recorded.

    Raises
    ------
    OptionError
        The name of a backend, form, profile or option is unknown; there is no backend, or one is named twice; or the
        tolerance or time limit is out of range.
    ProblemError
        The CVXPY problem is not convex by CVXPY's rules, has integer variables, or a parameter without a value.
    """
    target = as_comparable(program)
    # Arguments are checked before any work, even if no backend supports the program.
    profile = resolve_profile(tol)
    gap, time_limit = resolve_tolerance(tol, profile), check_seconds("time_limit", time_limit)
    keyword_options = compare_options(keywords)
    provenance = keyword_options.origin or Provenance.of_python_call()
    callback = progress_callback(progress, print_backend_progress)
    handles = [handle.with_profile(profile) for handle in open_solvers(target, backends, keyword_options, options)]
    rows = list[SolveRecord]()
    try:
        with comparison_progress(callback, len(handles)) as report:
            for handle in handles:
                report(handle.name, None)
                rows.append(handle.run(target, gap, time_limit))
                report(handle.name, rows[-1])
    finally:
        if keyword_options.isolate or time_limit is not None:
            close_idle_processes()
    return Comparison.from_solves(target, gap, rows, provenance)
