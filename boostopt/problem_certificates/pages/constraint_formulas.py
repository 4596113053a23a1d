"""Constraints as TeX: the statement, the multipliers with CVXPY's signs, and their conditions, by kind.

The dual of a cone constraint lies in the dual cone, and its inner product with the arguments is subtracted in the
Lagrangian: so CVXPY has it, in problems that minimize and in problems that maximize.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from boostopt._utils.cvxpy_tools import cp
from boostopt.errors import ProblemError
from boostopt.problem_certificates.atoms.cone_inequalities import CONSTRAINT_REASONS
from boostopt.problem_certificates.pages.atom_formulas import axis_index, comma_list
from boostopt.problem_certificates.pages.expression_typesetter import ExpressionTypesetter
from boostopt.problem_certificates.pages.lagrangian_slopes import WeightedTerm
from boostopt.problem_certificates.pages.slope_rules import Weight
from boostopt.problem_certificates.pages.tex_formulas import (
    ONES,
    PRODUCT,
    SIMPLE,
    Formula,
    in_brackets,
    inner_product,
    is_number,
    number_formula,
    signed_sum,
)

LETTERS: dict[str, tuple[str, ...]] = {
    "inequality": (r"\lambda",),
    "equality": (r"\nu",),
    "semidefinite": ("Z",),
    "second-order": (r"\lambda", r"\mu"),
    "exponential": (r"\alpha", r"\beta", r"\gamma"),
    "power": (r"\alpha", r"\beta", r"\gamma"),
    "long power": (r"\alpha", r"\gamma"),
}
"""The letters of the multipliers of each kind of constraint, one for each part of its dual in CVXPY."""


@dataclass(frozen=True)
class ConstraintFormulas:
    """A constraint of a problem.

    Attributes
    ----------
    statement
        The constraint.
    multipliers
        Its multipliers.
    terms
        The terms of the Lagrangian.
    lagrangian
        Their sum, with its sign.
    dual_condition
        The condition that the multipliers must satisfy; "" for none.
    complementarity
        The condition; "" for an equality.
    places
        The place of each multiplier in CVXPY.
    """

    statement: str
    multipliers: tuple[Formula, ...]
    terms: tuple[WeightedTerm, ...]
    lagrangian: tuple[int, Formula]
    dual_condition: str
    complementarity: str
    places: tuple[str, ...]


def kind_of_constraint(constraint: Any) -> str:
    """Return the key of LETTERS of a constraint.

    Raises
    ------
    ProblemError
        The constraint is of a kind without multipliers.
    """
    name = type(constraint).__name__.removesuffix("Approx")
    kinds = {
        **dict.fromkeys(("Inequality", "NonPos", "NonNeg"), "inequality"),
        **dict.fromkeys(("Equality", "Zero"), "equality"),
        "PSD": "semidefinite",
        "SOC": "second-order",
        "ExpCone": "exponential",
        "PowCone3D": "power",
        "PowConeND": "long power",
    }
    if name not in kinds:
        raise ProblemError(
            "constraints must be inequalities, equalities, semidefinite, second-order, exponential or power cones; got "
            f"{name}. {CONSTRAINT_REASONS.get(name, 'Write it with atoms, such as power or norm.')}"
        )
    return kinds[name]


def constraint_formulas(constraint: Any, k: int, typesetter: ExpressionTypesetter) -> ConstraintFormulas:
    """Return the formulas of constraint k of a problem, counted from 0.

    Raises
    ------
    ProblemError
        The constraint is of a kind without multipliers.
    """
    kind = kind_of_constraint(constraint)
    letters = [typesetter.names.multiplier_letter(letter) for letter in LETTERS[kind]]
    multipliers = tuple(Formula(f"{letter}_{{{k + 1}}}") for letter in letters)
    if kind in ("inequality", "equality"):
        return _scalar_constraint(constraint, k, multipliers[0], typesetter, kind == "equality")
    arguments: Sequence[Any] = constraint.args
    terms = tuple(
        WeightedTerm(Weight(-1.0, multiplier), argument)
        for multiplier, argument in zip(multipliers, arguments, strict=True)
    )
    formulas = [typesetter.formula(argument) for argument in arguments]
    products = [
        inner_product(multiplier, formula, argument)
        for multiplier, formula, argument in zip(multipliers, formulas, arguments, strict=True)
    ]
    statement, condition = _cone_texts(kind, constraint, k, formulas, multipliers)
    total = signed_sum([(1, formula) for formula in products])
    places = (
        (f"constraints[{k}].dual_value",)
        if kind == "semidefinite"
        else tuple(f"constraints[{k}].dual_variables[{i}].value" for i in range(len(multipliers)))
    )
    return ConstraintFormulas(statement, multipliers, terms, (-1, total), condition, f"{total.text} = 0", places)


def _scalar_constraint(
    constraint: Any, k: int, multiplier: Formula, typesetter: ExpressionTypesetter, is_equality: bool
) -> ConstraintFormulas:
    """Return the formulas of an inequality or an equality."""
    name = type(constraint).__name__
    first_side = constraint.args[0] if name != "NonNeg" else -constraint.args[0]
    second_side = constraint.args[1] if len(constraint.args) > 1 else cp.Constant(0.0)
    difference, sign = first_side - second_side, 1
    first, second = typesetter.formula(first_side), typesetter.formula(second_side)
    inner = typesetter.formula(difference)
    if first.text == "0":
        inner, sign = second, -1
    if is_equality:
        statement = f"{first.text} = {second.text}"
    elif first_side.is_constant() and not second_side.is_constant():
        statement = rf"{second.text} \ge {first.text}"
    else:
        statement = rf"{first.text} \le {second.text}"
    total = inner_product(multiplier, inner, difference)
    complementarity = (
        f"{total.text} = 0" if is_number(difference) else rf"{multiplier.text} \circ {inner.enclose(PRODUCT)} = 0"
    )
    return ConstraintFormulas(
        statement,
        (multiplier,),
        (WeightedTerm(Weight(1.0, multiplier), difference),),
        (sign, total),
        "" if is_equality else rf"{multiplier.text} \ge 0",
        "" if is_equality else complementarity,
        (f"constraints[{k}].dual_value",),
    )


def _cone_texts(
    kind: str, constraint: Any, k: int, formulas: Sequence[Formula], multipliers: Sequence[Formula]
) -> tuple[str, str]:
    """Return the statement of a cone constraint, and the condition that its multipliers lie in the dual cone."""
    first, last = formulas[0], formulas[-1]
    u, w = multipliers[0], multipliers[-1]
    if kind == "semidefinite":
        return rf"{first.text} \succeq 0", rf"{u.text} \succeq 0"
    if kind == "second-order":
        argument = constraint.args[1]
        index = comma_list("2", axis_index(constraint) if argument.ndim == 2 and min(argument.shape) > 1 else "")
        return (
            rf"\lVert {last.text} \rVert_{{{index}}} \le {first.text}",
            rf"\lVert {w.text} \rVert_{{{index}}} \le {u.text}",
        )
    if kind == "exponential":
        return _exponential_cone(constraint, formulas, multipliers)
    weights = f"\\omega_{{{k + 1}}}"
    if kind == "long power":
        index = rf"\omega_{{{k + 1},i}}"
        return (
            rf"\textstyle\prod_{{i}} {first.enclose(SIMPLE)}_{{i}}^{{{index}}} \ge \lvert {last.text} \rvert, \; "
            rf"{first.text} \ge 0",
            rf"\textstyle\prod_{{i}} ({u.text[:-1]},i}} / {index})^{{{index}}} \ge \lvert {w.text} \rvert, \; "
            rf"{u.text} \ge 0",
        )
    values = {float(value) for value in constraint.alpha.value.ravel().tolist()}
    a, b = (weights, f"1 - {weights}") if len(values) > 1 else tuple(_share_texts(values.pop()))
    y, v = formulas[1], multipliers[1]
    sign, times = ("", " ") if is_number(constraint.args[0]) else (r"\circ ", r" \circ ")
    first_base = Formula(f"{u.text} / {a}", PRODUCT)
    second_base = Formula(f"{v.text} / {in_brackets(b) if '-' in b else b}", PRODUCT)
    return (
        f"{first.power(sign + a).text}{times}{y.power(sign + b).text} "
        rf"\ge \lvert {last.text} \rvert, \; {first.text} \ge 0, \; {y.text} \ge 0",
        f"{first_base.power(sign + a).text}{times}{second_base.power(sign + b).text} "
        rf"\ge \lvert {w.text} \rvert, \; {u.text} \ge 0, \; {v.text} \ge 0",
    )


def _exponential_cone(constraint: Any, formulas: Sequence[Formula], multipliers: Sequence[Formula]) -> tuple[str, str]:
    """Return the statement of an exponential cone, and the condition of its dual cone."""
    x, y, z = formulas
    u, v, w = multipliers
    statement = rf"{y.enclose(PRODUCT)} \exp{in_brackets(f'{x.enclose(PRODUCT)} / {y.enclose(SIMPLE)}')} \le {z.text}"
    if y.text in ("1", ONES.text):
        statement = rf"\exp{in_brackets(x.text)} \le {z.text}"
    elif not constraint.args[1].is_constant():
        statement += rf", \; {y.text} \ge 0"
    return statement, rf"-{u.text} \exp({v.text} / {u.text}) \le e \, {w.text}, \; {u.text} \le 0, \; {w.text} \ge 0"


def _share_texts(exponent: float) -> Iterator[str]:
    """Yield an exponent of a power cone, and the other."""
    for value in (exponent, 1.0 - exponent):
        yield number_formula(value).text


def weight_symbol(constraint: Any, k: int) -> tuple[str, str] | None:
    """Return the name of the exponents of a power cone, and where CVXPY has them; None if they are numbers."""
    name = type(constraint).__name__.removesuffix("Approx")
    if name == "PowConeND" or (name == "PowCone3D" and len(set(constraint.alpha.value.ravel().tolist())) > 1):
        return rf"\omega_{{{k + 1}}}", f"constraints[{k}].alpha"
    return None
