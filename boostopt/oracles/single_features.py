"""What classes of hypotheses on single features share: the values of a feature, and the choice among features."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from boostopt.oracles.examples import features_of
from boostopt.shapes import Array, Float, Num


def feature_values(X: Any, feature: int, features: int) -> Float[Array, " n"]:
    """Return one feature of X, shape (n, features), dense or sparse, checked."""
    values = features_of(X, features)
    return values[:, [feature]].toarray().ravel() if scipy.sparse.issparse(values) else values[:, feature]


def leading(values: Num[Array, " k"], count: int) -> list[int]:
    """Return where the `count` largest values stand, descending, of equal ones the first before the later."""
    if count <= 1:
        return [int(np.argmax(values))]
    least = np.partition(values, -count)[-count] if count < len(values) else values.min()
    those = np.flatnonzero(values >= least)
    return [int(k) for k in those[np.argsort(-values[those], kind="stable")][:count]]
