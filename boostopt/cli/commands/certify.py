"""`boostopt certify`: certify an answer of another tool."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from boostopt._utils.validation import check_tolerance
from boostopt.boosting_certificates.feature_name_metadata import feature_metadata
from boostopt.cli.application import command, console, warn_about_unread_arrays
from boostopt.cli.option_groups import BindingOptions
from boostopt.cli.option_parsing import get_formulation_option
from boostopt.cli.option_types import Data, FormulationName, Tol
from boostopt.cli.run_output import JSON_FORMAT, validate_output_paths, validate_suffix
from boostopt.comparison.rendering.console_tables import certificate_table
from boostopt.data.answer_files import load_answer
from boostopt.programs.program_identity import certificate_to_json_text
from boostopt.verification import save as save_certificate


@command("certify")
def certify_command(
    formulation: FormulationName,
    answer: Annotated[str, typer.Argument(help="File with d, w or both: .npz, .csv, .sol or .txt.")],
    data: Data,
    *,
    binding: BindingOptions,
    tol: Tol = 1e-8,
    save: Annotated[str | None, typer.Option(help="File for the certificate, for `boostopt verify`.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Certify an answer of another tool: print the interval that the answer proves.

    Example: boostopt certify lpboost answer.npz --data instance.npz --nu 0.1 --save certificate.json
    """
    check_tolerance("tol", tol)
    validate_output_paths(data, save, read=[answer])
    validate_suffix("--save", save, JSON_FORMAT)
    program_formulation, dataset = get_formulation_option(formulation), binding.files.read_dataset(data)
    point = load_answer(answer)
    is_one_file = os.path.exists(data) and os.path.samefile(data, answer)
    # If one file contains the data and the answer, an array is unread if neither reads it.
    warn_about_unread_arrays(data, [name for name in dataset.unread if not is_one_file or name in point.unread])
    warn_about_unread_arrays(answer, [] if is_one_file else point.unread)
    program = binding.program(program_formulation, dataset)
    point = point.fill(*program.margins.shape)
    certificate = program.certify(point.d, point.w)
    if save is not None:
        save_certificate((program, certificate), save, feature_metadata(dataset.features))
    if json:
        typer.echo(certificate_to_json_text(program, certificate, tol))
    else:
        console().print(certificate_table(program, certificate, tol))
    return 0 if certificate.scaled_gap <= tol else 1
