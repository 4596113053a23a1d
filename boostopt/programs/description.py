"""Descriptions of a program for readers who have only the report: its formulation page and facts about its data."""

from __future__ import annotations

from typing import Any

import numpy as np

from boostopt.programs.formulation import Formulation
from boostopt.programs.program import Program


def describe(program: Program) -> dict[str, Any]:
    """Return the text of the page and facts about the data, as plain values.

    Returns
    -------
    `headline`; `title`, `sources`, `page` (the text of the page, with its problems in plain notation) and `meanings`
    (of the parameters, by name), which are "" or empty if the page does not have them; `nonzeros`, `smallest` and
    `largest` entry of U and its `storage`; `multiplicities`, the smallest and the largest; and whether the `reference`
    distribution is that of c; and `equal_weights`, the bounds that they prove (see `bounds_of_equal_weights`).
    """
    page, examples = program.formulation, program.examples
    stated = isinstance(page, Formulation)
    return {
        "headline": program.headline,
        "title": (page.title or page.name) if stated else page.name,
        "sources": list(page.sources) if stated else [],
        "page": page.text if stated else "",
        "meanings": {name: parameter.meaning for name, parameter in page.parameters.items()} if stated else {},
        **_entries(program),
        "multiplicities": [float(examples.c.min()), float(examples.c.max())],
        "reference": "proportional to c"
        if np.allclose(examples.d0, examples.c / examples.total, rtol=1e-12, atol=0.0)
        else "given",
        "equal_weights": bounds_of_equal_weights(program),
    }


def bounds_of_equal_weights(program: Program) -> list[float | None]:
    """Return the lower bound that equal weights of the hypotheses prove, and the upper bound by equal examples.

    Returns
    -------
    Two numbers; None for an infinite bound.
    """
    examples, t = program.examples, program.margins.t
    trivial = program.certify(d=examples.c / examples.total, w=np.full(t, 1.0 / t))
    return [bound if np.isfinite(bound) else None for bound in (trivial.lower, trivial.upper)]


def _entries(program: Program) -> dict[str, Any]:
    """Return a description of the entries of U."""
    nonzeros, smallest, largest = 0, np.inf, -np.inf
    for _, block in program.margins.blocks():
        nonzeros += int(np.count_nonzero(block)) if isinstance(block, np.ndarray) else int(block.count_nonzero())
        smallest, largest = min(smallest, float(block.min())), max(largest, float(block.max()))
    kind = repr(program.margins).rpartition(", ")[2].removesuffix(")")
    return {"nonzeros": nonzeros, "smallest": smallest, "largest": largest, "storage": kind}
