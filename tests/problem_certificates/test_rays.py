"""Unbounded problems along rays that change atoms: asymptotic slopes prove them, and nothing false (theorem P10)."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from convex_problems import cp
from support.unbounded_problems import BOUNDED, UNBOUNDED, leave_point

from boostopt import certify_problem, verify
from boostopt.problem_certificates import unbounded_rays
from boostopt.problem_certificates.arithmetic.balls import ZERO, working_precision
from boostopt.problem_certificates.problem_reader import read_problem


@pytest.mark.every(4)
@pytest.mark.parametrize("name", UNBOUNDED)
def test_problems_that_fall_along_a_ray_are_proved_unbounded(name: str) -> None:
    leave_point()
    objective, constraints = UNBOUNDED[name]
    for problem in (cp.Problem(cp.Minimize(objective), constraints), cp.Problem(cp.Maximize(-objective), constraints)):
        certificate = certify_problem(problem)
        assert certificate.status == "unbounded" and not certificate.reasons
        assert (
            certificate.lower == certificate.upper == (-math.inf if problem.objective.NAME == "minimize" else math.inf)
        )


@pytest.mark.every(2)
@pytest.mark.fast_cases("geometric mean")
@pytest.mark.parametrize("name", BOUNDED)
def test_no_lie_makes_a_bounded_neighbour_unbounded(name: str) -> None:
    """Stale values, values far along the ray of the unbounded neighbour, and duals of wrong signs and sizes."""
    objective, constraints = BOUNDED[name]
    problem, rng = cp.Problem(cp.Minimize(objective), constraints), np.random.default_rng(len(name))
    for size in (0.0, 1.0, 1e3, 1e8):
        leave_point()
        for variable in problem.variables():
            variable.value = variable.value + size * np.abs(rng.normal(size=variable.shape))
        for constraint in problem.constraints:
            constraint.dual_variables[0].save_value(-size * rng.normal(size=constraint.shape))
        certificate = certify_problem(problem)
        assert certificate.status in ("bounded", "open")
        assert certificate.upper > -1e3


@pytest.mark.parametrize(
    "seed", [seed if seed < 3 else pytest.param(seed, marks=pytest.mark.thorough) for seed in range(60)]
)
def test_sums_of_losses_are_unbounded_exactly_outside_their_slopes(seed: int) -> None:
    """The sum of w_i log(1 + exp(s_i x)) and v huber(x) falls below c x + any constant for no slope c that it has.

    Nor does it at the ends of these slopes. All numbers are multiples of 1/8, so that the ends are exact floats.
    """
    rng = np.random.default_rng(seed)
    slopes, weights = rng.integers(-8, 9, size=3) / 8, rng.integers(1, 9, size=3) / 8
    v, x = float(rng.integers(0, 3)), cp.Variable()
    ends = -float(weights @ np.maximum(-slopes, 0)) - 2 * v, float(weights @ np.maximum(slopes, 0)) + 2 * v
    for c in (ends[0] - 0.125, ends[0], sum(ends) / 2, ends[1], ends[1] + 2.0**-16):
        problem = cp.Problem(cp.Minimize(weights @ cp.logistic(slopes * x) + v * cp.huber(x) - c * x))
        x.value = rng.normal() * 10.0 ** rng.integers(-2, 6)
        status = certify_problem(problem).status
        assert status in (("bounded", "open") if ends[0] <= c <= ends[1] else ("unbounded",)), (c, ends)


def sparse_program(m: int, is_bounded: bool, has_atoms: bool, rng: np.random.Generator) -> Any:
    """Return a problem with m sparse equations, and the unknowns at a feasible point."""
    n = 4 * m
    entries = scipy.sparse.random_array((m, n), density=4 / n, rng=rng, format="csr")
    entries.data = np.round(8 * rng.normal(size=entries.nnz)) / 4
    A = scipy.sparse.csr_array(entries + scipy.sparse.eye_array(m, n))
    x = cp.Variable(n, nonneg=True)
    x.value = np.round(8 * rng.uniform(0.5, 1.5, size=n)) / 8
    multipliers = np.round(8 * rng.normal(size=m)) / 8
    # With these multipliers the slopes are not negative, and many are 0: then no ray falls.
    costs = A.T @ multipliers + np.maximum(np.round(8 * rng.normal(size=n)) / 8, 0.0)
    costs = costs if is_bounded else rng.normal(size=n)
    objective = costs @ x + (cp.sum(cp.logistic(-x)) if has_atoms else 0.0)
    return cp.Problem(cp.Minimize(objective), [A @ x == A @ x.value])


@pytest.mark.thorough_cases("0-True-False")
@pytest.mark.every(2)
@pytest.mark.parametrize("has_atoms", [False, True])
@pytest.mark.parametrize("is_bounded", [False, True])
@pytest.mark.parametrize(
    "seed", [seed if seed < 1 else pytest.param(seed, marks=pytest.mark.thorough) for seed in range(10)]
)
def test_rays_of_many_sparse_equations_need_no_basis(seed: int, is_bounded: bool, has_atoms: bool) -> None:
    """The answer is a feasible point, so nothing of it points to the ray."""
    certificate = certify_problem(sparse_program(100, is_bounded, has_atoms, np.random.default_rng(seed)))
    assert certificate.status in (("bounded", "open") if is_bounded else ("unbounded",))


def test_a_direction_of_sparse_rows_lies_in_its_balls() -> None:
    """The rows times the balls contain 0, and small balls keep the signs of a direction."""
    rng = np.random.default_rng(0)
    for _ in range(5):
        problem = sparse_program(80, False, False, rng)
        with working_precision():
            read = read_problem(problem)
            d = unbounded_rays.proposed_direction(read)
            assert d is not None
            rows = list(read.equalities.rows.rows)
            zeros = set(np.flatnonzero(np.abs(d) <= 1e-9).tolist())
            balls_of_d = unbounded_rays.sparse_direction(rows, zeros, np.where(np.abs(d) <= 1e-9, 0.0, d))
            assert balls_of_d is not None
            for row in rows:
                total: Any = sum((value * balls_of_d[k] for k, value in row.items()), ZERO)
                assert total.contains(0) and float(total.rad()) <= 1e-9
            assert all(value == 0 if k in zeros else value > 0 for k, value in enumerate(balls_of_d))
            assert unbounded_rays.sparse_direction(rows + rows, zeros, d) is None  # rows that depend on each other


@pytest.mark.parametrize(
    "atom",
    [
        lambda x: cp.sum(cp.multiply(np.zeros(3), cp.square(x[:3]))),
        lambda x: 0 * cp.sum_squares(x),
        lambda x: 0 * cp.exp(cp.norm(x) + cp.max(x)),
        lambda x: 0 * cp.quad_form(x[:2], np.array([[2.0, 1.0], [1.0, 1.0]])),
        lambda x: cp.norm1(x) - cp.norm1(x[::-1]) * 0,
    ],
)
def test_atoms_times_0_that_have_a_value_everywhere_stop_no_ray(atom: Any, tmp_path: Path) -> None:
    x = cp.Variable(3, name="x")
    problem = cp.Problem(cp.Minimize(2 * x[0]), [atom(x) <= 1 - x[0]])
    x.value = np.zeros(3)
    certificate = certify_problem(problem)
    assert certificate.status == "unbounded"
    certificate.save(tmp_path / "ray.json")
    assert verify(tmp_path / "ray.json").outcome == "unbounded"
    many = cp.Variable(4001, name="x")
    nodes = read_problem(cp.Problem(cp.Minimize(cp.exp(many[1])), [atom(many) <= 1])).nodes
    assert [node.name for node in nodes] in (["exp"], ["exp", "norm1"], ["exp", "Norm1"]) and nodes[0].start == 4001


def test_atoms_times_0_stop_rays_that_leave_their_domain() -> None:
    x = cp.Variable(2, name="x")
    for atom in (cp.log(x[0] + x[1]), cp.quad_over_lin(x[1], x[0]), cp.exp(-cp.sqrt(x[0]))):
        sign = 1 if atom.is_convex() else -1
        problem = cp.Problem(cp.Minimize(x[0] + x[1] + 0 * sign * atom), [x[1] == 0])
        certificate = certify_problem(problem, solver="CLARABEL")
        assert certificate.status != "unbounded" and certificate.lower <= 0.0 <= certificate.upper
