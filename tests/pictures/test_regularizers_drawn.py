"""Weights of a regularizer by margins: the triangle, and weights against margins with some examples marked."""

from __future__ import annotations

import re
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import typechecker
from rendering import check_rendering, counted, labels, legend_of, line, points, run, size, xy

from boostopt.authoring import (
    CappedSimplex,
    CappedSimplexIndicator,
    CvxpyRegularizer,
    Hinge,
    PowerDivergence,
    Regularizer,
    RelativeEntropy,
)
from boostopt.boosting.dynamics import triangle_coordinates
from boostopt.errors import OptionError, ProblemError
from boostopt.pictures import weights_by_margin, weights_on_triangle

ONES = np.ones(3)
CAPPED = CappedSimplex(ONES, 1.25)
MIDDLE = triangle_coordinates(ONES / 3)


def lines(figure: Any) -> np.ndarray:
    """Return the points of the twelve lines, shape (12, 11, 2)."""
    coordinates = np.column_stack(xy(line(figure.axes[0], "$d$ where")))
    ends = np.isnan(coordinates[:, 0])
    assert ends.sum() == 12
    return coordinates[~ends].reshape(12, -1, 2)


def edge(figure: Any) -> np.ndarray:
    """The outline of the domain."""
    (outline,) = figure.axes[0].patches
    return np.asarray(outline.get_xy())


@pytest.mark.thorough
def test_lines_are_the_weights_at_margins_that_grow_apart() -> None:
    F = RelativeEntropy.capped(ONES, 1.0, 2.0, ONES / 3)
    figure = weights_on_triangle(F, reach=0.5)
    paths = lines(figure)
    assert paths.shape == (12, 11, 2) and np.allclose(paths[:, 0], MIDDLE)
    tips = {tuple(np.round(tip, 9)) for tip in paths[:, -1]}
    for margins in ([0.5, -0.25, -0.25], [-0.5, 0.25, 0.25], [0.5, -0.5, 0.0]):
        weights = np.exp(-2.0 * np.array(margins))
        assert tuple(np.round(triangle_coordinates(weights / weights.sum()), 9)) in tips
    domain, weights, equal = legend_of(figure)
    assert domain.endswith(" $F$") and re.fullmatch(r"\$d\$ .*\b0\.5", weights) and equal == "equal margins"
    check_rendering(figure)


def test_the_domain_ends_at_the_caps() -> None:
    """Caps of 4/5: the outline is a hexagon, as far as the rays see its corners."""
    outline = edge(weights_on_triangle(CappedSimplexIndicator(CAPPED)))
    assert outline[:, 1].max() == pytest.approx(0.8 * np.sqrt(3) / 2, abs=2e-3)
    assert outline[:, 1].min() == pytest.approx(0.0, abs=1e-6)
    assert np.array_equal(outline[0], outline[-1])


@pytest.mark.thorough
def test_levels_are_drawn_where_f_has_some_also_if_it_is_infinite_at_the_edge() -> None:
    def levels(F: Regularizer) -> int:
        return len(weights_on_triangle(F).axes[0].collections)

    assert levels(CappedSimplexIndicator(CAPPED)) == 0
    assert levels(PowerDivergence(CAPPED, 2.0, 1.0)) == levels(PowerDivergence(CAPPED, -1.0, 1.0)) == 1


@pytest.mark.thorough
def test_weights_that_need_not_sum_to_one_are_divided_by_their_sum() -> None:
    """Of margins 1.5 times apart the hinge is right at some, wrong at others: a corner, the middle of a side, all."""
    figure = weights_on_triangle(Hinge(ONES, 0.5), reach=1.5)
    assert not figure.axes[0].patches
    tips = {tuple(np.round(tip, 6)) for tip in lines(figure)[:, -1]}
    assert tuple(np.round(triangle_coordinates(np.array([0.5, 0.5, 0.0])), 6)) in tips
    check_rendering(figure)


@pytest.mark.thorough
def test_a_description_is_drawn_as_its_closed_form() -> None:
    closed = PowerDivergence(CAPPED, 2.0, 2.0)
    cvxpy_regularizer = CvxpyRegularizer(CAPPED, lambda d: 0.75 * cp.sum_squares(d), ONES / 3)
    assert np.allclose(lines(weights_on_triangle(cvxpy_regularizer)), lines(weights_on_triangle(closed)), atol=1e-4)


@pytest.mark.parametrize(
    ("arguments", "error", "facts"),
    [
        ((ONES,), OptionError, r"^regularizer .*\bndarray\b"),
        (
            (CappedSimplexIndicator(CappedSimplex(np.ones(4), 2.0)),),
            ProblemError,
            r"\bregularizer\b.*\b3 examples\b.*\b4\.",
        ),
        ((CappedSimplexIndicator(CAPPED), 0.0), OptionError, r"^reach .*positive.*\b0\.0\."),
    ],
    ids=["no regularizer", "four examples", "reach"],
)
def test_undrawable_arguments_are_named(arguments: tuple[Any, ...], error: type[Exception], facts: str) -> None:
    with typechecker.unchecked(), pytest.raises(error, match=facts):
        weights_on_triangle(*arguments)


@pytest.mark.thorough
def test_a_run_has_its_weights_and_margins_and_marks_are_counted() -> None:
    one, marked = run(), np.arange(60) < 6
    figure = weights_by_margin(one, marked=marked)
    m, relative = xy(line(figure.axes[0], "marked"))
    assert np.allclose(relative, 60 * one.d[:6])
    assert np.allclose(m, (labels() * one.decision_function(points()))[:6])
    shares = [re.findall(r"^\w+|\d+%", label) for label in legend_of(figure)[1:]]
    assert shares == [["others", f"{one.d[6:].sum():.0%}", "90%"], ["marked", f"{one.d[:6].sum():.0%}", "10%"]]
    check_rendering(figure)


def test_arrays_are_drawn_with_multiplicities() -> None:
    figure = weights_by_margin([2.0, 1.0, 1.0], [-0.5, 0.0, 0.5], c=[1.0, 3.0, 0.0])
    m, relative = xy(line(figure.axes[0], "examples"))
    assert m.tolist() == [-0.5, 0.0] and np.allclose(relative, [0.5 * 4, 0.25 * 4 / 3])
    # One of these 60 counts not at all.
    assert size(line(weights_by_margin(counted()).axes[0], "examples")) == 59


@pytest.mark.parametrize(
    ("arguments", "error", "facts"),
    [
        (lambda: {"weights": run(), "margins": [1.0]}, OptionError, r"\brun\b.* without margins\b"),
        (lambda: {"weights": [1.0]}, OptionError, "^margins .*array of weights"),
        (lambda: {"weights": [1.0], "margins": [1.0, 0.0]}, ProblemError, r"^weights .*\b2 .*\b1, the smallest 1\."),
        (lambda: {"weights": [1.0, -1.0], "margins": [1.0, 0.0]}, ProblemError, r"^weights .*\b2, the smallest -1\."),
        (
            lambda: {"weights": [1.0, 1.0], "margins": [1.0, 0.0], "marked": [1, 0]},
            ProblemError,
            r"^marked .*\b2 .*\bint64\b",
        ),
    ],
    ids=["a run with margins", "no margins", "length", "sign", "marked"],
)
def test_weights_that_do_not_fit_are_named(arguments: Any, error: type[Exception], facts: str) -> None:
    with pytest.raises(error, match=facts):
        weights_by_margin(**arguments())
