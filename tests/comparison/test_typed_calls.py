"""Calls that type checkers accept and refuse: programs have forms, and CVXPY problems have functions as solvers.

Pyright reads this file. An ignored error that does not occur is an error, so that the refusals are checked, too.
"""

from __future__ import annotations

from typing import Any, assert_type

import cvxpy as cp
import numpy as np
import pytest
import typechecker

from boostopt import OptionError
from boostopt.comparison import Benchmark, Comparison, ConeSolver, benchmark, compare
from boostopt.programs.formulation_catalogue import get_formulation
from boostopt.programs.program import Program


def small_program() -> Program:
    return get_formulation("lpboost").bind(np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]]), nu=1)


def small_problem() -> cp.Problem:
    x: Any = cp.Variable()
    return cp.Problem(cp.Minimize(x), [x >= 1])


def mine(problem: Any) -> Any:
    return {problem.variables()[0]: 1.0}


def guess(data: Any) -> Any:
    return np.ones(1), np.ones(1)


def test_programs_take_forms() -> None:
    assert_type(compare(small_program(), "cvxpy:clarabel", forms=["dual"]), Comparison)
    assert_type(benchmark([small_program()], "highs", 1e-3, repeats=1, time_limit=None), Benchmark)


def test_problems_take_functions() -> None:
    assert_type(compare(small_problem(), ["clarabel", mine, ConeSolver(guess)], threads=1), Comparison)
    assert_type(benchmark({"mine": small_problem()}, mine, 1e-3, repeats=1), Benchmark)


def test_problems_have_no_forms_and_programs_no_functions() -> None:
    with typechecker.unchecked(), pytest.raises(OptionError, match="forms"):
        compare(small_problem(), forms=["dual"])  # pyright: ignore[reportCallIssue, reportArgumentType]
    with typechecker.unchecked(), pytest.raises(OptionError):
        compare(small_program(), mine)  # pyright: ignore[reportCallIssue, reportArgumentType]
    with typechecker.unchecked(), pytest.raises(OptionError, match="forms"):
        benchmark(small_problem(), "clarabel", 1e-3, 1, forms=["dual"])  # pyright: ignore[reportCallIssue, reportArgumentType]
