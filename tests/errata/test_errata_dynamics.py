"""Errata of Rudin, Daubechies, Schapire 2004 (dynamics of boosting). The page is docs/errata.md."""

from __future__ import annotations

import numpy as np
import pytest
from errata.independent_answers import lpboost
from test_errata_softboost_paper import adaboost_star

M = 1 - 2 * np.eye(3)


def step(V: np.ndarray, d: np.ndarray, normalize: bool = True) -> tuple[np.ndarray, int, float]:
    """One step of the reduced map of AdaBoost: the next weights, the hypothesis chosen, its edge."""
    j = int((V.T @ d).argmax())
    r = float(V[:, j] @ d)
    d = d / (1 + V[:, j] * r)
    return (d / d.sum() if normalize else d), j, r


def test_D1_the_map_must_be_renormalized() -> None:
    d = bare = np.array([0.31, 0.29, 0.4])
    for _ in range(60):
        d, bare = step(M, d)[0], step(M, bare, normalize=False)[0]
    assert abs(bare.sum() - 1) > 1e-6
    assert abs(d.sum() - 1) < 1e-15
    # An error of the sum grows by 1 / (1 - r^2) a step.
    cycle = np.array([(3 - 5**0.5) / 4, (5**0.5 - 1) / 4, 0.5])
    after, _, r = step(M, cycle * (1 + 1e-6), normalize=False)
    assert (after.sum() - 1) / 1e-6 == pytest.approx(1 / (1 - r**2), rel=1e-4)
    assert 1 / (1 - r**2) > 1.6


def test_D2_adaboost_star_needs_fewer_rounds_with_the_natural_logarithm() -> None:
    """The printed bound, with the binary logarithm, is no lie but 44 % too large."""
    m, nu = 16, 0.1
    printed_value, corrected = 2 * np.log2(m) / nu**2, 2 * np.log(m) / nu**2
    assert printed_value - corrected > 240
    for seed in range(5):
        V = np.random.default_rng(seed).choice([-1.0, 1.0], size=(m, 30))
        weights = adaboost_star(V, nu, int(np.ceil(corrected)))[-1]
        assert (V @ weights).min() >= lpboost(V, 1).value - nu


def test_D3_a_cycle_of_three_takes_three_iterations() -> None:
    a, b = (3 - 5**0.5) / 4, (5**0.5 - 1) / 4
    start = np.array([a, b, 0.5])
    twice = step(M, step(M, start)[0])[0]
    np.testing.assert_allclose(step(M, twice)[0], start, atol=1e-15)
    assert np.abs(twice - start).max() > 0.19


def cycle_of(V: np.ndarray, d: np.ndarray, rounds: int, period: int) -> tuple[list[int], np.ndarray]:
    """Return hypotheses and edges over one period after the weights repeat."""
    for _ in range(rounds):
        d, _, _ = step(V, d)
    start, hypotheses, edges = d, list[int](), list[float]()
    for _ in range(period):
        d, j, r = step(V, d)
        hypotheses.append(j)
        edges.append(r)
    np.testing.assert_allclose(d, start, atol=1e-10)
    return hypotheses, np.array(edges)


def normalized_weights(V: np.ndarray, hypotheses: list[int], coefficients: np.ndarray) -> np.ndarray:
    """Return the normalized weights of all hypotheses."""
    weights = np.bincount(hypotheses, coefficients, minlength=V.shape[1])
    return weights / weights.sum()


def test_D4_the_classifier_of_a_cycle_weighs_with_alpha() -> None:
    # In the paper's cycles all edges are equal, and both weightings with them.
    hypotheses, edges = cycle_of(M, np.array([0.31, 0.29, 0.4]), 60, 3)
    np.testing.assert_allclose(edges, (5**0.5 - 1) / 2, atol=1e-12)
    np.testing.assert_allclose(
        normalized_weights(M, hypotheses, np.arctanh(edges)), normalized_weights(M, hypotheses, edges), atol=1e-12
    )
    # Here they differ: period 10, edges between 0.27 and 0.48.
    rng = np.random.default_rng(13)
    rows, columns = rng.integers(4, 8), rng.integers(4, 9)
    V = np.unique(rng.choice([-1.0, 1.0], size=(rows, columns)), axis=1)
    start = rng.dirichlet(np.ones(rows))
    hypotheses, edges = cycle_of(V, start, 4000, 10)
    assert np.ptp(edges) > 0.15
    by_alpha, by_edge = normalized_weights(V, hypotheses, np.arctanh(edges)), normalized_weights(V, hypotheses, edges)
    assert np.abs(by_alpha - by_edge).max() > 0.002
    # AdaBoost accumulates the alphas: its weights d are those of exp(-margins).
    lam, d = np.zeros(V.shape[1]), start
    for _ in range(4000):
        d, j, r = step(V, d)
        lam[j] += np.arctanh(r)
    np.testing.assert_allclose(start * np.exp(-V @ lam) / (start @ np.exp(-V @ lam)), d, atol=1e-9)
    lam /= lam.sum()
    assert np.abs(lam - by_alpha).max() < np.abs(lam - by_edge).max() / 5
