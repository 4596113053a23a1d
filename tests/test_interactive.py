"""The interactive notebook: every regularizer as a script, intervals that hold the optimum, a picture that follows."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from boostopt import check_regularizer

NOTEBOOK = Path(__file__).parents[1] / "notebooks" / "interactive" / "explore.py"


@cache
def explore() -> ModuleType:
    """The notebook as a module."""
    spec = importlib.util.spec_from_file_location("explore", NOTEBOOK)
    assert spec is not None and spec.loader is not None
    # marimo looks for the functions of its cells where imported modules stand.
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_cells(name: str, **changes: float) -> dict[str, Any]:
    """Return the names that the cells define with these controls."""
    controls = {"name": name, "share": 0.5, "eta": 20.0, "tol": 1e-2, **changes}
    return dict(explore().app.run(defs={"chosen": controls})[1])


NAMES = 8
"""The number of regularizers in the notebook. It is not imported to collect the tests."""


def regularizer_name(number: int) -> str:
    """Return the name of a regularizer of the notebook, which has NAMES of them."""
    names = list(explore().REGULARIZERS)
    assert len(names) == NAMES
    return names[number]


@pytest.mark.every(8)
@pytest.mark.parametrize("number", range(NAMES))
def test_the_cells_find_intervals_that_hold_the_optimum(number: int) -> None:
    name = regularizer_name(number)
    names = run_cells(name)
    rough, U = names["solution"].certificate, names["U"]
    fine = explore().solved(name, U, 0.5, 20.0, 1e-8).certificate
    assert rough.gap <= 1e-2 and fine.gap <= 1e-8
    assert rough.lower <= fine.lower + 1e-12 and fine.upper <= rough.upper + 1e-12
    cap = names["cap"].certificate
    # F is at least 0, and 0 at equal weights: the ends of the axis.
    assert cap.lower <= fine.upper and fine.lower <= U.mean(axis=0).max() == names["stage"].best
    assert names["picture"].startswith(b"\x89PNG")
    assert f"[{rough.lower!r}, {rough.upper!r}]" in names["said"]


@pytest.mark.thorough
def test_the_picture_follows_every_control() -> None:
    name, other_name = "Relative entropy (ERLPBoost)", "Hellinger's distance"
    runs = [
        run_cells(name),
        run_cells(name, share=0.7),
        run_cells(name, eta=5.0),
        run_cells(name, tol=1e-1),
        run_cells(other_name),
    ]
    assert len({run["picture"] for run in runs}) == len(runs)


def test_names_can_be_given_to_the_script() -> None:
    """Arguments are split at "=": of a name with one only the first part would arrive."""
    assert not [name for name in explore().REGULARIZERS if "=" in name]


@pytest.mark.thorough
def test_nothing_of_an_earlier_picture_is_left() -> None:
    name = regularizer_name(0)
    names = run_cells(name)
    stage, solution, cap = names["stage"], names["solution"], names["cap"]
    first = stage.png(explore().on_three(name, 0.5, 20.0), solution, cap)
    stage.png(explore().on_three(regularizer_name(1), 0.9, 1.0), cap, cap)
    assert stage.png(explore().on_three(name, 0.5, 20.0), solution, cap) == first == names["picture"]


@pytest.mark.thorough
@pytest.mark.parametrize("number", range(NAMES))
def test_the_regularizers_are_what_they_claim(number: int) -> None:
    check_regularizer(explore().REGULARIZERS[regularizer_name(number)](np.ones(6), 2.0, 3.0)).raise_if_failed()


@pytest.mark.thorough
@pytest.mark.parametrize("number", range(NAMES))
def test_a_notebook_runs_as_a_script(number: int) -> None:
    name = regularizer_name(number)
    command = [sys.executable, str(NOTEBOOK), "--regularizer", name, "--nu", "0.6", "--eta", "50", "--gap", "1e-6"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    optimum = explore().solved(name, run_cells(name)["U"], 0.6, 50.0, 1e-6).certificate
    lower, upper = map(float, done.stdout.partition("[")[2].partition("]")[0].split(","))
    assert lower <= optimum.upper and optimum.lower <= upper and 0.0 <= upper - lower <= 1e-6
