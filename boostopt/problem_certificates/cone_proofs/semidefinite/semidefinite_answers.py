"""Answers of an interior-point method to programs whose cones are semidefinite. Nothing that it says is believed.

The direction is that of Helmberg, Rendl, Vanderbei and Wolkowicz, Kojima, Shindoh and Hara, and Monteiro, with the
predictor and corrector of Mehrotra. The start is that of Toh, Todd and Tütüncü. For S = G x + h and multipliers Z,
the Newton system has the matrix Gᵀ (Z (x) S^-1) G, of as many rows as there are variables. Systems in the entries of
the matrices, as Clarabel's, are larger by far for large matrices.

References
----------
Helmberg, Rendl, Vanderbei, Wolkowicz 1996, "An interior-point method for semidefinite programming", SIAM Journal on
Optimization 6. Toh, Todd, Tütüncü 1999, "SDPT3", Optimization Methods and Software 11.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.csgraph

from boostopt._utils.array_types import Array, Bool, Float, Int
from boostopt.conic_programs.solver_clock import count_answers, solver_call
from boostopt.problem_certificates.cone_proofs.clarabel_answers import HUGE, ConicAnswer
from boostopt.problem_certificates.cone_proofs.cone_form import ConeForm, ConeGroup

MAX_STEPS = 100
"""Maximum number of Newton steps."""

STEP_FRACTION = 0.95
"""Fraction of the way to the boundary of the cones."""

MIN_STEP = 1e-4
"""Fraction of a Newton step below which the method stops."""

N_POOR_STEPS = 3
"""Number of steps without progress after which the method stops."""

MAX_RESIDUAL = 1e-9
"""Relative residual that suffices."""

N_POINTS = 8
"""Number of the last points that are kept."""

GAP_FRACTION = 0.5
"""A point is kept besides the one before it if its gap is this fraction of the other's."""

N_REFINEMENTS = 3
"""Number of steps of multipliers towards exact reduced costs."""

MAX_ELEMENTS = 4_000_000
"""Number of products of entries that are computed together."""

PRODUCT_COST = 50.0
"""Cost of a product of gathered entries, in operations of a product of dense matrices."""

COLUMN_COST = 100_000.0
"""The cost of each column besides, in the same unit."""

MIN_DENSITY = 0.1
"""Share of the entries of the matrices above which they are multiplied as dense ones."""

MAX_DENSE_ENTRIES = 10_000_000
"""Number of these entries up to which they are."""

MAX_PROGRAM_SIZE = 3000
"""Number of variables up to which the method is used: its Newton matrix is dense."""


def has_semidefinite_answer(form: ConeForm) -> bool:
    """Return whether the method takes a form: semidefinite cones and rows, no equations and no fixed variables."""
    return (
        bool(form.groups)
        and form.n <= MAX_PROGRAM_SIZE
        and form.P is None
        and not len(form.e)
        and not form.is_fixed.any()
        and all(group.kind == "semidefinite" for group in form.groups)
    )


def semidefinite_answers(form: ConeForm, goal: float) -> Iterator[ConicAnswer]:
    """Yield the last points and multipliers of the method, the most accurate ones first.

    An earlier point has more slack. The multipliers are moved within their cones until their reduced costs are exact
    up to rounding.

    Parameters
    ----------
    form
        A form that `has_semidefinite_answer`.
    goal
        The relative gap at which the method stops.
    """
    with solver_call():
        method = _Method(form)
    return count_answers(method.run(goal))


class _Batch:
    """Semidefinite matrices of one order: the entries of S are rows of G x + h.

    Parameters
    ----------
    order
        The order.
    entries
        For each entry of the matrices, in C order, its row of the group; shape (k * order^2,).
    group, place
        The group, and its position in the form.
    """

    def __init__(self, order: int, entries: Int[Array, " rows"], group: ConeGroup, place: int) -> None:
        self.order, self.place, self.entries = order, place, entries
        self.count = len(entries) // order**2
        self.shape = (self.count, order, order)
        self.G: Any = scipy.sparse.csr_array(group.G[entries])
        self.h = group.h[entries].reshape(self.shape)
        self.G_transposed: Any = scipy.sparse.csr_array(self.G.T)
        self.G_norms = np.sqrt(np.asarray((self.G * self.G).sum(axis=0)).ravel())
        self._support = np.flatnonzero(np.diff(self.G.indptr))
        self._supported: Any = scipy.sparse.csr_array(self.G[self._support].T)
        columns: Any = scipy.sparse.csc_array(self.G)
        columns.sort_indices()
        self._used = np.flatnonzero(np.diff(columns.indptr))
        self._blocks = self._dense_blocks(columns) if self.count == 1 else []
        sizes = [len(rows) for rows, _ in self._blocks]
        dense_cost = sum(2.0 * order**2 * size + 2.0 * order * size**2 + COLUMN_COST for size in sizes)
        self._is_sparse = self.count == 1 and PRODUCT_COST * len(self._support) * columns.nnz < dense_cost
        self._columns = columns
        is_dense = self.count == 1 and not self._is_sparse and columns.nnz > MIN_DENSITY * np.prod(columns.shape)
        self._dense = self.G_transposed.toarray() if is_dense and columns.nnz <= MAX_DENSE_ENTRIES else None

    @cached_property
    def _images(self) -> list[tuple[Int[Array, " k"], Float[Array, "k n n"], Int[Array, " t"], Bool[Array, "k n n"]]]:
        """The matrices of each column with entries, by their cones, and the places of their images in G x."""
        columns, results = self._columns, list[tuple[Array, Array, Array, Array]]()
        positions = np.full(self.shape, -1)
        positions.ravel()[self._support] = np.arange(len(self._support))
        for j in self._used.tolist():
            part = slice(columns.indptr[j], columns.indptr[j + 1])
            numbers, rests = np.divmod(columns.indices[part], self.order**2)
            cones = np.unique(numbers)
            dense = np.zeros((len(cones), self.order**2))
            dense[np.searchsorted(cones, numbers), rests] = columns.data[part]
            targets = positions[cones]
            has_target = targets >= 0
            results.append((cones, dense.reshape(-1, self.order, self.order), targets[has_target], has_target))
        return results

    def _dense_blocks(self, columns: Any) -> list[tuple[Int[Array, " k"], Float[Array, "k k"]]]:
        """Return for each column of a matrix that has entries the rows of its matrix with entries, and the rest."""
        results = list[tuple[Array, Array]]()
        for j in self._used.tolist():
            part = slice(columns.indptr[j], columns.indptr[j + 1])
            first, second = np.divmod(columns.indices[part], self.order)
            rows = np.union1d(first, second)
            block = np.zeros((len(rows), len(rows)))
            block[np.searchsorted(rows, first), np.searchsorted(rows, second)] = columns.data[part]
            results.append((rows, block))
        return results

    def values(self, x: Float[Array, " n"]) -> Array:
        """Return G x."""
        return np.asarray(self.G @ x).reshape(self.shape)

    def gram(self, Z: Array, inverse: Array) -> Float[Array, "n n"]:
        """Return Gᵀ (Z (x) S^-1) G."""
        n, order, columns = self.G.shape[1], self.order, self._columns
        result = np.zeros((n, n))
        if self._is_sparse:
            first, second = np.divmod(self._support, order)
            rows, places = np.divmod(columns.indices, order)
            size = max(1, MAX_ELEMENTS // max(1, len(self._support)))
            for start in range(0, columns.nnz, size):
                part = slice(start, start + size)
                products = Z[0][np.ix_(first, rows[part])] * inverse[0][np.ix_(second, places[part])]
                ends = np.clip(columns.indptr - start, 0, products.shape[1])
                block = scipy.sparse.csc_array(
                    (columns.data[part], np.arange(products.shape[1]), ends), shape=(products.shape[1], n)
                )
                result += np.asarray(self._supported @ np.asarray((block.T @ products.T).T))
            return result
        if self.count == 1:
            images = (Z[0][:, rows] @ (block @ inverse[0][rows]) for rows, block in self._blocks)
            if self._dense is None:
                for j, image in zip(self._used.tolist(), images, strict=True):
                    result[:, j] = self.G_transposed @ image.ravel()
                return result
            size = max(1, MAX_ELEMENTS // order**2)
            for start in range(0, len(self._used), size):
                part = self._used[start : start + size]
                result[:, part] = self._dense @ np.stack([image.ravel() for image in islice(images, len(part))]).T
            return result
        images = np.zeros((len(self._used), len(self._support)))
        for row, (cones, matrices, targets, has_target) in zip(images, self._images, strict=True):
            row[targets] = (Z[cones] @ matrices @ inverse[cones])[has_target]
        result[:, self._used] = np.asarray(self._supported @ images.T)
        return result


def _batches(group: ConeGroup, place: int) -> list[_Batch]:
    """Return the matrices of a group, divided into blocks that no entry joins."""
    order = math.isqrt(group.size)
    has_entry = (np.diff(group.G.indptr) > 0) | (group.h != 0)
    patterns = has_entry.reshape(group.count, order, order)
    blocks = dict[int, list[Array]]()
    for k, pattern in enumerate(patterns):
        _, labels = scipy.sparse.csgraph.connected_components(scipy.sparse.csr_array(pattern), directed=False)
        by_label = np.argsort(labels, kind="stable")
        for block in np.split(by_label, np.flatnonzero(np.diff(labels[by_label])) + 1):
            entries = (k * group.size + block[:, None] * order + block).ravel()
            if has_entry[entries].any():
                blocks.setdefault(len(block), []).append(entries)
    return [_Batch(size, np.concatenate(parts), group, place) for size, parts in blocks.items()]


@dataclass
class _Point:
    """S, Z and x; the last matrices are the diagonal ones of the rows."""

    x: Float[Array, " n"]
    S: list[Array]
    Z: list[Array]


class _Method:
    """The interior-point method for a form."""

    def __init__(self, form: ConeForm) -> None:
        self.form = form
        self.batches = [batch for place, group in enumerate(form.groups) for batch in _batches(group, place)]
        unit: Any = scipy.sparse.eye_array(form.n, format="csr")
        self._limits = [form.row_lower > -HUGE, form.row_upper < HUGE, form.lower > -HUGE, form.upper < HUGE]
        has_row_lower, has_row_upper, has_lower, has_upper = self._limits
        self.L: Any = scipy.sparse.csr_array(
            scipy.sparse.vstack([form.R[has_row_lower], -form.R[has_row_upper], unit[has_lower], -unit[has_upper]])
        )
        self.sides = -np.concatenate(
            [
                form.row_lower[has_row_lower],
                -form.row_upper[has_row_upper],
                form.lower[has_lower],
                -form.upper[has_upper],
            ]
        )
        self.degree = len(self.sides) + sum(batch.count * batch.order for batch in self.batches)

    def run(self, goal: float) -> Iterator[ConicAnswer]:
        """Yield the answers at the last points, the most accurate ones first."""
        if not self.degree:
            return
        point, status = self._start(), "InsufficientProgress"
        points = list[tuple[float, float, _Point]]()
        best, n_poor = np.full(3, math.inf), 0
        limits = np.array([goal, MAX_RESIDUAL, MAX_RESIDUAL])
        with np.errstate(all="ignore"):
            for _ in range(MAX_STEPS):
                errors = self._errors(point)
                is_done = bool((errors <= limits).all())
                # The gap relative to its scale may grow where the objective changes its sign.
                progress = np.array([self._products(point.S, point.Z), *errors[1:]])
                entry = (float(errors.max()), float(progress[0]), point)
                if not points or progress[0] < GAP_FRACTION * points[-1][1]:
                    points = [*points[1 - N_POINTS :], entry]
                elif entry[0] < points[-1][0]:
                    points[-1] = entry
                n_poor = 0 if ((progress < 0.9 * best) & (errors > limits)).any() else n_poor + 1
                best = np.minimum(best, progress)
                step = None if is_done or n_poor > N_POOR_STEPS else self._step(point)
                if step is None:
                    status = "Solved" if is_done else status
                    break
                point = step
        for _, _, point in reversed(points):
            with np.errstate(all="ignore"):
                result = self._answer(point, status)
            yield result

    def _start(self) -> _Point:
        form = self.form
        scales = 1 + np.abs(form.c)
        S, Z = list[Array](), list[Array]()
        for batch in self.batches:
            ratio = float((scales / (1 + batch.G_norms)).max(initial=0.0))
            size = max(float(batch.G_norms.max(initial=0.0)), float(np.linalg.norm(batch.h)))
            unit = np.tile(np.eye(batch.order), (batch.count, 1, 1))
            root = math.sqrt(batch.order)
            S.append(max(10.0, root, size) * unit)
            Z.append(max(10.0, root, batch.order * ratio) * unit)
        norms = np.sqrt(np.asarray((self.L * self.L).sum(axis=1)).ravel())
        largest = max(10.0, float(norms.max(initial=0.0)), float(np.abs(self.sides).max(initial=0.0)))
        S.append(np.full(len(self.sides), largest))
        Z.append(np.full(len(self.sides), max(10.0, float(scales.max(initial=0.0)))))
        return _Point(np.zeros(form.n), S, Z)

    def _residuals(self, point: _Point) -> tuple[list[Array], Float[Array, " n"]]:
        """Return G x + h - S and c - Gᵀ Z."""
        constants = [*(batch.h for batch in self.batches), self.sides]
        images = self._images(point.x)
        primal = [image + h - S for image, h, S in zip(images, constants, point.S, strict=True)]
        return primal, self.form.c - self._sums(point.Z)

    def _images(self, x: Float[Array, " n"]) -> list[Array]:
        """Return G x."""
        return [*(batch.values(x) for batch in self.batches), np.asarray(self.L @ x)]

    def _sums(self, matrices: list[Array]) -> Float[Array, " n"]:
        """Return Gᵀ of some matrices."""
        total = np.asarray(self.L.T @ matrices[-1])
        for batch, matrix in zip(self.batches, matrices[:-1], strict=True):
            total = total + batch.G_transposed @ matrix.ravel()
        return total

    def _gram(self, Z: list[Array], inverses: list[Array]) -> Float[Array, "n n"]:
        """Return the symmetric part of Gᵀ (Z (x) S^-1) G."""
        total: Any = (self.L.T @ scipy.sparse.diags_array(Z[-1] * inverses[-1]) @ self.L).toarray()
        for batch, matrices, blocks in zip(self.batches, Z[:-1], inverses[:-1], strict=True):
            total = total + batch.gram(matrices, blocks)
        return (total + total.T) / 2

    def _products(self, first: list[Array], second: list[Array]) -> float:
        return sum(float(np.vdot(a, b)) for a, b in zip(first, second, strict=True))

    def _errors(self, point: _Point) -> Float[Array, " k"]:
        """Return the relative gap and the relative residuals of both sides."""
        primal, dual = self._residuals(point)
        value = float(self.form.c @ point.x)
        scale = max(1.0, abs(value + self.form.offset))
        gap = self._products(point.S, point.Z) / scale
        size = max((float(np.abs(S).max(initial=0.0)) for S in point.S), default=1.0)
        primal_error = max((float(np.abs(part).max(initial=0.0)) for part in primal), default=0.0) / (1 + size)
        dual_error = float(np.abs(dual).max(initial=0.0)) / (1 + self.form.cost_scale)
        return np.nan_to_num(np.array([gap, primal_error, dual_error]), nan=math.inf)

    def _step(self, point: _Point) -> _Point | None:
        """Return the point after a step; None if there is no step that is long enough."""
        primal, dual = self._residuals(point)
        try:
            inverses = [np.linalg.inv(S) for S in point.S[:-1]]
            inverses = [(part + part.transpose(0, 2, 1)) / 2 for part in inverses] + [1 / point.S[-1]]
            solve = _solver(self._gram(point.Z, inverses))
        except (np.linalg.LinAlgError, scipy.linalg.LinAlgError):
            return None
        mu = self._products(point.S, point.Z) / self.degree
        S_factors, Z_factors = ([_inverse_factor(part) for part in parts] for parts in (point.S, point.Z))

        def direction(target: float, correction: list[Array] | None) -> tuple[Array, list[Array], list[Array]]:
            fixed = [
                target * inverse - Z - _triple_product(Z, rest, inverse)
                for Z, inverse, rest in zip(point.Z, inverses, primal, strict=True)
            ]
            if correction is not None:
                fixed = [part - change for part, change in zip(fixed, correction, strict=True)]
            x = solve(self._sums([_symmetric(part) for part in fixed]) - dual)
            images = self._images(x)
            S = [image + rest for image, rest in zip(images, primal, strict=True)]
            Z = [
                _symmetric(part - _triple_product(Z, image, inverse))
                for part, Z, image, inverse in zip(fixed, point.Z, images, inverses, strict=True)
            ]
            return x, S, Z

        _, S_step, Z_step = direction(0.0, None)
        lengths = min(1.0, _longest(S_factors, S_step)), min(1.0, _longest(Z_factors, Z_step))
        nearer = self._products(
            [a + lengths[0] * b for a, b in zip(point.S, S_step, strict=True)],
            [a + lengths[1] * b for a, b in zip(point.Z, Z_step, strict=True)],
        )
        ratio = max(0.0, nearer / self.degree / mu)
        power = max(1.0, 3 * min(lengths) ** 2)
        target = min(1.0, ratio**power) * mu
        correction = [_triple_product(b, a, inverse) for a, b, inverse in zip(S_step, Z_step, inverses, strict=True)]
        x, S_step, Z_step = direction(target, correction)
        fraction = max(STEP_FRACTION, 1 - 10 * ratio) if min(lengths) > 0.9 else STEP_FRACTION
        fraction = min(fraction, 0.98)
        lengths = min(1.0, fraction * _longest(S_factors, S_step)), min(1.0, fraction * _longest(Z_factors, Z_step))
        if not (max(lengths) > MIN_STEP and np.isfinite(x).all()):
            return None
        return _Point(
            point.x + lengths[0] * x,
            [a + lengths[0] * b for a, b in zip(point.S, S_step, strict=True)],
            [a + lengths[1] * b for a, b in zip(point.Z, Z_step, strict=True)],
        )

    def _refined(self, Z: list[Array]) -> list[Array]:
        """Return multipliers whose reduced costs are nearly 0, by short steps in the metric of their cones."""
        try:
            solve = _solver(self._gram(Z, Z))
        except scipy.linalg.LinAlgError:
            return Z
        result = Z
        for _ in range(N_REFINEMENTS):
            x = solve(self.form.c - self._sums(result))
            result = [
                part + _symmetric(_triple_product(matrix, image, matrix))
                for part, matrix, image in zip(result, Z, self._images(x), strict=True)
            ]
        return result if all(np.isfinite(part).all() for part in result) else Z

    def _answer(self, point: _Point, status: str) -> ConicAnswer:
        form = self.form
        multipliers = self._refined(point.Z)
        cones = [np.zeros(len(group.h)) for group in form.groups]
        for batch, Z in zip(self.batches, multipliers, strict=False):
            cones[batch.place][batch.entries] = Z.ravel()
        rows = np.zeros(len(form.row_lower))
        has_row_lower, has_row_upper = self._limits[:2]
        n_lower, n_upper = int(has_row_lower.sum()), int(has_row_upper.sum())
        rows[has_row_lower] += multipliers[-1][:n_lower]
        rows[has_row_upper] -= multipliers[-1][n_lower : n_lower + n_upper]
        return ConicAnswer(point.x, np.zeros(0), rows, cones, status)


def _triple_product(A: Array, X: Array, B: Array) -> Array:
    """Return A X B of matrices, or of diagonal ones that are given by their diagonals."""
    return A * X * B if X.ndim == 1 else A @ X @ B


def _symmetric(X: Array) -> Array:
    return X if X.ndim == 1 else (X + X.transpose(0, 2, 1)) / 2


def _solver(M: Float[Array, "n n"]) -> Any:
    """Return the function that solves systems of a matrix that is nearly positive definite."""
    scales = 1 / np.sqrt(np.maximum(np.diag(M), 1e-300))
    scaled = M * np.outer(scales, scales)
    for regularization in (0.0, 1e-15, 1e-13, 1e-11):
        try:
            factor = scipy.linalg.cho_factor(scaled + regularization * np.eye(len(M)), check_finite=False)
        except scipy.linalg.LinAlgError:
            continue

        def solve(right: Float[Array, " n"], factor: Any = factor) -> Float[Array, " n"]:
            result = np.asarray(scipy.linalg.cho_solve(factor, scales * right, check_finite=False))
            residual = scales * right - scaled @ result
            return scales * (result + scipy.linalg.cho_solve(factor, residual, check_finite=False))

        return solve
    raise scipy.linalg.LinAlgError("not positive definite")


def _inverse_factor(X: Array) -> Array | None:
    """Return L^-1 with L Lᵀ = X, or a diagonal X itself; None if a matrix is not positive definite."""
    if X.ndim == 1:
        return X
    try:
        return np.linalg.inv(np.linalg.cholesky(X))
    except np.linalg.LinAlgError:
        return None


def _longest(factors: list[Array | None], directions: list[Array]) -> float:
    """Return the length of the longest step along directions within the cones, by `_inverse_factor` of each point."""
    smallest = 0.0
    for L, D in zip(factors, directions, strict=True):
        if L is None:
            return 0.0
        if L.ndim == 1:
            smallest = min(smallest, float((D / L).min(initial=0.0)))
            continue
        try:
            smallest = min(smallest, float(np.linalg.eigvalsh(L @ D @ L.transpose(0, 2, 1)).min()))
        except np.linalg.LinAlgError:
            return 0.0
    return math.inf if smallest == 0 else -1 / smallest
