"""Examples of a noisy concept that no stump alone describes, and oracles over them."""

from __future__ import annotations

import numpy as np
from plain_stumps import PlainStumps
from sklearn.tree import DecisionTreeClassifier

from boostopt.oracles import DecisionStumps, Estimators


def examples(N: int = 150, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 6))
    return X, np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=N) > 0, 1, -1)


def stumps(N: int, seed: int = 3) -> DecisionStumps:
    return PlainStumps(*examples(N, seed))


def trees(N: int) -> Estimators:
    """A heuristic oracle: trees fitted to one noisy feature of three."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    return Estimators(DecisionTreeClassifier(max_depth=2), X, np.where(X[:, 0] + 0.5 * rng.normal(size=N) > 0, 1, -1))
