"""Margins in buckets: soft margins from below, and weights that lie in the capped simplex exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from boostopt.authoring import CappedSimplex, RelativeEntropy
from boostopt.boosting.objectives.exact_objective import ExactSoftMargin, weight_function
from boostopt.boosting.objectives.margin_histogram import MIN_CURVATURE_BINS, MarginHistogram, effective_sample_size
from boostopt.programs.program import Examples
from boostopt.rows.block_sums import histogram
from boostopt.rows.margin_grid import CURVATURE_SCALE, MARGIN_SCALE, WEIGHT_SCALE, MarginGrid
from boostopt.rows.row_block import RowBlock


def margins(kind: str, n: int = 400, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    M = {
        "spread": rng.integers(-MARGIN_SCALE, MARGIN_SCALE + 1, n),
        "few values": rng.choice([-MARGIN_SCALE, -5, 0, 7, MARGIN_SCALE], n),
        "equal": np.full(n, MARGIN_SCALE // 3),
        "close": rng.integers(1000, 2000, n),
    }[kind]
    return M.astype(np.int32)


def margin_histogram(M: np.ndarray, c: np.ndarray | None, window: MarginGrid) -> MarginHistogram:
    rows = RowBlock(np.zeros((1, len(M)), np.uint8), np.ones(len(M), np.int8), c)
    return MarginHistogram(window, *histogram(rows, M, window))


def mean_of_smallest(M: np.ndarray, c: np.ndarray, nu: Fraction) -> Fraction:
    """The slow twin: margins are sorted."""
    remaining, total = nu, Fraction(0)
    for k in np.argsort(M, kind="stable").tolist():
        count = min(remaining, Fraction(int(c[k])))
        total, remaining = total + count * int(M[k]), remaining - count
    return total / nu / MARGIN_SCALE


KINDS = ("spread", "few values", "equal", "close")
WINDOWS = (MarginGrid.full(), MarginGrid.covering(-0.1, 0.2), MarginGrid.covering(0.0, 1e-6))


@pytest.mark.every(5)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("copied", [False, True])
def test_the_soft_margin_lies_just_below_the_mean_of_the_smallest(kind: str, window: MarginGrid, copied: bool) -> None:
    M, rng = margins(kind), np.random.default_rng(1)
    c = rng.integers(1, 5, len(M)) if copied else np.ones(len(M), np.int64)
    buckets = margin_histogram(M, c if copied else None, window)
    for nu in (Fraction(1), Fraction(0.37), Fraction(17.25), Fraction(100), Fraction(int(c.sum()))):
        exact, bound = mean_of_smallest(M, c, nu), buckets.soft_margin_lower_bound(nu)
        assert bound <= exact
        if window == MarginGrid.full():
            assert float(exact - bound) <= window.bin_width
    assert buckets.soft_margin_lower_bound(Fraction(int(c.sum()))) == mean_of_smallest(M, c, Fraction(int(c.sum())))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("eta", [0.5, 30.0, 1e4, 1e7])
@pytest.mark.parametrize("share", [0.0025, 0.1, 0.999, 1.0])
def test_weights_lie_in_the_capped_simplex_exactly(kind: str, eta: float, share: float) -> None:
    M = margins(kind)
    buckets, nu = margin_histogram(M, None, MarginGrid.full()), Fraction(share * len(M))

    def regularizer_of(examples: Examples) -> RelativeEntropy:
        return RelativeEntropy.capped(examples.c, float(nu), eta, examples.d0)

    law = weight_function(buckets, regularizer_of, ExactSoftMargin(nu, len(M)))
    q = law.integer_weights[np.flatnonzero(buckets.counts)]
    assert int(law.integer_weights @ buckets.counts) == law.normalizer and q.min() >= 0 and 0 < q.max() <= WEIGHT_SCALE
    assert nu * int(q.max()) <= law.normalizer
    curvature, _ = law.curvature_of_bins
    assert (np.diff(q) <= 0).all() and curvature.max() <= CURVATURE_SCALE and curvature.min() >= 0
    # Near those of the regularizer itself, over all examples.
    F = RelativeEntropy.capped(np.ones(len(M)), float(nu), eta, np.full(len(M), 1 / len(M)))
    d = F.conjugate_at(-M / MARGIN_SCALE).d
    place = buckets.grid.bin_index(M, np.empty_like(M))
    if eta * buckets.grid.bin_width < 0.01:
        assert np.abs(law.integer_weights[place] / law.normalizer - d).sum() < 0.02
        assert law.dual_objective == pytest.approx(-F.conjugate_at(-M / MARGIN_SCALE).value, abs=1e-4)
        assert law.regularizer_value == pytest.approx(F.value(d), abs=1e-3)


def test_curvatures_are_those_of_the_weights_between_the_ends() -> None:
    M, c = margins("spread"), np.ones(400)
    buckets = margin_histogram(M, None, MarginGrid.full())

    def regularizer_of(examples: Examples) -> RelativeEntropy:
        return RelativeEntropy(CappedSimplex(examples.c, 40.0), 3.0, examples.d0)

    law = weight_function(buckets, regularizer_of, ExactSoftMargin(Fraction(40), 400))
    F = RelativeEntropy(CappedSimplex(c, 40.0), 3.0, c / c.sum())
    d = F.conjugate_at(-M / MARGIN_SCALE).d
    place = buckets.grid.bin_index(M, np.empty_like(M))
    # An entropy's weight yields by eta d.
    expected = np.where(d < (1 - 1e-9) / 40, 3.0 * d, 0.0)
    curvature, unit = law.curvature_of_bins
    assert np.abs(unit * curvature[place] - expected).max() <= 2.0 * unit
    low, high = law.transition
    assert (
        law.integer_weights[place[M / MARGIN_SCALE < low]].min(initial=WEIGHT_SCALE) == WEIGHT_SCALE
        and (law.integer_weights[place[M / MARGIN_SCALE > high]] == 0).all()
    )
    assert -1.0 <= low < high <= 1.0


@pytest.mark.parametrize("spread", [0.01, 0.1, 0.7])
def test_with_a_spread_curvature_is_the_largest_rate_at_which_weights_fall(spread: float) -> None:
    """The slow twin takes each margin separately, with the weights of the regularizer at the same level."""
    M, eta, nu = margins("spread", 4000), 40.0, 400.0
    buckets = margin_histogram(M, None, MarginGrid.full())

    def regularizer_of(examples: Examples) -> RelativeEntropy:
        return RelativeEntropy(CappedSimplex(examples.c, nu), eta, examples.d0)

    law = weight_function(buckets, regularizer_of, ExactSoftMargin(Fraction(nu), len(M)))
    window, table, unit = law.curvature(spread)
    F = RelativeEntropy(CappedSimplex(np.ones(len(M)), nu), eta, np.full(len(M), 1 / len(M)))
    order = np.argsort(M)
    m, d = M[order] / MARGIN_SCALE, F.conjugate_at(-M / MARGIN_SCALE).d[order]
    # It is computed at one margin for as many bins.
    tolerance = (law.transition[1] - law.transition[0] + 2.0 * spread) / (MIN_CURVATURE_BINS - 1)
    widths = spread / 2.0 ** np.arange(20)
    widths = widths[widths > 2.0 * buckets.grid.bin_width]
    r = unit * table[window.bin_index(M[order], np.empty_like(M))]

    def rate(margins: np.ndarray) -> np.ndarray:
        return np.max(
            [(np.interp(margins - s, m, d) - np.interp(margins + s, m, d)) / (2.0 * s) for s in widths], axis=0
        )

    around = [rate(m + share * tolerance) for share in np.linspace(-1.0, 1.0, 65)]
    room = 0.02 * np.max(around)
    assert (r <= np.max(around, axis=0) + room).all() and (r >= np.min(around, axis=0) - room).all()
    assert CURVATURE_SCALE / 2 <= table.max() <= CURVATURE_SCALE and table.min() == 0 and table[0] == table[-1] == 0
    assert (
        np.flatnonzero(table)[-1] <= 2 * MIN_CURVATURE_BINS + 2
    )  # bins are as wide as the distance between two of them
    assert law.curvature(0.0) == (law.grid, *law.curvature_of_bins)
    assert window.bin_min(1) / MARGIN_SCALE <= law.transition[0] - spread + 1e-6 or law.transition[0] - spread < -1.0


def test_the_effective_sample_size_is_that_of_kish() -> None:
    assert effective_sample_size(np.array([2, 3]), np.array([1, 2])) == 64 / 14
    assert effective_sample_size(np.array([5, 7]), np.array([3, 3])) == 12.0
    assert effective_sample_size(np.array([5, 7]), np.array([0, 3])) == 7.0
    assert effective_sample_size(np.array([5]), np.array([0])) == 0.0


@pytest.mark.parametrize("spread", [0.0, 0.1])
def test_the_sample_size_of_a_curvature_is_that_of_its_examples(spread: float) -> None:
    M, eta, nu = margins("spread", 4000), 40.0, 400.0
    buckets = margin_histogram(M, None, MarginGrid.full())

    def regularizer_of(examples: Examples) -> RelativeEntropy:
        return RelativeEntropy(CappedSimplex(examples.c, nu), eta, examples.d0)

    law = weight_function(buckets, regularizer_of, ExactSoftMargin(Fraction(nu), len(M)))
    window, table, _ = law.curvature(spread)
    r = table[window.bin_index(M, np.empty_like(M))].astype(np.float64)
    assert law.curvature_sample_size(window, table) == pytest.approx(r.sum() ** 2 / (r @ r), rel=0.01)
    q = law.integer_weights[buckets.grid.bin_index(M, np.empty_like(M))].astype(np.float64)
    assert law.effective_sample_size == pytest.approx(q.sum() ** 2 / (q @ q), rel=1e-12)
