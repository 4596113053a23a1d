"""Projection onto, and averages over, the capped simplex."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.problems import slow_capped_softmax, slow_soft_margin
from support.speeds import many

from boostopt import OptionError, ProblemError, project_capped_simplex
from boostopt.functions.numerics.capped_softmax import capped_softmax
from boostopt.functions.regularizers.capped_simplex import CappedSimplex
from boostopt.functions.regularizers.capped_simplex_indicator import CappedSimplexIndicator

METHODS = ("select", "sort", "auto")
seeds = st.integers(0, 2**32 - 1)


def random_case(seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return exponents with ties, -inf and any spread, some in order; multiplicities; nu, also at its ends."""
    rng = np.random.default_rng(seed)
    N = int(rng.integers(2, 60))
    a = rng.normal(size=N) * 10.0 ** rng.integers(-2, 5)
    if rng.random() < 0.5:
        a = np.round(a / np.abs(a).max() * 3)
    c = rng.uniform(0.2, 4, size=N) if rng.random() < 0.5 else np.ones(N)
    if rng.random() < 0.3:
        a[: N // 3] = -np.inf
    if rng.random() < 0.3:
        order = np.argsort(np.log(c) - a)
        a, c = a[order], c[order]
    total_support = float(c[np.isfinite(a)].sum())
    nu = float(
        rng.choice([min(1.0, total_support), total_support, rng.uniform(min(1.0, total_support), total_support)])
    )
    return a, c, nu


@pytest.mark.thorough
@settings(max_examples=400, deadline=None)
@given(seeds)
def test_both_methods_agree_with_bisection(seed: int) -> None:
    a, c, nu = random_case(seed)
    twin = slow_capped_softmax(a, c / nu)
    for method in METHODS:
        fast = capped_softmax(a, c, nu, method)
        assert abs(fast.d.sum() - 1) <= 1e-12
        assert (fast.d <= c / nu * (1 + 1e-15)).all()
        np.testing.assert_allclose(fast.d, twin, atol=2e-12 * max(1.0, np.abs(a[np.isfinite(a)]).max() / 100))


@settings(max_examples=many(200, 40), deadline=None)
@given(seeds)
def test_log_theta_reproduces_the_weights(seed: int) -> None:
    a, c, nu = random_case(seed)
    softmax = capped_softmax(a, c, nu)
    with np.errstate(over="ignore"):
        again = np.minimum(c / nu, np.exp(a + softmax.log_theta))
    np.testing.assert_allclose(again[np.isfinite(a)], softmax.d[np.isfinite(a)], rtol=1e-8, atol=1e-12)


@settings(max_examples=many(200, 40), deadline=None)
@given(seeds, st.integers(2, 5))
def test_multiplicity_k_is_k_copies(seed: int, k: int) -> None:
    a, _, _ = random_case(seed)
    a = a[np.isfinite(a)]
    c = np.ones(len(a))
    c[0] = k
    nu = float(np.random.default_rng(seed).uniform(1, c.sum()))
    merged = capped_softmax(a, c, nu).d
    copies = capped_softmax(
        np.append(a - np.where(c > 1, np.log(k), 0), [a[0] - np.log(k)] * (k - 1)), np.ones(len(a) + k - 1), nu
    ).d
    np.testing.assert_allclose(merged[1:], copies[1 : len(a)], atol=1e-12)
    np.testing.assert_allclose(merged[0], copies[0] + copies[len(a) :].sum(), atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_projection_minimizes_the_relative_entropy(method: str) -> None:
    """A transfer of weight between two examples within the caps never decreases sum d ln(d / q)."""
    rng = np.random.default_rng(3)
    q, c, nu = rng.random(8), rng.uniform(0.5, 2, 8), 3.3
    d = project_capped_simplex(q, nu, c, method)  # pyright: ignore[reportArgumentType]

    def entropy(x: np.ndarray) -> float:
        return float(np.sum(x * np.log(x / q)))

    for i in range(8):
        for j in range(8):
            step = 1e-5 * (np.eye(8)[i] - np.eye(8)[j])
            next_d = d + step
            if i != j and (next_d <= c / nu).all() and (next_d > 0).all():
                assert entropy(next_d) >= entropy(d) - 1e-12


@pytest.mark.parametrize("method", METHODS)
def test_the_projection_keeps_small_entries_where_the_rest_fills_nu(method: str) -> None:
    np.testing.assert_allclose(project_capped_simplex([1e30, 1.0], 3, [3.0, 3.0], method), [1, 1e-30], rtol=1e-12)
    assert project_capped_simplex([1, 2, 3], 3 * (1 + 9e-13), method=method).sum() == pytest.approx(1, abs=1e-15)


def test_projection_does_not_depend_on_the_scale_of_q() -> None:
    q = np.array([1.0, 2.0, 3.0, 10.0])
    d = project_capped_simplex(q, 2.0)
    for scale in (1e-300, 1e300):
        np.testing.assert_allclose(project_capped_simplex(q * scale, 2.0), d, rtol=1e-12)
    np.testing.assert_allclose(d, [1 / 12, 2 / 12, 3 / 12, 0.5])


@pytest.mark.parametrize("method", ("select", "sort"))
@pytest.mark.parametrize("N", (100_000,))
def test_nothing_overflows_at_eta_1e6_and_N_1e5(N: int, method: str) -> None:
    rng = np.random.default_rng(0)
    m = rng.uniform(-1, 1, N)
    a = -np.log(N) - 1e6 * m
    softmax = capped_softmax(a, np.ones(N), 10.0, method)  # pyright: ignore[reportArgumentType]
    assert np.isfinite(softmax.d).all()
    assert abs(softmax.d.sum() - 1) < 1e-12
    assert softmax.d.max() <= 0.1 * (1 + 1e-15)


@settings(max_examples=many(200, 40), deadline=None)
@given(seeds)
def test_the_conjugate_of_the_cap_is_the_soft_margin(seed: int) -> None:
    m, c, nu = random_case(seed)
    m = np.where(np.isfinite(m), m, 0.0) / max(1.0, np.abs(m[np.isfinite(m)]).max())
    F = CappedSimplexIndicator(CappedSimplex(c, nu))
    point = F.conjugate_at(-m)
    assert point.value == pytest.approx(-slow_soft_margin(m, c, nu), abs=1e-12)
    assert point.d @ m == pytest.approx(-point.value, abs=1e-12)  # the maximizer attains it
    assert (point.d <= c / nu * (1 + 1e-12)).all()
    rho = -point.multipliers["beta"]
    assert c[m < rho].sum() <= nu * (1 + 1e-12)
    assert c[m <= rho].sum() >= nu * (1 - 1e-12)


@settings(max_examples=many(300, 60), deadline=None)
@given(seeds)
def test_repair_returns_a_feasible_point_for_any_input(seed: int) -> None:
    _, c, _ = random_case(seed)
    rng = np.random.default_rng(seed)
    nu = float(rng.uniform(min(1.0, c.sum()), c.sum()))
    junk = rng.choice([0.0, -1.0, np.nan, np.inf, -np.inf, 1e300, 1e-300, 5e-324, 1.0, 0.3], size=len(c))
    d = CappedSimplex(c, nu).repair(junk, np.full(len(c), 1 / len(c)))
    assert (d >= 0).all()
    assert abs(d.sum() - 1) <= 1e-12
    assert (d <= c / nu * (1 + 1e-12)).all()


def test_repair_leaves_feasible_points_where_they_are() -> None:
    d = np.array([0.5, 0.3, 0.2, 0.0])
    np.testing.assert_allclose(CappedSimplex(np.ones(4), 2.0).repair(d, np.full(4, 0.25)), d, atol=1e-15)


@pytest.mark.parametrize(
    ("q", "nu", "c", "error", "message"),
    [
        ([], 1.0, None, ProblemError, r"^q and c\b.* \(0,\) and \(0,\)\."),
        ([[1.0]], 1.0, None, ProblemError, r"^q\b.*\(N,\);.*\(1, 1\)"),
        ([1.0, 1.0], 1.0, [1.0], ProblemError, r"^q and c\b.* \(2,\) and \(1,\)\."),
        ([1.0, -1.0], 1.0, None, ProblemError, r"^q\b.* -1 at 1\."),
        ([1.0, np.nan], 1.0, None, ProblemError, r"^q\b.* nan at 1\."),
        ([1.0, 1.0], 1.0, [1.0, 0.0], ProblemError, r"\bmultiplicities c\b.* 0 at 1\."),
        ([1.0, 1.0], 2.5, None, ProblemError, r"^nu\b.* = \[1, 2\];.* 2\.5\."),
        ([1.0, 1.0], 0.5, None, ProblemError, r"^nu\b.* = \[1, 2\];.* 0\.5\."),
        ([1.0, 0.0, 0.0], 2.0, None, ProblemError, r"\bempty\b.* 1,.*\bnu = 2\b"),
    ],
    ids=("empty", "matrix", "lengths", "negative", "nan", "multiplicity", "nu-above", "nu-below", "empty-simplex"),
)
def test_bad_input_is_refused(q: object, nu: float, c: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        project_capped_simplex(q, nu, c)  # pyright: ignore[reportArgumentType]


def test_an_unknown_method_is_refused_with_the_known_ones() -> None:
    with pytest.raises(OptionError, match=r"'sorted'.* 'sort'"):
        project_capped_simplex([1.0], 1.0, method="sorted")  # pyright: ignore[reportArgumentType]


def test_a_quantile_counts_multiplicities_up_to_nu_exactly() -> None:
    m = np.array([0.3, -1.0, 2.0])
    for nu, quantile in ((1.0, -1.0), (2.0, -1.0), (2.5, 0.3), (3.0, 0.3), (3.5, 2.0), (4.0, 2.0)):
        assert CappedSimplex(np.array([1.0, 2.0, 1.0]), nu).quantile(m) == quantile
