"""Faults that were found in pictures: classifiers instead of runs, options of other types."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from rendering import check_rendering, labels, legend_of, line, points, run, xy

from boostopt.errors import OptionError, ProblemError
from boostopt.estimators import MarginBoostClassifier
from boostopt.pictures import bounds, example_weights, margin_distributions
from boostopt.pictures.picture_arguments import validate_nu
from boostopt.pictures.style import make_panels


def fit_classifier(y: Any) -> Any:
    return MarginBoostClassifier(nu=15, epsilon=0.3).fit(points(), y)


MODEL, THREE = fit_classifier(labels()), fit_classifier(np.arange(60) % 3)


@pytest.mark.thorough
@pytest.mark.parametrize("draw", [bounds, example_weights, margin_distributions])
def test_a_classifier_of_two_classes_is_drawn_as_its_run(draw: Any) -> None:
    of_model, of_run = draw({"it": MODEL}), draw({"it": MODEL.run_})
    assert legend_of(of_model) == legend_of(of_run)
    model_curve, run_curve = (xy(line(figure.axes[0], "it")) for figure in (of_model, of_run))
    np.testing.assert_array_equal(model_curve, run_curve)
    assert legend_of(draw({"it": MODEL, "other": run()}))
    check_rendering(draw(MODEL))


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (
            bounds,
            "expected a Run, what boost returns; got MarginBoostClassifier as 'it'. Pass one of model.runs_.",
        ),
        (
            example_weights,
            "weights are those of a run; it is a MarginBoostClassifier of several. Pass one of model.runs_.",
        ),
        (
            margin_distributions,
            "margins must be those of two classes; it has 3 columns of them, each of a class against the rest. "
            "Draw one column of margins_, or several by their labels.",
        ),
    ],
    ids=["bounds", "example_weights", "margin_distributions"],
)
def test_pictures_of_several_classes_need_a_choice(draw: Any, message: str) -> None:
    """The one test here of whole sentences: what was expected, what came, and what to do."""
    with pytest.raises((OptionError, ProblemError), match=f"^{re.escape(message)}$"):
        draw({"it": THREE})
    assert margin_distributions(THREE.margins_[:, 0]) and bounds(THREE.runs_[0])


@pytest.mark.parametrize("draw", [bounds, example_weights, margin_distributions])
def test_a_classifier_must_be_fitted_to_be_drawn(draw: Any) -> None:
    with pytest.raises(ProblemError, match=r"\bfitted\b.*\bMarginBoostClassifier\b"):
        draw(MarginBoostClassifier())


@pytest.mark.parametrize("nu", ["a", True, 0, -1.0, np.inf, np.nan, [1.0]])
def test_nu_is_a_positive_number(nu: object) -> None:
    with pytest.raises(OptionError, match=rf"^nu .*positive.*{re.escape(repr(nu))}"):
        validate_nu(nu)
    for right in (None, 1, np.int64(2), np.float32(0.5)):
        validate_nu(right)


@pytest.mark.parametrize("axes", [3, "axes", [3]])
def test_axes_are_axes(axes: object) -> None:
    with pytest.raises(OptionError, match=r"^axes must be 1 matplotlib Axes\b.* got 1 "):
        make_panels(axes)
