"""Points of the interior point method and their Newton steps, with d eliminated.

Linearized, stationarity in d gives Dd = theta (q - margins(Dv) - Dbeta), theta = 1 / (f'' + zeta/lower + psi/upper).
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
    """A number for each complementary pair: (lower_distance, zeta), (upper_distance, psi), (s, v)."""

    lower: Float[Array, " n"]
    upper: Float[Array, " n"]
    rows: Float[Array, " k"]

    def __add__(self, addend: ComplementarityPairs) -> ComplementarityPairs:
        return ComplementarityPairs(self.lower + addend.lower, self.upper + addend.upper, self.rows + addend.rows)

    @property
    def total(self) -> float:
        """The sum of all products."""
        return float(self.lower.sum() + self.upper.sum() + self.rows.sum())


@dataclass(frozen=True, eq=False)
class Iterate:
    """An iterate or a step: the distances of the weights to their box bounds, and all multipliers.

    Attributes
    ----------
    lower_distance, upper_distance
        d - lower and upper - d.
    zeta, psi
        The multipliers of the box bounds.
    s, v
        The slacks and the multipliers of the rows.
    x
        The further variables of G.
    beta
        The multiplier of sum d = 1.
    m
        The margins of A'v, updated along with v.
    """

    lower_distance: Float[Array, " n"]
    upper_distance: Float[Array, " n"]
    zeta: Float[Array, " n"]
    psi: Float[Array, " n"]
    s: Float[Array, " k"]
    v: Float[Array, " k"]
    x: Float[Array, " j"]
    beta: float
    m: Float[Array, " n"]

    def add_step(self, step: Iterate, primal: float, dual: float) -> Iterate:
        """Return the point after a step, with different lengths for primal and dual variables."""
        return Iterate(
            self.lower_distance + primal * step.lower_distance,
            self.upper_distance + primal * step.upper_distance,
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
        return ComplementarityPairs(self.lower_distance * self.zeta, self.upper_distance * self.psi, self.s * self.v)

    def max_step_lengths(self, step: Iterate, inequality: Array) -> tuple[float, float]:
        """Return the lengths, at most 1, after which the first primal and the first dual variable becomes 0."""
        primal = (
            (self.lower_distance, step.lower_distance),
            (self.upper_distance, step.upper_distance),
            (self.s[inequality], step.s[inequality]),
        )
        dual = ((self.zeta, step.zeta), (self.psi, step.psi), (self.v[inequality], step.v[inequality]))
        return _max_step_length(primal), _max_step_length(dual)


def _max_step_length(parts: Sequence[tuple[Array, Array]]) -> float:
    """Return the length, at most 1, after which the first value becomes 0, for pairs of values and changes."""
    steepest = min(float((change / value).min(initial=0.0)) for value, change in parts)
    return 1.0 if steepest >= -1.0 else -1.0 / steepest


@dataclass(frozen=True, eq=False)
class Residuals:
    """The residuals of the optimality conditions at a point, without complementarity."""

    stationarity: Float[Array, " n"]
    rows: Float[Array, " k"]
    weight_sum: float
    x: Float[Array, " j"]
    size: float
    """Scale of the objective, at least 1."""

    @classmethod
    def from_point(cls, problem: InteriorProblem, point: Iterate, d: Float[Array, " n"]) -> Residuals:
        """Return the residuals at a point with the weights d."""
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
    inverse_lower_distance: Array
    inverse_upper_distance: Array
    zeta_over_lower: Array
    psi_over_upper: Array
    k: int

    def __init__(self, problem: InteriorProblem, point: Iterate, d: Float[Array, " n"], residuals: Residuals) -> None:
        self.problem, self.point, self.residuals = problem, point, residuals
        self.inverse_lower_distance, self.inverse_upper_distance = (
            1.0 / point.lower_distance,
            1.0 / point.upper_distance,
        )
        self.zeta_over_lower, self.psi_over_upper = (
            point.zeta * self.inverse_lower_distance,
            point.psi * self.inverse_upper_distance,
        )
        self.theta: Array = 1.0 / (problem.curvatures(d) + self.zeta_over_lower + self.psi_over_upper)
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
        self.border_solution: Array = self._solve(self.border)
        self.border_inverse: Array = np.linalg.inv(
            self.border.T @ self.border_solution
        )  # a row for each variable, mostly one or none

    def _solve(self, right_side: Array) -> Array:
        """Return the solution of the factored system for one or several right-hand sides."""
        if not right_side.size:
            return right_side
        scale = self.scale if right_side.ndim == 1 else self.scale[:, np.newaxis]
        solution, _ = solve_factored(self.factor.T, scale * right_side)  # LAPACK stores by columns: lower is upper
        return scale * solution

    def step(self, target_change: ComplementarityPairs) -> Iterate:
        """Return the step after which the linearized complementary products have changed by `target_change`."""
        problem, point, residuals, k = self.problem, self.point, self.residuals, self.k
        lower_change, upper_change = (
            target_change.lower * self.inverse_lower_distance,
            target_change.upper * self.inverse_upper_distance,
        )
        q = lower_change - upper_change - residuals.stationarity
        unconstrained_step = self.theta * q
        right_side = np.empty(len(self.scale))
        right_side[:k] = problem.row_values(unconstrained_step) + residuals.rows + target_change.rows * self.inverse_v
        right_side[k:] = unconstrained_step.sum() + residuals.weight_sum
        if problem.has_quadratic:
            right_side[:k] -= problem.B_Q_inverse @ residuals.x
            y = self._solve(right_side)
            x = -problem.B_Q_inverse.T @ y[:k] - problem.inverse @ residuals.x
        else:
            y = self._solve(right_side)
            x = self.border_inverse @ (self.border.T @ y - residuals.x)
            y -= self.border_solution @ x
        v, beta = y[:k], float(y[k:].sum())
        m = problem.margins(v)
        d = unconstrained_step - self.theta * (m + beta)
        return Iterate(
            d,
            -d,
            lower_change - self.zeta_over_lower * d,
            upper_change + self.psi_over_upper * d,
            (target_change.rows - point.s * v) * self.inverse_v,
            v,
            x,
            beta,
            m,
        )


def _regularized_cholesky(matrix: Float[Array, "k k"]) -> Float[Array, "k k"]:
    """Return the Cholesky factor of a matrix with diagonal 1, after a small increase of the diagonal if necessary."""
    diagonal = range(len(matrix))
    for regularization in REGULARIZATIONS[:-1]:
        matrix[diagonal, diagonal] = 1.0 + regularization
        try:
            # NumPy's function: SciPy's has its own threads, and takes 40 ms while NumPy's threads are awake.
            return np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            continue
    matrix[diagonal, diagonal] = 1.0 + REGULARIZATIONS[-1]
    return np.linalg.cholesky(matrix)
