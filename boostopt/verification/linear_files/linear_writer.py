"""The writer of certificate files of exact optima: each file is verified before it is written."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from importlib import import_module
from os import PathLike
from typing import Any

from boostopt._utils.files import write_atomically
from boostopt._utils.json_values import to_json_text
from boostopt._utils.validation import check_path
from boostopt.conic_programs.exact.exact_optimum import ExactOptimum
from boostopt.errors import ProblemError
from boostopt.verification.linear_files.linear_statement import LINEAR_FILES, linear_program_to_json
from boostopt.verification.linear_files.linear_verdict import verify_linear_certificate
from boostopt.verification.linear_kernel.linear_schema import FILE_KIND, FORMAT
from boostopt.verification.statement_files import StatementFormat, place_beside
from boostopt.verification.trusted_kernel.certificate_schema import MAX_TEXT_BYTES
from boostopt.verification.trusted_kernel.json_parsing import parse_json
from boostopt.verification.verification_result import Verification

UNPROVED = "expected an optimum of exact_optimum; got one that proves nothing. Call exact_optimum."
"""The reason why a value of another origin is not saved."""


def save_exact_optimum(
    optimum: ExactOptimum,
    path: str | PathLike[str],
    origin: Mapping[str, Any] | None = None,
    data: str | PathLike[str] | None = None,
) -> None:
    """Save the exact optimum of a linear program; see `ExactOptimum.save`."""
    if not optimum.is_proved():
        raise ProblemError(UNPROVED)
    content: dict[str, Any] = {
        "kind": FILE_KIND,
        "format": FORMAT,
        "program": linear_program_to_json(optimum.program),
        "proof": {name: vector_to_json(getattr(optimum, name)) for name in ("x", "y", "ray")},
        "claim": {"status": optimum.status, "value": None if optimum.value is None else fraction_text(optimum.value)},
        "made": metadata(origin),
    }
    write_program_certificate(content, verify_linear_certificate, LINEAR_FILES, path, data)


def write_program_certificate(
    content: Mapping[str, Any],
    verify_content: Callable[[Mapping[str, Any]], Verification],
    files: StatementFormat,
    path: str | PathLike[str],
    data: str | PathLike[str] | None,
) -> None:
    """Write a certificate that its checker accepts, and the statement of its program into a file of its own.

    Parameters
    ----------
    content
        The object that the file states, with its program.
    verify_content
        Returns the verdict on it.
    files
        The format of the files of statements.
    path, data
        As those of `ExactOptimum.save`.

    Raises
    ------
    ProblemError
        The checker does not accept it, the file would be too large, or `data` is a file with other content or in
        another folder. Then no certificate is written.
    DataError
        A file cannot be written.
    """
    target = check_path("path", path)
    program_file = None if data is None else check_path("data", data)
    place = None if program_file is None else place_beside(target, program_file)
    verification = verify_content(parse_json(json.dumps(content, allow_nan=False).encode()))
    if not verification:
        raise ProblemError(
            f"expected a file that its checker accepts; {verification.reason}. Keep the proof in Python."
        )
    statement, top = content["program"], dict(content)
    if place is not None:
        top["program"] = {"file": place, "sha256": files.digest_of(statement)}
    text = json.dumps(top, allow_nan=False).encode()
    size = max(len(text), len(files.text_of(statement)))
    if size > MAX_TEXT_BYTES:
        raise ProblemError(
            f"a file has at most {MAX_TEXT_BYTES:,} bytes; this program with its fractions has {size:,}. Keep the "
            "proof in Python."
        )
    if program_file is not None:
        files.write(program_file, statement)
    write_atomically(target, lambda file: file.write(text))


def metadata(origin: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the versions, and the information of the caller."""
    versions = {"boostopt": import_module("boostopt").__version__, "python": platform.python_version()}
    return versions | json.loads(to_json_text(dict(origin or {})))


def fraction_text(value: Fraction) -> str:
    """Return a fraction in hexadecimal digits, without the denominator 1."""
    return f"{value.numerator:x}" if value.denominator == 1 else f"{value.numerator:x}/{value.denominator:x}"


def vector_to_json(values: Sequence[Fraction] | None) -> list[str] | None:
    """Return fractions as texts."""
    return None if values is None else [fraction_text(value) for value in values]
