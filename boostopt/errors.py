"""The errors that boostopt raises. Each message says what was expected, what came and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class BoostoptError(Exception):
    """Base of every error that boostopt raises on purpose."""


class ProblemError(BoostoptError, ValueError):
    """The margin matrix, a parameter or an answer does not describe a problem of this kind."""


class OptionError(BoostoptError, ValueError):
    """A name or an option that boostopt does not know."""


class DataError(BoostoptError, ValueError):
    """A data set or a file of data cannot be read as what it should be."""


class SolverNotFound(BoostoptError, LookupError):
    """The backend is not installed, or it cannot take this program."""


class SolverFailed(BoostoptError, RuntimeError):
    """The solver stopped without an answer; only `Solution.raise_if_failed` raises this."""


def unknown_name(kind: str, name: object, known: Iterable[str]) -> OptionError:
    """Return the error for an unknown name, with the nearest known ones and the whole list."""
    names = sorted(known)
    near = difflib.get_close_matches(str(name), names, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
    return OptionError(f"unknown {kind} {name!r}.{hint} Known: {', '.join(names) or 'none'}.")
