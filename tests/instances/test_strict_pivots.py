"""Matrices with strict pivots: values, uniqueness and rounds by scipy's simplex."""

from __future__ import annotations

import re

import numpy as np
import pytest
from linear_programs import optimum, width_of_d, width_of_w

from boostopt import ProblemError
from boostopt.instances import Instance, bad_example_and_hypothesis, iteration_lower_bound, pivot

UNIQUE = 1e-8
"""Width of the optimal set that rounding leaves to a unique solution; the widest seen is 3e-10."""


def boost(U: np.ndarray, nu: float, epsilon: float = 1e-9) -> tuple[list[int], list[float], list[float]]:
    """LPBoost with the oracle of the largest edge, until the smallest edge seen minus the optimum is at most epsilon.

    Returns the columns in order, the smallest edge seen in each round and the optimum after it.
    """
    columns: list[int] = []
    smallest_edges: list[float] = []
    optima: list[float] = []
    d = np.full(len(U), 1 / len(U))
    while True:
        edges = U.T @ d
        best = np.argsort(edges)[::-1]
        if optima and edges[best[0]] - optima[-1] <= 1e-9:  # no column raises the optimum
            return columns, smallest_edges, optima
        assert edges[best[0]] - edges[best[1]] > 1e-6, "a tie"
        smallest_edges.append(min([float(edges[best[0]]), *smallest_edges]))
        columns.append(int(best[0]))
        value, d, _ = optimum(U[:, columns], nu)
        optima.append(value)
        if smallest_edges[-1] - value <= epsilon:
            return columns, smallest_edges, optima


@pytest.mark.parametrize(("N", "t", "seed"), [(1, 1, 0), (1, 5, 1), (6, 1, 2), (2, 2, 3), (12, 7, 4), (7, 12, 5)])
def test_a_strict_pivot_is_the_value_and_its_row_and_column_the_only_solution(N: int, t: int, seed: int) -> None:
    problem = pivot(N, t, seed)
    value, d, w = optimum(problem.U, nu=1)
    assert value == pytest.approx(problem.answers["LPBoost optimum"], abs=1e-12)
    assert problem.U[problem.answers["pivot"]] == problem.answers["LPBoost optimum"]
    np.testing.assert_allclose(d, problem.answers["LPBoost d"], atol=1e-9)
    np.testing.assert_allclose(w, problem.answers["LPBoost w"], atol=1e-9)
    assert width_of_d(problem.U, 1, value) < UNIQUE
    assert width_of_w(problem.U, 1, value) < UNIQUE


def test_the_pivot_is_drawn_at_random_from_a_seed() -> None:
    np.testing.assert_array_equal(pivot(5, 4, 7).U, pivot(5, 4, 7).U)
    np.testing.assert_array_equal(pivot(5, 4, 7).U, pivot(5, 4, np.random.default_rng(7)).U)
    places = {pivot(3, 3, seed).answers["pivot"] for seed in range(80)}
    assert len(places) == 9
    assert max(abs(pivot(5, 4, seed).U).max() for seed in range(80)) <= 1


def test_the_lower_bound_is_the_printed_table_of_eight_examples() -> None:
    # Glocer 2009, figure 2.8, with 2d for -1 + 2 delta and so on, 1 for 1 and 1-d for 1 - delta.
    s = 1 / 20
    two, three, four, five, six, seven, eight, nine = (-1 + k * s for k in range(2, 10))
    table = [
        [1, five, seven, nine, -1 + s],
        [1, five, seven, nine, -1 + s],
        [1, five, seven, nine, -1 + s],
        [1, five, seven, nine, -1 + s],
        [two, 1, seven, nine, 1 - s],
        [three, four, 1, nine, 1 - s],
        [three, five, six, 1, 1 - s],
        [three, five, seven, eight, 1 - s],
    ]
    np.testing.assert_allclose(iteration_lower_bound(8, s).U, table, atol=1e-15)


@pytest.mark.every(2)
@pytest.mark.parametrize("repeat", [1, 2, 3])
@pytest.mark.parametrize("N", [4, 6, 8, 10, 16, 22, 32])
def test_lpboost_takes_all_columns_in_order_and_gains_two_delta_a_round(N: int, repeat: int) -> None:
    problem = iteration_lower_bound(N, repeat=repeat)
    columns, _, optima = boost(problem.U, problem.parameters["nu"])
    np.testing.assert_array_equal(columns, problem.answers["order of columns"])
    assert len(columns) == N // 2 + 1
    np.testing.assert_allclose(
        optima[:-1], problem.answers["LPBoost optimum after t = 1, ..., N / 2 rounds"], atol=1e-9
    )
    assert optima[-1] >= problem.answers["LPBoost optimum is at least"] - 1e-12
    missing = problem.answers["what is missing to it after N / 2 rounds is at least"]
    assert optima[-1] - optima[-2] >= missing - 1e-12


@pytest.mark.parametrize("N", range(4, 34, 2))
def test_after_t_rounds_the_matrix_has_a_strict_pivot(N: int) -> None:
    problem = iteration_lower_bound(N)
    rows = problem.answers["example with all the weight after t = 1, ..., N / 2 rounds, not counting copies"]
    for t, row in enumerate(rows, start=1):
        columns = problem.U[:, :t]
        assert columns[row, t - 1] == problem.answers["LPBoost optimum after t = 1, ..., N / 2 rounds"][t - 1]
        assert (np.delete(columns[row], t - 1) < columns[row, t - 1]).all()
        assert (np.delete(columns[:, t - 1], row) > columns[row, t - 1]).all()


@pytest.mark.thorough_cases("2")
@pytest.mark.parametrize("repeat", [1, 2])
def test_the_weights_of_every_round_are_unique(repeat: int) -> None:
    problem = iteration_lower_bound(6, repeat=repeat)
    for t, value in enumerate(problem.answers["LPBoost optimum after t = 1, ..., N / 2 rounds"], start=1):
        assert width_of_d(problem.U[:, :t], repeat, value) < UNIQUE
        assert width_of_w(problem.U[:, :t], repeat, value) < UNIQUE


@pytest.mark.parametrize("N", [4, 8, 20])
def test_from_two_over_2n_plus_1_on_another_column_comes_first(N: int) -> None:
    largest = 2 / (2 * N + 1)
    first_edges = iteration_lower_bound(N, 0.999 * largest).U.mean(axis=0)
    assert first_edges.argmax() == 0
    # At the limit columns 0 and N / 2 - 1 are tied; their edges are linear in delta, so extrapolation gives the tie.
    first, second = iteration_lower_bound(N, largest / 4).U, iteration_lower_bound(N, largest / 2).U
    at_the_limit = (first + 3 * (second - first)).mean(axis=0)
    assert at_the_limit[0] == pytest.approx(at_the_limit[N // 2 - 1], abs=1e-13)


def test_a_small_delta_leaves_nearly_the_whole_range_to_the_last_round() -> None:
    problem = iteration_lower_bound(32, 0.01 / 31.5)
    assert problem.answers["what is missing to it after N / 2 rounds is at least"] == pytest.approx(0.99, abs=1e-15)
    _, _, optima = boost(problem.U, 1)
    assert optima[-1] - optima[-2] >= 0.99


def misclassified(problem: Instance) -> int:
    return int((problem.U @ problem.answers["LPBoost w"] < 0).sum())


@pytest.mark.parametrize("delta", [0.001, 1 / 16, 0.09])
def test_lpboost_ends_with_the_bad_hypothesis_and_every_example_misclassified(delta: float) -> None:
    problem = bad_example_and_hypothesis(delta=delta)
    columns, smallest_edges, optima = boost(problem.U, 1, problem.parameters["epsilon"])
    np.testing.assert_array_equal(columns, problem.answers["order of columns"])
    np.testing.assert_allclose(optima, problem.answers["LPBoost optimum after t = 1, ..., 6 rounds"], atol=1e-10)
    lacking = problem.answers["smallest edge seen minus optimum after 5 rounds"]
    assert smallest_edges[4] - optima[4] == pytest.approx(lacking, abs=1e-10)
    stopped, _, _ = boost(problem.U, 1, 1.001 * lacking)
    assert stopped == [0, 1, 2, 3, 4]
    went_on, _, _ = boost(problem.U, 1, 0.999 * lacking)
    assert went_on == [0, 1, 2, 3, 4, 5]
    value, d, w = optimum(problem.U, 1)
    assert value == pytest.approx(problem.answers["LPBoost optimum"], abs=1e-12)
    np.testing.assert_allclose(d, problem.answers["LPBoost d"], atol=1e-9)
    np.testing.assert_allclose(w, problem.answers["LPBoost w"], atol=1e-9)
    np.testing.assert_allclose(problem.U @ w, problem.answers["margins at w"], atol=1e-9)
    assert misclassified(problem) == problem.answers["misclassified examples"] == 9


def test_without_the_bad_column_the_good_examples_are_separated_but_w_is_not_unique() -> None:
    problem = bad_example_and_hypothesis()
    value, _, _ = optimum(problem.U[:8, :5], 1)
    assert value > 0.03
    at_five = problem.answers["LPBoost optimum after t = 1, ..., 6 rounds"][4]
    assert width_of_w(problem.U[:, :5], 1, at_five) > 0.4
    assert width_of_d(problem.U[:, :5], 1, at_five) < UNIQUE


@pytest.mark.parametrize(("nu", "n_misclassified"), [(1.0, 9), (1.5, 9), (2.0, 1), (3.0, 1)])
def test_a_cap_of_two_removes_the_effect_and_copies_of_the_rows_bring_it_back(nu: float, n_misclassified: int) -> None:
    U = bad_example_and_hypothesis().U
    value, _, w = optimum(U, nu)
    assert width_of_w(U, nu, value) < UNIQUE
    assert (U @ w < 0).sum() == n_misclassified
    if nu == int(nu):
        copies = np.repeat(U, int(nu), axis=0)
        value, _, w = optimum(copies, nu)
        assert value == pytest.approx(-2 / 16, abs=1e-12)
        assert (copies @ w < 0).all()


@pytest.mark.parametrize("seed", range(10))
def test_any_matrix_can_be_spoilt_however_well_it_separates(seed: int) -> None:
    rng = np.random.default_rng(seed)
    good = rng.uniform(-1, 1, size=(12, 5))
    good[:, 0] = rng.uniform(0.2, 1, size=12)
    problem = bad_example_and_hypothesis(good, 0.05)
    np.testing.assert_array_equal(problem.U[:12, :5], good)
    assert optimum(good, 1)[0] > 0.2
    value, d, w = optimum(problem.U, 1)
    assert value == pytest.approx(-0.1, abs=1e-12)
    np.testing.assert_allclose(d, problem.answers["LPBoost d"], atol=1e-9)
    np.testing.assert_allclose(w, problem.answers["LPBoost w"], atol=1e-9)
    assert misclassified(problem) == problem.answers["misclassified examples"] == 13
    assert width_of_w(problem.U, 1, value) < UNIQUE


@pytest.mark.parametrize(
    ("make", "name", "limit", "came"),
    [
        (lambda: pivot(0, 3), "N", "1", "0"),
        (lambda: pivot(3, 0), "t", "1", "0"),
        (lambda: pivot(3, 3, -1), "random_state", "0", "-1"),
        (lambda: iteration_lower_bound(7), "N", "even", "7"),
        (lambda: iteration_lower_bound(2), "N", "4", "2"),
        (lambda: iteration_lower_bound(8, repeat=0), "repeat", "1", "0"),
        (lambda: iteration_lower_bound(8, 2 / 17), "delta", "0.1176470588", "0.11764705882352941"),
        (lambda: iteration_lower_bound(8, 0.0), "delta", "0.1176470588", "0.0"),
        (lambda: iteration_lower_bound(8, float("nan")), "delta", "0.1176470588", "nan"),
        (lambda: bad_example_and_hypothesis(delta=1 / 11), "delta", "0.09090909091", "0.09090909090909091"),
        (lambda: bad_example_and_hypothesis([[1.0]], 0.34), "delta", "0.3333333333", "0.34"),
        (lambda: bad_example_and_hypothesis([[2.0]]), "U", "1", "2"),
    ],
)
def test_bad_arguments_are_refused(make: object, name: str, limit: str, came: str) -> None:
    assert callable(make)
    with pytest.raises(ProblemError, match=rf"^{name}\b.*\b{re.escape(limit)}\b.* {re.escape(came)}\b"):
        make()
