"""Tests of what certificates of cones compute in floats: metrics, membership, fractions of a way, and shared rows."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from flint import fmpq, fmpq_mat

from boostopt import ConicProgram, certify_problem
from boostopt._utils.array_types import Array, Float
from boostopt.conic_programs.conic_program import ConeConstraint
from boostopt.conic_programs.exact.rationals import to_fraction
from boostopt.problem_certificates.cone_proofs import cone_membership, cone_metrics
from boostopt.problem_certificates.cone_proofs.clarabel_answers import ClarabelRows, solve_form
from boostopt.problem_certificates.cone_proofs.cone_form import (
    ConeForm,
    ConeGroup,
    columns_of,
    cone_form,
    joined_rows,
    rows_of,
)
from boostopt.problem_certificates.cone_proofs.cone_form_interval import (
    FRACTIONS,
    SMALLEST_FRACTION,
    least_fraction,
    perturbed,
)
from boostopt.problem_certificates.cone_proofs.cone_membership import are_members
from boostopt.problem_certificates.cone_proofs.cone_metrics import product_in_metric
from boostopt.problem_certificates.cone_proofs.dual_bound import multipliers_of, reduced_costs
from boostopt.problem_certificates.cone_proofs.refined_multipliers import refined_multipliers

INF = np.inf


def exponential_group(count: int) -> ConeGroup:
    """Return a group of exponential cones whose rows are the variables."""
    size = 3 * count
    names = [f"cone {k}" for k in range(count)]
    unit = scipy.sparse.csr_array(scipy.sparse.eye_array(size))
    return ConeGroup("exponential", 3, 0.0, unit, np.zeros(size), names, range(count))


def sphere(n: int) -> ConeForm:
    """Return min x_1 + ... + x_n + x_n over the points at most 1 from (1, 2, ..., n)."""
    G = scipy.sparse.csr_array(np.concatenate([np.zeros((1, n)), np.eye(n)]))
    h = np.concatenate([[1.0], -np.arange(1.0, n + 1)])
    c = np.ones(n) + np.eye(n)[-1]
    free = np.full(n, INF)
    empty = scipy.sparse.csr_array((0, n))
    cones = (ConeConstraint("second_order", G, h),)
    return cone_form(ConicProgram(empty, c, np.zeros(0), np.zeros(0), -free, free, cones=cones))


@pytest.mark.parametrize("depth", [1.0, 2.0**-20, 2.0**-40])
def test_the_metric_is_the_exact_inverse_of_the_hessian_of_the_barrier(depth: float) -> None:
    # For w = -u, the logarithm is 0, and the Hessian has fractions.
    z = np.array([[-size, -size + depth, size] for size in (0.125, 1.0, 8.0)])
    blocks = product_in_metric(exponential_group(3), z.ravel()).toarray()
    for k, point in enumerate(z.tolist()):
        u, v, w = (fmpq(*value.as_integer_ratio()) for value in point)
        f, slopes = u - v, [fmpq(0), fmpq(-1), u / w]
        curvature = [[-1 / u, 0, 1 / w], [0, 0, 0], [1 / w, 0, -u / w**2]]
        barriers = [1 / u**2, 0, 1 / w**2]
        hessian = fmpq_mat(
            3,
            3,
            [
                slopes[i] * slopes[j] / f**2 - curvature[i][j] / f + (barriers[i] if i == j else 0)
                for i in range(3)
                for j in range(3)
            ],
        )
        exact = [[float(to_fraction(value)) for value in row] for row in hessian.inv().tolist()]
        np.testing.assert_allclose(blocks[3 * k : 3 * k + 3, 3 * k : 3 * k + 3], exact, rtol=1e-14)


def test_the_metric_of_large_cones_with_a_border_is_that_of_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    form = sphere(40)
    point = multipliers_of(solve_form(form))
    by_border = refined_multipliers(form, point)
    monkeypatch.setattr(cone_metrics, "MAX_BLOCK_SIZE", 100)
    by_blocks = refined_multipliers(form, point)
    assert by_border is not None and by_blocks is not None
    np.testing.assert_allclose(by_border.cones[0], by_blocks.cones[0], rtol=1e-12)
    assert np.abs(reduced_costs(form, by_border)).max() <= 1e-14


def test_programs_with_large_cones_are_certified() -> None:
    n = 40
    form = sphere(n)
    cones = (ConeConstraint("second_order", form.groups[0].G, form.groups[0].h),)
    free = np.full(n, INF)
    program = ConicProgram(form.R, form.c, np.zeros(0), np.zeros(0), -free, free, cones=cones)
    certificate = certify_problem(program)
    optimum = n * (n + 1) / 2 + n - math.sqrt(n + 3)
    assert certificate.lower <= optimum <= certificate.upper and certificate.scaled_gap <= 1e-8


@pytest.mark.parametrize("is_dual", [False, True])
def test_points_near_the_boundary_of_exponential_cones(is_dual: bool) -> None:
    rng = np.random.default_rng(1)
    sizes, q = rng.uniform(0.1, 10, 100), rng.uniform(-20, 20, 100)
    limits = sizes * np.exp(q)
    z = np.stack([-sizes, -q * sizes, limits / math.e] if is_dual else [q * sizes, sizes, limits], axis=1)
    group, zeros = exponential_group(100), np.zeros(300)
    for share, is_member in ((1e-11, True), (-1e-11, False)):
        shifted = z * np.array([1.0, 1.0, 1 + share])
        assert (are_members(group, (shifted.ravel(), zeros), is_dual) == is_member).all()
    wide = z * np.array([1.0, 1.0, 1 + 1e-6])
    assert are_members(group, (wide.ravel(), zeros), is_dual).all()
    assert not are_members(group, (wide.ravel(), zeros + 1e-4), is_dual).any()


@pytest.mark.parametrize("is_dual", [False, True])
def test_floats_prove_no_more_of_exponential_cones_than_balls(is_dual: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    sizes, q = rng.uniform(0.1, 10, 300), rng.uniform(-20, 20, 300)
    limits = sizes * np.exp(q) * (1 + rng.choice([0.0, 1e-16, 1e-15, 1e-14, 1e-13], 300))
    z = np.stack([-sizes, -q * sizes, limits / math.e] if is_dual else [q * sizes, sizes, limits], axis=1)
    values = z.ravel(), rng.choice([0.0, 1e-17, 1e-15], 900)
    group = exponential_group(300)
    by_both = are_members(group, values, is_dual)

    def nothing(mids: Float[Array, "k 3"], radii: Float[Array, "k 3"], is_dual: bool) -> Array:
        return np.zeros(len(mids), dtype=bool)

    monkeypatch.setattr(cone_membership, "_are_in_exponential_cones", nothing)
    assert np.array_equal(by_both, are_members(group, values, is_dual)) and 0 < by_both.sum() < 300


def test_balls_decide_where_floats_overflow_and_underflow() -> None:
    points = [[0.0, 1e-300, 1.0], [-1e300, 1e-10, 1.0], [800.0, 1.0, 1e308], [1.0, 0.0, 1.0], [1.0, -1.0, 1.0]]
    mids = np.array(points)
    members = are_members(exponential_group(5), (mids.ravel(), np.zeros(15)))
    assert members.tolist() == [True, True, False, False, False]


@pytest.mark.parametrize(
    ("threshold", "fractions"),
    [
        (0.0, [1e-10, SMALLEST_FRACTION]),
        (1e-6, [1e-10, 1.0, 1e-8, 1e-6, 1e-7]),
        (0.5, [1e-10, 1.0, 1e-8, 1e-6, 1e-4, 1e-2, 0.1]),
        (2.0, [1e-10, 1.0]),
    ],
)
def test_the_least_fraction_that_succeeds_is_found_from_below(threshold: float, fractions: list[float]) -> None:
    calls = list[float]()

    def attempt(fraction: float) -> bool:
        calls.append(fraction)
        return fraction >= threshold

    assert least_fraction(attempt, lambda: False) == (threshold <= 1.0)
    assert calls == pytest.approx(fractions)


def test_no_smaller_fraction_is_tried_once_the_interval_is_narrow() -> None:
    calls = list[float]()

    def attempt(fraction: float) -> bool:
        calls.append(fraction)
        return fraction >= 1e-8

    assert least_fraction(attempt, lambda: True) and calls == [FRACTIONS[0], 1.0, 1e-8]


def test_parts_of_matrices_are_those_of_scipy() -> None:
    A = scipy.sparse.random_array((9, 7), density=0.4, format="csr", rng=np.random.default_rng(0))
    rows, columns = np.arange(9) % 3 != 1, np.arange(7) % 2 == 0
    np.testing.assert_array_equal(rows_of(A, rows).toarray(), A.toarray()[rows])
    np.testing.assert_array_equal(columns_of(A, columns).toarray(), A.toarray()[:, columns])
    empty = scipy.sparse.csr_array((0, 7))
    np.testing.assert_array_equal(joined_rows([A, empty, A], 7).toarray(), np.concatenate([A.toarray()] * 2))
    assert joined_rows([empty, empty], 7).shape == (0, 7)


def test_forms_with_other_numbers_share_the_rows_of_clarabel() -> None:
    form = replace(sphere(5), lower=np.array([0.0, -INF, -INF, 1.0, -INF]), upper=np.array([INF, 3.0, INF, 1.0, INF]))
    form = replace(form, groups=[replace(form.groups[0], h=form.groups[0].h + 4 * np.eye(6)[0])])
    changed, _ = perturbed(form, 1e-3)
    answers = [solve_form(changed, rows=rows) for rows in (ClarabelRows(form), None)]
    np.testing.assert_array_equal(answers[0].x, answers[1].x)
    np.testing.assert_array_equal(answers[0].cones[0], answers[1].cones[0])
    assert not np.array_equal(answers[0].x, solve_form(form).x)
