"""A checkpoint changes nothing, and what goes on from one is the run in one go: to the last bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_runs import compared

from boostopt import DataError, boost
from boostopt._utils import files
from boostopt.backends import get_backend
from boostopt.boosting.run.run_file import load
from boostopt.oracles import BinnedStumps, GivenMargins


@pytest.mark.parametrize("update", [None, "total"], ids=["histogram Newton", "rounds"])
def test_a_checkpoint_on_a_full_disk_is_an_error_before_the_run(
    update: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MIN_FREE_BYTES", 1 << 62)
    X, y = np.arange(12.0)[:, np.newaxis], np.tile([-1, 1, 1], 4)
    with pytest.raises(DataError, match=r"run\.npz cannot be written: .*\bfree bytes\b"):
        boost("erlpboost", BinnedStumps(X, y), nu=6.0, epsilon=0.1, update=update, checkpoint=tmp_path / "run.npz")


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(8))
def test_a_run_with_checkpoints_and_one_in_parts_are_the_run_without(seed: int, tmp_path: Path) -> None:
    # `python tests/boosting/checkpointed.py 2000` compares more of them.
    assert compared(seed, tmp_path) == {"with checkpoints": [], "in parts": []}


def signs(seed: int, N: int, t: int) -> GivenMargins:
    return GivenMargins(np.random.default_rng(seed).choice([-1, 1], (N, t)), reflexive=True)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("lpboost", {"nu": 4.5, "backend": "highs", "epsilon": 1e-4}),
        ("lpboost", {"nu": 4.5, "backend": "highs:primal", "epsilon": 1e-4, "two_sided": True}),
        ("lpboost", {"nu": 4.5, "backend": "interior", "epsilon": 1e-4}),
        ("softboost", {"nu": 4.5, "epsilon": 0.05}),
        ("erlpboost", {"nu": 4.5, "eta": 50.0, "epsilon": 0.02, "rules": ["direct"]}),
    ],
)
def test_long_runs_that_a_solver_goes_on_from(name: str, options: dict[str, Any], tmp_path: Path) -> None:
    plain = boost(name, signs(3, 30, 60), max_rounds=16, **options)
    whole = boost(name, signs(3, 30, 60), max_rounds=16, checkpoint=tmp_path / "a.npz", checkpoint_rounds=5, **options)
    path = tmp_path / "b.npz"
    for limit in (3, 11, 16, 16):
        parts = boost(name, signs(3, 30, 60), max_rounds=limit, checkpoint=path, **options)
    for run in (whole, parts):
        assert run.hypotheses == plain.hypotheses and run.reason == plain.reason
        assert np.array_equal(run.w, plain.w) and np.array_equal(run.d, plain.d)
        assert np.array_equal(run.trace["upper"], plain.trace["upper"])


@pytest.mark.thorough
def test_a_finished_run_that_is_polished_at_its_end_stays_as_it_is(tmp_path: Path) -> None:
    # What is stored is the state before the polish: the polish that a resumed run ends with must begin alike.
    for seed in range(2):
        path = tmp_path / f"{seed}.npz"
        run = boost("erlpboost", signs(seed, 20, 30), nu=3.0, epsilon=0.1, checkpoint=path)
        again = boost("erlpboost", signs(seed, 20, 30), nu=3.0, epsilon=0.1, checkpoint=path)
        assert np.array_equal(again.w, run.w) and again.reason == run.reason


def test_the_track_of_the_interior_point_is_stored_to_the_last_bit_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    boost("erlpboost", signs(0, 30, 40), nu=4.0, max_rounds=6, backend="interior", checkpoint=path)
    interior, (record, _) = get_backend("interior"), load(path)
    assert record.state.start is not None
    track = record.state.start.state
    arrays = interior.packed(track)
    assert arrays is not None and track.iterates
    again = interior.packed(interior.deserialize_state(arrays))
    assert again is not None and again.keys() == arrays.keys()
    assert all(np.array_equal(again[name], arrays[name]) for name in arrays)
    array_name = next(name for name in arrays if name.startswith("below"))
    for invalid in (
        arrays[array_name][:-1],
        arrays[array_name] * np.nan,
        arrays[array_name].astype(np.float32),
        arrays[array_name][np.newaxis],
    ):
        assert interior.deserialize_state({**arrays, array_name: invalid}) is None
    assert interior.deserialize_state({name: array for name, array in arrays.items() if name != array_name}) is None
    assert interior.deserialize_state({}) is None and interior.packed(None) is None
