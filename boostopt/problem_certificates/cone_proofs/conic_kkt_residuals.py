"""KKT conditions of a conic program at an answer, by its rows, cones and columns, in floats.

For the multipliers y of the rows and z of the cones, the reduced costs are r = c + P x - Aᵀ y - Gᵀ z. A row or a column
has a multiplier of the sign of a finite bound, and none where it does not touch one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.problem_certificates.cone_proofs.clarabel_answers import ConicAnswer
from boostopt.problem_certificates.cone_proofs.cone_form import ConeForm, ConeGroup
from boostopt.problem_certificates.cone_proofs.cone_membership import distances
from boostopt.problem_certificates.cone_proofs.dual_bound import multipliers_of, reduced_costs


@dataclass(frozen=True, eq=False)
class ConditionResiduals:
    """A condition of all rows, cones or columns of a kind.

    Attributes
    ----------
    kind
        "primal feasibility", "dual feasibility", "complementarity" or "stationarity".
    subject
        The rows, cones or columns.
    statement
        The condition.
    residuals
        The violation of each, at least 0.
    unit
        The unit of the residuals.
    scale
        The size to which they are compared, at least 1.
    names
        The name of each.
    """

    kind: str
    subject: str
    statement: str
    residuals: Float[Array, " k"]
    unit: str
    scale: float
    names: Sequence[str]


def program_conditions(form: ConeForm, answer: ConicAnswer) -> list[ConditionResiduals]:
    """Return the conditions of a form at an answer, in the order of the kinds; those of empty parts are left out."""
    x, rows = answer.x, answer.rows
    activities, costs = form.R @ x, reduced_costs(form, multipliers_of(answer))
    x_scale, cost_scale = _size(x), _size(costs, form.c)
    row_scale = _size(activities)
    values = [group.G @ x + group.h for group in form.groups]
    value = float(form.c @ x) + (0.0 if form.P is None else float(x @ (form.P @ x)))
    product_scale = max(1.0, abs(value))
    primal = [
        ("equations", "E x = e", np.abs(form.E @ x - form.e), _size(form.e), form.equation_names),
        (
            "rows",
            "row_lower <= A x <= row_upper",
            _outside(activities, form.row_lower, form.row_upper),
            row_scale,
            form.row_names,
        ),
        ("columns", "lower <= x <= upper", _outside(x, form.lower, form.upper), x_scale, form.column_names),
    ]
    primal += [
        (_cones(group), "G x + h in the cone", _violations(group, z, False), _size(z), group.names)
        for group, z in zip(form.groups, values, strict=True)
    ]
    dual = [
        (
            "rows",
            "y of the sign of a finite bound",
            _without_bound(rows, form.row_lower, form.row_upper),
            _size(rows),
            form.row_names,
        ),
    ]
    dual += [
        (_cones(group), "z in the dual cone", _violations(group, z, True), _size(z), group.names)
        for group, z in zip(form.groups, answer.cones, strict=True)
    ]
    products = [
        (
            "rows",
            "y (A x - bound) = 0",
            _products(rows, activities, form.row_lower, form.row_upper),
            product_scale,
            form.row_names,
        ),
        ("columns", "r (x - bound) = 0", _products(costs, x, form.lower, form.upper), product_scale, form.column_names),
    ]
    products += [
        (
            _cones(group),
            "<z, G x + h> = 0",
            np.abs((z * value).reshape(group.count, -1).sum(axis=1)),
            product_scale,
            group.names,
        )
        for group, z, value in zip(form.groups, answer.cones, values, strict=True)
    ]
    stationarity = [
        (
            "columns",
            "r of the sign of a finite bound",
            _without_bound(costs, form.lower, form.upper),
            cost_scale,
            form.column_names,
        )
    ]
    kinds = [
        ("primal feasibility", "of the constraint", primal),
        ("dual feasibility", "objective / constraint", dual),
        ("complementarity", "of the objective", products),
        ("stationarity", "objective / variable", stationarity),
    ]
    return [
        ConditionResiduals(kind, subject, statement, residuals, unit, scale, names)
        for kind, unit, items in kinds
        for subject, statement, residuals, scale, names in items
        if len(names)
    ]


def _size(*arrays: Array) -> float:
    """Return the largest absolute value, but at least 1."""
    return max(1.0, *(float(np.abs(array).max(initial=0.0)) for array in arrays))


def _cones(group: ConeGroup) -> str:
    return f"{group.kind.replace('_', '-')} cones"


def _violations(group: ConeGroup, z: Array, is_dual: bool) -> Array:
    """Return how far points lie outside their cones; inf where this is not a number."""
    depth = distances(group, z, is_dual=is_dual)
    return np.where(np.isnan(depth), np.inf, np.maximum(-depth, 0.0))


def _outside(values: Array, lower: Array, upper: Array) -> Array:
    return np.maximum(np.maximum(lower - values, values - upper), 0.0)


def _without_bound(multipliers: Array, lower: Array, upper: Array) -> Array:
    """Return the size of multipliers whose bound is infinite: positive ones need the lower bound."""
    is_wrong = ((multipliers > 0) & ~np.isfinite(lower)) | ((multipliers < 0) & ~np.isfinite(upper))
    return np.where(is_wrong, np.abs(multipliers), 0.0)


def _products(multipliers: Array, values: Array, lower: Array, upper: Array) -> Array:
    """Return the size of multipliers times the distance from the bound of their sign, where this is finite."""
    bounds = np.where(multipliers > 0, lower, upper)
    return np.where(
        np.isfinite(bounds), np.abs(multipliers * (values - np.where(np.isfinite(bounds), bounds, 0.0))), 0.0
    )
