"""The result of a benchmark: several programs and gaps, repeated solves, scores and means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from boostopt._utils.formatting import html_table
from boostopt._utils.json_values import to_json_text
from boostopt.comparison.failures import FAILURE
from boostopt.comparison.rendering.score_sentences import format_median_seconds, format_ratio, measurement_text
from boostopt.comparison.scores import MEAN, SCORE
from boostopt.comparison.solve_record import Result
from boostopt.comparison.solve_results import MeasuredSolves


@dataclass(frozen=True, repr=False)
class Benchmark(MeasuredSolves):
    """All solves of a benchmark: programs, backends, tolerances and repeats, in shuffled order.

    Attributes
    ----------
    programs
        The programs by label: facts, digest, and under "about" the description that `describe_program` returns.
    settings
        The settings of the measurement.
    environment, boostopt
        The processor, libraries and threads; the version of this package.
    runs
        One solve for each program, backend, tolerance and repeat.
    provenance
        The command, the date, the data and the versions.
    file
        The path of the file from which the results were read, "" for none.
    """

    DEFAULT_LABEL: ClassVar[str] = "tab:benchmark"

    def table(self) -> Any:
        """Return the tables for consoles of rich: one for each program, and one over all programs."""
        from boostopt.comparison.rendering.console_benchmark_tables import BenchmarkTable

        return BenchmarkTable(self)

    @property
    def environment_text(self) -> str:
        """The settings and the environment of the measurement, in words."""
        return measurement_text(self)

    def _repr_html_(self) -> str:
        header = ("backend", "target gap", "result", "seconds (median)", "over the best", "why not")
        rows = {label: list[tuple[object, ...]]() for label in self.programs}
        for score in self.scores:
            has_gap = score.result == Result.REACHED
            seconds, ratio = (format_median_seconds(score.median), format_ratio(score.ratio)) if has_gap else ("", "")
            rows[score.program].append((score.backend, f"{score.tol:g}", score.result, seconds, ratio, score.reason))
        return "".join(html_table(label, cells, header) for label, cells in rows.items())

    def to_json(self) -> str:
        """Return everything as JSON; numbers that are not finite become null."""
        document = {
            "boostopt": self.boostopt,
            "machine": self.environment,
            "settings": self.settings.record(),
            "programs": self._programs_with_bounds(),
            "reached": self.has_target_gap,
            "contradicted": self.contradictory_programs,
            "scores": [SCORE.to_file(score) for score in self.scores],
            "means": [MEAN.to_file(mean) for mean in self.means],
            "failures": [FAILURE.to_file(failure) for failure in self.failures],
            "runs": [run.to_file_entry() for run in self.runs],
            "origin": self.provenance.to_json(),
        }
        return to_json_text(document)

    def _paper_table(self) -> Any:
        from boostopt.comparison.rendering.paper_tables import benchmark_table

        return benchmark_table(self)

    def _records(self) -> list[dict[str, Any]]:
        """Return each solve with all its settings."""
        settings = {"boostopt": self.boostopt, "seed": self.settings.seed, "time_limit": self.settings.time_limit}
        entries = [run.to_file_entry() for run in self.runs]
        return [{**entry.pop("record"), **entry, **settings, **self.environment} for entry in entries]
