"""Whether the pair (F, G) that a file states is the one that its formulation and parameters mean.

The bounds are of the pair. That the pair is that of the formulation named is asked of the formulation's own page, which
makes F and G of the parameters; only pages that are part of boostopt or that the caller passes are asked, for a name in
a file may be the path of a program.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from boostopt.boosting.pages import PAGES
from boostopt.boosting.soft_margin import Goal, SoftMargin
from boostopt.errors import BoostoptError
from boostopt.programs.catalogue import get_formulation, list_formulations
from boostopt.programs.combining import names_combination
from boostopt.programs.formulation import Formulation
from boostopt.programs.parameters import check_values, read
from boostopt.programs.program import Examples, Program
from boostopt.verification.describing import described, described_edge
from boostopt.verification.parsing import fail
from boostopt.verification.reading import Document


def agree(document: Document, formulation: Any) -> Goal | None:
    """Reject a document whose pair is not that of its formulation; return the soft margin that is after, if any."""
    page = page_in(document.name, formulation)
    if document.subject == "program" and page.columns not in (None, document.t):
        fail(f"{page.name} takes {page.columns} columns; the certificate is of {document.t}")
    if not page.takes_reference and "d0" in document.arrays:
        fail(f"{page.name} has no reference distribution; the certificate states one")
    examples = Examples(document.c, document.d0)
    record = record_in(page, document.parameters, examples)
    try:
        pair = page.regularizer(record, examples), page.edge_function(record)
        goal = Goal.of(*pair, examples)
        if document.subject == "class":
            if goal is None:
                fail(f"{page.name} has no soft margin, so it has no certificate of a class")
            pair = goal.F0, goal.G
        statement = described(pair[0], examples, _nus(document))
        edge = described_edge(pair[1])
    except (BoostoptError, ArithmeticError, ValueError) as failure:
        fail(f"{page.name} with these parameters does not make a program: {failure}"[:400])
    if statement.numbers != document.F or edge != document.G:
        fail(
            f"{page.name} with the parameters of the file means F = {statement.numbers}, G = {edge}; the file states "
            f"F = {dict(document.F)}, G = {dict(document.G)}"[:500]
        )
    for name, values in statement.arrays.items():
        if not np.array_equal(values, document.arrays[name]):
            fail(f"{page.name} with the parameters of the file means other {name}")
    return goal


def agree_with_program(document: Document, program: Program) -> None:
    """Reject a document whose pair is not that of a program."""
    try:
        statement = described(program.regularizer, program.examples, _nus(document))
        edge = described_edge(program.edge_function)
    except BoostoptError as failure:
        fail(str(failure)[:400])
    arrays = all(np.array_equal(values, document.arrays[name]) for name, values in statement.arrays.items())
    if (statement.numbers, edge) != (document.F, document.G) or not arrays:
        fail(
            f"the certificate is of another program: of {document.name} with F = {dict(document.F)}, "
            f"G = {dict(document.G)}; the program has F = {statement.numbers}, G = {edge}"[:500]
        )


def page_in(name: str, formulation: Any) -> Formulation[Any]:
    """Return the page of a name, only if it is one of boostopt's or the caller's."""
    # In a file a booster is called as the literature writes it, which no formulation is.
    boosters = {page.name: page for page in PAGES.values()}
    if formulation is None:
        if name == SoftMargin.name:
            fail("the soft margin of a run depends on its formulation; pass formulation=")
        if name not in (*list_formulations(), *boosters) and not names_combination(name):
            fail(f"the formulation {name!r} is unknown; pass its page, formulation= or --page FILE.py")
        return boosters[name] if name in boosters else get_formulation(name)
    page = boosters[name] if formulation == name and name in boosters else get_formulation(formulation)
    return page if page.name == name else fail(f"the certificate is of {name!r}, not of {page.name!r}")


def record_in(page: Formulation[Any], stated: Mapping[str, Any], examples: Examples) -> Any:
    """Return the record of parameters."""
    parameters = page.parameters
    # A file that was written before the page had a parameter means its default: the pair that it states is compared.
    stated = {**{name: parameters[name].default for name in page.added}, **stated}
    if set(parameters) != set(stated):
        fail(
            f"{page.name} has the parameters {', '.join(sorted(parameters))}; the file states "
            f"{', '.join(sorted(stated))}"
        )
    for name, value in stated.items():
        if isinstance(value, bool) != (parameters[name].domain.kind == "flag"):
            fail(f"the parameter {name} of {page.name} must be a {parameters[name].domain.kind}")
    try:
        values = {name: read(parameters[name], value, examples.N) for name, value in stated.items()}
        check_values(parameters, values, examples)
        return page.Parameters(**values)
    except BoostoptError as failure:
        fail(str(failure)[:400])


def _nus(document: Document) -> tuple[float, ...]:
    """Return the numbers by which the caps may be stated, as they were when the file was written."""
    values = [v for v in document.parameters.values() if isinstance(v, float) and v > 0 and math.isfinite(v)]
    return (*values, 1.0)
