"""The totally corrective update: the program over all hypotheses is solved in every round.

The answer of the solver is used only if it is at least as good as one corrective step, or, with bounded edges, as the
step of `coordinate_ascent_update`. Theory then bounds the number of rounds, however inaccurate the solver was.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Int
from boostopt.backends import get_backend
from boostopt.backends.base import Backend, Deadline, WarmStart
from boostopt.boosting.boosting_problem import Problem
from boostopt.boosting.column_pool import ColumnPool
from boostopt.boosting.run.run_state import State
from boostopt.boosting.stabilization import WorkingSet, select_working_set
from boostopt.boosting.updates.base import INFEASIBLE, Update, UpdateContext
from boostopt.boosting.updates.convex_combination_update import ShortStep
from boostopt.boosting.updates.coordinate_ascent_update import CoordinateStep
from boostopt.programs.program import Program
from boostopt.rows.margin_matrix import MarginMatrix
from boostopt.solving.solution import Solution
from boostopt.solving.solve import solve

ROUNDING_TOL = 4.0 * float(np.finfo(np.float64).eps)
"""The largest difference of two equal values of D by rounding, over max(1, |D|)."""

FIRST = "interior"
"""The backend that runs alone if a lower bound is enough, or if its gap cannot be distinguished from rounding."""

CERTIFIED = 1e-10
"""The smallest target gap for every backend: rounding may exclude a smaller gap."""

POLISH_GAP = 1e-8
"""The target gap of the program over all hypotheses at the end of a run."""


class TotallyCorrective(Update):
    """The program over all hypotheses, solved with a warm start from the last solution.

    Attributes
    ----------
    backend
        The backend that solves the programs.
    idle
        The multiple of the gap below which hypotheses without weight are idle: see `Stabilization`.
    """

    backend: str | Backend
    idle: float

    def __init__(self, problem: Problem, backend: str | Backend, idle: float = math.inf) -> None:
        super().__init__(problem)
        self.backend, self.idle = backend, idle
        # The working set and its margins, to which columns are appended.
        self._subset: tuple[Int[Array, " k"], MarginMatrix] | None = None

    def warm_start(self, state: State, pool: ColumnPool, tol: float, deadline: Deadline) -> State:
        u = pool.margins.column(pool.t - 1)
        context = UpdateContext(replace(state, w=np.zeros(0)), pool, pool.t - 1, u, tol, deadline)
        objective = self.problem.objective
        if objective is None or self.problem.edge_function.edge_bound is None:
            return replace(self._state_from(context, self._solve(self._program(context, None), context), None), round=0)
        # The bound of the edges is unknown before the first answer; these weights belong to its final value.
        solution = solve(objective.program(pool.margins), "auto", tol, deadline.time_limit)
        w, d = solution.certificate.w, self.problem.F.project(solution.certificate.d)
        return replace(state, w=w, m=pool.margins.margins(w), d=d, dual_objective=self.problem.least_value, start=None)

    def __call__(self, context: UpdateContext) -> State:
        working_set = (
            select_working_set(context.state, context.pool, self.idle) if self.problem.objective is not None else None
        )
        if working_set is not None:
            context = replace(context, state=replace(context.state, start=working_set.start, active=working_set.active))
        solution = self._solve(self._program(context, working_set), context)
        state = self._state_from(context, solution, working_set)
        if state.stop_reason:
            return state
        if not self.problem.smooth:
            # Without an answer, for instance after the deadline, the former weights are still as good as before.
            worse = (
                self.problem.objective is not None and state.dual_objective < context.state.dual_objective - context.tol
            )
            return replace(context.state, round=state.round, w=context.weights) if worse else state
        step = self._short_step(context)
        # A difference by rounding is no improvement: only the solver can still improve such weights.
        solver_value = solution.certificate.lower + solution.certificate.slack
        if step is None or solver_value >= step.dual_objective - ROUNDING_TOL * max(1.0, abs(step.dual_objective)):
            return state
        if step.certificate is None:
            certificate = self._program(context, None).certify(w=step.w)
            # A step without an improvement does not end the run: the next solve has a smaller tolerance.
            step = replace(step, dual_objective=certificate.lower, certificate=certificate, stop_reason="")
        return replace(step, start=WarmStart(w=step.w), active=None)

    def _solve(self, program: Program, context: UpdateContext) -> Solution:
        """Solve a program, with one backend alone if this is enough."""
        state, start = context.state, context.state.start
        has_edge_bound, is_fine = program.edge_function.edge_bound is not None, context.tol < CERTIFIED
        if self.problem.smooth and (has_edge_bound or is_fine) and self._first_backend_suffices(program):
            first = solve(program, FIRST, context.tol, context.deadline.time_limit, start=start)
            # If no distribution satisfies the edge bound, or almost none, no backend finds an upper bound. Theory needs
            # an increase of the lower bound only.
            has_improved = (
                has_edge_bound and first.certificate.lower >= state.dual_objective + 0.5 * self.problem.epsilon**2
            )
            if has_improved or (is_fine and first.certificate.scaled_gap <= CERTIFIED):
                return first
        return solve(program, self.backend, context.tol, context.deadline.time_limit, start=start)

    def _first_backend_suffices(self, program: Program) -> bool:
        """Return whether the first backend may run before all others."""
        return self.backend == "auto" and bool(get_backend(FIRST).takes(program))

    def _program(self, context: UpdateContext, working_set: WorkingSet | None) -> Program:
        """Return the program of a round over its working set."""
        U = context.pool.margins if working_set is None else self._working_margins(context.pool, working_set.active)
        return self.problem.program(U, context.state.progress(self.problem, context.newest_margins))

    def _working_margins(self, pool: ColumnPool, active: Int[Array, " k"]) -> MarginMatrix:
        """Return the margins of the working set; columns are appended to those of the last round if possible."""
        previous, margins = self._subset or (active[:0], None)
        if margins is None or not np.array_equal(previous, active[: len(previous)]):
            previous, margins = active, pool.margins.take_columns(active)
        for q in active[len(previous) :].tolist():
            margins = margins.append(pool.margins.column(q))
        self._subset = active, margins
        return margins

    def polish(self, state: State, pool: ColumnPool, deadline: Deadline) -> State:
        """Return the state with the last program solved to `POLISH_GAP`, unless this lowers the soft margin.

        If the first backend does not reach the gap, no other backend is tried: the stopping rule holds already, and a
        first-order method may take longer than all rounds.
        """
        certificate = state.certificate
        if pool.t == 0 or not self.problem.smooth or self.problem.edge_function.edge_bound is not None:
            return state
        if deadline.passed or (certificate is not None and certificate.scaled_gap <= POLISH_GAP):
            return state
        u = pool.margins.column(pool.t - 1)
        start = state.start if state.active is None else WarmStart(d=state.d, w=state.w)
        context = UpdateContext(replace(state, start=start), pool, pool.t - 1, u, POLISH_GAP, deadline)
        program = self._program(context, None)
        backend = FIRST if self._first_backend_suffices(program) else self.backend
        solution = solve(program, backend, POLISH_GAP, deadline.time_limit, start=start)
        finer = replace(self._state_from(context, solution, None), round=state.round).with_soft_margin(
            self.problem.objective, pool
        )
        worse = finer.dual_objective < state.dual_objective or finer.soft_margin < state.soft_margin - POLISH_GAP
        return state if worse else finer

    def _state_from(self, context: UpdateContext, solution: Solution, working_set: WorkingSet | None) -> State:
        """Return the state with the weights of a solution, certified over all hypotheses."""
        certificate, w = solution.certificate, solution.w
        if working_set is not None:
            w = np.zeros(context.pool.t)
            w[working_set.active] = solution.w
            certificate = self._program(context, None).certify(certificate.d, w)
        m = context.pool.margins.margins(w)
        conjugate = self.problem.conjugate_at_margins(m)
        return replace(
            context.state,
            round=context.state.round + 1,
            w=w,
            m=m,
            d=conjugate.d if self.problem.smooth else self._distribution(solution),
            dual_objective=certificate.lower,
            certificate=certificate,
            start=solution.start,
            active=None if working_set is None else working_set.active,
            backend=solution.backend,
            stop_reason=INFEASIBLE if certificate.infeasible else "",
        )

    def _distribution(self, solution: Solution) -> ExampleVector:
        """Return the d of the solver, projected if it lies outside the domain. Results then depend on the solver."""
        best = solution.best
        return solution.d if best is None or best.d is None else self.problem.F.project(best.d)

    def _short_step(self, context: UpdateContext) -> State | None:
        """Return the state after a corrective step; None if G supports no such step."""
        objective, G = self.problem.objective, self.problem.edge_function
        if objective is None:
            return None
        if G.edge_bound is not None:
            return CoordinateStep(self.problem)(context)
        return ShortStep(self.problem)(context) if G == objective.G else None
