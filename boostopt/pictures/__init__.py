"""Pictures: functions that draw what a run, a path or a comparison has found, and return a matplotlib Figure.

bounds
    Bounds of the soft margin, and the gap between them, against rounds or seconds.
margin_distributions
    Margins of classifiers as cumulative distributions, with rho and the share of nu.
example_weights
    Weights d of the examples, by size beside their caps, or example by example.
weights_by_margin
    Weights d of the examples against their margins, some of them marked.
weights_on_triangle
    What a regularizer makes of the margins of three examples, on their simplex.
decision_regions
    f(x) over two features, its zero line, and the examples with their weights as sizes.
triangle, cycles
    AdaBoost's distributions on the simplex of three examples, and of any number over the rounds.
path_of_runs
    Soft margin, number of hypotheses and their weights along a path of nu or eta.
profiles, intervals
    Who reaches which certified gap in what time; certified intervals beside each other.
heat_map
    Seconds of every backend on every program at one gap as colours, failures hatched.
claimed_against_certified
    The gap that is certified against the one that the solver claims, run by run.

They need matplotlib: `pip install "boostopt[report]"`. pyplot is not used: no window opens, nothing global changes, and
a notebook shows the figure that a cell ends with. The colours can be told apart by the colour-blind, and lines and
markers differ where there is no colour. Where `axes` are given, a function draws there and leaves legends and colour
bars, for which the caller's layout has its own place, to `axes.legend()`.

Names are loaded on first use, so that importing this page does not load matplotlib.
"""

from typing import Any

from boostopt.lazy import attach
from boostopt.pictures.tools import MatplotlibNotFound

_load, __dir__, __all__ = attach(__name__)


def __getattr__(name: str) -> Any:
    """Load a public name from its module on first use."""
    try:
        return _load(name)
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] != "matplotlib":
            raise
        raise MatplotlibNotFound(
            f"boostopt.pictures.{name} expected an installed matplotlib; there is none. Install it: "
            'pip install "boostopt[report]".'
        ) from missing
