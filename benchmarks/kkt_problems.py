"""Certificates of random problems made from a point and multipliers, and of degenerate ones with known answers.

python benchmarks/kkt_problems.py --count 300 --seed 0 prints by group how many certificates have both ends, and each
false or open one. A random problem has atoms of CVXPY at a point x*, with a linear term that makes x* optimal: minus
their gradients there, minus multipliers times the gradients of the constraints that x* satisfies with equality. So its
optimum is known up to the rounding of these sums, within a box. The degenerate problems do not attain their optimum,
have one feasible point or a face, fall slowly for ever, or miss a point by 1e-9.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import cvxpy
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from boostopt import ProblemError, certify_problem, verify

cp: Any = cvxpy
"""CVXPY, whose own annotations refuse expressions that it takes."""

ROUNDING = 1e-11
"""Relative error of a known optimum."""

SIZE = 4
"""Number of unknowns."""

Atom = Callable[[Any, np.random.Generator], Any]
"""A function of an affine vector expression of `SIZE` entries that lie in its domain at the point."""


@dataclass(frozen=True)
class KnownProblem:
    """A problem with its optimum, to be minimized: inf without a point, -inf if it falls for ever."""

    name: str
    problem: Any
    optimum: float
    error: float = 0.0


def symmetric(u: Any) -> Any:
    """Return a symmetric matrix of four numbers."""
    return cp.symmetric_wrap(cp.bmat([[u[0] + 3, u[1]], [u[1], u[2] + 3]]))


def matrix(u: Any) -> Any:
    """Return a matrix of four numbers."""
    return cp.reshape(u, (2, 2), order="C")


def positive(u: Any) -> Any:
    """Return numbers that are positive at the point: u lies between -1 and 1 there."""
    return u + 1.5


CONVEX: dict[str, Atom] = {
    "exp": lambda u, rng: cp.sum(cp.exp(u)),
    "xexp": lambda u, rng: cp.xexp(cp.square(u[0])),
    "log": lambda u, rng: -cp.sum(cp.log(positive(u))),
    "log1p": lambda u, rng: -cp.sum(cp.log1p(u / 2)),
    "entr": lambda u, rng: -cp.sum(cp.entr(positive(u))),
    "logistic": lambda u, rng: cp.sum(cp.logistic(3 * u)),
    "huber": lambda u, rng: cp.sum(cp.huber(2 * u, float(rng.uniform(0.3, 2)))),
    "power 1.5": lambda u, rng: cp.sum(cp.power(positive(u), 1.5)),
    "power 3": lambda u, rng: cp.sum(cp.power(positive(u), 3)),
    "power 4": lambda u, rng: cp.sum(cp.power(u, 4)),
    "power 0.3": lambda u, rng: -cp.sum(cp.power(positive(u), 0.3)),
    "power -1.7": lambda u, rng: cp.sum(cp.power(positive(u), -1.7)),
    "square": lambda u, rng: cp.sum(cp.square(u)),
    "sqrt": lambda u, rng: -cp.sum(cp.sqrt(positive(u))),
    "inv_pos": lambda u, rng: cp.sum(cp.inv_pos(positive(u))),
    "abs": lambda u, rng: cp.sum(cp.abs(u)),
    "pos": lambda u, rng: cp.sum(cp.pos(u)),
    "neg": lambda u, rng: cp.sum(cp.neg(u)),
    "scalene": lambda u, rng: cp.sum(cp.scalene(u, 2.0, 0.5)),
    "kl_div": lambda u, rng: cp.kl_div(positive(u[0]), positive(u[1])),
    "rel_entr": lambda u, rng: cp.rel_entr(positive(u[0]), positive(u[1])),
    "maximum": lambda u, rng: cp.maximum(u[0], cp.square(u[1]), u[2] - 1),
    "minimum": lambda u, rng: -cp.minimum(u[0], cp.sqrt(positive(u[1])), u[2] + 1),
    "loggamma": lambda u, rng: cp.sum(cp.loggamma(positive(u))),
    "log_normcdf": lambda u, rng: -cp.sum(cp.log_normcdf(u)),
    "norm": lambda u, rng: cp.norm(u),
    "norm1": lambda u, rng: cp.norm1(u),
    "norm_inf": lambda u, rng: cp.norm_inf(u),
    "pnorm 3": lambda u, rng: cp.pnorm(u, 3),
    "pnorm 1.3": lambda u, rng: cp.pnorm(u, 1.3),
    "pnorm 0.5": lambda u, rng: -cp.pnorm(positive(u), 0.5),
    "pnorm -2": lambda u, rng: -cp.pnorm(positive(u), -2),
    "mixed_norm": lambda u, rng: cp.mixed_norm(matrix(u), 2, 1),
    "tv": lambda u, rng: cp.tv(u),
    "max": lambda u, rng: cp.max(u),
    "min": lambda u, rng: -cp.min(u),
    "ptp": lambda u, rng: cp.ptp(u),
    "cummax": lambda u, rng: cp.sum(cp.cummax(u + np.array([0.0, 3.0, 6.0, 0.0]))),  # without a tie
    "sum_largest": lambda u, rng: cp.sum_largest(u, 2),
    "sum_smallest": lambda u, rng: -cp.sum_smallest(u, 3),
    "dotsort": lambda u, rng: cp.dotsort(u, np.array([0.0, 0.5, 1.0, 2.0])),
    "cvar": lambda u, rng: cp.cvar(u, 0.75),
    "log_sum_exp": lambda u, rng: cp.log_sum_exp(u),
    "geo_mean": lambda u, rng: -cp.geo_mean(positive(u), [1, 2, 1, 3]),
    "harmonic_mean": lambda u, rng: -cp.harmonic_mean(positive(u)),
    "inv_prod": lambda u, rng: cp.inv_prod(positive(u)),
    "quad_over_lin": lambda u, rng: cp.quad_over_lin(u[:3], positive(u[3])),
    "sum_squares": lambda u, rng: cp.sum_squares(u),
    "quad_form": lambda u, rng: cp.quad_form(u, np.diag([1.0, 2.0, 0.5, 1.0]) + 0.25),
    "var": lambda u, rng: cp.var(u),
    "std": lambda u, rng: cp.std(u),
    "perspective": lambda u, rng: cp.quad_over_lin(u[0], positive(u[1])) + cp.rel_entr(positive(u[3]), positive(u[2])),
    "lambda_max": lambda u, rng: cp.lambda_max(symmetric(u)),
    "lambda_min": lambda u, rng: -cp.lambda_min(symmetric(u)),
    "lambda_sum_largest": lambda u, rng: cp.lambda_sum_largest(symmetric(u), 1),
    "lambda_sum_smallest": lambda u, rng: -cp.lambda_sum_smallest(symmetric(u), 1),
    "log_det": lambda u, rng: -cp.log_det(symmetric(u)),
    "tr_inv": lambda u, rng: cp.tr_inv(symmetric(u)),
    "matrix_frac": lambda u, rng: cp.matrix_frac(u[:2], symmetric(u)),
    "normNuc": lambda u, rng: cp.normNuc(matrix(u)),
    "sigma_max": lambda u, rng: cp.sigma_max(matrix(u)),
    "von_neumann_entr": lambda u, rng: -cp.von_neumann_entr(symmetric(u)),
    "exp of norm": lambda u, rng: cp.exp(cp.norm(u)),
    "square of max": lambda u, rng: cp.square(cp.pos(cp.max(u))),
    "log of geo_mean": lambda u, rng: -cp.log(cp.geo_mean(positive(u))),
    "log_sum_exp of squares": lambda u, rng: cp.log_sum_exp(cp.square(u)),
    "inv_pos of min": lambda u, rng: cp.inv_pos(cp.min(positive(u))),
}
"""A convex function of each atom."""


def gradient(expression: Any, x: Any) -> tuple[Any, float]:
    """Return a subgradient at the value of x, by CVXPY or central differences, and its accuracy."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = expression.grad[x]
        if result is not None:
            return np.asarray(result.toarray() if hasattr(result, "toarray") else result, dtype=float).ravel(), 1e-13
    except Exception:  # noqa: BLE001 - some of CVXPY's gradients fail
        result = None
    point, step, result = np.array(x.value), 1e-5, np.zeros(x.size)
    for i in range(x.size):
        for sign in (1, -1):
            x.value = point + sign * step * np.eye(x.size)[i]
            result[i] += sign * float(expression.value) / (2 * step)
    x.value = point
    return result, 1e-7


def random_problem(rng: np.random.Generator, names: list[str]) -> KnownProblem:
    """Return a problem whose optimum is at a point by the KKT conditions."""
    n = SIZE
    x = cp.Variable(n, name="x")
    point = np.round(rng.uniform(-2, 2, n) * 8) / 8
    x.value = point

    def affine() -> Any:
        A = np.round(rng.normal(size=(n, n)) * 4) / 4
        target = np.round(rng.uniform(-1, 1, n) * 8) / 8
        if rng.random() < 0.3:
            target[rng.integers(n)] = target[rng.integers(n)]  # ties
        if rng.random() < 0.3:
            target[rng.integers(n)] = 0.0
        return A @ x + (target - A @ point)

    n_objective = int(rng.integers(1, len(names) + 1))
    functions = [float(rng.choice([1.0, 0.5, 3.0])) * CONVEX[name](affine(), rng) for name in names]
    slope, error, constraints = np.zeros(n), 0.0, list[Any]()
    for function in functions[:n_objective]:
        g, accuracy = gradient(function, x)
        slope, error = slope - g, error + accuracy * (1 + np.abs(g).sum())
    for function in functions[n_objective:]:
        level = float(function.value)
        if rng.random() < 0.3:
            constraints.append(function <= level + 1)
            continue
        g, accuracy = gradient(function, x)
        multiplier = float(rng.choice([0.5, 2.0]))
        slope, error = slope - multiplier * g, error + multiplier * accuracy * (1 + np.abs(g).sum() + abs(level))
        constraints.append(function <= level)
    if rng.random() < 0.3:
        row = np.round(rng.normal(size=n) * 2) / 2
        constraints.append(row @ x == row @ point)
        slope = slope + float(rng.normal()) * row
    if rng.random() < 0.3:
        i = int(rng.integers(n))
        constraints.append(x[i] >= point[i])
        slope[i] += 1.0
    constraints += [x >= point - 4, x <= point + 4]
    objective = sum(functions[1:n_objective], functions[0]) + slope @ x
    optimum = float(objective.value)
    x.value = None
    size = 1 + abs(optimum) + np.abs(slope).sum()
    return KnownProblem(
        " + ".join(names[:n_objective]) + " | " + ", ".join(names[n_objective:]),
        cp.Problem(cp.Minimize(objective), constraints),
        optimum,
        16 * error + ROUNDING * size,
    )


def random_problems(count: int, rng: np.random.Generator) -> Iterator[KnownProblem]:
    """Yield problems in which each atom occurs about equally often."""
    order = list[str]()
    while count > 0:
        k = int(rng.integers(1, 4))
        if len(order) < k:
            order += rng.permutation(list(CONVEX)).tolist()
        names, order = order[:k], order[k:]
        try:
            item = random_problem(rng, names)
        except Exception as failure:  # noqa: BLE001 - CVXPY raises nearly anything
            print("not made:", names, type(failure).__name__, str(failure)[:100])
            continue
        if math.isfinite(item.optimum):
            count -= 1
            yield item


Entry = tuple[str, Any, list[Any], float]
"""A name, an objective, constraints, and the optimum."""


def variables() -> tuple[Any, Any, Any]:
    """Return a vector, a number and a symmetric matrix."""
    return cp.Variable(3, name="x"), cp.Variable(name="t"), cp.Variable((2, 2), symmetric=True, name="X")


def unattained_optima() -> Iterator[Entry]:
    """Yield problems whose optimum is not attained."""
    x, t, X = variables()
    tail = cp.square(t - 1)
    for name, function, infimum in (
        ("exp", cp.exp(x[0]), 0.0),
        ("exp of sum", cp.exp(cp.sum(x)), 0.0),
        ("logistic", cp.logistic(-x[0]), 0.0),
        ("inv_pos", cp.inv_pos(x[0]), 0.0),
        ("power -0.5", cp.power(x[0], -0.5), 0.0),
        ("inv_prod", cp.inv_prod(x), 0.0),
        ("quad_over_lin", cp.quad_over_lin(1 + 0 * x[0], x[1]), 0.0),
        ("quad_over_lin of x", cp.quad_over_lin(x[0] - 1, x[1]) + cp.square(x[0]), 0.0),
        ("norm minus linear", cp.norm(cp.hstack([x[0], 1])) - x[0], 0.0),
        ("log_sum_exp", cp.log_sum_exp(cp.hstack([x[0], 0])), 0.0),
        ("tr_inv", cp.tr_inv(X), 0.0),
        ("matrix_frac", cp.matrix_frac(np.ones(2), X), 0.0),
        ("log minus", -cp.log(x[0]) + cp.log_sum_exp(cp.hstack([0, 0])) + cp.inv_pos(x[1]) + x[0], 1.0 + math.log(2)),
        ("entr far", cp.exp(-x[0]) + cp.exp(-x[1]) + cp.exp(x[0] + x[1] - 10 * x[2]), 0.0),
        ("pnorm minus", cp.pnorm(cp.hstack([x[0], 1]), 3) - x[0], 0.0),
        ("kl_div", cp.kl_div(1, x[0]) - x[0] + cp.log(1.0) + cp.logistic(-x[1]), -math.inf),
        ("lambda_max", cp.lambda_max(cp.bmat([[x[0], 1], [1, 0]])), 0.0),
        ("sigma_max", cp.sigma_max(cp.bmat([[x[0], 1], [0, 0]])) - x[0], 0.0),
        ("scaled exp", cp.exp(x[0] / 1000), 0.0),
        ("perspective", cp.perspective(cp.square(x[0]), cp.Variable(nonneg=True, name="s")) + cp.square(x[0] - 1), 0.0),
    ):
        yield name, function + tail, [], infimum


def single_points() -> Iterator[Entry]:
    """Yield problems with one feasible point."""
    x, t, X = variables()
    one, s = np.ones(3), cp.Variable(nonneg=True, name="s")
    points: list[tuple[str, list[Any], Any, float]] = [
        ("norm", [cp.norm(x - one) <= 0], cp.sum(x), 3.0),
        ("norm1", [cp.norm1(x - one) <= 0], cp.sum(x), 3.0),
        ("sum_squares", [cp.sum_squares(x - one) <= 0], cp.sum(x), 3.0),
        ("bounds", [x <= one, x >= one], cp.sum(x), 3.0),
        ("kl_div", [cp.kl_div(x[0], 1) <= 0], x[0], 1.0),
        ("log and linear", [cp.log(x[0]) >= x[0] - 1], x[0], 1.0),
        ("exp and linear", [cp.exp(x[0]) <= 1 + x[0]], x[0], 0.0),
        ("two exps", [cp.exp(x[0]) + cp.exp(-x[0]) <= 2], x[0], 0.0),
        ("ball and plane", [cp.norm(x) <= 1, x[0] >= 1], cp.sum(x), 1.0),
        ("square and 0", [cp.square(x[0]) <= t, t <= 0], x[0], 0.0),
        ("max and sum", [cp.max(x) <= 1, cp.sum(x) >= 3], x[0], 1.0),
        ("geo_mean and mean", [cp.geo_mean(x) >= 1, cp.sum(x) <= 3], x[0], 1.0),
        ("harmonic and mean", [cp.harmonic_mean(x) >= 1, cp.sum(x) <= 3], x[0], 1.0),
        ("log_sum_exp", [cp.log_sum_exp(x - float(np.log(3))) <= 0, cp.sum(x) >= 0], x[0], math.nan),
        ("lambda_max", [cp.lambda_max(X) <= 1, cp.trace(X) >= 2], X[0, 1] + X[0, 0], 1.0),
        ("log_det", [cp.log_det(X) >= 0, cp.trace(X) <= 2], X[0, 1] + X[0, 0], 1.0),
        ("tr_inv", [cp.tr_inv(X) <= 2, cp.trace(X) <= 2], X[0, 1] + X[0, 0], 1.0),
        ("normNuc", [cp.normNuc(X) <= 1, X[0, 0] >= 1], X[0, 1] + X[0, 0], 1.0),
        ("sigma_max", [cp.sigma_max(X) <= 1, cp.trace(X) >= 2], X[0, 1] + X[0, 0], 1.0),
        ("quad_over_lin", [cp.quad_over_lin(x[0], t) <= 0, t <= 1, t >= 1], x[0] + t, 1.0),
        ("rel_entr", [cp.rel_entr(x[0], 1) <= x[0] - 1], x[0], 1.0),
        ("logistic", [cp.logistic(x[0]) <= x[0] / 2 + float(np.log(2))], x[0], math.nan),
        ("sqrt", [cp.sqrt(x[0]) >= (1 + x[0]) / 2], x[0], 1.0),
        ("inv_pos", [cp.inv_pos(x[0]) + x[0] <= 2], x[0], 1.0),
        ("entr", [cp.entr(x[0]) >= 1 - x[0]], x[0], 1.0),
        ("huber", [cp.huber(x[0] - 1) <= 0], x[0], 1.0),
        ("std", [cp.std(x) <= 0, x[0] == 1], cp.sum(x), 3.0),
        ("var", [cp.var(x) <= 0, x[0] == 1], cp.sum(x), 3.0),
        ("ptp", [cp.ptp(x) <= 0, x[0] == 1], cp.sum(x), 3.0),
        ("tv", [cp.tv(x) <= 0, x[0] == 1], cp.sum(x), 3.0),
        ("sum_largest", [cp.sum_largest(x, 2) <= 2, cp.sum(x) >= 3], x[0], 1.0),
        ("sum_smallest", [cp.sum_smallest(x, 2) >= 2, cp.sum(x) <= 3], x[0], 1.0),
        ("cvar", [cp.cvar(x, 0.5) <= 1, cp.sum(x) >= 3], x[0], 1.0),
        ("dotsort", [cp.dotsort(x, np.array([0.0, 1.0, 2.0])) <= 3, cp.sum(x) >= 3], x[0], 1.0),
        ("pnorm", [cp.pnorm(x, 3) <= 1, x[0] >= 1], cp.sum(x), 1.0),
        ("mixed_norm", [cp.mixed_norm(X - np.eye(2), 2, 1) <= 0], cp.sum(X), 2.0),
        ("matrix_frac", [cp.matrix_frac(x[:2], X) <= 0, X == np.eye(2)], cp.sum(x[:2]), 0.0),
        ("von_neumann", [cp.von_neumann_entr(X) >= 0, cp.trace(X) == 1, X[0, 0] == 1], cp.sum(X), 1.0),
        ("SOC", [cp.SOC(x[0], x[1:]), x[0] <= 0], cp.sum(x), 0.0),
        ("cummax", [cp.cummax(x)[2] <= 1, cp.sum(x) >= 3], x[1], 1.0),
        ("xexp", [cp.xexp(s) <= 0], s, 0.0),
        ("psd", [X >> 0, cp.trace(X) <= 0], cp.sum(X), 0.0),
        ("psd of rank 1", [X >> 0, X[0, 0] == 1, X[0, 1] == 1, X[1, 1] <= 1], cp.sum(X), 4.0),
    ]
    for name, constraints, objective, optimum in points:
        if not math.isnan(optimum):
            yield name, objective, constraints, optimum


def faces() -> Iterator[Entry]:
    """Yield problems with a face of points."""
    x, _, X = variables()
    one = np.ones(3)
    faces: list[tuple[str, list[Any], Any, float]] = [
        ("norm in two of three", [cp.norm(x[:2]) <= 0, cp.norm(x) <= 2], cp.sum(x), -2.0),
        ("max and sum", [cp.max(x[:2]) <= 1, cp.sum(x[:2]) >= 2, cp.abs(x[2]) <= 5], x[2] + x[0], -4.0),
        ("psd", [X >> 0, X[0, 0] == 0, X[1, 1] <= 3], -X[1, 1] + X[0, 1], -3.0),
        ("exp face", [cp.exp(x[0]) <= 1 + x[0], cp.norm(x) <= 1], x[1], -1.0),
        ("entropy face", [x[0] + x[1] <= 0, x[2] <= 1], -cp.sum(cp.entr(x)) + x[2], -math.exp(-2)),
        ("quad_form face", [cp.quad_form(x, np.diag([1.0, 0, 0])) <= 0, cp.norm(x - one) <= 2], x[1], 1 - math.sqrt(3)),
        ("log face", [cp.log(x[0]) >= x[0] - 1, cp.norm(x[1:]) <= 1], x[0] + x[1], 0.0),
        ("ball touches ball", [cp.norm(x) <= 1, cp.norm(x - np.array([2.0, 0, 0])) <= 1], x[0] + x[1], 1.0),
        ("lambda_max face", [cp.lambda_max(X) <= 1, X[0, 0] >= 1], X[1, 1] + X[0, 1], -math.inf),
        ("geo_mean at 0", [cp.geo_mean(x) >= 0, x[0] <= 0, cp.sum(x) <= 1], -x[1], -1.0),
    ]
    for name, constraints, objective, optimum in faces:
        yield name, objective, constraints, optimum


def slow_falls() -> Iterator[Entry]:
    """Yield problems that fall for ever, slowly."""
    x, t, X = variables()
    for name, objective, constraints in (
        ("log", -cp.log(x[0]), []),
        ("log1p", -cp.log1p(x[0]), []),
        ("sqrt", -cp.sqrt(x[0]), []),
        ("power 0.1", -cp.power(x[0], 0.1), []),
        ("log_det", -cp.log_det(X), []),
        ("log_det of a line", -cp.log_det(X), [X[0, 0] == 1, X[0, 1] == 0]),
        ("geo_mean", -cp.geo_mean(x), []),
        ("harmonic_mean", -cp.harmonic_mean(x), []),
        ("geo_mean of a line", -cp.geo_mean(x), [x[0] == 1, x[1] == 1]),
        ("log of a line", -cp.log(x[0] - x[1]) + cp.norm(x[0] + x[1]), []),
        ("epigraph of log", -t, [cp.log(x[0]) >= t]),
        ("log minus slow", -cp.log(x[0]) + cp.exp(-x[0]) + cp.inv_pos(x[1]), []),
        ("sum of logs", -cp.sum(cp.log(x)), [x[0] <= 1, x[1] == x[0]]),
        ("log_sum_exp", cp.log_sum_exp(x), []),
        ("log of log", -cp.log(cp.log(x[0])), []),
        ("log of sqrt", -cp.log(cp.sqrt(x[0])), []),
        ("log of geo_mean", -cp.log(cp.geo_mean(x)), [x[0] == 1]),
        ("entr far", -cp.log(x[0]) + cp.rel_entr(x[1], x[0]), []),
        ("rel_entr", cp.rel_entr(1, x[0]), []),
        ("rel_entr of x", cp.rel_entr(x[0], x[1]), [x[0] >= 1]),
        ("min of logs", -cp.min(cp.log(x)), []),
        ("lambda_min", -cp.lambda_min(X), []),
        ("loggamma", cp.loggamma(x[0]) - 5 * cp.log(x[0] + 1) - x[0] ** 2 * 0, [x[0] >= 1]),
        ("pnorm 0.5", -cp.pnorm(x, 0.5), [x[1] == 1]),
    ):
        optimum = math.nan if name == "loggamma" else -math.inf
        if not math.isnan(optimum):
            yield name, objective, constraints, optimum


def missed_points(excess: float) -> Iterator[Entry]:
    """Yield problems that miss a point by an excess, which is negative for those with points."""
    x, t, X = variables()
    s = cp.Variable(nonneg=True, name="s")
    for name, constraints in (
        ("norm", [cp.norm(x) <= 1, x[0] >= 1 + excess]),
        ("norm1", [cp.norm1(x) <= 1, cp.sum(x) >= 1 + excess]),
        ("norm_inf", [cp.norm_inf(x) <= 1, cp.sum(x) >= 3 + excess]),
        ("pnorm", [cp.pnorm(x, 3) <= 1, x[0] >= 1 + excess]),
        ("linear", [x[0] + x[1] <= 1, x[0] - x[1] <= 1, x[0] >= 1 + excess]),
        ("exp", [cp.exp(x[0]) <= 1, x[0] >= excess]),
        ("log", [cp.log(x[0]) >= excess, x[0] <= 1]),
        ("lambda_max", [cp.lambda_max(X) <= 1, cp.trace(X) >= 2 + excess]),
        ("geo_mean", [cp.geo_mean(x) >= 1, cp.sum(x) <= 3 - excess]),
        ("harmonic_mean", [cp.harmonic_mean(x) >= 1, cp.sum(x) <= 3 - excess]),
        ("log_sum_exp", [cp.log_sum_exp(x) <= float(np.log(3)), cp.sum(x) >= max(3 * excess, -1e-6)]),
        ("kl_div", [cp.kl_div(x[0], x[1]) <= -excess]),
        ("sum_squares", [cp.sum_squares(x) <= -excess]),
        ("std", [cp.std(x) <= -excess]),
        ("inv_pos", [cp.inv_pos(x[0]) <= 1, x[0] <= 1 - excess]),
        ("quad_over_lin", [cp.quad_over_lin(x[0], t) <= 1, t <= 1, x[0] >= 1 + excess]),
        ("log_det", [cp.log_det(X) >= excess, cp.trace(X) <= 2]),
        ("tr_inv", [cp.tr_inv(X) <= 2 - excess, cp.trace(X) <= 2]),
        ("normNuc", [cp.normNuc(X) <= 1, X[0, 0] >= 1 + excess]),
        ("sigma_max", [cp.sigma_max(X) <= 1, X[0, 0] >= 1 + excess]),
        ("psd", [X >> 0, X[0, 0] == 1, X[1, 1] == 1, X[0, 1] >= 1 + excess]),
        ("entr", [cp.entr(x[0]) >= 1 - x[0] + excess]),
        ("sqrt", [cp.sqrt(x[0]) >= (1 + x[0]) / 2 + excess]),
        ("logistic", [cp.logistic(x[0]) <= -excess]),
        ("huber", [cp.huber(x[0]) <= 1, x[0] >= 1 + excess]),
        ("xexp", [cp.xexp(s) <= float(np.e), s >= 1 + 2 * excess]),
        ("power", [cp.power(x[0], 1.5) <= 1, x[0] >= 1 + excess]),
        ("max", [cp.max(x) <= 1, cp.sum(x) >= 3 + excess]),
        ("sum_largest", [cp.sum_largest(x, 2) <= 2, cp.sum(x) >= 3 + excess]),
        ("quad_form", [cp.quad_form(x, np.eye(3) + 1) <= -excess]),
        ("von_neumann", [cp.von_neumann_entr(X) >= float(2 / np.e) + 2 * excess]),
        ("matrix_frac", [cp.matrix_frac(x[:2], X) <= 1, cp.trace(X) <= 1, x[0] >= 1 + excess]),
    ):
        yield name, 0 * t if excess > 0 else x[2] * 0, constraints, math.inf if excess > 0 else 0.0


def degenerate_problems() -> Iterator[tuple[str, KnownProblem]]:
    """Yield problems with their groups."""
    groups = (
        ("not attained", unattained_optima()),
        ("one point", single_points()),
        ("face", faces()),
        ("falls slowly", slow_falls()),
        ("no point by 1e-9", missed_points(1e-9)),
        ("points by 1e-6", missed_points(-1e-6)),
    )
    for group, entries in groups:
        for name, objective, constraints, optimum in entries:
            size = 1 + abs(optimum) if math.isfinite(optimum) else 1.0
            problem = cp.Problem(cp.Minimize(objective), constraints)
            yield group, KnownProblem(name, problem, optimum, ROUNDING * size)


def judge(item: KnownProblem, has_file: bool) -> tuple[str, str]:
    """Return whether a certificate is true and closed, open, false, or an exception; and the details."""
    start = time.process_time()
    try:
        certificate = certify_problem(item.problem, solver="auto")
    except Exception as failure:  # noqa: BLE001 it is what is looked for
        return "exception", f"{type(failure).__name__}: {failure}; {traceback.format_exc().splitlines()[-3]}"
    seconds = time.process_time() - start
    low, high, status = certificate.lower, certificate.upper, certificate.status
    words = (
        f"[{low:.12g}, {high:.12g}] {status}, optimum {item.optimum:.12g}, {seconds:.1f} s; {certificate.reasons[:1]}"
    )
    is_false = (status == "infeasible") > (item.optimum == math.inf) or (status == "unbounded") > (
        item.optimum == -math.inf
    )
    if is_false or not low - item.error <= item.optimum <= high + item.error:
        return "false", words
    if has_file and status != "open":
        try:
            with TemporaryDirectory() as folder:
                certificate.save(Path(folder) / "problem.json")
                if not verify(Path(folder) / "problem.json"):
                    return "file rejected", words
        except ProblemError as failure:
            return "closed, no file", f"{words} {type(failure).__name__}: {str(failure)[:160]}"
    if status in ("infeasible", "unbounded"):
        return "closed", words
    if not (math.isfinite(low) and math.isfinite(high)):
        return "open", words
    return ("closed" if certificate.scaled_gap <= 1e-4 else "wide"), words


def main(arguments: list[str] | None = None) -> int:
    """Print the counts by group and what is not closed; return 1 if a certificate is false or an exception comes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100, help="number of random problems")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--files", action="store_true", help="save and verify each certificate, too")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(options.seed)
    groups: dict[str, Counter[str]] = {}
    pairs = [*degenerate_problems()] if options.seed == 0 else []
    random = (("random", item) for item in random_problems(options.count, rng))
    for group, item in (*pairs, *random):
        verdict, words = judge(item, options.files)
        groups.setdefault(group, Counter())[verdict] += 1
        if verdict != "closed":
            print(f"{verdict}: {group}, {item.name}: {words}", flush=True)
    for group, counts in groups.items():
        print(f"{group}: {dict(counts)}")
    return int(any(counts[name] for counts in groups.values() for name in ("false", "exception", "file rejected")))


if __name__ == "__main__":
    sys.exit(main())
