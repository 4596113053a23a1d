"""Comparisons of a formulation's printed problems with each other, with the derived problems and with the closed forms.

Agreement at the optimum shows strong duality only. So the checks also compare, at hypothesis weights that are not
optimal, the printed dual with the dual function that follows mechanically from the printed primal. They compare both
with the closed form -F*(-Uw) - G*(w) that every certificate uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from boostopt._utils.array_types import HypothesisVector
from boostopt.checks.cvxpy_checks import NO_CVXPY_EXPRESSION
from boostopt.checks.formulation_probe import FormulationProbe
from boostopt.checks.references.cvxpy_references import problem_with_exact_exponents
from boostopt.checks.references.dual_function import MULTIPLIER_SIGNS
from boostopt.checks.references.measurements import (
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
    optimal_value,
    relative_scale,
)

MULTIPLIER_TOLERANCE = 1e-5
"""Accuracy of a solver's multipliers: the square root of its gap if the dual is flat."""

MAX_UNDECIDED_GAP = 1e-4
"""Scaled gap up to which a bound of F* or G* that is not tight is no mistake of the formulation."""

DERIVED_MESSAGE = "the formulation prints no {}: the derived one is used instead"
"""The reason why a check of a printed problem does not apply; the side is filled in."""

NO_DUAL_MESSAGE = "no dual is printed, and none can be derived"
"""The reason why a check of the dual does not apply."""


def compare_optima(name: str, a: float | None, b: float | None) -> Iterator[Measurement | Note]:
    """Compare two optimal values."""
    if a is None or b is None:
        yield Note("no solver found a value in one instance")
        return
    yield Measurement(
        absolute_difference(a, b), SOLVER_TOLERANCE * relative_scale(a, b), f"{name}: {a:.9g} against {b:.9g}, apart"
    )


def check_labels(probe: FormulationProbe) -> Findings:
    """Check that every constraint has a label, and that no label occurs twice."""
    for side, problem in (("primal", probe.primal), ("dual", probe.dual)):
        if problem is None or not probe.prints(side):
            yield NotApplicable(DERIVED_MESSAGE.format(side))
            continue
        names = [constraint.label for constraint in problem.constraints]
        missing = float(sum(not label for label in names))
        yield Measurement(missing, 0.5, f"constraints of the printed {side} without a label")
        yield Measurement(float(len(names) - len(set(names))), 0.5, f"labels that occur twice in the printed {side}")


def check_senses(probe: FormulationProbe) -> Findings:
    """Check that the primal is the d side and minimized, and that the dual is maximized."""
    import cvxpy as cp

    if probe.primal is None:
        yield NotApplicable(NO_CVXPY_EXPRESSION)
        return
    yield assertion(isinstance(probe.primal.objective, cp.Minimize), "the printed primal must be minimized")
    if probe.dual is not None:
        yield assertion(isinstance(probe.dual.objective, cp.Maximize), "the printed dual must be maximized")


def check_strong_duality(probe: FormulationProbe) -> Findings:
    """Check that the printed problems have the same optimal value."""
    if probe.dual is None:
        yield NotApplicable(NO_DUAL_MESSAGE)
        return
    yield from compare_optima("printed primal and printed dual", probe.solved_primal[0], probe.solved_dual[0])


def check_stated_primal(probe: FormulationProbe) -> Findings:
    """Check that the printed primal has the value of min F(d) + G(Uᵀd)."""
    if not probe.prints("primal"):
        yield NotApplicable(DERIVED_MESSAGE.format("primal"))
        return
    if not (probe.F.has_cvxpy_expression and probe.G.has_cvxpy_expression):
        yield NotApplicable(NO_CVXPY_EXPRESSION)
        return
    derived = optimal_value(problem_with_exact_exponents(call_component(probe.program.cvxpy, "primal")))
    yield from compare_optima("printed and derived primal", probe.solved_primal[0], derived)


def check_stated_dual(probe: FormulationProbe) -> Findings:
    """Check that the printed dual has the value of max -F*(-Uw) - G*(w)."""
    if probe.dual is None or not probe.prints("dual") or "dual" not in probe.program.available_sides:
        yield NotApplicable(NO_DUAL_MESSAGE if probe.dual is None else DERIVED_MESSAGE.format("dual"))
        return
    derived = optimal_value(problem_with_exact_exponents(call_component(probe.program.cvxpy, "dual")))
    yield from compare_optima("printed and derived dual", probe.solved_dual[0], derived)


def check_certificate(probe: FormulationProbe) -> Findings:
    """Check that the interval from `solve` is narrow and contains the value of the printed primal."""
    proof, value = probe.certificate, probe.solved_primal[0]
    if probe.primal is None:
        yield Note(f"{NO_CVXPY_EXPRESSION}: only the gap was measured")
    elif value is None:
        yield Note("no solver found a value in one instance")
        return
    elif proof.infeasible or value == np.inf:
        description = f"only one of the two is infeasible: {proof!r}, the printed primal has {value:.9g}"
        yield assertion(proof.infeasible and value == np.inf, description)
        return
    else:
        outside = max(proof.lower - value, value - proof.upper, 0.0)
        description = f"the value {value:.9g} of the printed primal lies outside {proof!r} by"
        yield Measurement(outside, probe.tolerance(value), description)
    if not probe.exact and SOLVER_TOLERANCE < proof.scaled_gap <= MAX_UNDECIDED_GAP:
        yield Note(f"F* or G* is an upper bound only: in one instance the answer is only good to {proof.gap:.1e}")
        return
    yield Measurement(proof.scaled_gap, SOLVER_TOLERANCE, f"the certificate stays wide: {proof!r}")


def check_dual_at_w(probe: FormulationProbe) -> Findings:
    """Check, for fixed w, that the printed dual has the value of the dual function of the printed primal."""
    import cvxpy as cp

    if probe.dual is None:
        yield NotApplicable(NO_DUAL_MESSAGE)
        return
    t = probe.program.margins.t
    variables = [variable for variable in probe.dual.variables() if variable.name() == "w"]
    if len(variables) != 1 or variables[0].size != t:
        names = ", ".join(sorted(variable.name() for variable in probe.dual.variables()))
        raise ComponentError(f'the printed dual must have a variable "w" of size t = {t}; its variables are {names}')
    w_parameter = cp.Parameter(t)
    problem = cp.Problem(
        probe.dual.objective, [*probe.dual.constraints, cp.vec(variables[0], order="F") == w_parameter]
    )

    def printed_dual(w: HypothesisVector) -> float | None:
        w_parameter.value = w
        return optimal_value(problem)

    yield from _compare_with_dual_function(probe, "the printed dual", printed_dual)


def check_closed_form_dual(probe: FormulationProbe) -> Findings:
    """Check that -F*(-Uw) - G*(w), or -inf outside the domain of G*, is the dual function of the printed primal."""
    if not probe.exact:
        yield from _check_upper_bounds(probe)
        return

    def closed_form_dual(w: HypothesisVector) -> float:
        return probe.closed_form_dual(w) if probe.G.domain_violation(w) < INFEASIBLE_RESIDUAL else -np.inf

    yield from _compare_with_dual_function(probe, "-F*(-Uw) - G*(w)", closed_form_dual)


def _compare_with_dual_function(
    probe: FormulationProbe, name: str, dual: Callable[[HypothesisVector], float | None]
) -> Findings:
    """Compare a dual with the dual function of the printed primal, at the weights w of a probe.

    Parameters
    ----------
    probe
        The probe.
    name
        The name of the dual, for messages.
    dual
        The value of the dual at w; None if no solver finds it.
    """
    for w, expected in zip(probe.weights, probe.dual_function_values, strict=True):
        value = None if expected is None else dual(w)
        if value is None or expected is None:
            yield Note("no solver found a value at one w")
            continue
        yield Measurement(
            absolute_difference(value, expected),
            probe.tolerance(value, expected),
            f"at w {name} is {value:.9g} and the dual function of the printed primal {expected:.9g}; apart",
            {"w": w},
        )


def _check_upper_bounds(probe: FormulationProbe) -> Findings:
    """Check, if F* or G* is an upper bound only, that -F*(-Uw) - G*(w) is at most the optimum."""
    if probe.primal is None:
        yield NotApplicable(NO_CVXPY_EXPRESSION)
        return
    value = probe.solved_primal[0]
    if value is None:
        yield Note("no solver found a value in one instance")
        return
    yield Note("F* or G* is an upper bound only: the value at w must be at most the optimum")
    for w in probe.weights:
        bound = probe.closed_form_dual(w)
        if probe.G.domain_violation(w) < INFEASIBLE_RESIDUAL:
            description = f"at w -F*(-Uw) - G*(w) is {bound:.9g}, above the optimum {value:.9g} by"
            yield Measurement(bound - value, probe.tolerance(bound, value), description, {"w": w})


def check_multiplier_w(probe: FormulationProbe) -> Findings:
    """Check that the multiplier of the constraint "w" has the sign of the conventions and proves the optimum."""
    value, multipliers = probe.solved_primal
    parts = [sign * multipliers[label] for label, sign in MULTIPLIER_SIGNS.items() if label in multipliers]
    if not parts or value is None:
        yield NotApplicable("no constraint is labelled w in a primal that was solved")
        return
    w = np.sum(parts, axis=0)
    yield Measurement(
        probe.G.domain_violation(w),
        MULTIPLIER_TOLERANCE * relative_scale(float(np.abs(w).max())),
        "the multiplier leaves the domain of G*",
        {"w": w},
    )
    lower = probe.proved_lower_bound(w)
    description = f"the multiplier proves {lower:.9g} of the optimum {value:.9g}, short by"
    # If no bound is tight, not even the best answer proves the optimum.
    gap = 0.0 if probe.exact else probe.certificate.gap
    yield Measurement(value - lower, MULTIPLIER_TOLERANCE * relative_scale(value) + gap, description, {"w": w})


def check_multiplier_d(probe: FormulationProbe) -> Findings:
    """Check that the multipliers of the constraint labelled "d" are example weights that prove the optimum."""
    value, multipliers = probe.solved_dual
    if "d" not in multipliers or value is None:
        yield NotApplicable("no constraint is labelled d in a dual that was solved")
        return
    d = multipliers["d"]
    yield Measurement(
        probe.F.domain_violation(d),
        MULTIPLIER_TOLERANCE * relative_scale(float(np.abs(d).max())),
        "the multiplier leaves the domain of F",
        {"d": d},
    )
    upper = call_component(probe.program.certify, d, None).upper
    description = f"the multiplier proves {upper:.9g} of the optimum {value:.9g}, beyond it by"
    yield Measurement(upper - value, MULTIPLIER_TOLERANCE * relative_scale(value), description, {"d": d})
