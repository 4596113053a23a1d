"""The content of a linear program's certificate file: the program, the proof and the claim, parsed from untrusted JSON.

docs/file_format.md says what each name means.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from boostopt.verification.trusted_kernel.json_parsing import (
    DecimalFloat,
    SizeLimit,
    parse_choice,
    parse_hexadecimal,
    parse_index,
    parse_list,
    parse_number,
    parse_object,
    parse_object_with_keys,
    parse_text,
    reject,
)

FILE_KIND = "boostopt linear program certificate"
"""The kind of these files."""

FORMAT = 1
"""The version of the format, of these files and of those of conic programs."""

TOP_LEVEL_KEYS = {"kind", "format", "program", "proof", "claim", "made"}
"""The names of both."""

PROGRAM_KEYS = {
    *("name", "sense", "numbers", "offset", "c", "lower", "upper", "row_lower", "row_upper"),
    *("rows", "columns", "values", "column_names", "row_names"),
}
"""The names of a program."""

MAX_SIZE = 10_000_000
"""Largest number of variables, of rows and of entries."""

MAX_DIGITS = 100_000
"""Largest number of hexadecimal digits of a numerator or a denominator."""

MAX_BITS = 1_000_000
"""Largest number of bits of the common denominator of a vector."""

MAX_VECTOR_BITS = 1_000_000_000
"""Largest number of entries of a vector, times the bits of their common denominator: what memory can hold."""

MAX_WORK = 1e14
"""Largest number of entries, rows and variables, times the bits of the proof, times the bits of the entries."""

STATUSES = {"optimal", "infeasible", "unbounded"}
"""The statements that a claim may make about the program."""


@dataclass(frozen=True)
class LinearProgram:
    """min sign (<c, x> + offset) over row_lower <= A x <= row_upper and lower <= x <= upper.

    Attributes
    ----------
    sign
        1 if the objective is minimized, -1 if it is maximized.
    c
        Costs, shape (n,).
    offset
        Constant of the objective.
    lower, upper
        Bounds of x; None for an infinite one.
    row_lower, row_upper
        Bounds of A x, shape (m,); None for an infinite one.
    columns
        The entries of each column of A by the number of the row.
    """

    sign: int
    c: Sequence[Fraction]
    offset: Fraction
    lower: Sequence[Fraction | None]
    upper: Sequence[Fraction | None]
    row_lower: Sequence[Fraction | None]
    row_upper: Sequence[Fraction | None]
    columns: Sequence[Mapping[int, Fraction]]


@dataclass(frozen=True)
class ScaledVector:
    """Fractions as whole numbers over one positive denominator."""

    numerators: Sequence[int]
    denominator: int


@dataclass(frozen=True)
class LinearDocument:
    """The content of a file.

    Attributes
    ----------
    program
        The program.
    x
        A point, shape (n,); None if there is none.
    y
        Multipliers of the rows, shape (m,); None if there are none.
    ray
        A direction, shape (n,); None if there is none.
    status
        "optimal", "infeasible" or "unbounded".
    value
        The claimed optimum; None unless the status is "optimal".
    """

    program: LinearProgram
    x: ScaledVector | None
    y: ScaledVector | None
    ray: ScaledVector | None
    status: str
    value: Fraction | None


def parse_linear_document(top: Mapping[str, Any]) -> LinearDocument:
    """Return the content of the object that a file states; Rejected if it is not of this form."""
    content = parse_header(top, FILE_KIND)
    program = parse_linear_program(content["program"])
    m, n = len(program.row_lower), len(program.c)
    proof = parse_object_with_keys(content["proof"], {"x", "y", "ray"}, "proof")
    claim = parse_object_with_keys(content["claim"], {"status", "value"}, "claim")
    status = parse_choice(claim["status"], STATUSES, "status")
    if (claim["value"] is not None) != (status == "optimal"):
        reject("a claim must have a value if its status is optimal, and null otherwise")
    document = LinearDocument(
        program=program,
        x=parse_vector(proof["x"], n, "x"),
        y=parse_vector(proof["y"], m, "y"),
        ray=parse_vector(proof["ray"], n, "ray"),
        status=status,
        value=None if claim["value"] is None else parse_fraction(claim["value"], "value"),
    )
    _check_work(document)
    return document


def parse_header(top: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """Return the object that a file of a kind states; Rejected if its names, kind or format are others."""
    content = parse_object_with_keys(top, TOP_LEVEL_KEYS, "the file")
    if content["kind"] != kind or content["format"] != FORMAT or type(content["format"]) is not int:
        reject(f"it must be a {kind} of format {FORMAT}; it says {content['kind']!r}, {content['format']!r}"[:200])
    parse_object(content["made"], "made")
    return content


def parse_linear_program(value: Any) -> LinearProgram:
    """Return the program that a file states."""
    item = parse_object_with_keys(value, PROGRAM_KEYS, "program")
    parse_text(item["name"], "the name of the program")
    sense = parse_choice(item["sense"], {"minimize", "maximize"}, "sense")
    to_fraction = NUMBERS[parse_choice(item["numbers"], set(NUMBERS), "numbers")]

    def parse_entries(name: str) -> list[Fraction]:
        return [to_fraction(entry, name) for entry in parse_short_list(item[name], name)]

    def parse_sides(name: str, infinite: str) -> list[Fraction | None]:
        entries = parse_short_list(item[name], name)
        return [None if entry == infinite else to_fraction(entry, name) for entry in entries]

    c, lower, upper = parse_entries("c"), parse_sides("lower", "-inf"), parse_sides("upper", "inf")
    row_lower, row_upper = parse_sides("row_lower", "-inf"), parse_sides("row_upper", "inf")
    if not len(c) == len(lower) == len(upper) or len(row_lower) != len(row_upper):
        reject("there must be a cost and two bounds for each variable, and two bounds for each row")
    for name, size in (("column_names", len(c)), ("row_names", len(row_lower))):
        names = [parse_text(text, name) for text in parse_short_list(item[name], name)]
        if len(names) not in (0, size):
            reject(f"{name} must be {size} names or none; they are {len(names)}")
    columns: list[dict[int, Fraction]] = [{} for _ in c]
    places = [parse_short_list(item[name], name) for name in ("rows", "columns")]
    values = parse_entries("values")
    if not len(places[0]) == len(places[1]) == len(values):
        reject("rows, columns and values must be of one length")
    for i, j, entry in zip(*places, values, strict=True):
        column = columns[parse_index(j, len(c), "columns")]
        if parse_index(i, len(row_lower), "rows") in column:
            reject(f"the entry in row {i} of column {j} must be stated once")
        column[i] = entry
    sign = 1 if sense == "minimize" else -1
    offset = to_fraction(item["offset"], "offset")
    return LinearProgram(sign, c, offset, lower, upper, row_lower, row_upper, columns)


def _binary_number(value: Any, name: str) -> Fraction:
    """Return the float nearest to a number, as a fraction."""
    return Fraction(parse_number(value, name, sys.float_info.max))


def _decimal_number(value: Any, name: str) -> Fraction:
    """Return the number that a decimal text states."""
    nearest = parse_number(value, name, sys.float_info.max)
    number = Fraction(Decimal(value.text if isinstance(value, DecimalFloat) else repr(value)))
    if number and not nearest:
        raise SizeLimit(f"{name} must have numbers that are 0 or at least 5e-324 in size")
    return number


NUMBERS: Mapping[str, Callable[[Any, str], Fraction]] = {"binary": _binary_number, "decimal": _decimal_number}
"""Functions that read a number of the program, by the meaning of its numbers."""


def _check_work(document: LinearDocument) -> None:
    """Check that the checker needs minutes at most."""
    program = document.program
    size = len(program.c) + len(program.row_lower) + sum(map(len, program.columns))
    vectors = [vector for vector in (document.x, document.y, document.ray) if vector is not None]
    entries = [entry for column in program.columns for entry in column.values()]
    check_work(size, vectors, [*numbers_of(program), *entries])


def check_work(size: int, vectors: Iterable[ScaledVector], entries: Iterable[Fraction]) -> None:
    """Check that the checker needs minutes at most, by the size of a program and the lengths of numbers.

    Parameters
    ----------
    size
        Number of entries, rows and variables.
    vectors
        Those of the proof.
    entries
        The numbers of the program.

    Raises
    ------
    SizeLimit
        It needs more.
    """
    numbers = (number for vector in vectors for number in (vector.denominator, *vector.numerators))
    bits = max((number.bit_length() for number in numbers), default=1)
    entry_bits = max(max(entry.numerator.bit_length(), entry.denominator.bit_length()) for entry in entries)
    if size * bits * entry_bits > MAX_WORK:
        raise SizeLimit(f"numbers of {bits:,} bits are too long for a program of this size")


def numbers_of(program: LinearProgram) -> list[Fraction]:
    """Return the offset, the costs and the finite bounds of a program."""
    sides = [*program.lower, *program.upper, *program.row_lower, *program.row_upper]
    return [program.offset, *program.c, *(side for side in sides if side is not None)]


def parse_short_list(value: Any, name: str) -> list[Any]:
    """Return a list that is not too long."""
    result = parse_list(value, name)
    if len(result) > MAX_SIZE:
        raise SizeLimit(f"{name} may have at most {MAX_SIZE:,} entries; it has {len(result):,}")
    return result


def parse_vector(value: Any, size: int, name: str) -> ScaledVector | None:
    """Return the fractions of a list over their common denominator; None for null."""
    if value is None:
        return None
    fractions = [parse_fraction(entry, name) for entry in parse_list(value, name)]
    if len(fractions) != size:
        reject(f"{name} must have {size} numbers; it has {len(fractions)}")
    denominator, limit = 1, min(MAX_BITS, MAX_VECTOR_BITS // max(size, 1))
    for divisor in {fraction.denominator for fraction in fractions}:
        denominator = math.lcm(denominator, divisor)
        if denominator.bit_length() > limit:
            raise SizeLimit(f"the common denominator of {size} numbers of {name} may have at most {limit:,} bits")
    return ScaledVector([number.numerator * (denominator // number.denominator) for number in fractions], denominator)


def parse_fraction(value: Any, name: str) -> Fraction:
    """Return the fraction that a text states: a whole number, or two with / between them."""
    top, separator, bottom = value.partition("/") if isinstance(value, str) else ("", "", "")
    numerator = parse_hexadecimal(top, name, MAX_DIGITS)
    denominator = parse_hexadecimal(bottom, name, MAX_DIGITS) if separator else 1
    return Fraction(numerator, denominator) if denominator > 0 else reject(f"denominators of {name} must be positive")
