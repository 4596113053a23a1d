"""Results as data frames: a row for each solve, run or round."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from support.problems import reference_erlpboost, reference_lpboost

from boostopt import OptionError, benchmark, boost, compare, path
from boostopt.oracles import GivenMargins

ORACLE = GivenMargins(np.random.default_rng(0).choice([-1.0, 1.0], (30, 12)))


def test_each_result_has_a_row_for_each_of_its_parts() -> None:
    compared = compare(reference_lpboost(), ["highs", "interior"])
    frame = compared.to_dataframe()
    assert frame["backend"].tolist() == ["highs", "interior"]
    assert (frame["lower"] <= compared.interval[1]).all() and (frame["upper"] >= compared.interval[0]).all()
    measured = benchmark(reference_erlpboost(), ["interior"], [1e-6], repeats=2)
    assert len(measured.to_dataframe()) == len(measured.runs)
    run = boost("lpboost", ORACLE, nu=3)
    trace = run.trace.to_dataframe()
    assert list(trace.columns) == list(run.trace.columns) and len(trace) == len(run.trace)
    np.testing.assert_array_equal(trace["soft_margin"], run.trace["soft_margin"])


def test_a_path_has_what_is_proved_of_each_value() -> None:
    runs = path("lpboost", ORACLE, nu=[3.0, 6.0])
    frame = runs.to_dataframe()
    assert frame["nu"].tolist() == [3.0, 6.0]
    np.testing.assert_array_equal(frame["lower"], runs.lower)
    np.testing.assert_array_equal(frame["upper"], runs.upper)
    assert frame["reason"].tolist() == [run.reason for run in runs.runs]


def test_without_pandas_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(OptionError, match=r"^to_dataframe\b.*\bpandas\b"):
        boost("lpboost", ORACLE, nu=3, max_rounds=2).trace.to_dataframe()
