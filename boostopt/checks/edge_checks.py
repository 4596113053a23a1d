"""Checks of an edge function, one property at a time.

They follow the checks of a regularizer. G* has a domain of its own (w in the simplex, w >= 0), which `residuals`
describes. Outside this domain, the supremum that defines G* grows without bound with the box over which it is taken.
The checks measure this growth.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from boostopt._utils.validation import check_integer, check_seed
from boostopt.checks.check_report import CheckReport
from boostopt.checks.cvxpy_checks import UNSTATED, cones, cvxpy_value
from boostopt.checks.fault_localization import of_edges, suspected
from boostopt.checks.references.cvxpy_references import curvature, minimum, modelled, violation
from boostopt.checks.references.measurements import (
    FEASIBLE,
    OFF,
    ROUNDING,
    SOLVED,
    Measured,
    Measurements,
    NotAsked,
    PieceFailed,
    Remark,
    above,
    apart,
    ask,
    fenchel_young,
    held,
    made,
    number,
    optimum,
    record,
    scale_of,
    vector,
)
from boostopt.checks.references.probes import SOLVES, EdgeProbe, beyond
from boostopt.errors import OptionError, short_repr
from boostopt.functions.edge_functions.base import Active, EdgeFunction

TIE = 1e-9
"""Edges nearer than this count as equal."""


def check_edge(G: object, t: int = 3, random_state: int = 0) -> CheckReport:
    """Check that an edge function keeps what `EdgeFunction` promises.

    Parameters
    ----------
    G
        The edge function, an `EdgeFunction`.
    t
        Number of edges, at least 1; 2 if G is a function of two edges.
    random_state
        Seed of the points at which it is evaluated.

    Returns
    -------
    One check for each property, in the order of `EDGE_CHECKS`.

    Raises
    ------
    OptionError
        G is not an `EdgeFunction`, or t is less than 1.
    """
    if not isinstance(G, EdgeFunction):
        raise OptionError(f"expected an EdgeFunction; got {short_repr(G)}. Subclass boostopt.authoring.EdgeFunction.")
    t = check_integer("t", t, 1, "a whole number of edges", "Ask for one or more.")
    random_state = check_seed("random_state", random_state)
    probe = EdgeProbe(G, t, random_state, SOLVES)
    checks = tuple(made(name, check(probe)) for name, check in EDGE_CHECKS.items())
    return CheckReport(f"{type(G).__name__} of {t} edges", suspected(checks, of_edges(G, t)))


def _project(probe: EdgeProbe) -> Measurements:
    t = probe.t
    mixed = probe.rng(2).normal(size=t)
    mixed[0] = np.nan
    junk = [np.full(t, x) for x in (np.nan, np.inf, -np.inf, 0.0, -1.0, 1e300, -1e300, 1e-300)]
    meaningful = 0
    for w in (*junk, mixed, *probe.raw_weights):
        v = probe.project(w)
        if v is None:
            continue
        meaningful += 1
        yield Measured(probe.off(v), FEASIBLE, "project(w) violates the domain of G*", {"w": w, "project(w)": v})
    yield held(meaningful > 0, "project returns None whatever w is")
    for w in probe.weights:
        again = probe.project(w)
        moved = np.inf if again is None else float(np.abs(again - w).max())
        tolerance = FEASIBLE * scale_of(float(np.abs(w).max()))
        yield Measured(moved, tolerance, "project moves a point of the domain of G*", {"w": w})


def _residuals(probe: EdgeProbe) -> Measurements:
    """The residuals are 0 where G* is finite and positive where it is not."""
    G = probe.G
    for w in probe.weights:
        yield Measured(probe.off(w), FEASIBLE, "residuals at a point of the domain of G*", {"w": w})
    not_finite = probe.off(np.full(probe.t, np.nan))
    yield held(not_finite == np.inf, "residuals of nan must be inf")
    if not G.exact:
        yield Remark("the domain of G* was not checked: a bound on [-1, 1] is finite everywhere")
        return
    for w in probe.raw_weights:
        near, far = probe.near.at(w), probe.far.at(w)
        if near is None or far is None:
            yield Remark("no solver found the supremum at one argument")
            continue
        grows, off = (far - near) / (9.0 * probe.box), probe.off(w)
        if off >= OFF:
            what = f"residuals call w infeasible by {off:.3g}, yet sup <w, e> - G(e) stays finite"
            yield Measured(off * 1e-3 - grows, FEASIBLE, what, {"w": w})
        elif off <= FEASIBLE:
            what = "residuals call w feasible, yet sup <w, e> - G(e) grows without bound: slope"
            yield Measured(grows, SOLVED * scale_of(float(np.abs(w).max())), what, {"w": w})


def _fenchel_young(probe: EdgeProbe) -> Measurements:
    for e in probe.edges:
        value = probe.value(e)
        for w, conjugate in zip(probe.weights, probe.conjugates, strict=True):
            gap, rounding = fenchel_young(value, conjugate, w, e)
            # A bound that was computed, not derived, still holds up to the accuracy of G itself.
            yield Measured(-gap, rounding, "G(e) + G*(w) - <w, e> is negative", {"e": e, "w": w})


def _subgradient(probe: EdgeProbe) -> Measurements:
    """The best answer w to e gives equality in Fenchel-Young; a condition on e that is slack has w = 0."""
    for e in probe.edges:
        w = probe.subgradient(e)
        yield Measured(probe.off(w), FEASIBLE, "the subgradient leaves the domain of G*", {"e": e, "w": w})
        gap, rounding = fenchel_young(probe.value(e), probe.conjugate(w, e), w, e)
        yield Measured(abs(gap), rounding, "|G(e) + G*(w) - <w, e>| at the subgradient w", {"e": e, "w": w})


def _conjugate(probe: EdgeProbe) -> Measurements:
    G = probe.G
    if not probe.stated:
        yield NotAsked(UNSTATED)
        return
    if not G.exact:
        yield Remark("G* is an upper bound only: it must be at least the supremum over [-1, 1]")
    for w, conjugate in list(zip(probe.weights, probe.conjugates, strict=True))[: 2 * probe.solves]:
        supremum = probe.near.at(w)
        if supremum is None:
            yield Remark("no solver found the supremum at one argument")
            continue
        scale = scale_of(conjugate, probe.box * float(np.abs(w).max()) * 1e-2)
        off = apart(conjugate, supremum) if G.exact else supremum - conjugate
        what = f"G*(w) = {conjugate:.9g}, the supremum of <w, e> - G(e) is {supremum:.9g}; they differ by"
        yield Measured(off, SOLVED * scale, what, {"w": w})


def _convexity(probe: EdgeProbe) -> Measurements:
    G, rng = probe.G, probe.rng(3)
    for _ in range(20):
        e, f = (probe.edges[k] for k in rng.integers(len(probe.edges), size=2))
        ends = 0.5 * (probe.value(e) + probe.value(f))
        raised = above(probe.value(0.5 * (e + f)), ends)
        yield Measured(
            raised, ROUNDING * scale_of(ends), "G at the middle exceeds the mean at the ends", {"e": e, "f": f}
        )
        if not G.exact:
            continue
        v, w = (probe.weights[k] for k in rng.integers(len(probe.weights), size=2))
        middle = 0.5 * (v + w)
        yield Measured(probe.off(middle), FEASIBLE * scale_of(), "the domain of G* is not convex", {"v": v, "w": w})
        ends = 0.5 * (probe.conjugate(v) + probe.conjugate(w))
        raised = above(probe.conjugate(middle), ends)
        yield Measured(
            raised, ROUNDING * scale_of(ends), "G* at the middle exceeds the mean at the ends", {"v": v, "w": w}
        )


def _gaps(probe: EdgeProbe) -> Measurements:
    for e in probe.edges:
        value = probe.value(e)
        for w in probe.weights:
            gaps = probe.gaps(e, w)
            expected, rounding = fenchel_young(value, probe.conjugate(w, e), w, e)
            yield Measured(-float(gaps.min()), rounding, "a gap is negative", {"e": e, "w": w, "gaps": gaps})
            what = f"the gaps sum to {gaps.sum():.9g} and G(e) + G*(w) - <w, e> = {expected:.9g}"
            yield Measured(apart(float(gaps.sum()), expected), rounding, what, {"e": e, "w": w})


def _domain(probe: EdgeProbe) -> Measurements:
    """CVXPY's constraints hold exactly in the polyhedron, and `support` is the maximum of <ray, e> over it."""
    import cvxpy as cp

    G, allowed = probe.G, probe.domain
    yield held(len(probe.edges) > 0, "no edges were found in the domain of G")
    for e in probe.edges:
        yield Measured(violation(probe.model, e), FEASIBLE * 10, "cvxpy_value forbids edges of the domain", {"e": e})
    if allowed is None:
        for e in probe.raw_edges:
            missing = violation(probe.model, e)
            yield Measured(missing, FEASIBLE, "domain says all of R^t, cvxpy_value forbids edges", {"e": e})
        return
    for e in probe.raw_edges:
        outside, forbidden = beyond(allowed, e), violation(probe.model, e)
        what = f"edges beyond the domain by {outside:.3g} satisfy the constraints of cvxpy_value"
        yield Measured(outside - 1e3 * forbidden, FEASIBLE, what, {"e": e})
    e = cp.Variable(probe.t)
    within = modelled(probe.model, e)[1]
    for w in probe.weights[: probe.solves]:
        for ray in ask(G.rays, w):
            claimed, largest = number(ask(G.support, ray), "support"), optimum(cp.Problem(cp.Maximize(ray @ e), within))
            if largest is not None:
                what = f"support(ray) = {claimed:.9g}, the maximum of <ray, e> over the domain is {largest:.9g}; off by"
                yield Measured(apart(claimed, largest), SOLVED * scale_of(claimed), what, {"w": w, "ray": ray})


def _active(probe: EdgeProbe) -> Measurements:
    """Every w that `active` allows is optimal for e, and `active` allows the subgradient."""
    G, rng = probe.G, probe.rng(4)
    for e in probe.edges:
        active = record(ask(G.active, e, TIE), Active, "active")
        value = probe.value(e)
        offset = vector(active.offset, probe.t, "the offset of active")
        if np.ndim(active.directions) != 2 or len(active.directions) != probe.t:
            shape = np.shape(active.directions)
            raise PieceFailed(f"active must return directions of {probe.t} rows; got shape {shape}")
        k = active.directions.shape[1]
        for _ in range(3):
            x = rng.normal(size=k) if active.signed else rng.exponential(size=k)
            if active.total is not None and k:
                total = active.total * (rng.uniform() if active.at_most else 1.0)
                x = x + (total - x.sum()) / k if active.signed else x * (total / x.sum())
            w = offset + active.directions @ x
            yield Measured(probe.off(w), FEASIBLE * 10, "an active w leaves the domain of G*", {"e": e, "w": w})
            gap, rounding = fenchel_young(value, probe.conjugate(w, e), w, e)
            what = "|G(e) + G*(w) - <w, e>| at an active w: complementary slackness fails"
            yield Measured(abs(gap), 10 * rounding, what, {"e": e, "w": w})
        rest = probe.subgradient(e) - offset
        left = rest - active.directions @ np.linalg.lstsq(active.directions, rest)[0] if k else rest
        what = "the subgradient is no combination of the active directions: left over"
        yield Measured(float(np.abs(left).max()), ROUNDING * scale_of(float(np.abs(rest).max())), what, {"e": e})


def _cvxpy_conjugate(probe: EdgeProbe) -> Measurements:
    import cvxpy as cp

    G = probe.G
    if not G.exact:
        yield NotAsked("there is no closed form of G*")
        return
    yield from curvature(G.cvxpy_conjugate, cp.Variable(probe.t))
    for w, conjugate in list(zip(probe.weights, probe.conjugates, strict=True))[::2]:
        theirs = minimum(G.cvxpy_conjugate, w)
        if theirs is not None:
            what = f"|G*(w) - cvxpy_conjugate(w)|, G*(w) = {conjugate:.9g} and CVXPY's is {theirs:.9g}"
            yield Measured(apart(conjugate, theirs), SOLVED * scale_of(conjugate), what, {"w": w})
        missed = violation(G.cvxpy_conjugate, w)
        yield Measured(missed, FEASIBLE * 10, "cvxpy_conjugate forbids a point of the domain of G*", {"w": w})
    for w in probe.raw_weights:
        off, forbidden = probe.off(w), violation(G.cvxpy_conjugate, w)
        if off >= OFF and minimum(G.cvxpy_conjugate, w) != np.inf:
            what = f"w outside the domain of G* by {off:.3g} satisfies the constraints of cvxpy_conjugate"
            yield Measured(off - 1e3 * forbidden, FEASIBLE, what, {"w": w})


def _sizes(probe: EdgeProbe) -> Measurements:
    G = probe.G
    for e in probe.edges:
        for w in probe.weights[:3]:
            magnitude = number(ask(G.magnitude, e, w, 1.0), "magnitude")
            at = {"e": e, "w": w, "magnitude": magnitude}
            yield held(0.0 <= magnitude < np.inf, "magnitude must be finite and not negative", at)
        told = ask(lambda e=e: np.array([float(x) for x in G.multipliers(e).values()]))
        bad = float(np.count_nonzero(~np.isfinite(told)))
        yield Measured(bad, 0.5, "multipliers that are not finite", {"e": e})


EDGE_CHECKS: dict[str, Callable[[EdgeProbe], Measurements]] = {
    "project": _project,
    "residuals": _residuals,
    "fenchel-young": _fenchel_young,
    "subgradient": _subgradient,
    "conjugate": _conjugate,
    "convexity": _convexity,
    "gaps": _gaps,
    "domain": _domain,
    "active": _active,
    "cvxpy-value": lambda probe: cvxpy_value(probe, probe.edges, "e"),
    "cvxpy-conjugate": _cvxpy_conjugate,
    "sizes": _sizes,
    "cones": cones,
}
"""The checks by name, in the order of a report."""
