"""The functions that CVXPY's atoms mean, by the names of their classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Int
from boostopt.errors import ProblemError, short_repr
from boostopt.problem_certificates.affine_atoms import axis_groups
from boostopt.problem_certificates.arithmetic.affine_forms import AffineForm, check_coefficients
from boostopt.problem_certificates.arithmetic.balls import ball, midpoints
from boostopt.problem_certificates.atoms.base import Function
from boostopt.problem_certificates.atoms.eigenvalue_sums import SumOfLargestEigenvalues, VonNeumannEntropy
from boostopt.problem_certificates.atoms.largest_entries import Extreme, SumOfLargest
from boostopt.problem_certificates.atoms.matrix_functions import LogDeterminant, MatrixFraction, TraceOfInverse
from boostopt.problem_certificates.atoms.matrix_norms import LargestEigenvalue, NuclearNorm, SpectralNorm
from boostopt.problem_certificates.atoms.multivariate_smooth import (
    GeometricMean,
    LogSumExp,
    PowerMean,
    QuadraticForm,
    QuadraticOverLinear,
    RelativeEntropy,
)
from boostopt.problem_certificates.atoms.norms import MaximumNorm, PNorm, SumNorm
from boostopt.problem_certificates.atoms.univariate_smooth import (
    Entropy,
    Exponential,
    HuberLoss,
    Logarithm,
    LogisticLoss,
    ProductWithExponential,
    RealPower,
    ShiftedLogarithm,
)

MAX_EXPONENT = 1e6
"""Largest absolute value of an exponent."""

SYMMETRY_TOL = 1e-12
"""Relative difference of a matrix from its transpose that counts as rounding: the symmetric part is taken."""


@dataclass(frozen=True)
class GroupedFunction:
    """A function, and the entries of the concatenated arguments that each of its m values reads.

    Attributes
    ----------
    function
        The function of k numbers.
    members
        Positions in the concatenated arguments, shape (m, k).
    """

    function: Function
    members: Int[Array, "m k"]


Rule = Callable[[Any, Sequence[AffineForm]], GroupedFunction]
"""A function of an expression and the forms of its arguments."""


def elementwise(make: Callable[[Any], Function]) -> Rule:
    """Return the rule of an atom whose entry i reads entry i of each argument, after broadcasting."""

    def rule(expression: Any, arguments: Sequence[AffineForm]) -> GroupedFunction:
        columns, count = list[Any](), 0
        for argument in arguments:
            positions = np.arange(count, count + len(argument)).reshape(argument.shape)
            columns.append(np.broadcast_to(positions, expression.shape).ravel())
            count += len(argument)
        return GroupedFunction(make(expression), np.stack(columns, axis=1))

    return rule


def along_axis(make: Callable[[Any], Function]) -> Rule:
    """Return the rule of an atom that reads its argument along an axis."""
    return lambda expression, arguments: GroupedFunction(make(expression), axis_groups(expression))


def of_matrix(make: Callable[[tuple[int, int]], Function]) -> Rule:
    """Return the rule of an atom that reads a whole matrix."""

    def rule(expression: Any, arguments: Sequence[AffineForm]) -> GroupedFunction:
        shape = arguments[0].shape
        if len(shape) != 2 or 0 in shape:
            raise ProblemError(
                f"{type(expression).__name__} must have a matrix with entries as its argument; got shape {shape}. "
                "Reshape it, or leave it out."
            )
        return GroupedFunction(make((shape[0], shape[1])), np.arange(len(arguments[0]))[None, :])

    return rule


def of_symmetric_matrix(make: Callable[[int], Function]) -> Rule:
    """Return the rule of an atom that reads a whole symmetric matrix."""
    rule = of_matrix(lambda shape: make(shape[0]))

    def checked(expression: Any, arguments: Sequence[AffineForm]) -> GroupedFunction:
        check_symmetric(type(expression).__name__, arguments[0])
        return rule(expression, arguments)

    return checked


def check_symmetric(name: str, form: AffineForm) -> None:
    """Raise ProblemError unless a form is a square matrix that is symmetric at every point, up to rounding."""
    n = form.shape[0] if form.shape else 1
    if form.shape != (n, n):
        raise ProblemError(f"{name} must have a square matrix as its argument; got shape {form.shape}. Reshape it.")
    constants = midpoints(form.offsets).reshape(n, n)
    constant_tol = SYMMETRY_TOL * float(np.abs(constants).max(initial=0.0))
    for i in range(n):
        for j in range(i):
            first, second = form.rows[i * n + j], form.rows[j * n + i]
            is_equal = first.keys() == second.keys() and all(
                abs(float(first[k].mid()) - float(second[k].mid())) <= SYMMETRY_TOL * abs(float(first[k].mid()))
                for k in first
            )
            if not is_equal or not abs(constants[i, j] - constants[j, i]) <= constant_tol:
                raise ProblemError(
                    f"{name} must have a symmetric matrix as its argument; got one that differs from its transpose. "
                    "Declare the variable as symmetric, or pass (X + X.T) / 2."
                )


def power_function(expression: Any) -> Function:
    """Return the power of an expression; exponents 0 and 1 are affine and are not passed."""
    return RealPower(exponent_of(expression))


def exponent_of(expression: Any) -> Fraction:
    """Return the exponent of a power as it was written.

    Raises
    ------
    ProblemError
        It has no value, or it is no number of ordinary size.
    """
    exponent = expression.get_data()[0]
    if isinstance(exponent, Rational | float):
        return exact_exponent(exponent)
    value = getattr(exponent, "value", exponent)
    if value is None:
        raise ProblemError(
            "an exponent must have a value; got a parameter without one. Set the value of the parameter."
        )
    if np.size(value) != 1:
        raise ProblemError(f"an exponent must be one number; got shape {np.shape(value)}. Write one power for each.")
    return exact_exponent(np.asarray(value).item())


def exact_exponent(exponent: Any) -> Fraction:
    """Return an exponent as a fraction.

    Raises
    ------
    ProblemError
        It is infinite or nan, or so near to 0 or 1 that floats do not tell it from these.
    """
    value = float(exponent) if not isinstance(exponent, Rational) else exponent
    try:
        result = Fraction(value)
        nearest = float(result)
    except (OverflowError, ValueError):
        result, nearest = Fraction(0), math.nan
    if not abs(nearest) <= MAX_EXPONENT or (nearest in (0, 1) and result != nearest):
        raise ProblemError(
            f"an exponent must lie within +-{MAX_EXPONENT:g}, and not next to 0 or 1; got {short_repr(exponent)}. "
            "Round it."
        )
    return result


def norm_function(expression: Any) -> Function:
    """Return the p-norm of an expression, a mean for p below 1."""
    if expression.original_p == math.inf:
        return MaximumNorm()
    p = exact_exponent(expression.original_p)
    return SumNorm() if p == 1 else PNorm(p) if p > 1 else PowerMean(p)


def sum_of_largest_rule(expression: Any, arguments: Sequence[AffineForm]) -> GroupedFunction:
    """Return sums of the k largest entries along an axis.

    Raises
    ------
    ProblemError
        There are fewer than k entries: CVXPY's solvers then see another function than its values.
    """
    groups, count = axis_groups(expression), float(expression.k)
    if not 0 < count <= groups.shape[1]:
        raise ProblemError(
            f"sum_largest must count between 0 and all {groups.shape[1]} entries; got {count:g}. Correct the number."
        )
    return GroupedFunction(SumOfLargest(count), groups)


def huber_threshold(expression: Any) -> float:
    """Return M of Huber's loss. The loss for M = 0 is 0 everywhere and is not passed to `huber_function`.

    Raises
    ------
    ProblemError
        It has no value.
    """
    if expression.M.value is None:
        raise ProblemError("M of huber must have a value; got a parameter without one. Set the value of the parameter.")
    return float(expression.M.value)


def huber_function(expression: Any) -> Function:
    """Return Huber's loss of an expression."""
    return HuberLoss(ball(huber_threshold(expression)))


def sum_of_largest_eigenvalues_rule(expression: Any, arguments: Sequence[AffineForm]) -> GroupedFunction:
    """Return the sum of the k largest eigenvalues."""
    return of_symmetric_matrix(lambda n: SumOfLargestEigenvalues(n, expression.k))(expression, arguments)


def von_neumann_entropy_rule(expression: Any, arguments: Sequence[AffineForm]) -> GroupedFunction:
    """Return the entropy of eigenvalues.

    Raises
    ------
    ProblemError
        CVXPY is to solve an approximation by quadrature.
    """
    if expression.quad_approx:
        raise ProblemError(
            "von_neumann_entr must be exact; got an approximation by quad_approx. Leave this argument out."
        )
    return of_symmetric_matrix(VonNeumannEntropy)(expression, arguments)


def geometric_mean_weights(expression: Any) -> tuple[list[Any], Int[Array, "m k"]]:
    """Return the positive weights of a geometric mean, and the positions that it reads; CVXPY counts columns first."""
    groups = axis_groups(expression, order="F")
    numbers = np.ravel(np.asarray(expression.p, dtype=object)).tolist()
    powers = [ball(number if isinstance(number, Rational) else float(number)) for number in numbers]
    if len(powers) != groups.shape[1]:  # CVXPY stores positive weights only, and which entries have one
        groups = groups[:, np.asarray(vars(expression)["_keep"], dtype=bool)]
    return powers, groups


def geometric_mean_rule(expression: Any, arguments: Sequence[AffineForm]) -> GroupedFunction:
    """Return the geometric mean along an axis, by the weights that were written; entries of weight 0 are left out."""
    powers, groups = geometric_mean_weights(expression)
    total = sum(powers[1:], powers[0])
    return GroupedFunction(GeometricMean([power / total for power in powers]), groups)


def cumulative_maximum_rule(expression: Any, arguments: Sequence[AffineForm]) -> GroupedFunction:
    """Return the largest of the first entries along an axis, up to each of them; the first pads the groups.

    Raises
    ------
    ProblemError
        There is no axis, or more than one.
    """
    argument = arguments[0]
    if not isinstance(expression.axis, int) or not argument.shape:
        raise ProblemError(f"cummax must have one axis; got {expression.axis}. Pass a vector, or axis=0.")
    axis = expression.axis % len(argument.shape)
    lines = np.moveaxis(np.arange(len(argument)).reshape(argument.shape), axis, -1)
    n = lines.shape[-1]
    indices = np.where(np.tri(n, dtype=bool), np.arange(n), 0)
    groups = np.moveaxis(lines[..., indices], -2, axis)
    return GroupedFunction(Extreme(1), groups.reshape(len(argument.rows), n))


def quadratic_form_rule(expression: Any, arguments: Sequence[AffineForm]) -> GroupedFunction:
    """Return the quadratic form of a constant matrix."""
    x, P = arguments
    if not P.is_constant:
        raise ProblemError(
            "the matrix of quad_form must be constant; got one with variables. Use matrix_frac, or fix it."
        )
    check_coefficients(midpoints(P.offsets))
    return GroupedFunction(QuadraticForm(P.offsets), np.arange(len(x))[None, :])


def quadratic_over_linear_rule(expression: Any, arguments: Sequence[AffineForm]) -> GroupedFunction:
    """Return sums of squares over a number, along an axis."""
    groups = axis_groups(expression)
    last = np.full((len(groups), 1), len(arguments[0]))
    if len(arguments[1]) != 1:
        raise ProblemError("quad_over_lin must divide by one number; got several. Write one term for each.")
    return GroupedFunction(QuadraticOverLinear(), np.hstack([groups, last]))


def matrix_fraction_rule(expression: Any, arguments: Sequence[AffineForm]) -> GroupedFunction:
    """Return tr Xᵀ P^-1 X."""
    X, P = arguments
    check_symmetric("matrix_frac", P)
    if not X.rows:
        raise ProblemError(f"matrix_frac must have a matrix with entries; got shape {X.shape}. Leave it out.")
    n_columns = X.shape[1] if len(X.shape) == 2 else 1
    return GroupedFunction(MatrixFraction(X.shape[0], n_columns), np.arange(len(X) + len(P))[None, :])


FUNCTION_RULES: dict[str, Rule] = {
    "exp": elementwise(lambda expression: Exponential()),
    "xexp": elementwise(lambda expression: ProductWithExponential()),
    "log": elementwise(lambda expression: Logarithm()),
    "log1p": elementwise(lambda expression: ShiftedLogarithm()),
    "entr": elementwise(lambda expression: Entropy()),
    "logistic": elementwise(lambda expression: LogisticLoss()),
    "huber": elementwise(huber_function),
    "Power": elementwise(power_function),
    "PowerApprox": elementwise(power_function),
    "abs": elementwise(lambda expression: SumNorm()),
    "kl_div": elementwise(lambda expression: RelativeEntropy(True)),
    "rel_entr": elementwise(lambda expression: RelativeEntropy(False)),
    "maximum": elementwise(lambda expression: Extreme(1)),
    "minimum": elementwise(lambda expression: Extreme(-1)),
    "max": along_axis(lambda expression: Extreme(1)),
    "min": along_axis(lambda expression: Extreme(-1)),
    "cummax": cumulative_maximum_rule,
    "sum_largest": sum_of_largest_rule,
    "norm1": along_axis(lambda expression: SumNorm()),
    "norm_inf": along_axis(lambda expression: MaximumNorm()),
    "Pnorm": along_axis(norm_function),
    "PnormApprox": along_axis(norm_function),
    "log_sum_exp": along_axis(lambda expression: LogSumExp()),
    "GeoMean": geometric_mean_rule,
    "GeoMeanApprox": geometric_mean_rule,
    "quad_over_lin": quadratic_over_linear_rule,
    "QuadForm": quadratic_form_rule,
    "MatrixFrac": matrix_fraction_rule,
    "lambda_max": of_symmetric_matrix(LargestEigenvalue),
    "lambda_sum_largest": sum_of_largest_eigenvalues_rule,
    "von_neumann_entr": von_neumann_entropy_rule,
    "log_det": of_symmetric_matrix(LogDeterminant),
    "tr_inv": of_symmetric_matrix(TraceOfInverse),
    "sigma_max": of_matrix(SpectralNorm),
    "normNuc": of_matrix(NuclearNorm),
}
"""The rule of each atom that is not affine by the name of its class in CVXPY."""

_LOG_LOG = "It is convex in logarithms only: pass the log form, cvxpy.reductions.dgp2dcp.dgp2dcp.Dgp2Dcp().apply."
_QUASICONVEX = "It is quasiconvex, not convex: bound it by a constant level, as convex constraints."
_NOT_CONVEX = "It is neither convex nor concave: no minorant of it is known."
_BOOLEAN = "It takes boolean values: certify the problem at each of them."
_BY_CVXPY = "CVXPY makes it while it solves: pass the problem as it was stated."

REFUSALS: dict[str, str] = {
    **dict.fromkeys(("cumprod", "Prod", "gmatmul", "one_minus_pos", "eye_minus_inv", "pf_eigenvalue"), _LOG_LOG),
    **dict.fromkeys(("condition_number", "gen_lambda_max", "dist_ratio", "length"), _QUASICONVEX),
    **dict.fromkeys(("ceil", "floor", "sign"), _QUASICONVEX),
    **dict.fromkeys(("sin", "cos", "tan", "sinh", "tanh", "asinh", "atanh", "normcdf"), _NOT_CONVEX),
    **dict.fromkeys(("And", "Not", "Or", "Xor"), _BOOLEAN),
    "SymbolicQuadForm": _BY_CVXPY,
    "imag": "It is the imaginary part of complex numbers: write real and imaginary parts as variables of their own.",
    "quantum_rel_entr": "CVXPY solves an approximation of it by quadrature, whose error is not bounded.",
    "SuppFuncAtom": "Its value is an optimum of its own: write the support function by norms, max or sum_largest.",
    "indicator": "Write its constraints as constraints of the problem.",
    "PartialProblem": "Pass the problem over all variables.",
}
"""The reason why an atom has no rule, and what to write, by the name of its class in CVXPY."""
