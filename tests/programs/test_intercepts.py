"""Losses with penalties and an intercept: against a program by hand, noise, copies, every backend that takes them."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from support.cvxpy_losses import BY_HAND, NUMBERS, assert_agreed, optimum, penalized
from support.speeds import many

import boostopt
from boostopt import OptionError, ProblemError, Program, combine, get_formulation
from boostopt.programs.loss_penalty_catalogue import LOSSES, PENALTIES

pytestmark = [
    pytest.mark.every(2),
    pytest.mark.filterwarnings("ignore:Solution may be inaccurate:UserWarning"),
]

OF_MARGINS = tuple(loss for loss in LOSSES if loss not in ("soft_margin", "cvar"))
"""The losses whose weights have no sum; a soft margin grows without end by an intercept of one class."""

PAIRS = [
    f"{loss}+{'signed_' if signed else ''}{penalty}+intercept"
    for loss, penalty, signed in itertools.product(OF_MARGINS, PENALTIES, (False, True))
    if penalty != "simplex"
]
SOME: list[Any] = [
    name if k % 6 == 0 else pytest.param(name, marks=pytest.mark.thorough) for k, name in enumerate(PAIRS)
]


def random_program(name: str, seed: int) -> Program:
    """A program of random features, labels of both classes in the first column."""
    rng = np.random.default_rng(seed)
    N, t = int(rng.integers(15, 40)), int(rng.integers(2, 7))
    y = np.where(rng.random(N) > rng.uniform(0.3, 0.7), 1.0, -1.0)
    y[:2] = 1.0, -1.0
    U = np.column_stack([y, np.clip(rng.normal(0.2, 0.6, (N, t - 1)), -1, 1)])
    page = get_formulation(name)
    return page.bind(U, c=rng.integers(1, 4, N), **{key: NUMBERS[key] for key in page.parameters})


def value_by_hand(program: Program) -> float:
    loss, penalty, _ = program.formulation.name.split("+")
    w, b, U = cp.Variable(program.margins.t - 1), cp.Variable(), program.margins.to_array()
    value, conditions = penalized(w, penalty.removeprefix("signed_"), penalty.startswith("signed_"))
    m = U[:, 0] * b + U[:, 1:] @ w
    return -optimum(cp.Problem(cp.Minimize(BY_HAND[loss](m, program.examples.c) + value), conditions))


@pytest.mark.every(2, 1)
@pytest.mark.parametrize("name", SOME)
def test_both_sides_and_a_program_by_hand_agree(name: str) -> None:
    assert_right(random_program(name, 0))


@pytest.mark.thorough
@pytest.mark.untyped
@pytest.mark.parametrize("name", PAIRS)
def test_both_sides_and_a_program_by_hand_agree_on_many(name: str) -> None:
    for seed in range(1, 20):
        assert_right(random_program(name, seed))


def assert_right(program: Program) -> None:
    certificate = assert_agreed(program, value_by_hand(program))
    # The one equation, and its multiplier.
    assert abs(float(program.margins.edges(certificate.d)[0])) <= 1e-12 * float(np.abs(certificate.d).sum())


@pytest.mark.every(2)
@pytest.mark.parametrize("name", SOME)
def test_no_noise_breaks_a_bound(name: str) -> None:
    program = random_program(name, 1)
    best = program.solve(tol=1e-9).certificate
    rng = np.random.default_rng(2)
    for size in (1e-9, 1e-3, 1.0, 1e3)[:: many(1, 2)]:
        d = best.d + size * rng.normal(size=len(best.d))
        w = best.w + size * rng.normal(size=len(best.w))
        for noisy in (program.certify(d, w), program.certify(None, w), program.certify(d, None)):
            assert noisy.lower <= best.upper and noisy.upper >= best.lower


@pytest.mark.every(2)
@pytest.mark.parametrize("name", SOME)
def test_k_copies_are_multiplicity_k(name: str) -> None:
    program = random_program(name, 3)
    page: Any = program.formulation
    U = np.repeat(program.margins.to_array(), program.examples.c.astype(int), axis=0)
    copies = page.bind(U, **{key: NUMBERS[key] for key in page.parameters})
    weighted, copied = program.solve(tol=1e-9).certificate, copies.solve(tol=1e-9).certificate
    assert weighted.lower == pytest.approx(copied.lower, abs=1e-7 * max(1.0, abs(weighted.lower)))


@pytest.mark.every(4)
@pytest.mark.thorough_cases(
    "squared_hinge+l1_ball+intercept",
    "hinge+l1_ball+intercept",
    "logistic+l1_ball+intercept",
    "exponential+l1_ball+intercept",
)
@pytest.mark.parametrize("name", SOME)
def test_backends_that_take_it_overlap(name: str) -> None:
    program = random_program(name, 4)
    able = boostopt.get_backend("interior").takes(program)
    assert bool(able) == ("l2_ball" not in name)
    rows = boostopt.compare(program, tol=1e-6).rows
    ends = [(row.lower, row.upper) for row in rows if np.isfinite(row.lower) or np.isfinite(row.upper)]
    assert len(ends) >= 2
    assert max(low for low, _ in ends) <= min(high for _, high in ends)


@pytest.mark.parametrize("seed", range(3))
def test_labels_of_one_class_have_an_optimum_or_none_is_attained(seed: int) -> None:
    """With y = 1 throughout the intercept alone makes every margin large: the loss is as small as one likes."""
    U = np.column_stack([np.ones(6), np.random.default_rng(seed).uniform(-1, 1, (6, 2))])
    certificate = (
        combine("logistic", "l2_squared", signed=True, intercept=True).bind(U, C=1.0, l2=1.0).solve().certificate
    )
    assert certificate.lower <= 0.0 <= certificate.upper + 1e-12
    assert certificate.lower >= -1e-2


def test_the_intercept_alone_is_the_log_odds() -> None:
    y = np.array([1.0, 1.0, -1.0, 1.0, -1.0])
    solution = combine("logistic", "l2_squared", intercept=True).bind(y[:, None], C=1.0, l2=1.0).solve(tol=1e-9)
    assert solution.w == pytest.approx([np.log(1.5)], abs=1e-6)
    assert solution.certificate.lower == pytest.approx(5 * (0.6 * np.log(0.6) + 0.4 * np.log(0.4)))


def test_a_pair_is_known_by_its_name_and_pickled() -> None:
    page = combine("hinge", "elastic_net", signed=True, intercept=True)
    assert page.name == "hinge+signed_elastic_net+intercept"
    assert get_formulation(page.name) == page == pickle.loads(pickle.dumps(page))
    assert page != combine("hinge", "elastic_net", signed=True)
    assert "an intercept" in page.title
    assert "e_1 = 0 : w_1" in page.text


def test_penalties_without_an_intercept_are_refused() -> None:
    with pytest.raises(OptionError, match=r"\bintercept\b.*\bsimplex\b.*\bl1_ball\b"):
        combine("hinge", "simplex", intercept=True)
    with pytest.raises(OptionError):
        get_formulation("hinge+intercept")


def test_files_cannot_state_an_intercept(tmp_path: Any) -> None:
    program = random_program("logistic+l1+intercept", 0)
    with pytest.raises(ProblemError, match=r"\bInterceptEdges\b.*\bedge_formula\b"):
        program.solve().certificate.save(tmp_path / "one.json", program)
