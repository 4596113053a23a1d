"""Checks of a regularizer's domain: its points, its extent, and the room within it."""

from __future__ import annotations

import numpy as np

from boostopt._utils.array_types import ExampleVector
from boostopt.checks.references.cvxpy_references import constraint_violation, minimum_over_auxiliary
from boostopt.checks.references.measurements import (
    CLOSED_FORM_TOLERANCE,
    FEASIBILITY_TOLERANCE,
    SOLVER_TOLERANCE,
    Findings,
    Measurement,
    NotApplicable,
    assertion,
    call_component,
    excess_over,
    optimal_value,
    relative_scale,
    require_number,
    require_vector,
)
from boostopt.checks.references.random_test_points import LARGE_ARGUMENT, N_MOVES, RegularizerProbe
from boostopt.functions.regularizers.base import Regularizer

SEEN = 1e-3
"""Factor by which two measures of a violation may differ; smaller violations are not compared."""


def check_domain(probe: RegularizerProbe) -> Findings:
    """Check that `project` returns points of the domain for any argument, and that the domain is not empty."""
    F = probe.F
    for q in (None, *probe.invalid_weights):
        d = probe.project(q)
        yield Measurement(
            probe.domain_violation(d),
            FEASIBILITY_TOLERANCE,
            "project(q) violates the domain",
            {"q": q, "project(q)": d},
        )
        if F.on_simplex and d.shape == (F.N,):
            miss = max(abs(float(d.sum()) - 1.0), 0.0 if F.signed else -float(d.min()))
            yield Measurement(miss, FEASIBILITY_TOLERANCE, "project(q) is no distribution", {"q": q, "project(q)": d})
    for d in probe.weights:
        distance = np.abs(probe.project(d) - d).max()
        yield Measurement(
            float(distance),
            FEASIBILITY_TOLERANCE * relative_scale(probe.size),
            "project moves a point of the domain",
            {"d": d},
        )
    distribution = [probe.variable >= 0, probe.variable.sum() == 1] if F.on_simplex else []
    import cvxpy as cp

    feasible = optimal_value(cp.Problem(cp.Minimize(0), [*probe.modelled[1], *distribution]))
    missed = "the domain misses the simplex: no distribution satisfies the constraints of cvxpy_value"
    yield assertion(feasible == 0.0, missed if F.on_simplex else "the domain is empty")


def check_residuals(probe: RegularizerProbe) -> Findings:
    """Check that the residuals are 0 in the domain and measure the violation outside."""
    F = probe.F
    for d in probe.weights:
        yield Measurement(
            probe.domain_violation(d), FEASIBILITY_TOLERANCE, "residuals at a point of the domain", {"d": d}
        )
    for outside in probe.perturbed_points:
        violation = constraint_violation(probe.model, outside)
        sizes = call_component(F.residuals, outside)
        if violation > FEASIBILITY_TOLERANCE and min(sizes.values(), default=0.0) < 0.0:
            yield Measurement(-min(sizes.values()), FEASIBILITY_TOLERANCE, "a residual is negative", {"d": outside})
        if violation > SEEN * probe.size:
            missing = violation - max(sizes.values(), default=0.0) / SEEN
            yield Measurement(
                missing, FEASIBILITY_TOLERANCE, "residuals do not see how far d lies outside", {"d": outside}
            )
    not_finite = max(call_component(F.residuals, np.full(F.N, np.nan)).values(), default=0.0)
    yield assertion(not_finite == np.inf, "residuals of nan must be inf")


def forbidden(probe: RegularizerProbe) -> Findings:
    """Check that the constraints of `cvxpy_value` hold in the domain and fail outside."""
    for d in probe.weights:
        description = "a point of the domain violates the constraints of cvxpy_value"
        yield Measurement(
            constraint_violation(probe.model, d),
            FEASIBILITY_TOLERANCE * relative_scale(probe.size),
            description,
            {"d": d},
        )
    for outside in probe.perturbed_points:
        violation = probe.domain_violation(outside)
        missing = violation - constraint_violation(probe.model, outside) / SEEN
        if violation <= SEEN * probe.size or (
            missing > FEASIBILITY_TOLERANCE and _is_forbidden_by_variables(probe, outside)
        ):
            continue
        description = f"a point outside the domain by {violation:.3g} satisfies the constraints of cvxpy_value"
        yield Measurement(missing, FEASIBILITY_TOLERANCE, description, {"d": outside})


def _is_forbidden_by_variables(probe: RegularizerProbe, d: ExampleVector) -> bool:
    """Return whether no values of its own variables satisfy the constraints of `cvxpy_value` at d."""
    return minimum_over_auxiliary(probe.model, d) == np.inf


def check_value_bound(probe: RegularizerProbe) -> Findings:
    """Check that F is at most value_bound on the domain."""
    F, bound = probe.F, require_number(call_component(lambda: probe.F.value_bound), "value_bound")
    if bound != bound:
        yield NotApplicable("value_bound is not known (nan)")
        return
    # At large arguments the maximizers are vertices.
    vertices = (
        [probe.conjugate_at(LARGE_ARGUMENT * z).d for z in probe.directions] if F.has_closed_form_conjugate else []
    )
    points = [*probe.weights, *vertices, *(vertex for _, vertex, _ in probe.linear_maximizers)]
    values = [probe.value(d) for d in points]
    for d, value in zip(points, values, strict=True):
        description = f"F(d) exceeds value_bound {bound:.9g}"
        yield Measurement(
            excess_over(value, bound), CLOSED_FORM_TOLERANCE * relative_scale(min(value, bound)), description, {"d": d}
        )


def check_unsmoothed(probe: RegularizerProbe) -> Findings:
    """Check that F0, F without its smoothing term, has the domain of F and, with other terms, is nowhere larger.

    A smoothing term can fix a weight that is free without it. The domain of F0 is then the larger one.
    """
    F: Regularizer = probe.F
    F0: Regularizer = call_component(lambda: F.unsmoothed)
    if F0 is F:
        yield NotApplicable("F has no term that unsmoothed leaves out")
        return
    base_probe, tolerance = probe.probe_of(F0), FEASIBILITY_TOLERANCE * relative_scale(probe.size)
    # Without other terms, the smoothing term is F itself, and its values may be negative.
    has_terms = require_number(call_component(lambda: F0.value_bound), "unsmoothed.value_bound") > 0.0
    for d in (*probe.weights, *(vertex for _, vertex, _ in probe.linear_maximizers)):
        violation, description = base_probe.domain_violation(d), "the domain of unsmoothed misses a point of F's"
        yield Measurement(violation, tolerance, description, {"d": d})
        if has_terms:
            value, without = probe.value(d), base_probe.value(d)
            description = f"unsmoothed is {without:.9g}, above F(d) = {value:.9g}"
            yield Measurement(without - value, CLOSED_FORM_TOLERANCE * relative_scale(value), description, {"d": d})
    for unit in np.eye(F.N):
        largest, smallest = (
            sign * require_number(call_component(F.support, sign * unit), "support") for sign in (1.0, -1.0)
        )
        if largest - smallest <= tolerance < smallest:
            return  # F fixes a weight, which may be free without the smoothing term
    for z in probe.directions:  # at large arguments the maximizers are vertices
        d = base_probe.conjugate_at(LARGE_ARGUMENT * z).d
        violation, description = probe.domain_violation(d), "the domain of unsmoothed has a point outside F's"
        yield Measurement(violation, tolerance, description, {"d": d})


def check_support(probe: RegularizerProbe) -> Findings:
    """Check that the support is finite and at least the maximum of <z, d> over the domain."""
    for z, _, largest in probe.linear_maximizers:
        claimed = require_number(call_component(probe.F.support, z), "support")
        description = f"the maximum of <z, d> over the domain is {largest:.9g}, above support(z) = {claimed:.9g}"
        yield Measurement(largest - claimed, SOLVER_TOLERANCE * relative_scale(largest), description, {"z": z})
        if not np.isfinite(claimed):
            yield assertion(False, "support(z) must be finite", {"z": z})


def check_mass(probe: RegularizerProbe) -> Findings:
    """Check that the sum of |d_n| is at most the mass."""
    bound = require_number(call_component(lambda: probe.F.mass), "mass")
    for d in (*probe.weights, *(vertex for _, vertex, _ in probe.linear_maximizers)):
        total = float(np.abs(d).sum())
        yield Measurement(
            total - bound,
            CLOSED_FORM_TOLERANCE * relative_scale(total),
            f"sum |d_n| exceeds the mass {bound:.9g}",
            {"d": d},
        )


def check_room(probe: RegularizerProbe) -> Findings:
    """Check that steps within the distance to the boundary (`room`) stay in the domain."""
    F, rng = probe.F, probe.rng(5)
    for d in probe.weights[: 2 * N_MOVES]:
        free = require_vector(call_component(F.room, d), F.N, "room")
        yield Measurement(-float(free.min()), FEASIBILITY_TOLERANCE, "room is negative", {"d": d, "room": free})
        for _ in range(2):
            move = free * rng.choice([-1.0, 1.0, 0.3], size=F.N)
            if F.on_simplex:
                # The steps up and the steps down get the same sum: the larger one is reduced to the smaller.
                up, down = float(move[move > 0].sum()), -float(move[move < 0].sum())
                move = np.where(move > 0, move * _ratio_at_most_one(down, up), move * _ratio_at_most_one(up, down))
            violation = max(probe.domain_violation(d + move), constraint_violation(probe.model, d + move))
            description = "d leaves the domain by a move within its room"
            yield Measurement(
                violation, FEASIBILITY_TOLERANCE * relative_scale(probe.size), description, {"d": d, "move": move}
            )


def _ratio_at_most_one(required: float, available: float) -> float:
    """Return required / available, at most 1; 0 if nothing is available."""
    return min(1.0, required / available) if available > 0 else 0.0
