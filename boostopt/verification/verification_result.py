"""The verdict on a certificate file: its claims compared with the proved interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.validation import check_array, check_csr
from boostopt.errors import ProblemError
from boostopt.verification.trusted_kernel.certificate_schema import CertificateDocument
from boostopt.verification.trusted_kernel.checker import ProvedBounds, RationalBounds
from boostopt.verification.trusted_kernel.json_parsing import Rejected, reject

BOTH_BOUNDS = "both bounds"
"""The description of claims of both bounds."""

MAX_EXACT_INTEGER = 2**53
"""Limit below which all integers are float64 numbers."""

NO_FURTHER_CLAIM = "; the certificate claims no more"
"""The addition to the reason of a verdict if the file does not claim both bounds."""

FUNCTIONS_NOT_STATED = "; the file does not state the F and G that its formulation means: only this value was checked"
"""The addition to the reason if the certificate of a class is older, or F and G have no closed forms."""


@dataclass(frozen=True)
class Verification:
    """The result of verifying a certificate file.

    Attributes
    ----------
    accepted
        Whether every claim of the file was proved again.
    reason
        The reason of the verdict, in words.
    formulation
        The formulation that the file names, with parameters; "" if this part could not be read.
    parameters
        The parameters by name.
    outcome
        "solved", "infeasible" or "".
    lower, upper
        The recomputed interval; nan if none was computed.
    fractions
        Both bounds as `fractions.Fraction`, exactly; `lower` and `upper` are these, rounded outward. None for a bound
        that was not computed in rational arithmetic.
    claimed
        The interval that the file claims.
    quantity
        The name of the value that was bounded: "value of the program" for the optimum of one program; for a class
        "soft margin" or another value of the weights, as in `ClassCertificate.quantity`; "" for a rejected file.
    verdict
        "none" for a rejected file; "bounded" if the interval was recomputed with a bound on its rounding; "proved" if
        it was recomputed in exact or ball arithmetic.
    """

    accepted: bool
    reason: str
    formulation: str = ""
    parameters: Mapping[str, Any] | None = None
    outcome: str = ""
    lower: float = math.nan
    upper: float = math.nan
    fractions: RationalBounds = (None, None)
    claimed: tuple[float, float] = (math.nan, math.nan)
    verdict: str = "none"
    quantity: str = ""

    def __bool__(self) -> bool:
        return self.accepted

    def __str__(self) -> str:
        return f"{'accepted' if self.accepted else 'rejected'}: {self.reason}"


def claimed_bounds_text(document: CertificateDocument) -> str:
    """Return the bounds that a file claims, in words."""
    lower, upper = math.isfinite(document.lower), math.isfinite(document.upper)
    if lower and upper:
        return BOTH_BOUNDS
    return "the lower bound" if lower else "the upper bound" if upper else "nothing"


def check_claims(document: CertificateDocument, bounds: ProvedBounds) -> None:
    """Reject a document that claims more than the proved bounds."""
    if document.outcome == "infeasible":
        if not bounds.excess > 0.0:
            reject(f"it claims that the program is infeasible; the proof misses this by {-bounds.excess:.3g}")
        if not document.excess <= bounds.excess:
            reject(f"it claims an excess of {document.excess!r}; the proved excess is {bounds.excess!r}")
        return
    if not bounds.lower <= bounds.upper:
        reject(f"its bounds contradict each other: the recomputed bounds are {bounds.lower!r} and {bounds.upper!r}")
    if not document.lower <= bounds.lower:
        reject(f"it claims that the optimum is at least {document.lower!r}; the proved bound is {bounds.lower!r}")
    if not bounds.upper <= document.upper:
        reject(f"it claims that the optimum is at most {document.upper!r}; the proved bound is {bounds.upper!r}")


def verdict_of(check: Callable[[], Verification]) -> Verification:
    """Return the verdict of a check, which may reject the file or need more memory than there is."""
    try:
        return check()
    except Rejected as rejected:
        return Verification(False, str(rejected))
    except MemoryError:
        return Verification(False, "verification needs more memory than there is")


def as_margin_matrix(data: Any) -> Any:
    """Return the caller's margin matrix as an array or as sparse rows.

    Raises
    ------
    ProblemError
        The data are not a matrix of finite real numbers, or have integers that float64 cannot represent.
    """
    rows: Any = data.to_cvxpy_constant() if hasattr(data, "to_cvxpy_constant") else data
    is_sparse = scipy.sparse.issparse(rows)
    rows = rows if is_sparse else check_array("the data", rows)
    if rows.ndim != 2 or rows.dtype.kind not in "iuf" or rows.dtype.itemsize > 8:
        raise ProblemError(
            "the data must be a margin matrix of real numbers of at most 64 bits, shape (N, t); got shape "
            f"{rows.shape} of {rows.dtype}. Pass U, the margins y_n h_q(x_n)."
        )
    is_integer = rows.dtype.kind in "iu"
    rows = check_csr("U", rows) if is_sparse else rows
    entries: Any = rows.data if is_sparse else rows
    if not np.isfinite(entries).all():
        raise ProblemError("the data must be finite; got nan or inf. Pass U, the margins y_n h_q(x_n).")
    if is_integer and entries.size and max(int(entries.max()), -int(entries.min())) >= MAX_EXACT_INTEGER:
        raise ProblemError(
            f"whole numbers in the data must be below 2^53, because float64 does not hold all larger ones; got "
            f"{entries.min()} to {entries.max()}. Pass U, the margins y_n h_q(x_n)."
        )
    return rows


def make_verification(
    document: CertificateDocument, accepted: bool, reason: str, bounds: ProvedBounds | None, exact: bool
) -> Verification:
    """Return the verdict on a document; `bounds` are the proved bounds, None if none were computed."""
    return Verification(
        accepted=accepted,
        reason=reason,
        formulation=document.formulation_name,
        parameters=document.parameters,
        outcome=document.outcome,
        lower=math.nan if bounds is None else bounds.lower,
        upper=math.nan if bounds is None else bounds.upper,
        fractions=(None, None) if bounds is None else bounds.rational_bounds,
        claimed=(document.lower, document.upper),
        verdict="none" if not accepted else "proved" if exact else "bounded",
        quantity="value of the program" if accepted else "",
    )
