"""Hypothesis weights from example weights, on programs whose optimal pair is known by construction."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import cvxpy as cp
import numpy as np
import pytest
from support.problems import REFERENCE_NU, REFERENCE_U, draw, reference_erlpboost, reference_lpboost
from support.reference_formulas import junk, program

from boostopt import OptionError, ProblemError, Program, get_formulation
from boostopt.boosting_certificates.multiplier_recovery import ACTIVE_TOLERANCES, recover_over_tolerances
from boostopt.boosting_certificates.primal_dual_certifier import Certifier
from boostopt.functions.edge_functions.base import EdgeFunction
from boostopt.functions.edge_functions.edge_bound_indicators import BoundedEdges, FixedEdges
from boostopt.functions.edge_functions.largest_edge import AbsoluteEdge, MaximumEdge
from boostopt.functions.edge_functions.linear_edges import LinearEdges
from boostopt.functions.edge_functions.squared_edges import SquaredEdges, SquaredPositiveEdges
from boostopt.functions.edge_functions.tied_edges import TiedEdges
from boostopt.functions.regularizers.base import Regularizer
from boostopt.functions.regularizers.binary_entropy import BinaryEntropy, LogarithmicLoss
from boostopt.functions.regularizers.capped_simplex import CappedSimplex
from boostopt.functions.regularizers.capped_simplex_indicator import CappedSimplexIndicator
from boostopt.functions.regularizers.linear_tilt import Tilted
from boostopt.functions.regularizers.loss_conjugates import Hinge
from boostopt.functions.regularizers.norms.norm_regularizers import NormBall, NormPenalty, simplex
from boostopt.functions.regularizers.relative_entropy import RelativeEntropy
from boostopt.functions.regularizers.weighted_squares import Squares
from boostopt.programs.cvxpy_functions.cvxpy_edges import CvxpyEdges

pytestmark = pytest.mark.every(2)

N, T = 40, 5
ACTIVE = 3
"""The number of the T hypotheses that have weight in the constructed programs."""


@dataclass(frozen=True)
class KnownProgram:
    """A program with its optimal pair."""

    program: Program
    d: np.ndarray
    w: np.ndarray


EDGES = np.append(np.full(ACTIVE, 0.1), np.linspace(0.05, -0.05, T - ACTIVE))


def some_weights(rng: np.random.Generator) -> np.ndarray:
    """Weights of the hypotheses, the last ones 0."""
    return np.append(rng.dirichlet(np.full(ACTIVE, 5.0)), np.zeros(T - ACTIVE))


def known_program(F: Regularizer, G: EdgeFunction, seed: int) -> KnownProgram:
    """A pair that is optimal by construction, for F on the simplex and G the largest edge, with or without a sign.

    A constant added to a column moves all margins alike and leaves d(w) where it is: the columns are moved until those
    with weight have one edge and the others a smaller one.
    """
    rng = np.random.default_rng(seed)
    columns, w = 0.4 * rng.uniform(-1, 1, (N, T)), some_weights(rng)
    d = F.conjugate_at(-columns @ w).d
    signs = np.where((np.arange(T) == 1) & isinstance(G, AbsoluteEdge), -1.0, 1.0)
    return KnownProgram(program(signs * (columns + EDGES - columns.T @ d), F, G), d, signs * w)


def known_linear(seed: int, G: EdgeFunction) -> KnownProgram:
    """The same for the cap alone: the margins of ten examples are made equal, and their weights are then free."""
    rng = np.random.default_rng(seed)
    columns, w, inside = 0.4 * rng.uniform(-1, 1, (N, T)), some_weights(rng), np.arange(N) < 10
    columns[inside] -= (columns[inside] @ w / (w @ w))[:, np.newaxis] * w  # their margin is 0
    free, capped = rng.uniform(0.2, 0.8, 10), ~inside & (columns @ w < 0)
    cap = 1.0 / float(free.sum() + capped.sum())
    d = np.where(capped, cap, 0.0)
    d[inside] = free * cap
    return KnownProgram(
        program(columns + EDGES - columns.T @ d, CappedSimplexIndicator(CappedSimplex(np.ones(N), 1.0 / cap)), G), d, w
    )


C, D0 = np.ones(N), np.random.default_rng(9).dirichlet(np.full(N, 5.0))
ENTROPY = RelativeEntropy.capped(C, 8.0, 20.0, D0)
BINARY = BinaryEntropy(np.full(N, 1 / 8.0), 20.0, 0.5 * D0 + 0.5 / N)
SMALLEST = N**-0.5
ON_SIMPLEX: dict[str, Regularizer] = {
    "entropy": ENTROPY,
    "binary": BINARY,
    "tilted": Tilted(ENTROPY, np.linspace(-0.2, 0.2, N)),
    "squares": CappedSimplexIndicator(CappedSimplex(C, 8.0)) + Squares(C, 8.0),
    "ball": NormBall(simplex(C), C, 2.0, 1.5 * SMALLEST),
    "ball with entropy": NormBall(RelativeEntropy.capped(C, 1.0, 20.0, D0), C, 2.0, 1.3 * SMALLEST),
    "penalty": NormPenalty(simplex(C), C, 2.0, 0.5),
    "penalty of order 3 with entropy": NormPenalty(RelativeEntropy.capped(C, 1.0, 20.0, D0), C, 3.0, 0.5),
}


@pytest.mark.parametrize("G", (MaximumEdge(), AbsoluteEdge()))
@pytest.mark.parametrize("name", ON_SIMPLEX)
def test_exact_d_gives_w(name: str, G: EdgeFunction) -> None:
    one = known_program(ON_SIMPLEX[name], G, seed=1)
    recovery = one.program.recover(one.d)
    assert recovery.certificate.gap < 1e-10  # the pair is optimal
    assert recovery.unique
    np.testing.assert_allclose(recovery.w, one.w, atol=1e-7)
    np.testing.assert_array_equal(recovery.active_edges, one.w != 0)
    assert recovery.residual < 1e-7


@pytest.mark.parametrize("G", (MaximumEdge(), AbsoluteEdge()))
@pytest.mark.parametrize("seed", range(3))
def test_exact_d_of_a_linear_program_gives_w(seed: int, G: EdgeFunction) -> None:
    one = known_linear(seed, G)
    for method in ("nnls", "least_squares"):
        recovery = one.program.recover(one.d, method)
        np.testing.assert_allclose(recovery.w, one.w, atol=1e-9)
        assert recovery.unique
        assert recovery.certificate.gap < 1e-11
    assert int(recovery.at_zero.sum() + recovery.at_cap.sum()) == N - 10


def test_the_multipliers_are_those_of_the_certificate() -> None:
    """The reference program: w to the digits that are printed, beta and psi as they follow from w."""
    solution = reference_erlpboost().solve("interior", tol=1e-12)
    recovery = solution.program.recover(solution.d, active_tol=1e-5)
    np.testing.assert_allclose(recovery.w, (0.3703617116, 0.4491978337, 0.1804404547), atol=1e-7)
    conjugate = solution.program.regularizer.conjugate_at(-REFERENCE_U @ solution.w)
    assert recovery.beta == pytest.approx(float(conjugate.multipliers["beta"]), abs=1e-6)
    np.testing.assert_allclose(recovery.psi, conjugate.multipliers["psi"], atol=1e-6)
    np.testing.assert_array_equal(recovery.zeta, 0.0)
    linear = known_linear(0, MaximumEdge())
    multipliers = linear.program.recover(linear.d)
    m = linear.program.margins.margins(linear.w)
    rho = float(np.median(m[:10]))  # the margin of those between 0 and their cap
    assert multipliers.beta == pytest.approx(-rho, abs=1e-9)
    np.testing.assert_allclose(multipliers.psi, np.maximum(rho - m, 0.0), atol=1e-9)
    np.testing.assert_allclose(multipliers.zeta, np.maximum(m - rho, 0.0), atol=1e-9)


def test_inequalities_matter_where_equations_alone_do_not_determine_w() -> None:
    """Most weights at their cap or tiny, few inside: with the equations alone the gap is larger by orders."""
    gaps = list[tuple[float, float]]()
    for seed in range(5):
        rng = np.random.default_rng(seed)
        U, nu = rng.uniform(-1, 1, (60, 6)), 12.0
        F = RelativeEntropy.capped(np.ones(60), nu, 300.0, np.full(60, 1 / 60))
        pair = program(U, F, MaximumEdge())
        d = pair.solve("cvxpy:clarabel", tol=1e-8).attempts[0].d
        assert d is not None
        gaps.append(tuple(pair.recover(d, method, 1e-5).certificate.gap for method in ("nnls", "least_squares")))  # pyright: ignore[reportArgumentType]
    assert max(nnls for nnls, _ in gaps) < 1e-6
    assert all(nnls <= least_squares * (1 + 1e-6) + 1e-12 for nnls, least_squares in gaps)
    assert np.median([least_squares / nnls for nnls, least_squares in gaps]) > 100


def test_a_sweep_takes_the_tolerance_of_the_smallest_gap() -> None:
    pair = reference_erlpboost()
    d = pair.solve("cvxpy:clarabel", tol=1e-4).d + 1e-7 * np.array([1, -1, 1, -1, 1, -1])
    certifier = Certifier(pair.margins, pair.regularizer, pair.edge_function, d)
    gaps = [pair.recover(d, active_tol=tolerance).certificate.gap for tolerance in ACTIVE_TOLERANCES]
    assert recover_over_tolerances(certifier).certificate.gap == min(gaps)
    assert min(gaps) < max(gaps)
    # A tolerance below the error of d leaves only one edge active, and that is not enough.
    assert gaps[0] > 100 * min(gaps)


ROUGH = {
    "lpboost": {"nu": 12.0},
    "softboost": {"nu": 12.0, "gamma": 0.3},
    "erlpboost": {"nu": 12.0, "eta": 20.0},
    "binary_erlpboost": {"nu": 12.0, "eta": 20.0},
    "qp_reg_adaboost": {"C": 0.1},
}


@pytest.mark.parametrize("name", ROUGH)
def test_a_rough_answer_has_multipliers_that_prove_as_much_as_the_answer(name: str) -> None:
    rng = np.random.default_rng(1)
    U = np.sign(rng.uniform(-1, 1, (60, 10)) + 0.25)
    pair = get_formulation(name).bind(U, **ROUGH[name])
    solution = pair.solve("interior", tol=1e-8)
    rough_d, rough_w = (weights * (1 + 1e-4 * rng.normal(size=len(weights))) for weights in (solution.d, solution.w))
    own_gap = pair.certify(d=rough_d, w=rough_w).gap
    recovery, pair_recovery = pair.recover(rough_d), pair.recover(rough_d, w=rough_w)
    assert recovery.certificate.gap <= 1e-3
    assert pair_recovery.certificate.gap <= min(own_gap, recovery.certificate.gap)
    assert recovery.certificate.lower <= solution.certificate.upper
    usual = pair.recover(rough_d, active_tol=1e-6)
    assert recovery.certificate.gap <= usual.certificate.gap


def test_given_weights_that_prove_more_have_the_multipliers_that_fit_them() -> None:
    one = known_linear(0, MaximumEdge())
    rough_d = one.d.copy()
    rough_d[:2] += np.array([1e-4, -1e-4]) * rough_d[:2].min()  # the first ten are between 0 and their cap
    recovery = one.program.recover(rough_d, active_tol=1e-9, w=one.w)
    assert recovery.certificate.gap < one.program.recover(rough_d, active_tol=1e-9).certificate.gap
    np.testing.assert_array_equal(recovery.w, one.w)
    m = one.program.margins.margins(one.w)
    assert recovery.beta == pytest.approx(-float(np.median(m[:10])), abs=1e-9)
    assert recovery.active_tol == 1e-9


def test_ambiguous_examples_and_doubtful_hypotheses_are_flagged() -> None:
    one = known_linear(1, MaximumEdge())
    cap = float(one.program.regularizer.conjugate_at(np.zeros(N)).d.max())
    settled = one.program.recover(one.d, active_tol=1e-6)
    assert len(settled.ambiguous_examples) == len(settled.doubtful_hypotheses) == 0
    at_zero = np.flatnonzero(settled.at_zero)[:2]
    doubtful = one.d.copy()
    doubtful[at_zero] += [1e-6 * cap, 1e-7 * cap]
    doubtful[0] -= 1.1e-6 * cap
    flagged = one.program.recover(doubtful, active_tol=1e-6)
    assert set(at_zero) <= set(flagged.ambiguous_examples)
    assert all(re.search(rf"\bexample.*\b{i}\b", str(flagged)) for i in at_zero)
    assert not any(re.search(rf"\bexample.*\b{i}\b", str(settled)) for i in at_zero)
    # An edge within 30 tolerances of the largest.
    far = one.program.recover(one.d, active_tol=2e-3)
    assert len(far.doubtful_hypotheses) > 0
    assert re.search(rf"\bhypothesis.*\b{far.doubtful_hypotheses[0]}\b", str(far))


def test_equal_columns_have_no_unique_weights() -> None:
    one = known_program(ENTROPY, MaximumEdge(), 2)
    U = one.program.margins.to_array()
    twice = program(np.column_stack([U, U[:, 0]]), ENTROPY, MaximumEdge())
    recovery = twice.recover(one.d)
    assert not recovery.unique
    assert (recovery.rank, recovery.unknowns) == (ACTIVE + 1, ACTIVE + 2)
    assert f" {recovery.rank} for {recovery.unknowns} " in str(recovery)
    assert "unique" not in str(recovery) and "unique" in str(one.program.recover(one.d))
    assert recovery.certificate.gap < 1e-10
    assert recovery.w[0] + recovery.w[T] == pytest.approx(one.w[0], abs=1e-7)
    both = program(np.column_stack([U, -U[:, 0]]), ENTROPY, AbsoluteEdge()).recover(one.d)
    assert not both.unique  # two-sided, a column and its negative
    assert both.certificate.gap < 1e-10


def test_too_few_weights_inside_leave_w_open() -> None:
    """Every weight at its cap: the equations say nothing but sum w = 1."""
    rng = np.random.default_rng(3)
    F = CappedSimplexIndicator(CappedSimplex(np.ones(6), 6.0))
    recovery = program(rng.uniform(-1, 1, (6, 2)), F, MaximumEdge()).recover(np.full(6, 1 / 6))
    assert not recovery.unique
    assert recovery.certificate.gap < 1e-12


def test_weights_that_cannot_move_say_nothing() -> None:
    """References at a cap and at 0: whatever the margins there, no multiplier has to explain them."""
    rng = np.random.default_rng(4)
    nu = 8.0
    d0 = rng.dirichlet(np.full(N, 8.0))
    d0[:3], d0[3] = 1 / nu, 0.0
    d0[4:] = np.minimum(d0[4:] * (1 - 3 / nu) / d0[4:].sum(), 0.9 / nu)
    d0[4:] *= (1 - 3 / nu) / d0[4:].sum()
    F = BinaryEntropy(np.full(N, 1 / nu), 20.0, d0)
    one = known_program(F, MaximumEdge(), 5)
    recovery = one.program.recover(one.d)
    np.testing.assert_allclose(recovery.w, one.w, atol=1e-7)
    assert recovery.residual < 1e-7


PAIRS: dict[str, tuple[Regularizer, Callable[[np.ndarray, float], tuple[np.ndarray, EdgeFunction]]]] = {
    **{f"{name}, largest edge": (F, lambda U, least_edge: (U, MaximumEdge())) for name, F in ON_SIMPLEX.items()},
    "cap, two-sided": (CappedSimplexIndicator(CappedSimplex(C, 8.0)), lambda U, least_edge: (U, AbsoluteEdge())),
    "cap, bounded": (
        CappedSimplexIndicator(CappedSimplex(C, 8.0)),
        lambda U, least_edge: (U, BoundedEdges(least_edge + 0.05)),
    ),
    "cap, tied": (CappedSimplexIndicator(CappedSimplex(C, 8.0)), lambda U, least_edge: (U[:, :2], TiedEdges())),
    "entropy, two-sided": (ENTROPY, lambda U, least_edge: (U, AbsoluteEdge())),
    "entropy, bounded": (ENTROPY, lambda U, least_edge: (U, BoundedEdges(least_edge + 0.02))),
    "entropy, fixed": (ENTROPY, lambda U, least_edge: (U[:, :2], FixedEdges(0.02))),
    "entropy, tied": (ENTROPY, lambda U, least_edge: (U[:, :2], TiedEdges())),
    "entropy, squares": (ENTROPY, lambda U, least_edge: (U, SquaredEdges())),
    "entropy, linear": (ENTROPY, lambda U, least_edge: (U, LinearEdges(0.3))),
    "entropy, described": (ENTROPY, lambda U, least_edge: (U, CvxpyEdges(lambda e: cp.log_sum_exp(20 * e) / 20))),
    "binary, bounded": (BINARY, lambda U, least_edge: (U, BoundedEdges(least_edge + 0.02))),
    "binary, fixed": (BINARY, lambda U, least_edge: (U[:, :2], FixedEdges(0.02))),
    "penalty of order inf": (NormPenalty(simplex(C), C, math.inf, 3.0), lambda U, least_edge: (U, MaximumEdge())),
    "hinge, squares": (Hinge(C, 0.1), lambda U, least_edge: (U, SquaredPositiveEdges())),
    "hinge, bounded": (Hinge(C, 0.1), lambda U, least_edge: (U, BoundedEdges(1.0))),
    "hinge, support vector machine": (Hinge(C, 0.1), lambda U, least_edge: (U, SquaredEdges())),
    "logarithmic loss, squares": (
        LogarithmicLoss.from_multiplicities(C, 3.0),
        lambda U, least_edge: (U, SquaredPositiveEdges()),
    ),
    "logarithmic loss, bounded": (
        LogarithmicLoss.from_multiplicities(C, 3.0),
        lambda U, least_edge: (U, BoundedEdges(0.5)),
    ),
}


@pytest.mark.every(4, 1)
@pytest.mark.parametrize("name", PAIRS)
def test_d_alone_certifies_every_pair(name: str) -> None:
    """The certificate starts from the d of a solver, at its accuracy, without w."""
    F, make = PAIRS[name]
    rng = np.random.default_rng(11)
    base_U = rng.uniform(-1, 1, (N, T))
    bounds = (
        program(base_U, CappedSimplexIndicator(CappedSimplex(C, 8.0)), MaximumEdge())
        .solve("cvxpy:highs")
        .certificate.upper
    )
    columns, G = make(base_U, bounds)
    pair = program(columns, F, G)
    solution = pair.solve("cvxpy:clarabel", tol=1e-7)
    d = solution.attempts[-1].d
    assert d is not None
    certificate = pair.certify(d=d)
    assert certificate.gap <= 1e-6 * max(1.0, abs(certificate.upper))
    assert certificate.overlaps(solution.certificate)
    assert certificate.kkt.worst == np.inf  # no w was given: the conditions on it are not fulfilled


@pytest.mark.parametrize("name", ("lpboost", "erlpboost"))
def test_d_alone_certifies_random_programs(name: str) -> None:
    rng = np.random.default_rng([7, len(name)])
    for _ in range(8):
        pair = draw(rng, largest_N=40, largest_t=5, largest_eta=100).bind(name)
        solution = pair.solve("cvxpy:clarabel", tol=1e-9)
        certificate = pair.certify(d=solution.d)
        assert certificate.gap <= 1e-6 * max(1.0, abs(certificate.upper))
        assert certificate.overlaps(solution.certificate)


def test_the_answer_to_w_is_the_maximizer() -> None:
    pair = reference_erlpboost()
    w = np.array([0.5, 0.3, 0.2])
    np.testing.assert_array_equal(pair.example_weights(w), pair.regularizer.conjugate_at(-REFERENCE_U @ w).d)
    np.testing.assert_allclose(pair.example_weights(10 * w), pair.example_weights(w), atol=1e-15)
    with pytest.raises(ProblemError, match=r"\bw\b.*\bpositive\b"):
        pair.example_weights(np.zeros(3))
    with pytest.raises(ProblemError, match=r"\bw\b.*\b3\b.*\(2,\)"):
        pair.example_weights(np.zeros(2))


def test_a_d_that_had_to_be_moved_is_named() -> None:
    pair = reference_lpboost()
    best = pair.solve(tol=1e-9).d
    invalid = np.where(np.arange(6) == 1, np.nan, best)
    assert not re.search("moved|finite", str(pair.recover(best)))
    assert re.search(rf"\bd\b.*\bmoved\b.*{re.escape(f'{abs(best).max():.2e}')}", str(pair.recover(2 * best)))
    assert re.search(r"\bd\b.*\bfinite\b", str(pair.recover(invalid)))


@pytest.mark.parametrize("method", ["nnls", "least_squares"])
@pytest.mark.parametrize("r", [0.55, 0.6, 0.7])
def test_the_multiplier_of_a_ball_is_one_of_the_unknowns(r: float, method: str) -> None:
    U = np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [0.5, -0.25]])
    ball = get_formulation("norm_ball").bind(U, r=r, p=2.0)
    recovery = ball.recover(ball.solve("cvxpy:clarabel", tol=1e-10).d, method)
    assert recovery.unknowns == 4 and recovery.certificate.gap < 1e-6


def test_any_junk_is_recovered_from() -> None:
    rng = np.random.default_rng(0)
    F = CappedSimplexIndicator(CappedSimplex(np.ones(6), REFERENCE_NU))
    for pair in (reference_erlpboost(), program(REFERENCE_U, F, AbsoluteEdge())):
        best = pair.solve("cvxpy:clarabel", tol=1e-9).certificate
        for d in junk(6, rng):
            for method in ("nnls", "least_squares"):
                recovery = pair.recover(d, method)
                assert np.isfinite(recovery.w).all()
                assert (recovery.psi >= 0).all()
                assert (recovery.zeta >= 0).all()
                assert recovery.certificate.overlaps(best)
                assert str(recovery)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"method": "nls"}, OptionError, r"\bmethod\b.*'nls'.*'nnls'"),
        ({"active_tol": 0.0}, OptionError, r"\bactive_tol\b.*\(0, 0\.1\].* 0\.0\b"),
        ({"active_tol": 0.2}, OptionError, r"\bactive_tol\b.*\(0, 0\.1\].* 0\.2\b"),
        ({"active_tol": math.nan}, OptionError, r"\bactive_tol\b.*\(0, 0\.1\].* nan\b"),
        ({"d": np.ones(5)}, ProblemError, r"\bd\b.*\b6\b.*\(5,\)"),
    ],
    ids=["method", "within 0", "within 0.2", "within nan", "d"],
)
def test_bad_arguments_are_refused(arguments: dict[str, object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        reference_erlpboost().recover(**({"d": np.full(6, 1 / 6)} | arguments))  # pyright: ignore[reportArgumentType]


def test_no_warning_of_scipy_leaks_from_huge_slopes() -> None:
    """The squares of residuals overflow in its active-set method."""
    page, d = get_formulation("norm_penalty"), [1e-30, 5e-24, 1.4e-15, 1.3e-11, 2.7e-19, 3.75e-11]
    bound = page.bind([[-1.0], [1.0], [-1.0], [-1.0], [-1.0], [1.0]], c=[1e-100] * 6, p=70.79712109649928, r=4.35e93)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        certificate = bound.certify(d)
    assert certificate.lower <= certificate.upper


def test_multipliers_of_weights_that_are_no_optimum_are_named() -> None:
    bound = reference_erlpboost()
    d = np.array([0.3, 0.14, 0.14, 0.14, 0.14, 0.14])
    assert "no optimum" in str(bound.recover(d))
    assert "no optimum" not in str(bound.recover(bound.solve(tol=1e-10).d))


def test_inequalities_that_the_equations_violate_become_equations() -> None:
    """With margins of -1 and 1 few weights are inside their box: the equations alone leave multipliers open."""
    for seed in (3, 7, 9, 17):
        rng = np.random.default_rng(seed)
        shape = int(rng.integers(4, 10)), int(rng.integers(2, 6))
        bound = get_formulation("lpboost").bind(rng.choice([-1.0, 1.0], shape), nu=float(rng.integers(1, shape[0])))
        recovery = bound.recover(bound.solve("highs").d)
        assert recovery.residual <= 1e-10
        assert recovery.certificate.gap <= 1e-10


@pytest.mark.parametrize("G", (SquaredEdges(), LinearEdges(0.3)), ids=["squares", "linear"])
def test_weights_that_follow_from_the_edges_leave_beta_open_alone(G: EdgeFunction) -> None:
    pair = program(0.4 * np.random.default_rng(12).uniform(-1, 1, (N, T)), ENTROPY, G)
    solution = pair.solve("interior", tol=1e-12)
    recovery = pair.recover(solution.d)
    assert recovery.unknowns == 1 and recovery.residual < 1e-6 and np.abs(recovery.w).max() > 0.02
    multipliers = ENTROPY.conjugate_at(-pair.margins.margins(recovery.w)).multipliers
    assert recovery.beta == pytest.approx(float(multipliers["beta"]), abs=1e-6)


def test_multipliers_without_a_finite_residual_prove_no_optimum() -> None:
    one = known_linear(0, MaximumEdge())
    recovery = replace(one.program.recover(one.d), residual=math.nan)
    assert "no optimum" in str(recovery) and "no optimum" not in str(one.program.recover(one.d))
