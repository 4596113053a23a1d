"""Forged files of linear programs: each is rejected, or what it claims of the program that it states is true.

As a script: `python tests/verification/linear_forgeries.py 10000` prints what became of the forgeries of each kind.
"""

from __future__ import annotations

import copy
import json
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

from conic_programs.small_programs import random_program
from support.forged_texts import verdict_on_text

from boostopt import ConicProgram, exact_optimum
from boostopt.verification.linear_files.linear_verdict import verify_linear_certificate
from boostopt.verification.verification_result import Verification

N_PROGRAMS = 24
"""Number of random programs, two thirds of them feasible."""

Document = dict[str, Any]


@cache
def text(seed: int) -> bytes:
    """Return the text of the certificate file of a random program."""
    optimum = exact_optimum(random_program(seed, m=4, n=6, kind="feasible" if seed % 3 else "any"))
    with tempfile.TemporaryDirectory() as folder:
        optimum.save(Path(folder) / "certificate.json")
        return (Path(folder) / "certificate.json").read_bytes()


def fraction_of(value: str) -> Fraction:
    """Return the fraction that a text of a proof states."""
    top, _, bottom = value.partition("/")
    return Fraction(int(top, 16), int(bottom or "1", 16))


def text_of(value: Fraction) -> str:
    """Return a fraction as a text of a proof."""
    return f"{value.numerator:x}/{value.denominator:x}"


def program_of(statement: Mapping[str, Any]) -> ConicProgram:
    """Return the program that a file states."""
    sign = 1.0 if statement["sense"] == "minimize" else -1.0
    shape = len(statement["row_lower"]), len(statement["c"])
    places = np.array(statement["rows"], dtype=int), np.array(statement["columns"], dtype=int)
    sides: dict[str, Any] = {
        name: np.array(statement[name], dtype=float) for name in ("lower", "upper", "row_lower", "row_upper")
    }
    return ConicProgram(
        A=scipy.sparse.coo_array((np.array(statement["values"], dtype=float), places), shape=shape),
        c=sign * np.array(statement["c"], dtype=float),
        offset=sign * float(statement["offset"]),
        is_maximized=sign < 0,
        numbers=statement["numbers"],
        **sides,
    )


def change_vector(document: Document, rng: np.random.Generator) -> None:
    """Change one to three fractions of the proof, by little or by much."""
    vectors = [name for name, values in document["proof"].items() if values]
    for name in rng.choice(vectors, int(rng.integers(1, 4))) if vectors else ():
        values = document["proof"][name]
        k = int(rng.integers(len(values)))
        value = fraction_of(values[k])
        step = Fraction(1, 2 ** int(rng.integers(0, 80)))
        values[k] = text_of([value + step, value - step, -value, Fraction(0), 2 * value][rng.integers(5)])


def change_program(document: Document, rng: np.random.Generator) -> None:
    """Change one number of the program."""
    program = document["program"]
    names = ("c", "values", "lower", "upper", "row_lower", "row_upper", "offset", "rows", "columns")
    name = str(rng.choice(names))
    steps = [0.0, 1.0, -1.0, 0.1, 2.0**-40, -(2.0**-50)]
    if name == "offset":
        program[name] = float(program[name]) + steps[rng.integers(len(steps))]
    elif program[name]:
        k = int(rng.integers(len(program[name])))
        if name in ("rows", "columns"):
            program[name][k] = int(rng.integers(6))
        elif isinstance(program[name][k], str):
            program[name][k] = 0.0
        else:
            program[name][k] = [program[name][k] + steps[rng.integers(len(steps))], -program[name][k]][rng.integers(2)]


def swap_entries(document: Document, rng: np.random.Generator) -> None:
    """Swap two entries of a list of the program or of the proof."""
    part = document[("program", "proof")[rng.integers(2)]]
    values = part[str(rng.choice([name for name, values in part.items() if isinstance(values, list) and values]))]
    i, j = rng.integers(len(values), size=2)
    values[i], values[j] = values[j], values[i]


def negate_vector(document: Document, rng: np.random.Generator) -> None:
    """Negate a vector of the proof."""
    proof = document["proof"]
    name = ("x", "y", "ray")[rng.integers(3)]
    if proof[name]:
        proof[name] = [text_of(-fraction_of(value)) for value in proof[name]]


def claim_other_value(document: Document, rng: np.random.Generator) -> None:
    """Claim a value nearby or the negative one."""
    value = document["claim"]["value"]
    if value is not None:
        number, step = fraction_of(value), Fraction(1, 2 ** int(rng.integers(0, 200)))
        document["claim"]["value"] = text_of([number + step, number - step, -number][rng.integers(3)])


def claim_other_status(document: Document, rng: np.random.Generator) -> None:
    """Claim another status, with what may serve as its proof."""
    status = ("optimal", "infeasible", "unbounded")[rng.integers(3)]
    document["claim"] = {"status": status, "value": "0" if status == "optimal" else None}
    proof, program = document["proof"], document["program"]
    n, m = len(program["c"]), len(program["row_lower"])
    for name, size in (("x", n), ("y", m), ("ray", n)):
        if proof[name] is None or not rng.integers(3):
            proof[name] = [f"{int(entry):x}" for entry in rng.integers(-1, 2, size)]


def answer_opposite(document: Document, rng: np.random.Generator) -> None:
    """Turn the sense of the program around, with the same proof or with parts of it negated."""
    program = document["program"]
    program["sense"] = "maximize" if program["sense"] == "minimize" else "minimize"
    if rng.integers(2):
        program["c"] = [-cost for cost in program["c"]]
    if rng.integers(2):
        negate_vector(document, rng)
    if rng.integers(2) and document["claim"]["value"]:
        document["claim"]["value"] = text_of(-fraction_of(document["claim"]["value"]))


def prove_another(document: Document, rng: np.random.Generator) -> None:
    """Take parts of the certificate of another program."""
    neighbour = json.loads(text(int(rng.integers(N_PROGRAMS))))
    if rng.integers(2):
        document["claim"] = neighbour["claim"]
    for name in ("x", "y", "ray"):
        if rng.integers(2):
            document["proof"][name] = neighbour["proof"][name]


def state_in_tenths(document: Document, rng: np.random.Generator) -> None:
    """State the program in tenths, and change what numbers mean: a tenth is no float."""
    program = document["program"]
    name = ("c", "values", "row_lower", "row_upper", "upper")[rng.integers(5)]
    program[name] = [value if isinstance(value, str) else value / 10 for value in program[name]]
    program["numbers"] = ("binary", "decimal")[rng.integers(2)]
    if rng.integers(2):
        name = ("x", "y", "ray")[rng.integers(3)]
        values = document["proof"][name] or []
        document["proof"][name] = [text_of(fraction_of(value) / 10) for value in values] or None


KINDS: Mapping[str, Callable[[Document, np.random.Generator], None]] = {
    "fractions of the proof": change_vector,
    "a number of the program": change_program,
    "another order": swap_entries,
    "another sign": negate_vector,
    "another value": claim_other_value,
    "another status": claim_other_status,
    "the opposite program": answer_opposite,
    "another proof": prove_another,
    "numbers in tenths": state_in_tenths,
}
"""Functions that change a file."""


def changed_text(seed: int, rng: np.random.Generator) -> bytes:
    """Return the text of a file with a few bytes changed."""
    changed = bytearray(text(seed))
    for _ in range(int(rng.integers(1, 4))):
        place = int(rng.integers(len(changed)))
        if rng.integers(2):
            changed[place : place + 1] = b"0123456789-/.e"[int(rng.integers(14)) :][:1]
        else:
            del changed[place : place + int(rng.integers(1, 8))]
    return bytes(changed)


def is_true(verification: Verification, document: Document) -> bool:
    """Return whether the verdict on an accepted file is what `exact_optimum` proves of the program that it states."""
    truth = exact_optimum(program_of(document["program"]))
    assert truth.is_proved()
    status = "solved" if truth.status == "optimal" else truth.status
    return verification.outcome == status and verification.fractions == (truth.value, truth.value)


def forge(n_forgeries: int, seed: int) -> dict[str, Counter[str]]:
    """Return what became of forgeries, by their kind: "rejected", or "true"; AssertionError for a lie."""
    rng = np.random.default_rng(seed)
    counts = {kind: Counter[str]() for kind in (*KINDS, "the text")}
    for k in range(n_forgeries):
        kind, program_seed = list(counts)[k % len(counts)], int(rng.integers(N_PROGRAMS))
        if kind == "the text":
            raw = changed_text(program_seed, rng)
        else:
            document = copy.deepcopy(json.loads(text(program_seed)))
            KINDS[kind](document, rng)
            raw = json.dumps(document).encode()
        verification, top = verdict_on_text(raw, verify_linear_certificate)
        assert not verification or is_true(verification, top), f"a lie was accepted: {kind}, {raw.decode()}"
        counts[kind]["true" if verification else "rejected"] += 1
    return counts


if __name__ == "__main__":
    for name, count in forge(int(sys.argv[1]), 0).items():
        print(f"{name:<24} {count['rejected']:>8} rejected {count['true']:>8} true")  # noqa: T201
