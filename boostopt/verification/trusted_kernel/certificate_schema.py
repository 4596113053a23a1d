"""The content of certificate files, parsed without trust.

A file is JSON text. Long vectors are in a second file, an npz file of plain arrays whose SHA-256 the text contains.
Every name, type, size and number is checked before anything is computed. Nothing is unpickled, no path in a file is
followed, and nothing is imported by a name in a file.
"""

from __future__ import annotations

import hashlib
import io
import math
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from boostopt.verification.trusted_kernel.conjugates import LOSS_KINDS
from boostopt.verification.trusted_kernel.edge_terms import EDGE_KINDS
from boostopt.verification.trusted_kernel.json_parsing import (
    MAX_NUMBER,
    Rejected,
    SizeLimit,
    parse_bound,
    parse_choice,
    parse_claimed_bound,
    parse_count,
    parse_json,
    parse_list,
    parse_number,
    parse_object,
    parse_object_with_keys,
    parse_text,
    read_bytes,
    reject,
)

FILE_KIND, FORMAT = "boostopt certificate", 1
"""The kind and the format of certificate files."""

MAX_TEXT_BYTES = 16_000_000
"""Largest size of a text in bytes: parsed as JSON, it may need thirty times as much memory."""

MAX_ARRAY_BYTES = 4_000_000_000
"""Largest size of a file of arrays in bytes."""

MAX_VECTORS = 20
"""Largest number of vectors with one number for each example; a thousand further numbers are the headers."""

ARRAYS_SUFFIX = ".npz"
"""Suffix that is added to the name of the file for the file of its arrays."""

REGULARIZER_FIELDS: Mapping[str, tuple[str, ...]] = {
    "cap": ("caps",),
    "relative entropy": ("caps", "eta"),
    "unnormalized relative entropy": ("caps", "eta"),
    "binary entropy": ("caps", "eta"),
    "power divergence": ("caps", "q", "eta"),
    **{kind: (*entry.positive_fields, *entry.other_fields) for kind, entry in LOSS_KINDS.items()},
    "norm ball": ("p", "r", "base"),
    "norm penalty": ("p", "r", "base"),
    "tilted": ("base",),
    "formula": ("caps", "text", "parameters"),
}
"""The fields of each kind of F."""

CAP_KINDS = {"c / nu": "c", "1 / nu": "1", "given": ""}
"""Statements of caps: by nu and the multiplicities, by nu alone, or one by one."""

EDGE_FIELDS: Mapping[str, tuple[str, ...]] = {
    **{kind: entry.fields for kind, entry in EDGE_KINDS.items()},
    "formula": ("text", "parameters"),
}
"""The fields of each kind of G."""

MAX_NU = 1e112
"""Largest nu: the largest sum of the multiplicities that a file can contain."""

MAX_ENTRY = 1e150
"""Largest absolute value of an entry of a vector."""

MAX_BETA = 1e250
"""Largest absolute value of beta: with other numbers of at most 1e150, a larger one would overflow."""

POSITIVE_FIELDS = {"nu", "eta", "p", "r", "l2"}.union(*(entry.positive_fields for entry in LOSS_KINDS.values()))
"""Fields that must be positive."""

INFINITE_FIELDS = {"p", "B"}
"""Fields that may be infinite."""

FunctionsAsJSON = tuple[Mapping[str, Any], Mapping[str, Any]]
"""F and G by kind and numbers."""

TOP_LEVEL_KEYS = {"kind", "format", "subject", "formulation", "F", "G", "data", "claim", "proof", "arrays", "made"}
"""The keys of a file."""


@dataclass(frozen=True, eq=False)
class CertificateDocument:
    """The content of a certificate file, of which only the form is checked.

    Attributes
    ----------
    subject
        "program" for the optimum of one program, "class" for the best value over a class of hypotheses.
    formulation_name, parameters
        The name of the formulation, and all its parameters, including arrays with one number for each example.
    formulation_functions
        F and G of the formulation, from which the value over a class is derived; None for a program, and in older
        files.
    F, G
        The functions for which the bounds are proved, by kind and numbers.
    N, t, digest
        Shape and SHA-256 of the margin matrix.
    digest_c, digest_d0
        SHA-256 of the multiplicities and the reference distribution, also if they are the default and not stated.
    oracle, oracle_digest, hypotheses
        The class in words and its SHA-256, and the hypotheses with weight; empty for a program.
    outcome
        "solved" or "infeasible".
    lower, upper, excess
        The claimed interval; the claimed excess of the edges that proves infeasibility.
    quantity
        The name of the value that a certificate of a class bounds, such as "soft margin"; None for a program, and in
        older files.
    beta
        The multiplier of sum d = 1 in the proof of the lower bound.
    arrays
        "w"; if needed "d", "c", "d0", "s", "caps", "tilt"; and the parameters of the formulation and of a formula that
        are arrays, by name.
    metadata
        Information about the origin of the answer, for readers only: no verdict depends on it.
    """

    subject: str
    formulation_name: str
    parameters: Mapping[str, Any]
    formulation_functions: FunctionsAsJSON | None
    F: Mapping[str, Any]
    G: Mapping[str, Any]
    N: int
    t: int
    digest: str
    digest_c: str
    digest_d0: str
    oracle: str
    oracle_digest: str
    hypotheses: tuple[Any, ...]
    outcome: str
    lower: float
    upper: float
    excess: float
    quantity: str | None
    beta: float
    arrays: Mapping[str, np.ndarray]
    metadata: Mapping[str, Any]

    @property
    def c(self) -> np.ndarray:
        """The multiplicities; 1 if the file states none."""
        return self.arrays.get("c", np.ones(self.N))

    @property
    def d0(self) -> np.ndarray:
        """The reference distribution; proportional to c if the file states none."""
        return self.arrays.get("d0", self.c / self.c.sum())


def read_document(path: Path, top: Mapping[str, Any] | None = None) -> CertificateDocument:
    """Return the document of a file.

    Parameters
    ----------
    path
        The file.
    top
        The object that the text of the file states, if it is already parsed.

    Raises
    ------
    Rejected
        The file is no certificate, is damaged, or contains something that no certificate contains.
    """
    try:
        content = parse_object_with_keys(read_json_object(path) if top is None else top, TOP_LEVEL_KEYS, "the file")
        return parse_document(content, _load_arrays(content, path))
    except MemoryError:
        reject("to read it takes more memory than there is")


def read_json_object(path: Path) -> dict[str, Any]:
    """Return the object that the text of a file states; Rejected if the text is no JSON object."""
    try:
        return parse_object(parse_json(read_bytes(path, MAX_TEXT_BYTES)), "the file")
    except MemoryError:
        reject("to read it takes more memory than there is")


def parse_document(top: Any, arrays: Mapping[str, np.ndarray]) -> CertificateDocument:
    """Return the document of the object that a file states, and of its arrays."""
    content = parse_object_with_keys(top, TOP_LEVEL_KEYS, "the file")
    if content["kind"] != FILE_KIND or content["format"] != FORMAT or type(content["format"]) is not int:
        reject(f"it must be a {FILE_KIND} of format {FORMAT}; it says {content['kind']!r}, {content['format']!r}"[:200])
    subject = parse_choice(content["subject"], {"program", "class"}, "subject")
    name, parameters, pair = parse_formulation(content["formulation"], arrays, subject == "class")
    class_keys = {"oracle", "digest", "hypotheses"} if subject == "class" else set[str]()
    data = parse_object_with_keys(content["data"], {"N", "t", "U", "c", "d0"} | class_keys)
    claim = parse_object(content["claim"], "claim")
    outcome = parse_choice(claim.get("outcome"), {"solved", "infeasible"}, "outcome")
    quantity_keys = {"what"} & set(claim) if subject == "class" else set[str]()
    parse_object_with_keys(
        claim,
        quantity_keys | ({"outcome", "lower", "upper"} if outcome == "solved" else {"outcome", "excess"}),
        "claim",
    )
    N, t = parse_count(data["N"], "N"), parse_count(data["t"], "t")
    F, required = _parse_regularizer(content["F"], 0)
    required |= {"w"} | ({"d"} if outcome == "solved" and claim["upper"] != "inf" else set())
    optional = {"c", "d0"} | {
        f"parameter {name}" for name, value in parameters.items() if isinstance(value, np.ndarray)
    }
    if not required <= set(arrays) <= required | optional:
        reject(f"it must hold the arrays {', '.join(sorted(required))}; it holds {', '.join(sorted(arrays))}"[:300])
    _validate_arrays(arrays, N, t)
    proof = parse_object_with_keys(content["proof"], {"beta"}, "proof")
    return CertificateDocument(
        subject=subject,
        formulation_name=name,
        parameters=parameters,
        formulation_functions=pair,
        F=F,
        G=_parse_edge_function(content["G"]),
        N=N,
        t=t,
        digest=parse_text(data["U"], "digest"),
        digest_c=parse_text(data["c"], "digest"),
        digest_d0=parse_text(data["d0"], "digest"),
        oracle=parse_text(data.get("oracle", ""), "oracle"),
        oracle_digest=parse_text(data.get("digest", ""), "digest"),
        hypotheses=tuple(parse_list(data.get("hypotheses", []), "hypotheses")),
        outcome=outcome,
        lower=parse_claimed_bound(claim.get("lower", math.inf), "lower", 1),
        upper=parse_claimed_bound(claim.get("upper", math.inf), "upper", -1),
        excess=parse_claimed_bound(claim.get("excess", 0), "excess", 1),
        quantity=parse_text(claim["what"], "the name of the value") if quantity_keys else None,
        beta=parse_number(proof["beta"], "beta", MAX_BETA),
        arrays=arrays,
        metadata=parse_object(content["made"], "made"),
    )


def _validate_arrays(arrays: Mapping[str, np.ndarray], N: int, t: int) -> None:
    """Reject arrays of another size, or with numbers out of range."""
    for name, array in arrays.items():
        if array.shape != ((t,) if name == "w" else (N,)):
            reject(f"the array {name} must have {t if name == 'w' else N} numbers; it has {array.size}")
        if not (np.abs(array) <= MAX_ENTRY).all():
            raise SizeLimit(f"the array {name} must hold finite numbers of at most {MAX_ENTRY:g}")
    for name in {"c", "d0", "caps"} & set(arrays):
        if not ((arrays[name] >= (1e-100 if name == "c" else 0.0)) & (arrays[name] <= MAX_NUMBER)).all():
            sign = "numbers of at least 1e-100 and" if name == "c" else "non-negative numbers of"
            raise SizeLimit(f"{name} must be {sign} at most 1e100")
    if "d0" in arrays and not abs(math.fsum(arrays["d0"].tolist()) - 1.0) <= 1e-8:
        reject(f"d0 must sum to 1; it sums to {math.fsum(arrays['d0'].tolist())!r}")


def parse_formulation(
    value: Any, arrays: Mapping[str, np.ndarray], is_class: bool
) -> tuple[str, dict[str, Any], FunctionsAsJSON | None]:
    """Return the name and the parameters of a formulation, and its F and G if the file of a class states them."""
    statement = parse_object(value, "formulation")
    keys = {"F", "G"} if is_class and "F" in statement else set[str]()
    parse_object_with_keys(statement, {"name", "parameters"} | keys, "formulation")
    name = parse_text(statement["name"], "the name of the formulation")
    parameters = _parse_parameters(statement["parameters"], arrays)
    return (
        name,
        parameters,
        (_parse_regularizer(statement["F"], 0)[0], _parse_edge_function(statement["G"])) if keys else None,
    )


def _parse_parameters(value: Any, arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Return the parameters by name; parameters that are arrays are taken from the arrays."""
    result = dict[str, Any]()
    for name, parameter in parse_object(value, "parameters").items():
        parse_text(name, "the name of a parameter")
        if parameter == "array":
            result[name] = arrays.get(f"parameter {name}")
            if result[name] is None:
                reject(f"the parameter {name} must be among the arrays"[:200])
        else:
            result[name] = (
                parameter if isinstance(parameter, bool) else parse_bound(parameter, f"the parameter {name}"[:100])
            )
    return result


def _parse_regularizer(value: Any, depth: int) -> tuple[dict[str, Any], set[str]]:
    """Return a statement of F, and the names of the arrays that it needs."""
    statement = parse_object(value, "F")
    kind = parse_choice(statement.get("kind"), set(REGULARIZER_FIELDS), "the kind of F")
    keys, required = {"kind", *REGULARIZER_FIELDS[kind]}, set[str]()
    if "caps" in keys:
        caps = parse_choice(statement.get("caps"), set(CAP_KINDS), "caps")
        keys |= {"nu"} if CAP_KINDS[caps] else set()
        required |= set() if CAP_KINDS[caps] else {"caps"}
    parse_object_with_keys(statement, keys, "F")
    if kind in ("norm ball", "norm penalty"):
        required |= {"s"}
    if kind == "formula":
        result = _parse_numbers(statement, keys - {"kind", "caps", "text", "parameters"})
        return {**result, **_parse_formula(statement, "F")}, required | {
            f"formula {name}" for name, value in statement["parameters"].items() if value == "array"
        }
    if "base" in keys:
        if depth:
            reject("the base of F must not have a base")
        base, base_arrays = _parse_regularizer(statement["base"], depth + 1)
        if base["kind"] not in ("cap", "relative entropy"):
            reject(f"the base of F must be a cap or a relative entropy; it is {base['kind']}")
        return {**_parse_numbers(statement, keys - {"kind", "caps", "base"}), "base": base}, required | base_arrays | (
            {"tilt"} if kind == "tilted" else set()
        )
    result = _parse_numbers(statement, keys - {"kind", "caps"})
    if kind == "quadratic hinge" and math.isinf(result["B"]) and result["mu"] != 0.5:
        reject(f"a hinge without a steepest slope must be the squared one, mu = 0.5; it says {result['mu']!r}")
    return result, required


def _parse_formula(statement: dict[str, Any], function: str) -> dict[str, Any]:
    """Return the text and the parameters of a formula: numbers, or "array" for an array of the file."""
    parameters = parse_object(statement["parameters"], f"the parameters of {function}")
    result = {
        parse_text(name, "the name of a parameter"): value
        if value == "array"
        else parse_number(value, f"the parameter {name}"[:100])
        for name, value in parameters.items()
    }
    return {"text": parse_text(statement["text"], f"the formula of {function}"), "parameters": result}


def _parse_edge_function(value: Any) -> dict[str, Any]:
    """Return a statement of G."""
    statement = parse_object(value, "G")
    kind = parse_choice(statement.get("kind"), set(EDGE_FIELDS), "the kind of G")
    parse_object_with_keys(statement, {"kind", *EDGE_FIELDS[kind]}, "G")
    if kind == "formula":
        result = _parse_formula(statement, "G")
        return (
            {**statement, **result}
            if "array" not in result["parameters"].values()
            else reject("a formula of G has no arrays")
        )
    if "signed" in statement and not isinstance(statement["signed"], bool):
        reject(f"signed must be true or false; it is {statement['signed']!r}"[:200])
    result = _parse_numbers(statement, set(EDGE_FIELDS[kind]) - {"signed"}, min_p=1.0)
    if result.get("p", 1.0) not in (1.0, 2.0, math.inf):
        reject(f"p of G must be 1, 2 or inf; it is {result['p']!r}")
    if kind in ("elastic", "1-norm") and not result["l1"] >= (0.0 if kind == "elastic" else 1.0 / MAX_NUMBER):
        reject(f"l1 must be {'at least 0' if kind == 'elastic' else 'positive'}; it is {result['l1']!r}")
    return result


def _parse_numbers(statement: dict[str, Any], names: set[str], min_p: float = 1.01) -> dict[str, Any]:
    """Return a statement with checked numbers."""
    result = dict(statement)
    for name in names:
        max_value = MAX_NU if name == "nu" else MAX_NUMBER
        is_infinite = name in INFINITE_FIELDS and statement[name] == "inf"
        result[name] = math.inf if is_infinite else parse_number(statement[name], name, max_value)
        if name in POSITIVE_FIELDS and not result[name] >= (min_p if name == "p" else 1.0 / MAX_NUMBER):
            raise SizeLimit(f"{name} must be positive, at least 1e-100, p at least {min_p:g}; it is {result[name]!r}")
    return result


def _load_arrays(content: dict[str, Any], path: Path) -> dict[str, np.ndarray]:
    """Return the vectors, from lists in the text or from the file of arrays."""
    statement = parse_object(content["arrays"], "arrays")
    if set(statement) == {"beside"}:
        data = parse_object(content["data"], "data")
        numbers = MAX_VECTORS * (parse_count(data.get("N"), "N") + 1000) + parse_count(data.get("t"), "t")
        name = path.with_name(path.name + ARRAYS_SUFFIX)
        return _load_array_file(name, parse_text(statement["beside"], "digest"), min(8 * numbers, MAX_ARRAY_BYTES))
    result = dict[str, np.ndarray]()
    for name, value in statement.items():
        entries = parse_list(value, f"the array {name}"[:100])
        result[name] = np.array([parse_number(entry, f"the array {name}"[:100], MAX_ENTRY) for entry in entries])
    return result


def _load_array_file(path: Path, digest: str, max_bytes: int) -> dict[str, np.ndarray]:
    """Return the vectors of a file of arrays; Rejected if it has more than `max_bytes` bytes or another digest."""
    packed = read_bytes(path, max_bytes)
    if hashlib.sha256(packed).hexdigest() != digest:
        reject(f"{path.name} is not the file of arrays that belongs to it")
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
        if unpacked > len(packed):
            reject(f"{path.name} must not be compressed")
        with np.load(io.BytesIO(packed), allow_pickle=False) as archive:
            result: dict[str, Any] = {name: archive[name] for name in archive.files}
    except (Rejected, MemoryError):
        raise
    except Exception as failure:  # zipfile and NumPy raise nearly anything on a damaged file
        raise Rejected(f"{path.name} is not an npz file of plain arrays: {failure}"[:300]) from failure
    for name, array in result.items():
        if not (isinstance(array, np.ndarray) and array.dtype == np.float64 and (np.abs(array) <= MAX_ENTRY).all()):
            reject(f"the array {name} must hold finite float64 numbers")
    return result
