"""The page that lists the notebooks."""

from __future__ import annotations

from pathlib import Path

from markup import fenced, table, write_folder

ABOUT = (
    "They are run from their source each time these pages are built, and what they claim is asserted in their cells: a "
    "claim that does not hold fails the build. Each is a file for Jupyter too, with its outputs; `make lab` opens them "
    "in a clone."
)

INTERACTIVE = """\
One more moves: `marimo run notebooks/interactive/explore.py` opens sliders of $\\nu$, $\\eta$ and the gap, and a choice
of regularizers. The weights on the triangle, the margins and the certified interval follow; a move takes about a tenth
of a second of the processor. It comes with `pip install ".[interactive]"` and runs as a script too,
`python notebooks/interactive/explore.py --regularizer "Hellinger's distance" --nu 0.6`: so it is tested."""


def write_notebook_list(folder: Path, notebooks: Path) -> None:
    """Write the list of the notebooks that are there."""
    names = sorted(path.stem for path in notebooks.glob("*.md"))
    rows = [(f"[](/notebooks/{name}.md)", f"{{download}}`{name}.ipynb </notebooks/{name}.ipynb>`") for name in names]
    files = table(("notebook", "file"), rows)
    contents = fenced("toctree", body="\n" + "\n".join(f"/notebooks/{name}" for name in names), hidden="")
    about = f"{ABOUT}\n\n{files}" if names else "There is none yet."
    write_folder(folder, {"index": f"# Notebooks\n\n{about}\n\n{INTERACTIVE}\n\n{contents}\n"})
