"""The verdict on the certificate file of a linear program."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any, get_args

from boostopt._utils.files import file_suffix
from boostopt._utils.validation import check_path
from boostopt.conic_programs.conic_program import ConicProgram, Numbers
from boostopt.errors import ProblemError, short_repr
from boostopt.verification.linear_kernel.linear_checker import check_linear_document
from boostopt.verification.linear_kernel.linear_schema import (
    FILE_KIND,
    LinearDocument,
    parse_linear_document,
    parse_linear_program,
)
from boostopt.verification.linear_programs.linear_statement import LINEAR_FILES, linear_program_to_json
from boostopt.verification.problem_kernel.rationals_and_balls import ceil_float, floor_float
from boostopt.verification.trusted_kernel.json_parsing import parse_json, reject
from boostopt.verification.verification_result import Verification, verdict_of

QUANTITY = "optimum of the program"
"""The name of the value that such a file proves."""


def is_linear_certificate(top: Mapping[str, Any]) -> bool:
    """Return whether the object that a file states is the certificate of a linear program."""
    return top.get("kind") == FILE_KIND


def verify_linear_certificate(top: Mapping[str, Any], data: Any = None, folder: Path | None = None) -> Verification:
    """Return the verdict on the object that a file states.

    Parameters
    ----------
    top
        The object.
    data
        The ConicProgram that the file must state, or its MPS file or another one that `load_problem` reads; or the path
        of the file of the statement; None to check the program of the certificate.
    folder
        The folder of the certificate, in which the file of its program may lie; None if there is none.

    Raises
    ------
    ProblemError
        The data are neither a linear program nor a path.
    DataError
        A file of a program is not as its format states.
    """

    def check() -> Verification:
        document = parse_linear_document(_with_program(top, data, folder))
        return _accepted(document, check_linear_document(document))

    return verdict_of(check)


def is_program_file(path: Any) -> bool:
    """Return whether a value is the path of a file that `load_problem` reads."""
    from boostopt.conic_programs.readers.load_problem import ENDINGS

    return isinstance(path, str | PathLike) and file_suffix(check_path("data", path)) in ENDINGS


def _with_program(top: Mapping[str, Any], data: Any, folder: Path | None) -> Mapping[str, Any]:
    """Return the object of a certificate with the statement of its program, which is that of the data."""
    place = top.get(LINEAR_FILES.name)
    is_beside = LINEAR_FILES.is_beside(top)
    if data is not None and (is_program_file(data) or not isinstance(data, str | PathLike)):
        statement = _equal_statement(place, is_beside, _statements_of(data))
        return {**top, LINEAR_FILES.name: statement}
    if is_beside and isinstance(place, dict):
        path = LINEAR_FILES.path_beside(place, folder) if data is None else check_path("data", data)
        return {**top, LINEAR_FILES.name: LINEAR_FILES.read(path, place)}
    if data is not None:
        reject("the certificate holds its program, and no other statement belongs to it; leave the data out")
    return top


def _statements_of(data: Any) -> list[Any]:
    """Return the statements of a program, as JSON has them; of a file, with both meanings of its numbers."""
    from boostopt.conic_programs.readers.load_problem import load_problem

    programs = [data]
    if is_program_file(data):
        programs = [replace(load_problem(data), numbers=numbers) for numbers in get_args(Numbers)]
    for program in programs:
        if not isinstance(program, ConicProgram) or not program.is_linear:
            raise ProblemError(
                "expected the linear program that the file states, a boostopt.ConicProgram or the path of its file; "
                f"got {short_repr(data)}. Leave the data out to check the program of the certificate."
            )
    return [parse_json(json.dumps(linear_program_to_json(program)).encode()) for program in programs]


def _equal_statement(place: Any, is_beside: bool, statements: Sequence[Any]) -> Any:
    """Return the statement that is the one of the certificate; Rejected if none is."""
    for statement in statements:
        if is_beside and LINEAR_FILES.digest_of(statement) == place["sha256"]:
            return statement
        if not is_beside and parse_linear_program(statement) == parse_linear_program(place):
            return statement
    reject("the certificate states another program than the data")


def _accepted(document: LinearDocument, value: Fraction | None) -> Verification:
    """Return the verdict on a file whose claim is proved."""
    if value is None:
        infinite = math.inf if (document.status == "infeasible") == (document.program.sign > 0) else -math.inf
        lower = upper = infinite
    else:
        lower, upper = floor_float(value), ceil_float(value)
    return Verification(
        True,
        f"the program was proved {document.status}" if value is None else "the optimum was proved in exact arithmetic",
        outcome="solved" if value is not None else document.status,
        lower=lower,
        upper=upper,
        fractions=(value, value),
        claimed=(lower, upper),
        verdict="proved",
        quantity=QUANTITY,
    )
