"""`boostopt check`: a page against itself."""

from __future__ import annotations

from typing import Annotated

import typer

from boostopt.checks import check_formulation
from boostopt.cli.application import command, output
from boostopt.cli.options import FormulationName, Set
from boostopt.cli.reading import read_formulation, read_setting
from boostopt.streams import stdout_to_stderr


@command("check")
def check_command(
    formulation: FormulationName,
    set: Set = None,
    random_state: Annotated[int, typer.Option(help="Seed of the instances.")] = 0,
    verbose: Annotated[bool, typer.Option("--verbose", help="Print every check, not only those that failed.")] = False,
) -> int:
    """Check a page on small random instances: F, G and the problems as printed; what fails is named, with numbers.

    Example: boostopt check my_page.py --set eta=10
    """
    with stdout_to_stderr():
        page = read_formulation(formulation)
        report = check_formulation(page, random_state, **dict(read_setting(text, page) for text in set or []))
    typer.echo(report.text(output().width, every=verbose))
    return 0 if report.passed else 1
