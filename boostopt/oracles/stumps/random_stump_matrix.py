"""Random decision stumps as a margin matrix: h(x) = +1 or -1 on either side of a threshold of one feature."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse

from boostopt._utils.array_types import Array, Float, Int8
from boostopt._utils.validation import check_integer, generator
from boostopt.oracles.labelled_examples import check_features_and_labels
from boostopt.rows.thresholds import all_thresholds


def stump_matrix(
    X: npt.ArrayLike, y: npt.ArrayLike, t: int, random_state: int | np.random.Generator | None = 0
) -> Int8[Array, "N columns"]:
    """Draw decision stumps at random and return their margin matrix U[n, q] = y_n h_q(x_n).

    The class is closed under negation, and so is the draw: columns 2k and 2k + 1 are a stump and its negation.
    Stumps are drawn without replacement: first a feature that is not constant, then one of its thresholds that has not
    been drawn, each with equal probability. Thresholds lie halfway between neighbouring distinct values. If all
    features are constant, the only stump is the constant hypothesis.

    Parameters
    ----------
    X
        Features, shape (N, features), finite.
    y
        Labels, shape (N,): -1 and 1, 0 and 1, or False and True; the larger one is class 1.
    t
        Number of columns wanted, at least 1.
    random_state
        Seed or generator. Equal seeds give equal matrices.

    Returns
    -------
    int8 array of shape (N, min(t, number of stumps and negations that exist)), entries -1 or 1.

    Raises
    ------
    ProblemError
        X or y has a wrong shape, an entry of X is not a finite number, or labels are invalid.
    OptionError
        t is smaller than 1, or the seed is negative.
    """
    features, labels = check_features_and_labels(X, y)
    if scipy.sparse.issparse(features):
        features = features.toarray()
    t = check_integer("t", t, 1, "a whole number of columns", "Ask for one or more.")
    rng = generator("random_state", random_state)
    stumps = [features[:, j] > threshold for j, threshold in draw_stumps(features, -(-t // 2), rng)]
    if not stumps:
        stumps = [np.ones(len(labels), dtype=bool)]
    h = 2 * np.array(stumps, dtype=np.int8).T - 1
    signed = np.stack([h, -h], axis=2).reshape(len(labels), -1)[:, :t]
    return (signed * labels[:, np.newaxis]).astype(np.int8)


def draw_stumps(X: Float[Array, "N features"], count: int, rng: np.random.Generator) -> list[tuple[int, float]]:
    """Draw up to `count` different stumps, each as its feature and its threshold."""
    varying = [int(j) for j in np.flatnonzero(X.min(axis=0) < X.max(axis=0))]
    remaining: dict[int, Float[Array, " thresholds"]] = {}
    stumps: list[tuple[int, float]] = []
    while varying and len(stumps) < count:
        j = int(rng.choice(varying))
        if j not in remaining:
            values = np.unique(X[:, j])
            remaining[j] = rng.permutation(all_thresholds(values))
        stumps.append((j, float(remaining[j][-1])))
        remaining[j] = remaining[j][:-1]
        if len(remaining[j]) == 0:
            varying.remove(j)
    return stumps
