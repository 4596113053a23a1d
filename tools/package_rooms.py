"""Rooms of the package on their floors, and the imports between them, read from the source files.

`tests/test_layers.py` tests the rules; `tools/draw_rooms.py` draws the picture of `docs/house.md`.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterable, Mapping
from functools import cache
from graphlib import TopologicalSorter
from importlib.util import resolve_name
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1] / "boostopt"

FLOORS = (
    {"errors"},
    {"_utils", "typesetting"},
    {"rows", "functions", "conic_programs"},
    {"boosting_certificates", "oracles", "problem_certificates"},
    {"data"},
    {"programs"},
    {"backends", "instances"},
    {"solving", "authoring"},
    {"boosting", "checks", "comparison"},
    {"estimators", "verification", "exporting"},
    {"ensembles"},
    {"pictures"},
    {"reporting"},
    {"cli"},
    {"__init__", "__main__"},
)
"""The rooms, from the bottom to the top. Rooms of one floor do not import each other."""

UPWARD_IMPORTS = {
    "programs/program.py": "solving",
    "boosting_certificates/certificate.py": "verification",
    "solving/solution.py": "verification",
    "solving/exact_solution.py": "verification",
    "boosting/run/run.py": "verification",
    "problem_certificates/problem_certificate.py": "verification",
    "conic_programs/exact/exact_optimum.py": "verification",
}
"""Files that may import a higher room when a method is called, and this room.

`program.solve` and `program.explain` are functions of `solving`. Certificates, solutions, exact optima and runs are
saved by `verification`, because each file is verified before it is written.
"""


DOCSTRING = re.compile(r'""".*?"""', re.DOTALL)

IMPORT_STATEMENT = re.compile(r"^ *(?:from +[.\w]+ +import +(?:\([^)]*\)|[^\n(]+)|import +[^\n]+)", re.MULTILINE)


def room_of(path: Path) -> str:
    """Return the room of a source file: the entry of the package that contains the file."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def room_of_module(module: str) -> str:
    """Return the room of a module by its dotted name."""
    return module.split(".")[1] if "." in module else "__init__"


def is_permitted_upwards(path: Path, module: str) -> bool:
    """Return whether a source file may import a module although its room is higher."""
    return UPWARD_IMPORTS.get(path.relative_to(ROOT).as_posix()) == room_of_module(module)


@cache
def is_module(name: str) -> bool:
    """Return whether a dotted name is a module or a folder of the package."""
    place = ROOT.joinpath(*name.split(".")[1:])
    return place.is_dir() or place.with_suffix(".py").is_file()


def import_statements(text: str) -> list[ast.stmt]:
    """Return the import statements of a source, each of which begins a line: parsing all takes ten times as long."""
    lines = IMPORT_STATEMENT.findall(DOCSTRING.sub("", text))
    return ast.parse("\n".join(" ".join(line.split()) for line in lines)).body


@cache
def imports(path: Path) -> set[str]:
    """Return the modules of boostopt that a file imports, at the top, in a function, or on first use by its stub."""
    result: set[str] = set()
    package = ".".join(("boostopt", *path.parent.relative_to(ROOT).parts))
    files = [file for file in (path, path.with_suffix(".pyi")) if file.is_file()]
    for node in itertools.chain.from_iterable(import_statements(file.read_text()) for file in files):
        if isinstance(node, ast.ImportFrom):
            module = resolve_name("." * node.level + (node.module or ""), package)
            if module.split(".")[0] == "boostopt":
                inner = {alias.name: f"{module}.{alias.name}" for alias in node.names}
                result |= {inner[name] if is_module(inner[name]) or module == "boostopt" else module for name in inner}
        elif isinstance(node, ast.Import):
            result |= {alias.name for alias in node.names if alias.name.split(".")[0] == "boostopt"}
    return result


def sources() -> list[Path]:
    """Return the source files of the package, without formulations and templates."""
    excluded = {"formulations", "templates"}
    return [path for path in sorted(ROOT.rglob("*.py")) if not excluded & {*path.relative_to(ROOT).parts}]


def room_imports() -> dict[str, set[str]]:
    """Return the rooms that each room imports, itself and the top of the package left out."""
    result: dict[str, set[str]] = {}
    for path in sources():
        room = room_of(path)
        result.setdefault(room, set()).update(map(room_of_module, imports(path)))
    top = FLOORS[-1]
    return {room: rooms - {room} - top for room, rooms in result.items() if room not in top}


def without_implied(graph: Mapping[str, Iterable[str]]) -> dict[str, set[str]]:
    """Return an acyclic graph without the edges that follow from paths of two or more edges."""
    reachable: dict[str, set[str]] = {}
    for node in TopologicalSorter(graph).static_order():
        following = graph.get(node, ())
        reachable[node] = {*following}.union(*(reachable[successor] for successor in following))
    return {
        node: {successor for successor in successors if not any(successor in reachable[third] for third in successors)}
        for node, successors in graph.items()
    }
