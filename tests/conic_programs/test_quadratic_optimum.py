"""Exact optima of convex quadratic programs: values by hand, proofs of random programs, lies, objectives not convex."""

from __future__ import annotations

import warnings
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import typechecker
from conic_programs.small_programs import INF, linear_program, random_program
from conic_programs.test_readers import instance
from flint import fmpq, fmpq_mat
from hypothesis import given, settings
from hypothesis import strategies as st

from boostopt import ConicProgram, exact_optimum
from boostopt.conic_programs.exact.dixon_lifting import ExactSystem
from boostopt.conic_programs.exact.fraction_digits import common_fractions
from boostopt.conic_programs.exact.optimality_check import objective
from boostopt.conic_programs.exact.quadratic import quadratic_optimum
from boostopt.conic_programs.exact.quadratic.approximate_optimum import ActiveSet
from boostopt.conic_programs.exact.quadratic.negative_curvature import curvature, negative_direction
from boostopt.conic_programs.exact.rational_arrays import fraction_array
from boostopt.conic_programs.exact.rational_sparse_systems import (
    FloatFactors,
    solve_whole_numbers,
    system_of_whole_numbers,
)
from boostopt.errors import ProblemError

FREE = ([-INF, -INF], [INF, INF])

BY_HAND: dict[str, tuple[ConicProgram, str, Fraction | None]] = {
    # x^2 + y^2 over x + 2 y = 1: a fifth, which no float is.
    "an equation": (
        linear_program([[1.0, 2.0]], [0.0, 0.0], ([1.0], [1.0]), FREE, P=2 * np.eye(2)),
        "optimal",
        Fraction(1, 5),
    ),
    "an interior optimum": (
        linear_program([], [-1.0, 0.0], ([], []), FREE, P=np.diag([3.0, 1.0])),
        "optimal",
        Fraction(-1, 6),
    ),
    # P is singular along (1, -1), where the objective is constant.
    "many optima": (linear_program([], [-1.0, -1.0], ([], []), FREE, P=np.ones((2, 2))), "optimal", Fraction(-1, 2)),
    # P is singular along (1, -1), where the objective falls until a bound.
    "a vertex": (
        linear_program([], [-1.0, 0.0], ([], []), ([0.0, 0.0], [INF, INF]), P=np.ones((2, 2))),
        "optimal",
        Fraction(-1, 2),
    ),
    "a range": (
        linear_program([[3.0]], [0.0], ([1.0], [2.0]), ([-INF], [INF]), P=np.eye(1)),
        "optimal",
        Fraction(1, 18),
    ),
    "a maximum with an offset": (
        linear_program([[1.0]], [-1.0], ([-INF], [4.0]), P=np.eye(1), offset=-2.0, is_maximized=True),
        "optimal",
        Fraction(5, 2),
    ),
    "redundant equations": (
        linear_program([[1.0, 2.0], [2.0, 4.0]], [0.0, 0.0], ([1.0, 2.0], [1.0, 2.0]), FREE, P=2 * np.eye(2)),
        "optimal",
        Fraction(1, 5),
    ),
    "infeasible by 1e-15": (
        linear_program([[1.0], [1.0]], [1.0], ([1 + 2.0**-50, -INF], [INF, 1.0]), P=np.eye(1)),
        "infeasible",
        None,
    ),
    "crossed bounds": (linear_program([], [1.0], ([], []), ([1.0], [0.0]), P=np.eye(1)), "infeasible", None),
    "a ray": (
        linear_program([[1.0, 0.0]], [0.0, -1.0], ([0.0], [1.0]), FREE, P=np.diag([1.0, 0.0])),
        "unbounded",
        None,
    ),
    # The objective falls by 2^-40 for each unit along (1, -1).
    "a slow ray": (linear_program([], [1.0, 1.0 + 2.0**-40], ([], []), FREE, P=np.ones((2, 2))), "unbounded", None),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_optima_by_hand(name: str) -> None:
    program, status, value = BY_HAND[name]
    optimum = exact_optimum(program)
    assert (optimum.status, optimum.value) == (status, value)
    assert optimum.is_proved()
    assert f"quadratic program is {status}" in optimum.in_words() or str(value) in optimum.in_words()


def random_quadratic_program(seed: int, kind: str) -> ConicProgram:
    """Return a random linear program with a singular quadratic objective of whole numbers."""
    rng, program = np.random.default_rng(seed), random_program(seed, 6, 9, kind)
    B = rng.integers(-2, 3, (rng.integers(1, 9), 9)) * (rng.random((1, 9)) < 0.6)
    return replace(program, P=scipy.sparse.csc_array((B.T @ B).astype(float)), c=rng.integers(-5, 6, 9).astype(float))


@pytest.mark.parametrize("kind", ["feasible", "any"])
def test_random_programs_are_decided_with_proofs(kind: str) -> None:
    statuses = set[str]()
    for seed in range(12):
        optimum = exact_optimum(random_quadratic_program(seed, kind))
        assert optimum.is_proved()
        statuses.add(optimum.status)
    assert statuses == ({"optimal", "unbounded"} if kind == "feasible" else {"optimal", "infeasible", "unbounded"})


def test_wrong_active_sets_are_repaired_by_pivots(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver that returns active sets by chance changes nothing but the time."""
    programs = [random_quadratic_program(seed, "any") for seed in range(6)]
    expected = [exact_optimum(program) for program in programs]

    def answer_by_chance(program: ConicProgram) -> ActiveSet:
        rng = np.random.default_rng(program.A.nnz)
        lower = np.concatenate([program.lower, program.row_lower])
        upper = np.concatenate([program.upper, program.row_upper])
        at_lower = np.isfinite(lower) & (rng.random(len(lower)) < 0.4)
        at_upper = np.isfinite(upper) & ~at_lower & (rng.random(len(lower)) < 0.4)
        is_equation = lower == upper
        x = np.clip(rng.normal(size=len(program.c)), program.lower, program.upper)
        return ActiveSet(x, at_lower | is_equation, at_upper | is_equation)

    monkeypatch.setattr(quadratic_optimum, "approximate_active_set", answer_by_chance)
    monkeypatch.setattr(quadratic_optimum, "independent_active_set", lambda program, pairs, values: None)
    for program, reference in zip(programs, expected, strict=True):
        optimum = exact_optimum(program)
        assert (optimum.status, optimum.value, optimum.is_proved()) == (reference.status, reference.value, True)


def test_a_direction_without_a_fall_is_no_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """The objective is constant along (1, -1): a linear program may end there, and the optimum exists all the same."""
    answers = [fraction_array(list(map(Fraction, values))) for values in ((0, 0), (1, -1))]
    monkeypatch.setattr(quadratic_optimum, "_best_solution", lambda program, pairs, active: None)
    program, _, value = BY_HAND["many optima"]
    proof = quadratic_optimum.prove_quadratic_optimum(
        program, lambda linear: quadratic_optimum.QuadraticProof(x=answers.pop(0))
    )
    assert not answers and proof.ray is None and proof.x is not None
    assert objective(program, proof.x) == value


@pytest.mark.parametrize("slack", [0.0, 1.0])
def test_rays_of_programs_with_many_rows_are_linear_programs(slack: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last two variables have the same rows of P, and the objective falls along their difference."""

    def refuse_to_pivot(pairs: Any, state: Any) -> Any:
        raise AssertionError("no pivot is needed")

    monkeypatch.setattr(quadratic_optimum, "pivot_to_solution", refuse_to_pivot)
    rng = np.random.default_rng(1)
    n, m = 30, 15
    B, A = (rng.integers(-2, 3, (k, n)) * (rng.random((k, n)) < 0.3).astype(float) for k in (10, m))
    B[:, -1] = B[:, -2]
    A[:, -1] = A[:, -2] + slack * (rng.random(m) < 0.3)
    c = rng.integers(-3, 4, n).astype(float)
    c[-1] = c[-2] - 1
    lower = np.zeros(n)
    lower[-2] = -INF
    sides = A @ rng.integers(0, 3, n) - 1
    program = linear_program(A, c, (sides, np.full(m, INF)), (lower, np.full(n, INF)), P=B.T @ B)
    optimum = exact_optimum(program)
    assert optimum.status == "unbounded" and optimum.is_proved()


class EqualToAll(float):
    """A float that says that it is equal to every number."""

    def __eq__(self, value: object) -> bool:
        return True

    __hash__ = float.__hash__


def test_the_check_refuses_lies() -> None:
    program, _, _ = BY_HAND["a range"]
    optimum = exact_optimum(program)
    assert optimum.x is not None and optimum.y is not None and optimum.value is not None
    lies = {
        "a better value": replace(optimum, value=optimum.value - 1),
        "a feasible point that is not optimal": replace(optimum, x=(Fraction(1, 2),), value=Fraction(1, 8)),
        "multipliers of the opposite sign": replace(optimum, y=tuple(-value for value in optimum.y)),
        "no multipliers": replace(optimum, y=None),
        "infeasible": replace(optimum, status="infeasible"),
        "unbounded": replace(optimum, status="unbounded", value=None, ray=(Fraction(0),)),
        # The conditions hold at x, but -x^2 / 2 is not convex: x = 2/3 is better.
        "an objective that is not convex": replace(
            optimum, program=replace(program, P=-np.eye(1)), y=(Fraction(-1, 9),), value=Fraction(-1, 18)
        ),
    }
    with typechecker.unchecked():
        lies["a value that is no fraction"] = replace(optimum, value=EqualToAll())  # type: ignore[arg-type]
    assert [name for name, lie in lies.items() if lie.is_proved()] == []
    ray, _, _ = BY_HAND["a ray"]
    unbounded = exact_optimum(ray)
    assert unbounded.is_proved()
    assert not replace(unbounded, ray=(Fraction(1), Fraction(1))).is_proved()


@pytest.mark.parametrize(
    "P",
    [
        [[-1.0]],
        [[0.0, 1.0], [1.0, 5.0]],
        [[1.0, 1.0 + 2.0**-40], [1.0 + 2.0**-40, 1.0]],
        [[2.0, -1.0, -1.0], [-1.0, 2.0, -1.0], [-1.0, -1.0, 2.0 - 2.0**-50]],
    ],
)
def test_objectives_that_are_not_convex_are_refused_with_a_direction(P: Any) -> None:
    matrix, n = scipy.sparse.csc_array(np.array(P)), len(P)
    v = negative_direction(matrix, Fraction)
    assert v is not None and curvature(matrix, v, Fraction) < 0
    program = linear_program([], [0.0] * n, ([], []), P=matrix, column_names=[f"part{j}" for j in range(n)])
    with pytest.raises(ProblemError, match=r"\bconvex\b.*\bnegative\b.*<v, P v>.*\bpart\d.*\. Correct"):
        exact_optimum(program)


def decimal(value: float) -> Fraction:
    """Return the shortest decimal of a float."""
    return Fraction(repr(value))


def test_shortest_decimals_of_subnormal_floats_may_be_less_convex_than_the_floats() -> None:
    """1, 12 and 145 times 2^-1074 are 5e-324, 6e-323 and 7.16e-322: 145 > 12^2, but 5 * 716 < 60^2."""
    P = scipy.sparse.csc_array(np.array([[1.0, 12.0], [12.0, 145.0]]) * 5e-324)
    assert negative_direction(P, Fraction) is None
    v = negative_direction(P, decimal)
    assert v is not None and curvature(P, v, decimal) < 0
    program = linear_program([], [0.0, 0.0], ([], []), FREE, P=P)
    assert exact_optimum(program).value == 0
    with pytest.raises(ProblemError, match="negative curvature"):
        exact_optimum(program, numbers="decimal")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("P", "curvature_in_words"),
    [
        ([[-1e308, -1e308], [-1e308, -1e308]], r"about -1\.00e\+308"),
        ([[1e-320, 1e308], [1e308, 1e-320]], r"about -1\.00e\+936"),
        ([[5e-324, 1e300], [1e300, 1e308]], r"about -1e\+292"),
    ],
)
def test_entries_of_all_sizes_are_refused_in_words(P: Any, curvature_in_words: str) -> None:
    program = linear_program([], [0.0, 0.0], ([], []), P=scipy.sparse.csc_array(np.array(P)))
    with pytest.raises(ProblemError, match=curvature_in_words):
        exact_optimum(program)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(0, 2))
def test_convexity_is_decided_as_in_fractions(seed: int, n: int, deficit: int) -> None:
    rng = np.random.default_rng(seed)
    B = rng.integers(-3, 4, (max(1, n - deficit), n)).astype(float)
    P = B.T @ B
    assert negative_direction(scipy.sparse.csc_array(P), Fraction) is None
    P[0, 0] -= 2.0**-30
    v = negative_direction(scipy.sparse.csc_array(P), Fraction)
    minors = [
        fmpq_mat(k, k, [fmpq(*value.as_integer_ratio()) for value in P[:k, :k].ravel()]).det() for k in range(1, n + 1)
    ]
    if all(minor > 0 for minor in minors):
        assert v is None
    if v is not None:
        assert curvature(scipy.sparse.csc_array(P), v, Fraction) < 0
    elif any(minor < 0 for minor in minors):
        raise AssertionError("a matrix with a negative minor was called positive semidefinite")


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 25))
def test_sparse_solutions_are_those_of_dense_systems(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-9, 10, (n, n)) * (rng.random((n, n)) < 0.4) + np.diag(rng.integers(1, 9, n))
    denominators = rng.integers(1, 8, (n, n))
    triples = [
        (i, j, fmpq(int(matrix[i, j]), int(denominators[i, j]))) for i in range(n) for j in range(n) if matrix[i, j]
    ]
    columns: list[dict[int, fmpq]] = [{} for _ in range(n)]
    for i, j, entry in triples:
        columns[j][i] = entry
    b = [fmpq(int(value), 7) for value in rng.integers(-5, 6, n)]
    dense = fmpq_mat(n, n, [columns[j].get(i, fmpq(0)) for i in range(n) for j in range(n)])
    if dense.det() == 0:
        return
    expected = ExactSystem(columns).solve(b)
    system = system_of_whole_numbers(n, triples)
    assert solve_whole_numbers(system, FloatFactors(system), b) == expected


@pytest.mark.parametrize(("exponent", "has_floats"), [(1040, True), (1060, False)])
def test_columns_of_tiny_numbers_are_solved_without_warnings(exponent: int, has_floats: bool) -> None:
    """The power of two that scales such a column was infinite, with a warning."""
    entries = [(0, 0, fmpq(2**exponent)), (0, 1, fmpq(1)), (1, 0, fmpq(1)), (1, 1, fmpq(1, 2**1070))]
    columns: list[dict[int, fmpq]] = [{}, {}]
    for i, j, entry in entries:
        columns[j][i] = entry
    system, b = system_of_whole_numbers(2, entries), [fmpq(1), fmpq(3)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = solve_whole_numbers(system, FloatFactors(system), b)
    assert solution == (ExactSystem(columns).solve(b) if has_floats else None)  # no float is left of the column


def test_fractions_are_restored_from_their_digits() -> None:
    numbers = [Fraction(3, 7), Fraction(-22, 9), Fraction(5), Fraction(0), Fraction(10**9, 10**6 + 3)]
    digits = [round(number * 2**256) for number in numbers]
    fractions = common_fractions(digits, 256)
    assert fractions is not None
    assert [Fraction(int(numerator), int(fractions[1])) for numerator in fractions[0]] == numbers
    assert common_fractions([round(Fraction(1, 3**100) * 2**256)], 256) is None  # too few digits


MAROS_MESZAROS = {"HS35": "1.1111111111e-01", "DUAL4": "7.4609084180e-01", "QADLITTL": "4.8031885854e+05"}
"""Optima as of Maros and Meszaros, without the digits that their table lacks."""


@pytest.mark.parametrize("name", MAROS_MESZAROS)
def test_optima_of_maros_and_meszaros(name: str) -> None:
    optimum = exact_optimum(instance("maros_meszaros", f"{name}.mat"))
    assert optimum.is_proved()
    assert optimum.value is not None and f"{float(optimum.value):.10e}" == MAROS_MESZAROS[name]


def test_values_of_maros_and_meszaros_is_not_convex() -> None:
    with pytest.raises(ProblemError, match="negative curvature"):
        exact_optimum(instance("maros_meszaros", "VALUES.mat"))
