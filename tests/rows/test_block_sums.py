"""Sums over rows: those of Python's whole numbers, however the rows are cut, at the ends of every range."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from boostopt.rows import binned_rows, block_sums, gram_matrices
from boostopt.rows.binned_rows import BinnedRows, LocalRows
from boostopt.rows.block_sums import histogram, margins, signed_sums_by_code
from boostopt.rows.feature_encoding import BinnedFeatures
from boostopt.rows.gram_matrices import gram, sums_over_cells_are_faster
from boostopt.rows.margin_grid import MARGIN_SCALE, N_BINS, WEIGHT_SCALE, MarginGrid
from boostopt.rows.row_block import MAX_EXAMPLES, MAX_MULTIPLICITY, RowBlock, Split

SPLITS = (Split(0, 1, 1), Split(2, 4, -1), Split(2, 0, 1), Split(1, 2, 1))


def part(n: int, seed: int = 0, wide: bool = False, copies: bool = False) -> RowBlock:
    """Three features of few codes; multiplicities of every size."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 6, (3, n)).astype(np.uint16 if wide else np.uint8)
    c = 2 ** rng.integers(0, 21, n) if copies else None
    return RowBlock(codes, rng.choice([-1, 1], n).astype(np.int8), c)


def values(rows: RowBlock, splits: Sequence[Split] = SPLITS) -> np.ndarray:
    """h(x), shape (n, t)."""
    columns = [np.where(rows.codes[s.feature] > s.code, s.sign, -s.sign) for s in splits]
    return np.stack(columns, axis=1).astype(np.int64)


def copies(rows: RowBlock) -> np.ndarray:
    return np.ones(rows.n, np.int64) if rows.c is None else rows.c


def random_margins(n: int, seed: int = 0) -> np.ndarray:
    """Margins of every size, both bounds included."""
    rng = np.random.default_rng(seed)
    M = rng.integers(-MARGIN_SCALE, MARGIN_SCALE + 1, n)
    M[: n // 2] >>= rng.integers(0, 30, n // 2)
    M[:3] = (-MARGIN_SCALE, MARGIN_SCALE, 0)
    return M.astype(np.int32)


def places(M: np.ndarray, window: MarginGrid) -> list[int]:
    """The bucket of each margin, by division."""
    bins = [(int(m) - window.origin) // (1 << window.log2_bin_width) for m in M]
    return [min(max(b, -1), N_BINS) + 1 for b in bins]


WINDOWS = (
    MarginGrid.full(),
    MarginGrid.covering(0.1, 0.101),
    MarginGrid.covering(-1.0, -0.9),
    MarginGrid.covering(0.5, 0.5 + 1e-9),
    MarginGrid.covering(-1.0, -1.0 + 1e-9),
    MarginGrid.covering(1.0 - 1e-9, 1.0),
)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("n", [10, 40_000])
def test_scores_are_margins_of_the_weights(n: int, wide: bool) -> None:
    rows = part(n, wide=wide)
    W = np.array([MARGIN_SCALE - 7, 4, 2, 1])
    table = LocalRows([rows], np.arange(3), np.array([0, 5, 10]), 15)
    expected = rows.y * (values(rows) @ W)
    assert np.array_equal(table.margins(SPLITS, W)[0], expected)
    assert np.array_equal(margins(rows, {}), np.zeros(n))


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("copied", [False, True])
@pytest.mark.parametrize("span", [50, 1 << 17])
def test_counts_are_those_of_whole_numbers(
    window: MarginGrid, copied: bool, span: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("boostopt.rows.block_sums.HISTOGRAM_BATCH", span)
    rows, M = part(700, copies=copied), random_margins(700)
    counts, total = histogram(rows, M, window)
    bins = places(M, window)
    for b in set(bins):
        members = [k for k in range(700) if bins[k] == b]
        assert counts[b] == sum(int(copies(rows)[k]) for k in members)
        assert total[b] == sum(int(copies(rows)[k]) * int(M[k]) for k in members)
        assert all(window.bin_min(b) <= M[k] <= window.bin_max(b) for k in members)
    assert counts.sum() == copies(rows).sum() and np.count_nonzero(counts) == len(set(bins))


@pytest.mark.parametrize("n", [5, 300_000])
def test_no_sum_of_the_largest_margins_is_rounded(n: int) -> None:
    # One less than a power of two: whatever is rounded away shows.
    M = np.full(n, MARGIN_SCALE - 1, np.int32)
    c = min(MAX_MULTIPLICITY, MAX_EXAMPLES // n) - 1
    rows = RowBlock(np.zeros((1, n), np.uint8), np.ones(n, np.int8), np.full(n, c))
    for block in (rows, RowBlock(rows.codes, rows.y)):
        counts, total = histogram(block, M, MarginGrid.full())
        assert int(total.sum()) == block.total * (MARGIN_SCALE - 1) and int(counts.sum()) == block.total


@pytest.mark.parametrize("copied", [False, True])
@pytest.mark.parametrize("share", [1.0, 0.2, 0.0])
@pytest.mark.parametrize("wide", [False, True])
def test_sums_over_codes_are_those_of_whole_numbers(copied: bool, share: float, wide: bool) -> None:
    rng = np.random.default_rng(3)
    rows, M, window = part(20_000, copies=copied, wide=wide), random_margins(20_000), WINDOWS[1]
    table = rng.integers(0, WEIGHT_SCALE + 1, N_BINS + 2) * (rng.random(N_BINS + 2) < share)
    s = (rows.y * copies(rows) * table[places(M, window)]).astype(object)
    sums = signed_sums_by_code(rows, M, window, table, {2: 6, 0: 6})
    for j, feature_sums in zip((2, 0), sums, strict=True):
        assert [int(x) for x in feature_sums] == [sum(s[rows.codes[j] == k], 0) for k in range(6)]


ALL = (*(Split(j, code, (-1) ** (j + code)) for j in (2, 0) for code in range(5)), *SPLITS, SPLITS[0])
"""Every split of two features, some of them twice, and one of another."""


@pytest.mark.parametrize("copied", [False, True])
@pytest.mark.parametrize("splits", [SPLITS, ALL, SPLITS[:1]], ids=len)
@pytest.mark.parametrize("is_by_cells", [True, False])
def test_gram_is_that_of_whole_numbers(
    copied: bool, splits: Sequence[Split], is_by_cells: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gram_matrices, "sums_over_cells_are_faster", lambda *sizes, is_compiled=False: is_by_cells)
    rng = np.random.default_rng(4)
    rows, M, window = part(20_000, copies=copied), random_margins(20_000), MarginGrid.full()
    table = rng.integers(0, 257, N_BINS + 2) * (rng.random(N_BINS + 2) < 0.5)
    table[1] = 256
    r = copies(rows) * table[places(M, window)]
    V = np.column_stack([values(rows, splits), rows.y.astype(np.int64)])
    assert np.array_equal(gram(rows, M, window, table, splits), (V.T * r) @ V)
    assert not gram(rows, M, window, 0 * table, splits).any()


@pytest.mark.parametrize(
    ("n_rows", "n_splits", "n_features", "is_by_cells"),
    [
        (16_384, 480, 30, True),
        (16_384, 120, 30, False),
        (500, 480, 30, False),
        (16_384, 64, 4, True),
        (1e7, 100, 100, False),
        (0, 0, 0, False),
    ],
)
def test_the_way_of_a_gram_matrix_depends_on_rows_splits_and_features(
    n_rows: float, n_splits: int, n_features: int, is_by_cells: bool
) -> None:
    for is_small in (True, False):
        assert sums_over_cells_are_faster(n_rows, n_splits, n_features, is_small) == is_by_cells


@pytest.mark.parametrize("parts", [1, 2, 7, 40])
def test_no_answer_depends_on_how_rows_are_cut(parts: int) -> None:
    one = part(1000, copies=True)
    features, starts = np.arange(3), np.array([0, 5, 10])
    whole = LocalRows([one], features, starts, 15)
    encoding = BinnedFeatures.from_codes(np.asarray(one.codes), [np.arange(5.0)] * 3)
    cut = BinnedRows.from_binned(encoding, one.y, copies(one).astype(float), parts)
    W, window = np.array([MARGIN_SCALE - 7, 4, 2, 1]), MarginGrid.covering(-0.2, 0.3)
    table = np.random.default_rng(0).integers(0, WEIGHT_SCALE + 1, N_BINS + 2)
    assert (cut.n_rows, cut.n_examples) == (whole.n_rows, whole.n_examples) and len(cut.parts) == parts
    for step in (1, 3, 64):
        whole_sample, cut_sample = whole.stride(step), cut.stride(step)
        assert cut_sample.n_rows == len(one.y[::step])
        whole_margins, cut_margins = whole_sample.margins(SPLITS, W), cut_sample.margins(SPLITS, W)
        assert np.array_equal(np.concatenate(whole_margins), np.concatenate(cut_margins))
        strides = cut.stride_margins(cut_sample, step, cut.margins(SPLITS, W), SPLITS, W)
        assert np.array_equal(np.concatenate(strides), np.concatenate(cut_margins)) and len(strides) == parts
        assert np.array_equal(whole_sample.histogram(whole_margins, window), cut_sample.histogram(cut_margins, window))
        assert np.array_equal(
            whole_sample.class_edges(whole_margins, window, table), cut_sample.class_edges(cut_margins, window, table)
        )
        assert np.array_equal(
            whole_sample.weights(whole_margins, window, table), cut_sample.weights(cut_margins, window, table)
        )
        steep = table % 257
        assert np.array_equal(
            whole_sample.gram(whole_margins, window, steep, SPLITS), cut_sample.gram(cut_margins, window, steep, SPLITS)
        )
        whole_sums = whole_sample.cell_sums(whole_margins, window, steep, SPLITS)
        for sums, cut_sums in zip(whole_sums, cut_sample.cell_sums(cut_margins, window, steep, SPLITS), strict=True):
            assert np.array_equal(sums, cut_sums) and sums.any()


@pytest.mark.parametrize("min_many_thresholds", [1, 1_000])
def test_edges_are_sums_over_what_lies_above_each_threshold(
    min_many_thresholds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binned_rows, "MIN_MANY_THRESHOLDS", min_many_thresholds)
    rows = part(500, copies=True)
    table = LocalRows([rows], np.arange(3), np.array([0, 5, 10]), 15)
    q = np.random.default_rng(1).integers(0, WEIGHT_SCALE + 1, N_BINS + 2)
    margins = table.margins(SPLITS, np.array([MARGIN_SCALE - 7, 4, 2, 1]))
    s = rows.y * table.weights(margins, MarginGrid.full(), q)
    edges = table.class_edges(margins, MarginGrid.full(), q)
    for i in range(15):
        split = table.split(i, 1)
        assert table.threshold_of(split) == i
        assert edges[i] == int(s @ values(rows, [split])[:, 0])


@pytest.mark.parametrize("low", [-1.0, -0.37, 0.9])
@pytest.mark.parametrize("width", [1e-9, 1e-4, 0.1])
def test_a_window_reaches_over_what_it_is_made_for(low: float, width: float) -> None:
    window = MarginGrid.covering(low, low + width)
    last = window.origin + (N_BINS << window.log2_bin_width)
    assert window.origin <= low * MARGIN_SCALE and last >= (low + width) * MARGIN_SCALE - 1
    assert window.origin % (1 << window.log2_bin_width) == 0
    assert window.bin_width <= max(4.0 * width / N_BINS, 2.0**-30)


@pytest.mark.parametrize("low", [-1.0, -0.37])
@pytest.mark.parametrize("width", [1e-9, 1e-4, 0.5])
@pytest.mark.parametrize("widest", [1e-10, 1e-7, 3e-5, 0.01])
def test_bins_of_a_window_are_the_widest_that_it_may_have(low: float, width: float, widest: float) -> None:
    narrow, window = MarginGrid.covering(low, low + width), MarginGrid.covering(low, low + width, widest)
    assert window.bin_width == narrow.bin_width >= 0.5 * widest or 0.5 * widest < window.bin_width <= widest
    last = window.origin + (N_BINS << window.log2_bin_width)
    assert window.origin <= low * MARGIN_SCALE and last >= (low + width) * MARGIN_SCALE - 1


@pytest.mark.parametrize("parts", [1, 7])
def test_a_digest_is_of_rows_in_any_order_and_of_every_code_label_and_copy(parts: int) -> None:
    one = part(300, copies=True)
    codes, y, c = np.asarray(one.codes), one.y, copies(one)

    def digest(codes: np.ndarray, y: np.ndarray, c: np.ndarray) -> str:
        return BinnedRows.from_binned(
            BinnedFeatures.from_codes(codes, [np.arange(5.0)] * 3), y, c.astype(float), parts
        ).digest()

    digests, order = {digest(codes, y, c)}, np.random.default_rng(1).permutation(300)
    assert digest(codes[:, order], y[order], c[order]) in digests
    for n in range(0, 300, 60):
        for k in range(5):
            rows = [*codes.copy(), y.copy(), c.copy()]
            rows[k][n] = -rows[k][n] if k == 3 else rows[k][n] + 1
            digests.add(digest(np.array(rows[:3]) % 6, rows[3], rows[4]))
    assert len(digests) == 1 + 5 * 5


@pytest.mark.parametrize("copied", [False, True])
def test_few_rows_have_the_sums_of_many(copied: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, M, sizes = part(900, copies=copied), random_margins(900), {0: 6, 2: 7, 1: 6}
    table = np.random.default_rng(1).integers(0, WEIGHT_SCALE + 1, N_BINS + 2)
    joint = signed_sums_by_code(rows, M, MarginGrid.full(), table, sizes)
    monkeypatch.setattr(block_sums, "MAX_JOINT_ENTRIES", 0)
    separate = signed_sums_by_code(rows, M, MarginGrid.full(), table, sizes)
    assert [sums.tolist() for sums in joint] == [sums.tolist() for sums in separate]
