"""Expressions with kinks of all kinds: conjugates are suprema, values are CVXPY's, and kinks have names."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from boostopt.authoring import CappedSimplex, CvxpyEdges, CvxpyRegularizer
from boostopt.programs.cvxpy_functions.point_slopes import describe_linear_form

pytestmark = pytest.mark.every(2)

N = 6
A = np.random.default_rng(0).dirichlet(np.ones(N))
UNIFORM = np.full(N, 1 / N)

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
    "sorted": lambda d: cp.dotsort(d - A, np.arange(N) / 5),
    "largest so far": lambda d: cp.sum(cp.cummax(d - A)),
}


def regularizer(name: str) -> CvxpyRegularizer:
    return CvxpyRegularizer(CappedSimplex(np.ones(N), 1.0), EXPRESSIONS[name], UNIFORM)


@pytest.mark.every(4)
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_the_bound_of_the_conjugate_is_the_supremum(name: str) -> None:
    F, z = regularizer(name), np.random.default_rng(2).uniform(-1, 1, N)
    d: Any = cp.Variable(N)
    simplex: list[Any] = [cp.sum(d) == 1, d >= 0]
    problem = cp.Problem(cp.Maximize(z @ d - EXPRESSIONS[name](d)), simplex)
    with warnings.catch_warnings(action="ignore"):  # of what is more accurate than it needs to be
        best: Any = problem.solve("CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    for start in (None, F.project(d.value), A, UNIFORM):
        assert best - 1e-8 <= F.conjugate_at(z, start).value <= best + 1e-7


@pytest.mark.every(2)
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_values_are_those_of_cvxpy_and_slopes_are_subgradients(name: str) -> None:
    rng, F, d = np.random.default_rng(1), regularizer(name), cp.Variable(N)
    f = cp.Constant(0.0) + EXPRESSIONS[name](d)
    points = [A, UNIFORM, np.eye(N)[2], *rng.dirichlet(np.ones(N), 3), *rng.dirichlet(np.full(N, 0.3), 3)]
    values = list[float]()
    for point in points:
        d.value = point
        values.append(float(f.value))
        assert F.value(F.project(point)) == pytest.approx(values[-1], abs=1e-12)
    for point, value in zip(points, values, strict=True):
        slopes = F.stationarity(point, 0.0).gradient
        for d1, value1 in zip(points, values, strict=True):
            assert value1 >= value + slopes @ (d1 - point) - 1e-9


@pytest.mark.parametrize(
    ("e", "kinks"),
    [
        ([0.25, 0.0, -0.5], ["e_1"]),
        ([0.0, 0.0, 0.0], ["e_0", "e_1", "e_2"]),
        ([0.25, 0.5, -0.5], []),
    ],
)
def test_kinks_of_edges_are_named(e: list[float], kinks: list[str]) -> None:
    assert sorted(CvxpyEdges(cp.norm1).describe_kinks(np.array(e))) == kinks


def test_kinks_of_weights_are_named() -> None:
    point = A + 0.01 * (np.eye(N)[2] - np.eye(N)[4])
    assert sorted(regularizer("sizes").describe_kinks(point)) == ["d_0", "d_1", "d_3", "d_5"]
    assert "d_0 with d_1" in regularizer("steps").describe_kinks(UNIFORM)
    assert not regularizer("smooth").describe_kinks(A)
    assert describe_linear_form("d", np.ones(N)) == "a sum of 6 of d"


def test_the_largest_of_fewer_edges_are_all_of_them() -> None:
    G, w = CvxpyEdges(lambda e: cp.sum_largest(e, 3) / 3), np.array([0.25, 0.5])
    assert G.value(np.array([0.5, -0.25])) == pytest.approx(0.25 / 3, abs=1e-15)
    assert G.conjugate(w) == pytest.approx(np.abs(w - 1 / 3).sum(), abs=1e-9)
    F = CvxpyRegularizer(
        CappedSimplex(np.ones(3), 1.0), cp.sum_squares, np.full(3, 1 / 3), lambda d: [cp.sum_largest(d[:2], 3) <= 0.75]
    )
    assert F.project(np.array([0.5, 0.5, 0.0]))[:2].sum() <= 0.75
