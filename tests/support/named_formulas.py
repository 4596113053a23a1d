"""Nine named functions twice: a formula, and a class of the package or one written by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from boostopt.authoring import (
    Array,
    BinaryEntropy,
    CappedSimplex,
    CappedSimplexIndicator,
    FormulaRegularizer,
    Regularizer,
    RelativeEntropy,
    Separable,
    Squares,
    formula,
)

FormulaMaker = Callable[[Array, float, float, Array], Regularizer]
"""Makes a regularizer of multiplicities c, nu, eta and a reference distribution."""

M = 0.3
"""Points at which a Huber function and a hinge bend, as a share of a mean weight."""


@dataclass(frozen=True, eq=False)
class ByHand(Separable):
    """A sum on the capped simplex: f, f', f'', the argmax of y x - f(x) over all x, and f for CVXPY."""

    domain: CappedSimplex
    parts: tuple[Callable[[Any], Any], ...]
    model: Callable[[Any], Any]

    cones = frozenset({"linear", "exponential", "power", "second_order", "quadratic"})

    @property
    def N(self) -> int:
        return len(self.domain.c)

    @property
    def upper(self) -> Array:
        return self.domain.upper

    @property
    def value_bound(self) -> float:
        return 1.0

    @property
    def magnitude(self) -> float:
        return 1.0

    @property
    def weight_scale(self) -> Array:
        return self.domain.c / self.domain.c.sum()

    def values(self, d: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.parts[0](d)

    def derivatives(self, d: Array) -> Array:
        with np.errstate(divide="ignore"):
            return self.parts[1](d)

    def curvatures(self, d: Array) -> Array:
        return self.parts[2](d)

    def maximizers(self, y: Array) -> Array:
        return np.clip(self.parts[3](y), 0.0, self.upper)

    def project(self, d: Array | None) -> Array:
        return self.conjugate_at(np.zeros(self.N)).d if d is None else self.domain.repair(d, self.weight_scale)

    def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
        return self.model(d), CappedSimplexIndicator(self.domain).cvxpy_value(d)[1]

    def cvxpy_conjugate(self, z: Any) -> tuple[Any, list[Any]]:
        raise NotImplementedError


def tsallis(c: Array, nu: float, eta: float, d0: Array) -> Regularizer:
    a, k = c**-0.5 / (0.5 * eta), 1.0 / (0.5 * eta)
    parts = (
        lambda d: a * d**1.5 - k * d,
        lambda d: 1.5 * a * np.sqrt(d) - k,
        lambda d: 0.75 * a / np.sqrt(d),
        lambda y: (np.maximum(y + k, 0.0) / (1.5 * a)) ** 2,
    )
    return ByHand(CappedSimplex(c, nu), parts, lambda d: a @ cp.power(d, 1.5, approx=False) - k * cp.sum(d))


def renyi(c: Array, nu: float, eta: float, d0: Array) -> Regularizer:
    a = 1.0 / (2.0 * d0**2 * eta)
    parts = (
        lambda d: a * d**3,
        lambda d: 3.0 * a * d**2,
        lambda d: 6.0 * a * d,
        lambda y: np.sqrt(np.maximum(y, 0.0) / (3.0 * a)),
    )
    return ByHand(CappedSimplex(c, nu), parts, lambda d: a @ cp.power(d, 3, approx=False))


def chi_square(c: Array, nu: float, eta: float, d0: Array) -> Regularizer:
    parts = (
        lambda d: (d - d0) ** 2 / d0 / eta,
        lambda d: 2.0 * (d - d0) / d0 / eta,
        lambda d: 2.0 / d0 / eta,
        lambda y: d0 * (1.0 + 0.5 * eta * y),
    )
    return ByHand(CappedSimplex(c, nu), parts, lambda d: (1.0 / d0 / eta) @ cp.square(d - d0))


def huber(c: Array, nu: float, eta: float, d0: Array) -> Regularizer:
    m = M / len(c)

    def values(d: Array) -> Array:
        size = np.abs(d - d0)
        return c * np.where(size <= m * c, (size / c) ** 2, m * (2 * size / c - m))

    def argmax(y: Array) -> Array:
        return np.where(y >= 2 * m, c / nu, np.where(y <= -2 * m, 0.0, d0 + 0.5 * c * y))

    parts = (
        values,
        lambda d: 2.0 * np.clip((d - d0) / c, -m, m),
        lambda d: 2.0 / c * (np.abs(d - d0) < m * c),
        argmax,
    )
    atoms: Any = cp  # its M is said to be a whole number
    return ByHand(CappedSimplex(c, nu), parts, lambda d: c @ atoms.huber((d - d0) / c, m))


def barrier(c: Array, nu: float, eta: float, d0: Array) -> Regularizer:
    def argmax(y: Array) -> Array:
        return np.where(y < 0, -c / eta / np.where(y < 0, y, -1.0), c / nu)

    parts = (lambda d: -c * np.log(d / c) / eta, lambda d: -c / d / eta, lambda d: c / d**2 / eta, argmax)
    return ByHand(CappedSimplex(c, nu), parts, lambda d: -c @ cp.log(d / c) / eta)


def squared_hinge(c: Array, nu: float, eta: float, d0: Array) -> Regularizer:
    parts = (
        lambda d: np.maximum(d - M * d0, 0.0) ** 2 / c,
        lambda d: 2.0 * np.maximum(d - M * d0, 0.0) / c,
        lambda d: 2.0 / c * (d > M * d0),
        lambda y: np.where(y > 0, M * d0 + 0.5 * c * y, np.where(y < 0, 0.0, M * d0)),
    )
    return ByHand(CappedSimplex(c, nu), parts, lambda d: (1.0 / c) @ cp.square(cp.pos(d - M * d0)))


def binary(c: Array, nu: float, eta: float, d0: Array) -> Regularizer:
    return BinaryEntropy.capped(c, nu, eta, d0)


def fermi_dirac(c: Array, nu: float, eta: float, d0: Array) -> Regularizer:
    """The entropy of occupation numbers d / u, relative to one half."""
    u = c / nu

    def odds(d: Array) -> Array:
        return np.log(d) - np.log(u - d)

    parts = (
        lambda d: (np.where(d > 0, d * np.log(d / u), 0.0) + np.where(d < u, (u - d) * np.log((u - d) / u), 0.0)) / eta,
        lambda d: odds(d) / eta,
        lambda d: (1.0 / d + 1.0 / (u - d)) / eta,
        lambda y: u / (1.0 + np.exp(-np.clip(eta * y, -700, 700))),
    )
    return ByHand(CappedSimplex(c, nu), parts, lambda d: -cp.sum(cp.entr(d) + cp.entr(u - d)) / eta)


def entropy(c: Array, nu: float, eta: float, d0: Array) -> Regularizer:
    return RelativeEntropy.capped(c, nu, eta, d0)


def squares(c: Array, nu: float, eta: float, d0: Array) -> Regularizer:
    return CappedSimplexIndicator(CappedSimplex(c, nu)) + Squares(c, 2.0 / eta)


TWINS: dict[str, tuple[FormulaMaker, str, Mapping[str, float]]] = {
    "relative entropy": (entropy, "d*log(d/d0)/eta", {}),
    "binary entropy": (binary, "(d*log(d/d0) + (u - d)*log((u - d)/(u - d0)))/eta", {}),
    "squares": (squares, "d**2/c/eta", {}),
    "Tsallis": (tsallis, "(c**(1 - q)*d**q - d)/(q - 1)/eta", {"q": 1.5}),
    "Renyi's kernel": (renyi, "d**a*d0**(1 - a)/(a - 1)/eta", {"a": 3.0}),
    "chi-square": (chi_square, "(d - d0)**2/d0/eta", {}),
    "Huber": (huber, "c*huber((d - d0)/c, M)", {"M": M}),
    "log-barrier": (barrier, "-c*log(d/c)/eta", {}),
    "Fermi-Dirac": (fermi_dirac, "(d*log(d/u) + (u - d)*log((u - d)/u))/eta", {}),
    "squared hinge": (squared_hinge, "max(d - M*d0, 0)**2/c", {"M": M}),
}
"""The equal regularizer, the formula, and its numbers besides eta, by name."""


def formula_of(name: str, c: Array, nu: float, eta: float, d0: Array) -> FormulaRegularizer:
    """Return the formula of a name."""
    text, numbers = TWINS[name][1], {"eta": eta, **TWINS[name][2]}
    if name == "Huber":
        numbers["M"] = M / len(c)
    used: dict[str, Any] = {key: value for key, value in numbers.items() if key in text}
    return formula(text, CappedSimplex(c, nu), d0, **used)
