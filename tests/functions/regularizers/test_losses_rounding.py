"""The rounding allowances of losses with unbounded slopes hold against 50 digits, and do not grow with the caps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import mpmath
import numpy as np
import pytest

from boostopt import combine
from boostopt._utils.array_types import Array
from boostopt.authoring import Exponential, QuadraticHinge
from boostopt.functions.regularizers.loss_conjugates import LossConjugate

UNIT = 20 * float(np.finfo(np.float64).eps)
"""The smallest unit that callers pass, about: the longest sum of a few terms."""


def losses(c: Array, C: float) -> list[LossConjugate]:
    return [Exponential(c, C), QuadraticHinge(c, C, 0.5, None), QuadraticHinge(c, C, 0.3, 4.0)]


def exact_caps(F: LossConjugate) -> tuple[list[Any], list[Any]]:
    """Return C c, and the caps, in 50 digits."""
    c = [mpmath.mpf(x) for x in F.c]
    priced, total = [mpmath.mpf(F.C) * x for x in c], mpmath.fsum(c)
    if isinstance(F, QuadraticHinge):
        slopes = [4 * mpmath.sqrt(total / min(x, 1)) if F.B is None else mpmath.mpf(F.B) for x in c]
    else:
        slopes = [mpmath.e * total / min(x, 1) for x in c]
    return priced, [p * slope for p, slope in zip(priced, slopes, strict=True)]


def exact_value(F: LossConjugate, x: Any, priced: Any) -> Any:
    if isinstance(F, QuadraticHinge):
        return -x + mpmath.mpf(F.mu) / 2 * x * x / priced
    return (x * mpmath.log(x / priced) if x > 0 else mpmath.mpf(0)) - x


def exact_conjugate(F: LossConjugate, z: Iterable[Any]) -> Any:
    """Return F*(z) in 50 digits: each term at the exact maximizer."""
    total = mpmath.mpf(0)
    for y, priced, cap in zip(z, *exact_caps(F), strict=True):
        y = mpmath.mpf(y)
        free = priced * (1 + y) / mpmath.mpf(F.mu) if isinstance(F, QuadraticHinge) else priced * mpmath.exp(y)
        x = min(max(free, mpmath.mpf(0)), cap)
        total += y * x - exact_value(F, x, priced)
    return total


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("index", range(3))
def test_the_allowances_hold_in_50_digits(index: int, seed: int) -> None:
    rng = np.random.default_rng([seed, index])
    c, C = np.exp(rng.normal(0.0, 3.0, 12)), float(np.exp(rng.normal(0.0, 3.0)))
    F = losses(c, C)[index]
    # Some margins are below the slope of the cap, where the conjugate is linear.
    z = rng.normal(0.0, 1.0, 12) * rng.choice([0.1, 3.0, 100.0], 12)
    conjugate = F.conjugate_at(z)
    d = np.clip(conjugate.d * np.exp(rng.normal(0.0, 1.0, 12)), 0.0, F.upper)
    with mpmath.workdps(50):
        priced, caps = exact_caps(F)
        # The point of the exact box next to d.
        terms = [exact_value(F, min(mpmath.mpf(x), cap), p) for x, p, cap in zip(d, priced, caps, strict=True)]
        value_error = abs(mpmath.fsum(terms) - F.value(d))
        conjugate_error = abs(exact_conjugate(F, z) - conjugate.value)
    assert value_error <= F.value_slack(d, UNIT)
    assert conjugate_error <= F.conjugate_slack(conjugate, UNIT)


@pytest.mark.parametrize("shift", [1e-12, 1e-3, 2.0])
@pytest.mark.parametrize("index", range(3))
def test_the_mass_of_the_maximizers_bounds_the_increase_of_the_conjugate(index: int, shift: float) -> None:
    rng = np.random.default_rng(index)
    F, z = losses(np.exp(rng.normal(0.0, 2.0, 12)), 0.7)[index], rng.normal(0.0, 5.0, 12)
    mass = F.conjugate_mass(z, shift)
    with mpmath.workdps(50):
        start = exact_conjugate(F, z)
        for change in (np.full(12, shift), rng.uniform(-shift, shift, 12)):
            shifted_z = [mpmath.mpf(y) + mpmath.mpf(x) for y, x in zip(z, change, strict=True)]
            assert exact_conjugate(F, shifted_z) - start <= mpmath.mpf(shift) * mpmath.mpf(mass)
    assert mass < F.mass or bool((F.maximizers(z + shift) == F.upper).all())


@pytest.mark.parametrize("index", range(2))
def test_the_allowances_do_not_grow_with_caps_that_no_weight_reaches(index: int) -> None:
    F = losses(np.ones(100_000), 1.0)[index]
    conjugate = F.conjugate_at(np.full(F.N, 0.5))
    assert F.magnitude > 1e10
    for slack in (F.conjugate_slack(conjugate, UNIT), F.value_slack(conjugate.d, UNIT)):
        assert 0.0 < slack <= 10.0 * UNIT * conjugate.value
    mass = F.mass_of(conjugate.d)
    assert mass == pytest.approx(conjugate.d.sum(), rel=1e-8)
    assert F.mass > 100.0 * mass


@pytest.mark.parametrize("loss", ["exponential", "squared_hinge"])
def test_certificates_of_many_examples_have_a_slack_in_proportion_to_their_value(loss: str) -> None:
    N = 20_000
    U = np.random.default_rng(0).choice([-1.0, 1.0], (N, 5), p=[0.4, 0.6])
    program = combine(loss, "l1").bind(U, l1=0.05 * N)
    w = np.full(5, 0.1)
    certificate = program.certify(program.regularizer.conjugate_at(-(U @ w)).d, w)
    assert 0.0 < certificate.slack < 1e-11 * abs(certificate.lower)
