"""Random problems of known optima, with wrong answers in them: no certificate is false."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from convex_problems import cp
from false_answers import falsehoods, tell
from known_optima import TERMS, KnownProblem, affine_vector, known_problem, random_term, random_variables, value_of
from support.speeds import many

from boostopt import ProblemError, certify_problem

N_LIES = many(3, 2)
"""Number of wrong answers for each problem."""

SEEDS = [seed if seed < 1 else pytest.param(seed, marks=pytest.mark.thorough) for seed in range(60)]


def save_minimizer(item: KnownProblem) -> None:
    """Set the minimizer again."""
    for variable, value in zip(item.variables, item.minimizer, strict=True):
        variable.save_value(value)


def check_lies(item: KnownProblem | None, seed: int, n_lies: int = N_LIES) -> None:
    if item is None:
        return
    rng = np.random.default_rng(seed)
    for _ in range(n_lies):
        name = tell(item, rng)
        assert not falsehoods(certify_problem(item.problem), item), name


@pytest.mark.parametrize("seed", SEEDS)
def test_lies_about_mixed_problems_prove_nothing_false(seed: int) -> None:
    check_lies(known_problem(seed), seed)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", TERMS)
def test_lies_about_each_term_prove_nothing_false(name: str, seed: int) -> None:
    check_lies(known_problem(1000 + seed, [name]), seed)


@pytest.mark.thorough
def test_some_problems_have_an_optimum_that_a_solver_confirms() -> None:
    """Else the generator could refuse all, or build another optimum."""
    items = [item for item in map(known_problem, range(20)) if item is not None and item.problem.is_dcp()]
    assert len(items) >= 8
    for item in items[:4]:
        assert item.problem.solve("CLARABEL") == pytest.approx(item.optimum, rel=1e-5, abs=1e-5)


def nonconvex_problem(item: KnownProblem, rng: np.random.Generator) -> Any:
    """Return a problem with a concave objective, or with inequalities turned around; the minimizer stays feasible."""
    constraints = list(item.problem.constraints)
    if rng.random() < 0.5:
        constraints = [
            constraint.args[1] <= constraint.args[0] if np.any(dual) and dual.ndim < 2 else constraint
            for constraint, dual in zip(constraints, item.duals, strict=True)
            if type(constraint).__name__ == "Inequality"
        ]
    curved = item.curved if rng.random() < 0.3 else -item.curved
    return cp.Problem(cp.Minimize(curved + item.linear), constraints)


@pytest.mark.parametrize("seed", SEEDS)
def test_problems_that_are_not_convex_are_not_bounded_above_a_feasible_value(seed: int) -> None:
    item, rng = known_problem(seed), np.random.default_rng(seed)
    if item is None:
        return
    problem = nonconvex_problem(item, rng)
    value = float(problem.objective.args[0].value)
    for _ in range(N_LIES):
        tell(item, rng)
        certificate = certify_problem(problem)
        slack = 1e-8 * (1 + abs(value))
        assert certificate.status in ("bounded", "open")
        assert certificate.lower <= value + slack
        save_minimizer(item)


@pytest.mark.parametrize("seed", SEEDS)
def test_infeasible_problems_have_no_upper_end_and_unbounded_ones_no_lower_end(seed: int) -> None:
    rng = np.random.default_rng(seed)
    variables = random_variables(rng)
    term = random_term(str(rng.choice(list(TERMS))), variables, rng)
    u = affine_vector(variables, rng, 2)
    contradiction = [
        [cp.sum_squares(u) <= -0.01],
        [u[0] <= 0, u[0] >= 1e-9],
        [cp.norm(u) <= 1, u[0] + u[1] >= 1.5],
        [cp.exp(u[0]) <= 1, u[0] >= 1e-6],
        [cp.log(u[0]) >= 0, u[0] <= 0.999],
        [u == 1, u[0] == 1.5],
    ][rng.integers(6)]
    certificate = certify_problem(cp.Problem(cp.Minimize(term), contradiction))
    assert certificate.status in ("infeasible", "open") and certificate.point is None
    free = cp.Variable(2)
    free.save_value(rng.normal(size=2))
    ray = [[], [free[0] <= free[1]], [cp.norm(u) + free[0] - free[1] <= 100]][rng.integers(3)]
    problem = cp.Problem(cp.Minimize(term + 2 * free[0] - free[1]), ray)
    certificate = certify_problem(problem)
    assert certificate.status in ("unbounded", "open") and certificate.lower == -np.inf


def test_the_objects_of_the_caller_stay_as_they_are() -> None:
    rng = np.random.default_rng(5)
    A, bound = rng.normal(size=(4, 3)), np.ones(3)
    x = cp.Variable(3, bounds=[-bound, bound])
    parameter = cp.Parameter(4, value=rng.normal(size=4))
    problem = cp.Problem(cp.Minimize(cp.sum_squares(A @ x - parameter)), [cp.sum(x) == 1, cp.norm(x) <= 2])
    problem.solve("CLARABEL")
    x.save_value(np.array([5.0, -5.0, 0.5]))  # an infeasible point: auxiliary problems are solved
    previous_state = [A.copy(), bound.copy(), parameter.value.copy(), value_of(x), problem.value, problem.status]
    duals = [np.array(constraint.dual_value) for constraint in problem.constraints]
    certify_problem(problem)
    after = [A, bound, parameter.value, value_of(x), problem.value, problem.status]
    assert all(np.array_equal(first, second) for first, second in zip(previous_state, after, strict=True))
    assert all(
        np.array_equal(dual, constraint.dual_value) for dual, constraint in zip(duals, problem.constraints, strict=True)
    )


def test_changes_after_the_solve_count() -> None:
    """The certificate is of the problem as it is, and refutes the value of the problem that was."""
    parameter, A = cp.Parameter(value=1.0), np.eye(2)
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum(A @ x)), [x >= parameter])
    problem.solve("CLARABEL")
    parameter.value = 3.0
    certificate = certify_problem(problem)
    assert certificate.lower <= 6 <= certificate.upper + 1e-9
    assert certificate.lower > 4 and certificate.violation > 0.1
    parameter.value = None
    with pytest.raises(ProblemError, match="parameters must have values"):
        certify_problem(problem)
