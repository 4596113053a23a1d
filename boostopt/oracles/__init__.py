"""Oracles: where hypotheses, the columns of the margin matrix, come from.

Exact, so that the whole class is bounded and not only what was collected:

DecisionStumps
    Every threshold of every feature, in both directions; `Stump`.
RawFeatures
    The features as they are, scaled into [-1, 1]; `Feature`.
KernelColumns
    Kernel values with a training example, linear, polynomial or radial; `KernelColumn`.
GivenMargins
    The columns of a matrix, chosen by their edge, at random or in an order; `Given`.

Heuristic, without a bound over the class:

Estimators
    Any scikit-learn classifier that takes sample weights; `Fitted`.
Resampled
    Any scikit-learn classifier, fitted to examples drawn by their weights; `Fitted`.
RBFNetworks
    RBF networks with adaptive centres; `RBFHypothesis`, `RBFSettings`.

Hypotheses are functions of X; `evaluate(hypotheses, X)` gives the values of many, one's own among them, and checks X
once.

To write one's own, derive from `Oracle` and give it N, y, `best`, `digest` and `__str__`: `best` takes a `Query`, the
example weights d, and returns an `Answer`, columns of margins u_n = y_n h(x_n) with large edges u . d, and a number
that no edge of the class exceeds or None. Each column carries a `Hypothesis`, a function of X that can be written as
plain numbers. An oracle of a given matrix in full:

    import hashlib

    from boostopt.oracles import Answer, Column, Given, Oracle

    class Columns(Oracle):
        def __init__(self, U):
            self.U = U

        @property
        def N(self):
            return len(self.U)

        @property
        def y(self):
            return None

        @property
        def digest(self):
            return hashlib.sha256(self.U.tobytes()).hexdigest()

        def best(self, query):
            e = query.d @ self.U
            q = int(e.argmax())
            return Answer((Column(Given(q), self.U[:, q], float(e[q])),), float(e[q]) + 1e-12)

        def __str__(self):
            return f"{self.U.shape[1]} columns"

Names are loaded on first use, so that importing this page loads neither SciPy nor scikit-learn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from boostopt.lazy import loaded

if TYPE_CHECKING:
    from boostopt.oracles.base import Answer, Column, Hypothesis, Oracle, Query
    from boostopt.oracles.decision_stumps import DecisionStumps, Stump
    from boostopt.oracles.estimators import Estimators, Resampled
    from boostopt.oracles.features import evaluate
    from boostopt.oracles.fitted import Fitted
    from boostopt.oracles.given import Given, GivenMargins
    from boostopt.oracles.kernel import KernelColumn
    from boostopt.oracles.kernel_columns import KernelColumns
    from boostopt.oracles.raw_features import Feature, RawFeatures
    from boostopt.oracles.rbf.fitting import RBFSettings
    from boostopt.oracles.rbf_networks import RBFHypothesis, RBFNetworks

_HOME = {
    "Answer": "base",
    "Column": "base",
    "DecisionStumps": "decision_stumps",
    "Estimators": "estimators",
    "Feature": "raw_features",
    "Fitted": "fitted",
    "Given": "given",
    "GivenMargins": "given",
    "Hypothesis": "base",
    "KernelColumn": "kernel",
    "KernelColumns": "kernel_columns",
    "Oracle": "base",
    "Query": "base",
    "RBFHypothesis": "rbf_networks",
    "RBFNetworks": "rbf_networks",
    "RBFSettings": "rbf.fitting",
    "RawFeatures": "raw_features",
    "Resampled": "estimators",
    "Stump": "decision_stumps",
    "evaluate": "features",
}
"""Where each public name lives."""

KINDS = {
    "feature": "Feature",
    "fitted": "Fitted",
    "given": "Given",
    "kernel": "KernelColumn",
    "rbf": "RBFHypothesis",
    "stump": "Stump",
}
"""The hypotheses that files can hold, by their `kind`."""

__all__ = [
    "Answer",
    "Column",
    "DecisionStumps",
    "Estimators",
    "Feature",
    "Fitted",
    "Given",
    "GivenMargins",
    "Hypothesis",
    "KernelColumn",
    "KernelColumns",
    "Oracle",
    "Query",
    "RBFHypothesis",
    "RBFNetworks",
    "RBFSettings",
    "RawFeatures",
    "Resampled",
    "Stump",
    "evaluate",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its module on first use."""
    return loaded(__name__, _HOME, name, globals())


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__})
