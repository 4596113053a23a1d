"""The files of notebooks: identifiers, outputs, pictures, and what a failure leaves."""

from __future__ import annotations

import base64
import importlib.util
import io
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from nbclient.exceptions import CellExecutionError
from PIL import Image

COMMAND = Path(__file__).parents[1] / "docs" / "notebook_files.py"
SOURCE = """\
---
file_format: mystnb
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

# A notebook

```{code-cell} ipython3
:tags: [hide-input]

import warnings

warnings.warn("this is stale")
```

What comes of it.

```{code-cell} ipython3
print(6 * 7)
```
"""


@pytest.fixture(scope="module")
def files() -> Any:
    """The command as a module."""
    spec = importlib.util.spec_from_file_location("notebook_files", COMMAND)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "short.md"
    path.write_text(SOURCE, encoding="utf-8")
    return path


def edit(source: Path, old: str, new: str) -> None:
    assert old in SOURCE
    source.write_text(SOURCE.replace(old, new), encoding="utf-8")


def ran(outputs: Callable[[], list[Any]]) -> Callable[[Any, Path], None]:
    """Run nothing: give the first cell of code these outputs."""

    def run(notebook: Any, folder: Path) -> None:
        cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        for k, cell in enumerate(cells):
            cell.execution_count = k + 1
        cells[0].outputs = outputs()

    return run


def test_a_cell_that_has_not_changed_keeps_its_identifier(files: Any, source: Path) -> None:
    identifiers = [cell.id for cell in files.unrun(source).cells]
    assert [cell.id for cell in files.unrun(source).cells] == identifiers and len(set(identifiers)) == 4
    edit(source, "What comes of it.", "```{code-cell} ipython3\nprint(6 * 7)\n```\n\nAnd again.")
    first, folded, new, text, last = (cell.id for cell in files.unrun(source).cells)
    assert [first, folded] == identifiers[:2] and text not in identifiers
    assert new == identifiers[3] and last == f"{new}-2"  # cells that are alike are told apart


def test_code_with_the_tag_is_folded_in_jupyter_too(files: Any, source: Path) -> None:
    notebook = files.unrun(source)
    assert [cell.metadata.get("jupyter") for cell in notebook.cells] == [None, {"source_hidden": True}, None, None]
    assert notebook.cells[1].metadata.tags == ["hide-input"] and "tags" not in notebook.cells[1].source


def test_outputs_name_no_place_of_this_machine(files: Any) -> None:
    text = (
        f"{tempfile.gettempdir()}/ipykernel_12/345.py:3: UserWarning\n{COMMAND.parents[1]}/boostopt/text.py:4\n"
        f"{sys.prefix}/lib/python3.11/site-packages/numpy/core.py:5\n{Path.home()}/data.npz <Thing at 0x7f00aa>"
    )
    assert files.placeless(text) == ("<cell>:3: UserWarning\nboostopt/text.py:4\nnumpy/core.py:5\n~/data.npz <Thing>")


@pytest.mark.thorough
def test_a_picture_is_made_small_once_and_looks_the_same(files: Any) -> None:
    rows, columns = np.mgrid[:300, :300]
    grain = np.random.default_rng(0).integers(0, 4, (300, 300))
    pixels = np.stack([rows * 0.8 + grain, columns * 0.8 + grain, 120 + grain, np.full_like(rows, 255)], axis=-1)
    pixels = pixels.astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    png = base64.b64encode(buffer.getvalue()).decode()
    small = files.small(png)
    assert len(small) < len(png) / 2 and files.small(small) == small
    small_pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(small))).convert("RGBA"))
    assert small_pixels.shape == pixels.shape and np.abs(small_pixels.astype(int) - pixels).mean() < 8


def test_text_can_be_taken_over_without_a_run(files: Any, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"\bshort\.ipynb\b.*\bshort\.md\b.*NOTEBOOK=short"):
        files.make(source, text_alone=True)
    stream = nbformat.v4.new_output("stream", name="stdout", text="done\n")
    monkeypatch.setattr(files, "run", ran(lambda: [stream]))
    file = files.make(source)
    monkeypatch.delattr(files, "run")
    edit(source, "What comes of it.", "What became of it.")
    files.make(source, text_alone=True)
    notebook = nbformat.read(file, as_version=4)
    assert notebook.cells[2].source == "What became of it." and notebook.cells[1].outputs == [stream]
    edit(source, "print(6 * 7)", "print(6 * 7)  # a comment changes no output")
    commented = nbformat.read(files.make(source, text_alone=True), as_version=4)
    assert commented.cells[3].source.endswith("no output") and commented.cells[1].outputs == [stream]
    edit(source, "print(6 * 7)", "print(6 * 7);")  # at the end of a cell, this hides a value
    with pytest.raises(ValueError, match=r"the code has changed"):
        files.make(source, text_alone=True)
    edit(source, "6 * 7", "7 * 7")
    with pytest.raises(ValueError, match=r"the code has changed"):
        files.make(source, text_alone=True)
    assert "6 * 7" in file.read_text(encoding="utf-8")


def test_a_rich_output_needs_no_plain_text(files: Any, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = {"text/plain": "<Markdown object>", "text/markdown": "**42**"}
    rich = nbformat.v4.new_output("display_data", data=data, metadata={"needs": "nothing"})
    plain = nbformat.v4.new_output("display_data", data={"text/plain": "42"})
    monkeypatch.setattr(files, "run", ran(lambda: [rich, plain]))
    _, cell, *_ = nbformat.read(files.make(source), as_version=4).cells
    assert [output.data for output in cell.outputs] == [{"text/markdown": "**42**"}, {"text/plain": "42"}]
    assert all(output.metadata == {} for output in cell.outputs)


def test_outputs_of_a_busy_machine_are_refused(files: Any, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "cvxpy:scs: its process did not start within 0.485 s"
    monkeypatch.setattr(files, "run", ran(lambda: [nbformat.v4.new_output("stream", text=text)]))
    with pytest.raises(ValueError, match=r"expected outputs of an idle machine; .*'import warnings'.* Run it again"):
        files.make(source)
    assert not source.with_suffix(".ipynb").exists()


def test_the_alternative_text_of_a_cell_is_put_beside_its_picture(files: Any, source: Path, monkeypatch: Any) -> None:
    header = "---\nmystnb:\n  image:\n    alt: A line that rises.\ntags: [hide-input]\n---"
    edit(source, ":tags: [hide-input]\n", header)
    buffer = io.BytesIO()
    Image.new("RGB", (4, 4)).save(buffer, "PNG")
    png = nbformat.v4.new_output("display_data", data={"image/png": base64.b64encode(buffer.getvalue()).decode()})
    table = nbformat.v4.new_output("display_data", data={"text/markdown": "**42**"})
    monkeypatch.setattr(files, "run", ran(lambda: [png, table]))
    _, cell, *_ = nbformat.read(files.make(source), as_version=4).cells
    assert cell.metadata.mystnb == {"image": {"alt": "A line that rises."}} and cell.metadata.tags == ["hide-input"]
    assert [output.metadata for output in cell.outputs] == [{"image/png": {"alt": "A line that rises."}}, {}]
    assert cell.source.startswith("import warnings")


@pytest.mark.thorough
def test_a_notebook_is_run_and_a_cell_that_fails_leaves_the_file_as_it_was(files: Any, source: Path) -> None:
    file = files.make(source)
    content = file.read_bytes()
    _, warning_cell, _, printing_cell = nbformat.reads(content.decode(), as_version=4).cells
    assert printing_cell.outputs[0].text == "42\n" and [
        warning_cell.execution_count,
        printing_cell.execution_count,
    ] == [1, 2]
    assert re.match(r"<cell>:3: UserWarning: this is stale", warning_cell.outputs[0].text)
    assert files.make(source).read_bytes() == content
    edit(source, "6 * 7", "6 / 0")
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        files.make(source)
    assert file.read_bytes() == content and {path.name for path in source.parent.iterdir()} == {
        "short.md",
        "short.ipynb",
    }
