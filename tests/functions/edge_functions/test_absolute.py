"""The largest absolute edge."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.problems import draw
from support.reference_formulas import assert_edge_gap, assert_edges_modelled, assert_weights_are_repaired, program
from support.speeds import many

from boostopt.functions.edge_functions.largest_edge import AbsoluteEdge, MaximumEdge
from boostopt.functions.regularizers.capped_simplex import CappedSimplex
from boostopt.functions.regularizers.capped_simplex_indicator import CappedSimplexIndicator

G = AbsoluteEdge()
seeds = st.integers(0, 2**32 - 1)


def random_edges_and_weights(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return edges with ties and zeros, and weights of any sign in the ball of the 1-norm or on its boundary."""
    t = int(rng.integers(1, 8))
    e = np.round(rng.uniform(-1, 1, t), int(rng.integers(1, 4)))
    w = rng.dirichlet(np.ones(t)) * rng.choice([-1.0, 1.0], t) * rng.choice([0.0, 0.3, 1.0])
    return e, w


@settings(max_examples=many(200, 40), deadline=None, derandomize=True)
@given(seeds)
def test_the_gap_is_the_fenchel_young_gap(seed: int) -> None:
    e, w = random_edges_and_weights(np.random.default_rng(seed))
    assert_edge_gap(G, e, w, max(abs(x) for x in e.tolist()))
    best = G.subgradient(e)
    assert max(G.residuals(best).values()) == 0.0
    assert G.gaps(e, best).sum() == pytest.approx(0.0, abs=1e-15)


def test_the_part_of_the_ball_that_is_not_used_counts() -> None:
    """Sum |w_q| (G - sgn(w_q) e_q) + (1 - ||w||_1) G."""
    e, w = np.array([0.5, -0.25]), np.array([-0.5, -0.25])
    np.testing.assert_allclose(G.gaps(e, w), [0.5 * 1.0 + 0.0625, 0.25 * 0.25 + 0.0625])
    assert G.gaps(e, np.zeros(2)).sum() == pytest.approx(0.5)


@pytest.mark.parametrize("seed", range(5))
def test_the_model_for_solvers(seed: int) -> None:
    e, w = random_edges_and_weights(np.random.default_rng(seed))
    assert_edges_modelled(G, e, w)


def test_any_junk_is_repaired() -> None:
    assert_weights_are_repaired(G, 5)
    for w in ([3.0, -4.0], [1e308, -1e308], [1.5, 0.0]):
        projected = G.project(np.array(w))
        assert projected is not None
        assert np.abs(projected).sum() <= 1.0
        assert np.abs(projected).sum() >= 1.0 - 1e-14
        np.testing.assert_array_equal(np.sign(projected), np.sign(w))
    np.testing.assert_array_equal(G.project(np.array([0.3, -0.2])), [0.3, -0.2])
    np.testing.assert_array_equal(G.project(np.array([np.nan, np.inf])), [0.0, 0.0])  # 0 lies in the ball


def test_residuals_name_what_is_violated() -> None:
    assert G.residuals(np.array([0.75, -0.75])) == {"sum |w| <= 1": 0.5}
    assert G.residuals(np.array([0.5, -0.5])) == {"sum |w| <= 1": 0.0}
    assert G.residuals(np.array([np.nan, 0.0])) == {"sum |w| <= 1": np.inf}


def test_complementary_slackness_determines_the_weights() -> None:
    """Only edges of the largest size may have weight, with their sign; at e = 0 the sum may be less than 1."""
    active = G.active(np.array([0.5, -0.5, 0.2]), 1e-9)
    np.testing.assert_array_equal(active.directions, [[1, 0], [0, -1], [0, 0]])
    assert (active.signed, active.total, active.total_is_upper_bound) == (False, 1.0, False)
    at_zero = G.active(np.zeros(2), 1e-9)
    assert at_zero.total_is_upper_bound
    assert at_zero.directions.shape == (2, 4)


@pytest.mark.parametrize("seed", range(8))
def test_the_largest_absolute_edge_is_the_maximum_over_the_columns_and_their_negatives(seed: int) -> None:
    """A class closed under negation, with weights in the simplex, has the same optimum."""
    problem = draw(np.random.default_rng(seed), largest_N=20, largest_t=4)
    c = np.ones(len(problem.U)) if problem.c is None else problem.c
    F = CappedSimplexIndicator(CappedSimplex(c, problem.nu if problem.d0 is None else 1.0))
    both = np.column_stack([problem.U, -problem.U])
    one = program(problem.U, F, G, c).solve("cvxpy:clarabel", tol=1e-8).certificate
    maximum_certificate = program(both, F, MaximumEdge(), c).solve("cvxpy:clarabel", tol=1e-8).certificate
    assert one.gap <= 1e-7
    assert maximum_certificate.gap <= 1e-7
    assert one.overlaps(maximum_certificate)
