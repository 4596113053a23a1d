"""Parameters that are functions of the round: the certificates of a run are those of its last program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from boostopt import OptionError, ProblemError, Run, boost, path, verify
from boostopt.authoring import COUNT, PER_EXAMPLE, CappedSimplex, CappedSimplexIndicator, Tilted, parameter, prototype
from boostopt.boosting import BoostOptions, certify_limits
from boostopt.boosting.run.trace import TraceRow
from boostopt.oracles import Budget, DecisionStumps, GivenMargins, LimitedClass

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 4))
y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.5 * RNG.normal(size=40) > 0.5, 1, -1)
STUMPS = DecisionStumps(X, y)


def doubled(number: int, row: TraceRow | None) -> float:
    """10, doubled every second round, up to 640."""
    return min(10.0 * 2.0 ** (number // 2), 640.0)


def from_gap(number: int, row: TraceRow | None) -> float:
    """The eta of theory for the accuracy that the run has reached."""
    return 10.0 if row is None else 2.0 * np.log(5.0) / max(row.bound - row.soft_margin, 0.05)


def best_soft_margin(U: np.ndarray, nu: float) -> float:
    """The largest soft margin of weights of all columns, by HiGHS."""
    N, t = U.shape
    answer = linprog(
        np.r_[np.zeros(t), -1.0, np.full(N, 1.0 / nu)],
        A_ub=np.hstack([-U, np.ones((N, 1)), -np.eye(N)]),
        b_ub=np.zeros(N),
        A_eq=[np.r_[np.ones(t), np.zeros(1 + N)]],
        b_eq=[1.0],
        bounds=[(0, None)] * t + [(None, None)] + [(0, None)] * N,
    )
    return -float(answer.fun)


@pytest.mark.thorough_cases("total", "line_search", "pairwise", "blended_pairwise", "mlpboost")
@pytest.mark.parametrize(
    "update", ["total", "step", "line_search", "pairwise", "blended_pairwise", "program", "mlpboost"]
)
def test_certificates_are_those_of_the_last_program(update: str, tmp_path: Path) -> None:
    run = boost("erlpboost", STUMPS, nu=8.0, eta=doubled, epsilon=0.02, update=update, max_rounds=25)
    parameters = run.problem.template.parameters
    assert parameters.eta == doubled(run.rounds, None) or parameters.eta == doubled(run.rounds + 1, None)
    assert run.program.parameters.eta == parameters.eta and len(run.trace) == run.rounds
    assert run.certificate.lower <= run.certificate.upper
    fixed = boost("erlpboost", STUMPS, nu=8.0, eta=parameters.eta, epsilon=0.001, update="total", rules="direct")
    interval, exact = run.class_certificate, fixed.class_certificate
    assert interval.lower <= exact.upper and exact.lower <= interval.upper
    run.save(tmp_path / "run.npz")
    loaded = Run.load(tmp_path / "run.npz")
    assert loaded.problem.template.parameters.eta == parameters.eta
    assert loaded.verify_class(STUMPS).upper == pytest.approx(interval.upper, abs=1e-9)
    run.save_certificate(tmp_path / "class.json", STUMPS)
    assert verify(tmp_path / "class.json", STUMPS)


@pytest.mark.parametrize("update", ["total", "step"])
def test_a_constant_function_is_a_number(update: str) -> None:
    arguments: dict[str, Any] = {"nu": 8.0, "epsilon": 0.05, "update": update, "max_rounds": 15}
    constant, number = (boost("erlpboost", STUMPS, eta=eta, **arguments) for eta in (lambda number, row: 40.0, 40.0))
    np.testing.assert_array_equal(constant.w, number.w)
    np.testing.assert_array_equal(constant.trace["upper"], number.trace["upper"])
    assert constant.reason == number.reason


def test_functions_get_the_round_and_the_last_row() -> None:
    calls: list[tuple[int, TraceRow | None]] = []

    def eta(number: int, row: TraceRow | None) -> float:
        calls.append((number, row))
        return 10.0 * number

    run = boost("erlpboost", STUMPS, nu=8.0, eta=eta, epsilon=1e-6, max_rounds=6, update="total")
    assert [number for number, _ in calls] == [1, 2, 3, 4, 5, 6] and run.rounds == 6
    assert [None if row is None else row.round for _, row in calls] == [None, 1, 2, 3, 4, 5]
    # After the last round nothing changes.
    assert run.problem.template.parameters.eta == 60.0


def test_eta_may_follow_the_gap() -> None:
    run = boost("erlpboost", STUMPS, nu=8.0, eta=from_gap, epsilon=0.05, update="total", rules="direct")
    assert run.reason.startswith("direct") and run.class_certificate.gap <= 0.05 + 1e-9
    assert run.problem.template.parameters.eta > 10.0


def test_a_run_ends_when_a_rule_holds_and_nothing_changes_next() -> None:
    def nu(change: int) -> Any:
        return lambda number, row: 30.0 if number < change else 8.0

    late = boost("lpboost", STUMPS, nu=nu(1000), epsilon=1e-3, update="total")
    assert late.problem.template.parameters.nu == 30.0 and late.reason.startswith("direct")
    # The rule holds at round `late.rounds`, in which the parameter changes for the next round.
    changed = boost("lpboost", STUMPS, nu=nu(late.rounds + 1), epsilon=1e-3, update="total")
    assert changed.rounds > late.rounds and changed.problem.template.parameters.nu == 8.0
    fixed = boost("lpboost", STUMPS, nu=8.0, epsilon=1e-3, update="total")
    assert changed.class_certificate.lower <= fixed.class_certificate.upper
    assert fixed.class_certificate.lower <= changed.class_certificate.upper
    assert changed.class_certificate.gap <= 1e-3 + 1e-9


@pytest.mark.every(10)
@pytest.mark.parametrize("seed", range(60))
def test_intervals_contain_the_optimum_of_the_last_program(seed: int) -> None:
    rng = np.random.default_rng(seed)
    U = rng.choice([-1.0, 1.0], (10, 12))
    values = rng.uniform(1.0, 9.0, size=30)
    update, name = [("total", "lpboost"), ("total", "erlpboost"), ("step", "erlpboost")][seed % 3]
    further: dict[str, Any] = {"eta": lambda number, row: 20.0 * number} if name == "erlpboost" else {}
    rounds = int(rng.integers(1, 9))
    run = boost(
        name,
        GivenMargins(U),
        nu=lambda number, row: values[number],
        epsilon=1e-3,
        max_rounds=rounds,
        update=update,
        **further,
    )
    nu = run.problem.template.parameters.nu
    assert nu in values[: rounds + 2]
    optimum, interval = best_soft_margin(U, nu), run.class_certificate
    assert interval.lower - 1e-9 <= optimum <= interval.upper + 1e-9
    assert run.verify_class(GivenMargins(U)).upper == pytest.approx(interval.upper, abs=1e-9)


def test_values_of_each_example_follow_the_rows() -> None:
    page = prototype(
        "offsets",
        lambda p, examples: Tilted(CappedSimplexIndicator(CappedSimplex(examples.c, p.nu)), p.offsets),
        nu=parameter("the number of examples", COUNT),
        offsets=parameter("what is added to each margin", PER_EXAMPLE),
    )
    c, offsets = np.where(np.arange(40) % 5 == 0, 0, 1), np.linspace(-0.1, 0.1, 40)
    oracle = DecisionStumps(X, y, c)
    run = boost(page, oracle, nu=8.0, offsets=lambda number, row: offsets / number, epsilon=1e-2, max_rounds=3)
    np.testing.assert_array_equal(run.problem.template.parameters.offsets, offsets[c > 0] / 3)


@pytest.mark.thorough
def test_limits_stay_when_parameters_change() -> None:
    oracle = LimitedClass(STUMPS, Budget(np.array([1.0, 0.5, 0.1, 0.1]), 0.4))
    run = boost("lpboost", oracle, nu=lambda number, row: 20.0 if number < 4 else 8.0, epsilon=1e-3)
    interval = certify_limits(run).interval
    fixed = certify_limits(boost("lpboost", oracle, nu=8.0, epsilon=1e-3)).interval
    assert interval.gap <= 2e-3 and interval.lower <= fixed.upper and fixed.lower <= interval.upper


def test_an_error_of_a_function_ends_the_run_with_its_rounds() -> None:
    def eta(number: int, row: TraceRow | None) -> float:
        return 10.0 if number < 4 else -1.0

    with pytest.warns(RuntimeWarning, match=r"\beta\b"):
        run = boost("erlpboost", STUMPS, nu=8.0, eta=eta, epsilon=1e-6, update="total", max_rounds=9)
    assert run.rounds == 3 and run.problem.template.parameters.eta == 10.0 and "eta" in run.reason


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"update": "newton"}, r"\beta\b.*\bround\b.*\bnewton\b.*\bPass\b"),
        ({"checkpoint": "run.npz"}, r"\bcheckpoint\b.*\beta\b.*\bLeave\b"),
        ({"history": True}, r"\bhistory\b.*\beta\b.*\bLeave\b"),
        ({"options": BoostOptions(history=True)}, r"\bhistory\b.*\beta\b.*\bLeave\b"),
    ],
)
def test_what_needs_one_program_is_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        boost("erlpboost", STUMPS, nu=8.0, eta=doubled, epsilon=0.05, **arguments)


def test_a_function_has_a_value_in_each_round() -> None:
    with pytest.raises(ProblemError, match=r"\beta\b.*\bNone\b.*\bReturn\b"):
        boost("erlpboost", STUMPS, nu=8.0, eta=lambda number, row: None, epsilon=0.05)
    with pytest.raises(OptionError, match=r"\beta\b.*\bfunction\b.*\bPass\b"):
        boost("erlpboost", STUMPS, nu=8.0, eta=lambda number: 10.0, epsilon=0.05)
    with pytest.raises(ProblemError, match=r"\bnu\b"):
        boost("lpboost", STUMPS, nu=lambda number, row: "many", epsilon=0.05)


def test_runs_without_a_history_have_no_earlier_rounds() -> None:
    run = boost("erlpboost", STUMPS, nu=8.0, eta=doubled, epsilon=0.05, update="total", max_rounds=4)
    with pytest.raises(OptionError, match=r"\bhistory\b"):
        run.at_round(2)


def test_a_path_follows_another_parameter_than_the_one_of_the_schedule() -> None:
    along = path("erlpboost", STUMPS, nu=[16, 8], eta=doubled, epsilon=0.05)
    for nu, run in along:
        assert run.program.parameters.nu == nu and run.program.parameters.eta in (doubled(run.rounds, None), 640.0)
        exact = best_soft_margin(np.array([[h(x[None]) for h in run.hypotheses] for x in X])[:, :, 0] * y[:, None], nu)
        assert run.class_certificate.upper >= exact - 1e-9
    with pytest.raises(OptionError, match="several values"):
        path("erlpboost", STUMPS, nu=8, eta=doubled, epsilon=0.05)
    with pytest.raises(ProblemError, match="round 1"):
        path("erlpboost", STUMPS, nu=[16, 8], eta=lambda number, row: None, epsilon=0.05)
