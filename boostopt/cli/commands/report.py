"""`boostopt report`: write the report of an earlier comparison as HTML."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from boostopt.cli.application import command
from boostopt.cli.run_output import HTML_FORMAT, validate_suffix
from boostopt.comparison.documents import load_results
from boostopt.reporting import check_place, check_tools, to_html
from boostopt.reporting import report as write_report


@command("report")
def report_command(
    file: Annotated[str, typer.Argument(help="File of the output of `compare --json`, or the file of --resume.")],
    out: Annotated[
        str | None, typer.Option("--output", "-o", help="File of the report; the standard output if left out.")
    ] = None,
) -> None:
    """Write the report of an earlier comparison, one page of HTML, without solving anything.

    Example: boostopt report comparison.json -o comparison.html
    """
    validate_suffix("--output", out, HTML_FORMAT)
    check_tools()
    if out is not None:
        check_place(out, [file])
    results = load_results(Path(file))
    if out is None:
        typer.echo(to_html(results), nl=False)
    else:
        write_report(results, out)
