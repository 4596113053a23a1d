"""The common base of regularizers F and edge functions G: closed convex functions with a conjugate.

A program minimizes F(d) + G(Uᵀd) over the example weights d, and its dual contains F* and G*. The weights that a solver
returns are d, a point of the domain of F, and w, a point of the domain of G*. A function is independent of the margin
matrix U and of any solver.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from boostopt._utils.array_types import Array, Float
from boostopt._utils.immutable_arrays import HasImmutableArrays

if TYPE_CHECKING:
    cached_property = property  # type checkers accept nothing else in place of a property of the base
else:
    from functools import cached_property

T = TypeVar("T")


def computed_attribute(method: Callable[[Any], T]) -> T:
    """Return a cached property for a constant of the base class that a subclass computes, such as `cones`.

    Type checkers see the type of the value, so that other subclasses can state the constant as a class attribute. A
    constant that the base declares by `ClassVar` is assigned: `cones: ClassVar[...] = computed_attribute(_cones)`.
    """
    return cast(T, cached_property(method))


class ConvexFunction(HasImmutableArrays, ABC):
    """A closed convex function f of n numbers, a regularizer F or an edge function G, with its conjugate f*."""

    cones: ClassVar[frozenset[str]]
    """Cones that a solver must support for f: "linear" always, "exponential" for entropies."""

    has_closed_form_conjugate: bool = True
    """True if f* has a closed form, so that the conjugate is exact and `cvxpy_conjugate` exists; else it is a bound."""

    kind: ClassVar[str] = ""
    """Name of the class in certificate files; "" if files cannot contain it. A subclass is another function and needs
    another name, or none."""

    @abstractmethod
    def value(self, x: Float[Array, " n"], /) -> float:
        """Return f(x) for x in the domain of f, up to rounding."""

    @abstractmethod
    def residuals(self, weights: Float[Array, " n"], /) -> dict[str, float]:
        """Return the violation of each constraint on the weights, d or w; inf if they are not finite."""

    @abstractmethod
    def support(self, direction: Float[Array, " n"], /) -> float:
        """Return the maximum of <direction, x> over the domain of f, or a larger number.

        Proofs of infeasibility use it.
        """

    def describe_kinks(self, x: Float[Array, " n"], /) -> Sequence[str]:
        """Return the names of the entries of x, and of sums of them, at which f has a kink at x; empty by default."""
        return ()

    @property
    def latex(self) -> str | None:
        """The term of each entry of x as LaTeX; None if f is not given by a formula."""
        return None

    @abstractmethod
    def cvxpy_value(self, x: Any, /) -> tuple[Any, list[Any]]:
        """Return f(x) as (CVXPY expression, constraints of the domain) for an affine expression x of size n."""

    @abstractmethod
    def cvxpy_conjugate(self, y: Any, /) -> tuple[Any, list[Any]]:
        """Return f*(y) as (CVXPY expression, constraints of its domain) for an affine expression y of size n."""
