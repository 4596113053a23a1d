"""Intervals of one program overlap whatever is certified; `benchmarks/attacks.py` tries tens of thousands."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from support.false_answers_of_programs import attack_pair, attack_run, pair_names

from boostopt import get_formulation

pytestmark = pytest.mark.filterwarnings("ignore:pnorm with p", "ignore:Solution may be inaccurate")


@pytest.mark.parametrize("name", ["hinge+l2_squared", "soft_margin+simplex"])
def test_false_answers_of_a_pair_prove_nothing_false(name: str) -> None:
    counts, reasons = attack_pair(name, 3)
    assert not reasons
    assert counts["certificates"] == counts["finite"] == 21


@pytest.mark.thorough
@pytest.mark.parametrize("name", pair_names())
def test_false_answers_of_each_pair_prove_nothing_false(name: str) -> None:
    for seed in range(2):
        counts, reasons = attack_pair(name, seed)
        assert not reasons
        assert counts["certificates"] > 20


@pytest.mark.thorough
@pytest.mark.untyped
@pytest.mark.parametrize("seed", range(10))
def test_runs_by_solvers_that_lie_bound_the_optimum_of_the_class(seed: int) -> None:
    counts, reasons = attack_run(seed)
    assert not reasons
    assert counts["runs"] > 0


@pytest.mark.parametrize("radius", [1.0, 1e12])
def test_the_rounding_of_margins_grows_with_the_hypothesis_weights(radius: float) -> None:
    rng, gaps = np.random.default_rng(0), list[Fraction]()
    for _ in range(30):
        a, b, c = (Fraction(float(x)) for x in (rng.uniform(0.5, 0.9), *rng.uniform(0.1, 0.5, 2)))
        d = Fraction(np.nextafter(float(b * c / a), 2.0))  # the game is nearly fair, the edges are nearly 0
        optimum = Fraction(radius) * (a * d - b * c) / (a + b + c + d)  # of the game with rows (a, -b) and (-c, d)
        w = radius * np.array([float((b + d) / (a + b + c + d)), float((a + c) / (a + b + c + d))])
        U = np.array([[a, -b], [-c, d]], dtype=float)
        certificate = get_formulation("soft_margin+l1_ball").bind(U, nu=1.0, r=radius).certify(w=w)
        assert Fraction(certificate.lower) <= optimum <= Fraction(certificate.upper)
        gaps.append((optimum - Fraction(certificate.lower)) / Fraction(radius))
    assert max(gaps) < 1e-13
