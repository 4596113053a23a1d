"""The curvature over many stumps as an operator: products are those of the matrix, and steps nearly maximize."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from boostopt.boosting.histogram_newton.stump_curvature import StumpCurvature
from boostopt.boosting.qp.conjugate_gradient_active_set import operator_maximizer
from boostopt.boosting.qp.simplex_qp import simplex_maximizer
from boostopt.boosting.updates.newton_update import centered_gram
from boostopt.rows.gram_matrices import cell_sums, gram
from boostopt.rows.margin_grid import MARGIN_SCALE, N_BINS, MarginGrid
from boostopt.rows.row_block import RowBlock, Split

SPLITS = (
    *(Split(j, code, (-1) ** (j + code)) for code in (3, 0, 7, 5) for j in (4, 0, 2)),
    Split(0, 3, 1),  # both directions of one threshold
    Split(1, 4, -1),
    Split(0, 3, -1),
)
CURVATURE = np.arange(N_BINS + 2) % 257


def operator_of(
    splits: Sequence[Split], sums: tuple[np.ndarray, np.ndarray, np.ndarray], unit: float, is_centered: bool
) -> StumpCurvature:
    """The operator, in memory that is not 0."""
    return StumpCurvature(splits, *sums, unit, is_centered, np.full((len(sums[1]),) * 2, np.nan))


def operator_and_matrix(
    rows: RowBlock, splits: Sequence[Split], is_centered: bool = True
) -> tuple[StumpCurvature, np.ndarray]:
    """The operator, and the matrix, from margins of all sizes."""
    margins = np.random.default_rng(1).integers(-MARGIN_SCALE, MARGIN_SCALE, rows.n).astype(np.int32)
    arguments = (rows, margins, MarginGrid.full(), CURVATURE, splits)
    G = gram(*arguments)
    UrU, Ur, r_sum = G[:-1, :-1], G[-1, :-1], float(G[-1, -1])
    H = centered_gram(UrU, Ur, r_sum) if is_centered else UrU
    return operator_of(splits, cell_sums(*arguments, rows.total), 1e-3, is_centered), 1e-3 * H


def random_rows(n: int, copied: bool = False) -> RowBlock:
    """Five features with the codes 0 to 9, which depend on each other, and labels that depend on them."""
    rng = np.random.default_rng(n)
    codes = rng.integers(0, 10, (5, n)).astype(np.uint8)
    codes[2] = np.where(rng.random(n) < 0.5, codes[0], codes[2])
    y = np.where(codes[0] + rng.integers(0, 12, n) > 9, 1, -1).astype(np.int8)
    return RowBlock(codes, y, rng.integers(1, 5, n) if copied else None)


@pytest.mark.parametrize("is_centered", [True, False])
@pytest.mark.parametrize("copied", [True, False])
@pytest.mark.parametrize("splits", [SPLITS, SPLITS[:1]], ids=len)
def test_products_are_those_of_the_matrix(splits: Sequence[Split], copied: bool, is_centered: bool) -> None:
    operator, H = operator_and_matrix(random_rows(3_000, copied), splits, is_centered)
    for z in np.random.default_rng(2).normal(size=(5, len(splits))):
        np.testing.assert_allclose(operator @ z, H @ z, rtol=1e-6, atol=1e-7 * np.abs(H).max())


def test_if_features_are_independent_the_preconditioner_is_the_inverse() -> None:
    codes = np.indices((4, 4, 4)).reshape(3, -1).astype(np.uint8)
    rows = RowBlock(np.repeat(codes, 50, axis=1), np.ones(64 * 50, np.int8), None)
    splits = [Split(j, code, (-1) ** code) for code in (2, 0, 1) for j in (1, 0, 2)]
    margins = np.zeros(rows.n, np.int32)
    table = np.full(N_BINS + 2, 7)
    sums = cell_sums(rows, margins, MarginGrid.full(), table, splits, rows.total)
    operator = operator_of(splits, sums, 0.5, False)
    for support in (np.ones(9, bool), np.arange(9) % 3 > 0, np.arange(9) == 4):
        z = np.random.default_rng(0).normal(size=9) * support
        np.testing.assert_allclose(operator.preconditioner(support)((operator @ z) * support), z, rtol=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_a_step_nearly_maximizes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    splits = SPLITS[:-1]
    operator, H = operator_and_matrix(random_rows(2_000), splits)
    w, edges = rng.dirichlet(np.full(len(splits), 0.3)), rng.normal(size=len(splits)) * 10.0 ** rng.uniform(-1, 2)
    w[w < 0.05] = 0.0
    w /= w.sum()
    g, tolerance = edges + H @ w, 0.01 * float(np.ptp(edges))
    support = (w > 0.0) | (edges > edges @ w)
    z, best = operator_maximizer(operator, g, w, support, tolerance), simplex_maximizer(H, g)
    assert z.min() >= 0.0 and z.sum() == pytest.approx(1.0, abs=1e-12)
    slopes = g - H @ z
    assert slopes.max() - slopes @ z <= 2.0 * tolerance

    def value(z: np.ndarray) -> float:
        return float(g @ z - 0.5 * z @ H @ z)

    assert value(best) - value(z) <= 0.02 * (value(best) - value(w))
