"""`boostopt certify-problem`: certify the optimum of a CVXPY problem of the user."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

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
from boostopt.cli.problem_output import document, problem_line, problem_table
from boostopt.cli.run_output import JSON_FORMAT, validate_output_paths, validate_suffix
from boostopt.conic_programs.conic_program import ConicProgram
from boostopt.conic_programs.exact.exact_optimum import exact_optimum
from boostopt.conic_programs.readers.load_problem import ENDINGS, load_problem
from boostopt.errors import (
    BoostoptError,
    OptionError,
    ProblemError,
    format_names_truncated,
    reason_of,
    reason_on_one_line,
    short_repr,
)
from boostopt.problem_certificates.kkt_residuals import measure_conditions
from boostopt.problem_certificates.leaf_values import has_usable_value
from boostopt.problem_certificates.problem_certificate import ProblemCertificate, cause_of, certify_problem
from boostopt.problem_certificates.problem_explanation import DEFAULT_TOLERANCE, ProblemExplanation, explain_program
from boostopt.verification.linear_files.linear_writer import fraction_text

ProblemNames = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE:NAME...",
        help="Python file, and in it a cvxpy.Problem or a function that returns one; or an MPS, QPS, CBF, SDPA or "
        "MATLAB file of a program; one or several.",
    ),
]

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
    problem: ProblemNames,
    *,
    tol: RefutationTol = 1e-6,
    reading: ReadingOptions,
    save: Annotated[
        str | None,
        typer.Option(
            help="JSON file for the problem and its certificate, to be checked by `verify`; for several problems, a "
            "folder for their files."
        ),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Print the KKT conditions, line by line.")] = False,
    exactness: ExactOptions,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Certify the optimum of a CVXPY problem, and compare the reported value with the interval.

    Of several problems, each has a line. The status is 1 if a reported value is refuted.

    Examples: boostopt certify-problem model.py:problem --solver auto, boostopt certify-problem afiro.mps --exact
    """
    tol = check_tolerance("tol", tol)
    paths = _output_paths(problem, save)
    if _is_exact(problem, exactness, has_further_options=explain or reading != ReadingOptions()):
        return _certify_exactly(problem, exactness.decimal, paths, json)
    if len(problem) > 1:
        if explain:
            raise OptionError(
                f"--explain takes one problem; got {len(problem)}. Explain each by itself, or leave out --explain."
            )
        return _certify_each(problem, reading, tol, paths, json)
    place = problem[0]
    target = _target(place, reading)
    certificate = certify_problem(target, **asdict(reading))
    explanation = _explanation(target, certificate) if explain else None
    is_refuted = certificate.violation > tol
    if json:
        typer.echo(to_json_text(document(certificate, is_refuted, explanation)))
    else:
        console().print(problem_table(place, certificate, is_refuted, tol))
        if explanation is not None:
            typer.echo(str(explanation))
        elif explain:
            cause = cause_of(certificate)
            typer.echo(
                f"There are no KKT conditions to measure: the problem is {certificate.words}"
                f"{f' ({cause})' if cause else ''}."
            )
    if save is not None:  # last: the result is printed whether a file can be written or not
        certificate.save(save, {"problem": place})
    return 1 if is_refuted else 0


def _is_exact(places: list[str], exactness: ExactOptions, has_further_options: bool) -> bool:
    """Return whether exact optima are asked for.

    Parameters
    ----------
    places
        The problems.
    exactness
        The options of exact optima.
    has_further_options
        Whether there are options that exact optima do not have.

    Raises
    ------
    OptionError
        The options, or an option and a problem, exclude each other.
    """
    if not exactness.exact:
        if exactness.decimal:
            raise OptionError("--decimal is for exact optima: pass --exact too, or leave it out.")
        return False
    if has_further_options:
        raise OptionError(
            "--exact takes --decimal, --save and --json only; got --solver, --tolerance, --relaxation or --explain. "
            "Leave it out, or leave out --exact."
        )
    for place in places:
        if file_suffix(Path(place)) not in ENDINGS:
            raise OptionError(
                f"--exact needs a file of a linear or quadratic program, ending in {', '.join(ENDINGS)}; got "
                f"{place!r}. Pass such a file, or leave out --exact."
            )
    return True


def _output_paths(places: list[str], save: str | None) -> list[str | None]:
    """Return the file of each certificate; for several problems, in the folder `save`.

    Raises
    ------
    DataError
        A file could not be written.
    OptionError
        `save` is no folder, or no JSON file of one problem; or several problems, or results, have one name.
    """
    files = [place.rpartition(":")[0] if is_place_in_file(place) else place for place in places]
    if len(set(places)) < len(places):
        raise OptionError(f"expected problems, each once; got {', '.join(places)}. Name each of them once.")
    paths: list[str | None] = [save] * len(places)
    if len(places) == 1:
        validate_suffix("--save", save, JSON_FORMAT)
    elif save is not None:
        if not Path(save).is_dir():
            raise OptionError(
                f"--save must be a folder where several problems are certified; got {save!r}, which is none. Make the "
                "folder, or certify each problem by itself."
            )
        names = [_result_name(place) for place in places]
        if len(set(names)) < len(names):
            raise OptionError(
                f"--save needs problems whose files differ by more than folder and ending; got {', '.join(places)}. "
                "Certify those of one name by themselves."
            )
        paths = [str(Path(save, name)) for name in names]
    validate_output_paths(None, *paths, read=files)
    return paths


def _result_name(place: str) -> str:
    """Return the name of the file of a certificate, such as model_problem.json for model.py:problem."""
    path, _, name = place.rpartition(":") if is_place_in_file(place) else (place, "", "")
    return f"{Path(path).name.partition('.')[0]}{'_' if name else ''}{name}.json"


def _target(place: str, reading: ReadingOptions) -> Any:
    """Return the program of a file, whose cone data are certified directly, or a CVXPY problem.

    Options that a program does not have need a CVXPY problem.
    """
    is_direct = reading.tolerance == 0 and reading.solver in (None, "auto", "CLARABEL")
    return load_problem(place) if is_direct and file_suffix(Path(place)) in ENDINGS else resolve_problem(place)


def _explanation(target: Any, certificate: ProblemCertificate) -> ProblemExplanation | None:
    """Return the KKT conditions; None for a program, or a problem without values, that is proved to have no optimum."""
    if isinstance(target, ConicProgram):
        return None if certificate.is_decided else explain_program(target, certificate, DEFAULT_TOLERANCE)
    if certificate.is_decided and not all(map(has_usable_value, target.variables())):
        return None
    conditions = measure_conditions(certificate, DEFAULT_TOLERANCE)
    return ProblemExplanation(conditions, certificate, DEFAULT_TOLERANCE, cause_of(certificate))


def _certify_each(places: list[str], reading: ReadingOptions, tol: float, paths: list[str | None], json: bool) -> int:
    """Print a line for each problem, save the certificates, and return the exit status.

    All files are read before the first problem is certified.

    Raises
    ------
    ProblemError
        A problem is refused; the message has its place.
    """
    targets = [_target(place, reading) for place in places]
    documents, has_refutation = list[dict[str, Any]](), False
    for place, target, path in zip(places, targets, paths, strict=True):
        try:
            certificate = certify_problem(target, **asdict(reading))
        except ProblemError as refusal:
            raise ProblemError(f"{place}: {refusal}") from refusal
        is_refuted = certificate.violation > tol
        has_refutation |= is_refuted
        if json:
            documents.append({"problem": place, **document(certificate, is_refuted)})
        else:
            typer.echo(problem_line(place, certificate, is_refuted))
        if path is not None:
            certificate.save(path, {"problem": place})
    if json:
        typer.echo(to_json_text({"problems": documents}))
    return 1 if has_refutation else 0


def _certify_exactly(places: list[str], decimal: bool, paths: list[str | None], json: bool) -> int:
    """Print the exact optima of linear or quadratic programs in files, save their certificates, return the exit status.

    Raises
    ------
    ProblemError
        A program is not convex; the message has its file.
    """
    programs, documents = [load_problem(place) for place in places], list[dict[str, Any]]()
    for place, program, path in zip(places, programs, paths, strict=True):
        try:
            optimum = exact_optimum(program, "decimal" if decimal else "binary")
        except ProblemError as refusal:
            raise ProblemError(f"{place}: {refusal}") from refusal
        value = None if optimum.value is None else fraction_text(optimum.value)
        documents.append({"status": optimum.status, "value": value, "sentence": optimum.in_words()})
        if len(places) > 1:
            documents[-1] = {"problem": place, **documents[-1]}
        if not json:
            typer.echo(f"{place}: {optimum.in_words()}" if len(places) > 1 else optimum.in_words())
        elif len(places) == 1:
            typer.echo(to_json_text(documents[0]))
        if path is not None:  # last: the result is printed whether a file can be written or not
            optimum.save(path, {"problem": place})
    if json and len(places) > 1:
        typer.echo(to_json_text({"problems": documents}))
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
