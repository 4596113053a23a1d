"""The common part of norm balls and norm penalties: a base plus a function of a p-norm, and the conjugate of the sum.

The norm counts an example with c_n = k as k copies: ||d||_p^p = sum_n c_n (d_n / c_n)^p. The dual norm is
||s||_q^q = sum_n c_n |s_n|^q with 1/p + 1/q = 1. The base B is the indicator of the simplex, or the relative entropy on
it, and F(d) = B(d) + h(||d||_p). So the conjugate of F is an infimal convolution:

    F*(z) = min over s of B*(z - s) + H(s),    H the conjugate of h(||d||_p).

ANY s gives a number that is not below F*(z). If the base is the entropy, the best s is mu c^(1-p) d^(p-1) at the
maximizer d, and Wright's omega function gives both [Shalev-Shwartz and Singer 2008, theorem 7; for absolute norms].
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Float
from boostopt._utils.cvxpy_tools import cp
from boostopt._utils.validation import check_instance, check_number, positive_parameter, positive_weights, read_fields
from boostopt.errors import ProblemError
from boostopt.functions.convex_function import cached_property, computed_attribute
from boostopt.functions.numerics.capped_softmax import CAP_SUM_TOL
from boostopt.functions.numerics.root_finding import bracket_root, find_root
from boostopt.functions.numerics.support_expansion import expand
from boostopt.functions.regularizer_statements import Statement, statement_of
from boostopt.functions.regularizers.base import ConjugatePoint
from boostopt.functions.regularizers.capped_simplex import CappedSimplex
from boostopt.functions.regularizers.capped_simplex_indicator import CappedSimplexIndicator
from boostopt.functions.regularizers.delegating_base import DelegatingRegularizer
from boostopt.functions.regularizers.norms.entropy_norm_path import EntropyNormPath
from boostopt.functions.regularizers.relative_entropy import RelativeEntropy

NORM_ROUNDING = 4.4e-16
"""Relative rounding error of a norm for each step of its pairwise sum, and for each unit of a logarithm in a power."""


@dataclass(frozen=True)
class NormRegularizer(DelegatingRegularizer):
    """The base plus h(||d||_p), the common part of a ball and a penalty.

    Parameters
    ----------
    base
        The indicator of the simplex (`simplex`) or the relative entropy on it, without caps.
    c
        Multiplicities, shape (N,), positive.
    p
        Exponent, 1 < p < inf; the penalty also takes inf.
    r
        Radius, or strength of the penalty, positive.
    """

    base: CappedSimplexIndicator | RelativeEntropy
    c: ExampleVector
    p: float
    r: float

    def __post_init__(self) -> None:
        kinds, advice = (CappedSimplexIndicator, RelativeEntropy), "Pass simplex(c)."
        check_instance("base", self.base, kinds, "the simplex or a relative entropy on it", advice, ProblemError)
        read_fields(self, c=lambda name, c: positive_weights(name, c, self.N), p=self._exponent, r=positive_parameter)
        if float(self.base.upper.min(initial=1.0, where=self.base.upper > 0.0)) < 1.0 - CAP_SUM_TOL:
            raise ProblemError(f"base must have no caps below 1; got {self.base.upper.min():.6g}. {advice}")

    @staticmethod
    def _exponent(name: str, value: object) -> float:
        """Return the exponent of a norm, checked."""
        return check_number(name, value, "a finite number above 1", lambda p: 1.0 < p < np.inf, error=ProblemError)

    def _required_cones(self) -> frozenset[str]:
        return self.base.cones | ({"second_order"} if np.isfinite(self.p) else frozenset())

    cones: ClassVar[frozenset[str]] = computed_attribute(_required_cones)

    def statement(self, c: ExampleVector, d0: ExampleVector, nus: tuple[float, ...] = ()) -> Statement | None:
        base = statement_of(self.base, c, d0, nus)
        if base is None or not np.array_equal(self.c, c):
            return None
        return Statement({"kind": self.kind, "p": self.p, "r": self.r, "base": base.numbers}, base.arrays)

    @property
    def dual_exponent(self) -> float:
        """The dual exponent q, with 1/p + 1/q = 1."""
        return self.p / (self.p - 1.0) if np.isfinite(self.p) else 1.0

    @cached_property
    def min_norm_point(self) -> ExampleVector:
        """The point of smallest norm, proportional to c on the examples that may have weight."""
        c = np.where(self.base.domain.c > 0, self.c, 0.0)
        return c / c.sum()

    @cached_property
    def max_log_multiplicity(self) -> float:
        """The largest absolute value of the logarithm of a sum of multiplicities. Norms are powers of such sums."""
        return max(abs(float(np.log(self.c.min()))), abs(float(np.log(self.c.sum()))))

    def exponent_rounding_error(self, exponent: float) -> float:
        """Bound the relative error of a norm by the rounding of its exponent. It is large if c is far from 1.

        A relative change of p changes the power S^(1/p) of a sum S by this change times ln(S) / p.
        """
        return NORM_ROUNDING * self.max_log_multiplicity / exponent

    @property
    def magnitude(self) -> float:
        return self.base.magnitude + 2.0

    def norm(self, d: ExampleVector) -> float:
        """Return ||d||_p, with examples counted as copies."""
        return _norm(d / self.c, self.c, self.p)

    def dual_norm(self, s: ExampleVector) -> float:
        """Return ||s||_q, with examples counted as copies."""
        return _norm(s, self.c, self.dual_exponent)

    def conjugate_at(self, z: ExampleVector, start: ExampleVector | None = None) -> ConjugatePoint:
        d, s = self._maximizer_and_dual(z)
        base_point = self.base.conjugate_at(z - s)
        value = base_point.value + self.dual_norm_term(s)
        return ConjugatePoint(value, self.project(d), {**base_point.multipliers, "s": s})

    def gaps(self, d: ExampleVector, z: ExampleVector, point: ConjugatePoint) -> ExampleVector:
        s = np.asarray(point.multipliers["s"])
        return self.base.gaps(d, z - s, point) + self.norm_gap_terms(d, s)

    def norm_gradient(self, d: ExampleVector) -> ExampleVector:
        """Return the gradient of the norm at d, for a finite p; 0 at d = 0."""
        norm = self.norm(d)
        return (d / (self.c * norm)) ** (self.p - 1.0) if norm > 0.0 else np.zeros(self.N)

    @abstractmethod
    def dual_norm_term(self, s: ExampleVector) -> float:
        """Return H(s)."""

    @abstractmethod
    def norm_gap_terms(self, d: ExampleVector, s: ExampleVector) -> ExampleVector:
        """Return the N non-negative terms that sum to h(||d||) + H(s) - <s, d>."""

    def cvxpy_norm(self, d: Any) -> Any:
        """Return ||d||_p for an affine expression, with examples counted as copies."""
        return _cvxpy_norm(d, self._vertex_norms, self.p)

    def cvxpy_dual_norm(self, s: Any) -> Any:
        """Return ||s||_q for an affine expression, with examples counted as copies."""
        return _cvxpy_norm(s, self.c ** (1.0 / self.dual_exponent), self.dual_exponent)

    @property
    def _vertex_norms(self) -> ExampleVector:
        """The norms of the vertices of the simplex."""
        return self.c ** (1.0 / self.p - 1.0)

    @abstractmethod
    def _maximizer_and_dual(self, z: ExampleVector) -> tuple[ExampleVector, ExampleVector]:
        """Return a maximizer of <z, d> - F(d), up to the accuracy of the root finder, and the best s."""

    @abstractmethod
    def _solve_on_simplex(self, z: ExampleVector) -> tuple[ExampleVector, ExampleVector]:
        """Return the maximizer d and the best s at z, if the base is the simplex over all examples."""

    def _solve_on_support(self, z: ExampleVector) -> tuple[ExampleVector, ExampleVector]:
        """Return the maximizer d and the best s at z, if the base is the simplex over some of the examples."""
        in_support = self.base.domain.c > 0
        if in_support.all():
            return self._solve_on_simplex(z)
        base = CappedSimplexIndicator(CappedSimplex(self.base.domain.c[in_support], self.base.domain.nu))
        restricted = replace(self, base=base, c=self.c[in_support])
        d, s = restricted._solve_on_simplex(z[in_support])
        return expand(d, in_support), expand(s, in_support)

    def _young_gap_terms(self, alpha: ExampleVector, beta: ExampleVector) -> ExampleVector:
        """Return the terms c (alpha^p / p + beta^q / q - alpha beta), each non-negative by Young's inequality."""
        return self.c * np.maximum(
            alpha**self.p / self.p + beta**self.dual_exponent / self.dual_exponent - alpha * beta, 0.0
        )

    def _find_on_path(
        self, path: EntropyNormPath, excess: Callable[[ExampleVector, ExampleVector], float]
    ) -> tuple[ExampleVector, ExampleVector]:
        """Return the d and s of the path at which `excess(d, s)`, an increasing function of the level, is 0."""

        def excess_at(level: float) -> float:
            return excess(*path.maximizer_at(level))

        return path.maximizer_at(find_root(excess_at, *bracket_root(excess_at, 0.0)))


def _norm(x: Float[Array, " n"], c: Float[Array, " n"], p: float) -> float:
    """Return (sum c |x|^p)^(1/p). Entries are divided by the largest one, so that no power overflows."""
    max_size = float(np.abs(x).max(initial=0.0))
    if max_size == 0.0 or not np.isfinite(p):
        return max_size
    return max_size * float((c * (np.abs(x) / max_size) ** p).sum()) ** (1.0 / p)


def _cvxpy_norm(x: Any, weights: ExampleVector, p: float) -> Any:
    """Return the p-norm of weights * x for an affine expression x."""
    weighted = cp.multiply(weights, x)
    return cp.norm_inf(weighted) if not np.isfinite(p) else cp.pnorm(weighted, cast(Any, p))
