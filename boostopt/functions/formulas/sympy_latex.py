"""LaTeX of formulas, by SymPy, without simplification and in the order of the text."""

from __future__ import annotations

import ast
from importlib import import_module
from typing import Any

from boostopt.functions.formulas.expressions import FormulaError

SYMBOLS = {"d": "d_n", "d0": "d^0_n", "c": "c_n", "u": "u_n", "e": "e_q"}
"""The LaTeX of the names that every formula may have."""


def latex(text: str) -> str:
    """Return the LaTeX of a formula, a text of the grammar."""
    return str(_Writer(import_module("sympy")).latex(text))


class _Writer:
    """A translation of Python's syntax tree to SymPy expressions that are not simplified."""

    def __init__(self, sympy: Any) -> None:
        self.sympy = sympy

    def latex(self, text: str) -> str:
        """Return the LaTeX of a text."""
        expression = self.read(ast.parse(text.strip(), mode="eval").body)
        names = {symbol: SYMBOLS[symbol.name] for symbol in expression.free_symbols if symbol.name in SYMBOLS}
        return self.sympy.latex(expression, symbol_names=names, order="none")

    def read(self, node: ast.expr) -> Any:
        """Return a part of a formula as a SymPy expression."""
        match node:
            case ast.Constant(value=int(value)):
                return self.sympy.Integer(value)
            case ast.Constant(value=value):
                return self.sympy.Symbol(repr(value))
            case ast.Name(id=name):
                return self.sympy.Symbol(name)
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return self.sympy.Mul(self.sympy.Integer(-1), self.read(inner), evaluate=False)
            case ast.UnaryOp(operand=inner):
                return self.read(inner)
            case ast.BinOp(left=left, op=op, right=right):
                return self.format_operation(op, self.read(left), self.read(right))
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return self.format_call(name, [self.read(argument) for argument in arguments])
            case _:
                raise FormulaError(f"{ast.unparse(node)!r} is not part of a formula")

    def format_operation(self, op: ast.operator, a: Any, b: Any) -> Any:
        """Return the result of an operation, without simplification."""
        sympy = self.sympy
        if isinstance(op, ast.Pow):
            return sympy.Pow(a, b, evaluate=False)
        if isinstance(op, ast.Mult | ast.Div):
            # One product of all factors: two divisions give one fraction.
            factors = a.args if isinstance(a, sympy.Mul) else (a,)
            factor = b if isinstance(op, ast.Mult) else sympy.Pow(b, sympy.Integer(-1), evaluate=False)
            return sympy.Mul(*factors, factor, evaluate=False)
        return sympy.Add(
            a, b if isinstance(op, ast.Add) else sympy.Mul(sympy.Integer(-1), b, evaluate=False), evaluate=False
        )

    def format_call(self, name: str, arguments: list[Any]) -> Any:
        """Return a function of arguments."""
        sympy = self.sympy
        functions = {"log": sympy.log, "exp": sympy.exp, "max": sympy.Max, "min": sympy.Min}
        if name == "sqrt":
            return sympy.Pow(arguments[0], sympy.Rational(1, 2), evaluate=False)
        return functions[name](*arguments, evaluate=False) if name in functions else sympy.Function(name)(*arguments)
