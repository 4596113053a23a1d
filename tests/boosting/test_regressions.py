"""Mistakes of implementations of these algorithms, which must never happen here."""

from __future__ import annotations

import logging
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from plain_stumps import PlainStumps
from scipy.optimize import linprog
from support.problems import noisy_stumps

from boostopt import boost, get_formulation, load_dataset
from boostopt._utils.array_types import Array, Float
from boostopt.authoring import (
    COUNT,
    PER_EXAMPLE,
    AbsoluteEdge,
    BoundedEdges,
    CappedSimplex,
    CappedSimplexIndicator,
    MaximumEdge,
    parameter,
    prototype,
)
from boostopt.boosting import Run, Schedule
from boostopt.functions.regularizers.linear_tilt import Tilted
from boostopt.oracles import DecisionStumps, GivenMargins, Query, Stump

CAPPED: dict[str, dict[str, Any]] = {
    "lpboost": {},
    "erlpboost": {},
    "binary_erlpboost": {},
    "softboost": {},
    "binary_softboost": {},
    "unnormalized_erlpboost": {"eta": 50.0},
    "corrective_erlpboost": {},
    "corrective_binary_erlpboost": {},
}
"""Formulations whose distributions are capped by c / nu, and what they need besides nu and epsilon."""

SHORT = ("lpboost", "erlpboost", "binary_erlpboost", "softboost")

FINE = 1e-10
"""Scaled gap of solves that leave no choice to the oracle."""

U, NU, EPSILON = noisy_stumps(120, 40), 24.0, 0.05


def optimum(U: Float[Array, "N t"], nu: float, c: Float[Array, " N"] | None = None) -> float:
    """The largest soft margin, by scipy."""
    N, t = U.shape
    caps = (np.ones(N) if c is None else c) / nu
    return linprog(
        np.append(np.zeros(N), 1.0),
        A_ub=np.column_stack([U.T, -np.ones(t)]),
        b_ub=np.zeros(t),
        A_eq=np.append(np.ones(N), 0.0)[np.newaxis],
        b_eq=[1.0],
        bounds=[*((0.0, cap) for cap in caps), (None, None)],
    ).fun


def small() -> tuple[Float[Array, "n features"], Float[Array, " n"]]:
    """Every fifth example of breast_cancer, six features."""
    data = load_dataset("breast_cancer")
    assert data.X is not None
    assert data.y is not None
    return data.X[::5, :6].astype(np.float64), data.y[::5].astype(np.float64)


def counted_and_doubled() -> list[tuple[DecisionStumps, float]]:
    """All stumps on examples a third of which count twice, and on these written down twice; each with its nu."""
    X, y = small()
    c = 1.0 + (np.arange(len(y)) % 3 == 0)
    rows = np.repeat(np.arange(len(y)), c.astype(int))
    return [(PlainStumps(X, y, c), 0.2 * len(rows)), (PlainStumps(X[rows], y[rows]), 0.2 * len(rows))]


def run_of(name: str, oracle: Any, **options: Any) -> Run:
    parameters: dict[str, Any] = {"nu": NU, "epsilon": EPSILON, "history": True, **CAPPED[name], **options}
    return boost(name, oracle, **parameters)


@cache
def counts() -> Float[Array, " N"]:
    return np.random.default_rng(3).uniform(0.2, 3.0, len(U))


@cache
def counted_run(name: str) -> Run:
    """Return the run with multiplicities, which two tests look at."""
    return run_of(name, GivenMargins(U, c=counts()))


@pytest.mark.every(2)
@pytest.mark.parametrize("name", CAPPED)
def test_weights_are_never_all_zero(name: str) -> None:
    run = run_of(name, GivenMargins(U))
    assert run.rounds >= 2
    for k in range(1, run.rounds + 1):
        assert np.abs(run.at_round(k).w).sum() > 1e-6
    assert run.w.sum() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.every(2)
@pytest.mark.thorough_cases("corrective_binary_erlpboost")
@pytest.mark.parametrize("name", CAPPED)
def test_distributions_stay_below_the_cap_in_every_round(name: str) -> None:
    run = counted_run(name)
    for k in range(1, run.rounds + 1):
        d = run.at_round(k).d
        assert d.min() >= 0.0
        assert (d <= counts() / NU * (1 + 1e-12)).all()
        # That of the unnormalized entropy has another sum: only the others are distributions.
        assert name == "unnormalized_erlpboost" or d.sum() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.thorough_cases("binary_softboost")
@pytest.mark.parametrize("name", CAPPED)
def test_no_bound_is_on_the_wrong_side_of_the_linear_programs_optimum(name: str) -> None:
    best = optimum(U, NU, counts())
    run = counted_run(name)
    assert (run.trace["soft_margin"] <= best + 1e-9).all()
    assert (run.trace["upper"] >= best - 1e-9).all()
    certificate = run.class_certificate
    assert certificate.lower <= best + 1e-9
    assert certificate.upper >= best - 1e-9
    assert certificate.lower >= best - EPSILON


@pytest.mark.thorough
@pytest.mark.parametrize("name", SHORT)
@pytest.mark.parametrize("final_weights", ["program", "lp", "scaled"])
def test_a_column_that_stands_there_twice_changes_nothing(name: str, final_weights: str) -> None:
    once = run_of(name, GivenMargins(U), final_weights=final_weights)
    twice = run_of(name, GivenMargins(np.concatenate([U, U[:, ::-1]], axis=1)), final_weights=final_weights)
    assert twice.class_certificate.lower == pytest.approx(once.class_certificate.lower, abs=1e-8)
    assert twice.class_certificate.upper == pytest.approx(once.class_certificate.upper, abs=1e-8)
    columns = twice.record.pool.margins.to_array()
    assert len(np.unique(columns, axis=1).T) == columns.shape[1]


@pytest.mark.thorough_cases("erlpboost", "binary_erlpboost", "softboost")
@pytest.mark.parametrize("name", SHORT)
def test_a_feature_that_stands_there_twice_changes_nothing(name: str) -> None:
    X, y = small()
    once = run_of(name, PlainStumps(X, y), nu=0.2 * len(y))
    twice = run_of(name, PlainStumps(np.concatenate([X, X], axis=1), y), nu=0.2 * len(y), columns_per_round=1)
    assert twice.class_certificate.lower == pytest.approx(once.class_certificate.lower, abs=1e-8)
    assert twice.class_certificate.upper == pytest.approx(once.class_certificate.upper, abs=1e-8)


@pytest.mark.parametrize("name", ["softboost", "binary_softboost"])
def test_softboost_leaves_the_uniform_distribution(name: str) -> None:
    run = run_of(name, GivenMargins(U))
    uniform = np.full(len(U), 1 / len(U))
    for k in range(1, run.rounds):  # after the last round no distribution is below the bound of the edges
        earlier_run = run.at_round(k)
        gamma = run.trace["smallest_edge"][k - 1] - EPSILON
        assert earlier_run.program.parameters.gamma == pytest.approx(gamma, abs=1e-15)
        first = earlier_run.program.margins.column(0)
        # The first hypothesis must lose epsilon of its edge, and |u| <= 1.
        assert np.abs(earlier_run.d - uniform).sum() >= first @ uniform - gamma - 1e-3
        assert earlier_run.program.margins.edges(earlier_run.d).max() <= gamma + 1e-3


@pytest.mark.parametrize("name", ["corrective_erlpboost", "corrective_binary_erlpboost"])
def test_a_line_search_raises_the_program_at_least_as_much_as_the_step(name: str) -> None:
    oracle, whole = GivenMargins(U), get_formulation(name.removeprefix("corrective_"))
    run = run_of(name, oracle, update="line_search", max_rounds=60)
    eta = run.record.problem.template.parameters.eta
    values = run.trace["value"]
    assert (np.diff(values) >= -1e-12).all()
    for k in range(1, run.rounds):
        now = run.at_round(k)
        u = oracle.best(Query(now.d)).columns[0].margins.astype(np.float64)
        m = now.program.margins.margins(now.w)
        x = u - m
        alpha = min(max(float(x @ now.d) / (eta * np.abs(x).max() ** 2), 0.0), 1.0)
        margins = now.program.margins.append(u)
        step = whole.bind(margins, nu=NU, eta=eta)
        value = step.certify(w=np.append((1 - alpha) * now.w, alpha)).lower
        assert values[k] >= value - 1e-12
    plain = run_of(name, oracle, update="step", max_rounds=60)
    assert values[-1] > plain.trace["value"][-1]


@pytest.mark.thorough_cases("binary_erlpboost")
@pytest.mark.parametrize("name", ["erlpboost", "binary_erlpboost"])
def test_an_example_of_multiplicity_two_is_two_examples_in_every_round(name: str) -> None:
    # d(w) is unique, and here so accurate that both runs are answered with the same stumps.
    fine = Schedule(loosest=FINE, finest=FINE)
    counted, doubled = (run_of(name, oracle, nu=nu, schedule=fine) for oracle, nu in counted_and_doubled())
    assert list(counted.hypotheses) == list(doubled.hypotheses)
    for column in ("upper", "soft_margin", "value"):
        np.testing.assert_allclose(counted.trace[column], doubled.trace[column], rtol=0, atol=1e-6)


@pytest.mark.thorough_cases("erlpboost", "binary_erlpboost", "softboost")
@pytest.mark.parametrize("name", SHORT)
def test_an_example_of_multiplicity_two_is_two_examples(name: str) -> None:
    one, doubled = (run_of(name, oracle, nu=nu).class_certificate for oracle, nu in counted_and_doubled())
    assert one.lower <= doubled.upper
    assert doubled.lower <= one.upper
    assert max(one.gap, doubled.gap) <= EPSILON


@pytest.mark.thorough
def test_values_and_thresholds_of_a_doubled_example_are_the_same_at_the_optimum() -> None:
    runs = [run_of("lpboost", oracle, nu=nu, epsilon=1e-9) for oracle, nu in counted_and_doubled()]
    counted, doubled = runs
    assert counted.class_certificate.upper == pytest.approx(doubled.class_certificate.upper, abs=1e-8)
    assert counted.class_certificate.lower == pytest.approx(doubled.class_certificate.lower, abs=1e-8)
    X, _ = small()
    values = [np.unique(X[:, j]) for j in range(X.shape[1])]
    midpoints = [set((low[:-1] / 2 + low[1:] / 2).tolist()) for low in values]
    for run in runs:
        for h in run.hypotheses:
            assert isinstance(h, Stump)
            assert h.threshold in midpoints[h.feature]


def test_examples_of_multiplicity_zero_are_gone_before_thresholds_are_made() -> None:
    X, y = np.array([[0.0], [1.0], [2.0], [10.0]]), np.array([-1, -1, 1, 1])
    oracle = PlainStumps(X, y, [1, 1, 0, 1])
    assert oracle.N == 3
    run = boost("lpboost", oracle, nu=1, epsilon=0.01)
    assert run.hypotheses == [Stump(0, 5.5, 1, 1)]
    assert boost("lpboost", PlainStumps(X, y), nu=1).hypotheses == [Stump(0, 1.5, 1, 1)]


@pytest.mark.thorough_cases("erlpboost", "binary_erlpboost", "softboost")
@pytest.mark.parametrize("name", SHORT)
def test_examples_of_multiplicity_zero_are_as_if_they_were_not_there(name: str) -> None:
    X, y = small()
    has_weight = np.arange(len(y)) % 4 != 1
    nu = 0.2 * has_weight.sum()
    zero = run_of(name, PlainStumps(X, y, has_weight.astype(float)), nu=nu)
    smaller = run_of(name, PlainStumps(X[has_weight], y[has_weight]), nu=nu)
    assert list(zero.hypotheses) == list(smaller.hypotheses)
    np.testing.assert_array_equal(zero.w, smaller.w)
    np.testing.assert_array_equal(zero.d, smaller.d)


@pytest.mark.thorough
@pytest.mark.parametrize("name", SHORT)
def test_the_same_examples_in_other_clothes_give_the_same_run(name: str) -> None:
    X, y = small()
    nu = 0.2 * len(y)
    oracle = PlainStumps(X, y)
    run = run_of(name, oracle, nu=nu)
    for variant in (oracle, PlainStumps(X, (y + 1) / 2), PlainStumps(scipy.sparse.csr_array(X), y)):
        again = run_of(name, variant, nu=nu)
        assert list(again.hypotheses) == list(run.hypotheses)
        np.testing.assert_array_equal(again.w, run.w)
        np.testing.assert_array_equal(again.d, run.d)


@pytest.mark.thorough
def test_nobody_elses_logging_is_touched() -> None:
    root = logging.getLogger()
    old_setting = list(root.handlers), root.level
    run_of("erlpboost", GivenMargins(U))
    run_of("lpboost", GivenMargins(U), backend="cvxpy:clarabel")
    assert (list(root.handlers), root.level) == old_setting


@pytest.mark.parametrize("case", ["largest edge", "without a sign", "bounded edges"])
def test_a_program_below_minus_one_is_boosted_like_any_other(case: str) -> None:
    """Costs that are less by 5 lower everything by 5: before the first hypothesis nothing is known to be above -6."""
    rng = np.random.default_rng(3)
    X, y, z = rng.integers(0, 4, size=(24, 2)).astype(float), rng.integers(0, 2, 24), rng.normal(size=24)
    G: Any = {"largest edge": MaximumEdge, "without a sign": AbsoluteEdge, "bounded edges": partial(BoundedEdges, 0.9)}
    costs = prototype(
        "costs",
        lambda p, x: Tilted(CappedSimplexIndicator(CappedSimplex(x.c, p.nu)), p.z),
        lambda p: G[case](),
        nu=parameter("the count", COUNT),
        z=parameter("the costs", PER_EXAMPLE),
    )
    one, low = (boost(costs, DecisionStumps(X, y), nu=7, z=z - k, epsilon=1e-6, max_rounds=40) for k in (0.0, 5.0))
    assert one.rounds == low.rounds and one.class_certificate.gap == pytest.approx(low.class_certificate.gap, abs=1e-7)
    assert low.class_certificate.lower == pytest.approx(one.class_certificate.lower - 5.0, abs=1e-6)
    assert case == "bounded edges" or low.class_certificate.gap <= 1e-6
