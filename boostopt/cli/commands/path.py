"""`boostopt path`: boost at many values of a parameter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

from boostopt._utils.formatting import format_count, format_interval
from boostopt._utils.json_values import to_json_text
from boostopt._utils.progress_display import LineRenderer, status_line
from boostopt.backends.isolation.standard_output import stdout_to_stderr
from boostopt.boosting.booster_names import resolve_formulation
from boostopt.boosting.boosting_problem import Problem
from boostopt.boosting.regularization_path import RegularizationPath, path
from boostopt.boosting.run.progress_line import progress_text
from boostopt.boosting.run.run import Run
from boostopt.boosting.run.trace import TraceRow
from boostopt.cli.application import command, console
from boostopt.cli.option_groups import FileOptions, RunOptions, SeededClassOptions, TableFormat
from boostopt.cli.option_parsing import parse_nu_values, parse_numbers, parse_setting_lists, total_multiplicity
from boostopt.cli.option_types import Accuracy, Data, FormulationName, Picture, SetValues
from boostopt.cli.run_output import (
    is_successful,
    run_headline,
    run_to_json,
    save_picture,
    validate_output_paths,
    validate_picture_path,
    was_interrupted,
)
from boostopt.comparison.rendering.console_tables import two_line_interval, widest_fitting
from boostopt.data.csv_tables import table_to_csv
from boostopt.errors import OptionError
from boostopt.programs.formulation import Formulation

CERTIFICATE_FIELDS = ("lower", "upper", "gap")
"""Columns of the certificate of a value, over the class or over the collected hypotheses."""

CSV_COLUMNS = ("reached", "rounds", "hypotheses", "active", "seconds", "reason")
"""The other columns of the CSV output."""


@dataclass(frozen=True, kw_only=True)
class PathParameters:
    """The parameters of a formulation, one of them with several values, as the user types them."""

    nu: Annotated[
        str | None, typer.Option(help="Values separated by commas: 0.1 is a fraction of the examples, 50 a number.")
    ] = None
    eta: Annotated[str | None, typer.Option(help="Values separated by commas; one parameter may have several.")] = None
    epsilon: Accuracy = None
    set: SetValues = None

    def parse_values(self, formulation: Formulation[Any], total: float, N: int) -> dict[str, Any]:
        """Return the parameters: a list of values for the parameter of the path, and a number for each other one.

        Parameters
        ----------
        formulation
            The formulation.
        total, N
            The sum of the multiplicities, and the number of examples.

        Raises
        ------
        OptionError
            A parameter is set twice, has no value or no number, or not exactly one parameter can be that of the path.
        """
        values: dict[str, list[float] | None] = {
            "nu": None if self.nu is None else parse_nu_values(self.nu, total, N, formulation),
            "eta": None if self.eta is None else parse_numbers(self.eta, "--eta"),
            "epsilon": None if self.epsilon is None else [self.epsilon],
        }
        return _path_parameters(values, parse_setting_lists(self.set or [], formulation))


@command("path")
def path_command(
    formulation: FormulationName,
    data: Data,
    *,
    files: FileOptions,
    parameters: PathParameters,
    hypotheses: SeededClassOptions,
    run_options: RunOptions,
    picture: Picture = None,
    output: TableFormat,
) -> int:
    """Boost at many values of a parameter; each run starts from the result of its neighbour and has a certificate.

    Limits apply to each run. Exit status 0: every run reached epsilon, as in `boostopt boost`; 1: some run did not;
    130: one Ctrl-C; the command printed the results so far.

    Example: boostopt path erlpboost --data breast_cancer --nu 0.1,0.2,0.4 --epsilon 0.1
    """
    with stdout_to_stderr():
        validate_output_paths(data, picture)
        validate_picture_path(picture, "path_of_runs")
        program_formulation, dataset = resolve_formulation(formulation), files.load_dataset(data)
        oracle, d0 = hypotheses.make_seeded_oracle(dataset)
        total = total_multiplicity(dataset, oracle.N)
        values = parameters.parse_values(program_formulation, total, oracle.N)
        path_name = next(name for name, value in values.items() if isinstance(value, list))
        n_values = len(values[path_name])
        first_values = {name: value[0] if isinstance(value, list) else value for name, value in values.items()}
        problem = run_options.problem(program_formulation, oracle, d0, first_values)
        with status_line(program_formulation.name) as show:
            line = None if show is None else _PathProgress(path_name, n_values, problem, show)
            boost_options = run_options.to_boost_options()
            result = path(
                program_formulation,
                oracle,
                **values,
                on_run=partial(_print_progress, path_name) if line is None else line.finish_value,
                d0=d0,
                backend=run_options.backend,
                update=run_options.update,
                options=boost_options if line is None else replace(boost_options, progress=line),
            )
    is_interrupted = len(result) < n_values or any(map(was_interrupted, result.runs))
    try:
        if picture is not None:
            from boostopt.pictures import path_of_runs

            save_picture(path_of_runs(result, names=dataset.features), picture)
            typer.echo(f"saved: {picture}", err=True)
    finally:
        _print_path(result, total, output)
    if is_interrupted:
        typer.echo(f"interrupted: {len(result)} of {n_values} values", err=True)
        return 130
    return 0 if all(map(is_successful, result.runs)) else 1


def _path_parameters(options: dict[str, list[float] | None], further: dict[str, list[float]]) -> dict[str, Any]:
    """Return the parameters: a list of values for the parameter of the path, and a number for each other one.

    Parameters
    ----------
    options, further
        The values of the parameters with an option, None if the option is missing; and of those that `--set` sets.

    Raises
    ------
    OptionError
        A parameter is set twice or has no value, or not exactly one parameter can be that of the path.
    """
    named = {name: values for name, values in options.items() if values is not None}
    for name, values in named.items():
        if name in further:
            raise OptionError(f"{name} is set twice, by --{name} and by --set; choose one.")
        if not values:
            raise OptionError(f"--{name} takes values separated by commas; got none.")
    lists = {**named, **further}
    if not lists.keys() - {"epsilon"}:
        raise OptionError(
            "a path goes along values of a parameter; got none. Pass --nu 0.1,0.2 or --eta 10,100 or --set C=1,2,4."
        )
    several = [name for name, values in lists.items() if len(values) > 1]
    if len(several) > 1:
        raise OptionError(
            f"a path goes along one parameter; got several values of {' and of '.join(several)}. Give several "
            "values to one of them only."
        )
    path_name = several[0] if several else next(name for name in lists if name != "epsilon")
    return {name: values if name == path_name else values[0] for name, values in lists.items()}


@dataclass
class _PathProgress:
    """The progress of a path in one line of a terminal: the number of the value, and the progress of the run.

    Attributes
    ----------
    parameter
        The name of the parameter.
    total
        The number of values.
    problem
        The problem of the first run.
    show
        Shows a line.
    done
        The number of finished runs.
    """

    parameter: str
    total: int
    problem: Problem
    show: Callable[[LineRenderer], None]
    done: int = 0

    def __call__(self, row: TraceRow) -> None:
        title = f"{self.parameter} {self.done + 1} of {self.total}"
        shows_program, value_name = self.problem.objective is None, self.problem.measure
        self.show(lambda width: progress_text(title, row, width, shows_program, value_name))

    def finish_value(self, value: float, run: Run) -> None:
        """Count a finished run; the table will contain its result."""
        self.done += 1


def _print_progress(name: str, value: float, run: Run) -> None:
    """Print a line about the run at a value."""
    rounds, n_weights = format_count(run.rounds, "round"), int(np.count_nonzero(run.w))
    hypotheses = format_count(n_weights, "hypothesis", "hypotheses")
    typer.echo(f"{name} = {value:g}: {rounds}, {hypotheses}, {run.reason}", err=True)


def _print_path(result: RegularizationPath, total: float, output: TableFormat) -> None:
    """Print the path in the requested format."""
    if output.json:
        runs = [{result.parameter: value, **run_to_json(run)} for value, run in result]
        typer.echo(to_json_text({"parameter": result.parameter, "runs": runs}))
    elif output.csv:
        typer.echo(_path_csv(result), nl=False)
    else:
        out = console()
        # The last columns are the least important ones.
        layouts = [_path_table(result, total, n_dropped) for n_dropped in range(4)] + [
            _path_table(result, total, 3, two_line_intervals=True)
        ]
        out.print(widest_fitting(out, out.options, layouts))


def _certificate_fields(run: Run) -> dict[str, Any]:
    """Return the certificate over the class, or over the collected hypotheses if there is no soft margin."""
    record = run_to_json(run)
    return {**(record["class"] or record["collected"]), **{name: record[name] for name in CSV_COLUMNS}}


def _path_csv(result: RegularizationPath) -> str:
    """Return the path as CSV, with a line for each value."""
    names = [result.parameter, *CERTIFICATE_FIELDS, *CSV_COLUMNS]
    records = [
        {result.parameter: value, **_certificate_fields(run), "seconds": seconds}
        for (value, run), seconds in zip(result, result.seconds.tolist(), strict=True)
    ]
    return table_to_csv(names, ([record.get(name, "") for name in names] for record in records))


def _path_table(
    result: RegularizationPath, total: float, n_dropped_columns: int, two_line_intervals: bool = False
) -> Table:
    """Return the path as a table for people, without the last `n_dropped_columns`, intervals on one or two lines."""
    has_objective, is_nu = result.runs[0].record.problem.objective is not None, result.parameter == "nu"
    measures = sorted({run.record.problem.measure for run in result.runs})
    class_heading = (f"best {' or '.join(measures)}", "of the class")
    heading = class_heading if has_objective else ("optimum over the", "hypotheses found")
    title = f"{run_headline(result.runs[0]).partition(',')[0]}, {result.runs[0].record.oracle}"
    table = Table(title=Text(title, "bold"), title_justify="default")
    for name in [result.parameter, *(["share"] if is_nu else [])]:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column(("\n" if two_line_intervals else " ").join(heading), no_wrap=True)
    table.add_column("gap", justify="right", no_wrap=True)
    table.add_column("reached", justify="center", no_wrap=True)
    last_columns = ("rounds", "hypotheses", "seconds")[: 3 - n_dropped_columns]
    for name in last_columns:
        table.add_column(name, justify="right", no_wrap=True)
    for (value, run), seconds in zip(result, result.seconds.tolist(), strict=True):
        record = _certificate_fields(run)
        verdict = Text("yes", "green") if record["reached"] else Text("no", "red")
        shares = [f"{value / total:.4g}"] if is_nu else []
        interval = format_interval(record["lower"], record["upper"])
        last_cells = (str(record["rounds"]), str(record["active"]), f"{seconds:.2f}")[: len(last_columns)]
        table.add_row(
            f"{value:g}",
            *shares,
            Text(two_line_interval(interval) if two_line_intervals else interval),
            f"{record['gap']:.1e}",
            verdict,
            *last_cells,
        )
    return table
