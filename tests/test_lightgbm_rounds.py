"""The table of certified runs beside rounds of LightGBM: kinds of examples, and a row with and without LightGBM."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks import lightgbm_rounds
from benchmarks.lightgbm_rounds import FEATURES, HEADER, KINDS, examples, main, measure

COLUMNS = [name.strip() for name in HEADER.splitlines()[0].strip("|").split("|")]
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="the peak of the memory")


def cells(row: str) -> dict[str, str]:
    return dict(zip(COLUMNS, (cell.strip() for cell in row.strip("|").split("|")), strict=True))


@pytest.mark.parametrize("name", KINDS)
def test_examples_are_of_their_kind(name: str) -> None:
    kind = KINDS[name]
    X, y = examples(kind, 2000)
    assert X.shape == (2000, FEATURES) and np.isfinite(np.asarray(X, float)).all()
    assert set(np.unique(y)) == {-1, 1} and abs((y == 1).mean() - kind.positives) < 0.002
    largest = np.abs(np.asarray(X, np.float64)).max()
    n_values = [len(np.unique(column)) for column in X.T]
    facts = {
        "duplicates": max(n_values) == 3 and len(np.unique(X, axis=0)) <= 81,
        "constants": n_values.count(1) == 15,
        "65,536 values": largest < 65_536 and min(n_values) > 1500,
        "float16": X.dtype == np.float16,
        "Booleans": X.dtype == np.bool_,
        "uint8": X.dtype == np.uint8 and min(n_values) > 200,
        "Cauchy": largest > 100.0,
    }
    assert facts.get(name, X.dtype == np.float64)


@linux_only
@pytest.mark.thorough
def test_a_row_without_lightgbm_has_no_ratios(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lightgbm_rounds, "find_spec", lambda name: None)
    row = cells(measure("duplicates", 500, 0.2))
    assert (row["examples"], row["N"], row["/ dataset"], row["/ round"]) == ("duplicates", "500", "", "")
    assert 0.0 <= float(row["gap"]) <= 0.2 and int(row["hypotheses"]) > 0 and float(row["MB"]) > 1.0


@linux_only
def test_a_row_has_the_seconds_over_those_of_lightgbm(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = list[Any]()

    class Dataset:
        def __init__(self, X: np.ndarray, y: np.ndarray, params: dict[str, Any]) -> None:
            calls.append((X.dtype, np.unique(y).tolist(), params["num_threads"]))

        def construct(self) -> None:
            sum(range(200_000))

    def train(options: dict[str, Any], dataset: Dataset, rounds: int) -> None:
        calls.append((options["num_leaves"], rounds))
        sum(range(200_000))

    monkeypatch.setitem(sys.modules, "lightgbm", SimpleNamespace(Dataset=Dataset, train=train))  # type: ignore[arg-type]
    monkeypatch.setattr(lightgbm_rounds, "find_spec", lambda name: object())
    row = cells(measure("float16", 500, 0.3))
    assert calls == [(np.dtype(np.float32), [0.0, 1.0], 1), (2, 10)]
    assert float(row["/ dataset"]) >= 0.0 and float(row["/ round"]) > 0.0


def test_a_kind_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["100", "--kinds", "normal"])
    assert "normal" in capsys.readouterr().err
