"""Certificate files: what is in one, and how one is read from which nothing good is expected.

A file is JSON text, and where its vectors are long an npz file of plain arrays beside it, held to it by its SHA-256.
Every name, type, size and number is checked before anything is computed; nothing is unpickled, no path in a file is
followed, nothing is looked up by a name that it gives.
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

MAX_TEXT_BYTES = 16_000_000
"""Bytes up to which a file is read at all: as JSON it may take thirty times as much."""

MAX_ARRAY_BYTES = 4_000_000_000
"""Bytes up to which the arrays beside it are read."""

MAX_VECTORS = 20
"""Vectors with one number for each example that a file beside may hold; a thousand numbers more are its headers."""

ARRAYS_SUFFIX = ".npz"
"""Addition to the name of the file, for its arrays."""

REGULARIZER_FIELDS: Mapping[str, tuple[str, ...]] = {
    "cap": ("caps",),
    "relative entropy": ("caps", "eta"),
    "unnormalized relative entropy": ("caps", "eta"),
    "binary entropy": ("caps", "eta"),
    "power divergence": ("caps", "q", "eta"),
    "logarithmic loss": ("eta",),
    "hinge": ("C",),
    "quadratic hinge": ("C", "mu", "B"),
    "exponential": ("C",),
    "logistic": ("C",),
    "margin variance": ("D",),
    "shortfall": ("C", "theta"),
    "norm ball": ("p", "r", "base"),
    "norm penalty": ("p", "r", "base"),
    "tilted": ("base",),
    "formula": ("caps", "text", "parameters"),
}
"""The kinds of F, each with what it is stated by."""

CAP_KINDS = {"c / nu": "c", "1 / nu": "1", "given": ""}
"""Statements of caps: by nu and the multiplicities, by nu alone, or one by one."""

EDGE_FIELDS: Mapping[str, tuple[str, ...]] = {
    "maximum": (),
    "absolute": (),
    "bounded": ("gamma",),
    "fixed": ("rho",),
    "squared": (),
    "squared positive": (),
    "ball": ("signed", "p", "r"),
    "elastic": ("signed", "l1", "l2"),
    "1-norm": ("signed", "l1"),
    "linear": ("slope",),
    "tied": (),
    "formula": ("text", "parameters"),
}
"""The kinds of G, each with its numbers."""

MAX_NU = 1e112
"""A nu, which may be the sum of the multiplicities of as many examples as a file can have."""

MAX_ENTRY = 1e150
"""An entry of a vector."""

MAX_BETA = 1e250
"""A beta beyond it would overflow: the other numbers are of at most 1e150."""

POSITIVE_FIELDS = {"nu", "eta", "C", "D", "p", "r", "mu", "B", "l2"}
"""Numbers that must be positive."""

INFINITE_FIELDS = {"p", "B"}
"""Numbers that may be infinite."""

FunctionsAsJSON = tuple[Mapping[str, Any], Mapping[str, Any]]
"""F and G by kind and numbers."""

TOP_LEVEL_KEYS = {"kind", "format", "subject", "formulation", "F", "G", "data", "claim", "proof", "arrays", "made"}


@dataclass(frozen=True, eq=False)
class CertificateDocument:
    """A certificate as it stands in a file, checked for its form only.

    Attributes
    ----------
    subject
        "program" for the optimum of one program, "class" for the best value over a class of hypotheses.
    name, parameters
        The formulation with all its parameters, as it was named; arrays of one number per example among them.
    formulation_functions
        The pair that a formulation means, of which the value over a class is made; None for a program, and in older
        files.
    F, G
        The pair that is proved, by kind and numbers.
    N, t, digest
        Shape and SHA-256 of the margin matrix.
    digest_c, digest_d0
        SHA-256 of multiplicities and reference distribution, also where they are not stated because they are plain.
    oracle, oracle_digest, hypotheses
        The class in words and its SHA-256, and the hypotheses with weight; empty for a program.
    outcome
        "solved" or "infeasible".
    lower, upper, excess
        The interval claimed; by how much infeasibility is claimed to be proved.
    what
        The name of the value that a certificate of a class bounds, such as "soft margin"; None for a program, and in
        older files.
    beta
        The multiplier of sum d = 1 in the proof of the lower end.
    arrays
        "w", and where they are needed "d", "c", "d0", "s", "caps", "tilt", parameters by their name, and those of a
        formula that are arrays.
    metadata
        How the answer came about: for reading only, nothing depends on it.
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
    what: str | None
    beta: float
    arrays: Mapping[str, np.ndarray]
    metadata: Mapping[str, Any]

    @property
    def c(self) -> np.ndarray:
        """Multiplicities, 1 where none are stated."""
        return self.arrays.get("c", np.ones(self.N))

    @property
    def d0(self) -> np.ndarray:
        """Reference distribution, proportional to c where none is stated."""
        return self.arrays.get("d0", self.c / self.c.sum())


def read_document(path: Path, top: Mapping[str, Any] | None = None) -> CertificateDocument:
    """Return the document of a file, whose text may have been read before.

    Raises
    ------
    Rejected
        It is no certificate, is damaged, or says something that no certificate says.
    """
    try:
        about = parse_object_with_keys(read_json_object(path) if top is None else top, TOP_LEVEL_KEYS, "the file")
        return parse_document(about, _load_arrays(about, path))
    except MemoryError:
        reject("to read it takes more memory than there is")


def read_json_object(path: Path) -> dict[str, Any]:
    """Return what a file says; Rejected for what is no JSON text of an object."""
    try:
        return parse_object(parse_json(read_bytes(path, MAX_TEXT_BYTES)), "the file")
    except MemoryError:
        reject("to read it takes more memory than there is")


def parse_document(top: Any, arrays: Mapping[str, np.ndarray]) -> CertificateDocument:
    """Return the document of what a file says, its arrays read before."""
    about = parse_object_with_keys(top, TOP_LEVEL_KEYS, "the file")
    if about["kind"] != FILE_KIND or about["format"] != FORMAT or type(about["format"]) is not int:
        reject(f"it must be a {FILE_KIND} of format {FORMAT}; it says {about['kind']!r}, {about['format']!r}"[:200])
    subject = parse_choice(about["subject"], {"program", "class"}, "subject")
    name, parameters, pair = parse_formulation(about["formulation"], arrays, subject == "class")
    of_class = {"oracle", "digest", "hypotheses"} if subject == "class" else set[str]()
    data = parse_object_with_keys(about["data"], {"N", "t", "U", "c", "d0"} | of_class)
    claim = parse_object(about["claim"], "claim")
    outcome = parse_choice(claim.get("outcome"), {"solved", "infeasible"}, "outcome")
    named = {"what"} & set(claim) if subject == "class" else set[str]()
    parse_object_with_keys(
        claim, named | ({"outcome", "lower", "upper"} if outcome == "solved" else {"outcome", "excess"}), "claim"
    )
    N, t = parse_count(data["N"], "N"), parse_count(data["t"], "t")
    F, needed = _parse_regularizer(about["F"], 0)
    needed |= {"w"} | ({"d"} if outcome == "solved" and claim["upper"] != "inf" else set())
    optional = {"c", "d0"} | {
        f"parameter {name}" for name, value in parameters.items() if isinstance(value, np.ndarray)
    }
    if not needed <= set(arrays) <= needed | optional:
        reject(f"it must hold the arrays {', '.join(sorted(needed))}; it holds {', '.join(sorted(arrays))}"[:300])
    _validate_arrays(arrays, N, t)
    proof = parse_object_with_keys(about["proof"], {"beta"}, "proof")
    return CertificateDocument(
        subject=subject,
        formulation_name=name,
        parameters=parameters,
        formulation_functions=pair,
        F=F,
        G=_parse_edge_function(about["G"]),
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
        what=parse_text(claim["what"], "the name of the value") if named else None,
        beta=parse_number(proof["beta"], "beta", MAX_BETA),
        arrays=arrays,
        metadata=parse_object(about["made"], "made"),
    )


def _validate_arrays(arrays: Mapping[str, np.ndarray], N: int, t: int) -> None:
    """Reject arrays of another size, or with numbers that they cannot hold."""
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
    value: Any, arrays: Mapping[str, np.ndarray], of_class: bool
) -> tuple[str, dict[str, Any], FunctionsAsJSON | None]:
    """Return the name and the parameters of a formulation, and for a class the pair that they mean if it is stated."""
    stated = parse_object(value, "formulation")
    pair = {"F", "G"} if of_class and "F" in stated else set[str]()
    parse_object_with_keys(stated, {"name", "parameters"} | pair, "formulation")
    name = parse_text(stated["name"], "the name of the formulation")
    parameters = _parse_parameters(stated["parameters"], arrays)
    return (
        name,
        parameters,
        (_parse_regularizer(stated["F"], 0)[0], _parse_edge_function(stated["G"])) if pair else None,
    )


def _parse_parameters(value: Any, arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Return the parameters by name; those that are arrays are among the arrays."""
    read = dict[str, Any]()
    for name, parameter in parse_object(value, "parameters").items():
        parse_text(name, "the name of a parameter")
        if parameter == "array":
            read[name] = arrays.get(f"parameter {name}")
            if read[name] is None:
                reject(f"the parameter {name} must be among the arrays"[:200])
        else:
            read[name] = (
                parameter if isinstance(parameter, bool) else parse_bound(parameter, f"the parameter {name}"[:100])
            )
    return read


def _parse_regularizer(value: Any, depth: int) -> tuple[dict[str, Any], set[str]]:
    """Return a statement of F and the arrays that it needs."""
    stated = parse_object(value, "F")
    kind = parse_choice(stated.get("kind"), set(REGULARIZER_FIELDS), "the kind of F")
    keys, needed = {"kind", *REGULARIZER_FIELDS[kind]}, set[str]()
    if "caps" in keys:
        caps = parse_choice(stated.get("caps"), set(CAP_KINDS), "caps")
        keys |= {"nu"} if CAP_KINDS[caps] else set()
        needed |= set() if CAP_KINDS[caps] else {"caps"}
    parse_object_with_keys(stated, keys, "F")
    if kind in ("norm ball", "norm penalty"):
        needed |= {"s"}
    if kind == "formula":
        read = _parse_numbers(stated, keys - {"kind", "caps", "text", "parameters"})
        return {**read, **_parse_formula(stated, "F")}, needed | {
            f"formula {name}" for name, value in stated["parameters"].items() if value == "array"
        }
    if "base" in keys:
        if depth:
            reject("the base of F must not have a base")
        base, of_base = _parse_regularizer(stated["base"], depth + 1)
        if base["kind"] not in ("cap", "relative entropy"):
            reject(f"the base of F must be a cap or a relative entropy; it is {base['kind']}")
        return {**_parse_numbers(stated, keys - {"kind", "caps", "base"}), "base": base}, needed | of_base | (
            {"tilt"} if kind == "tilted" else set()
        )
    read = _parse_numbers(stated, keys - {"kind", "caps"})
    if kind == "quadratic hinge" and math.isinf(read["B"]) and read["mu"] != 0.5:
        reject(f"a hinge without a steepest slope must be the squared one, mu = 0.5; it says {read['mu']!r}")
    return read, needed


def _parse_formula(stated: dict[str, Any], what: str) -> dict[str, Any]:
    """Return the text of a formula and its parameters, numbers or names of arrays."""
    parameters = parse_object(stated["parameters"], f"the parameters of {what}")
    read = {
        parse_text(name, "the name of a parameter"): value
        if value == "array"
        else parse_number(value, f"the parameter {name}"[:100])
        for name, value in parameters.items()
    }
    return {"text": parse_text(stated["text"], f"the formula of {what}"), "parameters": read}


def _parse_edge_function(value: Any) -> dict[str, Any]:
    """Return a statement of G."""
    stated = parse_object(value, "G")
    kind = parse_choice(stated.get("kind"), set(EDGE_FIELDS), "the kind of G")
    parse_object_with_keys(stated, {"kind", *EDGE_FIELDS[kind]}, "G")
    if kind == "formula":
        read = _parse_formula(stated, "G")
        return (
            {**stated, **read} if "array" not in read["parameters"].values() else reject("a formula of G has no arrays")
        )
    if "signed" in stated and not isinstance(stated["signed"], bool):
        reject(f"signed must be true or false; it is {stated['signed']!r}"[:200])
    read = _parse_numbers(stated, set(EDGE_FIELDS[kind]) - {"signed"}, least_p=1.0)
    if read.get("p", 1.0) not in (1.0, 2.0, math.inf):
        reject(f"p of G must be 1, 2 or inf; it is {read['p']!r}")
    if kind in ("elastic", "1-norm") and not read["l1"] >= (0.0 if kind == "elastic" else 1.0 / MAX_NUMBER):
        reject(f"l1 must be {'at least 0' if kind == 'elastic' else 'positive'}; it is {read['l1']!r}")
    return read


def _parse_numbers(stated: dict[str, Any], names: set[str], least_p: float = 1.01) -> dict[str, Any]:
    """Return a statement with its numbers checked."""
    read = dict(stated)
    for name in names:
        largest = MAX_NU if name == "nu" else MAX_NUMBER
        endless = name in INFINITE_FIELDS and stated[name] == "inf"
        read[name] = math.inf if endless else parse_number(stated[name], name, largest)
        if name in POSITIVE_FIELDS and not read[name] >= (least_p if name == "p" else 1.0 / MAX_NUMBER):
            raise SizeLimit(f"{name} must be positive, at least 1e-100, p at least {least_p:g}; it is {read[name]!r}")
    return read


def _load_arrays(about: dict[str, Any], path: Path) -> dict[str, np.ndarray]:
    """Return the vectors: from lists in the text, or from the file beside it."""
    stated = parse_object(about["arrays"], "arrays")
    if set(stated) == {"beside"}:
        data = parse_object(about["data"], "data")
        numbers = MAX_VECTORS * (parse_count(data.get("N"), "N") + 1000) + parse_count(data.get("t"), "t")
        name = path.with_name(path.name + ARRAYS_SUFFIX)
        return _load_array_file(name, parse_text(stated["beside"], "digest"), min(8 * numbers, MAX_ARRAY_BYTES))
    read = dict[str, np.ndarray]()
    for name, value in stated.items():
        entries = parse_list(value, f"the array {name}"[:100])
        read[name] = np.array([parse_number(entry, f"the array {name}"[:100], MAX_ENTRY) for entry in entries])
    return read


def _load_array_file(path: Path, digest: str, most: int) -> dict[str, np.ndarray]:
    """Return the vectors of the file of arrays, if it has no more bytes than that."""
    packed = read_bytes(path, most)
    if hashlib.sha256(packed).hexdigest() != digest:
        reject(f"{path.name} is not the file of arrays that belongs to it")
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
        if unpacked > len(packed):
            reject(f"{path.name} must not be compressed")
        with np.load(io.BytesIO(packed), allow_pickle=False) as archive:
            read = {name: archive[name] for name in archive.files}
    except (Rejected, MemoryError):
        raise
    except Exception as failure:  # zipfile and NumPy raise nearly anything on a damaged file
        raise Rejected(f"{path.name} is not an npz file of plain arrays: {failure}"[:300]) from failure
    for name, array in read.items():
        if not (isinstance(array, np.ndarray) and array.dtype == np.float64 and (np.abs(array) <= MAX_ENTRY).all()):  # pyright: ignore[reportUnnecessaryIsInstance]
            reject(f"the array {name} must hold finite float64 numbers")
    return read
