"""Example weights: relative to the cap, by size, with multiplicities."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from rendering import check_rendering, counted, legend_of, line, run, xy

from boostopt import OptionError, ProblemError
from boostopt.pictures import example_weights


def area(x: np.ndarray, y: np.ndarray) -> float:
    """Below a staircase whose stairs end at x."""
    return float((np.diff(x) * y[1:]).sum())


@pytest.mark.thorough
def test_a_run_with_a_cap_is_drawn_relative_to_it() -> None:
    boosted_run = run()
    figure = example_weights(boosted_run)
    x, y = xy(line(figure.axes[0], "ERLPBoost"))
    assert np.allclose(y[1:], np.sort(15 * boosted_run.d)[::-1]) and (np.diff(y) <= 0).all()
    assert 0 <= y.min() and y.max() <= 1 + 1e-9 and area(x, y) == pytest.approx(15)
    at_cap = int((boosted_run.d >= (1 - 1e-6) / 15).sum())
    assert at_cap > 0 and legend_of(figure)[1].startswith(f"ERLPBoost: {at_cap} at the cap, ")
    check_rendering(figure)


def test_each_stair_is_as_wide_as_its_multiplicity() -> None:
    boosted_run = counted()
    c = boosted_run.record.problem.examples.c
    x, y = xy(line(example_weights(boosted_run).axes[0], "ERLPBoost"))
    assert sorted(set(np.diff(x))) == [1, 2, 3] and x[-1] == c.sum() and len(x) == 60
    assert area(x, y) == pytest.approx(20) and np.allclose(np.sort(y[1:]), np.sort(20 * boosted_run.d / c))


@pytest.mark.thorough
def test_weights_with_one_run_without_caps_are_relative_to_equal_weights() -> None:
    free = run("adaboost", nu=None, max_rounds=30)
    figure = example_weights({"capped": run(), "free": free})
    for name, boosted_run in (("capped", run()), ("free", free)):
        x, y = xy(line(figure.axes[0], name))
        assert np.allclose(y[1:], np.sort(60 * boosted_run.d)[::-1]) and area(x, y) == pytest.approx(60)
    assert "equal weights" in legend_of(figure)
    check_rendering(figure)
    x, y = xy(line(example_weights(free, nu=15).axes[0], "AdaBoost"))
    assert y.max() == pytest.approx(15 * free.d.max()) and y.max() > 1


def test_weights_by_hand_and_how_many_carry_nearly_all() -> None:
    """Of 0.5, 0.3, 0.195, 0.005 three carry 99 %."""
    figure = example_weights(np.array([3.0, 5.0, 0.05, 1.95]))
    x, y = xy(line(figure.axes[0], "weights"))
    assert x.tolist() == [0, 1, 2, 3, 4] and np.allclose(y, [2, 2, 1.2, 0.78, 0.02])
    assert re.fullmatch(r"weights: 3 of 4 .*\b99 %", legend_of(figure)[1])


@pytest.mark.thorough
def test_example_by_example_they_stand_where_the_examples_do() -> None:
    boosted_run = run()
    figure = example_weights(boosted_run, ordered=False)
    x, y = xy(line(figure.axes[0], "ERLPBoost"))
    assert np.array_equal(x, np.arange(60)) and np.allclose(y, 15 * boosted_run.d)
    (stems,) = figure.axes[0].collections
    assert np.allclose([segment[1][1] for segment in stems.get_segments()], y)  # pyright: ignore[reportAttributeAccessIssue]
    check_rendering(figure)
    two = example_weights({"one": boosted_run, "two": run("lpboost")}, ordered=False)
    assert not two.axes[0].collections
    check_rendering(two)


@pytest.mark.parametrize(
    ("d", "options", "error", "facts"),
    [
        ([0.5, np.inf], {}, ProblemError, r"\bweights\b.*finite\b.*\binf at \(1,\)"),
        ([0.5, -0.5], {}, ProblemError, r"\bweights\b.*smallest -0\.5\."),
        ([0.0, 0.0], {}, ProblemError, r"\bweights\b.*smallest 0\."),
        ([], {}, ProblemError, r"\bweights\b.*shape \(0,\)"),
        ([0.5, 0.5], {"c": [1.0, 1.0, 1.0]}, ProblemError, r"^c .*\b2 .*\b3, the smallest 1\."),
        ([0.5, 0.5], {"nu": 0.0}, OptionError, r"^nu .*positive.*\b0\.0\."),
    ],
    ids=["infinite", "sign", "all 0", "empty", "length of c", "nu"],
)
def test_bad_input_is_named(d: Any, options: Any, error: type[Exception], facts: str) -> None:
    with pytest.raises(error, match=facts):
        example_weights(d, **options)
