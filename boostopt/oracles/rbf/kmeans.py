"""Centres of weighted points by k-means: a start for an optimization, so few steps are enough."""

from __future__ import annotations

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Float, Int

MAX_STEPS = 10
"""Largest number of steps of Lloyd's algorithm."""


def kmeans(
    X: Float[Array, "N features"], weights: ExampleVector, K: int, rng: np.random.Generator | None = None
) -> Float[Array, "k features"]:
    """Return k = min(K, number of different points) centres of weighted points.

    The first centres are points. Each next one is drawn with a probability proportional to weight times squared
    distance from the nearest centre so far. Without a generator, it is the first point with the largest such
    product. Then come at most 10 steps of Lloyd's algorithm. A centre that is nearest to no point stays unchanged.

    Parameters
    ----------
    X
        Points, shape (N, features), of a size whose squares neither overflow nor underflow.
    weights
        Positive weights, shape (N,).
    K
        Number of centres wanted, at least 1.
    rng
        The generator of the first centres; None for a deterministic start.

    References
    ----------
    Arthur and Vassilvitskii 2007, k-means++.
    """
    centres = X[_choose_first_centres(X, weights, K, rng)]
    weighted = weights[:, np.newaxis] * X
    nearest: Int[Array, " N"] | None = None
    for _ in range(MAX_STEPS):
        last, nearest = nearest, _nearest(X, centres)
        if last is not None and np.array_equal(last, nearest):
            break
        member = (nearest == np.arange(len(centres))[:, np.newaxis]).astype(np.float64)
        sizes = member @ weights
        full = sizes > 0
        centres[full] = (member @ weighted)[full] / sizes[full, np.newaxis]
    return centres


def _choose_first_centres(
    X: Float[Array, "N features"], weights: ExampleVector, K: int, rng: np.random.Generator | None
) -> Int[Array, " k"]:
    """Return the indices of the points that are the first centres."""
    indices: list[int] = []
    distances, shares = np.full(len(X), np.inf), weights
    while len(indices) < K and (shares > 0).any():
        indices.append(int(shares.argmax()) if rng is None else _draw_index(shares, rng))
        difference = X - X[indices[-1]]
        distances = np.minimum(distances, np.einsum("nj,nj->n", difference, difference))
        shares = weights * distances
    return np.array(indices)


def _draw_index(shares: ExampleVector, rng: np.random.Generator) -> int:
    """Return an index drawn in proportion to its share; never one of share 0."""
    sums = np.cumsum(shares)
    index = int(np.searchsorted(sums, rng.random() * sums[-1], side="right"))
    return index if index < len(shares) else int(shares.argmax())  # rounding reached the whole sum


def _nearest(X: Float[Array, "N features"], centres: Float[Array, "k features"]) -> Int[Array, " N"]:
    """Return the number of the nearest centre: |x - c|² = |x|² - 2 (x·c - |c|²/2)."""
    closeness = centres @ X.T
    closeness -= 0.5 * np.einsum("kj,kj->k", centres, centres)[:, np.newaxis]
    return closeness.argmax(axis=0)
