"""Margins given as a matrix: every way to choose, and a bound on the class that holds for all of them."""

from __future__ import annotations

import json
import pickle
import re
from collections import Counter
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from boostopt import MarginMatrix, OptionError, ProblemError, boost
from boostopt.oracles.base import Answer, Query
from boostopt.oracles.matrix_oracle import GivenMargins, MatrixColumn

U = np.array([[1, -1, 1, 0], [1, 1, -1, 0], [-1, 1, 1, 1]])
D = np.array([0.5, 0.25, 0.25])
"""The edges are 0.5, 0, 0.5, 0.25."""


def choices_of(answer: Answer) -> list[tuple[int, int]]:
    """Column number and sign of each answer, its margins and edge held against U."""
    choices: list[tuple[int, int]] = []
    for column in answer.columns:
        hypothesis = column.hypothesis
        assert isinstance(hypothesis, MatrixColumn)
        np.testing.assert_array_equal(column.margins, hypothesis.sign * U[:, hypothesis.q])
        assert column.edge == pytest.approx(float(column.margins @ D), abs=1e-15)
        choices.append((hypothesis.q, hypothesis.sign))
    return choices


def ask(oracle: GivenMargins, count: int = 1) -> list[tuple[int, int]]:
    return choices_of(oracle.best(Query(D, count)))


def test_the_best_columns_come_in_order_of_their_edges() -> None:
    assert ask(GivenMargins(U)) == [(0, 1)]
    assert ask(GivenMargins(U), 3) == [(0, 1), (2, 1), (3, 1)]
    assert ask(GivenMargins(U), 10) == [(0, 1), (2, 1), (3, 1), (1, 1)]


def test_negations_belong_to_a_reflexive_class_alone() -> None:
    oracle = GivenMargins(-U, reflexive=True)
    answer = oracle.best(Query(D, 2))
    assert [column.hypothesis for column in answer.columns] == [MatrixColumn(0, -1), MatrixColumn(2, -1)]
    np.testing.assert_array_equal(answer.columns[0].margins, U[:, 0])
    assert oracle.reflexive and not GivenMargins(U).reflexive
    assert GivenMargins(-U).best(Query(D)).columns[0].hypothesis == MatrixColumn(1)


def test_the_weakest_is_the_smallest_edge_that_reaches_the_guarantee() -> None:
    assert ask(GivenMargins(U, "weakest", guarantee=0.2)) == [(3, 1)]
    assert ask(GivenMargins(U, "weakest", guarantee=0.2), 2) == [(3, 1), (0, 1)]
    assert ask(GivenMargins(U, "weakest", guarantee=0.25)) == [(3, 1)]
    assert ask(GivenMargins(U, "weakest", guarantee=0.26)) == [(0, 1)]
    assert ask(GivenMargins(U, "weakest", guarantee=-0.3, reflexive=True)) == [(3, -1)]


def test_a_guarantee_holds_up_to_rounding() -> None:
    d = np.full(10, 0.1)
    oracle = GivenMargins(np.ones((10, 1), dtype=int), "weakest", guarantee=1.0)
    assert 1 - 1e-14 < oracle.best(Query(d * (1 - 2e-15))).columns[0].edge < 1
    with pytest.raises(ProblemError, match=r"\bguarantee 1\.0\b.*\bedge\b"):
        oracle.best(Query(d * (1 - 1e-12)))


@pytest.mark.parametrize("choose", ["best", "weakest", "random", "largest_increase", [0, 1]])
def test_a_guarantee_that_is_not_true_is_an_error_however_the_choice(choose: Any) -> None:
    oracle = GivenMargins(U, choose, guarantee=0.6)
    assert oracle.guarantee == 0.6
    with pytest.raises(ProblemError, match=r"\bguarantee 0\.6\b.*\bedge\b.* 0\.5\."):
        oracle.best(Query(D, gain=lambda _: 1.0))


@pytest.mark.thorough
def test_random_columns_are_drawn_uniformly_among_those_that_reach_the_guarantee() -> None:
    oracle = GivenMargins(U, "random", guarantee=0.2)
    draws = Counter(ask(oracle)[0][0] for _ in range(3000))
    assert set(draws) == {0, 2, 3}
    assert all(abs(times - 1000) < 120 for times in draws.values())  # 4.6 standard deviations
    assert {ask(GivenMargins(U, "random", random_state=seed))[0][0] for seed in range(40)} == {0, 1, 2, 3}
    assert sorted(ask(GivenMargins(U, "random"), 10)) == [(0, 1), (1, 1), (2, 1), (3, 1)]


def test_equal_seeds_draw_equal_columns_and_a_state_goes_on_where_it_was_taken() -> None:
    first, second = (GivenMargins(U, "random", random_state=7) for _ in range(2))
    draws = [ask(first) for _ in range(20)]
    assert draws[:8] == [ask(second) for _ in range(8)]
    third = GivenMargins(U, "random", random_state=7)
    third.restore(json.loads(json.dumps(dict(second.state()))))
    assert draws[8:] == [ask(third) for _ in range(12)]
    assert draws != [ask(GivenMargins(U, "random", random_state=7)) for _ in range(20)]


def test_a_call_that_fails_does_not_move_the_state() -> None:
    oracle = GivenMargins(U, [3, 0], guarantee=0.2)
    with pytest.raises(ProblemError, match=r"\bcolumn 3\b.*\bedge 0\b.* 0\.2\."):
        oracle.best(Query(np.array([0.5, 0.5, 0.0])))
    assert ask(oracle) == [(3, 1)]


def test_the_largest_increase_is_chosen_by_the_gain() -> None:
    gains: dict[tuple[int, ...], float] = {(1, 1, -1): 0.1, (-1, 1, 1): 0.4, (1, -1, 1): 0.2, (0, 0, 1): 0.3}
    query = Query(D, 2, lambda u: gains[tuple(int(x) for x in u)])
    assert choices_of(GivenMargins(U, "largest_increase").best(query)) == [(1, 1), (3, 1)]
    assert choices_of(GivenMargins(U, "largest_increase", guarantee=0.2).best(query)) == [(3, 1), (2, 1)]


def test_without_a_program_there_is_no_increase() -> None:
    with pytest.raises(ProblemError, match=r"\bchoose=\"largest_increase\".*\bprogram\b.*\bquery\b"):
        GivenMargins(U, "largest_increase").best(Query(D))


def test_an_order_is_followed_one_a_call_and_the_best_comes_after_it() -> None:
    oracle = GivenMargins(U, np.array([3, 1, 1]))
    assert [ask(oracle, 2) for _ in range(4)] == [[(3, 1)], [(1, 1)], [(1, 1)], [(0, 1), (2, 1)]]
    later = GivenMargins(U, [3, 1, 1])
    later.restore({"calls": 1})
    assert ask(later) == [(1, 1)]
    assert ask(GivenMargins(U, [])) == [(0, 1)]


@pytest.mark.thorough
@settings(deadline=None, max_examples=60)
@given(
    margins=arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 5)), elements=st.floats(-1, 1)),
    weights=arrays(np.float64, 6, elements=st.floats(1e-3, 1)),
    reflexive=st.booleans(),
    choose=st.sampled_from(["best", "random", "largest_increase", [0]]),
)
def test_the_bound_on_the_class_is_the_largest_edge_however_it_chooses(
    margins: np.ndarray, weights: np.ndarray, reflexive: bool, choose: Any
) -> None:
    d = weights[: len(margins)] / weights[: len(margins)].sum()
    edges = [sum(float(u) * float(x) for u, x in zip(column, d, strict=True)) for column in margins.T]
    largest = max(max(edges), -min(edges)) if reflexive else max(edges)
    oracle = GivenMargins(margins, choose, reflexive=reflexive)
    answer = oracle.best(Query(d, gain=lambda u: float(u[0])))
    assert answer.edge_bound is not None
    assert largest <= answer.edge_bound <= largest + 1e-14
    assert answer.columns[0].edge <= answer.edge_bound


def test_every_storage_gives_the_same_answers_and_whole_numbers_take_a_byte() -> None:
    for storage in (U, U.astype(float), U.astype(np.int8), scipy.sparse.csr_array(U), MarginMatrix(U)):
        answer = GivenMargins(storage).best(Query(D, 4))
        assert choices_of(answer) == [(0, 1), (2, 1), (3, 1), (1, 1)]
        assert {column.margins.dtype for column in answer.columns} == {np.dtype(np.int8)}
    halves = GivenMargins(0.5 * U).best(Query(D)).columns[0]
    assert halves.margins.dtype == np.float64
    np.testing.assert_array_equal(halves.margins, 0.5 * U[:, 0])


def test_examples_of_multiplicity_0_are_left_out() -> None:
    oracle = GivenMargins(U, c=[2, 0, 3])
    assert (oracle.N, oracle.y) == (2, None)
    np.testing.assert_array_equal(oracle.c, [2, 3])
    np.testing.assert_array_equal(oracle.best(Query(np.array([0.5, 0.5]))).columns[0].margins, U[[0, 2], 2])
    np.testing.assert_array_equal(GivenMargins(U).c, np.ones(3))


def test_the_digest_is_of_the_class_and_not_of_the_way_to_choose() -> None:
    digest = GivenMargins(U).digest
    assert digest == GivenMargins(scipy.sparse.csr_array(U), "random", random_state=3).digest
    variants = [GivenMargins(-U), GivenMargins(U, reflexive=True), GivenMargins(U, c=[1, 1, 2])]
    assert len({digest, *(variant.digest for variant in variants)}) == 4


def test_a_pickled_oracle_continues() -> None:
    oracle = GivenMargins(U, [3, 1], guarantee=0.0)
    oracle.best(Query(D))
    again = pickle.loads(pickle.dumps(oracle))
    assert ask(again) == [(1, 1)]
    assert again.digest == oracle.digest


def test_the_oracle_describes_itself() -> None:
    assert re.fullmatch(r"4 \w+ columns, best", str(GivenMargins(U)))
    assert re.fullmatch(r"4\b.*\bnegations, largest increase", str(GivenMargins(U, "largest_increase", reflexive=True)))
    assert re.fullmatch(r"4 \w+ columns, weakest,.*\b0\.1\b.*", str(GivenMargins(U, "weakest", 0.1)))
    assert re.fullmatch(r"4 \w+ columns,.*\border,.*\bbest", str(GivenMargins(U, [1])))


def test_a_hypothesis_reads_its_column_of_the_values() -> None:
    H = np.array([[0.5, -1.0], [0.0, 0.25]])
    for values in (H, H.tolist(), scipy.sparse.csr_array(H), scipy.sparse.coo_matrix(H)):
        np.testing.assert_array_equal(MatrixColumn(1)(values), [-1.0, 0.25])
        np.testing.assert_array_equal(MatrixColumn(0, -1)(values), [-0.5, 0.0])
    assert MatrixColumn(1)(np.array([[0, 1]], dtype=np.int8)).dtype == np.float64
    assert (str(MatrixColumn(3)), str(MatrixColumn(3, -1))) == ("column 3", "-column 3")


def test_hypotheses_are_equal_by_column_and_sign_and_restored_from_numbers() -> None:
    assert len({MatrixColumn(1), MatrixColumn(1, 1), MatrixColumn(1, -1), MatrixColumn(2)}) == 3
    saved = json.loads(json.dumps(dict(MatrixColumn(2, -1).state())))
    assert MatrixColumn.restored(saved) == MatrixColumn(2, -1)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros((3, 2)), r"\bX\b.*\(n, t\).* 2;.*\(3, 2\)"),
        (np.zeros(3), r"\bX\b.*\(n, t\).* 2;.*\(3,\)"),
        (np.full((2, 3), 1.5), r"^X\b.*\[-1, 1\];.*\bfloat64\b.* 2\."),
        (np.full((2, 3), np.nan), r"^X\b.*\[-1, 1\];.*\bfloat64\b.* 2\."),
        (scipy.sparse.csr_array(np.full((2, 3), -2)), r"^X\b.*\[-1, 1\];.*\bint64\b.* 2\."),
        (np.ones((2, 3), dtype=bool), r"^X\b.*\[-1, 1\];.*\bbool\b.* 2\."),
        (np.full((2, 3), "a"), r"^X\b.*\[-1, 1\];.*<U1\b.* 2\."),
    ],
    ids=["two columns", "one row", "above 1", "nan", "below -1", "bool", "text"],
)
def test_other_values_are_refused(X: Any, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        MatrixColumn(2)(X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"choose": "weekest", "guarantee": 0.1}, r"'weekest'.*'weakest'"),
        ({"choose": "weakest"}, r"\bchoose=\"weakest\".*\bguarantee=g\b"),
        ({"guarantee": 1.5}, r"^guarantee\b.*\[-1, 1\];.* 1\.5\."),
        ({"guarantee": float("nan")}, r"^guarantee\b.*\[-1, 1\];.* nan\."),
        ({"random_state": -1}, r"^random_state\b.* 0;.* -1\."),
        ({"choose": [0, 4]}, r"\border\b.* 3;.* 4\."),
        ({"choose": [-1]}, r"\border\b.* 3;.* -1\."),
        ({"choose": [0.5]}, r"^choose\b.*\[0\.5\],.*\(1,\).*\bfloat64\b"),
        ({"choose": [[0, 1]]}, r"^choose\b.*\(1, 2\).*\bint64\b"),
        ({"choose": [[0], [0, 1]]}, r"^choose\b.*\brows\b.*\blength\b"),
        ({"choose": [True, False]}, r"^choose\b.*\(2,\).*\bbool\b"),
        ({"choose": 2}, r"^choose\b.*\(\).*\bint64\b"),
    ],
    ids=[
        "misspelt",
        "no guarantee",
        "guarantee above 1",
        "nan",
        "seed",
        "beyond",
        "below 0",
        "halves",
        "matrix",
        "ragged",
        "bool",
        "number",
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        GivenMargins(U, **options)


@pytest.mark.parametrize("c", [[1, 1], [1, 1, -1], [1, 1, float("nan")], [0, 0, 0], [[1], [1], [1]]])
def test_other_multiplicities_are_refused(c: Any) -> None:
    with pytest.raises(ProblemError, match=rf"\bc\b.* 3 .*{re.escape(str(np.shape(c)))}"):
        GivenMargins(U, c=c)


def test_invalid_margin_matrices_are_refused() -> None:
    with pytest.raises(ProblemError, match=r"^U\b.*\[-1, 1\]"):
        GivenMargins(2 * U)


@pytest.mark.parametrize("d", [np.full(4, 0.25), np.full(2, 0.5), np.array([0.5, np.nan, 0.5])])
def test_other_weights_are_refused(d: Any) -> None:
    with pytest.raises(ProblemError, match=rf"\bd\b.* 3 .*{re.escape(str(d.shape))}"):
        GivenMargins(U).best(Query(d))


@pytest.mark.parametrize("update", ["step", "line_search"])
def test_margins_whose_squares_vanish_are_boosted(update: str) -> None:
    oracle = GivenMargins(np.array([[1e-310], [2e-310]]), reflexive=True)
    run = boost("erlpboost", oracle, nu=1.0, two_sided=True, update=update)
    assert np.abs(run.w).sum() == 1.0
