"""The paper as PDF: `make paper` installs pandoc and typst as wheels, and runs this file."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parents[1] / "build" / "paper"


def build_paper(folder: Path) -> Path:
    """Write paper.typ, the figures and paper.pdf into a folder, and return the path of the PDF."""
    import pypandoc
    import typst

    folder.mkdir(parents=True, exist_ok=True)
    source, pdf = folder / "paper.typ", folder / "paper.pdf"
    command = [pypandoc.get_pandoc_path(), "--defaults", HERE / "pandoc.yaml", "--to", "typst", "--output", source]
    subprocess.run(command, check=True)
    for picture in HERE.glob("*.png"):
        shutil.copy(picture, folder)
    typst.compile(source, output=pdf)
    return pdf


if __name__ == "__main__":
    build_paper(FOLDER)
