"""`boostopt list`: formulations and backends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.measure import Measurement
from rich.padding import Padding
from rich.text import Text

from boostopt.backends import get_backend, list_backends
from boostopt.backends.base import Backend, Capability
from boostopt.boosting.pages import PAGES
from boostopt.cli.application import PIPE_WIDTH, command, output
from boostopt.cli.reading import read_names
from boostopt.comparison.records import json_text
from boostopt.comparison.tables import MARKS, signature, support_table
from boostopt.errors import OptionError
from boostopt.programs.catalogue import get_formulation, list_formulations
from boostopt.programs.combining import JOIN, LOSSES, PENALTIES, SIGNED
from boostopt.programs.formulation import Formulation


@command("list")
def list_command(
    backends: Annotated[str | None, typer.Option(help="Names with commas between; all installed if left out.")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a table in Markdown.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the formulations, which backend can take which, and the boosters that state no program.

    Example: boostopt list --backends interior,highs,cvxpy:clarabel --markdown
    """
    if json and markdown:
        raise OptionError("--json and --markdown exclude each other; choose one.")
    pages = [get_formulation(name) for name in list_formulations()]
    named = [get_backend(name) for name in read_names(backends) or list_backends()]
    programs = {page.name: page.smallest() for page in pages}
    support = {name: {b.name: b.takes(program) for b in named} for name, program in programs.items()}
    if json:
        typer.echo(json_text(_document(pages, support, named)))
    elif markdown:
        typer.echo(_markdown(support, named))
    else:
        out, table = output(), support_table(pages, support, named)
        fits = Measurement.get(out, out.options.update(max_width=PIPE_WIDTH), table).maximum <= out.width
        out.print(table if fits else _support_lines(pages, support, named))
        out.print(_further())


def _document(
    pages: list[Formulation[Any]], support: Mapping[str, Mapping[str, Capability]], backends: list[Backend]
) -> dict[str, Any]:
    """Return formulations with their parameters, and for each backend yes or the reason why not."""
    return {
        "backends": {b.name: b.version for b in backends},
        "boosters": {name: _stated(page) for name, page in PAGES.items()},
        "formulations": {
            page.name: {
                **_stated(page),
                "backends": {
                    name: {"takes": bool(able), "reason": able.reason or None}
                    for name, able in support[page.name].items()
                },
            }
            for page in pages
        },
    }


def _stated(page: Formulation[Any]) -> dict[str, Any]:
    """Return the title and the parameters of a page."""
    return {
        "title": page.title,
        "parameters": {
            name: {"meaning": p.meaning, "required": p.required, "domain": p.domain.text}
            for name, p in page.parameters.items()
        },
    }


def _further() -> RenderableType:
    """Return what else has a name, for people: losses with penalties, and the boosters with their parameters."""
    lines = [f"{name}: {signature(page)}" for name, page in PAGES.items()]
    pairs = f"A loss and a penalty with {JOIN} between, such as hinge{JOIN}l1 or logistic{JOIN}signed_elastic_net:"
    names = [f"losses: {', '.join(LOSSES)}", f"penalties: {', '.join(PENALTIES)}; {SIGNED}... for weights free in sign"]
    words = ["", pairs, *names, "", "Boosters that state no program, for `boostopt boost` and `boostopt fit`:", *lines]
    return Text("\n".join(words))


def _markdown(support: Mapping[str, Mapping[str, Capability]], backends: list[Backend]) -> str:
    """Return formulations against backends as a table in Markdown; formulations with the same row share it."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for name, able in support.items():
        rows.setdefault(tuple("yes" if able[b.name] else "-" for b in backends), []).append(f"`{name}`")
    header = ["formulation", *(f"`{b.name}`" for b in backends)]
    lines = [header, ["---"] + [":-:"] * len(backends), *([", ".join(names), *row] for row, names in rows.items())]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _support_lines(
    pages: list[Formulation[Any]], support: Mapping[str, Mapping[str, Capability]], backends: list[Backend]
) -> RenderableType:
    """Return what the table of formulations against backends says, for a terminal that is too narrow for it."""
    lines: list[RenderableType] = [Text(f"Backends: {', '.join(f'{b.name} {b.version}' for b in backends)}"), Text()]
    for page in pages:
        able = [name for name, capability in support[page.name].items() if capability]
        names = signature(page)
        lines.append(Text(page.name, "bold"))
        lines += [Padding(Text(f"parameters {names}"), (0, 0, 0, 4), expand=False)] if names else []
        lines.append(Padding(Text(f"solved by {', '.join(able) or 'none installed'}"), (0, 0, 0, 4), expand=False))
    reasons = dict.fromkeys(able.reason for row in support.values() for able in row.values() if not able)
    return Group(*lines, Text(), Text(MARKS), *(Text(f"{reason}.") for reason in reasons))
