"""The conjugate of the hinge loss."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.reference_formulas import (
    assert_conjugate,
    assert_copies,
    assert_gradient,
    assert_junk_is_repaired,
    assert_modelled,
    assert_stable,
)

from boostopt.functions.regularizers.loss_conjugates import Hinge

seeds = st.integers(0, 2**32 - 1)


def random_case(rng: np.random.Generator) -> tuple[Hinge, np.ndarray, list[np.ndarray]]:
    """Return a hinge, an argument with entries at the kink, and points of the box with its corners."""
    N = int(rng.integers(1, 9))
    F = Hinge(rng.uniform(0.3, 3.0, N), float(np.exp(rng.uniform(-3, 3))))
    z = np.where(rng.random(N) < 0.3, -1.0, rng.uniform(-3, 1, N))
    box = F.C * F.c
    return F, z, [box, np.zeros(N), *(box * rng.random(N) for _ in range(3)), box * (rng.random(N) < 0.5)]


@settings(max_examples=100, deadline=None, derandomize=True)
@given(seeds)
def test_the_conjugate_is_the_hinge_loss(seed: int) -> None:
    F, z, inside = random_case(np.random.default_rng(seed))
    loss = sum(F.C * k * max(0.0, 1.0 + x) for k, x in zip(F.c.tolist(), z.tolist(), strict=True))
    assert F.conjugate_at(z).value == pytest.approx(loss, abs=1e-14 * (1 + F.magnitude))
    assert_conjugate(F, z, lambda d: -float(sum(d.tolist())), inside)


def test_psi_is_the_slack_of_the_margin_and_zeta_its_surplus() -> None:
    m = np.array([0.25, 1.0, 1.5, -2.0])
    point = Hinge(np.ones(4), 0.5).conjugate_at(-m)
    np.testing.assert_allclose(point.multipliers["psi"], np.maximum(1 - m, 0))
    np.testing.assert_allclose(point.multipliers["zeta"], np.maximum(m - 1, 0))
    np.testing.assert_array_equal(point.d[[0, 2, 3]], [0.5, 0.0, 0.5])
    assert 0.0 <= point.d[1] <= 0.5  # at the kink any weight is a maximizer


def test_the_gradient_of_the_conjugate_is_the_maximizer() -> None:
    assert_gradient(Hinge(np.array([1.0, 2.0, 0.5]), 0.7), np.array([0.3, -1.4, -0.99]))


def test_multiplicity_k_is_k_copies() -> None:
    rng = np.random.default_rng(0)
    counts = np.array([2, 1, 4])
    merged, copies = Hinge(counts.astype(float), 0.3), Hinge(np.ones(7), 0.3)
    assert_copies(merged, copies, counts, rng.uniform(-3, 1, 3), [0.3 * counts * rng.random(3)])


@pytest.mark.parametrize("seed", range(4))
def test_the_model_for_solvers(seed: int) -> None:
    F, z, inside = random_case(np.random.default_rng(seed))
    assert_modelled(F, z, inside)


def test_the_caps_bound_the_domain() -> None:
    F = Hinge(np.array([1.0, 2.0]), 3.0)
    assert F.mass == 9.0  # the largest sum of weights
    assert F.value_bound == 0.0  # the largest value
    assert F.support(np.array([1.0, -1.0])) == 3.0
    np.testing.assert_array_equal(F.room(np.array([1.0, 6.0])), [1.0, 0.0])
    assert F.residuals(np.array([-0.5, 7.0])) == {"d >= lower": 0.5, "d <= upper": 1.0}


@pytest.mark.parametrize("seed", range(3))
def test_any_junk_is_repaired(seed: int) -> None:
    assert_junk_is_repaired(random_case(np.random.default_rng(seed))[0], seed)


@pytest.mark.parametrize("C", (1e-6, 1e6))
def test_everything_is_finite_at_large_N(C: float) -> None:
    N = 100_000
    rng = np.random.default_rng(0)
    F = Hinge(np.ones(N), C)
    z = rng.uniform(-3, 1, N)
    assert_stable(F, z, C * rng.random(N))
    point = F.conjugate_at(z)
    assert F.gaps(point.d, z, point).sum() == 0.0
