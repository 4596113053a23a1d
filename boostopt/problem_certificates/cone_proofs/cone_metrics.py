"""Metrics in which a unit ball around a point of a cone lies in the cone: inverse Hessians of barriers, in floats.

The barriers are those of Nesterov and Nemirovskii. A step that is short in this metric stays in the cone, also next to
its boundary.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Float
from boostopt.problem_certificates.cone_proofs.cone_form import ConeGroup

MAX_PRODUCTS = 2e10
"""Number of products up to which the matrix of a group of semidefinite cones is computed."""


def gram_in_metric(group: ConeGroup, z: Float[Array, " rows"], is_dual: bool) -> tuple[Any, Any] | None:
    """Return Gᵀ M G and M G for the inverse Hessian M of the barrier at a point; None if this costs too much."""
    if group.kind == "semidefinite":
        return _semidefinite_gram(group, z)
    points = z.reshape(group.count, group.size)
    if group.kind == "second_order":
        signs = np.concatenate([[1.0], -np.ones(group.size - 1)])
        determinants = points[:, 0] ** 2 - (points[:, 1:] ** 2).sum(axis=1)
        blocks = points[:, :, None] * points[:, None, :]
        blocks = blocks - (determinants / 2)[:, None, None] * np.diag(signs)
    else:
        hessians = _exponential_hessians(points, is_dual) if group.kind == "exponential" else None
        if hessians is None:
            hessians = _power_hessians(points, group.exponent, is_dual)
        if not np.isfinite(hessians).all():
            return None
        blocks = np.linalg.pinv(hessians, hermitian=True)
    metric = scipy.sparse.block_diag(list(blocks), format="csr")
    product = scipy.sparse.csr_array(metric @ group.G)
    return scipy.sparse.csr_array(group.G.T @ product), product


def _semidefinite_gram(group: ConeGroup, z: Float[Array, " rows"]) -> tuple[Any, Any] | None:
    order, n = math.isqrt(group.size), group.G.shape[1]
    columns: Any = scipy.sparse.csc_array(group.G)
    used = np.flatnonzero(np.diff(columns.indptr))
    if group.count * len(used) * order**3 > MAX_PRODUCTS:
        return None
    matrices = z.reshape(group.count, order, order)
    parts = list[Any]()
    for j in used.tolist():
        part = slice(columns.indptr[j], columns.indptr[j + 1])
        rows = columns.indices[part]
        places = np.unique(rows // group.size)
        dense = np.zeros((len(places), group.size))
        dense[np.searchsorted(places, rows // group.size), rows % group.size] = columns.data[part]
        Z = matrices[places]
        values = Z @ dense.reshape(-1, order, order) @ Z
        indices = (places[:, None] * group.size + np.arange(group.size)).ravel()
        parts.append((values.ravel(), indices))
    pointers = np.zeros(n + 1, dtype=np.int64)
    pointers[used + 1] = [len(indices) for _, indices in parts]
    data = np.concatenate([values for values, _ in parts]) if parts else np.zeros(0)
    indices = np.concatenate([indices for _, indices in parts]) if parts else np.zeros(0, dtype=int)
    product = scipy.sparse.csc_array((data, indices, np.cumsum(pointers)), shape=group.G.shape)
    return scipy.sparse.csr_array(group.G.T @ product), product


def _exponential_hessians(z: Float[Array, "k 3"], is_dual: bool) -> Float[Array, "k 3 3"]:
    """Return the Hessians of -log(-f) - log(second) - log(third), where f <= 0 states the cone.

    f(x, y, z) = x - y log(z / y). The dual cone has f(-v, ...): f = -u log(-u / w) + u - v, with -u in place of y.
    """
    first, second, third = z.T
    zero = np.zeros(len(z))
    if is_dual:
        scale, f = -first, -first * np.log(-first / third) + first - second
        gradient = np.stack([-np.log(-first / third), zero - 1, first / third], axis=1)
        rows = [[-1 / first, zero, 1 / third], [zero, zero, zero], [1 / third, zero, -first / third**2]]
        place = 0
    else:
        scale, f = second, first - second * np.log(third / second)
        gradient = np.stack([zero + 1, 1 - np.log(third / second), -second / third], axis=1)
        rows = [[zero, zero, zero], [zero, 1 / second, -1 / third], [zero, -1 / third, second / third**2]]
        place = 1
    curvature = np.stack([np.stack(row, axis=1) for row in rows], axis=1)
    result = gradient[:, :, None] * gradient[:, None, :] / (f**2)[:, None, None] + curvature / (-f)[:, None, None]
    result[:, place, place] += 1 / scale**2
    result[:, 2, 2] += 1 / third**2
    return result


def _power_hessians(z: Float[Array, "k 3"], a: float, is_dual: bool) -> Float[Array, "k 3 3"]:
    """Return the Hessians of -log(u^(2 a) v^(2 - 2 a) - t^2) - (1 - a) log u - a log v."""
    scales = np.array([1 / a, 1 / (1 - a), 1.0]) if is_dual else np.ones(3)
    u, v, t = (z * scales).T
    q = u ** (2 * a) * v ** (2 - 2 * a)
    phi = q - t**2
    gradient = np.stack([2 * a * q / u, (2 - 2 * a) * q / v, -2 * t], axis=1)
    result = gradient[:, :, None] * gradient[:, None, :] / (phi**2)[:, None, None]
    mixed = 4 * a * (1 - a) * q / (u * v) / phi
    result[:, 0, 0] += -2 * a * (2 * a - 1) * q / u**2 / phi + (1 - a) / u**2
    result[:, 1, 1] += -(2 - 2 * a) * (1 - 2 * a) * q / v**2 / phi + a / v**2
    result[:, 0, 1] -= mixed
    result[:, 1, 0] -= mixed
    result[:, 2, 2] += 2 / phi
    return result * scales[:, None] * scales
