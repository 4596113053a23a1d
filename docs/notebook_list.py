"""The page that lists the notebooks."""

from __future__ import annotations

from pathlib import Path

from markup import fenced, write_folder

ABOUT = (
    "They are run from their source each time these pages are built, and what they claim is asserted in their cells: a "
    "claim that does not hold fails the build."
)

INTERACTIVE = """\
One more moves: `marimo run notebooks/interactive/explore.py` opens sliders of $\\nu$, $\\eta$ and the gap, and a choice
of regularizers. The weights on the triangle, the margins and the certified interval follow; a move takes about a tenth
of a second of the processor. It comes with `pip install ".[interactive]"` and runs as a script too,
`python notebooks/interactive/explore.py --regularizer "Hellinger's distance" --nu 0.6`: so it is tested."""


def write_notebook_list(folder: Path, notebooks: Path) -> None:
    """Write the list of the notebooks that are there."""
    names = sorted(path.stem for path in notebooks.glob("*.md"))
    contents = fenced("toctree", body="\n" + "\n".join(f"/notebooks/{name}" for name in names))
    write_folder(
        folder, {"index": f"# Notebooks\n\n{ABOUT if names else 'There is none yet.'}\n\n{INTERACTIVE}\n\n{contents}\n"}
    )
