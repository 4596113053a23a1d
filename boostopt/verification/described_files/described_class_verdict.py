"""The verdict on the certificate file of a run over a class whose F is described.

The bounded value is that of F0 and of the largest edge of the class, as in `class_certificate_files`. Multipliers of
the program over the hypotheses with weight prove the lower bound, in fractions and balls. A point (d, v) of F, exactly
feasible, proves the upper bound: the value of F there, plus the oracle's bound of the edges under d in floats, plus the
1-norm of the difference, because margins lie in [-1, 1].

A file over a `LimitedClass` states the limits of the weights. The equation e_j = <d, U_j> has the multiplier -w_j, so
that multipliers whose w keep the limits prove the lower bound: they bound V(w) = -F0*(-Uw), and V(w / sum w) is smaller
by at most |1 - sum w| times the largest margin. Prices p of the limits add <b, p> to the upper bound.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Float
from boostopt.boosting.objectives.soft_margin import SoftMarginObjective
from boostopt.errors import BoostoptError, reason_of
from boostopt.programs.program import Examples
from boostopt.verification.class_statements import (
    WITHIN_LIMITS,
    checked_row_errors,
    hypothesis_margins,
    membership_text,
    oracle_of_file,
    query_oracle,
    require_multiplicities,
    rows_with_limits,
)
from boostopt.verification.described_files.described_verdict import (
    FORMAT,
    MAX_ENTRIES,
    check_margins,
    parse_arrays,
    parse_examples,
    require_vectors,
)
from boostopt.verification.described_files.functions_as_problems import edge_part, regularizer_part
from boostopt.verification.formulation_consistency import (
    check_measure,
    functions_of_parameters,
    parameter_record,
    trusted_formulation,
)
from boostopt.verification.problem_kernel.problem_checker import check_claimed_bounds, lower_bound, upper_bound
from boostopt.verification.problem_kernel.problem_composition import (
    DescribedPart,
    composed_problem,
    parse_described_part,
)
from boostopt.verification.problem_kernel.problem_schema import Multipliers, ScaledVector, parse_proof_and_claim
from boostopt.verification.problem_kernel.rationals_and_balls import (
    Number,
    ceil_float,
    floor_float,
    is_exact,
    pair_product,
    pair_sum,
    working_precision,
)
from boostopt.verification.trusted_kernel.certificate_schema import parse_formulation
from boostopt.verification.trusted_kernel.json_parsing import (
    is_same_json,
    parse_choice,
    parse_count,
    parse_list,
    parse_object,
    parse_object_with_keys,
    parse_text,
    reject,
)
from boostopt.verification.trusted_kernel.number_types import dense_rows
from boostopt.verification.trusted_kernel.stated_limits import StatedLimits, fractions_keep_limits, parse_limits
from boostopt.verification.verification_result import (
    BOTH_BOUNDS,
    NO_FURTHER_CLAIM,
    Verification,
    as_margin_matrix,
    verdict_of,
)

FILE_KIND = "boostopt described class certificate"
"""The kind of these files."""

TOP_LEVEL_KEYS = {"kind", "format", "formulation", "F", "G", "data", "arrays", "proof", "claim", "made"}
"""The names of a file."""

PLATFORM_TOLERANCE = 1e-12
"""Distance of a claimed upper bound from the computed one, relative to its size: other machines round differently."""


def is_described_class_certificate(top: Mapping[str, Any]) -> bool:
    """Return whether the object that a file states is the certificate of a run whose F is described."""
    return top.get("kind") == FILE_KIND


def verify_described_class_certificate(
    top: Mapping[str, Any],
    oracle: Any,
    U: Any = None,
    expected: Mapping[str, np.ndarray | None] | None = None,
    formulation: Any = None,
) -> Verification:
    """Return the verdict on the object that a file states.

    Parameters
    ----------
    top
        The object.
    oracle
        The oracle over the verifier's examples. It gets one query.
    U
        The margins of the hypotheses with weight; None to compute them.
    expected
        The multiplicities "c" and the reference distribution "d0" that the file must state; None for any.
    formulation
        The formulation of the file; by default the one of boostopt with the name of the file.

    Raises
    ------
    ProblemError
        The margins are no matrix of finite numbers.
    """
    with working_precision():
        return verdict_of(lambda: _verdict(top, oracle, U, expected or {}, formulation))


def query_weights(F: DescribedPart, point: ScaledVector) -> ExampleVector:
    """Return the weights d of a feasible point of F as floats, not negative, for the query to an oracle."""
    weights = [float(Fraction(point.numerators[k], point.denominator)) for k in F.positions]
    return np.maximum(np.array(weights), 0.0)


def class_upper_bound(
    F: DescribedPart,
    point: ScaledVector,
    value: Number,
    weights: ExampleVector,
    edge_bound: float | None,
    limits: StatedLimits | None = None,
) -> Number:
    """Return an upper bound of the value over a class, from a point of F and a bound of the edges under its weights.

    Parameters
    ----------
    F, point, value
        F, a feasible point, and the value of F there.
    weights, edge_bound
        The weights of the point in floats, and the bound of the edges under them, after the prices of limits; None
        without a bound.
    limits
        The limits of the weights of the class; None for none.

    Raises
    ------
    Rejected
        There is no bound of the edges.
    """
    if edge_bound is None or not math.isfinite(edge_bound):
        reject("the oracle gives no bound on the edges of its class; the certificate claims one")
    differences = (
        abs(Fraction(point.numerators[k], point.denominator) - Fraction(weight))
        for k, weight in zip(F.positions, weights.tolist(), strict=True)
    )
    costs = () if limits is None else zip(limits.right_sides.tolist(), limits.prices.tolist(), strict=True)
    price = sum((Fraction(side) * Fraction(cost) for side, cost in costs), Fraction(0))
    return pair_sum(value, sum(differences, Fraction(float(edge_bound)) + price))


def limits_loss(
    multipliers: Multipliers, margins: Float[Array, "rows t"], limits: StatedLimits, row_errors: Float[Array, " k"]
) -> Fraction:
    """Return by how much the lower bound of multipliers may exceed the value of weights within the limits.

    Parameters
    ----------
    multipliers
        The multipliers of the composed problem.
    margins
        The margins of the examples, and below them the rows of the limits, which are minus the coefficients.
    limits, row_errors
        The limits, and the rounding errors of their coefficients.

    Raises
    ------
    Rejected
        The weights are not proved to keep the limits.
    """
    n, t = len(margins) - len(limits.prices), margins.shape[1]
    w = [-value / multipliers.objective for value in multipliers.equalities[-t:]]
    if multipliers.implied or not fractions_keep_limits(-margins[n:], limits.right_sides, row_errors, w):
        reject("its weights are not proved to keep the limits of the class")
    return abs(1 - sum(w, Fraction(0))) * max(1, Fraction(float(np.abs(margins[:n]).max())))


def other_functions(page: Any, record: Any, examples: Examples, t: int, statement: Mapping[str, Any]) -> dict[str, Any]:
    """Return F and G of a formulation as problems where the bounded value has other ones.

    A formulation whose G bounds the edges, for instance, has the largest edge in its value over a class.

    Raises
    ------
    ProblemError
        A file cannot state this F or G.
    """
    functions = {
        "F": regularizer_part(page.regularizer(record, examples)).to_json(),
        "G": edge_part(page.edge_function(record), t).to_json(),
    }
    return {name: part for name, part in functions.items() if part != statement[name]}


def _verdict(
    top: Mapping[str, Any], oracle: Any, U: Any, expected: Mapping[str, np.ndarray | None], formulation: Any
) -> Verification:
    """Return the verdict on a file that may be accepted; Rejected for any other."""
    plain = dict(top)
    limits = parse_limits(plain.pop("limits")) if "limits" in plain else None
    content = parse_object_with_keys(plain, TOP_LEVEL_KEYS, "the file")
    if content["kind"] != FILE_KIND or content["format"] != FORMAT or type(content["format"]) is not int:
        reject(f"it must be a {FILE_KIND} of format {FORMAT}; it says {content['kind']!r}, {content['format']!r}"[:200])
    parse_object(content["made"], "made")
    data = parse_object_with_keys(content["data"], {"N", "t", "U", "c", "d0", "oracle", "digest", "hypotheses"})
    N, t = parse_count(data["N"], "N"), parse_count(data["t"], "t")
    if N * t > MAX_ENTRIES:
        reject(f"a margin matrix may have {MAX_ENTRIES:,} entries; it has {N * t:,}")
    row_errors, k = checked_row_errors(oracle, limits), 0 if limits is None else len(limits.prices)
    oracle = oracle_of_file(oracle, parse_text(data["digest"], "digest"), parse_text(data["oracle"], "oracle"), N + k)
    arrays = parse_arrays(content["arrays"])
    examples = parse_examples(data, arrays, N)
    require_multiplicities(oracle, np.append(examples.c, np.ones(k)))
    require_vectors(examples, expected)
    F, G = parse_described_part(content["F"], N, "F"), parse_described_part(content["G"], t, "G")
    name, parameters, objective = _checked_formulation(content, arrays, examples, t, formulation)
    if not objective.nonnegative_weights and (limits is not None or not oracle.reflexive):
        reject("edges count without their sign, but the class does not contain the negations of its hypotheses")
    quantity, claim = _claim(content["claim"])
    check_measure(quantity, objective.measure)
    proof = parse_object_with_keys(content["proof"], {"multipliers", "point", "ray"}, "proof")
    absent: dict[str, Any] = {"multipliers": None, "point": None, "ray": None}
    point = parse_proof_and_claim(F.problem, {**absent, "point": proof["point"]}, claim).point
    # A point that is not feasible may have weights that are beyond floats, so that it is checked before the query.
    value = None if point is None else upper_bound(F.problem, point)
    weights = examples.c / examples.c.sum() if point is None else query_weights(F, point)
    answer = query_oracle(oracle, weights, limits)
    hypotheses = parse_list(data["hypotheses"], "hypotheses")
    all_margins = as_margin_matrix(hypothesis_margins(hypotheses, N + k, t, oracle, answer) if U is None else U)
    if limits is not None:
        all_margins = rows_with_limits(all_margins, N, t, oracle, U is not None, hypotheses)
    margins = all_margins[:N]
    check_margins(margins, N, t, parse_text(data["U"], "digest"))
    problem = composed_problem(F, G, dense_rows(margins, slice(0, N)))
    document = parse_proof_and_claim(problem, {**absent, "multipliers": proof["multipliers"]}, claim)
    lower = None if document.multipliers is None else _lower_bound(document.problem, document.multipliers)
    if limits is not None and lower is not None and document.multipliers is not None:
        rows = dense_rows(all_margins, slice(0, None))
        lower = pair_sum(lower, -limits_loss(document.multipliers, rows, limits, row_errors))
    upper = None if point is None else class_upper_bound(F, point, value, weights, answer.edge_bound, limits)
    interval = lower, upper
    check_claimed_bounds(document.claim, interval)
    claimed = document.claim.lower, document.claim.upper
    words = BOTH_BOUNDS if None not in claimed else "the lower bound" if claimed[1] is None else "the upper bound"
    scope = "" if limits is None else WITHIN_LIMITS
    reason = f"recomputed over {oracle}: {words} of the best {objective.measure}{scope}"
    reason += "" if words == BOTH_BOUNDS else NO_FURTHER_CLAIM
    reason += membership_text(oracle, answer, U)
    return Verification(
        True,
        reason,
        formulation=name,
        parameters=parameters,
        outcome="solved",
        lower=-math.inf if lower is None else floor_float(lower),
        upper=math.inf if interval[1] is None else ceil_float(interval[1]),
        fractions=(Fraction(lower) if lower is not None and is_exact(lower) else None, None),
        claimed=(
            -math.inf if claimed[0] is None else float(claimed[0]),
            math.inf if claimed[1] is None else float(claimed[1]),
        ),
        verdict="bounded",
        quantity=objective.measure,
    )


def _lower_bound(problem: Any, multipliers: Multipliers) -> Number:
    """Return the lower bound that multipliers prove; Rejected if they prove none."""
    if not multipliers.objective > 0:
        reject("the multiplier of the objective must be positive")
    return pair_product(lower_bound(problem, multipliers), 1 / multipliers.objective)


def _claim(value: Any) -> tuple[str, dict[str, Any]]:
    """Return the name of the bounded value, and the claim about it as for a problem."""
    claim = dict(parse_object_with_keys(value, {"status", "lower", "upper", "what"}, "claim"))
    parse_choice(claim["status"], {"bounded", "open"}, "status")
    return parse_text(claim.pop("what"), "the name of the value"), claim


def _checked_formulation(
    content: Mapping[str, Any], arrays: Mapping[str, np.ndarray], examples: Examples, t: int, formulation: Any
) -> tuple[str, dict[str, Any], SoftMarginObjective]:
    """Return the name, the parameters and the objective of a formulation; Rejected if F or G of the file differs."""
    statement = parse_object(content["formulation"], "formulation")
    further_statements = {name: statement[name] for name in ("F", "G") if name in statement}
    plain = {name: value for name, value in statement.items() if name not in further_statements}
    name, parameters, _ = parse_formulation(plain, arrays, False)
    page = trusted_formulation(name, formulation)
    record = parameter_record(page, parameters, examples)
    objective = functions_of_parameters(page, record, examples)[1]
    if objective is None:
        reject(f"{page.name} has no soft margin, so it has no certificate of a class")
    try:
        parts = {"F": regularizer_part(objective.F0).to_json(), "G": edge_part(objective.G, t).to_json()}
        page_statements = other_functions(page, record, examples, t, parts)
    except (BoostoptError, ArithmeticError, ValueError) as failure:
        reject(f"{page.name} with these parameters states no such value: {reason_of(failure)}"[:400])
    file_functions = {"F": content["F"], "G": content["G"]}
    for source, expected, statements in (
        ("", parts, file_functions),
        (" of its formulation", page_statements, further_statements),
    ):
        for function in ("F", "G"):
            if not is_same_json(json.loads(json.dumps(expected.get(function))), statements.get(function)):
                reject(
                    f"the file states another {function}{source} than {page.name} with the parameters of the file. "
                    "Check the name, the parameters and the constants of the description, or ask for the file as it "
                    "was saved"
                )
    return name, parameters, objective
