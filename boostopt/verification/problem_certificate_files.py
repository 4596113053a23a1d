"""The verdict on the certificate file of a CVXPY problem."""

from __future__ import annotations

import hashlib
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
from boostopt.verification.trusted_kernel.certificate_schema import MAX_TEXT_BYTES
from boostopt.verification.trusted_kernel.json_parsing import (
    Rejected,
    parse_json,
    parse_object_with_keys,
    parse_text,
    read_bytes,
    reject,
)
from boostopt.verification.verification_result import BOTH_BOUNDS, NO_FURTHER_CLAIM, Verification

QUANTITY = "optimum of the problem"
"""The name of the value that the interval of such a file bounds."""

PROBLEM_FILE_KIND = "boostopt problem"
"""The kind of files that hold the statement of a problem alone."""

PROBLEM_FILE_KEYS = {"file", "sha256"}
"""The names that stand for a problem in a file of its own: its relative path, and its digest."""

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
    try:
        is_path = isinstance(problem, str | PathLike)
        if problem is not None and not is_path:
            statement = _statement_of(problem)
            _require_statement(top, statement)
            top = {**top, "problem": statement}
        elif is_beside(top):
            source = check_path("data", problem) if is_path else _path_beside(top["problem"], folder)
            top = {**top, "problem": _statement_in(source, top["problem"])}
        elif is_path:
            reject("the certificate holds its problem, and no other file belongs to it; leave the data out")
        with working_precision():
            document = parse_problem_document(top)
            interval = check_document(document)
            return accepted_verification(document.claim, document.problem.sign, interval, QUANTITY)
    except Rejected as rejected:
        return Verification(False, str(rejected))
    except MemoryError:
        return Verification(False, "verification needs more memory than there is")


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


def is_beside(top: Mapping[str, Any]) -> bool:
    """Return whether the problem is in a file of its own, whose name and digest the object states."""
    problem = top.get("problem")
    return isinstance(problem, dict) and set(problem) == PROBLEM_FILE_KEYS


def problem_file_text(statement: Mapping[str, Any]) -> bytes:
    """Return the text of the file that holds the statement of a problem: one text for each statement."""
    content = {"kind": PROBLEM_FILE_KIND, "format": 1, "problem": statement}
    return json.dumps(content, allow_nan=False, sort_keys=True, separators=(",", ":")).encode()


def _statement_of(problem: Any) -> dict[str, Any]:
    """Return the statement of a CVXPY problem, as JSON has it.

    Raises
    ------
    ProblemError
        It is no CVXPY problem, or no file can state it.
    """
    from boostopt._utils.cvxpy_tools import cp
    from boostopt.problem_certificates.arithmetic.balls import working_precision as reading_precision
    from boostopt.problem_certificates.reading import read_problem
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
    if is_beside(top):
        is_equal = hashlib.sha256(problem_file_text(statement)).hexdigest() == top["problem"]["sha256"]
    else:
        is_equal = statement == _with_names(top.get("problem"))
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


def _path_beside(place: Mapping[str, Any], folder: Path | None) -> Path:
    """Return the path of the file of a problem: within the folder of the certificate, and nowhere else."""
    name = parse_text(place["file"], "the file of the problem")
    path = Path(name)
    if folder is None:
        reject(f"the problem is in the file {name!r}; pass its path as data=")
    if path.is_absolute() or not path.name or ".." in path.parts or "\\" in name:
        reject(
            f"the file of the problem must lie in the folder of the certificate; it is {name!r}. Pass its path as data="
        )
    return folder / path


def _statement_in(path: Path, place: Mapping[str, Any]) -> Any:
    """Return the statement in the file of a problem; Rejected if the file is absent, or has another digest."""
    expected = parse_text(place["sha256"], "the digest of the file of the problem")
    try:
        content = read_bytes(path, MAX_TEXT_BYTES)
    except Rejected as rejected:
        reject(
            f"the problem of the certificate is in another file: {rejected}. Put it there, or pass its path as data="
        )
    digest = hashlib.sha256(content).hexdigest()
    if digest != expected:
        reject(
            f"the file of the problem must have the digest {expected[:12]}...; {path.name[-100:]} has {digest[:12]}... "
            "It was changed, or belongs to another certificate: pass the path of the file that was saved as data="
        )
    item = parse_object_with_keys(parse_json(content), {"kind", "format", "problem"}, "the file of the problem")
    if item["kind"] != PROBLEM_FILE_KIND or item["format"] != 1 or type(item["format"]) is not int:
        reject(f"the file of the problem must be a {PROBLEM_FILE_KIND} of format 1; it is none")
    return item["problem"]


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
