"""`boostopt certify-problem`: certify the optimum of a CVXPY problem of the user."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from boostopt._utils.cvxpy_tools import cp
from boostopt._utils.files import file_suffix
from boostopt._utils.json_values import to_json_text
from boostopt._utils.user_modules import (
    is_place_in_file,
    load_object,
    load_user_module,
    locate_exception_in_user_file,
)
from boostopt._utils.validation import check_tolerance
from boostopt.cli.application import command, console
from boostopt.cli.option_names import with_option_names
from boostopt.cli.run_output import JSON_FORMAT, validate_output_paths, validate_suffix
from boostopt.conic_programs.exact.exact_optimum import exact_optimum
from boostopt.conic_programs.readers.load_problem import ENDINGS, load_problem
from boostopt.errors import (
    BoostoptError,
    OptionError,
    format_names_truncated,
    reason_of,
    reason_on_one_line,
    short_repr,
)
from boostopt.problem_certificates.kkt_residuals import measure_conditions
from boostopt.problem_certificates.leaf_values import has_usable_value
from boostopt.problem_certificates.problem_certificate import ProblemCertificate, certify_problem
from boostopt.problem_certificates.problem_explanation import DEFAULT_TOLERANCE, ProblemExplanation, explain_program
from boostopt.verification.linear_files.linear_writer import fraction_text

ProblemName = Annotated[
    str,
    typer.Argument(
        metavar="FILE:NAME",
        help="Python file, and in it a cvxpy.Problem or a function that returns one; or an MPS, QPS, CBF, SDPA or "
        "MATLAB file of a program.",
    ),
]
OPTIONS = ("solver", "tolerance", "relaxation")
"""Options that notes advise."""

MAX_REASON_LENGTH = 200
"""Number of characters of the message of an exception of the user's file."""

RefutationTol = Annotated[
    float,
    typer.Option(help="Distance from the interval, over max(1, |value|), from which the reported value is refuted."),
]


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """The options by which a problem is solved and read: see `certify_problem`."""

    solver: Annotated[
        str | None,
        typer.Option(help='Solver of CVXPY for a problem without values, or to narrow the interval; or "auto".'),
    ] = None
    tolerance: Annotated[float, typer.Option(help="By how much right sides may change.")] = 0.0
    relaxation: Annotated[bool, typer.Option("--relaxation", help="Read integer variables as continuous ones.")] = False


@dataclass(frozen=True, kw_only=True)
class ExactOptions:
    """The options of exact optima."""

    exact: Annotated[
        bool,
        typer.Option("--exact", help="The optimum of a linear or convex quadratic program in a file, as a fraction."),
    ] = False
    decimal: Annotated[
        bool, typer.Option("--decimal", help="With --exact: numbers mean the decimals of the file, not their floats.")
    ] = False


@command("certify-problem")
def certify_problem_command(
    problem: ProblemName,
    *,
    tol: RefutationTol = 1e-6,
    reading: ReadingOptions,
    save: Annotated[
        str | None, typer.Option(help="JSON file for the problem and its certificate, to be checked by `verify`.")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Print the KKT conditions, line by line.")] = False,
    exactness: ExactOptions,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Certify the optimum of a CVXPY problem, and compare the reported value with the interval.

    Examples: boostopt certify-problem model.py:problem --solver auto, boostopt certify-problem afiro.mps --exact
    """
    tol = check_tolerance("tol", tol)
    validate_output_paths(None, save, read=[problem.rpartition(":")[0] or None])
    validate_suffix("--save", save, JSON_FORMAT)
    if exactness.decimal and not exactness.exact:
        raise OptionError("--decimal is for exact optima: pass --exact too, or leave it out.")
    if exactness.exact:
        if reading != ReadingOptions() or explain:
            raise OptionError(
                "--exact takes --decimal, --save and --json only; got --solver, --tolerance, --relaxation or "
                "--explain. Leave it out, or leave out --exact."
            )
        return _certify_exactly(problem, exactness.decimal, save, json)
    is_program = file_suffix(Path(problem)) in ENDINGS
    # The cone data of a file are certified directly; options that a program does not have need a CVXPY problem.
    is_direct = is_program and reading.tolerance == 0 and reading.solver in (None, "auto", "CLARABEL")
    target: Any = load_problem(problem) if is_direct else resolve_problem(problem)
    certificate = certify_problem(target, **asdict(reading))
    explanation = None
    if explain and is_direct and not certificate.is_decided:
        explanation = explain_program(target, certificate, DEFAULT_TOLERANCE)
    elif (
        explain
        and not is_direct
        and not (certificate.is_decided and not all(map(has_usable_value, target.variables())))
    ):
        explanation = ProblemExplanation(
            measure_conditions(certificate, DEFAULT_TOLERANCE), certificate, DEFAULT_TOLERANCE
        )
    is_refuted = certificate.violation > tol
    if json:
        typer.echo(to_json_text(document(certificate, is_refuted, explanation)))
    else:
        console().print(problem_table(problem, certificate, is_refuted, tol))
        if explanation is not None:
            typer.echo(str(explanation))
        elif explain:
            typer.echo(f"There are no KKT conditions to measure: the problem is {certificate.words}.")
    if save is not None:  # last: the result is printed whether a file can be written or not
        certificate.save(save, {"problem": problem})
    return 1 if is_refuted else 0


def _certify_exactly(place: str, decimal: bool, save: str | None, json: bool) -> int:
    """Print the exact optimum of a linear or quadratic program in a file, save its certificate, return the exit status.

    Raises
    ------
    OptionError
        The place is no file of a program.
    """
    if file_suffix(Path(place)) not in ENDINGS:
        raise OptionError(
            f"--exact needs a file of a linear or quadratic program, ending in {', '.join(ENDINGS)}; got {place!r}. "
            "Pass such a file, or leave out --exact."
        )
    optimum = exact_optimum(load_problem(place), "decimal" if decimal else "binary")
    if json:
        value = None if optimum.value is None else fraction_text(optimum.value)
        typer.echo(to_json_text({"status": optimum.status, "value": value, "sentence": optimum.in_words()}))
    else:
        typer.echo(optimum.in_words())
    if save is not None:  # last: the result is printed whether a file can be written or not
        optimum.save(save, {"problem": place})
    return 0


def is_problem_place(place: str) -> bool:
    """Return whether a text names a CVXPY problem in a Python file, or a file of a program."""
    return is_place_in_file(place) or file_suffix(Path(place)) in ENDINGS


def resolve_problem(place: str) -> Any:
    """Return the program of a file as a CVXPY problem, or the object with a name in a Python file.

    For a function, this is the result of a call.

    Raises
    ------
    OptionError
        There is no such file or name.
    DataError
        A file of a program is not as its format states.
    """
    if file_suffix(Path(place)) in ENDINGS:
        return load_problem(place).to_cvxpy()
    if ":" not in place:
        raise OptionError(
            f"expected FILE:NAME, or a file of a program ending in {', '.join(ENDINGS)}; got {place!r}. Pass one of "
            "them, such as model.py:problem."
        )
    value = load_object(place, "a CVXPY problem")
    module = load_user_module(place.rpartition(":")[0], "a CVXPY problem")
    return _problem_from(value, place, vars(module))


def _problem_from(value: Any, place: str, names: Mapping[str, Any]) -> Any:
    """Return a problem, or the one that a function without arguments returns.

    Raises
    ------
    OptionError
        The value is nothing of this kind, or the function raises an error.
    """
    if callable(value):
        try:
            inspect.signature(value).bind()
        except TypeError as failure:
            raise OptionError(
                f"expected a function that needs no arguments at {place}; got one that is {reason_of(failure)}. Write "
                "another function that calls it, and pass the name of that."
            ) from None
        try:
            value = value()
        except BoostoptError:
            raise
        except Exception as failure:
            location = locate_exception_in_user_file(failure) or "outside the file"
            reason = reason_on_one_line(failure, MAX_REASON_LENGTH)
            raise OptionError(
                f"expected a function that returns a cvxpy.Problem at {place}; it raised {type(failure).__name__}: "
                f"{reason} ({location}). Correct the function."
            ) from failure
    if not isinstance(value, cp.Problem):
        problems = [name for name, item in names.items() if isinstance(item, cp.Problem)]
        advice = f"Pass one of its problems: {format_names_truncated(problems)}." if problems else "Pass another name."
        raise OptionError(
            f"expected a cvxpy.Problem, or a function that returns one, at {place}; got {short_repr(value)}. {advice}"
        )
    return value


def problem_table(title: str, certificate: ProblemCertificate, is_refuted: bool, tol: float) -> Table:
    """Return the interval, the reported value, and the reasons for infinite bounds as a table."""
    table = Table(title=Text(title, "bold"), title_justify="default", show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    is_decided = certificate.is_decided
    table.add_row("problem" if is_decided else "optimum certified in", Text(certificate.words))
    table.add_row("status", certificate.status)
    if not is_decided:
        table.add_row("gap", f"{certificate.gap:.2e}  (relative {certificate.scaled_gap:.2e})")
    if certificate.value is not None:
        refutation = f"the problem is {certificate.words}" if is_decided else f"off by {certificate.violation:.2e}"
        verdict = f"refuted: {refutation}" if is_refuted else f"within {tol:g} of the interval"
        table.add_row("reported value", f"{certificate.value:.10g}")
        table.add_row("verdict", Text(verdict, style="red" if is_refuted else "green"))
    table.add_row("feasible point", "none is proved" if certificate.point is None else "proved")
    for reason in certificate.reasons:
        table.add_row("note", Text(with_option_names(reason, OPTIONS)))
    if certificate.status == "bounded" and certificate.scaled_gap > tol:
        table.add_row("note", "the answer is no better than this gap: pass --solver auto for a better one")
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
        else {_name(variable): value.tolist() for variable, value in certificate.point.items()},
        **conditions,
    }


def _name(variable: Any) -> str:
    """Return the name of a variable; that of a conic program is a text."""
    return variable if isinstance(variable, str) else variable.name()
