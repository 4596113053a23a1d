"""Labels of data sets: numbers, truth values or texts, converted to two classes or returned unchanged.

Arrays and parquet files have typed labels: their texts stay texts. The labels of a text file have no type. There a
column is of numbers if each label is the usual spelling of a number, and of texts otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import numpy.typing as npt

from boostopt._utils.array_types import Array, Int8
from boostopt._utils.files import MAX_UNPACKED_BYTES
from boostopt._utils.validation import invalid_value_error, is_real_number
from boostopt.data.csv_tables import MISSING_VALUE_TEXTS, parse_number, truth_value
from boostopt.errors import DataError, did_you_mean, format_names, short_repr

MAX_EXACT_INTEGER = 2.0**53
"""A bound below which float64 holds every whole number."""

CLASS_NAME_ADVICE = (
    "; if it is the name of a class, list the spellings of missing values that you use (missing_values=...)"
)
"""Advice for a class whose name is a spelling of a missing value."""

PLAIN_TYPES = (bool, int, float, str, bytes, Decimal)
"""Types of labels in an array of objects that are not converted to texts."""

Label = bool | int | float | str
"""A label, or a class, as a plain Python value."""


def to_signs(
    source: str,
    labels: Any,
    N: int,
    positive: Any,
    names: Sequence[str] = (),
    is_typed: bool = True,
    missing: Collection[str] | None = None,
) -> tuple[Int8[Array, " N"], tuple[str, str]]:
    """Return labels -1 and 1, and the class that each of the two stands for; classes 0, 1, ... may have names."""
    keys = _parse(source, labels, N, is_typed, missing)
    classes: list[Label] = np.unique(keys).tolist()
    words = [f"{q} ({name})" if name != str(q) else name for q, name in enumerate(names)] or list(
        map(_class_name, classes)
    )
    positive_class = classes[-1]
    if positive is not None:
        if not isinstance(positive, str | bool | np.bool_) and not is_real_number(positive):
            advice = "Pass one of the labels."
            raise invalid_value_error(
                "positive", "the label of a class, a text or a number", positive, advice, DataError
            )
        match = names.index(positive) if positive in names else match_class(positive, classes)
        if match not in classes:
            listing, suggestion = (
                ", ".join(words) if names else format_names(words),
                did_you_mean(positive, names or words),
            )
            raise DataError(f"{source}: unknown class {short_repr(positive)}.{suggestion} Known: {listing}.")
        positive_class = match
    if len(classes) == 1:
        raise DataError(
            f"{source} must have exactly two classes; all its examples are of one, {words[0]}. Pass "
            "examples of both classes."
        )
    if positive is None and len(classes) != 2:
        first_names = ", ".join(words[:6]) + (", ..." if len(words) > 6 else "")
        raise DataError(
            f"{source} must have exactly two classes; it has {len(classes)} ({first_names}). "
            "Set one against the others with positive=..."
        )
    (negative_class,) = [key for key in classes if key != positive_class] if len(classes) == 2 else [None]
    negative = "all others" if negative_class is None else _class_name(negative_class, names)
    return np.where(keys == positive_class, 1, -1).astype(np.int8), (negative, _class_name(positive_class, names))


def _class_name(key: Label, names: Sequence[str] = ()) -> str:
    """Return the name of a class, or else its label without a needless ".0"."""
    if names and not isinstance(key, str):
        return names[int(key)]
    return str(key).removesuffix(".0") if isinstance(key, float) else str(key)


def infer_label_type(
    source: str, labels: Any, N: int, is_typed: bool = True, missing: Collection[str] | None = None
) -> npt.NDArray[Any]:
    """Return labels as truth values, whole numbers, numbers or texts: the first of these types that fits all of them.

    Parameters
    ----------
    source
        The data, for messages.
    labels, N
        The labels, which must be N.
    is_typed
        Whether texts stay texts. If not, they are read as numbers if each of them is the usual spelling of one.
    missing
        Spellings of a missing label, `MISSING_VALUE_TEXTS` in any case by default.

    Raises
    ------
    DataError
        A label is missing; or two texts spell one number or one truth value; or the texts would take too much memory.
    """
    keys = _parse(source, labels, N, is_typed, missing)
    if keys.dtype != object:
        return keys
    longest = max(map(len, keys.tolist()))
    # Every entry of an array of texts has the size of the longest one, with four bytes a letter.
    if 4 * N * longest > MAX_UNPACKED_BYTES:
        raise DataError(f"{source}: labels must be short; got one of {longest:,} letters. Correct it.")
    return keys.astype(np.str_)


def match_class(label: Any, classes: Sequence[Label]) -> Label | None:
    """Return the class that a label denotes, parsed like the classes: as a text, a number or a truth value.

    Returns
    -------
    None if the label denotes no class.
    """
    text = _label_text(label)
    if any(isinstance(candidate, str) for candidate in classes):
        spellings = [text]
        if isinstance(label, float | np.floating) and float(label).is_integer():
            spellings.append(text.removesuffix(".0"))
        match = next((spelling for spelling in spellings if spelling in classes), None)
        if match is None and (truth := truth_value(text)) is not None:
            match = next((candidate for candidate in classes if truth_value(str(candidate)) == truth), None)
        return match
    value: Any = truth_value(text)
    if value is None:
        value = label if isinstance(label, int | float | np.number) else _parse_any_number(text)
    elif not set(classes) <= {0, 1}:
        return None
    # Return the class itself, and not an equal value of another type.
    return next((candidate for candidate in classes if candidate == value), None)


def match_classes(
    source: str, labels: Any, classes: Sequence[Label], missing: Collection[str] | None = None
) -> list[Label | None]:
    """Return labels as the classes of a model that they denote; None for a missing label.

    A label that denotes no class stays a text.

    Raises
    ------
    DataError
        The classes are numbers, and two texts spell one number.
    """
    values = _values(np.asarray(labels))
    different = set(values)
    if not any(isinstance(entry, str) for entry in classes):
        _check_spellings(source, [entry for entry in different if isinstance(entry, str)])
    matched: dict[Any, Label | None] = {}
    for label in different:
        match = match_class(label, classes)
        matched[label] = _label_text(label) if match is None and not is_missing(label, missing) else match
    return [matched[label] for label in values]


def is_missing(label: Any, missing: Collection[str] | None = None) -> bool:
    """Return whether a label is missing: blank, nan, or one of the spellings of a missing value."""
    if label is None or (isinstance(label, float | np.floating) and label != label):
        return True
    text = _label_text(label)
    return not text or (text.lower() in MISSING_VALUE_TEXTS if missing is None else text in missing)


def missing_label(label: Any, column: str = "", missing: Collection[str] | None = None) -> str:
    """Return the message, without the location, for an example whose label is missing."""
    text = _label_text(label) if isinstance(label, str | bytes) else ""
    description = f"got {text!r}, which stands for a missing one," if text else "there is none"
    place = f" in column {column!r}" if column else ""
    advice = CLASS_NAME_ADVICE if text and missing is None else ""
    return f"every example must have a label; {description}{place}. Leave that row out{advice}."


def _parse(source: str, labels: Any, N: int, is_typed: bool, missing: Collection[str] | None) -> npt.NDArray[Any]:
    """Return labels as an array of bool, int64 or float64, or of objects for texts."""
    check_count(source, labels, N)
    labels = np.asarray(labels)
    values = _values(labels)
    absent = {label for label in set(values) if is_missing(label, missing)}
    if absent:
        n = next(n for n, label in enumerate(values) if label in absent)
        raise DataError(f"{source}, row {n}: {missing_label(values[n], '', missing)}")
    if labels.dtype.kind in "biuf":
        return _plain(labels)
    if all(isinstance(label, Decimal) for label in values):  # of a parquet file
        return _plain(np.array([int(label) if label == int(label) else float(label) for label in values]))
    if all(isinstance(label, bool | int | float) for label in values):
        return _plain(np.array(values))
    texts = {label: _label_text(label) for label in set(values)}
    parsed = {text: text for text in texts.values()} if is_typed else _read_texts(source, set(texts.values()))
    kinds = {type(value) for value in parsed.values()}
    dtype = object if str in kinds else float if float in kinds else np.int64
    return np.array([parsed[texts[label]] for label in values], dtype=dtype)


def _values(labels: npt.NDArray[Any]) -> list[Any]:
    """Return labels as plain values: numbers, truth values, texts and bytes; labels of other types as their text."""
    if labels.dtype.kind in "biufUS":
        return labels.tolist()
    return [label if isinstance(label, PLAIN_TYPES) else str(label) for label in labels]


def check_count(source: str, labels: Any, N: int) -> None:
    """Raise DataError unless there is one label for each of N examples."""
    if np.shape(labels) != (N,):
        raise DataError(
            f"{source}: there must be one label for each of {N} examples; got shape {np.shape(labels)}. "
            "Save one for each."
        )


def _plain(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return numbers as truth values, int64 or float64; as texts if neither type holds all of them."""
    if numbers.dtype.kind == "b":
        return numbers.astype(bool)
    if numbers.dtype.kind in "iu":
        fits = np.can_cast(numbers.dtype, np.int64) or numbers.max() < 1 << 63
        return numbers.astype(np.int64) if fits else np.array(list(map(str, numbers)), dtype=object)
    with np.errstate(over="ignore"):
        floats = numbers.astype(np.float64)
    if not np.isfinite(floats).all() or (floats != numbers).any():
        return np.array(list(map(str, numbers)), dtype=object)
    is_whole = (np.abs(floats) < MAX_EXACT_INTEGER).all() and (floats == np.trunc(floats)).all()
    return floats.astype(np.int64) if is_whole else floats


def _read_texts(source: str, texts: Collection[str]) -> dict[str, Any]:
    """Return numbers, or the texts themselves unless each of them is the usual spelling of a number."""
    _check_spellings(source, texts)
    numbers = {text: _usual_number(text) for text in texts}
    values = [number for number in numbers.values() if number is not None]
    if len(values) < len(texts):
        return {text: text for text in texts}
    if all(abs(number) < MAX_EXACT_INTEGER for number in values):
        is_whole = all(number == int(number) for number in values)
        return {
            text: int(number) if is_whole else float(number) for text, number in numbers.items() if number is not None
        }
    has_one_type = len(set(map(type, values))) == 1
    return dict(numbers) if has_one_type else {text: text for text in texts}


def _usual_number(text: str) -> int | float | None:
    """Return the number whose usual spelling is a text, with or without a plus sign; None for other texts.

    The usual spelling is the one that Python writes: 1000 and 0.5, but neither 01 nor 1e3. The number must be
    finite, and a whole number must be in int64.
    """
    unsigned = text[1:] if text[:1] == "+" and text[1:2].isdecimal() else text
    for kind, is_held in ((int, _is_int64), (float, math.isfinite)):
        with suppress(ValueError):
            number = kind(unsigned)
            if is_held(number) and repr(number) == unsigned:
                return number
    return None


def _is_int64(number: float) -> bool:
    """Return whether int64 holds a whole number."""
    return -(1 << 63) <= number < 1 << 63


def _check_spellings(source: str, texts: Iterable[str]) -> None:
    """Raise DataError if two texts spell one number or one truth value."""
    spellings: dict[Any, str] = {}
    for text in sorted(texts):
        truth = truth_value(text)
        value = _parse_decimal(text) if truth is None else (truth,)
        earlier = text if value is None else spellings.setdefault(value, text)
        if earlier != text:
            type_name = "number" if truth is None else "truth value"
            raise DataError(
                f"{source}: expected one spelling of each class; got {earlier!r} and {text!r}, which are one "
                f"{type_name}. Write it in one way. If these are two classes, write the labels as texts into a "
                "parquet or npz file."
            )


def _parse_decimal(text: str) -> Decimal | None:
    """Return the finite number that a text spells in any way; None for other texts."""
    try:
        parse_number(text)
        value = Decimal(text)
    except (ValueError, InvalidOperation):  # InvalidOperation for an exponent that exceeds all limits
        return None
    return value if value.is_finite() else None


def _parse_any_number(text: str) -> int | float | None:
    """Return the number that a text spells in any way; None for other texts."""
    for kind in (int, parse_number):
        with suppress(ValueError):
            return kind(text)
    return None


def _label_text(label: Any) -> str:
    """Return a label as text, without surrounding space."""
    return (label.decode(errors="replace") if isinstance(label, bytes) else str(label)).strip()
