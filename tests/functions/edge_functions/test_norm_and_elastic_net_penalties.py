"""Balls of a norm, the elastic net and the 1-norm, for weights free in sign and for those that are not negative."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from support.reference_formulas import assert_edge_gap, assert_edges_modelled, assert_weights_are_repaired
from support.speeds import many

from boostopt.functions.edge_functions.norm_and_elastic_net_penalties import (
    AbsolutePenalty,
    BallEdges,
    ElasticEdges,
    OneNormEdges,
)

seeds = st.integers(0, 2**32 - 1)
BALLS = [BallEdges(signed, p, r) for signed in (False, True) for p in (1.0, 2.0, math.inf) for r in (0.4, 3.0)]
NETS = [ElasticEdges(signed, l1, 0.7) for signed in (False, True) for l1 in (0.0, 0.3)]
ALL = [*BALLS, *NETS, OneNormEdges(False, 0.3), OneNormEdges(True, 0.3)]


def by_hand(G: AbsolutePenalty, e: np.ndarray) -> float:
    """G(e) from its definition, one number at a time."""
    sizes = [abs(x) if G.signed else max(0.0, x) for x in e.tolist()]
    if isinstance(G, BallEdges):
        norms = {1.0: max(sizes), 2.0: math.sqrt(math.fsum(a * a for a in sizes)), math.inf: math.fsum(sizes)}
        return G.r * norms[G.p]
    if isinstance(G, ElasticEdges):
        return math.fsum(max(0.0, a - G.l1) ** 2 for a in sizes) / (2.0 * G.l2)
    return 0.0


def feasible(G: AbsolutePenalty, w: np.ndarray) -> np.ndarray:
    """Return weights in the domain of G*, some of them at its boundary."""
    projection = G.project(w)
    assert projection is not None
    return projection


@settings(max_examples=many(100, 20), deadline=None, derandomize=True)
@given(seeds)
def test_the_gap_is_the_fenchel_young_gap(seed: int) -> None:
    rng = np.random.default_rng(seed)
    t = int(rng.integers(1, 8))
    for G in ALL:
        e = rng.normal(size=t) * rng.choice([1e-3, 1.0, 30.0])
        e = e * min(1.0, 0.3 / np.abs(e).max()) if isinstance(G, OneNormEdges) else e
        assert_edge_gap(G, e, feasible(G, rng.normal(size=t) * rng.choice([1e-3, 1.0, 30.0])), by_hand(G, e))
        best = G.subgradient(e)
        assert max(G.residuals(best).values()) <= 1e-15
        assert G.gaps(e, best).sum() <= 1e-14 * (1.0 + by_hand(G, e))


@pytest.mark.thorough_cases(
    "BallEdges(signed=False, p=1.0, r=0.4)",
    "BallEdges(signed=False, p=inf, r=0.4)",
    "BallEdges(signed=True, p=2.0, r=0.4)",
    "OneNormEdges(signed=False, l1=0.3)",
)
@pytest.mark.every(4)
@pytest.mark.parametrize("G", ALL, ids=repr)
def test_the_conjugate_is_a_supremum(G: AbsolutePenalty) -> None:
    w = feasible(G, np.random.default_rng(1).normal(size=3))
    bound = G.l1 if isinstance(G, OneNormEdges) else 20.0
    low = np.full(3, -bound if G.signed else -20.0)
    minimum: Any = scipy.optimize.differential_evolution(
        lambda e: by_hand(G, e) - w @ e, list(zip(low, np.full(3, bound), strict=True)), rng=0, tol=1e-12
    )
    assert G.conjugate(w) == pytest.approx(-float(minimum.fun), abs=1e-6)


@pytest.mark.parametrize("G", ALL, ids=repr)
def test_the_models_for_solvers(G: AbsolutePenalty) -> None:
    rng = np.random.default_rng(2)
    e = rng.normal(size=4) * (0.1 if isinstance(G, OneNormEdges) else 1.0)
    assert_edges_modelled(G, e, 0.9 * feasible(G, rng.normal(size=4)))


@pytest.mark.parametrize("G", ALL, ids=repr)
def test_any_junk_is_repaired(G: AbsolutePenalty) -> None:
    assert_weights_are_repaired(G, 5)
    assert G.is_symmetric == G.signed
    w = feasible(G, np.array([-1.0, 0.1, 0.2]))
    assert (w >= 0.0).all() or G.signed


@pytest.mark.parametrize("G", [G for G in ALL if not (isinstance(G, BallEdges) and G.p == 2.0)], ids=repr)
def test_rows_and_squares_have_the_same_value(G: AbsolutePenalty) -> None:
    """SciPy minimizes the quadratic program over the further variables: its optimum is G."""
    rng = np.random.default_rng(3)
    for t in (1, 3):
        rows = G.epigraph(t)
        assert rows is not None and not rows.slope.any()
        e = rng.normal(size=t) * (0.1 if isinstance(G, OneNormEdges) else 1.0)
        room = rows.b - rows.rows(e)
        if not len(rows.g):
            assert (room >= 0.0).all() and by_hand(G, e) == 0.0
            continue
        minimum: Any = scipy.optimize.minimize(
            lambda x, rows=rows: rows.g @ x + 0.5 * x @ rows.Q @ x,
            np.full(len(rows.g), 5.0),
            constraints=[
                {"type": "ineq", "fun": lambda x, i=i, rows=rows, room=room: (room - rows.B @ x)[i]}
                if not equality
                else {"type": "eq", "fun": lambda x, i=i, rows=rows, room=room: (room - rows.B @ x)[i]}
                for i, equality in enumerate(rows.equality.tolist())
            ],
            tol=1e-12,
        )
        assert float(minimum.fun) == pytest.approx(by_hand(G, e), abs=1e-7)


@pytest.mark.parametrize("G", ALL, ids=repr)
def test_a_further_edge_costs_its_penalty(G: AbsolutePenalty) -> None:
    rng = np.random.default_rng(4)
    scale = 0.25 if isinstance(G, OneNormEdges) else 1.0
    for _ in range(20):
        e, more = scale * rng.uniform(-1, 1, 3), scale * float(rng.uniform(-1, 1))
        rise = by_hand(G, np.append(e, more)) - by_hand(G, e)
        assert G.added_hypothesis_cost(G.value(e), more) == pytest.approx(rise, abs=1e-14)
    if isinstance(G, OneNormEdges):
        assert (
            G.added_hypothesis_cost(0.0, 0.31) == math.inf
            and G.class_bound(0.3) == 0.0
            and G.class_bound(0.31) == math.inf
        )
    elif isinstance(G, BallEdges) and G.p == 1.0:
        assert G.class_bound(0.5) == by_hand(G, np.full(50, 0.5)) and G.class_bound(-0.5) == 0.0
    else:
        assert G.class_bound(0.5) == math.inf


@pytest.mark.parametrize("G", ALL, ids=repr)
def test_complementary_slackness_leaves_the_weights(G: AbsolutePenalty) -> None:
    e = np.array([0.3, -0.3, 0.1])
    active = G.active(e, 1e-9)
    x = np.full(active.directions.shape[1], 1.0)
    if active.total is not None:
        x *= active.total / max(len(x), 1)
    w = active.offset + active.directions @ x
    assert G.gaps(e, w).sum() == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("scale", (1e-150, 1e150))
def test_norms_of_huge_and_tiny_edges_are_finite(scale: float) -> None:
    for G in BALLS:
        e = scale * np.array([3.0, 4.0])
        assert 0.0 < G.value(e) < math.inf
        if G.p == 2.0:
            assert G.value(e) == pytest.approx(5.0 * scale * G.r, rel=1e-14)
        assert G.gaps(e, G.subgradient(e)).sum() <= 1e-14 * G.value(e)
