"""The gallery of the notebooks by reader, each with its first picture and its first sentence."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from markup import write_folder

ABOUT = (
    "Every build of these pages runs the notebooks from their source. Their cells assert their claims, so a false "
    "claim fails the build. You can also download each notebook for Jupyter, with its outputs. In a clone, "
    "`make lab` opens them all."
)

INTERACTIVE = """\
One notebook is interactive: `marimo run notebooks/interactive/explore.py` opens sliders for $\\nu$, $\\eta$ and the
gap, and a choice of regularizers. If you move a slider, the weights on the triangle, the margins and the certified
interval follow. A move takes about a tenth of a second of processor time. To install marimo, use
`pip install ".[interactive]"`. The notebook also runs as a script, and is tested in this way:
`python notebooks/interactive/explore.py --regularizer "Hellinger's distance" --nu 0.6`."""

READERS = {
    "For everybody": ("quickstart",),
    "For the comparer": ("one_formulation_many_solvers",),
    "For the verifier": (
        "duality_of_your_own_problem",
        "duality_and_kkt",
        "iteration_bounds",
        "brittle_lpboost",
        "dynamics_of_adaboost",
    ),
    "For the prototyper": ("prototype_a_regularizer", "gallery_of_regularizers"),
    "For the practitioner": ("soft_margins", "an_ensemble_reweighted"),
    "The papers' pictures": ("softboost_figures", "pictures_of_the_dissertation"),
}
"""The notebooks for each reader, in reading order."""

ENDINGS = {"image/png": ".png", "image/svg+xml": ".svg"}


def write_notebook_list(folder: Path, notebooks: Path) -> None:
    """Write the gallery of the existing notebooks, and their first pictures beside it."""
    named = [name for names in READERS.values() for name in names]
    existing = sorted(path.stem for path in notebooks.glob("*.md"))
    if sorted(named) != existing:
        raise ValueError(f"READERS must name each notebook once; it names {sorted(named)}, and there are {existing}")
    folder.mkdir(parents=True, exist_ok=True)
    parts = ["# Notebooks", ABOUT]
    for reader, names in READERS.items():
        cards = "\n".join(_card(notebooks / f"{name}.ipynb", folder) for name in names)
        parts += [f"## {reader}", f"`````{{container}} gallery\n{cards}\n`````"]
    contents = "\n".join(f"/notebooks/{name}" for name in named)
    parts += ["## A notebook with sliders", INTERACTIVE, f"```{{toctree}}\n:hidden:\n\n{contents}\n```"]
    write_folder(folder, {"index": "\n\n".join(parts) + "\n"})


def _card(path: Path, folder: Path) -> str:
    """Return the card of a notebook, and write its picture into the folder."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    title, sentence = _introduced("".join(cells[0]["source"]))
    parts = [f"**[{title}](/notebooks/{path.stem}.md)**", sentence]
    for kind, data in _pictures(cells):
        picture = folder / f"{path.stem}{ENDINGS[kind]}"
        picture.write_bytes(base64.b64decode(data) if kind == "image/png" else data.encode())
        parts.insert(0, f"[![A picture of the notebook: {title}]({picture.name})](/notebooks/{path.stem}.md)")
        break
    parts.append(f"{{download}}`{path.name} </notebooks/{path.name}>`")
    return "````{container} card\n" + "\n\n".join(parts) + "\n````"


def _introduced(text: str) -> tuple[str, str]:
    """Return the title of a notebook and the first sentence after it, without links."""
    title, _, rest = text.strip().removeprefix("# ").partition("\n")
    first = " ".join(rest.strip().split("\n\n")[0].split())
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", first)
    return title.strip(), re.split(r"(?<=[.?!])\s", plain)[0]


def _pictures(cells: list[Any]) -> Iterator[tuple[str, str]]:
    """Yield the pictures in the outputs, each with its kind."""
    for cell in cells:
        for output in cell.get("outputs", ()):
            for kind in ENDINGS:
                if kind in (data := output.get("data", {})):
                    yield kind, "".join(data[kind])
