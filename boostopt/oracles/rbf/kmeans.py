"""Centres of weighted points by k-means: a start for what is optimised afterwards, so a few steps are enough."""

from __future__ import annotations

import numpy as np

from boostopt._utils.array_types import Array, Float, Int

STEPS = 10
"""Steps of Lloyd's at most."""


def kmeans(
    X: Float[Array, "N features"], weights: Float[Array, " N"], K: int, rng: np.random.Generator | None = None
) -> Float[Array, "k features"]:
    """Return k = min(K, number of different points) centres of weighted points.

    The first centres are points: each next one is drawn with a probability in proportion to weight times squared
    distance from the nearest centre so far; without a generator the point with the largest one is taken, the first of
    several. Then come at most 10 steps of Lloyd's. A centre that is nearest to no point stays where it is.

    Parameters
    ----------
    X
        Points, shape (N, features), of a size whose squares neither overflow nor vanish.
    weights
        Positive, shape (N,).
    K
        Number of centres wanted, at least 1.
    rng
        What the first centres are drawn with; None for a start without chance.

    References
    ----------
    Arthur and Vassilvitskii 2007, k-means++.
    """
    centres = X[_spread(X, weights, K, rng)]
    weighted = weights[:, np.newaxis] * X
    nearest: Int[Array, " N"] | None = None
    for _ in range(STEPS):
        last, nearest = nearest, _nearest(X, centres)
        if last is not None and np.array_equal(last, nearest):
            break
        member = (nearest == np.arange(len(centres))[:, np.newaxis]).astype(np.float64)
        sizes = member @ weights
        full = sizes > 0
        centres[full] = (member @ weighted)[full] / sizes[full, np.newaxis]
    return centres


def _spread(
    X: Float[Array, "N features"], weights: Float[Array, " N"], K: int, rng: np.random.Generator | None
) -> Int[Array, " k"]:
    """Return which points are the first centres."""
    chosen: list[int] = []
    distances, shares = np.full(len(X), np.inf), weights
    while len(chosen) < K and (shares > 0).any():
        chosen.append(int(shares.argmax()) if rng is None else _drawn(shares, rng))
        difference = X - X[chosen[-1]]
        distances = np.minimum(distances, np.einsum("nj,nj->n", difference, difference))
        shares = weights * distances
    return np.array(chosen)


def _drawn(shares: Float[Array, " N"], rng: np.random.Generator) -> int:
    """Return a number drawn in proportion to its share; never one of share 0."""
    sums = np.cumsum(shares)
    at = int(np.searchsorted(sums, rng.random() * sums[-1], side="right"))
    return at if at < len(shares) else int(shares.argmax())  # rounding reached the whole sum


def _nearest(X: Float[Array, "N features"], centres: Float[Array, "k features"]) -> Int[Array, " N"]:
    """Return the number of the nearest centre: |x - c|² = |x|² - 2 (x·c - |c|²/2)."""
    closeness = centres @ X.T
    closeness -= 0.5 * np.einsum("kj,kj->k", centres, centres)[:, np.newaxis]
    return closeness.argmax(axis=0)
