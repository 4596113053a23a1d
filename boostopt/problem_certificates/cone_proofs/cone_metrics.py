"""Metrics in which a unit ball around a point of a cone lies in the cone: inverse Hessians of barriers, in floats.

The barriers are those of Nesterov and Nemirovskii. A step that is short in this metric stays in the cone, also next to
its boundary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Float
from boostopt.problem_certificates.cone_proofs.cone_form import ConeGroup, scaled_rows

MAX_PRODUCTS = 2e10
"""Number of products up to which the matrix of a group of semidefinite cones is computed."""


MAX_BLOCK_SIZE = 30
"""Rows of a second-order cone up to which its part of the metric is one dense block."""


def is_large(group: ConeGroup) -> bool:
    """Return whether blocks of the metric of a group are too large for a sparse matrix."""
    return group.kind == "second_order" and group.size > MAX_BLOCK_SIZE


def are_small_second_order(groups: Sequence[ConeGroup]) -> bool:
    """Return whether some groups, at least one, are second-order cones with few rows."""
    return bool(groups) and all(group.kind == "second_order" and not is_large(group) for group in groups)


def product_in_metric(group: ConeGroup, z: Float[Array, " rows"]) -> Any:
    """Return M G for the inverse Hessian M of the dual barrier at a point, in compressed rows.

    For large cones, it lacks the product with z zᵀ. It is None if it costs too much.
    """
    if group.kind == "semidefinite":
        return _semidefinite_product(group, z)
    if is_large(group):
        signs, determinants = _signs_and_determinants(z.reshape(group.count, group.size))
        return scaled_rows(group.G, -np.outer(determinants / 2, signs).ravel())
    metric = block_metric(group, z)
    return None if metric is None else metric @ group.G


def block_metric(group: ConeGroup, z: Float[Array, " rows"]) -> Any:
    """Return the inverse Hessian of the dual barrier at a point of cones with few rows, in compressed rows.

    It is None if it overflows. Second-order cones are their own duals.
    """
    points = z.reshape(group.count, group.size)
    if group.kind == "second_order":
        signs, determinants = _signs_and_determinants(points)
        blocks = points[:, :, None] * points[:, None, :]
        blocks = blocks - (determinants / 2)[:, None, None] * np.diag(signs)
    elif group.kind == "exponential":
        blocks = _exponential_metrics(points)
    else:
        hessians = _power_hessians(points, group.exponent)
        if not np.isfinite(hessians).all():
            return None
        blocks = np.linalg.pinv(hessians, hermitian=True)
    if not np.isfinite(blocks).all():
        return None
    size = group.size
    indices = np.repeat(np.arange(len(z)).reshape(group.count, size), size, axis=0)
    pointers = size * np.arange(len(z) + 1)
    return scipy.sparse.csr_array((blocks.ravel(), indices.ravel(), pointers), shape=(len(z), len(z)))


def _signs_and_determinants(points: Float[Array, "k size"]) -> tuple[Float[Array, " size"], Float[Array, " k"]]:
    """Return the signs of the squares in the determinants of second-order cones, and the determinants of points."""
    signs = np.concatenate([[1.0], -np.ones(points.shape[1] - 1)])
    return signs, points[:, 0] ** 2 - (points[:, 1:] ** 2).sum(axis=1)


def _semidefinite_product(group: ConeGroup, z: Float[Array, " rows"]) -> Any:
    """Return M G; None if this costs too much."""
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
    return scipy.sparse.csr_array(product)


def _exponential_metrics(z: Float[Array, "k 3"]) -> Float[Array, "k 3 3"]:
    """Return the inverse Hessians of -log(-f) - log(-u) - log(w) for f = -u log(-u / w) + u - v, the dual cone's.

    In the coordinates u, w and f, the Hessian is 1 / f^2 for f, and that of u and w has a closed inverse.
    """
    u, v, w = z.T
    logarithms = np.log(-u / w)
    f = u - u * logarithms - v
    t = u / f
    shared = 1 / (1 + 2 * t)
    uu, uw, ww = u * u * (1 + t) * shared, u * w * t * shared, w * w * (1 + t) * shared
    slopes = -logarithms, u / w
    uv, vw = uu * slopes[0] + uw * slopes[1], uw * slopes[0] + ww * slopes[1]
    vv = f * f + slopes[0] * uv + slopes[1] * vw
    return np.stack([uu, uv, uw, uv, vv, vw, uw, vw, ww], axis=1).reshape(-1, 3, 3)


def _power_hessians(z: Float[Array, "k 3"], a: float) -> Float[Array, "k 3 3"]:
    """Return the Hessians of the dual cone's -log(u^(2 a) v^(2 - 2 a) - t^2) - (1 - a) log u - a log v."""
    scales = np.array([1 / a, 1 / (1 - a), 1.0])
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
