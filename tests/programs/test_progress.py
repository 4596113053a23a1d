"""The state of a run that step rules see, and the steps of each page."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from boostopt import get_formulation, list_formulations
from boostopt.authoring import BoostingState, Examples

U = np.ones((3, 3)) - 2 * np.eye(3)


def after(steps: list[float], c: list[float] | None = None, d0: list[float] | None = None) -> BoostingState:
    counts = np.ones(3) if c is None else np.array(c)
    examples = Examples(counts, counts / counts.sum() if d0 is None else np.array(d0))
    return BoostingState(4, 0.4, 0.1, examples, float(np.sum(steps)), U @ np.array(steps), U[:, 2])


def test_margins_of_the_steps() -> None:
    run = after([1.0, 2.0, 3.0])
    assert run.minimum_margin == 0.0
    assert run.smooth_margin == pytest.approx(-math.log(math.exp(-4) + math.exp(-2) + 1) / 6, abs=1e-15)
    copies = after([1.0, 2.0, 3.0], c=[1.0, 5.0, 2.0])
    assert copies.smooth_margin == pytest.approx(-math.log(math.exp(-4) + 5 * math.exp(-2) + 2) / 6, abs=1e-15)


def test_before_the_first_step() -> None:
    run = after([0.0, 0.0, 0.0])
    assert run.minimum_margin == -1.0
    assert run.smooth_margin == -math.inf
    assert run.next_smooth_margin == -1.0


def test_only_examples_with_weight_count() -> None:
    run = after([1.0, 2.0, 3.0], d0=[0.25, 0.75, 0.0])
    assert run.minimum_margin == pytest.approx(2 / 6)
    assert run.smooth_margin == pytest.approx(-math.log(0.75 * math.exp(-4) + 2.25 * math.exp(-2)) / 6, abs=1e-15)
    # The newest hypothesis errs on the third example only.
    assert run.next_smooth_margin == 1.0


def test_rounding_leaves_margins_where_parameters_may_lie() -> None:
    examples = Examples(np.ones(2), np.full(2, 0.5))
    run = BoostingState(1, 1.0, 0.1, examples, 3.0, np.full(2, 3.0 * (1 + 1e-15)), np.ones(2))
    assert run.minimum_margin == 1.0
    assert BoostingState(1, 1.0, 0.1, examples, 3.0, -np.full(2, 3.0 * (1 + 1e-15)), np.ones(2)).minimum_margin == -1.0


EXPECTED: dict[str, dict[str, float]] = {
    "adaboost_star": {"smallest_edge": 0.4},
    "arc_gv": {"minimum_margin": 0.2},
    "approximate_coordinate_ascent": {"smooth_margin": after([1.0, 1.0, 0.5]).smooth_margin},
    "coordinate_ascent": {"next_smooth_margin": 0.0},
    "softboost": {"gamma": 0.4 - 0.1},
    "totalboost": {"gamma": 0.4 - 0.1},
    "binary_softboost": {"gamma": 0.4 - 0.1},
}


@pytest.mark.parametrize("name", list_formulations())
def test_the_pages_set_their_parameters_by_it(name: str) -> None:
    page: Any = get_formulation(name)
    run = after([1.0, 1.0, 0.5])
    assert run.smooth_margin < 0
    assert page.boosting.next_parameters(run) == pytest.approx(EXPECTED.get(name, {}), abs=1e-15)
    assert page.boosting.next_parameters(run).keys() <= page.parameters.keys()


def test_the_bound_of_the_edges_stays_an_edge() -> None:
    run = BoostingState(1, -0.95, 0.1, Examples(np.ones(3), np.full(3, 1 / 3)), 0.0, np.zeros(3), -np.ones(3))
    assert get_formulation("softboost").boosting.next_parameters(run) == {"gamma": -1.0}
