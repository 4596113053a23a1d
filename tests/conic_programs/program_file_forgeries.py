"""Forged files of programs in MPS, CBF and SDPA's format: each is refused in words, or a second reader agrees.

The second reader of MPS is that of HiGHS. Those of CBF and of SDPA's format evaluate a file at a point.
As a script: `python tests/conic_programs/program_file_forgeries.py 10000` prints what became of the files.
"""

from __future__ import annotations

import gzip
import re
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import highspy
import numpy as np
import scipy.sparse

from boostopt import ConicProgram, load_problem
from boostopt.conic_programs.conic_program import ConeConstraint
from boostopt.errors import DataError

Rng = np.random.Generator

# Random files: one field of a line is one text of a list


NUMBERS = ("1", "-2", "0.5", "3.", ".25", "1e1", "+4", "-5E-1", "7", "0")
"""Numbers as files state them. HiGHS leaves out entries below 1e-9."""

HIGHS_INFINITY = 1e20
"""Smallest bound that HiGHS takes as infinite; boostopt takes each number as it is."""

BOUNDS = ("UP", "LO", "FX", "FR", "MI", "PL")
FIXED_COLUMNS = (1, 4, 14, 24, 39, 49)


def choose(options: Sequence[Any], rng: Rng) -> Any:
    """Return one of the options."""
    return options[int(rng.integers(len(options)))]


def random_mps(rng: Rng) -> str:
    """Return a file in fixed or free MPS with rows of all types, ranges, bounds, senses and quadratic terms.

    HiGHS reads no sense, no further rows of type N and no quadratic terms beside names with spaces.
    """
    is_fixed = bool(rng.integers(2))
    has_spaces = is_fixed and bool(rng.integers(2))
    rows, columns = ["r1", "r2", "row 3" if has_spaces else "r3"], ["x", "y", "col z" if has_spaces else "z"]
    free_rows = [] if has_spaces else ["free"]
    sections = list[tuple[str, list[list[str]]]]()
    if rng.integers(2) and not has_spaces:
        sections.append(("OBJSENSE", [["", choose(["MAX", "MIN", "MAXIMIZE"], rng)]]))
    kinds = [["N", "cost"], *([choose(("E", "L", "G"), rng), row] for row in rows), *(["N", row] for row in free_rows)]
    sections.append(("ROWS", kinds))
    lines = list[list[str]]()
    for column in columns:
        pairs = [[row, choose(NUMBERS, rng)] for row in ("cost", *rows, *free_rows) if rng.random() < 0.6]
        pairs = pairs or [["cost", "0"]]
        lines += [["", column, *chain.from_iterable(pairs[k : k + 2])] for k in range(0, len(pairs), 2)]
    sections.append(("COLUMNS", lines))
    for section, targets in (("RHS", ("cost", *rows)), ("RANGES", rows)):
        name = choose(["set", section.lower(), "" if has_spaces or section == "RHS" else "r"], rng)
        lines = [["", name, row, choose(NUMBERS, rng)] for row in targets if rng.random() < 0.6]
        sections.append((section, lines))
    lines, bound_set = list[list[str]](), choose(["bnd", ""], rng)
    for column in columns:
        kind = choose(BOUNDS, rng)
        number = choose(["1", "4", "0.5", "2"], rng) if kind in BOUNDS[:3] else choose(["", "", "9"], rng)
        if rng.random() < 0.7 and (bound_set or not number or kind in BOUNDS[:3]):
            lines.append([kind, bound_set, column, number])
    sections.append(("BOUNDS", lines))
    if rng.random() < 0.3 and not has_spaces:
        section = choose(["QUADOBJ", "QMATRIX"], rng)
        mixed = [["", "x", "y", "-1"], ["", "y", "x", "-1"]][: rng.integers(2) * (1 + (section == "QMATRIX"))]
        sections.append((section, [["", "x", "x", "2"], *mixed, ["", "y", "y", "1"]]))
    text = [choose(["NAME", "NAME t"], rng)]
    for section, section_lines in sections:
        text += [section, *(render(fields, is_fixed) for fields in section_lines)]
    return "\n".join([*text, "ENDATA", ""])


def render(fields: Sequence[str], is_fixed: bool) -> str:
    """Return the line of six fields or fewer; in fixed MPS they begin in their columns."""
    if not is_fixed:
        return " " + " ".join(part for part in fields if part)
    line = ""
    for part, column in zip(fields, FIXED_COLUMNS, strict=False):
        line = line.ljust(column) + part
    return line.rstrip()


CBF_SIZES = {"F": 2, "L+": 2, "L-": 1, "L=": 1, "Q": 3, "QR": 3, "EXP": 3, "@0:POW": 3, "@1:POW": 3}


def random_cbf(rng: Rng) -> str:
    """Return a file in CBF with all cones."""
    cones = [[choose(list(CBF_SIZES), rng) for _ in range(rng.integers(1, 4))] for _ in range(2)]
    sizes = [sum(CBF_SIZES[cone] for cone in part) for part in cones]
    lines = ["# cones", "VER", choose(["1", "2", "3"], rng), "POWCONES", "2 4", "2", "0.25", "0.75", "2", "1", "1"]
    lines += ["OBJSENSE", choose(["MIN", "MAX"], rng)]
    for section, part, size in zip(("VAR", "CON"), cones, sizes, strict=True):
        lines += [section, f"{size} {len(part)}", *(f"{cone} {CBF_SIZES[cone]}" for cone in part)]

    def coordinates(section: str, *shape: int) -> list[str]:
        places = [place for place in np.ndindex(*shape) if rng.random() < 0.4]
        rng.shuffle(places)
        entries = [" ".join(map(str, (*place, choose(NUMBERS, rng)))) for place in places]
        return [section, str(len(entries)), *entries]

    lines += coordinates("OBJACOORD", sizes[0])
    lines += ["OBJBCOORD", choose(NUMBERS, rng)] if rng.integers(2) else []
    return "\n".join([*lines, *coordinates("ACOORD", sizes[1], sizes[0]), *coordinates("BCOORD", sizes[1]), ""])


def random_sdpa(rng: Rng) -> str:
    """Return a file in SDPA's sparse format."""
    n, sizes = int(rng.integers(1, 4)), [choose([1, 2, 3, -1, -2], rng) for _ in range(rng.integers(1, 4))]
    mark, end = choose([("", ""), ("(", ")"), ("{", "}")], rng)
    separator = choose([" ", ", ", ",", "\t"], rng)
    lines = [*choose([[], ['"a comment'], ["* one", "*two"]], rng), f"{n}{choose(['', ' = m', ' =mDIM'], rng)}"]
    lines += [f"{len(sizes)}{choose(['', ' = nBLOCK'], rng)}", mark + separator.join(map(str, sizes)) + end]
    costs = [choose(NUMBERS, rng) for _ in range(n)]
    lines += [mark + separator.join(costs) + end] if rng.integers(2) else costs
    for k in range(n + 1):
        for block, size in enumerate(sizes, start=1):
            for i, j in np.ndindex(abs(size), abs(size)):
                if (i == j or (size > 0 and i < j)) and rng.random() < 0.5:
                    place = (j, i) if rng.random() < 0.2 else (i, j)
                    lines.append(f"{k} {block} {place[0] + 1} {place[1] + 1} {choose(NUMBERS, rng)}")
    return "\n".join([*lines, ""])


# Changes of a text

ODD_FIELDS = (
    *("nan", "inf", "-inf", "1e400", "-1e400", "1e-400", "0x10", "1d2", "1D-1", "1e", "1_0", "\u0661", "\u00b2", "--1"),
    *("-1", "0", "1", "2", "3", "4", "5", "-2", "2.5", "1e0", "999999999999", "9" * 400, "1,5", "+1", "", "x", "r1"),
    *("cost", "free", "unknown", "UP", "LO", "FX", "FR", "MI", "PL", "BV", "UI", "LI", "SC", "N", "E", "D", "MARKER"),
    *("'MARKER'", "'INTORG'", "Q", "QR", "EXP", "L+", "@0:POW", "@1:POW", "@2:POW", "@00:POW", "@-1:POW", "PSD", "F"),
    *("MAX", "MIN", "*", "$", "#", '"', "(", "}", "\0", "x\u00a0y", "\u3000", "\ufeff", "e\u0301", "\ud7ff"),
)
"""Texts in the place of a field."""

ODD_LINES = (
    *(
        "OBJSENSE",
        "OBJSENSE MAX",
        " MAX",
        "    MINIMIZE",
        "OBJSENSE\n MAX",
        "ENDATA",
        "ROWS",
        "RHS",
        "RANGES",
        "NAME u",
    ),
    *(" rhs cost 5", " rhs cost -2 r1 1", " RHS r2 3", " r2 3", " r 1 r2 3", " rng cost 1", " rng r1 -1", " rng r2 0"),
    *(" UP bnd x -1", " UP bnd y 0", " UP x 4", " FR bnd y 7", " BV bnd x", " UI bnd x 4", " SC bnd x 4", " MI bnd x"),
    *(" LO bnd x -4\n UP bnd x -1", " UP bnd x -1\n LO bnd x -4", " M1 'MARKER' 'INTORG'", " x cost 1", " w r1 1"),
    *(
        " x cost 1 r1 2 r2 3",
        " L r9",
        " N r9",
        " l r8",
        "x cost 1",
        "* comment",
        " * comment",
        "# comment",
        '" comment',
    ),
    *("", "   ", "\t", "INT", "PSDVAR\n1\n2", "PSDCON\n1\n2", "INT\n1\n0", "HCOORD\n0", "VER\n4", "OBJBCOORD\n1"),
    *("1 1 1 1 1.0", "0 1 1 1 1.0", "0 1 2 1 1.0", "1 1 0 0 1", "9 1 1 1 1", "1 9 1 1 1", "1 1 9 9 1", "*INTEGER\n*1"),
    *("QUADOBJ\n x y 1", "QSECTION cost\n x x 1", "QMATRIX\n x y 1", "1 2", "0", "3", "1 1\nF 1", "L= 0", "Q 0", "Q 1"),
)
"""Lines that are inserted."""


def change_field(text: str, rng: Rng) -> str:
    """Replace a field, take it away or add another one."""
    parts = re.split(r"(\s+)", text)
    k = int(rng.integers(len(parts) // 2 + 1)) * 2
    field = choose(ODD_FIELDS, rng)
    parts[k] = choose([field, field, "", f"{parts[k]} {field}"], rng)
    return "".join(parts)


def move_field(text: str, rng: Rng) -> str:
    """Replace a field by another one of the file."""
    parts = re.split(r"(\s+)", text)
    k, j = rng.integers(len(parts) // 2 + 1, size=2) * 2
    parts[k] = parts[j]
    return "".join(parts)


def change_lines(text: str, rng: Rng) -> str:
    """Take a line away, repeat it, join it with the next one, exchange two lines, or insert another one."""
    lines = text.split("\n")
    i, j = (int(k) for k in rng.integers(len(lines), size=2))
    match int(rng.integers(6)):
        case 0:
            del lines[i]
        case 1:
            lines.insert(j, lines[i])
        case 2:
            lines[i : i + 2] = [" ".join(lines[i : i + 2])]
        case 3:
            lines[i], lines[j] = lines[j], lines[i]
        case _:
            lines.insert(i, choose(ODD_LINES, rng))
    return "\n".join(lines)


def change_sections(text: str, rng: Rng) -> str:
    """Exchange two sections, repeat one, take one away, or take away its first line."""
    lines = text.split("\n")
    starts = [k for k, line in enumerate(lines) if line[:1].isalpha()]
    if not starts:
        return text
    parts = [lines[a:b] for a, b in pairwise([*starts, len(lines)])]
    i, j = (int(k) for k in rng.integers(len(parts), size=2))
    match int(rng.integers(4)):
        case 0:
            parts[i], parts[j] = parts[j], parts[i]
        case 1:
            parts.insert(j, parts[i])
        case 2:
            del parts[i]
        case _:
            parts[i] = parts[i][1:]
    return "\n".join([*lines[: starts[0]], *(line for part in parts for line in part)])


def change_spaces(text: str, rng: Rng) -> str:
    """Write tabs for spaces, other ends of lines, spaces at both ends of a line, or fewer spaces."""
    lines = text.split("\n")
    k = int(rng.integers(len(lines)))
    match int(rng.integers(8)):
        case 0:
            return text.replace(" ", "\t")
        case 1:
            return text.replace("\n", choose(["\r\n", "\r", "\n\n", "\r\r\n", "\n\r"], rng))
        case 2:
            lines[k] += choose([" ", "\t", "\r", "\x0c", "\x1a", "\u00a0"], rng)
        case 3:
            lines[k] = choose([" ", "\t", "\ufeff"], rng) + lines[k]
        case 4:
            lines[k] = lines[k].lstrip()
        case 5:
            lines[k] = lines[k].replace(" ", choose(["  ", "\t", "\x0b", "\u2003", "\r"], rng))
        case 6:
            lines[k] = re.sub(r"(\S) +(?=\S)", r"\1 ", lines[k])
        case _:
            return choose([text.lower(), text.upper(), text.rstrip(), text * 2, "", "\ufeff" + text], rng)
    return "\n".join(lines)


def change_characters(text: str, rng: Rng) -> str:
    """Cut the text, or take a character away or exchange it."""
    k = int(rng.integers(len(text) + 1))
    return text[:k] + choose(["", text[k + 1 :], choose("0159-.eE xr\t\0\r\n*#", rng) + text[k + 1 :]], rng)


KINDS: Mapping[str, Callable[[str, Rng], str]] = {
    "as it is": lambda text, rng: text,
    "another field": change_field,
    "a field of the file": move_field,
    "another line": change_lines,
    "other sections": change_sections,
    "other spaces": change_spaces,
    "other characters": change_characters,
}
"""Functions that change a text."""


# Second readers


Values = tuple[bool, Sequence[Any]]
"""A flag for programs that are maximized, and numbers by which two programs differ."""


def dense(matrix: Any, n: int) -> Any:
    return np.zeros((n, n)) if matrix is None else matrix.toarray()


def values_of_linear_part(program: ConicProgram) -> Values:
    """Return the names and numbers of a linear or quadratic program, as the file states its objective."""
    sign = -1.0 if program.is_maximized else 1.0
    objective = sign * program.c, sign * program.offset, sign * dense(program.P, program.shape[1])
    sides = [
        np.where(abs(side) < HIGHS_INFINITY, side, np.copysign(np.inf, side))
        for side in (program.lower, program.upper, program.row_lower, program.row_upper)
    ]
    names = "\n".join((*program.column_names, "", *program.row_names))
    return program.is_maximized, [program.A.toarray(), *objective, *sides, names]


def values_of_highs(path: Path, text: str) -> Values | None:
    """Return the same of HiGHS; None if it refuses a file, warns of it or has a variable twice.

    Without empty lines: version 1.15 reads them without end beside names with spaces.
    """
    highs, copy = highspy.Highs(), path.with_name("for_highs.mps")
    without_empty_lines = re.sub(r"[\r\n][ \t\r\n]*\n", "\n", f"\n{text}").removeprefix("\n")
    copy.write_bytes(without_empty_lines.encode())
    highs.silent()
    if highs.readModel(str(copy)) != highspy.HighsStatus.kOk:
        return None
    model: Any = highs.getModel()
    linear, m, n = model.lp_, model.lp_.num_row_, model.lp_.num_col_
    if len(set(linear.col_names_)) < n:
        return None  # one variable as two
    starts, indices, entries = (getattr(linear.a_matrix_, f"{name}_") for name in ("start", "index", "value"))
    layout: Any = scipy.sparse.csr_array if "Row" in str(linear.a_matrix_.format_) else scipy.sparse.csc_array
    A = layout((np.array(entries), np.array(indices), np.array(starts)), shape=(m, n)).toarray()
    hessian = np.zeros((n, n))
    if model.hessian_.dim_:
        part = (np.array(getattr(model.hessian_, f"{name}_")) for name in ("value", "index", "start"))
        lower: Any = scipy.sparse.csc_array(tuple(part), shape=(n, n)).toarray()
        hessian = lower + lower.T - np.diag(np.diag(lower))
    sides = [getattr(linear, f"{name}_") for name in ("col_lower", "col_upper", "row_lower", "row_upper")]
    names = "\n".join((*linear.col_names_, "", *linear.row_names_))
    objective = linear.col_cost_, linear.offset_, hessian
    return linear.sense_ == highspy.ObjSense.kMaximize, [A, *map(np.array, (*objective, *sides)), names]


def point_of(n: int) -> Any:
    return np.random.default_rng(n).normal(size=n)


def side_values(values: Any, lower: Any, upper: Any) -> list[float]:
    """Return how far numbers are inside their bounds."""
    return np.minimum(values - lower, upper - values).tolist()


def cone_values(cone: ConeConstraint, x: Any) -> list[float]:
    """Return numbers of which each is at least 0 in the cone."""
    z = cone.A @ x + cone.b
    match cone.kind:
        case "second_order":
            return [z[0], z[0] ** 2 - float(z[1:] @ z[1:])]
        case "exponential":
            return [z[1], z[2] - z[1] * np.exp(z[0] / z[1])]
        case "power":
            a = cone.exponent
            return [z[0], z[1], abs(z[0]) ** a * abs(z[1]) ** (1 - a) - abs(z[2])]
        case _:
            return z.tolist()


def values_at_point(program: ConicProgram) -> Values:
    """Return the objective of the file and the distances to all constraints, at a point that n determines."""
    x = point_of(program.shape[1])
    sign = -1.0 if program.is_maximized else 1.0
    with np.errstate(all="ignore"):
        rows = side_values(program.A @ x, program.row_lower, program.row_upper)
        cones = [value for cone in program.cones for value in cone_values(cone, x)]
        bounds = side_values(x, program.lower, program.upper)
    return program.is_maximized, [sign * (program.c @ x + program.offset), bounds, rows, cones]


def values_of_cbf(path: Path, text: str) -> Values:
    """Return the same of a file in CBF."""
    stripped = (line.strip() for line in re.split(r"\r\n|\r|\n", text))
    lines = iter([line.split() for line in stripped if line and not line.startswith("#")])
    content: dict[str, Any] = {}

    def integers(fields: list[str]) -> list[int]:
        return [int(field) for field in fields]

    for (section,) in lines:
        first = next(lines)
        if section == "POWCONES":
            content[section] = [
                [float(next(lines)[0]) for _ in range(int(next(lines)[0]))] for _ in range(int(first[0]))
            ]
        elif section in ("VAR", "CON"):
            content[section] = integers(first)[0], [next(lines) for _ in range(integers(first)[1])]
        elif section.endswith("ACOORD") or section == "BCOORD":
            content[section] = [next(lines) for _ in range(int(first[0]))]
        else:
            content[section] = first
    n, variable_cones = content["VAR"]
    m, row_cones = content.get("CON", (0, []))
    x, z, value = point_of(n), np.zeros(m), float(content.get("OBJBCOORD", ["0"])[0])
    for j, cost in content.get("OBJACOORD", []):
        value += float(cost) * x[int(j)]
    for i, j, entry in content.get("ACOORD", []):
        z[int(i)] += float(entry) * x[int(j)]
    for i, constant in content.get("BCOORD", []):
        z[int(i)] += float(constant)
    bounds, rows, cones = list[float](), list[float](), list[float]()
    for entries, parts, linear in ((x, variable_cones, bounds), (z, row_cones, rows)):
        start = 0
        for cone, size in parts:
            u = entries[start : start + int(size)]
            start += int(size)
            linear_values = {"F": u * 0 + np.inf, "L+": u, "L-": -u, "L=": -abs(u)}
            if cone in linear_values and (cone != "F" or linear is bounds):
                linear += linear_values[cone].tolist()
            elif cone not in linear_values:
                linear += [np.inf] * len(u) if linear is bounds else []
                cones += values_in_cone_of_cbf(cone, u, content.get("POWCONES", []))
    return content["OBJSENSE"] == ["MAX"], [value, bounds, rows, cones]


def values_in_cone_of_cbf(cone: str, u: Any, exponents: Sequence[Sequence[float]]) -> list[float]:
    """Return the numbers of `cone_values` by the definitions of the format."""
    with np.errstate(all="ignore"):
        if cone == "Q":
            return [u[0], u[0] ** 2 - float(u[1:] @ u[1:])]
        if cone == "QR":
            return [u[0] + u[1] / 2, 2 * u[0] * u[1] - float(u[2:] @ u[2:])]
        if cone == "EXP":
            return [u[1], u[0] - u[1] * np.exp(u[2] / u[1])]
        a, b = exponents[int(cone[1:].split(":")[0])]
        return [u[0], u[1], (abs(u[0]) ** a * abs(u[1]) ** b) ** (1 / (a + b)) - abs(u[2])]


def values_of_sdpa(path: Path, text: str) -> Values:
    """Return the same of a file in SDPA's sparse format, whose numbers are read one by one as tools in C do."""
    lines = [line.strip() for line in re.split(r"\r\n|\r|\n", re.sub(r"[,(){}]", " ", text)) if line.strip()]
    while lines[0][0] in '"*':
        del lines[0]
    n, n_blocks = (int(re.match(r"\d+", line)[0]) for line in lines[:2])  # pyright: ignore[reportOptionalSubscript]
    sizes = [int(field) for field in lines[2].split()[:n_blocks]]
    numbers = iter(" ".join(lines[3:]).split())
    x = point_of(n)
    value = sum(float(next(numbers)) * entry for entry in x)
    blocks = [np.zeros((abs(size), abs(size))) for size in sizes]
    for k, block, i, j, entry in zip(*[numbers] * 5, strict=True):
        F, scale = blocks[int(block) - 1], float(entry) * (-1.0 if int(k) == 0 else x[int(k) - 1])
        for a, b in {(int(i) - 1, int(j) - 1), (int(j) - 1, int(i) - 1)}:
            F[a, b] += scale
    is_linear = [size < 0 or size == 1 for size in sizes]
    rows = [number for F, is_row in zip(blocks, is_linear, strict=True) if is_row for number in np.diag(F).tolist()]
    cones = [F for F, is_row in zip(blocks, is_linear, strict=True) if not is_row]
    return False, [value, [np.inf] * n, rows, [number for F in cones for number in F.ravel(order="F").tolist()]]


FORMATS: Mapping[str, tuple[Callable[[Rng], str], Callable[[ConicProgram], Values], Callable[..., Values | None]]] = {
    ".mps": (random_mps, values_of_linear_part, values_of_highs),
    ".cbf": (random_cbf, values_at_point, values_of_cbf),
    ".dat-s": (random_sdpa, values_at_point, values_of_sdpa),
}
"""Random files of each format, the numbers of a program that was read, and those of the second reader."""

WITHOUT_LINE = ("end of the file", "cone QR", "exponents of a power cone", "ranges must", "P must be a symmetric")
"""Parts of refusals that no single line explains."""


def are_equal(values: Values, second: Values) -> bool:
    """Return whether two readers agree up to the rounding of sums."""
    pairs = zip(values[1], second[1], strict=True)
    return values[0] == second[0] and all(
        a == b if isinstance(a, str) else np.shape(a) == np.shape(b) and np.allclose(a, b, 1e-9, 1e-9, equal_nan=True)
        for a, b in pairs
    )


def judge(path: Path, text: str) -> str:
    """Return what became of a text in a file: "refused", "read" or, where HiGHS refuses it, "read by one".

    AssertionError if the second reader reads another program, or if the refusal does not name the file and the line.
    """
    _, values_of, second_values_of = FORMATS[path.suffix if path.suffix != ".gz" else Path(path.stem).suffix]
    content = text.encode()
    path.write_bytes(gzip.compress(content, 1) if path.suffix == ".gz" else content)
    try:
        program = load_problem(path)
    except DataError as refusal:
        words = str(refusal)
        assert path.name in words and "expected" in words and "\n" not in words, words
        assert "line " in words or any(part in words for part in WITHOUT_LINE), words
        return "refused"
    second = second_values_of(path, text.removeprefix("\ufeff"))
    if second is None:
        return "read by one"
    values = values_of(program)
    assert are_equal(values, second), f"another program: {values}, {second}"
    return "read"


def forge(ending: str, count: int, seed: int, folder: Path) -> dict[str, Counter[str]]:
    """Return what became of so many files, by the kind of their last change; AssertionError for a false reading."""
    rng, counts = np.random.default_rng(seed), {kind: Counter[str]() for kind in KINDS}
    for number in range(count):
        kind = list(KINDS)[number % len(KINDS)]
        text = FORMATS[ending][0](rng)
        if rng.random() < 0.3:
            text = choose(list(KINDS.values()), rng)(text, rng)
        text = KINDS[kind](text, rng)
        path = folder / f"forged{ending}{'.gz' if number % 20 == 0 else ''}"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                counts[kind][judge(path, text)] += 1
        except Exception as failure:
            raise AssertionError(f"file {number}, {kind}: {failure!r}"[:1500] + f"\n{text}") from failure
    return counts


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        for ending in FORMATS:
            for kind, counts in forge(ending, int(sys.argv[1]), int(sys.argv[2]), Path(name)).items():
                print(f"{ending:<6} {kind:<20} {dict(counts)}")  # noqa: T201
