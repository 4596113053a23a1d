"""`boostopt export`: a program, or its instance, in a file that others read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from boostopt.cli.application import command
from boostopt.cli.options import Data, FormulationName
from boostopt.cli.records import ColumnOptions, FileOptions, ParameterOptions
from boostopt.cli.runs import check_outputs
from boostopt.comparison.records import facts, json_text, program_digest
from boostopt.exporting import export
from boostopt.exporting.heading import certify_command
from boostopt.programs.catalogue import get_formulation
from boostopt.streams import stdout_to_stderr


@command("export")
def export_command(
    formulation: FormulationName,
    data: Data,
    out: Annotated[str, typer.Option(help="File to write: .mps (linear, quadratic), .cbf (cones), .npz (instance).")],
    *,
    files: FileOptions,
    parameters: ParameterOptions,
    draw: ColumnOptions,
    side: Annotated[str, typer.Option(help="primal (over d) or dual (over w, as a minimum).")] = "primal",
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write a bound program, or the instance it is made of, for other solvers; print how an answer is certified.

    Example: boostopt export lpboost --data breast_cancer --nu 0.1 --out model.mps
    """
    with stdout_to_stderr():
        check_outputs(data, out)
        page, dataset = get_formulation(formulation), files.load(data)
        program = parameters.program(page, dataset, draw)
        export(program, out, side)
    command = certify_command(program, formulation, *([out] if Path(out).suffix.lower() == ".npz" else []))
    if json:
        document = {"file": out, **facts(program), "program": program_digest(program), "certify": command}
        typer.echo(json_text(document))
    else:
        typer.echo(f"{out}: {program.headline}")
        typer.echo(f"to certify an answer: {command}" if command else "to certify an answer: program.certify(d, w)")
