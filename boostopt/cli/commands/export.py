"""`boostopt export`: write a program, its instance, or the standard set of programs into files for other tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from boostopt._utils.formatting import format_count
from boostopt._utils.json_values import to_json_text
from boostopt.backends.isolation.standard_output import stdout_to_stderr
from boostopt.cli.application import command, wrap_shell_commands
from boostopt.cli.option_groups import ExportBinding, FileOptions, StumpOptions
from boostopt.cli.option_parsing import get_formulation_option
from boostopt.cli.option_types import DATA_HELP, DEFAULT_TIME_LIMIT, NUMBER
from boostopt.cli.run_output import validate_output_paths
from boostopt.errors import OptionError
from boostopt.exporting import export, export_set
from boostopt.exporting.export import FORMAT_LIST, format_of
from boostopt.exporting.file_header import certify_command_line
from boostopt.exporting.program_set import result_text
from boostopt.instances.standard import standard_programs
from boostopt.programs.program_identity import program_digest, program_facts

DEFAULT_SIDE = "primal"
"""The side that the command writes by default."""


@dataclass(frozen=True, kw_only=True)
class SetOptions:
    """The options of the standard set."""

    ida: Annotated[str | None, typer.Option(help="With --set DIR: the folder of diabetis, german, image.npz.")] = None
    time_limit: Annotated[
        float | None, typer.Option(**NUMBER, help="With --set DIR: seconds for each interval; 60 if left out.")
    ] = None


@command("export")
def export_command(
    formulation: Annotated[
        str | None, typer.Argument(help="Name (see `boostopt list`) or path of a formulation file.")
    ] = None,
    data: Annotated[str | None, typer.Option(help=DATA_HELP)] = None,
    out: Annotated[str | None, typer.Option(help=f"File to write: {FORMAT_LIST}.")] = None,
    *,
    binding: ExportBinding,
    side: Annotated[
        str | None, typer.Option(help="primal (over d; if left out) or dual (over w, as a minimum).")
    ] = None,
    set_options: SetOptions,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write a bound program, or its instance, for other solvers; print the command that certifies an answer.

    With --set DIR and no formulation, the command writes the standard set: every program as CBF, linear and quadratic
    ones also as MPS, and their certified intervals. The same command continues an interrupted set.

    Example: boostopt export lpboost --data breast_cancer --nu 0.1 --out model.mps
    """
    if formulation is None:
        program_options = {"--data": data, "--out": out, "--side": side}
        _reject_options(program_options, "a formulation", "Name one, or leave it out for --set DIR.")
        folder = binding.parameters.folder
        if folder is None or (binding.files, binding.draw) != (FileOptions(), StumpOptions()):
            raise OptionError(
                "expected a formulation with --data and --out, or --set DIR with nothing but --ida, --time-limit and "
                "--json; got neither alone. Name the formulation, or the folder of the set alone."
            )
        _write_set(folder, set_options, json)
        return
    options_of_set = {"--ida": set_options.ida, "--time-limit": set_options.time_limit}
    _reject_options(options_of_set, "--set DIR without a formulation", "Leave it out.")
    if data is None or out is None:
        missing = "--data" if data is None else "--out"
        raise OptionError(
            f"Missing option '{missing}': a formulation needs --data and --out. Pass it; the standard set is written "
            "by --set DIR without a formulation."
        )
    with stdout_to_stderr():
        validate_output_paths(data, out)
        file_format = format_of(Path(out))
        program_formulation, dataset = get_formulation_option(formulation), binding.files.load_dataset(data)
        program = binding.program(program_formulation, dataset)
        export(program, out, DEFAULT_SIDE if side is None else side)
    command = certify_command_line(program, formulation, *([out] if file_format.is_instance else []))
    if json:
        document = {"file": out, **program_facts(program), "program": program_digest(program), "certify": command}
        typer.echo(to_json_text(document))
    else:
        typer.echo(f"{out}: {program.headline}")
        typer.echo(f"to certify an answer:\n{wrap_shell_commands(command or 'program.certify(d, w)')}")


def _reject_options(options: Mapping[str, object], requirement: str, advice: str) -> None:
    """Raise OptionError for an option with a value, because the requirement of the options is not met."""
    for flag, value in options.items():
        if value is not None:
            raise OptionError(f"{flag} needs {requirement}; got {value!r}. {advice}")


def _write_set(folder: str, options: SetOptions, json: bool) -> None:
    """Write the standard set into a folder, and report the programs whose interval is too wide."""
    time_limit = DEFAULT_TIME_LIMIT if options.time_limit is None else options.time_limit
    with stdout_to_stderr():
        index = export_set(standard_programs(options.ida), folder, time_limit=time_limit, progress=True)
    if json:
        typer.echo(to_json_text(index))
        return
    entries: list[dict[str, Any]] = index["programs"]
    wide = [entry for entry in entries if not entry["interval"]["reached"]]
    typer.echo(
        f"{folder}: {format_count(len(entries), 'program')}, {len(entries) - len(wide)} of them certified to "
        f"{index['tol']:g}"
    )
    for entry in wide:
        typer.echo(f"wider: {entry['label']}, {result_text(entry)}")
