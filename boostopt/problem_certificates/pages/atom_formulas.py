"""The TeX of CVXPY's atoms by the names of their classes, one table a family; all others are shown by their names."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from boostopt.problem_certificates.pages.tex_formulas import (
    ENTRYWISE,
    ONES,
    PRODUCT,
    SIMPLE,
    Formula,
    entrywise_product,
    in_brackets,
    is_column,
    is_number,
    number_formula,
    operator_formula,
    product,
)

AtomFormula = Callable[[Any, Sequence[Formula]], Formula]
"""A function of an atom and the formulas of its arguments."""

MAX_ENTRIES = 4
"""Number of entries of a list that are shown; of a longer one, the first two and the last are."""

MAX_LENGTH = 24
"""Length of a numerator, as TeX, from which a quotient is shown as a factor and the numerator."""


def shorten_list(entries: Sequence[str]) -> list[str]:
    """Return the entries of a list, or the first two, dots and the last."""
    return list(entries) if len(entries) <= MAX_ENTRIES else [*entries[:2], r"\ldots", entries[-1]]


def axis_index(expression: Any) -> str:
    """Return the axis of an atom in words, "" if it reads all entries or a vector."""
    axis = getattr(expression, "axis", None)
    return "" if axis is None or expression.args[0].ndim < 2 else rf"\text{{axis {axis}}}"


def comma_list(*indices: str) -> str:
    """Return indices that are not empty, separated by commas."""
    return r",\,".join(index for index in indices if index)


def operator_rule(name: str, index: Callable[[Any], str] = lambda expression: "") -> AtomFormula:
    """Return the formula of a function by its name."""
    return lambda expression, arguments: operator_formula(
        name, arguments, comma_list(index(expression), axis_index(expression))
    )


def function_rule(sign: str) -> AtomFormula:
    r"""Return the formula of a function that TeX knows, such as \log."""

    def formula(expression: Any, arguments: Sequence[Formula]) -> Formula:
        index = axis_index(expression)
        return Formula(f"{sign}{f'_{{{index}}}' if index else ''}{in_brackets(arguments[0].text)}")

    return formula


# Affine atoms


def sum_formula(expression: Any, arguments: Sequence[Formula]) -> Formula:
    """Return a sum of entries as a product with ones."""
    argument, inner = expression.args[0], arguments[0]
    if is_number(argument):
        return inner
    axis, is_kept = getattr(expression, "axis", None), getattr(expression, "keepdims", False)
    if axis is None and is_column(argument):
        return product(ONES.transpose, inner)
    if argument.ndim != 2:
        return operator_formula("sum", arguments, axis_index(expression))
    if axis is None:
        return product(inner, ONES) if argument.shape[0] == 1 else product(ONES.transpose, inner, ONES)
    if axis == 1:
        return product(inner, ONES)
    return product(ONES.transpose, inner) if is_kept else product(inner.transpose, ONES)


def matrix_product(expression: Any, arguments: Sequence[Formula]) -> Formula:
    """Return a product of numbers, vectors and matrices."""
    (first_side, second_side), (first, second) = expression.args, arguments
    if is_number(first_side) or is_number(second_side):
        return product(first, second)
    if first_side.ndim == 1 and second_side.ndim == 1:
        return product(first.transpose, second)
    if first_side.ndim == 1:
        return product(second.transpose, first)
    return product(first, second)


def scaled_formula(expression: Any, arguments: Sequence[Formula]) -> Formula:
    """Return a product entry by entry; numbers come first."""
    sides = sorted(zip(expression.args, arguments, strict=True), key=lambda side: not is_scalar(side[0]))
    first, second = (formula for _, formula in sides)
    return product(first, second) if is_scalar(sides[0][0]) else entrywise_product(first, second)


def is_scalar(expression: Any) -> bool:
    """Return whether all entries of an expression are one number that is typeset as a number."""
    return is_number(expression) or type(expression).__name__ == "Promote"


def quotient(expression: Any, arguments: Sequence[Formula]) -> Formula:
    """Return a quotient by a number, or one entry by entry."""
    first, second = arguments
    if not is_scalar(expression.args[1]):
        return Formula(rf"{first.enclose(PRODUCT)} \oslash {second.enclose(SIMPLE)}", ENTRYWISE)
    if len(first.text) > MAX_LENGTH:
        return product(Formula(rf"\frac{{1}}{{{second.text}}}", PRODUCT), first)
    return Formula(rf"\frac{{{first.text}}}{{{second.text}}}", PRODUCT)


def promotion(expression: Any, arguments: Sequence[Formula]) -> Formula:
    """Return a number for all entries: a constant as it is, another as a multiple of ones."""
    if expression.args[0].is_constant() or not is_column(expression):
        return arguments[0]
    return product(arguments[0], ONES)


def argument_itself(expression: Any, arguments: Sequence[Formula]) -> Formula:
    """Return the argument."""
    return arguments[0]


def transposition(expression: Any, arguments: Sequence[Formula]) -> Formula:
    """Return a transpose; that of a vector is the vector, that of a symmetric matrix the matrix."""
    if expression.ndim > 2:
        return operator_formula("transpose", arguments)
    return arguments[0] if expression.ndim < 2 or expression.args[0].is_symmetric() else arguments[0].transpose


def new_arrangement(expression: Any, arguments: Sequence[Formula]) -> Formula:
    """Return a new arrangement of entries: none of vectors, `vec` of matrices."""
    argument = expression.args[0]
    if is_number(argument) or (is_column(argument) and is_column(expression)):
        return arguments[0]
    if is_column(expression):
        inner = arguments[0] if getattr(expression, "order", "F") == "F" else arguments[0].transpose
        return operator_formula("vec", [inner])
    return operator_formula("reshape", arguments, r" \times ".join(map(str, expression.shape)))


def entries_by_index(expression: Any, arguments: Sequence[Formula]) -> Formula:
    """Return entries by their indices, as in Python."""
    data = expression.get_data()
    key = data[1] if len(data) > 1 else data[0]
    keys = key if isinstance(key, tuple) else (key,)
    return Formula(f"{arguments[0].enclose(SIMPLE)}[{', '.join(map(_index_text, keys))}]")


def _index_text(key: Any) -> str:
    """Return an index, a slice or a list of indices."""
    if key is None or isinstance(key, int | np.integer):
        return str(key)
    if isinstance(key, slice):
        parts = ["" if part is None else str(int(part)) for part in (key.start, key.stop, key.step)]
        return "{:}".join(parts if parts[2] not in ("", "1") else parts[:2])
    values = np.asarray(key)
    if values.dtype == bool:
        return r"\ldots"
    return "[" + ", ".join(shorten_list([str(value) for value in values.ravel().tolist()])) + "]"


def stack_formula(expression: Any, arguments: Sequence[Formula]) -> Formula:
    """Return vectors or numbers one after the other."""
    texts = shorten_list([argument.text for argument in arguments])
    if expression.ndim == 1:
        return Formula(in_brackets(", ".join(texts)))
    return operator_formula(type(expression).__name__.lower(), [Formula(text) for text in texts])


def _diagonal_index(expression: Any) -> str:
    """Return which diagonal it is, "" for the main one."""
    k = (expression.get_data() or [0])[0]
    return str(k) if k else ""


AFFINE_FORMULAS: dict[str, AtomFormula] = {
    "Sum": sum_formula,
    "MulExpression": matrix_product,
    "multiply": scaled_formula,
    "DivExpression": quotient,
    "Promote": promotion,
    "transpose": transposition,
    "reshape": new_arrangement,
    "index": entries_by_index,
    "special_index": entries_by_index,
    "Hstack": stack_formula,
    "Vstack": stack_formula,
    "Concatenate": stack_formula,
    "Trace": operator_rule("tr"),
    "diag_vec": operator_rule("diag", _diagonal_index),
    "diag_mat": operator_rule("diag", _diagonal_index),
    **dict.fromkeys(
        "psd_wrap nsd_wrap symmetric_wrap hermitian_wrap skew_symmetric_wrap nonneg_wrap nonpos_wrap".split(),
        argument_itself,
    ),
}
"""Affine atoms, besides sums and signs."""


# Functions of numbers, entry by entry


def power(expression: Any, arguments: Sequence[Formula]) -> Formula:
    """Return a power; that of an array has the sign of operations entry by entry."""
    exponent = expression.get_data()[0]
    value = getattr(exponent, "value", exponent)
    if value is None:
        return operator_formula("power", [arguments[0], Formula(rf"\text{{{exponent.name()}}}")])
    if float(value) == 0.5:
        return Formula(rf"\sqrt{{{arguments[0].text}}}")
    sign = "" if is_number(expression) else r"\circ "
    return arguments[0].power(sign + number_formula(float(value)).text)


def _extreme(sign: str) -> AtomFormula:
    """Return the formula of the largest or the smallest of arguments."""
    return lambda expression, arguments: Formula(
        rf"{sign}\left\{{{', '.join(shorten_list([argument.text for argument in arguments]))}\right\}}"
    )


def _huber_index(expression: Any) -> str:
    """Return the width of Huber's loss."""
    return "M" if expression.M.value is None else number_formula(float(expression.M.value)).text


ELEMENTWISE_FORMULAS: dict[str, AtomFormula] = {
    "exp": function_rule(r"\exp"),
    "log": function_rule(r"\log"),
    "log1p": lambda expression, arguments: Formula(rf"\log{in_brackets('1 + ' + arguments[0].enclose(PRODUCT))}"),
    "abs": lambda expression, arguments: Formula(rf"\lvert {arguments[0].text} \rvert"),
    "Power": power,
    "PowerApprox": power,
    "maximum": _extreme(r"\max"),
    "minimum": _extreme(r"\min"),
    "huber": operator_rule("huber", _huber_index),
    **{
        name: operator_rule(name)
        for name in ("entr", "logistic", "xexp", "kl_div", "rel_entr", "log_normcdf", "loggamma")
    },
}
"""Functions of numbers."""


# Functions of vectors and matrices


def norm(argument: Formula, index: str, is_matrix: bool = False) -> Formula:
    """Return a norm, of all entries of a matrix if `is_matrix`."""
    inner = operator_formula("vec", [argument]).text if is_matrix else argument.text
    return Formula(rf"\lVert {inner} \rVert_{{{index}}}")


def _vector_norm(index: str) -> AtomFormula:
    """Return the formula of a norm of all entries, or along an axis."""

    def formula(expression: Any, arguments: Sequence[Formula]) -> Formula:
        axis = axis_index(expression)
        is_matrix = not axis and not is_column(expression.args[0]) and not is_number(expression.args[0])
        return norm(arguments[0], comma_list(index, axis), is_matrix)

    return formula


def _p_norm(expression: Any, arguments: Sequence[Formula]) -> Formula:
    """Return a p-norm; the 2-norm of all entries of a matrix is Frobenius's."""
    p, axis = expression.original_p, axis_index(expression)
    is_matrix = not axis and not is_column(expression.args[0])
    if is_matrix and p == 2:
        return norm(arguments[0], "F")
    index = r"\infty" if p == math.inf else number_formula(float(p)).text
    return norm(arguments[0], comma_list(index, axis), is_matrix)


def _squares_over_number(expression: Any, arguments: Sequence[Formula]) -> Formula:
    """Return a sum of squares, divided by a number if this is not 1."""
    axis = axis_index(expression)
    argument = expression.args[0]
    index = comma_list("2" if axis or is_column(argument) or is_number(argument) else "F", axis)
    squares = rf"\lVert {arguments[0].text} \rVert_{{{index}}}^{{2}}"
    return Formula(squares) if arguments[1].text == "1" else Formula(rf"\frac{{{squares}}}{{{arguments[1].text}}}")


def _quadratic_form(expression: Any, arguments: Sequence[Formula]) -> Formula:
    """Return a quadratic form."""
    if is_number(expression.args[1]):
        return product(arguments[1], arguments[0].power("2"))
    return product(arguments[0].transpose, arguments[1], arguments[0])


def _matrix_fraction(expression: Any, arguments: Sequence[Formula]) -> Formula:
    """Return xᵀ P^-1 x, or the trace of this matrix."""
    X, P = arguments
    fraction = product(X.transpose, P.power("-1"), X)
    return fraction if is_column(expression.args[0]) else operator_formula("tr", [fraction])


def _weights_index(expression: Any) -> str:
    """Return the weights of a geometric mean; "" if all are equal."""
    weights = [float(weight) for weight in np.ravel(np.asarray(expression.p, dtype=object))]
    if len(set(weights)) <= 1:
        return ""
    return "(" + ", ".join(shorten_list([number_formula(weight).text for weight in weights])) + ")"


def _perspective(expression: Any, arguments: Sequence[Formula]) -> Formula:
    """Return a perspective; the arguments are s and, put before by the typesetter, f."""
    return operator_formula("persp", arguments[:2])


def _count_index(expression: Any) -> str:
    """Return the number of the largest entries that are summed."""
    return number_formula(float(expression.k)).text


ARRAY_FORMULAS: dict[str, AtomFormula] = {
    "max": function_rule(r"\max"),
    "min": function_rule(r"\min"),
    "norm1": _vector_norm("1"),
    "norm_inf": _vector_norm(r"\infty"),
    "Pnorm": _p_norm,
    "PnormApprox": _p_norm,
    "quad_over_lin": _squares_over_number,
    "QuadForm": _quadratic_form,
    "MatrixFrac": _matrix_fraction,
    "GeoMean": operator_rule("geomean", _weights_index),
    "GeoMeanApprox": operator_rule("geomean", _weights_index),
    "sum_largest": operator_rule("sumlargest", _count_index),
    "log_sum_exp": operator_rule("logsumexp"),
    "lambda_max": function_rule(r"\lambda_{\max}"),
    "lambda_sum_largest": operator_rule("eigsumlargest", _count_index),
    "log_det": function_rule(r"\log\det"),
    "tr_inv": lambda expression, arguments: operator_formula("tr", [arguments[0].power("-1")]),
    "sigma_max": function_rule(r"\sigma_{\max}"),
    "normNuc": lambda expression, arguments: norm(arguments[0], "*"),
    "perspective": _perspective,
}
"""Functions of vectors and matrices."""

ATOM_FORMULAS: dict[str, AtomFormula] = {**AFFINE_FORMULAS, **ELEMENTWISE_FORMULAS, **ARRAY_FORMULAS}
"""The formula of an atom by the name of its class."""

MEANINGS: dict[str, tuple[str, str]] = {
    "entr": (r"\operatorname{entr}(u)", r"-u \log u"),
    "logistic": (r"\operatorname{logistic}(u)", r"\log(1 + \exp(u))"),
    "xexp": (r"\operatorname{xexp}(u)", r"u \exp(u)"),
    "huber": (
        r"\operatorname{huber}_{M}(u)",
        r"u^{2} \text{ if } \lvert u \rvert \le M, \; M (2 \lvert u \rvert - M) \text{ otherwise}",
    ),
    "kl_div": (r"\operatorname{kl\_div}(u, v)", r"u \log(u / v) - u + v"),
    "rel_entr": (r"\operatorname{rel\_entr}(u, v)", r"u \log(u / v)"),
    "log_sum_exp": (r"\operatorname{logsumexp}(u)", r"\log \textstyle\sum_{i} \exp(u_{i})"),
    "GeoMean": (r"\operatorname{geomean}_{p}(u)", r"\textstyle\prod_{i} u_{i}^{p_{i}}, \; p_{i} \text{ sum to } 1"),
    "sum_largest": (r"\operatorname{sumlargest}_{k}(u)", r"\text{the sum of the } k \text{ largest entries of } u"),
    "lambda_sum_largest": (
        r"\operatorname{eigsumlargest}_{k}(U)",
        r"\text{the sum of the } k \text{ largest eigenvalues}",
    ),
    "von_neumann_entr": (r"\operatorname{von\_neumann\_entr}(U)", r"-\operatorname{tr}(U \log U)"),
    "cummax": (r"\operatorname{cummax}(u)", r"\text{the largest of } u_{0}, \ldots, u_{i} \text{ for each } i"),
    "dotsort": (r"\operatorname{dotsort}(u, w)", r"\text{the inner product of } u \text{ and } w \text{, both sorted}"),
    "perspective": (r"\operatorname{persp}(f, s)", r"s f(x / s), \; x \text{ the variables of } f"),
}
"""The meaning of functions that are shown by their names: a call, and its value."""
MEANINGS["GeoMeanApprox"] = MEANINGS["GeoMean"]
