"""AdaBoost_REG's update: the page against the package, the paper's recursion, and its accumulators."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from agreement import TIGHT, assert_forms_have, bind_column, certificate_of_backends
from support.problems import REFERENCE_D0, REFERENCE_U

from boostopt import Outcome, ProblemError, Program, get_formulation


def update(u: object, **parameters: object) -> Program:
    return bind_column("adaboost_reg", u, **parameters)


def normalized(weights: np.ndarray) -> np.ndarray:
    return weights / weights.sum()


def draw(rng: np.random.Generator) -> Program:
    N = int(rng.integers(2, 60))
    d0 = rng.dirichlet(np.ones(N))
    if rng.random() < 0.4 and N > 4:
        d0[rng.permutation(N)[: N // 4]] = 0.0
    u = rng.choice([-1.0, 1.0], N) if rng.random() < 0.5 else rng.uniform(-1, 1, N)
    return update(u, d0=normalized(d0), b=rng.uniform(0.1, 3), penalty=rng.normal(scale=2, size=N))


def test_structure_by_hand() -> None:
    """N = 3, u = (1, -1, 1/2), d0 = (1/4, 1/2, 1/4), b = 0.8, penalty (0.1, 0, 0.3).

    Primal  min sum d ln(d / d0) + 0.1 d1 + 0.3 d3 + 0.4 (d1 - d2 + d3/2)   s.t.  d1 + d2 + d3 = 1
    Dual    max -ln[ exp(-w - 0.1) / 4 + exp(w) / 2 + exp(-w/2 - 0.3) / 4 ]   s.t.  w = 0.4
    """
    program = update([1.0, -1.0, 0.5], c=[1, 2, 1], b=0.8, penalty=[0.1, 0, 0.3])
    primal, dual = program.cvxpy("primal", "literal"), program.cvxpy("dual", "literal")
    assert [c.label for c in primal.constraints] == ["beta"]
    assert [c.label for c in dual.constraints] == ["w = b / 2"]
    d, d0 = np.array([0.2, 0.5, 0.3]), np.array([0.25, 0.5, 0.25])
    primal.var_dict["d"].value = d
    assert primal.objective.value == pytest.approx(
        sum(d * np.log(d / d0)) + 0.1 * 0.2 + 0.3 * 0.3 + 0.4 * (0.2 - 0.5 + 0.15)
    )
    dual.var_dict["w"].value = [0.7]
    inside = 0.25 * math.exp(-0.8) + 0.5 * math.exp(0.7) + 0.25 * math.exp(-0.65)
    assert dual.objective.value == pytest.approx(-math.log(inside))
    assert dual.constraints[0].residual == pytest.approx(0.3)


@pytest.mark.thorough_cases("0")
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
def test_literal_derived_and_certified_values_agree(seed: int) -> None:
    program = draw(np.random.default_rng(seed))
    certificate = certificate_of_backends(program, {"cvxpy:clarabel": 1e-11, "cvxpy:scs": 1e-11})
    assert_forms_have(program, pytest.approx(certificate.upper, abs=1e-6), **TIGHT)


@pytest.mark.parametrize("seed", range(10))
def test_the_answer_needs_no_solver(seed: int) -> None:
    program = draw(np.random.default_rng(seed))
    d0, u, p = program.examples.d0, program.margins.column(0), program.parameters
    weights = d0 * np.exp(-(p.b / 2) * u - p.penalty)
    certificate = program.certify()
    np.testing.assert_allclose(certificate.d, normalized(weights), rtol=1e-12)
    assert certificate.gap <= 1e-11
    assert certificate.contains(-math.log(weights.sum()))
    assert certificate.w[0] == p.b / 2
    assert certificate.multipliers["beta"] == pytest.approx(math.log(weights.sum()), abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_any_other_distribution_is_worse_by_its_relative_entropy(seed: int) -> None:
    """P(d) - D = sum d ln(d / d*): the certificate blames single examples."""
    rng = np.random.default_rng(seed)
    program = update(REFERENCE_U[:, 0], d0=REFERENCE_D0, b=1.2, penalty=rng.uniform(0, 1, 6))
    best, d = program.certify().d, rng.dirichlet(np.ones(6))
    value = program.regularizer.value(d) + 0.6 * float(REFERENCE_U[:, 0] @ d)
    assert value - program.certify().upper == pytest.approx(float(d @ np.log(d / best)), abs=1e-12)


def run(p: int, C: float, c: np.ndarray, rounds: int = 8) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Chain the page over rounds; return its distributions and those from the accumulators.

    w is the weight of one copy of an example, d that of all its copies.
    """
    rng = np.random.default_rng(5)
    N = len(c)
    sum_bu, sum_bw, sum_b, zeta = np.zeros(N), np.zeros(N), 0.0, np.zeros(N)
    d, ours, theirs = c / c.sum(), list[np.ndarray](), list[np.ndarray]()
    for _ in range(rounds):
        u, b, w = np.where(rng.random(N) < 0.7, 1.0, -1.0), float(rng.uniform(0.3, 1.5)), d / c
        sum_bu, sum_bw, previous_penalty = sum_bu + b * u, sum_bw + b * w, sum_b * zeta
        sum_b += b
        zeta = (sum_bw / sum_b) ** p
        d = update(u, c=c, d0=d, b=b, penalty=(C / 2) * (sum_b * zeta - previous_penalty)).certify().d
        ours.append(d)
        theirs.append(normalized(c * np.exp(-(sum_bu + C * sum_b * zeta) / 2)))
    return ours, theirs


@pytest.mark.parametrize("p", (1, 2))
@pytest.mark.parametrize("c", (np.ones(12), np.arange(1.0, 13.0)))
def test_a_run_keeps_the_weights_of_the_accumulators(p: int, c: np.ndarray) -> None:
    ours, theirs = run(p, 20.0, c)
    for one, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-9)


def test_the_recursion_of_the_paper_with_the_increment_and_the_half() -> None:
    """w_t exp(b I - (C/2) b w_t) is the update for p = 1; with C zeta_t |b^t| as printed it is another one."""
    rng = np.random.default_rng(6)
    u, w, b, C, older = np.where(rng.random(15) < 0.6, 1.0, -1.0), rng.dirichlet(np.ones(15)), 0.9, 10.0, 0.4
    is_error = (u < 0).astype(float)
    answer = update(u, d0=w, b=b, penalty=(C / 2) * b * w).certify().d
    np.testing.assert_allclose(answer, normalized(w * np.exp(b * is_error - (C / 2) * b * w)), rtol=1e-12)
    accumulated = older * rng.dirichlet(np.ones(15)) + b * w  # zeta_t |b^t|
    printed_value = normalized(w * np.exp(b * is_error - C * accumulated))
    assert np.abs(answer - printed_value).max() > 1e-3


@pytest.mark.parametrize("seed", range(6))
def test_for_p_equal_1_the_line_search_is_an_entropy_projection(seed: int) -> None:
    """B is twice the step onto v . d = 0 for v = u + C w, and the derivative of the functional vanishes there."""
    rng = np.random.default_rng(seed)
    u, d0, C = np.where(rng.random(20) < 0.8, 1.0, -1.0), rng.dirichlet(np.ones(20)), 5.0
    u[:4] = -1.0
    v = u + C * d0
    assert v.min() < 0
    scale = float(np.abs(v).max())
    projection = get_formulation("entropy_projection").bind((v / scale)[:, np.newaxis], rho=0.0, d0=d0)
    b = 2 * float(projection.solve("cvxpy:clarabel", tol=1e-12).w[0]) / scale

    def functional(b: float) -> float:
        return float(d0 @ np.exp(-0.5 * b * v))

    minimum: Any = scipy.optimize.minimize_scalar(functional, bounds=(b - 3, b + 3), method="bounded")
    assert b == pytest.approx(minimum.x, abs=1e-4)
    assert float((d0 * v) @ np.exp(-0.5 * b * v)) == pytest.approx(0.0, abs=1e-5)
    # The next distribution is the projection.
    assert b > 0
    following = update(u, d0=d0, b=b, penalty=(C / 2) * b * d0).certify().d
    assert float(v @ following) == pytest.approx(0.0, abs=1e-5)


def test_without_a_light_example_that_is_wrong_the_line_search_has_no_end() -> None:
    """C w >= 1 wherever the hypothesis is wrong: the functional falls for ever."""
    u, d0, C = np.array([1.0, 1.0, -1.0, -1.0]), np.array([0.2, 0.2, 0.3, 0.3]), 4.0
    v = u + C * d0
    projection = get_formulation("entropy_projection").bind((v / np.abs(v).max())[:, np.newaxis], rho=0.0, d0=d0)
    assert projection.solve("cvxpy:clarabel").outcome is Outcome.INFEASIBLE


def test_without_a_penalty_it_is_adaboosts_update_at_a_given_step() -> None:
    u, alpha = REFERENCE_U[:, 0], 0.2374138452
    answer = update(u, d0=REFERENCE_D0, b=2 * alpha, penalty=np.zeros(6)).certify().d
    theirs = get_formulation("adaboost").bind(u[:, np.newaxis], d0=REFERENCE_D0).certify(w=[alpha]).d
    np.testing.assert_allclose(answer, theirs, rtol=1e-9)
    assert u @ answer == pytest.approx(0.0, abs=1e-9)


def test_k_copies_of_an_example_are_multiplicity_k() -> None:
    c, penalty = np.array([1, 3, 1, 2, 1, 1]), np.array([0.1, 0.5, 0.0, 0.3, 0.2, 0.9])
    merged = update(REFERENCE_U[:, 0], c=c, b=0.7, penalty=penalty).certify()
    copies = update(np.repeat(REFERENCE_U[:, 0], c), b=0.7, penalty=np.repeat(penalty, c)).certify()
    assert merged.overlaps(copies)
    np.testing.assert_allclose(np.repeat(merged.d / c, c), copies.d, rtol=1e-12)


def test_the_penalty_is_one_number_for_each_example() -> None:
    with pytest.raises(ProblemError, match=r"^penalty\b.*\(6,\).*\(5,\)"):
        update(REFERENCE_U[:, 0], b=1.0, penalty=np.zeros(5))
    with pytest.raises(ProblemError, match=r"^b\b.*1e-100.*\b0\b"):
        update(REFERENCE_U[:, 0], b=0.0, penalty=np.zeros(6))
    with pytest.raises(ProblemError, match="penalty="):
        update(REFERENCE_U[:, 0], b=1.0)
