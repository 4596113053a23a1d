"""Points of the interior point method and their Newton steps, with d eliminated.

Linearized, stationarity in d gives Dd = theta (q - margins(Dv) - Dbeta), theta = 1 / (f'' + zeta/below + psi/above).
This leaves a dense system in (Dv, Dbeta) with the matrix

    [ A U' diag(theta) U A' + diag(s / v)   A U' theta ]
    [            theta' U A'                 sum theta ]

which is positive definite. If Q is positive definite, too, x is eliminated and adds B Q^-1 B' to the first block.
Otherwise Q = 0, and the few columns of B border the system.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import get_lapack_funcs

from boostopt._utils.array_types import Array, Float
from boostopt.backends.interior.interior_form import InteriorProblem

REGULARIZATIONS = (1e-15, 1e-13, 1e-11)
"""Numbers that are added to the diagonal of the scaled system; the first one that allows a factorization is used.

Equal or opposite columns make the system almost singular, because only their slacks distinguish them. Larger numbers
would hide the slacks (opposite edges between narrow bounds, weights of a million).
"""

solve_factored: Any = get_lapack_funcs("potrs", dtype=np.float64)
"""LAPACK's routine, called directly: SciPy's function around it doubles the time."""


@dataclass(frozen=True, eq=False)
class ComplementarityPairs:
    """One number for each complementary pair: (below, zeta), (above, psi), (s, v)."""

    below: Float[Array, " n"]
    above: Float[Array, " n"]
    rows: Float[Array, " k"]

    def __add__(self, addend: ComplementarityPairs) -> ComplementarityPairs:
        return ComplementarityPairs(self.below + addend.below, self.above + addend.above, self.rows + addend.rows)

    @property
    def total(self) -> float:
        """The sum of all products."""
        return float(self.below.sum() + self.above.sum() + self.rows.sum())


@dataclass(frozen=True, eq=False)
class Iterate:
    """An iterate, or a direction: the distances of the weights from their box bounds, and all multipliers."""

    below: Float[Array, " n"]
    above: Float[Array, " n"]
    zeta: Float[Array, " n"]
    psi: Float[Array, " n"]
    s: Float[Array, " k"]
    v: Float[Array, " k"]
    x: Float[Array, " j"]
    beta: float
    m: Float[Array, " n"]
    """The margins of A'v, updated along with v."""

    def stepped(self, step: Iterate, primal: float, dual: float) -> Iterate:
        """Return the point after a step, of different lengths on the two sides."""
        return Iterate(
            self.below + primal * step.below,
            self.above + primal * step.above,
            self.zeta + dual * step.zeta,
            self.psi + dual * step.psi,
            self.s + primal * step.s,
            self.v + dual * step.v,
            self.x + primal * step.x,
            self.beta + dual * step.beta,
            self.m + dual * step.m,
        )

    @property
    def products(self) -> ComplementarityPairs:
        """The complementary products; for a step, the second-order terms that the linearization drops."""
        return ComplementarityPairs(self.below * self.zeta, self.above * self.psi, self.s * self.v)

    def max_step_lengths(self, step: Iterate, inequality: Array) -> tuple[float, float]:
        """Return the lengths, at most 1, after which the first primal and the first dual variable becomes 0."""
        primal = ((self.below, step.below), (self.above, step.above), (self.s[inequality], step.s[inequality]))
        dual = ((self.zeta, step.zeta), (self.psi, step.psi), (self.v[inequality], step.v[inequality]))
        return _max_step_length(primal), _max_step_length(dual)


def _max_step_length(parts: Sequence[tuple[Array, Array]]) -> float:
    steepest = min(float((change / value).min(initial=0.0)) for value, change in parts)
    return 1.0 if steepest >= -1.0 else -1.0 / steepest


@dataclass(frozen=True, eq=False)
class Residuals:
    """The violations of the optimality conditions at a point, without complementarity."""

    stationarity: Float[Array, " n"]
    rows: Float[Array, " k"]
    weight_sum: float
    x: Float[Array, " j"]
    size: float
    """Scale of the objective, at least 1."""

    @classmethod
    def from_point(cls, problem: InteriorProblem, point: Iterate, d: Float[Array, " n"]) -> Residuals:
        rows, slopes = problem.rows, problem.slopes(d)
        return cls(
            slopes + problem.edge_slope_margins + point.m + point.beta - point.zeta + point.psi,
            problem.row_values_with_fixed(d) + rows.B @ point.x + point.s - rows.b,
            float(d.sum()) - problem.total if problem.f.on_simplex else 0.0,
            rows.g + rows.Q @ point.x + rows.B.T @ point.v,
            problem.size(d, slopes, point.x),
        )


class NewtonSystem:
    """The Newton system at a point, factored once and solved for several right-hand sides."""

    problem: InteriorProblem
    point: Iterate
    residuals: Residuals
    inverse_below: Array
    per_above: Array
    zeta_over_below: Array
    from_above: Array
    k: int

    def __init__(self, problem: InteriorProblem, point: Iterate, d: Float[Array, " n"], residuals: Residuals) -> None:
        self.problem, self.point, self.residuals = problem, point, residuals
        self.inverse_below, self.per_above = 1.0 / point.below, 1.0 / point.above
        self.zeta_over_below, self.from_above = point.zeta * self.inverse_below, point.psi * self.per_above
        self.theta: Array = 1.0 / (problem.curvatures(d) + self.zeta_over_below + self.from_above)
        rows, k = problem.rows, len(point.v)
        self.k, size = k, k + int(problem.f.on_simplex)
        self.inverse_v: Array = np.divide(1.0, point.v, out=np.zeros(k), where=problem.inequality)
        matrix = np.zeros((size, size))
        matrix[:k, :k] = problem.gram(self.theta)
        matrix[range(k), range(k)] += point.s * self.inverse_v
        if problem.has_quadratic:
            matrix[:k, :k] += problem.B_Q_inverse @ rows.B.T
        if problem.f.on_simplex:
            matrix[k, :k] = matrix[:k, k] = problem.row_values(self.theta)
            matrix[k, k] = self.theta.sum()
        diagonal = matrix.diagonal()
        # An equation may consist of zeros only.
        self.scale: Array = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, diagonal.max(initial=1.0)))
        matrix *= self.scale[:, np.newaxis] * self.scale
        self.factor: Any = _regularized_cholesky(matrix)
        self.border: Array = np.zeros((size, 0 if problem.has_quadratic else len(point.x)))
        if not problem.has_quadratic:
            self.border[:k] = -rows.B
        self.bordered: Array = self._solve(self.border)
        self.inner: Array = np.linalg.inv(self.border.T @ self.bordered)  # a row for each variable, mostly one or none

    def _solve(self, right: Array) -> Array:
        if not right.size:
            return right
        scale = self.scale if right.ndim == 1 else self.scale[:, np.newaxis]
        solution, _ = solve_factored(self.factor.T, scale * right)  # LAPACK stores by columns: lower is upper
        return scale * solution

    def step(self, target_change: ComplementarityPairs) -> Iterate:
        """Return the step after which the linearized complementary products have changed by `target_change`."""
        problem, point, residuals, k = self.problem, self.point, self.residuals, self.k
        from_below, from_above = target_change.below * self.inverse_below, target_change.above * self.per_above
        q = from_below - from_above - residuals.stationarity
        weighted = self.theta * q
        right = np.empty(len(self.scale))
        right[:k] = problem.row_values(weighted) + residuals.rows + target_change.rows * self.inverse_v
        right[k:] = weighted.sum() + residuals.weight_sum
        if problem.has_quadratic:
            right[:k] -= problem.B_Q_inverse @ residuals.x
            y = self._solve(right)
            x = -problem.B_Q_inverse.T @ y[:k] - problem.inverse @ residuals.x
        else:
            y = self._solve(right)
            x = self.inner @ (self.border.T @ y - residuals.x)
            y -= self.bordered @ x
        v, beta = y[:k], float(y[k:].sum())
        m = problem.margins(v)
        d = weighted - self.theta * (m + beta)
        return Iterate(
            d,
            -d,
            from_below - self.zeta_over_below * d,
            from_above + self.from_above * d,
            (target_change.rows - point.s * v) * self.inverse_v,
            v,
            x,
            beta,
            m,
        )


def _regularized_cholesky(matrix: Float[Array, "k k"]) -> Float[Array, "k k"]:
    """Return the Cholesky factor of a matrix of diagonal 1, or of one very near it."""
    diagonal = range(len(matrix))
    for regularized in REGULARIZATIONS[:-1]:
        matrix[diagonal, diagonal] = 1.0 + regularized
        try:
            # NumPy's function: SciPy's has its own threads, and takes 40 ms while NumPy's threads are awake.
            return np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            continue
    matrix[diagonal, diagonal] = 1.0 + REGULARIZATIONS[-1]
    return np.linalg.cholesky(matrix)
