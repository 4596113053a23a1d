"""scikit-learn's breast_cancer, all stumps, nu = 0.1 N: what is certified over the class, with any backend."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from plain_stumps import PlainStumps
from scipy.optimize import linprog

from benchmarks import lp_backends
from boostopt import boost, load_dataset
from boostopt.boosting import Run
from boostopt.oracles import DecisionStumps

OPTIMUM = 0.169879
"""The largest soft margin over all stumps, to six digits."""

DIGITS = 5e-7

LINEAR = ("highs", *lp_backends.BACKENDS)

PAGE = Path(__file__).parents[2] / "docs" / "boosting.md"


@pytest.fixture(scope="module")
def oracle() -> DecisionStumps:
    data = load_dataset("breast_cancer")
    assert data.X is not None
    assert data.y is not None
    return PlainStumps(data.X, data.y)


@pytest.fixture(scope="module")
def runs(oracle: DecisionStumps) -> dict[str, Run]:
    """LPBoost with each solver of linear programs."""
    nu = 0.1 * oracle.N
    return {name: boost("lpboost", oracle, nu=nu, epsilon=1e-4, backend=name, history=True) for name in LINEAR}


def all_stumps() -> np.ndarray:
    """Margins of every stump in both directions, made threshold by threshold."""
    data = load_dataset("breast_cancer")
    assert data.X is not None
    assert data.y is not None
    columns = [
        np.where(x > threshold, 1, -1) * data.y
        for x in data.X.T
        for low, high in zip(np.unique(x)[:-1], np.unique(x)[1:], strict=True)
        for threshold in [low / 2 + high / 2]
    ]
    one_way = np.unique(np.array(columns), axis=0).T
    return np.concatenate([one_way, -one_way], axis=1).astype(np.float64)


@pytest.mark.thorough
def test_the_optimum_is_that_of_scipys_linear_program_and_no_stump_at_all_improves_it(runs: dict[str, Run]) -> None:
    U = runs["highs"].record.pool.margins.to_array()
    N, t = U.shape
    result = linprog(
        np.append(np.zeros(N), 1.0),
        A_ub=np.column_stack([U.T, -np.ones(t)]),
        b_ub=np.zeros(t),
        A_eq=np.append(np.ones(N), 0.0)[np.newaxis],
        b_eq=[1.0],
        bounds=[*[(0.0, 1 / (0.1 * N))] * N, (None, None)],
    )
    assert result.fun == pytest.approx(OPTIMUM, abs=DIGITS)
    assert (all_stumps().T @ result.x[:N]).max() <= result.fun + 1e-9


@pytest.mark.thorough
@pytest.mark.parametrize("backend", LINEAR)
def test_lpboost_is_certified_over_the_class_to_1e_4(runs: dict[str, Run], backend: str) -> None:
    run = runs[backend]
    certificate = run.class_certificate
    assert certificate.has_upper_bound
    assert certificate.lower <= OPTIMUM + DIGITS
    assert certificate.upper >= OPTIMUM - DIGITS
    assert certificate.gap <= 1e-4
    assert run.reason.startswith("direct")
    # The upper bound is what its d proves, and d lies within the cap.
    d = certificate.d
    assert d is not None
    assert d.max() <= 1 / (0.1 * len(d)) + 1e-15
    assert d.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.thorough
def test_the_bound_is_the_largest_edge_of_every_stump(runs: dict[str, Run]) -> None:
    edges = all_stumps().T
    for run in runs.values():
        d = run.class_certificate.d
        assert d is not None
        assert float((edges @ d).max()) == pytest.approx(run.class_certificate.upper, abs=1e-12)


@pytest.mark.thorough
def test_intervals_over_the_class_overlap_whatever_solved_the_programs(runs: dict[str, Run]) -> None:
    certificates = [run.class_certificate for run in runs.values()]
    assert max(one.lower for one in certificates) <= min(one.upper for one in certificates)


@pytest.mark.thorough
def test_lpboost_goes_another_way_with_each_solver(runs: dict[str, Run]) -> None:
    # The optimal d is not unique while few hypotheses are known: each solver returns its own, and gets another answer.
    ways = {tuple(run.hypotheses) for run in runs.values()}
    assert len(ways) >= 3
    dual, interior = runs["highs:dual"], runs["interior"]
    assert np.abs(dual.at_round(5).d - interior.at_round(5).d).sum() >= 0.1
    simplex = [np.count_nonzero(run.w) for name, run in runs.items() if name in ("highs:dual", "highs:primal")]
    assert max(simplex) < np.count_nonzero(interior.w)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["erlpboost", "binary_erlpboost", "softboost"])
def test_the_entropies_are_within_their_epsilon(oracle: DecisionStumps, name: str) -> None:
    epsilon = 0.01
    run = boost(name, oracle, nu=0.1 * oracle.N, epsilon=epsilon)
    certificate = run.class_certificate
    assert OPTIMUM - epsilon <= certificate.lower <= OPTIMUM + DIGITS
    assert OPTIMUM - DIGITS <= certificate.upper
    assert certificate.gap <= epsilon
    assert len(run.hypotheses) <= run.iteration_bound


def test_the_page_lists_every_backend_with_the_optimum() -> None:
    rows = re.findall(r"^\| `([\w:]+)` \| \d+ \| \d+ \| ([\d.]+) \| ([\d.]+) \|", PAGE.read_text(), re.MULTILINE)
    assert tuple(name for name, _, _ in rows) == lp_backends.BACKENDS
    for _, lower, upper in rows:
        assert float(lower) <= float(upper)
        assert float(lower) <= OPTIMUM + DIGITS
        assert float(upper) >= OPTIMUM - DIGITS
