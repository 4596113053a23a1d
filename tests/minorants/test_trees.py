"""Expressions as trees: every choice of multipliers gives a minorant, and one of them touches."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from boostopt import ProblemError
from boostopt.minorants.choosing import Choices, Minorants
from boostopt.minorants.kinks import Kink
from boostopt.minorants.linearized import Choice, Linearized, in_words
from boostopt.minorants.trees import tree_of

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


def point(rng: np.random.Generator) -> np.ndarray:
    """Weights, at a kink or not: the reference itself, ties, a vertex."""
    corner = np.eye(N)[int(rng.integers(N))]
    return [A.copy(), np.full(N, 1 / N), corner, rng.dirichlet(np.ones(N)), rng.dirichlet(np.full(N, 0.3))][
        int(rng.integers(5))
    ]


def linearized(name: str, d: np.ndarray) -> tuple[Any, Any, Linearized]:
    variable = cp.Variable(N)
    f = cp.Constant(0.0) + EXPRESSIONS[name](variable)
    variable.value = d
    found = tree_of(f, variable).at_values()
    assert found is not None
    return variable, f, found


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_any_choice_bounds_the_expression_from_below(name: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(4):
        at = point(rng)
        variable, f, tree = linearized(name, at)
        minorants = Minorants(at, float(f.value), tree, [])

        def noise(kink: Kink, mu: Any, choice: Choice) -> Any:
            return kink.nearest(3 * rng.normal(size=choice.u.shape) * np.abs(mu).max(), mu)

        touching = minorants.subgradient
        assert touching.of_f(at) == pytest.approx(float(f.value), abs=1e-12)
        for g, alpha in ((touching.g, touching.alpha), *(tree.pull(np.ones(1), noise) for _ in range(4))):
            assert (np.abs(g) <= tree.steepest(np.ones(1)) + 1e-12).all()
            for _ in range(8):
                variable.value = point(rng)
                assert float(g @ variable.value + alpha) <= float(f.value) + 1e-12


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
    _, f, tree = linearized(name, at)
    minorants = Minorants(at, float(f.value), tree, [])
    found = minorants.subgradient
    if minorants.several:
        choices = minorants.best(lambda g, alpha: (cp.max(z - g) - alpha, []))
        assert choices is not None
        found = minorants.chosen(choices)
    assert best - 1e-7 <= float((z - found.g).max()) - found.alpha <= best + 1e-6


def test_there_is_a_tree_only_where_there_is_a_choice() -> None:
    for name in ("smooth", "sums, smooth"):
        assert not linearized(name, A)[2].choices()
    assert len(linearized("kinks of kinks", A)[2].choices()) == 4


def test_raw_choices_of_any_kind_give_a_minorant() -> None:
    variable, f, tree = linearized("kinks of kinks", A)
    minorants = Minorants(A, float(f.value), tree, [])
    shapes = [choice.u.shape for choice in tree.choices()]
    for raw in (0.0, 1e200, -1.0):
        found = minorants.chosen(Choices([np.full(shape, raw) for shape in shapes], []))
        for d in (A, np.eye(N)[0]):
            variable.value = d
            assert found.of_f(d) <= float(f.value) + 1e-13


@pytest.mark.parametrize(
    "f", [lambda d: cp.lambda_max(cp.diag(d)), lambda d: cp.norm(cp.diag(d), "nuc"), lambda d: cp.sigma_max(cp.diag(d))]
)
def test_eigenvalues_are_refused(f: Callable[[Any], Any]) -> None:
    d = cp.Variable(N)
    with pytest.raises(ProblemError, match=r"must not stand in a described function.*norms of vectors"):
        tree_of(f(d), d)


def test_kinks_are_named() -> None:
    named = [in_words("d", row) for row in linearized("sizes", A + np.eye(N)[2] - np.eye(N)[4])[2].kinks()]
    assert named == ["d_0", "d_1", "d_3", "d_5"]
    assert in_words("d", linearized("steps", np.full(N, 1 / N))[2].kinks()[0]) == "d_0 with d_1"
    assert in_words("d", np.ones(N)) == "a sum of 6 of d"


@pytest.mark.parametrize(
    "f", [lambda d: cp.sum(cp.kl_div(d + 1, cp.sum(d) + 1)), lambda d: cp.sum(cp.rel_entr(d[0] + 1, d + 1))]
)
def test_an_entropy_of_a_number_and_a_vector_is_refused(f: Callable[[Any], Any]) -> None:
    """CVXPY's gradient of it is wrong: it once gave a lower bound above the optimum."""
    d = cp.Variable(N)
    with pytest.raises(ProblemError, match=r"must be of two arguments of one shape.*got shapes.*a vector of ones"):
        tree_of(f(d), d)
