"""Tests of predicted edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from boostopt.boosting.histogram_newton import newton_solver
from boostopt.boosting.histogram_newton.edge_prediction import useful_thresholds
from boostopt.boosting.histogram_newton.histogram_run import HistogramRun
from boostopt.oracles import BinnedStumps
from tests.boosting.test_histogram_newton import binned_stumps, class_bounds, histogram_run_of

NO_POOL = np.zeros(0, np.int64), np.zeros(0)
STARTS = np.array([0, 9])


def test_an_edge_between_thresholds_of_the_pool_leaves_what_interpolation_does_not_predict() -> None:
    """The line through the two edges of the pool predicts all of the first feature except for the bump."""
    edges = np.zeros(12)
    edges[1:8] = np.linspace(0.1, 0.7, 7)
    edges[4] += 0.2
    edges[[0, 8]] = -0.1, 0.5  # the circle of ten places leads from 0.7 to the other constant, which has -0.1
    pool = np.array([1, 7])
    thresholds, signs = useful_thresholds(edges, STARTS, pool, edges[pool], 0.0, 0.15, 5, True)
    assert thresholds.tolist() == [4] and signs.tolist() == [1]
    assert not len(useful_thresholds(edges, STARTS, pool, edges[pool], 0.0, 0.21, 5, True)[0])
    edges[8] = 0.0
    thresholds, signs = useful_thresholds(edges, STARTS, pool, edges[pool], 0.0, 0.21, 5, True)
    assert thresholds.tolist() == [8] and signs.tolist() == [-1]


def test_features_without_thresholds_in_the_pool_keep_their_edges_and_the_largest_come_first() -> None:
    edges = np.zeros(12)
    edges[[2, 10]] = 0.3, -0.5
    thresholds, signs = useful_thresholds(edges, STARTS, *NO_POOL, 0.1, 0.1, 5, True)
    assert thresholds.tolist() == [10, 2] and signs.tolist() == [-1, 1]
    assert useful_thresholds(edges, STARTS, *NO_POOL, 0.1, 0.1, 1, True)[0].tolist() == [10]
    assert useful_thresholds(edges, STARTS, *NO_POOL, 0.1, 0.1, 5, False)[0].tolist() == [2]
    assert not len(useful_thresholds(edges, STARTS, *NO_POOL, 0.1, 0.5, 5, True)[0])


def test_a_second_sweep_divides_a_range_again() -> None:
    """After the first peak, the line to the end of the feature predicts a third of the second one, and not the rest."""
    edges = np.zeros(9)
    edges[2], edges[5] = 0.6, -0.5
    assert useful_thresholds(edges, np.array([0]), *NO_POOL, 0.0, 0.2, 5, True)[0].tolist()[:2] == [2, 5]


@pytest.mark.thorough
def test_predicted_edges_save_evaluations_of_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    oracle = binned_stumps(1, 6_000)
    run = histogram_run_of(oracle, epsilon=0.003)
    monkeypatch.setattr(newton_solver, "MIN_PREDICTED_ROWS", 1 << 30)
    other_run = histogram_run_of(oracle, epsilon=0.003)
    assert isinstance(run, HistogramRun) and len(run.evaluations) < 0.9 * len(other_run.evaluations)
    bounds, other_bounds = class_bounds(run), class_bounds(other_run)
    assert max(bounds[0], other_bounds[0]) <= min(bounds[1], other_bounds[1])


def test_few_of_thousands_of_thresholds_are_predicted_and_save_as_many_evaluations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng, counts = np.random.default_rng(0), list[int]()
    X = rng.normal(size=(6_000, 4))
    y = np.where(X @ [1.0, 1.0, 0.5, 0.0] + rng.normal(size=6_000) > 0.0, 1, -1)
    oracle = BinnedStumps(X, y, bins=6_000)

    def counted(edges: np.ndarray, *arguments: Any) -> tuple[np.ndarray, np.ndarray]:
        counts.append(len(edges))
        return useful_thresholds(edges, *arguments)

    monkeypatch.setattr(newton_solver, "useful_thresholds", counted)
    run = histogram_run_of(oracle, epsilon=0.01)
    assert 4 * 500 <= min(counts) < 4 * 520 and max(counts) < 4 * 1_200
    monkeypatch.setattr(newton_solver, "MIN_PREDICTED_RANGES", 1 << 30)
    counts.clear()
    other_run = histogram_run_of(oracle, epsilon=0.01)
    assert set(counts) == {4 * 5_999}
    assert isinstance(run, HistogramRun) and len(run.evaluations) <= len(other_run.evaluations) + 1
    bounds, other_bounds = class_bounds(run), class_bounds(other_run)
    assert max(bounds[0], other_bounds[0]) <= min(bounds[1], other_bounds[1])
