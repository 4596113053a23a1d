# /// boostopt new
# kind = "regularizer"
# form = "class"
# form_summary = "from closed forms"
# command = "boostopt boost {file} --data breast_cancer --nu 0.1 --eta 100 --epsilon 0.1"
# ///
r"""new_name: the largest edge plus a regularizer in closed form.

    F(d) = sum_n f_n(d_n),   f_n(d) = (d - a_n)^2 / (2 eta a_n),   a = c / sum c,   on 0 <= d <= c / nu, sum d = 1

Edit `cvxpy_value_of`, then `values`, `derivatives` and `maximizers`. The members after them are useful, but you may
delete them. `boostopt check` compares each with the others. `pytest` runs the test at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from boostopt import check_formulation
from boostopt.authoring import (
    COUNT,
    POSITIVE,
    Array,
    CappedSimplex,
    CappedSimplexIndicator,
    CvxpyRegularizer,
    Examples,
    Float,
    Formulation,
    Regularizer,
    Separable,
    parameter,
    prototype,
)


def cvxpy_value_of(d: Any, a: Float[Array, " N"], eta: float) -> Any:
    """Return F(d) as a CVXPY expression, with which the checks compare the closed forms below."""
    return cp.sum(cp.multiply(1 / a, cp.square(d - a))) / (2 * eta)


@dataclass(frozen=True, eq=False)
class NewName(Separable, CvxpyRegularizer):
    """F with its conjugate in closed form: certificates are tight, and need no solver."""

    eta: float = 1.0
    has_closed_form_conjugate = True  # write False if you delete `cvxpy_conjugate`

    @property
    def a(self) -> Float[Array, " N"]:
        """The share of each example in the sum of the multiplicities."""
        return self.domain.c / self.domain.c.sum()

    @property
    def lower(self) -> Float[Array, " N"]:
        return np.zeros(self.N)

    @property
    def upper(self) -> Float[Array, " N"]:
        return self.domain.upper

    def values(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        return (d - self.a) ** 2 / (2 * self.eta * self.a)

    def derivatives(self, d: Float[Array, " N"]) -> Float[Array, " N"]:
        return (d - self.a) / (self.eta * self.a)

    def maximizers(self, y: Float[Array, " N"]) -> Float[Array, " N"]:
        """Return the x with the largest y x - f_n(x) in the box: the solution of f_n'(x) = y, clipped."""
        return np.clip(self.a * (1 + self.eta * y), self.lower, self.upper)

    @property
    def value_bound(self) -> float:
        """An upper bound of F: d_n / a_n is at most sum c / nu."""
        return (self.domain.c.sum() / self.domain.nu - 1) / (2 * self.eta)

    @property
    def strong_convexity(self) -> float:
        """The modulus in the 1-norm: sum h^2 / (eta a) >= (sum |h|)^2 / eta by Cauchy and Schwarz."""
        return 1 / self.eta

    @property
    def unsmoothed(self) -> Regularizer:
        """F without the smoothing terms: with the largest edge, its optimum is the soft margin."""
        return CappedSimplexIndicator(self.domain)

    def cvxpy_conjugate(self, z: Any) -> tuple[Any, list[Any]]:
        """Return F*(z) as a minimum over beta and psi >= 0, so that solvers can take the dual."""
        beta, psi = cp.Variable(), cp.Variable(self.N, nonneg=True)
        root = cp.pos(1 + self.eta * (z - beta - psi))
        return beta + self.upper @ psi + (self.a / (2 * self.eta)) @ (cp.square(root) - 1), []


def regularizer(p: Any, examples: Examples) -> NewName:
    """Return F on its domain."""
    a = examples.c / examples.total
    return NewName(
        domain=CappedSimplex(examples.c, p.nu),
        f=lambda d: cvxpy_value_of(d, a, p.eta),
        inside=a,  # the minimizer of F, where boosting begins
        objective_scale=p.eta,
        eta=p.eta,
    )


formulation: Formulation[Any] = prototype(
    "new_name",
    regularizer,
    nu=parameter("the smallest number of examples that share the weight", COUNT),
    eta=parameter("the inverse strength of the regularizer", POSITIVE),
)


def test_new_name() -> None:
    check_formulation(formulation).raise_if_failed()
