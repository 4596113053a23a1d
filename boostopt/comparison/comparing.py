"""Solve one program by several backends and hold the certified intervals against each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from boostopt.arguments import optional, seconds, text
from boostopt.backends.base import Backend
from boostopt.backends.isolation.process import close
from boostopt.comparison.descriptions import describe
from boostopt.comparison.machine import boostopt_version, machine, machine_in_words
from boostopt.comparison.opening import open_backends
from boostopt.comparison.options import compare_options
from boostopt.comparison.origin import Origin
from boostopt.comparison.progress import called, of_backend, of_backends
from boostopt.comparison.records import facts, json_text, plain, table_of_records
from boostopt.comparison.rows import Row
from boostopt.comparison.wording import clashes, proved, together, width
from boostopt.frames import data_frame
from boostopt.programs.program import Program
from boostopt.solving.asking import TOL, gap_of, profile_of
from boostopt.solving.solving import check_program
from boostopt.text import as_text, html_table


@dataclass(frozen=True)
class Comparison:
    """Rows in the order in which the backends were named.

    Attributes
    ----------
    program, tol
        What was solved, and the scaled gap that was asked for.
    rows
        What came of each backend.
    origin
        How it came about.
    """

    program: Program
    tol: float
    rows: tuple[Row, ...]
    origin: Origin = field(default_factory=Origin)

    def __str__(self) -> str:
        """Return the table as it is printed on the command line."""
        return as_text(self.table())

    def table(self) -> Any:
        """Return the table for rich's consoles."""
        from boostopt.comparison.tables import ComparisonTable

        return ComparisonTable(self.program.headline, self.rows)

    def _repr_html_(self) -> str:
        header = ("backend", "verdict", "certified about the optimum", "gap", "seconds", "the solver says")
        cells = list[tuple[object, ...]]()
        for row in self.rows:
            if not row.ran:
                cells.append((row.backend, row.result, row.reason, "", "", ""))
            elif row.answered:
                cells.append((row.backend, row.verdict, proved(row), width(row), row.seconds, row.solver_status))
            else:
                why = row.error or row.solver_status
                cells.append((row.backend, row.verdict, proved(row), "", row.seconds, why))
        return html_table(self.program.headline, cells, header)

    @property
    def reached(self) -> bool:
        """Whether some backend's certified gap is within the tolerance."""
        return any(row.reached for row in self.rows)

    @property
    def interval(self) -> tuple[float, float]:
        """The intersection of all certified intervals: what is known about the optimum, whoever proved it."""
        return together(self.rows)

    @property
    def overlap(self) -> bool:
        """Whether all certified intervals have a point in common; if not, boostopt is wrong."""
        lower, upper = self.interval
        return bool(lower <= upper)

    def clashes(self, row: Row) -> list[str]:
        """Return the backends whose interval does not overlap with that of a row."""
        return clashes(row, self.rows)

    def facts(self) -> dict[str, Any]:
        """Return what was solved: formulation, parameters, sizes, digest of U."""
        return {**facts(self.program), "tol": self.tol}

    def to_json(self) -> str:
        """Return facts and rows as JSON; what is not finite is null."""
        lower, upper = self.interval
        document = {
            **self.facts(),
            "reached": self.reached,
            "overlap": self.overlap,
            "lower": lower,
            "upper": upper,
            "boostopt": boostopt_version(),
            "machine": machine(),
            "rows": [row.record() for row in self.rows],
            "logs": [row.attempts_logged() for row in self.rows],
            "about": describe(self.program),
            "origin": self.origin.record(),
        }
        return json_text(document)

    def to_csv(self) -> str:
        """Return the rows as CSV with a header; options and path as JSON in their cells."""
        return table_of_records([plain(row.record()) for row in self.rows])

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
            In place of the one that says what was solved.
        label
            What the table is referred to by.

        Raises
        ------
        OptionError
            pandas or Jinja is not installed.
        """
        return self._printed().latex(text("label", label), optional(text, "caption", caption))

    def to_markdown(self) -> str:
        """Return the same as a table in Markdown."""
        return self._printed().markdown()

    def _printed(self) -> Any:
        from boostopt.comparison.printing import of_comparison

        made = machine_in_words(boostopt_version(), machine())
        return of_comparison(self.program.headline, self.tol, self.rows, made)


def compare(
    program: Program,
    backends: str | Backend | Sequence[str | Backend] | None = None,
    tol: float | str = TOL,
    time_limit: float | None = None,
    progress: bool | Callable[[str, Row | None], None] = False,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    **keywords: Any,
) -> Comparison:
    """Solve a program by several backends, one after another.

    Whatever a backend does is a row: what it raises and answers that make no sense are failures with a reason.

    Parameters
    ----------
    program
        What to solve.
    backends
        Names or backends, each once; all that `list_backends()` gives by default. One that cannot take the program,
        or is not installed, gets a row with the reason.
    tol
        Scaled gap wanted of each, in (0, 1), or the profile by which each is asked: as in `solve`.
    time_limit
        Seconds for each backend; None for no limit. Solvers that may run past it are run as with `isolate`.
    progress
        Whether lines on stderr show what is running and what came of it; or what to call, with a backend's name and
        None before it starts, with its row after it has ended.
    options
        Options of solvers by the names of backends, each by the solver's own names: {"cvxpy:scs": {"max_iters": 500}}.
    **keywords
        `forms`, `isolate`, `threads` and `origin`, as follows.
    forms
        Take every solver behind CVXPY once for each of these forms, pinned to it: "primal", "density", "rated",
        "density-rated", "dual", "dual-rated", or "ladder" for the solver as it is, which is the default.
    isolate
        Run each backend in a child process, which is killed when a twentieth more than the time limit is over: a crash
        or a hang is then a row too, and what is printed is kept with it.
    threads
        Threads that each solve may have, for BLAS and for the solvers that take a number: 1 and the number of cores,
        one after the other, tell how much a solver gains. By default BLAS has one, and solvers what they take.
    origin
        What is to be said of how it came about; by default the versions that are installed.

    Raises
    ------
    OptionError
        A backend, a form, a profile or an option of unknown name, none or one twice, or a tolerance or time limit out
        of range.
    """
    check_program(program)
    # Before any work, also where no backend can take the program.
    profile = profile_of(tol)
    gap, time_limit = gap_of(tol, profile), seconds("time_limit", time_limit)
    how = compare_options(keywords)
    tell, made = called(progress, of_backend), how.origin or Origin.here()
    named = open_backends(backends, how.forms, how.isolate, options, how.threads)
    opened = [row.asked_by(profile) for row in named]
    rows = list[Row]()
    try:
        with of_backends(tell, len(opened)) as say:
            for backend in opened:
                say(backend.name, None)
                rows.append(backend.run(program, gap, time_limit))
                say(backend.name, rows[-1])
    finally:
        if how.isolate or time_limit is not None:
            close()
    return Comparison(program, gap, tuple(rows), made)
