"""Starting points of the interior point method: central points with equal complementary products.

The method stalls from points whose products differ by orders of magnitude. Therefore it does not start at an earlier
answer, whose small products have different sizes. After a new column, these products are small for the wrong weights,
too. The method stores central iterates of its runs, and mixes the answers of other solvers with the centre.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Float, HypothesisVector
from boostopt.backends.interior.interior_form import InteriorProblem
from boostopt.backends.interior.newton_steps import Iterate
from boostopt.functions.numerics.root_finding import find_root

CENTRE_FRACTION = 0.1
"""Fraction of the centre of the box in the weights of a start."""

MIN_CENTRE_FRACTION, MAX_CENTRE_FRACTION = 1e-4, 1e-1
"""Bounds of the fraction of the centre in a start from another solver's answer: the root of the gap (measured: SCS)."""

PRODUCT_FRACTION = 0.1
"""Size of the products at another solver's answer, as a fraction of its gap divided by the number of products."""

GAP_PER_SQUARED_VIOLATION = 3.0
"""The start is the last iterate whose estimated gap is at least this multiple of the squared violation of a new column.

Measured on columns of largest edge, N = 1000 and 5000. A multiple of the violation itself would choose too early an
iterate for small violations, and too late an iterate for large ones, from which the method stalls.
"""

MAX_STATIONARITY_FACTOR = 10.0
"""Residual of stationarity, relative to the products, up to which a start uses the multipliers of an iterate."""


def cold_start_point(problem: InteriorProblem, d: ExampleVector, mu: float) -> Iterate:
    """Return the point at d, moved slightly inwards, with all products equal to mu."""
    lower_distances = (1.0 - CENTRE_FRACTION) * problem.distances_to_lower(d) + CENTRE_FRACTION * problem.centre
    lower_distances *= _edge_scaling(problem, lower_distances)
    x, s = _slacks(problem, problem.row_values_with_fixed(problem.weights_inside_box(lower_distances)), mu)
    v = np.divide(mu, s, out=np.zeros(len(s)), where=problem.inequality)
    return _stationary_point(problem, lower_distances, s, v, x, problem.margins(v), mu)


ORDERS = range(-6, 1)
"""Orders of magnitude of the estimated gap for which a path stores an iterate."""


@dataclass(frozen=True, eq=False)
class CentralPath:
    """The central iterates of a run, one for each order of magnitude of its estimated gap.

    Attributes
    ----------
    iterates
        By order of magnitude, the estimated scaled gap and the iterate.
    size
        The factor between an estimated scaled gap and its numerator, for the violations of new columns.
    """

    iterates: Mapping[int, tuple[float, Iterate]]
    size: float

    @classmethod
    def continuing(cls, earlier: CentralPath | None, first_estimate: float) -> CentralPath:
        """Return the path of a new run: the iterates of an earlier run with larger gaps than the first estimate."""
        earlier_iterates = earlier.iterates.items() if earlier else ()
        return cls({order: (gap, point) for order, (gap, point) in earlier_iterates if gap > first_estimate}, 1.0)

    def with_iterate(self, estimate: float, size: float, point: Iterate) -> CentralPath:
        """Return the path with an iterate added. It replaces one of the same order, because later ones are central."""
        order = int(np.floor(np.log10(max(estimate, 1e-300))))
        iterates = {**self.iterates, order: (estimate, point)} if order in ORDERS else self.iterates
        return CentralPath(iterates, size)

    @property
    def points(self) -> list[tuple[float, Iterate]]:
        """Estimated scaled gaps and iterates, the largest gap first."""
        return [self.iterates[order] for order in sorted(self.iterates, reverse=True)]

    def is_compatible(self, problem: InteriorProblem) -> bool:
        """Return whether the path fits a problem with the same examples and at least as many rows."""
        if not self.points or not problem.f.on_simplex:
            return False  # Without the simplex, a new column changes all weights: no iterate is nearer than the centre.
        last = self.points[-1][1]
        equal_sizes = len(last.lower_distance) == len(problem.lower) and len(last.x) == len(problem.rows.g)
        return equal_sizes and len(last.v) <= len(problem.rows.b)

    def iterate_with_gap(self, estimate: float) -> Iterate:
        """Return the last iterate whose estimated gap is at least `estimate`, the first iterate if no gap is."""
        larger = [point for size, point in self.points if size >= estimate]
        return larger[-1] if larger else self.points[0][1]


def warm_start_point_from_path(problem: InteriorProblem, path: CentralPath) -> Iterate:
    """Return a starting point from a compatible path."""
    last = path.points[-1][1]
    rows = problem.rows
    images = problem.row_values_with_fixed(problem.weights_inside_box(np.minimum(last.lower_distance, problem.width)))
    excess = float(np.maximum(images + rows.B @ last.x - rows.b, 0.0)[len(last.v) :].max(initial=0.0))
    point = path.iterate_with_gap(GAP_PER_SQUARED_VIOLATION * (excess / path.size) ** 2)
    lower_distances = np.where(point.lower_distance < problem.width, point.lower_distance, 0.5 * problem.width)
    return _add_rows(problem, point, lower_distances)


def _add_rows(problem: InteriorProblem, point: Iterate, lower_distances: Float[Array, " n"]) -> Iterate:
    """Return the point with slacks and multipliers for the rows that have been added."""
    d, k, n_old_rows = problem.weights_inside_box(lower_distances), len(problem.rows.b), len(point.v)
    mu = point.products.total / (2 * len(lower_distances) + n_old_rows)
    rows = problem.rows
    slack = (rows.b - problem.row_values_with_fixed(d) - rows.B @ point.x)[n_old_rows:]
    min_slack = float(point.s[problem.inequality[:n_old_rows]].min(initial=np.inf))
    new_slacks = np.where(slack > min_slack, slack, float(np.median(point.s)) if n_old_rows else 1.0)
    s = np.append(point.s, np.where(problem.inequality[n_old_rows:], new_slacks, 0.0))
    v = np.append(
        point.v, np.divide(mu, new_slacks, out=np.zeros(k - n_old_rows), where=problem.inequality[n_old_rows:])
    )
    m = problem.margins(v)
    slopes = problem.slopes(d) + problem.edge_slope_margins + m
    upper_distances = problem.width - lower_distances
    residual = float(np.abs(slopes + point.beta - point.zeta + point.psi) @ lower_distances)
    if (
        residual <= MAX_STATIONARITY_FACTOR * mu * len(lower_distances)
        and np.array_equal(lower_distances, point.lower_distance)
        and (upper_distances > 0).all()
    ):
        return Iterate(lower_distances, upper_distances, point.zeta, point.psi, s, v, point.x, point.beta, m)
    return _stationary_point(problem, lower_distances, s, v, point.x, m, mu)


def warm_start_point_from_answer(
    problem: InteriorProblem, d: ExampleVector, w: HypothesisVector, gap: float
) -> Iterate:
    """Return a starting point near the answer of another solver, which has this certified scaled gap."""
    centre_fraction = float(np.clip(np.sqrt(gap), MIN_CENTRE_FRACTION, MAX_CENTRE_FRACTION))
    lower_distances = (1.0 - centre_fraction) * problem.distances_to_lower(d) + centre_fraction * problem.centre
    mu = PRODUCT_FRACTION * gap * problem.mass / len(lower_distances)
    rows = problem.rows
    images = problem.row_values_with_fixed(problem.weights_inside_box(lower_distances))
    v = _multipliers(problem, w)
    if rows.g.any():  # The multipliers of the rows of a variable sum to g. They share the difference equally.
        shortage = np.maximum(rows.g + rows.B.T @ v, 0.0)
        v = v - rows.B @ (shortage / problem.epigraph_rows.sum(axis=0))
    x = np.linalg.solve(rows.Q, -rows.B.T @ v) if problem.has_quadratic else np.zeros(len(rows.g))
    if len(x) and not problem.has_quadratic:
        x = np.where(problem.epigraph_rows, (images - rows.b)[:, np.newaxis], -np.inf).max(axis=0) + mu * len(v)
    slacks = rows.b - images - rows.B @ x
    # A weight of 0 gets a positive multiplier, at most the one whose product with the slack is central.
    min_slacks = centre_fraction * max(float(np.abs(v).sum()), 1.0) / max(len(v), 1)
    min_slacks = np.minimum(min_slacks, np.divide(mu, slacks, out=np.full(len(v), np.inf), where=slacks > 0))
    v = np.where(problem.inequality, np.maximum((1.0 - centre_fraction) * v, min_slacks), v)
    s = np.where(problem.inequality, np.maximum(slacks, np.divide(mu, v, out=np.zeros(len(v)), where=v > 0)), 0.0)
    return _stationary_point(problem, lower_distances, s, v, x, problem.margins(v), mu)


def _multipliers(problem: InteriorProblem, w: HypothesisVector) -> Float[Array, " k"]:
    """Return multipliers of the rows that give the hypothesis weights w, or nearly w."""
    rows, target = problem.rows, w - problem.rows.slope
    if rows.A is None:
        v = target
    elif problem.inequality.all():
        v = rows.A @ target  # Rows e and -e: the positive parts.
    else:
        v = np.linalg.lstsq(rows.A.T, target)[0]
    return np.where(problem.inequality, np.maximum(v, 0.0), v)


def _stationary_point(
    problem: InteriorProblem,
    lower_distances: Float[Array, " n"],
    s: Float[Array, " k"],
    v: Float[Array, " k"],
    x: Float[Array, " j"],
    m: Float[Array, " n"],
    mu: float,
) -> Iterate:
    """Return the stationary point in d, zeta - psi = rest + beta, with products of geometric mean mu."""
    upper_distances = problem.width - lower_distances
    slopes = problem.slopes(problem.weights_inside_box(lower_distances)) + problem.edge_slope_margins + m
    beta = 0.0
    if problem.f.on_simplex:
        inner = np.minimum(lower_distances, upper_distances) > CENTRE_FRACTION * problem.centre
        beta = -float(np.median(slopes[inner] if inner.any() else slopes))
    zeta, psi = _pair_with_difference(slopes + beta, mu**2 / (lower_distances * upper_distances))
    return Iterate(lower_distances, upper_distances, zeta, psi, s, v, x, beta, m)


def single_row_rays(problem: InteriorProblem, images: Float[Array, " k"]) -> Iterator[HypothesisVector]:
    """Yield the hypothesis weights of a single row, for each row that the images violate, the most violated first."""
    rows = problem.rows
    excess = images - rows.b
    violations = np.where(rows.equality, np.abs(excess), np.maximum(excess, 0.0))
    for row in np.argsort(-violations)[: np.count_nonzero(violations)]:
        v = np.zeros(len(excess))
        v[row] = np.sign(excess[row])
        yield rows.weights(v) + rows.slope


def _pair_with_difference(
    r: Float[Array, " n"], product: Float[Array, " n"]
) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """Return positive numbers with the given difference and product."""
    larger = 0.5 * (np.abs(r) + np.sqrt(r**2 + 4.0 * product))
    smaller = product / larger
    return np.where(r > 0, larger, smaller), np.where(r > 0, smaller, larger)


EDGE_SCALING_EXPONENT = 0.25
"""Factor of the weights if their sum is free and their edges exceed the bounds (measured)."""


def _edge_scaling(problem: InteriorProblem, lower_distances: Float[Array, " n"]) -> float:
    """Return the factor of weights with a free sum that brings their edges nearer to the bounds."""
    if problem.f.on_simplex or not problem.may_be_infeasible or not (problem.rows.b > 0).all():
        return 1.0
    images = problem.row_values_with_fixed(problem.weights_inside_box(lower_distances))
    largest = float((images / problem.rows.b).max(initial=0.0))
    return largest**-EDGE_SCALING_EXPONENT if largest > 1.0 else 1.0


def _slacks(problem: InteriorProblem, images: Float[Array, " k"], mu: float) -> tuple[Array, Array]:
    """Return (x, s) with s > 0 at inequalities and the products with v = mu / s in balance with x."""
    rows, j = problem.rows, len(problem.rows.g)
    slacks = rows.b - images
    # Multipliers of the size of slopes, slacks of the size of weights.
    min_slacks = np.sqrt(mu if problem.f.on_simplex else mu * problem.mass / len(problem.lower))
    if rows.g.any():  # a variable above its rows, as the largest edge is: sum mu / (x + free) = g
        x = np.array(
            [
                _solve_epigraph_variable(slacks[variables], mu, g)
                for variables, g in zip(problem.epigraph_rows.T, rows.g, strict=True)
            ]
        )
        return x, np.where(problem.inequality, slacks - rows.B @ x, 0.0)
    if j:  # squares: v = Q x, its margins of the size of slopes, and s v = mu
        curvature, slacks = np.diag(rows.Q), problem.epigraph_rows.T @ slacks
        root = np.hypot(slacks, np.sqrt(4.0 * mu / curvature))
        x = np.where(slacks > 0, 2.0 * mu / curvature / (np.maximum(slacks, 0.0) + root), 0.5 * (root - slacks))
        x /= max(1.0, float(np.abs(problem.margins(problem.epigraph_rows @ (curvature * x))).max()))
        # Very small multipliers would have slacks larger than all weights.
        x = np.maximum(x, mu / curvature / (np.maximum(slacks, 0.0) + np.sqrt(mu / curvature) + min_slacks))
        v = problem.epigraph_rows @ (curvature * x)
        return x, np.divide(mu, v, out=np.zeros(len(v)), where=problem.inequality & (v > 0))
    return np.zeros(0), np.where(problem.inequality, np.maximum(slacks, min_slacks), 0.0)


def _solve_epigraph_variable(slacks: Float[Array, " k"], mu: float, g: float) -> float:
    """Return the x > -free for which sum mu / (x + free) = g."""
    largest = float((-slacks).max())

    def shortage(x: float) -> float:
        return g - float((mu / (x + slacks)).sum())

    return find_root(shortage, largest + 0.5 * mu / g, largest + 2.0 * len(slacks) * mu / g)
