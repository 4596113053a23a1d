# /// boostopt new
# kind = "regularizer"
# form = "formula"
# form_summary = "from a text"
# summary = "a function F of the example weights, as a formulation that every command takes"
# example = "boostopt new regularizer my_entropy --as class"
# command = "boostopt boost {file} --data breast_cancer --nu 0.1 --eta 100 --epsilon 0.1"
# ///
r"""new_name: the largest edge plus a regularizer that is a sum over the examples, from its formula.

    F(d) = sum_n d_n ln(d_n / d0_n) / eta   on 0 <= d <= c / nu, sum d = 1

Edit the formula first, a text in d, d0, c and the parameters. `boostopt check` checks F and the program. `pytest` runs
the test at the end.
"""

from __future__ import annotations

from typing import Any

from boostopt import check_formulation
from boostopt.authoring import (
    COUNT,
    POSITIVE,
    CappedSimplex,
    Examples,
    Formulation,
    Regularizer,
    formula,
    parameter,
    prototype,
)


def regularizer(p: Any, examples: Examples) -> Regularizer:
    """Return F on its domain; an example with c_n = k must count as k copies."""
    return formula(
        "d*log(d/d0)/eta", domain=CappedSimplex(examples.c, p.nu), d0=examples.d0, eta=p.eta, is_smoothing=True
    )


formulation: Formulation[Any] = prototype(
    "new_name",
    regularizer,
    nu=parameter("the smallest number of examples that share the weight", COUNT),
    eta=parameter("the inverse strength of the regularizer", POSITIVE),
)


def test_new_name() -> None:
    check_formulation(formulation).raise_if_failed()
