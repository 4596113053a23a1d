"""The notebooks as files that Jupyter opens: made from their sources, run, and written beside them.

`notebooks/NAME.md` is the source of `notebooks/NAME.ipynb`, which has its cells and what they put out. Run as a command
with the names of notebooks, or none for all of them. A cell that fails, or takes too long, ends the command, and the
file stays as it was. The file leaves out numbers that differ between two machines or two runs and mean nothing:
times of execution, the version of Python, places of files, addresses in memory.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import io
import os
import re
import sys
import tempfile
import time
import tokenize
from collections import Counter
from copy import deepcopy
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbclient import NotebookClient
from PIL import Image

from boostopt._utils.files import write_atomically

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "notebooks"

SECONDS_A_CELL = 300
"""The longest that a cell may take: a few seconds on an idle machine, many times that on a busy one."""

FOLDED = "hide-input"
"""The tag of cells whose code is folded: Sphinx reads the tag, Jupyter what `unrun` adds to it."""

COLORS = 256
"""Colours that a picture keeps. Text, lines and level sets look the same, and the file is a third as large."""

BUSY = "did not start within"
"""Words of an output that say that the machine was busy: such a figure is none of a solver, and is not published."""

PLACES = {
    re.escape(tempfile.gettempdir()) + r"/ipykernel_\d+/\d+\.py": "<cell>",
    rf"(?:{re.escape(sys.prefix)}|{re.escape(sys.base_prefix)})/(?:lib/python[\d.]+/)?(?:site-packages/)?": "",
    re.escape(f"{ROOT}/"): "",
    re.escape(f"{Path.home()}/"): "~/",
    r"(?<=\w) at 0x[0-9a-f]+(?=>)": "",
}
"""Patterns of text that outputs must not contain, with the replacements."""


def unrun(source: Path) -> nbformat.NotebookNode:
    """Return the notebook of a source without outputs; cells that have not changed keep their identifiers."""
    read = jupytext.read(source)
    counts: Counter[str] = Counter()
    for cell in read.cells:
        digest = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:12]
        counts[digest] += 1
        cell.id = digest if counts[digest] == 1 else f"{digest}-{counts[digest]}"
        if FOLDED in cell.metadata.get("tags", []):
            cell.metadata["jupyter"] = {"source_hidden": True}
    read.metadata = nbformat.from_dict(
        {"kernelspec": dict(read.metadata.kernelspec), "language_info": {"name": "python"}}
    )
    read.nbformat, read.nbformat_minor = 4, 5
    return read


def run(notebook: nbformat.NotebookNode, folder: Path) -> None:
    """Run a notebook in a folder, by the Python of this environment.

    Raises
    ------
    CellExecutionError, CellTimeoutError
        A cell failed, or took longer than it may.
    """
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    head = deepcopy(notebook.metadata)
    client = NotebookClient(
        notebook,
        timeout=SECONDS_A_CELL,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
        coalesce_streams=True,
    )
    client.execute()
    notebook.metadata = head


def alt_text(cell: nbformat.NotebookNode) -> str | None:
    """Return what a cell says of its pictures to readers who do not see them: Sphinx reads it from the same place."""
    return cell.metadata.get("mystnb", {}).get("image", {}).get("alt")


def put_in_order(output: Any, alt: str | None = None) -> None:
    """Remove from an output everything that depends on the machine or the run, and make its pictures small.

    The text for those who do not see a picture goes beside the picture too, where nbconvert and its viewers look.
    """
    if output.output_type == "stream":
        output.text = placeless(output.text)
        return
    output.metadata = nbformat.NotebookNode()
    if alt is not None and "image/png" in output.data:
        output.metadata["image/png"] = {"alt": alt}
    if len(output.data) > 1:  # plain text is for who cannot show the other
        output.data.pop("text/plain", None)
    for kind, value in output.data.items():
        if kind == "image/png":
            output.data[kind] = small(value)
        elif isinstance(value, str):
            output.data[kind] = placeless(value)


def placeless(text: str) -> str:
    """Return what a cell has put out without places of files and addresses in memory."""
    for pattern, name in PLACES.items():
        text = re.sub(pattern, name, text)
    return text


def small(png: str) -> str:
    """Return a picture in few colours if that makes it smaller: PNG, in base 64 as notebooks have it."""
    image = Image.open(io.BytesIO(base64.b64decode(png)))
    if image.mode == "P":
        return png
    white = Image.new("RGBA", image.size, "white")
    white.alpha_composite(image.convert("RGBA"))
    buffer = io.BytesIO()
    white.convert("RGB").quantize(COLORS, dither=Image.Dither.NONE).save(buffer, "PNG", optimize=True)
    return min(base64.b64encode(buffer.getvalue()).decode(), png.replace("\n", ""), key=len)


def without_comments(code: str) -> list[tuple[str, tuple[int, int]]]:
    """Return the tokens of a cell with their places: two cells that differ in comments alone have the same ones."""
    ends = tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER
    tokens = tokenize.generate_tokens(io.StringIO(code).readline)
    return [(one.string, one.start) for one in tokens if one.type not in ends]


def with_outputs_of(notebook: nbformat.NotebookNode, earlier: nbformat.NotebookNode) -> bool:
    """Give a notebook the outputs of its earlier file if the code is the same up to comments; return whether it is."""
    new, old = ([cell for cell in one.cells if cell.cell_type == "code"] for one in (notebook, earlier))
    if [without_comments(cell.source) for cell in new] != [without_comments(cell.source) for cell in old]:
        return False
    for cell, ran in zip(new, old, strict=True):
        cell.outputs, cell.execution_count = ran.outputs, ran.execution_count
    return True


def make(source: Path, text_alone: bool = False) -> Path:
    """Make the file of a notebook from its source, whole or not at all, and return it.

    Parameters
    ----------
    source
        Its Markdown; the file is written beside it.
    text_alone
        Whether only text, tags, alternative texts and comments have changed: nothing is run, and the outputs stay.

    Raises
    ------
    ValueError
        Nothing is to be run, but the code has changed or was never run; or an output says that the machine was busy.
    CellExecutionError, CellTimeoutError
        A cell failed, or took longer than it may.
    """
    notebook, file = unrun(source), source.with_suffix(".ipynb")
    if not text_alone:
        run(notebook, source.parent)
    elif not file.exists() or not with_outputs_of(notebook, nbformat.read(file, as_version=4)):
        raise ValueError(
            f"expected {file.name} with the code of {source.name}, for its outputs are to stay; the code has changed, "
            f"or was never run. Run it: make notebooks NOTEBOOK={source.stem}"
        )
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            put_in_order(output, alt_text(cell))
            if not text_alone and BUSY in str(output):
                raise ValueError(
                    f"expected outputs of an idle machine; a process {BUSY} its limit, in the cell that begins with "
                    f"{cell.source.splitlines()[0]!r}. "
                    f"Run it again: make notebooks NOTEBOOK={source.stem}"
                )
    nbformat.validate(notebook)
    text = f"{nbformat.writes(notebook)}\n".encode()
    write_atomically(file, lambda opened: opened.write(text))
    return file


def main() -> None:
    """Make the notebooks that are named, or all."""
    sources = {path.stem: path for path in sorted(FOLDER.glob("*.md"))}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="of a notebook; all if none")
    parser.add_argument("--text", action="store_true", help="run nothing: only text, tags or comments have changed")
    arguments = parser.parse_args()
    if unknown := sorted({*arguments.names} - {*sources}):
        parser.error(f"expected names of {', '.join(sources)}; got {', '.join(unknown)}. Name one of those.")
    for name in arguments.names or sources:
        start = time.monotonic()
        file = make(sources[name], arguments.text)
        print(
            f"{file.relative_to(ROOT)}: {file.stat().st_size / 1000:.0f} kB, {time.monotonic() - start:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
