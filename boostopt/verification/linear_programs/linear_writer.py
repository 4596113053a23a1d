"""The writer of certificate files of exact optima: each file is verified before it is written."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from fractions import Fraction
from importlib import import_module
from os import PathLike
from typing import Any

from boostopt._utils.files import write_atomically
from boostopt._utils.json_values import to_json_text
from boostopt._utils.validation import check_path
from boostopt.conic_programs.exact.exact_optimum import ExactOptimum
from boostopt.errors import ProblemError
from boostopt.verification.linear_kernel.linear_schema import FILE_KIND, FORMAT
from boostopt.verification.linear_programs.linear_statement import LINEAR_FILES, linear_program_to_json
from boostopt.verification.linear_programs.linear_verdict import verify_linear_certificate
from boostopt.verification.statement_files import place_beside
from boostopt.verification.trusted_kernel.certificate_schema import MAX_TEXT_BYTES
from boostopt.verification.trusted_kernel.json_parsing import parse_json


def save_exact_optimum(
    optimum: ExactOptimum,
    path: str | PathLike[str],
    origin: Mapping[str, Any] | None = None,
    data: str | PathLike[str] | None = None,
) -> None:
    """Save the exact optimum of a linear program; see `ExactOptimum.save`."""
    target = check_path("path", path)
    program_file = None if data is None else check_path("data", data)
    place = None if program_file is None else place_beside(target, program_file)
    if not optimum.program.is_linear:
        raise ProblemError("a file states a linear program; got another one. Keep its optimum in Python.")
    if not optimum.is_proved():
        raise ProblemError("expected an optimum of exact_optimum; got one that proves nothing. Call exact_optimum.")
    statement = linear_program_to_json(optimum.program)
    content: dict[str, Any] = {
        "kind": FILE_KIND,
        "format": FORMAT,
        "program": statement,
        "proof": {name: _vector_to_json(getattr(optimum, name)) for name in ("x", "y", "ray")},
        "claim": {"status": optimum.status, "value": None if optimum.value is None else fraction_text(optimum.value)},
        "made": {
            "boostopt": import_module("boostopt").__version__,
            "python": platform.python_version(),
            **json.loads(to_json_text(dict(origin or {}))),
        },
    }
    verification = verify_linear_certificate(parse_json(json.dumps(content, allow_nan=False).encode()))
    if not verification:
        raise ProblemError(
            f"expected a file that its checker accepts; {verification.reason}. Keep the optimum in Python."
        )
    if place is not None:
        content["program"] = {"file": place, "sha256": LINEAR_FILES.digest_of(statement)}
    text = json.dumps(content, allow_nan=False).encode()
    size = max(len(text), len(LINEAR_FILES.text_of(statement)))
    if size > MAX_TEXT_BYTES:
        raise ProblemError(
            f"a file has at most {MAX_TEXT_BYTES:,} bytes; this program with its fractions has {size:,}. Keep the "
            "optimum in Python."
        )
    if program_file is not None:
        LINEAR_FILES.write(program_file, statement)
    write_atomically(target, lambda file: file.write(text))


def fraction_text(value: Fraction) -> str:
    """Return a fraction in hexadecimal digits, without the denominator 1."""
    return f"{value.numerator:x}" if value.denominator == 1 else f"{value.numerator:x}/{value.denominator:x}"


def _vector_to_json(values: Sequence[Fraction] | None) -> list[str] | None:
    """Return fractions as texts."""
    return None if values is None else [fraction_text(value) for value in values]
