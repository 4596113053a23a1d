"""The validation set of early stopping: examples that a fit holds out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import train_test_split

from boostopt._utils.array_types import Array, Bool, Int, Int8


@dataclass(frozen=True, eq=False)
class ValidationSet:
    """The examples for early stopping.

    Attributes
    ----------
    X
        Features, shape (n, features).
    labels
        Labels, shape (n,).
    """

    X: Any
    labels: npt.NDArray[Any]

    def with_signs(self, label: Any) -> tuple[Any, Int8[Array, " n"]]:
        """Return the features, and label signs: 1 for the examples with a label and -1 for the others."""
        return self.X, np.where(self.labels == label, 1, -1).astype(np.int8)


def split_validation_set(
    X: Any, labels: npt.NDArray[Any], sample_weight: Any, fraction: Any, seed: int | None
) -> tuple[Int[Array, " n"], ValidationSet]:
    """Return the rows of the training set, ascending, and the validation set.

    Parameters
    ----------
    X, labels, sample_weight
        Features, labels, and weights or None. Examples of weight 0 are not held out, because they do not count.
    fraction
        The share of the examples, or their number, that is held out, with the same proportions of the classes; None to
        stop by the training examples.
    seed
        The seed of the draw; None for 0.

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
    training_rows, validation_rows = train_test_split(
        np.flatnonzero(counting), test_size=fraction, stratify=labels[counting], random_state=seed or 0
    )
    return np.sort(training_rows), ValidationSet(X[validation_rows], labels[validation_rows])
