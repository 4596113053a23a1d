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
from boostopt.oracles.base import HypothesisClass, require_oracle
from boostopt.oracles.binned_oracle import BinnedClass
from boostopt.oracles.hypothesis_state import hypothesis_from_state
from boostopt.programs.formulation import Formulation
from boostopt.programs.program import Examples
from boostopt.rows.binned_rows import BinnedRows
from boostopt.rows.row_block import Split
from boostopt.verification.certificate_files import class_description, edge_to_json, regularizer_to_json
from boostopt.verification.formulation_consistency import (
    candidate_nus,
    check_functions_agree,
    check_measure,
    functions_of_parameters,
    parameter_record,
    trusted_formulation,
)
from boostopt.verification.trusted_kernel.certificate_schema import (
    FILE_KIND,
    FORMAT,
    MAX_NU,
    FunctionsAsJSON,
    parse_formulation,
)
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
    parse_claimed_bound,
    parse_count,
    parse_list,
    parse_number,
    parse_object,
    parse_object_with_keys,
    parse_text,
    reject,
)
from boostopt.verification.verification_result import FUNCTIONS_NOT_STATED, Verification

SUBJECT = "looks"
"""What such a file is about."""

ORACLE_REQUIRED = (
    "this certificate is about a class of hypotheses on training examples: pass the oracle with these examples, or "
    "MarginBoostClassifier().class_of(X, y) with the parameters of the fit"
)

DIGEST_MISSING = "; the file has no digest of its rows: whether they are those of the data was not checked"
"""The words where an older file is verified."""

BUCKETS = 1 << 14
"""Buckets of a window; what lies below it and above it has one more each."""

LONGEST_SHIFT = 30
"""The binary logarithm of the most margins that a bucket has."""

MALFORMED_ERRORS = (BoostoptError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Errors of a hypothesis or a parameter that was stated wrongly."""


def verify_histogram_certificate(
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
    about = parse_object_with_keys(
        top, {"kind", "format", "subject", "formulation", "nu", "data", "w", "d", "claim", "made", "arrays"}, "the file"
    )
    if (about["kind"], about["format"], about["arrays"]) != (FILE_KIND, FORMAT, {}) or type(about["format"]) is not int:
        reject(f"it must be a {FILE_KIND} of format {FORMAT}; it says {about['kind']!r}, {about['format']!r}"[:200])
    if not isinstance(oracle, HypothesisClass):
        reject(ORACLE_REQUIRED)
    name, parameters, pair = parse_formulation(about["formulation"], {}, True)
    parse_object(about["made"], "made")
    nu = None if about["nu"] is None else parse_number(about["nu"], "nu", MAX_NU)
    digest = {"digest"} & set(parse_object(about["data"], "data"))
    data = parse_object_with_keys(about["data"], {"N", "examples", "oracle", "hypotheses"} | digest)
    sizes = parse_count(data["N"], "N"), parse_count(data["examples"], "examples")
    if sizes != (oracle.N, int(oracle.total)) or data["oracle"] != class_description(oracle):
        reject(
            f"it has another class or other examples: it is about {sizes[0]} examples of total weight {sizes[1]} and "
            f"{parse_text(data['oracle'], 'oracle')}; the data give {oracle.N} of {oracle.total:g} and {oracle}"[:500]
        )
    rows = oracle.binned_rows if isinstance(oracle, BinnedClass) else None
    if rows is None or not isinstance(oracle, BinnedClass):
        reject(ORACLE_REQUIRED)
    if digest and parse_text(data["digest"], "digest") != (found := rows.digest()):
        reject(
            f"it has other examples: the digest of its rows is {data['digest']}; that of the data is {found}. Check "
            "the features, the labels, the weights, and the rows and columns left out"[:500]
        )
    for what, values in expected.items():
        if values is None:
            continue
        c = require_oracle(oracle, "multiplicities").c
        if not np.array_equal(values, c / (1.0 if what == "c" else c.sum())):
            reject(f"the certificate has other {'multiplicities c' if what == 'c' else 'reference weights d0'}")
    page = trusted_formulation(name, formulation)
    eta, measure = _meant(page, parameters, pair, oracle, nu)
    named = {"what"} & set(parse_object(about["claim"], "claim"))
    claim = parse_object_with_keys(about["claim"], {"lower", "upper"} | named, "claim")
    check_measure(parse_text(claim["what"], "the name of the value") if named else None, measure)
    low, high = parse_claimed_bound(claim["lower"], "lower", 1), parse_claimed_bound(claim["upper"], "upper", -1)
    lower, upper = _bounds(about, oracle, rows, nu, eta)
    down, up = Rationals().lower(lower), Rationals().upper(upper)
    if low > lower:  # Python compares a float with a fraction exactly
        reject(f"it has other examples, or claims too much: at least {low!r}, but these examples have {down!r}")
    if high < upper:
        reject(f"it has other examples, or claims too much: at most {high!r}, but these examples have {up!r}")
    exact = nu is not None
    how = "were proved in whole numbers" if exact else "were recomputed, with a bound on the rounding of logarithms,"
    return Verification(
        accepted=True,
        reason=f"both ends of the best {measure} {how} over {oracle}"
        f"{'' if pair else FUNCTIONS_NOT_STATED}{'' if digest else DIGEST_MISSING}",
        formulation=name,
        parameters=parameters,
        outcome="solved",
        lower=down,
        upper=up,
        fractions=(lower, upper) if exact else (None, None),
        claimed=(low, high),
        verdict="proved" if exact else "bounded",
        quantity=measure,
    )


def _bounds(
    about: Mapping[str, Any], oracle: BinnedClass, rows: BinnedRows, nu: float | None, eta: float
) -> tuple[Fraction, Fraction]:
    """Return what the weights of the hypotheses reach, and what the weights of the examples prove."""
    d = parse_object_with_keys(about["d"], {"w", "origin", "shift", "table"}, "d")
    splits = _splits(about["data"]["hypotheses"], oracle, rows)
    origin, shift = _parse_integer(d["origin"], "origin"), _parse_integer(d["shift"], "shift")
    table = np.array(
        [_parse_integer(q, "a weight of a bucket") for q in parse_list(d["table"], "table")], dtype=np.int64
    )
    if not (abs(origin) <= ONE and 0 <= shift <= LONGEST_SHIFT and len(table) == BUCKETS + 2):
        reject(f"the window must lie among the margins, and have {BUCKETS + 2} buckets; it has {len(table)}")
    terms, of_d = _terms(about["w"], splits), _terms(d["w"], splits)
    if (total := sum(term[0] for term in terms)) != ONE:
        reject(f"the weights must sum to 2^30; they sum to {total}")
    bins = origin, shift, BUCKETS
    if nu is None:
        upper = negative_loss_upper(rows, of_d, bins, table, oracle.reflexive, eta)
        return negative_loss(rows, terms, eta), upper
    upper = soft_margin_upper(rows, of_d, bins, table, oracle.reflexive, Fraction(nu))
    return soft_margin(rows, terms, Fraction(nu)), upper


def _splits(stated: Any, oracle: BinnedClass, rows: BinnedRows) -> list[tuple[int, int, int]]:
    """Return the hypotheses of a file as splits; Rejected where one is not in the class, or is another one there."""
    splits = list[tuple[int, int, int]]()
    try:
        for each in parse_list(stated, "the hypotheses"):
            parse_object_with_keys(each, {"split", "is"}, "a hypothesis")
            feature, code, sign = (_parse_integer(value, "a split") for value in parse_list(each["split"], "a split"))
            hypothesis = hypothesis_from_state(parse_object(each["is"], "is"))
            if not (0 <= code < rows.n_codes.get(feature, 0) - 1 and (sign == 1 or (sign == -1 and oracle.reflexive))):
                reject(f"the class does not contain {hypothesis}"[:300])
            there = oracle.hypothesis_of(Split(feature, code, sign))
            if there != hypothesis:
                reject(f"the class has {there} in place of {hypothesis}. Check the order of the columns"[:300])
            splits.append((feature, code, sign))
    except MALFORMED_ERRORS as failure:
        reject(f"a hypothesis of the file cannot be read: {reason_of(failure)}"[:300])
    return splits


def _meant(
    page: Formulation[Any],
    parameters: Mapping[str, Any],
    pair: FunctionsAsJSON | None,
    oracle: BinnedClass,
    nu: float | None,
) -> tuple[float, str]:
    """Return the eta of the logarithmic loss, or inf for a soft margin, and the name of the value that is meant.

    Rejected where it is not that of a file's nu.

    The formulation with its parameters must mean the pair that the file states. Without its entropy, this pair must be
    one of two: the caps c / nu, or the logarithmic loss, each with the largest edge.
    """
    c = representative_multiplicities(page, oracle, oracle.total if nu is None else nu)
    examples = Examples(c, c / c.sum())
    record = parameter_record(page, parameters, examples)
    means, goal = functions_of_parameters(page, record, examples)
    if pair is not None:
        check_functions_agree(page, means, pair, examples, parameters)
    other = (
        f"{page.name} with the parameters of the file has another soft margin than "
        f"{'a loss' if nu is None else f'that of nu = {nu:g}'}"
    )
    if goal is None:
        reject(other)
    try:
        # The numbers of the file first: another nu may have the same caps, rounded.
        counts = () if nu is None else (*candidate_nus(parameters)[:-1], nu, 1.0)
        F, G = regularizer_to_json(goal.F0, examples, counts), edge_to_json(goal.G)
    except BoostoptError as failure:
        reject(f"{other}: {reason_of(failure)}"[:400])
    if G == {"kind": "maximum"} and nu is None and F.numbers["kind"] == "logarithmic loss":
        return float(F.numbers["eta"]), goal.measure
    caps = G == {"kind": "maximum"} and nu is not None and F.numbers["kind"] == "cap" and _are_caps_of(F, nu)
    return (math.inf, goal.measure) if caps else reject(other)


def _are_caps_of(F: Statement, nu: float) -> bool:
    """Whether caps are c / nu. Caps of at least 1 bind nothing, and mean the smallest margin, nu = 1."""
    caps = F.numbers
    if caps["caps"] == "c / nu":
        return caps["nu"] == nu or (nu == 1.0 and caps["nu"] <= 1.0)
    return nu == 1.0 and (caps["nu"] <= 1.0 if caps["caps"] == "1 / nu" else bool((F.arrays["caps"] >= 1.0).all()))


def _terms(stated: Any, splits: list[tuple[int, int, int]]) -> list[Term]:
    """Return whole weights of the first hypotheses with these."""
    W = [_parse_integer(value, "a weight") for value in parse_list(stated, "the weights")]
    if len(W) > len(splits) or min(W, default=0) < 0 or sum(W) > ONE:
        reject(f"there must be at most {len(splits)} weights, non-negative and with a sum of at most 2^30")
    return [(weight, *split) for weight, split in zip(W, splits, strict=False)]


def _parse_integer(value: Any, what: str) -> int:
    """Return a whole number of at most 2^31."""
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > 2 * ONE:
        reject(f"{what} must be a whole number of at most 2^31; it is {value!r}"[:200])
    return value
