"""The reference numbers: closed forms by slow twins, optima by weak duality at the known points, and by the pages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize
from linear_programs import optimum, width_of_w
from support.problems import slow_capped_softmax, slow_soft_margin

import boostopt
from boostopt.instances import reference

PROBLEM = reference()
U, KNOWN = PROBLEM.U, PROBLEM.answers
NU, ETA, D0 = (PROBLEM.parameters[name] for name in ("nu", "eta", "d0"))
TEN_DIGITS = 6e-11
"""Half a unit in the tenth decimal place, and rounding."""


def entropy(d: np.ndarray, q: np.ndarray) -> float:
    return float(sum(a * np.log(a / b) for a, b in zip(d, q, strict=True) if a > 0))


def capped(m: np.ndarray, eta: float) -> tuple[np.ndarray, float, np.ndarray, float]:
    """d(w), beta, psi and the dual value of the capped entropy, by bisection."""
    d = slow_capped_softmax(np.log(D0) - eta * m, np.full(6, 1 / NU))
    free = int(np.argmax(np.where(d < 1 / NU - 1e-9, d, 0)))
    beta = float(-m[free] - np.log(d[free] / D0[free]) / eta)
    psi = np.maximum(0, -m - beta - np.log(1 / (NU * D0)) / eta)
    return d, beta, psi, float(d @ m) + entropy(d, D0) / eta


def binary(m: np.ndarray) -> tuple[np.ndarray, float, float]:
    """d(w), beta and the dual value of the binary entropy, by root finding."""

    def d_of(beta: float) -> np.ndarray:
        odds = NU * D0 / (1 - NU * D0) * np.exp(-ETA * (m + beta))
        return odds / (1 + odds) / NU

    beta: Any = scipy.optimize.brentq(lambda beta: d_of(beta).sum() - 1, -m.max(), -m.min(), xtol=1e-15)
    d = d_of(beta)
    return d, float(beta), float(d @ m) + binary_entropy(d) / ETA


def binary_entropy(d: np.ndarray) -> float:
    return entropy(d, D0) + entropy(1 / NU - d, 1 / NU - D0)


def approx_reference(name: str) -> Any:
    return pytest.approx(KNOWN[name], abs=TEN_DIGITS)


def test_the_margins_and_the_soft_margin_at_w() -> None:
    np.testing.assert_allclose(U @ KNOWN["w"], KNOWN["margins at w"], atol=1e-15)
    assert slow_soft_margin(U @ KNOWN["w"], np.ones(6), NU) == approx_reference("soft margin at w")


def test_the_capped_entropy_at_w() -> None:
    m = U @ KNOWN["w"]
    d, beta, psi, dual = capped(m, ETA)
    assert d == approx_reference("ERLPBoost d(w)")
    assert beta == approx_reference("ERLPBoost beta at w")
    assert psi == approx_reference("ERLPBoost psi at w")
    assert dual == approx_reference("ERLPBoost dual at w")
    assert -beta - psi.sum() / NU == approx_reference("ERLPBoost dual at w")
    assert U.T @ d == approx_reference("ERLPBoost gradient at w")
    assert (U.T @ d).max() + entropy(d, D0) / ETA == approx_reference("ERLPBoost primal at d(w)")
    _, beta, psi, dual = capped(m, 30.0)
    assert beta == approx_reference("ERLPBoost beta at w, eta = 30")
    assert psi == approx_reference("ERLPBoost psi at w, eta = 30")
    assert dual == approx_reference("ERLPBoost dual at w, eta = 30")


def test_the_binary_entropy_at_w() -> None:
    d, beta, dual = binary(U @ KNOWN["w"])
    assert d == approx_reference("Binary ERLPBoost d(w)")
    assert beta == approx_reference("Binary ERLPBoost beta at w")
    assert dual == approx_reference("Binary ERLPBoost dual at w")
    assert U.T @ d == approx_reference("Binary ERLPBoost gradient at w")
    assert (U.T @ d).max() + binary_entropy(d) / ETA == approx_reference("Binary ERLPBoost primal at d(w)")


def test_the_dual_with_an_edge_bound_at_three_w_and_its_link_to_eta_three() -> None:
    name = "SoftBoost dual at 3 w, gamma = 0.1"
    assert capped(3 * U @ KNOWN["w"], 1.0)[3] - 0.1 * 3 == approx_reference(name)
    assert 3 * (capped(U @ KNOWN["w"], 3.0)[3] - 0.1) == approx_reference(name)


def test_the_linear_program_has_the_known_value_and_only_one_w() -> None:
    value, _, w = optimum(U, NU)
    assert value == pytest.approx(KNOWN["LPBoost optimum"], abs=1e-12)
    np.testing.assert_allclose(w, KNOWN["LPBoost w"], atol=1e-10)
    assert width_of_w(U, NU, value) < 1e-8
    assert pytest.approx(0.0037735849, abs=TEN_DIGITS) == KNOWN["LPBoost optimum"]


def test_nu_lies_between_the_numbers_of_margins_below_and_up_to_rho() -> None:
    m = U @ KNOWN["LPBoost w"]
    rho = np.sort(m)[int(np.ceil(NU)) - 1]
    assert (m < rho - 1e-12).sum() <= NU <= (m <= rho + 1e-12).sum()


def test_the_entropy_optima_lie_between_the_values_at_their_known_points() -> None:
    w = KNOWN["ERLPBoost w"] / KNOWN["ERLPBoost w"].sum()
    d, _, _, dual = capped(U @ w, ETA)
    primal = (U.T @ d).max() + entropy(d, D0) / ETA
    assert dual - TEN_DIGITS <= KNOWN["ERLPBoost optimum"] <= primal + TEN_DIGITS
    assert 0 <= primal - dual < 1e-9
    np.testing.assert_allclose(d, KNOWN["ERLPBoost d"], atol=1e-9)
    w = KNOWN["Binary ERLPBoost w"] / KNOWN["Binary ERLPBoost w"].sum()
    d, _, dual = binary(U @ w)
    primal = (U.T @ d).max() + binary_entropy(d) / ETA
    assert dual - TEN_DIGITS <= KNOWN["Binary ERLPBoost optimum"] <= primal + TEN_DIGITS
    assert 0 <= primal - dual < 1e-9


def test_the_program_with_an_edge_bound_is_stationary_at_its_w() -> None:
    # The dual is concave in w and all w are positive: where its gradient U'd - gamma vanishes, it is largest.
    w, gamma = KNOWN["SoftBoost w, gamma = LPBoost optimum + 0.05"], KNOWN["LPBoost optimum"] + 0.05
    d, _, _, value = capped(U @ w, 1.0)
    assert (w > 0).all()
    np.testing.assert_allclose(U.T @ d, gamma, rtol=0, atol=2e-10)
    assert value - gamma * w.sum() == approx_reference("SoftBoost optimum, gamma = LPBoost optimum + 0.05")


def test_the_hinge_programs() -> None:
    b, C = KNOWN["QP_REG b, C = 0.4 per example"], 0.4
    objective = KNOWN["QP_REG objective, C = 0.4 per example"]
    assert b @ b + C * np.maximum(0, 1 - U @ b).sum() == pytest.approx(objective, abs=1e-12)

    def primal(d: np.ndarray) -> float:
        return float(-d.sum() + 0.25 * (np.maximum(U.T @ d, 0) ** 2).sum())

    answer: Any = scipy.optimize.minimize(
        primal,
        np.full(6, C / 2),
        jac=lambda d: -1 + 0.5 * U @ np.maximum(U.T @ d, 0),
        bounds=[(0, C)] * 6,
        options={"ftol": 1e-16, "gtol": 1e-12},
    )
    assert -primal(answer.x) <= objective + 1e-12  # weak duality: no d does better than b
    assert -primal(answer.x) == pytest.approx(objective, abs=1e-10)
    np.testing.assert_allclose(0.5 * np.maximum(U.T @ answer.x, 0), b, atol=1e-6)
    linear: Any = scipy.optimize.linprog(
        np.concatenate([np.ones(3), np.full(6, 2.0)]),
        A_ub=np.column_stack([-U, -np.eye(6)]),
        b_ub=-np.ones(6),
    )
    assert linear.fun == pytest.approx(KNOWN["equation (22) objective, C = 2 per example"], abs=1e-10)


@pytest.mark.parametrize("kind", ["ball", "penalty"])
def test_the_two_sided_programs_lie_between_a_feasible_d_and_a_feasible_w(kind: str) -> None:
    import cvxpy as cp

    d, gamma = cp.Variable(6), cp.Variable()
    norm: Any = cp.norm(d, 2)
    upper_edges, lower_edges = U.T @ d <= gamma, -U.T @ d <= gamma
    limits: list[Any] = [upper_edges, lower_edges, d >= 0, cp.sum(d) == 1]
    if kind == "ball":
        name = "two-sided optimum, 2-norm of d at most 0.5, no cap"
        problem = cp.Problem(cp.Minimize(gamma), [*limits, norm <= 0.5])
    else:
        name = "two-sided optimum with 0.3 times the 2-norm of d added, no cap"
        problem = cp.Problem(cp.Minimize(gamma + 0.3 * norm), limits)
    problem.solve(cp.CLARABEL)
    upper = two_sided_primal(kind, np.asarray(d.value))
    lower = two_sided_dual(kind, np.asarray(upper_edges.dual_value) - np.asarray(lower_edges.dual_value))
    assert lower - TEN_DIGITS <= KNOWN[name] <= upper + TEN_DIGITS
    assert upper - lower < 1e-8


def two_sided_primal(kind: str, d: np.ndarray) -> float:
    """The value at a feasible d: the uniform distribution has norm 0.41, a little of it takes back an overstep."""
    d = np.maximum(d, 0) / np.maximum(d, 0).sum()
    if kind == "penalty":
        return float(np.abs(U.T @ d).max() + 0.3 * np.linalg.norm(d))
    if np.linalg.norm(d) > 0.5 - 1e-12:
        share: Any = scipy.optimize.brentq(lambda s: np.linalg.norm(d + s * (1 / 6 - d)) - 0.5 + 1e-12, 0, 1)
        d = d + share * (1 / 6 - d)
    assert np.linalg.norm(d) <= 0.5
    return float(np.abs(U.T @ d).max())


def two_sided_dual(kind: str, w: np.ndarray) -> float:
    """The largest rho - f*([rho - U w]_+) over rho, at w in the 1-norm ball (Shalev-Shwartz and Singer 2008)."""
    m = U @ w / max(1.0, np.abs(w).sum())

    def length(rho: float) -> float:
        return float(np.linalg.norm(np.maximum(rho - m, 0)))

    if kind == "penalty":  # f* is 0 where the length is at most 0.3, else infinite
        root: Any = scipy.optimize.brentq(lambda rho: length(rho) - 0.3, m.min(), m.max() + 1, xtol=1e-15)
        return float(root)
    best: Any = scipy.optimize.minimize_scalar(
        lambda rho: 0.5 * length(rho) - rho, bounds=(m.min(), m.max() + 1), method="bounded", options={"xatol": 1e-10}
    )
    return float(-best.fun)


def test_the_projection_onto_edge_zero() -> None:
    u = U[:, 0]

    def tilted(alpha: float) -> np.ndarray:
        q = D0 * np.exp(-alpha * u)
        return q / q.sum()

    alpha: Any = scipy.optimize.brentq(lambda alpha: u @ tilted(alpha), -5, 5, xtol=1e-15)
    assert alpha == approx_reference("entropy projection of d0 onto edge 0 of column 0, alpha")
    relative = entropy(tilted(alpha), D0)
    assert relative == approx_reference("entropy projection of d0 onto edge 0 of column 0, relative entropy")


@pytest.mark.parametrize(
    ("page", "backend", "parameters", "title"),
    [("lpboost", "cvxpy:highs", ["nu"], "LPBoost"), ("erlpboost", "cvxpy:clarabel", ["nu", "eta", "d0"], "ERLPBoost")],
)
def test_the_pages_agree(page: str, backend: str, parameters: list[str], title: str) -> None:
    program = boostopt.get_formulation(page).bind(U, **{name: PROBLEM.parameters[name] for name in parameters})
    at_known = program.certify(w=KNOWN[f"{title} w"])
    solution = program.solve(backend, tol=1e-10)
    value = KNOWN[f"{title} optimum"]
    assert at_known.lower == pytest.approx(value, abs=1e-9)
    assert solution.certificate.lower - TEN_DIGITS <= value <= solution.certificate.upper + TEN_DIGITS
    assert solution.certificate.gap < 1e-9
    np.testing.assert_allclose(solution.w, KNOWN[f"{title} w"], atol=1e-4)


def test_the_page_of_the_entropy_agrees_at_w() -> None:
    program = boostopt.get_formulation("erlpboost").bind(U, **PROBLEM.parameters)
    certificate = program.certify(d=KNOWN["ERLPBoost d(w)"], w=KNOWN["w"])
    assert certificate.lower == pytest.approx(KNOWN["ERLPBoost dual at w"], abs=1e-9)
    assert certificate.upper == pytest.approx(KNOWN["ERLPBoost primal at d(w)"], abs=1e-9)
    np.testing.assert_allclose(certificate.d, KNOWN["ERLPBoost d(w)"], atol=1e-9)
