"""The result of a benchmark: all runs, and the scores, means and reports computed from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from boostopt._utils.data_frames import data_frame
from boostopt._utils.environment import describe_environment
from boostopt._utils.formatting import html_table, render_text
from boostopt._utils.json_values import plain, to_json_text
from boostopt._utils.validation import check_optional, check_string
from boostopt.backends.profiles import is_named_profile
from boostopt.comparison.failures import FAILURE, Failure, failure_texts, failures_by_backend
from boostopt.comparison.provenance import Provenance
from boostopt.comparison.rendering.phrases import (
    gap_request_text,
    summarize_program,
    trivial_bounds,
)
from boostopt.comparison.scores import MEAN, SCORE, MeanScore, ProgramScore, average_scores, score_programs
from boostopt.comparison.solve_record import Result, SolveRecord
from boostopt.comparison.solve_results import BenchmarkSettings, intersect_intervals
from boostopt.data.csv_tables import records_to_csv


@dataclass(frozen=True)
class Benchmark:
    """All runs, and the results that follow from them.

    Attributes
    ----------
    programs
        The programs by label: facts, digest, and under "about" the description that `describe` returns.
    settings
        The settings of the measurement.
    machine, boostopt
        The machine, and the version of this package.
    runs
        One for each program, backend, tolerance and repeat.
    provenance
        The origin of the result: command, date, data and versions.
    """

    programs: Mapping[str, Mapping[str, Any]]
    settings: BenchmarkSettings
    environment: Mapping[str, Any]
    boostopt: str
    runs: tuple[SolveRecord, ...]
    provenance: Provenance = field(default_factory=Provenance)

    def __str__(self) -> str:
        """Return the tables as the command line prints them."""
        return render_text(self.table())

    def table(self) -> Any:
        """Return the tables for rich's consoles."""
        from boostopt.comparison.rendering.console_benchmark_tables import BenchmarkTable

        by_program = {label: [run for run in self.runs if run.program == label] for label in self.programs}
        return BenchmarkTable(
            tuple(self.programs),
            {label: summarize_program(runs) for label, runs in by_program.items()},
            {
                label: trivial_bounds(runs, self.programs[label].get("about", {}).get("equal_weights", ()))
                for label, runs in by_program.items()
            },
            self.scores,
            self.means,
            self.contradictory_programs,
            {tol: gap_request_text(self.runs, tol) for tol in self.settings.target_gaps},
            failure_texts(self.failures),
            self.provenance.skipped,
            self.environment_text,
        )

    @property
    def environment_text(self) -> str:
        """The settings and the machine of the measurement, in words."""
        settings = self.settings
        by = (
            f"Asked by the profiles {', '.join(settings.profile_names)}: one solve each. "
            if settings.profile_names
            else ""
        )
        by = by or "The gap must be certified. Solvers are asked for accuracies in their own terms, not for this gap. "
        seconds = "Seconds are of one solve" if settings.repeats == 1 else f"Seconds are medians of {settings.repeats}"
        quartiles = ", quartiles below them" if settings.repeats > 2 else ""
        return f"{by}{seconds}{quartiles}; x1 is the fastest. {self._conditions_text}"

    @property
    def _conditions_text(self) -> str:
        """The circumstances of the solves; these words fit every table of them."""
        settings = self.settings
        limit = "no time limit" if settings.time_limit is None else f"{settings.time_limit:g} s for a solve"
        return (
            f"Solves in shuffled order (seed {settings.seed}), {limit}, "
            f"{self._processes}. "
            f"{describe_environment(self.boostopt, self.environment, settings.threads)}"
        )

    @property
    def _processes(self) -> str:
        """Describe the process in which the solves run."""
        if self.settings.isolate:
            return "each backend in a process of its own"
        if self.settings.time_limit is None:
            return "all backends in one process"
        return "backends that keep no time limit in a process each, the others in one"

    def _repr_html_(self) -> str:
        header = ("backend", "gap asked for", "result", "seconds (median)", "over the best", "why not")
        rows = {label: list[tuple[object, ...]]() for label in self.programs}
        for s in self.scores:
            seconds, ratio = ("", "") if s.result != Result.REACHED else (s.median, s.ratio)
            rows[s.program].append((s.backend, f"{s.tol:g}", s.result, seconds, ratio, s.reason))
        return "".join(html_table(label, of_program, header) for label, of_program in rows.items())

    @cached_property
    def scores(self) -> tuple[ProgramScore, ...]:
        """For each program, backend and tolerance: whether the tolerance was reached, and in what time."""
        return score_programs(self.runs)

    @cached_property
    def means(self) -> tuple[MeanScore, ...]:
        """The mean of each backend and tolerance over all programs."""
        return average_scores(self.scores, self.settings.time_limit)

    @cached_property
    def failures(self) -> tuple[Failure, ...]:
        """The failures of each backend by kind, with an example in the solver's own words."""
        return failures_by_backend(self.runs)

    @property
    def reached(self) -> bool:
        """Whether for every program some backend reached the smallest gap asked for."""
        finest = min(self.settings.target_gaps)
        done = {score.program for score in self.scores if score.result == Result.REACHED and score.tol == finest}
        return done == set(self.programs)

    def interval(self, program: str) -> tuple[float, float]:
        """Return the intersection of all certified intervals of a program."""
        return intersect_intervals(run for run in self.runs if run.program == program)

    @property
    def contradictory_programs(self) -> list[str]:
        """The programs whose intervals have no point in common. If there are any, boostopt is wrong."""
        return [label for label in self.programs if self.interval(label)[0] > self.interval(label)[1]]

    @property
    def overlap(self) -> bool:
        """Whether the certified intervals of each program have a point in common."""
        return not self.contradictory_programs

    def to_json(self) -> str:
        """Return everything as JSON; numbers that are not finite become null."""
        document = {
            "boostopt": self.boostopt,
            "machine": self.environment,
            "settings": self.settings.record(),
            "programs": {
                label: {**about, "lower": self.interval(label)[0], "upper": self.interval(label)[1]}
                for label, about in self.programs.items()
            },
            "reached": self.reached,
            "contradicted": self.contradictory_programs,
            "scores": [SCORE.to_file(score) for score in self.scores],
            "means": [MEAN.to_file(mean) for mean in self.means],
            "failures": [FAILURE.to_file(failure) for failure in self.failures],
            "runs": [run.to_file_entry() for run in self.runs],
            "origin": self.provenance.to_json(),
        }
        return to_json_text(document)

    def to_csv(self) -> str:
        """Return one line for each run, with all its settings, as CSV."""
        return records_to_csv([plain(record) for record in self._records()])

    def to_dataframe(self) -> Any:
        """Return the same as a data frame of pandas.

        Raises
        ------
        OptionError
            pandas is not installed.
        """
        return data_frame(self._records())

    def to_latex(self, caption: str | None = None, label: str = "tab:benchmark") -> str:
        """Return backends against gaps as a table in LaTeX, with booktabs: seconds, ratios, programs reached.

        Parameters
        ----------
        caption
            Replaces the default caption, which says what the seconds are.
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
        from boostopt.comparison.rendering.paper_tables import BenchmarkTableData, benchmark_table, format_power_of_ten

        by = {
            run.tol: f"{run.profile} ({format_power_of_ten(run.tol)})"
            for run in self.runs
            if is_named_profile(run.profile)
        }
        unable = dict.fromkeys((run.backend, run.program) for run in self.runs if not run.ran)
        backends = dict.fromkeys(backend for backend, _ in unable)
        count = {name: sum(backend == name for backend, _ in unable) for name in backends}
        remarks = [
            *(f"{backend}: {words}" for backend, words in failure_texts(self.failures)),
            *(
                f"{name}: not run, or not to its end, on {n} of {len(self.programs)} programs."
                for name, n in count.items()
            ),
            *(f"{what}: left out. {why}" for what, why in self.provenance.skipped),
            self._conditions_text,
        ]
        return benchmark_table(
            BenchmarkTableData(
                tuple(self.programs),
                {tol: by.get(tol, f"gap {format_power_of_ten(tol)}") for tol in self.settings.target_gaps},
                bool(by),
                self.scores,
                self.means,
                self.settings.repeats,
                self.settings.time_limit,
                self.contradictory_programs,
                remarks,
            )
        )

    def _records(self) -> list[dict[str, Any]]:
        """Return each run with all its settings."""
        made = {"boostopt": self.boostopt, "seed": self.settings.seed, "time_limit": self.settings.time_limit}
        return [
            {**(document := run.to_file_entry()).pop("record"), **document, **made, **self.environment}
            for run in self.runs
        ]
