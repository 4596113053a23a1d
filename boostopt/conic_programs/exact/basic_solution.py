"""The exact solution of a basis: values, multipliers and reduced costs as rational numbers, and what they violate."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from flint import fmpq

from boostopt.conic_programs.exact.dixon_lifting import ExactSystem, SingularSystemError
from boostopt.conic_programs.exact.rationals import to_fmpq
from boostopt.conic_programs.exact.simplex_basis import EquationProgram, SimplexBasis


class ExactProgram:
    """The numbers of a program in equations as rational numbers, with a logical variable for each equation.

    Variable n + i is b_i - <a_i, x>. Its bounds and its cost are 0.

    Parameters
    ----------
    program
        The program.
    to_fraction
        The rational number that a float means.

    Attributes
    ----------
    columns
        Pairs (row, entry) of the column of each of the n + m variables.
    b
        Right sides, shape (m,).
    c
        Costs, shape (n + m,).
    lower, upper
        Bounds, shape (n + m,); None where there is none.
    """

    def __init__(self, program: EquationProgram, to_fraction: Callable[[float], Fraction] = Fraction) -> None:
        def to_rational(value: float) -> fmpq:
            return to_fmpq(to_fraction(value))

        def to_bounds(values: Sequence[float]) -> list[fmpq | None]:
            return [to_rational(value) if math.isfinite(value) else None for value in values]

        A, m = program.A, len(program.b)
        pairs = list(zip(A.indices.tolist(), [to_rational(value) for value in A.data.tolist()], strict=True))
        zeros: list[fmpq] = [fmpq(0)] * m
        self.columns: list[list[tuple[int, fmpq]]] = [
            *(pairs[start:end] for start, end in itertools.pairwise(A.indptr.tolist())),
            *([(i, fmpq(1))] for i in range(m)),
        ]
        self.b: list[fmpq] = [to_rational(value) for value in program.b.tolist()]
        self.c: list[fmpq] = [*(to_rational(value) for value in program.c.tolist()), *zeros]
        self.lower: list[fmpq | None] = [*to_bounds(program.lower.tolist()), *zeros]
        self.upper: list[fmpq | None] = [*to_bounds(program.upper.tolist()), *zeros]

    def residuals(self, x: Sequence[fmpq]) -> list[fmpq]:
        """Return b less the columns times x, over the variables that x has."""
        residuals = list(self.b)
        for value, column in zip(x, self.columns, strict=False):
            if value != 0:
                for i, entry in column:
                    residuals[i] -= entry * value
        return residuals

    def row_of(self, rho: Sequence[fmpq]) -> list[fmpq]:
        """Return <rho, column> for each variable."""
        return [sum((rho[i] * entry for i, entry in column if rho[i] != 0), fmpq(0)) for column in self.columns]

    def value(self, x: Sequence[fmpq]) -> fmpq:
        """Return <c, x>."""
        return sum((cost * value for cost, value in zip(self.c, x, strict=True) if value != 0), fmpq(0))

    def violation(self, j: int, value: fmpq) -> fmpq:
        """Return by how much a value of variable j lies below (negative) or above (positive) its bounds, or 0."""
        lower, upper = self.lower[j], self.upper[j]
        if lower is not None and value < lower:
            return value - lower
        return value - upper if upper is not None and value > upper else fmpq(0)

    def is_fixed(self, j: int) -> bool:
        """Whether the bounds of variable j are equal."""
        return self.lower[j] is not None and self.lower[j] == self.upper[j]


class BasicSolution:
    """The exact solution of a basis.

    Attributes
    ----------
    basis
        The basis.
    system
        The system of its columns.
    x
        Values of the n + m variables.
    y
        Multipliers of the equations.
    reduced_costs
        c less the columns times y.
    primal_violation
        Largest violation of a bound; of a logical variable: largest residual of an equation.
    dual_violation
        Largest reduced cost of the wrong sign.

    Raises
    ------
    SingularSystemError
        The basic columns are linearly dependent.
    """

    def __init__(self, program: ExactProgram, basis: SimplexBasis, costs: Sequence[fmpq] | None = None) -> None:
        c = program.c if costs is None else costs
        if len(basis.basic) != len(program.b):
            raise SingularSystemError(f"{len(basis.basic)} basic variables for {len(program.b)} equations")
        self.basis: SimplexBasis = basis
        self.system: ExactSystem = ExactSystem([dict(program.columns[j]) for j in basis.basic])
        self.x: list[fmpq] = [_nonbasic_value(program, j, j in basis.at_upper) for j in range(len(program.c))]
        for j in basis.basic:
            self.x[j] = fmpq(0)
        for j, value in zip(basis.basic, self.system.solve(program.residuals(self.x)), strict=True):
            self.x[j] = value
        self.y: list[fmpq] = self.system.solve_transposed([c[j] for j in basis.basic])
        self.reduced_costs: list[fmpq] = [cost - part for cost, part in zip(c, program.row_of(self.y), strict=True)]
        self._program = program
        self.primal_violation: fmpq = max((abs(program.violation(j, self.x[j])) for j in basis.basic), default=fmpq(0))
        self.dual_violation: fmpq = max(map(self.dual_violation_of, range(len(c))), default=fmpq(0))

    def dual_violation_of(self, j: int) -> fmpq:
        """Return the size of the reduced cost of variable j if its sign is wrong, else 0.

        A reduced cost may be positive at a lower bound and negative at an upper bound; between them it must be 0.
        """
        cost = self.reduced_costs[j]
        bound = self._program.lower[j] if cost > 0 else self._program.upper[j]
        return fmpq(0) if cost == 0 or self.x[j] == bound else abs(cost)

    @property
    def is_optimal(self) -> bool:
        """Whether the solution satisfies all conditions exactly."""
        return self.primal_violation == 0 and self.dual_violation == 0


def _nonbasic_value(program: ExactProgram, j: int, is_at_upper: bool) -> fmpq:
    lower, upper = program.lower[j], program.upper[j]
    if is_at_upper and upper is not None:
        return upper
    if lower is not None:
        return lower
    return upper if upper is not None else fmpq(0)
