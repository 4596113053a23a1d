"""Solvers of CVXPY problems that users state as functions: from a problem, or from its cone data."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from boostopt._utils.validation import check_function, check_string
from boostopt.backends.accuracy_profiles import Profile
from boostopt.backends.base import Attempt, Capability
from boostopt.backends.cvxpy.cvxpy_backend import PhaseTimer, flat_solution
from boostopt.backends.cvxpy_problem_task import STATED_FORM, STATUS, VALUE, ProblemTask
from boostopt.backends.external_exceptions import ExternalError, call_external
from boostopt.errors import ProblemError
from boostopt.programs.user_cvxpy_problem import ConvexProblem, flat_answer, load_mapping

TOLERANCE_NAME = "tol"
"""The parameter by which a function gets the requested accuracy."""

CONE_FORMAT = "SCS"
"""The solver whose standard form a `ConeSolver` gets."""


@dataclass(frozen=True)
class FunctionSolver:
    """A solver that is a function of a CVXPY problem.

    Attributes
    ----------
    function
        It gets a copy of the problem, and leaves values and duals in it, for example by `problem.solve(...)`. Or it
        returns a mapping of values by variable and duals by constraint. If it has a parameter `tol`, it gets the
        requested accuracy by this name.
    name
        The name in tables; by default that of the function.
    """

    function: Callable[..., Any]
    name: str = ""

    def __post_init__(self) -> None:
        """Check the fields, and set the name."""
        check_function("function", self.function)
        name = check_string("name", self.name) or getattr(self.function, "__name__", type(self.function).__name__)
        object.__setattr__(self, "name", name)

    @property
    def has_tolerance(self) -> bool:
        """True if the function has a parameter `tol`."""
        try:
            return TOLERANCE_NAME in inspect.signature(self.function).parameters
        except (TypeError, ValueError):  # a function without a signature, as some of C
            return False

    @property
    def version(self) -> str:
        """The version, which a function does not have."""
        return ""

    @property
    def option_names(self) -> Collection[str] | None:
        """The names of its options: none."""
        return ()

    def supports_profile(self, profile: Profile) -> Capability:
        """Return that the function is run for each profile; it learns of one by its parameter `tol` alone."""
        return Capability(True)

    def keeps_limit_on_problem(self, problem: ConvexProblem) -> bool:
        """Return that a function may exceed a time limit, of which it does not know."""
        return False

    def attempts_at_problem(self, task: ProblemTask) -> Iterator[Attempt]:
        """Yield the answer of the function; an exception becomes the error of the attempt."""
        clock = PhaseTimer()
        fresh = task.problem.copy()
        clock.lap("build")
        try:
            attempt = call_external(lambda: self._answer(fresh, self._call_options(task), clock))
        except ExternalError as failure:
            clock.lap("solve")
            attempt = Attempt(STATED_FORM, self._call_options(task), "raised", False, error=str(failure))
        yield replace(attempt, times=clock.times)

    def _call_options(self, task: ProblemTask) -> dict[str, float]:
        """Return the accuracy by name, if the function takes one: that of the profile, or the target gap."""
        accuracy = task.tol if task.profile is None else task.profile.accuracy
        return {TOLERANCE_NAME: accuracy} if self.has_tolerance and accuracy is not None else {}

    def _answer(self, problem: Any, options: Mapping[str, float], clock: PhaseTimer) -> Attempt:
        """Return the answer of the function to a problem.

        Raises
        ------
        ProblemError
            The function returns another value, or values that do not fit the problem.
        """
        answer = self.function(problem, **options)
        clock.lap("solve")
        if isinstance(answer, Mapping):
            load_mapping(problem, answer)
        elif answer is not None and not isinstance(answer, int | float | np.number):  # the value, as from solve()
            raise ProblemError(
                f"expected None, or a mapping of values by variable and duals by constraint; got "
                f"{type(answer).__name__}. Leave the values in the problem, or return such a mapping."
            )
        values, duals = flat_answer(problem)
        status = str(problem.status or ("optimal" if values is not None else "no answer"))
        value = problem.value if problem.status else problem.objective.value
        statistics = {STATUS: status} | ({} if value is None else {VALUE: float(value)})
        clock.lap("recover")
        return Attempt(STATED_FORM, options, status, status == "optimal", values, duals, statistics=statistics)


@dataclass(frozen=True)
class ConeSolver(FunctionSolver):
    """A solver that is a function of the cone data of a problem.

    CVXPY states the problem as minimize c'x + x'Px / 2 subject to Ax + s = b, s in K, and reads the answer.

    Attributes
    ----------
    function
        It gets a dictionary with `A` (sparse), `b`, `c`, `P` (sparse; missing if it is 0) and `cones`, the sizes of the
        parts of K in the order and the names of SCS: zero `z`, non-negative `l`, second-order `q`, semidefinite `s`,
        exponential `ep`, power `p`. It returns x, shape (n,), and the dual y of Ax + s = b, shape (m,). If it has a
        parameter `tol`, it gets the requested accuracy by this name.
    name
        The name in tables; by default that of the function.
    """

    def _answer(self, problem: Any, options: Mapping[str, float], clock: PhaseTimer) -> Attempt:
        from cvxpy.reductions.solvers.conic_solvers.scs_conif import dims_to_solver_dict

        data, chain, inverse = problem.get_problem_data(CONE_FORMAT, solver_opts={})
        clock.lap("canonicalize")
        form = {name: data[name] for name in ("A", "b", "c", "P") if data.get(name) is not None}
        # A solver may scale its arrays in place. The value and the slack are those of the problem.
        copies = {name: part.copy() for name, part in form.items()}
        answer = self.function({**copies, "cones": dims_to_solver_dict(data["dims"])}, **options)
        clock.lap("solve")
        sizes = form["A"].shape[::-1]
        parts = [np.asarray(part, dtype=float) for part in answer] if isinstance(answer, tuple) else []
        if [part.shape for part in parts] != [(size,) for size in sizes]:
            shapes = ", ".join(str(part.shape) for part in parts) or type(answer).__name__
            raise ProblemError(
                f"expected a tuple of x and y, shapes ({sizes[0]},) and ({sizes[1]},); got {shapes}. Return these two."
            )
        x, y = parts
        value = float(form["c"] @ x + (x @ (form["P"] @ x) / 2 if "P" in form else 0.0))
        report = {"status": "returned", "status_val": 1, "pobj": value, "iter": None, "solve_time": 0, "setup_time": 0}
        solution = chain.invert({"x": x, "y": y, "s": form["b"] - form["A"] @ x, "info": report}, inverse)
        values, duals = flat_solution(problem, solution.primal_vars, solution.dual_vars)
        clock.lap("recover")
        statistics = {STATUS: solution.status, VALUE: float(solution.opt_val)}
        return Attempt(STATED_FORM, options, solution.status, True, values, duals, statistics=statistics)
