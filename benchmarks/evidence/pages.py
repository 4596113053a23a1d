"""Pages of what the papers claim, printed beside ours, from the units that are kept: nothing is run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.evidence.claims import claims_page, lines_of, verdicts_by_sentence
from benchmarks.evidence.experiment import Experiment, Results
from benchmarks.evidence.sentences import sentences_page
from benchmarks.evidence.store import load

PAGES = {
    "dissertation": "Entropy Regularized LPBoost: the experiments of chapter 5",
    "dissertation_pictures": "The pictures of chapters 2 to 4",
    "soft_margins": "Soft Margins for AdaBoost: figures",
    "soft_margins_table": "Soft Margins for AdaBoost: table 1",
    "softboost": "Boosting algorithms for maximizing the soft margin",
    "dynamics": "The dynamics of boosting",
    "equivalence": "Weak learnability and linear separability: rates",
}
"""The pages, in their order, and their titles."""

ABOUT = """\
These pages run again what the papers print. Printed figures stand beside ours, with the command and the seconds that it
took. `docs/evidence` stores all units of an experiment, and the pages are made from the units. `make evidence` runs the
missing units. `python benchmarks/evidence --recheck .03` runs three percent of them again, by chance, and compares.
Seconds are those of one core. If the dynamics are chaotic, or rounding ends a run, another processor computes other
numbers."""

COMMAND = "python benchmarks/evidence --only {name}"


def write_evidence(folder: Path, experiments: Sequence[Experiment], results: Mapping[str, Results]) -> dict[str, str]:
    """Return the pages by their names, pictures being written into the folder; only of what has results."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = dict[str, str]()
    for name, title in PAGES.items():
        parts = [
            _part(experiment, results[experiment.name], folder)
            for experiment in experiments
            if experiment.page == name and len(results[experiment.name])
        ]
        if parts:
            pages[name] = f"# {title}\n\n" + "\n\n".join(parts) + "\n"
    pages["claims"] = claims_page(experiments, results)
    pages["sentences"] = sentences_page(verdicts_by_sentence(lines_of(experiments, results)))
    contents = "\n".join(pages)
    pages["index"] = f"# Evidence\n\n{ABOUT}\n\n```{{toctree}}\n:maxdepth: 2\n\n{contents}\n```\n"
    return pages


def of_kept(folder: Path, results_folder: Path, experiments: Sequence[Experiment]) -> dict[str, str]:
    """Return the pages of the units that are kept."""
    return write_evidence(folder, experiments, {e.name: load(results_folder, e.name) for e in experiments})


def _part(experiment: Experiment, results: Results, folder: Path) -> str:
    """Return what a page says of an experiment."""
    units = "1 unit" if len(results) == 1 else f"{len(results)} units"
    took = f"`{COMMAND.format(name=experiment.name)}`: {units}, {results.seconds:,.0f} seconds of a core."
    return f"## {experiment.title}\n\n*{experiment.source}.* {took}\n\n{experiment.write_page(results, folder).strip()}"


def span(values: Iterable[float], form: str = ".3f") -> str:
    """Return the range of numbers in a format, one where both bounds are the same in it, nothing for none."""
    ordered = sorted(values)
    if not ordered:
        return ""
    low, high = format(ordered[0], form), format(ordered[-1], form)
    return low if low == high else f"{low} to {high}"


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table in Markdown, the first column to the left and the others to the right."""
    lines = [header, [":--", *["--:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def picture(folder: Path, name: str, figure: object, alt: str) -> str:
    """Write a figure of Matplotlib and return the Markdown that shows it."""
    import matplotlib.pyplot as plt

    file = f"{name}.svg"
    # The same figure is the same file: no date, and marks that do not depend on a chance.
    with plt.rc_context({"svg.hashsalt": name}):
        figure.savefig(os.path.join(folder, file), bbox_inches="tight", metadata={"Date": None})  # pyright: ignore[reportAttributeAccessIssue]
    plt.close(figure)  # pyright: ignore[reportArgumentType]
    return f"![{alt}]({file})"
