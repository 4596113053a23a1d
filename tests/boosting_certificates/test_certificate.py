"""The certificate: true whatever it is given."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from support.problems import (
    REFERENCE_U,
    draw,
    independent_bracket,
    junk_answer,
    noisy_stumps,
    reference_erlpboost,
    reference_lpboost,
)
from support.reference_formulas import program as program_of_pair

from boostopt import Certificate, ProblemError, Program, get_formulation
from boostopt.boosting_certificates.multiplier_recovery import ACTIVE_TOLERANCES
from boostopt.boosting_certificates.primal_dual_certifier import Certifier
from boostopt.functions.edge_functions.edge_bound_indicators import FixedEdges
from boostopt.functions.regularizers.base import ConjugatePoint
from boostopt.functions.regularizers.capped_simplex import CappedSimplex
from boostopt.functions.regularizers.capped_simplex_indicator import CappedSimplexIndicator
from boostopt.functions.regularizers.relative_entropy import RelativeEntropy
from boostopt.rows.margin_matrix import MarginMatrix

NAMES = ("lpboost", "erlpboost")


def assert_true(certificate: Certificate, bracket: tuple[float, float]) -> None:
    assert np.isfinite([certificate.lower, certificate.upper, certificate.gap]).all()
    assert certificate.lower <= certificate.upper
    assert certificate.lower <= bracket[1]
    assert certificate.upper >= bracket[0]


def assert_consistent(program: Program, certificate: Certificate) -> None:
    """The pair is feasible, the terms are non-negative and add up to the width."""
    scale = 1e-12 * (1 + program.regularizer.magnitude)
    assert max(program.regularizer.residuals(certificate.d).values()) <= 1e-13
    assert max(program.edge_function.residuals(certificate.w).values()) <= 1e-13
    assert (certificate.example_gaps >= 0).all()
    assert (certificate.hypothesis_gaps >= 0).all()
    assert certificate.gap == pytest.approx(certificate.upper - certificate.lower, abs=10 * scale)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", NAMES)
def test_no_answer_however_bad_breaks_a_bound(name: str, seed: int) -> None:
    """2000 random programs: 50 for each seed and formulation, each with several answers that are none."""
    rng = np.random.default_rng([seed, NAMES.index(name)])
    for _ in range(50):
        program = draw(rng, largest_N=24, largest_t=4).bind(name)
        bracket = independent_bracket(program)
        assert -1e-9 <= bracket[1] - bracket[0] <= 1e-5  # narrow enough to tell a wrong bound
        for _ in range(4):
            N, t = program.margins.shape
            certificate = program.certify(d=junk_answer(rng, N), w=junk_answer(rng, t))
            assert_true(certificate, bracket)
            assert_consistent(program, certificate)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", (0.7, -0.7, 1.0, 0.0))
def test_a_constant_column_at_large_N_keeps_lower_below_upper(name: str, value: float) -> None:
    N = 200_000
    program = get_formulation(name).bind(np.full((N, 1), value), nu=0.1 * N)
    certificate = program.certify(d=np.random.default_rng(0).random(N), w=[1.0])
    assert certificate.lower <= value <= certificate.upper
    assert certificate.gap < 1e-10


@pytest.mark.parametrize("eta", (0.5, 1e3, 1e6))
def test_everything_is_finite_at_large_N_and_eta(eta: float) -> None:
    N = 100_000
    U = noisy_stumps(N, 4)
    program = get_formulation("erlpboost").bind(U, nu=0.1 * N, eta=eta)
    certificate = program.certify(w=[1.0, 0.0, 0.0, 0.0])
    assert np.isfinite([certificate.lower, certificate.upper, certificate.gap]).all()
    assert np.isfinite(certificate.example_gaps).all()
    assert certificate.lower <= certificate.upper


def test_the_better_of_d_of_w_and_the_repaired_d_is_taken() -> None:
    program = reference_erlpboost()
    best = program.solve("cvxpy:clarabel", tol=1e-12)
    assert program.certify(w=best.w).d_is == "d(w)"
    good_d_bad_w = program.certify(d=best.d, w=[1.0, 0.0, 0.0])
    assert good_d_bad_w.d_is == "repaired"
    assert good_d_bad_w.upper == pytest.approx(best.certificate.upper, abs=1e-12)


def test_the_slack_of_a_program_is_positive_and_in_both_ends() -> None:
    program = reference_erlpboost()
    certificate = program.certify(w=[0.5, 0.5, 0.0])
    assert 0.0 < certificate.slack < 1e-12
    assert certificate.upper - certificate.lower >= 2 * certificate.slack


def test_without_any_answer_there_is_still_an_interval() -> None:
    for program in (reference_lpboost(), reference_erlpboost()):
        certificate = program.certify()
        assert certificate.lower <= program.solve().certificate.upper
        assert certificate.upper >= program.solve().certificate.lower
        assert certificate.kkt.worst == np.inf


@pytest.mark.parametrize("sides", [{"d": np.full(6, 1 / 6)}, {"w": np.array([0.5, 0.5, 0.0])}, {}])
def test_a_missing_side_violates_both_conditions_of_optimality(sides: dict[str, np.ndarray]) -> None:
    residuals = reference_lpboost().certify(**sides).kkt.residuals
    assert residuals["d optimal for w"] == residuals["w optimal for d"] == np.inf


def test_kkt_residuals_are_those_of_the_answer_as_it_came() -> None:
    program = reference_lpboost()
    solution = program.solve("cvxpy:highs", tol=1e-12)
    d, w = solution.d.copy(), solution.w.copy()
    assert program.certify(d, w).kkt.holds_within(1e-12)
    assert program.certify(2 * d, w).kkt.residuals["sum d = 1"] == pytest.approx(1.0)
    assert program.certify(d, -w).kkt.residuals["w >= 0"] == pytest.approx(w.max())
    d[np.argmin(d)] = -0.125
    assert program.certify(d, w).kkt.residuals["d >= lower"] == pytest.approx(0.125)
    kkt = program.certify(solution.d, [1.0, 0.0, 0.0]).kkt
    assert kkt.residuals["d optimal for w"] + kkt.residuals["w optimal for d"] > 0.1
    assert not kkt.holds_within(1e-3)
    assert program.certify(d=np.full(6, np.nan), w=w).kkt.worst == np.inf


def test_the_gap_blames_the_right_example_and_hypothesis() -> None:
    program = reference_lpboost()
    optimal = program.solve("cvxpy:highs", tol=1e-12)
    # Weight moved to a hypothesis of smaller edge: complementary slackness fails there and nowhere else.
    edges = program.margins.edges(optimal.d)
    certificate = program.certify(d=np.full(6, 1 / 6), w=[0.0, 0.0, 1.0])
    edges = program.margins.edges(certificate.d)
    np.testing.assert_allclose(certificate.hypothesis_gaps, [0, 0, edges.max() - edges[2]], atol=1e-15)
    assert optimal.certificate.hypothesis_gaps.sum() + optimal.certificate.example_gaps.sum() < 1e-13


def test_relative_gap_counts_small_objectives_in_full() -> None:
    program = get_formulation("erlpboost").bind(REFERENCE_U, nu=2.5, eta=1e6)
    certificate = program.certify(w=[0.3, 0.4, 0.3])
    size = max(abs(certificate.lower), abs(certificate.upper))
    assert size < 0.5 and certificate.relative_gap == pytest.approx(certificate.gap / size)
    assert certificate.scaled_gap == pytest.approx(certificate.gap)


@pytest.mark.parametrize(
    ("answer", "expected", "came"),
    [
        ({"d": [0.5, 0.5]}, "d must be 6 real numbers, shape (N,)", "(2,) of float64"),
        ({"w": np.ones((3, 1))}, "w must be 3 real numbers, shape (t,)", "(3, 1) of float64"),
        ({"w": ["a", "b", "c"]}, "w must be 3 real numbers, shape (t,)", "(3,) of <U1"),
        ({"d": np.ones(6) * 1j}, "d must be 6 real numbers, shape (N,)", "(6,) of complex128"),
    ],
    ids=["two numbers", "matrix", "text", "complex"],
)
def test_an_answer_of_another_shape_is_refused(answer: dict[str, object], expected: str, came: str) -> None:
    facts = rf"^{re.escape(expected)}; got shape {re.escape(came)}\. Pass\b.*\brow\b.*\bcolumn\b.*\bmargin matrix\.$"
    with pytest.raises(ProblemError, match=facts):
        reference_lpboost().certify(**answer)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("U", "nu", "c", "w", "optimum"),
    [
        ([[1.0]], 1 + 9e-13, None, [1], 1.0),
        (np.ones((4, 1)), 4 * (1 + 9e-13), None, [1], 1.0),
        ([[1, -0.9], [1, -0.8], [1, -0.7], [1, -0.6]], 2 * (1 + 9.9e-13), None, [1, 0], 1.0),
        (
            [[-1, 0.5], [-1, 0.5], [1, 1], [1, 0], [-1, 0.5]],
            28718.227193568273,
            [
                5.591470804387574e-06,
                28717.44780491991,
                2.1684122103132578e-08,
                1.6984587410163547e-10,
                0.7793830350371664,
            ],
            [0, 1],
            0.5,
        ),
    ],
)
def test_nu_within_rounding_of_a_sum_of_multiplicities(
    name: str, U: object, nu: float, c: object, w: object, optimum: float
) -> None:
    """If the count of examples is compared with a tolerance, the weights must still sum to 1."""
    program = get_formulation(name).bind(U, nu=nu, c=c)  # pyright: ignore[reportArgumentType]
    for certificate in (program.certify(), program.certify(w=w)):  # pyright: ignore[reportArgumentType]
        assert certificate.lower <= certificate.upper
        assert certificate.upper >= optimum - 1e-11
        assert certificate.contains(optimum) or abs(certificate.lower - optimum) < 1e-10
        assert (certificate.example_gaps >= 0).all()
        assert abs(certificate.d.sum() - 1) <= 1e-15 * max(4, len(certificate.d))


def test_selection_at_a_partial_sum_of_multiplicities() -> None:
    """The pivot fills nu exactly: it is not capped, or nothing would be left for the others."""
    N = 25_000
    for k in (1, 7, 40):
        program = get_formulation("erlpboost").bind(
            np.linspace(-1, 1, N)[:, np.newaxis], nu=3.0 * k, c=np.full(N, 3.0), eta=1e7
        )
        certificate = program.certify(w=[1.0])
        assert np.isfinite([certificate.lower, certificate.upper, certificate.gap]).all()
        assert certificate.lower <= certificate.upper


def test_huge_answers_are_measured_without_a_warning() -> None:
    program = reference_lpboost()
    certificate = program.certify(d=np.full(6, 1.7e308), w=np.full(3, 1.7e308))
    assert certificate.kkt.residuals["sum d = 1"] == np.inf
    assert certificate.lower <= certificate.upper


@pytest.mark.parametrize("tiny", (1e-300, 1e-310, 5e-324))
def test_a_subnormal_reference_weight_keeps_the_interval_finite(tiny: float) -> None:
    U = [[1, -1], [-1, 1], [0.5, 0.3], [-0.2, 0.9]]
    program = get_formulation("erlpboost").bind(U, nu=1.5, eta=10.0, d0=[1 - 2 * tiny, tiny, tiny, 0])
    certificate = program.solve("cvxpy:clarabel").certificate
    assert np.isfinite([certificate.lower, certificate.upper]).all()
    assert certificate.lower <= certificate.upper


def test_a_proof_of_infeasibility_is_narrow() -> None:
    program = reference_lpboost()
    for value_bound in (program.regularizer.value_bound, np.nan):
        proof = replace(program.certify(), lower=np.inf, upper=np.inf, excess=0.25, value_bound=value_bound)
        assert proof.gap == proof.scaled_gap == proof.relative_gap == 0.0


def test_edges_are_summed_once_for_each_candidate(monkeypatch: pytest.MonkeyPatch) -> None:
    """At large N the passes over U are what certifying costs."""
    program, summed = reference_erlpboost(), list[np.ndarray]()
    d = program.solve("cvxpy:clarabel", tol=1e-12).d
    edges = MarginMatrix.edges

    def counted(U: MarginMatrix, d: np.ndarray) -> np.ndarray:
        summed.append(d)
        return edges(U, d)

    monkeypatch.setattr(MarginMatrix, "edges", counted)
    answers = (d, np.array([1.0, 0.0, 0.0])), (d, None), (None, None)
    for answer in answers:
        summed.clear()
        d, w = answer
        Certifier(program.margins, program.regularizer, program.edge_function, d).certify(w)
        assert len(summed) == 2


def test_example_weights_are_certified_once_with_each_w(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hypothesis weights are those of the best hypothesis and of each tolerance of the sweep."""
    program, rng = reference_erlpboost(), np.random.default_rng(0)
    optimal_d = program.solve("interior", tol=1e-12).d
    points = [optimal_d * (1 + size * rng.uniform(-1, 1, len(optimal_d))) for size in (1e-8, 1e-6, 1e-4, 1e-2)]
    conjugate_at, counts = RelativeEntropy.conjugate_at, list[int]()

    def counted(F: RelativeEntropy, z: np.ndarray, start: np.ndarray | None = None) -> ConjugatePoint:
        counts[-1] += 1
        return conjugate_at(F, z, start)

    for d in (optimal_d, *points):
        recovered = {program.recover(d, active_tol=tolerance).w.tobytes() for tolerance in ACTIVE_TOLERANCES}
        certifier = Certifier(program.margins, program.regularizer, program.edge_function, d)
        # The w are compared at the repaired d, which another repair may move by a rounding error.
        again = certifier.for_feasible_d is not certifier
        with monkeypatch.context() as patch:
            patch.setattr(RelativeEntropy, "conjugate_at", counted)
            counts.append(0)
            program.certify(d)
        assert counts[-1] == 1 + len(recovered) + again
    # Where tolerances lead to the same w these are one; how many are is a matter of the last bit.
    assert min(counts) < 1 + len(ACTIVE_TOLERANCES)


def test_an_interval_that_is_not_finite_is_never_narrow() -> None:
    certificate = reference_lpboost().certify()
    for ends in ({"lower": -np.inf}, {"upper": np.inf}, {"lower": np.inf, "upper": np.inf}):
        assert replace(certificate, **ends).scaled_gap == np.inf


@pytest.mark.parametrize("name", ["svm", "lpboost", "l1_adaboost"])
def test_the_slack_widens_both_ends(name: str) -> None:
    """Also if the rounding of one end is smaller: these weights are much smaller than those of the best response."""
    program = get_formulation(name).bind(REFERENCE_U, **({"nu": 2.0} if name == "lpboost" else {"C": 1e3}))
    F, G = program.regularizer, program.edge_function
    N, t = program.margins.shape
    for w in (np.full(t, 1.0 / t), np.full(t, -1e3), np.zeros(t)):
        certificate = program.certify(np.full(N, 1e-6), w)
        exact = Fraction(F.value(certificate.d)) + Fraction(G.value(program.margins.edges(certificate.d)))
        assert Fraction(certificate.upper) >= exact + Fraction(certificate.slack)


def test_the_slack_of_cancelling_margins_is_in_proportion_to_the_hypothesis_weights() -> None:
    """The margins of these weights are rounding errors of their terms; no float shows which of them is the smallest."""
    F = CappedSimplexIndicator(CappedSimplex(np.ones(4), 1.0))
    for seed in range(20):
        U = np.random.default_rng(seed).uniform(-1.0, 1.0, (4, 6))
        certificate = program_of_pair(U, F, FixedEdges(0.0)).certify(w=1e8 * np.linalg.svd(U)[2][-1])
        w = [Fraction(weight) for weight in certificate.w.tolist()]
        smallest_edge = min(sum(Fraction(u) * weight for u, weight in zip(row, w, strict=True)) for row in U.tolist())
        # Margins that are all positive prove infeasibility; then every lower bound is true.
        assert Fraction(certificate.lower) <= smallest_edge if np.isfinite(certificate.lower) else smallest_edge > 0
