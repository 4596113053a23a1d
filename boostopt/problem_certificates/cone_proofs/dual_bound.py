"""The lower bound: multipliers proved to lie in the dual cones, with exact reduced costs where bounds are missing.

For z in the dual cones, multipliers y of the equations, rho of the rows and any w, and P positive semidefinite,

    <c, x> + <x, P x> / 2 >= <y, e> + <rho, R x> - <z, h> + <r, x> - <w, P w> / 2

on the feasible set, where r = c + P w - Eᵀ y - Rᵀ rho - Gᵀ z. Each term has a minimum over the bounds of x and of R x.
Where a variable has no bound on a side, r must not have its sign. So r_j = mu_j with mu_j >= 0, or mu_j = 0, are
equations in y, rho, z, w and mu. A solution of them is enclosed near the multipliers of a solver.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Bool, Float
from boostopt.functions.formulas.intervals import SMALLEST
from boostopt.functions.numerics.rounding_errors import INFLATION, UNIT
from boostopt.problem_certificates.arithmetic.balls import Enclosure, blended_enclosure, float_ends
from boostopt.problem_certificates.arithmetic.nearest_sparse_solutions import MIN_SIZE
from boostopt.problem_certificates.arithmetic.sparse_float_forms import product, summed_enclosure
from boostopt.problem_certificates.cone_proofs.clarabel_answers import ConicAnswer
from boostopt.problem_certificates.cone_proofs.cone_form import ConeForm, ConeGroup
from boostopt.problem_certificates.cone_proofs.cone_membership import are_members, centre, distances
from boostopt.problem_certificates.cone_proofs.enclosed_equation_solutions import (
    enclose_solution,
    independent_equations,
)
from boostopt.problem_certificates.cone_proofs.semidefinite.dual_faces import DualFace

SIZE_FRACTION = 0.5
"""Fraction of its distance from 0, or from the boundary of a cone, by which a multiplier may change."""

SAFE_FRACTION = 1e-4
"""Fraction of the largest cost: a reduced cost above it needs no equation."""

NO_DUAL_SOLUTION = "no exact solution of the dual equations is proved near the multipliers"
"""The reason for a failure of the equations of reduced costs."""

MAX_LOSS = 1e-12
"""Loss by curvature, relative to the objective, up to which reduced costs have no equations."""


@dataclass(frozen=True, eq=False)
class DualBound:
    """A lower bound by weak duality.

    Attributes
    ----------
    lower
        A float that no feasible point is below; -inf if none is proved.
    reason
        The reason for which it is -inf, in words; "" if it is finite.
    point
        The midpoints of the multipliers that prove it; None if it is -inf.
    """

    lower: float
    reason: str = ""
    point: Multipliers | None = None


@dataclass(frozen=True, eq=False)
class Multipliers:
    """A point of the dual: the multipliers of an answer, and the point w of the tangent.

    Attributes
    ----------
    y, rows, cones
        Multipliers of the equations, of the rows, and of the groups of cones.
    w
        The point of the tangent.
    exact_cones
        Those of the cones in fractions, where floats do not hold enough of their digits; else None.
    face
        The face of semidefinite cones in which they lie exactly; None if no face is used.
    exact_y
        Those of the equations in fractions, where they are so large that floats lose what cancels in them; else None.
    """

    y: Float[Array, " p"]
    rows: Float[Array, " m"]
    cones: list[Float[Array, " _"]]
    w: Float[Array, " n"]
    exact_cones: list[list[Fraction]] | None = None
    face: DualFace | None = None
    exact_y: list[Fraction] | None = None

    def blend(self, end: Multipliers, fraction: float) -> Multipliers:
        """Return the point on the segment to anend."""

        def mean(first: Array, second: Array) -> Array:
            return (1 - fraction) * first + fraction * second

        return Multipliers(
            mean(self.y, end.y),
            mean(self.rows, end.rows),
            [mean(first, second) for first, second in zip(self.cones, end.cones, strict=True)],
            mean(self.w, end.w),
        )


def multipliers_of(answer: ConicAnswer) -> Multipliers:
    """Return the multipliers of an answer."""
    return Multipliers(answer.y, answer.rows, answer.cones, answer.x)


def reduced_costs(form: ConeForm, point: Multipliers) -> Float[Array, " n"]:
    """Return c + P w - Eᵀ y - Rᵀ rho - Gᵀ z in floating point."""
    r = form.c - constraint_slopes(form, point)
    return np.asarray(r if form.P is None else r + form.P @ point.w)


def constraint_slopes(form: ConeForm, point: Multipliers) -> Float[Array, " n"]:
    """Return Eᵀ y + Rᵀ rho + Gᵀ z in floating point."""
    return np.asarray(form.all_rows.T @ np.concatenate([point.y, point.rows, *point.cones]))


def dependent_columns(form: ConeForm) -> Bool[Array, " n"] | None:
    """Return which columns without bounds have equations of reduced costs that follow from those of others."""
    is_free = ~np.isfinite(form.lower) & ~np.isfinite(form.upper)
    blocks = [form.all_transposed] if form.P is None else [form.all_transposed, -form.P]
    A: Any = scipy.sparse.csr_array(scipy.sparse.hstack([block[is_free] for block in blocks], format="csr"))
    norms = np.sqrt(np.asarray((A * A).sum(axis=0)).ravel())
    # A multiplier with an entry, however small or large, is an unknown: none is read as 0.
    sizes = np.where(np.diff(A.tocsc().indptr) > 0, 1 / np.clip(norms, 1e-12, 1 / MIN_SIZE), 0.0)
    rows = independent_equations(A, form.c[is_free], np.zeros(A.shape[1]), sizes)
    if rows is None:
        return None
    is_dependent: Any = is_free.copy()
    is_dependent[np.flatnonzero(is_free)[rows]] = False
    return is_dependent


@dataclass(frozen=True)
class MultiplierChange:
    """The rules by which multipliers change until their reduced costs are exact.

    Attributes
    ----------
    power
        Multipliers change in proportion to this power of their distance from 0; 0 is for multipliers whose reduced
        costs are nearly exact. If it is below 1, only columns whose reduced costs have the wrong sign have equations.
    margin
        Relative distance from 0, or from the boundary of a cone, that multipliers get at least.
    is_snapped
        Whether multipliers that are smaller than the slack of their bound become 0.
    finds_dependence
        Whether equations that follow from others are found where multipliers became 0. This may take much time.
    """

    power: float = 1.0
    margin: float = 0.0
    is_snapped: bool = False
    finds_dependence: bool = True


def dual_bound(
    form: ConeForm,
    point: Multipliers,
    change: MultiplierChange,
    shifts: Float[Array, " n"] | None,
    dependent: Bool[Array, " n"] | None = None,
    face: DualFace | None = None,
) -> DualBound:
    """Return a lower bound by multipliers near a point.

    Parameters
    ----------
    form
        The program, to be minimized.
    point
        Multipliers, of any origin.
    change
        The rules by which the multipliers change.
    shifts
        Numbers such that P + diag(shifts) is positive semidefinite; None if P is None. Where they are negative, the
        objective has curvature, and reduced costs of any sign lose about their squares.
    dependent
        Columns without bounds whose equations follow from those of others.
    face
        A face of semidefinite cones in which multipliers are looked for.
    """
    if face is not None and not face.is_exact:
        return DualBound(-math.inf, "the vectors of the face are not whole numbers with the pivots that it states")
    start = _start(form, point, change, shifts, face)
    if change.power == 0.0 and face is None:
        # These hardly change: what is not proved of them as they are, is not proved with their errors either.
        pairs = zip(form.groups, start.point.cones, strict=True)
        for group, z in (pair for pair in pairs if pair[0].kind == "semidefinite"):
            is_bad = ~are_members(group, (z, np.zeros(len(z))), is_dual=True)
            if is_bad.any():
                return _failed_multiplier(group, is_bad)
    enclosed = _enclosed(form, start, dependent, change.is_snapped and change.finds_dependence, face)
    if enclosed is None:
        return DualBound(-math.inf, NO_DUAL_SOLUTION)
    loss = 0.0
    if shifts is not None and (shifts > 0).any():
        loss = _curvature_loss(form, enclosed.w, shifts)
        if not math.isfinite(loss):
            is_open = (shifts > 0) & ~(np.isfinite(form.lower) & np.isfinite(form.upper))
            name = form.column_names[int(np.argmax(is_open))]
            return DualBound(
                -math.inf, f"the quadratic form is not proved positive semidefinite, and {name} has an infinite bound"
            )
    if start.is_curved.any() and shifts is not None:
        return _curved_bound(form, enclosed, loss, start.is_curved, shifts)
    return _bound(form, enclosed, loss, face=face)


def enclosed_dual_point(
    form: ConeForm, point: Multipliers, change: MultiplierChange, dependent: Bool[Array, " n"] | None = None
) -> EnclosedDualPoint | None:
    """Return multipliers near a point whose reduced costs are as they must be; None if none are proved.

    They need not lie in the dual cones. The arguments are those of `dual_bound`, for a form with a linear objective.
    """
    start = _start(form, point, change, None, None)
    return _enclosed(form, start, dependent, change.is_snapped and change.finds_dependence, None)


def bound_between(form: ConeForm, first: EnclosedDualPoint, second: EnclosedDualPoint, fraction: float) -> DualBound:
    """Return the bound by the multipliers that are a fraction of the way from some to others.

    Their reduced costs are this mean of those of both ends. The objective of the form must be linear.
    """

    def mean(a: Enclosure, b: Enclosure) -> Enclosure:
        return blended_enclosure(a, b, fraction)

    return _bound(
        form,
        EnclosedDualPoint(
            mean(first.y, second.y),
            mean(first.rows, second.rows),
            [mean(a, b) for a, b in zip(first.cones, second.cones, strict=True)],
            first.w,
            mean(first.r, second.r),
        ),
        0.0,
    )


def _curvature_loss(form: ConeForm, w: Enclosure, shifts: Float[Array, " n"]) -> float:
    """Return a bound of <x - w, diag(shifts) (x - w)> / 2 over the bounds of x."""
    mids, radii = w
    with np.errstate(all="ignore"):
        distance = np.maximum(np.abs(form.upper - mids), np.abs(mids - form.lower)) + radii
        # A square of a small distance may underflow, and its product with a large shift may not.
        halves = (shifts * distance + SMALLEST) * distance * ((1 + 16 * UNIT) / 2) + SMALLEST
        terms = np.where(shifts > 0, halves, 0.0)
    return math.fsum(terms.tolist()) * INFLATION if np.isfinite(terms).all() else math.inf


@dataclass(frozen=True, eq=False)
class _Start:
    """Multipliers with by how much they may change, and the columns whose reduced costs are equations."""

    point: Multipliers
    y_sizes: Float[Array, " p"]
    row_sizes: Float[Array, " m"]
    cone_sizes: list[Float[Array, " _"]]
    w_sizes: Float[Array, " n"]
    columns: Bool[Array, " n"]
    is_curved: Bool[Array, " n"]
    mu: Float[Array, " n"]
    mu_sizes: Float[Array, " n"]


def _start(
    form: ConeForm,
    point: Multipliers,
    change: MultiplierChange,
    shifts: Float[Array, " n"] | None,
    face: DualFace | None,
) -> _Start:
    """Return multipliers with the signs that they need."""
    margin, power, is_snapped = change.margin, change.power, change.is_snapped
    has_lower, has_upper = np.isfinite(form.row_lower), np.isfinite(form.row_upper)
    scale = form.cost_scale
    rows = np.where((point.rows > 0) & ~has_lower, 0.0, point.rows)
    rows = np.where((rows < 0) & ~has_upper, 0.0, rows)
    row_scales = 1 / np.maximum(form.R_norms, 1e-12)
    if is_snapped:
        values = form.R @ point.w
        with np.errstate(all="ignore"):
            slack = np.where(rows >= 0, values - form.row_lower, form.row_upper - values)
        rows = np.where(np.abs(rows) < np.maximum(slack, 0.0), 0.0, rows)
        row_sizes = np.abs(rows)
    else:
        floor = margin * scale * row_scales
        rows = np.where(has_lower & ~has_upper, np.maximum(rows, floor), rows)
        rows = np.where(has_upper & ~has_lower, np.minimum(rows, -floor), rows)
        row_sizes = np.abs(rows)
    cones, cone_sizes = list[Any](), list[Any]()
    for k, (group, z) in enumerate(zip(form.groups, point.cones, strict=True)):
        completed = z if face is None else face.completed(k, (z, np.zeros(len(z))))[0]
        depth = distances(group, completed, is_dual=True)
        sizes = np.maximum(np.abs(z.reshape(group.count, -1)).max(axis=1), 1e-8 * scale)
        step = np.maximum(margin * sizes - depth, 0.0)
        interior = z + np.repeat(step, group.size) * 2 * centre(group)
        if group.kind == "semidefinite":
            order = math.isqrt(group.size)
            matrices = interior.reshape(-1, order, order)
            interior = ((matrices + matrices.transpose(0, 2, 1)) / 2).ravel()
        cones.append(interior)
        cone_sizes.append(np.repeat(np.maximum(depth + step, 1e-14 * sizes), group.size))
    point = Multipliers(point.y, rows, cones, point.w)
    r = reduced_costs(form, point)
    has_low, has_high = np.isfinite(form.lower), np.isfinite(form.upper)
    signed = np.where(has_low & ~has_high, r, np.where(has_high & ~has_low, -r, 0.0))  # must be at least 0
    one_sided = form.has_one_bound
    limit = SAFE_FRACTION * scale if power == 1.0 or is_snapped else 0.0
    columns = (~has_low & ~has_high) | (one_sided & (signed <= limit))
    is_curved = columns & _has_small_loss(form, point.w, r, shifts)
    columns = columns & ~is_curved
    floor = 0.0 if is_snapped else margin * scale
    mu = np.where(one_sided, np.maximum(signed, floor), 0.0)
    if is_snapped:
        with np.errstate(all="ignore"):
            slack = np.where(has_low, point.w - form.lower, form.upper - point.w)
        mu = np.where(one_sided & (mu < np.maximum(slack, 0.0)), 0.0, mu)
    w_scale = 1.0 if form.P is None else np.maximum(1.0, np.abs(point.w))

    def size_power(sizes: Array, scales: Any) -> Array:
        return np.where(sizes > 0, SIZE_FRACTION * scales * (sizes / scales) ** power, 0.0)

    return _Start(
        point,
        np.maximum(np.abs(point.y), max(1.0, scale) / np.maximum(form.E_norms, 1e-12)),
        size_power(row_sizes, np.maximum(np.abs(rows), scale * row_scales)),
        [size_power(sizes, np.maximum(sizes, scale)) for sizes in cone_sizes],
        w_scale * (form.curvature_sizes > 0),
        columns,
        is_curved,
        mu,
        size_power(np.where(columns, mu, 0.0), np.maximum(mu, scale)),
    )


def _half_quotients(sizes: Float[Array, " n"], curvatures: Float[Array, " n"]) -> Float[Array, " n"]:
    """Return numbers of at least sizes^2 / (2 curvatures), also where a square underflows or a product overflows."""
    return sizes * (sizes / curvatures + SMALLEST) / 2 * INFLATION + SMALLEST


def _has_small_loss(
    form: ConeForm, w: Float[Array, " n"], r: Float[Array, " n"], shifts: Float[Array, " n"] | None
) -> Bool[Array, " n"]:
    """Return where curvature makes the loss by a reduced cost of any sign negligible."""
    if shifts is None:
        return np.zeros(form.n, dtype=bool)
    value = float(form.c @ w + (form.P @ w) @ w / 2)
    with np.errstate(all="ignore"):
        losses = np.where(shifts < 0, _half_quotients(np.abs(r), -shifts), np.inf)
    return losses <= MAX_LOSS * max(1.0, abs(value)) / form.n


@dataclass(frozen=True, eq=False)
class EnclosedDualPoint:
    """Enclosures of multipliers, and of the reduced costs that they give exactly."""

    y: Enclosure
    rows: Enclosure
    cones: list[Enclosure]
    w: Enclosure
    r: Enclosure


def _enclosed(
    form: ConeForm,
    start: _Start,
    dependent: Bool[Array, " n"] | None,
    has_dependence: bool,
    face: DualFace | None,
) -> EnclosedDualPoint | None:
    """Return multipliers that satisfy the equations of reduced costs exactly; None if none are proved."""
    point, columns = start.point, start.columns
    P = form.P
    signs = form.bound_signs
    parts = [point.y, point.rows, *point.cones]
    sizes = [start.y_sizes, start.row_sizes, *start.cone_sizes]
    has_mu = bool(form.has_one_bound.any())
    if has_mu:
        parts, sizes = [*parts, start.mu], [*sizes, np.where(columns, start.mu_sizes, 0.0)]
    if P is not None:
        parts, sizes = [*parts, point.w], [*sizes, start.w_sizes]
    is_row = columns if dependent is None else columns & ~dependent
    system: Any = form.dual_equations if is_row.all() else form.dual_equations[is_row]
    costs, joint, joint_sizes = form.c[is_row], np.concatenate(parts), np.concatenate(sizes)
    if face is not None:
        widths = [len(part) for part in parts]
        for k in range(len(form.groups)):
            equations = face.equations(k)
            if not equations.shape[0]:  # second-order cones have none
                continue
            margins = sum(widths[: 2 + k]), sum(widths[3 + k :])
            borders: list[Any] = [scipy.sparse.csr_array((equations.shape[0], width)) for width in margins]
            system = scipy.sparse.vstack(
                [system, scipy.sparse.hstack([borders[0], equations, borders[1]])], format="csr"
            )
        costs = np.concatenate([costs, np.zeros(system.shape[0] - len(costs))])
    if has_dependence or face is not None:
        rows = independent_equations(system, costs, joint, joint_sizes)
        if rows is None:
            return None
        system, costs = system[rows], costs[rows]
    solution = enclose_solution(system, costs, joint, joint_sizes, not form.groups)
    if solution is None:
        return None
    cuts = np.cumsum([len(part) for part in parts])[:-1]
    mids, radii = (np.split(part, cuts) for part in solution)
    pieces = list(zip(mids, radii, strict=True))
    zeros, n_groups = np.zeros(form.n), len(form.groups)
    y, rows, cones = pieces[0], pieces[1], pieces[2 : 2 + n_groups]
    mu = pieces[2 + n_groups] if has_mu else (zeros, zeros)
    # A multiplier of a semidefinite matrix may have an asymmetric solution: its symmetric part gives the same sums.
    w = pieces[-1] if P is not None else (point.w, zeros)
    r: Enclosure = (signs * mu[0], mu[1])
    if not columns.all():
        all_costs = _enclosed_costs(form, y, rows, cones, w)
        r = (np.where(columns, r[0], all_costs[0]), np.where(columns, r[1], all_costs[1]))
    return EnclosedDualPoint(y, rows, cones, w, r)


def _enclosed_costs(
    form: ConeForm, y: Enclosure, rows: Enclosure, cones: Sequence[Enclosure], w: Enclosure
) -> Enclosure:
    """Return an enclosure of the reduced costs of multipliers in enclosures."""
    r: Enclosure = (form.c, np.zeros(form.n))
    for matrix, value in [
        (form.E_transposed, y),
        (form.R_transposed, rows),
        *zip(form.G_transposed, cones, strict=True),
    ]:
        r = summed_enclosure(r, product(matrix, None, (-value[0], value[1])))
    return r if form.P is None else summed_enclosure(r, product(form.P, None, w))


def _curved_bound(
    form: ConeForm, enclosed: EnclosedDualPoint, loss: float, is_curved: Bool[Array, " n"], shifts: Float[Array, " n"]
) -> DualBound:
    """Return the bound with r x + s (x - w)^2 / 2 >= r w - r^2 / (2 s) where the objective has curvature s."""
    (r, r_radii), (w, w_radii) = enclosed.r, enclosed.w
    mids, radii, curvatures = r[is_curved], r_radii[is_curved], -shifts[is_curved]
    sizes = np.abs(mids) + radii
    with np.errstate(all="ignore"):
        losses = _half_quotients(sizes, curvatures)
        products = mids * w[is_curved]
        rounding = UNIT * np.abs(products) + SMALLEST
        errors = losses + (rounding + radii * np.abs(w[is_curved]) + sizes * w_radii[is_curved]) * INFLATION
    if not (np.isfinite(products).all() and np.isfinite(errors).all()):
        return DualBound(-math.inf, "the bound overflows")
    rest = np.where(is_curved, 0.0, r), np.where(is_curved, 0.0, r_radii)
    return _bound(form, replace(enclosed, r=rest), loss, products.tolist(), errors.tolist())


def _bound(
    form: ConeForm,
    enclosed: EnclosedDualPoint,
    loss: float,
    further_terms: Sequence[float] = (),
    further_errors: Sequence[float] = (),
    face: DualFace | None = None,
) -> DualBound:
    """Return the bound by proved multipliers."""
    terms, errors = [form.offset, *further_terms], [loss, *further_errors]
    for k, (group, z) in enumerate(zip(form.groups, enclosed.cones, strict=True)):
        is_bad = ~are_members(group, z if face is None else face.completed(k, z), is_dual=True)
        if is_bad.any():
            return _failed_multiplier(group, is_bad)
        _add_products(terms, errors, (-z[0], z[1]), group.h)
    _add_products(terms, errors, enclosed.y, form.e)
    for values, low, high, names, word in (
        (enclosed.rows, form.row_lower, form.row_upper, form.row_names, "multiplier"),
        (enclosed.r, form.lower, form.upper, form.column_names, "reduced cost"),
    ):
        mids, radii = values
        smallest, largest = float_ends(values)
        is_bad = ((smallest < 0) & ~np.isfinite(high)) | ((largest > 0) & ~np.isfinite(low))
        is_bad |= ~np.isfinite(mids) | ~np.isfinite(radii)
        if is_bad.any():
            i = int(np.argmax(is_bad))
            return DualBound(-math.inf, f"the {word} of {names[i]} is not proved to have the sign of its finite bound")
        is_positive, is_negative = smallest >= 0, largest <= 0
        limits = np.where(is_positive, low, high)
        is_used = (is_positive | is_negative) & (largest != smallest) | (is_positive ^ is_negative)
        _add_products(terms, errors, (mids[is_used], radii[is_used]), limits[is_used])
        is_open = ~is_positive & ~is_negative  # both bounds are finite
        sizes = np.maximum(np.abs(smallest), np.abs(largest))[is_open]
        # min over both bounds of r x is at least mid * middle - |r| * half width; the corners are simpler and exact.
        corners = np.minimum(
            np.minimum(smallest[is_open] * low[is_open], smallest[is_open] * high[is_open]),
            np.minimum(largest[is_open] * low[is_open], largest[is_open] * high[is_open]),
        )
        terms += corners.tolist()
        limit_sizes = np.maximum(np.abs(low[is_open]), np.abs(high[is_open]))
        errors += (UNIT * (sizes * limit_sizes) * INFLATION + 2 * SMALLEST).tolist()  # sizes may be subnormal
    if form.P is not None:
        _add_curvature(terms, errors, form, enclosed.w)
    try:
        total = math.fsum([*terms, *(-error for error in errors if error)])
    except (OverflowError, ValueError):
        return DualBound(-math.inf, "the bound overflows")
    if not math.isfinite(total):
        return DualBound(-math.inf, "the bound overflows")
    mids = Multipliers(enclosed.y[0], enclosed.rows[0], [z[0] for z in enclosed.cones], enclosed.w[0])
    return DualBound(math.nextafter(total, -math.inf), point=mids)


def _failed_multiplier(group: ConeGroup, is_bad: Bool[Array, " k"]) -> DualBound:
    """Return no bound, because some multipliers of a group are not proved."""
    return DualBound(-math.inf, f"the multiplier of {group.names[int(np.argmax(is_bad))]} is not proved")


def _add_products(terms: list[float], errors: list[float], values: Enclosure, limits: Float[Array, " k"]) -> None:
    """Add products of an enclosure with finite numbers, and bounds of their errors."""
    mids, radii = values
    is_used = limits != 0
    mids, radii, limits = mids[is_used], radii[is_used], limits[is_used]
    products = mids * limits
    terms += products.tolist()
    errors += ((UNIT * np.abs(products) + SMALLEST + radii * np.abs(limits)) * INFLATION + SMALLEST).tolist()


def _add_curvature(terms: list[float], errors: list[float], form: ConeForm, w: Enclosure) -> None:
    """Add -<w, P w> / 2."""
    mids, radii = w
    slopes, slope_errors = product(form.P, None, w)
    products = -slopes * mids / 2
    sizes = UNIT * np.abs(products) * 2 + SMALLEST
    sizes = sizes + (np.abs(slopes) * radii + slope_errors * (np.abs(mids) + radii)) / 2 + 2 * SMALLEST
    is_used = (slopes != 0) | (slope_errors != 0)
    terms += products[is_used].tolist()
    errors += (sizes[is_used] * INFLATION).tolist()
