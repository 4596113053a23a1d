"""Slopes at the boundary of the set of all slopes of an atom: only fractions tell a finite optimum from none.

5 |x| - <(3, 4), x> is least at 0, and |x| - <(0.6, 0.8), x> is not bounded, because the floats 0.6 and 0.8 have a norm
above 1.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from convex_problems import cp

from boostopt import ProblemCertificate, certify_problem

TRIPLES = ((3, 4, 5), (5, 12, 13), (8, 15, 17), (20, 21, 29))
"""Whole numbers with a² + b² = c²."""


def norm(x: Any) -> Any:
    return 5 * cp.norm(x[:2]) - np.array([3.0, 4.0]) @ x[:2]


def norm_of_a_product(x: Any) -> Any:
    A = np.array([[1.0, 2.0], [3.0, 4.0]])
    return 13 * cp.norm(A @ x[:2]) - (np.array([5.0, -12.0]) @ A) @ x[:2]


ZERO_OPTIMA: dict[str, Callable[[Any], Any]] = {
    "norm": norm,
    "norm of a product": norm_of_a_product,
    "norm_inf": lambda x: 2 * cp.norm_inf(x) - np.array([1.0, -1.0, 0.0]) @ x,
    "norm1": lambda x: 3 * cp.norm1(x) - np.array([3.0, -3.0, 1.0]) @ x,
    "max": lambda x: cp.max(x) - x[0],
    "max, in thirds": lambda x: 3 * cp.max(x) - x[0] - 2 * x[1],
    "sum_largest": lambda x: cp.sum_largest(x, 2) - x[0] - x[2],
    "pos": lambda x: cp.sum(cp.pos(x)) - x[0] - 0.25 * x[2],
    "log_sum_exp": lambda x: cp.log_sum_exp(x) - x[1],
    "geo_mean": lambda x: (x[0] + x[1]) / 2 - cp.geo_mean(x[:2]),
    "quad_over_lin": lambda x: cp.quad_over_lin(x[:2], x[2]) - x[0] - x[1] + x[2] / 2,
    "normNuc": lambda x: cp.normNuc(cp.vstack([x[:2], x[1:]])) - x[0] - x[2],
    "sigma_max": lambda x: cp.sigma_max(cp.vstack([x[:2], x[1:]])) - x[0],
    "lambda_max": lambda x: cp.lambda_max(cp.bmat([[x[0], x[1]], [x[1], x[2]]])) - x[0],
}
"""Functions with the infimum 0 on all of R³."""


def certify(problem: Any) -> ProblemCertificate:
    with warnings.catch_warnings(action="ignore"):  # the answer may be inaccurate, or the lower bound infinite
        problem.solve("CLARABEL")
        return certify_problem(problem)


@pytest.mark.parametrize("name", ZERO_OPTIMA)
def test_slopes_at_the_boundary_prove_a_lower_end(name: str) -> None:
    certificate = certify(cp.Problem(cp.Minimize(ZERO_OPTIMA[name](cp.Variable(3)))))
    assert -1e-9 <= certificate.lower <= 0 <= certificate.upper <= 1e-6
    assert certificate.status == "bounded" and not certificate.reasons


@pytest.mark.every(10)
@pytest.mark.parametrize("name", ZERO_OPTIMA)
@pytest.mark.parametrize("factor", [1 + 2.0**-50, 1 + 1e-9, 1.5])
def test_slopes_outside_prove_none(name: str, factor: float) -> None:
    """A little more in the direction that leads out of the set, and the infimum is minus infinity."""
    x = cp.Variable(3)
    expression = ZERO_OPTIMA[name](x)
    terms = {"geo_mean": x[0] + x[1], "quad_over_lin": x[2], "norm of a product": -x[0], "log_sum_exp": x[1]}
    linear = terms.get(name, x[0])
    problem = cp.Problem(cp.Minimize(expression - (factor - 1) * linear))
    certificate = certify(problem)
    assert certificate.lower == -math.inf


@pytest.mark.parametrize("triple", TRIPLES)
def test_cones_with_slopes_at_the_boundary_have_both_ends(triple: tuple[int, int, int]) -> None:
    a, b, c = triple
    y, x = cp.Variable(), cp.Variable(2)
    for constraint in (cp.SOC(y, x), cp.norm(x) <= y):
        certificate = certify(cp.Problem(cp.Minimize(c * y - np.array([a, -b]) @ x), [constraint]))
        assert certificate.lower == 0 <= certificate.upper <= 1e-7


@pytest.mark.every(2)
@pytest.mark.parametrize("triple", TRIPLES)
def test_floats_next_to_the_boundary_have_the_ends_of_their_fractions(triple: tuple[int, int, int]) -> None:
    a, b, c = triple
    slopes = np.array([a / c, b / c])
    excess = sum(Fraction(value) ** 2 for value in slopes.tolist()) - 1
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.norm(x) - slopes @ x))
    certificate = certify(problem)
    if excess > 0:
        assert certificate.lower == -math.inf
    else:
        assert certificate.lower <= 0 <= certificate.upper
    x.value = slopes
    assert certify_problem(problem).status == ("unbounded" if excess > 0 else "bounded")


def test_homogeneous_problems_fall_along_a_feasible_point_with_a_negative_value() -> None:
    x, y = cp.Variable(2), cp.Variable()
    for objective, constraints, values in (
        (2 * cp.norm(x) - 3 * x[0], [x[1] >= 0], [1.0, 0.0]),
        (cp.quad_over_lin(x, y) - 3 * x[0] + y, [], [1.0, 0.0]),
        (x[0] - cp.geo_mean(x), [x[0] <= y], [1.0, 4.0]),
    ):
        problem = cp.Problem(cp.Minimize(objective), constraints)
        x.value, y.value = np.array(values), np.array(1.0)
        assert certify_problem(problem).status == "unbounded"


@pytest.mark.parametrize("limit", [1.0, 1e6])
def test_points_with_a_negative_value_are_no_rays_where_a_constraint_stops_them(limit: float) -> None:
    x = cp.Variable(2)
    for constraint in (x[0] <= limit, cp.norm(x) <= limit, cp.square(x[0]) <= limit, x[1] + 2 * x[0] == limit):
        problem = cp.Problem(cp.Minimize(2 * cp.norm(x) - 3 * x[0]), [constraint])
        certificate = certify(problem)
        assert certificate.status != "unbounded" and certificate.upper > -math.inf


def test_arguments_that_depend_on_a_changing_atom_by_less_than_all_floats_are_not_constant() -> None:
    """The objective is y^2 / 4 - y with a factor of 1e-400 that is taken back: it is -3/4 at y = 3."""
    y = cp.Variable()
    size = 1e-150 * (1e-150 * (1e-100 * cp.rel_entr(2, y)))
    for factor in (1.0, 1e150, 1e150, 1e100):
        size = cp.abs(factor * size)
    problem = cp.Problem(cp.Minimize(cp.exp(size) - y), [y >= 3])
    y.value = np.array(8.0)
    certificate = certify_problem(problem)
    assert certificate.status != "unbounded" and certificate.upper >= -0.75


@pytest.mark.parametrize("power", [-1, -0.5])
def test_powers_that_tend_to_0_have_the_slope_0_beside_other_atoms(power: float) -> None:
    x = cp.Variable(3)
    for atom, optimum in ((-cp.log(x[0]), 1.0), (cp.inv_pos(x[0]), 2.0)):
        certificate = certify_problem(cp.Problem(cp.Minimize(atom + x[0] + cp.power(x[1], power))), solver="auto")
        assert optimum - 1e-7 <= certificate.lower <= optimum <= certificate.upper <= optimum + 1e-2
