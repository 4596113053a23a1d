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

from boostopt.boosting.registry import PAGES
from boostopt.errors import BoostoptError, ProblemError, reason_of
from boostopt.functions.edge_functions.base import EdgeFunction
from boostopt.functions.regularizers.base import Regularizer
from boostopt.objectives.soft_margin import SoftMarginFormulation, SoftMarginObjective
from boostopt.programs.catalogue import get_formulation, list_formulations
from boostopt.programs.formulation import Formulation
from boostopt.programs.loss_penalty import is_combination_name
from boostopt.programs.parameters import check_value, check_values
from boostopt.programs.program import Examples, Program
from boostopt.verification.certificate_files import edge_to_json, regularizer_to_json
from boostopt.verification.trusted_kernel.certificate_schema import CertificateDocument, FunctionsAsJSON
from boostopt.verification.trusted_kernel.json_parsing import reject

Functions = tuple[Regularizer, EdgeFunction]
"""F and G."""


def check_formulation_consistency(
    document: CertificateDocument, formulation: Any, program: Program | None = None
) -> SoftMarginObjective | None:
    """Return the soft margin, or other value, that a formulation is after, if any.

    Reject a document whose pair is not that of its formulation, or not that of the caller's program if there is one.
    """
    page = trusted_formulation(
        document.formulation_name, program.formulation if formulation is None and program is not None else formulation
    )
    if document.subject == "program" and page.columns not in (None, document.t):
        reject(f"{page.name} takes {page.columns} columns; the certificate is of {document.t}")
    if not page.uses_reference and "d0" in document.arrays:
        reject(f"{page.name} has no reference distribution; the certificate states one")
    examples = Examples(document.c, document.d0)
    record = parameter_record(page, document.parameters, examples)
    pair, goal = functions_of_parameters(page, record, examples)
    if document.subject == "class":
        if document.formulation_functions is not None:
            check_functions_agree(page, pair, document.formulation_functions, examples, document.parameters)
        if goal is None:
            reject(f"{page.name} has no soft margin, so it has no certificate of a class")
        pair = goal.F0, goal.G
    of_file = document.F, document.G
    check_functions_agree(page, pair, of_file, examples, document.parameters, document.arrays)
    if program is not None:
        pair = program.regularizer, program.edge_function
        check_functions_agree(program, pair, of_file, program.examples, document.parameters, document.arrays)
    return goal


def functions_of_parameters(
    page: Formulation[Any], record: Any, examples: Examples
) -> tuple[Functions, SoftMarginObjective | None]:
    """Return F and G that a page makes of its parameters, and the soft margin, or other value, that they are after."""
    try:
        pair = page.regularizer(record, examples), page.edge_function(record)
        return pair, SoftMarginObjective.from_pair(*pair, examples)
    except (BoostoptError, ArithmeticError, ValueError) as failure:
        reject(f"{page.name} with these parameters does not make a program: {reason_of(failure)}"[:400])


def check_measure(stated: str | None, measure: str) -> None:
    """Reject a file that says it bounds another value than F and G of its formulation make of the margins.

    Older files do not name the value.
    """
    if stated is not None and stated != measure:
        reject(
            f"it says that it bounds the best {stated}; its formulation with these parameters means the best {measure}"[
                :400
            ]
        )


def functions_as_json(page: Formulation[Any], record: Any, examples: Examples) -> dict[str, Any]:
    """Return F and G of a formulation as a certificate of a class states them; nothing if no file can state them."""
    try:
        F = regularizer_to_json(page.regularizer(record, examples), examples, candidate_nus(vars(record)))
        return {"F": F.numbers, "G": edge_to_json(page.edge_function(record))}
    except ProblemError:
        return {}


def check_functions_agree(
    of: Formulation[Any] | Program,
    pair: Functions,
    of_file: FunctionsAsJSON,
    examples: Examples,
    parameters: Mapping[str, Any],
    arrays: Mapping[str, Any] | None = None,
) -> None:
    """Reject a file that states another pair than that of a formulation with its parameters, or of a program.

    Arrays of F are compared where the file holds them.
    """
    name = f"{of.name} with the parameters of the file means" if isinstance(of, Formulation) else "the program has"
    try:
        F, G = regularizer_to_json(pair[0], examples, candidate_nus(parameters)), edge_to_json(pair[1])
    except (BoostoptError, ArithmeticError, ValueError) as failure:
        reject(f"{name} another pair than the file: {reason_of(failure)}"[:400])
    if (F.numbers, G) != of_file:
        other = "" if isinstance(of, Formulation) else "it is the certificate of another program: "
        reject(
            f"{other}{name} F = {F.numbers}, G = {G}; the file states F = {dict(of_file[0])}, G = {dict(of_file[1])}. "
            "Check the name and the parameters, or ask for the file as it was saved"[:600]
        )
    for array, values in F.arrays.items():
        if arrays is not None and not np.array_equal(values, arrays[array]):
            reject(f"{name} other {array} than the file states")


def trusted_formulation(name: str, formulation: Any) -> Formulation[Any]:
    """Return the page of a name, only if it is one of boostopt's or the caller's."""
    # In a file a booster is called as the literature writes it, which no formulation is.
    boosters = {page.name: page for page in PAGES.values()}
    if formulation is None:
        if name == SoftMarginFormulation.name:
            reject("the soft margin of a run depends on its formulation; pass formulation=")
        if name not in (*list_formulations(), *boosters) and not is_combination_name(name):
            reject(f"the formulation {name!r} is unknown; pass its page, formulation= or --page FILE.py")
        return boosters[name] if name in boosters else get_formulation(name)
    page = boosters[name] if formulation == name and name in boosters else get_formulation(formulation)
    return page if page.name == name else reject(f"the certificate is of {name!r}, not of {page.name!r}")


def parameter_record(page: Formulation[Any], stated: Mapping[str, Any], examples: Examples) -> Any:
    """Return the record of parameters."""
    parameters = page.parameters
    # A file that was written before the page had a parameter means its default: the pair that it states is compared.
    stated = {**{name: parameters[name].default for name in page.optional_in_files}, **stated}
    if set(parameters) != set(stated):
        reject(
            f"{page.name} has the parameters {', '.join(sorted(parameters))}; the file states "
            f"{', '.join(sorted(stated))}"
        )
    for name, value in stated.items():
        if isinstance(value, bool) != (parameters[name].domain.kind == "flag"):
            reject(f"the parameter {name} of {page.name} must be a {parameters[name].domain.kind}")
    try:
        values = {name: check_value(parameters[name], value, examples.N) for name, value in stated.items()}
        check_values(parameters, values, examples)
        return page.Parameters(**values)
    except BoostoptError as failure:
        reject(reason_of(failure, 400))


def candidate_nus(parameters: Mapping[str, Any]) -> tuple[float, ...]:
    """Return the numbers by which the caps may be stated, as they were when the file was written."""
    return (*(v for v in parameters.values() if isinstance(v, float) and v > 0 and math.isfinite(v)), 1.0)
