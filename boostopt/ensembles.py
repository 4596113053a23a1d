"""Ensembles that were fitted elsewhere: their members as hypotheses, weighted anew by a program, and thinned.

reweight
    Solve a formulation over the members of a fitted ensemble.
ReweightOptions
    Its options, whole.
Reweighted
    What comes back: weights, the interval of the best soft margin of the members, a classifier.
members_of
    The members of a fitted ensemble as hypotheses with values in [-1, 1], and the ensemble's own weights.
Members
    These.

Names are loaded on first use, and scikit-learn with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from boostopt.lazy import loaded

if TYPE_CHECKING:
    from boostopt.classifiers.kinds import members_of
    from boostopt.classifiers.members import Members
    from boostopt.classifiers.reweighted import Reweighted
    from boostopt.classifiers.reweighting import ReweightOptions, reweight

_HOME = {
    "Members": "members",
    "ReweightOptions": "reweighting",
    "Reweighted": "reweighted",
    "members_of": "kinds",
    "reweight": "reweighting",
}
"""Where each public name lives."""

__all__ = ["Members", "ReweightOptions", "Reweighted", "members_of", "reweight"]


def __getattr__(name: str) -> Any:
    """Load a public name from its module on first use."""
    return loaded(__name__, _HOME, name, globals(), "boostopt.classifiers")


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__})
