"""Functions of matrices: determinants, inverses and quotients. Each has one group, the whole matrix.

Square matrices are taken by their symmetric part, in C order. Eigenvalues only propose; what is proved rests on
Cholesky factorizations and norms in balls.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Float
from boostopt._utils.cvxpy_tools import cp
from boostopt.problem_certificates.arithmetic.balls import (
    NOT_A_NUMBER,
    ONE,
    ZERO,
    Ball,
    ball,
    balls,
    cholesky,
    is_positive_semidefinite,
    matrix,
    shifted,
    symmetric_part,
)
from boostopt.problem_certificates.atoms.base import (
    TIGHT_SIZE,
    Bounds,
    EpigraphCone,
    Function,
    MinorantFamily,
    Tangents,
    intersection,
    magnitude_bounds,
    unit_rows,
)
from boostopt.problem_certificates.atoms.symmetric_matrices import (
    HALF,
    SquareMatrixFunction,
    bounded_diagonal,
    dilation_rows,
    fraction_value,
    identity_column,
    matrix_root,
    placed_rows,
    positive_diagonal,
    positive_inverse,
    symmetric,
    symmetric_basis,
    symmetric_directions,
    symmetric_rows,
    triangle_rows,
)
from boostopt.problem_certificates.atoms.univariate_smooth import size_power


class LogDeterminant(SquareMatrixFunction):
    """log det X; CVXPY's `log_det`. The minorant of a positive definite G is <G, X> - log det G - n."""

    has_semidefinite_domain = True
    has_sublinear_growth = True
    sign = -1

    def value(self, u: Sequence[Ball]) -> Ball:
        factor = cholesky(symmetric_part(u, self.n), self.n)
        return NOT_A_NUMBER if factor is None else 2 * sum((row[-1].log() for row in factor), ZERO)

    def asymptotic_slope(self, changes: Sequence[Ball]) -> Ball:
        return ZERO if is_positive_semidefinite(changes, self.n) else NOT_A_NUMBER  # it is monotone

    def grows(self, is_growing: Sequence[bool], changes: Sequence[Ball]) -> bool:
        return any(changes[place] > 0 for place in range(0, self.n**2, self.n + 1))  # an eigenvalue of X^-1 A is not 0

    def asymptotic_constraints(self, changes: Any, slopes: Any) -> list[Any]:
        A = cp.reshape(changes, (self.n, self.n), order="C")
        return [(A + A.T) / 2 >> 0, slopes == 0]

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

    def epigraph(self, count: int) -> Sequence[EpigraphCone]:
        """Return [[P, X], [Xᵀ, W]] in the semidefinite cone, with z >= tr W: Schur complements."""
        n, k = self.n, self.n_columns
        size, places = n + k, np.arange((n + k) ** 2).reshape(n + k, -1)
        triangle, no_value = triangle_rows(k), scipy.sparse.csr_array((size**2, 1))
        P = placed_rows(places[:n, :n].ravel(), size**2) @ symmetric_rows(n)
        W = placed_rows(places[n:, n:].ravel(), size**2) @ triangle
        matrices = scipy.sparse.hstack([dilation_rows((n, k)), P, no_value, W], format="csr")
        sizes = scipy.sparse.hstack([scipy.sparse.csr_array((1, count)), [[1.0]], -(identity_column(k).T @ triangle)])
        return EpigraphCone("semidefinite", matrices), EpigraphCone(None, sizes.tocsr())

    def _basis(self, tangents: Tangents, weights: Float[Array, " m"]) -> Float[Array, "r n c"]:
        """Return changes of W, each scaled such that it lowers the bound by about 1/2."""
        root = matrix_root(tangents.widths, self.n) / math.sqrt(2 * weights[0])
        units = np.eye(self.n * self.n_columns).reshape(-1, self.n, self.n_columns)
        return np.einsum("ij,rjc->ric", root, units)
