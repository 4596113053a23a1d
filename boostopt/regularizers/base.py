"""The contract of a regularizer F: a convex function of the example weights with a conjugate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from boostopt.regularizers.statements import Statement
from boostopt.shapes import Array, Float


@dataclass(frozen=True)
class ConjugatePoint:
    """F* at one point z, with a maximizer and the multipliers of the domain's constraints there.

    Attributes
    ----------
    value
        F*(z) = max_d <z, d> - F(d), or a number above it (never below: -value is used as a lower bound).
    d
        A maximizer, shape (N,), in the domain of F.
    multipliers
        Multipliers of the constraints of F's domain by their name in the papers, for instance beta and psi.
    """

    value: float
    d: Float[Array, " N"]
    multipliers: Mapping[str, float | Float[Array, " N"]]


@dataclass(frozen=True)
class Stationarity:
    """The conditions under which d maximizes <z, d> - F(d), as linear equations in the multipliers.

    z = slopes + beta + psi - zeta + normals @ nu with beta only on the simplex, psi >= 0 where d is at `upper`,
    zeta >= 0 where it is at `lower`, nu >= 0.

    Attributes
    ----------
    slopes
        Gradient of the smooth part of F at d, shape (N,).
    lower, upper
        Ends of the box, shape (N,).
    normals
        Gradients of further constraints or of norms that are active at d, shape (N, k).
    total
        What <d, z - slopes - beta> must be in addition; None for no such condition.
    """

    slopes: Float[Array, " N"]
    lower: Float[Array, " N"]
    upper: Float[Array, " N"]
    normals: Float[Array, "N k"]
    total: float | None = None


INSIDE = 1e-9
"""Share of the box at its ends within which a weight counts as at the end."""


@dataclass(frozen=True)
class Pointwise:
    """F as a sum over the examples, F(d) = sum f_n(d_n) on lower <= d <= upper: what second-order methods ask for.

    Attributes
    ----------
    lower, upper
        Ends of the box, shape (N,).
    derivatives, curvatures
        f_n'(d_n) and f_n''(d_n) for d inside the box, shape (N,).
    on_simplex
        Whether the weights must sum to 1.
    """

    lower: Float[Array, " N"]
    upper: Float[Array, " N"]
    derivatives: Callable[[Float[Array, " N"]], Float[Array, " N"]]
    curvatures: Callable[[Float[Array, " N"]], Float[Array, " N"]]
    on_simplex: bool

    def freedom(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        """Return by how much each weight yields, 1 / f_n''(d_n) between the ends of the box and 0 at them."""
        inside = (d > self.lower + INSIDE * self.upper) & (d < self.upper * (1.0 - INSIDE))
        if not inside.any():
            return np.zeros(len(d))
        return np.where(inside, 1.0 / self.curvatures(np.where(inside, d, 0.5 * (self.lower + self.upper))), 0.0)


class Regularizer(ABC):
    """A closed convex function F of the example weights d, shape (N,), with a bounded domain.

    It knows neither the margin matrix nor any solver.
    """

    cones: ClassVar[frozenset[str]]
    """Need of F that a solver must meet: "linear" always, "exponential" for entropies."""

    on_simplex: ClassVar[bool] = True
    """Whether the weights sum to 1 by F's domain."""

    signed: ClassVar[bool] = False
    """Whether weights may be negative."""

    kind: ClassVar[str] = ""
    """Name of the class in certificate files, "" where they cannot hold one. A subclass is another function: it names a
    kind of its own, or none."""

    measure: ClassVar[str] = "soft margin"
    """What -F*(-Uw) is called, the entropy that smooths it left out: "soft margin", or "value of the program"."""

    indicator_caps: Float[Array, " N"] | None = None
    """The largest weights, where F is the indicator of a cap: -F*(-Uw) is then the mean of the smallest margins."""

    exact: ClassVar[bool] = True
    """Whether `conjugate_at` gives F* itself and `cvxpy_conjugate` exists, or only a bound above F* is known."""

    @property
    @abstractmethod
    def N(self) -> int:
        """Number of examples."""

    @property
    def mass(self) -> float:
        """A bound of the sum of |d_n| over the domain: 1 on the simplex."""
        return 1.0

    @property
    def strong_convexity(self) -> float:
        """A modulus of strong convexity in the 1-norm: 1 / eta for an entropy on the simplex, 0 if none is known.

        Where it is positive, d(w), the maximizer of F* at the margins of w, is unique, and a step of the weights has
        a gain that can be told in advance.
        """
        return 0.0

    @property
    def unsmoothed(self) -> Regularizer:
        """F without the term that makes it strongly convex: -F0*(-Uw) is the soft margin that boosting is after."""
        return self

    @property
    @abstractmethod
    def value_bound(self) -> float:
        """A bound of F's largest value on its domain: C_Delta / eta for an entropy, 0 for an indicator."""

    @property
    def price(self) -> float:
        """A bound of what the term that makes F strongly convex may cost of the soft margin: its range on the domain.

        Such a term is never negative; where nothing else is added up in F its smallest value is that of F. An F without
        such a term is meant as it is.
        """
        if self.unsmoothed is self:
            return 0.0
        rest = self.unsmoothed.value_bound
        least = 0.0 if rest > 0.0 else self.value(self.project(None))
        return self.value_bound - rest - least

    def affordable(self, epsilon: float) -> bool:
        """Whether that is at most epsilon / 2: a gap of epsilon / 2 of the program then makes epsilon of the margin."""
        return self.price <= 0.5 * epsilon * (1.0 + 1e-9)

    @property
    @abstractmethod
    def magnitude(self) -> float:
        """Largest absolute size of the quantities that are added up in F and F*, margins apart: scales rounding."""

    @property
    @abstractmethod
    def weight_scale(self) -> Float[Array, " N"]:
        """Natural size of each weight, positive where the weight may be: solvers may be given d / weight_scale."""

    @property
    def objective_scale(self) -> float:
        """Natural size of 1 / F: eta for an entropy, 1 for an indicator. Solvers may be given it times F + G."""
        return 1.0

    @abstractmethod
    def value(self, d: Float[Array, " N"]) -> float:
        """Return F(d) for d in the domain (up to rounding)."""

    @abstractmethod
    def conjugate_at(self, z: Float[Array, " N"], near: Float[Array, " N"] | None = None) -> ConjugatePoint:
        """Return F*(z) with a maximizer and multipliers.

        `near`, a point of the domain that may be close to a maximizer, is for those that have no closed form; the
        others need no hint.
        """

    @abstractmethod
    def support(self, z: Float[Array, " N"]) -> float:
        """Return the maximum of <d, z> over the domain of F, or a number above it: what proves infeasibility."""

    @abstractmethod
    def room(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        """Return by how much each weight may move, up and down, all at once, within the domain.

        On the simplex the moves must sum to 0. Zeros where that is not known.
        """

    @abstractmethod
    def project(self, d: Float[Array, " N"] | None) -> Float[Array, " N"]:
        """Return a point of the domain near d, whatever d holds; the minimizer of F for None."""

    @abstractmethod
    def residuals(self, d: Float[Array, " N"]) -> dict[str, float]:
        """Return by how much a raw d violates each constraint of the domain; inf where d is not finite."""

    @abstractmethod
    def gaps(self, d: Float[Array, " N"], z: Float[Array, " N"], at: ConjugatePoint) -> Float[Array, " N"]:
        """Return the N non-negative terms that sum to F(d) + F*(z) - <d, z>, given `at = conjugate_at(z)`."""

    def rise(self, d: Float[Array, " N"], share: Float[Array, " N"]) -> float:
        """Return a bound of F(d') - F(d) over all d' of the domain with |d'_n - d_n| <= share_n room_n, share < 1.

        By convexity: d' lies at most the largest share of the way from d to a point of the domain.
        """
        rise = float(share.max()) * max(self.value_bound - self.value(d), 0.0)
        return rise if np.isfinite(rise) else np.inf

    @abstractmethod
    def stationarity(self, d: Float[Array, " N"], floor: float) -> Stationarity:
        """Return the conditions at d, slopes taken at no less than `floor` times the upper end of the box.

        At tiny weights the slope of an entropy is the noise of a solver.
        """

    def kinks(self, d: Float[Array, " N"]) -> Sequence[str]:
        """Return the weights, or sums of them, at which F has a kink at d, by their names; none by default."""
        return ()

    @property
    def latex(self) -> str | None:
        """The term of each example as LaTeX; None where F is not made by a formula."""
        return None

    def pointwise(self) -> Pointwise | None:
        """Return F as a sum of functions of one weight each, None if it is none."""
        return None

    def statement(self, c: Float[Array, " N"], d0: Float[Array, " N"], nus: tuple[float, ...] = ()) -> Statement | None:
        """Return F as a certificate file states it; None where a file cannot say what it is.

        Parameters
        ----------
        c
            Multiplicities, shape (N,), which the file has.
        d0
            Reference distribution, shape (N,), which the file has.
        nus
            Numbers by which c may have been divided to give the caps: where one of them gives these, the caps are
            stated by it.
        """
        return None

    @abstractmethod
    def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
        """Return F(d) as (CVXPY expression, constraints of the domain) for an affine expression d of size N."""

    @abstractmethod
    def cvxpy_conjugate(self, z: Any) -> tuple[Any, list[Any]]:
        """Return F*(z) as (CVXPY expression, constraints) for an affine expression z of size N."""
