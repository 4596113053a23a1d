"""The verdict on the certificate file of a conic program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from boostopt.verification.conic_files.conic_statement import CONIC_FILES, conic_program_to_json
from boostopt.verification.conic_kernel.conic_checker import check_conic_document
from boostopt.verification.conic_kernel.conic_schema import FILE_KIND, parse_conic_document, parse_conic_program
from boostopt.verification.linear_files.linear_verdict import QUANTITY
from boostopt.verification.linear_files.program_of_certificate import ProgramStatements
from boostopt.verification.problem_certificate_verdict import accepted_verification
from boostopt.verification.problem_kernel.rationals_and_balls import working_precision
from boostopt.verification.verification_result import Verification, verdict_of

CONIC_PROGRAMS = ProgramStatements(
    CONIC_FILES, conic_program_to_json, parse_conic_program, lambda program: True, "conic program"
)
"""The form in which these files state their programs."""


def is_conic_certificate(top: Mapping[str, Any]) -> bool:
    """Return whether the object that a file states is the certificate of a conic program."""
    return top.get("kind") == FILE_KIND


def verify_conic_certificate(top: Mapping[str, Any], data: Any = None, folder: Path | None = None) -> Verification:
    """Return the verdict on the object that a file states.

    Parameters
    ----------
    top
        The object.
    data
        The ConicProgram that the file must state, or its CBF file or another one that `load_problem` reads; or the path
        of the file of the statement; None to check the program of the certificate.
    folder
        The folder of the certificate, in which the file of its program may lie; None if there is none.

    Raises
    ------
    ProblemError
        The data are neither a ConicProgram nor a path.
    DataError
        A file of a program is not as its format states.
    """

    def check() -> Verification:
        content = CONIC_PROGRAMS.with_program(top, data, folder)
        with working_precision():
            document = parse_conic_document(content)
            interval = check_conic_document(document)
            verification = accepted_verification(document.claim, document.program.linear.sign, interval, QUANTITY)
        lower, upper = interval
        if lower is not None and lower == upper:
            return replace(verification, reason="the optimum was proved in exact arithmetic")
        return verification

    return verdict_of(check)
