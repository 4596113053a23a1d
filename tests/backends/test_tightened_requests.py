"""Requests of certified solves: the target gap itself first, then tens smaller, only while they may help."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from support.problems import noisy_stumps, reference_erlpboost

from boostopt import Program, compare, get_formulation, solve
from boostopt.backends.base import Deadline, Task
from boostopt.backends.cvxpy.cvxpy_backend import MAX_ITERATION_RATIO, CvxpyBackend
from boostopt.backends.cvxpy.solver_options import SOLVERS


@cache
def program() -> Program:
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], size=(150, 20))
    return get_formulation("erlpboost").bind(np.where(rng.random(signs.shape) < 0.3, 1.0, signs), nu=15.0, eta=200.0)


def attempts(solver: str, tol: float, subject: Program | None = None) -> Iterator[Any]:
    task = Task(subject or program(), tol, Deadline.after(None))
    for attempt in CvxpyBackend(solver).attempts(task):
        yield attempt
        if task.gap(attempt.d, attempt.w) <= tol:
            return


def requests(solver: str, tol: float) -> list[float]:
    name = SOLVERS[solver].tolerances[0]
    return [attempt.options[name] for attempt in attempts(solver, tol)]


@pytest.mark.parametrize("solver", ["SCS", "CLARABEL"])
@pytest.mark.parametrize("tol", [1e-1, 1e-2, 1e-3, 1e-4])
def test_the_first_request_is_the_target_gap(solver: str, tol: float) -> None:
    assert requests(solver, tol)[0] == tol


@pytest.mark.parametrize("backend", ["cvxpy:scs", "cvxpy:clarabel"])
def test_a_coarser_gap_takes_fewer_iterations(backend: str) -> None:
    coarse, fine = (solve(program(), backend, tol).iterations or 0 for tol in (1e-3, 1e-8))
    assert 0 < coarse < fine < 20_000


def test_the_next_requests_are_tens_smaller_and_in_the_same_form() -> None:
    sequence = list(attempts("SCS", 1e-8))
    forms = {attempt.form for attempt in sequence}
    values = [attempt.options["eps_abs"] for attempt in sequence]
    assert len(sequence) > 1 and forms == {SOLVERS["SCS"].schedule[0].form.name}
    ratios = [np.log10(coarse / fine) for coarse, fine in pairwise(values)]
    assert all(ratio == pytest.approx(round(ratio)) and 1 <= round(ratio) <= 3 for ratio in ratios)


def test_iterations_of_a_tightened_request_are_limited_by_those_of_the_one_before() -> None:
    first, second, *_ = attempts("SCS", 1e-8)
    assert second.options["max_iters"] <= max(MAX_ITERATION_RATIO * first.iterations, 1_000)


def test_a_request_that_the_solver_does_not_reach_is_not_tightened() -> None:
    backend, task = CvxpyBackend("SCS"), Task(program(), 1e-3, Deadline.after(None), options={"max_iters": 3})
    sequence = list(backend.attempts(task))
    assert not any(attempt.claims for attempt in sequence)
    values = [attempt.options["eps_abs"] for attempt in sequence if attempt.form == sequence[0].form]
    assert values[0] == 1e-3 and len(values) == 2  # and the one of the schedule with more iterations


def test_simplex_methods_keep_their_requests() -> None:
    linear = get_formulation("lpboost").bind(noisy_stumps(60, 8), nu=12.0)
    first = next(attempts("HIGHS", 1e-2, linear))
    assert first.options["primal_feasibility_tolerance"] == 1e-7


def test_a_cvxpy_problem_is_first_asked_for_the_target_gap() -> None:
    x = cp.Variable(3)
    constraints: list[Any] = [cp.sum(x) == 1]
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - np.arange(3.0))), constraints)
    (row,) = compare(problem, "scs", 1e-2).rows
    assert row.log[0].options is not None and row.log[0].options["eps_abs"] == 1e-2
    assert row.has_target_gap


def test_the_target_gap_is_reached_at_each_tolerance() -> None:
    for tol in (1e-1, 1e-3, 1e-6, 1e-8):
        for backend in ("cvxpy:scs", "cvxpy:clarabel"):
            assert solve(reference_erlpboost(), backend, tol).certificate.scaled_gap <= tol
