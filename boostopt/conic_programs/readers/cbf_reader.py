"""CBF, the Conic Benchmark Format, versions 1 to 3, without integer variables.

The rotated cone 2 z_0 z_1 >= z_2^2 + ... is a second-order cone over (z_0 + z_1 / 2, z_0 - z_1 / 2, z_2, ...). A file
is refused where floats cannot state these sums exactly. The exponential cone of the format swaps the first and the last
entry of the cone used here.

References
----------
Friberg 2016, "CBLIB 2014: a benchmark library for conic mixed-integer and continuous optimization", Mathematical
Programming Computation 8.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array
from boostopt.conic_programs.conic_program import ConeConstraint, ConicProgram
from boostopt.conic_programs.readers.numbered_lines import MAX_UNLISTED, TextLines, count_number, finite_number
from boostopt.conic_programs.readers.sparse_entries import dense_vector, sparse_columns
from boostopt.errors import DataError

FORMAT_NAME = "CBF"

LINEAR_CONES = ("F", "L=", "L+", "L-")
"""Free numbers, zeros, and numbers of one sign."""

MIN_SIZES = {"Q": 1, "QR": 2, "EXP": 3}
"""Smallest number of entries of the other cones; an exponential cone has exactly three."""

POWER_CONE = re.compile(r"@(0|[1-9][0-9]{0,8}):POW")
"""A power cone and the number of its exponents."""

MAX_VERSION = 3


@dataclass
class _Content:
    """The sections of a file.

    Attributes
    ----------
    n, m
        Number of variables and of rows.
    variable_cones, row_cones
        Pairs (cone, size).
    costs, constants
        Entries of the objective and of the rows by their positions.
    entries
        Entries of the matrix by (row, column).
    power_cones
        The exponents of each power cone.
    """

    n: int = 0
    m: int = 0
    is_maximized: bool = False
    variable_cones: list[tuple[str, int]] = field(default_factory=list)
    row_cones: list[tuple[str, int]] = field(default_factory=list)
    costs: dict[int, float] = field(default_factory=dict)
    offset: float = 0.0
    entries: dict[tuple[int, int], float] = field(default_factory=dict)
    constants: dict[int, float] = field(default_factory=dict)
    power_cones: list[tuple[float, ...]] = field(default_factory=list)


def read_cbf(path: Path, text: str) -> ConicProgram:
    """Return the program of a file.

    Raises
    ------
    DataError
        A line is not as the format states, or a section is not supported; the message names the line.
    """
    lines, content = TextLines(path, text, FORMAT_NAME, "#"), _Content()
    version = lines.read_line("the section VER")
    if version != "VER":
        raise lines.error("the section VER first")
    (number,) = lines.read_fields("a version from 1 to 3", count_number)
    if not 1 <= number <= MAX_VERSION:
        raise lines.error("a version from 1 to 3")
    sections = set[str]()
    while (keyword := lines.read_optional_line()) is not None:
        if keyword in sections:
            raise lines.error(f"one section {keyword}")
        sections.add(keyword)
        _read_section(lines, keyword, content)
    if not sections >= {"OBJSENSE", "VAR"}:
        raise lines.end_error("the sections OBJSENSE and VAR")
    return _program(path, content)


def _read_section(lines: TextLines, keyword: str, content: _Content) -> None:
    if keyword == "OBJSENSE":
        sense = lines.read_line("MIN or MAX")
        if sense not in ("MIN", "MAX"):
            raise lines.error("MIN or MAX")
        content.is_maximized = sense == "MAX"
    elif keyword in ("VAR", "CON"):
        cones = content.variable_cones if keyword == "VAR" else content.row_cones
        size = _read_cones(lines, cones, len(content.power_cones))
        content.n, content.m = (size, content.m) if keyword == "VAR" else (content.n, size)
    elif keyword == "POWCONES":
        _read_power_cones(lines, content)
    elif keyword == "OBJACOORD":
        for _ in range(_read_count(lines)):
            j, cost = lines.read_fields("a column and its cost", count_number, finite_number)
            _add(lines, content.costs, int(j), cost, content.n)
    elif keyword == "OBJBCOORD":
        (content.offset,) = lines.read_fields("the constant of the objective", finite_number)
    elif keyword == "ACOORD":
        for _ in range(_read_count(lines)):
            i, j, entry = lines.read_fields("row, column and entry", count_number, count_number, finite_number)
            if i >= content.m or j >= content.n:
                raise lines.error(f"a row below {content.m} and a column below {content.n}")
            if (i, j) in content.entries:
                raise lines.error(f"one entry in row {i} and column {j}")
            content.entries[int(i), int(j)] = entry
    elif keyword == "BCOORD":
        for _ in range(_read_count(lines)):
            i, constant = lines.read_fields("a row and its constant", count_number, finite_number)
            _add(lines, content.constants, int(i), constant, content.m)
    else:
        raise lines.error(
            "a section among OBJSENSE, VAR, CON, POWCONES, OBJACOORD, OBJBCOORD, ACOORD and BCOORD (integer variables "
            "and semidefinite ones are not supported)"
        )


def _read_count(lines: TextLines) -> int:
    (count,) = lines.read_fields("the number of lines of the section", count_number)
    return int(count)


def _add(lines: TextLines, values: dict[int, float], index: int, value: float, size: int) -> None:
    if index >= size:
        raise lines.error(f"an index below {size}")
    if index in values:
        raise lines.error(f"one number for the index {index}")
    values[index] = value


def _read_cones(lines: TextLines, cones: list[tuple[str, int]], n_power_cones: int) -> int:
    """Read the cones of a section and return the number of their entries."""
    expected = f"the number of entries, up to {MAX_UNLISTED:,}, and of cones"
    total, count = lines.read_fields(expected, count_number, count_number)
    if total > MAX_UNLISTED:
        raise lines.error(expected)
    for _ in range(int(count)):
        fields = lines.read_line("a cone and its size").split()
        try:
            cone, size = fields[0], count_number(" ".join(fields[1:]))
        except ValueError:
            raise lines.error("a cone and its size") from None
        if power_cone := POWER_CONE.fullmatch(cone):
            is_valid = int(power_cone[1]) < n_power_cones and size == 3
        else:
            is_valid = cone in LINEAR_CONES or (cone in MIN_SIZES and size >= MIN_SIZES[cone])
            is_valid = is_valid and (cone != "EXP" or size == 3)
        if not is_valid:
            names = ", ".join((*LINEAR_CONES, *MIN_SIZES, "@k:POW"))
            raise lines.error(f"a cone among {names} with a valid size (power cones of three entries)")
        cones.append((cone, size))
    if sum(size for _, size in cones) != total:
        raise lines.error(f"cones with {total} entries in all")
    return int(total)


def _read_power_cones(lines: TextLines, content: _Content) -> None:
    count, total = lines.read_fields("the number of power cones and of exponents", count_number, count_number)
    if total != 2 * count:
        raise lines.error("two exponents for each power cone (of three entries)")
    for _ in range(int(count)):
        size = _read_count(lines)
        exponents = tuple(lines.read_fields("an exponent", finite_number)[0] for _ in range(size))
        if size != 2 or min(exponents) <= 0.0:
            raise lines.error("two positive exponents (power cones of three entries)")
        content.power_cones.append(exponents)


def _program(path: Path, content: _Content) -> ConicProgram:
    n, m = content.n, content.m
    sign = -1.0 if content.is_maximized else 1.0
    A: Any = sparse_columns([(i, j, entry) for (i, j), entry in content.entries.items()], (m, n)).tocsr()
    constants = dense_vector(content.constants, m)
    identity: Any = scipy.sparse.identity(n, format="csr")
    cones, linear_rows = list[ConeConstraint](), list[tuple[str, int, int]]()
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    start = 0
    for cone, size in content.variable_cones:
        part = slice(start, start + size)
        if cone in ("L=", "L+"):
            lower[part] = 0.0
        if cone in ("L=", "L-"):
            upper[part] = 0.0
        if cone not in LINEAR_CONES:
            cones.append(_constraint(path, cone, identity[part], np.zeros(size), content.power_cones))
        start += size
    start = 0
    for cone, size in content.row_cones:
        if cone in LINEAR_CONES:
            linear_rows.append((cone, start, start + size))
        else:
            part = slice(start, start + size)
            cones.append(_constraint(path, cone, A[part], constants[part], content.power_cones))
        start += size
    bounded = [(cone, np.arange(first, last)) for cone, first, last in linear_rows if cone != "F"]
    indices = np.concatenate([part for _, part in bounded]) if bounded else np.zeros(0, dtype=int)
    kinds = (
        np.concatenate([np.repeat(cone, len(part)) for cone, part in bounded]) if bounded else np.zeros(0, dtype=str)
    )
    return ConicProgram(
        A=scipy.sparse.csc_array(A[indices]),
        c=sign * dense_vector(content.costs, n),
        row_lower=np.where(kinds == "L-", -np.inf, -constants[indices]) + 0.0,
        row_upper=np.where(kinds == "L+", np.inf, -constants[indices]) + 0.0,
        lower=lower,
        upper=upper,
        cones=tuple(cones),
        offset=sign * content.offset,
        is_maximized=content.is_maximized,
        name=path.name.partition(".")[0],
    )


def _constraint(
    path: Path, cone: str, A: Any, constants: Array, power_cones: list[tuple[float, ...]]
) -> ConeConstraint:
    if cone == "Q":
        return ConeConstraint("second_order", A, constants)
    if cone == "QR":
        if not _is_rotation_exact(A, constants):
            raise DataError(
                f"{path}: expected a cone QR whose first two rows z_0 and z_1 have sums z_0 + z_1 / 2 and "
                "z_0 - z_1 / 2 that floats state exactly; got others. State these two rows by variables of their own."
            )
        first: Any = scipy.sparse.csr_array(([1.0, 0.5, 1.0, -0.5], ([0, 0, 1, 1], [0, 1, 0, 1])), shape=(2, 2))
        rotation = scipy.sparse.block_diag([first, scipy.sparse.identity(A.shape[0] - 2)], format="csr")
        return ConeConstraint("second_order", rotation @ A, rotation @ constants)
    if cone == "EXP":
        return ConeConstraint("exponential", A[[2, 1, 0]], constants[[2, 1, 0]])
    exponents = power_cones[int(cone[1:].partition(":")[0])]
    exponent = exponents[0] / sum(exponents)
    first_decimal, second_decimal = (Fraction(repr(value)) for value in exponents)
    if Fraction(repr(exponent)) != first_decimal / (first_decimal + second_decimal):
        raise DataError(
            f"{path}: expected exponents of a power cone whose share is a decimal of a float; got "
            f"{exponents}. State them by a share that is a short decimal."
        )
    return ConeConstraint("power", A, constants, exponent)


def _is_rotation_exact(A: Any, constants: Array) -> bool:
    """Return whether the sums z_0 + z_1 / 2 and z_0 - z_1 / 2 of the first two rows need no rounding."""
    pairs = [(float(constants[0]), float(constants[1]))]
    first, second = (dict(zip(A[[k]].indices.tolist(), A[[k]].data.tolist(), strict=True)) for k in (0, 1))
    pairs += [(first.get(j, 0.0), second.get(j, 0.0)) for j in {**first, **second}]
    return all(_is_sum_exact(a, b / 2) and _is_sum_exact(a, -b / 2) and b / 2 * 2 == b for a, b in pairs)


def _is_sum_exact(a: float, b: float) -> bool:
    return math.isfinite(a + b) and Fraction(a) + Fraction(b) == Fraction(a + b)
