"""CG-Boost, MDBoost, NM-Boost, QRLP-Boost, AdaBoost-CG and LogitBoost-CG: their pages against the package and SciPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from sklearn.tree import DecisionTreeClassifier
from support.problems import noisy_stumps
from support.speeds import many

from boostopt import ProblemError, Program, boost, get_formulation, verify
from boostopt.oracles import DecisionStumps, Estimators, GivenMargins, Query

pytestmark = [
    pytest.mark.every(2),
    pytest.mark.filterwarnings("ignore:Solution may be inaccurate:UserWarning"),
]

NUMBERS = {"C": 0.7, "D": 3.0, "nu": 4.0, "theta": 0.1, "eta": 5.0}
PAGES = ("cg_boost", "md_boost", "nm_boost", "qrlp_boost", "adaboost_cg", "logitboost_cg")
COMBINED = ("md_boost", "nm_boost", "qrlp_boost", "adaboost_cg")
"""Those whose weights sum to 1."""


def random_program(name: str, seed: int, N: int = 25, t: int = 4) -> Program:
    rng = np.random.default_rng(seed)
    page = get_formulation(name)
    U = rng.choice([-1.0, 1.0], (N, t)) if seed % 2 else np.clip(rng.normal(0.2, 0.6, (N, t)), -1, 1)
    return page.bind(U, c=rng.integers(1, 4, N), **{key: NUMBERS[key] for key in NUMBERS if key in page.parameters})


def variance(m: np.ndarray, c: np.ndarray) -> float:
    """That of the copies, by NumPy."""
    return float(np.cov(m, fweights=c.astype(int)))


def smallest_mean(m: np.ndarray, c: np.ndarray, nu: float) -> float:
    order = np.argsort(m)
    shares = np.minimum(np.cumsum(c[order]), nu)
    return float(np.diff(shares, prepend=0.0) @ m[order]) / nu


VALUES: Mapping[str, Callable[[np.ndarray, np.ndarray, np.ndarray], float]] = {
    "cg_boost": lambda w, m, c: -0.5 * float(w @ w) - 0.7 * float(c @ np.maximum(1 - m, 0)),
    "md_boost": lambda w, m, c: float(c @ m / c.sum()) - 1.5 * variance(m, c),
    "nm_boost": lambda w, m, c: float(c @ (0.7 * m + np.minimum(0, m - 0.1))),
    "adaboost_cg": lambda w, m, c: -float(np.log(c @ np.exp(-3 * m) / c.sum())) / 3,
    "logitboost_cg": lambda w, m, c: -float(c @ np.logaddexp(0, -m)),
}
"""The maximized value, from its definition in the papers; QRLP-Boost states its dual by multipliers."""


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(2, 20))])
def test_literal_and_derived_problems_have_the_certified_value(name: str, seed: int) -> None:
    program = random_program(name, seed)
    certificate = program.solve(tol=1e-9).certificate
    assert certificate.scaled_gap <= 1e-8
    for side in ("primal", "dual"):
        for form in ("derived", "literal"):
            problem = program.cvxpy(side, form)
            problem.solve("CLARABEL", tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
            assert problem.solution.opt_val == pytest.approx(certificate.lower, rel=1e-7, abs=1e-7), (side, form)


@pytest.mark.thorough_cases("0-cg_boost", "0-nm_boost")
@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_is_that_of_the_definition(name: str, seed: int) -> None:
    program = random_program(name, seed)
    U, c, t = program.margins.to_array(), program.examples.c, program.margins.t
    best = -np.inf
    for start in (np.full(t, 1 / t), *np.eye(t)):
        radius = {"adaboost_cg": 1.0, "md_boost": 1.0, "nm_boost": 1.0, "logitboost_cg": 3.0}.get(name)
        constraints: Any = (
            []
            if radius is None
            else {"type": "ineq" if name == "logitboost_cg" else "eq", "fun": lambda w, r=radius: r - w.sum()}
        )
        minimum: Any = scipy.optimize.minimize(
            lambda w: -VALUES[name](w, U @ w, c),
            start,
            bounds=[(0, None)] * t,
            constraints=constraints,
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 1000},
        )
        best = max(best, -float(minimum.fun))
    certificate = program.solve(tol=1e-9).certificate
    assert best <= certificate.upper + 1e-7
    assert certificate.lower == pytest.approx(best, rel=1e-4, abs=1e-4)  # SLSQP's own accuracy at kinks
    w = program.solve(tol=1e-9).w
    assert VALUES[name](w, U @ w, c) == pytest.approx(certificate.lower, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_qrlp_boost_is_the_margin_less_a_square(seed: int) -> None:
    program = random_program("qrlp_boost", seed)
    c, eta = program.examples.c, program.parameters.eta
    solution = program.solve(tol=1e-10)
    a, d, e = c / c.sum(), solution.d, program.margins.edges(solution.d)
    assert float(e.max()) + float(((d - a) ** 2 / a).sum()) / (2 * eta) == pytest.approx(solution.certificate.upper)
    # With a price that vanishes it is LPBoost's soft margin.
    certificate = get_formulation("qrlp_boost").bind(program.margins, c=c, nu=4.0, eta=1e6).solve(tol=1e-9).certificate
    assert certificate.lower == pytest.approx(smallest_mean(program.margins.margins(certificate.w), c, 4.0), abs=1e-4)


def test_relations_between_the_pages() -> None:
    for seed in range(many(4, 1)):
        cg = random_program("cg_boost", seed)
        U, c = cg.margins, cg.examples.c
        qp = get_formulation("qp_reg_adaboost").bind(U, c=c, C=2 * 0.7)
        assert qp.solve(tol=1e-9).certificate.lower / 2 == pytest.approx(cg.solve(tol=1e-9).certificate.lower, rel=1e-7)
        pair = get_formulation("hinge+l2_squared").bind(U, c=c, C=0.7, l2=1.0)
        assert pair.solve(tol=1e-9).certificate.overlaps(cg.solve(tol=1e-9).certificate)
        ada = random_program("adaboost_cg", seed)
        erlp = get_formulation("erlpboost").bind(ada.margins, c=ada.examples.c, nu=1.0, eta=3.0)
        assert erlp.solve(tol=1e-9).certificate.overlaps(ada.solve(tol=1e-9).certificate)
        logit = random_program("logitboost_cg", seed)
        pair = get_formulation("logistic+l1_ball").bind(logit.margins, c=logit.examples.c, C=1.0, r=3.0)
        assert pair.solve(tol=1e-9).certificate.overlaps(logit.solve(tol=1e-9).certificate)


@pytest.mark.parametrize("name", PAGES)
def test_k_copies_are_a_multiplicity_of_k(name: str) -> None:
    program = random_program(name, 3)
    page, c = get_formulation(name), program.examples.c.astype(int)
    numbers = {key: NUMBERS[key] for key in NUMBERS if key in page.parameters}
    copies = page.bind(np.repeat(program.margins.to_array(), c, axis=0), **numbers)
    merged_certificate, copied_certificate = program.solve(tol=1e-10).certificate, copies.solve(tol=1e-10).certificate
    assert merged_certificate.lower == pytest.approx(copied_certificate.lower, rel=1e-8, abs=1e-8)
    assert merged_certificate.upper == pytest.approx(copied_certificate.upper, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("name", PAGES)
def test_no_noise_breaks_a_bound(name: str) -> None:
    program = random_program(name, 1)
    best = program.solve(tol=1e-10)
    rng = np.random.default_rng(0)
    for size in (1e-9, 1e-4, 1.0, 1e6):
        for _ in range(10):
            d = best.d + size * rng.normal(size=program.margins.N)
            w = best.w + size * rng.normal(size=program.margins.t)
            certificate = program.certify(d, w)
            assert certificate.lower <= best.certificate.upper
            assert certificate.upper >= best.certificate.lower


def test_weights_of_the_variance_are_those_of_the_page() -> None:
    program = random_program("md_boost", 2)
    c, D = program.examples.c, program.parameters.D
    solution = program.solve(tol=1e-10)
    m, total = program.margins.margins(solution.w), c.sum()
    d = c / total * (1 - D * total / (total - 1) * (m - c @ m / total))
    np.testing.assert_allclose(program.regularizer.conjugate_at(-m).d, d, rtol=1e-12, atol=1e-14)
    assert (d < 0).any()
    assert d.sum() == pytest.approx(1.0)


def test_a_variance_needs_two_examples() -> None:
    with pytest.raises(ProblemError, match=r"\bmultiplicities\b.*\b1\b.*\b1\b"):
        get_formulation("md_boost").bind([[1.0]], D=1.0)


@pytest.mark.thorough_cases("cg_boost")
@pytest.mark.parametrize("name", PAGES)
def test_boosted_over_stumps_the_optimum_is_that_over_all_of_them(name: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=40) > 0, 1, -1)
    thresholds = [(j, t) for j in range(3) for t in np.sort(X[:, j])]
    columns = [s * np.where(X[:, j] > t, y, -y) for j, t in thresholds for s in (1, -1)]
    page = get_formulation(name)
    numbers = {key: NUMBERS[key] for key in NUMBERS if key in page.parameters and key != "eta"}
    whole = page.bind(np.unique(np.column_stack(columns).astype(np.int8), axis=1), **numbers)
    best = whole.solve(tol=1e-9).certificate
    options: Any = numbers
    run = boost(name, DecisionStumps(X, y), epsilon=1e-3, **options)
    assert run.certificate.lower >= best.lower - 0.05 * max(1.0, abs(best.lower))
    assert run.certificate.lower <= best.upper
    # QRLP-Boost is after the soft margin of LPBoost.
    reference = get_formulation("lpboost").bind(whole.margins, nu=4.0).solve().certificate
    aim = reference if name == "qrlp_boost" else best
    if run.problem.has_class_bound:
        assert run.class_certificate.quantity == ("soft margin" if name == "qrlp_boost" else "value of the program")
        assert run.class_certificate.lower <= aim.upper
        assert run.class_certificate.upper >= aim.lower
        assert run.class_certificate.gap <= 2e-3


def test_oracles_take_weights_of_either_sign() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 3))
    y = np.where(rng.random(50) > 0.5, 1, -1)
    d = rng.normal(size=50)
    stumps = [np.where(X[:, j] > t, y, -y) for j in range(3) for t in np.sort(X[:, j])] + [y]
    largest = max(abs(float(u @ d)) for u in stumps)
    for oracle in (DecisionStumps(X, y), GivenMargins(np.column_stack(stumps), reflexive=True)):
        answer = oracle.best(Query(d))
        assert answer.columns[0].edge == pytest.approx(largest)
        assert answer.edge_bound is not None and largest <= answer.edge_bound <= largest + 1e-12
    fitted = Estimators(DecisionTreeClassifier(max_depth=1, criterion="entropy"), X, y).best(Query(d)).columns[0]
    # A weight -d of the label y is a weight d of -y.
    flipped_estimators = Estimators(DecisionTreeClassifier(max_depth=1, criterion="entropy"), X, np.where(d < 0, -y, y))
    flipped_column = flipped_estimators.best(Query(np.abs(d))).columns[0]
    assert fitted.edge == pytest.approx(flipped_column.edge)


@pytest.mark.parametrize("name", PAGES)
def test_files_are_believed_and_narrower_intervals_are_not(name: str, tmp_path: Path) -> None:
    program = random_program(name, 1)
    path = tmp_path / "one.json"
    certificate = program.solve(tol=1e-9).certificate
    certificate.save(path, program)
    assert verify(path, program)
    assert verify(path, program, exact=True)
    text = path.read_text()
    path.write_text(text.replace(f'"upper": {certificate.upper!r}', f'"upper": {certificate.upper - 1e-6!r}', 1))
    assert path.read_text() == text or not verify(path, program)


def test_at_extremes_nothing_overflows() -> None:
    U = noisy_stumps(2000, 5)
    for name, numbers in (
        ("md_boost", {"D": 1e6}),
        ("adaboost_cg", {"D": 1e6}),
        ("logitboost_cg", {"D": 1e6}),
        ("nm_boost", {"C": 1e6}),
        ("cg_boost", {"C": 1e6}),
        ("qrlp_boost", {"nu": 200.0, "eta": 1e6}),
    ):
        certificate = get_formulation(name).bind(U, **numbers).solve(tol=1e-6).certificate
        assert np.isfinite([certificate.lower, certificate.upper]).all(), name
        assert certificate.scaled_gap <= 1e-5, name


@pytest.mark.parametrize("excess", [1e-2, 1e-6, 1e-10, 1e-14])
def test_a_variance_over_hardly_more_than_one_copy(excess: float) -> None:
    c = np.array([0.5, 0.3, 0.2 + excess])
    program = get_formulation("md_boost").bind(np.array([[1.0], [-1.0], [0.0]]), c=c, D=1.0)
    exact = [Fraction(float(x)) for x in c]
    total = sum(exact)
    mean = (exact[0] - exact[1]) / total
    squares = exact[0] * (1 - mean) ** 2 + exact[1] * (1 + mean) ** 2 + exact[2] * mean**2
    optimum = mean - squares / (2 * (total - 1))
    certificate = program.certify(program.certify(None, [1.0]).d, [1.0])
    assert Fraction(certificate.lower) <= optimum <= Fraction(certificate.upper)


def test_copies_that_are_one_but_for_rounding_have_no_variance() -> None:
    with pytest.raises(ProblemError, match=r"\bmultiplicities\b.*\b1\b.*\b1\b"):
        get_formulation("md_boost").bind(np.eye(10)[:, :2], c=np.full(10, 0.1) * (1 - 1e-16), D=1.0)
