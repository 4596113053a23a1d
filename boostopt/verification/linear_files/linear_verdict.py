"""The verdict on the certificate file of a linear program."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from boostopt.verification.linear_files.linear_statement import LINEAR_FILES, linear_program_to_json
from boostopt.verification.linear_files.program_of_certificate import ProgramStatements
from boostopt.verification.linear_kernel.linear_checker import check_linear_document
from boostopt.verification.linear_kernel.linear_schema import (
    FILE_KIND,
    LinearDocument,
    parse_linear_document,
    parse_linear_program,
)
from boostopt.verification.problem_kernel.rationals_and_balls import ceil_float, floor_float
from boostopt.verification.verification_result import Verification, verdict_of

QUANTITY = "optimum of the program"
"""The name of the value that such a file proves."""

LINEAR_PROGRAMS = ProgramStatements(
    LINEAR_FILES, linear_program_to_json, parse_linear_program, lambda program: program.is_linear, "linear program"
)
"""The form in which these files state their programs."""


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
        document = parse_linear_document(LINEAR_PROGRAMS.with_program(top, data, folder))
        return _accepted(document, check_linear_document(document))

    return verdict_of(check)


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
