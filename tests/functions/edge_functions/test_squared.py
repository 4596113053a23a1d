"""A quarter of the squared edges, of all or of the positive ones."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from support.problems import REFERENCE_U
from support.reference_formulas import assert_edge_gap, assert_edges_modelled, assert_weights_are_repaired, program

from boostopt.functions.edge_functions.norm_and_elastic_net_penalties import ElasticEdges
from boostopt.functions.edge_functions.squared_edges import SquaredEdges, SquaredPositiveEdges
from boostopt.functions.regularizer_statements import defines_own_kind
from boostopt.functions.regularizers.loss_conjugates import Hinge

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
        active = G.active(e, 1e-6)
        np.testing.assert_array_equal(active.offset, offset)
        assert active.directions.shape == (2, 0)


def test_squares_are_elastic_nets_with_kinds_of_their_own() -> None:
    """They share the numbers with `ElasticEdges`, and certificate files state them as they always did."""
    for G, kind in zip(BOTH, ("squared positive", "squared"), strict=True):
        assert isinstance(G, ElasticEdges)
        assert (G.l1, G.l2, G.signed) == (0.0, 2.0, isinstance(G, SquaredEdges) and kind == "squared")
        assert G.statement() == {"kind": kind}
        assert defines_own_kind(G)
        assert repr(G) == f"{type(G).__name__}()"
        assert pickle.loads(pickle.dumps(G)) == G
    assert SquaredEdges() != ElasticEdges(True, 0.0, 2.0)
    with pytest.raises(TypeError, match="positional argument"):
        SquaredEdges(False)  # pyright: ignore[reportCallIssue]


def test_the_slack_covers_edges_whose_rounding_errors_cross_0() -> None:
    """Edges just below 0 cost nothing, and the exact edges just above cost their squares."""
    t, mass, unit = 10_000, 3.0, 1e-13
    e, w = np.full(t, -0.5 * unit * mass), np.zeros(t)
    exact = (
        sum(Fraction(x) + Fraction(unit) * Fraction(mass) > 0 for x in e.tolist()) * Fraction(0.5 * unit * mass) ** 2
    )
    assert 0 < exact / 4 <= Fraction(BOTH[0].value(e)) + Fraction(BOTH[0].value_slack(e, w, mass, unit))


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
