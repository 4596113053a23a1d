"""Forged files of programs with described functions: each is rejected, or what it claims of its program is true.

As a script: `python tests/verification/described_forgeries.py 1000` prints what became of the forgeries of each kind.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from problem_forgeries import (
    change_atom,
    change_number,
    change_problem,
    change_proof,
    claim_more,
    claim_other,
    swap_entries,
)
from support.described_files import PROGRAMS, certified, content, cp, problem_of_file

from boostopt.verification.described_files.described_verdict import verify_described_certificate
from boostopt.verification.problem_kernel.problem_checker import Interval, check_document
from boostopt.verification.problem_kernel.problem_composition import composed_problem, parse_described_part
from boostopt.verification.problem_kernel.problem_schema import parse_proof_and_claim
from boostopt.verification.problem_kernel.rationals_and_balls import ceil_float, floor_float, working_precision
from boostopt.verification.trusted_kernel.json_parsing import Rejected, parse_json

MISSED = 2e-6
"""By how much Clarabel may miss the optimum of a changed program."""

Change = Callable[[dict[str, Any], np.random.Generator], None]
"""A function that changes a file."""


def part_of(document: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Return the problem of F or of G as the functions that forge files of problems take it."""
    return {"problem": document[("F", "G")[rng.integers(2)]]["problem"]}


def change_number_of_part(document: dict[str, Any], rng: np.random.Generator) -> None:
    """Change one number of F or of G."""
    change_problem(part_of(document, rng), rng)


def change_atom_of_part(document: dict[str, Any], rng: np.random.Generator) -> None:
    """Call an atom of F or of G by the name of another one."""
    change_atom(part_of(document, rng), rng)


def swap_constraints(document: dict[str, Any], rng: np.random.Generator) -> None:
    """State inequalities as equalities, or the reverse, or turn the rows of one kind around."""
    problem = part_of(document, rng)["problem"]
    if rng.integers(2):
        problem["inequalities"], problem["equalities"] = problem["equalities"], problem["inequalities"]
        multipliers = document["proof"]["multipliers"]
        multipliers["inequalities"], multipliers["equalities"] = multipliers["equalities"], multipliers["inequalities"]
    else:
        name = ("inequalities", "equalities")[rng.integers(2)]
        problem[name]["values"] = [-value if isinstance(value, float) else value for value in problem[name]["values"]]


def swap_functions(document: dict[str, Any], rng: np.random.Generator) -> None:
    """Call an entry of the argument by the position of another unknown, or name another variable."""
    part = document[("F", "G")[rng.integers(2)]]
    positions = part["problem"]["variables"][part["argument"]]["positions"]
    if rng.integers(2):
        part["argument"] = int(rng.integers(len(part["problem"]["variables"])))
    else:
        i, j = rng.integers(len(positions), size=2)
        positions[i], positions[j] = positions[j], positions[i]


def prove_neighbour(document: dict[str, Any], rng: np.random.Generator) -> None:
    """Use the proof, the claim, F or G of another program."""
    neighbour = content(str(rng.choice(list(PROGRAMS))))
    for name in (("proof", "claim"), ("F",), ("G",), ("proof",))[rng.integers(4)]:
        document[name] = neighbour[name]


KINDS: Mapping[str, Change] = {
    "a number of the file": change_number,
    "numbers of the proof": change_proof,
    "a number of F or G": change_number_of_part,
    "another atom": change_atom_of_part,
    "other constraints": swap_constraints,
    "another argument": swap_functions,
    "a neighbour's proof": prove_neighbour,
    "another order": swap_entries,
    "a narrower claim": claim_more,
    "another claim": claim_other,
}
"""Functions that change a file."""


def checked_interval(document: Mapping[str, Any], U: np.ndarray) -> Interval | None:
    """Return the interval that the checker proves for the F and G of a file, whatever its formulation; None if none."""
    try:
        with working_precision():
            N, t = U.shape
            parts = parse_described_part(document["F"], N, "F"), parse_described_part(document["G"], t, "G")
            problem = composed_problem(*parts, U)
            return check_document(parse_proof_and_claim(problem, document["proof"], document["claim"]))
    except Rejected:
        return None


def judge(document: Mapping[str, Any], name: str) -> str:
    """Return what became of a forgery: "rejected", "harmless", "another program", "undecided"; "FALSE" is a fault."""
    program, certificate = certified(name)
    U = program.margins.to_array()
    verification = verify_described_certificate(document, U, {}, program.formulation)
    if verification.accepted:
        is_solved = verification.outcome == "solved"
        lower, upper = verification.claimed
        is_true = is_solved and lower <= certificate.upper and upper >= certificate.lower
        return "harmless" if is_true else "FALSE"
    interval = checked_interval(document, U)
    if interval is None:
        return "rejected"
    with warnings.catch_warnings(action="ignore"):
        problem = problem_of_file(document, U)
        if not problem.is_dcp():
            return "undecided"
        try:
            problem.solve(solver="CLARABEL")
        except cp.SolverError:
            return "undecided"
    if document["claim"]["status"] in ("infeasible", "unbounded"):
        return "FALSE" if problem.status == "optimal" else "undecided"
    if problem.status != "optimal":
        return "undecided"
    lower, upper = interval
    room = MISSED * max(1.0, abs(problem.value))
    is_true = (lower is None or floor_float(lower) - room <= problem.value) and (
        upper is None or problem.value <= ceil_float(upper) + room
    )
    return "another program" if is_true else "FALSE"


def forge(times: int, seed: int, names: Sequence[str] = tuple(PROGRAMS)) -> dict[str, Counter[str]]:
    """Forge so many files and return what became of those of each kind; AssertionError for a false claim accepted."""
    rng = np.random.default_rng(seed)
    result = {kind: Counter[str]() for kind in KINDS}
    for k in range(times):
        name, kind = names[(k // len(KINDS)) % len(names)], list(KINDS)[k % len(KINDS)]
        document = content(name)
        KINDS[kind](document, rng)
        try:
            top = parse_json(json.dumps(document).encode())
        except Rejected:
            result[kind]["rejected"] += 1
            continue
        outcome = judge(top, name)
        assert outcome != "FALSE", (name, kind, json.dumps(document))
        result[kind][outcome] += 1
    return result


if __name__ == "__main__":
    started = time.perf_counter()
    for name, counts in forge(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0).items():
        print(name, dict(counts))  # noqa: T201
    print(f"{time.perf_counter() - started:.0f} s")  # noqa: T201
