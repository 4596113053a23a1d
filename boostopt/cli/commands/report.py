"""`boostopt report`: the page of an earlier comparison."""

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
    file: Annotated[str, typer.Argument(help="What `compare --json` wrote, or the file of --resume.")],
    out: Annotated[
        str | None, typer.Option("--output", "-o", help="File of the page; the standard output if left out.")
    ] = None,
) -> None:
    """Make the report of an earlier comparison, one page of HTML; nothing is solved.

    Example: boostopt report comparison.json -o comparison.html
    """
    validate_suffix("--output", out, HTML_FORMAT)
    check_tools()
    if out is not None:
        check_place(out, [file])
    read = load_results(Path(file))
    if out is None:
        typer.echo(to_html(read), nl=False)
    else:
        write_report(read, out)
