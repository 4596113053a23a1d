"""The statement of a CVXPY problem in a certificate file: rows, atoms by name, and bounds, as exact numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import flint

from boostopt.errors import ProblemError
from boostopt.problem_certificates.arithmetic.affine_forms import Row, RowBlock
from boostopt.problem_certificates.arithmetic.balls import ZERO, Ball, ball
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
from boostopt.problem_certificates.atoms.perspectives import Perspective
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
from boostopt.problem_certificates.problem_reader import AtomNode, ReadProblem, read_problem

STATEMENT_BITS = 2**14
"""Bits with which a problem is read for its statement. Sums of products of up to seven floats are exact with them, and
a quotient of such sums is the fraction next to it, or differs from it by more than its rounding."""

AUTOMATIC_NAME = re.compile(r"var\d+")
"""The names that CVXPY gives to variables."""

MAX_DENOMINATOR = 4096
"""Largest odd part of a denominator that a quotient of CVXPY's expressions is recognized by."""

N_BITS = (80, 106)
"""Bits before the point at which it is looked for: the numerator is whole there."""


MAX_WEIGHT_DENOMINATOR = 2**120
"""Largest denominator of a weight of a geometric mean: a quotient of floats of similar sizes."""

MAX_RADIUS = Fraction(1, 2 ** (STATEMENT_BITS // 2))
"""Radius of a ball, relative to its middle, up to which a fraction in it is no chance. It is larger if another thread
lowers the precision of python-flint, which all threads share."""


def problem_to_json(problem: ReadProblem) -> dict[str, Any]:
    """Return the statement of a problem.

    Raises
    ------
    ProblemError
        The checker of files has no rule for an atom, a coefficient is no fraction, or the data were changed.
    """
    with flint.ctx.workprec(STATEMENT_BITS):
        precise = read_problem(problem.problem)
        if precise.has_rounded_constants:
            raise ProblemError(
                "a file states coefficients that are fractions; got an atom of constants, such as exp(1) or 3 ** -1, "
                "whose value is no float. Compute it as a float before, such as float(np.exp(1))."
            )
        if not _have_common_numbers(_blocks(problem), _blocks(precise)):
            raise ProblemError(
                "a file states the problem that was certified; got data that have changed since. Call certify_problem."
            )
        return _statement_of_problem(replace(precise, lower=problem.lower, upper=problem.upper))


def _blocks(problem: ReadProblem) -> list[RowBlock]:
    """Return all rows of a problem."""
    constraints = [problem.inequalities.rows, problem.equalities.rows, *(item.rows for item in problem.matrices)]
    return [problem.objective, *constraints, *(node.arguments for node in problem.nodes)]


def _have_common_numbers(blocks: Sequence[RowBlock], other_blocks: Sequence[RowBlock]) -> bool:
    """Return whether blocks have the same sizes, and all balls in the same places have numbers in common."""
    if [len(block) for block in blocks] != [len(block) for block in other_blocks]:
        return False
    pairs = list[tuple[Ball, Ball]]()
    for block, other_block in zip(blocks, other_blocks, strict=True):
        pairs += zip(block.offsets, other_block.offsets, strict=True)
        for row, other_row in zip(block.rows, other_block.rows, strict=True):
            pairs += [(row.get(k, ZERO), other_row.get(k, ZERO)) for k in row.keys() | other_row.keys()]
    return all(value.overlaps(number) for value, number in pairs)


def _statement_of_problem(problem: ReadProblem) -> dict[str, Any]:
    """Return the statement of a problem, whose coefficients are exact or rounded by very little."""
    sign = problem.sign
    objective = {k: sign * value for k, value in problem.objective.rows[0].items()}
    return {
        "sense": "minimize" if sign > 0 else "maximize",
        "variables": [
            {
                "name": name_in_file(item.variable.name(), k),
                "shape": list(item.variable.shape),
                "positions": item.positions.tolist(),
            }
            for k, item in enumerate(problem.variables)
        ],
        "lower": [_side_to_json(side) for side in problem.lower.tolist()],
        "upper": [_side_to_json(side) for side in problem.upper.tolist()],
        "atoms": [_node_to_json(node) for node in problem.nodes],
        "objective": rows_to_json([objective], [sign * problem.objective.offsets[0]]),
        "inequalities": rows_to_json(problem.inequalities.rows.rows, problem.inequalities.rows.offsets),
        "equalities": rows_to_json(problem.equalities.rows.rows, problem.equalities.rows.offsets),
        "matrices": [
            {"size": constraint.n, "entries": rows_to_json(constraint.rows.rows, constraint.rows.offsets)}
            for constraint in problem.matrices
        ],
    }


def name_in_file(name: str, k: int) -> str:
    """Return the name of variable k in a file; names that CVXPY counts, such as var12, differ between readings."""
    return f"v{k}" if AUTOMATIC_NAME.fullmatch(name) else "".join(c if c.isprintable() else "?" for c in name)[:1000]


def rows_to_json(rows: Sequence[Row], offsets: Sequence[Ball]) -> dict[str, Any]:
    """Return affine functions by their coefficients."""
    entries = [(i, k, value) for i, row in enumerate(rows) for k, value in row.items()]
    return {
        "offsets": [number_to_json(rational_of(offset)) for offset in offsets],
        "rows": [i for i, _, _ in entries],
        "columns": [k for _, k, _ in entries],
        "values": [number_to_json(rational_of(value)) for _, _, value in entries],
    }


def number_to_json(value: Fraction) -> float | str:
    """Return a number as a float if it is one, else as a fraction of hexadecimal numbers."""
    try:
        nearest = float(value)
    except OverflowError:
        nearest = math.inf
    if math.isfinite(nearest) and Fraction(nearest) == value:
        return nearest + 0.0
    return f"{value.numerator:x}/{value.denominator:x}"


def rational_of(value: Ball) -> Fraction:
    """Return the number of an exact ball; else the fraction in it whose denominator is a small odd number.

    Quotients of CVXPY's expressions, such as means, are such fractions, up to a power of 2.

    Raises
    ------
    ProblemError
        There is none in the ball: it is a root, a logarithm or an exponential.
    """
    middle = middle_of(value)
    if value.is_exact():
        return middle
    radius = middle_of(value.rad())
    if radius <= MAX_RADIUS * abs(middle):
        size = abs(middle.numerator).bit_length() - middle.denominator.bit_length()
        for bits in N_BITS:
            scale = Fraction(2) ** (bits - size)
            candidate = (middle * scale).limit_denominator(MAX_DENOMINATOR)
            if abs(candidate - middle * scale) <= radius * scale:
                return candidate / scale
    raise ProblemError(
        f"a file states coefficients that are fractions; got one of about {float(value.mid()):.10g}, a quotient with a "
        "large denominator, a root or the like of constants. "
        "Compute it as a float before, such as float(np.sqrt(2))."
    )


def middle_of(value: Ball) -> Fraction:
    """Return the midpoint of a ball."""
    mantissa, exponent = (int(part) for part in value.mid().man_exp())
    return Fraction(mantissa) * Fraction(2) ** exponent


def _side_to_json(side: float) -> float | str:
    """Return a bound of an unknown."""
    return side + 0.0 if math.isfinite(side) else "inf" if side > 0 else "-inf"


def _node_to_json(node: AtomNode) -> dict[str, Any]:
    """Return an atom with its constants and its arguments."""
    function, members = node.function, node.members.tolist()
    statement = _statement_of(function)
    if isinstance(function, QuadraticOverLinear) and members and not node.arguments.rows[members[0][-1]]:
        # All groups have one divisor, here a constant.
        divisor = rational_of(node.arguments.offsets[members[0][-1]])
        if divisor > 0:
            statement = {"atom": "sum of squares", "divisor": number_to_json(divisor)}
            members = [group[:-1] for group in members]
    arguments = rows_to_json(node.arguments.rows, node.arguments.offsets)
    if isinstance(function, TraceOfInverse):  # tr Iᵀ X^-1 I
        n, first = function.n, len(node.arguments.rows)
        arguments["offsets"] += [float(k % (n + 1) == 0) for k in range(n * n)]
        members = [[*range(first, first + n * n), *group] for group in members]
    return {**statement, "members": members, "arguments": arguments}


def _statement_of(function: Function) -> dict[str, Any]:
    """Return the name and the constants of a function.

    Raises
    ------
    ProblemError
        The checker of files has no rule for it.
    """
    make = _STATEMENTS.get(type(function))
    if make is None:
        raise ProblemError(
            f"a file states atoms that its checker has a rule for; got {type(function).__name__}, for which it has "
            "none. docs/file_format.md lists the atoms. Keep the certificate in Python, or write it with these."
        )
    return make(function)


def _quadratic_form_statement(function: QuadraticForm) -> dict[str, Any]:
    """Return the statement of a quadratic form.

    Raises
    ------
    ProblemError
        The matrix is semidefinite only up to rounding.
    """
    if function.epsilon > 0:
        raise ProblemError(
            "the matrix of a quadratic form in a file must be exactly semidefinite; got one that has an eigenvalue of "
            f"about {-function.sign * function.epsilon:.1e}. Write sum_squares of a factor of the matrix."
        )
    matrix = [number_to_json(rational_of(value)) for value in function.P]
    return {"atom": "quadratic form", "size": function.n, "matrix": matrix, "convex": function.sign > 0}


def _perspective_statement(function: Perspective) -> dict[str, Any]:
    """Return the statement of a perspective.

    Raises
    ------
    ProblemError
        The checker of files has no rule for the perspective of its function.
    """
    if isinstance(function.function, QuadraticForm | TraceOfInverse):
        raise ProblemError(
            "a file states perspectives of atoms whose slopes it holds; got the perspective of "
            f"{type(function.function).__name__}. Write quad_over_lin or matrix_frac."
        )
    return {"atom": "perspective", "function": _statement_of(function.function)}


def _plain(name: str) -> Callable[[Any], dict[str, Any]]:
    """Return the statement of a function without constants."""
    return lambda function: {"atom": name}


_STATEMENTS: Mapping[type, Callable[[Any], dict[str, Any]]] = {
    SumNorm: _plain("sum of absolute values"),
    MaximumNorm: _plain("largest absolute value"),
    Extreme: lambda function: {"atom": "largest" if function.sign > 0 else "smallest"},
    SumOfLargest: lambda function: {"atom": "sum of largest", "count": function.k},
    PNorm: lambda function: (
        {"atom": "euclidean norm"}
        if function.is_euclidean
        else {"atom": "p-norm", "exponent": number_to_json(rational_of(function.exponent))}
    ),
    QuadraticOverLinear: _plain("squares over last"),
    QuadraticForm: _quadratic_form_statement,
    HuberLoss: lambda function: {"atom": "huber", "threshold": number_to_json(rational_of(function.threshold))},
    RealPower: lambda function: {"atom": "power", "exponent": number_to_json(rational_of(function.exponent))},
    Exponential: _plain("exponential"),
    ProductWithExponential: _plain("product with exponential"),
    Logarithm: _plain("logarithm"),
    ShiftedLogarithm: _plain("shifted logarithm"),
    Entropy: _plain("entropy"),
    LogisticLoss: _plain("logistic"),
    RelativeEntropy: lambda function: {"atom": "divergence" if function.is_divergence else "relative entropy"},
    LogSumExp: _plain("log-sum-exp"),
    GeometricMean: lambda function: {
        "atom": "geometric mean",
        "weights": [number_to_json(weight) for weight in _weights_of_sum_one(function)],
    },
    PowerMean: lambda function: {"atom": "power mean", "exponent": number_to_json(rational_of(function.exponent))},
    SpectralNorm: lambda function: {"atom": "spectral norm", "shape": list(function.shape)},
    NuclearNorm: lambda function: {"atom": "nuclear norm", "shape": list(function.shape)},
    MatrixFraction: lambda function: {"atom": "matrix fraction", "shape": [function.n, function.n_columns]},
    LargestEigenvalue: lambda function: {"atom": "largest eigenvalue", "size": function.n},
    SumOfLargestEigenvalues: lambda function: {
        "atom": "sum of largest eigenvalues",
        "size": function.n,
        "count": min(function.k, float(function.n)),
    },
    LogDeterminant: lambda function: {"atom": "log-determinant", "size": function.n},
    TraceOfInverse: lambda function: {"atom": "matrix fraction", "shape": [function.n, function.n]},
    VonNeumannEntropy: lambda function: {"atom": "matrix entropy", "size": function.n},
    Perspective: _perspective_statement,
}
"""The statement of each function by its class."""


def _weights_of_sum_one(function: GeometricMean) -> list[Fraction]:
    """Return the weights of a geometric mean.

    Raises
    ------
    ProblemError
        They are no fractions of sum 1.
    """
    weights = [middle_of(weight).limit_denominator(MAX_WEIGHT_DENOMINATOR) for weight in function.weights]
    are_exact = all(weight.contains(ball(fraction)) for weight, fraction in zip(function.weights, weights, strict=True))
    if not are_exact or sum(weights) != 1:
        raise ProblemError(
            "the weights of a geometric mean in a file must be fractions with small denominators; got others. Pass "
            "p= as whole numbers."
        )
    return weights
