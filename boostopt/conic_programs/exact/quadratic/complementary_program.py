"""The optimality conditions of a quadratic program as linear equations with complementary pairs, in rational numbers.

    P x + c - Aᵀ y - z = 0     and     A x - s = 0

Pair j < n is (x_j, z_j), and pair n + i is (s_i, y_i). The first number of a pair lies between bounds. The second one
is 0 between them, at least 0 at the lower bound and at most 0 at the upper one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from flint import fmpq

from boostopt.conic_programs.conic_program import ConicProgram
from boostopt.conic_programs.exact.dixon_lifting import ExactSystem
from boostopt.conic_programs.exact.quadratic.approximate_optimum import bounds_of_pairs
from boostopt.conic_programs.exact.rationals import FloatRationals

Column = dict[int, fmpq]


class ComplementaryProgram:
    """The columns, right sides and bounds of the pairs.

    Attributes
    ----------
    n, m
        Numbers of variables and of rows.
    first_columns, second_columns
        The columns of the first and of the second number of each pair: of x and s, and of z and y.
    right_side
        Shape (n + m,).
    lower, upper
        Bounds of the first numbers; None where there is none.
    """

    def __init__(self, program: ConicProgram) -> None:
        rationals = FloatRationals(program.numbers)
        m, n = program.shape
        self.n, self.m = n, m
        x_columns: list[Column] = [{} for _ in range(n)]
        y_columns: list[Column] = [{} for _ in range(m)]
        if program.P is not None:
            P = program.P.tocoo()
            for i, j, number in zip(P.row.tolist(), P.col.tolist(), rationals.array_numbers(P.data), strict=True):
                x_columns[j][i] = number
        A = program.A.tocoo()
        for i, j, number in zip(A.row.tolist(), A.col.tolist(), rationals.array_numbers(A.data), strict=True):
            x_columns[j][n + i] = number
            y_columns[i][j] = -number
        units: list[Column] = [{k: fmpq(-1)} for k in range(n + m)]
        self.first_columns: list[Column] = [*x_columns, *units[n:]]
        self.second_columns: list[Column] = [*units[:n], *y_columns]
        self.right_side: list[fmpq] = [*rationals.array_numbers(-program.c), *[fmpq(0)] * m]
        lower, upper = bounds_of_pairs(program)
        self.lower: list[fmpq | None] = rationals.bound_numbers(lower)
        self.upper: list[fmpq | None] = rationals.bound_numbers(upper)

    def is_fixed(self, k: int) -> bool:
        """Return whether the bounds of pair k are equal."""
        return self.lower[k] is not None and self.lower[k] == self.upper[k]


@dataclass(frozen=True)
class PairState:
    """The value, for each pair, at which its first number is held, or None where the second one is 0."""

    values: tuple[fmpq | None, ...]

    def with_pair(self, k: int, value: fmpq | None) -> PairState:
        """Return the state with another value of one pair."""
        return replace(self, values=(*self.values[:k], value, *self.values[k + 1 :]))


class ComplementarySolution:
    """The exact solution of a state: in each pair one number is known and the other one follows.

    Attributes
    ----------
    state
        The state.
    numbers
        The numbers of the pairs that follow: the second ones where the state has values, else the first ones.
    first, second
        The first and second numbers of all pairs.
    n_violations
        Number of the pairs whose condition is violated.

    Raises
    ------
    SingularSystemError
        The columns of the numbers that follow are linearly dependent.
    """

    def __init__(self, program: ComplementaryProgram, state: PairState) -> None:
        self.state: PairState = state
        self._program = program
        remainder = list(program.right_side)
        columns = list[Column]()
        for value, first, second in zip(state.values, program.first_columns, program.second_columns, strict=True):
            columns.append(first if value is None else second)
            if value is not None and value != 0:
                for i, entry in first.items():
                    remainder[i] -= entry * value
        self._system = ExactSystem(columns)
        self.numbers: list[fmpq] = self._system.solve(remainder)
        pairs = list(zip(state.values, self.numbers, strict=True))
        self.first: list[fmpq] = [number if value is None else value for value, number in pairs]
        self.second: list[fmpq] = [fmpq(0) if value is None else number for value, number in pairs]

        self.n_violations: int = sum(self.violation(k) != 0 for k in range(len(pairs)))

    def changes(self, k: int, step: int) -> list[fmpq]:
        """Return the changes of the numbers that follow for each unit by which the known number of pair k moves."""
        columns = self._program.first_columns if self.state.values[k] is not None else self._program.second_columns
        right_side = [fmpq(0)] * len(self.numbers)
        for i, entry in columns[k].items():
            right_side[i] = -step * entry
        return self._system.solve(right_side)

    def violation(self, k: int) -> fmpq:
        """Return by how much the number of pair k that follows violates its condition, with its sign, or 0."""
        program, number, value = self._program, self.numbers[k], self.state.values[k]
        lower, upper = program.lower[k], program.upper[k]
        if value is None:
            if lower is not None and number < lower:
                return number - lower
            return number - upper if upper is not None and number > upper else fmpq(0)
        if program.is_fixed(k) or (value == lower and number > 0) or (value == upper and number < 0):
            return fmpq(0)
        return number


def rational_vector(values: Sequence[float]) -> list[fmpq]:
    """Return floats as rational numbers; the largest float stands for infinite ones, which are only proposals."""
    finite = np.nan_to_num(np.asarray(values, dtype=float))
    return [fmpq(*value.as_integer_ratio()) for value in finite.tolist()]
