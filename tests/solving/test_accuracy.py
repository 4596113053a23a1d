"""Promises on noisy stump matrices, one label in ten flipped and nu = 0.1 N, and where a solver went astray."""

from __future__ import annotations

import pytest
from support.problems import noisy_stumps

from boostopt import Verdict, compare, get_formulation, load_dataset

SIZES = ((1000, 30), (5000, 50))


@pytest.mark.thorough_cases("5000-50-46.0")
@pytest.mark.every(3)
@pytest.mark.parametrize("eta", (46.0, 460.0, 2e4))
@pytest.mark.parametrize(("N", "t"), SIZES)
def test_clarabel_reaches_a_gap_of_1e_6_of_the_range_of_the_entropy(N: int, t: int, eta: float) -> None:
    program = get_formulation("erlpboost").bind(noisy_stumps(N, t), nu=0.1 * N, eta=eta)
    # The objective is no larger than the range of the entropy, C_Delta / eta: tol is absolute below 1.
    tol = 1e-6 * program.regularizer.value_bound
    solution = program.solve("cvxpy:clarabel", tol=tol)
    assert solution.certificate.gap <= tol
    assert solution.verdict is Verdict.BOUNDED


@pytest.mark.thorough
@pytest.mark.parametrize(("N", "t"), SIZES)
@pytest.mark.parametrize("paired", (True, False))
def test_lpboost_intervals_overlap_and_those_of_clarabel_and_highs_are_1e_8_wide(N: int, t: int, paired: bool) -> None:
    """With every stump's negation beside it the optimum is 0; with one of each pair it is not."""
    U = noisy_stumps(N, t) if paired else noisy_stumps(N, 2 * t)[:, ::2]
    program = get_formulation("lpboost").bind(U, nu=0.1 * N)
    comparison = compare(program, ("cvxpy:clarabel", "cvxpy:scs", "cvxpy:highs"), tol=1e-8, time_limit=15)
    assert comparison.overlap
    clarabel, scs, highs = (row.solution for row in comparison.rows)
    assert clarabel is not None
    assert scs is not None
    assert highs is not None
    assert clarabel.certificate.gap <= 1e-8
    assert highs.certificate.gap <= 1e-8
    assert scs.certificate.lower <= scs.certificate.upper


@pytest.mark.thorough
def test_osqp_comes_near_where_it_used_to_swing() -> None:
    """With rho adapted every 50 steps its gap at 1e-8 was 3e-2."""
    U = load_dataset("breast_cancer").margin_matrix(50, 0)
    solution = get_formulation("l1_adaboost").bind(U, C=0.1).solve("cvxpy:osqp", tol=1e-8, time_limit=60)
    assert solution.certificate.gap <= 1e-5
