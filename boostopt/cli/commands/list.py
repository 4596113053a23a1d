"""`boostopt list`: formulations and backends."""

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
from boostopt.boosting.registry import PAGES
from boostopt.cli.application import command, console
from boostopt.cli.option_parsing import split_names
from boostopt.comparison.rendering.console_tables import OPTIONAL_PARAMETER_NOTE, parameter_signature
from boostopt.errors import OptionError
from boostopt.programs.catalogue import get_formulation, list_formulations
from boostopt.programs.formulation import Formulation
from boostopt.programs.loss_penalty import LOSSES, PENALTIES, SEPARATOR, SIGNED_PREFIX

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
    pages = [get_formulation(name) for name in list_formulations()]
    named = [get_backend(name) for name in split_names(backends) or list_backends()]
    programs = {page.name: page.example_program() for page in pages}
    support = {name: {b.name: b.takes(program) for b in named} for name, program in programs.items()}
    if json:
        typer.echo(to_json_text(_list_to_json(pages, support, named)))
    elif markdown:
        typer.echo(_markdown_table(support, named))
    else:
        out = console()
        for line in _list_lines(pages, support, named, out.width):
            out.print(line, soft_wrap=True)


def _list_to_json(
    pages: list[Formulation[Any]], support: Mapping[str, Mapping[str, Capability]], backends: list[Backend]
) -> dict[str, Any]:
    """Return formulations with their parameters, and for each backend "yes" or the reason why not."""
    return {
        "backends": {b.name: b.version for b in backends},
        "boosters": {name: _formulation_to_json(page) for name, page in PAGES.items()},
        "formulations": {
            page.name: {
                **_formulation_to_json(page),
                "backends": {
                    name: {"takes": bool(able), "reason": able.reason or None}
                    for name, able in support[page.name].items()
                },
            }
            for page in pages
        },
    }


def _formulation_to_json(page: Formulation[Any]) -> dict[str, Any]:
    """Return the title and the parameters of a page."""
    return {
        "title": page.title,
        "parameters": {
            name: {"meaning": p.meaning, "required": p.required, "domain": p.domain.text}
            for name, p in page.parameters.items()
        },
    }


def _list_lines(
    pages: list[Formulation[Any]],
    support: Mapping[str, Mapping[str, Capability]],
    backends: list[Backend],
    width: int,
) -> Iterator[Text]:
    """Yield the lines of the list for people, in so many columns, without breaking words."""

    def filled(words: str, indent: str = "") -> Text:
        lines = textwrap.wrap(
            words,
            width,
            initial_indent=indent,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        return Text("\n".join(lines))

    def stated(name: str, page: Formulation[Any]) -> Iterator[Text]:
        title = filled(f"{name}  {parameter_signature(page)}")
        title.stylize("bold", 0, len(name))
        yield title
        yield filled(first_sentence(page), INDENT)

    yield filled(f"Formulations with their parameters. {OPTIONAL_PARAMETER_NOTE}")
    yield Text()
    for page in pages:
        yield from stated(page.name, page)
    yield Text()
    yield filled(
        f"A loss and a penalty with {SEPARATOR} between, such as hinge{SEPARATOR}l1 or "
        f"logistic{SEPARATOR}signed_elastic_net:"
    )
    yield filled(f"losses: {', '.join(LOSSES)}", INDENT)
    yield filled(f"penalties: {', '.join(PENALTIES)}; {SIGNED_PREFIX}... for weights free in sign", INDENT)
    yield Text()
    yield filled("Boosters that state no program, for `boostopt boost` and `boostopt fit`:")
    yield Text()
    for name, page in PAGES.items():
        yield from stated(name, page)
    yield Text()
    yield filled(f"Backends: {', '.join(f'{b.name} {b.version}' for b in backends)}.")
    # Formulations with the same backends, and the same reasons against the others, are listed together.
    alike: dict[tuple[Capability, ...], list[str]] = {}
    for name, able in support.items():
        alike.setdefault(tuple(able[b.name] for b in backends), []).append(name)
    for row, names in alike.items():
        able = [b.name for b, capability in zip(backends, row, strict=True) if capability]
        yield Text()
        yield filled(", ".join(names))
        yield filled(f"solved by {', '.join(able) or 'none of them'}", INDENT)
        for reason in dict.fromkeys(capability.reason for capability in row if not capability):
            yield filled(f"{reason}.", INDENT)


def first_sentence(page: Formulation[Any]) -> str:
    """Return a page in a sentence: the first sentence of its file, after the title."""
    about = (inspect.getdoc(inspect.getmodule(type(page))) or "").partition("\n")[0]
    words = about.partition(": ")[2] or about
    return words[:1].upper() + words[1:]


def _markdown_table(support: Mapping[str, Mapping[str, Capability]], backends: list[Backend]) -> str:
    """Return formulations against backends as a table in Markdown; formulations with the same row share it."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for name, able in support.items():
        rows.setdefault(tuple("yes" if able[b.name] else "-" for b in backends), []).append(f"`{name}`")
    header = ["formulation", *(f"`{b.name}`" for b in backends)]
    lines = [header, ["---"] + [":-:"] * len(backends), *([", ".join(names), *row] for row, names in rows.items())]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
