# /// boostopt new
# kind = "edge"
# form = "formula"
# form_summary = "a sum over the hypotheses, from a text"
# summary = "a function G of the edges, as a formulation that every command takes"
# example = "boostopt new edge my_tail --as cvxpy"
# command = "boostopt boost {file} --data breast_cancer --nu 0.1 --set a=3 --max-rounds 20"
# ///
r"""new_name: a function of the edges plus the indicator of the capped simplex.

    min_d  sum_q g(e_q),   e = U' d,   g(e) = a max(e, 0)^2 / 2   on 0 <= d <= c / nu, sum d = 1

Edit the formula first, a text in e and the parameters, convex on [-1, 1]. `boostopt check` checks G and the program.
`pytest` runs the test at the end. Boosting has no bound over the class of hypotheses; pass --max-rounds.
"""

from __future__ import annotations

from typing import Any

from boostopt import check_formulation
from boostopt.authoring import (
    COUNT,
    POSITIVE,
    CappedSimplex,
    CappedSimplexIndicator,
    EdgeFunction,
    Examples,
    Formulation,
    Regularizer,
    edge_formula,
    parameter,
    prototype,
)


def regularizer(p: Any, examples: Examples) -> Regularizer:
    """Return F: 0 on its domain; other templates have other functions."""
    return CappedSimplexIndicator(CappedSimplex(examples.c, p.nu))


def edge_function(p: Any) -> EdgeFunction:
    """Return G, the sum of the formula over the edges."""
    return edge_formula("a*max(e, 0)**2/2", a=p.a)


formulation: Formulation[Any] = prototype(
    "new_name",
    regularizer,
    edge_function,
    nu=parameter("the smallest number of examples that share the weight", COUNT),
    a=parameter("the price of positive edges", POSITIVE),
)


def test_new_name() -> None:
    check_formulation(formulation).raise_if_failed()
