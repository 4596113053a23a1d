"""What the package asks of an edge function G: a convex function of the edges e = Uᵀd with a conjugate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from boostopt.shapes import Array, Float


class EdgeFunction(ABC):
    """A closed convex function G of the edges, shape (t,). It knows neither the examples nor any solver."""

    cones: ClassVar[frozenset[str]]
    """What a solver must take for G, as for a regularizer."""

    @abstractmethod
    def value(self, e: Float[Array, " t"]) -> float:
        """Return G(e)."""

    @abstractmethod
    def conjugate(self, w: Float[Array, " t"]) -> float:
        """Return G*(w) for w in its domain (up to rounding)."""

    @abstractmethod
    def subgradient(self, e: Float[Array, " t"]) -> Float[Array, " t"]:
        """Return hypothesis weights w in the subdifferential of G at e: the best answer to e."""

    @abstractmethod
    def project(self, w: Float[Array, " t"]) -> Float[Array, " t"] | None:
        """Return a point of the domain of G* near w, whatever w holds; None where w tells nothing."""

    @abstractmethod
    def residuals(self, w: Float[Array, " t"]) -> dict[str, float]:
        """Return by how much a raw w violates each constraint of G*'s domain; inf where w is not finite."""

    @abstractmethod
    def gaps(self, e: Float[Array, " t"], w: Float[Array, " t"]) -> Float[Array, " t"]:
        """Return the t non-negative terms that sum to G(e) + G*(w) - <w, e>."""

    @abstractmethod
    def multipliers(self, e: Float[Array, " t"]) -> dict[str, float]:
        """Return the multipliers and epigraph variables at e by their name in the papers."""

    @abstractmethod
    def cvxpy_value(self, e: Any) -> tuple[Any, list[Any]]:
        """Return G(e) as (CVXPY expression, constraints) for an affine expression e of size t."""

    @abstractmethod
    def cvxpy_conjugate(self, w: Any) -> tuple[Any, list[Any]]:
        """Return G*(w) as (CVXPY expression, constraints) for an affine expression w of size t."""
