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
from boostopt.checks.cvxpy_checks import NO_CVXPY_EXPRESSION, check_cones, check_cvxpy_value
from boostopt.checks.references.cvxpy_references import (
    check_dcp,
    constraint_violation,
    evaluate_exact_model,
    minimum_over_auxiliary,
)
from boostopt.checks.references.measurements import (
    CLOSED_FORM_TOLERANCE,
    FEASIBILITY_TOLERANCE,
    INFEASIBLE_RESIDUAL,
    SOLVER_TOLERANCE,
    ComponentError,
    Findings,
    Measurement,
    NotApplicable,
    Note,
    absolute_difference,
    assertion,
    call_component,
    excess_over,
    fenchel_young_gap,
    optimal_value,
    relative_scale,
    require_instance,
    require_number,
    require_vector,
    run_check,
)
from boostopt.checks.references.random_test_points import N_SOLVES, EdgeProbe, polyhedron_violation
from boostopt.errors import OptionError, short_repr
from boostopt.functions.edge_functions.base import Active, EdgeFunction

TIE_TOLERANCE = 1e-9
"""Edges nearer than this count as equal."""


def check_edge(G: object, t: int = 3, random_state: int = 0) -> CheckReport:
    """Check the contract of `EdgeFunction` for an edge function.

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
    probe = EdgeProbe(G, t, random_state, N_SOLVES)
    checks = tuple(run_check(name, check(probe)) for name, check in EDGE_CHECKS.items())
    return CheckReport(f"{type(G).__name__} of {t} edges", checks)


def _check_projection(probe: EdgeProbe) -> Findings:
    """Check that `project` returns points of the domain of G*, and that it keeps such points."""
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
        yield Measurement(
            probe.domain_violation(v),
            FEASIBILITY_TOLERANCE,
            "project(w) violates the domain of G*",
            {"w": w, "project(w)": v},
        )
    yield assertion(meaningful > 0, "project returns None whatever w is")
    for w in probe.weights:
        again = probe.project(w)
        distance = np.inf if again is None else float(np.abs(again - w).max())
        tolerance = FEASIBILITY_TOLERANCE * relative_scale(float(np.abs(w).max()))
        yield Measurement(distance, tolerance, "project moves a point of the domain of G*", {"w": w})


def _check_residuals(probe: EdgeProbe) -> Findings:
    """Check that the residuals are 0 if G* is finite and positive otherwise."""
    G = probe.G
    for w in probe.weights:
        yield Measurement(
            probe.domain_violation(w), FEASIBILITY_TOLERANCE, "residuals at a point of the domain of G*", {"w": w}
        )
    not_finite = probe.domain_violation(np.full(probe.t, np.nan))
    yield assertion(not_finite == np.inf, "residuals of nan must be inf")
    if not G.has_closed_form_conjugate:
        yield Note("the domain of G* was not checked: a bound on [-1, 1] is finite everywhere")
        return
    for w in probe.raw_weights:
        inner, outer = probe.inner_supremum.value(w), probe.outer_supremum.value(w)
        if inner is None or outer is None:
            yield Note("no solver found the supremum at one argument")
            continue
        grows, violation = (outer - inner) / (9.0 * probe.box), probe.domain_violation(w)
        if violation >= INFEASIBLE_RESIDUAL:
            description = f"residuals call w infeasible by {violation:.3g}, yet sup <w, e> - G(e) stays finite"
            yield Measurement(violation * 1e-3 - grows, FEASIBILITY_TOLERANCE, description, {"w": w})
        elif violation <= FEASIBILITY_TOLERANCE:
            description = "residuals call w feasible, yet sup <w, e> - G(e) grows without bound: slope"
            yield Measurement(grows, SOLVER_TOLERANCE * relative_scale(float(np.abs(w).max())), description, {"w": w})


def _check_fenchel_young(probe: EdgeProbe) -> Findings:
    """Check the Fenchel-Young inequality G(e) + G*(w) >= <w, e>."""
    for e in probe.edges:
        value = probe.value(e)
        for w, conjugate in zip(probe.weights, probe.conjugates, strict=True):
            gap, rounding = fenchel_young_gap(value, conjugate, w, e)
            # A bound that was computed, not derived, still holds up to the accuracy of G itself.
            yield Measurement(-gap, rounding, "G(e) + G*(w) - <w, e> is negative", {"e": e, "w": w})


def _check_subgradient(probe: EdgeProbe) -> Findings:
    """Check that the best answer w to e gives equality in Fenchel-Young; a condition on e that is slack has w = 0."""
    for e in probe.edges:
        w = probe.subgradient(e)
        yield Measurement(
            probe.domain_violation(w),
            FEASIBILITY_TOLERANCE,
            "the subgradient leaves the domain of G*",
            {"e": e, "w": w},
        )
        gap, rounding = fenchel_young_gap(probe.value(e), probe.conjugate(w, e), w, e)
        yield Measurement(abs(gap), rounding, "|G(e) + G*(w) - <w, e>| at the subgradient w", {"e": e, "w": w})


def _check_conjugate(probe: EdgeProbe) -> Findings:
    """Check that G* is the supremum of <w, e> - G(e), or an upper bound of it."""
    G = probe.G
    if not probe.has_cvxpy_expression:
        yield NotApplicable(NO_CVXPY_EXPRESSION)
        return
    if not G.has_closed_form_conjugate:
        yield Note("G* is an upper bound only: it must be at least the supremum over [-1, 1]")
    for w, conjugate in list(zip(probe.weights, probe.conjugates, strict=True))[: 2 * probe.solves]:
        supremum = probe.inner_supremum.value(w)
        if supremum is None:
            yield Note("no solver found the supremum at one argument")
            continue
        scale = relative_scale(conjugate, probe.box * float(np.abs(w).max()) * 1e-2)
        difference = absolute_difference(conjugate, supremum) if G.has_closed_form_conjugate else supremum - conjugate
        description = f"G*(w) = {conjugate:.9g}, the supremum of <w, e> - G(e) is {supremum:.9g}; they differ by"
        yield Measurement(difference, SOLVER_TOLERANCE * scale, description, {"w": w})


def _check_convexity(probe: EdgeProbe) -> Findings:
    """Check the convexity of G and G* on segments."""
    G, rng = probe.G, probe.rng(3)
    for _ in range(20):
        e, f = (probe.edges[k] for k in rng.integers(len(probe.edges), size=2))
        ends = 0.5 * (probe.value(e) + probe.value(f))
        raised = excess_over(probe.value(0.5 * (e + f)), ends)
        yield Measurement(
            raised,
            CLOSED_FORM_TOLERANCE * relative_scale(ends),
            "G at the middle exceeds the mean at the ends",
            {"e": e, "f": f},
        )
        if not G.has_closed_form_conjugate:
            continue
        v, w = (probe.weights[k] for k in rng.integers(len(probe.weights), size=2))
        middle = 0.5 * (v + w)
        yield Measurement(
            probe.domain_violation(middle),
            FEASIBILITY_TOLERANCE * relative_scale(),
            "the domain of G* is not convex",
            {"v": v, "w": w},
        )
        ends = 0.5 * (probe.conjugate(v) + probe.conjugate(w))
        raised = excess_over(probe.conjugate(middle), ends)
        yield Measurement(
            raised,
            CLOSED_FORM_TOLERANCE * relative_scale(ends),
            "G* at the middle exceeds the mean at the ends",
            {"v": v, "w": w},
        )


def _check_gaps(probe: EdgeProbe) -> Findings:
    """Check that the gaps are non-negative and sum to G(e) + G*(w) - <w, e>."""
    for e in probe.edges:
        value = probe.value(e)
        for w in probe.weights:
            gaps = probe.gaps(e, w)
            expected, rounding = fenchel_young_gap(value, probe.conjugate(w, e), w, e)
            yield Measurement(-float(gaps.min()), rounding, "a gap is negative", {"e": e, "w": w, "gaps": gaps})
            description = f"the gaps sum to {gaps.sum():.9g} and G(e) + G*(w) - <w, e> = {expected:.9g}"
            yield Measurement(absolute_difference(float(gaps.sum()), expected), rounding, description, {"e": e, "w": w})


def _check_domain(probe: EdgeProbe) -> Findings:
    """Check that CVXPY's constraints hold exactly in the polyhedron, and that `support` is the maximum of <ray, e>."""
    import cvxpy as cp

    G, allowed = probe.G, probe.domain
    yield assertion(len(probe.edges) > 0, "no edges were found in the domain of G")
    for e in probe.edges:
        yield Measurement(
            constraint_violation(probe.model, e),
            FEASIBILITY_TOLERANCE * 10,
            "cvxpy_value forbids edges of the domain",
            {"e": e},
        )
    if allowed is None:
        for e in probe.raw_edges:
            missing = constraint_violation(probe.model, e)
            yield Measurement(
                missing, FEASIBILITY_TOLERANCE, "domain says all of R^t, cvxpy_value forbids edges", {"e": e}
            )
        return
    for e in probe.raw_edges:
        outside, forbidden = polyhedron_violation(allowed, e), constraint_violation(probe.model, e)
        description = f"edges beyond the domain by {outside:.3g} satisfy the constraints of cvxpy_value"
        yield Measurement(outside - 1e3 * forbidden, FEASIBILITY_TOLERANCE, description, {"e": e})
    e = cp.Variable(probe.t)
    violation = evaluate_exact_model(probe.model, e)[1]
    for w in probe.weights[: probe.solves]:
        for ray in call_component(G.candidate_rays, w):
            claimed, largest = (
                require_number(call_component(G.support, ray), "support"),
                optimal_value(cp.Problem(cp.Maximize(ray @ e), violation)),
            )
            if largest is not None:
                description = (
                    f"support(ray) = {claimed:.9g}, the maximum of <ray, e> over the domain is {largest:.9g}; off by"
                )
                yield Measurement(
                    absolute_difference(claimed, largest),
                    SOLVER_TOLERANCE * relative_scale(claimed),
                    description,
                    {"w": w, "ray": ray},
                )


def _check_active(probe: EdgeProbe) -> Findings:
    """Check that every w that `active` allows is optimal for e, and `active` allows the subgradient."""
    G, rng = probe.G, probe.rng(4)
    for e in probe.edges:
        active = require_instance(call_component(G.active, e, TIE_TOLERANCE), Active, "active")
        value = probe.value(e)
        offset = require_vector(active.offset, probe.t, "the offset of active")
        if np.ndim(active.directions) != 2 or len(active.directions) != probe.t:
            shape = np.shape(active.directions)
            raise ComponentError(f"active must return directions of {probe.t} rows; got shape {shape}")
        k = active.directions.shape[1]
        for _ in range(3):
            x = rng.normal(size=k) if active.signed else rng.exponential(size=k)
            if active.total is not None and k:
                total = active.total * (rng.uniform() if active.total_is_upper_bound else 1.0)
                x = x + (total - x.sum()) / k if active.signed else x * (total / x.sum())
            w = offset + active.directions @ x
            yield Measurement(
                probe.domain_violation(w),
                FEASIBILITY_TOLERANCE * 10,
                "an active w leaves the domain of G*",
                {"e": e, "w": w},
            )
            gap, rounding = fenchel_young_gap(value, probe.conjugate(w, e), w, e)
            description = "|G(e) + G*(w) - <w, e>| at an active w: complementary slackness fails"
            yield Measurement(abs(gap), 10 * rounding, description, {"e": e, "w": w})
        rest = probe.subgradient(e) - offset
        remainder = rest - active.directions @ np.linalg.lstsq(active.directions, rest)[0] if k else rest
        description = "the subgradient is no combination of the active directions: left over"
        yield Measurement(
            float(np.abs(remainder).max()),
            CLOSED_FORM_TOLERANCE * relative_scale(float(np.abs(rest).max())),
            description,
            {"e": e},
        )


def _check_cvxpy_conjugate(probe: EdgeProbe) -> Findings:
    """Check that `cvxpy_conjugate` has the values and the domain of G*."""
    import cvxpy as cp

    G = probe.G
    if not G.has_closed_form_conjugate:
        yield NotApplicable("there is no closed form of G*")
        return
    yield from check_dcp(G.cvxpy_conjugate, cp.Variable(probe.t))
    for w, conjugate in list(zip(probe.weights, probe.conjugates, strict=True))[::2]:
        theirs = minimum_over_auxiliary(G.cvxpy_conjugate, w)
        if theirs is not None:
            description = f"|G*(w) - cvxpy_conjugate(w)|, G*(w) = {conjugate:.9g} and CVXPY's is {theirs:.9g}"
            yield Measurement(
                absolute_difference(conjugate, theirs),
                SOLVER_TOLERANCE * relative_scale(conjugate),
                description,
                {"w": w},
            )
        missed = constraint_violation(G.cvxpy_conjugate, w)
        yield Measurement(
            missed, FEASIBILITY_TOLERANCE * 10, "cvxpy_conjugate forbids a point of the domain of G*", {"w": w}
        )
    for w in probe.raw_weights:
        violation, forbidden = probe.domain_violation(w), constraint_violation(G.cvxpy_conjugate, w)
        if violation >= INFEASIBLE_RESIDUAL and minimum_over_auxiliary(G.cvxpy_conjugate, w) != np.inf:
            description = f"w outside the domain of G* by {violation:.3g} satisfies the constraints of cvxpy_conjugate"
            yield Measurement(violation - 1e3 * forbidden, FEASIBILITY_TOLERANCE, description, {"w": w})


def _check_sizes(probe: EdgeProbe) -> Findings:
    """Check that the magnitudes and the multipliers are finite."""
    G = probe.G
    for e in probe.edges:
        for w in probe.weights[:3]:
            magnitude = require_number(call_component(G.magnitude, e, w, 1.0), "magnitude")
            arguments = {"e": e, "w": w, "magnitude": magnitude}
            yield assertion(0.0 <= magnitude < np.inf, "magnitude must be finite and not negative", arguments)
        multipliers = call_component(lambda e=e: np.array([float(x) for x in G.multipliers(e).values()]))
        bad = float(np.count_nonzero(~np.isfinite(multipliers)))
        yield Measurement(bad, 0.5, "multipliers that are not finite", {"e": e})


EDGE_CHECKS: dict[str, Callable[[EdgeProbe], Findings]] = {
    "project": _check_projection,
    "residuals": _check_residuals,
    "fenchel-young": _check_fenchel_young,
    "subgradient": _check_subgradient,
    "conjugate": _check_conjugate,
    "convexity": _check_convexity,
    "gaps": _check_gaps,
    "domain": _check_domain,
    "active": _check_active,
    "cvxpy-value": lambda probe: check_cvxpy_value(probe, probe.edges, "e"),
    "cvxpy-conjugate": _check_cvxpy_conjugate,
    "sizes": _check_sizes,
    "cones": check_cones,
}
"""The checks by name, in the order of a report."""
