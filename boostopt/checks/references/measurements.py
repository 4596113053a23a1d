"""Measurements of which a check consists: numbers with tolerances, of which a check reports the worst.

A check calls methods of a user's component (a regularizer, an edge function, a formulation, an oracle or a backend). An
exception in the component is a failed check and goes into the report. An exception in this package is a bug and
propagates. For this reason every call of a component goes through `call_component`.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.user_modules import format_location, locate_function, locate_last_user_frame
from boostopt.checks.check_report import Check
from boostopt.errors import BoostoptError

CLOSED_FORM_TOLERANCE = 1e-9
"""Relative tolerance of closed forms: their rounding errors are about 1e-12, and mistakes are rarely below 1e-4."""

FEASIBILITY_TOLERANCE = 1e-9
"""Largest constraint violation of a feasible point; projected points violate constraints by 1e-15."""

SOLVER_TOLERANCE = 1e-6
"""Relative tolerance of a solver's optimal value: 1e-8 is usual, and `optimal_value` accepts answers at 1e-7."""

INFEASIBLE_RESIDUAL = 0.05
"""Residual from which on hypothesis weights count as outside the domain of G*: the supremum grows at this rate."""

MAX_PRINTED_ENTRIES = 12
"""Number of array entries in a message."""

ADVICE = "if the numbers are too large for a solver, bound the parameters, interval(lower, upper)"
"""Advice if no solver found an answer."""

P = ParamSpec("P")
R = TypeVar("R")


class ComponentError(Exception):
    """A component raised an exception or returned an invalid value; the message names the method and the error."""


@dataclass(frozen=True)
class Measurement:
    """A number that must not exceed a tolerance.

    Attributes
    ----------
    value, tolerance
        The measured value and the largest allowed value. A value of nan is a failure.
    description
        The measured quantity, in words.
    arguments
        The arguments at which the quantity was measured, by name.
    """

    value: float
    tolerance: float
    description: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Note:
    """A note for the report. Equal notes are merged, and their counts are added: "words at `part` of `whole`"."""

    words: str
    part: int = 0
    whole: int = 0


@dataclass(frozen=True)
class NotApplicable:
    """The reason why a property does not apply to a component."""

    words: str


Findings = Iterator[Measurement | Note | NotApplicable]


def call_component(method: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Return the result of a component's method, ignoring warnings; raise ComponentError if it raises an exception."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return method(*args, **kwargs)
    except Exception as failure:
        name = getattr(method, "__qualname__", None) or type(method).__name__  # the name in the author's code
        location = locate_in_user_file(failure) or _locate_innermost_frame(failure) or name
        raise ComponentError(f"{location} raised {describe_exception(failure)}") from failure


def require_instance(answer: R, kind: type[Any], whose: str) -> R:
    """Return a value of a component; raise ComponentError for another type."""
    if not isinstance(answer, kind):
        raise ComponentError(f"{whose} must return a {kind.__name__}; got {answer!r}"[:300])
    return answer


def require_number(value: Any, method: str) -> float:
    """Return a number of a component as a float; raise ComponentError for another type."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ComponentError(f"{method} must return a number; got {value!r}"[:300]) from None


def require_vector(value: Any, length: int, method: str) -> Float[Array, " n"]:
    """Return a vector of a component as float64; raise ComponentError for another shape or type."""
    array = np.asarray(value)
    if array.shape != (length,) or array.dtype.kind not in "biuf":
        raise ComponentError(
            f"{method} must return {length} numbers, shape ({length},); got shape {array.shape} of {array.dtype}"
        )
    return array.astype(np.float64)


def largest_residual(residuals: Any, method: str) -> float:
    """Return the largest of a component's residuals, 0 if there are none."""
    if not isinstance(residuals, Mapping):
        raise ComponentError(f"{method} must return numbers by the name of the constraint; got {residuals!r}"[:300])
    return max((require_number(value, method) for value in residuals.values()), default=0.0)


def run_check(name: str, measurements: Findings) -> Check:
    """Run a check to its end, and return its worst measurement and its notes."""
    worst: Measurement | None = None
    count, failed, notes, reasons = 0, 0, dict[str, list[int]](), dict[str, None]()
    try:
        for measurement in measurements:
            if isinstance(measurement, Note):
                counts = notes.setdefault(measurement.words, [0, 0])
                counts[:] = counts[0] + measurement.part, counts[1] + measurement.whole
            elif isinstance(measurement, NotApplicable):
                reasons[measurement.words] = None
            else:
                count += 1
                failed += not measurement.value <= measurement.tolerance  # true for nan as well
                worst = measurement if worst is None or _severity(measurement) > _severity(worst) else worst
    except ComponentError as error:
        earlier = [describe_measurement(worst)] if worst is not None and failed else []
        return Check(name, False, np.inf, 0.0, "; before that ".join([str(error), *earlier]))
    counted = [f"{words} at {part} of {whole}" if whole else words for words, (part, whole) in notes.items()]
    if worst is None:
        if reasons:
            return Check(name, True, np.nan, np.nan, f"not asked: {'; '.join(reasons)}")
        unsolved = [*counted, ADVICE] if counted else []
        return Check(name, False, np.inf, 0.0, "; ".join(["nothing could be compared", *unsolved]))
    words = (
        [f"{failed} of {count} compared fail; worst: {describe_measurement(worst)}"]
        if failed
        else [f"{count} compared"]
    )
    return Check(name, not failed, float(worst.value), worst.tolerance, "; ".join([*words, *counted, *reasons]))


def describe_measurement(item: Measurement) -> str:
    """Return a measurement in words, with its arguments."""
    arguments = ", ".join(f"{name} = {format_argument(value)}" for name, value in item.arguments.items())
    return f"{item.description}: {item.value:.3g} > {item.tolerance:.1g}" + (f", at {arguments}" if arguments else "")


def format_argument(value: Any) -> str:
    """Return an argument as text on one line."""
    if not isinstance(value, np.ndarray):
        return f"{value:.6g}" if isinstance(value, float) else str(value)
    text = np.array2string(
        value[:MAX_PRINTED_ENTRIES], precision=4, separator=", ", max_line_width=10_000, suppress_small=False
    )
    return text if len(value) <= MAX_PRINTED_ENTRIES else f"{text[:-1]}, ...]"


def describe_exception(failure: BaseException) -> str:
    """Return the type and the message of an exception on one line."""
    return f"{type(failure).__name__}: {' '.join(str(failure).split())}"[:300]


def optimal_value(problem: Any) -> float | None:
    """Return the optimal value of a `cvxpy.Problem`, -inf or inf if it is infeasible or unbounded.

    The value is None if the solver finds no answer.

    Raises
    ------
    ComponentError
        CVXPY rejects the problem.
    """
    return best_of(problem)[0]


def best_of(problem: Any) -> tuple[float | None, float]:
    """Return the optimal value of a problem as `optimal_value` does, and the requested accuracy of the solver.

    A solver's claim that a problem is unbounded or infeasible is not a proof, so other problems must confirm the claim.
    """
    value, accuracy = _answer(problem)
    if value is None or np.isfinite(value):
        return value, accuracy
    return _unbounded(problem) if value == _sign(problem) * -np.inf else _infeasible(problem)


def _answer(problem: Any) -> tuple[float | None, float]:
    """Return the optimal value that the solver claims, and its requested accuracy."""
    from cvxpy.error import SolverError

    for options in _CLARABEL_OPTIONS:
        with warnings.catch_warnings():
            # Warnings of inaccurate answers and of approximated norms are not needed: the tolerance decides.
            warnings.simplefilter("ignore")
            try:
                problem.solve("CLARABEL", **options)
            except SolverError:
                continue
            except Exception as failure:
                raise ComponentError(f"CVXPY refuses the problem with {describe_exception(failure)}") from failure
        if problem.status in ("optimal", "optimal_inaccurate"):
            inaccurate = problem.status == "optimal_inaccurate"
            return float(problem.solution.opt_val), options["reduced_tol_gap_abs" if inaccurate else "tol_gap_abs"]
        if problem.status in ("infeasible", "unbounded"):
            return _sign(problem) * (np.inf if problem.status == "infeasible" else -np.inf), 0.0
    return None, np.inf


def _sign(problem: Any) -> float:
    """Return 1 for a minimization and -1 for a maximization."""
    import cvxpy as cp

    return 1.0 if isinstance(problem.objective, cp.Minimize) else -1.0


def _unbounded(problem: Any) -> tuple[float | None, float]:
    """Return the optimum of a problem that the solver calls unbounded, from the optima within two boxes.

    An optimum inside a box is an optimum of the whole problem, because the problem is convex.
    """
    import cvxpy as cp

    values = list[float]()
    for size in BOXES:
        box = [cp.abs(x) <= size for x in problem.variables()]
        value, accuracy = _answer(cp.Problem(problem.objective, [*problem.constraints, *box]))
        if value is None or not np.isfinite(value):
            return None, np.inf
        if all(float(np.abs(x.value).max()) < 0.5 * size for x in problem.variables()):
            return value, accuracy
        values.append(value)
    grown = absolute_difference(*values) > SOLVER_TOLERANCE * relative_scale(*values)
    return (-_sign(problem) * np.inf, 0.0) if grown else (values[-1], SOLVER_TOLERANCE)


def _infeasible(problem: Any) -> tuple[float | None, float]:
    """Return the optimum of a problem that the solver calls infeasible, None if the constraints can be satisfied."""
    import cvxpy as cp
    from cvxpy.constraints.nonpos import Inequality
    from cvxpy.constraints.zero import Equality

    missing = cp.Variable(nonneg=True)
    relaxed = list[Any]()
    for constraint in problem.constraints:
        loose = constraint.expr if isinstance(constraint, Inequality) else None
        loose = cp.abs(constraint.expr) if isinstance(constraint, Equality) else loose
        relaxed.append(constraint if loose is None else loose <= missing)
    value, _ = _answer(cp.Problem(cp.Minimize(missing), relaxed))
    satisfied = value is None or value <= SOLVER_TOLERANCE
    return (None, np.inf) if satisfied else (_sign(problem) * np.inf, 0.0)


BOXES = (1e3, 1e5)
"""Sizes of variables within which a problem that a solver calls unbounded is solved again."""

_REDUCED_TOLERANCES = {"reduced_tol_gap_abs": 1e-7, "reduced_tol_gap_rel": 1e-7, "reduced_tol_feas": 1e-7}
_CLARABEL_OPTIONS: tuple[dict[str, Any], ...] = (
    {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10, **_REDUCED_TOLERANCES},
    {"tol_gap_abs": 1e-8, "tol_gap_rel": 1e-8, "tol_feas": 1e-8, **_REDUCED_TOLERANCES, "equilibrate_enable": False},
)
"""Answers are accepted at 1e-7, well below `SOLVER_TOLERANCE`."""


def absolute_difference(a: float, b: float) -> float:
    """Return |a - b|: 0 for equal infinities, inf if only one is infinite."""
    return 0.0 if a == b else abs(a - b)


def excess_over(a: float, b: float) -> float:
    """Return a - b, and 0 for b = inf, which nothing exceeds."""
    return 0.0 if b == np.inf else a - b


def relative_scale(*sizes: float) -> float:
    """Return 1 plus the sum of the finite sizes, by which a relative tolerance is multiplied."""
    return 1.0 + sum(abs(size) for size in sizes if np.isfinite(size))


def assertion(condition: bool, message: str, arguments: Mapping[str, Any] | None = None) -> Measurement:
    """Return a measurement that fails if a condition is false."""
    return Measurement(0.0 if condition else np.inf, FEASIBILITY_TOLERANCE, message, arguments or {})


def fenchel_young_gap(
    value: float, conjugate: float, x: Float[Array, " n"], y: Float[Array, " n"]
) -> tuple[float, float]:
    """Return the gap f(x) + f*(y) - <x, y>, and a bound on its rounding error."""
    size = relative_scale(value, conjugate, float(np.abs(x) @ np.abs(y)))
    return value + conjugate - float(x @ y), CLOSED_FORM_TOLERANCE * size


def _severity(measurement: Measurement) -> float:
    """Return a measurement as a multiple of its tolerance; inf for nan."""
    return float(measurement.value) / measurement.tolerance if measurement.value == measurement.value else np.inf


def locate_in_user_file(failure: Exception) -> str:
    """Return the line of a user's file that raised an exception or defines the refused function; "" for none."""
    function = failure.about if isinstance(failure, BoostoptError) else None
    return locate_function(function) or locate_last_user_frame(failure)


def _locate_innermost_frame(failure: Exception) -> str:
    """Return the innermost line of a traceback outside installed packages; "" for none."""
    frames = [
        (f, line) for f, line in traceback.walk_tb(failure.__traceback__) if _is_project_file(f.f_code.co_filename)
    ]
    # The first frame is `call_component`.
    return format_location(frames[-1][0].f_code, frames[-1][1]) if len(frames) > 1 else ""


def _is_project_file(filename: str) -> bool:
    """Return whether a source file belongs to this package or to the user."""
    return filename.endswith(".py") and "site-packages" not in filename
