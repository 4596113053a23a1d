"""The weights that a regularizer gives to margins, on the triangle of three examples."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from boostopt._utils.array_types import Array, Float
from boostopt._utils.validation import check_instance, check_positive
from boostopt.boosting.dynamics import triangle_coordinates
from boostopt.errors import ProblemError
from boostopt.functions.regularizers.base import Regularizer
from boostopt.functions.regularizers.separable import Separable
from boostopt.pictures.style import BLACK, BLUE, ORANGE, AxesArgument, make_panels
from boostopt.pictures.trajectories import draw_triangle
from boostopt.programs.cvxpy_functions.cvxpy_regularizer import CvxpyRegularizer

SIMPLEX_BASIS = np.array([[1.0, -1.0, 0.0], [-1.0, -1.0, 2.0]]) / np.sqrt([[2.0], [6.0]])
"""Two orthogonal directions of length 1 along which the sum of three numbers is constant."""

N_DIRECTIONS = 12
"""Number of directions of the margins; every permutation of the examples maps these directions to each other."""

N_STEPS = 10
"""Number of dots along a direction."""

N_RAYS, N_RINGS = 96, 5
"""Number of rays, and of points on each ray from the minimizer of F to the boundary of the domain."""

BISECTION_STEPS = 9
"""Bisection steps for the end of a ray: accurate to a 500th, about a pixel."""

LINE_BREAK = np.full(3, np.nan)

DOMAIN_TOLERANCE = 1e-9
"""Rounding allowance: largest violation of the domain by a point that counts as inside."""

LEVELS = 9
LEVEL_QUANTILE = 0.9
"""The quantile of the values at which the levels end, because barriers are unbounded."""

SHADES: LinearSegmentedColormap = LinearSegmentedColormap.from_list("F", ["#c9c9c9", "#f7f7f7"])
"""Greys that contrast with the lines."""


def weights_on_triangle(regularizer: Regularizer, reach: float = 1.0, axes: AxesArgument = None) -> Figure:
    """Draw the weights d(w) that a regularizer gives to the margins of three examples, on the simplex.

    Twelve lines start at the minimizer of F, where all margins are equal. Along each line, the margins grow apart in a
    fixed ratio, with a dot for each tenth of the way. At its end, the margins minus their mean have the largest
    absolute value `reach`. The shades are levels of F on its domain, lighter where F is larger. If the weights need not
    sum to 1, there are no shades, and the weights are divided by their sum.

    Parameters
    ----------
    regularizer
        The regularizer F of three examples.
    reach
        The largest absolute value of the margins, positive; hypotheses in [-1, 1] cannot exceed 1.
    axes
        Axes to draw on.

    Raises
    ------
    OptionError
        The argument is not a regularizer, or reach is not positive.
    ProblemError
        There are not three examples.
    """
    F = check_instance("regularizer", regularizer, Regularizer, "a regularizer F", "Pass one: program.regularizer.")
    reach = check_positive("reach", reach)
    if F.N != 3:
        raise ProblemError(f"a regularizer must have 3 examples to be drawn; got {F.N}. Make one of 3: c=np.ones(3).")
    panels = make_panels(axes, height=5.0)
    axis = panels.axes[0]
    if F.on_simplex:
        _draw_levels(axis, F)
    draw_triangle(axis, inner=False)
    start = _normalized_weights(F, np.zeros(3))
    lines = [
        [
            start,
            *(_normalized_weights(F, -reach * share * direction) for share in np.arange(1, N_STEPS + 1) / N_STEPS),
            LINE_BREAK,
        ]
        for direction in _directions()
    ]
    # One line with breaks is drawn much faster than twelve lines.
    x, y = triangle_coordinates(np.concatenate(lines)).T
    axis.plot(x, y, color=BLUE, lw=0.8, marker="o", ms=2.5, label=f"$d$ where margins grow apart, to {reach:g}")
    axis.plot(*triangle_coordinates(start), color=BLACK, marker="s", ms=5, ls="", label="equal margins")
    panels.legend(axis)
    return panels.figure


def _directions() -> list[Float[Array, " 3"]]:
    """Return margins with mean 0 and largest absolute value 1."""
    angles = 2 * np.pi * np.arange(N_DIRECTIONS) / N_DIRECTIONS + np.pi / 6
    margins = np.column_stack([np.cos(angles), np.sin(angles)]) @ SIMPLEX_BASIS
    return list(margins / np.abs(margins).max(axis=1, keepdims=True))


def _normalized_weights(F: Regularizer, z: Float[Array, " 3"]) -> Float[Array, " 3"]:
    """Return d at z, with sum 1; nan if all weights are 0."""
    # A bound of F* is not needed here, and would take ten times as long for a described regularizer.
    d = F.maximizer(z) if isinstance(F, CvxpyRegularizer) and not F.has_closed_form_conjugate else F.conjugate_at(z).d
    total = float(d.sum())
    return d / total if total > 0 else LINE_BREAK


def _draw_levels(axis: Axes, F: Regularizer) -> None:
    """Fill the domain by levels of F, on a grid of rays and rings that ends at the border of the domain."""
    centre = F.project(None)
    boundary = np.array(
        [_domain_boundary(F, centre, angle) for angle in np.linspace(0, 2 * np.pi, N_RAYS, endpoint=False)]
    )
    # The outer rings are thinner, because F rises most there.
    rings = centre + np.sin(np.linspace(0, np.pi / 2, N_RINGS))[:, np.newaxis, np.newaxis] * (boundary - centre)
    values = np.array([[F.value(d) for d in ring] for ring in rings])
    x, y = np.moveaxis(triangle_coordinates(_close_rings(rings)), -1, 0)
    finite = values[np.isfinite(values)]
    lowest, highest = float(finite.min()), float(np.quantile(finite, LEVEL_QUANTILE))
    flat = highest - lowest <= DOMAIN_TOLERANCE * max(1.0, abs(lowest))
    if not flat:
        levels = np.linspace(lowest, highest, LEVELS)
        axis.contourf(x, y, _close_rings(np.minimum(values, highest)), levels=levels, cmap=SHADES, extend="both")
    axis.fill(
        x[-1], y[-1], facecolor=SHADES(0.0) if flat else "none", edgecolor=ORANGE, lw=1.5, label="the domain of $F$"
    )


def _close_rings(rings: Float[Array, "rings rays *more"]) -> Float[Array, "rings closed *more"]:
    """Return closed rings."""
    return np.concatenate([rings, rings[:, :1]], axis=1)


def _max_step(F: Regularizer, centre: Float[Array, " 3"], direction: Float[Array, " 3"]) -> float:
    """Return the distance to the boundary in a direction: of the weights' box if known, else of the triangle."""
    lower, upper = (F.lower, F.upper) if isinstance(F, Separable) else (np.zeros(3), np.ones(3))
    room, moves = np.where(direction > 0, upper - centre, centre - lower), direction != 0
    return float((room[moves] / np.abs(direction[moves])).min())


def _domain_boundary(F: Regularizer, centre: Float[Array, " 3"], angle: float) -> Float[Array, " 3"]:
    """Return the last point of the domain from the centre in a direction."""
    direction = np.array([np.cos(angle), np.sin(angle)]) @ SIMPLEX_BASIS
    low, high = 0.0, _max_step(F, centre, direction)
    if max(F.residuals(centre + high * direction).values()) <= DOMAIN_TOLERANCE:
        return centre + high * direction
    for _ in range(BISECTION_STEPS):
        middle = 0.5 * (low + high)
        is_inside = max(F.residuals(centre + middle * direction).values()) <= DOMAIN_TOLERANCE
        low, high = (middle, high) if is_inside else (low, middle)
    return centre + low * direction
