"""The pages of the formulations: what they show how to use is used."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import boostopt
from boostopt.oracles import DecisionStumps

sys.path.append(str(Path(__file__).parents[1] / "docs"))

pages: Any = importlib.import_module("formulation_pages")

NAMES = boostopt.list_formulations()


def test_every_formulation_has_a_family_and_no_family_is_empty() -> None:
    assert {pages.family_of(pages.Page.of(name)) for name in NAMES} == set(pages.FAMILIES)


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_what_a_page_shows_runs(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (shown,) = re.findall(r"```python\n(.*?)```", pages.use(pages.Page.of(name)), re.DOTALL)
    rng = np.random.default_rng(0)
    N = 120
    X = np.round(rng.normal(size=(N, 4)), 1)
    y = np.where(X[:, 0] + rng.normal(size=N) > 0, 1, -1)
    U = boostopt.stump_matrix(X, y, 20)
    scope = {"boostopt": boostopt, "np": np, "DecisionStumps": DecisionStumps, "X": X, "y": y, "U": U, "N": N}
    exec(shown.replace("max_rounds=50", "max_rounds=3"), scope)
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == shown.count("print(")
    program = scope["program"]
    assert isinstance(program, boostopt.Program)
    c = program.solve().certificate
    assert c.infeasible or c.gap <= 1e-5 * c.scale
