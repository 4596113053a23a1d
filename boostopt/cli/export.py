"""`boostopt export`: a program, or its instance, in a file that others read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from boostopt.cli.application import app, errors, warn_of_unread
from boostopt.cli.options import (
    DEFAULT_COLUMNS,
    Columns,
    Data,
    Drop,
    Epsilon,
    Eta,
    FormulationName,
    Label,
    Nu,
    Positive,
    RandomState,
    Set,
    Weights,
    read_program,
)
from boostopt.cli.runs import check_outputs
from boostopt.comparison.records import facts, json_text, program_digest
from boostopt.data.datasets import load_dataset
from boostopt.exporting import export
from boostopt.exporting.heading import certify_command
from boostopt.programs.catalogue import get_formulation
from boostopt.streams import stdout_to_stderr


@app.command("export")
def export_command(
    formulation: FormulationName,
    data: Data,
    out: Annotated[str, typer.Option(help="File to write: .mps (linear, quadratic), .cbf (cones), .npz (instance).")],
    label: Label = "label",
    positive: Positive = None,
    weights: Weights = None,
    drop: Drop = None,
    nu: Nu = None,
    eta: Eta = None,
    epsilon: Epsilon = None,
    set: Set = None,
    columns: Columns = DEFAULT_COLUMNS,
    random_state: RandomState = 0,
    side: Annotated[str, typer.Option(help="primal (over d) or dual (over w, as a minimum).")] = "primal",
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write a bound program, or the instance it is made of, for other solvers; print how an answer is certified.

    Example: boostopt export lpboost --data breast_cancer --nu 0.1 --out model.mps
    """
    with errors():
        with stdout_to_stderr():
            check_outputs(data, out)
            page, dataset = (
                get_formulation(formulation),
                load_dataset(data, label, positive, weights, drop or ()),
            )
            warn_of_unread(data, dataset.unread)
            program = read_program(page, dataset, nu, eta, epsilon, set, columns, random_state)
            export(program, out, side)
        command = certify_command(program, formulation, *([out] if Path(out).suffix.lower() == ".npz" else []))
        if json:
            document = {"file": out, **facts(program), "program": program_digest(program), "certify": command}
            typer.echo(json_text(document))
        else:
            typer.echo(f"{out}: {program.headline}")
            typer.echo(f"to certify an answer: {command}" if command else "to certify an answer: program.certify(d, w)")
