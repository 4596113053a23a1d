"""Public names that are loaded on first use: importing a module loads neither their homes nor what these need."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from lazy_loader import attach_stub


def attach(module: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a module whose public names its stub lists.

    The stub lies beside the module, ends in .pyi and imports each name from its home; type checkers read it as well.
    """
    this = sys.modules[module]
    load, _, public = attach_stub(str(this.__package__), str(this.__file__))

    def load_public(name: str) -> Any:
        """Return a public name; AttributeError if the module has no such name."""
        if name not in public:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return load(name)

    def names() -> list[str]:
        """List the public names, loaded or not, and what else the module has."""
        return sorted({*vars(this), *public})

    return load_public, names, public
