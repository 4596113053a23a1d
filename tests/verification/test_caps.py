"""Caps that sum to 1 but for rounding: a nu that is the sum of c, or the float beside it, in either direction."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostopt import get_formulation
from boostopt.verification import save, verify
from boostopt.verification.trusted_kernel.certificate_schema import read_document
from boostopt.verification.trusted_kernel.checker import recompute_bounds, vector_digest
from boostopt.verification.trusted_kernel.exact_numbers import exact_number_type
from boostopt.verification.trusted_kernel.json_parsing import Rejected
from boostopt.verification.trusted_kernel.number_types import FloatBalls

U = np.array([[0.5, -0.2], [-0.25, 0.3], [0.1, 0.1]])

WITH_CAPS: list[tuple[str, dict[str, Any]]] = [
    ("lpboost", {}),
    ("erlpboost", {"eta": 10.0}),
    ("binary_erlpboost", {"eta": 10.0}),
    ("unnormalized_erlpboost", {"eta": 10.0}),
    ("softboost", {"gamma": 0.9}),
    ("binary_softboost", {"gamma": 0.9}),
]

A_LOWER_END: dict[str, Any] = {"outcome": "solved", "lower": 1e3, "upper": "inf"}
NO_OPTIMUM: dict[str, Any] = {"outcome": "infeasible", "excess": 1}

THIRDS = np.full(3, 1 / 3)
"""They sum to 1 in floats, to less exactly."""


def counts() -> list[tuple[np.ndarray, float]]:
    """Return multiplicities with nu equal to their sum in floats, which may be above or below the exact sum."""
    samples = [np.random.default_rng(seed).integers(100, 300, 3) / 100 for seed in range(12)]
    float_sums = [(c, float(c.sum())) for c in (*samples, np.ones(3), THIRDS)]
    next_floats = [
        (np.ones(3), math.nextafter(3.0, math.inf)),
        (np.array([1.0, 2.0, 3.0]), math.nextafter(6.0, math.inf)),
    ]
    return [*float_sums, *next_floats]


def proves_nothing(
    content: dict[str, Any],
    data: Any,
    file: Path,
    claim: dict[str, Any],
    beta: float,
    modes: Sequence[bool] = (False, True),
) -> None:
    """Check that a file without d is rejected with this claim and this beta, in floats and exactly."""
    arrays = {name: values for name, values in content["arrays"].items() if name != "d"}
    file.write_text(
        json.dumps({**content, "arrays": arrays, "claim": claim, "proof": {**content["proof"], "beta": beta}})
    )
    for exact in modes:
        assert not verify(file, data, exact=exact), (claim, beta, exact)


def test_the_sums_lie_on_all_sides() -> None:
    sides = {np.sign(float(sum(map(Fraction, c.tolist())) - Fraction(nu))) for c, nu in counts()}
    assert sides == {-1.0, 0.0, 1.0}


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "numbers"), WITH_CAPS)
def test_no_beta_proves_anything_of_caps_that_leave_one_point(
    name: str, numbers: dict[str, Any], tmp_path: Path
) -> None:
    """If the caps summed to less than 1, or the weights that cannot move to more, beta would prove any lower bound."""
    path, forged = tmp_path / "certificate.json", tmp_path / "forged.json"
    for c, nu in counts():
        program = get_formulation(name).bind(U, c=c, nu=nu, **numbers)
        program.solve(tol=1e-9).save(path)
        intervals = list[tuple[float, float]]()
        for exact in (False, True):
            true = verify(path, program, exact=exact)
            assert true, (c, nu, exact, true.reason)
            intervals.append((true.lower, true.upper))
            for beta in (-1e200, 1e200, -1e30, 1e30, -1e17, 1e17):
                for claim in (A_LOWER_END, NO_OPTIMUM):
                    proves_nothing(json.loads(path.read_text()), program, forged, claim, beta, [exact])
        (outer_lower, outer_upper), (lower, upper) = intervals
        assert outer_lower <= lower <= upper <= outer_upper


def test_weights_that_cannot_move_may_not_sum_to_more_than_one(tmp_path: Path) -> None:
    """Four of five references fill their caps and sum to 1 + 4e-9: there are no example weights at all."""
    path = tmp_path / "certificate.json"
    nu = 4.0 * (1.0 - 4e-9)
    wide = np.vstack([U, -U[:2]])
    save(get_formulation("binary_erlpboost").bind(wide, nu=nu, eta=10.0).solve(tol=1e-9), path)
    document = json.loads(path.read_text())
    d0 = np.array([*[1.0 / nu] * 4, 1e-12])
    document["arrays"]["d0"], document["data"]["d0"] = d0.tolist(), vector_digest(d0)
    proves_nothing(document, wide, path, A_LOWER_END, 1e30)
    for A in (FloatBalls(), exact_number_type(read_document(path))):
        with pytest.raises(Rejected, match=r"\bcaps\b.*\bcannot\b.* 1$"):
            recompute_bounds(read_document(path), wide, A)


BALLS = [
    (2.0, np.ones(3), math.inf),
    (1.5, np.ones(5), math.inf),
    (3.0, np.ones(7), 10.0),
    (2.0, np.array([0.3, 0.7, 0.1]), math.inf),
]


@pytest.mark.parametrize(("p", "c", "eta"), BALLS)
def test_no_s_proves_anything_of_a_ball_that_touches_the_simplex(
    p: float, c: np.ndarray, eta: float, tmp_path: Path
) -> None:
    """In floats the radius is the smallest norm; exactly it may be less, and then nothing lies in the ball."""
    path = tmp_path / "certificate.json"
    wide = np.random.default_rng(0).uniform(-1, 1, (len(c), 2))
    r = float(c.sum()) ** (1 / p - 1)
    program = get_formulation("norm_ball").bind(wide, c=c, p=p, r=r, eta=eta)
    program.solve(tol=1e-9).save(path)
    for size in (1e15, 1e30, 1e100):
        document = json.loads(path.read_text())
        document["arrays"]["s"] = [size] * len(c)
        proves_nothing(document, program, tmp_path / "forged.json", A_LOWER_END, -size)


def test_weights_that_cannot_move_may_not_exceed_one_by_less_than_a_float_shows(tmp_path: Path) -> None:
    """Ten tenths are 1 + 5.6e-17."""
    path, wide = tmp_path / "certificate.json", np.random.default_rng(0).uniform(-1, 1, (11, 2))
    c, d0 = np.array([0.1] * 10 + [1.0]), np.array([0.1] * 10 + [1e-20])
    for name, numbers in (("binary_erlpboost", {"eta": 10.0}), ("binary_softboost", {"gamma": 0.9})):
        page: dict[str, Any] = {"nu": 1.0, **numbers}
        get_formulation(name).bind(wide, c=c, **page).solve(tol=1e-9).save(path)
        document = json.loads(path.read_text())
        feasible_d0 = get_formulation(name).bind(wide, c=c, d0=d0, **page).examples.d0
        document["arrays"]["d0"], document["data"]["d0"] = feasible_d0.tolist(), vector_digest(feasible_d0)
        for claim in (A_LOWER_END, NO_OPTIMUM):
            proves_nothing(document, wide, path, claim, 1e30)


def test_programs_infeasible_by_rounding_only_are_not_called_infeasible(tmp_path: Path) -> None:
    """The mean of 0.1, 0.2 and 0.3 is 0.2 up to rounding: all weights are fixed, and two edges must be equal."""
    path = tmp_path / "certificate.json"
    tied = np.array([[0.1, 0.2], [0.2, 0.2], [0.3, 0.2]])
    for name, beta in (("corrective_binary_erlpboost", 0.0), ("corrective_erlpboost", -1e105)):
        program = get_formulation(name).bind(tied, nu=3.0, eta=10.0, segment=False)
        program.solve(tol=1e-8).save(path)
        assert verify(path, program)
        document = json.loads(path.read_text())
        document["arrays"]["w"] = [-1e100, 1e100]
        proves_nothing(document, program, path, NO_OPTIMUM, beta)
