"""Checks of the CVXPY expressions of F or G: its values and its cones."""

from __future__ import annotations

from collections.abc import Iterable

from boostopt._utils.array_types import Array, Float
from boostopt.checks.references.cvxpy_references import (
    check_dcp,
    evaluate_model,
    minimum_over_auxiliary,
    required_cones,
)
from boostopt.checks.references.measurements import (
    SOLVER_TOLERANCE,
    Findings,
    Measurement,
    NotApplicable,
    Note,
    absolute_difference,
    call_component,
    relative_scale,
)
from boostopt.checks.references.random_test_points import ComponentProbe

NO_CVXPY_EXPRESSION = "CVXPY has no expression of the formula"
"""The reason why a CVXPY expression is not checked."""


def check_cvxpy_value(probe: ComponentProbe, points: Iterable[Float[Array, " n"]], symbol: str) -> Findings:
    """Check that F or G equals the CVXPY expression, and that the expression is convex by CVXPY's rules."""
    if not probe.has_cvxpy_expression:
        yield NotApplicable(NO_CVXPY_EXPRESSION)
        return
    import cvxpy as cp

    model = probe.component.cvxpy_value
    yield from check_dcp(model, cp.Variable(probe.n))
    for x in points:
        value, theirs = probe.value(x), minimum_over_auxiliary(model, x)
        if theirs is None:
            yield Note("no solver found the value at one argument")
            continue
        description = (
            f"|value({symbol}) - cvxpy_value({symbol})|, value({symbol}) = {value:.9g} and CVXPY's is {theirs:.9g}"
        )
        yield Measurement(
            absolute_difference(value, theirs), SOLVER_TOLERANCE * relative_scale(value), description, {symbol: x}
        )


def check_cones(probe: ComponentProbe) -> Findings:
    """Check that F or G declares all cones that CVXPY needs for the function and its conjugate."""
    if not probe.has_cvxpy_expression:
        yield NotApplicable(NO_CVXPY_EXPRESSION)
        return
    import cvxpy as cp

    piece, declared = probe.component, call_component(lambda: probe.component.cones)
    models = [piece.cvxpy_value, piece.cvxpy_conjugate] if piece.has_closed_form_conjugate else [piece.cvxpy_value]
    for model in models:
        value, constraints = evaluate_model(model, cp.Variable(probe.n))
        missing = required_cones(cp.Problem(cp.Minimize(value), constraints), declared) - declared
        description = (
            f"cones needed but not declared: {', '.join(sorted(missing))}; declared {', '.join(sorted(declared))}"
        )
        yield Measurement(float(len(missing)), 0.5, description)
