"""CVXPY expressions as TeX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from boostopt._utils.cvxpy_tools import cp
from boostopt.problem_certificates.pages.atom_formulas import (
    ATOM_FORMULAS,
    MEANINGS,
    axis_index,
    is_scalar,
    sum_formula,
)
from boostopt.problem_certificates.pages.expression_names import ExpressionNames
from boostopt.problem_certificates.pages.tex_formulas import (
    ELLIPSIS,
    PRODUCT,
    Formula,
    inner_product,
    operator_formula,
    product,
    signed_sum,
)

RUN_LENGTH = 4
"""The number of terms or constraints of one form in a row from which on only the first and the last are shown."""

MAX_BLOCK_SIZE = 8
"""Largest number of terms or constraints that are repeated as a block, as by a loop."""

DOTS = Formula(ELLIPSIS, PRODUCT)
"""The term for those left out."""


class ExpressionTypesetter:
    """The formulas of the expressions of one problem.

    Parameters
    ----------
    names
        The names of variables, parameters and data.
    """

    def __init__(self, names: ExpressionNames) -> None:
        self.names = names
        self.classes: set[str] = set()
        self._memo: dict[int, tuple[Any, Formula]] = {}

    def formula(self, expression: Any) -> Formula:
        """Return the formula of an expression."""
        entry = self._memo.get(id(expression))
        if entry is None:
            entry = self._memo[id(expression)] = (expression, self._typeset(expression))
        return entry[1]

    def meanings(self) -> list[tuple[str, str]]:
        """Return the calls and values of the functions that are shown by their names."""
        return list(dict.fromkeys(MEANINGS[name] for name in sorted(self.classes & MEANINGS.keys())))

    def _typeset(self, expression: Any) -> Formula:
        """Return the formula of an expression that was not typeset before."""
        if isinstance(expression, cp.Variable):
            return self.names.variables[expression.id]
        if isinstance(expression, cp.Parameter):
            return self.names.parameters[expression.id]
        if isinstance(expression, cp.Constant):
            return self.names.constant(expression)
        name = type(expression).__name__
        self.classes.add(name)
        if name in ("AddExpression", "NegExpression"):
            return self._sum(expression)
        if name == "Sum" and _is_product_of_arrays(expression):
            first, second = map(self.formula, expression.args[0].args)
            return inner_product(first, second, expression.args[0])
        if name == "Sum" and (factors := _number_and_array(expression.args[0])):
            return product(
                self.formula(_without_promotion(factors[0])), sum_formula(expression, [self.formula(factors[1])])
            )
        parts = map(_without_promotion, expression.args) if name in ("multiply", "DivExpression") else expression.args
        arguments = [self.formula(part) for part in parts]
        if name == "perspective":
            arguments.insert(0, self.formula(expression.f))
        if name in ATOM_FORMULAS and type(expression).__module__.startswith("cvxpy."):
            return ATOM_FORMULAS[name](expression, arguments)
        return operator_formula(name, arguments, axis_index(expression))

    def _sum(self, expression: Any) -> Formula:
        """Return a sum or a negative; long runs of terms of one form are shortened."""
        terms = signed_terms(expression)
        result = list[tuple[int, Formula]]()
        for k in visible_positions([form_of(term) for _, term in terms]):
            result.append((1, DOTS) if k is None else (terms[k][0], self.formula(terms[k][1])))
        return signed_sum([term for term in result if term[1].text != "0"])


def _is_product_of_arrays(expression: Any) -> bool:
    """Return whether a sum is an inner product: of all entries of a product entry by entry of two arrays."""
    argument = expression.args[0]
    is_whole = getattr(expression, "axis", None) is None and not getattr(expression, "keepdims", False)
    return is_whole and type(argument).__name__ == "multiply" and not any(map(is_scalar, argument.args))


def _number_and_array(expression: Any) -> tuple[Any, Any] | None:
    """Return the factors of a multiple of an array; None for other expressions."""
    if type(expression).__name__ != "multiply":
        return None
    first, second = sorted(expression.args, key=lambda factor: not is_scalar(factor))
    return (first, second) if is_scalar(first) and second.shape == expression.shape else None


def _without_promotion(expression: Any) -> Any:
    """Return the number that is the factor of an array."""
    return expression.args[0] if type(expression).__name__ == "Promote" else expression


def signed_terms(expression: Any, sign: int = 1) -> list[tuple[int, Any]]:
    """Return the terms of a sum with their signs."""
    name = type(expression).__name__
    if name == "NegExpression":
        return signed_terms(expression.args[0], -sign)
    if name == "AddExpression":
        return [term for argument in expression.args for term in signed_terms(argument, sign)]
    if name == "Promote" and type(expression.args[0]).__name__ == "NegExpression":
        return signed_terms(cp.promote(expression.args[0].args[0], expression.shape), -sign)
    return [(sign, expression)]


def form_of(expression: Any) -> Any:
    """Return what two expressions share that differ only in their numbers, data and indices."""
    if isinstance(expression, cp.Constant):
        return "constant", tuple(expression.shape)
    if isinstance(expression, cp.Variable | cp.Parameter):
        return "leaf", expression.id
    name = type(expression).__name__
    data = "" if name in ("index", "special_index") else str(expression.get_data())
    return name, data, tuple(expression.shape), *map(form_of, expression.args)


def visible_positions(forms: Sequence[Any]) -> list[int | None]:
    """Return the positions that are shown, with None for those left out: of repeated blocks, all but first and last."""
    result, k = list[int | None](), 0
    while k < len(forms):
        size, count = max(
            ((size, _n_repetitions(forms, k, size)) for size in range(1, MAX_BLOCK_SIZE + 1)),
            key=lambda block: block[0] * block[1] if block[1] >= RUN_LENGTH else 0,
        )
        if count < RUN_LENGTH:
            result.append(k)
            k += 1
            continue
        stop = k + size * count
        result += [*range(k, k + size), None, *range(stop - size, stop)]
        k = stop
    return result


def _n_repetitions(forms: Sequence[Any], first: int, size: int) -> int:
    """Return how often a block of forms follows itself, itself included."""
    block, count = forms[first : first + size], 1
    while len(block) == size and forms[first + count * size : first + (count + 1) * size] == block:
        count += 1
    return count
