"""Certificates in files: saved, and verified elsewhere without a solver.

save
    Write the certificate of a solution, with what proves it.
verify
    Recompute every bound of such a file from the margin matrix.
save_class
    Write the certificate of a run over the whole class of its oracle.
subject
    Say whether a file is about a program or about a class.
Verification
    The verdict: accepted or rejected, and why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from boostopt.lazy import loaded

if TYPE_CHECKING:
    from boostopt.verification.classes import save_class
    from boostopt.verification.verifying import Verification, subject, verify
    from boostopt.verification.writing import save

_HOME = {
    "Verification": "verifying",
    "save": "writing",
    "save_class": "classes",
    "subject": "verifying",
    "verify": "verifying",
}
"""The module of each public name."""

__all__ = ["Verification", "save", "save_class", "subject", "verify"]


def __getattr__(name: str) -> Any:
    """Load a public name from its module on first use."""
    return loaded(__name__, _HOME, name, globals())


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__})
