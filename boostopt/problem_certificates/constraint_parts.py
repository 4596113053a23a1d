"""Constraints of CVXPY by their kind: the expression that is <= 0, = 0 or positive semidefinite, and its multiplier."""

from __future__ import annotations

from typing import Any

import numpy as np

from boostopt._utils.cvxpy_tools import cp
from boostopt.errors import ProblemError
from boostopt.problem_certificates.atoms.cone_inequalities import (
    CONE_DUALS,
    CONSTRAINT_REASONS,
    long_power_cone_inequality,
    power_cone_inequality,
)


def constraint_parts(constraint: Any) -> tuple[str, Any, Any]:
    """Return what kind of constraint it is, the expression that is <= 0, = 0 or positive semidefinite, and its dual.

    Raises
    ------
    ProblemError
        The constraint is of a kind that no rule covers.
    """
    name = type(constraint).__name__ if type(constraint).__module__.startswith("cvxpy.") else ""
    dual = present_dual(constraint)
    if name == "Inequality":
        return "inequality", constraint.args[0] - constraint.args[1], dual
    if name == "NonPos":
        return "inequality", constraint.args[0], dual
    if name == "NonNeg":
        return "inequality", -constraint.args[0], dual
    if name == "Equality":
        return "equality", constraint.args[0] - constraint.args[1], dual
    if name == "Zero":
        return "equality", constraint.args[0], dual
    if name == "PSD":
        if len(constraint.args[0].shape) > 2:
            raise ProblemError(
                f"semidefinite constraints must be of one matrix; got shape {constraint.args[0].shape}. Write one "
                "constraint for each matrix."
            )
        return "matrix", constraint.args[0], dual
    if name == "SOC":
        bound, X = constraint.args
        norms = cp.norm(X, 2) if X.ndim <= 1 else cp.norm(X, 2, axis=constraint.axis)
        norms = cp.reshape(norms, bound.shape, order="F") if norms.shape != bound.shape else norms
        return "inequality", norms - bound, dual
    if name == "ExpCone":
        x, y, z = constraint.args
        return "inequality", x + cp.rel_entr(y, z), dual
    if name in ("PowCone3D", "PowCone3DApprox"):
        return "inequality", power_cone_inequality(constraint), dual
    if name == "PowConeND":
        return "inequality", long_power_cone_inequality(constraint), dual
    raise ProblemError(
        "constraints must be inequalities, equalities, semidefinite, second-order, exponential or power cones; got "
        f"{type(constraint).__name__}. {CONSTRAINT_REASONS.get(name, 'Write it with atoms, such as power or norm.')}"
    )


def present_dual(constraint: Any) -> Any:
    """Return the dual that a constraint has now, as the multiplier of what `constraint_parts` returns.

    A cone is one inequality, whose multiplier is one of the duals of the cone, or its size.
    """
    name = type(constraint).__name__
    if name not in CONE_DUALS:
        return getattr(constraint, "dual_value", None)
    dual = constraint.dual_variables[CONE_DUALS[name]].value
    return dual if dual is None or name == "SOC" else np.abs(dual)
