"""The writer of certificate files of programs with a described F or G: the statement, with the proof in fractions."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np

from boostopt._utils.files import write_atomically
from boostopt._utils.validation import check_path
from boostopt.boosting_certificates.certificate import Certificate
from boostopt.errors import ProblemError
from boostopt.programs.program import Program
from boostopt.verification.described_files.described_proofs import proof_and_claim
from boostopt.verification.described_files.described_verdict import (
    FILE_KIND,
    FORMAT,
    MAX_ENTRIES,
    verify_described_certificate,
)
from boostopt.verification.described_files.functions_as_problems import StatedPart, edge_part, regularizer_part
from boostopt.verification.problem_kernel.rationals_and_balls import (
    working_precision,
)
from boostopt.verification.trusted_kernel.certificate_schema import MAX_TEXT_BYTES
from boostopt.verification.trusted_kernel.checker import vector_digest
from boostopt.verification.trusted_kernel.json_parsing import Rejected, parse_json


def save_described_certificate(
    program: Program, certificate: Certificate, path: str | PathLike[str], metadata: Mapping[str, Any]
) -> None:
    """Save the certificate of a program whose F or G is described, with F and G as problems.

    Parameters
    ----------
    program, certificate
        The program and its certificate.
    path
        The file. It is written under another name first and then renamed.
    metadata
        Information for readers of the file.

    Raises
    ------
    ProblemError
        The checker of files has no rule for an atom or a coefficient of F or G; or the certificate states no interval;
        or no proof in fractions was found near its weights. Then no file is written.
    DataError
        The file cannot be written.
    """
    target = check_path("path", path)
    if not (certificate.infeasible or math.isfinite(certificate.lower) or math.isfinite(certificate.upper)):
        raise ProblemError(
            "the file of a described program states a finite end of the interval, or that the program is infeasible; "
            f"got {certificate!r}. Solve to a finite interval, or keep the certificate in Python."
        )
    N, t = program.margins.N, program.margins.t
    check_entries(N, t)
    parts = regularizer_part(program.regularizer), edge_part(program.edge_function, t)
    document, arrays = statement_of_program(program, parts)
    U = np.asarray(program.margins.to_array(), dtype=np.float64)
    with working_precision():
        try:
            document |= proof_and_claim(parts, document, U, certificate)
        except Rejected as rejected:
            raise ProblemError(
                f"a file cannot state this program: {rejected}. Keep the certificate in Python."
            ) from None
    text = text_of_file({**document, "arrays": arrays, "made": dict(metadata)})
    verification = verify_described_certificate(parse_json(text), program, formulation=program.formulation)
    if not verification:
        raise ProblemError(
            f"expected a file that its checker accepts; {verification.reason}. Keep the certificate in Python."
        )
    write_atomically(target, lambda file: file.write(text))


def check_entries(N: int, t: int) -> None:
    """Raise ProblemError if a margin matrix of shape (N, t) is too large to be verified in fractions."""
    if N * t > MAX_ENTRIES:
        raise ProblemError(
            f"the file of a described program is verified in fractions, for at most {MAX_ENTRIES:,} margins; got "
            f"{N * t:,}. Keep the certificate in Python."
        )


def text_of_file(document: Mapping[str, Any]) -> bytes:
    """Return the text of a file; ProblemError if it is too long to be read again."""
    text = json.dumps(document, allow_nan=False, default=repr).encode()
    if len(text) <= MAX_TEXT_BYTES:
        return text
    raise ProblemError(
        f"a file has at most {MAX_TEXT_BYTES:,} bytes; this program with its proof has {len(text):,}. Keep the "
        "certificate in Python."
    )


def statement_of_program(
    program: Program, parts: tuple[StatedPart, StatedPart]
) -> tuple[dict[str, Any], dict[str, list[float]]]:
    """Return the statement of a program whose F and G are given as problems, and the arrays that it refers to."""
    examples, record = program.examples, program.parameters
    parameters = {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}
    arrays = {f"parameter {name}": value for name, value in parameters.items() if isinstance(value, np.ndarray)}
    if not np.array_equal(examples.c, np.ones(examples.N)):
        arrays["c"] = examples.c
    if not np.array_equal(examples.d0, examples.c / examples.c.sum()):
        arrays["d0"] = examples.d0
    statement = {
        "kind": FILE_KIND,
        "format": FORMAT,
        "formulation": {
            "name": program.formulation.name,
            "parameters": {name: _parameter_to_json(value) for name, value in parameters.items()},
        },
        "F": parts[0].to_json(),
        "G": parts[1].to_json(),
        "data": {
            "N": program.margins.N,
            "t": program.margins.t,
            "U": program.margins.digest(),
            "c": vector_digest(examples.c),
            "d0": vector_digest(examples.d0),
        },
    }
    return statement, {name: array.tolist() for name, array in arrays.items()}


def _parameter_to_json(value: Any) -> Any:
    """Return a parameter as a file states it: an infinite number and an array by a word."""
    if isinstance(value, np.ndarray):
        return "array"
    return str(value) if isinstance(value, float) and math.isinf(value) else value
