"""Speed and memory as ratios of one run, with much room: what they are is told by `make bench`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

RATIOS = Path(__file__).parents[1] / "benchmarks" / "ratios.py"


@pytest.fixture(scope="module")
def measurements() -> dict[str, float]:
    """Return the measurements of another process. In this process every call checks the types of its arguments."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, RATIOS], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "factor"), [("erlpboost", 8.0), ("lpboost", 2.0), ("qp_reg_adaboost", 2.0)])
def test_the_interior_point_is_faster_than_a_conic_solver(
    measurements: dict[str, float], name: str, factor: float
) -> None:
    assert measurements[name] >= factor
    assert measurements[f"{name}, gap"] <= 1e-9


@pytest.mark.thorough
def test_a_model_that_is_kept_is_faster_than_one_rebuilt(measurements: dict[str, float]) -> None:
    assert min(ratio for name, ratio in measurements.items() if name.startswith("columns")) >= 2.0


@pytest.mark.thorough
def test_memory_above_the_margins_is_less_than_half_of_them(measurements: dict[str, float]) -> None:
    assert measurements["memory"] <= 0.5
