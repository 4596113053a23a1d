"""The curvature of D over many stumps, as an operator.

The columns of a feature, in the order of their thresholds, divide the examples into cells. A combination of stumps has
one value in each cell, and columns differ in nothing else. So H = C' (N - b b' / R) C, where C maps weights to values
in cells, N has the sums of the curvature over the pairs of cells, b those with labels, and R is the sum of all. The
blocks of N on the diagonal are diagonal, and half of the rest tells everything. A product with H costs one with N
and cumulative sums.

Preconditioning takes features as independent given the curvature: N has the entries n_a n_b / R, except for the cells
of a feature. Then the matrix over a feature is the covariance matrix of stumps, and its inverse tridiagonal: the
values in cells are differences of slopes over n_a, and weights are differences of these values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg import get_blas_funcs

from boostopt._utils.array_types import Array, Bool, Float, HypothesisVector, Int
from boostopt.boosting.qp.conjugate_gradient_active_set import Preconditioner, SymmetricOperator
from boostopt.rows.row_block import Split, split_columns

symmetric_product: Any = get_blas_funcs("symv", dtype=np.float64)
"""The product of a symmetric matrix, of which one triangle is read, and a vector."""

RELATIVE_RIDGE = 1e-9
"""The curvature that each cell has besides that of its examples, as a fraction of the largest of a cell."""


class StumpCurvature(SymmetricOperator):
    """Minus the Hessian of D with respect to the weights of some columns.

    Parameters
    ----------
    splits
        The columns.
    pair_sums, sums, label_sums
        The sums over their cells, as `cell_sums` returns them.
    unit
        The factor of these sums.
    is_centered
        Whether the Hessian is that over the simplex.
    memory
        A matrix to overwrite with the sums over pairs, which nothing may change while the operator is in use.
    """

    def __init__(
        self,
        splits: Sequence[Split],
        pair_sums: Int[Array, " pairs"],
        sums: Float[Array, " cells"],
        label_sums: Float[Array, " cells"],
        unit: float,
        is_centered: bool,
        memory: Float[Array, "cells cells"],
    ) -> None:
        feature, code, sign = split_columns(splits)
        self._sums, self._label_sums, self._unit, self._is_centered = sums, label_sums, unit, is_centered
        self._sign, self._order = sign.astype(np.float64), np.lexsort((code, feature))
        _, self._group, counts = np.unique(feature, return_inverse=True, return_counts=True)
        self._ends = np.cumsum(counts + 1)
        self._starts = self._ends - counts - 1
        # The lowest cell above the threshold of each column.
        self._cell = np.empty(len(feature), np.int64)
        self._cell[self._order] = np.arange(1, len(feature) + 1) + self._group[self._order]
        self._total, self._ridge = float(sums[: self._ends[0]].sum()), RELATIVE_RIDGE * float(sums.max())
        self._pairs, position = memory, 0
        for a, (start, end) in enumerate(zip(self._starts, self._ends, strict=True)):
            for b in range(a):
                size = (end - start) * (counts[b] + 1)
                block = pair_sums[position : position + size].reshape(end - start, -1)
                memory[start:end, self._starts[b] : self._ends[b]] = block
                position += size
            memory[start:end, start:end] = 0.0
        memory.flat[:: len(sums) + 1] = sums + self._ridge

    def __matmul__(self, z: HypothesisVector) -> HypothesisVector:
        values = self._values(z)
        # The upper triangle in the order of Fortran is the lower one of the array.
        product = symmetric_product(1.0, self._pairs.T, values)
        if self._is_centered:
            product -= (float(self._label_sums @ values) / self._total) * self._label_sums
        return self._unit * self._votes(product)

    def preconditioner(self, support: Bool[Array, " t"]) -> Preconditioner:
        columns = self._order[support[self._order]]
        is_start = np.zeros(len(self._sums), bool)
        is_start[self._starts] = is_start[self._cell[columns]] = True
        curvature = np.add.reduceat(self._sums, np.flatnonzero(is_start)) + self._ridge
        cell, sign, shape = np.arange(1, len(columns) + 1) + self._group[columns], self._sign[columns], support.shape

        def apply_inverse_covariance(slopes: HypothesisVector) -> HypothesisVector:
            """Return the product with the inverse of the covariances of all features, each by itself."""
            differences, step, signed_slopes = np.zeros(len(curvature)), np.zeros(shape), sign * slopes[columns]
            differences[cell] = signed_slopes
            differences[cell - 1] -= signed_slopes
            differences /= curvature
            step[columns] = (0.25 / self._unit) * sign * (differences[cell] - differences[cell - 1])
            return step

        # The product of the means of two features, which all pairs of cells have in common.
        means = self._votes(self._sums) * support
        means_step = apply_inverse_covariance(means)
        mean_curvature = self._total / self._unit + float(means @ means_step)

        def apply(slopes: HypothesisVector) -> HypothesisVector:
            return apply_inverse_covariance(slopes) - (float(means_step @ slopes) / mean_curvature) * means_step

        return apply

    def _values(self, z: HypothesisVector) -> Float[Array, " cells"]:
        """Return the value of a combination of the columns in each cell: C z."""
        signed_z, steps = self._sign * z, np.zeros(len(self._sums))
        steps[self._cell] = 2.0 * signed_z
        sums = np.bincount(self._group, signed_z)
        steps[self._starts] = -sums
        steps[self._starts[1:]] -= sums[:-1]
        return np.cumsum(steps)

    def _votes(self, cells: Float[Array, " cells"]) -> HypothesisVector:
        """Return, for each column, the sum over the cells times its value there: C' cells."""
        cumulative = np.append(0.0, np.cumsum(cells))
        ends = cumulative[self._starts] + cumulative[self._ends]
        return self._sign * (ends[self._group] - 2.0 * cumulative[self._cell])
