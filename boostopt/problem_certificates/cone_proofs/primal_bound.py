"""The upper bound: a point that is proved feasible, and the objective there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse

from boostopt._utils.array_types import Array, Float
from boostopt.functions.formulas.intervals import SMALLEST
from boostopt.functions.numerics.rounding_errors import INFLATION, UNIT
from boostopt.problem_certificates.arithmetic.balls import Enclosure, float_ends
from boostopt.problem_certificates.arithmetic.nearest_sparse_solutions import factorization
from boostopt.problem_certificates.arithmetic.sparse_float_forms import product
from boostopt.problem_certificates.cone_proofs.clarabel_answers import ConicAnswer
from boostopt.problem_certificates.cone_proofs.cone_form import ConeForm, dense, scaled_rows, small_or_sparse
from boostopt.problem_certificates.cone_proofs.cone_membership import are_members, centre, distances
from boostopt.problem_certificates.cone_proofs.cone_metrics import block_metric
from boostopt.problem_certificates.cone_proofs.enclosed_equation_solutions import (
    EquationSystem,
    enclose_solution,
    independent_equations,
)

SIZE_FRACTION = 0.5
"""Fraction of the distance from its bounds by which an unknown may change."""

MIN_STEPS = 2
"""Least number of steps: the second one removes the rounding errors of the first."""

MAX_STEPS = 6
"""Maximum number of steps, where equations depend on each other nearly."""

SMALL_RESIDUAL = 2.0**-41
"""Residual of the equations, over the size of the point, at which no further step is made."""

MIN_SLACK = 1e-12
"""Relative slack that a point gets at least."""

REGULARIZATION = 1e-15
"""Relative increase of the diagonal of the system."""

NO_SOLUTION = "no exact solution of the equations is proved: they may depend on each other"
"""The reason for a failure where no other one is known."""


@dataclass(frozen=True, eq=False)
class ProvedPoint:
    """A point that is proved feasible.

    Attributes
    ----------
    x
        An enclosure that contains it.
    upper
        A float that the objective does not exceed there.
    exact_x
        The point in fractions, where floats do not hold enough of its digits; else None.
    """

    x: Enclosure
    upper: float
    exact_x: Sequence[Fraction] | None = None


@dataclass(frozen=True)
class PointFailure:
    """The reason why a point is not proved feasible, in words."""

    reason: str


def proved_point(
    form: ConeForm,
    x: Float[Array, " n"],
    margin: float,
    power: float = 1.0,
    finds_dependence: bool = False,
) -> ProvedPoint | PointFailure:
    """Return a feasible point near x, or why none is proved.

    Parameters
    ----------
    form
        The program.
    x
        A point.
    margin
        Relative distance from bounds that unknowns get at least.
    power
        Unknowns change in proportion to this power of their distance from their bounds.
    finds_dependence
        Whether to find equations that follow from others, where those of the form are not proved independent.
    """
    start, sizes = point_with_sizes(form, x, margin)
    scale = np.maximum(1.0, np.abs(start))
    sizes = np.where(sizes > 0, scale * (sizes / scale) ** power, 0.0)
    if not finds_dependence:
        return checked_point(form, start, sizes)
    rows = independent_equations(form.E, form.e, start, sizes, are_dependent=True)
    if rows is None:
        return PointFailure(NO_SOLUTION)
    return checked_point(replace(form, E=form.E[rows], e=form.e[rows]), start, sizes)


def checked_point(form: ConeForm, start: Float[Array, " n"], sizes: Float[Array, " n"]) -> ProvedPoint | PointFailure:
    """Return the feasible point nearest to a start in some scale, or why none is proved."""
    enclosure = enclose_solution(form.E, form.e, start, sizes, not form.groups)
    if enclosure is None:
        return PointFailure(NO_SOLUTION)
    return enclosed_point(form, enclosure)


def enclosed_point(form: ConeForm, enclosure: Enclosure) -> ProvedPoint | PointFailure:
    """Return the point of an enclosure that contains a solution of the equations, if all other constraints hold."""
    reason = _violation(form, enclosure)
    if reason:
        return PointFailure(reason)
    upper = objective_upper(form, enclosure)
    return ProvedPoint(enclosure, upper) if upper < math.inf else PointFailure("the objective overflows")


def refined_point(form: ConeForm, answer: ConicAnswer) -> Float[Array, " n"] | None:
    """Return a point near an answer with the slacks that the answer states in the cones; None if none is found.

    The equations of an interior-point method hold up to more than the slack of its point. The point has short steps of
    the slacks in the metric of the cones, so that they stay there.

    Parameters
    ----------
    form
        A program with independent equations, and second-order cones with few rows.
    answer
        An answer with slacks.
    """
    if answer.slacks is None:
        return None
    x, sizes = _inner(answer.x, form.lower, form.upper)
    values, row_sizes = _inner(form.R @ x, form.row_lower, form.row_upper)
    no_offsets, blocks, targets = np.zeros(len(form.e) + len(values)), list[Any](), [form.e, values]
    for group, s in zip(form.groups, answer.slacks, strict=True):
        limits = MIN_SLACK * np.maximum(1.0, np.abs(s.reshape(group.count, -1)).max(axis=1))
        step = np.maximum(limits - distances(group, s), 0.0)
        targets.append(s + np.repeat(step, group.size) * 2 * centre(group))
        blocks.append(block_metric(group, targets[-1]))
    if any(block is None for block in blocks):
        return None
    transposed = small_or_sparse(form.all_transposed)
    weights, diagonal = sizes**2, np.concatenate([np.zeros(len(form.e)), row_sizes**2])
    if isinstance(transposed, np.ndarray):
        metric = scipy.linalg.block_diag(np.diag(diagonal), *map(dense, blocks))
        system = transposed.T @ (weights[:, None] * transposed) + metric
        system[np.diag_indices(len(system))] *= 1 + REGULARIZATION
    else:
        metric = scipy.sparse.block_diag([scipy.sparse.diags_array(diagonal), *blocks], format="csr")
        system = scipy.sparse.csc_array(transposed.T @ scaled_rows(transposed, weights) + metric)
        system = system + scipy.sparse.diags_array(REGULARIZATION * system.diagonal(), format="csc")
    factor = factorization(system)
    if factor is None:
        return None
    target, offset = np.concatenate(targets), np.concatenate([no_offsets, *(group.h for group in form.groups)])
    limit = SMALL_RESIDUAL * max(1.0, float(np.abs(x).max(initial=0.0)))
    for k in range(MAX_STEPS):
        residual = target - offset - transposed.T @ x
        if k >= MIN_STEPS and np.abs(residual[: len(form.e)]).max(initial=0.0) <= limit:
            break
        step = factor.solve(residual)
        x, target = x + weights * (transposed @ step), target - metric @ step
    has_slack = all((distances(group, group.G @ x + group.h) > 0).all() for group in form.groups)
    return x if has_slack and np.isfinite(x).all() else None


def _inner(values: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
    """Return values with slack in their bounds, and the smaller of their slack and their size."""
    scales = np.maximum(1.0, np.abs(values))
    with np.errstate(all="ignore"):
        widths = np.fmin((upper - lower) / 2, MIN_SLACK * scales)
    inner = np.clip(values, lower + widths, upper - widths)
    return inner, np.minimum(np.minimum(inner - lower, upper - inner), scales)


def system_near(form: ConeForm, x: Float[Array, " n"]) -> EquationSystem:
    """Return the system of the equations of a form whose unknowns change as far as they may at a point."""
    start, sizes = point_with_sizes(form, x, 0.0)
    scale = np.maximum(1.0, np.abs(start))
    sizes = np.where(sizes > 0, scale * np.sqrt(sizes / scale), 0.0)
    return EquationSystem(form.E, form.e, sizes, not form.groups)


def point_with_sizes(
    form: ConeForm, x: Float[Array, " n"], margin: float
) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """Return a point within the bounds, and by how much each unknown may change.

    The cones are not counted where no equation changes an unknown.
    """
    lower, upper = form.lower, form.upper
    with np.errstate(all="ignore"):
        width = np.where(np.isfinite(upper) & np.isfinite(lower), upper - lower, np.inf)
        lower_margin = np.where(np.isfinite(lower), np.minimum(margin * np.maximum(1.0, np.abs(lower)), width / 2), 0.0)
        upper_margin = np.where(np.isfinite(upper), np.minimum(margin * np.maximum(1.0, np.abs(upper)), width / 2), 0.0)
        start = np.clip(x, lower + lower_margin, np.maximum(upper - upper_margin, lower + lower_margin))
        start = np.clip(start, lower, upper)
        sizes = np.minimum(np.minimum(start - lower, upper - start), np.maximum(1.0, np.abs(start)))
    sizes = np.where(form.is_fixed, 0.0, np.maximum(sizes, 0.0))
    for group in form.groups if len(form.e) else ():
        depth = np.maximum(distances(group, group.G @ start + group.h), 1e-12)
        limits = np.repeat(depth, group.size)[:, None]
        coefficients = scipy.sparse.coo_array(group.G)
        bounds = limits.ravel()[coefficients.row] / np.abs(coefficients.data)
        if group.kind != "semidefinite":
            np.minimum.at(sizes, coefficients.col, np.maximum(bounds, 1e-12))
    return start, SIZE_FRACTION * sizes


def _violation(form: ConeForm, x: Enclosure) -> str:
    """Return the first bound, row or cone that an enclosure is not proved to satisfy; "" if it satisfies all."""
    low, high = float_ends(x)
    is_bad = ~((low >= form.lower) & (high <= form.upper))
    if is_bad.any():
        return f"no slack is proved in the bounds of {_first(form.column_names, is_bad)}"
    if len(form.row_lower):
        low, high = float_ends(product(form.R, None, x))
        is_bad = ~((low >= form.row_lower) & (high <= form.row_upper))
        if is_bad.any():
            return f"no slack is proved in {_first(form.row_names, is_bad)}"
    for group in form.groups:
        is_bad = ~are_members(group, group.values(x))
        if is_bad.any():
            return f"no slack is proved in {_first(group.names, is_bad)}"
    return ""


def _first(names: Sequence[str], flags: Array) -> str:
    count = int(flags.sum())
    return names[int(np.argmax(flags))] + (f" and {count - 1} others" if count > 1 else "")


def objective_upper(form: ConeForm, x: Enclosure) -> float:
    """Return a float that the objective does not exceed on an enclosure."""
    return _sum_up(*objective_terms(form, x))


def objective_terms(form: ConeForm, x: Enclosure) -> tuple[list[float], list[float]]:
    """Return floats, and bounds of their errors, whose sum is the objective on an enclosure."""
    mids, radii = x
    slopes, slope_errors = form.c, np.zeros(form.n)
    if form.P is not None:
        slopes, slope_errors = product(form.P, None, (mids / 2, radii / 2), (form.c, np.zeros(form.n)))
        slope_errors = slope_errors + SMALLEST * form.curvature_sizes  # halves of subnormals
    terms = slopes * mids
    errors = UNIT * np.abs(terms) + SMALLEST + np.abs(slopes) * radii + slope_errors * (np.abs(mids) + radii)
    errors = np.where((slopes == 0) & (slope_errors == 0), 0.0, errors * INFLATION)
    return [*terms.tolist(), form.offset], [*errors.tolist(), 0.0]


def _sum_up(terms: Sequence[float], errors: Sequence[float]) -> float:
    try:
        total = math.fsum([*terms, *(error for error in errors if error)])
    except (OverflowError, ValueError):
        return math.inf
    return math.nextafter(total, math.inf) if math.isfinite(total) else math.inf
