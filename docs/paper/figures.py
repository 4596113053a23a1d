"""The two figures of the paper, drawn from stored results: `python docs/paper/figures.py` writes them beside it."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent
sys.path[:0] = [str(DOCS.parent), str(DOCS.parent / "tests")]

SOLVERS = ("CLARABEL", "HIGHS", "OSQP", "SCS")
MANY = 40
"""Solvers with fewer claims are left out: curves of all would not be told apart."""

REQUEST = 1e-6
"""The request of the claims: the value of all tolerances."""

NAMES = {
    "cvxpy:clarabel": "Clarabel",
    "cvxpy:cvxopt": "CVXOPT",
    "cvxpy:ecos": "ECOS",
    "cvxpy:piqp": "PIQP",
    "cvxpy:qoco": "QOCO",
    "cvxpy:scs": "SCS",
    "interior": "boostopt",
    "CLARABEL": "Clarabel",
    "HIGHS": "HiGHS",
}
"""Names of solvers as their authors write them."""

STYLES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), (0, (1, 2)), (0, (8, 3)))
"""Lines that differ without colours."""

LEAST = 1e-13
"""Gaps below this are drawn at it: no solver is asked for less."""


def draw_atlas(path: Path) -> None:
    """Draw the certified gaps of the claims of an optimum in the atlas at a request of 1e-6, for each solver."""
    from benchmarks.atlas import STORE, claim_counts, stored_session

    counts = claim_counts(stored_session(STORE))
    gaps_by_solver = {count.entrant: count.gaps for count in counts if count.request == REQUEST}
    labels = {
        name: f"{NAMES.get(name, name)}, {len(gaps)} claims"
        for name, gaps in gaps_by_solver.items()
        if len(gaps) > MANY
    }
    draw_shares(path, {labels[name]: gaps_by_solver[name] for name in sorted(labels)}, "certified gap of a claim")


def claim_distances() -> dict[str, list[float]]:
    """Return how far each claimed optimum is from the certified interval, relative, for each solver."""
    units = json.loads(gzip.decompress((DOCS / "instances_of_others.json.gz").read_bytes()))["units"]
    results = {(unit["parameters"]["file"], unit["parameters"]["step"]): unit["result"] for unit in units}
    distances = dict[str, list[float]]()
    for (file, step), result in results.items():
        solver, certified = step.removeprefix("solve "), results.get((file, "certify program"))
        is_claim = step.startswith("solve ") and result.get("status") == "optimal" and result.get("value") is not None
        if is_claim and certified and certified.get("status") == "bounded":
            value, lower, upper = float(result["value"]), float(certified["lower"]), float(certified["upper"])
            scale = max(1.0, min(abs(lower), abs(upper)))
            distances.setdefault(solver, []).append(max(0.0, lower - value, value - upper) / scale)
    return {solver: distances[solver] for solver in SOLVERS if solver in distances}


def draw_instances(path: Path) -> None:
    """Draw how far claimed optima of the instances of others are from the certified intervals, for each solver."""
    distances = claim_distances()
    curves = {f"{NAMES.get(solver, solver)}, {len(values)} claims": values for solver, values in distances.items()}
    draw_shares(path, curves, "distance of a claim from the interval, relative")


def draw_shares(path: Path, values_by_label: Mapping[str, Sequence[float]], label: str) -> None:
    """Draw for each label the share of values that are larger than a number, against the number."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.2, 3.2), layout="constrained")
    axes: Any = figure.subplots()
    for style, (name, values) in zip(STYLES, values_by_label.items(), strict=False):
        ordered = np.sort(np.maximum(np.asarray(values, dtype=float), LEAST))
        axes.step(ordered, 1.0 - np.arange(1, len(ordered) + 1) / len(ordered), where="post", ls=style, label=name)
    axes.set(xscale="log", xlabel=label, ylabel="share of claims above", ylim=(0.0, 1.0))
    axes.legend(frameon=False, fontsize=8, loc="upper right")
    figure.savefig(path, dpi=200, metadata={"Software": None})


if __name__ == "__main__":
    draw_atlas(HERE / "atlas.png")
    draw_instances(HERE / "instances.png")
