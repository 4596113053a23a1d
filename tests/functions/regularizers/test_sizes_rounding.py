"""Rounding allowances in proportion to the answer: each holds against 50 digits and does not grow with unused caps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from boostopt import get_formulation
from boostopt._utils.array_types import Array
from boostopt.authoring import (
    CappedSimplex,
    CappedSimplexIndicator,
    Hinge,
    Logistic,
    MarginVariance,
    NormPenalty,
    Shortfall,
)
from boostopt.functions.regularizers.separable import Separable

UNIT = 20 * float(np.finfo(np.float64).eps)
"""The smallest unit that callers pass, about: the longest sum of a few terms."""

KINDS: dict[str, Callable[[Array, float], Separable]] = {
    "hinge": Hinge,
    "logistic": Logistic.priced,
    "shortfall": lambda c, C: Shortfall(c, C, 0.3),
    "margin variance": lambda c, C: MarginVariance(np.append(c, 2.0), C),
}


def exact_box(F: Any) -> tuple[list[Any], list[Any]]:
    """Return the ends of the box in 50 digits."""
    if isinstance(F, MarginVariance):
        shares, scales = exact_shares(F)
        ends = [[a + sign * 2 * s for a, s in zip(shares, scales, strict=True)] for sign in (-1, 1)]
        return ends[0], ends[1]
    if isinstance(F, Shortfall):
        lower = [mpmath.mpf(F.C) * mpmath.mpf(x) for x in F.c.tolist()]
        return lower, [x + mpmath.mpf(y) for x, y in zip(lower, F.c.tolist(), strict=True)]
    multiplicities = (F.caps / F.C).tolist() if isinstance(F, Logistic) else F.c.tolist()
    caps = [mpmath.mpf(F.C) * mpmath.mpf(x) for x in multiplicities]
    return [mpmath.mpf(0)] * F.N, caps if not isinstance(F, Logistic) else [mpmath.mpf(x) for x in F.caps.tolist()]


def exact_shares(F: MarginVariance) -> tuple[list[Any], list[Any]]:
    """Return the equal shares and the sensitivities in 50 digits."""
    c = [mpmath.mpf(x) for x in F.c.tolist()]
    total = mpmath.fsum(c)
    return [x / total for x in c], [x * mpmath.mpf(F.D) / (total - 1) for x in c]


def exact_terms(F: Any, d: list[Any]) -> list[Any]:
    """Return the terms of F(d) in 50 digits."""
    if isinstance(F, MarginVariance):
        return [(x - a) ** 2 / (2 * s) for x, a, s in zip(d, *exact_shares(F), strict=True)]
    if isinstance(F, Shortfall):
        return [-mpmath.mpf(F.theta) * (x - low) for x, low in zip(d, exact_box(F)[0], strict=True)]
    if isinstance(F, Hinge):
        return [-x for x in d]
    caps = exact_box(F)[1]
    return [sum(y * mpmath.log(y / u) for y in (x, u - x) if y > 0) for x, u in zip(d, caps, strict=True)]


def exact_conjugate(F: Any, z: list[Any], beta: Any) -> Any:
    """Return beta + sum f*(z - beta) in 50 digits, each term at the exact maximizer."""
    y, (lower, upper) = [x - beta for x in z], exact_box(F)
    if isinstance(F, MarginVariance):
        shares, scales = exact_shares(F)
        free = [a + s * x for a, s, x in zip(shares, scales, y, strict=True)]
    elif isinstance(F, Logistic):
        free = [u / (1 + mpmath.exp(-x)) for u, x in zip(upper, y, strict=True)]
    else:
        jump = mpmath.mpf(-F.theta if isinstance(F, Shortfall) else -1.0)
        free = [u if x > jump else low for x, low, u in zip(y, lower, upper, strict=True)]
    d = [min(max(x, low), u) for x, low, u in zip(free, lower, upper, strict=True)]
    return beta + mpmath.fsum(a * b for a, b in zip(y, d, strict=True)) - mpmath.fsum(exact_terms(F, d))


def exactly_feasible(F: Any, d: Array) -> list[Any]:
    """Return the point of the exact domain next to d."""
    box = zip(*exact_box(F), strict=True)
    x = [min(max(mpmath.mpf(float(weight)), low), high) for weight, (low, high) in zip(d, box, strict=True)]
    if F.on_simplex:
        lower, upper = exact_box(F)
        missing = 1 - mpmath.fsum(x)
        rooms = [(u - a if missing > 0 else a - low) for a, low, u in zip(x, lower, upper, strict=True)]
        x = [a + missing * room / mpmath.fsum(rooms) for a, room in zip(x, rooms, strict=True)]
    return x


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", KINDS)
def test_the_allowances_hold_in_50_digits(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.uniform(-6.0, 6.0)
    F = KINDS[kind](scale * np.exp(rng.normal(0.0, 3.0, 12)), 10.0 ** rng.uniform(-5.0, 5.0))
    z = rng.normal(0.0, 1.0, F.N) * rng.choice([0.1, 3.0, 60.0], F.N)
    conjugate = F.conjugate_at(z)
    d = F.project(F.lower + (conjugate.d - F.lower) * np.exp(rng.normal(0.0, 1.0, F.N)))
    with mpmath.workdps(50):
        value_error = mpmath.fsum(exact_terms(F, exactly_feasible(F, d))) - mpmath.mpf(F.value(d))
        beta = mpmath.mpf(float(conjugate.multipliers.get("beta", 0.0)))
        exact = exact_conjugate(F, [mpmath.mpf(float(x)) for x in z], beta)
        conjugate_error = exact - mpmath.mpf(conjugate.value)
    assert value_error <= F.value_slack(d, UNIT)
    # Certificates count the margins, here -z, with the weights.
    assert conjugate_error <= F.conjugate_slack(conjugate, UNIT) + UNIT * float(np.abs(z).max()) * F.mass_of(
        conjugate.d
    )


@pytest.mark.parametrize("shift", [1e-12, 1e-3, 2.0])
@pytest.mark.parametrize("kind", KINDS)
def test_the_mass_of_the_maximizers_bounds_the_increase_of_the_conjugate(kind: str, shift: float) -> None:
    rng = np.random.default_rng(3)
    F = KINDS[kind](np.exp(rng.normal(0.0, 2.0, 12)), 0.7)
    z = rng.normal(0.0, 1.0, F.N)
    if kind != "margin variance":
        z[np.argmax(F.upper)] = -40.0
    mass = F.conjugate_mass(z, shift)
    for change in (np.full(F.N, shift), np.full(F.N, -shift), rng.uniform(-shift, shift, F.N)):
        increase = F.conjugate_at(z + change).value - F.conjugate_at(z).value
        assert increase <= shift * mass + 1e-13 * F.magnitude
    assert mass < 0.9 * F.mass or (kind == "margin variance" and shift == 2.0)


@pytest.mark.parametrize(
    ("name", "multiplicity", "parameters"),
    [
        ("svm", 1e8, {"C": 1e6}),
        ("cg_boost", 1e8, {"C": 1e6}),
        ("logitboost_cg", 1e8, {"D": 50.0}),
        ("nm_boost", 1e8, {"C": 1e-6}),
        ("md_boost", 1.0, {"D": 1e6}),
        ("norm_penalty", 1e-8, {"r": 10.0}),
    ],
)
def test_certificates_have_a_slack_in_proportion_to_the_answer(
    name: str, multiplicity: float, parameters: dict[str, float]
) -> None:
    """The multiplicity of the first example makes its cap, or the norm of its vertex, far larger than the weights."""
    U = np.where(np.random.default_rng(0).random((30, 6)) < 0.6, 1.0, -1.0)
    c = np.ones(30)
    c[0] = multiplicity
    certificate = get_formulation(name).bind(U, c=c, **parameters).solve().certificate
    size = max(abs(certificate.lower), (1.0 + np.abs(certificate.w).sum()) * np.abs(certificate.d).sum())
    assert certificate.slack <= 2e-13 * size


def test_small_weights_of_the_logistic_loss_keep_their_digits() -> None:
    F, d = Logistic.priced(np.full(3, 1e8), 1.0), np.array([1e-9, 1.0, 1e3])
    with mpmath.workdps(50):
        exact = float(mpmath.fsum(exact_terms(F, [mpmath.mpf(float(x)) for x in d])))
    assert F.value(d) == pytest.approx(exact, rel=1e-14)


@pytest.mark.parametrize("p", [1.5, 2.0, 8.0, np.inf])
@pytest.mark.parametrize("seed", range(3))
def test_the_allowances_of_a_norm_penalty_hold_in_50_digits(p: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    c, r = 10.0 ** rng.uniform(-8.0, 3.0, 6), 10.0 ** rng.uniform(-6.0, 6.0)
    F = NormPenalty(CappedSimplexIndicator(CappedSimplex(np.ones(6), 1.0)), c, p, r)
    z = rng.normal(size=6)
    point = F.conjugate_at(z)
    with mpmath.workdps(50):
        total = mpmath.fsum(mpmath.mpf(float(x)) for x in point.d)
        ratios = [mpmath.mpf(float(x)) / total / mpmath.mpf(float(k)) for x, k in zip(point.d, c, strict=True)]
        powers = [mpmath.mpf(float(k)) * x ** mpmath.mpf(p) for x, k in zip(ratios, c, strict=True) if p < np.inf]
        norm = mpmath.fsum(powers) ** (1 / mpmath.mpf(p)) if p < np.inf else max(ratios)
        value_error = mpmath.mpf(r) * norm - mpmath.mpf(F.value(point.d))
        s = np.asarray(point.multipliers["s"])
        largest = max(mpmath.mpf(float(x)) - mpmath.mpf(float(y)) for x, y in zip(z, s, strict=True))
        conjugate_error = largest - mpmath.mpf(point.value)
    assert value_error <= F.value_slack(point.d, UNIT) <= UNIT * (3.0 + float(r * norm))
    assert conjugate_error <= F.conjugate_slack(point, UNIT)
