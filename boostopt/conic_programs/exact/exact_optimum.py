"""The exact optimum of a linear program as a fraction, or a proof that it is infeasible or unbounded."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse
from flint import fmpq

from boostopt._utils.validation import check_choice, check_instance
from boostopt.conic_programs.conic_program import ConicProgram, Numbers
from boostopt.conic_programs.exact.basic_solution import BasicSolution, ExactProgram
from boostopt.conic_programs.exact.exact_check import (
    costs_of,
    dual_bound,
    has_crossed_bounds,
    is_feasible,
    is_recession_direction,
    objective,
)
from boostopt.conic_programs.exact.exact_pivots import MAX_PIVOTS, PivotResult, TooManyPivotsError, pivot_to_optimum
from boostopt.conic_programs.exact.exact_system import SingularSystemError
from boostopt.conic_programs.exact.refinement import refine, to_float
from boostopt.conic_programs.exact.simplex_basis import EquationProgram, SimplexBasis, solve_by_simplex
from boostopt.errors import OptionError, SolverFailed

ExactStatus = Literal["optimal", "infeasible", "unbounded"]
"""Proofs of a linear program: of its optimum, or that there is none."""


MAX_WRITTEN_BITS = 4000
"""Largest length of a numerator or denominator that sentences write in digits; Python refuses 4300 digits and more."""


@dataclass(frozen=True, eq=False)
class ExactOptimum:
    """A proof about a linear program in rational numbers.

    Attributes
    ----------
    program
        The program.
    status
        "optimal": x and y satisfy the optimality conditions. "infeasible": y is a Farkas certificate, or two bounds
        exclude each other. "unbounded": x is
        feasible, and ray is a direction in which the objective decreases without a bound.
    value
        The optimal value; None unless the status is "optimal". Of a program that is maximized, the maximum.
    x
        Values of the variables, shape (n,); None for "infeasible".
    y
        Multipliers of the rows, shape (m,): the derivative of the minimum by the right side; None for "unbounded".
    ray
        Shape (n,); None unless the status is "unbounded".
    nucleus_size
        Rows of the dense system that the basis needed.
    """

    program: ConicProgram
    status: ExactStatus
    value: Fraction | None = None
    x: tuple[Fraction, ...] | None = None
    y: tuple[Fraction, ...] | None = None
    ray: tuple[Fraction, ...] | None = None
    nucleus_size: int = 0

    def is_proved(self) -> bool:
        """Return whether every condition of the status holds, in fractions and from the program's numbers alone.

        Values that are no fractions, of another number, or that the status does not have, prove nothing.
        """
        m, n = self.program.shape
        sizes = ((self.x, n), (self.y, m), (self.ray, n))
        if any(values is not None and not _are_fractions(values, size) for values, size in sizes):
            return False
        if self.status not in get_args(ExactStatus) or (self.value is not None) != (self.status == "optimal"):
            return False
        costs, zeros = costs_of(self.program), [Fraction(0)] * self.program.shape[1]
        if self.status == "infeasible":
            bound = None if self.y is None else dual_bound(self.program, self.y, zeros)
            return has_crossed_bounds(self.program) or (bound is not None and bound > 0)
        if self.x is None or not is_feasible(self.program, self.x):
            return False
        if self.status == "unbounded":
            falls = self.ray is not None and sum(c * r for c, r in zip(costs, self.ray, strict=True)) < 0
            return falls and self.ray is not None and is_recession_direction(self.program, self.ray)
        bound = None if self.y is None else dual_bound(self.program, self.y, costs)
        value = objective(self.program, self.x)
        is_attained = bound is not None and bound + self.program.to_fraction(self.program.offset) == value
        return is_attained and self.value == (-value if self.program.is_maximized else value)

    def in_words(self) -> str:
        """Return the proved fact, in a sentence."""
        if self.value is None:
            return f"The linear program is {self.status}: proved in rational numbers."
        size = max(self.value.numerator.bit_length(), self.value.denominator.bit_length())
        exact = str(self.value) if size <= MAX_WRITTEN_BITS else f"a fraction of {size} bits"
        return f"The optimum is exactly {exact}, about {_approximation(self.value)}: proved in rational numbers."


def exact_optimum(program: ConicProgram, numbers: Numbers | None = None) -> ExactOptimum:
    """Return the exact optimum of a linear program, or a proof that it is infeasible or unbounded.

    HiGHS's simplex method proposes a basis, whose solution is computed in rational numbers. Every condition is checked
    in rational numbers; a basis that violates one is refined.

    Parameters
    ----------
    program
        A linear program.
    numbers
        What its floats mean: "binary" (the default) or "decimal"; see `ConicProgram.numbers`. A program whose data were
        rounded to floats may be infeasible though the decimals of its file are not.

    Raises
    ------
    OptionError
        The program has a quadratic objective or rows in cones, or `numbers` is unknown.
    SolverFailed
        No basis that HiGHS ends with could be refined to an exact one.

    References
    ----------
    Gleixner, Steffy, Wolter 2016, "Iterative refinement for linear programming", INFORMS Journal on Computing 28.
    """
    check_instance("program", program, ConicProgram, "a boostopt.ConicProgram", "Call load_problem for a file.")
    if not program.is_linear:
        raise OptionError(
            "exact_optimum must get a linear program; got one with a quadratic objective or rows in cones. Call "
            "certify_problem(program) for a certified interval."
        )
    if numbers is not None:
        program = replace(program, numbers=check_choice("numbers", numbers, ("binary", "decimal")))
    if has_crossed_bounds(program):
        return ExactOptimum(program, "infeasible", y=(Fraction(0),) * program.shape[0])
    equations = _in_equations(program)
    exact = ExactProgram(equations, program.to_fraction)
    n, m = program.shape[1], program.shape[0]
    result = _pivot_from_first_basis(equations, exact)
    size = result.solution.system.nucleus_size
    if result.farkas is not None:
        return ExactOptimum(program, "infeasible", y=_fractions(result.farkas), nucleus_size=size)
    x = _fractions(result.solution.x[:n])
    if result.ray is not None:
        return ExactOptimum(program, "unbounded", x=x, ray=_fractions(result.ray[:n]), nucleus_size=size)
    value = _fraction(exact.value(result.solution.x)) + program.to_fraction(program.offset)
    return ExactOptimum(
        program,
        "optimal",
        value=-value if program.is_maximized else value,
        x=x,
        y=_fractions(result.solution.y[:m]),
        nucleus_size=size,
    )


def _pivot_from_first_basis(program: EquationProgram, exact: ExactProgram) -> PivotResult:
    """Return the end of the simplex method from the first of HiGHS's bases that is not singular."""
    n, m = len(program.c), len(program.b)
    for has_presolve in (True, False):
        basis = solve_by_simplex(program, has_presolve=has_presolve)
        if basis is None:
            continue
        try:
            return pivot_to_optimum(exact, refine(program, exact, basis))
        except (SingularSystemError, TooManyPivotsError):
            continue
    try:
        return pivot_to_optimum(exact, BasicSolution(exact, SimplexBasis(tuple(range(n, n + m)))))
    except TooManyPivotsError:
        raise SolverFailed(
            f"a basis of the {m} x {n} program was expected that {MAX_PIVOTS} pivots make optimal; HiGHS ended with "
            "none. Call certify_problem(program) for an interval."
        ) from None


def _in_equations(program: ConicProgram) -> EquationProgram:
    """Return the program with a variable for each row that is no equation: A x - s = 0 with bounds on s."""
    is_equation = program.row_lower == program.row_upper
    m, inequalities = program.shape[0], np.flatnonzero(~is_equation)
    n_slacks = len(inequalities)
    places = inequalities, np.arange(n_slacks)
    slacks = scipy.sparse.csc_array((-np.ones(n_slacks), places), shape=(m, n_slacks))
    return EquationProgram(
        A=scipy.sparse.csc_array(scipy.sparse.hstack([program.A, slacks])),
        b=np.where(is_equation, program.row_lower, 0.0),
        c=np.concatenate([program.c, np.zeros(n_slacks)]),
        lower=np.concatenate([program.lower, program.row_lower[inequalities]]),
        upper=np.concatenate([program.upper, program.row_upper[inequalities]]),
    )


def _are_fractions(values: Any, size: int) -> bool:
    return isinstance(values, tuple) and len(values) == size and all(type(value) is Fraction for value in values)


def _approximation(value: Fraction) -> str:
    """Return the nearest float; of a larger number, a power of 2 within a factor of 2."""
    nearest = to_float(fmpq(value.numerator, value.denominator))
    if math.isfinite(nearest):
        return repr(nearest)
    exponent = abs(value.numerator).bit_length() - value.denominator.bit_length()
    return f"{'-' if value < 0 else ''}2^{exponent}"


def _fractions(values: list[fmpq]) -> tuple[Fraction, ...]:
    return tuple(map(_fraction, values))


def _fraction(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))
