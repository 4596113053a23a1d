"""The reduced map on the matrices whose cycles are known in closed form."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from boosting.random_classes import linear_program

from boostopt import ProblemError
from boostopt.boosting.dynamics import (
    Cycle,
    contraction,
    find_cycle,
    iterate,
    reduced_map,
    triangle_coordinates,
    unfolded_triangle,
)
from boostopt.instances import cycle_3x3, cycle_mxm, manifold_4x5

pytestmark = pytest.mark.every(2)

THREE = cycle_3x3()
ORDERS = ("cycle of the columns 0, 1, 2", "cycle of the columns 0, 2, 1")


def cycle_of(M: np.ndarray, d: np.ndarray, rounds: int) -> Cycle:
    cycle = find_cycle(M, *iterate(M, d, rounds))
    assert cycle is not None
    return cycle


def test_a_round_is_one_of_adaboost() -> None:
    rng = np.random.default_rng(0)
    M = rng.choice([-1.0, 1.0], (12, 7))
    for _ in range(30):
        d = rng.dirichlet(np.ones(12))
        j = int(rng.integers(7))
        alpha = math.atanh(M[:, j] @ d)
        expected = d * np.exp(-alpha * M[:, j])
        np.testing.assert_allclose(reduced_map(M, d, j), expected / expected.sum(), atol=1e-15)
        assert M[:, j] @ reduced_map(M, d, j) == pytest.approx(0, abs=1e-15)
        np.testing.assert_array_equal(reduced_map(M, d), reduced_map(M, d, int(np.argmax(M.T @ d))))


@pytest.mark.parametrize("order", ORDERS)
def test_the_cycles_of_three(order: str) -> None:
    points = THREE.answers[order]
    cycle = cycle_of(THREE.U, points[1], 30)
    assert cycle.period == 3
    assert cycle.choices.tolist() == ([0, 1, 2] if order == ORDERS[0] else [0, 2, 1])
    np.testing.assert_allclose(cycle.points, points, atol=1e-14)
    np.testing.assert_allclose(cycle.edges, (math.sqrt(5) - 1) / 2, atol=1e-14)
    np.testing.assert_allclose(cycle.w, 1 / 3, atol=1e-14)
    assert contraction(THREE.U, cycle) == pytest.approx(0.0557, abs=5e-5)
    assert contraction(THREE.U, cycle) == pytest.approx(THREE.answers["contraction over a period"], abs=1e-12)


@pytest.mark.thorough
def test_all_of_200_random_starts_end_on_one_of_the_two_cycles() -> None:
    rng, ends = np.random.default_rng(1), list[tuple[int, ...]]()
    for _ in range(200):
        cycle = cycle_of(THREE.U, rng.dirichlet(np.ones(3)), 90)
        ends.append(tuple(cycle.choices.tolist()))
        np.testing.assert_allclose(cycle.points, THREE.answers[ORDERS[cycle.choices[1] - 1]], atol=1e-9)
    assert set(ends) == {(0, 1, 2), (0, 2, 1)}


def test_the_distance_to_the_cycle_shrinks_by_the_contraction() -> None:
    start = THREE.answers[ORDERS[0]][0] + 1e-5 * np.array([1.0, -2.0, 1.0])
    trajectory, _ = iterate(THREE.U, start, 9)
    distances = np.abs(trajectory[[3, 6, 9]] - THREE.answers[ORDERS[0]][0]).max(axis=1)
    np.testing.assert_allclose(distances[1:] / distances[:-1], THREE.answers["contraction over a period"], rtol=0.01)


@pytest.mark.parametrize("m", range(3, 8))
def test_the_cycle_through_all_columns(m: int) -> None:
    problem = cycle_mxm(m)
    rng = np.random.default_rng(m)
    for order in itertools.islice(itertools.permutations(range(1, m)), 24):
        columns = np.array([0, *order])
        start = np.empty(m)
        start[columns] = problem.answers["cycle"][0]
        neighbour = start * (1 + 1e-7 * rng.standard_normal(m))
        cycle = cycle_of(problem.U, neighbour / neighbour.sum(), 40 * m)
        np.testing.assert_array_equal(cycle.choices, columns)
        np.testing.assert_allclose(cycle.points[0], start, atol=1e-9)
        np.testing.assert_allclose(cycle.edges, problem.answers["edge in every round"], atol=1e-9)
        assert (problem.U @ cycle.w).min() == pytest.approx((m - 2) / m, abs=1e-9)
        assert contraction(problem.U, cycle) < 1


def test_with_other_choices_than_the_best_the_margin_stays_below_the_maximum() -> None:
    problem = manifold_4x5()
    order = problem.answers["order of columns"].tolist()
    assert order == [4, 3, 2]
    ends = problem.answers["ends of the manifold"]
    for share in (0.0, 0.3, 0.5, 1.0):
        start = (1 - share) * ends[0] + share * ends[1]
        cycle = find_cycle(problem.U, *iterate(problem.U, start, 60, order))
        assert cycle is not None
        assert cycle.choices.tolist() == [2, 4, 3]
        np.testing.assert_allclose(cycle.points[1], start, atol=1e-12)
        np.testing.assert_allclose(cycle.edges, problem.answers["edge in every round"], atol=1e-12)
        np.testing.assert_allclose(cycle.w, problem.answers["AdaBoost w"], atol=1e-12)
        assert (problem.U @ cycle.w).min() == pytest.approx(1 / 3, abs=1e-12)
        # Along the manifold nothing is lost.
        assert contraction(problem.U, cycle) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize(("seed", "period", "margin"), [(30, 40, 0.128373), (74, 61, 0.265006)])
def test_a_cycle_need_not_have_the_best_margin(seed: int, period: int, margin: float) -> None:
    """On a cycle the examples that take part have the same margin, which other weights may exceed."""
    M = np.random.default_rng(seed).choice([-1.0, 1.0], size=(11, 21))
    cycle = cycle_of(M, np.full(11, 1 / 11), 3000)
    assert len(cycle.choices) == period
    margins = M @ cycle.w
    takes_part = cycle.points.max(axis=0) > 1e-9
    np.testing.assert_allclose(margins[takes_part], margin, atol=1e-6)
    assert (margins[~takes_part] > margin + 0.01).all()
    best = linear_program(M, np.ones(11), 1.0)
    assert margins.min() < best - 0.002


def test_choices_may_depend_on_the_edges() -> None:
    d = np.array([0.5, 0.3, 0.2])
    _, smallest = iterate(THREE.U, d, 3, lambda edges: int(np.argmin(edges)))
    assert smallest[0] == 0
    best = iterate(THREE.U, d, 20)
    again = iterate(THREE.U, d, 20, lambda edges: int(np.argmax(edges)))
    np.testing.assert_array_equal(best[0], again[0])
    np.testing.assert_array_equal(best[1], again[1])


def test_without_renormalizing_the_sum_drifts() -> None:
    """The sum keeps to 1 in exact arithmetic; its error grows by 1 / (1 - r^2) a round, here 1.618."""
    start = np.array([0.31, 0.29, 0.4])
    bare, _ = iterate(THREE.U, start, 60, renormalize=False)
    renormalized, _ = iterate(THREE.U, start, 60)
    assert abs(bare[-1].sum() - 1) > 1e-6
    np.testing.assert_allclose(renormalized.sum(axis=1), 1, atol=3e-16)
    point, r = THREE.answers[ORDERS[0]][0], THREE.answers["edge in every round"]
    drift = reduced_map(THREE.U, point * (1 + 1e-7), 0, renormalize=False)
    assert (drift.sum() - 1) / 1e-7 == pytest.approx(1 / (1 - r * r), rel=1e-5)


def test_a_classifier_of_a_cycle_weighs_with_the_steps() -> None:
    """A cycle of period 10 whose edges differ: its w is that of the steps a long run takes."""
    rng = np.random.default_rng(13)
    rows, columns = rng.integers(4, 8), rng.integers(4, 9)
    M = np.unique(rng.choice([-1.0, 1.0], size=(rows, columns)), axis=1)
    trajectory, choices = iterate(M, rng.dirichlet(np.ones(rows)), 4000)
    cycle = find_cycle(M, trajectory, choices)
    assert cycle is not None
    assert cycle.period == 10
    edges = np.einsum("kn,nk->k", trajectory[:-1], M[:, choices])
    tail = np.bincount(choices[-1000:], np.arctanh(edges[-1000:]), minlength=M.shape[1])
    np.testing.assert_allclose(cycle.w, tail / tail.sum(), atol=1e-9)
    by_edges = np.bincount(cycle.choices, cycle.edges, minlength=M.shape[1]) / cycle.edges.sum()
    assert np.abs(cycle.w - by_edges).max() > 0.002


def test_a_cycle_is_found_only_where_there_is_one() -> None:
    trajectory, choices = iterate(THREE.U, np.array([0.31, 0.29, 0.4]), 60)
    assert find_cycle(THREE.U, trajectory[:8], choices[:7]) is None
    assert find_cycle(THREE.U, trajectory, choices, longest=2) is None
    # Seen once only.
    assert find_cycle(THREE.U, trajectory[-6:], choices[-5:]) is None
    assert find_cycle(THREE.U, trajectory[-7:], choices[-6:]) is not None


def test_the_triangle_in_the_plane() -> None:
    corners = triangle_coordinates(np.eye(3))
    sides = np.linalg.norm(corners - np.roll(corners, 1, axis=0), axis=1)
    np.testing.assert_allclose(sides, 1, atol=1e-15)
    np.testing.assert_allclose(triangle_coordinates(np.full(3, 1 / 3)), corners.mean(axis=0), atol=1e-15)
    assert triangle_coordinates(np.full((4, 5, 3), 1 / 3)).shape == (4, 5, 2)


def test_the_unfolded_triangle() -> None:
    """Sides follow one another; positions and points determine each other."""
    positions = np.linspace(0, 3, 301)[:-1]
    j, along = positions.astype(int), positions % 1
    points = np.zeros((300, 3))
    points[np.arange(300), j] = 0.5
    points[np.arange(300), (j + 1) % 3] = along / 2
    points[np.arange(300), (j + 2) % 3] = (1 - along) / 2
    np.testing.assert_allclose(unfolded_triangle(points), positions, atol=1e-14)
    # A corner is on two sides: from both the position comes near the same.
    for k, corner in enumerate(0.5 * (1 - np.eye(3))):
        two = np.array([corner + 1e-9 * (np.eye(3)[k] - np.eye(3)[side]) for side in ((k + 1) % 3, (k + 2) % 3)])
        distance = abs(float(np.diff(unfolded_triangle(two))[0]))
        assert min(distance, 3 - distance) == pytest.approx(4e-9, rel=1e-3)
    # A third of the plane's perimeter for each side: lengths in the picture are those on the line, halved.
    steps = np.linalg.norm(np.diff(triangle_coordinates(points), axis=0), axis=1)
    np.testing.assert_allclose(steps, 0.01 / 2, atol=1e-14)


def test_no_matrix_has_a_cycle_shorter_than_three() -> None:
    """Two rounds restore no weights: with edges r and s and signs a and b they divide one by (1 + a r)(1 + b s).

    This is above 1 for a = b = 1 and below 1 for a = b = -1. So each example with a weight has opposite signs.
    Where both kinds occur, (1 + r)(1 - s) = (1 - r)(1 + s) = 1, which needs r = s = 0. Where one occurs, an edge is 1.
    """
    r, s = np.meshgrid(np.linspace(0.01, 0.99, 99), np.linspace(0.01, 0.99, 99))
    assert ((1 + r) * (1 + s) > 1).all()
    assert ((1 - r) * (1 - s) < 1).all()
    assert ((1 + r) * (1 - s) * (1 - r) * (1 + s) < 1).all()
    rng, periods = np.random.default_rng(5), list[int]()
    for m in (3, 4, 5, 6):
        for _ in range(3):
            M = cycle_mxm(m).U[:, rng.permutation(m)]
            cycle = find_cycle(M, *iterate(M, rng.dirichlet(np.ones(m)), 400))
            if cycle is not None:
                periods.append(cycle.period)
    assert len(periods) > 8
    assert min(periods) == 3


def test_three_iterations_of_the_map_have_the_cycles_as_fixed_points() -> None:
    trajectory, _ = iterate(THREE.U, np.array([0.31, 0.29, 0.4]), 90)
    positions = unfolded_triangle(trajectory[1:])
    assert abs(positions[-1] - positions[-4]) < 1e-14
    assert abs(positions[-1] - positions[-3]) > 0.3
    with pytest.raises(ProblemError, match=r"\b1/2\b.*\b0\.1\b"):
        unfolded_triangle(trajectory)


@pytest.mark.parametrize(
    ("M", "d", "j", "facts"),
    [
        ([[1.0, 0.5], [1, 1]], [0.5, 0.5], 0, r"margins.*-1 and 1\b.*\b0\.5\b.*\(0, 1\)"),
        ([[1.0], [-1]], [0.5, 0.6], 0, r"^d\b.*\b1\.1\b"),
        ([[1.0], [-1]], [0.5, 0.5], 1, r"hypothesis\b.*\b0, \.\.\., 0\b.*\b1\b"),
        ([[1.0], [-1]], [1.0, 0.0], 0, r"^hypothesis 0\b.*\bedge\b"),
    ],
    ids=["margins", "sum", "hypothesis", "edge"],
)
def test_reduced_map_outside_its_domain_is_refused(M: list[list[float]], d: list[float], j: int, facts: str) -> None:
    with pytest.raises(ProblemError, match=facts):
        reduced_map(np.array(M), np.array(d), j)


@pytest.mark.every(2)
@pytest.mark.parametrize("m", range(3, 13))
def test_every_cycle_through_all_columns_attracts(m: int) -> None:
    instance = cycle_mxm(m)
    trajectory, choices = iterate(instance.U, np.linspace(1.0, 1.2, m) / np.linspace(1.0, 1.2, m).sum(), 400 * m)
    cycle = find_cycle(instance.U, trajectory, choices)
    assert cycle is not None
    assert 0.0 < contraction(instance.U, cycle) < 1.0


def test_a_run_that_rests_without_an_edge_is_no_cycle() -> None:
    M = np.array([[1.0, -1.0], [-1.0, 1.0]])
    trajectory, choices = iterate(M, np.array([0.5, 0.5]), 20)
    assert find_cycle(M, trajectory, choices) is None
