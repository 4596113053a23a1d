"""Runs that begin with what an earlier run collected, and the paths that are made of them."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from noisy_stumps import stumps, trees
from random_classes import LP, SEEDS, draw_class

from boostopt import OptionError, ProblemError, boost, get_formulation, path
from boostopt.boosting.run.run import Run
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.boosting.run.trace import TraceRow
from boostopt.boosting.stabilization import Stabilization
from boostopt.oracles import GivenMargins

TOTAL = ("lpboost", "erlpboost", "binary_erlpboost", "softboost", "binary_softboost")
EPSILON = 0.02


def overlap(one: Run, reference: Run) -> bool:
    a, b = one.class_certificate, reference.class_certificate
    return max(a.lower, b.lower) <= min(a.upper, b.upper)


@pytest.mark.thorough
@pytest.mark.parametrize("formulation", [*TOTAL, "corrective_erlpboost"])
def test_a_run_that_begins_with_another_proves_the_same_optimum(formulation: str) -> None:
    epsilon = 0.2 if formulation.startswith("corrective") else EPSILON
    oracle = stumps(60)
    first = boost(formulation, oracle, nu=12, epsilon=epsilon)
    cold = boost(formulation, oracle, nu=9, epsilon=epsilon)
    warm = boost(formulation, oracle, nu=9, epsilon=epsilon, start=first)
    assert overlap(cold, warm)
    assert warm.class_certificate.gap <= epsilon + 1e-9
    assert warm.rounds < cold.rounds
    assert warm.hypotheses[: len(first.hypotheses)] == first.hypotheses


@pytest.mark.thorough
@pytest.mark.parametrize("formulation", ["l1_adaboost", "qp_reg_adaboost", "svm"])
def test_programs_without_a_soft_margin_reach_the_optimum_of_the_class_cold_and_warm(formulation: str) -> None:
    U = np.random.default_rng(5).uniform(-1, 1, (40, 25))
    U[:, :5] = np.clip(U[:, :5] + 0.5, -1, 1)
    even = formulation == "svm"  # edges without a sign: a hypothesis stands for its negation
    whole = get_formulation(formulation).bind(U, C=0.12).solve(tol=1e-9).certificate
    first = boost(formulation, GivenMargins(U, reflexive=even), C=0.1, epsilon=1e-9)
    cold = boost(formulation, GivenMargins(U, reflexive=even), C=0.12, epsilon=1e-9)
    warm = boost(formulation, GivenMargins(U, reflexive=even), C=0.12, epsilon=1e-9, start=first)
    for run in (cold, warm):
        # Weights over some hypotheses are weights over all, so that the value of the class is no smaller.
        assert run.certificate.lower <= whole.upper
        assert run.certificate.upper >= whole.lower - 1e-6 * max(1.0, abs(whole.lower))
    assert warm.rounds < cold.rounds


@pytest.mark.thorough_cases("1")
@pytest.mark.parametrize("seed", SEEDS[:4])
def test_the_interval_holds_what_linear_programming_finds(seed: int) -> None:
    one = draw_class(seed)
    larger_nu = min(one.nu + 2.0, one.total)
    oracle = GivenMargins(one.U, c=one.c)
    first = boost("erlpboost", oracle, nu=one.nu, epsilon=0.1)
    run = boost("lpboost", oracle, nu=larger_nu, epsilon=0.05, start=first)
    best = one.optimum_of(one.U, larger_nu)
    assert run.class_certificate.lower - LP <= best <= run.class_certificate.upper + LP
    assert run.class_certificate.gap <= 0.05 + LP


@pytest.mark.thorough
def test_the_same_problem_again_stops_before_a_round() -> None:
    oracle = stumps(60)
    first = boost("erlpboost", oracle, nu=12, epsilon=EPSILON)
    again = boost("erlpboost", oracle, nu=12, epsilon=EPSILON, start=first)
    assert again.rounds == 0
    assert len(again.trace) == 0
    assert again.reason.startswith(("direct", "regularized"))
    assert again.class_certificate.gap <= EPSILON
    assert "rounds" in again._repr_html_()  # pyright: ignore[reportPrivateUsage]


@pytest.mark.every(3)
@pytest.mark.parametrize("formulation", ["lpboost", "erlpboost", "softboost"])
def test_a_run_with_another_epsilon_keeps_the_upper_bound_of_its_start(formulation: str) -> None:
    oracle = stumps(30)
    first = boost(formulation, oracle, nu=6, epsilon=0.1, update="total")
    for epsilon, nu in ((0.2, 6.0), (0.02, 6.0), (0.02, 5.0)):
        limited = boost(formulation, oracle, nu=nu, epsilon=epsilon, update="total", start=first, max_rounds=1)
        assert nu < 6.0 or limited.class_certificate.upper <= first.class_certificate.upper
        verified = limited.verify_class(stumps(30)).upper
        assert verified == pytest.approx(limited.class_certificate.upper, abs=1e-12)


def test_a_projection_goes_on_as_if_it_had_not_stopped() -> None:
    oracle = stumps(60)
    half = boost("adaboost", oracle, max_rounds=15)
    whole = boost("adaboost", oracle, max_rounds=30)
    continued = boost("adaboost", oracle, max_rounds=15, start=half)
    assert continued.hypotheses == whole.hypotheses
    np.testing.assert_allclose(continued.w, whole.w, rtol=1e-9)


def test_numbers_of_fits_go_on() -> None:
    oracle = trees(50)
    first = boost("erlpboost", oracle, nu=10, max_rounds=5)
    continued = boost("erlpboost", oracle, nu=5, max_rounds=5, start=first)
    assert len(set(continued.hypotheses)) == len(continued.hypotheses)
    assert oracle.state() == {"calls": 0}


@pytest.mark.thorough
def test_a_run_from_a_file_is_as_good(tmp_path: Path) -> None:
    oracle = stumps(60)
    boost("softboost", oracle, nu=12, epsilon=EPSILON).save(tmp_path / "run.npz")
    warm = boost("softboost", oracle, nu=9, epsilon=EPSILON, start=Run.load(tmp_path / "run.npz"))
    assert overlap(warm, boost("softboost", oracle, nu=9, epsilon=EPSILON))


@pytest.mark.thorough
def test_a_run_over_other_examples_is_refused() -> None:
    with pytest.raises(OptionError, match=r"^start\b.*\bdigest\b"):
        boost("erlpboost", stumps(60), nu=9, start=boost("erlpboost", stumps(60, seed=4), nu=9))


@pytest.mark.thorough
@pytest.mark.parametrize("formulation", ["lpboost", "erlpboost", "softboost"])
def test_a_path_has_the_optima_of_single_runs(formulation: str) -> None:
    oracle, values = stumps(60), [6.0, 20.0, 12.0]
    along = path(formulation, oracle, nu=values, epsilon=EPSILON)
    assert along.parameter == "nu"
    assert along.values.tolist() == values
    for (value, run), seconds in zip(along, along.seconds, strict=True):
        assert run.record.problem.template.parameters.nu == value
        assert overlap(run, boost(formulation, oracle, nu=value, epsilon=EPSILON))
        assert seconds > 0
    assert (along.upper - along.lower <= EPSILON + 1e-9).all()
    np.testing.assert_array_equal(along.soft_margin, along.lower)


@pytest.mark.thorough
def test_weights_of_a_path_are_of_one_list_of_hypotheses() -> None:
    oracle = stumps(60)
    along = path("erlpboost", oracle, nu=9, eta=[10.0, 200.0, 50.0])
    assert len(along) == 3
    assert along.weights.shape == (3, len(along.hypotheses))
    for row, run in zip(along.weights, along.runs, strict=True):
        assert along.hypotheses[: len(run.w)] == run.hypotheses
        np.testing.assert_array_equal(row[: len(run.w)], run.w)
        assert not row[len(run.w) :].any()
    assert along.active.tolist() == [np.count_nonzero(run.w) for run in along.runs]
    assert along.rounds.tolist() == [run.rounds for run in along.runs]
    assert re.search(r"\b3\b.*\beta\b.*\b10\b.*\b200\b", repr(along))
    assert "eta" in along._repr_html_()  # pyright: ignore[reportPrivateUsage]


def test_a_path_of_a_program_without_a_soft_margin_shows_its_own_intervals() -> None:
    along = path("log_loss", stumps(60), eta=[1.0, 4.0], max_rounds=5)
    assert "over the " in along._repr_html_()  # pyright: ignore[reportPrivateUsage]


@pytest.mark.thorough
def test_an_interrupted_path_has_what_was_reached() -> None:
    bounds: list[float] = []

    def interrupt(row: TraceRow) -> None:
        if len(bounds) == 1 and row.round == 1:
            os.kill(os.getpid(), signal.SIGINT)

    def note(value: float, run: Run) -> None:
        bounds.append(value)

    along = path("erlpboost", stumps(60), nu=[4.0, 20.0, 10.0], epsilon=EPSILON, on_run=note, progress=interrupt)
    assert bounds == [20.0, 10.0]
    assert along.values.tolist() == [20.0, 10.0]
    assert along.runs[1].reason == StopReason.INTERRUPTED
    assert along.runs[1].class_certificate.has_upper_bound


@pytest.mark.parametrize(
    ("options", "facts"),
    [
        ({}, r"\berlpboost\b.*\beta\b.*\bnone\b"),
        ({"nu": 5.0, "epsilon": [0.1, 0.2]}, r"\berlpboost\b.*\beta\b.*\bnu\b.*\(\)"),
        ({"nu": 5.0}, r"\berlpboost\b.*\beta\b.*\bnu\b.*\(\)"),
        ({"nu": [5.0], "eta": [1.0]}, r"\berlpboost\b.*\bnu\b.*\(1,\).*\beta\b.*\(1,\)"),
        ({"nu": []}, r"^a path .*\bnu;"),
        ({"nu": [5.0, 6.0], "start": None}, r"^start\b.*\b2\b"),
        ({"nu": [5.0, 6.0], "checkpoint": "here"}, r"^checkpoint\b.*\b2\b"),
    ],
    ids=["nothing", "number, list", "a number", "two lists", "empty", "start", "checkpoint"],
)
def test_invalid_paths_are_refused(options: Any, facts: str) -> None:
    with pytest.raises(OptionError, match=facts):
        path("erlpboost", stumps(60), **options)


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("formulation", "parameters"),
    [
        ("l1_adaboost", {"C": [0.1, 0.02, 0.05]}),
        ("norm_ball", {"r": [0.2, 0.15], "p": 2.0}),
        ("hinge+l1", {"C": 1.0, "l1": [2.0, 1.0]}),
    ],
)
def test_a_path_goes_along_any_parameter(formulation: str, parameters: dict[str, Any]) -> None:
    oracle = stumps(60)
    along = path(formulation, oracle, epsilon=EPSILON, **parameters)
    for value, nu_run in along:
        settings: dict[str, Any] = {**parameters, along.parameter: value}
        single_run = boost(formulation, oracle, epsilon=EPSILON, update="total", **settings)
        ends = [
            run.certificate if nu_run.record.problem.objective is None else run.class_certificate
            for run in (nu_run, single_run)
        ]
        assert max(end.lower for end in ends) <= min(end.upper for end in ends) + 1.1 * EPSILON
    assert list(along.values) == parameters[along.parameter]


def test_a_value_out_of_its_domain_is_refused() -> None:
    with pytest.raises(ProblemError, match="nu"):
        path("erlpboost", stumps(60), nu=[5.0, 1000.0])


@pytest.mark.thorough
def test_a_stabilized_path_is_as_true() -> None:
    oracle = stumps(60)
    along = path(
        "lpboost", oracle, nu=[6.0, 9.0, 12.0], epsilon=EPSILON, stabilization=Stabilization(inner=0.5, idle=1)
    )
    for value, run in along:
        assert overlap(run, boost("lpboost", oracle, nu=value, epsilon=EPSILON))
