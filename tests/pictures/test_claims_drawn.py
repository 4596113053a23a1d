"""Claims against certificates: a point for each run that reports a gap, and words for the solvers that do not."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from rendering import check_rendering, legend_of, xy
from small_benchmark import measured
from support.problems import Fake, attempt, reference_erlpboost, reference_lpboost
from typechecker import unchecked

from boostopt import Benchmark, OptionError, ProblemError, benchmark
from boostopt.comparison.solve_record import AttemptRecord, SolveRecord
from boostopt.pictures import claimed_against_certified
from boostopt.pictures.style import curve_style

Claim = tuple[str, float | None, float, bool]
"""A backend, the gap that it claims, the one that is certified, and whether it says that it found an optimum."""

CLAIMS: list[Claim] = [
    ("fast", 1e-9, 1e-8, True),
    ("fast", 1e-5, 1e-7, True),
    ("fast", 1e-3, 1e-2, False),
    ("slow", 1e-7, 1e-7, True),
    ("slow", None, 1e-4, True),
    ("linear", None, 1e-12, True),
]


def benchmark_of_claims(claims: list[Claim]) -> Benchmark:
    """A benchmark of runs with these claims, and one that was not run."""
    runs = [
        SolveRecord(
            program=f"program {k}",
            backend=backend,
            version="1",
            tol=1e-6,
            result="reached" if gap <= 1e-6 else "failed",
            seconds=1.0,
            scaled_gap=gap,
            claimed_gap=claim,
            log=(AttemptRecord(claims=says),),
        )
        for k, (backend, claim, gap, says) in enumerate(claims)
    ]
    away = SolveRecord(
        program="program 0", backend="absent", version="1", tol=1e-6, result="not run", reason="it is away"
    )
    programs: Mapping[str, Any] = {f"program {k}": {} for k in range(len(claims))}
    return replace(measured(), programs=programs, runs=(*runs, away))


def points(figure: Any, k: int, has_filled_face: bool) -> set[tuple[float, float]]:
    """Return the points that have the style of backend k."""
    style, face = curve_style(k), curve_style(k).color if has_filled_face else "none"
    return {
        (float(x), float(y))
        for one in figure.axes[0].lines
        if (one.get_color(), one.get_marker(), one.get_markerfacecolor()) == (style.color, style.marker, face)
        and len(xy(one)[0])
        for x, y in zip(*xy(one), strict=True)
    }


def legend_title(figure: Any) -> str:
    return " ".join(figure.legends[0].get_title().get_text().split())


@pytest.mark.thorough
def test_each_run_that_claims_a_gap_is_a_point() -> None:
    figure = claimed_against_certified(benchmark_of_claims(CLAIMS))
    for k, name in enumerate(("fast", "slow")):
        for has_claim in (True, False):
            expected = {(c, gap) for backend, c, gap, says in CLAIMS if backend == name and says == has_claim and c}
            assert points(figure, k, has_claim) == expected
    fast, slow, says, silent = legend_of(figure)
    assert (fast, slow) == ("fast", "slow") and "optimum" in says and "not" in silent.split()
    axis = figure.axes[0]
    assert axis.get_xscale() == axis.get_yscale() == "log" and axis.get_xlim() == axis.get_ylim()
    diagonals = [one for one in axis.lines if np.array_equal(*xy(one)) and len(xy(one)[0]) == 2]
    assert [tuple(xy(one)[0]) for one in diagonals] == [axis.get_xlim()]
    check_rendering(figure)


def test_solvers_without_a_gap_of_their_own_are_named() -> None:
    assert legend_title(claimed_against_certified(benchmark_of_claims(CLAIMS))).endswith(
        " by slow (1 of 2 runs), linear."
    )
    assert legend_title(claimed_against_certified(benchmark_of_claims(CLAIMS[:4]))) == ""


@pytest.mark.thorough
def test_gaps_of_0_and_infinite_ones_stand_at_the_border_with_a_ring() -> None:
    claims: list[Claim] = [
        *CLAIMS,
        ("fast", 0.0, 1e-6, True),
        ("fast", 1e-6, math.inf, True),
        ("slow", 1e-9, 0.0, True),
    ]
    figure = claimed_against_certified(benchmark_of_claims(claims))
    axis = figure.axes[0]
    names = {
        text.get_text(): float(position)
        for position, text in zip(axis.get_xticks(), axis.get_xticklabels(), strict=True)
    }
    zero, infinite = names["0"], names[r"$\infty$"]
    (left_limit, right_limit), inside = axis.get_xlim(), [gap for _, c, gap, _ in CLAIMS[:4] for gap in (c, gap) if gap]
    assert left_limit < zero < min(inside) and max(inside) < infinite < right_limit
    assert {(zero, 1e-6), (1e-6, infinite)} <= points(figure, 0, True) and (1e-9, zero) in points(figure, 1, True)
    (rings,) = [one for one in axis.lines if one.get_label() == "0 or infinite"]
    assert set(zip(*xy(rings), strict=True)) == {(zero, 1e-6), (1e-6, infinite), (1e-9, zero)}
    assert "0 or infinite" in legend_of(figure)
    check_rendering(figure)
    figure.draw_without_rendering()
    boxes = sorted((text.get_window_extent() for text in axis.get_xticklabels()), key=lambda box: box.x0)
    assert all(one.x1 < neighbour.x0 for one, neighbour in itertools.pairwise(boxes))


@pytest.mark.thorough
@pytest.mark.parametrize("gap", [0.0, 1e-16, 1e-9, 1.0, 1e30, math.inf])
def test_a_single_gap_of_any_size_is_drawn(gap: float) -> None:
    check_rendering(
        claimed_against_certified(benchmark_of_claims([("fast", 1e-9, gap, True), ("slow", gap, gap, False)]))
    )


@pytest.mark.thorough
def test_a_real_benchmark_is_drawn() -> None:
    programs = {"linear": reference_lpboost(), "entropic": reference_erlpboost()}
    wrong_backend = Fake("$wrong_$", (attempt(w=[0, 0, 1], status="optimal", claimed_gap=1e-12),))
    b = benchmark(programs, ["interior", "highs", wrong_backend], profiles=1e-9, repeats=1)
    figure = claimed_against_certified(b)
    for k, name in enumerate(("interior", "$wrong_$")):
        positions = points(figure, k, True) | points(figure, k, False)
        assert positions == {(run.claimed_gap, run.scaled_gap) for run in b.runs if run.backend == name}
    assert all(certified > claimed_gap for claimed_gap, certified in points(figure, 1, True))
    assert legend_title(figure).endswith(" by highs.")
    check_rendering(figure)


def test_undrawable_arguments_are_named() -> None:
    runs: Any = benchmark_of_claims(CLAIMS).runs
    with unchecked(), pytest.raises(OptionError, match=r"\bbenchmark\b.*\btuple\b"):
        claimed_against_certified(runs)
    with pytest.raises(ProblemError, match="a solve "):
        claimed_against_certified(benchmark_of_claims([]))
    with pytest.raises(ProblemError, match=r": slow, linear\. .*\binterior\b"):
        claimed_against_certified(benchmark_of_claims(CLAIMS[4:]))
