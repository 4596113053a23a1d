"""Checks of a regularizer, one property at a time.

The checks compare the closed forms with each other (Fenchel-Young, differences, midpoints), and with optima that a
conic solver finds from the CVXPY expressions alone. So a mistake in one place shows as a disagreement with another.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import nnls

from boostopt._utils.validation import check_seed
from boostopt.checks.check_report import CheckReport
from boostopt.checks.cvxpy_checks import NO_CVXPY_EXPRESSION, check_cones, check_cvxpy_value
from boostopt.checks.domain_checks import (
    check_domain,
    check_mass,
    check_residuals,
    check_room,
    check_support,
    check_unsmoothed,
    check_value_bound,
    forbidden,
)
from boostopt.checks.references.cvxpy_references import check_dcp, minimum_over_auxiliary
from boostopt.checks.references.measurements import (
    CLOSED_FORM_TOLERANCE,
    FEASIBILITY_TOLERANCE,
    SOLVER_TOLERANCE,
    Findings,
    Measurement,
    NotApplicable,
    Note,
    absolute_difference,
    assertion,
    call_component,
    excess_over,
    fenchel_young_gap,
    relative_scale,
    require_instance,
    require_number,
    require_vector,
    run_check,
)
from boostopt.checks.references.random_test_points import LARGE_ARGUMENT, N_SOLVES, RegularizerProbe
from boostopt.checks.separable_checks import (
    check_curvatures,
    check_derivatives,
    check_maximizers,
    check_strong_convexity,
)
from boostopt.errors import OptionError, short_repr
from boostopt.functions.regularizers.base import Regularizer, StationarityConditions

DIFFERENCE_STEP = 1e-6
"""Step of the differences: far above the rounding of F*, far below the scale 1 / eta on which an entropy's F* bends."""

GRADIENT_TOLERANCE = 1e-3
"""The distance of one-sided differences below which F* has a gradient; otherwise it has a kink."""

ACTIVE_TOLERANCE = 1e-10
"""A weight counts as at an end of the box within this share of its upper bound."""

N_GRADIENT_POINTS = 3
"""Number of arguments at which all slopes of F* are compared."""

N_SEGMENTS = 12
"""Number of segments on which the middle is compared with the ends."""


def check_regularizer(F: object, random_state: int = 0) -> CheckReport:
    """Check the contract of `Regularizer` for a regularizer.

    Parameters
    ----------
    F
        The regularizer, a `Regularizer` of a few examples, because solvers are run.
    random_state
        Seed of the points at which it is evaluated.

    Returns
    -------
    One check for each property, in the order of `REGULARIZER_CHECKS`.

    Raises
    ------
    OptionError
        F is not a `Regularizer`.
    """
    if not isinstance(F, Regularizer):
        raise OptionError(
            f"expected a Regularizer; got {short_repr(F)}. Subclass boostopt.authoring.Regularizer or Separable."
        )
    probe = RegularizerProbe(F, check_seed("random_state", random_state), N_SOLVES)
    checks = tuple(run_check(name, check(probe)) for name, check in REGULARIZER_CHECKS.items())
    return CheckReport(type(F).__name__, checks)


def _check_minimizer(probe: RegularizerProbe) -> Findings:
    """Check that `project(None)` minimizes F."""
    F = probe.F
    if not F.has_closed_form_conjugate:
        yield NotApplicable("F* is an upper bound only")
        return
    start = probe.project(None)
    value, minimum = probe.value(start), -probe.conjugate_at(np.zeros(F.N)).value
    description = "project(None) is no minimizer: F there minus the minimum -F*(0)"
    yield Measurement(
        absolute_difference(value, minimum), CLOSED_FORM_TOLERANCE * relative_scale(value), description, {"d": start}
    )


def _check_fenchel_young(probe: RegularizerProbe) -> Findings:
    """Check the Fenchel-Young inequality F(d) + F*(z) >= <d, z>."""
    values = [probe.value(d) for d in probe.weights]
    for z, point in zip(probe.directions, probe.conjugate_points, strict=True):
        for d, value in zip(probe.weights, values, strict=True):
            gap, rounding = fenchel_young_gap(value, point.value, d, z)
            yield Measurement(-gap, rounding, "F(d) + F*(z) - <d, z> is negative", {"z": z, "d": d})


def _check_maximizer(probe: RegularizerProbe) -> Findings:
    """Check that the maximizer lies in the domain of F and attains F*(z)."""
    F = probe.F
    if not F.has_closed_form_conjugate:
        yield Note("F* is an upper bound only: its d need not attain it; only its domain was checked")
    for z, point in zip(probe.directions, probe.conjugate_points, strict=True):
        yield Measurement(
            probe.domain_violation(point.d),
            FEASIBILITY_TOLERANCE,
            "the maximizer leaves the domain",
            {"z": z, "d": point.d},
        )
        if F.has_closed_form_conjugate:
            gap, rounding = fenchel_young_gap(probe.value(point.d), point.value, point.d, z)
            yield Measurement(abs(gap), rounding, "|F(d) + F*(z) - <d, z>| at the maximizer d", {"z": z, "d": point.d})


def _check_conjugate(probe: RegularizerProbe) -> Findings:
    """Check that F* is the supremum of <z, d> - F(d), or an upper bound that is close near a maximizer."""
    F = probe.F
    if not probe.has_cvxpy_expression:
        yield NotApplicable(NO_CVXPY_EXPRESSION)
        return
    if not F.has_closed_form_conjugate:
        yield Note("F* is an upper bound only: it must be at least the supremum, and close to it near a maximizer")
    for z, point in list(zip(probe.directions, probe.conjugate_points, strict=True))[: probe.solves]:
        supremum = probe.supremum.value(z)
        if supremum is None:
            yield Note("no solver found the supremum at one argument")
            continue
        scale = relative_scale(point.value, supremum, float(np.abs(z).max()))
        if F.has_closed_form_conjugate:
            description = f"|F*(z) - sup <z, d> - F(d)|, F*(z) = {point.value:.9g} and the supremum is {supremum:.9g}"
            yield Measurement(
                absolute_difference(point.value, supremum), SOLVER_TOLERANCE * scale, description, {"z": z}
            )
            continue
        d = probe.project(probe.variable.value)
        # The slopes at a point that misses the supremum by epsilon, and so the bound, are off by about its root.
        missed = max(probe.supremum.accuracy, supremum - (float(z @ d) - probe.value(d)))
        nearby = probe.conjugate_at(z, d)
        for bound in (point.value, nearby.value):
            yield Measurement(
                supremum - bound, SOLVER_TOLERANCE * scale, "the supremum exceeds the bound F*(z)", {"z": z}
            )
        if float(np.abs(z).max()) <= 1.0 and np.isfinite(supremum):
            description = "the bound F*(z), computed near a maximizer, exceeds the supremum"
            yield Measurement(nearby.value - supremum, math.sqrt(missed) * scale, description, {"z": z})


def _check_gradient(probe: RegularizerProbe) -> Findings:
    """Check that the maximizer is a subgradient: it lies between the one-sided differences of F*, at kinks too."""
    F = probe.F
    if not F.has_closed_form_conjugate:
        yield NotApplicable("F* is an upper bound only")
        return
    pinned, count = 0, 0
    for z, point in list(zip(probe.directions, probe.conjugate_points, strict=True))[:N_GRADIENT_POINTS]:
        for n, unit in enumerate(np.eye(F.N)):
            h = DIFFERENCE_STEP * relative_scale(float(np.abs(z).max())) / 2.0
            forward = (probe.conjugate_at(z + h * unit).value - point.value) / h
            backward = (point.value - probe.conjugate_at(z - h * unit).value) / h
            pinned, count = (
                pinned + (abs(forward - backward) <= GRADIENT_TOLERANCE * relative_scale(probe.size) / 2.0),
                count + 1,
            )
            outside = max(backward - float(point.d[n]), float(point.d[n]) - forward)
            tolerance = (
                1e-14 * relative_scale(point.value, float(np.abs(point.d) @ np.abs(z))) / h * np.sqrt(F.N)
                + SOLVER_TOLERANCE
            )
            description = (
                f"weight {n} of the maximizer is no slope of F*: it lies outside [{backward:.6g}, {forward:.6g}]"
            )
            yield Measurement(outside, tolerance, description, {"z": z, "d": point.d})
    yield Note("at kinks of F* the weight must lie between the slopes; F* has one slope", pinned, count)


def _check_stationarity(probe: RegularizerProbe) -> Findings:
    """Check at the maximizer that z is the slope of F plus multipliers of active constraints, of right signs."""
    F = probe.F
    if not F.has_closed_form_conjugate:
        yield NotApplicable("F* is an upper bound only")
        return
    for z, point in zip(probe.directions, probe.conjugate_points, strict=True):
        conditions = require_instance(
            call_component(F.stationarity, point.d, ACTIVE_TOLERANCE), StationarityConditions, "stationarity"
        )
        ends = (conditions.gradient, conditions.lower, conditions.upper)
        slopes, lower, upper = (require_vector(part, F.N, "stationarity") for part in ends)
        at_upper, at_lower = point.d >= upper * (1.0 - ACTIVE_TOLERANCE), point.d <= lower + ACTIVE_TOLERANCE * upper
        eye, ones = np.eye(F.N), np.ones((F.N, 1 if F.on_simplex else 0))
        columns = np.hstack([ones, -ones, eye[:, at_upper], -eye[:, at_lower], conditions.normals])
        rest = z - slopes
        finite = bool(np.isfinite(rest).all())
        remainder = rest - columns @ call_component(nnls, columns, rest)[0] if finite and columns.size else rest
        description = "z is not the slope of F at the maximizer plus multipliers of active constraints: left over"
        tolerance = SOLVER_TOLERANCE * relative_scale(float(np.abs(z).max()), float(np.abs(slopes).max()))
        yield Measurement(float(np.abs(remainder).max()), tolerance, description, {"z": z, "d": point.d})


def _check_convexity(probe: RegularizerProbe) -> Findings:
    """Check the convexity of F and F* on segments."""
    F, rng = probe.F, probe.rng(4)
    values = [probe.value(d) for d in probe.weights]
    for _ in range(N_SEGMENTS):
        i, j = rng.integers(len(values), size=2)
        middle = 0.5 * (probe.weights[i] + probe.weights[j])
        raised = excess_over(probe.value(middle), 0.5 * (values[i] + values[j]))
        description = "F at the middle exceeds the mean of F at the ends"
        scale = relative_scale(values[i], values[j])
        yield Measurement(
            raised, CLOSED_FORM_TOLERANCE * scale, description, {"d": probe.weights[i], "d'": probe.weights[j]}
        )
        if not F.has_closed_form_conjugate:
            continue
        i, j = rng.integers(len(probe.conjugate_points), size=2)
        middle = 0.5 * (probe.directions[i] + probe.directions[j])
        raised = excess_over(
            probe.conjugate_at(middle).value, 0.5 * (probe.conjugate_points[i].value + probe.conjugate_points[j].value)
        )
        description = "F* at the middle exceeds the mean of F* at the ends"
        scale = relative_scale(probe.conjugate_points[i].value, probe.conjugate_points[j].value)
        yield Measurement(
            raised, CLOSED_FORM_TOLERANCE * scale, description, {"z": probe.directions[i], "z'": probe.directions[j]}
        )


def _check_gaps(probe: RegularizerProbe) -> Findings:
    """Check that the gaps are non-negative and sum to F(d) + F*(z) - <d, z>."""
    values = [probe.value(d) for d in probe.weights]
    for z, point in zip(probe.directions, probe.conjugate_points, strict=True):
        for d, value in zip(probe.weights, values, strict=True):
            gaps = probe.gaps(d, z, point)
            expected, rounding = fenchel_young_gap(value, point.value, d, z)
            yield Measurement(-float(gaps.min()), rounding, "a gap is negative", {"z": z, "d": d, "gaps": gaps})
            description = f"the gaps sum to {gaps.sum():.9g} and F(d) + F*(z) - <d, z> = {expected:.9g}"
            yield Measurement(absolute_difference(float(gaps.sum()), expected), rounding, description, {"z": z, "d": d})


def _check_cvxpy_value(probe: RegularizerProbe) -> Findings:
    """Check that `cvxpy_value` has the values and the domain of F."""
    yield from check_cvxpy_value(probe, probe.weights, "d")
    yield from forbidden(probe)


def _check_cvxpy_conjugate(probe: RegularizerProbe) -> Findings:
    """Check that `cvxpy_conjugate` has the values of F*."""
    import cvxpy as cp

    F = probe.F
    if not F.has_closed_form_conjugate:
        yield NotApplicable("there is no closed form of F*")
        return
    yield from check_dcp(F.cvxpy_conjugate, -cp.Variable(F.N))
    for z, point in list(zip(probe.directions, probe.conjugate_points, strict=True))[: probe.solves]:
        theirs = minimum_over_auxiliary(F.cvxpy_conjugate, z)
        if theirs is None:
            yield Note("no solver found the minimum at one argument")
            continue
        description = f"|F*(z) - min cvxpy_conjugate(z)|, F*(z) = {point.value:.9g} and CVXPY's is {theirs:.9g}"
        scale = relative_scale(point.value, float(np.abs(z).max()))
        yield Measurement(absolute_difference(point.value, theirs), SOLVER_TOLERANCE * scale, description, {"z": z})


def _check_finite_values(probe: RegularizerProbe) -> Findings:
    """Check that F*, d, the gaps and the multipliers are finite for large arguments, and that F* still holds."""
    F = probe.F
    # Where F itself is infinite, as a barrier is at the caps, so are its gaps.
    d = next((d for d in probe.weights[1:] if np.isfinite(probe.value(d))), None)
    for z in (
        LARGE_ARGUMENT * probe.directions[0],
        LARGE_ARGUMENT * probe.directions[3],
        np.full(F.N, LARGE_ARGUMENT),
        np.full(F.N, -LARGE_ARGUMENT),
    ):
        point = probe.conjugate_at(z)
        gaps = np.zeros(0) if d is None else probe.gaps(d, z, point)
        multipliers = call_component(
            lambda point=point: np.concatenate([[0.0], *(np.ravel(np.asarray(x)) for x in point.multipliers.values())])
        )
        for name, part in (
            ("F*(z)", np.array([point.value])),
            ("d", point.d),
            ("gaps", gaps),
            ("multipliers", multipliers),
        ):
            bad = float(np.count_nonzero(~np.isfinite(part)))
            yield Measurement(bad, 0.5, f"entries of {name} that are not finite", {"z": z, name: part})
        gap, rounding = fenchel_young_gap(probe.value(point.d), point.value, point.d, z)
        # An upper bound may be loose for such large arguments, but it must still hold.
        error = abs(gap) if F.has_closed_form_conjugate else -gap
        yield Measurement(error, rounding, "F(d) + F*(z) - <d, z> at the maximizer d", {"z": z, "d": point.d})


def _check_sizes(probe: RegularizerProbe) -> Findings:
    """Check that the scales are positive and finite, and the magnitude is finite."""
    F, scale = probe.F, probe.weight_scale
    positive = bool((np.isfinite(scale) & (scale > 0)).all())
    yield assertion(positive, "weight_scale must be positive and finite", {"weight_scale": scale})
    sizes = {
        name: call_component(lambda name=name: getattr(F, name)) for name in ("objective_scale", "mass", "magnitude")
    }
    for name, answer in sizes.items():
        size = require_number(answer, name)
        right = size >= 0.0 if name == "magnitude" else size > 0.0
        yield assertion(right and size < np.inf, f"{name} must be finite and not negative", {name: size})


REGULARIZER_CHECKS: dict[str, Callable[[RegularizerProbe], Findings]] = {
    "domain": check_domain,
    "residuals": check_residuals,
    "minimizer": _check_minimizer,
    "fenchel-young": _check_fenchel_young,
    "maximizer": _check_maximizer,
    "conjugate": _check_conjugate,
    "gradient": _check_gradient,
    "stationarity": _check_stationarity,
    "convexity": _check_convexity,
    "gaps": _check_gaps,
    "slope": check_derivatives,
    "argmax": check_maximizers,
    "curvature": check_curvatures,
    "strong_convexity": check_strong_convexity,
    "cvxpy-value": _check_cvxpy_value,
    "cvxpy-conjugate": _check_cvxpy_conjugate,
    "value_bound": check_value_bound,
    "unsmoothed": check_unsmoothed,
    "support": check_support,
    "mass": check_mass,
    "room": check_room,
    "finite": _check_finite_values,
    "sizes": _check_sizes,
    "cones": check_cones,
}
"""The checks by name, in the order of a report."""
