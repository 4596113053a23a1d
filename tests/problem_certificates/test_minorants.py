"""The lower bound: signs are tested, slopes are eliminated exactly or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from convex_problems import cp

from boostopt.problem_certificates.arithmetic.balls import working_precision
from boostopt.problem_certificates.bounds.bound_propagation import Propagation
from boostopt.problem_certificates.minorants import minorant_search
from boostopt.problem_certificates.minorants.lagrangian_minorant import WrongSign
from boostopt.problem_certificates.minorants.minorant_minimum import lower_bound
from boostopt.problem_certificates.minorants.stationary_multipliers import float_point, initial_choice
from boostopt.problem_certificates.problem_certificate import certify_problem
from boostopt.problem_certificates.problem_reader import ReadProblem, read_problem


@pytest.fixture(autouse=True)
def precision() -> Iterator[None]:
    with working_precision():
        yield


def read(objective: Any, constraints: list[Any]) -> ReadProblem:
    problem = cp.Problem(objective, constraints)
    problem.solve("CLARABEL")
    return read_problem(problem)


def bound(problem: ReadProblem, **changes: Any) -> float:
    x = problem.point_of_values()
    assert x is not None
    choice = replace(initial_choice(problem, float_point(problem, x), 1e-5), **changes)
    return lower_bound(problem, choice, Propagation(problem))


def test_a_negative_multiplier_of_an_inequality_is_refused() -> None:
    x = cp.Variable(2, bounds=[-1, 1])
    problem = read(cp.Minimize(cp.sum(x)), [x[0] + x[1] <= 1, x[0] - x[1] <= 1])
    assert bound(problem, inequality=np.zeros(2)) == -2.0
    with pytest.raises(WrongSign):
        bound(problem, inequality=np.array([-1.0, 0.0]))  # it would prove -1 + 0 > -2


def test_a_multiplier_of_the_wrong_sign_of_an_atom_is_refused() -> None:
    x = cp.Variable(2, bounds=[-1, 1])
    x.value = np.zeros(2)
    problem = read_problem(cp.Problem(cp.Minimize(-cp.sum_squares(x))))
    with pytest.raises(WrongSign, match="quad_over_lin"):
        bound(problem)


def test_slopes_of_free_entries_are_eliminated_with_multipliers_of_the_right_sign_only() -> None:
    x = cp.Variable(2)
    problem = read(cp.Minimize(x[0] + 3 * x[1]), [x[0] + x[1] >= 1, x[1] >= 0, x[0] <= 5])
    optimum = 1.0
    value = bound(problem)
    assert value <= optimum and value == pytest.approx(optimum, abs=1e-6)
    # With these three of them, slopes could be made 0 by a negative multiplier alone.
    assert bound(problem, inequality=np.array([0.0, 1e-3, 1e-3])) == -np.inf
    assert bound(problem, inequality=np.zeros(3)) == -np.inf


def test_slopes_at_bounds_count() -> None:
    x = cp.Variable(3, bounds=[np.array([-1.0, 2.0, -3.0]), np.array([4.0, 5.0, 6.0])])
    problem = read(cp.Minimize(np.array([1.0, -2.0, 0.5]) @ x), [])
    assert bound(problem) == -1.0 - 10.0 - 1.5


def test_slopes_that_may_have_either_sign_count() -> None:
    """Thirds are balls: their difference contains 0, and the box makes it matter."""
    x = cp.Variable(bounds=[-1e45, 1e45])
    x.value = 0.0
    problem = read_problem(cp.Problem(cp.Minimize(x / 3), [x / 3 >= 0]))
    assert bound(problem, inequality=np.ones(1)) < -1


def test_moved_right_sides_lower_the_bound_by_the_multipliers() -> None:
    x = cp.Variable(2, bounds=[0, 2])
    problem = read(cp.Minimize(2 * x[0] + x[1]), [x[0] + x[1] == 1])
    values = problem.point_of_values()
    assert values is not None
    choice = replace(initial_choice(problem, float_point(problem, values), 1e-5), equality=np.array([-1.0]))
    assert lower_bound(problem, choice, Propagation(problem)) == 1.0
    assert lower_bound(problem, choice, Propagation(problem), right_side_change=0.25) == 0.75


@pytest.mark.parametrize("kind", ["sum_squares", "quad_form", "square", "concave"])
@pytest.mark.parametrize("seed", range(5))
def test_slopes_of_free_entries_are_eliminated_by_tangents_of_quadratic_atoms(kind: str, seed: int) -> None:
    """Every tangent point proves a bound: far from the best one it is worse, and never too high."""
    rng = np.random.default_rng(seed)
    root, c, b = rng.normal(size=(3, 3)), rng.normal(size=3), rng.normal(size=3)
    x = cp.Variable(3)
    objective, optimum = {
        "sum_squares": (cp.sum_squares(root @ x - b) / 3 + c @ x, None),
        "quad_form": (cp.quad_form(x - b, root @ root.T) + c @ x, None),
        "square": (cp.sum(cp.square(x - b)) + c @ x, float(c @ b - c @ c / 4)),
        "concave": (-cp.quad_form(x, -root @ root.T) + c @ x, None),
    }[kind]
    problem = read(cp.Minimize(objective), [])
    values = problem.point_of_values()
    assert values is not None
    if optimum is None:
        optimum = float(problem.problem.value)
    choice = initial_choice(problem, float_point(problem, values), 1e-5)
    for size in (0.0, 1e-3, 1.0, 10.0):
        tangents = [
            tangent.with_parameters(tangent.parameters + size * rng.normal(size=tangent.parameters.shape))
            for tangent in choice.tangents
        ]
        value = lower_bound(problem, choice.with_tangents(tangents), Propagation(problem))
        assert np.isfinite(value) and value <= optimum + 1e-12 * (1 + abs(optimum))
        # Three entries of three tangents: the only point without slopes is the minimizer, from wherever the way begins.
        assert value == pytest.approx(optimum, abs=1e-9 * (1 + abs(optimum)))


def test_tangents_lower_the_bound_by_what_they_cost() -> None:
    """Two squares of one number: only one of them may be needed to make its slope 0, and then the bound is not best."""
    x = cp.Variable()
    problem = read(cp.Minimize(cp.square(x - 1) + cp.square(x + 1)), [])
    choice = initial_choice(problem, float_point(problem, np.zeros(1)), 1e-5)
    tangents = [tangent.with_parameters(np.array([[3.0]])) for tangent in choice.tangents]
    value = lower_bound(problem, choice.with_tangents(tangents), Propagation(problem))
    # Tangents at 3 and -3: -9 + 6 (x - 1) and -9 - 6 (x + 1), or the other way around.
    assert value in (pytest.approx(-30.0), pytest.approx(-6.0))


def test_atoms_whose_arguments_are_not_affine_prove_nothing_above_the_infimum() -> None:
    x = cp.Variable(2)
    x.value = np.array([1.0, 0.5])
    problem = read_problem(cp.Problem(cp.Minimize(cp.square(cp.norm(x) + x[0]) + cp.square(cp.norm(x) + x[1]))))
    choice = initial_choice(problem, float_point(problem, x.value), 1e-5)
    assert lower_bound(problem, choice, Propagation(problem)) <= 0.0  # the value at 0


@pytest.mark.parametrize("is_bounded", [True, False])
def test_slopes_of_a_null_space_are_0_where_the_ranks_of_all_rows_are_proved(is_bounded: bool) -> None:
    A, b = np.array([[1.0, 2, 0, -1], [0, 1, 1, 1], [1, 3, 1, 0]]), np.array([1.0, -1, 2])  # rank 2
    c = A.T @ np.array([0.5, -1, 0.25]) if is_bounded else np.array([1.0, 0, 0, 0])
    x = cp.Variable(4)
    minimizer = np.linalg.lstsq(2 * A.T @ A, 2 * A.T @ b - c, rcond=None)[0]
    x.value = minimizer
    problem = read_problem(cp.Problem(cp.Minimize(cp.sum_squares(A @ x - b) + c @ x)))
    choice = initial_choice(problem, float_point(problem, minimizer), 1e-5)
    value = lower_bound(problem, choice, Propagation(problem))
    if not is_bounded:
        assert value == -np.inf  # the objective falls along the null space
        return
    optimum = float(np.sum((A @ minimizer - b) ** 2) + c @ minimizer)
    assert value <= optimum + 1e-12 and value == pytest.approx(optimum)
    # Rows with rounding have another rank.
    inexact = read_problem(cp.Problem(cp.Minimize(cp.sum_squares((A @ x - b) / 3) + c @ x / 9)))
    choice = initial_choice(inexact, float_point(inexact, minimizer), 1e-5)
    assert lower_bound(inexact, choice, Propagation(inexact)) == -np.inf


@pytest.mark.thorough
@pytest.mark.parametrize("atom", [cp.max, cp.norm_inf])
def test_steps_choose_the_slopes_of_a_largest_entry_without_a_program(
    atom: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program of 300,000 coefficients took 20 times as long as two steps."""
    rng = np.random.default_rng(15)
    A, b, x = rng.normal(size=(1000, 300)), rng.normal(size=1000), cp.Variable(300, bounds=[-1, 1])
    problem = cp.Problem(cp.Minimize(atom(A @ x + b)))
    problem.solve("CLARABEL")

    def refuse(*arguments: Any) -> Any:
        raise AssertionError("the program was asked")

    monkeypatch.setattr(minorant_search, "program_choice", refuse)
    certificate = certify_problem(problem)
    assert certificate.scaled_gap <= 1e-8 and certificate.lower <= problem.value + 1e-9
