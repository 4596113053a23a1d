"""Checks as streams of measured values with tolerances; a check keeps the worst value.

An exception of the piece that is checked is a failure of the piece and becomes part of the report. An exception of this
package is a bug and propagates. So every call of foreign code goes through `call_component`.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.user_files import locate_last_user_frame
from boostopt.checks.check_report import Check

CLOSED_FORM_TOLERANCE = 1e-9
"""Relative errors up to this size count as rounding: closed forms reach about 1e-12, mistakes are seldom below 1e-4."""

FEASIBILITY_TOLERANCE = 1e-9
"""A point that leaves a set by no more than this counts as inside; repaired points miss by 1e-15."""

SOLVER_TOLERANCE = 1e-6
"""Allowed relative error of a solver's optimum: 1e-8 is usual at the accuracy asked for, and 1e-7 is accepted."""

INFEASIBLE_RESIDUAL = 0.05
"""Hypothesis weights with at least this residual count as outside the domain of G*: their supremum grows as fast."""

MAX_PRINTED_ENTRIES = 12
"""Number of entries of an array that messages show."""

ADVICE = "if the numbers are too large for a solver, bound the parameters, interval(lower, upper)"
"""Advice where no solver found anything."""

P = ParamSpec("P")
R = TypeVar("R")


class ComponentError(Exception):
    """A piece raised an exception or returned an invalid answer; the message names the method and the failure."""


@dataclass(frozen=True)
class Measurement:
    """A number that must not exceed its tolerance; `description` says what it measures, `arguments` holds the arguments by name."""

    value: float
    tolerance: float
    description: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Note:
    """A remark beside the measurements. The report states it once, with its counts summed: "at `part` of `whole`"."""

    words: str
    part: int = 0
    whole: int = 0


@dataclass(frozen=True)
class NotApplicable:
    """Why the property cannot be asked of this piece."""

    words: str


Findings = Iterator[Measurement | Note | NotApplicable]


def call_component(method: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Return the answer of a piece; PieceFailed if it raises an exception. Its warnings are ignored."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return method(*args, **kwargs)
    except Exception as failure:
        name = getattr(method, "__qualname__", None) or type(method).__name__  # the name in the author's code
        raise ComponentError(
            f"{_innermost_location(failure) or name} raised {describe_exception(failure)}"
        ) from failure


def require_instance(answer: R, kind: type[Any], whose: str) -> R:
    """Return an answer that must be of a given type."""
    if not isinstance(answer, kind):
        raise ComponentError(f"{whose} must return a {kind.__name__}; got {answer!r}"[:300])
    return answer


def require_number(answer: Any, whose: str) -> float:
    """Return an answer that must be a number."""
    try:
        return float(answer)
    except (TypeError, ValueError):
        raise ComponentError(f"{whose} must return a number; got {answer!r}"[:300]) from None


def require_vector(answer: Any, length: int, whose: str) -> Float[Array, " n"]:
    """Return an answer that must be a vector of `length` numbers."""
    array = np.asarray(answer)
    if array.shape != (length,) or array.dtype.kind not in "biuf":
        raise ComponentError(
            f"{whose} must return {length} numbers, shape ({length},); got shape {array.shape} of {array.dtype}"
        )
    return array.astype(np.float64)


def largest_residual(residuals: Any, whose: str) -> float:
    """Return the largest value of a dictionary of residuals, 0 for an empty one."""
    if not isinstance(residuals, Mapping):
        raise ComponentError(f"{whose} must return numbers by the name of the constraint; got {residuals!r}"[:300])
    return max((require_number(value, whose) for value in residuals.values()), default=0.0)


def run_check(name: str, measurements: Findings) -> Check:
    """Run a check: keep the worst value, count the others."""
    worst: Measurement | None = None
    count, failed, remarks, skipped = 0, 0, dict[str, list[int]](), dict[str, None]()
    try:
        for item in measurements:
            if isinstance(item, Note):
                counts = remarks.setdefault(item.words, [0, 0])
                counts[:] = counts[0] + item.part, counts[1] + item.whole
            elif isinstance(item, NotApplicable):
                skipped[item.words] = None
            else:
                count += 1
                failed += not item.value <= item.tolerance  # nan fails too
                worst = item if worst is None or _severity(item) > _severity(worst) else worst
    except ComponentError as failure:
        before = [describe_measurement(worst)] if worst is not None and failed else []
        return Check(name, False, np.inf, 0.0, "; before that ".join([str(failure), *before]), error_locations(failure))
    counted = [f"{words} at {part} of {whole}" if whole else words for words, (part, whole) in remarks.items()]
    if worst is None:
        if skipped:
            return Check(name, True, np.nan, np.nan, f"not asked: {'; '.join(skipped)}")
        unsolved = [*counted, ADVICE] if counted else []
        return Check(name, False, np.inf, 0.0, "; ".join(["nothing could be compared", *unsolved]))
    words = (
        [f"{failed} of {count} compared fail; worst: {describe_measurement(worst)}"]
        if failed
        else [f"{count} compared"]
    )
    return Check(name, not failed, float(worst.value), worst.tolerance, "; ".join([*words, *counted, *skipped]))


def error_locations(failure: ComponentError) -> tuple[str, ...]:
    """Return the place where a piece raised, as the places of a check; none if it is not in a user's file."""
    where = "" if failure.__cause__ is None else locate_last_user_frame(failure.__cause__)
    return (where,) if where else ()


def describe_measurement(item: Measurement) -> str:
    """Return a measured value in words, with the arguments."""
    at = ", ".join(f"{name} = {format_argument(value)}" for name, value in item.arguments.items())
    return f"{item.description}: {item.value:.3g} > {item.tolerance:.1g}" + (f", at {at}" if at else "")


def format_argument(value: Any) -> str:
    """Write an argument in a line."""
    if not isinstance(value, np.ndarray):
        return f"{value:.6g}" if isinstance(value, float) else str(value)
    text = np.array2string(
        value[:MAX_PRINTED_ENTRIES], precision=4, separator=", ", max_line_width=10_000, suppress_small=False
    )
    return text if len(value) <= MAX_PRINTED_ENTRIES else f"{text[:-1]}, ...]"


def describe_exception(failure: BaseException) -> str:
    """Return an exception in one line."""
    return f"{type(failure).__name__}: {' '.join(str(failure).split())}"[:300]


def optimal_value(problem: Any) -> float | None:
    """Return the optimal value of a `cvxpy.Problem`, -inf or inf if it is infeasible or unbounded.

    None if the solver finds no answer. PieceFailed if CVXPY refuses the problem.
    """
    return best_of(problem)[0]


def best_of(problem: Any) -> tuple[float | None, float]:
    """Return the optimal value of a problem as `optimal_value` does, and the accuracy that the solver was asked for.

    A solver's word that a problem is unbounded or infeasible is no proof of it, so other problems must confirm it.
    """
    value, accuracy = _answer(problem)
    if value is None or np.isfinite(value):
        return value, accuracy
    return _unbounded(problem) if value == _sign(problem) * -np.inf else _infeasible(problem)


def _answer(problem: Any) -> tuple[float | None, float]:
    """Return what the solver says."""
    from cvxpy.error import SolverError

    for options in _CLARABEL_OPTIONS:
        with warnings.catch_warnings():
            # The tolerance judges inaccurate answers, so their warnings, and those of approximated norms, are dropped.
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
    import cvxpy as cp

    return 1.0 if isinstance(problem.objective, cp.Minimize) else -1.0


def _unbounded(problem: Any) -> tuple[float | None, float]:
    """Return the optimum of a problem that the solver calls unbounded, from the optima within two boxes.

    An optimum inside of a box is that of the whole problem, because the problem is convex.
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
    """Return |a - b|, 0 for equal infinities, inf where only one is infinite."""
    return 0.0 if a == b else abs(a - b)


def excess_over(a: float, b: float) -> float:
    """Return a - b; 0 if b is inf, because nothing exceeds inf."""
    return 0.0 if b == np.inf else a - b


def relative_scale(*sizes: float) -> float:
    """Return 1 plus the finite sizes, the scale of a relative tolerance."""
    return 1.0 + sum(abs(size) for size in sizes if np.isfinite(size))


def assertion(holds: bool, what: str, at: Mapping[str, Any] | None = None) -> Measurement:
    """Return the measurement of a true or false statement."""
    return Measurement(0.0 if holds else np.inf, FEASIBILITY_TOLERANCE, what, at or {})


def fenchel_young_gap(
    value: float, conjugate: float, x: Float[Array, " n"], y: Float[Array, " n"]
) -> tuple[float, float]:
    """Return f(x) + f*(y) - <x, y>, and a bound on its rounding."""
    size = relative_scale(value, conjugate, float(np.abs(x) @ np.abs(y)))
    return value + conjugate - float(x @ y), CLOSED_FORM_TOLERANCE * size


def _severity(item: Measurement) -> float:
    return float(item.value) / item.tolerance if item.value == item.value else np.inf


def _innermost_location(failure: Exception) -> str:
    """Return the last function of a traceback outside installed packages, with file and line; "" if there is none."""
    frames = [
        (f, line) for f, line in traceback.walk_tb(failure.__traceback__) if _is_project_file(f.f_code.co_filename)
    ]
    if len(frames) < 2:  # the first is `ask` itself
        return ""
    frame, line = frames[-1]
    name = frame.f_code.co_qualname.rpartition("<locals>.")[2]
    return f"{name} ({Path(frame.f_code.co_filename).name}, line {line})"


def _is_project_file(filename: str) -> bool:
    """Whether a file of code belongs to this package or to its user."""
    return filename.endswith(".py") and "site-packages" not in filename
