"""Checks of users' labels, of which each row must have one, all of one type."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from boostopt._utils.validation import has_dates
from boostopt.errors import ProblemError, short_repr
from boostopt.oracles.feature_validation import is_missing

NUMBERS = (Real, np.integer, np.floating, np.bool_)
"""Types of numbers; dates are scalars of NumPy, too."""


def require_labels(y: Any) -> None:
    """Raise ProblemError if y is a text, a row has no label, or the labels are not all real numbers or all texts.

    Checks of the shape, and of numbers that are no classes, are left to scikit-learn.

    Parameters
    ----------
    y
        The labels: a list, an array or a column of a data frame.
    """
    if isinstance(y, str):
        raise ProblemError(
            f"y must be one label for each row of X; got the text {short_repr(y)}. If it is the name of a column, pass "
            "the column."
        )
    try:
        labels = np.asarray(y, dtype=object if isinstance(y, list | tuple) else None)
    except ValueError:  # rows of unequal length
        return
    if labels.dtype.kind == "c":
        raise ProblemError(f"y must have real labels; got {labels.dtype}. Pass y.real, or the labels as texts.")
    if labels.ndim != 1 or labels.dtype.kind not in "fmMO":
        return
    is_object = labels.dtype.kind == "O"
    missing = [is_missing(label) or label != label for label in labels] if is_object else labels != labels
    absent = np.array(missing, bool)  # nan and NaT differ from themselves
    if absent.any():
        n = int(absent.argmax())
        raise ProblemError(
            f"y must have a label for each row; got {short_repr(labels[n])} at row {n}. Leave out the rows without a "
            "label."
        )
    if not is_object:
        return
    samples = {type(label): label for label in labels.tolist()}
    texts = [label for kind, label in samples.items() if issubclass(kind, str)]
    numbers = [label for kind, label in samples.items() if issubclass(kind, NUMBERS)]
    if len(texts) + len(numbers) < len(samples) or (texts and numbers):
        got = [short_repr(label) for label in samples.values()]
        raise ProblemError(
            f"y must have labels that are all numbers, or all texts; got {' and '.join(got[:2])}. Make all of them "
            "texts: [str(label) for label in y]."
        )


def require_targets(y: Any) -> None:
    """Raise ProblemError for dates as targets; other checks are left to scikit-learn.

    Parameters
    ----------
    y
        The targets: a list, an array or a column of a data frame.
    """
    try:
        targets = np.asarray(y).ravel()
    except ValueError:  # rows of unequal length
        return
    if has_dates(targets):
        raise ProblemError(
            f"the targets y must be numbers; got dates, such as {short_repr(targets[0])}. Pass numbers, such as days "
            "after a first date."
        )
