"""The verdict on the certificate file of a program with a described F or G."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from boostopt._utils.formatting import format_count
from boostopt.errors import BoostoptError, reason_of
from boostopt.programs.program import Examples, Program
from boostopt.verification.formulation_consistency import parameter_record, trusted_formulation
from boostopt.verification.problem_certificate_verdict import accepted_verification
from boostopt.verification.problem_kernel.problem_checker import check_document
from boostopt.verification.problem_kernel.problem_composition import composed_problem, parse_described_part
from boostopt.verification.problem_kernel.problem_schema import parse_proof_and_claim
from boostopt.verification.problem_kernel.rationals_and_balls import working_precision
from boostopt.verification.trusted_kernel.certificate_schema import parse_formulation
from boostopt.verification.trusted_kernel.checker import matrix_digest, vector_digest
from boostopt.verification.trusted_kernel.json_parsing import (
    is_same_json,
    parse_count,
    parse_list,
    parse_number,
    parse_object,
    parse_object_with_keys,
    parse_text,
    reject,
)
from boostopt.verification.trusted_kernel.number_types import dense_rows
from boostopt.verification.verification_result import Verification, as_margin_matrix, verdict_of

FILE_KIND = "boostopt described program certificate"
"""The kind of these files."""

FORMAT = 1
"""The version of the format."""

TOP_LEVEL_KEYS = {"kind", "format", "formulation", "F", "G", "data", "arrays", "proof", "claim", "made"}
"""The names of a file."""

MAX_ENTRIES = 1_000_000
"""Largest number of entries of a margin matrix that is verified in fractions."""


def is_described_certificate(top: Mapping[str, Any]) -> bool:
    """Return whether the object that a file states is the certificate of a program with descriptions."""
    return top.get("kind") == FILE_KIND


def verify_described_certificate(
    top: Mapping[str, Any],
    data: Any,
    expected: Mapping[str, np.ndarray | None] | None = None,
    formulation: Any = None,
) -> Verification:
    """Return the verdict on the object that a file states.

    Parameters
    ----------
    top
        The object.
    data
        The margin matrix, or the program.
    expected
        The multiplicities "c" and the reference distribution "d0" that the file must state; None for those of the
        program, or the usual ones.
    formulation
        The formulation of the file; by default that of the program, or the one of boostopt with the name of the file.

    Raises
    ------
    ProblemError
        The data are no matrix of finite numbers.
    """
    program = data if isinstance(data, Program) else None
    margins = as_margin_matrix(data if program is None else program.margins)
    with working_precision():
        return verdict_of(lambda: _verdict(top, margins, program, expected or {}, formulation))


def _verdict(
    top: Mapping[str, Any],
    margins: Any,
    program: Program | None,
    expected: Mapping[str, np.ndarray | None],
    formulation: Any,
) -> Verification:
    """Return the verdict on a file that may be accepted; Rejected for any other."""
    content = parse_object_with_keys(top, TOP_LEVEL_KEYS, "the file")
    if content["format"] != FORMAT or type(content["format"]) is not int:
        reject(f"it must be a {FILE_KIND} of format {FORMAT}; it says {content['format']!r}"[:200])
    parse_object(content["made"], "made")
    data = parse_object_with_keys(content["data"], {"N", "t", "U", "c", "d0"})
    N, t = parse_count(data["N"], "N"), parse_count(data["t"], "t")
    check_margins(margins, N, t, parse_text(data["U"], "digest"))
    if N * t > MAX_ENTRIES:
        reject(f"a margin matrix may have {MAX_ENTRIES:,} entries; it has {N * t:,}")
    arrays = parse_arrays(content["arrays"])
    name, parameters, _ = parse_formulation(content["formulation"], arrays, False)
    examples = parse_examples(data, arrays, N)
    _check_examples(examples, program, expected)
    F, G = parse_described_part(content["F"], N, "F"), parse_described_part(content["G"], t, "G")
    _check_functions(content, name, parameters, examples, t, program, formulation)
    problem = composed_problem(F, G, dense_rows(margins, slice(0, N)))
    document = parse_proof_and_claim(problem, content["proof"], content["claim"])
    verification = accepted_verification(document.claim, problem.sign, check_document(document), "value of the program")
    return dataclasses.replace(verification, formulation=name, parameters=parameters)


def check_margins(margins: Any, N: int, t: int, digest: str) -> None:
    """Reject a file of margins of another shape or with another digest than those of the caller."""
    if tuple(margins.shape) != (N, t):
        reject(
            f"the certificate is of {N} examples and {format_count(t, 'hypothesis', 'hypotheses')}; the data "
            f"are {tuple(margins.shape)}"
        )
    if matrix_digest(margins) != digest:
        reject("the certificate is of another margin matrix: its digest differs")


def parse_arrays(value: Any) -> dict[str, np.ndarray]:
    """Return the arrays of a file by name."""
    return {
        name: np.array([parse_number(entry, f"the array {name}"[:100]) for entry in parse_list(entries, name[:100])])
        for name, entries in parse_object(value, "arrays").items()
    }


def parse_examples(data: Mapping[str, Any], arrays: Mapping[str, np.ndarray], N: int) -> Examples:
    """Return the multiplicities and the reference distribution of a file; Rejected if their digests differ.

    Parameters
    ----------
    data
        The object with the digests "c" and "d0".
    arrays
        The arrays of the file: "c" and "d0" where they are not the usual ones, and parameters.
    N
        The number of examples.
    """
    permitted = {"c", "d0"} | {name for name in arrays if name.startswith("parameter ")}
    if not set(arrays) <= permitted or any(arrays[name].shape != (N,) for name in ("c", "d0") if name in arrays):
        reject(f"it may hold the arrays c and d0 of {N} numbers, and parameters; it holds {sorted(arrays)}"[:300])
    c = arrays.get("c", np.ones(N))
    if not (c > 0.0).all():
        reject("c must hold positive numbers")
    d0 = arrays.get("d0", c / c.sum())
    if not (d0 >= 0.0).all() or not abs(float(d0.sum()) - 1.0) <= 1e-8:
        reject(f"d0 must hold non-negative numbers of sum 1; they sum to {float(d0.sum())!r}")
    for vector, values, words in (("c", c, "multiplicities c"), ("d0", d0, "reference weights d0")):
        if vector_digest(values) != data[vector]:
            reject(f"the certificate has other {words} than its digest states")
    return Examples(c, d0)


def _check_examples(examples: Examples, program: Program | None, expected: Mapping[str, np.ndarray | None]) -> None:
    """Reject a file with other multiplicities or reference weights than those of the caller."""
    c = expected.get("c")
    if c is None:
        c = np.ones(examples.N) if program is None else program.examples.c
    d0 = expected.get("d0")
    if d0 is None:
        d0 = c / c.sum() if program is None else program.examples.d0
    require_vectors(examples, {"c": c, "d0": d0})


def require_vectors(examples: Examples, expected: Mapping[str, np.ndarray | None]) -> None:
    """Reject a file with other multiplicities "c" or reference weights "d0" than expected ones; None for any."""
    for vector, values, words in (
        ("c", examples.c, "multiplicities c"),
        ("d0", examples.d0, "reference weights d0"),
    ):
        required = expected.get(vector)
        if required is not None and not np.array_equal(values, required):
            reject(f"the certificate has other {words} than the data; if the data have weights, pass them as {vector}=")


def _check_functions(
    content: Mapping[str, Any],
    name: str,
    parameters: Mapping[str, Any],
    examples: Examples,
    t: int,
    program: Program | None,
    formulation: Any,
) -> None:
    """Reject a file that states another F or G than its formulation, or than the program of the caller."""
    from boostopt.verification.described_files.functions_as_problems import edge_part, regularizer_part

    trusted = trusted_formulation(
        name, program.formulation if formulation is None and program is not None else formulation
    )
    record = parameter_record(trusted, parameters, examples)
    try:
        pairs = {
            f"{trusted.name} with the parameters of the file": (
                trusted.regularizer(record, examples),
                trusted.edge_function(record),
            )
        }
        if program is not None:
            pairs["the program"] = program.regularizer, program.edge_function
        statements = {
            source: (regularizer_part(F).to_json(), edge_part(G, t).to_json()) for source, (F, G) in pairs.items()
        }
    except (BoostoptError, ArithmeticError, ValueError) as failure:
        reject(f"{trusted.name} with these parameters states no such program: {reason_of(failure)}"[:400])
    for origin, pair in statements.items():
        for function, statement in zip(("F", "G"), pair, strict=True):
            if not is_same_json(json.loads(json.dumps(statement)), content[function]):
                reject(
                    f"the file states another {function} than {origin}. Check the name, the parameters and the "
                    "constants of the description, or ask for the file as it was saved"
                )
