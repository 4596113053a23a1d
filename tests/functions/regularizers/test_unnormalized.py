"""The unnormalised relative entropy: the same function on the simplex, modelled with beta in the conjugate."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.problems import REFERENCE_D0, REFERENCE_ETA, REFERENCE_M, REFERENCE_NU, draw
from support.reference_formulas import (
    assert_conjugate,
    assert_copies,
    assert_gradient,
    assert_junk_is_repaired,
    assert_modelled,
    assert_stable,
    optimum,
    points,
    relative_entropy,
)

from boostopt.functions.regularizers.relative_entropy import RelativeEntropy, UnnormalizedRelativeEntropy


def capped(c: np.ndarray, nu: float, eta: float, d0: np.ndarray) -> UnnormalizedRelativeEntropy:
    F = UnnormalizedRelativeEntropy.capped(c, nu, eta, d0)
    assert isinstance(F, UnnormalizedRelativeEntropy)
    return F


def reference() -> UnnormalizedRelativeEntropy:
    return capped(np.ones(6), REFERENCE_NU, REFERENCE_ETA, REFERENCE_D0)


def test_the_reference_numbers_are_those_of_erlpboost() -> None:
    point = reference().conjugate_at(-REFERENCE_M)
    assert -point.value == pytest.approx(0.0124809954, abs=1e-10)
    assert point.multipliers["beta"] == pytest.approx(-0.0552771290, abs=1e-10)
    expected = (0.0206203552, 0.1026929851, 0.3721979671, 0.0629643966, 0.4, 0.0415242960)
    np.testing.assert_allclose(point.d, expected, atol=2e-10)
    np.testing.assert_allclose(point.multipliers["psi"], [0, 0, 0, 0, 0.1069903338, 0], atol=1e-10)


@pytest.mark.parametrize("seed", range(30))
def test_the_regularizer_is_the_relative_entropy_and_its_gap_that_of_fenchel_young(seed: int) -> None:
    rng = np.random.default_rng(seed)
    entropy = draw(rng, largest_N=9).bind("erlpboost").regularizer
    assert isinstance(entropy, RelativeEntropy)
    F, z = UnnormalizedRelativeEntropy(entropy.domain, entropy.eta, entropy.d0), rng.uniform(-1, 1, entropy.N)
    assert F.conjugate_at(z).value == entropy.conjugate_at(z).value
    assert_conjugate(F, z, lambda d: relative_entropy(d, F.d0) / F.eta, points(rng, F.upper))


def test_any_beta_bounds_the_conjugate_from_above() -> None:
    """F*(z) = min over beta of beta + sum phi*(z - beta), phi* exponential up to the cap, then linear."""
    F, z, u = reference(), -REFERENCE_M, 1 / REFERENCE_NU

    def bound(beta: float) -> float:
        total = beta
        for r, x in zip(REFERENCE_D0.tolist(), (z - beta).tolist(), strict=True):
            if r * math.exp(F.eta * x) <= u:
                total += r / F.eta * (math.exp(F.eta * x) - 1)
            else:
                total += x * u - (u * math.log(u / r) - u + r) / F.eta
        return total

    point = F.conjugate_at(z)
    beta = float(point.multipliers["beta"])
    assert bound(beta) == pytest.approx(point.value, abs=1e-14)
    for shift in (-1.0, -0.1, -1e-3, 1e-3, 0.1, 1.0):
        assert bound(beta + shift) > point.value
    assert bound(beta + 1e-3) - point.value == pytest.approx(
        bound(beta - 1e-3) - point.value, rel=0.05
    )  # the slope is 0


def test_the_gradient_of_the_conjugate_is_the_maximizer() -> None:
    assert_gradient(reference(), -REFERENCE_M)


def test_multiplicity_k_is_k_copies() -> None:
    rng = np.random.default_rng(1)
    counts, d0 = np.array([1, 3, 2]), np.array([0.5, 0.2, 0.3])
    index = np.repeat(np.arange(3), counts)
    merged = capped(counts.astype(float), 2.5, 5.0, d0)
    copies = capped(np.ones(6), 2.5, 5.0, (d0 / counts)[index])
    assert_copies(merged, copies, counts, rng.uniform(-1, 1, 3), points(rng, merged.upper))


@pytest.mark.parametrize("zeros", (0, 2))
def test_the_model_for_solvers(zeros: int) -> None:
    rng = np.random.default_rng(zeros)
    d0 = rng.dirichlet(np.ones(7))
    d0[:zeros] = 0.0
    F = capped(rng.uniform(0.5, 2, 7), 2.2, 6.0, d0 / d0.sum())
    assert_modelled(F, rng.uniform(-1, 1, 7), points(rng, F.upper))


def test_both_models_of_the_entropy_have_one_optimum() -> None:
    import cvxpy as cp

    F, z = reference(), -REFERENCE_M
    plain = RelativeEntropy(F.domain, F.eta, F.d0)
    for side in ("cvxpy_value", "cvxpy_conjugate"):
        optima = list[float]()
        for one in (F, plain):
            if side == "cvxpy_value":
                d = cp.Variable(6)
                value, constraints = one.cvxpy_value(d)
                optima.append(optimum(cp.Problem(cp.Maximize(z @ d - value), constraints)))
            else:
                value, constraints = one.cvxpy_conjugate(cp.Constant(z))
                optima.append(optimum(cp.Problem(cp.Minimize(value), constraints)))
        assert optima[0] == pytest.approx(optima[1], abs=1e-7)


def test_any_junk_is_repaired() -> None:
    assert_junk_is_repaired(reference())


@pytest.mark.parametrize("eta", (1e-6, 1e6, 1e9))
def test_everything_is_finite_at_large_N(eta: float) -> None:
    N = 100_000
    rng = np.random.default_rng(0)
    F = capped(np.ones(N), 0.1 * N, eta, rng.dirichlet(np.full(N, 5.0)))
    assert_stable(F, rng.uniform(-1, 1, N), F.project(rng.random(N)))
