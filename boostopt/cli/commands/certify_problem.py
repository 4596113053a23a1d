"""`boostopt certify-problem`: certify the optimum of a CVXPY problem of the user."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from boostopt._utils.json_values import to_json_text
from boostopt._utils.user_files import load_object
from boostopt._utils.validation import check_tolerance
from boostopt.cli.application import command, console
from boostopt.problem_certificates.problem_certificate import ProblemCertificate, certify_problem
from boostopt.problem_certificates.problem_explanation import DEFAULT_TOLERANCE, ProblemExplanation, measure_conditions

ProblemName = Annotated[
    str,
    typer.Argument(metavar="FILE:NAME", help="Python file, and in it a cvxpy.Problem or a function that returns one."),
]
RefutationTol = Annotated[
    float,
    typer.Option(help="Distance from the interval, over max(1, |value|), from which the reported value is refuted."),
]


@command("certify-problem")
def certify_problem_command(
    problem: ProblemName,
    *,
    tol: RefutationTol = 1e-6,
    solver: Annotated[
        str | None,
        typer.Option(help='Solver of CVXPY for a problem without values, or to narrow the interval; or "auto".'),
    ] = None,
    tolerance: Annotated[float, typer.Option(help="By how much right sides may change.")] = 0.0,
    relaxation: Annotated[
        bool, typer.Option("--relaxation", help="Read integer variables as continuous ones.")
    ] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Print the KKT conditions, line by line.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Certify the optimum of a CVXPY problem, and compare the reported value with the interval.

    Example: boostopt certify-problem model.py:problem --solver auto
    """
    tol = check_tolerance("tol", tol)
    target = load_problem(problem)
    certificate = certify_problem(target, solver=solver, tolerance=tolerance, relaxation=relaxation)
    explanation = None
    if explain:
        explanation = ProblemExplanation(measure_conditions(target, DEFAULT_TOLERANCE), certificate, DEFAULT_TOLERANCE)
    is_refuted = certificate.violation > tol
    if json:
        typer.echo(to_json_text(document(certificate, is_refuted, explanation)))
    else:
        console().print(problem_table(problem, certificate, is_refuted, tol))
        if explanation is not None:
            typer.echo(str(explanation))
    return 1 if is_refuted else 0


def load_problem(place: str) -> Any:
    """Return the object with a name in a Python file; for a function, the result of a call.

    Raises
    ------
    OptionError
        There is no such file or name.
    """
    value = load_object(place, "a CVXPY problem")
    return value() if callable(value) else value


def problem_table(title: str, certificate: ProblemCertificate, is_refuted: bool, tol: float) -> Table:
    """Return the interval, the reported value, and the reasons for infinite bounds as a table."""
    table = Table(title=Text(title, "bold"), title_justify="default", show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    is_decided = certificate.status in ("infeasible", "unbounded")
    table.add_row("problem" if is_decided else "optimum certified in", Text(certificate.words))
    table.add_row("status", certificate.status)
    if not is_decided:
        table.add_row("gap", f"{certificate.gap:.2e}  (relative {certificate.scaled_gap:.2e})")
    if certificate.value is not None:
        verdict = f"refuted: off by {certificate.violation:.2e}" if is_refuted else f"within {tol:g} of the interval"
        table.add_row("reported value", f"{certificate.value:.10g}")
        table.add_row("verdict", Text(verdict, style="red" if is_refuted else "green"))
    table.add_row("feasible point", "none is proved" if certificate.point is None else "proved")
    for reason in certificate.reasons:
        table.add_row("note", Text(reason))
    return table


def document(
    certificate: ProblemCertificate, is_refuted: bool, explanation: ProblemExplanation | None = None
) -> dict[str, Any]:
    """Return the certificate, and the KKT conditions if they were measured, as plain values."""
    conditions = {} if explanation is None else {"conditions": [asdict(item) for item in explanation.conditions]}
    return {
        "status": certificate.status,
        "lower": certificate.lower,
        "upper": certificate.upper,
        "scaled_gap": certificate.scaled_gap,
        "value": certificate.value,
        "violation": certificate.violation,
        "refuted": is_refuted,
        "right_side_change": certificate.right_side_change,
        "reasons": list(certificate.reasons),
        "point": None
        if certificate.point is None
        else {variable.name(): value.tolist() for variable, value in certificate.point.items()},
        **conditions,
    }
