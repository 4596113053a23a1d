"""Formulas as LaTeX, by SymPy: what was written, in the order in which it was written."""

from __future__ import annotations

import ast
from importlib import import_module
from typing import Any

from boostopt.functions.formulas.expressions import FormulaError

SYMBOLS = {"d": "d_n", "d0": "d^0_n", "c": "c_n", "u": "u_n", "e": "e_q"}
"""How the names of every formula are written."""


def latex(text: str) -> str:
    """Return a text that the grammar knows as LaTeX."""
    return str(_Writer(import_module("sympy")).latex(text))


class _Writer:
    """SymPy's expressions, made without simplifying them."""

    def __init__(self, sympy: Any) -> None:
        self.sympy = sympy

    def latex(self, text: str) -> str:
        """Return the LaTeX of a text."""
        made = self.read(ast.parse(text.strip(), mode="eval").body)
        names = {symbol: SYMBOLS[symbol.name] for symbol in made.free_symbols if symbol.name in SYMBOLS}
        return self.sympy.latex(made, symbol_names=names, order="none")

    def read(self, node: ast.expr) -> Any:
        """Return a part of a formula."""
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
                return self.operation(op, self.read(left), self.read(right))
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return self.called(name, [self.read(argument) for argument in arguments])
            case _:
                raise FormulaError(f"{ast.unparse(node)!r} is not part of a formula")

    def operation(self, op: ast.operator, a: Any, b: Any) -> Any:
        """Return what an operation makes, as it was written."""
        made = self.sympy
        if isinstance(op, ast.Pow):
            return made.Pow(a, b, evaluate=False)
        if isinstance(op, ast.Mult | ast.Div):
            # One product of all factors: what is divided by twice has one denominator.
            factors = a.args if isinstance(a, made.Mul) else (a,)
            other = b if isinstance(op, ast.Mult) else made.Pow(b, made.Integer(-1), evaluate=False)
            return made.Mul(*factors, other, evaluate=False)
        return made.Add(
            a, b if isinstance(op, ast.Add) else made.Mul(made.Integer(-1), b, evaluate=False), evaluate=False
        )

    def called(self, name: str, arguments: list[Any]) -> Any:
        """Return a function."""
        made = self.sympy
        known = {"log": made.log, "exp": made.exp, "max": made.Max, "min": made.Min}
        if name == "sqrt":
            return made.Pow(arguments[0], made.Rational(1, 2), evaluate=False)
        return known[name](*arguments, evaluate=False) if name in known else made.Function(name)(*arguments)
