"""The examples that an oracle learns from: features, labels and multiplicities, checked."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from boostopt.errors import ProblemError
from boostopt.shapes import Array, Float, Int, Int8


@dataclass(frozen=True, eq=False)
class Labelled:
    """Features, labels and multiplicities of the examples that count.

    Attributes
    ----------
    X
        Features, shape (N, features): a float64 array or a float64 CSR array without explicit zeros.
    y
        Labels -1 and 1, shape (N,).
    c
        Multiplicities, shape (N,), positive.
    rows
        Which of the rows given these are, shape (N,): those of multiplicity 0 are left out.
    """

    X: Any
    y: Int8[Array, " N"]
    c: Float[Array, " N"]
    rows: Int[Array, " N"]

    @property
    def N(self) -> int:
        """Number of examples that count."""
        return len(self.y)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of features, labels and multiplicities."""
        digest = hashlib.sha256(repr(self.X.shape).encode())
        for part in (*_arrays(self.X), self.y, self.c):
            digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()


def labelled(X: Any, y: npt.ArrayLike, c: npt.ArrayLike | None = None) -> Labelled:
    """Check examples and return those that count.

    Parameters
    ----------
    X
        Features, shape (N, features), finite: an array or a scipy sparse matrix.
    y
        Labels, shape (N,): -1 and 1, 0 and 1, or False and True; the larger one is class 1. Both must occur.
    c
        Multiplicities, shape (N,), non-negative, 1 by default; examples with 0 are left out.

    Raises
    ------
    ProblemError
        A wrong shape, an entry that is no finite number, other labels, one class only, a negative multiplicity.
    """
    features, labels = _features(X), np.asarray(y)
    if labels.shape != features.shape[:1]:
        raise ProblemError(
            "X must have shape (N, features) and y shape (N,); "
            f"got {features.shape} and {labels.shape}. Pass one label for each row."
        )
    positive = np.isin(labels, (1,))
    if labels.dtype.kind not in "biuf" or not np.isin(labels, (-1, 0, 1)).all() or np.isin((-1, 0), labels).all():
        raise ProblemError(
            f"y must hold -1 and 1, or 0 and 1; got {np.unique(labels)[:5].tolist()}. Code the two classes so."
        )
    counts = np.ones(len(labels)) if c is None else np.asarray(c, dtype=np.float64)
    if counts.shape != labels.shape or not (np.isfinite(counts) & (counts >= 0)).all():
        raise ProblemError(
            f"the multiplicities c must be {len(labels)} finite numbers of at least 0; got shape {counts.shape}, "
            f"smallest {counts.min(initial=np.inf):.6g}."
        )
    rows = np.flatnonzero(counts > 0)
    signs = (2 * positive[rows].astype(np.int8) - 1).astype(np.int8)
    if len(rows) == 0 or (signs == signs[0]).all():
        raise ProblemError(
            f"both classes must occur among the examples that count; got {len(rows)} such examples of one class. "
            "There is nothing to tell apart."
        )
    kept = features if len(rows) == len(labels) else features[rows]
    return Labelled(kept, signs, counts[rows], rows)


def features_of(X: Any, count: int) -> Any:
    """Return features to predict from, checked: float64, dense or CSR, shape (n, count)."""
    features = _features(X)
    if features.shape[1] != count:
        raise ProblemError(f"X must have the {count} features that were learned from; got shape {features.shape}.")
    return features


def _features(X: Any) -> Any:
    """Return X as a float64 array or CSR array of finite numbers."""
    sparse = scipy.sparse.issparse(X)
    try:
        features: Any = scipy.sparse.csr_array(X, dtype=np.float64) if sparse else np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as failure:
        raise ProblemError(f"X must be an array of numbers: {failure}. Encode text, fill up rows.") from failure
    if features.ndim != 2 or 0 in features.shape:
        raise ProblemError(f"X must have shape (N, features), not empty; got {features.shape}.")
    entries: Any = features.data if sparse else features
    if not np.isfinite(entries).all():
        if sparse:
            coordinates = features.tocoo()
            at = int(np.flatnonzero(~np.isfinite(coordinates.data))[0])
            n, j, value = coordinates.row[at], coordinates.col[at], coordinates.data[at]
        else:
            n, j = np.argwhere(~np.isfinite(features))[0]
            value = features[n, j]
        raise ProblemError(f"X must be finite; got {value} at row {n}, feature {j}. Impute or drop it.")
    if not sparse:
        return features
    if not features.has_canonical_format or (entries == 0).any():
        features = features.copy()
        features.sum_duplicates()
        features.eliminate_zeros()
    return features


def _arrays(X: Any) -> list[Any]:
    """Return the arrays that hold the features."""
    return [X.data, X.indices, X.indptr] if scipy.sparse.issparse(X) else [X]
