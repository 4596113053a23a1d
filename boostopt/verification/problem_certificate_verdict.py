"""The verdict on the certificate file of a CVXPY problem."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any

from boostopt._utils.validation import check_path
from boostopt.errors import ProblemError, short_repr
from boostopt.verification.problem_kernel.problem_checker import Interval, check_document
from boostopt.verification.problem_kernel.problem_schema import FILE_KIND, Claim, parse_problem_document
from boostopt.verification.problem_kernel.rationals_and_balls import (
    Number,
    ceil_float,
    floor_float,
    is_exact,
    working_precision,
)
from boostopt.verification.statement_files import StatementFormat
from boostopt.verification.trusted_kernel.json_parsing import is_same_json, reject
from boostopt.verification.verification_result import BOTH_BOUNDS, NO_FURTHER_CLAIM, Verification, verdict_of

QUANTITY = "optimum of the problem"
"""The name of the value that the interval of such a file bounds."""

PROBLEM_FILES = StatementFormat("boostopt problem", "problem")
"""The format of files that hold the statement of a problem alone."""

OUTCOMES = {"bounded": "solved", "open": "solved", "infeasible": "infeasible", "unbounded": "unbounded"}
"""The outcome of a verification by the status that is claimed."""


def is_problem_certificate(top: Mapping[str, Any]) -> bool:
    """Return whether the object that a file states is the certificate of a CVXPY problem."""
    return top.get("kind") == FILE_KIND


def verify_problem_certificate(top: Mapping[str, Any], problem: Any = None, folder: Path | None = None) -> Verification:
    """Return the verdict on the object that a file states.

    Parameters
    ----------
    top
        The object.
    problem
        The CVXPY problem that the file must state, or the path of the file of its problem; None to check the problem of
        the file itself.
    folder
        The folder of the file, in which the file of its problem may lie; None if there is none.

    Raises
    ------
    ProblemError
        The problem is neither a CVXPY problem nor a path, or no file can state it.
    """

    def check() -> Verification:
        with_problem = _with_problem(top, problem, folder)
        with working_precision():
            document = parse_problem_document(with_problem)
            interval = check_document(document)
            return accepted_verification(document.claim, document.problem.sign, interval, QUANTITY)

    return verdict_of(check)


def _with_problem(top: Mapping[str, Any], problem: Any, folder: Path | None) -> Mapping[str, Any]:
    """Return the object of a file with its problem; Rejected if the verifier has another one."""
    is_path = isinstance(problem, str | PathLike)
    if problem is not None and not is_path:
        statement = _statement_of(problem)
        _require_statement(top, statement)
        return {**top, "problem": statement}
    if PROBLEM_FILES.is_beside(top):
        place = top["problem"]
        source = check_path("data", problem) if is_path else PROBLEM_FILES.path_beside(place, folder)
        return {**top, "problem": PROBLEM_FILES.read(source, place)}
    if is_path:
        reject("the certificate holds its problem, and no other file belongs to it; leave the data out")
    return top


def accepted_verification(claim: Claim, sign: int, interval: Interval, quantity: str) -> Verification:
    """Return the verdict on a file whose claim is proved.

    Parameters
    ----------
    claim
        The claim.
    sign
        1 if the problem minimizes, -1 if it maximizes.
    interval
        The proved interval.
    quantity
        The name of the value that is bounded.
    """
    outcome = OUTCOMES[claim.status]
    reason = (
        f"{_ends_text(claim)} proved in exact arithmetic"
        if outcome == "solved"
        else f"the problem was proved {claim.status}"
    )
    lower, upper = interval
    return Verification(
        True,
        reason,
        outcome=outcome,
        lower=_end(lower, claim.status, -1, sign),
        upper=_end(upper, claim.status, 1, sign),
        fractions=(_fraction(lower), _fraction(upper)),
        claimed=(_claimed(claim.lower, -math.inf), _claimed(claim.upper, math.inf)),
        verdict="proved",
        quantity=quantity,
    )


def _statement_of(problem: Any) -> dict[str, Any]:
    """Return the statement of a CVXPY problem, as JSON has it.

    Raises
    ------
    ProblemError
        It is no CVXPY problem, or no file can state it.
    """
    from boostopt._utils.cvxpy_tools import cp
    from boostopt.problem_certificates.arithmetic.balls import working_precision as reading_precision
    from boostopt.problem_certificates.problem_reader import read_problem
    from boostopt.verification.problem_statement import problem_to_json

    if not isinstance(problem, cp.Problem):
        raise ProblemError(
            "expected the cvxpy.Problem that the file states, the path of the file of its problem, or no data; got "
            f"{short_repr(problem)}. Leave the data out if the certificate holds its problem."
        )
    with reading_precision():
        return json.loads(json.dumps(problem_to_json(read_problem(problem))))


def _require_statement(top: Mapping[str, Any], statement: Mapping[str, Any]) -> None:
    """Reject a file that states another problem, or the digest of another one."""
    if PROBLEM_FILES.is_beside(top):
        is_equal = PROBLEM_FILES.digest_of(statement) == top["problem"]["sha256"]
    else:
        is_equal = is_same_json(statement, _with_names(top.get("problem")))
    if not is_equal:
        reject("the certificate states another problem; bounds that were passed to certify_problem are part of it")


def _with_names(statement: Any) -> Any:
    """Return a statement with the names that are written now; older files have those that CVXPY counted."""
    from boostopt.verification.problem_statement import name_in_file

    if not isinstance(statement, dict) or not isinstance(statement.get("variables"), list):
        return statement
    items = [
        {**item, "name": name_in_file(str(item["name"]), k)} if isinstance(item, dict) and "name" in item else item
        for k, item in enumerate(statement["variables"])
    ]
    return {**statement, "variables": items}


def _ends_text(claim: Claim) -> str:
    """Return the claimed bounds in words, as the subject of a sentence."""
    if claim.lower is not None and claim.upper is not None:
        return f"{BOTH_BOUNDS} of the interval were"
    return f"the {'lower' if claim.lower is not None else 'upper'} bound of the interval{NO_FURTHER_CLAIM}; it was"


def _end(value: Number | None, status: str, direction: int, sign: int) -> float:
    """Return a bound, rounded outward; of a problem without optimum, the infinity that is its value."""
    if status == "infeasible":
        return sign * math.inf
    if status == "unbounded":
        return -sign * math.inf
    if value is None:
        return direction * math.inf
    return floor_float(value) if direction < 0 else ceil_float(value)


def _fraction(value: Number | None) -> Fraction | None:
    """Return a number if it is a fraction."""
    return Fraction(value) if value is not None and is_exact(value) else None


def _claimed(value: Fraction | None, infinite: float) -> float:
    """Return a claimed bound as a float."""
    return infinite if value is None else float(value)
