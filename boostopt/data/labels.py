"""Labels of data sets: numbers if possible, turned into two classes or taken as they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import numpy.typing as npt

from boostopt.arguments import is_number, refused
from boostopt.data.tables import to_number
from boostopt.errors import DataError, listed, nearest, shown
from boostopt.files import LIMIT
from boostopt.shapes import Array, Int8

WHOLE = 2.0**53
"""float64 holds every whole number below this one."""


def two_classes(
    source: str, labels: Any, N: int, positive: Any, names: Sequence[str] = ()
) -> tuple[Int8[Array, " N"], tuple[str, str]]:
    """Return labels -1 and 1, and the class that each of the two stands for; classes 0, 1, ... may have names."""
    keys = _keys(source, labels, N)
    classes = sorted(set(keys.tolist()), key=lambda key: (isinstance(key, str), key))
    words = [f"{q} ({name})" if name != str(q) else name for q, name in enumerate(names)] or list(map(str, classes))
    if positive is not None:
        if not isinstance(positive, str | bool | np.bool_) and not is_number(positive):
            advice = "Pass one of the labels."
            raise refused("positive", "the label of a class, a text or a number", positive, advice, DataError)
        wanted = float(names.index(positive)) if positive in names else _key(positive)
        if wanted not in classes:
            listing, near = ", ".join(words) if names else listed(words), nearest(positive, names or words)
            raise DataError(f"{source}: unknown class {shown(positive)}.{near} Known: {listing}.")
    else:
        wanted = classes[-1]
    if len(classes) == 1:
        raise DataError(
            f"{source} must have exactly two classes; all its examples are of one, {words[0]}. There is nothing to "
            "tell apart."
        )
    if positive is None and len(classes) != 2:
        some = ", ".join(words[:6]) + (", ..." if len(words) > 6 else "")
        raise DataError(
            f"{source} must have exactly two classes; it has {len(classes)} ({some}). "
            "Set one against the others with positive=..."
        )
    (other,) = [key for key in classes if key != wanted] if len(classes) == 2 else [None]
    negative = "all others" if other is None else _name(other, names)
    return np.where(keys == wanted, 1, -1).astype(np.int8), (negative, _name(wanted, names))


def _name(key: float | str, names: Sequence[str]) -> str:
    """Return the name of a class, or else its label without a needless ".0"."""
    if names and not isinstance(key, str):
        return names[int(key)]
    return f"{key:.16g}" if isinstance(key, float) else str(key)


def as_they_are(source: str, labels: Any, N: int) -> npt.NDArray[Any]:
    """Return labels as whole numbers, as numbers or as texts: the first of these types that fits all of them."""
    keys = _keys(source, labels, N).tolist()
    if all(_is_whole(key) for key in keys):
        return np.array([int(key) for key in keys], dtype=np.int64)
    if all(isinstance(key, float) and math.isfinite(key) for key in keys):
        return np.array(keys)
    texts = [_text(label) for label in labels]
    # Every place in an array of texts has room for the longest one, with four bytes a letter.
    if 4 * N * max(map(len, texts)) > LIMIT:
        raise DataError(f"{source}: labels must be short; got one of {max(map(len, texts)):,} letters. Correct it.")
    return np.array(texts)


def _is_whole(key: float | str) -> bool:
    """Whether a label is a whole number that int64 holds, and no other number rounds to the same value."""
    if isinstance(key, float):
        return abs(key) < WHOLE and key.is_integer()
    return isinstance(key, int) and -(1 << 63) <= key < 1 << 63


def _keys(source: str, labels: Any, N: int) -> npt.NDArray[np.object_]:
    """Return the label of each example, as a number if it is one."""
    labels = np.asarray(labels)
    if labels.shape != (N,):
        raise DataError(f"{source}: there must be one label for each of {N} examples; got shape {labels.shape}.")
    keys = np.array([_key(label) for label in labels], dtype=object)
    for n, key in enumerate(keys):
        if key == "" or key != key:
            raise DataError(f"{source}: every example must have a label; row {n} has none. Leave that row out.")
    return keys


def is_blank(label: Any) -> bool:
    """Whether a label is blank or nan."""
    key = _key(label)
    return key == "" or key != key


def _key(label: Any) -> float | str:
    """Return a label as a number, an int if float64 might not hold it, or else as text."""
    text = _text(label)
    try:
        value = float(label) if isinstance(label, np.bool | np.integer | np.floating) else to_number(text)
    except ValueError:
        return text
    if not abs(value) >= WHOLE:
        return value
    if isinstance(label, np.floating):
        return value if value == label else text
    try:
        return int(text)
    except ValueError:
        return value if _is_exact(text, value) else text


def _is_exact(text: str, value: float) -> bool:
    """Whether a text denotes exactly this number, not another one that float64 rounds to it."""
    try:
        return Decimal(text) == value
    except InvalidOperation:  # an exponent beyond all bounds
        return False


def _text(label: Any) -> str:
    """A label as it is written."""
    return (label.decode(errors="replace") if isinstance(label, bytes) else str(label)).strip()
