"""The selection of the loops over rows: those of NumPy, or compiled ones where numba is installed.

Both return the same whole numbers, so the selection changes no result. Loading numba takes about as long as NumPy needs
for `MIN_ENTRIES` entries: small runs never load it, and larger ones lose at most that time.
"""

from __future__ import annotations

import os
import warnings
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from boostopt.errors import OptionError, reason_of

VARIABLE = "BOOSTOPT_COMPILED"
"""Environment variable: 0 keeps the loops of NumPy, 1 selects compiled ones from the first rows on."""

MIN_ENTRIES = 1 << 29
"""Entries that a process reads by NumPy before it loads numba: 0.6 processor seconds, as measured."""


class ReadEntries:
    """The number of entries that loops of this process have read."""

    count: int = 0


def uses_compiled_loops(n_entries: int) -> bool:
    """Count the entries that a loop reads, and return whether it is a compiled one.

    Raises
    ------
    OptionError
        The environment variable is neither 0 nor 1, or it is 1 and numba cannot be loaded.
    """
    ReadEntries.count += n_entries
    setting = os.environ.get(VARIABLE, "")
    if setting == "":
        return ReadEntries.count > MIN_ENTRIES and numba_failure() is None
    if setting == "0":
        return False
    if setting != "1":
        raise OptionError(
            f"the environment variable {VARIABLE} must be 0 or 1; got {setting!r}. Remove it: compiled loops are then "
            "used where numba is installed and the rows are many."
        )
    failure = numba_failure()
    if failure is not None:
        raise OptionError(
            f"the environment variable {VARIABLE} is 1, which expects numba; {failure}. "
            'Install it, pip install "boostopt[fast]", or remove the variable.'
        )
    return True


@cache
def numba_failure() -> str | None:
    """Load numba, and return why it cannot be used; None if it can."""
    if find_spec("numba") is None:
        return "it is not installed"
    try:
        numba: Any = import_module("numba")
    except ImportError as failure:  # as beside a version of NumPy that numba does not know
        reason = f"it cannot be imported: {reason_of(failure)}"
        warnings.warn(
            f"expected an installed numba to load; {reason}. Loops over rows are those of NumPy, with equal results. "
            "Install a numba for this NumPy, or uninstall it.",
            RuntimeWarning,
            stacklevel=2,
        )
        return reason
    return "NUMBA_DISABLE_JIT keeps it from compiling" if numba.config.DISABLE_JIT else None
