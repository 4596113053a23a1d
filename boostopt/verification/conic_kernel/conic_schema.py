"""The content of a conic program's certificate file: the program, the proof and the claim, parsed from untrusted JSON.

docs/file_format.md says what each name means. The linear part is that of `linear_schema`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, pairwise
from typing import Any

from boostopt.verification.linear_kernel.linear_schema import (
    MAX_SIZE,
    NUMBERS,
    PROGRAM_KEYS,
    LinearProgram,
    ScaledVector,
    check_work,
    numbers_of,
    parse_fraction,
    parse_header,
    parse_linear_program,
    parse_short_list,
    parse_vector,
)
from boostopt.verification.problem_kernel.problem_schema import Claim
from boostopt.verification.trusted_kernel.json_parsing import (
    SizeLimit,
    parse_choice,
    parse_index,
    parse_list,
    parse_object_with_keys,
    parse_text,
    reject,
)

FILE_KIND = "boostopt conic program certificate"
"""The kind of these files."""

CONE_KEYS = {"kind", "exponent", "rows", "columns", "values", "b", "name"}
"""The names of a constraint."""

PROOF_KEYS = {"x", "ray", "y", "z", "w", "shifts"}
"""The names of a proof."""

CONE_KINDS = {"second_order", "exponential", "power", "semidefinite"}
"""The cones."""

STATUSES = {"bounded", "open", "infeasible", "unbounded"}
"""The statements that a claim may make about the program."""

MAX_CUBES = 500_000_000
"""Largest sum of the third powers of the orders of semidefinite matrices: minutes of the checker."""


@dataclass(frozen=True)
class Cone:
    """The rows of a constraint: they times x, plus b, lie in a cone.

    Attributes
    ----------
    kind
        As in `CONE_KINDS`. A semidefinite matrix of order k has k (k + 1) / 2 rows: the entries (i, j) with i <= j,
        column by column.
    exponent
        The exponent of a power cone, in (0, 1).
    rows
        The entries of each row by the number of the variable.
    b
        Shape (rows,).
    """

    kind: str
    exponent: Fraction
    rows: Sequence[Mapping[int, Fraction]]
    b: Sequence[Fraction]

    @property
    def weights(self) -> list[int]:
        """The weights of the rows in inner products: 2 for the entries of a matrix that stand for two."""
        if self.kind != "semidefinite":
            return [1] * len(self.b)
        return [1 if i == j else 2 for j in range(matrix_order(len(self.b))) for i in range(j + 1)]


@dataclass(frozen=True)
class ConicProgramStatement:
    """A linear program with a quadratic part of its objective, and with constraints in cones.

    Attributes
    ----------
    linear
        The linear program.
    P
        Rows of the symmetric matrix of <x, P x> / 2 in the objective that is minimized; None if there is none.
    cones
        The constraints.
    """

    linear: LinearProgram
    P: Sequence[Mapping[int, Fraction]] | None
    cones: Sequence[Cone]


@dataclass(frozen=True)
class ConicMultipliers:
    """The proof of a lower bound, or of infeasibility. All vectors have one denominator.

    Attributes
    ----------
    y
        Multipliers of the rows, shape (m,).
    z
        Those of the cones.
    w
        The point at which the quadratic part is replaced by its tangent, shape (n,); None if there is none.
    shifts
        Numbers s such that P + diag(s) is positive semidefinite, shape (n,); None for zeros.
    """

    y: ScaledVector
    z: Sequence[ScaledVector]
    w: ScaledVector | None
    shifts: Sequence[Fraction] | None


@dataclass(frozen=True)
class ConicDocument:
    """The content of a file.

    Attributes
    ----------
    program
        The program.
    x
        A point, shape (n,); None if there is none.
    ray
        A direction, shape (n,); None if there is none.
    multipliers
        The multipliers; None if there are none.
    claim
        The claim about the optimum of the program as it is stated.
    """

    program: ConicProgramStatement
    x: ScaledVector | None
    ray: ScaledVector | None
    multipliers: ConicMultipliers | None
    claim: Claim


def matrix_order(n_entries: int) -> int:
    """Return the order of a symmetric matrix whose triangle has so many entries; 0 if there is none."""
    order = 0
    while order * (order + 1) // 2 < n_entries:
        order += 1
    return order if order * (order + 1) // 2 == n_entries else 0


def parse_conic_document(top: Mapping[str, Any]) -> ConicDocument:
    """Return the content of the object that a file states; Rejected if it is not of this form."""
    content = parse_header(top, FILE_KIND)
    program = parse_conic_program(content["program"])
    n = len(program.linear.c)
    proof = parse_object_with_keys(content["proof"], PROOF_KEYS, "proof")
    document = ConicDocument(
        program=program,
        x=parse_vector(proof["x"], n, "x"),
        ray=parse_vector(proof["ray"], n, "ray"),
        multipliers=_parse_multipliers(proof, program),
        claim=_parse_claim(content["claim"]),
    )
    _check_work(document)
    return document


def parse_conic_program(value: Any) -> ConicProgramStatement:
    """Return the program that a file states."""
    item = parse_object_with_keys(value, PROGRAM_KEYS | {"P", "cones"}, "program")
    linear = parse_linear_program({name: item[name] for name in PROGRAM_KEYS})
    cones = [_parse_cone(cone, item["numbers"], len(linear.c)) for cone in parse_short_list(item["cones"], "cones")]
    if sum(len(cone.b) for cone in cones) > MAX_SIZE:
        raise SizeLimit(f"all cones together may have at most {MAX_SIZE:,} rows")
    if sum(matrix_order(len(cone.b)) ** 3 for cone in cones if cone.kind == "semidefinite") > MAX_CUBES:
        raise SizeLimit(f"the third powers of the orders of all matrices may sum to at most {MAX_CUBES:,}")
    return ConicProgramStatement(linear, _parse_quadratic(item["P"], item["numbers"], linear), cones)


def _parse_quadratic(value: Any, numbers: str, linear: LinearProgram) -> list[dict[int, Fraction]] | None:
    """Return the rows of P for the objective that is minimized, from its upper triangle; None for null."""
    if value is None:
        return None
    n = len(linear.c)
    item = parse_object_with_keys(value, {"rows", "columns", "values"}, "P")
    rows: list[dict[int, Fraction]] = [{} for _ in range(n)]
    for i, j, entry in _parse_entries(item, numbers, n, n):
        if i > j:
            reject("P must have its upper triangle alone: no row may be larger than its column")
        rows[i][j] = rows[j][i] = linear.sign * entry
    return rows


def _parse_cone(value: Any, numbers: str, n: int) -> Cone:
    """Return a constraint of n variables."""
    item = parse_object_with_keys(value, CONE_KEYS, "a cone")
    kind = parse_choice(item["kind"], CONE_KINDS, "the kind of a cone")
    parse_text(item["name"], "the name of a cone")
    to_fraction = NUMBERS[numbers]
    exponent = to_fraction(item["exponent"], "exponent")
    b = [to_fraction(entry, "b") for entry in parse_short_list(item["b"], "b")]
    size_is_right = {"second_order": len(b) >= 1, "semidefinite": matrix_order(len(b)) > 0}.get(kind, len(b) == 3)
    if not size_is_right or not 0 < exponent < 1:
        reject(f"a cone {kind!r} must have the number of rows of its kind, and an exponent between 0 and 1")
    rows: list[dict[int, Fraction]] = [{} for _ in b]
    for i, j, entry in _parse_entries(item, numbers, len(b), n):
        rows[i][j] = entry
    return Cone(kind, exponent, rows, b)


def _parse_entries(item: Mapping[str, Any], numbers: str, m: int, n: int) -> list[tuple[int, int, Fraction]]:
    """Return the entries of a matrix of shape (m, n) with their places, each place once."""
    rows, columns, values = (parse_short_list(item[name], name) for name in ("rows", "columns", "values"))
    if not len(rows) == len(columns) == len(values):
        reject("rows, columns and values must be of one length")
    places = [(parse_index(i, m, "rows"), parse_index(j, n, "columns")) for i, j in zip(rows, columns, strict=True)]
    if len(set(places)) < len(places):
        reject("each entry of a matrix must be stated once")
    return [(i, j, NUMBERS[numbers](entry, "values")) for (i, j), entry in zip(places, values, strict=True)]


def _parse_multipliers(proof: Mapping[str, Any], program: ConicProgramStatement) -> ConicMultipliers | None:
    """Return the multipliers of a proof; None where y is null."""
    names = ("y", "z", "w", "shifts")
    if proof["y"] is None:
        return reject("z, w and shifts must be null where y is") if any(proof[name] for name in names) else None
    linear, cones = program.linear, program.cones
    parts = [parse_list(proof["y"], "y"), *(parse_list(z, "z") for z in parse_list(proof["z"], "z"))]
    sizes = [len(linear.row_lower), *(len(cone.b) for cone in cones)]
    if proof["w"] is not None:
        parts.append(parse_list(proof["w"], "w"))
        sizes.append(len(linear.c))
    if [len(part) for part in parts] != sizes:
        reject("y, z and w must have a multiplier for each row and for each row of each cone, and a number for each x")
    entries = list(chain.from_iterable(parts))
    joint = parse_vector(entries, sum(sizes), "y, z and w") or reject("a proof must have multipliers")
    ends = [0]
    for size in sizes:
        ends.append(ends[-1] + size)
    vectors = [ScaledVector(joint.numerators[start:stop], joint.denominator) for start, stop in pairwise(ends)]
    shifts = parse_vector(proof["shifts"], len(linear.c), "shifts")
    return ConicMultipliers(
        y=vectors[0],
        z=vectors[1 : len(cones) + 1],
        w=None if proof["w"] is None else vectors[-1],
        shifts=None if shifts is None else [Fraction(value, shifts.denominator) for value in shifts.numerators],
    )


def _parse_claim(value: Any) -> Claim:
    """Return the claim, whose bounds are fractions."""
    item = parse_object_with_keys(value, {"status", "lower", "upper"}, "claim")
    status = parse_choice(item["status"], STATUSES, "status")
    lower, upper = (None if item[name] is None else parse_fraction(item[name], name) for name in ("lower", "upper"))
    if any(end is not None and abs(end) > sys.float_info.max for end in (lower, upper)):
        raise SizeLimit("bounds may not be larger than all floats")
    has_no_end, has_both_ends = lower is None and upper is None, lower is not None and upper is not None
    if has_no_end != (status in ("infeasible", "unbounded")) or (status == "bounded" and not has_both_ends):
        reject("a bounded program must have both bounds, an open one a bound, and others none")
    return Claim(status, lower, upper)


def _check_work(document: ConicDocument) -> None:
    """Check that the checker needs minutes at most."""
    program, multipliers = document.program, document.multipliers
    linear = program.linear
    matrices = [*linear.columns, *(program.P or ()), *(row for cone in program.cones for row in cone.rows)]
    vectors = [vector for vector in (document.x, document.ray) if vector is not None]
    if multipliers is not None:
        vectors += [multipliers.y, *multipliers.z, *([] if multipliers.w is None else [multipliers.w])]
    entries = chain(
        numbers_of(linear),
        (entry for row in matrices for entry in row.values()),
        (entry for cone in program.cones for entry in cone.b),
        [] if multipliers is None else multipliers.shifts or (),
    )
    size = len(linear.c) + len(linear.row_lower) + sum(len(cone.b) for cone in program.cones) + sum(map(len, matrices))
    check_work(size, vectors, entries)
