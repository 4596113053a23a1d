"""Values of a problem at a point at which an atom may lie outside its domain, in floating point.

An answer of a solver is off by its tolerance, and so it often lies just outside the domain of an atom: a weight of
-1e-10 has no entropy. So its KKT conditions are measured at the nearest arguments in the domain, beside the distance to
these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.problem_certificates.arithmetic.affine_forms import Row
from boostopt.problem_certificates.arithmetic.balls import ZERO, Ball, balls, midpoints
from boostopt.problem_certificates.atoms.base import Function
from boostopt.problem_certificates.minorants.stationary_multipliers import FloatPoint
from boostopt.problem_certificates.problem_reader import ReadProblem

MAX_MOVE = 1e-3
"""Largest change of an unknown that leads into a domain, relative to the mean size of all."""


@dataclass(frozen=True)
class DomainPoint:
    """The values of a problem at a point, for arguments of atoms that are moved into the domains.

    Attributes
    ----------
    point
        The point and the values; they are not finite where no near argument has a value.
    distances
        The largest distance by which an argument of each value was moved, arguments within arguments included; inf if
        there is no value, shape (n_values,).
    """

    point: FloatPoint
    distances: Float[Array, " k"]

    def distance(self, row: Row) -> float:
        """Return the largest distance of the values in a row."""
        return max((float(self.distances[k]) for k in row), default=0.0)


def domain_point(problem: ReadProblem, x: Float[Array, " n"]) -> DomainPoint:
    """Return the values of a problem at x, for arguments in the domains of the atoms."""
    z: list[Ball] = [*balls(x), *([ZERO] * (problem.n_values - problem.n))]
    result = DomainPoint(FloatPoint(x, np.zeros(0)), np.zeros(problem.n_values))
    for node in problem.nodes:
        arguments = node.arguments.values(z)
        for k, group in enumerate(node.members.tolist()):
            z[node.start + k], distance = _value(node.function, [arguments[i] for i in group])
            inner = max((result.distance(node.arguments.rows[i]) for i in group), default=0.0)
            result.distances[node.start + k] = max(distance, inner)
    return DomainPoint(FloatPoint(x, midpoints(z)), result.distances)


def with_arguments_in_domains(problem: ReadProblem, x: Float[Array, " n"]) -> Float[Array, " n"]:
    """Return x with unknowns that are next to the domain of an atom of them moved there, in floating point.

    Only arguments of a single unknown are moved, by at most `MAX_MOVE` times a typical entry.
    """
    z, limit = np.append(x, np.zeros(problem.n_values - problem.n)), MAX_MOVE * float(np.abs(x).mean()) if len(x) else 0
    result = x.copy()
    for node in problem.nodes:
        matrix = node.arguments.floats
        is_single = np.diff(matrix.indptr) == 1
        is_affine = ~node.arguments.depends_on(np.arange(problem.n_values) >= problem.n)
        u = node.arguments.float_values(z)
        for group in node.members[(is_single & is_affine)[node.members].any(axis=1)].tolist():
            nearest = node.function.domain_point(u[group])
            for i, target in zip(group, nearest.tolist(), strict=True):
                if target != u[i] and is_single[i] and is_affine[i]:
                    place = matrix.indptr[i]
                    j, coefficient = matrix.indices[place], matrix.data[place]
                    value = (target - node.arguments.float_offsets[i]) / coefficient if coefficient else x[j]
                    if abs(value - x[j]) <= limit:
                        result[j] = value
    return result


def _value(function: Function, u: Sequence[Ball]) -> tuple[Ball, float]:
    """Return the value at the nearest arguments in the domain, and the largest distance of an entry to them."""
    value = function.value(u)
    floats = midpoints(u)
    if value.is_finite() or not np.isfinite(floats).all():
        return value, 0.0 if value.is_finite() else math.inf
    point = function.domain_point(floats)
    value = function.value(balls(point))
    return value, float(np.abs(point - floats).max(initial=0.0)) if value.is_finite() else math.inf
