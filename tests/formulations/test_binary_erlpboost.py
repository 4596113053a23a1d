"""Binary ERLPBoost: the page against the package, the papers' identities, and numbers known in advance."""

from __future__ import annotations

import math

import numpy as np
import pytest
from agreement import TIGHT, assert_problems_agree, bind, random_program, within_caps
from scipy.special import expit, logit
from support.problems import REFERENCE_D0, REFERENCE_ETA, REFERENCE_NU, REFERENCE_U, REFERENCE_W, reference_lpboost

from boostopt import ProblemError, Program, get_formulation


def binary(U: object, **parameters: object) -> Program:
    return bind("binary_erlpboost", U, **parameters)


def reference(eta: float = REFERENCE_ETA) -> Program:
    return binary(REFERENCE_U, nu=REFERENCE_NU, eta=eta, d0=REFERENCE_D0)


def test_structure_by_hand() -> None:
    """N = 3, t = 2, nu = 2, eta = 3, c = (1, 2, 1), d0 = (1/5, 3/5, 1/5), so that nu d0 / c = (2/5, 3/5, 2/5).

    Primal  min gamma + (1/3) sum d ln(d / d0) + (u - d) ln((u - d) / (u - d0)), u = (1/2, 1, 1/2)
            s.t.  d1 - d2/2 + d3 <= gamma,  -d1 + d2 <= gamma,  d1 + d2 + d3 = 1
    Dual    max -(1/6) [ ln(3/5 + 2/5 exp(-3 (w1 - w2 + beta))) + 2 ln(2/5 + 3/5 exp(-3 (-w1/2 + w2 + beta)))
                + ln(3/5 + 2/5 exp(-3 (w1 + beta))) ] - beta      s.t.  w1 + w2 = 1,  w >= 0
    """
    U = np.array([[1.0, -1.0], [-0.5, 1.0], [1.0, 0.0]])
    program = binary(U, nu=2, eta=3, c=[1, 2, 1], d0=[0.2, 0.6, 0.2])
    primal, dual = program.cvxpy("primal", "literal"), program.cvxpy("dual", "literal")
    assert [c.label for c in primal.constraints] == ["w", "beta"]
    assert [c.label for c in dual.constraints] == ["gamma", "w >= 0"]

    d, gamma, d0, u = np.array([0.25, 0.5, 0.25]), 0.4, np.array([0.2, 0.6, 0.2]), np.array([0.5, 1.0, 0.5])
    primal.var_dict["d"].value, primal.var_dict["gamma"].value = d, gamma
    entropy = sum(d * np.log(d / d0)) + sum((u - d) * np.log((u - d) / (u - d0)))
    assert primal.objective.value == pytest.approx(gamma + entropy / 3)

    dual.var_dict["w"].value, dual.var_dict["beta"].value = [0.25, 0.75], 0.2
    terms = (
        math.log(0.6 + 0.4 * math.exp(-3 * (0.25 - 0.75 + 0.2)))
        + 2 * math.log(0.4 + 0.6 * math.exp(-3 * (-0.125 + 0.75 + 0.2)))
        + math.log(0.6 + 0.4 * math.exp(-3 * (0.25 + 0.2)))
    )
    assert dual.objective.value == pytest.approx(-terms / 6 - 0.2)


@pytest.mark.parametrize("two_sided", (False, True))
@pytest.mark.parametrize("seed", range(15))
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
def test_literal_derived_and_certified_values_agree(seed: int, two_sided: bool) -> None:
    """References at 0, at their caps and between are among them, and nu = sum c."""
    one = random_program(seed)
    program = binary(one.U, nu=one.nu, eta=one.eta, c=one.c, d0=within_caps(one), two_sided=two_sided)
    assert_problems_agree(program, tol=3e-9)


@pytest.mark.parametrize("seed", range(5))
def test_scs_reaches_the_same_interval(seed: int) -> None:
    one = random_program(seed)
    program = binary(one.U, nu=one.nu, eta=one.eta, c=one.c, d0=within_caps(one))
    exact, rough = (program.solve(backend, tol=1e-6).certificate for backend in ("cvxpy:clarabel", "cvxpy:scs"))
    assert max(exact.scaled_gap, rough.scaled_gap) <= 1e-6
    assert exact.overlaps(rough)


def test_reference_numbers_at_a_given_w() -> None:
    program = reference()
    point = program.regularizer.conjugate_at(-program.margins.margins(REFERENCE_W))
    assert -point.value == pytest.approx(0.0671751405, abs=1e-10)
    assert point.multipliers["beta"] == pytest.approx(-0.1347606967, abs=1e-10)
    d = [0.0345232549, 0.1443302186, 0.2875625057, 0.1463335519, 0.3233225511, 0.0639279179]
    np.testing.assert_allclose(point.d, d, atol=1e-10)
    edges = program.margins.edges(point.d)
    np.testing.assert_allclose(edges, [-0.1802198857, 0.3937469698, -0.0810968850], atol=1e-10)
    assert program.regularizer.value(point.d) + edges.max() == pytest.approx(0.4491273392, abs=1e-10)


def test_reference_numbers_of_the_optimum() -> None:
    solution = reference().solve("cvxpy:clarabel", tol=1e-12)
    assert solution.certificate.lower == pytest.approx(0.1116447095, abs=1e-9)
    assert solution.certificate.upper == pytest.approx(0.1116447095, abs=1e-9)
    np.testing.assert_allclose(solution.w, [0.3790564816, 0.4584361493, 0.1625073691], atol=1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_kkt_system_of_the_page(seed: int) -> None:
    one = random_program(seed)
    program = binary(one.U, nu=one.nu, eta=one.eta, c=one.c, d0=within_caps(one))
    solution = program.solve("cvxpy:clarabel", tol=1e-9)
    m, beta = program.margins.margins(solution.w), float(solution.multipliers["beta"])
    d0, u = program.examples.d0, program.examples.c / one.nu
    d = program.regularizer.conjugate_at(-m).d  # d(w)
    free = (d0 > 0) & (d0 < u * (1 - 1e-12))
    np.testing.assert_allclose(d[free], (u * expit(logit(np.minimum(d0 / u, 1)) - one.eta * (m + beta)))[free])
    np.testing.assert_allclose(d[~free], d0[~free], atol=1e-14)
    assert not np.asarray(solution.multipliers["psi"]).any()
    if free.any():
        assert -m.max() - 1e-12 <= beta <= -m.min() + 1e-12
    edges = program.margins.edges(solution.d)
    np.testing.assert_allclose(solution.w * (edges.max() - edges), 0, atol=1e-8)


def test_the_multipliers_of_the_literal_primal_are_the_derived_ones() -> None:
    program = reference()
    solution, primal = program.solve("cvxpy:clarabel", tol=1e-12), program.cvxpy("primal", "literal")
    primal.solve("CLARABEL", **TIGHT)
    options = {c.label: c.dual_value for c in primal.constraints}
    np.testing.assert_allclose(options["w"], solution.w, atol=1e-5)
    assert options["beta"] == pytest.approx(float(solution.multipliers["beta"]), abs=1e-5)


def test_beta_is_the_root_of_the_sum() -> None:
    rng, program = np.random.default_rng(0), reference()
    logits = logit(REFERENCE_NU * REFERENCE_D0)
    for _ in range(20):
        m = REFERENCE_U @ rng.dirichlet(np.ones(3))
        beta = float(program.regularizer.conjugate_at(-m).multipliers["beta"])

        def total(beta: float, m: np.ndarray = m) -> float:
            return float(expit(logits - REFERENCE_ETA * (m + beta)).sum()) / REFERENCE_NU

        assert total(beta) == pytest.approx(1, abs=1e-12)
        assert total(beta - 1e-6) > 1 > total(beta + 1e-6)


def test_the_cap_is_not_reached_where_erlpboosts_is() -> None:
    binary_d, d = (
        bind(name, REFERENCE_U, nu=REFERENCE_NU, eta=30.0, d0=REFERENCE_D0)
        .regularizer.conjugate_at(-(REFERENCE_U @ REFERENCE_W))
        .d
        for name in ("binary_erlpboost", "erlpboost")
    )
    assert d.max() == pytest.approx(1 / REFERENCE_NU, abs=1e-15)
    assert 0 < binary_d.min() < binary_d.max() < 1 / REFERENCE_NU


def test_large_eta_recovers_lpboost_from_above() -> None:
    hard = reference_lpboost().solve("cvxpy:highs", tol=1e-12).certificate
    for eta in (1e2, 1e3, 1e4):
        program = reference(eta)
        certificate = program.solve(tol=1e-8).certificate
        assert hard.lower <= certificate.upper
        assert certificate.lower <= hard.upper + program.regularizer.value_bound
        assert certificate.scaled_gap <= 1e-8


@pytest.mark.parametrize("form", ("derived", "literal"))
def test_at_nu_equal_N_nothing_can_move(form: str) -> None:
    """D = the mean margin whatever beta is, and the best single hypothesis is optimal."""
    program = binary(REFERENCE_U, nu=6, epsilon=0.1)
    assert program.parameters.eta == 0.5
    solution = program.solve("cvxpy:clarabel", tol=1e-9)
    np.testing.assert_allclose(solution.d, 1 / 6, atol=1e-15)
    best = float(REFERENCE_U.mean(axis=0).max())
    assert solution.certificate.upper == pytest.approx(best, abs=1e-9)
    assert solution.certificate.scaled_gap <= 1e-9
    for side in ("primal", "dual"):
        assert program.cvxpy(side, form).solve("CLARABEL") == pytest.approx(best, abs=1e-7)
    assert program.certify(w=REFERENCE_W).lower == pytest.approx(float((REFERENCE_U @ REFERENCE_W).mean()), abs=1e-12)


def test_k_copies_of_an_example_are_multiplicity_k() -> None:
    c = np.array([1, 3, 1, 2, 1, 1])
    d0 = np.array([0.1, 0.3, 0.1, 0.25, 0.15, 0.1])
    merged = binary(REFERENCE_U, nu=3.7, eta=4, c=c, d0=d0)
    copies = binary(np.repeat(REFERENCE_U, c, axis=0), nu=3.7, eta=4, d0=np.repeat(d0 / c, c))
    one, solution = merged.solve("cvxpy:clarabel", tol=1e-12), copies.solve("cvxpy:clarabel", tol=1e-12)
    assert one.certificate.lower == pytest.approx(solution.certificate.lower, abs=1e-10)
    assert one.certificate.upper == pytest.approx(solution.certificate.upper, abs=1e-10)
    np.testing.assert_allclose(one.w, solution.w, atol=1e-6)
    np.testing.assert_allclose(np.repeat(one.d / c, c), solution.d, atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_two_sided_is_the_class_closed_under_negation(seed: int) -> None:
    one = random_program(seed)
    rest = {"nu": one.nu, "eta": one.eta, "c": one.c, "d0": within_caps(one)}
    two_sided, closed = binary(one.U, **rest, two_sided=True), binary(np.column_stack([one.U, -one.U]), **rest)
    solution, closed_solution = (program.solve("cvxpy:clarabel", tol=1e-8) for program in (two_sided, closed))
    assert solution.certificate.overlaps(closed_solution.certificate)
    t = one.U.shape[1]
    assert two_sided.certify(w=closed_solution.w[:t] - closed_solution.w[t:]).lower == pytest.approx(
        closed_solution.certificate.lower, abs=1e-11
    )


def test_canonical_eta_and_the_iteration_bound() -> None:
    """The paper's ln(N / nu) + 1 is a bound of the constant that is used, and ln(N / nu) alone is not."""
    program = binary(np.ones((30, 2)), nu=3, epsilon=0.05)
    largest = 30 / 3 * (-0.1 * math.log(0.1) - 0.9 * math.log(0.9))
    assert program.parameters.eta == pytest.approx(2 / 0.05 * largest, rel=1e-12)
    assert math.log(10) < largest <= math.log(10) + 1
    bound = get_formulation("binary_erlpboost").boosting.iteration_bound(program)
    assert bound == pytest.approx(16 * program.parameters.eta / 0.05)


def test_a_reference_above_the_caps_is_refused() -> None:
    with pytest.raises(ProblemError, match=r"d0 <= c / nu\b.*0\.25 > 0\.2\b"):
        binary(REFERENCE_U, nu=5, d0=REFERENCE_D0)
