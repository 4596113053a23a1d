"""Regularizers known by a CVXPY expression alone: bounds by tangents."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.optimize
import typechecker
from support.reference_formulas import junk, optimum, points, program
from support.speeds import many

from boostopt import ProblemError
from boostopt.authoring import prototype
from boostopt.functions.edge_functions.largest_edge import MaximumEdge
from boostopt.functions.regularizers.capped_simplex import CappedSimplex
from boostopt.functions.regularizers.capped_simplex_indicator import CappedSimplexIndicator
from boostopt.functions.regularizers.relative_entropy import RelativeEntropy
from boostopt.functions.regularizers.weighted_squares import Squares
from boostopt.programs.cvxpy_functions.cvxpy_regularizer import CvxpyRegularizer
from boostopt.programs.cvxpy_functions.partial_minimum import PartialMinimum

pytestmark = pytest.mark.every(2)

N = 8
RNG = np.random.default_rng(0)
C = RNG.uniform(0.5, 2.0, N)
DOMAIN = CappedSimplex(C, 0.3 * float(C.sum()))
INSIDE = C / C.sum()
D0 = 0.5 * INSIDE + 0.5 * RNG.dirichlet(np.ones(N))
Q = (lambda A: A @ A.T / N + 0.1 * np.eye(N))(RNG.normal(size=(N, N)))
GROUP = (np.arange(N) < 3).astype(float)

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "entropy": lambda d: cp.sum(cp.rel_entr(d, D0)) / 5.0,
    "Tsallis 1.5": lambda d: cp.sum(cp.power(d, 1.5)),
    "Tsallis 0.5": lambda d: -cp.sum(cp.power(d, 0.5)) / 10.0,
    "quadratic": lambda d: cp.quad_form(d, cp.psd_wrap(Q)),
    "zero": lambda d: 0.0,
    "norm": lambda d: 0.3 * cp.norm2(d),
}
CONSTRAINTS: dict[str, Callable[[Any], list[Any]]] = {
    "none": lambda d: [],
    "group": lambda d: [GROUP @ d <= 0.5],
    "several": lambda d: [GROUP @ d <= 0.6, cp.norm2(d) <= 0.55, -d[0] <= -0.01],
}


def regularizer(f: str, constraints: str = "none") -> CvxpyRegularizer:
    return CvxpyRegularizer(DOMAIN, FUNCTIONS[f], INSIDE, CONSTRAINTS[constraints])


def feasible(F: CvxpyRegularizer, constraints: str, rng: np.random.Generator) -> list[np.ndarray]:
    """Return points of C_nu, moved to the inner point until CVXPY reports no violation."""
    d, feasible_points = cp.Variable(N), list[np.ndarray]()
    conditions = CONSTRAINTS[constraints](d)
    for point in points(rng, DOMAIN.upper, 6):
        for share in (0.0, 0.1, 0.3, 0.6, 1.0):
            d.value = (1 - share) * point + share * INSIDE
            if all(float(np.max(condition.violation())) <= 1e-14 for condition in conditions):
                feasible_points.append(np.asarray(d.value))
                break
    return feasible_points


def supremum(F: CvxpyRegularizer, z: np.ndarray) -> tuple[float, np.ndarray]:
    """A solver's maximum of <z, d> - F(d) and where."""
    d = cp.Variable(N)
    value, constraints = F.cvxpy_value(d)
    return optimum(cp.Problem(cp.Maximize(z @ d - value), constraints)), np.asarray(d.value)


@pytest.mark.thorough
@pytest.mark.parametrize("constraints", CONSTRAINTS)
@pytest.mark.parametrize("f", FUNCTIONS)
def test_the_tangent_bounds_the_conjugate_wherever_it_is_taken(f: str, constraints: str) -> None:
    rng = np.random.default_rng(1)
    F, z = regularizer(f, constraints), rng.uniform(-1, 1, N)
    inside = feasible(F, constraints, rng)
    best, d = supremum(F, z)
    scale = 1e-12 * (1 + F.magnitude)
    for start in (*inside[:4], F.project(d), F.project(None), None):
        conjugate_point = F.conjugate_at(z, start)
        assert conjugate_point.value >= best - 1e-7
        assert max(F.residuals(conjugate_point.d).values()) <= 1e-12
        for point in inside:
            gaps, gap = F.gaps(point, z, conjugate_point), F.value(point) + conjugate_point.value - point @ z
            assert (gaps >= 0).all()
            assert gap >= -scale
            assert gaps.sum() == pytest.approx(gap, abs=10 * scale)


@pytest.mark.thorough_cases("entropy-none")
@pytest.mark.parametrize("constraints", ("none", "several"))
@pytest.mark.parametrize("f", FUNCTIONS)
def test_the_bound_is_tight_where_it_is_told_a_maximizer(f: str, constraints: str) -> None:
    F = regularizer(f, constraints)
    z = np.random.default_rng(2).uniform(-1, 1, N)
    best, d = supremum(F, z)
    assert F.conjugate_at(z, F.project(d)).value <= best + 1e-5
    assert F.conjugate_at(z).value <= best + 1e-5  # it finds one by itself
    assert z @ F.maximizer(z) - F.value(F.maximizer(z)) >= best - 1e-6


@pytest.mark.thorough
def test_an_entropy_that_is_described_is_that_of_the_closed_form() -> None:
    exact, F = RelativeEntropy(DOMAIN, 5.0, D0), regularizer("entropy")
    for seed in range(5):
        rng = np.random.default_rng(seed)
        z = rng.uniform(-1, 1, N)
        point = exact.conjugate_at(z)
        bound = F.conjugate_at(z, point.d)
        assert point.value - 1e-13 <= bound.value <= point.value + 1e-9
        for d in points(rng, DOMAIN.upper):
            assert F.value(d) == pytest.approx(exact.value(d), abs=1e-13)
            assert F.conjugate_at(z, d).value >= point.value - 1e-13


def test_squares_that_are_described_are_those_of_the_closed_form() -> None:
    exact = CappedSimplexIndicator(DOMAIN) + Squares(C, 4.0)
    F = CvxpyRegularizer(DOMAIN, lambda d: 2.0 * cp.sum(cp.multiply(1 / C, cp.square(d))), INSIDE)
    for seed in range(many(5, 1)):
        z = np.random.default_rng(seed).uniform(-1, 1, N)
        point = exact.conjugate_at(z)
        assert point.value - 1e-13 <= F.conjugate_at(z, point.d).value <= point.value + 1e-9


@pytest.mark.thorough
@pytest.mark.parametrize("constraints", ("none", "several"))
@pytest.mark.parametrize("f", ("entropy", "quadratic", "norm"))
def test_any_junk_is_repaired(f: str, constraints: str) -> None:
    F = regularizer(f, constraints)
    for q in junk(N, np.random.default_rng(3)):
        d = F.project(q)
        assert np.isfinite(d).all()
        assert max(F.residuals(d).values()) <= 1e-12
        assert np.isfinite(F.value(d))
        assert min(F.residuals(q).values()) >= 0.0
        if not np.isfinite(q).all():
            assert set(F.residuals(q).values()) == {np.inf}
        assert F.conjugate_at(np.zeros(N), d).value >= -F.value(d) - 1e-13


def test_a_point_of_the_domain_is_left_where_it_is() -> None:
    F = regularizer("quadratic", "several")
    for d in feasible(F, "several", np.random.default_rng(4)):
        np.testing.assert_allclose(F.project(d), d, atol=1e-14)


def test_the_worst_constraint_is_measured() -> None:
    F = regularizer("zero", "group")
    d = np.where(np.arange(N) < 3, 1 / 3, 0.0)
    assert F.residuals(d)["h(d) <= 0"] == pytest.approx(0.5)
    repaired = F.project(d)
    assert GROUP @ repaired <= 0.5 + 1e-15
    assert GROUP @ repaired == pytest.approx(0.5, abs=1e-12)  # drawn no farther in than needed


@pytest.mark.parametrize(
    ("f", "constraints", "cones"),
    [
        ("zero", "group", {"linear"}),
        ("quadratic", "none", {"linear", "quadratic"}),
        ("entropy", "none", {"linear", "exponential"}),
        ("norm", "none", {"linear", "second_order"}),
        ("zero", "several", {"linear", "second_order"}),
        ("Tsallis 1.5", "none", {"linear", "power"}),
    ],
)
def test_the_cones_are_read_from_the_expression(f: str, constraints: str, cones: set[str]) -> None:
    regularizer_cones = regularizer(f, constraints).cones
    # CVXPY writes 3/2-th powers with cones of the second order where it can.
    assert regularizer_cones == cones or (f == "Tsallis 1.5" and regularizer_cones == {"linear", "second_order"})


def test_stationarity_holds_the_gradient_and_the_normals_of_active_constraints() -> None:
    F = regularizer("quadratic", "several")
    active = F.project(np.where(np.arange(N) < 3, 1.0, 0.0))
    stationarity = F.stationarity(active, 1e-6)
    np.testing.assert_allclose(stationarity.gradient, 2 * Q @ active, atol=1e-5)  # taken 1e-6 of the way inside
    assert stationarity.normals.shape[1] >= 1
    inner = F.stationarity(INSIDE, 1e-6)
    assert inner.normals.shape == (N, 0)
    np.testing.assert_allclose(inner.gradient, 2 * Q @ INSIDE, atol=1e-12)


def test_a_conjugate_is_computed_once_at_each_point_and_nobody_changes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    F, z = regularizer("norm"), RNG.normal(size=N)
    maximized_points, maximize = list[np.ndarray](), PartialMinimum.maximize
    monkeypatch.setattr(PartialMinimum, "maximize", lambda self, z: maximized_points.append(z) or maximize(self, z))
    first, second = F.conjugate_at(z), F.conjugate_at(z.copy())
    assert len(maximized_points) == 1 and second is first
    with pytest.raises(ValueError, match="read-only"):
        first.d[0] = 1.0
    assert F.conjugate_at(z + 1.0).value > first.value + 0.9
    assert len(maximized_points) == 2


def test_equal_bytes_of_other_numbers_are_another_point() -> None:
    F = CvxpyRegularizer(CappedSimplex(np.ones(4), 1.0), lambda d: cp.sum_squares(d), np.full(4, 0.25))
    assert F.conjugate_at(np.array([5e-324, 0.0, 0.0, 0.0])).value == pytest.approx(-0.25, abs=1e-9)
    with typechecker.unchecked():
        assert F.conjugate_at(np.array([1, 0, 0, 0])).value == pytest.approx(0.1875, abs=1e-9)


def test_constraints_have_no_parameters_whose_value_may_change() -> None:
    cap = cp.Parameter(name="cap", value=0.3)
    with pytest.raises(ProblemError, match=r"\bconstraints\b.*\bparameter\b.*\bcap\b"):
        CvxpyRegularizer(DOMAIN, FUNCTIONS["quadratic"], INSIDE, lambda d: [d[0] <= cap])


def test_copies_compute_conjugates_anew() -> None:
    bounds = np.full(N, 10.0)

    def transported(d: Any) -> Any:
        x = cp.Variable(N, bounds=[-bounds, bounds])
        return -cp.sum(x) + cp.sum_squares(d), [cp.sum(x) <= 1e4]

    F, z = CvxpyRegularizer(DOMAIN, transported, INSIDE), np.zeros(N)
    old_value = F.conjugate_at(z).value
    bounds *= 4.0
    again = copy.deepcopy(F).conjugate_at(z).value
    assert old_value == pytest.approx(10.0 * N, rel=0.1) and again > 1.5 * old_value


def test_a_described_function_has_no_closed_form_conjugate() -> None:
    F = regularizer("entropy")
    assert not F.has_closed_form_conjugate
    assert np.isnan(F.value_bound)
    with pytest.raises(ProblemError, match=r"\bconjugate\b.*\bprimal\b"):
        F.cvxpy_conjugate(np.zeros(N))


def test_the_support_bounds_linear_functions_on_the_domain() -> None:
    rng = np.random.default_rng(5)
    F = regularizer("entropy", "several")
    for _ in range(5):
        z = rng.normal(size=N)
        assert max(d @ z for d in feasible(F, "several", rng)) <= F.support(z) + 1e-14


def test_one_example() -> None:
    F = CvxpyRegularizer(CappedSimplex(np.ones(1), 1.0), lambda d: cp.sum_squares(d), np.ones(1))
    point = F.conjugate_at(np.array([0.3]))
    assert point.value == pytest.approx(0.3 - 1.0, abs=1e-9)
    np.testing.assert_array_equal(point.d, [1.0])


@pytest.mark.parametrize("seed", (6, 9, 12))
def test_a_constraint_without_a_gradient_at_zero_weights(seed: int) -> None:
    """A ball of the relative entropy: its gradient is infinite at zeros, and the tangent is taken beside them.

    The supremum is that of the one-dimensional dual, min over mu of mu kappa + mu ln sum d0 exp(z / mu).
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 8))
    d0, z, kappa = np.full(n, 1 / n), rng.uniform(-1, 1, n), float(rng.uniform(0.5, 0.9) * np.log(n))
    inside = 0.8 * d0 + 0.2 * rng.dirichlet(np.full(n, 0.5))
    F = CvxpyRegularizer(
        CappedSimplex(np.ones(n), 1.0), lambda d: 0.0, inside, lambda d: [cp.sum(cp.rel_entr(d, d0)) <= kappa]
    )

    def dual(log_mu: float) -> float:
        mu = np.exp(log_mu)
        return float(mu * kappa + mu * np.log((d0 * np.exp((z - z.max()) / mu)).sum()) + z.max())

    answer: Any = scipy.optimize.minimize_scalar(dual, bounds=(-8, 6), method="bounded", options={"xatol": 1e-10})
    for d in points(rng, np.ones(n), 20):
        assert F.conjugate_at(z, F.project(d)).value >= answer.fun - 1e-9
    U = rng.uniform(-1, 1, (n, 2))
    pair = program(U, F, MaximumEdge())
    best = pair.solve("cvxpy:clarabel", tol=1e-5).certificate
    for d in points(rng, np.ones(n), 10):
        certificate = pair.certify(d=d, w=rng.dirichlet(np.ones(2)))
        assert certificate.lower <= best.upper
        assert certificate.upper >= best.lower


def test_a_description_that_cvxpy_cannot_compile_has_an_interval() -> None:
    # Two geometric means by power cones of different sizes: CVXPY 1.9 raises a ValueError, and no solver is called.
    def describe(d: Any) -> Any:
        return -cp.geo_mean(d[:3], approx=False) - cp.geo_mean(d[3:], approx=False)

    F = CvxpyRegularizer(CappedSimplex(np.ones(7), 2.0), describe, np.full(7, 1 / 7))
    means = prototype("means", lambda p, examples: F).bind(np.eye(7)[:, :3] - 0.5)
    certificate = means.certify(d=np.full(7, 1 / 7), w=np.full(3, 1 / 3))
    assert np.isfinite([certificate.lower, certificate.upper]).all()
    assert certificate.lower <= certificate.upper
