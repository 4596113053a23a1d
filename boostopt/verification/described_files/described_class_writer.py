"""The writer of certificate files of runs over a class whose F is described: statement and proof in fractions.

The writer verifies each file before it keeps the file: see `described_class_verdict`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array
from boostopt._utils.files import write_atomically
from boostopt._utils.validation import check_path
from boostopt.boosting.objectives.class_certificate import ClassCertificate
from boostopt.errors import ProblemError
from boostopt.oracles.base import Oracle
from boostopt.programs.program import Program
from boostopt.rows.margin_matrix import MarginMatrix
from boostopt.verification.certificate_writer import class_description, to_json_value
from boostopt.verification.class_statements import checked_row_errors, hypotheses_to_json, query_oracle
from boostopt.verification.described_files.described_class_verdict import (
    FILE_KIND,
    PLATFORM_TOLERANCE,
    class_upper_bound,
    limits_loss,
    other_functions,
    query_weights,
    verify_described_class_certificate,
)
from boostopt.verification.described_files.described_proofs import (
    composed_functions,
    multipliers_of_weights,
    nearly_optimal_proof,
    point_of_program,
    point_of_weights,
)
from boostopt.verification.described_files.described_writer import check_entries, statement_of_program, text_of_file
from boostopt.verification.described_files.functions_as_problems import StatedPart, edge_part, regularizer_part
from boostopt.verification.problem_certificate_writer import MAX_LOSS, lower_end, multipliers_to_json, vector_to_json
from boostopt.verification.problem_kernel.problem_checker import lower_bound, upper_bound
from boostopt.verification.problem_kernel.problem_schema import Multipliers, ScaledVector
from boostopt.verification.problem_kernel.rationals_and_balls import (
    Number,
    ceil_float,
    floor_float,
    pair_product,
    pair_sum,
    working_precision,
)
from boostopt.verification.trusted_kernel.json_parsing import Rejected, parse_json
from boostopt.verification.trusted_kernel.stated_limits import StatedLimits


@dataclass(frozen=True, eq=False)
class RunLimits:
    """The limits of the weights of a run.

    Attributes
    ----------
    limits
        The right sides and the prices.
    margins
        The margins of the hypotheses with weight, with the rows of the limits below those of the examples.
    """

    limits: StatedLimits
    margins: MarginMatrix


def save_described_class_certificate(
    program: Program,
    certificate: ClassCertificate,
    w: Array,
    oracle: Oracle,
    hypotheses: list[Any],
    path: str | PathLike[str],
    metadata: Mapping[str, Any],
    run_limits: RunLimits | None = None,
) -> None:
    """Save the certificate of a run over the class of an oracle, where F is described.

    Parameters
    ----------
    program
        The formulation of the run, its parameters, the margins of the hypotheses with weight, and F0 and G of the
        objective.
    certificate
        The certificate over the class.
    w
        The weights of these hypotheses, in the domain of the conjugate of G.
    oracle
        The oracle. It gets one query.
    hypotheses
        The hypotheses.
    path
        The file. It is written under another name first and then renamed.
    metadata
        Information for readers of the file.
    run_limits
        The limits that the weights are proved to keep; None for none. The program is that of the examples alone.

    Warns
    -----
    UserWarning
        The hypotheses are not written, because they are more than numbers and texts.

    Raises
    ------
    ProblemError
        The checker of files has no rule for an atom or a coefficient of F or G; or no proof in fractions was found near
        the weights. Then no file is written.
    DataError
        The file cannot be written.
    """
    target, U = check_path("path", path), program.margins
    check_entries(U.N, U.t)
    parts = regularizer_part(program.regularizer), edge_part(program.edge_function, U.t)
    document, arrays = statement_of_program(program, parts)
    data = {
        **document["data"],
        "oracle": class_description(oracle),
        "digest": oracle.digest,
        "hypotheses": hypotheses_to_json(hypotheses),
    }
    further_statements = other_functions(program.formulation, program.parameters, program.examples, U.t, document)
    document |= {"kind": FILE_KIND, "data": data, "formulation": {**document["formulation"], **further_statements}}
    with working_precision():
        try:
            multipliers, lower, point, upper = _proof(parts, document, program, certificate, w, oracle, run_limits)
        except Rejected as rejected:
            raise ProblemError(f"a file cannot state this run: {rejected}. Keep the certificate in Python.") from None
        claimed = None if upper is None else _outward(0.0 - lower_end(-upper))
        proof = {
            "multipliers": multipliers_to_json(multipliers),
            "point": None if point is None else vector_to_json(point),
            "ray": None,
        }
        claim = {"lower": lower_end(lower), "upper": claimed, "what": certificate.quantity}
    if run_limits is not None:
        document |= {"limits": run_limits.limits.to_json()}
    document |= {"proof": proof, "claim": {"status": "open" if claimed is None else "bounded", **claim}}
    text = text_of_file({**document, "arrays": arrays, "made": to_json_value(metadata)})
    margins = U if run_limits is None else run_limits.margins
    verification = verify_described_class_certificate(parse_json(text), oracle, margins, {}, program.formulation)
    if not verification:
        raise ProblemError(
            f"expected a file that its checker accepts; {verification.reason}. Keep the certificate in Python."
        )
    write_atomically(target, lambda file: file.write(text))


def _proof(
    parts: tuple[StatedPart, StatedPart],
    document: Mapping[str, Any],
    program: Program,
    certificate: ClassCertificate,
    w: Array,
    oracle: Oracle,
    run_limits: RunLimits | None,
) -> tuple[Multipliers, Number, ScaledVector | None, Number | None]:
    """Return multipliers with the lower bound that they prove, and a point of F with the upper bound that it proves.

    The upper bound and its point are None if the certificate or the oracle has no such bound.

    Raises
    ------
    ProblemError
        No proof was found near the weights of the run.
    Rejected
        The statement is beyond a limit of files.
    """
    U = np.asarray(program.margins.to_array(), dtype=np.float64)
    problem, functions = composed_functions(document, U)
    d = program.examples.d0 if certificate.d is None else certificate.d
    program_certificate = program.certify(d, w)
    inner_point = point_of_program(parts, functions, U, program_certificate.d)
    if run_limits is None:
        multipliers, _ = nearly_optimal_proof(parts, functions, problem, U, program_certificate.w, inner_point)
    else:  # exactly optimal weights, or another rounding of these, might leave the limits
        multipliers = multipliers_of_weights(parts, functions, U, w, inner_point)
    lower = pair_product(lower_bound(problem, multipliers), 1 / multipliers.objective)
    if run_limits is not None:
        errors, margins = checked_row_errors(oracle, run_limits.limits), run_limits.margins.to_array()
        lower = pair_sum(lower, -limits_loss(multipliers, margins, run_limits.limits, errors))
    point, upper = None, None
    if certificate.d is not None and math.isfinite(certificate.upper):
        point = point_of_weights(parts[0], functions[0], certificate.d)
        value = upper_bound(functions[0].problem, point)
        weights = query_weights(functions[0], point)
        limits = None if run_limits is None else run_limits.limits
        edge_bound = query_oracle(oracle, weights, limits).edge_bound
        upper = class_upper_bound(functions[0], point, value, weights, edge_bound, limits)
    loss = MAX_LOSS * max(1.0, abs(certificate.lower), abs(certificate.upper) if upper is not None else 0.0)
    is_proved = floor_float(lower) >= certificate.lower - loss
    if not (is_proved and (upper is None or ceil_float(upper) <= certificate.upper + loss)):
        raise ProblemError(
            f"a file must prove the interval of the certificate, {certificate!r}; the weights prove "
            f"[{floor_float(lower)!r}, {math.inf if upper is None else ceil_float(upper)!r}] in fractions. Boost with "
            "a smaller epsilon, or keep the certificate in Python."
        )
    return multipliers, lower, point, upper


def _outward(upper: float) -> float:
    """Return a claimed upper bound at the distance of the rounding of other machines."""
    return upper + PLATFORM_TOLERANCE * max(1.0, abs(upper))
