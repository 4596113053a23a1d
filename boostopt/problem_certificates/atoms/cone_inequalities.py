"""Cones as inequalities: the expression that is not positive exactly in the cone, and where its multiplier is."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from boostopt._utils.cvxpy_tools import cp

CONSTRAINT_REASONS = {
    "RelEntrConeQuad": "It approximates the cone of relative entropy by quadrature: write cp.rel_entr(x, y) <= z.",
    "OpRelEntrConeQuad": "It approximates the cone of operator relative entropy by quadrature: no exact meaning.",
    "FiniteSet": "Its variables take finitely many values: certify the problem at each of them.",
    "SvecPSD": "CVXPY makes it while it solves: pass the problem as it was stated, with X >> 0.",
}
"""The reason why a constraint has no rule, and what to write, by the name of its class in CVXPY."""


CONE_DUALS = {"SOC": 0, "ExpCone": 0, "PowCone3D": 2, "PowCone3DApprox": 2, "PowConeND": 1}
"""The position of the dual whose size is the multiplier of the inequality that stands for a cone, by its class."""


def power_cone_inequality(constraint: Any) -> Any:
    """Return |z| - x^a y^(1 - a) of the cones of a `PowCone3D`.

    The geometric mean has the domain x >= 0, y >= 0, as the cone. 1 - a is exact.
    """
    x, y, z = (cp.vec(argument, order="C") for argument in constraint.args)
    exponents = np.broadcast_to(constraint.alpha.value, constraint.args[0].shape or (1,)).ravel().tolist()
    means = [_mean([x[i], y[i]], [Fraction(a), 1 - Fraction(a)]) for i, a in enumerate(exponents)]
    return cp.abs(z) - cp.hstack(means)


def long_power_cone_inequality(constraint: Any) -> Any:
    """Return |z| - prod W^a of the cones of a `PowConeND`.

    The exponents of a cone are divided by their exact sum, which CVXPY lets differ from 1 by rounding.
    """
    argument, z = constraint.args
    exponents = np.asarray(constraint.alpha.value, dtype=float)
    lines = argument.T if argument.ndim == 2 and constraint.axis == 0 else argument
    exponents = exponents.T if argument.ndim == 2 and constraint.axis == 0 else np.atleast_2d(exponents)
    entries = cp.vec(lines, order="C")
    k = exponents.shape[1]
    means = [
        _mean([entries[i * k + j] for j in range(k)], [Fraction(a) for a in row])
        for i, row in enumerate(exponents.tolist())
    ]
    return cp.abs(cp.vec(z, order="C")) - cp.hstack(means)


def _mean(entries: Sequence[Any], weights: Sequence[Fraction]) -> Any:
    """Return the geometric mean of numbers by exact weights."""
    return cp.geo_mean(cp.hstack(entries), p=list(weights), approx=False)
