"""Slopes of a described function and of its inequalities at a point, in floating point. Nothing here is proved."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import islice

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.problem_certificates.arithmetic.balls import working_precision
from boostopt.problem_certificates.minorants.stationary_multipliers import (
    float_point,
    group_arguments,
    node_tangents,
    pulled_back,
)
from boostopt.problem_certificates.problem_reader import ReadProblem

WIDTH = 1e-12
"""Relative distance from a kink up to which a slope is between those on both sides."""

MIN_SLOPE = 1e-100
"""Smallest slope: entries far below the largest one have smaller ones, so that steps can change them."""

MAX_KINKS = 200
"""Maximum number of kinks that are listed; with more kinks, a list is of no use."""


class PointSlopes:
    """The slopes of a problem at a point.

    Parameters
    ----------
    problem
        The problem.
    x
        The point, shape (n,).
    """

    def __init__(self, problem: ReadProblem, x: Float[Array, " n"]) -> None:
        self._problem = problem
        with working_precision(), np.errstate(all="ignore"):
            self._point = float_point(problem, x)

    @cached_property
    def _node_slopes(self) -> list[Array]:
        """The slopes of each atom in its arguments."""
        with np.errstate(all="ignore"):
            slopes = [node.function.slopes(node_tangents(node, self._point, WIDTH)) for node in self._problem.nodes]
        return [np.where(np.abs(part) < MIN_SLOPE, 0.0, part) for part in slopes]

    @property
    def is_finite(self) -> bool:
        """True if all atoms have values and slopes at the point."""
        return bool(np.isfinite(self._point.z).all()) and all(np.isfinite(slopes).all() for slopes in self._node_slopes)

    def gradient(self) -> Float[Array, " n"]:
        """Return a subgradient of the objective; at a kink, one of several."""
        return self._pullback(self._problem.objective.float_pullback(np.ones(1)))

    def normals(self) -> Float[Array, "m n"]:
        """Return a subgradient of each inequality."""
        rows = self._problem.inequalities.rows
        return np.array([self._pullback(rows.float_pullback(unit)) for unit in np.eye(len(rows))]).reshape(
            len(rows), self._problem.n
        )

    def kink_gradients(self) -> list[Float[Array, " n"]]:
        """Return the gradients of the arguments of atoms that lie on a kink, at most `MAX_KINKS` of them."""
        return list(islice(self._iterate_kinks(), MAX_KINKS))

    def _iterate_kinks(self) -> Iterator[Float[Array, " n"]]:
        """Yield the gradients of the arguments of atoms that lie on a kink, the last atom first."""
        for node in reversed(self._problem.nodes):
            is_on_kink = node.function.is_on_kink(group_arguments(node, self._point))
            for i in node.members[is_on_kink].tolist():
                unit = (np.arange(len(node.arguments)) == i).astype(float)
                gradient = self._pullback(node.arguments.float_pullback(unit))
                if gradient.any():
                    yield gradient

    def _pullback(self, multipliers: Float[Array, " k"]) -> Float[Array, " n"]:
        """Return the slopes of x of a linear function of all values."""
        return pulled_back(self._problem, self._node_slopes, multipliers)[0]


def describe_linear_form(name: str, coefficients: Float[Array, " n"]) -> str:
    """Return the entries of a linear form in words: "d_17", "d_3 with d_4", "a sum of 12 of d"."""
    entries = np.flatnonzero(coefficients)
    return " with ".join(f"{name}_{n}" for n in entries) if len(entries) < 3 else f"a sum of {len(entries)} of {name}"
