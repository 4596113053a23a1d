"""Forms of rows and semidefinite matrices alone, for programs with equations, bounds and second-order cones.

The unknowns of such a form are coordinates of the solutions of the equations, bounds are rows, and a second-order cone
is that of its arrow matrices: t >= |x| exactly if ((t, xᵀ), (x, t I)) is positive semidefinite. The numbers are
rounded, so the answers only propose multipliers and faces of the program itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse

from boostopt._utils.array_types import Array, Bool, Float
from boostopt.problem_certificates.cone_proofs.cone_form import ConeForm, ConeGroup, joined_rows
from boostopt.problem_certificates.cone_proofs.dual_bound import Multipliers
from boostopt.problem_certificates.cone_proofs.semidefinite.dual_faces import DualFace, recession_direction

MAX_SIZE = 300
"""Number of unknowns, and of equations with them, up to which a form is computed: its coordinates are dense."""

MAX_ENTRIES = 5000
"""Number of entries of matrices up to which it is."""


@dataclass(frozen=True, eq=False)
class SemidefiniteForm:
    """A form of rows and semidefinite matrices that is nearly as a given one.

    Attributes
    ----------
    original
        The given form.
    form
        The form, whose rows are those of the given one, and then bounds. It has a matrix for each of its cones.
    start, basis
        A solution of the equations, and orthonormal columns: the changes of the unknowns that they allow.
    bounded
        The positions of the unknowns with bounds that are rows.
    """

    original: ConeForm
    form: ConeForm
    start: Float[Array, " n"]
    basis: Float[Array, "n k"]
    bounded: Array

    def recession_direction(self) -> Float[Array, " k"] | None:
        """Return the direction of `dual_faces`; None if there seems to be none. Intervals of rows do not change."""
        fixed = _semidefinite_form(self.original, has_intervals=False)
        direction = recession_direction(fixed.form) if fixed.form.n else None
        return None if direction is None else self.basis.T @ (fixed.basis @ direction)

    def face(self, face: DualFace) -> DualFace:
        """Return the face of the given form that one of this form stands for."""
        vectors, pivots = list[list[Array]](), list[list[Array]]()
        for group, *parts in zip(self.original.groups, face.null_vectors, face.pivots, strict=True):
            is_matrix = group.kind == "semidefinite"
            vectors.append(parts[0] if is_matrix else [Q[:, :0] for Q in parts[0]])
            pivots.append(parts[1] if is_matrix else [places[:0] for places in parts[1]])
        return DualFace(vectors, pivots, face.is_zero_row[: len(self.original.row_lower)])

    def multipliers(self, rows: Array, cones: list[Array]) -> Multipliers:
        """Return multipliers of the given form: those of equations leave the smallest reduced costs."""
        original, m = self.original, len(self.original.row_lower)
        parts = list[Array]()
        for group, z in zip(original.groups, cones, strict=True):
            if group.kind == "second_order":
                Z = z.reshape(group.count, group.size, group.size)
                arrows = Z[:, 0, :] + Z[:, :, 0]
                arrows[:, 0] = np.trace(Z, axis1=1, axis2=2)
                z = arrows.ravel()
            parts.append(z)
        rest = original.c - original.R_transposed @ rows[:m]
        rest[self.bounded] -= rows[m:]
        for G_transposed, z in zip(original.G_transposed, parts, strict=True):
            rest = rest - G_transposed @ z
        y = np.linalg.lstsq(original.E_transposed.toarray(), np.where(original.is_fixed, 0.0, rest), rcond=None)[0]
        return Multipliers(y, rows[:m], parts, np.zeros(original.n))


def semidefinite_form(form: ConeForm) -> SemidefiniteForm | None:
    """Return a form of rows and semidefinite matrices alone; None for large forms, and for those with other cones."""
    kinds = {group.kind for group in form.groups}
    orders = [group.size if group.kind == "second_order" else math.isqrt(group.size) for group in form.groups]
    n_entries = sum(group.count * order**2 for group, order in zip(form.groups, orders, strict=True))
    is_small = form.n <= MAX_SIZE and len(form.e) <= MAX_SIZE and n_entries <= MAX_ENTRIES
    if form.P is not None or not is_small or not {"semidefinite"} <= kinds <= {"semidefinite", "second_order"}:
        return None
    result = _semidefinite_form(form)
    return result if result.form.n else None


def _semidefinite_form(form: ConeForm, has_intervals: bool = True) -> SemidefiniteForm:
    """Return a form of rows and semidefinite matrices alone; without intervals, rows with two bounds are equations."""

    def is_kept(lower: Array, upper: Array) -> Bool[Array, " _"]:
        return (lower < upper) & (has_intervals | ~(np.isfinite(lower) & np.isfinite(upper)))

    is_free = is_kept(form.lower, form.upper)
    is_row = is_kept(form.row_lower, form.row_upper)
    units: Any = scipy.sparse.eye_array(form.n, format="csr")
    equations: Any = joined_rows([form.E, form.R[~is_row], units[~is_free]], form.n)
    sides = np.concatenate([form.e, form.row_lower[~is_row], form.lower[~is_free]])
    dense = equations.toarray()
    start = np.linalg.lstsq(dense, sides, rcond=None)[0]
    basis = scipy.linalg.null_space(dense) if len(dense) else np.eye(form.n)
    bounded = np.flatnonzero(is_free & (np.isfinite(form.lower) | np.isfinite(form.upper)))
    R: Any = joined_rows([form.R[is_row], units[bounded]], form.n)
    lower = np.concatenate([form.row_lower[is_row], form.lower[bounded]])
    upper = np.concatenate([form.row_upper[is_row], form.upper[bounded]])
    groups = [_semidefinite_group(group) for group in form.groups]
    k, offsets = basis.shape[1], R @ start
    return SemidefiniteForm(
        form,
        replace(
            form,
            n=k,
            c=basis.T @ form.c,
            offset=float(form.offset + form.c @ start),
            E=scipy.sparse.csr_array((0, k)),
            e=np.zeros(0),
            R=scipy.sparse.csr_array(R @ basis),
            row_lower=lower - offsets,
            row_upper=upper - offsets,
            lower=np.full(k, -np.inf),
            upper=np.full(k, np.inf),
            groups=[
                replace(group, G=scipy.sparse.csr_array(group.G @ basis), h=group.h + group.G @ start)
                for group in groups
            ],
            row_names=[""] * len(lower),
            column_names=[""] * k,
        ),
        start,
        basis,
        bounded,
    )


def _semidefinite_group(group: ConeGroup) -> ConeGroup:
    """Return a group of semidefinite matrices: the arrow matrices of second-order cones."""
    if group.kind == "semidefinite":
        return group
    size = group.size
    places = np.zeros((size, size), dtype=int)
    places[0], places[:, 0] = np.arange(size), np.arange(size)
    is_entry = np.eye(size, dtype=bool)
    is_entry[0] = is_entry[:, 0] = True
    rows = (np.arange(group.count)[:, None] * size + places.ravel()).ravel()
    factors = np.tile(is_entry.ravel().astype(float), group.count)
    G: Any = scipy.sparse.diags_array(factors, format="csr") @ group.G[rows]
    return replace(group, kind="semidefinite", size=size**2, G=G, h=factors * group.h[rows])
