"""Exact optima of quadratic and piecewise linear problems in files, against all active sets in fractions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import cvxpy
import flint
import numpy as np
import pytest
from support.problem_files import content

from boostopt import certify_problem, verify
from boostopt.verification.problem_certificate_verdict import verify_problem_certificate

cp: Any = cvxpy
"""CVXPY, whose own annotations refuse expressions that it takes."""

ZERO = Fraction(0)


def solution(matrix: Sequence[Sequence[Fraction]], sides: Sequence[Fraction]) -> list[Fraction] | None:
    """Return the solution of a square system; None if it is singular."""
    n = len(sides)

    def entry(value: Fraction) -> Any:
        return flint.fmpq(value.numerator, value.denominator)

    try:
        values = flint.fmpq_mat(n, n, [entry(value) for row in matrix for value in row]).solve(
            flint.fmpq_mat(n, 1, [entry(value) for value in sides])
        )
    except ZeroDivisionError:
        return None
    return [Fraction(int(value.p), int(value.q)) for value in values.entries()]


def reference(P: np.ndarray, q: np.ndarray, A: np.ndarray, b: np.ndarray) -> Fraction:
    """Return the minimum of xᵀPx / 2 + <q, x> over Ax <= b, for a definite P, by all active sets."""
    n, m = len(q), len(b)
    exact = [[[Fraction(v) for v in row] for row in np.atleast_2d(M).tolist()] for M in (P, q, A, b)]
    Pf, qf, Af, bf = exact[0], exact[1][0], exact[2], exact[3][0]
    for size in range(n + 1):
        for active in itertools.combinations(range(m), size):
            rows = [[*Pf[i], *(Af[k][i] for k in active)] for i in range(n)]
            rows += [[*Af[k], *([ZERO] * size)] for k in active]
            point = solution(rows, [*(-value for value in qf), *(bf[k] for k in active)])
            if point is None:
                continue
            x, multipliers = point[:n], point[n:]
            is_feasible = all(sum(a * v for a, v in zip(Af[k], x, strict=True)) <= bf[k] for k in range(m))
            if is_feasible and all(value >= 0 for value in multipliers):
                form = sum((x[i] * Pf[i][j] * x[j] for i in range(n) for j in range(n)), ZERO) / 2
                return form + sum((a * v for a, v in zip(qf, x, strict=True)), ZERO)
    raise AssertionError("no active set satisfies the KKT conditions")


def fractions_of(problem: Any, folder: Path) -> tuple[Fraction | None, Fraction | None]:
    """Return both bounds that the file of a problem proves, by Clarabel's answer."""
    problem.solve(solver="CLARABEL")
    certify_problem(problem).save(folder / "certificate.json")
    verification = verify(folder / "certificate.json")
    assert verification, verification.reason
    return verification.fractions


@pytest.mark.every(4)
@pytest.mark.parametrize("seed", range(12))
def test_optima_of_quadratic_problems_are_those_of_all_active_sets(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    n, m = 3, 6
    B = rng.integers(-4, 5, size=(n + 1, n)) / 4
    P, q = B.T @ B + np.eye(n) / 2, rng.integers(-8, 9, size=n) / 4
    A, b = rng.integers(-4, 5, size=(m, n)) / 2, rng.integers(0, 5, size=m) / 4
    x = cp.Variable(n, name="x")
    problem = cp.Problem(cp.Minimize(cp.quad_form(x, P) / 2 + q @ x), [A @ x <= b])
    optimum = reference(P, q, A, b)
    assert fractions_of(problem, tmp_path) == (optimum, optimum)


def projection(x: Any) -> tuple[Any, list[Any]]:
    """Return the distance of (1, 1/2, -1) from the simplex: the point is (3/4, 1/4, 0)."""
    return cp.sum_squares(x - np.array([1.0, 0.5, -1.0])), [cp.sum(x) == 1, x >= 0]


def shrinkage(x: Any) -> tuple[Any, list[Any]]:
    """Return |x - (2, 1/4, -1)|^2 + |x|_1: the point is (3/2, 0, -1/2)."""
    return cp.sum_squares(x - np.array([2.0, 0.25, -1.0])) + cp.norm1(x), []


def largest(x: Any) -> tuple[Any, list[Any]]:
    """Return max x_i + 3 |x - (1, 0, 0)|^2 / 4: the largest entry moves by 2/3."""
    return cp.max(x) + 0.75 * cp.sum_squares(x - np.array([1.0, 0.0, 0.0])), []


def tied_largest(x: Any) -> tuple[Any, list[Any]]:
    """Return max x_i + |x|^2 - x_1 / 2 - x_2 / 2: the tied entries are 0."""
    return cp.max(x) + cp.sum_squares(x) - 0.5 * x[0] - 0.5 * x[1], []


def tied_smallest(x: Any) -> tuple[Any, list[Any]]:
    """Return |x|^2 - min x_i + (5 x_1 + 4 x_2 + 7 x_3) / 16: the tied entries are 0."""
    return cp.sum_squares(x) - cp.min(x) + x @ np.array([0.3125, 0.25, 0.4375]), []


def largest_size(x: Any) -> tuple[Any, list[Any]]:
    """Return the largest size of entries on a plane: all are 1/3 in size."""
    return cp.norm_inf(x), [x[0] + x[1] - x[2] == 1]


def no_size(x: Any) -> tuple[Any, list[Any]]:
    """Return the largest size of x - (1, 2, 3) with a small price: it is 0 at this point."""
    return cp.norm_inf(x - np.array([1.0, 2.0, 3.0])) + 0.125 * cp.norm1(x), []


def two_largest(x: Any) -> tuple[Any, list[Any]]:
    """Return the sum of the two largest entries of a sum 1, with a price: all are 1/3."""
    return cp.sum_largest(x, 2) + cp.square(x[0] - 0.25), [cp.sum(x) == 1]


def huber(x: Any) -> tuple[Any, list[Any]]:
    """Return Huber's losses of x - (4, 1/4, 0) with squares: the first loss is linear, and x is (1, 1/6, 0)."""
    return cp.sum(cp.huber(x - np.array([4.0, 0.25, 0.0]), 0.5)) + cp.sum_squares(x) / 2, []


def inner_kink(x: Any) -> tuple[Any, list[Any]]:
    """Return the distance of (2, 1, 0) from a ball of the 1-norm: the point is (5/4, 1/4, 0)."""
    return cp.sum_squares(x - np.array([2.0, 1.0, 0.0])), [cp.norm1(x) <= 1.5]


EXACT: dict[str, tuple[Callable[[Any], tuple[Any, list[Any]]], Fraction]] = {
    "projection": (projection, Fraction(1, 16) + Fraction(1, 16) + 1),
    "shrinkage": (shrinkage, Fraction(1, 4) + Fraction(1, 16) + Fraction(1, 4) + 2),
    "largest": (largest, Fraction(1, 3) + Fraction(3, 4) * Fraction(4, 9)),
    "tied largest": (tied_largest, Fraction(0)),
    "tied smallest": (tied_smallest, Fraction(0)),
    "largest size": (largest_size, Fraction(1, 3)),
    "no size": (no_size, Fraction(3, 4)),
    "two largest": (two_largest, Fraction(2, 3) + Fraction(1, 144)),
    "huber": (huber, Fraction(13, 4) + Fraction(1, 48)),
    "inner kink": (inner_kink, Fraction(9, 8)),
}
"""Problems of three unknowns with their optima."""


@pytest.mark.every(2)
@pytest.mark.parametrize("name", EXACT)
def test_optima_at_kinks_are_fractions(name: str, tmp_path: Path) -> None:
    build, optimum = EXACT[name]
    objective, constraints = build(cp.Variable(3, name="x"))
    assert fractions_of(cp.Problem(cp.Minimize(objective), constraints), tmp_path) == (optimum, optimum)


def test_an_active_quadratic_constraint_leaves_an_interval(tmp_path: Path) -> None:
    x = cp.Variable(2, name="x")
    problem = cp.Problem(cp.Minimize(x[0] + x[1]), [cp.sum_squares(x) <= 1])  # the optimum is -sqrt(2)
    lower, upper = fractions_of(problem, tmp_path)
    assert lower is not None and upper is not None
    assert lower < upper < 0 and upper**2 <= 2 <= lower**2 and upper - lower <= Fraction(1, 10**7)


PIECEWISE = (
    "linear", "box", "equations", "least squares", "quadratic", "concave quadratic", "lasso", "huber", "absolute",
    "chebyshev", "largest", "smallest", "sum of largest",
)  # fmt: skip
"""Problems of files that are quadratic or linear on pieces."""


@pytest.mark.every(2)
@pytest.mark.parametrize("case", PIECEWISE)
def test_files_of_piecewise_quadratic_problems_state_the_optimum(case: str) -> None:
    lower, upper = verify_problem_certificate(content(case)).fractions
    assert lower is not None and lower == upper


def test_one_exact_end_does_not_hide_a_wrong_claim() -> None:
    document = content("lasso")
    claim = document["claim"]
    claim["lower"] = claim["upper"] = (claim["lower"] + claim["upper"]) / 2 + 1e-14
    assert not verify_problem_certificate(document)


def random_problem(kind: str, rng: np.random.Generator) -> Any:
    """Return a problem of 2 to 9 unknowns with data of two decimals."""
    n, m = int(rng.integers(2, 10)), int(rng.integers(1, 13))
    A, b = np.round(rng.normal(size=(m, n)), 2), np.round(rng.normal(size=m), 2)
    c, B = np.round(rng.normal(size=n), 2), np.round(rng.normal(size=(n, n)), 1)
    x = cp.Variable(n, name="x")
    form = cp.quad_form(x, cp.psd_wrap(B.T @ B))
    objective, constraints = {
        "quadratic": lambda: (form / 2 + c @ x, [A @ x <= np.abs(b)]),
        "box": lambda: (cp.sum_squares(A @ x - b), [cp.abs(x) <= 1]),
        "lasso": lambda: (cp.sum_squares(A @ x - b) + 0.5 * cp.norm1(x), []),
        "huber": lambda: (cp.sum(cp.huber(A @ x - b, 0.25)) + 0.125 * cp.sum_squares(x), []),
        "largest": lambda: (cp.max(A @ x - b) + 0.125 * cp.sum_squares(x), [x >= -1]),
        "chebyshev": lambda: (cp.norm_inf(A @ x - b) + 0.125 * cp.norm1(x), []),
        "hinge": lambda: (cp.sum_squares(x) / 2 + cp.sum(cp.pos(1 - A @ x)), []),
        "portfolio": lambda: (form - c @ x, [x >= 0, cp.sum(x) == 1, x <= 0.5]),
        "degenerate": lambda: (cp.sum(x), [x >= 0, cp.sum(x) >= 1, x <= 1]),
    }[kind]()
    return cp.Problem(cp.Minimize(objective), constraints)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "kind", ["quadratic", "box", "lasso", "huber", "largest", "chebyshev", "hinge", "portfolio", "degenerate"]
)
def test_nearly_all_random_problems_have_their_optimum_in_a_file(kind: str, tmp_path: Path) -> None:
    rng, n_exact = np.random.default_rng(11), 0
    for _ in range(30):
        lower, upper = fractions_of(random_problem(kind, rng), tmp_path)
        assert lower is not None and upper is not None and 0 <= upper - lower <= Fraction(1, 10**6)
        n_exact += lower == upper
    assert n_exact >= 28
