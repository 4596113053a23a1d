"""Stabilized runs: asked otherwise and over smaller programs, they prove what they prove."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from noisy_stumps import stumps, trees
from random_classes import LP, SEEDS, RecordingMargins, draw_class

from boostopt import DataError, OptionError, boost
from boostopt.boosting.run.run import Run
from boostopt.boosting.run.run_file import save
from boostopt.boosting.run.trace import TraceRow
from boostopt.boosting.stabilization import Stabilization
from boostopt.oracles import GivenMargins

WAYS = (
    Stabilization(inner=0.3),
    Stabilization(inner=0.8),
    Stabilization(idle=0.1),
    Stabilization(inner=0.5, idle=0.1),
)
EPSILON = 0.02


@pytest.mark.thorough
@pytest.mark.parametrize("stabilization", WAYS, ids=str)
@pytest.mark.parametrize("formulation", ["lpboost", "erlpboost", "softboost"])
@pytest.mark.parametrize("seed", SEEDS[:1])
def test_the_interval_holds_the_optimum(seed: int, formulation: str, stabilization: Stabilization) -> None:
    one = draw_class(seed)
    oracle = GivenMargins(one.U, c=one.c)
    run = boost(formulation, oracle, nu=one.nu, epsilon=0.1, stabilization=stabilization)
    assert run.class_certificate.lower - LP <= one.optimum <= run.class_certificate.upper + LP
    assert run.class_certificate.gap <= 0.1 + LP
    assert run.certificate.lower <= run.certificate.upper


@pytest.mark.thorough
@pytest.mark.parametrize("columns", [4])
@pytest.mark.parametrize("stabilization", WAYS[1:], ids=str)
@pytest.mark.parametrize("formulation", ["lpboost", "binary_erlpboost"])
def test_stumps_end_within_epsilon(formulation: str, stabilization: Stabilization, columns: int) -> None:
    oracle = stumps(100)
    run = boost(formulation, oracle, nu=15, epsilon=EPSILON, stabilization=stabilization, columns_per_round=columns)
    plain = boost(formulation, oracle, nu=15, epsilon=EPSILON)
    assert run.class_certificate.gap <= EPSILON + 1e-9
    a, b = run.class_certificate, plain.class_certificate
    assert max(a.lower, b.lower) <= min(a.upper, b.upper)


@pytest.mark.thorough
def test_the_oracle_is_asked_between_the_best_distribution_and_the_newest() -> None:
    one = draw_class(2)
    stabilization = Stabilization(inner=0.6)
    oracle = RecordingMargins(one.U, c=one.c)
    run = boost("erlpboost", oracle, nu=one.nu, epsilon=0.05, stabilization=stabilization)
    best, upper, query, n_between = one.d0, math.inf, iter(oracle.d), 0
    for k in range(run.rounds):
        newest = one.d0 if k == 0 else run.at_round(k).d
        d = next(query)
        np.testing.assert_allclose(d, newest if k == 0 else 0.4 * newest + 0.6 * best, atol=1e-9)
        questions = [d]
        pool_indices = np.array([h.q for h in run.at_round(k).hypotheses]) if k else np.zeros(0, dtype=int)  # type: ignore[attr-defined]
        edges = one.U.T @ newest
        if k and edges[(one.U.T @ d).argmax()] <= edges[pool_indices].max() + 1e-12:
            questions.append(next(query))
            np.testing.assert_allclose(questions[1], newest, atol=1e-9)
        n_between += len(questions) == 1 and k > 0
        for question in questions:
            value = float((one.U.T @ question).max())
            upper, best = min((upper, best), (value, question), key=lambda pair: pair[0])
    assert n_between > 0
    assert len(oracle.d) > run.rounds  # some questions between were not worth it


@pytest.mark.thorough
def test_idle_hypotheses_leave_the_program_and_nothing_else() -> None:
    oracle = stumps(300)
    plain = boost("lpboost", oracle, nu=30, epsilon=0.005)
    run = boost("lpboost", oracle, nu=30, epsilon=0.005, stabilization=Stabilization(idle=0.1))
    active = run.record.state.active
    assert active is not None
    assert len(active) < run.record.pool.t
    assert len(set(active.tolist())) == len(active)
    assert set(np.flatnonzero(run.record.state.w)) <= set(active.tolist())
    assert len(run.w) == run.record.pool.t
    assert run.class_certificate.gap <= 0.005 + 1e-9
    assert abs(run.class_certificate.lower - plain.class_certificate.lower) <= 0.005
    # Over everything that was collected, not only over what is in the program.
    assert run.certificate.lower <= run.program.solve("highs").certificate.upper
    assert run.program.margins.t == run.record.pool.t


@pytest.mark.thorough
@pytest.mark.parametrize("stabilization", WAYS[1:], ids=str)
def test_a_checkpoint_goes_on_as_if_nothing_had_happened(tmp_path: Path, stabilization: Stabilization) -> None:
    options: dict[str, Any] = {"nu": 8, "epsilon": 0.05, "stabilization": stabilization, "checkpoint_rounds": 3}
    whole = boost("lpboost", stumps(80), checkpoint=tmp_path / "whole", **options)
    boost("lpboost", stumps(80), checkpoint=tmp_path / "parts", max_rounds=9, **options)
    parts = boost("lpboost", stumps(80), checkpoint=tmp_path / "parts", **options)
    assert parts.hypotheses == whole.hypotheses
    np.testing.assert_allclose(parts.w, whole.w, atol=1e-9)


def test_a_saved_run_whose_active_hypotheses_do_not_exist_is_refused(tmp_path: Path) -> None:
    run = boost("lpboost", stumps(60), nu=6, max_rounds=10, stabilization=Stabilization(idle=0.1))
    invalid = replace(run.record, state=replace(run.record.state, active=np.array([10_000])))
    save(invalid, tmp_path / "run.npz", (run.w, run.final_weights))
    with pytest.raises(DataError, match=r"run\.npz.*\bactive\b"):
        Run.load(tmp_path / "run.npz")


@pytest.mark.thorough
def test_a_heuristic_oracle_proves_no_best_distribution() -> None:
    oracle = trees(60)
    plain = boost("erlpboost", oracle, nu=10, max_rounds=8)
    run = boost("erlpboost", oracle, nu=10, max_rounds=8, stabilization=Stabilization(inner=0.5))
    assert run.hypotheses == plain.hypotheses


@pytest.mark.thorough
def test_a_row_is_a_row() -> None:
    rows: list[TraceRow] = []
    run = boost("lpboost", stumps(150), nu=15, progress=rows.append, stabilization=Stabilization(inner=0.5))
    assert [row.round for row in rows] == list(range(1, run.rounds + 1))


@pytest.mark.parametrize(
    ("options", "facts"),
    [
        ({"inner": -0.1}, r"^inner\b.*\[0, 1\).*-0\.1\b"),
        ({"inner": 1.0}, r"^inner\b.*\[0, 1\).*\b1\.0\b"),
        ({"inner": math.nan}, r"^inner\b.*\bnan\b"),
        ({"idle": 0.0}, r"^idle\b.*\b0\.0\b"),
        ({"idle": math.nan}, r"^idle\b.*\bnan\b"),
    ],
    ids=["inner below 0", "inner 1", "inner nan", "idle 0", "idle nan"],
)
def test_options_out_of_range_are_refused(options: Any, facts: str) -> None:
    with pytest.raises(OptionError, match=facts):
        Stabilization(**options)


def test_corrective_runs_are_not_stabilized() -> None:
    with pytest.raises(OptionError, match="totally corrective"):
        boost("corrective_erlpboost", stumps(150), nu=15, stabilization=Stabilization(inner=0.5))
