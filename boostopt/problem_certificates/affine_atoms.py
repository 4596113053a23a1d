"""Affine CVXPY atoms: the form of an atom from the forms of its arguments, in balls.

Atoms that only move entries, such as indexing and `hstack`, are read by CVXPY's own rule for numbers, applied to labels
of the entries. All others have a rule of this module.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Int
from boostopt.errors import ProblemError
from boostopt.problem_certificates.arithmetic.affine_forms import AffineForm, concatenated, sum_of_forms
from boostopt.problem_certificates.arithmetic.balls import ONE

STRUCTURAL_ATOMS = frozenset(
    "reshape index special_index transpose Promote broadcast_to Hstack Vstack Concatenate diag_vec diag_mat upper_tri "
    "squeeze stack Stack permute_dims swapaxes moveaxis".split()
)
"""Classes of CVXPY whose entries are entries of their arguments, or 0."""

IDENTITY_ATOMS = frozenset(
    "psd_wrap nsd_wrap symmetric_wrap hermitian_wrap skew_symmetric_wrap nonneg_wrap nonpos_wrap conj real".split()
)
"""Classes of CVXPY with the value of their argument, if it is real. The claim that a wrap makes is not used."""


def axis_groups(expression: Any, order: Literal["C", "F"] = "C") -> Int[Array, "m k"]:
    """Return the positions, in C order, of the entries of the first argument that each entry of an axis atom reads.

    With order "F", the first of several axes changes fastest within the entries that one entry reads.
    """
    # CVXPY 1.9.0 has geometric means of a whole vector only, without an axis.
    argument, axis = expression.args[0], getattr(expression, "axis", None)
    positions = np.arange(argument.size).reshape(argument.shape)
    if axis is None:
        return positions.ravel(order=order).reshape(1, -1)
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    axes = axes[::-1] if order == "F" else axes
    moved_axes = np.moveaxis(positions, axes, range(-len(axes), 0))
    outer_shape = moved_axes.shape[: moved_axes.ndim - len(axes)]
    return moved_axes.reshape(math.prod(outer_shape), math.prod(moved_axes.shape[len(outer_shape) :]))


def structural_form(expression: Any, arguments: Sequence[AffineForm]) -> AffineForm:
    """Return the form of an atom that moves entries.

    Raises
    ------
    ProblemError
        CVXPY's rule does not return labels of entries.
    """
    labels, count = list[Any](), 1
    for argument in arguments:
        size = len(argument)
        labels.append(np.arange(count, count + size, dtype=float).reshape(argument.shape))
        count += size
    result = expression.numeric(labels)
    result = result.toarray() if scipy.sparse.issparse(result) else np.asarray(result)
    positions = result.astype(int)
    if not (positions == result).all() or positions.min(initial=0) < 0 or positions.max(initial=0) >= count:
        raise ProblemError(
            f"expected that {type(expression).__name__} only moves entries; got others. Write it with slices, reshape "
            "and hstack."
        )
    return concatenated(arguments).selected((positions.ravel() - 1).tolist(), tuple(expression.shape))


def sum_form(expression: Any, arguments: Sequence[AffineForm]) -> AffineForm:
    """Return the sum of entries along axes."""
    return _grouped_sums(arguments[0], axis_groups(expression), tuple(expression.shape))


def trace_form(expression: Any, arguments: Sequence[AffineForm]) -> AffineForm:
    """Return the sum of the diagonal of each matrix."""
    *stack, n, _ = arguments[0].shape
    positions = np.arange(len(arguments[0])).reshape(math.prod(stack), n * n)
    return _grouped_sums(arguments[0], positions[:, :: n + 1], tuple(expression.shape))


def cumulative_sum_form(expression: Any, arguments: Sequence[AffineForm]) -> AffineForm:
    """Return the partial sums along an axis."""
    argument, axis = arguments[0], expression.axis
    if axis is None:
        argument, axis = argument.reshaped((len(argument),)), 0
    positions = np.moveaxis(np.arange(len(argument)).reshape(argument.shape), axis, -1)
    lines = positions.reshape(math.prod(positions.shape[:-1]), positions.shape[-1])
    return argument.partial_sums(lines).reshaped(tuple(expression.shape))


def add_form(expression: Any, arguments: Sequence[AffineForm]) -> AffineForm:
    """Return the sum of the arguments."""
    return sum_of_forms(arguments, tuple(expression.shape))


def negated_form(expression: Any, arguments: Sequence[AffineForm]) -> AffineForm:
    """Return minus the argument."""
    return arguments[0].scaled([-ONE] * len(arguments[0]))


def entrywise_product(expression: Any, arguments: Sequence[AffineForm]) -> AffineForm:
    """Return the product of entries, where one argument is constant."""
    factor, form = _constant_first(expression, arguments)
    shape = tuple(expression.shape)
    return form.broadcast(shape).multiplied(factor.broadcast(shape))


def quotient_form(expression: Any, arguments: Sequence[AffineForm]) -> AffineForm:
    """Return an argument divided by a constant.

    Raises
    ------
    ProblemError
        The denominator depends on variables, or may be 0.
    """
    numerator, denominator = arguments
    if not denominator.is_constant:
        raise _not_affine(expression)
    if any(value.contains(0) for value in denominator.offsets):
        raise ProblemError("a denominator must not be 0; got a constant that is 0. Remove the quotient.")
    shape = tuple(expression.shape)
    return numerator.broadcast(shape).scaled([1 / value for value in denominator.broadcast(shape).offsets])


def product_form(expression: Any, arguments: Sequence[AffineForm]) -> AffineForm:
    """Return the matrix product, where one argument is constant.

    Raises
    ------
    ProblemError
        An argument has more than two dimensions, or both depend on variables.
    """
    first_factor, second_factor = arguments
    if not first_factor.shape or not second_factor.shape:
        return entrywise_product(expression, arguments)
    if len(first_factor.shape) > 2 or len(second_factor.shape) > 2:
        raise ProblemError("a matrix product must have at most two dimensions; got more. Write one product a matrix.")
    if not first_factor.is_constant and not second_factor.is_constant:
        raise _not_affine(expression)
    first_factor = first_factor.reshaped(first_factor.shape if len(first_factor.shape) == 2 else (1, -1))
    second_factor = second_factor.reshaped(second_factor.shape if len(second_factor.shape) == 2 else (-1, 1))
    if first_factor.is_constant:
        product = second_factor.product_from_left(first_factor)
    else:
        product = first_factor.transposed().product_from_left(second_factor.transposed()).transposed()
    return product.reshaped(tuple(expression.shape))


def kronecker_form(expression: Any, arguments: Sequence[AffineForm]) -> AffineForm:
    """Return the Kronecker product of two matrices, one of them constant."""
    factor, form = _constant_first(expression, arguments)
    first, second = (np.arange(len(argument)).reshape(argument.shape) for argument in arguments)
    first_factor = np.kron(first, np.ones_like(second)).ravel().tolist()
    second_factor = np.kron(np.ones_like(first), second).ravel().tolist()
    factor_places, form_places = (
        (first_factor, second_factor) if factor is arguments[0] else (second_factor, first_factor)
    )
    selected = form.selected(form_places, tuple(expression.shape))
    return selected.multiplied(factor.selected(factor_places, selected.shape))


def convolution_form(expression: Any, arguments: Sequence[AffineForm]) -> AffineForm:
    """Return the convolution of two vectors, one of them constant.

    Raises
    ------
    ProblemError
        An argument is a row.
    """
    if any(len(argument.shape) == 2 and argument.shape[1] != 1 for argument in arguments):
        raise ProblemError("a convolution must be of vectors or columns; got a row. Transpose it.")
    factor, form = _constant_first(expression, arguments)
    n, m = len(factor), len(form)
    terms = [[(i, total - i) for i in range(max(0, total - m + 1), min(n, total + 1))] for total in range(n + m - 1)]
    return form.weighted_sums(factor, terms, tuple(expression.shape))


def _constant_first(expression: Any, arguments: Sequence[AffineForm]) -> tuple[AffineForm, AffineForm]:
    """Return the constant argument of a product, then the other."""
    first, second = arguments
    if first.is_constant:
        return first, second
    if second.is_constant:
        return second, first
    raise _not_affine(expression)


def _not_affine(expression: Any) -> ProblemError:
    """Return the error for a product or a quotient of two expressions with variables."""
    return ProblemError(
        f"expected a product or a quotient with one constant factor; got {type(expression).__name__} of two "
        "expressions with variables. Write it with an atom of CVXPY, such as quad_form or quad_over_lin."
    )


def _grouped_sums(form: AffineForm, groups: Int[Array, "m k"], shape: tuple[int, ...]) -> AffineForm:
    """Return the sum of the entries of each group."""
    return form.weighted_sums(None, [[(0, k) for k in group] for group in groups.tolist()], shape)


AFFINE_RULES: dict[str, Callable[[Any, Sequence[AffineForm]], AffineForm]] = {
    **dict.fromkeys(STRUCTURAL_ATOMS, structural_form),
    **dict.fromkeys(IDENTITY_ATOMS, lambda expression, arguments: arguments[0].reshaped(tuple(expression.shape))),
    "AddExpression": add_form,
    "NegExpression": negated_form,
    "multiply": entrywise_product,
    "DivExpression": quotient_form,
    "MulExpression": product_form,
    "Sum": sum_form,
    "Trace": trace_form,
    "cumsum": cumulative_sum_form,
    "kron": kronecker_form,
    "conv": convolution_form,
    "convolve": convolution_form,
}
"""The rule of each affine atom by the name of its class in CVXPY."""
