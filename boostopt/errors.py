"""The errors that boostopt raises, and its warning. Each message says what was expected, what came and what to do."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
E = TypeVar("E", bound="BoostoptError")


class BoostoptError(Exception):
    """Base of every error that boostopt raises on purpose."""

    about: Callable[..., Any] | None = None
    """The user's function whose answer is refused; None if the error is about something else."""


class ProblemError(BoostoptError, ValueError):
    """The margin matrix, a parameter or an answer does not describe a valid problem."""


class OptionError(BoostoptError, ValueError):
    """A name or an option that boostopt does not know."""


class DataError(BoostoptError, ValueError):
    """A data set or a file cannot be read or written, or does not have the expected content."""


class SolverNotFound(BoostoptError, LookupError):
    """The backend is not installed, or it does not support this program."""


class SolverFailed(BoostoptError, RuntimeError):
    """The solver stopped without an answer; only `Solution.raise_if_failed` raises this."""


class MarginWarning(UserWarning):
    """The proved soft margin is no better than chance, or nu allows the model to give up a whole class.

    Attributes
    ----------
    details
        The same with all numbers, if the message is short; "" otherwise.
    """

    details: str = ""


MAX_SUGGESTIONS = 3
"""Largest number of suggested names."""

MIN_SUBSTRING_LENGTH = 3
"""Minimum length of a name that is searched as a part of the known names: shorter ones occur in too many."""


MAX_LISTED_NAMES = 100
"""Largest number of names in a list, such as the columns of a table."""

MAX_COMPARED_NAMES = 10_000
"""Number of known names up to which similar ones are searched."""

MAX_REPR_LENGTH = 100
"""Largest number of characters of a value in a message."""

NUMPY_DATE = re.compile(r"\bnp\.(?:datetime64|timedelta64)\('?([^',()]*)'?(?:,'(\w+)')?\)")
"""A date or a duration of NumPy as Python prints it, with its unit."""

NUMPY_SCALAR = re.compile(r"\bnp\.(?:\w+\(([^()]*)\)|(True|False)_)")
"""A scalar of NumPy as Python prints it."""


def require_not_none(value: T | None, description: str) -> T:
    """Return a value that boostopt itself must have set.

    Raises
    ------
    ProblemError
        The value is None.
    """
    if value is None:
        raise ProblemError(f"expected {description}; got none. This is a bug in boostopt: please report the call.")
    return value


def attach_user_function(error: E, function: Callable[..., Any]) -> E:
    """Return the error, marked as one about the answer of a function."""
    error.about = function
    return error


def short_repr(value: object) -> str:
    """Return a value as a message shows it: a value too long for a line by its type, an array by its shape."""
    kind, shape = type(value).__name__, getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape:
        return f"{kind} of shape {shape}"
    text = repr(value) if type(value) is str else NUMPY_SCALAR.sub(r"\1\2", NUMPY_DATE.sub(r"\1", repr(value)))
    if len(text) <= MAX_REPR_LENGTH and "\n" not in text:
        return text
    return f"{kind} {' '.join(text.split())[:MAX_REPR_LENGTH]}..."


def reason_of(failure: object, max_length: int | None = None) -> str:
    """Return the message of a failure as a part of a longer message: without its full stop, shortened to a length."""
    text = str(failure)[:max_length].rstrip() or type(failure).__name__
    return text if text.endswith("=...") else text.rstrip(". ")


def reason_on_one_line(failure: object, max_length: int) -> str:
    """Return the message of a failure as `reason_of` does, with its lines joined."""
    return reason_of(" ".join(str(failure).split()) or type(failure).__name__, max_length)


def unknown_name(kind: str, name: object, known_names: Iterable[str]) -> OptionError:
    """Return the error for an unknown name, with the nearest known ones and a list of all."""
    names = sorted(known_names)
    return OptionError(
        f"unknown {kind} {short_repr(name)}.{did_you_mean(name, names)} "
        f"Known: {format_names_truncated(names) or 'none'}."
    )


def did_you_mean(name: object, known_names: Iterable[str]) -> str:
    """Return the question whether a similar known name was meant, "" if no name is similar; case does not count."""
    names, folded_name = list(known_names), name.casefold() if isinstance(name, str) else ""
    folded = {candidate.casefold() for candidate in names}
    # Similar names, or else names that contain this one: `clarabel` is a part of `cvxpy:clarabel`.
    few = len(folded) <= MAX_COMPARED_NAMES
    similar = difflib.get_close_matches(
        folded_name, folded if few else folded & {folded_name}, n=MAX_SUGGESTIONS, cutoff=0.6
    )
    if not similar and len(folded_name) >= MIN_SUBSTRING_LENGTH:
        similar = sorted(candidate for candidate in folded if folded_name in candidate)[:MAX_SUGGESTIONS]
    suggestions = [candidate for match in similar for candidate in names if candidate.casefold() == match]
    return f" Did you mean {' or '.join(map(repr, suggestions))}?" if suggestions else ""


def format_names(names: Iterable[str]) -> str:
    """Return names separated by commas; a name that contains a comma or a space is in quotes."""
    return ", ".join(repr(name) if not name or re.search(r"[\s,]", name) else name for name in names)


def format_names_truncated(names: Sequence[str]) -> str:
    """Return the first names separated by commas, and the number of the others."""
    more = f" and {len(names) - MAX_LISTED_NAMES:,} more" if len(names) > MAX_LISTED_NAMES else ""
    return format_names(names[:MAX_LISTED_NAMES]) + more


def is_panic(failure: BaseException) -> bool:
    """Return whether an exception is a panic of a library in Rust: a failed assertion, which is no `Exception`."""
    return type(failure).__name__ == "PanicException"
