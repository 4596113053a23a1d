"""Problems that are wrong, incomplete or degenerate: what each function says of them, one case each."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from convex_problems import cp

from boostopt import ProblemError, assert_certified, certify_problem, explain_problem, problem_page
from boostopt.problem_certificates.minorants.no_optimum_causes import growing_entries
from boostopt.problem_certificates.problem_reader import read_problem


def problem_with_answer(objective: Any, constraints: list[Any] | None = None) -> Any:
    """Return a problem with an answer of Clarabel."""
    problem = cp.Problem(objective, constraints or [])
    problem.solve(solver="CLARABEL")
    return problem


def with_values(objective: Any, constraints: list[Any] | None = None) -> Any:
    """Return a problem whose variables are 1."""
    problem = cp.Problem(objective, constraints or [])
    for variable in problem.variables():
        variable.save_value(np.ones(variable.shape))
    return problem


def vector(**attributes: Any) -> Any:
    return cp.Variable(2, name="x", **attributes)


def half_solved() -> Any:
    x, y = vector(), cp.Variable(name="y")
    x.value = np.ones(2)
    return cp.Problem(cp.Minimize(cp.sum(x) + y), [x >= 1, y >= 0])


def solved_with_value(value: Any) -> Any:
    x = vector()
    problem = problem_with_answer(cp.Minimize(cp.sum_squares(x)), [x >= 1])
    x.save_value(value)
    return problem


def solved_with_dual(dual: Any) -> Any:
    x = vector()
    problem = problem_with_answer(cp.Minimize(cp.sum_squares(x)), [x >= 1])
    problem.constraints[0].dual_variables[0].save_value(dual)
    return problem


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "a text": (lambda: "problem", r"must be a cvxpy\.Problem; got 'problem'\. Pass"),
    "an objective and constraints": (lambda: (cp.Minimize(vector()[0]), []), r"must be a cvxpy\.Problem; got \("),
    "nothing": (lambda: None, r"must be a cvxpy\.Problem; got None\. Pass"),
    "no values": (
        lambda: cp.Problem(cp.Minimize(cp.sum_squares(vector()))),
        r"got none for x\. Call problem\.solve\(\) first",
    ),
    "values of some": (half_solved, r"with values; got none for y\. Call"),
    "not convex, without values": (
        lambda: cp.Problem(cp.Minimize(-cp.sum_squares(vector()))),
        r"CVXPY does not solve it, because 'minimize .* is not convex .*: write this with convex atoms",
    ),
    "quasiconvex": (
        lambda: with_values(cp.Minimize(cp.sqrt(cp.sum_squares(vector() - 1)))),
        r"only quasiconvex by CVXPY's rules\. If it is convex, write it .* cp\.norm\(x\)",
    ),
    "geometric": (
        lambda: with_values(cp.Minimize(cp.inv_pos(vector(pos=True)[0]) * vector(pos=True)[0])),
        r"got a geometric program.*Pass its log form",
    ),
    "integer": (
        lambda: cp.Problem(cp.Minimize(cp.sum(vector(integer=True)))),
        r"got x, which is boolean or integer\. Use",
    ),
    "complex": (lambda: with_values(cp.Minimize(cp.norm(vector(complex=True)))), r"got x, which is complex\. Write"),
    "nan in the data": (
        lambda: with_values(cp.Minimize(cp.sum_squares(vector() - np.array([np.nan, 1.0])))),
        r"must be finite; got nan in the data\. Correct .* This is in the objective of the problem",
    ),
    "inf in the data": (
        lambda: problem_with_answer(cp.Minimize(cp.sum_squares(x := vector())), [x >= 1, x <= np.array([np.inf, 2.0])]),
        r"must be finite; got inf in the data\. Correct .* This is in constraint \[1\] of the problem",
    ),
    "a parameter without a value": (
        lambda: cp.Problem(cp.Minimize(cp.sum(x := vector())), [x >= cp.Parameter(name="floor")]),
        r"must have values; got floor without one\. Set floor\.value",
    ),
    "parameters without values": (
        lambda: cp.Problem(cp.Minimize(cp.Parameter(2, name="a") @ vector()), [vector() >= cp.Parameter(name="b")]),
        r"must have values; got a, b without one\. Set a\.value and so on",
    ),
}
"""Problems that are refused by all functions that need values, with what is said."""


@pytest.mark.parametrize("name", REFUSED)
def test_problems_without_an_answer_are_refused_in_words(name: str) -> None:
    make, message = REFUSED[name]
    problem = make()
    for function in (certify_problem, explain_problem, assert_certified):
        with pytest.raises(ProblemError, match=message):
            function(problem)


NO_OPTIMUM: dict[str, tuple[Callable[[], Any], str, float, str]] = {
    "unbounded, without constraints": (
        lambda: problem_with_answer(cp.Minimize(cp.sum(vector()))),
        "unbounded",
        -math.inf,
        r"the objective improves for ever in a direction that changes x, which lack bounds",
    ),
    "unbounded, maximized": (
        lambda: problem_with_answer(cp.Maximize(cp.sum(x := vector())), [x >= 0]),
        "unbounded",
        math.inf,
        r".* a direction that changes x, which lack bounds",
    ),
    "contradictory bounds": (
        lambda: problem_with_answer(cp.Minimize(cp.sum(x := vector())), [x >= 2, x <= 1, cp.sum(x) == 3]),
        "infeasible",
        math.inf,
        r"no point satisfies all of these: .*\[1\] x <= 1\.0.*",
    ),
    "a wrong constant constraint": (
        lambda: problem_with_answer(cp.Minimize(cp.sum(x := vector())), [cp.Constant(3) <= 2, x >= 1]),
        "infeasible",
        math.inf,
        r"no point satisfies \[0\] 3\.0 <= 2\.0",
    ),
    "a cone": (
        lambda: problem_with_answer(
            cp.Minimize(cp.sum(x := vector())), [x <= 9, (cp.norm(x) <= 1).set_label("ball"), x[1] >= 2, x[0] == x[1]]
        ),
        "infeasible",
        math.inf,
        r"no point satisfies all of these: '\[1\] ball', '\[2\] x\[1\] >= 2\.0'",
    ),
    "equalities": (
        lambda: problem_with_answer(cp.Minimize(cp.sum(x := vector())), [cp.sum(x) == 1, x >= 0, 2 * cp.sum(x) == 3]),
        "infeasible",
        math.inf,
        r"no point satisfies all of these: '\[0\] sum\(x\) == 1\.0', '\[2\] 2\.0 \* sum\(x\) == 3\.0'.*",
    ),
    "an atom": (
        lambda: problem_with_answer(
            cp.Minimize(cp.sum(x := vector())), [x >= -1, cp.exp(x[0]) <= 1, (x[0] >= 1).set_label("one")]
        ),
        "infeasible",
        math.inf,
        r"no point satisfies all of these: '\[1\] exp\(x\[0\]\) <= 1\.0', '\[2\] one'",
    ),
    "a matrix": (
        lambda: problem_with_answer(
            cp.Minimize(0),
            [cp.diag(X := cp.Variable((2, 2), symmetric=True, name="X")) <= 1, X >> 0, cp.trace(X) <= 9, X[0, 1] >= 2],
        ),
        "infeasible",
        math.inf,
        r"no point, with the attributes of X, satisfies all of these: "
        r"'\[0\] diag\(X\) <= 1\.0', '\[1\] X >> 0', '\[3\] X\[0, 1\] >= 2\.0'",
    ),
    "an attribute": (
        lambda: problem_with_answer(cp.Minimize(cp.sum(x := cp.Variable(2, nonneg=True, name="x"))), [cp.sum(x) == -1]),
        "infeasible",
        math.inf,
        r"no point, with the attributes of x, satisfies \[0\] sum\(x\) == -1\.0",
    ),
    "an entry without a bound": (
        lambda: problem_with_answer(cp.Maximize(cp.sum(x := vector())), [cp.abs(x[0]) <= 1]),
        "unbounded",
        math.inf,
        r".* a direction that changes x\[1\], which lack bounds",
    ),
}
"""Problems without an optimum, with their status, both bounds, and what is said of the cause."""


@pytest.mark.every(2)
@pytest.mark.fast_cases("a matrix")
@pytest.mark.parametrize("name", NO_OPTIMUM)
def test_problems_without_an_optimum_are_proved_so(name: str) -> None:
    make, status, end, cause = NO_OPTIMUM[name]
    problem = make()
    certificate = certify_problem(problem)
    assert (certificate.status, certificate.lower, certificate.upper) == (status, end, end)
    with pytest.raises(ProblemError, match=rf"\bproved {status} \({cause}\).*\bno KKT\b.*\bcertify_problem\b"):
        explain_problem(problem)
    with pytest.raises(AssertionError, match=rf"\bproved {status} \({cause}.*\)\. Correct\b"):
        assert_certified(problem)


def test_the_cause_of_an_unbounded_problem_is_no_entry_that_an_equality_fixes() -> None:
    problem = cp.Problem(cp.Minimize((x := vector())[0] - x[1]), [1e-9 * x[1] == 1e-9])
    assert certify_problem(problem, solver="CLARABEL").status == "unbounded"
    assert growing_entries(read_problem(problem)) == ["x[0]"]


DEGENERATE: dict[str, tuple[Callable[[], Any], float]] = {
    "no variables": (lambda: cp.Problem(cp.Minimize(0)), 0.0),
    "a constant objective": (lambda: problem_with_answer(cp.Minimize(3), [vector() >= 1]), 3.0),
    "constant constraints": (
        lambda: problem_with_answer(cp.Minimize(cp.sum(x := vector())), [cp.Constant(1) <= 2, True, x >= 1]),
        2.0,
    ),
    "a constraint twice": (lambda: problem_with_answer(cp.Minimize(cp.sum(x := vector())), [x >= 1, x >= 1]), 2.0),
    "no duals": (lambda: with_values(cp.Minimize(cp.sum_squares(x := vector())), [x >= 1]), 2.0),
    "a dual that is nan": (lambda: solved_with_dual(np.array([np.nan, 1.0])), 2.0),
}
"""Problems that are certified, with their optimum."""


@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_problems_are_certified(name: str) -> None:
    make, optimum = DEGENERATE[name]
    problem = make()
    certificate = assert_certified(problem)
    assert certificate.lower <= optimum <= certificate.upper + 1e-12 and not certificate.reasons
    assert problem_page(problem).statement
    lines = str(explain_problem(problem))
    assert ("no multiplier" in lines) == (name in ("no duals", "a dual that is nan"))


@pytest.mark.parametrize(
    "value", [np.array([np.nan, 1.0]), np.ones(3), np.full(2, np.inf)], ids=["nan", "shape", "inf"]
)
def test_values_that_are_no_numbers_are_a_reason_of_a_wide_interval(value: Any) -> None:
    problem = solved_with_value(value)
    certificate = certify_problem(problem)
    assert certificate.lower <= 2.0 <= certificate.upper
    assert re.match(r"no value\b.*\bfinite\b.*\bshape\b.*\bx\b", certificate.reasons[0])
    with pytest.raises(ProblemError, match=r"\bgot none for x\..*\bproblem\.solve\b"):
        explain_problem(problem)


def test_certificate_of_a_nonconvex_constraint_names_it() -> None:
    problem = with_values(cp.Minimize(cp.sum(x := vector())), [cp.sum_squares(x) >= 1])
    certificate = certify_problem(problem)
    assert certificate.status == "open" and certificate.upper == 2.0
    assert re.match(r"'sum_squares\(x\) >= 1\.0'.*\bnot convex\b", certificate.reasons[0])
    with pytest.raises(AssertionError, match=r"\bnot convex\b.*\bChange what is named there; explain_problem\b"):
        assert_certified(problem)
    with pytest.raises(ProblemError, match=r"\bconvex\b.*\bDCP\b.*; got 'sum_squares\(x\) >= 1\.0'.*\. Write\b"):
        problem_page(problem)


def test_a_wide_interval_names_a_part_that_is_not_convex() -> None:
    w = vector()
    problem = with_values(cp.Maximize(w[0] - cp.sqrt(cp.quad_form(w, np.eye(2)))), [cp.sum(w) == 1, w >= 0])
    certificate = certify_problem(problem)
    assert certificate.status == "bounded" and certificate.scaled_gap > 0.1
    assert re.match(
        r"'maximize x\[0\] - .*power\(QuadForm\(x, .*' is not convex by CVXPY's rules", certificate.reasons[0]
    )


def test_a_parameter_that_changed_after_the_solve_is_said_before_the_gap() -> None:
    weight, x = cp.Parameter(value=4.0, nonneg=True), vector()
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - 3) + weight * cp.norm1(x)))
    problem.solve(solver="CLARABEL")
    weight.value = 1.0
    with pytest.raises(AssertionError, match=r"the problem reports 16\b.*\bparameters or data were changed"):
        assert_certified(problem)
