"""Checks of the closed forms of a sum over the examples, each against `values` alone, and of its modulus.

The other checks test F* and its consequences. These checks find the wrong line of the author's code.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Float
from boostopt.backends.base import describe_derivative_jump
from boostopt.checks.references.measurements import (
    CLOSED_FORM_TOLERANCE,
    Findings,
    Measurement,
    NotApplicable,
    call_component,
    relative_scale,
    require_number,
    require_vector,
)
from boostopt.checks.references.random_test_points import RegularizerProbe
from boostopt.functions.regularizers.separable import Separable

N_POINTS = 6
"""Number of points of the box at which slopes are compared."""

DIFFERENCE_STEP = 1e-5
"""Step of the differences, as a share of the width of the box."""

N_GRID_POINTS = 41
"""Number of points of the box with which the maximizer is compared."""

CURVATURE_TOLERANCE = 1e-3
"""Allowed relative error between a second derivative and differences of the first."""

NOT_SEPARABLE = "it is no sum over the examples in closed form (Separable)"


def check_derivatives(probe: RegularizerProbe) -> Findings:
    """Check that `derivatives` lie between the one-sided differences of `values`, as slopes of a convex function do."""
    F = probe.F
    if not isinstance(F, Separable):
        yield NotApplicable(NOT_SEPARABLE)
        return
    for x, h in _interior_points(F, probe.rng(21)):
        f = [require_vector(call_component(F.values, x + k * h), F.N, "values") for k in (-1, 0, 1)]
        derivatives = require_vector(call_component(F.derivatives, x), F.N, "derivatives")
        wide = h > 0
        width, sizes = np.where(wide, h, 1.0), np.abs(f).max(axis=0)
        outside = np.maximum((f[1] - f[0]) / width - derivatives, derivatives - (f[2] - f[1]) / width)[wide]
        rounding = (CLOSED_FORM_TOLERANCE * (1.0 + np.abs(derivatives)) + 1e-14 * (1.0 + sizes) / width)[wide]
        yield from _worst_measurement(
            outside, rounding, "derivatives is no slope of values: it misses differences by", x[wide]
        )


def check_maximizers(probe: RegularizerProbe) -> Findings:
    """Check that no other tested point x of the box has a larger y x - f(x) than `maximizers`."""
    F = probe.F
    if not isinstance(F, Separable):
        yield NotApplicable(NOT_SEPARABLE)
        return
    lower, upper = _box_bounds(F)
    width = upper - lower
    for y in (
        *probe.directions,
        *(point.multipliers["beta"] * np.ones(F.N) for point in probe.conjugate_points if "beta" in point.multipliers),
    ):
        best = require_vector(call_component(F.maximizers, y), F.N, "maximizers")
        violation = np.maximum(lower - best, best - upper)
        yield Measurement(
            float(violation.max()),
            CLOSED_FORM_TOLERANCE * relative_scale(float(width.max())),
            "maximizers leave the box",
            {"y": y},
        )
        value = y * best - require_vector(call_component(F.values, best), F.N, "values")
        for share in np.linspace(0.0, 1.0, N_GRID_POINTS):
            x = lower + share * width
            f = require_vector(call_component(F.values, x), F.N, "values")
            sizes = np.abs(value) + np.abs(y * x) + np.where(np.isfinite(f), np.abs(f), 0.0)
            description = "y x - values(x) is larger at another x than at maximizers(y), by"
            yield from _worst_measurement(y * x - f - value, CLOSED_FORM_TOLERANCE * (1.0 + sizes), description, y)


def check_curvatures(probe: RegularizerProbe) -> Findings:
    """Check that `curvatures` are the slopes of `derivatives`, which do not jump."""
    F = probe.F
    if not isinstance(F, Separable):
        yield NotApplicable(NOT_SEPARABLE)
        return
    jump = call_component(lambda: F.derivative_jump)
    if jump is not None:
        yield Measurement(jump[-1], CLOSED_FORM_TOLERANCE, describe_derivative_jump(type(F).__name__, *jump))
    for x, h in _interior_points(F, probe.rng(22)):
        ends = [require_vector(call_component(F.derivatives, x + k * h), F.N, "derivatives") for k in (-1, 1)]
        curvatures = require_vector(call_component(F.curvatures, x), F.N, "curvatures")
        wide = h > 0
        slope = (ends[1] - ends[0])[wide] / (2.0 * h[wide])
        rounding = 1e-14 * np.abs(ends).max(axis=0)[wide] / h[wide]
        tolerance = CURVATURE_TOLERANCE * (1.0 + np.abs(slope)) + rounding
        description = "curvatures is no slope of derivatives: it misses differences by"
        yield from _worst_measurement(np.abs(curvatures[wide] - slope), tolerance, description, x[wide])


def check_strong_convexity(probe: RegularizerProbe) -> Findings:
    """Check that F lies below its chords by at least the amount that the modulus in the 1-norm requires."""
    F = probe.F
    modulus = require_number(call_component(lambda: F.strong_convexity), "strong_convexity")
    if modulus == 0.0:
        yield NotApplicable("there is none")
        return
    rng, pairs = probe.rng(23), list[tuple[ExampleVector, ExampleVector]]()
    for _ in range(4 * len(probe.weights)):
        i, j = rng.integers(len(probe.weights), size=2)
        d, share = probe.weights[i], rng.choice([1.0, 0.1])
        pairs.append((d, d + share * (probe.weights[j] - d)))
    pairs += [
        (d - move, d + move) for d in probe.weights for move in (0.3 * _balanced_move(call_component(F.room, d)),)
    ]
    for d, second in pairs:
        ends = probe.value(d), probe.value(second)
        if np.isinf(ends).any():  # a barrier at weight 0: a chord with an infinite value has no information
            continue
        distance = float(np.abs(d - second).sum())
        midpoint_excess = probe.value(0.5 * (d + second)) + 0.125 * modulus * distance**2 - 0.5 * sum(ends)
        description = "F(middle) + strong_convexity |d - d'|^2 / 8 exceeds the mean of F at the ends by"
        yield Measurement(
            midpoint_excess, CLOSED_FORM_TOLERANCE * relative_scale(*ends), description, {"d": d, "d'": second}
        )


def _balanced_move(sizes: ExampleVector) -> ExampleVector:
    """Return the sizes with signs, some made smaller, so that they sum to 0.

    Along such steps, in proportion to the weights, an entropy has its modulus in the 1-norm.
    """
    signs, total = np.zeros(len(sizes)), 0.0
    for n in np.argsort(-sizes):
        signs[n] = 1.0 if total <= 0.0 else -1.0
        total += signs[n] * sizes[n]
    up, down = float(sizes[signs > 0].sum()), float(sizes[signs < 0].sum())
    smaller = min(up, down)
    return np.where(signs > 0, sizes * (smaller / up if up else 0.0), -sizes * (smaller / down if down else 0.0))


def _box_bounds(F: Separable) -> tuple[ExampleVector, ExampleVector]:
    """Return the bounds of the box."""
    return (
        require_vector(call_component(lambda: F.lower), F.N, "lower"),
        require_vector(call_component(lambda: F.upper), F.N, "upper"),
    )


def _interior_points(F: Separable, rng: np.random.Generator) -> Iterator[tuple[ExampleVector, ExampleVector]]:
    """Yield points well inside the box, each with a step for every weight."""
    lower, upper = _box_bounds(F)
    width = upper - lower
    for _ in range(N_POINTS):
        yield lower + rng.uniform(0.05, 0.95, F.N) * width, DIFFERENCE_STEP * width


def _worst_measurement(
    values: Float[Array, " n"], tolerances: Float[Array, " n"], description: str, x: Float[Array, " n"]
) -> Iterator[Measurement]:
    """Yield the value that is worst in proportion to its tolerance; NaN is worst of all."""
    if len(values):
        n = int(np.argmax(np.where(np.isnan(values), np.inf, values / tolerances)))
        yield Measurement(float(values[n]), float(tolerances[n]), description, {"n": n, "argument": float(x[n])})
