"""Small linear programs, whose optimum over all vertices is a fraction: ends of intervals are compared exactly."""

from __future__ import annotations

import itertools
import math
import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from convex_problems import cp
from support.speeds import many

from benchmarks.closed_forms import dot, solve_linear_system
from boostopt import certify_problem
from boostopt._utils.array_types import Array

Line = tuple[list[Fraction], Fraction]
"""The coefficients and the right side of a row."""


@dataclass(frozen=True)
class LinearProgram:
    """Minimize <costs, x> with A x <= b, E x = e and lower <= x <= upper."""

    costs: Array
    A: Array
    b: Array
    E: Array
    e: Array
    lower: Array
    upper: Array

    def optimum(self) -> Fraction | None:
        """Return the smallest value at a vertex; None if there is no feasible vertex, as the program is bounded."""
        n = len(self.costs)
        units = np.eye(n)
        sides = lines(np.vstack([self.A, units, -units]), np.concatenate([self.b, self.upper, -self.lower]))
        equalities = lines(self.E, self.e)
        values = list[Fraction]()
        for basis in itertools.combinations([*sides, *equalities], n):
            x = solve_linear_system([row for row, _ in basis], [side for _, side in basis])
            if x is None:
                continue
            is_feasible = all(dot(row, x) <= side for row, side in sides)
            if is_feasible and all(dot(row, x) == side for row, side in equalities):
                values.append(dot([Fraction(float(cost)) for cost in self.costs], x))
        return min(values, default=None)


def lines(matrix: Array, sides: Array) -> list[Line]:
    return [
        ([Fraction(float(entry)) for entry in row], Fraction(float(side)))
        for row, side in zip(matrix, sides, strict=True)
    ]


def numbers(rng: np.random.Generator, *shape: int) -> Array:
    """Return small integers, or floats of one size or of many sizes."""
    values = rng.integers(-4, 5, size=shape).astype(float) if rng.random() < 0.6 else rng.normal(size=shape)
    sizes = (
        1.0,
        2.0 ** rng.integers(-60, 60, size=shape),
        10.0 ** rng.integers(-5, 5),
        10.0 ** rng.integers(-140, 120),
    )
    return values * sizes[rng.integers(4)]


def random_program(rng: np.random.Generator) -> LinearProgram:
    """Return a program whose rows may depend on each other, exactly or up to rounding; entries may be fixed."""
    n, m, p = int(rng.integers(1, 4)), int(rng.integers(0, 4)), int(rng.integers(0, 3))
    A, b, E = numbers(rng, m, n), numbers(rng, m), numbers(rng, p, n)
    upper = np.abs(numbers(rng, n)) + (rng.random() < 0.5)
    lower = np.where(rng.random(n) < 0.3, upper, -np.abs(numbers(rng, n)))
    e = E @ np.clip(rng.integers(-1, 2, size=n), lower, upper)
    if p == 2 and rng.random() < 0.7:
        factor = float(rng.choice([2.0, 0.5, 3.0, 1 / 3, -1.0, 1e-3]))
        E[1], e[1] = factor * E[0], factor * e[0]
        if rng.random() < 0.3:
            e[1] = math.nextafter(e[1], math.inf)
    if m > 1 and rng.random() < 0.4:
        A[1], b[1] = -A[0], -b[0] - (rng.random() < 0.3) * abs(b[0]) * 2.0**-52
    return LinearProgram(numbers(rng, n), A, b, E, e, lower, upper)


def program_with_large_fixed_entries(rng: np.random.Generator) -> LinearProgram:
    """Return a program with two equalities of one free entry: sums over fixed ones need more bits than balls have."""
    weights = rng.choice([0.0, 2.0**60, -(2.0**60), 2.0**-100, 1.0], size=(2, 4))
    free = np.array([1.0, float(rng.choice([1.0, 2.0, 0.5]))])
    weights[1] = rng.permutation(weights[0]) * free[1] if rng.random() < 0.8 else weights[1]
    lower, upper = np.array([-(2.0**63), 1, 1, 1, 1]), np.array([2.0**63, 1, 1, 1, 1])
    return LinearProgram(
        np.eye(5)[0], np.zeros((0, 5)), np.zeros(0), np.hstack([free[:, None], weights]), np.zeros(2), lower, upper
    )


def cvxpy_problem(program: LinearProgram, rng: np.random.Generator) -> Any:
    """Return the program in CVXPY, minimized or, negated, maximized, with the answer of a solver or a wrong one."""
    n = len(program.costs)
    has_bounds = rng.random() < 0.7
    x = cp.Variable(n, bounds=[program.lower, program.upper]) if has_bounds else cp.Variable(n)
    constraints = [program.A @ x <= program.b] * (len(program.b) > 0) + [program.E @ x == program.e] * (
        len(program.e) > 0
    )
    constraints += [] if has_bounds else [x <= program.upper, x >= program.lower]
    sense = cp.Minimize(program.costs @ x) if rng.random() < 0.5 else cp.Maximize(-program.costs @ x)
    problem = cp.Problem(sense, constraints)
    with warnings.catch_warnings(action="ignore"):
        try:
            problem.solve("CLARABEL" if rng.random() < 0.7 else "HIGHS")
        except (cp.SolverError, ValueError):  # numbers of extreme sizes
            x.save_value(program.upper)
    value = program.upper if x.value is None else x.value
    x.save_value(value + (rng.random() < 0.2) * rng.normal(size=n) * 10.0 ** rng.integers(-16, 3))
    for constraint in constraints:
        if constraint.dual_value is not None and rng.random() < 0.2:
            constraint.save_dual_value(-np.asarray(constraint.dual_value))
    return problem


@pytest.mark.parametrize(
    "seed", [seed if seed < 1 else pytest.param(seed, marks=pytest.mark.thorough) for seed in range(40)]
)
@pytest.mark.parametrize("kind", ["random", "fixed"])
def test_optima_of_linear_programs_lie_inside_exactly(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(many(4, 2)):
        program = random_program(rng) if kind == "random" else program_with_large_fixed_entries(rng)
        optimum, problem = program.optimum(), cvxpy_problem(program, rng)
        certificate = certify_problem(problem)
        if optimum is None:
            assert certificate.status in ("infeasible", "open") and certificate.point is None
            continue
        assert certificate.status in ("bounded", "open")
        is_minimized = isinstance(problem.objective, cp.Minimize)
        lower, upper = certificate.lower, certificate.upper
        ends = (lower, upper) if is_minimized else (-upper, -lower)
        assert ends[0] == -math.inf or Fraction(ends[0]) <= optimum
        assert ends[1] == math.inf or Fraction(ends[1]) >= optimum
