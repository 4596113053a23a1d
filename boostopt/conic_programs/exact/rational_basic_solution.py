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
from boostopt.conic_programs.exact.rational_arrays import RationalArray, fmpq_array, rational_array, rational_matrix
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
    lower, upper
        Bounds, shape (n + m,); None where there is none.
    nonbasic_values
        Values of the variables at their lower bounds, or at the upper ones where there are no lower ones; else 0.
    """

    def __init__(
        self, program: EquationProgram, numbers: Numbers = "binary", costs: RationalArray | None = None
    ) -> None:
        A, m = program.A, len(program.b)
        self._matrix = rational_matrix(A, numbers)
        self._rationals = FloatRationals(numbers)
        zeros: list[fmpq] = [ZERO] * m
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
        self.lower: list[fmpq | None] = [*self._rationals.bound_numbers(program.lower), *zeros]
        self.upper: list[fmpq | None] = [*self._rationals.bound_numbers(program.upper), *zeros]
        self.nonbasic_values: list[fmpq] = [*self._rationals.array_numbers(nonbasic_floats(program)), *zeros]

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
        part = slice(self._pointers[j], self._pointers[j + 1])
        return dict(zip(self._places[part], map(self._rationals.__getitem__, self._entries[part]), strict=True))

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
    reduced_cost_array
        The costs less the columns times y, with a common denominator.
    primal_violation
        Largest violation of a bound; of a logical variable: largest residual of an equation.
    dual_violation
        Largest reduced cost of the wrong sign.

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
        cost_array = program.cost_array if costs is None else fmpq_array(costs)
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
        basic_costs = cost_array.selected(np.array(basis.basic, dtype=int)).fmpqs()
        self.y: list[fmpq] = self.system.solve_transposed(basic_costs, n_digits)
        self.y_array: RationalArray = fmpq_array(self.y)
        self.reduced_cost_array: RationalArray = cost_array.less(program.products(self.y_array))
        self._program = program
        self.primal_violation: fmpq = program.largest_violation(basis.basic, self.x)
        numerators = self.reduced_cost_array.numerators
        costs_not_0 = zip(np.flatnonzero(numerators).tolist(), numerators[numerators != 0].tolist(), strict=True)
        largest = max((abs(cost) for j, cost in costs_not_0 if self._is_wrong(j, cost)), default=0)
        self.dual_violation: fmpq = fmpq(largest, self.reduced_cost_array.denominator)
        if n_digits is not None:
            tolerance = fmpq(1, 2 ** (n_digits // 2))
            self.primal_violation = self.primal_violation if self.primal_violation > tolerance else fmpq(0)
            self.dual_violation = self.dual_violation if self.dual_violation > tolerance else fmpq(0)

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
