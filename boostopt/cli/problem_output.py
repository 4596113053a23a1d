"""Output of certificates of problems: a table of one, a line of each of several, and JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.table import Table
from rich.text import Text

from boostopt.cli.option_names import with_option_names
from boostopt.problem_certificates.problem_certificate import ProblemCertificate, cause_of
from boostopt.problem_certificates.problem_explanation import ProblemExplanation

OPTIONS = ("solver", "tolerance", "relaxation")
"""Options that notes advise."""


def problem_table(title: str, certificate: ProblemCertificate, is_refuted: bool, tol: float) -> Table:
    """Return the interval, the reported value, and the reasons for infinite bounds as a table."""
    table = Table(title=Text(title, "bold"), title_justify="default", show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    is_decided = certificate.is_decided
    table.add_row("problem" if is_decided else "optimum certified in", Text(certificate.words))
    table.add_row("status", certificate.status)
    if not is_decided:
        table.add_row("gap", f"{certificate.gap:.2e}  (scaled {certificate.scaled_gap:.2e})")
    if certificate.value is not None:
        refutation = f"the problem is {certificate.words}" if is_decided else f"off by {certificate.violation:.2e}"
        verdict = f"refuted: {refutation}" if is_refuted else f"within {tol:g} of the interval"
        table.add_row("reported value", f"{certificate.value:z.10g}")
        table.add_row("verdict", Text(verdict, style="red" if is_refuted else "green"))
    table.add_row("feasible point", "none is proved" if certificate.point is None else "proved")
    for reason in filter(None, (cause_of(certificate), *certificate.reasons)):
        table.add_row("note", Text(with_option_names(reason, OPTIONS)))
    if certificate.status == "bounded" and certificate.scaled_gap > tol and not certificate.reasons:
        table.add_row("note", "the answer is no better than this gap: pass --solver auto for a better one")
    return table


def problem_line(place: str, certificate: ProblemCertificate, is_refuted: bool) -> str:
    """Return the interval, its gap, and whether the reported value is refuted, as a line."""
    parts = [certificate.words]
    if not certificate.is_decided:
        parts += [certificate.status, f"scaled gap {certificate.scaled_gap:.2e}"]
    if certificate.value is not None:
        parts.append(f"reported value {certificate.value:z.10g} {'refuted' if is_refuted else 'not refuted'}")
    return f"{place}: {', '.join(parts)}"


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
        else {_name(variable): value.tolist() for variable, value in certificate.point.items()},
        **conditions,
    }


def _name(variable: Any) -> str:
    """Return the name of a variable; that of a conic program is a text."""
    return variable if isinstance(variable, str) else variable.name()
