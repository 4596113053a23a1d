"""Power divergences: the members that have names, the modulus, numbers by hand, and what is refused."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
import typechecker

from boostopt import get_formulation
from boostopt.authoring import (
    CappedSimplex,
    CappedSimplexIndicator,
    PowerDivergence,
    Regularizer,
    RelativeEntropy,
    Squares,
)
from boostopt.checks import check_regularizer
from boostopt.errors import ProblemError

C = np.array([1.0, 2.0, 0.5, 1.5, 1.0])
SHARE = C / C.sum()
NU, ETA = 2.5, 3.0
DOMAIN = CappedSimplex(C, NU)
ORDERS = (3.0, 2.0, 1.5, 1.0, 0.5, 0.0, -1.0)


def some_weights(seed: int) -> np.ndarray:
    return DOMAIN.repair(np.random.default_rng(seed).exponential(size=5), SHARE)


NAMED: dict[str, tuple[float, Any]] = {
    "half of Pearson's": (2.0, lambda d: ((d - SHARE) ** 2 / SHARE).sum() / 2),
    "relative entropy": (1.0, lambda d: (d * np.log(d / SHARE)).sum()),
    "twice Hellinger's": (0.5, lambda d: 2 * ((np.sqrt(d) - np.sqrt(SHARE)) ** 2).sum()),
    "Burg's": (0.0, lambda d: -(SHARE * np.log(d / SHARE)).sum()),
    "half of Neyman's": (-1.0, lambda d: ((d - SHARE) ** 2 / d).sum() / 2),
}


@pytest.mark.parametrize("name", NAMED)
def test_the_named_members_have_their_textbook_values(name: str) -> None:
    q, by_hand = NAMED[name]
    for seed in range(5):
        d = some_weights(seed)
        assert PowerDivergence(DOMAIN, q, ETA).value(d) == pytest.approx(by_hand(d) / ETA, rel=1e-12)


@pytest.mark.parametrize(
    ("q", "twin"),
    [
        (1.0, RelativeEntropy.capped(C, NU, ETA, SHARE)),
        (2.0, CappedSimplexIndicator(DOMAIN) + Squares(C, float(C.sum()) / ETA)),
    ],
    ids=["relative entropy", "squares"],
)
def test_weights_are_those_of_the_classes_that_exist(q: float, twin: Regularizer) -> None:
    for z in np.random.default_rng(0).uniform(-1, 1, (5, 5)):
        np.testing.assert_allclose(PowerDivergence(DOMAIN, q, ETA).conjugate_at(z).d, twin.conjugate_at(z).d, atol=1e-9)


def test_the_order_is_continuous_at_one_and_at_zero() -> None:
    z = np.linspace(-1, 1, 5)
    for q in (0.0, 1.0):
        point = PowerDivergence(DOMAIN, q, ETA).conjugate_at(z)
        for step in (1e-14, -1e-14, 1e-12, -1e-12, 1e-9, -1e-9):
            conjugate_point = PowerDivergence(DOMAIN, q + step, ETA).conjugate_at(z)
            assert conjugate_point.value == pytest.approx(point.value, abs=1e-13 + 10.0 * abs(step))
            np.testing.assert_allclose(conjugate_point.d, point.d, atol=1e-13 + 10.0 * abs(step))


def test_orders_above_one_end_in_exact_zeros_and_others_do_not() -> None:
    z = np.array([1.0, 0.5, 0.0, -0.5, -1.0])
    weights = {q: PowerDivergence(CappedSimplex(np.ones(5), 1.5), q, 5.0).conjugate_at(z).d for q in ORDERS}
    assert all((d[-1] == 0.0) == (q > 1.0) for q, d in weights.items())
    # The smaller the order, the more is left to those that are of no use.
    smallest = [weights[q][-1] for q in ORDERS if q <= 1.0]
    assert (np.diff(smallest) > 0).all()


@pytest.mark.parametrize("q", ORDERS)
def test_the_modulus_holds_on_segments(q: float) -> None:
    """F(middle) <= mean of F at the ends - modulus |d - d'|_1^2 / 8."""
    F = PowerDivergence(DOMAIN, q, ETA)
    assert (F.strong_convexity > 0) == (q <= 2)
    for seed in range(20):
        d, other_d = some_weights(seed), some_weights(seed + 100)
        mean = 0.5 * (F.value(d) + F.value(other_d))
        gain = F.strong_convexity * np.abs(d - other_d).sum() ** 2 / 8
        assert F.value(0.5 * (d + other_d)) <= mean - gain + 1e-14


@pytest.mark.thorough_cases("1.5")
@pytest.mark.parametrize("q", [1.5, -1.0])
def test_every_check_passes(q: float) -> None:
    check_regularizer(PowerDivergence(DOMAIN, q, ETA)).raise_if_failed()


def test_the_bound_of_the_values_is_that_of_a_vertex() -> None:
    """Of 4 equal examples 2 share the weight: r is 2 on half of the shares, 0 on the others."""
    F = PowerDivergence(CappedSimplex(np.ones(4), 2.0), 2.0, 1.0)
    assert F.value_bound == pytest.approx(F.value(np.array([0.5, 0.5, 0.0, 0.0]))) == pytest.approx(0.5)
    assert np.isnan(PowerDivergence(CappedSimplex(np.ones(4), 2.0), 0.0, 1.0).value_bound)
    assert PowerDivergence(CappedSimplex(np.ones(4), 4.0), 0.0, 1.0).value_bound == 0.0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((C, 1.0, 1.0), r"^domain\b.*\bCappedSimplex\b.*\(5,\)"),
        ((CappedSimplex(np.array([1.0, 0.0]), 1.0), 1.0, 1.0), r"^c\b.* 0\."),
        ((DOMAIN, np.inf, 1.0), r"^q\b.* inf\."),
        ((DOMAIN, 1.0, 0.0), r"^eta\b.* 0\.0\."),
    ],
    ids=("domain", "c", "q", "eta"),
)
def test_bad_arguments_are_named(arguments: tuple[Any, ...], words: str) -> None:
    with typechecker.unchecked(), pytest.raises(ProblemError, match=words):
        PowerDivergence(*arguments)


def in_high_precision(F: PowerDivergence, d: np.ndarray) -> Any:
    """F(d) by the textbook formula, with 60 digits."""
    q, total = mpmath.mpf(F.q), mpmath.mpf(0)
    for a, x in zip(F.share.tolist(), d.tolist(), strict=True):
        a, r = mpmath.mpf(a), mpmath.mpf(x) / mpmath.mpf(a)
        if q == 0:
            phi = r - 1 - mpmath.log(r)
        elif q == 1:
            phi = (r * mpmath.log(r) if r > 0 else mpmath.mpf(0)) - r + 1
        else:
            phi = (r**q - 1 - q * (r - 1)) / (q * (q - 1))
        total += a * phi
    return total / mpmath.mpf(F.eta)


@pytest.mark.parametrize("q", [4.0, 2.0, 1.0001, 1.0, 0.9999, 0.5, 0.3, 1e-3, 0.0, -1e-3, -1.0])
def test_the_rounding_of_f_and_of_its_conjugate_is_within_the_magnitude(q: float) -> None:
    """A certificate allows at least 11 epsilon times the magnitude, with caps of any size and any multiplicities."""
    rng, eps = np.random.default_rng(int(1e3 * (q + 2.0))), float(np.finfo(np.float64).eps)
    with mpmath.workdps(60):
        for _ in range(12):
            N = int(rng.integers(1, 8))
            c = 10.0 ** rng.uniform(-rng.choice([0, 8]), rng.choice([0.01, 8]), N)
            nu = float(c.sum()) * 10.0 ** rng.uniform(-rng.choice([0.1, 9]), 0)
            F = PowerDivergence(CappedSimplex(c, nu), q, 10.0 ** rng.uniform(-2, 5))
            d = F.project(rng.dirichlet(np.full(N, rng.choice([0.1, 1.0, 10.0]))))
            value, allowed = in_high_precision(F, d), 11.0 * eps * F.magnitude
            if q > 0.0 or value <= 4.0:  # above, an F without bound proves nothing, whatever its rounding
                assert abs(mpmath.mpf(F.value(d)) - value) <= allowed
            z = rng.uniform(-1.0, 1.0, N)
            point = F.conjugate_at(z)
            pairs = zip(z.tolist(), point.d.tolist(), strict=True)
            attained_value = sum((mpmath.mpf(x) * mpmath.mpf(y) for x, y in pairs), mpmath.mpf(0)) - in_high_precision(
                F, point.d
            )
            assert mpmath.mpf(point.value) >= attained_value - allowed - 22.0 * eps


@pytest.mark.parametrize("q", ORDERS)
def test_caps_above_1_make_no_magnitude(q: float) -> None:
    """No weight exceeds 1: a hundred million copies of each example leave the same weights."""
    many = PowerDivergence(CappedSimplex(np.full(12, 1e8), 1.0), q, 1.0).magnitude
    single_copies = PowerDivergence(CappedSimplex(np.ones(12), 1.0), q, 1.0).magnitude
    assert many <= single_copies * (1.0 + 1e-12) and single_copies <= 1e4


def test_intervals_of_many_copies_are_as_narrow_as_those_of_one() -> None:
    """With slacks of the size of phi at the cap this was [-17, 15]."""
    U = np.array([[1.0, -0.5], [-0.25, 1.0], [0.5, -1.0]])
    page = get_formulation("qrlp_boost")
    for c in (1.0, 1e8):
        certificate = page.bind(U, c=np.full(3, c), nu=1.0, eta=5.0).solve("interior", tol=1e-9).certificate
        assert certificate.slack <= 1e-12 and certificate.gap <= 1e-8
