"""Formulations by name, path or object: built in, from an entry point, or from your own file."""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from os import PathLike
from types import ModuleType
from typing import Any

from boostopt._utils.user_modules import is_python_file_path, load_user_module
from boostopt.errors import OptionError, reason_of, short_repr, unknown_name
from boostopt.programs.formulation import Formulation
from boostopt.programs.loss_penalty_formulation import SEPARATOR, parse_combination

BUILTIN_PACKAGE = "boostopt.formulations"
ENTRY_POINT_GROUP = "boostopt.formulations"


def list_formulations() -> list[str]:
    """Return the names of the formulations that come with boostopt or with an installed entry point, sorted."""
    return sorted({*_builtin_names(), *(point.name for point in entry_points(group=ENTRY_POINT_GROUP))})


def default_formulation_name() -> str:
    """Return the name of the default formulation of classifiers."""
    return importlib.import_module(BUILTIN_PACKAGE).DEFAULT_FORMULATION


def soft_margin_formulation_name() -> str:
    """Return the name of the formulation whose value is exactly the soft margin."""
    return importlib.import_module(BUILTIN_PACKAGE).SOFT_MARGIN_FORMULATION


def get_formulation(
    name_or_formulation: object, extra: Mapping[str, Formulation[Any]] | None = None
) -> Formulation[Any]:
    """Return a formulation.

    Parameters
    ----------
    name_or_formulation
        A name from `list_formulations()`, in upper or lower case, with "-" or " " allowed for "_"; a loss and a
        penalty, such as "hinge+l1" (see `combine`); the path of a Python file that states a formulation (a path ends in
        ".py"); or a formulation, which is returned unchanged.
    extra
        Further formulations by name, which take precedence over the list; none by default.

    Raises
    ------
    OptionError
        The name is unknown, or the file does not exist or does not define exactly one formulation.
    """
    if isinstance(name_or_formulation, Formulation):
        return name_or_formulation
    if not isinstance(name_or_formulation, str | PathLike):
        raise OptionError(
            f"expected the name, the path or an instance of a formulation; got {short_repr(name_or_formulation)}. "
            "Pass one of list_formulations(), or the path of a file."
        )
    if isinstance(name_or_formulation, PathLike) or is_python_file_path(name_or_formulation):
        formulation = formulation_in(load_user_module(name_or_formulation, "a formulation"))
        path = os.path.abspath(name_or_formulation)
        object.__setattr__(formulation, "pickle_recipe", (get_formulation, (path,)))  # it may be frozen
        object.__setattr__(formulation, "source_file", path)
        return formulation
    extra = extra or {}
    if _normalized_name(name_or_formulation) in extra:
        return extra[_normalized_name(name_or_formulation)]
    if SEPARATOR in name_or_formulation:
        return parse_combination(_normalized_name(name_or_formulation))
    name = name_or_formulation if name_or_formulation in _builtin_names() else _canonical_name(name_or_formulation)
    if name in _builtin_names():
        return formulation_in(importlib.import_module(f"{BUILTIN_PACKAGE}.{name}"))
    for point in entry_points(group=ENTRY_POINT_GROUP):
        if point.name == name:
            formulation = point.load()
            return _instantiate(formulation, point.value) if isinstance(formulation, type) else formulation
    raise _unknown_formulation(name_or_formulation, {*list_formulations(), *extra})


def _canonical_name(name: str) -> str:
    """Return the exact spelling of the name of a formulation, and any other name unchanged."""
    names = list_formulations()
    if name in names:  # names of entry points may differ in case alone
        return name
    return next((candidate for candidate in names if _normalized_name(candidate) == _normalized_name(name)), name)


def _normalized_name(name: str) -> str:
    """Return a name in lower case, with "_" for "-" and " ", without spaces around it."""
    return name.strip().casefold().replace("-", "_").replace(" ", "_")


def _unknown_formulation(name: str, names: set[str]) -> OptionError:
    """Return the error for an unknown name, with advice if the name is a file name without ".py"."""
    error = unknown_name("formulation", name, names)
    path = f"{name}.py"
    return OptionError(f"{error} A file {path} exists: pass its path.") if os.path.isfile(path) else error


@cache
def _builtin_names() -> frozenset[str]:
    """Return the names of the formulations that come with boostopt; cached, because it reads their folder."""
    folder = importlib.import_module(BUILTIN_PACKAGE)
    return frozenset(module.name for module in pkgutil.iter_modules(folder.__path__))


def defines_formulation(module: ModuleType) -> bool:
    """Return whether a module defines at least one formulation."""
    return any(_formulations_in(module))


def _formulations_in(module: ModuleType) -> tuple[list[type[Any]], list[Any]]:
    """Return the subclasses of `Formulation` that a module defines; if there is none, the instances."""
    members = list(vars(module).values())
    classes = [
        member
        for member in members
        if isinstance(member, type) and issubclass(member, Formulation) and member.__module__ == module.__name__
    ]
    # A file may use the object of another formulation, so that objects count only if the module defines no class.
    return classes, [] if classes else [member for member in members if isinstance(member, Formulation)]


def formulation_in(module: ModuleType) -> Formulation[Any]:
    """Return the one formulation that a module defines: a subclass of `Formulation`, or an instance.

    Raises
    ------
    OptionError
        The module defines none or several, or an unfinished one.
    """
    classes, objects = _formulations_in(module)
    finished = [cls for cls in classes if not cls.__abstractmethods__] or classes
    if len(finished) + len(objects) != 1:
        lacking = "".join(_describe_missing_members(cls) for cls in classes)
        names = ", ".join([*(cls.__name__ for cls in classes), *map(repr, objects)]) or "none"
        raise OptionError(f"a file must define exactly one formulation; {module.__file__} has {names}.{lacking}")
    if objects:
        return objects[0]
    (formulation,) = finished
    if lacking := _describe_missing_members(formulation):
        raise OptionError(f"the file {module.__file__} must define a formulation without abstract methods.{lacking}")
    return _instantiate(formulation, str(module.__file__))


def _describe_missing_members(formulation: type[Any]) -> str:
    """Describe in a sentence the missing members of an unfinished class of formulations, "" for a finished one."""
    missing = [name for name in ("name", "Parameters") if not hasattr(formulation, name)]
    missing += sorted(formulation.__abstractmethods__)
    kind = "abstract" if formulation.__abstractmethods__ else "unfinished"
    return f" The class {formulation.__name__} is {kind}: write its {', '.join(missing)}." if missing else ""


def _instantiate(formulation: type[Any], path: str) -> Formulation[Any]:
    """Return an instance of a class of formulations; OptionError if the constructor fails."""
    try:
        return formulation()
    except Exception as failure:
        raise OptionError(
            f"the class {formulation.__name__} in {path} must be constructed without arguments; it raises "
            f"{type(failure).__name__}: {reason_of(failure)}. Correct the file."
        ) from failure
