"""Slopes of a Lagrangian in the variables, as TeX: gradients of smooth terms, and terms that have subgradients only.

A term <weight, expression> is carried from the root of the expression to the variables by the rules of `slope_rules`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from boostopt._utils.cvxpy_tools import cp
from boostopt.problem_certificates.pages.expression_typesetter import (
    DOTS,
    ExpressionTypesetter,
    form_of,
    visible_positions,
)
from boostopt.problem_certificates.pages.slope_rules import (
    AFFINE_SLOPES,
    DERIVATIVES,
    Weight,
    is_affine,
    is_smooth,
    sum_parts,
)
from boostopt.problem_certificates.pages.tex_formulas import (
    PRODUCT,
    Formula,
    in_brackets,
    inner_product,
    number_formula,
    product,
    signed_sum,
)


@dataclass(frozen=True)
class WeightedTerm:
    """A term <weight, expression> of the Lagrangian.

    Attributes
    ----------
    weight, expression
        The weight and the expression.
    is_hidden
        Whether dots stand for the term.
    """

    weight: Weight
    expression: Any
    is_hidden: bool = False


@dataclass
class Slopes:
    """The slopes of a Lagrangian.

    Attributes
    ----------
    gradients
        The signed terms of the gradient by the id of a variable; None stands for dots.
    kinks
        The terms that have no gradient everywhere.
    """

    gradients: dict[int, list[tuple[int, Formula] | None]] = field(default_factory=dict)
    kinks: list[WeightedTerm] = field(default_factory=list)

    def add(self, variable: Any, term: tuple[int, Formula] | None) -> None:
        """Add a term to the gradient in a variable; dots once."""
        terms = self.gradients.setdefault(variable.id, [])
        if term is not None or not terms or terms[-1] is not None:
            terms.append(term)


class NoRule(Exception):
    """An affine atom has no rule, so that the gradient of the whole term is named instead."""


class SlopeCollector:
    """Collects the slopes of the terms of a Lagrangian.

    Parameters
    ----------
    typesetter
        The formulas of expressions.
    """

    def __init__(self, typesetter: ExpressionTypesetter) -> None:
        self._typesetter = typesetter
        self.slopes: Slopes = Slopes()

    def add(self, term: WeightedTerm) -> None:
        """Add a term. The gradient of what no rule covers is named, once for each variable."""
        uncovered = list[WeightedTerm]()
        for part in _without_repetitions(list(_summands(term))):
            result = Slopes()
            try:
                self._move(part.expression, part.weight, result)
            except NoRule:
                uncovered.append(part)
                continue
            self._merge(part, result)
        smooth = [part for part in uncovered if is_smooth(part.expression)]
        self.slopes.kinks += [part for part in uncovered if not is_smooth(part.expression)]
        for variable in term.expression.variables():
            parts = [part for part in smooth if has_variable(part.expression, variable)]
            sums = [(1, DOTS) if part.is_hidden and not term.is_hidden else self.formula(part) for part in parts]
            sums = [entry for k, entry in enumerate(sums) if k == 0 or entry[1] != DOTS or sums[k - 1][1] != DOTS]
            if sums:
                first = sums[0][0]
                name, total = (
                    self._typesetter.formula(variable).text,
                    signed_sum([(s if f == DOTS else first * s, f) for s, f in sums]),
                )
                gradient = Formula(rf"\nabla_{{{name}}} {in_brackets(total.text)}", PRODUCT)
                self.slopes.add(variable, None if term.is_hidden else (first, gradient))

    def _merge(self, term: WeightedTerm, result: Slopes) -> None:
        """Add the slopes of a term, or dots for them."""
        for variable in term.expression.variables():
            for entry in result.gradients.get(variable.id, []):
                self.slopes.add(variable, None if term.is_hidden else entry)
        self.slopes.kinks += [replace(part, is_hidden=term.is_hidden) for part in result.kinks]

    def formula(self, term: WeightedTerm) -> tuple[int, Formula]:
        """Return a term with its sign."""
        weight, expression = term.weight, term.expression
        inner = self._typesetter.formula(expression)
        if weight.formula is None:
            return weight.sign, product(number_formula(abs(weight.number)), inner)
        total = inner_product(weight.formula, inner, expression)
        return weight.sign, product(number_formula(abs(weight.number)), total)

    def _move(self, expression: Any, weight: Weight, slopes: Slopes) -> None:
        """Move a weight to the variables of an expression.

        Raises
        ------
        NoRule
            An affine atom has none.
        """
        if expression.is_constant():
            return
        if isinstance(expression, cp.Variable):
            slopes.add(expression, (weight.sign, weight.size))
            return
        name = type(expression).__name__
        parts = sum_parts(name, expression, weight)
        if parts is None and name in AFFINE_SLOPES:
            parts = AFFINE_SLOPES[name](expression, weight, self._typesetter.formula)
        if parts is None and name in DERIVATIVES and is_affine(expression.args[0]):
            parts = DERIVATIVES[name](expression, weight, self._typesetter.formula)
        if parts is not None:
            for part, part_weight in parts:
                self._move(part, part_weight, slopes)
        elif is_affine(expression):
            raise NoRule(name)
        else:
            slopes.kinks.append(WeightedTerm(weight, expression))


def _without_repetitions(terms: Sequence[WeightedTerm]) -> list[WeightedTerm]:
    """Return the terms of a sum, those hidden that repeat the form of others."""
    visible = visible_positions([form_of(term.expression) for term in terms])
    return [replace(term, is_hidden=term.is_hidden or k not in visible) for k, term in enumerate(terms)]


def has_variable(expression: Any, variable: Any) -> bool:
    """Return whether a variable occurs in an expression."""
    return any(entry.id == variable.id for entry in expression.variables())


def _summands(term: WeightedTerm) -> Iterator[WeightedTerm]:
    """Yield the terms of the sum that the expression of a term is, without constant ones."""
    expression = term.expression
    if expression.is_constant():
        return
    parts = sum_parts(type(expression).__name__, expression, term.weight)
    if parts is None:
        yield term
        return
    for part, weight in parts:
        yield from _summands(replace(term, weight=weight, expression=part))


def sum_with_dots(terms: Sequence[tuple[int, Formula] | None]) -> Formula:
    """Return a sum in which None stands for dots."""
    return signed_sum([(1, Formula(r"\cdots", PRODUCT)) if term is None else term for term in terms])
