"""The capped softmax d = min(c / nu, theta exp(a)) with sum 1: the entropic projection onto the capped simplex.

Everything is computed from logarithms, so that nothing overflows or loses its small entries [Warmuth, Glocer, Raetsch
2007, section 4; Glocer 2009, algorithm 4.2 with its caps corrected; Shalev-Shwartz and Singer 2008, figure 2].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from boostopt._utils.array_types import Array, Bool, Float

CAP_SUM_TOL = 1e-12
"""Relative tolerance at which the multiplicities count as summing to nu: then every weight stands at its cap."""

MAX_SORT_ENTRIES = 20_000
"""Entries up to which sorting beats selection (measured: equal at about this many)."""

MAX_CAPPING_ROUNDS = 30
"""Rounds of growing the capped set before the search by sorting or selection begins."""

MIN_FREE_TOTAL = 1e-150
"""Total of the free shares, relative to the largest share of all, below which their logarithms are needed."""


@dataclass(frozen=True)
class CappedSoftmax:
    """d = min(c / nu, exp(a + log_theta)) with sum 1."""

    d: Float[Array, " N"]
    log_theta: float


def capped_softmax(
    a: Float[Array, " N"],
    c: Float[Array, " N"],
    nu: float,
    method: str = "auto",
) -> CappedSoftmax:
    """Return the point of the capped simplex that is proportional to exp(a) below the caps.

    `a` may hold -inf (weight 0) and values of any size. The multiplicities of the finite entries must sum to at
    least nu. The methods differ in how they find the capped entries: "sort" in O(N log N), "select" in O(N); "auto"
    first tries a few cheap rounds that are enough for weights near the set, then the faster of the two.
    """
    live = np.isfinite(a) & (c > 0)
    s, counts = a[live], c[live]
    d = np.zeros(len(a))
    if counts.sum() <= nu * (1 + CAP_SUM_TOL):
        d[live] = counts / nu
        return CappedSoftmax(d, float(np.max(np.log(counts / nu) - s)))
    split = _find_capped_by_rounds(s, counts, nu) if method == "auto" else None
    if split is None:
        by_sorting = method == "sort" or (method == "auto" and len(s) <= MAX_SORT_ENTRIES)
        split = (_find_capped_by_sorting if by_sorting else _find_capped_by_selection)(s, np.log(counts), counts, nu)
    at_cap, rem = split
    # The free entries summed anew, in one shot: the running sums that found the capped ones drift like sqrt(N) ulp.
    # Relative to the largest free exponent: of two huge numbers only their difference is known well.
    largest = float(s[~at_cap].max())
    shares = np.exp(np.minimum(s - largest, 0.0))
    total = float(shares[~at_cap].sum())
    d[live] = np.where(at_cap, counts / nu, np.minimum(counts / nu, rem / nu * (shares / total)))
    return CappedSoftmax(d, float(np.log(rem / (nu * total))) - largest)


def _find_capped_by_rounds(
    a: Float[Array, " n"], c: Float[Array, " n"], nu: float
) -> tuple[Bool[Array, " n"], float] | None:
    """Return which entries are capped and rem, by capping all that exceed their cap until none does.

    Capping some raises the others, so what exceeds its cap at any stage is capped in the end, and only the others are
    looked at again. None where it takes many rounds.
    """
    free = np.arange(len(a))
    exponents, counts = a, c
    shares, rem = np.exp(a - a.max()), nu
    for _ in range(MAX_CAPPING_ROUNDS):
        total = float(shares.sum())
        if total < MIN_FREE_TOTAL:
            # Beside those that were capped the free ones vanish: relative to the largest free one they do not.
            shares = np.exp(exponents - exponents.max())
            total = float(shares.sum())
        over = rem * shares > total * counts
        if not over.any():
            capped = np.ones(len(a), dtype=bool)
            capped[free] = False
            return capped, rem
        keep = ~over
        rem -= float(counts[over].sum())
        if rem <= 0.0 or not keep.any():
            return None
        free, exponents, counts, shares = free[keep], exponents[keep], counts[keep], shares[keep]
    return None


def _find_capped_by_sorting(
    a: Float[Array, " n"], log_c: Float[Array, " n"], c: Float[Array, " n"], nu: float
) -> tuple[Bool[Array, " n"], float]:
    """Return which entries are capped and rem, the multiplicity of nu left for the others."""
    order = np.argsort(log_c - a)
    s = a[order]
    suffix = np.logaddexp.accumulate(s[::-1])[::-1]
    rem = nu - np.concatenate([[0.0], np.cumsum(c[order])[:-1]])
    positive = rem > 0
    # s - suffix <= 0 holds in floating point, so the last k with rem > 0 passes up to the rounding of rem.
    passes = np.log(rem, out=np.full(len(rem), np.inf), where=positive) + (s - suffix) - log_c[order] <= 0
    k = int(np.argmax(passes)) if passes.any() else int(np.flatnonzero(positive)[-1])
    capped = np.zeros(len(a), dtype=bool)
    capped[order[:k]] = True
    return capped, float(rem[k])


def _find_capped_by_selection(
    a: Float[Array, " n"], log_c: Float[Array, " n"], c: Float[Array, " n"], nu: float
) -> tuple[Bool[Array, " n"], float]:
    """Return the same as `_find_capped_by_sorting` by halving the undecided entries at the median of their keys."""
    keys = a - log_c
    undecided = keys, a, c
    counted = 0.0  # multiplicity known to be capped
    tail = -np.inf  # logsumexp of the entries known to be free
    lowest_capped = np.inf
    while len(undecided[0]):
        key, s, count = undecided
        pivot = np.partition(key, len(key) // 2)[len(key) // 2]
        above, up_to = key > pivot, key <= pivot
        full = float(np.logaddexp(_logsumexp(s[up_to]), tail))
        above_count = counted + float(count[above].sum())
        at_pivot = above_count + float(count[key == pivot].sum())
        # Were all up to the pivot capped, nothing or less would be left for the others: then the pivot is free.
        if at_pivot >= nu or np.log(nu - above_count) + (pivot - full) <= 0:
            tail, rest = full, above
        else:
            lowest_capped, rest, counted = float(pivot), key < pivot, at_pivot
        undecided = key[rest], s[rest], count[rest]
    return keys >= lowest_capped, nu - counted


def log_or_neg_inf(x: Float[Array, " n"]) -> Float[Array, " n"]:
    """Logarithm with log 0 = -inf and no warning."""
    return np.log(x, out=np.full(len(x), -np.inf), where=x > 0)


def _logsumexp(x: Float[Array, " n"]) -> float:
    """Log of the sum of exponentials of finite numbers, -inf for none."""
    largest = x.max(initial=-np.inf)
    return float(largest + np.log(np.exp(x - largest).sum())) if len(x) else -np.inf
