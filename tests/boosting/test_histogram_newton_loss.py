"""The logarithmic loss by histogram Newton: both bounds hold over all examples, in any order of the rows."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plain_stumps import PlainStumps
from support.speeds import many

from boostopt import Run, boost, verify
from boostopt.authoring import POSITIVE, LogarithmicLoss, parameter, prototype
from boostopt.boosting.boosting_problem import CORRECTIVE_UPDATES
from boostopt.boosting.histogram_newton import newton_solver
from boostopt.boosting.histogram_newton.histogram_run import HistogramRun
from boostopt.errors import OptionError
from boostopt.oracles import BinnedStumps, Query

pytestmark = pytest.mark.every(2)


def examples(seed: int, N: int, noise: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(N, 5)), int(rng.integers(0, 3)))
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + noise * rng.normal(size=N) > 0, 1, -1)
    y[:2] = (-1, 1)
    return X, y, rng.integers(1, 4, N).astype(float) if seed % 2 else None


def binned_stumps(seed: int, N: int = 300, noise: float = 1.0) -> BinnedStumps:
    X, y, c = examples(seed, N, noise)
    return BinnedStumps(X, y, c=c, bins=65_536)


def histogram_run_of(oracle: BinnedStumps, eta: float, share: float = 1e-3, **how: Any) -> HistogramRun:
    run = boost("log_loss", oracle, eta=eta, epsilon=share * oracle.total, **how)
    assert isinstance(run, HistogramRun)
    return run


def class_bounds(run: Run) -> tuple[float, float]:
    return run.class_certificate.lower, run.class_certificate.upper


def dual_objective(run: HistogramRun, oracle: BinnedStumps, eta: float) -> float:
    """D(w), summed over all examples without rounding of the sum."""
    margins = np.column_stack([oracle.margins_of(hypothesis) for hypothesis in run.hypotheses])
    m = margins.astype(float) @ run.w
    return -math.fsum(oracle.c * np.logaddexp(math.log(0.5), -eta * m + math.log(0.5))) / eta


def primal_objective(run: HistogramRun, oracle: BinnedStumps, eta: float) -> float:
    """F(d) and the largest edge of the class, of the weights that prove the upper bound."""
    d, c = run.class_certificate.d, oracle.c
    assert d is not None and (d >= 0.0).all() and (d <= c).all()
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(d > 0, d * np.log(2 * d / c), 0.0) + np.where(d < c, (c - d) * np.log(2 * (c - d) / c), 0.0)
    largest = oracle.best(Query(d)).edge_bound
    assert largest is not None
    return math.fsum(terms) / eta + largest


@pytest.mark.every(3)
@pytest.mark.parametrize("eta", [0.5, 8.0, 100.0])
@pytest.mark.parametrize("seed", range(4))
def test_both_ends_hold_and_overlap_those_of_steps(eta: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    oracle = binned_stumps(seed, int(rng.integers(20, 400)), float(rng.choice([0.1, 1.0, 3.0])))
    run, N = histogram_run_of(oracle, eta), oracle.total
    (low, high), rounding = class_bounds(run), 1e-10 * N
    assert (
        low <= dual_objective(run, oracle, eta) + 1e-12 * N
        and dual_objective(run, oracle, eta) <= low + rounding + 1e-6 * eta * N
    )
    assert primal_objective(run, oracle, eta) - 1e-12 * N <= high <= primal_objective(run, oracle, eta) + rounding
    assert high - low <= 1e-3 * N
    other_run = boost("log_loss", oracle, eta=eta, epsilon=1e-3 * N, update="total")
    assert not isinstance(other_run, HistogramRun)
    assert max(low, class_bounds(other_run)[0]) <= min(high, class_bounds(other_run)[1])
    assert run.program_interval == class_bounds(run)


def test_nothing_depends_on_the_order_of_the_rows_or_where_the_codes_stand(tmp_path: Path) -> None:
    X, y, _ = examples(0, 600)
    order = np.random.default_rng(1).permutation(600)
    one, codes = histogram_run_of(BinnedStumps(X, y, bins=65_536), 10.0), tmp_path / "codes.npy"
    for equal_oracle in (BinnedStumps(X[order], y[order], bins=65_536), BinnedStumps(X, y, bins=65_536, codes=codes)):
        run = histogram_run_of(equal_oracle, 10.0)
        assert class_bounds(run) == class_bounds(one) and np.array_equal(run.w, one.w)


def test_k_copies_are_a_multiplicity_of_k() -> None:
    X, y, _ = examples(0, 200)
    weighted, repeated = BinnedStumps(X, y, c=np.full(200, 3.0)), BinnedStumps(np.tile(X, (3, 1)), np.tile(y, 3))
    assert class_bounds(histogram_run_of(weighted, 5.0)) == class_bounds(histogram_run_of(repeated, 5.0))


def test_samples_choose_the_starting_point_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newton_solver, "SAMPLE_SIZES", (50, 200))
    monkeypatch.setattr(newton_solver, "MIN_ROWS_PER_SAMPLED_ROW", 2)
    oracle = binned_stumps(0, 1000)
    run = histogram_run_of(oracle, 10.0)
    assert {record.rows for record in run.evaluations} == {50, 200, 1000}
    low, high = class_bounds(run)
    assert (
        low <= dual_objective(run, oracle, 10.0) + 1e-9
        and primal_objective(run, oracle, 10.0) - 1e-9 <= high <= low + 1.0
    )


def test_a_run_is_stored_and_goes_on_and_its_ends_are_told_anew(tmp_path: Path) -> None:
    oracle, file = binned_stumps(1), tmp_path / "run.npz"
    run = histogram_run_of(oracle, 10.0)
    histogram_run_of(oracle, 10.0, checkpoint=file, max_rounds=3)
    again = histogram_run_of(oracle, 10.0, checkpoint=file)
    assert class_bounds(again) == class_bounds(run) and np.array_equal(again.w, run.w)
    run.stored_run.save(tmp_path / "whole.npz")
    loaded = Run.load(tmp_path / "whole.npz")
    certificate = loaded.verify_class(oracle)
    assert (certificate.lower, certificate.upper) == class_bounds(run) == class_bounds(loaded)
    with pytest.raises(OptionError, match=r"\boracle\b.*\b300\b"):
        loaded.verify_class(binned_stumps(3))


def test_the_certificate_is_verified_and_forged_in_vain(tmp_path: Path) -> None:
    oracle, path = binned_stumps(1), tmp_path / "class.json"
    run = histogram_run_of(oracle, 10.0)
    run.save_certificate(path, oracle)
    verification = verify(path, oracle)
    assert verification and verification.verdict == "bounded"
    low, high = class_bounds(
        run
    )  # the bins of the checker are finer, and it counts the rounding of what it has computed
    assert low <= verification.lower <= low + 1e-5 and high - 1e-9 <= verification.upper <= high
    document = json.loads(path.read_text())
    for end, change, words in (("lower", 1e-9, "at least"), ("upper", -1e-9, "at most")):
        claim = {**document["claim"], end: getattr(verification, end) + change}
        path.write_text(json.dumps({**document, "claim": claim}))
        assert words in verify(path, oracle).reason
    for nu in (1.0, 30.0):
        path.write_text(json.dumps({**document, "nu": nu}))
        assert f"nu = {nu:g}" in verify(path, oracle).reason
    table = [2**20 + 1] * len(document["d"]["table"])
    path.write_text(json.dumps({**document, "d": {**document["d"], "table": table}}))
    assert "between 0 and c" in verify(path, oracle).reason


@pytest.mark.thorough
def test_a_finer_accuracy_is_for_steps() -> None:
    assert not isinstance(boost("log_loss", binned_stumps(0), eta=10.0, epsilon=1e-6 * 300), HistogramRun)


@pytest.mark.thorough_cases("blended_pairwise")
@pytest.mark.every(4)
@pytest.mark.parametrize("update", CORRECTIVE_UPDATES)
def test_the_updates_of_strongly_convex_programs_are_its_own_too(update: str) -> None:
    X, y, _ = examples(0, 100)
    run = boost("log_loss", PlainStumps(X, y), eta=4.0, epsilon=0.2, update=update)
    low, high = class_bounds(run)
    exact = class_bounds(boost("log_loss", PlainStumps(X, y), eta=4.0, epsilon=0.2, update="total"))
    assert high - low <= 0.2 and max(low, exact[0]) <= min(high, exact[1])


@pytest.mark.parametrize("eta", [0.5, 4.0])
def test_a_loss_takes_no_more_updates_than_theory_says(eta: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """With corrective steps alone, at every accuracy on the way."""
    monkeypatch.setattr(newton_solver, "MAX_BACKTRACKS", 0)
    oracle = binned_stumps(0, 200, noise=3.0)
    C = oracle.total
    run = histogram_run_of(oracle, eta, 0.02, max_rounds=1000)
    best = class_bounds(boost("log_loss", oracle, eta=eta, epsilon=1e-5 * C, update="total"))[1]
    for t, value in enumerate(run.trace["value"].tolist()):
        gap = best - value
        assert gap <= 0 or t <= 2.0 * eta * C / gap + math.log2(2.0 * C / gap) + 2.0 or gap > C
    assert run.class_certificate.gap <= 0.02 * C


@pytest.mark.parametrize(
    "regularizer",
    [
        lambda p, examples: LogarithmicLoss(0.5 * examples.c, p.eta, 0.25 * examples.c),
        lambda p, examples: LogarithmicLoss.from_multiplicities(examples.c, p.eta * examples.c.sum() / 300.0),
    ],
    ids=["another box", "eta by the examples"],
)
def test_a_page_with_another_loss_goes_by_steps(regularizer: Any) -> None:
    formulation = prototype("loss_of_mine", regularizer, eta=parameter("the scale of the margins", POSITIVE, 3.0))
    oracle = binned_stumps(0)
    run = boost(formulation, oracle, epsilon=1.0, max_rounds=20, update="total")
    other_run = boost(formulation, oracle, epsilon=1.0, max_rounds=20)
    assert not isinstance(other_run, HistogramRun) and class_bounds(other_run) == class_bounds(run)


@pytest.mark.parametrize("eta", [200.0, 1e3, 1e4])
def test_runs_of_a_steep_loss_are_verified_and_go_on(eta: float, tmp_path: Path) -> None:
    for seed in range(many(3, 1)):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(100, 3))
        y = np.where(X[:, 0] + X[:, 1] * X[:, 2] > 0, 1, -1)
        oracle = BinnedStumps(X, y)
        how: dict[str, Any] = {"eta": eta, "epsilon": 1.0, "update": "newton"}
        whole = boost("log_loss", oracle, **how)
        whole.verify_class(oracle)
        how["checkpoint"] = tmp_path / f"{seed}.npz"
        boost("log_loss", oracle, max_rounds=8, **how)
        resumed = boost("log_loss", oracle, **how)
        ends = [(run.class_certificate.lower, run.class_certificate.upper) for run in (whole, resumed)]
        assert ends[0] == ends[1]
