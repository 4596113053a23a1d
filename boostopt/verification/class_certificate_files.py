"""Certificates of runs over the whole class of an oracle, for a soft margin or another objective.

The lower bound is the objective of the weights, over the hypotheses with weight. A distribution d and the oracle's edge
bound for d prove the upper bound; the oracle gets one query. The file names the objective and the class, in words and
by the digest of its examples. It contains the hypotheses as plain numbers if they are of boostopt's own kinds.

If the weights of the class have limits, the file is about the best weights within the limits. Its weights keep the
limits of the verifier's oracle, and prices of the limits stand beside d: see `trusted_kernel.stated_limits`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Float, HypothesisVector
from boostopt._utils.validation import check_instance
from boostopt.boosting.histogram_newton.histogram_run import HistogramRun
from boostopt.boosting.objectives.class_certificate import ClassCertificate
from boostopt.boosting.objectives.limited_formulation import LimitedWeights
from boostopt.boosting.objectives.soft_margin import SoftMarginObjective
from boostopt.boosting.run.run import Run
from boostopt.boosting.weight_limits import certify_limits, objective_without_limits
from boostopt.errors import OptionError, ProblemError, require_not_none
from boostopt.functions.regularizers.base import Regularizer
from boostopt.oracles.base import HypothesisClass, Oracle, require_oracle
from boostopt.oracles.binned_class import BinnedClass
from boostopt.oracles.limited_class import LimitedClass
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
    WITHIN_LIMITS,
    checked_row_errors,
    hypotheses_to_json,
    hypothesis_margins,
    membership_text,
    oracle_of_file,
    query_oracle,
    require_multiplicities,
    rows_with_limits,
)
from boostopt.verification.described_files.described_class_writer import RunLimits, save_described_class_certificate
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
from boostopt.verification.trusted_kernel.edge_terms import bound_over_class
from boostopt.verification.trusted_kernel.feasible_weights import feasible_weights_with_norm, project_into_ball
from boostopt.verification.trusted_kernel.json_parsing import Rejected, SizeLimit, reject
from boostopt.verification.trusted_kernel.number_types import FloatBalls
from boostopt.verification.trusted_kernel.stated_limits import LIMITED_SUBJECT, StatedLimits, keeps_limits
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

MAX_SCALINGS, SCALING_STEP = 12, 1e-15
"""The number of trials for a distribution whose edges are below a level, and the relative size of the first step."""


def save_class(
    run: Run, oracle: HypothesisClass, path: str | PathLike[str], provenance: Mapping[str, Any] | None = None
) -> None:
    """Save the certificate of a run over its whole class, so that others can verify it with their own oracle.

    Parameters
    ----------
    run
        The run.
    oracle
        The oracle of the run. It gets one query, which proves the upper bound before the file is written, and more for
        a program without a soft margin. Over a `LimitedClass`, the file has the interval of
        `boostopt.boosting.certify_limits`.
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
        The oracle has other examples or another class; or the largest edge bounds no value of the program.
    ProblemError
        F or G has neither closed forms nor a description; or no proof in fractions was found for a description; or no
        weights are proved to keep the limits of the class.
    DataError
        The file cannot be written.
    """
    run = check_instance("run", run, Run, "a run of boost", "Pass the run itself.")
    if isinstance(run, HistogramRun) and isinstance(oracle, BinnedClass) and oracle.binned_rows is not None:
        save_histogram_certificate(run, oracle, path, provenance or {})
        return
    oracle = require_oracle(oracle, "the best hypothesis under given weights")
    certificate, objective = run.verify_class(oracle), run.record.problem.objective
    regularizer, G = run.record.problem.class_pair
    examples, is_stated = run.record.problem.examples, objective is not None or not is_described(regularizer, G)
    if not (is_stated and run.w.any()):
        raise OptionError(
            "expected a run with weights, and a soft margin or an F with a closed form; got a run without. Use "
            "run.certificate."
        )
    formulation, parameters = run.record.problem.formulation, run.record.problem.template.parameters
    pool_rows, w, limits = run.record.pool.margins, run.w, None
    margins = pool_rows
    if objective is not None and isinstance(oracle, LimitedClass) and isinstance(formulation, LimitedWeights):
        w = _weights_within_limits(run)
        n = oracle.oracle.N
        prices = np.zeros(len(oracle.limits)) if certificate.d is None else certificate.d[n:]
        d = None if certificate.d is None else certificate.d[:n]
        limits = StatedLimits(oracle.right_sides, np.maximum(prices, 0.0))
        objective, formulation = objective_without_limits(objective), formulation.base
        certificate = dataclasses.replace(certificate, witness=d, quantity=objective.measure)
        regularizer, examples = objective.F0, objective.examples
        margins = margins.take_rows(np.arange(n))
    nonzero = np.flatnonzero(w)
    hypotheses = [run.hypotheses[q] for q in nonzero.tolist()]
    U, w = margins.take_columns(nonzero), w[nonzero]
    is_scaled = objective is not None and objective.nonnegative_weights and limits is None
    w = w / np.abs(w).sum() if is_scaled else w
    program = Program(formulation, parameters, examples, U, regularizer, G)
    if is_described(regularizer, G):
        statement_of_limits = None if limits is None else RunLimits(limits, pool_rows.take_columns(nonzero))
        save_described_class_certificate(
            program, certificate, w, oracle, hypotheses, path, provenance or {}, statement_of_limits
        )
        return
    program_certificate = (program if objective is None else objective.program(U)).certify(certificate.d, w)
    if limits is not None:
        # Another rounding of the weights might leave the limits.
        program_certificate = dataclasses.replace(program_certificate, w=w)
    statement, arrays = statement_and_arrays(program, program_certificate.w)
    statement |= {
        "subject": "class",
        "formulation": {**statement["formulation"], **functions_as_json(formulation, parameters, examples)},
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
    claim = document["claim"]
    claim["what"] = certificate.quantity
    if certificate.d is not None and math.isfinite(certificate.upper):
        if objective is None:
            arrays["d"], claim["upper"] = _class_bound_of_program(document, arrays, certificate, oracle)
        else:
            claim["upper"] = certificate.upper
            arrays_with_d = arrays | {"d": certificate.d}
            claim["upper"] = _soft_margin_bound(document, arrays_with_d, regularizer, limits)
            arrays = arrays_with_d if math.isfinite(claim["upper"]) else arrays
    if limits is not None:
        document |= {"subject": LIMITED_SUBJECT, "limits": limits.to_json()}
    write_certificate_file(path, document, arrays)


def _soft_margin_bound(
    document: dict[str, Any], arrays: dict[str, Array], regularizer: Regularizer, limits: StatedLimits | None
) -> float:
    """Return the upper bound of the soft margin over a class that a file proves by its d; inf for none.

    The document has the bound of the certificate. If d is replaced by a point of its ball, the bound increases.
    """
    certified_upper = document["claim"]["upper"]
    price = 0.0 if limits is None else float(limits.right_sides @ limits.prices)
    edge_bound = certified_upper - regularizer.value(arrays["d"]) - price
    recomputed_upper = _recomputed_upper_bound(document, arrays, edge_bound, limits)
    if not math.isfinite(recomputed_upper):
        return math.inf
    upper = max(certified_upper, recomputed_upper)
    size = 0.0 if limits is None else float((1.0 + np.abs(limits.right_sides)) @ limits.prices)
    return upper + 1e-12 * max(1.0, abs(upper), size)


def _class_bound_of_program(
    document: dict[str, Any], arrays: dict[str, Array], certificate: ClassCertificate, oracle: Oracle
) -> tuple[ExampleVector, float]:
    """Return a distribution and the upper bound of a program over a class that it proves by one query to the oracle.

    Where G allows edges up to a level, the distribution is scaled until rounding is below the distance of the edges
    from this level.

    Raises
    ------
    ProblemError
        No such distribution was found.
    """
    d, claim = require_not_none(certificate.d, "a distribution that proves the bound"), document["claim"]
    claim["upper"] = certificate.upper
    for step in range(MAX_SCALINGS):
        trial = d * (1.0 - SCALING_STEP * 4.0**step) if step else d
        edge_bound = query_oracle(oracle, trial).edge_bound
        if edge_bound is None:
            break
        upper = _recomputed_upper_bound(document, arrays | {"d": trial}, edge_bound, None)
        if math.isfinite(upper):
            upper = max(certificate.upper, upper)
            return trial, upper + 1e-12 * max(1.0, abs(upper))
    raise ProblemError(
        f"expected a distribution that proves the upper bound {certificate.upper:.6g} again; got none. Boost with a "
        "smaller epsilon, or keep the certificate in Python."
    )


def _weights_within_limits(run: Run) -> HypothesisVector:
    """Return the weights of a run that are proved to keep its limits.

    Raises
    ------
    ProblemError
        There are none.
    """
    w = certify_limits(run).w
    if w is None:
        raise ProblemError(
            "expected weights that are proved to keep the limits; got a run without any. Boost with a smaller epsilon "
            "or a larger max_price, or keep the certificate of certify_limits, its upper bound, in Python."
        )
    return w


def verify_class_certificate(
    document: CertificateDocument, oracle: Any, U: Any, formulation: Any, limits: StatedLimits | None = None
) -> Verification:
    """Return the verdict on the certificate of a class.

    Parameters
    ----------
    document
        The document of the file.
    oracle
        The oracle over the verifier's examples.
    U
        The margins of the hypotheses with weight, None to compute them. Below them stand the rows of the limits, which
        must be those of hypotheses with these margins in some group with costs.
    formulation
        The verifier's own formulation; None for a formulation of boostopt.
    limits
        The limits that the file states; None for a class without limits.

    Raises
    ------
    Rejected
        The certificate proves nothing, or less than it claims.
    """
    n, k = document.N, 0 if limits is None else len(limits.prices)
    row_errors = checked_row_errors(oracle, limits)
    oracle = oracle_of_file(oracle, document.oracle_digest, document.oracle, n + k)
    require_multiplicities(oracle, np.append(document.c, np.ones(k)))
    objective = check_formulation_consistency(document, formulation)
    measure = SoftMarginObjective.name_of(objective)
    check_measure(document.quantity, measure)
    if limits is not None and objective is None:
        reject("limits of the weights need a formulation with a value of weights that sum to 1")
    needs_negations = bool(document.G.get("signed")) if objective is None else not objective.nonnegative_weights
    if needs_negations and (limits is not None or not oracle.reflexive):
        reject("edges count without their sign, but the class does not contain the negations of its hypotheses")
    d, A = document.arrays.get("d"), FloatBalls()
    F = build_regularizer(document, A)
    point = None if d is None else _feasible_point(A, F, d)
    weights = document.c / document.c.sum() if d is None else _query_weights(F, d)
    answer = query_oracle(oracle, weights, limits)
    computed = hypothesis_margins(document.hypotheses, n + k, document.t, oracle, answer) if U is None else U
    margins = as_margin_matrix(computed)
    if limits is not None:
        rows = rows_with_limits(margins, n, document.t, oracle, U is not None, document.hypotheses)
        margins = _margins_within_limits(document, rows, limits, row_errors)
    arrays = {name: array for name, array in document.arrays.items() if name != "d"}
    bounds = recompute_bounds(dataclasses.replace(document, arrays=arrays), margins, A)
    if d is not None:
        if answer.edge_bound is None:
            reject("the oracle gives no bound on the edges of its class; the certificate claims one")
        bounds = ProvedBounds(bounds.lower, _upper_bound(A, F, document.G, point, d, answer.edge_bound, limits))
    check_claims(document, bounds)
    claimed_bounds = claimed_bounds_text(document)
    suffix = "" if claimed_bounds == BOTH_BOUNDS else NO_FURTHER_CLAIM
    scope = "" if limits is None else WITHIN_LIMITS
    reason = f"recomputed over {oracle}: {claimed_bounds} of the best {measure}{scope}{suffix}"
    reason += membership_text(oracle, answer, U)
    reason += "" if document.formulation_functions else FUNCTIONS_NOT_STATED
    return dataclasses.replace(make_verification(document, True, reason, bounds, False), quantity=measure)


def _margins_within_limits(
    document: CertificateDocument, rows: Float[Array, "rows t"], limits: StatedLimits, row_errors: Float[Array, " k"]
) -> Float[Array, "N t"]:
    """Return the margins of the examples; Rejected if the weights of the file are not proved to keep the limits."""
    if not keeps_limits(-rows[document.N :], limits.right_sides, row_errors, document.arrays["w"]):
        reject("its weights are not proved to keep the limits of the class")
    return rows[: document.N]


def _feasible_point(A: FloatBalls, F: RegularizerTerms, d: ExampleVector) -> Vector:
    """Return a point of the domain of F near d; Rejected if there is none, or this is undecided."""
    point = feasible_weights_with_norm(A, F.box, F.norm, d)
    if F.norm is not None and F.norm.ball:
        point = project_into_ball(A, F.norm, point, F.box)
    return reject("it cannot be decided whether d lies in the ball of its norm") if point is None else point


def _query_weights(F: RegularizerTerms, d: ExampleVector) -> ExampleVector:
    """Return the weights of the query to the oracle, which are non-negative unless F allows any sign."""
    return d if F.box.is_unbounded else np.maximum(d, 0.0)


def _upper_bound(
    A: FloatBalls,
    F: RegularizerTerms,
    G: Mapping[str, Any],
    point: Vector,
    d: ExampleVector,
    edge_bound: float,
    limits: StatedLimits | None,
) -> float:
    """Return an upper bound of the objective over a class, from an edge bound for d and a feasible point near d.

    Margins lie in [-1, 1], so an edge changes by at most the 1-norm of the difference of the point and d. The edges of
    a class with limits are those after the prices, and the prices cost <b, p>.
    """
    distance = A.total(A.absolute(point - A.to_vector(_query_weights(F, d))))
    value = F.value(A, point)
    if limits is not None:
        value = value + A.total(A.to_vector(limits.right_sides) * A.to_vector(limits.prices))
    cost = bound_over_class(A, G, A.to_number(edge_bound) + distance)
    return math.inf if cost is None else math.nextafter(float(A.upper(value + cost)), math.inf)


def _recomputed_upper_bound(
    document: dict[str, Any], arrays: dict[str, Array], edge_bound: float, limits: StatedLimits | None
) -> float:
    """Return the upper bound as a verifier will recompute it; ProblemError if d proves none."""
    A, d = FloatBalls(), arrays["d"]
    try:
        with np.errstate(all="ignore"):
            parsed = parse_written(document, arrays)
            F = build_regularizer(parsed, A)
            return _upper_bound(A, F, parsed.G, _feasible_point(A, F, d), d, edge_bound, limits)
    except SizeLimit as limit:
        raise too_large(limit) from limit
    except Rejected as rejected:
        raise ProblemError(
            f"expected weights d that prove an upper bound; {rejected}. Boost with a smaller tolerance. If that does "
            "not help, please report this bug."
        ) from rejected
