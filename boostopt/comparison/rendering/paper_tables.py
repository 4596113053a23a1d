"""Tables for papers: comparisons and benchmarks in LaTeX, with booktabs, and in Markdown."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from boostopt._utils.formatting import format_count
from boostopt._utils.result_data_frames import latex_table
from boostopt.backends.accuracy_profiles import is_named_profile
from boostopt.comparison.failures import failure_texts
from boostopt.comparison.rendering.console_tables import request_text
from boostopt.comparison.rendering.result_sentences import (
    claimed_value_text,
    contradiction_advice,
    format_seconds,
    gap_text,
    has_no_optimum,
    is_problem,
    iterations_text,
    proved_interval_text,
    relative_width,
    worst_residual_text,
)
from boostopt.comparison.rendering.score_sentences import conditions_text
from boostopt.comparison.rendering.solver_claim_sentences import (
    STOPPING_TEST_TEXT,
    forms_text,
    ratio_cell,
    stopping_test_sentences,
)
from boostopt.comparison.scores import SHIFT_SECONDS, MeanScore, ProgramScore
from boostopt.comparison.solve_record import Result, SolveRecord
from boostopt.comparison.solve_results import SolveResults, conflicting_backends

MISSING_CELL = "-"
"""Cell of a missing mean: a program was not run, or failed without a time limit."""

TEX_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': "''",
        **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    }
)
"""Letters that are commands of TeX, or that its old font encoding prints as other letters."""

MARKDOWN_SPECIALS = re.compile(r"([\\`*_|<>\[\]~$&])")
"""Letters that Markdown reads as markup."""

NUMBER_PATTERN = re.compile(r"(?<![\w.-])(-?)(\d+(?:\.\d+)?)(?:e([+-]\d+))?(?!\w|\.\d)")
"""A number that is not part of a word."""

MAX_DECIMALS = 4
"""Largest number of decimals of seconds."""

MIN_DECIMAL_NOTATION = Decimal("1e-4")
"""Bound of absolute values below which numbers have a power of ten."""

MAX_DIGITS = 10
"""Largest number of digits of the bounds of an interval; the width of the interval determines the number."""

MAX_COLUMN_GROUPS = 3
"""Number of groups of columns side by side in LaTeX that fit the width of a page."""


@dataclass(frozen=True)
class PaperTable:
    """A table as plain text.

    Attributes
    ----------
    headers
        For each column the group, "" for none, and the name.
    rows
        The cells; the first cell of a row is its name.
    left_aligned
        The columns without numbers.
    bold_cells
        The cells to print in bold.
    caption
        The meaning of the numbers.
    notes
        Further remarks, and the circumstances of the measurement: comments in LaTeX.
    """

    headers: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, ...], ...]
    left_aligned: frozenset[int]
    bold_cells: frozenset[tuple[int, int]]
    caption: str
    notes: tuple[str, ...]

    def to_latex(self, label: str, caption: str | None = None) -> str:
        """Return the table as a float of TeX, with a label and an optional caption in place of the default."""
        comments = [f"% {' '.join(remark.split())}" for remark in (*self.notes, r"It needs \usepackage{booktabs}.")]
        header = [r"\begin{table}[t]", r"\centering", r"\footnotesize", r"\setlength{\tabcolsep}{3pt}"]
        caption_lines = (
            rf"\caption{{{escape_tex(self.caption) if caption is None else caption}}}",
            rf"\label{{{label}}}",
            r"\smallskip",
        )
        panels = "\n\\par\\medskip\n".join(self._panel(columns) for columns in self._panels())
        return "\n".join([*comments, *header, *caption_lines, panels, r"\end{table}"]) + "\n"

    def _panels(self) -> list[list[int]]:
        """Split the columns into tables below each other, each with at most `MAX_COLUMN_GROUPS` groups."""
        spans = self._spans()
        if not spans:
            return [list(range(len(self.headers)))]
        count = -(-len(spans) // MAX_COLUMN_GROUPS)
        parts = [spans[k * len(spans) // count : (k + 1) * len(spans) // count] for k in range(count)]
        return [[0, *(j for first, last in part for j in range(first, last + 1))] for part in parts]

    def _panel(self, columns: Sequence[int]) -> str:
        """Return a table of some of the columns."""
        has_groups = bool(self._spans())
        heads = [self.headers[j] if has_groups else self.headers[j][1:] for j in columns]
        rows = [[row[j] for j in columns] for row in self.rows]
        bold = {(i, columns.index(j)) for i, j in self.bold_cells if j in columns}
        form = "".join("l" if j in self.left_aligned else "r" for j in columns)
        lines = latex_table(heads, rows, bold, escape_tex, f"@{{}}{form}@{{}}").splitlines()
        if has_groups:
            spans = _group_spans([head[0] for head in heads])
            rules = " ".join(rf"\cmidrule(lr){{{first + 1}-{last + 1}}}" for first, last in spans)
            lines.insert(lines.index(r"\toprule") + 2, rules)
        return "\n".join(lines)

    def to_markdown(self) -> str:
        """Return the caption, the table and the remarks."""
        group_starts = {first for first, _ in self._spans()}
        names = [f"{group}: {name}" if j in group_starts else name for j, (group, name) in enumerate(self.headers)]
        bold = [
            [
                f"**{cell}**" if (i, j) in self.bold_cells else escape_markdown(cell) if j == 0 else cell
                for j, cell in enumerate(row)
            ]
            for i, row in enumerate(self.rows)
        ]
        widths = [max(3, *(len(cell) for cell in column)) for column in zip(names, *bold, strict=True)]
        rule = [f":{'-' * (n - 1)}" if j in self.left_aligned else f"{'-' * (n - 1)}:" for j, n in enumerate(widths)]
        lines = [
            "| "
            + " | ".join(self._align(j, cell, n) for j, (cell, n) in enumerate(zip(row, widths, strict=True)))
            + " |"
            for row in (names, rule, *bold)
        ]
        return "\n".join(
            [escape_markdown(self.caption), "", *lines, "", *(f"{escape_markdown(note)}\n" for note in self.notes)]
        )

    def _align(self, column: int, cell: str, size: int) -> str:
        """Return a cell with blanks, on the left for numbers."""
        return cell.ljust(size) if column in self.left_aligned else cell.rjust(size)

    def _spans(self) -> list[tuple[int, int]]:
        """Return the first and the last column of each group."""
        return _group_spans([group for group, _ in self.headers])


def _group_spans(groups: Sequence[str]) -> list[tuple[int, int]]:
    """Return the first and the last column of each group."""
    names = dict.fromkeys(group for group in groups if group)
    return [(groups.index(name), groups.index(name) + groups.count(name) - 1) for name in names]


def escape_tex(text: str) -> str:
    """Return text escaped for TeX, with typeset numbers, and with a sign for >=."""
    if text == MISSING_CELL:
        return "--"
    escaped = " ".join(text.split()).translate(TEX_ESCAPES).replace(r"\textgreater{}= ", r"$\geq$")
    return NUMBER_PATTERN.sub(_format_tex_number, escaped)


def _format_tex_number(match: re.Match[str]) -> str:
    """Return a number in TeX: with a minus sign instead of a hyphen, and with powers of ten."""
    sign, digits, exponent = match.groups()
    if exponent is None:
        return f"${sign}{digits}$" if sign else digits
    power = f"10^{{{int(exponent)}}}"
    return f"${sign}{power}$" if digits == "1" else rf"${sign}{digits}{{\cdot}}{power}$"


def format_power_of_ten(gap: float) -> str:
    """Format a gap as a digit and a power of ten, if that is exact."""
    text = f"{gap:.0e}"
    return text if float(text) == gap else f"{gap:g}"


def escape_markdown(text: str) -> str:
    """Return text escaped for Markdown."""
    return MARKDOWN_SPECIALS.sub(r"\\\1", " ".join(text.split()))


# A comparison


def format_interval(row: SolveRecord) -> str:
    """Return the interval that a row proves for the optimum, rounded outward to two digits of its width."""
    lower, upper = row.interval
    if (
        not row.answered
        or has_no_optimum([row])
        or not (math.isfinite(lower) and math.isfinite(upper))
        or lower == upper
    ):
        return proved_interval_text(row)
    largest = math.floor(math.log10(max(abs(lower), abs(upper))))
    place = max(math.floor(math.log10(upper - lower)) - 1, largest + 1 - MAX_DIGITS)
    return f"[{_round_directed(lower, place, ROUND_FLOOR)}, {_round_directed(upper, place, ROUND_CEILING)}]"


def _round_directed(value: float, place: int, rounding: str) -> str:
    """Format a number with its digits down to a power of ten, rounded up or down."""
    digits = Decimal(value).quantize(Decimal(1).scaleb(place), rounding=rounding)
    return f"{digits:f}" if digits == 0 or abs(digits) >= MIN_DECIMAL_NOTATION else f"{digits:e}"


def comparison_table(headline: str, tol: float, rows: Sequence[SolveRecord], environment_text: str) -> PaperTable:
    """Return the table of a comparison; the fastest backend that reached the gap is bold."""
    names = ("backend", "request", "verdict", "certified interval", "gap", "relative gap", "seconds", "iterations")
    has_tests = any(row.stopping_test for row in rows)
    names += ("form",) if not is_problem(rows) and any(row.form for row in rows) else ()
    names += ("own test",) if has_tests else ()
    names += ("reported value", "residual") if is_problem(rows) else ()
    cells = [
        (
            row.backend,
            request_text(row),
            row.verdict or "",
            format_interval(row),
            gap_text(row),
            relative_width(row),
            format_seconds(row),
            iterations_text(row),
            *((row.form or "",) if "form" in names else ()),
            *((ratio_cell(row.stopping_test_ratio),) if has_tests else ()),
            *((claimed_value_text(row, rows), worst_residual_text(row)) if is_problem(rows) else ()),
        )
        if row.ran
        else (row.backend, request_text(row), "not run", *[""] * (len(names) - 3))
        for row in rows
    ]
    agree = not any(conflicting_backends(row, rows) for row in rows)
    fastest = min((row.seconds for row in rows if row.has_target_gap and agree), default=math.nan)
    return PaperTable(
        tuple(("", name) for name in names),
        tuple(cells),
        frozenset({0, 1, 2, 3, *(j for j, name in enumerate(names) if name == "form")}),
        frozenset((i, 6) for i, row in enumerate(rows) if row.seconds == fastest),
        f"{headline}. Intervals of the optimum that the answers prove, rounded outward, and the seconds of one run; "
        f"bold: the fastest to a gap of {tol:g}, relative to max(1, |optimum|). The relative gap is over |optimum|."
        + (f" {STOPPING_TEST_TEXT}" if has_tests else "")
        + (" The residual is the largest of the KKT conditions, over its scale." if is_problem(rows) else ""),
        (
            *([] if agree else [f"The intervals contradict each other. {contradiction_advice(rows)}"]),
            *stopping_test_sentences(rows),
            *(f"{row.backend}: not run. {row.reason}" for row in rows if not row.ran),
            environment_text,
        ),
    )


# A benchmark


def benchmark_table(results: SolveResults) -> PaperTable:
    """Return backends against requests: seconds, the ratio to the fastest, and programs; the fastest is bold."""
    requests, has_profiles = _requests(results)
    several, agree = len(results.programs) > 1, results.overlap
    names = ("seconds", "ratio", *(["reached"] if several else []))
    scores = {(score.backend, score.tol): score for score in (results.means if several else results.scores)}
    times = [_seconds_of(score) for score in scores.values()]
    decimals = _n_decimals(time for time in times if math.isfinite(time))
    backends = list(dict.fromkeys(backend for backend, _ in scores))
    rows = tuple(
        (
            backend,
            *(cell for tol in requests for cell in _table_cells(scores.get((backend, tol)), decimals, len(names))),
        )
        for backend in backends
    )
    fastest = [
        (i, 1 + k * len(names))
        for i, backend in enumerate(backends)
        for k, tol in enumerate(requests)
        if (score := scores.get((backend, tol))) and _is_fastest(score) and agree
    ]
    return PaperTable(
        (("", "backend"), *((text, name) for text in requests.values() for name in names)),
        rows,
        frozenset({0}),
        frozenset(fastest),
        _caption(results, has_profiles),
        tuple(_notes(results, any(MISSING_CELL in row for row in rows))),
    )


def _requests(results: SolveResults) -> tuple[dict[float, str], bool]:
    """Return the request at each gap in words, and whether some solvers ran by a profile."""
    profiles = {
        run.tol: f"{run.profile} ({format_power_of_ten(run.tol)})"
        for run in results.runs
        if is_named_profile(run.profile)
    }
    gaps = results.settings.target_gaps
    return {gap: profiles.get(gap, f"gap {format_power_of_ten(gap)}") for gap in gaps}, bool(profiles)


def _is_fastest(score: MeanScore | ProgramScore) -> bool:
    return score.ratio == 1.0 and not (isinstance(score, MeanScore) and score.at_least)


def _seconds_of(score: MeanScore | ProgramScore) -> float:
    return score.seconds if isinstance(score, MeanScore) else score.median


def _n_decimals(times: Iterable[float]) -> int:
    """Return how many decimals show two digits of the smallest time; equally many align the decimal points."""
    smallest = min((time for time in times if time > 0), default=1.0)
    return min(max(1 - math.floor(math.log10(smallest)), 1), MAX_DECIMALS)


def _table_cells(score: MeanScore | ProgramScore | None, decimals: int, count: int) -> list[str]:
    """Return the cells of a score: time, ratio and, for a mean, the fraction of programs reached; "" for no score."""
    if score is None:
        return [""] * count
    bound = ">= " if isinstance(score, MeanScore) and score.at_least else ""
    time, ratio = _seconds_of(score), _format_ratio(score.ratio)
    if not isinstance(score, MeanScore):
        return [f"{time:.{decimals}f}" if score.result == Result.REACHED else score.result, ratio]
    total = score.n_reached + score.failed + score.not_run
    seconds = f"{bound}{time:.{decimals}f}" if math.isfinite(time) else MISSING_CELL
    return [seconds, f"{bound}{ratio}" if ratio else "", f"{score.n_reached}/{total}"]


def _format_ratio(ratio: float) -> str:
    """Format a ratio to the fastest in three digits; "" for none."""
    return f"{ratio:.{1 if ratio < 99.95 else 0}f}" if math.isfinite(ratio) else ""


def _caption(results: SolveResults, has_profiles: bool) -> str:
    """Return the meaning of the seconds."""
    repeats, limit = results.settings.repeats, results.settings.time_limit
    solves = "one solve" if repeats == 1 else f"the median of {repeats} solves"
    seconds = "Seconds until a gap is certified"
    if has_profiles:
        seconds = "Seconds of a solve by a profile, if the gap in brackets is certified afterwards"
    if len(results.programs) == 1:
        return f"{next(iter(results.programs))}. {seconds}: {solves}; ratio to the fastest, which is bold."
    failures = "" if limit is None else f"; a failure counts as {limit:g} s, the time limit, and makes it a lower bound"
    return (
        f"{seconds}, over {format_count(len(results.programs), 'program')}: of each {solves}, of these the "
        "geometric mean, shifted by "
        f"{SHIFT_SECONDS:g} s{failures}; ratio to the fastest, which is bold; programs reached of all."
    )


def _notes(results: SolveResults, has_missing: bool) -> Iterator[str]:
    """Yield contradictions, missing solves, failures, omissions, and the conditions of the solves."""
    for label in results.contradictory_programs:
        yield f"The intervals of {label} contradict each other. {contradiction_advice(results.runs)}"
    if any(0 < score.n_runs < score.n_requested for score in results.scores):
        yield "There was no time for all solves: some medians are of fewer."
    if has_missing:
        yield f"{MISSING_CELL}: no mean, because a program was not run, or failed without a time limit."
    for backend, text in failure_texts(results.failures):
        yield f"{backend}: {text}"
    skipped = Counter(
        backend for backend, _ in dict.fromkeys((r.backend, r.program) for r in results.runs if not r.ran)
    )
    for backend, count in skipped.items():
        yield f"{backend}: not run, or not to its end, on {count} of {len(results.programs)} programs."
    for item, reason in results.provenance.skipped:
        yield f"{item}: left out. {reason}"
    yield from filter(None, [forms_text(results.runs)])
    yield conditions_text(results)
