"""Answers of an interior-point method for small semidefinite programs in more digits than floats have.

The method is that of `semidefinite_answers`, with midpoints of balls as numbers. Duals whose interior is thinner than
the rounding of floats need it: the multipliers of `hinf3` of SDPLIB have eigenvalues of 5e-14 at most. Nothing that it
says is believed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import flint
import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Int
from boostopt.conic_programs.solver_clock import solver_call
from boostopt.problem_certificates.arithmetic.balls import ZERO, Ball, balls
from boostopt.problem_certificates.cone_proofs.cone_form import ConeForm
from boostopt.problem_certificates.cone_proofs.semidefinite.semidefinite_answers import has_semidefinite_answer

PRECISION = 512
"""Bits of the numbers."""

MAX_PRODUCTS = 5_000_000
"""Number of products of a step up to which the method is used: a sixth of a second."""

MAX_STEPS = 200
"""Maximum number of Newton steps."""

N_POOR_STEPS = 25
"""Number of steps without progress after which the method stops."""

START_SIZE = 1e3
"""The multiple of the identity at which both sides start, for costs and constants of size 1."""

STEP_FRACTION = 0.9
"""Fraction of the way to the boundary of the cones, at least."""

MAX_STEP_FRACTION = 0.99
"""The same for steps that come near to the optimum."""

MIN_STEP = 1e-6
"""Fraction of a Newton step below which the method stops."""

MIN_CENTRING = 1e-5
"""Smallest ratio of the target of a step to the complementarity before it."""

MAX_RESIDUAL = 1e-26
"""Relative residual that suffices."""

MAX_SPARSE_ENTRIES = 4
"""Mean number of entries of a coefficient matrix up to which products go through them one by one."""

Matrix = Any
"""A matrix of python-flint (`arb_mat`)."""


@dataclass(frozen=True, eq=False)
class PreciseBlock:
    """A semidefinite matrix G x + h of a form in balls.

    Attributes
    ----------
    order
        Number of rows.
    columns
        The variables that it contains.
    matrices
        The symmetric coefficient matrix of each of these.
    rows
        The same: row j has the entries of matrix j; shape (columns, order^2).
    columns_of_entries
        The transposed matrix.
    sparse_rows
        The same rows as pairs of a place and an entry, if they have `MAX_SPARSE_ENTRIES` each in the mean; else None.
    h
        The constant.
    """

    order: int
    columns: Int[Array, " k"]
    matrices: Sequence[Matrix]
    rows: Matrix
    columns_of_entries: Matrix
    sparse_rows: Sequence[Sequence[tuple[int, Ball]]] | None
    h: Matrix

    def image(self, x: Sequence[Ball]) -> Matrix:
        """Return G x."""
        if not len(self.columns):
            return flint.arb_mat(self.order, self.order)
        part = flint.arb_mat(len(self.columns), 1, [x[j] for j in self.columns.tolist()])
        return flint.arb_mat(self.order, self.order, (self.columns_of_entries * part).entries())

    def add_sums(self, totals: list[Ball], Z: Matrix) -> None:
        """Add Gᵀ Z to a vector of n numbers."""
        if len(self.columns):
            sums = (self.rows * flint.arb_mat(self.order**2, 1, Z.entries())).entries()
            for j, value in zip(self.columns.tolist(), sums, strict=True):
                totals[j] += value

    def add_gram(self, totals: list[list[Ball]], first: Matrix, second: Matrix) -> None:
        """Add Gᵀ (first (x) second) G to a square matrix of order n."""
        places = self.columns.tolist()
        if not places:
            return
        images = [(first * matrix * second).entries() for matrix in self.matrices]
        if self.sparse_rows is not None:
            for i, pairs in zip(places, self.sparse_rows, strict=True):
                target = totals[i]
                for j, image in zip(places, images, strict=True):
                    for place, entry in pairs:
                        target[j] += entry * image[place]
            return
        products = (self.rows * flint.arb_mat(images).transpose()).tolist()
        for i, row in zip(places, products, strict=True):
            target = totals[i]
            for j, value in zip(places, row, strict=True):
                target[j] += value


@dataclass(frozen=True, eq=False)
class PreciseAnswer:
    """A point and multipliers in balls of radius 0.

    Attributes
    ----------
    x
        The point.
    Z
        A multiplier for each semidefinite matrix of the form, group by group.
    """

    x: Sequence[Ball]
    Z: Sequence[Matrix]


def has_precise_answer(form: ConeForm) -> bool:
    """Return whether the method takes a form: a small one with semidefinite cones alone."""
    if not has_semidefinite_answer(form) or len(form.row_lower):
        return False
    if np.isfinite(form.lower).any() or np.isfinite(form.upper).any():
        return False
    n_products = 0
    for group in form.groups:
        order = math.isqrt(group.size)
        for k in range(group.count):
            part: Any = group.G[k * group.size : (k + 1) * group.size]
            n_columns = len(np.unique(part.indices))
            n_products += 2 * n_columns * order**3 + n_columns**2 * order**2
    return n_products <= MAX_PRODUCTS


def precise_answer(form: ConeForm, goal: float) -> PreciseAnswer | None:
    """Return the last point and multipliers of the method; None without a step.

    Parameters
    ----------
    form
        A form that `has_precise_answer`.
    goal
        The relative gap at which the method stops.
    """
    with solver_call(), flint.ctx.workprec(PRECISION):
        return _PreciseMethod(form, precise_blocks(form)).run(goal)


def precise_blocks(form: ConeForm) -> Sequence[PreciseBlock]:
    """Return the semidefinite matrices of a form, group by group. They are exact, and made once for each form."""
    blocks = _blocks_of_forms.get(form)
    if blocks is None:
        blocks = tuple(block for group in form.groups for block in _blocks(group.G, group.h, group.size))
        _blocks_of_forms[form] = blocks
    return blocks


_blocks_of_forms: WeakKeyDictionary[ConeForm, Sequence[PreciseBlock]] = WeakKeyDictionary()


def _blocks(G: Any, h: Any, size: int) -> list[PreciseBlock]:
    order, results = math.isqrt(size), list[PreciseBlock]()
    for start in range(0, len(h), size):
        part: Any = scipy.sparse.csc_array(G[start : start + size])
        columns = np.flatnonzero(np.diff(part.indptr))
        dense = part[:, columns].toarray().T
        rows = flint.arb_mat(len(columns), size, balls(dense))
        matrices = [flint.arb_mat(order, order, balls(entries)) for entries in dense]
        constant = flint.arb_mat(order, order, balls(h[start : start + size]))
        is_sparse = part.nnz <= MAX_SPARSE_ENTRIES * len(columns)
        sparse_rows = [_pairs(entries) for entries in dense] if is_sparse else None
        results.append(PreciseBlock(order, columns, matrices, rows, rows.transpose(), sparse_rows, constant))
    return results


def _pairs(entries: Array) -> list[tuple[int, Ball]]:
    places = np.flatnonzero(entries)
    return list(zip(places.tolist(), balls(entries[places]), strict=True))


def lower_factor(X: Matrix) -> Matrix | None:
    """Return L with L Lᵀ = X for all symmetric matrices of an enclosure; None unless all pivots are positive."""
    n, entries = X.nrows(), X.tolist()
    L = list[list[Ball]]()
    for i in range(n):
        row = list[Ball]()
        for j in range(i):
            total = entries[i][j]
            for a, b in zip(row, L[j], strict=False):
                total -= a * b
            row.append(total / L[j][j])
        pivot = entries[i][i]
        for a in row:
            pivot -= a * a
        if not pivot > 0:
            return None
        L.append([*row, pivot.sqrt()])
    return flint.arb_mat([[*row, *[ZERO] * (n - len(row))] for row in L])


@dataclass(frozen=True, eq=False)
class _Iterate:
    """The numbers of a step: x, S, Z and the inverse factors of S and Z."""

    x: list[Ball]
    S: list[Matrix]
    Z: list[Matrix]
    S_factors: list[Matrix]
    Z_factors: list[Matrix]


class _PreciseMethod:
    """The interior-point method for the blocks of a form."""

    def __init__(self, form: ConeForm, blocks: Sequence[PreciseBlock]) -> None:
        self.n, self.blocks = form.n, blocks
        self.c = balls(form.c)
        self.offset = form.offset
        self.degree = sum(block.order for block in blocks)
        sizes = [float(np.abs(group.h).max(initial=0.0)) for group in form.groups]
        self.start_size = START_SIZE * max(1.0, *sizes)
        self.scales = 1 + max(sizes), 1 + float(np.abs(form.c).max(initial=0.0))

    def run(self, goal: float) -> PreciseAnswer | None:
        """Return the answer at the last point; None if there is no step."""
        point = self._start()
        best, n_poor = np.full(3, math.inf), 0
        for _ in range(MAX_STEPS):
            primal, dual = self._residuals(point)
            complementarity = _product(point.S, point.Z)
            value = float(_inner(self.c, point.x)) + self.offset
            progress = np.array(
                [
                    float(complementarity) / max(1.0, abs(value)),
                    max(_size(part.entries()) for part in primal) / self.scales[0],
                    _size(dual) / self.scales[1],
                ]
            )
            if not np.isfinite(progress).all() or (progress <= (goal, MAX_RESIDUAL, MAX_RESIDUAL)).all():
                break
            is_open = progress > (goal, MAX_RESIDUAL, MAX_RESIDUAL)
            n_poor = 0 if ((progress < 0.9 * best) & is_open).any() else n_poor + 1
            best = np.minimum(best, progress)
            step = None if n_poor > N_POOR_STEPS else self._step(point, primal, dual, complementarity)
            if step is None:
                break
            point = step
        return PreciseAnswer(point.x, point.Z) if math.isfinite(best[0]) else None

    def _start(self) -> _Iterate:
        size = flint.arb(self.start_size)
        units = [_identity(block.order) for block in self.blocks]
        factors = [unit / size.sqrt() for unit in units]
        factors = [factor.mid() for factor in factors]
        matrices = [unit * size for unit in units]
        return _Iterate([ZERO] * self.n, matrices, list(matrices), factors, list(factors))

    def _sums(self, matrices: Sequence[Matrix]) -> list[Ball]:
        """Return Gᵀ of some matrices."""
        totals = [ZERO] * self.n
        for block, matrix in zip(self.blocks, matrices, strict=True):
            block.add_sums(totals, matrix)
        return [total.mid() for total in totals]

    def _residuals(self, point: _Iterate) -> tuple[list[Matrix], list[Ball]]:
        """Return G x + h - S and c - Gᵀ Z."""
        primal = [(block.image(point.x) + block.h - S).mid() for block, S in zip(self.blocks, point.S, strict=True)]
        return primal, [(c - total).mid() for c, total in zip(self.c, self._sums(point.Z), strict=True)]

    def _step(self, point: _Iterate, primal: list[Matrix], dual: list[Ball], complementarity: Ball) -> _Iterate | None:
        """Return the point after a step; None if there is no step that is long enough."""
        inverses = [(factor.transpose() * factor).mid() for factor in point.S_factors]
        gram = [[ZERO] * self.n for _ in range(self.n)]
        for block, Z, inverse in zip(self.blocks, point.Z, inverses, strict=True):
            block.add_gram(gram, Z, inverse)
        system = symmetric(flint.arb_mat(gram))
        mu = (complementarity / self.degree).mid()

        def direction(target: Ball, correction: list[Matrix] | None) -> tuple[list[Ball], list[Matrix], list[Matrix]]:
            fixed = [
                inverse * target - Z - Z * rest * inverse
                for Z, inverse, rest in zip(point.Z, inverses, primal, strict=True)
            ]
            if correction is not None:
                fixed = [part - change for part, change in zip(fixed, correction, strict=True)]
            sums = self._sums([symmetric(part) for part in fixed])
            right = [total - rest for total, rest in zip(sums, dual, strict=True)]
            x = system.solve(flint.arb_mat(self.n, 1, right), algorithm="approx").mid().entries()
            images = [block.image(x).mid() for block in self.blocks]
            S = [(image + rest).mid() for image, rest in zip(images, primal, strict=True)]
            Z = [
                symmetric(part - Z * image * inverse)
                for part, Z, image, inverse in zip(fixed, point.Z, images, inverses, strict=True)
            ]
            return x, S, Z

        try:
            _, S_step, Z_step = direction(ZERO, None)
            lengths = min(1.0, _longest(point.S_factors, S_step)), min(1.0, _longest(point.Z_factors, Z_step))
            nearer = _product(_endpoints(point.S, S_step, lengths[0]), _endpoints(point.Z, Z_step, lengths[1]))
            ratio = max(0.0, float(nearer / complementarity))
            centring = min(1.0, max(MIN_CENTRING, ratio ** max(1.0, 3 * min(lengths) ** 2)))
            correction = [b * a * inverse for a, b, inverse in zip(S_step, Z_step, inverses, strict=True)]
            x, S_step, Z_step = direction((mu * centring).mid(), correction)
        except ZeroDivisionError:  # the system is singular in these digits
            return None
        fraction = min(MAX_STEP_FRACTION, max(STEP_FRACTION, 1 - 10 * ratio))
        length, slacks, factors = _safe_step(
            point.S, S_step, min(1.0, fraction * _longest(point.S_factors, S_step)), point.S_factors
        )
        dual_length, multipliers, dual_factors = _safe_step(
            point.Z, Z_step, min(1.0, fraction * _longest(point.Z_factors, Z_step)), point.Z_factors
        )
        if not max(length, dual_length) > MIN_STEP:
            return None
        x = [(a + b * length).mid() for a, b in zip(point.x, x, strict=True)]
        return _Iterate(x, slacks, multipliers, factors, dual_factors)


def _identity(order: int) -> Matrix:
    return flint.arb_mat(order, order, [flint.arb(int(i == j)) for i in range(order) for j in range(order)])


def symmetric(X: Matrix) -> Matrix:
    """Return the symmetric part of a matrix, without radii."""
    return ((X + X.transpose()) / 2).mid()


def _size(values: Sequence[Ball]) -> float:
    return max((abs(float(value)) for value in values), default=0.0)


def sum_of_products(first: Sequence[Ball], second: Sequence[Ball]) -> Ball:
    """Return the inner product of two vectors of balls."""
    total = ZERO
    for a, b in zip(first, second, strict=True):
        total += a * b
    return total


def _inner(first: Sequence[Ball], second: Sequence[Ball]) -> Ball:
    return sum_of_products(first, second).mid()


def _product(first: Sequence[Matrix], second: Sequence[Matrix]) -> Ball:
    """Return the sum of the inner products of matrices."""
    total = ZERO
    for a, b in zip(first, second, strict=True):
        total += _inner(a.entries(), b.entries())
    return total


def _endpoints(points: Sequence[Matrix], steps: Sequence[Matrix], length: float) -> list[Matrix]:
    return [(point + step * length).mid() for point, step in zip(points, steps, strict=True)]


def _safe_step(
    points: list[Matrix], steps: Sequence[Matrix], length: float, inverse_factors: list[Matrix]
) -> tuple[float, list[Matrix], list[Matrix]]:
    """Return a length up to which the step stays in the cones, the matrices there, and their inverse factors."""
    while length > MIN_STEP:
        matrices = _endpoints(points, steps, length)
        factors = [lower_factor(matrix) for matrix in matrices]
        if all(factor is not None for factor in factors):
            return length, matrices, [factor.mid().inv().mid() for factor in factors if factor is not None]
        length *= 0.8
    return 0.0, points, inverse_factors


def _longest(inverse_factors: Sequence[Matrix], directions: Sequence[Matrix]) -> float:
    """Return nearly the length of the longest step along directions within the cones."""
    smallest = 0.0
    for L, D in zip(inverse_factors, directions, strict=True):
        order = D.nrows()
        entries = np.array([float(value) for value in (L * D * L.transpose()).entries()]).reshape(order, order)
        if not np.isfinite(entries).all():
            return 0.0
        smallest = min(smallest, float(np.linalg.eigvalsh((entries + entries.T) / 2)[0]))
    return math.inf if smallest == 0 else -1 / smallest
