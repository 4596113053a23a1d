"""Checks of a regularizer, one property at a time.

The closed forms are held against each other (Fenchel-Young, differences, midpoints) and against optima that a conic
solver finds from the CVXPY expressions alone, so that a mistake in one place shows as a disagreement with another.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import nnls

from boostopt.arguments import seed
from boostopt.checks.domains import domain, mass, residuals, room, support, value_bound
from boostopt.checks.measuring import (
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
    made,
    number,
    record,
    scale_of,
    vector,
)
from boostopt.checks.modelling import cones_used, curvature_faults, minimum, modelled, violation
from boostopt.checks.points import FAR, AskedRegularizer
from boostopt.checks.report import Check, CheckReport
from boostopt.errors import OptionError, shown
from boostopt.regularizers.base import Regularizer, Stationarity

STEP = 1e-6
"""Step of the differences: far above the rounding of F*, far below the 1 / eta on which an entropy's F* bends."""

PINNED = 1e-3
"""One-sided differences nearer to each other than this determine a gradient; elsewhere F* has a kink."""

ACTIVE = 1e-10
"""By how much of its upper end a weight may miss an end of the box and still stand there."""

NEAR = 1e-5
"""How close an upper bound of F* must come where it is told a maximizer and z is of the size of margins."""

SLOPES = 3
"""Arguments at which all slopes of F* are taken."""

PAIRS = 12
"""Segments whose middle is held against their ends."""

SOLVES = 5
"""Arguments at which a solver is asked."""


def check_regularizer(F: object, random_state: int = 0) -> CheckReport:
    """Check that a regularizer keeps what `Regularizer` promises.

    Parameters
    ----------
    F
        The regularizer, a `Regularizer` of a few examples: solvers are run.
    random_state
        Seed of the points at which it is asked.

    Returns
    -------
    One check for each property, in the order of `REGULARIZER_CHECKS`.

    Raises
    ------
    OptionError
        F is no `Regularizer`.
    """
    if not isinstance(F, Regularizer):
        raise OptionError(
            f"expected a Regularizer; got {shown(F)}. Subclass boostopt.authoring.Regularizer or Separable."
        )
    return CheckReport(type(F).__name__, regularizer_checks(F, seed("random_state", random_state), SOLVES))


def regularizer_checks(F: Regularizer, random_state: int, solves: int) -> tuple[Check, ...]:
    """Return the checks of F, with a solver asked at `solves` arguments of each kind."""
    asked = AskedRegularizer(F, random_state, solves)
    return tuple(made(name, check(asked)) for name, check in REGULARIZER_CHECKS.items())


def _minimizer(asked: AskedRegularizer) -> Measurements:
    F = asked.F
    if not F.exact:
        yield NotAsked("F* is an upper bound only")
        return
    start = asked.project(None)
    value, least = asked.value(start), -asked.conjugate_at(np.zeros(F.N)).value
    what = "project(None) is no minimizer: F there minus the minimum -F*(0)"
    yield Measured(apart(value, least), ROUNDING * scale_of(value), what, {"d": start})


def _fenchel_young(asked: AskedRegularizer) -> Measurements:
    values = [asked.value(d) for d in asked.weights]
    for z, at in zip(asked.directions, asked.at, strict=True):
        for d, value in zip(asked.weights, values, strict=True):
            gap = value + at.value - float(d @ z)
            scale = asked.value_scale(d, z, value, at.value)
            yield Measured(-gap, ROUNDING * scale, "F(d) + F*(z) - <d, z> is negative", {"z": z, "d": d})


def _maximizer(asked: AskedRegularizer) -> Measurements:
    F = asked.F
    if not F.exact:
        yield Remark("F* is an upper bound only: its d need not attain it, and was held to the domain alone")
    for z, at in zip(asked.directions, asked.at, strict=True):
        yield Measured(asked.outside(at.d), FEASIBLE, "the maximizer leaves the domain", {"z": z, "d": at.d})
        if F.exact:
            value = asked.value(at.d)
            scale = asked.value_scale(at.d, z, value, at.value)
            gap = abs(value + at.value - float(at.d @ z))
            yield Measured(gap, ROUNDING * scale, "|F(d) + F*(z) - <d, z>| at the maximizer d", {"z": z, "d": at.d})


def _conjugate(asked: AskedRegularizer) -> Measurements:
    F = asked.F
    if not F.exact:
        yield Remark("F* is an upper bound only: held to be above the supremum, and near it where told a maximizer")
    for z, at in list(zip(asked.directions, asked.at, strict=True))[: asked.solves]:
        supremum = asked.supremum.at(z)
        if supremum is None:
            yield Remark("no solver found the supremum at one argument")
            continue
        scale = scale_of(at.value, supremum, float(np.abs(z).max()))
        if F.exact:
            what = f"|F*(z) - sup <z, d> - F(d)|, F*(z) = {at.value:.9g} and the supremum is {supremum:.9g}"
            yield Measured(apart(at.value, supremum), SOLVED * scale, what, {"z": z})
            continue
        near = asked.conjugate_at(z, asked.project(asked.variable.value))
        for bound in (at.value, near.value):
            yield Measured(supremum - bound, SOLVED * scale, "the supremum exceeds the bound F*(z)", {"z": z})
        if float(np.abs(z).max()) <= 1.0:
            what = "the bound F*(z), told a maximizer, exceeds the supremum"
            yield Measured(near.value - supremum, NEAR * scale, what, {"z": z})


def _gradient(asked: AskedRegularizer) -> Measurements:
    """The maximizer is a subgradient: it lies between the one-sided differences of F*, at kinks too."""
    F = asked.F
    if not F.exact:
        yield NotAsked("F* is an upper bound only")
        return
    pinned, count = 0, 0
    for z, at in list(zip(asked.directions, asked.at, strict=True))[:SLOPES]:
        for n, unit in enumerate(np.eye(F.N)):
            h = STEP * scale_of(float(np.abs(z).max())) / 2.0
            ahead = (asked.conjugate_at(z + h * unit).value - at.value) / h
            behind = (at.value - asked.conjugate_at(z - h * unit).value) / h
            pinned, count = pinned + (abs(ahead - behind) <= PINNED * scale_of(asked.size) / 2.0), count + 1
            outside = max(behind - float(at.d[n]), float(at.d[n]) - ahead)
            tolerance = 1e-14 * scale_of(at.value, float(np.abs(at.d) @ np.abs(z))) / h * np.sqrt(F.N) + SOLVED
            what = f"weight {n} of the maximizer is no slope of F*: it lies outside [{behind:.6g}, {ahead:.6g}]"
            yield Measured(outside, tolerance, what, {"z": z, "d": at.d})
    yield Remark("at kinks of F* the weight is held between the slopes; F* has one slope", pinned, count)


def _stationarity(asked: AskedRegularizer) -> Measurements:
    """At the maximizer z is the slope plus multipliers of the constraints that are active, of the right sign."""
    F = asked.F
    if not F.exact:
        yield NotAsked("F* is an upper bound only")
        return
    for z, at in zip(asked.directions, asked.at, strict=True):
        conditions = record(ask(F.stationarity, at.d, ACTIVE), Stationarity, "stationarity")
        ends = (conditions.slopes, conditions.lower, conditions.upper)
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


def _convexity(asked: AskedRegularizer) -> Measurements:
    F, rng = asked.F, asked.rng(4)
    values = [asked.value(d) for d in asked.weights]
    for _ in range(PAIRS):
        i, j = rng.integers(len(values), size=2)
        middle = 0.5 * (asked.weights[i] + asked.weights[j])
        raised = above(asked.value(middle), 0.5 * (values[i] + values[j]))
        what = "F at the middle exceeds the mean of F at the ends"
        scale = scale_of(values[i], values[j])
        yield Measured(raised, ROUNDING * scale, what, {"d": asked.weights[i], "d'": asked.weights[j]})
        if not F.exact:
            continue
        i, j = rng.integers(len(asked.at), size=2)
        middle = 0.5 * (asked.directions[i] + asked.directions[j])
        raised = above(asked.conjugate_at(middle).value, 0.5 * (asked.at[i].value + asked.at[j].value))
        what = "F* at the middle exceeds the mean of F* at the ends"
        scale = scale_of(asked.at[i].value, asked.at[j].value)
        yield Measured(raised, ROUNDING * scale, what, {"z": asked.directions[i], "z'": asked.directions[j]})


def _gaps(asked: AskedRegularizer) -> Measurements:
    values = [asked.value(d) for d in asked.weights]
    for z, at in zip(asked.directions, asked.at, strict=True):
        for d, value in zip(asked.weights, values, strict=True):
            gaps = asked.gaps(d, z, at)
            scale = asked.value_scale(d, z, value, at.value)
            yield Measured(-float(gaps.min()), ROUNDING * scale, "a gap is negative", {"z": z, "d": d, "gaps": gaps})
            expected = value + at.value - float(d @ z)
            what = f"the gaps sum to {gaps.sum():.9g} and F(d) + F*(z) - <d, z> = {expected:.9g}"
            yield Measured(apart(float(gaps.sum()), expected), ROUNDING * scale, what, {"z": z, "d": d})


def _cvxpy_value(asked: AskedRegularizer) -> Measurements:
    F = asked.F
    expression, constraints = asked.modelled
    for fault in curvature_faults(expression, constraints):
        yield Measured(np.inf, FEASIBLE, fault)
    for d in asked.weights:
        value, theirs = asked.value(d), minimum(F.cvxpy_value, d)
        if theirs is None:
            yield Remark("no solver found the value at one argument")
            continue
        what = f"|value(d) - cvxpy_value(d)|, value(d) = {value:.9g} and CVXPY's is {theirs:.9g}"
        yield Measured(apart(value, theirs), SOLVED * scale_of(value), what, {"d": d})
        what = "a point of the domain violates the constraints of cvxpy_value"
        yield Measured(violation(F.cvxpy_value, d), FEASIBLE * scale_of(asked.size), what, {"d": d})


def _cvxpy_conjugate(asked: AskedRegularizer) -> Measurements:
    import cvxpy as cp

    F = asked.F
    if not F.exact:
        yield NotAsked("there is no closed form of F*")
        return
    expression, constraints = modelled(F.cvxpy_conjugate, -cp.Variable(F.N))
    for fault in curvature_faults(expression, constraints):
        yield Measured(np.inf, FEASIBLE, fault)
    for z, at in list(zip(asked.directions, asked.at, strict=True))[: asked.solves]:
        theirs = minimum(F.cvxpy_conjugate, z)
        if theirs is None:
            yield Remark("no solver found the minimum at one argument")
            continue
        what = f"|F*(z) - min cvxpy_conjugate(z)|, F*(z) = {at.value:.9g} and CVXPY's is {theirs:.9g}"
        scale = scale_of(at.value, float(np.abs(z).max()))
        yield Measured(apart(at.value, theirs), SOLVED * scale, what, {"z": z})


def _finite(asked: AskedRegularizer) -> Measurements:
    F = asked.F
    for z in (FAR * asked.directions[0], FAR * asked.directions[3], np.full(F.N, FAR), np.full(F.N, -FAR)):
        at = asked.conjugate_at(z)
        d = asked.weights[1]
        gaps = asked.gaps(d, z, at)
        told = ask(lambda at=at: np.concatenate([[0.0], *(np.ravel(np.asarray(x)) for x in at.multipliers.values())]))
        for name, part in (("F*(z)", np.array([at.value])), ("d", at.d), ("gaps", gaps), ("multipliers", told)):
            bad = float(np.count_nonzero(~np.isfinite(part)))
            yield Measured(bad, 0.5, f"entries of {name} that are not finite", {"z": z, name: part})
        value = asked.value(at.d)
        gap = value + at.value - float(at.d @ z)
        # An upper bound may be loose so far out; it must still be one.
        off = abs(gap) if F.exact else -gap
        scale = asked.value_scale(at.d, z, value, at.value)
        yield Measured(off, ROUNDING * scale, "F(d) + F*(z) - <d, z> at the maximizer d", {"z": z, "d": at.d})


def _sizes(asked: AskedRegularizer) -> Measurements:
    F, scale = asked.F, asked.weight_scale
    positive = bool(np.isfinite(scale).all()) and bool((scale > 0).all())
    excess, words = 0.0 if positive else np.inf, "weight_scale must be positive and finite"
    yield Measured(excess, FEASIBLE, words, {"weight_scale": scale})
    sizes = {name: ask(lambda name=name: getattr(F, name)) for name in ("objective_scale", "mass", "magnitude")}
    for name, answer in sizes.items():
        size = number(answer, name)
        right = np.isfinite(size) and (size >= 0.0 if name == "magnitude" else size > 0.0)
        yield Measured(0.0 if right else np.inf, FEASIBLE, f"{name} must be finite and not negative", {name: size})


def _cones(asked: AskedRegularizer) -> Measurements:
    import cvxpy as cp

    F, declared = asked.F, ask(lambda: asked.F.cones)
    problems = [cp.Problem(cp.Minimize(asked.modelled[0]), asked.modelled[1])]
    if F.exact:
        value, constraints = modelled(F.cvxpy_conjugate, cp.Variable(F.N))
        problems.append(cp.Problem(cp.Minimize(value), constraints))
    for problem in problems:
        missing = cones_used(problem, declared) - declared
        what = f"cones needed but not declared: {', '.join(sorted(missing))}; declared {', '.join(sorted(declared))}"
        yield Measured(float(len(missing)), 0.5, what)


REGULARIZER_CHECKS: dict[str, Callable[[AskedRegularizer], Measurements]] = {
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
    "cvxpy-value": _cvxpy_value,
    "cvxpy-conjugate": _cvxpy_conjugate,
    "value_bound": value_bound,
    "support": support,
    "mass": mass,
    "room": room,
    "finite": _finite,
    "sizes": _sizes,
    "cones": _cones,
}
"""The checks by name, in the order of a report."""
