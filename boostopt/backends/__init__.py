"""Solvers, one file each, and the lookup of solvers by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from boostopt._utils.user_modules import is_python_file_path, load_single_class
from boostopt.backends.base import Backend
from boostopt.errors import OptionError, reason_of, short_repr, unknown_name

ENTRY_POINT_GROUP = "boostopt.backends"

BUILTIN_BACKEND = "interior"
"""The backend that needs no other package. "auto" begins with it, and `get_backend` finds it without any search."""

AUTO = "auto"
"""Not a backend: `solve` chooses among the backends."""

ISOLATED_PREFIX = "isolated:"
"""Prefix of the name of a backend that runs in a process of its own."""

BACKEND_MODULES = {
    "augmented_lagrangian": ("boostopt.backends.classical.augmented_lagrangian", "open_augmented_lagrangian"),
    "cvxpy": ("boostopt.backends.cvxpy.cvxpy_backend", "open_solver"),
    "highs": ("boostopt.backends.highs.highs_backend", "open_highs"),
    "sqp": ("boostopt.backends.classical.sqp", "open_sqp"),
}
"""The module that knows the rest of a name and its function that opens the name, by the part of the name before ":".

The module is loaded on first use. Its `installed_names()` returns the names to list.
"""


def list_backends() -> list[str]:
    """Return the names of the backends that are installed, sorted.

    "interior" is boostopt's own solver. "cvxpy:<solver>" is every solver that CVXPY finds and that takes at least
    linear programs. "highs" is HiGHS without CVXPY; "highs:dual", "highs:primal" and "highs:ipm" use one of its
    algorithms alone, and are not listed. "augmented_lagrangian" and "sqp" are the papers' own methods. "sqp" calls
    Clarabel, as does "sqp:clarabel"; "sqp:highs" and "sqp:osqp" call the solvers of these names. Backends of entry
    points are listed, too. `get_backend(name).takes(program)` tells whether a backend can take a program.
    """
    names = [BUILTIN_BACKEND, *(point.name for point in _entry_points())]
    for module, _ in BACKEND_MODULES.values():
        names += import_module(module).installed_names()
    return sorted(names)


def get_backend(backend: object) -> Backend:
    """Return a backend by its name, or by the path of a Python file that defines one; a backend is returned as it is.

    "cvxpy:<solver>:<form>" pins a solver to one form, and "cvxpy:<solver>:<setting>" gives it options that its authors
    document; both may follow. "isolated:<name>" runs a backend in a process of its own.

    Raises
    ------
    OptionError
        There is no backend of that name, or the file does not define exactly one.
    SolverNotFound
        CVXPY supports the solver of that name, but it is not installed.
    """
    if isinstance(backend, Backend):
        return backend
    if not isinstance(backend, str):
        raise OptionError(
            f"expected the name or an instance of a backend; got {short_repr(backend)}. Pass one of list_backends()."
        )
    if backend.removeprefix(ISOLATED_PREFIX) == AUTO:
        raise OptionError(
            f'expected the name of one backend; got {backend!r}, and "auto" is the choice among them. '
            'Pass backend="auto" to solve, with isolate=True for processes of their own, or name one of '
            f"{', '.join(list_backends())}."
        )
    if is_python_file_path(backend):
        return _instantiate(load_single_class(backend, Backend, "a backend"), backend)
    if backend == BUILTIN_BACKEND:
        from boostopt.backends.interior import InteriorBackend

        return InteriorBackend()
    for point in _entry_points():
        if point.name == backend:
            loaded = point.load()
            return loaded() if isinstance(loaded, type) else loaded
    if backend.startswith(ISOLATED_PREFIX):
        from boostopt.backends.isolation.isolated_backend import isolate_backend

        return isolate_backend(get_backend(backend.removeprefix(ISOLATED_PREFIX)))
    family = backend.partition(":")[0]
    if family in BACKEND_MODULES:
        module, function = BACKEND_MODULES[family]
        open_name: Callable[[str], Backend] = getattr(import_module(module), function)
        return open_name(backend)
    raise unknown_name("backend", backend, [AUTO, *list_backends()])


def _instantiate(backend_class: type[Backend], path: str) -> Backend:
    """Make the backend of a file."""
    try:
        return backend_class()
    except Exception as failure:
        raise OptionError(
            f"the backend {backend_class.__name__} in {path} must be made without arguments; it raises "
            f"{type(failure).__name__}: {reason_of(failure)}. Correct it."
        ) from failure


def is_name_of_own_backend(name: object) -> bool:
    """Return whether a name is "auto" or that of a backend of boostopt, installed or not, without a search for it."""
    if not isinstance(name, str) or is_python_file_path(name):
        return False
    plain_name = name.removeprefix(ISOLATED_PREFIX)
    return plain_name in (AUTO, BUILTIN_BACKEND) or plain_name.partition(":")[0] in BACKEND_MODULES


def check_backend(backend: object) -> None:
    """Raise what `get_backend` raises, unless the argument is "auto", a backend, or the name of one."""
    if not (isinstance(backend, str) and backend == AUTO):
        get_backend(backend)


@cache
def _entry_points() -> tuple[EntryPoint, ...]:
    """Entry points of other packages, cached: the search reads the metadata of every installed package."""
    return tuple(entry_points(group=ENTRY_POINT_GROUP))
