"""AdaBoost's cycles: the reduced map, renormalized each round, is run on them."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest
from linear_programs import optimum, width_of_d, width_of_w

from boostopt import ProblemError
from boostopt.instances import Instance, cycle_3x3, cycle_mxm, manifold_4x5

UNIQUE = 1e-8
"""Width of the optimal set that rounding leaves to a unique solution; the widest seen is 3e-10."""


def step(U: np.ndarray, d: np.ndarray, j: int) -> tuple[np.ndarray, float]:
    """One round of AdaBoost on column j by the formula with exponentials: the new distribution, the edge."""
    r = float(U[:, j] @ d)
    alpha = 0.5 * math.log((1 + r) / (1 - r))
    new = d * np.exp(-alpha * U[:, j])
    return new / new.sum(), r


def reduced(U: np.ndarray, d: np.ndarray, j: int) -> np.ndarray:
    """The same by the reduced map, without renormalizing."""
    return d / (1 + U[:, j] * (U[:, j] @ d))


def run(U: np.ndarray, d: np.ndarray, rounds: int) -> tuple[np.ndarray, list[int], np.ndarray]:
    """AdaBoost with the largest edge: the last distribution, the columns, the normalized steps."""
    columns, w = [], np.zeros(U.shape[1])
    for _ in range(rounds):
        j = int(np.argmax(U.T @ d))
        d, r = step(U, d, j)
        columns.append(j)
        w[j] += 0.5 * math.log((1 + r) / (1 - r))
    return d, columns, w / w.sum()


def test_a_round_of_the_reduced_map_is_one_of_adaboost_and_errors_of_the_sum_grow() -> None:
    U, rng = cycle_3x3().U, np.random.default_rng(0)
    for _ in range(20):
        d = rng.dirichlet(np.ones(3))
        j = int(np.argmax(U.T @ d))
        new, r = step(U, d, j)
        np.testing.assert_allclose(reduced(U, d, j), new, atol=1e-14)
    d = cycle_3x3().parameters["d0"]
    r = cycle_3x3().answers["edge in every round"]
    sum_error = reduced(U, d * (1 + 1e-7), 0).sum() - 1
    assert sum_error == pytest.approx(1e-7 / (1 - r * r), abs=1e-12)


@pytest.mark.parametrize(
    ("name", "order"), [("cycle of the columns 0, 1, 2", [0, 1, 2]), ("cycle of the columns 0, 2, 1", [0, 2, 1])]
)
def test_the_two_cycles_of_period_three_go_round_by_the_largest_edge(name: str, order: list[int]) -> None:
    problem = cycle_3x3()
    U, cycle = problem.U, problem.answers[name]
    for k, j in enumerate(order):
        assert np.argmax(U.T @ cycle[k]) == j
        after, edge = step(U, cycle[k], j)
        assert edge == pytest.approx(problem.answers["edge in every round"], abs=1e-15)
        np.testing.assert_allclose(after, cycle[(k + 1) % 3], atol=1e-15)
    _, _, w = run(U, cycle[0], 30)
    np.testing.assert_allclose(w, problem.answers["AdaBoost w"], atol=1e-12)
    assert (U @ w).min() == pytest.approx(problem.answers["AdaBoost margin"], abs=1e-12)
    np.testing.assert_array_equal(problem.parameters["d0"], problem.answers["cycle of the columns 0, 1, 2"][0])


def test_every_random_start_ends_on_one_of_the_two_cycles() -> None:
    problem = cycle_3x3()
    points = np.vstack([problem.answers[f"cycle of the columns {order}"] for order in ("0, 1, 2", "0, 2, 1")])
    rng, ends = np.random.default_rng(1), set[int]()
    for _ in range(100):
        d, _, _ = run(problem.U, rng.dirichlet(np.ones(3)), 90)
        distances = np.abs(points - d).max(axis=1)
        assert distances.min() < 1e-12
        ends.add(int(distances.argmin()))
    assert ends & {0, 1, 2}
    assert ends & {3, 4, 5}


def test_the_contraction_over_a_period_is_the_spectral_radius_of_its_derivative() -> None:
    problem = cycle_3x3()
    tangent = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])

    def period(d: np.ndarray) -> np.ndarray:
        for j in range(3):
            d, _ = step(problem.U, d, j)
        return d

    d, h = problem.answers["cycle of the columns 0, 1, 2"][0], 1e-6
    derivative = [tangent @ (period(d + h * way) - period(d - h * way)) / (2 * h) for way in tangent]
    radius = np.abs(np.linalg.eigvals(np.array(derivative))).max()
    assert radius == pytest.approx(problem.answers["contraction over a period"], abs=1e-9)
    assert radius == pytest.approx(0.0557, abs=5e-5)


@pytest.mark.parametrize("m", [3, 4, 5, 7, 12])
def test_the_cycle_of_any_size_goes_round_by_the_largest_edge(m: int) -> None:
    problem = cycle_mxm(m)
    U, cycle = problem.U, problem.answers["cycle"]
    np.testing.assert_allclose(cycle.sum(axis=1), 1, atol=1e-15)
    for k, j in enumerate(problem.answers["order of columns"]):
        assert np.argmax(U.T @ cycle[k]) == j
        after, edge = step(U, cycle[k], int(j))
        assert edge == pytest.approx(problem.answers["edge in every round"], abs=1e-14)
        np.testing.assert_allclose(after, cycle[(k + 1) % m], atol=1e-14)
    _, columns, w = run(U, problem.parameters["d0"], 3 * m)
    assert columns == 3 * list(range(m))
    np.testing.assert_allclose(w, problem.answers["AdaBoost w"], atol=1e-12)
    assert (U @ w).min() == pytest.approx(problem.answers["AdaBoost margin"], abs=1e-12)
    x = cycle[0, -2] / cycle[0, -1]
    assert problem.answers["edge in every round"] == pytest.approx(1 / x - 1, abs=1e-14)


@pytest.mark.parametrize("m", [3, 4, 5, 6])
def test_every_cyclic_order_of_the_columns_has_its_cycle(m: int) -> None:
    problem = cycle_mxm(m)
    orders = [(0, *rest) for rest in itertools.permutations(range(1, m))]
    starts = set[tuple[float, ...]]()
    for order in orders:
        start = np.empty(m)
        start[list(order)] = problem.answers["cycle"][0]
        end, columns, _ = run(problem.U, start, m)
        assert tuple(columns) == order
        np.testing.assert_allclose(end, start, atol=1e-14)
        starts.add(tuple(start))
    assert len(starts) == problem.answers["number of cycles"]


def test_the_cycle_of_size_three_is_the_one_with_the_golden_ratio() -> None:
    np.testing.assert_allclose(
        cycle_mxm(3).answers["cycle"], cycle_3x3().answers["cycle of the columns 0, 1, 2"], atol=1e-15
    )
    assert cycle_mxm(3).answers["edge in every round"] == pytest.approx((math.sqrt(5) - 1) / 2, abs=1e-15)


def test_the_largest_cycle_still_has_an_edge_below_one() -> None:
    problem = cycle_mxm(50)
    assert 0 < 1 - problem.answers["edge in every round"] < 1e-14
    assert problem.answers["cycle"].sum(axis=1) == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.8, 1.0])
def test_every_point_of_the_manifold_comes_back_after_three_rounds_and_not_after_two(share: float) -> None:
    problem = manifold_4x5()
    U, ends = problem.U, problem.answers["ends of the manifold"]
    start = (1 - share) * ends[0] + share * ends[1]
    d, w, visited = start, np.zeros(5), list[np.ndarray]()
    for j in problem.answers["order of columns"]:
        visited.append(d)
        edges = U.T @ d
        assert edges[j] == pytest.approx(problem.answers["edge in every round"], abs=1e-15)
        assert edges[j] > problem.answers["LPBoost optimum"]
        d, r = step(U, d, int(j))
        w[j] += 0.5 * math.log((1 + r) / (1 - r))
    np.testing.assert_allclose(d, start, atol=1e-15)
    assert np.abs(visited[2] - start).max() > 0.1
    np.testing.assert_allclose(w / w.sum(), problem.answers["AdaBoost w"], atol=1e-14)
    assert (U @ w / w.sum()).min() == pytest.approx(problem.answers["AdaBoost margin"], abs=1e-14)
    if share == 0.5:
        np.testing.assert_allclose(visited, problem.answers["cycle"], atol=1e-15)
        np.testing.assert_allclose(problem.parameters["d0"], start, atol=1e-15)
        assert (U.T @ start).max() > problem.answers["edge in every round"] + 0.1


@pytest.mark.parametrize("problem", [cycle_3x3(), cycle_mxm(4), cycle_mxm(9), manifold_4x5()], ids=lambda p: p.name)
def test_the_maximum_margin_is_that_of_the_linear_program_and_w_is_unique(problem: Instance) -> None:
    value, d, w = optimum(problem.U, 1)
    assert value == pytest.approx(problem.answers["LPBoost optimum"], abs=1e-12)
    np.testing.assert_allclose(w, problem.answers["LPBoost w"], atol=1e-9)
    assert width_of_w(problem.U, 1, value) < UNIQUE
    np.testing.assert_allclose(d, problem.answers["LPBoost d"], atol=1e-9)
    assert width_of_d(problem.U, 1, value) < UNIQUE
    assert problem.answers["AdaBoost margin"] <= problem.answers["LPBoost optimum"]
    assert set(np.unique(problem.U)) == {-1.0, 1.0}


@pytest.mark.parametrize(
    ("m", "limit"),
    [(2, 3), (51, 50)],
)
def test_bad_sizes_are_refused(m: int, limit: int) -> None:
    with pytest.raises(ProblemError, match=rf"^m\b.*\b{limit}\b.* {m}\b"):
        cycle_mxm(m)


def test_the_manifold_is_not_said_to_be_in_a_figure() -> None:
    """The paper has the 4 x 5 matrix in section 3; the figures 2(a), 2(b), 2(c) are about the 3 x 3 matrix."""
    (source,) = manifold_4x5().sources
    assert re.search(r"Rudin\b.*\b2004\b.*\bsection 3\b", source) and "figure" not in source
    assert "figure 2" not in (manifold_4x5.__doc__ or "")
