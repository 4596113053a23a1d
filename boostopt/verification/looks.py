"""Certificates of runs of looks: whole weights, and a whole number for each bucket of margins; nothing of N numbers.

Who verifies one looks at the rows himself, through an oracle made of the same examples: both ends are sums of whole
numbers, and so they are proved [theorem 13]. The file names the hypotheses by their splits, and by what they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from os import PathLike
from typing import Any

import numpy as np

from boostopt.arguments import file_path
from boostopt.boosting.aims import Aim, SoftMarginAim, aim_of, aim_of_goal
from boostopt.boosting.looked import LookedRun
from boostopt.boosting.proving import Proof, check_splits, proof_of
from boostopt.boosting.reached import below
from boostopt.boosting.serving import standing_for
from boostopt.errors import BoostoptError, needed
from boostopt.oracles.base import Oracle
from boostopt.oracles.rows_oracle import RowsOracle
from boostopt.oracles.saving import restored_hypothesis, to_state
from boostopt.programs.formulation import Formulation
from boostopt.programs.program import Examples
from boostopt.rows.kernels import BITS, BUCKETS, ONE, Split, Window
from boostopt.rows.rows import Rows
from boostopt.shapes import Array, Int
from boostopt.verification.agreement import check_pair, page_in, pair_in, record_in, stated_pair
from boostopt.verification.describing import class_in_words
from boostopt.verification.parsing import claimed, count, fail, listed, mapping, number, text, with_keys
from boostopt.verification.reading import FORMAT, KIND, LARGEST_SUM, Stated, formulation_in
from boostopt.verification.verdicts import UNSTATED, Verification
from boostopt.verification.writing import write

SUBJECT = "looks"
"""What such a file is about."""

NO_ROWS = (
    "this certificate is about a class of hypotheses on training examples: pass the oracle with these examples, or "
    "MarginBoostClassifier().class_of(X, y) with the parameters of the fit"
)

NO_DIGEST = "; the file has no digest of its rows: whether they are those of the data was not checked"
"""The words where an older file is verified."""

UNREADABLE = (BoostoptError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Errors of a hypothesis or a parameter that was stated wrongly."""


def save_looks(run: LookedRun, oracle: RowsOracle, path: str | PathLike[str], made: Mapping[str, Any]) -> None:
    """Save the certificate of a run of looks; both ends are told anew before.

    Raises
    ------
    OptionError
        The oracle has other examples or another class.
    DataError
        The file cannot be written.
    """
    certificate, stored, rows = run.verify_class(oracle), run.stored_looks, needed(oracle.rows, "rows")
    page = stored.problem.page
    reached, aim = stored.reached, needed(aim_of(stored.problem, oracle.total), "an aim of looks")
    proof, W = needed(reached.ends.proof, "an upper end"), needed(reached.ends.W, "weights")
    room = float(2 * aim.scale * aim.slack)  # another processor may compute a loss by so much differently
    parameters = {name: value for name, value in vars(stored.problem.first.parameters).items() if np.ndim(value) == 0}
    document = {
        "kind": KIND,
        "format": FORMAT,
        "subject": SUBJECT,
        "formulation": {
            "name": page.name,
            "parameters": parameters,
            **stated_pair(page, stored.problem.first.parameters, stored.problem.examples),
        },
        "nu": float(aim.nu) if isinstance(aim, SoftMarginAim) else None,
        "data": {
            "N": oracle.N,
            "examples": int(oracle.total),
            "oracle": class_in_words(oracle),
            "digest": rows.digest(),
            "hypotheses": [
                {"split": list(split), "is": to_state(hypothesis)}
                for split, hypothesis in zip(reached.splits, stored.hypotheses, strict=True)
            ],
        },
        "w": W.tolist(),
        "d": {
            "w": proof.W.tolist(),
            "origin": proof.window.origin,
            "shift": proof.window.shift,
            "table": proof.table.tolist(),
        },
        # Outward by a bit: the letters of a float may lie on either side of it.
        "claim": {
            "lower": math.nextafter(certificate.lower - room, -math.inf),
            "upper": math.nextafter(certificate.upper + room, math.inf),
        },
        "made": dict(made),
    }
    write(file_path("path", path), document, {})


def verified(
    top: Mapping[str, Any], oracle: Any, expected: Mapping[str, Array | None], formulation: Any
) -> Verification:
    """Return the verdict on the certificate of a run of looks; Rejected where it proves nothing.

    Parameters
    ----------
    top
        What the file says.
    oracle
        The class, over the examples of the reader.
    expected
        Multiplicities c and reference distribution d0 that the reader expects, None where he does not.
    formulation
        A page of his own.
    """
    about = with_keys(
        top, {"kind", "format", "subject", "formulation", "nu", "data", "w", "d", "claim", "made", "arrays"}, "the file"
    )
    if (about["kind"], about["format"], about["arrays"]) != (KIND, FORMAT, {}) or type(about["format"]) is not int:
        fail(f"it must be a {KIND} of format {FORMAT}; it says {about['kind']!r}, {about['format']!r}"[:200])
    if not isinstance(oracle, Oracle):
        fail(NO_ROWS)
    name, parameters, pair = formulation_in(about["formulation"], {}, True)
    mapping(about["made"], "made")
    nu = None if about["nu"] is None else number(about["nu"], "nu", LARGEST_SUM)
    digest = {"digest"} & set(mapping(about["data"], "data"))
    data = with_keys(about["data"], {"N", "examples", "oracle", "hypotheses"} | digest)
    sizes = count(data["N"], "N"), count(data["examples"], "examples")
    if sizes != (oracle.N, int(oracle.total)) or data["oracle"] != class_in_words(oracle):
        fail(
            f"it has another class or other examples: it is about {sizes[0]} examples of total weight {sizes[1]} and "
            f"{text(data['oracle'], 'oracle')}; the data give {oracle.N} of {oracle.total:g} and {oracle}"[:500]
        )
    rows = oracle.rows if isinstance(oracle, RowsOracle) else None
    if rows is None or not isinstance(oracle, RowsOracle):
        fail(NO_ROWS)
    if digest and text(data["digest"], "digest") != (found := rows.digest()):
        fail(
            f"it has other examples: the digest of its rows is {data['digest']}; that of the data is {found}. Check "
            "the features, the labels, the weights, and the rows and columns left out"[:500]
        )
    for what, values in expected.items():
        if values is not None and not np.array_equal(values, oracle.c / (1.0 if what == "c" else oracle.c.sum())):
            fail(f"the certificate has other {'multiplicities c' if what == 'c' else 'reference weights d0'}")
    aim = _aim(page_in(name, formulation), parameters, pair, oracle, nu)
    claim = with_keys(about["claim"], {"lower", "upper"}, "claim")
    low, high = claimed(claim["lower"], "lower", 1), claimed(claim["upper"], "upper", -1)
    lower, proof = _ends(about, oracle, rows, aim)
    lower, upper = aim.scale * lower, aim.scale * proof.upper
    if low > lower:  # Python compares a float with a fraction exactly
        fail(f"it has other examples, or claims too much: at least {low!r}, but these examples have {below(lower)!r}")
    if high < upper:
        fail(f"it has other examples, or claims too much: at most {high!r}, but these examples have {-below(-upper)!r}")
    exact = aim.slack == 0
    how = "were proved in whole numbers" if exact else "were recomputed, with a bound on the rounding of logarithms,"
    return Verification(
        accepted=True,
        reason=f"both ends {how} over {oracle}{'' if pair else UNSTATED}{'' if digest else NO_DIGEST}",
        formulation=name,
        parameters=parameters,
        outcome="solved",
        lower=below(lower),
        upper=-below(-upper),
        fractions=(lower, upper) if exact else (None, None),
        claimed=(low, high),
        verdict="proved" if exact else "bounded",
    )


def _ends(about: Mapping[str, Any], oracle: RowsOracle, rows: Rows, aim: Aim) -> tuple[Fraction, Proof]:
    """Return what the weights reach, and what those of the examples prove."""
    splits, d = list[Split](), with_keys(about["d"], {"w", "origin", "shift", "table"}, "d")
    try:
        stated = [with_keys(each, {"split", "is"}, "a hypothesis") for each in listed(about["data"]["hypotheses"], "")]
        splits = [Split(*(_whole(value, "a split") for value in listed(each["split"], "a split"))) for each in stated]
        check_splits(oracle, rows, splits, [restored_hypothesis(mapping(each["is"], "is")) for each in stated])
    except UNREADABLE as failure:
        fail(f"a hypothesis of the file does not belong to the class: {failure}. Check the order of the columns"[:300])
    W, origin, shift = _weights(about["w"], splits), _whole(d["origin"], "origin"), _whole(d["shift"], "shift")
    table = np.array([_whole(q, "a weight of a bucket") for q in listed(d["table"], "table")], dtype=np.int64)
    if not (abs(origin) <= ONE and 0 <= shift <= BITS and len(table) == BUCKETS + 2):
        fail(f"the window must lie among the margins, and have {BUCKETS + 2} buckets; it has {len(table)}")
    of_d = _weights(d["w"], splits)
    if W.sum() != ONE:
        fail(f"the weights must sum to 2^{BITS}; they sum to {W.sum()}")
    try:
        proof = proof_of(
            rows, aim, oracle.reflexive, splits[: len(of_d)], of_d, Window(origin >> shift << shift, shift), table
        )
    except BoostoptError as failure:
        fail(f"it has other examples, or proves nothing: {failure}"[:300])
    return aim.sharp(rows, rows.scores(splits[: len(W)], W)), proof


def _aim(
    page: Formulation[Any], parameters: Mapping[str, Any], pair: Stated | None, oracle: RowsOracle, nu: float | None
) -> Aim:
    """Return what looks of the formulation are after; Rejected where its nu is another one, or looks do not serve.

    The formulation with its parameters must also mean the pair that the file states.
    """
    c = standing_for(page, oracle, oracle.total if nu is None else nu)
    examples = Examples(c, c / c.sum())
    record = record_in(page, parameters, examples)
    means, goal = pair_in(page, record, examples)
    if pair is not None:
        check_pair(page, means, pair, examples, parameters)
    aim = aim_of_goal(goal, page, record, examples, oracle.total) if goal is not None and goal.signed else None
    if aim is None or (float(aim.nu) if isinstance(aim, SoftMarginAim) else None) != nu:
        wanted = "a loss" if nu is None else f"that of nu = {nu:g}"
        fail(f"{page.name} with the parameters of the file has another soft margin than {wanted}")
    return aim


def _weights(stated: Any, splits: list[Split]) -> Int[Array, " t"]:
    """Return whole weights, one for each of the first hypotheses."""
    W = np.array([_whole(value, "a weight") for value in listed(stated, "the weights")], dtype=np.int64)
    if len(W) > len(splits) or (W < 0).any() or W.sum() > ONE:
        fail(f"there must be at most {len(splits)} weights, non-negative and with a sum of at most 2^{BITS}")
    return W


def _whole(value: Any, what: str) -> int:
    """Return a whole number of at most 2^31."""
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > 2 * ONE:
        fail(f"{what} must be a whole number of at most 2^31; it is {value!r}"[:200])
    return value
