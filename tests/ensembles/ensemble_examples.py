"""Examples and ensembles of the tests, and the largest soft margin by SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from boostopt._utils.array_types import Array, Float

RNG = np.random.default_rng(0)
N = 80
X = RNG.normal(size=(N, 4))
Y = np.where(X[:, 0] + X[:, 1] + 0.7 * RNG.normal(size=N) > 0, "yes", "no")
Z = RNG.normal(size=(50, 4))
SIGNS = np.where(Y == "yes", 1, -1)
NU = 10.0

STUMP = DecisionTreeClassifier(max_depth=1)

ENSEMBLES: dict[str, Any] = {
    "adaboost": AdaBoostClassifier(n_estimators=15, random_state=0),
    "gradient boosting": GradientBoostingClassifier(n_estimators=15, max_depth=2, random_state=0),
    "forest": RandomForestClassifier(15, max_depth=3, random_state=0),
    "extra trees": ExtraTreesClassifier(15, max_depth=3, random_state=0),
    "bagging": BaggingClassifier(DecisionTreeClassifier(max_depth=2), 15, max_features=2, random_state=0),
    "voting": VotingClassifier(
        [("lr", LogisticRegression()), ("gone", "drop"), ("tree", DecisionTreeClassifier(max_depth=2)), ("s", STUMP)],
        weights=[2.0, 5.0, 1.0, 1.5],
    ),
}


def fresh(estimator: Any) -> Any:
    """Return a copy that is not fitted."""
    return clone(estimator)


def best_soft_margin(U: Float[Array, "N t"], nu: float, c: Float[Array, " N"] | None = None) -> float:
    """Return max rho - (1/nu) sum c psi s.t. U w >= rho - psi, w in the simplex, psi >= 0: the program as printed."""
    n, t = U.shape
    c = np.ones(n) if c is None else c
    objective = np.concatenate([np.zeros(t), [-1.0], c / nu])
    rows = np.hstack([-U, np.ones((n, 1)), -np.eye(n)])
    total = np.concatenate([np.ones(t), [0.0], np.zeros(n)])[np.newaxis]
    bounds = [(0, None)] * t + [(None, None)] + [(0, None)] * n
    return -float(linprog(objective, rows, np.zeros(n), total, [1.0], bounds, method="highs-ds").fun)


def soft_margin(m: Float[Array, " N"], nu: int) -> float:
    """Return the mean of the nu smallest margins."""
    return float(np.sort(m)[:nu].mean())
