"""Graphs of affine forms and atoms that represent convex CVXPY expressions, with rigorous values and minorants.

`Graph` reads an expression once. It encloses the values of the expression over a box. It returns affine minorants by
pullback of multipliers from the root to the variable, as in theorem 12. The tangent point of each atom is a float near
the value of its arguments. The tangent inequality holds at any float, so that an error of the arguments only makes the
minorant less tight. The multipliers are intervals that contain the exact ones. The graph trusts only the meaning of
CVXPY's objects, neither their gradients nor their signs: it checks that each multiplier has the sign that the atom
needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Float
from boostopt.errors import ProblemError
from boostopt.functions.formulas.intervals import Interval, exact_interval
from boostopt.functions.minorants.affine_forms import (
    AFFINE,
    AffineForm,
    add_intervals,
    apply_affine_atom,
    constant_form,
)
from boostopt.functions.minorants.atoms.base import AtomRule, lower_bound
from boostopt.functions.minorants.atoms.table import ALL_ATOMS, atom_rule, cumulative_order
from boostopt.functions.minorants.interval_sums import Coefficients, middle, total

VARIABLE = 0
"""Key of the variable among the nodes."""


@dataclass(frozen=True, eq=False)
class Node:
    """An atom that is not affine, with its arguments.

    Attributes
    ----------
    rule, arguments
        The rule of the atom, and the affine forms that are its arguments.
    key
        The identity of the CVXPY atom, the key of proposed multipliers.
    """

    rule: AtomRule
    arguments: Sequence[AffineForm]
    key: int


@dataclass(frozen=True, eq=False)
class AffineMinorant:
    """An affine function that is proved not to exceed an expression on the domain of the variable.

    The function is <gradient, x> + offset for some gradient within its interval.

    Attributes
    ----------
    gradient
        Intervals of the coefficients, shape (N,).
    offset
        The constant, rounded down; -inf if there is no bound.
    """

    gradient: Interval
    offset: float


class Graph:
    """The graph of scalar or vector expressions of one variable, which may share atoms.

    Parameters
    ----------
    expressions
        Convex expressions.
    variable
        The CVXPY variable in them, of shape (N,).
    domain
        A box in which the variable lies, intervals of shape (N,).
    on_simplex
        Whether the entries of the variable sum to 1 exactly at all points at which values and minorants are used.

    Raises
    ------
    ProblemError
        An atom is not in the table of atoms with bounded rounding.
    """

    def __init__(self, expressions: Sequence[Any], variable: Any, domain: Interval, on_simplex: bool) -> None:
        self.N: int = variable.size
        self.domain: Interval = domain
        self.on_simplex: bool = on_simplex
        self._variable = variable
        self._nodes = dict[int, Node]()
        self._forms = dict[int, tuple[Any, AffineForm]]()
        self.roots: list[AffineForm] = [self._centered(self._form(expression)) for expression in expressions]
        self._forms.clear()

    def values(self, box: Interval) -> list[Interval]:
        """Enclose the expressions over a box; if `on_simplex`, over the points of the box with sum 1."""
        nodes = self._values(box)
        return [root.values(nodes) for root in self.roots]

    def minorant(
        self,
        point: ExampleVector,
        multipliers: Sequence[Float[Array, " _"]],
        proposed: Mapping[int, Float[Array, "_ _"]] | None = None,
    ) -> AffineMinorant | None:
        """Return a minorant of the sum of the expressions times multipliers, tangent near a point.

        Parameters
        ----------
        at
            The point, shape (N,): any floats.
        multipliers
            The multipliers of the entries of each expression, floats, non-negative.
        proposed
            Multipliers of the atoms with kinks by their keys, proposed by a solver. They need not be feasible.

        Returns
        -------
        None if an atom has no slope at the point, or if the minorant is not finite.
        """
        nodes = self._values(exact_interval(point))
        pulled = dict[int, Interval]()
        offset = total(Interval(np.zeros(0), np.zeros(0)))
        for root, mu in zip(self.roots, multipliers, strict=True):
            if mu.any():
                offset = offset + Interval(np.array(_pull(root, exact_interval(mu), pulled)), np.array(np.inf))
        for node_number, node in reversed(self._nodes.items()):
            if (mu := pulled.get(node_number)) is None:
                continue
            if not self._is_signed(node.rule, mu):
                return None
            arguments = [form.values(nodes) for form in node.arguments]
            points = [middle(argument) for argument in arguments]
            pullback = node.rule.pullback(points, mu, (proposed or {}).get(node.key))
            if pullback is None:
                return None
            multipliers_of_arguments, offset_part = pullback
            offset_part += self._shift_offset(node, points, mu)
            offset = offset + Interval(np.array(offset_part), np.array(np.inf))
            for form, form_multipliers in zip(node.arguments, multipliers_of_arguments, strict=True):
                offset = offset + Interval(np.array(_pull(form, form_multipliers, pulled)), np.array(np.inf))
        gradient = pulled.get(VARIABLE, exact_interval(np.zeros(self.N)))
        if not np.isfinite(offset.lower) or not np.isfinite([gradient.lower, gradient.upper]).all():
            return None
        return AffineMinorant(gradient, float(offset.lower))

    @cached_property
    def _ranges(self) -> dict[int, Interval]:
        """The values of the nodes over the domain."""
        return self._values(self.domain)

    def _values(self, box: Interval) -> dict[int, Interval]:
        """Return the values of the nodes over a box."""
        values = {VARIABLE: box}
        with np.errstate(all="ignore"):
            for number, node in self._nodes.items():
                values[number] = node.rule.values([form.values(values) for form in node.arguments])
        return values

    def _shift_offset(self, node: Node, points: Sequence[Float[Array, " _"]], mu: Interval) -> float:
        """Return the offset correction for an atom that is convex only with a multiple of |u|^2 added."""
        if node.rule.shift == 0.0:
            return 0.0
        ranges = [form.values(self._ranges) for form in node.arguments]
        squared_distance = 0.0
        for x, range_ in zip(points, ranges, strict=True):
            with np.errstate(all="ignore"):
                farthest = np.maximum(range_.upper - x, x - range_.lower)
                squared_distance += float((farthest**2).sum())
        largest_multiplier = float(np.abs([mu.lower, mu.upper]).max())
        return (
            -squared_distance * node.rule.shift * largest_multiplier * (1.0 + 1e-6)
            if squared_distance * largest_multiplier > 0.0
            else 0.0
        )

    @staticmethod
    def _is_signed(rule: AtomRule, mu: Interval) -> bool:
        if rule.sign == 0:
            return True
        return bool((mu.lower >= 0.0).all()) if rule.sign > 0 else bool((mu.upper <= 0.0).all())

    def _centered(self, form: AffineForm) -> AffineForm:
        return form.reduce_coefficients(VARIABLE) if self.on_simplex else form

    def _form(self, expression: Any) -> AffineForm:
        """Return an expression as an affine form of nodes, and add its nodes."""
        if id(expression) not in self._forms:
            # A reference to the expression ensures that no other expression gets the same id.
            self._forms[id(expression)] = expression, self._read(expression)
        return self._forms[id(expression)][1]

    def _read(self, expression: Any) -> AffineForm:
        if expression is self._variable or getattr(expression, "id", None) == self._variable.id:
            unit = Coefficients.selection(np.arange(self.N), self.N)
            return AffineForm({VARIABLE: unit}, exact_interval(np.zeros(self.N)))
        if not expression.args:
            value = expression.value
            if value is None or not np.isrealobj(value):
                raise ProblemError(
                    f"a description must be made of real numbers and one variable; got {expression}. Replace it."
                )
            return constant_form(value)
        arguments = [self._form(argument) for argument in expression.args]
        name = type(expression).__name__
        is_cvxpy_atom = type(expression).__module__.startswith("cvxpy.")
        if is_cvxpy_atom and name in AFFINE:
            self._check_linear(expression, arguments)
            return apply_affine_atom(expression, arguments)
        if is_cvxpy_atom and name in ("Power", "PowerApprox") and expression.p.value in (0, 1):
            return arguments[0] if expression.p.value == 1 else constant_form(np.ones(expression.shape))
        rule, forms = atom_rule(expression, arguments)
        forms = [self._centered(form) for form in forms]
        if all(form.is_constant for form in forms):
            form = AffineForm({}, rule.values([form.offset for form in forms]))
        else:
            number, m = len(self._nodes) + 1, expression.size
            self._nodes[number] = Node(rule, forms, id(expression))
            form = AffineForm({number: Coefficients.selection(np.arange(m), m)}, exact_interval(np.zeros(m)))
        order = cumulative_order(expression)
        return form if order is None else form.left_multiply(Coefficients.selection(order, len(order)))

    @staticmethod
    def _check_linear(expression: Any, arguments: Sequence[AffineForm]) -> None:
        name = type(expression).__name__
        varying = [not argument.is_constant for argument in arguments]
        if (name in ("multiply", "MulExpression", "kron", "conv", "convolve") and sum(varying) > 1) or (
            name == "DivExpression" and varying[1]
        ):
            raise ProblemError(
                f"{name} must have one factor that is constant; got two that vary. Write it with {ALL_ATOMS}."
            )


def _pull(form: AffineForm, mu: Interval, pulled: dict[int, Interval]) -> float:
    """Add the multipliers of a form to the multipliers of its nodes; return a lower bound of <mu, offset>."""
    for number, matrix in form.terms.items():
        part = matrix.transposed @ mu
        pulled[number] = add_intervals(pulled[number], part) if number in pulled else part
    return lower_bound(mu, form.offset) if form.offset.lower.any() or form.offset.upper.any() else 0.0
