"""Bounds and gaps: what is drawn is what the trace says."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from rendering import check_rendering, labels, legend_of, line, points, run, size, xy
from sklearn.tree import DecisionTreeClassifier

from boostopt import OptionError, ProblemError, boost
from boostopt.boosting.run.run import Run
from boostopt.boosting.run.trace import Trace
from boostopt.oracles import Estimators
from boostopt.pictures import bounds


def curves(axis: Any, x: np.ndarray) -> list[np.ndarray]:
    """Return the ordinates of the lines over all rounds."""
    samples = [xy(one) for one in axis.lines if size(one) == len(x)]
    assert all(np.array_equal(abscissae, x) for abscissae, _ in samples)
    return [y for _, y in samples]


@pytest.mark.thorough
@pytest.mark.parametrize(("against", "column"), [("rounds", "round"), ("seconds", "seconds")])
def test_lines_are_the_columns_of_the_trace(against: str, column: str) -> None:
    boosted_run = run()
    figure = bounds(boosted_run, against)
    bounds_axis, gap_axis = figure.axes
    upper, lower = curves(bounds_axis, boosted_run.trace[column])
    assert np.array_equal(upper, boosted_run.trace["upper"]) and np.array_equal(lower, boosted_run.trace["soft_margin"])
    (gap,) = curves(gap_axis, boosted_run.trace[column])
    assert np.array_equal(gap, boosted_run.trace["gap"]) and gap_axis.get_yscale() == "log"
    assert xy(line(gap_axis, "$\\epsilon$"))[1].tolist() == [0.05, 0.05]
    assert legend_of(figure)[0] == "ERLPBoost"
    assert against[:5] in gap_axis.get_xlabel()
    check_rendering(figure)


@pytest.mark.thorough
def test_the_end_of_each_run_lies_inside_and_has_a_marker() -> None:
    runs = {"ERLPBoost": run(), "LPBoost": run("lpboost"), "AdaBoost": run("adaboost", nu=None, max_rounds=30)}
    figure = bounds(runs)
    low, high = figure.axes[0].get_ylim()
    ends = {(x[0], y[0]) for x, y in map(xy, figure.axes[0].lines) if len(x) == 1}
    for boosted_run in runs.values():
        assert low < boosted_run.trace["soft_margin"][-1] <= boosted_run.trace["upper"][-1] < high
        assert {(boosted_run.rounds, boosted_run.trace[name][-1]) for name in ("upper", "soft_margin")} <= ends
    assert len({str(one.get_linestyle()) + str(one.get_color()) for one in figure.axes[0].lines if size(one) > 1}) == 3
    check_rendering(figure)


@pytest.mark.thorough
def test_a_heuristic_oracle_has_no_bound_and_the_legend_says_so() -> None:
    oracle = Estimators(DecisionTreeClassifier(max_depth=2, random_state=0), points(), labels())
    boosted_run = boost("erlpboost", oracle, nu=15, epsilon=0.05, max_rounds=15)
    assert np.isinf(boosted_run.trace["upper"]).all()
    figure = bounds({"trees": boosted_run})
    assert np.array_equal(curves(figure.axes[0], boosted_run.trace["round"])[0], boosted_run.trace["smallest_edge"])
    assert re.fullmatch(r"trees \(.*smallest edge, no bound\)", legend_of(figure)[0])
    check_rendering(figure)


def run_with_trace(rows: Any) -> Run:
    boosted_run = run()
    return Run(replace(boosted_run.record, trace=Trace(rows)), boosted_run.w, boosted_run.final_weights)


@pytest.mark.thorough
def test_a_gap_of_zero_lies_below_the_scale_and_is_drawn_without_a_warning() -> None:
    closed = [replace(row, upper=0.2, soft_margin=0.2) for row in run().trace]
    check_rendering(bounds(run_with_trace(closed)))
    check_rendering(bounds(run_with_trace(closed[:1])))


def test_bad_input_is_named() -> None:
    with pytest.raises(ProblemError, match="a round "):
        bounds(run_with_trace([]))
    with pytest.raises(OptionError, match=r"scale 'round'\..*'rounds'"):
        bounds(run(), "round")
    with pytest.raises(OptionError, match="soft margin"):
        bounds(run("qp_reg_adaboost", nu=None, C=0.1, max_rounds=3))
