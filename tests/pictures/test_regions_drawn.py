"""Decision regions: the zero line where f changes its sign, and areas in proportion to weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PathCollection
from matplotlib.contour import QuadContourSet
from rendering import check_rendering, labels, legend_of, points, run
from sklearn.linear_model import LogisticRegression

from boostopt import OptionError, ProblemError
from boostopt.pictures import decision_regions

pytestmark = pytest.mark.every(2)


@dataclass(frozen=True)
class Says:
    """A classifier by its formula."""

    f: Callable[[np.ndarray], Any]

    def decision_function(self, X: np.ndarray) -> Any:
        return self.f(X)


def markers(figure: Any, label: str) -> PathCollection:
    (markers_of_label,) = [one for one in figure.axes[0].collections if one.get_label() == label]
    assert isinstance(markers_of_label, PathCollection)
    return markers_of_label


def zero_lines(figure: Any) -> np.ndarray:
    """The vertices of the lines that are drawn where f changes its sign."""
    lines = [one for one in figure.axes[0].collections if isinstance(one, QuadContourSet) and not one.filled]
    return np.vstack([path.vertices for one in lines for path in one.get_paths()]) if lines else np.empty((0, 2))


@pytest.mark.thorough
def test_the_line_lies_where_f_is_zero() -> None:
    X, y = points(), labels()
    figure = decision_regions(Says(lambda X: X[:, 0] - 0.3), X, y, resolution=40)
    assert np.allclose(zero_lines(figure)[:, 0], 0.3)
    assert zero_lines(figure)[:, 1].min() < X[:, 1].min() and zero_lines(figure)[:, 1].max() > X[:, 1].max()
    check_rendering(figure)


@pytest.mark.thorough
def test_areas_of_markers_are_proportional_to_the_weights_class_by_class() -> None:
    X, y, boosted_run = points(), labels(), run()
    figure = decision_regions(boosted_run, X, y, weights=boosted_run.d, resolution=50)
    for label, examples in (("$y = 1$", y == 1), ("$y = -1$", y == -1)):
        label_markers = markers(figure, label)
        assert np.allclose(
            label_markers.get_sizes() / boosted_run.d[examples],
            label_markers.get_sizes().max() / boosted_run.d[examples].max(),
        )
        assert np.allclose(label_markers.get_offsets(), X[examples])
    assert legend_of(figure) == ["$y = 1$", "$y = -1$"]
    assert len(figure.axes) == 2, "the regions and the bar of their colours"
    vertices = zero_lines(figure)
    inside = (vertices > X.min(axis=0)).all(axis=1) & (vertices < X.max(axis=0)).all(axis=1)
    step = np.ptp(X, axis=0) * 1.12 / 49
    around = (
        vertices[inside][:, np.newaxis]
        + np.array([[-1, 0], [1, 0], [0, -1], [0, 1], [1, 1], [-1, -1], [1, -1], [-1, 1]]) * step
    )
    signs = np.sign(boosted_run.decision_function(around.reshape(-1, 2))).reshape(-1, 8)
    assert (np.ptp(signs, axis=1) > 0).all(), "near the line both signs occur"
    check_rendering(figure)


def test_equal_sizes_without_weights_and_classes_of_their_own_markers() -> None:
    figure = decision_regions(run(), points(), labels(), resolution=20)
    first, second = (markers(figure, label) for label in ("$y = 1$", "$y = -1$"))
    assert len(set(first.get_sizes())) == 1 and set(first.get_sizes()) == set(second.get_sizes())
    assert first.get_paths()[0].vertices.shape != second.get_paths()[0].vertices.shape  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.thorough
def test_an_area_of_zeros_is_hatched_and_has_two_sides() -> None:
    X, y = points(), labels()
    figure = decision_regions(Says(lambda X: np.sign(np.round(X[:, 0])) * 0.5), X, y, resolution=60)
    hatched = [one for one in figure.axes[0].collections if isinstance(one, QuadContourSet) and any(one.hatches)]
    assert len(hatched) == 1
    step = np.ptp(X[:, 0]) * 1.12 / 59
    x = zero_lines(figure)[:, 0]
    assert (np.minimum(abs(x + 0.5), abs(x - 0.5)) <= step).all() and x.min() < 0 < x.max()
    assert "hatched" in figure.axes[1].get_ylabel()
    check_rendering(figure)


def test_zeros_on_a_line_only_are_a_line() -> None:
    X = np.array([[-1.0, -1.0], [1.0, 1.0]])
    figure = decision_regions(Says(lambda X: X[:, 0]), X, [0, 1], resolution=21)
    assert not any(any(one.hatches) for one in figure.axes[0].collections if isinstance(one, QuadContourSet))
    assert np.allclose(zero_lines(figure)[:, 0], 0.0)


@pytest.mark.thorough
@pytest.mark.parametrize("value", [0.0, 0.7, -0.7])
def test_a_constant_has_no_line_and_no_warning(value: float) -> None:
    figure = decision_regions(Says(lambda X: np.full(len(X), value)), points(), labels(), resolution=10)
    assert len(zero_lines(figure)) == 0
    check_rendering(figure)


@pytest.mark.thorough
def test_a_table_names_the_axes_and_reaches_the_classifier_as_a_table() -> None:
    X = pd.DataFrame(points(), columns=["width", "height"])
    y = np.where(labels() > 0, "yes", "no")
    fitted = LogisticRegression().fit(X, y)  # warns of a grid without names
    figure = decision_regions(fitted, X, y, resolution=10)
    assert (figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()) == ("width", "height")
    assert legend_of(figure) == ["y = yes", "y = no"]
    check_rendering(figure)


def linear(X: np.ndarray) -> np.ndarray:
    return X[:, 0]


@pytest.mark.parametrize(
    ("changes", "error", "facts"),
    [
        ({"X": np.zeros((60, 3))}, ProblemError, r"^X .*\btwo features\b.*\b3\."),
        ({"X": np.zeros((0, 2))}, ProblemError, r"^X .*shape \(0, 2\)"),
        ({"X": np.full((60, 2), np.nan)}, ProblemError, r"^X .*finite\b.*\bnan at \(0, 0\)"),
        ({"y": np.ones(60)}, ProblemError, r"^y .*\b60 labels\b.*\(60,\) with 1 "),
        ({"y": np.arange(60)}, ProblemError, r"^y .*\(60,\) with 60 "),
        ({"y": [1, -1]}, ProblemError, r"^y .*\(2,\) with 2 "),
        ({"y": np.array([1, "a"] * 30, dtype=object)}, ProblemError, r"^y .*\bone type\b"),
        ({"weights": np.ones(3)}, ProblemError, r"^weights .*\b60 .*\b3, the smallest 1\."),
        ({"weights": -np.ones(60)}, ProblemError, r"^weights .*\b60, the smallest -1\."),
        ({"weights": np.full(60, np.nan)}, ProblemError, r"^weights .*finite\b.*\bnan at \(0,\)"),
        ({"resolution": 1}, OptionError, r"^resolution .*\b2\b.*\b1\."),
        ({"classifier": Says(lambda X: np.zeros((len(X), 3)))}, ProblemError, r"^decision_function .*shape \(\d+, 3\)"),
        (
            {"classifier": Says(lambda X: np.full(len(X), np.nan))},
            ProblemError,
            r"^decision_function .*finite\b",
        ),
    ],
    ids=[
        *("columns of X", "empty X", "nan in X", "one class", "sixty classes", "length of y", "types in y"),
        *("length of weights", "sign of weights", "nan in weights", "resolution", "columns of f", "nan in f"),
    ],
)
def test_bad_input_is_named(changes: dict[str, Any], error: type[Exception], facts: str) -> None:
    options: dict[str, Any] = {"classifier": Says(linear), "X": points(), "y": labels(), "resolution": 10, **changes}
    with pytest.raises(error, match=facts):
        decision_regions(**options)
