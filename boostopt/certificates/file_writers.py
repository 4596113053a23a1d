"""Certificates into files: solutions, certificates and runs ask here, and the room that writes files answers.

That room stands above all that it writes. `boostopt` itself brings the two together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

_writers: dict[str, Callable[..., None]] = {}


def register_writers(writers: Mapping[str, Callable[..., None]]) -> None:
    """Say what writes certificates of each kind: "program" and "class"."""
    _writers.update(writers)


def feature_fields(names: Sequence[str]) -> dict[str, Any]:
    """Return the names of the features for a certificate file; `boostopt verify` finds columns of tables by them."""
    return {"features": list(names)} if names else {}


def save_certificate(kind: str, *arguments: Any) -> None:
    """Save a certificate of a kind; the arguments are those of its writer."""
    _writers[kind](*arguments)
