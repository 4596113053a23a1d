"""Column generation with a loss and a penalty: against the program over the whole class."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from boostopt import Run, boost, get_formulation
from boostopt.boosting.boosting_problem import Problem
from boostopt.oracles import DecisionStumps

pytestmark = pytest.mark.every(2)

NUMBERS = {"C": 0.1, "mu": 0.5, "nu": 8.0, "alpha": 0.2, "r": 2.0, "l1": 0.4, "l2": 0.05}
LOSSES = ("hinge", "smoothed_hinge", "squared_hinge", "modified_huber", "logistic", "exponential")
SPARSE = ("simplex", "l1", "signed_l1", "l1_ball", "signed_l1_ball")
"""Penalties whose optimum has few hypotheses with weight, and over a whole class follows from its largest edge."""


def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = np.round(rng.uniform(-1, 1, (50, 3)), 1)
    return X, np.where(X @ [1.0, -0.7, 0.2] + rng.normal(0, 0.4, 50) > 0, 1, -1)


def whole_class() -> np.ndarray:
    """The margins of every decision stump, both directions."""
    X, y = data()
    columns = []
    for x in X.T:
        values = np.unique(x)
        for threshold in (values[1:] + values[:-1]) / 2:
            h = np.where(x > threshold, 1.0, -1.0)
            columns += [y * h, -y * h]
    return np.array(columns).T


def boosted(name: str, **options: object) -> tuple[Run, float]:
    """A run, and the optimum over the whole class."""
    formulation = get_formulation(name)
    numbers = {key: NUMBERS[key] for key in formulation.parameters}
    run = boost(formulation, DecisionStumps(*data()), epsilon=1e-3, **numbers, **options)  # pyright: ignore[reportArgumentType]
    return run, formulation.bind(whole_class(), **numbers).solve(tol=1e-9).certificate.lower


@pytest.mark.every(8)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("penalty", SPARSE)
def test_the_optimum_of_the_class_lies_in_the_interval_that_its_largest_edge_proves(loss: str, penalty: str) -> None:
    run, best = boosted(f"{loss}+{penalty}")
    over_class = run.class_certificate
    assert over_class.lower - 1e-8 <= best <= over_class.upper + 1e-8
    assert over_class.gap <= 1e-3 + 1e-9
    assert len(run.w) < whole_class().shape[1]
    again = run.verify_class(DecisionStumps(*data()))
    assert again.upper == pytest.approx(over_class.upper, abs=1e-9)
    margin = penalty == "simplex" and loss in ("soft_margin", "cvar")
    assert over_class.quantity == ("soft margin" if margin else "value of the program")


@pytest.mark.parametrize("C", (0.03, 1.02, 10.0, 1000.0))
@pytest.mark.parametrize("epsilon", (0.01, 0.5))
def test_the_price_of_a_loss_counts_whatever_the_run_goes_by(C: float, epsilon: float) -> None:
    """Histogram Newton supports the logarithmic loss at its own scale only."""
    X, y = data()
    run = boost("logistic+simplex", DecisionStumps(X, y), C=C, epsilon=epsilon)
    best = get_formulation("logistic+simplex").bind(whole_class(), C=C).solve(tol=1e-9).certificate
    over_class = run.class_certificate
    assert over_class.lower - 1e-8 * C <= best.lower and best.upper <= over_class.upper + 1e-8 * C
    assert over_class.gap <= epsilon + 1e-9


@pytest.mark.every(2)
@pytest.mark.parametrize("loss", ("squared_hinge", "smoothed_hinge", "hinge", "exponential"))
@pytest.mark.parametrize("C", (1.0, 100.0))
def test_runs_with_a_small_price_of_the_1_norm_end_within_epsilon(loss: str, C: float) -> None:
    rng = np.random.default_rng(0)
    X, y = np.round(rng.uniform(-1, 1, (10, 2)), 1), rng.choice([-1, 1], 10)
    run = boost(f"{loss}+signed_l1", DecisionStumps(X, y), C=C, l1=0.02, epsilon=0.01)
    assert run.reason.startswith("priced") and run.class_certificate.gap <= 0.01


@pytest.mark.thorough
def test_the_witness_of_a_bound_lies_in_the_domain_however_large_its_weights() -> None:
    run = boost("hinge+l1", DecisionStumps(*data()), C=1e17, l1=1.0, epsilon=0.01, max_rounds=5)
    d = run.class_certificate.d
    assert d is not None and (d >= 0.0).all()


def test_a_radius_far_larger_than_the_price_rounds_no_bound_down() -> None:
    """F + r times the largest edge, in exact fractions, is not above the bound."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        r, edge = float(np.exp(rng.uniform(0, 40))), float(rng.uniform(0, 1e-6))
        problem = Problem.create(get_formulation("hinge+l1_ball"), np.ones(3), None, 0.01, "total", {"C": 1e-6, "r": r})
        d = np.asarray(1e-6 * rng.random(3))
        upper, proof = problem.class_upper_bound(d, edge)
        assert Fraction(upper) >= Fraction(r) * Fraction(edge) - sum(map(Fraction, proof.tolist()))


@pytest.mark.thorough_cases("smoothed_hinge-l2_squared-0.05")
@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("penalty", "l2"),
    [
        ("l2_squared", 0.05),
        ("l2_ball", 0.0),
        ("elastic_net", 0.05),
        ("elastic_net", 1.0),
        ("signed_elastic_net", 1.0),
        ("linf_ball", 0.0),
    ],
)
@pytest.mark.parametrize("loss", ("smoothed_hinge", "logistic"))
def test_penalized_run_leaves_no_hypothesis_that_improves_more_than_epsilon(
    loss: str, penalty: str, l2: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(NUMBERS, "l2", l2)
    run, best = boosted(f"{loss}+{penalty}")
    assert run.reason.startswith("priced")
    certificate = run.certificate
    assert certificate.lower <= best + 1e-9
    # Any further hypothesis adds at most epsilon under the d of the run.
    program, U = run.program, whole_class()
    G, d = program.edge_function, run.record.state.d
    columns = np.asarray(run.record.pool.margins.to_array(), dtype=float).T
    # If weights may have either sign, the negation of a hypothesis is the same hypothesis.
    pool_columns = {column.tobytes() for column in [*columns, *(-columns if G.is_symmetric else [])]}
    candidates = [column for column in U.T if np.ascontiguousarray(column).tobytes() not in pool_columns]
    e = run.record.pool.margins.edges(d)
    for column in candidates:
        assert G.value(np.append(e, column @ d)) - G.value(e) <= 1e-3 + 1e-9


def test_class_certificate_without_an_optimum_says_so() -> None:
    run = boost("cvar+signed_l1", DecisionStumps(*data()), epsilon=1e-3, alpha=0.5, l1=0.02)
    assert run.certificate.infeasible
    assert "infeasible" in str(run.class_certificate)


@pytest.mark.thorough
def test_hypotheses_of_equal_margins_do_not_end_a_run() -> None:
    """An oracle that is asked for two may return one, where the second has the margins of the first."""
    X, y = data()
    twice = np.column_stack([X, X])
    one, both = (boost("hinge+linf_ball", DecisionStumps(x, y), epsilon=1e-3, C=0.1, r=0.05) for x in (X, twice))
    assert len(both.w) == len(one.w) > 20
    assert both.certificate.lower == pytest.approx(one.certificate.lower, abs=1e-6)


@pytest.mark.parametrize("name", ("hinge+l1", "logistic+signed_l1_ball"))
def test_a_run_is_saved_with_what_it_proves_of_the_class(name: str, tmp_path: Path) -> None:
    run, _ = boosted(name)
    run.save(tmp_path / "run")
    loaded = Run.load(tmp_path / "run")
    assert loaded.class_certificate.upper == run.class_certificate.upper
    assert loaded.class_certificate.lower == pytest.approx(run.class_certificate.lower, abs=1e-9)
    assert loaded.program.formulation.name == name
