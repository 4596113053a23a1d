"""Answers to geometric programs in convex form by a primal-dual interior-point method. Nothing of them is believed.

A row r_1 t_1 + ... + r_k t_k <= u with cones exp(<a_i, x> + b_i) <= t_i is log(sum exp(y)) <= 0 for
y_i = <a_i, x> + b_i + log(r_i / u), without the variables t. The Newton matrix has as many rows as there are variables
x. The steps are those of Mehrotra. They end near the central path, where all slacks and multipliers are large enough to
be proved, while the rest of the gap is far below the goal.

References
----------
Boyd, Kim, Vandenberghe, Hassibi 2007, "A tutorial on geometric programming", Optimization and Engineering 8.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg

from boostopt._utils.array_types import Array, Bool, Float, Int
from boostopt.conic_programs.solver_clock import solver_call
from boostopt.functions.numerics.rounding_errors import UNIT
from boostopt.problem_certificates.arithmetic.sparse_float_forms import absolute, entry_rows
from boostopt.problem_certificates.cone_proofs.clarabel_answers import ConicAnswer
from boostopt.problem_certificates.cone_proofs.cone_form import ConeForm, columns_of, joined_rows, row_norms, rows_of
from boostopt.problem_certificates.cone_proofs.cone_membership import EXPONENTIAL_ERROR

LAPACK: Any = scipy.linalg.lapack
"""SciPy's factorizations, which have no annotations."""

MAX_SIZE = 300
"""Number of variables x up to which the method is used: its Newton matrix is dense."""

MAX_PAIRS = 1_000_000
"""Number of products of two coefficients of an exponent or row, and of slopes of sums, up to which it is used."""

MAX_DENSE_ENTRIES = 50_000
"""Number of entries up to which a matrix is dense: products of small sparse ones take longer."""

MAX_STEPS = 40
"""Maximum number of Newton steps."""

MIN_STEP = 1e-3
"""Fraction of a Newton step below which the method fails."""

MAX_POOR_STEPS = 2
"""Number of steps that hardly reduce the gap or the residuals after which the method ends."""

POOR_FRACTION = 0.9
"""Such a step leaves more than this fraction of them."""

STEP_FRACTION = 0.99
"""Fraction of the way to the boundary."""

GAP_FRACTION = 0.03
"""The gap at the end, over that of the goal."""

DEPTH_FRACTION = 0.01
"""The loss by multipliers in the interior of the dual cones, over the gap of the goal."""

MAX_RESIDUAL = 1e-9
"""Largest residual of reduced costs at the end, over the largest cost. Refined multipliers have far smaller ones."""

MIN_MULTIPLIER = 1e-13
"""Smallest multiplier of an exponent, over the largest cost: smaller ones are lost in rounding errors."""

MULTIPLIER_FRACTION = 0.03
"""Smallest multiplier of an exponent, over its part of this loss, if that is less."""

REGULARIZATIONS = (1e-8, 1e-4)
"""Multiples of the unit matrix in the Newton matrix, over the largest curvature: one, and one times the residual."""

REFINEMENT_REGULARIZATION = 1e-14
"""Relative change of the diagonal of the matrix that refines multipliers."""

N_REFINEMENTS = 2
"""Number of steps that do so."""

EXCESS_FRACTION = 0.1
"""Fraction of the violation of a constraint below which its slack is not reduced."""

MIN_DECREASE = 0.01
"""Fraction of the decrease of the residuals to first order that a step needs."""

MAX_INCREASE = 10.0
"""Residuals may also be the gap over the largest cost, at most 1, times this number."""

BACKTRACKING_FACTOR = 0.6
"""Factor by which other steps are shorter."""


@dataclass(frozen=True, eq=False)
class _Point:
    """A point with slacks and multipliers of the constraints, sums first, and what the functions are there.

    Attributes
    ----------
    x, slacks, multipliers
        The numbers.
    values
        The constraints, which are at most 0 at feasible points.
    softmax
        The share of each exponential in its sum.
    residual, excess
        The reduced costs, and by how much slacks are too large.
    size
        The largest of these, those of costs over the largest cost.
    """

    x: Float[Array, " n"]
    slacks: Float[Array, " m"]
    multipliers: Float[Array, " m"]
    values: Float[Array, " m"]
    softmax: Float[Array, " k"]
    residual: Float[Array, " n"]
    excess: Float[Array, " m"]
    size: float

    @property
    def gap(self) -> float:
        """The sum of the products of slacks and multipliers."""
        return float(self.multipliers @ self.slacks)


def _is_central(point: _Point, targets: Float[Array, " m"]) -> bool:
    """Return whether a point is near the central path and its gap is small."""
    is_feasible = (np.abs(point.excess) <= 0.5 * point.slacks).all()
    return bool(is_feasible and (point.multipliers * point.slacks <= 3 * targets).all())


class GeometricProgram:
    """min <c, x> over L x <= l and log(sum exp(y)) <= 0 for y = A x + b, one sum for each row with variables t.

    Parameters
    ----------
    form
        The form. Each variable t stands alone in the last row of its cone, and in a row of variables t.
    columns, sums
        The variables t, and the number of the sum of each.
    is_sum
        The rows that are sums.
    weights
        The coefficient of each t over the right side of its row.
    """

    def __init__(
        self,
        form: ConeForm,
        columns: Int[Array, " k"],
        sums: Int[Array, " k"],
        is_sum: Bool[Array, " m"],
        weights: Float[Array, " k"],
    ) -> None:
        group = form.groups[0]
        self._form, self._columns, self._sums, self._is_sum, self._weights = form, columns, sums, is_sum, weights
        self._is_kept = np.ones(form.n, dtype=bool)
        self._is_kept[columns] = False
        self._c = form.c[self._is_kept]
        self._scale = float(np.abs(self._c).max())
        blocks = [rows_of(group.G, np.arange(len(group.h)) % 3 == 0), rows_of(form.R, ~is_sum)]
        self._sparse_rows = columns_of(joined_rows(blocks, form.n), self._is_kept)
        is_small = self._sparse_rows.shape[0] * len(self._c) <= MAX_DENSE_ENTRIES
        self._rows = self._sparse_rows.toarray() if is_small else self._sparse_rows
        self._transposed = self._rows.T if is_small else self._rows.T.tocsr()
        self._offsets = np.concatenate([group.h[::3] + np.log(weights), -form.row_upper[~is_sum]])
        self._counts = np.bincount(sums)
        self._starts = np.cumsum(self._counts) - self._counts
        self._order = np.argsort(sums, kind="stable")

    def answer(self, goal: float) -> ConicAnswer | None:
        """Return an answer near the end of the central path; None if the method fails.

        Parameters
        ----------
        goal
            The scaled gap of the goal. That of the answer is smaller.
        """
        with solver_call(), np.errstate(all="ignore"):
            point = self._start()
            n_poor_steps = 0
            for _ in range(MAX_STEPS):
                targets = self._targets(point, goal)
                is_exact = np.abs(point.residual).max() <= MAX_RESIDUAL * self._scale
                if (is_exact or n_poor_steps > MAX_POOR_STEPS) and _is_central(point, targets):
                    return self._lifted(point, goal)
                following = None if n_poor_steps > MAX_POOR_STEPS else self._next(point, targets)
                if following is None:
                    return None
                has_poor_gap = following.gap > POOR_FRACTION * point.gap
                is_poor = has_poor_gap and following.size > POOR_FRACTION * point.size
                n_poor_steps = n_poor_steps + 1 if is_poor else 0
                point = following
        return None

    def _start(self) -> _Point:
        """Return the origin with slacks of at least 1 and equal products of slacks and multipliers."""
        count = len(self._counts) + len(self._offsets) - len(self._sums)
        slacks = np.maximum(1.0, -self._point(np.zeros(len(self._c)), np.ones(count), np.ones(count)).values)
        return self._point(np.zeros(len(self._c)), slacks, self._scale / slacks)

    def _point(self, x: Array, slacks: Array, multipliers: Array) -> _Point:
        k, sums = len(self._sums), self._sums
        rows = self._rows @ x + self._offsets
        largest = np.maximum.reduceat(rows[:k][self._order], self._starts)
        exponentials = np.exp(rows[:k] - largest[sums])
        totals = np.bincount(sums, exponentials)
        values = np.concatenate([largest + np.log(totals), rows[k:]])
        softmax, excess = exponentials / totals[sums], values + slacks
        residual = self._c + self._slopes(softmax, multipliers)
        sizes = np.abs(excess)
        counts = np.where(sizes > EXCESS_FRACTION * slacks, sizes, 0.0)
        size = max(float(np.abs(residual).max()) / self._scale, float(counts.max()))
        return _Point(x, slacks, multipliers, values, softmax, residual, excess, size)

    def _slopes(self, softmax: Float[Array, " k"], weights: Float[Array, " m"]) -> Float[Array, " n"]:
        """Return the sum of the slopes of the constraints with some weights."""
        n_sums = len(self._counts)
        return self._transposed @ np.concatenate([softmax * weights[self._sums], weights[n_sums:]])

    def _changes(self, point: _Point, step: Float[Array, " n"]) -> Float[Array, " m"]:
        """Return the changes of the constraints by a step, to first order."""
        changes, k = self._rows @ step, len(self._sums)
        return np.concatenate([np.bincount(self._sums, point.softmax * changes[:k]), changes[k:]])

    def _margins(self, x: Array) -> Float[Array, " rows"]:
        """Return by how much rounding errors may change exponents and rows, with a surplus for exponentials."""
        k = len(self._sums)
        margins = UNIT * (2.0 * self._widths + 8.0) * (self._sizes @ np.abs(x) + np.abs(self._offsets))
        margins[:k] += 2 * EXPONENTIAL_ERROR
        return margins

    def _floors(self, point: _Point) -> Float[Array, " m"]:
        """Return slacks that are large enough to be proved."""
        margins, k = self._margins(point.x), len(self._sums)
        sums = np.bincount(self._sums, point.softmax * margins[:k]) + UNIT * (self._counts + 8.0)
        return 2 * np.concatenate([sums, margins[k:]])

    def _targets(self, point: _Point, goal: float) -> Float[Array, " m"]:
        """Return the products of slacks and multipliers at the end."""
        gap = GAP_FRACTION * goal * self._value_size(point)
        return np.maximum(gap / len(point.slacks), point.multipliers * self._floors(point))

    def _value_size(self, point: _Point) -> float:
        return max(1.0, abs(float(self._c @ point.x) + self._form.offset))

    @cached_property
    def _widths(self) -> Int[Array, " rows"]:
        return np.diff(self._sparse_rows.indptr)

    @cached_property
    def _squares(self) -> Float[Array, " k"]:
        return row_norms(self._sparse_rows)[: len(self._sums)] ** 2

    @cached_property
    def _sizes(self) -> Any:
        return np.abs(self._rows) if isinstance(self._rows, np.ndarray) else absolute(self._rows)

    @cached_property
    def _pairs(self) -> tuple[Int[Array, " pairs"], Int[Array, " pairs"], Float[Array, " pairs"]]:
        """The place in the Newton matrix, the row and the product of each two coefficients of a row."""
        C, entries = self._sparse_rows, entry_rows(self._sparse_rows)
        widths = self._widths[entries]
        first = np.repeat(np.arange(C.nnz), widths)
        starts = C.indptr[entries] - np.cumsum(widths) + widths
        second = np.arange(len(first)) + np.repeat(starts, widths)
        return C.indices[first] * C.shape[1] + C.indices[second], entries[first], C.data[first] * C.data[second]

    @cached_property
    def _entries(self) -> tuple[Int[Array, " nnz"], Int[Array, " nnz"], Float[Array, " nnz"]]:
        """The place in the slopes of the sums, the exponent and the value of each coefficient of an exponent."""
        C = self._sparse_rows
        count = C.indptr[len(self._sums)]
        exponents = entry_rows(C)[:count]
        return self._sums[exponents] * len(self._c) + C.indices[:count], exponents, C.data[:count]

    def _factor(self, point: _Point, ratios: Float[Array, " m"]) -> Any:
        """Return Cholesky's factor of the Newton matrix; None if it has none."""
        n, n_sums = len(self._c), len(self._counts)
        curvatures = np.concatenate([point.softmax * point.multipliers[self._sums], ratios[n_sums:]])
        places, rows, products = self._pairs
        matrix = np.bincount(places, products * curvatures[rows], n * n).reshape(n, n)
        size = float(curvatures[: len(self._sums)] @ self._squares) / n
        places, exponents, values = self._entries
        slopes = np.bincount(places, values * point.softmax[exponents], n_sums * n).reshape(n_sums, n)
        matrix += slopes.T @ ((ratios - point.multipliers)[:n_sums, None] * slopes)
        residual = float(np.abs(point.residual).max()) / self._scale
        matrix.flat[:: n + 1] += size * (REGULARIZATIONS[0] + REGULARIZATIONS[1] * residual)
        factor, status = LAPACK.dpotrf(matrix, lower=1)
        return factor if status == 0 else None

    def _next(self, point: _Point, targets: Array) -> _Point | None:
        """Return the point after a Newton step; None if there is none."""
        ratios = point.multipliers / point.slacks
        factor = self._factor(point, ratios)
        if factor is None:
            return None

        def direction(products: Any) -> tuple[Array, Array, Array]:
            changes = products / point.slacks - point.multipliers
            slopes = self._slopes(point.softmax, changes + ratios * point.excess)
            step, _ = LAPACK.dpotrs(factor, -point.residual - slopes, lower=1)
            slack_step = -point.excess - self._changes(point, step)
            return step, slack_step, changes - ratios * slack_step

        def fraction(slack_step: Array, multiplier_step: Array) -> float:
            relative = np.concatenate([slack_step / point.slacks, multiplier_step / point.multipliers])
            return 1 / max(1.0, -float(relative.min()))

        _, slack_step, multiplier_step = direction(0.0)
        a, gap = fraction(slack_step, multiplier_step), point.gap
        next_gap = float((point.multipliers + a * multiplier_step) @ (point.slacks + a * slack_step))
        targets = np.maximum(targets, (next_gap / gap) ** 3 * gap / len(targets))
        targets = np.maximum(targets, EXCESS_FRACTION * point.multipliers * np.abs(point.excess))
        step, slack_step, multiplier_step = direction(targets - a * slack_step * multiplier_step)
        a = min(1.0, STEP_FRACTION * fraction(slack_step, multiplier_step))
        while a > MIN_STEP:
            following = self._point(
                point.x + a * step, point.slacks + a * slack_step, point.multipliers + a * multiplier_step
            )
            limit = MAX_INCREASE * min(1.0, following.gap / self._scale)
            if following.size <= max((1 - MIN_DECREASE * a) * point.size, limit):
                return following
            a *= BACKTRACKING_FACTOR
        return None

    def _lifted(self, point: _Point, goal: float) -> ConicAnswer:
        """Return the point and the multipliers of the form."""
        form, sums, k = self._form, self._sums, len(self._sums)
        exponentials = np.exp((self._rows @ point.x + self._offsets)[:k]) / self._weights
        x, rows = np.zeros(form.n), np.zeros(len(form.row_upper))
        x[self._is_kept], x[self._columns] = point.x, exponentials * (1 + self._margins(point.x)[:k])
        n_sums = len(self._counts)
        totals = np.exp(point.values[:n_sums])
        loss = DEPTH_FRACTION * goal * self._value_size(point) / k
        floor = min(MIN_MULTIPLIER * self._scale, MULTIPLIER_FRACTION * loss)
        firsts = np.maximum(point.multipliers[sums] * point.softmax, floor)
        firsts, linear = np.split(self._refined(np.append(firsts, point.multipliers[n_sums:])), [k])
        rows[self._is_sum] = -point.multipliers[:n_sums] / (totals * form.row_upper[self._is_sum])
        rows[~self._is_sum] = -linear
        lasts = (point.multipliers[:n_sums] / totals)[sums] * self._weights
        middles = firsts * (np.log(firsts / lasts) - 1) + np.maximum(loss, DEPTH_FRACTION * goal * firsts)
        return ConicAnswer(x, np.zeros(0), rows, [np.stack([-firsts, middles, lasts], axis=1).ravel()], "Solved")

    def _refined(self, multipliers: Float[Array, " rows"]) -> Float[Array, " rows"]:
        """Return multipliers of exponents and rows with nearly exact reduced costs: all change by small fractions."""
        n = len(self._c)
        places, rows, products = self._pairs
        matrix = np.bincount(places, products * multipliers[rows], n * n).reshape(n, n)
        matrix.flat[:: n + 1] *= 1 + REFINEMENT_REGULARIZATION
        factor, _ = LAPACK.dpotrf(matrix, lower=1)
        for _ in range(N_REFINEMENTS):
            step, _ = LAPACK.dpotrs(factor, self._c + self._transposed @ multipliers, lower=1)
            fractions = self._rows @ step
            if not (np.abs(fractions) < 0.5).all():
                return multipliers
            multipliers = multipliers * (1 - fractions)
        return multipliers


def geometric_program(form: ConeForm) -> GeometricProgram | None:
    """Return the geometric program that a form is; None if it is none, or has many variables x."""
    kinds = [group.kind for group in form.groups]
    if form.P is not None or len(form.e) or kinds != ["exponential"] or not form.c.any():
        return None
    if any(np.isfinite(side).any() for side in (form.lower, form.upper, form.row_lower)):
        return None
    G, h, R = form.groups[0].G, form.groups[0].h, form.R.tocsc()
    counts = np.diff(G.indptr)
    if counts[1::3].any() or (counts[2::3] != 1).any() or (h[1::3] != 1).any() or h[2::3].any():
        return None
    columns = G.indices[G.indptr[2:-1:3]]
    starts, is_once = R.indptr[columns], np.bincount(G.indices, minlength=form.n)[columns] == 1
    is_alone = is_once & (R.indptr[columns + 1] == starts + 1) & (form.c[columns] == 0)
    if form.n - len(columns) > MAX_SIZE or not (is_alone & (G.data[G.indptr[2:-1:3]] == 1)).all():
        return None
    rows, sides = R.indices[starts], form.row_upper[R.indices[starts]]
    n_terms = np.bincount(rows, minlength=R.shape[0])
    is_sum, widths = n_terms > 0, np.diff(form.R.indptr)
    has_terms_only = (n_terms == widths)[is_sum].all() and np.isfinite(form.row_upper).all()
    if not has_terms_only or not (R.data[starts] > 0).all() or not (sides > 0).all():
        return None
    n_pairs = float((counts[::3] ** 2.0).sum() + (widths[~is_sum] ** 2.0).sum())
    if max(n_pairs, float(is_sum.sum()) * MAX_SIZE) > MAX_PAIRS:
        return None
    return GeometricProgram(form, columns, (np.cumsum(is_sum) - 1)[rows], is_sum, R.data[starts] / sides)
