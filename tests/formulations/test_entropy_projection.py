"""The entropy projection: the page against the package, its closed form, and where it does not exist."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from agreement import LOG_SUM_EXP_TOL, TIGHT, assert_forms_have
from support.problems import REFERENCE_D0, REFERENCE_U
from support.speeds import many

from boostopt import Outcome, ProblemError, Program, get_formulation


def projection(U: object, **parameters: object) -> Program:
    return get_formulation("entropy_projection").bind(U, **parameters)  # pyright: ignore[reportArgumentType]


def draw(rng: np.random.Generator) -> Program:
    """Columns that have the edge rho under some distribution on all live examples; uneven c, d0 with zeros."""
    N, t = int(rng.integers(8, 60)), int(rng.integers(1, 6))
    d0 = rng.dirichlet(np.full(N, rng.choice([0.5, 1.0, 10.0]))) + 1e-6
    if rng.random() < 0.4:
        d0[rng.permutation(N)[: N // 4]] = 0.0
    d0 /= d0.sum()
    inside = np.where(d0 > 0, rng.uniform(0.5, 1.0, N), 0.0)
    inside /= inside.sum()
    columns, rho = 0.4 * rng.uniform(-1, 1, (N, t)), float(rng.uniform(-0.2, 0.2))
    return projection(
        columns + rho - inside @ columns, rho=rho, d0=d0, c=rng.uniform(0.3, 3.0, N) if rng.random() < 0.5 else None
    )


def slow_step(u: np.ndarray, rho: float, d0: np.ndarray) -> float:
    """Return the step by root finding, without a dual or a certificate."""
    support = d0 > 0

    def edge(alpha: float) -> float:
        d = d0[support] * np.exp(-alpha * (u[support] - rho))
        return float(d @ (u[support] - rho))

    root: Any = scipy.optimize.brentq(edge, -80.0, 80.0, xtol=1e-15)
    return float(root)


def test_structure_by_hand() -> None:
    """N = 3, t = 2, rho = 0.1, d0 = (1/4, 1/2, 1/4).

    Primal  min sum d ln(d / d0)   s.t.  d1 - d2/2 + d3 = 0.1,  -d1 + d2 = 0.1,  d1 + d2 + d3 = 1
    Dual    max -ln[ exp(-w1 + w2) / 4 + exp(w1/2 - w2) / 2 + exp(-w1) / 4 ] - 0.1 (w1 + w2)
    """
    U = np.array([[1.0, -1.0], [-0.5, 1.0], [1.0, 0.0]])
    program = projection(U, rho=0.1, c=[1, 2, 1])
    primal, dual = program.cvxpy("primal", "literal"), program.cvxpy("dual", "literal")
    assert [c.label for c in primal.constraints] == ["w", "beta"]
    assert dual.constraints == []

    d, d0 = np.array([0.2, 0.5, 0.3]), np.array([0.25, 0.5, 0.25])
    primal.var_dict["d"].value = d
    assert primal.objective.value == pytest.approx(sum(d * np.log(d / d0)))
    np.testing.assert_allclose(primal.constraints[0].residual, [0.2 - 0.25 + 0.3 - 0.1, -0.2 + 0.5 - 0.1])

    dual.var_dict["w"].value = [0.3, -0.7]
    inside = 0.25 * math.exp(-0.3 - 0.7) + 0.5 * math.exp(0.15 + 0.7) + 0.25 * math.exp(-0.3)
    assert dual.objective.value == pytest.approx(-math.log(inside) - 0.1 * (0.3 - 0.7))


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
def test_literal_derived_and_certified_values_agree(seed: int) -> None:
    program = draw(np.random.default_rng(seed))
    certificate = program.solve("cvxpy:clarabel", tol=1e-9).certificate
    assert certificate.scaled_gap <= 1e-9
    assert_forms_have(program, pytest.approx(certificate.upper, abs=LOG_SUM_EXP_TOL), **TIGHT)


@pytest.mark.parametrize("seed", range(5))
def test_scs_reaches_the_same_interval(seed: int) -> None:
    program = draw(np.random.default_rng(seed))
    clarabel_certificate, scs_certificate = (
        program.solve(backend, tol=1e-8).certificate for backend in ("cvxpy:clarabel", "cvxpy:scs")
    )
    assert max(clarabel_certificate.scaled_gap, scs_certificate.scaled_gap) <= 1e-8
    assert clarabel_certificate.overlaps(scs_certificate)


def test_reference_numbers() -> None:
    solution = projection(REFERENCE_U[:, :1], rho=0.0, d0=REFERENCE_D0).solve("interior", tol=5e-13)
    assert solution.certificate.scaled_gap <= 5e-13
    assert solution.w[0] == pytest.approx(0.2374138452, abs=1e-9)
    assert solution.certificate.lower == pytest.approx(0.0178774738, abs=1e-10)
    assert solution.certificate.upper == pytest.approx(0.0178774738, abs=1e-10)


@pytest.mark.parametrize("seed", range(10))
def test_kkt_system_of_the_page(seed: int) -> None:
    program = draw(np.random.default_rng(seed))
    solution = program.solve("cvxpy:clarabel", tol=1e-11)
    d0, m, support = program.examples.d0, program.margins.margins(solution.w), program.examples.d0 > 0
    d = program.regularizer.conjugate_at(-m).d  # d(w)
    np.testing.assert_allclose(
        np.log(d[support] / d0[support]) + m[support] + solution.multipliers["beta"], 0, atol=1e-9
    )
    assert solution.multipliers["beta"] == pytest.approx(math.log(float(d0 @ np.exp(-m))), abs=1e-12)
    np.testing.assert_allclose(program.margins.edges(solution.d), program.parameters.rho, atol=1e-13)
    np.testing.assert_allclose(program.margins.edges(d), program.parameters.rho, atol=1e-5)


@pytest.mark.parametrize("seed", range(10))
def test_the_closed_form_of_a_hypothesis_that_is_right_or_wrong(seed: int) -> None:
    rng = np.random.default_rng(seed)
    u, d0, rho = rng.choice([-1.0, 1.0], 30), rng.dirichlet(np.ones(30)), float(rng.uniform(-0.7, 0.7))
    certificate = projection(u[:, np.newaxis], rho=rho, d0=d0).certify(w=[math.atanh(u @ d0) - math.atanh(rho)])
    assert certificate.gap <= 1e-11
    assert certificate.contains(
        0.5 * (1 + rho) * math.log((1 + rho) / (1 + u @ d0)) + 0.5 * (1 - rho) * math.log((1 - rho) / (1 - u @ d0))
    )


@pytest.mark.parametrize("seed", range(10))
def test_one_column_is_a_root(seed: int) -> None:
    rng = np.random.default_rng(seed)
    u, d0, rho = rng.uniform(-1, 1, 30), rng.dirichlet(np.ones(30)), float(rng.uniform(-0.5, 0.5))
    program, step = projection(u[:, np.newaxis], rho=rho, d0=d0), slow_step(u, rho, d0)
    assert program.certify(w=[step]).gap <= 1e-11
    assert program.solve("cvxpy:clarabel", tol=1e-12).w[0] == pytest.approx(step, abs=1e-5)


def test_several_columns_are_what_projecting_onto_one_after_the_other_comes_to() -> None:
    """Cyclic projections converge to the projection onto the intersection; the first round is not there yet."""
    rng = np.random.default_rng(3)
    U, rho, start = rng.uniform(-1, 1, (20, 3)), 0.05, rng.dirichlet(np.ones(20))
    d, rounds = start, list[np.ndarray]()
    for _ in range(200):
        for u in U.T:
            d = d * np.exp(-slow_step(u, rho, d) * u)
            d = d / d.sum()
        rounds.append(d)
    solution = projection(U, rho=rho, d0=start).solve("cvxpy:clarabel", tol=1e-12)
    np.testing.assert_allclose(solution.d, rounds[-1], atol=1e-6)
    assert np.abs(solution.d - rounds[0]).max() > 1e-3


@pytest.mark.parametrize("backend", ("cvxpy:clarabel", "cvxpy:scs"))
@pytest.mark.parametrize("rho", (0.61, 1.0, -0.46, -1.0))
def test_outside_the_range_of_the_column_it_is_infeasible(rho: float, backend: str) -> None:
    """The column lies in [-0.45, 0.6] over the live examples; the dead one has 1."""
    u, d0 = np.array([0.6, -0.45, 0.3, 1.0]), np.array([0.3, 0.3, 0.4, 0.0])
    solution = projection(u[:, np.newaxis], rho=rho, d0=d0).solve(backend)
    assert solution.outcome is Outcome.INFEASIBLE
    assert solution.certificate.infeasible
    assert solution.certificate.excess == pytest.approx(max(rho - 0.6, -0.45 - rho), abs=1e-12)
    assert (u[d0 > 0] * solution.w[0]).min() - rho * solution.w[0] == pytest.approx(solution.certificate.excess)


@pytest.mark.parametrize("backend", ("cvxpy:clarabel", "cvxpy:scs"))
def test_several_columns_are_infeasible_exactly_where_a_linear_program_is(backend: str) -> None:
    outcomes = set[bool]()
    for seed in range(many(12, 4)):
        rng = np.random.default_rng(seed)
        U, rho = rng.uniform(-1, 1, (int(rng.integers(4, 30)), 3)), float(rng.uniform(-0.8, 0.8))
        answer: Any = scipy.optimize.linprog(
            np.zeros(len(U)), A_eq=np.vstack([U.T, np.ones(len(U))]), b_eq=[rho, rho, rho, 1.0]
        )
        solution = projection(U, rho=rho).solve(backend, tol=1e-6)
        assert solution.certificate.infeasible == (answer.status == 2)
        outcomes.add(solution.certificate.infeasible)
        if solution.certificate.infeasible:
            assert (U @ solution.w).min() > rho * solution.w.sum()
        else:
            assert solution.certificate.scaled_gap <= 1e-6
    assert outcomes == {True, False}


@pytest.mark.parametrize(("rho", "weight"), ((1.0, 0.1 + 0.25), (-1.0, 0.2)))
def test_at_the_end_of_the_range_the_weight_moves_onto_the_face(rho: float, weight: float) -> None:
    """The dual is not attained; the optimum is -ln of what d0 gives to the examples whose u is rho."""
    certificate = projection(REFERENCE_U[:, :1], rho=rho, d0=REFERENCE_D0).solve("cvxpy:clarabel", tol=1e-8).certificate
    assert certificate.scaled_gap <= 1e-8
    assert certificate.contains(-math.log(weight))
    on_face = REFERENCE_U[:, 0] == rho
    np.testing.assert_allclose(certificate.d, np.where(on_face, REFERENCE_D0, 0.0) / weight, atol=1e-12)


def test_at_the_end_of_one_range_the_other_columns_still_count() -> None:
    """u1 = rho on the first three examples alone, and u2 has the edge rho there."""
    U = np.array([[0.5, 0.1], [0.5, 0.9], [0.5, 0.4], [-0.2, 1.0], [0.1, -1.0]])
    d0 = np.array([0.3, 0.1, 0.2, 0.3, 0.1])
    certificate = projection(U, rho=0.5, d0=d0).solve("cvxpy:clarabel", tol=1e-7).certificate
    face = projection(U[:3, 1:], rho=0.5, d0=d0[:3] / 0.6).solve("cvxpy:clarabel", tol=1e-11).certificate
    assert certificate.scaled_gap <= 1e-7
    assert certificate.contains(face.upper - math.log(0.6))
    np.testing.assert_allclose(certificate.d[:3], face.d, atol=1e-6)
    assert not certificate.d[3:].any()


def test_examples_without_reference_weight_are_as_if_dropped() -> None:
    d0 = np.array([0.5, 0, 0.2, 0, 0.1, 0.2])
    support = d0 > 0
    whole = projection(REFERENCE_U, rho=0.02, d0=d0).solve("cvxpy:clarabel:dual-rated", tol=1e-11)
    dropped = projection(REFERENCE_U[support], rho=0.02, d0=d0[support]).solve("cvxpy:clarabel:dual-rated", tol=1e-11)
    assert whole.certificate.overlaps(dropped.certificate)
    np.testing.assert_allclose(whole.d[support], dropped.d, atol=1e-5)
    assert not whole.d[~support].any()


def test_k_copies_of_an_example_are_multiplicity_k() -> None:
    c = np.array([1, 3, 1, 2, 1, 1])
    merged = projection(REFERENCE_U, rho=0.02, c=c).solve("cvxpy:clarabel", tol=1e-12)
    copies = projection(np.repeat(REFERENCE_U, c, axis=0), rho=0.02).solve("cvxpy:clarabel", tol=1e-12)
    assert merged.certificate.upper == pytest.approx(copies.certificate.upper, abs=1e-9)
    assert merged.certificate.lower == pytest.approx(copies.certificate.lower, abs=1e-9)
    np.testing.assert_allclose(np.repeat(merged.d / c, c), copies.d, atol=1e-6)


def test_rho_is_an_edge() -> None:
    with pytest.raises(ProblemError, match=r"^rho\b.*\[-1, 1\].*\b1\.5\b"):
        projection(REFERENCE_U, rho=1.5)
    with pytest.raises(ProblemError, match="rho="):
        projection(REFERENCE_U)
