"""Proofs by domains of atoms, and by bounds that no point attains: that no point is feasible, and lower ends."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import cvxpy
import numpy as np
import pytest
from test_problem_files import ATOMS, arguments_of

from boostopt import certify_problem, verify
from boostopt.problem_certificates.problem_reader import read_problem
from boostopt.verification.problem_certificate_verdict import verify_problem_certificate
from boostopt.verification.problem_kernel import rationals_and_balls
from boostopt.verification.problem_kernel.problem_schema import FILE_KIND, FORMAT
from boostopt.verification.problem_statement import problem_to_json

cp: Any = cvxpy
"""CVXPY, whose own annotations refuse expressions that it takes."""

A = np.array([[1.0, 1.0], [-1.0, 0.5], [0.25, -1.0]])

Build = Callable[[Any, Any], tuple[Any, list[Any]]]

WITHOUT_POINTS: dict[str, Build] = {
    "times 0": lambda x, X: (0 * cp.log(x[0]), [x[0] <= 0]),
    "root times 0": lambda x, X: (0 * cp.sqrt(x[0]) + x[1], [x[0] <= -1]),
    "limit of a shifted logarithm": lambda x, X: (cp.sum(x), [cp.log1p(x[0]) + x[1] >= 0, x[0] == -1]),
    "objective": lambda x, X: (-cp.sum(cp.log(A @ x - 1)), []),
    "closed domains": lambda x, X: (-cp.sum(cp.sqrt(A @ x - 1)), []),
    "means": lambda x, X: (-cp.geo_mean(x), [cp.sum(x) <= -1e-9]),
    "relative entropy": lambda x, X: (cp.rel_entr(x[0], x[1]), [x[0] + 2 * x[1] <= -1]),
    "squares over last": lambda x, X: (cp.quad_over_lin(x[0], x[1]), [x[1] <= -1]),
    "perspective": lambda x, X: (
        cp.perspective(cp.exp(x[0]), s := cp.Variable(nonneg=True)),
        [s + x[1] <= 0, x[1] == 1],
    ),
    "determinant": lambda x, X: (-cp.log_det(X), [cp.trace(X) <= 0]),
    "determinant times 0": lambda x, X: (0 * cp.log_det(X), [X[0, 0] + 2 * X[0, 1] + X[1, 1] == -1]),
    "entropy of a matrix": lambda x, X: (-cp.von_neumann_entr(X), [cp.trace(X) <= -1]),
    "trace of an inverse": lambda x, X: (cp.tr_inv(X), [cp.trace(X) <= -1]),
    "exponential": lambda x, X: (x[0], [cp.exp(x[0]) <= 0]),
    "exponentials": lambda x, X: (x[1], [cp.exp(x[0] - x[1]) + 2 * cp.exp(x[1]) <= 0]),
    "logistic": lambda x, X: (x[0], [cp.logistic(x[0]) <= 0]),
    "inverse": lambda x, X: (x[1], [cp.inv_pos(x[0]) <= x[1], x[1] <= 0]),
}
"""Problems without a point: by a domain that the constraints exclude, or a bound that is attained nowhere."""


@pytest.mark.parametrize("name", WITHOUT_POINTS)
def test_problems_without_a_point_are_proved_so_and_saved(name: str, tmp_path: Path) -> None:
    x, X = cp.Variable(2, name="x"), cp.Variable((2, 2), symmetric=True, name="X")
    objective, constraints = WITHOUT_POINTS[name](x, X)
    problem = cp.Problem(cp.Minimize(objective), constraints)
    for variable in problem.variables():
        variable.value = np.zeros(variable.shape)
    certificate = certify_problem(problem)
    assert certificate.status == "infeasible"
    certificate.save(tmp_path / "problem.json")
    assert verify(tmp_path / "problem.json").outcome == "infeasible"


@pytest.mark.parametrize("excess", [1e-9, 1e-3])
@pytest.mark.parametrize(
    "constraints",
    [
        lambda x, excess: [cp.geo_mean(x) >= 1, cp.sum(x) <= 2 - excess],
        lambda x, excess: [cp.log_sum_exp(x) <= np.log(2) - 1e-15, cp.sum(x) >= excess],
        lambda x, excess: [cp.entr(x[0]) >= 1 - x[0] + excess],
        lambda x, excess: [cp.sqrt(x[0]) >= (1 + x[0]) / 2 + excess],
        lambda x, excess: [cp.inv_pos(x[0]) <= 1, x[0] <= 1 - excess],
        lambda x, excess: [cp.norm1(x) <= 1, cp.sum(x) >= 1 + excess],
    ],
)
def test_constraints_that_miss_a_point_are_proved_beside_unknowns_without_constraints(
    constraints: Any, excess: float, tmp_path: Path
) -> None:
    x, y = cp.Variable(2, name="x"), cp.Variable(name="y")
    certificate = certify_problem(cp.Problem(cp.Minimize(y), constraints(x, excess)), solver="CLARABEL")
    assert certificate.status == "infeasible"
    certificate.save(tmp_path / "problem.json")
    assert verify(tmp_path / "problem.json").outcome == "infeasible"
    certificate = certify_problem(cp.Problem(cp.Minimize(cp.square(y)), constraints(x, -1e-3)), solver="CLARABEL")
    assert certificate.status == "bounded" and certificate.lower <= 0.0 <= certificate.upper <= 1e-6


@pytest.mark.parametrize(
    ("build", "optimum"),
    [
        (lambda x, X: (x[0], [0 * cp.log(x[0]) <= 1]), 0.0),
        (lambda x, X: (cp.sum(x) + 0 * cp.geo_mean(x), []), 0.0),
        (lambda x, X: (3 * x[0] + 0 * cp.log1p(x[0]), []), -3.0),
        (lambda x, X: (cp.trace(X) + 0 * cp.von_neumann_entr(X), []), 0.0),
        (lambda x, X: (x[0] + 0 * cp.sum(cp.log(A @ x - np.array([1.0, -3, -2]))), []), -0.8),
        (lambda x, X: (x[0], [0 * cp.sum(cp.entr(A @ x - np.array([1.0, -3, -2]))) >= 0]), -0.8),
        (lambda x, X: (x[1], [0 * cp.sum(cp.sqrt(A @ x - np.array([1.0, -3, -2]))) >= -1]), -4 / 3),
    ],
)
def test_domains_prove_lower_ends(build: Build, optimum: float, tmp_path: Path) -> None:
    x, X = cp.Variable(2, name="x"), cp.Variable((2, 2), symmetric=True, name="X")
    objective, constraints = build(x, X)
    problem = cp.Problem(cp.Minimize(objective), constraints)
    certificate = certify_problem(problem, solver="CLARABEL")
    assert optimum - 1e-6 <= certificate.lower <= optimum <= certificate.upper
    certificate.save(tmp_path / "problem.json")
    verification = verify(tmp_path / "problem.json")
    assert verification and optimum - 1e-6 <= verification.lower <= optimum


def verdict(constraints: Callable[[Any], list[Any]], multipliers: dict[str, Any]) -> Any:
    """Return the verdict on the claim that some multipliers prove that a problem of two unknowns has no point."""
    x = cp.Variable(2, name="x")
    statement = problem_to_json(read_problem(cp.Problem(cp.Minimize(0), constraints(x))))
    nothing = {"objective": "0", "inequalities": [], "equalities": [], "matrices": [], "slopes": []}
    return verify_problem_certificate(
        {
            "kind": FILE_KIND,
            "format": FORMAT,
            "problem": json.loads(json.dumps(statement)),
            "proof": {"multipliers": {**nothing, **multipliers}, "point": None, "ray": None},
            "claim": {"status": "infeasible", "lower": None, "upper": None},
            "made": {},
        }
    )


@pytest.mark.parametrize(
    ("constraints", "multipliers"),
    [
        (lambda x: [cp.logistic(x[0]) <= x[0]], {"inequalities": ["1"], "slopes": [["1"]]}),
        (lambda x: [cp.log_sum_exp(x) <= x[0]], {"inequalities": ["1"], "slopes": [["1", "0"]]}),
        (lambda x: [cp.log(x[0]) >= -5, x[0] <= 0], {"inequalities": ["0", "1"], "slopes": [["-1"]]}),
    ],
)
def test_bounds_that_no_point_attains_prove_that_there_is_none(
    constraints: Callable[[Any], list[Any]], multipliers: dict[str, Any]
) -> None:
    assert verdict(constraints, multipliers)


@pytest.mark.parametrize(
    ("constraints", "multipliers", "reason"),
    [
        (lambda x: [cp.entr(x[0]) >= 0, x[0] <= 0], {"inequalities": ["0", "1"], "slopes": [["-1"]]}, "not prove this"),
        (lambda x: [cp.sqrt(x[0]) >= 0, x[0] <= 0], {"inequalities": ["0", "1"], "slopes": [["-1"]]}, "not prove this"),
        (lambda x: [cp.exp(x[0]) <= 1], {"inequalities": ["1"], "slopes": [["0"]]}, "not prove this"),
        (lambda x: [cp.exp(x[0]) <= 5, x[0] <= 1], {"inequalities": ["0", "1"], "slopes": [["-1"]]}, "domain of exp"),
        (lambda x: [cp.log(x[0]) >= -5, -x[0] <= -1], {"inequalities": ["0", "1"], "slopes": [["1"]]}, "domain of log"),
        (lambda x: [cp.square(x[0]) <= 0], {"inequalities": ["1"], "slopes": [["0"]]}, "not prove this"),
        (lambda x: [cp.log_sum_exp(x) <= 3], {"inequalities": ["1"], "slopes": [["1", "0"]]}, "must be 0"),
        (lambda x: [cp.log(x[0]) >= -5, x[0] <= 1], {"inequalities": ["0", "1"], "slopes": [["-1"]]}, "not prove this"),
    ],
)
def test_ends_that_are_attained_or_outside_of_a_domain_prove_nothing(
    constraints: Callable[[Any], list[Any]], multipliers: dict[str, Any], reason: str
) -> None:
    result = verdict(constraints, multipliers)
    assert not result and reason in result.reason


@pytest.mark.parametrize("name", ATOMS)
@pytest.mark.parametrize("seed", range(2))
def test_bounds_of_slopes_over_domains_are_nowhere_above(name: str, seed: int) -> None:
    rng, (atom, k, _) = np.random.default_rng(seed), ATOMS[name]
    has_bound = False
    with rationals_and_balls.working_precision():
        for _ in range(40):
            s = [Fraction(int(value)) for value in rng.integers(-2, 2, size=k) * rng.integers(0, 2, size=k)]
            if name == "matrix fraction":
                s[:2] = [Fraction(0)] * 2
            if k in (4, 6):
                s[k - 3] = s[k - 2]
            bound = atom.domain_infimum(s)
            if bound is None or not any(s):
                continue
            has_bound, is_strict = True, atom.exceeds_infimum(Fraction(0), s)
            for _ in range(6):
                u = arguments_of(name, rng)
                assert atom.value(u) is not None
                term = -sum(a * b for a, b in zip(s, u, strict=True))
                assert term > bound if is_strict else term >= bound
            limits = atom.domain_limits(k)
            if limits:  # the bound is near values of points near the limits
                point: Sequence[Fraction] = [limits.get(i, Fraction(1)) + Fraction(1, 10**9) for i in range(k)]
                assert atom.value(point) is not None
                assert math.isclose(
                    float(-sum(a * b for a, b in zip(s, point, strict=True))), float(bound), abs_tol=1e-7
                )
    homogeneous_atoms = {
        "squares over last",
        "relative entropy",
        "divergence",
        "geometric mean",
        "power mean",
        "perspective",
        "concave perspective",
    }
    matrices = {"matrix fraction", "log-determinant", "matrix entropy"}
    numbers = {"power", "root", "inverse", "logarithm", "shifted logarithm", "entropy"}
    assert has_bound == (name in homogeneous_atoms | matrices | numbers)
