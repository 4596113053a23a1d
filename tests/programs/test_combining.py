"""A loss with a penalty: every pair against both of its sides, a program written by hand, and copies."""

from __future__ import annotations

import itertools
import pickle
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import typechecker
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from support.cvxpy_losses import BY_HAND, NUMBERS, assert_agreed, optimum, penalized

import boostopt
from boostopt import Formulation, OptionError, Program, combine, get_formulation
from boostopt.programs.loss_penalty_catalogue import LOSSES, PENALTIES
from boostopt.typesetting import latex_display, parse_page

pytestmark = [
    pytest.mark.every(3),
    pytest.mark.filterwarnings("ignore:Solution may be inaccurate:UserWarning"),
]

PAIRS = [
    f"{loss}+{'signed_' if signed else ''}{penalty}"
    for loss, penalty, signed in itertools.product(LOSSES, PENALTIES, (False, True))
    if not (signed and penalty == "simplex")
]
SOME: list[Any] = [
    name if k % 5 == 0 else pytest.param(name, marks=pytest.mark.thorough) for k, name in enumerate(PAIRS)
]
"""All pairs, a fifth of them in the fast suite."""


def numbers_of(page: Formulation[Any]) -> dict[str, float]:
    """The values of the parameters of a page."""
    return {name: NUMBERS[name] for name in page.parameters}


def random_program(name: str, seed: int) -> Program:
    """A program of a pair, of random margins and multiplicities."""
    rng = np.random.default_rng(seed)
    N, t = int(rng.integers(15, 40)), int(rng.integers(2, 7))
    U = np.clip(rng.normal(rng.uniform(0.0, 0.6), 0.6, (N, t)), -1, 1)
    page = get_formulation(name)
    return page.bind(U, c=rng.integers(1, 4, N), **numbers_of(page))


def value_by_hand(program: Program) -> float:
    """Minus the smallest loss and penalty, of the program written by hand."""
    loss, penalty = program.formulation.name.split("+")
    w = cp.Variable(program.margins.t)
    value, conditions = penalized(w, penalty.removeprefix("signed_"), penalty.startswith("signed_"))
    m = program.margins.to_array() @ w
    problem = cp.Problem(cp.Minimize(BY_HAND[loss](m, program.examples.c) + value), conditions)
    return -optimum(problem)


def assert_right(program: Program) -> None:
    """Both sides agree within the certified interval, and so does the program written by hand."""
    assert_agreed(program, value_by_hand(program))


@pytest.mark.every(10)
@pytest.mark.parametrize("name", PAIRS)
def test_both_sides_and_a_program_by_hand_agree(name: str) -> None:
    assert_right(random_program(name, 0))


@pytest.mark.thorough
@pytest.mark.untyped
@pytest.mark.parametrize("name", PAIRS)
def test_both_sides_and_a_program_by_hand_agree_on_many(name: str) -> None:
    for seed in range(1, 20):
        assert_right(random_program(name, seed))


@pytest.mark.parametrize("name", SOME)
def test_no_noise_breaks_a_bound(name: str) -> None:
    program = random_program(name, 1)
    best = program.solve("auto", tol=1e-9).certificate
    rng = np.random.default_rng(2)
    for size in (1e-9, 1e-3, 1.0, 1e3):
        d = best.d + size * rng.normal(size=len(best.d))
        w = best.w + size * rng.normal(size=len(best.w))
        for noisy in (program.certify(d, w), program.certify(None, w), program.certify(d, None)):
            assert noisy.lower <= best.upper and noisy.upper >= best.lower


@pytest.mark.parametrize("name", SOME)
def test_k_copies_are_multiplicity_k(name: str) -> None:
    program = random_program(name, 3)
    counts = program.examples.c.astype(int)
    U = np.repeat(program.margins.to_array(), counts, axis=0)
    page: Any = program.formulation
    copies = page.bind(U, **numbers_of(page))
    weighted, copied = program.solve("auto", tol=1e-9).certificate, copies.solve("auto", tol=1e-9).certificate
    scale = max(1.0, abs(weighted.lower))
    assert max(weighted.lower, copied.lower) <= min(weighted.upper, copied.upper)
    assert weighted.lower == pytest.approx(copied.lower, abs=1e-7 * scale)


@pytest.mark.parametrize("name", SOME)
def test_interior_takes_what_is_polyhedral_or_quadratic(name: str) -> None:
    program = random_program(name, 4)
    able = boostopt.get_backend("interior").takes(program)
    assert bool(able) == (not name.endswith("l2_ball"))
    if able:
        interior, clarabel = (program.solve(b, tol=1e-8).certificate for b in ("interior", "cvxpy:clarabel"))
        assert interior.scaled_gap <= 1e-7
        assert max(interior.lower, clarabel.lower) <= min(interior.upper, clarabel.upper)


@pytest.mark.parametrize("name", SOME)
def test_files_hold_what_is_proved(name: str, tmp_path: Path) -> None:
    program = random_program(name, 5)
    program.solve("auto").certificate.save(tmp_path / "one.json", program)
    verified = boostopt.verify(tmp_path / "one.json", program, exact=True)
    assert verified, str(verified)


@pytest.mark.parametrize("name", PAIRS)
def test_pages_are_typeset_from_both_parts(name: str) -> None:
    page = get_formulation(name)
    text = parse_page(page.text)
    assert text.title.startswith(page.title.split(",")[0])
    assert text.primal.sense == "min" and text.dual.sense == "max"
    named = {name: parameter.meaning for name, parameter in page.parameters.items()}
    typeset = latex_display(page.text, named)
    assert typeset is not None and "\\max" in typeset
    assert all(any(name in line for line in (*text.expressions,)) for name in page.parameters if name != "alpha")


@pytest.mark.parametrize("name", SOME)
def test_the_conditions_of_the_page_hold_at_an_optimum(name: str) -> None:
    certificate = random_program(name, 6).solve("cvxpy:clarabel", tol=1e-10).certificate
    assert certificate.example_gaps.max() <= 1e-6 and certificate.hypothesis_gaps.max() <= 1e-6


def test_a_pair_is_known_by_its_name_and_pickled() -> None:
    page = combine("hinge", "elastic_net", signed=True)
    assert page.name == "hinge+signed_elastic_net"
    assert get_formulation("Hinge + signed elastic-net").name == page.name
    again = pickle.loads(pickle.dumps(page))
    assert again == page == combine("hinge", "elastic_net", True) and page != combine("hinge", "elastic_net")
    assert again.name == page.name and again.parameters.keys() == page.parameters.keys() == {"C", "l1", "l2"}
    U = np.eye(3)
    assert again.bind(U, l1=0.1, l2=1.0).solve().certificate.gap < 1e-6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("hinged", "l1"), "'hinged'.*'hinge'"),
        (("hinge", "l3"), "penalty 'l3'"),
        (("hinge", 3), r"\bpenalty\b.* 3\..*\bsimplex\b"),
        ((None, "l1"), r"\bloss\b.*\bNone\b.*\bhinge\b"),
        (("hinge", "simplex", True), r"\bsimplex\b.*\bsigned=True\b.*\bl1_ball\b"),
        (("hinge", "l1", "yes"), r"^signed\b.*'yes'"),
    ],
    ids=("loss", "penalty", "number", "none", "signed simplex", "signed"),
)
def test_invalid_pairs_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    with typechecker.unchecked(), pytest.raises(OptionError, match=message):
        combine(*arguments)


@pytest.mark.parametrize("name", ("hinge+", "+l1", "hinge+l1+l1", "hinge+signed_simplex", "lpboost+l1"))
def test_names_of_no_pair_are_refused(name: str) -> None:
    with pytest.raises(OptionError):
        get_formulation(name)


def test_the_share_of_a_cvar_may_be_less_than_an_example() -> None:
    """The mean of the worst part of one example is that of the example."""
    page = combine("cvar", "simplex")
    for alpha in (0.001, 0.2, 1 / 4):
        program = page.bind(np.eye(4), alpha=alpha)
        assert program.solve().certificate.lower == pytest.approx(0.25, abs=1e-7)
    for alpha in (0.0, 1.5):
        with pytest.raises(boostopt.ProblemError, match=rf"^alpha\b.*\(0, 1\].* {alpha:g}\."):
            page.bind(np.eye(4), alpha=alpha)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ("squared_hinge+l1", "exponential+signed_l2_squared", "smoothed_hinge+linf_ball"))
def test_pairs_pass_every_check(name: str) -> None:
    boostopt.check_formulation(name).raise_if_failed()


def features(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (60, 4))
    return X, np.where(X @ [1.0, -0.5, 0.3, 0.0] + rng.normal(0, 0.5, 60) > 0, 1, -1)


@pytest.mark.parametrize("C", (0.1, 10.0))
def test_logistic_regression_of_scikit_learn_lies_in_the_interval(C: float) -> None:
    X, y = features(0)
    for kind, penalty, numbers in (("l2", "l2_squared", {"l2": 1.0}), ("l1", "l1", {"l1": 1.0})):
        model = LogisticRegression(
            l1_ratio=1.0 if kind == "l1" else 0.0, C=C, fit_intercept=False, solver="saga", tol=1e-10, max_iter=100_000
        ).fit(X, y)
        w = model.coef_[0]
        price = np.abs(w).sum() if kind == "l1" else 0.5 * w @ w
        value = -(C * np.logaddexp(0.0, -y * (X @ w)).sum() + price)
        certificate = combine("logistic", penalty, signed=True).bind(y[:, None] * X, C=C, **numbers).solve().certificate
        assert certificate.gap <= 1e-6
        assert certificate.lower - 1e-7 <= value + 1e-6 and value <= certificate.upper + 1e-9


@pytest.mark.parametrize("loss", ("hinge", "squared_hinge"))
def test_linear_support_vector_machines_of_liblinear_lie_in_the_interval(loss: str) -> None:
    X, y = features(1)
    options: dict[str, Any] = {"dual": True, "tol": 1e-10, "max_iter": 1_000_000}
    model = LinearSVC(loss=loss, C=0.7, fit_intercept=False, **options).fit(X, y)
    w = model.coef_[0]
    slack = np.maximum(0.0, 1.0 - y * (X @ w))
    value = -(0.7 * (slack if loss == "hinge" else slack**2).sum() + 0.5 * w @ w)
    page = combine(loss, "l2_squared", signed=True)
    certificate = page.bind(y[:, None] * X, C=0.7, l2=1.0).solve(tol=1e-9).certificate
    assert certificate.lower - 1e-6 <= value <= certificate.upper + 1e-9
