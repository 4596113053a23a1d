"""`boostopt list`: list formulations, backends, and boosters that state no program."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer
from rich.text import Text

from boostopt._utils.json_values import to_json_text
from boostopt.backends import get_backend, list_backends
from boostopt.backends.base import Backend, Capability
from boostopt.boosting.booster_names import BOOSTERS_BY_NAME
from boostopt.cli.application import command, console
from boostopt.cli.option_parsing import split_names
from boostopt.comparison.rendering.console_tables import OPTIONAL_PARAMETER_NOTE, parameter_signature
from boostopt.errors import OptionError
from boostopt.programs.formulation import Formulation
from boostopt.programs.formulation_catalogue import get_formulation, list_formulations
from boostopt.programs.loss_penalty_catalogue import LOSSES, PENALTIES
from boostopt.programs.loss_penalty_formulation import SEPARATOR, SIGNED_PREFIX

INDENT = "    "
"""The indentation of text below a name."""


@command("list")
def list_command(
    backends: Annotated[str | None, typer.Option(help="Names separated by commas; all installed if left out.")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a table in Markdown.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the formulations in a sentence each, the backends that solve them, and the boosters that state no program.

    Example: boostopt list --backends interior,highs,cvxpy:clarabel --markdown
    """
    if json and markdown:
        raise OptionError("--json and --markdown exclude each other; choose one.")
    formulations = [get_formulation(name) for name in list_formulations()]
    shown_backends = [get_backend(name) for name in split_names(backends) or list_backends()]
    programs = {formulation.name: formulation.example_program() for formulation in formulations}
    support = {name: {b.name: b.takes(program) for b in shown_backends} for name, program in programs.items()}
    if json:
        typer.echo(to_json_text(_list_to_json(formulations, support, shown_backends)))
    elif markdown:
        typer.echo(_markdown_table(support, shown_backends))
    else:
        out = console()
        for line in _list_lines(formulations, support, shown_backends, out.width):
            out.print(line, soft_wrap=True)


def _list_to_json(
    formulations: list[Formulation[Any]], support: Mapping[str, Mapping[str, Capability]], backends: list[Backend]
) -> dict[str, Any]:
    """Return formulations with their parameters, and for each backend whether it supports them, or the reason."""
    return {
        "backends": {b.name: b.version for b in backends},
        "boosters": {name: _formulation_to_json(formulation) for name, formulation in BOOSTERS_BY_NAME.items()},
        "formulations": {
            formulation.name: {
                **_formulation_to_json(formulation),
                "backends": {
                    name: {"takes": bool(capability), "reason": capability.reason or None}
                    for name, capability in support[formulation.name].items()
                },
            }
            for formulation in formulations
        },
    }


def _formulation_to_json(formulation: Formulation[Any]) -> dict[str, Any]:
    """Return the title and the parameters of a formulation as plain values."""
    return {
        "title": formulation.title,
        "parameters": {
            name: {"meaning": p.meaning, "required": p.required, "domain": p.domain.text}
            for name, p in formulation.parameters.items()
        },
    }


def _list_lines(
    formulations: list[Formulation[Any]],
    support: Mapping[str, Mapping[str, Capability]],
    backends: list[Backend],
    width: int,
) -> Iterator[Text]:
    """Yield the lines of the list for people, wrapped to a width without breaking words."""

    def wrap(text: str, indent: str = "") -> Text:
        lines = textwrap.wrap(
            text,
            width,
            initial_indent=indent,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        return Text("\n".join(lines))

    def describe(name: str, formulation: Formulation[Any]) -> Iterator[Text]:
        title = wrap(f"{name}  {parameter_signature(formulation)}")
        title.stylize("bold", 0, len(name))
        yield title
        yield wrap(first_sentence(formulation), INDENT)

    yield wrap(f"Formulations with their parameters. {OPTIONAL_PARAMETER_NOTE}")
    yield Text()
    for formulation in formulations:
        yield from describe(formulation.name, formulation)
    yield Text()
    yield wrap(
        f"A loss and a penalty with {SEPARATOR} between, such as hinge{SEPARATOR}l1 or "
        f"logistic{SEPARATOR}signed_elastic_net:"
    )
    yield wrap(f"losses: {', '.join(LOSSES)}", INDENT)
    yield wrap(f"penalties: {', '.join(PENALTIES)}; {SIGNED_PREFIX}... for weights free in sign", INDENT)
    yield Text()
    yield wrap("Boosters that state no program, for `boostopt boost` and `boostopt fit`:")
    yield Text()
    for name, formulation in BOOSTERS_BY_NAME.items():
        yield from describe(name, formulation)
    yield Text()
    yield wrap(f"Backends: {', '.join(f'{b.name} {b.version}' for b in backends)}.")
    # One entry lists all formulations with the same backends and the same reasons of the other backends.
    names_by_support: dict[tuple[Capability, ...], list[str]] = {}
    for name, capabilities in support.items():
        names_by_support.setdefault(tuple(capabilities[b.name] for b in backends), []).append(name)
    for row, names in names_by_support.items():
        solvers = [b.name for b, capability in zip(backends, row, strict=True) if capability]
        yield Text()
        yield wrap(", ".join(names))
        yield wrap(f"solved by {', '.join(solvers) or 'none of them'}", INDENT)
        for reason in dict.fromkeys(capability.reason for capability in row if not capability):
            yield wrap(f"{reason}.", INDENT)


def first_sentence(formulation: Formulation[Any]) -> str:
    """Return the first sentence of the docstring of a formulation file, without the name before the colon."""
    line = (inspect.getdoc(inspect.getmodule(type(formulation))) or "").partition("\n")[0]
    sentence = line.partition(": ")[2] or line
    return sentence[:1].upper() + sentence[1:]


def _markdown_table(support: Mapping[str, Mapping[str, Capability]], backends: list[Backend]) -> str:
    """Return formulations against backends as a table in Markdown; formulations with the same row share it."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for name, capabilities in support.items():
        row = tuple("yes" if capabilities[b.name] else "-" for b in backends)
        rows.setdefault(row, []).append(f"`{name}`")
    header = ["formulation", *(f"`{b.name}`" for b in backends)]
    lines = [header, ["---"] + [":-:"] * len(backends), *([", ".join(names), *row] for row, names in rows.items())]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
