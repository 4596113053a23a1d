"""Tables for papers: the rules of booktabs, the best in bold, no letter that TeX or Markdown would obey."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typechecker
from hypothesis import given
from hypothesis import strategies as st
from support.problems import Fake, reference_erlpboost, reference_lpboost, right, rough

from boostopt import Comparison, OptionError, compare
from boostopt.comparison import Benchmark, benchmark
from boostopt.comparison.rendering.paper_tables import escape_markdown, escape_tex, format_interval, format_power_of_ten
from boostopt.comparison.rendering.result_sentences import CONTRADICTION_ADVICE
from boostopt.comparison.solve_record import SolveRecord

HOSTILE = r"a_b 50% #1 & $x$ {y} ^~\ <z> |`'" + '"'


def row(backend: str, seconds: float, result: str = "reached", **fields: Any) -> SolveRecord:
    gap = 1e-5 if result == "reached" else 0.5
    values: dict[str, Any] = {"program": "p", "tol": 1e-3, "outcome": "solved", "verdict": "bounded", **fields}
    values = {"lower": 0.1, "upper": 0.1 + gap, "gap": gap, "scaled_gap": gap, **values}
    return SolveRecord(backend=backend, version="1", result=result, seconds=seconds, **values)


def measured(*runs: SolveRecord, time_limit: float | None = 4.0) -> Benchmark:
    """Return a benchmark of some runs."""
    results = benchmark(reference_lpboost(), [right()], [1e-3], repeats=1, time_limit=time_limit)
    tols = tuple(dict.fromkeys(run.tol for run in runs))
    programs = {run.program: next(iter(results.programs.values())) for run in runs}
    return replace(results, programs=programs, runs=runs, settings=replace(results.settings, target_gaps=tols))


def body(latex: str) -> list[list[str]]:
    """Return the cells of the rows of all tables, without their heads."""
    tables = re.findall(r"\\midrule\n(.*?)\n\\bottomrule", latex, re.DOTALL)
    return [[cell.strip() for cell in line.removesuffix(r" \\").split("&")] for t in tables for line in t.splitlines()]


def lines_of(markdown: str) -> list[list[str]]:
    lines = [line for line in markdown.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def two_programs() -> Benchmark:
    """Two programs, two gaps: one backend fast, one that fails on one program, one that is not run on one."""
    runs = [
        row(name, seconds * slower, program=program, tol=tol)
        for name, seconds in (("fast", 0.5), ("slow", 1.0))
        for program, slower in (("p", 1.0), ("q", 2.0))
        for tol in (1e-3, 1e-5)
    ]
    half = [row("half", 0.001), row("half", 0.001, "failed", program="q", solver_status="fine")]
    incomplete = [row("some", 0.1), row("some", 0.0, "not run", program="q", reason="no cones")]
    return measured(*runs, *half, *incomplete)


# Benchmarks


def test_a_benchmark_of_several_programs_is_means_ratios_and_programs_reached_the_best_bold() -> None:
    latex = two_programs().to_latex()
    assert body(latex) == [
        ["fast", r"\textbf{0.71}", "1.0", "2/2", r"\textbf{0.71}", "1.0", "2/2"],
        ["slow", "1.41", "2.0", "2/2", "1.41", "2.0", "2/2"],
        ["half", r"$\geq$0.20", r"$\geq$0.3", "1/2", "", "", ""],
        ["some", "--", "", "1/2", "", "", ""],
    ]
    assert r" & \multicolumn{3}{c}{gap $10^{-3}$} & \multicolumn{3}{c}{gap $10^{-5}$} \\" in latex
    assert "\\cmidrule(lr){2-4} \\cmidrule(lr){5-7}\nbackend & seconds & ratio & reached & seconds" in latex
    assert [latex.count(rule) for rule in (r"\toprule", r"\midrule", r"\bottomrule")] == [1, 1, 1]
    assert r"\begin{tabular}{@{}lrrrrrr@{}}" in latex
    assert re.search(r"\\caption\{.*\b4 s\b", latex)


def test_to_latex_writes_machine_and_failures_in_comments() -> None:
    latex = two_programs().to_latex()
    comments = [line for line in latex.splitlines() if line.startswith("%")]
    assert comments == latex.splitlines()[: len(comments)]
    facts = (r'% half: 1 of 2\b.*\b1\b.*"fine"', r"% some: not run\b.*\b1 of 2\b", r"\bseed 0\b.*\b4 s\b.*\bNumPy\b")
    assert all(any(re.search(fact, line) for line in comments) for fact in facts)
    assert "quartiles" not in latex


def test_in_markdown_it_is_the_same_table() -> None:
    markdown = two_programs().to_markdown()
    head, rule, *rows = lines_of(markdown)
    assert head == ["backend", "gap 1e-03: seconds", "ratio", "reached", "gap 1e-05: seconds", "ratio", "reached"]
    assert all(re.fullmatch(":-+" if j == 0 else "-+:", cell) for j, cell in enumerate(rule))
    assert rows[0] == ["fast", "**0.71**", "1.0", "2/2", "**0.71**", "1.0", "2/2"]
    assert rows[2][:4] == ["half", ">= 0.20", ">= 0.3", "1/2"]
    assert len({len(line) for line in markdown.splitlines() if line.startswith("| ")}) == 1
    assert re.search(r"^half: 1 of 2\b", markdown, re.MULTILINE) and "NumPy" in markdown


def test_of_one_program_it_is_the_medians() -> None:
    runs = [row("fast", seconds, repeat=k) for k, seconds in enumerate([0.03, 0.01, 0.02])]
    latex = measured(*runs, row("not", 0.0, "not run"), row("bad", 0.001, "failed")).to_latex()
    assert body(latex) == [["fast", r"\textbf{0.020}", "1.0"], ["not", "not run", ""], ["bad", "failed", ""]]
    assert r"\caption{p. " in latex and "profile" not in latex and "reached" not in latex


def test_profiles_stand_in_the_head_by_their_names() -> None:
    result = benchmark(reference_lpboost(), ["interior"], ["default", "low"], repeats=1)
    assert r"\multicolumn{2}{c}{default ($10^{-8}$)} & \multicolumn{2}{c}{low ($10^{-3}$)}" in result.to_latex()
    assert "profile" in result.to_markdown().splitlines()[0]


def test_more_gaps_than_a_page_is_wide_stand_below_each_other() -> None:
    runs = [row(name, 1.0, tol=tol) for name in "ab" for tol in (1e-1, 1e-3, 1e-5, 1e-7)]
    latex = measured(*runs).to_latex()
    assert latex.count(r"\begin{tabular}{@{}lrrrr@{}}") == 2 and latex.count(r"\begin{table}") == 1
    assert [cells[0] for cells in body(latex)] == ["a", "b", "a", "b"]


def test_tables_of_contradictory_intervals_mark_no_best_solver() -> None:
    contradictory = measured(row("a", 0.1), row("b", 0.2, lower=0.5, upper=0.50001))
    assert "textbf" not in contradictory.to_latex() and CONTRADICTION_ADVICE in contradictory.to_latex()
    assert "**" not in contradictory.to_markdown()


def test_medians_of_fewer_solves_are_said() -> None:
    late = measured(row("a", 0.1), row("a", 0.0, "not run", repeat=1, reason="no time left"))
    fewer = r"(?m)^% .*\bmedians\b.*\bfewer\b"
    assert re.search(fewer, late.to_latex()) and not re.search(fewer, measured(row("a", 0.1)).to_latex())


# Comparisons


def test_a_comparison_is_its_rows_the_fastest_bold() -> None:
    rows = (
        row("slow", 2.0, iterations=12),
        row("fast", 0.25),
        row("wide", 0.1, "failed"),
        row("not_run", 0.0, "not run", reason="100% no\ncones"),
    )
    latex = Comparison.from_solves(reference_lpboost(), 1e-3, rows).to_latex()
    cells = body(latex)
    assert [line[0] for line in cells] == ["slow", "fast", "wide", r"not\_run"]
    assert cells[0][1:4] == ["$10^{-3}$", "bounded", "[0.1000000, 0.1000101]"]
    assert cells[0][4:] == [r"$1.0{\cdot}10^{-5}$", "inf", "2.000", "12"]
    assert [line[6] for line in cells] == ["2.000", r"\textbf{0.250}", "0.100", ""]
    assert re.search(r"^% not_run: not run\W+100% no cones$", latex, re.MULTILINE)
    assert r"\begin{tabular}{@{}llllrrrr@{}}" in latex and r"\caption{lpboost: N = 6, t = 3" in latex


def test_results_show_themselves_as_their_tables() -> None:
    comparison = Comparison.from_solves(reference_lpboost(), 1e-3, (row("fast", 0.25), row("slow", 2.0)))
    for results in (comparison, two_programs()):
        assert repr(results) == str(results)
        assert "fast" in repr(results) and "┃" in repr(results)


def test_a_comparison_of_contradictions_has_no_best() -> None:
    rows = (row("a", 0.1), row("b", 0.2, lower=0.5, upper=0.50001))
    latex = Comparison.from_solves(reference_lpboost(), 1e-3, rows).to_latex()
    assert "textbf" not in latex and CONTRADICTION_ADVICE in latex


def test_real_solvers_are_printed_both_ways() -> None:
    result = compare(reference_erlpboost(), ["interior", "cvxpy:clarabel", "highs"])
    table, (_, _, *rows) = body(result.to_latex()), lines_of(result.to_markdown())
    assert [line[0] for line in table] == [line[0] for line in rows] == ["interior", "cvxpy:clarabel", "highs"]
    lower, upper = map(float, rows[0][3].strip("[]").split(","))
    assert lower <= result.interval[0] <= result.interval[1] <= upper
    assert table[2][2:] == ["not run", *[""] * 7]
    form, own_test = rows[1][8:]
    assert form == result.rows[1].form and 0.0 <= float(own_test) == pytest.approx(
        result.rows[1].stopping_test_ratio, rel=0.05
    )


@given(st.floats(-1e3, 1e3), st.floats(1e-14, 1e2))
def test_a_printed_interval_holds_the_interval_and_is_little_wider(lower: float, gap: float) -> None:
    upper = lower + gap
    text = format_interval(row("a", 1.0, lower=lower, upper=upper))
    ends = [float(end) for end in text.strip("[]").split(",")]
    assert ends[0] <= lower and upper <= ends[1]
    assert ends[1] - ends[0] <= 1.3 * (upper - lower) + 1e-8 * max(abs(lower), abs(upper))


def test_intervals_have_the_digits_that_their_width_needs() -> None:
    def interval_text(lower: float, upper: float) -> str:
        return format_interval(row("a", 1.0, lower=lower, upper=upper))

    assert interval_text(0.123456789, 0.123459) == "[0.1234567, 0.1234590]"
    assert interval_text(-1.04e-10, 5.41e-10) == "[-1.1e-10, 5.5e-10]"
    assert interval_text(0.25, 0.25) == "[0.25, 0.25]"
    assert interval_text(-float("inf"), 2.0) == "[-inf, 2]"


# Letters


def test_letters_that_tex_obeys_are_escaped() -> None:
    assert escape_tex("a_b 50% #1 &") == r"a\_b 50\% \#1 \&"
    assert escape_tex("$x$ {y} ^~\\") == r"\$x\$ \{y\} \textasciicircum{}\textasciitilde{}\textbackslash{}"
    assert escape_tex("<z> |") == r"\textless{}z\textgreater{} \textbar{}"
    assert escape_tex(">= 0.5") == r"$\geq$0.5"
    assert escape_tex("two\nlines") == "two lines"


def test_numbers_are_set_as_such_and_names_are_not() -> None:
    assert escape_tex("gap 1e-08, -2.5e+03 and -0.5.") == r"gap $10^{-8}$, $-2.5{\cdot}10^{3}$ and $-0.5$."
    for name in ("run1e-05", "cvxpy:scs-2", "v1.2-3", "a1e-5b"):
        assert escape_tex(name) == name


def test_gaps_are_powers_of_ten_where_they_are() -> None:
    assert [format_power_of_ten(gap) for gap in (1e-3, 5e-6, 0.00123)] == ["1e-03", "5e-06", "0.00123"]


def test_letters_that_markdown_obeys_are_escaped() -> None:
    assert escape_markdown("a_b|c <d> `e` *f*\n[g]") == r"a\_b\|c \<d\> \`e\` \*f\* \[g\]"


def test_names_are_escaped_in_every_place() -> None:
    result = benchmark({HOSTILE: reference_lpboost()}, [rough(HOSTILE), right()], [1e-3], repeats=1)
    latex = result.to_latex()
    for line in latex.splitlines():
        if not line.startswith("%"):
            assert HOSTILE not in line and not re.search(r"(?<!\\)[%#]", line)
    assert body(latex.replace(r"\&", "and"))[0][0].startswith(r"a\_b 50\% \#1 and \$x\$")
    assert result.to_markdown().count(escape_markdown(HOSTILE)) >= 2


def test_a_caption_and_a_label_of_ones_own() -> None:
    latex = two_programs().to_latex(r"Mine, $\nu = 1$.", "tab:mine")
    assert "\\caption{Mine, $\\nu = 1$.}\n\\label{tab:mine}" in latex
    with typechecker.unchecked(), pytest.raises(OptionError, match=r"^caption\b.*\btext\b.*\b3\b"):
        two_programs().to_latex(3)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("missing", ["pandas", "jinja2"])
def test_without_its_packages_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    result = two_programs()
    monkeypatch.setitem(sys.modules, missing, None)
    if missing == "jinja2":
        for name in [name for name in sys.modules if name.startswith("pandas.io.formats.style")]:
            monkeypatch.delitem(sys.modules, name)
    with pytest.raises(OptionError, match=rf"^to_latex\b.*\b{missing}\b.*\bpip\b"):
        result.to_latex()
    assert result.to_markdown().startswith("Seconds")


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX")
def test_latex_makes_a_page_of_them(tmp_path: Path) -> None:
    hostile = benchmark({HOSTILE: reference_lpboost()}, [rough(HOSTILE), right()], repeats=1)
    compared = compare(reference_lpboost(), [right("a_b"), Fake("no%", reason="a & b"), "interior"])
    tables = hostile.to_latex() + two_programs().to_latex(label="tab:two") + compared.to_latex()
    head = "\\documentclass{article}\n\\usepackage{booktabs}\n\\begin{document}\n"
    (tmp_path / "page.tex").write_text(f"{head}{tables}\\end{{document}}\n")
    done = subprocess.run(
        ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "page.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "page.pdf").stat().st_size > 10_000
