"""The grammar of formulas: + - * / **, numbers, names, log, exp, sqrt, max, min and huber.

Python's parser splits the text; the text is never evaluated. Everything outside the grammar is rejected by its name.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Collection, Mapping
from fractions import Fraction

from boostopt.functions.formulas.differentiation import differentiate
from boostopt.functions.formulas.expressions import (
    NONSMOOTH_ALTERNATIVE,
    Expression,
    Factor,
    FormulaError,
    constant_expression,
    function_expression,
    power_expression,
)

MAX_TEXT_LENGTH = 1000
"""Maximum number of characters of a formula."""

MAX_NODES = 300
"""Maximum number of names, numbers and operations of a formula."""

GRAMMAR = "Write it with + - * / **, numbers, names, log, exp, sqrt, max, min and huber(x, M)."
"""The advice of error messages."""


def parse_formula(
    text: str,
    numbers: Mapping[str, float],
    positive: Collection[str] = (),
    real: Collection[str] = (),
    variable: str = "d",
) -> Expression:
    """Parse a formula as a sum of terms.

    Parameters
    ----------
    text
        The formula.
    numbers
        The values of parameters that are one number each. Floats are read exactly.
    positive
        Names of positive quantities.
    real
        Names of quantities of any sign.
    variable
        The name of the variable. Arguments of positive parts and of Huber functions must be linear in it.

    Raises
    ------
    FormulaError
        The text is not an expression, is too long, has an unknown name, or has a part outside the grammar.
    """
    if len(text) > MAX_TEXT_LENGTH:
        raise FormulaError(f"it must have at most {MAX_TEXT_LENGTH} letters; it has {len(text)}")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as failure:
        why = (
            failure.msg if isinstance(failure, SyntaxError) else failure
        )  # without the position, which refers to no file
        raise FormulaError(f"it is no formula: {why}. {GRAMMAR}") from None
    if sum(1 for _ in ast.walk(tree)) > 2 * MAX_NODES:
        raise FormulaError(f"it must have at most {MAX_NODES} names, numbers and operations")
    return _Parser(numbers, positive, real, variable).read(tree)


class _Parser:
    """A recursive translation of Python's syntax tree to an expression, for given names."""

    def __init__(
        self, numbers: Mapping[str, float], positive: Collection[str], real: Collection[str], variable: str
    ) -> None:
        self.numbers, self.positive, self.real, self.variable = numbers, positive, real, variable

    def read(self, node: ast.expr) -> Expression:
        """Return a part of the formula as an expression."""
        match node:
            case ast.Constant(value=value):
                return constant_expression(_to_fraction(value))
            case ast.Name(id=name):
                return self._parse_name(name)
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return -self.read(inner)
            case ast.UnaryOp(op=ast.UAdd(), operand=inner):
                return self.read(inner)
            case ast.BinOp(left=left, op=op, right=right):
                return self._apply_operation(op, self.read(left), self.read(right))
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self._parse_call(name, arguments)
            case _:
                part = ast.unparse(node)[:40]
                raise FormulaError(f"{part!r} is not part of a formula. {GRAMMAR}")

    def _parse_name(self, name: str) -> Expression:
        if name in self.numbers:
            return constant_expression(_to_fraction(self.numbers[name]))
        if name not in self.positive and name not in self.real:
            names = ", ".join(sorted({*self.numbers, *self.positive, *self.real}))
            raise FormulaError(
                f"it has the unknown name {name!r}. Known: {names}. Pass a parameter by its name: {name}=0.1."
            )
        return power_expression(Factor("name" if name in self.positive else "real", name=name))

    def _apply_operation(self, op: ast.operator, a: Expression, b: Expression) -> Expression:
        match op:
            case ast.Add():
                return a + b
            case ast.Sub():
                return a - b
            case ast.Mult():
                return a * b
            case ast.Div():
                return a * b.power(Fraction(-1))
            case ast.Pow():
                return (
                    a.power(b.constant_value)
                    if b.constant_value is not None
                    else function_expression("exp", b * function_expression("log", a))
                )
            case ast.BitXor():
                raise FormulaError("^ is no operation of a formula. Write a power as x**2")
            case _:
                raise FormulaError(f"{type(op).__name__} is no operation of a formula. {GRAMMAR}")

    def _parse_call(self, name: str, arguments: list[ast.expr]) -> Expression:
        makers: Mapping[str, tuple[int, Callable[..., Expression]]] = {
            "log": (1, lambda x: function_expression("log", x)),
            "exp": (1, lambda x: function_expression("exp", x)),
            "sqrt": (1, lambda x: x.power(Fraction(1, 2))),
            "max": (2, self._maximum),
            "min": (2, lambda x, y: -self._maximum(-x, -y)),
            "huber": (2, self._huber),
        }
        if name in {"abs", "Abs"}:
            raise FormulaError(
                "abs(x) has a kink, and a formula has none. Write huber(x, M) or sqrt(x**2 + a); or state it by CVXPY: "
                f"{NONSMOOTH_ALTERNATIVE}"
            )
        if name not in makers:
            raise FormulaError(f"it calls {name!r}, which is no function of a formula. {GRAMMAR}")
        count, make = makers[name]
        if len(arguments) != count:
            raise FormulaError(f"{name} takes {count} {'arguments' if count > 1 else 'argument'}; got {len(arguments)}")
        return make(*map(self.read, arguments))

    def _positive(self, x: Expression) -> Expression:
        self._check_linear(x)
        number = x.constant_value
        return function_expression("positive", x) if number is None else constant_expression(max(number, Fraction(0)))

    def _maximum(self, x: Expression, y: Expression) -> Expression:
        """Return max(x, y) as [x - y]_+ + y, where y is the argument without the variable if there is one."""
        x, y = (y, x) if y.depends_on(self.variable) and not x.depends_on(self.variable) else (x, y)
        return self._positive(x - y) + y

    def _huber(self, x: Expression, M: Expression) -> Expression:
        self._check_linear(x)
        if M.depends_on(self.variable) or (M.constant_value is not None and M.constant_value <= 0):
            raise FormulaError(f"huber(x, M) must have a positive M without {self.variable}")
        return function_expression("huber", x, M)

    def _check_linear(self, x: Expression) -> None:
        """Reject an argument that is not linear: its positive part could begin at several points."""
        if differentiate(x, self.variable).depends_on(self.variable):
            raise FormulaError(f"max, min and huber must be of something that is linear in {self.variable}")


def _to_fraction(value: object) -> Fraction:
    """Return the exact value of a number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= 1e100:
        raise FormulaError(f"{str(value)[:40]!r} must be a number of at most 1e100")
    if isinstance(value, float) and not math.isfinite(value):
        raise FormulaError(f"{value!r} must be a finite number")
    return Fraction(value)
