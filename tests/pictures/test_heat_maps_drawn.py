"""The map of seconds: a colour where a gap was reached, a hatch where it was not, nothing where nobody tried."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib import colormaps
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle
from rendering import check_rendering, legend_of
from small_benchmark import TIMES, measured, run_of
from support.problems import reference_erlpboost, reference_lpboost
from typechecker import unchecked

from boostopt import Benchmark, OptionError, ProblemError, benchmark
from boostopt.pictures import heat_map
from boostopt.pictures.heat_maps import COLORMAP, MAX_PROGRAMS


def cells(figure: Any) -> dict[tuple[int, int], Rectangle]:
    """The cells that are drawn, by row and column."""
    samples = [patch for patch in figure.axes[0].patches if isinstance(patch, Rectangle)]
    return {(round(patch.get_y() + 0.5), round(patch.get_x() + 0.5)): patch for patch in samples}


def names(axis: Any, axis_name: str) -> list[str]:
    return [text.get_text() for text in getattr(axis, f"get_{axis_name}ticklabels")()]


def benchmark_of_size(programs: int, backends: int) -> Benchmark:
    """A benchmark of so many programs and backends: most reached, some failed, some not run."""
    came = [*np.logspace(-4, 3, 9).tolist(), "failed", "not run"]
    runs = [
        run_of(f"formulation {p} on data {p}", f"cvxpy:solver_{k}", 1e-6, came[(3 * p + 5 * k) % len(came)])
        for p in range(programs)
        for k in range(backends)
    ]
    labels = {f"formulation {p} on data {p}": dict[str, Any]() for p in range(programs)}
    return replace(
        measured(), programs=labels, runs=tuple(runs), settings=replace(measured().settings, target_gaps=(1e-6,))
    )


@pytest.mark.thorough
@pytest.mark.parametrize("tol", ["1e-3", "1e-6"])
def test_cells_show_the_measured_times(tol: str) -> None:
    figure = heat_map(measured(), float(tol))
    axis, bar = figure.axes
    backends = ["fast", "slow", "linear"]
    assert (
        names(axis, "y") == list("abcd") and names(axis, "x") == backends and axis.get_title() == f"gap {float(tol):g}"
    )
    low, high = bar.get_xlim()
    cell_at = cells(figure)
    texts = {tuple(map(round, text.get_position())): text.get_text() for text in axis.texts}
    assert bar.get_xscale() == "log"
    for column, backend in enumerate(backends):
        for row, came in enumerate(TIMES[backend, tol]):
            cell = cell_at[row, column]
            if isinstance(came, str):
                assert bool(cell.get_hatch()) == (came == "failed")
                assert cell.get_facecolor() == to_rgba("white") and (column, row) not in texts
                continue
            share = math.log(came / low) / math.log(high / low)
            assert cell.get_facecolor() == pytest.approx(colormaps[COLORMAP](share), abs=0.02) and not cell.get_hatch()
            assert texts[column, row] == f"{came:.2g}"
    assert legend_of(figure) == ["failed", "not run"]
    check_rendering(figure)


def test_one_gap_or_profile_is_drawn_by_default_the_finest() -> None:
    b = measured()
    assert heat_map(b).axes[0].get_title() == "gap 1e-06"
    profile_names = {1e-3: "low", 1e-6: "mid"}
    by_name = replace(b, runs=tuple(replace(run, profile=profile_names[run.tol]) for run in b.runs))
    assert heat_map(by_name).axes[0].get_title() == "mid, gap 1e-06"
    for tol in ("low", 1e-3, np.float64(1e-3)):
        assert heat_map(by_name, tol).axes[0].get_title() == "low, gap 0.001"
    for tol in (1e-4, "low", True, [1e-3]):
        argument: Any = tol
        with (
            unchecked(),
            pytest.raises(OptionError, match=rf"\btol\b.*{re.escape(repr(tol))}.* 0\.001, 1e-"),
        ):
            heat_map(b, argument)


@pytest.mark.thorough
@pytest.mark.parametrize("brief", [False, True])
@pytest.mark.parametrize("programs, backends", [(2, 1), (2, 60), (4, 5), (40, 12), (120, 3)])
def test_labels_stay_legible_whatever_the_size(programs: int, backends: int, brief: bool) -> None:
    figure = heat_map(benchmark_of_size(programs, backends), brief=brief)
    check_rendering(figure)
    axis = figure.axes[0]
    rows = [text.get_window_extent() for text in axis.get_yticklabels()]
    columns = [text.get_window_extent() for text in axis.get_xticklabels()]
    assert len(rows) == programs and len(columns) == backends
    assert all(upper.y0 > lower.y1 for upper, lower in itertools.pairwise(rows))
    assert all(box.x1 < next_box.x0 for box, next_box in itertools.pairwise(columns))
    assert axis.title.get_window_extent().y0 >= max(box.y1 for box in columns)
    width = axis.get_window_extent().width / backends
    assert all(text.get_window_extent().width < width for text in axis.texts)
    assert bool(axis.texts) == (not brief and backends <= 24)
    assert min(float(label.get_fontsize()) for label in (*axis.get_xticklabels(), *axis.get_yticklabels())) > 8
    ticks = [text.get_window_extent() for text in figure.axes[1].get_xticklabels() if text.get_text()]
    low, high = figure.axes[1].get_window_extent().intervalx
    inside = [box for box in ticks if low <= (box.x0 + box.x1) / 2 <= high]
    assert inside and all(box.x1 < next_box.x0 for box, next_box in itertools.pairwise(inside))


@pytest.mark.thorough
def test_heat_map_without_a_success_has_no_scale() -> None:
    b = measured()
    failed = tuple(replace(run, result="failed", seconds=1.0, scaled_gap=1.0) for run in b.runs)
    figure = heat_map(replace(b, runs=failed))
    assert len(figure.axes) == 1 and all(cell.get_hatch() for cell in cells(figure).values())
    check_rendering(figure)


def test_equal_times_have_a_number_on_the_scale() -> None:
    b = measured()
    alike = tuple(replace(run, result="reached", seconds=0.017, scaled_gap=1e-9) for run in b.runs)
    figure = heat_map(replace(b, runs=alike))
    figure.draw_without_rendering()
    low, high = figure.axes[1].get_xlim()
    assert any(low <= tick <= high for tick in figure.axes[1].get_xticks())


def test_a_program_that_was_not_reached_yet_is_blank() -> None:
    b = measured()
    figure = heat_map(replace(b, runs=tuple(run for run in b.runs if run.program != "b")))
    assert names(figure.axes[0], "y") == list("abcd")
    assert {row for row, _ in cells(figure)} == {0, 2, 3}


@pytest.mark.thorough
def test_names_are_shown_as_they_are() -> None:
    b = measured()
    strange = {"a": "$x^2$ on $y$", "b": "_hidden", "c": "c" * 90, "d": "d"}
    runs = tuple(replace(run, program=strange[run.program], backend=f"${run.backend}$") for run in b.runs)
    figure = heat_map(replace(b, programs={label: {} for label in strange.values()}, runs=runs))
    assert names(figure.axes[0], "y") == [r"\$x^2\$ on \$y\$", " _hidden", f"{'c' * 37}...", "d"]
    assert names(figure.axes[0], "x")[0] == r"\$fast\$"
    check_rendering(figure)


@pytest.mark.thorough
def test_a_real_benchmark_is_drawn() -> None:
    programs = {"linear": reference_lpboost(), "entropic": reference_erlpboost()}
    b = benchmark(programs, ["highs", "interior"], profiles=["default", "high"], repeats=1)
    figure = heat_map(b, "default")
    assert figure.axes[0].get_title() == "default, gap 1e-08"
    blank = cells(figure)[1, 0]
    assert blank.get_facecolor() == to_rgba("white") and not blank.get_hatch()
    check_rendering(figure)


def test_undrawable_arguments_are_named() -> None:
    runs: Any = measured().runs
    with unchecked(), pytest.raises(OptionError, match=r"\bbenchmark\b.*\btuple\b"):
        heat_map(runs)
    with unchecked(), pytest.raises(OptionError, match=r"\bbrief\b.*\bTrue\b"):
        heat_map(measured(), brief=runs)
    with pytest.raises(ProblemError, match="a solve "):
        heat_map(replace(measured(), runs=()))
    with pytest.raises(
        ProblemError, match=rf"\b{MAX_PROGRAMS} programs\b.*\b{MAX_PROGRAMS} backends\b.*\b{MAX_PROGRAMS + 1} and 1\b"
    ):
        heat_map(benchmark_of_size(MAX_PROGRAMS + 1, 1))
