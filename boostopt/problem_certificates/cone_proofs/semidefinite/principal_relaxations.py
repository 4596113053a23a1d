"""Relaxations of semidefinite programs to the rows and columns in which slacks stay finite.

Let G d be positive definite in some rows and columns of the matrices and 0 in all others, for a direction d with
<c, d> = 0. Then each multiplier is 0 in these rows and columns [Borwein and Wolkowicz 1981]: the dual has no interior,
and slacks of points near the optimum grow without limit there. The proof needs no d. Principal submatrices of
semidefinite matrices are semidefinite, so that a bound without some rows and columns is one of the program. A poor
choice costs a bound, never its truth.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Int
from boostopt.problem_certificates.cone_proofs.cone_form import ConeForm, ConeGroup, columns_of
from boostopt.problem_certificates.cone_proofs.dual_bound import Multipliers
from boostopt.problem_certificates.cone_proofs.semidefinite.multiprecision_answers import (
    PRECISION,
    PreciseAnswer,
    precise_blocks,
)

MIN_LARGE_SLACK = 1e15
"""Entry of the diagonal of a slack, relative to the constants, above which its row and column are left out."""


@dataclass(frozen=True, eq=False)
class PrincipalRelaxation:
    """A form with principal submatrices of the matrices of another one.

    Attributes
    ----------
    form
        The form; its numbers are those of the original one.
    rows
        For each matrix of the original form, the numbers of the rows that remain.
    """

    form: ConeForm
    rows: list[Int[Array, " _"]]

    def multipliers(self, original: ConeForm, point: Multipliers) -> Multipliers:
        """Return the multipliers of the original form that have those of this one, and 0 elsewhere."""
        cones: list[Array] = [np.zeros(len(group.h)) for group in original.groups]
        exact_cones = [[Fraction(0)] * len(group.h) for group in original.groups]
        parts = zip(_remaining_entries(original, self.rows), point.cones, point.exact_cones or (), strict=True)
        for (g, _, places), z, values in parts:
            cones[g][places] = z
            for place, value in zip(places.tolist(), values, strict=True):
                exact_cones[g][place] = value
        return Multipliers(point.y, point.rows, cones, np.zeros(original.n), exact_cones)


def principal_relaxation(form: ConeForm, answer: PreciseAnswer) -> PrincipalRelaxation | None:
    """Return the relaxation without large slacks; None if no slack is large, or it has no lower bound.

    Parameters
    ----------
    form
        A form that `has_precise_answer`.
    answer
        Its answer, of any quality.
    """
    size = max(1.0, *(float(np.abs(group.h).max(initial=0.0)) for group in form.groups))
    with flint.ctx.workprec(PRECISION):
        slacks = [(block.image(answer.x) + block.h).tolist() for block in precise_blocks(form)]
    rows = [
        np.array([i for i, row in enumerate(slack) if not row[i] > MIN_LARGE_SLACK * size], dtype=int)
        for slack in slacks
    ]
    if all(len(part) == len(slack) for part, slack in zip(rows, slacks, strict=True)):
        return None
    groups = list[ConeGroup]()
    for g, k, places in _remaining_entries(form, rows):
        group, size = form.groups[g], len(places)
        names, positions = [group.names[k]], [group.positions[k]]
        groups.append(ConeGroup("semidefinite", size, 0.0, group.G[places], group.h[places], names, positions))
    if not groups:
        return None
    images: Any = scipy.sparse.vstack([group.G for group in groups], format="csc")
    columns = np.flatnonzero((np.diff(images.indptr) > 0) | (form.c != 0))
    if not np.diff(images.indptr)[columns].all():  # a cost without a constraint
        return None
    reduced = replace(
        form,
        n=len(columns),
        c=form.c[columns],
        E=columns_of(form.E, columns),
        R=columns_of(form.R, columns),
        lower=form.lower[columns],
        upper=form.upper[columns],
        groups=[replace(group, G=columns_of(group.G, columns)) for group in groups],
        column_names=[form.column_names[j] for j in columns.tolist()],
    )
    return PrincipalRelaxation(reduced, rows)


def _remaining_entries(
    form: ConeForm, rows: Sequence[Int[Array, " _"]]
) -> Iterator[tuple[int, int, Int[Array, " entries"]]]:
    """Yield the numbers of the group and of the matrix in it, and the places of its entries, where rows remain."""
    matrices = [(g, k) for g, group in enumerate(form.groups) for k in range(group.count)]
    for (g, k), part in zip(matrices, rows, strict=True):
        if len(part):
            size = form.groups[g].size
            yield g, k, k * size + (part[:, None] * math.isqrt(size) + part).ravel()
