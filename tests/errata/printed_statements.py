"""Formulas and algorithms of the papers, with what is misprinted as a parameter or beside its correction."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit


def zero_one_loss(yh: float) -> tuple[float, float]:
    """Glocer 2009, after definition 2.1: (printed, corrected)."""
    return -2 * yh - 1, (1 - yh) / 2


def slacks(m: np.ndarray, rho: float) -> tuple[np.ndarray, np.ndarray]:
    """Glocer 2009, before (2.2): (printed, corrected)."""
    return np.minimum(0, rho - m), np.maximum(0, rho - m)


def unnormalized_dual(
    m: np.ndarray, psi: np.ndarray, beta: float, nu: float, eta: float, d0: np.ndarray
) -> tuple[np.ndarray, float]:
    """Glocer 2009, (3.19): (printed, one value for each n that its loose d0_n may mean; corrected)."""
    d = d0 * np.exp(-eta * (m + psi + beta))
    rest = -psi.sum() / nu - beta
    return (-d.sum() + d0) / eta + rest, float(np.sum(d0 - d)) / eta + rest


def erlpboost_gradients(
    V: np.ndarray, w: np.ndarray, psi: np.ndarray, nu: float, eta: float, d0: np.ndarray
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Glocer 2009, section 4.1, derivatives of (3.10) by w and psi: (printed, corrected)."""
    q = d0 * np.exp(-eta * (V @ w + psi))
    d = q / q.sum()
    return ((V.T @ q) / (V.T @ q), d), (V.T @ d, d - 1 / nu)


def binary_gradients(
    V: np.ndarray, w: np.ndarray, beta: float, nu: float, eta: float, d0: np.ndarray
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, float]]:
    """Glocer 2009, section 4.1, derivatives of (3.26) by w and beta: (printed, corrected)."""
    q = d0 * np.exp(-eta * (V @ w + beta))
    denominators = 1 - nu * d0 + nu * q
    d = q / denominators
    return ((V.T @ q) / denominators.sum(), d), (V.T @ d, d.sum() - 1)


def projection(q: np.ndarray, cap: float) -> np.ndarray:
    """Glocer 2009, algorithm 4.2, and Shalev-Shwartz and Singer 2008, figure 2; [T] prints nu for the cap 1/nu."""
    ordered, rest, theta = np.sort(q)[::-1], float(q.sum()), np.nan
    for n in range(len(q)):
        theta = np.divide(1 - cap * n, rest)
        if theta * ordered[n] <= cap:
            break
        rest -= ordered[n]
    return np.minimum(cap, theta * q)


def weight_sum(m: np.ndarray, beta: float, nu: float, eta: float, d0: np.ndarray) -> float:
    """s(beta) of Glocer 2009, algorithm 4.4: the sum of the binary weights."""
    return float(expit(logit(nu * d0) - eta * (m + beta)).sum()) / nu


def bracket(
    m: np.ndarray, nu: float, eta: float, d0: np.ndarray, misprinted: bool, patience: int = 60
) -> tuple[float, float]:
    """Glocer 2009, algorithm 4.4, steps 4 and 5: beta_l and beta_u doubled until they bracket s(beta) = 1."""
    beta_l, beta_u = -1.0, 1.0
    for _ in range(patience):
        s = weight_sum(m, beta_l, nu, eta, d0)
        if not (s >= 1 if misprinted else s < 1):
            break
        beta_l *= 2
    for _ in range(patience):
        s = weight_sum(m, beta_u, nu, eta, d0)
        if not (s <= 1 if misprinted else s > 1):
            break
        beta_u *= 2
    return beta_l, beta_u


def bisection(
    m: np.ndarray,
    nu: float,
    eta: float,
    d0: np.ndarray,
    interval: tuple[float, float],
    misprinted: bool,
    tau: float = 1e-9,
    patience: int = 200,
) -> tuple[float, bool]:
    """Glocer 2009, algorithm 4.4, step 6, from an interval that holds the root: beta, and whether it stopped."""
    beta_l, beta_u = interval
    beta = np.nan
    for _ in range(patience):
        beta = 0.5 * (beta_l + beta_u) + (beta_l if misprinted else 0.0)
        s = weight_sum(m, beta, nu, eta, d0)
        if abs(s - (0 if misprinted else 1)) <= tau:
            return beta, True
        beta_l, beta_u = (beta, beta_u) if s > 1 else (beta_l, beta)
    return beta, False
