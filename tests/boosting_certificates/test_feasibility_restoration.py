"""Weights whose edges lie in the domain of an edge function, checked in rational arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from support.reference_formulas import exact_edges, junk, points, program
from support.speeds import many

import boostopt
from boostopt.boosting_certificates.feasibility_restoration import (
    edge_rounding_error,
    is_exactly_feasible,
    restore_feasibility,
)
from boostopt.boosting_certificates.primal_dual_certifier import Certifier
from boostopt.functions.edge_functions.base import EdgeFunction, Polyhedron
from boostopt.functions.edge_functions.edge_bound_indicators import BoundedEdges, FixedEdges
from boostopt.functions.edge_functions.largest_edge import MaximumEdge
from boostopt.functions.edge_functions.tied_edges import TiedEdges
from boostopt.functions.regularizers.binary_entropy import BinaryEntropy
from boostopt.functions.regularizers.capped_simplex import CappedSimplex
from boostopt.functions.regularizers.capped_simplex_indicator import CappedSimplexIndicator
from boostopt.functions.regularizers.loss_conjugates import Hinge
from boostopt.functions.regularizers.norms.norm_regularizers import NormBall, simplex
from boostopt.functions.regularizers.relative_entropy import RelativeEntropy
from boostopt.functions.regularizers.separable import Separable
from boostopt.programs.cvxpy_functions.cvxpy_regularizer import CvxpyRegularizer
from boostopt.rows.margin_matrix import MarginMatrix

pytestmark = pytest.mark.every(2)

seeds = st.integers(0, 2**32 - 1)
Make = Callable[[int], Separable]

REGULARIZERS: dict[str, Make] = {
    "cap": lambda N: CappedSimplexIndicator(CappedSimplex(np.ones(N), 0.3 * N)),
    "entropy": lambda N: RelativeEntropy.capped(np.ones(N), 0.3 * N, 5.0, np.full(N, 1 / N)),
    "binary": lambda N: BinaryEntropy(np.full(N, 1 / (0.3 * N)), 5.0, np.full(N, 1 / N)),
}


def least_bound(U: np.ndarray, caps: np.ndarray) -> tuple[float, np.ndarray]:
    """The smallest bound of the edges that some capped distribution satisfies, by a linear program, and where."""
    N, t = U.shape
    answer: scipy.optimize.OptimizeResult = scipy.optimize.linprog(
        np.append(np.zeros(N), 1.0),
        A_ub=np.column_stack([U.T, -np.ones(t)]),
        b_ub=np.zeros(t),
        A_eq=np.append(np.ones(N), 0.0)[np.newaxis],
        b_eq=[1.0],
        bounds=[*((0.0, cap) for cap in caps.tolist()), (None, None)],
    )
    return float(answer.fun), np.asarray(answer.x[:N])


def exact_answer(C: list[list[Fraction]], room: list[Fraction], remainder: list[Fraction]) -> list[Fraction] | None:
    """The point d - room C y with C' room C y = left, as moves of d; None if there is none. C by columns."""
    k, N = len(C), len(room)
    rows = [[sum((C[i][n] * room[n] * C[j][n] for n in range(N)), Fraction(0)) for j in range(k)] for i in range(k)]
    rows = [[*row, value] for row, value in zip(rows, remainder, strict=True)]
    pivots = list[int]()
    for j in range(k):
        pivot = next((i for i in range(len(pivots), k) if rows[i][j] != 0), None)
        if pivot is None:
            continue
        i = len(pivots)
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][j] for x in rows[i]]
        for target_row in range(k):
            if target_row != i:
                rows[target_row] = [x - rows[target_row][j] * y for x, y in zip(rows[target_row], rows[i], strict=True)]
        pivots.append(j)
    if any(row[k] != 0 for row in rows[len(pivots) :]):
        return None
    y = [Fraction(0)] * k
    for i, j in enumerate(pivots):
        y[j] = rows[i][k]
    return [room[n] * sum((C[j][n] * y[j] for j in range(k)), Fraction(0)) for n in range(N)]


def assert_cost_is_true(U: np.ndarray, F: Separable, G: FixedEdges | TiedEdges, d: np.ndarray, cost: float) -> None:
    """Assert that an exactly feasible point exists at which F + G is at most `cost` above its value at d."""
    x = [Fraction(float(weight)) for weight in d]
    columns = [[Fraction(float(u)) for u in column] for column in U.T]
    if isinstance(G, FixedEdges):
        conditions, bounds = columns, [Fraction(float(G.rho))] * len(columns)
    else:
        conditions, bounds = [[u - v for v, u in zip(*columns, strict=True)]], [Fraction(0)]
    C, b = [*conditions, [Fraction(1)] * len(d)], [*bounds, Fraction(1)]
    remainder = [
        sum((c * w for c, w in zip(one, x, strict=True)), Fraction(0)) - v for one, v in zip(C, b, strict=True)
    ]
    moves = exact_answer(C, [Fraction(float(r)) for r in F.room(d)], remainder)
    assert moves is not None
    exact = [weight - move for weight, move in zip(x, moves, strict=True)]
    assert sum(exact, Fraction(0)) == 1
    edges = exact_edges(U, exact)
    assert all(e == Fraction(float(G.rho)) for e in edges) if isinstance(G, FixedEdges) else edges[0] == edges[1]
    rounded_up = [Fraction(float(cap)) * (1 + Fraction(1, 10**15)) for cap in F.upper]
    assert all(0 <= weight <= cap for weight, cap in zip(exact, rounded_up, strict=True))
    point = np.array([float(weight) for weight in exact])
    old_value, new_value = F.value(d) + G.value(U.T @ d), F.value(point) + G.value(np.array([float(e) for e in edges]))
    assert new_value <= old_value + cost + 1e-14


@pytest.mark.parametrize("name", REGULARIZERS)
def test_without_conditions_nothing_is_done(name: str) -> None:
    rng = np.random.default_rng(0)
    F, d = REGULARIZERS[name](9), points(rng, np.full(9, 1 / 2.7), 1)[0]
    feasible, cost = restore_feasibility(boostopt.MarginMatrix(rng.uniform(-1, 1, (9, 2))), F, MaximumEdge(), d)
    assert cost == 0.0
    np.testing.assert_array_equal(feasible, d)


@pytest.mark.thorough_cases("cap", "binary")
@pytest.mark.parametrize("name", REGULARIZERS)
@settings(max_examples=10, deadline=None, derandomize=True)
@given(seed=seeds)
def test_a_feasible_point_is_never_moved(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    N, t = int(rng.integers(4, 20)), int(rng.integers(1, 4))
    F, U = REGULARIZERS[name](N), boostopt.MarginMatrix(rng.uniform(-1, 1, (N, t)))
    for d in points(rng, np.full(N, 1 / (0.3 * N))):
        feasible, cost = restore_feasibility(U, F, BoundedEdges(float(U.edges(d).max()) + 1e-13), d)
        assert cost == 0.0
        np.testing.assert_allclose(feasible, d, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", REGULARIZERS)
@pytest.mark.parametrize("margin", (1e-2, 1e-4, 1e-6, 1e-8, 1e-10))
def test_bounded_edges_are_met_exactly_however_near_the_least_bound(name: str, margin: float) -> None:
    """The d of a solver violates the bound by a tolerance. The restored edges satisfy it in rational arithmetic."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        N, t = int(rng.integers(8, 40)), int(rng.integers(2, 5))
        U, F = rng.uniform(-1, 1, (N, t)), REGULARIZERS[name](N)
        min_bound, d = least_bound(U, np.full(N, 1 / (0.3 * N)))
        gamma = min_bound + margin
        mixed = (1 - 0.2 * margin) * d + 0.2 * margin / N
        start = mixed + rng.normal(size=N) * margin * 0.02 / N
        feasible, cost = restore_feasibility(boostopt.MarginMatrix(U), F, BoundedEdges(gamma), F.project(start))
        assert cost == 0.0
        assert max(F.residuals(feasible).values()) <= 1e-12
        assert max(exact_edges(U, [Fraction(float(x)) for x in feasible])) <= Fraction(gamma)
        assert np.abs(feasible - start).max() <= max(10 * margin, 1e-8)  # it is near


def test_a_bound_that_holds_but_for_rounding_is_met_in_fractions() -> None:
    """The edges in floating point do not exceed the bound: those in rational arithmetic must not either."""
    rng, exceeded = np.random.default_rng(3), 0
    for _ in range(40):
        U, F = rng.uniform(-1, 1, (12, 2)), REGULARIZERS["cap"](12)
        d = F.project(0.5 * points(rng, F.upper, 1)[0] + 0.5 / 12)
        gamma = float(boostopt.MarginMatrix(U).edges(d).max())
        exceeded += max(exact_edges(U, [Fraction(float(x)) for x in d])) > Fraction(gamma)
        feasible, cost = restore_feasibility(boostopt.MarginMatrix(U), F, BoundedEdges(gamma), d)
        assert cost == 0.0
        assert max(exact_edges(U, [Fraction(float(x)) for x in feasible])) <= Fraction(gamma)
        np.testing.assert_allclose(feasible, d, atol=1e-12)
    assert exceeded > 5  # it is not for nothing


@pytest.mark.parametrize("seed", range(20))
def test_a_point_on_its_bound_is_told_from_one_a_rounding_beside_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    N = int(rng.integers(2, 8))
    u = rng.integers(-(2**26), 2**26, N) / 2.0**26
    d = rng.multinomial(2**20, np.ones(N) / N) / 2.0**20
    exact = exact_edges(u[:, np.newaxis], [Fraction(float(x)) for x in d])[0]
    assert Fraction(float(exact)) == exact
    F = RelativeEntropy.capped(np.ones(N), 1.0, 5.0, np.full(N, 1 / N))
    edge = float(exact)
    first, last = boostopt.MarginMatrix(u[:, np.newaxis]), boostopt.MarginMatrix(-u[:, np.newaxis])
    for one, bound in ((first, edge), (last, -edge)):
        assert is_exactly_feasible(one, F, Polyhedron(None, np.array([bound]), np.array([bound])), d)
        for point in (np.nextafter(bound, 2), np.nextafter(bound, -2)):
            assert not is_exactly_feasible(one, F, Polyhedron(None, np.array([point]), np.array([point])), d)
    assert not is_exactly_feasible(first, F, Polyhedron(None, np.array([edge]), np.array([edge])), np.nextafter(d, 2))


def test_the_only_feasible_point_proves_its_value() -> None:
    """Two hypotheses that are each other's negation leave SoftBoost one distribution at gamma = 0."""
    softboost = boostopt.get_formulation("softboost").bind(np.array([[1.0, -1.0], [-1.0, 1.0]]), nu=1, gamma=0.0)
    certificate = softboost.certify(d=np.array([0.5, 0.5]))
    assert certificate.lower <= 0.0 <= certificate.upper <= 1e-14


@pytest.mark.parametrize("seed", range(10))
def test_a_feasible_d_without_room_is_taken_as_it_was_given_and_its_file_claims_the_lower_end(
    seed: int, tmp_path: Path
) -> None:
    """The two edges sum to 2 gamma: both are gamma, and the checker's floats cannot tell them from more."""
    rng = np.random.default_rng(seed)
    N = int(rng.integers(3, 7))
    u, d = rng.integers(-8, 9, N) / 16.0, rng.multinomial(64, np.ones(N) / N) / 64.0
    gamma = float(u @ d)
    U = np.column_stack([u, 2.0 * gamma - u])
    assert np.abs(U).max() <= 1.0
    bound = boostopt.get_formulation("softboost").bind(U, nu=1, gamma=gamma)
    certificate = bound.certify(d)
    assert np.array_equal(Certifier(bound.margins, bound.regularizer, bound.edge_function, d).feasible_d, d)
    assert certificate.lower <= certificate.upper <= bound.regularizer.value(d) + 1e-12
    assert certificate.upper < bound.regularizer.value_bound or (d == 1.0).any()
    certificate.save(tmp_path / "proof.json", bound)
    verified = boostopt.verify(tmp_path / "proof.json", U)
    assert verified and verified.lower <= certificate.upper and verified.upper >= certificate.lower


@pytest.mark.parametrize("name", REGULARIZERS)
def test_below_the_least_bound_nothing_is_claimed(name: str) -> None:
    for seed in range(4):
        rng = np.random.default_rng(seed)
        U, F = rng.uniform(-1, 1, (15, 3)), REGULARIZERS[name](15)
        min_bound, d = least_bound(U, np.full(15, 1 / 4.5))
        for distance in (1e-2, 1e-9):
            for start in (d, *points(rng, np.full(15, 1 / 4.5), 1)):
                assert (
                    restore_feasibility(
                        boostopt.MarginMatrix(U), F, BoundedEdges(min_bound - distance), F.project(start)
                    )[1]
                    == np.inf
                )


@pytest.mark.thorough
@pytest.mark.parametrize("name", REGULARIZERS)
@settings(max_examples=8, deadline=None, derandomize=True)
@given(seed=seeds)
def test_the_cost_of_an_equation_is_an_upper_bound(name: str, seed: int) -> None:
    """Columns of any size, independent or nearly equal: the exactly feasible point is computed in fractions."""
    rng = np.random.default_rng(seed)
    N = int(rng.integers(4, 8))
    F, u = REGULARIZERS[name](N), rng.uniform(-0.9, 0.9, N)
    inside = 0.5 * points(rng, np.full(N, 1 / (0.3 * N)), 1)[0] + 0.5 / N
    for size in (1.0, 1e-3, 1e-6, 1e-9, 1e-12, 1e-15):
        target = u + 0.1 * size * rng.uniform(-1, 1, N)
        cases: list[tuple[np.ndarray, FixedEdges | TiedEdges]] = [
            ((size * u)[:, np.newaxis], FixedEdges(float(size * u @ inside))),
            (np.column_stack([u, target]), FixedEdges(float(u @ inside))),
            (np.column_stack([u, target - (target - u) @ inside]), TiedEdges()),
        ]
        for U, G in cases:
            start = F.project(inside + rng.normal(size=N) * 1e-6)
            feasible, cost = restore_feasibility(boostopt.MarginMatrix(U), F, G, start)
            assert cost >= 0.0
            if np.isfinite(cost):
                assert max(F.residuals(feasible).values()) <= 1e-12
                assert_cost_is_true(U, F, G, feasible, cost)


@pytest.mark.parametrize("name", REGULARIZERS)
@pytest.mark.parametrize("size", (1.0, 1e-6, 1e-12, 1e-100))
def test_equations_with_small_numbers_are_met_like_others(name: str, size: float) -> None:
    rng = np.random.default_rng(1)
    F, u = REGULARIZERS[name](8), rng.uniform(-1, 1, 8)
    feasible, cost = restore_feasibility(
        boostopt.MarginMatrix((size * u)[:, np.newaxis]), F, FixedEdges(0.0), np.full(8, 1 / 8)
    )
    assert cost < 1e-12
    assert abs(u @ feasible) < 1e-14


def test_nearly_equal_columns_are_not_claimed_to_be_met() -> None:
    """The second column differs in one last digit: only weights that are 0 there have both edges at 0."""
    u = np.array([0.5, -0.5, 0.25, -0.25, 0.75, -0.75])
    U = np.column_stack([u, u + np.array([2.0**-53, 0, 0, 0, 0, 0])])
    F = RelativeEntropy.capped(np.ones(6), 1.0, 1.0, np.full(6, 1 / 6))
    assert restore_feasibility(boostopt.MarginMatrix(U), F, FixedEdges(0.0), np.full(6, 1 / 6))[1] == np.inf
    without = np.array([0.0, 0.2, 0.2, 0.2, 0.3, 0.1])
    assert exact_edges(U, [Fraction(float(x)) for x in without])[0] != 0  # there are such weights, near these


def test_equal_columns_are_one_condition() -> None:
    rng = np.random.default_rng(2)
    u = rng.uniform(-1, 1, 7)
    F = RelativeEntropy.capped(np.ones(7), 1.0, 1.0, np.full(7, 1 / 7))
    one = restore_feasibility(boostopt.MarginMatrix(u[:, np.newaxis]), F, FixedEdges(0.0), np.full(7, 1 / 7))
    for U in (np.column_stack([u, u]), np.column_stack([u, -u, np.zeros(7)])):
        feasible, cost = restore_feasibility(boostopt.MarginMatrix(U), F, FixedEdges(0.0), np.full(7, 1 / 7))
        assert cost == pytest.approx(one[1], rel=1.0)
        assert np.abs(U.T @ feasible).max() <= 1e-15


def test_equal_edges_of_equal_columns_are_met_by_everything() -> None:
    u = np.random.default_rng(3).uniform(-1, 1, 5)
    d = np.array([0.3, 0.1, 0.2, 0.3, 0.1])
    feasible, cost = restore_feasibility(
        boostopt.MarginMatrix(np.column_stack([u, u])),
        CappedSimplexIndicator(CappedSimplex(np.ones(5), 2.0)),
        TiedEdges(),
        d,
    )
    assert cost == 0.0
    np.testing.assert_allclose(feasible, d, rtol=1e-12)


@pytest.mark.parametrize("G", (BoundedEdges(-1.0), FixedEdges(1.0), FixedEdges(-1.0)))
def test_a_bound_at_the_end_of_what_an_edge_can_be_forces_a_face(G: EdgeFunction) -> None:
    """Only the examples that attain the bound can have weight, and there it holds without rounding."""
    sign = 1.0 if isinstance(G, FixedEdges) and G.rho == 1.0 else -1.0
    U = sign * np.array([[1.0], [1.0], [0.5], [-1.0], [1.0]])
    F = RelativeEntropy.capped(np.ones(5), 1.0, 2.0, np.full(5, 0.2))
    feasible, cost = restore_feasibility(
        boostopt.MarginMatrix(U), F, G, F.project(np.array([0.3, 0.3, 1e-9, 1e-12, 0.4]))
    )
    assert cost == 0.0
    assert feasible[2] == feasible[3] == 0.0
    np.testing.assert_allclose(feasible[[0, 1, 4]], [0.3, 0.3, 0.4], atol=1e-8)


def test_equation_on_a_domain_of_one_point_holds_up_to_rounding() -> None:
    U = np.random.default_rng(4).uniform(-1, 1, (9, 1))
    F = CappedSimplexIndicator(CappedSimplex(np.ones(9), 9.0))
    d, rho = np.full(9, 1 / 9), float(U.mean())
    assert restore_feasibility(boostopt.MarginMatrix(U), F, FixedEdges(rho), d)[1] == 0.0
    assert restore_feasibility(boostopt.MarginMatrix(U), F, FixedEdges(rho + 1e-12), d)[1] == np.inf


@settings(max_examples=many(30, 6), deadline=None, derandomize=True)
@given(seeds)
def test_weights_without_the_simplex_are_lowered(seed: int) -> None:
    """The hinge's: 0 is always feasible where the bound is positive; the largest sum that is found is near the best."""
    rng = np.random.default_rng(seed)
    N, t = int(rng.integers(2, 12)), int(rng.integers(1, 4))
    U, F = rng.uniform(-1, 1, (N, t)), Hinge(rng.uniform(0.5, 2, N), float(rng.uniform(0.1, 3)))
    for start in (F.upper, F.upper * rng.random(N), np.zeros(N)):
        feasible, cost = restore_feasibility(boostopt.MarginMatrix(U), F, BoundedEdges(1.0), start)
        assert cost == 0.0
        assert (feasible >= 0).all()
        assert (feasible <= F.upper).all()
        assert max(exact_edges(U, [Fraction(float(x)) for x in feasible])) <= 1
    distance = restore_feasibility(boostopt.MarginMatrix(np.abs(U)), F, BoundedEdges(-0.1), F.upper)
    assert distance[1] == np.inf  # no weights have an edge below 0 where no entry is


def test_feasibility_restoration_without_known_steps_claims_nothing() -> None:
    """No distance to the boundary of a ball or a description is known. If an equation fails, its cost is infinite."""
    rng = np.random.default_rng(5)
    U, uniform = boostopt.MarginMatrix(rng.uniform(-1, 1, (6, 1))), np.full(6, 1 / 6)
    ball = NormBall(simplex(np.ones(6)), np.ones(6), 2.0, 0.6)
    regularizer = CvxpyRegularizer(CappedSimplex(np.ones(6), 2.0), lambda d: cp.sum_squares(d), uniform)
    edge = float(U.edges(uniform)[0])
    for F in (ball, regularizer):
        for rho in (edge + 1e-9, edge):
            assert restore_feasibility(U, F, FixedEdges(rho), uniform)[1] == np.inf
        assert restore_feasibility(U, F, BoundedEdges(edge + 1e-9), uniform)[1] == 0.0


@pytest.mark.every(3)
@pytest.mark.parametrize("G", (BoundedEdges(0.05), FixedEdges(0.05), TiedEdges()))
@pytest.mark.parametrize("name", REGULARIZERS)
def test_no_answer_however_bad_breaks_a_bound(name: str, G: EdgeFunction) -> None:
    """Junk for d and w, against the interval that a solver's answer proves."""
    rng = np.random.default_rng(6)
    pair = program(rng.uniform(-1, 1, (12, 2)), REGULARIZERS[name](12), G)
    best = pair.solve("cvxpy:clarabel", tol=1e-9).certificate
    assert best.gap < 1e-8
    for d in (*junk(12, rng)[::2], *points(rng, np.full(12, 1 / 3.6), 2), None):
        for w in (junk(2, rng)[0], rng.normal(size=2)):
            certificate = pair.certify(d=d, w=w)
            assert certificate.lower <= certificate.upper
            assert certificate.lower <= best.upper
            assert certificate.upper >= best.lower
            assert (certificate.example_gaps >= 0).all()
            assert (certificate.hypothesis_gaps >= 0).all()


def best_weights(U: np.ndarray, nu: float) -> np.ndarray:
    """Weights of the largest soft margin, by a linear program: the proof where the bound is below it."""
    N, t = U.shape
    answer: scipy.optimize.OptimizeResult = scipy.optimize.linprog(
        np.concatenate([np.zeros(t), [-1.0], np.full(N, 1 / nu)]),
        A_ub=np.column_stack([-U, np.ones(N), -np.eye(N)]),
        b_ub=np.zeros(N),
        A_eq=np.concatenate([np.ones(t), np.zeros(N + 1)])[np.newaxis],
        b_eq=[1.0],
        bounds=[*((0, None) for _ in range(t)), (None, None), *((0, None) for _ in range(N))],
    )
    return np.asarray(answer.x[:t])


@pytest.mark.every(3)
@pytest.mark.parametrize("name", REGULARIZERS)
@pytest.mark.parametrize("distance", (0.3, 1e-2, 1e-5, 1e-8))
def test_the_excess_is_by_how_much_the_bound_is_missed(name: str, distance: float) -> None:
    """A lower bound of min over d of max e - gamma, and the whole of it for the best w."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        N, t = int(rng.integers(5, 25)), int(rng.integers(1, 5))
        U = rng.uniform(-1, 1, (N, t))
        min_bound, _ = least_bound(U, np.full(N, 1 / (0.3 * N)))
        pair, best = program(U, REGULARIZERS[name](N), BoundedEdges(min_bound - distance)), best_weights(U, 0.3 * N)
        for w in (best, 1e6 * best, best + rng.normal(size=t), rng.exponential(size=t)):
            certificate = pair.certify(w=w)
            assert certificate.excess <= distance + 1e-10
            assert certificate.infeasible == (certificate.excess > 0)
            certifier = Certifier(pair.margins, pair.regularizer, pair.edge_function, rng.dirichlet(np.ones(N)))
            assert certifier.proves_infeasible(w) == certifier.certify(w).infeasible
        proof = pair.certify(w=best)
        assert proof.infeasible
        assert proof.excess == pytest.approx(distance, rel=1e-6, abs=1e-9)
        assert (proof.lower, proof.upper, proof.gap) == (np.inf, np.inf, 0.0)
        m = U @ proof.w  # the proof, in other words: no d in C_nu has a smaller product with these margins
        least_product = scipy.optimize.linprog(m, A_eq=np.ones((1, N)), b_eq=[1.0], bounds=(0, 1 / (0.3 * N))).fun
        assert least_product - (min_bound - distance) * proof.w.sum() >= proof.excess - 1e-12


@pytest.mark.thorough
def test_feasible_programs_are_never_said_to_be_infeasible() -> None:
    """300 programs whose bound is the largest edge of a capped d in fractions: noise as w, or the best w there is."""
    rng = np.random.default_rng(0)
    for k in range(300):
        N, t = int(rng.integers(3, 12)), int(rng.integers(1, 4))
        U, nu = np.round(rng.uniform(-1, 1, (N, t)), int(rng.integers(1, 17))), 0.3 * N
        d = least_bound(U, np.full(N, 1 / nu))[1] if k % 4 < 2 else points(rng, np.full(N, 1 / nu), 1)[0]
        d = (1 - 1e-12) * d + 1e-12 / N  # the rounding of the caps does not matter then
        total = sum((Fraction(float(x)) for x in d), Fraction(0))
        edges = exact_edges(U, [Fraction(float(x)) / total for x in d])
        gamma = float(np.nextafter(float(max(edges)), 2.0))
        pair = program(U, REGULARIZERS["cap"](N), BoundedEdges(gamma))
        if k % 5 == 0:
            pair = program(U[:, :1], REGULARIZERS["cap"](N), FixedEdges(float(edges[0])))
        w = best_weights(U, nu) if k % 2 == 0 else rng.normal(size=t) * 10.0 ** rng.integers(-12, 16)
        assert not pair.certify(w=w[: pair.margins.t]).infeasible


def test_edges_that_cannot_be_equal_or_at_a_value_are_proved() -> None:
    rng = np.random.default_rng(1)
    u = rng.uniform(-0.5, 0.5, 8)
    for name, make in REGULARIZERS.items():
        F = make(8)
        infeasible = program(np.column_stack([u, u + 0.01 + 0.1 * rng.random(8)]), F, TiedEdges())
        certificate = infeasible.certify(w=np.array([0.5, 0.5]))
        assert certificate.infeasible, name
        x = infeasible.margins.to_array() @ np.array([-1.0, 1.0])
        assert 0.01 <= certificate.excess <= x.max()
        one = program(u[:, np.newaxis], F, FixedEdges(0.6)).certify(w=np.array([0.0]))
        assert one.infeasible, name
        assert 0.1 - 1e-12 <= one.excess <= 0.6 - u.min()
        opposite = program(np.column_stack([u, -u]), F, FixedEdges(0.1)).certify(w=np.array([-1.0, -1.0]))
        assert opposite.excess == pytest.approx(0.1, abs=1e-12), name  # the edges sum to 0 and should sum to 0.2


def test_weights_without_the_simplex_have_their_own_proofs() -> None:
    """The hinge's box holds 0: a bound below 0 is missed where no entry is negative, and only there."""
    rng = np.random.default_rng(2)
    U, F = rng.uniform(0, 1, (6, 2)), Hinge(np.ones(6), 0.5)
    assert program(U, F, BoundedEdges(-0.1)).certify(w=np.ones(2)).excess == pytest.approx(0.1, abs=1e-12)
    assert not program(U, F, BoundedEdges(0.0)).certify(w=np.ones(2)).infeasible
    assert not program(-U, F, BoundedEdges(-0.1)).certify(w=np.ones(2)).infeasible


@dataclass(frozen=True)
class BoundedSum(MaximumEdge):
    """The largest edge where the edges sum to at most a bound."""

    bound: float = 0.0

    def domain(self, t: int) -> Polyhedron:
        return Polyhedron(np.ones((1, t)), np.array([-np.inf]), np.array([self.bound]))


def test_a_constraint_of_many_edges_counts_the_rounding_of_each() -> None:
    N, t = 6, 64
    U = MarginMatrix(np.tile(np.linspace(-1.0, 1.0, N)[:, np.newaxis], t))
    F = CappedSimplexIndicator(CappedSimplex(np.ones(N), 1.0))
    d = F.project(np.linspace(1.0, 2.0, N))
    rounding = edge_rounding_error(U, 1.0)
    G = BoundedSum(float(U.edges(d).sum()) + 20.0 * rounding)
    restored, cost = restore_feasibility(U, F, G, d)
    assert cost == 0.0
    assert U.edges(restored).sum() <= G.bound - t * rounding


@pytest.mark.parametrize("seed", range(2))
def test_an_equation_that_the_only_weights_satisfy_up_to_rounding_costs_nothing(seed: int) -> None:
    """The convention for equations whose residual is the same at all points of the domain, up to rounding."""
    U = np.random.default_rng(seed).uniform(-1.0, 1.0, (5, 3))
    F = CappedSimplexIndicator(CappedSimplex(np.ones(5), 5.0))
    edges = U.mean(axis=0)
    for k, change in enumerate((0.0, 3e-16, -3e-16)):
        certificate = program(U[:, [k]], F, FixedEdges(float(edges[k]) + change)).certify()
        assert np.isfinite([certificate.lower, certificate.upper]).all() and certificate.gap < 1e-13
    assert program(U[:, :1], F, FixedEdges(float(edges[0]) + 1e-12)).certify(w=[1.0]).upper == np.inf
