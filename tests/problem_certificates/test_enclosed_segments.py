"""Enclosures of points between two solutions of equations, and equations with an unknown in nearly all rows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse

from boostopt._utils.array_types import Array
from boostopt.problem_certificates.arithmetic.balls import Enclosure, blended_enclosure
from boostopt.problem_certificates.cone_proofs.enclosed_equation_solutions import EquationSystem


def fractions(values: Array) -> list[Fraction]:
    return [Fraction(value) for value in values.tolist()]


@pytest.mark.parametrize("fraction", [0.0, 1e-12, 2.0**-20, 0.1, 1 / 3, 1.0, 3.0])
def test_points_between_two_enclosed_ones_are_enclosed(fraction: float) -> None:
    rng = np.random.default_rng(3)
    scales = 10.0 ** rng.integers(-320, 290, 300)
    first, second = rng.normal(size=300) * scales, rng.normal(size=300) * scales
    second[:20] = first[:20]
    radii = np.abs(rng.normal(size=300)) * scales * 1e-10
    radii[:40] = 0.0
    mids, sizes = blended_enclosure((first, radii), (second, radii), fraction)
    share = round(min(fraction, 1.0) * 2**50) * Fraction(1, 2**50)
    for sign in (-1, 1):
        for mid, size, a, b, radius in zip(*map(fractions, (mids, sizes, first, second, radii)), strict=True):
            point = (1 - share) * (a + sign * radius) + share * (b + sign * radius)
            assert abs(point - mid) <= size
    assert (mids[:20] == first[:20]).all() and not sizes[:20].any()


def star(n: int) -> tuple[scipy.sparse.csr_array, Array]:
    """Return the equations x_i - 3 x_(i + 1) + x_n / 7 = i, whose last unknown is in all rows."""
    rows = np.eye(n, n + 2) - 3 * np.eye(n, n + 2, 1)
    rows[:, -1] = 1 / 7
    return scipy.sparse.csr_array(rows), np.arange(n, dtype=float)


def largest_residual(A: scipy.sparse.csr_array, b: Array, x: Enclosure) -> float:
    return float(np.abs(A @ x[0] - b).max())


def test_an_unknown_in_all_rows_keeps_its_value() -> None:
    A, b = star(200)
    system = EquationSystem(A, b, np.ones(202))
    assert system.is_independent
    x = system.enclose(np.full(202, 0.3))
    assert x is not None
    assert (x[0][-1], x[1][-1]) == (0.3, 0.0)
    assert largest_residual(A, b, x) < 1e-10
    assert x[1].max() < 1e-10


def test_dependent_rows_with_an_unknown_in_all_of_them_have_no_enclosure() -> None:
    A, b = star(200)
    twice = scipy.sparse.csr_array(scipy.sparse.vstack([A, A[:1]]))
    system = EquationSystem(twice, np.append(b, b[0]), np.ones(202))
    assert not system.is_independent
    assert system.enclose(np.zeros(202)) is None


def test_an_unknown_in_all_rows_changes_where_the_others_do_not_suffice() -> None:
    n = 200
    units = scipy.sparse.csr_array(scipy.sparse.eye_array(n)).toarray()[:, : n - 1]
    for last_row in (np.zeros(n - 1), units[0]):  # it has this unknown alone, or it differs in its coefficient alone
        units[-1] = last_row
        rows = scipy.sparse.csr_array(np.hstack([units, np.ones((n, 1))]))
        rows[[n - 1], [n - 1]] = 2.0
        assert EquationSystem(rows, np.zeros(n), np.ones(n)).is_independent


@pytest.mark.parametrize(
    ("entries", "point", "side", "holds"),
    [
        ([0.1, -0.3], [3.0, 1.0], 0.1 * 3 - 0.3, False),  # the floats satisfy it after rounding
        ([0.1, -0.1], [3.0, 3.0], 0.0, True),
        ([1.0, 2.0**-60], [1.0, 1.0], 1.0, False),  # by less than a rounding error of 1
        ([1.0, -1.0], [0.3, 0.2], 0.3 - 0.2, True),
        ([1e-200, 1.0], [1e-200, 0.0], 0.0, False),  # the product underflows to 0
        ([1e-200, -1e-200], [1e-200, 1e-200], 0.0, True),
        ([1e200, -1e200], [1e200, 1e200], 0.0, True),  # the products overflow
        ([1e-150, -1.0], [1e-150, 1e-300], 0.0, False),  # the error of the product underflows
    ],
)
def test_equations_of_fixed_unknowns_hold_exactly_or_not(
    entries: list[float], point: list[float], side: float, holds: bool
) -> None:
    exact = sum(Fraction(a) * Fraction(x) for a, x in zip(entries, point, strict=True))
    assert (exact == Fraction(side)) == holds
    system = EquationSystem(scipy.sparse.csr_array(np.array([entries])), np.array([side]), np.zeros(2))
    with np.errstate(all="ignore"):
        assert (system.enclose(np.array(point)) is not None) == holds
