# /// boostopt new
# kind = "loss"
# summary = "a loss of the margins with a price of the hypothesis weights, as a formulation"
# example = "boostopt new loss my_loss"
# command = "boostopt boost {file} --data breast_cancer --set l1=2 --epsilon 0.1"
# ///
r"""new_name: a loss of the margins plus l1 times the sum of the hypothesis weights.

    min_w  C sum_n c_n loss((U w)_n) + l1 sum_q w_q,  w >= 0,   loss(m) = ln(1 + exp(k (1 - m))) / k

F is the conjugate of the loss. The slope of the loss at m is -s. With s = d_n / (C c_n) in [0, 1],

    F(d) = sum_n C c_n f(d_n / (C c_n)),   f(s) = -s + (s ln s + (1 - s) ln(1 - s)) / k,   f(s) = max_m -s m - loss(m)

Edit `values`, `derivatives`, `maximizers` and the two functions for CVXPY. `boostopt check` compares each with the
others. `pytest` runs the test at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import cvxpy as cp
import numpy as np
from scipy.special import entr, expit, log_expit, logit

from boostopt import check_formulation
from boostopt.authoring import (
    POSITIVE,
    Array,
    BoundedEdges,
    Examples,
    Float,
    Formulation,
    LossConjugate,
    parameter,
    prototype,
)


@dataclass(frozen=True, eq=False)
class NewName(LossConjugate):
    """F, the conjugate of the loss. `LossConjugate` has the multiplicities c, the price C, and C c as `priced`."""

    k: float

    cones: ClassVar[frozenset[str]] = frozenset(
        {"linear", "exponential"}
    )  # the cones of the two functions for CVXPY below

    @property
    def upper(self) -> Float[Array, " N"]:
        """The largest weights: C c times the steepest slope of the loss, which is 1 in this example."""
        return self.priced

    def values(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        s = d / self.priced
        return self.priced * (-s - (entr(s) + entr(1 - s)) / self.k)

    def derivatives(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        """Return F'(d): minus the margin at which the loss has the slope -s."""
        return -1 + logit(d / self.priced) / self.k

    def maximizers(self, y: Float[Array, " N"]) -> Float[Array, " N"]:
        """Return the x with the largest y x - F_n(x): C c times minus the slope of the loss at the margins -y."""
        return self.priced * expit(self.k * (1 + y))

    def conjugate_terms(self, y: Float[Array, " N"]) -> Float[Array, " N"]:
        """Return C c times the loss at the margins -y. You may delete this, but it is accurate at every margin."""
        return -self.priced * log_expit(-self.k * (1 + y)) / self.k

    @property
    def magnitude(self) -> float:
        """An upper bound of the sum of the absolute terms of F, on which the rounding allowance depends."""
        return (1 + np.log(2) / self.k) * float(self.priced.sum())

    def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
        """Return F(d) as a CVXPY expression, and the constraints that the expression does not imply."""
        entropy = cp.sum(cp.rel_entr(d, self.priced)) + cp.sum(cp.rel_entr(self.priced - d, self.priced))
        return entropy / self.k - cp.sum(d), []

    def cvxpy_conjugate(self, z: Any) -> tuple[Any, list[Any]]:
        """Return F*(z), the loss at the margins -z, as a CVXPY expression, and its constraints."""
        return self.priced @ cp.logistic(self.k * (1 + z)) / self.k, []


def regularizer(p: Any, examples: Examples) -> NewName:
    """Return F; an example with c_n = k must count as k copies."""
    return NewName(examples.c, p.C, p.k)


formulation: Formulation[Any] = prototype(
    "new_name",
    regularizer,
    lambda p: BoundedEdges(p.l1),  # the documentation of losses and penalties has others
    C=parameter("the price of the loss of an example", POSITIVE, 1.0),
    l1=parameter("the price of the hypothesis weights", POSITIVE),
    k=parameter("the sharpness of the loss", POSITIVE, 4.0),
)


def test_new_name() -> None:
    check_formulation(formulation).raise_if_failed()
