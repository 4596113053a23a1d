"""Random problems whose optimum is known: they are built around a point that satisfies the optimality conditions.

A point x, convex terms and multipliers come first. The linear part of the objective then makes x stationary. So the
optimum is the value at x, whatever a solver says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from convex_problems import cp

from boostopt._utils.array_types import Array

Term = Callable[[Any, np.random.Generator], Any]
"""A convex, differentiable expression of an affine vector whose value is set."""


@dataclass(frozen=True)
class KnownProblem:
    """A problem with its optimum.

    Attributes
    ----------
    problem
        The problem. Variables have the values of a minimizer.
    variables
        Its variables.
    minimizer
        Their values at a minimizer.
    duals
        The multipliers of all constraints there.
    optimum
        The value at the minimizer.
    curved, linear
        The parts of the objective that is minimized.
    """

    problem: Any
    variables: list[Any]
    minimizer: list[Array]
    duals: list[Array]
    optimum: float
    curved: Any
    linear: Any


def positive(u: Any, rng: np.random.Generator) -> Any:
    """Return u plus a constant such that its values are positive."""
    return u + (rng.uniform(0.2, 2.0) - float(np.min(u.value)))


def definite(u: Any, rng: np.random.Generator, n: int = 3) -> Any:
    """Return a positive definite matrix that is affine in u."""
    X = u[0] * symmetric_matrix(rng, n) + u[1] * symmetric_matrix(rng, n)
    return X + (rng.uniform(0.3, 2.0) - float(np.linalg.eigvalsh(X.value)[0])) * np.eye(n)


def symmetric_matrix(rng: np.random.Generator, n: int) -> Array:
    root = rng.normal(size=(n, n))
    return root + root.T


def weights(u: Any, rng: np.random.Generator) -> Array:
    return rng.integers(1, 5, size=u.size)


TERMS: dict[str, Term] = {
    "exp": lambda u, rng: cp.sum(cp.exp(0.3 * u)),
    "log": lambda u, rng: -cp.sum(cp.log(positive(u, rng))),
    "log1p": lambda u, rng: -cp.sum(cp.log1p(positive(u, rng) - 0.5)),
    "entr": lambda u, rng: -cp.sum(cp.entr(positive(u, rng))),
    "logistic": lambda u, rng: cp.sum(cp.logistic(u)),
    "huber": lambda u, rng: cp.sum(cp.huber(u, float(rng.uniform(0.2, 2)))),
    "squares": lambda u, rng: cp.sum_squares(u),
    "power": lambda u, rng: cp.sum(cp.power(positive(u, rng), float(rng.choice([1.5, 3, 2.5, -1, -0.5])))),
    "even power": lambda u, rng: cp.sum(cp.power(u, 4)),
    "sixth power": lambda u, rng: cp.sum(cp.power(positive(u, rng), 6)),
    "root": lambda u, rng: -cp.sum(cp.power(positive(u, rng), float(rng.choice([0.5, 0.25, 0.75])))),
    "kl_div": lambda u, rng: cp.sum(cp.kl_div(positive(u, rng), positive(u[::-1], rng))),
    "rel_entr": lambda u, rng: cp.sum(cp.rel_entr(positive(u, rng), positive(-u, rng))),
    "log_sum_exp": lambda u, rng: cp.log_sum_exp(u),
    "norm2": lambda u, rng: cp.norm(u),
    "pnorm": lambda u, rng: cp.pnorm(u, float(rng.choice([1.5, 3, 4]))),
    "geo_mean": lambda u, rng: -cp.geo_mean(positive(u, rng), weights(u, rng)),
    "geo_mean of a matrix": lambda u, rng: (
        -cp.geo_mean(cp.vstack([positive(u, rng), positive(u, rng)]), [1, 2] * u.size)
    ),
    "harmonic_mean": lambda u, rng: -cp.harmonic_mean(positive(u, rng)),
    "quad_over_lin": lambda u, rng: cp.quad_over_lin(u[1:], positive(u[0], rng)),
    "quad_form": lambda u, rng: cp.quad_form(u, np.outer(*[weights(u, rng)] * 2) + np.eye(u.size)),
    "max": lambda u, rng: cp.max(u) - cp.min(u[:2]),
    "sum_largest": lambda u, rng: cp.sum_largest(u, u.size - 1) - cp.sum_smallest(u, 1),
    "norm1": lambda u, rng: cp.norm1(u) + cp.sum(cp.pos(u)) + cp.tv(u),
    "maximum": lambda u, rng: cp.sum(cp.maximum(u, 0.3, -2 * u[::-1])),
    "lambda_max": lambda u, rng: cp.lambda_max(definite(u, rng)),
    "log_det": lambda u, rng: -cp.log_det(definite(u, rng)),
    "tr_inv": lambda u, rng: cp.tr_inv(definite(u, rng)),
    "matrix_frac": lambda u, rng: cp.matrix_frac(u[:2], definite(u, rng, 2)),
    "nuclear": lambda u, rng: cp.normNuc(definite(u, rng) + np.triu(np.ones((3, 3)))),
    "sigma_max": lambda u, rng: cp.sigma_max(definite(u, rng) + np.triu(np.ones((3, 3)))),
    "exp of a norm": lambda u, rng: cp.exp(0.3 * cp.norm(u) - 1),
    "square of a positive part": lambda u, rng: cp.sum_squares(cp.pos(u)) + cp.square(cp.norm1(u[:2])),
    "log of a mean": lambda u, rng: -cp.log(cp.geo_mean(positive(u, rng))),
    "log_sum_exp of squares": lambda u, rng: cp.log_sum_exp(cp.hstack([cp.sum_squares(u), u])),
    "cumsum": lambda u, rng: cp.sum_squares(cp.cumsum(u)) + cp.norm(cp.diff(u)),
}


def affine_vector(variables: list[Any], rng: np.random.Generator, size: int) -> Any:
    """Return a random affine vector, written in one of several ways."""
    total: Any = cp.Constant(rng.normal(size=size))
    for variable in variables:
        flat = cp.vec(variable, order=str(rng.choice(["C", "F"])))
        matrix = rng.normal(size=(size, variable.size)) * (rng.random((size, variable.size)) < 0.8)
        total = (
            total
            + (
                matrix @ flat,
                flat @ matrix.T,
                cp.sum(cp.multiply(matrix, flat[None, :]), axis=1),
                -(2 * matrix) @ (flat / -2),
            )[rng.integers(4)]
        )
    return total


def random_term(name: str, variables: list[Any], rng: np.random.Generator) -> Any:
    return TERMS[name](affine_vector(variables, rng, int(rng.integers(2, 5))), rng)


def random_variables(rng: np.random.Generator) -> list[Any]:
    """Return one or two variables whose values are a point at which some bounds are active."""
    result = list[Any]()
    for kind in rng.choice(["vector", "nonneg", "symmetric", "PSD", "bounds", "diag"], size=rng.integers(1, 3)):
        n = int(rng.integers(2, 4))
        if kind == "vector":
            variable, value = cp.Variable(n), rng.normal(size=n)
        elif kind == "nonneg":
            variable, value = cp.Variable((n, 2), nonneg=True), np.maximum(rng.normal(size=(n, 2)), 0)
        elif kind == "bounds":
            value = rng.normal(size=n)
            margin = np.maximum(rng.normal(size=n), 0)
            variable = cp.Variable(n, bounds=[value - margin, value + 1])
        elif kind == "diag":
            variable, value = cp.Variable((n, n), diag=True), np.diag(rng.normal(size=n))
        elif kind == "PSD":
            root = rng.normal(size=(n, n - 1))
            variable, value = cp.Variable((n, n), PSD=True), root @ root.T
        else:
            variable, value = cp.Variable((n, n), symmetric=True), symmetric_matrix(rng, n)
        variable.save_value(value)
        result.append(variable)
    return result


def gradient(expression: Any, variable: Any) -> Array | None:
    """Return the gradient in a variable by CVXPY; None outside the domain."""
    result = expression.grad.get(variable, 0.0)
    if result is None:
        return None
    values = result.toarray() if hasattr(result, "toarray") else np.asarray(result, dtype=float)
    return (
        np.broadcast_to(values, (variable.size, 1)).reshape(variable.shape, order="F")
        if values.size == 1
        else (values.reshape(variable.shape, order="F"))
    )


def is_gradient(expression: Any, variables: list[Any], slopes: list[Array], rng: np.random.Generator) -> bool:
    """Return whether differences of values agree with slopes; CVXPY's gradients of a few atoms are wrong."""
    points = [value_of(variable) for variable in variables]
    steps = [1e-6 * direction_of(variable, rng) for variable in variables]
    ends = list[float]()
    for sign in (1, -1):
        for variable, point, step in zip(variables, points, steps, strict=True):
            variable.save_value(point + sign * step)
        ends.append(float(expression.value))
    for variable, point in zip(variables, points, strict=True):
        variable.save_value(point)
    change = sum(float(np.sum(slope * step)) for slope, step in zip(slopes, steps, strict=True))
    size = sum(float(np.sum(np.abs(slope * step))) for slope, step in zip(slopes, steps, strict=True))
    return abs((ends[0] - ends[1]) / 2 - change) <= 1e-4 * size + 1e-9


def direction_of(variable: Any, rng: np.random.Generator) -> Array:
    """Return a random direction in which a variable may move."""
    step = rng.normal(size=variable.shape)
    if any(variable.attributes.get(key) for key in ("symmetric", "PSD")):
        return step + step.T
    return np.diag(np.diag(step)) if variable.attributes.get("diag") else step


def inequality(variables: list[Any], rng: np.random.Generator) -> tuple[Any, Any, Array]:
    """Return an inequality, its part of the Lagrangian, and its multiplier."""
    is_active = rng.random() < 0.7
    if rng.random() < 0.5:
        expression = random_term(str(rng.choice(list(TERMS))), variables, rng)
    else:
        expression = affine_vector(variables, rng, 2)
    value = np.asarray(expression.value, dtype=float)
    multiplier = rng.exponential(size=value.shape) * is_active
    side = value + (0.0 if is_active else 0.5)
    constraint = expression <= side if rng.random() < 0.5 else side - expression >= 0
    return constraint, cp.sum(cp.multiply(multiplier, expression)), multiplier


def equality(variables: list[Any], rng: np.random.Generator) -> tuple[Any, Any, Array]:
    """Return an equality, its part of the Lagrangian, and its multiplier."""
    expression = affine_vector(variables, rng, int(rng.integers(1, 3)))
    multiplier = rng.normal(size=expression.shape)
    return expression == expression.value, multiplier @ expression, multiplier


def semidefinite(variables: list[Any], rng: np.random.Generator) -> tuple[Any, Any, Array]:
    """Return a semidefinite constraint, its part of the Lagrangian, and its multiplier."""
    vectors, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    factor, rest = vectors[:, :2] * rng.uniform(0.5, 2, size=2), vectors[:, 2:] * rng.uniform(0.2, 1)
    u = affine_vector(variables, rng, 2)
    skew = rng.normal(size=(3, 3))
    first = (u[0] - u.value[0]) * (symmetric_matrix(rng, 3) + skew - skew.T)
    E = factor @ factor.T + first + (u[1] - u.value[1]) * symmetric_matrix(rng, 3)
    multiplier = rest @ rest.T
    constraint = E >> 0 if rng.random() < 0.5 else -E << 0
    return constraint, -cp.sum(cp.multiply(multiplier, E)), multiplier


def bound_slope(variable: Any, rng: np.random.Generator) -> Array:
    """Return a slope that points away from the active bounds of a variable."""
    value, size = value_of(variable), rng.exponential(size=variable.shape)
    if variable.attributes.get("nonneg"):
        return size * (value == 0)
    if variable.attributes.get("bounds") is not None:
        return size * (value == variable.attributes["bounds"][0])
    if variable.attributes.get("PSD"):
        null_space = np.linalg.eigh(value)[1][:, :1]
        return null_space @ null_space.T
    return np.zeros(variable.shape)


def n_conditions(variables: list[Any], parts: list[tuple[Any, Any, Array]]) -> int:
    """Return the number of conditions that hold with equality at the point."""
    count = sum(1 if multiplier.ndim == 2 else int(np.count_nonzero(multiplier)) for _, _, multiplier in parts)
    for variable in variables:
        slope = bound_slope(variable, np.random.default_rng(0))
        count += 1 if variable.attributes.get("PSD") else int(np.count_nonzero(slope))
    return count


def n_unknowns(variable: Any) -> int:
    """Return the number of free entries of a variable."""
    n = variable.shape[0]
    if variable.attributes.get("diag"):
        return n
    return n * (n + 1) // 2 if any(variable.attributes.get(key) for key in ("symmetric", "PSD")) else variable.size


def value_of(variable: Any) -> Array:
    value = variable.value
    return np.asarray(value.toarray() if hasattr(value, "toarray") else value, dtype=float)


def known_problem(seed: int, names: list[str] | None = None) -> KnownProblem | None:
    """Return a random problem with its optimum; None if CVXPY has no gradient at the point."""
    rng = np.random.default_rng(seed)
    variables = random_variables(rng)
    curved: Any = cp.Constant(0.0)
    for name in names or map(str, rng.choice(list(TERMS), size=rng.integers(1, 4), replace=False)):
        curved = curved + float(rng.uniform(0.3, 2)) * random_term(name, variables, rng)
    parts = [inequality(variables, rng) for _ in range(rng.integers(0, 3))]
    parts += [equality(variables, rng)] if rng.random() < 0.5 else []
    parts += [semidefinite(variables, rng)] if rng.random() < 0.4 else []
    if n_conditions(variables, parts) > sum(n_unknowns(variable) for variable in variables):
        return None  # the rounding of the conditions alone can make it infeasible
    radius = float(rng.uniform(0.5, 3))
    boxes = [variable <= value_of(variable) + radius for variable in variables]
    boxes += [variable >= value_of(variable) - radius for variable in variables]
    lagrangian = curved + sum((part for _, part, _ in parts), cp.Constant(0.0))
    slopes = [gradient(lagrangian, variable) for variable in variables]
    finite = [slope for slope in slopes if slope is not None and np.isfinite(slope).all()]
    if len(finite) < len(slopes) or not is_gradient(lagrangian, variables, finite, rng):
        return None
    linear: Any = cp.Constant(float(rng.normal()))
    for variable, slope in zip(variables, finite, strict=True):
        linear = linear + cp.sum(cp.multiply(bound_slope(variable, rng) - slope, variable))
    is_minimized = bool(rng.random() < 0.5)
    constraints = [*(constraint for constraint, _, _ in parts), *boxes]
    total = curved + linear
    return KnownProblem(
        cp.Problem(cp.Minimize(total) if is_minimized else cp.Maximize(-total), constraints),
        variables,
        [value_of(variable) for variable in variables],
        [*(multiplier for _, _, multiplier in parts), *(np.zeros(box.shape) for box in boxes)],
        float(total.value) * (1 if is_minimized else -1),
        curved,
        linear,
    )
