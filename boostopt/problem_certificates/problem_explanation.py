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

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from boostopt._utils.blas_threads import limit_blas_threads
from boostopt._utils.cvxpy_tools import cp
from boostopt._utils.formatting import escape_unprintable, html_table
from boostopt._utils.validation import check_instance, check_number
from boostopt.conic_programs.conic_program import ConicProgram
from boostopt.errors import ProblemError
from boostopt.problem_certificates.cone_proofs.clarabel_answers import solve_form
from boostopt.problem_certificates.cone_proofs.cone_form import cone_form
from boostopt.problem_certificates.cone_proofs.conic_kkt_residuals import ConditionResiduals, program_conditions
from boostopt.problem_certificates.cone_proofs.conic_program_proof import certified_answer
from boostopt.problem_certificates.kkt_residuals import DUAL, ProblemCondition, measure_conditions
from boostopt.problem_certificates.leaf_values import has_usable_value
from boostopt.problem_certificates.problem_certificate import ProblemCertificate, cause_of, certify_problem

DEFAULT_TOLERANCE = 1e-4
"""The residual, over its scale, up to which a condition holds."""

MAX_CONDITIONS = 8
"""The number of conditions of a kind up to which all are printed; of more, those that fail and the worst of the others
are."""


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
    cause
        What makes the problem infeasible or unbounded, if this is proved, in words; "" if it is not found.
    """

    conditions: tuple[ProblemCondition, ...]
    certificate: ProblemCertificate
    tolerance: float
    cause: str = ""

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
        is_decided = self.certificate.is_decided
        result = f"the problem is {self.certificate.status}" if is_decided else self.certificate.words
        reasons = [text for text in (self.cause, *self.certificate.reasons[:1]) if text] if is_decided else []
        why = f" ({'; '.join(reasons)})" if reasons else ""
        return f"{first}. Proved, whatever the residuals are: {result}{why}."

    def __str__(self) -> str:
        rows = self._rows()
        widths = [max((len(row[k]) for row in rows if any(row[1:5])), default=0) for k in range(5)]
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
        rows = [(row[-1], *row[:-1]) for row in self._rows()]
        return html_table(self.conclusion, rows, header)

    def _rows(self) -> list[tuple[str, ...]]:
        """Return the subject, the statement, the residual with its unit, the worst entry, the verdict and the kind.

        Of many conditions of a kind, those that fail and the worst that holds have rows, and one row counts the others.
        """
        rows = list[tuple[str, ...]]()
        for kind, conditions in itertools.groupby(self.conditions, key=lambda condition: condition.kind):
            group = list(conditions)
            worst = max(
                (condition for condition in group if condition.holds),
                key=lambda condition: condition.residual / condition.scale,
                default=None,
            )
            is_long = len(group) > MAX_CONDITIONS
            visible = [item for item in group if not is_long or item is worst or not item.holds]
            rows += [self._row(condition) for condition in visible]
            if is_long and len(visible) < len(group):
                count = len(group) - len(visible)
                rows.append((f"and {count} more that {'hold' if count > 1 else 'holds'}", "", "", "", "", kind))
        return rows

    @staticmethod
    def _row(condition: ProblemCondition) -> tuple[str, ...]:
        """Return the row of one condition, in a line; the residual over its scale is added where it is another one."""
        infinite = "no multiplier" if condition.kind == DUAL else "not finite"
        residual, ratio = f"{condition.residual:.1e}", f"{condition.residual / condition.scale:.1e}"
        relative = "" if ratio == residual else f", relative {ratio}"
        amount = infinite if math.isinf(condition.residual) else f"{residual} {condition.unit}{relative}"
        verdict = "holds" if condition.holds else "FAILS"
        cells = condition.subject, condition.statement, amount, condition.worst, verdict, condition.kind
        return tuple(map(escape_unprintable, cells))


def explain_problem(problem: Any, tolerance: float = DEFAULT_TOLERANCE) -> ProblemExplanation:
    """Explain a solved CVXPY problem: measure its KKT conditions, and prove an interval of the optimal value.

    The conditions of a conic program are those of its rows, cones and columns at the answer that was certified: the
    exact optimum of a linear program, or the answer of a solver. They are measured in floats from its sparse numbers;
    the worst entry of each has its name.

    Parameters
    ----------
    problem
        The `cvxpy.Problem` with the values and duals of a solver, or a `ConicProgram`.
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
        The argument is no problem that `certify_problem` takes, or a variable has no usable value.

    References
    ----------
    Boyd, Vandenberghe 2004, section 5.5.3.
    """
    tolerance = check_number("tolerance", tolerance, "lie in (0, 1)", lambda value: 0.0 < value < 1.0)
    if isinstance(problem, ConicProgram):
        certificate = certify_problem(problem)
        if certificate.is_decided:
            raise _lack_of_optimum(certificate, "")
        return explain_program(problem, certificate, tolerance)
    check_instance(
        "problem",
        problem,
        cp.Problem,
        "a cvxpy.Problem",
        "Pass cp.Problem(objective, constraints), or call load_problem for a file.",
        ProblemError,
    )
    certificate = certify_problem(problem)
    cause = cause_of(certificate)
    if certificate.is_decided and not all(map(has_usable_value, problem.variables())):
        raise _lack_of_optimum(certificate, cause)
    return ProblemExplanation(measure_conditions(certificate, tolerance), certificate, tolerance, cause)


def explain_program(program: ConicProgram, certificate: ProblemCertificate, tolerance: float) -> ProblemExplanation:
    """Explain a conic program by the answer that its certificate is of; it is solved if there is none.

    Parameters
    ----------
    program
        The program.
    certificate
        Its certificate, which is part of the explanation.
    tolerance
        As in `explain_problem`.
    """
    form = cone_form(program)
    with limit_blas_threads(), np.errstate(all="ignore"):
        proof = certificate.program_proof
        answer = solve_form(form) if proof is None else certified_answer(proof, form)
        items = program_conditions(form, answer)
    return ProblemExplanation(tuple(_condition_of(item, tolerance) for item in items), certificate, tolerance)


def _condition_of(item: ConditionResiduals, tolerance: float) -> ProblemCondition:
    """Return the condition of rows, cones or columns with its worst entry."""
    residuals = np.where(np.isnan(item.residuals), math.inf, item.residuals)
    k = int(np.argmax(residuals))
    residual = float(residuals[k])
    worst = item.names[k] if len(item.names) > 1 and residual > 0 else ""
    subject = item.names[0] if len(item.names) == 1 else item.subject
    holds = residual <= tolerance * item.scale
    return ProblemCondition(item.kind, subject, item.statement, residual, item.scale, item.unit, worst, holds)


def _lack_of_optimum(certificate: ProblemCertificate, cause: str) -> ProblemError:
    """Return the error for a problem whose proof says that it has no optimum."""
    why = f" ({cause})" if cause else ""
    return ProblemError(
        f"expected a problem with an optimum; got one that is proved {certificate.status}{why}, so that there are no "
        "KKT conditions to measure. Correct the problem, or use certify_problem, which returns the proof."
    )
