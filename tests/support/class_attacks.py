"""Runs over small classes whose hypotheses are all listed: intervals over the class against the optimum of the list.

Each attack draws a small instance, boosts over the class, and compares the interval with a linear program by HiGHS, or
a convex one by Clarabel, over all hypotheses, which are listed here without the oracles.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import cvxpy as cp
import numpy as np
from scipy.optimize import linprog

from boostopt import boost, get_formulation
from boostopt._utils.array_types import Array, Float
from boostopt.authoring import COUNT, PER_EXAMPLE, POSITIVE, CappedSimplex, CvxpyRegularizer, parameter, prototype
from boostopt.boosting import certify_limits
from boostopt.oracles import (
    Budget,
    DecisionStumps,
    DepthTwoTrees,
    LimitedClass,
    MarginLimit,
    MulticlassStumps,
    RegressionStumps,
)

from .regression_programs import all_values, smallest_tube_loss

TOLERANCE = 1e-6
"""The accuracy of the optima of lists, relative to max(1, |optimum|)."""

SOFT_MARGINS = ("lpboost", "erlpboost", "softboost")
"""Formulations whose value over a class is the soft margin."""

Attack = Callable[[np.random.Generator], tuple[str, float, float, float]]
"""Returns the instance in words, the lower and the upper end over the class, and the optimum of the list."""


def splits(X: Float[Array, "n features"]) -> list[Array]:
    """Return the masks of all sides of thresholds, and that of all rows."""
    return [np.ones(len(X), dtype=bool), *(X[:, j] > t for j in range(X.shape[1]) for t in np.unique(X[:, j])[:-1])]


def distinct(columns: list[Array]) -> Float[Array, "N t"]:
    """Return the different columns as a matrix."""
    return np.array(sorted({tuple(column.tolist()) for column in columns}), dtype=float).T


def stump_margins(X: Float[Array, "n features"], y: Array) -> Float[Array, "n t"]:
    """Return the margins of all stumps of both directions; constants are not of the class of `DecisionStumps`."""
    sides = [np.where(side, 1.0, -1.0) * y for side in splits(X)[1:]]
    return distinct([*sides, *(-side for side in sides)])


def largest_soft_margin(U: Array, c: Array, nu: float, A: Array | None = None, b: Array | None = None) -> float:
    """Return the largest soft margin of weights on the simplex with A w <= b; -inf if there are none."""
    (N, t), limits = U.shape, np.zeros((0, U.shape[1])) if A is None else A
    answer = linprog(
        np.concatenate([np.zeros(t), [-1.0], c / nu]),
        A_ub=np.vstack(
            [np.hstack([-U, np.ones((N, 1)), -np.eye(N)]), np.hstack([limits, np.zeros((len(limits), 1 + N))])]
        ),
        b_ub=np.concatenate([np.zeros(N), np.zeros(0) if b is None else b]),
        A_eq=[np.concatenate([np.ones(t), np.zeros(1 + N)])],
        b_eq=[1.0],
        bounds=[(0.0, None)] * t + [(None, None)] + [(0.0, None)] * N,
    )
    return -float(answer.fun) if answer.success else -math.inf


def draw(rng: np.random.Generator) -> tuple[Array, Array, Array, float]:
    """Return features of few values, labels of both signs, multiplicities, and nu."""
    n = int(rng.integers(6, 16))
    X = rng.integers(0, int(rng.integers(2, 5)), (n, int(rng.integers(1, 4)))).astype(float)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    c = rng.integers(1, 4, n).astype(float)
    return X, y, c, float(rng.uniform(1.0, c.sum()))


def settings(rng: np.random.Generator) -> dict[str, Any]:
    """Return the accuracy and the largest number of rounds of a run."""
    epsilon = float(10.0 ** rng.uniform(-6, -1))
    return {"epsilon": epsilon, "max_rounds": int(rng.integers(1, 40))}


def class_interval(run: Any) -> tuple[float, float]:
    """Return the interval of a run over its class."""
    return run.class_certificate.lower, run.class_certificate.upper


def attack_stumps(rng: np.random.Generator) -> tuple[str, float, float, float]:
    """Soft margins over stumps."""
    (X, y, c, nu), name = draw(rng), str(rng.choice(SOFT_MARGINS))
    run = boost(name, DecisionStumps(X, y, c), nu=nu, **settings(rng))
    return name, *class_interval(run), largest_soft_margin(stump_margins(X, y), c, nu)


def attack_schedule(rng: np.random.Generator) -> tuple[str, float, float, float]:
    """Soft margins where eta or nu changes from round to round."""
    (X, y, c, nu), last = draw(rng), int(rng.integers(1, 6))
    first = float(rng.uniform(1.0, c.sum()))

    def count(number: int, row: Any) -> float:
        return first if number < last else nu

    changes: dict[str, Any] = (
        {"nu": count} if rng.random() < 0.5 else {"nu": nu, "eta": lambda number, row: 2.0**number}
    )
    run = boost("erlpboost", DecisionStumps(X, y, c), **changes, **settings(rng))
    value = float(run.problem.template.parameters.nu)
    return f"nu = {value}", *class_interval(run), largest_soft_margin(stump_margins(X, y), c, value)


def attack_limits(rng: np.random.Generator) -> tuple[str, float, float, float]:
    """Soft margins of weights with a budget of the features and a limit of the margins."""
    (X, y, c, nu), name = draw(rng), str(rng.choice(SOFT_MARGINS[:2]))
    costs, coefficients = rng.uniform(-0.5, 1.0, X.shape[1]), rng.uniform(-1.0, 1.0, len(y)) / len(y)
    budget, limit = float(rng.uniform(0.1, 1.0)), float(rng.uniform(0.0, 0.3))
    oracle = LimitedClass(DecisionStumps(X, y, c), [Budget(costs, budget), MarginLimit(coefficients, limit)])
    run = boost(name, oracle, nu=nu, **settings(rng))
    interval = certify_limits(run).interval
    # Stumps with equal margins of different features have different costs.
    columns = list[tuple[float, ...]]()
    for j in range(X.shape[1]):
        sides = splits(X[:, j : j + 1])[1:]
        columns += [(*(sign * np.where(side, 1.0, -1.0) * y), costs[j]) for side in sides for sign in (1.0, -1.0)]
    table = np.array(columns).T
    U, A = table[:-1], np.vstack([table[-1], coefficients @ table[:-1]])
    return name, interval.lower, interval.upper, largest_soft_margin(U, c, nu, A, np.array([budget, limit]))


def attack_classes(rng: np.random.Generator) -> tuple[str, float, float, float]:
    """Soft margins of pairs of an example and a wrong class."""
    X, _, c, _ = draw(rng)
    labels = rng.integers(0, 3, len(X))
    labels[:3] = 0, 1, 2
    oracle = MulticlassStumps(X, labels, c)
    nu = float(rng.uniform(1.0, oracle.c.sum()))
    name = str(rng.choice(SOFT_MARGINS))
    run = boost(name, oracle, nu=nu, **settings(rng))
    rows = oracle.pair_examples
    other_codes = np.array([(0, 1, 2).index(int(label)) for label in oracle.pair_classes])
    columns = list[Array]()
    for side in splits(X):
        for upper, lower in itertools.product(itertools.product((-1.0, 1.0), repeat=3), repeat=2):
            votes = np.where(side[:, np.newaxis], upper, lower)
            columns.append((votes[rows, labels[rows]] - votes[rows, other_codes]) / 2.0)
    return name, *class_interval(run), largest_soft_margin(distinct(columns), oracle.c, nu)


def attack_numbers(rng: np.random.Generator) -> tuple[str, float, float, float]:
    """Residuals of votes that predict numbers."""
    (X, y, c, _), name = draw(rng), str(rng.choice(SOFT_MARGINS))
    targets = y + rng.normal(size=len(y)) * 10.0 ** rng.integers(-2, 3)
    oracle, nu = RegressionStumps(X, targets, c, float(rng.uniform(0.2, 3.0))), float(rng.uniform(1.0, c.sum()))
    run = boost(name, oracle, nu=nu, **settings(rng))
    loss = smallest_tube_loss(all_values(X), targets, c, nu, oracle.target_scale)
    return name, *class_interval(run), -loss / oracle.residual_scale


def attack_trees(rng: np.random.Generator) -> tuple[str, float, float, float]:
    """Soft margins over trees of depth two."""
    (all_X, all_y, all_c, largest_nu), name = draw(rng), str(rng.choice(SOFT_MARGINS))
    X, y, c = all_X[:9, :2], all_y[:9], all_c[:9]
    nu = min(largest_nu, float(c.sum()))
    run = boost(name, DepthTwoTrees(X, y, c), nu=nu, **settings(rng))
    sides = splits(X)
    leaves = distinct([np.where(side, a, b) for side in sides for a, b in itertools.product((-1.0, 1.0), repeat=2)])
    columns = [np.where(root, one, two) * y for root in sides for one in leaves.T for two in leaves.T]
    return name, *class_interval(run), largest_soft_margin(distinct(columns), c, nu)


def grouped(p: Any, examples: Any) -> CvxpyRegularizer:
    """Return norms of the weights of two groups, on the capped simplex."""
    first, second = np.flatnonzero(p.groups > 0), np.flatnonzero(p.groups <= 0)

    def norms(d: Any) -> Any:
        return sum(cp.norm(d[rows], 2) for rows in (first, second) if len(rows)) / p.eta

    return CvxpyRegularizer(CappedSimplex(examples.c, p.nu), norms, inside=examples.c / examples.total)


GROUPED = prototype(
    "grouped",
    grouped,
    nu=parameter("the number of examples", COUNT),
    eta=parameter("the inverse strength", POSITIVE),
    groups=parameter("the group of each example", PER_EXAMPLE),
)


def attack_described(rng: np.random.Generator) -> tuple[str, float, float, float]:
    """The value of a described program over stumps."""
    X, y, c, nu = draw(rng)
    nu = min(nu, 0.9 * float(c.sum()))
    values: dict[str, Any] = {"nu": nu, "eta": float(rng.uniform(1.0, 9.0)), "groups": np.sign(rng.normal(size=len(y)))}
    run = boost(GROUPED, DecisionStumps(X, y, c), epsilon=0.01, max_rounds=int(rng.integers(1, 12)), **values)
    return "grouped", *class_interval(run), optimum_of_list("grouped", stump_margins(X, y), c, values)


def attack_losses(rng: np.random.Generator) -> tuple[str, float, float, float]:
    """Optima of programs without a soft margin."""
    X, y, c, _ = draw(rng)
    is_linear = rng.random() < 0.5
    name, values = "l1_adaboost" if is_linear else "logitboost_cg", dict[str, Any]()
    values["C" if is_linear else "D"] = float(rng.uniform(0.05, 1.0) if is_linear else rng.uniform(0.5, 5.0))
    run = boost(name, DecisionStumps(X, y, c), epsilon=1e-3, max_rounds=int(rng.integers(1, 30)), **values)
    return name, *class_interval(run), optimum_of_list(name, stump_margins(X, y), c, values)


def optimum_of_list(name: str, U: Array, c: Array, values: Mapping[str, Any]) -> float:
    """Return the optimum of a program over all columns, in the middle of its certified interval."""
    page = GROUPED if name == "grouped" else get_formulation(name)
    certificate = page.bind(U, c=c, **values).solve("cvxpy:clarabel", tol=1e-8).certificate
    return 0.5 * (certificate.lower + certificate.upper)


ATTACKS: Mapping[str, Attack] = {
    "stumps": attack_stumps,
    "schedules": attack_schedule,
    "limits": attack_limits,
    "several classes": attack_classes,
    "numbers": attack_numbers,
    "trees": attack_trees,
    "described": attack_described,
    "losses": attack_losses,
}
"""The attacks by name."""


def attack_class(number: int) -> tuple[Counter[str], list[str]]:
    """Attack the class interval of the next kind; return what was counted, and each false interval in words."""
    name = tuple(ATTACKS)[number % len(ATTACKS)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        words, lower, upper, optimum = ATTACKS[name](np.random.default_rng([number, 44]))
    slack = TOLERANCE * max(1.0, abs(optimum)) if math.isfinite(optimum) else 0.0
    is_narrow = upper - lower <= 1e-3
    counts = Counter({name: 1, "narrow": int(is_narrow), "without a lower end": int(lower == -math.inf)})
    if math.isnan(lower) or math.isnan(upper) or not lower - slack <= optimum <= upper + slack:
        return counts, [f"{name} {number}, {words}: [{lower!r}, {upper!r}] for {optimum!r}"]
    return counts, []
