"""Two edges that must be equal."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.reference_formulas import assert_edge_gap, assert_edges_modelled, assert_weights_are_repaired

from boostopt.functions.edge_functions.tied_edges import TiedEdges

G = TiedEdges()
seeds = st.integers(0, 2**32 - 1)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(seeds)
def test_the_gap_is_zero_wherever_both_are_in_their_domains(seed: int) -> None:
    rng = np.random.default_rng(seed)
    e, w_u = float(rng.uniform(-1, 1)), float(rng.normal() * 10.0 ** rng.integers(-3, 4))
    assert_edge_gap(G, np.full(2, e), np.array([1 - w_u, w_u]), e)
    best = G.subgradient(np.full(2, e))
    assert best.sum() == 1.0
    assert G.multipliers(np.full(2, e)) == {"gamma": e}


@pytest.mark.parametrize("w_u", (-1.5, 0.0, 0.25, 1.0, 2.39))
def test_the_model_for_solvers(w_u: float) -> None:
    """The weights are free in sign: only their sum is 1."""
    assert_edges_modelled(G, np.full(2, 0.2), np.array([1 - w_u, w_u]))


def test_any_junk_is_repaired() -> None:
    assert_weights_are_repaired(G, 2)
    np.testing.assert_array_equal(G.project(np.array([7.0, 0.25])), [0.75, 0.25])
    np.testing.assert_array_equal(G.project(np.array([np.nan, -0.5])), [1.5, -0.5])


def test_residuals_name_what_is_violated() -> None:
    assert G.residuals(np.array([0.5, 0.75])) == {"sum w = 1": 0.25}
    assert G.residuals(np.array([0.5, np.nan])) == {"sum w = 1": np.inf}


def test_the_domain_is_the_line_of_equal_edges() -> None:
    line = G.domain(2)
    assert line is not None
    assert line.image(np.array([0.3, 0.3])) == [0.0]
    assert line.image(np.array([0.1, 0.4])) == pytest.approx([0.3])
    for ray in G.candidate_rays(np.array([0.2, 0.8])):
        assert ray @ np.ones(2) == 0.0  # orthogonal to the line, on which a ray has the support 0
        assert G.support(ray) == 0.0


def test_both_weights_may_be_active_with_any_sign() -> None:
    active = G.active(np.array([0.2, 0.2]), 1e-9)
    np.testing.assert_array_equal(active.directions, np.eye(2))
    assert (active.signed, active.total, active.total_is_upper_bound) == (True, 1.0, False)
