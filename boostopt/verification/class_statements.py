"""The part of a class in a certificate file: its words and digest, its hypotheses as numbers, and the oracle's answer.

A verifier passes an oracle over the same examples. It gets one query, and computes the margins of the hypotheses.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Float
from boostopt._utils.validation import check_instance
from boostopt.errors import BoostoptError, reason_of
from boostopt.oracles.base import Answer, HypothesisClass, Oracle, Query, require_oracle
from boostopt.oracles.hypothesis_serialization import hypothesis_from_state, to_state
from boostopt.oracles.limited_class import Budget, LimitedClass
from boostopt.rows.margin_matrix import MarginMatrix
from boostopt.verification.certificate_writer import class_description, to_json_value
from boostopt.verification.trusted_kernel.certificate_schema import MAX_ARRAY_BYTES
from boostopt.verification.trusted_kernel.json_parsing import reject
from boostopt.verification.trusted_kernel.number_types import dense_rows
from boostopt.verification.trusted_kernel.stated_limits import StatedLimits

MARGINS_REQUIRED = "the file does not determine the margins of its hypotheses: pass them as U="
"""The reason for rejecting a file whose hypotheses give no margins."""

HYPOTHESES_NOT_WRITTEN = (
    "hypotheses that are more than numbers and texts are not written: to verify the file, pass their margins in "
    "Python, verify(path, oracle, U=margins)"
)
"""The warning of a writer whose file has no hypotheses."""

MEMBERSHIP_NOT_CHECKED = "; whether the hypotheses with weight belong to the class was not checked"
"""The addition to the reason of a verdict if the margins were passed, or the oracle is heuristic."""

GROUPS_NOT_CHECKED = ", nor whether they belong to the groups whose costs U= states"
"""A further addition if the margins were passed, and groups of hypotheses have costs."""

NO_EXACT_PROOF = (
    "exact proofs need the certificate of a program; the upper bound over a class comes from its oracle, in floating "
    "point. Leave out exact=True."
)
"""The message of the error for an exact proof of a class."""

MALFORMED_ERRORS = (BoostoptError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Exceptions that a malformed hypothesis can raise."""

WITHIN_LIMITS = " of weights that keep the limits"
"""The addition to the name of the value of a class whose weights have limits."""


def hypotheses_to_json(hypotheses: Sequence[Any]) -> list[Any]:
    """Return the states of hypotheses as JSON values; [] with a warning if one is more than numbers and texts."""
    states = [to_json_value(to_state(hypothesis)) for hypothesis in hypotheses]
    try:
        json.dumps(states, allow_nan=False)
    except TypeError:
        warnings.warn(HYPOTHESES_NOT_WRITTEN, stacklevel=3)
        return []
    return states


def oracle_of_file(oracle: Any, digest: str, description: str, N: int) -> Oracle:
    """Return the oracle of a verifier; Rejected unless it has the class and the examples of a file.

    Parameters
    ----------
    oracle
        The value that the verifier passes as the oracle.
    digest, description
        The digest and the words of the class in the file.
    N
        The number of examples in the file.
    """
    if not isinstance(oracle, HypothesisClass):
        reject("it is the certificate of a class of hypotheses: pass an oracle over the same examples")
    oracle = require_oracle(oracle, "a digest")
    if oracle.digest != digest:
        has_same_class = description == class_description(oracle)
        difference = (
            "the data have other numbers, labels, weights or another order" if has_same_class else f"got {oracle}"
        )
        reject(
            f"it has another class or other examples: it is about {description}; {difference}. Check the data, the "
            "rows and columns left out, and the options of the oracle"[:500]
        )
    return (
        oracle if oracle.N == N else reject(f"the certificate of {N} examples has other multiplicities than the oracle")
    )


def require_multiplicities(oracle: Oracle, c: np.ndarray) -> None:
    """Reject a file with other multiplicities than the oracle."""
    if not np.array_equal(oracle.c, c):
        reject("the certificate has other multiplicities than the oracle")


def query_oracle(oracle: Oracle, d: ExampleVector, limits: StatedLimits | None = None) -> Answer:
    """Return the oracle's answer to d and the prices of limits, if there are any; Rejected if it raises an error.

    The state of the oracle is restored.
    """
    state, weights = oracle.state(), d if limits is None else np.append(d, limits.prices)
    try:
        return oracle.best(Query(weights, 1, lambda u: 0.0))
    except BoostoptError as failure:
        reject(f"the oracle has no answer under the weights of the file: {reason_of(failure)}"[:400])
    finally:
        oracle.restore(state)


def checked_row_errors(oracle: object, limits: StatedLimits | None) -> Float[Array, " k"]:
    """Return the rounding errors of the limits of an oracle; Rejected if they are not the limits of the file."""
    if not isinstance(oracle, LimitedClass):
        return np.zeros(0) if limits is None else reject("the file is about weights with limits; pass a LimitedClass")
    if limits is None:
        reject("the file states no limits of the weights; pass the oracle without limits")
    if not np.array_equal(limits.right_sides, oracle.right_sides):
        reject("the file states other right sides of the limits than the oracle has")
    return oracle.row_errors


def rows_with_limits(
    margins: Any, N: int, t: int, oracle: Oracle, is_recomputed: bool, hypotheses: Sequence[Any] = ()
) -> Float[Array, "rows t"]:
    """Return margins of N examples, and the rows of the limits of the oracle below them, as a dense matrix.

    Rejected unless there is a row for each example and limit, and t columns.

    Parameters
    ----------
    margins
        The margins.
    N, t
        The numbers of examples and of hypotheses.
    oracle
        The class with limits.
    is_recomputed
        Whether the verifier passed the margins: then the rows of the limits are computed from those of the examples, by
        the costs of some group. Rejected unless they fit the rows that were passed.
    hypotheses
        The states of the hypotheses in the file. Rejected if the class knows one whose rows of the limits are others.
    """
    oracle = check_instance("oracle", oracle, LimitedClass, "a LimitedClass", "Pass the class of the file.")
    k = len(oracle.limits)
    if margins.shape != (N + k, t):
        reject(
            f"the margins must have {N} rows of examples and {k} of limits, and {t} columns; they have the shape "
            f"{margins.shape}"
        )
    rows = dense_rows(margins, slice(0, None))
    if not is_recomputed:
        return rows
    result = oracle.recomputed_rows(rows)
    if result is None:
        reject(
            "the rows of the limits in U= are not minus the coefficients that a hypothesis with these margins has in "
            "the limits of the oracle. Pass columns of run.record.pool.margins, or leave out U="
        )
    if len(hypotheses) == t:
        _check_groups(result, N, oracle, hypotheses)
    return result


def _check_groups(rows: Float[Array, "rows t"], N: int, oracle: LimitedClass, hypotheses: Sequence[Any]) -> None:
    """Reject rows of limits that are not those of a hypothesis which the class knows."""
    for q, state in enumerate(hypotheses):
        try:
            column = oracle.margins_of(hypothesis_from_state(state))
        except MALFORMED_ERRORS:  # the verifier has margins of hypotheses that the class does not read
            continue
        if column is not None and (np.abs(column[N:] - rows[N:, q]) > 2.0 * oracle.row_errors).any():
            reject(
                "a hypothesis of the file has other coefficients in the limits of the oracle than U= states. Leave out "
                "U=: the oracle computes the margins"
            )


def membership_text(oracle: Oracle, answer: Answer, U: Any) -> str:
    """Return what was not checked about the hypotheses with weight, as the end of a reason; "" if all was.

    Parameters
    ----------
    oracle, answer
        The class, and the answer of its oracle.
    U
        The margins that the verifier passed; None if the oracle computed them.
    """
    if answer.edge_bound is not None and U is None:
        return ""
    has_costs = isinstance(oracle, LimitedClass) and any(isinstance(limit, Budget) for limit in oracle.limits)
    return MEMBERSHIP_NOT_CHECKED + (GROUPS_NOT_CHECKED if has_costs and U is not None else "")


def hypothesis_margins(hypotheses: Sequence[Any], N: int, t: int, oracle: Oracle, answer: Answer) -> MarginMatrix:
    """Return the margins of the t hypotheses of a file on the N examples of the oracle; Rejected if they have none."""
    if len(hypotheses) != t:
        reject(MARGINS_REQUIRED)
    if N * t > MAX_ARRAY_BYTES // 8:
        reject(f"its {t} hypotheses on {N} examples need more than {MAX_ARRAY_BYTES:,} bytes")
    kind = answer.columns[0].hypothesis.kind
    columns = np.empty((N, t), order="F")
    for q, state in enumerate(hypotheses):
        try:
            if state["kind"] != kind and not oracle.heterogeneous:
                reject(f"a hypothesis is of the kind {state['kind']!r}; the class has the kind {kind!r}"[:200])
            column = oracle.margins_of(hypothesis_from_state(state))
        except MALFORMED_ERRORS as failure:
            reject(f"a hypothesis of the file cannot be read: {reason_of(failure)}"[:300])
        if column is None:
            reject(MARGINS_REQUIRED)
        columns[:, q] = column
    try:
        return MarginMatrix.of_private(columns)
    except BoostoptError as failure:
        reject(f"the hypotheses of the file have no margins: {reason_of(failure)}"[:300])
