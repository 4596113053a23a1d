"""Multipliers and slopes at kinks by a program: the bounds are good where steps alone fail, and never above."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from boostopt import certify_problem
from boostopt.problem_certificates.arithmetic.balls import working_precision
from boostopt.problem_certificates.atoms.base import Function
from boostopt.problem_certificates.atoms.largest_entries import Extreme, SumOfLargest
from boostopt.problem_certificates.atoms.norms import MaximumNorm, PNorm, SumNorm
from boostopt.problem_certificates.bounds.bound_propagation import Propagation
from boostopt.problem_certificates.minorants.minorant_minimum import lower_bound
from boostopt.problem_certificates.minorants.multipliers_by_convex_program import program_choice
from boostopt.problem_certificates.minorants.stationary_multipliers import float_point, initial_choice
from boostopt.problem_certificates.problem_reader import read_problem

RNG = np.random.default_rng(0)


def data(n: int) -> np.ndarray:
    """Three levels with noise."""
    return np.repeat([0.0, 1.0, -1.0], n // 3) + 0.1 * np.random.default_rng(0).normal(size=n)


def on_simplex(x: Any, objective: Any) -> Any:
    sides: list[Any] = [x >= 0, cp.sum(x) == 1, x <= 10 / x.size]
    return cp.Problem(cp.Minimize(objective), sides)


PROBLEMS: dict[str, Callable[[Any], Any]] = {
    "total variation on the simplex": lambda x: on_simplex(x, data(x.size) @ x + 0.5 * cp.tv(x)),
    "cumulative sums": lambda x: on_simplex(x, data(x.size) @ x + 2 * cp.norm1(cp.cumsum(x - 1 / x.size)) / x.size),
    "largest deviation": lambda x: cp.Problem(
        cp.Minimize(cp.norm_inf(x - data(x.size)) + 0.01 * cp.norm1(cp.diff(x, 2))), [cp.sum_largest(x, 5) <= 3]
    ),
    "concave": lambda x: cp.Problem(
        cp.Maximize(cp.min(cp.minimum(x, 1)) - 0.1 * cp.norm(x - data(x.size)) - cp.norm_inf(cp.diff(x)))
    ),
    "three-norm": lambda x: cp.Problem(cp.Minimize(cp.pnorm(x - data(x.size), 3) + cp.tv(x))),
}


@pytest.mark.thorough_cases("cumulative sums", "total variation on the simplex", "largest deviation")
@pytest.mark.parametrize("name", PROBLEMS)
def test_many_kinks_that_depend_on_each_other_have_narrow_intervals(name: str) -> None:
    problem = PROBLEMS[name](cp.Variable(60 if name in ("largest deviation", "three-norm") else 300))
    value = problem.solve("CLARABEL")
    certificate = certify_problem(problem)
    assert certificate.scaled_gap <= 1e-7
    assert certificate.lower - 1e-7 <= value <= certificate.upper + 1e-7


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_bound_of_the_choice_is_near_the_optimum_and_not_above_it(name: str) -> None:
    problem = PROBLEMS[name](cp.Variable(30))
    value = problem.solve("CLARABEL") * (-1 if isinstance(problem.objective, cp.Maximize) else 1)
    with working_precision():
        read = read_problem(problem)
        x = read.point_of_values()
        assert x is not None
        read = read_problem(problem, {read.variables[0].variable: (-10.0, 10.0)})
        box = Propagation(read)
        box.run()
        start = initial_choice(read, float_point(read, x + 1e-3 * RNG.normal(size=30)), 1e-7)
        choice = program_choice(read, start, box)
        assert choice is not None
        bound = lower_bound(read, choice, box)
    assert value - 1e-6 <= bound <= value + 1e-7


def test_without_slopes_to_choose_there_is_no_program() -> None:
    x = cp.Variable(3)
    total: Any = cp.sum(x)
    equation: Any = total == 1
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), [equation])
    problem.solve("CLARABEL")
    read = read_problem(problem)
    with working_precision():
        start = initial_choice(read, float_point(read, np.full(3, 1 / 3)), 1e-7)
        assert program_choice(read, start, Propagation(read)) is None


KINKS: dict[str, tuple[Function, Callable[[np.ndarray], np.ndarray]]] = {
    "sum of sizes": (SumNorm(), lambda u: np.abs(u).sum(axis=1)),
    "largest size": (MaximumNorm(), lambda u: np.abs(u).max(axis=1)),
    "Euclidean": (PNorm(2), lambda u: np.linalg.norm(u, axis=1)),
    "3-norm": (PNorm(3), lambda u: (np.abs(u) ** 3).sum(axis=1) ** (1 / 3)),
    "largest": (Extreme(1), lambda u: u.max(axis=1)),
    "two largest": (SumOfLargest(2.0), lambda u: np.sort(u, axis=1)[:, -2:].sum(axis=1)),
    "1.5 largest": (SumOfLargest(1.5), lambda u: np.sort(u, axis=1)[:, -1] + 0.5 * np.sort(u, axis=1)[:, -2]),
    "half of the largest": (SumOfLargest(0.5), lambda u: 0.5 * u.max(axis=1)),
    "all": (SumOfLargest(4.0), lambda u: u.sum(axis=1)),
}
SIZES = np.array([1.0, 0.0, 3.5])


@pytest.mark.parametrize("name", KINKS)
def test_the_largest_product_of_slopes_is_the_value(name: str) -> None:
    """An atom with kinks is the support function of the slopes that the constraints describe."""
    function, value = KINKS[name]
    for u in (RNG.normal(size=(3, 4)), np.round(RNG.normal(size=(3, 4))), np.zeros((3, 4)), np.ones((3, 4))):
        products: Any = cp.Variable((3, 4))
        constraints = function.slope_constraints(products, cp.Constant(SIZES), np.zeros((3, 4)))
        largest = cp.Problem(cp.Maximize(cp.sum(cp.multiply(u, products))), constraints).solve("CLARABEL")
        assert largest == pytest.approx(float(SIZES @ value(u)), abs=1e-6)


@pytest.mark.parametrize("sign", (1.0, -1.0))
@pytest.mark.parametrize("name", ("sum of sizes", "largest size", "Euclidean"))
def test_slopes_of_convex_arguments_have_one_sign(name: str, sign: float) -> None:
    function, _ = KINKS[name]
    products: Any = cp.Variable((3, 4))
    constraints = function.slope_constraints(products, cp.Constant(SIZES), np.full((3, 4), sign))
    cp.Problem(cp.Minimize(sign * cp.sum(products)), constraints).solve("CLARABEL")
    assert np.abs(np.asarray(products.value)).max() <= 1e-6


def test_entries_on_a_kink_are_recognized() -> None:
    u = np.array([[0.0, 1.0, 3.0], [1.0, 1.0, 0.5], [2.0, -2.0, 0.0]])
    for function, on_kink in (
        (SumNorm(), [[1, 0, 0], [0, 0, 0], [0, 0, 1]]),
        (MaximumNorm(), [[0, 0, 0], [1, 1, 0], [1, 1, 0]]),
        (PNorm(2), [[0, 0, 0], [0, 0, 0], [0, 0, 0]]),
        (Extreme(1), [[0, 0, 0], [1, 1, 0], [0, 0, 0]]),
        (SumOfLargest(2.0), [[0, 0, 0], [1, 1, 0], [0, 0, 0]]),
        (SumOfLargest(3.0), [[0, 0, 0], [0, 0, 0], [0, 0, 0]]),
    ):
        np.testing.assert_array_equal(function.is_on_kink(u), np.array(on_kink, dtype=bool))
    assert PNorm(2).is_on_kink(np.zeros((1, 3))).all()
    assert Extreme(-1).is_on_kink(np.array([[0.0, 0.0, 1.0]])).tolist() == [[True, True, False]]
