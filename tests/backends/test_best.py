"""The iterates that an iterative method keeps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.problems import REFERENCE_U

from boostopt import Solution, get_formulation
from boostopt.backends.base import Deadline, Task
from boostopt.backends.incumbent_certificate import GOAL_REDUCTION, Incumbent

PROGRAM = get_formulation("erlpboost").bind(REFERENCE_U, nu=2.5, eta=3.0)


def iterates(solution: Solution, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs near the optimum, some with better d, some with better w."""
    rng = np.random.default_rng(seed)
    points = list[tuple[np.ndarray, np.ndarray]]()
    for _ in range(3):
        of_d, of_w = 10 ** rng.uniform(-4, -1, size=2)
        d = np.abs(solution.d + of_d * rng.normal(size=len(solution.d)))
        points.append((d, np.abs(solution.w + of_w * rng.normal(size=len(solution.w)))))
    return points


@pytest.mark.thorough
def test_the_gap_is_that_of_the_pair_that_is_kept_and_the_least() -> None:
    """The best sides of two iterates may be a worse pair than either: then an iterate is kept as it came."""
    solution, whole = PROGRAM.solve("interior", tol=1e-10), 0
    for seed in range(100):
        best, smallest_gap, upper, lower = (
            Incumbent(Task(PROGRAM, 1e-9, Deadline(None))),
            np.inf,
            list[float](),
            list[float](),
        )
        pairs = iterates(solution, seed)
        for d, w in pairs:
            best.add(d, w)
            certificate = PROGRAM.certify(d, w)
            smallest_gap = min(smallest_gap, certificate.scaled_gap)
            upper.append(certificate.upper)
            lower.append(certificate.lower)
            assert best.gap == PROGRAM.certify(best.d, best.w).scaled_gap
            assert best.gap <= smallest_gap
        sides = PROGRAM.certify(pairs[int(np.argmin(upper))][0], pairs[int(np.argmax(lower))][1])
        assert best.gap <= sides.scaled_gap
        whole += best.gap < sides.scaled_gap
    assert whole > 0


def test_a_closer_target_gap_is_requested_once() -> None:
    solution = PROGRAM.solve("interior", tol=1e-10)
    rough = (np.full(6, 1 / 6), np.full(3, 1 / 3))
    best = Incumbent(Task(PROGRAM, 2.0 * PROGRAM.certify(*rough).scaled_gap, Deadline(None)))
    assert not best.goal_reached and not best.tighten_goal()
    best.add(*rough)
    assert best.goal_reached
    goal = best.goal
    assert best.tighten_goal()
    assert best.goal == GOAL_REDUCTION * goal and not best.goal_reached
    best.add(solution.d, solution.w)
    assert best.goal_reached and not best.tighten_goal()


def test_without_an_upper_bound_the_larger_lower_bound_is_better() -> None:
    incumbent, w = Incumbent(Task(PROGRAM, 1e-9, Deadline(None))), np.full(3, 1 / 3)
    rough = replace(PROGRAM.certify(None, w), upper=np.inf, lower=-3.0)
    better = replace(rough, lower=-2.0)
    for certificate in (rough, better, rough):
        incumbent.add(None, w, certificate)
    assert incumbent.certificate is better and incumbent.gap == np.inf
