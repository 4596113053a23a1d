"""Convex CVXPY expressions of one variable as trees of their atoms, no deeper than their kinks are."""

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
from boostopt.functions.minorants.linearization import Linearization, NonsmoothNode, SmoothNode, Tangent
from boostopt.functions.minorants.multiplier_sets import (
    CumulativeSumMultipliers,
    DualNormBall,
    MultiplierSet,
    SumLargestMultipliers,
)

NORMS = {"abs": 1.0, "norm1": 1.0, "norm_inf": np.inf}
"""Norms of CVXPY that are no Pnorm, with their p."""

MAX_ATOMS = ("max", "maximum", "min", "minimum")
MIN_ATOMS = ("min", "minimum")
"""Atoms that are the largest of their arguments, or minus the largest of minus these."""

SPECTRAL_ATOMS = ("lambda_max", "lambda_min", "lambda_sum_largest", "normNuc", "sigma_max", "gen_lambda_max")


class ExpressionNode(ABC):
    """A convex or concave expression of one variable."""

    has_kinks: ClassVar[bool] = True
    """Whether a choice is left open."""

    @abstractmethod
    def linearize(self) -> Linearization | None:
        """Return it linearized at the value that the variable has; None where it has no subgradient there."""


@dataclass(frozen=True, eq=False)
class _SmoothLeaf(ExpressionNode):
    """An expression in which no choice is left open."""

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
    """A smooth atom; `detached_atom` is the same atom of variables of its own, `placeholders`, for its arguments."""

    expression: Any
    arguments: Sequence[tuple[Any, ExpressionNode]]
    detached_atom: Any
    placeholders: Sequence[Any]

    def linearize(self) -> Linearization | None:
        parts = [tree.linearize() for _, tree in self.arguments]
        for (argument, _), stand_in in zip(self.arguments, self.placeholders, strict=True):
            stand_in.value = argument.value
        found, value = subgradients(self.detached_atom, self.placeholders), _flat_value(self.expression)
        if found is None or not np.isfinite(value).all() or None in parts:
            return None
        values = [np.ravel(stand_in.value, order="F") for stand_in in self.placeholders]
        rest = value - sum(J @ v for J, v in zip(found, values, strict=True))
        return SmoothNode([part for part in parts if part is not None], found, rest)


@dataclass(frozen=True, eq=False)
class _NonsmoothNode(ExpressionNode):
    """An atom with kinks, wired to its arguments as `NonsmoothNode` says; `shape` is that of delta."""

    kink: MultiplierSet
    sign: int
    arguments: Sequence[tuple[Any, ExpressionNode]]
    wires: Sequence[Any]
    shape: tuple[int, int]
    key: int

    def linearize(self) -> Linearization | None:
        parts = [tree.linearize() for _, tree in self.arguments]
        if None in parts:
            return None
        u = sum(W.T @ _flat_value(argument) for (argument, _), W in zip(self.arguments, self.wires, strict=True))
        found = [part for part in parts if part is not None]
        u = self.sign * np.reshape(u, self.shape, order="F")
        return NonsmoothNode(self.kink, self.sign, found, self.wires, u, self.key)


def build_tree(expression: Any, variable: Any) -> ExpressionNode:
    """Return an expression as a tree, no deeper than its kinks are.

    Raises
    ------
    ProblemError
        It has eigenvalues or singular values in it, whose kinks no choice of numbers describes.
    """
    for part in _iterate_nodes(expression):
        _check_shapes(part)
        if type(part).__name__ in SPECTRAL_ATOMS:
            raise ProblemError(
                f"{type(part).__name__} must not stand in a described function: the multipliers of its kinks are "
                "semidefinite matrices. Write it with norms of vectors."
            )
    return _tree(expression, variable, of_a_kink=False)


def _check_shapes(atom: Any) -> None:
    """Refuse an entropy of a number and a vector that both vary: CVXPY's gradient of it is wrong."""
    shapes = {argument.shape for argument in atom.args}
    if type(atom).__name__ in ("kl_div", "rel_entr") and len(shapes) > 1:
        if any(argument.shape != atom.shape and not argument.is_constant() for argument in atom.args):
            came = " and ".join(str(argument.shape) for argument in atom.args)
            raise ProblemError(
                f"{type(atom).__name__} must be of two arguments of one shape where both vary; got shapes {came}. "
                "Multiply the number by a vector of ones."
            )


def _tree(expression: Any, variable: Any, of_a_kink: bool) -> ExpressionNode:
    # A sum that runs over all examples is a dense matrix; what is linear alone needs no choice, and no tree.
    opened = isinstance(expression, cp.cumsum) and expression.args[0].ndim == 1
    kink = CumulativeSumMultipliers() if opened else _multiplier_set(expression)
    inner = any(
        _multiplier_set(part) or (of_a_kink and isinstance(part, cp.cumsum)) for part in _iterate_nodes(expression)
    )
    if expression.is_constant() or not inner:
        return _SmoothLeaf(expression, variable)
    if kink is None:
        return _step(expression, variable, of_a_kink)
    arguments = [(argument, _tree(argument, variable, True)) for argument in expression.args]
    wires, shape = _argument_maps(expression)
    sign = -1 if type(expression).__name__ in MIN_ATOMS else 1
    return _NonsmoothNode(kink, sign, arguments, wires, shape, id(expression))


def _step(expression: Any, variable: Any, of_a_kink: bool) -> ExpressionNode:
    varying = [argument for argument in expression.args if not argument.is_constant()]
    stand_ins = [cp.Variable(argument.shape) for argument in varying]
    places = iter(stand_ins)
    alone = expression.copy([a if a.is_constant() else next(places) for a in expression.args])
    arguments = [(argument, _tree(argument, variable, of_a_kink)) for argument in varying]
    return _SmoothNode(expression, arguments, alone, stand_ins)


def _iterate_nodes(expression: Any) -> Iterator[Any]:
    """Yield an expression and all that it is made of, constants apart."""
    if not expression.is_constant():
        yield expression
        for argument in expression.args:
            yield from _iterate_nodes(argument)


def _multiplier_set(atom: Any) -> MultiplierSet | None:
    """Return the set of multipliers of an atom with kinks, None for others."""
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
    """Return, for each argument, the matrix from delta to its multipliers, and the shape (k, m) of delta."""
    if len(atom.args) > 1 or type(atom).__name__ in ("abs", "cumsum"):
        k, m = len(atom.args), atom.size
        places = [i + k * np.arange(m) for i in range(k)]
        wires = [
            _selection_matrix(_broadcast_entries(a, atom.shape), at, k * m)
            for a, at in zip(atom.args, places, strict=True)
        ]
        return wires, (k, m)
    (argument,) = atom.args
    entries = np.arange(argument.size).reshape(argument.shape, order="F")
    if atom.axis is None:
        members = entries.reshape((-1, 1), order="F")
    else:
        axes = np.atleast_1d(atom.axis)
        moved = np.moveaxis(entries, axes, range(len(axes)))
        members = moved.reshape((int(np.prod([argument.shape[a] for a in axes])), -1), order="F")
    return [_selection_matrix(members.ravel(order="F"), np.arange(members.size), members.size)], members.shape


def _broadcast_entries(argument: Any, shape: tuple[int, ...]) -> Array:
    """Return which entry of an argument stands at each place of a result."""
    entries = np.arange(argument.size).reshape(argument.shape, order="F")
    return np.broadcast_to(entries, shape).ravel(order="F")


def _selection_matrix(entries: Array, places: Array, size: int) -> Any:
    return scipy.sparse.csr_array((np.ones(len(entries)), (entries, places)), shape=(int(entries.max()) + 1, size))


def _flat_value(expression: Any) -> Float[Array, " m"]:
    with np.errstate(all="ignore"):  # at the ends of the natural domain
        return np.ravel(np.asarray(expression.value, dtype=np.float64), order="F")
