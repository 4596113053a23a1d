"""The run that makes no progress: its construction, each step legal by certificates, and the criterion."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.problems import stalled_problem

from boostopt import ProblemError, Program, get_formulation
from boostopt.instances import Instance, stalled_criterion

N, ROUNDS = 160, 8171
SAMPLE = (1, 2, 3, 10, 100, 1000, 4000, 8120, ROUNDS - 1)


def subsets() -> np.ndarray:
    """Return the subsets of the run, one a row."""
    return stalled_problem().answers["subsets"]


def returned(k: int) -> np.ndarray:
    """The distribution that the solver returns after k >= 1 rounds."""
    d = np.zeros(N)
    d[subsets()[k - 1]] = 0.1
    return d


def program(k: int, name: str = "erlpboost") -> Program:
    """The program over the first k columns."""
    return get_formulation(name).bind(stalled_problem().U[:, :k], **stalled_problem().parameters)


def primal_value(program: Program, d: np.ndarray) -> float:
    """P(d); a certificate would take the better d(w) in its place."""
    return program.regularizer.value(d) + program.edge_function.value(program.margins.edges(d))


@pytest.mark.thorough
def test_the_subsets_have_ten_examples_and_share_at_most_five() -> None:
    assert subsets().shape == (ROUNDS - 1, 10)
    assert (np.diff(subsets(), axis=1) > 0).all()
    assert subsets().min() == 0
    assert subsets().max() == 79
    member = np.zeros((ROUNDS - 1, N), dtype=np.float32)
    np.put_along_axis(member, subsets(), 1.0, axis=1)
    for start in range(0, ROUNDS - 1, 1000):
        common = member[start : start + 1000] @ member.T
        common[np.arange(len(common)), start + np.arange(len(common))] = 0
        assert common.max() <= 5


def test_the_columns_are_what_they_are_said_to_be() -> None:
    np.testing.assert_array_equal(stalled_problem().U[:, 0], np.repeat([0.0, 1.0], 80))
    assert set(np.unique(stalled_problem().U[:, 1:])) == {-1.0, 1.0}
    assert ((stalled_problem().U[:, 1:] == 1).sum(axis=0) == 10).all()
    assert (np.take_along_axis(stalled_problem().U[:, 1:], subsets().T, axis=0) == 1).all()


def test_the_oracle_answers_every_returned_distribution_with_the_best_hypothesis_of_all() -> None:
    """Edge 1, which no other hypothesis of the class has: legal for the oracle of the maximum, g = 0 for the class."""
    for k in SAMPLE:
        edges = stalled_problem().U.T @ returned(k)
        assert edges.argmax() == k
        assert edges[k] == pytest.approx(1, abs=1e-15)
        assert np.delete(edges, k).max() <= 1e-15
    hard = get_formulation("lpboost").bind(stalled_problem().U, nu=1.0)
    certificate = hard.certify(d=np.repeat([1 / 80, 0.0], 80), w=np.eye(1, ROUNDS)[0])
    assert certificate.lower - 1e-12 <= 0.0 <= certificate.upper + 1e-12
    assert certificate.gap <= 1e-15 * ROUNDS + 1e-12


@pytest.mark.parametrize("k", SAMPLE)
def test_every_returned_distribution_is_accurate_to_a_quarter_of_epsilon(k: int) -> None:
    """The reference is the certificate of the program over the earlier columns, which has the same optimum."""
    bound_program = program(k)
    w = stalled_problem().answers["ERLPBoost w"][:k]
    exact = bound_program.certify(d=stalled_problem().answers["ERLPBoost d"], w=w)
    optimum = stalled_problem().answers["ERLPBoost optimum after any number of rounds"]
    assert exact.gap <= 1e-15 * k + 1e-12  # the slack for rounding grows with the columns
    assert exact.lower - 1e-12 <= optimum <= exact.upper + 1e-12
    value = primal_value(bound_program, returned(k))
    expected = stalled_problem().answers["primal value of each returned distribution, over the columns before it"]
    assert value == pytest.approx(expected, abs=1e-12)
    assert value - exact.lower <= stalled_problem().parameters["epsilon"] / 4
    assert value - exact.lower == pytest.approx(0.041, abs=5e-4)


@pytest.mark.thorough
def test_all_returned_distributions_are_as_accurate_as_the_sample() -> None:
    """Their entropies are the same; the edges of the columns before them are counted."""
    member = np.zeros((ROUNDS - 1, N), dtype=np.float32)
    np.put_along_axis(member, subsets(), np.float32(1.0), axis=1)
    signs = stalled_problem().U[:, 1:].astype(np.float32)
    for start in range(0, ROUNDS - 1, 1000):
        edges = member[start : start + 1000] @ signs / 10
        is_earlier = np.arange(ROUNDS - 1) < start + np.arange(len(edges))[:, np.newaxis]
        assert edges.max(where=is_earlier, initial=-1.0) <= 0
    assert (member[:, :80].sum(axis=1) == 10).all()  # where the first column is 0


def test_the_criterion_is_never_met_beyond_the_printed_bound() -> None:
    epsilon, optimum = (
        stalled_problem().parameters["epsilon"],
        stalled_problem().answers["ERLPBoost optimum after any number of rounds"],
    )
    assert stalled_problem().parameters["eta"] == pytest.approx(2 / epsilon * math.log(N), rel=1e-15)
    # The value of the primal with the newest column at the distribution that it was chosen on.
    smallest = primal_value(program(1), np.full(N, 1 / N))
    for k in SAMPLE:
        smallest = min(smallest, primal_value(program(k + 1), returned(k)))
    assert smallest == pytest.approx(0.5, abs=1e-15)
    assert smallest - optimum == pytest.approx(stalled_problem().answers["criterion"], abs=1e-12)
    assert stalled_problem().answers["criterion"] > 0.48 > epsilon / 2
    assert ROUNDS == 8171 > stalled_problem().answers["printed bound of the rounds"] > 8120


def test_the_exact_distribution_is_not_misled() -> None:
    """Under it every later hypothesis has an edge far below the optimum: one solve ends the run."""
    edges = stalled_problem().U.T @ stalled_problem().answers["ERLPBoost d"]
    assert edges[1:].max() == pytest.approx(-0.75, abs=1e-12)
    assert program(1).solve("interior", tol=1e-10).d == pytest.approx(
        stalled_problem().answers["ERLPBoost d"], abs=1e-9
    )


def test_the_binary_program_stalls_likewise() -> None:
    for k in (1, 1000, ROUNDS - 1):
        bound_program = program(k, "binary_erlpboost")
        lower = bound_program.certify(w=stalled_problem().answers["ERLPBoost w"][:k]).lower
        assert primal_value(bound_program, returned(k)) - lower <= stalled_problem().parameters["epsilon"] / 4


def test_shorter_runs_begin_alike_and_seeds_differ() -> None:
    short: Instance = stalled_criterion(40)
    np.testing.assert_array_equal(short.U, stalled_problem().U[:, :40])
    np.testing.assert_array_equal(stalled_criterion(40, np.random.default_rng(0)).U, short.U)
    assert (stalled_criterion(40, 1).U != short.U).any()
    assert "stalled criterion" in repr(short)


@pytest.mark.parametrize(
    ("rounds", "facts"),
    [(1, r"\b2\b.*\b1\b"), (10001, r"\b10000\b.*\b10001\b.*\b8121\b")],  # 8121 rounds exceed the bound
    ids=["too few", "too many"],
)
def test_bad_numbers_of_rounds_are_refused(rounds: int, facts: str) -> None:
    with pytest.raises(ProblemError, match=rf"^rounds\b.*{facts}"):
        stalled_criterion(rounds)
