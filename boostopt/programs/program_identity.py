"""The identity of a program: facts, a digest and a description for readers of a report; its certificates."""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from boostopt._utils.files import Keys
from boostopt._utils.json_values import plain, to_json_text
from boostopt.boosting_certificates.certificate import Certificate
from boostopt.programs.formulation import Formulation
from boostopt.programs.program import Program
from boostopt.programs.user_cvxpy_problem import ConvexProblem

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
"""Keys of the bounds of a certificate in files."""

REGULARIZER_TOL = 1e-12
"""Largest proved distance of the minimum of F below 0 at which F counts as non-negative."""


def program_facts(program: Program | ConvexProblem) -> dict[str, Any]:
    """Return the facts about a program: formulation, parameters, sizes, digest of U; of a CVXPY problem its sizes."""
    if isinstance(program, ConvexProblem):
        return program.facts()
    return {
        "formulation": program.formulation.name,
        "parameters": asdict(program.parameters),
        "examples": program.margins.N,
        "examples_with_multiplicity": program.examples.total,
        "hypotheses": program.margins.t,
        "digest": program.margins.digest(),
    }


def program_digest(program: Program | ConvexProblem) -> str:
    """Return the SHA-256 digest of all that defines a program: U, c, d0, parameters and formulation file.

    The digest of a CVXPY problem is that of its cone data.
    """
    if isinstance(program, ConvexProblem):
        return program.digest
    about = json.dumps(plain({**program_facts(program), "digest": None, "parameters": None}), sort_keys=True)
    digest = hashlib.sha256(about.encode())
    for name, value in sorted(asdict(program.parameters).items()):
        digest.update(f"{name}={np.asarray(value).tolist()!r};".encode())
    for array in (program.examples.c, program.examples.d0):
        digest.update(np.ascontiguousarray(array).data)
    digest.update(program.margins.digest().encode())
    file = program.formulation.source_file or getattr(
        sys.modules.get(type(program.formulation).__module__), "__file__", None
    )
    digest.update(Path(file).read_bytes() if file else b"")
    return digest.hexdigest()


def describe_program(program: Program | ConvexProblem) -> dict[str, Any]:
    """Return the text of the formulation and facts about the data, as plain values.

    Returns
    -------
    `headline`; `title`, `sources`, `page` (the text of the formulation, with its problems in plain notation) and
    `meanings` (of the parameters, by name), which are "" or empty if the formulation does not have them; `nonzeros`,
    `smallest` and `largest` entry of U and its `storage`; `multiplicities`, the smallest and the largest; whether the
    `reference` distribution is that of c; `equal_weights`, the bounds that equal weights prove (see
    `bounds_of_equal_weights`); and whether the optimum bounds soft margins (see `is_soft_margin_bound`). Of a CVXPY
    problem `headline`, `title` and `page` alone.
    """
    if isinstance(program, ConvexProblem):
        return program.description()
    formulation, examples = program.formulation, program.examples
    has_text = isinstance(formulation, Formulation)
    return {
        "headline": program.headline,
        "title": (formulation.title or formulation.name) if has_text else formulation.name,
        "sources": list(formulation.sources) if has_text else [],
        "page": formulation.text if has_text else "",
        "meanings": {name: parameter.meaning for name, parameter in formulation.parameters.items()} if has_text else {},
        **_entries(program),
        "multiplicities": [float(examples.c.min()), float(examples.c.max())],
        "reference": "proportional to c"
        if np.allclose(examples.d0, examples.c / examples.total, rtol=1e-12, atol=0.0)
        else "given",
        "equal_weights": bounds_of_equal_weights(program),
        "is_soft_margin_bound": is_soft_margin_bound(program),
    }


def is_soft_margin_bound(program: Program) -> bool:
    """Return whether the optimum, up to `REGULARIZER_TOL`, is an upper bound of the soft margins of all weights.

    It is if G is the largest edge, and F is the indicator of a set of distributions plus terms that are not negative.
    """
    F = program.regularizer
    if not (program.edge_function.is_largest_edge and F.unsmoothed.is_indicator):
        return False
    zeros = np.zeros(F.N)
    point = F.conjugate_at(zeros)
    rounding = F.conjugate_slack(point, (F.N + 10) * float(np.finfo(np.float64).eps))
    return bool(F.conjugate_bound(zeros, point) + rounding <= REGULARIZER_TOL)


def bounds_of_equal_weights(program: Program) -> list[float | None]:
    """Return the lower bound that equal weights of the hypotheses prove, and the upper bound by equal examples.

    Returns
    -------
    Two numbers; None for an infinite bound.
    """
    examples, t = program.examples, program.margins.t
    trivial = program.certify(d=examples.c / examples.total, w=np.full(t, 1.0 / t))
    return [bound if np.isfinite(bound) else None for bound in (trivial.lower, trivial.upper)]


def certificate_to_json_text(program: Program, certificate: Certificate, tol: float) -> str:
    """Return the content of a certificate as JSON; numbers that are not finite become null."""
    document = {
        **program_facts(program),
        "tol": tol,
        "reached": certificate.scaled_gap <= tol,
        **certificate_fields(certificate),
        "d_is": certificate.d_is,
        "kkt": dict(certificate.kkt.residuals),
        "example_gaps": certificate.example_gaps,
        "hypothesis_gaps": certificate.hypothesis_gaps,
    }
    return to_json_text(document)


def certificate_fields(certificate: Certificate | None) -> dict[str, Any]:
    """Return the content of a certificate as the fields of a record; None for no certificate."""
    return BOUNDS.to_file(certificate) if certificate else dict.fromkeys(BOUNDS.attributes)


def _entries(program: Program) -> dict[str, Any]:
    """Return a description of the entries of U."""
    nonzeros, smallest, largest = 0, np.inf, -np.inf
    for _, block in program.margins.blocks():
        nonzeros += int(np.count_nonzero(block)) if isinstance(block, np.ndarray) else int(block.count_nonzero())
        smallest, largest = min(smallest, float(block.min())), max(largest, float(block.max()))
    kind = repr(program.margins).rpartition(", ")[2].removesuffix(")")
    return {"nonzeros": nonzeros, "smallest": smallest, "largest": largest, "storage": kind}
