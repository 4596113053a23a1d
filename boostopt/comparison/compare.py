"""Solve one program by several backends and compare the certified intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from boostopt._utils.data_frames import data_frame
from boostopt._utils.environment import describe_environment, environment_info, source_version
from boostopt._utils.formatting import html_table, render_text
from boostopt._utils.json_values import plain, to_json_text
from boostopt._utils.validation import check_optional, check_seconds, check_string
from boostopt.backends.base import Backend
from boostopt.backends.isolation.worker_process import close_idle_processes
from boostopt.comparison.backend_handles import open_backends
from boostopt.comparison.benchmark_options import compare_options
from boostopt.comparison.provenance import Provenance
from boostopt.comparison.rendering.phrases import gap_text, proved_interval_text, relative_width
from boostopt.comparison.rendering.progress_output import comparison_progress, print_backend_progress, progress_callback
from boostopt.comparison.solve_record import SolveRecord
from boostopt.comparison.solve_results import conflicting_backends, intersect_intervals
from boostopt.data.csv_tables import records_to_csv
from boostopt.programs.identity import bounds_of_equal_weights, describe_program, program_facts
from boostopt.programs.program import Program
from boostopt.solving.request import DEFAULT_TOL, resolve_profile, resolve_tolerance
from boostopt.solving.solve import check_program


@dataclass(frozen=True)
class Comparison:
    """The results of several backends on one program, in the order in which the backends were named.

    Attributes
    ----------
    program, tol
        The program, and the scaled gap that was asked for.
    rows
        The result of each backend.
    origin
        The origin of the comparison: command, date, data and versions.
    """

    program: Program
    tol: float
    rows: tuple[SolveRecord, ...]
    origin: Provenance = field(default_factory=Provenance)

    def __str__(self) -> str:
        """Return the table as the command line prints it."""
        return render_text(self.table())

    def table(self) -> Any:
        """Return the table for rich's consoles."""
        from boostopt.comparison.rendering.console_tables import ComparisonTable

        return ComparisonTable(self.program.headline, self.rows, bounds_of_equal_weights(self.program))

    def _repr_html_(self) -> str:
        header = (
            "backend",
            "verdict",
            "certified about the optimum",
            "gap",
            "relative gap",
            "seconds",
            "the solver says",
        )
        cells = list[tuple[object, ...]]()
        for row in self.rows:
            if not row.ran:
                cells.append((row.backend, row.result, row.reason, "", "", "", ""))
            elif row.answered:
                cells.append(
                    (
                        row.backend,
                        row.verdict,
                        proved_interval_text(row),
                        gap_text(row),
                        relative_width(row),
                        row.seconds,
                        row.solver_status,
                    )
                )
            else:
                why = row.error or row.solver_status
                cells.append((row.backend, row.verdict, proved_interval_text(row), "", "", row.seconds, why))
        return html_table(self.program.headline, cells, header)

    @property
    def reached(self) -> bool:
        """Whether some backend's certified gap is within the tolerance."""
        return any(row.reached for row in self.rows)

    @property
    def interval(self) -> tuple[float, float]:
        """The intersection of all certified intervals, which contains the optimum."""
        return intersect_intervals(self.rows)

    @property
    def overlap(self) -> bool:
        """Whether all certified intervals have a point in common; if not, boostopt is wrong."""
        lower, upper = self.interval
        return bool(lower <= upper)

    def conflicting_backends(self, row: SolveRecord) -> list[str]:
        """Return the backends whose interval does not overlap with that of a row."""
        return conflicting_backends(row, self.rows)

    def program_facts(self) -> dict[str, Any]:
        """Return the facts about the program: formulation, parameters, sizes, digest of U."""
        return {**program_facts(self.program), "tol": self.tol}

    def to_json(self) -> str:
        """Return facts and rows as JSON; numbers that are not finite become null."""
        lower, upper = self.interval
        document = {
            **self.program_facts(),
            "reached": self.reached,
            "overlap": self.overlap,
            "lower": lower,
            "upper": upper,
            "boostopt": source_version(),
            "machine": environment_info(),
            "rows": [row.record() for row in self.rows],
            "logs": [row.attempts_to_json() for row in self.rows],
            "about": describe_program(self.program),
            "origin": self.origin.to_json(),
        }
        return to_json_text(document)

    def to_csv(self) -> str:
        """Return the rows as CSV with a header; options and path as JSON in their cells."""
        return records_to_csv([plain(row.record()) for row in self.rows])

    def to_dataframe(self) -> Any:
        """Return the rows as a data frame of pandas.

        Raises
        ------
        OptionError
            pandas is not installed.
        """
        return data_frame([row.record() for row in self.rows])

    def to_latex(self, caption: str | None = None, label: str = "tab:comparison") -> str:
        """Return the rows as a table in LaTeX, with booktabs.

        Parameters
        ----------
        caption
            Replaces the default caption, which names the program.
        label
            The label for references to the table.

        Raises
        ------
        OptionError
            pandas or Jinja is not installed.
        """
        return self._paper_table().to_latex(
            check_string("label", label), check_optional(check_string, "caption", caption)
        )

    def to_markdown(self) -> str:
        """Return the same as a table in Markdown."""
        return self._paper_table().to_markdown()

    def _paper_table(self) -> Any:
        from boostopt.comparison.rendering.paper_tables import comparison_table

        made = describe_environment(source_version(), environment_info())
        return comparison_table(self.program.headline, self.tol, self.rows, made)


def compare(
    program: Program,
    backends: str | Backend | Sequence[str | Backend] | None = None,
    tol: float | str = DEFAULT_TOL,
    time_limit: float | None = None,
    progress: bool | Callable[[str, SolveRecord | None], None] = False,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    **keywords: Any,
) -> Comparison:
    """Solve a program by several backends, one after another.

    Every backend gets a row, whatever it does. An exception or a nonsensical answer is a failure with a reason.

    Parameters
    ----------
    program
        The program to solve.
    backends
        Names or backends, each once; by default all that `list_backends()` returns. A backend that does not support
        the program, or is not installed, gets a row with the reason.
    tol
        The scaled gap that each backend is to reach, in (0, 1), or the profile by which each is asked: as in `solve`.
    time_limit
        Seconds for each backend; None for no limit. Solvers that may exceed the limit are run as with `isolate`.
    progress
        Whether lines on stderr show which backend is running and its result. Or a function, which is called with a
        backend's name and None before it starts, and with its name and its row after it has ended.
    options
        Solver options for each backend by its name, in the solver's own names: {"cvxpy:scs": {"max_iters": 500}}.
    **keywords
        `forms`, `isolate`, `threads` and `origin`, as follows.
    forms
        Run every solver behind CVXPY once for each of these forms, pinned to the form: "primal", "density", "rated",
        "density-rated", "dual", "dual-rated", or "ladder" for the solver as it is, which is the default.
    isolate
        Run each backend in a child process, which is killed once the time limit is exceeded by a twentieth. A crash or
        a hang then gives a row too, and the row keeps the printed output.
    threads
        Threads that each solve may use, for BLAS and for the solvers that take a number. Two comparisons, with 1 and
        with the number of cores, show how much a solver gains. By default BLAS uses one thread, and a solver uses its
        own default.
    origin
        The origin to record: command, date, data. By default only the installed versions are recorded.

    Raises
    ------
    OptionError
        The name of a backend, form, profile or option is unknown; there is no backend, or one is named twice; or the
        tolerance or time limit is out of range.
    """
    check_program(program)
    # Before any work, even if no backend supports the program.
    profile = resolve_profile(tol)
    gap, time_limit = resolve_tolerance(tol, profile), check_seconds("time_limit", time_limit)
    how = compare_options(keywords)
    tell, made = progress_callback(progress, print_backend_progress), how.origin or Provenance.of_this_process()
    named = open_backends(backends, how.forms, how.isolate, options, how.threads)
    opened = [row.with_profile(profile) for row in named]
    rows = list[SolveRecord]()
    try:
        with comparison_progress(tell, len(opened)) as say:
            for backend in opened:
                say(backend.name, None)
                rows.append(backend.run(program, gap, time_limit))
                say(backend.name, rows[-1])
    finally:
        if how.isolate or time_limit is not None:
            close_idle_processes()
    return Comparison(program, gap, tuple(rows), made)
