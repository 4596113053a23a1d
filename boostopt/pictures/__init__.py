"""Pictures: functions that draw the results of a run, a path or a comparison, and return a matplotlib Figure.

bounds
    Bounds of the soft margin, and the gap between them, against rounds or seconds.
margin_distributions
    Margins of classifiers as cumulative distributions, with rho and the share of nu.
example_weights
    Weights d of the examples relative to their caps, by size or example by example.
weights_by_margin
    Weights d of the examples against their margins, some of them marked.
weights_on_triangle
    Weights that a regularizer gives to the margins of three examples, on their simplex.
decision_regions
    f(x) over two features, its zero line, and the examples with their weights as sizes.
triangle, cycles
    AdaBoost's distributions on the simplex of three examples, and over the rounds for any number of examples.
path_of_runs
    Soft margin, number of hypotheses and their weights along a path of values of a parameter.
profiles, intervals
    The time in which each backend reaches a certified gap; certified intervals side by side.
heat_map
    Seconds of every backend on every program at one gap as colours, failures hatched.
claimed_against_certified
    The certified gap against the gap that the solver claims, run by run.
work_precision
    The certified gap against the seconds, with the request beside each point, a line for each solver.

The functions need matplotlib: `pip install "boostopt[report]"`. They do not use pyplot: no window opens, nothing global
changes, and a notebook shows the figure that a cell ends with. Colour-blind readers can distinguish the colours, and
lines and markers differ without colour, too. If you pass `axes`, a function draws on them and adds no legend and no
colour bar. Place the legend in your own layout with `axes.legend()`.

Names are loaded on first use, so that importing this module does not load matplotlib.
"""

from typing import Any

from boostopt._utils.lazy_names import attach

_load_attribute, __dir__, __all__ = attach(__name__)


def __getattr__(name: str) -> Any:
    """Load a public name from its module on first use."""
    try:
        return _load_attribute(name)
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] != "matplotlib":
            raise
        from boostopt.pictures.picture_arguments import MatplotlibNotFound

        raise MatplotlibNotFound(
            f"boostopt.pictures.{name} expected an installed matplotlib; there is none. Install it: "
            'pip install "boostopt[report]".'
        ) from missing
