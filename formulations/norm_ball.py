r"""Norm ball: the largest margin when the example weights must lie in a ball of a p-norm instead of below a cap.

Primal   min_{d, gamma}   gamma + (1/eta) sum_n d_n ln(d_n / d0_n)
         s.t.  Uᵀd <= gamma : w,   ||d||_p <= r : mu,   sum d = 1 : beta,   d >= 0

Dual     max_{w, s}       -(1/eta) ln sum_n d0_n exp(-eta ((U w)_n + s_n)) - r ||s||_q
         s.t.  sum w = 1 : gamma,   w >= 0,   s >= 0

         max_{w, rho, s}  rho - r ||s||_q   for eta = inf
         s.t.  U w >= rho - s : d,   sum w = 1 : gamma,   w >= 0,   s >= 0

KKT      s = mu times the gradient of ||d||_p: s_n = mu (d_n / (c_n ||d||_p))^(p-1),   mu (r - ||d||_p) = 0,
         (1/eta) ln(d_n / d0_n) + m_n + s_n + beta = 0,   w_q (gamma - e_q) = 0,
         for eta = inf   s_n = max(0, rho - m_n),   d_n (m_n + s_n - rho) = 0,   beta = -rho

Symbols  mu : multiplier of the bound on the norm

Multipliers are named after the colon. The edges are e = Uᵀd, the margins m = Uw, and 1/p + 1/q = 1. The norms are those
of the copies of the examples: ||d||_p^p = sum_n c_n (d_n / c_n)^p and ||s||_q^q = sum_n c_n |s_n|^q. The ball meets the
simplex if and only if r >= (sum c)^(1/p - 1). If r >= 1 (all c = 1), the ball does not restrict d. With p = inf and r =
1 / nu the ball is the cap: the program is LPBoost, or ERLPBoost if eta is finite. Two-sided programs are as on
LPBoost's page. The paper's programs are two-sided. Here, as everywhere, the default is not.

With eta = inf there is no entropy, and d0 has no effect. With eta = (2 / epsilon) ln N, boosting ends after at most 16
eta / epsilon = (32 / epsilon^2) ln N hypotheses. (Theorem 9 is printed as a lower bound of the rounds; it is an upper
one.) Without the entropy no bound is known.

The theorem is stated for every norm. It holds for norms that depend only on the absolute values |d_n|, as these do. For
other norms s is not max(0, rho - m).

Sources: Shalev-Shwartz and Singer 2008, example 1, theorems 7 and 9, figure 1. c are multiplicities; the source has
c = 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from boostopt.authoring import (
    EXPONENT,
    FLAG,
    POSITIVE,
    POSITIVE_OR_INFINITE,
    AbsoluteEdge,
    Array,
    BoostingSpec,
    CappedSimplex,
    CappedSimplexIndicator,
    Examples,
    Float,
    Formulation,
    MaximumEdge,
    NormBall,
    Regularizer,
    RelativeEntropy,
    maximize,
    minimize,
    parameter,
    simplex,
)
from boostopt.formulations.erlpboost import iteration_bound, log_mean_exp, relative_entropy, zero_weight_constraints
from boostopt.formulations.lpboost import edge_constraints, largest_edge_function, weight_constraints


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of the norm ball."""

    r: float = parameter("the radius of the ball", POSITIVE)
    p: float = parameter("the exponent of the norm", EXPONENT, 2.0)
    epsilon: float = parameter("the accuracy of the margin at which boosting stops", POSITIVE, 0.01)
    eta: float = parameter("the inverse strength of the entropy; inf leaves it out", POSITIVE_OR_INFINITE, math.inf)
    two_sided: bool = parameter("whether edges count without sign and hypothesis weights may be negative", FLAG, False)


class NormBallBoost(Formulation[Parameters]):
    """F = I[||d||_p <= r] + (1/eta) relative entropy on the simplex, G = max, two-sided the largest absolute edge."""

    name = "norm_ball"
    title = "Norm ball"
    sources: ClassVar[tuple[str, ...]] = ("Shalev-Shwartz and Singer 2008, example 1, theorems 7 and 9, figure 1",)
    Parameters = Parameters
    is_symmetric = True
    uses_reference = True
    boosting: ClassVar[BoostingSpec] = BoostingSpec(rules=("direct",), iteration_bound=iteration_bound)

    def regularizer(self, p: Parameters, examples: Examples) -> Regularizer:
        c, d0 = examples.c, examples.d0
        if math.isfinite(p.p):
            return NormBall(entropy_on_simplex(p.eta, examples), c, p.p, p.r)
        if math.isfinite(p.eta):
            return RelativeEntropy.capped(c, 1.0 / p.r, p.eta, d0)
        return CappedSimplexIndicator(CappedSimplex(c, 1.0 / p.r))

    def edge_function(self, p: Parameters) -> MaximumEdge | AbsoluteEdge:
        return largest_edge_function(p.two_sided)

    def primal(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        N, _ = U.shape
        d, gamma = cp.Variable(N, name="d"), cp.Variable(name="gamma")
        entropy, entropy_constraints = entropy_if_finite(d, p.eta, examples)
        return minimize(
            gamma + entropy,
            subject_to={
                **edge_constraints(gamma, U.T @ d, p.two_sided),
                "mu": cvxpy_norm(d, p.p, examples.c) <= p.r,
                "beta": cp.sum(d) == 1,
                "d >= 0": d >= 0,
                **entropy_constraints,
            },
        )

    def dual(self, U: Float[Array, "N t"], p: Parameters, examples: Examples) -> Any:
        import cvxpy as cp

        N, t = U.shape
        w, s = cp.Variable(t, name="w"), cp.Variable(N, name="s")
        margin, margin_constraints = soft_minimum_margin(U @ w, s, p.eta, examples)
        return maximize(
            margin - p.r * cvxpy_dual_norm(s, p.p, examples.c),
            subject_to={**margin_constraints, **weight_constraints(w, p.two_sided), "s >= 0": s >= 0},
        )


def entropy_on_simplex(eta: float, examples: Examples) -> CappedSimplexIndicator | RelativeEntropy:
    """Return (1/eta) relative entropy on the simplex, or the simplex alone for an infinite eta."""
    if not math.isfinite(eta):
        return simplex(examples.c)
    return RelativeEntropy.capped(np.ones(examples.N), 1.0, eta, examples.d0)


def entropy_if_finite(d: Any, eta: float, examples: Examples) -> tuple[Any, dict[str, Any]]:
    """Return (1/eta) sum_n d_n ln(d_n / d0_n) with its constraints, or nothing for an infinite eta."""
    if not math.isfinite(eta):
        return 0.0, {}
    return (1 / eta) * relative_entropy(d, examples.d0), zero_weight_constraints(d, examples.d0)


def soft_minimum_margin(m: Any, s: Any, eta: float, examples: Examples) -> tuple[Any, dict[str, Any]]:
    """Return -(1/eta) ln sum_n d0_n exp(-eta (m_n + s_n)), for an infinite eta the smallest m_n + s_n as rho."""
    import cvxpy as cp

    if math.isfinite(eta):
        return -(1 / eta) * log_mean_exp(-eta * (m + s), examples.d0), {}
    rho = cp.Variable(name="rho")
    return rho, {"d": m >= rho - s}


def cvxpy_norm(d: Any, p: float, c: Float[Array, " N"]) -> Any:
    """Return ||d||_p = (sum_n c_n (d_n / c_n)^p)^(1/p), the norm of the copies."""
    import cvxpy as cp

    return cp.pnorm(cp.multiply(c ** (1.0 / p - 1.0), d), cast(Any, p))


def cvxpy_dual_norm(s: Any, p: float, c: Float[Array, " N"]) -> Any:
    """Return ||s||_q = (sum_n c_n |s_n|^q)^(1/q) with 1/p + 1/q = 1, dual to the norm of the copies."""
    import cvxpy as cp

    q = p / (p - 1.0) if math.isfinite(p) else 1.0
    return cp.pnorm(cp.multiply(c ** (1.0 / q), s), cast(Any, q))
