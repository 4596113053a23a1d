"""Exact numbers for the same formulas: rationals for linear and quadratic programs, balls of any precision for others.

Rationals have no rounding errors. With logarithms, exponentials or roots, every number is a ball of `PRECISION_BITS`
bits that contains the exact number, computed by Arb, a part of python-flint [Johansson 2017]. Bounds that are
recomputed in this way are proved: they rely on no property of floating point, of NumPy or of linear algebra libraries.
"""

from __future__ import annotations

import importlib.util
import math
import sys
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from fractions import Fraction
from typing import Any

import numpy as np

from boostopt.errors import OptionError
from boostopt.verification.trusted_kernel.certificate_schema import CertificateDocument
from boostopt.verification.trusted_kernel.checker import ProvedBounds, recompute_bounds
from boostopt.verification.trusted_kernel.number_types import NumberType, dense_rows

PRECISION_BITS = 160
"""The bits of a ball: three times as many as a float has, so that rounding errors are far below those of floats."""

TRANSCENDENTAL_KINDS = ("entropy", "loss", "norm", "formula", "exponential", "logistic")
"""Words in the kinds of regularizers that need balls."""


class Irrational(Exception):
    """A number has no rational value or is known up to an interval only, so that a ball is needed."""


def prove(document: CertificateDocument, rows: Any) -> ProvedBounds:
    """Return the bounds of a document, in rationals if they suffice, otherwise in balls.

    Raises
    ------
    Rejected
        The proof is invalid, or exact arithmetic does not decide whether the proof is valid.
    OptionError
        Balls are needed, and python-flint is not installed.
    """
    try:
        return _recompute_bounds_in(document, rows, exact_number_type(document))
    except Irrational:
        return _recompute_bounds_in(document, rows, ArbBalls())


def _recompute_bounds_in(document: CertificateDocument, rows: Any, A: NumberType) -> ProvedBounds:
    """Return the bounds of a document in a number type."""
    with A.precision_context():
        return recompute_bounds(document, rows, A)


def exact_number_type(document: CertificateDocument) -> NumberType:
    """Return the number type in which the bounds of a document can be proved.

    Raises
    ------
    OptionError
        Balls are needed, and python-flint is not installed.
    """
    kinds = [document.F["kind"], document.F.get("base", document.F)["kind"]]
    # A proof of infeasibility needs the domain of F only, which is a box.
    if document.outcome != "infeasible" and any(word in kind for kind in kinds for word in TRANSCENDENTAL_KINDS):
        return ArbBalls()
    return Rationals()


class ExactNumberType(NumberType):
    """Number types whose vectors are NumPy arrays of objects."""

    exact = True

    @abstractmethod
    def to_number(self, x: float) -> Any:
        """Return one float as a number, exactly."""

    @abstractmethod
    def round_down(self, x: Any) -> float:
        """Return a float that is a lower bound of a number."""

    def to_vector(self, x: np.ndarray) -> Any:
        return self.stack([self.to_number(value) for value in np.asarray(x, dtype=np.float64).tolist()])

    def stack(self, numbers: Sequence[Any]) -> Any:
        vector = np.empty(len(numbers), dtype=object)
        vector[:] = numbers
        return vector

    def select(self, mask: np.ndarray, x: Any, y: Any) -> Any:
        return np.where(mask, x, y)

    def total(self, x: Any) -> Any:
        return sum(x.tolist(), start=self.to_number(0.0))

    def edges(self, U: Any, d: Any) -> Any:
        columns = dense_rows(U, slice(0, U.shape[0])).T
        return self.stack([self.total(self.to_vector(column) * d) for column in columns])

    def margins(self, U: Any, w: Any) -> Any:
        return self.stack([self.total(self.to_vector(row) * w) for row in dense_rows(U, slice(0, U.shape[0]))])

    def capped_difference(self, c: np.ndarray, nu: float, d0: np.ndarray) -> Any:
        return self.to_vector(c) - self.to_vector(d0) * self.to_number(nu)

    def lower(self, x: Any) -> Any:
        return (
            np.array([self.round_down(value) for value in x.tolist()])
            if isinstance(x, np.ndarray)
            else self.round_down(x)
        )

    def upper(self, x: Any) -> Any:
        return -self.lower(-x)


class Rationals(ExactNumberType):
    """Exact rational numbers."""

    def to_number(self, x: float) -> Any:
        return Fraction(x)

    def round_down(self, x: Any) -> float:
        try:
            nearest = float(x)
        except OverflowError:
            return -math.inf if x < 0 else sys.float_info.max
        return nearest if Fraction(nearest) <= x else math.nextafter(nearest, -math.inf)

    def log(self, x: Any) -> Any:
        raise Irrational("a logarithm has no rational value")

    def exp(self, x: Any) -> Any:
        raise Irrational("an exponential has no rational value")

    def interval_around_zero(self, radius: np.ndarray) -> Any:
        if radius.any():
            raise Irrational("a number is known to lie in a range only")
        return self.to_vector(radius)

    def positive(self, x: Any) -> Any:
        return self.stack([max(value, Fraction(0)) for value in x.tolist()])

    def largest(self, x: Any) -> Any:
        return max(x.tolist())

    def is_certainly_nonnegative(self, x: Any) -> bool:
        return x >= 0


class ArbBalls(ExactNumberType):
    """Balls of `PRECISION_BITS` bits.

    Raises
    ------
    OptionError
        python-flint is not installed.
    """

    def __init__(self) -> None:
        if importlib.util.find_spec("flint") is None:
            raise OptionError(
                "exact proofs with logarithms, exponentials or roots need the ball arithmetic of python-flint; it is "
                "not installed. Install it: pip install python-flint, or verify without exact."
            )
        import flint

        self.flint: Any = flint

    def precision_context(self) -> AbstractContextManager[Any]:
        return self.flint.ctx.workprec(PRECISION_BITS)

    def to_number(self, x: float) -> Any:
        return self.flint.arb(x)

    def round_down(self, x: Any) -> float:
        # The conversion rounds: one float further down is below the ball in any case.
        lower = float(x.lower())
        return math.nextafter(lower, -math.inf) if math.isfinite(lower) else -math.inf

    def log(self, x: Any) -> Any:
        return self.stack([value.log() for value in x.tolist()]) if isinstance(x, np.ndarray) else x.log()

    def exp(self, x: Any) -> Any:
        return self.stack([value.exp() for value in x.tolist()]) if isinstance(x, np.ndarray) else x.exp()

    def interval_around_zero(self, radius: np.ndarray) -> Any:
        return self.stack([self.flint.arb(0.0, value) for value in radius.tolist()])

    def positive(self, x: Any) -> Any:
        zero = self.flint.arb(0.0)
        return self.stack([value.max(zero) for value in x.tolist()])

    def largest(self, x: Any) -> Any:
        largest, *remaining = x.tolist()
        for value in remaining:
            largest = largest.max(value)
        return largest

    def is_certainly_nonnegative(self, x: Any) -> bool:
        return bool(x >= 0)
