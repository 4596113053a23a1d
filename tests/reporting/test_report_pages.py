"""The page: everything that was found is in it, nothing of it is obeyed, and it needs nothing else."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typechecker
from small_results import (
    GAPS,
    ORIGIN,
    RESULTS,
    Page,
    entropy,
    every_page,
    html_of,
    infeasible,
    is_finite,
    linear,
    measured,
    nothing,
)
from support.problems import Fake, attempt, reference_lpboost, right

from boostopt import Benchmark, Comparison, DataError, OptionError, benchmark, compare, list_formulations
from boostopt.comparison.documents import load_results
from boostopt.comparison.rendering.result_sentences import accuracy_request_text, proved_interval_text
from boostopt.comparison.rendering.score_sentences import format_median_seconds, score_time_text
from boostopt.pictures.heat_maps import MAX_PROGRAMS
from boostopt.programs.program_identity import describe_program
from boostopt.reporting import ReportToolsNotFound, check_place, report, to_html
from boostopt.reporting import requirements as tools
from boostopt.reporting.benchmark_figures import program_figures
from boostopt.reporting.mathml import prose_markup
from boostopt.reporting.report_data import MAX_PICTURES, build_report_data

HOSTILE = """</pre><script>alert(1)</script>"><img src=x onerror=alert(2)> & 'a' $x$ $\\frac {{ 7*7 }}"""


def page_of(result: Any) -> Page:
    return Page(html_of(result))


@pytest.mark.thorough_cases("linear", "half", "measured")
@pytest.mark.every(3)
@pytest.mark.parametrize("case", RESULTS)
def test_the_page_is_well_formed_and_needs_no_other_file(case: str) -> None:
    html = html_of(RESULTS[case]())
    page = Page(html)
    assert page.faults == []
    assert len(set(page.ids)) == len(page.ids)
    assert not {"script", "iframe", "object", "embed", "link", "base", "form", "img", "image"} & set(page.tags)
    assert page.events == []
    for reference in page.references:
        assert reference.startswith("#") and reference[1:] in page.ids
    for name in re.findall(r"url\(#([^)]*)\)", html):
        assert name in page.ids
    assert not re.search(r"url\((?!#)|@import|https?://(?!www\.w3\.org/)", html)
    assert html.count("<!DOCTYPE html>") == 1 and html.startswith("<!DOCTYPE") == html.lstrip().startswith("<!DOCTYPE")


@pytest.mark.every(2)
@pytest.mark.parametrize("case", ["linear", "entropy", "infeasible", "half", "nothing", "contradicting"])
def test_every_number_of_a_comparison_stands_in_it(case: str) -> None:
    comparison: Comparison = RESULTS[case]()
    text = page_of(comparison).text
    for run in comparison.rows:
        assert run.backend in text and run.version in text
        if not run.ran:
            assert run.reason in text
            continue
        assert proved_interval_text(run) in text
        assert f"{run.seconds:.3f}" in text
        assert str(run.solver_status) in text and str(run.verdict) in text
    assert comparison.program.margins.digest() in text
    about = describe_program(comparison.program)
    for name, meaning in about["meanings"].items():
        assert Page(prose_markup(meaning)).text in text, name  # formulas are typeset


@pytest.mark.thorough
def test_every_number_of_a_benchmark_stands_in_it() -> None:
    b = measured()
    text = page_of(b).text
    for score in b.scores:
        assert score_time_text(score) in text and score.backend in text
        if score.result == "reached":
            assert "-".join(format_median_seconds(value) for value in score.quartiles) in text
        else:
            assert score.reason.removesuffix(".") in text
    for label in b.programs:
        assert label in text
    ((name, why),) = b.provenance.skipped
    assert re.search(rf"{re.escape(name)}: [^:]*{re.escape(why)}", text)
    assert re.search(r"\b2, [^.]*\bshuffled\b[^.]*\bseed 0\b", text)


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "case, kind, facts",
    [
        ("linear", "good", r"\[0\.00377358490"),
        ("entropy", "good", r"\b1e-08 by cvxpy:clarabel and interior;.*\bagree\b"),
        ("infeasible", "good", r"\binfeasible\b.* by cvxpy:clarabel and interior\."),
        ("half", "good", r"\b1e-08 by cvxpy:clarabel;.*\bagree\b"),
        ("nothing", "wrong", "^No backend "),
        ("contradicting", "wrong", r"\bcontradict\b"),
        ("measured", "good", r"^2 of 2 .*\b1e-07\b"),
    ],
    ids=["linear", "entropy", "infeasible", "half", "nothing", "contradicting", "measured"],
)
def test_the_verdict_stands_on_top(case: str, kind: str, facts: str) -> None:
    html = html_of(RESULTS[case]())
    (first, *_) = re.findall(r'<p class="verdict (\w+)">(.*?)</p>', html, re.DOTALL)
    assert first[0] == kind and re.search(facts, first[1], re.DOTALL)


@pytest.mark.thorough
def test_nobody_certified_it_is_a_warning() -> None:
    wide = compare(reference_lpboost(), [Fake("wide", (attempt(w=[0, 0, 1]),)), right()], tol=1e-15)
    html = to_html(wide)
    assert re.search(r'class="verdict warning">[^<]*\bnobody\b[^<]*\b1e-15\b', html)


@pytest.mark.thorough
def test_intervals_are_drawn_where_there_are_two_finite_ends() -> None:
    for case in ("linear", "entropy", "infeasible", "nothing", "contradicting"):
        comparison: Comparison = RESULTS[case]()
        page = page_of(comparison)
        assert ("svg" in page.tags) == is_finite(comparison.interval), case
        assert ("nothing to draw" in page.text) != is_finite(comparison.interval)
    # Profiles of both kinds for wide screens, and of each gap for narrow ones; the map and the claims; the intervals.
    assert page_of(measured()).tags.count("svg") == 2 * (1 + len(GAPS)) + 2 + 2 + 2 * 2


@pytest.mark.thorough
def test_only_the_first_programs_and_contradictory_intervals_are_drawn() -> None:
    def has_pictures(n_contradicting: int) -> list[bool]:
        labels = [f"program {k}" for k in range(MAX_PICTURES + 2)]
        rows = {case: RESULTS[case]().rows for case in ("linear", "contradicting")}
        runs = [
            replace(row, program=label)
            for k, label in enumerate(labels)
            for row in rows["contradicting" if k >= len(labels) - n_contradicting else "linear"]
        ]
        comparison = RESULTS["linear"]()
        program = next(iter(comparison.programs.values()))
        results = replace(comparison, programs=dict.fromkeys(labels, program), runs=tuple(runs))
        return [bool(section.pictures) for section in build_report_data(results).programs]

    assert has_pictures(0) == [True] * MAX_PICTURES + [False] * 2
    assert has_pictures(1) == [True] * MAX_PICTURES + [False, True]


@pytest.mark.thorough
def test_profiles_of_a_single_program_say_nothing_and_are_left_out() -> None:
    one = benchmark({"small": reference_lpboost()}, ["cvxpy:highs", right()], [1e-3], repeats=1)
    text = page_of(one).text
    assert "Profiles" not in text and "share of" not in text
    assert "share of" in page_of(measured()).text


def headings(page: str) -> list[str]:
    return re.findall(r"<h[23]>(.*?)</h[23]>", page)


PICTURE_TITLES = [
    "Performance profiles",
    "Data profiles",
    "Seconds of each backend on each program",
    "What the solvers claim",
]


def test_a_benchmark_is_drawn_in_four_ways() -> None:
    html = html_of(measured())
    assert [heading for heading in headings(html) if heading in PICTURE_TITLES] == PICTURE_TITLES
    labels = re.findall(r'<svg [^>]*aria-label="([^"]*)"', html)
    for label, count in (
        ("Performance profiles of the backends", 1 + len(GAPS)),
        ("Data profiles of the backends", 1 + len(GAPS)),
        ("Seconds of each backend on each program", 2),
        ("The gap that the solver claims against the gap that is certified, for each run", 2),
    ):
        assert labels.count(label) == count
    assert " by cvxpy:highs, rough." in page_of(measured()).text  # of those that report no gap of their own


@pytest.mark.thorough
def test_files_of_before_claims_were_kept_have_no_picture_of_them(tmp_path: Path) -> None:
    old = json.loads(measured().to_json())
    for run in old["runs"]:
        for name in ("claimed_gap", "profile", "peak_memory"):
            run["record"].pop(name, None)
        for one in run["log"]:
            for name in ("claimed_gap", "scaled_gap_so_far", "after"):
                one.pop(name, None)
    path = tmp_path / "old.json"
    path.write_text(json.dumps(old))
    html = to_html(load_results(path))
    assert [heading for heading in headings(html) if heading in PICTURE_TITLES] == PICTURE_TITLES[:3]
    assert Page(html).faults == [] and 'data-name="request"' not in html


@pytest.mark.thorough
def test_one_program_has_no_map_but_its_claims() -> None:
    one = benchmark({"small": reference_lpboost()}, ["interior"], [1e-3], repeats=1)
    assert [heading for heading in headings(to_html(one)) if heading in PICTURE_TITLES] == PICTURE_TITLES[3:]


@pytest.mark.thorough
def test_a_map_that_is_too_large_for_a_picture_is_left_out() -> None:
    row = compare(reference_lpboost(), [right()]).rows[0]
    labels = [f"program {k}" for k in range(MAX_PROGRAMS + 1)]
    b = measured()
    runs = tuple(replace(row, program=label, tol=1e-3) for label in labels)
    settings = replace(b.settings, target_gaps=(1e-3,))
    assert program_figures(replace(b, programs={label: {} for label in labels[1:]}, runs=runs[1:], settings=settings))[
        2:
    ]
    assert not program_figures(replace(b, programs={label: {} for label in labels}, runs=runs, settings=settings))[2:]


@pytest.mark.thorough
def test_tables_say_how_each_solver_was_asked() -> None:
    b = benchmark({"linear": reference_lpboost()}, ["interior", "highs"], ["default", "high"], repeats=1)
    html = to_html(b)
    finest = [run for run in b.runs if run.profile == "high"]
    assert {run.finest_accuracy for run in finest} == {1e-9}
    assert '<th scope="col">default, gap 1e-08</th><th scope="col">high, gap 1e-09</th>' in html
    cells = re.findall(r'<td data-name="request">(.*?)</td>', html)
    assert len(cells) == 2 and set(cells) <= {accuracy_request_text(run) for run in b.runs}
    assert html.count('<span class="remark">accuracy 1e-09</span>') == 2
    assert html.count("<dt>Request</dt><dd>high, 1e-09</dd>") == 2
    certified = to_html(linear())
    assert len(re.findall(r'<td data-name="request">certified', certified)) == len(linear().rows)


@pytest.mark.thorough
def test_pictures_say_only_that_a_backend_was_not_run_and_the_table_why() -> None:
    html = to_html(entropy())
    reason = next(run.reason for run in entropy().rows if not run.ran)
    pictures = "".join(re.findall(r"<svg.*?</svg>", html, re.DOTALL))
    assert pictures.count(">not run</text>") == 2 and reason not in pictures
    assert f'class="not-run">{reason}</td>' in html


@pytest.mark.thorough
@pytest.mark.parametrize("case, explained", [("linear", True), ("measured", True), ("nothing", False)])
def test_verdicts_are_explained_where_there_are_any(case: str, explained: bool) -> None:
    assert ("Verdicts: " in page_of(RESULTS[case]()).text) == explained


@pytest.mark.thorough
def test_words_of_the_command_and_the_date_are_kept_whole() -> None:
    html = to_html(linear())
    for word in ("compare", "--report", "out.html", "2026-01-02", "03:04:05+00:00"):
        assert f'<span class="word">{word}</span>' in html


def test_the_problems_are_mathml_and_the_logs_are_folded_away() -> None:
    page = page_of(entropy())
    assert page.tags.count("math") > 15 and "Primal" in page.text and "Dual" in page.text
    # One fold for the conditions of optimality, one for each backend.
    assert page.tags.count("details") == 1 + len(entropy().rows)
    for words in ("Attempt 1:", "Options", "Claims an optimum", "Warmuth, Glocer, Vishwanathan 2008"):
        assert words in page.text


@pytest.mark.thorough
def test_output_of_a_solver_is_kept_in_its_log() -> None:
    comparison = compare(reference_lpboost(), ["cvxpy:highs"], isolate=True)
    run = comparison.rows[0]
    loud = replace(run, solver_output="iteration 1\n  iteration 2 <&>")
    assert "iteration 1\n  iteration 2 &lt;&amp;&gt;</pre>" in to_html(replace(comparison, runs=(loud,)))


def test_provenance_names_versions_command_and_date() -> None:
    text = page_of(linear()).text
    for version in ORIGIN.versions.values():
        assert version in text
    for fact in (
        ORIGIN.command,
        ORIGIN.date.replace("T", " "),
        "ERL" if False else "LPBoost on data.csv",
        "OPENBLAS" if False else "Python",
    ):
        assert fact in text


@pytest.mark.thorough
def test_words_that_are_not_ours_are_shown_and_not_obeyed() -> None:
    solver = Fake(
        HOSTILE, (attempt(w=[1, 0, 0], status=HOSTILE, form=HOSTILE, error=HOSTILE, options={HOSTILE: HOSTILE}),)
    )
    unable = Fake(f"_{HOSTILE}2", reason=HOSTILE)
    origin = replace(ORIGIN, command=HOSTILE, data=HOSTILE, date=HOSTILE, skipped=((HOSTILE, HOSTILE),))
    html = to_html(compare(reference_lpboost(), [solver, unable, "interior"], origin=origin))
    page = Page(html)
    assert page.faults == [] and page.events == []
    assert not {"script", "img"} & set(page.tags)
    assert "<script" not in html and "<img" not in html
    assert page.text.count("<script>alert(1)</script>") >= 10 and "{{ 7*7 }}" in page.text


def test_characters_that_no_page_may_hold_are_replaced() -> None:
    origin = replace(ORIGIN, command="a\x00b\x1b[31m\ud800c\ttab\n日本語")
    html = to_html(replace(nothing(), provenance=origin))
    assert "a\ufffdb\ufffd[31m\ufffdc\ttab\n日本語" in html
    assert html.encode()


@pytest.mark.thorough
def test_the_page_is_the_same_every_time() -> None:
    for case in ("entropy", "measured"):
        assert to_html(RESULTS[case]()) == to_html(RESULTS[case]())


@pytest.mark.thorough
def test_from_its_file_it_is_the_same_page_that_says_so(tmp_path: Path) -> None:
    results: list[Comparison | Benchmark] = [entropy(), infeasible(), measured()]
    for result in results:
        path = tmp_path / "result.json"
        path.write_text(result.to_json())
        read, original = to_html(load_results(path)), to_html(result)
        assert str(path) in read
        again = re.sub(r"\n<dt>Read from</dt><dd>.*?</dd>", "", read)
        lines = zip(again.splitlines(), original.splitlines(), strict=True)
        ((extra_line, plain),) = [(one, original_line) for one, original_line in lines if one != original_line]
        note = extra_line.removeprefix(plain.removesuffix("</p>"))
        assert len(note) < len(extra_line) and "from a file" in note


def test_every_formulation_is_stated() -> None:
    page = page_of(every_page())
    assert page.faults == []
    assert "pre" not in page.tags and re.search('"verdict wrong">No backend ', html_of(every_page()))
    for name in list_formulations():
        assert name in page.text


def test_a_page_that_states_no_problems_is_shown_as_it_is_typed(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    document = json.loads(nothing().to_json())
    for text in ("A page of words <b>.", "Title: words.\n\nPrimal  nonsense\n\nSources: none"):
        document["about"]["page"] = text
        path.write_text(json.dumps(document))
        page = page_of(load_results(path))
        assert "pre" in page.tags and " ".join(text.split()) in page.text and "b" not in page.tags


def test_a_report_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report(nothing(), tmp_path / "out.html")
    assert (tmp_path / "out.html").read_text() == to_html(nothing())
    with pytest.raises(DataError, match=r"/missing/out\.html .*\bwritten: "):
        report(nothing(), tmp_path / "missing" / "out.html")
    assert [path.name for path in tmp_path.iterdir()] == ["out.html"]
    with typechecker.unchecked(), pytest.raises(OptionError, match=r"^result .*\bbenchmark\b.* 'comparison'"):
        to_html("comparison")  # pyright: ignore[reportArgumentType]
    monkeypatch.setattr(tools, "find_spec", lambda name: None)
    with pytest.raises(ReportToolsNotFound, match=r'jinja2 .*latex2mathml .*matplotlib.*"boostopt\[report\]"'):
        report(nothing(), tmp_path / "out.html")


def test_a_report_replaces_nothing_that_is_read(tmp_path: Path) -> None:
    """The one test here of a whole message: what was expected, what came, and what to do."""
    data = tmp_path / "data.csv"
    data.write_text("x")
    (tmp_path / "link.html").symlink_to(data)
    for path in (data, tmp_path / "link.html"):
        message = f"expected a file of its own for the report; {path} is read. Choose another name."
        with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
            check_place(path, [None, data])
    check_place(tmp_path / "new.html", [None, data, "not a file"])
    for bad in (tmp_path, tmp_path / ("x" * 300), tmp_path / "a\0b"):
        with pytest.raises(DataError, match=r"\bwritten: "):
            check_place(bad)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv", "link.html"]
