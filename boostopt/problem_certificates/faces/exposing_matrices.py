"""Null vectors that semidefinite matrices have in common at all feasible points, proved by exposing matrices.

If W is positive semidefinite, and the equations of a problem imply <W, E> = 0, then E W = 0 at each feasible point:
facial reduction (Borwein and Wolkowicz 1981, Drusvyatskiy and Wolkowicz 2017).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.cvxpy_tools import cp, solve_quietly
from boostopt.conic_programs.exact.rationals import to_fmpq, to_fraction
from boostopt.problem_certificates.arithmetic.affine_forms import Row
from boostopt.problem_certificates.arithmetic.balls import Ball, ball, cholesky, exact_fraction, pivots
from boostopt.problem_certificates.problem_reader import MatrixConstraint, ReadProblem

ExactRow = dict[int, Any]
"""The coefficients of a row in fractions of FLINT, and the offset at -1."""

PivotVector = tuple[int, list[Fraction]]
"""A vector, and a position at which it is 1 and all others of its basis are 0."""

SIMPLE_FRACTIONS = ((12, 2e-3), (200, 1e-5))
"""Largest denominators of entries of a null vector, and distances from the entries that they stand for, in turn."""

MIN_EIGENVALUE = 1e-4
"""Eigenvalue of an exposing matrix, relative to the largest, from which its vector is in the range."""

MAX_TRACE = 1e3
"""Trace of an exposing matrix whose part in the identity is to be as large as possible."""

MAX_SYSTEM_SIZE = 60_000
"""Number of entries of a system in fractions up to which exposing matrices are looked for."""

MAX_PRODUCTS = 200_000
"""Number of products of entries of matrices and vectors up to which they are."""

WEIGHT_DENOMINATOR = 2**20
"""Denominator of the weights of exposing matrices."""


def simple_basis(basis: Float[Array, "k n"]) -> list[PivotVector]:
    """Return vectors of simple fractions near a basis of the same space; those not near are left out."""
    if not basis.size:
        return []
    _, order = pivots(basis)
    positions = order[: len(basis)]
    try:
        reduced = np.linalg.solve(basis[:, positions], basis)
    except np.linalg.LinAlgError:  # not independent in floating point
        return []
    simple = [_simple_fractions(row) for row in reduced]
    return [(int(position), row) for position, row in zip(positions, simple, strict=True) if row]


def _simple_fractions(row: Float[Array, " n"]) -> list[Fraction]:
    """Return simple fractions near all entries; none if an entry is not near them."""
    for max_denominator, tol in SIMPLE_FRACTIONS:
        fractions = [Fraction(value).limit_denominator(max_denominator) for value in row.tolist()]
        if np.abs(row - np.array(fractions, dtype=float)).max() <= tol:
            return fractions
    return []


@dataclass(frozen=True)
class ExposedSpace:
    """Null vectors of a semidefinite matrix, and a positive definite M: with them as columns of V, V M Vᵀ exposes it.

    Attributes
    ----------
    basis
        The vectors; there may be none.
    weights
        M, a square array of fractions.
    """

    basis: Sequence[PivotVector]
    weights: Any


def exposed_vectors(
    problem: ReadProblem, proposals: Sequence[Sequence[PivotVector]]
) -> Sequence[Sequence[PivotVector]]:
    """Return null vectors that the equations of a problem imply, for each matrix, in the span of proposals.

    Parameters
    ----------
    problem
        The problem.
    proposals
        A basis for each semidefinite matrix, which may be empty.
    """
    spaces = exposed_spaces(problem, proposals)
    return [[] for _ in proposals] if spaces is None else [space.basis for space in spaces]


def exposed_spaces(problem: ReadProblem, proposals: Sequence[Sequence[PivotVector]]) -> Sequence[ExposedSpace] | None:
    """Return null vectors that the equations of a problem imply, with exposing matrices; None if there are none.

    The arguments are those of `exposed_vectors`.
    """
    bases = list(proposals)
    for _ in range(2):
        spans = _exposing_spans(problem, bases)
        weights = _largest_weights(spans)
        if weights is None:
            return None
        exact = np.array([Fraction(value).limit_denominator(WEIGHT_DENOMINATOR) for value in weights.tolist()], object)
        matrices = [np.tensordot(exact, span, 1) if len(span) else np.zeros((0, 0), object) for span in spans]
        if all(map(_is_positive_definite, matrices)):
            return [ExposedSpace(*pair) for pair in zip(bases, matrices, strict=True)]
        bases = [_range_basis(basis, span, weights) for basis, span in zip(bases, spans, strict=True)]
    return None


def _exposing_spans(problem: ReadProblem, bases: Sequence[Sequence[PivotVector]]) -> list[Any]:
    """Return symmetric matrices M of fractions, shape (count, k, k), for the k vectors V of each semidefinite matrix.

    With any weights, the equations imply that the sum of <V M Vᵀ, E> over all semidefinite matrices E is 0.
    """
    no_spans = [np.zeros((0, len(basis), len(basis)), object) for basis in bases]
    n_products = sum((len(basis) * item.n) ** 2 for basis, item in zip(bases, problem.matrices, strict=True))
    if not 0 < n_products <= MAX_PRODUCTS:
        return no_spans
    pairs = [(k, i, j) for k, basis in enumerate(bases) for i in range(len(basis)) for j in range(i + 1)]
    columns = [_product_row(problem.matrices[k], bases[k][i][1], bases[k][j][1]) for k, i, j in pairs]
    equations = problem.equalities.rows
    columns += [_exact_row(row, offset) for row, offset in zip(equations.rows, equations.offsets, strict=True)]
    keys = sorted({key for column in columns if column is not None for key in column})
    if any(column is None for column in columns) or len(keys) * len(columns) > MAX_SYSTEM_SIZE:
        return no_spans
    entries = [column.get(key, 0) for key in keys for column in columns if column is not None]
    solutions = _null_space(flint.fmpq_mat(len(keys), len(columns), entries))
    parts = [row[: len(pairs)] for row in solutions]
    reduced, rank = flint.fmpq_mat(len(parts), len(pairs), [entry for part in parts for entry in part]).rref()
    spans = [np.zeros((rank, *span.shape[1:]), object) for span in no_spans]
    for place, (k, i, j) in enumerate(pairs):
        for number in range(rank):
            half = to_fraction(reduced[number, place]) / 2
            spans[k][number, i, j] += half
            spans[k][number, j, i] += half
    return spans


def _product_row(constraint: MatrixConstraint, v: Sequence[Fraction], w: Sequence[Fraction]) -> ExactRow | None:
    """Return vᵀ E w as a row; None if a number is not exact."""
    total: ExactRow = {}
    rows, offsets = constraint.rows.rows, constraint.rows.offsets
    for i, first in enumerate(v):
        for j, second in enumerate(w):
            if first * second == 0:
                continue
            row = _exact_row(rows[i * constraint.n + j], offsets[i * constraint.n + j])
            if row is None:
                return None
            factor = to_fmpq(first * second)
            for key, value in row.items():
                total[key] = total.get(key, flint.fmpq(0)) + factor * value
    return total


def _exact_row(row: Row, offset: Ball) -> ExactRow | None:
    """Return the coefficients of a row by position, and its offset at -1; None if a number is not exact."""
    if not all(value.is_exact() for value in (*row.values(), offset)):
        return None
    return {key: exact_fraction(value) for key, value in [*row.items(), (-1, offset)]}


def _null_space(matrix: Any) -> list[list[Any]]:
    """Return a basis of the solutions x of A x = 0 in fractions."""
    reduced, rank = matrix.rref()
    n = matrix.ncols()
    places = [next(j for j in range(n) if reduced[i, j] != 0) for i in range(rank)]
    basis = list[list[Any]]()
    for free in sorted(set(range(n)) - set(places)):
        solution = [flint.fmpq(int(j == free)) for j in range(n)]
        for i, place in enumerate(places):
            solution[place] = -reduced[i, free]
        basis.append(solution)
    return basis


def _largest_weights(spans: Sequence[Any]) -> Float[Array, " b"] | None:
    """Return weights of semidefinite sums of spans with the largest ranges, by a solver; None if there are none."""
    parts = [span.astype(float) for span in spans if span.size]
    if not parts:
        return None
    weights, ranges, constraints = cp.Variable(len(parts[0])), list[Any](), list[Any]()
    for part in parts:
        k = part.shape[1]
        total = cp.reshape(part.reshape(len(part), -1).T @ weights, (k, k), order="C")
        ranges.append(cp.Variable((k, k), PSD=True))
        constraints += [(total + total.T) / 2 >> ranges[-1], ranges[-1] << np.eye(k), cp.trace(total) <= MAX_TRACE]
    problem = cp.Problem(cp.Maximize(cp.sum([cp.trace(item) for item in ranges])), constraints)
    values = None if solve_quietly(problem, "CLARABEL") else weights.value
    if values is None or not np.isfinite(values).all():
        return None
    return values if any(np.trace(np.tensordot(values, part, 1)) > MIN_EIGENVALUE for part in parts) else None


def _is_positive_definite(matrix: Any) -> bool:
    """Return whether a matrix of fractions is proved positive definite."""
    return cholesky([ball(Fraction(value)) for value in matrix.ravel().tolist()], len(matrix)) is not None


def _range_basis(basis: Sequence[PivotVector], span: Any, weights: Float[Array, " b"]) -> list[PivotVector]:
    """Return simple vectors near the range of the exposing matrix."""
    if not basis:
        return []
    eigenvalues, vectors = np.linalg.eigh(np.tensordot(weights, span.astype(float), 1))
    is_range = eigenvalues > MIN_EIGENVALUE * max(float(eigenvalues[-1]), 1.0)
    return simple_basis(vectors[:, is_range].T @ np.array([vector for _, vector in basis], float))
