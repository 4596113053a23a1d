"""`boostopt compare`: solve programs by several solvers, and compare the certified answers."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from boostopt.backends.isolation.standard_output import stdout_to_stderr
from boostopt.cli.application import command, console, print_error
from boostopt.cli.commands.certify_problem import is_problem_place, resolve_problem
from boostopt.cli.formulation_dataset_pairs import (
    ALL_FORMULATIONS,
    named_formulations,
    programs_of_data,
    programs_of_folder,
    split_unless_file,
)
from boostopt.cli.option_groups import BindingOptions, FileOptions, ParameterOptions, TableFormat
from boostopt.cli.option_names import with_option_names
from boostopt.cli.option_parsing import get_formulation_option, parse_profiles, parse_solver_options, split_names
from boostopt.cli.option_types import (
    DATA_HELP,
    DEFAULT_REPEATS,
    DEFAULT_TIME_LIMIT,
    DEFAULT_TOL,
    NUMBER,
    WHOLE_NUMBER,
    parse_tolerance,
)
from boostopt.cli.run_output import HTML_FORMAT, validate_output_paths, validate_suffix
from boostopt.comparison.benchmark import benchmark
from boostopt.comparison.benchmark_result import Benchmark
from boostopt.comparison.compare import Comparison, compare
from boostopt.comparison.provenance import Provenance, current_time
from boostopt.comparison.work_precision.precision import REQUESTS, precision
from boostopt.comparison.work_precision.work_precision import WorkPrecision
from boostopt.errors import OptionError, ProblemError
from boostopt.programs.program import Program
from boostopt.programs.user_cvxpy_problem import ConvexProblem
from boostopt.reporting import check_place, check_tools
from boostopt.reporting import report as write_report


@dataclass(frozen=True, kw_only=True)
class DataSources:
    """The data sets of the programs: some by name, or all files of a folder."""

    data: Annotated[str | None, typer.Option(help=f"{DATA_HELP} Several separated by commas.")] = None
    all_of: Annotated[str | None, typer.Option("--all", help="Instead of --data: a folder of data files.")] = None

    @property
    def names(self) -> list[str]:
        """The names or paths of the data sets; none for a folder."""
        return [] if self.data is None else split_unless_file(self.data)

    def validate(self) -> None:
        """Raise OptionError unless there is one of `data` and `all_of`."""
        if self.data is None and self.all_of is None:
            raise OptionError(
                "Missing option '--data', or '--all' for a folder: name what is to be solved. A CVXPY problem is "
                "FILE:NAME."
            )
        if self.data is not None and self.all_of is not None:
            raise OptionError("--data and --all exclude each other; choose one.")


@dataclass(frozen=True, kw_only=True)
class SolverRequest:
    """The solvers, and the request that each of them gets."""

    backends: Annotated[
        str | None,
        typer.Option(
            "--backends",
            "--solvers",
            help="Names separated by commas; all installed if left out. Of a CVXPY problem also FILE:NAME, a function.",
        ),
    ] = None
    tol: Annotated[
        Any,
        typer.Option(
            parser=parse_tolerance,
            metavar="<str>",
            help="Target gap, over max(1, |lower|, |upper|); or a profile, for one solve by each solver: default, low "
            "(1e-3), mid (1e-6), high (1e-9).",
        ),
    ] = DEFAULT_TOL
    option: Annotated[
        list[str] | None, typer.Option(help="An option of a solver, as cvxpy:scs.max_iters=500; may be repeated.")
    ] = None
    time_limit: Annotated[float, typer.Option(**NUMBER, help="Seconds for each solve.")] = DEFAULT_TIME_LIMIT
    forms: Annotated[
        str | None, typer.Option(help="Forms to pin CVXPY's solvers to, separated by commas: primal, dual, ladder, ...")
    ] = None
    isolate: Annotated[bool, typer.Option("--isolate", help="Run solvers in a worker process, which may crash.")] = (
        False
    )
    threads: Annotated[int | None, typer.Option(**WHOLE_NUMBER, help="Threads that each solve may have.")] = None

    @property
    def settings(self) -> dict[str, Any]:
        """The keyword arguments that `compare` and `benchmark` share."""
        return {"forms": split_names(self.forms), "isolate": self.isolate, "threads": self.threads}


@dataclass(frozen=True, kw_only=True)
class BenchmarkPlan:
    """The repeats of a benchmark; without any option, each program is solved once by each solver."""

    repeats: Annotated[
        int | None, typer.Option(**WHOLE_NUMBER, help="Measured solves by each solver; prints medians and quartiles.")
    ] = None
    profiles: Annotated[
        str | None,
        typer.Option(
            help="Gaps to reach, each in a solve of its own, separated by commas, or all; or profiles: default,high."
        ),
    ] = None
    resume: Annotated[
        str | None, typer.Option(help="File that stores finished solves, and from which the command continues.")
    ] = None
    budget: Annotated[float | None, typer.Option(**NUMBER, help="Seconds after which no solve starts.")] = None
    precision: Annotated[
        str | None,
        typer.Option(
            help="Accuracies to ask for, each in one solve, separated by commas, or all (1e-1 to 1e-10): prints the "
            "cheapest request of each solver for each certified gap."
        ),
    ] = None


@command("compare")
def compare_command(
    formulation: Annotated[
        list[str],
        typer.Argument(
            help="Name (see `boostopt list`) or path of a formulation file; several separated by commas, or all. Or "
            "FILE:NAME, a CVXPY problem in a Python file, or an MPS, CBF, SDPA or MATLAB file; one or several."
        ),
    ],
    *,
    sources: DataSources,
    binding: BindingOptions,
    request: SolverRequest,
    plan: BenchmarkPlan,
    report: Annotated[str | None, typer.Option(help="Write a report, one page of HTML, to this file too.")] = None,
    output: TableFormat,
) -> int:
    """Solve one program, or CVXPY problem, by several solvers and compare their certified answers.

    With --repeats, --profiles, --resume or --budget, the command runs a benchmark: shuffled repeats, medians, all
    tolerances. It also does so for several formulations or data sets, or with --all for a folder of data; each
    parameter goes to the formulations that have it. With --precision, each solver makes one solve for each accuracy,
    and the table has the cheapest request that proves each gap.

    A CVXPY problem needs no data: boostopt compare model.py:problem --solvers clarabel,scs

    Example: boostopt compare erlpboost --data breast_cancer --nu 0.1 --eta 1000 --backends cvxpy:clarabel,cvxpy:scs
    """
    names_of_formulations = ",".join(formulation)
    places = _places_of_problems(formulation, sources, binding)
    if not places:
        sources.validate()
    validate_output_paths(None, report, plan.resume, read=sources.names)
    validate_suffix("--report", report, HTML_FORMAT)
    if report is not None:
        check_tools()
        check_place(report)
    with stdout_to_stderr():
        programs: Any
        if places:
            programs, provenance = _problems_of_files(places), _provenance("", [])
        elif sources.data is not None:
            programs, provenance = _programs_of_data(names_of_formulations, sources.data, sources.names, binding)
        else:
            excluded_paths = [plan.resume, report]
            programs, provenance = _programs_of_folder(
                names_of_formulations, str(sources.all_of), binding, excluded_paths
            )
        names, solver_options = split_names(request.backends), parse_solver_options(request.option)
        settings: dict[str, Any] = {**request.settings, "origin": provenance}
        if plan.precision is not None:
            requests = _parse_requests(plan, request)
            with _report_kept_results(plan.resume):
                result = precision(
                    programs,
                    names,
                    requests,
                    plan.repeats or 1,
                    **_benchmark_settings(binding, request, plan),
                    **settings,
                )
        elif isinstance(programs, Program | ConvexProblem) and plan == BenchmarkPlan():
            result = compare(programs, names, request.tol, request.time_limit, True, solver_options, **settings)
        else:
            with _report_kept_results(plan.resume):
                result = benchmark(
                    programs,
                    names,
                    parse_profiles(plan.profiles, request.tol),
                    DEFAULT_REPEATS if plan.repeats is None else plan.repeats,
                    **_benchmark_settings(binding, request, plan),
                    **settings,
                )
    try:
        _print_result(result, output)
    finally:  # also if the reader of the output closes it early
        if report is not None:
            write_report(result, report)
            typer.echo(f"report: {report}", err=True)
    is_certified = bool(result.points) if isinstance(result, WorkPrecision) else result.has_target_gap
    return 0 if is_certified and result.overlap else 1


def _benchmark_settings(binding: BindingOptions, request: SolverRequest, plan: BenchmarkPlan) -> dict[str, Any]:
    """Return the keyword arguments that `benchmark` and `precision` share."""
    return {
        "time_limit": request.time_limit,
        "resume": plan.resume,
        "budget": plan.budget,
        "random_state": binding.draw.random_state,
        "progress": True,
        "solver_options": parse_solver_options(request.option),
    }


def _parse_requests(plan: BenchmarkPlan, request: SolverRequest) -> list[float]:
    """Return the accuracies of `--precision`.

    Raises
    ------
    OptionError
        They are no numbers, or `--tol` or `--profiles` asks for something else.
    """
    if plan.profiles is not None or request.tol != DEFAULT_TOL:
        raise OptionError("--precision excludes --tol and --profiles: it has the accuracies itself. Choose one.")
    words = split_names(plan.precision) or []
    if words == ["all"]:
        return [*REQUESTS]
    try:
        return [float(word) for word in words]
    except ValueError:
        raise OptionError(
            f"--precision takes accuracies separated by commas, such as 1e-3,1e-6, or all; got {plan.precision!r}. "
            "Correct them."
        ) from None


def _places_of_problems(names: list[str], sources: DataSources, binding: BindingOptions) -> list[str]:
    """Return the names if they are those of CVXPY problems, FILE:NAME; an empty list for formulations.

    Raises
    ------
    OptionError
        There are both, or options that only programs have.
    """
    places = [place for name in names for place in split_unless_file(name)]
    if not any(map(is_problem_place, places)):
        return []
    if not all(map(is_problem_place, places)):
        formulations = ", ".join(place for place in places if not is_problem_place(place))
        raise OptionError(
            f"expected formulations alone, or problems alone: CVXPY problems as FILE:NAME and files of programs; got "
            f"problems and {formulations}. Choose one. Separate names of solvers by commas: --backends clarabel,scs."
        )
    if sources != DataSources() or (binding.files, binding.parameters) != (FileOptions(), ParameterOptions()):
        raise OptionError(
            "expected no data and no parameters with FILE:NAME, a CVXPY problem, which contains its own; got some. "
            "Leave them out."
        )
    if len(set(places)) < len(places):
        raise OptionError(f"expected CVXPY problems, each once; got {', '.join(places)}. Name each of them once.")
    return places


def _problems_of_files(places: list[str]) -> ConvexProblem | dict[str, ConvexProblem]:
    """Return the CVXPY problem at a place, or several by their places.

    Raises
    ------
    OptionError
        There is no such file or name.
    ProblemError
        The object is no convex CVXPY problem.
    """
    problems = dict[str, ConvexProblem]()
    for place in places:
        problem = resolve_problem(place)
        try:
            problems[place] = ConvexProblem.from_cvxpy(problem, place)
        except ProblemError as refusal:
            raise ProblemError(f"{place}: {refusal}") from None
    return problems if len(places) > 1 else problems[places[0]]


@contextmanager
def _report_kept_results(resume: str | None) -> Generator[None]:
    """Print the file of the finished solves if the user stops the command."""
    try:
        yield
    except KeyboardInterrupt:
        if resume is not None and os.path.exists(resume):
            typer.echo(f"{resume} has the finished solves: the same command continues.", err=True)
        raise


def _programs_of_data(
    formulation_names: str, data: str, names_of_data: list[str], binding: BindingOptions
) -> tuple[Program | dict[str, Program], Provenance]:
    """Return the program of one data set, or the programs of several formulations and data sets by label."""
    names = split_unless_file(formulation_names)
    if len(names_of_data) == len(names) == 1 and formulation_names.strip() != ALL_FORMULATIONS:
        formulation, dataset = get_formulation_option(names[0]), binding.files.load_dataset(names_of_data[0])
        return binding.parameters.program(formulation, dataset, binding.draw), _provenance(data, [])
    formulations, omitted = named_formulations(formulation_names, binding.parameters)
    programs, skipped = programs_of_data(names_of_data, formulations, binding)
    return programs, _provenance(data, _report_skipped([*omitted, *skipped]))


def _programs_of_folder(
    formulation_names: str, folder: str, binding: BindingOptions, excluded_paths: list[str | None]
) -> tuple[dict[str, Program], Provenance]:
    """Return the programs of the files of a folder by label, except `excluded_paths`; report the omitted files."""
    formulations, omitted = named_formulations(formulation_names, binding.parameters)
    programs, skipped = programs_of_folder(Path(folder), formulations, binding, excluded_paths)
    return programs, _provenance(folder, _report_skipped([*omitted, *skipped]))


def _report_skipped(skipped: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Print the omitted programs with the reasons, and return them."""
    for label, reason in skipped:
        print_error(f"left out: {label}. {with_option_names(reason)}")
    return skipped


def _provenance(data: str, skipped: list[tuple[str, str]]) -> Provenance:
    """Return the provenance of the comparison: command, time, data, environment, and omitted programs."""
    command = shlex.join(["boostopt", *sys.argv[1:]])
    return Provenance.of_this_process(command, current_time(), data, tuple(skipped))


def _print_result(result: Comparison | Benchmark | WorkPrecision, output: TableFormat) -> None:
    """Print the result in the requested format."""
    if output.json:
        typer.echo(result.to_json())
    elif output.csv:
        typer.echo(result.to_csv(), nl=False)
    else:
        table: RenderableType = result.table()
        console().print(table)
