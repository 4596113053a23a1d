"""Results as plain values: JSON without nan and infinities, the facts about a program, and certificates."""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from boostopt._utils.files import Keys
from boostopt.certificates.certificate import Certificate
from boostopt.data.csv_tables import written_table
from boostopt.programs.program import Program

BOUNDS = Keys(
    Certificate,
    {
        "lower": "lower",
        "upper": "upper",
        "gap": "gap",
        "scaled_gap": "scaled_gap",
        "relative_gap": "relative_gap",
        "infeasible": "infeasible",
        "excess": "excess",
    },
)
"""Keys of what a certificate proves."""


def certificate_json(program: Program, certificate: Certificate, tol: float) -> str:
    """Return the content of a certificate as JSON; numbers that are not finite become null."""
    document = {
        **facts(program),
        "tol": tol,
        "reached": certificate.scaled_gap <= tol,
        **bounds(certificate),
        "d_is": certificate.d_is,
        "kkt": dict(certificate.kkt.residuals),
        "example_gaps": certificate.example_gaps,
        "hypothesis_gaps": certificate.hypothesis_gaps,
    }
    return json_text(document)


def bounds(certificate: Certificate | None) -> dict[str, Any]:
    """Return the content of a certificate as the fields of a record; None for no certificate."""
    return BOUNDS.to_file(certificate) if certificate else dict.fromkeys(BOUNDS.attributes)


def facts(program: Program) -> dict[str, Any]:
    """Return the facts about a program: formulation, parameters, sizes, digest of U."""
    return {
        "formulation": program.formulation.name,
        "parameters": asdict(program.parameters),
        "examples": program.margins.N,
        "examples_with_multiplicity": program.examples.total,
        "hypotheses": program.margins.t,
        "digest": program.margins.digest(),
    }


def program_digest(program: Program) -> str:
    """Return SHA-256 of everything that defines a program: U, c, d0, the parameters and the text of the page."""
    about = json.dumps(plain({**facts(program), "digest": None, "parameters": None}), sort_keys=True)
    digest = hashlib.sha256(about.encode())
    for name, value in sorted(asdict(program.parameters).items()):
        digest.update(f"{name}={np.asarray(value).tolist()!r};".encode())
    for array in (program.examples.c, program.examples.d0):
        digest.update(np.ascontiguousarray(array).data)
    digest.update(program.margins.digest().encode())
    page = program.formulation.stated_in or getattr(
        sys.modules.get(type(program.formulation).__module__), "__file__", None
    )
    digest.update(Path(page).read_bytes() if page else b"")
    return digest.hexdigest()


def json_text(document: Mapping[str, Any]) -> str:
    """Write a document as JSON; numbers that are not finite become null."""
    return json.dumps(plain(document), indent=2, allow_nan=False)


def table_of_records(records: Sequence[Mapping[str, Any]]) -> str:
    """Return records as CSV; missing fields are empty, and lists and objects are JSON in their cells."""
    header = list(dict.fromkeys(name for record in records for name in record))
    return written_table(header, ([_cell(record.get(name)) for name in header] for record in records))


def _cell(value: Any) -> Any:
    """Return a plain value as the text of a cell."""
    return json.dumps(value) if isinstance(value, dict | list) else value


def plain(value: Any) -> Any:
    """Convert a value to JSON types at every depth: nan and infinities become None, other objects their name."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, np.generic | np.ndarray):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)
