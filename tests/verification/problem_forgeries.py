"""Forged files of CVXPY problems: each is rejected, or what it claims of the problem that it states is true.

As a script: `python tests/verification/problem_forgeries.py 10000` prints what became of the forgeries of each kind.
"""

from __future__ import annotations

import copy
import json
import math
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import cvxpy
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.forged_texts import verdict_on_text
from support.problem_files import CASES, certified, content, problem_of_statement, text

from boostopt.verification.exact_proofs.exact_multipliers import LinearSystem
from boostopt.verification.exact_proofs.exact_slopes import GroupSlopes
from boostopt.verification.problem_certificate_verdict import verify_problem_certificate
from boostopt.verification.problem_certificate_writer import multipliers_to_json
from boostopt.verification.problem_kernel.atoms import QuadraticForm
from boostopt.verification.problem_kernel.matrix_atoms import (
    LargestEigenvalue,
    MatrixAtom,
    MatrixFraction,
    SumOfLargestEigenvalues,
)
from boostopt.verification.problem_kernel.problem_checker import lagrangian
from boostopt.verification.problem_kernel.problem_schema import parse_problem, parse_problem_document
from boostopt.verification.problem_kernel.rationals_and_balls import working_precision
from boostopt.verification.trusted_kernel.json_parsing import Rejected, parse_json
from boostopt.verification.verification_result import Verification

cp: Any = cvxpy
"""CVXPY, whose own annotations refuse expressions that it takes."""

MISSED = 2e-6
"""By how much Clarabel may miss the optimum of a changed problem, relative to its size."""

N_POINTS = 100
"""Number of points that are tried if a changed problem is not convex."""

Place = tuple[Any, ...]
"""The names and positions that lead to a value."""


def places(value: Any, place: Place = ()) -> list[Place]:
    """Return the places of all numbers, texts and null within a value, except what nothing depends on."""
    if isinstance(value, dict):
        return [p for name, inner in value.items() if name != "made" for p in places(inner, (*place, name))]
    if isinstance(value, list):
        return [p for i, inner in enumerate(value) for p in places(inner, (*place, i))]
    return [place]


def lists(value: Any, place: Place = ()) -> list[Place]:
    """Return the places of all lists with at least two entries."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    result = [p for name, item in inner if name != "made" for p in lists(item, (*place, name))]
    return [*result, place] if isinstance(value, list) and len(value) > 1 else result


def entry(value: Any, place: Place) -> Any:
    """Return the entry at a place."""
    for name in place:
        value = value[name]
    return value


def set_entry(value: Any, place: Place, replacement: Any) -> None:
    """Replace the entry at a place."""
    entry(value, place[:-1])[place[-1]] = replacement


def changed_value(value: Any, rng: np.random.Generator) -> Any:
    """Return another number of the same kind."""
    if isinstance(value, str) and value not in ("inf", "-inf"):
        try:
            number = int(value, 16)
        except ValueError:
            return value + "1"
        size = max(abs(number), 1)
        small, large = size >> int(rng.integers(1, 60)), size << int(rng.integers(1, 60))
        return f"{[number + 1, number - 1, -number, 0, number + small, number - small, large][rng.integers(7)]:x}"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return [None, 0, 1.5, "inf", "-inf", "1/3", "0", "", True, []][rng.integers(10)]
    scale = 10.0 ** -float(rng.integers(0, 16))
    options = [value * (1 + scale), value * (1 - scale), -value, 0, value + scale, value - scale, value + 1]
    options += [1e300, -1e300, 1e-300, "inf", "-inf", True]
    return options[rng.integers(len(options))]


def change_number(document: dict[str, Any], rng: np.random.Generator) -> None:
    """Change one number of the file."""
    number_places = places(document)
    place = number_places[rng.integers(len(number_places))]
    set_entry(document, place, changed_value(entry(document, place), rng))


def change_proof(document: dict[str, Any], rng: np.random.Generator) -> None:
    """Change one to three numbers of the proof."""
    number_places = places(document["proof"], ("proof",))
    for _ in range(int(rng.integers(1, 4))):
        place = number_places[rng.integers(len(number_places))]
        set_entry(document, place, changed_value(entry(document, place), rng))


def swap_entries(document: dict[str, Any], rng: np.random.Generator) -> None:
    """Swap two entries of a list, or reverse it."""
    list_places = lists(document)
    entries = entry(document, list_places[rng.integers(len(list_places))])
    if rng.integers(2):
        entries.reverse()
    else:
        i, j = rng.integers(len(entries), size=2)
        entries[i], entries[j] = entries[j], entries[i]


def claim_more(document: dict[str, Any], rng: np.random.Generator) -> None:
    """Move a bound of the claim inward, by little or by much."""
    claim = document["claim"]
    name = ("lower", "upper")[rng.integers(2)]
    if claim[name] is None:
        claim[name] = float(rng.normal())
        claim["status"] = ("open", "bounded")[rng.integers(2)]
        return
    step = 10.0 ** -float(rng.integers(0, 17)) * max(1.0, abs(claim[name]))
    new_end = claim[name] + (step if name == "lower" else -step)
    claim[name] = (
        new_end if new_end != claim[name] else math.nextafter(new_end, math.inf if name == "lower" else -math.inf)
    )


def claim_other(document: dict[str, Any], rng: np.random.Generator) -> None:
    """Claim another status, with and without the numbers that it needs."""
    status = ("bounded", "open", "infeasible", "unbounded")[rng.integers(4)]
    decided = status in ("infeasible", "unbounded")
    ends = (None, None) if decided else (float(rng.normal()), float(rng.normal()) + 1)
    document["claim"] = {"status": status, "lower": ends[0], "upper": ends[1]}
    proof = document["proof"]
    if status == "infeasible" and proof["multipliers"] is not None:
        proof["multipliers"]["objective"] = "0"
        if rng.integers(2):  # no multiplier at all
            for name in ("inequalities", "equalities"):
                proof["multipliers"][name] = ["0"] * len(proof["multipliers"][name])
            for name in ("matrices", "slopes"):
                proof["multipliers"][name] = [["0"] * len(values) for values in proof["multipliers"][name]]
    if status == "unbounded" and proof["point"] is not None:
        proof["ray"] = copy.deepcopy(proof["point"])
        if rng.integers(2):
            proof["ray"]["numerators"] = ["0"] * len(proof["ray"]["numerators"])


def answer_opposite(document: dict[str, Any], rng: np.random.Generator) -> None:
    """Turn the sense of the problem around, with the same proof or with multipliers of the other sign."""
    problem, claim = document["problem"], document["claim"]
    problem["sense"] = "maximize" if problem["sense"] == "minimize" else "minimize"
    if rng.integers(2):
        negate(document["proof"]["multipliers"])
    if rng.integers(2) and claim["lower"] is not None and claim["upper"] is not None:
        claim["lower"], claim["upper"] = -claim["upper"], -claim["lower"]
    if rng.integers(2) and claim["status"] == "bounded":  # only the end that multipliers prove
        document["proof"]["point"] = None
        claim["status"], claim["lower" if problem["sense"] == "maximize" else "upper"] = "open", None
    if rng.integers(2):
        objective = problem["objective"]
        objective["values"] = [-v if isinstance(v, int | float) else v for v in objective["values"]]


def negate(multipliers: Any) -> None:
    """Negate all multipliers and slopes except that of the objective, in place."""
    for name in ("inequalities", "equalities") if multipliers else ():
        multipliers[name] = [f"{-int(value, 16):x}" for value in multipliers[name]]
    for name in ("slopes", "matrices") if multipliers else ():
        multipliers[name] = [[f"{-int(value, 16):x}" for value in values] for values in multipliers[name]]


def prove_another(document: dict[str, Any], rng: np.random.Generator) -> None:
    """Take the proof of another problem, or only its point or multipliers."""
    other_proof = content(list(CASES)[rng.integers(len(CASES))])["proof"]
    for name in ("multipliers", "point", "ray"):
        if rng.integers(2):
            document["proof"][name] = other_proof[name]


def change_shape(document: dict[str, Any], rng: np.random.Generator) -> None:
    """Remove or repeat an entry, remove a part, or rename an atom."""
    how = rng.integers(4)
    if how == 0:
        list_places = lists(document)
        entries = entry(document, list_places[rng.integers(len(list_places))])
        del entries[rng.integers(len(entries))]
    elif how == 1:
        list_places = lists(document)
        entries = entry(document, list_places[rng.integers(len(list_places))])
        entries.append(copy.deepcopy(entries[rng.integers(len(entries))]))
    elif how == 2:
        part = [document, document["problem"], document["proof"], document["claim"]][rng.integers(4)]
        part.pop(list(part)[rng.integers(len(part))])
    elif document["problem"]["atoms"]:
        atoms = document["problem"]["atoms"]
        names = ["sum of absolute values", "largest", "smallest", "euclidean norm", "exponential", "logarithm"]
        names += ["entropy", "log-sum-exp", "logistic", "shifted logarithm", "squares over last"]
        atoms[rng.integers(len(atoms))]["atom"] = names[rng.integers(len(names))]


def lie_stationary(document: dict[str, Any], rng: np.random.Generator) -> None:
    """Move multipliers and slopes, also out of their signs and domains; slopes of x that must be 0 stay 0.

    The claim is beyond the optimum: only signs and domains speak against it.
    """
    truth, proof = document["claim"], document["proof"]
    case = next(name for name in CASES if content(name)["problem"] == document["problem"])
    with working_precision():
        system = system_of_lie(document, rng)
        is_solved = rng.random() < 0.8
        x = certified(case)[0].answers[-1].x
        multipliers = system.solve(x) if is_solved else system.multipliers()
    sign = 1 if document["problem"]["sense"] == "minimize" else -1
    if multipliers is not None:
        proof["multipliers"], proof["point"] = multipliers_to_json(multipliers), None
        if multipliers.objective == 0:
            document["claim"] = {"status": "infeasible", "lower": None, "upper": None}
            return
        end = (truth["upper"] if sign > 0 else truth["lower"]) or 0.0
        false_end = end + sign * 1e-6 * max(1.0, abs(end))
        ends = {"lower": false_end, "upper": None} if sign > 0 else {"lower": None, "upper": false_end}
        document["claim"] = {"status": "open", **ends}


def system_of_lie(document: dict[str, Any], rng: np.random.Generator) -> LinearSystem:
    """Return random multipliers and slopes, or those of the proof with some of them changed."""
    problem = parse_problem(document["problem"])
    scale = 10.0 ** -float(rng.integers(-1, 3))
    true, totals, share = None, None, 1.0
    if document["proof"]["multipliers"] is not None and rng.random() < 0.7:
        true = parse_problem_document(document).multipliers
        assert true is not None
        totals, share = lagrangian(problem, true)[0], float(rng.choice([0.1, 0.5, 1.0]))
    weight = 1 if true is None else true.objective or 1

    def numbers(values: Sequence[Fraction], divisor: Fraction | int) -> list[Fraction]:
        """Return some numbers, each of them changed with a probability, or random ones."""
        noise = rng.normal(size=len(values)) * scale * (rng.random(len(values)) < share)
        base = [0 if true is None or divisor == 0 else value / divisor for value in values]
        return [old + Fraction(float(new)) for old, new in zip(base, noise, strict=True)]

    groups = list[list[GroupSlopes]]()
    for index, node in enumerate(problem.nodes):
        slopes = iter(true.slopes[index] if true is not None else [Fraction(0)] * sum(map(len, node.members)))
        row = list[GroupSlopes]()
        for k, group in enumerate(node.members):
            mu = 1 if totals is None else totals[node.start + k]
            mu = abs(mu) if isinstance(node.atom, QuadraticForm) else mu
            values = numbers([next(slopes) for _ in group], mu)
            if isinstance(node.atom, MatrixAtom | MatrixFraction):
                n, first = node.atom.n, len(values) - node.atom.n**2
                S = values[first:]
                values[first:] = [(S[i * n + j] + S[j * n + i]) / 2 for i in range(n) for j in range(n)]
            directions = [({i: Fraction(1)}, 1.0) for i in range(len(group))]
            # the trace that the slopes must have, also afterwards
            if isinstance(node.atom, LargestEigenvalue | SumOfLargestEigenvalues) and rng.integers(2):
                n = node.atom.n
                trace = node.atom.count if isinstance(node.atom, SumOfLargestEigenvalues) else 1
                values[-1] += trace - sum(values[:: n + 1])
                pairs = [(i, j) for i in range(n) for j in range(i, n) if (i, j) != (n - 1, n - 1)]
                directions = [
                    (
                        {i * n + j: Fraction(1), j * n + i: Fraction(1)}
                        if i < j
                        else {i * (n + 1): Fraction(1), n * n - 1: Fraction(-1)},
                        1.0,
                    )
                    for i, j in pairs
                ]
            row.append(GroupSlopes(values, directions))
        groups.append(row)
    is_infeasible = document["claim"]["status"] == "infeasible" or rng.random() < 0.1
    system = LinearSystem(problem, groups, 0.0 if is_infeasible else 1.0, np.zeros(0), np.zeros(0), [], 0.0)
    zeros = [Fraction(0)] * max(len(problem.inequalities), len(problem.equalities))
    system.inequalities = numbers(zeros[: len(problem.inequalities)] if true is None else true.inequalities, weight)
    if rng.integers(2):
        system.inequalities = [abs(value) for value in system.inequalities]
    system.equalities = numbers(zeros[: len(problem.equalities)] if true is None else true.equalities, weight)
    for index, (n, _) in enumerate(problem.matrices):
        Z = numbers([Fraction(0)] * (n * n) if true is None else true.matrices[index], weight)
        system.matrices.append([(Z[i * n + j] + Z[j * n + i]) / 2 for i in range(n) for j in range(n)])
    return system


def lie_about_point(document: dict[str, Any], rng: np.random.Generator) -> None:
    """Move the point along a direction in which the objective improves, and claim the value there."""
    point, problem = document["proof"]["point"], document["problem"]
    if point is None:
        return
    D = int(point["denominator"], 16)
    numerators = [int(text, 16) for text in point["numerators"]]
    changes = rng.normal(size=len(numerators)) * 10.0 ** -float(rng.integers(0, 3))
    if rng.integers(2):  # one entry only
        changes *= np.arange(len(changes)) == rng.integers(len(changes))
    new_numerators = [
        value + int(Fraction(float(change)) * D) for value, change in zip(numerators, changes, strict=True)
    ]
    point["numerators"] = [f"{value:x}" for value in new_numerators]
    document["proof"]["multipliers"] = None
    truth = document["claim"]
    if truth["lower"] is not None:
        side = truth["lower"] - 1e-4 if problem["sense"] == "minimize" else truth["upper"] + 1e-4
        ends = {"lower": None, "upper": side} if problem["sense"] == "minimize" else {"lower": side, "upper": None}
        document["claim"] = {"status": "open", **ends}


def change_problem(document: dict[str, Any], rng: np.random.Generator) -> None:
    """Change one number of the problem."""
    number_places = places(document["problem"], ("problem",))
    place = number_places[rng.integers(len(number_places))]
    set_entry(document, place, changed_value(entry(document, place), rng))


def change_atom(document: dict[str, Any], rng: np.random.Generator) -> None:
    """Call an atom, or the function of a perspective, by the name of another one; the proof stays."""
    nodes = document["problem"]["atoms"]
    if not nodes:
        return
    node = nodes[rng.integers(len(nodes))]
    node = node.get("function", node)
    swaps = [names for names in SWAPS if node["atom"] in names]
    if swaps:
        node["atom"] = str(rng.choice([name for name in swaps[rng.integers(len(swaps))] if name != node["atom"]]))
        if node["atom"] == "sum of largest eigenvalues":
            node["count"] = float(rng.choice([1.0, 1.5, 2.0]))
        else:
            node.pop("count", None)


SWAPS = (
    ("largest eigenvalue", "sum of largest eigenvalues", "log-determinant", "matrix entropy"),
    ("exponential", "product with exponential", "logarithm", "entropy", "logistic", "shifted logarithm"),
    ("spectral norm", "nuclear norm"),
    ("euclidean norm", "largest absolute value", "sum of absolute values", "largest", "log-sum-exp", "smallest"),
    ("relative entropy", "divergence", "squares over last"),
)
"""Atoms that take the same numbers and constants, up to a count."""


KINDS: Mapping[str, Callable[[dict[str, Any], np.random.Generator], None]] = {
    "a number of the file": change_number,
    "numbers of the proof": change_proof,
    "a number of the problem": change_problem,
    "another order": swap_entries,
    "a narrower claim": claim_more,
    "another claim": claim_other,
    "the opposite problem": answer_opposite,
    "another proof": prove_another,
    "another form": change_shape,
    "another atom": change_atom,
    "a stationary lie": lie_stationary,
    "another point": lie_about_point,
}
"""Functions that change a file."""

WORDS = ("NaN", "Infinity", "-Infinity", "1e999", "1e99999999999", '"nan"', "[" * 200, '{"a":1,"a":2}', "9" * 5000)
"""Texts that replace a number in a file."""


def forged_text(case: str, rng: np.random.Generator) -> bytes:
    """Return the text of a file with a few bytes changed, or with a word in place of a number."""
    changed = bytearray(text(case).encode())
    for _ in range(int(rng.integers(1, 4))):
        place = int(rng.integers(len(changed)))
        how = rng.integers(4)
        if how == 0:
            changed[place] = int(rng.integers(256))
        elif how == 1:
            changed[place : place + 1] = b"0123456789.-eE"[int(rng.integers(14)) :][:1]
        elif how == 2:
            del changed[place : place + int(rng.integers(1, 8))]
        else:
            changed[place : place + 1] = WORDS[rng.integers(len(WORDS))].encode()
    return bytes(changed)


def verdict_on(raw: bytes) -> tuple[Verification, Any]:
    """Return the verdict on the text of a file of a problem, and what it states."""
    return verdict_on_text(raw, verify_problem_certificate)


def status_and_value(statement: Mapping[str, Any]) -> tuple[str, float]:
    """Return the status and the value of the problem that a file states, by CVXPY's atoms and Clarabel."""
    with warnings.catch_warnings(action="ignore"):
        problem = problem_of_statement(statement)
        if not problem.is_dcp():
            return "not convex", math.nan
        try:
            problem.solve(solver="CLARABEL")
        except cp.SolverError:
            return "failed", math.nan
        return str(problem.status), float("nan" if problem.value is None else problem.value)


def is_refuted_by_points(verification: Verification, statement: Mapping[str, Any]) -> bool:
    """Return whether a point satisfies all constraints and has a value outside the bound that it must respect."""
    problem, rng = problem_of_statement(statement), np.random.default_rng(0)
    if len(problem.variables()) > 1:  # others, which CVXPY's atoms demand, have values of their own
        return False
    (x,) = problem.variables()
    is_minimized = statement["sense"] == "minimize"
    bound = verification.lower if is_minimized else verification.upper
    for k in range(N_POINTS):
        x.value = rng.normal(size=x.size) * 10.0 ** (k % 4 - 1)
        value = problem.objective.args[0].value
        if value is not None and all(constraint.value(0.0) for constraint in problem.constraints):
            if verification.outcome == "infeasible" or (value < bound if is_minimized else value > bound):
                return True
    return False


def judge(verification: Verification, top: Any, original: Mapping[str, Any]) -> str:
    """Return the fate of a forgery: "rejected", "harmless", "another problem" or "undecided"; "FALSE" is a fault."""
    if not verification.accepted:
        return "rejected"
    truth = original["claim"]
    is_same = top["problem"] == original["problem"]
    if is_same:
        if truth["status"] in ("infeasible", "unbounded") and verification.outcome == "solved":
            # The value is infinite: every bound on the other side of it holds.
            is_above = (truth["status"] == "infeasible") == (top["problem"]["sense"] == "minimize")
            is_true = math.isinf(verification.claimed[1]) if is_above else math.isinf(verification.claimed[0])
        elif verification.outcome != "solved" or truth["lower"] is None:
            is_true = top["claim"]["status"] == truth["status"]
        else:
            is_true = verification.claimed[0] <= truth["upper"] and verification.claimed[1] >= truth["lower"]
        return "harmless" if is_true else "FALSE"
    status, value = status_and_value(top["problem"])
    if status == "not convex":
        return "FALSE" if is_refuted_by_points(verification, top["problem"]) else "undecided"
    if verification.outcome != "solved":
        is_proved = {"infeasible": ("infeasible", "infeasible_inaccurate"), "unbounded": ("unbounded",)}
        if status in ("optimal", *is_proved["unbounded" if verification.outcome == "infeasible" else "infeasible"]):
            return "FALSE"
        return "another problem" if status in is_proved[verification.outcome] else "undecided"
    if status != "optimal":
        return "undecided"
    room = MISSED * max(1.0, abs(value))
    return "another problem" if verification.lower - room <= value <= verification.upper + room else "FALSE"


def is_rejected(document: dict[str, Any], optimum: float, slack: float = 0.0) -> bool:
    """Return whether a forged proof or claim about a problem is rejected; AssertionError for a false claim accepted.

    Parameters
    ----------
    document
        The file, with the statement of the problem as it was.
    optimum, slack
        The optimum of the problem, and by how much a true claim may miss it.
    """
    try:
        verification = verify_problem_certificate(parse_json(json.dumps(document).encode()))
    except Rejected:
        return True
    lower, upper = verification.claimed
    is_true = verification.outcome == "solved" and lower <= optimum + slack and optimum - slack <= upper
    assert not verification or is_true, (document["proof"], document["claim"])
    return not verification


def forge(times: int, seed: int, cases: Sequence[str] = tuple(CASES)) -> dict[str, Counter[str]]:
    """Forge so many files and return what became of those of each kind; AssertionError for a false claim accepted."""
    rng = np.random.default_rng(seed)
    kinds = [*KINDS, "bytes of the text"]
    result = {kind: Counter[str]() for kind in kinds}
    for k in range(times):
        case, kind = cases[(k // len(kinds)) % len(cases)], kinds[k % len(kinds)]
        if kind in KINDS:
            document = content(case)
            KINDS[kind](document, rng)
            raw = json.dumps(document).encode()
        else:
            raw = forged_text(case, rng)
        verification, top = verdict_on(raw)
        outcome = judge(verification, top, content(case))
        assert outcome != "FALSE", (case, kind, verification, raw.decode(errors="replace"))
        result[kind][outcome] += 1
    return result


if __name__ == "__main__":
    started = time.perf_counter()
    for name, counts in forge(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0).items():
        print(name, dict(counts))  # noqa: T201
    print(f"{time.perf_counter() - started:.0f} s")  # noqa: T201
