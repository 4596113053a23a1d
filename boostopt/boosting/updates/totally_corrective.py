"""The totally corrective update: the program over all hypotheses is solved in every round.

Its answer is kept only if it is at least as good as one corrective step, or as the step of `coordinate_ascent` where
edges are bounded: theory then bounds the rounds, however inaccurate the solver was.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from boostopt._utils.array_types import Array, Float, Int
from boostopt.backends import get_backend
from boostopt.backends.base import Backend, Deadline, WarmStart
from boostopt.boosting.column_pool import ColumnPool
from boostopt.boosting.problem import Problem
from boostopt.boosting.run.state import State
from boostopt.boosting.stabilization import WorkingSet, select_working_set
from boostopt.boosting.updates.base import INFEASIBLE, Update, UpdateContext
from boostopt.boosting.updates.coordinate_ascent import CoordinateStep
from boostopt.boosting.updates.corrective import ShortStep
from boostopt.programs.program import Program
from boostopt.rows.margin_matrix import Margins
from boostopt.solving.solution import Solution
from boostopt.solving.solve import solve

ROUNDING_TOL = 4.0 * float(np.finfo(np.float64).eps)
"""By how much two values of D, over max(1, |D|), may differ by rounding where they are equal."""

FIRST = "interior"
"""The backend tried alone where a lower bound is enough, or an answer that no certificate tells from the optimum."""

CERTIFIED = 1e-10
"""Scaled gap that every backend may be asked for: below it rounding may forbid a narrower certificate."""

POLISH_GAP = 1e-8
"""Scaled gap to which the program over all hypotheses is solved at the end."""


class TotallyCorrective(Update):
    """The program over all hypotheses, solved anew from where the last one ended."""

    backend: str | Backend
    idle: float

    def __init__(self, problem: Problem, backend: str | Backend, idle: float = math.inf) -> None:
        super().__init__(problem)
        self.backend, self.idle = backend, idle
        # Margins of the hypotheses in the program, which grow by a column at a time.
        self._subset: tuple[Int[Array, " k"], Margins] | None = None

    def warm_start(self, state: State, collected: ColumnPool, tol: float, deadline: Deadline) -> State:
        u = collected.margins.column(collected.t - 1)
        move = UpdateContext(replace(state, w=np.zeros(0)), collected, collected.t - 1, u, tol, deadline)
        goal = self.problem.objective
        if goal is None or self.problem.edge_function.edge_bound is None:
            return replace(self._state_from(move, self._solve(self._program(move, None), move), None), round=0)
        # The bound of the edges is not known before the oracle has answered; these weights are where it will end.
        solution = solve(goal.program(collected.margins), "auto", tol, deadline.time_limit)
        w, d = solution.certificate.w, self.problem.F.project(solution.certificate.d)
        return replace(state, w=w, m=collected.margins.margins(w), d=d, value=self.problem.least_value, start=None)

    def __call__(self, move: UpdateContext) -> State:
        among = select_working_set(move.state, move.pool, self.idle) if self.problem.objective is not None else None
        if among is not None:
            move = replace(move, state=replace(move.state, start=among.start, active=among.active))
        solution = self._solve(self._program(move, among), move)
        state = self._state_from(move, solution, among)
        if state.stuck:
            return state
        if not self.problem.smooth:
            # Without an answer, out of time: the weights that there were are as good as they were.
            worse = self.problem.objective is not None and state.value < move.state.value - move.tol
            return replace(move.state, round=state.round, w=move.weights) if worse else state
        step = self._short_step(move)
        # What differs by rounding is no better: only the solver sees what is still gained there.
        reached = solution.certificate.lower + solution.certificate.slack
        if step is None or reached >= step.value - ROUNDING_TOL * max(1.0, abs(step.value)):
            return state
        if step.certificate is None:
            certificate = self._program(move, None).certify(w=step.w)
            # No step upwards is no end: the next solve is a finer one.
            step = replace(step, value=certificate.lower, certificate=certificate, stuck="")
        return replace(step, start=WarmStart(w=step.w), active=None)

    def _solve(self, program: Program, move: UpdateContext) -> Solution:
        """Return an answer to a program, by one backend alone where that is enough."""
        state, start = move.state, move.state.start
        bounded, fine = program.edge_function.edge_bound is not None, move.tol < CERTIFIED
        if self.problem.smooth and (bounded or fine) and self._first_backend_suffices(program):
            first = solve(program, FIRST, move.tol, move.deadline.time_limit, start=start)
            # Near the bound that no distribution meets, no upper bound is found by any backend: what theory asks for is
            # that the lower one rises.
            risen = bounded and first.certificate.lower >= state.value + 0.5 * self.problem.epsilon**2
            if risen or (fine and first.certificate.scaled_gap <= CERTIFIED):
                return first
        return solve(program, self.backend, move.tol, move.deadline.time_limit, start=start)

    def _first_backend_suffices(self, program: Program) -> bool:
        """Whether one backend alone may be asked before the others."""
        return self.backend == "auto" and bool(get_backend(FIRST).takes(program))

    def _program(self, move: UpdateContext, working_set: WorkingSet | None) -> Program:
        """Return the program of a round, over the hypotheses that are in it."""
        U = move.pool.margins if working_set is None else self._working_margins(move.pool, working_set.active)
        return self.problem.program(U, move.state.progress(self.problem, move.newest_margins))

    def _working_margins(self, collected: ColumnPool, active: Int[Array, " k"]) -> Margins:
        """Return the margins of some hypotheses, those of the last round with columns appended where that serves."""
        known, margins = self._subset or (active[:0], None)
        if margins is None or not np.array_equal(known, active[: len(known)]):
            known, margins = active, collected.margins.take_columns(active)
        for q in active[len(known) :].tolist():
            margins = margins.append(collected.margins.column(q))
        self._subset = active, margins
        return margins

    def polish(self, state: State, collected: ColumnPool, deadline: Deadline) -> State:
        """Return the state with its last program solved to `POLISH_GAP`, if its soft margin is no worse for that.

        Where the first backend stops short of that, no other is asked: the rounds have ended as their rule wants, and
        a first-order method may take longer than all of them.
        """
        certificate = state.certificate
        if collected.t == 0 or not self.problem.smooth or self.problem.edge_function.edge_bound is not None:
            return state
        if deadline.passed or (certificate is not None and certificate.scaled_gap <= POLISH_GAP):
            return state
        u = collected.margins.column(collected.t - 1)
        start = state.start if state.active is None else WarmStart(d=state.d, w=state.w)
        move = UpdateContext(replace(state, start=start), collected, collected.t - 1, u, POLISH_GAP, deadline)
        program = self._program(move, None)
        backend = FIRST if self._first_backend_suffices(program) else self.backend
        solution = solve(program, backend, POLISH_GAP, deadline.time_limit, start=start)
        finer = replace(self._state_from(move, solution, None), round=state.round).with_soft_margin(
            self.problem.objective, collected
        )
        worse = finer.value < state.value or finer.soft_margin < state.soft_margin - POLISH_GAP
        return state if worse else finer

    def _state_from(self, move: UpdateContext, solution: Solution, among: WorkingSet | None) -> State:
        """Return the state at the solver's answer, certified over all hypotheses."""
        certificate, w = solution.certificate, solution.w
        if among is not None:
            w = np.zeros(move.pool.t)
            w[among.active] = solution.w
            certificate = self._program(move, None).certify(certificate.d, w)
        m = move.pool.margins.margins(w)
        at = self.problem.conjugate_at_margins(m)
        return replace(
            move.state,
            round=move.state.round + 1,
            w=w,
            m=m,
            d=at.d if self.problem.smooth else self._distribution(solution),
            value=certificate.lower,
            certificate=certificate,
            start=solution.start,
            active=None if among is None else among.active,
            backend=solution.backend,
            stuck=INFEASIBLE if certificate.infeasible else "",
        )

    def _distribution(self, solution: Solution) -> Float[Array, " N"]:
        """Return the solver's own d, moved only if it lies outside the domain: results depend on the solver."""
        best = solution.best
        return solution.d if best is None or best.d is None else self.problem.F.project(best.d)

    def _short_step(self, move: UpdateContext) -> State | None:
        """Return the state after a corrective step; None where there is none for G."""
        goal, G = self.problem.objective, self.problem.edge_function
        if goal is None:
            return None
        if G.edge_bound is not None:
            return CoordinateStep(self.problem)(move)
        return ShortStep(self.problem)(move) if G == goal.G else None
