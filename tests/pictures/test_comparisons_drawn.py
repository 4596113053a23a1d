"""Profiles and intervals of backends: what was not run is told apart from what failed."""

from __future__ import annotations

import itertools
import math
import re
import unicodedata
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from rendering import check_rendering, legend_of, line, size, xy
from small_benchmark import TIMES, measured
from support.problems import Fake, attempt, reference_erlpboost, reference_lpboost
from typechecker import unchecked

from boostopt import OptionError, ProblemError, benchmark, compare
from boostopt.comparison import Comparison
from boostopt.pictures import intervals, profiles


def profile_height(axis: Any, backend: str, ratio: float) -> float:
    """Return the height of a profile at a ratio."""
    x, y = xy(line(axis, backend))
    assert (np.diff(x) >= 0).all() and (np.diff(y) >= 0).all()
    return float(y[np.flatnonzero(x <= ratio)[-1]])


@pytest.mark.thorough
def test_profiles_by_hand() -> None:
    figure = profiles(measured())
    rough, fine = figure.axes[:2]
    assert len(figure.axes) == 4 and [axis.get_title() for axis in (rough, fine)] == [
        "gap 0.001",
        "gap 1e-06",
    ]
    # Times over the fastest: fast 2, 1, 1, 8; slow 4, 4, 1, 1; linear 1.
    assert [profile_height(rough, "fast", ratio) for ratio in (1, 2, 7.9, 8)] == [0.5, 0.75, 0.75, 1.0]
    assert [profile_height(rough, "slow", ratio) for ratio in (1, 3.9, 4)] == [0.5, 0.5, 1.0]
    assert [profile_height(rough, "linear", ratio) for ratio in (1, 10)] == [0.25, 0.25]
    assert [profile_height(fine, "fast", ratio) for ratio in (1, 10)] == [0.5, 0.5]
    assert [profile_height(fine, "slow", ratio) for ratio in (1, 3)] == [0.25, 0.75]
    assert profile_height(fine, "linear", 10) == 0.0
    assert legend_of(figure) == ["fast", "slow", "linear", "reached", "failed", "not run"]
    check_rendering(figure)


@pytest.mark.thorough
@pytest.mark.parametrize("tol", ["1e-3", "1e-6"])
def test_data_profiles_count_the_solves_that_end_in_time(tol: str) -> None:
    figure = profiles(measured(), against="seconds")
    axis = figure.axes[("1e-3", "1e-6").index(tol)]
    assert axis.get_xlabel() == "seconds" and axis.get_xscale() == "log"
    left_limit, right_limit = axis.get_xlim()
    assert left_limit < 0.5 and right_limit > 8.0
    for backend in ("fast", "slow", "linear"):
        for seconds in (0.49, 0.5, 1.0, 1.9, 2.0, 3.0, 4.0, 7.9, 8.0):
            fast_solves = [came for came in TIMES[backend, tol] if not isinstance(came, str) and came <= seconds]
            assert profile_height(axis, backend, seconds) == len(fast_solves) / 4
    check_rendering(figure)


def test_means_stand_at_the_right_of_the_bars() -> None:
    figure = profiles(measured(), against="seconds")
    rough, fine = ([text.get_text() for text in axis.texts] for axis in figure.axes[2:])

    def mean(*times: float) -> str:
        return f"{math.prod(t + 0.01 for t in times) ** (1 / len(times)) - 0.01:.2g}"

    assert rough == [mean(1, 1, 2, 8), mean(2, 4, 2, 1), "no mean", "mean s"]
    assert fine == ["failed", "failed", "failed", "mean s"]
    words = figure.legends[0].get_title().get_text()
    assert re.search(r"\bgeometric\s+means\b[^.]*\s0\.01\s+s\.$", words)
    limited = replace(measured(), settings=replace(measured().settings, time_limit=10.0))
    texts = [text.get_text() for text in profiles(limited).axes[3].texts]
    assert texts[:3] == [f">= {mean(1, 1, 10, 10)}", f">= {mean(3, 3, 3, 10)}", "failed"]


def test_a_panel_says_by_which_profile_the_solvers_were_asked() -> None:
    b = measured()
    names = {1e-3: "low", 1e-6: "certified"}
    figure = profiles(replace(b, runs=tuple(replace(run, profile=names[run.tol]) for run in b.runs)))
    assert [axis.get_title() for axis in figure.axes[:2]] == ["low, gap 0.001", "gap 1e-06"]


def test_other_objects_than_benchmarks_and_unknown_scales_are_named() -> None:
    runs: Any = measured().runs
    with unchecked(), pytest.raises(OptionError, match=r"\bbenchmark\b.*\btuple\b"):
        profiles(runs)
    with unchecked(), pytest.raises(OptionError, match="scale 'minutes'"):
        profiles(measured(), against="minutes")


def test_bars_tell_failed_from_not_run() -> None:
    figure = profiles(measured())
    widths = {
        str(container.get_label()): [bar.get_width() for bar in container]  # pyright: ignore[reportAttributeAccessIssue]
        for container in figure.axes[3].containers
    }
    assert widths == {"reached": [2, 3, 0], "failed": [2, 1, 1], "not run": [0, 0, 3]}
    hatches = {bar.get_hatch() for container in figure.axes[3].containers for bar in container}
    assert len(hatches) == 3, "without colours too"


@pytest.mark.thorough
def test_a_gap_that_nobody_reaches_is_said_to_be_so() -> None:
    b = measured()
    failed = [replace(run, result="failed", seconds=math.inf, scaled_gap=math.inf) for run in b.runs if run.tol == 1e-6]
    figure = profiles(replace(b, runs=(*[run for run in b.runs if run.tol != 1e-6], *failed)))
    (words,) = (text.get_text() for text in figure.axes[1].texts)
    assert "nobody" in words
    check_rendering(figure)
    check_rendering(profiles(replace(b, runs=tuple(failed), settings=replace(b.settings, target_gaps=(1e-6,)))))


@pytest.mark.thorough
def test_a_real_benchmark_is_drawn() -> None:
    programs = {"linear": reference_lpboost(), "entropic": reference_erlpboost()}
    b = benchmark(programs, ["highs", "interior"], profiles=(1e-3, 1e-6, 1e-9), repeats=1)
    figure = profiles(b)
    assert len(figure.axes) == 6
    for k in range(3):
        assert xy(line(figure.axes[k], "interior"))[1][-1] == 1.0
        assert xy(line(figure.axes[k], "highs"))[1][-1] == 0.5
    check_rendering(figure)


def test_an_empty_benchmark_is_named() -> None:
    with pytest.raises(ProblemError, match="a solve "):
        profiles(replace(measured(), runs=()))
    waiting = tuple(replace(run, result="not run") for run in measured().runs)
    with pytest.raises(ProblemError, match="a solve "):
        profiles(replace(measured(), runs=waiting))


def compared() -> Comparison:
    return compare(reference_erlpboost(), ["interior", "highs", "cvxpy:scs"], tol=1e-8)


def segments(figure: Any) -> list[tuple[np.ndarray, float]]:
    """The intervals from the top, with their heights."""
    samples = [xy(one) for one in figure.axes[0].lines if size(one) == 2]
    return [(x, float(y[0])) for x, y in samples]


@pytest.mark.thorough
def test_intervals_are_those_of_the_certificates() -> None:
    comparison = compared()
    figure = intervals(comparison)
    middle = sum(comparison.interval) / 2
    certificates = [row.solution.certificate for row in comparison.rows if row.solution]
    for (x, _), certificate in zip(segments(figure), certificates, strict=True):
        assert np.array_equal(x, [certificate.lower - middle, certificate.upper - middle])
        assert x[0] <= 0 <= x[1]
    assert [height for _, height in segments(figure)] == [2.0, 0.0]
    names = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert names == ["interior", "highs", "cvxpy:scs"] and figure.axes[0].get_xscale() == "symlog"
    (words,) = [text.get_text() for text in figure.axes[0].texts if "not run" in text.get_text()]
    assert len(words) <= 85
    check_rendering(figure)


def number_of_label(label: str) -> float:
    """Return the number of a label such as -10^-6, whose exponent is in superscripts."""
    ascii_label = unicodedata.normalize("NFKC", label).replace("\N{MINUS SIGN}", "-")
    return 0.0 if ascii_label == "0" else float(ascii_label.replace("10", "1e", 1))


def test_the_labels_of_intervals_are_the_powers_of_ten_at_their_ticks() -> None:
    comparison = compare(reference_lpboost(), [Fake(script=(attempt(np.full(6, 1 / 6), [1, 0, 0]),))])
    for brief in (True, False):
        axis = intervals(comparison, brief=brief).axes[0]
        numbers = [number_of_label(text.get_text()) for text in axis.get_xticklabels()]
        assert numbers == pytest.approx(list(axis.get_xticks()), rel=1e-12)
        assert 0.0 in numbers and numbers == [-number for number in reversed(numbers)]


def changed_comparison(comparison: Comparison, k: int, is_success: bool = True, **ends: float) -> Comparison:
    """Return a comparison in which backend k has proved other bounds."""
    result = "reached" if is_success else "failed"
    moves: dict[str, Any] = {"result": result, **ends}
    rows = [replace(row, **moves) if j == k else row for j, row in enumerate(comparison.rows)]
    return replace(comparison, runs=tuple(rows))


@pytest.mark.thorough
def test_an_infinite_end_is_an_arrow_and_a_wide_interval_is_said_to_be_wide() -> None:
    figure = intervals(changed_comparison(compared(), 2, is_success=False, upper=math.inf))
    assert "wider than 1e-08" in legend_of(figure)
    arrows = [one for one in figure.axes[0].lines if one.get_marker() == ">"]
    assert len(arrows) == 1 and xy(arrows[0])[0][0] == figure.axes[0].get_xlim()[1]
    check_rendering(figure)


@pytest.mark.thorough
def test_intervals_that_do_not_meet_are_said_to_contradict_each_other() -> None:
    comparison = compared()
    figure = intervals(
        changed_comparison(comparison, 2, lower=comparison.interval[1] + 0.1, upper=comparison.interval[1] + 0.2)
    )
    assert any("contradicts" in label for label in legend_of(figure))
    check_rendering(figure)


@pytest.mark.every(8)
@pytest.mark.parametrize("farthest", 10.0 ** np.arange(-9, 9))
def test_the_labels_of_the_scale_are_apart(farthest: float) -> None:
    comparison = compared()
    lower, upper = comparison.interval
    figure = intervals(changed_comparison(comparison, 2, lower=lower - farthest, upper=upper + 0.1 * farthest))
    figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in figure.axes[0].get_xticklabels()]
    assert len(boxes) >= 3
    for box, next_box in itertools.pairwise(boxes):
        assert box.x1 < next_box.x0


def test_intervals_without_a_finite_one_are_refused() -> None:
    comparison = compared()
    with pytest.raises(ProblemError, match=r"\binterval\b.*finite"):
        intervals(replace(comparison, runs=comparison.rows[1:2]))
    assert segments(intervals(replace(comparison, runs=comparison.rows[:1])))


UNLICENSED_BECAUSE = "Error: no licence"
UNLICENSED = Fake("cvxpy:mosek", (attempt(status="raised", claims=False, error=UNLICENSED_BECAUSE),))


def test_no_answer_is_no_interval_and_says_why() -> None:
    comparison = compare(reference_erlpboost(), ["interior", UNLICENSED])
    failed = comparison.rows[1]
    assert failed.solution is not None and np.isfinite(failed.solution.certificate.gap)
    figure = intervals(comparison)
    assert len(segments(figure)) == 1
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert f"no answer: {UNLICENSED_BECAUSE}" in texts and sum("gap" in text for text in texts) == 1
    brief = [text.get_text() for text in intervals(comparison, brief=True).axes[0].texts]
    assert brief == ["no answer"]
    with pytest.raises(ProblemError, match=r"\binterval\b.*finite"):
        intervals(compare(reference_erlpboost(), [UNLICENSED]))
