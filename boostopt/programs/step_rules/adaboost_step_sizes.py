"""Step sizes alpha along one hypothesis, for a given edge (entropy projection) or the largest smooth margin.

With u the margins of one hypothesis, d(alpha) proportional to d exp(-alpha u) is the family of distributions through
which boosting moves when that hypothesis gets the step alpha. Its edge u . d(alpha) decreases in alpha. The step rules
of AdaBoost and its relatives ask for an edge rho; exact coordinate ascent asks for the largest smooth margin

    G = -(1 / ||lambda||_1) ln sum_n c_n exp(-(U lambda)_n).

Everything is computed from logarithms, so that weights of any ratio are told apart.

References: Kivinen and Warmuth 1999; Rudin, Daubechies, Schapire 2004.
"""

from __future__ import annotations

import math

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Float
from boostopt.errors import ProblemError
from boostopt.functions.numerics.root_finding import find_root_by_newton

EPS = float(np.finfo(np.float64).eps)

MAX_DIRECT_EDGE = 0.9
"""Edge of a +-1 hypothesis above which the weight of the smaller side is summed directly, not by subtraction."""


def step_to_edge(u: ExampleVector, log_d: ExampleVector, rho: float, d: ExampleVector | None = None) -> float:
    """Return the step alpha for which u has the edge rho under the distribution proportional to exp(log_d - alpha u).

    Parameters
    ----------
    u
        Margins of the hypothesis, shape (N,), in [-1, 1].
    log_d
        Logarithms of the weights, shape (N,), of any scale; -inf for an example without weight. The others are live.
    rho
        The target edge.
    d
        exp(log_d), or a multiple of it, shape (N,), where it is at hand: for u in {-1, 1} one product does then.

    Returns
    -------
    The root of a decreasing function: artanh r - artanh rho for u in {-1, 1} of edge r. inf where rho is the smallest u
    of a live example, -inf where it is the largest: the edge comes near it and no step attains it. 0 where all of them
    are equal to rho.

    Raises
    ------
    ProblemError
        rho lies outside the range of u over the live examples: the projection does not exist.

    References
    ----------
    Kivinen and Warmuth 1999; Glocer 2009, section 6.4.
    """
    signs = bool((np.abs(u) == 1.0).all())
    if signs and abs(rho) < 1.0:
        weights = np.exp(log_d - log_d.max()) if d is None else d
        r = float(u @ weights) / float(weights.sum())
        if abs(r) <= MAX_DIRECT_EDGE:
            return math.atanh(r) - math.atanh(rho)
    has_weight = log_d > -np.inf
    if not has_weight.all():
        u, log_d = u[has_weight], log_d[has_weight]
    low, high = float(u.min()), float(u.max())
    if not low <= rho <= high:
        raise ProblemError(
            f"the edge must lie between the smallest and the largest margin of the examples with weight, "
            f"[{low:.10g}, {high:.10g}], because no distribution has another edge; got {rho:.10g}. Pass such an edge."
        )
    if low == high:
        return 0.0
    if rho in (low, high):
        return math.inf if rho == low else -math.inf
    if signs:
        return 0.5 * (
            _log_sum_exp_and_softmax(log_d[u > 0])[0] - _log_sum_exp_and_softmax(log_d[u < 0])[0]
        ) - math.atanh(rho)
    return _balancing_step(u - rho, log_d)


def smooth_margin(m: ExampleVector, total: float, log_c: ExampleVector | None = None) -> float:
    """Return the smooth margin G = -(1 / total) ln sum_n c_n exp(-m_n) of steps lambda.

    Parameters
    ----------
    m
        Margins U lambda, shape (N,), not normalized.
    total
        ||lambda||_1, not negative.
    log_c
        Logarithms of the multiplicities, shape (N,); 0 by default. -inf leaves an example out.

    Returns
    -------
    G: below the smallest margin m_n / total if every c_n is 1 or more, by at most ln(sum c) / total. -inf for total 0.

    References
    ----------
    Rudin, Daubechies, Schapire 2004; multiplicities count copies of an example.
    """
    return -_log_sum_exp_and_softmax(-m if log_c is None else log_c - m)[0] / total if total > 0 else -math.inf


def step_to_largest_smooth_margin(
    u: ExampleVector, m: ExampleVector, total: float, log_c: ExampleVector | None = None
) -> float:
    """Return the step alpha >= 0 of hypothesis u for which the smooth margin is largest: exact coordinate ascent.

    At lambda + alpha the derivative is dG / dalpha = (u . d(alpha) - G(alpha)) / (total + alpha), and

        (u . d(alpha) - G(alpha)) (total + alpha)

    has the derivative -(total + alpha) Var u, the variance under d(alpha): it decreases, so that G rises to its only
    maximum, where it equals the edge, and falls from there on.

    Parameters
    ----------
    u
        Margins of the hypothesis, shape (N,), in [-1, 1].
    m
        Margins U lambda of the steps so far, shape (N,), not normalized.
    total
        ||lambda||_1, not negative.
    log_c
        Logarithms of the multiplicities, shape (N,); 0 by default. -inf leaves an example out.

    Returns
    -------
    The maximizer; 0 where G falls from the start, inf where it rises for ever. That is so if and only if the smallest u
    is at least G of the examples that attain it alone: a hypothesis that is right everywhere, or any that errs as long
    as G is near -1, as before the first step.

    References
    ----------
    Rudin, Daubechies, Schapire 2004.
    """
    base = -m if log_c is None else log_c - m
    has_weight = base > -np.inf
    if not has_weight.all():
        u, base = u[has_weight], base[has_weight]
    if (np.abs(u) == 1.0).all():
        u, base = _merge_by_sign(u, base)
    low = float(u.min())

    def rise(alpha: float) -> tuple[float, float, float]:
        """Return the product above, its derivative, and the rounding of the product."""
        log_sum, d = _log_sum_exp_and_softmax(base - alpha * u)
        edge = float(u @ d)
        centred = u - edge
        variance = float((centred * centred) @ d)
        length = total + alpha
        return length * edge + log_sum, -length * variance, 4 * EPS * (length + abs(log_sum))

    if total > 0 and rise(0.0)[0] <= 0:
        return 0.0
    if total * low + _log_sum_exp_and_softmax(base[u == low])[0] >= 0:  # what the product comes down to
        return math.inf
    return find_root_by_newton(rise, 0.0)


def _merge_by_sign(u: Float[Array, " n"], base: Float[Array, " n"]) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
    """Return u in {-1, 1} and the logarithms of weights with the examples of one sign merged into one."""
    signs = np.unique(u)
    return signs, np.array([_log_sum_exp_and_softmax(base[u == sign])[0] for sign in signs])


def _balancing_step(v: Float[Array, " n"], log_d: Float[Array, " n"]) -> float:
    """Return the alpha at which the positive and the negative v, both non-empty, have equal weight.

    That of the logarithms of their two sums is nearly linear in alpha, linear at both ends, and for two values exactly.
    """
    is_gain, is_loss = v > 0, v < 0
    gains, losses = v[is_gain], -v[is_loss]
    log_gains, log_losses = log_d[is_gain] + np.log(gains), log_d[is_loss] + np.log(losses)

    def excess(alpha: float) -> tuple[float, float, float]:
        """Return the difference of the logarithms, its derivative, and the rounding of the difference."""
        log_gain_sum, p = _log_sum_exp_and_softmax(log_gains - alpha * gains)
        log_loss_sum, q = _log_sum_exp_and_softmax(log_losses + alpha * losses)
        return (
            log_gain_sum - log_loss_sum,
            -float(gains @ p) - float(losses @ q),
            4 * EPS * max(1.0, abs(log_gain_sum), abs(log_loss_sum)),
        )

    return find_root_by_newton(excess, 0.0)


def _log_sum_exp_and_softmax(a: Float[Array, " n"]) -> tuple[float, Float[Array, " n"]]:
    """Return ln sum exp(a) and the shares exp(a) / sum exp(a), for at least one finite number."""
    largest = float(a.max())
    shares = np.exp(a - largest)
    total = float(shares.sum())
    return largest + math.log(total), shares / total
