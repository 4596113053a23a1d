"""The result of `precision`: what each certified gap costs with each solver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from boostopt._utils.json_values import to_json_text
from boostopt._utils.validation import check_numbers
from boostopt.comparison.benchmark import GAPS
from boostopt.comparison.benchmark_result import Benchmark
from boostopt.comparison.solve_record import Result, SolveRecord
from boostopt.comparison.work_precision.precision_lines import PrecisionLines
from boostopt.comparison.work_precision.precision_points import CheapestRequest

CHEAPEST_PROFILE = "cheapest request"
"""The name, in place of a profile, of solves at the cheapest request that reaches a gap."""


@dataclass(frozen=True)
class WorkPrecision(PrecisionLines):
    """All solves of some programs by some solvers at several requests, and the cheapest request for each gap.

    Attributes
    ----------
    programs
        The programs by label: facts, digest, and under "about" the description that `describe_program` returns.
    settings
        The settings of the measurement; its gaps are the requests.
    environment, boostopt
        The processor, libraries and threads; the version of this package.
    runs
        One solve for each program, solver, request and repeat. The `tol` of a solve is its request.
    provenance
        The command, the date, the data and the versions.
    file
        The path of the file from which the results were read, "" for none.
    """

    DEFAULT_LABEL: ClassVar[str] = "tab:precision"

    def to_benchmark(self, gaps: float | Sequence[float] = GAPS) -> Benchmark:
        """Return a benchmark of the cheapest requests, for its tables, its profiles, its pictures and its report.

        Parameters
        ----------
        gaps
            One or several scaled gaps, in (0, 1). A solver that reaches a gap by no request fails there, with the solve
            that proves the smallest gap.
        """
        expected, advice = "one or more gaps in (0, 1)", "Pass gaps such as 1e-3 and 1e-6."
        targets = check_numbers("gaps", gaps, expected, lambda gap: 0.0 < gap < 1.0, advice)
        runs = [run for gap in targets for entry in self.cheapest(gap) for run in self._runs_at(entry)]
        settings = replace(self.settings, target_gaps=targets, profile_names=(CHEAPEST_PROFILE,))
        return Benchmark(self.programs, settings, self.environment, self.boostopt, tuple(runs), self.provenance)

    def _runs_at(self, entry: CheapestRequest) -> list[SolveRecord]:
        """Return the solves of a cheapest request as solves that had to reach the gap."""
        runs = [run for run in self.runs_of(entry.program) if run.backend == entry.backend]
        ran = [run for run in runs if run.ran]
        if not ran:
            return [replace(run, tol=entry.gap, profile=CHEAPEST_PROFILE) for run in runs if run.tol == runs[0].tol]
        best = min(ran, key=lambda run: run.scaled_gap)
        request = best.tol if entry.point is None else entry.point.request
        return [
            replace(
                run,
                tol=entry.gap,
                profile=CHEAPEST_PROFILE,
                result=(Result.REACHED if run.scaled_gap <= entry.gap else Result.FAILED).value,
                reason="" if run.scaled_gap <= entry.gap else entry.reason,
            )
            for run in ran
            if run.tol == request
        ]

    def table(self) -> Any:
        """Return the tables for consoles of rich: the cheapest requests, and all solves of each program."""
        from boostopt.comparison.rendering.precision_tables import PrecisionTable

        return PrecisionTable(self)

    def to_html(self) -> str:
        """Return the tables of the cheapest requests and of all solves as HTML."""
        from boostopt.comparison.rendering.precision_tables import html_tables

        return html_tables(self)

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_json(self) -> str:
        """Return everything as JSON; numbers that are not finite become null."""
        document = {
            "boostopt": self.boostopt,
            "machine": self.environment,
            "settings": self.settings.record(),
            "requests": list(self.requests),
            "programs": self._programs_with_bounds(),
            "contradicted": self.contradictory_programs,
            "points": [point.record() for point in self.points],
            "runs": [run.to_file_entry() for run in self.runs],
            "origin": self.provenance.to_json(),
        }
        return to_json_text(document)

    def _paper_table(self) -> Any:
        from boostopt.comparison.rendering.precision_tables import paper_table

        return paper_table(self)

    def _records(self) -> list[dict[str, Any]]:
        """Return each point with the version of boostopt and the environment."""
        return [{**point.record(), "boostopt": self.boostopt, **self.environment} for point in self.points]
