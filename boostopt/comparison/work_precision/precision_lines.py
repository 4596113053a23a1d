"""Work-precision lines: solves of some programs by some solvers at several requests, and what each gap costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from boostopt._utils.validation import check_tolerance
from boostopt.comparison.solve_results import MeasuredSolves
from boostopt.comparison.work_precision.precision_points import (
    CheapestRequest,
    PrecisionPoint,
    cheapest_point,
    points_of_runs,
)
from boostopt.errors import unknown_name


@dataclass(frozen=True, repr=False)
class PrecisionLines(MeasuredSolves):
    """Solves at several requests, as the lines of a work-precision diagram; the `tol` of a solve is its request."""

    @property
    def requests(self) -> tuple[float, ...]:
        """The requests, the coarsest first."""
        return tuple(sorted(self.settings.target_gaps, reverse=True))

    @property
    def backends(self) -> tuple[str, ...]:
        """The names of the solvers, as they were named."""
        return tuple(dict.fromkeys(run.backend for run in self.runs))

    @cached_property
    def points(self) -> tuple[PrecisionPoint, ...]:
        """The points of all lines: program by program, solver by solver, the coarsest request first."""
        return points_of_runs(self.runs)

    def line(self, program: str, backend: str) -> tuple[PrecisionPoint, ...]:
        """Return the points of one solver on one program, the coarsest request first.

        Raises
        ------
        OptionError
            There is no such program or solver.
        """
        if program not in self.programs:
            raise unknown_name("program", program, self.programs)
        if backend not in self.backends:
            raise unknown_name("solver", backend, self.backends)
        return tuple(point for point in self.points if (point.program, point.backend) == (program, backend))

    def cheapest(self, gap: float) -> tuple[CheapestRequest, ...]:
        """Return the cheapest request by which each solver reaches a certified gap on each program.

        The cheapest request needs the fewest iterations, or the fewest seconds in the solver if it does not count its
        iterations. Of requests that need equally many, the coarsest one counts.

        Parameters
        ----------
        gap
            The scaled gap, in (0, 1).
        """
        gap = check_tolerance("gap", gap)
        return tuple(self._cheapest(program, backend, gap) for program in self.programs for backend in self.backends)

    def _cheapest(self, program: str, backend: str, gap: float) -> CheapestRequest:
        """Return the cheapest request of one solver on one program."""
        points = self.line(program, backend)
        point = cheapest_point(points, gap)
        if point is not None:
            return CheapestRequest(program, backend, gap, point)
        if not points:
            runs = [run for run in self.runs_of(program) if run.backend == backend]
            return CheapestRequest(program, backend, gap, None, runs[0].reason if runs else "not run")
        best = min(point.scaled_gap for point in points)
        proved = f"no request proves more than {best:.1e}" if math.isfinite(best) else "no request proves a gap"
        return CheapestRequest(program, backend, gap, None, proved)
