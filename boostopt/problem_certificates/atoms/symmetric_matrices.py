"""Symmetric matrices in floats and in balls: roots, inverses and bases, and the minorants of the largest eigenvalue.

The symmetric part of a square matrix is taken, in C order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Float, Int
from boostopt.problem_certificates.arithmetic.balls import (
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
    intersection,
    magnitude_bounds,
)

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


def symmetric_rows(n: int) -> Any:
    """Return the matrix that maps the entries of a square matrix to those of its symmetric part."""
    places = np.arange(n * n)
    ones = scipy.sparse.csr_array((np.ones(n * n), (places, places.reshape(n, n).T.ravel())))
    return 0.5 * (scipy.sparse.eye_array(n * n, format="csr") + ones)


def triangle_rows(n: int) -> Any:
    """Return the matrix that maps the entries of a lower triangle, row by row, to those of its symmetric matrix."""
    rows, columns = np.tril_indices(n)
    entries = np.arange(len(rows))
    places = np.concatenate([rows * n + columns, (columns * n + rows)[rows != columns]])
    entries = np.concatenate([entries, entries[rows != columns]])
    return scipy.sparse.csr_array((np.ones(len(places)), (places, entries)))


def identity_column(n: int) -> Any:
    """Return the entries of the identity as a column."""
    return scipy.sparse.csr_array(np.eye(n).reshape(-1, 1))


def placed_rows(places: Int[Array, " k"], count: int) -> Any:
    """Return the matrix that maps k entries to places among so many."""
    return scipy.sparse.csr_array((np.ones(len(places)), (places, np.arange(len(places)))), (count, len(places)))


def dilation_rows(shape: tuple[int, int]) -> Any:
    """Return the matrix that maps the entries of X to those of [[0, X], [Xᵀ, 0]]."""
    n, entries = sum(shape), np.arange(shape[0] * shape[1])
    rows, columns = np.divmod(entries, shape[1])
    columns += shape[0]
    return placed_rows(rows * n + columns, n * n) + placed_rows(columns * n + rows, n * n)


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
