"""Boosting algorithms as convex programs: solve them by any solver, certify every answer.

Results go to the standard output, progress and errors to the standard error. Exit status 0: some interval is as
narrow as asked, every check passed; 1: none is, some check failed; 2: bad input; 130: interrupted.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Generator, Iterable, Mapping
from importlib import import_module
from typing import Annotated, Any

import typer
from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.padding import Padding
from rich.text import Text

from boostopt.answers import load_answer
from boostopt.backends import get_backend, list_backends
from boostopt.backends.base import Backend, Capability
from boostopt.catalogue import get_formulation, list_formulations
from boostopt.checks import check_formulation
from boostopt.command_options import (
    DEFAULT_COLUMNS,
    DEFAULT_REPEATS,
    DEFAULT_TIME_LIMIT,
    DEFAULT_TOL,
    Columns,
    Data,
    Epsilon,
    Eta,
    FormulationName,
    Label,
    Nu,
    Positive,
    RandomState,
    Set,
    Tol,
    Weights,
    read_gaps,
    read_names,
    read_program,
    read_setting,
)
from boostopt.comparison.benchmark_tables import BenchmarkTable
from boostopt.comparison.benchmarking import benchmark
from boostopt.comparison.benchmarks import Benchmark
from boostopt.comparison.comparing import Comparison, compare
from boostopt.comparison.records import certificate_json
from boostopt.comparison.rows import Row
from boostopt.comparison.scores import Run
from boostopt.comparison.tables import ComparisonTable, certificate_table, support_table
from boostopt.datasets import load_dataset
from boostopt.errors import BoostoptError, OptionError
from boostopt.formulation import Formulation
from boostopt.quiet import stdout_to_stderr
from boostopt.solving import check_limits

PIPE_WIDTH = 160
"""Columns of a table where the output is not a terminal."""

app = typer.Typer(
    add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, help=__doc__, rich_markup_mode=None
)


def _print_version(asked: bool) -> bool:
    """Print the version and exit, if asked to; what is returned becomes the option's value."""
    if asked:
        typer.echo(f"boostopt {import_module('boostopt').__version__}")
        raise typer.Exit
    return asked


@app.callback()
def options_of_all_commands(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Take the options that stand before any command."""


@app.command("compare")
def compare_command(
    formulation: FormulationName,
    data: Data,
    label: Label = "label",
    positive: Positive = None,
    weights: Weights = None,
    nu: Nu = None,
    eta: Eta = None,
    epsilon: Epsilon = None,
    set: Set = None,
    columns: Columns = DEFAULT_COLUMNS,
    random_state: RandomState = 0,
    backends: Annotated[str | None, typer.Option(help="Names with commas between; all installed if left out.")] = None,
    tol: Tol = DEFAULT_TOL,
    time_limit: Annotated[float, typer.Option(help="Seconds for each solve.")] = DEFAULT_TIME_LIMIT,
    forms: Annotated[
        str | None, typer.Option(help="Forms to pin CVXPY's solvers to: primal,density-rated,dual-rated,ladder,...")
    ] = None,
    isolate: Annotated[bool, typer.Option("--isolate", help="Run solvers in a child process that may die.")] = False,
    repeats: Annotated[int | None, typer.Option(help="Measured solves of each; prints medians and quartiles.")] = None,
    profiles: Annotated[
        str | None, typer.Option(help="Gaps to reach, each in a solve of its own, with commas between, or all.")
    ] = None,
    resume: Annotated[str | None, typer.Option(help="File that keeps finished solves; go on from it.")] = None,
    budget: Annotated[float | None, typer.Option(help="Seconds after which no solve is begun.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
) -> None:
    """Solve one program by several solvers and hold their certified answers against each other.

    With --repeats, --profiles, --resume or --budget it is a benchmark: shuffled repeats, medians, all tolerances.

    Example: boostopt compare erlpboost --data breast_cancer --nu 0.1 --eta 1000 --backends cvxpy:clarabel,cvxpy:scs
    """
    with _errors():
        if json and csv:
            raise OptionError("--json and --csv exclude each other; choose one.")
        with stdout_to_stderr():
            page, dataset = get_formulation(formulation), load_dataset(data, label, positive, weights)
            _warn_of_unread(data, dataset.unread)
            program = read_program(page, dataset, nu, eta, epsilon, set, columns, random_state)
            names, pinned, err = read_names(backends), read_names(forms), Console(stderr=True)
            if (repeats, profiles, resume, budget) == (None, None, None, None):
                result = compare(program, names, tol, time_limit, _progress(err), pinned, isolate)
            else:
                result = benchmark(
                    program,
                    names,
                    read_gaps(profiles, tol),
                    DEFAULT_REPEATS if repeats is None else repeats,
                    time_limit,
                    pinned,
                    isolate,
                    resume,
                    budget,
                    random_state,
                    _benchmark_progress(err),
                )
        if json:
            typer.echo(result.to_json())
        elif csv:
            typer.echo(result.to_csv(), nl=False)
        else:
            _out().print(_table(result))
    raise typer.Exit(0 if result.reached and result.overlap else 1)


@app.command("certify")
def certify_command(
    formulation: FormulationName,
    answer: Annotated[str, typer.Argument(help="File with d, w or both: .npz, or .csv with columns d and w.")],
    data: Data,
    label: Label = "label",
    positive: Positive = None,
    weights: Weights = None,
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
        page, dataset = get_formulation(formulation), load_dataset(data, label, positive, weights)
        given = load_answer(answer)
        both = os.path.exists(data) and os.path.samefile(data, answer)
        # One file may hold the data and the answer: then unread is what neither reads.
        _warn_of_unread(data, [name for name in dataset.unread if not both or name in given.unread])
        _warn_of_unread(answer, [] if both else given.unread)
        program = read_program(page, dataset, nu, eta, epsilon, set, columns, random_state)
        certificate = program.certify(given.d, given.w)
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
            report = check_formulation(page, random_state, **dict(read_setting(text, page) for text in set or []))
        typer.echo(str(report))
    raise typer.Exit(0 if report.passed else 1)


@app.command("list")
def list_command() -> None:
    """List the formulations, and which backend can take which."""
    with _errors():
        pages = [get_formulation(name) for name in list_formulations()]
        backends = [get_backend(name) for name in list_backends()]
        programs = {page.name: page.smallest() for page in pages}
        support = {name: {b.name: b.takes(program) for b in backends} for name, program in programs.items()}
        out, table = _out(), support_table(pages, support, backends)
        fits = Measurement.get(out, out.options.update(max_width=PIPE_WIDTH), table).maximum <= out.width
        out.print(table if fits else _support_lines(pages, support, backends))


def _support_lines(
    pages: list[Formulation[Any]], support: Mapping[str, Mapping[str, Capability]], backends: list[Backend]
) -> RenderableType:
    """Return what the table of formulations against backends says, for a terminal that is too narrow for it."""
    lines: list[RenderableType] = [Text(f"Backends: {', '.join(f'{b.name} {b.version}' for b in backends)}"), Text()]
    for page in pages:
        able = [name for name, capability in support[page.name].items() if capability]
        names = ", ".join(name if known.required else f"[{name}]" for name, known in page.parameters.items())
        lines.append(Text(page.name, "bold"))
        lines += [Padding(Text(f"parameters {names}"), (0, 0, 0, 4), expand=False)] if names else []
        lines.append(Padding(Text(f"solved by {', '.join(able) or 'none installed'}"), (0, 0, 0, 4), expand=False))
    reasons = dict.fromkeys(able.reason for row in support.values() for able in row.values() if not able)
    return Group(*lines, Text(), *(Text(f"{reason}.") for reason in reasons))


def _warn_of_unread(source: str, names: Iterable[str]) -> None:
    """Say which arrays of a file nothing reads: one may be misspelt."""
    named = ", ".join(names)
    if named:
        typer.echo(f"warning: {source} holds arrays that are not read: {named}.", err=True)


def _progress(console: Console) -> Any:
    """Say on the standard error what is running and what came of it."""

    def report(backend: str, row: Row | None) -> None:
        if row is None:
            said = f"{backend} ..."
        elif row.solution is None:
            said = f"{backend}: not run, {row.reason}"
        else:
            s = row.solution
            said = f"{backend}: {s.verdict.name.lower()}, gap {s.certificate.gap:.1e}, {s.times['total']:.2f} s"
        console.print(said, highlight=False, markup=False)

    return report


def _benchmark_progress(console: Console) -> Any:
    """Say on the standard error how many solves are done and what came of the last one."""

    def report(done: int, total: int, run: Run) -> None:
        came = f"reached in {run.seconds:.2f} s" if run.result == "reached" else f"{run.result}, {run.reason}"
        console.print(f"[{done}/{total}] {run.backend} to {run.tol:g}: {came}", highlight=False, markup=False)

    return report


def _table(result: Comparison | Benchmark) -> RenderableType:
    return BenchmarkTable(result) if isinstance(result, Benchmark) else ComparisonTable(result)


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
