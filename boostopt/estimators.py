"""Classifiers of scikit-learn's kind.

MarginBoostClassifier
    Boosting to a large soft margin, with a certificate.
RBFNetworkClassifier
    RBF networks with adaptive centres.

They have scikit-learn's words. `sample_weight` is what is `c` elsewhere, multiplicities: an example of weight k counts
as k copies, to the last digit, and one of weight 0 is left out. `verbose` is what is `progress` elsewhere: whether a
line on stderr shows how each run gets on; or what to call with every row of its trace, here after the label that is
told apart.

Names are loaded on first use, and scikit-learn with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from boostopt.lazy import loaded

if TYPE_CHECKING:
    from boostopt.classifiers.margin_boost import MarginBoostClassifier
    from boostopt.classifiers.rbf import RBFNetworkClassifier

_HOME = {"MarginBoostClassifier": "margin_boost", "RBFNetworkClassifier": "rbf"}
"""Where each public name lives."""

__all__ = ["MarginBoostClassifier", "RBFNetworkClassifier"]


def __getattr__(name: str) -> Any:
    """Load a public name from its module on first use."""
    return loaded(__name__, _HOME, name, globals(), "boostopt.classifiers")


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__})
