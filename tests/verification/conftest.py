"""Files and verdicts for tests that import nothing of boostopt."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.certificate_files import judged, program, text

from boostopt import boost
from boostopt.oracles import BinnedStumps


@pytest.fixture
def certified() -> Callable[[str], tuple[str, tuple[Any, Any, Any]]]:
    """Return a function that gives the text of a certificate with its matrix, multiplicities and references."""

    def text_and_data(case: str) -> tuple[str, tuple[Any, Any, Any]]:
        bound_program = program(case)
        return text(case), (bound_program.margins.to_array(), bound_program.examples.c, bound_program.examples.d0)

    return text_and_data


@pytest.fixture
def verdict(tmp_path: Path) -> Callable[[str, str], Any]:
    """Return a function that gives the verdict of `verify` on a text."""
    return lambda file_text, case: judged(file_text.encode(), case, tmp_path)


@pytest.fixture
def looks(tmp_path: Path) -> tuple[Any, Any, Any, Any]:
    """Return the content of a certificate file of a histogram run, with features, labels and multiplicities."""
    rng = np.random.default_rng(0)
    X, c = np.round(rng.normal(size=(40, 3)), 1), rng.integers(1, 4, 40)
    X[:, 1] = 2.0
    y = np.where(X[:, 0] + rng.normal(size=40) > 0, 1, -1)
    oracle = BinnedStumps(X, y, c=c.astype(float))
    boost("erlpboost", oracle, nu=8.0, epsilon=0.1).save_certificate(tmp_path / "looks.json", oracle)
    return json.loads((tmp_path / "looks.json").read_text()), X, y, c
