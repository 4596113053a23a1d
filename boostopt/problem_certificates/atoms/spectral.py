"""Functions of matrices: eigenvalues, singular values, determinants and inverses. Each has one group, the whole matrix.

Square matrices are taken by their symmetric part, in C order. Eigenvalues only propose; what is proved rests on
Cholesky factorizations and norms in balls.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.problem_certificates.arithmetic.balls import (
    MAX_ENTRY,
    NOT_A_NUMBER,
    ONE,
    ZERO,
    Ball,
    ball,
    balls,
    cholesky,
    is_positive_semidefinite,
    largest_eigenvalue_bound,
    matrix,
    midpoints,
    shifted,
    symmetric_part,
    weighted_sum,
)
from boostopt.problem_certificates.atoms.base import (
    EMPTY,
    TIGHT_SIZE,
    Bounds,
    Function,
    MinorantFamily,
    Tangents,
    free_family,
    intersection,
    magnitude_bounds,
    unit_rows,
)
from boostopt.problem_certificates.atoms.elementwise import size_power
from boostopt.problem_certificates.atoms.norms import MIN_SIZE

HALF: Ball = ball(0.5)


class SquareMatrixFunction(Function):
    """A function of one symmetric matrix.

    Parameters
    ----------
    n
        The size of the matrix.
    """

    def __init__(self, n: int) -> None:
        self.n = n


class LargestEigenvalue(SquareMatrixFunction):
    """The largest eigenvalue; CVXPY's `lambda_max`.

    The parameters are a factor B. The slope is B Bᵀ / tr(B Bᵀ).
    """

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


class SpectralNorm(Function):
    """The largest singular value; CVXPY's `sigma_max`. It is the largest eigenvalue of [[0, X], [Xᵀ, 0]].

    Parameters
    ----------
    shape
        The shape of X.
    """

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

    def _in_dual_ball(self, slope: list[Ball]) -> list[Ball]:
        """Return a slope, divided by a proved bound of its spectral norm if this is above 1."""
        D = matrix(slope, self.shape[0])
        bound = largest_eigenvalue_bound((D.transpose() * D).entries(), self.shape[1])
        if bound <= 1:
            return slope
        size = ball(bound).sqrt() if math.isfinite(bound) else NOT_A_NUMBER
        return [entry / size for entry in slope]


class LogDeterminant(SquareMatrixFunction):
    """log det X; CVXPY's `log_det`. The minorant of a positive definite G is <G, X> - log det G - n."""

    has_semidefinite_domain = True
    sign = -1

    def value(self, u: Sequence[Ball]) -> Ball:
        factor = cholesky(symmetric_part(u, self.n), self.n)
        return NOT_A_NUMBER if factor is None else 2 * sum((row[-1].log() for row in factor), ZERO)

    def asymptotic_slope(self, changes: Sequence[Ball]) -> Ball:
        return ZERO if is_positive_semidefinite(changes, self.n) else NOT_A_NUMBER  # it is monotone

    def tangents(self, u: Float[Array, "m k"], orientations: Float[Array, "m k"], width: float) -> Tangents:
        return Tangents(positive_inverse(u, self.n).reshape(1, -1), np.zeros((1, 0)), orientations)

    def slopes(self, tangents: Tangents) -> Float[Array, "m k"]:
        return tangents.parameters

    def directions(self, tangents: Tangents, weights: Float[Array, " m"]) -> Float[Array, "m k r"]:
        root = matrix_root(tangents.parameters, self.n)
        return np.array([(root @ E @ root).ravel() for E in symmetric_basis(self.n)]).T[None, :, :] / math.sqrt(
            weights[0]
        )

    def step(self, tangents: Tangents, weights: Float[Array, " m"], steps: Float[Array, "m r"]) -> Tangents:
        root = matrix_root(tangents.parameters, self.n)
        E = np.einsum("r,rij->ij", steps[0] / math.sqrt(weights[0]), symmetric_basis(self.n))
        if not np.isfinite(E).all():
            return tangents
        eigenvalues, vectors = np.linalg.eigh(E)
        limited = (vectors * np.clip(eigenvalues, -0.9, 10)) @ vectors.T
        return tangents.with_parameters((root @ (np.eye(self.n) + limited) @ root).reshape(1, -1))

    def minorant(self, tangents: Tangents, i: int, bounds: Sequence[Bounds]) -> tuple[list[Ball], Ball]:
        G = symmetric_part(balls(tangents.parameters[i]), self.n)
        return G, self._offset(G)

    def minorant_family(
        self, tangents: Tangents, i: int, margin: Ball, is_constant: Sequence[bool]
    ) -> MinorantFamily | None:
        G, directions = symmetric_part(balls(tangents.parameters[i]), self.n), symmetric_directions(self.n)
        size = float(np.linalg.eigvalsh(symmetric(tangents.parameters[i], self.n))[0])
        return MinorantFamily(G, directions, [size] * len(directions), lambda H, y: (H, self._offset(H)))

    def _offset(self, G: Sequence[Ball]) -> Ball:
        """Return the offset of the minorant with the slopes G; nan if G may not be positive definite."""
        return -self.value(G) - self.n

    def argument_bounds(self, output: Bounds, bounds: Sequence[Bounds]) -> list[Bounds]:
        return positive_diagonal(bounds, self.n)


class TraceOfInverse(SquareMatrixFunction):
    """tr X^-1 for positive definite X; CVXPY's `tr_inv`.

    The minorant of a symmetric W is 2 tr W - <W W, X>.
    """

    has_semidefinite_domain = True
    sign = 1

    def value(self, u: Sequence[Ball]) -> Ball:
        identity = balls(np.eye(self.n))
        return fraction_value(identity, symmetric_part(u, self.n), self.n)

    def asymptotic_slope(self, changes: Sequence[Ball]) -> Ball:
        return ZERO if is_positive_semidefinite(changes, self.n) else NOT_A_NUMBER  # it is monotone

    def tangents(self, u: Float[Array, "m k"], orientations: Float[Array, "m k"], width: float) -> Tangents:
        return Tangents(positive_inverse(u, self.n).reshape(1, -1), np.zeros((1, 0)), orientations)

    def slopes(self, tangents: Tangents) -> Float[Array, "m k"]:
        W = tangents.parameters.reshape(self.n, self.n)
        return -(W @ W).reshape(1, -1)

    def directions(self, tangents: Tangents, weights: Float[Array, " m"]) -> Float[Array, "m k r"]:
        W = tangents.parameters.reshape(self.n, self.n)
        changes = self._basis(tangents, weights)
        return np.array([-(E @ W + W @ E).ravel() for E in changes]).T[None, :, :]

    def step(self, tangents: Tangents, weights: Float[Array, " m"], steps: Float[Array, "m r"]) -> Tangents:
        change = np.einsum("r,rij->ij", steps[0], self._basis(tangents, weights))
        return tangents.with_parameters(tangents.parameters + change.reshape(1, -1))

    def minorant(self, tangents: Tangents, i: int, bounds: Sequence[Bounds]) -> tuple[list[Ball], Ball]:
        W = symmetric_part(balls(tangents.parameters[i]), self.n)
        square = (matrix(W, self.n) * matrix(W, self.n)).entries()
        return [-entry for entry in square], 2 * sum(W[:: self.n + 1], ZERO)

    def minorant_family(
        self, tangents: Tangents, i: int, margin: Ball, is_constant: Sequence[bool]
    ) -> MinorantFamily | None:
        # -<G, X> + 2 tr W is a minorant for every G with G - W W positive semidefinite.
        negated, offset = self.minorant(tangents, i, [])
        distance = margin * (1 + sum((abs(entry) for entry in negated[:: self.n + 1]), ZERO))

        def complete(changed: Sequence[Ball], y: Sequence[Ball]) -> tuple[Sequence[Ball], Ball]:
            room = [first - second for first, second in zip(negated, changed, strict=True)]
            return changed, offset if is_positive_semidefinite(room, self.n) else NOT_A_NUMBER

        directions = symmetric_directions(self.n)
        return MinorantFamily(shifted(negated, self.n, -distance), directions, [TIGHT_SIZE] * len(directions), complete)

    def output_bounds(self, bounds: Sequence[Bounds]) -> Bounds:
        return 0.0, math.inf

    def argument_bounds(self, output: Bounds, bounds: Sequence[Bounds]) -> list[Bounds]:
        return positive_diagonal(bounds, self.n)

    def _basis(self, tangents: Tangents, weights: Float[Array, " m"]) -> Float[Array, "r n n"]:
        """Return changes of W, each scaled such that it lowers the bound by about 1/2."""
        root = matrix_root(tangents.parameters, self.n)
        size = math.sqrt(2 * weights[0] * max(float(np.linalg.norm(root, 2)) ** 2, 1e-300))
        return np.array([root @ E @ root / size for E in symmetric_basis(self.n)])


class MatrixFraction(Function):
    """tr Xᵀ P^-1 X for positive definite P; CVXPY's `matrix_frac`. The minorant of W is 2 <W, X> - <W Wᵀ, P>.

    Parameters
    ----------
    n, n_columns
        The shape of X; P, which comes after X, is n x n.
    """

    is_homogeneous = True
    sign = 1

    def __init__(self, n: int, n_columns: int) -> None:
        self.n = n
        self.n_columns = n_columns

    def value(self, u: Sequence[Ball]) -> Ball:
        size = self.n * self.n_columns
        return fraction_value(u[:size], symmetric_part(u[size:], self.n), self.n)

    def tangents(self, u: Float[Array, "m k"], orientations: Float[Array, "m k"], width: float) -> Tangents:
        size = self.n * self.n_columns
        inverse = positive_inverse(u[:, size:], self.n)
        W = inverse @ u[0, :size].reshape(self.n, self.n_columns)
        return Tangents(W.reshape(1, -1), inverse.reshape(1, -1), orientations)

    def slopes(self, tangents: Tangents) -> Float[Array, "m k"]:
        W = tangents.parameters.reshape(self.n, self.n_columns)
        return np.concatenate([2 * W.ravel(), -(W @ W.T).ravel()])[None, :]

    def directions(self, tangents: Tangents, weights: Float[Array, " m"]) -> Float[Array, "m k r"]:
        W = tangents.parameters.reshape(self.n, self.n_columns)
        columns = [
            np.concatenate([2 * E.ravel(), -(E @ W.T + W @ E.T).ravel()]) for E in self._basis(tangents, weights)
        ]
        return np.array(columns).T[None, :, :]

    def step(self, tangents: Tangents, weights: Float[Array, " m"], steps: Float[Array, "m r"]) -> Tangents:
        change = np.einsum("r,rij->ij", steps[0], self._basis(tangents, weights))
        return tangents.with_parameters(tangents.parameters + change.reshape(1, -1))

    def minorant(self, tangents: Tangents, i: int, bounds: Sequence[Bounds]) -> tuple[list[Ball], Ball]:
        W = matrix(balls(tangents.parameters[i]), self.n)
        return [*(2 * entry for entry in W.entries()), *(-entry for entry in (W * W.transpose()).entries())], ZERO

    def minorant_family(
        self, tangents: Tangents, i: int, margin: Ball, is_constant: Sequence[bool]
    ) -> MinorantFamily | None:
        # 2 <W, X> - <G, P> is a minorant for every G with G - W Wᵀ positive semidefinite.
        slopes, _ = self.minorant(tangents, i, [])
        size = self.n * self.n_columns
        distance = margin * (1 + sum((abs(entry) for entry in slopes[size :: self.n + 1]), ZERO))

        def complete(changed: Sequence[Ball], y: Sequence[Ball]) -> tuple[Sequence[Ball], Ball]:
            W = matrix([entry / 2 for entry in changed[:size]], self.n)
            square = (W * W.transpose()).entries()
            room = [-first - second for first, second in zip(changed[size:], square, strict=True)]
            return changed, ZERO if is_positive_semidefinite(room, self.n) else NOT_A_NUMBER

        places: list[list[tuple[int, Ball]]] = [[(k, ONE)] for k in range(size)]
        places += [[(size + k, value) for k, value in column] for column in symmetric_directions(self.n)]
        inner = [*slopes[:size], *shifted(slopes[size:], self.n, -distance)]
        return MinorantFamily(inner, places, [TIGHT_SIZE] * len(places), complete)

    def zero_rows(self, count: int) -> Sequence[Sequence[tuple[int, Ball]]] | None:
        return unit_rows(self.n * self.n_columns)

    def output_bounds(self, bounds: Sequence[Bounds]) -> Bounds:
        return 0.0, math.inf

    def argument_bounds(self, output: Bounds, bounds: Sequence[Bounds]) -> list[Bounds]:
        # By the inequality of Cauchy and Schwarz, X_ic^2 <= P_ii (Xᵀ P^-1 X)_cc.
        size = self.n * self.n_columns
        P = bounded_diagonal(bounds[size:], self.n, (0.0, math.inf))
        result = list(bounds[:size])
        for k in range(size):
            high = P[(k // self.n_columns) * (self.n + 1)][1]
            if math.isfinite(high) and math.isfinite(output[1]) and output[1] >= 0 and high >= 0:
                limit = magnitude_bounds(size_power(ball(high) * ball(output[1]), HALF))
                result[k] = intersection(result[k], limit)
        return [*result, *P]

    def _basis(self, tangents: Tangents, weights: Float[Array, " m"]) -> Float[Array, "r n c"]:
        """Return changes of W, each scaled such that it lowers the bound by about 1/2."""
        root = matrix_root(tangents.widths, self.n) / math.sqrt(2 * weights[0])
        units = np.eye(self.n * self.n_columns).reshape(-1, self.n, self.n_columns)
        return np.einsum("ij,rjc->ric", root, units)


def largest_eigenvalue(X: Sequence[Ball], n: int) -> Ball:
    """Return a ball that contains the largest eigenvalue of a symmetric matrix; nan if no bound is proved."""
    bound = largest_eigenvalue_bound(X, n)
    if not math.isfinite(bound):
        return NOT_A_NUMBER
    _, vectors = np.linalg.eigh(symmetric(midpoints(X), n))
    v = balls(vectors[:, -1])
    quotient = weighted_sum(v, (matrix(X, n) * matrix(v, n)).entries()) / weighted_sum(v, v)
    return quotient.union(ball(bound))


def fraction_value(X: Sequence[Ball], P: Sequence[Ball], n: int) -> Ball:
    """Return tr Xᵀ P^-1 X of matrices in C order; nan if P is not certainly positive definite."""
    factor = cholesky(P, n)
    if factor is None:
        return NOT_A_NUMBER
    total = ZERO
    n_columns = len(X) // n
    for column in range(n_columns):
        solution: list[Ball] = []
        for i, row in enumerate(factor):
            solution.append((X[i * n_columns + column] - weighted_sum(row[:i], solution)) / row[i])
        total = total + weighted_sum(solution, solution)
    return total


def gram_matrix(factor: Sequence[Ball], n: int) -> list[Ball]:
    """Return B Bᵀ, in C order, of a factor with n rows. It is positive semidefinite, whatever B is."""
    B = matrix(factor, n)
    return symmetric_part((B * B.transpose()).entries(), n)


def bounded_diagonal(bounds: Sequence[Bounds], n: int, diagonal: Bounds) -> list[Bounds]:
    """Return bounds of a matrix whose diagonal has further bounds."""
    return [intersection(pair, diagonal) if k % (n + 1) == 0 else pair for k, pair in enumerate(bounds)]


def positive_diagonal(bounds: Sequence[Bounds], n: int) -> list[Bounds]:
    """Return bounds of a positive definite matrix, whose diagonal is positive."""
    result = bounded_diagonal(bounds, n, (0.0, math.inf))
    return [EMPTY if k % (n + 1) == 0 and pair[1] <= 0 else pair for k, pair in enumerate(result)]


def bounded_entries(output: Bounds, bounds: Sequence[Bounds]) -> list[Bounds]:
    """Return bounds of entries whose absolute values are not above a norm."""
    if not math.isfinite(output[1]) or output[1] < 0:
        return list(bounds)
    limit = magnitude_bounds(ball(output[1]))
    return [intersection(pair, limit) for pair in bounds]


def symmetric(values: Float[Array, ...], n: int) -> Float[Array, "n n"]:
    """Return the symmetric part of a matrix in floating point."""
    X = values.reshape(n, n)
    return (X + X.T) / 2


def positive_inverse(values: Float[Array, ...], n: int) -> Float[Array, "n n"]:
    """Return the inverse of a matrix whose eigenvalues are first made positive."""
    eigenvalues, vectors = np.linalg.eigh(symmetric(values, n))
    eigenvalues = np.maximum(eigenvalues, 1e-9 * max(float(eigenvalues.max()), 1e-9))
    return (vectors / eigenvalues) @ vectors.T


def matrix_root(values: Float[Array, ...], n: int) -> Float[Array, "n n"]:
    """Return the square root of the positive semidefinite part of a matrix."""
    eigenvalues, vectors = np.linalg.eigh(symmetric(values, n))
    return (vectors * np.sqrt(np.maximum(eigenvalues, 0.0))) @ vectors.T


def symmetric_basis(n: int) -> Float[Array, "r n n"]:
    """Return an orthonormal basis of the symmetric matrices."""
    result = list[Array]()
    for i in range(n):
        for j in range(i, n):
            E = np.zeros((n, n))
            E[i, j] = E[j, i] = 1.0 if i == j else 1 / math.sqrt(2)
            result.append(E)
    return np.array(result)


def symmetric_directions(n: int) -> list[list[tuple[int, Ball]]]:
    """Return unit changes of the entries on and above the diagonal of a symmetric matrix, as directions of a family."""
    return [
        [(i * n + j, ONE), (j * n + i, ONE)] if i != j else [(i * n + i, ONE)] for i in range(n) for j in range(i, n)
    ]


def eigenvalue_family(Z: Sequence[Ball], n: int, trace: Ball, margin: Ball) -> MinorantFamily:
    """Return the family of slopes Z with 0 <= Z <= I and a trace, which first move towards a multiple of I.

    Parameters
    ----------
    Z, n
        The slopes, and the size of the matrix.
    trace
        The trace of Z, an exact number.
    margin
        The fraction of the way that the slopes move.
    """
    inner = shifted([(1 - margin) * entry for entry in Z], n, margin * trace / n)
    diagonal = midpoints(inner[:: n + 1])
    last = int(np.argmax(np.minimum(diagonal, 1 - diagonal))) * (n + 1)
    # Changes of the diagonal have trace 0.
    directions = [
        column if len(column) > 1 else [*column, (last, -ONE)]
        for column in symmetric_directions(n)
        if column[0][0] != last
    ]

    def complete(changed: Sequence[Ball], y: Sequence[Ball]) -> tuple[Sequence[Ball], Ball]:
        rest = shifted([-entry for entry in changed], n, ONE)
        is_proved = is_positive_semidefinite(changed, n) and is_positive_semidefinite(rest, n)
        return changed, ZERO if is_proved else NOT_A_NUMBER

    return MinorantFamily(inner, directions, [TIGHT_SIZE] * len(directions), complete, [(last, trace)], is_free=True)


def factor_columns(B: Float[Array, "n k"], metric: Float[Array, "n n"]) -> Float[Array, "n2 r"]:
    """Return the changes of B Bᵀ by changes S E of B, for each unit matrix E; S is the metric."""
    n, k = B.shape
    # Column i * k + j is the outer product of S_i and B_j, plus its transpose.
    outer = np.einsum("ai,bj->abij", metric, B)
    return (outer + outer.transpose(1, 0, 2, 3)).reshape(n * n, n * k)


def factor_step(B: Float[Array, "n k"], metric: Float[Array, "n n"], steps: Float[Array, " r"]) -> Float[Array, "n k"]:
    """Return B + S Y for a step Y in the unknowns of `factor_columns`, shortened where B would more than double."""
    change = metric @ steps.reshape(B.shape)
    size, limit = float(np.linalg.norm(change)), float(np.linalg.norm(B))
    return B + change * min(1.0, limit / size) if 0 < size < math.inf else B
