"""The writer of certificate files, with the statement, the proof, the claims and the origin of the answer."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import math
import platform
from collections.abc import Mapping
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array
from boostopt._utils.files import write_atomically, write_plain_npz
from boostopt._utils.validation import check_instance, check_path, invalid_value_error
from boostopt.boosting_certificates.certificate import Certificate
from boostopt.errors import ProblemError
from boostopt.functions.regularizers.norms.norm_regularizers import NormBall
from boostopt.programs.program import Program, check_certificate_sizes
from boostopt.solving.solution import Solution
from boostopt.verification.described_files.described_writer import save_described_certificate
from boostopt.verification.described_files.functions_as_problems import is_described
from boostopt.verification.functions_as_json import edge_to_json, regularizer_to_json
from boostopt.verification.trusted_kernel.certificate_schema import (
    ARRAYS_SUFFIX,
    FILE_KIND,
    FORMAT,
    MAX_TEXT_BYTES,
    CertificateDocument,
    parse_document,
)
from boostopt.verification.trusted_kernel.checker import ProvedBounds, recompute_bounds, vector_digest
from boostopt.verification.trusted_kernel.json_parsing import Rejected, SizeLimit, parse_json
from boostopt.verification.trusted_kernel.number_types import FloatBalls

MAX_INLINE_NUMBERS = 50_000
"""Largest number of array entries in the text itself; more entries are written into a file of arrays."""

ROUNDING_SAFETY = 4.0
"""Multiple of the rounding error by which a bound is moved outward, so that every machine proves it again."""

MAX_RELATIVE_WEAKENING = 1e-5
"""Largest difference of a written bound from that of the certificate, relative to its scale; more is an error."""

MAX_SLACK_MULTIPLE = 16.0
"""Further difference, as a multiple of the slack of the certificate: the checker bounds rounding less tightly."""

TANGENT_SCALE = 1e7
"""Size of s if only an infinite s is optimal: for a ball that touches the simplex in a single point."""


def save(
    certified: Solution | tuple[Program, Certificate],
    path: str | PathLike[str],
    provenance: Mapping[str, Any] | None = None,
) -> None:
    """Save a certificate so that others can verify it without boostopt's solvers.

    The file states the formulation with its parameters, F and G by kind and numbers, the shape and the digest of the
    margin matrix, the weights d and w that prove the interval, and the interval. It does not contain the matrix. The
    file is verified before it is written. Its interval is the interval of the certificate, rounded outward.

    Parameters
    ----------
    certified
        A solution, or a pair of a program and its certificate.
    path
        The file. Long vectors go into a second file with ".npz" added to the name. Both files are written under another
        name first and then renamed.
    provenance
        Information about the origin of the answer, for readers of the file: names with texts and numbers. By default,
        the information of the solution.

    Raises
    ------
    ProblemError
        F or G has neither a closed form nor a description, or the certificate does not hold.
    DataError
        The file cannot be written.
    """
    program, certificate = _program_and_certificate(certified)
    if is_described(program.regularizer, program.edge_function):
        save_described_certificate(program, certificate, path, to_json_value(_metadata(certified, provenance)))
        return
    statement, arrays = statement_and_arrays(program, certificate.w)
    write_certificate_file(path, *add_claim(statement, arrays, program, certificate, _metadata(certified, provenance)))


def _program_and_certificate(certified: Any) -> tuple[Program, Certificate]:
    """Return the program and the certificate of a solution or of a pair, checked."""
    pair = (certified.program, certified.certificate) if isinstance(certified, Solution) else certified
    expected, advice = "a solution, or a program with its certificate", "Pass a solution of solve."
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise invalid_value_error("certified", expected, certified, advice)
    program = check_instance("certified", pair[0], Program, expected, advice)
    certificate = check_instance("certified", pair[1], Certificate, expected, advice)
    return program, check_certificate_sizes(program, certificate)


def statement_and_arrays(program: Program, w: Array) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the statement of a program in a file, and the arrays: those of the statement, and w.

    Raises
    ------
    ProblemError
        F or G is not one of boostopt with a closed form.
    """
    F, examples = program.regularizer, program.examples
    record = program.parameters
    parameters = {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}
    nus = (*(v for v in parameters.values() if isinstance(v, float) and v > 0), 1.0)
    F_statement = regularizer_to_json(F, examples, nus)
    arrays = dict(F_statement.arrays)
    if not np.array_equal(examples.c, np.ones(examples.N)):
        arrays["c"] = examples.c
    if not np.array_equal(examples.d0, examples.c / examples.c.sum()):
        arrays["d0"] = examples.d0
    arrays |= {f"parameter {name}": value for name, value in parameters.items() if isinstance(value, np.ndarray)}
    statement = {
        "kind": FILE_KIND,
        "format": FORMAT,
        "subject": "program",
        "formulation": {
            "name": program.formulation.name,
            "parameters": {k: "array" if isinstance(v, np.ndarray) else v for k, v in parameters.items()},
        },
        "F": F_statement.numbers,
        "G": edge_to_json(program.edge_function),
        "data": {
            "N": program.margins.N,
            "t": program.margins.t,
            "U": program.margins.digest(),
            "c": vector_digest(examples.c),
            "d0": vector_digest(examples.d0),
        },
    }
    return statement, {**arrays, "w": w}


def class_description(oracle: object) -> str:
    """Return the class of an oracle as a file states it, in one line of at most 1,000 characters."""
    return " ".join(str(oracle).split())[:1000]


def add_claim(
    statement: dict[str, Any],
    arrays: dict[str, Array],
    program: Program,
    certificate: Certificate,
    metadata: Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the document and the arrays of a file: the statement with the claim of a certificate and its proof.

    The claimed bounds are those of the certificate, or weaker ones if the checker proves less.

    Parameters
    ----------
    statement, arrays
        The statement of the program and its arrays: see `statement_and_arrays`.
    program, certificate
        The program and its certificate.
    metadata
        Information for readers of the file.

    Raises
    ------
    ProblemError
        The weights of the certificate do not prove its bounds for this program, or the file would be too large.
    """
    F, z = program.regularizer, -program.margins.margins(certificate.w)
    if certificate.infeasible:
        proof = {"beta": _simplex_multiplier(F, z)}
        claim: dict[str, Any] = {"outcome": "infeasible", "excess": 0.0}
    else:
        proof, proof_arrays = _lower_bound_proof(program, z)
        arrays = arrays | proof_arrays | ({"d": certificate.d} if math.isfinite(certificate.upper) else {})
        # The widest interval, until the proved bounds are known.
        claim = {"outcome": "solved", "lower": "-inf", "upper": 1e308 if "d" in arrays else "inf"}
    document = {**statement, "claim": claim, "proof": proof, "made": dict(metadata)}
    bounds = _prove_bounds(document, arrays, program)
    if math.isinf(bounds.upper) and program.edge_function.domain(program.margins.t) is not None:
        # The edges of d equal their bound, which exact arithmetic has decided and the checker's floats cannot.
        certificate = dataclasses.replace(certificate, upper=math.inf)
    if certificate.infeasible:
        claim["excess"] = _round_outward(
            min(certificate.excess, _round_outward(bounds.excess, bounds.rounding_errors[0], -1)), 0.0, -1
        )
        is_proved = claim["excess"] > 0.0
    else:
        # The proved bound is moved outward; a weaker bound of the certificate already has this distance for rounding.
        lower = _round_outward(
            min(certificate.lower, _round_outward(bounds.lower, bounds.rounding_errors[0], -1)), 0.0, -1
        )
        upper = _round_outward(
            max(certificate.upper, _round_outward(bounds.upper, bounds.rounding_errors[1], 1)), 0.0, 1
        )
        claim |= {"lower": lower, "upper": upper}
        arrays = arrays if math.isfinite(upper) else {name: x for name, x in arrays.items() if name != "d"}
        max_weakening = (
            MAX_RELATIVE_WEAKENING * (certificate.scale if math.isfinite(certificate.scale) else 1.0)
            + MAX_SLACK_MULTIPLE * certificate.slack
        )
        is_proved = not (certificate.lower - lower > max_weakening or upper - certificate.upper > max_weakening)
    if not is_proved:
        raise ProblemError(
            f"expected a certificate that its weights prove for this program; got {certificate!r}, but the weights "
            f"prove [{bounds.lower!r}, {bounds.upper!r}]. Pass the program that was certified. If it is this one, "
            "solve with a smaller tol. If that does not help, please report this bug."
        )
    return document, arrays


def write_certificate_file(path: str | PathLike[str], document: dict[str, Any], arrays: dict[str, Array]) -> None:
    """Write a certificate file, and a file of arrays if they are long. Each file is replaced atomically."""
    target = check_path("path", path)
    if sum(len(array) for array in arrays.values()) <= MAX_INLINE_NUMBERS:
        lists = {name: array.tolist() for name, array in arrays.items()}
        _replace_file(target, _require_readable(document_text({**document, "arrays": lists})))
        return
    packed = io.BytesIO()
    float_arrays: dict[str, Any] = {
        name: np.ascontiguousarray(array, dtype=np.float64) for name, array in arrays.items()
    }
    write_plain_npz(packed, float_arrays)
    content = packed.getvalue()
    text = _require_readable(document_text({**document, "arrays": {"beside": hashlib.sha256(content).hexdigest()}}))
    _replace_file(target.with_name(target.name + ARRAYS_SUFFIX), content)
    _replace_file(target, text)


def _require_readable(text: bytes) -> bytes:
    """Return the text of a file; ProblemError if it is too long to be read again."""
    if len(text) <= MAX_TEXT_BYTES:
        return text
    raise ProblemError(
        f"expected a certificate of at most {MAX_TEXT_BYTES:,} bytes of text; got {len(text):,}. Pass less in "
        "provenance, or save a run with fewer hypotheses."
    )


def _replace_file(target: Path, content: bytes) -> None:
    """Write a file atomically."""
    write_atomically(target, lambda file: file.write(content))


def document_text(document: dict[str, Any]) -> bytes:
    """Return a document as JSON text."""
    return json.dumps(to_json_value(document), allow_nan=False, indent=1).encode()


def _lower_bound_proof(program: Program, z: Array) -> tuple[dict[str, float], dict[str, Array]]:
    """Return beta, and s if F has a norm, at which the checker bounds the conjugate of F."""
    F = program.regularizer
    statement = regularizer_to_json(F, program.examples).numbers
    is_relative_entropy = statement.get("base", statement)["kind"] == "relative entropy"
    if isinstance(F, NormBall) and F.is_singleton and statement["kind"] == NormBall.kind:
        s = _tangent_multiplier(F, z)
        point = F.base.conjugate_at(z - s)
    else:
        point = F.conjugate_at(z)
        s = point.multipliers.get("s")
    eta = float(statement.get("base", statement).get("eta", math.inf))
    beta = float(np.asarray(point.multipliers.get("beta", 0.0)))
    # The statement of the entropy lacks the terms -d + d0, which change beta by 1 / eta.
    return {"beta": beta - 1.0 / eta if is_relative_entropy else beta}, {} if s is None else {"s": np.asarray(s)}


def _tangent_multiplier(F: Any, z: Array) -> Array:
    """Return an s so large that the ball is nearly its tangent plane at the single common point with the simplex."""
    tangent = F.base.derivatives(F.min_norm_point)
    s = z - tangent
    return np.where(F.min_norm_point > 0, s - float(s.min()) + TANGENT_SCALE * max(1.0, float(np.abs(s).max())), 0.0)


def _simplex_multiplier(F: Any, z: Array) -> float:
    """Return the beta at which beta + sum u [z - beta]_+ equals the maximum of <d, z> over the domain of F."""
    box = getattr(F, "base", F)
    if not F.on_simplex:
        return 0.0
    order = np.argsort(-z)
    widths = (box.upper - box.lower)[order]
    remaining = 1.0 - float(box.lower.sum())
    last = int(np.searchsorted(np.cumsum(widths), remaining))
    return float(z[order[min(last, len(z) - 1)]])


def _prove_bounds(document: dict[str, Any], arrays: dict[str, Array], program: Program) -> ProvedBounds:
    """Return the bounds that the checker proves for a document before it is written."""
    try:
        with np.errstate(all="ignore"):
            return recompute_bounds(parse_written(document, arrays), program.margins.to_cvxpy_constant(), FloatBalls())
    except SizeLimit as limit:
        raise too_large(limit) from limit
    except Rejected as rejected:
        raise ProblemError(
            f"expected a certificate that can be proved from its weights; {rejected}. Please report this bug."
        ) from rejected


def too_large(limit: SizeLimit) -> ProblemError:
    """Return the error for a program or an answer that is too large for a file."""
    return ProblemError(
        f"a certificate file has limits on numbers and texts: {limit}. This certificate is too large for a file: keep "
        "the program and its certificate in Python, or scale F."
    )


def parse_written(document: dict[str, Any], arrays: dict[str, Array]) -> CertificateDocument:
    """Return a document before it is written as a reader will parse it."""
    return parse_document(parse_json(document_text({**document, "arrays": {}})), arrays)


def _round_outward(bound: float, error: float, direction: int) -> float:
    """Return a bound moved outward by a multiple of its rounding error; the infinite one if the sum is nan."""
    weaker_bound = math.nextafter(bound + direction * ROUNDING_SAFETY * error, direction * math.inf)
    return direction * math.inf if math.isnan(weaker_bound) else weaker_bound


def _metadata(certified: Any, metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the metadata of a file: versions, the solve of a solution, and the metadata of the caller."""
    result: dict[str, Any] = {
        "boostopt": import_module("boostopt").__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
    if isinstance(certified, Solution):
        best = certified.best
        result |= {
            "backend": certified.backend,
            "solver version": certified.version,
            "solver status": certified.solver_status,
            "options": {} if best is None else {name: repr(value)[:200] for name, value in best.options.items()},
            "tol": certified.tol,
            "verdict": certified.verdict.key,
            "seconds": certified.times["total"],
        }
    return result | dict(metadata or {})


def to_json_value(value: Any) -> Any:
    """Return a value of JSON types, with infinities as texts."""
    if isinstance(value, Mapping):
        return {str(key): to_json_value(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [to_json_value(inner) for inner in value]
    if isinstance(value, np.generic):
        return to_json_value(value.item())
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
