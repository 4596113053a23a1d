"""The examples of classifiers: labels, weights as numbers of copies, equal examples merged."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array

from boostopt.errors import OptionError, ProblemError, shown
from boostopt.programs.parameters import LARGEST, SMALLEST
from boostopt.shapes import Array, Float, Int

FURTHEST = 1e99
"""Quotient of two weights up to which the smallest can be scaled to 1 with the largest still a multiplicity."""

BALANCED = "balanced"
"""The class weights that give each class the same total."""


@dataclass(frozen=True, eq=False)
class Counted:
    """The different examples that count.

    Attributes
    ----------
    X
        Features, shape (N, features).
    codes
        Numbers of their classes, shape (N,).
    c
        Multiplicities, shape (N,), positive.
    classes
        The labels, ascending, shape (classes,).
    """

    X: Any
    codes: Int[Array, " N"]
    c: Float[Array, " N"]
    classes: npt.NDArray[Any]

    def weighted(self, class_weight: Any) -> Counted:
        """Return them with multiplicities times those of their classes: a mapping from labels, "balanced" or None.

        Raises
        ------
        OptionError
            The class weights are none.
        ProblemError
            The products lie so far apart that what is computed with them would overflow or vanish.
        """
        factors = class_factors(class_weight, self.classes, self.codes, self.c)
        return replace(self, c=_multiplied(self.c, factors[self.codes]))


def counted(X: Any, labels: npt.NDArray[Any], sample_weight: Any) -> Counted:
    """Return the different examples of positive weight, each with its whole weight.

    Raises
    ------
    ProblemError
        The weights are no such numbers, or there is one class only.
    """
    check_classification_targets(labels)
    weights = _checked_weights(sample_weight, len(labels))
    counting = weights > 0
    classes, codes = _classes_of(labels[counting])
    return Counted(*merged(X[counting], codes, weights[counting]), classes)


def _checked_weights(sample_weight: Any, N: int) -> Float[Array, " N"]:
    """Return sample weights, 1 by default.

    Raises
    ------
    ProblemError
        They are not N numbers of at least 0, or all are 0, or one is so large or small that products overflow.
    """
    if sample_weight is None:
        return np.ones(N)
    numbers: Any = check_array(sample_weight, ensure_2d=False, dtype="numeric", input_name="sample_weight")
    weights = np.asarray(numbers, dtype=np.float64)
    positive = weights[weights > 0]
    if len(positive) and not (positive.min() >= SMALLEST and positive.max() <= LARGEST):
        raise ProblemError(
            f"sample_weight must be 0 or lie in [{SMALLEST:g}, {LARGEST:g}]; got weights from {positive.min():.6g} to "
            f"{positive.max():.6g}. Scale the weights; if nu is a share, it does not depend on their scale."
        )
    if weights.shape != (N,) or (weights < 0).any() or not (weights > 0).any():
        raise ProblemError(
            f"sample_weight must be {N} weights of at least 0, not all zero; got shape {weights.shape}, smallest "
            f"{weights.min():.6g}, largest {weights.max():.6g}. Pass the number of copies of each example."
        )
    return weights


def _classes_of(labels: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Int[Array, " N"]]:
    """Return the classes of the examples that count, ascending, and the number of each example's class.

    Raises
    ------
    ProblemError
        There is one class only.
    """
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ProblemError(
            f"the examples with a positive weight must have at least two classes; got {len(classes)} class. "
            "Add examples of another class."
        )
    return classes, codes


def merged(
    X: Any, codes: Int[Array, " N"], weights: Float[Array, " N"]
) -> tuple[Any, Int[Array, " n"], Float[Array, " n"]]:
    """Return the different examples in an order that is theirs, each with its whole weight.

    So neither the order of the examples matters, nor whether one comes twice or has the weight 2: to the last digit.

    Parameters
    ----------
    X
        Features, shape (N, features): a float64 array, or compressed rows in canonical format without explicit zeros.
    codes
        Numbers of the classes.
    weights
        Positive.
    """
    sparse = scipy.sparse.issparse(X)
    rows: Any = X if sparse else X + 0.0  # -0 becomes 0
    keys = _keys_of_sparse(rows, codes) if sparse else _keys(rows, codes)
    order = keys.argsort(kind="stable")
    keys = keys[order]
    first = np.concatenate([[0], 1 + np.flatnonzero(keys[1:] != keys[:-1])])
    kept = order[first]
    return rows[kept], codes[kept], np.add.reduceat(weights[order], first)


def _keys(rows: Float[Array, "N features"], codes: Int[Array, " N"]) -> npt.NDArray[Any]:
    """Return the bytes of each example: any order will do, and sorting numbers would take a pass for each feature."""
    table = np.column_stack([codes, rows])
    return table.view(np.dtype((np.void, table.itemsize * table.shape[1])))[:, 0]


def _keys_of_sparse(rows: Any, codes: Int[Array, " N"]) -> npt.NDArray[Any]:
    """Return the bytes of each example, of different lengths."""
    ends = zip(codes.tolist(), rows.indptr[:-1], rows.indptr[1:], strict=True)
    keys = np.empty(len(codes), dtype=object)
    keys[:] = [b"%d:" % code + rows.indices[a:b].tobytes() + rows.data[a:b].tobytes() for code, a, b in ends]
    return keys


def class_factors(
    class_weight: Any, classes: npt.NDArray[Any], codes: Int[Array, " N"], weights: Float[Array, " N"]
) -> Float[Array, " classes"]:
    """Return what the weights of the examples of each class are multiplied by.

    Parameters
    ----------
    class_weight
        None for 1, a mapping from labels to positive numbers, or "balanced" for total / (classes * that of the class).
    classes, codes, weights
        The classes, and the class and the weight of each example.

    Raises
    ------
    OptionError
        `class_weight` is nothing of these.
    ProblemError
        A weight is no positive number, or a mapping leaves a class out and names a label that is not there.
    """
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, Mapping):
        return _of_mapping(cast(Mapping[Any, Any], class_weight), classes)
    if not (isinstance(class_weight, str) and class_weight == BALANCED):
        raise OptionError(
            f'class_weight must be None, "{BALANCED}" or a mapping from labels to weights; got {shown(class_weight)}. '
            "Pass one of them."
        )
    factors: Any = compute_class_weight(class_weight, classes=classes, y=classes[codes], sample_weight=weights)
    return np.asarray(factors, dtype=np.float64)


def _of_mapping(factors: Mapping[Any, Any], classes: npt.NDArray[Any]) -> Float[Array, " classes"]:
    """Return the factors of a mapping from labels, 1 for those that it leaves out."""
    labels: list[Any] = classes.tolist()
    for label, value in factors.items():
        number = float(value) if isinstance(value, Real) and not isinstance(value, bool | np.bool_) else math.nan
        if not SMALLEST <= number <= LARGEST:
            got = repr(value) if math.isnan(number) else f"{number:.6g}"
            raise ProblemError(
                f"class_weight must give each class a positive number in [{SMALLEST:g}, {LARGEST:g}]; got {got} for "
                f"{label!r}. To leave out a class, remove its examples from X and y."
            )
    left_out, strange = (
        [label for label in labels if label not in factors],
        [key for key in factors if key not in labels],
    )
    if left_out and strange:
        raise ProblemError(
            f"class_weight must have the labels in y as keys, {', '.join(map(repr, labels))}; got the key "
            f"{strange[0]!r}, and no key {left_out[0]!r}. Write the labels as in y."
        )
    return np.array([float(factors.get(label, 1.0)) for label in labels])


def _multiplied(c: Float[Array, " N"], factors: Float[Array, " N"]) -> Float[Array, " N"]:
    """Return multiplicities times the factors of their classes.

    Raises
    ------
    ProblemError
        They lie so far apart that what is computed with them would overflow or vanish.
    """
    product = c * factors  # each between 1e-200 and 1e200, but for how many are added up
    least, most = float(product.min()), float(product.max())
    if not (least >= SMALLEST and most <= LARGEST and most <= FURTHEST * least):
        raise ProblemError(
            f"sample_weight times class_weight must lie in [{SMALLEST:g}, {LARGEST:g}], the largest at most "
            f"{FURTHEST:g} times the smallest; got {least:.6g} to {most:.6g}. Use weights of more similar size."
        )
    return product
