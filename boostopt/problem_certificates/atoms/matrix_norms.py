"""The largest eigenvalue, and norms of matrices by their singular values. Each has one group, the whole matrix.

Eigenvalues only propose; what is proved rests on Cholesky factorizations and norms in balls.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Float
from boostopt.problem_certificates.arithmetic.balls import (
    MAX_ENTRY,
    NOT_A_NUMBER,
    ONE,
    ZERO,
    Ball,
    ball,
    balls,
    largest_eigenvalue_bound,
    matrix,
    midpoints,
    symmetric_part,
    weighted_sum,
)
from boostopt.problem_certificates.atoms.base import (
    TIGHT_SIZE,
    Bounds,
    EpigraphCone,
    Function,
    MinorantFamily,
    Tangents,
    free_family,
    unit_rows,
)
from boostopt.problem_certificates.atoms.norms import MIN_SIZE
from boostopt.problem_certificates.atoms.symmetric_matrices import (
    HALF,
    SquareMatrixFunction,
    bounded_diagonal,
    bounded_entries,
    dilation_rows,
    eigenvalue_family,
    factor_columns,
    factor_step,
    gram_matrix,
    identity_column,
    largest_eigenvalue,
    symmetric,
    symmetric_rows,
    triangle_rows,
)
from boostopt.problem_certificates.atoms.univariate_smooth import size_power


class LargestEigenvalue(SquareMatrixFunction):
    """The largest eigenvalue; CVXPY's `lambda_max`.

    The parameters are a factor B. The slope is B Bᵀ / tr(B Bᵀ).
    """

    has_box_domain = True
    has_kinks = True
    is_homogeneous = True
    sign = 1

    def value(self, u: Sequence[Ball]) -> Ball:
        return largest_eigenvalue(symmetric_part(u, self.n), self.n)

    def tangents(self, u: Float[Array, "m k"], orientations: Float[Array, "m k"], width: float) -> Tangents:
        eigenvalues, vectors = np.linalg.eigh(symmetric(u, self.n))
        distance = width * max(MIN_SIZE, float(np.abs(eigenvalues).max()))
        gaps = eigenvalues[-1] - eigenvalues
        weights = np.exp(-np.minimum(gaps / distance, 600))
        factor = vectors * np.sqrt(weights / weights.sum())
        metric = vectors / np.sqrt(2 * (gaps + distance))
        return Tangents(factor.reshape(1, -1), metric.reshape(1, -1), orientations)

    def slopes(self, tangents: Tangents) -> Float[Array, "m k"]:
        B = tangents.parameters.reshape(self.n, self.n)
        return (B @ B.T / max(float(np.sum(B * B)), 1e-300)).reshape(1, -1)

    def directions(self, tangents: Tangents, weights: Float[Array, " m"]) -> Float[Array, "m k r"]:
        B, metric = (values.reshape(self.n, self.n) for values in (tangents.parameters, tangents.widths))
        columns = factor_columns(B, metric) / math.sqrt(weights[0])
        traces = np.eye(self.n).ravel() @ columns
        return (columns - self.slopes(tangents).T * traces)[None, :, :]

    def step(self, tangents: Tangents, weights: Float[Array, " m"], steps: Float[Array, "m r"]) -> Tangents:
        B, metric = (values.reshape(self.n, self.n) for values in (tangents.parameters, tangents.widths))
        changed = factor_step(B, metric, steps[0] / math.sqrt(weights[0]))
        return tangents.with_parameters(changed.reshape(1, -1) / max(float(np.linalg.norm(changed)), 1e-300))

    def minorant(self, tangents: Tangents, i: int, bounds: Sequence[Bounds]) -> tuple[list[Ball], Ball]:
        product = gram_matrix(balls(tangents.parameters[i]), self.n)
        trace = sum(product[:: self.n + 1], ZERO)
        return [entry / trace for entry in product], ZERO

    def minorant_family(
        self, tangents: Tangents, i: int, margin: Ball, is_constant: Sequence[bool]
    ) -> MinorantFamily | None:
        slopes, _ = self.minorant(tangents, i, [])
        return eigenvalue_family(slopes, self.n, ONE, margin)

    def argument_bounds(self, output: Bounds, bounds: Sequence[Bounds]) -> list[Bounds]:
        return bounded_diagonal(bounds, self.n, (-math.inf, output[1]))

    def epigraph(self, count: int) -> Sequence[EpigraphCone]:
        """Return z I - U in the semidefinite cone."""
        rows = scipy.sparse.hstack([-symmetric_rows(self.n), identity_column(self.n)], format="csr")
        return (EpigraphCone("semidefinite", rows),)


class SpectralNorm(Function):
    """The largest singular value; CVXPY's `sigma_max`. It is the largest eigenvalue of [[0, X], [Xᵀ, 0]].

    Parameters
    ----------
    shape
        The shape of X.
    """

    has_box_domain = True
    has_kinks = True
    is_homogeneous = True
    sign = 1

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = shape
        self._dilated = LargestEigenvalue(sum(shape))

    def value(self, u: Sequence[Ball]) -> Ball:
        X = matrix(u, self.shape[0])
        return size_power(largest_eigenvalue((X.transpose() * X).entries(), self.shape[1]), HALF)

    def tangents(self, u: Float[Array, "m k"], orientations: Float[Array, "m k"], width: float) -> Tangents:
        (m, n), X = self.shape, u.reshape(self.shape)
        dilation = np.block([[np.zeros((m, m)), X], [X.T, np.zeros((n, n))]])
        flat = dilation.reshape(1, -1)
        return self._dilated.tangents(flat, np.zeros_like(flat), width)

    def slopes(self, tangents: Tangents) -> Float[Array, "m k"]:
        return 2 * self._block(self._dilated.slopes(tangents)[0])[None, :]

    def directions(self, tangents: Tangents, weights: Float[Array, " m"]) -> Float[Array, "m k r"]:
        columns = self._dilated.directions(tangents, weights)[0]
        return 2 * np.array([self._block(column) for column in columns.T]).T[None, :, :]

    def step(self, tangents: Tangents, weights: Float[Array, " m"], steps: Float[Array, "m r"]) -> Tangents:
        return self._dilated.step(tangents, weights, steps)

    def minorant(self, tangents: Tangents, i: int, bounds: Sequence[Bounds]) -> tuple[list[Ball], Ball]:
        slopes, offset = self._dilated.minorant(tangents, i, bounds)
        n = sum(self.shape)
        return [
            2 * slopes[p * n + self.shape[0] + q] for p in range(self.shape[0]) for q in range(self.shape[1])
        ], offset

    def minorant_family(
        self, tangents: Tangents, i: int, margin: Ball, is_constant: Sequence[bool]
    ) -> MinorantFamily | None:
        inner = [(1 - margin) * slope for slope in self.minorant(tangents, i, [])[0]]
        dual_norm = NuclearNorm(self.shape)
        return free_family(
            inner,
            [TIGHT_SIZE] * len(inner),
            lambda changed, y: (changed, ZERO if dual_norm.value(changed) <= 1 else NOT_A_NUMBER),
        )

    def zero_rows(self, count: int) -> Sequence[Sequence[tuple[int, Ball]]] | None:
        return unit_rows(count)

    def output_bounds(self, bounds: Sequence[Bounds]) -> Bounds:
        return 0.0, math.inf

    def argument_bounds(self, output: Bounds, bounds: Sequence[Bounds]) -> list[Bounds]:
        return bounded_entries(output, bounds)

    def epigraph(self, count: int) -> Sequence[EpigraphCone]:
        """Return [[z I, X], [Xᵀ, z I]] in the semidefinite cone."""
        rows = scipy.sparse.hstack([dilation_rows(self.shape), identity_column(sum(self.shape))], format="csr")
        return (EpigraphCone("semidefinite", rows),)

    def _block(self, values: Float[Array, " n2"]) -> Float[Array, " k"]:
        """Return the upper right block of a symmetric matrix."""
        n = sum(self.shape)
        return values.reshape(n, n)[: self.shape[0], self.shape[0] :].ravel()


class NuclearNorm(Function):
    """The sum of singular values; CVXPY's `normNuc`. The parameters are a slope, of spectral norm at most 1.

    Parameters
    ----------
    shape
        The shape of the matrix.
    """

    has_box_domain = True
    has_kinks = True
    is_homogeneous = True
    sign = 1

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = shape

    def value(self, u: Sequence[Ball]) -> Ball:
        # For X = A Bᵀ + E, the norm is at most (|A|^2 + |B|^2) / 2 + sqrt(rank) |E|, in Frobenius norms.
        m, n = self.shape
        if not (np.abs(midpoints(u)) <= MAX_ENTRY).all():
            return NOT_A_NUMBER
        left_vectors, sizes, right_vectors = np.linalg.svd(midpoints(u).reshape(m, n), full_matrices=False)
        A, B = balls(left_vectors * np.sqrt(sizes)), balls(np.sqrt(sizes)[:, None] * right_vectors)
        product = (matrix(A, m) * matrix(B, len(sizes))).entries()
        residual = [entry - approximation for entry, approximation in zip(u, product, strict=True)]
        error = size_power(weighted_sum(residual, residual), HALF) * ball(float(min(m, n))).sqrt()
        upper = (weighted_sum(A, A) + weighted_sum(B, B)) / 2 + error
        return weighted_sum(self._in_dual_ball(balls(left_vectors @ right_vectors)), u).union(upper)

    def tangents(self, u: Float[Array, "m k"], orientations: Float[Array, "m k"], width: float) -> Tangents:
        m, n = self.shape
        left_vectors, sizes, right_vectors = np.linalg.svd(u.reshape(m, n), full_matrices=True)
        distance = width * max(MIN_SIZE, float(sizes.max(initial=0.0)))
        count = len(sizes)
        slope = (left_vectors[:, :count] * np.clip(sizes / distance, 0, 1)) @ right_vectors[:count]
        widths = np.concatenate([left_vectors.ravel(), right_vectors.ravel(), sizes, [distance]])
        return Tangents(slope.reshape(1, -1), widths.reshape(1, -1), orientations)

    def slopes(self, tangents: Tangents) -> Float[Array, "m k"]:
        return tangents.parameters

    def directions(self, tangents: Tangents, weights: Float[Array, " m"]) -> Float[Array, "m k r"]:
        m, n = self.shape
        widths = tangents.widths[0]
        left_vectors, right_vectors = widths[: m * m].reshape(m, m), widths[m * m : m * m + n * n].reshape(n, n)
        sizes, distance = widths[m * m + n * n : -1], float(widths[-1])
        is_active = sizes > distance
        columns = list[Array]()
        for i in range(m):
            for j in range(n):
                size = (sizes[i] if i < len(sizes) else 0.0) + (sizes[j] if j < len(sizes) else 0.0)
                both = i < len(sizes) and j < len(sizes) and is_active[i] and is_active[j]
                if both and i >= j:
                    continue
                column = np.outer(left_vectors[:, i], right_vectors[j])
                if both:  # a rotation: to first order the singular values stay 1
                    column = (column - np.outer(left_vectors[:, j], right_vectors[i])) / math.sqrt(2)
                columns.append(column.ravel() / math.sqrt(weights[0] * (size / 2 + distance)))
        return np.array(columns).reshape(-1, m * n).T[None, :, :]

    def step(self, tangents: Tangents, weights: Float[Array, " m"], steps: Float[Array, "m r"]) -> Tangents:
        changed = tangents.parameters[0] + self.directions(tangents, weights)[0] @ steps[0]
        if not np.isfinite(changed).all():
            return tangents
        left_vectors, sizes, right_vectors = np.linalg.svd(changed.reshape(self.shape), full_matrices=False)
        return tangents.with_parameters(((left_vectors * np.minimum(sizes, 1)) @ right_vectors).reshape(1, -1))

    def minorant(self, tangents: Tangents, i: int, bounds: Sequence[Bounds]) -> tuple[list[Ball], Ball]:
        return self._in_dual_ball(balls(tangents.parameters[i])), ZERO

    def minorant_family(
        self, tangents: Tangents, i: int, margin: Ball, is_constant: Sequence[bool]
    ) -> MinorantFamily | None:
        slopes, _ = self.minorant(tangents, i, [])

        def complete(changed: Sequence[Ball], y: Sequence[Ball]) -> tuple[Sequence[Ball], Ball]:
            D = matrix(changed, self.shape[0])
            bound = largest_eigenvalue_bound((D.transpose() * D).entries(), self.shape[1])
            return changed, ZERO if bound <= 1 else NOT_A_NUMBER

        return free_family([(1 - margin) * slope for slope in slopes], [TIGHT_SIZE] * len(slopes), complete)

    def zero_rows(self, count: int) -> Sequence[Sequence[tuple[int, Ball]]] | None:
        return unit_rows(count)

    def output_bounds(self, bounds: Sequence[Bounds]) -> Bounds:
        return 0.0, math.inf

    def argument_bounds(self, output: Bounds, bounds: Sequence[Bounds]) -> list[Bounds]:
        return bounded_entries(output, bounds)

    def epigraph(self, count: int) -> Sequence[EpigraphCone]:
        """Return [[V, X], [Xᵀ, W]] in the semidefinite cone, with 2 z >= tr V + tr W (Fazel, Hindi and Boyd 2001)."""
        n, rows = sum(self.shape), np.tril_indices(sum(self.shape))
        is_of_block = (rows[0] < self.shape[0]) == (rows[1] < self.shape[0])
        blocks = triangle_rows(n)[:, np.flatnonzero(is_of_block)]
        traces = identity_column(n).T @ blocks
        matrices = scipy.sparse.hstack([dilation_rows(self.shape), scipy.sparse.csr_array((n * n, 1)), blocks])
        sizes = scipy.sparse.hstack([scipy.sparse.csr_array((1, count)), [[2.0]], -traces])
        return EpigraphCone("semidefinite", matrices.tocsr()), EpigraphCone(None, sizes.tocsr())

    def _in_dual_ball(self, slope: list[Ball]) -> list[Ball]:
        """Return a slope, divided by a proved bound of its spectral norm if this is above 1."""
        D = matrix(slope, self.shape[0])
        bound = largest_eigenvalue_bound((D.transpose() * D).entries(), self.shape[1])
        if bound <= 1:
            return slope
        size = ball(bound).sqrt() if math.isfinite(bound) else NOT_A_NUMBER
        return [entry / size for entry in slope]
