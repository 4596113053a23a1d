"""Signs, shapes and subgradients of CVXPY's expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from boostopt._utils.cvxpy_tools import required_cones, solve_approximately, subgradients

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
def test_the_slopes_have_a_row_for_each_entry(expression: Callable[[Any], Any], rows: Any) -> None:
    x = cp.Variable(3)
    x.value = AT
    slopes = subgradients(expression(x), [x])
    assert slopes is not None
    np.testing.assert_allclose(slopes[0].toarray(), rows, rtol=1e-14)


def test_in_one_dimension_too() -> None:
    x = cp.Variable(1)
    x.value = np.array([3.0])
    slopes = subgradients(cp.sum_squares(x), [x])
    assert slopes is not None
    np.testing.assert_array_equal(slopes[0].toarray(), [[6.0]])


def test_several_variables_are_evaluated() -> None:
    x, y, z = cp.Variable(2), cp.Variable(), cp.Variable(3)
    x.value, y.value, z.value = np.array([1.0, 2.0]), 4.0, np.zeros(3)
    slopes = subgradients(cp.quad_over_lin(x, y), [x, y, z])
    assert slopes is not None
    for rows, expected in zip(slopes, ([[0.5, 1.0]], [[-5 / 16]], np.zeros((1, 3))), strict=True):
        np.testing.assert_allclose(rows.toarray(), expected)


@pytest.mark.parametrize(
    "expression",
    [
        cp.norm_inf,
        lambda x: -cp.sum(cp.entr(x)),
        lambda x: cp.sum(cp.inv_pos(x)),
        lambda x: -cp.sum(cp.entr(x)) + cp.sum_squares(x),
    ],
    ids=["largest", "entropy", "inverse", "entropy and squares"],
)
def test_where_there_are_no_slopes_there_are_none(expression: Callable[[Any], Any]) -> None:
    """CVXPY knows none of the norm, and there is none at the end of a domain."""
    x = cp.Variable(3)
    x.value = np.array([0.0, 1.0, 2.0])
    assert subgradients(expression(x), [x]) is None


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
    assert required_cones(cp.Problem(cp.Minimize(expression(x)), [x >= -1])) == {"linear", *cones}


def test_a_rough_optimum_or_none() -> None:
    x: Any = cp.Variable(3)
    assert solve_approximately(cp.Problem(cp.Minimize(cp.sum_squares(x - AT))))
    np.testing.assert_allclose(x.value, AT, atol=1e-6)
    assert not solve_approximately(cp.Problem(cp.Minimize(cp.sum(x)), [x <= -1, x >= 1]))
    assert not solve_approximately(cp.Problem(cp.Minimize(cp.sum(x)), [x <= 1]))


def test_an_assertion_within_a_solver_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    class PanicException(BaseException):
        """The error that a solver written in Rust raises when it gives up."""

    def panic(*_: Any, **__: Any) -> None:
        raise PanicException("assertion failed")

    monkeypatch.setattr(cp.Problem, "solve", panic)
    assert not solve_approximately(cp.Problem(cp.Minimize(cp.Variable())))
