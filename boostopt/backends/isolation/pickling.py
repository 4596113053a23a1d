"""Programs and backends as bytes for another process, or the reason in words if this is impossible.

`cloudpickle` includes everything that another process cannot import: the definitions of a script or a notebook, and
functions inside functions. If Python would not find a file by the name of its module, the other process finds the file
by its path.
"""

from __future__ import annotations

import io
import pickle
import sys
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from types import FunctionType
from typing import Any

import cloudpickle

from boostopt.errors import reason_of
from boostopt.programs.formulation import Formulation
from boostopt.programs.program import Program


class NotPicklable(Exception):
    """An error for an object that cannot be sent to another process; the message names it and gives advice."""


def dump(thing: Program | Any) -> bytes:
    """Return a program or a backend as bytes for `load`.

    Raises
    ------
    NotPicklable
        It cannot be rebuilt in another process.
    """
    out = io.BytesIO()
    pickler = _Pickler(out)
    try:
        pickler.dump(thing)
    except Exception as failure:  # noqa: BLE001 - every class may pickle, and fail to, in its own way
        raise NotPicklable(
            f"{_describe(thing)} cannot be handed to another process: {type(failure).__name__}: {reason_of(failure)}. "
            "State it in a module or in a formulation file."
        ) from None
    return pickle.dumps(pickler.files) + out.getvalue()


def load(data: bytes) -> Any:
    """Return the packed object, in another process with the same `sys.path`.

    Raises
    ------
    NotPicklable
        The object needs a module that cannot be imported here.
    """
    stream = io.BytesIO(data)
    finder = _FileFinder(pickle.load(stream))
    sys.meta_path.append(finder)
    try:
        return pickle.load(stream)
    except Exception as failure:  # noqa: BLE001 - the imports run foreign code
        raise NotPicklable(f"it cannot be made again in another process: {type(failure).__name__}: {failure}") from None
    finally:
        sys.meta_path.remove(finder)


class _Pickler(cloudpickle.Pickler):
    """A pickler that records the files of the necessary modules."""

    def __init__(self, out: io.BytesIO) -> None:
        super().__init__(out)
        self.files: dict[str, str | None] = {}

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, type | FunctionType):
            self.files[obj.__module__] = getattr(sys.modules.get(obj.__module__), "__file__", None)
        if isinstance(obj, Formulation) and obj.pickle_recipe is None:  # by value, not by reference
            return object.__reduce_ex__(obj, pickle.HIGHEST_PROTOCOL)
        return super().reducer_override(obj)


class _FileFinder:
    """A finder of modules by the paths of their files, for modules that cannot be found by name."""

    def __init__(self, files: dict[str, str | None]) -> None:
        self._files = files

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        file = self._files.get(name)
        return None if file is None else spec_from_file_location(name, file)


def _describe(thing: Any) -> str:
    """Return the name of an object in a sentence."""
    if isinstance(thing, Program):
        return f"this program of {thing.formulation.name}"
    return f"the backend {getattr(thing, 'name', type(thing).__name__)}"
