"""The solvers of a comparison by name, backend or function: each once, for each form that is requested, or why not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

from boostopt._utils.user_modules import is_place_in_file, load_object
from boostopt._utils.validation import check_list
from boostopt._utils.validation import check_names as names_of
from boostopt.backends import get_backend, list_backends
from boostopt.backends.base import Backend
from boostopt.backends.cvxpy.cvxpy_backend import NAME_PREFIX, CvxpyBackend, installed_names, open_solver
from boostopt.backends.cvxpy.solver_options import FORMS
from boostopt.backends.guarded_backend import GuardedBackend
from boostopt.backends.isolation.isolated_backend import IsolatedBackend, isolate_backend
from boostopt.backends.user_function_solvers import FunctionSolver
from boostopt.comparison.benchmark_options import CompareOptions
from boostopt.comparison.solve_record import AUTO
from boostopt.comparison.solvers.solver_handles import BackendHandle, ProblemHandle, SolverHandle
from boostopt.errors import OptionError, SolverNotFound, short_repr, unknown_name
from boostopt.programs.program import Program
from boostopt.programs.user_cvxpy_problem import ConvexProblem

DEFAULT_FORM = "ladder"
"""The name, among the forms, of the backend itself, which is not pinned to a form."""


ProblemSolvers = str | Callable[..., Any] | FunctionSolver | Sequence[str | Callable[..., Any] | FunctionSolver] | None
"""Solvers of CVXPY problems: names, functions of a problem, or `ConeSolver(function)`."""


@runtime_checkable
class PinnableBackend(Protocol):
    """A backend that can be pinned to one form of a program."""

    def with_form(self, form: str) -> Backend: ...


def open_solvers(
    target: Program | ConvexProblem,
    backends: Any,
    settings: CompareOptions,
    options: Mapping[str, Mapping[str, Any]] | None,
) -> Sequence[SolverHandle[Any]]:
    """Return the handles of the solvers of a program, or of a CVXPY problem.

    Raises
    ------
    OptionError
        As in `open_backends` and `open_problem_solvers`; or forms are named for a CVXPY problem, which has one.
    """
    if not isinstance(target, ConvexProblem):
        return open_backends(backends, settings.forms, settings.isolate, options, settings.threads)
    if settings.forms is not None:
        raise OptionError(
            f"expected no forms for a CVXPY problem, which is solved as it is stated; got {', '.join(settings.forms)}. "
            "Leave them out."
        )
    return open_problem_solvers(backends, settings.isolate, options, settings.threads)


def open_backends(
    backends: str | Backend | Sequence[str | Backend] | None,
    forms: Sequence[str] | None = None,
    isolate: bool = False,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    threads: int | None = None,
) -> list[BackendHandle]:
    """Return the handles of backends, each once; the handle of a missing backend has the reason.

    Parameters
    ----------
    backends
        Names or backends; by default all that `list_backends()` returns.
    forms
        Every backend that has forms (the solvers behind CVXPY) is run once for each of these forms, as
        "cvxpy:scs:dual"; "ladder" is the unpinned backend. None for the unpinned backend alone.
    isolate
        Run each backend in a worker process; "auto" chooses by its own rule.
    options
        Solver options for each backend by its name.
    threads
        Threads that each backend may use; None if the caller did not set them.

    Raises
    ------
    OptionError
        The name of a backend or form is unknown, there is no backend, a backend is named twice, or there are options
        of a backend that is not named.
    """
    several: Any = [backends] if isinstance(backends, str | Backend) else backends
    requested = list_backends() if several is None else check_list("backends", several, "backends or names of backends")
    forms = None if forms is None else names_of("forms", forms)
    handles = [handle for backend in requested for handle in _expand_forms(_make_handle(backend), forms)]
    names = [handle.name for handle in handles]
    _check_distinct("backends", names)
    for name in options or {}:
        if not any(handle.name == name or handle.name.startswith(f"{name}:") for handle in handles):
            raise unknown_name("backend with options", name, names)
    return [
        replace(_wrap_backend(handle, isolate), options=_backend_options(handle, options), threads=threads)
        for handle in handles
    ]


def open_problem_solvers(
    solvers: Any,
    isolate: bool = False,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    threads: int | None = None,
) -> list[ProblemHandle]:
    """Return the handles of solvers of CVXPY problems, each once; the handle of a missing solver has the reason.

    Parameters
    ----------
    solvers
        Names of CVXPY's solvers, functions of a problem, each as a `FunctionSolver` or as it is, or "FILE:NAME" for a
        function in a Python file; one or several. By default all solvers that are installed.
    isolate
        Run each solver in a worker process.
    options
        Solver options for each solver by its name.
    threads
        Threads that each solver may use; None if the caller did not set them.

    Raises
    ------
    OptionError
        A name is unknown, there is no solver, one is named twice, or there are options of a solver that is not named.
    """
    is_single = isinstance(solvers, str | FunctionSolver | CvxpyBackend) or callable(solvers)
    several = [solvers] if is_single else solvers
    requested = installed_names() if several is None else check_list("backends", several, "solvers or their names")
    handles = [_make_problem_handle(solver) for solver in requested]
    names = [handle.name for handle in handles]
    _check_distinct("solvers", names)
    by_name = {name.lower().removeprefix(NAME_PREFIX): values for name, values in (options or {}).items()}
    for name in by_name:
        if name not in names:
            raise unknown_name("solver with options", name, names)
    return [
        replace(handle, isolate=isolate, options=by_name.get(handle.name, {}), threads=threads) for handle in handles
    ]


def _make_problem_handle(solver: object) -> ProblemHandle:
    """Return the handle of a solver by its name, of a function, or of a solver."""
    if isinstance(solver, str) and is_place_in_file(solver):
        solver = load_object(solver, "a solver")
    if isinstance(solver, FunctionSolver):
        return ProblemHandle(solver.name, solver=solver)
    if callable(solver):
        function_solver = FunctionSolver(solver)
        return ProblemHandle(function_solver.name, solver=function_solver)
    if not isinstance(solver, CvxpyBackend):
        if not isinstance(solver, str):
            raise OptionError(
                f"expected solvers of CVXPY by name, or functions of a problem; got {short_repr(solver)}. Pass names "
                'such as "clarabel", or FunctionSolver(function).'
            )
        name = solver.lower().removeprefix(NAME_PREFIX)
        try:
            solver = open_solver(NAME_PREFIX + name)
        except SolverNotFound as missing:
            return ProblemHandle(name, unavailable_reason=str(missing))
    if not isinstance(solver, CvxpyBackend) or solver.form is not None:
        raise OptionError(
            f"expected solvers without a form for a CVXPY problem, which is solved as it is stated; got {solver.name}. "
            "Name it without a form."
        )
    return ProblemHandle(solver.name.removeprefix(NAME_PREFIX), solver=solver)


def _check_distinct(kind: str, names: Sequence[str]) -> None:
    """Raise OptionError if there is no name, or one occurs twice."""
    if not names or len(set(names)) < len(names):
        raise OptionError(
            f"expected one or more different {kind}; got {', '.join(names) or 'none'}. Name each of them once."
        )


def _backend_options(handle: BackendHandle, options: Mapping[str, Mapping[str, Any]] | None) -> Mapping[str, Any]:
    """Return the options under the name of a backend, or for a form under the name of its solver."""
    options_by_name = options or {}
    solver = ":".join(handle.name.split(":")[:2])
    return options_by_name.get(handle.name, options_by_name.get(solver, {}))


def _make_handle(name: object) -> BackendHandle:
    """Return the handle of a name or a backend."""
    if isinstance(name, str) and name == AUTO:
        return BackendHandle(AUTO)
    try:
        backend = get_backend(name)
    except SolverNotFound as missing:
        return BackendHandle(str(name), unavailable_reason=str(missing))
    return BackendHandle(name if isinstance(name, str) else backend.name, backend=backend)


def _expand_forms(handle: BackendHandle, forms: Sequence[str] | None) -> list[BackendHandle]:
    """Return a backend once for each form, if the backend has forms and its name does not pin it to one."""
    is_pinned = any(part in FORMS for part in handle.name.split(":"))
    if forms is None or not isinstance(handle.backend, PinnableBackend) or is_pinned:
        return [handle]
    pinned = [handle.backend if form == DEFAULT_FORM else handle.backend.with_form(form) for form in forms]
    return [BackendHandle(backend.name, backend=backend) for backend in pinned]


def _wrap_backend(handle: BackendHandle, isolate: bool) -> BackendHandle:
    """Return a handle whose backend raises no exception, so that the comparison continues."""
    backend = handle.backend
    if backend is None or isinstance(backend, IsolatedBackend):
        return handle
    return replace(handle, backend=isolate_backend(backend) if isolate else GuardedBackend(backend))
