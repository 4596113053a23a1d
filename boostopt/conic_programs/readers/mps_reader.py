"""MPS and QPS files, fixed and free: linear programs and convex quadratic ones.

HiGHS has a reader of its own, but it leaves out entries below 1e-12 and skips what it cannot read. This one refuses.

References
----------
Maros and Meszaros 1999, "A repository of convex quadratic programming problems", Optimization Methods and Software 11
(the section QUADOBJ); the format as IBM's MPSX/370 has it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import numpy as np

from boostopt.conic_programs.conic_program import ConicProgram
from boostopt.conic_programs.readers.numbered_lines import TextLines, finite_number
from boostopt.conic_programs.readers.sparse_entries import dense_vector, sparse_columns
from boostopt.errors import ProblemError

FORMAT_NAME = "MPS"

FIXED_FIELDS = ((1, 3), (4, 12), (14, 22), (24, 36), (39, 47), (49, 61))
"""Columns of the six fields of a line in fixed MPS, in which names may contain spaces."""

FIXED_GAPS = ((0, 1), (3, 4), (12, 14), (22, 24), (36, 39), (47, 49), (61, None))
"""Columns between them, which are empty in fixed MPS."""

MAX_PAIRS = 2
"""Largest number of pairs of a row and a number in a line; HiGHS skips further ones without a word."""

ORDER = ("OBJSENSE", "ROWS", "COLUMNS", "RHS", "RANGES", "BOUNDS")
"""Sections whose order the format fixes."""

SKIPPED_SETS = ("NAME", "OBJSENSE", "QSECTION")
"""Names of sets whose lines HiGHS takes as those of a section."""

ROW_TYPES = ("N", "E", "L", "G")
QUADRATIC_SECTIONS = ("QUADOBJ", "QSECTION", "QMATRIX")

BOUNDS_WITH_VALUES = ("UP", "LO", "FX")
BOUNDS_WITHOUT_VALUES = ("FR", "MI", "PL")
INTEGER_BOUNDS = ("BV", "LI", "UI", "SC")


@dataclass
class _Content:
    """The sections of a file.

    Attributes
    ----------
    row_types
        N, E, L or G by the name of the row.
    columns
        Index of each variable by its name.
    entries
        Entries of the matrix and of the objective by (row name, variable).
    right_sides, ranges
        Numbers by the name of the row.
    lower, upper
        Bounds that the file states, by variable.
    quadratic
        Entries of P by (variable, variable).
    sections
        Names of the sections that have begun.
    layouts
        "free" after a line that fixed MPS does not have, "fixed" after one that only fixed MPS has.
    sets
        The name of the set of right sides, ranges and bounds that is read: the first one. So is the sense.
    """

    name: str = ""
    is_maximized: bool = False
    row_types: dict[str, str] = field(default_factory=dict)
    columns: dict[str, int] = field(default_factory=dict)
    entries: dict[tuple[str, int], float] = field(default_factory=dict)
    right_sides: dict[str, float] = field(default_factory=dict)
    ranges: dict[str, float] = field(default_factory=dict)
    lower: dict[int, float] = field(default_factory=dict)
    upper: dict[int, float] = field(default_factory=dict)
    quadratic: dict[tuple[int, int], float] = field(default_factory=dict)
    sections: set[str] = field(default_factory=set)
    layouts: set[str] = field(default_factory=set)
    sets: dict[str, str] = field(default_factory=dict)

    @property
    def objective(self) -> str | None:
        """The name of the first row of type N; other such rows are free and left out."""
        return next((name for name, row_type in self.row_types.items() if row_type == "N"), None)


def read_mps(path: Path, text: str) -> ConicProgram:
    """Return the program of a file.

    Raises
    ------
    DataError
        A line is not as the format states, or a variable is an integer; the message names the line.
    """
    lines, content, section = TextLines(path, text, FORMAT_NAME, "*", is_stripped=False), _Content(), ""
    while (line := lines.read_optional_line()) is not None:
        if not line[0].isspace():
            section, *rest = line.split(maxsplit=1)
            section = section.upper()
            _begin_section(lines, content, line, section, rest[0] if rest else "")
            if section == "ENDATA":
                return _program(content)
        elif line.lstrip().startswith("*"):
            raise lines.error("a comment from the first column on: readers differ in whether others are comments")
        else:
            SECTIONS.get(section, _refuse)(lines, content, line)
    raise lines.end_error("ENDATA at the end")


def _begin_section(lines: TextLines, content: _Content, line: str, section: str, rest: str) -> None:
    if section not in SECTIONS:
        raise lines.error(f"a section among {', '.join(SECTIONS)}")
    if section in content.sections:
        raise lines.error(f"one section {section}")
    if section in ORDER and content.sections & set(ORDER[ORDER.index(section) + 1 :]):
        raise lines.error(f"the sections {', '.join(ORDER)} in this order: HiGHS drops ranges and senses in others")
    if section == "RANGES" and "RHS" not in content.sections:
        raise lines.error("the section RHS before RANGES: HiGHS reads ranges without it as right sides")
    if "OBJSENSE" in content.sections and "OBJSENSE" not in content.sets:
        raise lines.error("MAX or MIN in the section OBJSENSE")
    content.sections.add(section)
    if section == "NAME":
        content.name = rest.split()[0] if rest else ""
    elif section == "OBJSENSE" and rest:
        if "\t" in line or rest.upper() not in ("MAX", "MIN"):
            raise lines.error("spaces and MAX or MIN after OBJSENSE: HiGHS minimizes after a tab and longer words")
        _read_sense(lines, content, rest)
    elif section in QUADRATIC_SECTIONS:
        content.sets["QUADOBJ"] = "full" if section == "QMATRIX" else "triangle"
        if rest not in ("", content.objective):
            raise lines.error(f"quadratic terms of the objective {content.objective}")
    elif rest:
        raise lines.error(f"nothing after {section}, and spaces before the lines of a section")
    elif section == "ENDATA":
        if not content.sections >= {"ROWS", "COLUMNS"}:
            raise lines.error("the sections ROWS and COLUMNS before ENDATA")
        if lines.read_optional_line() is not None:
            raise lines.error("nothing after ENDATA")


def _read_sense(lines: TextLines, content: _Content, line: str) -> None:
    sense = line.strip().upper()
    if sense not in ("MAX", "MAXIMIZE", "MIN", "MINIMIZE"):
        raise lines.error("MAX or MIN")
    if content.sets.setdefault("OBJSENSE", sense[:3]) != sense[:3]:
        raise lines.error(f"one sense, {content.sets['OBJSENSE']}")
    content.is_maximized = sense.startswith("MAX")


def _read_row(lines: TextLines, content: _Content, line: str) -> None:
    fields = _fields(lines, content, line, lambda fields: len(fields) == 2)
    if len(fields) != 2 or fields[0].upper() not in ROW_TYPES or fields[1] in content.row_types:
        raise lines.error("a type N, E, L or G and the name of a new row")
    content.row_types[fields[1]] = fields[0].upper()


def _read_column(lines: TextLines, content: _Content, line: str) -> None:
    fields = _fields(lines, content, line, lambda fields: len(fields) % 2 == 1 and _are_rows(content, fields[1::2]))
    if any("MARKER" in part for part in fields):
        raise lines.error("continuous variables: without markers of integers")
    if len(fields) < 3 or len(fields) % 2 == 0:
        raise lines.error("a variable, and pairs of a row and an entry")
    if fields[0].upper() in SECTIONS:
        raise lines.error("a variable that is not called as a section: HiGHS skips it")
    j = content.columns.setdefault(fields[0], len(content.columns))
    if j + 1 < len(content.columns):
        raise lines.error(f"all entries of {fields[0]} together: HiGHS reads later ones as those of another variable")
    for row, entry in _pairs(lines, content, fields[1:]):
        if (row, j) in content.entries:
            raise lines.error(f"one entry for {fields[0]} in row {row}")
        content.entries[row, j] = entry


def _read_right_side(lines: TextLines, content: _Content, line: str) -> None:
    _read_row_numbers(lines, content, line, "RHS", content.right_sides)


def _read_range(lines: TextLines, content: _Content, line: str) -> None:
    _read_row_numbers(lines, content, line, "RANGES", content.ranges)


def _read_row_numbers(lines: TextLines, content: _Content, line: str, section: str, numbers: dict[str, float]) -> None:
    fields = _fields(lines, content, line, lambda fields: _are_rows(content, fields[len(fields) % 2 :: 2]))
    # The name of the set may be left out.
    _check_set(lines, content, section, fields.pop(0) if len(fields) % 2 else "")
    for row, number in _pairs(lines, content, fields):
        if row in numbers:
            raise lines.error(f"one number for row {row}")
        if content.row_types[row] == "N" and (section == "RANGES" or row != content.objective):
            raise lines.error(f"{section} of rows of type E, L or G, or right sides of the objective")
        numbers[row] = number


def _read_bound(lines: TextLines, content: _Content, line: str) -> None:
    fields = line.split()
    kind = fields[0].upper()
    if kind in INTEGER_BOUNDS:
        raise lines.error("bounds of continuous variables")
    n_values = 1 if kind in BOUNDS_WITH_VALUES else 0

    def variable_of(fields: list[str]) -> str:
        """Return the field of the variable; a number after a bound without one has no meaning."""
        return fields[min(len(fields) - 1 - n_values, 2)] if 2 + n_values <= len(fields) <= 4 else ""

    fields = _fields(lines, content, line, lambda fields: variable_of(fields) in content.columns)
    variable = variable_of(fields)
    if kind not in (*BOUNDS_WITH_VALUES, *BOUNDS_WITHOUT_VALUES) or not variable:
        raise lines.error("a type UP, LO, FX, FR, MI or PL, a set, a variable, and a number for the first three")
    _check_set(lines, content, "BOUNDS", fields[1] if len(fields) > 2 + n_values else "")
    if variable not in content.columns:
        raise lines.error("a variable of the section COLUMNS")
    _set_bound(lines, content, kind, content.columns[variable], _number(lines, fields[-1]) if n_values else 0.0)


def _set_bound(lines: TextLines, content: _Content, kind: str, j: int, value: float) -> None:
    if kind == "UP" and value < 0.0 and j not in content.lower:
        raise lines.error("a lower bound before a negative upper one: readers differ in which they assume")
    if kind != "UP" and kind != "PL":
        _state_once(lines, content.lower, j, value if kind in ("LO", "FX") else -np.inf)
    if kind != "LO" and kind != "MI":
        _state_once(lines, content.upper, j, value if kind in ("UP", "FX") else np.inf)


def _state_once(lines: TextLines, bounds: dict[int, float], j: int, value: float) -> None:
    if bounds.setdefault(j, value) != value:
        raise lines.error(f"one bound in place of {bounds[j]} and another: readers differ in which they take")


def _read_quadratic(lines: TextLines, content: _Content, line: str) -> None:
    def is_valid(fields: list[str]) -> bool:
        return len(fields) == 3 and fields[0] in content.columns and fields[1] in content.columns

    fields = _fields(lines, content, line, is_valid)
    if not is_valid(fields):
        raise lines.error("two variables of the section COLUMNS and an entry")
    place = content.columns[fields[0]], content.columns[fields[1]]
    places = {place} if content.sets.get("QUADOBJ") == "full" else {place, place[::-1]}
    if places & content.quadratic.keys():
        raise lines.error("one entry for each pair of variables")
    for i, j in places:
        content.quadratic[i, j] = _number(lines, fields[2])


def _refuse(lines: TextLines, content: _Content, line: str) -> None:
    raise lines.error("a section first")


SECTIONS: dict[str, Callable[[TextLines, _Content, str], None]] = {
    "NAME": _refuse,
    "OBJSENSE": _read_sense,
    "ROWS": _read_row,
    "COLUMNS": _read_column,
    "RHS": _read_right_side,
    "RANGES": _read_range,
    "BOUNDS": _read_bound,
    "QUADOBJ": _read_quadratic,
    "QSECTION": _read_quadratic,
    "QMATRIX": _read_quadratic,
    "ENDATA": _refuse,
}
"""Readers of the lines of each section."""


def _fields(lines: TextLines, content: _Content, line: str, is_valid: Callable[[list[str]], bool]) -> list[str]:
    """Return the fields between spaces; by the columns of fixed MPS where the former are not valid.

    Then the file is fixed MPS, and all its lines must be.
    """
    fields = fixed = line.split()
    if "\t" in line or any(line[start:end].strip() for start, end in FIXED_GAPS):
        content.layouts.add("free")
    else:
        fixed = [part for start, end in FIXED_FIELDS if (part := line[start:end].strip())]
    if fixed != fields and is_valid(fixed):
        content.layouts.add("fixed")
        if is_valid(fields):
            raise lines.error("names whose spaces leave one meaning: fixed MPS has other fields than free MPS")
        fields = fixed
    if len(content.layouts) > 1:
        raise lines.error("all lines in the columns of fixed MPS, for names have spaces")
    return fields


def _are_rows(content: _Content, names: Sequence[str]) -> bool:
    return all(name in content.row_types for name in names)


def _pairs(lines: TextLines, content: _Content, fields: list[str]) -> Iterator[tuple[str, float]]:
    if len(fields) > 2 * MAX_PAIRS:
        raise lines.error(f"at most {MAX_PAIRS} pairs of a row and a number")
    for row, number in zip(fields[::2], fields[1::2], strict=True):
        if row not in content.row_types:
            raise lines.error(f"a row of the section ROWS in place of {row}")
        yield row, _number(lines, number)


def _number(lines: TextLines, text: str) -> float:
    try:
        return finite_number(text)
    except ValueError:
        raise lines.error(f"a finite decimal number in place of {text}") from None


def _check_set(lines: TextLines, content: _Content, section: str, name: str) -> None:
    if name.upper() in SKIPPED_SETS:
        raise lines.error(f"a set of {section} that is not called {name}: HiGHS skips its lines")
    if " " in name or name in (content.columns if section == "BOUNDS" else content.row_types):
        raise lines.error(f"a set of {section} whose name has no spaces and is that of no row and of no variable")
    if content.sets.setdefault(section, name) != name:
        raise lines.error(f"one set of {section}, {content.sets[section]}")


def _program(content: _Content) -> ConicProgram:
    objective, n = content.objective, len(content.columns)
    row_names = [name for name, row_type in content.row_types.items() if row_type != "N"]
    position = {name: i for i, name in enumerate(row_names)}
    entries = [(position[row], j, entry) for (row, j), entry in content.entries.items() if row in position]
    costs = dense_vector({j: entry for (row, j), entry in content.entries.items() if row == objective}, n)
    limits = [_row_limits(content, name) for name in row_names]
    sign = -1.0 if content.is_maximized else 1.0
    return ConicProgram(
        A=sparse_columns(entries, (len(row_names), n)),
        c=sign * costs,
        row_lower=np.array([lower for lower, _ in limits]),
        row_upper=np.array([upper for _, upper in limits]),
        lower=dense_vector(content.lower, n),
        upper=dense_vector(content.upper, n, default=np.inf),
        P=sign * sparse_columns([(i, j, entry) for (i, j), entry in content.quadratic.items()], (n, n)),
        offset=-sign * content.right_sides.get(objective or "", 0.0) + 0.0,
        is_maximized=content.is_maximized,
        name=content.name,
        column_names=tuple(content.columns),
        row_names=tuple(row_names),
    )


def _row_limits(content: _Content, name: str) -> tuple[float, float]:
    """Return the bounds of a row from its type, its right side and its range."""
    row_type, right_side, width = content.row_types[name], content.right_sides.get(name, 0.0), content.ranges.get(name)
    if width is None:
        return (
            -np.inf if row_type == "L" else right_side,
            np.inf if row_type == "G" else right_side,
        )
    if row_type == "G" or (row_type == "E" and width >= 0.0):
        return right_side, range_end(right_side, abs(width))
    return range_end(right_side, -abs(width)), right_side


def range_end(side: float, width: float) -> float:
    """Return the float next to the sum of two decimals: the sum of their floats may be another one, as of .1 and .2.

    Raises
    ------
    ProblemError
        The sum is outside the range of floats, or no other number than the side although the width is not 0.
    """
    total = Fraction(repr(side)) + Fraction(repr(width))
    end = float(total) if abs(total) <= sys.float_info.max else math.inf
    if math.isinf(end) or (end == side and width):
        raise ProblemError(
            f"ranges must have two ends that are different floats; got the side {side!r} and the width {abs(width)!r}. "
            "State the second end by a row of its own."
        )
    return end
