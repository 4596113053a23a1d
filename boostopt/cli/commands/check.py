"""`boostopt check`: check a formulation, or an oracle or a backend in a file, on small random instances."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from boostopt._utils.user_modules import classes_in, is_python_file_path, load_user_module
from boostopt.backends.base import Backend
from boostopt.backends.isolation.standard_output import stdout_to_stderr
from boostopt.checks import CheckReport, check_backend, check_formulation, check_oracle
from boostopt.checks.backend_checks import DEFAULT_TOL
from boostopt.cli.application import command, console
from boostopt.cli.option_parsing import get_formulation_option, parse_setting
from boostopt.cli.option_types import NUMBER, Set
from boostopt.oracles import Oracle
from boostopt.programs.formulation_catalogue import defines_formulation


@command("check")
def check_command(
    formulation: Annotated[
        str,
        typer.Argument(
            help="Name (see `boostopt list`) or path of a formulation file, or the file of an oracle or a backend."
        ),
    ],
    set: Set = None,
    random_state: Annotated[int, typer.Option(help="Seed of the instances.")] = 0,
    tol: Annotated[float, typer.Option(**NUMBER, help="Certified gap that a backend must reach.")] = DEFAULT_TOL,
    verbose: Annotated[bool, typer.Option("--verbose", help="Print every check, not only those that failed.")] = False,
) -> int:
    """Check a formulation on small random instances: F, G, and its primal and dual problem; errors name their line.

    The command does not check the formulas in the docstring of a formulation.

    It compares an oracle with its class, and a backend with the certificates of its answers.

    Example: boostopt check my_formulation.py --set eta=10
    """
    with stdout_to_stderr():
        reports = list(_check_reports(formulation, set or [], random_state, tol))
    for report in reports:
        typer.echo(report.text(console().width, verbose=verbose))
    return 0 if all(report.passed for report in reports) else 1


def _check_reports(target: str, settings: list[str], random_state: int, tol: float) -> Iterator[CheckReport]:
    """Yield a report for each kind of component that a file defines, or the report of a named formulation."""
    module = load_user_module(target, "a formulation") if is_python_file_path(target) else None
    oracles = [] if module is None else classes_in(module, Oracle)
    backends = [] if module is None else classes_in(module, Backend)
    if module is None or defines_formulation(module) or not (oracles or backends):
        formulation = get_formulation_option(target)
        parameters = dict(parse_setting(text, formulation) for text in settings)
        yield check_formulation(formulation, random_state, **parameters)
    if oracles:
        yield check_oracle(target, random_state)
    if backends:
        yield check_backend(target, random_state, tol)
