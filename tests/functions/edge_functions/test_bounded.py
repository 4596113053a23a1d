"""Edges below a bound, and edges at a value."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.reference_formulas import assert_edge_gap, assert_edges_modelled, assert_weights_are_repaired

from boostopt.functions.edge_functions.edge_bound_indicators import BoundedEdges, FixedEdges

seeds = st.integers(0, 2**32 - 1)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(seeds)
def test_the_gap_below_a_bound_is_the_fenchel_young_gap(seed: int) -> None:
    rng = np.random.default_rng(seed)
    t, gamma = int(rng.integers(1, 8)), float(rng.uniform(-1, 1))
    e = np.minimum(rng.uniform(-1, 1, t), gamma)
    w = rng.exponential(size=t) * rng.choice([0.0, 1.0, 1e6], t)
    G = BoundedEdges(gamma)
    assert_edge_gap(G, e, w, 0.0)
    assert G.conjugate(w) == pytest.approx(sum(gamma * x for x in w.tolist()), rel=1e-12, abs=1e-15)
    assert G.gaps(e, G.subgradient(e)).sum() == 0.0
    active_weights = np.where(e == gamma, w, 0.0)  # weight where the bound holds with equality
    assert G.gaps(e, active_weights).sum() == 0.0


@settings(max_examples=100, deadline=None, derandomize=True)
@given(seeds)
def test_the_gap_at_a_value_is_zero(seed: int) -> None:
    rng = np.random.default_rng(seed)
    t, rho = int(rng.integers(1, 8)), float(rng.uniform(-1, 1))
    G, w = FixedEdges(rho), rng.normal(size=t) * 10.0 ** rng.integers(-3, 6)
    assert_edge_gap(G, np.full(t, rho), w, 0.0)
    assert G.gaps(np.full(t, rho), G.subgradient(np.full(t, rho))).sum() == 0.0


@pytest.mark.parametrize("seed", range(3))
def test_the_models_for_solvers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    gamma = float(rng.uniform(-0.5, 0.5))
    assert_edges_modelled(BoundedEdges(gamma), np.minimum(rng.uniform(-1, 1, 4), gamma), rng.exponential(size=4))
    assert_edges_modelled(FixedEdges(gamma), np.full(3, gamma), rng.normal(size=3))


def test_any_junk_is_repaired() -> None:
    assert_weights_are_repaired(BoundedEdges(0.3), 5)
    assert_weights_are_repaired(FixedEdges(-0.3), 5)
    G = BoundedEdges(0.1)
    np.testing.assert_array_equal(G.project(np.array([-1.0, 2.0, np.nan])), [0.0, 2.0, 0.0])
    huge = G.project(np.array([1e300, 1e299]))
    assert huge is not None
    np.testing.assert_allclose(huge, [1e15, 1e14])  # its products must stay finite
    np.testing.assert_array_equal(FixedEdges(0.1).project(np.array([-1.0, 2.0])), [-1.0, 2.0])


def test_residuals_name_what_is_violated() -> None:
    assert BoundedEdges(0.0).residuals(np.array([-0.25, 3.0])) == {"w >= 0": 0.25}
    assert FixedEdges(0.0).residuals(np.array([-0.25, 3.0])) == {"w finite": 0.0}
    assert FixedEdges(0.0).residuals(np.array([np.inf, 3.0])) == {"w finite": np.inf}


def test_the_domains() -> None:
    upper_box, equations = BoundedEdges(0.25).domain(3), FixedEdges(0.25).domain(3)
    assert upper_box is not None
    assert equations is not None
    np.testing.assert_array_equal(upper_box.low, np.full(3, -np.inf))
    for polyhedron in (upper_box, equations):
        np.testing.assert_array_equal(polyhedron.high, np.full(3, 0.25))
        np.testing.assert_array_equal(polyhedron.rows(3), np.eye(3))
        np.testing.assert_array_equal(polyhedron.image(np.arange(3.0)), np.arange(3.0))
    np.testing.assert_array_equal(equations.low, equations.high)


def test_rays_are_directions_of_norm_one_and_their_support_is_the_largest_product() -> None:
    rng = np.random.default_rng(0)
    for G in (BoundedEdges(-0.2), FixedEdges(0.4)):
        for _ in range(20):
            w = rng.exponential(size=4) if isinstance(G, BoundedEdges) else rng.normal(size=4)
            for ray in G.candidate_rays(w * 10.0 ** rng.integers(-300, 15)):
                assert np.abs(ray).sum() == pytest.approx(1.0, abs=1e-12)
                inside = np.full(4, G.gamma) if isinstance(G, BoundedEdges) else np.full(4, G.rho)
                assert ray @ inside == pytest.approx(G.support(ray), abs=1e-15)
                lower = inside - (rng.random(4) if isinstance(G, BoundedEdges) else 0.0)
                assert ray @ lower <= G.support(ray) + 1e-15
        assert list(G.candidate_rays(np.zeros(4))) == []
    both = FixedEdges(0.1).candidate_rays(np.array([0.0]))  # a single edge has two directions, whatever w is
    assert [float(ray[0]) for ray in both] == [1.0, -1.0]


def test_complementary_slackness_determines_the_weights() -> None:
    e = np.array([0.3, 0.3 - 1e-8, 0.1])
    active = BoundedEdges(0.3).active(e, 1e-6)
    np.testing.assert_array_equal(active.directions, np.eye(3)[:, :2])
    assert (active.signed, active.total) == (False, None)
    fixed = FixedEdges(0.3).active(e, 1e-6)
    np.testing.assert_array_equal(fixed.directions, np.eye(3))
    assert (fixed.signed, fixed.total) == (True, None)
