"""Certificate files: the statement, the proof, the claims and the origin of the answer."""

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
from boostopt.certificates.certificate import Certificate
from boostopt.errors import ProblemError
from boostopt.functions.edge_functions.base import EdgeFunction
from boostopt.functions.regularizers.base import Regularizer
from boostopt.functions.statements import Statement, defines_own_kind
from boostopt.programs.program import Examples, Program, check_certificate_sizes
from boostopt.solving.solution import Solution
from boostopt.verification.trusted_kernel.certificate_schema import (
    ARRAYS_SUFFIX,
    FILE_KIND,
    FORMAT,
    MAX_TEXT_BYTES,
    CertificateDocument,
)
from boostopt.verification.trusted_kernel.certificate_schema import parse_document as as_document
from boostopt.verification.trusted_kernel.checker import ProvedBounds, recompute_bounds, vector_digest
from boostopt.verification.trusted_kernel.json_parsing import Rejected, SizeLimit, parse_json
from boostopt.verification.trusted_kernel.number_types import FloatBalls

MAX_INLINE_NUMBERS = 50_000
"""Numbers that stand in the text itself; more of them stand in a file of arrays beside it."""

ROUNDING_SAFETY = 4.0
"""By how many times what is lost to rounding an end is moved outward, so that any machine proves it again."""

MAX_RELATIVE_WEAKENING = 1e-5
"""By how much of its size an end may be weaker than the certificate's, before that counts as a fault."""

MAX_SLACK_MULTIPLE = 16.0
"""And by how many times the certificate's own bound of its rounding: the checker, which knows less, allows for more."""

TANGENT_SCALE = 1e7
"""Size of s where only an infinite one is best: a ball that touches the simplex in one point."""


def save(
    certified: Solution | tuple[Program, Certificate],
    path: str | PathLike[str],
    made: Mapping[str, Any] | None = None,
) -> None:
    """Save a certificate, so that others can verify it without boostopt's solvers.

    The file states the formulation with its parameters, F and G by kind and numbers, the shape and the digest of the
    margin matrix, the weights d and w that prove the interval, and the interval. It does not contain the matrix. The
    file is verified before it is written. Its interval is that of the certificate, rounded outward.

    Parameters
    ----------
    certified
        A solution, or a pair of a program and its certificate.
    path
        The file. Long vectors go into a second file with ".npz" added to the name. Both files are written under another
        name first and then renamed.
    metadata
        Information about the origin of the answer, for readers of the file: names with texts and numbers. By default,
        the information of the solution.

    Raises
    ------
    ProblemError
        F or G has no closed forms (a prototype), or the certificate does not hold.
    DataError
        The file cannot be written.
    """
    pair = (certified.program, certified.certificate) if isinstance(certified, Solution) else certified
    expected, advice = "a solution, or a program with its certificate", "Pass a solution of solve."
    if not isinstance(pair, tuple | list) or len(pair) != 2:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise invalid_value_error("what", expected, certified, advice)
    program = check_instance("what", pair[0], Program, expected, advice)
    certificate = check_certificate_sizes(program, check_instance("what", pair[1], Certificate, expected, advice))
    statement, arrays = statement_and_arrays(program, certificate.w)
    write_certificate_file(path, *add_claim(statement, arrays, program, certificate, _metadata(certified, made)))


def statement_and_arrays(program: Program, w: Array) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return what a file says of a program, and the arrays: those of the statement, w, and the proof of its end."""
    F, examples = program.regularizer, program.examples
    record = program.parameters
    parameters = {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}
    nus = (*(v for v in parameters.values() if isinstance(v, float) and v > 0), 1.0)
    about_F = regularizer_to_json(F, examples, nus)
    arrays = dict(about_F.arrays)
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
        "F": about_F.numbers,
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


def edge_to_json(G: EdgeFunction) -> dict[str, Any]:
    """Return G by kind and numbers.

    Raises
    ------
    ProblemError
        It is none of boostopt's own, so that a file cannot say what it is.
    """
    if not defines_own_kind(G):
        raise _not_statable_error("an edge function", G)
    return G.statement()


def regularizer_to_json(F: Regularizer, examples: Examples, nus: tuple[float, ...] = ()) -> Statement:
    """Return F by kind and numbers, with the arrays that it needs: see `Regularizer.statement`.

    Raises
    ------
    ProblemError
        It is none of boostopt's own with closed forms, so that a file cannot say what it is.
    """
    statement = F.statement(examples.c, examples.d0, nus) if defines_own_kind(F) else None
    if statement is None:
        raise _not_statable_error("a regularizer", F)
    return statement


def class_description(oracle: object) -> str:
    """Return the class of an oracle as a file states it: a line of at most 1,000 letters."""
    return " ".join(str(oracle).split())[:1000]


def add_claim(
    statement: dict[str, Any],
    arrays: dict[str, Array],
    program: Program,
    certificate: Certificate,
    metadata: Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the whole file: with the claim of a certificate, as far as the checker proves it, and what proves it."""
    F, z = program.regularizer, -program.margins.margins(certificate.w)
    if certificate.infeasible:
        proof = {"beta": _simplex_multiplier(F, z)}
        claim: dict[str, Any] = {"outcome": "infeasible", "excess": 0.0}
    else:
        proof, of_proof = _lower_bound_proof(program, z)
        arrays = arrays | of_proof | ({"d": certificate.d} if math.isfinite(certificate.upper) else {})
        # An interval that says nothing, until it is known what is proved.
        claim = {"outcome": "solved", "lower": "-inf", "upper": 1e308 if "d" in arrays else "inf"}
    document = {**statement, "claim": claim, "proof": proof, "made": dict(metadata)}
    bounds = _prove_bounds(document, arrays, program)
    if math.isinf(bounds.upper) and program.edge_function.domain(program.margins.t) is not None:
        # Its d is on the bound of the edges, which exact arithmetic decided: the checker's floats cannot.
        certificate = dataclasses.replace(certificate, upper=math.inf)
    if certificate.infeasible:
        claim["excess"] = _round_outward(
            min(certificate.excess, _round_outward(bounds.excess, bounds.rounding_errors[0], -1)), 0.0, -1
        )
        sound = claim["excess"] > 0.0
    else:
        # What is proved is moved outward; a certificate that is weaker has that room for rounding already.
        lower = _round_outward(
            min(certificate.lower, _round_outward(bounds.lower, bounds.rounding_errors[0], -1)), 0.0, -1
        )
        upper = _round_outward(
            max(certificate.upper, _round_outward(bounds.upper, bounds.rounding_errors[1], 1)), 0.0, 1
        )
        claim |= {"lower": lower, "upper": upper}
        arrays = arrays if math.isfinite(upper) else {name: x for name, x in arrays.items() if name != "d"}
        allowed = (
            MAX_RELATIVE_WEAKENING * (certificate.scale if math.isfinite(certificate.scale) else 1.0)
            + MAX_SLACK_MULTIPLE * certificate.slack
        )
        sound = not (certificate.lower - lower > allowed or upper - certificate.upper > allowed)
    if not sound:
        raise ProblemError(
            f"expected a certificate that its weights prove for this program; got {certificate!r}, but the weights "
            f"prove [{bounds.lower!r}, {bounds.upper!r}]. Pass the program that was certified. If it is this one, "
            "solve with a smaller tol. If that does not help, please report this bug."
        )
    return document, arrays


def write_certificate_file(path: str | PathLike[str], document: dict[str, Any], arrays: dict[str, Array]) -> None:
    """Write a file, with the file of arrays beside it where they are long; each whole at any moment."""
    target = check_path("path", path)
    if sum(len(array) for array in arrays.values()) <= MAX_INLINE_NUMBERS:
        lists = {name: array.tolist() for name, array in arrays.items()}
        _replace_file(target, _require_readable(document_text({**document, "arrays": lists})))
        return
    packed = io.BytesIO()
    plain: dict[str, Any] = {name: np.ascontiguousarray(array, dtype=np.float64) for name, array in arrays.items()}
    write_plain_npz(packed, plain)
    content = packed.getvalue()
    text = _require_readable(document_text({**document, "arrays": {"beside": hashlib.sha256(content).hexdigest()}}))
    _replace_file(target.with_name(target.name + ARRAYS_SUFFIX), content)
    _replace_file(target, text)


def _require_readable(text: bytes) -> bytes:
    """Return the text of a file, if it is not too long to be read again."""
    if len(text) <= MAX_TEXT_BYTES:
        return text
    raise ProblemError(
        f"expected a certificate of at most {MAX_TEXT_BYTES:,} bytes of text; got {len(text):,}. Pass less in made, or "
        "save a run with fewer hypotheses."
    )


def _replace_file(target: Path, content: bytes) -> None:
    """Write a file, whole or not at all."""
    write_atomically(target, lambda file: file.write(content))


def document_text(about: dict[str, Any]) -> bytes:
    """Return a document as JSON text."""
    return json.dumps(to_json_value(about), allow_nan=False, indent=1).encode()


def _not_statable_error(what: str, part: object) -> ProblemError:
    return ProblemError(
        f"a certificate file can only state {what} of boostopt with a closed form, or a formula; got "
        f"{type(part).__name__}. Write it with boostopt.authoring.formula or edge_formula, or keep the program and "
        "its certificate in Python."
    )


def _lower_bound_proof(program: Program, z: Array) -> tuple[dict[str, float], dict[str, Array]]:
    """Return beta, and s where there is a norm, at which the conjugate of F is bounded."""
    F = program.regularizer
    about = regularizer_to_json(F, program.examples).numbers
    plain = about.get("base", about)["kind"] == "relative entropy"
    if getattr(F, "is_singleton", False) and about["kind"] == "norm ball":
        s = _tangent_multiplier(F, z)
        at = F.base.conjugate_at(z - s)  # pyright: ignore[reportAttributeAccessIssue]
    else:
        at = F.conjugate_at(z)
        s = at.multipliers.get("s")
    eta = float(about.get("base", about).get("eta", math.inf))
    beta = float(np.asarray(at.multipliers.get("beta", 0.0)))
    # The entropy is stated without the terms -d + d0, which move beta by 1 / eta.
    return {"beta": beta - 1.0 / eta if plain else beta}, {} if s is None else {"s": np.asarray(s)}


def _tangent_multiplier(F: Any, z: Array) -> Array:
    """Return an s so large that the ball is nearly its tangent at the one point that it has in common."""
    tangent = F.base.derivatives(F.min_norm_point)
    s = z - tangent
    return np.where(F.min_norm_point > 0, s - float(s.min()) + TANGENT_SCALE * max(1.0, float(np.abs(s).max())), 0.0)


def _simplex_multiplier(F: Any, z: Array) -> float:
    """Return the beta at which beta + sum u [z - beta]_+ is the maximum over the domain of F."""
    box = getattr(F, "base", F)
    if not F.on_simplex:
        return 0.0
    order = np.argsort(-z)
    room = (box.upper - box.lower)[order]
    left = 1.0 - float(box.lower.sum())
    last = int(np.searchsorted(np.cumsum(room), left))
    return float(z[order[min(last, len(z) - 1)]])


def _prove_bounds(document: dict[str, Any], arrays: dict[str, Array], program: Program) -> ProvedBounds:
    """Return what the checker proves of what is to be written."""
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
    """Return the error for a program or an answer that a file has no room for."""
    return ProblemError(
        f"a certificate file has limits on numbers and texts: {limit}. This certificate is too large for a file: keep "
        "the program and its certificate in Python, or scale F."
    )


def parse_written(document: dict[str, Any], arrays: dict[str, Array]) -> CertificateDocument:
    """Return what a reader has of what is to be written."""
    return as_document(parse_json(document_text({**document, "arrays": {}})), arrays)


def _round_outward(end: float, lost: float, direction: int) -> float:
    """Return an end moved outward by what rounding may do elsewhere; the infinite one where nothing is known."""
    moved = math.nextafter(end + direction * ROUNDING_SAFETY * lost, direction * math.inf)
    return direction * math.inf if math.isnan(moved) else moved


def _metadata(certified: Any, metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return how an answer came about."""
    about: dict[str, Any] = {
        "boostopt": import_module("boostopt").__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
    if isinstance(certified, Solution):
        best = certified.best
        about |= {
            "backend": certified.backend,
            "solver version": certified.version,
            "solver status": certified.solver_status,
            "options": {} if best is None else {name: repr(value)[:200] for name, value in best.options.items()},
            "tol": certified.tol,
            "verdict": certified.verdict.key,
            "seconds": certified.times["total"],
        }
    return about | dict(metadata or {})


def to_json_value(value: Any) -> Any:
    """Return a value as JSON knows it, infinities as texts."""
    if isinstance(value, Mapping):
        return {str(key): to_json_value(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [to_json_value(inner) for inner in value]
    if isinstance(value, np.generic):
        return to_json_value(value.item())
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
