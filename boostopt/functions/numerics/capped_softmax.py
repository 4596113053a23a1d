"""The capped softmax d = min(c / nu, theta exp(a)) with sum 1: the entropic projection onto the capped simplex.

All methods use logarithms, so that no number overflows and small entries keep their digits [Warmuth, Glocer, Raetsch
2007, section 4; Glocer 2009, algorithm 4.2 with its caps corrected; Shalev-Shwartz and Singer 2008, figure 2].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from boostopt._utils.array_types import Array, Bool, ExampleVector, Float

CAP_SUM_TOL = 1e-12
"""Relative tolerance of the sum of the multiplicities: if the sum is nu, every weight is at its cap."""

MAX_SORT_ENTRIES = 20_000
"""Number of entries up to which sorting is faster than selection (measured: equal speed at about this number)."""

MAX_CAPPING_ROUNDS = 30
"""Maximum number of rounds that enlarge the capped set, before sorting or selection."""

MIN_FREE_TOTAL = 1e-150
"""Sum of the free shares, relative to the largest share of all, below which only logarithms are accurate."""


@dataclass(frozen=True)
class CappedSoftmax:
    """The weights d = min(c / nu, exp(a + log_theta)) with sum 1, and log_theta."""

    d: ExampleVector
    log_theta: float


def capped_softmax(
    a: ExampleVector,
    c: ExampleVector,
    nu: float,
    method: str = "auto",
) -> CappedSoftmax:
    """Return the point of the capped simplex that is proportional to exp(a) below the caps.

    Parameters
    ----------
    a
        Logarithms of the weights up to a factor, shape (N,), of any size; -inf for weight 0.
    c
        Multiplicities, shape (N,). Those of finite entries of `a` must sum to at least nu.
    nu
        The number in the caps c / nu.
    method
        The search for the capped entries: "sort" in O(N log N), "select" in O(N), or "auto". "auto" first tries a few
        cheap rounds, which are enough for weights near the capped simplex, and then the faster one of both.
    """
    in_support = np.isfinite(a) & (c > 0)
    if not in_support.all():
        softmax, d = capped_softmax(a[in_support], c[in_support], nu, method), np.zeros(len(a))
        d[in_support] = softmax.d
        return CappedSoftmax(d, softmax.log_theta)
    caps = c / nu
    if c.sum() <= nu * (1 + CAP_SUM_TOL):
        return CappedSoftmax(caps, float(np.max(np.log(caps) - a)))
    capped_and_mass = _find_capped_by_rounds(a, c, nu) if method == "auto" else None
    if capped_and_mass is None:
        by_sorting = method == "sort" or (method == "auto" and len(a) <= MAX_SORT_ENTRIES)
        capped_and_mass = (_find_capped_by_sorting if by_sorting else _find_capped_by_selection)(a, np.log(c), c, nu)
    at_cap, remaining_mass = capped_and_mass
    # A new sum of the free entries: the errors of the running sums in the search grow like sqrt(N) ulp. Exponents are
    # relative to the largest free one, because differences of huge numbers are more accurate than the numbers.
    is_free = ~at_cap
    largest = float(a[is_free].max())
    shares = np.exp(np.minimum(a - largest, 0.0))
    total = float(shares[is_free].sum())
    d = np.where(at_cap, caps, np.minimum(caps, remaining_mass / nu * (shares / total)))
    return CappedSoftmax(d, float(np.log(remaining_mass / (nu * total))) - largest)


def _find_capped_by_rounds(
    a: Float[Array, " n"], c: Float[Array, " n"], nu: float
) -> tuple[Bool[Array, " n"], float] | None:
    """Return a mask of the capped entries and the remaining mass, by rounds; None if many rounds are necessary.

    Each round caps the entries that exceed their caps. This increases the other entries, so that entries that exceed
    their caps in any round are capped in the solution, and the next round needs the other entries only.
    """
    free, counts = np.arange(len(a)), c
    shares, remaining_mass = np.exp(a - a.max()), nu
    capped_and_mass = _find_capped_in_order(shares, c, nu)
    if capped_and_mass is not None:
        return capped_and_mass
    for _ in range(MAX_CAPPING_ROUNDS):
        total = float(shares.sum())
        if total < MIN_FREE_TOTAL:
            # The free shares are tiny relative to the capped ones. Scale them by the largest free one.
            shares = np.exp(a[free] - a[free].max())
            total = float(shares.sum())
        exceeds_cap = remaining_mass * shares > total * counts
        if not exceeds_cap.any():
            capped = np.ones(len(a), dtype=bool)
            capped[free] = False
            return capped, remaining_mass
        is_free = ~exceeds_cap
        remaining_mass -= float(counts[exceeds_cap].sum())
        if remaining_mass <= 0.0 or not is_free.any():
            return None
        free, counts, shares = free[is_free], counts[is_free], shares[is_free]
    return None


def _find_capped_in_order(
    shares: Float[Array, " n"], c: Float[Array, " n"], nu: float
) -> tuple[Bool[Array, " n"], float] | None:
    """Return the same if entries come in the order of their shares over c, the largest first; None otherwise.

    Bins of margins come in this order. The answer takes half of the time of the rounds.
    """
    ratios = shares / c
    if (ratios[1:] > ratios[:-1]).any():
        return None
    remaining_mass = nu - np.append(0.0, np.cumsum(c[:-1]))
    totals = np.cumsum(shares[::-1])[::-1]
    fits = remaining_mass * ratios <= totals  # an entry within its cap, if those before are capped
    k = int(np.argmax(fits))
    if not fits[k] or remaining_mass[k] <= 0.0 or totals[k] < MIN_FREE_TOTAL:
        return None
    return np.arange(len(c)) < k, float(remaining_mass[k])


def _find_capped_by_sorting(
    a: Float[Array, " n"], log_c: Float[Array, " n"], c: Float[Array, " n"], nu: float
) -> tuple[Bool[Array, " n"], float]:
    """Return a mask of the capped entries and the remaining mass: nu minus their multiplicities."""
    order = np.argsort(log_c - a)
    s = a[order]
    suffix = np.logaddexp.accumulate(s[::-1])[::-1]
    remaining_mass = nu - np.concatenate([[0.0], np.cumsum(c[order])[:-1]])
    positive = remaining_mass > 0
    # s - suffix <= 0 also in floating point, so the last k with positive remaining mass fits, up to its rounding.
    fits = (
        np.log(remaining_mass, out=np.full(len(remaining_mass), np.inf), where=positive) + (s - suffix) - log_c[order]
        <= 0
    )
    k = int(np.argmax(fits)) if fits.any() else int(np.flatnonzero(positive)[-1])
    capped = np.zeros(len(a), dtype=bool)
    capped[order[:k]] = True
    return capped, float(remaining_mass[k])


def _find_capped_by_selection(
    a: Float[Array, " n"], log_c: Float[Array, " n"], c: Float[Array, " n"], nu: float
) -> tuple[Bool[Array, " n"], float]:
    """Return the result of `_find_capped_by_sorting`, by halving the undecided entries at the median of their keys."""
    keys = a - log_c
    undecided = keys, a, c
    capped_count = 0.0  # multiplicity of entries that are certainly capped
    log_free_total = -np.inf  # logsumexp of entries that are certainly free
    lowest_capped = np.inf
    while len(undecided[0]):
        key, s, count = undecided
        pivot = np.partition(key, len(key) // 2)[len(key) // 2]
        above_pivot, up_to_pivot = key > pivot, key <= pivot
        log_total = float(np.logaddexp(_logsumexp(s[up_to_pivot]), log_free_total))
        above_count = capped_count + float(count[above_pivot].sum())
        count_with_pivot = above_count + float(count[key == pivot].sum())
        # If capping all entries from the pivot on left no mass for the other entries, the pivot is free.
        if count_with_pivot >= nu or np.log(nu - above_count) + (pivot - log_total) <= 0:
            log_free_total, undecided_mask = log_total, above_pivot
        else:
            lowest_capped, undecided_mask, capped_count = float(pivot), key < pivot, count_with_pivot
        undecided = key[undecided_mask], s[undecided_mask], count[undecided_mask]
    return keys >= lowest_capped, nu - capped_count


def log_or_neg_inf(x: Float[Array, " n"]) -> Float[Array, " n"]:
    """Return the logarithm with log 0 = -inf, without a warning."""
    is_positive = x > 0
    if is_positive.all():
        return np.log(x)
    return np.log(x, out=np.full(len(x), -np.inf), where=is_positive)


def _logsumexp(x: Float[Array, " n"]) -> float:
    """Return the logarithm of the sum of exponentials of finite numbers; -inf for no numbers."""
    largest = x.max(initial=-np.inf)
    return float(largest + np.log(np.exp(x - largest).sum())) if len(x) else -np.inf
