"""Public names that are loaded on first use: importing a module loads neither their modules nor the dependencies.

Also the modules of a folder, of which each states an entry of its own.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from lazy_loader import attach_stub

IMPORTLIB_NAMES = ("_frozen_importlib", "importlib._bootstrap")
"""The names of the module of Python that asks a package for the names of `from package import name`."""


def attach(module: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a module whose stub lists the public names.

    The stub lies beside the module, ends in .pyi and imports each name from its module; type checkers read the stub
    as well. A public function takes precedence over a submodule of the same name, in any order of loading.
    """
    module_object = sys.modules[module]
    load, _, public = attach_stub(str(module_object.__package__), str(module_object.__file__))
    stub = Path(str(module_object.__file__)).with_suffix(".pyi").read_text(encoding="utf-8")
    functions = {name for name in public if f"from .{name} import {name} as" in stub}

    class Package(ModuleType):
        """A package that keeps its public functions when a submodule of the same name is loaded."""

        def __setattr__(self, name: str, value: Any) -> None:
            """Set an attribute; the import system sets every submodule that it has loaded."""
            if name not in functions or not isinstance(value, ModuleType):
                super().__setattr__(name, value)

    if functions:
        module_object.__class__ = Package

    def load_public(name: str) -> Any:
        """Return a public name; AttributeError if the module has no such name, with the package that has it.

        `from module import name` asks here through importlib, and would lose the text of an AttributeError.
        """
        if name not in public:
            import inspect  # `import boostopt` needs it not

            package, frame = _package_of(module.partition(".")[0], name), inspect.currentframe()
            is_import = frame is not None and frame.f_back and frame.f_back.f_globals.get("__name__") in IMPORTLIB_NAMES
            if package and is_import and find_spec(f"{module}.{name}") is None:
                raise ImportError(f"cannot import name {name!r} from {module!r}. Write: from {package} import {name}")
            advice = f". Use {package}.{name}" if package else ""
            raise AttributeError(f"module {module!r} has no attribute {name!r}{advice}")
        return load(name)

    def names() -> list[str]:
        """Return the public names, loaded or not, and the other attributes of the module."""
        return sorted({*vars(module_object), *public})

    return load_public, names, public


def _package_of(root: str, name: str) -> str:
    """Return the package below the module `root`, or this module, whose stub has a public name; "" if none has it."""
    folder = Path(str(sys.modules[root].__file__)).parent
    line = re.compile(rf"^from \S+ import \w+ as {re.escape(name)}$", re.MULTILINE)
    for stub in (*folder.glob("*.pyi"), *folder.glob("*/__init__.pyi")):
        if line.search(stub.read_text(encoding="utf-8")):
            parts = stub.relative_to(folder).with_suffix("").parts
            return ".".join((root, *(part for part in parts if part != "__init__")))
    return ""


def import_modules(package: str) -> list[ModuleType]:
    """Import the modules of a package, and return them in the order of their names."""
    from pkgutil import iter_modules  # `import boostopt` loads this module, and needs no more

    names = sorted(module.name for module in iter_modules(import_module(package).__path__))
    return [import_module(f"{package}.{name}") for name in names]
