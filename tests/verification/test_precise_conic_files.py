"""Files of semidefinite programs whose proofs have more digits than floats: accepted as saved, rejected when forged."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import conic_forgeries
import numpy as np
import pytest
from conic_programs.small_programs import INF, linear_program

from boostopt import ConicProgram, certify_problem
from boostopt.conic_programs.conic_program import ConeConstraint
from boostopt.verification import verify
from boostopt.verification.conic_files.conic_verdict import verify_conic_certificate


def thin_program(k: int, is_maximized: bool = False) -> ConicProgram:
    """Return a program with the optimum -1 whose multipliers have an eigenvalue of about 4^-k at most.

    It is min 4^-k x + 2^(1-k) y + z over [[x, y], [y, 1]] semidefinite and z >= 0, in other coordinates; or the maximum
    1 of the opposite.
    """
    T = np.array([[3.0, 5, 2], [4, 7, 3], [1, 2, 2]])  # whole numbers with the determinant 1
    units = [np.diag([1.0, 0, 0]), np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, 0]]), np.diag([0.0, 0, 1])]
    A = np.stack([(T @ M @ T.T).ravel() for M in units], axis=1)
    matrix = ConeConstraint("semidefinite", A, (T @ np.diag([0.0, 1, 0]) @ T.T).ravel())
    disk = ConeConstraint("semidefinite", np.zeros((1, 3)), np.ones(1))
    costs = np.array([4.0**-k, 2.0 ** (1 - k), 1.0])
    free = ([-INF] * 3, [INF] * 3)
    return linear_program([], costs, ([], []), free, cones=(disk, matrix), is_maximized=is_maximized)


def saved_document(program: ConicProgram, path: Path) -> dict[str, Any]:
    certify_problem(program).save(path)
    return json.loads(path.read_text())


@pytest.mark.parametrize("k", [15, 22])
@pytest.mark.parametrize("is_maximized", [False, True])
def test_proofs_in_256_bits_travel(k: int, is_maximized: bool, tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    document = saved_document(thin_program(k, is_maximized), path)
    verification = verify(path)
    assert verification.accepted and verification.outcome == "solved"
    assert verification.fractions is not None
    lower, upper = verification.fractions
    assert lower is not None and upper is not None
    optimum = 1 if is_maximized else -1
    assert lower <= optimum <= upper
    assert upper - lower <= 1e-12
    assert max(len(text) for text in document["proof"]["x"]) > 40  # no float has so many digits


def in_floats(values: list[str]) -> list[str]:
    return [conic_forgeries.text_of(Fraction(float(value))) for value in map(conic_forgeries.fraction_of, values)]


def test_forged_proofs_in_256_bits_are_rejected(tmp_path: Path) -> None:
    document = saved_document(thin_program(22), tmp_path / "certificate.json")
    assert verify_conic_certificate(document).accepted
    proof = document["proof"]
    numbers = [conic_forgeries.fraction_of(text) for text in proof["x"]]
    forgeries = [
        {"x": [conic_forgeries.text_of(numbers[0] - 1), *proof["x"][1:]]},
        {"z": [in_floats(z) for z in proof["z"]]},
        {"x": [conic_forgeries.text_of(-value) for value in numbers]},
        {"z": [proof["z"][0], [*proof["z"][1][:-1], conic_forgeries.text_of(Fraction(0))]]},
    ]
    for k in range(len(proof["z"][1])):
        z = list(proof["z"][1])
        z[k] = conic_forgeries.text_of(conic_forgeries.fraction_of(z[k]) + Fraction(1, 2**200))
        forgeries.append({"z": [proof["z"][0], z]})
    for forgery in forgeries:
        assert not verify_conic_certificate({**document, "proof": {**proof, **forgery}}).accepted, forgery
    for end, direction in (("lower", INF), ("upper", -INF)):
        value = float(conic_forgeries.fraction_of(document["claim"][end]))
        claim = {**document["claim"], end: conic_forgeries.text_of(Fraction(math.nextafter(value, direction)))}
        assert "claims" in verify_conic_certificate({**document, "claim": claim}).reason


def test_points_far_away_travel(tmp_path: Path) -> None:
    # min y over [[x, 1], [1, y]] semidefinite: the optimum 0 is not attained.
    matrix = ConeConstraint("semidefinite", np.array([[1.0, 0], [0, 0], [0, 0], [0, 1]]), np.array([0.0, 1, 1, 0]))
    program = linear_program([], [0.0, 1.0], ([], []), ([-INF] * 2, [INF] * 2), cones=(matrix,))
    document = saved_document(program, tmp_path / "certificate.json")
    assert verify_conic_certificate(document).accepted
    upper = conic_forgeries.fraction_of(document["claim"]["upper"])
    assert 0 < upper <= 1e-8
    y = conic_forgeries.fraction_of(document["proof"]["x"][1])
    for x in (1 / y - Fraction(1, 2**300), -1 / y, Fraction(0)):
        proof = {**document["proof"], "x": [conic_forgeries.text_of(x), document["proof"]["x"][1]]}
        assert "cone 0" in verify_conic_certificate({**document, "proof": proof}).reason
