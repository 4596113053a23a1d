"""Norm ball: the page against the package, the cap as a special case, and numbers known in advance."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from agreement import assert_problems_agree, best_edge, bind, random_program
from support.problems import REFERENCE_D0, REFERENCE_U

from boostopt import OptionError, ProblemError, Program, get_formulation

pytestmark = pytest.mark.every(2)

FORMS = [(p, entropy) for p in (1.5, 2.0, 3.0, math.inf) for entropy in (False, True)]


def norm_ball(U: object, **parameters: object) -> Program:
    return bind("norm_ball", U, **parameters)


def random(seed: int, p: float, entropy: bool, two_sided: bool = False, by: float = 1.5) -> Program:
    """Return a random program with a ball of `by` times the smallest radius."""
    one = random_program(seed)
    total = float(len(one.U)) if one.c is None else float(one.c.sum())
    d0 = None if one.d0 is None else 0.5 * one.d0 + 0.5 / len(one.U)
    rest: dict[str, object] = {"eta": one.eta, "d0": d0} if entropy else {}
    return norm_ball(one.U, r=by * total ** (1 / p - 1), p=p, c=one.c, two_sided=two_sided, **rest)


def slow_norm(d: np.ndarray, c: np.ndarray, p: float) -> float:
    """The p-norm of the copies, c_n of them with the weight d_n / c_n."""
    if math.isinf(p):
        return float((np.abs(d) / c).max())
    return float((c * (np.abs(d) / c) ** p).sum()) ** (1 / p)


def test_structure_by_hand() -> None:
    """N = 3, t = 2, r = 0.7, p = 2, c = (1, 2, 1), d0 = (1/4, 1/2, 1/4).

    Primal  min gamma + (1/3) sum d ln(d / d0)
            s.t.  d1 - d2/2 + d3 <= gamma,  -d1 + d2 <= gamma,  sqrt(d1^2 + d2^2 / 2 + d3^2) <= 0.7,  sum d = 1,  d >= 0
    Dual    max -(1/3) ln[ exp(-3 (w1 - w2 + s1)) / 4 + exp(-3 (-w1/2 + w2 + s2)) / 2 + exp(-3 (w1 + s3)) / 4 ]
                - 0.7 sqrt(s1^2 + 2 s2^2 + s3^2)      s.t.  w1 + w2 = 1,  w, s >= 0
            without the entropy  max rho - 0.7 sqrt(...)   s.t.  U w >= rho - s  besides
    """
    U = np.array([[1.0, -1.0], [-0.5, 1.0], [1.0, 0.0]])
    d, gamma, d0 = np.array([0.2, 0.5, 0.3]), 0.4, np.array([0.25, 0.5, 0.25])
    s, size = np.array([0.6, 0.1, 0.2]), math.sqrt(0.36 + 2 * 0.01 + 0.04)
    program = norm_ball(U, r=0.7, eta=3, c=[1, 2, 1])
    primal, dual = program.cvxpy("primal", "literal"), program.cvxpy("dual", "literal")
    assert [c.label for c in primal.constraints] == ["w", "mu", "beta", "d >= 0"]
    assert [c.label for c in dual.constraints] == ["gamma", "w >= 0", "s >= 0"]
    primal.var_dict["d"].value, primal.var_dict["gamma"].value = d, gamma
    assert primal.objective.value == pytest.approx(gamma + sum(d * np.log(d / d0)) / 3)
    ball = primal.constraints[1]
    assert float(ball.args[0].value) == pytest.approx(math.sqrt(0.04 + 0.125 + 0.09))
    dual.var_dict["w"].value, dual.var_dict["s"].value = [0.25, 0.75], s
    inside = (
        0.25 * math.exp(-3 * (0.25 - 0.75 + 0.6))
        + 0.5 * math.exp(-3 * (-0.125 + 0.75 + 0.1))
        + 0.25 * math.exp(-3 * (0.25 + 0.2))
    )
    assert dual.objective.value == pytest.approx(-math.log(inside) / 3 - 0.7 * size)

    pure_ball = norm_ball(U, r=0.7, c=[1, 2, 1], two_sided=True)
    primal, dual = pure_ball.cvxpy("primal", "literal"), pure_ball.cvxpy("dual", "literal")
    assert [c.label for c in primal.constraints] == ["w+", "w-", "mu", "beta", "d >= 0"]
    assert [c.label for c in dual.constraints] == ["d", "gamma", "s >= 0"]
    dual.var_dict["rho"].value, dual.var_dict["s"].value = 0.1, s
    assert dual.objective.value == pytest.approx(0.1 - 0.7 * size)


@pytest.mark.every(3)
@pytest.mark.parametrize(("p", "entropy"), FORMS)
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
def test_literal_derived_and_certified_values_agree(seed: int, p: float, entropy: bool) -> None:
    assert_problems_agree(random(seed, p, entropy, two_sided=seed % 2 == 1), tol=1e-8)


@pytest.mark.every(2)
@pytest.mark.parametrize(("p", "entropy"), FORMS)
def test_scs_reaches_the_same_interval(p: float, entropy: bool) -> None:
    program = random(3, p, entropy)
    exact, rough = (program.solve(backend, tol=1e-6).certificate for backend in ("cvxpy:clarabel", "cvxpy:scs"))
    assert max(exact.scaled_gap, rough.scaled_gap) <= 1e-6
    assert exact.overlaps(rough)


def test_reference_number() -> None:
    """Two-sided, the 2-norm at most 1/2."""
    certificate = norm_ball(REFERENCE_U, r=0.5, two_sided=True).solve("cvxpy:clarabel", tol=1e-10).certificate
    assert certificate.lower == pytest.approx(0.0444874399, abs=1e-9)
    assert certificate.upper == pytest.approx(0.0444874399, abs=1e-9)


@pytest.mark.parametrize("p", (1.5, 2.0, 3.0))
@pytest.mark.parametrize("seed", range(4))
def test_kkt_system_of_the_page(seed: int, p: float) -> None:
    """The multipliers at the solution, d(w) of which only the norm is not exact."""
    for entropy in (False, True):
        program = random(seed, p, entropy)
        solution, q = program.solve("cvxpy:clarabel", tol=1e-9), p / (p - 1)
        c, r, m = program.examples.c, program.parameters.r, program.margins.margins(solution.w)
        d = program.regularizer.conjugate_at(-m).d
        beta, s = float(solution.multipliers["beta"]), np.asarray(solution.multipliers["s"])
        mu = float((c * s**q).sum()) ** (1 / q)
        norm = slow_norm(d, c, p)
        assert norm <= r * (1 + 1e-12)
        assert mu * (r - norm) == pytest.approx(0, abs=1e-8)
        np.testing.assert_allclose(s, mu * (d / (c * norm)) ** (p - 1), atol=1e-6)
        if entropy:
            d0, eta = program.examples.d0, program.parameters.eta
            # Times d: what holds d within the ball in spite of rounding is large beside weights of 1e-12.
            np.testing.assert_allclose(d * (np.log(d / d0) / eta + m + s + beta), 0, atol=1e-10)
        else:
            np.testing.assert_allclose(s, np.maximum(-beta - m, 0), atol=1e-9)
            np.testing.assert_allclose(d * (m + s + beta), 0, atol=1e-9)
        edges = program.margins.edges(solution.d)
        np.testing.assert_allclose(solution.w * (edges.max() - edges), 0, atol=1e-7)


@pytest.mark.parametrize("entropy", (False, True))
def test_the_infinite_norm_is_the_cap(entropy: bool) -> None:
    rng, c = np.random.default_rng(0), np.array([1, 3, 1, 2, 1, 1.5])
    rest: dict[str, Any] = {"eta": 4.0, "d0": REFERENCE_D0} if entropy else {}
    for two_sided in (False, True):
        ball = norm_ball(REFERENCE_U, r=1 / 2.5, p=math.inf, c=c, two_sided=two_sided, **rest)
        capped = bind("erlpboost" if entropy else "lpboost", REFERENCE_U, nu=2.5, c=c, two_sided=two_sided, **rest)
        for _ in range(10):
            d, w = rng.normal(size=6), rng.normal(size=3)
            one, certificate = ball.certify(d=d, w=w), capped.certify(d=d, w=w)
            assert (one.lower, one.upper) == (certificate.lower, certificate.upper)
    assert ball.cones == capped.cones


def test_from_radius_1_on_it_is_the_hard_margin() -> None:
    hard = best_edge(REFERENCE_U, np.ones(6))
    for r in (1.0, 7.0):
        for p in (1.5, 2.0, math.inf):
            certificate = norm_ball(REFERENCE_U, r=r, p=p).solve("cvxpy:clarabel", tol=1e-8).certificate
            assert certificate.lower <= hard + 1e-12
            assert certificate.upper >= hard - 1e-12


def test_at_the_smallest_radius_the_uniform_distribution_is_all_there_is() -> None:
    for p in (1.5, 2.0, 3.0, math.inf):
        smallest = 6 ** (1 / p - 1)
        solution = norm_ball(REFERENCE_U, r=smallest, p=p).solve("cvxpy:clarabel", tol=1e-6)
        np.testing.assert_allclose(solution.d, 1 / 6, atol=1e-6)
        assert solution.certificate.upper == pytest.approx(REFERENCE_U.mean(axis=0).max(), abs=1e-6)
        with pytest.raises(ProblemError):
            norm_ball(REFERENCE_U, r=smallest * 0.99, p=p)


def test_the_value_grows_as_the_ball_shrinks() -> None:
    values = [norm_ball(REFERENCE_U, r=r).solve("cvxpy:clarabel").certificate for r in (0.9, 0.7, 0.55, 0.45, 0.41)]
    assert all(later.upper > earlier.lower for earlier, later in itertools.pairwise(values))
    assert values[-1].lower > values[0].upper + 0.1


def test_the_optimum_agrees_with_a_smooth_minimization() -> None:
    """No part of boostopt: sequential quadratic programming on (d, gamma)."""
    c = np.array([1, 3, 1, 2, 1, 1.5])
    for p in (1.5, 2.0, 3.0):
        r = 1.2 * c.sum() ** (1 / p - 1)
        answer: Any = scipy.optimize.minimize(
            lambda x: x[-1],
            np.append(c / c.sum(), 0.5),
            bounds=[*[(0, 1)] * 6, (-1, 1)],
            constraints=[
                {"type": "eq", "fun": lambda x: x[:-1].sum() - 1},
                {"type": "ineq", "fun": lambda x: x[-1] - REFERENCE_U.T @ x[:-1]},
                {"type": "ineq", "fun": lambda x, p=p, r=r: r - slow_norm(x[:-1] + 1e-12, c, p)},
            ],
            method="SLSQP",
            options={"ftol": 1e-13, "maxiter": 500},
        )
        solution = norm_ball(REFERENCE_U, r=r, p=p, c=c).solve("cvxpy:clarabel", tol=1e-8)
        assert solution.certificate.upper == pytest.approx(answer.fun, abs=1e-7)
        assert slow_norm(solution.d, c, p) <= r * (1 + 1e-14)


def test_large_eta_recovers_the_ball_alone() -> None:
    pure_certificate = norm_ball(REFERENCE_U, r=0.5).solve("cvxpy:clarabel").certificate
    for eta in (1e2, 1e4):
        program = norm_ball(REFERENCE_U, r=0.5, eta=eta)
        certificate = program.solve("cvxpy:clarabel", tol=1e-8).certificate
        assert certificate.scaled_gap <= 1e-8
        assert pure_certificate.lower <= certificate.upper
        assert certificate.lower <= pure_certificate.upper + program.regularizer.value_bound


@pytest.mark.parametrize("entropy", (False, True))
def test_two_sided_is_the_class_closed_under_negation(entropy: bool) -> None:
    rest: dict[str, Any] = {"eta": 5.0} if entropy else {}
    one = norm_ball(REFERENCE_U, r=0.5, two_sided=True, **rest).solve("cvxpy:clarabel", tol=1e-9)
    closed = norm_ball(np.column_stack([REFERENCE_U, -REFERENCE_U]), r=0.5, **rest).solve("cvxpy:clarabel", tol=1e-9)
    assert one.certificate.overlaps(closed.certificate)
    np.testing.assert_allclose(one.w, closed.w[:3] - closed.w[3:], atol=1e-4)


@pytest.mark.parametrize(("p", "entropy"), FORMS)
def test_k_copies_of_an_example_are_multiplicity_k(p: float, entropy: bool) -> None:
    c = np.array([1, 3, 1, 2, 1, 1])
    U = np.random.default_rng(4).uniform(-1, 1, (6, 3))
    r = 1.4 * 9 ** (1 / p - 1)
    rest: dict[str, Any] = {"eta": 4.0, "d0": REFERENCE_D0} if entropy else {}
    of_copies: dict[str, Any] = {"eta": 4.0, "d0": np.repeat(REFERENCE_D0 / c, c)} if entropy else {}
    merged = norm_ball(U, r=r, p=p, c=c, **rest).solve("cvxpy:clarabel", tol=1e-9)
    copies = norm_ball(np.repeat(U, c, axis=0), r=r, p=p, **of_copies).solve("cvxpy:clarabel", tol=1e-9)
    assert merged.certificate.scaled_gap <= 1e-9
    assert merged.certificate.overlaps(copies.certificate)
    assert merged.certificate.upper == pytest.approx(copies.certificate.upper, abs=2e-9)
    w = np.random.default_rng(0).dirichlet(np.ones(3))
    merged_bound = norm_ball(U, r=r, p=p, c=c, **rest).certify(w=w).lower
    copied_bound = norm_ball(np.repeat(U, c, axis=0), r=r, p=p, **of_copies).certify(w=w).lower
    assert merged_bound == pytest.approx(copied_bound, abs=1e-11)


def test_the_iteration_bound_needs_the_entropy() -> None:
    def bound(**parameters: object) -> float:
        program = norm_ball(np.ones((40, 2)), r=0.5, epsilon=0.05, **parameters)
        return get_formulation("norm_ball").boosting.iteration_bound(program)

    assert bound(eta=2 / 0.05 * math.log(40)) == pytest.approx(32 / 0.05**2 * math.log(40))
    assert bound() == math.inf


def test_parameters() -> None:
    with pytest.raises(ProblemError, match=r"\br="):
        norm_ball(REFERENCE_U)
    with pytest.raises(ProblemError, match=r"^p\b.*\[1\.01, 100\] or inf\b.*\b1\b"):
        norm_ball(REFERENCE_U, r=0.5, p=1.0)
    with pytest.raises(OptionError, match="nu"):
        norm_ball(REFERENCE_U, r=0.5, nu=2)


def test_the_reference_says_nothing_without_the_entropy() -> None:
    certificates = [norm_ball(REFERENCE_U, r=0.5, d0=d0).certify(w=[0.3, 0.4, 0.3]) for d0 in (None, REFERENCE_D0)]
    assert certificates[0].lower == certificates[1].lower
