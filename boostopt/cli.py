"""Boosting algorithms as convex programs: solve them by any solver, certify every answer.

Results go to the standard output, progress and errors to the standard error. Exit status 0: some interval is as
narrow as asked, every check passed; 1: none is, some check failed; 2: bad input; 130: interrupted.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Generator
from typing import Annotated, Any

import typer
from rich.console import Console

from boostopt.backends import get_backend, list_backends
from boostopt.catalogue import get_formulation, list_formulations
from boostopt.checks import check_formulation
from boostopt.comparison.comparing import Row, certificate_json, compare
from boostopt.comparison.tables import ComparisonTable, certificate_table, support_table
from boostopt.datasets import load_answer, load_dataset
from boostopt.errors import BoostoptError, OptionError, unknown_name
from boostopt.formulation import Formulation
from boostopt.program import Program
from boostopt.quiet import stdout_to_stderr
from boostopt.solving import check_limits

DEFAULT_COLUMNS = 100
DEFAULT_TIME_LIMIT = 60.0
PIPE_WIDTH = 160
"""Columns of a table where the output is not a terminal."""

FLAGS = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
"""Words that set a flag."""

app = typer.Typer(
    add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, help=__doc__, rich_markup_mode=None
)

FormulationName = Annotated[str, typer.Argument(help="Name (see `boostopt list`) or path of a page.")]
Data = Annotated[
    str,
    typer.Option(help="breast_cancer, or a file: svmlight (.gz, .bz2, .xz too), .csv, .npz with X and y or with U."),
]
Label = Annotated[str, typer.Option(help="Column of a CSV file that holds the class.")]
Positive = Annotated[str | None, typer.Option(help="Class that counts as 1 against all others.")]
Nu = Annotated[str | None, typer.Option(help="0.1 is a fraction of the examples, 50 a number of examples.")]
Eta = Annotated[float | None, typer.Option(help="Inverse strength of the entropy; canonical for epsilon if left out.")]
Epsilon = Annotated[float | None, typer.Option(help="Accuracy of the soft margin that eta is chosen for.")]
Set = Annotated[list[str] | None, typer.Option(help="A further parameter of the formulation, as name=value.")]
Columns = Annotated[int, typer.Option(help="Decision stumps drawn (with their negations) as hypotheses.")]
RandomState = Annotated[int, typer.Option(help="Seed of that draw.")]
Tol = Annotated[float, typer.Option(help="Gap wanted, over max(1, |lower|, |upper|).")]


@app.command("compare")
def compare_command(
    formulation: FormulationName,
    data: Data,
    label: Label = "label",
    positive: Positive = None,
    nu: Nu = None,
    eta: Eta = None,
    epsilon: Epsilon = None,
    set: Set = None,
    columns: Columns = DEFAULT_COLUMNS,
    random_state: RandomState = 0,
    backends: Annotated[str | None, typer.Option(help="Names with commas between; all installed if left out.")] = None,
    tol: Tol = 1e-8,
    time_limit: Annotated[float, typer.Option(help="Seconds for each backend.")] = DEFAULT_TIME_LIMIT,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
) -> None:
    """Solve one program by several solvers and hold their certified answers against each other.

    Example: boostopt compare erlpboost --data breast_cancer --nu 0.1 --eta 1000 --backends cvxpy:clarabel,cvxpy:scs
    """
    with _errors():
        if json and csv:
            raise OptionError("--json and --csv exclude each other; choose one.")
        with stdout_to_stderr():
            program = _program(formulation, data, label, positive, nu, eta, epsilon, set, columns, random_state)
            names = None if backends is None else [name.strip() for name in backends.split(",") if name.strip()]
            result = compare(program, names, tol, time_limit, _progress(Console(stderr=True)))
        if json:
            typer.echo(result.to_json())
        elif csv:
            typer.echo(result.to_csv(), nl=False)
        else:
            _out().print(ComparisonTable(result))
    raise typer.Exit(0 if result.reached and result.overlap else 1)


@app.command("certify")
def certify_command(
    formulation: FormulationName,
    answer: Annotated[str, typer.Argument(help="File with d, w or both: .npz, or .csv with columns d and w.")],
    data: Data,
    label: Label = "label",
    positive: Positive = None,
    nu: Nu = None,
    eta: Eta = None,
    epsilon: Epsilon = None,
    set: Set = None,
    columns: Columns = DEFAULT_COLUMNS,
    random_state: RandomState = 0,
    tol: Tol = 1e-8,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Certify an answer that was computed elsewhere.

    Example: boostopt certify lpboost answer.npz --data instance.npz --nu 0.1
    """
    with _errors():
        check_limits(tol)
        program = _program(formulation, data, label, positive, nu, eta, epsilon, set, columns, random_state)
        certificate = program.certify(**load_answer(answer))
        if json:
            typer.echo(certificate_json(program, certificate, tol))
        else:
            _out().print(certificate_table(program, certificate, tol))
    raise typer.Exit(0 if certificate.scaled_gap <= tol else 1)


@app.command("check")
def check_command(
    formulation: FormulationName,
    set: Set = None,
    random_state: Annotated[int, typer.Option(help="Seed of the instances.")] = 0,
) -> None:
    """Check a page on small random instances: F, G and the problems as printed; what fails is named, with numbers.

    Example: boostopt check my_page.py --set eta=10
    """
    with _errors():
        with stdout_to_stderr():
            page = get_formulation(formulation)
            report = check_formulation(page, random_state, **dict(_setting(text, page) for text in set or []))
        typer.echo(str(report))
    raise typer.Exit(0 if report.passed else 1)


@app.command("list")
def list_command() -> None:
    """List the formulations, and which backend can take which."""
    with _errors():
        pages = [get_formulation(name) for name in list_formulations()]
        backends = [get_backend(name) for name in list_backends()]
        cones = {page.name: page.smallest().cones for page in pages}
        support = {name: {b.name: b.takes(needs) for b in backends} for name, needs in cones.items()}
        _out().print(support_table(pages, support, backends))


def _program(
    formulation: str,
    data: str,
    label: str,
    positive: str | None,
    nu: str | None,
    eta: float | None,
    epsilon: float | None,
    settings: list[str] | None,
    columns: int,
    random_state: int,
) -> Program:
    """Load the data, draw the columns and bind the formulation."""
    page = get_formulation(formulation)
    dataset = load_dataset(data, label, positive)
    U = dataset.margin_matrix(columns, random_state)
    count = float(U.shape[0]) if dataset.c is None else float(dataset.c.sum(dtype=float))
    settings_read = [_setting(text, page) for text in settings or []]
    further = dict(settings_read)
    if len(further) < len(settings_read):
        raise OptionError(f"--set names a parameter twice: {', '.join(settings or [])}.")
    parameters: dict[str, Any] = {"nu": None if nu is None else _count(nu, count), "eta": eta, "epsilon": epsilon}
    for name in further:
        if parameters.get(name) is not None:
            raise OptionError(f"{name} is given twice, by --{name} and by --set; choose one.")
    return page.bind(U, c=dataset.c, d0=dataset.d0, **parameters | further)


def _count(text: str, total: float) -> float:
    """Read nu: with a decimal point it is a fraction in (0, 1] of the examples, without one a number of them."""
    try:
        value = float(text)
    except ValueError:
        raise OptionError(f"--nu must be a number; got {text!r}.") from None
    if "." not in text and value.is_integer():
        return value
    if not 0.0 < value <= 1.0:
        raise OptionError(
            f"--nu with a decimal point is a fraction of the examples in (0, 1]; got {text}. "
            "Leave the point out to give their number; a number that is not whole is given by --set nu=..."
        )
    return value * total


def _setting(text: str, page: Formulation[Any]) -> tuple[str, float]:
    """Read name=value, for a parameter of the formulation: c and d0 are not, they come with the data."""
    name, _, value = text.partition("=")
    if name.strip() not in page.parameters:
        raise unknown_name(f"parameter of {page.name}", name.strip(), page.parameters)
    try:
        word = value.strip().lower()
        return name.strip(), FLAGS[word] if word in FLAGS else float(value)
    except ValueError:
        raise OptionError(f"--set takes name=value with a number, true or false; got {text!r}.") from None


def _progress(console: Console) -> Any:
    """Say on the standard error what is running and what came of it."""

    def report(backend: str, row: Row | None) -> None:
        if row is None:
            said = f"{backend} ..."
        elif row.solution is None:
            said = f"{backend}: unable, {row.reason}"
        else:
            s = row.solution
            said = f"{backend}: {s.verdict.name.lower()}, gap {s.certificate.gap:.1e}, {s.times['total']:.2f} s"
        console.print(said, highlight=False, markup=False)

    return report


def _out() -> Console:
    """The standard output; wide where it is not a terminal, so that a table in a file is whole."""
    terminal = sys.stdout is not None and sys.stdout.isatty()
    return Console(highlight=False, width=None if terminal else PIPE_WIDTH)


@contextlib.contextmanager
def _errors() -> Generator[None]:
    """Turn bad input into a message on the standard error and exit status 2."""
    try:
        yield
    except BoostoptError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        raise typer.Exit(130) from None
    except BrokenPipeError:
        raise
    except OSError as error:
        typer.echo(f"error: the output cannot be written: {error}.", err=True)
        raise typer.Exit(2) from None


def main() -> None:
    """Run the command line."""
    app()
