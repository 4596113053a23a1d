"""Both bounds of the program itself over a class, from margins in buckets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from boostopt import Run, boost
from boostopt.boosting.histogram_newton.histogram_run import HistogramRun
from boostopt.boosting.objectives.margin_histogram import MarginHistogram
from boostopt.errors import ProblemError
from boostopt.oracles import BinnedStumps
from boostopt.rows.margin_grid import MARGIN_SCALE, MarginGrid

pytestmark = pytest.mark.every(2)

FORMULATIONS = ("erlpboost", "binary_erlpboost", "corrective_erlpboost", "lpboost")


def binned_stumps(seed: int, N: int) -> BinnedStumps:
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(N, 5)), int(rng.integers(1, 4)))
    y = np.where(X[:, 0] + X[:, 1] + rng.normal(size=N) > 0, 1, -1)
    return BinnedStumps(X, y, c=rng.integers(1, 4, N).astype(float) if seed % 2 else None, bins=65_536)


def histogram_run_of(formulation: str, oracle: BinnedStumps, **how: Any) -> HistogramRun:
    run = boost(formulation, oracle, nu=0.3 * float(oracle.c.sum()), update="newton", **how)
    assert isinstance(run, HistogramRun)
    return run


@pytest.mark.thorough_cases("0-erlpboost", "1-erlpboost", "1-corrective_erlpboost")
@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_over_the_class_lies_in_the_interval(formulation: str, seed: int) -> None:
    oracle = binned_stumps(seed, 150)
    run = histogram_run_of(formulation, oracle, epsilon=0.05)
    lower, upper = run.program_interval
    exact = boost(formulation, oracle, nu=0.3 * float(oracle.c.sum()), epsilon=0.05, update="total")
    bounds = exact.record.state.bounds
    assert lower <= upper
    assert lower <= bounds.smallest_primal + 1e-12
    assert exact.certificate.lower <= upper


@pytest.mark.thorough_cases("5000-0.01-erlpboost", "5000-0.01-corrective_erlpboost")
@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize(("N", "epsilon"), [(150, 0.05), (5000, 0.01)])
def test_the_ends_are_those_of_all_examples(formulation: str, N: int, epsilon: float) -> None:
    """The lower one but for the second order of a bucket's width, the upper one but for the rounding."""
    run = histogram_run_of(formulation, binned_stumps(1, N), epsilon=epsilon)
    (lower, upper), problem, certificate = run.program_interval, run.problem, run.class_certificate
    dual_value = -problem.conjugate_at_margins(run.record.state.m).value
    assert certificate.d is not None
    primal_value = problem.F.value(problem.F.project(certificate.d)) + certificate.upper
    assert dual_value - 1e-6 <= lower <= dual_value + 1e-12
    assert primal_value - 1e-12 <= upper <= primal_value + 1e-9


def test_a_page_that_bounds_the_edges_and_a_run_without_rows_have_none(tmp_path: Any) -> None:
    oracle = binned_stumps(0, 150)
    with pytest.raises(ProblemError, match=r"\bsoftboost\b.*\bclass_certificate\b"):
        _ = histogram_run_of("softboost", oracle, epsilon=0.05).program_interval
    run = histogram_run_of("erlpboost", oracle, epsilon=0.05)
    run.stored_run.save(tmp_path / "run.npz")
    loaded = Run.load(tmp_path / "run.npz")
    assert isinstance(loaded, HistogramRun)
    with pytest.raises(ProblemError, match=r"\brows\b.*\bverify_class\b"):
        _ = loaded.program_interval


@pytest.mark.parametrize("grid", [MarginGrid.full(), MarginGrid.covering(-0.1, 0.2)], ids=str)
def test_examples_at_both_ends_of_a_bucket_keep_count_and_mean(grid: MarginGrid) -> None:
    rng = np.random.default_rng(0)
    M = np.concatenate([rng.integers(-MARGIN_SCALE, MARGIN_SCALE + 1, 500), [-MARGIN_SCALE, MARGIN_SCALE, 0]]).astype(
        np.int32
    )
    bins = grid.bin_index(M, np.empty_like(M))
    counts = np.bincount(bins, minlength=16_386)
    sums = np.bincount(bins, M.astype(np.float64), 16_386).astype(np.int64)
    c, m = MarginHistogram(grid, counts, sums).spread_to_bin_edges
    assert (c > 0.0).all() and np.abs(m).max() <= 1.0
    assert c.sum() == pytest.approx(len(M)) and c @ m == pytest.approx(
        float(M.astype(np.int64).sum()) / MARGIN_SCALE, abs=1e-9
    )
    for rate in (1.0, -7.0, 200.0):  # convex functions of one margin
        assert np.exp(rate * m) @ c >= np.exp(rate * M / MARGIN_SCALE).sum() * (1.0 - 1e-12)
