"""Trees of convex CVXPY expressions of one variable, which are opened only down to atoms with kinks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Float
from boostopt._utils.cvxpy_tools import cp, subgradients
from boostopt.errors import ProblemError
from boostopt.functions.minorants.affine_forms import column_entries
from boostopt.functions.minorants.linearization import Linearization, NonsmoothNode, SmoothNode, Tangent
from boostopt.functions.minorants.multiplier_sets import (
    CumulativeSumMultipliers,
    DualNormBall,
    MultiplierSet,
    SumLargestMultipliers,
)

NORMS = {"abs": 1.0, "norm1": 1.0, "norm_inf": np.inf}
"""Exponents p of the norms of CVXPY that are not of class Pnorm."""

MAX_ATOMS = ("max", "maximum", "min", "minimum")
MIN_ATOMS = ("min", "minimum")
"""Atoms that are the maximum of their arguments, or the minimum: minus the maximum of the negated arguments."""

SPECTRAL_ATOMS = ("lambda_max", "lambda_min", "lambda_sum_largest", "normNuc", "sigma_max", "gen_lambda_max")


class ExpressionNode(ABC):
    """A convex or concave expression of one variable."""

    has_kinks: ClassVar[bool] = True
    """Whether the expression has kinks, so that multipliers can be chosen."""

    @abstractmethod
    def linearize(self) -> Linearization | None:
        """Return the linearization at the value of the variable; None if there is no subgradient."""


@dataclass(frozen=True, eq=False)
class _SmoothLeaf(ExpressionNode):
    """An expression without choices of multipliers."""

    expression: Any
    variable: Any

    has_kinks: ClassVar[bool] = False

    @cached_property
    def _affine(self) -> Linearization | None:
        return self._tangent() if self.expression.is_affine() else None

    def linearize(self) -> Linearization | None:
        return self._affine or self._tangent()

    def _tangent(self) -> Linearization | None:
        A = subgradients(self.expression, [self.variable])
        value = _flat_value(self.expression)
        if A is None or not np.isfinite(value).all():
            return None
        return Tangent(A[0], value - A[0] @ np.ravel(self.variable.value, order="F"))


@dataclass(frozen=True, eq=False)
class _SmoothNode(ExpressionNode):
    """A smooth atom; `detached_atom` is the same atom with the variables `placeholders` in place of its arguments."""

    expression: Any
    arguments: Sequence[tuple[Any, ExpressionNode]]
    detached_atom: Any
    placeholders: Sequence[Any]

    def linearize(self) -> Linearization | None:
        parts = [tree.linearize() for _, tree in self.arguments]
        for (argument, _), placeholder in zip(self.arguments, self.placeholders, strict=True):
            placeholder.value = argument.value
        jacobians, value = subgradients(self.detached_atom, self.placeholders), _flat_value(self.expression)
        if jacobians is None or not np.isfinite(value).all() or None in parts:
            return None
        values = [np.ravel(placeholder.value, order="F") for placeholder in self.placeholders]
        offset = value - sum(J @ v for J, v in zip(jacobians, values, strict=True))
        return SmoothNode([part for part in parts if part is not None], jacobians, offset)


@dataclass(frozen=True, eq=False)
class _NonsmoothNode(ExpressionNode):
    """An atom with kinks; `shape` is the shape of delta, and the other fields are as in `NonsmoothNode`."""

    multiplier_set: MultiplierSet
    sign: int
    arguments: Sequence[tuple[Any, ExpressionNode]]
    argument_maps: Sequence[Any]
    shape: tuple[int, int]
    key: int

    def linearize(self) -> Linearization | None:
        parts = [tree.linearize() for _, tree in self.arguments]
        if None in parts:
            return None
        u = sum(
            W.T @ _flat_value(argument) for (argument, _), W in zip(self.arguments, self.argument_maps, strict=True)
        )
        linearizations = [part for part in parts if part is not None]
        u = self.sign * np.reshape(u, self.shape, order="F")
        return NonsmoothNode(self.multiplier_set, self.sign, linearizations, self.argument_maps, u, self.key)


def build_tree(expression: Any, variable: Any) -> ExpressionNode:
    """Return an expression as a tree that is opened only down to atoms with kinks.

    Raises
    ------
    ProblemError
        The expression contains eigenvalues or singular values; the multipliers of their kinks are matrices.
    """
    for part in _iterate_nodes(expression):
        _check_shapes(part)
        if type(part).__name__ in SPECTRAL_ATOMS:
            raise ProblemError(
                f"{type(part).__name__} must not stand in a described function: the multipliers of its kinks are "
                "semidefinite matrices. Write it with norms of vectors."
            )
    return _build_node(expression, variable, below_kink=False)


def _check_shapes(atom: Any) -> None:
    """Reject an entropy of a number and a vector that both vary: the gradient of CVXPY is wrong for it."""
    shapes = {argument.shape for argument in atom.args}
    if type(atom).__name__ in ("kl_div", "rel_entr") and len(shapes) > 1:
        if any(argument.shape != atom.shape and not argument.is_constant() for argument in atom.args):
            shape_text = " and ".join(str(argument.shape) for argument in atom.args)
            raise ProblemError(
                f"{type(atom).__name__} must be of two arguments of one shape where both vary; got shapes "
                f"{shape_text}. Multiply the number by a vector of ones."
            )


def _build_node(expression: Any, variable: Any, below_kink: bool) -> ExpressionNode:
    # A cumulative sum over all examples would be a dense matrix. Other linear expressions need no node.
    is_cumulative_sum = isinstance(expression, cp.cumsum) and expression.args[0].ndim == 1
    multiplier_set = CumulativeSumMultipliers() if is_cumulative_sum else _multiplier_set(expression)
    has_kinks_inside = any(
        _multiplier_set(part) or (below_kink and isinstance(part, cp.cumsum)) for part in _iterate_nodes(expression)
    )
    if expression.is_constant() or not has_kinks_inside:
        return _SmoothLeaf(expression, variable)
    if multiplier_set is None:
        return _build_smooth_node(expression, variable, below_kink)
    arguments = [(argument, _build_node(argument, variable, True)) for argument in expression.args]
    argument_maps, shape = _argument_maps(expression)
    sign = -1 if type(expression).__name__ in MIN_ATOMS else 1
    return _NonsmoothNode(multiplier_set, sign, arguments, argument_maps, shape, id(expression))


def _build_smooth_node(expression: Any, variable: Any, below_kink: bool) -> ExpressionNode:
    varying = [argument for argument in expression.args if not argument.is_constant()]
    placeholders = [cp.Variable(argument.shape) for argument in varying]
    places = iter(placeholders)
    detached_atom = expression.copy([a if a.is_constant() else next(places) for a in expression.args])
    arguments = [(argument, _build_node(argument, variable, below_kink)) for argument in varying]
    return _SmoothNode(expression, arguments, detached_atom, placeholders)


def _iterate_nodes(expression: Any) -> Iterator[Any]:
    """Yield an expression and all its subexpressions that are not constant."""
    if not expression.is_constant():
        yield expression
        for argument in expression.args:
            yield from _iterate_nodes(argument)


def _multiplier_set(atom: Any) -> MultiplierSet | None:
    """Return the set of multipliers of an atom with kinks; None for other atoms."""
    name = type(atom).__name__
    if name in MAX_ATOMS:
        return SumLargestMultipliers(1.0)
    if name == "sum_largest":
        _, (k, _) = _argument_maps(atom)
        return SumLargestMultipliers(min(float(atom.k), float(k)))
    p = NORMS.get(name, float(atom.p) if isinstance(atom, cp.Pnorm) else 0.0)
    if p < 1.0:
        return None
    (argument,) = atom.args
    sign = 0 if argument.is_affine() else 1 if argument.is_convex() else -1
    return DualNormBall(np.inf if p == 1.0 else 1.0 if p == np.inf else p / (p - 1.0), sign)


def _argument_maps(atom: Any) -> tuple[list[Any], tuple[int, int]]:
    """Return the matrices from delta to the multipliers of each argument, and the shape (k, m) of delta."""
    if len(atom.args) > 1 or type(atom).__name__ in ("abs", "cumsum"):
        k, m = len(atom.args), atom.size
        positions_by_argument = [i + k * np.arange(m) for i in range(k)]
        argument_maps = [
            _selection_matrix(_broadcast_entries(a, atom.shape), positions, k * m)
            for a, positions in zip(atom.args, positions_by_argument, strict=True)
        ]
        return argument_maps, (k, m)
    members = column_entries(atom)
    return [_selection_matrix(members.ravel(order="F"), np.arange(members.size), members.size)], members.shape


def _broadcast_entries(argument: Any, shape: tuple[int, ...]) -> Array:
    """Return the entry of an argument that is broadcast to each entry of the result."""
    entries = np.arange(argument.size).reshape(argument.shape, order="F")
    return np.broadcast_to(entries, shape).ravel(order="F")


def _selection_matrix(entries: Array, places: Array, size: int) -> Any:
    return scipy.sparse.csr_array((np.ones(len(entries)), (entries, places)), shape=(int(entries.max()) + 1, size))


def _flat_value(expression: Any) -> Float[Array, " m"]:
    with np.errstate(all="ignore"):  # warnings at the ends of the natural domain
        return np.ravel(np.asarray(expression.value, dtype=np.float64), order="F")
