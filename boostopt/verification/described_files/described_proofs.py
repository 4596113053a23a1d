"""Proofs in fractions for programs with a described F or G: multipliers by the weights w, and points by the weights d.

For weights w of the hypotheses, the optimum is not below the smallest values of F(d) + <Uw, d> and of G(e) - <w, e>.
Each is a problem of its own, and multipliers of both prove the lower bound of the composed problem: the equality
e_j = <d, U_j> has the multiplier -w_j. A point (d, v) of F and a point (e, v') of G at e = Uᵀd prove the upper bound.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.blas_threads import limit_blas_threads
from boostopt._utils.cvxpy_tools import clear_variable_values, cp, solve_quietly
from boostopt.boosting_certificates.certificate import Certificate
from boostopt.errors import ProblemError
from boostopt.problem_certificates.arithmetic.balls import working_precision as reading_precision
from boostopt.problem_certificates.faces.implied_equations import with_implied_equations
from boostopt.problem_certificates.feasible_point import FeasiblePointSearch
from boostopt.problem_certificates.minorants.minorant_search import certified_lower_bound, scaled_gap
from boostopt.problem_certificates.problem_certificate import ProblemAnswer
from boostopt.problem_certificates.problem_reader import ReadProblem
from boostopt.verification.described_files.functions_as_problems import StatedPart
from boostopt.verification.exact_proofs.exact_multipliers import whole_multipliers
from boostopt.verification.exact_proofs.exact_optima import FloatAnswer, exact_optimum
from boostopt.verification.exact_proofs.exact_points import scaled_vector
from boostopt.verification.problem_certificate_writer import (
    MAX_LOSS,
    best_multipliers,
    best_point,
    has_many_slopes,
    lower_end,
    multipliers_to_json,
    vector_to_json,
)
from boostopt.verification.problem_kernel.problem_checker import lower_bound, upper_bound
from boostopt.verification.problem_kernel.problem_composition import (
    DescribedPart,
    composed_problem,
    parse_described_part,
)
from boostopt.verification.problem_kernel.problem_schema import Multipliers, Problem, Rows, ScaledVector
from boostopt.verification.problem_kernel.rationals_and_balls import (
    ceil_float,
    floor_float,
    is_positive,
    pair_product,
)
from boostopt.verification.trusted_kernel.json_parsing import Rejected

SOLVERS = ("CLARABEL", "HIGHS")
"""The solvers whose multipliers are tried in turn. HiGHS takes linear problems only."""

GOAL = 1e-10
"""Scaled gap at which the search for the multipliers of a part ends."""

ENOUGH = 1e-8
"""Scaled gap of a part above which tangents are taken at other points."""

FRACTIONS = (1e-7, 1e-5, 1e-9)
"""Fractions of an inner point in the points at which tangents are taken, because kinks may be near."""


def proof_and_claim(
    parts: tuple[StatedPart, StatedPart], document: Mapping[str, Any], U: Float[Array, "N t"], certificate: Certificate
) -> dict[str, Any]:
    """Return the proof in fractions, and the claim.

    Raises
    ------
    ProblemError
        No proof was found near the weights of the certificate.
    Rejected
        The statement is beyond a limit of files.
    """
    problem, functions = composed_functions(document, U)
    if certificate.infeasible:
        multipliers = _proof_of_infeasibility(functions, problem, U, certificate.w)
        return {
            "proof": {"multipliers": multipliers_to_json(multipliers), "point": None, "ray": None},
            "claim": {"status": "infeasible", "lower": None, "upper": None},
        }
    multipliers, point, lower, upper = None, None, None, None
    if math.isfinite(certificate.upper):
        point = point_of_program(parts, functions, U, certificate.d)
    if math.isfinite(certificate.lower):
        multipliers, point = nearly_optimal_proof(parts, functions, problem, U, certificate.w, point)
        lower = pair_product(lower_bound(problem, multipliers), 1 / multipliers.objective)
    if point is not None:
        upper = upper_bound(problem, point)
    loss = MAX_LOSS * max(1.0, *(abs(end) for end in (certificate.lower, certificate.upper) if math.isfinite(end)))
    proved = -math.inf if lower is None else floor_float(lower), math.inf if upper is None else ceil_float(upper)
    if proved[0] < certificate.lower - loss or proved[1] > certificate.upper + loss:
        raise ProblemError(
            f"a file must prove the interval of the certificate, {certificate!r}; the weights prove "
            f"[{proved[0]!r}, {proved[1]!r}] in fractions. Solve with a smaller tol, or keep the certificate in Python."
        )
    return {
        "proof": {
            "multipliers": None if multipliers is None else multipliers_to_json(multipliers),
            "point": None if point is None else vector_to_json(point),
            "ray": None,
        },
        "claim": {
            "status": "open" if lower is None or upper is None else "bounded",
            "lower": None if lower is None else lower_end(lower),
            "upper": None if upper is None else 0.0 - lower_end(-upper),
        },
    }


def _proof_of_infeasibility(
    functions: tuple[DescribedPart, DescribedPart], problem: Problem, U: Float[Array, "N t"], w: Float[Array, " t"]
) -> Multipliers:
    """Return multipliers that prove that no weights of the examples have such edges, from hypothesis weights w.

    The bounds of single edges have the multipliers w, and the sum of d the one that is best for the bounds of d.

    Raises
    ------
    ProblemError
        They prove no infeasibility: it needs other constraints of F or G.
    """
    F, G = functions
    weights, n_F = [Fraction(value) for value in w.tolist()], len(F.problem.inequalities)
    inequalities = [Fraction(0)] * len(problem.inequalities)
    limits = list(weights)
    for i, row in enumerate(G.problem.inequalities.rows):
        ((k, value), *further_terms) = row.items()
        if not further_terms and value > 0 and k in G.positions and limits[G.positions.index(k)] > 0:
            j = G.positions.index(k)
            inequalities[n_F + i], limits[j] = limits[j] / value, Fraction(0)
    equalities = [Fraction(0)] * (len(problem.equalities) - len(weights)) + [-weight for weight in weights]
    slopes, caps = U @ w, np.array([float(F.problem.upper[k] or 0) for k in F.positions])
    order = np.argsort(slopes)
    last = int(np.searchsorted(np.cumsum(caps[order]), 1.0))
    threshold = Fraction(float(slopes[order[min(last, len(order) - 1)]]))
    for i, row in enumerate(F.problem.equalities.rows):
        if set(row) == set(F.positions) and len(set(row.values())) == 1:
            equalities[i] = -threshold / next(iter(row.values()))
            break
    multipliers = Multipliers(
        Fraction(0),
        inequalities,
        equalities,
        [[Fraction(0)] * size**2 for size, _ in problem.matrices],
        [[Fraction(0)] * sum(map(len, node.members)) for node in problem.nodes],
    )
    failure = "their bound is not positive"
    try:
        if is_positive(lower_bound(problem, multipliers)):
            scale = math.lcm(*(value.denominator for value in (*inequalities, *equalities)))
            return dataclasses.replace(
                multipliers,
                inequalities=[scale * value for value in inequalities],
                equalities=[scale * value for value in equalities],
            )
    except Rejected as rejected:
        failure = str(rejected)
    raise ProblemError(
        "a file must prove by the weights of the hypotheses that the program is infeasible; these prove none: "
        f"{failure}. Keep the certificate in Python."
    )


def composed_functions(
    document: Mapping[str, Any], U: Float[Array, "N t"]
) -> tuple[Problem, tuple[DescribedPart, DescribedPart]]:
    """Return the composed problem of the F and G that a document states, and both as a checker reads them.

    Raises
    ------
    Rejected
        The statement is beyond a limit of files.
    """
    N, t = U.shape
    plain = json.loads(json.dumps({name: document[name] for name in ("F", "G")}))
    F, G = parse_described_part(plain["F"], N, "F"), parse_described_part(plain["G"], t, "G")
    problem = composed_problem(F, G, U)
    return problem, (F, _with_bounds_of_edges(G, problem, F.problem.n))


def nearly_optimal_proof(
    parts: tuple[StatedPart, StatedPart],
    functions: tuple[DescribedPart, DescribedPart],
    problem: Problem,
    U: Float[Array, "N t"],
    w: Float[Array, " t"],
    point: ScaledVector | None,
) -> tuple[Multipliers, ScaledVector | None]:
    """Return multipliers and a point of the composed problem: near w and a point, or exactly optimal ones.

    Raises
    ------
    ProblemError
        No proof was found near w.
    """
    multipliers = multipliers_of_weights(parts, functions, U, w, point)
    if point is None:
        return multipliers, None
    optimum = exact_optimum(_float_answer(multipliers, point), problem)
    return (multipliers, point) if optimum is None else optimum[1:]


def _float_answer(multipliers: Multipliers, point: ScaledVector) -> FloatAnswer:
    """Return multipliers and a point of the composed problem as floats."""
    inequalities, equalities = (
        [float(value / multipliers.objective) for value in values]
        for values in (multipliers.inequalities, multipliers.equalities)
    )
    return FloatAnswer([float(value) for value in _fractions(point)], inequalities, equalities)


def _with_bounds_of_edges(G: DescribedPart, problem: Problem, start: int) -> DescribedPart:
    """Return G with the bounds that its unknowns have in the composed problem, where they begin at `start`."""
    stop = start + G.problem.n
    bounded = dataclasses.replace(G.problem, lower=problem.lower[start:stop], upper=problem.upper[start:stop])
    return dataclasses.replace(G, problem=bounded)


def multipliers_of_weights(
    parts: tuple[StatedPart, StatedPart],
    functions: tuple[DescribedPart, DescribedPart],
    U: Float[Array, "N t"],
    w: Float[Array, " t"],
    point: ScaledVector | None,
) -> Multipliers:
    """Return multipliers of the composed problem: those of both parts, and -w of the edges.

    Raises
    ------
    ProblemError
        No proof was found near w.
    """
    weights = [Fraction(value) for value in w.tolist()]
    rows = [
        sum((Fraction(u) * weight for u, weight in zip(row, weights, strict=True) if u and weight), Fraction(0))
        for row in U.tolist()
    ]
    start = functions[0].problem.n
    pieces = [
        None if point is None else ScaledVector(point.numerators[places], point.denominator)
        for places in (slice(start), slice(start, None))
    ]
    F_multipliers = _multipliers_of_part(parts[0], functions[0], rows, pieces[0])
    G_multipliers = _multipliers_of_part(parts[1], functions[1], [-weight for weight in weights], pieces[1])
    both = F_multipliers, G_multipliers
    return whole_multipliers(
        Fraction(1),
        [value for part in both for value in _scaled(part.inequalities, part)],
        [*(value for part in both for value in _scaled(part.equalities, part)), *(-weight for weight in weights)],
        [_scaled(values, part) for part in both for values in part.matrices],
        [_scaled(values, part) for part in both for values in part.slopes],
    )


def _scaled(values: Sequence[Fraction], multipliers: Multipliers) -> list[Fraction]:
    """Return multipliers for the objective 1."""
    return [value / multipliers.objective for value in values]


def _multipliers_of_part(
    part: StatedPart, function: DescribedPart, slopes: Sequence[Fraction], feasible: ScaledVector | None
) -> Multipliers:
    """Return multipliers that bound the sum of F or G and a linear function of its argument from below.

    Tangents are taken at the answer of a solver, at a feasible point that is nearly optimal for the program, and near
    an inner point. If there are many slopes, the first multipliers with which a file is written suffice.
    """
    linear, problem = np.array([float(slope) for slope in slopes]), _with_linear_term(function, slopes)
    lower = np.array([-math.inf if side is None else float(side) for side in problem.lower])
    upper = np.array([math.inf if side is None else float(side) for side in problem.upper])
    bounded = dataclasses.replace(part.read, lower=lower, upper=upper)
    x = part.variable
    sides = [x[k] >= lower[j] for k, j in enumerate(part.positions.tolist()) if math.isfinite(lower[j])]
    sides += [x[k] <= upper[j] for k, j in enumerate(part.positions.tolist()) if math.isfinite(upper[j])]
    whole = cp.Problem(cp.Minimize(part.expression + linear @ x), [*part.constraints, *sides])
    level = math.inf if feasible is None else ceil_float(upper_bound(problem, feasible))
    failure = ProblemError("no solver takes the problem of F or G with linear terms. Keep the certificate in Python.")
    is_costly = has_many_slopes(problem)
    best, choice = _bound_of_cancelling_slopes(problem, function, slopes)
    for solver in SOLVERS if scaled_gap(best, level) > ENOUGH else ():
        clear_variable_values(whole)
        if solve_quietly(whole, solver) is not None:
            continue
        with reading_precision(), limit_blas_threads(), np.errstate(all="ignore"):
            read = bounded.with_linear_term(part.positions, linear).with_present_duals()
            starts = _starts(read, feasible)
        for k, start in enumerate(starts):
            with reading_precision(), limit_blas_threads(), np.errstate(all="ignore"):
                goal = certified_lower_bound(read, start, math.inf, GOAL)
            try:
                value, multipliers = best_multipliers([ProblemAnswer(read, start, None)], problem, goal, 0.0)
            except ProblemError as error:
                failure = error
                continue
            if value is not None and floor_float(value) > best:
                best, choice = floor_float(value), multipliers
            if is_costly or (k > 0 and scaled_gap(best, level) <= ENOUGH):
                break
        if scaled_gap(best, level) <= ENOUGH or (is_costly and choice is not None):
            break
    if choice is None:
        raise failure
    return choice


def _bound_of_cancelling_slopes(
    problem: Problem, function: DescribedPart, slopes: Sequence[Fraction]
) -> tuple[float, Multipliers | None]:
    """Return the bound and the multipliers of slopes that cancel the linear ones; (-inf, None) if they prove none.

    F or G must be one atom of its argument. At a kink, such as edges that are all 0, a solver's answer proposes other
    slopes.
    """
    nodes, arguments = problem.nodes, [{k: Fraction(1)} for k in function.positions]
    if len(nodes) != 1 or list(nodes[0].arguments.rows) != arguments or len(nodes[0].members) != 1:
        return -math.inf, None
    multipliers = Multipliers(
        Fraction(1),
        [Fraction(0)] * len(problem.inequalities),
        [Fraction(0)] * len(problem.equalities),
        [[Fraction(0)] * size**2 for size, _ in problem.matrices],
        [[-slopes[i] for i in nodes[0].members[0]]],
    )
    try:
        return floor_float(lower_bound(problem, multipliers)), multipliers
    except Rejected:
        return -math.inf, None


def _starts(read: ReadProblem, feasible: ScaledVector | None) -> list[Float[Array, " n"]]:
    """Return the points at which tangents are taken: the answer of a solver, a feasible point, and mixed ones."""
    point = read.point_of_values()
    nearest = None if feasible is None else np.array([float(value) for value in _fractions(feasible)])
    search = FeasiblePointSearch(read, 0.0)
    search.find_interior()
    points = [start for start in (point, nearest) if start is not None]
    inner = search.interior if search.interior is not None else nearest
    if inner is None:
        return points
    points = points or [inner]
    return points + [(1.0 - fraction) * points[0] + fraction * inner for fraction in FRACTIONS]


def _with_linear_term(function: DescribedPart, slopes: Sequence[Fraction]) -> Problem:
    """Return the problem of a part with linear terms of its argument added to the objective."""
    row = dict(function.problem.objective.rows[0])
    for k, slope in zip(function.positions, slopes, strict=True):
        row[k] = row.get(k, Fraction(0)) + slope
    return dataclasses.replace(function.problem, objective=Rows([row], function.problem.objective.offsets))


def point_of_program(
    parts: tuple[StatedPart, StatedPart],
    functions: tuple[DescribedPart, DescribedPart],
    U: Float[Array, "N t"],
    d: Float[Array, " N"],
) -> ScaledVector:
    """Return a feasible point of the composed problem near weights d."""
    F, G = functions
    x = _fractions(point_of_weights(parts[0], F, d))
    weights = [x[k] for k in F.positions]
    edges = [
        sum((Fraction(u) * weight for u, weight in zip(column, weights, strict=True) if u), Fraction(0))
        for column in U.T.tolist()
    ]
    y = _point_of_part(parts[1], _at_argument(G, edges), np.array([float(edge) for edge in edges]))
    return scaled_vector([*x, *_fractions(y)])


def point_of_weights(part: StatedPart, F: DescribedPart, d: Float[Array, " N"]) -> ScaledVector:
    """Return a feasible point of F near weights d; ProblemError if none is found."""
    try:
        return _point_of_part(part, _at_argument(F, _exact_weights(F, d)), d)
    except ProblemError:  # d must move, because of equations or of atoms that are infinite there
        return _point_of_part(part, F.problem, d)


def _exact_weights(F: DescribedPart, d: Float[Array, " N"]) -> list[Fraction]:
    """Return weights near d within their bounds, whose sum is exactly 1 if the bounds have room for this.

    The rest of the sum goes to the weights that are farthest from their bounds.
    """
    result, bounds = list[Fraction](), list[tuple[Fraction, Fraction]]()
    for k, value in zip(F.positions, d.tolist(), strict=True):
        lower, upper = F.problem.lower[k], F.problem.upper[k]
        weight = Fraction(value)
        weight = weight if lower is None else max(weight, lower)
        weight = weight if upper is None else min(weight, upper)
        result.append(weight)
        bounds.append((lower or Fraction(0), weight + 1 if upper is None else upper))
    rooms = [min(weight - low, high - weight) for weight, (low, high) in zip(result, bounds, strict=True)]
    rest = 1 - sum(result, Fraction(0))
    for k in sorted(range(len(result)), key=rooms.__getitem__, reverse=True):
        low, high = bounds[k]
        change = min(max(rest, low - result[k]), high - result[k])
        result[k] += change
        rest -= change
        if rest == 0:
            break
    return result


def _at_argument(function: DescribedPart, values: Sequence[Fraction]) -> Problem:
    """Return the problem of a part with its argument fixed."""
    lower, upper = list(function.problem.lower), list(function.problem.upper)
    for k, value in zip(function.positions, values, strict=True):
        lower[k] = upper[k] = value
    return dataclasses.replace(function.problem, lower=lower, upper=upper)


def _fractions(vector: ScaledVector) -> list[Fraction]:
    """Return the numbers of a vector."""
    return [Fraction(numerator, vector.denominator) for numerator in vector.numerators]


def _point_of_part(part: StatedPart, problem: Problem, argument: Float[Array, " n"]) -> ScaledVector:
    """Return a feasible point of F or G whose argument is near given numbers."""
    whole = cp.Problem(cp.Minimize(part.expression), [part.variable == argument, *part.constraints])
    answers = list[ProblemAnswer]()
    for solver in SOLVERS if part.read.n > len(argument) else ("",):
        x, read = np.zeros(part.read.n), part.read
        if solver:
            clear_variable_values(whole)
            values = None if solve_quietly(whole, solver) is not None else read.point_of_values()
            if values is None:
                continue
            x, read = values, read.with_present_duals()
        x[part.positions] = argument
        with reading_precision(), limit_blas_threads(), np.errstate(all="ignore"):
            feasible = FeasiblePointSearch(with_implied_equations(read), 0.0).run(x)
        answers.append(ProblemAnswer(read, x, feasible))
    return best_point(answers, problem, math.inf)[1]
