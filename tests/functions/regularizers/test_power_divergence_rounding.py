"""The rounding allowances of power divergences hold against 50 digits, and are in proportion to the real errors."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

from boostopt import get_formulation
from boostopt._utils.array_types import Array
from boostopt.authoring import CappedSimplex, PowerDivergence, Tilted, formula

UNIT = 11 * float(np.finfo(np.float64).eps)
"""The smallest unit that callers pass: the longest sum has one term."""

ORDERS = [4.0, 2.0, 1.5, 1.0001, 1.0, 0.9999, 0.5, 0.3, 1e-3, 0.0, -1e-3, -1.0]


def exact_shares(F: PowerDivergence) -> tuple[list[Any], list[Any]]:
    """Return the equal shares and the caps in 50 digits."""
    c = [mpmath.mpf(x) for x in F.domain.c.tolist()]
    total = mpmath.fsum(c)
    return [x / total for x in c], [x / min(mpmath.mpf(F.domain.nu), total) for x in c]


def exact_phi(q: float, r: Any) -> Any:
    """Return phi(r) by the textbook formula."""
    if r <= 0 and q <= 0:
        return mpmath.inf
    if q == 0:
        return r - 1 - mpmath.log(r)
    if q == 1:
        return (r * mpmath.log(r) if r > 0 else mpmath.mpf(0)) - r + 1
    p = mpmath.mpf(q)
    return ((r**p if r > 0 else mpmath.mpf(0)) - 1 - p * (r - 1)) / (p * (p - 1))


def exact_value(F: PowerDivergence, d: list[Any]) -> Any:
    shares, _ = exact_shares(F)
    return mpmath.fsum(a * exact_phi(F.q, x / a) for a, x in zip(shares, d, strict=True)) / mpmath.mpf(F.eta)


def exactly_feasible(F: PowerDivergence, d: Array) -> list[Any]:
    """Return a point near d in 50 digits: within the exact caps, with the sum 1."""
    shares, caps = exact_shares(F)
    x = [min(mpmath.mpf(float(weight)), cap) for weight, cap in zip(d, caps, strict=True)]
    missing = 1 - mpmath.fsum(x)
    if missing <= 0:
        return [weight / (1 - missing) for weight in x]
    gaps = [max(a - weight, mpmath.mpf(0)) for a, weight in zip(shares, x, strict=True)]
    return [weight + missing * gap / mpmath.fsum(gaps) for weight, gap in zip(x, gaps, strict=True)]


def exact_conjugate(F: PowerDivergence, z: Array, beta: float) -> Any:
    """Return beta + sum f*(z - beta) in 50 digits, each term at the exact maximizer: at least F*(z)."""
    total, k, eta = mpmath.mpf(beta), mpmath.mpf(F.q) - 1, mpmath.mpf(F.eta)
    for number, a, cap in zip(z.tolist(), *exact_shares(F), strict=True):
        y = mpmath.mpf(number) - mpmath.mpf(beta)
        base = 1 + k * eta * y
        if k == 0:
            r = mpmath.exp(eta * y)
        elif base > 0:
            r = base ** (1 / k)
        else:
            r = mpmath.mpf(0) if k > 0 else mpmath.inf
        x = min(a * r, cap)
        total += y * x - a * exact_phi(F.q, x / a) / eta
    return total


def random_divergence(q: float, rng: np.random.Generator) -> PowerDivergence:
    """Return a divergence with multiplicities of any size; in a third of the cases the domain is one point."""
    N = int(rng.integers(1, 9))
    c = 10.0 ** rng.uniform(-rng.choice([0.0, 8.0]), rng.choice([0.01, 8.0]), N) * 10.0 ** rng.uniform(-12.0, 8.0)
    nu = float(c.sum()) * (1.0 if rng.random() < 0.3 else 10.0 ** rng.uniform(-rng.choice([0.1, 9.0]), 0.0))
    return PowerDivergence(CappedSimplex(c, nu), q, 10.0 ** rng.uniform(-12.0, 8.0))


@pytest.mark.every(4)
@pytest.mark.parametrize("q", ORDERS)
def test_the_allowances_hold_in_50_digits_and_are_at_most_100_times_too_large(q: float) -> None:
    rng = np.random.default_rng(int(1e3 * (q + 2.0)))
    value_fractions, conjugate_fractions = list[float](), list[float]()
    with mpmath.workdps(50):
        for _ in range(25):
            F = random_divergence(q, rng)
            z = rng.uniform(-1.0, 1.0, F.N) * 10.0 ** rng.uniform(-12.0, 2.0)
            point = F.conjugate_at(z)
            error = exact_conjugate(F, z, float(point.multipliers["beta"])) - mpmath.mpf(point.value)
            # The last addition has the size of the result. Certificates count it with the margins.
            conjugate_slack = F.conjugate_slack(point, UNIT) + UNIT * abs(point.value)
            conjugate_fractions.append(float(error / conjugate_slack))
            near_answer = F.project(point.d * np.exp(rng.normal(0.0, rng.choice([1e-9, 1e-3, 1.0]), F.N)))
            for d in (point.d, near_answer, F.project(rng.dirichlet(np.full(F.N, rng.choice([0.1, 10.0]))))):
                exact = exact_value(F, exactly_feasible(F, d))
                if mpmath.isfinite(exact):
                    value_fractions.append(float((exact - mpmath.mpf(F.value(d))) / F.value_slack(d, UNIT)))
    for fractions in (value_fractions, conjugate_fractions):
        assert 0.01 <= max(fractions) <= 1.0


@pytest.mark.parametrize("q", [2.0, 0.5, -1.0])
def test_the_allowance_of_a_linear_term_is_added_to_that_of_the_answer(q: float) -> None:
    rng = np.random.default_rng(0)
    F = PowerDivergence(CappedSimplex(np.array([1e8, 1.0, 1.0, 3.0]), 1.5), q, 1e-6)
    tilt = rng.normal(size=4)
    tilted = Tilted(F, tilt)
    point = tilted.conjugate_at(rng.uniform(-1.0, 1.0, 4))
    with mpmath.workdps(50):
        x = exactly_feasible(F, point.d)
        linear = mpmath.fsum(mpmath.mpf(float(a)) * b for a, b in zip(tilt, x, strict=True))
        error = exact_value(F, x) + linear - mpmath.mpf(tilted.value(point.d))
    assert error <= tilted.value_slack(point.d, UNIT) <= 100.0 * UNIT
    assert tilted.conjugate_slack(point, UNIT) <= 100.0 * UNIT


@pytest.mark.parametrize("eta", [1e-6, 0.1, 5.0, 100.0])
def test_certificates_with_a_huge_multiplicity_have_the_slack_of_equal_ones(eta: float) -> None:
    """Weight 1 at an example with a share of 1e-8 has a chi-square of 1e8, and no answer is near."""
    U = np.random.default_rng(0).choice([-1.0, 1.0], (20, 6))
    c = np.ones(20)
    c[0] = 1e8
    for nu in (1.5, 0.5 * float(c.sum())):
        certificate = get_formulation("qrlp_boost").bind(U, c=c, nu=nu, eta=eta).solve().certificate
        assert certificate.gap <= 1e-8
        assert certificate.slack <= 1e-13


@pytest.mark.parametrize("q", [1.0, 0.0])
def test_values_near_equal_shares_keep_their_digits(q: float) -> None:
    F = PowerDivergence(CappedSimplex(np.ones(3), 1.0), q, 1e-12)
    d = np.array([1.0 + 1e-9, 1.0, 1.0 - 1e-9]) / 3.0
    with mpmath.workdps(50):
        exact = float(exact_value(F, [mpmath.mpf(float(x)) for x in d]))
    assert F.value(d) == pytest.approx(exact, rel=1e-6)


def test_the_allowance_in_a_sum_covers_the_weight_that_closes_the_sum() -> None:
    """The sum with a formula moves one weight, here by 1e-9, and the divergence increases there too."""
    domain = CappedSimplex(np.array([1e4, 1.0, 1.0, 3.0]), 1.5)
    divergence = PowerDivergence(domain, 2.0, 1e-3)
    F = formula("mu * d**2 / c", domain, mu=1.0) + divergence
    d = np.array([0.1, 0.3, 0.3, 0.3]) * (1.0 - 1e-9)
    slack = F.value_slack(d, UNIT)
    increases = [divergence.value(d + (1.0 - d.sum()) * e) - divergence.value(d) for e in np.eye(4)]
    assert min(increases[1:]) <= slack <= 2.0 * max(increases)
