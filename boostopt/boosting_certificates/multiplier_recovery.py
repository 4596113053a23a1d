"""Hypothesis weights from example weights: the multipliers from the active sets of the KKT system.

At the optimum, -Uw = F'(d) + beta + psi - zeta. psi is nonzero only where d is at its cap, zeta only where d is 0, and
w only on the hypotheses that complementary slackness allows. For given d, these are linear equations and inequalities
in (w, beta),

    (Uw)_n + beta  = -F'_n    where 0 < d_n < cap,
    (Uw)_n + beta <= -F'_n    where d_n is at its cap (psi_n is the slack),
    (Uw)_n + beta >= -F'_n    where d_n is 0 (zeta_n is the slack; for an entropy F' is taken at the tolerance),

"nnls" solves all of them together, with w >= 0, in the sense of least squares. With the equations alone, the error is
larger by orders of magnitude. "least_squares" is the method of the papers: the equations alone, without a sign of w.
With an entropy, it treats every weight that is not at its cap as inside [Glocer 2009, 3.1.2, 3.2.4, appendix A].

The recovery is a diagnostic. The accuracy of d limits which constraints count as active, small weights of an entropy
are noise, and the multipliers need not be unique. The certificate says how good the recovered w is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from boostopt._utils.array_types import Array, Bool, ExampleVector, Float, HypothesisVector
from boostopt._utils.formatting import html_table
from boostopt._utils.immutable_arrays import ImmutableArrays
from boostopt._utils.validation import check_choice, check_number
from boostopt.boosting_certificates.certificate import Certificate
from boostopt.boosting_certificates.primal_dual_certifier import Certifier
from boostopt.functions.edge_functions.base import Active, EdgeFunction
from boostopt.functions.regularizers.base import Regularizer, StationarityConditions
from boostopt.rows.margin_matrix import MarginMatrix

Method = Literal["nnls", "least_squares"]
METHODS: tuple[Method, ...] = ("nnls", "least_squares")

ACTIVE_TOLERANCES = (1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
"""The tolerances for "active" in a sweep."""

USUAL_TOLERANCE = 1e-6
"""The tolerance for "active" unless another one proves a much smaller gap."""

MAX_GAP_RATIO = 0.5
"""The largest ratio of gaps with which another tolerance takes the place of the usual one."""

MIN_SLACKS = 4.0
"""The smallest gap, in rounding allowances, with which other tolerances are tried."""

SUM_EQUATION_WEIGHT = 1e3
"""The weight of equations for sums, such as sum w = 1, relative to other equations."""

AMBIGUITY_FACTOR = 30.0
"""The factor around the tolerance within which it is undecided whether a constraint is active."""

MAX_ACTIVE_SET_UPDATES = 100
"""The largest number of changes of the set of violated inequalities."""


@dataclass(frozen=True, repr=False)
class Recovery(ImmutableArrays):
    """The multipliers that follow from d, with their accuracy.

    Attributes
    ----------
    method, active_tol
        The method, and the tolerance for "active". A weight is active if its distance to 0 or to its cap, relative to
        the cap, is at most the tolerance. An edge is active if its distance to the largest edge is at most the
        tolerance.
    w
        The hypothesis weights, shape (t,), as the solution of the equations (not yet feasible).
    beta
        The multiplier of sum d = 1; 0 without the simplex.
    psi, zeta
        The multipliers of the cap and of d >= 0, shape (N,).
    residual
        The largest violation of the conditions by (w, beta).
    at_cap, at_zero
        The examples at their cap and at 0, as masks of shape (N,).
    active_edges
        The hypotheses with an active edge, as a mask of shape (t,).
    ambiguous_examples, doubtful_hypotheses
        The indices of the examples and hypotheses that a tolerance 30 times larger or smaller would decide differently.
    rank, unknowns
        The rank of the equations, and the number of multipliers that they must determine.
    certificate
        The certificate of d and the recovered w.
    projection_distance
        The largest change of an example weight that made d feasible; inf if d was not finite.
    """

    method: Method
    active_tol: float
    w: HypothesisVector
    beta: float
    psi: ExampleVector
    zeta: ExampleVector
    residual: float
    at_cap: Bool[Array, " N"]
    at_zero: Bool[Array, " N"]
    active_edges: Bool[Array, " t"]
    ambiguous_examples: Array
    doubtful_hypotheses: Array
    rank: int
    unknowns: int
    certificate: Certificate
    projection_distance: float = 0.0

    @property
    def unique(self) -> bool:
        """True if the equations determine the multipliers uniquely."""
        return self.rank == self.unknowns and not self.certificate.infeasible

    def __repr__(self) -> str:
        return (
            f"Recovery({self.method}, active_tol={self.active_tol:g}, gap={self.certificate.gap:.2e}, "
            f"residual={self.residual:.2e}, caps={int(self.at_cap.sum())}, zeros={int(self.at_zero.sum())}, "
            f"edges={int(self.active_edges.sum())}, rank={self.rank} of {self.unknowns})"
        )

    def _repr_html_(self) -> str:
        head, *lines = str(self).splitlines()
        return html_table(head, [(line.strip(),) for line in lines])

    def __str__(self) -> str:
        """Return the report in words."""
        if self.certificate.infeasible:
            return f"The program is infeasible, so it has no multipliers; w is the proof ({self.certificate!r})."
        N, t = len(self.psi), len(self.w)
        lines = [
            f"Multipliers by {self.method}, active within {self.active_tol:g}",
            f"  examples: {int(self.at_cap.sum())} of {N} at their cap, {int(self.at_zero.sum())} at 0",
            f"  hypotheses: {int(self.active_edges.sum())} of {t} with an active edge",
            f"  conditions violated by at most {self.residual:.2e}"
            + (": these multipliers prove no optimum" if not self.residual <= self.active_tol else ""),
            f"  equations of rank {self.rank} for {self.unknowns} multipliers: "
            + ("unique" if self.unique else "alone, they do not determine the multipliers"),
        ]
        if len(self.ambiguous_examples) or len(self.doubtful_hypotheses):
            texts = [
                _format_indices("example", self.ambiguous_examples),
                _format_indices("hypothesis", self.doubtful_hypotheses),
            ]
            lines.append(f"  undecided at this accuracy: {'; '.join(filter(None, texts))}")
        if self.projection_distance == np.inf:
            lines.append("  d had numbers that are not finite: another d took its place")
        elif self.projection_distance > self.active_tol:
            lines.append(f"  d was moved by up to {self.projection_distance:.2e} to be feasible")
        condition = (
            " and d(w), not with the given d"
            if self.certificate.d_is == "d(w)" and not self.residual <= self.active_tol
            else ""
        )
        lines.append(f"  certified gap with these w{condition}: {self.certificate.gap:.2e}")
        return "\n".join(lines)


def recover(
    U: MarginMatrix,
    F: Regularizer,
    G: EdgeFunction,
    d: ExampleVector,
    method: str = "nnls",
    active_tol: float | None = None,
    w: HypothesisVector | None = None,
) -> Recovery:
    """Solve the KKT system for (w, beta, psi, zeta), given d; without a tolerance, the gap chooses one.

    If the given w proves a smaller gap with d, the result has these w and the multipliers that fit them best.

    Raises
    ------
    OptionError
        Unknown method, or a tolerance outside (0, 0.1].
    """
    method = check_choice("method of recovery", method, METHODS)
    if active_tol is not None:
        advice = "It is the tolerance for an active constraint: pass a number such as 1e-6."
        active_tol = check_number("active_tol", active_tol, "lie in (0, 0.1]", lambda tol: 0.0 < tol <= 0.1, advice)
    feasible_d = F.project(d)
    certifier = Certifier(U, F, G, feasible_d)
    tolerances = (USUAL_TOLERANCE if active_tol is None else active_tol,)
    result = _recover_within(certifier, feasible_d, method, tolerances)
    if active_tol is None and result.certificate.gap > MIN_SLACKS * result.certificate.slack:
        other_tolerances = [tolerance for tolerance in ACTIVE_TOLERANCES if tolerance != USUAL_TOLERANCE]
        best = _recover_within(certifier, feasible_d, method, other_tolerances)
        result = best if best.certificate.gap < MAX_GAP_RATIO * result.certificate.gap else result
    if w is not None and (certificate := certifier.certify(w)).gap < result.certificate.gap:
        result = _with_weights(result, _KKTSystem(U, F, G, feasible_d, method, result.active_tol, w), certificate)
    return replace(result, projection_distance=float(np.abs(feasible_d - np.where(np.isfinite(d), d, np.inf)).max()))


def recover_over_tolerances(certifier: Certifier) -> Recovery:
    """Return the recovery with the smallest certified gap over the tolerances of a sweep."""
    return _recover_within(certifier.for_feasible_d, certifier.feasible_d, "nnls", ACTIVE_TOLERANCES)


def _recover_within(
    certifier: Certifier, feasible_d: ExampleVector, method: Method, tolerances: Sequence[float]
) -> Recovery:
    """Return the recovery with the smallest certified gap over some tolerances for "active"."""
    program = certifier.U, certifier.F, certifier.G, feasible_d
    systems = [_KKTSystem(*program, method, active_tol) for active_tol in tolerances]
    best = min(systems, key=lambda system: certifier.certify(system.w).gap)
    return best.recovery(certifier.certify(best.w))


def _with_weights(recovery: Recovery, system: _KKTSystem, certificate: Certificate) -> Recovery:
    """Return a recovery with the weights of a system, and with the multipliers that fit these best."""
    best_fit = system.recovery(certificate)
    return replace(
        recovery,
        w=best_fit.w,
        beta=best_fit.beta,
        psi=best_fit.psi,
        zeta=best_fit.zeta,
        residual=best_fit.residual,
        certificate=certificate,
    )


class _KKTSystem:
    """The equations and inequalities in x (w = offset + directions @ x), beta and the multipliers of the normals."""

    def __init__(
        self,
        U: MarginMatrix,
        F: Regularizer,
        G: EdgeFunction,
        d: ExampleVector,
        method: Method,
        active_tol: float,
        w: HypothesisVector | None = None,
    ) -> None:
        self.U, self.G, self.d, self.active_tol = U, G, d, active_tol
        self.method: Method = method
        # The method of the papers uses slopes down to the smallest weights; a norm is active within the tolerance.
        norm_conditions = F.stationarity(d, active_tol)
        slope_conditions = norm_conditions if method == "nnls" else F.stationarity(d, 1e-300)
        self.conditions = conditions = replace(slope_conditions, normals=norm_conditions.normals)
        self.edges = U.edges(d)
        self.active, self.on_simplex, self.normals = G.active(self.edges, active_tol), F.on_simplex, conditions.normals
        # At 0 the slope of an entropy is -inf: there is no constraint d >= 0 that could have a multiplier.
        self.has_infinite_slope = ~np.isfinite(F.stationarity(conditions.lower, 0.0).gradient)
        upper, lower = conditions.upper, conditions.lower
        # A fixed weight has multipliers of both signs, so its condition always holds.
        self.movable = (upper > lower) & np.isfinite(conditions.gradient)
        self.at_cap = (upper - d <= active_tol * upper) & self.movable
        self.at_zero = (d - lower <= active_tol * upper) & self.movable & ~self.at_cap
        self.strictly_inside = self.movable & ~self.at_cap & ~self.at_zero
        if w is not None:  # beta and the multipliers of the normals are the unknowns that are left
            self.active = replace(self.active, directions=np.zeros((U.t, 0)), offset=w, total=None)
        active = self.active
        columns = [U.margins(direction) for direction in active.directions.T]
        if self.on_simplex:
            columns.append(np.ones(U.N))
        columns += list(conditions.normals.T)
        self.matrix = np.column_stack(columns) if columns else np.zeros((U.N, 0))
        self.rhs = -conditions.gradient - U.margins(active.offset)
        self.num_directions = active.directions.shape[1]
        self.sum_equations = list[tuple[Float[Array, " k"], float]]()
        if conditions.required_inner_product is not None:
            # <d, z - slopes - beta> = total with z = -Uw: one more equation in the unknowns.
            inside_rhs = np.where(d > 0, self.rhs, 0.0)
            self.sum_equations.append((d @ self.matrix, float(d @ inside_rhs) - conditions.required_inner_product))
        if active.total is not None and not active.total_is_upper_bound:
            self.sum_equations.append(
                (np.where(np.arange(self.matrix.shape[1]) < self.num_directions, 1.0, 0.0), active.total)
            )
        self.w, self.beta, self.normal_terms = self._by_nnls() if method == "nnls" else self._by_least_squares()

    def recovery(self, certificate: Certificate) -> Recovery:
        """Return the multipliers with their residual, rank and undecided indices, and a certificate of the weights."""
        slack = -(self.U.margins(self.w) + self.beta + self.normal_terms + self.conditions.gradient)
        psi = np.where(self.at_cap, np.maximum(slack, 0.0), 0.0)
        zeta = np.where(self.at_zero, np.maximum(-slack, 0.0), 0.0)
        rank, unknowns = self._rank()
        small_tol, large_tol = self.active_tol / AMBIGUITY_FACTOR, self.active_tol * AMBIGUITY_FACTOR
        surely_active, possibly_active = self.G.active(self.edges, small_tol), self.G.active(self.edges, large_tol)
        near_bound, very_near_bound = (
            _near_box_bound(self.d, self.conditions, active_tol) for active_tol in (large_tol, small_tol)
        )
        return Recovery(
            method=self.method,
            active_tol=self.active_tol,
            w=self.w,
            beta=self.beta,
            psi=psi,
            zeta=zeta,
            residual=float(np.abs(slack - psi + zeta)[self.movable].max(initial=0.0)),
            at_cap=self.at_cap,
            at_zero=self.at_zero,
            active_edges=_may_have_weight(self.active),
            ambiguous_examples=np.flatnonzero(near_bound & ~very_near_bound),
            doubtful_hypotheses=np.flatnonzero(_may_have_weight(possibly_active) & ~_may_have_weight(surely_active)),
            rank=rank,
            unknowns=unknowns,
            certificate=certificate,
        )

    # The squares of huge slopes overflow, also in SciPy. The residual of the result is measured in any case.
    @np.errstate(all="ignore")
    def _by_nnls(self) -> tuple[HypothesisVector, float, ExampleVector]:
        """Solve by least squares over the equations and the violated inequalities, until these no longer change."""
        lower = np.full(self.matrix.shape[1], -np.inf)
        lower[self.num_directions + self.on_simplex :] = 0.0
        if not self.active.signed:
            lower[: self.num_directions] = 0.0
        best, smallest = np.zeros(self.matrix.shape[1]), np.inf
        rows = self.strictly_inside.copy()
        visited = set[bytes]()
        for _ in range(MAX_ACTIVE_SET_UPDATES):
            x = self._solve(rows, lower)
            error = self.matrix @ x - self.rhs
            violation = np.where(self.strictly_inside, np.abs(error), 0.0)
            violation = np.where(self.at_cap, np.maximum(error, 0.0), violation)
            violation = np.where(self.at_zero, np.maximum(-error, 0.0), violation)
            size = float(np.linalg.norm(violation))
            if size < smallest:
                best, smallest = x, size
            next_rows = self.strictly_inside | (violation > 0.0)
            if next_rows.tobytes() in visited:
                break
            visited.add(next_rows.tobytes())
            rows = next_rows
        return self._unpack(best)

    def _by_least_squares(self) -> tuple[HypothesisVector, float, ExampleVector]:
        """Solve by least squares over the equations of all weights without an active constraint."""
        rows = self.strictly_inside | (self.at_zero & self.has_infinite_slope)
        matrix, rhs = self._append_sum_equations(self.matrix[rows], self.rhs[rows], 1.0)
        return self._unpack(np.linalg.lstsq(matrix, rhs, rcond=None)[0])

    def _rank(self) -> tuple[int, int]:
        """Return the rank of the equations and the number of unknowns."""
        matrix, _ = self._append_sum_equations(self.matrix[self.strictly_inside], self.rhs[self.strictly_inside], 1.0)
        # A hypothesis with a weight of either sign has two columns, but is one unknown.
        n_duplicates = self.num_directions - len(np.unique(np.abs(self.active.directions), axis=1).T)
        return (int(np.linalg.matrix_rank(matrix)) if matrix.size else 0), self.matrix.shape[1] - n_duplicates

    def _solve(self, rows: Bool[Array, " N"], lower: Float[Array, " k"]) -> Float[Array, " k"]:
        """Return the least-squares solution of these rows and the equations for sums, with lower bounds."""
        from scipy.optimize import lsq_linear

        if self.matrix.shape[1] == 0:
            return np.zeros(0)
        matrix, rhs = self._append_sum_equations(self.matrix[rows], self.rhs[rows], SUM_EQUATION_WEIGHT)
        if len(rhs) == 0:
            return np.zeros(self.matrix.shape[1])
        answer: Any = lsq_linear(matrix, rhs, bounds=(lower, np.inf), method="bvls", tol=1e-15)
        return np.asarray(answer.x)

    def _append_sum_equations(
        self, matrix: Float[Array, "r k"], rhs: Float[Array, " r"], weight: float
    ) -> tuple[Float[Array, "r1 k"], Float[Array, " r1"]]:
        """Append the equations for sums to the rows of a system, multiplied by a weight."""
        rows = [weight * row[np.newaxis] for row, _ in self.sum_equations]
        values = [weight * value for _, value in self.sum_equations]
        return np.concatenate([matrix, *rows]), np.append(rhs, values)

    def _unpack(self, x: Float[Array, " k"]) -> tuple[HypothesisVector, float, ExampleVector]:
        """Return w, beta and the contribution of the normals, shape (N,)."""
        w = self.active.offset + self.active.directions @ x[: self.num_directions]
        beta = float(x[self.num_directions]) if self.on_simplex else 0.0
        return w, beta, self.normals @ x[self.num_directions + self.on_simplex :]


def _near_box_bound(d: ExampleVector, conditions: StationarityConditions, active_tol: float) -> Bool[Array, " N"]:
    """Return the mask of the weights near a bound of their box."""
    return np.minimum(d - conditions.lower, conditions.upper - d) <= active_tol * conditions.upper


def _may_have_weight(active: Active) -> Bool[Array, " t"]:
    """Return the mask of the hypotheses that may have weight."""
    return (active.directions != 0).any(axis=1) | (active.offset != 0)


def _format_indices(kind: str, indices: Sequence[int] | Array) -> str:
    """Return the first indices as text."""
    if not len(indices):
        return ""
    text = ", ".join(str(int(n)) for n in indices[:5])
    return f"{kind} {text}{f' and {len(indices) - 5} more' if len(indices) > 5 else ''}"
