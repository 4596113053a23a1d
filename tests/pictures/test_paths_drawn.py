"""Paths: bounds, counts and weights in the order of the values."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from rendering import check_rendering, labels, legend_of, line, points, run, xy
from sklearn.tree import DecisionTreeClassifier

import boostopt
from boostopt import OptionError, ProblemError, boost
from boostopt.boosting.regularization_path import RegularizationPath
from boostopt.boosting.run.run import Run
from boostopt.oracles import DecisionStumps, Estimators
from boostopt.pictures import path_of_runs
from boostopt.pictures.path_of_runs import weight_fractions


def along(parameter: str, values: list[float]) -> RegularizationPath:
    runs = tuple(run(**{parameter: value}) for value in values)
    return RegularizationPath(parameter, np.array(values, dtype=float), runs, np.zeros(len(runs)))


@pytest.mark.thorough
def test_values_in_any_order_are_drawn_in_theirs() -> None:
    path = along("nu", [20.0, 5.0, 40.0, 10.0])
    figure = path_of_runs(path)
    margins, counts, weights = figure.axes
    order = [1, 3, 0, 2]
    x, y = xy(line(margins, "soft margin reached"))
    assert x.tolist() == [5, 10, 20, 40] and np.array_equal(y, path.lower[order])
    assert (path.upper[order][1:] >= y[:-1]).all(), "the best soft margin grows with nu"
    (band,) = margins.collections
    edge = np.asarray(band.get_paths()[0].vertices)
    assert {tuple(p) for p in zip(x, path.upper[order], strict=True)} <= {tuple(p) for p in edge}
    assert np.array_equal(xy(counts.lines[0])[1], path.active[order])
    assert weights.get_xlabel() == r"$\nu$"
    check_rendering(figure)


def test_the_weights_of_each_run_sum_to_one_and_belong_to_its_hypotheses() -> None:
    path = along("nu", [5.0, 10.0, 20.0, 40.0])
    figure = path_of_runs(path)
    weights = np.array([xy(one)[1] for one in figure.axes[2].lines])
    assert np.allclose(weights.sum(axis=0), 1)
    assert np.array_equal((weights != 0).sum(axis=0), path.active)
    largest = max(
        (
            (float(w), str(h))
            for boosted_run in path.runs
            for w, h in zip(boosted_run.w, boosted_run.hypotheses, strict=True)
        )
    )
    assert xy(line(figure.axes[2], largest[1]))[1].max() == pytest.approx(largest[0])
    named = [str(one.get_label()) for one in figure.axes[2].lines if one.get_marker() != "None"]
    assert set(named) <= set(legend_of(figure)) and len(named) == 6
    assert f"{len(weights) - 6} others" in legend_of(figure)


def test_features_are_named_and_a_value_is_called_what_it_is() -> None:
    path = along("nu", [10.0, 20.0])
    figure = path_of_runs(path, names=[f"column {j}" for j in range(100)])
    words = [text for text in legend_of(figure) if "<=" in text or ">" in text]
    assert words and all(text.startswith("column ") for text in words)
    assert figure.axes[0].get_ylabel() == "soft margin"


def test_shares_of_one_hypothesis_in_several_runs_are_one_line() -> None:
    first, second = run(nu=10.0), run(nu=20.0)
    fractions = weight_fractions([first, second, first])
    weighted = {
        h
        for boosted_run in (first, second)
        for h, w in zip(boosted_run.hypotheses, boosted_run.w, strict=True)
        if w > 0
    }
    assert set(fractions) == weighted
    for share in fractions.values():
        assert share[0] == share[2]


@pytest.mark.thorough
def test_a_long_range_is_drawn_on_a_log_scale_and_one_value_as_points() -> None:
    wide = path_of_runs(along("eta", [1.0, 10.0, 100.0, 1000.0]))
    assert {axis.get_xscale() for axis in wide.axes} == {"log"} and wide.axes[2].get_xlabel() == r"$\eta$"
    assert [text.get_text() for text in wide.axes[2].get_xticklabels()] == ["1", "10", "100", "1000"]
    check_rendering(wide)
    check_rendering(path_of_runs(along("nu", [10.0])))


def test_many_values_have_labels_with_room() -> None:
    many = RegularizationPath("nu", np.linspace(10, 20, 40), (run(nu=10.0),) * 40, np.zeros(40))
    figure = path_of_runs(many)
    ticks = figure.axes[2].get_xticks()
    assert 5 < len(ticks) < 15 and set(ticks) <= set(many.values)
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in figure.axes[2].get_xticklabels()]
    assert all(box.x1 < next_box.x0 for box, next_box in pairwise(boxes))


@pytest.mark.thorough
def test_without_a_bound_over_the_class_there_is_no_band() -> None:
    oracle = Estimators(DecisionTreeClassifier(max_depth=1, random_state=0), points(), labels())
    boosted_run = boost("erlpboost", oracle, nu=15, epsilon=0.05, max_rounds=3)
    figure = path_of_runs(RegularizationPath("nu", np.array([15.0]), (boosted_run,), np.zeros(1)))
    assert not figure.axes[0].collections
    check_rendering(figure)


@pytest.mark.thorough
def test_runs_of_a_path_are_drawn() -> None:
    computed_path = boostopt.path("erlpboost", DecisionStumps(points(), labels()), nu=[40, 10, 20], epsilon=0.05)
    figure = path_of_runs(computed_path)
    assert xy(line(figure.axes[0], "soft margin"))[1].tolist() == computed_path.lower[[1, 2, 0]].tolist()
    check_rendering(figure)


def test_bad_input_is_named() -> None:
    path = along("nu", [5.0, 10.0])
    with pytest.raises(ProblemError, match=r"\b2 value\(s\).*\b0 run\(s\)"):
        path_of_runs(replace(path, runs=()))
    with pytest.raises(ProblemError, match=r"0 value\(s\)"):
        path_of_runs(RegularizationPath("nu", np.zeros(0), (), np.zeros(0)))
    odd = run("qp_reg_adaboost", nu=None, C=0.1, max_rounds=3)
    with pytest.raises(OptionError, match="soft margin; qp_reg_adaboost "):
        path_of_runs(RegularizationPath("eta", np.ones(1), (odd,), np.zeros(1)))


def test_hypotheses_against_which_a_run_votes_have_negative_shares() -> None:
    boosted_run = run(nu=10.0)
    signs = np.where(np.arange(len(boosted_run.w)) % 2, -2.0, 2.0)
    fractions = weight_fractions([Run(boosted_run.record, boosted_run.w * signs, boosted_run.final_weights)])
    samples = [
        fractions[hypothesis][0] if w else 0.0
        for hypothesis, w in zip(boosted_run.hypotheses, boosted_run.w, strict=True)
    ]
    assert np.allclose(samples, boosted_run.w * signs / 2 / boosted_run.w.sum()) and min(samples) < 0
