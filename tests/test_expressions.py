"""What CVXPY is asked about an expression."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from boostopt.expressions import cones_of, gradient, solve_roughly

AT = np.array([0.5, 0.25, 2.0])
M = np.array([[1.0, -2.0, 0.0], [0.5, 0.0, 3.0]])


@pytest.mark.parametrize(
    ("expression", "rows"),
    [
        (cp.sum_squares, [2 * AT]),
        (lambda x: M @ x, M),
        (cp.square, np.diag(2 * AT)),
        (lambda x: cp.Constant(3.0), np.zeros((1, 3))),
        (lambda x: cp.Constant([1.0, 2.0]), np.zeros((2, 3))),
        (lambda x: cp.sum(cp.rel_entr(x, AT)), [np.ones(3)]),
    ],
    ids=["squares", "matrix", "entries", "constant", "constants", "entropy"],
)
def test_the_gradient_has_a_row_for_each_entry(expression: Callable[[Any], Any], rows: Any) -> None:
    x = cp.Variable(3)
    found = gradient(expression(x), x, AT)
    assert found is not None
    np.testing.assert_allclose(found, rows, rtol=1e-14)


def test_in_one_dimension_too() -> None:
    x = cp.Variable(1)
    np.testing.assert_array_equal(gradient(cp.sum_squares(x), x, np.array([3.0])), [[6.0]])


@pytest.mark.parametrize("expression", [cp.norm_inf, lambda x: -cp.sum(cp.entr(x)), lambda x: cp.sum(cp.inv_pos(x))])
def test_where_there_is_no_gradient_there_is_none(expression: Callable[[Any], Any]) -> None:
    """CVXPY knows none of the norm, and there is none at the end of a domain."""
    x = cp.Variable(3)
    assert gradient(expression(x), x, np.array([0.0, 1.0, 2.0])) is None


@pytest.mark.parametrize(
    ("expression", "cones"),
    [
        (cp.sum, set[str]()),
        (cp.sum_squares, {"quadratic"}),
        (cp.norm2, {"second_order"}),
        (cp.log_sum_exp, {"exponential"}),
        (lambda x: cp.lambda_max(cp.diag(x)), {"semidefinite"}),
    ],
    ids=["sum", "squares", "norm", "smooth maximum", "eigenvalue"],
)
def test_the_cones_are_those_that_a_solver_gets(expression: Callable[[Any], Any], cones: set[str]) -> None:
    x = cp.Variable(3)
    assert cones_of(cp.Problem(cp.Minimize(expression(x)), [x >= -1])) == {"linear", *cones}


def test_a_rough_optimum_or_none() -> None:
    x = cp.Variable(3)
    found = solve_roughly(cp.Problem(cp.Minimize(cp.sum_squares(x - AT))), x)
    assert found is not None
    np.testing.assert_allclose(found, AT, atol=1e-6)
    assert solve_roughly(cp.Problem(cp.Minimize(cp.sum(x)), [x <= -1, x >= 1]), x) is None
    assert solve_roughly(cp.Problem(cp.Minimize(cp.sum(x)), [x <= 1]), x) is None
