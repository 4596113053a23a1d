"""Programs and instances in the files of others: MPS, CBF, npz.

export
    Write a bound program (.mps, .cbf), or what it was made of (.npz), so that a comparison can be replayed elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from boostopt.lazy import loaded

if TYPE_CHECKING:
    from boostopt.exporting.writing import export

_HOME = {"export": "writing"}
"""Where each public name lives."""

__all__ = ["export"]


def __getattr__(name: str) -> Any:
    """Load a public name from its module on first use."""
    return loaded(__name__, _HOME, name, globals())


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__})
