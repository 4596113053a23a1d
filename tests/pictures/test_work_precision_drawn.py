"""Work-precision diagrams: a line for each solver, the requests beside its points, the fainter lines."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from rendering import check_rendering, legend_of, line, xy
from support.problems import reference_erlpboost, reference_lpboost
from typechecker import unchecked

from boostopt import OptionError, ProblemError, WorkPrecision, precision
from boostopt.pictures import work_precision

REQUESTS = [1e-2, 1e-4, 1e-6]


@cache
def measurement() -> WorkPrecision:
    programs = {"entropy": reference_erlpboost(), "linear": reference_lpboost()}
    return precision(programs, ["interior", "cvxpy:scs", "augmented_lagrangian"], REQUESTS)


@cache
def picture() -> Figure:
    return work_precision(measurement())


@pytest.mark.thorough
def test_the_picture_can_be_looked_at() -> None:
    check_rendering(work_precision(measurement(), "total"))


def test_a_line_has_the_certified_gaps_against_the_seconds_in_the_solver() -> None:
    for axis, program in zip(picture().axes, measurement().programs, strict=True):
        assert axis.get_title() == program
        for backend in ("interior", "cvxpy:scs"):
            points = measurement().line(program, backend)
            seconds, gaps = xy(line(axis, backend))
            assert seconds.tolist() == [point.solver_seconds for point in points]
            assert gaps.tolist() == [point.scaled_gap for point in points]


def test_total_seconds_are_those_of_all_phases_but_the_certificate() -> None:
    axis = work_precision(measurement(), "total").axes[0]
    seconds, _ = xy(line(axis, "cvxpy:scs"))
    points = measurement().line("entropy", "cvxpy:scs")
    assert seconds.tolist() == [point.seconds for point in points]
    assert "model" in axis.get_xlabel()


def test_each_request_stands_beside_its_point_and_checkpoints_have_none() -> None:
    axis = picture().axes[0]
    labels = [text.get_text() for text in axis.texts]
    for exponent in (-2, -4, -6):
        assert sum(f"10^{{{exponent}}}" in label for label in labels) == 2  # of interior and scs
    places = {tuple(text.xy) for text in axis.texts if isinstance(text, Annotation)}
    points = measurement().line("entropy", "interior")
    assert {(point.solver_seconds, point.scaled_gap) for point in points} <= places


def test_requests_with_equal_answers_share_a_label() -> None:
    first, *rest = measurement().runs_of("entropy")[:3]
    equal = [replace(run, scaled_gap=first.scaled_gap, iterations=first.iterations) for run in rest]
    result = replace(measurement(), runs=(first, *equal), programs={"entropy": measurement().programs["entropy"]})
    (text,) = work_precision(result).axes[0].texts
    assert text.get_text() == "$10^{-2}$ to $10^{-6}$"


def test_claims_and_residuals_are_fainter_lines_of_the_same_colour() -> None:
    axis = picture().axes[0]
    certified = line(axis, "interior")
    points = measurement().line("entropy", "interior")
    faint = [one for one in axis.lines if one.get_color() == certified.get_color() and one.get_alpha()]
    values = [xy(one)[1].tolist() for one in faint]
    assert [point.claimed_gap for point in points] in values and [point.residual for point in points] in values
    assert {"gap that the solver claims", "largest residual of its answer"} <= set(legend_of(picture()))
    assert any("interior" in text for text in legend_of(picture()))


def test_an_answer_without_a_certified_gap_is_a_hollow_point_at_the_top() -> None:
    runs = measurement().runs_of("entropy")[:3]
    open_ended = replace(runs[0], scaled_gap=math.inf, upper=math.inf, gap=math.inf)
    programs = {"entropy": measurement().programs["entropy"]}
    axis = work_precision(replace(measurement(), runs=(open_ended, *runs[1:]), programs=programs)).axes[0]
    (hollow,) = [one for one in axis.lines if one.get_markerfacecolor() == "none" and len(xy(one)[0])]
    assert xy(hollow)[1][0] > max(run.scaled_gap for run in runs[1:])
    assert len(xy(line(axis, "interior"))[0]) == 2


def test_axes_of_the_caller_are_drawn_on_without_a_legend() -> None:
    axes = Figure().subplots(1, 2)
    figure = work_precision(measurement(), axes=list(axes))
    assert figure is axes[0].figure and not figure.legends
    with pytest.raises(OptionError, match=r"\b2\b.*\baxes|axes\b.*\b2\b"):
        work_precision(measurement(), axes=axes[0])


def test_what_is_no_measurement_is_refused() -> None:
    number: Any = 3
    with unchecked(), pytest.raises(OptionError, match=r"\bprecision\b"):
        work_precision(number)
    with pytest.raises(OptionError, match=r"\bseconds\b"):
        work_precision(measurement(), "minutes")
    idle = precision(reference_erlpboost(), "cvxpy:highs", 1e-3)
    with pytest.raises(ProblemError, match=r"\bsolve\b"):
        work_precision(idle)
