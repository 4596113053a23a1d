"""Margin distributions: the curve, rho and the soft margin against slow twins."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rendering import check_rendering, counted, labels, legend_of, line, points, run, xy
from sklearn.ensemble import AdaBoostClassifier

from boostopt import OptionError, ProblemError
from boostopt.ensembles import reweight
from boostopt.estimators import MarginBoostClassifier
from boostopt.pictures import margin_distributions


def rho_marker(figure: Any) -> tuple[float, float]:
    """Return the position of the marker of rho."""
    (marker,) = [xy(one) for one in figure.axes[0].lines if one.get_marker() != "None"]
    return float(marker[0][0]), float(marker[1][0])


def legend_numbers(figure: Any, name: str) -> list[float]:
    """Return the numbers of a legend entry: soft margin and rho."""
    (text,) = [text for text in legend_of(figure) if text.startswith(name)]
    return [float(number) for number in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", text.removeprefix(name))]


@pytest.mark.thorough
def test_a_distribution_by_hand() -> None:
    """Margins -0.5, 0.1, 0.1, 0.4, 0.8; of nu = 2 the soft margin is (-0.5 + 0.1) / 2 and rho 0.1."""
    figure = margin_distributions(np.array([0.4, 0.1, -0.5, 0.8, 0.1]), nu=2)
    x, y = xy(line(figure.axes[0], "classifier"))
    assert x.tolist() == [-0.5, -0.5, 0.1, 0.1, 0.4, 0.8]
    assert np.allclose(y, [0, 0.2, 0.4, 0.6, 0.8, 1])
    assert rho_marker(figure) == (0.1, pytest.approx(0.4))
    assert legend_numbers(figure, "classifier: ") == [-0.2, 0.1]
    check_rendering(figure)


def test_an_example_that_counts_twice_is_two() -> None:
    m, c = np.array([0.4, 0.1, -0.5, 0.8]), np.array([3.0, 2.0, 1.0, 0.0])
    counted_figure, copied = margin_distributions(m, nu=2, c=c), margin_distributions(np.repeat(m, [3, 2, 1, 0]), nu=2)
    assert rho_marker(counted_figure) == pytest.approx(rho_marker(copied))
    assert legend_numbers(counted_figure, "classifier: ") == legend_numbers(copied, "classifier: ") == [-0.2, 0.1]
    (x, y), (x_copied, y_copied) = (xy(line(f.axes[0], "classifier")) for f in (counted_figure, copied))
    for value in (-0.5, 0.1, 0.4):
        assert y[x == value].max() == pytest.approx(y_copied[x_copied == value].max())
    assert 0.8 not in x


def test_the_margins_of_a_run_are_those_of_its_decision_function() -> None:
    boosted_run = run()
    figure = margin_distributions(boosted_run)
    x, y = xy(line(figure.axes[0], "ERLPBoost"))
    m = np.sort(labels() * boosted_run.decision_function(points()))
    assert np.allclose(x[1:], m, atol=1e-12) and (np.diff(y) >= 0).all() and y[-1] == 1
    assert rho_marker(figure) == (pytest.approx(m[14], abs=1e-12), 0.25)
    assert legend_numbers(figure, "ERLPBoost: ") == [
        pytest.approx(m[:15].mean(), abs=1e-4),
        pytest.approx(m[14], abs=1e-4),
    ]
    assert legend_numbers(figure, "ERLPBoost: ")[0] == pytest.approx(boosted_run.class_certificate.lower, abs=1e-4)


def test_the_multiplicities_of_a_run_count() -> None:
    boosted_run = counted()
    figure = margin_distributions({"counted": boosted_run})
    assert legend_numbers(figure, "counted: ")[0] == pytest.approx(boosted_run.class_certificate.lower, abs=1e-4)
    assert rho_marker(figure)[1] == pytest.approx(20 / boosted_run.record.problem.examples.total)


@pytest.mark.thorough
def test_classifiers_of_all_kinds_are_overlaid() -> None:
    X, y = points(), labels()
    fitted = AdaBoostClassifier(n_estimators=10, random_state=0).fit(X, y)
    weighted = reweight(fitted, X, y, formulation="lpboost", nu=15)
    estimator = MarginBoostClassifier(nu=15, epsilon=0.05).fit(X, y)
    named = {"run": run(), "estimator": estimator, "weighted": weighted, "margins_": SimpleNamespace(margins_=y * 0.5)}
    figure = margin_distributions(named, nu=15)
    assert legend_numbers(figure, "weighted: ")[0] == pytest.approx(weighted.soft_margin, abs=1e-4)
    assert legend_numbers(figure, "margins_: ") == [-0.5, -0.5]
    curves = [xy(line(figure.axes[0], f"{name}:"))[1] for name in named]
    assert all((np.diff(y) >= 0).all() and y[0] == 0 and y[-1] == 1 for y in curves)
    assert legend_numbers(margin_distributions({"estimator": estimator}), "estimator: ")[0] == pytest.approx(
        estimator.run_.class_certificate.lower, abs=1e-4
    )
    check_rendering(figure)


@pytest.mark.thorough
def test_without_nu_the_smallest_margin_is_told() -> None:
    figure = margin_distributions({"one": np.array([0.3, -0.2])})
    assert legend_of(figure) == ["one: smallest -0.2"]
    check_rendering(figure)


@pytest.mark.parametrize(
    ("m", "options", "error", "facts"),
    [
        ([0.1, np.nan], {}, ProblemError, r"\bmargins\b.*\bnan at \(1,\)"),
        ([], {}, ProblemError, r"\bmargins\b.*shape \(0,\)"),
        ([[0.1, 0.2]], {}, ProblemError, r"\bmargins\b.*\b1 dimension.*shape \(1, 2\)"),
        (["a"], {}, ProblemError, r"\bmargins\b.*<U1 of shape \(1,\)"),
        ([0.1, 0.2], {"c": [1.0]}, ProblemError, r"^c .*\b2\b.*\b1, the smallest 1\."),
        ([0.1, 0.2], {"c": [1.0, -1.0]}, ProblemError, r"^c .*\b2, the smallest -1\."),
        ([0.1, 0.2], {"nu": 3.0}, ProblemError, r"\bnu = 3\b"),
        ([0.1, 0.2], {"nu": -1.0}, OptionError, r"^nu .*positive.*-1\.0"),
        (np.ma.masked_equal([0.1, 0.2], 0.2), {}, ProblemError, r"\bmargins\b.*\bmasked\b"),
        (object(), {}, ProblemError, r"\bmargins\b.*\bobject of shape \(\)"),
    ],
    ids=["nan", "empty", "matrix", "text", "length of c", "sign of c", "large nu", "sign of nu", "masked", "object"],
)
def test_bad_input_is_named(m: Any, options: Any, error: type[Exception], facts: str) -> None:
    with pytest.raises(error, match=facts):
        margin_distributions(m, **options)
