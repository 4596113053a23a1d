"""Multipliers whose reduced costs fit the bounds to working precision, by short steps in the metric of the cones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from boostopt._utils.array_types import Array, Float, Int
from boostopt.problem_certificates.arithmetic.nearest_sparse_solutions import factorization
from boostopt.problem_certificates.cone_proofs.cone_form import (
    ConeForm,
    joined_rows,
    scaled_rows,
    small_or_sparse,
)
from boostopt.problem_certificates.cone_proofs.cone_membership import distances
from boostopt.problem_certificates.cone_proofs.cone_metrics import is_large, product_in_metric
from boostopt.problem_certificates.cone_proofs.dual_bound import Multipliers, reduced_costs
from boostopt.problem_certificates.cone_proofs.enclosed_equation_solutions import MAX_PRODUCT_COUNT, are_dense

LINALG: Any = scipy.sparse.linalg
"""SciPy's factorizations, whose annotations do not have their results."""

N_STEPS = 3
"""Number of steps: the second and the third remove the rounding errors of those before."""

BORDER_THRESHOLD = 0.1
"""Size of pivots on the diagonal, over the largest entries of their columns, that a matrix with a border needs."""


def refined_multipliers(form: ConeForm, point: Multipliers) -> Multipliers | None:
    """Return multipliers near a point with reduced costs that are nearly exact; None if none are found.

    Parameters
    ----------
    form
        The program.
    point
        Multipliers in the interior of the dual cones.
    """
    results = refined_in_metric(form, point, [point])
    return None if results is None else results[0]


def refined_in_metric(form: ConeForm, point: Multipliers, starts: Sequence[Multipliers]) -> list[Multipliers] | None:
    """Return multipliers near each start with reduced costs that are nearly exact; None if none are found.

    Parameters
    ----------
    form
        The program.
    point
        Multipliers in the interior of the dual cones. All starts change in the metric at this point.
    starts
        Multipliers, which may lie outside the dual cones.
    """
    groups = zip(form.groups, point.cones, strict=True)
    if not all((distances(group, z, is_dual=True) > 0).all() for group, z in groups):
        return None
    has_low, has_high = np.isfinite(form.lower), np.isfinite(form.upper)
    columns = np.flatnonzero(~(has_low & has_high))
    signs = form.bound_signs
    is_one_sided = form.has_one_bound

    def bound_multipliers(position: Multipliers) -> Float[Array, " n"]:
        if not is_one_sided.any():
            return np.zeros(form.n)
        floor = np.maximum(signs * reduced_costs(form, position), 1e-12 * form.cost_scale)
        return np.where(is_one_sided, floor, 0.0)

    mu_weights = bound_multipliers(point) ** 2
    y_weights = np.maximum(np.abs(point.y), form.cost_scale / np.maximum(form.E_norms, 1e-12)) ** 2
    row_weights = point.rows**2
    y_weights, row_weights = without_dense_rows(form, y_weights, row_weights)
    w_weights = np.ones(form.n) if form.P is None else np.maximum(1.0, point.w**2)
    steps = [scaled_rows(form.E, y_weights), scaled_rows(form.R, row_weights)]
    for group, z in zip(form.groups, point.cones, strict=True):
        product = product_in_metric(group, z)
        if product is None:
            return None
        steps.append(product)
    joint_steps = joined_rows(steps, form.n)
    joint_steps.eliminate_zeros()
    joint_steps, transposed = small_or_sparse(joint_steps), small_or_sparse(form.all_transposed)
    system = transposed @ joint_steps
    if form.P is not None:
        system = system + form.P.T @ scaled_rows(form.P, w_weights)
    large_points: Any = _large_points(form, point)
    large_rows = None if large_points is None else large_points.T @ form.all_transposed.T.tocsr()
    factor = _factor(system, mu_weights, columns, large_rows)
    if factor is None:
        return None
    results, cuts = list[Multipliers](), np.cumsum([step.shape[0] for step in steps])[:-1]
    for start in starts:
        mu, w = bound_multipliers(start), start.w
        joint = np.concatenate([start.y, start.rows, *start.cones])
        for _ in range(N_STEPS):
            residual = form.c - transposed @ joint - signs * mu
            if form.P is not None:
                residual = residual + form.P @ w
            full = np.zeros(form.n)
            rest = residual[columns]
            if large_rows is not None:
                rest = np.concatenate([rest, np.zeros(large_rows.shape[0])])
            full[columns] = factor.solve(rest)[: len(columns)]
            if not np.isfinite(full).all():
                return None
            joint = joint + joint_steps @ full
            if large_rows is not None:
                joint = joint + large_points @ (large_rows @ full)
            mu = mu + mu_weights * signs * full
            w = w if form.P is None else w - w_weights * (form.P @ full)
        y, rows, *cones = np.split(joint, cuts)
        results.append(Multipliers(y, rows, cones, w))
    return results


def _large_points(form: ConeForm, point: Multipliers) -> Any:
    """Return a column for each large cone with its multipliers, and 0 for all others; None without large cones."""
    start, n_columns = len(point.y) + len(point.rows), 0
    parts = list[Any]()
    for group, z in zip(form.groups, point.cones, strict=True):
        if is_large(group):
            places = np.arange(len(z))
            parts.append((z, start + places, n_columns + places // group.size))
            n_columns += group.count
        start += len(z)
    if not n_columns:
        return None
    values, rows, columns = (np.concatenate(part) for part in zip(*parts, strict=True))
    return scipy.sparse.csr_array((values, (rows, columns)), shape=(start, n_columns))


def _factor(system: Any, weights: Float[Array, " n"], columns: Int[Array, " k"], large_rows: Any) -> Any:
    """Return a factorization of some columns and rows of a matrix with larger diagonal entries; None without one.

    `large_rows` are the rows of a V for which Vᵀ V is a part of the matrix, or None: they border it.
    """
    matrix, n = system, len(columns)
    matrix = matrix if n == len(weights) else matrix[columns][:, columns]
    matrix = matrix.T  # compressed columns of a symmetric matrix
    diagonal = matrix.diagonal() + weights[columns]
    further = weights[columns] + 1e-15 * np.maximum(diagonal, 1e-30 * diagonal.max(initial=1.0))
    if isinstance(matrix, np.ndarray):
        factor = factorization(matrix + np.diag(further)) if n and large_rows is None else None
        if factor is not None:
            return factor
        matrix = scipy.sparse.csc_array(matrix)
    is_diagonal = matrix.indices == np.repeat(np.arange(n), np.diff(matrix.indptr))
    if int(is_diagonal.sum()) == n:
        matrix.data[is_diagonal] += further
    else:
        matrix = matrix + scipy.sparse.csc_array((further, np.arange(n), np.arange(n + 1)), shape=(n, n))
    threshold = 0.0 if large_rows is None else BORDER_THRESHOLD
    if large_rows is not None:
        V = large_rows if n == len(weights) else large_rows[:, columns]
        matrix = scipy.sparse.block_array([[matrix, V.T], [V, -scipy.sparse.eye_array(V.shape[0])]], format="csc")
    try:
        return LINALG.splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=threshold)
    except RuntimeError:  # exactly singular
        return None


def without_dense_rows(
    form: ConeForm, y_weights: Float[Array, " p"], row_weights: Float[Array, " m"]
) -> tuple[Float[Array, " p"], Float[Array, " m"]]:
    """Return the weights with 0 for equations and rows that make the system of a large program dense.

    Their multipliers stay as they are. Each variable must stand in another row.
    """
    matrices = [form.E, form.R, *(group.G for group in form.groups)]
    counts = np.concatenate([np.diff(matrix.indptr) for matrix in matrices]).astype(float)
    if float((counts**2).sum()) <= MAX_PRODUCT_COUNT:
        return y_weights, row_weights
    n_equations, n_rows = len(form.e), len(form.e) + len(form.row_lower)
    is_dense = are_dense(counts) & (np.arange(len(counts)) < n_rows)
    joint: Any = scipy.sparse.vstack(matrices, format="csr")
    if not is_dense.any() or not np.bincount(joint[~is_dense].indices, minlength=form.n).all():
        return y_weights, row_weights
    return np.where(is_dense[:n_equations], 0.0, y_weights), np.where(is_dense[n_equations:n_rows], 0.0, row_weights)
