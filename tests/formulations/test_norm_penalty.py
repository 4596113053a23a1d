"""Norm penalty: the page against the package, its link to the ball and the cap, and numbers known in advance."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from agreement import assert_problems_agree, best_edge, bind, random_program
from support.problems import REFERENCE_D0, REFERENCE_U

from boostopt import ProblemError, Program, get_formulation

pytestmark = pytest.mark.every(2)

FORMS = [(p, entropy) for p in (1.5, 2.0, 3.0, math.inf) for entropy in (False, True)]


def norm_penalty(U: object, **parameters: object) -> Program:
    return bind("norm_penalty", U, **parameters)


def random(seed: int, p: float, entropy: bool, two_sided: bool = False) -> Program:
    one = random_program(seed)
    d0 = None if one.d0 is None else 0.5 * one.d0 + 0.5 / len(one.U)
    rest: dict[str, object] = {"eta": one.eta, "d0": d0} if entropy else {}
    r = float(np.exp(np.random.default_rng(seed).uniform(-3, 1)))
    return norm_penalty(one.U, r=r, p=p, c=one.c, two_sided=two_sided, **rest)


def slow_norm(d: np.ndarray, c: np.ndarray, p: float) -> float:
    """The p-norm of the copies, c_n of them with the weight d_n / c_n."""
    if math.isinf(p):
        return float((np.abs(d) / c).max())
    return float((c * (np.abs(d) / c) ** p).sum()) ** (1 / p)


def test_structure_by_hand() -> None:
    """N = 3, t = 2, r = 0.7, p = 2, c = (1, 2, 1), d0 = (1/4, 1/2, 1/4).

    Primal  min gamma + 0.7 sqrt(d1^2 + d2^2 / 2 + d3^2) + (1/3) sum d ln(d / d0)
            s.t.  d1 - d2/2 + d3 <= gamma,  -d1 + d2 <= gamma,  d1 + d2 + d3 = 1,  d >= 0
    Dual    max -(1/3) ln[ exp(-3 (w1 - w2 + s1)) / 4 + exp(-3 (-w1/2 + w2 + s2)) / 2 + exp(-3 (w1 + s3)) / 4 ]
            s.t.  sqrt(s1^2 + 2 s2^2 + s3^2) <= 0.7,  w1 + w2 = 1,  w, s >= 0
            without the entropy  max rho   s.t.  U w >= rho - s  besides
    """
    U = np.array([[1.0, -1.0], [-0.5, 1.0], [1.0, 0.0]])
    d, gamma, d0 = np.array([0.2, 0.5, 0.3]), 0.4, np.array([0.25, 0.5, 0.25])
    norm = math.sqrt(0.04 + 0.125 + 0.09)
    program = norm_penalty(U, r=0.7, eta=3, c=[1, 2, 1])
    primal, dual = program.cvxpy("primal", "literal"), program.cvxpy("dual", "literal")
    assert [c.label for c in primal.constraints] == ["w", "beta", "d >= 0"]
    assert [c.label for c in dual.constraints] == ["norm d", "gamma", "w >= 0", "s >= 0"]
    primal.var_dict["d"].value, primal.var_dict["gamma"].value = d, gamma
    assert primal.objective.value == pytest.approx(gamma + 0.7 * norm + sum(d * np.log(d / d0)) / 3)
    dual.var_dict["w"].value, dual.var_dict["s"].value = [0.25, 0.75], [0.6, 0.1, 0.2]
    inside = (
        0.25 * math.exp(-3 * (0.25 - 0.75 + 0.6))
        + 0.5 * math.exp(-3 * (-0.125 + 0.75 + 0.1))
        + 0.25 * math.exp(-3 * (0.25 + 0.2))
    )
    assert dual.objective.value == pytest.approx(-math.log(inside) / 3)
    ball = dual.constraints[0]
    assert float(ball.args[0].value) == pytest.approx(math.sqrt(0.36 + 2 * 0.01 + 0.04))

    pure_penalty = norm_penalty(U, r=0.7, c=[1, 2, 1])
    primal, dual = pure_penalty.cvxpy("primal", "literal"), pure_penalty.cvxpy("dual", "literal")
    primal.var_dict["d"].value, primal.var_dict["gamma"].value = d, gamma
    assert primal.objective.value == pytest.approx(gamma + 0.7 * norm)
    assert [c.label for c in dual.constraints] == ["d", "norm d", "gamma", "w >= 0", "s >= 0"]


@pytest.mark.every(3, 1)
@pytest.mark.parametrize(("p", "entropy"), FORMS)
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
def test_literal_derived_and_certified_values_agree(seed: int, p: float, entropy: bool) -> None:
    assert_problems_agree(random(seed, p, entropy, two_sided=seed % 2 == 1), tol=1e-8)


@pytest.mark.thorough_cases("3.0-False")
@pytest.mark.parametrize(("p", "entropy"), FORMS)
def test_scs_reaches_the_same_interval(p: float, entropy: bool) -> None:
    program = random(3, p, entropy)
    exact, rough = (program.solve(backend, tol=1e-6).certificate for backend in ("cvxpy:clarabel", "cvxpy:scs"))
    assert max(exact.scaled_gap, rough.scaled_gap) <= 1e-6
    assert exact.overlaps(rough)


def test_reference_number() -> None:
    """Two-sided, with 0.3 of the 2-norm."""
    certificate = norm_penalty(REFERENCE_U, r=0.3, two_sided=True).solve("cvxpy:clarabel", tol=1e-10).certificate
    assert certificate.lower == pytest.approx(0.1719999238, abs=1e-9)
    assert certificate.upper == pytest.approx(0.1719999238, abs=1e-9)


@pytest.mark.parametrize("p", (1.5, 2.0, 3.0))
@pytest.mark.parametrize("seed", range(4))
def test_kkt_system_of_the_page(seed: int, p: float) -> None:
    for entropy in (False, True):
        program = random(seed, p, entropy)
        solution = program.solve("cvxpy:clarabel", tol=1e-9)
        c, r, m = program.examples.c, program.parameters.r, program.margins.margins(solution.w)
        d = program.regularizer.conjugate_at(-m).d
        beta, s = float(solution.multipliers["beta"]), np.asarray(solution.multipliers["s"])
        np.testing.assert_allclose(s, r * (d / (c * slow_norm(d, c, p))) ** (p - 1), atol=1e-6)
        if entropy:
            d0, eta = program.examples.d0, program.parameters.eta
            np.testing.assert_allclose(d * (np.log(d / d0) / eta + m + s + beta), 0, atol=1e-10)
        else:
            np.testing.assert_allclose(s, np.maximum(-beta - m, 0), atol=1e-9)
            np.testing.assert_allclose(d * (m + s + beta), 0, atol=1e-9)
        edges = program.margins.edges(solution.d)
        np.testing.assert_allclose(solution.w * (edges.max() - edges), 0, atol=1e-7)


@pytest.mark.parametrize("p", (1.5, 2.0, 3.0, math.inf))
def test_the_answer_is_that_of_the_ball_whose_radius_is_its_norm(p: float) -> None:
    c = np.array([1, 3, 1, 2, 1, 1.5])
    for rest in ({}, {"eta": 4.0, "d0": REFERENCE_D0}):
        one = norm_penalty(REFERENCE_U, r=0.3, p=p, c=c, **rest).solve("cvxpy:clarabel", tol=1e-10)
        radius = slow_norm(one.d, c, p)
        ball = bind("norm_ball", REFERENCE_U, r=radius, p=p, c=c, **rest).solve("cvxpy:clarabel", tol=1e-9)
        assert one.certificate.upper - 0.3 * radius == pytest.approx(ball.certificate.upper, abs=1e-5)
        np.testing.assert_allclose(one.d, ball.d, atol=1e-4)


@pytest.mark.thorough
def test_the_infinite_norm_chooses_the_cap() -> None:
    """The optimum is the largest soft margin minus r / nu, over all caps."""
    rng = np.random.default_rng(0)
    U, r = rng.uniform(-1, 1, (20, 3)), 1.5
    certificate = norm_penalty(U, r=r, p=math.inf).solve("cvxpy:highs", tol=1e-10).certificate
    caps = np.linspace(1 / 20, 1, 400)
    values = [best_edge(U, np.full(20, cap)) + r * cap for cap in caps]
    assert min(values) >= certificate.lower
    assert min(values) <= certificate.upper + 5e-3
    best_cap = float(certificate.d.max())
    assert 1 / 20 + 1e-3 < best_cap < 1 - 1e-3
    assert best_edge(U, np.full(20, best_cap)) + r * best_cap == pytest.approx(certificate.upper, abs=1e-9)


def test_a_weight_that_stays_near_1_under_the_penalty() -> None:
    """One example is so much worse that its cap, 1 less 1e-70, is not representable: its multiplier is."""
    U = np.array([[-1.0, -0.9], [0.8, 0.9], [0.9, 0.7], [0.7, 0.8]])
    program = norm_penalty(U, r=0.3, p=math.inf, eta=240.0)
    certificate = program.certify(w=[0.5, 0.5])
    point = program.regularizer.conjugate_at(-program.margins.margins(np.array([0.5, 0.5])))
    np.testing.assert_allclose(point.multipliers["s"], [0.3, 0, 0, 0], atol=1e-12)
    # All of d on the first example: its margin, the norm 1 and the logarithm of its share.
    assert certificate.lower == pytest.approx(-0.95 + 0.3 + math.log(4) / 240, abs=1e-11)


def test_a_small_penalty_is_the_hard_margin() -> None:
    hard = best_edge(REFERENCE_U, np.ones(6))
    for p in (1.5, 2.0, math.inf):
        certificate = norm_penalty(REFERENCE_U, r=1e-6, p=p).solve("cvxpy:clarabel", tol=1e-8).certificate
        assert hard - 1e-9 <= certificate.upper
        assert certificate.lower <= hard + 1e-6


def test_a_large_penalty_leaves_the_uniform_distribution() -> None:
    for p in (1.5, 2.0, 3.0, math.inf):
        solution = norm_penalty(REFERENCE_U, r=1e4, p=p).solve("cvxpy:clarabel", tol=1e-8)
        np.testing.assert_allclose(solution.d, 1 / 6, atol=1e-3)
        best = float(REFERENCE_U.mean(axis=0).max())
        assert solution.certificate.upper == pytest.approx(best + 1e4 * 6 ** (1 / p - 1), abs=2e-4)


@pytest.mark.parametrize("entropy", (False, True))
def test_two_sided_is_the_class_closed_under_negation(entropy: bool) -> None:
    rest: dict[str, Any] = {"eta": 5.0} if entropy else {}
    one = norm_penalty(REFERENCE_U, r=0.3, two_sided=True, **rest).solve("cvxpy:clarabel", tol=1e-9)
    closed = norm_penalty(np.column_stack([REFERENCE_U, -REFERENCE_U]), r=0.3, **rest).solve("cvxpy:clarabel", tol=1e-9)
    assert one.certificate.overlaps(closed.certificate)
    np.testing.assert_allclose(one.w, closed.w[:3] - closed.w[3:], atol=1e-4)


@pytest.mark.parametrize(("p", "entropy"), FORMS)
def test_k_copies_of_an_example_are_multiplicity_k(p: float, entropy: bool) -> None:
    c = np.array([1, 3, 1, 2, 1, 1])
    U = np.random.default_rng(4).uniform(-1, 1, (6, 3))
    rest: dict[str, Any] = {"eta": 4.0, "d0": REFERENCE_D0} if entropy else {}
    of_copies: dict[str, Any] = {"eta": 4.0, "d0": np.repeat(REFERENCE_D0 / c, c)} if entropy else {}
    programs = (
        norm_penalty(U, r=0.4, p=p, c=c, **rest),
        norm_penalty(np.repeat(U, c, axis=0), r=0.4, p=p, **of_copies),
    )
    merged, copies = (program.solve("cvxpy:clarabel", tol=1e-9).certificate for program in programs)
    assert merged.scaled_gap <= 1e-9
    assert merged.overlaps(copies)
    assert merged.upper == pytest.approx(copies.upper, abs=2e-9)
    w = np.random.default_rng(0).dirichlet(np.ones(3))
    merged_bound, copied_bound = (program.certify(w=w).lower for program in programs)
    assert merged_bound == pytest.approx(copied_bound, abs=1e-11)


def test_the_iteration_bound_needs_the_entropy() -> None:
    def bound(**parameters: object) -> float:
        program = norm_penalty(np.ones((40, 2)), r=0.5, epsilon=0.05, **parameters)
        return get_formulation("norm_penalty").boosting.iteration_bound(program)

    assert bound(eta=2 / 0.05 * math.log(40)) == pytest.approx(32 / 0.05**2 * math.log(40))
    assert bound() == math.inf


def test_r_is_required_and_positive() -> None:
    with pytest.raises(ProblemError, match=r"\br="):
        norm_penalty(REFERENCE_U)
    with pytest.raises(ProblemError, match=r"^r\b.*1e-100.*-0\.5\b"):
        norm_penalty(REFERENCE_U, r=-0.5)
