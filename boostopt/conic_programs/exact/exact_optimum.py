"""The exact optimum of a linear or convex quadratic program as a fraction, or a proof that it has none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from os import PathLike
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse
from flint import fmpq

from boostopt._utils.array_types import Array, Float
from boostopt._utils.validation import check_choice, check_instance
from boostopt.conic_programs.conic_program import ConicProgram, Numbers
from boostopt.conic_programs.exact.basis_refinement import refine, to_float
from boostopt.conic_programs.exact.dixon_lifting import SingularSystemError
from boostopt.conic_programs.exact.exact_pivots import MAX_PIVOTS, PivotResult, TooManyPivotsError, pivot_to_optimum
from boostopt.conic_programs.exact.highs_simplex import EquationProgram, SimplexBasis, solve_by_simplex
from boostopt.conic_programs.exact.infeasibility_reason import contradiction_in_words, min_side_change
from boostopt.conic_programs.exact.optimality_check import (
    has_crossed_bounds,
    is_proof,
    objective,
)
from boostopt.conic_programs.exact.quadratic.approximate_optimum import ActiveSet
from boostopt.conic_programs.exact.quadratic.quadratic_optimum import QuadraticProof, prove_quadratic_optimum
from boostopt.conic_programs.exact.rational_arrays import (
    MANTISSA_BITS,
    RationalArray,
    fmpq_array,
    fraction_array,
    rational_array,
    zero_array,
)
from boostopt.conic_programs.exact.rational_basic_solution import BasicSolution, ExactProgram, basis_system
from boostopt.conic_programs.exact.rationals import to_fmpq
from boostopt.conic_programs.exact.work_limit import TooMuchWorkError, work_limit
from boostopt.errors import OptionError, SolverFailed

ExactStatus = Literal["optimal", "infeasible", "unbounded"]
"""Proofs of a program: of its optimum, or that there is none."""


FEW_REFINEMENTS = 6
"""Largest number of refinements of a basis where another proof follows if it fails."""

MAX_PLAIN_ENTRIES = 30_000
"""Number of entries up to which HiGHS solves a program without presolve first."""

MAX_RAY_DIGITS = 500_000
"""Number of binary digits up to which an exact ray of the dual is computed: some milliseconds."""

MAX_WRITTEN_BITS = 4000
"""Largest length of a numerator or denominator that sentences write in digits; Python refuses 4300 digits and more."""


@dataclass(frozen=True, eq=False)
class ExactOptimum:
    """A proof about a linear or convex quadratic program in rational numbers.

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
        Rows of the system that the basis of a linear program needed; 0 for a quadratic one.
    """

    program: ConicProgram
    status: ExactStatus
    value: Fraction | None = None
    x: tuple[Fraction, ...] | None = None
    y: tuple[Fraction, ...] | None = None
    ray: tuple[Fraction, ...] | None = None
    nucleus_size: int = 0

    def __repr__(self) -> str:
        value = "" if self.value is None else f", value≈{_approximation(self.value)}"
        return f"ExactOptimum({self.program!r}, status={self.status!r}{value})"

    def is_proved(self) -> bool:
        """Return whether every condition of the status holds, in fractions and from the program's numbers alone.

        Values that are no fractions, of another number, or that the status does not have, prove nothing.
        """
        m, n = self.program.shape
        sizes = ((self.x, n), (self.y, m), (self.ray, n))
        if any(values is not None and not _are_fractions(values, size) for values, size in sizes):
            return False
        expected_type = Fraction if self.status == "optimal" else type(None)
        if self.status not in get_args(ExactStatus) or type(self.value) is not expected_type:
            return False
        if self.program.cones:
            return False
        x, y, ray = (None if values is None else fraction_array(values) for values in (self.x, self.y, self.ray))
        if not is_proof(self.program, self.status, x, y, ray):
            return False
        if self.status != "optimal" or x is None:
            return True
        value = objective(self.program, x)
        return self.value == (-value if self.program.is_maximized else value)

    def save(
        self,
        path: str | PathLike[str],
        origin: Mapping[str, Any] | None = None,
        data: str | PathLike[str] | None = None,
    ) -> None:
        """Save the program and the proof, so that others can verify it in fractions and without a solver.

        `boostopt.verification.verify` checks the file.

        Parameters
        ----------
        path
            The file. It is written under another name first and then renamed.
        origin
            Information for readers of the file: names with texts and numbers.
        data
            A file of its own for the program, in the folder of `path` or below. Then the certificate holds the relative
            path of this file and its digest. Several certificates of one program may share it. By default, the
            certificate holds the program.

        Raises
        ------
        ProblemError
            A condition of the status does not hold, the file would be too large, or the checker needs too long to prove
            a quadratic objective convex. Then no file is written. Or `data` is a file with other content, or lies in
            another folder.
        DataError
            The file cannot be written.
        """
        from boostopt.verification.conic_files.conic_writer import save_exact_quadratic_optimum
        from boostopt.verification.linear_files.linear_writer import save_exact_optimum

        save = save_exact_optimum if self.program.is_linear else save_exact_quadratic_optimum
        save(self, path, origin, data)

    def in_words(self) -> str:
        """Return the proved fact, in a sentence; for "infeasible" also which rows, and by how much.

        A contradiction of the size of rounding errors may come from the decimals of a file, which floats have rounded.
        """
        kind = "linear" if self.program.is_linear else "quadratic"
        if self.status == "infeasible":
            contradiction = contradiction_in_words(self.program, self.y)
            return f"The {kind} program is infeasible: proved in rational numbers. {contradiction}"
        if self.value is None:
            return f"The {kind} program is {self.status}: proved in rational numbers."
        size = max(self.value.numerator.bit_length(), self.value.denominator.bit_length())
        exact = str(self.value) if size <= MAX_WRITTEN_BITS else f"a fraction of {size} bits"
        is_exact_float = self.value.denominator == 1 and size <= MANTISSA_BITS
        approximation = "" if is_exact_float else f", about {_approximation(self.value)}"
        return f"The optimum is exactly {exact}{approximation}: proved in rational numbers."

    @property
    def min_side_change(self) -> Fraction | None:
        """A number below which no sum of changes of sides and bounds makes a point feasible.

        None unless the status is "infeasible" and y or crossed bounds prove it.
        """
        return min_side_change(self.program, self.y) if self.status == "infeasible" else None


def exact_optimum(program: ConicProgram, numbers: Numbers | None = None) -> ExactOptimum:
    """Return the exact optimum of a linear or convex quadratic program, or a proof that it has none.

    HiGHS's simplex method proposes a basis, or Clarabel an active set. Its solution is computed in rational numbers,
    and every condition is checked in rational numbers. A basis that violates one is refined; an active set is changed
    by pivots of the criss-cross method. Of a quadratic objective it is proved that it is convex.

    Parameters
    ----------
    program
        A program without rows in cones.
    numbers
        The meaning of its floats: "binary" (the default) or "decimal"; see `ConicProgram.numbers`. A program whose data
        were rounded to floats may be infeasible though the decimals of its file are not.

    Raises
    ------
    OptionError
        The program has rows in cones, or `numbers` is unknown.
    ProblemError
        The quadratic objective is not convex; the message has a direction of negative curvature.
    SolverFailed
        No basis that HiGHS ends with could be refined to an exact one, or no active set could be made optimal.

    References
    ----------
    Gleixner, Steffy, Wolter 2016, "Iterative refinement for linear programming", INFORMS Journal on Computing 28.

    den Hertog, Roos, Terlaky 1993, "The linear complementarity problem, sufficient matrices, and the criss-cross
    method", Linear Algebra and its Applications 187.
    """
    check_instance("program", program, ConicProgram, "a boostopt.ConicProgram", "Call load_problem for a file.")
    if program.cones:
        raise OptionError(
            "exact_optimum must get a linear or quadratic program; got one with rows in cones. Call "
            "certify_problem(program) for a certified interval."
        )
    if numbers is not None:
        program = replace(program, numbers=check_choice("numbers", numbers, ("binary", "decimal")))
    return exact_optimum_of(program, prove_in_rationals(program))


def exact_optimum_of(program: ConicProgram, proof: RationalProof) -> ExactOptimum:
    """Return the exact optimum of a program that a proof states, in fractions."""
    value = None
    if proof.status == "optimal" and proof.x is not None:
        value = objective(program, proof.x)
        value = -value if program.is_maximized else value
    x, y, ray = (None if part is None else tuple(part.fractions()) for part in (proof.x, proof.y, proof.ray))
    return ExactOptimum(program, proof.status, value, x, y, ray, proof.nucleus_size)


@dataclass(frozen=True, eq=False)
class RationalProof:
    """The values of an `ExactOptimum`, in rational numbers with common denominators."""

    status: ExactStatus
    x: RationalArray | None = None
    y: RationalArray | None = None
    ray: RationalArray | None = None
    nucleus_size: int = 0


def prove_in_rationals(program: ConicProgram, active: ActiveSet | None = None) -> RationalProof:
    """Return the proof of `exact_optimum`.

    Parameters
    ----------
    program
        A program without cones.
    active
        As of `prove_quadratic_optimum`.

    Raises
    ------
    ProblemError, SolverFailed
        As by `exact_optimum`.
    """
    if has_crossed_bounds(program):
        return RationalProof("infeasible", y=zero_array(program.shape[0]))
    if program.P is not None:
        return _of_quadratic(program, active)
    equations = _in_equations(program)
    return _proof_of(program, _pivot_from_first_basis(equations, ExactProgram(equations, program.numbers)))


def prove_at_basis(program: ConicProgram) -> RationalProof | None:
    """Return a proof of a linear program from the basis that HiGHS ends with, whose conditions hold; None if none.

    It is None, too, where HiGHS calls the basis neither optimal nor infeasible. Pivots from a basis that it calls
    optimal may prove that the program has no optimum.
    """
    equations = _in_equations(program)
    basis = _basis_of_first_solve(equations)
    if basis is None:
        return None
    if basis.dual_ray is not None:
        return _proof_by_ray(program, equations, basis, basis.dual_ray)
    if not basis.is_claimed_optimal:
        return None
    exact = ExactProgram(equations, program.numbers)
    proofs = list[RationalProof]()

    def is_proved(solution: BasicSolution) -> bool:
        if solution.is_exact and _holds(program, proof := _proof_of(program, PivotResult(solution))):
            proofs.append(proof)  # no violation of the equations needs to be known
        return bool(proofs)

    try:
        solution = refine(equations, exact, basis, is_enough=is_proved)
        proof = proofs[0] if proofs else _proof_of(program, pivot_to_optimum(exact, solution))
    except (SingularSystemError, TooManyPivotsError):
        return None
    return proof if proofs or _holds(program, proof) else None


def _holds(program: ConicProgram, proof: RationalProof) -> bool:
    return is_proof(program, proof.status, proof.x, proof.y, proof.ray)


def _proof_by_ray(
    program: ConicProgram, equations: EquationProgram, basis: SimplexBasis, ray: Float[Array, " m"]
) -> RationalProof | None:
    """Return the proof that no point is feasible by a ray of the dual, or by the exact ray of its basis; None if none.

    The exact ray gives all basic variables but one the reduced cost 0. If it needs many digits, proofs in floats take
    less time.
    """
    if not (len(ray) and np.isfinite(ray).all()):
        return None
    y = rational_array(ray, "binary")
    if is_proof(program, "infeasible", None, y, None):
        return RationalProof("infeasible", y=y)
    basic = np.array(basis.basic, dtype=int)
    products = np.concatenate([equations.A.T @ ray, ray])[basic]
    leaving = int(np.argmax(np.abs(products)))
    unit = [fmpq(0)] * len(basic)
    unit[leaving] = fmpq(1 if products[leaving] > 0 else -1)
    try:
        with work_limit(MAX_RAY_DIGITS):
            system = basis_system(ExactProgram(equations, program.numbers), basis)
            y = fmpq_array(system.solve_transposed(unit))
    except (SingularSystemError, TooMuchWorkError):
        return None
    is_proved = is_proof(program, "infeasible", None, y, None)
    return RationalProof("infeasible", y=y, nucleus_size=system.nucleus_size) if is_proved else None


def basic_values(program: ConicProgram, costs: RationalArray) -> tuple[RationalArray, RationalArray] | None:
    """Return the variables and the multipliers of the rows of a basis that HiGHS calls optimal; None if there is none.

    They satisfy the equations of the basis exactly. They are not said to satisfy other conditions.

    Parameters
    ----------
    program
        A linear program.
    costs
        The exact costs, which those of the program are near.
    """
    equations = _in_equations(program)
    basis = _basis_of_first_solve(equations)
    if basis is None or not basis.is_claimed_optimal:
        return None
    exact = ExactProgram(equations, program.numbers, costs)
    try:
        solution = refine(equations, exact, basis, FEW_REFINEMENTS)
    except SingularSystemError:
        return None
    return fmpq_array(solution.x[: len(costs)]), solution.y_array


def _proof_of(program: ConicProgram, result: PivotResult) -> RationalProof:
    """Return the values of the end of the simplex method without those of slacks."""
    n = program.shape[1]
    size = result.solution.system.nucleus_size
    if result.farkas is not None:
        return RationalProof("infeasible", y=fmpq_array(result.farkas), nucleus_size=size)
    x = fmpq_array(result.solution.x[:n])
    if result.ray is not None:
        return RationalProof("unbounded", x, ray=fmpq_array(result.ray[:n]), nucleus_size=size)
    return RationalProof("optimal", x, result.solution.y_array, nucleus_size=size)


def _of_quadratic(program: ConicProgram, active: ActiveSet | None) -> RationalProof:
    def solve_linear(linear: ConicProgram) -> QuadraticProof:
        proof = prove_in_rationals(linear)
        return QuadraticProof(proof.x, proof.y)

    proof = prove_quadratic_optimum(program, solve_linear, active)
    if proof.x is None:
        return RationalProof("infeasible", y=proof.y)
    if proof.ray is not None:
        return RationalProof("unbounded", proof.x, ray=proof.ray)
    return RationalProof("optimal", proof.x, proof.y)


def _basis_of_first_solve(program: EquationProgram) -> SimplexBasis | None:
    """Return the basis that HiGHS ends with, from the program as it is if presolve would take longer than its pivots.

    Presolve also leaves no basis where it finds that no point is feasible.
    """
    return solve_by_simplex(program, has_presolve=program.A.nnz > MAX_PLAIN_ENTRIES)


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
    (m, n), inequalities = program.shape, np.flatnonzero(~is_equation)
    n_slacks, A = len(inequalities), program.A
    entries = np.concatenate([A.data, np.full(n_slacks, -1.0)])
    places = np.concatenate([A.indices, inequalities]), np.concatenate([A.indptr, A.nnz + np.arange(1, n_slacks + 1)])
    return EquationProgram(
        A=scipy.sparse.csc_array((entries, *places), shape=(m, n + n_slacks)),
        b=np.where(is_equation, program.row_lower, 0.0),
        c=np.concatenate([program.c, np.zeros(n_slacks)]),
        lower=np.concatenate([program.lower, program.row_lower[inequalities]]),
        upper=np.concatenate([program.upper, program.row_upper[inequalities]]),
    )


def _are_fractions(values: Any, size: int) -> bool:
    return isinstance(values, tuple) and len(values) == size and all(type(value) is Fraction for value in values)


def _approximation(value: Fraction) -> str:
    """Return the nearest float; of a number beyond the floats, a power of 2 within a factor of 2."""
    nearest = to_float(to_fmpq(value))
    if math.isfinite(nearest) and bool(nearest) == bool(value):
        return repr(nearest)
    exponent = abs(value.numerator).bit_length() - value.denominator.bit_length()
    return f"{'-' if value < 0 else ''}2^{exponent}"
