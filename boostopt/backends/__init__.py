"""Solvers, one file each, and how they are found by name."""

from __future__ import annotations

from importlib.metadata import entry_points

from boostopt.backends.base import Backend
from boostopt.errors import OptionError, unknown_name

ENTRY_POINTS = "boostopt.backends"


def list_backends() -> list[str]:
    """Return the names of the backends that are installed, sorted.

    "cvxpy:<solver>" for every solver that CVXPY finds and that takes at least linear programs, then those of
    entry points. Which formulation each can take is asked with `get_backend(name).takes(program.cones)`.
    """
    from boostopt.backends.cvxpy import installed

    return sorted([*installed(), *(point.name for point in entry_points(group=ENTRY_POINTS))])


def get_backend(which: object) -> Backend:
    """Return a backend by name; a backend is returned as it is.

    Raises
    ------
    OptionError
        There is no backend of that name.
    SolverNotFound
        The name is that of a solver that CVXPY supports but that is not installed.
    """
    if isinstance(which, Backend):
        return which
    if not isinstance(which, str):
        raise OptionError(f"expected the name or an instance of a backend; got {which!r}.")
    for point in entry_points(group=ENTRY_POINTS):
        if point.name == which:
            loaded = point.load()
            return loaded() if isinstance(loaded, type) else loaded
    from boostopt.backends.cvxpy import open_solver

    if which.startswith("cvxpy:"):
        return open_solver(which)
    raise unknown_name("backend", which, ["auto", *list_backends()])
