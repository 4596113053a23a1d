"""Values at a point of CVXPY expressions with constraints, with or without variables of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.cvxpy_tools import with_exact_exponents
from boostopt.checks.references.measurements import Measurement, assertion, best_of, call_component, optimal_value

Model = Callable[[Any], tuple[Any, list[Any]]]
"""Returns (expression, constraints) for an affine CVXPY expression."""


def problem_with_exact_exponents(problem: Any) -> Any:
    """Return a problem with the exponents of its source; its constraints keep their labels."""
    import cvxpy as cp

    objective = type(problem.objective)(with_exact_exponents(problem.objective.expr))
    return cp.Problem(objective, [*map(with_exact_exponents, problem.constraints)])


def evaluate_model(model: Model, x: Any) -> tuple[Any, list[Any]]:
    """Return the expression and its constraints, including the domains of its atoms (d >= 0 for an entropy)."""
    import cvxpy as cp

    def expression_and_constraints() -> tuple[Any, list[Any]]:
        expression, constraints = model(x)
        expression = cp.Constant(0.0) + expression
        # The domain of max(x, 0) ** 1.5 is max(x, 0) >= 0, which always holds and violates CVXPY's rules.
        return expression, [*constraints, *(one for one in expression.domain if one.is_dcp())]

    return call_component(expression_and_constraints)


def evaluate_exact_model(model: Model, x: Any) -> tuple[Any, list[Any]]:
    """Return the expression and its constraints, with the exponents as they were written."""
    expression, constraints = evaluate_model(model, x)
    return with_exact_exponents(expression), [*map(with_exact_exponents, constraints)]


def minimum_over_auxiliary(model: Model, x: Float[Array, " n"]) -> float | None:
    """Return the value of a modelled function at x, minimized over its own variables.

    Constraints on x alone are left out: if x lies on the boundary, they would fail by rounding.
    """
    import cvxpy as cp

    expression, constraints = evaluate_exact_model(model, cp.Constant(x))
    with_variables = [constraint for constraint in constraints if constraint.variables()]
    if with_variables or expression.variables():
        return optimal_value(cp.Problem(cp.Minimize(expression), with_variables))
    return float(call_component(lambda: expression.value))


class SupremumProblem:
    """The supremum of <y, x> - value over all feasible x, as a function of y.

    The problem is compiled once; x keeps the last maximizer.

    Attributes
    ----------
    accuracy
        The requested accuracy of the solver for the last supremum.
    """

    accuracy: float = np.inf

    def __init__(self, x: Any, value: Any, constraints: list[Any]) -> None:
        import cvxpy as cp

        self._y = cp.Parameter(x.size)
        self._problem = cp.Problem(cp.Maximize(self._y @ x - value), constraints)

    def value(self, y: Float[Array, " n"]) -> float | None:
        """Return the supremum, None if no solver finds it."""
        self._y.value = y
        value, self.accuracy = best_of(self._problem)
        return value


def constraint_violation(model: Model, x: Float[Array, " n"]) -> float:
    """Return the violation by x of the constraints of a modelled function that involve x alone."""
    import cvxpy as cp

    _, constraints = evaluate_exact_model(model, cp.Constant(x))
    missed = [
        np.asarray(call_component(constraint.violation)) for constraint in constraints if not constraint.variables()
    ]
    return max((float(np.max(np.abs(entries), initial=0.0)) for entries in missed), default=0.0)


def check_dcp(model: Model, x: Any) -> Iterator[Measurement]:
    """Yield a failing measurement for each part of a modelled function that is not convex by CVXPY's rules."""
    expression, constraints = evaluate_exact_model(model, x)
    if expression.size != 1:
        yield assertion(False, f"the expression must be a scalar; it has shape {expression.shape}")
    if not call_component(expression.is_convex):
        curve = expression.curvature.lower()
        yield assertion(False, f"the expression is not convex by CVXPY's rules, it is {curve}: {expression}"[:300])
    for constraint in constraints:
        if not call_component(constraint.is_dcp):
            yield assertion(False, f"a constraint is not convex by CVXPY's rules: {constraint}"[:300])


def conic_form(problem: Any, quadratic: bool) -> Any:
    """Return CVXPY's data of a problem for a conic solver; the objective is linear unless it may be quadratic."""
    options = {"use_quad_obj": quadratic}
    return call_component(lambda: problem.get_problem_data("CLARABEL", solver_opts=options))[0]


def required_cones(problem: Any, declared: frozenset[str]) -> frozenset[str]:
    """Return the cones in CVXPY's form of a problem; a quadratic objective counts as one if it is declared."""
    if not problem.variables():  # CVXPY makes no data of it
        return frozenset({"linear"})
    dims = conic_form(problem, "quadratic" in declared)["dims"]
    second_order = "quadratic" if "quadratic" in declared and "second_order" not in declared else "second_order"
    counts = {
        second_order: len(dims.soc),
        "exponential": dims.exp,
        "power": len(dims.p3d) + len(dims.pnd),
        "semidefinite": len(dims.psd),
    }
    return frozenset({"linear", *(cone for cone, count in counts.items() if count)})
