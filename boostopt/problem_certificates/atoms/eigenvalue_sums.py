"""Functions of all eigenvalues of one symmetric matrix: sums of the largest, and the entropy of von Neumann."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Float
from boostopt.problem_certificates.arithmetic.balls import (
    NOT_A_NUMBER,
    ONE,
    ZERO,
    Ball,
    ball,
    balls,
    is_positive_semidefinite,
    largest_eigenvalue_bound,
    matrix,
    midpoints,
    round_up,
    shifted,
    symmetric_part,
    weighted_sum,
)
from boostopt.problem_certificates.atoms.base import (
    TINY,
    Bounds,
    EpigraphCone,
    MinorantFamily,
    Tangents,
    intersection,
)
from boostopt.problem_certificates.atoms.largest_entries import SumOfLargest
from boostopt.problem_certificates.atoms.norms import MIN_SIZE
from boostopt.problem_certificates.atoms.symmetric_matrices import (
    HALF,
    SquareMatrixFunction,
    bounded_diagonal,
    eigenvalue_family,
    gram_matrix,
    identity_column,
    symmetric,
    symmetric_basis,
    symmetric_directions,
    symmetric_rows,
    triangle_rows,
)
from boostopt.problem_certificates.atoms.univariate_smooth import entropy, size_power

MAX_LOGARITHM = 1e4
"""Maximum norm of the logarithms that are tangents of the entropy."""

MAX_CHANGE = 3.0
"""Maximum change of their eigenvalues by a step."""

INCREASING_LIMIT = 0.3
"""A number up to which -t log t increases; it does up to 1 / e."""


MIN_EIGENVALUE = 1e-14
"""Smallest eigenvalue, relative to the largest, of a matrix that is positive semidefinite in spite of rounding."""


class SumOfLargestEigenvalues(SquareMatrixFunction):
    """The sum of the k largest eigenvalues, for k above 0, whole or not; CVXPY's `lambda_sum_largest`.

    It is the support function of {0 <= Z <= I, tr Z = k} (M. L. Overton and R. S. Womersley, Optimality conditions and
    duality theory for minimizing sums of the largest eigenvalues, Mathematical Programming 62 (1993), theorem 3.4).
    The parameters are Z, which `minorant` puts into this set in balls.

    Parameters
    ----------
    n
        The size of the matrix.
    count
        k, an exact number.
    """

    has_box_domain = True
    has_kinks = True
    is_homogeneous = True
    sign = 1
    k: float

    def __init__(self, n: int, count: float) -> None:
        super().__init__(n)
        self.k = float(count)
        self._of_eigenvalues = SumOfLargest(self.k)

    def value(self, u: Sequence[Ball]) -> Ball:
        if self.k >= self.n:
            return sum(u[:: self.n + 1], ZERO)
        return self._of_eigenvalues.value(eigenvalue_balls(symmetric_part(u, self.n), self.n))

    def tangents(self, u: Float[Array, "m k"], orientations: Float[Array, "m k"], width: float) -> Tangents:
        eigenvalues, vectors = np.linalg.eigh(symmetric(u, self.n))
        delta = self._of_eigenvalues.tangents(eigenvalues[None, :], np.zeros((1, self.n)), width).parameters[0]
        distance = width * max(MIN_SIZE, float(np.abs(eigenvalues).max(initial=0.0)))
        Z = (vectors * delta) @ vectors.T
        widths = np.concatenate([vectors.ravel(), eigenvalues, [distance]])
        return Tangents(Z.reshape(1, -1), widths.reshape(1, -1), orientations)

    def slopes(self, tangents: Tangents) -> Float[Array, "m k"]:
        return symmetric(tangents.parameters, self.n).reshape(1, -1)

    def directions(self, tangents: Tangents, weights: Float[Array, " m"]) -> Float[Array, "m k r"]:
        # A rotation of Z by c in the plane of two eigenvectors costs c^2 (delta_i - delta_j) (lambda_i - lambda_j).
        n = self.n
        vectors, eigenvalues = tangents.widths[0, : n * n].reshape(n, n), tangents.widths[0, n * n : -1]
        distance = float(tangents.widths[0, -1])
        delta = np.clip(np.einsum("ia,ij,ja->a", vectors, symmetric(tangents.parameters, n), vectors), 0, 1)
        last = eigenvalues[max(n - math.ceil(self.k), 0)]
        columns, diagonal = list[Array](), np.zeros(n)
        for i in range(n):
            diagonal[i] = math.sqrt(delta[i] * (1 - delta[i]) / (weights[0] * (abs(eigenvalues[i] - last) + distance)))
            for j in range(i):
                room = max(delta[i] * (1 - delta[j]), delta[j] * (1 - delta[i]))
                scale = math.sqrt(room / (weights[0] * (abs(eigenvalues[i] - eigenvalues[j]) + distance)))
                column = np.outer(vectors[:, i], vectors[:, j])
                columns.append(scale * (column + column.T).ravel() / math.sqrt(2))
        units = diagonal / max(float(np.linalg.norm(diagonal)), 1e-300)
        changes = diagonal[:, None] * (np.eye(n) - np.outer(units, units))  # of trace 0
        columns += [((vectors * change) @ vectors.T).ravel() for change in changes.T]
        return np.array(columns).reshape(-1, n * n).T[None, :, :]

    def step(self, tangents: Tangents, weights: Float[Array, " m"], steps: Float[Array, "m r"]) -> Tangents:
        next_slopes = tangents.parameters[0] + self.directions(tangents, weights)[0] @ steps[0]
        if not np.isfinite(next_slopes).all() or self.k >= self.n:
            return tangents
        delta, vectors = np.linalg.eigh(symmetric(next_slopes, self.n))
        delta = self._of_eigenvalues.projection(delta[None, :], np.ones((1, self.n)))[0]
        return tangents.with_parameters(((vectors * delta) @ vectors.T).reshape(1, -1))

    def minorant(self, tangents: Tangents, i: int, bounds: Sequence[Bounds]) -> tuple[list[Ball], Ball]:
        n = self.n
        identity = balls(np.eye(n))
        if self.k >= n:
            return identity, ZERO
        delta, vectors = np.linalg.eigh(symmetric(tangents.parameters[i], n))
        factor = vectors * np.sqrt(np.clip(delta, 0, 1))
        product, k = gram_matrix(balls(factor), n), ball(self.k)
        size = largest_eigenvalue_bound(product, n)
        if not math.isfinite(size):
            return [NOT_A_NUMBER] * (n * n), ZERO
        Z = [entry / ball(max(size, 1.0)) for entry in product]
        trace = sum(Z[:: n + 1], ZERO)
        if trace > k:
            return [entry * (k / trace) for entry in Z], ZERO
        share = (k - trace) / (n - trace)
        return [entry + share * (unit - entry) for entry, unit in zip(Z, identity, strict=True)], ZERO

    def minorant_family(
        self, tangents: Tangents, i: int, margin: Ball, is_constant: Sequence[bool]
    ) -> MinorantFamily | None:
        if self.k >= self.n:
            return None
        return eigenvalue_family(self.minorant(tangents, i, [])[0], self.n, ball(self.k), margin)

    def argument_bounds(self, output: Bounds, bounds: Sequence[Bounds]) -> list[Bounds]:
        # An entry of the diagonal plus k - 1 others is at most the sum; for k < 1, k times an entry is.
        high = output[1]
        if not math.isfinite(high) or self.k > self.n:
            return list(bounds)
        result = list(bounds)
        diagonal = range(0, self.n * self.n, self.n + 1)
        for place in diagonal:
            lows = sorted((bounds[k][0] for k in diagonal if k != place), reverse=True)
            total, room = ball(high), self.k - min(self.k, 1.0)
            for low in lows[: math.ceil(room)]:
                total = total - ball(min(room, 1.0)) * ball(low) if math.isfinite(low) else NOT_A_NUMBER
                room -= 1.0
            result[place] = intersection(bounds[place], (-math.inf, round_up(total / ball(min(self.k, 1.0)))))
        return result

    def epigraph(self, count: int) -> Sequence[EpigraphCone]:
        """Return W and W + s I - U in the semidefinite cone, with z >= k s + tr W (Alizadeh 1995)."""
        n, identity, triangle = self.n, identity_column(self.n), triangle_rows(self.n)
        zeros, no_value = scipy.sparse.csr_array((n * n, n * n)), scipy.sparse.csr_array((n * n, 2))
        positive = scipy.sparse.hstack([zeros, no_value, triangle])
        room = scipy.sparse.hstack([-symmetric_rows(n), scipy.sparse.csr_array((n * n, 1)), identity, triangle])
        sizes = scipy.sparse.hstack(
            [scipy.sparse.csr_array((1, n * n)), [[1.0, -min(self.k, float(n))]], -(identity.T @ triangle)]
        )
        matrices = EpigraphCone("semidefinite", positive.tocsr()), EpigraphCone("semidefinite", room.tocsr())
        return *matrices, EpigraphCone(None, sizes.tocsr())


class VonNeumannEntropy(SquareMatrixFunction):
    """-tr X log X for positive semidefinite X; CVXPY's `von_neumann_entr`.

    The minorant of a symmetric H is -<H + I, X> + tr exp(H), by the inequality of O. Klein; it touches at X = exp(H).
    """

    has_semidefinite_domain = True
    sign = -1

    def value(self, u: Sequence[Ball]) -> Ball:
        X = symmetric_part(u, self.n)
        if not is_positive_semidefinite(X, self.n):
            return NOT_A_NUMBER
        total = ZERO
        for eigenvalue in eigenvalue_balls(X, self.n):
            total = total + _entropy_of_size(eigenvalue)
        return total

    def domain_point(self, u: Float[Array, " k"]) -> Float[Array, " k"]:
        eigenvalues, vectors = np.linalg.eigh(symmetric(u, self.n))
        limit = MIN_EIGENVALUE * max(float(np.abs(eigenvalues).max(initial=0.0)), TINY)
        return ((vectors * np.maximum(eigenvalues, limit)) @ vectors.T).ravel()

    def tangents(self, u: Float[Array, "m k"], orientations: Float[Array, "m k"], width: float) -> Tangents:
        eigenvalues, vectors = np.linalg.eigh(symmetric(u, self.n))
        positive = np.maximum(eigenvalues, 1e-14 * max(1e-3, float(np.abs(eigenvalues).max(initial=0.0))))
        H = (vectors * np.log(positive)) @ vectors.T
        return Tangents(H.reshape(1, -1), np.zeros((1, 0)), orientations)

    def slopes(self, tangents: Tangents) -> Float[Array, "m k"]:
        return -(symmetric(tangents.parameters, self.n) + np.eye(self.n)).reshape(1, -1)

    def directions(self, tangents: Tangents, weights: Float[Array, " m"]) -> Float[Array, "m k r"]:
        return -self._changes(tangents, weights).reshape(-1, self.n * self.n).T[None, :, :]

    def step(self, tangents: Tangents, weights: Float[Array, " m"], steps: Float[Array, "m r"]) -> Tangents:
        change = np.einsum("r,rij->ij", steps[0], self._changes(tangents, weights))
        if not np.isfinite(change).all():
            return tangents
        sizes, vectors = np.linalg.eigh(change)
        short_change = (vectors * np.clip(sizes, -MAX_CHANGE, MAX_CHANGE)) @ vectors.T
        return tangents.with_parameters(tangents.parameters + short_change.reshape(1, -1))

    def minorant(self, tangents: Tangents, i: int, bounds: Sequence[Bounds]) -> tuple[list[Ball], Ball]:
        n = self.n
        H = symmetric_part(balls(tangents.parameters[i]), n)
        if not float(np.linalg.norm(tangents.parameters[i])) <= MAX_LOGARITHM:
            return [NOT_A_NUMBER] * (n * n), NOT_A_NUMBER
        slopes = shifted([-entry for entry in H], n, -ONE)
        return slopes, self._offset(slopes)

    def minorant_family(
        self, tangents: Tangents, i: int, margin: Ball, is_constant: Sequence[bool]
    ) -> MinorantFamily | None:
        slopes, _ = self.minorant(tangents, i, [])
        directions = symmetric_directions(self.n)
        return MinorantFamily(
            slopes, directions, [1.0] * len(directions), lambda changed, y: (changed, self._offset(changed))
        )

    def _offset(self, slopes: Sequence[Ball]) -> Ball:
        """Return the offset of the minorant with the slopes -H - I."""
        if not (np.abs(midpoints(slopes)) <= MAX_LOGARITHM + 1).all():
            return NOT_A_NUMBER
        H = shifted([-entry for entry in slopes], self.n, -ONE)
        return sum(matrix(H, self.n).exp().entries()[:: self.n + 1], ZERO)

    def output_bounds(self, bounds: Sequence[Bounds]) -> Bounds:
        # -t log t <= 1 / e for each of the eigenvalues.
        return -math.inf, round_up(ball(float(self.n)) * (-ONE).exp())

    def argument_bounds(self, output: Bounds, bounds: Sequence[Bounds]) -> list[Bounds]:
        return bounded_diagonal(bounds, self.n, (0.0, math.inf))

    def _changes(self, tangents: Tangents, weights: Float[Array, " m"]) -> Float[Array, "r n n"]:
        """Return changes of H, each scaled such that it lowers the bound by about 1/2."""
        # The second derivative of tr exp(H) has the divided differences of exp at the eigenvalues as its weights.
        eigenvalues, vectors = np.linalg.eigh(symmetric(tangents.parameters, self.n))
        values = np.exp(np.clip(eigenvalues, -300, 300))
        gaps = eigenvalues[:, None] - eigenvalues[None, :]
        is_near = np.abs(gaps) < 1e-6
        middles = np.sqrt(values[:, None] * values[None, :])
        quotients = np.where(is_near, middles, (values[:, None] - values[None, :]) / np.where(is_near, 1.0, gaps))
        scales = 1 / np.sqrt(weights[0] * np.maximum(quotients, 1e-300))
        return np.einsum("ia,rab,jb->rij", vectors, symmetric_basis(self.n) * scales, vectors)


def eigenvalue_balls(X: Sequence[Ball], n: int) -> list[Ball]:
    """Return balls that contain the eigenvalues of a symmetric matrix, in rising order of their midpoints.

    For X = V diag(d) Vᵀ + E, Weyl's inequality gives |lambda_i(X) - lambda_i(V diag(d) Vᵀ)| <= |E|. By Ostrowski's
    theorem, lambda_i(V diag(d) Vᵀ) = theta_i d_i with |theta_i - 1| <= |Vᵀ V - I| (R. A. Horn and C. R. Johnson, Matrix
    Analysis, 2nd ed., corollary 4.3.15 and theorem 4.5.9). Norms are bounded by those of Frobenius.
    """
    floats = midpoints(X).reshape(n, n)
    if not np.isfinite(floats).all():
        return [NOT_A_NUMBER] * n
    d, vectors = np.linalg.eigh((floats + floats.T) / 2)
    V, D = matrix(balls(vectors), n), matrix(balls(np.diag(d)), n)
    error = _norm((V * D * V.transpose() - matrix(X, n)).entries())
    defect = _norm((V.transpose() * V - matrix(balls(np.eye(n)), n)).entries())
    if not (error.is_finite() and defect < 1):
        return [NOT_A_NUMBER] * n
    result = list[Ball]()
    for value in balls(d):
        radius = error + abs(value) * defect
        result.append((value - radius).union(value + radius))
    return result


def _norm(entries: Sequence[Ball]) -> Ball:
    """Return a ball that contains the norm of Frobenius."""
    return size_power(weighted_sum(entries, entries), HALF)


def _entropy_of_size(t: Ball) -> Ball:
    """Return -t log t of a number that cannot be negative, whatever its ball contains."""
    if t > 0:
        return entropy(t)
    upper = ball(round_up(t)) if t.is_finite() else NOT_A_NUMBER
    if t == 0 or not upper < INCREASING_LIMIT:
        return ZERO if t == 0 else NOT_A_NUMBER
    return ZERO.union(-upper * upper.log())
