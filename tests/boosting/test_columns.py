"""The number of columns per round."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typechecker
from noisy_stumps import stumps

from boostopt import OptionError, boost, path
from boostopt.boosting import BoostOptions

PLAIN: dict[str, Any] = {"nu": 30, "epsilon": 0.02, "update": "total"}


@pytest.mark.parametrize("value", [0, -1, "x", "", "auto", 1.5, 2.0, True, None, [1]])
def test_other_values_are_refused(value: Any) -> None:
    with (
        typechecker.unchecked(),
        pytest.raises(OptionError, match=rf"^columns_per_round\b.*\b1\b.*\s{re.escape(repr(value))}\."),
    ):
        BoostOptions(columns_per_round=value)


@pytest.mark.parametrize("value", [1, 32, 100, np.int64(3)])
def test_these_are_taken(value: Any) -> None:
    with typechecker.unchecked():  # a NumPy number is taken too
        assert BoostOptions(columns_per_round=value).columns_per_round == value


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["lpboost", "erlpboost"])
def test_a_run_takes_fewer_rounds_and_proves_what_the_other_proves(name: str) -> None:
    one, several = boost(name, stumps(150), **PLAIN), boost(name, stumps(150), **PLAIN, columns_per_round=8)
    assert several.rounds < one.rounds / 2
    assert several.class_certificate.gap <= 0.02
    assert several.class_certificate.lower <= one.class_certificate.upper
    assert one.class_certificate.lower <= several.class_certificate.upper
    assert int(np.diff([0, *(row.hypotheses for row in several.trace)]).max()) <= 8


@pytest.mark.thorough
def test_a_path_and_steps_take_it_too() -> None:
    runs = path("erlpboost", stumps(150), nu=[60.0, 30.0], epsilon=0.02, update="total", columns_per_round=8)
    assert bool((runs.upper - runs.lower <= 0.02 + 1e-9).all())
    step = boost("corrective_erlpboost", stumps(150), nu=60, epsilon=0.1, columns_per_round=8)
    assert step.class_certificate.gap <= 0.1
    newton = boost("erlpboost", stumps(150), nu=30, epsilon=0.02, update="newton", columns_per_round=8)
    assert newton.class_certificate.gap <= 0.02


def test_a_stored_run_goes_on_with_another_number(tmp_path: Path) -> None:
    file = tmp_path / "run.npz"
    parts = boost("erlpboost", stumps(150), **PLAIN, columns_per_round=2, max_rounds=4, checkpoint=file)
    assert parts.rounds == 4
    run = boost("erlpboost", stumps(150), **PLAIN, columns_per_round=6, checkpoint=file)
    assert run.rounds > 4 and run.class_certificate.gap <= 0.02
    np.testing.assert_array_equal(run.trace["hypotheses"][:4], parts.trace["hypotheses"])
