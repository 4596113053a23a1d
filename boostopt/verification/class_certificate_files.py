"""Certificates of runs: how far a soft margin, or other value, is from the best one over the whole class of an oracle.

The lower end is the value of the weights, over the hypotheses that have weight; the upper end is proved by a
distribution and by what the oracle says of it, which is asked once. The file names the value, a soft margin or another
one, and the class: by its words and by the digest of its examples. It holds the hypotheses as plain numbers where they
are of boostopt's own kinds.
"""

from __future__ import annotations

import dataclasses
import json
import math
import warnings
from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.validation import check_instance
from boostopt.boosting.histogram_newton.histogram_run import HistogramRun
from boostopt.boosting.run.run import Run
from boostopt.errors import BoostoptError, OptionError, ProblemError, reason_of, require_not_none
from boostopt.oracles.base import Answer, Oracle, Query
from boostopt.oracles.binned_oracle import BinnedOracle
from boostopt.oracles.hypothesis_state import hypothesis_from_state, to_state
from boostopt.programs.program import Program
from boostopt.rows.margin_matrix import Margins
from boostopt.verification.certificate_files import (
    class_in_words,
    plain,
    read_back,
    stated,
    too_large,
    with_claim,
    write,
)
from boostopt.verification.formulation_consistency import agree, check_measure, stated_pair
from boostopt.verification.histogram_certificate_writer import save_looks
from boostopt.verification.trusted_kernel.certificate_schema import LARGEST_ARRAYS, Document
from boostopt.verification.trusted_kernel.checker import ProvedBounds, StatedRegularizer, recompute, regularizer
from boostopt.verification.trusted_kernel.conjugates import Vector
from boostopt.verification.trusted_kernel.feasible_points import into_ball, normed_weights
from boostopt.verification.trusted_kernel.json_parsing import Rejected, SizeLimit, fail
from boostopt.verification.trusted_kernel.number_types import Floats
from boostopt.verification.verification_result import (
    BOTH,
    NO_MORE,
    UNSTATED,
    Verification,
    claimed_ends,
    compare,
    matrix,
    verdict,
)

UNTOLD = "the file does not determine the margins of its hypotheses: pass them as U="

UNWRITTEN = (
    "hypotheses that are more than numbers and texts are not written: to verify the file, pass their margins in "
    "Python, verify(path, oracle, U=margins)"
)

UNCHECKED = "; whether the hypotheses with weight belong to the class was not checked"
"""Of margins that were passed, and of heuristic oracles, nobody can tell."""

UNREADABLE = (BoostoptError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Errors of a hypothesis that was stated wrongly."""


def save_class(run: Run, oracle: Oracle, path: str | PathLike[str], made: Mapping[str, Any] | None = None) -> None:
    """Save the certificate of a run over its whole class. Others can verify it with their own oracle.

    Parameters
    ----------
    run
        The run.
    oracle
        The oracle of the run. It gets one query, which proves the upper end before the file is written.
    path
        The file; long vectors go into a second file, as in `save`.
    made
        Information about the run for readers of the file: names with texts and numbers.

    Warns
    -----
    UserWarning
        The hypotheses are not written, because they are more than numbers and texts.

    Raises
    ------
    OptionError
        The oracle has other examples or another class; or the program has no soft margin.
    ProblemError
        F or G has no closed forms.
    DataError
        The file cannot be written.
    """
    run = check_instance("run", run, Run, "a run of boost", "Pass the run itself.")
    if isinstance(run, HistogramRun) and isinstance(oracle, BinnedOracle) and oracle.binned_rows is not None:
        save_looks(run, oracle, path, made or {})
        return
    certificate, goal = run.verify_class(oracle), run.record.problem.objective
    if goal is None or not run.w.any():
        raise OptionError("expected a run with a soft margin; got a run without one. Use run.certificate.")
    used = np.flatnonzero(run.w)
    hypotheses = _plain_states([run.hypotheses[q] for q in used.tolist()])
    if not hypotheses:
        warnings.warn(UNWRITTEN, stacklevel=2)
    U, w = run.record.pool.margins.take_columns(used), run.w[used]
    soft = goal.program(U)
    w = w / np.abs(w).sum() if goal.nonnegative_weights else w
    over = soft.certify(certificate.d, w)
    page, parameters = run.record.problem.formulation, run.record.problem.template.parameters
    program = Program(page, parameters, goal.examples, U, goal.F0, goal.G)
    statement, arrays = stated(program, over.w)
    statement |= {
        "subject": "class",
        "formulation": {**statement["formulation"], **stated_pair(page, parameters, goal.examples)},
        "data": {
            **statement["data"],
            "oracle": class_in_words(oracle),
            "digest": oracle.digest,
            "hypotheses": hypotheses,
        },
    }
    # The lower end is proved as for any program; the upper one by the oracle.
    document, arrays = with_claim(statement, arrays, program, dataclasses.replace(over, upper=math.inf), made or {})
    document["claim"]["what"] = goal.measure
    if certificate.d is not None and math.isfinite(certificate.upper):
        arrays["d"] = certificate.d
        claim = document["claim"]
        claim["upper"] = certificate.upper
        # Where d is moved into its ball the upper end moves as well.
        again = _upper(document, arrays, certificate.upper - goal.F0.value(certificate.d))
        if math.isfinite(again):
            upper = max(certificate.upper, again)
            claim["upper"] = upper + 1e-12 * max(1.0, abs(upper))
        else:
            del arrays["d"]
            claim["upper"] = math.inf
    write(path, document, arrays)


def verified(document: Document, oracle: Any, U: Any, formulation: Any) -> Verification:
    """Return the verdict on the certificate of a class."""
    if not isinstance(oracle, Oracle):
        fail("it is the certificate of a class of hypotheses: pass an oracle over the same examples")
    if oracle.digest != document.oracle_digest:
        same = document.oracle == class_in_words(oracle)
        given = "the data have other numbers, labels, weights or another order" if same else f"got {oracle}"
        fail(
            f"it has another class or other examples: it is about {document.oracle}; {given}. Check the data, the rows "
            "and columns left out, and the options of the oracle"[:500]
        )
    if oracle.N != document.N or not np.array_equal(oracle.c, document.c):
        fail("the certificate has other multiplicities than the oracle")
    goal = require_not_none(agree(document, formulation), "a value over a class")
    check_measure(document.what, goal.measure)
    if not goal.nonnegative_weights and not oracle.reflexive:
        fail("edges count without their sign, but the class does not contain the negations of its hypotheses")
    d, A = document.arrays.get("d"), Floats()
    F = regularizer(document, A)
    point = None if d is None else _feasible(A, F, d)
    answer = _asked(oracle, document.c / document.c.sum() if d is None else _weights(F, d))
    margins = matrix(_columns(document, oracle, answer)) if U is None else matrix(U)
    alone = {name: array for name, array in document.arrays.items() if name != "d"}
    bounds = recompute(dataclasses.replace(document, arrays=alone), margins, A)
    if d is not None:
        if answer.largest is None:
            fail("the oracle gives no bound on the edges of its class; the certificate claims one")
        bounds = ProvedBounds(bounds.lower, _end_above(A, F, point, d, answer.largest))
    compare(document, bounds)
    ends = claimed_ends(document)
    checked = answer.largest is not None and U is None
    reason = f"recomputed over {oracle}: {ends} of the best {goal.measure}{'' if ends == BOTH else NO_MORE}"
    reason += "" if checked else UNCHECKED
    reason += "" if document.pair else UNSTATED
    return dataclasses.replace(verdict(document, True, reason, bounds, False), what=goal.measure)


def _feasible(A: Floats, F: StatedRegularizer, d: Float[Array, " N"]) -> Vector:
    """Return a point of the domain of F near d; Rejected where there is none."""
    point = normed_weights(A, F.box, F.norm, d)
    if F.norm is not None and F.norm.ball:
        point = into_ball(A, F.norm, point, F.box)
    return fail("it cannot be decided whether d lies in the ball of its norm") if point is None else point


def _weights(F: StatedRegularizer, d: Float[Array, " N"]) -> Float[Array, " N"]:
    """Return the weights that the oracle is asked with: none is negative unless F allows any sign."""
    return d if F.box.free else np.maximum(d, 0.0)


def _end_above(A: Floats, F: StatedRegularizer, point: Vector, d: Float[Array, " N"], largest: float) -> float:
    """Return what no weights over a class can exceed, whose largest edge is known under d, near a feasible point."""
    moved = point - A.vector(_weights(F, d))
    value = F.value(A, point) + A.total(A.size(moved))
    return math.nextafter(float(A.high(value)) + largest, math.inf)


def _upper(document: dict[str, Any], arrays: dict[str, Array], largest: float) -> float:
    """Return the upper end as a reader will recompute it."""
    A, d = Floats(), arrays["d"]
    try:
        with np.errstate(all="ignore"):
            F = regularizer(read_back(document, arrays), A)
            return _end_above(A, F, _feasible(A, F, d), d, largest)
    except SizeLimit as limit:
        raise too_large(limit) from limit
    except Rejected as rejected:
        raise ProblemError(
            f"expected weights d that prove an upper end; {rejected}. Boost with a smaller tolerance. If that does not "
            "help, please report this bug."
        ) from rejected


def _asked(oracle: Oracle, d: Float[Array, " N"]) -> Answer:
    """Return the oracle's answer; it is left as it was."""
    before = oracle.state()
    try:
        return oracle.best(Query(d, 1, lambda u: 0.0))
    except BoostoptError as failure:
        fail(f"the oracle has no answer under the weights of the file: {reason_of(failure)}"[:400])
    finally:
        oracle.restore(before)


def _plain_states(hypotheses: list[Any]) -> list[Any]:
    """Return the states of hypotheses as JSON knows them, none where one of them is more than numbers and texts."""
    states = [plain(to_state(hypothesis)) for hypothesis in hypotheses]
    try:
        json.dumps(states, allow_nan=False)
    except TypeError:
        return []
    return states


def _columns(document: Document, oracle: Oracle, answer: Answer) -> Margins:
    """Return the margins of the hypotheses in the file on the examples of the oracle."""
    if len(document.hypotheses) != document.t:
        fail(UNTOLD)
    if document.N * document.t > LARGEST_ARRAYS // 8:
        fail(f"its {document.t} hypotheses on {document.N} examples need more than {LARGEST_ARRAYS:,} bytes")
    kind = answer.columns[0].hypothesis.kind
    columns = np.empty((document.N, document.t), order="F")
    for q, state in enumerate(document.hypotheses):
        try:
            if state["kind"] != kind and not oracle.mixed:
                fail(f"a hypothesis is of the kind {state['kind']!r}; the class has the kind {kind!r}"[:200])
            column = oracle.margins_of(hypothesis_from_state(state))
        except UNREADABLE as failure:
            fail(f"a hypothesis of the file cannot be read: {reason_of(failure)}"[:300])
        if column is None:
            fail(UNTOLD)
        columns[:, q] = column
    try:
        return Margins.of_private(columns)
    except BoostoptError as failure:
        fail(f"the hypotheses of the file have no margins: {reason_of(failure)}"[:300])
