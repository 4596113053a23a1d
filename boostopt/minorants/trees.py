"""Convex CVXPY expressions of one variable as trees, and the affine minorants that a tangent point leaves.

For multipliers mu of its entries, <mu, e(d)> has an affine minorant <g, d> + alpha, found from the root down:

    smooth (a leaf)           e(d') >= A d' + b          the tangent at the point; e itself where e is affine
    smooth, of kinked parts   phi(u) >= phi(v) + J (u - v)   <mu, phi(v) - J v>, and J'mu for its arguments
    with a kink               <mu, phi(u)> >= <delta, u>     delta chosen from mu D, and delta for its arguments

By the rules of convex programming multipliers of convex arguments come out non-negative, of concave ones non-positive:
their own minorants bound them from the right side. This is the dual of the expression's conic form with the auxiliary
variables eliminated: whatever is chosen, nothing is left over that would have to be bounded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse

from boostopt.errors import ProblemError
from boostopt.expressions import cp, slopes
from boostopt.minorants.kinks import Ball, Kink, Largest, Sums
from boostopt.shapes import Array, Float

Choose = Callable[[Kink, Any, "Choice"], Any]
"""Chooses delta, of shape (k, m), for an atom with a kink and the multipliers of its results."""

MOST_KINKS = 200
"""Arguments on a kink that are told apart: where more are, nothing can be concluded from them."""

NORMS = {"abs": np.inf, "norm1": np.inf, "norm_inf": 1.0}
LARGEST = ("max", "maximum", "min", "minimum")
CONCAVE = ("min", "minimum")
EIGENVALUES = ("lambda_max", "lambda_min", "lambda_sum_largest", "normNuc", "sigma_max", "gen_lambda_max")


class Linearized(ABC):
    """An expression at a tangent point."""

    @abstractmethod
    def pull(self, mu: Any, choose: Choose) -> tuple[Any, Any]:
        """Return (g, alpha) of a minorant of <mu, e(d)>, as numbers or as CVXPY expressions of what is chosen."""

    @abstractmethod
    def choices(self) -> list[Choice]:
        """Return the atoms with kinks, in the order in which `pull` comes to them."""

    @abstractmethod
    def steepest(self, mu: Float[Array, " m"]) -> Float[Array, " N"]:
        """Return bounds of |g| over all choices, for bounds mu of the multipliers' sizes."""

    def kinks(self) -> list[Float[Array, " N"]]:
        """Return the slopes of the arguments that lie on a kink, at most `MOST_KINKS` of them."""
        rows = (row for choice in self.choices() for row in choice.on_kinks())
        return list(islice(rows, MOST_KINKS))


@dataclass(frozen=True, eq=False)
class Tangent(Linearized):
    """A d + b for an expression without kinks; A of shape (m, N), sparse or not."""

    A: Any
    b: Float[Array, " m"]

    def pull(self, mu: Any, choose: Choose) -> tuple[Any, Any]:
        return self.A.T @ mu, self.b @ mu

    def choices(self) -> list[Choice]:
        return []

    def steepest(self, mu: Float[Array, " m"]) -> Float[Array, " N"]:
        return abs(self.A).T @ mu


@dataclass(frozen=True, eq=False)
class Step(Linearized):
    """A smooth atom of arguments with kinks: its slopes, shape (m, size of the argument), and what is left."""

    arguments: Sequence[Linearized]
    slopes: Sequence[Any]
    rest: Float[Array, " m"]

    def pull(self, mu: Any, choose: Choose) -> tuple[Any, Any]:
        pulled = [e.pull(J.T @ mu, choose) for e, J in zip(self.arguments, self.slopes, strict=True)]
        return sum(g for g, _ in pulled), self.rest @ mu + sum(alpha for _, alpha in pulled)

    def choices(self) -> list[Choice]:
        return [choice for e in self.arguments for choice in e.choices()]

    def steepest(self, mu: Float[Array, " m"]) -> Float[Array, " N"]:
        steps = zip(self.arguments, self.slopes, strict=True)
        return np.sum([e.steepest(abs(J).T @ mu) for e, J in steps], axis=0)


@dataclass(frozen=True, eq=False)
class Choice(Linearized):
    """An atom with kinks: `sign` -1 for a concave one, phi(u) = -max <delta, -u>.

    Attributes
    ----------
    arguments
        What it is of.
    wires
        For each argument a sparse matrix, (its size, k m), from delta, column by column, to its multipliers.
    u
        sign times the arguments' values, shape (k, m).
    """

    kink: Kink
    sign: int
    arguments: Sequence[Linearized]
    wires: Sequence[Any]
    u: Float[Array, "k m"]

    def pull(self, mu: Any, choose: Choose) -> tuple[Any, Any]:
        delta = choose(self.kink, self.sign * mu, self)
        flat = delta.ravel(order="F") if isinstance(delta, np.ndarray) else cp.vec(delta, order="F")
        pulled = [e.pull(self.sign * (W @ flat), choose) for e, W in zip(self.arguments, self.wires, strict=True)]
        return sum(g for g, _ in pulled), sum(alpha for _, alpha in pulled)

    def choices(self) -> list[Choice]:
        return [self, *(choice for e in self.arguments for choice in e.choices())]

    def on_kinks(self) -> Iterator[Float[Array, " N"]]:
        """Yield the slopes of the arguments that lie on a kink of this atom."""
        for place in np.flatnonzero(self.kink.active(self.u).ravel(order="F")):
            unit = (np.arange(self.u.size) == place).astype(float)
            pulled = [e.pull(W @ unit, attained) for e, W in zip(self.arguments, self.wires, strict=True)]
            yield np.sum([g for g, _ in pulled], axis=0)

    def steepest(self, mu: Float[Array, " m"]) -> Float[Array, " N"]:
        k = len(self.u)
        sizes = np.cumsum(mu[::-1])[::-1][None, :] if isinstance(self.kink, Sums) else np.tile(mu, (k, 1))
        flat = sizes.ravel(order="F")
        return np.sum([e.steepest(W @ flat) for e, W in zip(self.arguments, self.wires, strict=True)], axis=0)


def attained(kink: Kink, mu: Float[Array, " m"], choice: Choice) -> Float[Array, "k m"]:
    """Choose a subgradient at the point itself."""
    return kink.attained(choice.u, mu)


class Tree(ABC):
    """A convex or concave expression of one variable."""

    @abstractmethod
    def at_values(self) -> Linearized | None:
        """Return it linearized at the value that the variable has; None where it has no subgradient there."""


@dataclass(frozen=True, eq=False)
class _Leaf(Tree):
    """An expression in which no choice is left open."""

    expression: Any
    variable: Any

    @cached_property
    def _affine(self) -> Linearized | None:
        return self._tangent() if self.expression.is_affine() else None

    def at_values(self) -> Linearized | None:
        return self._affine or self._tangent()

    def _tangent(self) -> Linearized | None:
        A = slopes(self.expression, [self.variable])
        value = _numbers(self.expression)
        if A is None or not np.isfinite(value).all():
            return None
        return Tangent(A[0], value - A[0] @ np.ravel(self.variable.value, order="F"))


@dataclass(frozen=True, eq=False)
class _Step(Tree):
    """A smooth atom; `alone` is the same atom of variables of its own, `stand_ins`, for its arguments."""

    expression: Any
    arguments: Sequence[tuple[Any, Tree]]
    alone: Any
    stand_ins: Sequence[Any]

    def at_values(self) -> Linearized | None:
        parts = [tree.at_values() for _, tree in self.arguments]
        for (argument, _), stand_in in zip(self.arguments, self.stand_ins, strict=True):
            stand_in.value = argument.value
        found, value = slopes(self.alone, self.stand_ins), _numbers(self.expression)
        if found is None or not np.isfinite(value).all() or None in parts:
            return None
        values = [np.ravel(stand_in.value, order="F") for stand_in in self.stand_ins]
        rest = value - sum(J @ v for J, v in zip(found, values, strict=True))
        return Step([part for part in parts if part is not None], found, rest)


@dataclass(frozen=True, eq=False)
class _Kinked(Tree):
    kink: Kink
    sign: int
    arguments: Sequence[tuple[Any, Tree]]
    wires: Sequence[Any]
    shape: tuple[int, int]

    def at_values(self) -> Linearized | None:
        parts = [tree.at_values() for _, tree in self.arguments]
        if None in parts:
            return None
        u = sum(W.T @ _numbers(argument) for (argument, _), W in zip(self.arguments, self.wires, strict=True))
        found = [part for part in parts if part is not None]
        return Choice(self.kink, self.sign, found, self.wires, self.sign * np.reshape(u, self.shape, order="F"))


def tree_of(expression: Any, variable: Any) -> Tree:
    """Return an expression as a tree, no deeper than its kinks are.

    Raises
    ------
    ProblemError
        It has eigenvalues or singular values in it, whose kinks no choice of numbers describes.
    """
    for part in _parts(expression):
        if type(part).__name__ in EIGENVALUES:
            raise ProblemError(
                f"{type(part).__name__} must not stand in a described function: the multipliers of its kinks are "
                "semidefinite matrices. Write it with norms of vectors."
            )
    return _tree(expression, variable, of_a_kink=False)


def _tree(expression: Any, variable: Any, of_a_kink: bool) -> Tree:
    # A sum that runs over all examples is a dense matrix; what is linear alone needs no choice, and no tree.
    opened = isinstance(expression, cp.cumsum) and expression.args[0].ndim == 1
    kink = Sums() if opened else _kink(expression)
    inner = any(_kink(part) or (of_a_kink and isinstance(part, cp.cumsum)) for part in _parts(expression))
    if expression.is_constant() or not inner:
        return _Leaf(expression, variable)
    if kink is None:
        return _step(expression, variable, of_a_kink)
    arguments = [(argument, _tree(argument, variable, True)) for argument in expression.args]
    wires, shape = _wires(expression)
    return _Kinked(kink, -1 if type(expression).__name__ in CONCAVE else 1, arguments, wires, shape)


def _step(expression: Any, variable: Any, of_a_kink: bool) -> Tree:
    varying = [argument for argument in expression.args if not argument.is_constant()]
    stand_ins = [cp.Variable(argument.shape) for argument in varying]
    places = iter(stand_ins)
    alone = expression.copy([a if a.is_constant() else next(places) for a in expression.args])
    arguments = [(argument, _tree(argument, variable, of_a_kink)) for argument in varying]
    return _Step(expression, arguments, alone, stand_ins)


def _parts(expression: Any) -> Iterator[Any]:
    """Yield an expression and all that it is made of, constants apart."""
    if not expression.is_constant():
        yield expression
        for argument in expression.args:
            yield from _parts(argument)


def _kink(atom: Any) -> Kink | None:
    """Return the set of multipliers of an atom with kinks, None for others."""
    name = type(atom).__name__
    if name in LARGEST:
        return Largest(1.0)
    if name == "sum_largest":
        _, (k, _) = _wires(atom)
        return Largest(min(float(atom.k), float(k)))
    argument = atom.args[0] if atom.args else None
    sign = 0 if argument is None or argument.is_affine() else 1 if argument.is_convex() else -1
    if name in NORMS:
        return Ball(NORMS[name], sign)
    if isinstance(atom, cp.Pnorm) and float(atom.p) > 1.0:
        p = float(atom.p)
        return Ball(p / (p - 1.0), sign)
    return None


def _wires(atom: Any) -> tuple[list[Any], tuple[int, int]]:
    """Return, for each argument, the matrix from delta to its multipliers, and the shape (k, m) of delta."""
    if len(atom.args) > 1 or type(atom).__name__ in ("abs", "cumsum"):
        k, m = len(atom.args), atom.size
        return [_selection(_spread(a, atom.shape), i + k * np.arange(m), k * m) for i, a in enumerate(atom.args)], (
            k,
            m,
        )
    (argument,) = atom.args
    entries = np.arange(argument.size).reshape(argument.shape, order="F")
    if atom.axis is None:
        members = entries.reshape((-1, 1), order="F")
    else:
        axes = np.atleast_1d(atom.axis)
        moved = np.moveaxis(entries, axes, range(len(axes)))
        members = moved.reshape((int(np.prod([argument.shape[a] for a in axes])), -1), order="F")
    return [_selection(members.ravel(order="F"), np.arange(members.size), members.size)], members.shape


def _spread(argument: Any, shape: tuple[int, ...]) -> Array:
    """Return which entry of an argument stands at each place of a result."""
    entries = np.arange(argument.size).reshape(argument.shape, order="F")
    return np.broadcast_to(entries, shape).ravel(order="F")


def _selection(entries: Array, places: Array, size: int) -> Any:
    return scipy.sparse.csr_array((np.ones(len(entries)), (entries, places)), shape=(int(entries.max()) + 1, size))


def _numbers(expression: Any) -> Float[Array, " m"]:
    with np.errstate(all="ignore"):  # at the ends of the natural domain
        return np.ravel(np.asarray(expression.value, dtype=np.float64), order="F")


def in_words(name: str, slopes: Float[Array, " N"]) -> str:
    """Return a linear function by the entries that it is made of: d_17, d_3 with d_4, a sum of 12 of d."""
    entries = np.flatnonzero(slopes)
    return " with ".join(f"{name}_{n}" for n in entries) if len(entries) < 3 else f"a sum of {len(entries)} of {name}"
