"""`boostopt certify`: an answer that was computed elsewhere."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from boostopt.cli.application import app, errors, output, warn_of_unread
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
    Tol,
    Weights,
    read_program,
)
from boostopt.cli.runs import check_outputs
from boostopt.comparison.records import certificate_json
from boostopt.comparison.tables import certificate_table
from boostopt.data.answers import load_answer
from boostopt.data.datasets import load_dataset
from boostopt.programs.catalogue import get_formulation
from boostopt.solving.solving import check_limits


@app.command("certify")
def certify_command(
    formulation: FormulationName,
    answer: Annotated[str, typer.Argument(help="File with d, w or both: .npz, .csv, .sol or .txt.")],
    data: Data,
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
    tol: Tol = 1e-8,
    save: Annotated[str | None, typer.Option(help="File for the certificate, for `boostopt verify`.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Certify an answer that was computed elsewhere.

    Example: boostopt certify lpboost answer.npz --data instance.npz --nu 0.1 --save certificate.json
    """
    with errors():
        check_limits(tol)
        check_outputs(data, save, read=[answer])
        page, dataset = (
            get_formulation(formulation),
            load_dataset(data, label, positive, weights, drop or ()),
        )
        given = load_answer(answer)
        both = os.path.exists(data) and os.path.samefile(data, answer)
        # One file may hold the data and the answer: then unread is what neither reads.
        warn_of_unread(data, [name for name in dataset.unread if not both or name in given.unread])
        warn_of_unread(answer, [] if both else given.unread)
        program = read_program(page, dataset, nu, eta, epsilon, set, columns, random_state)
        certificate = program.certify(given.d, given.w)
        if save is not None:
            certificate.save(save, program)
        if json:
            typer.echo(certificate_json(program, certificate, tol))
        else:
            output().print(certificate_table(program, certificate, tol))
    raise typer.Exit(0 if certificate.scaled_gap <= tol else 1)
