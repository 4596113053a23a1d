# /// boostopt new
# kind = "formulation"
# summary = "a formulation with its parameters, F and G, and its primal and dual problem"
# example = "boostopt new formulation my_boost"
# command = "boostopt boost {file} --data breast_cancer --nu 0.1 --set mu=0.1 --epsilon 0.1"
# ///
r"""new_name: a formulation with its primal and its dual problem.

Primal   min_{d, gamma}         gamma + (mu/2) sum_n d_n^2 / c_n
         s.t.  Uᵀd <= gamma : w,   sum d = 1 : beta,   0 <= d <= c / nu : psi

Dual     max_{w, rho, psi, s}   rho - (1/nu) sum_n c_n psi_n - (1/(2 mu)) sum_n c_n s_n^2
         s.t.  s >= rho - U w - psi : d,   sum w = 1 : gamma,   w >= 0,   psi >= 0,   s >= 0

A colon precedes the multiplier of a constraint. `U[n, q] = y_n h_q(x_n)` lies in [-1, 1], c are multiplicities.

State F and G in `regularizer` and `edge_function`: boostopt solves and certifies these. `primal` and `dual` are the
problems as a paper prints them. `boostopt check` compares them with F and G. You may delete them; boostopt then derives
its own.

Classifiers keep the rows as they are. If F depends on an example only by c, d0 and the values of its parameters, write
`is_symmetric = True` below `name`. Classifiers then merge equal examples, and the order of the rows does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy as cp

from boostopt import check_formulation
from boostopt.authoring import (
    COUNT,
    POSITIVE,
    Array,
    BoostingSpec,
    CappedSimplex,
    CappedSimplexIndicator,
    EdgeFunction,
    Examples,
    Float,
    Formulation,
    MaximumEdge,
    Regularizer,
    Squares,
    maximize,
    minimize,
    parameter,
)


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters: meaning, domain, default."""

    nu: float = parameter("the smallest number of examples that share the weight: each gets at most c / nu", COUNT)
    mu: float = parameter("the strength of the squares", POSITIVE, 1.0)


class NewName(Formulation[Parameters]):
    """F is the indicator of the capped simplex plus squares, and G is the largest edge."""

    name = "new_name"
    title = "NewName"
    Parameters = Parameters
    boosting = BoostingSpec(rules=("direct", "regularized"))

    def regularizer(self, p: Parameters, examples: Examples) -> Regularizer:
        return CappedSimplexIndicator(CappedSimplex(examples.c, p.nu)) + Squares(examples.c, p.mu)

    def edge_function(self, p: Parameters) -> EdgeFunction:
        return MaximumEdge()

    def primal(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        d, gamma = cp.Variable(examples.N, name="d"), cp.Variable(name="gamma")
        return minimize(
            gamma + (p.mu / 2) * cp.sum(cp.multiply(1 / examples.c, cp.square(d))),
            subject_to={
                "w": U.T @ d <= gamma,
                "beta": cp.sum(d) == 1,
                "psi": d <= examples.c / p.nu,
                "d >= 0": d >= 0,
            },
        )

    def dual(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        w, rho = cp.Variable(U.shape[1], name="w"), cp.Variable(name="rho")
        psi, s = cp.Variable(examples.N, name="psi"), cp.Variable(examples.N, name="s")
        return maximize(
            rho - (1 / p.nu) * (examples.c @ psi) - (1 / (2 * p.mu)) * (examples.c @ cp.square(s)),
            subject_to={
                "d": s >= rho - U @ w - psi,
                "gamma": cp.sum(w) == 1,
                "w >= 0": w >= 0,
                "psi >= 0": psi >= 0,
                "s >= 0": s >= 0,
            },
        )


def test_new_name() -> None:
    check_formulation(NewName()).raise_if_failed()
