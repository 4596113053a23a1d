"""Certificates of runs over the whole class of an oracle, for a soft margin or another objective.

The lower bound is the objective of the weights, over the hypotheses with weight. A distribution d and the oracle's edge
bound for d prove the upper bound; the oracle gets one query. The file names the objective and the class, in words and
by the digest of its examples. It contains the hypotheses as plain numbers if they are of boostopt's own kinds.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector
from boostopt._utils.validation import check_instance
from boostopt.boosting.histogram_newton.histogram_run import HistogramRun
from boostopt.boosting.run.run import Run
from boostopt.errors import OptionError, ProblemError, require_not_none
from boostopt.oracles.base import HypothesisClass, require_oracle
from boostopt.oracles.binned_class import BinnedClass
from boostopt.programs.program import Program
from boostopt.verification.certificate_writer import (
    add_claim,
    class_description,
    parse_written,
    statement_and_arrays,
    too_large,
    write_certificate_file,
)
from boostopt.verification.class_statements import (
    MEMBERSHIP_NOT_CHECKED,
    hypotheses_to_json,
    hypothesis_margins,
    oracle_of_file,
    query_oracle,
    require_multiplicities,
)
from boostopt.verification.described_files.described_class_writer import save_described_class_certificate
from boostopt.verification.described_files.functions_as_problems import is_described
from boostopt.verification.formulation_consistency import (
    check_formulation_consistency,
    check_measure,
    functions_as_json,
)
from boostopt.verification.histogram_certificate_writer import save_histogram_certificate
from boostopt.verification.trusted_kernel.certificate_schema import CertificateDocument
from boostopt.verification.trusted_kernel.checker import (
    ProvedBounds,
    RegularizerTerms,
    build_regularizer,
    recompute_bounds,
)
from boostopt.verification.trusted_kernel.conjugates import Vector
from boostopt.verification.trusted_kernel.feasible_weights import feasible_weights_with_norm, project_into_ball
from boostopt.verification.trusted_kernel.json_parsing import Rejected, SizeLimit, reject
from boostopt.verification.trusted_kernel.number_types import FloatBalls
from boostopt.verification.verification_result import (
    BOTH_BOUNDS,
    FUNCTIONS_NOT_STATED,
    NO_FURTHER_CLAIM,
    Verification,
    as_margin_matrix,
    check_claims,
    claimed_bounds_text,
    make_verification,
)


def save_class(
    run: Run, oracle: HypothesisClass, path: str | PathLike[str], provenance: Mapping[str, Any] | None = None
) -> None:
    """Save the certificate of a run over its whole class, so that others can verify it with their own oracle.

    Parameters
    ----------
    run
        The run.
    oracle
        The oracle of the run. It gets one query, which proves the upper bound before the file is written.
    path
        The file; long vectors go into a second file, as in `save`.
    provenance
        Information about the run for readers of the file: names with texts and numbers.

    Warns
    -----
    UserWarning
        The hypotheses are not written, because they are more than numbers and texts.

    Raises
    ------
    OptionError
        The oracle has other examples or another class; or the program has no soft margin.
    ProblemError
        F or G has neither closed forms nor a description; or no proof in fractions was found for a description.
    DataError
        The file cannot be written.
    """
    run = check_instance("run", run, Run, "a run of boost", "Pass the run itself.")
    if isinstance(run, HistogramRun) and isinstance(oracle, BinnedClass) and oracle.binned_rows is not None:
        save_histogram_certificate(run, oracle, path, provenance or {})
        return
    oracle = require_oracle(oracle, "the best hypothesis under given weights")
    certificate, objective = run.verify_class(oracle), run.record.problem.objective
    if objective is None or not run.w.any():
        raise OptionError("expected a run with a soft margin; got a run without one. Use run.certificate.")
    used = np.flatnonzero(run.w)
    hypotheses = [run.hypotheses[q] for q in used.tolist()]
    U, w = run.record.pool.margins.take_columns(used), run.w[used]
    w = w / np.abs(w).sum() if objective.nonnegative_weights else w
    formulation, parameters = run.record.problem.formulation, run.record.problem.template.parameters
    program = Program(formulation, parameters, objective.examples, U, objective.F0, objective.G)
    if is_described(objective.F0, objective.G):
        save_described_class_certificate(program, certificate, w, oracle, hypotheses, path, provenance or {})
        return
    program_certificate = objective.program(U).certify(certificate.d, w)
    statement, arrays = statement_and_arrays(program, program_certificate.w)
    statement |= {
        "subject": "class",
        "formulation": {**statement["formulation"], **functions_as_json(formulation, parameters, objective.examples)},
        "data": {
            **statement["data"],
            "oracle": class_description(oracle),
            "digest": oracle.digest,
            "hypotheses": hypotheses_to_json(hypotheses),
        },
    }
    # The lower bound is proved as for any program, the upper bound by the oracle.
    document, arrays = add_claim(
        statement, arrays, program, dataclasses.replace(program_certificate, upper=math.inf), provenance or {}
    )
    document["claim"]["what"] = objective.measure
    if certificate.d is not None and math.isfinite(certificate.upper):
        arrays["d"] = certificate.d
        claim = document["claim"]
        claim["upper"] = certificate.upper
        # If d is replaced by a point of its ball, the upper bound increases.
        recomputed = _recomputed_upper_bound(document, arrays, certificate.upper - objective.F0.value(certificate.d))
        if math.isfinite(recomputed):
            upper = max(certificate.upper, recomputed)
            claim["upper"] = upper + 1e-12 * max(1.0, abs(upper))
        else:
            del arrays["d"]
            claim["upper"] = math.inf
    write_certificate_file(path, document, arrays)


def verify_class_certificate(document: CertificateDocument, oracle: Any, U: Any, formulation: Any) -> Verification:
    """Return the verdict on the certificate of a class.

    Parameters
    ----------
    document
        The document of the file.
    oracle
        The oracle over the verifier's examples.
    U
        The margins of the hypotheses with weight, None to compute them.
    formulation
        The verifier's own formulation; None for a formulation of boostopt.

    Raises
    ------
    Rejected
        The certificate proves nothing, or less than it claims.
    """
    oracle = oracle_of_file(oracle, document.oracle_digest, document.oracle, document.N)
    require_multiplicities(oracle, document.c)
    objective = require_not_none(check_formulation_consistency(document, formulation), "a value over a class")
    check_measure(document.quantity, objective.measure)
    if not objective.nonnegative_weights and not oracle.reflexive:
        reject("edges count without their sign, but the class does not contain the negations of its hypotheses")
    d, A = document.arrays.get("d"), FloatBalls()
    F = build_regularizer(document, A)
    point = None if d is None else _feasible_point(A, F, d)
    answer = query_oracle(oracle, document.c / document.c.sum() if d is None else _query_weights(F, d))
    computed = hypothesis_margins(document.hypotheses, document.N, document.t, oracle, answer) if U is None else U
    margins = as_margin_matrix(computed)
    arrays = {name: array for name, array in document.arrays.items() if name != "d"}
    bounds = recompute_bounds(dataclasses.replace(document, arrays=arrays), margins, A)
    if d is not None:
        if answer.edge_bound is None:
            reject("the oracle gives no bound on the edges of its class; the certificate claims one")
        bounds = ProvedBounds(bounds.lower, _upper_bound(A, F, point, d, answer.edge_bound))
    check_claims(document, bounds)
    claimed_bounds = claimed_bounds_text(document)
    is_membership_checked = answer.edge_bound is not None and U is None
    suffix = "" if claimed_bounds == BOTH_BOUNDS else NO_FURTHER_CLAIM
    reason = f"recomputed over {oracle}: {claimed_bounds} of the best {objective.measure}{suffix}"
    reason += "" if is_membership_checked else MEMBERSHIP_NOT_CHECKED
    reason += "" if document.formulation_functions else FUNCTIONS_NOT_STATED
    return dataclasses.replace(make_verification(document, True, reason, bounds, False), quantity=objective.measure)


def _feasible_point(A: FloatBalls, F: RegularizerTerms, d: ExampleVector) -> Vector:
    """Return a point of the domain of F near d; Rejected if there is none, or this is undecided."""
    point = feasible_weights_with_norm(A, F.box, F.norm, d)
    if F.norm is not None and F.norm.ball:
        point = project_into_ball(A, F.norm, point, F.box)
    return reject("it cannot be decided whether d lies in the ball of its norm") if point is None else point


def _query_weights(F: RegularizerTerms, d: ExampleVector) -> ExampleVector:
    """Return the weights of the query to the oracle, which are non-negative unless F allows any sign."""
    return d if F.box.is_unbounded else np.maximum(d, 0.0)


def _upper_bound(A: FloatBalls, F: RegularizerTerms, point: Vector, d: ExampleVector, edge_bound: float) -> float:
    """Return an upper bound of the objective over a class, from an edge bound for d and a feasible point near d.

    Margins lie in [-1, 1], so an edge changes by at most the 1-norm of the difference of the point and d.
    """
    difference = point - A.to_vector(_query_weights(F, d))
    value = F.value(A, point) + A.total(A.absolute(difference))
    return math.nextafter(float(A.upper(value)) + edge_bound, math.inf)


def _recomputed_upper_bound(document: dict[str, Any], arrays: dict[str, Array], edge_bound: float) -> float:
    """Return the upper bound as a verifier will recompute it; ProblemError if d proves none."""
    A, d = FloatBalls(), arrays["d"]
    try:
        with np.errstate(all="ignore"):
            F = build_regularizer(parse_written(document, arrays), A)
            return _upper_bound(A, F, _feasible_point(A, F, d), d, edge_bound)
    except SizeLimit as limit:
        raise too_large(limit) from limit
    except Rejected as rejected:
        raise ProblemError(
            f"expected weights d that prove an upper bound; {rejected}. Boost with a smaller tolerance. If that does "
            "not help, please report this bug."
        ) from rejected
