"""The maximum edge."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.speeds import many

from boostopt.functions.edge_functions.largest_edge import MaximumEdge

G = MaximumEdge()


@settings(max_examples=many(200, 40), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_gap_is_the_fenchel_young_gap(seed: int) -> None:
    rng = np.random.default_rng(seed)
    t = int(rng.integers(1, 9))
    e, w = rng.uniform(-1, 1, t), rng.dirichlet(np.ones(t))
    gaps = G.gaps(e, w)
    assert (gaps >= 0).all()
    assert gaps.sum() == pytest.approx(G.value(e) + G.conjugate(w) - w @ e, abs=1e-14)
    best = G.subgradient(e)
    assert G.gaps(e, best).sum() == 0.0
    assert G.multipliers(e) == {"gamma": e.max()}


def test_projection_onto_the_simplex_survives_anything() -> None:
    for w in ([1e308, 1e308], [5e-324, 0.0], [-1.0, 2.0], [np.nan, 1.0], [np.inf, 1.0]):
        projected = G.project(np.array(w))
        assert projected is not None
        assert max(G.residuals(projected).values()) <= 1e-15
    for w in ([0.0, 0.0], [-1.0, -2.0], [np.nan, np.nan]):
        assert G.project(np.array(w)) is None


def test_residuals_name_what_is_violated() -> None:
    assert G.residuals(np.array([-0.25, 1.0])) == {"w >= 0": 0.25, "sum w = 1": 0.25}
    assert G.residuals(np.array([np.nan, 1.0])) == {"w >= 0": np.inf, "sum w = 1": np.inf}
