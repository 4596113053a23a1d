"""Comparison of the F and G that a certificate file states with those of its formulation and parameters.

The bounds of a file are about its F and G. The formulation that the file names computes F and G from the parameters,
and both pairs must be equal. Only formulations of boostopt and those that the caller passes are used, because a name in
a file may be the path of a Python file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from boostopt.boosting.booster_names import BOOSTERS_BY_NAME
from boostopt.boosting.objectives.soft_margin import SoftMarginFormulation, SoftMarginObjective
from boostopt.errors import BoostoptError, ProblemError, reason_of
from boostopt.functions.edge_functions.base import EdgeFunction
from boostopt.functions.regularizers.base import Regularizer
from boostopt.programs.formulation import Formulation
from boostopt.programs.formulation_catalogue import get_formulation, list_formulations
from boostopt.programs.loss_penalty_formulation import is_combination_name
from boostopt.programs.parameters import check_value, check_values
from boostopt.programs.program import Examples, Program
from boostopt.verification.functions_as_json import edge_to_json, regularizer_to_json
from boostopt.verification.trusted_kernel.certificate_schema import CertificateDocument, FunctionsAsJSON
from boostopt.verification.trusted_kernel.json_parsing import reject

Functions = tuple[Regularizer, EdgeFunction]
"""F and G."""


def check_formulation_consistency(
    document: CertificateDocument, formulation: Any, program: Program | None = None
) -> SoftMarginObjective | None:
    """Return the objective of the formulation of a document, such as the soft margin; None if it has none.

    Parameters
    ----------
    document
        The document.
    formulation
        The caller's formulation; None for a formulation of boostopt.
    program
        The caller's program; None if there is none.

    Raises
    ------
    Rejected
        The document states another F or G than the formulation with these parameters, or than the program.
    """
    trusted = trusted_formulation(
        document.formulation_name, program.formulation if formulation is None and program is not None else formulation
    )
    if document.subject == "program" and trusted.columns not in (None, document.t):
        reject(f"{trusted.name} takes {trusted.columns} columns; the certificate has {document.t}")
    if not trusted.uses_reference and "d0" in document.arrays:
        reject(f"{trusted.name} has no reference distribution; the certificate states one")
    examples = Examples(document.c, document.d0)
    record = parameter_record(trusted, document.parameters, examples)
    functions, objective = functions_of_parameters(trusted, record, examples)
    if document.subject == "class":
        if document.formulation_functions is not None:
            check_functions_agree(trusted, functions, document.formulation_functions, examples, document.parameters)
        if objective is not None:
            functions = objective.F0, objective.G
        elif not functions[1].has_class_bound:
            reject(
                f"{trusted.name} has no soft margin, and the largest edge of a class does not bound its G, so it has "
                "no certificate of a class"
            )
    statements = document.F, document.G
    check_functions_agree(trusted, functions, statements, examples, document.parameters, document.arrays)
    if program is not None:
        functions = program.regularizer, program.edge_function
        check_functions_agree(program, functions, statements, program.examples, document.parameters, document.arrays)
    return objective


def functions_of_parameters(
    formulation: Formulation[Any], record: Any, examples: Examples
) -> tuple[Functions, SoftMarginObjective | None]:
    """Return F and G of a formulation with its parameters, and their objective; None for no objective."""
    try:
        functions = formulation.regularizer(record, examples), formulation.edge_function(record)
        return functions, SoftMarginObjective.from_pair(*functions, examples)
    except (BoostoptError, ArithmeticError, ValueError) as failure:
        reject(f"{formulation.name} with these parameters states no program: {reason_of(failure)}"[:400])


def check_measure(quantity: str | None, measure: str) -> None:
    """Reject a file that names another bounded quantity than the measure of its formulation; older files name none."""
    if quantity is not None and quantity != measure:
        reject(
            f"it says that it bounds the best {quantity}; its formulation with these parameters means the best "
            f"{measure}"[:400]
        )


def functions_as_json(formulation: Formulation[Any], record: Any, examples: Examples) -> dict[str, Any]:
    """Return F and G of a formulation as the certificate of a class states them; {} if no file can state them."""
    try:
        F = regularizer_to_json(formulation.regularizer(record, examples), examples, candidate_nus(vars(record)))
        return {"F": F.numbers, "G": edge_to_json(formulation.edge_function(record))}
    except ProblemError:
        return {}


def check_functions_agree(
    source: Formulation[Any] | Program,
    functions: Functions,
    statements: FunctionsAsJSON,
    examples: Examples,
    parameters: Mapping[str, Any],
    arrays: Mapping[str, Any] | None = None,
) -> None:
    """Reject a file that states other functions F and G than a formulation or a program.

    Parameters
    ----------
    source
        The formulation or the program.
    functions
        F and G of the formulation, or of the program.
    statements
        F and G as the file states them.
    examples, parameters
        The examples, and the parameters in the file.
    arrays
        The arrays of the file, which are compared with those of F; None if the file has no arrays of F.
    """
    is_formulation = isinstance(source, Formulation)
    name = f"{source.name} with the parameters of the file means" if is_formulation else "the program has"
    try:
        F, G = regularizer_to_json(functions[0], examples, candidate_nus(parameters)), edge_to_json(functions[1])
    except (BoostoptError, ArithmeticError, ValueError) as failure:
        reject(f"{name} other functions F and G than the file: {reason_of(failure)}"[:400])
    if (F.numbers, G) != statements:
        prefix = "" if is_formulation else "it is the certificate of another program: "
        reject(
            f"{prefix}{name} F = {F.numbers}, G = {G}; the file states F = {dict(statements[0])}, "
            f"G = {dict(statements[1])}. Check the name and the parameters, or ask for the file as it was saved"[:600]
        )
    for array, values in F.arrays.items():
        if arrays is not None and not np.array_equal(values, arrays[array]):
            reject(f"{name} other {array} than the file states")


def trusted_formulation(name: str, formulation: Any) -> Formulation[Any]:
    """Return the formulation of a name; Rejected if it is neither one of boostopt nor the caller's."""
    # A file names a booster as the literature does, and no formulation has such a name.
    boosters = {booster.name: booster for booster in BOOSTERS_BY_NAME.values()}
    if formulation is None:
        if name == SoftMarginFormulation.name:
            reject("the soft margin of a run depends on its formulation; pass formulation=")
        if name not in (*list_formulations(), *boosters) and not is_combination_name(name):
            reject(f"the formulation {name!r} is unknown; pass it by formulation= or --formulation FILE.py")
        return boosters[name] if name in boosters else get_formulation(name)
    trusted = boosters[name] if formulation == name and name in boosters else get_formulation(formulation)
    return trusted if trusted.name == name else reject(f"the certificate is about {name!r}, not about {trusted.name!r}")


def parameter_record(formulation: Formulation[Any], values_by_name: Mapping[str, Any], examples: Examples) -> Any:
    """Return the record of the parameters in a file; Rejected if they are not those of the formulation."""
    parameters = formulation.parameters
    # A file from before the formulation had a parameter means the default; its F and G are compared.
    values_by_name = {**{name: parameters[name].default for name in formulation.optional_in_files}, **values_by_name}
    if set(parameters) != set(values_by_name):
        reject(
            f"{formulation.name} has the parameters {', '.join(sorted(parameters))}; the file states "
            f"{', '.join(sorted(values_by_name))}"
        )
    for name, value in values_by_name.items():
        if isinstance(value, bool) != (parameters[name].domain.kind == "flag"):
            reject(f"the parameter {name} of {formulation.name} must be a {parameters[name].domain.kind}")
    try:
        values = {name: check_value(parameters[name], value, examples.N) for name, value in values_by_name.items()}
        check_values(parameters, values, examples)
        return formulation.Parameters(**values)
    except BoostoptError as failure:
        reject(reason_of(failure, 400))


def candidate_nus(parameters: Mapping[str, Any]) -> tuple[float, ...]:
    """Return the numbers that may be the nu of stated caps, as when the file was written."""
    return (*(v for v in parameters.values() if isinstance(v, float) and v > 0 and math.isfinite(v)), 1.0)
