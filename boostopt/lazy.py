"""Public names that are loaded on first use: importing a package loads neither its modules nor what these need."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any


def loaded(package: str, home: Mapping[str, str], name: str, names: dict[str, Any], room: str | None = None) -> Any:
    """Return a public name of a package from the module that is its home, and keep it among the package's names.

    Parameters
    ----------
    package
        The name by which users know the package.
    home
        The module of each public name.
    name
        The public name.
    names
        The package's names.
    room
        The package that has the modules; `package` itself by default.

    Raises
    ------
    AttributeError
        The package has no such name.
    """
    if name not in home:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    names[name] = value = getattr(import_module(f"{room or package}.{home[name]}"), name)
    return value
