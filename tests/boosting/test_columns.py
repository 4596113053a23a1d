"""The number of columns a round: chosen by seconds and by the columns of use, and what runs make of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typechecker
from noisy_stumps import stumps

from boostopt import OptionError, Run, boost, path
from boostopt.boosting import BoostOptions
from boostopt.boosting.column_count import (
    CANDIDATES,
    INITIAL_COUNT,
    AdaptiveColumnCount,
    FixedColumnCount,
    columns_or_minimum,
    make_column_count,
    read_columns,
)
from boostopt.boosting.histogram_newton.histogram_run import HistogramRun
from boostopt.oracles import BinnedStumps

PLAIN: dict[str, Any] = {"nu": 30, "epsilon": 0.02, "update": "total"}


def numbers(useful: Callable[[int], int], oracle: float, solve: float, rounds: int = 60) -> list[int]:
    """The numbers of a run in which so many of each number of columns are of use, at equal seconds a round."""
    columns, found = AdaptiveColumnCount(), list[int]()
    for _ in range(rounds):
        found.append(columns.value)
        columns.observe(useful(columns.value), oracle, solve)
    return found


def all_up_to(most: int) -> Callable[[int], int]:
    """Up to some number of columns all are of use; where more are asked for, a third."""
    return lambda number: number if number <= most else max(number // 3, 1)


def most_often(found: list[int]) -> int:
    return max(set(found), key=found.count)


@pytest.mark.parametrize("oracle, solve", [(1.0, 1e-3), (1.0, 1.0), (1e-3, 1.0)])
@pytest.mark.parametrize("most", [1, 2, 5, 10, 20, 32])
def test_the_number_becomes_the_largest_of_which_all_are_of_use(most: int, oracle: float, solve: float) -> None:
    found = numbers(all_up_to(most), oracle, solve)
    assert found[0] == INITIAL_COUNT and set(found) <= set(CANDIDATES)
    assert most_often(found[10:]) == most
    assert sum(number > most for number in found[10:]) <= 8  # tried now and then


def test_of_useful_and_useless_columns_more_are_taken_where_the_oracle_is_dear() -> None:
    def twelve_and_a_third(number: int) -> int:
        return number if number <= 12 else 12 + (number - 12) // 3

    dear, cheap = numbers(twelve_and_a_third, 1.0, 1e-3), numbers(twelve_and_a_third, 1e-3, 1.0)
    assert most_often(cheap[20:]) == 12 and most_often(dear[20:]) == 32


def test_where_one_column_is_of_use_one_is_asked_for() -> None:
    assert most_often(numbers(lambda _: 1, 1e-3, 1.0)) == 1
    assert set(numbers(lambda number: number, 1e-3, 1.0)[8:]) == {32}


def test_a_round_without_a_column_of_use_tells_nothing() -> None:
    assert set(numbers(lambda _: 0, 1.0, 1.0)) == {INITIAL_COUNT}
    columns = AdaptiveColumnCount(12)
    columns.observe(0, 1.0, 1.0)
    assert columns.value == 12
    columns = AdaptiveColumnCount(1)
    columns.observe(0, 1.0, 1.0)
    assert columns.value == INITIAL_COUNT


def test_it_changes_with_the_run() -> None:
    columns = AdaptiveColumnCount()
    for _ in range(30):
        columns.observe(all_up_to(20)(columns.value), 1e-3, 1.0)
    assert columns.value in (20, 24)
    for _ in range(30):
        columns.observe(all_up_to(3)(columns.value), 1e-3, 1.0)
    assert columns.value in (3, 4)


def test_seconds_of_nothing_are_no_error() -> None:
    assert set(numbers(lambda number: number, 0.0, 0.0)) <= set(CANDIDATES)


def test_a_number_stays() -> None:
    columns = make_column_count(7)
    assert type(columns) is FixedColumnCount
    columns.observe(1, 1.0, 1.0)
    assert columns.value == 7
    assert isinstance(make_column_count("auto"), AdaptiveColumnCount)
    assert columns_or_minimum(3, 16) == columns_or_minimum("auto", 16) == 16 and columns_or_minimum(20, 16) == 20


@pytest.mark.parametrize("value", [0, -1, "x", "", "Auto", 1.5, 2.0, True, None, [1]])
def test_other_values_are_refused(value: object) -> None:
    with pytest.raises(OptionError, match=rf'^columns_per_round\b.*"auto".*\s{re.escape(repr(value))}\.'):
        read_columns(value)


@pytest.mark.parametrize("value", ["auto", 1, 32, 100, np.int64(3)])
def test_these_are_taken(value: Any) -> None:
    with typechecker.unchecked():  # a NumPy number is taken too
        assert BoostOptions(columns_per_round=value).columns_per_round == value


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["lpboost", "erlpboost"])
def test_a_run_takes_fewer_rounds_and_proves_what_the_other_proves(name: str) -> None:
    one, auto = boost(name, stumps(150), **PLAIN), boost(name, stumps(150), **PLAIN, columns_per_round="auto")
    assert auto.rounds < one.rounds / 2
    assert auto.class_certificate.gap <= 0.02
    assert auto.class_certificate.lower <= one.class_certificate.upper
    assert one.class_certificate.lower <= auto.class_certificate.upper
    assert most_joined(auto) <= 32


def most_joined(run: Run) -> int:
    return int(np.diff([0, *(row.hypotheses for row in run.trace)]).max())


@pytest.mark.thorough
def test_a_path_and_steps_take_it_too() -> None:
    several = path("erlpboost", stumps(150), nu=[60.0, 30.0], epsilon=0.02, update="total", columns_per_round="auto")
    assert bool((several.upper - several.lower <= 0.02 + 1e-9).all())
    # A corrective step gives a weight to the first column alone, so that most rounds ask for one.
    step = boost("corrective_erlpboost", stumps(150), nu=60, epsilon=0.1, columns_per_round="auto")
    assert step.class_certificate.gap <= 0.1
    newton = boost("erlpboost", stumps(150), nu=30, epsilon=0.02, update="newton", columns_per_round="auto")
    assert newton.class_certificate.gap <= 0.02


@pytest.mark.thorough_cases("2")
@pytest.mark.parametrize("before", [2, "auto"])
def test_a_stored_run_goes_on(before: Any, tmp_path: Path) -> None:
    file = tmp_path / "run.npz"
    parts = boost("erlpboost", stumps(150), **PLAIN, columns_per_round=before, max_rounds=4, checkpoint=file)
    assert parts.rounds == 4
    run = boost("erlpboost", stumps(150), **PLAIN, columns_per_round="auto", checkpoint=file)
    assert run.rounds > 4 and run.class_certificate.gap <= 0.02
    np.testing.assert_array_equal(run.trace["hypotheses"][:4], parts.trace["hypotheses"])


def test_looks_take_what_they_take_without_it() -> None:
    X = np.random.default_rng(0).normal(size=(3000, 4))
    oracle = BinnedStumps(X, np.where(X[:, 0] + X[:, 1] > 0, 1, -1))
    given: dict[str, Any] = {"columns_per_round": "auto"}
    plain, auto = (boost("erlpboost", oracle, nu=900, epsilon=0.05, **how) for how in (dict[str, Any](), given))
    assert isinstance(plain, HistogramRun) and isinstance(auto, HistogramRun)
    np.testing.assert_array_equal(plain.w, auto.w)


def test_no_more_columns_are_of_use_than_were_asked_for() -> None:
    few = AdaptiveColumnCount()
    few.observe(4, 0.0, 1.0)  # 4 of 5: of 4 columns all would be of use, and of one column no more than that one
    assert few.value == 4


def test_more_weights_than_columns_are_a_share_of_all() -> None:
    """A column that came in an earlier round may get its first weight now."""
    every, beyond = AdaptiveColumnCount(), AdaptiveColumnCount()
    for oracle in (1.0, 1.0, 0.0):
        every.observe(every.value, oracle, 1.0)
        beyond.observe(4 * beyond.value, oracle, 1.0)
        assert beyond.value == every.value
