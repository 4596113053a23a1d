# /// boostopt new
# kind = "regularizer"
# form = "cvxpy"
# form_summary = "from an expression that CVXPY can state"
# command = "boostopt boost {file} --data breast_cancer --nu 0.1 --eta 100 --epsilon 0.1"
# ///
r"""new_name: the largest edge plus a regularizer that CVXPY can state.

    F(d) = sum_n (d_n - a_n)^2 / (2 eta a_n),   a = c / sum c,   on 0 <= d <= c / nu, sum d = 1

Edit `value` first, then the parameters below. `boostopt check` checks F and the program. `pytest` runs the test at the
end.
"""

from __future__ import annotations

from typing import Any

import cvxpy as cp

from boostopt import check_formulation
from boostopt.authoring import (
    COUNT,
    POSITIVE,
    CappedSimplex,
    CvxpyRegularizer,
    Examples,
    Formulation,
    Regularizer,
    parameter,
    prototype,
)


def value(d: Any, p: Any, examples: Examples) -> Any:
    """Return F(d) as a convex CVXPY expression; an example with c_n = k must count as k copies."""
    a = examples.c / examples.total
    return cp.sum(cp.multiply(1 / a, cp.square(d - a))) / (2 * p.eta)


def regularizer(p: Any, examples: Examples) -> Regularizer:
    """Return F on its domain."""
    return CvxpyRegularizer(
        domain=CappedSimplex(examples.c, p.nu),
        f=lambda d: value(d, p, examples),
        inside=examples.c / examples.total,  # strictly inside every constraint, where boosting begins
        objective_scale=p.eta,
    )


formulation: Formulation[Any] = prototype(
    "new_name",
    regularizer,
    nu=parameter("the smallest number of examples that share the weight", COUNT),
    eta=parameter("the inverse strength of the regularizer", POSITIVE),
)


def test_new_name() -> None:
    check_formulation(formulation).raise_if_failed()
