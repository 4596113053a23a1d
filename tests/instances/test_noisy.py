"""Wrong labels: the known answers against scipy's simplex and against a slow soft margin."""

from __future__ import annotations

import re

import numpy as np
import pytest
from linear_programs import optimum, width_of_w
from support.problems import slow_soft_margin

from boostopt import ProblemError
from boostopt.instances import long_servedio, outliers

UNIQUE = 1e-8
"""Width of the optimal set that rounding leaves to a unique solution; the widest seen is 3e-10."""


@pytest.mark.parametrize("gamma", [0.01, 0.1, 0.16])
def test_without_noise_the_first_hypothesis_has_the_margin_gamma(gamma: float) -> None:
    problem = long_servedio(gamma, "none")
    value, _, w = optimum(problem.U, problem.parameters["nu"])
    assert value == pytest.approx(problem.answers["LPBoost optimum"], abs=1e-12)
    np.testing.assert_allclose(w, problem.answers["LPBoost w"], atol=1e-9)
    assert width_of_w(problem.U, 1, value) < UNIQUE
    assert (problem.U @ w >= gamma - 1e-12).all()


@pytest.mark.parametrize("gamma", [0.01, 0.1, 0.16])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.9])
def test_below_the_limit_of_nu_one_flipped_label_drives_the_weight_away(gamma: float, share: float) -> None:
    problem = long_servedio(gamma)
    nu = 1 + share * (1 + 4 * gamma)  # from 1 to nearly 2 + 4 gamma, 2 and more among them
    value, _, w = optimum(problem.U, nu)
    assert value == pytest.approx(problem.answers["LPBoost optimum, nu < 2 + 4 gamma"], abs=1e-12)
    np.testing.assert_allclose(w, problem.answers["LPBoost w, nu < 2 + 4 gamma"], atol=1e-9)
    assert w[0] == pytest.approx(gamma / (1 + 2 * gamma), abs=1e-9)
    assert width_of_w(problem.U, nu, value) < UNIQUE


@pytest.mark.parametrize("gamma", [0.01, 0.1, 0.16])
@pytest.mark.parametrize("share", [0.01, 0.5, 1.0])
def test_above_the_limit_of_nu_the_second_hypothesis_has_it_all(gamma: float, share: float) -> None:
    problem = long_servedio(gamma)
    nu = 2 + 4 * gamma + share * (2 - 4 * gamma)
    value, _, w = optimum(problem.U, nu)
    np.testing.assert_allclose(w, problem.answers["LPBoost w, nu > 2 + 4 gamma"], atol=1e-9)
    assert width_of_w(problem.U, nu, value) < UNIQUE


@pytest.mark.parametrize("nu", np.linspace(1, 4, 13).tolist())
def test_no_cap_makes_the_flipped_label_harmless(nu: float) -> None:
    problem = long_servedio(0.1)
    _, _, w = optimum(problem.U, nu)
    misclassified = problem.answers["examples with right labels that are misclassified for every nu"]
    assert (problem.U[misclassified] @ w < -0.05).all()
    assert problem.U[3] @ w > 0


@pytest.mark.parametrize("gamma", [0.01, 0.1, 0.16])
@pytest.mark.parametrize("rate", [0.05, 0.1, 0.4])
def test_the_largest_cap_makes_symmetric_noise_harmless(gamma: float, rate: float) -> None:
    problem = long_servedio(gamma, rate)
    c, nu = problem.parameters["c"], problem.parameters["nu"]
    assert c[4:].sum() / c.sum() == pytest.approx(rate, abs=1e-15)
    value, _, w = optimum(problem.U, nu * (1 - 1e-12), c)
    assert value == pytest.approx(problem.answers["LPBoost optimum"], abs=1e-9)
    np.testing.assert_allclose(w, problem.answers["LPBoost w"], atol=1e-9)
    assert width_of_w(problem.U, nu, value, c) < UNIQUE
    np.testing.assert_array_equal(np.flatnonzero(problem.U @ w < 0), problem.answers["misclassified examples"])


def test_the_points_of_both_kinds_of_noise_are_the_clean_ones() -> None:
    clean = long_servedio(0.1, "none").U
    np.testing.assert_allclose(clean, [[1, 0], [0.1, -0.1], [0.1, -0.1], [0.1, 0.5]])
    np.testing.assert_array_equal(long_servedio(0.1).U, clean * np.array([[-1], [1], [1], [1]]))
    np.testing.assert_array_equal(long_servedio(0.1, 0.2).U, np.vstack([clean, -clean]))


@pytest.mark.parametrize(("N", "bad", "gamma"), [(12, 1, 0.2), (20, 1, 0.2), (100, 3, 0.1), (50, 10, 0.9)])
def test_the_soft_margin_with_outliers_reaches_half_of_gamma_and_exceeds_it_with_nu(
    N: int, bad: int, gamma: float
) -> None:
    problem = outliers(N, bad, gamma)
    m, nu = problem.U[:, 0], problem.parameters["nu"]
    assert (m == -1).sum() == bad
    assert slow_soft_margin(m, np.ones(N), nu) == pytest.approx(problem.answers["soft margin"], abs=1e-12)
    assert optimum(problem.U, min(nu, N))[0] == pytest.approx(gamma / 2, abs=1e-9)
    assert slow_soft_margin(m, np.ones(N), 1.0) == problem.answers["hard margin"]
    assert slow_soft_margin(m, np.ones(N), 0.99 * nu) < gamma / 2
    for larger in np.linspace(nu, N, 5)[1:]:
        assert slow_soft_margin(m, np.ones(N), float(larger)) >= gamma / 2 - 1e-12


@pytest.mark.parametrize(
    ("make", "name", "limit", "came"),
    [
        (lambda: long_servedio(0.0), "gamma", "0.1666666667", "0.0"),
        (lambda: long_servedio(1 / 6), "gamma", "0.1666666667", "0.16666666666666666"),
        (lambda: long_servedio(0.1, 0.5), "noise", "0.5", "0.5"),
        (lambda: outliers(11), "N", "12", "11"),
        (lambda: outliers(30, 0), "bad", "1", "0"),
        (lambda: outliers(30, 1, 1.0), "gamma", "1", "1.0"),
    ],
)
def test_bad_arguments_are_refused(make: object, name: str, limit: str, came: str) -> None:
    assert callable(make)
    with pytest.raises(ProblemError, match=rf"^{name}\b.*\b{re.escape(limit)}\b.* {re.escape(came)}\b"):
        make()
