"""The first form of each solver behind CVXPY is the fastest in the median over the stored measurement."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.form_seconds import (
    GAP,
    KINDS,
    STORE,
    candidate_forms,
    load_seconds,
    median_ratios,
    noise,
    repeat_differences,
)
from boostopt import compare
from boostopt.backends.cvxpy.solver_options import FORMS, SOLVERS
from boostopt.instances.standard import standard_programs

DOCUMENT: dict[str, Any] = json.loads(STORE.read_text(encoding="utf-8"))
CASES = [(kind, solver) for kind in KINDS for solver in load_seconds(DOCUMENT, kind)]


@pytest.mark.parametrize(("kind", "solver"), CASES)
def test_the_first_form_is_the_fastest_in_the_median(kind: str, solver: str) -> None:
    spec = SOLVERS[solver.upper()]
    (first, *_) = spec.linear_schedule if kind == "linear" else spec.schedule
    (name,) = (name for name, form in FORMS.items() if form == first.form)
    ratios = median_ratios(load_seconds(DOCUMENT, kind)[solver], candidate_forms(kind))
    assert ratios[name] <= min(ratios.values()) * (1.0 + noise(DOCUMENT))


def test_the_measurement_is_of_the_standard_programs_and_of_all_open_solvers() -> None:
    labels, kinds = set(DOCUMENT["programs"]), {entry["kind"] for entry in DOCUMENT["programs"].values()}
    assert len(labels) >= 20 and labels <= standard_programs().keys() and kinds == set(KINDS)
    assert {solver for _, solver in CASES} >= {"clarabel", "scs", "ecos", "osqp", "highs", "piqp"}
    assert 0.0 < noise(DOCUMENT) < 0.1 and DOCUMENT["settings"]["gap"] == GAP


def test_ratios_are_to_the_fastest_form_and_failures_are_infinite() -> None:
    seconds = {
        "a": {"primal": 1.0, "density": 2.0, "dual": None},
        "b": {"primal": 3.0, "density": 2.0, "dual": None},
        "c": {"primal": 1.0, "density": 4.0, "dual": 2.0},
        "d": {"primal": None, "density": None, "dual": None},
    }
    forms = ("primal", "density", "dual", "rated")
    assert median_ratios(seconds, forms) == {"primal": 1.0, "density": 2.0, "dual": math.inf, "rated": 1.0}


def test_repeats_differ_by_their_range_over_their_mean() -> None:
    (row,) = compare(next(iter(standard_programs().values())), "cvxpy:clarabel", 1e-3).rows
    runs = [replace(row, cpu_seconds=seconds) for seconds in (1.0, 3.0)]
    assert repeat_differences(runs) == [1.0]
    assert repeat_differences(runs[:1]) == []
