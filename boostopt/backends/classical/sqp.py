"""Sequential quadratic programming in the example weights: entropy programs for solvers of quadratic programs.

At weights d_k, the method replaces the regularizer by its second-order model and solves the quadratic program

    minimize    sum_n f_n'(d_k) (d - d_k)_n + (1/2) f_n''(d_k) (d - d_k)_n^2 + G(Uᵀd)
    subject to  lower <= d <= upper, and sum d = 1 on the simplex

with G as its linear rows (and its quadratic) [Warmuth, Glocer, Raetsch 2007; Glocer 2009, appendix A]. The multipliers
of the rows of G are the hypothesis weights of the step. The next point is the best point of a line search towards the
solution, or d(w) if the objective is smaller there.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import ExampleVector, HypothesisVector
from boostopt.backends.base import (
    MAX_ENTRIES_WITHIN_LIMIT,
    Attempt,
    Backend,
    Capability,
    Deadline,
    Task,
    check_epigraph_support,
    package_version,
)
from boostopt.backends.classical.quadratic_programs import DEFAULT, SOLVERS, QuadraticAnswer, QuadraticProgram, Solver
from boostopt.backends.external_exceptions import ExternalError, call_external, raise_caught_interrupt
from boostopt.backends.incumbent_certificate import Incumbent
from boostopt.backends.isolation import worker_main_loop as worker_module
from boostopt.backends.isolation.isolated_backend import isolate_backend
from boostopt.errors import SolverNotFound, require_not_none, unknown_name
from boostopt.functions.edge_functions.base import Epigraph
from boostopt.functions.regularizers.base import Pointwise
from boostopt.programs.program import Program

NAME = "sqp"

BOX_BOUND_DISTANCE = 1e-8
"""Distance of a weight to its box bounds for slopes and curvatures, as a fraction of the box.

The slopes and curvatures of an entropy are infinite at 0. Smaller distances make the quadratic programs harder; larger
ones save a step or two.
"""

MAX_STEPS = 100
"""Maximum number of steps; successful runs took up to 20."""

PATIENCE = 8
"""Maximum number of steps in a row without progress (see `PROGRESS`)."""

PROGRESS = 1e-2
"""Fraction of the gap by which a step must narrow the interval to count as progress."""

MAX_HALVINGS = 30
"""Maximum number of points of the line search."""

ACCURACY_FRACTION = 1e-2
"""Tolerance of the quadratic programs, as a fraction of the target gap."""

MAX_SECONDS_WITHOUT_LIMIT = 600.0
"""Time limit, if the task has none, for a solver that can kill its process, because such solvers have hung."""

PERTURBATION_FRACTION = 0.1
"""Length of a step towards the minimum of F after an answer without a step, as a fraction of the distance."""

MIN_TOLERANCE = 1e-10
"""Smallest tolerance of a quadratic program."""


@dataclass(frozen=True)
class QuadraticModel:
    """The quadratic program of one step from d, in (d' - d) / scale and the variables of the epigraph of G.

    The scale 1 / sqrt(f'') makes the quadratic of an entropy the identity. Without it, the curvatures differ by the
    eight orders of magnitude of `BOX_BOUND_DISTANCE`, and solvers of quadratic programs fail.

    Attributes
    ----------
    F, G
        The terms of the primal.
    A
        Edges of the rows of G, shape (k, N), sparse.
    tilt
        U times the slope of G, shape (N,).
    d
        Weights inside the box, shape (N,).
    """

    F: Pointwise
    G: Epigraph
    A: Any
    tilt: ExampleVector
    d: ExampleVector

    @cached_property
    def curvatures(self) -> ExampleVector:
        """Curvatures at d, 0 for weights that cannot move."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.F.upper > self.F.lower, self.F.curvatures(self.d), 0.0)

    @cached_property
    def slopes(self) -> ExampleVector:
        """Slopes at d, 0 for weights that cannot move."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.F.upper > self.F.lower, self.F.derivatives(self.d), 0.0)

    @cached_property
    def scale(self) -> ExampleVector:
        """The scale of each variable, shape (N,)."""
        return 1.0 / np.sqrt(np.where(self.curvatures > 0, self.curvatures, 1.0))

    @cached_property
    def program(self) -> QuadraticProgram:
        """The quadratic program: rows of G, then sum d = 1."""
        F, G, s = self.F, self.G, self.scale
        row_values = self.A @ self.d
        sum_change = np.full(int(F.on_simplex), 1.0 - float(self.d.sum()))
        d_columns = scipy.sparse.vstack([self.A @ scipy.sparse.diags_array(s), np.tile(s, (len(sum_change), 1))])
        x_columns = scipy.sparse.vstack([G.B, scipy.sparse.csr_array((len(sum_change), len(G.g)))])
        no_bound = np.full(len(G.g), np.inf)
        return QuadraticProgram(
            P=scipy.sparse.block_diag([scipy.sparse.diags_array(self.curvatures * s**2), G.Q], format="csc"),
            q=np.concatenate([s * (self.slopes + self.tilt), G.g]),
            A=scipy.sparse.hstack([d_columns, x_columns], format="csc"),
            low=np.concatenate([np.where(G.equality, G.b, -np.inf) - row_values, sum_change]),
            high=np.concatenate([G.b - row_values, sum_change]),
            lower=np.concatenate([(F.lower - self.d) / s, -no_bound]),
            upper=np.concatenate([(F.upper - self.d) / s, no_bound]),
        )

    def weights_from(self, answer: QuadraticAnswer) -> tuple[ExampleVector, HypothesisVector]:
        """Return the weights d and w of an answer, without corrections."""
        w = self.G.weights(answer.y[: len(self.G.b)]) + self.G.slope
        return self.d + self.scale * answer.x[: len(self.d)], w


@dataclass(frozen=True)
class SequentialQuadratic(Backend):
    """Sequential quadratic programming.

    Parameters
    ----------
    solver
        The solver of the quadratic programs, one of `quadratic_programs.SOLVERS`.
    in_this_process
        Whether a solver that can kill its process runs in this process all the same.
    """

    solver: str = DEFAULT
    in_this_process: bool = False

    @property
    def name(self) -> str:
        return NAME if self.solver == DEFAULT else f"{NAME}:{self.solver}"

    @property
    def version(self) -> str:
        version = package_version(SOLVERS[self.solver].package)
        return version and f"{self.solver} {version}"

    def takes(self, program: Program) -> Capability:
        return check_epigraph_support(self.name, program)

    def keeps_limit(self, program: Program) -> bool:
        N, t = program.margins.shape
        return self._needs_worker_process or N * t <= MAX_ENTRIES_WITHIN_LIMIT

    @property
    def _needs_worker_process(self) -> bool:
        """True if the solver runs in a worker process, which ends at the limit; a worker process needs no other one."""
        return (
            SOLVERS[self.solver].may_kill_process and not self.in_this_process and not worker_module.is_worker_process
        )

    def attempts(self, task: Task) -> Iterator[Attempt]:
        if self._needs_worker_process:
            limited_task = (
                task
                if task.deadline.end_time is not None
                else replace(task, deadline=Deadline.after(MAX_SECONDS_WITHOUT_LIMIT))
            )
            yield from isolate_backend(replace(self, in_this_process=True)).attempts(limited_task)
            return
        run = _SqpRun(task, SOLVERS[self.solver].solve)
        while True:
            start_time = time.perf_counter()
            status = run.run()
            yield Attempt(
                form="primal",
                options={"accuracy": run.accuracy},
                status=status,
                claims=run.best.goal_reached,
                d=run.best.d,
                w=run.best.w,
                iterations=run.steps,
                times={"solve": time.perf_counter() - start_time},
                is_continuation=True,
            )
            if not run.best.tighten_goal():
                return


class _SqpRun:
    """The steps of one attempt."""

    def __init__(self, task: Task, solve: Solver) -> None:
        program = task.program
        F = require_not_none(program.regularizer.pointwise(), "a program that this backend takes")
        G = require_not_none(program.edge_function.epigraph(program.margins.t), "a program that this backend takes")
        self.program, self.task, self.solve = program, task, solve
        self.accuracy = max(ACCURACY_FRACTION * task.tol, MIN_TOLERANCE)
        self.best, self.steps, self._penalty = Incumbent(task), 0, 0.0
        self._next_point: ExampleVector | None = None
        transposed = scipy.sparse.csr_array(program.margins.to_cvxpy_constant()).T
        A: Any = transposed if G.A is None else scipy.sparse.csr_array(G.A) @ transposed
        tilt = program.margins.margins(G.slope)
        distance = BOX_BOUND_DISTANCE * (F.upper - F.lower)
        self._model = lambda d: QuadraticModel(F, G, A, tilt, np.clip(d, F.lower + distance, F.upper - distance))

    def run(self) -> str:
        """Take steps until the target gap is reached or progress stops; return the reason for the end."""
        stalled, status = 0, "not started"
        d = self._initial_point() if self._next_point is None else self._next_point
        while not self.best.goal_reached:
            if self.task.deadline.passed:
                return f"time limit; last step: {status}"
            if self.steps == MAX_STEPS or stalled == PATIENCE:
                return f"{'step limit' if stalled < PATIENCE else 'no progress'}; last step: {status}"
            self.steps += 1
            model, previous_gap = self._model(d), self.best.gap
            answer = self._solve_quadratic(model.program)
            solution, w = model.weights_from(answer)
            status, has_solution = answer.status, bool(np.isfinite(solution).all())
            if not has_solution and not np.isfinite(w).all():
                return f"a step failed: {status}"
            self.best.add(solution if has_solution else None, w)
            if not has_solution and not self.best.goal_reached:
                return f"a step has no solution: {status}"
            if has_solution:
                has_step = bool(answer.x[: len(d)].any())
                d = self._line_search(d, solution, w) if has_step else self._perturbed_point(d)
            self._next_point = d
            stalled = 0 if self.best.gap < (1.0 - PROGRESS) * previous_gap else stalled + 1
        return f"gap reached; last step: {status}"

    def _solve_quadratic(self, program: QuadraticProgram) -> QuadraticAnswer:
        """Return the answer of the solver. An exception becomes the status of an answer without numbers."""
        try:
            answer = call_external(lambda: self.solve(program, self.accuracy, self.task.deadline.remaining))
        except ExternalError as failure:
            return QuadraticAnswer.from_failure(program, str(failure))
        raise_caught_interrupt(answer.status)
        return answer

    def _initial_point(self) -> ExampleVector:
        """Return the first point: the better of d and d(w) of the warm start; without a start, the minimizer of F."""
        F, start = self.program.regularizer, self.task.start
        if start is None:
            return F.project(None)
        w = start.weights(self.program.margins.t)
        starts = [None if start.d is None else F.project(start.d), None if w is None else self._best_response(w)]
        return min((d for d in starts if d is not None), key=self._merit, default=F.project(None))

    def _line_search(self, d: ExampleVector, solution: ExampleVector, w: HypothesisVector) -> ExampleVector:
        """Return the best point of a line search from d to the solution of the step, or d(w) if d(w) is better."""
        self._penalty = max(self._penalty, 2.0 * float(np.abs(w).max()))
        target, best_response = self.program.regularizer.project(solution), self._best_response(w)
        best, value = d, self._merit(d)
        for halving in range(MAX_HALVINGS):
            point = d + 0.5**halving * (target - d)
            point_value = self._merit(point)
            if (
                point_value >= value and best is not d
            ):  # The merit is convex along the line, so that all further points are worse.
                break
            best, value = (point, point_value) if point_value < value else (best, value)
        return best_response if best_response is not None and self._merit(best_response) < value else best

    def _perturbed_point(self, d: ExampleVector) -> ExampleVector:
        """Return a point near d, at which a solver may find a step although it found none at d."""
        F = self.program.regularizer
        return F.project(d + PERTURBATION_FRACTION * (F.project(None) - d))

    def _best_response(self, w: HypothesisVector) -> ExampleVector | None:
        """Return d(w); None for an invalid w."""
        feasible = self.program.edge_function.project(w)
        margins = self.program.margins
        return None if feasible is None else self.program.regularizer.conjugate_at(-margins.margins(feasible)).d

    def _merit(self, d: ExampleVector) -> float:
        """Return the primal value, with an exact penalty for edges outside the domain of G: above the multipliers."""
        e, G = self.program.margins.edges(d), self.program.edge_function
        value, domain = self.program.regularizer.value(d) + G.value(e), G.domain(len(e))
        if domain is None:
            return value
        image = domain.image(e)
        return value + self._penalty * float(np.maximum(np.maximum(image - domain.high, domain.low - image), 0).sum())


def installed_names() -> list[str]:
    """Return the names of the backends with an installed solver of quadratic programs, without loading the solvers."""
    return [SequentialQuadratic(name).name for name, solver in SOLVERS.items() if find_spec(solver.module)]


def open_sqp(name: str) -> Backend:
    """Return the backend "sqp" or "sqp:<solver>".

    Raises
    ------
    OptionError
        There is no such solver.
    SolverNotFound
        The solver is not installed.
    """
    solver = name.removeprefix(NAME).removeprefix(":") or DEFAULT
    if solver not in SOLVERS or name not in (NAME, f"{NAME}:{solver}"):
        raise unknown_name("backend", name, [NAME, *(f"{NAME}:{solver_name}" for solver_name in SOLVERS)])
    if find_spec(SOLVERS[solver].module) is None:
        raise SolverNotFound(
            f"expected an installed solver of quadratic programs; {solver} is not. "
            f"Install {SOLVERS[solver].package}, or use one of {', '.join(installed_names()) or 'none'}."
        )
    return SequentialQuadratic(solver)
