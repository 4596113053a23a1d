"""The fuzz of certificates: a few problems of each kind, references that are right, tables that count what is false."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import fuzzed_certificates as fuzz
from benchmarks.closed_forms import KINDS, closed_form, quadratic_optimum, real
from boostopt import certify_problem

FUZZED_KINDS = [
    kind if kind in ("sum of distances", "shortest vector") else pytest.param(kind, marks=pytest.mark.thorough)
    for kind in KINDS
]


@pytest.mark.parametrize("kind", FUZZED_KINDS)
def test_no_certificate_of_a_kind_is_false(kind: str) -> None:
    record = fuzz.check(kind, 0, 1)
    assert not record["false"]
    if kind in ("infeasible", "unbounded"):
        assert not any(gap is not None for gap in record["gaps"].values())
    else:
        assert record["gaps"]["none: the solver's answer"] <= 1e-6


@pytest.mark.every(8)
@pytest.mark.parametrize("kind", KINDS)
def test_another_optimum_would_be_seen(kind: str) -> None:
    """The answer of the solver proves an interval so narrow that a wrong reference lies outside."""
    item = closed_form(kind, np.random.default_rng(3))
    fuzz.solve(item.problem, item.problem.variables())
    certificate = certify_problem(item.problem)
    assert not fuzz.is_false(certificate, item)
    if isinstance(item.optimum, float):
        wrong_optima: list[Any] = [0.0, -item.optimum]
    else:
        step = Fraction(1, 10**4) * (1 + int(abs(item.optimum)))
        wrong_optima = [
            item.optimum + sign * (step if isinstance(item.optimum, Fraction) else real(float(step)))
            for sign in (1, -1)
        ]
    assert all(fuzz.is_false(certificate, replace(item, optimum=optimum)) for optimum in wrong_optima)


def test_ends_are_compared_beyond_the_digits_of_floats() -> None:
    third = Fraction(1, 3)
    lower, upper = sorted((1 / 3, math.nextafter(1 / 3, 1.0)))
    assert fuzz.is_at_most(lower, third) and not fuzz.is_at_most(upper, third)
    assert fuzz.is_at_least(upper, third) and not fuzz.is_at_least(lower, third)
    root = real(2.0) ** 0.5
    assert fuzz.is_at_most(1.414213562373095, root) and not fuzz.is_at_most(1.4142135623730951, root)
    assert not fuzz.is_at_most(math.nan, root) and not fuzz.is_at_least(math.nan, third)


def test_quadratic_optima_by_hand() -> None:
    """(x - 2)^2 with x <= 1 and x >= 0; x + y on the unit simplex; a program without an optimum."""
    bounds, sides = np.array([[1.0], [-1.0]]), np.array([1.0, 0.0])
    assert quadratic_optimum(np.array([[2.0]]), np.array([-4.0]), bounds, sides) == -3
    rows = np.array([[1.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    vertex = quadratic_optimum(np.zeros((2, 2)), np.array([3.0, 1.0]), rows, np.array([1.0, 0, 0]), n_equalities=1)
    assert vertex == 1
    with pytest.raises(ValueError, match="there is none"):
        quadratic_optimum(np.zeros((1, 1)), np.array([1.0]), bounds[:1], sides[:1])


@pytest.mark.thorough
def test_a_run_is_deterministic_and_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["linear program", "shortest vector"]
    monkeypatch.setattr(fuzz, "KINDS", {name: KINDS[name] for name in names})
    path, again = tmp_path / "log.jsonl", tmp_path / "again.jsonl"
    assert len(fuzz.run(1, 5, path)) == 2
    fuzz.run(1, 5, again)
    assert path.read_text(encoding="utf-8") == again.read_text(encoding="utf-8")
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text(lines[0] + "\n", encoding="utf-8")
    fuzz.run(1, 5, path)
    assert path.read_text(encoding="utf-8").splitlines() == lines
    fuzz.run(1, 6, path)  # another seed is another run
    assert len(path.read_text(encoding="utf-8").splitlines()) == 4


def test_the_tables_count_false_intervals_and_the_command_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gaps = {name: 1e-9 for name in fuzz.LIES} | {"both: zero": None}
    record = {"kind": "log_det", "index": 0, "seed": 0, "gaps": gaps, "false": [["both: zero", "1.0", "inf", "open"]]}
    path, page = tmp_path / "log.jsonl", tmp_path / "page.md"
    path.write_text(json.dumps(record) + "\n", encoding="utf-8")
    page.write_text(f"# Page\n\n{fuzz.BEGIN}\n{fuzz.END}\n", encoding="utf-8")
    monkeypatch.setattr(fuzz, "KINDS", {"log_det": KINDS["log_det"]})
    assert fuzz.main(["--count", "1", "--resume", str(path), "--page", str(page)]) == 1
    n = len(fuzz.LIES)
    assert f"| log_det | 1 | {n} | {n - 1} | 1 | 1e-09 |" in page.read_text(encoding="utf-8")
    assert "| both: zero | 1 | 0 | 1 |  |  |" in page.read_text(encoding="utf-8")
    assert "false: log_det, problem 0, seed 0" in capsys.readouterr().out


@pytest.mark.thorough
def test_multipliers_of_no_finite_size_break_nothing() -> None:
    assert not fuzz.check("unbounded", 10, 0)["false"]
