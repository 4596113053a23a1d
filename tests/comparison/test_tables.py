"""Tables for people: nothing narrower than proved, nothing swallowed, nothing left out."""

from __future__ import annotations

import io
import math
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Console, RenderableType
from support.problems import Fake, attempt, reference_erlpboost, reference_lpboost

from boostopt import Certificate, Comparison, Solution, Verdict, compare, get_formulation, solve
from boostopt._utils.formatting import format_interval
from boostopt.comparison.documents import load_results
from boostopt.comparison.rendering.console_tables import (
    MAX_GAP_TERMS,
    VERDICT_STYLES,
    ComparisonTable,
    certificate_table,
)
from boostopt.comparison.rendering.result_sentences import (
    CONTRADICTION_ADVICE,
    NO_ANSWER,
    NO_ANSWER_SENTENCE,
    trivial_bounds,
)
from boostopt.comparison.solve_record import SolveRecord, record_of_solution
from boostopt.solving.explanation import D_SOURCE_DESCRIPTIONS


def table(comparison: Comparison) -> Any:
    return comparison.table()


def rendered_text(renderable: RenderableType, width: int = 300) -> str:
    """Return the text on a terminal without colours."""
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(renderable)
    return out.getvalue()


def cells(text: str, first: str) -> list[str]:
    """Return the cells of the only row whose first cell has these words."""
    rows = [line.strip("│\n").split("│") for line in text.splitlines() if line.startswith("│")]
    (matching_row,) = [row for row in rows if f" {first} " in row[0]]
    return [cell.strip() for cell in matching_row]


def words(text: str) -> str:
    """The lines under the table, with single blanks."""
    return " ".join(line.strip() for line in text.splitlines() if not line.startswith(("┏", "┃", "┡", "│", "└")))


def reference_solution() -> Solution:
    return solve(reference_lpboost(), "cvxpy:highs", 1e-9)


def row(
    name: str, solution: Solution | None = None, is_reached: bool = False, reason: str = "", **times: float
) -> SolveRecord:
    if solution is None:
        return SolveRecord(backend=name, version="1.0", tol=1e-8, result="not run", reason=reason)
    solution = replace(solution, times={**solution.times, **times})
    answer = record_of_solution(name, "", 1e-8, solution, False)
    return replace(answer, version="1.0", result="reached" if is_reached else "failed")


def compared(*rows: SolveRecord, tol: float = 1e-8) -> Comparison:
    return Comparison.from_solves(reference_lpboost(), tol, tuple(replace(row, tol=tol) for row in rows))


def solution_with_interval(lower: float, upper: float) -> Solution:
    """Return a solution whose certificate claims an interval."""
    solution = reference_solution()
    return replace(solution, certificate=replace(solution.certificate, lower=lower, upper=upper))


# Intervals


def ends(text: str) -> tuple[float, float]:
    lower, upper = text.removeprefix("[").removesuffix("]").split(", ")
    return float(lower), float(upper)


FINITE = st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False)


@given(st.one_of(FINITE, st.floats(-1e6, 1e6, allow_subnormal=False), st.decimals(-10, 10, places=9).map(float)))
@example(0.1)
@example(-0.1)
@example(1.0 + 2**-52)
@example(1.0 - 2**-53)
@example(-9.9999999995)
@example(9.9999999995e-5)
@example(999999.99999999)
@example(1.7976931348623157e308)
@example(2.2250738585072014e-308)
def test_a_printed_interval_is_never_narrower_than_the_interval(value: float) -> None:
    lower, upper = ends(format_interval(value, value))
    assert lower <= value <= upper


@given(st.floats(1e-300, 1e300), st.sampled_from([-1.0, 1.0]))
def test_a_printed_interval_is_wider_by_no_more_than_the_tenth_digit(size: float, sign: float) -> None:
    lower, upper = ends(format_interval(sign * size, sign * size))
    assert sign * size - lower <= 2e-9 * size
    assert upper - sign * size <= 2e-9 * size


@pytest.mark.parametrize(
    "lower, upper, text",
    [
        (0.0, 0.0, "[0, 0]"),
        (-math.inf, math.inf, "[-inf, inf]"),
        (0.25, 0.5, "[0.25, 0.5]"),
        (1 / 3, 2 / 3, "[0.3333333333, 0.6666666667]"),
        (-2 / 3, -1 / 3, "[-0.6666666667, -0.3333333333]"),
        (-1e-13 / 3, 1e-13 / 3, "[-3.333333334e-14, 3.333333334e-14]"),
        (1e7 + 1 / 3, 1e7 + 1 / 3, "[1.000000033e+07, 1.000000034e+07]"),
    ],
)
def test_intervals_are_printed_with_ten_digits_rounded_outward(lower: float, upper: float, text: str) -> None:
    assert format_interval(lower, upper) == text


# Comparisons


def test_an_able_row_shows_its_verdict_interval_times_and_the_words_of_the_solver() -> None:
    solution = reference_solution()
    c = solution.certificate
    text = rendered_text(table(compared(row("one", solution, True, total=1.25, solve=0.5, certify=0.0125))))
    assert cells(text, "one") == [
        "one",
        "bounded",
        format_interval(c.lower, c.upper),
        f"{c.gap:.1e}",
        "1.250",
        f"{c.relative_gap:.1e}",
        "yes",
        "1e-10",
        str(solution.iterations),
    ]
    description = words(text)
    assert re.search(r'one\b[^;]*"kOptimal \(optimal\)"; [^;]*\b1\b[^;]*\bprimal; ', description)
    assert f"; {solution.iterations} iterations; build " in description
    assert "solve 0.500 s" in description
    assert "certify 0.013 s" in description or "certify 0.012 s" in description


def test_a_row_without_an_answer_says_so() -> None:
    failed = replace(
        reference_solution(), verdict=Verdict.NONE, best=None, attempts=(), gaps=(), solver_status="not started"
    )
    text = rendered_text(table(compared(row("one", failed))))
    assert (cells(text, "one")[1], cells(text, "one")[8]) == ("none", "-")
    assert re.search(rf'one\b[^;]*"not started"; {NO_ANSWER}; build\b', words(text))


def test_an_unable_row_is_empty_and_its_reason_stands_below_once() -> None:
    text = rendered_text(table(compared(row("able", reference_solution(), True), row("not", reason="no cones"))))
    assert cells(text, "not") == ["not", "not run", "", "", "", "", "", "", ""]
    assert words(text).count("no cones") == len(re.findall(r"\bnot: not run\W+no cones\.", words(text))) == 1


@pytest.mark.parametrize("verdict", Verdict)
def test_every_verdict_has_a_style_and_a_row(verdict: Verdict) -> None:
    assert verdict.name.lower() in VERDICT_STYLES
    text = rendered_text(table(compared(row("one", replace(reference_solution(), verdict=verdict)))))
    assert cells(text, "one")[1] == verdict.name.lower()


def test_clashing_rows_name_each_other_and_the_report_calls_it_a_bug() -> None:
    text = rendered_text(
        table(
            compared(
                row("a", solution_with_interval(0.1, 0.2)),
                row("b", solution_with_interval(0.3, 0.4)),
                row("c", solution_with_interval(0.3, 0.5)),
            )
        )
    )
    assert [cells(text, name)[6] for name in "abc"] == ["NO: b, c", "NO: a", "NO: a"]
    assert CONTRADICTION_ADVICE in words(text)
    assert "All together" not in text


def test_the_conclusion_holds_all_intervals_together_and_names_who_is_right_and_fastest() -> None:
    rows = (
        row("slow", solution_with_interval(0.1, 0.3), True, total=2.0),
        row("fast", solution_with_interval(0.2, 0.4), True, total=0.5),
        row("wide", solution_with_interval(0.0, 0.9), False, total=0.1),
        row("not", reason="no"),
    )
    text = words(rendered_text(table(compared(*rows, tol=1e-4))))
    assert re.search(r"All together: [^.]*\[0\.2, 0\.3\]\.", text)
    assert re.search(r"Certified[^:]*\babsolute\b[^:]* 0\.0001: slow, fast\.", text)
    assert re.search(r"Fastest[^:]*: fast\.", text)
    assert re.search(r"narrow[^:]*\babsolute\b[^:]* 0\.0001: wide\.", text)


def test_conclusion_without_a_reached_tolerance_calls_no_solver_right() -> None:
    text = words(rendered_text(table(compared(row("wide", solution_with_interval(0.0, 0.9))))))
    assert re.search(r"All together: [^.]*\[0, 0\.9\]\.", text)
    assert re.search(r"narrow[^:]* 1e-08: wide\.", text)
    assert "Certified" not in text
    assert "Fastest" not in text


def test_table_without_an_able_backend_has_no_conclusion() -> None:
    text = words(rendered_text(table(compared(row("one", reason="no"), row("other", reason="no")))))
    assert "No backend" in text and NO_ANSWER_SENTENCE not in text
    assert "All together" not in text


def test_the_headline_says_what_was_solved() -> None:
    comparison = Comparison.from_solves(reference_erlpboost(), 1e-8, (row("one", reason="no"),))
    headline = rendered_text(table(comparison)).splitlines()[0]
    assert headline.strip() == "erlpboost: N = 6, t = 3, nu = 2.5, epsilon = 0.01, eta = 4"


@dataclass(frozen=True, kw_only=True, slots=True)
class Slotted:
    """A record of parameters that has no __dict__."""

    nu: float


def test_the_headline_reads_a_record_with_slots() -> None:
    program = replace(reference_lpboost(), parameters=Slotted(nu=2.5))
    headline = rendered_text(table(Comparison.from_solves(program, 1e-8, (row("one", reason="no"),)))).splitlines()[0]
    assert headline.strip() == "lpboost: N = 6, t = 3, nu = 2.5"


def test_brackets_in_foreign_words_are_shown_and_not_obeyed() -> None:
    # rich takes "[/x]" for the end of a style that was never begun, and fails; "[code 3]" for a style, and hides it.
    solution = replace(reference_solution(), solver_status="stopped [code 3] [/x]")
    rows = (row("mine[2]", solution, True), row("not[/x]", reason="takes [linear] alone [/x]"))
    text = rendered_text(table(compared(*rows)))
    assert re.search(r'mine\[2\] [^;]*"stopped \[code 3\] \[/x\]"; ', words(text))
    assert re.search(r"not\[/x\]: not run\W+takes \[linear\] alone \[/x\]\.", words(text))
    assert re.search(r"Fastest[^:]*: mine\[2\]\.", words(text))


@pytest.mark.parametrize("width", (60, 80, 100, 120, 200))
def test_no_width_loses_the_interval_or_the_reason(width: int) -> None:
    rows = (row("one", solution_with_interval(0.123456789, 0.987654321), True), row("two", reason="no cones"))
    text = rendered_text(table(compared(*rows)), width=width)
    cells = [[cell.strip() for cell in line.split("│")] for line in text.splitlines() if line.startswith("│")]
    assert "".join(line[3] for line in cells if line[3][:1] in "[0") == "[0.123456789,0.987654321]".replace(
        ",", ", " if any("0.123456789, 0" in line[3] for line in cells) else ","
    )
    assert re.search(r"\btwo: not run\W+no cones\.", words(text))
    assert max(map(len, text.splitlines())) <= width


@pytest.mark.parametrize("width", (60, 72))
def test_a_narrow_terminal_cuts_nothing_off_and_drops_the_interval_from_the_table_only(width: int) -> None:
    names = ["cvxpy:clarabel:density-rated", "isolated:cvxpy:scs:dual-rated"]
    rows = [row(name, solution_with_interval(0.123456789, 0.987654321), True) for name in names]
    text = rendered_text(table(compared(*rows, row("cvxpy:highs:dual", reason="no cones"))), width=width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    assert all(line[-1] in "┓┃┩│┘" for line in text.splitlines() if line[:1] in "┏┃┡│└")
    for name in names:
        proved = r'"kOptimal \(optimal\)"; [^;]*\[0\.123456789, 0\.987654321\]; '
        assert re.search(f"{name} [^;]*{proved}", words(text))
    assert re.search(r"\bcvxpy:highs:dual: not run\W+no cones\.", words(text))


@pytest.mark.every(2)
@pytest.mark.parametrize("width", (60, 76, 80, 100, 120))
@pytest.mark.parametrize("name", ("interior", "cvxpy:clarabel:primal", "isolated:cvxpy:scs:density-rated"))
def test_no_width_splits_a_number(width: int, name: str) -> None:
    text = rendered_text(
        table(compared(row(name, solution_with_interval(-1.104003116e-10, -4.726820156e-11), True))), width=width
    )
    for end in ("[-1.104003116e-10,", "-4.726820156e-11]"):
        assert any(end in line for line in text.splitlines())


@pytest.mark.thorough_cases("116")
@pytest.mark.every(8)
@pytest.mark.parametrize("width", range(40, 130))
def test_a_line_under_a_table_breaks_at_no_unit_and_ends_in_no_blank(width: int) -> None:
    lines = rendered_text(table(compared(row("one", reference_solution(), True), row("two", reason="no cones"))), width)
    captions = [line for line in lines.splitlines() if line[:1] not in "┏┃┡│└"]
    assert max(map(len, captions)) <= width
    assert not any(line.startswith(("s,", "s;", "iteration")) or line == "s" for line in captions), captions
    assert not any(line.endswith(" ") for line in captions)
    assert re.search(r"certify \d\.\d{3} s", " ".join(captions))


def test_one_iteration_is_told_as_one() -> None:
    solution = reference_solution()
    one = replace(solution, attempts=(replace(solution.attempts[0], iterations=1),), gaps=solution.gaps[:1])
    assert "; 1 iteration; " in words(rendered_text(table(compared(row("one", one)))))


# Certificates


def certificate(**changes: Any) -> Certificate:
    solution = reference_solution()
    return replace(reference_lpboost().certify(solution.d, solution.w), **changes)


def test_a_certificate_shows_interval_gap_and_residuals() -> None:
    c = certificate()
    text = rendered_text(certificate_table(reference_lpboost(), c, 1e-6))
    assert cells(text, "certified")[1] == format_interval(c.lower, c.upper)
    assert re.match(rf"{c.gap:.2e} .*\brelative {c.relative_gap:.2e}\b", cells(text, "gap")[1])
    assert cells(text, "1e-06")[1] == "yes"
    for condition, residual in c.kkt.residuals.items():
        assert cells(text, condition)[1] == f"{residual:.2e}"
    assert text.splitlines()[0].strip() == reference_lpboost().headline


def test_a_gap_is_relative_to_the_larger_end_and_without_ends_to_nothing() -> None:
    program = get_formulation("lpboost").bind(np.array([[1.0], [-1.0]]), nu=1)
    c = replace(program.certify(d=[0.5, 0.5], w=[1.0]), lower=-0.25, upper=0.0)
    assert c.relative_gap == c.gap / 0.25
    c = replace(c, upper=np.inf)
    cell = cells(rendered_text(certificate_table(program, c, 1e-6)), "gap")[1]
    assert cell.startswith("inf ") and "relative" not in cell


def test_a_comparison_says_where_it_compares_little() -> None:
    for lower, upper, equal_weights, facts in (
        (-1e-9, 1e-9, [0.0, 0.5], (r"\b0\b.*\b1e-08\b", r"\bweights\b.*\bhypotheses\b.*\blower\b")),
        (1e-7, 1.01e-7, [-1.0, None], (r"\b1e-08\b.*\b0\.099\b",)),
        (0.5, 0.5, [-1.0, 0.5], (r"\bweights\b.*\bexamples\b.*\bupper\b",)),
    ):
        rows = [row("a", solution_with_interval(lower, upper), True)]
        remarks = [one.words for one in trivial_bounds(rows, equal_weights)]
        assert len(remarks) == len(facts) and all(map(re.search, facts, remarks))
        text = words(rendered_text(ComparisonTable("", rows, equal_weights)))
        assert all(remark in text for remark in remarks)


NOISY_U = np.column_stack([columns := np.random.default_rng(3).choice([-1.0, 1.0], (40, 6)), -columns])
"""Hypotheses of random labels, with their negations: their best combination is 0."""


@pytest.mark.parametrize(
    ("name", "parameters", "is_remarked"),
    [
        ("lpboost", {"nu": 4}, True),
        ("erlpboost", {"nu": 4, "eta": 1e7}, True),
        ("erlpboost", {"nu": 4, "eta": 1e4}, False),
        ("lpboost", {"nu": 40}, False),
        ("softboost", {"nu": 4, "gamma": 0.5}, False),
        ("svm", {"C": 1e-9}, False),
    ],
)
def test_a_program_without_a_positive_soft_margin_has_a_remark(
    name: str, parameters: dict[str, float], is_remarked: bool, tmp_path: Path
) -> None:
    comparison = compare(get_formulation(name).bind(NOISY_U, **parameters), "interior")
    (tmp_path / "a.json").write_text(comparison.to_json())
    for results in (comparison, load_results(tmp_path / "a.json")):
        text = words(rendered_text(results.table()))
        assert bool(re.search(r"\bNo weights\b.*\bsoft margin above 1e-08\b.*\bnu\b", text)) == is_remarked


def test_a_program_with_a_positive_soft_margin_has_no_remark() -> None:
    assert "soft margin above" not in words(str(compare(reference_lpboost(), "interior")))


def test_a_wide_certificate_says_that_it_is() -> None:
    c = reference_lpboost().certify(w=[1, 0, 0])
    text = rendered_text(certificate_table(reference_lpboost(), c, 1e-6))
    assert cells(text, "1e-06")[1] == "no"


def test_whether_it_is_narrow_depends_on_the_size_of_the_objective() -> None:
    gaps = np.full(6, 0.1)
    for value, narrow in ((1000.0, "yes"), (1.0, "no")):
        c = certificate(lower=value, upper=value + 0.6, example_gaps=gaps)
        assert cells(rendered_text(certificate_table(reference_lpboost(), c, 1e-3)), "0.001")[1] == narrow


def test_a_missing_side_is_called_missing() -> None:
    text = rendered_text(certificate_table(reference_lpboost(), reference_lpboost().certify(w=[1, 0, 0]), 1e-6))
    assert re.match(r"not given\b", cells(text, "sum d = 1")[1])
    assert cells(text, "sum w = 1")[1] == "0.00e+00"


@pytest.mark.parametrize("d_is, named", list(D_SOURCE_DESCRIPTIONS.items()))
def test_it_says_which_d_proves_the_upper_end(d_is: str, named: str) -> None:
    text = rendered_text(certificate_table(reference_lpboost(), certificate(d_is=d_is), 1e-6))
    assert cells(text, "upper bound")[1] == named


def test_the_blame_goes_to_the_largest_terms_first_and_to_few() -> None:
    gaps = np.array([1e-3, 3e-3, 6e-3, 2e-3, 5e-3, 4e-3])
    c = certificate(example_gaps=gaps, hypothesis_gaps=np.array([0.0, 0.25, 0.0]))
    text = rendered_text(certificate_table(reference_lpboost(), c, 1e-6))
    assert MAX_GAP_TERMS == 5
    assert cells(text, "examples")[1] == "2: 6.0e-03, 4: 5.0e-03, 5: 4.0e-03, 1: 3.0e-03, 3: 2.0e-03"
    assert cells(text, "hypotheses")[1] == "1: 2.5e-01"


def test_certificate_table_without_gaps_names_no_example_or_hypothesis() -> None:
    c = certificate(example_gaps=np.zeros(6), hypothesis_gaps=np.zeros(3))
    text = rendered_text(certificate_table(reference_lpboost(), c, 1e-6))
    assert cells(text, "examples")[1] == "none"
    assert cells(text, "hypotheses")[1] == "none"


def test_brackets_in_the_name_of_a_condition_are_shown() -> None:
    c = certificate()
    condition = "d in [0, 1] [/x] [b]"
    c = replace(c, kkt=replace(c.kkt, residuals={condition: 0.5}))
    text = rendered_text(certificate_table(reference_lpboost(), c, 1e-6))
    assert cells(text, condition)[1] == "5.00e-01"


def test_a_title_is_not_padded() -> None:
    assert not rendered_text(certificate_table(reference_lpboost(), certificate(), 1e-6)).splitlines()[0].endswith(" ")


def test_no_answer_is_no_interval_in_a_table() -> None:
    silent = Fake("cvxpy:mosek", (attempt(status="raised", claims=False, error="Error: unlicensed"),))
    both, comparison = compare(reference_lpboost(), ["interior", silent]), compare(reference_lpboost(), [silent])
    row = next(line for line in str(both).splitlines() if "cvxpy:mosek" in line and "none" in line)
    assert NO_ANSWER in row and "[" not in row and "yes" not in row
    assert re.search(rf'cvxpy:mosek [^;]*"raised"; {NO_ANSWER}; Error: unlicensed;', " ".join(str(both).split()))
    assert NO_ANSWER_SENTENCE in str(comparison) and "[" not in str(comparison)
    html = both._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert NO_ANSWER in html and "Error: unlicensed" in html
    assert all(f">{row.seconds:.3f}</td>" in html for row in both.rows)
