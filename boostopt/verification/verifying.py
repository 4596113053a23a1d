"""The verdict on a certificate file: accepted or rejected, with the reason."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from boostopt.errors import OptionError, ProblemError
from boostopt.formulation import summing_to_one
from boostopt.verification.arithmetic import Floats, Numbers
from boostopt.verification.checking import Bounds, check_shape, recompute
from boostopt.verification.parsing import Rejected, fail
from boostopt.verification.reading import Document, read


@dataclass(frozen=True)
class Verification:
    """What became of a certificate file.

    Attributes
    ----------
    accepted
        Whether all that it claims was proved anew.
    reason
        Why, in words.
    formulation
        The name that it gives, with parameters; "" where it could not be read so far.
    parameters
        The parameters by name.
    outcome
        "solved", "infeasible" or "".
    lower, upper
        The interval as recomputed; nan where nothing was.
    claimed
        The interval that the file claims.
    verdict
        "none" where it was rejected, "bounded" where the interval was recomputed with a bound of its rounding,
        "proved" where it was recomputed in exact or ball arithmetic.
    """

    accepted: bool
    reason: str
    formulation: str = ""
    parameters: Mapping[str, Any] | None = None
    outcome: str = ""
    lower: float = math.nan
    upper: float = math.nan
    claimed: tuple[float, float] = (math.nan, math.nan)
    verdict: str = "none"

    def __bool__(self) -> bool:
        return self.accepted

    def __str__(self) -> str:
        return f"{'accepted' if self.accepted else 'rejected'}: {self.reason}"


def verify(
    path: str | PathLike[str],
    data: Any,
    *,
    c: Any = None,
    d0: Any = None,
    U: Any = None,
    formulation: Any = None,
    exact: bool = False,
) -> Verification:
    """Recompute every bound of a certificate file from the data, and say whether it holds.

    Nothing in the file is believed and nothing in it is executed. What the bounds are computed with imports NumPy and
    nothing of what solves: `boostopt.verification.checking`, and the three modules that it names.

    Parameters
    ----------
    path
        The file.
    data
        The margin matrix, shape (N, t): an array, a scipy sparse matrix or `Margins`; or a program over it, whose
        multiplicities and reference distribution must then be those of the file too. For the certificate of a class:
        its oracle, which is asked once.
    c, d0
        Multiplicities and reference distribution, shape (N,), that the file must state; None to take those that it
        states.
    U
        For the certificate of a class, the margins of the hypotheses with weight, where the oracle cannot tell them.
    formulation
        The page of a formulation of one's own; those of boostopt are known by their name.
    exact
        Whether to compute in exact rationals (linear and quadratic programs) or in ball arithmetic, which needs
        python-flint: the interval is then proved.

    Returns
    -------
    The verdict; a file that cannot be read is rejected too.

    Raises
    ------
    ProblemError
        The data are no matrix of finite numbers.
    OptionError
        python-flint is needed and not installed; or an exact proof is asked for of a class.
    """
    try:
        document = read(Path(path))
    except Rejected as rejected:
        return Verification(False, str(rejected))
    try:
        with np.errstate(all="ignore"):
            return _verified(document, data, c, d0, U, formulation, exact)
    except Rejected as rejected:
        return verdict(document, False, str(rejected), None, exact)


def subject(path: str | PathLike[str]) -> str:
    """Return what a certificate file is about, "program" or "class"; "" where it cannot be read."""
    try:
        return read(Path(path)).subject
    except Rejected:
        return ""


def _verified(document: Document, data: Any, c: Any, d0: Any, U: Any, formulation: Any, exact: bool) -> Verification:
    """Return the verdict on a file that could be read."""
    from boostopt.verification.agreement import agree

    if document.subject == "class":
        from boostopt.verification.classes import verified

        if exact:
            raise OptionError(
                "the upper end of a class is what its oracle says, in floating point; exact proofs are for programs. "
                "Leave out exact."
            )
        return verified(document, data, U, formulation)
    given = {"c": c, "d0": None if d0 is None else summing_to_one(np.asarray(d0))}
    if hasattr(data, "examples") and hasattr(data, "margins"):
        given = {"c": data.examples.c if c is None else c, "d0": data.examples.d0 if d0 is None else d0}
        data = data.margins
    rows = matrix(data)
    check_shape(document, rows)
    for name, values in given.items():
        if values is not None and not np.array_equal(getattr(document, name), values):
            fail(f"the certificate is for other {'multiplicities c' if name == 'c' else 'reference weights d0'}")
    agree(document, formulation)
    A = arithmetic(document, exact)
    with A.working():
        bounds = recompute(document, rows, A)
    compare(document, bounds)
    what = "proved in exact arithmetic" if exact else "recomputed from the data"
    proved = "that there is no optimum was" if document.outcome == "infeasible" else "both ends of the interval were"
    return verdict(document, True, f"{proved} {what}", bounds, exact)


def compare(document: Document, bounds: Bounds) -> None:
    """Reject a claim of more than is proved."""
    if document.outcome == "infeasible":
        if not bounds.excess > 0.0:
            fail(f"it claims that there is no optimum; the proof falls short by {-bounds.excess:.3g}")
        if not document.excess <= bounds.excess:
            fail(f"it claims an excess of {document.excess!r}; {bounds.excess!r} is proved")
        return
    if not document.lower <= document.upper:
        fail(f"it claims an interval whose ends are exchanged, [{document.lower!r}, {document.upper!r}]")
    if not document.lower <= bounds.lower:
        fail(f"it claims that the optimum is at least {document.lower!r}; what is proved is {bounds.lower!r}")
    if not bounds.upper <= document.upper:
        fail(f"it claims that the optimum is at most {document.upper!r}; what is proved is {bounds.upper!r}")


def arithmetic(document: Document, exact: bool) -> Numbers:
    """Return the number type to compute in."""
    if not exact:
        return Floats()
    from boostopt.verification.exact import exact_numbers

    return exact_numbers(document)


def matrix(data: Any) -> Any:
    """Return the caller's data as a matrix that the checker takes: an array, or sparse rows."""
    rows = data.for_modelling() if hasattr(data, "for_modelling") else data
    if not hasattr(rows, "toarray"):
        try:
            rows = np.asarray(rows)
        except ValueError as failure:
            raise ProblemError(f"the data must be a margin matrix, shape (N, t); {failure}.") from None
        if rows.ndim != 2 or rows.dtype.kind not in "iuf":
            raise ProblemError(
                f"the data must be a margin matrix of real numbers, shape (N, t); got shape {rows.shape} of "
                f"{rows.dtype}. Pass U, the margins y_n h_q(x_n)."
            )
    else:
        rows = rows.tocsr()
    if not np.isfinite(rows.data if hasattr(rows, "toarray") else rows).all():
        raise ProblemError("the data must be finite; got entries that are not. Pass U, the margins y_n h_q(x_n).")
    return rows


def verdict(document: Document, accepted: bool, reason: str, bounds: Bounds | None, exact: bool) -> Verification:
    """Return the verdict in full."""
    return Verification(
        accepted=accepted,
        reason=reason,
        formulation=document.name,
        parameters=document.parameters,
        outcome=document.outcome,
        lower=math.nan if bounds is None else bounds.lower,
        upper=math.nan if bounds is None else bounds.upper,
        claimed=(document.lower, document.upper),
        verdict="none" if not accepted else "proved" if exact else "bounded",
    )
