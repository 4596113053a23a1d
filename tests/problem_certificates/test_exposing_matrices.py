"""Exposing matrices: null vectors that equations imply together, and vectors that they do not imply."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from convex_problems import cp

from boostopt import certify_problem
from boostopt.problem_certificates.arithmetic.balls import working_precision
from boostopt.problem_certificates.faces import exposing_matrices
from boostopt.problem_certificates.faces.exposing_matrices import PivotVector, exposed_vectors, simple_basis
from boostopt.problem_certificates.problem_reader import read_problem

MONOMIALS = ((0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2))
"""Exponents of the monomials of degree 2 at most."""


def least_value(polynomial: dict[tuple[int, int], float]) -> Any:
    """Return the problem of the largest number that a polynomial of degree 4 exceeds by a sum of squares."""
    Q, level = cp.Variable((6, 6), PSD=True), cp.Variable()
    sums = dict[tuple[int, int], Any]()
    for (i, a), (j, b) in itertools.product(enumerate(MONOMIALS), repeat=2):
        key = (a[0] + b[0], a[1] + b[1])
        sums[key] = sums.get(key, 0) + Q[i, j]
    constraints = [total == polynomial.get(key, 0.0) - (level if key == (0, 0) else 0) for key, total in sums.items()]
    return cp.Problem(cp.Maximize(level), constraints)


def distances(points: np.ndarray, is_measured: Any) -> Any:
    """Return the problem of the least sum of squared distances from the centre, given some of the distances."""
    n = len(points)
    G = cp.Variable((n, n), PSD=True)
    equations = [
        G[i, i] + G[j, j] - 2 * G[i, j] == float(((points[i] - points[j]) ** 2).sum())
        for i, j in itertools.combinations(range(n), 2)
        if is_measured(i, j)
    ]
    return cp.Problem(cp.Minimize(cp.trace(G)), [*equations, cp.sum(G) == 0])


def unit_vector(n: int, i: int) -> PivotVector:
    return i, [Fraction(int(j == i)) for j in range(n)]


@pytest.mark.parametrize(
    "polynomial",
    [
        {(4, 0): 1.0, (0, 4): 1.0, (2, 2): -2.0},  # (x^2 - y^2)^2
        {(4, 0): 1.0, (2, 1): -2.0, (0, 2): 1.0},  # (x^2 - y)^2
        {(2, 2): 1.0, (1, 1): 2.0, (0, 0): 1.0},  # (x y + 1)^2
        {(4, 0): 1.0, (3, 1): -2.0, (2, 2): 1.0, (2, 0): 1.0, (1, 0): -2.0, (0, 0): 1.0},  # (x^2 - x y)^2 + (x - 1)^2
    ],
    ids=["difference of squares", "parabola", "hyperbola", "two squares"],
)
def test_sums_of_squares_on_a_face_are_certified(polynomial: dict[tuple[int, int], float]) -> None:
    """All polynomials have the infimum 0."""
    certificate = certify_problem(least_value(polynomial), solver="auto")
    assert certificate.lower <= 1e-12 and certificate.upper >= -1e-12
    assert certificate.scaled_gap <= 1e-8


@pytest.mark.parametrize("points", [[[4, 3], [3, 4], [2, 3], [4, 1], [0, 1]], [[0, 0], [1, 0], [0, 2], [3, 1], [2, 2]]])
def test_distances_that_determine_all_points_are_certified(points: list[list[int]]) -> None:
    X = np.array(points, dtype=float)
    problem = distances(X, lambda i, j: (i + j) % 3 > 0 or len(points) - j < 3)
    certificate = certify_problem(problem, solver="auto")
    value = float(((X - X.mean(axis=0)) ** 2).sum())
    assert certificate.lower <= value + 1e-12
    assert certificate.upper >= certificate.lower and certificate.scaled_gap <= 1e-8


def test_two_matrices_are_exposed_together() -> None:
    """X_00 + Y_00 = 0: the first rows of both are 0, so that X_11 is 1."""
    X, Y = (cp.Variable((2, 2), PSD=True) for _ in range(2))
    problem = cp.Problem(cp.Minimize(X[1, 1]), [X[0, 0] + Y[0, 0] == 0, X[0, 1] + X[1, 1] == 1])
    read = read_problem(problem, None)
    with working_precision():
        exposed = exposed_vectors(read, [[unit_vector(2, 0)], [unit_vector(2, 0)]])
        assert exposed == [[unit_vector(2, 0)], [unit_vector(2, 0)]]
        assert exposed_vectors(read, [[unit_vector(2, 0)], []]) == [[], []]
        # Of both unit vectors, only the first is exposed.
        both = [unit_vector(2, 0), unit_vector(2, 1)]
        assert exposed_vectors(read, [both, both]) == exposed
    certificate = certify_problem(problem, solver="auto")
    assert certificate.lower == pytest.approx(1.0, abs=1e-9) and certificate.upper == pytest.approx(1.0, abs=1e-9)


def test_vectors_that_the_equations_do_not_imply_are_not_exposed() -> None:
    X = cp.Variable((3, 3), PSD=True)
    proposals = [[unit_vector(3, i) for i in range(3)]]
    with working_precision():
        for constraints in ([cp.trace(X) == 1], [X[0, 1] == 0], [], [X[0, 0] - X[1, 1] == 0]):
            problem = cp.Problem(cp.Minimize(cp.trace(X)), constraints)
            assert exposed_vectors(read_problem(problem, None), proposals) == [[]]
        problem = cp.Problem(cp.Minimize(cp.trace(X)), [X[0, 0] + X[2, 2] == 0])
        exposed = exposed_vectors(read_problem(problem, None), proposals)
    assert exposed == [[unit_vector(3, 0), unit_vector(3, 2)]]


def test_coefficients_that_are_no_floats_expose_nothing() -> None:
    X = cp.Variable((2, 2), PSD=True)
    proposals = [[unit_vector(2, 0), unit_vector(2, 1)]]
    with working_precision():
        read = read_problem(cp.Problem(cp.Minimize(0), [(X[0, 0] + X[1, 1]) / 3 == 0]), None)
        assert exposed_vectors(read, proposals) == [[]]


def test_a_large_system_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    X = cp.Variable((2, 2), PSD=True)
    read = read_problem(cp.Problem(cp.Minimize(0), [cp.trace(X) == 0]), None)
    proposals = [[unit_vector(2, 0), unit_vector(2, 1)]]
    with working_precision():
        assert exposed_vectors(read, proposals) == proposals
        monkeypatch.setattr(exposing_matrices, "MAX_SYSTEM_SIZE", 3)
        assert exposed_vectors(read, proposals) == [[]]


def test_a_basis_of_simple_fractions() -> None:
    space = np.array([[1.0, 0.5, -2 / 3, 0.0], [0.0, 0.0, 0.0, 1.0]])
    rotation = np.array([[0.6, 0.8], [-0.8, 0.6]])
    basis = simple_basis(rotation @ space)
    assert sorted(vector for _, vector in basis) == [
        [Fraction(0), Fraction(0), Fraction(0), Fraction(1)],
        [Fraction(1), Fraction(1, 2), Fraction(-2, 3), Fraction(0)],
    ]
    assert all(vector[pivot] == 1 for pivot, vector in basis)
    assert simple_basis(np.array([[1.0, 2**0.5]])) in ([], [(1, [Fraction(12, 17), Fraction(1)])])
    assert simple_basis(np.zeros((0, 3))) == []
