"""Explanations of a CVXPY problem: its KKT conditions with the residual of each, and what the answer proves.

With f the objective to be minimized, g_i <= 0 the inequalities, h_j = 0 the equalities and E_k the matrices that must
be positive semidefinite, the Lagrangian of the multipliers lambda, nu and Z that a solver left in the problem is

    L(x) = f(x) + <lambda, g(x)> + <nu, h(x)> - sum_k <Z_k, E_k(x)>.

An answer (x, lambda, nu, Z) is optimal if it satisfies the KKT conditions (Boyd, Vandenberghe 2004, section 5.5.3):
primal feasibility g(x) <= 0, h(x) = 0, E_k(x) >= 0; dual feasibility lambda >= 0, Z_k >= 0; complementarity
lambda_i g_i(x) = 0, <Z_k, E_k(x)> = 0; and stationarity, 0 among the subgradients of L at x.

The residuals are floating point and prove nothing. The interval of `certify_problem` is what the answer proves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.formatting import html_table
from boostopt._utils.validation import check_number
from boostopt.errors import ProblemError
from boostopt.problem_certificates.atoms.base import UNBOUNDED
from boostopt.problem_certificates.atoms.spectral import symmetric
from boostopt.problem_certificates.balls import midpoints, working_precision
from boostopt.problem_certificates.minorant import Choice
from boostopt.problem_certificates.problem_certificate import ProblemCertificate, certify_problem
from boostopt.problem_certificates.reading import ReadProblem, ScalarConstraints, read_problem
from boostopt.problem_certificates.steps import (
    FloatPoint,
    float_point,
    float_pullback,
    improved_choice,
    initial_choice,
    remaining_slopes,
)

PRIMAL, DUAL = "primal feasibility", "dual feasibility"
COMPLEMENTARITY, STATIONARITY = "complementarity", "stationarity"
"""The four kinds of conditions."""

KINK_WIDTHS = (1e-5, 1e-7, 1e-3)
"""Relative distances at which an argument counts as being on a kink, so that the atom has more than one subgradient;
the one with the smallest residuals is taken."""

N_STEPS = 12
"""The number of steps that look for the smallest subgradient."""

MAX_NAME_LENGTH = 48
"""The number of characters of a constraint in its name."""


@dataclass(frozen=True)
class ProblemCondition:
    """One of the KKT conditions, for one constraint or variable.

    Attributes
    ----------
    kind
        "primal feasibility", "dual feasibility", "complementarity" or "stationarity".
    subject
        The constraint or the variable.
    statement
        The condition, such as "lambda >= 0".
    residual
        The largest violation of an entry, at least 0; inf if a multiplier is missing or an atom has no value.
    scale
        The size to which the residual is compared, at least 1: the largest sum of absolute values that cancel in it.
    unit
        The unit of the residual.
    worst
        The entry with the largest violation; "" if there is one entry only.
    holds
        Whether the residual is at most the tolerance times the scale.
    """

    kind: str
    subject: str
    statement: str
    residual: float
    scale: float
    unit: str
    worst: str
    holds: bool


@dataclass(frozen=True, repr=False)
class ProblemExplanation:
    """The KKT conditions of a CVXPY problem at the values and multipliers that a solver left in it.

    Attributes
    ----------
    conditions
        The conditions, in the order of the kinds.
    certificate
        The interval that the answer proves.
    tolerance
        The tolerance to which residuals over their scales are compared.
    """

    conditions: tuple[ProblemCondition, ...]
    certificate: ProblemCertificate
    tolerance: float

    @property
    def violated(self) -> tuple[ProblemCondition, ...]:
        """The conditions that do not hold."""
        return tuple(condition for condition in self.conditions if not condition.holds)

    @property
    def conclusion(self) -> str:
        """The result in one sentence."""
        count = len(self.violated)
        first = (
            f"All KKT conditions hold within {self.tolerance:g} of their scales"
            if not count
            else f"{count} of {len(self.conditions)} KKT conditions {'fails' if count == 1 else 'fail'}"
        )
        return f"{first}. Proved, whatever the residuals are: {self.certificate.words}."

    def __str__(self) -> str:
        rows = [(*cells, condition.kind) for condition, cells in zip(self.conditions, self._rows(), strict=True)]
        widths = [max((len(row[k]) for row in rows), default=0) for k in range(5)]
        lines, kind = list[str](), ""
        for row in rows:
            if row[-1] != kind:
                kind = row[-1]
                lines.append(kind)
            lines.append("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip())
        return "\n".join([*lines, self.conclusion])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        header = ("condition", "of", "statement", "residual", "worst entry", "")
        rows = [(condition.kind, *cells) for condition, cells in zip(self.conditions, self._rows(), strict=True)]
        return html_table(self.conclusion, rows, header)

    def _rows(self) -> Iterator[tuple[str, ...]]:
        """Yield the subject, the statement, the residual with its unit, the worst entry and the verdict of each."""
        for condition in self.conditions:
            amount = "no multiplier" if math.isinf(condition.residual) else f"{condition.residual:.1e} {condition.unit}"
            if math.isinf(condition.residual) and condition.kind in (PRIMAL, STATIONARITY):
                amount = "not finite"
            verdict = "holds" if condition.holds else "FAILS"
            yield condition.subject, condition.statement, amount, condition.worst, verdict


def explain_problem(problem: Any, tolerance: float = 1e-4) -> ProblemExplanation:
    """Explain a solved CVXPY problem: measure its KKT conditions, and prove an interval of the optimal value.

    Parameters
    ----------
    problem
        The `cvxpy.Problem` with the values and duals of a solver.
    tolerance
        The residual, over its scale, up to which a condition holds, in (0, 1).

    Returns
    -------
    A condition for each constraint and variable, with its residual, unit and worst entry. Multipliers have the signs of
    CVXPY: that of an inequality `a <= b` is at least 0, that of an equality `a == b` belongs to a - b, and that of
    `E >> 0` is positive semidefinite, in problems that minimize and in problems that maximize.

    Raises
    ------
    ProblemError
        The argument is no CVXPY problem that `certify_problem` takes, or a variable has no usable value.

    References
    ----------
    Boyd, Vandenberghe 2004, section 5.5.3.
    """
    tolerance = check_number("tolerance", tolerance, "lie in (0, 1)", lambda value: 0.0 < value < 1.0)
    certificate = certify_problem(problem)
    read = read_problem(problem)
    x = read.point_of_values()
    if x is None:
        raise ProblemError(
            "expected a finite value of each variable; a variable has none. Call problem.solve() first, or set the "
            "values of the variables."
        )
    with working_precision():
        measurement = _Measurement(read, float_point(read, x), tolerance)
        return ProblemExplanation(tuple(measurement.conditions()), certificate, tolerance)


class _Measurement:
    """The residuals of the KKT conditions at one point.

    Parameters
    ----------
    problem
        The problem with its multipliers.
    point
        The point.
    tolerance
        The tolerance.
    """

    def __init__(self, problem: ReadProblem, point: FloatPoint, tolerance: float) -> None:
        self._problem, self._point, self._tolerance = problem, point, tolerance
        self._objective_scale = abs(float(problem.objective.float_values(point.z)[0]))

    def conditions(self) -> Iterator[ProblemCondition]:
        """Yield all conditions, kind by kind."""
        yield from self._primal()
        yield from self._dual()
        yield from self._complementarity()
        yield from self._stationarity()

    def _primal(self) -> Iterator[ProblemCondition]:
        problem, x = self._problem, self._point.x
        unit = "of the constraint"
        for name, values, sizes, shape in self._parts(problem.inequalities):
            yield self._condition(PRIMAL, name, "g(x) <= 0", np.maximum(values, 0.0), sizes, unit, shape)
        for name, values, sizes, shape in self._parts(problem.equalities):
            yield self._condition(PRIMAL, name, "h(x) = 0", np.abs(values), sizes, unit, shape)
        for constraint in problem.matrices:
            E = symmetric(constraint.rows.float_values(self._point.z), constraint.n)
            lowest = _smallest_eigenvalue(E)
            statement, size = "E(x) positive semidefinite", np.abs(E).max(initial=0.0)
            name = self._name(constraint.source)
            yield self._condition(
                PRIMAL, name, statement, np.array([_positive_part(-lowest)]), np.array([size]), "of an eigenvalue", ()
            )
        for variable in problem.variables:
            free = variable.positions >= 0
            lower, upper = problem.lower[variable.positions[free]], problem.upper[variable.positions[free]]
            if np.isfinite(lower).any() or np.isfinite(upper).any():
                values = x[variable.positions[free]]
                excess = np.zeros(variable.positions.size)
                excess[free] = np.maximum(np.maximum(lower - values, values - upper), 0.0)
                name, shape = variable.variable.name(), variable.variable.shape
                sizes = np.full(excess.shape, np.abs(values).max(initial=0.0))
                yield self._condition(PRIMAL, name, "bounds of the variable", excess, sizes, "of the variable", shape)

    def _dual(self) -> Iterator[ProblemCondition]:
        unit = "objective / constraint"
        constraints = self._problem.inequalities
        for k, (source, (start, stop)) in enumerate(_segments(constraints)):
            name, duals = self._name(source), constraints.duals[start:stop]
            shape = constraints.expressions[k].shape
            residual = np.full(duals.shape, np.inf) if _has_no_dual(source) else np.maximum(-duals, 0.0)
            yield self._condition(DUAL, name, "lambda >= 0", residual, np.abs(duals), unit, shape)
        for source, (start, stop) in _segments(self._problem.equalities):
            residual = np.full(stop - start, np.inf if _has_no_dual(source) else 0.0)
            yield self._condition(
                DUAL, self._name(source), "nu of any sign", residual, np.zeros(stop - start), unit, ()
            )
        for constraint in self._problem.matrices:
            if constraint.source in {item.variable for item in self._problem.variables}:
                continue  # CVXPY has no multiplier for the attribute of a variable
            lowest = -math.inf if constraint.dual is None else _smallest_eigenvalue(constraint.dual)
            size = 0.0 if constraint.dual is None else np.abs(constraint.dual).max(initial=0.0)
            residual = np.array([_positive_part(-lowest)])
            statement = "Z positive semidefinite"
            yield self._condition(DUAL, self._name(constraint.source), statement, residual, np.array([size]), unit, ())

    def _complementarity(self) -> Iterator[ProblemCondition]:
        size = self._objective_scale
        constraints = self._problem.inequalities
        for (name, values, _, shape), (_, (start, stop)) in zip(
            self._parts(constraints), _segments(constraints), strict=True
        ):
            products = np.abs(constraints.duals[start:stop] * values)
            statement = "lambda_i g_i(x) = 0"
            yield self._condition(
                COMPLEMENTARITY, name, statement, products, np.full(products.shape, size), "of the objective", shape
            )
        for constraint in self._problem.matrices:
            if constraint.dual is not None:
                E = symmetric(constraint.rows.float_values(self._point.z), constraint.n)
                residual = np.array([abs(float(np.sum(constraint.dual * E)))])
                name, statement = self._name(constraint.source), "<Z, E(x)> = 0"
                yield self._condition(
                    COMPLEMENTARITY, name, statement, residual, np.array([size]), "of the objective", ()
                )

    def _stationarity(self) -> Iterator[ProblemCondition]:
        slopes, sizes, excess = self._smallest_slopes()
        for variable in self._problem.variables:
            free = variable.positions >= 0
            residual, scale = np.zeros(variable.positions.size), np.zeros(variable.positions.size)
            residual[free] = np.abs(slopes[variable.positions[free]])
            scale[free] = sizes[variable.positions[free]]
            name = variable.variable.name()
            yield self._condition(
                STATIONARITY,
                name,
                "0 in dL/dx",
                residual,
                scale,
                f"objective / {name}",
                variable.variable.shape,
            )
        if any(node.function.has_kinks for node in self._problem.nodes):
            size = np.array([self._objective_scale])
            statement, unit = "subgradients at x, not near x", "of the objective"
            yield self._condition(STATIONARITY, "atoms with kinks", statement, np.array([excess]), size, unit, ())

    def _smallest_slopes(self) -> tuple[Float[Array, " n"], Float[Array, " n"], float]:
        """Return the slopes of the Lagrangian for the best subgradients at kinks.

        Returns
        -------
        The slopes, shape (n,); the sizes that cancel in them, shape (n,); and the epsilon of the subgradients: the
        chosen ones are epsilon-subgradients of L at x, and epsilon is 0 if x is on each kink that they need.
        """
        box = (self._problem.lower, self._problem.upper)
        best = np.full(self._problem.n, np.inf), np.ones(self._problem.n), math.inf
        smallest = math.inf
        for choice in self._choices(box):
            slopes, multipliers, sizes = float_pullback(self._problem, choice)
            rest = remaining_slopes(slopes, self._point.x, box)
            excess = self._subgradient_excess(choice, multipliers)
            amount = max(float(np.abs(rest / np.maximum(sizes, 1.0)).max(initial=0.0)), excess)
            if amount < smallest:
                smallest, best = amount, (rest, sizes, excess)
        return best

    def _choices(self, box: tuple[Array, Array]) -> Iterator[Choice]:
        """Yield the multipliers with the tangents at x, then with subgradients that make the slopes smaller."""
        for width in KINK_WIDTHS:
            choice = initial_choice(self._problem, self._point, width)
            choice = replace(choice, inequality=self._problem.inequalities.duals)  # not made feasible
            yield choice
            yield improved_choice(self._problem, choice, self._point, box, width, N_STEPS, are_multipliers_fixed=True)

    def _subgradient_excess(self, choice: Choice, multipliers: Sequence[Array]) -> float:
        """Return the sum of multiplier times value minus minorant, at x, of the atoms with kinks."""
        total = 0.0
        for node, tangents, mu in zip(self._problem.nodes, choice.tangents, multipliers, strict=True):
            if not node.function.has_kinks:
                continue
            u = node.arguments.float_values(self._point.z)
            for k, group in enumerate(node.members.tolist()):
                if mu[k]:
                    slopes, offset = node.function.minorant(tangents, k, [UNBOUNDED] * len(group))
                    minorant = float(midpoints(slopes) @ u[group]) + float(midpoints([offset])[0])
                    total += abs(float(mu[k]) * (self._point.z[node.start + k] - minorant))
        return _positive_part(total)

    def _parts(
        self, constraints: ScalarConstraints
    ) -> Iterator[tuple[str, Float[Array, " k"], Float[Array, " k"], tuple[int, ...]]]:
        """Yield the name, the values, the sizes and the shape of each constraint."""
        z = self._point.z
        values = constraints.rows.float_values(z)
        sizes = np.asarray(abs(constraints.rows.floats) @ np.abs(z)) + np.abs(constraints.rows.float_offsets)
        for (source, (start, stop)), expression in zip(_segments(constraints), constraints.expressions, strict=True):
            yield self._name(source), values[start:stop], sizes[start:stop], expression.shape

    def _name(self, source: Any) -> str:
        """Return the name of a constraint: its number in the problem and its beginning."""
        words = " ".join(str(source).split())
        words = words if len(words) <= MAX_NAME_LENGTH else f"{words[: MAX_NAME_LENGTH - 3]}..."
        for k, constraint in enumerate(self._problem.problem.constraints):
            if constraint is source:
                return f"[{k}] {words}"
        return words

    def _condition(
        self,
        kind: str,
        subject: str,
        statement: str,
        residuals: Float[Array, " k"],
        sizes: Float[Array, " k"],
        unit: str,
        shape: tuple[int, ...],
    ) -> ProblemCondition:
        """Return a condition with its largest residual; a residual that is not a number counts as infinite."""
        residuals = np.where(np.isnan(residuals), np.inf, residuals)
        scales = np.maximum(np.where(np.isfinite(sizes), sizes, 1.0), 1.0)
        if not len(residuals):
            return ProblemCondition(kind, subject, statement, 0.0, 1.0, unit, "", True)
        k = int(np.argmax(residuals / scales))
        index = np.unravel_index(k, shape) if math.prod(shape) == len(residuals) and len(residuals) > 1 else ()
        worst = f"entry {list(map(int, index))}" if index and residuals[k] > 0.0 else ""
        residual, scale = float(residuals[k]), float(scales[k])
        return ProblemCondition(
            kind, subject, statement, residual, scale, unit, worst, residual <= self._tolerance * scale
        )


def _segments(constraints: ScalarConstraints) -> Iterator[tuple[Any, tuple[int, int]]]:
    """Yield each constraint with the first row and the row after the last one."""
    start = 0
    for source, expression in zip(constraints.sources, constraints.expressions, strict=True):
        yield source, (start, start + expression.size)
        start += expression.size


def _has_no_dual(source: Any) -> bool:
    """Return whether a solver left no multiplier in a constraint."""
    duals: Sequence[Any] = getattr(source, "dual_variables", ())
    return any(dual.value is None for dual in duals)


def _smallest_eigenvalue(E: Float[Array, "n n"]) -> float:
    """Return the smallest eigenvalue of a symmetric matrix; nan if it has an entry that is not finite."""
    return float(np.linalg.eigvalsh(E)[0]) if np.isfinite(E).all() else math.nan


def _positive_part(value: float) -> float:
    """Return max(value, 0); inf for nan."""
    return math.inf if math.isnan(value) else max(value, 0.0)
