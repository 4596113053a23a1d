"""Certificates of runs of looks: whole weights, and a whole number for each bucket of margins; nothing of N numbers.

Who verifies one looks at the rows himself, through an oracle made of the same examples: both ends are sums of whole
numbers, and so they are proved [theorem 13]. The file names the hypotheses by their splits, and by what they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array
from boostopt.boosting.histogram_newton.selection import representative_multiplicities
from boostopt.errors import BoostoptError, reason_of
from boostopt.functions.statements import Statement
from boostopt.oracles.base import Oracle
from boostopt.oracles.binned_oracle import BinnedOracle
from boostopt.oracles.hypothesis_state import hypothesis_from_state
from boostopt.programs.formulation import Formulation
from boostopt.programs.program import Examples
from boostopt.rows.binned_rows import BinnedRows
from boostopt.rows.row_block import Split
from boostopt.verification.certificate_files import class_in_words, described, described_edge
from boostopt.verification.formulation_consistency import check_measure, check_pair, nus, page_in, pair_in, record_in
from boostopt.verification.trusted_kernel.certificate_schema import FORMAT, KIND, LARGEST_SUM, Stated, formulation_in
from boostopt.verification.trusted_kernel.data_passes import (
    ONE,
    Term,
    negative_loss,
    negative_loss_upper,
    soft_margin,
    soft_margin_upper,
)
from boostopt.verification.trusted_kernel.exact_numbers import Rationals
from boostopt.verification.trusted_kernel.json_parsing import (
    claimed,
    count,
    fail,
    listed,
    mapping,
    number,
    text,
    with_keys,
)
from boostopt.verification.verification_result import UNSTATED, Verification

SUBJECT = "looks"
"""What such a file is about."""

NO_ROWS = (
    "this certificate is about a class of hypotheses on training examples: pass the oracle with these examples, or "
    "MarginBoostClassifier().class_of(X, y) with the parameters of the fit"
)

NO_DIGEST = "; the file has no digest of its rows: whether they are those of the data was not checked"
"""The words where an older file is verified."""

BUCKETS = 1 << 14
"""Buckets of a window; what lies below it and above it has one more each."""

LONGEST_SHIFT = 30
"""The binary logarithm of the most margins that a bucket has."""

UNREADABLE = (BoostoptError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Errors of a hypothesis or a parameter that was stated wrongly."""


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
    rows = oracle.binned_rows if isinstance(oracle, BinnedOracle) else None
    if rows is None or not isinstance(oracle, BinnedOracle):
        fail(NO_ROWS)
    if digest and text(data["digest"], "digest") != (found := rows.digest()):
        fail(
            f"it has other examples: the digest of its rows is {data['digest']}; that of the data is {found}. Check "
            "the features, the labels, the weights, and the rows and columns left out"[:500]
        )
    for what, values in expected.items():
        if values is not None and not np.array_equal(values, oracle.c / (1.0 if what == "c" else oracle.c.sum())):
            fail(f"the certificate has other {'multiplicities c' if what == 'c' else 'reference weights d0'}")
    page = page_in(name, formulation)
    eta, measure = _meant(page, parameters, pair, oracle, nu)
    named = {"what"} & set(mapping(about["claim"], "claim"))
    claim = with_keys(about["claim"], {"lower", "upper"} | named, "claim")
    check_measure(text(claim["what"], "the name of the value") if named else None, measure)
    low, high = claimed(claim["lower"], "lower", 1), claimed(claim["upper"], "upper", -1)
    lower, upper = _bounds(about, oracle, rows, nu, eta)
    down, up = Rationals().low(lower), Rationals().high(upper)
    if low > lower:  # Python compares a float with a fraction exactly
        fail(f"it has other examples, or claims too much: at least {low!r}, but these examples have {down!r}")
    if high < upper:
        fail(f"it has other examples, or claims too much: at most {high!r}, but these examples have {up!r}")
    exact = nu is not None
    how = "were proved in whole numbers" if exact else "were recomputed, with a bound on the rounding of logarithms,"
    return Verification(
        accepted=True,
        reason=f"both ends of the best {measure} {how} over {oracle}"
        f"{'' if pair else UNSTATED}{'' if digest else NO_DIGEST}",
        formulation=name,
        parameters=parameters,
        outcome="solved",
        lower=down,
        upper=up,
        fractions=(lower, upper) if exact else (None, None),
        claimed=(low, high),
        verdict="proved" if exact else "bounded",
        what=measure,
    )


def _bounds(
    about: Mapping[str, Any], oracle: BinnedOracle, rows: BinnedRows, nu: float | None, eta: float
) -> tuple[Fraction, Fraction]:
    """Return what the weights of the hypotheses reach, and what the weights of the examples prove."""
    d = with_keys(about["d"], {"w", "origin", "shift", "table"}, "d")
    splits = _splits(about["data"]["hypotheses"], oracle, rows)
    origin, shift = _whole(d["origin"], "origin"), _whole(d["shift"], "shift")
    table = np.array([_whole(q, "a weight of a bucket") for q in listed(d["table"], "table")], dtype=np.int64)
    if not (abs(origin) <= ONE and 0 <= shift <= LONGEST_SHIFT and len(table) == BUCKETS + 2):
        fail(f"the window must lie among the margins, and have {BUCKETS + 2} buckets; it has {len(table)}")
    terms, of_d = _terms(about["w"], splits), _terms(d["w"], splits)
    if (total := sum(term[0] for term in terms)) != ONE:
        fail(f"the weights must sum to 2^30; they sum to {total}")
    bins = origin, shift, BUCKETS
    if nu is None:
        upper = negative_loss_upper(rows, of_d, bins, table, oracle.reflexive, eta)
        return negative_loss(rows, terms, eta), upper
    upper = soft_margin_upper(rows, of_d, bins, table, oracle.reflexive, Fraction(nu))
    return soft_margin(rows, terms, Fraction(nu)), upper


def _splits(stated: Any, oracle: BinnedOracle, rows: BinnedRows) -> list[tuple[int, int, int]]:
    """Return the hypotheses of a file as splits; Rejected where one is not in the class, or is another one there."""
    splits = list[tuple[int, int, int]]()
    try:
        for each in listed(stated, "the hypotheses"):
            with_keys(each, {"split", "is"}, "a hypothesis")
            feature, code, sign = (_whole(value, "a split") for value in listed(each["split"], "a split"))
            hypothesis = hypothesis_from_state(mapping(each["is"], "is"))
            if not (0 <= code < rows.n_codes.get(feature, 0) - 1 and (sign == 1 or (sign == -1 and oracle.reflexive))):
                fail(f"the class does not contain {hypothesis}"[:300])
            there = oracle.hypothesis_of(Split(feature, code, sign))
            if there != hypothesis:
                fail(f"the class has {there} in place of {hypothesis}. Check the order of the columns"[:300])
            splits.append((feature, code, sign))
    except UNREADABLE as failure:
        fail(f"a hypothesis of the file cannot be read: {reason_of(failure)}"[:300])
    return splits


def _meant(
    page: Formulation[Any], parameters: Mapping[str, Any], pair: Stated | None, oracle: BinnedOracle, nu: float | None
) -> tuple[float, str]:
    """Return the eta of the logarithmic loss, or inf for a soft margin, and the name of the value that is meant.

    Rejected where it is not that of a file's nu.

    The formulation with its parameters must mean the pair that the file states. Without its entropy, this pair must be
    one of two: the caps c / nu, or the logarithmic loss, each with the largest edge.
    """
    c = representative_multiplicities(page, oracle, oracle.total if nu is None else nu)
    examples = Examples(c, c / c.sum())
    record = record_in(page, parameters, examples)
    means, goal = pair_in(page, record, examples)
    if pair is not None:
        check_pair(page, means, pair, examples, parameters)
    other = (
        f"{page.name} with the parameters of the file has another soft margin than "
        f"{'a loss' if nu is None else f'that of nu = {nu:g}'}"
    )
    if goal is None:
        fail(other)
    try:
        # The numbers of the file first: another nu may have the same caps, rounded.
        counts = () if nu is None else (*nus(parameters)[:-1], nu, 1.0)
        F, G = described(goal.F0, examples, counts), described_edge(goal.G)
    except BoostoptError as failure:
        fail(f"{other}: {reason_of(failure)}"[:400])
    if G == {"kind": "maximum"} and nu is None and F.numbers["kind"] == "logarithmic loss":
        return float(F.numbers["eta"]), goal.measure
    caps = G == {"kind": "maximum"} and nu is not None and F.numbers["kind"] == "cap" and _are_caps_of(F, nu)
    return (math.inf, goal.measure) if caps else fail(other)


def _are_caps_of(F: Statement, nu: float) -> bool:
    """Whether caps are c / nu. Caps of at least 1 bind nothing, and mean the smallest margin, nu = 1."""
    caps = F.numbers
    if caps["caps"] == "c / nu":
        return caps["nu"] == nu or (nu == 1.0 and caps["nu"] <= 1.0)
    return nu == 1.0 and (caps["nu"] <= 1.0 if caps["caps"] == "1 / nu" else bool((F.arrays["caps"] >= 1.0).all()))


def _terms(stated: Any, splits: list[tuple[int, int, int]]) -> list[Term]:
    """Return whole weights of the first hypotheses with these."""
    W = [_whole(value, "a weight") for value in listed(stated, "the weights")]
    if len(W) > len(splits) or min(W, default=0) < 0 or sum(W) > ONE:
        fail(f"there must be at most {len(splits)} weights, non-negative and with a sum of at most 2^30")
    return [(weight, *split) for weight, split in zip(W, splits, strict=False)]


def _whole(value: Any, what: str) -> int:
    """Return a whole number of at most 2^31."""
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > 2 * ONE:
        fail(f"{what} must be a whole number of at most 2^31; it is {value!r}"[:200])
    return value
