"""Bounds at the ends of what is allowed: each of these was once wrong by more than its slack, or no number."""

from __future__ import annotations

import time
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from boostopt import Certificate, ProblemError, get_formulation
from boostopt.authoring import (
    BinaryEntropy,
    BoundedEdges,
    CappedSimplex,
    CappedSimplexIndicator,
    CvxpyEdges,
    CvxpyRegularizer,
    Hinge,
    NormBall,
    RelativeEntropy,
    prototype,
)

NEAR_ONE = [1 - 5e-13, 5e-13]
TWO_EACH = [[1.0], [-1.0], [1.0], [-1.0]]


def certify(name: str, U: Any, w: Any, **parameters: Any) -> Certificate:
    return get_formulation(name).bind(U, **parameters).certify(w=w)


@pytest.mark.parametrize(
    ("name", "U", "parameters", "optimum"),
    [
        # A reference a rounding below its cap is not fixed: at eta = 1e6 the entropy that holds it there is nothing.
        ("binary_erlpboost", [[1.0], [-1.0]], {"nu": 1, "eta": 1e6, "d0": NEAR_ONE}, -0.999943351752304),
        ("norm_ball", [[1.0], [-1.0], [1.0], [-1.0]], {"r": 0.5}, 0.0),
        # sum d = 1, sum d^2 = r^2: the optimum is -sqrt(r^2 - 1/4) sqrt(4) for a column of mean 0 and norm 2.
        (
            "norm_ball",
            [[1.0], [-1.0], [1.0], [-1.0]],
            {"r": 0.5 * (1 + 3e-6)},
            -2 * np.sqrt(0.25 * ((1 + 3e-6) ** 2 - 1)),
        ),
    ],
)
def test_the_optimum_lies_in_the_interval(name: str, U: Any, parameters: dict[str, Any], optimum: float) -> None:
    certificate = certify(name, U, [1.0], **parameters)
    assert certificate.lower - 1e-15 <= optimum <= certificate.upper + 1e-15
    assert certificate.gap < 1e-10


@pytest.mark.parametrize(
    ("name", "U", "w", "parameters"),
    [
        ("binary_softboost", [[1.0], [-1.0]], [1.0], {"nu": 1, "gamma": 0.0, "d0": NEAR_ONE}),
        ("corrective_binary_erlpboost", [[0, 1.0], [0, -1.0]], [1.0, 0.0], {"nu": 1, "eta": 1.0, "segment": False}),
    ],
)
def test_feasible_programs_are_not_called_infeasible(name: str, U: Any, w: Any, parameters: dict[str, Any]) -> None:
    assert not certify(name, U, w, **{"d0": NEAR_ONE} | parameters).infeasible


@pytest.mark.thorough_cases("totalboost-U0-parameters0")
@pytest.mark.parametrize(
    ("name", "U", "parameters"),
    [
        ("totalboost", np.ones((1000, 300)), {"gamma": 1 - 1e-10}),
        ("softboost", [[1.0, 1.0], [1.0, 1.0]], {"nu": 1, "gamma": 1 - 1e-15}),
    ],
)
def test_weights_that_do_not_sum_to_one_meet_no_bound(name: str, U: Any, parameters: dict[str, Any]) -> None:
    """Both are infeasible by less or more than can be proved: there is no upper bound in either case."""
    w = np.zeros(np.shape(U)[1])
    assert certify(name, U, w, **parameters).upper == np.inf
    assert certify("totalboost", np.ones((1000, 300)), np.ones(300), gamma=1 - 1e-10).infeasible


def test_a_bound_that_holds_by_itself_costs_nothing() -> None:
    certificate = certify("softboost", np.ones((3, 2)), [1.0, 1.0], d0=[1.0, 1e-300, 1e-300], nu=1.5, gamma=1.0)
    assert certificate.lower <= certificate.upper
    assert certificate.gap < 1e-11


@pytest.mark.thorough
def test_many_columns_take_no_square_of_their_number() -> None:
    program = get_formulation("totalboost").bind(np.tile([[1, -1]], (4, 5000)), gamma=0.5)
    assert program.certify(w=np.zeros(10_000)).infeasible is False


def test_a_radius_between_one_point_and_a_ball_is_refused() -> None:
    with pytest.raises(ProblemError, match=r"^r\b.* 0\.5, .* 0\.50000049\d*; "):
        certify("norm_ball", [[1.0], [-1.0], [1.0], [-1.0]], [1.0], r=0.5 * (1 + 1e-9))


@pytest.mark.parametrize("eta", (1.0, 1e9))
@pytest.mark.parametrize("lack", (9e-13, 5e-13, 5e-14, 2.0**-53))
def test_free_weights_get_the_mass_that_fixed_weights_leave(lack: float, eta: float) -> None:
    """The first weight stands at its cap a, so that d = (a, 1 - a) is all there is: the optimum is 1 - 2 a."""
    a = 1 - lack
    program = get_formulation("binary_erlpboost").bind(
        [[-1.0, -1.0], [1.0, -1.0]], c=[a, 1.0], nu=1, eta=eta, d0=[a, 1 - a]
    )
    for d in ([1.0, 1.0], [0.5, 0.5], [0.0, 1.0], [1.0, 0.0], [np.nan, 1.0], None):
        for w in ([0.0, 1.0], [1.0, 0.0], None):
            certificate = program.certify(d=d, w=w)
            assert certificate.lower <= 1 - 2 * a <= certificate.upper
            assert certificate.d[0] == a
            assert certificate.d[1] == pytest.approx(1 - a, abs=4e-16)


def exact_binary_margin(e: Fraction, u: Fraction, eta: int) -> Decimal:
    """Return the maximum of <z, d> - F(d) for z = (-1, 1), caps u and d0 = (u - e, 1 - u + e), by halving.

    d = (1 - x, x) with x a root. Stationarity: ln(d_1 / d0_1) - ln((u - d_1) / e) + eta = that of the other side.
    """
    with localcontext(prec=60):
        U, E = (Decimal(v.numerator) / v.denominator for v in (u, e))
        d0 = [U - E, 1 - U + E]

        def slopes(x: Decimal) -> Decimal:
            first, second = ((d / r).ln() - ((U - d) / (U - r)).ln() for d, r in zip((1 - x, x), d0, strict=True))
            return second - eta - (first + eta)

        low, high = max(1 - U, Decimal(0)), min(U, Decimal(1))
        for _ in range(180):
            x = (low + high) / 2
            low, high = (x, high) if slopes(x) < 0 else (low, x)
        terms = [d * (d / r).ln() + (U - d) * ((U - d) / (U - r)).ln() for d, r in zip((1 - low, low), d0, strict=True)]
        return 2 * low - 1 - sum(terms, Decimal(0)) / eta


@pytest.mark.every(2)
@pytest.mark.parametrize("e", (2.0**-53, 2.0**-52, 2.0**-51, 2.0**-50, 2.0**-40))
def test_a_reference_an_ulp_below_its_cap_is_free(e: float) -> None:
    d0 = [1 - e, e]
    certificate = certify("binary_erlpboost", [[1.0], [-1.0]], [1.0], nu=1, eta=1e6, d0=d0)
    optimum = -exact_binary_margin(Fraction(e), Fraction(1), 10**6)
    assert Decimal(certificate.lower) <= optimum <= Decimal(certificate.upper)
    assert certificate.gap < 1e-10
    program = get_formulation("binary_softboost").bind([[1.0], [-1.0]], nu=1, gamma=0.0, d0=d0)
    assert not program.certify(w=[1.0]).infeasible
    # The only other weights than d0 that need no multiplier are (1/2, 1/2), with edge 0.
    value = -np.log(4.0) - np.log(e) - np.log1p(-e)
    assert program.certify(d=[0.5, 0.5], w=[0.0]).upper == pytest.approx(value, rel=1e-12)
    tied = certify(
        "corrective_binary_erlpboost", [[0, 1.0], [0, -1.0]], [1.0, 0.0], nu=1, eta=1.0, d0=d0, segment=False
    )
    assert not tied.infeasible


def test_the_rounding_of_a_cap_does_not_enter_the_distance_to_it() -> None:
    """The float c / nu is half an ulp off, which is any share of what is left between d0 and it."""
    nu = float(np.nextafter(1.0, 2.0))
    for steps in (1, 2, 5, 30_000):
        u = 1 / Fraction(nu)
        d0 = np.array([1 / nu - steps * 2.0**-53, 1 - (1 / nu - steps * 2.0**-53)])
        F = BinaryEntropy.capped(np.ones(2), nu, 1e6, d0)
        e = u - Fraction(float(d0[0]))
        assert abs(Fraction(float(F.cap_distance_or_zero[0])) - e) <= e * Fraction(1, 2**52)
        value = Decimal(F.conjugate_at(np.array([-1.0, 1.0])).value)
        assert abs(value - exact_binary_margin(e, u, 10**6)) < Decimal("1e-14")


@pytest.mark.parametrize("N", (3, 7, 10, 232))
def test_a_reference_computed_as_its_cap_stands_there(N: int) -> None:
    rng = np.random.default_rng(N)
    c, U = rng.uniform(0.1, 3.0, N), rng.uniform(-1, 1, (N, 2))
    total = float(c.sum())
    full = get_formulation("binary_erlpboost").bind(U, nu=total, c=c, eta=1e6, d0=c / total).certify(w=[0.5, 0.5])
    exact = max(sum(Fraction(float(x)) * Fraction(float(k)) for x, k in zip(column, c, strict=True)) for column in U.T)
    best = float(exact / sum(map(Fraction, c.tolist()), Fraction(0)))
    assert full.lower <= best <= full.upper
    np.testing.assert_allclose(full.d, c / total, rtol=1e-14)
    for nu in np.linspace(1.5, 2.5, 7):
        d0 = np.append(1 / nu, np.full(N - 1, (1 - 1 / nu) / (N - 1)))
        assert BinaryEntropy.capped(np.ones(N), float(nu), 1e6, d0).fixed_weights[0] == 1 / nu


def exact_beyond(r: float, N: int) -> Fraction:
    """r^2 N - 1: by how much the square of the radius exceeds that of the smallest 2-norm, relative to it."""
    return Fraction(r) ** 2 * N - 1


@pytest.mark.parametrize("steps", (-2, -1, 0, 1, 2, 5, 16))
def test_a_radius_at_the_smallest_one_is_taken_as_it_is(steps: int) -> None:
    """The optimum is -sqrt(r^2 - 1/4) sqrt(4); below 1/2, where there is none in exact arithmetic, that at 1/2."""
    r = 0.5 * (1 + steps * 2.0**-52) if steps >= 0 else 0.5 * (1 + steps * 2.0**-53)
    certificate = certify("norm_ball", TWO_EACH, [1.0], r=r)
    optimum = -np.sqrt(max(float(exact_beyond(r, 4)), 0.0))
    assert certificate.lower <= optimum <= certificate.upper
    assert certificate.lower == pytest.approx(optimum, abs=2e-14)
    if steps > 0:
        assert certificate.lower < -2e-8


def test_a_radius_between_rounding_and_a_ball_is_refused() -> None:
    for excess in (2e-14, 9e-13, 9e-7):
        with pytest.raises(ProblemError, match=r"^r\b.* 0\.5, .* 0\.50000049\d*; "):
            certify("norm_ball", TWO_EACH, [1.0], r=0.5 * (1 + excess))


@pytest.mark.thorough
@pytest.mark.parametrize("eta", (None, 3.0))
@pytest.mark.parametrize("p", (1.05, 1.5, 2.0, 3.0, 50.0))
def test_a_touching_ball_counts_what_it_allows(p: float, eta: float | None) -> None:
    """Points of the common part, found in 50 digits, are never worth more than F* says, and some are worth nearly it.

    Uneven counts, from thousandths to thousands.
    """
    rng = np.random.default_rng(0)
    attained = 0.0
    for N in (2, 3, 5):
        c, z = np.exp(rng.uniform(-7, 7, N)), rng.uniform(-1, 1, N)
        d0 = rng.dirichlet(np.full(N, 5.0))
        base = (
            RelativeEntropy.capped(np.ones(N), 1.0, eta, d0)
            if eta
            else CappedSimplexIndicator(CappedSimplex(c, float(c.min())))
        )
        F = NormBall(base, c, p, float(c.sum() ** (1 / p - 1) * (1 + 3e-15)))
        assert F.is_singleton
        value, minimum = F.conjugate_at(z).value, float(z @ F.min_norm_point) - base.value(F.min_norm_point)
        slope = z - base.derivatives(F.min_norm_point)
        with localcontext(prec=50):
            counts, P = [Decimal(float(x)) for x in c], Decimal(p)
            total = sum(counts, Decimal(0))
            for y in (slope, *rng.normal(size=(20, N))):
                mean = sum(k * Decimal(float(v)) for k, v in zip(counts, y, strict=True)) / total
                v = [Decimal(float(x)) - mean for x in y]
                low, high = Decimal(0), -1 / min(v)
                for _ in range(160):
                    t = (low + high) / 2
                    norm = sum(k * (1 + t * x) ** P for k, x in zip(counts, v, strict=True)) ** (1 / P) / total
                    low, high = (t, high) if norm <= Decimal(F.r) else (low, t)
                gain = float(
                    low * sum(k * x * Decimal(float(s)) for k, x, s in zip(counts, v, slope, strict=True)) / total
                )
                assert gain <= (value - minimum) * (1 + 1e-6) + 1e-15
                attained = max(attained, gain / (value - minimum))
    assert attained > 0.5


def most_over(z: np.ndarray, caps: list[Fraction]) -> Fraction:
    """The maximum of <d, z> over the distributions below the caps, in rational arithmetic."""
    remaining, value = Fraction(1), Fraction(0)
    for n in np.argsort(-z):
        weight = min(caps[n], remaining)
        remaining, value = remaining - weight, value + weight * Fraction(float(z[n]))
    return value


@pytest.mark.thorough
def test_proofs_of_infeasibility_do_not_drift() -> None:
    """200,000 terms added one by one are off by more than the slack: 120,000 caps sum to 3.3e-12 less than they do."""
    N, K, nu = 200_000, 120_000, 120971.9991
    z = np.repeat([1.0, -1.0], [K, N - K])
    maximum = most_over(np.array([1.0, -1.0]), [Fraction(K) / Fraction(nu), Fraction(N - K) / Fraction(nu)])
    for name in ("lpboost", "erlpboost", "binary_erlpboost"):
        F = (
            get_formulation(name)
            .bind(np.zeros((N, 1), dtype=np.int8), nu=nu, **({} if name == "lpboost" else {"eta": 2.0}))
            .regularizer
        )
        assert Fraction(F.support(z)) >= maximum - Fraction(1, 10**15)
        assert F.support(z) == pytest.approx(float(maximum), abs=1e-15)
    gamma = float(-maximum + Fraction(1, 10**12))
    assert not certify("softboost", -z[:, np.newaxis].astype(np.int8), [1.0], nu=nu, gamma=gamma).infeasible


@pytest.mark.parametrize("seed", range(20))
def test_the_support_is_that_of_rational_arithmetic(seed: int) -> None:
    rng = np.random.default_rng(seed)
    N = int(rng.integers(1, 12))
    c, z = rng.uniform(0.1, 3.0, N), np.round(rng.uniform(-1, 1, N), int(rng.integers(1, 16)))
    nu = float(rng.choice([c.sum(), rng.uniform(c.max(), max(c.sum(), c.max()))]))
    F = CappedSimplexIndicator(CappedSimplex(c, nu))
    exact = most_over(z, [Fraction(float(u)) for u in F.upper])
    assert F.support(z) == pytest.approx(float(exact), abs=1e-15 * (1 + N))


@pytest.mark.thorough
def test_conditions_on_many_examples_take_no_minute() -> None:
    """Feasible by 1.5e-11: the search for exactly feasible weights compares the columns of its equations."""
    N, K, nu = 300_000, 180_000, 210_000.5
    u = np.ones((N, 1), dtype=np.int8)
    u[:K] = -1
    gamma = float(1 - 2 * Fraction(K) / Fraction(nu) + Fraction(1.5e-11))
    program = get_formulation("softboost").bind(u, nu=nu, gamma=gamma)
    start = time.process_time()
    certificate = program.certify(w=[1.0])
    assert time.process_time() - start < 6.0
    assert certificate.upper < np.inf


def described_formulation(f: Any, inside: Any) -> Any:
    return prototype("mine", lambda p, x: CvxpyRegularizer(CappedSimplex(x.c, 1.0), f, np.asarray(inside)))


def test_a_function_has_no_value_outside_its_natural_domain() -> None:
    """CVXPY gives 1 / x a negative value left of 0; the optimum is above -1, for f > 0."""
    formulation = described_formulation(lambda d: 0.01 * cp.inv_pos(d[0] - 0.1), np.ones(3) / 3)
    program = formulation.bind([[1.0], [0.0], [-1.0]])
    best = program.solve("cvxpy:clarabel", tol=1e-5).certificate
    assert -1 < best.lower
    for d in ([0.1 - 1e-9, 0, 0.9], [0, 0, 1.0], [np.nan] * 3):
        assert program.certify(d=d, w=[1.0]).overlaps(best)
        assert program.certify(d=d, w=[1.0]).upper > -1


def test_gradients_of_cvxpy_are_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """CVXPY's gradient of sum_largest with a fractional k violates the subgradient inequality; it is not asked."""
    three = [[0.5], [0.1], [0.7]]
    tail = described_formulation(lambda d: cp.sum_largest(d, 1.5), [0.5, 0.3, 0.2]).bind(three)
    assert tail.certify(d=[0, 0.5, 0.5], w=[1.0]).lower <= tail.solve("cvxpy:clarabel").certificate.upper
    for atom in (cp.quad_over_lin, cp.norm1, cp.abs):
        monkeypatch.setattr(atom, "_grad", lambda *arguments: pytest.fail("a gradient of CVXPY was computed"))
    squares = described_formulation(lambda d: cp.sum_squares(d) + 0.1 * cp.norm1(d), [0.5, 0.3, 0.2]).bind(three)
    certificate = squares.certify(d=[0.3, 0.5, 0.2], w=[1.0])
    # sum d^2 + 1/10 + <u, d> is smallest where 2 d + u is constant.
    u = np.array([0.5, 0.1, 0.7])
    d = 1 / 3 - (u - u.mean()) / 2
    assert certificate.lower <= float(d @ d + 0.1 + u @ d) <= certificate.upper
    assert certificate.gap < 0.1


def test_described_edges_need_weights_of_mass_one() -> None:
    formulation = prototype("mine", lambda p, x: Hinge(x.c, 3.0), lambda p: CvxpyEdges(lambda e: cp.sum_squares(e)))
    with pytest.raises(ProblemError, match=r"\bedges\b.*\[-1, 1\].*\b9\b"):
        formulation.bind([[-0.9], [0.0], [-0.6]]).certify(w=[0.4])


def test_squares_do_not_overflow() -> None:
    with pytest.raises(ProblemError, match=r"\b1e\+120\b.*\b2e\+200\b.*\bC\b"):
        certify("qp_reg_adaboost", [[0.9], [0.2]], [1.0], c=[1e100, 1e100], C=1e100)


@pytest.mark.parametrize(
    ("name", "U", "parameters"),
    [
        ("adaboost", [[0.5], [-0.3], [0.7]], {"d0": [1, 5e-324, 5e-324]}),
        ("adaboost", [[0.0], [0.0], [-1.0], [1.0]], {"d0": [1, 5e-324, 5e-324, 5e-324]}),
        ("l1_adaboost", [[-8.6e-311] * 3], {"C": 1e100}),
        ("norm_penalty", [[0.9], [-0.2]], {"c": [1e-8, 1e8], "r": 1e100, "p": np.inf}),
    ],
)
def test_extremes_give_intervals_and_no_warnings(name: str, U: Any, parameters: dict[str, Any]) -> None:
    certificate = certify(name, U, np.ones(np.shape(U)[1]), **parameters)
    assert certificate.lower <= certificate.upper
    assert not np.isnan([certificate.lower, certificate.upper]).any()


@pytest.mark.parametrize("C", (1e6, 1e12, 1e15, 1e100))
def test_weights_far_below_their_boxes_round_as_they_are(C: float) -> None:
    """The optimum is -2 at d = (1, 0, 1): what rounds is that and not the largest weights there might be."""
    program = get_formulation("l1_adaboost").bind([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], C=C)
    certificate = program.certify(d=[1.0, 0.0, 1.0], w=[1.0, 1.0])
    assert certificate.d.sum() == pytest.approx(2.0, abs=1e-11)
    assert certificate.upper <= -2.0 + 1e-11 + 2.0 * certificate.slack
    # Edges beyond all bounds that cancel are not known to a rounding below 1.
    opposite = get_formulation("l1_adaboost").bind([[1.0, -1.0], [-1.0, 1.0], [0.5, -0.25]], C=C)
    assert opposite.certify(d=[C, C, C]).upper <= opposite.certify(d=[0.0, 0.0, 0.0]).upper


def test_all_weights_are_0_if_no_other_point_is_feasible() -> None:
    """The bound of the edges is 0, and any positive weight exceeds it."""
    program = get_formulation("lpboost").bind([[0.3], [0.7]], nu=1)
    nothing = replace(program, regularizer=Hinge(np.ones(2), 1e15), edge_function=BoundedEdges(0.0))
    certificate = nothing.certify(d=[1.0, 1.0], w=[10.0])
    assert certificate.upper - certificate.slack == 0.0
    assert not certificate.d.any()


def test_huge_boxes_are_certified_in_no_time() -> None:
    rng = np.random.default_rng(0)
    program = get_formulation("l1_adaboost").bind(rng.choice([-1.0, 1.0], (5000, 20)), C=1e15)
    start = time.process_time()
    certificate = program.certify(d=rng.uniform(0, 1e15, 5000), w=rng.random(20))
    assert time.process_time() - start < 5.0
    assert certificate.upper <= certificate.slack
