"""LP-AdaBoost: the page against the package, and the matrix game that it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize
from agreement import assert_forms_have, certificate_of_backends
from support.problems import REFERENCE_U

from boostopt import ProblemError, Program, get_formulation


def lp_adaboost(U: object, **parameters: object) -> Program:
    return get_formulation("lp_adaboost").bind(U, **parameters)  # pyright: ignore[reportArgumentType]


def draw(rng: np.random.Generator) -> np.ndarray:
    shape = int(rng.integers(2, 60)), int(rng.integers(1, 8))
    return rng.choice([-1.0, 1.0], shape) if rng.random() < 0.5 else rng.uniform(-1, 1, shape)


def game_value(U: np.ndarray, two_sided: bool) -> float:
    """The value of the game by SciPy, over the weights of the hypotheses and, two-sided, of their negatives."""
    both = np.column_stack([U, -U]) if two_sided else U
    N, t = both.shape
    answer: Any = scipy.optimize.linprog(
        np.append(np.zeros(t), -1.0),
        A_ub=np.column_stack([-both, np.ones(N)]),
        b_ub=np.zeros(N),
        A_eq=np.append(np.ones(t), 0.0)[np.newaxis],
        b_eq=[1.0],
        bounds=[*[(0, None)] * t, (None, None)],
    )
    return -float(answer.fun)


def test_structure_by_hand() -> None:
    """N = 3, t = 2.

    Primal  min gamma   s.t.  d1 - d2/2 + d3 <= gamma,  -d1 + d2 <= gamma,  d1 + d2 + d3 = 1,  d >= 0
    Dual    max rho     s.t.  w1 - w2 >= rho,  -w1/2 + w2 >= rho,  w1 >= rho,  w1 + w2 = 1,  w >= 0
    """
    U = np.array([[1.0, -1.0], [-0.5, 1.0], [1.0, 0.0]])
    program = lp_adaboost(U, c=[1, 2, 1])
    primal, dual = program.cvxpy("primal", "literal"), program.cvxpy("dual", "literal")
    assert [c.label for c in primal.constraints] == ["w", "beta", "d >= 0"]
    assert [c.label for c in dual.constraints] == ["d", "gamma", "w >= 0"]
    primal.var_dict["d"].value, primal.var_dict["gamma"].value = [0.2, 0.5, 0.3], 0.1
    np.testing.assert_allclose(primal.constraints[0].residual, [0.2 - 0.25 + 0.3 - 0.1, -0.2 + 0.5 - 0.1])
    assert primal.objective.value == 0.1
    dual.var_dict["w"].value, dual.var_dict["rho"].value = [0.25, 0.75], 0.6
    np.testing.assert_allclose(dual.constraints[0].residual, 0.6 - np.array([0.25 - 0.75, -0.125 + 0.75 - 0.025, 0.25]))
    assert dual.objective.value == 0.6

    two_sided = lp_adaboost(U, two_sided=True)
    assert [c.label for c in two_sided.cvxpy("primal", "literal").constraints] == ["w+", "w-", "beta", "d >= 0"]
    assert [c.label for c in two_sided.cvxpy("dual", "literal").constraints] == ["d", "gamma"]


@pytest.mark.parametrize("two_sided", (False, True))
@pytest.mark.parametrize("seed", range(8))
def test_literal_derived_and_certified_values_agree(seed: int, two_sided: bool) -> None:
    U = draw(np.random.default_rng(seed))
    program = lp_adaboost(U, two_sided=two_sided)
    certificate = certificate_of_backends(program, {"cvxpy:highs": 1e-9, "cvxpy:clarabel": 1e-8, "cvxpy:scs": 1e-6})
    assert certificate.upper == pytest.approx(game_value(U, two_sided), abs=1e-8)
    assert_forms_have(program, pytest.approx(certificate.upper, abs=1e-7))


@pytest.mark.parametrize("two_sided", (False, True))
@pytest.mark.parametrize("seed", range(5))
def test_kkt_system_of_the_page(seed: int, two_sided: bool) -> None:
    U = draw(np.random.default_rng(50 + seed))
    solution = lp_adaboost(U, two_sided=two_sided).solve("cvxpy:highs", tol=1e-12)
    e, m = U.T @ solution.d, U @ solution.w
    gamma = float(np.abs(e).max() if two_sided else e.max())
    assert solution.multipliers["gamma"] == pytest.approx(gamma)
    assert solution.multipliers["beta"] == pytest.approx(-m.min(), abs=1e-12)
    np.testing.assert_allclose(np.abs(solution.w) * (gamma - np.sign(solution.w) * e), 0, atol=1e-10)
    np.testing.assert_allclose(solution.d * (m - m.min()), 0, atol=1e-10)


def test_known_values() -> None:
    """The game of three of Rudin, Daubechies and Schapire is worth 1/3; a pivot is worth itself."""
    solution = lp_adaboost(np.ones((3, 3)) - 2 * np.eye(3)).solve("cvxpy:highs", tol=1e-12)
    assert solution.certificate.contains(1 / 3)
    np.testing.assert_allclose(solution.w, 1 / 3, atol=1e-12)
    pivot = lp_adaboost([[0.3, 0.2, 0.1], [0.9, -0.4, 0.5], [0.8, 0.6, -0.7]]).solve("cvxpy:highs", tol=1e-12)
    assert pivot.certificate.contains(0.3)
    np.testing.assert_allclose(pivot.d, [1, 0, 0], atol=1e-12)


def test_lp_adaboost_is_lpboost_at_nu_1_and_copies_change_nothing() -> None:
    c = np.array([1, 3, 1, 2, 1, 1])
    ours = lp_adaboost(REFERENCE_U).solve("cvxpy:highs", tol=1e-12).certificate
    theirs = get_formulation("lpboost").bind(REFERENCE_U, nu=1).solve("cvxpy:highs", tol=1e-12).certificate
    copies = lp_adaboost(np.repeat(REFERENCE_U, c, axis=0)).solve("cvxpy:highs", tol=1e-12).certificate
    # Also where a multiplicity below 1 would be a cap for LPBoost.
    merged = lp_adaboost(REFERENCE_U, c=0.1 * c).solve("cvxpy:highs", tol=1e-12).certificate
    for certificate in (theirs, copies, merged):
        assert ours.overlaps(certificate)
        np.testing.assert_allclose(certificate.w, ours.w, atol=1e-10)


def test_two_sided_a_sign_is_turned_for_free() -> None:
    signs = np.array([1.0, -1.0, -1.0])
    one = lp_adaboost(REFERENCE_U, two_sided=True).solve("cvxpy:highs", tol=1e-12)
    solution = lp_adaboost(REFERENCE_U * signs, two_sided=True).solve("cvxpy:highs", tol=1e-12)
    assert one.certificate.overlaps(solution.certificate)
    np.testing.assert_allclose(one.w, signs * solution.w, atol=1e-10)
    assert one.certificate.lower >= lp_adaboost(REFERENCE_U).solve("cvxpy:highs", tol=1e-12).certificate.lower - 1e-12


def test_lp_adaboost_has_no_reference_distribution() -> None:
    with pytest.raises(ProblemError, match=r"\bd0\b.*\bmultiplicities\b"):
        lp_adaboost(REFERENCE_U, d0=np.full(6, 1 / 6))
