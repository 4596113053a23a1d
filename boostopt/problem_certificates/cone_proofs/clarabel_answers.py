"""Answers of Clarabel to a program in conic form. Nothing that it says is believed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Bool, Float
from boostopt.conic_programs.clarabel_solver import clarabel_settings, solve_by_clarabel
from boostopt.problem_certificates.arithmetic.sparse_float_forms import entry_rows
from boostopt.problem_certificates.cone_proofs.cone_form import ConeForm, ConeGroup, joined_rows, rows_of

TOLERANCE = 1e-10
"""The accuracy that is asked of Clarabel; it returns its best point if it does not reach this."""

FINE_TOLERANCE = 1e-11
"""The same for a program without cones: its active bounds are those of its exact optimum more often."""

ROUGH_TOLERANCE = 1e-9
"""The gap that is asked of Clarabel in a rough solve: bounds then have more slack than the equations have errors."""

MAX_WHOLE_SIZE = 100**2
"""Entries of a semidefinite matrix up to which Clarabel must not divide it: multipliers of parts are rougher."""

MIN_RAY_TOLERANCE = 1e-16
"""The accuracy of rays that prove infeasibility in a second solve."""

REGULARIZATION = 1e-10
"""Regularization of Clarabel's systems: its default of 1e-8 limits the accuracy that it reaches."""

HUGE = 1e19
"""Bounds of this size are not stated to Clarabel; the proofs use them."""

ROOT = math.sqrt(2.0)


@dataclass(frozen=True, eq=False)
class ActiveBounds:
    """The bounds whose multiplier is larger than the distance from them; both sides where bounds are equal.

    Attributes
    ----------
    lower, upper
        Shape (n,).
    row_lower, row_upper
        As many as the form has rows.
    """

    lower: Bool[Array, " n"]
    upper: Bool[Array, " n"]
    row_lower: Bool[Array, " m"]
    row_upper: Bool[Array, " m"]


@dataclass(frozen=True, eq=False)
class ConicAnswer:
    """A point and multipliers: c + P x - Eᵀ y - Rᵀ rows - Gᵀ cones is nearly 0 for variables without bounds.

    Attributes
    ----------
    x
        Shape (n,).
    y
        Multipliers of the equations.
    rows
        Multipliers of the rows: positive at the lower bound, negative at the upper one.
    cones
        Multipliers of the groups, as many as they have rows.
    status
        The status that Clarabel reports.
    active
        The bounds that are active; None if it is not known.
    slacks
        Points in the interior of the cones near G x + h of each group; None if they are not known, or for semidefinite
        cones.
    """

    x: Float[Array, " n"]
    y: Float[Array, " p"]
    rows: Float[Array, " m"]
    cones: list[Float[Array, " _"]]
    status: str
    active: ActiveBounds | None = None
    slacks: list[Float[Array, " _"]] | None = None

    @property
    def is_finite(self) -> bool:
        """True if all numbers are finite."""
        return all(np.isfinite(part).all() for part in (self.x, self.y, self.rows, *self.cones))


class ClarabelRows:
    """The matrix of a form as Clarabel takes it, for the form and others that differ from it by finite numbers only.

    Parameters
    ----------
    form
        The form.

    Attributes
    ----------
    is_fixed, has_lower, has_upper, has_row_lower, has_row_upper
        Flags of the bounds that are stated.
    A, cones
        The rows, in compressed columns, and their cones.
    """

    def __init__(self, form: ConeForm) -> None:
        clarabel: Any = import_module("clarabel")
        self.is_fixed = form.is_fixed
        self.has_lower, self.has_upper = (form.lower > -HUGE) & ~form.is_fixed, (form.upper < HUGE) & ~form.is_fixed
        self.has_row_lower, self.has_row_upper = form.row_lower > -HUGE, form.row_upper < HUGE
        self._triangles = [_triangle(group) if group.kind == "semidefinite" else None for group in form.groups]
        units = (self.is_fixed, 1.0), (self.has_lower, -1.0), (self.has_upper, 1.0)
        blocks = [
            form.E,
            *(_unit_rows(flags, entry) if flags.any() else None for flags, entry in units),
            -rows_of(form.R, self.has_row_lower) if self.has_row_lower.any() else None,
            rows_of(form.R, self.has_row_upper),
            *(-group.G if T is None else -(T @ group.G) for T, group in zip(self._triangles, form.groups, strict=True)),
        ]
        sizes = [0 if block is None else block.shape[0] for block in blocks]
        self._cuts = np.cumsum(sizes)[:-1]
        self.A: Any = joined_rows([block for block in blocks if block is not None], form.n).tocsc()
        self.cones: list[Any] = [clarabel.ZeroConeT(sizes[0] + sizes[1]), clarabel.NonnegativeConeT(sum(sizes[2:6]))]
        for group in form.groups:
            self.cones += [_cone(clarabel, group)] * group.count

    def sides(self, form: ConeForm) -> Float[Array, " m"]:
        """Return the right sides of a form."""
        parts = zip(self._triangles, form.groups, strict=True)
        return np.concatenate(
            [
                form.e,
                form.lower[self.is_fixed],
                -form.lower[self.has_lower],
                form.upper[self.has_upper],
                -form.row_lower[self.has_row_lower],
                form.row_upper[self.has_row_upper],
                *(group.h if T is None else T @ group.h for T, group in parts),
            ]
        )

    def answer(self, form: ConeForm, solution: Any) -> ConicAnswer:
        """Return the answer to a form for a solution by Clarabel."""
        z, s = np.array(solution.z), np.array(solution.s)
        parts, flags, slacks = np.split(z, self._cuts), np.split(z > s, self._cuts), np.split(s, self._cuts)
        at_lower, at_upper = self.is_fixed.copy(), self.is_fixed.copy()
        at_row_lower, at_row_upper = (np.zeros(len(form.row_lower), dtype=bool) for _ in range(2))
        at_lower[self.has_lower], at_upper[self.has_upper] = flags[2], flags[3]
        at_row_lower[self.has_row_lower], at_row_upper[self.has_row_upper] = flags[4], flags[5]
        active = ActiveBounds(
            at_lower, at_upper & (self.is_fixed | ~at_lower), at_row_lower, at_row_upper & ~at_row_lower
        )
        rows = np.zeros(len(form.row_lower))
        rows[self.has_row_lower] += parts[4]
        rows[self.has_row_upper] -= parts[5]
        pairs = zip(form.groups, parts[6:], strict=True)
        cones = [_full(group) @ part if group.kind == "semidefinite" else part for group, part in pairs]
        cone_slacks = None if any(group.kind == "semidefinite" for group in form.groups) else slacks[6:]
        return ConicAnswer(np.array(solution.x), -parts[0], rows, cones, str(solution.status), active, cone_slacks)


def solve_form(
    form: ConeForm, is_second: bool = False, rows: ClarabelRows | None = None, is_rough: bool = False
) -> ConicAnswer:
    """Return the answer of Clarabel; that of a second solve has less regularization, and hardly believes in rays.

    For a program that it finds infeasible, the multipliers are those of its proof, for costs of 0. For one that it
    finds unbounded, x is a direction. `rows` are those of the form; they are made where they are None. A rough solve
    takes about half the time: its linear systems are solved once, without refinement.
    """
    groups = form.groups
    settings = clarabel_settings(TOLERANCE if groups or is_rough else FINE_TOLERANCE)
    if is_rough:
        settings.tol_gap_abs = settings.tol_gap_rel = ROUGH_TOLERANCE
        settings.iterative_refinement_enable = False
    if is_second:
        settings.static_regularization_constant = REGULARIZATION
        settings.tol_infeas_abs = settings.tol_infeas_rel = settings.reduced_tol_infeas_rel = MIN_RAY_TOLERANCE
    settings.chordal_decomposition_enable = any(group.size > MAX_WHOLE_SIZE for group in groups)
    settings.chordal_decomposition_complete_dual = True
    P = None if form.P is None else _upper_triangle(form.P)
    rows = rows or ClarabelRows(form)
    solution = solve_by_clarabel(P, form.c, rows.A, rows.sides(form), rows.cones, settings)
    return _no_answer(form) if solution is None else rows.answer(form, solution)


def _upper_triangle(P: Any) -> Any:
    """Return the upper triangle of a symmetric matrix in compressed rows, in compressed columns."""
    columns = entry_rows(P)  # P is symmetric: its rows are its columns
    is_used = P.indices <= columns
    pointers = np.concatenate([[0], np.cumsum(np.bincount(columns[is_used], minlength=P.shape[0]))])
    return scipy.sparse.csc_matrix((P.data[is_used], P.indices[is_used], pointers), shape=P.shape)


def _unit_rows(is_used: Bool[Array, " n"], entry: float) -> Any:
    """Return an entry times the rows of the unit matrix at some places."""
    places = np.flatnonzero(is_used)
    data = np.full(len(places), entry), places, np.arange(len(places) + 1)
    return scipy.sparse.csr_array(data, shape=(len(places), len(is_used)))


def _no_answer(form: ConeForm) -> ConicAnswer:
    """Return the answer of a solve that ended by a panic, such as one of the eigenvalues of a semidefinite cone."""
    cones = [np.full(len(group.h), np.nan) for group in form.groups]
    rows = np.full(len(form.row_lower), np.nan)
    return ConicAnswer(np.full(form.n, np.nan), np.full(len(form.e), np.nan), rows, cones, "NumericalError")


def without_objective(form: ConeForm) -> ConeForm:
    """Return the form with the objective 0."""
    return replace(form, c=np.zeros(form.n), P=None, offset=0.0)


def _cone(clarabel: Any, group: ConeGroup) -> Any:
    if group.kind == "second_order":
        return clarabel.SecondOrderConeT(group.size)
    if group.kind == "semidefinite":
        return clarabel.PSDTriangleConeT(math.isqrt(group.size))
    return clarabel.ExponentialConeT() if group.kind == "exponential" else clarabel.PowerConeT(group.exponent)


def _triangle(group: ConeGroup) -> Any:
    """Return the matrix that takes the upper triangle of symmetric matrices, column by column, with weights."""
    order = math.isqrt(group.size)
    columns = np.concatenate([np.arange(j + 1) + j * order for j in range(order)])
    weights = np.where(columns % order == columns // order, 1.0, ROOT)
    single = scipy.sparse.csr_array((weights, (np.arange(len(columns)), columns)), shape=(len(columns), group.size))
    return scipy.sparse.kron(scipy.sparse.eye_array(group.count), single, format="csr")


def _full(group: ConeGroup) -> Any:
    """Return the matrix that makes symmetric matrices from their triangles."""
    order = math.isqrt(group.size)
    rows, columns = np.concatenate([np.stack([np.arange(j + 1), np.full(j + 1, j)], axis=1) for j in range(order)]).T
    places = np.arange(len(rows))
    is_diagonal = rows == columns
    weights = np.where(is_diagonal, 1.0, 1 / ROOT)
    single = scipy.sparse.csr_array(
        (
            np.concatenate([weights, weights[~is_diagonal]]),
            (
                np.concatenate([rows + columns * order, (columns + rows * order)[~is_diagonal]]),
                np.concatenate([places, places[~is_diagonal]]),
            ),
        ),
        shape=(group.size, len(places)),
    )
    return scipy.sparse.kron(scipy.sparse.eye_array(group.count), single, format="csr")
