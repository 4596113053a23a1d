"""Properties of all pictures: they are seen, they leave pyplot alone, they say what is missing."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from rendering import check_rendering, labels, legend_of, points, run

from boostopt import OptionError, pictures
from boostopt.pictures.style import COLORS, GREY, curve_style


def script_output(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.thorough
def test_importing_loads_no_matplotlib_and_drawing_no_pyplot() -> None:
    code = "import sys, boostopt.pictures as p; dir(p); print('matplotlib' in sys.modules)"
    assert script_output(code) == "False"
    code = "import sys, boostopt.pictures as p; p.bounds; p.profiles; print('matplotlib.pyplot' in sys.modules)"
    assert script_output(code) == "False"


@pytest.mark.thorough
def test_without_matplotlib_the_error_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import boostopt, boostopt.pictures\n"
        "try:\n"
        "    from boostopt.pictures import bounds\n"
        "except boostopt.pictures.MatplotlibNotFound as missing:\n"
        "    print(isinstance(missing, (ImportError)), isinstance(missing, boostopt.BoostoptError), missing)"
    )
    output = script_output(code)
    assert output.startswith("True True") and re.search(r'matplotlib.*"boostopt\[report\]"', output)


def test_every_public_name_loads() -> None:
    assert set(pictures.__all__) <= set(dir(pictures))
    for name in pictures.__all__:
        assert callable(getattr(pictures, name))
    with pytest.raises(AttributeError, match="'nonsense'"):
        pictures.nonsense  # noqa: B018  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.thorough
def test_a_notebook_gets_a_png_and_pyplot_registers_no_figure() -> None:
    import matplotlib.pyplot as plt

    fignums = plt.get_fignums()
    figure = pictures.bounds(run())
    assert isinstance(figure, Figure)
    assert figure._repr_png_().startswith(b"\x89PNG")  # pyright: ignore[reportAttributeAccessIssue]
    assert plt.get_fignums() == fignums


def luminance(color: str) -> float:
    """The relative luminance of the accessibility guidelines (WCAG 2)."""
    rgb = np.array(to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def test_forty_nine_looks_differ_and_neighbours_differ_without_colour() -> None:
    looks = [curve_style(k) for k in range(49)]
    assert len({(style.color, str(style.dashes)) for style in looks}) == 49
    assert len({(style.color, style.marker) for style in looks}) == 49
    assert (
        len({str(style.dashes) for style in looks[:7]})
        == len({style.marker for style in looks[:7]})
        == len(COLORS)
        == 7
    )
    assert 1.05 / (luminance(GREY) + 0.05) > 4.5
    assert all(1.05 / (luminance(color) + 0.05) > 1.9 for color in COLORS)


ONE_PANEL: list[Callable[[Any], Figure]] = [
    lambda axes: pictures.margin_distributions(run(), axes=axes),
    lambda axes: pictures.example_weights(run(), axes=axes),
    lambda axes: pictures.decision_regions(run(), points(), labels(), resolution=20, axes=axes),
    lambda axes: pictures.triangle(np.eye(3), axes=axes),
    lambda axes: pictures.cycles(np.eye(3), axes=axes),
]


@pytest.mark.thorough_cases("<lambda>0")
@pytest.mark.every(3)
@pytest.mark.parametrize("draw", ONE_PANEL)
def test_on_axes_of_the_callers_no_legend_and_no_panel_is_added(draw: Callable[[Any], Figure]) -> None:
    mine = Figure(figsize=(8, 4), layout="constrained")
    left_axis, right_axis = mine.subplots(1, 2)
    assert draw(right_axis) is mine
    assert mine.axes == [left_axis, right_axis] and not mine.legends and right_axis.get_legend() is None
    assert not left_axis.has_data() and right_axis.has_data()
    assert right_axis.get_legend_handles_labels()[1]
    check_rendering(mine)


def test_axes_of_a_subfigure_belong_to_the_whole_figure() -> None:
    mine = Figure(layout="constrained")
    part: Any = mine.subfigures(1, 2)
    axis = part[0].subplots()
    assert pictures.triangle(np.eye(3), axes=axis) is mine


def test_axes_that_do_not_fit_are_named() -> None:
    axis = Figure().subplots()
    with pytest.raises(OptionError, match=r"^axes .*\b2 .*\b1 \(Axes\)"):
        pictures.bounds(run(), axes=axis)
    with pytest.raises(OptionError, match=r"^axes .*\b1 .*\b2 \(Axes, Axes\)"):
        pictures.triangle(np.eye(3), axes=[axis, axis])
    axis.remove()
    with pytest.raises(OptionError, match=r"^axes .*removed"):
        pictures.triangle(np.eye(3), axes=axis)


@pytest.mark.parametrize("label", ["", "_hidden", "  "])
def test_labels_that_a_legend_would_hide_are_named(label: str) -> None:
    with pytest.raises(OptionError, match=rf"'_'.* label {re.escape(repr(label))}\."):
        pictures.bounds({label: run()})
    with pytest.raises(OptionError, match="got none"):
        pictures.bounds({})


@pytest.mark.thorough
def test_a_legend_of_many_long_labels_fits_below() -> None:
    runs = {f"a run with a rather long name, number {k}": run() for k in range(9)}
    figure = pictures.bounds(runs)
    check_rendering(figure)
    assert len(legend_of(figure)) == 10
