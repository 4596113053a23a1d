"""Cones of CVXPY's expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from boostopt._utils.cvxpy_tools import required_cones, solve_quietly

AT = np.array([0.5, 0.25, 2.0])


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


def test_what_a_solver_raises_is_returned() -> None:
    x: Any = cp.Variable(3)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - AT)))
    assert solve_quietly(problem, "CLARABEL", tol_gap_rel=1e-10) is None
    np.testing.assert_allclose(x.value, AT, atol=1e-6)
    assert isinstance(solve_quietly(problem, "no solver"), Exception)


def test_an_assertion_within_a_solver_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    class PanicException(BaseException):
        """The error that a solver written in Rust raises when it gives up."""

    def panic(*_: Any, **__: Any) -> None:
        raise PanicException("assertion failed")

    monkeypatch.setattr(cp.Problem, "solve", panic)
    assert isinstance(solve_quietly(cp.Problem(cp.Minimize(cp.Variable())), "CLARABEL"), PanicException)
