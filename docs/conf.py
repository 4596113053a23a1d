"""Sphinx's configuration. The source is the repository: `docs/` and `notebooks/` are siblings in it."""

from __future__ import annotations

import os
import re
import sys
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from docutils import nodes  # noqa: E402
from notebook_files import SECONDS_A_CELL  # noqa: E402
from sphinx import addnodes  # noqa: E402
from sphinx.ext.napoleon import Config, NumpyDocstring  # noqa: E402

import boostopt  # noqa: E402

project = "boostopt"
author = "The boostopt developers"
copyright = author
release = version = boostopt.__version__

root_doc = "docs/index"
include_patterns = ["docs/**", "notebooks/**"]
# Each notebook is two files: its source, which is run, and the file with outputs. BOOSTOPT_NOTEBOOKS says which
# notebooks are run: all of them, none, or one by its number; a number beyond the last counts from the first again.
NOTEBOOKS = sorted(path.stem for path in (HERE.parent / "notebooks").glob("*.md"))
TURN = os.environ.get("BOOSTOPT_NOTEBOOKS", "all")
RUN = {"all": NOTEBOOKS, "none": []}[TURN] if not TURN.isdecimal() else [NOTEBOOKS[int(TURN) % len(NOTEBOOKS)]]
exclude_patterns = [f"notebooks/{name}.{'ipynb' if name in RUN else 'md'}" for name in NOTEBOOKS]
exclude_patterns += ["**/.ipynb_checkpoints", "docs/paper/**"]
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx_copybutton", "sphinxcontrib.bibtex"]
myst_enable_extensions = ["amsmath", "dollarmath"]
myst_heading_anchors = 3
bibtex_bibfiles = ["references.bib"]
bibtex_default_style = "plain"

# Notebooks are run, once each, by the Python of this environment, and may not fail.
os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
nb_execution_mode = "force"
nb_execution_excludepatterns = ["*.ipynb"]
nb_execution_raise_on_error = True
nb_execution_timeout = SECONDS_A_CELL
nb_kernel_rgx_aliases = {".*": "python3"}
nb_merge_streams = True
nb_render_markdown_format = "myst"  # outputs may hold tables and formulas
nb_ipywidgets_js: dict[str, Any] = {}

autodoc_inherit_docstrings = False
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
maximum_signature_line_length = 88
# Backticks around a public name are a link, around anything else code. Other projects' names are not linked, for the
# pages are built without a network; a type of boostopt must be on some page.
default_role = "py:obj"
nitpicky = True
nitpick_ignore_regex = [
    ("py:obj", ".*"),
    ("py:.*", r"(?!boostopt\.).*"),
    (
        "py:class",
        r"boostopt\.(programs\.\w+\.(P|FormulationLike)|rows\.(?!margin_matrix\.MarginMatrix)\w+\.\w+|"
        r"ensembles\.distributed_reweighting\.\w+|_utils\.array_types\.DaskCollection|oracles\.[\w.]+\.Distributed\w+|"
        r"functions\.regularizers\.(base\.Enclosures|relative_entropy\.E)|problem_certificates\.\w+\.ProblemAnswer|"
        r"problem_certificates\.cone_proofs\.\w+\.ProgramProof|"
        r"programs\.cvxpy_functions\.\w+\.Description|"
        r"comparison\.work_precision\.\w+\.(CheapestRequest|PrecisionPoint)|"
        r"comparison\.\w+\.(ProgramScore|MeanScore|BenchmarkSettings|SolveResults|MeasuredSolves|Run|Settings|"
        r"(Problem)?(Benchmark|Compare)Keywords))",
    ),
]

html_theme = "furo"
html_title = f"boostopt {release}"
# MathJax in one file that needs no other and no network: glyphs are drawn, not fetched.
mathjax = distribution("sphinx-mathjax-offline").locate_file("sphinx-mathjax-offline/static/mathjax/tex-svg-full.js")
html_static_path = [str(mathjax), "wide.css"]
html_css_files = ["wide.css"]
mathjax_path = "tex-svg-full.js"

# The button copies the input of an example, without its output.
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

SECTIONS = Config(napoleon_use_ivar=True, napoleon_use_rtype=False, napoleon_attr_annotations=False)
RETURNS = re.compile(r"^Returns\n-+\n((?:\S.*\n?)+)", re.MULTILINE)
SHARED = re.compile(r"^(\w+(?:, \w+)+)\n((?: +.*\n)+)", re.MULTILINE)
MARKUP = re.compile(r"(?<!\*)\*(?!\*)|\||(?<=\w)_(?!\w)")


def write_pages(app: Any) -> None:
    """Make the pages that come from the code, and the list of the notebooks."""
    from evidence_pages import write_evidence_pages
    from formulation_pages import write_formulation_pages
    from notebook_list import write_notebook_list
    from reference_pages import write_reference_pages

    write_evidence_pages(HERE / "evidence")
    write_formulation_pages(HERE / "formulations")
    write_notebook_list(HERE / "notebooks", HERE.parent / "notebooks")
    write_reference_pages(HERE / "reference")


def read_docstring(app: Any, kind: str, name: str, thing: object, options: Any, lines: list[str]) -> None:
    """Turn a docstring into reStructuredText.

    Plain notation, such as max(1, |lower|) and F*, must not be read as markup. The docstring of a property is a
    sentence: napoleon would take the words before a colon for a type. It would also do so with a sentence below
    Returns, and it knows no attributes that share a description.
    """
    text = SHARED.sub(lambda match: "".join(f"{one}\n{match[2]}" for one in match[1].split(", ")), "\n".join(lines))
    # Two empty lines end the section before.
    text = RETURNS.sub(lambda match: f"\n:returns: {' '.join(match[1].split())}\n", text)
    pieces = re.split(r"(`+[^`]+`+)", text)
    text = "".join(piece if k % 2 else MARKUP.sub(r"\\\g<0>", piece) for k, piece in enumerate(pieces))
    if kind not in ("attribute", "data", "property"):
        text = str(NumpyDocstring(text, SECTIONS, app, kind, name, thing, options))
    lines[:] = text.split("\n")


def end_with_the_last_line(app: Any, page: str, source: list[str]) -> None:
    """Leave out the empty line before the end of a fence: doctest needs it, readers do not."""
    source[0] = source[0].replace("\n\n```\n", "\n```\n")


def offer_the_file(app: Any, page: nodes.document) -> None:
    """Say under the title of a notebook where its file is, before Sphinx collects the files that pages offer."""
    folder, _, name = app.env.docname.rpartition("/")
    if folder != "notebooks":
        return
    file = f"{name}.ipynb"
    offered = addnodes.download_reference("", "", nodes.literal("", file), reftarget=f"/{folder}/{file}", refdoc=page)
    title = next(page.findall(nodes.title))
    title.parent.insert(
        title.parent.index(title) + 1, nodes.paragraph("", "", nodes.Text("To open in Jupyter: "), offered)
    )


def write_entrance(app: Any, failure: Exception | None) -> None:
    """Send whoever opens the folder to the first page."""
    if failure is None:
        entrance = '<!doctype html><meta http-equiv="refresh" content="0; url=docs/index.html">\n'
        Path(app.outdir, "index.html").write_text(entrance, encoding="utf-8")


def setup(app: Any) -> None:
    """Connect what is done here beside the extensions."""
    app.connect("builder-inited", write_pages)
    app.connect("source-read", end_with_the_last_line)
    app.connect("doctree-read", offer_the_file, priority=100)
    app.connect("autodoc-process-docstring", read_docstring)
    app.connect("build-finished", write_entrance)
