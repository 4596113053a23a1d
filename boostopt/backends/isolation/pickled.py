"""Programs and backends as bytes for another process, or in words why they cannot be.

What is defined in a file that Python would not find by name (a page loaded from its path) is found there by its path. A
formulation with functions of its own, as `prototype` makes them, is found as the object in its page's file, and the
program bound again. What is defined in a script or a notebook (`__main__`) no other process can import.
"""

from __future__ import annotations

import importlib
import importlib.util
import io
import pickle
import sys
from collections.abc import Mapping
from dataclasses import fields
from types import FunctionType
from typing import Any

from boostopt.margins import Margins
from boostopt.programs.formulation import Formulation
from boostopt.programs.program import Examples, Program

HERE_ONLY = ("__main__", "__mp_main__")
"""Modules that are another one in every process."""


class NotPortable(Exception):
    """Something cannot be handed to another process; the message says what and what to do."""


def packed(thing: Program | Any) -> bytes:
    """Return a program or a backend as bytes for `unpacked`.

    Raises
    ------
    NotPortable
        It cannot be made again in another process.
    """
    try:
        return _packed(thing, by_page=False)
    except NotPortable:
        if not isinstance(thing, Program):
            raise
        return _packed(thing, by_page=True)


def unpacked(data: bytes) -> Any:
    """Return what was packed, in another process with the same `sys.path`.

    Raises
    ------
    NotPortable
        A module that it needs cannot be imported here.
    """
    modules, inner = pickle.loads(data)
    try:
        for name, file in modules.items():
            _load(name, file)
        return pickle.loads(inner)
    except Exception as failure:  # noqa: BLE001 - the imports run foreign code
        raise NotPortable(f"it cannot be made again in another process: {type(failure).__name__}: {failure}") from None


def _packed(thing: Any, by_page: bool) -> bytes:
    out = io.BytesIO()
    pickler = _Pickler(out, by_page)
    try:
        pickler.dump(thing)
    except NotPortable:
        raise
    except Exception as failure:  # noqa: BLE001 - every class may pickle, and fail to, in its own way
        raise NotPortable(
            f"{_named(thing)} cannot be handed to another process: {type(failure).__name__}: {failure}. "
            "State it in a module or in the file of a page."
        ) from None
    return pickle.dumps((pickler.modules, out.getvalue()))


class _Pickler(pickle.Pickler):
    """Notes the files of the modules that are needed; a program may be reduced to its page and numbers."""

    def __init__(self, out: io.BytesIO, by_page: bool) -> None:
        super().__init__(out, protocol=pickle.HIGHEST_PROTOCOL)
        self.modules: dict[str, str | None] = {}
        self._by_page = by_page

    def reducer_override(self, obj: Any, /) -> Any:
        if self._by_page and isinstance(obj, Program):
            return _bound, (*_page(obj.formulation), _values(obj.parameters), obj.examples, obj.margins)
        if isinstance(obj, type | FunctionType):
            self._note(obj.__module__, obj.__qualname__)
        return NotImplemented

    def _note(self, module: str, name: str) -> None:
        if module in HERE_ONLY:
            raise NotPortable(
                f"{name} is defined in a script or a notebook ({module}), which another process cannot import. "
                "Move it to a module or to the file of a page."
            )
        self.modules[module] = getattr(sys.modules.get(module), "__file__", None)


def _page(formulation: Any) -> tuple[str, str, str | None]:
    """Return module, name and file of a formulation that is an object in a module."""
    for module, loaded in list(sys.modules.items()):
        for name, value in list(getattr(loaded, "__dict__", {}).items()):
            if value is formulation and module not in HERE_ONLY:
                return module, name, getattr(loaded, "__file__", None)
    raise NotPortable(
        f"the formulation {formulation.name} is not stated in any module or page, so another process cannot find it. "
        "Write it into a file and take it by get_formulation(path)."
    )


def _bound(
    module: str, name: str, file: str | None, parameters: Mapping[str, Any], examples: Examples, margins: Margins
) -> Program:
    """Bind a formulation that is an object in a module to numbers that have been checked."""
    page: Formulation[Any] = getattr(_load(module, file), name)
    p = page.Parameters(**parameters)
    return Program(page, p, examples, margins, page.regularizer(p, examples), page.edge_function(p))


def _load(name: str, file: str | None) -> Any:
    """Import a module by name, or from its file where the name alone does not find it."""
    if name in sys.modules:
        return sys.modules[name]
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        spec = None if file is None else importlib.util.spec_from_file_location(name, file)
        if spec is None or spec.loader is None:
            raise
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up there
    spec.loader.exec_module(module)
    return module


def _values(record: Any) -> dict[str, Any]:
    """The fields of a record of parameters, whose class may have no name that another process knows."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


def _named(thing: Any) -> str:
    if isinstance(thing, Program):
        return f"this program of {thing.formulation.name}"
    return f"the backend {getattr(thing, 'name', type(thing).__name__)}"
