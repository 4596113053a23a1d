"""The stopping tests of solvers, computed again from their answers: whether an answer keeps the solver's own test.

Each solver defines primal and dual residuals and a gap, each with a limit from its tolerances. The definitions are on
these pages, and for Clarabel, ECOS and PIQP in the source that they cite.

SCS: https://www.cvxgrp.org/scs/algorithm/index.html#termination
Clarabel: https://github.com/oxfordcontrol/Clarabel.rs, src/solver/implementations/default/info.rs
ECOS: https://github.com/embotech/ecos, src/ecos.c, checkExitConditions
OSQP: https://osqp.org/docs/solver/index.html; Stellato et al. 2020, section 3.4; the gap since version 1.0
PIQP: https://predict-epfl.github.io/piqp/interfaces/settings; include/piqp/solver.tpp
HiGHS: https://ergo-code.github.io/HiGHS/stable/guide/kkt, of solutions with a basis

Residuals are those of the numbers that CVXPY passes to the solver. SCS, Clarabel, OSQP and PIQP test the same numbers,
and report the same residuals. ECOS tests numbers that it has scaled, and HiGHS those of its basis: they may judge an
answer differently. A residual says nothing about the distance to the optimum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float

PRIMAL, DUAL, GAP = "primal", "dual", "gap"
"""The parts of a stopping test."""

RATIO_KEYS = {part: f"stopping_test_{part}" for part in (PRIMAL, DUAL, GAP)}
"""Statistics of an attempt: the residual of each part over the limit that the tolerances of the attempt set."""

Vector = Float[Array, "_"]
Tolerances = Mapping[str, float]
"""Tolerances by the solver's names."""


@dataclass(frozen=True)
class Residual:
    """A residual with its limit.

    Attributes
    ----------
    value
        The residual, at least 0.
    limit
        The largest residual with which the solver stops, positive.
    """

    value: float
    limit: float


@dataclass(frozen=True)
class StoppingTest:
    """The stopping test of a solver.

    Attributes
    ----------
    tolerances
        Its tolerances by the solver's names, with the values of an attempt without options for them.
    residuals
        A function of the data of the solver, its raw answer and the tolerances, which returns the residual of each part
        of the test; None if there is no answer.
    """

    tolerances: Tolerances
    residuals: Callable[[Mapping[str, Any], Any, Tolerances], Mapping[str, Residual] | None]

    def ratios(self, data: Mapping[str, Any], raw: Any, options: Mapping[str, Any]) -> dict[str, float]:
        """Return the residual of each part of the test over its limit, by the keys of statistics.

        Parameters
        ----------
        data
            The data that the solver got, by CVXPY's names.
        raw
            Its answer.
        options
            The options that it got.

        Returns
        -------
        dict
            At most 1 for each part that the answer keeps. Empty if the answer has entries that are not finite.
        """
        sent = {name: float(options.get(name, value)) for name, value in self.tolerances.items()}
        parts = self.residuals(data, raw, sent) or {}
        ratios = {RATIO_KEYS[part]: _ratio(residual) for part, residual in parts.items()}
        return ratios if all(map(math.isfinite, ratios.values())) else {}


def _ratio(residual: Residual) -> float:
    """Return a residual over its limit; 0 for a residual of 0 at a limit of 0."""
    if residual.limit > 0.0:
        return residual.value / residual.limit
    return math.inf if residual.value > 0.0 else 0.0


def _largest(*vectors: Vector) -> float:
    """Return the largest absolute value in vectors; 0 for empty ones."""
    return max((float(np.abs(vector).max()) for vector in vectors if vector.size), default=0.0)


def _norm(vector: Vector) -> float:
    """Return the Euclidean norm."""
    return float(np.linalg.norm(vector))


def _answer(*values: Any) -> list[Vector] | None:
    """Return vectors of an answer; None if one is missing or has an entry that is not finite."""
    if any(value is None for value in values):
        return None
    vectors = [np.asarray(value, dtype=np.float64).ravel() for value in values]
    return vectors if all(bool(np.isfinite(vector).all()) for vector in vectors) else None


def _product(matrix: Any, x: Vector, n_rows: int | None = None) -> Float[Array, " rows"]:
    """Return matrix @ x; zeros for no matrix."""
    return np.zeros(n_rows or 0) if matrix is None else np.asarray(matrix @ x, dtype=np.float64).ravel()


def _symmetric_product(P: Any, x: Vector) -> Vector:
    """Return P @ x for a symmetric matrix, of which P may have the upper triangle alone; zeros for no matrix."""
    if P is None:
        return np.zeros(x.size)
    entries = P.tocoo()
    product = np.asarray(P @ x, dtype=np.float64).ravel()
    is_above = entries.row < entries.col
    if bool((entries.row > entries.col).any()):
        return product
    np.add.at(product, entries.col[is_above], entries.data[is_above] * x[entries.row[is_above]])
    return product


def _bounds(data: Mapping[str, Any], n: int) -> list[Vector]:
    """Return the lower and the upper bounds of n variables, infinite where there is none."""
    bounds = ((data.get("lower_bounds"), -np.inf), (data.get("upper_bounds"), np.inf))
    return [np.full(n, end) if bound is None else np.asarray(bound, dtype=np.float64) for bound, end in bounds]


def _sum_limit(absolute: float, relative: float, size: float) -> float:
    """Return the limit of a test with an absolute and a relative tolerance that are added."""
    return absolute + relative * size


def _wider_limit(absolute: float, relative: float, size: float) -> float:
    """Return the limit of a test that one of two tolerances passes, the relative one of at least 1."""
    return max(absolute, relative * max(1.0, size))


def scs_residuals(data: Mapping[str, Any], raw: Any, tolerances: Tolerances) -> Mapping[str, Residual] | None:
    """Return the residuals of SCS: largest entries, tolerances added, sizes those of the terms of each sum."""
    vectors = _answer(raw.get("x"), raw.get("y"), raw.get("s"))
    if vectors is None:
        return None
    (x, y, s), A, b, c = vectors, data["A"], data["b"], data["c"]
    Ax, Px, ATy = A @ x, _symmetric_product(data.get("P"), x), A.T @ y
    absolute, relative = tolerances["eps_abs"], tolerances["eps_rel"]
    xPx, cx, by = float(x @ Px), float(c @ x), float(b @ y)
    return {
        PRIMAL: Residual(_largest(Ax + s - b), _sum_limit(absolute, relative, _largest(Ax, s, b))),
        DUAL: Residual(_largest(Px + ATy + c), _sum_limit(absolute, relative, _largest(Px, ATy, c))),
        GAP: Residual(abs(xPx + cx + by), _sum_limit(absolute, relative, max(abs(xPx), abs(cx), abs(by)))),
    }


def clarabel_residuals(data: Mapping[str, Any], raw: Any, tolerances: Tolerances) -> Mapping[str, Residual] | None:
    """Return the residuals of Clarabel: Euclidean norms, relative to sums of sizes, and a gap of one tolerance of two.

    The sizes are Euclidean norms of the answer, and largest entries of the data.
    """
    vectors = _answer(raw.x, raw.z, raw.s)
    if vectors is None:
        return None
    (x, z, s), A, b, q = vectors, data["A"], data["b"], data["c"]
    Px, feasibility = _symmetric_product(data.get("P"), x), tolerances["tol_feas"]
    primal, dual = float(q @ x) + float(x @ Px) / 2.0, -float(b @ z) - float(x @ Px) / 2.0
    size = min(abs(primal), abs(dual))
    return {
        PRIMAL: Residual(_norm(A @ x + s - b), feasibility * max(1.0, _largest(b) + _norm(x) + _norm(s))),
        DUAL: Residual(_norm(Px + A.T @ z + q), feasibility * max(1.0, _largest(q) + _norm(x) + _norm(z))),
        GAP: Residual(abs(primal - dual), _wider_limit(tolerances["tol_gap_abs"], tolerances["tol_gap_rel"], size)),
    }


def ecos_residuals(data: Mapping[str, Any], raw: Any, tolerances: Tolerances) -> Mapping[str, Residual] | None:
    """Return the residuals of ECOS: Euclidean norms, relative to sums of sizes, and the gap s.z.

    Of the primal equations and inequalities, the worse counts.
    """
    vectors = _answer(raw.get("x"), raw.get("y"), raw.get("z"), raw.get("s"))
    if vectors is None:
        return None
    x, y, z, s = vectors
    A, G, c = data.get("A"), data["G"], data["c"]
    b, h = np.zeros(0) if data.get("b") is None else data["b"], data["h"]
    feasibility, norm_x = tolerances["feastol"], _norm(x)
    equations = Residual(
        _norm(_product(A, x, b.size) - b), feasibility * max(1.0, max(1.0, _norm(b)) + norm_x) if b.size else 0.0
    )
    rows = Residual(_norm(G @ x + s - h), feasibility * (max(1.0, _norm(h)) + norm_x + _norm(s)))
    slope = c + G.T @ z + (0.0 if A is None else A.T @ y)
    primal, dual, gap = float(c @ x), -float(b @ y) - float(h @ z), float(s @ z)
    size = -primal if primal < 0.0 else max(dual, 0.0)
    return {
        PRIMAL: max(equations, rows, key=_ratio),
        DUAL: Residual(_norm(slope), feasibility * (max(1.0, _norm(c)) + _norm(y) + _norm(z))),
        GAP: Residual(abs(gap), max(tolerances["abstol"], tolerances["reltol"] * size)),
    }


def osqp_residuals(data: Mapping[str, Any], raw: Any, tolerances: Tolerances) -> Mapping[str, Residual] | None:
    """Return the residuals of OSQP: largest entries, tolerances added.

    The answer has no z: here z is the nearest point to A x between the bounds, and so the primal residual is at most
    that of OSQP. Versions before 1.0 report no gap, and do not test it.
    """
    vectors = _answer(raw.x, raw.y)
    if vectors is None:
        return None
    (x, y), A, q = vectors, data["Ax"], data["q"]
    lower, upper = np.asarray(data["l"], dtype=np.float64), np.asarray(data["u"], dtype=np.float64)
    Ax, Px, ATy = A @ x, _symmetric_product(data["P"], x), A.T @ y
    z = np.clip(Ax, lower, upper)
    absolute, relative = tolerances["eps_abs"], tolerances["eps_rel"]
    parts = {
        PRIMAL: Residual(_largest(Ax - z), _sum_limit(absolute, relative, _largest(Ax, z))),
        DUAL: Residual(_largest(Px + q + ATy), _sum_limit(absolute, relative, _largest(Px, ATy, q))),
    }
    if not hasattr(raw.info, "duality_gap"):
        return parts
    # Multipliers of infinite bounds do not count: OSQP projects them away.
    support = float(np.where(np.isfinite(upper), upper, 0.0) @ np.maximum(y, 0.0))
    support += float(np.where(np.isfinite(lower), lower, 0.0) @ np.minimum(y, 0.0))
    xPx, qx = float(x @ Px), float(q @ x)
    size = max(abs(xPx), abs(qx), abs(support))
    return {**parts, GAP: Residual(abs(xPx + qx + support), _sum_limit(absolute, relative, size))}


def piqp_residuals(data: Mapping[str, Any], raw: Any, tolerances: Tolerances) -> Mapping[str, Residual] | None:
    """Return the residuals of PIQP: largest entries, by one tolerance of two.

    Versions before 0.6 have other names of the answer, and add the tolerances: there is no test of them.
    """
    if not hasattr(raw, "z_u"):
        return None
    vectors = _answer(raw.x, raw.y, raw.z_u, raw.s_u, raw.z_bl, raw.z_bu, raw.s_bl, raw.s_bu)
    if vectors is None or any(vector.size != vectors[0].size for vector in vectors[4:]):
        return None
    x, y, z, s, lower_z, upper_z, lower_s, upper_s = vectors
    A, G, b, h, c = data["A"], data["F"], data["b"], data["G"], data["q"]
    lower, upper = _bounds(data, x.size)
    is_lower, is_upper = np.isfinite(lower), np.isfinite(upper)
    Ax, Gx, Px = _product(A, x), _product(G, x), _symmetric_product(data["P"], x)
    slopes = (A.T @ y if y.size else 0.0) + (G.T @ z if z.size else 0.0)
    slopes = slopes + np.where(is_upper, upper_z, 0.0) - np.where(is_lower, lower_z, 0.0)
    terms = [float(x @ Px), float(c @ x), float(b @ y), float(h @ z)]
    terms += [-float(lower[is_lower] @ lower_z[is_lower]), float(upper[is_upper] @ upper_z[is_upper])]
    violations = [Ax - b, Gx + s - h, (x - lower_s - lower)[is_lower], (x + upper_s - upper)[is_upper]]
    sizes = [Ax, b, Gx, h, s, x[is_lower | is_upper], lower[is_lower], upper[is_upper]]
    sizes += [lower_s[is_lower], upper_s[is_upper]]
    absolute, relative = tolerances["eps_abs"], tolerances["eps_rel"]
    gap_limit = _wider_limit(tolerances["eps_duality_gap_abs"], tolerances["eps_duality_gap_rel"], max(map(abs, terms)))
    return {
        PRIMAL: Residual(_largest(*violations), _wider_limit(absolute, relative, _largest(*sizes))),
        DUAL: Residual(_largest(Px + c + slopes), _wider_limit(absolute, relative, _largest(Px, c, slopes))),
        GAP: Residual(abs(math.fsum(terms)), gap_limit),
    }


def highs_residuals(data: Mapping[str, Any], raw: Any, tolerances: Tolerances) -> Mapping[str, Residual] | None:
    """Return the residuals of HiGHS for solutions with a basis: violated bounds, and multipliers of the wrong sign.

    HiGHS does not test the gap of such solutions. Of a variable with two bounds, the nearer one decides the sign. None
    for quadratic programs.
    """
    solution = raw.get("solution")
    if solution is None or "Ax" not in data or data.get("P") is not None:
        return None
    vectors = _answer(solution.col_value, solution.row_dual)
    if vectors is None or any(vector.size == 0 for vector in vectors):
        return None
    (x, y), A, c = vectors, data["Ax"], data["c"]
    lower, upper = (
        np.concatenate([ends, np.asarray(data[key], dtype=np.float64)])
        for ends, key in zip(_bounds(data, x.size), ("l", "u"), strict=True)
    )
    values, multipliers = np.concatenate([x, A @ x]), np.concatenate([c - A.T @ y, y])
    violation = np.maximum(np.maximum(lower - values, values - upper), 0.0)
    with np.errstate(invalid="ignore"):  # infinite bounds on both sides
        is_lower = np.isfinite(lower) & (~np.isfinite(upper) | (values < (lower + upper) / 2.0))
    is_upper = np.isfinite(upper) & ~is_lower
    infeasibility = np.where(is_lower, np.maximum(-multipliers, 0.0), np.abs(multipliers))
    infeasibility = np.where(is_upper, np.maximum(multipliers, 0.0), infeasibility)
    infeasibility = np.where(lower == upper, 0.0, infeasibility)
    return {
        PRIMAL: Residual(_largest(violation), tolerances["primal_feasibility_tolerance"]),
        DUAL: Residual(_largest(infeasibility), tolerances["dual_feasibility_tolerance"]),
    }


STOPPING_TESTS: Mapping[str, StoppingTest] = {
    "SCS": StoppingTest({"eps_abs": 1e-5, "eps_rel": 1e-5}, scs_residuals),
    "CLARABEL": StoppingTest(dict.fromkeys(("tol_feas", "tol_gap_abs", "tol_gap_rel"), 1e-8), clarabel_residuals),
    "ECOS": StoppingTest(dict.fromkeys(("feastol", "abstol", "reltol"), 1e-8), ecos_residuals),
    "OSQP": StoppingTest({"eps_abs": 1e-5, "eps_rel": 1e-5}, osqp_residuals),
    "PIQP": StoppingTest(
        {"eps_abs": 1e-8, "eps_rel": 1e-9, "eps_duality_gap_abs": 1e-8, "eps_duality_gap_rel": 1e-9}, piqp_residuals
    ),
    "HIGHS": StoppingTest({"primal_feasibility_tolerance": 1e-7, "dual_feasibility_tolerance": 1e-7}, highs_residuals),
}
"""The stopping tests by CVXPY's names of the solvers, with the tolerances that CVXPY or the solver takes by default."""
