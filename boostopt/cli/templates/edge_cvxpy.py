# /// boostopt new
# kind = "edge"
# form = "cvxpy"
# form_summary = "from an expression that CVXPY can state"
# command = "boostopt boost {file} --data breast_cancer --nu 0.1 --set k=3 --max-rounds 20"
# ///
r"""new_name: a function of the edges that CVXPY can state, plus the indicator of the capped simplex.

    min_d  G(U' d),   G(e) = the mean of the k largest edges   on 0 <= d <= c / nu, sum d = 1

Edit `value` first, then the parameters below. `boostopt check` checks G and the program. `pytest` runs the test at the
end. Boosting has no bound over the class of hypotheses; pass --max-rounds.
"""

from __future__ import annotations

from typing import Any

import cvxpy as cp

from boostopt import check_formulation
from boostopt.authoring import (
    COUNT,
    POSITIVE,
    CappedSimplex,
    CappedSimplexIndicator,
    CvxpyEdges,
    EdgeFunction,
    Examples,
    Formulation,
    Regularizer,
    parameter,
    prototype,
)


def value(e: Any, p: Any) -> Any:
    """Return G(e) as a convex CVXPY expression of the edges, of which there may be one or many."""
    k = min(p.k, e.size)
    return cp.sum_largest(e, k) / k


def regularizer(p: Any, examples: Examples) -> Regularizer:
    """Return F: 0 on its domain; other templates have other functions."""
    return CappedSimplexIndicator(CappedSimplex(examples.c, p.nu))


def edge_function(p: Any) -> EdgeFunction:
    """Return G."""
    return CvxpyEdges(lambda e: value(e, p))


formulation: Formulation[Any] = prototype(
    "new_name",
    regularizer,
    edge_function,
    nu=parameter("the smallest number of examples that share the weight", COUNT),
    k=parameter("the number of edges, of which the mean counts; at least 1", POSITIVE),
)


def test_new_name() -> None:
    check_formulation(formulation).raise_if_failed()
