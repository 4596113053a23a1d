"""Certificates of histogram runs: integer weights of the hypotheses, and an integer for each bin of margins.

Such a file has no vector of N numbers. The verifier reads the rows through an oracle over the same examples. Both
bounds are sums of integers, so they are proved [theorem 13]. The file contains each hypothesis twice: as a split and as
a state.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array
from boostopt._utils.formatting import format_count, with_singular
from boostopt.boosting.histogram_newton.method_selection import representative_multiplicities
from boostopt.errors import BoostoptError, reason_of
from boostopt.functions.regularizer_statements import Statement
from boostopt.oracles.base import HypothesisClass, require_oracle
from boostopt.oracles.binned_class import BinnedClass
from boostopt.oracles.hypothesis_serialization import hypothesis_from_state
from boostopt.programs.formulation import Formulation
from boostopt.programs.program import Examples
from boostopt.rows.binned_rows import BinnedRows
from boostopt.rows.row_block import Split
from boostopt.verification.certificate_writer import class_description
from boostopt.verification.formulation_consistency import (
    candidate_nus,
    check_functions_agree,
    check_measure,
    functions_of_parameters,
    parameter_record,
    trusted_formulation,
)
from boostopt.verification.functions_as_json import edge_to_json, regularizer_to_json
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
"""The subject of such a file."""

ORACLE_REQUIRED = (
    "this certificate is about a class of hypotheses on training examples: pass the oracle with these examples, or "
    "MarginBoostClassifier().class_of(X, y) with the parameters of the fit"
)

DIGEST_MISSING = "; the file has no digest of its rows: whether they are those of the data was not checked"
"""The addition to the reason of a verdict on a file of an earlier version."""

N_BINS = 1 << 14
"""Number of bins of a margin grid; margins below and above the grid have one further bin each."""

MAX_SHIFT = 30
"""Binary logarithm of the largest width of a bin."""

MALFORMED_ERRORS = (BoostoptError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Exceptions that a malformed hypothesis or parameter can raise."""


def verify_histogram_certificate(
    top: Mapping[str, Any], oracle: Any, expected: Mapping[str, Array | None], formulation: Any
) -> Verification:
    """Return the verdict on the certificate of a histogram run.

    Parameters
    ----------
    top
        The content of the file.
    oracle
        The class of hypotheses over the verifier's examples.
    expected
        The multiplicities c and the reference distribution d0 that the file must have; None for a vector that is not
        checked.
    formulation
        The verifier's own formulation; None for a formulation of boostopt.

    Raises
    ------
    Rejected
        The certificate proves nothing, or less than it claims.
    """
    content = parse_object_with_keys(
        top, {"kind", "format", "subject", "formulation", "nu", "data", "w", "d", "claim", "made", "arrays"}, "the file"
    )
    header = content["kind"], content["format"], content["arrays"]
    if header != (FILE_KIND, FORMAT, {}) or type(content["format"]) is not int:
        reject(f"it must be a {FILE_KIND} of format {FORMAT}; it says {content['kind']!r}, {content['format']!r}"[:200])
    if not isinstance(oracle, HypothesisClass):
        reject(ORACLE_REQUIRED)
    name, parameters, functions = parse_formulation(content["formulation"], {}, True)
    parse_object(content["made"], "made")
    nu = None if content["nu"] is None else parse_number(content["nu"], "nu", MAX_NU)
    binned_oracle, rows, has_digest = _check_data(content["data"], oracle)
    _check_vectors(expected, oracle)
    trusted = trusted_formulation(name, formulation)
    eta, measure = _objective(trusted, parameters, functions, binned_oracle, nu)
    quantity_keys = {"what"} & set(parse_object(content["claim"], "claim"))
    claim = parse_object_with_keys(content["claim"], {"lower", "upper"} | quantity_keys, "claim")
    check_measure(parse_text(claim["what"], "the name of the value") if quantity_keys else None, measure)
    claimed_lower, claimed_upper = (
        parse_claimed_bound(claim["lower"], "lower", 1),
        parse_claimed_bound(claim["upper"], "upper", -1),
    )
    lower, upper = _bounds(content, binned_oracle, rows, nu, eta)
    rounded_lower, rounded_upper = Rationals().lower(lower), Rationals().upper(upper)
    mismatch = "it has other examples, or claims too much"
    if claimed_lower > lower:  # Python compares a float with a fraction exactly
        reject(f"{mismatch}: at least {claimed_lower!r}, but these examples have {rounded_lower!r}")
    if claimed_upper < upper:
        reject(f"{mismatch}: at most {claimed_upper!r}, but these examples have {rounded_upper!r}")
    is_exact = nu is not None
    method = (
        "were proved in whole numbers" if is_exact else "were recomputed, with a bound on the rounding of logarithms,"
    )
    return Verification(
        accepted=True,
        reason=f"both bounds of the best {measure} {method} over {oracle}"
        f"{'' if functions else FUNCTIONS_NOT_STATED}{'' if has_digest else DIGEST_MISSING}",
        formulation=name,
        parameters=parameters,
        outcome="solved",
        lower=rounded_lower,
        upper=rounded_upper,
        fractions=(lower, upper) if is_exact else (None, None),
        claimed=(claimed_lower, claimed_upper),
        verdict="proved" if is_exact else "bounded",
        quantity=measure,
    )


def _check_data(content: Any, oracle: HypothesisClass) -> tuple[BinnedClass, BinnedRows, bool]:
    """Return the oracle, its rows, and whether the file has a digest of them; reject a file about other examples."""
    digest_keys = {"digest"} & set(parse_object(content, "data"))
    data = parse_object_with_keys(content, {"N", "examples", "oracle", "hypotheses"} | digest_keys)
    N, total = parse_count(data["N"], "N"), parse_count(data["examples"], "examples")
    description = with_singular(parse_text(data["oracle"], "oracle"))
    if (N, total) != (oracle.N, int(oracle.total)) or description != class_description(oracle):
        reject(
            f"it has another class or other examples: it is about {format_count(N, 'example')} of total weight "
            f"{total} and {description}; the data give {oracle.N} of {oracle.total:g} and {oracle}"[:500]
        )
    rows = oracle.binned_rows if isinstance(oracle, BinnedClass) else None
    if rows is None or not isinstance(oracle, BinnedClass):
        reject(ORACLE_REQUIRED)
    if digest_keys and parse_text(data["digest"], "digest") != (digest := rows.digest()):
        reject(
            f"it has other examples: the digest of its rows is {data['digest']}; that of the data is {digest}. Check "
            "the features, the labels, the weights, and the rows and columns left out"[:500]
        )
    return oracle, rows, bool(digest_keys)


def _check_vectors(expected: Mapping[str, Array | None], hypotheses: HypothesisClass) -> None:
    """Reject a file whose multiplicities or reference distribution differ from the verifier's."""
    for name, values in expected.items():
        if values is None:
            continue
        c = require_oracle(hypotheses, "multiplicities").c
        if not np.array_equal(values, c / (1.0 if name == "c" else c.sum())):
            reject(f"the certificate has other {'multiplicities c' if name == 'c' else 'reference weights d0'}")


def _bounds(
    content: Mapping[str, Any], oracle: BinnedClass, rows: BinnedRows, nu: float | None, eta: float
) -> tuple[Fraction, Fraction]:
    """Return the objective of the hypothesis weights, and the upper bound that the example weights prove."""
    d = parse_object_with_keys(content["d"], {"w", "origin", "shift", "table"}, "d")
    splits = _splits(content["data"]["hypotheses"], oracle, rows)
    origin, shift = _parse_integer(d["origin"], "origin"), _parse_integer(d["shift"], "shift")
    table = np.array([_parse_integer(q, "a weight of a bin") for q in parse_list(d["table"], "table")], dtype=np.int64)
    if not (abs(origin) <= ONE and 0 <= shift <= MAX_SHIFT and len(table) == N_BINS + 2):
        reject(f"the window must lie among the margins, and have {N_BINS + 2} bins; it has {len(table)}")
    terms, d_terms = _terms(content["w"], splits), _terms(d["w"], splits)
    if (total := sum(term[0] for term in terms)) != ONE:
        reject(f"the weights must sum to 2^30; they sum to {total}")
    bins = origin, shift, N_BINS
    if nu is None:
        upper = negative_loss_upper(rows, d_terms, bins, table, oracle.reflexive, eta)
        return negative_loss(rows, terms, eta), upper
    upper = soft_margin_upper(rows, d_terms, bins, table, oracle.reflexive, Fraction(nu))
    return soft_margin(rows, terms, Fraction(nu)), upper


def _splits(entries: Any, oracle: BinnedClass, rows: BinnedRows) -> list[tuple[int, int, int]]:
    """Return the hypotheses of a file as splits; Rejected if one is not in the class, or differs from its split."""
    splits = list[tuple[int, int, int]]()
    try:
        for entry in parse_list(entries, "the hypotheses"):
            parse_object_with_keys(entry, {"split", "is"}, "a hypothesis")
            feature, code, sign = (_parse_integer(value, "a split") for value in parse_list(entry["split"], "a split"))
            hypothesis = hypothesis_from_state(parse_object(entry["is"], "is"))
            if not (0 <= code < rows.n_codes.get(feature, 0) - 1 and (sign == 1 or (sign == -1 and oracle.reflexive))):
                reject(f"the class does not contain {hypothesis}"[:300])
            class_hypothesis = oracle.hypothesis_of(Split(feature, code, sign))
            if class_hypothesis != hypothesis:
                reject(
                    f"the class has {class_hypothesis} in place of {hypothesis}. Check the order of the columns"[:300]
                )
            splits.append((feature, code, sign))
    except MALFORMED_ERRORS as failure:
        reject(f"a hypothesis of the file cannot be read: {reason_of(failure)}"[:300])
    return splits


def _objective(
    formulation: Formulation[Any],
    parameters: Mapping[str, Any],
    statements: FunctionsAsJSON | None,
    oracle: BinnedClass,
    nu: float | None,
) -> tuple[float, str]:
    """Return the eta of the logarithmic loss, or inf for a soft margin, and the name of the objective.

    F and G of the formulation with these parameters must be those that the file states. Without the entropy, F must be
    the caps c / nu or the logarithmic loss, and G the largest edge.

    Raises
    ------
    Rejected
        The functions differ, or the objective is not the one of the file's nu.
    """
    c = representative_multiplicities(formulation, oracle, oracle.total if nu is None else nu)
    if not formulation.needs_all_examples and len(set(c.tolist())) == 1:
        # Equal multiplicities would not tell the caps c / nu from equal caps.
        c = np.append(c[:1], [0.75 * c[-1], 0.25 * c[-1]])
    examples = Examples(c, c / c.sum())
    record = parameter_record(formulation, parameters, examples)
    functions, objective = functions_of_parameters(formulation, record, examples)
    if statements is not None:
        check_functions_agree(formulation, functions, statements, examples, parameters)
    mismatch = (
        f"{formulation.name} with the parameters of the file has another soft margin than "
        f"{'a loss' if nu is None else f'that of nu = {nu:g}'}"
    )
    if objective is None:
        reject(mismatch)
    try:
        # The numbers of the file first: another nu may have the same caps, rounded.
        nus = () if nu is None else (*candidate_nus(parameters)[:-1], nu, 1.0)
        F, G = regularizer_to_json(objective.F0, examples, nus), edge_to_json(objective.G)
    except BoostoptError as failure:
        reject(f"{mismatch}: {reason_of(failure)}"[:400])
    if G == {"kind": "maximum"} and nu is None and F.numbers["kind"] == "logarithmic loss":
        return float(F.numbers["eta"]), objective.measure
    caps = G == {"kind": "maximum"} and nu is not None and F.numbers["kind"] == "cap" and _are_caps_of(F, nu)
    return (math.inf, objective.measure) if caps else reject(mismatch)


def _are_caps_of(F: Statement, nu: float) -> bool:
    """Return whether caps are c / nu. Caps of at least 1 never bind, and mean the smallest margin, nu = 1."""
    numbers = F.numbers
    if numbers["caps"] == "c / nu":
        return numbers["nu"] == nu or (nu == 1.0 and numbers["nu"] <= 1.0)
    return nu == 1.0 and (
        numbers["nu"] <= 1.0 if numbers["caps"] == "1 / nu" else bool((F.arrays["caps"] >= 1.0).all())
    )


def _terms(weights: Any, splits: list[tuple[int, int, int]]) -> list[Term]:
    """Return the integer weights of the first hypotheses, each with its split."""
    integer_weights = [_parse_integer(value, "a weight") for value in parse_list(weights, "the weights")]
    if len(integer_weights) > len(splits) or min(integer_weights, default=0) < 0 or sum(integer_weights) > ONE:
        reject(
            f"there must be at most {format_count(len(splits), 'weight')}, non-negative and with a sum of at most 2^30"
        )
    return [(weight, *split) for weight, split in zip(integer_weights, splits, strict=False)]


def _parse_integer(value: Any, name: str) -> int:
    """Return an integer of at most 2^31 in absolute value."""
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > 2 * ONE:
        reject(f"{name} must be a whole number of at most 2^31; it is {value!r}"[:200])
    return value
