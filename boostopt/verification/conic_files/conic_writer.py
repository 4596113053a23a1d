"""The writer of certificate files of conic and quadratic programs: each file is verified before it is written."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from os import PathLike
from typing import Any

from boostopt.conic_programs.conic_program import ConicProgram
from boostopt.conic_programs.exact.exact_optimum import ExactOptimum, exact_optimum
from boostopt.conic_programs.exact.work_limit import work_limit
from boostopt.errors import ProblemError, SolverFailed
from boostopt.problem_certificates.cone_proofs.conic_program_proof import ProgramProof
from boostopt.problem_certificates.problem_certificate import ProblemCertificate
from boostopt.verification.conic_files.conic_statement import CONIC_FILES, conic_program_to_json
from boostopt.verification.conic_files.conic_verdict import verify_conic_certificate
from boostopt.verification.conic_files.exact_conic_proofs import exact_multipliers, exact_point, exact_ray
from boostopt.verification.conic_kernel.conic_checker import lower_bound, upper_bound
from boostopt.verification.conic_kernel.conic_schema import FILE_KIND, ConicDocument, parse_conic_document
from boostopt.verification.linear_files.linear_writer import (
    UNPROVED,
    fraction_text,
    metadata,
    vector_to_json,
    write_program_certificate,
)
from boostopt.verification.linear_kernel.linear_schema import FORMAT, MAX_DIGITS
from boostopt.verification.problem_kernel.rationals_and_balls import ceil_float, floor_float, working_precision
from boostopt.verification.trusted_kernel.json_parsing import Rejected, parse_json

Values = Sequence[Fraction]

MAX_LOSS = 1e-6
"""Relative loss of a bound, compared with the certificate, with which a file is written."""

MAX_WORK_DIGITS = 20_000_000
"""Number of binary digits up to which an exact optimum is computed in place of a proof that is not found."""

NO_CLAIM: Mapping[str, Any] = {"status": "infeasible", "lower": None, "upper": None}
"""The claim of a file whose bounds are not known yet."""


@dataclass(frozen=True)
class ProvedClaim:
    """A proof as JSON with the bounds of the minimum that it proves.

    Attributes
    ----------
    status
        The status that the file claims.
    proof
        The proof.
    lower, upper
        The bounds; None for one that is not proved.
    reason
        The reason for which a bound is not proved, in words.
    """

    status: str
    proof: Mapping[str, Any]
    lower: Fraction | None = None
    upper: Fraction | None = None
    reason: str = ""


def save_exact_quadratic_optimum(
    optimum: ExactOptimum,
    path: str | PathLike[str],
    origin: Mapping[str, Any] | None = None,
    data: str | PathLike[str] | None = None,
) -> None:
    """Save the exact optimum of a quadratic program; see `ExactOptimum.save`.

    Raises
    ------
    ProblemError
        The program has cones, a condition of the status does not hold, or the checker does not prove P semidefinite.
    DataError
        The file cannot be written.
    """
    if optimum.program.cones:
        raise ProblemError(
            "the file of an exact optimum states a linear or quadratic program; got one with cones. Save the "
            "certificate of certify_problem."
        )
    if not optimum.is_proved():
        raise ProblemError(UNPROVED)
    _save(optimum.program, _claim_of_optimum(optimum), path, origin, data)


def save_conic_certificate(
    certificate: ProblemCertificate,
    path: str | PathLike[str],
    origin: Mapping[str, Any] | None = None,
    data: str | PathLike[str] | None = None,
) -> None:
    """Save the certificate of a conic program; see `ProblemCertificate.save`.

    Raises
    ------
    ProblemError
        The certificate proves nothing, no proof in fractions is found near its proof, or one of a much wider interval;
        or the checker needs too long for it.
    DataError
        The file cannot be written.
    """
    proof = certificate.program_proof
    if proof is None or not (certificate.is_decided or math.isfinite(max(certificate.lower, -certificate.upper))):
        raise ProblemError("a file states what is proved; got a certificate with no bound. Keep it in Python.")
    program = proof.program
    claim = _claim_near(proof)
    if not program.cones and proof.rational_proof is None and _loss_in_words(certificate, claim):
        claim = _claim_by_exact_optimum(program) or claim
    loss = _loss_in_words(certificate, claim)
    if loss:
        raise ProblemError(f"expected a proof in fractions near that of the certificate; {loss}. Keep it in Python.")
    _save(program, claim, path, origin, data)


def _claim_of_optimum(optimum: ExactOptimum) -> ProvedClaim:
    """Return the claim of an exact optimum; its value is that of the minimum."""
    is_optimal = optimum.status == "optimal"
    w = optimum.x if is_optimal and optimum.program.P is not None else None
    proof = _proof_to_json(x=optimum.x, ray=optimum.ray, y=optimum.y, z=[], w=w)
    value = None
    if optimum.value is not None:
        value = -optimum.value if optimum.program.is_maximized else optimum.value
    return ProvedClaim("bounded" if is_optimal else optimum.status, proof, value, value)


def _claim_by_exact_optimum(program: ConicProgram) -> ProvedClaim | None:
    """Return the claim of the exact optimum of a program without cones; None if it takes too many digits."""
    try:
        with work_limit(MAX_WORK_DIGITS):
            optimum = exact_optimum(replace(program, is_maximized=False))
    except (SolverFailed, ProblemError):
        return None
    return _claim_of_optimum(optimum) if optimum.is_proved() else None


def _claim_near(proof: ProgramProof) -> ProvedClaim:
    """Return the claim that a proof in fractions near that of a certificate proves."""
    program, status = proof.program, proof.status
    exact = proof.exact
    if exact is not None:
        return _claim_of_optimum(exact)
    reasons = list[str]()
    x = None if proof.x is None or status == "infeasible" else exact_point(program, proof.x, proof.exact_x)
    ray = None if proof.ray is None else exact_ray(program, proof.ray)
    multipliers = None
    if proof.multipliers is not None and status != "unbounded":
        multipliers = exact_multipliers(program, proof.multipliers, has_objective=status != "infeasible")
    if x is None and proof.x is not None:
        reasons.append("no solution of the equations in fractions is found near the point")
    if multipliers is None and proof.multipliers is not None:
        reasons.append("no multipliers in fractions are found that satisfy all equations of reduced costs")
    has_tangent = multipliers is not None and program.P is not None and status != "infeasible"
    has_shifts = has_tangent and proof.shifts is not None and (proof.shifts > 0).any()
    content = _proof_to_json(
        x=x,
        ray=ray,
        y=None if multipliers is None else multipliers.y,
        z=None if multipliers is None else multipliers.z,
        w=multipliers.w if multipliers is not None and has_tangent else None,
        shifts=list(map(Fraction, proof.shifts.tolist())) if proof.shifts is not None and has_shifts else None,
    )
    if status:
        return ProvedClaim(status, content, reason="; ".join(reasons))
    document = _document(program, content)
    upper = _bound(reasons, lambda: None if document.x is None else upper_bound(document.program, document.x))
    lower = _bound(
        reasons,
        lambda: None if document.multipliers is None else lower_bound(document.program, document.multipliers, 1),
    )
    if upper is None:
        content["x"] = None
    if lower is None:
        content |= {"y": None, "z": None, "w": None, "shifts": None}
    status = "bounded" if lower is not None and upper is not None else "open"
    return ProvedClaim(status, content, lower, upper, "; ".join(reasons))


def _bound(reasons: list[str], compute: Callable[[], Fraction | None]) -> Fraction | None:
    """Return a bound; None if the checker does not accept its proof, with the reason added to the reasons."""
    try:
        with working_precision():
            return compute()
    except Rejected as rejected:
        reasons.append(str(rejected))
        return None


def _document(program: ConicProgram, proof: Mapping[str, Any]) -> ConicDocument:
    """Return the content of a file without its claim.

    Raises
    ------
    ProblemError
        A file cannot state the program, or the numbers of the proof are too long.
    """
    try:
        return parse_conic_document(parse_json(json.dumps(_content(program, proof, NO_CLAIM)).encode()))
    except Rejected as rejected:
        raise ProblemError(f"a file cannot state this program or its proof: {rejected}. Keep it in Python.") from None


def _loss_in_words(certificate: ProblemCertificate, claim: ProvedClaim) -> str:
    """Return how a claim states less than a certificate, in words; "" if it does not, or hardly."""
    if certificate.is_decided:
        return "" if claim.status == certificate.status and not claim.reason else claim.reason or "none is found"
    proof = certificate.program_proof
    is_maximized = proof is not None and proof.program.is_maximized
    ends = (certificate.lower, certificate.upper)
    lower, upper = (-ends[1], -ends[0]) if is_maximized else ends
    allowed = MAX_LOSS * max(1.0, *(abs(end) for end in ends if math.isfinite(end)))
    for name, end, proved, direction in (("lower", lower, claim.lower, 1), ("upper", upper, claim.upper, -1)):
        if math.isfinite(end) and (proved is None or direction * (Fraction(end) - proved) > allowed):
            return claim.reason or f"that of the {name} bound proves much less"
    return ""


def _proof_to_json(
    *,
    x: Values | None,
    ray: Values | None,
    y: Values | None,
    z: Sequence[Values] | None,
    w: Values | None = None,
    shifts: Values | None = None,
) -> dict[str, Any]:
    """Return a proof as JSON."""
    vectors = {"x": x, "ray": ray, "y": y, "w": w, "shifts": shifts}
    return {
        **{name: vector_to_json(values) for name, values in vectors.items()},
        "z": None if y is None or z is None else [vector_to_json(values) for values in z],
    }


def _content(program: ConicProgram, proof: Mapping[str, Any], claim: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object that a file states, without information for readers."""
    return {
        "kind": FILE_KIND,
        "format": FORMAT,
        "program": conic_program_to_json(program),
        "proof": dict(proof),
        "claim": dict(claim),
        "made": {},
    }


def _save(
    program: ConicProgram,
    claim: ProvedClaim,
    path: str | PathLike[str],
    origin: Mapping[str, Any] | None,
    data: str | PathLike[str] | None,
) -> None:
    """Write the certificate with its claim, in the sense of the program."""
    lower, upper = claim.lower, claim.upper
    if lower != upper or lower is None or _n_digits(lower) > MAX_DIGITS:
        lower = None if lower is None else _as_fraction(floor_float(lower))
        upper = None if upper is None else _as_fraction(ceil_float(upper))
    if program.is_maximized:
        lower, upper = (None if end is None else -end for end in (upper, lower))
    ends = {name: None if end is None else fraction_text(end) for name, end in (("lower", lower), ("upper", upper))}
    content = _content(program, claim.proof, {"status": claim.status, **ends}) | {"made": metadata(origin)}
    write_program_certificate(content, verify_conic_certificate, CONIC_FILES, path, data)


def _n_digits(value: Fraction) -> int:
    """Return the number of hexadecimal digits of the longer part of a fraction."""
    return max(value.numerator.bit_length(), value.denominator.bit_length()) // 4 + 1


def _as_fraction(value: float) -> Fraction:
    """Return a bound as a fraction.

    Raises
    ------
    ProblemError
        It is infinite.
    """
    if math.isinf(value):
        raise ProblemError("a file states bounds that floats can hold; got a larger one. Scale the objective.")
    return Fraction(value)
