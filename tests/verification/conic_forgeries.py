"""Forged files of conic programs: each is rejected, or the interval that it proves is true of the program it states.

As a script: `python tests/verification/conic_forgeries.py 3000` prints what became of the forgeries of each kind.
"""

from __future__ import annotations

import copy
import json
import math
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

sys.path.insert(0, str(Path(__file__).parents[1]))

from linear_forgeries import change_program, fraction_of, text_of

from boostopt import ConicProgram, certify_problem, exact_optimum
from boostopt.conic_programs.conic_program import ConeConstraint
from boostopt.conic_programs.exact.quadratic.negative_curvature import negative_direction
from boostopt.errors import ProblemError
from boostopt.verification.conic_files.conic_verdict import verify_conic_certificate
from boostopt.verification.trusted_kernel.json_parsing import Rejected, parse_json
from boostopt.verification.verification_result import Verification

INF = np.inf

N_PROGRAMS = 30
"""Number of random programs: of each kind of cones some, feasible, infeasible and unbounded."""

MIN_SLACK = 1e-7
"""Relative distance by which a claim may be wrong in the floats of the second computation."""

Document = dict[str, Any]


def random_conic_program(seed: int) -> ConicProgram:
    """Return a program in small whole numbers with a quadratic form or a cone of one kind.

    Every fifth has a constraint that contradicts a cone or a bound, every fifth an objective that falls without end.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 6))
    kind = ("quadratic", "second_order", "semidefinite", "exponential", "power")[seed % 5]
    fate = ("feasible", "feasible", "feasible", "infeasible", "unbounded")[seed // 5 % 5]
    x = rng.integers(1, 3, n).astype(float)
    rows = rng.integers(-2, 3, (2, n)).astype(float)
    row_lower, row_upper = rows @ x, rows @ x + np.array([0.0, 2.0])
    lower, upper = np.where(rng.random(n) < 0.5, 0.0, -INF), np.where(rng.random(n) < 0.5, 4.0, INF)
    c = rng.integers(-2, 4, n).astype(float)
    form, cones = None, ()
    if kind == "quadratic":
        B = rng.integers(-1, 2, (n, n)).astype(float)
        form = B.T @ B + np.diag(rng.integers(0, 2, n).astype(float))
    else:
        cones = (_cone_around(kind, x, rng),)
        lower, upper = np.where(np.isfinite(lower), lower, -8.0), np.where(np.isfinite(upper), upper, 8.0)
    facts: dict[str, Any] = {"is_maximized": bool(rng.integers(2)), "offset": float(rng.integers(-2, 3))}
    if fate == "infeasible":
        rows = np.vstack([rows, rows[0]])
        row_lower, row_upper = np.append(row_lower, row_upper[0] + 1), np.append(row_upper, INF)
    if fate == "unbounded":  # a further variable that nothing bounds above, with a negative cost
        n, c = n + 1, np.append(c, -1.0)
        rows = np.hstack([rows, np.zeros((len(rows), 1))])
        lower, upper = np.append(lower, 0.0), np.append(upper, INF)
        form = None if form is None else np.pad(form, ((0, 1), (0, 1)))
        cones = tuple(
            ConeConstraint(
                cone.kind,
                scipy.sparse.hstack([cone.A, scipy.sparse.csr_array((len(cone.b), 1))]),
                cone.b,
                cone.exponent,
            )
            for cone in cones
        )
    return ConicProgram(rows, c, row_lower, row_upper, lower, upper, P=form, cones=cones, **facts)


def _cone_around(kind: Any, x: np.ndarray, rng: np.random.Generator) -> ConeConstraint:
    """Return a constraint with an interior at x."""
    size, interior = {
        "second_order": (4, [4.0, 1.0, -1.0, 2.0]),
        "semidefinite": (9, [2.0, 1.0, 0.0, 1.0, 2.0, 1.0, 0.0, 1.0, 2.0]),
        "exponential": (3, [0.0, 1.0, 2.0]),
        "power": (3, [2.0, 2.0, 1.0]),
    }[kind]
    block = rng.integers(-1, 2, (size, len(x))).astype(float)
    if kind == "semidefinite":
        places = np.arange(9).reshape(3, 3)
        block = block[np.minimum(places, places.T).ravel()]
    return ConeConstraint(kind, block, np.array(interior) - block @ x, 0.25 if kind == "power" else 0.5)


@cache
def text(seed: int) -> bytes | None:
    """Return the text of the certificate file of a random program; None if its certificate proves nothing.

    Of quadratic programs, half have the file of their exact optimum.
    """
    program = random_conic_program(seed)
    with tempfile.TemporaryDirectory() as folder:
        try:
            proof = exact_optimum(program) if program.P is not None and seed % 2 else certify_problem(program)
            proof.save(Path(folder) / "certificate.json")
        except ProblemError:
            return None
        return (Path(folder) / "certificate.json").read_bytes()


def program_of(statement: Mapping[str, Any]) -> ConicProgram:
    """Return the program that a file states."""
    sign = 1.0 if statement["sense"] == "minimize" else -1.0
    n, m = len(statement["c"]), len(statement["row_lower"])

    def matrix(item: Mapping[str, Any], shape: tuple[int, int]) -> Any:
        places = np.array(item["rows"], dtype=int), np.array(item["columns"], dtype=int)
        return scipy.sparse.coo_array((np.array(item["values"], dtype=float), places), shape=shape).tocsr()

    form = None
    if statement["P"] is not None:
        form = sign * matrix(statement["P"], (n, n))
        form = form + scipy.sparse.triu(form, 1).T
    cones = list[ConeConstraint]()
    for item in statement["cones"]:
        block, b = matrix(item, (len(item["b"]), n)), np.array(item["b"], dtype=float)
        if item["kind"] == "semidefinite":
            order = round((math.sqrt(8 * len(b) + 1) - 1) / 2)
            i, j = np.divmod(np.arange(order**2), order)
            places = np.maximum(i, j) * (np.maximum(i, j) + 1) // 2 + np.minimum(i, j)
            block, b = block[places], b[places]
        cones.append(ConeConstraint(item["kind"], block, b, float(item["exponent"])))
    sides: dict[str, Any] = {
        name: np.array(statement[name], dtype=float) for name in ("lower", "upper", "row_lower", "row_upper")
    }
    return ConicProgram(
        A=matrix(statement, (m, n)),
        c=sign * np.array(statement["c"], dtype=float),
        P=form,
        cones=tuple(cones),
        offset=sign * float(statement["offset"]),
        is_maximized=sign < 0,
        numbers=statement["numbers"],
        **sides,
    )


def vectors_of(document: Document) -> list[list[str]]:
    """Return the lists of fractions of a proof."""
    proof = document["proof"]
    return [
        values
        for values in (*(proof[name] for name in ("x", "ray", "y", "w", "shifts")), *(proof["z"] or ()))
        if values
    ]


def change_vector(document: Document, rng: np.random.Generator) -> None:
    """Change one to three fractions of the proof, by little or by much."""
    vectors = vectors_of(document)
    for _ in range(int(rng.integers(1, 4)) if vectors else 0):
        values = vectors[rng.integers(len(vectors))]
        k = int(rng.integers(len(values)))
        value, step = fraction_of(values[k]), Fraction(1, 2 ** int(rng.integers(0, 80)))
        values[k] = text_of([value + step, value - step, -value, Fraction(0), 2 * value][rng.integers(5)])


def change_last_digit(document: Document, rng: np.random.Generator) -> None:
    """Change a digit of a number of the proof or of the claim."""
    vectors = vectors_of(document)
    ends = [name for name in ("lower", "upper") if document["claim"][name]]
    if ends and rng.integers(2):
        name = ends[rng.integers(len(ends))]
        document["claim"][name] = _with_other_digit(document["claim"][name], rng)
    elif vectors:
        values = vectors[rng.integers(len(vectors))]
        k = int(rng.integers(len(values)))
        values[k] = _with_other_digit(values[k], rng)


def _with_other_digit(value: str, rng: np.random.Generator) -> str:
    places = [k for k, letter in enumerate(value) if letter not in "-/"]
    k = places[rng.integers(len(places))]
    return value[:k] + "0123456789abcdef"[rng.integers(16)] + value[k + 1 :]


def change_cone(document: Document, rng: np.random.Generator) -> None:
    """Change a number, the kind or the exponent of a cone, or an entry of P."""
    program = document["program"]
    steps = [1.0, -1.0, 0.5, 2.0**-40, -(2.0**-50)]
    if program["P"] is not None and program["P"]["values"]:
        values = program["P"]["values"]
        values[rng.integers(len(values))] += steps[rng.integers(len(steps))]
    for cone in program["cones"]:
        part = ("b", "values", "kind", "exponent")[rng.integers(4)]
        if part == "kind":
            cone["kind"] = ("second_order", "exponential", "power")[rng.integers(3)]
        elif part == "exponent":
            cone["exponent"] = [0.75, 0.25, 1.0, 0.0][rng.integers(4)]
        elif cone[part]:
            cone[part][rng.integers(len(cone[part]))] += steps[rng.integers(len(steps))]


def leave_out_cone(document: Document, rng: np.random.Generator) -> None:
    """State the program without its cones or its quadratic form, or with a cone twice."""
    program, proof = document["program"], document["proof"]
    if program["P"] is not None:
        program["P"] = None
        proof["w"] = None if rng.integers(2) else proof["w"]
    elif rng.integers(2):
        program["cones"], proof["z"] = [], None if proof["z"] is None else []
    else:
        program["cones"] *= 2
        if proof["z"] is not None:
            proof["z"] *= 2


def negate_vector(document: Document, rng: np.random.Generator) -> None:
    """Negate a vector of the proof."""
    vectors = vectors_of(document)
    if vectors:
        values = vectors[rng.integers(len(vectors))]
        values[:] = [text_of(-fraction_of(value)) for value in values]


def claim_narrower_interval(document: Document, rng: np.random.Generator) -> None:
    """Move a bound by one unit in the last place of a float or by more, or claim the other bound."""
    claim = document["claim"]
    for name in ("lower", "upper"):
        if claim[name] is not None and rng.integers(2):
            value = fraction_of(claim[name])
            unit = Fraction(math.ulp(float(value)))
            step = [unit, -unit, Fraction(1, 2 ** int(rng.integers(0, 60))), Fraction(-1, 2)][rng.integers(4)]
            claim[name] = text_of(value + step)
    if rng.integers(4) == 0 and claim["lower"] is not None and claim["upper"] is not None:
        claim["lower"] = claim["upper"]


def claim_other_status(document: Document, rng: np.random.Generator) -> None:
    """Claim another status, with what may serve as its proof."""
    status = ("bounded", "open", "infeasible", "unbounded")[rng.integers(4)]
    ends = status in ("bounded", "open")
    document["claim"] = {
        "status": status,
        "lower": "0" if ends else None,
        "upper": "0" if status == "bounded" else None,
    }
    proof, program = document["proof"], document["program"]
    n, m = len(program["c"]), len(program["row_lower"])
    for name, size in (("x", n), ("ray", n), ("y", m), ("w", n)):
        if proof[name] is None and rng.integers(2):
            proof[name] = [f"{int(entry):x}" for entry in rng.integers(-1, 2, size)]
    if proof["z"] is None and proof["y"] is not None:
        proof["z"] = [["0"] * len(cone["b"]) for cone in program["cones"]]
    if rng.integers(2):
        proof["w"] = None


def answer_opposite(document: Document, rng: np.random.Generator) -> None:
    """Turn the sense of the program around, with the same proof or with parts of it negated."""
    program, claim = document["program"], document["claim"]
    program["sense"] = "maximize" if program["sense"] == "minimize" else "minimize"
    if rng.integers(2):
        program["c"] = [-cost for cost in program["c"]]
    if rng.integers(2):
        negate_vector(document, rng)
    if rng.integers(2):
        ends = [None if claim[name] is None else text_of(-fraction_of(claim[name])) for name in ("upper", "lower")]
        claim["lower"], claim["upper"] = ends


def prove_another(document: Document, rng: np.random.Generator) -> None:
    """Take parts of the certificate of another program."""
    neighbour = json.loads(text(int(rng.integers(N_PROGRAMS))) or b"{}")
    if neighbour and rng.integers(2):
        document["claim"] = neighbour["claim"]
    for name in ("x", "y", "z", "w", "ray"):
        if neighbour and rng.integers(2):
            document["proof"][name] = neighbour["proof"][name]


def shift_form(document: Document, rng: np.random.Generator) -> None:
    """Shift the diagonal of the quadratic form in the proof, or subtract from it in the program."""
    program, n = document["program"], len(document["program"]["c"])
    document["proof"]["shifts"] = [text_of(Fraction(int(rng.integers(-1, 3)), 8)) for _ in range(n)]
    if program["P"] is not None:
        P = program["P"]
        diagonal = [k for k, (i, j) in enumerate(zip(P["rows"], P["columns"], strict=True)) if i == j]
        for k in diagonal:
            P["values"][k] -= float(rng.integers(0, 2)) / 4


KINDS: Mapping[str, Callable[[Document, np.random.Generator], None]] = {
    "fractions of the proof": change_vector,
    "a digit": change_last_digit,
    "a number of the program": change_program,
    "a cone or P": change_cone,
    "fewer or more cones": leave_out_cone,
    "another sign": negate_vector,
    "a narrower interval": claim_narrower_interval,
    "another status": claim_other_status,
    "the opposite program": answer_opposite,
    "another proof": prove_another,
    "shifts of P": shift_form,
}
"""Functions that change a file."""


def verdict_on(raw: bytes) -> tuple[Verification, Any]:
    """Return the verdict on a text, and the object that it states."""
    try:
        top = parse_json(raw)
    except Rejected as rejected:
        return Verification(False, str(rejected)), None
    return verify_conic_certificate(top), top


def is_possible(verification: Verification, document: Document) -> bool:
    """Return whether the verdict on an accepted file agrees with the exact optimum of the program that it states.

    For a program with cones, or without a convex objective, it must agree with the interval that floats prove.
    """
    program = program_of(document["program"])
    if not program.cones and negative_direction_of(program) is None:
        return _agrees_with_exact_optimum(program, verification, document)
    truth = certify_problem(program)
    lower, upper = verification.claimed
    if verification.outcome in ("infeasible", "unbounded"):
        # Nothing else may be proved of the program in floats; an open interval agrees with everything.
        has_optimum = math.isfinite(truth.lower) and math.isfinite(truth.upper)
        is_other = truth.is_decided and truth.status != verification.outcome
        point_exists = truth.point is not None
        return not (has_optimum or is_other or (verification.outcome == "infeasible" and point_exists))
    slack = MIN_SLACK * max(1.0, *(abs(end) for end in (lower, upper) if math.isfinite(end)))
    if truth.status == "infeasible":
        return not math.isfinite(upper if not document_is_maximized(document) else lower)
    if truth.status == "unbounded":
        return not math.isfinite(lower if not document_is_maximized(document) else upper)
    return lower <= truth.upper + slack and truth.lower - slack <= upper


def negative_direction_of(program: ConicProgram) -> Any:
    """Return a direction of negative curvature of the objective; None if it is convex."""
    return None if program.P is None else negative_direction(program.P, program.to_fraction)


def _agrees_with_exact_optimum(program: ConicProgram, verification: Verification, document: Document) -> bool:
    truth = exact_optimum(program)
    assert truth.is_proved()
    if verification.outcome in ("infeasible", "unbounded"):
        return truth.status == verification.outcome
    lower, upper = (document["claim"][name] for name in ("lower", "upper"))
    if truth.value is None:  # the optimum is an infinity, which one bound may leave open
        is_high = (truth.status == "infeasible") != program.is_maximized
        return (upper if is_high else lower) is None
    return (lower is None or fraction_of(lower) <= truth.value) and (upper is None or truth.value <= fraction_of(upper))


def document_is_maximized(document: Document) -> bool:
    """Return whether the program of a file is maximized."""
    return document["program"]["sense"] == "maximize"


def forge(n_forgeries: int, seed: int) -> dict[str, Counter[str]]:
    """Return what became of forgeries, by their kind: "rejected", or "true"; AssertionError for a lie."""
    rng = np.random.default_rng(seed)
    counts = {kind: Counter[str]() for kind in KINDS}
    texts = [raw for raw in map(text, range(N_PROGRAMS)) if raw is not None]
    for k in range(n_forgeries):
        kind = list(counts)[k % len(counts)]
        document = copy.deepcopy(json.loads(texts[rng.integers(len(texts))]))
        KINDS[kind](document, rng)
        raw = json.dumps(document).encode()
        verification, top = verdict_on(raw)
        assert not verification or is_possible(verification, top), f"a lie was accepted: {kind}, {raw.decode()}"
        counts[kind]["true" if verification else "rejected"] += 1
    return counts


if __name__ == "__main__":
    for name, count in forge(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0).items():
        print(f"{name:<24} {count['rejected']:>8} rejected {count['true']:>8} true")  # noqa: T201
