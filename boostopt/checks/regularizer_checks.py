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
from boostopt.checks.cvxpy_checks import UNSTATED, cones, cvxpy_value
from boostopt.checks.domain_checks import domain, forbidden, mass, residuals, room, support, unsmoothed, value_bound
from boostopt.checks.fault_localization import of_regularizer, suspected
from boostopt.checks.references.cvxpy_references import curvature, minimum
from boostopt.checks.references.measurements import (
    FEASIBLE,
    ROUNDING,
    SOLVED,
    Measured,
    Measurements,
    NotAsked,
    Remark,
    above,
    apart,
    ask,
    fenchel_young,
    held,
    made,
    number,
    record,
    scale_of,
    vector,
)
from boostopt.checks.references.probes import FAR, SOLVES, RegularizerProbe
from boostopt.checks.separable_checks import argmax, slope, strong_convexity
from boostopt.checks.separable_checks import curvature as bent
from boostopt.errors import OptionError, short_repr
from boostopt.functions.regularizers.base import Regularizer, StationarityConditions

STEP = 1e-6
"""Step of the differences: far above the rounding of F*, far below the scale 1 / eta on which an entropy's F* bends."""

PINNED = 1e-3
"""If one-sided differences are nearer to each other than this, F* has a gradient there; otherwise it has a kink."""

ACTIVE = 1e-10
"""A weight counts as at an end of the box within this share of its upper end."""

SLOPES = 3
"""Number of arguments at which all slopes of F* are compared."""

PAIRS = 12
"""Number of segments on which the middle is compared with the ends."""


def check_regularizer(F: object, random_state: int = 0) -> CheckReport:
    """Check that a regularizer keeps what `Regularizer` promises.

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
    probe = RegularizerProbe(F, check_seed("random_state", random_state), SOLVES)
    checks = tuple(made(name, check(probe)) for name, check in REGULARIZER_CHECKS.items())
    return CheckReport(type(F).__name__, suspected(checks, of_regularizer(F)))


def _minimizer(probe: RegularizerProbe) -> Measurements:
    F = probe.F
    if not F.exact:
        yield NotAsked("F* is an upper bound only")
        return
    start = probe.project(None)
    value, least = probe.value(start), -probe.conjugate_at(np.zeros(F.N)).value
    what = "project(None) is no minimizer: F there minus the minimum -F*(0)"
    yield Measured(apart(value, least), ROUNDING * scale_of(value), what, {"d": start})


def _fenchel_young(probe: RegularizerProbe) -> Measurements:
    values = [probe.value(d) for d in probe.weights]
    for z, at in zip(probe.directions, probe.at, strict=True):
        for d, value in zip(probe.weights, values, strict=True):
            gap, rounding = fenchel_young(value, at.value, d, z)
            yield Measured(-gap, rounding, "F(d) + F*(z) - <d, z> is negative", {"z": z, "d": d})


def _maximizer(probe: RegularizerProbe) -> Measurements:
    F = probe.F
    if not F.exact:
        yield Remark("F* is an upper bound only: its d need not attain it; only its domain was checked")
    for z, at in zip(probe.directions, probe.at, strict=True):
        yield Measured(probe.outside(at.d), FEASIBLE, "the maximizer leaves the domain", {"z": z, "d": at.d})
        if F.exact:
            gap, rounding = fenchel_young(probe.value(at.d), at.value, at.d, z)
            yield Measured(abs(gap), rounding, "|F(d) + F*(z) - <d, z>| at the maximizer d", {"z": z, "d": at.d})


def _conjugate(probe: RegularizerProbe) -> Measurements:
    F = probe.F
    if not probe.stated:
        yield NotAsked(UNSTATED)
        return
    if not F.exact:
        yield Remark("F* is an upper bound only: it must be at least the supremum, and close to it near a maximizer")
    for z, at in list(zip(probe.directions, probe.at, strict=True))[: probe.solves]:
        supremum = probe.supremum.at(z)
        if supremum is None:
            yield Remark("no solver found the supremum at one argument")
            continue
        scale = scale_of(at.value, supremum, float(np.abs(z).max()))
        if F.exact:
            what = f"|F*(z) - sup <z, d> - F(d)|, F*(z) = {at.value:.9g} and the supremum is {supremum:.9g}"
            yield Measured(apart(at.value, supremum), SOLVED * scale, what, {"z": z})
            continue
        d = probe.project(probe.variable.value)
        # The slopes at a point that misses the supremum by epsilon, and so the bound, are off by about its root.
        missed = max(probe.supremum.accuracy, supremum - (float(z @ d) - probe.value(d)))
        near = probe.conjugate_at(z, d)
        for bound in (at.value, near.value):
            yield Measured(supremum - bound, SOLVED * scale, "the supremum exceeds the bound F*(z)", {"z": z})
        if float(np.abs(z).max()) <= 1.0 and np.isfinite(supremum):
            what = "the bound F*(z), computed near a maximizer, exceeds the supremum"
            yield Measured(near.value - supremum, math.sqrt(missed) * scale, what, {"z": z})


def _gradient(probe: RegularizerProbe) -> Measurements:
    """The maximizer is a subgradient: it lies between the one-sided differences of F*, at kinks too."""
    F = probe.F
    if not F.exact:
        yield NotAsked("F* is an upper bound only")
        return
    pinned, count = 0, 0
    for z, at in list(zip(probe.directions, probe.at, strict=True))[:SLOPES]:
        for n, unit in enumerate(np.eye(F.N)):
            h = STEP * scale_of(float(np.abs(z).max())) / 2.0
            ahead = (probe.conjugate_at(z + h * unit).value - at.value) / h
            behind = (at.value - probe.conjugate_at(z - h * unit).value) / h
            pinned, count = pinned + (abs(ahead - behind) <= PINNED * scale_of(probe.size) / 2.0), count + 1
            outside = max(behind - float(at.d[n]), float(at.d[n]) - ahead)
            tolerance = 1e-14 * scale_of(at.value, float(np.abs(at.d) @ np.abs(z))) / h * np.sqrt(F.N) + SOLVED
            what = f"weight {n} of the maximizer is no slope of F*: it lies outside [{behind:.6g}, {ahead:.6g}]"
            yield Measured(outside, tolerance, what, {"z": z, "d": at.d})
    yield Remark("at kinks of F* the weight must lie between the slopes; F* has one slope", pinned, count)


def _stationarity(probe: RegularizerProbe) -> Measurements:
    """At the maximizer, z is the slope of F plus multipliers of active constraints, with the right signs."""
    F = probe.F
    if not F.exact:
        yield NotAsked("F* is an upper bound only")
        return
    for z, at in zip(probe.directions, probe.at, strict=True):
        conditions = record(ask(F.stationarity, at.d, ACTIVE), StationarityConditions, "stationarity")
        ends = (conditions.gradient, conditions.lower, conditions.upper)
        slopes, lower, upper = (vector(part, F.N, "stationarity") for part in ends)
        at_upper, at_lower = at.d >= upper * (1.0 - ACTIVE), at.d <= lower + ACTIVE * upper
        eye, ones = np.eye(F.N), np.ones((F.N, 1 if F.on_simplex else 0))
        columns = np.hstack([ones, -ones, eye[:, at_upper], -eye[:, at_lower], conditions.normals])
        rest = z - slopes
        finite = bool(np.isfinite(rest).all())
        left = rest - columns @ ask(nnls, columns, rest)[0] if finite and columns.size else rest
        what = "z is not the slope of F at the maximizer plus multipliers of active constraints: left over"
        tolerance = SOLVED * scale_of(float(np.abs(z).max()), float(np.abs(slopes).max()))
        yield Measured(float(np.abs(left).max()), tolerance, what, {"z": z, "d": at.d})


def _convexity(probe: RegularizerProbe) -> Measurements:
    F, rng = probe.F, probe.rng(4)
    values = [probe.value(d) for d in probe.weights]
    for _ in range(PAIRS):
        i, j = rng.integers(len(values), size=2)
        middle = 0.5 * (probe.weights[i] + probe.weights[j])
        raised = above(probe.value(middle), 0.5 * (values[i] + values[j]))
        what = "F at the middle exceeds the mean of F at the ends"
        scale = scale_of(values[i], values[j])
        yield Measured(raised, ROUNDING * scale, what, {"d": probe.weights[i], "d'": probe.weights[j]})
        if not F.exact:
            continue
        i, j = rng.integers(len(probe.at), size=2)
        middle = 0.5 * (probe.directions[i] + probe.directions[j])
        raised = above(probe.conjugate_at(middle).value, 0.5 * (probe.at[i].value + probe.at[j].value))
        what = "F* at the middle exceeds the mean of F* at the ends"
        scale = scale_of(probe.at[i].value, probe.at[j].value)
        yield Measured(raised, ROUNDING * scale, what, {"z": probe.directions[i], "z'": probe.directions[j]})


def _gaps(probe: RegularizerProbe) -> Measurements:
    values = [probe.value(d) for d in probe.weights]
    for z, at in zip(probe.directions, probe.at, strict=True):
        for d, value in zip(probe.weights, values, strict=True):
            gaps = probe.gaps(d, z, at)
            expected, rounding = fenchel_young(value, at.value, d, z)
            yield Measured(-float(gaps.min()), rounding, "a gap is negative", {"z": z, "d": d, "gaps": gaps})
            what = f"the gaps sum to {gaps.sum():.9g} and F(d) + F*(z) - <d, z> = {expected:.9g}"
            yield Measured(apart(float(gaps.sum()), expected), rounding, what, {"z": z, "d": d})


def _cvxpy_value(probe: RegularizerProbe) -> Measurements:
    yield from cvxpy_value(probe, probe.weights, "d")
    yield from forbidden(probe)


def _cvxpy_conjugate(probe: RegularizerProbe) -> Measurements:
    import cvxpy as cp

    F = probe.F
    if not F.exact:
        yield NotAsked("there is no closed form of F*")
        return
    yield from curvature(F.cvxpy_conjugate, -cp.Variable(F.N))
    for z, at in list(zip(probe.directions, probe.at, strict=True))[: probe.solves]:
        theirs = minimum(F.cvxpy_conjugate, z)
        if theirs is None:
            yield Remark("no solver found the minimum at one argument")
            continue
        what = f"|F*(z) - min cvxpy_conjugate(z)|, F*(z) = {at.value:.9g} and CVXPY's is {theirs:.9g}"
        scale = scale_of(at.value, float(np.abs(z).max()))
        yield Measured(apart(at.value, theirs), SOLVED * scale, what, {"z": z})


def _finite(probe: RegularizerProbe) -> Measurements:
    F = probe.F
    # Where F itself is infinite, as a barrier is at the caps, so are its gaps.
    d = next((d for d in probe.weights[1:] if np.isfinite(probe.value(d))), None)
    for z in (FAR * probe.directions[0], FAR * probe.directions[3], np.full(F.N, FAR), np.full(F.N, -FAR)):
        at = probe.conjugate_at(z)
        gaps = np.zeros(0) if d is None else probe.gaps(d, z, at)
        told = ask(lambda at=at: np.concatenate([[0.0], *(np.ravel(np.asarray(x)) for x in at.multipliers.values())]))
        for name, part in (("F*(z)", np.array([at.value])), ("d", at.d), ("gaps", gaps), ("multipliers", told)):
            bad = float(np.count_nonzero(~np.isfinite(part)))
            yield Measured(bad, 0.5, f"entries of {name} that are not finite", {"z": z, name: part})
        gap, rounding = fenchel_young(probe.value(at.d), at.value, at.d, z)
        # An upper bound may be loose for such large arguments, but it must still hold.
        off = abs(gap) if F.exact else -gap
        yield Measured(off, rounding, "F(d) + F*(z) - <d, z> at the maximizer d", {"z": z, "d": at.d})


def _sizes(probe: RegularizerProbe) -> Measurements:
    F, scale = probe.F, probe.weight_scale
    positive = bool((np.isfinite(scale) & (scale > 0)).all())
    yield held(positive, "weight_scale must be positive and finite", {"weight_scale": scale})
    sizes = {name: ask(lambda name=name: getattr(F, name)) for name in ("objective_scale", "mass", "magnitude")}
    for name, answer in sizes.items():
        size = number(answer, name)
        right = size >= 0.0 if name == "magnitude" else size > 0.0
        yield held(right and size < np.inf, f"{name} must be finite and not negative", {name: size})


REGULARIZER_CHECKS: dict[str, Callable[[RegularizerProbe], Measurements]] = {
    "domain": domain,
    "residuals": residuals,
    "minimizer": _minimizer,
    "fenchel-young": _fenchel_young,
    "maximizer": _maximizer,
    "conjugate": _conjugate,
    "gradient": _gradient,
    "stationarity": _stationarity,
    "convexity": _convexity,
    "gaps": _gaps,
    "slope": slope,
    "argmax": argmax,
    "curvature": bent,
    "strong_convexity": strong_convexity,
    "cvxpy-value": _cvxpy_value,
    "cvxpy-conjugate": _cvxpy_conjugate,
    "value_bound": value_bound,
    "unsmoothed": unsmoothed,
    "support": support,
    "mass": mass,
    "room": room,
    "finite": _finite,
    "sizes": _sizes,
    "cones": cones,
}
"""The checks by name, in the order of a report."""
