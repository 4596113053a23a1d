"""Examples that a fit holds out, to stop boosting where it no longer gains anything on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import train_test_split

from boostopt._utils.array_types import Array, Bool, Int, Int8


@dataclass(frozen=True, eq=False)
class ValidationSet:
    """Examples to stop by.

    Attributes
    ----------
    X
        Features, shape (n, features).
    labels
        Their labels, shape (n,).
    """

    X: Any
    labels: npt.NDArray[Any]

    def with_signs(self, label: Any) -> tuple[Any, Int8[Array, " n"]]:
        """Return features, and 1 for the examples with a label and -1 for the others."""
        return self.X, np.where(self.labels == label, 1, -1).astype(np.int8)


def split_validation_set(
    X: Any, labels: npt.NDArray[Any], sample_weight: Any, fraction: Any, seed: int | None
) -> tuple[Int[Array, " n"], ValidationSet]:
    """Return the rows to learn from, ascending, and the examples to stop by.

    Parameters
    ----------
    X, labels, sample_weight
        Features, labels, and weights or None. What has weight 0 is not held out: it counts nowhere.
    fraction
        A share of the examples, or their number, that is held out, with as many of each class as there are in all; None
        to stop by the examples that are learned from.
    seed
        Of the draw; None for 0.

    Raises
    ------
    ValueError
        A class has too few examples, in scikit-learn's words.
    """
    if fraction is None:
        return np.arange(len(labels)), ValidationSet(X, labels)
    counting: Bool[Array, " N"] = np.ones(len(labels), dtype=bool)
    if sample_weight is not None:
        counting = np.asarray(sample_weight, dtype=np.float64) > 0
    learnt, held = train_test_split(
        np.flatnonzero(counting), test_size=fraction, stratify=labels[counting], random_state=seed or 0
    )
    return np.sort(learnt), ValidationSet(X[held], labels[held])
