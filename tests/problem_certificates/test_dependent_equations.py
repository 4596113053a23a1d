"""Equations that follow from others with weights of long denominators, and others that nearly do."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from boostopt import ConicProgram, certify_problem
from boostopt.conic_programs.conic_program import ConeConstraint
from boostopt.problem_certificates.cone_proofs.enclosed_equation_solutions import (
    _is_zero,  # pyright: ignore[reportPrivateUsage]
    equations_with_remainders,
    independent_equations,
)

PRIMES = [101, 103, 107, 109, 113, 127, 131, 137, 139, 149]
"""The denominators of the weights: their product has 70 bits."""


def long_combination(scale: float = 1.0) -> tuple[Any, Any]:
    """Return a matrix whose last row is the sum of the others over the primes, and right sides that agree."""
    rng = np.random.default_rng(0)
    multiples = rng.integers(-9, 10, (len(PRIMES), 20))
    rows = multiples * np.array(PRIMES)[:, None]
    sides = rng.integers(-9, 10, len(PRIMES)) * np.array(PRIMES)
    A = np.vstack([rows, multiples.sum(axis=0)]).astype(float)
    b = np.append(sides, (sides // np.array(PRIMES)).sum()).astype(float)
    return scipy.sparse.csr_array(A * scale), b * scale


def rows_of(A: Any, b: Any) -> Any:
    return independent_equations(scipy.sparse.csr_array(A), b, np.zeros(A.shape[1]), np.ones(A.shape[1]))


@pytest.mark.parametrize("scale", [1.0, 2.0**-70, 2.0**200])
def test_a_row_that_others_imply_by_long_fractions_is_left_out(scale: float) -> None:
    A, b = long_combination(scale)
    rows = rows_of(A, b)
    assert rows is not None and len(rows) == len(PRIMES)


@pytest.mark.parametrize("size", [1, 101, 2**26 - 5, 2.0**-30])
def test_a_row_with_another_entry_or_another_side_is_not_left_out(size: float) -> None:
    A, b = long_combination()
    changed_sides = b.copy()
    changed_sides[-1] += size
    assert rows_of(A, changed_sides) is None
    dense = A.toarray()
    dense[-1, 3] += size
    rows = rows_of(dense, b)
    # The rows are independent then, unless the difference is too small for floats.
    assert rows is None or len(rows) == len(PRIMES) + 1


def test_thirds_and_sevenths_are_weights_of_long_entries() -> None:
    rng = np.random.default_rng(1)
    basis = rng.integers(-(2**20), 2**20, (3, 6)).astype(float)
    A = np.vstack([basis * np.array([3.0, 7, 11])[:, None], basis.sum(axis=0)])
    rows = rows_of(A, np.zeros(4))
    assert rows is not None and len(rows) == 3


def test_multiples_of_a_prime_are_not_zero() -> None:
    prime = 2**26 - 5  # the largest one below 2^26
    rows = scipy.sparse.csr_array(np.array([[prime, 0], [0, 1]], dtype=np.int64))
    assert not _is_zero(rows, [1, 0])
    assert not _is_zero(rows, [0, prime**5])
    assert _is_zero(rows, [0, 0])


def disk_with_nearly_equal_equations(rest: float) -> ConicProgram:
    """Return min x_2 over the unit disk with x_1 + x_2 / 2 = 0 and 3 x_1 + (3 / 2 + rest) x_2 + x_3 = 0, x_3 = 0."""
    A = scipy.sparse.csr_array(np.array([[1.0, 0.5, 0.0], [3.0, 1.5 + rest, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 3.0]]))
    G = scipy.sparse.csr_array(np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
    cones = (ConeConstraint("second_order", G, np.array([1.0, 0.0, 0.0])),)
    free = np.full(3, np.inf)
    return ConicProgram(A, np.array([0.0, 1.0, 0.0]), np.zeros(4), np.zeros(4), -free, free, cones=cones)


@pytest.mark.parametrize(("rest", "optimum"), [(0.0, -math.sqrt(0.8)), (2.0**-40, 0.0)])
def test_what_remains_of_nearly_dependent_equations_counts(rest: float, optimum: float) -> None:
    """With a rest, x_1 = x_2 = 0 is the one point; solvers do not see it."""
    certificate = certify_problem(disk_with_nearly_equal_equations(rest))
    assert certificate.lower <= optimum + 1e-15 and optimum - 1e-15 <= certificate.upper
    assert certificate.scaled_gap <= 1e-6


def test_remainders_are_exact_and_have_the_solutions_of_the_equations() -> None:
    program = disk_with_nearly_equal_equations(2.0**-40)
    equations = equations_with_remainders(program.A.tocsr(), np.array([0.0, 2.0**-41, 0.0, 0.0]))
    assert equations is not None
    E, e, changes = equations
    assert E.shape == (3, 3)
    solution = [Fraction(-1, 4), Fraction(1, 2), Fraction(0)]
    for row, side in zip(E.toarray().tolist(), e.tolist(), strict=True):
        assert sum(Fraction(a) * x for a, x in zip(row, solution, strict=True)) == Fraction(side)
    assert np.linalg.matrix_rank(E.toarray()) == 3 and np.abs(E.toarray()).max(axis=1).min() >= 0.5
    assert np.allclose((changes @ program.A).toarray(), E.toarray(), rtol=1e-3)


def test_equations_without_a_solution_or_without_dependence_have_no_remainders() -> None:
    A = disk_with_nearly_equal_equations(0.0).A.tocsr()
    assert equations_with_remainders(A, np.array([0.0, 0.0, 0.0, 1.0])) is None
    assert equations_with_remainders(A[[0, 2]], np.zeros(2)) is None


@pytest.mark.parametrize("shift", [2.0**-30, 2.0**-45])
def test_remainders_that_are_no_floats_are_left_out(shift: float) -> None:
    """(1e305 - 0) over the shift is above all floats."""
    A = scipy.sparse.csr_array([[1.0, 1.0], [1.0, 1.0 + shift]])
    assert equations_with_remainders(A, np.array([0.0, 1e305])) is None
