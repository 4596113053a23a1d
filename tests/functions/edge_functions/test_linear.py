"""A linear function of the edges: weights that are given."""

from __future__ import annotations

import numpy as np
import pytest
from support.problems import REFERENCE_D0, REFERENCE_U
from support.reference_formulas import assert_edge_gap, assert_edges_modelled, assert_weights_are_repaired, program

from boostopt.functions.edge_functions.linear_edges import LinearEdges
from boostopt.functions.regularizers.relative_entropy import RelativeEntropy

SLOPES = (-0.5, 0.0, 2.0)


@pytest.mark.parametrize("slope", SLOPES)
def test_the_only_weights_are_the_slope(slope: float) -> None:
    G, e = LinearEdges(slope), np.array([0.3, -0.2, 0.5])
    w = np.full(3, slope)
    assert_edge_gap(G, e, w, slope * 0.6)
    np.testing.assert_array_equal(G.subgradient(e), w)
    np.testing.assert_array_equal(G.project(np.array([9.0, np.nan, -1.0])), w)
    np.testing.assert_array_equal(G.active(e, 1e-6).offset, w)
    assert G.residuals(w) == {"w = slope": 0.0}
    assert G.residuals(w + np.array([0.0, 0.25, 0.0])) == {"w = slope": 0.25}
    assert G.residuals(np.array([np.inf, 0.0, 0.0])) == {"w = slope": np.inf}
    assert_weights_are_repaired(G, 3)


@pytest.mark.parametrize("slope", SLOPES)
def test_the_model_for_solvers(slope: float) -> None:
    """The conjugate is 0 at the slope: <w, e> - G(e) vanishes for every e."""
    assert_edges_modelled(LinearEdges(slope), np.array([0.3, -0.2]), np.full(2, slope))


def test_the_optimal_distribution_is_the_exponential_update() -> None:
    """Min Delta(d, d0) + b sum e has d proportional to d0 exp(-b sum of the columns): one step that is known."""
    b = 0.7
    entropy = RelativeEntropy.capped(np.ones(6), 1.0, 1.0, REFERENCE_D0)
    pair = program(REFERENCE_U, entropy, LinearEdges(b), d0=REFERENCE_D0)
    update = REFERENCE_D0 * np.exp(-b * REFERENCE_U.sum(axis=1))
    certificate = pair.certify()  # the weights need not be told
    np.testing.assert_allclose(certificate.d, update / update.sum(), atol=1e-14)
    np.testing.assert_array_equal(certificate.w, np.full(3, b))
    assert certificate.gap < 1e-13
