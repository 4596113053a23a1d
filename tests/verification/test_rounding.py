"""Multiplicities far from 1, or far apart: intervals hold against 160 bits, and what is true can be saved."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.certificate_files import program as small
from support.speeds import many

from boostopt import Certificate, ProblemError, Program, get_formulation
from boostopt.verification import certificate_writer as writing
from boostopt.verification import save, verify
from boostopt.verification.trusted_kernel.checker import ProvedBounds, recompute_bounds
from boostopt.verification.trusted_kernel.exact_numbers import ArbBalls
from boostopt.verification.trusted_kernel.number_types import Ball, FloatBalls


def proved_bounds(program: Program, certificate: Certificate) -> ProvedBounds:
    """Return the bounds that the weights of a certificate prove in ball arithmetic."""
    statement, arrays = writing.statement_and_arrays(program, certificate.w)
    proof, of_proof = writing._lower_bound_proof(program, -program.margins.margins(certificate.w))  # pyright: ignore[reportPrivateUsage]
    claim = {"outcome": "solved", "lower": "-inf", "upper": 1e308}
    A, arrays = ArbBalls(), {**arrays, **of_proof, "d": certificate.d}
    with A.precision_context(), np.errstate(all="ignore"):
        document = writing.parse_written({**statement, "claim": claim, "proof": proof, "made": {}}, arrays)
        return recompute_bounds(document, program.margins.to_cvxpy_constant(), A)


def random_norm_program(name: str, rng: np.random.Generator) -> Program:
    """Return a norm program of one hypothesis. Its multiplicities are all huge or all tiny."""
    N, p = int(rng.integers(2, 6)), float(rng.choice([1.01, 2.0, 100.0, rng.uniform(1.01, 1.2), rng.uniform(1.2, 30)]))
    c = 10.0 ** rng.uniform(-90, 90) * rng.uniform(0.3, 3.0, N)
    eta = math.inf if rng.random() < 0.5 else 10.0 ** rng.uniform(-1, 6)
    smallest, vertex = float(c.sum()) ** (1 / p - 1), float(c[0]) ** (1 / p - 1)
    r = smallest * (1 + rng.uniform(0.01, 1)) if name == "norm_ball" else 10.0 ** rng.uniform(-2, 3) / vertex
    return get_formulation(name).bind(rng.uniform(-1, 1, (N, 1)), c=c, p=p, r=r, eta=eta)


@pytest.mark.thorough_cases("norm_penalty")
@pytest.mark.parametrize("name", ["norm_ball", "norm_penalty"])
def test_the_rounding_of_exponents_is_in_the_interval(name: str) -> None:
    """The relative error of S^(1/p) is ln S / p times the rounding of p; S may be 1e100."""
    rng, tried = np.random.default_rng(5), 0
    while tried < many(40, 15):
        try:
            program = random_norm_program(name, rng)
        except ProblemError:  # r beyond 1e100
            continue
        tried += 1
        certificate = program.certify(None, [1.0])
        bounds = proved_bounds(program, certificate)
        assert certificate.lower <= bounds.lower <= bounds.upper <= certificate.upper, (program, certificate, bounds)


def test_the_lower_end_of_a_ball_of_huge_multiplicities() -> None:
    numbers: dict[str, Any] = {"p": 7.181308305621409, "r": 2.203377169664149e-18, "c": [1e20, 2.261605812969286e20]}
    bound = get_formulation("norm_ball").bind([[0.22639110584094624], [0.9107965441568742]], **numbers)
    certificate = bound.certify([0.5, 0.5], [1.0])
    assert certificate.lower <= 0.6998415260107567 <= certificate.upper  # the optimum, by 200 bits
    assert certificate.gap <= 1e-12


def test_the_bounds_of_a_penalty_of_huge_multiplicities_do_not_cross() -> None:
    U, r = [[0.9966514393790461, 0.992874764824877], [0.9925917949510444, 0.977967800308394]], 1.3563085373889934e96
    bound = get_formulation("norm_penalty").bind(U, c=[7.797606466218753e-70] * 2, p=1.1923390930002493, r=r)
    certificate = bound.certify([0.2, 0.8], [0.4, 0.6])
    assert certificate.lower < certificate.upper < certificate.lower * (1 + 1e-12)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("c", [[1e-10, 1, 1, 1], [1e-50, 1e50, 3e-100, 1e100], [1e20, 1e-20, 1.0, 7.0]])
@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("lp_adaboost", {}),
        ("lpboost", {"nu": 1}),
        ("norm_ball", {"p": 2.0}),
        ("norm_penalty", {"r": 0.1}),
        ("norm_penalty", {"r": 0.1, "p": 3.0, "eta": 5.0}),
    ],
)
def test_multiplicities_far_apart_can_be_saved(
    name: str, numbers: dict[str, Any], c: list[float], exact: bool, tmp_path: Path
) -> None:
    """A cap of 1e100 multiplies the rounding of the margin that it stands by; caps of 1 say the same."""
    U = np.random.default_rng(3).uniform(-1, 1, (4, 2))
    radius = {"r": 1.5 * float(np.sum(c)) ** -0.5} if name == "norm_ball" else {}
    bound = get_formulation(name).bind(U, c=c, **numbers, **radius)
    certificate = bound.certify(None, [0.4, 0.6])
    save((bound, certificate), tmp_path / "certificate.json")
    verification = verify(tmp_path / "certificate.json", bound, exact=exact)
    assert verification, verification.reason
    assert verification.lower >= certificate.lower - 1e-12 and verification.upper <= certificate.upper + 1e-12


@pytest.mark.parametrize(
    ("name", "c", "numbers", "d", "w"),
    [
        ("svm", [1e-10, 1e-10, 1e-5, 1e10, 1e-10], {"C": 30.3}, [1.5e-4, 1e-15, 6e-21, 2e-25, 2e-30], [1.0]),
        ("qp_reg_adaboost", [1.0, 1.0, 1.0, 1.0, 1.0], {"C": 2.6e23}, None, [0.9]),
        ("log_loss", [1e60, 3e60, 5e60, 1e59, 1e60], {"eta": 0.14}, None, [1e-10]),
        ("softboost", [1e-80, 1e60, 1e-60, 1e70, 1e90], {"nu": 1.0, "gamma": -0.5}, None, [1.0]),
    ],
)
def test_a_certificate_that_is_wider_than_what_is_proved_can_be_saved(
    name: str, c: list[float], numbers: dict[str, Any], d: Any, w: list[float], tmp_path: Path
) -> None:
    bound = get_formulation(name).bind([[0.9], [0.8], [1.0], [0.7], [0.6]], c=c, **numbers)
    certificate = bound.certify(d, w)
    save((bound, certificate), tmp_path / "certificate.json")
    verification = verify(tmp_path / "certificate.json", bound)
    assert verification, verification.reason
    if not certificate.infeasible:
        assert certificate.lower <= verification.lower <= verification.upper <= certificate.upper


def test_an_entropy_of_exponents_beyond_all_digits_can_be_saved(tmp_path: Path) -> None:
    """At eta = 1e60 the rounding of beta is larger than the exponents: then the cap alone bounds the conjugate."""
    for name in ("erlpboost", "unnormalized_erlpboost", "binary_erlpboost"):
        bound = get_formulation(name).bind([[0.3], [0.7], [-0.2]], nu=1.5, eta=1e60)
        save((bound, bound.certify(None, [1.0])), tmp_path / "certificate.json")
        assert verify(tmp_path / "certificate.json", bound)


def test_a_sum_of_multiplicities_beyond_1e100_can_be_saved(tmp_path: Path) -> None:
    c = [9e99, 9e99, 9e99]
    bound = get_formulation("lpboost").bind([[0.3], [0.7], [-0.2]], c=c, nu=sum(c))
    save((bound, bound.certify(None, [1.0])), tmp_path / "certificate.json")
    assert verify(tmp_path / "certificate.json", bound)


def test_an_array_that_no_reader_takes_is_not_written(tmp_path: Path) -> None:
    c, r = [1e-100, 1e-100], 1e100
    bound = get_formulation("norm_penalty").bind([[0.3], [0.7]], c=c, p=1.01, r=r)
    certificate = bound.certify(None, [1.0])
    try:
        save((bound, certificate), tmp_path / "certificate.json")
    except ProblemError as refused:
        assert "1e+150" in str(refused)
    else:
        assert verify(tmp_path / "certificate.json", bound)


@pytest.mark.parametrize(
    ("d", "message"),
    [
        (np.full(16, np.nan), r"\bd\b.*\bfinite\b"),
        (-np.ones(16), r"\bexample 0 .* -1\.0"),
        (np.eye(16)[0], r" 1\.00000"),
    ],
    ids=["nan", "negative", "one example"],
)
def test_a_message_names_plain_numbers(d: np.ndarray, message: str, tmp_path: Path) -> None:
    bound = small("ball")
    certificate = replace(bound.certify(None, np.ones(4)), d=d)
    with pytest.raises(ProblemError, match=message) as refused:
        save((bound, certificate), tmp_path / "certificate.json")
    assert "np.float64" not in str(refused.value)


def test_ball_product_of_an_infinite_radius_is_not_nan() -> None:
    """Infinity times 0 is NaN, and every comparison with NaN is false."""
    product = Ball(np.array([1.0]), np.array([np.inf])) * 2.0
    assert product.rad == np.inf


def test_the_logarithm_of_a_quotient_keeps_its_digits_where_logarithms_cancel() -> None:
    from boostopt.verification.trusted_kernel.conjugates import log_quotient

    A = FloatBalls()
    x, y = A.to_vector(np.array([1e90, 3e-90, 1e-200, 2.0])), A.to_vector(np.array([2e90, 3e-90, 1e200, 1.0]))
    logarithms = log_quotient(A, x, y)
    np.testing.assert_allclose(logarithms.mid, [math.log(0.5), 0.0, -400 * math.log(10), math.log(2.0)])
    assert (logarithms.rad[[0, 1, 3]] < 2e-15).all()
