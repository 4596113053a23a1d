"""The exact solution of a basis: values, multipliers and reduced costs as rational numbers, and what they violate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
from flint import fmpq

from boostopt._utils.array_types import Array, Float
from boostopt.conic_programs.conic_program import Numbers
from boostopt.conic_programs.exact.dixon_lifting import ZERO, ExactSystem, SingularSystemError
from boostopt.conic_programs.exact.highs_simplex import EquationProgram, SimplexBasis
from boostopt.conic_programs.exact.rational_arrays import (
    RationalArray,
    RationalMatrix,
    fmpq_array,
    rational_array,
    rational_matrix,
)
from boostopt.conic_programs.exact.rationals import FloatRationals


class ExactProgram:
    """The numbers of a program in equations as rational numbers, with a logical variable for each equation.

    Variable n + i is b_i - <a_i, x>. Its bounds and its cost are 0.

    Parameters
    ----------
    program
        The program.
    numbers
        The meaning of its floats.
    costs
        Exact costs of the first variables, in place of those of the program, whose others are 0.

    Attributes
    ----------
    b
        Right sides, shape (m,).
    cost_array
        Costs with a common denominator, shape (n + m,).
    nonbasic_values
        Values of the variables at their lower bounds, or at the upper ones where there are no lower ones; else 0.
    """

    def __init__(
        self, program: EquationProgram, numbers: Numbers = "binary", costs: RationalArray | None = None
    ) -> None:
        A, m = program.A, len(program.b)
        self._program = program
        self._numbers: Numbers = numbers
        self._rationals = FloatRationals(numbers)
        self._zeros: list[fmpq] = [ZERO] * m
        self._n: int = A.shape[1]
        self._pointers: list[int] = A.indptr.tolist()
        self._places: list[int] = A.indices.tolist()
        self._entries: list[float] = A.data.tolist()
        costs = rational_array(program.c, numbers) if costs is None else costs
        n_others = self._n + m - len(costs)
        self.cost_array = RationalArray(
            np.concatenate([costs.numerators, np.zeros(n_others, dtype=object)]), costs.denominator
        )
        self.b: list[fmpq] = self._rationals.array_numbers(program.b)
        self.nonbasic_values: list[fmpq] = [*self._rationals.array_numbers(nonbasic_floats(program)), *self._zeros]

    @cached_property
    def lower(self) -> list[fmpq | None]:
        """Lower bounds, shape (n + m,); None where there is none."""
        return [*self._rationals.bound_numbers(self._program.lower), *self._zeros]

    @cached_property
    def upper(self) -> list[fmpq | None]:
        """Upper bounds, shape (n + m,); None where there is none."""
        return [*self._rationals.bound_numbers(self._program.upper), *self._zeros]

    @cached_property
    def _matrix(self) -> RationalMatrix:
        return rational_matrix(self._program.A, self._numbers)

    @cached_property
    def c(self) -> list[fmpq]:
        """Costs, shape (n + m,)."""
        return self.cost_array.fmpqs()

    def residuals(self, x: Sequence[fmpq]) -> list[fmpq]:
        """Return b less the columns times x, over the variables that x has."""
        residuals = list(self.b)
        for j, value in enumerate(x):
            if value:
                for i, entry in self.column(j).items():
                    residuals[i] -= entry * value
        return residuals

    def column(self, j: int) -> dict[int, fmpq]:
        """Return the entries of the column of a variable by their rows."""
        if j >= self._n:
            return {j - self._n: fmpq(1)}
        places, entries, rationals = self._places, self._entries, self._rationals
        return {places[k]: rationals[entries[k]] for k in range(self._pointers[j], self._pointers[j + 1])}

    def products(self, rho: RationalArray) -> RationalArray:
        """Return <rho, column> for each variable."""
        values = self._matrix.products(rho)
        scale = self._matrix.entries.denominator
        return RationalArray(np.concatenate([values.numerators, rho.numerators * scale]), values.denominator)

    def row_of(self, rho: Sequence[fmpq]) -> list[fmpq]:
        """Return <rho, column> for each variable."""
        return self.products(fmpq_array(rho)).fmpqs()

    def value(self, x: Sequence[fmpq]) -> fmpq:
        """Return <c, x>."""
        return sum((cost * value for cost, value in zip(self.c, x, strict=True) if value != 0), fmpq(0))

    def violation(self, j: int, value: fmpq) -> fmpq:
        """Return by how much a value of variable j lies below (negative) or above (positive) its bounds, or 0."""
        lower, upper = self.lower[j], self.upper[j]
        if lower is not None and value < lower:
            return value - lower
        return value - upper if upper is not None and value > upper else ZERO

    def largest_violation(self, variables: Iterable[int], x: Sequence[fmpq]) -> fmpq:
        """Return the largest size of the violations of some variables at a point, or 0."""
        largest = ZERO
        for j in variables:
            value, lower, upper = x[j], self.lower[j], self.upper[j]
            if (lower is not None and value < lower) or (upper is not None and value > upper):
                largest = max(largest, abs(self.violation(j, value)))
        return largest

    def is_fixed(self, j: int) -> bool:
        """Return whether the bounds of variable j are equal."""
        return self.lower[j] is not None and self.lower[j] == self.upper[j]


class BasicSolution:
    """The exact solution of a basis, or an approximation of it, of which nothing is believed.

    Parameters
    ----------
    program
        The program.
    basis
        The basis.
    costs
        Costs of the n + m variables; None for those of the program.
    n_digits
        Number of binary digits after the point of an approximation, in which violations below half of them are none.
        None for the exact solution.
    system
        That of the columns of the basis; None to state it.

    Attributes
    ----------
    basis
        The basis.
    system
        The system of its columns.
    is_exact
        Whether it is no approximation.
    x
        Values of the n + m variables.
    y, y_array
        Multipliers of the equations, and the same with a common denominator.

    Raises
    ------
    SingularSystemError
        The basic columns are linearly dependent.
    """

    def __init__(
        self,
        program: ExactProgram,
        basis: SimplexBasis,
        costs: Sequence[fmpq] | None = None,
        n_digits: int | None = None,
        system: ExactSystem | None = None,
    ) -> None:
        self._program, self._n_digits = program, n_digits
        self._costs: RationalArray = program.cost_array if costs is None else fmpq_array(costs)
        self.basis: SimplexBasis = basis
        self.system: ExactSystem = basis_system(program, basis) if system is None else system
        self.is_exact: bool = n_digits is None
        self.x: list[fmpq] = list(program.nonbasic_values)
        for j in basis.at_upper:
            upper = program.upper[j]
            self.x[j] = self.x[j] if upper is None else upper
        for j in basis.basic:
            self.x[j] = ZERO
        for j, value in zip(basis.basic, self.system.solve(program.residuals(self.x), n_digits), strict=True):
            self.x[j] = value
        basic_costs = self._costs.selected(np.array(basis.basic, dtype=int)).fmpqs()
        self.y: list[fmpq] = self.system.solve_transposed(basic_costs, n_digits)
        self.y_array: RationalArray = fmpq_array(self.y)

    @cached_property
    def reduced_cost_array(self) -> RationalArray:
        """The costs less the columns times y, with a common denominator."""
        return self._costs.less(self._program.products(self.y_array))

    @cached_property
    def primal_violation(self) -> fmpq:
        """Largest violation of a bound; of a logical variable: largest residual of an equation."""
        return self._not_rounding(self._program.largest_violation(self.basis.basic, self.x))

    @cached_property
    def dual_violation(self) -> fmpq:
        """Largest reduced cost of the wrong sign."""
        numerators = self.reduced_cost_array.numerators
        costs_not_0 = zip(np.flatnonzero(numerators).tolist(), numerators[numerators != 0].tolist(), strict=True)
        largest = max((abs(cost) for j, cost in costs_not_0 if self._is_wrong(j, cost)), default=0)
        return self._not_rounding(fmpq(largest, self.reduced_cost_array.denominator))

    def _not_rounding(self, violation: fmpq) -> fmpq:
        """Return a violation, or 0 for a small one of an approximation."""
        is_none = self._n_digits is not None and violation <= fmpq(1, 2 ** (self._n_digits // 2))
        return ZERO if is_none else violation

    @cached_property
    def reduced_costs(self) -> list[fmpq]:
        """The costs less the columns times y."""
        return self.reduced_cost_array.fmpqs()

    def dual_violation_of(self, j: int) -> fmpq:
        """Return the size of the reduced cost of variable j if its sign is wrong, else 0.

        A reduced cost may be positive at a lower bound and negative at an upper bound; between them it must be 0.
        """
        cost = self.reduced_cost_array.numerators[j]
        return abs(self.reduced_costs[j]) if cost and self._is_wrong(j, cost) else fmpq(0)

    def _is_wrong(self, j: int, sign: int) -> bool:
        """Return whether variable j is not at the bound that a reduced cost of a sign needs."""
        bound, value = self._program.lower[j] if sign > 0 else self._program.upper[j], self.x[j]
        return bound is None or (value is not bound and value != bound)  # most nonbasic variables are the bound itself

    @property
    def is_optimal(self) -> bool:
        """True if the solution satisfies all conditions exactly."""
        return self.primal_violation == 0 and self.dual_violation == 0


def nonbasic_floats(program: EquationProgram) -> Float[Array, " n"]:
    """Return the lower bounds of the variables, or the upper ones where there are no lower ones; else 0."""
    upper = np.where(np.isfinite(program.upper), program.upper, 0.0)
    return np.where(np.isfinite(program.lower), program.lower, upper)


def basis_system(program: ExactProgram, basis: SimplexBasis) -> ExactSystem:
    """Return the system of the columns of a basis.

    Raises
    ------
    SingularSystemError
        The basic columns are linearly dependent.
    """
    if len(basis.basic) != len(program.b):
        raise SingularSystemError(f"{len(basis.basic)} basic variables for {len(program.b)} equations")
    return ExactSystem([program.column(j) for j in basis.basic])
