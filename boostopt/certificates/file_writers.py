"""Registry of the functions that write certificates into files.

Solutions, certificates and runs save themselves through this module. The package `verification`, which writes the
files, depends on all of them, so `boostopt` registers its functions here at import.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

_writers: dict[str, Callable[..., None]] = {}


def register_writers(writers: Mapping[str, Callable[..., None]]) -> None:
    """Register the writers of certificates by kind, "program" and "class"."""
    _writers.update(writers)


def feature_fields(names: Sequence[str]) -> dict[str, Any]:
    """Return the feature names for a certificate file, by which `boostopt verify` finds the columns of tables."""
    return {"features": list(names)} if names else {}


def save_certificate(kind: str, *arguments: Any) -> None:
    """Save a certificate of a kind, with the arguments of its writer."""
    _writers[kind](*arguments)
