"""The triangle and the time series: where distributions lie, and where a cycle begins."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import PathCollection
from rendering import check_rendering, legend_of, line, size, xy

from boostopt import OptionError, ProblemError, instances
from boostopt.boosting.dynamics import Cycle, find_cycle, iterate
from boostopt.pictures import cycles, triangle


def orbit(rounds: int = 40) -> tuple[np.ndarray, Cycle]:
    M = instances.cycle_3x3().U
    trajectory, choices = iterate(M, np.array([0.2, 0.3, 0.5]), rounds)
    cycle = find_cycle(M, trajectory, choices)
    assert cycle is not None and cycle.period == 3
    return trajectory, cycle


def circles(figure: Any, label: str) -> PathCollection:
    (circles_of_label,) = [one for one in figure.axes[0].collections if one.get_label() == label]
    return circles_of_label


def test_corners_middle_and_growing_circles() -> None:
    d = np.vstack([np.eye(3), np.full(3, 1 / 3)])
    figure = triangle(d)
    trajectory = circles(figure, "trajectory")
    height = np.sqrt(3) / 2
    assert np.allclose(trajectory.get_offsets(), [[0, 0], [1, 0], [0.5, height], [0.5, height / 3]])
    assert (np.diff(trajectory.get_sizes()) > 0).all()
    assert [text.get_text() for text in figure.axes[0].texts] == ["$d_0 = 1$", "$d_1 = 1$", "$d_2 = 1$"]
    check_rendering(figure)


@pytest.mark.thorough
def test_a_cycle_is_closed_and_the_end_of_the_trajectory_lies_on_it() -> None:
    trajectory, cycle = orbit()
    for limit_cycle in (cycle, cycle.points):
        figure = triangle(trajectory, limit_cycle)
        x, y = xy(line(figure.axes[0], "cycle of period 3"))
        assert (x[0], y[0]) == (x[-1], y[-1]) and len(x) == 4
        end = np.asarray(circles(figure, "trajectory").get_offsets())[-1]
        assert np.hypot(x - end[0], y - end[1]).min() < 1e-6
    check_rendering(figure)


@pytest.mark.thorough
def test_several_trajectories_have_markers_of_their_own() -> None:
    trajectory, _ = orbit()
    figure = triangle({"early": trajectory[:5], "late": trajectory[-5:]})
    assert legend_of(figure) == ["early", "late"]
    early, late = (circles(figure, name).get_paths()[0].vertices for name in ("early", "late"))
    assert np.shape(early) != np.shape(late)
    check_rendering(figure)


@pytest.mark.thorough
def test_weights_over_the_rounds_and_where_the_cycle_begins() -> None:
    trajectory, cycle = orbit()
    figure = cycles(trajectory, cycle)
    axis = figure.axes[0]
    for n in range(3):
        x, y = xy(line(axis, f"$d_{n}$"))
        assert np.array_equal(x, np.arange(41)) and np.array_equal(y, trajectory[:, n])
    marks = sorted(xy(one)[0][0] for one in axis.lines if size(one) == 2)
    assert set(np.diff(marks)) == {3.0}
    assert re.fullmatch(rf"cycle .*\b3, .*\b{marks[0]:.0f}", legend_of(figure)[-1])
    start = int(marks[0])
    whole = trajectory[start : start + 3 * len(marks)].reshape(-1, 3, 3)
    assert np.abs(whole - cycle.points).max() <= 1e-6 and len(marks) > 5
    assert np.abs(trajectory[start - 3 : start] - cycle.points).max() > 1e-6
    check_rendering(figure)


@pytest.mark.thorough
def test_many_examples_are_an_image() -> None:
    d = np.random.default_rng(0).dirichlet(np.ones(12), size=30)
    figure = cycles(d, d[-2:])
    (image,) = figure.axes[0].images
    assert np.array_equal(np.asarray(image.get_array()), d.T) and len(figure.axes) == 2
    (label,) = legend_of(figure)
    assert re.fullmatch(r"cycle .*\b2, .*\b28", label)
    check_rendering(figure)


def test_a_cycle_that_the_trajectory_does_not_reach_is_not_marked() -> None:
    _, cycle = orbit()
    figure = cycles(np.full((10, 3), 1 / 3), cycle)
    assert len(figure.axes[0].lines) == 3


@pytest.mark.parametrize(
    ("d", "facts"),
    [
        (np.full((4, 4), 0.25), r"\b3 examples\b.*\b4\."),
        (np.zeros((0, 3)), r"shape \(0, 3\)"),
        (np.ones((2, 3)), r"\bsum 1\b.*\b2\."),
        (np.array([[1.5, -0.5, 0.0]]), r"\bsum 1\b.*\b0\.5\."),
        (np.array([[np.nan, 0.5, 0.5]]), r"\bnan at \(0, 0\)"),
        (np.array([0.2, 0.3, 0.5]), r"\b2 dimension.*shape \(3,\)"),
    ],
    ids=["four examples", "empty", "sum", "sign", "nan", "one dimension"],
)
def test_bad_input_is_named(d: Any, facts: str) -> None:
    with pytest.raises(ProblemError, match=facts):
        triangle(d)


def test_cycles_need_the_same_examples_and_something_to_draw() -> None:
    with pytest.raises(ProblemError, match=r"^cycle .*\b4 examples\b.*\b3\."):
        cycles(np.full((4, 4), 0.25), np.eye(3))
    with pytest.raises(OptionError, match="got none"):
        triangle({})
