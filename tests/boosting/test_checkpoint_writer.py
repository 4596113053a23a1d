"""The writer of checkpoints: its schedule by rounds and by seconds, and a warning if a checkpoint is not written."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import pytest

from boostopt.boosting.boost_options import BoostOptions
from boostopt.boosting.run.checkpoint_writer import CheckpointWriter
from boostopt.errors import DataError


def test_a_checkpoint_is_due_after_its_number_of_rounds() -> None:
    writer = CheckpointWriter(BoostOptions(checkpoint="run.npz", checkpoint_rounds=3))
    assert [number for number in range(8) if writer.is_due(number)] == [3, 6]


@pytest.mark.parametrize(
    ("seconds", "max_seconds", "is_due"),
    [(None, None, False), (50.0, None, True), (150.0, None, False), (None, 50.0, True), (150.0, 50.0, True)],
)
def test_a_checkpoint_is_due_after_the_shorter_of_two_times(
    seconds: float | None, max_seconds: float | None, is_due: bool
) -> None:
    options = BoostOptions(checkpoint="run.npz", checkpoint_rounds=100, checkpoint_seconds=seconds)
    writer = CheckpointWriter(options, max_seconds, time.perf_counter() - 100.0)
    assert writer.is_due(1) == is_due


def test_a_checkpoint_that_is_not_written_causes_a_warning_and_is_tried_at_the_next_time(tmp_path: Path) -> None:
    def refuse(path: Any) -> None:
        raise DataError(f"{path} is on a full disk")

    writer = CheckpointWriter(BoostOptions(checkpoint=tmp_path / "run.npz", checkpoint_seconds=50.0), None, 0.0)
    with pytest.warns(RuntimeWarning, match=r"round 7 was not written: .*run\.npz is on a full disk"):
        writer.write(refuse, "round 7")
    assert not writer.is_due(1)


def test_a_fault_that_stays_causes_one_warning_until_a_checkpoint_is_written(tmp_path: Path) -> None:
    faults: list[Exception | None] = [DataError("full"), DataError("full"), DataError("gone"), None, DataError("gone")]
    faults += [MemoryError("2 GB"), MemoryError("2 GB")]

    def save(path: Any) -> None:
        if (fault := faults.pop(0)) is not None:
            raise fault

    writer = CheckpointWriter(BoostOptions(checkpoint=tmp_path / "run.npz"))
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        for number in range(1, 8):
            writer.write(save, f"round {number}")
    messages = [str(record.message).partition(" was not written: ") for record in records]
    reasons = ["full", "gone", "gone", "it needs more memory (2 GB). The run continues without it."]
    assert [place for place, _, _ in messages] == [f"the checkpoint of round {number}" for number in (1, 3, 5, 6)]
    assert [reason for _, _, reason in messages] == reasons and not faults


def test_a_run_without_a_path_writes_nothing() -> None:
    paths = list[Any]()
    CheckpointWriter(BoostOptions()).write(paths.append, "round 1")
    assert not paths
