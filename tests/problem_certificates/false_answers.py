"""Wrong answers in a problem: values and duals that a solver, or a caller, could leave there.

Noise never is a stationary point with multipliers of the wrong sign. The answer of another problem is: so the lies are
answers of the opposite problem and of a neighbour, beside those of other signs, orders and sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from convex_problems import cp
from known_optima import KnownProblem, direction_of, value_of

from boostopt._utils.array_types import Array
from boostopt._utils.cvxpy_tools import solve_quietly

Lie = Callable[[KnownProblem, np.random.Generator], None]


def save_values(item: KnownProblem, change: Callable[[Any, Array], Array]) -> None:
    """Set values of variables, of the form that their attributes demand."""
    for variable, minimizer in zip(item.variables, item.minimizer, strict=True):
        value = change(variable, minimizer)
        if any(variable.attributes.get(key) for key in ("symmetric", "PSD")):
            value = (value + value.T) / 2
        variable.save_value(np.diag(np.diag(value)) if variable.attributes.get("diag") else value)


def save_duals(item: KnownProblem, change: Callable[[Array], Array]) -> None:
    """Set the duals of all constraints from the multipliers at the minimizer."""
    for constraint, dual in zip(item.problem.constraints, item.duals, strict=True):
        constraint.dual_variables[0].save_value(change(dual))


def answer(item: KnownProblem, linear: Any, sign: float = 1.0) -> None:
    """Take the answer of the problem with another linear part of the objective, with duals of a sign."""
    solve_quietly(cp.Problem(cp.Minimize(item.curved + linear), item.problem.constraints), "CLARABEL")
    for constraint in item.problem.constraints:
        dual = constraint.dual_variables[0]
        if dual.value is not None:
            dual.save_value(sign * np.asarray(dual.value))
    if any(variable.value is None for variable in item.variables):  # the solver calls it infeasible
        VALUES["at the minimizer"](item, np.random.default_rng(0))


def noise(item: KnownProblem, rng: np.random.Generator) -> Any:
    """Return the linear part of a neighbour."""
    steps = [cp.sum(cp.multiply(rng.normal(size=variable.shape), variable)) for variable in item.variables]
    return item.linear + sum(steps, cp.Constant(0.0))


VALUES: dict[str, Lie] = {
    "at the minimizer": lambda item, rng: save_values(item, lambda variable, value: value),
    "near": lambda item, rng: save_values(item, lambda variable, value: value + 1e-6 * direction_of(variable, rng)),
    "apart": lambda item, rng: save_values(item, lambda variable, value: value + 3 * direction_of(variable, rng)),
    "negated": lambda item, rng: save_values(item, lambda variable, value: -value),
    "permuted": lambda item, rng: save_values(
        item, lambda variable, value: rng.permutation(value.ravel()).reshape(value.shape)
    ),
    "huge": lambda item, rng: save_values(item, lambda variable, value: 10.0 ** rng.integers(3, 200) * value),
    "zero": lambda item, rng: save_values(item, lambda variable, value: 0 * value),
}
"""Possible values of variables."""

DUALS: dict[str, Lie] = {
    "exact": lambda item, rng: save_duals(item, lambda dual: dual),
    "negated": lambda item, rng: save_duals(item, lambda dual: -dual),
    "zero": lambda item, rng: save_duals(item, lambda dual: 0 * dual),
    "random": lambda item, rng: save_duals(item, lambda dual: 3 * rng.normal(size=dual.shape)),
    "huge": lambda item, rng: save_duals(
        item, lambda dual: 10.0 ** rng.integers(3, 200) * (dual + rng.random(dual.shape))
    ),
    "permuted": lambda item, rng: save_duals(item, lambda dual: rng.permutation(dual.ravel()).reshape(dual.shape)),
    "larger": lambda item, rng: save_duals(item, lambda dual: dual + np.abs(rng.normal(size=dual.shape))),
    "missing": lambda item, rng: save_duals(item, lambda dual: np.full(dual.shape, np.nan)),
}
"""Possible duals."""

ANSWERS: dict[str, Lie] = {
    "its own": lambda item, rng: answer(item, item.linear),
    "its own, duals negated": lambda item, rng: answer(item, item.linear, -1.0),
    "of the opposite": lambda item, rng: answer(item, -item.linear),
    "of the opposite, duals negated": lambda item, rng: answer(item, -item.linear, -1.0),
    "of a neighbour": lambda item, rng: answer(item, noise(item, rng)),
    "of a multiple": lambda item, rng: answer(item, 5 * item.linear),
}
"""Answers of other problems with the same constraints."""


def tell(item: KnownProblem, rng: np.random.Generator) -> str:
    """Put a random lie into a problem; return its name."""
    if rng.random() < 0.5:
        name = str(rng.choice(list(ANSWERS)))
        ANSWERS[name](item, rng)
        return f"answer {name}"
    first, second = str(rng.choice(list(VALUES))), str(rng.choice(list(DUALS)))
    VALUES[first](item, rng)
    DUALS[second](item, rng)
    return f"values {first}, duals {second}"


def falsehoods(certificate: Any, item: KnownProblem) -> list[str]:
    """Return the false claims of a certificate of a problem, beyond the rounding of its construction."""
    size = 1 + abs(item.optimum) + sum(float(np.abs(dual).sum()) for dual in item.duals)
    slack = 1e-8 * size
    result = list[str]()
    if certificate.status in ("infeasible", "unbounded"):
        result.append(certificate.status)
    if not certificate.lower <= item.optimum + slack:
        result.append(f"lower {certificate.lower!r} above {item.optimum!r}")
    if not certificate.upper >= item.optimum - slack:
        result.append(f"upper {certificate.upper!r} below {item.optimum!r}")
    for variable, value in zip(item.variables, item.minimizer, strict=True):
        low, high = certificate.box[variable]
        room = 1e-5 * (1 + np.abs(value))
        if not ((value >= low - room) & (value <= high + room)).all():
            result.append(f"box of {variable.name()} without the minimizer")
    if certificate.point is not None:
        previous = [value_of(variable) for variable in item.variables]
        for variable in item.variables:
            variable.save_value(np.array(certificate.point[variable]))
        violations = [float(np.max(constraint.violation(), initial=0.0)) for constraint in item.problem.constraints]
        value = float(item.problem.objective.args[0].value)
        for variable, previous_value in zip(item.variables, previous, strict=True):
            variable.save_value(previous_value)
        if max(violations) > 1e-9 * size:
            result.append(f"a point that violates by {max(violations)}")
        room = 1e-6 * max(size, abs(value))  # a float beside the exact point, where the objective may be steep
        if not certificate.lower - room <= value <= certificate.upper + room:
            result.append(f"a point of value {value} outside the interval")
    return result
