"""Forms of the dual, and the augmented Lagrangian of each.

The variables are the multipliers v of the rows A e + B x <= b of the edge function G, and the variables y of the
conjugate of F: psi, beta or none. The hypothesis weights are w = A'v + slope. Each further variable x of G gives one
equation. For the maximum edge, v is w, the equation is sum w = 1 and x is gamma [Glocer 2009, section 4.1].
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import logsumexp

from boostopt._utils.array_types import Array, ExampleVector, Float, HypothesisVector
from boostopt.functions.edge_functions.base import Epigraph
from boostopt.functions.regularizers.base import Regularizer
from boostopt.functions.regularizers.relative_entropy import RelativeEntropy, UnnormalizedRelativeEntropy
from boostopt.functions.regularizers.separable import Separable
from boostopt.rows.margin_matrix import MarginMatrix

MAX_UNSTAGED_SCALE = 100.0
"""Largest `objective_scale` without stages (measured: L-BFGS-B takes 100 evaluations; 170 for a scale of 1000)."""

STAGE_FACTOR = 2.0
"""Factor of the scale from stage to stage."""


@dataclass(frozen=True)
class Evaluation:
    """The term of F in minus the dual at (w, y).

    Attributes
    ----------
    value
        The value.
    d
        The example weights.
    slope
        The gradient in y.
    """

    value: float
    d: ExampleVector
    slope: Float[Array, " k"]


class DualForm(ABC):
    """The term of F in minus the dual as a convex function of (w, y). Its gradient in w is -Uᵀd.

    Attributes
    ----------
    form
        The name of the form.
    initial_y, lower_y, y_scale
        The start, the lower bounds and the scales of y, shape (k,).
    """

    form: str
    initial_y: Float[Array, " k"]
    lower_y: Float[Array, " k"]
    y_scale: Float[Array, " k"]

    @abstractmethod
    def evaluate(self, m: ExampleVector, y: Float[Array, " k"]) -> Evaluation:
        """Return the term for margins m = Uw."""


class DualInWPsi(DualForm):
    """(1/eta) ln sum d0 exp(-eta (m + psi)) + <caps, psi> over psi >= 0 [Glocer 2009, (3.11)]."""

    initial_y: Any
    lower_y: Any

    form = "dual in w, psi"

    def __init__(self, F: RelativeEntropy) -> None:
        self._F, self.initial_y, self.lower_y = F, np.zeros(F.N), np.zeros(F.N)
        self.y_scale: Any = np.full(F.N, 1.0 / F.eta)

    def evaluate(self, m: ExampleVector, y: Float[Array, " k"]) -> Evaluation:
        exponents = self._F.log_d0 - self._F.eta * (m + y)
        total: Any = logsumexp(exponents)
        d = np.exp(exponents - total)
        return Evaluation(float(total) / self._F.eta + float(self._F.upper @ y), d, self._F.upper - d)


class DualInWBeta(DualForm):
    """beta + sum f_n*(-m_n - beta) over beta [Glocer 2009, (3.26) and, with psi eliminated, (3.19)]."""

    initial_y: Any
    lower_y: Any
    y_scale: Any

    form = "dual in w, beta"

    def __init__(self, F: Separable) -> None:
        self._F, self.initial_y, self.lower_y, self.y_scale = F, np.zeros(1), np.full(1, -np.inf), np.ones(1)

    def evaluate(self, m: ExampleVector, y: Float[Array, " k"]) -> Evaluation:
        z = -m - y[0]
        d = self._F.maximizers(z)
        return Evaluation(float(y[0] + self._F.conjugate_terms(z).sum()), d, np.array([1.0 - float(d.sum())]))


class ReducedDual(DualForm):
    """F*(-m), or the conjugate of a stage.

    A stage replaces F by F + (steps - 1) times its Bregman distance to the last stage's weights, at which `center` is
    a subgradient of F. The conjugate of the stage is steps F*((z + (steps - 1) center) / steps) up to a constant. Its
    scale is that of F divided by `steps`. The `center` of the next stage is the argument of this F*. The stages do not
    change the optimum: d, w and gamma are those of F.
    """

    steps: float
    initial_y: Any
    lower_y: Any
    y_scale: Any

    form = "dual in w"

    def __init__(self, F: Regularizer) -> None:
        self._F, self.steps = F, max(F.objective_scale / MAX_UNSTAGED_SCALE, 1.0)
        self.initial_y = self.lower_y = self.y_scale = np.zeros(0)
        self.center: ExampleVector = np.zeros(F.N)

    def evaluate(self, m: ExampleVector, y: Float[Array, " k"]) -> Evaluation:
        conjugate = self._F.conjugate_at(self._stage_argument(m))
        return Evaluation(self.steps * conjugate.value, conjugate.d, y)

    def start_next_stage(self, m: ExampleVector) -> None:
        """Start the next stage at the weights d of these margins."""
        self.center, self.steps = self._stage_argument(m), max(self.steps / STAGE_FACTOR, 1.0)

    def _stage_argument(self, m: ExampleVector) -> ExampleVector:
        """Return the argument of F* in the conjugate of the stage."""
        return ((self.steps - 1.0) * self.center - m) / self.steps


@dataclass(frozen=True)
class Lagrangian:
    """The augmented Lagrangian of the dual in (v, y), with v the multipliers of the rows of G.

    With r = -(B'v + g), it is minus the dual without the equations, plus the maximum over x of
    <r, x> - (1/2) <x, Q x> - (mu/2) |x - estimate|^2. For Q = 0, this maximum is <estimate, r> + |r|^2 / (2 mu).

    Attributes
    ----------
    U
        The margin matrix.
    G
        The rows of the edge function.
    dual
        The term of F.
    estimate
        The estimate of x, which is -lambda, shape (j,).
    mu
        The divisor of the violation of the equations, positive.
    """

    U: MarginMatrix
    G: Epigraph
    dual: DualForm
    estimate: Float[Array, " j"]
    mu: float

    def __call__(self, z: Float[Array, " n"]) -> tuple[float, Float[Array, " n"]]:
        """Return the value and the gradient at z = (v, y / y_scale)."""
        v, y = self.split(z)
        m = self.U.margins(self.weights(v))
        term, x, r = self.dual.evaluate(m, y), self.first_order_estimate(v), self.residual(v)
        penalty = r @ x - 0.5 * (x @ self.G.Q @ x) - 0.5 * self.mu * ((x - self.estimate) @ (x - self.estimate))
        v_gradient = self.G.b - self.G.rows(self.U.edges(term.d)) - self.G.B @ x
        return term.value + float(self.G.b @ v + penalty), np.concatenate([v_gradient, term.slope * self.dual.y_scale])

    def split(self, z: Float[Array, " n"]) -> tuple[Float[Array, " k"], Float[Array, " y"]]:
        """Return v and y."""
        k = len(self.G.b)
        return z[:k], z[k:] * self.dual.y_scale

    def weights(self, v: Float[Array, " k"]) -> HypothesisVector:
        """Return the hypothesis weights w."""
        return self.G.weights(v) + self.G.slope

    def residual(self, v: Float[Array, " k"]) -> Float[Array, " j"]:
        """Return r. For Q = 0, r is c, which is sum w - 1 for the maximum edge."""
        return -(self.G.B.T @ v + self.G.g)

    def first_order_estimate(self, v: Float[Array, " k"]) -> Float[Array, " j"]:
        """Return the first-order estimate of x at v; for Q = 0, estimate + c / mu."""
        return self._inverse @ (self.residual(v) + self.mu * self.estimate)

    def violation(self, v: Float[Array, " k"]) -> float:
        """Return the violation of the equations r = Q x at the first-order estimate."""
        return float(np.abs(self.residual(v) - self.G.Q @ self.first_order_estimate(v)).max(initial=0.0))

    @cached_property
    def _inverse(self) -> Float[Array, "j j"]:
        """The inverse of Q + mu I."""
        return np.linalg.inv(self.G.Q + self.mu * np.eye(len(self.G.g)))


def dual_forms(F: Regularizer) -> Iterator[DualForm]:
    """Yield the forms of the dual: the form of the paper, then the form in w alone."""
    if isinstance(F, RelativeEntropy) and not isinstance(F, UnnormalizedRelativeEntropy):
        yield DualInWPsi(F)
    elif isinstance(F, Separable) and F.on_simplex:
        yield DualInWBeta(F)
    yield ReducedDual(F)


def row_multipliers(G: Epigraph, w: HypothesisVector) -> Float[Array, " k"]:
    """Return multipliers of the rows that give these weights, if the rows are orthogonal or opposite."""
    target = w - G.slope
    v = G.rows(target) if G.A is None else G.rows(target) / np.maximum((G.A**2).sum(axis=1), 1e-300)
    return np.where(G.equality, v, np.maximum(v, 0.0))
