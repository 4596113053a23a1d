"""Solvers, one file each, and how they are found by name."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points

from boostopt.backends.base import Backend
from boostopt.errors import OptionError, unknown_name

ENTRY_POINTS = "boostopt.backends"


def list_backends() -> list[str]:
    """Return the names of the backends that are installed, sorted.

    "interior", boostopt's own; "cvxpy:<solver>" for every solver that CVXPY finds and that takes at least linear
    programs; "highs" for HiGHS without CVXPY (with "highs:dual", "highs:primal" and "highs:ipm" for one of its
    algorithms alone, which are not listed); the papers' own, "augmented_lagrangian" and "sqp" (through Clarabel, also
    "sqp:clarabel"; "sqp:highs" and "sqp:osqp"); then those of entry points. Which formulation each can take is asked
    with `get_backend(name).takes(program)`.
    """
    from boostopt.backends import augmented_lagrangian, cvxpy, highs, sqp

    return sorted(
        [
            "interior",
            *cvxpy.installed(),
            *highs.installed(),
            augmented_lagrangian.NAME,
            *sqp.installed(),
            *(point.name for point in _points()),
        ]
    )


def get_backend(which: object) -> Backend:
    """Return a backend by name; a backend is returned as it is.

    "cvxpy:<solver>:<form>" pins a solver to one form, "isolated:<name>" runs a backend in a process of its own.

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
    if which == "interior":
        from boostopt.backends.interior import InteriorBackend

        return InteriorBackend()
    for point in _points():
        if point.name == which:
            loaded = point.load()
            return loaded() if isinstance(loaded, type) else loaded
    if which.startswith("isolated:"):
        from boostopt.backends.isolated import isolated

        return isolated(get_backend(which.removeprefix("isolated:")))
    from boostopt.backends.cvxpy import open_solver

    if which.startswith("cvxpy:"):
        return open_solver(which)
    if which.partition(":")[0] == "highs":
        from boostopt.backends.highs import open_highs

        return open_highs(which)
    if which == "augmented_lagrangian":
        from boostopt.backends.augmented_lagrangian import AugmentedLagrangian

        return AugmentedLagrangian()
    if which.partition(":")[0] == "sqp":
        from boostopt.backends.sqp import open_sqp

        return open_sqp(which)
    raise unknown_name("backend", which, ["auto", *list_backends()])


@cache
def _points() -> tuple[EntryPoint, ...]:
    """Entry points of other packages: looking for them reads the metadata of every package that is installed."""
    return tuple(entry_points(group=ENTRY_POINTS))
