"""Exact numbers for the same formulas: rationals for linear and quadratic programs, balls of any precision for others.

In rationals nothing is lost at all. Where logarithms, exponentials or roots occur, every number is a ball of
`PRECISION_BITS` bits that contains the exact one, by Arb, which python-flint brings [Johansson 2017]. What is recomputed so
is proved: no property of floating point, of NumPy or of a machine's linear algebra is relied on.
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
"""Bits of a ball: three times those of a float, so that what is lost shows in no float."""

TRANSCENDENTAL_KINDS = ("entropy", "loss", "norm", "formula", "exponential", "logistic")
"""Words in the kinds of regularizers that need more than rationals."""


class Irrational(Exception):
    """A number has no rational value, or is known to lie in a range only: a ball holds it."""


def prove(document: CertificateDocument, rows: Any) -> ProvedBounds:
    """Return the bounds of a document, in rationals where they suffice, in balls elsewhere.

    Raises
    ------
    Rejected
        The proof is bad, or exact arithmetic does not decide whether it is good.
    OptionError
        Balls are needed, and python-flint is not installed.
    """
    try:
        return _proved(document, rows, exact_number_type(document))
    except Irrational:
        return _proved(document, rows, ArbBalls())


def _proved(document: CertificateDocument, rows: Any, A: NumberType) -> ProvedBounds:
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
    # Where there is no optimum only the domain of F counts, and that is a box.
    if document.outcome != "infeasible" and any(word in kind for kind in kinds for word in TRANSCENDENTAL_KINDS):
        return ArbBalls()
    return Rationals()


class ExactNumberType(NumberType):
    """Vectors are arrays of objects, on which NumPy's operators work entry by entry."""

    exact = True

    @abstractmethod
    def to_number(self, x: float) -> Any:
        """Return one float as a number, exactly."""

    @abstractmethod
    def round_down(self, x: Any) -> float:
        """Return a float that is not above a number."""

    def to_vector(self, x: np.ndarray) -> Any:
        return self.stack([self.to_number(value) for value in np.asarray(x, dtype=np.float64).tolist()])

    def stack(self, numbers: Sequence[Any]) -> Any:
        made = np.empty(len(numbers), dtype=object)
        made[:] = numbers
        return made

    def where(self, where: np.ndarray, these: Any, those: Any) -> Any:
        return np.where(where, these, those)

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
            near = float(x)
        except OverflowError:
            return -math.inf if x < 0 else sys.float_info.max
        return near if Fraction(near) <= x else math.nextafter(near, -math.inf)

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
        low = float(x.lower())
        return math.nextafter(low, -math.inf) if math.isfinite(low) else -math.inf

    def log(self, x: Any) -> Any:
        return self.stack([value.log() for value in x.tolist()]) if isinstance(x, np.ndarray) else x.log()

    def exp(self, x: Any) -> Any:
        return self.stack([value.exp() for value in x.tolist()]) if isinstance(x, np.ndarray) else x.exp()

    def interval_around_zero(self, radius: np.ndarray) -> Any:
        return self.stack([self.flint.arb(0.0, value) for value in radius.tolist()])

    def positive(self, x: Any) -> Any:
        nothing = self.flint.arb(0.0)
        return self.stack([value.max(nothing) for value in x.tolist()])

    def largest(self, x: Any) -> Any:
        first, *others = x.tolist()
        for value in others:
            first = first.max(value)
        return first

    def is_certainly_nonnegative(self, x: Any) -> bool:
        return bool(x >= 0)
