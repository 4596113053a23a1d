"""The layouts of solution files: names with their values, and with their multipliers if the layout has them.

In a solution file, the weights of one side are values of columns, and the weights of the other side are multipliers
of rows. Either the columns are named d_n and the rows w_q, or the other way round. Values of rows, and multipliers
of columns, are no weights.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from boostopt.data.csv_tables import is_number_text
from boostopt.errors import DataError

WEIGHT_NAME_PATTERN = re.compile(r"([dw])_(\d{1,12})")
"""The name of a weight; the limit on its digits exceeds every file that can be read."""

LAYOUTS = (
    "Lines of a name and its value are read, as Gurobi and SCIP write them, and solution files of HiGHS (raw, pretty, "
    "sparse), CBC, CPLEX, MOSEK and glpsol (-o)."
)
"""The layouts that are read, as a sentence."""

CBC = r"\A\s*(Optimal|Infeasible|Unbounded|Integer|Stopped|Status)\b.* - objective value\s"
"""The first line of a solution file of CBC."""

ZEROS_LEFT_OUT = rf"\(obj:|^# Columns \S+ sparse$|^ *writeLevel=\"[34]\"|{CBC}"
"""Pattern of the layouts in which values of 0 may be missing: the layouts of SCIP, HiGHS, CPLEX and CBC."""

NamedValue = tuple[int, str, str]
"""Number of a line, a name and the text of its value."""

Line = tuple[int, list[str]]
"""Number of a line and its words."""


def read_entries(source: str, text: str) -> tuple[list[NamedValue], bool]:
    """Return the names in a solution file with their values, and whether the layout leaves out values that are 0.

    Raises
    ------
    DataError
        The file has a layout without names, or a line with a name that is in none of the layouts.
    """
    lines = text.splitlines()
    words = [(number, line.split()) for number, line in enumerate(lines, 1) if line.strip()]
    text = "\n".join(lines)
    reader = next((reader for mark, reader in _READERS.items() if re.search(mark, text, re.MULTILINE)), _plain)
    return list(reader(source, lines, words)), re.search(ZEROS_LEFT_OUT, text, re.MULTILINE) is not None


def _highs_raw(source: str, lines: Sequence[str], words: Sequence[Line]) -> Iterator[NamedValue]:
    """Yield values of columns and multipliers of rows in HiGHS's raw and sparse styles, where "#" opens each part."""
    multipliers, block = False, ""
    for number, part in words:
        if part[:2] == ["#", "Basis"]:
            return
        if part[0] == "#":
            multipliers = multipliers or part[1:2] == ["Dual"]
            block = part[1] if len(part) == 3 or part[3:] == ["sparse"] else ""
        elif block == ("Rows" if multipliers else "Columns"):
            yield _entry(source, number, part)
        elif not multipliers and part == ["None"]:
            raise DataError(f"{source}, line {number}: expected a solution; the solver found none. Look at its log.")


def _highs_pretty(source: str, lines: Sequence[str], words: Sequence[Line]) -> Iterator[NamedValue]:
    """Yield the same in HiGHS's pretty style: index, status (or none), bounds, value, multiplier (or none), name."""
    block = ""
    for number, part in words:
        if part[0] in ("Columns", "Rows"):
            block = part[0]
        elif block and part[0].isdigit() and WEIGHT_NAME_PATTERN.fullmatch(part[-1]):
            numbers = part[2:] if part[1].isalpha() and not is_number_text(part[1]) else part[1:]
            if block == "Rows" and len(numbers) == 4:  # lower, upper, value, name: no multiplier
                continue
            if len(numbers) not in (4, 5):
                raise DataError(
                    f"{source}, line {number}: expected lower, upper, primal, dual and name; got {' '.join(part)!r}. "
                    "Have HiGHS write its raw style."
                )
            yield number, numbers[-1], numbers[3 if block == "Rows" else 2]
        elif part[0] in ("Model", "Objective"):
            block = ""


def _glpk(source: str, lines: Sequence[str], words: Sequence[Line]) -> Iterator[NamedValue]:
    """Yield the same in the layout of glpsol, whose table has blank cells under a line of dashes for each column."""
    spans, is_row, has_multipliers = list[tuple[int, int]](), False, False
    for number, line in enumerate(lines, 1):
        if re.fullmatch(r" *-+( -+){4,} *", line):
            heading = lines[number - 2]
            spans = [dashes.span() for dashes in re.finditer("-+", line)]
            is_row, has_multipliers = "Row name" in heading, "Marginal" in heading
        elif not line.strip():
            spans = []
        elif spans:
            cells = [line[start:end].strip() for start, end in spans]
            activity = 3 if len(cells) > 2 and spans[2][1] - spans[2][0] == 2 else 2
            if not is_row:
                yield number, cells[1], cells[activity]
            elif has_multipliers:
                yield number, cells[1], "0" if cells[-1] in ("", "< eps") else cells[-1]


def _nameless(source: str, lines: Sequence[str], words: Sequence[Line]) -> Iterator[NamedValue]:
    """Raise DataError for the layouts without names: those of glpsol -w, and of HiGHS's styles -1 and 2."""
    raise DataError(f"{source}: expected the names of weights; got a layout without names. {LAYOUTS}")


def _cbc(source: str, lines: Sequence[str], words: Sequence[Line]) -> Iterator[NamedValue]:
    """Yield the same in the layout of CBC: index, name, value and multiplier; rows, if there are any, come first."""
    weights = list[tuple[int, list[str], str]]()
    for number, part in words[1:]:
        cells = [word for word in part if word != "**"]  # the mark of a value that breaks its bounds
        matched = next(filter(None, map(WEIGHT_NAME_PATTERN.fullmatch, cells)), None)
        if matched is None:
            continue
        if len(cells) != 4 or not cells[0].isdigit() or matched[0] != cells[1]:
            raise DataError(
                f"{source}, line {number}: expected index, name, value and multiplier; got {' '.join(part)[:80]!r}. "
                "Have the solver write the file anew."
            )
        weights.append((number, cells, matched[1]))
    has_rows = len({letter for *_, letter in weights}) == 2
    for number, cells, letter in weights:
        yield number, cells[1], cells[3 if has_rows and letter == weights[0][2] else 2]


def _mosek(source: str, lines: Sequence[str], words: Sequence[Line]) -> Iterator[NamedValue]:
    """Yield the same in the layout of MOSEK, where a multiplier is the difference for the two bounds."""
    block, has_multipliers = "", False
    for number, part in words:
        if len(part) == 1 or part[0] == "INDEX":
            block = part[0] if len(part) == 1 else block
            has_multipliers = part[-4:] == ["DUAL", "LOWER", "DUAL", "UPPER"]
        elif len(part) < 6 or not WEIGHT_NAME_PATTERN.fullmatch(part[1]):
            continue
        elif block == "VARIABLES":
            yield number, part[1], part[3]
        elif block == "CONSTRAINTS" and has_multipliers and len(part) == 8 and all(map(is_number_text, part[6:])):
            yield number, part[1], repr(float(part[6]) - float(part[7]))


def _cplex(source: str, lines: Sequence[str], words: Sequence[Line]) -> Iterator[NamedValue]:
    """Yield the same in the layout of CPLEX: an element of XML for each column and row."""
    for number, line in enumerate(lines, 1):
        for element in re.finditer(r"<(variable|constraint)\s[^>]*>", line):
            attributes = dict(re.findall(r'(\w+)="([^"]*)"', element[0]))
            value = attributes.get("value" if element[1] == "variable" else "dual")
            if value is not None:
                yield number, attributes.get("name", ""), value


def _plain(source: str, lines: Sequence[str], words: Sequence[Line]) -> Iterator[NamedValue]:
    """Yield the name in each line with the value after it; a line without a weight or number is a heading."""
    for number, part in words:
        words_without_marks = [word for word in part if word not in ("=", "**")] or part
        positions = [k for k, word in enumerate(words_without_marks) if WEIGHT_NAME_PATTERN.fullmatch(word)]
        if positions and words_without_marks[0][0] != "#":
            k = positions[0]
            if len(positions) > 1 or (
                k > 0 and not (k + 1 < len(words_without_marks) and is_number_text(words_without_marks[k + 1]))
            ):
                raise DataError(
                    f"{source}, line {number}: expected one name and its value; got {' '.join(part)[:80]!r}. {LAYOUTS}"
                )
            yield _entry(source, number, words_without_marks[k:])
        elif len(words_without_marks) > 1 and is_number_text(words_without_marks[1]):
            yield number, words_without_marks[0], words_without_marks[1]


def _entry(source: str, number: int, part: list[str]) -> NamedValue:
    """Return a name with its value, which must not be missing."""
    if len(part) < 2:
        raise DataError(
            f"{source}, line {number}: expected a name and its value; got {part[0][:80]!r}. Correct the line."
        )
    return number, part[0], part[1]


_READERS: Mapping[str, Callable[[str, Sequence[str], Sequence[Line]], Iterator[NamedValue]]] = {
    r"^# Primal solution values$": _highs_raw,
    r"\A\s*Columns\n\s*Index\b": _highs_pretty,
    r"^ *No\. +(Row|Column) name": _glpk,
    r"^s (bas|ipt|mip) \d+ \d+ |^T Primal solution": _nameless,
    r"^INDEX +NAME +AT +ACTIVITY": _mosek,
    r"<CPLEXSolution": _cplex,
    CBC: _cbc,
}
"""Readers of the layouts, by a pattern that marks files of the layout."""
