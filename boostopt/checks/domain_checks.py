"""Checks of a regularizer's domain: its points, its extent, and the room within it."""

from __future__ import annotations

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.checks.references.cvxpy_references import minimum, violation
from boostopt.checks.references.measurements import (
    FEASIBLE,
    ROUNDING,
    SOLVED,
    Measured,
    Measurements,
    NotAsked,
    above,
    ask,
    held,
    number,
    optimum,
    scale_of,
    vector,
)
from boostopt.checks.references.probes import FAR, MOVED, RegularizerProbe
from boostopt.functions.regularizers.base import Regularizer

SEEN = 1e-3
"""Two measures of how far a point lies outside may differ by this factor; nearer points are not compared."""


def domain(probe: RegularizerProbe) -> Measurements:
    """`project` returns points of the domain for any argument, and the domain is not empty."""
    F = probe.F
    for q in (None, *probe.junk):
        d = probe.project(q)
        yield Measured(probe.outside(d), FEASIBLE, "project(q) violates the domain", {"q": q, "project(q)": d})
        if F.on_simplex and d.shape == (F.N,):
            miss = max(abs(float(d.sum()) - 1.0), 0.0 if F.signed else -float(d.min()))
            yield Measured(miss, FEASIBLE, "project(q) is no distribution", {"q": q, "project(q)": d})
    for d in probe.weights:
        moved = np.abs(probe.project(d) - d).max()
        yield Measured(float(moved), FEASIBLE * scale_of(probe.size), "project moves a point of the domain", {"d": d})
    distribution = [probe.variable >= 0, probe.variable.sum() == 1] if F.on_simplex else []
    import cvxpy as cp

    feasible = optimum(cp.Problem(cp.Minimize(0), [*probe.modelled[1], *distribution]))
    missed = "the domain misses the simplex: no distribution satisfies the constraints of cvxpy_value"
    yield held(feasible == 0.0, missed if F.on_simplex else "the domain is empty")


def residuals(probe: RegularizerProbe) -> Measurements:
    """The residuals are 0 in the domain and measure how far a point lies outside."""
    F = probe.F
    for d in probe.weights:
        yield Measured(probe.outside(d), FEASIBLE, "residuals at a point of the domain", {"d": d})
    for off in probe.moved:
        beyond = violation(probe.model, off)
        sizes = ask(F.residuals, off)
        if beyond > FEASIBLE and min(sizes.values(), default=0.0) < 0.0:
            yield Measured(-min(sizes.values()), FEASIBLE, "a residual is negative", {"d": off})
        if beyond > SEEN * probe.size:
            missing = beyond - max(sizes.values(), default=0.0) / SEEN
            yield Measured(missing, FEASIBLE, "residuals do not see how far d lies outside", {"d": off})
    not_finite = max(ask(F.residuals, np.full(F.N, np.nan)).values(), default=0.0)
    yield held(not_finite == np.inf, "residuals of nan must be inf")


def forbidden(probe: RegularizerProbe) -> Measurements:
    """The constraints of `cvxpy_value` hold in the domain and fail outside."""
    for d in probe.weights:
        what = "a point of the domain violates the constraints of cvxpy_value"
        yield Measured(violation(probe.model, d), FEASIBLE * scale_of(probe.size), what, {"d": d})
    for off in probe.moved:
        beyond = probe.outside(off)
        missing = beyond - violation(probe.model, off) / SEEN
        if beyond <= SEEN * probe.size or (missing > FEASIBLE and _is_forbidden_by_variables(probe, off)):
            continue
        what = f"a point outside the domain by {beyond:.3g} satisfies the constraints of cvxpy_value"
        yield Measured(missing, FEASIBLE, what, {"d": off})


def _is_forbidden_by_variables(probe: RegularizerProbe, d: Float[Array, " N"]) -> bool:
    """Return whether no values of its own variables satisfy the constraints of `cvxpy_value` at d."""
    return minimum(probe.model, d) == np.inf


def value_bound(probe: RegularizerProbe) -> Measurements:
    """F is at most value_bound on the domain."""
    F, bound = probe.F, number(ask(lambda: probe.F.value_bound), "value_bound")
    if bound != bound:
        yield NotAsked("value_bound is not known (nan)")
        return
    # At large arguments the maximizers are vertices.
    vertices = [probe.conjugate_at(FAR * z).d for z in probe.directions] if F.exact else []
    points = [*probe.weights, *vertices, *(vertex for _, vertex, _ in probe.extremes)]
    values = [probe.value(d) for d in points]
    for d, value in zip(points, values, strict=True):
        what = f"F(d) exceeds value_bound {bound:.9g}"
        yield Measured(above(value, bound), ROUNDING * scale_of(min(value, bound)), what, {"d": d})


def unsmoothed(probe: RegularizerProbe) -> Measurements:
    """F0, F without its smoothing term, has the domain of F and, with terms of its own, is nowhere larger.

    A smoothing term can fix a weight that is free without it. The domain of F0 is then the larger one.
    """
    F: Regularizer = probe.F
    F0: Regularizer = ask(lambda: F.unsmoothed)
    if F0 is F:
        yield NotAsked("F has no term that unsmoothed leaves out")
        return
    rest, room = probe.of(F0), FEASIBLE * scale_of(probe.size)
    # Without other terms, the smoothing term is F itself, and its values may be negative.
    has_terms = number(ask(lambda: F0.value_bound), "unsmoothed.value_bound") > 0.0
    for d in (*probe.weights, *(vertex for _, vertex, _ in probe.extremes)):
        yield Measured(rest.outside(d), room, "the domain of unsmoothed misses a point of F's", {"d": d})
        if has_terms:
            value, without = probe.value(d), rest.value(d)
            what = f"unsmoothed is {without:.9g}, above F(d) = {value:.9g}"
            yield Measured(without - value, ROUNDING * scale_of(value), what, {"d": d})
    for unit in np.eye(F.N):
        largest, smallest = (sign * number(ask(F.support, sign * unit), "support") for sign in (1.0, -1.0))
        if largest - smallest <= room < smallest:
            return  # F fixes a weight, which may be free without the smoothing term
    for z in probe.directions:  # at large arguments the maximizers are vertices
        d = rest.conjugate_at(FAR * z).d
        yield Measured(probe.outside(d), room, "the domain of unsmoothed has a point outside F's", {"d": d})


def support(probe: RegularizerProbe) -> Measurements:
    """The support is finite and at least the maximum of <z, d> over the domain."""
    for z, _, largest in probe.extremes:
        claimed = number(ask(probe.F.support, z), "support")
        what = f"the maximum of <z, d> over the domain is {largest:.9g}, above support(z) = {claimed:.9g}"
        yield Measured(largest - claimed, SOLVED * scale_of(largest), what, {"z": z})
        if not np.isfinite(claimed):
            yield held(False, "support(z) must be finite", {"z": z})


def mass(probe: RegularizerProbe) -> Measurements:
    """The sum of |d_n| is at most the mass."""
    bound = number(ask(lambda: probe.F.mass), "mass")
    for d in (*probe.weights, *(vertex for _, vertex, _ in probe.extremes)):
        total = float(np.abs(d).sum())
        yield Measured(total - bound, ROUNDING * scale_of(total), f"sum |d_n| exceeds the mass {bound:.9g}", {"d": d})


def room(probe: RegularizerProbe) -> Measurements:
    """Moves within the room stay in the domain."""
    F, rng = probe.F, probe.rng(5)
    for d in probe.weights[: 2 * MOVED]:
        free = vector(ask(F.room, d), F.N, "room")
        yield Measured(-float(free.min()), FEASIBLE, "room is negative", {"d": d, "room": free})
        for _ in range(2):
            move = free * rng.choice([-1.0, 1.0, 0.3], size=F.N)
            if F.on_simplex:
                # The moves up and the moves down get the same sum: the larger one is reduced to the smaller.
                up, down = float(move[move > 0].sum()), -float(move[move < 0].sum())
                move = np.where(move > 0, move * _share(down, up), move * _share(up, down))
            left = max(probe.outside(d + move), violation(probe.model, d + move))
            what = "d leaves the domain by a move within its room"
            yield Measured(left, FEASIBLE * scale_of(probe.size), what, {"d": d, "move": move})


def _share(wanted: float, available: float) -> float:
    return min(1.0, wanted / available) if available > 0 else 0.0
