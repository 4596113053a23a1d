"""The KKT conditions of a CVXPY problem at an answer, each with its residual, scale and worst entry.

The residuals are floating point and prove nothing. `problem_explanation` states the conditions and the answer.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.errors import ProblemError, format_names_truncated
from boostopt.problem_certificates.arithmetic.balls import midpoints, working_precision
from boostopt.problem_certificates.atoms.base import UNBOUNDED
from boostopt.problem_certificates.atoms.symmetric_matrices import symmetric
from boostopt.problem_certificates.constraint_parts import constraint_name
from boostopt.problem_certificates.leaf_values import has_usable_value
from boostopt.problem_certificates.minorants.lagrangian_minorant import Choice
from boostopt.problem_certificates.minorants.stationary_multipliers import (
    float_pullback,
    proposed_choices,
    remaining_slopes,
)
from boostopt.problem_certificates.nearest_domain_points import DomainPoint, domain_point
from boostopt.problem_certificates.problem_certificate import ProblemCertificate
from boostopt.problem_certificates.problem_reader import ReadProblem, ScalarConstraints

PRIMAL, DUAL = "primal feasibility", "dual feasibility"

COMPLEMENTARITY, STATIONARITY = "complementarity", "stationarity"
"""The four kinds of conditions."""

KINK_WIDTHS = (1e-5, 1e-7, 1e-3)
"""Relative distances at which an argument counts as being on a kink, so that the atom has more than one subgradient;
the one with the smallest residuals is taken."""

CONSTRAINT_NUMBER = re.compile(r"\[(\d+)\] ")
"""The beginning of the name of a constraint."""

NEGLIGIBLE_RESIDUAL = 1e-9
"""Relative residual below which no smaller one is looked for."""

N_STEPS = 12
"""The number of steps that look for the smallest subgradient."""


@dataclass(frozen=True)
class ProblemCondition:
    """A KKT condition of one constraint or variable.

    Attributes
    ----------
    kind
        "primal feasibility", "dual feasibility", "complementarity" or "stationarity".
    subject
        The constraint or the variable.
    statement
        The condition, such as "lambda >= 0".
    residual
        The largest violation of an entry, at least 0; inf if a multiplier is missing or an atom has no value near it.
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


def measure_conditions(certificate: ProblemCertificate, tolerance: float) -> tuple[ProblemCondition, ...]:
    """Measure the KKT conditions of the problem and the answer that a certificate was computed from.

    Parameters
    ----------
    certificate
        The certificate of a problem, whose variables still have their values.
    tolerance
        As in `explain_problem`.

    Raises
    ------
    ProblemError
        A variable has no usable value.
    """
    with working_precision():
        read = certificate.answers[-1].problem
        x = read.point_of_values()
        if x is None:
            variables = [item.variable for item in read.variables]
            without = [item.name() for item in variables if not has_usable_value(item)]
            names = format_names_truncated(without or [item.name() for item in variables])  # too large, if none
            raise ProblemError(
                f"expected a value of finite numbers of each variable; got none for {names}. Call problem.solve() "
                "first, or set the values of the variables."
            )
        return tuple(_Measurement(read, domain_point(read, x), tolerance).conditions())


@dataclass(frozen=True)
class _ConstraintRows:
    """The rows of one scalar constraint at a point.

    Attributes
    ----------
    name
        The name of the constraint.
    shape
        The shape of the constraint.
    values, sizes
        The values of g or h, and the sums of the absolute values that cancel in them, shape (k,).
    duals
        The multipliers, shape (k,); None if the solver left none.
    """

    name: str
    shape: tuple[int, ...]
    values: Float[Array, " k"]
    sizes: Float[Array, " k"]
    duals: Float[Array, " k"] | None


class _Measurement:
    """The residuals of the KKT conditions at one point.

    Parameters
    ----------
    problem
        The problem with its multipliers.
    values
        The values at the point, for arguments in the domains of the atoms.
    tolerance
        The tolerance.
    """

    def __init__(self, problem: ReadProblem, values: DomainPoint, tolerance: float) -> None:
        self._problem, self._values, self._tolerance = problem, values, tolerance
        point = self._point = values.point
        self._objective_scale = abs(float(problem.objective.float_values(point.z)[0]))
        self._inequalities, self._equalities = self._rows_of(problem.inequalities), self._rows_of(problem.equalities)
        self._matrices = [
            (item, self._name(item.source), symmetric(item.rows.float_values(point.z), item.n))
            for item in problem.matrices
        ]

    def conditions(self) -> Iterator[ProblemCondition]:
        """Yield all conditions, kind by kind; those of constraints in the order of the problem."""
        for conditions in (self._primal(), self._dual(), self._complementarity(), self._stationarity()):
            yield from sorted(conditions, key=_number_of_constraint)

    def _primal(self) -> Iterator[ProblemCondition]:
        unit = "of the constraint"
        for part in self._inequalities:
            violation = np.maximum(part.values, 0.0)
            yield self._condition(PRIMAL, part.name, "g(x) <= 0", violation, part.sizes, unit, part.shape)
        for part in self._equalities:
            violation = np.abs(part.values)
            yield self._condition(PRIMAL, part.name, "h(x) = 0", violation, part.sizes, unit, part.shape)
        for _, name, E in self._matrices:
            residual, size = _positive_part(-_smallest_eigenvalue(E)), np.abs(E).max(initial=0.0)
            yield self._number(PRIMAL, name, "E(x) positive semidefinite", residual, size, "of an eigenvalue")
        yield from self._domains()
        yield from self._variable_bounds()

    def _domains(self) -> Iterator[ProblemCondition]:
        """Yield the conditions that arguments lie in the domains of atoms, where some do not."""
        objective = self._problem.objective
        parts = [("objective", objective.rows, ())]
        for constraints in (self._problem.inequalities, self._problem.equalities):
            parts += [
                (self._name(source), constraints.rows.rows[rows], expression.shape)
                for source, expression, rows in constraints.segments()
            ]
        parts += [(self._name(item.source), item.rows.rows, (item.n, item.n)) for item in self._problem.matrices]
        for name, rows, shape in parts:
            distances = np.array([self._values.distance(row) for row in rows])
            if distances.any():
                sizes = np.zeros(len(rows))
                yield self._condition(
                    PRIMAL, name, "arguments in the domain", distances, sizes, "of the argument", shape
                )

    def _variable_bounds(self) -> Iterator[ProblemCondition]:
        """Yield the conditions of the variables whose attributes bound them."""
        problem, x = self._problem, self._point.x
        excess = np.maximum(np.maximum(problem.lower - x, x - problem.upper), 0.0)
        is_bounded = np.isfinite(problem.lower) | np.isfinite(problem.upper)
        for variable in problem.variables:
            free = variable.positions[variable.positions >= 0]
            if is_bounded[free].any():
                residuals = variable.values(excess).ravel()
                sizes = np.full(residuals.shape, np.abs(x[free]).max(initial=0.0))
                name, shape = variable.variable.name(), variable.variable.shape
                yield self._condition(
                    PRIMAL, name, "bounds of the variable", residuals, sizes, "of the variable", shape
                )

    def _dual(self) -> Iterator[ProblemCondition]:
        unit = "objective / constraint"
        for part in self._inequalities:
            missing = np.full(part.values.shape, np.inf)
            residuals = missing if part.duals is None else np.maximum(-part.duals, 0.0)
            sizes = np.zeros(part.values.shape) if part.duals is None else np.abs(part.duals)
            yield self._condition(DUAL, part.name, "lambda >= 0", residuals, sizes, unit, part.shape)
        for part in self._equalities:
            yield self._number(DUAL, part.name, "nu of any sign", math.inf if part.duals is None else 0.0, 0.0, unit)
        variables = {item.variable for item in self._problem.variables}
        for constraint, name, _ in self._matrices:
            if constraint.source in variables:
                continue  # CVXPY has no multiplier for the attribute of a variable
            lowest = -math.inf if constraint.dual is None else _smallest_eigenvalue(constraint.dual)
            size = 0.0 if constraint.dual is None else np.abs(constraint.dual).max(initial=0.0)
            yield self._number(DUAL, name, "Z positive semidefinite", _positive_part(-lowest), size, unit)

    def _complementarity(self) -> Iterator[ProblemCondition]:
        unit = "of the objective"
        for part in self._inequalities:
            products = np.zeros(part.values.shape) if part.duals is None else np.abs(part.duals * part.values)
            sizes = np.full(products.shape, self._objective_scale)
            yield self._condition(COMPLEMENTARITY, part.name, "lambda_i g_i(x) = 0", products, sizes, unit, part.shape)
        for constraint, name, E in self._matrices:
            if constraint.dual is not None:
                product = abs(float(np.sum(constraint.dual * E)))
                yield self._number(COMPLEMENTARITY, name, "<Z, E(x)> = 0", product, self._objective_scale, unit)

    def _stationarity(self) -> Iterator[ProblemCondition]:
        slopes, sizes, excess = self._smallest_slopes()
        for variable in self._problem.variables:
            residuals, scales = variable.values(np.abs(slopes)).ravel(), variable.values(sizes).ravel()
            name, shape = variable.variable.name(), variable.variable.shape
            yield self._condition(STATIONARITY, name, "0 in dL/dx", residuals, scales, f"objective / {name}", shape)
        if any(node.function.has_kinks for node in self._problem.nodes):
            statement, unit = "subgradients at x, not near x", "of the objective"
            yield self._number(STATIONARITY, "atoms with kinks", statement, excess, self._objective_scale, unit)

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
        choices = itertools.chain.from_iterable(
            proposed_choices(self._problem, self._point, box, width, N_STEPS, are_multipliers_fixed=True)
            for width in KINK_WIDTHS
        )
        for choice in choices:
            slopes, multipliers, sizes = float_pullback(self._problem, choice)
            rest = remaining_slopes(slopes, self._point.x, box)
            excess = self._subgradient_excess(choice, multipliers)
            amount = max(float(np.abs(rest / np.maximum(sizes, 1.0)).max(initial=0.0)), excess)
            if amount < smallest:
                smallest, best = amount, (rest, sizes, excess)
            if smallest <= NEGLIGIBLE_RESIDUAL:  # the steps of the following width are not made
                break
        return best

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

    def _rows_of(self, constraints: ScalarConstraints) -> list[_ConstraintRows]:
        """Return the rows of each constraint at the point."""
        z = self._point.z
        values = constraints.rows.float_values(z)
        sizes = np.asarray(abs(constraints.rows.floats) @ np.abs(z)) + np.abs(constraints.rows.float_offsets)
        return [
            _ConstraintRows(
                self._name(source),
                expression.shape,
                values[rows],
                sizes[rows],
                None if _has_no_dual(source) else constraints.duals[rows],
            )
            for source, expression, rows in constraints.segments()
        ]

    def _name(self, source: Any) -> str:
        """Return the name of a constraint: its number in the problem and its beginning."""
        return constraint_name(self._problem.problem, source)

    def _number(
        self, kind: str, subject: str, statement: str, residual: float, size: float, unit: str
    ) -> ProblemCondition:
        """Return a condition with one residual."""
        return self._condition(kind, subject, statement, np.array([residual]), np.array([size]), unit, ())

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


def _number_of_constraint(condition: ProblemCondition) -> float:
    """Return the number of the constraint of a condition; inf for a variable and for atoms."""
    match = CONSTRAINT_NUMBER.match(condition.subject)
    return int(match[1]) if match else math.inf


def _has_no_dual(source: Any) -> bool:
    """Return whether a constraint lacks a multiplier of finite numbers."""
    return not all(map(has_usable_value, getattr(source, "dual_variables", ())))


def _smallest_eigenvalue(E: Float[Array, "n n"]) -> float:
    """Return the smallest eigenvalue of a symmetric matrix; nan if it has an entry that is not finite."""
    return float(np.linalg.eigvalsh(E)[0]) if np.isfinite(E).all() else math.nan


def _positive_part(value: float) -> float:
    """Return max(value, 0); inf for nan."""
    return math.inf if math.isnan(value) else max(value, 0.0)
