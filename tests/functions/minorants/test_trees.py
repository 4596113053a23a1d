"""Expressions as trees: every choice of multipliers gives a minorant, and one of them touches."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from boostopt import ProblemError
from boostopt.functions.formulas.intervals import Interval, exact_interval
from boostopt.functions.minorants.expression_graph import Graph
from boostopt.functions.minorants.expression_trees import build_tree
from boostopt.functions.minorants.families import MinorantFamily
from boostopt.functions.minorants.linearization import Linearization, describe_linear_form

pytestmark = pytest.mark.every(2)

N = 6
A = np.random.default_rng(0).dirichlet(np.ones(N))

EXPRESSIONS: dict[str, Callable[[Any], Any]] = {
    "sizes": lambda d: cp.norm1(d - A),
    "largest": lambda d: cp.max(d),
    "steps": lambda d: cp.tv(d),
    "sums": lambda d: cp.norm1(cp.cumsum(d - A)),
    "sums, smooth": lambda d: cp.sum_squares(cp.cumsum(d)),
    "sums of kinks": lambda d: cp.max(cp.cumsum(cp.abs(d - A))),
    "norm": lambda d: cp.norm(d - A),
    "largest size": lambda d: cp.norm_inf(d - A),
    "3-norm": lambda d: cp.pnorm(d - A, 3),
    "some largest": lambda d: cp.sum_largest(d, 2.5),
    "some smallest": lambda d: -cp.sum_smallest(d, 2),
    "tail": lambda d: cp.cvar(d, 0.5),
    "entry by entry": lambda d: cp.sum(cp.maximum(d, A, 0.1)),
    "positive parts": lambda d: cp.sum(cp.pos(d - A)),
    "least": lambda d: -cp.sum(cp.minimum(d, A)) - cp.min(d),
    "smooth": lambda d: cp.sum(cp.huber(10 * (d - A))) + cp.quad_over_lin(d - A, 1) + cp.log_sum_exp(d),
    "groups": lambda d: cp.mixed_norm(cp.reshape(d - A, (3, 2), order="F"), 2, 1),
    "columns": lambda d: cp.sum(cp.max(cp.reshape(d, (2, 3), order="C"), axis=1)),
    "two of each column": lambda d: cp.sum(cp.sum_largest(cp.reshape(d, (3, 2), order="F"), 2, axis=0)),
    "smooth of a kink": lambda d: cp.square(cp.norm1(d - A)) + cp.exp(3 * cp.max(d)),
    "of a concave one": lambda d: cp.sum(cp.inv_pos(cp.minimum(d, 0.3) + 1.0)),
    "smooth maximum of sizes": lambda d: cp.log_sum_exp(cp.abs(d - A)),
    "both sides": lambda d: cp.sum(cp.scalene(d - A, 1, 2)),
    "deviation": lambda d: cp.std(d),
    "range": lambda d: cp.ptp(d),
    "norm of sizes": lambda d: cp.norm(cp.abs(d - A) + cp.pos(d)),
    "kinks of kinks": lambda d: cp.max(cp.hstack([cp.norm1(d - A), cp.norm(d), 2 * cp.max(d)])),
    "largest of a matrix": lambda d: cp.norm(cp.reshape(cp.abs(d - A), (2, 3), order="F"), "inf"),
    "sizes of concave ones": lambda d: cp.norm1(-cp.abs(d - A) - 0.5 * cp.abs(d)),
}


def weights(rng: np.random.Generator) -> np.ndarray:
    """Weights, at a kink or not: the reference itself, ties, a vertex."""
    corner = np.eye(N)[int(rng.integers(N))]
    return [A.copy(), np.full(N, 1 / N), corner, rng.dirichlet(np.ones(N)), rng.dirichlet(np.full(N, 0.3))][
        int(rng.integers(5))
    ]


def linearized(name: str, d: np.ndarray) -> tuple[Any, Any, Linearization]:
    variable = cp.Variable(N)
    f = cp.Constant(0.0) + EXPRESSIONS[name](variable)
    variable.value = d
    found = build_tree(f, variable).linearize()
    assert found is not None
    return variable, f, found


def graph_of(f: Any, variable: Any) -> Graph:
    """The expression as a graph on the simplex."""
    return Graph([f], variable, Interval(np.zeros(N), np.ones(N)), on_simplex=True)


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_any_choice_bounds_the_expression_from_below(name: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(4):
        at = weights(rng)
        variable, f, tree = linearized(name, at)
        graph, value = graph_of(f, variable), float(f.value)
        affine_minorant = graph.minorant(at, [np.ones(1)])
        assert affine_minorant is not None
        assert float(affine_minorant.gradient.lower @ at) + affine_minorant.offset == pytest.approx(value, abs=1e-10)
        enclosed = graph.values(exact_interval(at))[0]
        assert enclosed.lower[0] - 1e-13 <= value <= enclosed.upper[0] + 1e-13
        samples = [
            {choice.key: 3.0 * rng.normal(size=choice.values.shape) for choice in tree.nonsmooth_nodes()}
            for _ in range(4)
        ]
        for minorant in (affine_minorant, *(graph.minorant(at, [np.ones(1)], raw) for raw in samples)):
            assert minorant is not None
            for _ in range(8):
                variable.value = weights(rng)
                bound = float(minorant.gradient.lower @ variable.value) + minorant.offset
                assert bound <= float(f.value) + 1e-13 * (1.0 + abs(float(f.value)))


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_the_best_choice_is_the_conjugate(name: str) -> None:
    """At a maximizer of <z, d> - f(d) over the simplex the smallest bound is the supremum."""
    z = np.random.default_rng(2).uniform(-1, 1, N)
    variable: Any = cp.Variable(N)
    simplex: list[Any] = [cp.sum(variable) == 1, variable >= 0]
    problem = cp.Problem(cp.Maximize(z @ variable - EXPRESSIONS[name](variable)), simplex)
    with warnings.catch_warnings(action="ignore"):  # of what is more accurate than it needs to be
        best: Any = problem.solve("CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    at = np.maximum(variable.value, 0.0) / np.maximum(variable.value, 0.0).sum()
    variable, f, tree = linearized(name, at)
    raw = None
    if tree.nonsmooth_nodes():
        choices = MinorantFamily(tree, []).best_multipliers(lambda g, alpha: (cp.max(z - g) - alpha, []))
        assert choices is not None
        raw = choices.deltas
    minorant = graph_of(f, variable).minorant(at, [np.ones(1)], raw)
    assert minorant is not None
    assert best - 1e-7 <= float((z - minorant.gradient.lower).max()) - minorant.offset <= best + 1e-6


def test_nonsmooth_nodes_exist_only_where_a_choice_exists() -> None:
    for name in ("smooth", "sums, smooth"):
        assert not linearized(name, A)[2].nonsmooth_nodes()
    assert len(linearized("kinks of kinks", A)[2].nonsmooth_nodes()) == 4


@pytest.mark.parametrize("number", (0.0, 1e200, -1.0, np.inf, np.nan))
def test_raw_choices_of_any_kind_give_a_minorant(number: float) -> None:
    variable, f, tree = linearized("kinks of kinks", A)
    raw = {choice.key: np.full(choice.values.shape, number) for choice in tree.nonsmooth_nodes()}
    minorant = graph_of(f, variable).minorant(A, [np.ones(1)], raw)
    assert minorant is not None
    for d in (A, np.eye(N)[0]):
        variable.value = d
        assert float(minorant.gradient.lower @ d) + minorant.offset <= float(f.value) + 1e-13


@pytest.mark.parametrize(
    ("f", "atom"),
    [
        (lambda d: cp.lambda_max(cp.diag(d)), "lambda_max"),
        (lambda d: cp.norm(cp.diag(d), "nuc"), "normNuc"),
        (lambda d: cp.sigma_max(cp.diag(d)), "sigma_max"),
    ],
)
def test_eigenvalues_are_refused(f: Callable[[Any], Any], atom: str) -> None:
    d = cp.Variable(N)
    with pytest.raises(ProblemError, match=rf"\b{atom}\b.*\bnorms\b"):
        build_tree(f(d), d)


def test_kinks_are_named() -> None:
    named = [
        describe_linear_form("d", row)
        for row in linearized("sizes", A + np.eye(N)[2] - np.eye(N)[4])[2].kink_gradients()
    ]
    assert named == ["d_0", "d_1", "d_3", "d_5"]
    assert describe_linear_form("d", linearized("steps", np.full(N, 1 / N))[2].kink_gradients()[0]) == "d_0 with d_1"
    assert describe_linear_form("d", np.ones(N)) == "a sum of 6 of d"


@pytest.mark.parametrize(
    ("f", "atom", "came"),
    [
        (lambda d: cp.sum(cp.kl_div(d + 1, cp.sum(d) + 1)), "kl_div", "(6,) and ()"),
        (lambda d: cp.sum(cp.rel_entr(d[0] + 1, d + 1)), "rel_entr", "() and (6,)"),
    ],
    ids=["kl_div", "rel_entr"],
)
def test_an_entropy_of_a_number_and_a_vector_is_refused(f: Callable[[Any], Any], atom: str, came: str) -> None:
    """CVXPY's gradient of it is wrong: it once gave a lower bound above the optimum."""
    d = cp.Variable(N)
    with pytest.raises(ProblemError) as refusal:
        build_tree(f(d), d)
    assert str(refusal.value) == (
        f"{atom} must be of two arguments of one shape where both vary; got shapes {came}. "
        "Multiply the number by a vector of ones."
    )
