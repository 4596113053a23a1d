"""A quarter of the squared edges, of all or of the positive ones."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from support.problems import REFERENCE_U
from support.reference_formulas import assert_edge_gap, assert_edges_modelled, assert_weights_are_repaired, program

from boostopt.functions.edge_functions.squared import SquaredEdges, SquaredPositiveEdges
from boostopt.functions.regularizers.standard_losses import Hinge

seeds = st.integers(0, 2**32 - 1)
BOTH = (SquaredPositiveEdges(), SquaredEdges())


def quarter(G: SquaredPositiveEdges | SquaredEdges, e: np.ndarray) -> float:
    positive = isinstance(G, SquaredPositiveEdges)
    return sum(0.25 * x * x for x in e.tolist() if x > 0 or not positive)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(seeds)
def test_the_gap_is_the_fenchel_young_gap(seed: int) -> None:
    rng = np.random.default_rng(seed)
    t = int(rng.integers(1, 8))
    e = rng.normal(size=t) * rng.choice([1e-3, 1.0, 30.0])
    for G in BOTH:
        w = rng.normal(size=t) * rng.choice([1e-3, 1.0, 30.0])
        w = np.abs(w) if isinstance(G, SquaredPositiveEdges) else w
        assert_edge_gap(G, e, w, quarter(G, e))
        assert G.conjugate(w) == pytest.approx(sum(x * x for x in w.tolist()), rel=1e-13)
        best = G.subgradient(e)
        assert G.gaps(e, best).sum() == pytest.approx(0.0, abs=1e-15)
        assert max(G.residuals(best).values()) == 0.0


def test_the_subgradient_is_the_gradient() -> None:
    e = np.array([0.4, -0.3, 0.0, 2.0])
    for G in BOTH:
        differences = [(G.value(e + h) - G.value(e - h)) / 2e-6 for h in 1e-6 * np.eye(4)]
        np.testing.assert_allclose(G.subgradient(e), differences, atol=1e-6)


def test_the_conjugate_is_a_supremum() -> None:
    rng = np.random.default_rng(1)
    for G in BOTH:
        w = np.abs(rng.normal(size=3))
        answer: scipy.optimize.OptimizeResult = scipy.optimize.minimize(
            lambda e, G=G, w=w: quarter(G, e) - w @ e, np.zeros(3)
        )
        assert G.conjugate(w) == pytest.approx(-float(answer.fun), abs=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_the_models_for_solvers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    e, w = rng.normal(size=4), rng.normal(size=4)
    assert_edges_modelled(BOTH[0], e, np.abs(w))
    assert_edges_modelled(BOTH[1], e, w)


def test_any_junk_is_repaired() -> None:
    for G in BOTH:
        assert_weights_are_repaired(G, 5)
    np.testing.assert_array_equal(BOTH[0].project(np.array([-1.0, 2.0])), [0.0, 2.0])
    np.testing.assert_array_equal(BOTH[1].project(np.array([-1.0, 2.0])), [-1.0, 2.0])
    assert BOTH[0].residuals(np.array([-0.5, 1.0])) == {"w >= 0": 0.5}
    assert BOTH[1].residuals(np.array([-0.5, 1.0])) == {"w finite": 0.0}


def test_the_weights_are_known_from_the_edges() -> None:
    """W = e / 2: nothing is left for complementary slackness to choose."""
    e = np.array([0.5, -0.5])
    for G, offset in zip(BOTH, ([0.25, 0.0], [0.25, -0.25]), strict=True):
        at = G.active(e, 1e-6)
        np.testing.assert_array_equal(at.offset, offset)
        assert at.directions.shape == (2, 0)


def test_the_reference_numbers() -> None:
    """QP_REG with C = 0.4 for each example: 2.215 at b = (0.25, 0.35, 0)."""
    certificate = (
        program(REFERENCE_U, Hinge(np.ones(6), 0.4), SquaredPositiveEdges())
        .solve("cvxpy:clarabel", tol=1e-9)
        .certificate
    )
    assert certificate.gap < 1e-8
    assert -certificate.upper - 1e-9 <= 2.215 <= -certificate.lower + 1e-9
    np.testing.assert_allclose(certificate.w, [0.25, 0.35, 0.0], atol=1e-5)
