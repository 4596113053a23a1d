"""The capped simplex C_nu = {d : sum d = 1, 0 <= d_n <= c_n / nu}, with its projections and quantiles.

c_n is the multiplicity of example n, and nu is the least number of examples, counted with multiplicity, that share the
weight. The computations use logarithms, so that they neither overflow nor lose small entries [Warmuth, Glocer, Raetsch
2007, section 4; Glocer 2009, algorithm 4.2 with its caps corrected; Shalev-Shwartz and Singer 2008, figure 2].

By rounding, the sum of floating-point weights differs from 1, and caps differ from c / nu. A value of F is an upper
bound only at a feasible point. So F is bounded on a small box that contains an exactly feasible point, with an
`Interval` for each weight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from boostopt._utils.array_types import Array, ExampleVector, Float
from boostopt._utils.immutable_arrays import ImmutableArrays
from boostopt._utils.validation import check_choice, check_instance, check_number, check_positive, non_negative_weights
from boostopt.errors import ProblemError
from boostopt.functions.formulas.intervals import UNIT, Interval
from boostopt.functions.numerics.capped_softmax import CAP_SUM_TOL, capped_softmax, log_or_neg_inf

WEIGHT_SUM_TOL = 2e-15
"""Largest distance from 1 of a pairwise sum of weights that counts as 1: far below the slack of any certificate."""


@dataclass(frozen=True)
class CappedSimplex(ImmutableArrays):
    """The capped simplex C_nu.

    Parameters
    ----------
    c
        The multiplicities, shape (N,), non-negative; an example with c_n = 0 has the cap and the weight 0.
    nu
        A positive real number, at most the sum of c. If it exceeds the sum by rounding, the sum is used.

    Raises
    ------
    ProblemError
        The set is empty: the multiplicities sum to less than nu.
    """

    c: ExampleVector
    nu: float
    _quantile_cache: list[tuple[ExampleVector, float]] = field(
        default_factory=list[Any], init=False, repr=False, compare=False
    )
    """The last margins and their quantile, because an entropy and the soft margin need the same quantile in turn."""

    def __post_init__(self) -> None:
        c = non_negative_weights("c", self.c)
        object.__setattr__(self, "c", c)
        expected, advice = "a positive number", "Pass the least number of examples that share the weight."
        object.__setattr__(self, "nu", check_positive("nu", self.nu, expected, advice, ProblemError))
        total = float(c.sum())
        if total < self.nu * (1 - CAP_SUM_TOL):
            raise ProblemError(
                f"the capped simplex is empty: the multiplicities of the examples that may have weight sum to "
                f"{total:.6g}, less than nu = {self.nu:.6g}. Lower nu or allow more examples."
            )
        # If nu exceeds the sum by rounding, the sum replaces nu: caps with a sum below 1 would make the set empty.
        object.__setattr__(self, "nu", min(self.nu, total))
        super().__post_init__()

    @property
    def upper(self) -> ExampleVector:
        """The caps c_n / nu."""
        return self.c / self.nu

    @property
    def is_singleton(self) -> bool:
        """True if the set is a single point up to rounding, where every weight is at its cap."""
        return float(self.c.sum()) <= self.nu * (1 + CAP_SUM_TOL)

    def quantile(self, m: ExampleVector) -> float:
        """Return rho = m_(ceil nu), the smallest value for which the examples with m_n <= rho count at least nu."""
        if not self._quantile_cache or not np.array_equal(self._quantile_cache[0][0], m):
            self._quantile_cache[:] = [(m.copy(), self._quantile(m))]
        return self._quantile_cache[0][1]

    def _quantile(self, m: ExampleVector) -> float:
        in_support = self.c > 0
        values, counts = m[in_support], self.c[in_support]
        if np.all(counts == counts[0]):
            k = min(max(int(np.ceil(self.nu / counts[0] * (1 - CAP_SUM_TOL))), 1), len(values))
            return float(np.partition(values, k - 1)[k - 1])
        order = np.argsort(values)
        is_enough = np.cumsum(counts[order]) >= self.nu * (1 - CAP_SUM_TOL)
        return float(values[order[np.argmax(is_enough) if is_enough.any() else -1]])

    def greedy_maximizer(self, m: ExampleVector, rho: float) -> ExampleVector:
        """Return the weights that maximize -<m, d>, given rho = quantile(m).

        The weights are at their caps where m < rho. Where m = rho, they share the remaining mass in proportion to the
        caps.
        """
        u = self.upper
        d = np.where(m < rho, u, 0.0)
        tied = (m == rho) & (u > 0)
        remaining_mass = max(1.0 - d.sum(), 0.0)
        d[tied] = u[tied] * (remaining_mass / u[tied].sum())
        return self.renormalize(d)

    def renormalize(self, d: ExampleVector) -> ExampleVector:
        """Return d with the rounding error of its sum corrected, and with no weight above its cap."""
        return renormalize_in_box(d, np.zeros(len(d)), self.upper)

    def repair(self, q: ExampleVector, reference: ExampleVector) -> ExampleVector:
        """Return the point of the set nearest to q in relative entropy, for any numbers q.

        Negative and non-finite entries count as 0. If the caps of the positive entries sum to less than 1, these
        entries get their caps, and the other examples share the remaining mass in proportion to the reference.

        Parameters
        ----------
        q
            Any numbers, shape (N,).
        reference
            The reference weights, shape (N,), positive wherever the cap is positive.
        """
        if self.is_singleton:
            return self.renormalize(self.upper)
        q = np.where(np.isfinite(q) & (self.c > 0), q, 0.0).clip(min=0.0)
        positive = q > 0
        count = float(self.c[positive].sum()) if positive.any() else 0.0
        if count >= self.nu * (1 + CAP_SUM_TOL):
            return self.renormalize(capped_softmax(log_or_neg_inf(q), self.c, self.nu).d)
        remaining_mass = max(1.0 - count / self.nu, 0.0)
        d = np.where(positive, self.upper, 0.0)
        is_zero = (self.c > 0) & ~positive
        if is_zero.any() and remaining_mass > 0.0:
            a = np.where(is_zero, log_or_neg_inf(reference), -np.inf)
            d += remaining_mass * capped_softmax(a, np.where(is_zero, self.c, 0.0), self.nu * remaining_mass).d
        return self.renormalize(d)


def renormalize_in_box(d: ExampleVector, lower: ExampleVector, upper: ExampleVector) -> ExampleVector:
    """Return d scaled to sum 1 and clipped to the box, for a d that is feasible up to rounding.

    The missing mass after clipping is added to the weights that are not at an end of the box. Otherwise the sum may
    differ from 1 by the tolerance for nu, and a bound computed from d would not be valid. The first steps add mass in
    proportion to d, so that small weights stay small, and the last steps in proportion to the distances to the ends.
    """
    d = np.clip(d / d.sum(), lower, upper)
    for in_proportion in (True, True, False, False):
        missing_mass = 1.0 - float(d.sum())
        if abs(missing_mass) <= WEIGHT_SUM_TOL:
            break
        room = upper - d if missing_mass > 0 else lower - d
        parts = np.where(room != 0, d, 0.0) if in_proportion else np.abs(room)
        total = float(parts.sum())
        if total > 0:
            d = np.clip(d + parts * (missing_mass / total), lower, upper)
    return d


def project_capped_simplex(
    q: npt.ArrayLike,
    nu: float,
    c: npt.ArrayLike | None = None,
    method: str = "auto",
) -> ExampleVector:
    """Return the entropic projection of q onto the capped simplex: d = min(c / nu, theta q) with sum 1.

    Parameters
    ----------
    q
        Non-negative finite weights, shape (N,). The result does not depend on their scale.
    nu
        The least number of examples that share the weight, a real number in [1, sum of c].
    c
        Positive multiplicities, shape (N,); 1 by default.
    method
        "select" runs in O(N), "sort" in O(N log N); "auto" chooses the faster method.

    Returns
    -------
    The weights d, shape (N,), that minimize sum d ln(d / q) subject to 0 <= d_n <= c_n / nu and sum d = 1.

    Raises
    ------
    ProblemError
        q or c has a wrong shape or sign; or the multiplicities of the positive entries of q sum to less than nu, so
        that no point of the set has a finite relative entropy to q.
    OptionError
        The method is unknown.

    References
    ----------
    Glocer 2009, algorithm 4.2 (printed with nu where the cap 1 / nu belongs); Shalev-Shwartz and Singer 2008,
    figure 2 (where nu stands for the cap itself).
    """
    method = check_choice("method", method, ("auto", "select", "sort"))
    q = non_negative_weights("q", q)
    c = np.ones(len(q)) if c is None else non_negative_weights("c", c)
    if len(q) == 0 or c.shape != q.shape:
        raise ProblemError(
            f"q and c must have the same shape (N,) with N >= 1; got {q.shape} and {c.shape}. Pass one entry of each "
            "for every example."
        )
    if (c == 0).any():
        raise ProblemError(
            f"the multiplicities c must be finite and positive; got 0 at {int(np.argmin(c))}. Leave out this example."
        )
    expected = f"lie in [1, sum of c] = [1, {c.sum():.6g}]"
    advice = "Pass the least number of examples that share the weight."
    max_nu = float(c.sum()) * (1 + CAP_SUM_TOL)
    nu = check_number("nu", nu, expected, lambda count: 1.0 <= count <= max_nu, advice, ProblemError)
    simplex = CappedSimplex(np.where(q > 0, c, 0.0), nu)  # raises an error if the support of q is too small
    return simplex.renormalize(capped_softmax(log_or_neg_inf(q), c, nu, method).d)


def read_domain(name: str, value: object) -> CappedSimplex:
    """Return a capped simplex; raise ProblemError for anything else."""
    return check_instance(name, value, CappedSimplex, "a CappedSimplex", "Pass CappedSimplex(c, nu).", ProblemError)


def feasible_box(d: ExampleVector, upper: Interval) -> Interval:
    """Return a box of weights near d that contains a point of the capped simplex, in exact arithmetic.

    The interval of one weight, which is far enough from both bounds, covers the distance of the sum to 1. If no weight
    is far enough, as near the only point of a singleton, the intervals of all weights do.

    Parameters
    ----------
    d
        Weights that are feasible up to rounding, shape (N,).
    upper
        The exact caps, shape (N,). They sum to at least 1.
    """
    x = np.clip(d, 0.0, upper.lower)
    missing_mass = math.fsum([1.0, *(-x).tolist()]) * (1.0 + UNIT)
    up, down = max(missing_mass, 0.0), max(-missing_mass, 0.0)
    room = np.minimum(upper.lower - x - up, x - down)
    n = int(np.argmax(room))
    changed = np.arange(len(x)) == n if room[n] >= 0.0 else np.ones(len(x), dtype=bool)
    low, high = np.nextafter(x - down, -np.inf).clip(min=0.0), np.minimum(np.nextafter(x + up, np.inf), upper.upper)
    return Interval(np.where(changed & (down > 0.0), low, x), np.where(changed & (up > 0.0), high, x))


def exact_caps(domain: CappedSimplex, caps: Float[Array, " n"]) -> Interval:
    """Return intervals that contain the exact caps of a capped simplex.

    The exact caps are c / nu, or c / sum c if nu exceeds the sum of c by rounding.

    Parameters
    ----------
    domain
        The capped simplex.
    caps
        Some entries of `domain.upper`, which are rounded, shape (n,).
    """
    missing_mass = max(1.0 - math.fsum(domain.c.tolist()) / domain.nu, 0.0)
    radius = (missing_mass + UNIT * (missing_mass > 0.0)) * caps
    low, high = np.nextafter(caps - radius, 0.0), np.nextafter(caps + radius, np.inf)
    return Interval(np.where(caps == 0.0, 0.0, low), np.where(caps == 0.0, 0.0, high))
